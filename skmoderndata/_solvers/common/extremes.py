"""The largest of numbers that lie in blocks of rows."""

from typing import Any, NamedTuple

import numpy as np


class Largest(NamedTuple):
    """The largest of some numbers, one or one for each column; that of two is their sum.

    >>> float((Largest(1.0) + Largest(3.0)).value)
    3.0
    """

    value: Any

    def __add__(self, other: "Largest") -> "Largest":  # type: ignore[override]
        return Largest(np.maximum(self.value, other.value))
