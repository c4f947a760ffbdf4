"""Model selection: stability of clusterings, tests of canonical pairs."""

from skmoderndata.model_selection._canonical_permutation_test import canonical_permutation_test
from skmoderndata.model_selection._clustering_stability import ClusteringStability
from skmoderndata.model_selection._clustering_stability_display import (
    ClusteringStabilityDisplay,
)

__all__ = [
    "ClusteringStability",
    "ClusteringStabilityDisplay",
    "canonical_permutation_test",
]
