"""Sparse codes by hard thresholding and by pursuit with pruning: IHT, HTP, CoSaMP, SP.

All look for ``min |x - a D|^2`` over codes `a` with at most s atoms (or groups of atoms), keep the
best code they meet, and end with least squares on its support.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.codes.cholesky import append_atom, solve_chosen
from skmoderndata._solvers.codes.gram_rows import (
    Signals,
    ask_rows,
    code_by_rows,
    next_signal,
    returned_residual_sq,
)
from skmoderndata._solvers.codes.greedy import nonnegative_on_support
from skmoderndata._solvers.codes.products import (
    EPS,
    MAGNITUDE,
    ZERO,
    add_rows,
    inner,
    low_bits,
    sort_pairs,
)
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
    from_group_order,
    in_group_order,
)

Array = np.ndarray[Any, np.dtype[Any]]

PATIENCE = 30  # steps without a better code, after which supports are taken to go in circles
SETTLED = 10  # gradient steps on one support, after which the limit of such steps is computed
WANDERING = 40  # gradient steps, after which it is computed whatever the support
CANCELLED = 1e-6  # less of |x|^2 is computed from the residual, not as a difference
GO_ON = -1


class Rule(NamedTuple):
    """How many groups to choose, `s`, when to end, and what a step does."""

    s: int
    max_iter: int
    rtol: float
    fresh: int  # s or 2s new groups are merged with the support; 0: the support of a gradient step
    again: bool  # least squares after pruning, too
    refit: bool  # the best code


RULES = {  # fresh, again, refit
    "iht": (0, False, True),
    "htp": (0, False, False),
    "cosamp": (2, False, True),
    "subspace_pursuit": (1, True, False),
}
METHODS = tuple(RULES)


class Code(NamedTuple):
    """The atoms ``support[:t]`` with the coefficients ``a[:t]``; t is passed along."""

    support: Array
    a: Array


class Choice(NamedTuple):
    """Groups of atoms ``start[g]:start[g + 1]``, and what the largest of them are chosen by."""

    start: Array
    score: Array
    keys: Array
    work: Array


class Fit(NamedTuple):
    """Arrays for least squares: the Cholesky factor `L` of the chosen atoms, and scratch."""

    L: Array
    z: Array
    candidates: Array
    inside: Array  # False, but for marks that are taken back


class Work(NamedTuple):
    """Arrays of the signal that is coded.

    The code `now` is also given in `dense` (k,), and `c` (k,) are the correlations of its
    residual with the atoms.
    """

    now: Code
    old: Code  # before the step
    best: Code
    step: Code  # from `old` to `now`
    dense: Array
    c: Array
    z: Array  # what the next support is chosen by
    at: Array
    r: Array
    choice: Choice
    fit: Fit


def _work(k: int, n: int, start: Array) -> Work:
    def code() -> Code:
        return Code(np.zeros(k, np.int64), np.zeros(k))

    groups = len(start) - 1
    widest = min(k, n) + 1
    choice = Choice(
        start, np.empty(groups), np.empty(groups, np.int64), np.empty(groups, np.int64)
    )
    fit = Fit(
        np.empty((widest, widest)), np.empty(k), np.empty(k, np.int64), np.zeros(k, np.bool_)
    )
    return Work(
        code(), code(), code(), code(), np.zeros(k), np.zeros(k), np.empty(k),
        np.empty(k, np.int64), np.empty(n), choice, fit,
    )  # fmt: skip


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
    **options: Any,
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
    `max_iter` steps. A signal with ``|x|^2 <= tol_sq`` has the code zero.

    Other parameters, and the options `mask`, `n_jobs` and `memory`, as in `code_by_rows`.
    """
    k = len(atoms.rows)
    order, start = np.arange(k), np.arange(k + 1)
    if groups is not None:
        atoms, order, start = in_group_order(atoms, groups)
    s = min(n_nonzero, len(start) - 1)
    rule = Rule(s, max_iter, rtol, *RULES[method])
    cap = min(k, s * int(np.diff(start).max()))
    iterate = _iht if method == "iht" else _pursuit_with_pruning

    def kernel(signals: Signals, *given: Any) -> None:
        # signals that share a mask come without what it hides
        work = _work(k, signals.x.shape[1], start)
        # None, not False: numba leaves out branches for what is None
        iterate(signals, *given, rule, True if positive else None, work)

    codes = code_by_rows(X, atoms, kernel, cap=cap, tol_sq=tol_sq, **options)
    return codes if groups is None else from_group_order(codes, order)


