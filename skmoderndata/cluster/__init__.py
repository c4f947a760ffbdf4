"""Clustering: overlapping and Boolean clusters."""

from skmoderndata.cluster._multi_assignment_clustering import MultiAssignmentClustering

__all__ = [
    "MultiAssignmentClustering",
]
