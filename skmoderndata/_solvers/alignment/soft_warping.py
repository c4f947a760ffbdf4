"""Soft dynamic time warping: a smooth minimum over alignments, and its gradient."""

from typing import NamedTuple

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.alignment.corridors import Band, fill_corridor
from skmoderndata._solvers.alignment.warping import local_cost
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._typing import Array

CELLS_OF_EXPONENTIALS = 20  # cells of others that one with three exponentials is worth


@jit
def _soft_minimum(a, b, c, gamma):
    """``-gamma log(exp(-a / gamma) + exp(-b / gamma) + exp(-c / gamma))``, without overflow."""
    least = min(min(a, b), c)
    if least == np.inf:
        return np.inf
    total = np.exp((least - a) / gamma) + np.exp((least - b) / gamma)
    return least - gamma * np.log(total + np.exp((least - c) / gamma))


class SoftTables(NamedTuple):
    """State of a sweep over the series: where it is, and the tables of one series.

    Attributes
    ----------
    position : ndarray of int of shape (3,)
        Number of the series, whether its gradient has begun, and rows that are done.
    low, high : ndarray of int of shape (n,)
        The corridor.
    R : ndarray of shape (n + 2, longest + 2)
        Soft costs of the beginnings of both series, with a border of infinity.
    E : ndarray of shape (n + 2, longest + 2)
        Derivatives of the soft cost in the local costs; empty without a gradient.
    """

    position: Array
    low: Array
    high: Array
    R: Array
    E: Array


@jit
def _soft_row(x, z, i, gamma, low, high, R):
    """Row i of ``R(i, j) = d(x_i, z_j) + softmin`` of three neighbours."""
    for j in range(low[i - 1] + 1, high[i - 1] + 1):
        best = _soft_minimum(R[i - 1, j - 1], R[i - 1, j], R[i, j - 1], gamma)
        R[i, j] = local_cost(x[i - 1], z[j - 1], False) + best


@jit
def _gradient_row(x, z, i, gamma, low, high, R, E, weight, gradient):
    """Add row i of the gradient of ``weight R(n, m)`` in x (Cuturi and Blondel, Alg. 2).

    ``E(i, j)``, the derivative of the value in the cell's local cost, is the weighted sum of the
    three cells that it leads to, weighted by ``exp((R(next) - R - d(next)) / gamma)``.
    """
    n = len(x)
    m = len(z)
    for j in range(high[i - 1], low[i - 1], -1):
        if R[i, j] == np.inf:
            continue
        if i == n and j == m:
            E[i, j] = 1.0
        else:
            total = 0.0
            for k in range(3):
                a = i + (k != 1)
                b = j + (k != 2)
                if E[a, b] > 0.0:
                    cost = local_cost(x[a - 1], z[b - 1], False)
                    total += E[a, b] * np.exp((R[a, b] - R[i, j] - cost) / gamma)
            E[i, j] = total
        for c in range(x.shape[1]):
            difference = x[i - 1, c] - z[j - 1, c]
            gradient[i - 1, c] += weight * 2.0 * E[i, j] * difference


@jit
def _soft_sweep(center, values, offsets, weights, gamma, band, gradient, tables, costs, cells):
    """Soft costs of the series one after the other, for about so many cells; True at the end."""
    position = tables.position
    low = tables.low
    high = tables.high
    R = tables.R
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
                R[i, : m + 2] = np.inf  # row by row: a long fill would not hear an interrupt
                _soft_row(center, z, i, gamma, low, high, R)
                cells -= CELLS_OF_EXPONENTIALS * (high[i - 1] - low[i - 1])
            costs[p] = R[n, m]
            position[1] = 1
            position[2] = 0

        # 2. the gradient, rows upwards
        if E.size and costs[p] < np.inf:
            if position[2] == 0:
                E[n + 1, : m + 2] = 0.0
            for i in range(n - position[2], 0, -1):
                if cells <= 0:
                    position[2] = n - i
                    return False
                E[i, : m + 2] = 0.0
                _gradient_row(center, z, i, gamma, low, high, R, E, weights[p], gradient)
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
    shape = (len(center) + 2, int(np.diff(offsets).max()) + 2)
    tables = SoftTables(
        np.zeros(3, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(shape),
        np.empty(shape if gradient.size else (0, 0)),
    )
    costs = np.empty(len(offsets) - 1)
    in_pieces(
        _soft_sweep, center, values, offsets, weights, gamma, band, gradient, tables, costs
    )
    return costs
