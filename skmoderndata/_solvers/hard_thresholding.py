"""Sparse codes by hard thresholding and by pursuit with pruning: IHT, HTP, CoSaMP, SP.

All look for ``min |x - a D|^2`` over codes `a` with at most s atoms (or groups of atoms), keep the
best code they meet, and end with least squares on its support.
"""

from typing import Any

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.pursuit import (
    BARRED,
    EPS,
    _low_bits,
    _residual_sq,
    append_row,
    nonnegative_on_support,
    solve_chosen,
)
from skmoderndata._solvers.signal_blocks import (
    MAX_ITER,
    STALL,
    TOL,
    Atoms,
    Block,
    SparseCodes,
    by_pattern,
    code_in_blocks,
    dense_block,
    with_gram,
)

Array = np.ndarray[Any, np.dtype[Any]]

METHODS = ("iht", "htp", "cosamp", "subspace_pursuit")
MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)
PATIENCE = 30  # steps without a better code, after which supports are taken to go in circles


def hard_thresholding(
    X: Array,
    atoms: Atoms,
    *,
    method: str,
    n_nonzero: int,
    tol_sq: Array,
    groups: Array | None = None,
    positive: bool = False,
    max_iter: int = 100,
    rtol: float = 1e-8,
    mask: Array | None = None,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Code signals with `n_nonzero` atoms by one of four iterations.

    - "iht": ``a <- H_s(a + mu D(x - a D))`` with the normalised step of Blumensath and Davies
      (2010), which makes the residual fall.
    - "htp": the same support, then least squares on it, until the support repeats (Foucart 2011).
    - "cosamp": least squares on the support and the 2s best new atoms, pruned to s (Needell and
      Tropp 2009).
    - "subspace_pursuit": the support and the s best new atoms, least squares, pruned to s, least
      squares again (Dai and Milenkovic 2009).

    `H_s` keeps the s entries of largest magnitude, the first of ties; with `groups` (k,), the
    number of the group of each atom, the s groups of largest norm. With ``positive=True`` only
    positive entries count, and least squares is non-negative. An iteration ends when
    ``|r|^2 <= tol_sq``, when the support or the residual does not change any more, or after
    `max_iter` steps.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: hard_thresholding(
                signals, masked, method=method, n_nonzero=n_nonzero, tol_sq=tol_sq[rows],
                groups=groups, positive=positive, max_iter=max_iter, rtol=rtol, n_jobs=n_jobs,
            ),
            renormalize=True,
            barred=BARRED,
        )  # fmt: skip
    k = len(atoms.rows)
    order = np.arange(k) if groups is None else np.argsort(groups, kind="stable")
    start = (
        np.arange(k + 1)
        if groups is None
        else np.searchsorted(groups[order], np.arange(int(groups.max()) + 2))
    )
    inverse = np.empty_like(order)
    inverse[order] = np.arange(k)
    rows = np.ascontiguousarray(atoms.rows[order])
    gram = np.ascontiguousarray(with_gram(atoms).gram[np.ix_(order, order)])  # type: ignore[index]
    transposed = np.ascontiguousarray(rows.T)
    s = min(n_nonzero, len(start) - 1)
    kind = METHODS.index(method)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        m = len(x)
        codes = np.zeros((m, k))
        residual_sq, stop, steps = np.zeros(m), np.zeros(m, np.int8), np.zeros(m, np.int32)
        _pursue(
            x @ transposed, gram, rows, x, tol_sq[part], start, s, kind, positive, max_iter, rtol,
            codes, residual_sq, stop, steps,
        )  # fmt: skip
        codes = codes[:, inverse] / atoms.norms
        return dense_block(codes, residual_sq, stop, np.full(m, np.nan), steps)

    return code_in_blocks(len(X), work, n_jobs=n_jobs, block=64)