@jit
def _pursuit_with_pruning(signals, dictionary, found, G, place, most, rule, positive, w):
    """HTP, CoSaMP and subspace pursuit: a support, least squares on it, pruned to s groups."""
    now, old, best, _, dense, c, z, at, _, choice, fit = w
    columns = dictionary.columns
    for i in range(signals.x.shape[0]):
        next_signal(signals, i, place, most)
        known, scale, b = signals.known[i], signals.scale[i], signals.b[i]
        size, bound, room = _norm_sq(signals.x[i]), signals.tol_sq[i], signals.room[i]
        t, best_t, rho, best_rho, idle, steps = ZERO, ZERO, size, size, 0, ZERO
        stop = _begin(b, size, bound, dense, c)
        while stop == GO_ON:
            n_old = _copy(now, t, old)
            if rule.fresh == 0:  # hard thresholding pursuit
                for j in range(z.shape[0]):
                    z[j] = dense[j] + c[j]  # mu = 1
                t = _select(z, rule.s, True, positive, choice, now.support)
            else:
                grow = rule.fresh * rule.s if steps > 0 else rule.s
                t = _merge(c, n_old, grow, positive, choice, fit, old.support, now.support)
            G = ask_rows(now.support, t, columns, known, scale, G, place)
            if rule.fresh == 2 and steps > 0 and positive is None:
                room = max(1, signals.room[i] - 1)  # a square system fits everything
            t = _fit(G, place, b, t, room, dense, size, positive, now, fit)
            if rule.fresh > 0 and steps > 0:
                _spread(now, t, z)
                t = _select(z, rule.s, rule.again, positive, choice, now.support)
                _gather(z, now, t)
                if rule.again:
                    t = _fit(G, place, b, t, room, z, size, positive, now, fit)
            former = rho
            rho = size - _explained(G, place, b, now, t, dense, c, at)
            if rho <= max(bound, CANCELLED * size):
                rho = _exact(signals, dictionary, i, t, w)
            idle += 1
            if rho < best_rho:
                best_t, best_rho, idle = _copy(now, t, best), rho, 0
            repeats = _same(now.support, t, old.support, n_old)
            if rho <= bound:
                stop = TOL
            elif (rule.fresh > 0 and rho >= former) or repeats or idle >= PATIENCE:
                stop = STALL
            elif best_rho <= 100 * EPS * size:
                stop = STALL
            elif steps >= rule.max_iter:
                stop = MAX_ITER
            else:
                steps += 1
        _finish(signals, dictionary, found, i, best_t, stop, steps, G, place, rule, positive, w)


