"""Soft dynamic time warping: a smooth minimum over alignments, and its gradient.

With ``M = exp(-R / gamma)`` the soft minimum becomes a sum, ``M(i, j) = exp(-d(x_i, z_j) / gamma)
(M(i-1, j-1) + M(i-1, j) + M(i, j-1))``.

Differs from the paper: 1. these sums are computed, with a power of two for each column. The costs
R need three transcendental functions per cell; they are used only if points are so far apart that
the sums of two rows leave the range of doubles. 2. The gradient uses stored weights of the three
neighbours instead of recomputing exponentials.
"""

import math
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.alignment.corridors import Band, fill_corridor
from skmoderndata._solvers.alignment.global_alignment import (
    LOG2_E,
    PERIOD,
    exponentials,
    logarithm,
)
from skmoderndata._solvers.alignment.warping import local_cost
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.quantities import CELLS_OF_EXPONENTIALS, CELLS_OF_PRODUCTS
from skmoderndata._solvers.common.typing import Array

# Maximum number of powers of two by which numbers may shrink between two rescalings.
RANGE = 900
# Smallest sum at which a column gets a new power.
LARGE = 2.0**300

# Phases of the computation for one series.
SUMS, COSTS, GRADIENT = range(3)


class SumRow(NamedTuple):
    """A row of the sums, ``M(i, j) = numbers_j 2^(powers_j)``.

    Attributes
    ----------
    numbers : ndarray of shape (longest + 2,)
        Scaled sums.
    powers : ndarray of int of shape (longest + 2,)
        Powers of two of the columns.
    ratios : ndarray of shape (longest + 2,)
        Ratios ``2^(powers_(j-1) - powers_j)``.
    similar : ndarray of shape (longest,)
        Similarities of the points.
    bits : ndarray of int of shape (longest,)
        Workspace for the similarities.
    """

    numbers: Array
    powers: Array
    ratios: Array
    similar: Array
    bits: Array


class SoftTables(NamedTuple):
    """State of a sweep over the series: the position reached, and the tables of one series.

    Attributes
    ----------
    position : ndarray of int of shape (3,)
        Number of the series, its phase, and the number of rows completed in this phase.
    low, high : ndarray of int of shape (n,)
        Ends of the corridor.
    sums : SumRow
        State of the sums.
    R : ndarray of shape (2, longest + 2)
        Two rows of the soft costs of the prefixes of both series, bordered by infinity.
    W : ndarray of shape (n + 2, longest + 2, 3)
        Weights of the three neighbours in the soft minimum of each cell; empty without a gradient.
    E : ndarray of shape (2, longest + 2)
        Two rows of the derivatives of the soft cost with respect to the local costs.
    """

    position: Array
    low: Array
    high: Array
    sums: SumRow
    R: Array
    W: Array
    E: Array


@jit
def _similarities(xi, z, gamma, low, high, sums):
    """Compute ``exp(-d(x_i, z_j) / gamma)`` for ``low <= j < high``; return the lowest power."""
    similar = sums.similar
    rate = -LOG2_E / gamma
    least = 0.0
    for j in range(low, high):
        similar[j - low] = rate * local_cost(xi, z[j], False)
        least = min(least, similar[j - low])
    if least >= -RANGE:
        exponentials(similar, sums.bits, high - low)
    return least


@jit_leaf
def _sum_row(low, high, reached, sums, weights):
    """Compute one row of the sums in place; columns from `reached` on are new in this row."""
    (numbers, powers, ratios, similar, _) = sums
    diagonal = numbers[low]
    power_of_diagonal = powers[low]
    numbers[low] = 0.0
    moved = False  # whether the power of the previous column has changed
    for j in range(low + 1, high + 1):
        # add up the neighbours, scaled to the power of the column
        new = j >= reached
        above = 0.0 if new else numbers[j]
        old_power = powers[j - 1] if new else powers[j]
        ratio = 1.0 if new else ratios[j]
        of_diagonal = ratio * diagonal
        if moved:
            ratio = _power_of_two(powers[j - 1] - old_power)
        of_beside = ratio * numbers[j - 1]
        total = (of_beside + above) + of_diagonal
        former = above

        # give a column the power of its sum if it is new, or if the sum shows that its power has
        # become much too low
        moved = new or not total < LARGE
        if moved:
            power = powers[j - 1]
            of_beside = numbers[j - 1]
            above *= _power_of_two(old_power - power)
            of_diagonal = diagonal * _power_of_two(power_of_diagonal - power)
            total = (of_beside + above) + of_diagonal
            shift = math.frexp(total)[1]
            powers[j] = power + shift
            ratio = _power_of_two(-shift)
            numbers[j] = similar[j - 1 - low] * (total * ratio)
        else:
            numbers[j] = similar[j - 1 - low] * total
        ratios[j] = ratio
        diagonal = former
        power_of_diagonal = old_power

        if weights.size and total > 0.0:
            inverse = 1.0 / total
            weights[j, 0] = of_diagonal * inverse
            weights[j, 1] = above * inverse
            weights[j, 2] = of_beside * inverse


@jit_leaf
def _power_of_two(exponent):
    """Return ``2^exponent``, with the exponent clipped to the range of doubles."""
    return math.ldexp(1.0, min(max(exponent, -1000), 1000))


@jit_leaf
def _rescale(low, high, sums):
    """Move the power of two of each number into the power of its column."""
    (numbers, powers, ratios, _, _) = sums
    for j in range(low, high + 1):
        if numbers[j] > 0.0:
            shift = math.frexp(numbers[j])[1]
            numbers[j] *= _power_of_two(-shift)
            powers[j] += shift
        if j > low:
            ratios[j] = _power_of_two(powers[j - 1] - powers[j])


