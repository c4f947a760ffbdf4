"""Lasso codes by coordinate descent over the active atoms, and then over all.

When the signs have settled the equations that they make of the problem are solved exactly.
"""

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.cholesky import append_atom
from skmoderndata._solvers.codes.gaps import penalised_gap
from skmoderndata._solvers.codes.gram_rows import ask_row
from skmoderndata._solvers.codes.lasso_signal import (
    ZERO,
    correlations,
    known_entries,
    solve_signs,
)
from skmoderndata._solvers.codes.products import EPS, inner, residual_sq

CANCELS = 1e-6  # below this fraction of (|x| + sum |a_j d_j|)^2, sums from G have lost digits


@jit
def code_by_coordinate_descent(signals, active, scratch, G, codes, steps):
    """Descend from the code of each signal in `codes`, which is replaced; returns G."""
    index, at, a = active.chosen, active.at, active.a
    for i in range(signals.X.shape[0]):
        known, code, t = known_entries(signals, i), codes[i], ZERO
        for j in range(code.shape[0]):
            if signals.positive:
                code[j] = max(code[j], 0.0)
            if code[j] != 0.0:
                G = ask_row(j, signals.columns, known, signals.scale, G, signals.place)
                index[t], at[t], a[t] = j, signals.place[j], code[j]
                t += 1
        steps[i], G = coordinate_descent(signals, i, known, active, scratch, G, t, code)
    return G


@jit
def coordinate_descent(signals, i, known, active, scratch, G, t, code):
    """Descend from `code` with `t` active atoms, in place; returns the sweeps, and G."""
    size, tol, place = signals.sizes[i], signals.tol, signals.place
    index, at, a = active.chosen, active.at, active.a
    gap, objective = certify(signals, i, known, active, scratch, G, t)
    sweeps, inner_sweeps, every = 0, 0, True
    while sweeps < signals.max_iter:
        sweeps += 1
        inner_sweeps += 1
        moved, changed, G = _sweep(signals, i, known, index, t, scratch.c, G, code, every)
        if every or changed:
            t = ZERO
            for j in range(code.shape[0]):
                if code[j] != 0.0:
                    index[t], at[t] = j, place[j]
                    t += 1
        settled = moved <= 1e-3 * tol * objective / max(1, t)
        if not every and not settled and (changed or inner_sweeps % 10 != 0):
            continue
        # a full sweep is done, or the active coefficients are at rest: look at the gap
        for s in range(t):
            a[s] = code[index[s]]
        gap, objective = certify(signals, i, known, active, scratch, G, t)
        enough = max(tol * objective, 4 * EPS * size)
        if gap > enough and not changed:
            solved = _solve_for_signs(signals.B[i], active, G, t, code, signals.alpha[i])
            if solved:
                new_gap, new_objective = certify(signals, i, known, active, scratch, G, t)
                if new_objective <= objective:
                    gap, objective = new_gap, new_objective
                    for s in range(t):
                        code[index[s]] = a[s]
                else:
                    for s in range(t):
                        a[s] = code[index[s]]
                    correlations(signals.B[i], active, G, t, scratch.c)
        if gap <= enough:
            break
        every = not every or settled
    return sweeps, G


@jit
def _sweep(signals, i, known, index, t, c, G, code, every):
    """Minimise over each coefficient, of all atoms or of the active ones, given the others.

    Returns the largest squared change of the fit, whether a sign has changed, and G.
    """
    norms_sq = signals.norms_sq[0 if signals.known.shape[0] == 1 else i]
    place, lam, k = signals.place, signals.alpha[i], c.shape[0]
    moved, changed = 0.0, False
    for visit in range(k if every else t):
        j = visit if every else index[visit]
        norm_sq = norms_sq[j]
        if norm_sq <= 0.0:
            continue
        old = code[j]
        u = c[j] + norm_sq * old
        new = 0.0
        if u > lam:
            new = (u - lam) / norm_sq
        elif u < -lam and not signals.positive:
            new = (u + lam) / norm_sq
        if new == old:
            continue
        step = new - old
        changed = changed or (new > 0.0) != (old > 0.0) or (new < 0.0) != (old < 0.0)
        moved = max(moved, step * step * norm_sq)
        code[j] = new
        G = ask_row(j, signals.columns, known, signals.scale, G, place)
        g = G[place[j]]
        for q in range(k):
            c[q] -= step * g[q]
    return moved, changed, G


@jit
def _solve_for_signs(b, active, G, t, code, lam):
    """Put the solution for the signs of the code in `a`; tells whether there is one."""
    index, at, a, theta, z, L = active
    for s in range(t):
        theta[s] = 1.0 if code[index[s]] > 0.0 else -1.0
        if not append_atom(L, s, G[at[s]], index, index[s]) > 0.0:
            return False  # dependent atoms
    if not solve_signs(b, active, t, lam):
        return False
    for s in range(t):
        a[s] = z[s]
    return True


@jit
def certify(signals, i, known, active, scratch, G, t):
    """Duality gap and objective of the active coefficients; `c` receives their correlations.

    All from ``c = b - G a``, or where that leaves too few digits, from the residual itself.
    """
    index, at, a, b, c = active.chosen, active.at, active.a, signals.B[i], scratch.c
    size, lam, k = signals.sizes[i], signals.alpha[i], c.shape[0]
    correlations(b, active, G, t, c)
    xr, rr, penalty, reach = size, size, 0.0, np.sqrt(size)
    for s in range(t):
        j = index[s]
        xr -= a[s] * b[j]
        rr -= a[s] * (b[j] + c[j])
        penalty += abs(a[s])
        reach += abs(a[s]) * np.sqrt(G[at[s], j])
    if 0.5 * rr + lam * penalty < CANCELS * reach * reach:
        x, rows, r = signals.X[i], signals.rows, scratch.r
        rr = residual_sq(x, known, rows, index, a, t, r)
        xr = inner(x, r, r.shape[0])
        for j in range(k):
            c[j] = inner(rows[j], r, r.shape[0])
    largest = 0.0
    for j in range(k):
        largest = max(largest, c[j] if signals.positive else abs(c[j]))
    return penalised_gap(xr, rr, penalty, largest, lam)