@jit
def _iht(signals, dictionary, found, G, place, most, rule, positive, w):
    """Normalised iterative hard thresholding, with least squares where the support settles."""
    now, old, best, _, dense, c, z, at, _, choice, fit = w
    columns, k = dictionary.columns, c.shape[0]
    whole = place[k] == k  # the Gram matrix is there, and each step is too short for more calls
    for i in range(signals.x.shape[0]):
        next_signal(signals, i, place, most)
        known, scale, b = signals.known[i], signals.scale[i], signals.b[i]
        size, bound, room = _norm_sq(signals.x[i]), signals.tol_sq[i], signals.room[i]
        tiny = 100 * EPS * size
        t, best_t, rho, best_rho, fit_rho, steps = ZERO, ZERO, size, size, np.inf, ZERO
        since = repeated = 0  # steps after least squares, and on the same support
        reach = 0.0  # longest step on the support
        fitted = True  # the gradient on the support is zero
        stop = _begin(b, size, bound, dense, c)
        while stop == GO_ON:
            steps += 1
            n_old = _copy(now, t, old)
            if repeated >= SETTLED or since >= WANDERING:
                # where further steps on this support would lead
                t = _fit(G, place, b, t, room, dense, size, positive, now, fit)
                fitted, repeated, since = True, 0, 0
            else:
                if fitted:
                    t = _select(c, rule.s, False, positive, choice, now.support)
                    if not whole:
                        G = ask_rows(now.support, t, columns, known, scale, G, place)
                mu = _step_size(G, place, c, size, t, now)
                if mu == 0.0:
                    stop = STALL
                    continue
                if fitted and n_old > 0:  # as far as steps on the support reached
                    mu = max(mu, reach)
                else:
                    reach = max(mu, reach) if repeated > 0 else mu
                shrunk = ZERO
                while True:  # until the residual falls for sure
                    for j in range(k):
                        z[j] = dense[j] + mu * c[j]
                    t = _select(z, rule.s, False, positive, choice, now.support)
                    if not whole:
                        G = ask_rows(now.support, t, columns, known, scale, G, place)
                    if shrunk == 61 or _falls(G, place, mu, t, n_old, w):
                        break
                    mu /= 2 * 0.99
                    shrunk += 1
                _gather(z, now, t)
                repeats = _same(now.support, t, old.support, n_old)
                if fitted and repeats:  # no support within reach is better
                    stop = STALL
                    continue
                repeated = (1 if shrunk > 0 else repeated + 1) if repeats else 0
                fitted = False
                since += 1
            former = rho
            rho = size - _explained(G, place, b, now, t, dense, c, at)
            if rho <= max(bound, CANCELLED * size):
                rho = _exact(signals, dictionary, i, t, w)
            if rho < best_rho:
                best_t, best_rho = _copy(now, t, best), rho
            settled = (fit_rho if fitted else former) - rho <= rule.rtol * max(rho, tiny)
            if rho <= bound:
                stop = TOL
            elif best_rho <= tiny or (fitted and settled):
                stop = STALL
            elif steps >= rule.max_iter:
                stop = MAX_ITER
            elif fitted:
                fit_rho = rho
            elif settled:
                repeated = SETTLED  # to the limit at once
        _finish(signals, dictionary, found, i, best_t, stop, steps, G, place, rule, positive, w)


@jit_leaf
def _begin(b, size, bound, dense, c):
    """Start from the code zero: its correlations in `c`, and whether it meets the bound."""
    for j in range(b.shape[0]):
        dense[j] = 0.0
        c[j] = b[j]
    return TOL if size <= bound else GO_ON


@jit_leaf
def _norm_sq(x):
    return inner(x, x, x.shape[0])


@jit_leaf
def _step_size(G, place, c, size, t, now):
    """Exact line search along the gradient on ``now.support[:t]``; 0 at a stationary point."""
    for s in range(t):
        now.a[s] = c[now.support[s]]
    above = inner(now.a, now.a, t)
    below = _quadratic(G, place, now, t)
    if above <= 100 * EPS * size * EPS or below <= 0.0:
        return 0.0
    return above / below


@jit_leaf
def _falls(G, place, mu, t, n_old, w):
    """Tell whether a step `mu` from the code to `z` on ``now.support[:t]`` lowers the residual.

    It does on an unchanged support, and from the code zero, where `mu` is exact.
    """
    index, old, step, inside = w.now.support, w.old.support, w.step, w.fit.inside
    if n_old == 0 or _same(index, t, old, n_old):
        return True
    for s in range(t):
        j = index[s]
        inside[j] = True
        step.support[s] = j
        step.a[s] = w.z[j] - w.dense[j]
    u = t
    for s in range(n_old):
        j = old[s]
        if not inside[j]:
            step.support[u] = j
            step.a[u] = -w.dense[j]
            u += 1
    for s in range(t):
        inside[index[s]] = False
    curved = _quadratic(G, place, step, u)
    return curved <= 0.0 or mu * curved <= 0.99 * inner(step.a, step.a, u)


