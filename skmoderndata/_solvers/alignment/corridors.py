"""Bands: the interval of cells in each row of the table that an alignment may visit."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.tolerances import RESULT_ROUNDING
from skmoderndata._solvers.common.typing import Array

FREE, SAKOE_CHIBA, SLANTED, ITAKURA = range(4)


class Band(NamedTuple):
    """A rule that says which points of two series may be aligned.

    Attributes
    ----------
    kind : int
        `FREE`; `SAKOE_CHIBA`, ``|i - j| <= radius``; `SLANTED`, ``|i (m - 1) / (n - 1) - j| <=
        radius + 1/2`` with i in the longer series; `ITAKURA`, slopes between ``1 / max_slope`` and
        `max_slope` seen from both ends.
    radius : float
        Number of steps, or a fraction of the length of the longer series if `relative`.
    relative : bool
        Whether `radius` is a fraction.
    max_slope : float
        Largest slope of Itakura's parallelogram.
    """

    kind: int = FREE
    radius: float = 0.0
    relative: bool = False
    max_slope: float = 2.0

    @property
    def needs_lengths(self) -> bool:
        """Whether the interval of a row depends on the length of the second series."""
        return self.kind in (SLANTED, ITAKURA) or (self.kind == SAKOE_CHIBA and self.relative)


@jit_leaf
def steps(band, n, m):
    """Return the radius of a band in steps, for series of n and m points."""
    if band.kind == FREE:
        return max(n, m)
    if band.relative:
        return int(np.floor(band.radius * max(n, m) + RESULT_ROUNDING))
    return int(band.radius)


@jit_leaf
def fill_corridor(n, m, band, low, high):
    """Write the interval ``low[i] <= j < high[i]`` of each row i < n of a table with m columns.

    Neither end decreases with i; the recursions rely on this.
    """
    radius = steps(band, n, m)
    if band.kind == SLANTED:
        _fill_slanted(n, m, radius + 0.5, low, high)
        return
    for i in range(n):
        if band.kind == ITAKURA:
            s = band.max_slope
            back = n - 1 - i
            low[i] = int(np.ceil(max(i / s, m - 1 - s * back) - RESULT_ROUNDING))
            high[i] = int(np.floor(min(s * i, m - 1 - back / s) + RESULT_ROUNDING)) + 1
        else:
            low[i] = i - radius
            high[i] = i + radius + 1
        low[i] = min(max(low[i], 0), m)
        high[i] = max(min(high[i], m), 0)


@jit_leaf
def _fill_slanted(n, m, reach, low, high):
    """Write the band along the diagonal of a table that need not be square."""
    longer = max(n, m)
    shorter = min(n, m)
    slope = (shorter - 1) / max(longer - 1, 1)
    if n < m:
        for i in range(n):
            low[i] = m
            high[i] = 0
    for i in range(longer):
        first = max(int(np.ceil(i * slope - reach - RESULT_ROUNDING)), 0)
        last = min(int(np.floor(i * slope + reach + RESULT_ROUNDING)), shorter - 1)
        if n >= m:
            low[i] = first
            high[i] = last + 1
        else:
            for j in range(first, last + 1):
                low[j] = min(low[j], i)
                high[j] = max(high[j], i + 1)


def corridor(n: int, m: int, band: Band) -> tuple[Array, Array]:
    """Return the interval ``low[i] <= j < high[i]`` of each row i.

    Parameters
    ----------
    n, m : int
        Lengths of the two series.
    band : Band
        Rule that restricts the alignment.

    Returns
    -------
    low, high : ndarray of int of shape (n,)
        Ends of the intervals. If any interval is empty, no alignment exists.
    """
    low = np.empty(n, dtype=np.int64)
    high = np.empty(n, dtype=np.int64)
    fill_corridor(n, m, band, low, high)
    return low, high
