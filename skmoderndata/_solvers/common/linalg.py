"""Linear algebra with the package's conventions for rank, sign and order."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from skmoderndata._solvers.common.typing import Array

EPS = float(np.finfo(np.float64).eps)
# Maximum number of rows for which all eigenvalues are always computed.
DENSE_UP_TO = 400
# Maximum number of rows of the submatrix whose spectrum predicts how many eigenvalues account for
# a given fraction of the trace.
GUESSED_FROM = 200
# Number of rows and columns of a tile that stays in the cache when it is transposed.
TILE = 512


def row_signs(rows: Array) -> Array:
    """Return 1 or -1 for each row: the sign of its entry of largest magnitude."""
    if rows.size == 0:
        return np.ones(len(rows))
    peak = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(peak < 0, -1.0, 1.0)


def fix_signs(rows: Array) -> Array:
    """Flip rows so that the entry of largest magnitude in each is positive."""
    return np.where(row_signs(rows)[:, None] < 0, -rows, rows)


def unit_rows(A: Any) -> Array:
    """Scale rows to unit norm in double precision; rows of zeros stay zero."""
    rows: Array = np.asarray(A, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def mirror_lower(D: Array) -> None:
    """Copy the lower triangle of a matrix to the upper one, in place."""
    for i in range(len(D) - 1):
        D[i, i + 1 :] = D[i + 1 :, i]


def asymmetry(A: Array) -> float:
    """Return the largest difference between a square matrix and its transpose."""
    n = len(A)
    tiles = [slice(start, min(start + TILE, n)) for start in range(0, n, TILE)]
    largest = 0.0
    for i, rows in enumerate(tiles):
        for columns in tiles[: i + 1]:
            difference = np.abs(A[rows, columns] - A[columns, rows].T)
            largest = max(largest, float(difference.max(initial=0.0)))
    return largest


def leading_eigen(
    A: Array | LinearOperator, k: int, *, tol: float = 0.0
) -> tuple[Array, Array]:
    """Find the k largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    If k is small, Lanczos iterations compute them to the relative accuracy `tol` (0: up to
    rounding errors) [Lehoucq, Sorensen and Yang 1998]. Otherwise, all eigenvalues are computed,
    because routines for a subset may lose repeated ones.
    """
    n = A.shape[0]
    k = min(k, n)
    pairs = None
    if n > DENSE_UP_TO and k < n // 8:
        start = np.linspace(-1.0, 1.0, n) + 0.1 * np.cos(np.arange(n))
        with contextlib.suppress(ArpackNoConvergence):
            pairs = eigsh(A, k, which="LA", v0=start, tol=tol, ncv=max(2 * k + 1, 30))

    # compute all eigenvalues if Lanczos was not used or did not converge
    if pairs is None:
        A = A @ np.eye(n) if isinstance(A, LinearOperator) else A
        pairs = linalg.eigh((A + A.T) / 2, driver="evd")
    order = np.argsort(-pairs[0], kind="stable")[:k]
    return np.asarray(pairs[0][order]), np.asarray(pairs[1][:, order])


def leading_eigen_until(
    A: Array, enough: Callable[[Array, Array], bool], start: int = 16
) -> tuple[Array, Array]:
    """Find leading eigenpairs of a positive semidefinite matrix until there are enough.

    Their number is doubled, from `start`, until ``enough(values, vectors)``. If computing all
    eigenpairs is cheaper, all are returned, so there may be more than necessary.
    """
    k = start
    while len(A) > DENSE_UP_TO and k < len(A) // 16:
        values, vectors = leading_eigen(A, k)
        if enough(values, vectors):
            return values, vectors
        k *= 2
    return leading_eigen(A, len(A))


def eigen_of_fraction(A: Array, fraction: float) -> tuple[Array, Array]:
    """Find leading eigenpairs of a positive semidefinite matrix that hold a part of its trace.

    Their number is predicted from the spectrum of some of the rows and columns.
    """
    target = fraction * float(A.trace())

    # guess the number of eigenpairs from a principal submatrix, and add a quarter as a margin
    step = -(-len(A) // GUESSED_FROM)
    spectrum = linalg.eigvalsh(A[::step, ::step])[::-1]
    guess = int(np.searchsorted(np.cumsum(spectrum), fraction * float(spectrum.sum()))) + 1

    return leading_eigen_until(
        A, lambda values, _: values.sum() >= target, guess + guess // 4 + 2
    )


def eigen_range(A: Array, start: int, stop: int) -> tuple[Array, Array]:
    """Find the eigenvalues `start` to `stop - 1` of a symmetric matrix, ascending, with vectors.

    LAPACK's routines for a subset of the eigenvalues may fail on repeated ones, or return too few:
    then, all are computed.
    """
    try:
        values, vectors = linalg.eigh(A, subset_by_index=(start, stop - 1))
        if len(values) == stop - start:
            return values, vectors
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(A, driver="evd")
    return values[start:stop], vectors[:, start:stop]
