"""Huber loss, the Moreau envelope of the absolute value."""

import numpy as np

from skmoderndata._typing import Array


def huber(X: Array, slope: float, width: float) -> Array:
    """Huber loss: ``X**2 / (2 * width)`` near zero, with slope `slope` in the tails.

    It is the Moreau envelope ``min_S slope * |S| + (X - S)**2 / (2 * width)``; `width=0` gives
    ``slope * |X|``.
    """
    size = np.abs(X)
    inner = np.minimum(size, slope * width)
    out: Array = slope * (size - inner)
    if width > 0:
        out = out + inner**2 / (2 * width)
    return out