@jit
def _cost_by_sums(x, z, gamma, weights, tables, cells):
    """Compute the soft cost by sums, for about `cells` cells.

    Returns whether it is finished, the soft cost, and the number of cells left over. The soft cost
    is NaN if numbers have left the range of doubles.
    """
    (position, low, high, sums) = tables[:4]
    n = len(x)
    m = len(z)
    if position[2] == 0:
        sums.numbers[0] = 1.0
        sums.powers[0] = 0

    # bound the number of powers of two lost since the last rescaling; after an interruption,
    # rescale at once
    fallen = 0.0 if position[2] == 0 else float(RANGE)
    for i in range(position[2] + 1, n + 1):
        first = low[i - 1]
        last = high[i - 1]
        reached = high[i - 2] + 1 if i > 1 else 1
        if cells <= 0:
            position[2] = i - 1
            return False, np.nan, cells
        cells -= CELLS_OF_PRODUCTS * (last - first)

        # 1. compute the similarities, and rescale before numbers underflow
        least = _similarities(x[i - 1], z, gamma, first, last, sums)
        if least < -RANGE:
            return True, np.nan, cells
        fallen -= least
        if fallen >= RANGE or i % PERIOD == 0:
            _rescale(first, reached - 1, sums)
            fallen = -least

        # 2. update the sums; clear the weights row by row, because clearing all of them at once
        # could not be interrupted
        if weights.size:
            weights[i, : m + 2] = 0.0
        _sum_row(first, last, reached, sums, weights[i if weights.size else 0])

    number = sums.numbers[m] if low[n - 1] < m <= high[n - 1] else 0.0
    if not 0.0 < number < np.inf:
        return True, np.nan, cells
    return True, -gamma * logarithm(number, sums.powers[m]), cells


@jit_leaf
def _soft_row(x, z, i, gamma, low, high, before, row, weights):
    """Compute row i of ``R(i, j) = d(x_i, z_j) - gamma log sum_k exp(-a_k / gamma)``.

    The sum runs over the three neighbours a_k. Their weights ``exp(-a_k / gamma) / sum`` are
    stored unless `weights` is empty.
    """
    for j in range(low[i - 1] + 1, high[i - 1] + 1):
        diagonal = before[j - 1]
        above = before[j]
        beside = row[j - 1]
        least = min(min(diagonal, above), beside)
        if least == np.inf:
            continue

        # work relative to the smallest neighbour, whose exponential is then 1, to avoid overflow
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
    """Add row i of the gradient of ``weight R(n, m)`` with respect to x.

    As in Cuturi and Blondel, Algorithm 2: ``E(i, j)``, the derivative with respect to the local
    cost of a cell, is the sum of E over the three cells that it leads to, each multiplied by the
    weight of cell (i, j) in the soft minimum there.
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
def _cost_by_costs(x, z, gamma, weights, tables, cells):
    """Do the same as `_cost_by_sums`, with the soft costs of all prefixes instead of sums."""
    position = tables.position
    low = tables.low
    high = tables.high
    R = tables.R
    n = len(x)
    m = len(z)
    if position[2] == 0:
        R[0, : m + 2] = np.inf
        R[0, 0] = 0.0

    for i in range(position[2] + 1, n + 1):
        if cells <= 0:
            position[2] = i - 1
            return False, np.nan, cells
        R[i % 2, : m + 2] = np.inf
        if weights.size:
            weights[i, : m + 2] = 0.0
        weights_here = weights[i if weights.size else 0]
        _soft_row(x, z, i, gamma, low, high, R[(i - 1) % 2], R[i % 2], weights_here)
        cells -= CELLS_OF_EXPONENTIALS * (high[i - 1] - low[i - 1])
    return True, R[n % 2, m], cells


@jit
def _soft_sweep(center, values, offsets, weights, gamma, band, gradient, tables, costs, cells):
    """Compute soft costs series by series, about `cells` cells; return True when finished."""
    position = tables.position
    low = tables.low
    high = tables.high
    W = tables.W
    E = tables.E
    n = len(center)
    for p in range(position[0], len(costs)):
        position[0] = p
        z = values[offsets[p] : offsets[p + 1]]
        m = len(z)
        if position[1] == SUMS and position[2] == 0:
            fill_corridor(n, m, band, low, high)

        # 1. compute the value, from the first row to the last
        if position[1] == SUMS:
            ended, costs[p], cells = _cost_by_sums(center, z, gamma, W, tables, cells)
            if not ended:
                return False
            position[1] = COSTS if np.isnan(costs[p]) else GRADIENT
            position[2] = 0
        if position[1] == COSTS:
            ended, costs[p], cells = _cost_by_costs(center, z, gamma, W, tables, cells)
            if not ended:
                return False
            position[1] = GRADIENT
            position[2] = 0

        # 2. compute the gradient, from the last row to the first
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
        position[1] = SUMS
        position[2] = 0
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

    Adds the weighted gradient with respect to the center to `gradient` unless this is empty.
    """
    n = len(center)
    width = int(np.diff(offsets).max()) + 2
    integer = np.int64
    sums = SumRow(
        np.empty(width),
        np.empty(width, dtype=integer),
        np.empty(width),
        np.empty(width),
        np.empty(width, dtype=integer),
    )
    tables = SoftTables(
        np.zeros(3, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        sums,
        np.empty((2, width)),
        np.empty((n + 2, width, 3) if gradient.size else (1, 0, 3)),
        np.empty((2, width)),
    )
    costs = np.empty(len(offsets) - 1)
    in_pieces(
        _soft_sweep, center, values, offsets, weights, gamma, band, gradient, tables, costs
    )
    return costs
