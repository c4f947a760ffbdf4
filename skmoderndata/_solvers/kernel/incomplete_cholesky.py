"""Pivoted incomplete Cholesky factorisation of a kernel matrix that is never formed."""

import contextlib
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.threads import blas_controller, one_blas_thread

Array = np.ndarray[Any, np.dtype[Any]]

BLOCK = 64  # pivots found before all rows are brought up to date
POOL = 64  # one in so many samples competes for the next pivots, at least
ROW_BYTES = 2**20  # kernel values in one block of rows, which stays in the cache of a core
AHEAD = 8  # kernel columns of the pool computed together


class CholeskyResult(NamedTuple):
    """Factor of a kernel matrix, `K` is nearly `factor @ factor.T`."""

    factor: Array  # (n, r), lower triangular in the rows of the pivots
    pivots: Array  # (r,), samples in the order in which they were chosen
    residual_trace: float  # trace of K - factor @ factor.T, a bound on its spectral norm
    residual: Array  # (n,), diagonal of that difference
    n_evaluations: int  # kernel values computed, the diagonal included
    n_blocks: int  # how often all rows were brought up to date


def incomplete_cholesky(
    gram: Any,
    X: Any,
    *,
    rank: int,
    tol: float = 0.0,
    slack: float = 0.0,
    block: int = BLOCK,
    pool: int | None = None,
) -> CholeskyResult:
    """Factor `K ~ F F'` of rank r with greedy pivots [Shawe-Taylor 2004, Alg. 5.12].

    The next pivot i is the sample with the largest residual `d_i = k(x_i, x_i) - |F_i|^2`, the
    first one of several; with
    `L` the rows of `F` of the pivots, `F = K[:, pivots] inv(L)'`, so that `F F'` is the Nystroem
    matrix of the pivots. The residual `K - F F'` stays positive semi-definite, its trace
    `sum(d)` bounds its spectral norm and its nuclear norm is that trace.

    Residuals only fall. So a pool of samples with the largest ones is kept up to date after each
    pivot, and as long as the largest in the pool is not below what the largest outside was, it is
    the next pivot: the pivots are those of the column by column algorithm. All other rows follow
    in blocks of pivots, by products of matrices, which is where the speed comes from. Where the
    kernel has a fast route, blocks of rows are shared among as many threads as the BLAS would
    take, each product in one of them: the answer does not depend on their number.

    Parameters
    ----------
    gram : callable
        `gram(X, Y)`, `gram.diag(X)` and `gram.subset(X, indices)`, as `kernels._resolve.Gram`.
    X : array or list
        n samples (or the kernel matrix, where `gram.precomputed`).
    rank : int
        Largest rank.
    tol : float
        Stop at the first rank with `residual_trace <= tol * trace(K)`.
    slack : float
        In [0, 1): accept a pivot whose residual is at least `(1 - slack)` of the largest. More
        pivots fit into one block.
    block : int
        Largest number of pivots found between two updates of all rows.
    pool : int or None
        Samples in the pool at the start; it grows where blocks stay small.

    Returns
    -------
    CholeskyResult
        Factor, pivots, residuals and counts of the work. The rank is lower than asked for when
        the numerical rank of `K` is reached.
    """
    diagonal = np.asarray(gram.diag(X), dtype=np.float64)
    fast = gram.writer(X) if hasattr(gram, "writer") else None
    write = fast or functools.partial(_write, gram, X)
    threads = 1 if fast is None else _blas_threads()
    with contextlib.ExitStack() as stack:
        share: Any = map
        if fast is not None:
            stack.enter_context(one_blas_thread())
        if threads > 1:
            share = stack.enter_context(ThreadPoolExecutor(threads)).map
        return _factor(write, share, diagonal, rank, tol, slack, block, pool)


