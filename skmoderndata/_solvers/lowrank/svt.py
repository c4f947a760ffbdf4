"""Singular value thresholding: dense, through a Gram matrix, or by warm block iteration.

`svt(A, threshold)` returns the factors of ``argmin_L threshold * |L|_* + |L - A|_F^2 / 2``, that
is the singular value decomposition of `A` with every singular value reduced by `threshold` and
the non-positive ones dropped. `A` is an array or anything with `shape`, `dtype`, `matmat` and
`rmatmat`, such as a `scipy.sparse.linalg.LinearOperator`; `operator` builds such objects.
`spectral_norm` bounds a norm from above, for certificates.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator

from skmoderndata._solvers.common.linalg import eigen_range

Array = np.ndarray[Any, np.dtype[Any]]

OVERSAMPLING = 10
DENSE_FRACTION = 0.35  # of the smaller dimension, beyond which a dense decomposition is cheaper
GRAM_RATIO = 1e-4  # threshold over largest singular value, where a Gram matrix gets too coarse
KRYLOV_STEPS = 6  # of the estimate of a spectral norm


class ThresholdedSVD(NamedTuple):
    """Factors of a thresholded matrix, ``U * s @ Vt``, and what the next call may reuse.

    Attributes
    ----------
    U : ndarray of shape (n, r)
    s : ndarray of shape (r,)
        Singular values after thresholding, all positive, descending.
    Vt : ndarray of shape (r, p)
    subspace : ndarray of shape (p, k)
        Orthonormal columns to start the next call with, k >= r. Where there are so many that a
        dense decomposition is cheaper, the next call takes it at once.
    error : float
        Estimate of the relative error of the result, 0 for the dense routes.
    n_products : int
        Number of columns multiplied by the matrix or its transpose.
    """

    U: Array
    s: Array
    Vt: Array
    subspace: Array
    error: float
    n_products: int


def operator(
    matmat: Callable[[Array], Array],
    rmatmat: Callable[[Array], Array],
    shape: tuple[int, int],
    dtype: Any = np.float64,
) -> Any:
    """Wrap two functions, ``V -> A @ V`` and ``U -> A.T @ U``, as a matrix for `svt`."""
    return LinearOperator(
        shape=shape, dtype=dtype, matvec=matmat, rmatvec=rmatmat, matmat=matmat, rmatmat=rmatmat
    )


def svt(
    A: Any,
    threshold: float,
    *,
    solver: str = "auto",
    subspace: Array | None = None,
    max_rank: int | None = None,
    tol: float = 1e-9,
    max_passes: int = 40,
    best_effort: bool = False,
    rng: np.random.RandomState | None = None,
) -> ThresholdedSVD:
    """Reduce the singular values of `A` (n, p) by `threshold` and drop the non-positive ones.

    `solver`: "full" is LAPACK's decomposition. "gram" decomposes the smaller of ``A A'`` and
    ``A' A`` (as accurate as "full" for singular values above 1e-4 of the largest; "full" steps in
    where the threshold is lower). "subspace" is block subspace iteration from `subspace`, columns
    near the leading right singular vectors as returned before; it ends in "gram" when the rank
    exceeds a third of the smaller dimension, or when `max_passes` have not brought the estimated
    relative error below `tol` (with `best_effort` that is returned all the same). "auto" takes
    "gram" for small or elongated arrays and "subspace" for others. Operators always take
    "subspace". `max_rank` bounds the number of singular values that are returned.
    """
    n, p = A.shape
    small = min(n, p)
    dense = isinstance(A, np.ndarray)
    if solver == "auto" and dense:
        solver = "gram" if small <= 64 or small <= 0.1 * max(n, p) else "subspace"
    if dense and solver == "full":
        return _full(A, threshold, max_rank)
    if dense and solver == "gram":
        return _gram(A, threshold, max_rank)
    rng = np.random.RandomState(0) if rng is None else rng
    limit = max(1, int(DENSE_FRACTION * small)) if dense else small
    out = _subspace_iteration(A, threshold, subspace, max_rank, limit, tol, max_passes, rng)
    if out is None or (dense and not best_effort and out.error > tol):
        out = _gram(A, threshold, max_rank)
    return out


def _full(A: Array, threshold: float, max_rank: int | None) -> ThresholdedSVD:
    U, s, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    r = _kept(s, threshold, max_rank)
    return ThresholdedSVD(U[:, :r], s[:r] - threshold, Vt[:r], Vt[:r].T, 0.0, sum(A.shape))


def _gram(A: Array, threshold: float, max_rank: int | None) -> ThresholdedSVD:
    n, p = A.shape
    wide = p > n
    G = A @ A.T if wide else A.T @ A
    values, Q = linalg.eigh(G, overwrite_a=True, check_finite=False, driver="evd")
    s = np.sqrt(np.maximum(values[::-1], 0))
    if s.size and threshold < GRAM_RATIO * s[0]:
        return _full(A, threshold, max_rank)
    r = _kept(s, threshold, max_rank)
    Q, s = Q[:, ::-1][:, :r], s[:r]
    other = (A.T @ Q if wide else A @ Q) / s
    U, V = (Q, other) if wide else (other, Q)
    return ThresholdedSVD(U, s - threshold, V.T, V, 0.0, min(n, p) + r)


def _kept(s: Array, threshold: float, max_rank: int | None) -> int:
    r = int(np.count_nonzero(s > threshold))
    return r if max_rank is None else min(r, max_rank)


def _subspace_iteration(
    A: Any,
    threshold: float,
    V: Array | None,
    max_rank: int | None,
    limit: int,
    tol: float,
    max_passes: int,
    rng: np.random.RandomState,
) -> ThresholdedSVD | None:
    """Iterate ``Q = orth(A V)``, ``A' Q = V diag(s) Z'``; None when a dense route is better.

    The block grows by half until its smallest singular value falls below the threshold. The
    error is judged without further products with A, see `_relative_error`.
    """
    n, p = A.shape
    dense = isinstance(A, np.ndarray)
    cap = min(n, p)
    rmatmat = A.T.__matmul__ if dense else A.rmatmat
    matmat = A.__matmul__ if dense else A.matmat
    # values just below the threshold may still rise: a cold start watches them settle
    cold = V is None or V.shape[1] == 0
    last = np.zeros(0)
    if V is None or cold:
        V = orthonormal(rng.standard_normal((p, min(cap, 2 * OVERSAMPLING))).astype(A.dtype))[0]
    n_products = 0
    for n_pass in range(1, max_passes + 1):
        k = V.shape[1]
        if dense and k > limit:
            return None
        Q, R = orthonormal(matmat(V))
        B = rmatmat(Q)
        n_products += 2 * k
        s, Z, V_new = _small_svd(B, threshold)
        r = _kept(s, threshold, max_rank)
        exact = k == cap
        wanted = max_rank is None or k < max_rank + OVERSAMPLING
        if not exact and s[-1] > threshold and wanted and n_pass < max_passes:
            grown = min(max(k + k // 2, k + OVERSAMPLING), cap)
            if dense and grown > limit:
                return None
            fresh = rng.standard_normal((p, grown - k)).astype(V_new.dtype)
            V, last = orthonormal(np.hstack([V_new, fresh]))[0], s
            continue
        shrunk = s[:r] - threshold
        error = 0.0 if exact else _relative_error(V, V_new[:, :r], R.T @ Z[:, :r], s, shrunk)
        settled = not cold or exact or r == max_rank
        if not settled and r < last.size:
            settled = bool(s[r] + 10 * (s[r] - last[r]) <= threshold)
        if n_pass == max_passes and not settled:
            error = 1.0
        if n_pass == max_passes or (error <= tol and settled):
            break
        last = s
        V = V_new
    keep = min(k, r + max(OVERSAMPLING, r // 10))
    return ThresholdedSVD(Q @ Z[:, :r], shrunk, V_new[:, :r].T, V_new[:, :keep], error, n_products)


def _relative_error(V: Array, V_new: Array, RtZ: Array, s: Array, shrunk: Array) -> float:
    """Estimate the error of a thresholded matrix from how far the right vectors moved.

    Their movement in this pass is about the error they had; the left vectors, on which the result
    depends to first order, were made half a pass later and have that error times `s_last / s_i`.
    """
    r = shrunk.size
    if r == 0:
        return 0.0
    # V' V_new = R' Z / s, so that small matrices tell; below sqrt(eps) only the vectors do
    cosines_sq = (RtZ**2).sum(axis=0) / s[:r] ** 2
    moved = np.sqrt(np.maximum(1 - cosines_sq, 0))
    blurred = moved < 1e-6
    if blurred.any():
        fine = V_new[:, blurred]
        moved[blurred] = linalg.norm(fine - V @ (V.T @ fine), axis=0)
    return float(linalg.norm(moved) * s[-1] / linalg.norm(shrunk))


def _small_svd(B: Array, threshold: float) -> tuple[Array, Array, Array]:
    """Decompose the tall `B` as ``V * s @ Z.T``; columns of V for vanishing s are arbitrary."""
    values, Z = linalg.eigh(B.T @ B, overwrite_a=True, check_finite=False, driver="evd")
    s = np.sqrt(np.maximum(values[::-1], 0))
    Z = Z[:, ::-1]
    if s[-1] > GRAM_RATIO * s[0] and threshold > GRAM_RATIO * s[0]:
        return s, Z, (B @ Z) / s
    V, R = orthonormal(B)
    X, s, Zt = linalg.svd(R, check_finite=False)
    return s, Zt.T, V @ X


def orthonormal(X: Array) -> tuple[Array, Array]:
    """Factor a tall matrix as ``Q @ R`` with orthonormal Q; R is square, not always triangular.

    One or two passes of Cholesky QR, Householder where the Gram matrix is not safely definite.
    """
    factor = np.eye(X.shape[1], dtype=X.dtype)
    for _ in range(3):
        G = X.T @ X
        R, info = _lapack("potrf", G)(G, lower=0, clean=1)
        diagonal = np.abs(np.diagonal(R))
        if info != 0 or not diagonal.min() > 1e-5 * diagonal.max():
            break
        # X R^-1 through the inverse of the small triangle: matrix products beat a solve
        inverse = _lapack("trtri", R)(R, lower=0)[0]
        X = X @ inverse
        factor = R @ factor
        if diagonal.min() > 1e-2 * diagonal.max():
            return X, factor
    Q, R = linalg.qr(X, mode="economic", check_finite=False)
    return Q, R @ factor


def _lapack(name: str, A: Array) -> Any:
    return linalg.get_lapack_funcs(name, (A,))


def spectral_norm(
    A: Array,
    *,
    start: Array | None = None,
    slack: float = 1e-10,
    exact_up_to: int = 2500,
    rng: np.random.RandomState | None = None,
) -> float:
    """Bound the largest singular value of an array (n, p) from above, tightly.

    Up to a smaller dimension of `exact_up_to` from the largest eigenvalue of a Gram matrix, plus
    what it may lack by rounding; for larger arrays an estimate, from a block Krylov space that
    begins with the columns `start` (p, k) and random ones, plus its last relative change.
    """
    n, p = A.shape
    small = min(n, p)
    if not A.any():
        return 0.0
    if small <= exact_up_to:
        G = A @ A.T if n <= p else A.T @ A
        top = float(eigen_range(G, small - 1, small)[0][0])
        return float(np.sqrt(top * (1 + 10 * small * float(np.finfo(G.dtype).eps))))
    rng = np.random.RandomState(0) if rng is None else rng
    X = rng.standard_normal((p, min(small, 2 * OVERSAMPLING)))
    if start is not None:
        X = np.hstack([start, X])[:, :p]
    estimate, _, change = top_ritz_pair(lambda X: A.T @ (A @ X), X, 1e-12, KRYLOV_STEPS)
    return float(np.sqrt(estimate * (1 + max(change, slack))))


def top_ritz_pair(
    product: Callable[[Array], Array], X: Array, accuracy: float, max_steps: int = 40
) -> tuple[float, Array, float]:
    """Largest Ritz pair of a positive semidefinite product in a growing block Krylov space.

    Ends when two steps in a row (one can be luck) raise the value by less than `accuracy`,
    relative. Returns the value, the vector and the last relative change.
    """
    basis = images = np.empty((X.shape[0], 0), X.dtype)
    value, change, still = 0.0, 1.0, 0
    for _ in range(max_steps):
        for _ in range(2):
            X = X - basis @ (basis.T @ X)
            X = linalg.qr(X, mode="economic", check_finite=False)[0]
        PX = product(X)
        basis, images = np.hstack([basis, X]), np.hstack([images, PX])
        small = basis.T @ images
        (top,), z = eigen_range(small, len(small) - 1, len(small))
        change = (top - value) / max(top, np.finfo(float).tiny)
        still = still + 1 if change <= accuracy else 0
        value = max(float(top), 0.0)
        room = X.shape[0] - basis.shape[1]
        if still == 2 or room == 0:
            break
        X = PX[:, :room]
    return value, basis @ z[:, 0], abs(float(change))
