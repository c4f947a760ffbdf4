"""Greedy sparse coding of many signals with one dictionary.

Signals `x` and atoms `d_j` are rows; a code `a` stands for the signal ``a D = sum_j a_j d_j``.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.codes.cholesky import (
    SPAN,
    append,
    append_atom,
    drop,
    solve,
    solve_chosen,
    solve_upper,
)
from skmoderndata._solvers.codes.gram_rows import (
    Dictionary,
    Found,
    Signals,
    ask_row,
    code_by_rows,
    next_signal,
    returned_residual_sq,
)
from skmoderndata._solvers.codes.products import (
    EPS,
    ZERO,
    add_rows,
    inner,
    largest_entry,
    low_bits,
    sort_pairs,
)
from skmoderndata._solvers.codes.signal_blocks import (
    ATOMS,
    MAX_ITER,
    RANK,
    STALL,
    TOL,
    Atoms,
    SparseCodes,
)

Array = np.ndarray[Any, np.dtype[Any]]


def orthogonal_matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    optimised: bool = False,
    mask: Array | None = None,
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Choose atoms one by one, and fit the signal by all chosen ones after each choice.

    Atom i with the largest ``|d_i^T r|`` enters, `r` being the residual of the least squares fit
    by the atoms chosen so far; ``optimised=True`` (optimised, or order-recursive, matching
    pursuit) takes instead the atom after which the residual is smallest. A signal is done when
    ``|r|^2 <= tol_sq``, or with `n_nonzero` atoms, or when nothing is left that could be fitted.

    With `q_t` the Gram-Schmidt vectors of the chosen atoms, ``u_t = D q_t`` and ``h_t = q_t x``
    follow from the Gram matrix: a progressive Cholesky factorisation in which each step costs one
    row of the Gram matrix and t rows of U [Rubinstein, Zibulevsky, Elad 2008].

    Parameters
    ----------
    X : array of shape (N, n)
        Finite numbers; entries that the mask hides are ignored.
    atoms : Atoms
        Of unit norm. Without `gram`, or with a mask, its rows are computed for chosen atoms.
    n_nonzero : int
        Most atoms in a code.
    tol_sq : array of shape (N,)
        Bound for ``|r|^2``, never exceeded by a code that ends with reason "tol"; -1 for none. It
        is the residual of the code as it is returned that counts, computed from the signal.
    mask : boolean array of shape (N, n) or None
        True where an entry counts.
    single : bool
        The codes will be rounded to single precision: the bound holds for the rounded code.
    """
    cap = max(1, min(n_nonzero, X.shape[1], len(atoms.rows)))

    rough = single and mask is None and X.dtype == np.float32
    eps = 2.0**-23 if rough else EPS

    def kernel(*given: Any) -> None:
        _omp(*given, n_nonzero, optimised, single, eps)

    return code_by_rows(X, atoms, mask, kernel, cap=cap, tol_sq=tol_sq, n_jobs=n_jobs, rough=rough)


def matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    positive: bool = False,
    max_iter: int | None = None,
    mask: Array | None = None,
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Subtract from the residual its projection on the most correlated atom, again and again.

    An atom may be chosen several times; `n_nonzero` bounds the number of different ones and
    `max_iter` (None: ten times as many) the number of steps. With ``positive=True`` no step makes
    a coefficient negative. Parameters as in `orthogonal_matching_pursuit`.
    """
    limit = 10 * n_nonzero if max_iter is None else max_iter
    cap = max(1, min(n_nonzero, len(atoms.rows)))

    def kernel(*given: Any) -> None:
        _mp(*given, limit, positive, single)

    return code_by_rows(X, atoms, mask, kernel, cap=cap, tol_sq=tol_sq, n_jobs=n_jobs)


def nonnegative_matching_pursuit(
    X: Array,
    atoms: Atoms,
    *,
    n_nonzero: int,
    tol_sq: Array,
    mask: Array | None = None,
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Orthogonal matching pursuit with coefficients of at least zero.

    The atom with the largest positive ``d_i^T r`` enters, and the signal is fitted by non-negative
    least squares on the chosen atoms; an atom whose coefficient reaches zero leaves, and may
    return. At most ``3 * n_nonzero`` steps. Parameters as in `orthogonal_matching_pursuit`.
    """
    cap = max(1, min(n_nonzero, X.shape[1], len(atoms.rows)))

    def kernel(*given: Any) -> None:
        _nonnegative_omp(*given, n_nonzero, single)

    return code_by_rows(X, atoms, mask, kernel, cap=cap, tol_sq=tol_sq, n_jobs=n_jobs)


