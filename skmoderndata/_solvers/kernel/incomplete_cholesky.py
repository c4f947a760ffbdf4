"""Pivoted incomplete Cholesky factorisation of a kernel matrix that is never formed.

Differs from the papers: 1. pivots are found in blocks, and rows are updated by matrix products;
the pivots have the same distribution (random) or are the same (greedy) as one by one. 2. For a
centred kernel, the tolerance refers to the centred trace.
"""

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.arrays import CACHED_BYTES
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.threads import blas_controller, one_blas_thread
from skmoderndata._solvers.common.typing import Array

# Maximum number of pivots found between two updates of all rows.
BLOCK_PIVOTS = 64
# Maximum number of samples used to estimate the trace of a centred kernel matrix.
SAMPLES_OF_TRACE = 256
# Number of candidates for each pivot of a block.
CANDIDATES = 3


class CholeskyResult(NamedTuple):
    """Factor of a kernel matrix, with `K` close to `factor @ factor.T`."""

    factor: Array  # (n, r), lower triangular in the rows of the pivots
    pivots: Array  # (r,), samples in the order in which they were chosen
    # trace of K - factor @ factor.T, which bounds the spectral norm of this difference
    residual_trace: float
    residual: Array  # (n,), diagonal of K - factor @ factor.T
    n_evaluations: int  # number of kernel values computed, including the diagonal


def incomplete_cholesky(
    gram: Any,
    X: Any,
    *,
    rank: int,
    tol: float = 0.0,
    greedy: bool = False,
    block: int = BLOCK_PIVOTS,
    rng: np.random.RandomState | None = None,
    order: Array | None = None,
) -> CholeskyResult:
    """Factor `K ~ F F'` of rank r with random or greedy pivots.

    Let `d_i = k(x_i, x_i) - |F_i|^2` be the residual of sample i. The next pivot is drawn with
    probability proportional to d [Chen, Epperly, Tropp and Webber 2025], or it is the sample with
    the largest d [Shawe-Taylor 2004, Algorithm 5.12]. If `L` contains the rows of `F` at the
    pivots, `F = K[:, pivots] inv(L)'`, so `F F'` is the Nystroem matrix of the pivots. `K - F F'`
    stays positive semi-definite; its trace `sum(d)` is its nuclear norm and bounds its spectral
    norm.

    Pivots are found in blocks, each among several candidates whose residuals are kept up to date.
    Random candidates are drawn by the residuals at the start of the block, and are accepted with
    the probability by which their residual has fallen since. The pivots then have the same
    distribution as in the algorithm that works column by column [Epperly, Tropp and Webber 2024].
    Greedy candidates have the largest residuals; because residuals only fall, the largest of them
    is the next pivot as long as it is not below the largest residual of the other samples. All
    other rows are updated by matrix products, which makes the algorithm fast. If the kernel has a
    fast route, blocks of rows are shared among as many threads as the BLAS would use; the result
    does not depend on the number of threads.

    Parameters
    ----------
    gram : callable
        Kernel with `gram(X, Y)`, `gram.diag(X)` and `gram.subset(X, indices)`, such as
        `_kernelized.gram.Gram`.
    X : array or list
        Samples (or the kernel matrix, if `gram.precomputed`).
    rank : int
        Largest rank.
    tol : float
        Tolerance; the first rank with `residual_trace <= tol * trace(K)` is used.
    greedy : bool
        Whether pivots are the samples of largest residual instead of being drawn.
    block : int
        Largest number of pivots found between two updates of all rows.
    rng : RandomState or None
        Generator that draws the pivots; None uses seed 0.
    order : ndarray of shape (n,) or None
        Order of the samples for the draws; None keeps the given order. With `gram.order(X)` the
        same samples become pivots in whatever order they are given.

    Returns
    -------
    CholeskyResult
        Factor, pivots, residuals and amount of work. The rank is lower than `rank` if the
        numerical rank of `K` is reached.
    """
    diagonal = np.asarray(gram.diag(X), dtype=np.float64)
    fast = gram.writer(X) if hasattr(gram, "writer") else None
    write = fast or functools.partial(_write, gram, X)
    rng = None if greedy else rng or np.random.RandomState(0)
    order = np.arange(len(diagonal)) if order is None else order
    problem = diagonal, order, min(rank, len(diagonal)), tol, block, rng

    if fast is None:
        return _factor(write, map, *problem)
    # do not start threads for a single block of rows
    one_block = len(diagonal) <= _rows_of_block(block)
    threads = 1 if one_block else _blas_threads()
    with one_blas_thread():
        if threads == 1:
            return _factor(write, map, *problem)
        with ThreadPoolExecutor(threads) as pool:
            return _factor(write, pool.map, *problem)


