"""Soft dynamic time warping: a smooth minimum over alignments, and its gradient."""

from typing import NamedTuple

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.alignment.corridors import Band, fill_corridor
from skmoderndata._solvers.alignment.warping import local_cost
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._typing import Array

CELLS_OF_EXPONENTIALS = 20  # cells of others that one with exponentials is worth


class SoftTables(NamedTuple):
    """State of a sweep over the series: where it is, and the tables of one series.

    Attributes
    ----------
    position : ndarray of int of shape (3,)
        Number of the series, whether its gradient has begun, and rows that are done.
    low, high : ndarray of int of shape (n,)
        The corridor.
    R : ndarray of shape (2, longest + 2)
        Soft costs of the beginnings of both series, with a border of infinity: two rows.
    W : ndarray of shape (n + 2, longest + 2, 3)
        Weights of the three neighbours in the soft minimum of each cell; empty without a gradient.
    E : ndarray of shape (2, longest + 2)
        Derivatives of the soft cost in the local costs: two rows.
    """

    position: Array
    low: Array
    high: Array
    R: Array
    W: Array
    E: Array


@jit_leaf
def _soft_row(x, z, i, gamma, low, high, before, row, weights):
    """Row i of ``R(i, j) = d(x_i, z_j) - gamma log sum_k exp(-a_k / gamma)``, a its neighbours.

    The weights ``exp(-a_k / gamma) / sum`` of the three are kept where there is room for them.
    """
    for j in range(low[i - 1] + 1, high[i - 1] + 1):
        diagonal = before[j - 1]
        above = before[j]
        beside = row[j - 1]
        least = min(min(diagonal, above), beside)
        if least == np.inf:
            continue

        # relative to the least, against overflow; its exponential is 1
        of_diagonal = 1.0 if diagonal == least else np.exp((least - diagonal) / gamma)
        of_above = 1.0 if above == least else np.exp((least - above) / gamma)
        of_beside = 1.0 if beside == least else np.exp((least - beside) / gamma)
        total = of_diagonal + of_above + of_beside
        best = least - gamma * np.log(total)
        row[j] = local_cost(x[i - 1], z[j - 1], False) + best
        if weights.size:
            inverse = 1.0 / total
            weights[j, 0] = of_diagonal * inverse
            weights[j, 1] = of_above * inverse
            weights[j, 2] = of_beside * inverse


@jit_leaf
def _gradient_row(x, z, i, low, high, W, below, row, weight, gradient):
    """Add row i of the gradient of ``weight R(n, m)`` in x (Cuturi and Blondel, Alg. 2).

    ``E(i, j)``, the derivative of the value in the cell's local cost, is the sum of the three
    cells that it leads to, each by its weight in the soft minimum there.
    """
    for j in range(high[i - 1], low[i - 1], -1):
        if i < len(x) or j < len(z):
            row[j] = (
                below[j + 1] * W[i + 1, j + 1, 0]
                + below[j] * W[i + 1, j, 1]
                + row[j + 1] * W[i, j + 1, 2]
            )
        else:
            row[j] = 1.0
        for c in range(x.shape[1]):
            difference = x[i - 1, c] - z[j - 1, c]
            gradient[i - 1, c] += weight * 2.0 * row[j] * difference


@jit
def _soft_sweep(center, values, offsets, weights, gamma, band, gradient, tables, costs, cells):
    """Soft costs of the series one after the other, for about so many cells; True at the end."""
    position = tables.position
    low = tables.low
    high = tables.high
    R = tables.R
    W = tables.W
    E = tables.E
    n = len(center)
    for p in range(position[0], len(costs)):
        position[0] = p
        z = values[offsets[p] : offsets[p + 1]]
        m = len(z)
        if position[1] == 0 and position[2] == 0:
            fill_corridor(n, m, band, low, high)
            R[0, : m + 2] = np.inf
            R[0, 0] = 0.0

        # 1. the value, rows downwards
        if position[1] == 0:
            for i in range(position[2] + 1, n + 1):
                if cells <= 0:
                    position[2] = i - 1
                    return False
                R[i % 2, : m + 2] = np.inf
                if W.size:  # row by row: a long fill would not hear an interrupt
                    W[i, : m + 2] = 0.0
                weights_here = W[i if W.size else 0]
                _soft_row(
                    center, z, i, gamma, low, high, R[(i - 1) % 2], R[i % 2], weights_here
                )
                cells -= CELLS_OF_EXPONENTIALS * (high[i - 1] - low[i - 1])
            costs[p] = R[n % 2, m]
            position[1] = 1
            position[2] = 0

        # 2. the gradient, rows upwards
        if W.size and costs[p] < np.inf:
            if position[2] == 0:
                W[n + 1, : m + 2] = 0.0
                E[(n + 1) % 2, : m + 2] = 0.0
            for i in range(n - position[2], 0, -1):
                if cells <= 0:
                    position[2] = n - i
                    return False
                E[i % 2, : m + 2] = 0.0
                _gradient_row(
                    *(center, z, i, low, high, W, E[(i + 1) % 2], E[i % 2]),
                    *(weights[p], gradient),
                )
                cells -= CELLS_OF_EXPONENTIALS * (high[i - 1] - low[i - 1])
        position[1] = position[2] = 0
    return True


def soft_costs(
    center: Array,
    values: Array,
    offsets: Array,
    weights: Array,
    gamma: float,
    band: Band,
    gradient: Array,
) -> Array:
    """Return the soft cost of a center with each series.

    Adds the weighted gradient in the center to `gradient`; where this is empty, none is computed.
    """
    n = len(center)
    width = int(np.diff(offsets).max()) + 2
    tables = SoftTables(
        np.zeros(3, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty((2, width)),
        np.empty((n + 2, width, 3) if gradient.size else (1, 0, 3)),
        np.empty((2, width)),
    )
    costs = np.empty(len(offsets) - 1)
    in_pieces(
        _soft_sweep, center, values, offsets, weights, gamma, band, gradient, tables, costs
    )
    return costs
