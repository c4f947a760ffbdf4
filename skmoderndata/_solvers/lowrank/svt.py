"""Singular value thresholding: dense, through a Gram matrix, or by warm block iteration.

`svt(A, threshold)` returns the factors of ``argmin_L threshold * |L|_* + |L - A|_F^2 / 2``, that
is, the singular value decomposition of `A` with every singular value reduced by `threshold` and
non-positive values dropped. `A` is an array or an object with `shape`, `dtype`, `matmat` and
`rmatmat`, such as a `scipy.sparse.linalg.LinearOperator`; `operator` builds such objects.
`spectral_norm` bounds a norm from above, for certificates.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator

from skmoderndata._solvers.common.linalg import DENSE_UP_TO, eigen_range, leading_eigen
from skmoderndata._solvers.common.typing import Array

# Number of columns of a block in addition to the rank.
OVERSAMPLING = 10

# Maximum size of a block, as a fraction of the smaller side, for which iteration is faster than a
# dense decomposition.
DENSE_FRACTION = 0.35

# Minimum threshold at which the Gram matrix is accurate enough, relative to the largest singular
# value.
GRAM_RATIO = 1e-4

# Maximum ratio of the smaller to the larger side at which forming a Gram matrix is cheap.
ELONGATED = 0.1

# Largest rank, as a fraction of the smaller side, for which products with blocks are faster than
# the Gram matrix.
GRAM_RANK = 1 / 8


# Maximum tolerance for which more than six passes are allowed.
COARSE = 1e-3


class ThresholdedSVD(NamedTuple):
    """Factors of a thresholded matrix, ``U * s @ Vt``, and a start for the next call.

    Attributes
    ----------
    U : ndarray of shape (n, r)
    s : ndarray of shape (r,)
        Singular values after thresholding, all positive, descending.
    Vt : ndarray of shape (r, p)
    subspace : ndarray of shape (p, k)
        Orthonormal columns to start the next call with, k >= r. If a dense decomposition is
        cheaper than this number of columns, the next call chooses it at once.
    error : float
        Estimate of the relative error of the result, 0 for dense decompositions.
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
        shape=shape,
        dtype=dtype,
        matvec=matmat,
        rmatvec=rmatmat,
        matmat=matmat,
        rmatmat=rmatmat,
    )


def svt(
    A: Any,
    threshold: float,
    *,
    solver: str = "auto",
    subspace: Array | None = None,
    max_rank: int | None = None,
    tol: float = 1e-9,
    rng: np.random.RandomState | None = None,
) -> ThresholdedSVD:
    """Reduce the singular values of `A` (n, p) by `threshold` and drop non-positive values.

    Solvers are "full", "gram", "subspace" and "auto". "full" is LAPACK's decomposition. "gram"
    decomposes the smaller of ``A A'`` and ``A' A``; it is as accurate as "full" for singular
    values above 1e-4 of the largest, and "full" replaces it if the threshold is lower. "subspace"
    is block subspace iteration from `subspace`, columns near the leading right singular vectors as
    returned by an earlier call. It switches to "gram" if the rank exceeds a third of the smaller
    side, or if 40 passes do not bring the estimated relative error below `tol`; a `tol` above 1e-3
    allows only six passes, without a switch.

    "auto" uses "gram" for small arrays, and for elongated arrays without a subspace of few
    columns, else "subspace". Operators always use "subspace". `max_rank` is the maximum number of
    returned singular values.
    """
    n, p = A.shape
    small = min(n, p)
    dense = isinstance(A, np.ndarray)
    if solver == "auto" and dense:
        elongated = small <= ELONGATED * max(n, p)
        high_rank = subspace is None or subspace.shape[1] > GRAM_RANK * small
        solver = "gram" if small <= 64 or (elongated and high_rank) else "subspace"
    if dense and solver == "full":
        return _full(A, threshold, max_rank)
    if dense and solver == "gram":
        return _gram(A, threshold, max_rank)
    rng = np.random.RandomState(0) if rng is None else rng
    limit = max(1, int(DENSE_FRACTION * small)) if dense else small
    out = _subspace_iteration(A, threshold, subspace, max_rank, limit, tol, rng)
    if out is None or (dense and out.error > tol and tol <= COARSE):
        out = _gram(A, threshold, max_rank)
    return out


