"""Nearest series under dynamic time warping, exactly, by lower bounds and early abandoning."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.alignment.corridors import FREE, Band, fill_corridor, steps
from skmoderndata._solvers.alignment.warping import (
    cost_of_pair,
    local_cost,
    rest_by_diagonals,
)
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.lengths import check_lengths
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.typing import Array

WIDE = 48  # cells in a row from which diagonals are faster
# a bound may exceed the cost that it bounds by rounding
BOUND_FACTOR = 1.0 - 1e-12


@jit
def envelopes(values, offsets, band):
    """Least and largest value of each series within the radius around each point.

    By a queue of candidates, in linear time (Lemire 2009, Algorithm 1).
    """
    lower = np.empty_like(values)
    upper = np.empty_like(values)
    for p in range(len(offsets) - 1):
        begin = offsets[p]
        n = offsets[p + 1] - offsets[p]
        radius = steps(band, n, n)
        queue = np.empty(n, dtype=np.int64)
        for c in range(values.shape[1]):
            for sign, out in ((1.0, lower), (-1.0, upper)):
                head = tail = 0
                for k in range(n + radius):
                    # k enters the queue, in which values rise
                    if k < n:
                        v = sign * values[begin + k, c]
                        while tail > head and sign * values[begin + queue[tail - 1], c] >= v:
                            tail -= 1
                        queue[tail] = k
                        tail += 1

                    # i = k - radius has its window complete
                    i = k - radius
                    if i >= 0:
                        while queue[head] < i - radius:
                            head += 1
                        out[begin + i, c] = values[begin + queue[head], c]

                    if k >= n and i >= n - 1:
                        break
    return lower, upper


@jit
def keogh_bounds(x, lower, upper):
    """Sum of squares of what sticks out of an envelope of the same length."""
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
        The series.
    lower, upper : ndarray of the shape of values
        Their envelopes.
    planes : ndarray of shape (length, n_channels, 2, n_series)
        Series side by side, lower envelopes first; empty unless all have the same length.
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


def make_index(values: Array, offsets: Array, *, band: Band, bounded: bool) -> Index:
    """Return series with what the search needs."""
    lower, upper = envelopes(values, offsets, band) if bounded else (values[:0], values[:0])
    lengths = np.diff(offsets)
    planes = np.empty((0, values.shape[1], 2, len(lengths)))
    if bounded and not np.ptp(lengths):
        shape = (len(lengths), lengths[0], values.shape[1])
        stacked = np.stack([lower.reshape(shape), upper.reshape(shape)])
        planes = np.ascontiguousarray(stacked.transpose(2, 3, 0, 1))
    return Index(values, offsets, lower, upper, planes, band, bounded)


@jit
def _corner_costs(x, z):
    """Costs of the first two and of the last two points, which every alignment pairs."""
    first = local_cost(x[0], z[0], False)
    last = local_cost(x[len(x) - 1], z[len(z) - 1], False)
    return first, last


@jit
def _first_bounds(values, offsets, index, bounds, position, cells):
    """Add the bounds of all queries by the envelopes of the indexed series, side by side.

    Goes on from query ``position[0]`` for about so many cells; True at the end.
    """
    planes = index.planes
    for p in range(position[0], len(bounds)):
        x = values[offsets[p] : offsets[p + 1]]
        row = bounds[p]
        if planes.shape[0] != len(x):  # also where there are no bounds
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


@jit
def _excess(x, lower, upper, tail):
    """Sum from each row on of what sticks out of an envelope, in `tail`; the whole."""
    tail[len(x)] = 0.0
    for i in range(len(x) - 1, -1, -1):
        here = 0.0
        for c in range(x.shape[1]):
            excess = max(max(x[i, c] - upper[i, c], lower[i, c] - x[i, c]), 0.0)
            here += excess * excess
        tail[i] = tail[i + 1] + here
    return tail[0]


@jit
def _with_corners(x, z, tail):
    """Replace the bounds of the first and the last row by their exact corners, in `tail`."""
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


@jit
def _is_beyond(x, z, begin, index, lower, upper, limit, tail, other):
    """Whether a bound of the cost exceeds `limit`; writes the bounds of the rest to `tail`."""
    m = len(z)
    if m == len(x):
        end = begin + m
        _excess(x, index.lower[begin:end], index.upper[begin:end], tail)
    elif index.band.kind == FREE:
        _range_excess(x, z, tail)
    if _with_corners(x, z, tail) * BOUND_FACTOR > limit:
        return True
    # the same with both series exchanged
    return m == len(x) and _excess(z, lower, upper, other) * BOUND_FACTOR > limit


@jit
def _visit(x, order, bounds, index, skipped, costs, nearest, position, saved, cells):
    """Search the series in a given order for the nearest ones of x, as far as the cells reach.

    Bounds are raised to the costs, or to what a cost was found to exceed. Goes on at rank
    ``position[1]`` of the order; ``position[2]`` counts the costs, and the others tell the row, or
    the diagonal, of a table of costs that is not at its end. `saved` has bounds of its remaining
    rows, and the latest row or diagonals. Returns whether the search has ended, and how many cells
    remain.
    """
    size = len(x)
    k = len(costs)
    low = np.empty(size, dtype=np.int64)
    high = np.empty(size, dtype=np.int64)
    if index.bounded:
        lower, upper = envelopes(x, np.array([0, size]), index.band)
    else:
        lower = index.lower[:0]
        upper = index.upper[:0]
    tail = saved[0, : size + 1]
    other = np.zeros(size + 1)
    across = x.T.copy()
    wide = False
    m_before = -1
    for rank in range(position[1], len(order)):
        q = order[rank]
        begin = index.offsets[q]
        z = index.values[begin : index.offsets[q + 1]]
        m = len(z)

        # 1. bounds, the cheapest first
        if position[3] == 0:
            if bounds[q] * BOUND_FACTOR > costs[k - 1]:
                break
            if q == skipped:
                continue
            if cells <= 0:
                position[1] = rank
                return False, cells
            cells -= size
            tail[:] = 0.0
            if index.bounded and _is_beyond(
                x, z, begin, index, lower, upper, costs[k - 1], tail, other
            ):
                continue
            position[2] += 1
            tail *= BOUND_FACTOR

        # 2. the cost, until it exceeds the k-th best: by diagonals, which are vectors, or rows
        if m != m_before:
            fill_corridor(size, m, index.band, low, high)
            wide = (high - low).max() >= WIDE
            m_before = m
        if wide:
            cost, cells = rest_by_diagonals(
                *(across, z[::-1].T.copy(), low, high, False, tail, costs[k - 1]),
                *(position[3:], saved[1:], cells),
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


@jit
def _visit_all(
    values, offsets, order, bounds, index, first, costs, nearest, position, saved, cells
):
    """Search for all queries; query p leaves out the series ``first + p``; True at the end."""
    for p in range(position[0], len(order)):
        x = values[offsets[p] : offsets[p + 1]]
        skipped = first + p
        ended, cells = _visit(
            x,
            order[p],
            bounds[p],
            index,
            skipped,
            costs[p],
            nearest[p],
            position,
            saved,
            cells,
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

    Candidates are visited in the order of a lower bound; the bounds of Keogh and Ratanamahatana
    (2005), of either series by the envelope of the other, with exact corners (Kim, Park and Chu
    2001), come before the cost, whose computation ends where it must exceed the k-th best
    (Rakthanmanon et al. 2012).

    Parameters
    ----------
    values, offsets : ndarray
        Queries.
    index : Index
        Where to search.
    k : int
        Number of neighbours.
    first : int, default=None
        If given, the queries are the indexed series from this number on, and find others only.
    lower_bounds : ndarray of shape (n_queries, n_indexed), default=None
        Lower bounds on the costs, raised to what the search finds out. They hold for smaller
        radii as well, whose alignments are fewer.

    Returns
    -------
    costs : ndarray of shape (n_queries, k)
        Squared distances, ascending; infinite where there are none within the band.
    nearest : ndarray of int of shape (n_queries, k)
        Numbers of the series, those without a distance last.
    begun : int
        How many costs were begun.
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

    # candidates in the order of the bounds by envelopes
    longest = int(np.diff(offsets).max(initial=0))
    in_pieces(_first_bounds, values, offsets, index, bounds, np.zeros(1, dtype=np.int64))
    if lower_bounds is not None:
        np.maximum(bounds, lower_bounds, out=bounds)
    alone = -1 - n if first is None else first
    order = _visiting_order(values, offsets, index, bounds, alone)

    # costs, as far as the bounds do not decide
    position = np.zeros(6, dtype=np.int64)  # query, rank, costs begun; in a table
    saved = np.empty((4, max(longest, int(np.diff(index.offsets).max())) + 1))
    in_pieces(
        *(
            _visit_all,
            values,
            offsets,
            order,
            bounds,
            index,
            alone,
            costs,
            nearest,
            position,
            saved,
        )
    )
    if lower_bounds is not None:
        lower_bounds[:] = bounds
    return costs, nearest, int(position[2])


def _visiting_order(
    values: Array, offsets: Array, index: Index, bounds: Array, alone: int
) -> Array:
    """Order of candidates by their bounds, after that of least squared distance, point by point.

    Its cost ends most of the others, which bounds without a narrow band leave in any order.
    """
    lengths = np.diff(offsets)
    length = len(index.planes)  # 0 where lengths differ, or bounds are not used
    same = length > 0 and bool((lengths == length).all())
    if not same or 2 * steps(index.band, length, length) + 1 < WIDE:
        return np.argsort(bounds, axis=1)

    # |x - z|^2 up to |x|^2
    X = values.reshape(len(lengths), -1)
    Z = index.values.reshape(len(index.offsets) - 1, -1)
    distances = np.einsum("ij,ij->i", Z, Z) - 2.0 * (X @ Z.T)
    queries = np.arange(len(X))
    if alone >= 0:
        distances[queries, alone + queries] = np.inf
    keys = bounds.copy()
    keys[queries, distances.argmin(axis=1)] = -1.0
    return np.argsort(keys, axis=1)


@jit
def _range_excess(x, z, tail):
    """Bound without a band, where the envelope of z is its range; sums from each row in `tail`."""
    tail[:] = 0.0
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


@jit
def _insert(costs, nearest, cost, number):
    """Insert a candidate into the sorted list of the best, by cost and then by number."""
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
