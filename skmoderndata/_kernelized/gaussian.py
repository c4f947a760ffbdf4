"""Gaussian and Laplacian kernel values without cancellation, for dense and sparse rows."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from skmoderndata._samples.containers import dense_blocks, is_sparse, row_blocks
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array

TOLERANCE = 1e-12  # error of a Gaussian value above which it is recomputed
SAFE = TOLERANCE / (8 * EPS)  # sum of `gamma |x|^2` and `gamma |y|^2` up to which no value is
NEGLIGIBLE = 60.0  # exp(-60) is below any rounding error
TILE = 2**18  # entries of a tile that stays in the cache


def gaussian(X: Any, Y: Any = None, *, gamma: float) -> Array:
    """Values of `exp(-gamma |x - y|^2)`, shape `(n_X, n_Y)`.

    Dense samples are centred, so that matrix products cancel little; pairs that still lose digits
    are recomputed from the difference of the samples. The diagonal of `gaussian(X)` is 1.
    """
    own = Y is None or Y is X
    single = X.dtype == np.float32 and (own or Y.dtype == np.float32)
    X = X.astype(np.float64, copy=False)
    Y = X if own else Y.astype(np.float64, copy=False)

    n_X = X.shape[0]
    n_Y = Y.shape[0]
    if not n_X or not n_Y:
        K = np.zeros((n_X, n_Y))
    elif own or is_sparse(X) or is_sparse(Y):
        K = _from_inner_products(X, Y, gamma)
    else:
        K = np.empty((n_X, n_Y))
        origin = Y.mean(axis=0)
        columns = packed(Y, gamma, origin).T
        for rows in row_blocks(n_X, 8 * n_Y, n_bytes=8 * TILE):
            block = X[rows]
            left = opposite(packed(block, gamma, origin))
            E = exponents(left, columns, block, Y, gamma, out=K[rows])
            exponential(E)

    if own:
        np.fill_diagonal(K, 1.0)
    return K.astype(np.float32) if single else K


def _from_inner_products(X: Any, Y: Any, gamma: float) -> Array:
    """Values from inner products: of sparse rows, or of one table, whose product is symmetric."""
    # dense rows from their mean
    own = Y is X
    A = X
    B = Y
    if not (is_sparse(X) or is_sparse(Y)):
        A = B = X - X.mean(axis=0)
    a = gamma * row_norms(A, squared=True)
    b = a if own else gamma * row_norms(B, squared=True)

    K: Array = np.asarray(safe_sparse_dot(A, B.T, dense_output=True))
    row_bytes = 8 * max(1, len(b))
    for rows in row_blocks(len(a), row_bytes, n_bytes=8 * TILE):
        E = K[rows]
        E *= 2.0 * gamma
        _less_squares(E, X[rows], Y, a[rows], b, gamma)
        exponential(E)
    return K


def _less_squares(E: Array, X: Any, Y: Any, a: Array, b: Array, gamma: float) -> Array:
    """Turn `2 gamma x'y` into the exponents `2 gamma x'y - a - b`, in place."""
    E -= a[:, None] + b
    refine(E, X, Y, a, b, gamma)
    return E


def packed(X: Array, gamma: float, origin: Array) -> Array:
    """Rows `(u, 1, |u|^2)` of dense samples, with `u = sqrt(gamma) (x - origin)`."""
    n, p = X.shape
    A = np.empty((n, p + 2))
    u = np.subtract(X, origin, out=A[:, :p])
    u *= np.sqrt(gamma)
    A[:, p] = 1.0
    np.einsum("ij,ij->i", u, u, out=A[:, p + 1])
    return A


def opposite(A: Array) -> Array:
    """Turn packed rows into `(2 u, -|u|^2, -1)`, in place.

    Their inner products with the packed rows of v are `2 u'v - |u|^2 - |v|^2 = -gamma |x - z|^2`.
    """
    A[:, :-2] *= 2.0
    np.negative(A[:, -1], out=A[:, -2])
    A[:, -1] = -1.0
    return A


def exponents(
    left: Array, columns: Array, X: Any, Z: Any, gamma: float, *, out: Array
) -> Array:
    """Write the exponents `-gamma |x - z|^2` of one tile, by one product of matrices.

    Parameters
    ----------
    left : ndarray of shape (n_X, p + 2)
        The opposite of the packed rows of X.
    columns : ndarray of shape (p + 2, n_Z)
        Packed rows of Z from the same origin, transposed.
    X, Z : ndarray
        The samples, for pairs whose exponents cancel.
    gamma : float
        Inverse width.
    out : ndarray of shape (n_X, n_Z)
        The exponents, which rounding may make positive.
    """
    np.matmul(left, columns, out=out)
    squares = -left[:, -2]
    refine(out, X, Z, squares, columns[-1], gamma)
    return out


class GaussianWriter:
    """Values of `exp(-gamma |x - z|^2)` among rows of one table, written into a given array.

    A table of few features is packed once. For one of many, only the squared norms are stored:
    a copy would take the memory of the table, and to pack it in each call takes 1.1 to 1.3 times
    as long as to subtract the norms from the inner products.
    """

    few = 64  # features up to which the table is packed

    def __init__(self, X: Array, gamma: float) -> None:
        self.X = X
        self.gamma = gamma
        self.origin = X.mean(axis=0, dtype=np.float64)
        self.augmented = X.shape[1] <= self.few
        if self.augmented:
            self.table = packed(X, gamma, self.origin)
            return

        self.norms = np.empty(len(X))
        row_bytes = 8 * X.shape[1]
        for rows in row_blocks(len(X), row_bytes, n_bytes=8 * TILE):
            A = X[rows] - self.origin
            self.norms[rows] = gamma * np.einsum("ij,ij->i", A, A)

    def __call__(self, chosen: Array, rows: Any, out: Array) -> Array:
        """Write the kernel values of the samples `chosen` with those of `rows` into `out`."""
        return exponential(self.exponents(chosen, rows, out))

    def exponents(self, chosen: Array, rows: Any, out: Array) -> Array:
        """Write the logarithms of the kernel values, which rounding may have made positive."""
        X = self.X[chosen]
        Z = self.X[rows]
        if self.augmented:
            left = opposite(self.table[chosen])
            columns = self.table[rows].T
            return exponents(left, columns, X, Z, self.gamma, out=out)

        left = 2.0 * self.gamma * (X - self.origin)
        columns = (Z - self.origin).T
        np.matmul(left, columns, out=out)
        a = self.norms[chosen]
        b = self.norms[rows]
        return _less_squares(out, X, Z, a, b, self.gamma)


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
    if not len(b):
        return
    largest = a.max(initial=0.0) + b.max(initial=0.0)
    if not largest > SAFE:
        return

    step = max(1, TILE // len(b))
    pairs = max(1, TILE // X.shape[1])
    for start in range(0, len(a), step):
        # pairs whose kernel value has an error above the tolerance
        rows = slice(start, start + step)
        tile = E[rows]
        size = a[rows, None] + b
        error = 8 * EPS * size
        matters = tile > -NEGLIGIBLE - error
        i, j = np.nonzero((size > SAFE) & matters)
        error = error[i, j]
        spoilt = tile[i, j] + error > np.log(TOLERANCE / error)

        # from the differences of their samples
        i = i[spoilt] + start
        j = j[spoilt]
        for first in range(0, len(i), pairs):
            left = i[first : first + pairs]
            right = j[first : first + pairs]
            differences = X[left].astype(np.float64) - Y[right]
            E[left, right] = -gamma * row_norms(differences, squared=True)


def exponential(E: Array) -> Array:
    """Replace exponents by their exponentials, those that rounding made positive by 1."""
    if E.max(initial=0.0) > 0.0:  # the maximum takes a sixth of the time of the minimum
        np.minimum(E, 0.0, out=E)
    return np.exp(E, out=E)


def laplacian(X: Any, Y: Any = None, *, gamma: float) -> Array:
    """Values of `exp(-gamma |x - y|_1)`, shape `(n_X, n_Y)`."""
    # the distances want samples of one kind: that of Y, which is held already
    if Y is not None and is_sparse(X) and not is_sparse(Y):
        blocks = [laplacian(rows, Y, gamma=gamma) for _, rows in dense_blocks(X)]
        return np.concatenate(blocks) if blocks else np.zeros((0, len(Y)))
    if Y is not None and is_sparse(Y):
        X = sparse.csr_matrix(X)

    if is_sparse(X):
        X = _plain(X)
        Y = None if Y is None else _plain(Y)
    return np.asarray(laplacian_kernel(X, Y, gamma=gamma))


def _plain(X: Any) -> Any:
    """Copy a sparse matrix as scikit-learn's compiled distances take it: writable, 32-bit."""
    largest = max(X.shape[1], X.nnz)
    if largest > np.iinfo(np.int32).max:
        raise ValueError(
            f'kernel="laplacian" takes at most 2^31 - 1 columns and stored entries, and the '
            f"sparse matrix has {X.shape[1]} and {X.nnz}."
        )
    indices = X.indices.astype(np.int32)
    indptr = X.indptr.astype(np.int32)
    data = X.data.copy()
    return sparse.csr_matrix((data, indices, indptr), shape=X.shape)
