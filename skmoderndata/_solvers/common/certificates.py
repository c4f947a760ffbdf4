"""Relative gaps: the distance of a solution from the optimum, computed in one place."""

from math import inf, isfinite
from typing import Any

import numpy as np

from skmoderndata._solvers.common.typing import Array


def relative_gap(
    primal: float, dual: float, *, unit: float | None = None, floor: float = 0.0
) -> float:
    """Return the gap `(primal - dual) / unit`, at least 0, and infinite unless all are finite.

    A diverged solution must not have a small gap: NaN and infinities give infinity, whereas
    `max(0.0, nan)` would give 0.

    Parameters
    ----------
    primal, dual : float
        Value of a solution of a minimisation problem, and its lower bound; for a maximisation
        problem, the bound comes first. Rounding may put the first below the second.
    unit : float or None
        Non-negative unit of the gap; None for the larger of the two magnitudes. With `unit=1.0`,
        the gap is absolute.
    floor : float
        Smallest unit. If it and `unit` are 0, the gap is 0 or infinite.

    >>> relative_gap(4.0, 3.0), relative_gap(3.0, 4.0), relative_gap(float("nan"), 3.0)
    (0.25, 0.0, inf)
    """
    primal = float(primal)
    dual = float(dual)
    scale = max(abs(primal), abs(dual)) if unit is None else float(unit)
    scale = max(scale, floor)

    if not (isfinite(primal) and isfinite(dual) and isfinite(scale)):
        return inf
    if primal <= dual:
        return 0.0
    return (primal - dual) / scale if scale > 0 else inf


def relative_gaps(primal: Any, dual: Any, *, unit: Any = None) -> Array:
    """Compute `relative_gap` for each entry of arrays of equal shape."""
    # use the larger magnitude as the scale, unless a unit is given
    primal, dual = np.broadcast_arrays(np.asarray(primal, float), np.asarray(dual, float))
    scale = np.maximum(abs(primal), abs(dual)) if unit is None else np.asarray(unit, float)
    scale = np.broadcast_to(np.maximum(scale, 0.0), primal.shape)

    # usual case, in a fifth of the time: all values and their sum are finite, and all scales are
    # positive
    with np.errstate(over="ignore", invalid="ignore"):
        total = primal.sum() + dual.sum() + scale.sum()
        if isfinite(total) and scale.min(initial=inf) > 0:
            usual: Array = np.where(primal > dual, (primal - dual) / scale, 0.0)
            return usual

    # non-finite values prove nothing; with a scale of 0, only the gap 0 is finite
    finite = np.isfinite(primal) & np.isfinite(dual) & np.isfinite(scale)
    gaps: Array = np.where(finite, 0.0, inf)
    gaps[finite & (primal > dual) & (scale <= 0)] = inf

    apart = finite & (primal > dual) & (scale > 0)
    with np.errstate(over="ignore"):
        gaps[apart] = (primal[apart] - dual[apart]) / scale[apart]
    return gaps
