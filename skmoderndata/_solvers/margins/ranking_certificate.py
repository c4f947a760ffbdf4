"""Thresholds, margin and duality gap of a ranking function."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import BLOCKED, BoxState


class Certified(NamedTuple):
    """Thresholds and margin of a function of norm one, and how far it is from the optimum."""

    thresholds: Array  # (n_ranks - 1,)
    margin: float
    value: float  # of the primal objective
    norm: float  # of the function before it was scaled to norm one
    gap: float  # relative to the larger of margin and norm


def certificate(
    upper: Array, lower: Array, g: Array, margin: float, segments: Array, bounds: Array
) -> Certified:
    """Thresholds of least loss for a margin, and the relative duality gap.

    `upper` and `lower` are the signed weights, `g = K (upper + lower)` the function before it is
    scaled to norm one, and `margin` is in its units. Minus its norm is the value of the dual, the
    margin the unit of the gap. That holds for weights with the right sums; for others the bound is
    lower, by what the margin and the thresholds multiply in the Lagrangian.
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

    # the dual value, less what the sums of the weights are off
    total, differences = sums_of(upper, lower, segments)
    excess = abs(total - 1.0)
    unequal = float(differences.sum())
    width = float(np.ptp(f))
    bound = -norm - excess * margin - unequal * width
    gap = relative_gap(value, bound, unit=max(margin, norm))
    return Certified(b, margin, value, norm, gap)


def margin_of(upper: BoxState, lower: BoxState, segments: Array) -> float:
    """Margin of the function as it is: midway between the slopes of rising and falling sums."""
    # slopes when a weight rises and when it falls; both states share their gradient
    upper_up = upper.g + upper.up
    upper_down = upper.g + upper.down
    lower_up = upper.g + lower.up
    lower_down = upper.g + lower.down
    rising = BLOCKED
    falling = -BLOCKED
    for (first, last), (start, stop) in pairwise(segments):
        above = slice(start, stop)
        below = slice(first, last)
        up = upper_up[above].min() - lower_down[below].max()
        down = upper_down[above].max() - lower_up[below].min()
        rising = min(rising, float(up))
        falling = max(falling, float(down))

    # where all weights of a side are at their bounds no sum can rise
    both = falling
    if rising < 0.1 * BLOCKED:
        both = 0.5 * (rising + falling)
    return max(0.5 * both, 0.0)


def best_thresholds(f: Array, margin: float, segments: Array, bounds: Array) -> Array:
    """Thresholds of least loss for given values and margin, each the middle of an interval.

    The loss `sum_l c max(0, f + margin - b) + sum_u c max(0, b - f + margin)` has the slope
    `sum_(v <= b) c - sum_l c` over the values v = f + margin of l and f - margin of u: its
    minimum is a weighted quantile of them.
    """
    b = np.empty(len(segments) - 1)
    for y in range(len(b)):
        below = slice(*segments[y])
        above = slice(*segments[y + 1])
        v = np.concatenate([f[below] + margin, f[above] - margin])
        c = np.concatenate([bounds[below], bounds[above]])

        # the slope over the values in their order
        order = np.argsort(v, kind="stable")
        v = v[order]
        passed = np.cumsum(c[order])
        half = float(bounds[below].sum())

        # where it changes its sign, or the middle of where it is zero
        k = int(np.searchsorted(passed, half * (1 - 1e-12)))
        b[y] = v[k]
        level = passed[k] <= half * (1 + 1e-12)
        if level:
            b[y] = 0.5 * (v[k] + v[k + 1])
    return b


def ranking_value(f: Array, b: Array, margin: float, segments: Array, bounds: Array) -> float:
    """Value of the primal objective."""
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
    """Matrix E of signs, `E'v` the sums of the thresholds and that of all weights."""
    n_thresholds = int(threshold.max()) + 1
    of_threshold = np.eye(n_thresholds)[threshold]
    ones = np.ones(len(sign))
    return np.column_stack([sign[:, None] * of_threshold, ones])


def sums_of(upper: Array, lower: Array, segments: Array) -> tuple[float, Array]:
    """Sum of all weights, one at the optimum, and what each threshold lacks of equal sums."""
    above = np.array([upper[first:last].sum() for first, last in segments[1:]])
    below = np.array([lower[first:last].sum() for first, last in segments[:-1]])
    total = float(above.sum() - below.sum())
    differences = np.abs(above + below)
    return total, differences
