"""Alignment paths: backtracking through the table, and alignment from coarse to fine scales.

Differs from the paper (Salvador and Chan 2007) only in `aligned_by_scales`: the band of the caller
is applied on the finest scale.
"""

import numpy as np

from skmoderndata._solvers.alignment.corridors import Band, corridor
from skmoderndata._solvers.alignment.warping import local_cost
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.typing import Array

# Steps that lead to a cell; on ties, the first one in this order wins.
DIAGONAL, IN_X, IN_Z = range(3)


@jit
def _begins(low, high):
    """Return the position in the packed moves at which each row begins, at a new byte."""
    begins = np.zeros(len(low) + 1, dtype=np.int64)
    for i in range(len(low)):
        begins[i + 1] = begins[i] + (max(high[i] - low[i], 0) + 3) // 4
    return begins


@jit
def _forward(x, z, costs, low, high, rooted, begins, steps, saved, position, cells):
    """Fill the table from row ``position[0]`` on, about `cells` cells; return True when finished.

    Local costs are computed from the series unless `costs` is not empty. Moves take two bits for
    each cell of the corridor; only one row of costs is kept, in `saved` between calls. Cells left
    of the corridor keep costs of earlier rows: `low` must not decrease, so that none is read.
    """
    row = saved.copy()
    univariate = not costs.size and not rooted and x.shape[1] == 1

    for i in range(position[0], len(low)):
        if cells <= 0:
            position[0] = i
            saved[:] = row
            return False

        diagonal = row[low[i]]
        row[low[i]] = np.inf
        byte = 0
        left = np.inf
        for j in range(low[i], high[i]):
            # find the smallest of the three neighbours
            above = row[j + 1]
            best = diagonal
            move = DIAGONAL
            if above < best:
                best = above
                move = IN_X
            if left < best:
                best = left
                move = IN_Z

            if univariate:
                cost = (x[i, 0] - z[j, 0]) * (x[i, 0] - z[j, 0])
            else:
                cost = costs[i, j] if costs.size else local_cost(x[i], z[j], rooted)

            diagonal = above
            row[j + 1] = left = cost + best

            # pack four moves of two bits each into a byte
            k = j - low[i]
            byte |= move << (2 * (k & 3))
            if k & 3 == 3 or j == high[i] - 1:
                steps[begins[i] + (k >> 2)] = byte
                byte = 0

        cells -= high[i] - low[i]
    saved[:] = row
    return True


@jit
def _back(low, begins, steps, m):
    """Trace the best alignment back from the last cell."""
    n = len(low)
    path = np.empty((n + m, 2), dtype=np.int64)
    i = n - 1
    j = m - 1
    k = n + m
    while True:
        k -= 1
        path[k, 0] = i
        path[k, 1] = j
        if i == 0 and j == 0:
            return path[k:].copy()
        cell = j - low[i]
        move = (steps[begins[i] + (cell >> 2)] >> (2 * (cell & 3))) & 3
        if move != IN_Z:
            i -= 1
        if move != IN_X:
            j -= 1


def walk(
    x: Array, z: Array, costs: Array, low: Array, high: Array, rooted: bool
) -> tuple[Array, float]:
    """Return the cells that the best alignment inside a corridor visits, and its cost.

    Local costs are computed from the series unless `costs` is not empty. Moves take two bits for
    each cell of the corridor; only one row of costs is kept.
    """
    n = len(low)
    m = max(costs.shape[1], len(z))
    begins = _begins(low, high)
    position = np.zeros(1, dtype=np.int64)
    row = np.full(m + 1, np.inf)
    steps = np.empty(begins[n], dtype=np.uint8)
    row[0] = 0.0
    in_pieces(_forward, x, z, costs, low, high, rooted, begins, steps, row, position)

    cost = float(row[m]) if low[n - 1] < m <= high[n - 1] else np.inf
    if cost == np.inf:
        return np.empty((0, 2), dtype=np.int64), cost
    return _back(low, begins, steps, m), cost


def aligned(
    x: Array, z: Array, *, band: Band, rooted: bool, costs: Array | None = None
) -> tuple[Array, float]:
    """Return the best alignment of two series.

    Parameters
    ----------
    x, z : ndarray of shape (length, n_channels)
        Series.
    band : Band
        Which cells may be visited.
    rooted : bool
        Whether local costs are distances and not their squares.
    costs : ndarray of shape (len(x), len(z)), default=None
        Local costs; None computes them from the series.

    Returns
    -------
    path : ndarray of int of shape (n_steps, 2)
        Aligned positions; empty if the band admits no alignment. If costs are equal, a diagonal
        step is preferred to a step in x, and this to a step in z.
    cost : float
        Sum of the local costs.
    """
    low, high = corridor(len(x), len(z), band)
    local_costs = np.empty((0, 0)) if costs is None else costs
    return walk(x, z, local_costs, low, high, rooted)


def _halved(x: Array) -> Array:
    """Average pairs of neighbouring points; an unpaired last point is kept."""
    means = (x[0 : len(x) - 1 : 2] + x[1::2]) / 2
    return np.concatenate([means, x[-1:]]) if len(x) % 2 else means


def _dilated(path: Array, n: int, m: int, radius: int) -> tuple[Array, Array]:
    """Return the corridor of cells within `radius` of the projection of a coarse path."""
    low = np.full(n, m)
    high = np.zeros(n, dtype=np.int64)
    for shift in (0, 1):
        rows = np.minimum(2 * path[:, 0] + shift, n - 1)
        np.minimum.at(low, rows, 2 * path[:, 1])
        np.maximum.at(high, rows, np.minimum(2 * path[:, 1] + 2, m))
    for step in range(1, radius + 1):
        # a column that is near the path in a row is also near the path in the rows `step` above
        # and below
        low[step:] = np.minimum(low[step:], low[:-step]) if n > step else low[step:]
        high[: n - step] = np.maximum(high[: n - step], high[step:])
    return np.maximum(low - radius, 0), np.minimum(high + radius, m)


def aligned_by_scales(
    x: Array, z: Array, *, radius: int, band: Band, rooted: bool
) -> tuple[Array, float]:
    """Return an alignment that is found on halved series first (Salvador and Chan 2007).

    The path of the coarse series is projected, widened by `radius` cells and refined inside this
    corridor. The cost is an upper bound on the smallest cost; the time is linear in the length.

    Parameters
    ----------
    x, z : ndarray of shape (length, n_channels)
        Series.
    radius : int
        Nonnegative number of cells on each side of the projected path.
    band : Band
        Which cells may be visited.
    rooted : bool
        Whether local costs are distances and not their squares.

    Returns
    -------
    path, cost
        The same as in `aligned`.
    """
    n = len(x)
    m = len(z)
    if min(n, m) <= radius + 2:
        return aligned(x, z, band=band, rooted=rooted)
    coarse, _ = aligned_by_scales(
        _halved(x), _halved(z), radius=radius, band=Band(), rooted=rooted
    )
    low, high = _dilated(coarse, n, m, radius)
    first, last = corridor(n, m, band)
    low = np.maximum(low, first)
    high = np.minimum(high, last)
    # drop cells that no monotone path can reach, so that neither end ever decreases
    low = np.maximum.accumulate(low)
    high = np.minimum.accumulate(high[::-1])[::-1]
    return walk(x, z, np.empty((0, 0)), low, np.maximum(high, low), rooted)
