"""Lasso codes by coordinate descent over the active atoms, and then over all atoms.

It is slow if atoms are similar. Signals that have not settled continue with feature-sign search,
from the signs reached so far (`lasso`).
"""

from skmoderndata._solvers.codes.gram_rows import ask_row
from skmoderndata._solvers.codes.lasso_signal import (
    correlations,
    mask_row,
    write_code,
)
from skmoderndata._solvers.codes.products import ZERO
from skmoderndata._solvers.common.jit import jit_leaf

# Number of sweeps over the active atoms after which it pays to solve their equations instead.
SWEEPS_BEFORE_SOLVING = 30


@jit_leaf
def code_by_coordinate_descent(first, signals, active, scratch, G, codes, R, steps, thorough):
    """Start from the code of each signal from `first` on, and replace it.

    Returns the number of signals, or that of the signal for which G has not enough rows.
    """
    m = signals.X.shape[0]
    k = codes.shape[1]
    start = scratch.v

    for i in range(first, m):
        observed = signals.observed[mask_row(signals, i)]
        code = codes[i]
        for j in range(k):
            start[j] = code[j]
        n_sweeps = coordinate_descent(signals, i, observed, active, scratch, G, code, thorough)
        if n_sweeps < 0:
            for j in range(k):
                code[j] = start[j]
            return i

        # list the atoms in use, to compute the residual from them
        steps[i] = n_sweeps
        t = ZERO
        index = active.chosen
        a = active.a
        for j in range(k):
            if code[j] != 0.0:
                index[t] = j
                a[t] = code[j]
                t += 1
        write_code(signals, i, observed, active, t, code, R[i])
    return m


@jit_leaf
def coordinate_descent(signals, i, observed, active, scratch, G, code, thorough):
    """Descend from `code` in place until it moves little.

    Unless `thorough`, it also ends after `SWEEPS_BEFORE_SOLVING` sweeps over the active atoms.
    Returns the number of sweeps, -1 if G is full.
    """
    row_of = signals.row_of
    c = scratch.c
    index = active.chosen
    gram_rows = active.gram_rows
    a = active.a
    t = ZERO

    # compute the rows of the Gram matrix for the atoms of the initial code
    for j in range(code.shape[0]):
        if signals.positive:
            code[j] = max(code[j], 0.0)
        if code[j] != 0.0:
            if not ask_row(
                j, signals.columns, observed, signals.scale, G, row_of, scratch.space
            ):
                return -1
            index[t] = j
            gram_rows[t] = row_of[j]
            a[t] = code[j]
            t += 1

    b = signals.B[i]
    lam = signals.alpha[i]
    correlations(b, active, G, t, c)
    every = True
    on_active = 0
    for sweep in range(1, signals.max_iter + 1):
        # make one sweep, then compute the objective, which needs no residual
        moved = _sweep(signals, i, observed, index, t, scratch, G, code, every)
        if moved < 0.0:
            return -1
        objective = 0.5 * signals.sizes[i]
        t = ZERO
        for j in range(code.shape[0]):
            if code[j] != 0.0:
                index[t] = j
                # 1/2 |r|^2 + lam |a|_1 = 1/2 |x|^2 - 1/2 a (b + c) + lam |a|_1
                objective -= 0.5 * code[j] * (b[j] + c[j])
                objective += lam * abs(code[j])
                t += 1

        # the squared steps of this sweep show how much the next sweep can gain
        enough = (1e-9 if thorough else 1e-3) * signals.tol * max(objective, 0.0)
        little = moved <= enough / max(1, t)
        on_active = 0 if every else on_active + 1
        settled = little and every
        better_solved = on_active > SWEEPS_BEFORE_SOLVING and not thorough
        if settled or better_solved:
            return sweep
        every = little
    return signals.max_iter


@jit_leaf
def _sweep(signals, i, observed, index, t, scratch, G, code, every):
    """Minimise over each coefficient, of all atoms or of the active ones, with the rest fixed.

    Returns the largest squared change of the fit, -1 if G is full.
    """
    shared = signals.observed.shape[0] == 1
    norms_sq = signals.norms_sq[0 if shared else i]
    row_of = signals.row_of
    lam = signals.alpha[i]
    c = scratch.c
    k = c.shape[0]
    moved = 0.0

    for visit in range(k if every else t):
        # u: correlation of the atom with the residual of the other atoms
        j = visit if every else index[visit]
        norm_sq = norms_sq[j]
        if norm_sq <= 0.0:
            continue
        old = code[j]
        u = c[j] + norm_sq * old

        # shrink by lam and divide by |d_j|^2; set forbidden negative coefficients to zero
        new = 0.0
        if u > lam:
            new = (u - lam) / norm_sq
        elif u < -lam and not signals.positive:
            new = (u + lam) / norm_sq

        if new == old:
            continue

        # each change needs one row of the Gram matrix, computed when the atom first moves
        step = new - old
        moved = max(moved, step * step * norm_sq)
        code[j] = new
        if not ask_row(j, signals.columns, observed, signals.scale, G, row_of, scratch.space):
            return -1.0
        g = G[row_of[j]]
        for q in range(k):
            c[q] -= step * g[q]

    return moved
