"""Exact nearest series under dynamic time warping, by lower bounds and early abandoning.

Differs from the papers: 1. candidates are sorted by Keogh's bound; with a wide band, the series
that is closest point by point comes first. 2. Bounds use the exact costs of both corners. 3. Wide
bands are filled by diagonals.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.alignment.corridors import FREE, Band, fill_corridor, steps
from skmoderndata._solvers.alignment.warping import (
    by_channels,
    cost_of_pair,
    local_cost,
    rest_by_diagonals,
)
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.lengths import check_lengths
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array

# Smallest number of cells in a row at which computing by diagonals is faster than by rows.
WIDE = 48
# Fraction of a lower bound that is used; rounding errors could otherwise lift the bound above the
# cost.
BOUND_FACTOR = 1.0 - ACCUMULATED_ROUNDING


def envelopes(values: Array, offsets: Array, band: Band) -> tuple[Array, Array]:
    """Return the smallest and largest value of each series within the radius of each point."""
    lower = np.empty_like(values)
    upper = np.empty_like(values)
    queue = np.empty(int(np.diff(offsets).max(initial=0)), dtype=np.int64)
    _write_extremes(values, offsets, band, queue, lower, upper)
    return lower, upper


@jit_leaf
def _write_extremes(values, offsets, band, queue, lower, upper):
    """Write the smallest and largest values of `envelopes`.

    A queue of candidates makes the time linear (Lemire 2009, Algorithm 1).
    """
    for side in range(2 * (len(offsets) - 1)):
        p = side // 2
        out = lower if side % 2 == 0 else upper
        sign = 1.0 if side % 2 == 0 else -1.0
        begin = offsets[p]
        n = offsets[p + 1] - offsets[p]
        radius = steps(band, n, n)
        for c in range(values.shape[1]):
            head = tail = 0
            for k in range(n + radius):
                # append k to the queue, whose values are increasing
                if k < n:
                    v = sign * values[begin + k, c]
                    while tail > head and sign * values[begin + queue[tail - 1], c] >= v:
                        tail -= 1
                    queue[tail] = k
                    tail += 1

                # the window of i = k - radius is complete
                i = k - radius
                if i >= 0:
                    while queue[head] < i - radius:
                        head += 1
                    out[begin + i, c] = values[begin + queue[head], c]

                if k >= n and i >= n - 1:
                    break


@jit_leaf
def keogh_bounds(x, lower, upper):
    """Sum the squared distances of points outside an envelope of the same length."""
    total = 0.0
    for i in range(len(x)):
        for c in range(x.shape[1]):
            excess = max(max(x[i, c] - upper[i, c], lower[i, c] - x[i, c]), 0.0)
            total += excess * excess
    return total


class Index(NamedTuple):
    """Series to be searched.

    Attributes
    ----------
    values, offsets : ndarray
        Collection of series.
    lower, upper : ndarray of the shape of values
        Envelopes of the series.
    planes : ndarray of shape (length, n_channels, 2, n_series)
        Envelopes side by side, the lower ones first; empty unless all lengths are equal.
    band : Band
        Which cells may be visited.
    bounded : bool
        Whether lower bounds are used.
    """

    values: Array
    offsets: Array
    lower: Array
    upper: Array
    planes: Array
    band: Band
    bounded: bool


class Room(NamedTuple):
    """Work space of a search, for one query at a time."""

    low: Array
    high: Array
    reversed_tail: Array


def make_index(values: Array, offsets: Array, *, band: Band, bounded: bool) -> Index:
    """Return the series with the envelopes that the search needs."""
    lower, upper = envelopes(values, offsets, band) if bounded else (values[:0], values[:0])
    lengths = np.diff(offsets)
    planes = np.empty((0, values.shape[1], 2, len(lengths)))
    if bounded and not np.ptp(lengths):
        shape = (len(lengths), lengths[0], values.shape[1])
        stacked = np.stack([lower.reshape(shape), upper.reshape(shape)])
        planes = np.ascontiguousarray(stacked.transpose(2, 3, 0, 1))
    return Index(values, offsets, lower, upper, planes, band, bounded)


@jit_leaf
def _corner_costs(x, z):
    """Return the local costs of the first and of the last points, which all alignments pair."""
    first = local_cost(x[0], z[0], False)
    last = local_cost(x[len(x) - 1], z[len(z) - 1], False)
    return first, last


@jit_leaf
def _first_bounds(values, offsets, index, bounds, position, cells):
    """Add the bounds of all queries by the envelopes of the indexed series, side by side.

    Resumes at query ``position[0]`` and works through about `cells` cells; returns True when
    finished.
    """
    planes = index.planes
    for p in range(position[0], len(bounds)):
        x = values[offsets[p] : offsets[p + 1]]
        row = bounds[p]
        if planes.shape[0] != len(x):  # `planes` is empty if bounds are not used
            continue
        if cells <= 0:
            position[0] = p
            return False
        cells -= len(x) * len(row)
        for i in range(len(x)):
            for c in range(x.shape[1]):
                low = planes[i, c, 0]
                high = planes[i, c, 1]
                v = x[i, c]
                for k in range(len(row)):
                    excess = max(max(v - high[k], low[k] - v), 0.0)
                    row[k] += excess * excess
    return True


@jit_leaf
def _excess(x, lower, upper, tail):
    """Write the squared excess over an envelope, summed from each row on, to `tail`.

    Returns the total.
    """
    tail[len(x)] = 0.0
    for i in range(len(x) - 1, -1, -1):
        here = 0.0
        for c in range(x.shape[1]):
            excess = max(max(x[i, c] - upper[i, c], lower[i, c] - x[i, c]), 0.0)
            here += excess * excess
        tail[i] = tail[i + 1] + here
    return tail[0]


@jit_leaf
def _with_corners(x, z, tail):
    """Raise the bounds of the first and last row in `tail` to the exact costs of the corners."""
    n = len(x)
    first, last = _corner_costs(x, z)
    if n > 1:
        gain = last - tail[n - 1]
        if gain > 0.0:
            for i in range(n):
                tail[i] += gain
    gain = first - (tail[0] - tail[1])
    if gain > 0.0:
        tail[0] += gain
    return tail[0]


@jit_leaf
def _is_beyond(x, z, begin, index, lower, upper, limit, tail, reversed_tail):
    """Return whether a bound on the cost exceeds `limit`; write the bounds by row to `tail`."""
    m = len(z)
    if m == len(x):
        end = begin + m
        _excess(x, index.lower[begin:end], index.upper[begin:end], tail)
    elif index.band.kind == FREE:
        _range_excess(x, z, tail)
    if _with_corners(x, z, tail) * BOUND_FACTOR > limit:
        return True
    # compute the same bound with the two series exchanged
    return m == len(x) and _excess(z, lower, upper, reversed_tail) * BOUND_FACTOR > limit


@jit_leaf
def _widest(low, high):
    """Return the largest number of cells in a row of a corridor."""
    widest = 0
    for i in range(len(low)):
        widest = max(widest, high[i] - low[i])
    return widest


@jit_leaf
def _visit(
    x, envelope, order, bounds, index, skipped, nearby, position, saved, space, turned, cells
):
    """Search the series in a given order for the nearest series of x, about `cells` cells.

    Bounds are raised to the costs, or to the value that a cost was found to exceed. Resumes at
    rank ``position[1]`` of the order. ``position[2]`` counts the costs that were begun, and the
    later entries store the row or diagonal of an unfinished table, for which `saved` has the
    bounds of the remaining rows and the latest row or diagonals. `turned` is None if no corridor
    is wide: the compiled search then contains no code for diagonals. Returns whether the search is
    finished, and the number of cells left over.
    """
    size = len(x)
    costs, nearest = nearby
    lower, upper = envelope
    k = len(costs)
    low = space.low[:size]
    high = space.high[:size]
    tail = saved[0, : size + 1]
    reversed_tail = space.reversed_tail[: size + 1]
    if turned is not None:
        by_channels(x, False, turned[0])
    wide = False
    m_before = -1
    for rank in range(position[1], len(order)):
        q = order[rank]
        begin = index.offsets[q]
        z = index.values[begin : index.offsets[q + 1]]
        m = len(z)

        # 1. check the bounds, starting with the cheapest
        if position[3] == 0:
            if bounds[q] * BOUND_FACTOR > costs[k - 1]:
                break
            if q == skipped:
                continue
            if cells <= 0:
                position[1] = rank
                return False, cells
            cells -= size
            for i in range(size + 1):
                tail[i] = 0.0
            if index.bounded and _is_beyond(
                x, z, begin, index, lower, upper, costs[k - 1], tail, reversed_tail
            ):
                continue
            position[2] += 1
            for i in range(size + 1):
                tail[i] *= BOUND_FACTOR

        # 2. compute the cost, by diagonals (as vectors) or by rows, until it exceeds the k-th best
        # cost
        if m != m_before:
            fill_corridor(size, m, index.band, low, high)
            wide = _widest(low, high) >= WIDE
            m_before = m
        if turned is not None and wide:
            by_channels(z, True, turned[1])
            cost, cells = rest_by_diagonals(
                *(turned[0][: x.size], turned[1][: z.size], low, high, False, tail),
                *(costs[k - 1], position[3:], saved[1:], cells),
            )
        else:
            position[3], cost, cells = cost_of_pair(
                x, z, low, high, False, tail, costs[k - 1], saved[1], position[3], cells
            )
        if position[3] < (size + m - 1 if wide else size):
            position[1] = rank
            return False, cells
        position[3] = 0
        bounds[q] = max(bounds[q], min(cost, costs[k - 1]))
        _insert(costs, nearest, cost, q)
    position[1] = 0
    return True, cells


@jit_leaf
def _visit_all(
    queries, order, bounds, index, first, nearby, position, saved, space, turned, cells
):
    """Search for all queries; return True when finished. Query p skips series ``first + p``."""
    values, offsets, lower, upper = queries
    costs, nearest = nearby
    for p in range(position[0], len(order)):
        begin = offsets[p]
        end = offsets[p + 1]
        ended, cells = _visit(
            *(values[begin:end], (lower[begin:end], upper[begin:end]), order[p], bounds[p]),
            *(index, first + p, (costs[p], nearest[p]), position, saved, space, turned, cells),
        )
        if not ended:
            position[0] = p
            return False
    return True


def search(
    values: Array,
    offsets: Array,
    index: Index,
    k: int,
    *,
    first: int | None = None,
    lower_bounds: Array | None = None,
) -> tuple[Array, Array, int]:
    """Find the k nearest indexed series of each query; ties go to the smaller number.

    Candidates are visited in the order of a lower bound. The bounds of Keogh and Ratanamahatana
    (2005), of either series by the envelope of the other and with exact corners (Kim, Park and Chu
    2001), are checked before the cost, whose computation stops as soon as it must exceed the k-th
    best (Rakthanmanon et al. 2012).

    Parameters
    ----------
    values, offsets : ndarray
        Queries.
    index : Index
        Series to be searched.
    k : int
        Number of neighbours.
    first : int, default=None
        If not None, the queries are the indexed series from this number on, and no query is its
        own neighbour.
    lower_bounds : ndarray of shape (n_queries, n_indexed), default=None
        Lower bounds on the costs, which the search raises in place. They remain valid for smaller
        radii, which admit fewer alignments.

    Returns
    -------
    costs : ndarray of shape (n_queries, k)
        Squared distances, ascending; infinite if the band admits no alignment.
    nearest : ndarray of int of shape (n_queries, k)
        Numbers of the series; series without a finite distance are last.
    begun : int
        Number of costs whose computation was begun.
    """
    n = len(offsets) - 1
    n_indexed = len(index.offsets) - 1
    length, n_channels = index.values.shape
    check_lengths(index.offsets[-1], values=index.values)
    check_lengths(n_channels, channels=values[0])
    if index.bounded:
        check_lengths(length, lower=index.lower, upper=index.upper)
        check_lengths(n_channels, lower=index.lower[0], upper=index.upper[0])

    costs = np.full((n, k), np.inf)
    nearest = np.full((n, k), -1)
    bounds = np.zeros((n, n_indexed))

    # sort the candidates by the bounds from envelopes
    longest = int(np.diff(offsets).max(initial=0))
    in_pieces(_first_bounds, values, offsets, index, bounds, np.zeros(1, dtype=np.int64))
    if lower_bounds is not None:
        np.maximum(bounds, lower_bounds, out=bounds)
    alone = -1 - n if first is None else first
    order = _visiting_order(values, offsets, index, bounds, alone)

    # compute the costs of the candidates that the bounds cannot exclude; `position` holds the
    # query, the rank, the number of costs begun, and three numbers for an unfinished table
    position = np.zeros(6, dtype=np.int64)
    widest = int(np.diff(index.offsets).max())
    saved = np.empty((4, max(longest, widest) + 1))
    low, high = np.empty((2, longest), dtype=np.int64)
    space = Room(low, high, np.zeros(longest + 1))
    turned = None
    if widest >= WIDE:
        turned = np.empty(longest * n_channels), np.empty(widest * n_channels)
    lower = upper = values[:0]
    if index.bounded:
        lower, upper = envelopes(values, offsets, index.band)
    queries = values, offsets, lower, upper
    nearby = costs, nearest
    in_pieces(
        *(_visit_all, queries, order, bounds, index, alone, nearby),
        *(position, saved, space, turned),
    )
    if lower_bounds is not None:
        lower_bounds[:] = bounds
    return costs, nearest, int(position[2])


def _visiting_order(
    values: Array, offsets: Array, index: Index, bounds: Array, alone: int
) -> Array:
    """Sort candidates by their bounds, after the candidate that is closest point by point.

    The cost of this candidate cuts most other costs short. It matters for wide bands, where the
    bounds hardly order the candidates.
    """
    lengths = np.diff(offsets)
    length = len(index.planes)  # 0 if the lengths differ or bounds are not used
    same = length > 0 and bool((lengths == length).all())
    if not same or 2 * steps(index.band, length, length) + 1 < WIDE:
        return np.argsort(bounds, axis=1)

    # compute |x - z|^2 - |x|^2
    X = values.reshape(len(lengths), -1)
    Z = index.values.reshape(len(index.offsets) - 1, -1)
    distances = np.einsum("ij,ij->i", Z, Z) - 2.0 * (X @ Z.T)
    queries = np.arange(len(X))
    if alone >= 0:
        distances[queries, alone + queries] = np.inf
    keys = bounds.copy()
    keys[queries, distances.argmin(axis=1)] = -1.0
    return np.argsort(keys, axis=1)


@jit_leaf
def _range_excess(x, z, tail):
    """Write the bounds without a band to `tail`; the envelope of z is then its range."""
    for i in range(len(tail)):
        tail[i] = 0.0
    for c in range(x.shape[1]):
        smallest = np.inf
        largest = -np.inf
        for j in range(len(z)):
            smallest = min(smallest, z[j, c])
            largest = max(largest, z[j, c])
        total = 0.0
        for i in range(len(x) - 1, -1, -1):
            excess = max(max(x[i, c] - largest, smallest - x[i, c]), 0.0)
            total += excess * excess
            tail[i] += total


@jit_leaf
def _insert(costs, nearest, cost, number):
    """Insert a candidate into the list of the best, sorted by cost and then by number."""
    slot = len(costs) - 1
    if cost > costs[slot] or (cost == costs[slot] and 0 <= nearest[slot] < number):
        return
    while slot > 0 and (
        cost < costs[slot - 1]
        or (cost == costs[slot - 1] and (nearest[slot - 1] < 0 or number < nearest[slot - 1]))
    ):
        costs[slot] = costs[slot - 1]
        nearest[slot] = nearest[slot - 1]
        slot -= 1
    costs[slot] = cost
    nearest[slot] = number