@jit
def _omp(  # type: ignore[no-untyped-def]
    signals, dictionary, found, G, place, most, n_nonzero, optimised, single, eps
):
    """Pursuit by a progressive Cholesky factorisation; `eps` is the accuracy of `signals.b`."""
    m, k = signals.b.shape
    n = signals.x.shape[1]
    cap = found.chosen.shape[1]
    low = low_bits(k)
    U, L = np.empty((cap, k)), np.empty((cap, cap))
    h, a, r = np.empty(cap), np.empty(cap), np.empty(n)
    alpha, score = np.empty(k), np.empty(k)
    left = np.empty(k)  # squared norms of the atoms outside of the span of the chosen ones
    alpha_bits, score_bits = alpha.view(np.int64), score.view(np.int64)
    banned = np.empty(k, np.int64)
    for i in range(m):
        next_signal(signals, i, place, most)
        room = min(cap, signals.room[i])
        known, scale, b = signals.known[i], signals.scale[i], signals.b[i]
        index, value, bound = found.chosen[i], found.values[i], signals.tol_sq[i]
        size = inner(signals.x[i], signals.x[i], n)
        rho, floor = size, 10 * eps * np.sqrt(size)
        t, n_banned, steps = ZERO, 0, 0
        best_t, best_rho = ZERO, np.inf
        for j in range(k):
            alpha[j] = b[j]
            left[j] = 1.0
        while True:
            if rho <= bound:
                stop = TOL
                break
            if t >= n_nonzero or t >= room:
                stop = ATOMS if t >= n_nonzero else RANK
                break
            if optimised:
                for j in range(k):
                    score[j] = alpha[j] * alpha[j] / left[j] if left[j] > SPAN else 0.0
                new = largest_entry(score_bits, k, low)
                gain = np.sqrt(score[new])
            else:
                new = largest_entry(alpha_bits, k, low)
                gain = abs(alpha[new])
            if gain <= floor:
                stop = RANK if n_banned > 0 else STALL
                break
            steps += 1
            if place[new] < 0:
                G = ask_row(new, dictionary.columns, known, scale, G, place)
            g, u = G[place[new]], U[t]
            pivot = g[new]
            for s in range(t):
                L[t, s] = U[s, new]
                pivot -= U[s, new] * U[s, new]
            if pivot <= SPAN:
                alpha[new] = 0.0
                left[new] = 0.0
                banned[n_banned] = new
                n_banned += 1
                continue
            # u_t = (g - L[t, :t] U) / L[t, t], and what the new Gram-Schmidt vector explains
            d = np.sqrt(pivot)
            L[t, t] = d
            for j in range(k):
                u[j] = g[j]
            # four rows at a time in place: with 20 atoms, 1.4 times as fast as one at a time, and
            # as a call of `add_rows`, to which LLVM hands each array as seven arguments
            s = ZERO
            while s + 4 <= t:
                c0, c1, c2, c3 = L[t, s], L[t, s + 1], L[t, s + 2], L[t, s + 3]
                u0, u1, u2, u3 = U[s], U[s + 1], U[s + 2], U[s + 3]
                for j in range(k):
                    u[j] -= (c0 * u0[j] + c1 * u1[j]) + (c2 * u2[j] + c3 * u3[j])
                s += 4
            while s < t:
                c0, u0 = L[t, s], U[s]
                for j in range(k):
                    u[j] -= c0 * u0[j]
                s += 1
            step, inverse = alpha[new] / d, 1.0 / d
            for j in range(k):
                u[j] *= inverse
                alpha[j] -= step * u[j]
            if optimised:
                for j in range(k):
                    left[j] -= u[j] * u[j]
                left[new] = 0.0
            h[t] = step
            index[t] = new
            t += 1
            # exact zeros where theory has them
            for s in range(t):
                alpha[index[s]] = 0.0
            for s in range(n_banned):
                alpha[banned[s]] = 0.0
            for s in range(t - 1):
                u[index[s]] = 0.0
            rho = max(0.0, rho - step * step)
            if rho <= bound:  # the recursion is exact to rounding of |x|^2 only
                rho = _fit_residual_sq(signals, dictionary, i, L, h, index, t, a, single, value, r)
                if rho < best_rho:
                    best_t, best_rho = t, rho
        if bound < 0.0 and eps == EPS and rho > 1e-6 * size:  # no decision depends on more digits
            for s in range(t):
                a[s] = h[s]
            solve_upper(L, t, a)
            for s in range(t):
                value[s] = a[s] * scale[index[s]]
        elif stop != TOL:
            rho = _fit_residual_sq(signals, dictionary, i, L, h, index, t, a, single, value, r)
            if best_rho < rho:  # rounding made it worse after
                t = best_t
                rho = _fit_residual_sq(signals, dictionary, i, L, h, index, t, a, single, value, r)
            if rho <= bound:
                stop = TOL
        sort_pairs(index, value, t)
        found.counts[i] = t
        found.residual_sq[i] = rho
        found.stop[i] = stop
        found.steps[i] = steps


