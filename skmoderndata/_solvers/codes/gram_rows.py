"""Inner products of atoms, computed row by row when an algorithm first asks for them.

For a signal with missing entries the Gram matrix of the atoms is ``D diag(m) D^T``: another one
for every mask, of which a sparse code needs the rows of the few atoms that it takes up. So does a
code with a dictionary whose whole Gram matrix would not fit in memory.
"""

from typing import Any

import numpy as np

from skmoderndata._jit import jit

Array = np.ndarray[Any, np.dtype[Any]]


def no_rows(n_atoms: int, capacity: int = 64) -> tuple[Array, Array]:
    """Room for rows of a Gram matrix, none of them computed: ``(G, place)`` for `ask_row`."""
    place = np.full(n_atoms + 1, -1)
    place[n_atoms] = 0
    return np.empty((max(1, min(n_atoms, capacity)), n_atoms)), place


def all_rows(gram: Array) -> tuple[Array, Array]:
    """Return a Gram matrix in the form that `ask_row` takes, with nothing left to compute."""
    return np.require(gram, requirements=["C", "W"]), np.arange(len(gram) + 1)


@jit
def ask_row(j, columns, known, scale, G, place):  # type: ignore[no-untyped-def]
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
    if t == G.shape[0]:
        larger = np.empty((min(k, 2 * t), k))
        for s in range(t):
            for i in range(k):
                larger[s, i] = G[s, i]
        G = larger
    g = G[t]
    for i in range(k):
        g[i] = 0.0
    if scale[j] != 0.0:
        # four entries of the signal at a time: the row is loaded and stored a fourth as often
        p0, p1, p2, c0, c1, c2 = 0, 0, 0, 0.0, 0.0, 0.0
        waiting = 0
        for p in range(n):
            c = known[p] * columns[p, j]
            if c == 0.0:
                continue
            if waiting == 0:
                p0, c0 = p, c
            elif waiting == 1:
                p1, c1 = p, c
            elif waiting == 2:
                p2, c2 = p, c
            else:
                d0, d1, d2, d3 = columns[p0], columns[p1], columns[p2], columns[p]
                for i in range(k):
                    g[i] += (c0 * d0[i] + c1 * d1[i]) + (c2 * d2[i] + c * d3[i])
                waiting = -1
            waiting += 1
        for w in range(waiting):
            c = c0 if w == 0 else c1 if w == 1 else c2
            d = columns[p0 if w == 0 else p1 if w == 1 else p2]
            for i in range(k):
                g[i] += c * d[i]
        for i in range(k):
            g[i] *= scale[j] * scale[i]
    place[j] = t
    place[k] = t + 1
    return G


@jit
def forget_rows(place):  # type: ignore[no-untyped-def]
    """Start afresh: no row is computed."""
    k = place.shape[0] - 1
    for j in range(k):
        place[j] = -1
    place[k] = 0


@jit
def same_entries(known, former):  # type: ignore[no-untyped-def]
    """Tell whether two signals have the same entries known: rows computed for one serve both."""
    for p in range(known.shape[0]):
        if known[p] != former[p]:
            return False
    return True
