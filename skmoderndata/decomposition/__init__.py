"""Matrix decompositions: slow features, robust principal components."""

from skmoderndata.decomposition._hierarchical_slow_feature_analysis import (
    HierarchicalSlowFeatureAnalysis,
)
from skmoderndata.decomposition._slow_feature_analysis import SlowFeatureAnalysis

__all__ = [
    "HierarchicalSlowFeatureAnalysis",
    "SlowFeatureAnalysis",
]
