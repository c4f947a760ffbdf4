"""Features whose inner products approximate a kernel."""

from skmoderndata.kernel_approximation._incomplete_cholesky import IncompleteCholesky
from skmoderndata.kernel_approximation._nonlinear_projection_trick import (
    NonlinearProjectionTrick,
)

__all__ = [
    "IncompleteCholesky",
    "NonlinearProjectionTrick",
]
