"""Pivoted incomplete Cholesky factorisation of a kernel matrix that is never formed."""

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.threads import blas_controller, one_blas_thread
from skmoderndata._solvers.common.typing import Array

BLOCK_PIVOTS = 64  # pivots found before all rows are brought up to date
SAMPLES_OF_TRACE = 256  # from which the trace of a centred kernel is estimated
CANDIDATES = 3  # of so many candidates for each pivot of a block
ROW_BYTES = 2**20  # kernel values in one block of rows, which stays in the cache of a core


class CholeskyResult(NamedTuple):
    """Factor of a kernel matrix, `K` is nearly `factor @ factor.T`."""

    factor: Array  # (n, r), lower triangular in the rows of the pivots
    pivots: Array  # (r,), samples in the order in which they were chosen
    residual_trace: float  # trace of K - factor @ factor.T, a bound on its spectral norm
    residual: Array  # (n,), diagonal of that difference
    n_evaluations: int  # kernel values computed, the diagonal included


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

    With `d_i = k(x_i, x_i) - |F_i|^2`, the residual of sample i, the next pivot is drawn with
    probabilities proportional to d [Chen, Epperly, Tropp and Webber 2025], or is
    the sample of largest d [Shawe-Taylor 2004, Algorithm 5.12]. With `L` the rows of `F` of the
    pivots, `F = K[:, pivots] inv(L)'`, so that `F F'` is the Nystroem matrix of the pivots.
    `K - F F'` stays positive semi-definite, its trace `sum(d)` bounds its spectral norm and is
    its nuclear norm.

    Pivots are found in blocks, each among some candidates whose residuals are kept up to date.
    Random candidates are drawn by the residuals at the start of the block, and are accepted with
    the probability by which theirs has fallen since: pivots then have the distribution of the
    algorithm that goes column by column [Epperly, Tropp and Webber 2024]. Greedy
    candidates have the largest residuals, and as these only fall, the largest of them is the
    next pivot as long as it is not below the largest outside. All other rows follow by products
    of matrices, which is where the speed comes from. Where the kernel has a fast route, blocks
    of rows are shared among as many threads as the BLAS would take: the answer does not depend
    on their number.

    Parameters
    ----------
    gram : callable
        `gram(X, Y)`, `gram.diag(X)` and `gram.subset(X, indices)`, as `_kernelized.gram.Gram`.
    X : array or list
        n samples (or the kernel matrix, where `gram.precomputed`).
    rank : int
        Largest rank.
    tol : float
        Stop at the first rank with `residual_trace <= tol * trace(K)`.
    greedy : bool
        Whether pivots are those of largest residual, else they are drawn.
    block : int
        Largest number of pivots found between two updates of all rows.
    rng : RandomState or None
        Draws the pivots; None is one of seed 0.
    order : ndarray of shape (n,) or None
        Order in which the samples are drawn, None is the one in which they come. With
        `gram.order(X)` the pivots are the same samples in whatever order these come.

    Returns
    -------
    CholeskyResult
        Factor, pivots, residuals and counts of the work. The rank is lower than asked for when
        the numerical rank of `K` is reached.
    """
    diagonal = np.asarray(gram.diag(X), dtype=np.float64)
    fast = gram.writer(X) if hasattr(gram, "writer") else None
    write = fast or functools.partial(_write, gram, X)
    rng = None if greedy else rng or np.random.RandomState(0)
    order = np.arange(len(diagonal)) if order is None else order
    problem = diagonal, order, min(rank, len(diagonal)), tol, block, rng

    threads = 1 if fast is None else _blas_threads()
    if threads == 1:
        return _factor(write, map, *problem)
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        return _factor(write, pool.map, *problem)


def centred_cholesky(
    gram: Any, X: Any, *, rank: int, tol: float, rng: np.random.RandomState | None = None
) -> CholeskyResult:
    """Factor a kernel that will be centred: `tol` is relative to the trace of the centred one.

    A common shift of the features raises the trace alone. The first tolerance comes from the
    centred trace of some samples; with G the centred factor, ``tr(G G')`` is at most the centred
    trace, and the factorisation is repeated until the residual is at most ``tol tr(G G')``.
    """
    diagonal = np.asarray(gram.diag(X), dtype=np.float64)
    n = len(diagonal)
    total = float(diagonal.sum())
    order = gram.order(X)
    drawn = np.random.RandomState(0).permutation(n)
    some = order[drawn[:SAMPLES_OF_TRACE]]

    # the centred trace, from some samples
    K = np.empty((len(some), len(some)))
    _write(gram, X, some, some, K)
    trace = K.trace()
    centred_trace = trace - K.mean() * len(K)
    spread = float(centred_trace) / (float(trace) or 1.0)
    asked = tol * min(max(spread, 0.0), 1.0)

    while True:
        result = incomplete_cholesky(gram, X, rank=rank, tol=asked, rng=rng, order=order)
        G = result.factor - result.factor.mean(axis=0)
        least = tol * float(np.einsum("ij,ij->", G, G))
        tighter = 0.9 * least / (total or 1.0)
        if result.residual_trace <= least or G.shape[1] == rank or not tighter < asked:
            return result
        asked = tighter


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
    """Blocks of pivots, drawn by `rng` or greedy in `order`; `share` maps a function over rows."""
    n = len(diagonal)
    R = np.empty((rank, n))  # columns of the factor in rows, as products like it
    d = diagonal.copy()
    pivots = np.empty(rank, dtype=np.intp)
    # residuals below this are rounding errors
    largest = max(diagonal.max(initial=0.0), 0.0)
    floor = 4 * n**0.5 * EPS * largest

    count = n
    m = 0
    trace = remaining = float(diagonal.sum())

    while m < rank and remaining > tol * trace and d.max() > floor:
        # 1. pivots among some candidates, whose residuals are kept up to date
        goal = min(block, rank - m)
        residuals = np.where(d > floor, d, 0.0)[order]
        drawn, bounds = _candidates(residuals, goal, floor, rng)
        candidates = order[drawn]
        S = np.empty((len(candidates), len(candidates)))
        S = write(candidates, candidates, S)
        F = R[:m, candidates]
        S = S - F.T @ F
        random = rng is not None
        chosen, L = _pivots(S, d[candidates], goal, bounds, drawn=random)
        new = candidates[chosen]
        count += len(candidates) ** 2 + n * len(new)

        # 2. all rows of the factor for them, exact zeros where theory has them
        added = R[m : m + len(new)]
        _extend(write, share, R[:m], added, new, L)
        added[:, pivots[:m]] = 0.0  # rows of pivots are known exactly
        added[:, new] = L.T

        # 3. the last block may go beyond the tolerance
        if tol > 0:
            lost = np.cumsum(np.einsum("ij,ij->i", added, added))
            n_above = int(np.sum(remaining - lost > tol * trace))
            added = added[: n_above + 1]

        t = len(added)
        pivots[m : m + t] = new[:t]

        # 4. residuals of all samples
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
    """Find samples that compete for the next pivots, and the residuals that they need for it.

    Those drawn need a random fraction of the residual that they had when they were drawn, greedy
    ones as much as the largest of the others.
    """
    size = CANDIDATES * goal
    if rng is not None:
        below = np.cumsum(d)
        points = rng.random_sample(size) * below[-1]
        drawn = np.searchsorted(below, points, side="right")
        drawn = np.minimum(drawn, len(d) - 1)
        needed = rng.random_sample(size) * d[drawn]
        return drawn, np.maximum(needed, floor)

    order = np.argsort(-d, kind="stable")  # of equal residuals the first samples
    largest_outside = d[order[size]] if size < len(d) else 0.0
    needed = max(floor, largest_outside)
    bounds = np.full(min(size, len(d)), needed)
    bounds[0] = floor
    return np.sort(order[:size]), bounds


def _pivots(
    S: Array, d: Array, goal: int, bounds: Array, *, drawn: bool
) -> tuple[list[int], Array]:
    """Cholesky factorisation of the residual S of the candidates, column by column.

    Candidates that were drawn come in their order, others by the largest of the residuals d, which
    are kept up to date; returns the numbers of those that reach their bounds, and their root L.
    """
    chosen: list[int] = []
    C = np.zeros((goal, len(S)))  # columns of the factor in rows

    # the next pivot: the candidate that was drawn, or that of largest residual
    for j, bound in enumerate(bounds):
        i = j if drawn else int(np.argmax(d))
        t = len(chosen)
        if t < goal and d[i] >= bound:
            root = d[i] ** 0.5
            explained = C[:t, i] @ C[:t]
            C[t] = (S[i] - explained) / root
            C[t, i] = root
            d -= C[t] * C[t]
            d[i] = 0.0
            chosen.append(i)

    triangle = np.tril(C[: len(chosen), chosen].T)
    return chosen, np.asfortranarray(triangle)


def cholesky_rows(gram: Any, X: Any, pivot_samples: Any, L: Array) -> Array:
    """Rows of the factor for new samples: `gram(X, pivots) inv(L)'`, `L` the pivots' rows."""
    C = np.asarray(gram(X, pivot_samples), dtype=np.float64)
    columns = np.ascontiguousarray(C).T  # without copies of a matrix in C order
    return linalg.blas.dtrsm(1.0, L, columns, lower=1).T


def _extend(write: Any, share: Any, R: Array, added: Array, new: Array, L: Array) -> None:
    """Write the columns of the pivots `new` into `added`; L is the root of their residual."""
    t, n = added.shape
    at_pivots = np.ascontiguousarray(R[:, new].T)
    step = max(1, min(n, ROW_BYTES // (8 * t)))

    def extend(start: int) -> None:
        rows = slice(start, min(start + step, n))
        block = write(new, rows, np.empty((t, rows.stop - start)))
        block -= at_pivots @ R[:, rows]
        # a row-major right side is the transpose of a column-major one: x L' = block'
        right: Any = {"side": 1, "lower": 1, "trans_a": 1, "overwrite_b": 1}
        added[:, rows] = linalg.blas.dtrsm(1.0, L, block.T, **right).T

    list(share(extend, range(0, n, step)))


def _blas_threads() -> int:
    """Threads that the BLAS would take."""
    libraries = blas_controller().info()
    counts = [one["num_threads"] for one in libraries if one["user_api"] == "blas"]
    return max(counts, default=1)


def _write(gram: Any, X: Any, chosen: Array, rows: Any, out: Array) -> Array:
    """Put `k(X[chosen], X[rows])` into `out`."""
    K = gram(_take(X, rows), gram.subset(X, chosen))
    out[:] = np.asarray(K).T
    return out


def _take(X: Any, indices: Any) -> Any:
    if hasattr(X, "shape") or isinstance(indices, slice):
        return X[indices]
    return [X[i] for i in indices]
