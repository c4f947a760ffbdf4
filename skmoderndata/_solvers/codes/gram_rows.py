"""Inner products of atoms, computed row by row when an algorithm first asks for them.

For a signal with missing entries the Gram matrix of the atoms is ``D diag(m) D^T``: another one
for every mask, of which a sparse code needs the rows of the few atoms that it takes up. So does a
code with a dictionary whose whole Gram matrix would not fit in memory.
"""

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.codes.products import ZERO, add_rows
from skmoderndata._typing import Array

ROWS_KEPT = 2**25  # bytes of rows that the next signal takes over


def no_rows(n_atoms: int, capacity: int = 64) -> tuple[Array, Array]:
    """Room for rows of a Gram matrix, none of them computed: ``(G, place)`` for `ask_row`."""
    place = np.full(n_atoms + 1, -1)
    place[n_atoms] = 0
    return np.empty((max(1, min(n_atoms, capacity)), n_atoms)), place


def all_rows(gram: Array) -> tuple[Array, Array]:
    """Return a Gram matrix in the form that `ask_row` takes, complete."""
    return np.require(gram, requirements=["C", "W"]), np.arange(len(gram) + 1)


@jit
def ask_row(j, columns, known, scale, G, place):
    """Make sure that ``G[place[j]]`` is row j of the Gram matrix; returns G, enlarged if need be.

    Computed from the transposed dictionary `columns` (n, k) and the weights `known` (n,) of the
    entries of the signal (0 for a missing one), times ``scale[j] * scale[i]``: the reciprocal
    norms of masked atoms make them of unit norm, zero bars an atom. `place` (k + 1,) tells where
    the row of each atom is, -1 for nowhere, and at its end how many rows there are. Call as
    ``G = ask_row(j, columns, known, scale, G, place)``.
    """
    if place[j] >= 0:
        return G
    n, k = columns.shape
    t = place[k]

    # twice the room, at most all rows
    if t == G.shape[0]:
        larger = np.empty((min(k, 2 * t), k))
        for s in range(t):
            for i in range(k):
                larger[s, i] = G[s, i]
        G = larger

    # products with the entries that are known
    g = G[t]
    for i in range(k):
        g[i] = 0.0
    if scale[j] != 0.0:
        weights = np.empty(n)
        at = np.empty(n, np.int64)
        count = ZERO
        for p in range(n):
            c = known[p] * columns[p, j]
            if c != 0.0:
                weights[count] = c
                at[count] = p
                count += 1

        add_rows(g, scale[j], weights, columns, at, count)
        for i in range(k):
            g[i] *= scale[i]

    place[j] = t
    place[k] = t + 1
    return G


@jit_leaf
def forget_rows(place):
    """Start afresh: no row is computed."""
    k = place.shape[0] - 1
    for j in range(k):
        place[j] = -1
    place[k] = 0


@jit_leaf
def same_entries(known, former):
    """Tell whether two signals have the same entries known: rows computed for one serve both."""
    for p in range(known.shape[0]):
        if known[p] != former[p]:
            return False
    return True