def centred_cholesky(
    gram: Any, X: Any, *, rank: int, tol: float, rng: np.random.RandomState | None = None
) -> CholeskyResult:
    """Factor a kernel that will be centred; `tol` is relative to the trace after centring.

    A common shift of the features raises only the trace before centring. The first tolerance is
    estimated from the centred trace of a few samples. With the centred factor G, ``tr(G G')`` is
    at most the centred trace, and the factorisation is repeated until the residual is at most
    ``tol tr(G G')``.
    """
    diagonal = np.asarray(gram.diag(X), dtype=np.float64)
    n = len(diagonal)
    total = float(diagonal.sum())
    order = gram.order(X)
    drawn = np.random.RandomState(0).permutation(n)
    subset = order[drawn[:SAMPLES_OF_TRACE]]

    # estimate the centred trace from a few samples
    K = np.empty((len(subset), len(subset)))
    _write(gram, X, subset, subset, K)
    trace = K.trace()
    centred_trace = trace - K.mean() * len(K)
    spread = float(centred_trace) / (float(trace) or 1.0)
    current_tol = tol * min(max(spread, 0.0), 1.0)

    while True:
        result = incomplete_cholesky(gram, X, rank=rank, tol=current_tol, rng=rng, order=order)
        G = result.factor - result.factor.mean(axis=0)
        least = tol * float(np.einsum("ij,ij->", G, G))
        tighter = 0.9 * least / (total or 1.0)
        if result.residual_trace <= least or G.shape[1] == rank or not tighter < current_tol:
            return result
        current_tol = tighter


def _factor(
    write: Any,
    share: Any,
    diagonal: Array,
    order: Array,
    rank: int,
    tol: float,
    block: int,
    rng: np.random.RandomState | None,
) -> CholeskyResult:
    """Find pivots in blocks, drawn by `rng` or greedy; `share` maps a function over rows."""
    n = len(diagonal)
    R = np.empty((rank, n))  # the factor is stored transposed, for contiguous products
    d = diagonal.copy()
    pivots = np.empty(rank, dtype=np.intp)
    # residuals below this value are rounding errors
    largest = max(diagonal.max(initial=0.0), 0.0)
    floor = 4 * n**0.5 * EPS * largest

    count = n
    m = 0
    trace = remaining = float(diagonal.sum())

    while m < rank and remaining > tol * trace and d.max() > floor:
        # 1. find pivots among several candidates; their residuals are updated after each pivot
        goal = min(block, rank - m)
        residuals = np.where(d > floor, d, 0.0)[order]
        drawn, bounds = _candidates(residuals, goal, floor, rng)
        candidates = order[drawn]
        S = np.empty((len(candidates), len(candidates)))
        S = write(candidates, candidates, S)
        F = R[:m, candidates]
        S = S - F.T @ F
        random = rng is not None
        numbers, L = _pivots(S, d[candidates], goal, bounds, drawn=random)
        new = candidates[numbers]
        count += len(candidates) ** 2 + n * len(new)

        # 2. compute all rows of the factor for these pivots; entries that are zero in theory are
        # set to zero
        added = R[m : m + len(new)]
        _extend(write, share, R[:m], added, new, L)
        added[:, pivots[:m]] = 0.0  # the rows of pivots are known exactly
        added[:, new] = L.T

        # 3. drop the pivots that come after the tolerance has been reached
        if tol > 0:
            lost = np.cumsum(np.einsum("ij,ij->i", added, added))
            n_above = int(np.sum(remaining - lost > tol * trace))
            added = added[: n_above + 1]

        t = len(added)
        pivots[m : m + t] = new[:t]

        # 4. update the residuals of all samples
        d -= np.einsum("ij,ij->j", added, added)
        m += t
        d[pivots[:m]] = 0.0
        remaining = float(d.sum())

    R = R[:m].copy() if m < rank else R
    chosen_pivots = pivots[:m].copy()
    return CholeskyResult(R.T, chosen_pivots, remaining, d, count)


