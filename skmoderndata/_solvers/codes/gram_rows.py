"""Inner products of atoms, computed row by row when an algorithm needs them.

For a signal with missing entries, the Gram matrix of the atoms is ``D diag(m) D^T``: it differs
for every mask, and a sparse code needs only the rows of the few atoms that it uses. The same holds
for a dictionary whose full Gram matrix does not fit in memory.
"""

import numpy as np

from skmoderndata._solvers.codes.products import ZERO, add_rows
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.typing import Array


def no_rows(n_atoms: int, capacity: int = 64) -> tuple[Array, Array]:
    """Allocate ``(G, row_of)`` for `ask_row`, with no row of the Gram matrix computed yet."""
    row_of = np.full(n_atoms + 1, -1)
    row_of[n_atoms] = 0
    n_rows = max(1, min(n_atoms, capacity))
    return np.empty((n_rows, n_atoms)), row_of


def all_rows(gram: Array) -> tuple[Array, Array]:
    """Return a complete Gram matrix in the form that `ask_row` expects."""
    return np.require(gram, requirements=["C", "W"]), np.arange(len(gram) + 1)


def enlarged(G: Array) -> Array:
    """Double the number of rows, up to all atoms."""
    n_rows, k = G.shape
    larger = np.empty((min(k, 2 * n_rows), k))
    larger[:n_rows] = G
    return larger


@jit_leaf
def ask_row(j, columns, observed, scale, G, row_of, space):
    """Ensure that ``G[row_of[j]]`` is row j of the Gram matrix; return False if G is full.

    The row is computed from the transposed dictionary `columns` (n, k) and the weights `observed`
    (n,) of the entries of the signal (0 if missing), times ``scale[j] * scale[i]``. With the
    reciprocal norms of masked atoms as `scale`, these have unit norm; 0 bars an atom. `row_of`
    (k + 1,) holds the index of each atom's row, -1 if it is not computed, and in its last entry
    the number of rows. `space` is work space: n numbers and n integers.
    """
    if row_of[j] >= 0:
        return True
    k = row_of.shape[0] - 1
    t = row_of[k]
    if t == G.shape[0]:
        return False

    # compute the inner products over the observed entries
    g = G[t]
    for i in range(k):
        g[i] = 0.0
    if scale[j] != 0.0:
        weights, entries = space
        count = ZERO
        for p in range(columns.shape[0]):
            c = observed[p] * columns[p, j]
            if c != 0.0:
                weights[count] = c
                entries[count] = p
                count += 1

        add_rows(g, scale[j], weights, columns, entries, count)
        for i in range(k):
            g[i] *= scale[i]

    row_of[j] = t
    row_of[k] = t + 1
    return True


@jit_leaf
def forget_rows(row_of):
    """Discard all rows."""
    k = row_of.shape[0] - 1
    for j in range(k):
        row_of[j] = -1
    row_of[k] = 0


@jit_leaf
def same_entries(observed, former):
    """Return whether two signals have the same mask, so that computed rows serve both."""
    for p in range(observed.shape[0]):
        if observed[p] != former[p]:
            return False
    return True
