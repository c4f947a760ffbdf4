"""Memory-bounded evaluation of kernel expansions, `f(x) = sum_j coef_j k(x, z_j)`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._kernelized.gaussian import exponential, exponents, opposite, packed
from skmoderndata._kernelized.gram import Gram, numeric_gamma
from skmoderndata._samples.containers import count_samples, dense_blocks, take
from skmoderndata._samples.encoded import Encoded
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.threads import in_threads, one_blas_thread
from skmoderndata._solvers.common.typing import Array

# Size in bytes of a tile of kernel values, which stays in the cache of a core.
TILE_BYTES = 2**19
# Number of values k(x, x) on the diagonal that are computed at a time.
DIAGONAL_ROWS = 2**15
# Number of rows that one thread evaluates at a time.
CHUNK_ROWS = 2**13
# Maximum number of kernel values for which a single thread is used; a second thread would save no
# time.
WORTH_THREADS = 2**23
# Maximum term gamma |x|^2 in single precision; with larger terms, cancellation loses too many
# digits.
SAFE_SQUARE = 64.0
# Kernels whose diagonal is computed from |x|^2.
NORM_KERNELS = ("linear", "poly", "polynomial", "sigmoid")


class KernelRows:
    """Kernel values between the samples of one data set.

    For dense rows, Gaussian and polynomial kernels are computed by one matrix product per block,
    with blocks that fit into the cache. The linear kernel works on weights of the features and
    needs no kernel values. All other kernels are computed by `Gram`, block by block.

    Attributes
    ----------
    definite : bool
        Whether the kernel is known to be positive semidefinite.
    n_evaluations : int
        Kernel values computed so far; for the linear kernel, inner products.
    """

    def __init__(self, gram: Gram, X: Any, *, n_jobs: int | None = None) -> None:
        self.gram = gram
        self.X = X
        self.n_jobs = n_jobs
        self.n_rows = count_samples(X)
        self.definite = surely_psd(gram)
        self.origin = _origin(gram, X)
        self.n_evaluations = 0

    def matrix(self, a: Array, b: Array) -> Array:
        """Return the kernel values between samples `a` and samples `b`, in double precision."""
        self.n_evaluations += len(a) * len(b)
        if len(a) == 0 or len(b) == 0:
            return np.zeros((len(a), len(b)))
        columns = self.gram.subset(self.X, b)
        expansion = Expansion(self.gram, columns, origin=self.origin)
        K = expansion.kernel(take(self.X, a))
        return np.asarray(K, dtype=np.float64)

    def diag(self, a: Array | slice) -> Array:
        """Return the kernel values of samples with themselves."""
        if self.gram.precomputed:
            diagonal = np.asarray(self.X.diagonal(), dtype=np.float64)
            return diagonal[a]
        samples = _double(take(self.X, a))
        return np.asarray(self.gram.diag(samples), dtype=np.float64)

    def expansion(self, b: Array, coef: Array) -> "Expansion":
        """Return the function `sum_j coef_j k(x, b_j)` of samples `b`."""
        samples = self.gram.subset(self.X, b)
        return Expansion(self.gram, samples, coef, origin=self.origin)

    def squared_norm(self, coef: Array) -> float:
        """Return the squared norm of `sum_j coef_j k(x, x_j)` over all samples."""
        support = np.flatnonzero(coef)
        coef = coef[support]
        if _kind(self.gram, self.X) == "linear":
            # A sum of squares cannot suffer from cancellation.
            samples = _double(take(self.X, support))
            weights = self.gram.weighted_sum(coef, samples)
            return float(weights @ weights)
        function = self.expansion(support, coef)
        values = self.values(function, support)
        return max(float(values @ coef), 0.0)

    def values(
        self, expansion: "Expansion", rows: Array | slice, *, exact: bool = True
    ) -> Array:
        """Return the values of an expansion at some of the samples."""
        values = expansion.values(self.X, rows, exact=exact, n_jobs=self.n_jobs)
        per_row = 1 if expansion.kind == "linear" else len(expansion)
        self.n_evaluations += len(values) * per_row
        return values


class Expansion:
    """The function `f(x) = sum_j coef_j k(x, z_j)`; `coef` may have several columns."""

    def __init__(
        self,
        gram: Gram,
        samples: Any,
        coef: Array | None = None,
        *,
        origin: Array | None = None,
    ) -> None:
        self.gram = gram
        self.samples = samples
        self.kind = _kind(gram, samples)
        self.coef = None if coef is None else np.asarray(coef, dtype=np.float64)
        self._packed: dict[Any, Array] = {}
        if self.kind == "rbf":
            self.gamma = float(gram.params["gamma"])
            centre = _origin(gram, samples) if origin is None else origin
            assert centre is not None
            self.origin = centre

    def __len__(self) -> int:
        return count_samples(self.samples)

    def kernel(self, X: Any) -> Array:
        """Return the kernel values between the rows of `X` (one block) and all samples."""
        if self._takes_dense_rows() and sparse.issparse(X):
            K = np.empty((count_samples(X), len(self)))
            for rows, block in dense_blocks(X):
                K[rows] = self.kernel(block)
            return K
        if self.kind == "rbf":
            K = np.empty((count_samples(X), len(self)))
            E = self._exponents(self._left(X), X, out=K)
            return exponential(E)

        dense = self.gram.origin is None and not sparse.issparse(self.samples)
        if self.kind in ("linear", "poly") and dense:
            with np.errstate(over="ignore", invalid="ignore"):
                inner = _double(X) @ self._basis(np.float64)
                K = self._map(inner)
                return self.gram.check_finite(K)
        return self.gram(X, self.samples)

    def values(
        self,
        X: Any,
        rows: Array | slice | None = None,
        *,
        exact: bool = True,
        n_jobs: int | None = None,
    ) -> Array:
        """Return the values at rows of `X`.

        Parameters
        ----------
        X : array, sparse matrix or list
            Samples.
        rows : array of indices, slice or None
            Rows that are evaluated; None means all.
        exact : bool
            If False, single precision is allowed, with errors of about 1e-5 of the largest
            coefficient.
        n_jobs : int or None
            Number of threads. Blocks and values do not depend on it.
        """
        assert self.coef is not None
        positions = _positions(rows, count_samples(X))
        n_columns = self.coef.shape[1:]
        out = np.zeros((len(positions), *n_columns))
        if len(self) == 0:
            return out

        # number of rows that one thread evaluates at a time
        if self.gram.precomputed:
            step = max(1, min(CHUNK_ROWS, TEMPORARY_BYTES // (FLOAT_BYTES * len(self))))
        else:
            step = CHUNK_ROWS

        def work(start: int) -> None:
            chunk = slice(start, start + step)
            index: Any = positions[chunk]
            if isinstance(index, range):
                index = slice(index.start, index.stop)
            self._fill(take(X, index), out[chunk], exact)

        starts: Sequence[int] = range(0, len(out), step)
        # The products of tiles are too small for several BLAS threads.
        with one_blas_thread():
            worth = len(starts) > 1 and len(out) * len(self) > WORTH_THREADS
            in_threads(work, starts, n_jobs if worth else 1)  # `work` writes into `out`.
        return self.gram.check_finite(out)

    def _takes_dense_rows(self) -> bool:
        """Whether the kernel has a fast path that needs the entries of dense rows."""
        return self.kind in ("rbf", "poly")

    # `values` raises an error if results are not finite.
    @np.errstate(over="ignore", invalid="ignore")
    def _fill(self, X: Any, out: Array, exact: bool) -> None:
        assert self.coef is not None
        if self._takes_dense_rows() and sparse.issparse(X):
            for rows, block in dense_blocks(X):
                self._fill(block, out[rows], exact)
            return

        # use the weights of the features for the linear kernel, and blocks of the Gram matrix for
        # kernels without a faster method
        if self.kind == "linear":
            out[:] = self.gram.linear_values(X, self._primal())
            return
        if self.kind == "other":
            tile = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * len(self)))
            for start in range(0, len(out), tile):
                rows = slice(start, start + tile)
                K = self.gram(take(X, rows), self.samples)
                out[rows] = K @ self.coef
            return

        # prepare the rows for the matrix product: in single precision only for a Gaussian kernel
        # whose squares are small, unless exact values are requested
        dtype: Any = np.float64 if exact else np.float32
        if self.kind == "rbf":
            A = self._left(X)
            largest_square = -A[:, -2].min(initial=0.0)
            if largest_square > SAFE_SQUARE:
                dtype = np.float64
            A = A.astype(dtype, copy=False)
        else:
            dtype = np.float64
            A = _double(X)

        # compute tiles of kernel values that stay in the cache
        basis = self._basis(dtype)
        coef = self._coef(dtype)
        n_basis = basis.shape[1]
        row_bytes = np.dtype(dtype).itemsize * n_basis
        tile = max(16, TILE_BYTES // row_bytes)
        buffer = np.empty((min(tile, len(A)), n_basis), dtype)

        for start in range(0, len(A), tile):
            rows = slice(start, min(start + tile, len(A)))
            K = buffer[: rows.stop - start]
            if self.kind != "rbf":
                K = self._map(np.matmul(A[rows], basis, out=K))
            elif dtype == np.float64:
                E = self._exponents(A[rows], X[rows], out=K)
                exponential(E)
            else:
                exponential(np.matmul(A[rows], basis, out=K))

            out[rows] = K @ coef

    def _left(self, X: Any) -> Array:
        """Return rows whose products with the basis are `-gamma |x - z|^2`."""
        return opposite(packed(X, self.gamma, self.origin))

    def _exponents(self, left: Array, X: Any, *, out: Array) -> Array:
        columns = self._basis(np.float64)
        return exponents(left, columns, X, self.samples, self.gamma, out=out)

    def _basis(self, dtype: Any) -> Array:
        """Return the samples as columns, packed for the Gaussian kernel."""
        if dtype not in self._packed:
            rows = _double(self.samples)
            if self.kind == "rbf":
                rows = packed(rows, self.gamma, self.origin)
            self._packed[dtype] = np.ascontiguousarray(rows.T, dtype=dtype)
        return self._packed[dtype]

    def _coef(self, dtype: Any) -> Array:
        assert self.coef is not None
        return self.coef.astype(dtype, copy=False)

    def _primal(self) -> Array:
        """Return the weights of the linear function."""
        if "primal" not in self._packed:
            assert self.coef is not None
            samples = _double(self.samples)
            weights = self.gram.weighted_sum(self.coef.T, samples)
            self._packed["primal"] = weights.T
        return self._packed["primal"]

    def _map(self, K: Array) -> Array:
        if self.kind == "linear":
            return K
        params = self.gram.params
        K *= params["gamma"]
        K += params["coef0"]
        degree = params["degree"]
        small_integer = degree == int(degree) and 1 <= degree <= 8
        if small_integer:
            power = K.copy() if degree > 1 else K
            for _ in range(int(degree) - 1):
                power *= K
            return power
        return np.asarray(K**degree)


def _positions(rows: Array | slice | None, n: int) -> Array | range:
    """Return selected positions among n; as a range if contiguous, which avoids a copy."""
    if isinstance(rows, np.ndarray):
        return rows
    selection = slice(None) if rows is None else rows
    return np.arange(n)[selection] if selection.step else range(n)[selection]


def _kind(gram: Gram, samples: Any) -> str:
    """Return the name of the fast path of a kernel; "other" if there is none."""
    if not isinstance(gram.kernel, str) or gram.precomputed:
        return "other"
    if gram.kernel == "linear":
        return "linear"
    if bool(sparse.issparse(samples)):
        return "other"
    if gram.kernel in ("poly", "polynomial"):
        return "poly"
    return "rbf" if gram.kernel == "rbf" else "other"


def _origin(gram: Gram, X: Any) -> Array | None:
    """Return a point near the data, so that squared distances do not cancel."""
    if _kind(gram, X) != "rbf":
        return None
    if count_samples(X) == 0:
        return np.zeros(X.shape[1])
    step = max(1, count_samples(X) // 1000)
    mean = np.mean(X[::step], axis=0, dtype=np.float64)
    return np.asarray(mean)


def _double(X: Any) -> Any:
    """Convert dense rows to double precision; sparse rows are returned unchanged."""
    if bool(sparse.issparse(X)):
        return X.astype(np.float64)
    if isinstance(X, Encoded):
        return X
    return np.asarray(X, dtype=np.float64) if hasattr(X, "shape") else X


def largest_diagonal(rows: KernelRows, *, sure: bool = False) -> float:
    """Return the largest kernel value of a sample with itself.

    If each value needs a call of the kernel, at most about 1000 samples are evaluated, unless
    `sure` is True.
    """
    gram = rows.gram
    n = rows.n_rows
    if gram.constant_diagonal:
        first = slice(0, min(n, 1))
        return float(rows.diag(first).max())
    if gram.precomputed:
        diagonal = np.asarray(rows.X.diagonal())
        return float(diagonal.max())

    # if each value needs a call of the kernel, use at most 1000 evenly spaced samples
    from_norms = isinstance(gram.kernel, str) and gram.kernel in NORM_KERNELS
    if not (from_norms or sure) and n > 1000:
        step = -(-n // 1000)
        every_kth = np.arange(0, n, step)
        return float(rows.diag(every_kth).max())

    # otherwise use all samples, in blocks
    starts = range(0, n, DIAGONAL_ROWS)
    blocks = [slice(start, min(start + DIAGONAL_ROWS, n)) for start in starts]
    return max(float(rows.diag(block).max()) for block in blocks)


def surely_psd(gram: Gram) -> bool:
    """Whether the kernel is known to be positive semidefinite for any samples."""
    if not isinstance(gram.kernel, str):
        return False
    if gram.kernel in ("poly", "polynomial"):
        degree = gram.params["degree"]
        coef0 = gram.params["coef0"]
        return bool(degree == int(degree) and coef0 >= 0)
    return gram.kernel in ("linear", "rbf", "laplacian", "cosine", "chi2")


def scale_gamma(gamma: Any, kernel: Any, X: Any, weights: Array | None = None) -> Any:
    """Compute `gamma="scale"` in blocks of rows, with the weights of the samples.

    The value is `1 / (n_features * variance)`, as in scikit-learn; a sample of weight two counts
    as two samples.
    """
    if gamma != "scale" or not isinstance(kernel, str) or not hasattr(X, "shape"):
        return gamma
    if kernel in ("linear", "precomputed"):
        return gamma
    return numeric_gamma(gamma, X, kernel, weights)
