"""Canonical correlation and partial least squares of two or more views, also with kernels."""

from skmoderndata.cross_decomposition._canonical_loadings_display import (
    CanonicalLoadingsDisplay,
)
from skmoderndata.cross_decomposition._kernel_cca import KernelCCA
from skmoderndata.cross_decomposition._kernel_pls_regression import KernelPLSRegression
from skmoderndata.cross_decomposition._principal_components_regression import (
    PrincipalComponentsRegression,
)
from skmoderndata.cross_decomposition._regularized_cca import RegularizedCCA
from skmoderndata.cross_decomposition._sparse_cca import SparseCCA

__all__ = [
    "CanonicalLoadingsDisplay",
    "KernelCCA",
    "KernelPLSRegression",
    "PrincipalComponentsRegression",
    "RegularizedCCA",
    "SparseCCA",
]