@jit_leaf
def _fit_residual_sq(  # type: ignore[no-untyped-def]
    signals, dictionary, i, L, h, index, t, a, single, value, r
):
    """Code ``L^T a = h`` of the first t atoms, and the squared residual of what is returned."""
    for s in range(t):
        a[s] = h[s]
    solve_upper(L, t, a)
    return returned_residual_sq(signals, dictionary, i, index, a, t, single, value, r)


@jit
def _mp(  # type: ignore[no-untyped-def]
    signals, dictionary, found, G, place, most, max_iter, positive, single
):
    """Run matching pursuit: each step takes a row of the Gram matrix from the correlations."""
    m, k = signals.b.shape
    n = signals.x.shape[1]
    cap = found.chosen.shape[1]
    low = low_bits(k)
    r, a = np.empty(n), np.empty(cap)
    alpha, score = np.empty(k), np.empty(k)
    code, taken = np.zeros(k), np.zeros(k, np.bool_)
    score_bits = score.view(np.int64)
    for i in range(m):
        next_signal(signals, i, place, most)
        index, value, bound = found.chosen[i], found.values[i], signals.tol_sq[i]
        size = inner(signals.x[i], signals.x[i], n)
        rho, floor = size, 10 * EPS * np.sqrt(size)
        t, steps = ZERO, 0
        for j in range(k):
            alpha[j] = signals.b[i, j]
        while True:
            if rho <= bound:
                stop = TOL
                break
            for j in range(k):
                # a step may take back what was given, and no more
                score[j] = max(alpha[j], min(-alpha[j], code[j])) if positive else alpha[j]
            new = largest_entry(score_bits, k, low)
            if abs(score[new]) <= floor:
                stop = STALL
                break
            if steps >= max_iter:
                stop = MAX_ITER
                break
            if not taken[new]:
                if t >= cap:
                    stop = ATOMS
                    break
                taken[new] = True
                index[t] = new
                t += 1
            steps += 1
            step = max(alpha[new], -code[new]) if positive else alpha[new]
            code[new] += step
            G = ask_row(new, dictionary.columns, signals.known[i], signals.scale[i], G, place)
            g = G[place[new]]
            rho = max(0.0, rho - step * (2 * alpha[new] - step * g[new]))
            for j in range(k):
                alpha[j] -= step * g[j]
            if rho <= bound or rho < 1e-6 * size:
                for s in range(t):
                    a[s] = code[index[s]]
                rho = returned_residual_sq(signals, dictionary, i, index, a, t, single, value, r)
        count = ZERO
        for s in range(t):
            j = index[s]
            if code[j] != 0.0:
                index[count] = j
                a[count] = code[j]
                count += 1
            code[j] = 0.0
            taken[j] = False
        rho = returned_residual_sq(signals, dictionary, i, index, a, count, single, value, r)
        sort_pairs(index, value, count)
        found.counts[i] = count
        found.residual_sq[i] = rho
        found.stop[i] = TOL if rho <= bound else stop
        found.steps[i] = steps


