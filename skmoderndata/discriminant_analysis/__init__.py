"""Discriminant analysis in feature space."""

from skmoderndata.discriminant_analysis._kernel_discriminant_analysis import (
    KernelDiscriminantAnalysis,
)

__all__ = [
    "KernelDiscriminantAnalysis",
]
