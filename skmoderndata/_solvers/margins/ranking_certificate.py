"""Thresholds, margin and duality gap of a ranking function."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import BoxState


class Certified(NamedTuple):
    """Thresholds and margin of a function of norm one, and its distance from the optimum."""

    thresholds: Array  # (n_ranks - 1,)
    margin: float
    objective: float  # value of the primal problem
    norm: float  # norm of the function before it was scaled to norm one
    gap: float  # duality gap relative to the larger of margin and norm


def certificate(
    upper: Array, lower: Array, g: Array, margin: float, segments: Array, bounds: Array
) -> Certified:
    """Return the thresholds of least loss for a margin, and the relative duality gap.

    `upper` and `lower` are the signed weights, `g = K (upper + lower)` is the function before it
    is scaled to norm one, and `margin` is in the units of g. The dual value is minus this norm;
    the margin is the unit of the gap. This holds for weights with the right sums; for other
    weights the bound is lower, by the products of the sum errors with margin and thresholds in the
    Lagrangian.
    """
    a = upper + lower
    square = float(a @ g)
    norm = float(np.sqrt(max(square, 0.0)))
    if norm == 0.0:
        zeros = np.zeros(len(segments) - 1)
        return Certified(zeros, 0.0, 0.0, 0.0, 0.0)

    margin = margin / norm
    f = g / norm
    b = best_thresholds(f, margin, segments, bounds)
    value = ranking_value(f, b, margin, segments, bounds)

    # lower the dual value by the errors of the sums
    total, differences = sums_of(upper, lower, segments)
    excess = abs(total - 1.0)
    unequal = float(differences.sum())
    width = float(np.ptp(f))
    bound = -norm - excess * margin - unequal * width
    gap = relative_gap(value, bound, unit=max(margin, norm))
    return Certified(b, margin, value, norm, gap)


def margin_of(upper: BoxState, lower: BoxState, segments: Array) -> float:
    """Return the margin of the function: midway between slopes of rising and falling sums."""
    # compute the slopes of rising and of falling weights; both states share their gradient
    upper_up = upper.g + upper.up
    upper_down = upper.g + upper.down
    lower_up = upper.g + lower.up
    lower_down = upper.g + lower.down
    rising = np.inf
    falling = -np.inf
    for (first, last), (start, stop) in pairwise(segments):
        above = slice(start, stop)
        below = slice(first, last)
        up = upper_up[above].min() - lower_down[below].max()
        down = upper_down[above].max() - lower_up[below].min()
        rising = min(rising, float(up))
        falling = max(falling, float(down))

    # no sum can rise if, at each threshold, all weights of one side are at their bounds
    slope = falling
    if rising < np.inf:
        slope = 0.5 * (rising + falling)
    return max(0.5 * slope, 0.0)


def best_thresholds(f: Array, margin: float, segments: Array, bounds: Array) -> Array:
    """Return the thresholds of least loss for given values and margin.

    The loss `sum_l c max(0, f + margin - b) + sum_u c max(0, b - f + margin)` has the slope
    `sum_(v <= b) c - sum_l c` over the values v = f + margin of l and f - margin of u. Its
    minimisers are weighted quantiles of these values; the middle of their interval is returned.
    """
    b = np.empty(len(segments) - 1)
    for y in range(len(b)):
        below = slice(*segments[y])
        above = slice(*segments[y + 1])
        v = np.concatenate([f[below] + margin, f[above] - margin])
        c = np.concatenate([bounds[below], bounds[above]])

        # compute the slope of the loss at the sorted values
        order = np.argsort(v, kind="stable")
        v = v[order]
        passed = np.cumsum(c[order])
        half = float(bounds[below].sum())

        # choose the value at which the slope changes its sign, or the middle of the interval on
        # which the slope is zero
        k = int(np.searchsorted(passed, half * (1 - ACCUMULATED_ROUNDING)))
        b[y] = v[k]
        level = passed[k] <= half * (1 + ACCUMULATED_ROUNDING)
        if level:
            b[y] = 0.5 * (v[k] + v[k + 1])
    return b


def ranking_value(f: Array, b: Array, margin: float, segments: Array, bounds: Array) -> float:
    """Return the value of the primal objective."""
    value = -margin
    for y, (first, last) in enumerate(segments):
        c = bounds[first:last]
        here = f[first:last]
        # f <= b_y - margin + slack, and f >= b_(y-1) + margin - slack
        if y < len(b):
            slack = np.maximum(0.0, here - b[y] + margin)
            value += float(c @ slack)
        if y > 0:
            slack = np.maximum(0.0, b[y - 1] + margin - here)
            value += float(c @ slack)
    return value


def matrix_of_sums(sign: Array, threshold: Array) -> Array:
    """Return the matrix E for which `E'v` has the sums of the thresholds and of all weights."""
    n_thresholds = int(threshold.max()) + 1
    indicators = np.eye(n_thresholds)[threshold]
    ones = np.ones(len(sign))
    return np.column_stack([sign[:, None] * indicators, ones])


def sums_of(upper: Array, lower: Array, segments: Array) -> tuple[float, Array]:
    """Return the sum of all weights, and the difference of the two sums of each threshold."""
    above = np.array([upper[first:last].sum() for first, last in segments[1:]])
    below = np.array([lower[first:last].sum() for first, last in segments[:-1]])
    total = float(above.sum() - below.sum())
    differences = np.abs(above + below)
    return total, differences
