"""Non-negative least squares with many right-hand sides, through the Gram matrix.

Each row z of Z solves ``min 1/2 z G z' - f z'`` over ``z >= 0``. With G = C C' and f = x C' that
is ``min 1/2 |x - z C|^2``; a penalty ``1/2 beta |z|_1^2`` adds beta to every entry of G, and
``lam |z|_1`` takes lam from f.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.typing import Array

PIVOT = 1e-13  # a pivot below this fraction of the diagonal is a dependent column
# fraction of the diagonal that is added where columns depend on each other
RIDGE_RELATIVE = 1e-12
EXCHANGES = 3  # full exchanges without progress before the fall-back rule [Kim & Park 2011]


class NNLSResult(NamedTuple):
    """Solutions in rows and how much was done for them."""

    Z: Array
    n_solves: int  # triangular systems solved, over all rows
    n_fallback: int  # rows where pivoting met a singular block, which SciPy has solved


def nnls(G: Array, F: Array, *, start: Array | None = None) -> NNLSResult:
    """Solve ``min 1/2 z G z' - f z'`` over ``z >= 0`` for each row f of F, exactly.

    Block principal pivoting [Kim & Park 2011, Algorithm 2]: entries that violate a sign change
    sides in blocks, one at a time when that does not help. Where columns depend on each other the
    active set method of Lawson and Hanson takes over, with a ridge of 1e-12 on the diagonal.

    Parameters
    ----------
    G : array of shape (k, k) or (m, k, k)
        Positive semi-definite Gram matrix, one for all rows or one for each.
    F : array of shape (m, k)
        Linear terms.
    start : array of shape (m, k), optional
        Its positive entries are the first support.
    """
    G = np.ascontiguousarray(G, dtype=np.float64)
    F = np.ascontiguousarray(F, dtype=np.float64)
    m, k = F.shape

    # entries of about 1 on the diagonal: one tolerance for all of them
    each = G.ndim == 3
    diagonal = np.einsum("...jj->...j", G)
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    G = G * scale[..., :, None] * scale[..., None, :]
    F = F * scale

    passive = np.zeros((m, k), dtype=np.bool_)
    if start is not None:
        passive[:] = (np.asarray(start) > 0) & (scale > 0)

    # rows in blocks, and singular ones by the method of Lawson and Hanson
    Z = np.zeros((m, k))
    n_solves = 0
    solved = np.zeros(m, dtype=np.bool_)
    stack = G if each else G[None]
    for block in row_blocks(m, 4.0 * k**3):  # about ten factorisations for a row
        some = stack[block] if each else stack
        n_solves += _pivot_rows(some, F[block], passive[block], Z[block], solved[block])
    singular = np.flatnonzero(~solved)
    for i in singular:
        root = linalg.cholesky(stack[i if each else 0] + RIDGE_RELATIVE * np.eye(k))
        target = linalg.solve_triangular(root, F[i], trans="T")
        Z[i] = optimize.nnls(root, target, maxiter=30 * k)[0]

    Z *= scale
    return NNLSResult(Z, n_solves, len(singular))


def kkt_residual(G: Array, F: Array, Z: Array) -> float:
    """Violation of the optimality conditions, relative to the linear terms.

    The conditions are ``z >= 0``, ``y = G z - f >= 0`` and ``z y = 0``; the violation is the norm
    of the projected gradient: y where z > 0, its negative part where z = 0.
    """
    if (Z < 0).any():
        return float("inf")
    gradient = np.einsum("mj,mjk->mk", Z, G) - F if G.ndim == 3 else Z @ G - F
    size = float(np.linalg.norm(F))
    residual = float(np.linalg.norm(np.where(Z > 0, gradient, np.minimum(gradient, 0))))
    return residual / size if size > 0 else residual


@jit
def _pivot_rows(G: Array, F: Array, passive: Array, Z: Array, solved: Array) -> int:
    """Block principal pivoting row by row; G has one matrix, or one for each row.

    Marks the rows that are solved, and returns the number of triangular systems.
    """
    k = F.shape[1]
    chol = np.empty((k, k))
    support = np.empty(k, dtype=np.int64)
    n_solves = 0
    y = np.empty(k)
    z = np.empty(k)

    for i in range(len(F)):
        # tolerance in units of the linear term
        g = i if len(G) > 1 else 0
        f = F[i]
        P = passive[i]
        size = 0.0
        for j in range(k):
            size = max(size, abs(f[j]))
        tol = 1e-12 * size
        best = k + 1
        tries = EXCHANGES

        for _ in range(10 * k + 20):
            # 1. solve on the passive set
            n = 0
            for j in range(k):
                if P[j]:
                    support[n] = j
                    n += 1
            if _cholesky(G[g], support, n, chol) < n:
                break
            n_solves += 1
            _solve(chol, support, n, f, z)

            # 2. count the entries of the wrong sign
            n_bad = _dual(G[g], f, P, z, y, tol)
            if n_bad == 0:
                solved[i] = True
                break

            if n_bad < best:
                best = n_bad
                tries = EXCHANGES
            else:
                tries -= 1

            # 3. exchange all of them, or after too many tries the last one
            last = -1
            for j in range(k):
                if (P[j] and z[j] < -tol) or (not P[j] and y[j] < -tol):
                    if tries >= 0:
                        P[j] = not P[j]
                    last = j
            if tries < 0:  # Murty's rule, which ends after finitely many steps
                P[last] = not P[last]

        for j in range(k):
            Z[i, j] = z[j] if P[j] and z[j] > 0.0 else 0.0

    return n_solves


@jit
def _cholesky(G: Array, support: Array, n: int, chol: Array) -> int:
    """Lower Cholesky factor of a block of G; gives the index of the first bad pivot, or n."""
    for a in range(n):
        for b in range(a + 1):
            value = G[support[a], support[b]]
            for c in range(b):
                value -= chol[a, c] * chol[b, c]
            if a > b:
                chol[a, b] = value / chol[b, b]
            elif value > PIVOT:
                chol[a, a] = np.sqrt(value)
            else:
                return a
    return n


@jit
def _solve(chol: Array, support: Array, n: int, f: Array, z: Array) -> None:
    """Put the solution of ``G_PP z_P = f_P`` into z, zero elsewhere."""
    # forward, then back substitution
    z[:] = 0.0
    for a in range(n):
        value = f[support[a]]
        for c in range(a):
            value -= chol[a, c] * z[support[c]]
        z[support[a]] = value / chol[a, a]

    for a in range(n - 1, -1, -1):
        value = z[support[a]]
        for c in range(a + 1, n):
            value -= chol[c, a] * z[support[c]]
        z[support[a]] = value / chol[a, a]


@jit
def _dual(G: Array, f: Array, P: Array, z: Array, y: Array, tol: float) -> int:
    """Put ``G z - f`` into y and count the entries with a wrong sign."""
    k = len(f)
    for j in range(k):
        y[j] = -f[j]

    for c in range(k):
        if z[c] != 0.0:
            value = z[c]
            for j in range(k):
                y[j] += value * G[c, j]

    # wrong: a negative entry in the passive set, a negative slope outside of it
    n_bad = 0
    for j in range(k):
        if P[j]:
            n_bad += z[j] < -tol
        else:
            n_bad += y[j] < -tol
    return n_bad


@jit
def descend_rows(G: Array, Z: Array, Y: Array, max_sweeps: int, enough: float) -> int:
    """Coordinate descent on each row of Z, in place; Y holds ``Z G - F`` and is kept up to date.

    A row is done after `max_sweeps` sweeps, or when a sweep moved it by less than `enough` of what
    the first one did. G has one matrix, or one for each row. Gives the largest number of sweeps
    any row took.
    """
    m, k = Z.shape
    inverse = np.empty(k)
    n_sweeps = 0

    for i in range(m):
        H = G[i] if len(G) > 1 else G[0]
        if i == 0 or len(G) > 1:
            for j in range(k):  # 0 where there is nothing but a linear term
                inverse[j] = 1.0 / H[j, j] if H[j, j] > 0.0 else 0.0

        z = Z[i]
        y = Y[i]
        first = 0.0

        for sweep in range(max_sweeps):
            moved = 0.0
            for j in range(k):
                if z[j] == 0.0 and y[j] >= 0.0:
                    continue
                if inverse[j] == 0.0:
                    if y[j] > 0.0:
                        z[j] = 0.0
                    continue

                # to the minimum along one entry, and the gradient with it
                new = max(z[j] - y[j] * inverse[j], 0.0)
                step = new - z[j]
                if step != 0.0:
                    z[j] = new
                    moved += step * step * H[j, j]
                    for c in range(k):
                        y[c] += step * H[j, c]

            # until the steps are small beside those of the first sweep
            n_sweeps = max(n_sweeps, sweep + 1)
            if sweep == 0:
                first = moved
            if moved <= enough * first:
                break

    return n_sweeps
