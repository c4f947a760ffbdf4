"""Nearest centroids in feature space."""

from skmoderndata.neighbors._kernel_centroid_novelty import KernelCentroidNovelty
from skmoderndata.neighbors._kernel_nearest_centroid import KernelNearestCentroid

__all__ = [
    "KernelCentroidNovelty",
    "KernelNearestCentroid",
]
