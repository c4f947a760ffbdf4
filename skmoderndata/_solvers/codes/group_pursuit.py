"""Orthogonal matching pursuit that takes whole groups of atoms."""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.codes.cholesky import (
    SPAN,
    append,
    append_atom,
    solve_chosen,
    solve_lower,
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
    STALL,
    TOL,
    Atoms,
    SparseCodes,
    from_group_order,
    in_group_order,
)

Array = np.ndarray[Any, np.dtype[Any]]


def group_matching_pursuit(
    X: Array, atoms: Atoms, groups: Array, *, n_nonzero: int, tol_sq: Array, **options: Any
) -> SparseCodes:
    """Orthogonal matching pursuit that takes whole groups of atoms.

    The group g whose span holds the largest part of the residual enters: the largest
    ``|Q_g r|^2 = c_g G_g^-1 c_g``, with `Q_g` an orthonormal basis of the group, `G_g` the inner
    products of its atoms and `c_g` their correlations with r. `n_nonzero` counts groups. `groups`
    (k,) holds the number of the group of each atom, 0, 1, ... Among the codes of a group for the
    same signal, that of least norm is returned. Other parameters and options as in
    `orthogonal_matching_pursuit`.
    """
    atoms, order, start = in_group_order(atoms, groups)
    cap = max(1, min(n_nonzero * int(np.diff(start).max()), len(order)))

    def kernel(signals: Signals, dictionary: Dictionary, found: Found, *given: Any) -> None:
        _group_omp(signals, dictionary, found, *given, start, n_nonzero)
        _take_least_norms(signals, dictionary, found, start)

    codes = code_by_rows(X, atoms, kernel, cap=cap, tol_sq=tol_sq, **options)
    return from_group_order(codes, order)


class GroupFactors(NamedTuple):
    """Cholesky factors of the inner products within groups, of masked atoms of unit norm.

    Those of group g are in the rows ``start[g]:start[g] + rank[g]`` of `L`, and belong to the
    independent atoms in the same places of `members`.
    """

    start: Array
    rank: Array
    members: Array
    L: Array


@jit
def _group_omp(signals, dictionary, found, G, place, most, start, n_nonzero):
    """Pursuit by a Cholesky factor of all chosen atoms, one signal after the other."""
    m, k = signals.b.shape
    n, n_groups, widest = signals.x.shape[1], start.shape[0] - 1, 1
    for g in range(n_groups):
        widest = max(widest, start[g + 1] - start[g])
    factors = GroupFactors(
        start, np.zeros(n_groups, np.int64), np.empty(k, np.int64), np.empty((k, widest))
    )
    low, cap = low_bits(n_groups), min(k, n, found.chosen.shape[1])
    L, a, at = np.empty((cap, cap)), np.empty(cap), np.empty(cap, np.int64)
    c, r, z = np.empty(k), np.empty(n), np.empty(widest)
    score, taken = np.empty(n_groups), np.zeros(n_groups, np.bool_)
    bits = score.view(np.int64)
    for i in range(m):
        next_signal(signals, i, place, most)
        known, scale, b = signals.known[i], signals.scale[i], signals.b[i]
        if i == 0 or signals.fresh[i]:
            _factor_groups(dictionary, known, scale, factors, r)
        index, value, bound = found.chosen[i], found.values[i], signals.tol_sq[i]
        rho = inner(signals.x[i], signals.x[i], n)
        floor, t, steps = 10 * EPS * np.sqrt(rho), ZERO, ZERO
        for j in range(k):
            c[j] = b[j]
        for g in range(n_groups):
            taken[g] = False
        while True:
            if rho <= bound or steps >= n_nonzero:
                stop = TOL if rho <= bound else ATOMS
                break
            _group_scores(c, factors, taken, z, score)
            new = largest_entry(bits, n_groups, low)
            if score[new] <= floor * floor:
                stop = STALL
                break
            taken[new] = True
            steps += 1
            for q in range(start[new], start[new] + factors.rank[new]):
                j = factors.members[q]
                G = ask_row(j, dictionary.columns, known, scale, G, place)
                if append_atom(L, t, G[place[j]], index, j) > 0.0:
                    index[t], at[t] = j, place[j]
                    t += 1
            solve_chosen(L, index, t, b, a)
            for j in range(k):
                c[j] = b[j]
            add_rows(c, -1.0, a, G, at, t)
            if bound >= 0.0:
                rho = returned_residual_sq(signals, dictionary, i, index, a, t, value, r)
        if bound < 0.0:
            rho = returned_residual_sq(signals, dictionary, i, index, a, t, value, r)
        sort_pairs(index, value, t)
        found.counts[i] = t
        found.residual_sq[i] = rho
        found.stop[i] = stop
        found.steps[i] = steps