@jit_leaf
def nonnegative_on_support(L, index, t, b, a, z):  # type: ignore[no-untyped-def]
    """Go on with non-negative least squares on ``index[:t]`` from the feasible `a`.

    `L` is the Cholesky factor of the chosen atoms, and is kept up to date. Atoms that reach zero
    are dropped; returns how many remain (Lawson and Hanson's inner loop).
    """
    while t > 0:
        solve_chosen(L, index, t, b, z)
        step, lowest = 1.0, 0
        for s in range(t):
            if z[s] < z[lowest]:
                lowest = s
            if z[s] <= 0.0:
                step = min(step, a[s] / (a[s] - z[s]) if a[s] > 0.0 else 0.0)
        if z[lowest] > 0.0:
            for s in range(t):
                a[s] = z[s]
            return t
        before = t
        for s in range(before - 1, -1, -1):
            new = a[s] + step * (z[s] - a[s])
            if z[s] <= 0.0 and new <= 1e-14 * a[s]:
                t = _drop_atom(L, index, t, a, s)
            else:
                a[s] = new
        if t == before:  # rounding
            t = _drop_atom(L, index, t, a, lowest)
    return t


@jit_leaf
def _drop_atom(L, index, t, a, position):  # type: ignore[no-untyped-def]
    """Remove one of t chosen atoms; returns how many remain."""
    drop(L, t, position)
    for s in range(position, t - 1):
        a[s] = a[s + 1]
        index[s] = index[s + 1]
    return t - 1


