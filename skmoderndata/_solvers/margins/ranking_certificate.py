"""Thresholds, margin and duality gap of a ranking function."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.margins.box_qp import BLOCKED, BoxState
from skmoderndata._typing import Array


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
    norm = float(np.sqrt(max(float((upper + lower) @ g), 0.0)))
    if norm == 0.0:
        return Certified(np.zeros(len(segments) - 1), 0.0, 0.0, 0.0, 0.0)
    margin = margin / norm
    f = g / norm
    b = best_thresholds(f, margin, segments, bounds)
    value = ranking_value(f, b, margin, segments, bounds)

    # the dual value, less what the sums of the weights are off
    total, differences = sums_of(upper, lower, segments)
    bound = -norm - abs(total - 1.0) * margin - float(differences.sum()) * float(np.ptp(f))
    return Certified(
        b, margin, value, norm, relative_gap(value, bound, unit=max(margin, norm))
    )


def margin_of(upper: BoxState, lower: BoxState, segments: Array) -> float:
    """Margin of the function as it is: midway between the slopes of rising and falling sums."""
    upper_up = upper.g + upper.up
    upper_down = upper.g + upper.down
    lower_up = upper.g + lower.up
    lower_down = upper.g + lower.down
    rising = BLOCKED
    falling = -BLOCKED
    for (first, last), (start, stop) in pairwise(segments):
        up = float(upper_up[start:stop].min() - lower_down[first:last].max())
        down = float(upper_down[start:stop].max() - lower_up[first:last].min())
        rising = min(rising, up)
        falling = max(falling, down)
    both = 0.5 * (rising + falling) if rising < 0.1 * BLOCKED else falling
    return max(0.5 * both, 0.0)


def best_thresholds(f: Array, margin: float, segments: Array, bounds: Array) -> Array:
    """Thresholds of least loss for given values and margin, each the middle of an interval.

    The loss `sum_l c max(0, f + margin - b) + sum_u c max(0, b - f + margin)` has the slope
    `sum_(v <= b) c - sum_l c` over the values v = f + margin of l and f - margin of u: its
    minimum is a weighted quantile of them.
    """
    b = np.empty(len(segments) - 1)
    for y in range(len(b)):
        (first, last) = segments[y]
        (start, stop) = segments[y + 1]
        v = np.concatenate([f[first:last] + margin, f[start:stop] - margin])
        c = np.concatenate([bounds[first:last], bounds[start:stop]])
        order = np.argsort(v, kind="stable")
        passed = np.cumsum(c[order])
        half = float(bounds[first:last].sum())
        k = int(np.searchsorted(passed, half * (1 - 1e-12)))
        level = passed[k] <= half * (1 + 1e-12)
        b[y] = 0.5 * (v[order[k]] + v[order[k + 1]]) if level else v[order[k]]
    return b


def ranking_value(f: Array, b: Array, margin: float, segments: Array, bounds: Array) -> float:
    """Value of the primal objective."""
    value = -margin
    for y, (first, last) in enumerate(segments):
        c = bounds[first:last]
        here = f[first:last]
        if y < len(b):
            value += float(c @ np.maximum(0.0, here - b[y] + margin))
        if y > 0:
            value += float(c @ np.maximum(0.0, b[y - 1] + margin - here))
    return value


def sums_of(upper: Array, lower: Array, segments: Array) -> tuple[float, Array]:
    """Sum of all weights, one at the optimum, and what each threshold lacks of equal sums."""
    above = np.array([upper[first:last].sum() for first, last in segments[1:]])
    below = np.array([lower[first:last].sum() for first, last in segments[:-1]])
    return float(above.sum() - below.sum()), np.abs(above + below)
