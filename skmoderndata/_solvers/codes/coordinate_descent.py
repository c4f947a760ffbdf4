"""Lasso codes by coordinate descent over the active atoms, and then over all.

Where atoms are alike it is slow: what it has not settled goes on with feature-sign search, from
the signs that it has reached (`lasso`).
"""

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.gram_rows import ask_row
from skmoderndata._solvers.codes.lasso_signal import correlations, known_entries, write_code
from skmoderndata._solvers.codes.products import ZERO

# sweeps over the active atoms, after which their equations are better solved
SWEEPS_BEFORE_SOLVING = 30


@jit
def code_by_coordinate_descent(signals, active, scratch, G, codes, R, steps, thorough):
    """Descend from the code of each signal in `codes`, which is replaced; returns G."""
    for i in range(signals.X.shape[0]):
        steps[i], G = coordinate_descent(signals, i, active, scratch, G, codes[i], thorough)
        t = ZERO
        index = active.chosen
        a = active.a
        for j in range(codes.shape[1]):
            if codes[i, j] != 0.0:
                index[t] = j
                a[t] = codes[i, j]
                t += 1
        write_code(signals, i, known_entries(signals, i), active, t, codes[i], R[i])
    return G


@jit
def coordinate_descent(signals, i, active, scratch, G, code, thorough):
    """Descend from `code` in place, until it moves little; returns the sweeps, and G.

    Unless `thorough`, it ends after `SWEEPS_BEFORE_SOLVING` sweeps over the active atoms, too.
    """
    known = known_entries(signals, i)
    place = signals.place
    c = scratch.c
    index = active.chosen
    at = active.at
    a = active.a
    t = ZERO

    # rows of the Gram matrix for the atoms of the start
    for j in range(code.shape[0]):
        if signals.positive:
            code[j] = max(code[j], 0.0)
        if code[j] != 0.0:
            if place[j] < 0:
                G = ask_row(j, signals.columns, known, signals.scale, G, place)
            index[t] = j
            at[t] = place[j]
            a[t] = code[j]
            t += 1

    correlations(signals.B[i], active, G, t, c)
    every = True
    on_active = 0
    for sweep in range(1, signals.max_iter + 1):
        # one sweep, and the objective without the residual
        moved, G = _sweep(signals, i, known, index, t, c, G, code, every)
        objective = 0.5 * signals.sizes[i]
        t = ZERO
        for j in range(code.shape[0]):
            if code[j] != 0.0:
                index[t] = j
                # 1/2 |r|^2 + lam |a|_1 = 1/2 |x|^2 - 1/2 a (b + c) + lam |a|_1
                objective -= 0.5 * code[j] * (signals.B[i, j] + c[j])
                objective += signals.alpha[i] * abs(code[j])
                t += 1

        # the steps of a sweep bound what another one would gain
        enough = (1e-9 if thorough else 1e-3) * signals.tol * max(objective, 0.0)
        little = moved <= enough / max(1, t)
        on_active = 0 if every else on_active + 1
        if (little and every) or (on_active > SWEEPS_BEFORE_SOLVING and not thorough):
            return sweep, G
        every = little
    return signals.max_iter, G


@jit
def _sweep(signals, i, known, index, t, c, G, code, every):
    """Minimise over each coefficient, of all atoms or of the active ones, given the others.

    Returns the largest squared change of the fit, and G.
    """
    norms_sq = signals.norms_sq[0 if signals.known.shape[0] == 1 else i]
    place = signals.place
    lam = signals.alpha[i]
    k = c.shape[0]
    moved = 0.0

    for visit in range(k if every else t):
        # u: correlation of the atom with the residual of the others
        j = visit if every else index[visit]
        norm_sq = norms_sq[j]
        if norm_sq <= 0.0:
            continue
        old = code[j]
        u = c[j] + norm_sq * old

        # shrink by lam and divide by |d_j|^2; negative coefficients only where they are allowed
        new = 0.0
        if u > lam:
            new = (u - lam) / norm_sq
        elif u < -lam and not signals.positive:
            new = (u + lam) / norm_sq

        if new == old:
            continue

        # one row of the Gram matrix per change, asked for when an atom first moves
        step = new - old
        moved = max(moved, step * step * norm_sq)
        code[j] = new
        if place[j] < 0:
            G = ask_row(j, signals.columns, known, signals.scale, G, place)
        g = G[place[j]]
        for q in range(k):
            c[q] -= step * g[q]

    return moved, G
