"""Stretches of rows for compiled functions, which hear no interrupt until they return."""

from collections.abc import Iterator

WORK = 2**31  # multiplications in one compiled call, so that an interrupt is heard after seconds


def row_blocks(n_rows: int, cost: float) -> Iterator[slice]:
    """Yield stretches of rows of `cost` multiplications each that make bounded calls."""
    size = max(1, int(WORK / max(cost, 1.0)))
    for first in range(0, n_rows, size):
        yield slice(first, min(first + size, n_rows))