@jit
def _nonnegative_omp(  # type: ignore[no-untyped-def]
    signals, dictionary, found, G, place, most, n_nonzero, single
):
    """Pursuit with non-negative least squares on the chosen atoms."""
    m, k = signals.b.shape
    n = signals.x.shape[1]
    cap = found.chosen.shape[1]
    low = low_bits(k)
    L = np.empty((cap, cap))
    a, z, r, at = np.empty(cap), np.empty(cap), np.empty(n), np.empty(cap, np.int64)
    alpha, banned = np.empty(k), np.zeros(k, np.bool_)
    bits = alpha.view(np.int64)
    for i in range(m):
        next_signal(signals, i, place, most)
        room = min(cap, signals.room[i])
        known, scale, b = signals.known[i], signals.scale[i], signals.b[i]
        index, value, bound = found.chosen[i], found.values[i], signals.tol_sq[i]
        size = inner(signals.x[i], signals.x[i], n)
        rho, floor = size, 10 * EPS * np.sqrt(size)
        t, steps, n_banned = ZERO, 0, 0
        while True:
            if rho <= bound:
                stop = TOL
                break
            if t >= n_nonzero or t >= room:
                stop = ATOMS if t >= n_nonzero else RANK
                break
            if steps >= 3 * n_nonzero:
                stop = MAX_ITER
                break
            for j in range(k):
                alpha[j] = b[j]
            for s in range(t):
                at[s] = place[index[s]]
            add_rows(alpha, -1.0, a, G, at, t)
            for j in range(k):
                alpha[j] = 0.0 if banned[j] else max(alpha[j], 0.0)
            for s in range(t):
                alpha[index[s]] = 0.0
            new = largest_entry(bits, k, low)
            if alpha[new] <= floor:
                stop = RANK if n_banned > 0 else STALL
                break
            steps += 1
            G = ask_row(new, dictionary.columns, known, scale, G, place)
            entered = append_atom(L, t, G[place[new]], index, new) > 0.0
            if entered:
                index[t] = new
                a[t] = 0.0
                solve_chosen(L, index, t + 1, b, z)
                entered = z[t] > 0.0  # always, but for rounding
            if not entered:
                banned[new] = True
                n_banned += 1
                continue
            before = t
            t = nonnegative_on_support(L, index, t + 1, b, a, z)
            if t <= before and n_banned > 0:  # what was dependent may not be any more
                for j in range(k):
                    banned[j] = False
                n_banned = 0
            rho = returned_residual_sq(signals, dictionary, i, index, a, t, single, value, r)
        for j in range(k):
            banned[j] = False
        if t == 0:
            rho = size
        sort_pairs(index, value, t)
        found.counts[i] = t
        found.residual_sq[i] = rho
        found.stop[i] = stop
        found.steps[i] = steps


def group_matching_pursuit(
    X: Array,
    atoms: Atoms,
    groups: Array,
    *,
    n_nonzero: int,
    tol_sq: Array,
    mask: Array | None = None,
    single: bool = False,
    n_jobs: int | None = None,
) -> SparseCodes:
    """Orthogonal matching pursuit that takes whole groups of atoms.

    The group whose span holds the largest part of the residual enters, ``|Q_g r|`` with `Q_g` an
    orthonormal basis of the group; `n_nonzero` counts groups. `groups` (k,) holds the number of
    the group of each atom, 0, 1, ... Among the codes of a group for the same signal, that of least
    norm is returned. Other parameters as in `orthogonal_matching_pursuit`.
    """
    order = np.argsort(groups, kind="stable")
    start = np.searchsorted(groups[order], np.arange(int(groups.max()) + 2))
    cap = max(1, min(n_nonzero * int(np.diff(start).max()), len(order)))

    def kernel(signals: Signals, dictionary: Dictionary, found: Found, *_: Any) -> None:
        _group_omp(signals, dictionary, found, order, start, n_nonzero, single)

    return code_by_rows(
        X, atoms._replace(gram=None), mask, kernel, cap=cap, tol_sq=tol_sq, n_jobs=n_jobs,
        renormalize=False,
    )  # fmt: skip


class GroupBases(NamedTuple):
    """Orthonormal bases of the spans of groups of masked atoms.

    The atoms ``members[start[g]:start[g + 1]]`` of group g are ``C Q_g``: the first ``rank[g]``,
    for which `C` is lower triangular, are independent. `Q_g` stands in the same places of `rows`
    (k, n) and of its transpose `columns`, `C` in those of `coef`. `atom` (n,) and `part` are
    scratch.
    """

    members: Array
    start: Array
    rank: Array
    rows: Array
    columns: Array
    coef: Array
    atom: Array
    part: Array


