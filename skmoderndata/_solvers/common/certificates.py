"""How far an answer is from the optimum: the one place where a relative gap is made."""

from math import inf, isfinite
from typing import Any

import numpy as np

from skmoderndata._solvers.common.typing import Array


def relative_gap(
    primal: float, dual: float, *, unit: float | None = None, floor: float = 0.0
) -> float:
    """Gap `(primal - dual) / unit`, at least 0, and infinite unless everything is finite.

    A solution that diverged has no gap that could be small: NaN and infinities give infinity,
    where `max(0.0, nan)` would give 0.

    Parameters
    ----------
    primal, dual : float
        Value of an answer that is minimised, and what no value is below; of a problem that is
        maximised the bound comes first. Rounding may put the first below the second.
    unit : float or None
        What the gap is relative to, not negative; None is the larger of the two magnitudes. With
        `unit=1.0` the gap is absolute.
    floor : float
        Smallest unit. Where it is 0 too, the gap is 0 or infinite.

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
    """`relative_gap` of each entry of arrays of one shape."""
    # the scale of both values, unless a unit is given
    primal, dual = np.broadcast_arrays(np.asarray(primal, float), np.asarray(dual, float))
    scale = np.maximum(abs(primal), abs(dual)) if unit is None else np.asarray(unit, float)
    scale = np.broadcast_to(np.maximum(scale, 0.0), primal.shape)

    # what is not finite proves nothing; a scale of zero bears no gap but zero
    finite = np.isfinite(primal) & np.isfinite(dual) & np.isfinite(scale)
    gaps: Array = np.where(finite, 0.0, inf)
    gaps[finite & (primal > dual) & (scale <= 0)] = inf

    apart = finite & (primal > dual) & (scale > 0)
    with np.errstate(over="ignore"):
        gaps[apart] = (primal[apart] - dual[apart]) / scale[apart]
    return gaps
