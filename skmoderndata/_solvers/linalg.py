"""Linear algebra with the house's choices of rank, sign and order."""

from typing import Any

import numpy as np
from scipy import linalg

Array = np.ndarray[Any, np.dtype[Any]]


def fix_signs(rows: Array) -> Array:
    """Flip rows so that the entry of largest magnitude in each is positive."""
    if rows.size == 0:
        return rows
    peak = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return np.where(peak < 0, -rows, rows)


def numerical_rank(s: Array, shape: tuple[int, int]) -> int:
    """Count the singular values `s` (descending) of a matrix above rounding, as numpy does."""
    if s.size == 0 or s[0] == 0:
        return 0
    return int(np.count_nonzero(s > s[0] * max(shape) * np.finfo(s.dtype).eps))


def thin_svd(X: Array) -> tuple[Array, Array, Array]:
    """Singular value decomposition `U, s, Vt`, cut at the numerical rank."""
    U, s, Vt = linalg.svd(X, full_matrices=False, check_finite=False)
    r = numerical_rank(s, X.shape)
    return U[:, :r], s[:r], Vt[:r]
