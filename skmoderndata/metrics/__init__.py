"""Scores and distances that scikit-learn lacks."""

from skmoderndata.metrics import _bounds as bounds
from skmoderndata.metrics._alignment import alignment, pairwise_alignment
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
from skmoderndata.metrics._bounds import rademacher_complexity
from skmoderndata.metrics._clustering import clustering_distance
from skmoderndata.metrics._dimension import intrinsic_dimension
from skmoderndata.metrics._dtw import (
    dtw,
    dtw_path,
    functional_distance,
    lb_keogh,
    multiscale_dtw,
    pairwise_dtw,
    soft_dtw,
)
from skmoderndata.metrics._edit_distance import edit_distance, pairwise_edit_distance
from skmoderndata.metrics._elastic import (
    erp_distance,
    lcss_distance,
    msm_distance,
    pairwise_elastic,
    twe_distance,
    weighted_dtw,
)
from skmoderndata.metrics._embedding_dimension import cao_dimension, false_nearest_neighbors
from skmoderndata.metrics._hmm import hmm_log_likelihood
from skmoderndata.metrics._kernels import kernel_alignment, kernel_distances, kernel_variance
from skmoderndata.metrics._rank import optimal_rank
from skmoderndata.metrics._subsequence_dtw import subsequence_dtw
from skmoderndata.metrics._warping_path_display import WarpingPathDisplay

__all__ = [
    "WarpingPathDisplay",
    "alignment",
    "assignment_error",
    "boolean_coverage_score",
    "boolean_over_coverage",
    "boolean_reconstruction_error",
    "bounds",
    "cao_dimension",
    "clustering_distance",
    "dtw",
    "dtw_barycenter",
    "dtw_path",
    "edit_distance",
    "erp_distance",
    "false_nearest_neighbors",
    "functional_distance",
    "generalization_error",
    "hmm_log_likelihood",
    "intrinsic_dimension",
    "kernel_alignment",
    "kernel_distances",
    "kernel_variance",
    "lb_keogh",
    "lcss_distance",
    "match_sources",
    "msm_distance",
    "multiscale_dtw",
    "optimal_rank",
    "pairwise_alignment",
    "pairwise_dtw",
    "pairwise_edit_distance",
    "pairwise_elastic",
    "rademacher_complexity",
    "soft_dtw",
    "soft_dtw_barycenter",
    "source_mismatch",
    "subsequence_dtw",
    "twe_distance",
    "weighted_dtw",
]
