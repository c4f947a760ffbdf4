"""Sparse codes by hard thresholding and by pursuit with pruning: IHT, HTP, CoSaMP, SP.

All look for ``min |x - a D|^2`` over codes `a` with at most s atoms (or groups of atoms), keep the
best code they meet, and end with least squares on its support.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.cholesky import append_atom, solve_chosen
from skmoderndata._solvers.codes.gram_rows import (
    ask_row,
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
    with_gram,
)

Array = np.ndarray[Any, np.dtype[Any]]

METHODS = ("iht", "htp", "cosamp", "subspace_pursuit")
PATIENCE = 30  # steps without a better code, after which supports are taken to go in circles
SETTLED = 10  # gradient steps on one support, after which the limit of such steps is computed
WANDERING = 40  # gradient steps, after which it is computed whatever the support
FEW = 16  # so many of the largest are found by insertion
GO_ON = -1


class Rule(NamedTuple):
    """How many groups to find, `s`, of atoms ``start[g]:start[g + 1]``, and when to end."""

    start: Array
    s: int
    max_iter: int
    rtol: float
    single: bool


class Work(NamedTuple):
    """Arrays of the signal that is coded, for k atoms.

    The atoms of the code are ``support[:t]``, their coefficients ``a[:t]``, and `L` is a Cholesky
    factor of their inner products; `code` (k,) is the same code, dense, and `c` (k,) are the
    correlations of its residual.
    """

    support: Array
    a: Array
    L: Array
    code: Array
    c: Array
    old: Array  # the support before the step
    best_index: Array
    best_a: Array
    z: Array  # what the next support is chosen by
    candidates: Array
    y: Array
    inside: Array  # False, but for marks that are taken back
    keys: Array
    pivots: Array
    r: Array


def _work(k: int, n: int) -> Work:
    widest = min(k, n) + 1
    return Work(
        np.empty(k, np.int64), np.zeros(k), np.empty((widest, widest)), np.zeros(k), np.zeros(k),
        np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k), np.empty(k),
        np.empty(k, np.int64), np.empty(k), np.zeros(k, np.bool_), np.empty(k, np.int64),
        np.empty(k, np.int64), np.empty(n),
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
    n, k = X.shape[1], len(atoms.rows)
    if mask is None:
        atoms = with_gram(atoms)
    order, start = np.arange(k), np.arange(k + 1)
    if groups is not None:  # the atoms of a group one after the other
        order = np.argsort(groups, kind="stable")
        start = np.searchsorted(groups[order], np.arange(int(groups.max()) + 2))
        gram = None if atoms.gram is None else atoms.gram[np.ix_(order, order)]
        atoms = Atoms(atoms.rows[order], atoms.norms[order], gram)
    rule = Rule(start, min(n_nonzero, len(start) - 1), max_iter, rtol, single)
    cap = min(k, rule.s * int(np.diff(start).max()))
    iterate = {"iht": _iht, "htp": _htp, "cosamp": _cosamp, "subspace_pursuit": _subspace_pursuit}

    def kernel(*given: Any) -> None:
        # None, not False: numba leaves out branches for what is None
        iterate[method](*given, rule, True if positive else None, _work(k, n))

    codes = code_by_rows(X, atoms, mask, kernel, cap=cap, tol_sq=tol_sq, n_jobs=n_jobs)
    if groups is None:
        return codes
    back = sparse.csr_array((codes.values, order[codes.indices], codes.indptr), (len(X), k))
    back.sort_indices()
    return codes._replace(indices=back.indices.astype(np.int32), values=back.data)


@jit
def _htp(signals, dictionary, found, G, place, most, rule, positive, w):  # type: ignore[no-untyped-def]
    """Hard thresholding pursuit: the support after a gradient step, least squares on it."""
    for i in range(signals.x.shape[0]):
        next_signal(signals, i, place, most)
        size, room = inner(signals.x[i], signals.x[i], signals.x.shape[1]), signals.room[i]
        t, G = _start(signals, dictionary, i, G, place, rule, positive, w)
        rho = _measure(signals, dictionary, i, t, size, G, place, rule, w)
        best_t, best_rho = _keep_best(w, t, rho, ZERO, size)
        idle, steps = 0, ZERO
        stop = _verdict(signals, i, size, rho, best_rho, steps, rule)
        while stop == GO_ON:
            steps += 1
            n_old = _set_aside(w, t)
            for j in range(w.z.shape[0]):
                w.z[j] = w.code[j] + w.c[j]  # mu = 1
            t = _select_support(w.z, rule.start, rule.s, True, positive, w)
            t, G = _fit(signals, dictionary, i, t, room, w.code, G, place, positive, w)
            rho = _measure(signals, dictionary, i, t, size, G, place, rule, w)
            idle = 0 if rho < best_rho else idle + 1
            best_t, best_rho = _keep_best(w, t, rho, best_t, best_rho)
            stop = _verdict(signals, i, size, rho, best_rho, steps, rule)
            if rho > signals.tol_sq[i] and (_same(w.support, t, w.old, n_old) or idle >= PATIENCE):
                stop = STALL
        G = _finish(
            signals, dictionary, found, i, best_t, False, stop, steps, G, place, rule, positive, w
        )


@jit
def _cosamp(signals, dictionary, found, G, place, most, rule, positive, w):  # type: ignore[no-untyped-def]
    """CoSaMP: least squares on the support and the 2s best new atoms, pruned to s."""
    for i in range(signals.x.shape[0]):
        next_signal(signals, i, place, most)
        size = inner(signals.x[i], signals.x[i], signals.x.shape[1])
        room = signals.room[i]
        if positive is None:
            room = max(1, room - 1)  # a square system fits everything
        t, G = _start(signals, dictionary, i, G, place, rule, positive, w)
        rho = _measure(signals, dictionary, i, t, size, G, place, rule, w)
        best_t, best_rho = _keep_best(w, t, rho, ZERO, size)
        idle, steps = 0, ZERO
        stop = _verdict(signals, i, size, rho, best_rho, steps, rule)
        while stop == GO_ON:
            steps += 1
            n_old = _set_aside(w, t)
            t = _merge(n_old, 2 * rule.s, rule, positive, w)
            t, G = _fit(signals, dictionary, i, t, room, w.code, G, place, positive, w)
            _spread(t, w.z, w)
            t = _select_support(w.z, rule.start, rule.s, False, positive, w)
            for s in range(t):
                w.a[s] = w.z[w.support[s]]
            former = rho
            rho = _measure(signals, dictionary, i, t, size, G, place, rule, w)
            idle = 0 if rho < best_rho else idle + 1
            best_t, best_rho = _keep_best(w, t, rho, best_t, best_rho)
            stop = _verdict(signals, i, size, rho, best_rho, steps, rule)
            settled = _same(w.support, t, w.old, n_old) or rho >= former or idle >= PATIENCE
            if rho > signals.tol_sq[i] and settled:
                stop = STALL
        G = _finish(
            signals, dictionary, found, i, best_t, True, stop, steps, G, place, rule, positive, w
        )


@jit
def _subspace_pursuit(signals, dictionary, found, G, place, most, rule, positive, w):  # type: ignore[no-untyped-def]
    """Subspace pursuit: the support and s new atoms, least squares, pruned, least squares."""
    for i in range(signals.x.shape[0]):
        next_signal(signals, i, place, most)
        size, room = inner(signals.x[i], signals.x[i], signals.x.shape[1]), signals.room[i]
        t, G = _start(signals, dictionary, i, G, place, rule, positive, w)
        rho = _measure(signals, dictionary, i, t, size, G, place, rule, w)
        best_t, best_rho = _keep_best(w, t, rho, ZERO, size)
        idle, steps = 0, ZERO
        stop = _verdict(signals, i, size, rho, best_rho, steps, rule)
        while stop == GO_ON:
            steps += 1
            n_old = _set_aside(w, t)
            t = _merge(n_old, rule.s, rule, positive, w)
            for turn in range(2):
                if turn == 1:
                    _spread(t, w.z, w)
                    t = _select_support(w.z, rule.start, rule.s, True, positive, w)
                first = w.code if turn == 0 else w.z
                t, G = _fit(signals, dictionary, i, t, room, first, G, place, positive, w)
            former = rho
            rho = _measure(signals, dictionary, i, t, size, G, place, rule, w)
            idle = 0 if rho < best_rho else idle + 1
            best_t, best_rho = _keep_best(w, t, rho, best_t, best_rho)
            stop = _verdict(signals, i, size, rho, best_rho, steps, rule)
            settled = _same(w.support, t, w.old, n_old) or rho >= former or idle >= PATIENCE
            if rho > signals.tol_sq[i] and settled:
                stop = STALL
        G = _finish(
            signals, dictionary, found, i, best_t, False, stop, steps, G, place, rule, positive, w
        )


@jit
def _iht(signals, dictionary, found, G, place, most, rule, positive, w):  # type: ignore[no-untyped-def]
    """Normalised iterative hard thresholding, with least squares where the support settles."""
    for i in range(signals.x.shape[0]):
        next_signal(signals, i, place, most)
        size, room = inner(signals.x[i], signals.x[i], signals.x.shape[1]), signals.room[i]
        tiny = 100 * EPS * size
        t, best_t, steps = ZERO, ZERO, ZERO
        rho = _measure(signals, dictionary, i, t, size, G, place, rule, w)
        best_rho, fit_rho = size, np.inf
        since = repeated = 0  # steps after least squares, and on the same support
        reach = 0.0  # longest step on the support
        fitted = True  # the gradient on the support is zero
        stop = _verdict(signals, i, size, rho, best_rho, steps, rule)
        while stop == GO_ON:
            steps += 1
            n_old = _set_aside(w, t)
            if repeated >= SETTLED or since >= WANDERING:
                # where further steps on this support would lead
                t, G = _fit(signals, dictionary, i, t, room, w.code, G, place, positive, w)
                fitted, repeated, since = True, 0, 0
            else:
                mu, t, G = _step_size(
                    signals, dictionary, i, t, fitted, G, place, rule, positive, w
                )
                if mu == 0.0:
                    stop = STALL
                    continue
                if fitted and n_old > 0:  # as far as steps on the support reached
                    mu = max(mu, reach)
                else:
                    reach = max(mu, reach) if repeated > 0 else mu
                t, shrunk, G = _gradient_step(
                    signals, dictionary, i, n_old, t, mu, G, place, rule, positive, w
                )
                if shrunk:
                    repeated = 0
                repeated = repeated + 1 if _same(w.support, t, w.old, n_old) else 0
                if fitted and repeated > 0:  # no support within reach is better
                    stop = STALL
                    continue
                fitted = False
                since += 1
            former = rho
            rho = _measure(signals, dictionary, i, t, size, G, place, rule, w)
            best_t, best_rho = _keep_best(w, t, rho, best_t, best_rho)
            stop = _verdict(signals, i, size, rho, best_rho, steps, rule)
            if rho <= signals.tol_sq[i]:
                continue
            if fitted:
                if fit_rho - rho <= rule.rtol * max(rho, tiny):
                    stop = STALL
                fit_rho = rho
            elif former - rho <= rule.rtol * max(rho, tiny):
                repeated = SETTLED  # to the limit at once
        G = _finish(
            signals, dictionary, found, i, best_t, True, stop, steps, G, place, rule, positive, w
        )


@jit
def _step_size(signals, dictionary, i, t, fitted, G, place, rule, positive, w):  # type: ignore[no-untyped-def]
    """Exact line search along the gradient on the support, or on the s steepest atoms if fitted.

    Returns the step size (0 at a stationary point), the number of atoms considered, and G; the
    atoms are in `candidates` as well.
    """
    if fitted:
        t = _select_support(w.c, rule.start, rule.s, False, positive, w)
    above = 0.0
    for s in range(t):
        w.candidates[s] = w.support[s]
        w.y[s] = w.c[w.support[s]]
        above += w.y[s] * w.y[s]
    below, G = _quadratic(signals, dictionary, i, w.support, w.y, t, G, place)
    size = inner(signals.x[i], signals.x[i], signals.x.shape[1])
    if above <= 100 * EPS * size * EPS or below <= 0.0:
        return 0.0, t, G
    return above / below, t, G


@jit
def _gradient_step(signals, dictionary, i, n_old, t_before, mu, G, place, rule, positive, w):  # type: ignore[no-untyped-def]
    """Take the step ``a <- H_s(a + mu c)``, with mu reduced until the residual falls for sure.

    Returns the size of the new support, whether mu was reduced, and G.
    """
    k = w.z.shape[0]
    for shrinking in range(62):
        for j in range(k):
            w.z[j] = w.code[j] + mu * w.c[j]
        t = _select_support(w.z, rule.start, rule.s, False, positive, w)
        if _same(w.support, t, w.old, n_old) or shrinking == 61:
            break
        if n_old == 0 and _same(w.support, t, w.candidates, t_before):
            break
        # a' - a lives on both supports
        u = ZERO
        for s in range(t):
            j = w.support[s]
            w.inside[j] = True
            w.keys[u] = j
            w.y[u] = w.z[j] - w.code[j]
            u += 1
        for s in range(n_old):
            j = w.old[s]
            if not w.inside[j]:
                w.keys[u] = j
                w.y[u] = -w.code[j]
                u += 1
        for s in range(t):
            w.inside[w.support[s]] = False
        change = inner(w.y, w.y, u)
        curved, G = _quadratic(signals, dictionary, i, w.keys, w.y, u, G, place)
        if curved <= 0.0 or mu <= 0.99 * change / curved:
            break
        mu /= 2 * 0.99
    for s in range(t):
        w.a[s] = w.z[w.support[s]]
    return t, shrinking > 0, G


@jit
def _quadratic(signals, dictionary, i, index, v, t, G, place):  # type: ignore[no-untyped-def]
    """Quadratic form ``v G v`` of a vector with t entries, and G."""
    total = 0.0
    for s in range(t):
        if place[index[s]] < 0:
            G = ask_row(index[s], dictionary.columns, signals.known[i], signals.scale[i], G, place)
        g = G[place[index[s]]]
        product = 0.0
        for q in range(t):
            product += g[index[q]] * v[q]
        total += v[s] * product
    return total, G


@jit
def _start(signals, dictionary, i, G, place, rule, positive, w):  # type: ignore[no-untyped-def]
    """Least squares on the atoms of the largest correlations, where the bound asks for any."""
    size = inner(signals.x[i], signals.x[i], signals.x.shape[1])
    if size <= signals.tol_sq[i]:
        return ZERO, G
    for j in range(w.c.shape[0]):
        w.code[j] = 0.0
        w.c[j] = signals.b[i, j]
    t = _select_support(w.c, rule.start, rule.s, True, positive, w)
    return _fit(signals, dictionary, i, t, signals.room[i], w.code, G, place, positive, w)


@jit
def _verdict(signals, i, size, rho, best_rho, steps, rule):  # type: ignore[no-untyped-def]
    """Reason to stop before the next step, or GO_ON."""
    if rho <= signals.tol_sq[i]:
        return TOL
    if best_rho <= 100 * EPS * size:
        return STALL
    return MAX_ITER if steps >= rule.max_iter else GO_ON


@jit
def _measure(signals, dictionary, i, t, size, G, place, rule, w):  # type: ignore[no-untyped-def]
    """Squared residual of the code; `code` and ``c = b - G a`` are brought up to date."""
    _spread(t, w.code, w)
    for j in range(w.c.shape[0]):
        w.c[j] = signals.b[i, j]
    for s in range(t):
        w.pivots[s] = place[w.support[s]]
    add_rows(w.c, -1.0, w.a, G, w.pivots, t)
    rho = size
    for s in range(t):
        rho -= w.a[s] * (signals.b[i, w.support[s]] + w.c[w.support[s]])
    if rho > 1e-6 * size and rho > signals.tol_sq[i]:
        return rho
    # differences of large numbers decide nothing
    return returned_residual_sq(signals, dictionary, i, w.support, w.a, t, rule.single, w.y, w.r)


@jit
def _keep_best(w, t, rho, best_t, best_rho):  # type: ignore[no-untyped-def]
    """Store the code if it is the best so far; returns its number of atoms and residual."""
    if not rho < best_rho:
        return best_t, best_rho
    for s in range(t):
        w.best_index[s] = w.support[s]
        w.best_a[s] = w.a[s]
    return t, rho


@jit
def _finish(  # type: ignore[no-untyped-def]
    signals, dictionary, found, i, t, refit, stop, steps, G, place, rule, positive, w
):
    """Write the best code, or with `refit` that of least squares on its support, if not worse."""
    index, value, bound = found.chosen[i], found.values[i], signals.tol_sq[i]
    size = inner(signals.x[i], signals.x[i], signals.x.shape[1])
    count = t
    for s in range(t):
        index[s] = w.best_index[s]
    rho = returned_residual_sq(signals, dictionary, i, index, w.best_a, t, rule.single, value, w.r)
    if refit and t > 0:
        for s in range(t):
            w.support[s] = index[s]
            w.z[index[s]] = w.best_a[s]
        u, G = _fit(signals, dictionary, i, t, signals.room[i], w.z, G, place, positive, w)
        refined = returned_residual_sq(
            signals, dictionary, i, w.support, w.a, u, rule.single, w.y, w.r
        )
        same_verdict = refined <= bound or rho > bound
        near = rho * (1 + 1e-9) + 100 * EPS * size
        if refined <= rho or (same_verdict and refined <= near):
            rho, count = refined, u
            for s in range(u):
                index[s] = w.support[s]
                value[s] = w.y[s]
    sort_pairs(index, value, count)
    found.counts[i] = count
    found.residual_sq[i] = rho
    found.stop[i] = TOL if rho <= bound else stop
    found.steps[i] = max(1, steps)
    return G


@jit
def _spread(t, code, w):  # type: ignore[no-untyped-def]
    """Write the coefficients of the support to a dense code."""
    for j in range(code.shape[0]):
        code[j] = 0.0
    for s in range(t):
        code[w.support[s]] = w.a[s]


@jit
def _set_aside(w, t):  # type: ignore[no-untyped-def]
    """Copy the support to `old`; returns its size."""
    for s in range(t):
        w.old[s] = w.support[s]
    return t


@jit
def _same(index, t, other, u):  # type: ignore[no-untyped-def]
    """Tell whether two supports are the same."""
    if t != u:
        return False
    for s in range(t):
        if index[s] != other[s]:
            return False
    return True


@jit
def _merge(n_old, grow, rule, positive, w):  # type: ignore[no-untyped-def]
    """Add the atoms of the `grow` best groups for the residual to `old`; returns how many."""
    t = _select_support(w.c, rule.start, grow, True, positive, w)
    for s in range(t):
        w.candidates[s] = w.support[s]
    for s in range(n_old):
        w.support[s] = w.old[s]
        w.inside[w.old[s]] = True
    u = n_old
    for s in range(t):
        if not w.inside[w.candidates[s]]:
            w.support[u] = w.candidates[s]
            u += 1
    for s in range(n_old):
        w.inside[w.old[s]] = False
    return u


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
def _select_support(z, start, s, whole, positive, w):  # type: ignore[no-untyped-def]
    """Write the atoms of the s largest groups of `z` to `support`; returns how many there are.

    Groups without any (positive) entry are never selected. With ``whole=True`` all atoms of a
    group are written, otherwise, if `positive`, those with positive entries.
    """
    n_groups = start.shape[0] - 1
    low = low_bits(n_groups)
    score = w.y
    bits = score.view(np.int64)
    for g in range(n_groups):
        total = 0.0
        for j in range(start[g], start[g + 1]):
            if positive is None or z[j] > 0.0:
                total += z[j] * z[j]
        score[g] = total
        # magnitudes of doubles are ordered as their bits are; the index makes all different
        w.keys[g] = (bits[g] & MAGNITUDE & ~low) | (n_groups - 1 - g)
    least = _least_of_largest(w.keys, n_groups, min(s, n_groups), w.pivots)
    t = ZERO
    for g in range(n_groups):
        if w.keys[g] >= least and score[g] > 0.0:
            for j in range(start[g], start[g + 1]):
                if whole or positive is None or z[j] > 0.0:
                    w.support[t] = j
                    t += 1
    return t


@jit
def _fit(signals, dictionary, i, t, limit, first, G, place, positive, w):  # type: ignore[no-untyped-def]
    """Least squares on ``support[:t]``: coefficients in `a`, returns how many atoms remain, and G.

    Atoms in the span of earlier ones are left out, and all beyond `limit`. With `positive`,
    non-negative least squares from the feasible values ``first[support[:t]]``.
    """
    b = signals.b[i]
    for s in range(t):
        if place[w.support[s]] < 0:
            j = w.support[s]
            G = ask_row(j, dictionary.columns, signals.known[i], signals.scale[i], G, place)
    if positive is None:
        u = ZERO
        for s in range(t):
            j = w.support[s]
            if u < limit and append_atom(w.L, u, G[place[j]], w.support, j) > 0.0:
                w.support[u] = j
                u += 1
        solve_chosen(w.L, w.support, u, b, w.a)
    else:
        floor = 1e-12 * np.sqrt(inner(signals.x[i], signals.x[i], signals.x.shape[1]))
        u = _fit_positive(G, place, b, t, limit, first, floor, w)
    return u, G


@jit
def _fit_positive(G, place, b, n_candidates, limit, first, floor, w):  # type: ignore[no-untyped-def]
    """Non-negative least squares on ``support[:n_candidates]``: returns the size of its support.

    Lawson and Hanson's algorithm, where all atoms of positive slope enter at once. That lowers the
    residual: with S the Schur complement of the atoms inside and c the slopes, ``c S^-1 c > 0``,
    so that not all who enter are turned away. An atom that depends on those inside has slope zero
    when its turn comes, and is not given up before.
    """
    index, a, L = w.support, w.a, w.L
    for s in range(n_candidates):
        w.candidates[s] = index[s]
    t = ZERO
    for s in range(n_candidates):
        j = w.candidates[s]
        if first[j] > 0.0 and t < limit and append_atom(L, t, G[place[j]], index, j) > 0.0:
            index[t] = j
            a[t] = first[j]
            t += 1
    t = nonnegative_on_support(L, index, t, b, a, w.y)
    value = 0.0
    for s in range(t):
        value += a[s] * b[index[s]]
    for _ in range(3 * n_candidates + 10):
        for s in range(t):
            w.inside[index[s]] = True
        entered = t
        for s in range(n_candidates):
            j = w.candidates[s]
            if w.inside[j] or entered >= limit:
                continue
            slope, g = b[j], G[place[j]]
            for q in range(t):
                slope -= g[index[q]] * a[q]
            if slope > floor and append_atom(L, entered, g, index, j) > 0.0:
                index[entered] = j
                a[entered] = 0.0
                entered += 1
        for s in range(t):
            w.inside[index[s]] = False
        if entered == t:
            break
        t = nonnegative_on_support(L, index, entered, b, a, w.y)
        former, value = value, 0.0
        for s in range(t):
            value += a[s] * b[index[s]]
        if value <= former * (1 + 1e-14):  # rounding
            break
    sort_pairs(index, a, t)
    return t
