"""Sums over all alignments of two series: the global alignment kernel, in logarithms."""

import math
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.alignment.warping import Packed, side_by_side

Array = np.ndarray[Any, np.dtype[Any]]

LANES = 8  # series that one is compared with at a time; a constant, so that LLVM unrolls the loops
LOG2, LOG2_E = float(np.log(2.0)), float(1 / np.log(2.0))
ROUND = 1.5 * 2.0**52  # adding it leaves the nearest integer in the lowest bits
SMALLEST_SUM = 1e-280
# columns of a block, and rows after which scales are renewed; fine ones for very unlike series
COARSE, FINE = (64, 8), (4, 1)
# coefficients of 2^f for |f| <= 1/2, highest power first: log(2)^k / k!, relative error 1e-15
_POWERS = [1.0]
for _k in range(1, 14):
    _POWERS.append(_POWERS[-1] * LOG2 / _k)
POWERS = tuple(_POWERS[::-1])


class LocalKernel(NamedTuple):
    """Similarity of two points.

    Attributes
    ----------
    rate : float
        ``1 / (2 sigma^2)`` in ``e = exp(-rate |x - z|^2)``.
    reach : float
        Width T of the triangle ``w = 1 - |i - j| / T`` that multiplies e; 0 for none.
    divisible : bool
        Whether the similarity is ``w e / (2 - w e)`` (Cuturi 2011, section 3), else ``w e``.
    """

    rate: float
    reach: float
    divisible: bool


@jit
def _exponentials(flat, bits, n):
    """Replace the first n numbers y, between -1000 and 0, by 2^y; `bits` is workspace.

    Short loops over one or two arrays: one loop with all of it is half as fast.
    """
    numbers = bits.view(np.float64)
    for k in range(n):
        numbers[k] = flat[k] + ROUND
    for k in range(n):
        flat[k] = flat[k] - (numbers[k] - ROUND)
    for k in range(n):
        bits[k] = (bits[k] << 52) + (1023 << 52)
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
        power = power * f + POWERS[11]
        power = power * f + POWERS[12]
        power = power * f + POWERS[13]
        flat[k] = power
    for k in range(n):
        flat[k] = flat[k] * numbers[k]


@jit
def _local_row(xi, i, lanes, low, high, local, similar, bits):
    """Similarity of the point x_i with the points ``low <= j < high`` of all lanes."""
    flat = similar.reshape(-1)
    n = (high - low) * LANES
    rate = -local.rate * LOG2_E
    for c in range(len(xi)):
        for j in range(low, high):
            z, at = lanes[j, c], similar[j - low]
            for k in range(LANES):
                difference = xi[c] - z[k]
                if c == 0:
                    at[k] = rate * difference * difference
                else:
                    at[k] += rate * difference * difference
    for k in range(n):
        flat[k] = max(flat[k], -1000.0)
    _exponentials(flat, bits, n)
    if local.reach > 0.0:
        for j in range(low, high):
            weight = 1.0 - abs(i - j) / local.reach
            at = similar[j - low]
            for k in range(LANES):
                at[k] *= weight
    if local.divisible:
        for k in range(n):
            flat[k] = flat[k] / (2.0 - flat[k])


@jit
def _limits(i, m, local):
    """Columns of row i inside the triangle."""
    if local.reach <= 0.0:
        return 0, m
    # |i - j| < T, T a whole number
    reach = int(local.reach)
    return min(max(0, i - reach + 1), m), min(m, i + reach)


class Table(NamedTuple):
    """One row of the tables of all lanes, in blocks of columns with scales of their own.

    Attributes
    ----------
    row : ndarray of shape (n_blocks * (width + 1), LANES)
        Each block has a border, the last column of the block before it, in its own scale.
    scale : ndarray of shape (n_blocks, LANES)
        The numbers of a block are to be multiplied by 2 to this power.
    factor : ndarray of shape (n_blocks, LANES)
        From the scale of the block before to that of the block.
    least : ndarray of shape (LANES,)
        Least number so far; 0 where a scale was out of range.
    """

    row: Array
    scale: Array
    factor: Array
    least: Array


@jit
def _enter(table, b, fresh):
    """Relate the scale of a block to that of the block before it; a fresh one takes that."""
    for k in range(LANES):
        if fresh:
            table.scale[b, k] = table.scale[b - 1, k]
        _set_factor(table, b, k)


