"""Costs of the best alignments of many pairs of series, by dynamic programming.

Differs from the papers: 1. many series are processed side by side, or the table is filled by
diagonals, so that the processor works on vectors. 2. Cells above a cutoff are dropped at both ends
of a diagonal (of a row in Herrmann and Webb 2021), but only every few diagonals.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.alignment.corridors import Band, fill_corridor
from skmoderndata._solvers.common import pieces
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.threads import in_jobs
from skmoderndata._solvers.common.typing import Array

# Values of all series in one array, and the position at which each series begins.
Packed = tuple[Array, Array]

# Number of series that are compared with one series at a time; with 8 series, this takes 2.3 times
# as long as with 64.
LANES = 64
# Number of rows or diagonals between two comparisons of the cells with the cutoff.
STEPS_TO_CUT = 8
# Smallest ratio of length to number of lanes at which comparing the pairs one by one is faster
# than comparing them in lanes.
LENGTH_OF_FEW = 4


class Lanes(NamedTuple):
    """Series side by side.

    Attributes
    ----------
    values : ndarray of shape (longest, n_channels, n_lanes)
        Zeros beyond the end of each series.
    lengths : ndarray of int of shape (n_lanes,)
        Length of each series.
    """

    values: Array
    lengths: Array


def side_by_side(series: Packed, indices: Array) -> Lanes:
    """Put the selected series of a collection side by side."""
    values, offsets = series
    lengths = np.diff(offsets)[indices]
    lanes = np.zeros((int(lengths.max()), values.shape[1], len(indices)))
    for lane, i in enumerate(indices):
        lanes[: lengths[lane], :, lane] = values[offsets[i] : offsets[i + 1]]
    return Lanes(lanes, lengths)


def one_after_another(series: Packed, indices: Array) -> Packed:
    """Return the selected series of a collection as a collection."""
    values, offsets = series
    begins = np.concatenate([[0], np.cumsum(np.diff(offsets)[indices])]).astype(np.int64)
    return np.concatenate([values[offsets[i] : offsets[i + 1]] for i in indices]), begins


@jit_leaf
def next_row(xi, i, lanes, low, high, rooted, row, work, width):
    """Turn row i - 1 of the tables into row i: ``D(i, j) = d(i, j) + min`` of three neighbours.

    `row[j + 1]` holds D(i, j) of all lanes, and `row[low]` is the cell left of the corridor.
    `work[1]` holds D(i - 1, j - 1).
    """
    cost = work[0]
    diagonal = work[1]
    n_channels = lanes.shape[1]
    outside = row[low]
    for k in range(width):
        diagonal[k] = outside[k]
        outside[k] = np.inf

    for j in range(low, high):
        left = row[j]
        here = row[j + 1]
        # use at most four arrays in a loop over the lanes; otherwise LLVM does not vectorise it
        z = lanes[j, 0]
        # if there is one channel, compute the cost and the minimum in one loop
        if n_channels == 1 and not rooted:
            for k in range(width):
                difference = xi[0] - z[k]
                above = here[k]
                best = min(min(left[k], above), diagonal[k])
                diagonal[k] = above
                here[k] = difference * difference + best
            continue

        # compute the local cost d(i, j)
        for k in range(width):
            difference = xi[0] - z[k]
            cost[k] = difference * difference
        for c in range(1, n_channels):
            z = lanes[j, c]
            for k in range(width):
                difference = xi[c] - z[k]
                cost[k] += difference * difference

        if rooted:
            for k in range(width):
                cost[k] = np.sqrt(cost[k])

        # compute D(i, j)
        for k in range(width):
            above = here[k]
            best = min(min(left[k], above), diagonal[k])
            diagonal[k] = above
            here[k] = cost[k] + best


@jit_leaf
def _all_above(row, low, high, width, cutoff):
    """Return whether every cell of a row exceeds the cutoff in every lane."""
    for j in range(low + 1, high + 1):
        for k in range(width):
            if row[j, k] <= cutoff:
                return False
    return True


@jit_leaf
def _copy_table(source, target):
    """Copy entries one by one; ``target[:] = source`` takes two seconds to compile."""
    for i in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[i, k] = source[i, k]


@jit
def _compare(
    values, offsets, rows, widths, lanes, band, rooted, cutoff, position, saved, out, cells
):
    """Align series ``rows[p]`` with the first ``widths[p]`` lanes, and write the costs to `out`.

    Resumes at row ``position[1]`` of the tables of series ``rows[position[0]]``, from the previous
    row in `saved`, and works through about `cells` cells. Returns True when finished.
    """
    side, lengths = lanes
    longest = side.shape[0]
    n_lanes = side.shape[2]
    row = np.empty((longest + 1, n_lanes))
    work = np.empty((2, n_lanes))
    size = 0
    for i in rows:
        size = max(size, offsets[i + 1] - offsets[i])
    low = np.empty(size, dtype=np.int64)
    high = np.empty(size, dtype=np.int64)

    for p in range(position[0], len(rows)):
        x = values[offsets[rows[p]] : offsets[rows[p] + 1]]
        n = len(x)
        width = widths[p]
        first = position[1]
        if width <= 0:
            continue
        fill_corridor(n, longest, band, low, high)
        if first > 0:
            _copy_table(saved, row)
            position[1] = 0
        else:
            for j in range(longest + 1):
                for k in range(n_lanes):
                    row[j, k] = np.inf if j > 0 else 0.0

        # fill row by row, until the corridor ends or every lane exceeds the cutoff
        ended = False
        for i in range(first, n):
            if cells <= 0:
                position[0] = p
                position[1] = i
                _copy_table(row, saved)
                return False
            if low[i] >= high[i]:
                ended = True
                break
            next_row(x[i], i, side, low[i], high[i], rooted, row, work, width)
            cells -= (high[i] - low[i]) * width
            if (
                i % STEPS_TO_CUT == STEPS_TO_CUT - 1
                and cutoff < np.inf
                and _all_above(row, low[i], high[i], width, cutoff)
            ):
                ended = True
                break

        # read the last cell of each lane if the corridor reaches it
        for k in range(width):
            if not ended and low[n - 1] < lengths[k] <= high[n - 1]:
                total = row[lengths[k], k]
                out[p, k] = total if total <= cutoff else np.inf
    return True


@jit_leaf
def _next_diagonal(x, reverse, n, shift, first, last, rooted, before, older, here):
    """Compute the next diagonal: its cells (i, j) in the rows first <= i < last.

    `here[i + 1]` becomes ``D(i, j)``; `before` and `older` are the two previous diagonals. Point j
    of z is entry ``i + shift`` of each channel of `reverse`; x has n points.
    """
    n_channels = len(x) // n
    m = len(reverse) // n_channels
    width = max(last - first, 0)
    beside = before[first + 1 : last + 1]
    above = before[first:last]
    diagonal = older[first:last]
    row = here[first + 1 : last + 1]

    # if there is one channel, compute the cost and the minimum in one loop
    if n_channels == 1 and not rooted:
        a = x[first:last]
        b = reverse[first + shift : last + shift]
        for k in range(width):
            difference = a[k] - b[k]
            best = min(min(beside[k], above[k]), diagonal[k])
            row[k] = difference * difference + best
        return

    # compute the local cost d(i, j)
    for k in range(width):
        row[k] = 0.0
    for c in range(n_channels):
        a = x[c * n + first : c * n + last]
        b = reverse[c * m + first + shift : c * m + last + shift]
        for k in range(width):
            difference = a[k] - b[k]
            row[k] += difference * difference
    if rooted:
        for k in range(width):
            row[k] = np.sqrt(row[k])

    # compute D(i, j)
    for k in range(width):
        row[k] += min(min(beside[k], above[k]), diagonal[k])


@jit_leaf
def _rows_within(here, before, tail, cutoff, first, last):
    """Drop the rows at both ends of two neighbouring diagonals that exceed the cutoff.

    Row i is entry i + 1 of the diagonals. A row that left the previous diagonal and has not
    reached this one is the row before the first, so it is kept. If all rows exceed the cutoff, the
    first is after the last.
    """
    top = first
    while top <= last and min(here[top], before[top]) + tail[top] > cutoff:
        top += 1
    bottom = last
    while bottom > top and min(here[bottom], before[bottom]) + tail[bottom] > cutoff:
        bottom -= 1
    if top > last:
        return top, last
    return max(first, top - 1), bottom


@jit_leaf
def rest_by_diagonals(x, reverse, low, high, rooted, tail, cutoff, position, tables, cells):
    """Fill the table of one pair by diagonals, as described in `cost_by_diagonals`.

    In `x` and `reverse`, the n and m points of the series stand one channel after the other, those
    of z in reverse (`by_channels`). Entry i + 1 of `tail` is a lower bound on the costs after row
    i. Cells at both ends of a diagonal are dropped if their cost plus this bound exceeds the
    cutoff; Herrmann and Webb (2021) do the same in rows.
    """
    n = len(tail) - 1
    m = len(reverse) // (len(x) // n)
    if position[0] == 0:
        for i in range(n + 1):
            for k in range(3):
                tables[k, i] = np.inf
        tables[1, 0] = 0.0
        position[1] = 0
        position[2] = 0
    first = position[1]
    last = position[2]
    for d in range(position[0], n + m - 1):
        if cells <= 0 and d > position[0]:  # each call fills at least one diagonal
            position[0] = d
            position[1] = first
            position[2] = last
            return np.inf, cells
        here = tables[d % 3]
        before = tables[(d + 2) % 3]
        older = tables[(d + 1) % 3]

        # update the rows that reach the diagonal: the ends of the corridor never decrease, so at
        # most one row enters and one leaves
        if first < n and first + high[first] <= d:
            first += 1
        if last < n and last + low[last] <= d:
            last += 1
        cells -= max(last - first, 0) + 1

        shift = m - 1 - d  # point z_j, with j = d - i, has the index i + shift in `reverse`
        _next_diagonal(x, reverse, n, shift, first, last, rooted, before, older, here)
        here[first] = np.inf
        if last < n:
            here[last + 1] = np.inf

        # drop cells above the cutoff; each path visits at least one of any two neighbouring
        # diagonals
        if cutoff < np.inf and d % STEPS_TO_CUT == STEPS_TO_CUT - 1:
            first, last = _rows_within(here, before, tail, cutoff, first, last)
            if first > last:
                position[0] = n + m - 1
                return np.inf, cells

    position[0] = n + m - 1
    reached = first < n and last == n
    return tables[(n + m - 2) % 3, n] if reached else np.inf, cells


@jit
def cost_by_diagonals(x, z, band, rooted, cutoff, position, tables, cells):
    """Return the cost of the best alignment of two series, by diagonals of their table.

    The cells of a diagonal do not depend on each other, so this is four to five times as fast as
    rows. Resumes at diagonal ``position[0]`` with the rows from ``position[1]`` to
    ``position[2]``, and works through about `cells` cells; ``position[0]`` is
    ``len(x) + len(z) - 1`` when finished. `tables` holds three diagonals.

    Returns
    -------
    cost : float
        Cost; infinite before the end, or if it exceeds the cutoff.
    cells : int
        Number of cells left over.
    """
    n = len(x)
    low = np.empty(n, dtype=np.int64)
    high = np.empty(n, dtype=np.int64)
    fill_corridor(n, len(z), band, low, high)
    tail = np.zeros(n + 1)
    across = np.empty(x.size)
    reverse = np.empty(z.size)
    by_channels(x, False, across)
    by_channels(z, True, reverse)
    return rest_by_diagonals(
        across, reverse, low, high, rooted, tail, cutoff, position, tables, cells
    )


@jit_leaf
def by_channels(x, is_reversed, out):
    """Write the channels of a series to `out`, one after the other."""
    n = len(x)
    for c in range(x.shape[1]):
        for i in range(n):
            out[c * n + i] = x[n - 1 - i if is_reversed else i, c]


@jit
def _compare_one_by_one(
    values, offsets, rows, widths, others, band, rooted, cutoff, position, saved, out, cells
):
    """Do the same as `_compare` by diagonals, for few lanes, which are the series `others`.

    Resumes at diagonal ``position[2]`` of lane ``position[1]``.
    """
    targets, begins = others
    for p in range(position[0], len(rows)):
        x = values[offsets[rows[p]] : offsets[rows[p] + 1]]
        for k in range(position[1], widths[p]):
            z = targets[begins[k] : begins[k + 1]]
            cost, cells = cost_by_diagonals(
                *(x, z, band, rooted, cutoff),
                *(position[2:], saved, cells),
            )
            if position[2] < len(x) + len(z) - 1:
                position[0] = p
                position[1] = k
                return False
            position[2] = 0
            out[p, k] = cost if cost <= cutoff else np.inf
        position[1] = 0
    return True


def alignment_costs(
    X: Packed,
    Z: Packed | None = None,
    *,
    band: Band,
    rooted: bool,
    cutoff: float = np.inf,
    n_jobs: int | None = None,
) -> Array:
    """Return the smallest sum of local costs over the alignments of each pair of series.

    ``D(i, j) = d(x_i, z_j) + min(D(i-1, j), D(i, j-1), D(i-1, j-1))``, with d the squared
    Euclidean distance or its square root (Sakoe and Chiba 1978, eq. 20, with all weights one).

    Parameters
    ----------
    X, Z : tuple of two ndarrays
        Collections; None compares `X` with itself.
    band : Band
        Which cells may be visited.
    rooted : bool
        Whether local costs are distances and not their squares.
    cutoff : float
        Costs above this value are reported as infinite, so their computation can stop early.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    costs : ndarray of shape (n, m)
        Infinite where the band admits no alignment.
    """
    columns = X if Z is None else Z
    values, offsets = X

    def block(rows: Array, targets: Array, widths: Array) -> Array:
        longest = int(np.diff(columns[1])[targets].max())
        lanes: Packed | Lanes
        # compare with all lanes at once, or with one lane after another if there are few lanes for
        # their length
        if longest >= LENGTH_OF_FEW * len(targets):
            compare = _compare_one_by_one
            lanes = one_after_another(columns, targets)
            saved = np.empty((3, int(np.diff(offsets)[rows].max(initial=0)) + 1))
        else:
            compare = _compare
            lanes = side_by_side(columns, targets)
            saved = np.empty((longest + 1, len(targets)))
        position = np.zeros(5, dtype=np.int64)
        costs = np.full((len(rows), len(targets)), np.inf)
        in_pieces(
            *(compare, values, offsets, rows, widths, lanes),
            *(band, rooted, cutoff, position, saved, costs),
        )
        return costs

    return all_pairs(X, Z, block, by_length=band.needs_lengths, n_jobs=n_jobs)


def all_pairs(
    X: Packed,
    Z: Packed | None,
    block: Callable[[Array, Array, Array], Array],
    *,
    by_length: bool,
    n_jobs: int | None = None,
) -> Array:
    """Compute a symmetric measure for all pairs of series, in blocks of rows against lanes.

    Parameters
    ----------
    X, Z : tuple of two ndarrays
        Collections; None compares `X` with itself, each pair once, with 0 on the diagonal.
    block : callable
        ``block(rows, targets, widths)`` compares series ``rows[p]`` of `X` with the first
        ``widths[p]`` targets; the matrix that it returns is infinite elsewhere.
    by_length : bool
        Whether the lanes of a block must have equal lengths.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    costs : ndarray of shape (n, m)
        Measures; infinite wherever the block was infinite.
    """
    same = Z is None
    columns = X if Z is None else Z
    rows = np.argsort(np.diff(X[1]), kind="stable")
    order = np.argsort(np.diff(columns[1]), kind="stable")
    batches = lane_batches(np.diff(columns[1])[order], mixed_lengths=not by_length)

    def compare_batch(start: int, stop: int) -> tuple[Array, Array, Array]:
        # sort the lanes from long to short: if X is compared with itself, each pair is computed
        # once, and a row leaves out the lanes with shorter series, which are the last ones
        targets = order[start:stop][::-1]
        here = rows[: stop - 1] if same else rows
        widths = np.full(len(here), stop - start)
        if same:
            widths = np.minimum(widths, stop - 1 - np.arange(len(here)))
        return here, targets, block(here, targets, widths)

    results = in_jobs(compare_batch, batches, n_jobs, prefer="threads")
    # if X is compared with itself, a block is infinite in the cells whose mirror images hold the
    # cost
    costs = np.full((len(rows), len(order)), np.inf)
    for here, targets, values in results:
        if same:
            smaller = np.minimum(values, costs[np.ix_(here, targets)])
            costs[np.ix_(here, targets)] = smaller
            costs[np.ix_(targets, here)] = np.minimum(smaller.T, costs[np.ix_(targets, here)])
        else:
            costs[np.ix_(here, targets)] = values
    if same:
        np.fill_diagonal(costs, 0.0)
    return costs


def alignment_cost(x: Array, z: Array, *, band: Band, rooted: bool) -> float:
    """Return the smallest sum of local costs for two series, without the alignment."""
    position = np.zeros(3, dtype=np.int64)
    tables = np.empty((3, len(x) + 1))
    cost = np.inf
    # fill the table in pieces that can be interrupted
    while position[0] < len(x) + len(z) - 1:
        cost, _ = cost_by_diagonals(
            x, z, band, rooted, np.inf, position, tables, pieces.PIECE_CELLS
        )
    return float(cost)


def lane_batches(
    lengths: Array, mixed_lengths: bool, size: int = LANES
) -> list[tuple[int, int]]:
    """Return intervals of at most `size` series, of equal lengths unless `mixed_lengths`."""
    cuts = [0] if mixed_lengths else [0, *(np.flatnonzero(np.diff(lengths)) + 1)]
    ends = [*cuts[1:], len(lengths)]
    return [
        (start, min(start + size, end))
        for cut, end in zip(cuts, ends, strict=True)
        for start in range(cut, end, size)
    ]


@jit_leaf
def all_within(values, smallest, largest):
    """Return whether all numbers are zero or have magnitudes in an interval."""
    for i in range(values.size):
        size = abs(values[i])
        if not (smallest <= size <= largest or size == 0.0):
            return False
    return True


@jit_leaf
def local_cost(a, b, rooted):
    """Return the Euclidean distance of two points, squared unless `rooted`."""
    total = 0.0
    for c in range(len(a)):
        total += (a[c] - b[c]) ** 2
    return np.sqrt(total) if rooted else total


@jit_leaf
def cost_of_pair(x, z, low, high, rooted, tail, cutoff, row, first, cells):
    """Return the cost of the best alignment, infinite as soon as it must exceed the cutoff.

    `tail[i]` is a lower bound on the costs of the rows from i on (Rakthanmanon et al. 2012,
    section 4.1.4). Resumes at row `first` and works through about `cells` cells. Returns the next
    row, which is ``len(x)`` when finished, the cost and the number of cells left over.
    """
    m = len(z)
    univariate = x.shape[1] == 1 and not rooted

    if first == 0:
        for j in range(1, m + 1):
            row[j] = np.inf
        row[0] = 0.0

    for i in range(first, len(x)):
        if cells <= 0 and i > first:  # each call fills at least one row
            return i, np.inf, cells

        # stop if no cell of z is within the corridor
        start = low[i]
        stop = min(high[i], m)
        if start >= stop:
            return len(x), np.inf, cells
        cells -= stop - start

        # fill one row
        diagonal = row[start]
        row[start] = np.inf
        before = least = np.inf
        for j in range(start, stop):
            above = row[j + 1]
            if univariate:
                difference = x[i, 0] - z[j, 0]
                cost = difference * difference
            else:
                cost = local_cost(x[i], z[j], rooted)
            before = cost + min(min(above, diagonal), before)
            diagonal = above
            row[j + 1] = before
            least = min(least, before)

        # stop if no path through this row is cheap enough
        if least + tail[i + 1] > cutoff:
            return len(x), np.inf, cells

    cost = row[m] if low[len(x) - 1] < m <= high[len(x) - 1] else np.inf
    return len(x), cost, cells
