"""Discriminant analysis in feature space."""

from skmoderndata.discriminant_analysis._kernel_discriminant_analysis import (
    KernelDiscriminantAnalysis,
)
from skmoderndata.discriminant_analysis._kernel_fisher_discriminant import (
    KernelFisherDiscriminant,
)

__all__ = [
    "KernelDiscriminantAnalysis",
    "KernelFisherDiscriminant",
]
