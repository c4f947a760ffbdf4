"""Scores and distances that scikit-learn lacks."""

from skmoderndata.metrics._barycenters import dtw_barycenter, soft_dtw_barycenter
from skmoderndata.metrics._boolean import (
    assignment_error,
    boolean_coverage_score,
    boolean_over_coverage,
    boolean_reconstruction_error,
    generalization_error,
    match_sources,
    source_mismatch,
)
from skmoderndata.metrics._clustering import clustering_distance
from skmoderndata.metrics._dtw import (
    dtw,
    dtw_path,
    functional_distance,
    lb_keogh,
    multiscale_dtw,
    pairwise_dtw,
    soft_dtw,
)
from skmoderndata.metrics._kernels import kernel_alignment, kernel_distances, kernel_variance
from skmoderndata.metrics._warping_path_display import WarpingPathDisplay

__all__ = [
    "WarpingPathDisplay",
    "assignment_error",
    "boolean_coverage_score",
    "boolean_over_coverage",
    "boolean_reconstruction_error",
    "clustering_distance",
    "dtw",
    "dtw_barycenter",
    "dtw_path",
    "functional_distance",
    "generalization_error",
    "kernel_alignment",
    "kernel_distances",
    "kernel_variance",
    "lb_keogh",
    "match_sources",
    "multiscale_dtw",
    "pairwise_dtw",
    "soft_dtw",
    "soft_dtw_barycenter",
    "source_mismatch",
]