def _full(A: Array, threshold: float, max_rank: int | None) -> ThresholdedSVD:
    U, s, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    r = _n_kept(s, threshold, max_rank)
    return ThresholdedSVD(U[:, :r], s[:r] - threshold, Vt[:r], Vt[:r].T, 0.0, sum(A.shape))


def _gram(A: Array, threshold: float, max_rank: int | None) -> ThresholdedSVD:
    n, p = A.shape
    wide = p > n
    G = A @ A.T if wide else A.T @ A
    values, Q = linalg.eigh(G, overwrite_a=True, check_finite=False, driver="evd")
    s = np.sqrt(np.maximum(values[::-1], 0))
    if s.size and threshold < GRAM_RATIO * s[0]:
        return _full(A, threshold, max_rank)
    r = _n_kept(s, threshold, max_rank)
    Q = Q[:, ::-1][:, :r]
    s = s[:r]
    opposite = (A.T @ Q if wide else A @ Q) / s
    U, V = (Q, opposite) if wide else (opposite, Q)
    return ThresholdedSVD(U, s - threshold, V.T, V, 0.0, min(n, p) + r)


def _n_kept(s: Array, threshold: float, max_rank: int | None) -> int:
    r = int(np.count_nonzero(s > threshold))
    return r if max_rank is None else min(r, max_rank)


