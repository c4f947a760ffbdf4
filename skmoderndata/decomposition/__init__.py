"""Matrix decompositions: slow features, robust components, non-negative factors, topics."""

from skmoderndata.decomposition._atoms_display import AtomsDisplay
from skmoderndata.decomposition._ccipca import CCIPCA
from skmoderndata.decomposition._convex_nmf import ConvexNMF
from skmoderndata.decomposition._feature_sign_dictionary_learning import (
    FeatureSignDictionaryLearning,
)
from skmoderndata.decomposition._hierarchical_slow_feature_analysis import (
    HierarchicalSlowFeatureAnalysis,
)
from skmoderndata.decomposition._incremental_slow_feature_analysis import (
    IncrementalSlowFeatureAnalysis,
)
from skmoderndata.decomposition._kernel_pca_outlier_detector import KernelPCAOutlierDetector
from skmoderndata.decomposition._ksvd import KSVD
from skmoderndata.decomposition._minor_component_analysis import MinorComponentAnalysis
from skmoderndata.decomposition._online_robust_pca import OnlineRobustPCA
from skmoderndata.decomposition._probabilistic_lsa import ProbabilisticLSA
from skmoderndata.decomposition._robust_pca import RobustPCA
from skmoderndata.decomposition._robust_pca_display import RobustPCADisplay
from skmoderndata.decomposition._semi_nmf import SemiNMF
from skmoderndata.decomposition._slow_feature_analysis import SlowFeatureAnalysis
from skmoderndata.decomposition._slow_signals_display import SlowSignalsDisplay
from skmoderndata.decomposition._sparse_nmf import SparseNMF
from skmoderndata.decomposition._sparsenet import Sparsenet

__all__ = [
    "AtomsDisplay",
    "CCIPCA",
    "ConvexNMF",
    "FeatureSignDictionaryLearning",
    "HierarchicalSlowFeatureAnalysis",
    "IncrementalSlowFeatureAnalysis",
    "KSVD",
    "KernelPCAOutlierDetector",
    "MinorComponentAnalysis",
    "OnlineRobustPCA",
    "ProbabilisticLSA",
    "RobustPCA",
    "RobustPCADisplay",
    "SemiNMF",
    "SlowFeatureAnalysis",
    "SlowSignalsDisplay",
    "SparseNMF",
    "Sparsenet",
]
