"""A lower Cholesky factor that grows and shrinks by one row, and triangular solves with it.

The factor ``L L^T = A`` of a matrix with t rows is the leading t x t block of a larger array;
entries above the diagonal or beyond row t are never read. Codes hold the factor of ``G_II``, the
inner products of the chosen atoms I.
"""

import numpy as np

from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.tolerances import RANK_TOL


@jit_leaf
def append(L, t, column, diagonal):
    """Grow the factor of t rows by one; return the squared pivot, 0 for a dependent row.

    The new row of A is ``column[:t]``, `diagonal`. Row t of L may serve as `column`. If the
    pivot is 0, or if L is full, the factor still has t rows.
    """
    if t >= L.shape[0]:
        return 0.0
    for s in range(t):
        L[t, s] = column[s]
    solve_lower(L, t, L[t])
    pivot = diagonal
    for s in range(t):
        pivot -= L[t, s] * L[t, s]
    if not pivot > RANK_TOL * diagonal:
        return 0.0
    L[t, t] = np.sqrt(pivot)
    return pivot


@jit_leaf
def append_atom(L, t, g, index, new):
    """Append atom `new` to the atoms ``index[:t]``; `g` is its row of the Gram matrix."""
    if t >= L.shape[0]:
        return 0.0
    row = L[t]
    for s in range(t):
        row[s] = g[index[s]]
    return append(L, t, row, g[new])


@jit_leaf
def drop(L, t, position):
    """Remove row and column `position` of A from a factor of t rows, by Givens rotations."""
    # without this row of A, L is triangular except for one entry in each later row
    for s in range(position, t - 1):
        for q in range(s + 2):
            L[s, q] = L[s + 1, q]

    for q in range(position, t - 1):
        c = L[q, q]
        d = L[q, q + 1]
        radius = np.sqrt(c * c + d * d)
        c /= radius
        d /= radius
        L[q, q] = radius
        for s in range(q + 1, t - 1):
            u = L[s, q]
            v = L[s, q + 1]
            L[s, q] = c * u + d * v
            L[s, q + 1] = c * v - d * u


@jit_leaf
def solve_lower(L, t, b):
    """Replace ``b[:t]`` by the solution of ``L z = b``."""
    for s in range(t):
        # add into four partial sums, because each addition to a sum waits for the previous one
        s0 = b[s]
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        q = 0
        while q + 4 <= s:
            s0 -= L[s, q] * b[q]
            s1 += L[s, q + 1] * b[q + 1]
            s2 += L[s, q + 2] * b[q + 2]
            s3 += L[s, q + 3] * b[q + 3]
            q += 4
        while q < s:
            s0 -= L[s, q] * b[q]
            q += 1
        b[s] = (s0 - ((s1 + s2) + s3)) / L[s, s]


@jit_leaf
def solve_upper(L, t, b):
    """Replace ``b[:t]`` by the solution of ``L^T z = b``."""
    for s in range(t - 1, -1, -1):
        last = b[s] / L[s, s]
        b[s] = last
        for q in range(s):  # along a row of L, which is contiguous
            b[q] -= L[s, q] * last


@jit_leaf
def solve(L, t, b):
    """Replace ``b[:t]`` by the solution of ``A z = b``."""
    solve_lower(L, t, b)
    solve_upper(L, t, b)


@jit_leaf
def solve_chosen(L, index, t, b, z):
    """Solve ``G_II z = b_I`` with ``I = index[:t]``; `b` has an entry for each atom."""
    for s in range(t):
        z[s] = b[index[s]]
    solve(L, t, z)
