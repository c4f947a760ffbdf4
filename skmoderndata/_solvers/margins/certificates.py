"""Duality gaps of support vector problems, from the values of the function at all samples."""

from collections.abc import Callable

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.tolerances import MAX_NEWTON_STEPS, ROUNDING
from skmoderndata._solvers.common.typing import Array


def gap_to_margin(primal: float, rho: float) -> float:
    """Return the gap of `min 1/2 |w|^2 + 1/2 sum_i costs_i max(0, 1 - w z_i)^2`, relative to it.

    `rho` is `a' K' a` for any weights a of the simplex. It proves that the minimum is at least
    `1 / (2 rho)`, the dual `sum(b) - b' K' b / 2` at the best multiple b of a.
    """
    return relative_gap(primal, 0.5 / rho if rho > 0 else 0.0, unit=primal)


def scaled_squared_hinge(
    margins: Array, costs: Array | float, norm: float, start: float = 0.0
) -> tuple[float, float]:
    """Minimise `1/2 s^2 norm + 1/2 sum costs max(0, 1 - s margins)^2` over `s >= 0`.

    `margins` are the values `w z_i` of a function, up to a positive factor, and `norm` is its
    `|w|^2`. Returns the minimum and s; the search begins at `start`. If all margins are rounding
    errors, no multiple is better than zero.
    """
    weights = np.broadcast_to(np.asarray(costs, dtype=np.float64), margins.shape)
    at_zero = 0.5 * float(weights.sum())
    if float(np.abs(margins).max(initial=0.0)) <= ROUNDING:
        return at_zero, 0.0
    if not np.isfinite(margins).all():
        return np.inf, 0.0

    def parts(s: float) -> tuple[float, float, float]:
        slack = 1.0 - s * margins
        inside = slack > 0
        slack = slack[inside]
        slope = margins[inside]
        cost = weights[inside]
        weighted = cost * slack
        value = 0.5 * (s * s * norm + float(weighted @ slack))
        return value, s * norm - float(weighted @ slope), norm + float((cost * slope) @ slope)

    return best_multiple(parts, at_zero, start)


def best_multiple(
    parts: Callable[[float], tuple[float, float, float]], at_zero: float, start: float = 0.0
) -> tuple[float, float]:
    """Minimise a convex, piecewise quadratic function of `s >= 0` by Newton's method.

    `parts(s)` returns the value and the first two derivatives; bisection safeguards the steps.
    """
    low = 0.0
    high = np.inf
    s = start
    best = at_zero
    best_s = 0.0
    for _ in range(MAX_NEWTON_STEPS):
        value, first, second = parts(s)
        if np.isnan(value):
            return np.inf, 0.0
        if value < best:
            best = value
            best_s = s
        if first <= 0:
            low = s
        else:
            high = s

        # take the Newton step, or bisect if the step leaves the interval
        new = s - first / second if second > 0 else 2.0 * s + 1.0
        if not low <= new <= high:
            new = 0.5 * (low + high) if np.isfinite(high) else 2.0 * s + 1.0
        if new == s or abs(new - s) <= ROUNDING / 10 * max(s, new) or new < 0:
            break
        s = new
    return best, best_s


def tube_gap(
    residuals: Array, costs: Array, norm: float, level: float, dual: float
) -> tuple[float, float]:
    """Return the relative duality gap of support vector regression with a tube of free width.

    The problem is `min 1/2 |w|^2 + 1/2 sum costs max(0, |r_i| - width)^2 + level width` over
    `width >= 0`; `dual` is the value of any dual point. Also returns the best width.
    """
    size = np.abs(residuals)
    weights = np.broadcast_to(np.asarray(costs, dtype=np.float64), size.shape)
    # The best width solves sum costs max(0, |r| - width) = level. It is the largest of the
    # solutions that use only the k largest residuals.
    order = np.argsort(-size)
    outside = np.cumsum(weights[order])
    over = np.cumsum((weights * size)[order]) - level
    width = float((over / outside).max(initial=0.0))
    excess = np.maximum(size - width, 0.0)
    primal = 0.5 * norm + 0.5 * float((weights * excess) @ excess) + level * width
    # residuals are in standard deviations of y, so values this small are rounding errors
    floor = ROUNDING * float(weights.sum())
    return relative_gap(primal, dual, unit=primal, floor=floor), width
