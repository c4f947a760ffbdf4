"""Best alignments of a series with a window of another series, by dynamic programming.

``D(i, j) = d(x_i, z_j) + min(D(i - 1, j - 1), D(i - 1, j), D(i, j - 1))``, where the alignment may
start at any point of z, so that ``D(0, j)`` may start from 0, and may end at any point of z.

As in Müller (2007, section 4.4), but the first point of each alignment is passed on with its cost
instead of being traced back.
"""

import heapq
from itertools import pairwise
from typing import NamedTuple

import joblib
import numpy as np

from skmoderndata._solvers.alignment.warping import Packed, local_cost
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.typing import Array


class Window(NamedTuple):
    """Points ``start:stop`` of a series, and the cost of aligning another series with them."""

    cost: float
    start: int
    stop: int


@jit
def _columns(
    x, z, costs, rooted, open_begin, column, begins, end_costs, end_begins, first, cells
):
    """Fill the table column by column; return True when finished.

    ``column[i]`` holds D(i, j - 1), and ``begins[i]`` the first point of this alignment. The last
    row is copied to `end_costs` and `end_begins`. In a tie the latest first point is preferred.
    """
    n = len(column)
    for j in range(first[0], len(end_costs)):
        if cells <= 0:
            first[0] = j
            return False

        # an alignment may start in this column, from cell (-1, j - 1)
        diagonal = 0.0 if open_begin or j == 0 else np.inf
        diagonal_begin = j
        above = np.inf
        above_begin = 0
        for i in range(n):
            # find the smallest of the three neighbours; best alignments do not cross, so the
            # alignment of `previous` never begins later than the alignment of `diagonal`, and the
            # alignment of `above` never begins earlier
            previous = column[i]
            previous_begin = begins[i]
            best = diagonal
            begin = diagonal_begin
            if above <= best:
                best = above
                begin = above_begin
            if previous < best:
                best = previous
                begin = previous_begin

            cost = costs[i, j] if costs.size else local_cost(x[i], z[j], rooted)
            diagonal = previous
            diagonal_begin = previous_begin
            above = cost + best
            above_begin = begin
            column[i] = above
            begins[i] = begin

        end_costs[j] = above
        end_begins[j] = above_begin
        cells -= n
    return True


def best_window(
    x: Array,
    z: Array,
    *,
    rooted: bool,
    costs: Array | None = None,
    open_begin: bool = True,
    open_end: bool = True,
) -> Window:
    """Return the window of z with which x has the best alignment.

    Parameters
    ----------
    x, z : ndarray of shape (length, n_channels)
        Series.
    rooted : bool
        Whether local costs are distances and not their squares.
    costs : ndarray of shape (len(x), len(z)), default=None
        Local costs; None computes them from the series.
    open_begin, open_end : bool
        Whether points at the beginning and at the end of z may be left out.

    Returns
    -------
    window : Window
        In a tie the window that ends first, and of these the shortest one.
    """
    n = len(x)
    m = len(z)

    # fill the table, of which only the last column and the last row are kept
    local_costs = np.empty((0, 0)) if costs is None else costs
    column = np.full(n, np.inf)
    begins = np.zeros(n, dtype=np.int64)
    end_costs = np.empty(m)
    end_begins = np.empty(m, dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    in_pieces(
        _columns,
        x,
        z,
        local_costs,
        rooted,
        open_begin,
        column,
        begins,
        end_costs,
        end_begins,
        first,
    )

    # choose the last point of the window
    end = int(end_costs.argmin()) if open_end else m - 1
    return Window(float(end_costs[end]), int(end_begins[end]), end + 1)


def costs_of_windows(
    X: Packed,
    Z: Packed,
    *,
    rooted: bool,
    open_begin: bool,
    open_end: bool,
    n_jobs: int | None = None,
) -> Array:
    """Return the costs of aligning each series of X with the best window of each series of Z.

    The call for a pair takes 4 microseconds, and a compiled loop over the pairs would need 1.5 s
    to be compiled.

    Parameters
    ----------
    X, Z : tuple of ndarray
        Values of all series, one after another, and the position at which each series begins.
    rooted, open_begin, open_end
        The same as in `best_window`.
    n_jobs : int, default=None
        Number of threads over the series of X.

    Returns
    -------
    costs : ndarray of shape (n_X, n_Z)
        Sums of local costs.
    """
    values, offsets = X
    others, other_offsets = Z

    # align one series of X with all series of Z
    def row(i: int) -> list[float]:
        x = values[offsets[i] : offsets[i + 1]]
        windows = (
            best_window(
                x,
                others[first:stop],
                rooted=rooted,
                open_begin=open_begin,
                open_end=open_end,
            )
            for first, stop in pairwise(other_offsets)
        )
        return [window.cost for window in windows]

    rows = range(len(offsets) - 1)
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads")
    return np.array(parallel(joblib.delayed(row)(i) for i in rows))


def best_windows(
    x: Array,
    z: Array,
    *,
    rooted: bool,
    costs: Array | None = None,
    n_windows: int,
    largest: float,
) -> list[Window]:
    """Return the best window of z, then the best one that does not overlap it, and so on.

    Each window splits the part of z in which it lies, and the two rests are searched anew. Stops
    after `n_windows` windows, or if the next one costs more than `largest`.
    """

    def search(low: int, high: int) -> None:
        if low == high:
            return
        block = None if costs is None else np.ascontiguousarray(costs[:, low:high])
        cost, start, stop = best_window(x, z[low:high], rooted=rooted, costs=block)
        heapq.heappush(rests, (cost, low + start, low + stop, low, high))

    # for each remaining part of z: cost and window of its best match, and the ends of the part
    rests: list[tuple[float, int, int, int, int]] = []
    search(0, len(z))
    windows: list[Window] = []

    # take the best window of all remaining parts, and search what is left of its part
    while rests and len(windows) < n_windows:
        cost, start, stop, low, high = heapq.heappop(rests)
        if not cost <= largest or cost == np.inf:
            break
        windows.append(Window(cost, start, stop))
        if len(windows) < n_windows:
            search(low, start)
            search(stop, high)
    return windows
