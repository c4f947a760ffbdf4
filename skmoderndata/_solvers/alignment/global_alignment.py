"""Sums over all alignments of two series: the global alignment kernel, in logarithms.

Differs from the paper (Cuturi 2011): 1. sums are scaled by powers of two, for eight series at a
time; logarithms are used only for pairs whose sums would lose digits this way. 2. Derivatives with
respect to sigma are available.
"""

import math
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.alignment.warping import Packed, side_by_side
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.quantities import CELLS_OF_EXPONENTIALS, LOG2
from skmoderndata._solvers.common.typing import Array

# Number of series compared with one series at a time; it is constant, so that LLVM unrolls the
# loops.
LANES = 8
LOG2_E = float(1 / np.log(2.0))
# Number that, when added to a number, leaves the nearest integer in the lowest bits of the sum.
ROUND = 1.5 * 2.0**52
# Coefficients of 2^f for |f| <= 1/2, highest power first: the Taylor polynomial of degree 18,
# economised to degree 10 by Chebyshev polynomials, with a relative error of 4e-16.
POWERS = (
    7.074194562613101e-09,
    1.0208690835930362e-07,
    1.3215432534254118e-06,
    1.5252657257186041e-05,
    0.00015403530463727982,
    0.0013333558230170627,
    0.009618129107587253,
    0.05550410866444768,
    0.24022650695910158,
    0.69314718055995,
    1.0,
)
# Approximate base-2 logarithm of the largest number in a row after rescaling.
TARGET = 1000
# Smallest exponent at which a double has full precision.
MIN_EXPONENT = int(np.finfo(np.float64).minexp)
# Number of rows between two renewals of the scales of the lanes.
PERIOD = 8
# Largest ``rate |x - z|^2`` for which sums are not computed in logarithms.
PLAIN_COST = 1000 * LOG2


class LocalKernel(NamedTuple):
    """Similarity of two points.

    Attributes
    ----------
    rate : float
        Factor ``1 / (2 sigma^2)`` in ``e = exp(-rate |x - z|^2)``.
    reach : float
        Width T of the triangle ``w = 1 - |i - j| / T`` that multiplies e; 0 for no triangle.
    divisible : bool
        Whether the similarity is ``w e / (2 - w e)`` (Cuturi 2011, section 3), else ``w e``.
    """

    rate: float
    reach: float
    divisible: bool


@jit
def exponentials(flat, bits, n):
    """Replace the first n numbers y, between -1000 and 0, by 2^y; `bits` is workspace.

    This is 1.8 to 2.2 times as fast as ``2.0**y``, which calls a library for each number. Several
    short loops over one or two arrays are twice as fast as one loop.
    """
    numbers = bits.view(np.float64)
    # split y = k + f with an integer k, which is in the lowest bits of `numbers`
    for k in range(n):
        numbers[k] = flat[k] + ROUND
    for k in range(n):
        flat[k] = flat[k] - (numbers[k] - ROUND)

    # compute 2^k by writing k into the bits of the exponent
    for k in range(n):
        bits[k] = (bits[k] + 1023) << 52

    # compute 2^f
    for k in range(n):
        f = flat[k]
        power = POWERS[0] * f + POWERS[1]
        power = power * f + POWERS[2]
        power = power * f + POWERS[3]
        power = power * f + POWERS[4]
        power = power * f + POWERS[5]
        power = power * f + POWERS[6]
        power = power * f + POWERS[7]
        power = power * f + POWERS[8]
        power = power * f + POWERS[9]
        power = power * f + POWERS[10]
        flat[k] = power

    # multiply 2^k by 2^f to obtain 2^y
    for k in range(n):
        flat[k] = flat[k] * numbers[k]


@jit
def _local_row(xi, i, lanes, low, high, local, similar, bits):
    """Compute the similarity of the point x_i with the points ``low <= j < high`` of all lanes."""
    flat = similar.reshape(-1)
    n = (high - low) * LANES
    rate = -local.rate * LOG2_E

    # compute y = -rate |x_i - z_j|^2 / log 2
    for c in range(len(xi)):
        for j in range(low, high):
            z = lanes[j, c]
            here = similar[j - low]
            for k in range(LANES):
                difference = xi[c] - z[k]
                if c == 0:
                    here[k] = rate * difference * difference
                else:
                    here[k] += rate * difference * difference

    # compute e = 2^y
    for k in range(n):
        flat[k] = max(flat[k], -1000.0)
    exponentials(flat, bits, n)

    # compute w e, where w = 1 - |i - j| / T is the triangular weight
    if local.reach > 0.0:
        for j in range(low, high):
            weight = 1.0 - abs(i - j) / local.reach
            here = similar[j - low]
            for k in range(LANES):
                here[k] *= weight

    # compute w e / (2 - w e)
    if local.divisible:
        for k in range(n):
            flat[k] = flat[k] / (2.0 - flat[k])


