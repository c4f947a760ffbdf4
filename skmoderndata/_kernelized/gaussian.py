"""Gaussian and Laplacian kernel values without cancellation, for dense and sparse rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._typing import Array

TOLERANCE = 1e-12  # error of a Gaussian value above which it is recomputed
SAFE = TOLERANCE / (8 * EPS)  # sum of `gamma |x|^2` and `gamma |y|^2` up to which no value is
NEGLIGIBLE = 60.0  # exp(-60) is below any rounding error
TILE = 2**18  # entries that stay in the cache
DENSE_ENTRIES = 2**20  # entries of a sparse table that are made dense at a time


def gaussian(X: Any, Y: Any = None, *, gamma: float) -> Array:
    """Values of `exp(-gamma |x - y|^2)`, shape `(n_X, n_Y)`.

    Dense samples are centred, so that matrix products cancel little; pairs that still lose digits
    are recomputed from the difference of the samples. The diagonal of `gaussian(X)` is 1.
    """
    same = Y is None or Y is X
    single = X.dtype == np.float32 and (same or Y.dtype == np.float32)
    X = X.astype(np.float64, copy=False)
    Y = X if same else Y.astype(np.float64, copy=False)
    A, B = X, Y
    if not (_is_sparse(X) or _is_sparse(Y)):
        origin = Y.mean(axis=0)
        A = X - origin
        B = A if same else Y - origin
    a = gamma * row_norms(A, squared=True)
    b = a if same else gamma * row_norms(B, squared=True)
    K: Array = np.asarray(safe_sparse_dot(A, B.T, dense_output=True))
    step = max(1, TILE // max(1, len(b)))
    for start in range(0, len(a), step):
        rows = slice(start, start + step)
        E = K[rows]
        E *= 2.0 * gamma
        E -= a[rows, None] + b
        refine(E, X[rows], Y, a[rows], b, gamma)
        exponential(E)
    if same:
        np.fill_diagonal(K, 1.0)
    return K.astype(np.float32) if single else K


def cancels(a: Array, b: Array) -> bool:
    """Whether exponents computed from the terms `a` and `b` may need `refine`."""
    return bool(a.max(initial=0.0) + b.max(initial=0.0) > SAFE)


def refine(E: Array, X: Any, Y: Any, a: Array, b: Array, gamma: float) -> None:
    """Recompute exponents `-gamma |x - y|^2` that suffer from cancellation, in place.

    Computed as `2 gamma x'y - a - b`, an exponent has an error of about `8 eps (a + b)`, and the
    kernel value has that error times the value itself. Where this exceeds 1e-12, the exponent is
    recomputed from the difference of the samples.

    Parameters
    ----------
    E : ndarray of shape (n_X, n_Y)
        The exponents.
    X, Y : ndarray or sparse matrix
        Samples, not centred.
    a, b : ndarray of shape (n_X,) and (n_Y,)
        The terms `gamma |x|^2` and `gamma |y|^2` of the exponents.
    gamma : float
        Inverse width.
    """
    if not (len(b) and cancels(a, b)):
        return
    step = max(1, TILE // len(b))
    for start in range(0, len(a), step):
        rows = slice(start, start + step)
        size = a[rows, None] + b
        error = 8 * EPS * size
        i, j = np.nonzero((size > SAFE) & (E[rows] > -NEGLIGIBLE - error))
        error = error[i, j]
        spoilt = E[rows][i, j] + error > np.log(TOLERANCE / error)
        i, j = i[spoilt] + start, j[spoilt]
        pairs = max(1, TILE // X.shape[1])
        for first in range(0, len(i), pairs):
            left, right = i[first : first + pairs], j[first : first + pairs]
            apart = X[left].astype(np.float64) - Y[right]
            E[left, right] = -gamma * row_norms(apart, squared=True)


def exponential(E: Array) -> Array:
    """Replace exponents by their exponentials, those that rounding made positive by 1."""
    if E.max(initial=0.0) > 0.0:  # the maximum takes a sixth of the time of the minimum
        np.minimum(E, 0.0, out=E)
    return np.exp(E, out=E)


def laplacian(X: Any, Y: Any = None, *, gamma: float) -> Array:
    """Values of `exp(-gamma |x - y|_1)`, shape `(n_X, n_Y)`."""
    # the distances want samples of one kind: that of Y, which is held already
    if Y is not None and _is_sparse(X) and not _is_sparse(Y):
        blocks = [laplacian(rows, Y, gamma=gamma) for _, rows in dense_blocks(X)]
        return np.concatenate(blocks) if blocks else np.zeros((0, len(Y)))
    if Y is not None and _is_sparse(Y):
        X = sparse.csr_matrix(X)

    if _is_sparse(X):
        X = _plain(X)
        Y = None if Y is None else _plain(Y)
    return np.asarray(laplacian_kernel(X, Y, gamma=gamma))


def dense_blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """Yield `rows, X[rows]` of a sparse table, the rows as a dense array of bounded size."""
    step = max(1, DENSE_ENTRIES // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield rows, X[rows].toarray()


def _plain(X: Any) -> Any:
    """Copy a sparse matrix as scikit-learn's compiled distances take it: writable, 32-bit."""
    if max(X.shape[1], X.nnz) > np.iinfo(np.int32).max:
        raise ValueError(
            f'kernel="laplacian" takes at most 2^31 - 1 columns and stored entries, and the '
            f"sparse matrix has {X.shape[1]} and {X.nnz}."
        )
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_matrix((X.data.copy(), indices, indptr), shape=X.shape)


def _is_sparse(X: Any) -> bool:
    return bool(sparse.issparse(X))
