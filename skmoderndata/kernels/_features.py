"""Coordinates of samples in the span of a few of them: kernel methods for many samples."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._solvers.incomplete_cholesky import (
    CholeskyResult,
    cholesky_rows,
    incomplete_cholesky,
)
from skmoderndata.kernels._resolve import Array, Gram, count_samples, row_blocks, take


class LowRankFeatures:
    """Coordinates `z(x)` of the projection of `phi(x)` on the span of landmarks.

    `z(x)'z(y)` is the kernel of the projections (the Nystroem approximation), and
    `k(x, x) - |z(x)|^2` the squared distance from the span.

    Attributes
    ----------
    gram : Gram
        The kernel.
    landmarks : array, list or Columns
        Training samples that span the subspace, fit to be the second argument of `gram`.
    root : ndarray of shape (n_landmarks, n_landmarks)
        Lower triangular root of the kernel matrix of the landmarks.
    """

    def __init__(self, gram: Gram, landmarks: Any, root: Array) -> None:
        self.gram, self.landmarks, self.root = gram, landmarks, root

    def __call__(self, X: Any) -> Array:
        """Coordinates, one row per sample."""
        Z = np.empty((count_samples(X), len(self.root)))
        for rows, block in self.blocks(X):
            Z[rows] = block
        return Z

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield `rows, z(X[rows])` with each block below scikit-learn's working memory."""
        for rows in row_blocks(count_samples(X), 16 * max(1, len(self.root))):
            block = as_double(take(X, rows))
            yield rows, cholesky_rows(self.gram, block, self.landmarks, self.root)


def low_rank_features(
    gram: Gram, X: Any, *, rank: int, tol: float = 0.0
) -> tuple[LowRankFeatures, CholeskyResult]:
    """Choose landmarks by pivoted incomplete Cholesky factorisation.

    Returns the map, and the result, whose `factor` holds the coordinates of the samples in `X`
    and whose `residual` their squared distances from the span.
    """
    X = as_double(X)
    result = incomplete_cholesky(gram, X, rank=rank, tol=tol)
    root = np.ascontiguousarray(result.factor[result.pivots])
    return LowRankFeatures(gram, gram.subset(X, result.pivots), np.tril(root)), result


def fits_in_memory(n_rows: int, n_columns: int, itemsize: int = 8) -> bool:
    """Whether a matrix is within scikit-learn's working memory."""
    return len(list(row_blocks(n_rows, itemsize * n_columns))) <= 1


def as_double(X: Any) -> Any:
    """Give samples in double precision; lists of other samples stay as they are."""
    if bool(sparse.issparse(X)):
        return X if X.dtype == np.float64 else X.astype(np.float64)
    if isinstance(X, np.ndarray) and X.dtype == np.float32:
        return X.astype(np.float64)
    return X


def kernel_matrix(gram: Gram, X: Any) -> Array:
    """Kernel matrix of the training samples in double precision, checked and symmetric.

    Raises
    ------
    ValueError
        If a value is not finite, or if the matrix is not symmetric up to rounding.
    """
    K = np.asarray(gram(as_double(X)), dtype=np.float64)
    check_symmetric(gram, K)
    return K


def check_symmetric(gram: Gram, K: Array) -> None:
    """Refuse values that are not finite, and a matrix that is not symmetric."""
    scale = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
    if not np.isfinite(scale):
        raise ValueError(
            f"kernel={gram.kernel!r} gives values that are not finite on these samples: rescale "
            "the samples or change the parameters of the kernel."
        )
    if isinstance(gram.kernel, str) and not gram.precomputed:
        return  # the named kernels are symmetric
    n, worst, step = len(K), 0.0, 512  # tiles, which stay in the cache when they are transposed
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        for left in range(0, rows.stop, step):
            columns = slice(left, min(left + step, n))
            tile = np.abs(K[rows, columns] - K[columns, rows].T)
            worst = max(worst, float(tile.max(initial=0.0)))
    if worst > 1e-6 * scale:  # single precision counts as symmetric
        raise ValueError(
            f"kernel={gram.kernel!r} gives a matrix that is not symmetric: entries (i, j) and "
            f"(j, i) differ by up to {worst:.3g}. A kernel is symmetric; to make this one so, "
            "pass (K + K.T) / 2."
        )
