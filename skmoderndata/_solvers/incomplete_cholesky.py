"""Pivoted incomplete Cholesky factorisation of a kernel matrix that is never formed."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

Array = np.ndarray[Any, np.dtype[Any]]

BLOCK = 64  # pivots found before all rows are brought up to date
POOL = 64  # one in so many samples competes for the next pivots, at least
ROW_BYTES = 2**21  # kernel values in one block of rows, which stays in the cache
AHEAD = 16  # kernel columns of the pool computed together


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
    in blocks of pivots, by products of matrices, which is where the speed comes from.

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
    n = diagonal.shape[0]
    rank = min(rank, n)
    R = np.empty((rank, n))  # columns of the factor in rows, as products like it
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
        found = _compete(
            gram, X, R[:m, members], d[members], members, goal, (1 - slack) * bound, first, floor
        )
        t = len(found)
        if t == 0:
            break  # nothing above rounding is left
        new = members[found]
        before = d.copy()
        gains = _extend(gram, X, R, d, chosen, new, m)
        t = len(gains)
        if t == 0:
            break  # rounding has made the pivots dependent: the numerical rank is reached
        new = new[:t]
        count += n * t + len(members) * t
        left = remaining - np.cumsum(gains)
        enough = np.flatnonzero(left <= stop_at)
        if enough.size and enough[0] + 1 < t:  # the last block went too far
            t = int(enough[0]) + 1
            chosen[new[t:]] = False
            d = before - np.einsum("ij,ij->j", R[m : m + t], R[m : m + t])
        pivots[m : m + t] = new[:t]
        d[new[:t]] = 0.0
        m += t
        n_blocks += 1
        remaining = float(d.sum())
        if t < goal and 4 * t < block:
            size = min(2 * size, max(n // 2, 1))
    # pivots are fitted exactly; elsewhere the sum of squares is taken anew, without the steps
    R = R[:m].copy() if m < rank else R
    d = diagonal - np.einsum("ij,ij->j", R, R)
    d[pivots[:m]] = 0.0
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
    order = np.argsort(-d, kind="stable")
    members = np.sort(order[:size])
    return members[~chosen[members]], float(d[order[size]]), int(order[size])


def _compete(
    gram: Any,
    X: Any,
    R: Array,
    d: Array,
    members: Array,
    goal: int,
    bound: float,
    first: int,
    floor: float,
) -> list[int]:
    """Pivots among the members of the pool, as positions in it, until it may miss the largest."""
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
            likely = np.union1d([i], np.argpartition(d, d.size - few)[d.size - few :])
            columns = np.ascontiguousarray(_block(gram, X, members, members[likely]).T)
            ready.update(zip(likely.tolist(), columns, strict=True))
        column = ready[i] - R[:, i] @ R - G[:t, i] @ G[:t]
        column /= np.sqrt(d[i])
        G[t] = column
        d -= column * column
        found.append(i)
        d[found] = 0.0
    return found


def _extend(gram: Any, X: Any, R: Array, d: Array, chosen: Array, new: Array, m: int) -> Array:
    """Write the columns of the pivots `new` into `R[m:]` and subtract their squares from `d`.

    Returns what each takes from the trace, for the first ones that are independent up to
    rounding; the others are left out.
    """
    t = len(new)
    C = _block(gram, X, new, new)
    S = C - R[:m, new].T @ R[:m, new]
    L = _lower_root(np.asarray((S + S.T) / 2, dtype=np.float64))
    if len(L) < t:
        t = len(L)
        if t == 0:
            return np.zeros(0)
        new = new[:t]
    known = np.ascontiguousarray(R[:m, new].T)
    old = np.flatnonzero(chosen)
    n = d.shape[0]
    step = max(1, ROW_BYTES // (8 * t))
    gains = np.zeros(t)
    # a product is faster than substitution, and as accurate where pivots are of similar size
    roots = L.diagonal()
    inverse = np.linalg.inv(L) if roots.min() > 1e-2 * roots.max() else None
    pivot = _take(X, new) if not _precomputed(gram) else None
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        if pivot is None:
            part = np.asarray(gram(X[rows], gram.subset(X, new)), dtype=np.float64).T
        else:
            part = np.asarray(gram(pivot, X[rows]), dtype=np.float64)
        if m:
            explained = known @ R[:m, rows]
            part = np.subtract(part, explained, out=explained)
        if inverse is not None:
            part = inverse @ part
        else:
            part = linalg.solve_triangular(L, part, lower=True, check_finite=False)
        # rows of pivots are known exactly
        part[:, old[(old >= rows.start) & (old < rows.stop)] - rows.start] = 0.0
        here = (new >= rows.start) & (new < rows.stop)
        part[:, new[here] - rows.start] = L[here].T
        R[m : m + t, rows] = part
        d[rows] -= np.einsum("ij,ij->j", part, part)
        gains += np.einsum("ij,ij->i", part, part)
    chosen[new] = True
    d[chosen] = 0.0
    return gains


def _block(gram: Any, X: Any, rows: Array, columns: Array) -> Array:
    """Kernel values of samples against others."""
    pivot = gram.subset(X, columns)
    values = gram(X, pivot)[rows] if _precomputed(gram) else gram(_take(X, rows), pivot)
    return np.asarray(values, dtype=np.float64)


def _lower_root(S: Array) -> Array:
    """Cholesky factor without pivots, of the leading part that is positive definite."""
    L, info = linalg.lapack.dpotrf(S, lower=1, clean=1)
    if info == 1:
        return np.zeros((0, 0))
    if info > 0:
        L, _ = linalg.lapack.dpotrf(S[: info - 1, : info - 1], lower=1, clean=1)
    root: Array = L
    return root


def _precomputed(gram: Any) -> bool:
    return bool(getattr(gram, "precomputed", False))


def _take(X: Any, indices: Array) -> Any:
    return X[indices] if hasattr(X, "shape") else [X[i] for i in indices]
