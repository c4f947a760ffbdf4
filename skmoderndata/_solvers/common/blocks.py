"""Rows for compiled functions: in bounded stretches, and multiplied at single entries."""

from collections.abc import Iterator

from skmoderndata._jit import jit
from skmoderndata._typing import Array

# multiplications in one compiled call, so that an interrupt is heard after seconds
WORK = 2**31


def row_blocks(n_rows: int, cost: float) -> Iterator[slice]:
    """Yield stretches of rows of `cost` multiplications each that make bounded calls."""
    size = max(1, int(WORK / max(cost, 1.0)))
    for first in range(0, n_rows, size):
        yield slice(first, min(first + size, n_rows))


@jit
def entries_at(rows: Array, columns: Array, left: Array, right: Array, out: Array) -> None:
    """Write the entries of `left @ right.T` at the cells `(rows, columns)`."""
    for k in range(rows.size):
        total = 0.0
        for c in range(left.shape[1]):
            total += left[rows[k], c] * right[columns[k], c]
        out[k] = total