@jit_leaf
def _group_bases(dictionary, order, known, scale, bases):  # type: ignore[no-untyped-def]
    """Fill in `bases` by Gram-Schmidt on the masked atoms, twice where much of one cancels."""
    k, n = dictionary.rows.shape
    rows, coef, v = bases.rows, bases.coef, bases.atom
    for j in range(k):
        for s in range(coef.shape[1]):
            coef[j, s] = 0.0
    for g in range(bases.rank.shape[0]):
        first, last = bases.start[g], bases.start[g + 1]
        r = ZERO
        for position in range(first, last):
            j = order[position]
            d, usable = dictionary.rows[j], 1.0 if scale[j] > 0.0 else 0.0
            for p in range(n):
                v[p] = d[p] * known[p] * usable
            whole = inner(v, v, n)
            # dependent atoms fill the group from its end
            at = last - 1 - (position - first - r)
            for turn in range(2):
                before = pivot = inner(v, v, n) if turn == 1 else whole
                for s in range(r):
                    q = rows[first + s]
                    product = inner(q, v, n)
                    coef[at, s] += product
                    pivot -= product * product
                    for p in range(n):
                        v[p] -= product * q[p]
                if pivot > 0.25 * before:
                    break
            if pivot > SPAN * whole:
                for s in range(r):
                    product = coef[at, s]
                    coef[at, s] = 0.0
                    coef[first + r, s] = product
                at = first + r
                coef[at, r] = np.sqrt(pivot)
                inverse, q = 1.0 / coef[at, r], rows[at]
                for p in range(n):
                    q[p] = v[p] * inverse
                r += 1
            bases.members[at] = j
        bases.rank[g] = r
        for q in range(first + r, last):
            for p in range(n):
                rows[q, p] = 0.0
    for p in range(n):
        column = bases.columns[p]
        for j in range(k):
            column[j] = rows[j, p]


@jit
def _least_norm(C, r, y, a):  # type: ignore[no-untyped-def]
    """Code of least norm with ``a C[:, :r] = y``: ``a = C (C^T C)^-1 y``, refined twice."""
    w = C.shape[0]
    L, column, rest = np.zeros((r, r)), np.empty(w), np.empty(r)
    for t in range(r):
        for s in range(t + 1):
            column[s] = inner(C[:, s], C[:, t], w)
        append(L, t, column, column[t])
    for p in range(w):
        a[p] = 0.0
    for _ in range(3):
        for s in range(r):
            rest[s] = y[s] - inner(a, C[:, s], w)
        solve(L, r, rest)
        for p in range(w):
            a[p] += inner(C[p], rest, r)


@jit
def _group_code(bases, chosen, n_chosen, y, least, index, a):  # type: ignore[no-untyped-def]
    """Pairs of atoms and coefficients from those of the bases, `y`; returns how many there are."""
    count = ZERO
    part = bases.part
    for c in range(n_chosen):
        g = chosen[c]
        first, last, r = bases.start[g], bases.start[g + 1], bases.rank[g]
        C = bases.coef[first:last]
        if least and r < last - first:
            _least_norm(C, r, y[first:last], part)
        else:
            for p in range(last - first):
                part[p] = y[first + p] if p < r else 0.0
            solve_upper(C, r, part)
        for p in range(last - first):
            if part[p] != 0.0:
                index[count] = bases.members[first + p]
                a[count] = part[p]
                count += 1
    return count


@jit_leaf
def _group_scores(alpha, bases, taken, score):  # type: ignore[no-untyped-def]
    """Squared norm of the correlations with the basis of each group, 0 for those taken."""
    start, rank = bases.start, bases.rank
    for g in range(rank.shape[0]):
        total = 0.0
        if not taken[g]:
            for q in range(start[g], start[g] + rank[g]):
                total += alpha[q] * alpha[q]
        score[g] = total


@jit_leaf
def _append_group(bases, g, x, L, b, inside, t):  # type: ignore[no-untyped-def]
    """Add the basis of group g to the vectors ``inside[:t]``; returns how many there are.

    `L` is the Cholesky factor of their inner products, `b` holds those with the signal.
    """
    rows, n = bases.rows, x.shape[0]
    for q in range(bases.start[g], bases.start[g] + bases.rank[g]):
        if t >= L.shape[0]:
            break
        for s in range(t):
            L[t, s] = inner(rows[q], rows[inside[s]], n)
        if append(L, t, L[t], 1.0) > 0.0:
            b[t] = inner(rows[q], x, n)
            inside[t] = q
            t += 1
    return t