def _subspace_iteration(
    A: Any,
    threshold: float,
    V: Array | None,
    max_rank: int | None,
    limit: int,
    tol: float,
    rng: np.random.RandomState,
) -> ThresholdedSVD | None:
    """Iterate ``Q = orth(A V)``, ``A' Q = V diag(s) Z'``; None if a dense method is better.

    The block grows by half until its smallest singular value falls below the threshold. The error
    is estimated without further products with A, see `_relative_error`.
    """
    n, p = A.shape
    dense = isinstance(A, np.ndarray)
    cap = min(n, p)
    max_passes = 6 if tol > COARSE else 40
    rmatmat = A.T.__matmul__ if dense else A.rmatmat
    matmat = A.__matmul__ if dense else A.matmat
    # singular values just below the threshold may still rise: after a cold start, wait until they
    # settle
    cold = V is None or V.shape[1] == 0

    last = np.zeros(0)
    if V is None or cold:
        V = rng.standard_normal((p, min(cap, 2 * OVERSAMPLING))).astype(A.dtype)
    if dense and V.shape[1] > limit:
        return None
    V = orthonormal(V)[0]
    n_products = 0

    for n_pass in range(1, max_passes + 1):
        k = V.shape[1]

        # 1. multiply by A and by A': Q B' is A projected on the subspace
        Q, R = orthonormal(matmat(V))
        B = rmatmat(Q)
        n_products += 2 * k

        # 2. compute the singular values of B by its Gram matrix, if this is accurate enough
        values, Z = linalg.eigh(B.T @ B, check_finite=False, driver="evd")
        s = np.sqrt(np.maximum(values[::-1], 0))
        Z = Z[:, ::-1]
        if min(s[-1], threshold) > GRAM_RATIO * s[0]:
            V_new = (B @ Z) / s
        else:
            V_new, s, Zt = linalg.svd(B, full_matrices=False, check_finite=False)
            Z = Zt.T

        # 3. grow the block until its smallest singular value is below the threshold
        r = _n_kept(s, threshold, max_rank)
        exact = k == cap
        may_grow = max_rank is None or k < max_rank + OVERSAMPLING
        if not exact and s[-1] > threshold and may_grow and n_pass < max_passes:
            grown = min(max(k + k // 2, k + OVERSAMPLING), cap)
            if dense and grown > limit:
                return None
            added = rng.standard_normal((p, grown - k)).astype(V_new.dtype)
            V = orthonormal(np.hstack([V_new, added]))[0]
            last = s
            continue

        # 4. estimate the error of the retained part; check that no other singular value will
        # exceed the threshold
        shrunk = s[:r] - threshold
        error = 0.0 if exact else _relative_error(V, V_new[:, :r], R.T @ Z[:, :r], s, shrunk)
        settled = not cold or exact or r == max_rank
        if not settled and r < last.size:
            settled = bool(s[r] + 10 * (s[r] - last[r]) <= threshold)
        if n_pass == max_passes and not settled:
            error = 1.0

        # 5. stop, or repeat
        if n_pass == max_passes or (error <= tol and settled):
            break
        last = s
        V = V_new

    keep = min(k, r + max(OVERSAMPLING, r // 10))
    return ThresholdedSVD(
        Q @ Z[:, :r], shrunk, V_new[:, :r].T, V_new[:, :keep], error, n_products
    )


def _relative_error(V: Array, V_new: Array, RtZ: Array, s: Array, shrunk: Array) -> float:
    """Estimate the error of a thresholded matrix from the movement of the right vectors.

    The movement in a pass is about the earlier error of the right vectors. The left vectors, on
    which the result depends to first order, were computed half a pass later; their error is
    smaller by the factor `s_last / s_i`.
    """
    r = shrunk.size
    if r == 0:
        return 0.0
    # V' V_new = R' Z / s, so small matrices suffice; only changes below 1e-6, which cancellation
    # makes inaccurate, must be computed from the vectors
    cosines_sq = (RtZ**2).sum(axis=0) / s[:r] ** 2
    moved = np.sqrt(np.maximum(1 - cosines_sq, 0))
    blurred = moved < 1e-6
    if blurred.any():
        fine = V_new[:, blurred]
        moved[blurred] = linalg.norm(fine - V @ (V.T @ fine), axis=0)
    return float(linalg.norm(moved) * s[-1] / linalg.norm(shrunk))


def orthonormal(X: Array) -> tuple[Array, Array]:
    """Factor a tall matrix as ``Q @ R`` with orthonormal Q and triangular R."""
    Q, R = linalg.qr(X, mode="economic", check_finite=False)
    return Q, R


def spectral_norm(A: Array, *, exact_up_to: int = 2500) -> float:
    """Bound the largest singular value of an array (n, p) from above, tightly.

    If the smaller side is at most `exact_up_to`, the bound is the largest eigenvalue of a Gram
    matrix plus its possible rounding error; for larger arrays it is an estimate.
    """
    n, p = A.shape
    small = min(n, p)
    if small > exact_up_to:
        accuracy = 1e-10
        return top_singular_pair(A, accuracy)[0] * (1 + accuracy)
    G = A @ A.T if n <= p else A.T @ A
    top = float(eigen_range(G, small - 1, small)[0][0])
    return float(np.sqrt(max(top, 0.0) * (1 + 10 * small * float(np.finfo(G.dtype).eps))))


def top_singular_pair(A: Any, accuracy: float = 1e-6) -> tuple[float, Array]:
    """Return the largest singular value of an array or sparse matrix and its right vector.

    If the smaller side is at most 400, a Gram matrix is decomposed. Otherwise Lanczos iterations
    approach the value from below, to a relative accuracy of about `accuracy`.
    """
    n, p = A.shape
    scale = float(abs(A).max())
    if scale == 0:
        return 0.0, np.eye(p, 1)[:, 0]
    A = A / scale if n <= p else A.T / scale  # transpose tall matrices
    At = A.T
    side = min(n, p)
    if side <= DENSE_UP_TO:
        G = A @ At
        G = np.asarray(G if isinstance(G, np.ndarray) else G.toarray(), dtype=np.float64)
        values, vectors = eigen_range(G, side - 1, side)
    else:
        gram = operator(lambda V: A @ (At @ V), lambda V: A @ (At @ V), (side, side), A.dtype)
        values, vectors = leading_eigen(gram, 1, tol=accuracy)
    u = vectors[:, 0]
    v = At @ u if n <= p else u
    return scale * float(np.sqrt(max(values[0], 0.0))), v / linalg.norm(v)
