"""Non-negative least squares with many right-hand sides, through the Gram matrix.

Each row z of Z solves ``min 1/2 z G z' - f z'`` over ``z >= 0``. With G = C C' and f = x C', this
is ``min 1/2 |x - z C|^2``; a penalty ``1/2 beta |z|_1^2`` adds beta to every entry of G, and
``lam |z|_1`` subtracts lam from f.

Differs from the paper (Kim and Park 2011): rows are solved one by one, without grouping equal
supports; if columns are dependent, Lawson and Hanson's method takes over, with a small ridge.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, PIVOT
from skmoderndata._solvers.common.typing import Array

# Size of the ridge for dependent columns, as a fraction of the diagonal.
RIDGE_RELATIVE = 1e-12
# Number of full exchanges without progress before the fallback rule [Kim & Park 2011].
EXCHANGES = 3
# Number of rows whose coordinate descent runs side by side.
BLOCK_ROWS = 64
# Minimum fraction of the entries of a block that can move, for rows side by side. Rows side by
# side take a third of the time of single rows if all entries can move, and twice the time if a
# tenth of the entries can move.
DENSE_FROM = 0.3


class NNLSResult(NamedTuple):
    """Solutions as rows, and the work that they required."""

    Z: Array
    n_solves: int  # number of triangular systems solved, over all rows
    # number of rows that were solved by SciPy because pivoting met a singular block
    n_fallback: int


def nnls(G: Array, F: Array, *, start: Array | None = None) -> NNLSResult:
    """Solve ``min 1/2 z G z' - f z'`` over ``z >= 0`` for each row f of F, exactly.

    Runs block principal pivoting [Kim & Park 2011, Algorithm 2]: entries that violate a sign
    change sides in blocks, or one at a time if that does not help. If columns are dependent,
    Lawson and Hanson's active set method takes over, with a ridge of 1e-12 on the diagonal.

    Parameters
    ----------
    G : array of shape (k, k) or (m, k, k)
        Positive semi-definite Gram matrix, one for all rows or one per row.
    F : array of shape (m, k)
        Linear terms.
    start : array of shape (m, k), optional
        Array whose positive entries are the first support.
    """
    G = np.ascontiguousarray(G, dtype=np.float64)
    F = np.ascontiguousarray(F, dtype=np.float64)
    m, k = F.shape

    # scale the diagonal to about 1, so that one tolerance serves all entries
    each = G.ndim == 3
    diagonal = np.einsum("...jj->...j", G)
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    G = G * scale[..., :, None] * scale[..., None, :]
    F = F * scale

    passive = np.zeros((m, k), dtype=np.bool_)
    if start is not None:
        passive[:] = (np.asarray(start) > 0) & (scale > 0)

    # solve the rows in blocks; solve singular ones by Lawson and Hanson's method
    Z = np.zeros((m, k))
    n_solves = 0
    solved = np.zeros(m, dtype=np.bool_)
    stack = G if each else G[None]
    # allow for about ten factorisations per row
    for block in row_blocks(m, 4.0 * k**3):
        matrices = stack[block] if each else stack
        n_solves += _pivot_rows(matrices, F[block], passive[block], Z[block], solved[block])
    singular = np.flatnonzero(~solved)
    for i in singular:
        root = linalg.cholesky(stack[i if each else 0] + RIDGE_RELATIVE * np.eye(k))
        target = linalg.solve_triangular(root, F[i], trans="T")
        Z[i] = optimize.nnls(root, target, maxiter=100 * k)[0]

    Z *= scale
    return NNLSResult(Z, n_solves, len(singular))


def kkt_residual(G: Array, F: Array, Z: Array) -> float:
    """Return the violation of the optimality conditions, relative to the linear terms.

    The conditions are ``z >= 0``, ``y = G z - f >= 0`` and ``z y = 0``. The violation is the norm
    of the projected gradient: y where z > 0, and its negative part where z = 0.
    """
    if (Z < 0).any():
        return float("inf")
    gradient = np.einsum("mj,mjk->mk", Z, G) - F if G.ndim == 3 else Z @ G - F
    size = float(np.linalg.norm(F))
    residual = float(np.linalg.norm(np.where(Z > 0, gradient, np.minimum(gradient, 0))))
    return residual / size if size > 0 else residual


@jit
def _pivot_rows(G: Array, F: Array, passive: Array, Z: Array, solved: Array) -> int:
    """Run block principal pivoting row by row; G holds one matrix, or one per row.

    It marks the rows that are solved, and returns the number of triangular systems.
    """
    k = F.shape[1]
    chol = np.empty((k, k))
    support = np.empty(k, dtype=np.int64)
    n_solves = 0
    y = np.empty(k)
    z = np.empty(k)

    for i in range(len(F)):
        # express the tolerance in units of the linear term
        g = i if len(G) > 1 else 0
        f = F[i]
        P = passive[i]
        size = 0.0
        for j in range(k):
            size = max(size, abs(f[j]))
        tol = ACCUMULATED_ROUNDING * size
        best = k + 1
        tries = EXCHANGES

        for _ in range(10 * (k + 10)):
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

            # 2. count the entries that have the wrong sign
            n_bad = _dual(G[g], f, P, z, y, tol)
            if n_bad == 0:
                solved[i] = True
                break

            if n_bad < best:
                best = n_bad
                tries = EXCHANGES
            else:
                tries -= 1

            # 3. exchange all entries of the wrong sign, or only the last one if exchanges have
            # stalled
            last = -1
            for j in range(k):
                if (P[j] and z[j] < -tol) or (not P[j] and y[j] < -tol):
                    if tries >= 0:
                        P[j] = not P[j]
                    last = j
            if tries < 0:  # use Murty's rule, which terminates after finitely many steps
                P[last] = not P[last]

        for j in range(k):
            Z[i, j] = z[j] if P[j] and z[j] > 0.0 else 0.0

    return n_solves


@jit
def _cholesky(G: Array, support: Array, n: int, chol: Array) -> int:
    """Compute the lower Cholesky factor of a block of G; return n or the index of a bad pivot."""
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
    """Write the solution of ``G_PP z_P = f_P`` to z, and zeros elsewhere."""
    # substitute forward, then backward
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
    """Write ``G z - f`` to y, and count the entries with a wrong sign."""
    k = len(f)
    for j in range(k):
        y[j] = -f[j]

    for c in range(k):
        if z[c] != 0.0:
            value = z[c]
            for j in range(k):
                y[j] += value * G[c, j]

    # an entry is wrong if it is in the passive set and negative, or outside of the set with a
    # negative slope
    n_bad = 0
    for j in range(k):
        if P[j]:
            n_bad += z[j] < -tol
        else:
            n_bad += y[j] < -tol
    return n_bad


class SideBySide(NamedTuple):
    """Rows of a block, one per column, and what each of them has moved."""

    z: Array  # (k, BLOCK_ROWS)
    y: Array  # gradients, (k, BLOCK_ROWS)
    step: Array  # change of the current entry
    moved: Array  # movement in this sweep
    first: Array  # movement in the first sweep
    unfinished: Array


@jit
def descend_rows(G: Array, Z: Array, Y: Array, max_sweeps: int, enough: float) -> int:
    """Run coordinate descent on each row of Z, in place; Y holds ``Z G - F`` and is also updated.

    A row is done after `max_sweeps` sweeps, or when a sweep moves it by less than the fraction
    `enough` of its first sweep. G holds one matrix, or one per row. Returns the largest number of
    sweeps of a row.
    """
    m, k = Z.shape
    inverse = np.empty(k)
    # allocate the space for the rows of a block once; fill it with zeros, because the last block
    # may use only a part of it
    side_by_side = SideBySide(
        np.zeros((k, BLOCK_ROWS)),
        np.zeros((k, BLOCK_ROWS)),
        np.zeros(BLOCK_ROWS),
        np.zeros(BLOCK_ROWS),
        np.zeros(BLOCK_ROWS),
        np.zeros(BLOCK_ROWS, dtype=np.bool_),
    )
    n_sweeps = 0

    for start in range(0, m, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, m)

        # rows with the same matrix run side by side if many of their entries can move
        if len(G) == 1:
            _invert_diagonal(G[0], inverse)
            if _count_movable(Z, Y, start, stop) > DENSE_FROM * BLOCK_ROWS * k:
                done = _descend_block(
                    G[0], inverse, Z, Y, start, stop, max_sweeps, enough, side_by_side
                )
                n_sweeps = max(n_sweeps, done)
                continue

        for i in range(start, stop):
            g = i if len(G) > 1 else 0
            if len(G) > 1:
                _invert_diagonal(G[g], inverse)
            done = _descend_row(G[g], inverse, Z[i], Y[i], max_sweeps, enough)
            n_sweeps = max(n_sweeps, done)

    return n_sweeps


@jit_leaf
def _invert_diagonal(H: Array, inverse: Array) -> None:
    for j in range(len(inverse)):  # 0 if the objective is linear in z_j
        inverse[j] = 1.0 / H[j, j] if H[j, j] > 0.0 else 0.0


@jit_leaf
def _count_movable(Z: Array, Y: Array, start: int, stop: int) -> int:
    """Count the entries that are positive or have a negative slope."""
    n_movable = 0
    for i in range(start, stop):
        for j in range(Z.shape[1]):
            n_movable += Z[i, j] != 0.0 or Y[i, j] < 0.0
    return n_movable


@jit_leaf
def _descend_row(
    H: Array, inverse: Array, z: Array, y: Array, max_sweeps: int, enough: float
) -> int:
    """Descend on one row, and skip the entries that stay at zero; return the number of sweeps."""
    k = len(z)
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

            # minimise over the entry and update the gradient
            new = max(z[j] - y[j] * inverse[j], 0.0)
            step = new - z[j]
            if step != 0.0:
                z[j] = new
                moved += step * step * H[j, j]
                for c in range(k):
                    y[c] += step * H[j, c]

        # stop when the steps are small compared with the steps of the first sweep
        if sweep == 0:
            first = moved
        if moved <= enough * first:
            return sweep + 1
    return max_sweeps


@jit_leaf
def _descend_block(
    H: Array,
    inverse: Array,
    Z: Array,
    Y: Array,
    start: int,
    stop: int,
    max_sweeps: int,
    enough: float,
    side_by_side: SideBySide,
) -> int:
    """Descend on the rows from `start` to `stop`; return the largest number of sweeps of a row.

    Each row gets the values of `_descend_row`. There, each step waits for the previous step; side
    by side, the rows take a third of the time, because the processor steps on several at once.
    """
    z, y, step, moved, first, unfinished = side_by_side
    k = len(inverse)
    for r in range(BLOCK_ROWS):
        unfinished[r] = start + r < stop
    for r in range(stop - start):
        for j in range(k):
            z[j, r] = Z[start + r, j]
            y[j, r] = Y[start + r, j]

    n_sweeps = 0
    n_unfinished = stop - start
    while n_unfinished > 0 and n_sweeps < max_sweeps:
        for r in range(BLOCK_ROWS):
            moved[r] = 0.0
        for j in range(k):
            zj = z[j]
            yj = y[j]
            curve = H[j, j]
            scale = inverse[j]
            # minimise over the entry; without curvature, entries with a positive gradient become
            # zero, and other entries do not move
            for r in range(BLOCK_ROWS):
                new = zj[r] - yj[r] * scale
                new = new if new > 0.0 else 0.0
                new = 0.0 if scale == 0.0 and yj[r] > 0.0 else new
                new = new if unfinished[r] else zj[r]
                step[r] = new - zj[r]
                moved[r] += step[r] * step[r] * curve
                zj[r] = new

            # update the gradients
            if scale > 0.0:
                for c in range(k):
                    slope = H[j, c]
                    yc = y[c]
                    for r in range(BLOCK_ROWS):
                        yc[r] += step[r] * slope

        # stop when the steps are small compared with the steps of the first sweep
        n_sweeps += 1
        n_unfinished = 0
        for r in range(BLOCK_ROWS):
            first[r] = moved[r] if n_sweeps == 1 else first[r]
            unfinished[r] = unfinished[r] and moved[r] > enough * first[r]
            n_unfinished += unfinished[r]

    for r in range(stop - start):
        for j in range(k):
            Z[start + r, j] = z[j, r]
            Y[start + r, j] = y[j, r]
    return n_sweeps
