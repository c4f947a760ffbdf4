"""Nearest neighbours of series, and nearest centroids in feature space."""

from skmoderndata.neighbors._dtw_neighbors import DTWNeighborsClassifier, DTWNeighborsRegressor
from skmoderndata.neighbors._kernel_centroid_outlier_detector import (
    KernelCentroidOutlierDetector,
)
from skmoderndata.neighbors._kernel_nearest_centroid import KernelNearestCentroid

__all__ = [
    "DTWNeighborsClassifier",
    "DTWNeighborsRegressor",
    "KernelCentroidOutlierDetector",
    "KernelNearestCentroid",
]
