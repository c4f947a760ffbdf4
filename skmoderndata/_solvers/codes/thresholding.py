"""Sparse codes by hard thresholding and by pursuit with pruning: IHT, HTP, CoSaMP, SP.

All look for ``min |x - a D|^2`` over codes `a` with at most s atoms (or groups of atoms), keep the
best code they meet, and end with least squares on its support.
"""

from typing import Any

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.cholesky import append_atom, solve_chosen
from skmoderndata._solvers.codes.gram_rows import BARRED, same_entries
from skmoderndata._solvers.codes.greedy import nonnegative_on_support
from skmoderndata._solvers.codes.products import EPS, MAGNITUDE, inner, low_bits
from skmoderndata._solvers.codes.signal_blocks import (
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
IHT, HTP, COSAMP, SUBSPACE = range(4)
PATIENCE = 30  # steps without a better code, after which supports are taken to go in circles
SETTLED = 10  # gradient steps on one support, after which the limit of such steps is computed
FEW = 16  # so many of the largest are found by insertion
WANDERING = 40  # gradient steps, after which it is computed whatever the support


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
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Code signals with `n_nonzero` atoms by one of four iterations.

    - "iht": ``a <- H_s(a + mu D(x - a D))`` with the normalised step of Blumensath and Davies
      (2010), which makes the residual fall. Steps that leave the support as it is go to least
      squares on it: after ten of them (or forty on changing supports) this limit is computed, and
      steps go on from there until the support does not change any more.
    - "htp": the support after a step ``mu = 1`` with atoms of unit norm, then least squares on it,
      until the support repeats (Foucart 2011).
    - "cosamp": least squares on the support and the 2s best new atoms, pruned to s (Needell and
      Tropp 2009).
    - "subspace_pursuit": the support and the s best new atoms, least squares, pruned to s, least
      squares again (Dai and Milenkovic 2009).

    `H_s` keeps the s entries of largest magnitude, the first of ties; with `groups` (k,), the
    number of the group of each atom, the s groups of largest norm. With ``positive=True`` only
    positive entries count, and least squares is non-negative. An iteration ends when
    ``|r|^2 <= tol_sq``, when the support or the residual does not change any more, or after
    `max_iter` steps. A signal with ``|x|^2 <= tol_sq`` has the code zero. Bounds hold for the code
    that is returned: with ``single=True`` for the one rounded to single precision.
    """
    if mask is not None:
        return by_pattern(
            X,
            mask,
            atoms,
            lambda signals, masked, rows: hard_thresholding(
                signals, masked, method=method, n_nonzero=n_nonzero, tol_sq=tol_sq[rows],
                groups=groups, positive=positive, max_iter=max_iter, rtol=rtol, single=single,
                n_jobs=n_jobs,
            ),
            renormalize=True,
            barred=BARRED,
            each=lambda signals, known, rows: _code(
                signals, known, atoms, method, n_nonzero, tol_sq[rows], groups, positive,
                max_iter, rtol, single, n_jobs,
            ),
        )  # fmt: skip
    return _code(
        X, None, atoms, method, n_nonzero, tol_sq, groups, positive, max_iter, rtol, single, n_jobs
    )


def _code(
    X: Array,
    mask: Array | None,
    atoms: Atoms,
    method: str,
    n_nonzero: int,
    tol_sq: Array,
    groups: Array | None,
    positive: bool,
    max_iter: int,
    rtol: float,
    single: bool,
    n_jobs: int | None,
) -> SparseCodes:
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
    norms = np.ascontiguousarray(atoms.norms[order])
    columns = np.ascontiguousarray(rows.T)
    if mask is None:
        whole = with_gram(atoms).gram
        assert whole is not None
        gram, squares = np.ascontiguousarray(whole[np.ix_(order, order)]), columns
    else:  # inner products of the masked atoms that are taken up, as they are
        gram, squares = np.empty((1, 1)), columns**2
    s = min(n_nonzero, len(start) - 1)
    kind = METHODS.index(method)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        m = len(x)
        codes = np.zeros((m, k))
        residual_sq, stop, steps = np.zeros(m), np.zeros(m, np.int8), np.zeros(m, np.int32)
        B = x @ columns
        if mask is None:
            known, unit = np.ones((1, x.shape[1])), np.ones((1, k))
        else:
            known = mask[part].astype(np.float64)
            left = known @ squares
            usable = left > BARRED
            unit = np.where(usable, 1.0 / np.sqrt(np.where(usable, left, 1.0)), 0.0)
            B *= unit
        _pursue(
            B, gram, columns, rows, norms, known, unit, mask is not None, x, tol_sq[part], start,
            s, kind, positive, max_iter, rtol, single, codes, residual_sq, stop, steps,
        )  # fmt: skip
        return dense_block(codes[:, inverse], residual_sq, stop, np.full(m, np.nan), steps)

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
def _least_of_largest(keys, m, s, work):  # type: ignore[no-untyped-def]
    """Return the s-th largest of the first `m` integers, all different."""
    if s > FEW:
        for g in range(m):
            work[g] = keys[g]
        return _select(work, m, s)
    for q in range(s):
        work[q] = -1
    for g in range(m):  # the largest so far in order: few of many integers enter
        key = keys[g]
        if key > work[s - 1]:
            q = s - 1
            while q > 0 and work[q - 1] < key:
                work[q] = work[q - 1]
                q -= 1
            work[q] = key
    return work[s - 1]


@jit
def _keep(z, start, s, positive, whole, score, keys, work, index):  # type: ignore[no-untyped-def]
    """Write the atoms of the s largest groups of `z` to `index`, ascending; return their number.

    Groups without any (positive) entry are never kept. With ``whole=True`` all atoms of a group
    are written, otherwise, if `positive`, those with positive entries.
    """
    n_groups = start.shape[0] - 1
    low = low_bits(n_groups)
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
    least = _least_of_largest(keys, n_groups, min(s, n_groups), work)
    t = 0
    for g in range(n_groups):
        if keys[g] >= least and score[g] > 0.0:
            for j in range(start[g], start[g + 1]):
                if whole or not positive or z[j] > 0.0:
                    index[t] = j
                    t += 1
    return t


@jit
def _fit(G, b, L, index, t, limit, a):  # type: ignore[no-untyped-def]
    """Least squares on ``index[:t]``: coefficients in `a`, returns how many atoms are left.

    Atoms in the span of earlier ones are left out, and all beyond `limit`.
    """
    left = 0
    for s in range(t):
        if left < limit and append_atom(L, left, G[index[s]], index, index[s]) > 0.0:
            index[left] = index[s]
            left += 1
    solve_chosen(L, index, left, b, a)
    return left


@jit
def _fit_positive(  # type: ignore[no-untyped-def]
    G, b, L, index, t, limit, first, floor, a, z, candidates, barred
):
    """Non-negative least squares on ``index[:t]``: returns how many atoms have a coefficient.

    Lawson and Hanson's algorithm from the feasible values ``first[index[:t]]``, where all atoms of
    positive slope enter at once. That lowers the residual: with S the Schur complement of the
    atoms inside and c the slopes, ``c S^-1 c > 0``, so that not all who enter are turned away. An
    atom that depends on those inside has slope zero when its turn comes, and is not given up
    before. `barred` is an array of False, and is left as one.
    """
    n_candidates = t
    for s in range(n_candidates):
        candidates[s] = index[s]
    t = 0
    for s in range(n_candidates):
        j = candidates[s]
        if first[j] > 0.0 and t < limit and append_atom(L, t, G[j], index, j) > 0.0:
            index[t] = j
            a[t] = first[j]
            t += 1
    t = nonnegative_on_support(L, index, t, b, a, z)
    value = 0.0
    for s in range(t):
        value += a[s] * b[index[s]]
    for _ in range(3 * n_candidates + 10):
        for s in range(t):
            barred[index[s]] = True
        entered = t
        for s in range(n_candidates):
            j = candidates[s]
            if barred[j]:
                continue
            slope, g = b[j], G[j]
            for q in range(t):
                slope -= g[index[q]] * a[q]
            if slope > floor and entered < limit and append_atom(L, entered, G[j], index, j) > 0.0:
                index[entered] = j
                a[entered] = 0.0
                entered += 1
        for s in range(t):
            barred[index[s]] = False
        if entered == t:
            break
        t = nonnegative_on_support(L, index, entered, b, a, z)
        former, value = value, 0.0
        for s in range(t):
            value += a[s] * b[index[s]]
        if value <= former * (1 + 1e-14):  # rounding
            break
    for s in range(1, t):  # ascending
        j, v = index[s], a[s]
        q = s - 1
        while q >= 0 and index[q] > j:
            index[q + 1] = index[q]
            a[q + 1] = a[q]
            q -= 1
        index[q + 1] = j
        a[q + 1] = v
    return t


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
def _take_up(index, t, rows, known, unit, M, G, seen, taken, n_seen):  # type: ignore[no-untyped-def]
    """Masked atoms of unit norm in `M`, and their inner products in G, for ``index[:t]``.

    ``seen[:n_seen]`` are the atoms for which there are such already, `taken` marks them; returns
    how many there are now.
    """
    n = rows.shape[1]
    for s in range(t):
        j = index[s]
        if taken[j]:
            continue
        taken[j] = True
        seen[n_seen] = j
        n_seen += 1
        d = M[j]
        for p in range(n):
            d[p] = rows[j, p] * known[p] * unit[j]
        for q in range(n_seen):
            product = inner(d, M[seen[q]], n)
            G[j, seen[q]] = product
            G[seen[q], j] = product
    return n_seen


@jit
def _spread_masked(columns, unit, M, x, index, a, t, code, c, r):  # type: ignore[no-untyped-def]
    """Dense code and correlations of the residual with masked atoms; returns ``|r|^2``."""
    k = c.shape[0]
    n = x.shape[0]
    for j in range(k):
        code[j] = 0.0
    for p in range(n):
        r[p] = x[p]
    for s in range(t):
        code[index[s]] = a[s]
        d = M[index[s]]
        for p in range(n):
            r[p] -= a[s] * d[p]
    correlations(columns, r, c)
    for j in range(k):
        c[j] *= unit[j]
    return inner(r, r, n)


@jit
def _quadratic(G, index, v, t):  # type: ignore[no-untyped-def]
    """Quadratic form ``v G v`` of a vector with `t` entries."""
    total = 0.0
    for s in range(t):
        g = G[index[s]]
        product = 0.0
        for q in range(t):
            product += g[index[q]] * v[q]
        total += v[s] * product
    return total


@jit
def _same(u, v, count):  # type: ignore[no-untyped-def]
    for s in range(count):
        if u[s] != v[s]:
            return False
    return True


@jit
def _pursue(  # type: ignore[no-untyped-def]
    B, G, columns, rows, norms, known, unit, masked, X, tol_sq, start, n_keep, kind, positive,
    max_iter, rtol, single,
    out_codes, out_residual, out_stop, out_steps,
):  # fmt: skip
    """Run one of the four iterations on each signal.

    With a mask, `M` holds masked atoms of unit norm and `G` their inner products, as far as they
    are taken up, and `lengths` the norms that the code is divided by.
    """
    m, k = B.shape
    n = X.shape[1]
    n_groups = start.shape[0] - 1
    score = np.empty(n_groups)
    keys = np.empty(n_groups, np.int64)
    pivots = np.empty(n_groups, np.int64)
    widest = min(k, n) + 1
    L = np.empty((widest, widest))
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
    best_a = np.empty(k)
    r = np.empty(n)
    inside = np.zeros(k, np.bool_)
    M, lengths = rows, norms
    taken = np.zeros(k, np.bool_)
    seen = np.empty(k, np.int64)
    n_seen = 0
    if masked:
        G, M, lengths = np.empty((k, k)), np.empty((k, n)), np.empty(k)
    room = n
    for i in range(m):
        x = X[i]
        b = B[i]
        if masked and (i == 0 or not same_entries(known[i], known[i - 1])):
            for s in range(n_seen):
                taken[seen[s]] = False
            n_seen = 0
            room = 0
            for p in range(n):
                room += 1 if known[i, p] > 0 else 0
            for j in range(k):
                lengths[j] = norms[j] / unit[i, j] if unit[i, j] > 0.0 else 1.0
        wide = max(1, room - 1 if kind == COSAMP else room)  # a square system fits everything
        size = inner(x, x, n)
        bound = tol_sq[i]
        if size <= bound or size == 0.0:  # nothing has to be explained
            out_residual[i] = size
            out_stop[i] = TOL if size <= bound else STALL
            out_steps[i] = 1
            continue
        tiny = 100 * EPS * size
        floor = 1e-12 * np.sqrt(size)
        for j in range(k):
            code[j] = 0.0
            c[j] = b[j]
        t = 0
        rho, former = size, size
        best_t, best_rho = 0, size
        stop = MAX_ITER
        steps = 0
        idle = 0
        reach = 0.0  # longest step on the support
        since = 0  # gradient steps after least squares
        repeated = 0  # gradient steps that left the support as it was
        fitted = True  # the gradient on the support is zero
        fit_rho = np.inf
        met = False
        first = kind != IHT  # the first support: the largest correlations
        while True:
            if not first:
                if met or best_rho <= tiny:
                    stop = TOL if met else STALL
                    break
                if steps >= max_iter:
                    break
                steps += 1
            for s in range(t):
                old[s] = index[s]
            n_old = t
            if first:
                t = _keep(c, start, n_keep, positive, True, score, keys, pivots, index)
                if masked:
                    n_seen = _take_up(
                        index, t, rows, known[i], unit[i], M, G, seen, taken, n_seen
                    )  # fmt: skip
                if positive:
                    t = _fit_positive(
                        G, b, L, index, t, room, code, floor, a, work, other, inside
                    )  # fmt: skip
                else:
                    t = _fit(G, b, L, index, t, room, a)
            elif kind == HTP:
                # after least squares the gradient on the support is zero: mu = 1
                for j in range(k):
                    trial[j] = code[j] + c[j]
                t = _keep(trial, start, n_keep, positive, True, score, keys, pivots, index)
                if masked:
                    n_seen = _take_up(
                        index, t, rows, known[i], unit[i], M, G, seen, taken, n_seen
                    )  # fmt: skip
                if positive:
                    t = _fit_positive(
                        G, b, L, index, t, room, code, floor, a, work, other, inside
                    )  # fmt: skip
                else:
                    t = _fit(G, b, L, index, t, room, a)
            elif kind == IHT and (repeated >= SETTLED or since >= WANDERING):
                # where further steps on this support would lead
                if positive:
                    t = _fit_positive(
                        G, b, L, index, t, room, code, floor, a, work, other, inside
                    )  # fmt: skip
                else:
                    t = _fit(G, b, L, index, t, room, a)
                fitted = True
                repeated = 0
                since = 0
            elif kind == IHT:
                # the step length of exact line search on the support
                if fitted:
                    t = _keep(c, start, n_keep, positive, False, score, keys, pivots, index)
                    if masked:
                        n_seen = _take_up(
                            index, t, rows, known[i], unit[i], M, G, seen, taken, n_seen
                        )  # fmt: skip
                t_before = t
                above = 0.0
                for s in range(t):
                    other[s] = index[s]
                for s in range(t):
                    work[s] = c[index[s]]
                    above += work[s] * work[s]
                below = _quadratic(G, index, work, t)
                if above <= tiny * EPS or below <= 0.0:
                    stop = STALL
                    t = n_old
                    break
                mu = above / below
                if fitted and n_old > 0:  # as far as steps on the support reached
                    mu = max(mu, reach)
                else:
                    reach = max(mu, reach) if repeated > 0 else mu
                shrinking = 0
                while True:
                    for j in range(k):
                        trial[j] = code[j] + mu * c[j]
                    t = _keep(trial, start, n_keep, positive, False, score, keys, pivots, index)
                    if masked:
                        n_seen = _take_up(
                            index, t, rows, known[i], unit[i], M, G, seen, taken, n_seen
                        )  # fmt: skip
                    if t == n_old and _same(index, old, t):
                        repeated += 1
                        break
                    repeated = 0
                    if n_old == 0 and t == t_before and _same(index, other, t):
                        break
                    if shrinking > 60:
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
                if fitted and repeated > 0:  # no support within reach is better
                    stop = STALL
                    break
                for s in range(t):
                    a[s] = trial[index[s]]
                fitted = False
                since += 1
            else:
                grow = 2 * n_keep if kind == COSAMP else n_keep
                # new atoms: the best of the residual, besides the old ones
                t = _keep(c, start, grow, positive, True, score, keys, pivots, index)
                if masked:
                    n_seen = _take_up(
                        index, t, rows, known[i], unit[i], M, G, seen, taken, n_seen
                    )  # fmt: skip
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
                if positive:
                    t = _fit_positive(
                        G, b, L, index, u, room, code, floor, a, work, other, inside
                    )  # fmt: skip
                else:
                    t = _fit(G, b, L, index, u, wide, a)
                for j in range(k):
                    trial[j] = 0.0
                for s in range(t):
                    trial[index[s]] = a[s]
                whole = kind == SUBSPACE
                t = _keep(trial, start, n_keep, positive, whole, score, keys, pivots, index)
                if kind == COSAMP:
                    for s in range(t):
                        a[s] = trial[index[s]]
                elif positive:
                    t = _fit_positive(
                        G, b, L, index, t, room, trial, floor, a, work, other, inside
                    )  # fmt: skip
                else:
                    t = _fit(G, b, L, index, t, room, a)
            former = rho
            if masked:
                rho = _spread_masked(columns, unit[i], M, x, index, a, t, code, c, r)
            else:
                rho = size - _spread(G, b, index, a, t, code, c)
            if rho <= 1e-6 * size or rho <= bound:
                # differences of large numbers decide nothing
                rho = pursuit_residual_sq(x, M, index, a, t, lengths, False, r)
                met = rho <= bound
                if met and single:
                    met = pursuit_residual_sq(x, M, index, a, t, lengths, True, r) <= bound
            idle += 1
            if rho < best_rho or met:
                idle = 0
                best_rho, best_t = rho, t
                for s in range(t):
                    best_index[s] = index[s]
                    best_a[s] = a[s]
            if first:
                first = False
                continue
            if met:
                continue
            if kind == IHT and fitted:
                if fit_rho - rho <= rtol * max(rho, tiny):
                    stop = STALL
                    break
                fit_rho = rho
            elif kind == IHT:
                if former - rho <= rtol * max(rho, tiny):
                    repeated = SETTLED  # to the limit at once
            elif (
                (t == n_old and _same(index, old, t))
                or (kind >= COSAMP and rho >= former)
                or idle >= PATIENCE
            ):
                stop = STALL
                break
        # the best code that was met, or least squares on its support
        t = best_t
        for s in range(t):
            index[s] = best_index[s]
        rho = pursuit_residual_sq(x, M, index, best_a, t, lengths, single, r)
        if kind == IHT or kind == COSAMP:
            if positive:
                for s in range(t):
                    trial[index[s]] = best_a[s]
                t = _fit_positive(
                    G, b, L, index, t, room, trial, floor, a, work, other, inside
                )  # fmt: skip
            else:
                t = _fit(G, b, L, index, t, room, a)
            refined = pursuit_residual_sq(x, M, index, a, t, lengths, single, r)
            same_verdict = refined <= bound or rho > bound
            if refined <= rho or (same_verdict and refined <= rho * (1 + 1e-9) + tiny):
                rho = refined
            else:
                t = best_t
                for s in range(t):
                    index[s] = best_index[s]
                    a[s] = best_a[s]
        else:
            for s in range(t):
                a[s] = best_a[s]
        for s in range(t):
            out_codes[i, index[s]] = a[s] / lengths[index[s]]
        out_residual[i] = rho
        out_stop[i] = TOL if rho <= bound else stop
        out_steps[i] = max(1, steps)


@jit
def correlations(columns, r, c):  # type: ignore[no-untyped-def]
    """Inner products ``c = D r`` from the transposed dictionary; zeros of `r` cost nothing."""
    n, k = columns.shape
    for j in range(k):
        c[j] = 0.0
    p = 0
    while p < n:
        if p + 4 <= n:
            r0, r1, r2, r3 = r[p], r[p + 1], r[p + 2], r[p + 3]
            d0, d1, d2, d3 = columns[p], columns[p + 1], columns[p + 2], columns[p + 3]
            for j in range(k):
                c[j] += (r0 * d0[j] + r1 * d1[j]) + (r2 * d2[j] + r3 * d3[j])
            p += 4
        else:
            r0, d0 = r[p], columns[p]
            for j in range(k):
                c[j] += r0 * d0[j]
            p += 1


@jit
def returned(a, norm, single):  # type: ignore[no-untyped-def]
    """Coefficient of a unit atom as the code that is returned has it.

    It is divided by the norm of the atom, and rounded where codes are of single precision.
    """
    coefficient = a / norm
    if single:
        coefficient = np.float64(np.float32(coefficient))
    return coefficient * norm


@jit
def pursuit_residual_sq(x, rows, index, a, count, norms, single, r):  # type: ignore[no-untyped-def]
    """Squared norm of the residual of the code that is returned; `r` receives the residual.

    It is computed from the signal itself: this is the number that bounds are compared with.
    """
    n = x.shape[0]
    for p in range(n):
        r[p] = x[p]
    for t in range(count):
        coefficient = returned(a[t], norms[index[t]], single)
        d = rows[index[t]]
        for p in range(n):
            r[p] -= coefficient * d[p]
    return inner(r, r, n)
