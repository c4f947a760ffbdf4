"""Lasso codes by feature-sign search [Lee, Battle, Raina, Ng 2007, algorithm 1].

Guess the signs of the active coefficients and solve the linear equations that they imply. If signs
change on the way to the solution, go to the best point at which one does. When the signs are
right, admit an atom whose correlation exceeds the penalty.

Differs from the paper: 1. Codes may start from a given code, and may be restricted to ``a >= 0``.
2. An atom that depends on the active ones takes the place of one of them. 3. Atoms that rounding
makes inadmissible are banned until the next step.
"""

import numpy as np

from skmoderndata._solvers.codes.gram_rows import ask_row
from skmoderndata._solvers.codes.lasso_signal import (
    allow_all,
    correlations,
    enter,
    leave,
    mask_row,
    solve_signs,
    write_code,
)
from skmoderndata._solvers.codes.products import ZERO, largest_entry, low_bits
from skmoderndata._solvers.common.jit import FALSE, jit_leaf
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import ROUNDING

# Largest excess of a correlation over the penalty that counts as a rounding error, relative to the
# penalty.
EXCESS_RELATIVE = 1e-10


@jit_leaf
def code_by_feature_sign(first, signals, active, scratch, G, codes, R, steps):
    """Write the code, the residual and the number of steps of each signal from `first` on.

    Returns the number of signals, or that of the signal for which G has not enough rows. `codes`
    holds the start of each signal. `solved` is True if the coefficients have the assumed
    signs and solve the equations of the active atoms; `entered` is the atom that became active
    last.
    """
    c = scratch.c
    banned = scratch.banned
    space = scratch.space
    row_of = signals.row_of
    m = signals.X.shape[0]
    k = c.shape[0]

    for i in range(first, m):
        observed = signals.observed[mask_row(signals, i)]
        b = signals.B[i]
        lam = signals.alpha[i]

        enough = _entering_level(b, lam)
        t = _start(signals, observed, active, scratch, codes[i], G)
        if t < 0:
            return i
        n_steps = 0
        solved = t == 0
        some_banned = FALSE

        for _ in range(100 * (k + 1)):
            n_steps += 1
            entered = ZERO - 1

            # 1. if the signs are right, admit the atom with the largest correlation
            if solved:
                new = _best_atom(signals, b, active, scratch, G, t, some_banned)
                if abs(scratch.score[new]) <= enough:
                    break

                if not ask_row(
                    new, signals.columns, observed, signals.scale, G, row_of, space
                ):
                    allow_all(banned)
                    return i
                after = _admit(active, t, G[row_of[new]], row_of[new], new, np.sign(c[new]))
                if after < 0:  # no atom would leave, which only rounding errors can cause
                    banned[new] = some_banned = True
                    continue
                if after > t:
                    entered = new
                t = after

            # 2. go to the solution for the current signs, or to a point where a sign changes
            solved = solve_signs(b, active, t, lam)
            if solved:
                for s in range(t):
                    active.a[s] = active.z[s]
            elif entered >= 0 and active.z[t - 1] * active.theta[t - 1] <= 0.0:
                # the entering atom moved against its sign, because of rounding errors
                t -= 1
                banned[entered] = some_banned = solved = True
                continue
            else:
                step = _best_step(b, active, G, t, lam)
                if step == 0.0:
                    break  # any further descent is a rounding error
                t = _move(active, t, step, signals.positive)
                solved = t == 0

            if some_banned:
                allow_all(banned)
                some_banned = False

        allow_all(banned)
        steps[i] += n_steps
        write_code(signals, i, observed, active, t, codes[i], R[i])
    return m


@jit_leaf
def _best_atom(signals, b, active, scratch, G, t, some_banned):
    """Return the atom with the largest correlation, which it writes to the scores."""
    c = scratch.c
    correlations(b, active, G, t, c)
    _scores(c, signals.positive, scratch.banned, some_banned, active.chosen, t, scratch.score)
    return largest_entry(scratch.bits, c.shape[0], low_bits(c.shape[0]))


@jit_leaf
def _entering_level(b, lam):
    """Return the penalty plus rounding: a larger correlation admits its atom."""
    top = 0.0
    for j in range(b.shape[0]):
        top = max(top, abs(b[j]))
    return lam * (1 + EXCESS_RELATIVE) + 8 * EPS * top


