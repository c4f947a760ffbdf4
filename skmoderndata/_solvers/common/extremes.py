"""Maxima of values in blocks of rows."""

from typing import Any, NamedTuple

import numpy as np


class Largest(NamedTuple):
    """The maximum of values, or the maxima of columns; sums of these objects take the larger.

    >>> float((Largest(1.0) + Largest(3.0)).value)
    3.0
    """

    value: Any

    def __add__(self, other: "Largest") -> "Largest":  # type: ignore[override]
        return Largest(np.maximum(self.value, other.value))