def _factor(
    write: Any,
    share: Any,
    diagonal: Array,
    rank: int,
    tol: float,
    slack: float,
    block: int,
    pool: int | None,
) -> CholeskyResult:
    n = diagonal.shape[0]
    rank = min(rank, n)
    R = np.empty((rank, n))  # columns of the factor in rows, as products like it
    explained = np.zeros(n)  # squared lengths of the rows of the factor
    d = diagonal.copy()
    pivots = np.empty(rank, dtype=np.intp)
    trace = float(diagonal.sum())
    floor = _rounding(diagonal)
    chosen = np.zeros(n, dtype=bool)
    size = max(n // POOL, 4 * block, 256) if pool is None else max(int(pool), 1)
    count, n_blocks, m = n, 0, 0
    stop_at = tol * trace
    remaining = trace
    while m < rank and remaining > stop_at:
        members, bound, first = _largest(d, size, chosen)
        goal = min(block, rank - m)
        found, few = _compete(
            write, R[:m, members], d[members], members, goal, (1 - slack) * bound, first, floor
        )
        count += few * len(members)
        if not found:
            break  # nothing above rounding is left
        new = members[found]
        before = explained.copy() if stop_at > 0 else explained
        gains = _extend(write, share, R, explained, chosen, new, m, stop_at > 0)
        t = len(gains)
        if t == 0:
            break  # rounding has made the pivots dependent: the numerical rank is reached
        new = new[:t]
        count += n * t
        if stop_at > 0:
            enough = np.flatnonzero(remaining - np.cumsum(gains) <= stop_at)
            if enough.size and enough[0] + 1 < t:  # the last block went too far
                t = int(enough[0]) + 1
                chosen[new[t:]] = False
                explained = before + np.einsum("ij,ij->j", R[m : m + t], R[m : m + t])
        pivots[m : m + t] = new[:t]
        np.subtract(diagonal, explained, out=d)
        d[chosen] = 0.0  # pivots are fitted exactly
        # the first pivot of samples of equal length ends its block, whatever the pool
        if m and t < goal and 4 * t < block:
            size = min(2 * size, max(n // 2, 1))
        m += t
        n_blocks += 1
        remaining = float(d.sum())
    R = R[:m].copy() if m < rank else R
    return CholeskyResult(R.T, pivots[:m].copy(), float(d.sum()), d, count, n_blocks)


def cholesky_rows(gram: Any, X: Any, pivot_samples: Any, L: Array) -> Array:
    """Rows of the factor for new samples: `gram(X, pivots) inv(L)'`, `L` the pivots' rows."""
    C = np.asarray(gram(X, pivot_samples), dtype=np.float64)
    return _right_solve(C, L)


def _right_solve(C: Array, L: Array) -> Array:
    """`C inv(L)'` for lower triangular L, without copies of a matrix in C order."""
    solved: Array = linalg.blas.dtrsm(1.0, L, np.ascontiguousarray(C).T, lower=1).T
    return solved


def _rounding(diagonal: Array) -> float:
    """Residuals below this are rounding errors."""
    if diagonal.size == 0:
        return 0.0
    return float(4 * diagonal.size**0.5 * np.finfo(np.float64).eps * max(diagonal.max(), 0.0))


def _largest(d: Array, size: int, chosen: Array) -> tuple[Array, float, int]:
    """Find the samples with the `size` largest residuals, and the largest residual outside.

    Of equal residuals those of the first samples are taken. Also returned is the first sample
    outside with the largest residual there.
    """
    if size >= d.size:
        return np.flatnonzero(~chosen), -np.inf, d.size
    least = np.partition(d, d.size - size)[d.size - size]
    inside = d > least
    level = np.flatnonzero(d == least)
    room = size - int(np.count_nonzero(inside))
    inside[level[:room]] = True
    if room < len(level):
        bound, first = float(least), int(level[room])
    else:
        first = int(np.argmax(np.where(inside, -np.inf, d)))
        bound = float(d[first])
    return np.flatnonzero(inside & ~chosen), bound, first


def _compete(
    write: Any,
    R: Array,
    d: Array,
    members: Array,
    goal: int,
    bound: float,
    first: int,
    floor: float,
) -> tuple[list[int], int]:
    """Pivots among the members of the pool, as positions in it, until it may miss the largest.

    Also returned is the number of kernel columns computed.
    """
    d = d.copy()
    G = np.empty((goal, len(members)))  # the new columns, one per row
    found: list[int] = []
    ready: dict[int, Array] = {}
    while len(found) < goal and d.size:
        i = int(np.argmax(d))
        if d[i] <= floor or d[i] < bound or (d[i] == bound and members[i] > first):
            break
        t = len(found)
        if i not in ready:  # together with the columns of others that may be next
            few = min(AHEAD, goal - t, d.size)
            top = np.argpartition(d, d.size - few)[d.size - few :].tolist()
            likely = np.array(sorted({i, *(j for j in top if j not in ready)}))
            columns = write(members[likely], members, np.empty((len(likely), d.size)))
            columns -= R[:, likely].T @ R
            ready.update(zip(likely.tolist(), columns, strict=True))
        column = ready[i]
        if t:
            column -= G[:t, i] @ G[:t]
        column /= np.sqrt(d[i])
        G[t] = column
        d -= column * column
        found.append(i)
        d[found] = 0.0
    return found, len(ready)


def _extend(
    write: Any,
    share: Any,
    R: Array,
    explained: Array,
    chosen: Array,
    new: Array,
    m: int,
    gained: bool,
) -> Array:
    """Write the columns of the pivots `new` into `R[m:]` and add their squares to `explained`.

    Returns what each takes from the trace, or ones if that is not asked for, for the first ones
    that are independent up to rounding; the others are left out.
    """
    t = len(new)
    S = write(new, new, np.empty((t, t)))
    S = S - R[:m, new].T @ R[:m, new]
    L = _lower_root(np.asarray((S + S.T) / 2, dtype=np.float64))
    if len(L) < t:
        t = len(L)
        if t == 0:
            return np.zeros(0)
        new = new[:t]
    known = np.ascontiguousarray(R[:m, new].T)
    old = np.flatnonzero(chosen)
    n = len(explained)
    step = max(1, min(n, ROW_BYTES // (8 * t)))
    # a product is faster than substitution, and as accurate where pivots are of similar size
    roots = L.diagonal()
    inverse = np.linalg.inv(L) if roots.min() > 1e-2 * roots.max() else None

    def extend(start: int) -> Array:
        rows = slice(start, min(start + step, n))
        part = write(new, rows, np.empty((t, rows.stop - start)))
        target = R[m : m + t, rows]
        if m:
            part -= np.matmul(known, R[:m, rows])
        if inverse is not None:
            np.matmul(inverse, part, out=target)
        else:
            target[:] = linalg.solve_triangular(L, part, lower=True, check_finite=False)
        # rows of pivots are known exactly
        target[:, old[(old >= rows.start) & (old < rows.stop)] - rows.start] = 0.0
        here = (new >= rows.start) & (new < rows.stop)
        target[:, new[here] - rows.start] = L[here].T
        explained[rows] += np.einsum("ij,ij->j", target, target)
        return np.einsum("ij,ij->i", target, target) if gained else np.ones(t)

    gains = list(share(extend, range(0, n, step)))
    chosen[new] = True
    return np.asarray(np.sum(gains, axis=0)) if gained else gains[0]


def _blas_threads() -> int:
    """Threads that the BLAS would take."""
    libraries = blas_controller().info()
    return max((e["num_threads"] for e in libraries if e["user_api"] == "blas"), default=1)


def _write(gram: Any, X: Any, chosen: Array, rows: Any, out: Array) -> Array:
    """Put `k(X[chosen], X[rows])` into `out`."""
    if getattr(gram, "precomputed", False):
        out[:] = np.asarray(gram(_take(X, rows), gram.subset(X, chosen))).T
    else:
        out[:] = gram(_take(X, chosen), _take(X, rows))
    return out


def _lower_root(S: Array) -> Array:
    """Cholesky factor without pivots, of the leading part that is positive definite."""
    L, info = linalg.lapack.dpotrf(S, lower=1, clean=1)
    if info == 1:
        return np.zeros((0, 0))
    if info > 0:
        L, _ = linalg.lapack.dpotrf(S[: info - 1, : info - 1], lower=1, clean=1)
    root: Array = L
    return root


def _take(X: Any, indices: Any) -> Any:
    if hasattr(X, "shape") or isinstance(indices, slice):
        return X[indices]
    return [X[i] for i in indices]
