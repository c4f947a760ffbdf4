"""Lasso codes by following the minimiser from large penalties downwards.

On a segment of the path with active atoms I of signs theta, the coefficients move along
``z = G_II^-1 theta`` as the penalty falls, and all active correlations have the magnitude of the
penalty, the level. A segment ends when an inactive correlation reaches the level, or when a
coefficient becomes zero [Osborne, Presnell, Turlach 2000].

Differs from the paper: 1. The path may end where the squared residual meets a bound. 2. Codes may
be restricted to ``a >= 0``. 3. Atoms in the span of active ones are barred until an atom leaves.
4. The final equations are solved afresh, to remove accumulated errors.
"""

import numpy as np

from skmoderndata._solvers.codes.cholesky import append_atom, solve
from skmoderndata._solvers.codes.gram_rows import ask_row
from skmoderndata._solvers.codes.lasso_signal import (
    allow_all,
    leave,
    mask_row,
    solve_signs,
    write_code,
)
from skmoderndata._solvers.codes.products import (
    MAGNITUDE,
    ZERO,
    add_rows,
    inner,
    largest_entry,
    low_bits,
    residual_sq,
)
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import CANCELS, ROUNDING

# Smallest penalty, as a fraction of the largest; a bound on the residual that is not met at this
# penalty counts as out of reach.
FLOOR = 1e-8


@jit_leaf
def code_by_homotopy(first, signals, active, scratch, G, codes, R, steps):
    """Write the code, the residual and the number of steps of each signal from `first` on.

    If there is a bound, `alpha` receives the penalty that meets it. Initial codes are not used.
    Returns the number of signals, or that of the signal for which G has not enough rows.
    """
    m = signals.X.shape[0]
    for i in range(first, m):
        observed = signals.observed[mask_row(signals, i)]
        t, n_steps = homotopy(signals, i, observed, active, scratch, G)
        if t < 0:
            return i
        steps[i] = n_steps
        write_code(signals, i, observed, active, t, codes[i], R[i])
    return m


