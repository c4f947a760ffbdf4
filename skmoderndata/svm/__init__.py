"""Support vector methods: core sets, minimum enclosing balls, the fewest features."""

from skmoderndata.svm._core_vector_machine import CoreVectorMachine
from skmoderndata.svm._core_vector_outlier_detector import CoreVectorOutlierDetector
from skmoderndata.svm._core_vector_ranker import CoreVectorRanker
from skmoderndata.svm._core_vector_regressor import CoreVectorRegressor
from skmoderndata.svm._fold_expansion import fold_expansion
from skmoderndata.svm._minimum_enclosing_ball import MinimumEnclosingBall
from skmoderndata.svm._support_feature_machine import SupportFeatureMachine

__all__ = [
    "CoreVectorMachine",
    "CoreVectorOutlierDetector",
    "CoreVectorRanker",
    "CoreVectorRegressor",
    "MinimumEnclosingBall",
    "SupportFeatureMachine",
    "fold_expansion",
]