@jit
def _limits(i, m, local):
    """Return the columns of row i that are inside the triangle."""
    if local.reach <= 0.0:
        return 0, m
    # keep the columns j with |i - j| < T, where T is an integer
    reach = int(local.reach)
    return min(max(0, i - reach + 1), m), min(m, i + reach)


@jit
def _plain_sums(x, lanes, lengths, local, row, scale, similar, bits, out, first, cells):
    """Compute ``M(i, j) = kappa(i, j) (M(i-1, j) + M(i, j-1) + M(i-1, j-1))``, scaled by lane.

    The stored numbers are ``M(i, j) u^i v^j`` with ``u + v + u v = 1``: similarities are at most
    one, so no number exceeds its neighbours, and u and v are chosen so that the numbers stay about
    equal on the way from one corner to the other. The scale of a lane is a power of two, renewed
    every few rows; apart from rounding it never rises. The amount that underflows in a cell is
    less than ``2^(scale - 1022)``, and does not grow on its way to the last cell. A lane is NaN in
    `out` unless its sum exceeds the total of these bounds by a factor of 2^64. Resumes at row
    `first` and works through about `cells` cells; returns the next row and the cells left over.
    """
    n = len(x)
    m = lanes.shape[0]
    diagonal = np.empty(LANES)
    u = np.empty(LANES)
    v = np.empty(LANES)
    for k in range(LANES):
        length = math.hypot(n, lengths[k])
        u[k] = n / (length + lengths[k])
        v[k] = lengths[k] / (length + n)

    if first == 0:
        row[:] = 0.0
        for k in range(LANES):
            row[0, k] = 2.0**TARGET
            scale[k] = -TARGET

    for i in range(first, n):
        if cells <= 0 and i > first:  # each call fills at least one row
            return i, cells

        # renew the scales before numbers leave the range of doubles
        if i and i % PERIOD == 0:
            _renew(row, lengths, scale)

        # compute kappa(i, j)
        low, high = _limits(i, m, local)
        cells -= CELLS_OF_EXPONENTIALS * LANES * (high - low)
        _local_row(x[i], i, lanes, low, high, local, similar, bits)

        # sum the three neighbours
        for k in range(LANES):
            diagonal[k] = row[low, k]
            row[low, k] = 0.0
        for j in range(low, high):
            left = row[j]
            here = row[j + 1]
            kappa = similar[j - low]
            for k in range(LANES):
                above = here[k]
                # this order makes the result exactly symmetric in the two series
                sides = v[k] * left[k] + u[k] * above
                here[k] = kappa[k] * (sides + (u[k] * v[k]) * diagonal[k])
                diagonal[k] = above

    # accept a sum only if it exceeds the possible underflow loss by a factor of 2^64
    for k in range(LANES):
        value = row[lengths[k], k]
        out[k] = np.nan
        if 0.0 < value < np.inf:
            floor = 1 - TARGET + MIN_EXPONENT + 64 + np.log2(n * lengths[k])
            if np.log2(value) + scale[k] >= floor:
                steps = n * np.log(u[k]) + lengths[k] * np.log(v[k])
                out[k] = logarithm(value, scale[k]) - steps
    return n, cells


@jit
def _renew(row, lengths, scale):
    """Rescale each lane so that its largest number, up to its end, is about 2^TARGET."""
    for k in range(LANES):
        largest = 0.0
        for j in range(lengths[k] + 1):
            largest = max(largest, row[j, k])
        if not 0.0 < largest < np.inf:
            continue
        power = math.frexp(largest)[1] - TARGET
        scale[k] += power
        factor = math.ldexp(1.0, -power)
        for j in range(len(row)):
            row[j, k] *= factor


@jit
def logarithm(value, shift):
    """Return ``log(value 2^shift)``, independently of how the factors are divided."""
    if value <= 0.0:
        return -np.inf
    power = np.floor(np.log2(value))
    return np.log(value * 2.0**-power) + (power + shift) * LOG2


@jit_leaf
def _exponential(y):
    """Return ``exp(y)`` for y <= 0, or 0 if 1 + exp(y) rounds to 1."""
    if y == 0.0:
        return 1.0
    return np.exp(y) if y > -40.0 else 0.0