def _candidates(
    d: Array, goal: int, floor: float, rng: np.random.RandomState | None
) -> tuple[Array, Array]:
    """Find samples that compete for the next pivots, and the residuals that they need to win.

    A sample that was drawn needs a random fraction of its residual at the time of the draw. A
    greedy candidate needs at least the largest residual of the other samples.
    """
    size = CANDIDATES * goal
    if rng is not None:
        below = np.cumsum(d)
        points = rng.random_sample(size) * below[-1]
        drawn = np.searchsorted(below, points, side="right")
        drawn = np.minimum(drawn, len(d) - 1)
        needed = rng.random_sample(size) * d[drawn]
        return drawn, np.maximum(needed, floor)

    order = np.argsort(-d, kind="stable")  # on ties, the first sample wins
    largest_outside = d[order[size]] if size < len(d) else 0.0
    needed = max(floor, largest_outside)
    bounds = np.full(min(size, len(d)), needed)
    bounds[0] = floor
    return np.sort(order[:size]), bounds


def _pivots(
    S: Array, d: Array, goal: int, bounds: Array, *, drawn: bool
) -> tuple[list[int], Array]:
    """Factor the residual S of the candidates column by column.

    Drawn candidates are tried in their order, greedy candidates by the largest residual d, which
    is kept up to date. Returns the numbers of the candidates that reach their bounds, and their
    Cholesky root L.
    """
    accepted: list[int] = []
    C = np.zeros((goal, len(S)))  # transposed factor

    # try the next drawn candidate, or the candidate with the largest residual
    for j, bound in enumerate(bounds):
        i = j if drawn else int(np.argmax(d))
        t = len(accepted)
        if t < goal and d[i] >= bound:
            root = d[i] ** 0.5
            explained = C[:t, i] @ C[:t]
            C[t] = (S[i] - explained) / root
            C[t, i] = root
            d -= C[t] * C[t]
            d[i] = 0.0
            accepted.append(i)

    triangle = np.tril(C[: len(accepted), accepted].T)
    return accepted, np.asfortranarray(triangle)


def cholesky_rows(gram: Any, X: Any, pivot_samples: Any, L: Array) -> Array:
    """Return rows of the factor for new samples, `gram(X, pivots) inv(L)'`; L is at the pivots."""
    C = np.asarray(gram(X, pivot_samples), dtype=np.float64)
    columns = np.ascontiguousarray(C).T  # dtrsm copies arrays that are in C order
    return linalg.blas.dtrsm(1.0, L, columns, lower=1).T


def _extend(write: Any, share: Any, R: Array, added: Array, new: Array, L: Array) -> None:
    """Write the columns of the pivots `new` into `added`; L is the root of their residual."""
    t, n = added.shape
    at_pivots = np.ascontiguousarray(R[:, new].T)
    step = min(n, _rows_of_block(t))

    def extend(start: int) -> None:
        rows = slice(start, min(start + step, n))
        block = write(new, rows, np.empty((t, rows.stop - start)))
        block -= at_pivots @ R[:, rows]
        # solve x L' = block' by passing the row-major block to BLAS as its column-major transpose
        right: Any = {"side": 1, "lower": 1, "trans_a": 1, "overwrite_b": 1}
        added[:, rows] = linalg.blas.dtrsm(1.0, L, block.T, **right).T

    list(share(extend, range(0, n, step)))


def _rows_of_block(n_pivots: int) -> int:
    """Return the number of rows for which the new columns of some pivots are written at once."""
    return max(1, CACHED_BYTES // (8 * n_pivots))


def _blas_threads() -> int:
    """Return the number of threads that the BLAS would use."""
    libraries = blas_controller().info()
    counts = [library["num_threads"] for library in libraries if library["user_api"] == "blas"]
    return max(counts, default=1)


def _write(gram: Any, X: Any, indices: Array, rows: Any, out: Array) -> Array:
    """Write `k(X[indices], X[rows])` to `out`."""
    K = gram(_take(X, rows), gram.subset(X, indices))
    out[:] = np.asarray(K).T
    return out


def _take(X: Any, indices: Any) -> Any:
    if hasattr(X, "shape") or isinstance(indices, slice):
        return X[indices]
    return [X[i] for i in indices]
