"""Ranking with thresholds: exchanges of two weights, and of four weights of two thresholds.

This solves the quadratic program of [Shawe-Taylor and Cristianini 2004, Computation 8.8].
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize, sparse

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.convex_problems import ACCURATE, ranking_program, solve
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    RESULT_ROUNDING,
    ROUNDING,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import (
    COUNTED,
    MOST_LEVELS,
    MOVED,
    POLISHED,
    REACHED,
    STALLED,
    STEPS_PER_GAP,
    BoxState,
    Rows,
    all_rows,
    bring_worst,
    least,
    mark,
    mark_all,
    next_level,
    try_exchange,
    wall_off,
    work_space,
)
from skmoderndata._solvers.margins.ranking_certificate import (
    Certified,
    certificate,
    margin_of,
    matrix_of_sums,
    ranking_value,
)
from skmoderndata._solvers.margins.ranking_faces import (
    BOUNDED_TIMES,
    constraints,
    face_step,
    n_free,
)
from skmoderndata._solvers.margins.ranking_interior import interior_point
from skmoderndata._solvers.margins.simplex_qp import CVXPY_LIMIT, gram_factor
from skmoderndata._solvers.margins.tolerances import ZERO_WEIGHT

# Largest gap at which the active set method takes less time than further pair steps.
HANDED_OVER = 1e-2
# Number of pair steps that take as much time as one face step, in units of m^3 / n (m free
# weights).
STEPS_PER_FACE = 0.004
# Minimum number of free weights that is assumed when the cost of a face step is estimated.
FEW_FREE = 100
# Number of samples from which the direction of the start is computed.
LOOKED_AT = 256
# Maximum rank of a kernel for which a cone solver accepts any number of samples.
FEW_DIRECTIONS = 100
# Largest norm of the function that counts as zero, in units of the largest norm of a sample.
FLAT = 1e-5


class Ranking(NamedTuple):
    """Coefficients of a function of norm one, thresholds and margin."""

    coef: Array
    thresholds: Array
    margin: float
    objective: float
    gap: float
    n_iter: int
    converged: bool


def nu_ranking(
    store: Rows,
    segments: Array,
    bounds: Array,
    *,
    tol: float,
    max_iter: int = -1,
    progress: Progress | None = None,
) -> Ranking:
    """Minimise `-margin + sum bounds_i (xi_i + zeta_i)` over `|w| = 1`, thresholds and margin.

    The constraints are `f(x_i) <= b_y - margin + zeta_i` for samples of rank y below the last and
    `f(x_i) >= b_(y-1) + margin - xi_i` above the first; segment y has the samples of rank y. The
    dual is `min a' K a`, `a = u - l`, with `0 <= l, u <= bounds`. For each threshold the lower
    weights l of rank y and the upper weights u of rank y + 1 have the same sum, and all weights
    add up to one [Shawe-Taylor and Cristianini 2004, Computation 8.8, superscripts corrected].

    A step exchanges two upper or two lower weights of a threshold, or raises both sums of one
    threshold and lowers both of another one, by four weights. If a level takes many such steps, a
    face step moves all weights between their bounds to their minimum. The loop stops at the
    relative gap `tol`, or after `max_iter` steps.

    With `max_iter=-1` an interior point method takes over after 100 steps for each sample, for up
    to 2000 samples: ranks that overlap nearly as much as nu allows need millions of exchanges.
    """
    n = len(bounds)
    n_held = len(store.values)
    interior = max_iter < 0 and n <= CVXPY_LIMIT
    small = n <= min(POLISHED, n_held)
    if small:
        missing = np.flatnonzero(store.slot < 0)
        store.bring(missing)

    upper, lower = _start(store, segments, bounds)
    g = upper.g
    level = max(float(np.ptp(g)), 0.0)

    # set the norm that counts as zero, and the change that counts as a rounding error, in units of
    # the kernel
    size = float(np.abs(store.diagonal).max(initial=0.0))
    flat = FLAT * float(np.sqrt(size))
    rounding = ROUNDING / 10 * size

    count = 0
    chunk = STEPS_PER_GAP * n
    if interior:  # the interior point method takes about as long as this number of steps
        max_iter = chunk
    tol_of_steps = max(tol, HANDED_OVER) if small else tol
    it = Iterations(MOST_LEVELS, tol_of_steps, progress)

    for _ in it:
        # 1. Lower the level, and take steps until none gains more than the level
        factor = next_level(it.residual, it.tol)
        level *= factor
        budget = chunk if max_iter < 0 else min(chunk, max_iter - count)
        done, status = _by_way_of_faces(store, upper, lower, segments, level, budget)
        count += done

        # 2. Compute the gap; the dual value is -|w|
        certified = _certificate(upper, lower, segments, bounds)
        flat_function = certified.norm <= flat
        it.residual = certified.gap if certified.norm > flat else np.inf
        if status == COUNTED:
            level /= factor  # try this level again, because the steps did not reach it
        if it.residual > it.tol:
            used_up = 0 <= max_iter <= count
            it.ended = status == STALLED or flat_function or used_up
            it.ended |= level < rounding

    # 3. If there are few samples, solve to within rounding errors with the face method
    at_optimum = it.converged and not small
    if it.converged and small:
        done, at_optimum = by_faces(store, upper, lower, segments, max_iter - count)
        count += done
    certified = _certificate(upper, lower, segments, bounds)
    a = upper.w + lower.w

    # 4. Use the interior point method if pair steps and face steps did not reach the tolerance
    asked_to_stop = not (it.converged or it.ended) and count < max_iter
    flat_function = certified.norm <= flat
    if interior and not (at_optimum or asked_to_stop or flat_function):
        K = all_rows(store)
        inner = interior_point(K, segments, bounds, tol=RESULT_ROUNDING, flat=flat)
        count += inner.n_iter
        flat_function = inner.certified.norm <= flat
        if inner.certified.gap < certified.gap or flat_function:
            certified = inner.certified
            a = inner.upper + inner.lower

    if flat_function:
        unit = float(np.sqrt(size))
        return _flat_ranking(a, certified.norm, unit, segments, count)
    return _scaled_ranking(a, certified, count, tol=tol)


def _flat_ranking(a: Array, norm: float, unit: float, segments: Array, count: int) -> Ranking:
    """Return the ranking of w = 0, which has neither a direction nor thresholds."""
    gap = relative_gap(0.0, -norm, unit=unit)
    zeros = np.zeros(len(segments) - 1)
    return Ranking(0.0 * a, zeros, 0.0, 0.0, gap, count, True)


def _scaled_ranking(a: Array, certified: Certified, count: int, *, tol: float) -> Ranking:
    """Scale a function to norm one; its thresholds and its margin are scaled already."""
    thresholds, margin, value, norm, gap = certified
    converged = gap <= tol
    return Ranking(a / norm, thresholds, margin, value, gap, count, converged)


def _certificate(
    upper: BoxState, lower: BoxState, segments: Array, bounds: Array
) -> Certified:
    """Return the certificate of the current weights."""
    margin = margin_of(upper, lower, segments)
    return certificate(upper.w, lower.w, upper.g, margin, segments, bounds)


def _by_way_of_faces(
    store: Rows, upper: BoxState, lower: BoxState, segments: Array, level: float, budget: int
) -> tuple[int, int]:
    """Step to a level; if that takes long, take face steps in between."""
    n = len(upper.g)
    count = 0
    patience = 1.0
    while True:
        # 1. Take pair steps that together take as long as a face step
        m = max(n_free(upper, lower), FEW_FREE)
        steps_of_face = max(m, STEPS_PER_FACE * m**3 / n)
        steps = 1 + int(patience * steps_of_face)
        steps = min(steps, budget - count)
        done, status = _to_level(store, upper, lower, segments, level, steps)
        count += done
        if status != COUNTED or count >= budget:
            return count, status

        # 2. Step to the minimum of the face
        count += 1
        if not face_step(store, upper, lower, segments):
            patience *= 2.0


def _to_level(
    store: Rows, upper: BoxState, lower: BoxState, segments: Array, level: float, budget: int
) -> tuple[int, int]:
    """Step until no step gains more than a level, using stored rows first.

    Returns the number of steps and the status.
    """
    everything = np.array([[0, len(upper.g)]])  # a step changes the gradients of all samples
    complete = bool((store.slot >= 0).all())  # whether all rows are stored
    count = 0
    status = REACHED

    while complete or _bring_violators(store, upper, lower, segments, level):
        limits = (level, store.clock, budget - count)
        done, status = ranking_steps(
            store.values,
            store.slot,
            store.used,
            upper,
            lower,
            everything,
            segments[1:],
            segments[:-1],
            limits,
        )
        store.clock += done
        count += done
        if complete or status != REACHED:
            break
    return count, status


def _bring_violators(
    store: Rows, upper: BoxState, lower: BoxState, segments: Array, level: float
) -> bool:
    """Compute rows of the worst violators; return False if no step gains more than `level`."""
    n_thresholds = len(segments) - 1

    # 1. Find the best slopes of the upper and the lower weights of each threshold
    low = np.empty((2, n_thresholds))
    high = np.empty((2, n_thresholds))
    at_low = np.empty(low.shape, np.int64)
    at_high = np.empty(low.shape, np.int64)
    for side, y, samples, up, down in _slopes(upper, lower, segments):
        at_low[side, y] = samples.start + up.argmin()
        at_high[side, y] = samples.start + down.argmax()
        low[side, y] = up.min()
        high[side, y] = down.max()
    # also find the best slopes for changing both sums of a threshold
    rising = low[0] - high[1]
    falling = high[0] - low[1]
    r = int(rising.argmin())
    f = int(falling.argmax())
    rise = rising[r]
    fall = falling[f]

    # 2. Find the samples of the best exchanges of two and of four weights, which need their rows
    gains = high - low
    two = np.unravel_index(gains.argmax(), low.shape)
    ends = []
    if gains[two] > level:
        ends += [at_low[two], at_high[two]]
    if r != f and fall - rise > 2.0 * level:
        ends += [at_low[0, r], at_high[1, r], at_high[0, f], at_low[1, f]]
    if not ends:
        return False

    # 3. Compute how much each sample gains by an exchange with the best partners
    violation = np.zeros(len(upper.g))
    signed = np.array([[rise, fall], [-fall, -rise]])
    for side, y, samples, up, down in _slopes(upper, lower, segments):
        pairs = np.maximum(down - low[side, y], high[side, y] - up)
        least = low[1 - side, y] + signed[side, 0]
        largest = high[1 - side, y] + signed[side, 1]
        fours = 0.5 * np.maximum(down - least, largest - up)
        gain = np.maximum(pairs, fours)
        violation[samples] = np.maximum(violation[samples], gain)
    violation[store.slot >= 0] = 0.0
    bring_worst(store, violation, np.array(ends), level)
    return True


def _slopes(upper: BoxState, lower: BoxState, segments: Array) -> Iterator[Any]:
    """Yield side, threshold, samples, and their slopes when weights rise and when they fall."""
    sides = ((upper, segments[1:]), (lower, segments[:-1]))
    for side, (state, spans) in enumerate(sides):
        for y, (first, last) in enumerate(spans):
            samples = slice(first, last)
            g = state.g[samples]
            up = g + state.up[samples]
            down = g + state.down[samples]
            yield side, y, samples, up, down


def _start(store: Rows, segments: Array, bounds: Array) -> tuple[BoxState, BoxState]:
    """Start with the worst samples at their bounds, in the direction of the rank means."""
    # add up the bounds of each rank, then make the sum of the weights at each threshold
    # proportional to the smaller sum of the two ranks that it separates
    n = len(bounds)
    sums = np.array([bounds[a:b].sum() for a, b in segments])
    totals = np.minimum(sums[1:], sums[:-1])
    totals = 0.5 * totals / totals.sum()

    # compute the values along the direction of the means, and set the weights of the worst samples
    # of each rank to their bounds
    f = store.product(_difference_of_means(n, segments, totals))
    upper_weights, lower_weights = _weights_at_bounds(f, segments, bounds, totals)

    # both states share one gradient
    g = store.product(upper_weights + lower_weights)
    zeros = np.zeros(n)
    everything = np.array([[0, n]])
    work = work_space(n)
    states = []
    for w, low, high in ((upper_weights, zeros, bounds), (lower_weights, -bounds, zeros)):
        up, down = np.empty((2, n))
        state = BoxState(
            w, g, up, down, store.diagonal, zeros, low.copy(), high.copy(), 0.0, work
        )
        mark_all(state, everything)
        states.append(state)
    return states[0], states[1]


def _difference_of_means(n: int, segments: Array, totals: Array) -> Array:
    """Return coefficients of the difference of the rank means, from a few samples of each."""
    direction = np.zeros(n)
    limit = max(1, LOOKED_AT // len(segments))
    for y, (first, last) in enumerate(segments):
        size = min(limit, last - first)
        evenly = np.linspace(first, last - 1, size)
        few = np.unique(evenly.astype(int))
        from_below = totals[y - 1] if y > 0 else 0.0
        from_above = totals[y] if y < len(totals) else 0.0
        difference = from_below - from_above
        direction[few] = difference / len(few)
    return direction


def _weights_at_bounds(f: Array, segments: Array, bounds: Array, totals: Array) -> Array:
    """Set the weights of the worst samples to their bounds until the sum is reached."""
    weights = np.zeros((2, len(f)))
    for y, total in enumerate(totals):
        sides = ((0, segments[y + 1], 1.0), (1, segments[y], -1.0))
        for row, (first, last), sign in sides:
            falling = sign * f[first:last]
            order = first + np.argsort(falling, kind="stable")
            ordered = bounds[order]
            passed = np.cumsum(ordered)
            before = np.concatenate([[0.0], passed[:-1]])
            weights[row, order] = sign * np.clip(total - before, 0.0, ordered)
    return weights


def by_faces(
    store: Rows, upper: BoxState, lower: BoxState, segments: Array, budget: int
) -> tuple[int, bool]:
    """Continue to the optimum by the active set method for convex quadratic programs, in place.

    With the weights at their bounds fixed, the least `a'Ka` with the same sums solves a linear
    system; a step goes there, or to the first bound on the way. At the minimum of such a face the
    best exchange of two or four weights leaves it [Nocedal and Wright 2006, Algorithm 16.3]. Pairs
    alone converge slowly if a direction is flat. Takes at most `budget` steps, unless it is
    negative. Returns the number of steps, and whether the optimum was reached.
    """
    n = len(upper.g)
    n_thresholds = len(segments) - 1
    K = store.values[store.slot]
    # scale K to a diagonal of at most one, because the systems also contain the sums of the
    # weights
    largest = float(np.abs(store.diagonal).max())
    K = (K + K.T) / (2.0 * largest)

    # use one weight v >= 0 for each constraint
    sample, sign, threshold = constraints(segments)
    v = np.where(sign > 0, upper.w[sample], -lower.w[sample])
    high = upper.high[sample]
    E = matrix_of_sums(sign, threshold)

    count = 0
    max_faces = n if budget < 0 else min(budget, n)
    zeros = np.zeros(n_thresholds)
    # use the exact sums; sums computed from faces with many samples would have errors of 1e-10
    sums = np.r_[zeros, 1.0]
    at_minimum = False
    at_optimum = False

    while count < max_faces:
        f = K @ np.bincount(sample, sign * v, minlength=n)
        # 1. If this point is the minimum of the face, leave the face by the steepest exchange
        if at_minimum:
            d = _leaving(f[sample], sign, threshold, v, high)
            if d is None:
                at_optimum = True
                break
            slope = float((sign * d) @ f[sample])
            moved = np.flatnonzero(d)
        else:
            # 2. Otherwise step to the minimum of the face
            moved = np.flatnonzero((v > 0.0) & (v < high))
            d, minimum = _towards_minimum(K, sample, sign, E, sums, v, high)
            slope = -1.0

            # accept the minimum if it is feasible and lowers the objective
            change = np.bincount(sample, sign * (minimum - v), minlength=n)
            inside = ((minimum >= 0.0) & (minimum <= high)).all()
            inside &= np.abs(sums - E.T @ minimum).max() < ACCUMULATED_ROUNDING
            if inside and change @ (2.0 * f + K @ change) < 0.0:
                v = minimum
                at_minimum = True
                count = count + 1
                continue

        # 3. Ratio test: find the distance to the first bound
        with np.errstate(divide="ignore", invalid="ignore"):
            to_bound = np.where(d[moved] > 0, high[moved] - v[moved], v[moved])
            step_bounds = to_bound / np.abs(d[moved])
        step_bounds[np.isnan(step_bounds)] = np.inf
        nearest = float(step_bounds.min(initial=np.inf))

        # 4. Take the exact step, or go to the bound and fix the weight there
        change = np.bincount(sample, sign * d, minlength=n)
        curvature = float(change @ K @ change)
        full = 1.0
        if at_minimum:
            full = -slope / curvature if curvature > 0 else np.inf
        step = min(full, nearest)
        v[moved] = np.clip(v[moved] + step * d[moved], 0.0, high[moved])
        at_bound = moved[step_bounds <= step * (1 + ACCUMULATED_ROUNDING)]
        v[at_bound] = np.where(d[at_bound] > 0, high[at_bound], 0.0)
        at_minimum = not at_minimum and step == full
        count += 1

    # copy the weights of the constraints back to both states
    a = np.bincount(sample, sign * v, minlength=n)
    upper.g[:] = largest * (K @ a)  # both states share this array
    for state, members in ((upper, sign > 0), (lower, sign < 0)):
        state.w[sample[members]] = sign[members] * v[members]
        mark_all(state, np.array([[0, n]]))
    return count, at_optimum


def _towards_minimum(
    K: Array, sample: Array, sign: Array, E: Array, sums: Array, v: Array, high: Array
) -> tuple[Array, Array]:
    """Return the direction to the minimum of the face, and the minimum of a face in the bounds."""
    free = (v > 0.0) & (v < high)
    minimum = _minimum_of_face(K, sample, sign, E, sums, v, free)
    d = minimum - v

    # fix many weights at their bounds at once, hoping that this lowers the objective
    for _ in range(BOUNDED_TIMES):
        if ((minimum >= 0.0) & (minimum <= high)).all():
            break
        free &= (minimum > 0.0) & (minimum < high)
        minimum = np.clip(minimum, 0.0, high)
        minimum = _minimum_of_face(K, sample, sign, E, sums, minimum, free)
    return d, minimum


def _minimum_of_face(
    K: Array, sample: Array, sign: Array, E: Array, sums: Array, v: Array, free: Array
) -> Array:
    """Minimise `a'Ka` subject to `E'v = sums` over the free weights."""
    q = np.flatnonzero(free)
    m = len(q)
    k = E.shape[1]
    free_sample = sample[q]
    free_sign = sign[q]
    free_E = E[q]

    # set up the equations for the slopes and the sums of the free weights
    system = np.zeros((m + k, m + k))
    K_free = K[np.ix_(free_sample, free_sample)]
    system[:m, :m] = np.outer(free_sign, free_sign) * K_free
    system[:m, m:] = free_E
    system[m:, :m] = free_E.T
    f = K @ np.bincount(sample, sign * v, minlength=len(K))
    v = v.copy()
    slope = free_sign * f[free_sample]
    sums_missing = sums - E.T @ v
    right = np.r_[-slope, sums_missing]

    # make the system quasi-definite, because the minimum may not be unique, and because a
    # threshold may have no free weight
    ridge = np.repeat([100 * ROUNDING, -100 * ROUNDING], [m, k])
    lu_factor: Any = linalg.lu_factor
    factor = lu_factor(system + np.diag(ridge))
    change = np.asarray(linalg.lu_solve(factor, right))
    residual = right - system @ change
    change += np.asarray(linalg.lu_solve(factor, residual))  # correct for the ridge
    v[q] += change[:m]
    return v


def _leaving(f: Array, sign: Array, threshold: Array, v: Array, high: Array) -> Array | None:
    """Return the exchange of two or four weights of steepest descent, or None at the optimum."""
    slope = sign * f
    up = np.where(v < high, slope, np.inf)
    down = np.where(v > 0.0, slope, -np.inf)

    # two weights on the same side of a threshold: one rises and one falls
    best = ACCUMULATED_ROUNDING * float(np.abs(f).max())
    exchange: Any = None
    rising = []
    falling = []
    for y in range(int(threshold.max()) + 1):
        ends = []
        for side in (1.0, -1.0):
            members = np.flatnonzero((threshold == y) & (sign == side))
            i = members[up[members].argmin()]
            j = members[down[members].argmax()]
            ends.append((i, j))
            descent = down[j] - up[i]
            if descent > best:
                best = float(descent)
                exchange = ((i,), (j,))
        # four weights: both sides of one threshold rise, and both sides of another threshold fall
        (i, k), (j, m) = ends
        rising.append((up[i] + up[j], i, j))
        falling.append((down[k] + down[m], k, m))

    rise = min(rising)
    fall = max(falling)
    if 0.5 * (fall[0] - rise[0]) > best:
        exchange = rise[1:], fall[1:]

    if exchange is None:
        return None
    rises, falls = exchange
    d = np.zeros(len(f))
    d[list(rises)] += 1.0
    d[list(falls)] -= 1.0
    return d


@jit_leaf
def ranking_steps(values, slot, used, upper, lower, everything, tops, bottoms, limits):
    """Exchange weights of samples with stored rows until no step gains more than `level`.

    `limits` are the level, the time and the maximum number of steps. Returns the number of steps
    and the status.
    """
    wall_off(upper, slot, everything)
    wall_off(lower, slot, everything)
    count, status = exchanges(
        values, slot, used, upper, lower, everything, tops, bottoms, limits
    )
    mark_all(upper, everything)  # admit the blocked samples again
    mark_all(lower, everything)
    return count, status


@jit_leaf
def exchanges(values, slot, used, upper, lower, everything, tops, bottoms, limits):
    """Take the steps of `ranking_steps` while samples without rows are blocked."""
    level, clock, max_steps = limits
    count = 0
    while count < max_steps:
        # 1. Exchange two weights of each threshold
        moved = False
        for y in range(len(tops)):
            for side in range(2):
                state = upper if side == 0 else lower
                span = tops[y] if side == 0 else bottoms[y]
                now = clock + count
                status = try_exchange(values, slot, used, state, everything, span, level, now)
                if status == STALLED:
                    return count, STALLED
                if status == MOVED:
                    count += 1
                    moved = True
        if moved and count % 4 > 1:
            continue

        # 2. Exchange four weights of two thresholds
        now = clock + count
        status = four_step(values, slot, used, upper, lower, tops, bottoms, level, now)
        if status == STALLED:
            return count, STALLED
        if status == MOVED:
            count += 1
        elif not moved:
            return count, REACHED
    return count, COUNTED


@jit_leaf
def four_step(values, slot, used, upper, lower, tops, bottoms, level, clock):
    """Raise both sums of one threshold and lower both of another, for the largest gain."""
    # 1. Find the thresholds whose sums gain most
    g = upper.g
    work = upper.work
    rising = np.inf
    falling = -np.inf
    i = j = k = m = tops[0, 0]
    y_up = y_down = 0
    for y in range(len(tops)):
        # both sums rise
        q, r, slope = _best_pair(g, upper.up, lower.down, 1.0, tops[y], bottoms[y], work)
        if slope < rising:
            rising = slope
            i = q
            j = r
            y_up = y

        # both sums fall
        q, r, slope = _best_pair(g, upper.down, lower.up, -1.0, tops[y], bottoms[y], work)
        if slope > falling:
            falling = slope
            k = q
            m = r
            y_down = y

    if y_up == y_down or falling - rising <= 2.0 * level:
        return REACHED

    # 2. Step to the minimum, or to a bound
    used[i] = used[j] = used[k] = used[m] = clock
    row_i = values[slot[i]]
    row_j = values[slot[j]]
    row_k = values[slot[k]]
    row_m = values[slot[m]]
    d = upper.diagonal
    curvature = d[i] + d[j] + d[k] + d[m] + 2.0 * (row_i[m] + row_j[k])
    curvature -= 2.0 * (row_i[j] + row_i[k] + row_j[m] + row_k[m])

    step_bound = min(upper.high[i] - upper.w[i], upper.w[k])
    step_bound = min(step_bound, min(lower.w[j] - lower.low[j], -lower.w[m]))
    step = step_bound
    if curvature > 0.0 and falling - rising < step * curvature:
        step = (falling - rising) / curvature

    # 3. Update gradient and weights
    for q in range(len(g)):
        g[q] += step * (row_i[q] - row_j[q] - row_k[q] + row_m[q])

    at_bound = step == step_bound
    moved = _change(upper, i, step, at_bound)
    moved = _change(lower, j, -step, at_bound) or moved
    moved = _change(upper, k, -step, at_bound) or moved
    moved = _change(lower, m, step, at_bound) or moved
    return MOVED if moved else STALLED


@jit_leaf
def _best_pair(g, top, bottom, sign, span, other, work):
    """Return the pair of a threshold that gains most, and the slope of the difference.

    The first sample is of the upper sum, in `span`, the second of the lower sum, in `other`.
    """
    q = least(g, top, sign, span[0], span[1], work)
    r = least(g, bottom, -sign, other[0], other[1], work)
    return q, r, (g[q] + top[q]) - (g[r] + bottom[r])


@jit_leaf
def _change(state, q, change, at_bound):
    """Change a weight, and return whether it moved; `at_bound` sets it exactly to a near bound."""
    w = state.w[q] + change
    if at_bound:
        # set weights exactly to the bound, without rounding errors
        width = state.high[q] - state.low[q]
        if state.high[q] - w < 10 * ROUNDING * width:
            w = state.high[q]
        elif w - state.low[q] < 10 * ROUNDING * width:
            w = state.low[q]

    moved = w != state.w[q]
    state.w[q] = w
    mark(state, q)
    return moved


def factor_of_few(store: Any) -> Array | None:
    """Return F (r, n) with `F' F = K` up to rounding, or None if r exceeds `FEW_DIRECTIONS`.

    This is the Cholesky factorisation with the largest residual as pivot. A linear kernel of few
    columns has such a factor, whatever the number of samples.
    """
    residual = store.diagonal.copy()
    floor = 10 * ROUNDING * float(residual.max(initial=0.0))
    F = np.zeros((0, store.n))
    while residual.max() > floor:
        if len(F) == FEW_DIRECTIONS:
            return None
        # compute the row of the largest residual, minus the part that the factor explains
        pivot = int(residual.argmax())
        (kernel_row,) = store.compute(np.array([pivot]))
        row = kernel_row - F[:, pivot] @ F
        row /= np.sqrt(residual[pivot])
        F = np.vstack([F, row])
        residual -= row * row
        # set the residual exactly to zero, so that rounding errors do not choose the row again
        residual[pivot] = 0.0
    return F


def factor_for_cvxpy(store: Any) -> Array:
    """Return a factor of the kernel matrix with at most `CVXPY_LIMIT` or `FEW_DIRECTIONS` rows."""
    if store.n <= CVXPY_LIMIT:
        return gram_factor(all_rows(store))

    factor = factor_of_few(store)
    if factor is None:
        raise ValueError(
            f"The cone solver accepts at most {CVXPY_LIMIT} samples, or kernels of rank up to "
            f"{FEW_DIRECTIONS} such as linear ones, got {store.n}; it is used by solver='cvxpy', "
            "and by order='enforced' if the free thresholds are out of order."
        )
    return factor


def nu_ranking_by_cvxpy(
    factor: Array, segments: Array, bounds: Array, *, enforced: bool, tol: float
) -> Ranking:
    """Solve the dual with a cone solver, and find thresholds and margin by a linear program.

    `factor` (r, n) gives the kernel matrix `factor' factor`. With `enforced` the thresholds are in
    order; a weight for each pair of neighbours then moves mass between them.
    """
    program = ranking_program(factor, segments, bounds, enforced)
    if not solve(program, solver="CLARABEL", **ACCURATE):
        raise ValueError("solver='cvxpy' failed: CLARABEL found no solution; rescale X.")

    # set small weights to zero, because an interior point method does not return exact zeros
    a = np.asarray(program.variable.value) * float(bounds.max())
    size = np.abs(a)
    a[size < ZERO_WEIGHT * size.max()] = 0.0

    f = factor.T @ (factor @ a)
    square = float(a @ f)
    norm = float(np.sqrt(max(square, 0.0)))
    norms = np.linalg.norm(factor, axis=0)
    unit = float(norms.max())

    if norm <= FLAT * unit:
        return _flat_ranking(a, norm, unit, segments, 1)

    # scale the function to norm one, and compute the value of the primal objective
    f = f / norm
    b, margin = thresholds_by_program(f, segments, bounds, enforced)
    value = ranking_value(f, b, margin, segments, bounds)
    gap = relative_gap(value, -norm, unit=max(margin, norm))
    certified = Certified(b, margin, value, norm, gap)
    return _scaled_ranking(a, certified, 1, tol=tol)


def thresholds_by_program(
    f: Array, segments: Array, bounds: Array, enforced: bool
) -> tuple[Array, float]:
    """Return thresholds and margin of least loss for given values, by a linear program."""
    n_b = len(segments) - 1
    # collect the rows of the losses; each has a slack variable
    blocks = []
    rights = []
    costs = []
    for y, (first, last) in enumerate(segments):
        for k, sign in ((y, 1.0), (y - 1, -1.0)):  # sign (f - b_k) + margin <= slack
            if 0 <= k < n_b:
                indicator = np.eye(n_b)[k]
                row = np.r_[-sign * indicator, 1.0]
                blocks.append(np.tile(row, (last - first, 1)))
                rights.append(-sign * f[first:last])
                costs.append(bounds[first:last])
    constraints = np.concatenate(blocks)
    right = np.concatenate(rights)
    cost = np.concatenate(costs)

    n_slack = len(constraints)
    losses = sparse.csr_array(constraints)
    slack = sparse.eye_array(n_slack)
    A: Any = sparse.hstack([losses, -slack])

    # require b_k <= b_(k + 1)
    if enforced and n_b > 1:
        n_pairs = n_b - 1
        pairs = np.arange(n_pairs)
        order = np.zeros((n_pairs, n_b + 1 + n_slack))
        order[pairs, pairs] = 1.0
        order[pairs, pairs + 1] = -1.0
        A = sparse.vstack([A, sparse.csr_array(order)])
        zeros = np.zeros(n_pairs)
        right = np.r_[right, zeros]

    # minimise the loss; thresholds and margin have no bounds
    no_losses = np.zeros(n_b)
    c = np.r_[no_losses, -1.0, cost]
    limits = [(None, None)] * (n_b + 1) + [(0, None)] * n_slack
    solver: Any = optimize.linprog
    result = solver(c, A_ub=A.tocsr(), b_ub=right, bounds=limits)

    x = result.x
    if x is None:
        raise ValueError(f"The linear program of the thresholds failed: {result.message}")
    thresholds = np.asarray(x[:n_b])
    margin = float(x[n_b])
    return thresholds, margin
