"""Gaussian and Laplacian kernel values without cancellation, for dense and sparse rows."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from skmoderndata._samples.containers import dense_blocks, is_sparse, row_blocks
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array

# Maximum error of a Gaussian value; values with a larger error are recomputed.
TOLERANCE = 1e-12
# Largest sum of `gamma |x|^2` and `gamma |y|^2` for which no value needs to be recomputed.
SAFE = TOLERANCE / (8 * EPS)
# Maximum magnitude of an exponent that has to be accurate: exp(-60) is below any rounding error.
NEGLIGIBLE = 60.0
# Number of entries of a tile, which stays in the cache.
TILE = 2**18


def gaussian(X: Any, Y: Any = None, *, gamma: float) -> Array:
    """Return the values of `exp(-gamma |x - y|^2)`, shape `(n_X, n_Y)`.

    Dense samples are centred, so that matrix products cancel little; pairs that still lose digits
    are recomputed from the difference of the samples. The diagonal of `gaussian(X)` is 1.
    """
    symmetric = Y is None or Y is X
    single = X.dtype == np.float32 and (symmetric or Y.dtype == np.float32)
    X = X.astype(np.float64, copy=False)
    Y = X if symmetric else Y.astype(np.float64, copy=False)

    n_X = X.shape[0]
    n_Y = Y.shape[0]
    if not n_X or not n_Y:
        K = np.zeros((n_X, n_Y))
    elif symmetric or is_sparse(X) or is_sparse(Y):
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

    if symmetric:
        np.fill_diagonal(K, 1.0)
    return K.astype(np.float32) if single else K


def _from_inner_products(X: Any, Y: Any, gamma: float) -> Array:
    """Compute the values from inner products, for sparse rows or if Y is X."""
    # centre dense rows, so that inner products lose fewer digits
    symmetric = Y is X
    A = X
    B = Y
    if not (is_sparse(X) or is_sparse(Y)):
        A = B = X - X.mean(axis=0)
    a = gamma * row_norms(A, squared=True)
    b = a if symmetric else gamma * row_norms(B, squared=True)

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
    """Return rows `(u, 1, |u|^2)` of dense samples, with `u = sqrt(gamma) (x - origin)`."""
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
    """Write the exponents `-gamma |x - z|^2` of one tile, using one matrix product.

    Parameters
    ----------
    left : ndarray of shape (n_X, p + 2)
        Packed rows of X, after `opposite`.
    columns : ndarray of shape (p + 2, n_Z)
        Packed rows of Z with the same origin, transposed.
    X, Z : ndarray
        Samples, for pairs whose exponents cancel.
    gamma : float
        Inverse width.
    out : ndarray of shape (n_X, n_Z)
        Exponents; rounding may make them positive.
    """
    np.matmul(left, columns, out=out)
    squares = -left[:, -2]
    refine(out, X, Z, squares, columns[-1], gamma)
    return out


class GaussianWriter:
    """Writer of `exp(-gamma |x - z|^2)` between rows of one table into an existing array.

    A table with few features is packed once. If there are many features, only the squared norms
    are stored: a packed copy would take as much memory as the table, and packing it in each call
    takes 1.1 to 1.3 times as long as subtracting the norms from the inner products.
    """

    # Maximum number of features of a table that is copied to a packed layout.
    few = 64

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

    def __call__(self, first: Array, second: Any, out: Array) -> Array:
        """Write the kernel values between the samples `first` and `second` into `out`."""
        return exponential(self.exponents(first, second, out))

    def exponents(self, first: Array, second: Any, out: Array) -> Array:
        """Write the logarithms of the kernel values; rounding may make them positive."""
        X = self.X[first]
        Z = self.X[second]
        if self.augmented:
            left = opposite(self.table[first])
            columns = self.table[second].T
            return exponents(left, columns, X, Z, self.gamma, out=out)

        left = 2.0 * self.gamma * (X - self.origin)
        columns = (Z - self.origin).T
        np.matmul(left, columns, out=out)
        a = self.norms[first]
        b = self.norms[second]
        return _less_squares(out, X, Z, a, b, self.gamma)


def refine(E: Array, X: Any, Y: Any, a: Array, b: Array, gamma: float) -> None:
    """Recompute exponents `-gamma |x - y|^2` that suffer from cancellation, in place.

    Computed as `2 gamma x'y - a - b`, an exponent has an error of about `8 eps (a + b)`, and the
    error of the kernel value is this error times the value. If it exceeds 1e-12, the exponent is
    recomputed from the difference of the samples.

    Parameters
    ----------
    E : ndarray of shape (n_X, n_Y)
        Exponents.
    X, Y : ndarray or sparse matrix
        Samples, not centred.
    a, b : ndarray of shape (n_X,) and (n_Y,)
        Terms `gamma |x|^2` and `gamma |y|^2` of the exponents.
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
        # find pairs whose kernel value has an error above the tolerance
        rows = slice(start, start + step)
        tile = E[rows]
        size = a[rows, None] + b
        error = 8 * EPS * size
        matters = tile > -NEGLIGIBLE - error
        i, j = np.nonzero((size > SAFE) & matters)
        error = error[i, j]
        spoilt = tile[i, j] + error > np.log(TOLERANCE / error)

        # compute the exponents of these pairs again, from the differences of the samples
        i = i[spoilt] + start
        j = j[spoilt]
        for first in range(0, len(i), pairs):
            left = i[first : first + pairs]
            right = j[first : first + pairs]
            differences = X[left].astype(np.float64) - Y[right]
            E[left, right] = -gamma * row_norms(differences, squared=True)


def exponential(E: Array) -> Array:
    """Exponentiate in place; exponents that rounding made positive count as 0."""
    # Finding the maximum takes a sixth of the time that clipping takes.
    if E.max(initial=0.0) > 0.0:
        np.minimum(E, 0.0, out=E)
    return np.exp(E, out=E)


def laplacian(X: Any, Y: Any = None, *, gamma: float) -> Array:
    """Return the values of `exp(-gamma |x - y|_1)`, shape `(n_X, n_Y)`."""
    # scikit-learn's distances require two dense or two sparse arrays: convert X to the form of Y,
    # which is already in memory
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
    """Copy a sparse matrix in the form that compiled distances need: writable, 32-bit."""
    largest = max(X.shape[1], X.nnz)
    if largest > np.iinfo(np.int32).max:
        raise ValueError(
            f'kernel="laplacian" accepts at most 2^31 - 1 columns and stored entries, but the '
            f"sparse matrix has {X.shape[1]} columns and {X.nnz} stored entries."
        )
    indices = X.indices.astype(np.int32)
    indptr = X.indptr.astype(np.int32)
    data = X.data.copy()
    return sparse.csr_matrix((data, indices, indptr), shape=X.shape)
