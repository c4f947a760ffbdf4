"""Features whose inner products approximate a kernel."""

from skmoderndata.kernel_approximation._incomplete_cholesky import IncompleteCholesky

__all__ = [
    "IncompleteCholesky",
]