@jit_leaf
def _quadratic(G, place, code, t):
    """Quadratic form ``a G a`` of a code with t entries."""
    index, a = code.support, code.a
    total = 0.0
    for s in range(t):
        g = G[place[index[s]]]
        product = 0.0
        for q in range(t):
            product += g[index[q]] * a[q]
        total += a[s] * product
    return total


@jit_leaf
def _explained(G, place, b, now, t, dense, c, at):
    """Bring the dense code and ``c = b - G a`` up to date; returns ``|x|^2 - |r|^2``."""
    _spread(now, t, dense)
    for j in range(b.shape[0]):
        c[j] = b[j]
    for s in range(t):
        at[s] = place[now.support[s]]
    add_rows(c, -1.0, now.a, G, at, t)
    total = 0.0
    for s in range(t):
        total += now.a[s] * (b[now.support[s]] + c[now.support[s]])
    return total


@jit_leaf
def _exact(signals, dictionary, i, t, w):
    """Squared residual of the code as it would be returned, computed from the signal."""
    return returned_residual_sq(signals, dictionary, i, w.now.support, w.now.a, t, w.fit.z, w.r)


@jit_leaf
def _finish(signals, dictionary, found, i, t, stop, steps, G, place, rule, positive, w):
    """Write the best code, or with `refit` that of least squares on its support, if not worse."""
    index, value, bound = found.chosen[i], found.values[i], signals.tol_sq[i]
    size, best, now = _norm_sq(signals.x[i]), w.best, w.now
    rho = returned_residual_sq(signals, dictionary, i, best.support, best.a, t, value, w.r)
    for s in range(t):
        index[s] = best.support[s]
    if rule.refit and t > 0:
        _spread(best, t, w.z)
        _copy(best, t, now)
        u = _fit(G, place, signals.b[i], t, signals.room[i], w.z, size, positive, now, w.fit)
        refined = _exact(signals, dictionary, i, u, w)
        same_verdict = refined <= bound or rho > bound
        near = rho * (1 + 1e-9) + 100 * EPS * size
        if refined <= rho or (same_verdict and refined <= near):
            rho, t = refined, u
            for s in range(t):
                index[s] = now.support[s]
                value[s] = w.fit.z[s]
    sort_pairs(index, value, t)
    found.counts[i] = t
    found.residual_sq[i] = rho
    found.stop[i] = TOL if rho <= bound else stop
    found.steps[i] = max(1, steps)


@jit_leaf
def _copy(code, t, to):
    """Copy a code with t atoms; returns t."""
    for s in range(t):
        to.support[s] = code.support[s]
        to.a[s] = code.a[s]
    return t


@jit_leaf
def _spread(code, t, dense):
    """Write a code with t atoms to a dense array."""
    for j in range(dense.shape[0]):
        dense[j] = 0.0
    for s in range(t):
        dense[code.support[s]] = code.a[s]


@jit_leaf
def _gather(dense, code, t):
    """Take the coefficients of ``code.support[:t]`` from a dense array."""
    for s in range(t):
        code.a[s] = dense[code.support[s]]


@jit_leaf
def _same(index, t, other, u):
    """Tell whether two supports are the same."""
    if t != u:
        return False
    for s in range(t):
        if index[s] != other[s]:
            return False
    return True


@jit_leaf
def _merge(c, n_old, grow, positive, choice, fit, old, index):
    """Write ``old[:n_old]`` and the atoms of the `grow` best groups; returns how many."""
    t = _select(c, grow, True, positive, choice, fit.candidates)
    for s in range(n_old):
        index[s] = old[s]
        fit.inside[old[s]] = True
    u = n_old
    for s in range(t):
        j = fit.candidates[s]
        if not fit.inside[j]:
            index[u] = j
            u += 1
    for s in range(n_old):
        fit.inside[old[s]] = False
    return u


@jit_leaf
def _nth_largest(keys, m, s):
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