@jit_leaf
def _log_rows(x, z, local, row, slope, position, cells):
    """Fill the table of ``log M``, and of its derivative with respect to log sigma.

    If `slope` is empty, no derivatives are computed. The derivative of ``log M`` is the derivative
    of ``log kappa`` plus the mean derivative of the three neighbours, weighted by their sums.
    Resumes at row ``position[0]`` and works through about `cells` cells; returns True when
    finished.
    """
    n = len(x)
    m = len(z)
    for i in range(position[0], n):
        if cells <= 0 and i > position[0]:  # each call fills at least one row
            position[0] = i
            return False
        low, high = _limits(i, m, local)
        cells -= CELLS_OF_EXPONENTIALS * (high - low)

        diagonal = row[low]
        diagonal_slope = slope[low] if slope.size else 0.0
        row[low] = -np.inf
        for j in range(low, high):
            squared = 0.0
            for c in range(x.shape[1]):
                squared += (x[i, c] - z[j, c]) ** 2

            # compute kappa without its factor exp(-rate |x - z|^2), which may underflow
            factor = 1.0 if local.reach <= 0.0 else 1.0 - abs(i - j) / local.reach
            if local.divisible:
                weight = 2.0 - factor * _exponential(-local.rate * squared)
                factor /= weight

            # sum the three neighbours, relative to the largest, whose exponential is 1
            a = row[j]
            b = row[j + 1]
            top = max(max(a, b), diagonal)
            new = -np.inf
            p = q = r = total = 1.0
            if top > -np.inf:
                p = _exponential(a - top)
                q = _exponential(b - top)
                r = _exponential(diagonal - top)
                total = (p + q) + r
                share = factor * total
                # if the two points are far apart, the share is 1/2
                logarithm = -LOG2 if share == 0.5 else np.log(share)
                new = (top - local.rate * squared) + logarithm
            row[j + 1] = new
            diagonal = b

            # add the derivatives of kappa and of the neighbours
            if slope.size:
                above_slope = slope[j + 1]
                change = 2.0 * local.rate * squared
                if local.divisible:
                    change *= 2.0 / weight
                mean = (p * slope[j] + q * above_slope) + r * diagonal_slope
                slope[j + 1] = change + mean / total if top > -np.inf else 0.0
                diagonal_slope = above_slope
    return True


def log_sum(x: Array, z: Array, local: LocalKernel, slope: Array) -> float:
    """Return the logarithm of the sum over alignments, using logarithms throughout.

    The derivatives of the last row with respect to log sigma are written to `slope`, which has
    shape (len(z) + 1,) and must be zero; if it is empty, no derivatives are computed.
    """
    row = np.full(len(z) + 1, -np.inf)
    row[0] = 0.0  # logarithm of 1, for the empty alignment
    in_pieces(_log_rows, x, z, local, row, slope, np.zeros(1, dtype=np.int64))
    return float(row[-1])


class Sums(NamedTuple):
    """State of the comparisons with the lanes.

    Attributes
    ----------
    position : ndarray of int of shape (2,)
        Number of the series, and the next row of its table.
    row : ndarray of shape (m + 1, LANES)
        Latest row of the table.
    scale : ndarray of shape (LANES,)
        Scales of the lanes.
    """

    position: Array
    row: Array
    scale: Array


@jit
def _compare(values, offsets, rows, lanes, lengths, costs, local, state, out, cells):
    """Compare the series `rows` with the lanes; logarithms are NaN for pairs that need `log_sum`.

    `costs` bounds ``rate |x_i - z_j|^2`` for each pair. Works through about `cells` cells; returns
    True when finished.
    """
    m = lanes.shape[0]
    position = state.position
    similar = np.empty((m, LANES))
    bits = np.empty(m * LANES, dtype=np.int64)
    row = state.row.copy()
    scale = state.scale.copy()

    for p in range(position[0], len(rows)):
        x = values[offsets[rows[p]] : offsets[rows[p] + 1]]
        logarithms = out[p]
        # compute plain sums unless the similarities could underflow in every lane
        if (costs[p] <= PLAIN_COST).any():
            n_done, cells = _plain_sums(
                *(x, lanes, lengths, local, row, scale, similar, bits),
                *(logarithms, position[1], cells),
            )
            if n_done < len(x):
                position[0] = p
                position[1] = n_done
                state.row[:] = row
                state.scale[:] = scale
                return False
            position[1] = 0

        # return -inf if no alignment fits into the triangle, and NaN if the sums are inaccurate
        for k in range(LANES):
            if local.reach > 0.0 and abs(len(x) - lengths[k]) >= local.reach:
                logarithms[k] = -np.inf
            elif costs[p, k] > PLAIN_COST:
                logarithms[k] = np.nan
    return True


