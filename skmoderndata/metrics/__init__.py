"""Scores and distances that scikit-learn lacks."""

from skmoderndata.metrics import _bounds as bounds
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
from skmoderndata.metrics._edit_distance import edit_distance, pairwise_edit_distance
from skmoderndata.metrics._kernels import kernel_alignment, kernel_distances, kernel_variance

__all__ = [
    "assignment_error",
    "boolean_coverage_score",
    "boolean_over_coverage",
    "boolean_reconstruction_error",
    "bounds",
    "clustering_distance",
    "edit_distance",
    "generalization_error",
    "intrinsic_dimension",
    "kernel_alignment",
    "kernel_distances",
    "kernel_variance",
    "match_sources",
    "pairwise_edit_distance",
    "rademacher_complexity",
    "source_mismatch",
]
