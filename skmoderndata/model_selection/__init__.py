"""Model selection: hidden entries, stability of clusterings, tests of canonical pairs."""

from skmoderndata.model_selection._canonical_permutation_test import canonical_permutation_test
from skmoderndata.model_selection._clustering_stability import ClusteringStability
from skmoderndata.model_selection._clustering_stability_display import (
    ClusteringStabilityDisplay,
)
from skmoderndata.model_selection._entry_search_cv import EntrySearchCV
from skmoderndata.model_selection._entry_search_display import EntrySearchDisplay

__all__ = [
    "ClusteringStability",
    "ClusteringStabilityDisplay",
    "EntrySearchCV",
    "EntrySearchDisplay",
    "canonical_permutation_test",
]
