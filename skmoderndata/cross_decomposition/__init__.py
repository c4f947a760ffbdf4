"""Directions that two or more views of the same samples have in common, and kernel regression."""

from skmoderndata.cross_decomposition._kernel_cca import KernelCCA

__all__ = [
    "KernelCCA",
]
