"""Entries of matrix products."""

from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.typing import Array


@jit
def entries_at(rows: Array, columns: Array, left: Array, right: Array, out: Array) -> None:
    """Write the entries of `left @ right.T` at the cells `(rows, columns)`."""
    for k in range(rows.size):
        total = 0.0
        for c in range(left.shape[1]):
            total += left[rows[k], c] * right[columns[k], c]
        out[k] = total
