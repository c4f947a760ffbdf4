"""Support vector methods: enclosing balls, squared losses, core sets, feature selection."""

from skmoderndata.svm._core_set_display import CoreSetDisplay
from skmoderndata.svm._core_vector_machine import CoreVectorMachine
from skmoderndata.svm._core_vector_outlier_detector import CoreVectorOutlierDetector
from skmoderndata.svm._core_vector_ranker import CoreVectorRanker
from skmoderndata.svm._core_vector_regressor import CoreVectorRegressor
from skmoderndata.svm._fold_expansion import fold_expansion
from skmoderndata.svm._kernel_adatron import KernelAdatronClassifier, KernelAdatronRegressor
from skmoderndata.svm._l2_svc import L2SVC
from skmoderndata.svm._l2_svr import L2SVR
from skmoderndata.svm._minimum_enclosing_ball import MinimumEnclosingBall
from skmoderndata.svm._support_feature_machine import SupportFeatureMachine
from skmoderndata.svm._svdd import SVDD

__all__ = [
    "CoreSetDisplay",
    "CoreVectorMachine",
    "CoreVectorOutlierDetector",
    "CoreVectorRanker",
    "CoreVectorRegressor",
    "KernelAdatronClassifier",
    "KernelAdatronRegressor",
    "L2SVC",
    "L2SVR",
    "MinimumEnclosingBall",
    "SVDD",
    "SupportFeatureMachine",
    "fold_expansion",
]
