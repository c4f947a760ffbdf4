"""The quadratic program of support vector machines, by steps along pairs of weights.

With one signed weight `w_i` for each sample and a kernel matrix K, five machines minimise

    f(w) = 1/2 w' K w + 1/2 sum_i ridge_i w_i^2 + sum_i linear_i w_i + tube |w|_1

with `low <= w <= high`, where the weights of a segment of the samples keep their sum:

    ====================  =============  =============  =========  ====  ========================
    machine               low, high      ridge          linear     tube  sums
    ====================  =============  =============  =========  ====  ========================
    SVDD                  0, u           0              -k_ii / 2  0     1
    L2SVC (nearest hulls) 0, inf (-inf, 0)  1 / (2 C c) 0          0     1 and -1 in the classes
    L2SVR                 -inf, inf      1 / (2 C c)    -y         eps   0
    adatron               0, C (-C, 0)   0, 1 / (2 C)   -y, -y     0     none
    adatron, regression   -C, C          0              -y         eps   none
    ====================  =============  =============  =========  ====  ========================

`nu_ranking` has the ranking machine, whose sums are coupled.

Rows first: the sub-problem of the samples whose kernel rows are stored is solved to a level of the
slopes, then the rows of the worst violators among the others are brought. Every sample stays in
the gradient, so that the certificate is that of the whole problem at any time. A store that is too
small for the support throws away few rows that are needed again.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.typing import Array

ROWS_TOGETHER = 64  # rows asked for at a time
BLOCKED = 1e200  # stands for an infinite gradient at a bound, or where the row is missing
# steps, or 100 for each sample, after which the gap is looked at in any case
STEPS_BETWEEN_GAPS = 100_000
# Maximum number of steps for each sample unless the caller sets one: kernels of huge values, whose
# pairs are nearly parallel, would take millions for a gap that no longer falls.
MOST_STEPS_PER_SAMPLE = 1000
# Minimum of this maximum: about a second.
LEAST_MAXIMUM = 1_000_000
REACHED = 0
COUNTED = 1
STALLED = 2
MOVED = 3
MOST_LEVELS = 100
POLISHED = 500  # samples up to which the optimum is found to rounding, whatever the tolerance
STEPS_OF_POLISH = 200  # for each sample, at most


class Rows(Protocol):
    """A kernel matrix of which rows are computed when they are asked for."""

    values: Array
    slot: Array  # place of each row in `values`, -1 if it is not stored
    used: Array  # time of its last use
    clock: int
    diagonal: Array
    n_evaluations: int  # kernel values computed

    def bring(self, wanted: Array) -> None:
        """Compute missing rows; the least recently used make room."""

    def compute(self, wanted: Array) -> Array:
        """Rows in double precision, not kept."""

    def product(self, weights: Array) -> Array:
        """Product of the matrix with weights."""


class BoxState(NamedTuple):
    """Weights, gradient of the smooth part, and what the passes read."""

    w: Array
    g: Array  # K w + ridge w + linear
    up: Array  # g + up: slope of f when the weight rises, 1e200 at the upper bound
    down: Array  # g + down: slope of f when the weight falls, from above
    diagonal: Array  # of K + diag(ridge)
    ridge: Array
    low: Array
    high: Array
    tube: float


class BoxResult(NamedTuple):
    """Weights, the gradient of the smooth part there, and what was reached."""

    w: Array
    gradient: Array
    gap: float
    n_iter: int
    converged: bool


def box_state(
    store: Rows, w: Array, *, low: Array, high: Array, ridge: Array, linear: Array, tube: float
) -> BoxState:
    """State of the program at weights w."""
    w = np.array(w, dtype=np.float64)
    g = store.product(w) + ridge * w + linear
    up = np.empty(len(w))
    down = np.empty(len(w))
    diagonal = store.diagonal + ridge
    state = BoxState(w, g, up, down, diagonal, ridge, low, high, tube)
    mark_all(state, np.array([[0, len(w)]]))
    return state


def box_qp(
    store: Rows,
    state: BoxState,
    segments: Array,
    gap: Callable[[Array, Array], float],
    *,
    tol: float,
    max_iter: int = -1,
    progress: Progress | None = None,
) -> BoxResult:
    """Minimise f by pairwise steps of second-order choice [Fan, Chen and Lin 2005], in place.

    Parameters
    ----------
    store : Rows
        The kernel matrix.
    state : BoxState
        The start, which keeps the sums.
    segments : ndarray of int of shape (n_segments, 2)
        First sample of each segment and the one after the last; they take turns.
    gap : function
        Relative duality gap from weights and gradient.
    tol : float
        Gap to reach. The slopes inside a segment are brought together to ever lower levels, and
        the gap is computed at each.
    max_iter : int
        Maximum number of steps; -1 means 1000 for each sample, and at least 1 000 000.
    progress : Progress or None
        Told of each level.
    """
    low, high = slopes(state, segments)
    level = max(float((high - low).max(initial=0.0)), 0.0)
    least = 1e-15 * float(np.abs(state.diagonal * state.w).max(initial=0.0)) + 1e-300
    count = 0
    turn = 0
    chunk = max(STEPS_BETWEEN_GAPS, 100 * len(state.w))
    if max_iter < 0:
        max_iter = max(LEAST_MAXIMUM, MOST_STEPS_PER_SAMPLE * len(state.w))

    # 1. down to ever lower levels, until the gap is small enough
    it = Iterations(MOST_LEVELS, tol, progress)
    for _ in it:
        factor = next_level(it.residual, tol)
        level = max(factor * level, least)
        budget = chunk if max_iter < 0 else min(chunk, max_iter - count)
        done, turn, status = _to_level(store, state, segments, level, turn, budget)
        count += done
        it.residual = gap(state.w, state.g)
        if status == COUNTED:
            level /= factor  # not reached yet
        if it.residual > tol:
            at_end = level <= least and status == REACHED
            it.ended = status == STALLED or at_end or 0 <= max_iter <= count
    result = BoxResult(state.w, state.g, it.residual, count, it.residual <= tol)

    # 2. few samples: on to rounding
    if it.converged and len(state.w) <= POLISHED:
        result = result._replace(w=state.w.copy(), gradient=state.g.copy())
        level = 1e-13 * float(np.abs(state.g).max(initial=0.0))
        polish = STEPS_OF_POLISH * len(state.w)
        if max_iter >= 0:
            polish = min(polish, max_iter - count)
        count += _to_level(store, state, segments, level, turn, polish)[0]
        reached = gap(state.w, state.g)
        if reached <= result.gap:  # steps lower the objective, but not always the gap
            return BoxResult(state.w, state.g, reached, count, True)
    return result._replace(n_iter=count)


def next_level(gap: float, tol: float) -> float:
    """Factor of the next level: the gap falls as its square, and is to end a little below `tol`.

    A constant factor ends far below the level that is needed, with many more steps.
    """
    aim = 0.95 * (tol / gap) ** 0.5 if 0.0 < gap < 1.0 else 0.0
    return min(0.9, max(0.4, aim))


def _to_level(
    store: Rows, state: BoxState, segments: Array, level: float, turn: int, budget: int
) -> tuple[int, int, int]:
    """Step until the slopes of each segment are within `level`, rows first.

    Returns the number of steps, the segment whose turn it is, and the status.
    """
    count = 0
    status = REACHED
    violation = np.empty(len(state.w))
    while status == REACHED:
        # 1. look at all samples, whether their rows are stored or not
        worst, i, j, n_missing = violations(state, store.slot, segments, violation)
        if worst <= level:
            break

        # 2. with the rows of the worst pair a step is certain
        if n_missing:
            bring_worst(store, violation, np.array([i, j]), level)
        done, turn, status = pair_steps(
            store.values, store.slot, store.used, state, segments,
            (level, turn, store.clock, budget - count),
        )  # fmt: skip
        store.clock += done
        count += done
        if n_missing == 0:
            break
        if done == 0 and status == REACHED:  # rounding
            status = STALLED
    return count, turn, status


def bring_worst(store: Rows, violation: Array, ends: Array, level: float) -> None:
    """Bring the missing rows of `ends`, and of the worst violators above `level`, 64 in all.

    Those that violate by less than half of the worst wait: steps along the others may mend them.
    `violation` is zero where the row is stored, and is overwritten.
    """
    store.used[ends] = store.clock + 1  # of a full store others are thrown away
    ends = ends[store.slot[ends] < 0]
    violation[ends] = 0.0
    enough = max(level, 0.5 * float(violation.max()))
    violation[ends] = np.inf
    wanted = np.flatnonzero(violation > enough)
    if len(wanted) > ROWS_TOGETHER:
        worst = np.argpartition(-violation[wanted], ROWS_TOGETHER)[:ROWS_TOGETHER]
        wanted = wanted[np.sort(worst)]
    if len(wanted):
        store.bring(wanted)


def slopes(state: BoxState, segments: Array) -> tuple[Array, Array]:
    """Smallest slope upwards and largest slope downwards in each segment."""
    up = state.g + state.up
    down = state.g + state.down
    lowest = [up[first:last].min() for first, last in segments]
    highest = [down[first:last].max() for first, last in segments]
    return np.array(lowest), np.array(highest)


@jit
def violations(state, slot, segments, violation):
    """How far samples are from their best partners in their segments, where the row is missing.

    Writes it into `violation`, zero for the others. Returns the largest of all samples, its pair,
    and the number of missing rows.
    """
    g = state.g
    up = state.up
    down = state.down
    worst = 0.0
    i_worst = -1
    j_worst = -1
    n_missing = 0
    violation[:] = 0.0
    for s in range(len(segments)):
        first, last = segments[s]
        i = least(g, up, 1.0, first, last)
        j = least(g, down, -1.0, first, last)
        low = g[i] + up[i]
        high = g[j] + down[j]
        if high - low > worst:
            worst = high - low
            i_worst = i
            j_worst = j
        for q in range(first, last):
            # how far the slope is from that of the best partner, either way
            if slot[q] < 0:
                n_missing += 1
                violation[q] = max(g[q] + down[q] - low, high - g[q] - up[q])

    return worst, i_worst, j_worst, n_missing


@jit
def mark_all(state, segments):
    """Set `up` and `down` of the samples of segments from their weights."""
    for s in range(len(segments)):
        for i in range(segments[s, 0], segments[s, 1]):
            mark(state, i)


@jit
def wall_off(state, slot, segments):
    """Keep the weights of samples whose rows are missing where they are."""
    for s in range(len(segments)):
        for i in range(segments[s, 0], segments[s, 1]):
            if slot[i] < 0:
                state.up[i] = BLOCKED
                state.down[i] = -BLOCKED


@jit
def mark(state, i):
    """Set `up` and `down` of a sample: the slope of `tube |w|`, and a wall at the bounds."""
    w = state.w[i]
    tube = state.tube
    state.up[i] = tube if w >= 0.0 else -tube
    state.down[i] = tube if w > 0.0 else -tube
    if w >= state.high[i]:
        state.up[i] = BLOCKED
    if w <= state.low[i]:
        state.down[i] = -BLOCKED


@jit
def least(g, plus, sign, first, last):
    """Index of the smallest `g + plus` of a segment, of the largest if the sign is negative.

    Whole numbers, whose order is that of the floating-point numbers, have minima that the compiler
    takes eight at a time: here and in `partner` two to three times as fast as the plain loop.
    """
    size = last - first
    last_bits = 0x7FFFFFFFFFFFFFFF
    g = g[first:last]
    plus = plus[first:last]
    sums = np.empty(size)
    bits = sums.view(np.int64)
    lowest = last_bits
    index = size
    for q in range(size):
        sums[q] = sign * (g[q] + plus[q])
    for q in range(size):  # the bits of negative numbers count backwards
        lowest = min(lowest, bits[q] ^ ((bits[q] >> 63) & last_bits))
    for q in range(size):
        index = min(index, q if bits[q] ^ ((bits[q] >> 63) & last_bits) == lowest else size)
    return first + index


@jit
def partner(g, plus, diagonal, row, i, low, first, last):
    """Index of the segment that gains most in exchange with i, and the largest rise of slopes.

    The gain is `rise^2 / curvature`, `rise = g + plus - low` where that is positive.
    """
    size = last - first
    own = diagonal[i]
    g = g[first:last]
    plus = plus[first:last]
    diagonal = diagonal[first:last]
    row = row[first:last]
    # none negative
    rises = np.empty(size)
    gains = np.empty(size)
    rise_bits = rises.view(np.int64)
    gain_bits = gains.view(np.int64)
    for q in range(size):
        rise = max(g[q] + plus[q] - low, 0.0)
        rises[q] = rise
        # in this order the square of tiny kernel values is no zero
        gains[q] = rise * (rise / max(own + diagonal[q] - 2.0 * row[q], 1e-300))
    best = 0
    high = 0
    j = size
    for q in range(size):
        best = max(best, gain_bits[q])
        high = max(high, rise_bits[q])

    # the first of the largest gain, by its bits
    for q in range(size):
        j = min(j, q if gain_bits[q] == best else size)
    rise_bits[0] = high
    return first + j if best > 0 else -1, rises[0]


@jit
def room_up(state, i):
    """How far a weight can rise before a bound or, with a tube, zero."""
    w = state.w[i]
    return -w if w < 0.0 and state.tube > 0.0 else state.high[i] - w


@jit
def room_down(state, j):
    """How far a weight can fall before a bound or, with a tube, zero."""
    w = state.w[j]
    return w if w > 0.0 and state.tube > 0.0 else w - state.low[j]


@jit
def exchange(state, row_i, row_j, i, j, step, segments):
    """Move `step` from weight j to weight i; the gradient in all segments follows."""
    g = state.g
    w = state.w
    up = room_up(state, i)
    down = room_down(state, j)

    # gradient: the step times the difference of two columns of K + diag(ridge)
    for s in range(len(segments)):
        first, last = segments[s]
        g_segment = g[first:last]
        K_i = row_i[first:last]
        K_j = row_j[first:last]
        for q in range(last - first):
            g_segment[q] += step * (K_i[q] - K_j[q])
    g[i] += step * state.ridge[i]
    g[j] -= step * state.ridge[j]

    # weights: exactly to the bound, or to the edge of the tube, so that rounding leaves nothing
    # before it
    end_i = 0.0 if w[i] < 0.0 < state.tube else state.high[i]
    end_j = 0.0 if w[j] > 0.0 < state.tube else state.low[j]
    w[i] = w[i] + step if step < up else end_i
    w[j] = w[j] - step if step < down else end_j
    mark(state, i)
    mark(state, j)


@jit
def try_exchange(values, slot, used, state, segments, span, level, clock):
    """Exchange the best pair of a segment `span`, if its slopes are further apart than `level`.

    The gradient follows in all `segments`. Samples whose rows are missing have walls. Returns the
    status: MOVED, REACHED where slopes are together, or STALLED.
    """
    # 1. the sample that gains most by rising
    first, last = span
    i = least(state.g, state.up, 1.0, first, last)
    low = state.g[i] + state.up[i]
    if low > 0.5 * BLOCKED:  # no weight can rise
        return REACHED
    used[i] = clock
    row_i = values[slot[i]]

    # 2. its partner, of second order [Fan, Chen and Lin 2005, WSS 2]
    j, rise = partner(state.g, state.down, state.diagonal, row_i, i, low, first, last)
    if j < 0 or rise <= level:
        return REACHED
    used[j] = clock
    row_j = values[slot[j]]

    # 3. the step: to the minimum of f, or to a bound
    step = min(room_up(state, i), room_down(state, j))
    curvature = state.diagonal[i] + state.diagonal[j] - 2.0 * row_i[j]
    rise = state.g[j] + state.down[j] - low
    if curvature > 0.0 and rise < step * curvature:
        step = rise / curvature
    if not step < BLOCKED:  # no bound and no curvature
        return STALLED
    if state.w[i] + step == state.w[i] and state.w[j] - step == state.w[j]:
        return STALLED
    exchange(state, row_i, row_j, i, j, step, segments)
    return MOVED


@jit
def pair_steps(values, slot, used, state, segments, limits):
    """Exchange weights of samples whose rows are stored until the slopes of segments are together.

    `limits` are the level of the slopes to reach, the segment whose turn it is, the time, and the
    number of steps at most. Returns the steps, the segment and the status.
    """
    wall_off(state, slot, segments)
    level, turn, clock, max_steps = limits
    count = 0
    quiet = 0
    status = COUNTED
    while count < max_steps:
        status = try_exchange(
            values, slot, used, state, segments, segments[turn], level, clock + count
        )
        if status == STALLED:
            break

        # segments in turn, until a round without a step
        turn = (turn + 1) % len(segments)
        if status == MOVED:
            count += 1
            quiet = 0
            continue
        quiet += 1
        if quiet == len(segments):
            break

    mark_all(state, segments)  # the walls come down
    return count, turn, COUNTED if status == MOVED else status