@jit_leaf
def homotopy(signals, i, observed, active, scratch, G):
    """Follow the minimiser of signal i from the largest penalty down to `alpha`.

    With a `bound` (at least 0) on the squared residual, stop as soon as it is met: on a segment,
    ``|r|^2`` changes as ``level^2 theta z``. Returns the number of active atoms, -1 if G is full,
    and the number of events; `alpha` receives the penalty at the end.
    """
    row_of = signals.row_of
    positive = signals.positive
    x = signals.X[i]
    b = signals.B[i]
    size = signals.sizes[i]
    lam = signals.alpha[i]
    bound = signals.bound[i]
    index, gram_rows, a, theta, z, L = active
    c, v, score, bits, banned, r, space = scratch
    norms_sq = signals.norms_sq[0 if signals.observed.shape[0] == 1 else i]
    k = c.shape[0]
    low = low_bits(k)

    # start with the atom of largest correlation, at the smallest penalty with a zero code
    for j in range(k):
        c[j] = b[j]
        score[j] = max(c[j], 0.0) if positive else c[j]
    new = largest_entry(bits, k, low)
    level = abs(score[new])
    if bound >= 0.0:
        lam = max(lam, FLOOR * level)
    if level <= lam or size <= bound:
        signals.alpha[i] = max(level, lam)
        return ZERO, ZERO + 1
    t = ZERO
    last = ZERO - 1
    leaving = ZERO - 1
    events = ZERO
    rr = size
    slope = 0.0
    met = False
    some_banned = False

    for _ in range(10 * (k + 10)):
        events += 1

        # 1. extend the factor by the entering atom; bar it if it lies in the span of the active
        # atoms
        if leaving < 0:
            if not ask_row(new, signals.columns, observed, signals.scale, G, row_of, space):
                allow_all(banned)
                return ZERO - 1, events
            if append_atom(L, t, G[row_of[new]], index, new) > 0.0:
                index[t] = new
                gram_rows[t] = row_of[new]
                a[t] = 0.0
                theta[t] = 1.0 if c[new] > 0.0 else -1.0
                t += 1
            else:
                banned[new] = some_banned = True

        if t == 0:
            break

        # 2. compute the direction z, and the change v of the correlations per unit of the penalty
        for s in range(t):
            z[s] = theta[s]
        solve(L, t, z)
        for j in range(k):
            v[j] = 0.0
        add_rows(v, 1.0, z, G, gram_rows, t)

        # 3. find the penalty at which the next atom enters
        _steps_to_level(c, v, level, positive, score)
        for s in range(t):
            score[index[s]] = np.inf
        if last >= 0:  # this atom has just left
            score[last] = np.inf
        if some_banned:
            for j in range(k):
                score[j] = np.inf if banned[j] else score[j]
        new = _smallest(bits, k, low)
        step = score[new]

        # the step ends earlier if an active coefficient becomes zero
        leaving = ZERO - 1
        for s in range(t):
            if z[s] * theta[s] < 0.0 and -a[s] / z[s] < step:
                step = max(-a[s] / z[s], 0.0)
                leaving = s

        done = step >= level - lam
        if done:
            step = level - lam

        # the step also ends earlier if the residual meets the bound
        if bound >= 0.0:
            slope = inner(z, theta, t)
            if rr < CANCELS * size:
                rr = residual_sq(x, observed, signals.rows, index, a, t, r)
            # squared level at which the bound is met
            goal = level * level - (rr - bound) / slope
            after = level - step
            met = goal >= after * after
            if met:
                step = max(level - np.sqrt(goal), 0.0)
                done = True
            rr -= slope * (level * level - after * after)

        # 4. take the step
        for s in range(t):
            a[s] += step * z[s]
        level = lam if done and not met else level - step
        if done:
            break

        for j in range(k):
            c[j] -= step * v[j]
        last = ZERO - 1

        # 5. drop the atom that became zero
        if leaving >= 0:
            last = index[leaving]
            t = leave(active, t, leaving)
            if some_banned:
                allow_all(banned)
                some_banned = False

    allow_all(banned)

    # solve the final equations afresh, because the steps accumulate rounding errors
    for _ in range(6):
        if not solve_signs(b, active, t, level):
            break
        reach = np.sqrt(size)
        for s in range(t):
            a[s] = z[s]
            reach += abs(a[s]) * np.sqrt(norms_sq[index[s]])

        if not met:
            break

        # correct the level until the residual itself meets the bound, with a margin for rounding
        # errors
        rr = residual_sq(x, observed, signals.rows, index, a, t, r)
        margin = 8 * EPS * np.sqrt(bound) * reach + 1e-10 * bound
        aim = bound - 2.0 * margin
        goal = level * level - (rr - aim) / slope
        if abs(rr - aim) <= 0.5 * margin or goal <= 0.0:
            break
        level = np.sqrt(goal)

    signals.alpha[i] = level
    return t, events


@jit_leaf
def _steps_to_level(c, v, level, positive, score):
    """Write to `score` the steps at which ``c - step v`` equals ``level - step`` in magnitude."""
    if positive:
        for j in range(c.shape[0]):
            below = 1.0 - v[j]
            score[j] = max(level - c[j], 0.0) / below if below > ROUNDING else np.inf
        return
    for j in range(c.shape[0]):
        up = max(level - c[j], 0.0)
        down = max(level + c[j], 0.0)
        rise = 1.0 - v[j]
        fall = 1.0 + v[j]
        # choose the smaller of up/rise and down/fall without a second division
        first = up * fall < down * rise
        over = up if first else down
        under = rise if first else fall
        score[j] = over / under if under > ROUNDING else np.inf


@jit_leaf
def _smallest(bits, k, low):
    """Return the index of the smallest non-negative number, from the bits as `largest_entry`."""
    keep = MAGNITUDE & ~low
    lowest = MAGNITUDE
    for j in range(k):
        lowest = min(lowest, (bits[j] & keep) | j)
    return lowest & low
