"""Greedy pursuit that takes whole groups of atoms, on an orthonormal basis per signal."""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.codes.cholesky import (
    SPAN,
    append,
    solve,
    solve_upper,
)
from skmoderndata._solvers.codes.gram_rows import (
    Dictionary,
    Found,
    Signals,
    code_by_rows,
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
    STALL,
    TOL,
    Atoms,
    SparseCodes,
)

Array = np.ndarray[Any, np.dtype[Any]]


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
def _group_bases(dictionary, order, known, scale, bases):
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
def _least_norm(C, r, y, a):
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
def _group_code(bases, chosen, n_chosen, y, least, index, a):
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
def _group_scores(alpha, bases, taken, score):
    """Squared norm of the correlations with the basis of each group, 0 for those taken."""
    start, rank = bases.start, bases.rank
    for g in range(rank.shape[0]):
        total = 0.0
        if not taken[g]:
            for q in range(start[g], start[g] + rank[g]):
                total += alpha[q] * alpha[q]
        score[g] = total


@jit_leaf
def _append_group(bases, g, x, L, b, inside, t):
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
def _group_omp(signals, dictionary, found, order, start, n_nonzero, single):
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
