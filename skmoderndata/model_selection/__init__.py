"""Model selection by the stability of clusterings."""

from skmoderndata.model_selection._clustering_stability import ClusteringStability
from skmoderndata.model_selection._clustering_stability_display import (
    ClusteringStabilityDisplay,
)

__all__ = ["ClusteringStability", "ClusteringStabilityDisplay"]
