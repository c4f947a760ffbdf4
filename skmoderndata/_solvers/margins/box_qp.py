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

`nu_ranking` has the ranking machine, whose sums are coupled. Kernel rows come from a store when
they are asked for.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._typing import Array

TOGETHER = 64  # rows asked for at a time
BLOCKED = 1e200  # stands for an infinite gradient where a bound is reached
CHUNK = 100_000  # steps, or 100 for each sample, after which the gap is looked at in any case
REACHED, MISSING, COUNTED, STALLED, MOVED = 0, 1, 2, 3, 4
MOST_LEVELS = 100
POLISHED = 500  # samples up to which the optimum is found to rounding, whatever the tolerance
STEPS_OF_POLISH = 200  # for each sample, at most


class Rows(Protocol):
    """A kernel matrix of which rows are computed when they are asked for."""

    values: Array
    slot: Array
    used: Array
    diagonal: Array

    def bring(self, wanted: Array, keep: int = -1) -> None:
        """Compute missing rows."""

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
    state = BoxState(
        w, g, np.empty(len(w)), np.empty(len(w)), store.diagonal + ridge, ridge, low, high, tube
    )
    mark_bounds(state)
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
        Steps at most; -1 sets no limit.
    progress : Progress or None
        Told of each level.
    """
    low, high = slopes(state, segments)
    level = max(float((high - low).max(initial=0.0)), 0.0)
    least = 1e-15 * float(np.abs(state.diagonal * state.w).max(initial=0.0)) + 1e-300
    count, turn, chunk = 0, 0, max(CHUNK, 100 * len(state.w))
    it = Iterations(MOST_LEVELS, tol, progress)
    for _ in it:
        level = max(0.4 * level, least)
        budget = chunk if max_iter < 0 else min(chunk, max_iter - count)
        done, turn, status = _to_level(store, state, segments, level, turn, count, budget)
        count += done
        it.residual = gap(state.w, state.g)
        if status == COUNTED:
            level /= 0.4  # not reached yet
        if it.residual > tol:
            at_end = level <= least and status == REACHED
            it.ended = status == STALLED or at_end or 0 <= max_iter <= count
    found = BoxResult(state.w, state.g, it.residual, count, it.residual <= tol)
    if it.converged and len(state.w) <= POLISHED:
        found = found._replace(w=state.w.copy(), gradient=state.g.copy())
        level = 1e-13 * float(np.abs(state.g).max(initial=0.0))
        polish = STEPS_OF_POLISH * len(state.w)
        if max_iter >= 0:
            polish = min(polish, max_iter - count)
        count += _to_level(store, state, segments, level, turn, count, polish)[0]
        reached = gap(state.w, state.g)
        if reached <= found.gap:  # steps lower the objective, but not always the gap
            return BoxResult(state.w, state.g, reached, count, True)
    return found._replace(n_iter=count)


def _to_level(
    store: Rows, state: BoxState, segments: Array, level: float, turn: int, clock: int, budget: int
) -> tuple[int, int, int]:
    """Step until the slopes of each segment are within `level`; rows are brought as needed."""
    count, status = 0, MISSING
    while status == MISSING:
        done, turn, i, j, status = pair_steps(
            store.values, store.slot, store.used, state, segments,
            (level, turn, clock + count, budget - count),
        )  # fmt: skip
        count += done
        if status == MISSING:
            bring(store, state, segments[turn], i if j < 0 else j, keep=-1 if j < 0 else i)
    return count, turn, status


def bring(store: Rows, state: BoxState, segment: Array, wanted: int, *, keep: int) -> None:
    """Bring a row, and with it those of the worst violators that are missing too."""
    first, last = segment
    g = state.g[first:last]
    up, down = g + state.up[first:last], g + state.down[first:last]
    worst = np.maximum(down - up.min(), down.max() - up)
    enough = 0.5 * worst[wanted - first]
    worst[store.slot[first:last] >= 0] = -np.inf
    worst[wanted - first] = np.inf
    most = min(TOGETHER, last - first)
    chosen = np.argpartition(-worst, most - 1)[:most]
    chosen = chosen[worst[chosen] > max(enough, -1e150)]
    store.bring(first + np.sort(chosen), keep)


def slopes(state: BoxState, segments: Array) -> tuple[Array, Array]:
    """Smallest slope upwards and largest slope downwards in each segment."""
    up, down = state.g + state.up, state.g + state.down
    return (
        np.array([up[first:last].min() for first, last in segments]),
        np.array([down[first:last].max() for first, last in segments]),
    )


@jit
def mark_bounds(state):
    """Set `up` and `down` of all samples from their weights."""
    for i in range(len(state.w)):
        mark(state, i)


@jit
def mark(state, i):
    """Set `up` and `down` of a sample: the slope of `tube |w|`, and a wall at the bounds."""
    w, tube = state.w[i], state.tube
    state.up[i] = BLOCKED if w >= state.high[i] else tube if w >= 0.0 else -tube
    state.down[i] = -BLOCKED if w <= state.low[i] else tube if w > 0.0 else -tube


@jit
def least(g, plus, sign, first, last):
    """Index of the smallest `g + plus` of a segment, of the largest if the sign is negative.

    Whole numbers, whose order is that of the floating-point numbers, have minima that the compiler
    takes eight at a time: here and in `partner` two to three times as fast as the plain loop.
    """
    size, last_bits = last - first, 0x7FFFFFFFFFFFFFFF
    g, plus, sums = g[first:last], plus[first:last], np.empty(size)
    bits = sums.view(np.int64)
    lowest, place = last_bits, size
    for q in range(size):
        sums[q] = sign * (g[q] + plus[q])
    for q in range(size):  # the bits of negative numbers count backwards
        lowest = min(lowest, bits[q] ^ ((bits[q] >> 63) & last_bits))
    for q in range(size):
        place = min(place, q if bits[q] ^ ((bits[q] >> 63) & last_bits) == lowest else size)
    return first + place


@jit
def partner(g, plus, diagonal, row, i, low, first, last):
    """Index of the segment that gains most in exchange with i, and the largest rise of slopes.

    The gain is `rise^2 / curvature`, `rise = g + plus - low` where that is positive.
    """
    size, own = last - first, diagonal[i]
    g, plus, diagonal, row = g[first:last], plus[first:last], diagonal[first:last], row[first:last]
    rises, gains = np.empty(size), np.empty(size)  # none negative
    rise_bits, gain_bits = rises.view(np.int64), gains.view(np.int64)
    for q in range(size):
        rise = max(g[q] + plus[q] - low, 0.0)
        rises[q] = rise
        gains[q] = rise * rise / max(own + diagonal[q] - 2.0 * row[q], 1e-300)
    best, high, j = 0, 0, size
    for q in range(size):
        best = max(best, gain_bits[q])
        high = max(high, rise_bits[q])
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
    g, w = state.g, state.w
    up, down = room_up(state, i), room_down(state, j)
    for s in range(len(segments)):
        first, last = segments[s]
        g_here, here_i, here_j = g[first:last], row_i[first:last], row_j[first:last]
        for q in range(last - first):
            g_here[q] += step * (here_i[q] - here_j[q])
    g[i] += step * state.ridge[i]
    g[j] -= step * state.ridge[j]
    # exactly to the bound, so that rounding leaves nothing in front of it
    w[i] = w[i] + step if step < up else 0.0 if w[i] < 0.0 < state.tube else state.high[i]
    w[j] = w[j] - step if step < down else 0.0 if w[j] > 0.0 < state.tube else state.low[j]
    mark(state, i)
    mark(state, j)


@jit
def try_exchange(values, slot, used, state, segments, span, level, clock):
    """Exchange the best pair of a segment `span`, if its slopes are further apart than `level`.

    The gradient follows in all `segments`. Returns the status and the pair, -1 where unknown:
    MOVED; REACHED, slopes are together; MISSING, the row of i, or if j is known that of j, has
    to be brought; STALLED.
    """
    first, last = span
    i = least(state.g, state.up, 1.0, first, last)
    low = state.g[i] + state.up[i]
    if slot[i] < 0:
        return MISSING, i, -1
    used[i] = clock
    row_i = values[slot[i]]
    j, rise = partner(state.g, state.down, state.diagonal, row_i, i, low, first, last)
    if j < 0 or rise <= level:
        return REACHED, i, j
    if slot[j] < 0:
        return MISSING, i, j
    used[j] = clock
    row_j = values[slot[j]]
    step = min(room_up(state, i), room_down(state, j))
    curvature = state.diagonal[i] + state.diagonal[j] - 2.0 * row_i[j]
    rise = state.g[j] + state.down[j] - low
    if curvature > 0.0 and rise < step * curvature:
        step = rise / curvature
    if not step < BLOCKED:  # no bound and no curvature
        return STALLED, i, j
    if state.w[i] + step == state.w[i] and state.w[j] - step == state.w[j]:
        return STALLED, i, j
    exchange(state, row_i, row_j, i, j, step, segments)
    return MOVED, i, j


@jit
def pair_steps(values, slot, used, state, segments, limits):
    """Exchange weights inside the segments, in turn, until the slopes of each are together.

    `limits` are the level of the slopes to reach, the segment whose turn it is, the time, and the
    number of steps at most. Returns the steps, the segment, the pair and the status.
    """
    level, turn, clock, most = limits
    count, quiet = 0, 0
    while count < most:
        status, i, j = try_exchange(
            values, slot, used, state, segments, segments[turn], level, clock + count
        )
        if status == MISSING or status == STALLED:
            return count, turn, i, j, status
        turn = (turn + 1) % len(segments)
        if status == MOVED:
            count += 1
            quiet = 0
            continue
        quiet += 1
        if quiet == len(segments):
            return count, turn, i, j, REACHED
    return count, turn, -1, -1, COUNTED