@jit
def _group_omp(signals, dictionary, found, order, start, n_nonzero, single):  # type: ignore[no-untyped-def]
    """Pursuit on the orthonormal bases of groups of masked atoms, one signal after the other."""
    m = signals.x.shape[0]
    k, n = dictionary.rows.shape
    n_groups = start.shape[0] - 1
    widest = 1
    for g in range(n_groups):
        widest = max(widest, start[g + 1] - start[g])
    bases = GroupBases(
        np.empty(k, np.int64), start, np.zeros(n_groups, np.int64), np.empty((k, n)),
        np.empty((n, k)), np.empty((k, widest)), np.empty(n), np.empty(widest),
    )  # fmt: skip
    rows, columns, v = bases.rows, bases.columns, bases.atom
    low = low_bits(n_groups)
    cap = min(k, n)
    L, z, b, inside = np.empty((cap, cap)), np.empty(cap), np.empty(cap), np.empty(cap, np.int64)
    alpha, y, a, r = np.empty(k), np.zeros(k), np.empty(k), np.empty(n)
    score, taken = np.empty(n_groups), np.zeros(n_groups, np.bool_)
    bits, chosen, every = score.view(np.int64), np.empty(n_groups, np.int64), np.arange(n)
    for i in range(m):
        x = signals.x[i]
        if i == 0 or signals.fresh[i]:
            _group_bases(dictionary, order, signals.known[i], signals.scale[i], bases)
        index, value, bound = found.chosen[i], found.values[i], signals.tol_sq[i]
        size = inner(x, x, n)
        rho, floor = size, 10 * EPS * np.sqrt(size)
        t, steps, count, short = ZERO, ZERO, ZERO, False
        for p in range(n):
            r[p] = x[p]
        while True:
            if rho <= bound or steps >= n_nonzero:
                stop = TOL if rho <= bound else ATOMS
                break
            for j in range(k):
                alpha[j] = 0.0
            add_rows(alpha, 1.0, r, columns, every, n)
            _group_scores(alpha, bases, taken, score)
            new = largest_entry(bits, n_groups, low)
            if score[new] <= floor * floor:
                stop = STALL
                break
            taken[new] = True
            chosen[steps] = new
            steps += 1
            short = short or bases.rank[new] < start[new + 1] - start[new]
            t = _append_group(bases, new, x, L, b, inside, t)
            for s in range(t):
                z[s] = b[s]
            solve(L, t, z)
            for p in range(n):
                r[p] = x[p]
            add_rows(r, -1.0, z, rows, inside, t)
            for s in range(t):
                y[inside[s]] = z[s]
            rho = inner(r, r, n)
            if rho <= bound * (1 + 1e-6):  # what is returned decides
                count = _group_code(bases, chosen, steps, y, False, index, a)
                rho = returned_residual_sq(
                    signals, dictionary, i, index, a, count, single, value, v
                )
        if stop != TOL:
            count = _group_code(bases, chosen, steps, y, False, index, a)
            rho = returned_residual_sq(signals, dictionary, i, index, a, count, single, value, v)
            if rho <= bound:
                stop = TOL
        if short:  # another code for the same signal, as far as rounding allows
            enough = bound if stop == TOL else rho * (1 + 1e-9) + 1e-24 * size
            for least in (True, False):
                count = _group_code(bases, chosen, steps, y, least, index, a)
                rho = returned_residual_sq(
                    signals, dictionary, i, index, a, count, single, value, v
                )
                if rho <= enough:
                    break
        for s in range(steps):
            taken[chosen[s]] = False
            for q in range(start[chosen[s]], start[chosen[s] + 1]):
                y[q] = 0.0
        sort_pairs(index, value, count)
        found.counts[i] = count
        found.residual_sq[i] = rho
        found.stop[i] = stop
        found.steps[i] = steps
