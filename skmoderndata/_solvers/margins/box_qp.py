"""The quadratic program of support vector machines, by steps along pairs of weights.

With one signed weight `w_i` for each sample and a kernel matrix K, five machines minimise

    f(w) = 1/2 w' K w + 1/2 sum_i ridge_i w_i^2 + sum_i linear_i w_i + tube |w|_1

subject to `low <= w <= high` and to fixed sums of the weights in segments of the samples:

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

Differs from the paper [Fan, Chen and Lin 2005]: 1. The subproblem of the samples whose kernel rows
are stored is solved to a level of the slopes; then the rows of the worst violators among the
remaining samples are computed. A store that is too small for the support discards few rows that
are needed again. 2. Levels fall until the relative duality gap is small enough. Every sample stays
in the gradient, so this is always the gap of the complete problem. 3. A ridge, a tube and several
segments are allowed.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.tolerances import PROGRESS, ROUNDING, SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array

# Number of kernel rows that are computed at a time, and number of rows used to find a start.
ROWS_TOGETHER = 64
# Maximum number of steps per sample between two computations of the gap.
STEPS_PER_GAP = 100
# Maximum number of steps per sample, unless the caller sets a limit. Huge kernel values make
# samples nearly parallel; a fit would then take millions of steps although the gap no longer
# falls.
MOST_STEPS_PER_SAMPLE = 1000
# Smallest default for the maximum number of steps; one million steps take about a second.
LEAST_MAXIMUM = 1_000_000
# Largest integer of 64 bits, which has all bits of a double set except the sign.
LARGEST = np.int64(0x7FFFFFFFFFFFFFFF)
# Status codes of the compiled steps: level reached, out of steps, no progress, one step taken.
REACHED, COUNTED, STALLED, MOVED = range(4)
# Maximum number of levels for the slopes, each lower than the one before.
MOST_LEVELS = 100
# Maximum number of samples for which the optimum is computed up to rounding errors, whatever the
# tolerance.
POLISHED = 500
# Ratio of the next level of the slopes to the current one, if the optimum is computed up to
# rounding errors anyway: fewer levels then save computations of the gap, each of which takes as
# long as fifty steps.
FALL_BEFORE_POLISH = 0.01
# Maximum number of further steps per sample, or of further passes, after the tolerance has been
# met.
STEPS_OF_POLISH = 500


class Rows(Protocol):
    """A kernel matrix whose rows are computed when they are needed."""

    values: Array
    slot: Array  # position of each row in `values`, -1 if the row is not stored
    used: Array  # time of the last use of each row
    clock: int
    diagonal: Array
    n_evaluations: int  # number of kernel values computed so far

    def bring(self, rows: Array) -> None:
        """Compute missing rows, replacing the least recently used ones if the store is full."""

    def compute(self, rows: Array) -> Array:
        """Return rows in double precision, without storing them."""

    def product(self, weights: Array) -> Array:
        """Return the product of the matrix with weights."""


class BoxState(NamedTuple):
    """Weights, gradient of the smooth part, and the arrays that the passes read."""

    w: Array
    g: Array  # K w + ridge w + linear
    up: Array  # g + up is the slope of f if the weight rises; it is inf at the upper bound
    # g + down is the slope of f if the weight falls; it is -inf at the lower bound
    down: Array
    diagonal: Array  # diagonal of K + diag(ridge)
    ridge: Array
    low: Array
    high: Array
    tube: float
    work: tuple[Array, Array]  # see `work_space`


class BoxResult(NamedTuple):
    """Weights, the gradient of the smooth part, and the duality gap."""

    w: Array
    gradient: Array
    gap: float
    n_iter: int
    converged: bool


def box_state(
    store: Rows, w: Array, *, low: Array, high: Array, ridge: Array, linear: Array, tube: float
) -> BoxState:
    """Return the state of the program at weights w."""
    w = np.array(w, dtype=np.float64)
    g = store.product(w) + ridge * w + linear
    up = np.empty(len(w))
    down = np.empty(len(w))
    diagonal = store.diagonal + ridge
    work = work_space(len(w))
    state = BoxState(w, g, up, down, diagonal, ridge, low, high, tube, work)
    mark_all(state, np.array([[0, len(w)]]))
    return state


def work_space(n: int) -> tuple[Array, Array]:
    """Allocate two rows of n numbers for `least` and `partner`, and return them and their bits."""
    values = np.empty((2, n))
    return values, values.view(np.int64)


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
    """Minimise f, in place, by pairwise steps of second-order choice [Fan, Chen and Lin 2005].

    Parameters
    ----------
    store : Rows
        The kernel matrix.
    state : BoxState
        State at the start, whose sums are preserved.
    segments : ndarray of int of shape (n_segments, 2)
        First sample of each segment and the one after the last; steps alternate between them.
    gap : function
        Function from weights and gradient to the relative duality gap.
    tol : float
        Gap to reach. The slopes inside a segment are brought together to lower and lower levels,
        and the gap is computed at each level.
    max_iter : int
        Maximum number of steps; -1 means 1000 for each sample, and at least 1 000 000.
    progress : Progress or None
        Progress, reported at each level.
    """
    low, high = slopes(state, segments)
    level = max(float((high - low).max(initial=0.0)), 0.0)
    least = lowest_level(state)
    count = 0
    turn = 0
    chunk = STEPS_PER_GAP * len(state.w)
    if max_iter < 0:
        max_iter = max(LEAST_MAXIMUM, MOST_STEPS_PER_SAMPLE * len(state.w))

    # 1. Lower the level until the gap is small enough
    few = len(state.w) <= POLISHED
    it = Iterations(MOST_LEVELS, tol, progress)
    for _ in it:
        factor = FALL_BEFORE_POLISH if few else next_level(it.residual, tol)
        level = max(factor * level, least)
        budget = chunk if max_iter < 0 else min(chunk, max_iter - count)
        done, turn, status = _to_level(store, state, segments, level, turn, budget)
        count += done
        it.residual = gap(state.w, state.g)
        if status == COUNTED:
            level /= factor  # try this level again, because the steps did not reach it
        if it.residual > tol:
            at_end = level <= least and status == REACHED
            it.ended = status == STALLED or at_end or 0 <= max_iter <= count
    result = BoxResult(state.w, state.g, it.residual, count, it.residual <= tol)

    # 2. If there are few samples, solve to within rounding errors
    if it.converged and few:
        result = result._replace(w=state.w.copy(), gradient=state.g.copy())
        level = 10 * ROUNDING * float(np.abs(state.g).max(initial=0.0))
        polish = STEPS_OF_POLISH * len(state.w)
        if max_iter >= 0:
            polish = min(polish, max_iter - count)
        count += _to_level(store, state, segments, level, turn, polish)[0]
        reached = gap(state.w, state.g)
        if reached <= result.gap:  # steps always lower the objective, but not always the gap
            return BoxResult(state.w, state.g, reached, count, True)
    return result._replace(n_iter=count)


def all_rows(store: Rows) -> Array:
    """Return the kernel matrix of all samples of a store."""
    n = len(store.diagonal)
    starts = range(0, n, ROWS_TOGETHER)
    blocks = [np.arange(n)[start : start + ROWS_TOGETHER] for start in starts]
    return np.concatenate([store.compute(block) for block in blocks])


def lowest_level(state: BoxState) -> float:
    """Return the level of the slopes at which only rounding errors are left."""
    size = float(np.abs(state.diagonal * state.w).max(initial=0.0))
    return ROUNDING / 10 * size + SMALLEST_DIVISOR


def next_level(gap: float, tol: float) -> float:
    """Return the factor of the next level, chosen so that the gap ends a little below `tol`.

    The gap falls as the square of the level. A constant factor would end far below the level that
    is needed, after many more steps.
    """
    aim = 0.95 * (tol / gap) ** 0.5 if 0.0 < gap < 1.0 else 0.0
    return min(PROGRESS, max(0.4, aim))


def _to_level(
    store: Rows, state: BoxState, segments: Array, level: float, turn: int, budget: int
) -> tuple[int, int, int]:
    """Step until the slopes of each segment are within `level`, using stored rows first.

    Returns the number of steps, the segment of the next step, and the status.
    """
    count = 0
    status = REACHED
    violation = np.empty(len(state.w))
    while status == REACHED:
        # 1. Find the worst pair of all samples, and the violations of samples with missing rows
        worst, i, j, n_missing = violations(state, store.slot, segments, violation)
        if worst <= level:
            break

        # 2. Compute the rows of the worst pair, so that at least one step is possible
        if n_missing:
            bring_worst(store, violation, np.array([i, j]), level)
        limits = (level, turn, store.clock, budget - count)
        done, turn, status = pair_steps(
            store.values, store.slot, store.used, state, segments, limits
        )
        store.clock += done
        count += done
        if n_missing == 0:
            break
        if done == 0 and status == REACHED:  # only rounding errors are left
            status = STALLED
    return count, turn, status


def bring_worst(store: Rows, violation: Array, ends: Array, level: float) -> None:
    """Compute missing rows of `ends` and of the worst violators above `level`, up to 64 in all.

    Samples with less than half of the largest violation wait, because steps along other weights
    may remove their violation. `violation` is zero for stored rows, and is overwritten.
    """
    store.used[ends] = store.clock + 1  # new rows must replace other rows
    ends = ends[store.slot[ends] < 0]
    violation[ends] = 0.0
    enough = max(level, 0.5 * float(violation.max()))
    violation[ends] = np.inf
    rows = np.flatnonzero(violation > enough)
    if len(rows) > ROWS_TOGETHER:
        worst = np.argpartition(-violation[rows], ROWS_TOGETHER)[:ROWS_TOGETHER]
        rows = rows[np.sort(worst)]
    if len(rows):
        store.bring(rows)


def slopes(state: BoxState, segments: Array) -> tuple[Array, Array]:
    """Return the smallest slope upwards and the largest slope downwards in each segment."""
    up = state.g + state.up
    down = state.g + state.down
    lowest = [up[first:last].min() for first, last in segments]
    highest = [down[first:last].max() for first, last in segments]
    return np.array(lowest), np.array(highest)


@jit_leaf
def violations(state, slot, segments, violation):
    """Compute how far samples with missing rows are from their best partners in their segments.

    Writes this into `violation`, with zeros for stored rows. Returns the largest violation of all
    samples, its pair, and the number of missing rows.
    """
    g = state.g
    up = state.up
    down = state.down
    worst = 0.0
    i_worst = -1
    j_worst = -1
    n_missing = 0
    for q in range(len(violation)):
        violation[q] = 0.0
    for s in range(len(segments)):
        first = segments[s, 0]
        last = segments[s, 1]
        i = least(g, up, 1.0, first, last, state.work)
        j = least(g, down, -1.0, first, last, state.work)
        low = g[i] + up[i]
        high = g[j] + down[j]
        if high - low > worst:
            worst = high - low
            i_worst = i
            j_worst = j
        for q in range(first, last):
            # compute the difference between the slope and the slope of the best partner, in both
            # directions
            if slot[q] < 0:
                n_missing += 1
                violation[q] = max(g[q] + down[q] - low, high - g[q] - up[q])

    return worst, i_worst, j_worst, n_missing


@jit_leaf
def mark_all(state, segments):
    """Set `up` and `down` of the samples in segments from their weights."""
    for s in range(len(segments)):
        for i in range(segments[s, 0], segments[s, 1]):
            mark(state, i)


@jit_leaf
def wall_off(state, slot, segments):
    """Block changes of the weights of samples whose rows are missing."""
    for s in range(len(segments)):
        for i in range(segments[s, 0], segments[s, 1]):
            if slot[i] < 0:
                state.up[i] = np.inf
                state.down[i] = -np.inf


@jit_leaf
def mark(state, i):
    """Set `up` and `down` of a sample: the slope of `tube |w|`, and infinity at the bounds."""
    w = state.w[i]
    tube = state.tube
    state.up[i] = tube if w >= 0.0 else -tube
    state.down[i] = tube if w > 0.0 else -tube
    if w >= state.high[i]:
        state.up[i] = np.inf
    if w <= state.low[i]:
        state.down[i] = -np.inf


@jit_leaf
def least(g, plus, sign, first, last, work):
    """Return the index of the smallest `g + plus` of a segment; the largest if `sign` is -1."""
    size = last - first
    g = g[first:last]
    plus = plus[first:last]
    values, bits = work
    sums = values[0]
    for q in range(size):
        sums[q] = sign * (g[q] + plus[q])
    return first + smallest(bits[0, :size])


@jit_leaf
def smallest(bits):
    """Return the index of the smallest value, the first of equal ones, from the bits of values.

    The bit patterns of floating-point numbers, read as integers, have the same order. The compiler
    vectorises minima of integers, eight at a time: here and in `partner` this takes a half to a
    third of the time of the plain loop.
    """
    size = len(bits)
    lowest = LARGEST
    index = size
    for q in range(size):
        lowest = min(lowest, in_order(bits[q]))
    for q in range(size):
        index = min(index, q if in_order(bits[q]) == lowest else size)
    return index


@jit_leaf
def in_order(bits):
    """Reverse the order of the bit patterns of negative numbers."""
    return bits ^ ((bits >> 63) & LARGEST)


@jit_leaf
def partner(g, plus, diagonal, row, i, low, first, last, work):
    """Return the index that gains most in an exchange with i, and the largest rise of slopes.

    The gain is `rise^2 / curvature` with `rise = g + plus - low`, if that is positive.
    """
    size = last - first
    curvature_i = diagonal[i]
    g = g[first:last]
    plus = plus[first:last]
    diagonal = diagonal[first:last]
    row = row[first:last]
    # rises and gains are not negative, so their bit patterns are in the same order as the values
    values, bits = work
    rises = values[0]
    gains = values[1]
    rise_bits = bits[0]
    gain_bits = bits[1]
    for q in range(size):
        rise = max(g[q] + plus[q] - low, 0.0)
        rises[q] = rise
        # multiply in this order, so that squares of tiny kernel values do not underflow
        gains[q] = rise * (
            rise / max(curvature_i + diagonal[q] - 2.0 * row[q], SMALLEST_DIVISOR)
        )
    best = 0
    high = 0
    j = size
    for q in range(size):
        best = max(best, gain_bits[q])
        high = max(high, rise_bits[q])

    # find the first index with the largest gain, by comparing bit patterns
    for q in range(size):
        j = min(j, q if gain_bits[q] == best else size)
    rise_bits[0] = high
    return first + j if best > 0 else -1, rises[0]


@jit_leaf
def room_up(state, i):
    """Return how far a weight can rise before a bound or, with a tube, zero."""
    w = state.w[i]
    return -w if w < 0.0 and state.tube > 0.0 else state.high[i] - w


@jit_leaf
def room_down(state, j):
    """Return how far a weight can fall before a bound or, with a tube, zero."""
    w = state.w[j]
    return w if w > 0.0 and state.tube > 0.0 else w - state.low[j]


@jit_leaf
def exchange(state, row_i, row_j, i, j, step, segments):
    """Move `step` from weight j to weight i, and update the gradient in all segments."""
    g = state.g
    w = state.w
    up = room_up(state, i)
    down = room_down(state, j)

    # update the gradient: add the step times the difference of two columns of K + diag(ridge)
    for s in range(len(segments)):
        first = segments[s, 0]
        last = segments[s, 1]
        g_segment = g[first:last]
        K_i = row_i[first:last]
        K_j = row_j[first:last]
        for q in range(last - first):
            g_segment[q] += step * (K_i[q] - K_j[q])
    g[i] += step * state.ridge[i]
    g[j] -= step * state.ridge[j]

    # update the weights; a weight that reaches a bound or, with a tube, zero is set exactly to it
    end_i = 0.0 if w[i] < 0.0 < state.tube else state.high[i]
    end_j = 0.0 if w[j] > 0.0 < state.tube else state.low[j]
    w[i] = w[i] + step if step < up else end_i
    w[j] = w[j] - step if step < down else end_j
    mark(state, i)
    mark(state, j)


@jit_leaf
def try_exchange(values, slot, used, state, segments, span, level, clock):
    """Exchange the best pair of a segment `span`, if its slopes are further apart than `level`.

    Updates the gradient in all `segments`. Samples whose rows are missing are blocked. Returns the
    status: MOVED, REACHED if the slopes are within `level`, or STALLED.
    """
    # 1. Choose the sample whose weight lowers f most steeply by rising
    first = span[0]
    last = span[1]
    i = least(state.g, state.up, 1.0, first, last, state.work)
    low = state.g[i] + state.up[i]
    if low == np.inf:  # no weight can rise
        return REACHED
    used[i] = clock
    row_i = values[slot[i]]

    # 2. Choose its partner by second-order information [Fan, Chen and Lin 2005, WSS 2]
    j, rise = partner(
        state.g, state.down, state.diagonal, row_i, i, low, first, last, state.work
    )
    if j < 0 or rise <= level:
        return REACHED
    used[j] = clock
    row_j = values[slot[j]]

    # 3. Step to the minimum of f, or to a bound
    step = min(room_up(state, i), room_down(state, j))
    curvature = state.diagonal[i] + state.diagonal[j] - 2.0 * row_i[j]
    rise = state.g[j] + state.down[j] - low
    if curvature > 0.0 and rise < step * curvature:
        step = rise / curvature
    if not step < np.inf:  # neither a bound nor curvature limits the step
        return STALLED
    if state.w[i] + step == state.w[i] and state.w[j] - step == state.w[j]:
        return STALLED
    exchange(state, row_i, row_j, i, j, step, segments)
    return MOVED


@jit_leaf
def pair_steps(values, slot, used, state, segments, limits):
    """Exchange weights of samples with stored rows until the slopes in each segment agree.

    `limits` are the level of the slopes to reach, the segment of the next step, the time, and the
    maximum number of steps. Returns the number of steps, the segment and the status.
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

        # alternate between the segments, and stop after a round without any step
        turn = (turn + 1) % len(segments)
        if status == MOVED:
            count += 1
            quiet = 0
            continue
        quiet += 1
        if quiet == len(segments):
            break

    mark_all(state, segments)  # admit the blocked samples again
    return count, turn, COUNTED if status == MOVED else status