@jit
def _set_factor(table, b, k):
    gap = table.scale[b - 1, k] - table.scale[b, k]
    if abs(gap) > 900.0:
        table.least[k] = 0.0
        gap = 0.0
    table.factor[b, k] = math.ldexp(1.0, int(gap))


@jit
def _renew(table, b, begin, end, ends):
    """Give a block the scale in which its largest number is about 1, columns beyond an end aside.

    `ends` has where the columns of each lane end.
    """
    for k in range(LANES):
        largest = 0.0
        for at in range(begin + 1, min(end, ends[k])):
            largest = max(largest, table.row[at, k])
        if not 0.0 < largest < np.inf:
            continue
        power = math.frexp(largest)[1]
        down = math.ldexp(1.0, -power)
        table.scale[b, k] += power
        for at in range(begin, end):
            table.row[at, k] *= down
        if b:
            _set_factor(table, b, k)


@jit
def _columns(row, at, count, similar, table, diagonal, ends):
    """``M(i, j) = kappa(i, j) (M(i-1, j) + M(i, j-1) + M(i-1, j-1))`` in neighbouring columns."""
    shortest = ends[0]
    for k in range(LANES):
        shortest = min(shortest, ends[k])
    least = table.least
    for c in range(count):
        left, here = row[at + c - 1], row[at + c]
        kappa = similar[c]
        for k in range(LANES):
            above = here[k]
            # symmetric in the two series, to the last bit
            here[k] = kappa[k] * ((left[k] + above) + diagonal[k])
            diagonal[k] = above
        if at + c < shortest:
            for k in range(LANES):
                least[k] = min(least[k], here[k])
        else:
            for k in range(LANES):
                if at + c < ends[k]:
                    least[k] = min(least[k], here[k])