def _against_lanes(
    X: Packed, rows: Array, lanes: Array, lengths: Array, costs: Array, local: LocalKernel
) -> Array:
    """Compare the series `rows` with all lanes; logarithms are NaN for pairs needing `log_sum`."""
    m = len(lanes)
    out = np.empty((len(rows), LANES))
    state = Sums(
        np.zeros(2, dtype=np.int64),
        np.zeros((m + 1, LANES)),
        np.zeros(LANES),
    )
    in_pieces(_compare, *X, rows, lanes, lengths, costs, local, state, out)
    return out


def log_alignment_sums(X: Packed, Z: Packed | None = None, *, local: LocalKernel) -> Array:
    """Return the logarithm of the sum over alignments of the product of local similarities.

    Parameters
    ----------
    X, Z : tuple of two ndarrays
        Collections; None compares `X` with itself.
    local : LocalKernel
        Similarity of two points.

    Returns
    -------
    logarithms : ndarray of shape (n, m)
        Logarithms; minus infinity where the triangle admits no alignment.
    """
    same = Z is None
    columns = X if Z is None else Z
    rows = np.argsort(np.diff(X[1]), kind="stable")
    order = np.argsort(np.diff(columns[1]), kind="stable")

    logarithms = np.zeros((len(rows), len(order)))  # the series are sorted by length
    costs = local.rate * _largest_distances(X, columns)

    # begin with the block that may be incomplete: if X is compared with itself, it has the fewest
    # rows
    for stop in range(len(order) % LANES or LANES, len(order) + 1, LANES):
        start = max(0, stop - LANES)
        lane_series = order[start:stop]
        fillers = np.repeat(lane_series[:1], LANES - len(lane_series))
        padded = np.concatenate([lane_series, fillers])
        # if X is compared with itself, compute each pair once
        here = rows[: start + len(lane_series)] if same else rows

        bounds = costs[np.ix_(here, padded)]
        sides = side_by_side(columns, padded)
        block = _against_lanes(X, here, *sides, bounds, local)[:, : len(lane_series)]

        if same:  # keep the upper triangle, which is complete
            row_numbers = np.arange(len(here))[:, None]
            block = np.where(row_numbers <= start + np.arange(len(lane_series)), block, 0)

        # compute pairs whose plain sums are inaccurate one by one, with logarithms
        for p, k in np.argwhere(np.isnan(block)):
            x = _one(X, here[p])
            z = _one(columns, lane_series[k])
            block[p, k] = log_sum(x, z, local, np.empty(0))

        logarithms[: len(here), start : start + len(lane_series)] = block

    if same:
        logarithms += np.triu(logarithms, 1).T
    out = np.empty_like(logarithms)
    out[np.ix_(rows, order)] = logarithms
    return out


def _largest_distances(X: Packed, Z: Packed) -> Array:
    """Bound the squared distances of points, for each pair of series, by the channels' ranges."""
    low = np.minimum.reduceat(X[0], X[1][:-1])
    high = np.maximum.reduceat(X[0], X[1][:-1])
    low_z = np.minimum.reduceat(Z[0], Z[1][:-1])
    high_z = np.maximum.reduceat(Z[0], Z[1][:-1])
    distances = np.zeros((len(low), len(low_z)))
    for c in range(low.shape[1]):
        up = high[:, c, None] - low_z[:, c]
        down = high_z[:, c] - low[:, c, None]
        distances += np.maximum(up, down) ** 2
    return distances


def own_log_alignment_sums(X: Packed, *, local: LocalKernel) -> Array:
    """Return the logarithm of the sum over alignments of each series with itself."""
    n = len(X[1]) - 1
    out = np.empty(n)
    for i in range(n):
        single = (_one(X, i), np.array([0, X[1][i + 1] - X[1][i]]))
        out[i] = log_alignment_sums(single, local=local)[0, 0]
    return out


def alignment_slopes(X: Packed, *, local: LocalKernel) -> Array:
    """Return the derivatives of the logarithms, for `X` with itself, with respect to log sigma."""
    n = len(X[1]) - 1
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            slope = np.zeros(int(X[1][j + 1] - X[1][j]) + 1)
            log_sum(_one(X, i), _one(X, j), local, slope)
            out[i, j] = out[j, i] = slope[-1]
    return out


def _one(X: Packed, i: int) -> Array:
    return X[0][X[1][i] : X[1][i + 1]]