@jit
def _select(keys, m, s):  # type: ignore[no-untyped-def]
    """Return the s-th largest of the first `m` integers, all different, overwriting them."""
    first, last = 0, m - 1
    want = s - 1
    while first < last:
        pivot = keys[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while keys[i] > pivot:
                i += 1
            while keys[j] < pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if want <= j:
            last = j
        elif want >= i:
            first = i
        else:
            break
    return keys[want]


@jit
def _keep(z, start, s, positive, score, keys, work, index):  # type: ignore[no-untyped-def]
    """Write the atoms of the s largest groups of `z` to `index`, ascending; return their number.

    Groups without any (positive) entry are never kept.
    """
    n_groups = start.shape[0] - 1
    low = _low_bits(n_groups)
    bits = score.view(np.int64)
    for g in range(n_groups):
        total = 0.0
        for j in range(start[g], start[g + 1]):
            if not positive or z[j] > 0.0:
                total += z[j] * z[j]
        score[g] = total
    keep = MAGNITUDE & ~low
    for g in range(n_groups):
        keys[g] = (bits[g] & keep) | (n_groups - 1 - g)
        work[g] = keys[g]
    least = _select(work, n_groups, min(s, n_groups))
    t = 0
    for g in range(n_groups):
        if keys[g] >= least and score[g] > 0.0:
            for j in range(start[g], start[g + 1]):
                if not positive or z[j] > 0.0:
                    index[t] = j
                    t += 1
    return t


@jit
def _fit(G, b, L, index, t, limit, positive, a, work, dependent):  # type: ignore[no-untyped-def]
    """Least squares on ``index[:t]``: coefficients in `a`, returns how many atoms are left.

    Atoms in the span of earlier ones are left out, and all beyond `limit`.
    """
    left = 0
    for s in range(t):
        if left < limit and append_row(G, L, index, left, index[s]):
            index[left] = index[s]
            left += 1
    if not positive:
        solve_chosen(L, index, left, b, a)
        return left
    # non-negative: from zero, the atom of steepest descent enters (Lawson and Hanson)
    candidates = left
    for s in range(candidates):
        dependent[s] = index[s]
    m = 0
    for _ in range(3 * candidates + 10):
        best, steepest = -1, 0.0
        for c in range(candidates):
            j = dependent[c]
            inside = False
            slope = b[j]
            for s in range(m):
                inside = inside or index[s] == j
                slope -= G[j, index[s]] * a[s]
            if not inside and slope > steepest:
                best, steepest = j, slope
        if best < 0 or steepest <= 1e-12 * abs(b[best]):
            break
        # index and dependent are apart, so the factor may be rebuilt
        for s in range(m):
            append_row(G, L, index, s, index[s])
        if not append_row(G, L, index, m, best):
            break
        index[m] = best
        a[m] = 0.0
        m = nonnegative_on_support(G, L, index, m + 1, b, a, work)
    for s in range(1, m):  # ascending
        j, v = index[s], a[s]
        q = s - 1
        while q >= 0 and index[q] > j:
            index[q + 1] = index[q]
            a[q + 1] = a[q]
            q -= 1
        index[q + 1] = j
        a[q + 1] = v
    return m


@jit
def _spread(G, b, index, a, t, code, c):  # type: ignore[no-untyped-def]
    """Dense code and correlations ``c = b - G a`` of the chosen atoms; returns ``a (b + c)``."""
    k = b.shape[0]
    for j in range(k):
        code[j] = 0.0
        c[j] = b[j]
    for s in range(t):
        g = G[index[s]]
        v = a[s]
        code[index[s]] = v
        for j in range(k):
            c[j] -= v * g[j]
    total = 0.0
    for s in range(t):
        total += a[s] * (b[index[s]] + c[index[s]])
    return total


@jit
def _quadratic(G, index, v, t):  # type: ignore[no-untyped-def]
    """Quadratic form ``v G v`` of a vector with `t` entries."""
    total = 0.0
    for s in range(t):
        g = G[index[s]]
        inner = 0.0
        for q in range(t):
            inner += g[index[q]] * v[q]
        total += v[s] * inner
    return total


@jit
def _pursue(  # type: ignore[no-untyped-def]
    B, G, rows, X, tol_sq, start, n_keep, kind, positive, max_iter, rtol,
    out_codes, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Run one of the four iterations on each signal."""
    m, k = B.shape
    n = X.shape[1]
    n_groups = start.shape[0] - 1
    score = np.empty(n_groups)
    keys = np.empty(n_groups, np.int64)
    pivots = np.empty(n_groups, np.int64)
    L = np.empty((k, k))
    a = np.zeros(k)
    work = np.empty(k)
    index = np.empty(k, np.int64)
    old = np.empty(k, np.int64)
    other = np.empty(k, np.int64)
    both = np.empty(k, np.int64)
    code = np.empty(k)
    trial = np.empty(k)
    c = np.empty(k)
    best_index = np.empty(k, np.int64)
    r = np.empty(n)
    inside = np.zeros(k, np.bool_)
    wide = n - 1 if kind == 2 else n  # a square system fits everything
    wide = max(1, wide)
    for i in range(m):
        x = X[i]
        b = B[i]
        size = 0.0
        for p in range(n):
            size += x[p] * x[p]
        bound = tol_sq[i]
        tiny = 100 * EPS * size
        for j in range(k):
            code[j] = 0.0
            c[j] = b[j]
        t = 0
        rho = size
        best_t, best_rho = 0, size
        stop = MAX_ITER
        steps = 0
        idle = 0
        if kind != 1:  # the first support: the largest correlations
            t = _keep(c, start, n_keep, positive, score, keys, pivots, index)
            if kind == 0:
                t = 0
            else:
                t = _fit(G, b, L, index, t, n, positive, a, work, other)
                rho = size - _spread(G, b, index, a, t, code, c)
                best_t, best_rho = t, rho
                for s in range(t):
                    best_index[s] = index[s]
        while steps < max_iter:
            if best_rho <= bound or best_rho <= tiny:
                stop = TOL if best_rho <= bound else STALL
                break
            steps += 1
            for s in range(t):
                old[s] = index[s]
            n_old = t
            if kind <= 1:
                # step length from the support; after least squares the gradient is zero there
                if t == 0 or kind == 1:
                    t = _keep(c, start, n_keep, positive, score, keys, pivots, index)
                above = 0.0
                for s in range(t):
                    work[s] = c[index[s]]
                    above += work[s] * work[s]
                below = _quadratic(G, index, work, t)
                if above <= tiny * EPS or below <= 0.0:
                    stop = STALL
                    t = n_old
                    break
                mu = above / below
                t_before = t
                for s in range(t):
                    other[s] = index[s]
                shrinking = 0
                while True:
                    for j in range(k):
                        trial[j] = code[j] + mu * c[j]
                    t = _keep(trial, start, n_keep, positive, score, keys, pivots, index)
                    same = t == t_before
                    if same:
                        for s in range(t):
                            same = same and index[s] == other[s]
                    if same or kind == 1 or shrinking > 60:
                        break
                    # a' - a lives on both supports
                    u = 0
                    for s in range(t):
                        inside[index[s]] = True
                    for s in range(n_old):
                        if not inside[old[s]]:
                            both[u] = old[s]
                            work[u] = -code[old[s]]
                            u += 1
                    for s in range(t):
                        inside[index[s]] = False
                        both[u] = index[s]
                        work[u] = trial[index[s]] - code[index[s]]
                        u += 1
                    change = 0.0
                    for s in range(u):
                        change += work[s] * work[s]
                    curved = _quadratic(G, both, work, u)
                    if curved <= 0.0 or mu <= 0.99 * change / curved:
                        break
                    mu /= 2 * 0.99
                    shrinking += 1
                if kind == 0:
                    for s in range(t):
                        a[s] = trial[index[s]]
                else:
                    t = _fit(G, b, L, index, t, n, positive, a, work, other)
            else:
                grow = 2 * n_keep if kind == 2 else n_keep
                # new atoms: the best of the residual, besides the old ones
                t = _keep(c, start, grow, positive, score, keys, pivots, index)
                for s in range(n_old):
                    inside[old[s]] = True
                u = n_old
                for s in range(n_old):
                    other[s] = old[s]
                for s in range(t):
                    if not inside[index[s]]:
                        other[u] = index[s]
                        u += 1
                for s in range(n_old):
                    inside[old[s]] = False
                for s in range(u):
                    index[s] = other[s]
                t = _fit(G, b, L, index, u, wide, positive, a, work, other)
                for j in range(k):
                    trial[j] = 0.0
                for s in range(t):
                    trial[index[s]] = a[s]
                t = _keep(trial, start, n_keep, positive, score, keys, pivots, index)
                if kind == 3:
                    t = _fit(G, b, L, index, t, n, positive, a, work, other)
                else:
                    for s in range(t):
                        a[s] = trial[index[s]]
            former = rho
            rho = size - _spread(G, b, index, a, t, code, c)
            same = t == n_old
            if same:
                for s in range(t):
                    same = same and index[s] == old[s]
            idle += 1
            if rho < best_rho:
                idle = 0
                best_rho, best_t = rho, t
                for s in range(t):
                    best_index[s] = index[s]
            if kind == 0:
                if abs(former - rho) <= rtol * max(rho, tiny):
                    stop = STALL
                    break
            elif same or (kind >= 2 and rho >= former) or idle >= PATIENCE:
                stop = STALL
                break
        # least squares on the best support
        t = best_t
        for s in range(t):
            index[s] = best_index[s]
        t = _fit(G, b, L, index, t, n, positive, a, work, other)
        rho = _residual_sq(x, rows, index, a, t, False, r)
        for s in range(t):
            out_codes[i, index[s]] = a[s]
        out_residual[i] = rho
        out_stop[i] = TOL if rho <= bound else stop
        out_steps[i] = max(1, steps)