@jit_leaf
def _factor_groups(dictionary, known, scale, factors, r):
    """Fill in `factors` for one mask; `r` is scratch."""
    rows, start, members, L = dictionary.rows, factors.start, factors.members, factors.L
    n = r.shape[0]
    for g in range(factors.rank.shape[0]):
        first, t = start[g], ZERO
        for j in range(first, start[g + 1]):
            for p in range(n):
                r[p] = rows[j, p] * known[p] * scale[j]
            column = L[first + t]
            for s in range(t):
                i = members[first + s]
                column[s] = scale[i] * inner(rows[i], r, n)
            if append(L[first : start[g + 1]], t, column, inner(r, r, n)) > 0.0:
                members[first + t] = j
                t += 1
        factors.rank[g] = t


@jit_leaf
def _group_scores(c, factors, taken, z, score):
    """Squared norm of the projection of the residual on each group, 0 for those taken."""
    start, rank = factors.start, factors.rank
    for g in range(rank.shape[0]):
        score[g] = 0.0
        if not taken[g]:
            for s in range(rank[g]):
                z[s] = c[factors.members[start[g] + s]]
            solve_lower(factors.L[start[g] :], rank[g], z)
            score[g] = inner(z, z, rank[g])


def _take_least_norms(
    signals: Signals, dictionary: Dictionary, found: Found, start: Array
) -> None:
    """Replace codes of groups of dependent atoms by those of least norm for the same signal."""
    rows, (m, cap) = dictionary.rows, found.chosen.shape
    used = np.arange(cap) < found.counts[:, None]
    A = np.zeros((m, len(rows)))
    A[np.nonzero(used)[0], found.chosen[used]] = found.values[used]
    counts = np.add.reduceat(A != 0, start[:-1], axis=1, dtype=np.int64)
    short = (counts > 0) & (counts < np.diff(start))
    number = np.cumsum(signals.fresh)  # of the mask
    for g in np.flatnonzero(short.any(axis=0)):
        which, part = np.flatnonzero(short[:, g]), slice(start[g], start[g + 1])
        for same in np.split(which, np.flatnonzero(np.diff(number[which])) + 1):
            usable = signals.scale[same[0], part] > 0
            D = rows[part] * signals.known[same[0]] * usable[:, None]
            U, s, _ = np.linalg.svd(D, full_matrices=False)
            U = U[:, s > np.sqrt(SPAN) * s[0]]
            A[same, part] = A[same, part] @ U @ U.T
    changed = np.flatnonzero(short.any(axis=1))
    x, met = signals.x[changed], found.stop[changed] == TOL
    R = (x - A[changed] @ rows) * signals.known[changed]
    rho, rounding = np.einsum("ij,ij->i", R, R), 1e-24 * np.einsum("ij,ij->i", x, x)
    slack = found.residual_sq[changed] * (1 + 1e-9) + rounding
    better = rho <= np.where(met, signals.tol_sq[changed], slack)
    changed, rho = changed[better], rho[better]
    row, chosen = np.nonzero(A[changed] != 0)
    counts = np.bincount(row, minlength=len(changed))
    at = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    found.counts[changed], found.residual_sq[changed] = counts, rho
    found.chosen[changed[row], at], found.values[changed[row], at] = (
        chosen,
        A[changed[row], chosen],
    )
