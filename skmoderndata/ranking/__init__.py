"""Ordinal regression: ordered classes, predicted by one function and thresholds."""

from skmoderndata.ranking._kernel_prank import KernelPRank
from skmoderndata.ranking._nu_svor import NuSVOR

__all__ = [
    "KernelPRank",
    "NuSVOR",
]
