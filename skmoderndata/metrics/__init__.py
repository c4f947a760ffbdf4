"""Scores and distances that scikit-learn lacks."""

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
from skmoderndata.metrics._dimension import intrinsic_dimension
from skmoderndata.metrics._hmm import hmm_log_likelihood
from skmoderndata.metrics._kernels import kernel_alignment, kernel_distances, kernel_variance

__all__ = [
    "assignment_error",
    "boolean_coverage_score",
    "boolean_over_coverage",
    "boolean_reconstruction_error",
    "clustering_distance",
    "generalization_error",
    "hmm_log_likelihood",
    "intrinsic_dimension",
    "kernel_alignment",
    "kernel_distances",
    "kernel_variance",
    "match_sources",
    "source_mismatch",
]