@jit_leaf
def _start(signals, observed, active, scratch, code, G):
    """Activate the independent atoms of a code; return their number, -1 if G is full."""
    row_of = signals.row_of
    t = ZERO
    for j in range(code.shape[0]):
        if code[j] != 0.0 and (code[j] > 0.0 or not signals.positive):
            if not ask_row(
                j, signals.columns, observed, signals.scale, G, row_of, scratch.space
            ):
                return ZERO - 1
            before = t
            t = enter(active, t, G[row_of[j]], row_of[j], j)
            if t > before:
                active.a[before] = code[j]
                active.theta[before] = 1.0 if code[j] > 0.0 else -1.0
    return t


@jit_leaf
def _scores(c, positive, banned, some_banned, index, t, score):
    """Write the correlations of the atoms that may enter, and zero for all others."""
    for j in range(c.shape[0]):
        score[j] = max(c[j], 0.0) if positive else c[j]
    if some_banned:
        for j in range(c.shape[0]):
            score[j] = 0.0 if banned[j] else score[j]
    for s in range(t):
        score[index[s]] = 0.0


@jit_leaf
def _admit(active, t, g, row, new, sign):
    """Make atom `new` active; return the number of active atoms, or -1 if that is impossible.

    If the atom lies in the span of the active ones, move along the line on which the fit is
    constant; the first active atom whose coefficient becomes zero is replaced.
    """
    a = active.a
    theta = active.theta
    z = active.z
    grown = enter(active, t, g, row, new)
    if grown > t:
        a[t] = 0.0
        theta[t] = sign
        return grown

    # the atom is dependent: move along the line until an active atom leaves
    solve_signs(g, active, t, 0.0)  # express the atom as a combination of the active ones
    step = np.inf
    gone = ZERO - 1
    for s in range(t):
        direction = -z[s] * sign
        if a[s] * direction < 0.0:
            to_zero = -a[s] / direction
            if to_zero < step:
                step = to_zero
                gone = s

    if gone < 0:
        return gone
    for s in range(t):
        a[s] -= step * sign * z[s]
    t = leave(active, t, gone)
    grown = enter(active, t, g, row, new)
    if grown > t:
        a[t] = step * sign
        theta[t] = sign
    return grown


@jit_leaf
def _best_step(b, active, G, t, lam):
    """Return the step from a towards z with the lowest objective, 0 if none lowers it.

    Candidates are the full step and the points at which a coefficient changes sign.
    """
    # slope and curvature of the smooth part in this direction
    a = active.a
    z = active.z
    theta = active.theta
    index = active.chosen
    gram_rows = active.gram_rows
    slope = 0.0
    curve = 0.0
    start = 0.0
    for s in range(t):
        correlation = b[index[s]]
        g = G[gram_rows[s]]
        for q in range(t):
            correlation -= g[index[q]] * a[q]
        move = z[s] - a[s]
        slope += move * correlation
        curve += move * (correlation - lam * theta[s])
        start += lam * abs(a[s])

    # compare the full step with the steps at which a coefficient becomes zero
    best = 0.0
    lowest = start
    for candidate in range(t + 1):
        step = 1.0
        if candidate < t:
            if a[candidate] == 0.0 or a[candidate] * z[candidate] > 0.0:
                continue
            step = a[candidate] / (a[candidate] - z[candidate])
        value = step * (0.5 * step * curve - slope)
        for s in range(t):
            value += lam * abs(a[s] + step * (z[s] - a[s]))
        if value < lowest:
            best = step
            lowest = value
    return best if lowest < start - ROUNDING * abs(start) else 0.0


@jit_leaf
def _move(active, t, step, positive):
    """Move from a towards z and drop atoms that become zero; return the number of active atoms."""
    a = active.a
    z = active.z
    theta = active.theta
    for s in range(t):
        moved = a[s] + step * (z[s] - a[s])
        rounding = ROUNDING * (abs(a[s]) + abs(z[s]))
        a[s] = 0.0 if abs(moved) <= rounding else moved
    s = ZERO
    while s < t:
        if a[s] == 0.0 or (positive and a[s] < 0.0):
            t = leave(active, t, s)
        else:
            theta[s] = 1.0 if a[s] > 0.0 else -1.0
            s += 1
    return t
