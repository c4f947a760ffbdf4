"""Elastic distances of many pairs of series: edits with real penalty, moves, time warp edits.

Each distance has one compiled recursion, which fills the tables of one series against many lanes
row by row. `row[j + 1]` holds D(i, j) of all lanes, as in `warping.next_row`.

Differs from the papers: 1. all distances accept a band. 2. There may be several channels: MSM is
summed over them, LCSS compares each of them, and the other distances of points are Euclidean.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from skmoderndata._solvers.alignment.corridors import Band, corridor
from skmoderndata._solvers.alignment.warping import LANES, Packed, all_pairs, side_by_side
from skmoderndata._solvers.common import pieces
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.typing import Array

METRICS = ("erp", "lcss", "msm", "twe", "weighted_dtw")


class Elastic(NamedTuple):
    """An elastic distance with its parameters; each distance reads only the ones it needs.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    gap_value : float
        Value assigned to a gap, g in ERP.
    cost : float
        Cost of a split or a merge, c in MSM.
    stiffness : float
        Cost of a time difference of one step, nu in TWE.
    gap_cost : float
        Cost of a deletion, lambda in TWE.
    squared : bool
        Whether TWE adds squared distances of points.
    steepness : float
        Slope of the logistic weights in 1 / steps, g in weighted DTW.
    epsilon : float
        Largest difference of values that match in the longest common subsequence.
    """

    metric: str
    gap_value: float = 0.0
    cost: float = 1.0
    stiffness: float = 0.001
    gap_cost: float = 1.0
    squared: bool = False
    steepness: float = 0.05
    epsilon: float = 1.0


def elastic_costs(
    X: Packed,
    Z: Packed | None = None,
    *,
    elastic: Elastic,
    band: Band,
    n_jobs: int | None = None,
) -> Array:
    """Return an elastic distance of all pairs of series.

    Parameters
    ----------
    X, Z : tuple of two ndarrays
        Collections; None compares `X` with itself.
    elastic : Elastic
        Distance and its parameters. MSM is summed over the channels.
    band : Band
        Which cells may be visited.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    costs : ndarray of shape (n, m)
        Distances; infinite where the band admits no alignment. For "lcss", one minus the ratio of
        the length of the longest common subsequence to the length of the shorter series.
    """
    # sum MSM over the channels, because it is defined for one channel only
    n_channels = X[0].shape[1]
    if elastic.metric == "msm" and n_channels > 1:
        total: Array = np.zeros((len(X[1]) - 1, 1))
        for c in range(n_channels):
            x = (np.ascontiguousarray(X[0][:, [c]]), X[1])
            z = None if Z is None else (np.ascontiguousarray(Z[0][:, [c]]), Z[1])
            total = total + elastic_costs(x, z, elastic=elastic, band=band, n_jobs=n_jobs)
        return total

    # process the larger collection in lanes, which is allowed because all distances are symmetric
    if Z is not None and len(Z[1]) < min(len(X[1]), LANES):
        return elastic_costs(Z, X, elastic=elastic, band=band, n_jobs=n_jobs).T

    columns = X if Z is None else Z
    values, offsets = X

    def block(rows: Array, targets: Array, widths: Array) -> Array:
        lanes = side_by_side(columns, targets)
        # put a point 0 before the first point [Marteau 2009, section 2.2]
        z = np.pad(lanes.values, ((1, 0), (0, 0), (0, 0)))
        costs = np.full((len(rows), len(targets)), np.inf)
        tables = _Tables(elastic, band, z, lanes.lengths)
        for p, i in enumerate(rows):
            if widths[p] > 0:
                x = values[offsets[i] : offsets[i + 1]]
                costs[p, : widths[p]] = tables.last_cells(x, int(widths[p]))
        return costs

    by_length = band.needs_lengths or elastic.metric == "weighted_dtw"
    return all_pairs(X, Z, block, by_length=by_length, n_jobs=n_jobs)


class _Tables:
    """Tables of one series against the lanes of a batch, filled row by row."""

    def __init__(self, elastic: Elastic, band: Band, z: Array, lengths: Array) -> None:
        self.elastic = elastic
        self.band = band
        self.z = z
        self.lengths = lengths
        self.gaps = _gaps(elastic, z)
        self.n_corridor = -1

    def last_cells(self, x: Array, width: int) -> Array:
        """Return the distances of a series from the first `width` lanes."""
        n = len(x)
        longest = len(self.z) - 1
        # series of equal length are consecutive, so they share a corridor
        if n != self.n_corridor:
            self.low, self.high = corridor(n, longest, self.band)
            self.n_corridor = n

        # 1. set up the borders of the tables, and the costs that depend on one series only
        padded = np.concatenate([np.zeros((1, x.shape[1])), x])
        row = self._border(width)
        work = np.empty((2, width))
        recursion, costs = self._recursion(padded)

        # 2. fill the rows, in pieces that can be interrupted
        rows_per_piece = max(pieces.PIECE_CELLS // max(longest * width, 1), 1)
        for first in range(0, n, rows_per_piece):
            stop = min(first + rows_per_piece, n)
            recursion(padded, self.z, *costs, self.low, self.high, first, stop, row, work)

        # 3. read the last cell of each lane if the corridor reaches it
        lengths = self.lengths[:width]
        last = row[lengths, np.arange(width)]
        if self.elastic.metric == "lcss":
            return 1.0 + row[
                np.minimum(lengths, self.high[-1]), np.arange(width)
            ] / np.minimum(n, lengths)
        empty = (self.low >= self.high).any()
        reached = (self.low[-1] < lengths) & (lengths <= self.high[-1]) & (not empty)
        return np.where(reached, last, np.inf)

    def _border(self, width: int) -> Array:
        """Return D(-1, j), preceded by D(-1, -1) = 0."""
        longest = len(self.z) - 1
        if self.elastic.metric == "lcss":
            return np.zeros((longest + 1, width))
        row = np.full((longest + 1, width), np.inf)
        row[0] = 0.0
        if self.elastic.metric == "erp":
            stop = self.high[0]
            row[1 : stop + 1] = self.gaps[:stop, :width].cumsum(axis=0)
        return row

    def _recursion(self, x: Array) -> tuple[Any, tuple[Any, ...]]:
        """Return the compiled recursion and its costs."""
        elastic = self.elastic
        if elastic.metric == "erp":
            return erp_rows, (_gaps(elastic, x[:, :, None])[:, 0], self.gaps)
        if elastic.metric == "twe":
            gaps = _gaps(elastic, x[:, :, None])[:, 0]
            return twe_rows, (gaps, self.gaps, elastic.stiffness, elastic.squared)
        if elastic.metric == "msm":
            return msm_rows, (elastic.cost,)
        if elastic.metric == "lcss":
            return lcss_rows, (elastic.epsilon,)
        size = max(len(x), len(self.z)) - 1
        return weighted_rows, (logistic_weights(size, elastic.steepness),)


def _gaps(elastic: Elastic, z: Array) -> Array:
    """Return the costs of a step in only one series, of shape (length, n_lanes)."""
    if elastic.metric == "erp":
        return np.sqrt(((z[1:] - elastic.gap_value) ** 2).sum(axis=1))
    if elastic.metric == "twe":
        squares = (np.diff(z, axis=0) ** 2).sum(axis=1)
        steps = squares if elastic.squared else np.sqrt(squares)
        return steps + (elastic.stiffness + elastic.gap_cost)
    return np.empty((0, 0))


def logistic_weights(size: int, steepness: float) -> Array:
    """Return the weight of a difference of positions, ``1 / (1 + exp(-g (k - size / 2)))``."""
    weights: Array = expit(steepness * (np.arange(size) - size / 2))
    return weights


@jit_leaf
def add_distances(point, z, squared, total, sums):
    """Add the distances, or squared distances, of one point from the points z of all lanes."""
    width = len(total)
    if len(point) == 1:
        value = point[0]
        channel = z[0]
        for k in range(width):
            difference = value - channel[k]
            total[k] += difference * difference if squared else abs(difference)
        return

    sums[:] = 0.0
    for c in range(len(point)):
        channel = z[c]
        for k in range(width):
            difference = point[c] - channel[k]
            sums[k] += difference * difference
    for k in range(width):
        total[k] += sums[k] if squared else np.sqrt(sums[k])


@jit_leaf
def erp_rows(x, z, gaps_x, gaps_z, low, high, first, stop, row, work):
    """Fill rows of the edit distance with real penalty [Chen and Ng 2004, section 4.1].

    ``D(i, j) = min(D(i-1, j-1) + |x_i - z_j|, D(i-1, j) + |x_i - g|, D(i, j-1) + |z_j - g|)``.
    """
    diagonal = work[0]
    width = len(diagonal)
    for i in range(first, stop):
        # update the cell left of the corridor: if it belongs to the empty prefix of z, all points
        # of x so far have been deleted; otherwise no path visits it
        gap_x = gaps_x[i]
        outside = row[low[i]]
        for k in range(width):
            diagonal[k] = outside[k]
            outside[k] = outside[k] + gap_x if low[i] == 0 else np.inf

        for j in range(low[i], high[i]):
            previous = row[j]
            here = row[j + 1]
            gap_z = gaps_z[j]
            add_distances(x[i + 1], z[j + 1], False, diagonal, work[1])
            for k in range(width):
                best = min(diagonal[k], here[k] + gap_x)
                diagonal[k] = here[k]
                here[k] = min(best, previous[k] + gap_z[k])


@jit_leaf
def twe_rows(x, z, gaps_x, gaps_z, stiffness, squared, low, high, first, stop, row, work):
    """Fill rows of the time warp edit distance [Marteau 2009, eq. 5]; times are the indices.

    ``D(i, j) = min(D(i-1, j-1) + |x_i - z_j| + |x_{i-1} - z_{j-1}| + 2 nu |i - j|,
    D(i-1, j) + |x_i - x_{i-1}| + nu + lambda, D(i, j-1) + |z_j - z_{j-1}| + nu + lambda)``,
    with squares in place of distances if `squared`.
    """
    diagonal = work[0]
    width = len(diagonal)
    for i in range(first, stop):
        gap_x = gaps_x[i]
        outside = row[low[i]]
        for k in range(width):
            diagonal[k] = outside[k]
            outside[k] = np.inf

        for j in range(low[i], high[i]):
            previous = row[j]
            here = row[j + 1]
            gap_z = gaps_z[j]
            apart = 2.0 * stiffness * abs(i - j)
            add_distances(x[i + 1], z[j + 1], squared, diagonal, work[1])
            add_distances(x[i], z[j], squared, diagonal, work[1])
            for k in range(width):
                best = min(diagonal[k] + apart, here[k] + gap_x)
                diagonal[k] = here[k]
                here[k] = min(best, previous[k] + gap_z[k])


@jit_leaf
def msm_rows(x, z, cost, low, high, first, stop, row, work):
    """Fill rows of the move-split-merge distance [Stefan et al. 2013, Figure 9].

    ``D(i, j) = min(D(i-1, j-1) + |x_i - z_j|, D(i-1, j) + C(x_i, x_{i-1}, z_j),
    D(i, j-1) + C(z_j, z_{j-1}, x_i))``, where C(a, b, c) is the cost of a split or a merge plus
    the distance of a from the interval between b and c.
    """
    diagonal = work[0]
    width = len(diagonal)
    for i in range(first, stop):
        outside = row[low[i]]
        for k in range(width):
            diagonal[k] = outside[k]
            outside[k] = np.inf

        here_x = x[i + 1, 0]
        before_x = x[i, 0]
        for j in range(low[i], high[i]):
            previous = row[j]
            here = row[j + 1]
            here_z = z[j + 1, 0]
            before_z = z[j, 0]
            # each loop uses at most four arrays, for the same reason as in `warping.next_row`
            for k in range(width):
                v = here_z[k]
                beyond = max(here_x - max(before_x, v), min(before_x, v) - here_x)
                best = min(diagonal[k] + abs(here_x - v), here[k] + cost + max(beyond, 0.0))
                diagonal[k] = here[k]
                here[k] = best
            for k in range(width):
                v = here_z[k]
                w = before_z[k]
                beyond = max(v - max(w, here_x), min(w, here_x) - v)
                here[k] = min(here[k], previous[k] + cost + max(beyond, 0.0))


@jit_leaf
def weighted_rows(x, z, weights, low, high, first, stop, row, work):
    """Fill rows of weighted dynamic time warping [Jeong et al. 2011, eq. 4].

    ``D(i, j) = w(|i - j|) |x_i - z_j|^2 + min(D(i-1, j-1), D(i-1, j), D(i, j-1))``.
    """
    diagonal = work[0]
    cost = work[1]
    width = len(diagonal)
    for i in range(first, stop):
        outside = row[low[i]]
        for k in range(width):
            diagonal[k] = outside[k]
            outside[k] = np.inf

        for j in range(low[i], high[i]):
            previous = row[j]
            here = row[j + 1]
            weight = weights[abs(i - j)]
            cost[:] = 0.0
            for c in range(x.shape[1]):
                value = x[i + 1, c]
                channel = z[j + 1, c]
                for k in range(width):
                    difference = value - channel[k]
                    cost[k] += weight * (difference * difference)
            for k in range(width):
                above = here[k]
                best = min(min(previous[k], above), diagonal[k])
                diagonal[k] = above
                here[k] = cost[k] + best


@jit_leaf
def lcss_rows(x, z, epsilon, low, high, first, stop, row, work):
    """Fill rows of minus the length of the longest common subsequence.

    See Vlachos et al. 2002, definition 1. Points match inside the corridor if no channel differs
    by more than epsilon. Points may be left out anywhere, so a cell outside the corridor has the
    value of the nearest cell inside.
    """
    diagonal = work[0]
    matched = work[1]
    width = len(diagonal)
    for i in range(first, stop):
        # extend the row above: cells to the right of its corridor get the value of its last cell
        reached = high[i - 1] if i > 0 else high[0]
        for j in range(reached, high[i]):
            for k in range(width):
                row[j + 1, k] = row[j, k]

        outside = row[low[i]]
        for k in range(width):
            diagonal[k] = outside[k]

        for j in range(low[i], high[i]):
            previous = row[j]
            here = row[j + 1]
            matched[:] = 1.0
            for c in range(x.shape[1]):
                value = x[i + 1, c]
                channel = z[j + 1, c]
                for k in range(width):
                    if abs(value - channel[k]) > epsilon:
                        matched[k] = 0.0
            for k in range(width):
                best = min(diagonal[k] - matched[k], here[k])
                diagonal[k] = here[k]
                here[k] = min(best, previous[k])