@jit_leaf
def _select(z, s, whole, positive, choice, index):
    """Write the atoms of the s largest groups of `z` to `index`; returns how many there are.

    Groups without any (positive) entry are never selected. With ``whole=True`` all atoms of a
    group are written, otherwise, if `positive`, those with positive entries.
    """
    start, score, keys = choice.start, choice.score, choice.keys
    n_groups = score.shape[0]
    low = low_bits(n_groups)
    bits = score.view(np.int64)
    for g in range(n_groups):
        total = 0.0
        for j in range(start[g], start[g + 1]):
            if positive is None or z[j] > 0.0:
                total += z[j] * z[j]
        score[g] = total
    for g in range(n_groups):
        # magnitudes of doubles are ordered as their bits are; the index makes all different
        keys[g] = (bits[g] & MAGNITUDE & ~low) | (n_groups - 1 - g)
    for g in range(n_groups):
        choice.work[g] = keys[g]
    least = _nth_largest(choice.work, n_groups, min(s, n_groups))
    t = ZERO
    for g in range(n_groups):
        if keys[g] >= least and score[g] > 0.0:
            for j in range(start[g], start[g + 1]):
                if whole or positive is None or z[j] > 0.0:
                    index[t] = j
                    t += 1
    return t


@jit_leaf
def _fit(G, place, b, t, limit, first, size, positive, code, fit):
    """Least squares on the atoms ``code.support[:t]``; returns how many of them remain.

    Atoms in the span of earlier ones are left out, and all beyond `limit`. With `positive`,
    non-negative least squares from the feasible values ``first[index[:t]]``, for a signal of
    squared norm `size`.
    """
    index = code.support
    if positive is not None:
        return _fit_positive(G, place, b, t, limit, first, 1e-12 * np.sqrt(size), code, fit)
    u = ZERO
    for s in range(t):
        j = index[s]
        if u < limit and append_atom(fit.L, u, G[place[j]], index, j) > 0.0:
            index[u] = j
            u += 1
    solve_chosen(fit.L, index, u, b, code.a)
    return u


@jit_leaf
def _fit_positive(G, place, b, n_candidates, limit, first, floor, code, fit):
    """Non-negative least squares on ``index[:n_candidates]``: returns the size of its support.

    Lawson and Hanson's algorithm, where all atoms of positive slope enter at once. That lowers the
    residual: with S the Schur complement of the atoms inside and c the slopes, ``c S^-1 c > 0``,
    so that not all who enter are turned away. An atom that depends on those inside has slope zero
    when its turn comes, and is not given up before.
    """
    index, a, L = code.support, code.a, fit.L
    for s in range(n_candidates):
        fit.candidates[s] = index[s]
    t = ZERO
    for s in range(n_candidates):
        j = fit.candidates[s]
        if first[j] > 0.0 and t < limit and append_atom(L, t, G[place[j]], index, j) > 0.0:
            index[t] = j
            a[t] = first[j]
            t += 1
    t = nonnegative_on_support(L, index, t, b, a, fit.z)
    value = 0.0
    for s in range(t):
        value += a[s] * b[index[s]]
    for _ in range(3 * n_candidates + 10):
        for s in range(t):
            fit.inside[index[s]] = True
        entered = t
        for s in range(n_candidates):
            j = fit.candidates[s]
            if fit.inside[j] or entered >= limit:
                continue
            slope, g = b[j], G[place[j]]
            for q in range(t):
                slope -= g[index[q]] * a[q]
            if slope > floor and append_atom(L, entered, g, index, j) > 0.0:
                index[entered] = j
                a[entered] = 0.0
                entered += 1
        for s in range(t):
            fit.inside[index[s]] = False
        if entered == t:
            break
        t = nonnegative_on_support(L, index, entered, b, a, fit.z)
        former, value = value, 0.0
        for s in range(t):
            value += a[s] * b[index[s]]
        if value <= former * (1 + 1e-14):  # rounding
            break
    sort_pairs(index, a, t)
    return t
