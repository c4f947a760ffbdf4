"""Signals, active atoms and linear algebra that the three lasso routes share.

``min over a  1/2 |x - a D|^2 + lam sum_j |a_j|``, optionally with ``a >= 0``. Everything follows
from ``b = D x``, the Gram matrix G, and the correlations ``c = b - G a`` of the residual. Rows of
G are computed when an atom first needs them (`gram_rows`). If G is full, a route returns; the
caller enlarges G, and the route starts the signal again.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.codes.cholesky import append_atom, drop, solve
from skmoderndata._solvers.codes.gram_rows import forget_rows, same_entries
from skmoderndata._solvers.codes.products import add_rows
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.typing import Array


class Signals(NamedTuple):
    """Signals of a block, the dictionary, and the settings of the solver.

    `observed`, and the squared norms `norms_sq` of the atoms on the observed entries, have one row
    per signal or one row for all.
    """

    X: Array  # (m, n), 0 for missing entries
    observed: Array  # (m or 1, n), 1 for entries that count, 0 for missing ones
    B: Array  # (m, k), products of signals and atoms
    norms_sq: Array  # (m or 1, k)
    sizes: Array  # (m,), squared norms of the signals
    alpha: Array  # (m,), penalties; with a bound, the solver writes the penalty that meets it
    bound: Array  # (m,), bounds on the squared residual, -1 for none (homotopy only)
    rows: Array  # (k, n), the atoms
    columns: Array  # (n, k), the atoms transposed
    scale: Array  # (k,), see `ask_row`
    row_of: Array  # (k + 1,), see `ask_row`
    max_rows: int  # maximum number of rows of G kept for the next signal; -1 if G is complete
    positive: bool
    tol: float
    max_iter: int


class Active(NamedTuple):
    """The t active atoms of a signal, in the first entries of each array."""

    chosen: Array  # the atoms
    gram_rows: Array  # the index of each atom's row in G
    a: Array  # the coefficients
    theta: Array  # their signs
    z: Array  # work space for a solution or a direction
    L: Array  # Cholesky factor of G_II


class Scratch(NamedTuple):
    """Work space for the atoms, and for the residual r."""

    c: Array  # correlations of the residual
    v: Array
    score: Array
    bits: Array  # the bits of `score`, as integers
    banned: Array  # False before and after each signal
    r: Array
    space: tuple[Array, Array]  # see `ask_row`


def work_space(signals: Signals) -> tuple[Active, Scratch]:
    """Allocate work space that serves one signal after the other."""
    k, n = signals.rows.shape
    cap = min(n, k)
    a, theta, z, c, v, score = (np.empty(k) for _ in range(6))
    chosen = np.empty(k, np.int64)
    gram_rows = np.empty(k, np.int64)
    L = np.empty((cap, cap))
    banned = np.zeros(k, np.bool_)
    active = Active(chosen, gram_rows, a, theta, z, L)
    bits = score.view(np.int64)
    space = np.empty(n), np.empty(n, np.int64)
    return active, Scratch(c, v, score, bits, banned, np.empty(n), space)


@jit_leaf
def mask_row(signals, i):
    """Return which row of `observed` signal i has; discard rows of G if the mask has changed."""
    observed = signals.observed
    row_of = signals.row_of
    shared = observed.shape[0] == 1
    if signals.max_rows >= 0 and i > 0:
        n_rows = row_of[row_of.shape[0] - 1]
        same_mask = shared or same_entries(observed[i], observed[i - 1])
        if n_rows > signals.max_rows or not same_mask:
            forget_rows(row_of)
    return 0 if shared else i


@jit_leaf
def allow_all(banned):
    """Let all atoms enter."""
    for j in range(banned.shape[0]):
        banned[j] = False


@jit_leaf
def enter(active, t, g, row, new):
    """Activate atom `new` with row g of G; return t + 1, or t if it depends on active atoms."""
    if not append_atom(active.L, t, g, active.chosen, new) > 0.0:
        return t
    active.chosen[t] = new
    active.gram_rows[t] = row
    return t + 1


@jit_leaf
def leave(active, t, position):
    """Remove the active atom at `position`; return the number of active atoms."""
    index = active.chosen
    gram_rows = active.gram_rows
    a = active.a
    theta = active.theta
    drop(active.L, t, position)
    for s in range(position, t - 1):
        index[s] = index[s + 1]
        gram_rows[s] = gram_rows[s + 1]
        a[s] = a[s + 1]
        theta[s] = theta[s + 1]
    return t - 1


@jit_leaf
def write_code(signals, i, observed, active, t, code, r):
    """Write the code of the active atoms, and its residual, computed from the signal."""
    index = active.chosen
    a = active.a
    x = signals.X[i]
    for j in range(code.shape[0]):
        code[j] = 0.0
    for s in range(t):
        code[index[s]] = a[s]
    for p in range(r.shape[0]):
        r[p] = x[p]
    add_rows(r, -1.0, a, signals.rows, index, t)
    for p in range(r.shape[0]):
        r[p] *= observed[p]


@jit_leaf
def correlations(b, active, G, t, c):
    """Compute ``c = b - G a``."""
    for j in range(b.shape[0]):
        c[j] = b[j]
    add_rows(c, -1.0, active.a, G, active.gram_rows, t)


@jit_leaf
def solve_signs(b, active, t, lam):
    """Solve ``G_II z = b_I - lam theta``; return whether z has the signs theta."""
    index = active.chosen
    theta = active.theta
    z = active.z
    for s in range(t):
        z[s] = b[index[s]] - lam * theta[s]
    solve(active.L, t, z)
    agree = True
    for s in range(t):
        agree = agree and z[s] * theta[s] > 0.0
    return agree