@jit
def _sums(x, lanes, lengths, local, width, period, table, similar, bits, out):
    """Logarithms of the sums over alignments, in plain numbers with scales that are powers of two.

    Columns are in blocks of `width`, whose scales are renewed every `period` rows. Lanes in
    which a number came near the smallest one are NaN in `out`: what vanishes there may be all that
    survives later.
    """
    m, row = lanes.shape[0], table.row
    diagonal, ends = np.zeros(LANES), np.empty(LANES, dtype=np.int64)
    for k in range(LANES):
        row[:, k] = 0.0
        table.scale[:, k] = 0.0
        row[0, k] = table.least[k] = 1.0
    entered = 0
    for i in range(len(x)):
        low, high = _limits(i, m, local)
        _local_row(x[i], i, lanes, low, high, local, similar, bits)
        # up to the block that begins where the row ends: its border is a neighbour of the next row
        for b in range(low // width, min(high, m - 1) // width + 1):
            begin, first, last = b * (width + 1), max(low, b * width), min(high, (b + 1) * width)
            renewed = i % period == 0 or b > entered
            if b and renewed:
                _enter(table, b, b > entered)
            entered = max(entered, b)
            at = begin + 1 + first - b * width
            for k in range(LANES):
                ends[k] = begin + 1 + lengths[k] - b * width
            before = row[at - 1]
            for k in range(LANES):
                diagonal[k], before[k] = before[k], 0.0
            if first > low:
                other, factor = row[begin - 1], table.factor[b]
                for k in range(LANES):
                    before[k] = other[k] * factor[k]
            _columns(row, at, last - first, similar[first - low :], table, diagonal, ends)
            if renewed:
                _renew(table, b, begin, begin + 1 + last - b * width, ends)
    for k in range(LANES):
        b, c = (lengths[k] - 1) // width, (lengths[k] - 1) % width
        value = row[b * (width + 1) + 1 + c, k]
        safe = table.least[k] >= SMALLEST_SUM
        out[k] = _logarithm(value, table.scale[b, k]) if safe else np.nan


@jit
def _logarithm(value, shift):
    """``log(value 2^shift)``, the same however the two are divided."""
    if value <= 0.0:
        return -np.inf
    power = np.floor(np.log2(value))
    return np.log(value * 2.0**-power) + (power + shift) * LOG2


@jit
def logarithm_and_slope(x, z, local):
    """Logarithm of the sum over alignments, and its derivative in log sigma, in logarithms.

    The derivative of ``log M`` is that of ``log kappa`` plus the mean of those of the three
    neighbours, weighted by their sums.
    """
    n, m = len(x), len(z)
    row, slope = np.full(m + 1, -np.inf), np.zeros(m + 1)
    row[0] = 0.0
    for i in range(n):
        low, high = _limits(i, m, local)
        diagonal, diagonal_slope = row[low], slope[low]
        row[low] = -np.inf
        for j in range(low, high):
            squared = 0.0
            for c in range(x.shape[1]):
                squared += (x[i, c] - z[j, c]) ** 2
            weight = 1.0 if local.reach <= 0.0 else 1.0 - abs(i - j) / local.reach
            similarity = weight * np.exp(-local.rate * squared)
            value = np.log(weight) - local.rate * squared
            change = 2.0 * local.rate * squared
            if local.divisible:
                value -= np.log(2.0 - similarity)
                change *= 2.0 / (2.0 - similarity)
            a, b, above_slope = row[j], row[j + 1], slope[j + 1]
            top = max(max(a, b), diagonal)
            if top == -np.inf:
                new, new_slope = -np.inf, 0.0
            else:
                p, q, r = np.exp(a - top), np.exp(b - top), np.exp(diagonal - top)
                total = (p + q) + r
                new = value + top + np.log(total)
                mean = (p * slope[j] + q * above_slope) + r * diagonal_slope
                new_slope = change + mean / total
            diagonal, diagonal_slope = b, above_slope
            row[j + 1], slope[j + 1] = new, new_slope
    return row[m], slope[m]


@jit
def _compare(values, offsets, rows, lanes, lengths, local):
    """Logarithms for the series `rows` against the lanes; NaN where another way is needed."""
    m = lanes.shape[0]
    out = np.empty((len(rows), LANES))
    n_blocks = m // FINE[0] + 1
    size = max(n_blocks * (FINE[0] + 1), (m // COARSE[0] + 1) * (COARSE[0] + 1))
    row, scale = np.empty((size, LANES)), np.empty((n_blocks, LANES))
    table = Table(row, scale, np.ones((n_blocks, LANES)), np.ones(LANES))
    similar, bits = np.empty((m, LANES)), np.empty(m * LANES, dtype=np.int64)
    for p in range(len(rows)):
        x = values[offsets[rows[p]] : offsets[rows[p] + 1]]
        n, found = len(x), out[p]
        if local.reach > 0.0 and n - m >= local.reach:
            for k in range(LANES):
                found[k] = -np.inf
            continue
        for width, period in (COARSE, FINE):
            _sums(x, lanes, lengths, local, width, period, table, similar, bits, found)
            if not np.isnan(found.sum()):
                break
        for k in range(LANES):
            if local.reach > 0.0 and abs(n - lengths[k]) >= local.reach:
                found[k] = -np.inf
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
        Minus infinity where the triangle admits no alignment.
    """
    same = Z is None
    columns = X if Z is None else Z
    rows = np.argsort(np.diff(X[1]), kind="stable")
    order = np.argsort(np.diff(columns[1]), kind="stable")
    found = np.zeros((len(rows), len(order)))
    for start in range(0, len(order), LANES):
        those = order[start : start + LANES]
        padded = np.concatenate([those, np.repeat(those[:1], LANES - len(those))])
        # of a matrix with itself each pair is computed once
        here = rows[: start + len(those)] if same else rows
        block = _compare(*X, here, *side_by_side(columns, padded), local)[:, : len(those)]
        for p, k in np.argwhere(np.isnan(block)):
            x, z = _one(X, here[p]), _one(columns, those[k])
            block[p, k] = logarithm_and_slope(x, z, local)[0]
        if same:  # the lower triangle in the order of lengths
            block = np.where(
                np.arange(len(here))[:, None] <= start + np.arange(len(those)), block, 0
            )
        found[: len(here), start : start + len(those)] = block
    if same:
        found += np.triu(found, 1).T
    out = np.empty_like(found)
    out[np.ix_(rows, order)] = found
    return out


def own_log_alignment_sums(X: Packed, *, local: LocalKernel) -> Array:
    """Return the logarithms of series with themselves."""
    n = len(X[1]) - 1
    out = np.empty(n)
    for i in range(n):
        one = (_one(X, i), np.array([0, X[1][i + 1] - X[1][i]]))
        out[i] = log_alignment_sums(one, local=local)[0, 0]
    return out


def alignment_slopes(X: Packed, *, local: LocalKernel) -> Array:
    """Return the derivatives of the logarithms of `X` with itself in log sigma."""
    n = len(X[1]) - 1
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = logarithm_and_slope(_one(X, i), _one(X, j), local)[1]
    return out


def _one(X: Packed, i: int) -> Array:
    series: Array = X[0][X[1][i] : X[1][i + 1]]
    return series
