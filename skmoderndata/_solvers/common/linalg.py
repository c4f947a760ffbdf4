"""Linear algebra with the house's choices of rank, sign and order."""

import contextlib

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from skmoderndata._typing import Array

DENSE = 400  # rows up to which all eigenvalues are computed


def row_signs(rows: Array) -> Array:
    """Return 1 or -1 for each row, the sign of its entry of largest magnitude."""
    if rows.size == 0:
        return np.ones(len(rows))
    peak = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(peak < 0, -1.0, 1.0)


def fix_signs(rows: Array) -> Array:
    """Flip rows so that the entry of largest magnitude in each is positive."""
    return np.where(row_signs(rows)[:, None] < 0, -rows, rows)


def leading_eigen(A: Array | LinearOperator, k: int, *, tol: float = 0.0) -> tuple[Array, Array]:
    """Find the k largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    Lanczos iterations, to the relative accuracy `tol` (0: to rounding), where few are asked for
    [Lehoucq, Sorensen and Yang 1998]; else all are computed, as the routines for some of them may
    lose repeated ones.
    """
    n = A.shape[0]
    k = min(k, n)
    found = None
    if n > DENSE and k < n // 8:
        start = np.linspace(-1.0, 1.0, n) + 0.1 * np.cos(np.arange(n))
        with contextlib.suppress(ArpackNoConvergence):
            found = eigsh(A, k, which="LA", v0=start, tol=tol, ncv=max(2 * k + 1, 30))
    if found is None:
        A = A @ np.eye(n) if isinstance(A, LinearOperator) else A
        found = linalg.eigh((A + A.T) / 2, driver="evd")
    order = np.argsort(-found[0], kind="stable")[:k]
    return np.asarray(found[0][order]), np.asarray(found[1][:, order])


def eigen_range(A: Array, start: int, stop: int) -> tuple[Array, Array]:
    """Eigenvalues `start` to `stop - 1` of a symmetric matrix, ascending, and eigenvectors.

    LAPACK's routines for some of the eigenvalues may fail on repeated ones, or return fewer than
    were asked for: then all are computed.
    """
    try:
        values, vectors = linalg.eigh(A, subset_by_index=(start, stop - 1))
        if len(values) == stop - start:
            return values, vectors
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(A, driver="evd")
    return values[start:stop], vectors[:, start:stop]
