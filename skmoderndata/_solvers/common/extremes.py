"""The largest of numbers that lie in blocks of rows."""

from typing import NamedTuple


class Largest(NamedTuple):
    """The largest of some numbers; of two the larger one is their sum.

    >>> (Largest(1.0) + Largest(3.0)).value
    3.0
    """

    value: float

    def __add__(self, other: "Largest") -> "Largest":  # type: ignore[override]
        return max(self, other)
