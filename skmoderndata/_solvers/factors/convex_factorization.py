"""Convex non-negative factorisation of a data matrix or a kernel matrix.

Notation: X (n, p), non-negative codes W (n, k), components ``B' X`` with non-negative weights
B (n, k), whose columns sum to 1.

Differs from the paper (Ding, Li and Jordan 2010): coordinate descent with extrapolation replaces
multiplicative updates.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.nnls import descend_rows
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.extrapolation import Extrapolation
from skmoderndata._solvers.factors.factor_updates import (
    ENOUGH,
    MAX_SWEEPS,
    Data,
    is_sparse,
    squared_error,
)
from skmoderndata._solvers.factors.factorization import worst

# Minimum unit of the gradients, relative to their linear terms, which leaves room for rounding
# errors.
LEAST_UNIT = 4096 * EPS


class ConvexResult(NamedTuple):
    """Codes, weights of the rows in the components, their quality, and the course of the fit."""

    codes: Array
    weights: Array
    objective: float
    residual: float
    n_iter: int
    converged: bool
    history: list[float]
    offset: float  # norm of the mean row, over the root mean square distance of rows from it


class IndefiniteError(ValueError):
    """The kernel matrix has a negative eigenvalue, so the problem has no minimum."""


def rows_of_kernel(K: Array, rounding: float = 1e-16) -> Array:
    """Return rows (n, rank) with inner products K, by Cholesky factorisation with pivoting.

    `rounding` is the relative error of the entries of K.
    """
    n = len(K)
    largest = float(np.abs(K).max())
    L, order, rank, _ = linalg.lapack.dpstrf(K, lower=1, tol=10 * rounding * largest)
    rows = np.empty((n, rank))
    rows[order - 1] = np.tril(L)[:, :rank]
    error = 0.0
    if rank < n:
        error = float(np.abs(K - rows @ rows.T).max())
    if error > min(1e-3, 10 * n * rounding) * largest:
        raise IndefiniteError(
            f"indefinite one: Cholesky's factorisation fails by {error / largest:.3g} times the "
            "largest entry"
        )
    return rows


def against(X: Any, B: Array) -> Array:
    """Return the inner products of all rows of X with the columns of ``X' B``."""
    return np.asarray(X @ np.ascontiguousarray(X.T @ B))


def _sweep(X: Any, norms_sq: Array, B: Array, W: Array) -> None:
    """Improve B in place, row by row, for fixed codes."""
    k = B.shape[1]
    S = W.T @ W
    M = np.ascontiguousarray(X.T @ (B @ S - W))
    for rows in row_blocks(len(B), 2.0 * k * (X.shape[1] + k)):
        block = X[rows]
        if not is_sparse(block):  # store all entries, including zeros
            size, p = block.shape
            indptr = np.arange(0, size * p + 1, p)
            indices = np.tile(np.arange(p), size)
            block = sparse.csr_array((block.ravel(), indices, indptr), shape=block.shape)
        _sweep_rows(block.indptr, block.indices, block.data, norms_sq[rows], B[rows], M, S)


def convex_factorize(
    X: Any,
    W: Array,
    B: Array,
    *,
    max_iter: int = 1000,
    tol: float = 1e-4,
    progress: Progress | None = None,
) -> ConvexResult:
    """Minimise ``1/2 |X - W B' X|^2`` over non-negative W and B; rows of zeros get no weight.

    Each pass runs coordinate descent over the codes of each row, then over the weights of each
    row, from extrapolated points, and keeps the residual up to date. A step that raises the
    objective is taken back. The columns of B are rescaled to sum 1. Stops when the projected
    gradients of W and B, relative to their linear terms, are below `tol`. The linear terms are
    taken from centred rows, because a large offset of all rows would hide every gradient. X is an
    array or a CSR matrix.
    """
    it = Iterations(max_iter, tol, progress)
    history: list[float] = []
    data = Data(X)

    squares = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    norms_sq = np.asarray(squares, dtype=np.float64).ravel()
    against_mean = np.asarray(X @ np.asarray(X.mean(axis=0)).ravel())
    empty = norms_sq <= 0
    if empty.any() and not empty.all():  # the weights of all-zero rows have no effect
        B = np.where(empty[:, None], 0.0, B)
        B = B / B.sum(axis=0)

    # run coordinate descent with extrapolation, falling back to the best factors
    best = np.inf
    best_W = W
    best_B = B
    # keep the weights of the last pass, before extrapolation
    last_B = B
    extrapolation = Extrapolation()
    residual = np.inf
    for _ in it:
        extra = extrapolation.length

        # 1. update the codes W for fixed B
        W = W.copy()
        F = against(X, B)
        G = B.T @ F
        descend_rows(G[None], W, W @ G - F, MAX_SWEEPS, ENOUGH)
        objective = _objective(data, W, B, F, G)

        # 2. return to the best factors if extrapolation has raised the objective
        if extra and objective > best + 4 * EPS * data.sum_sq:
            W = best_W
            B = best_B
            last_B = best_B
            extrapolation.led_astray()
            history.append(best)
            continue

        best = min(best, objective)
        history.append(best)

        # 3. rescale the columns of B to sum 1
        total = B.sum(axis=0)
        total[total == 0] = 1.0
        B = B / total
        last_B = last_B / total
        F = F / total
        W = W * total
        G = G / total / total[:, None]
        best_W = W
        best_B = B

        it.residual = residual = _residual(X, W, B, F, G, against_mean)
        if residual <= tol:
            continue

        # 4. update the weights B, and extrapolate them
        new_B = B.copy()
        _sweep(X, norms_sq, new_B, W)
        B = np.maximum(new_B + extra * (new_B - last_B), 0) if extra else new_B
        last_B = new_B

        extrapolation.went_well()
    converged = it.converged or residual <= tol
    of_mean = float(against_mean.mean())
    spread = data.sum_sq / len(W) - of_mean
    offset = float(np.sqrt(max(of_mean, 0.0) / max(spread, EPS * of_mean, SMALLEST_DIVISOR)))
    return ConvexResult(best_W, best_B, best, residual, it.n_iter, converged, history, offset)


def _objective(data: Data, W: Array, B: Array, F: Array, G: Array) -> float:
    terms = W * (W @ G / 2 - F)
    objective = data.sum_sq / 2 + float(terms.sum())
    if objective < data.cancelled / 2:
        V = np.ascontiguousarray(data.X.T @ B, dtype=np.float64)
        objective = squared_error(data, W, V) / 2
    return objective


def _residual(X: Any, W: Array, B: Array, F: Array, G: Array, against_mean: Array) -> float:
    linear = against(X, W)
    slope_B = F @ (W.T @ W) - linear
    slope_W = W @ G - F

    # centre the rows in the linear terms: inner products K become C K C with C = I - 1 1' / n
    centred_F = F - np.outer(against_mean, B.sum(axis=0))
    centred_linear = linear - len(W) * np.outer(against_mean, W.mean(axis=0))
    sizes = []
    for term, centred in ((F, centred_F), (linear, centred_linear)):
        size = float(np.linalg.norm(centred - centred.mean(axis=0)))
        sizes.append(max(size, LEAST_UNIT * float(np.linalg.norm(term))))

    residuals = []
    for factor, slope, size in zip((W, B), (slope_W, slope_B), sizes, strict=True):
        projected = np.where(factor > 0, slope, np.minimum(slope, 0))
        norm = float(np.linalg.norm(projected))
        residuals.append(norm / (size if size > 0 else 1.0))
    return worst(*residuals)


@jit
def _step(b: Array, g: Array, curve: float, S: Array, delta: Array) -> bool:
    """Run two sweeps of coordinate descent over one row b, and write its change to `delta`."""
    k = len(b)
    moved = False
    for j in range(k):
        delta[j] = 0.0

    # move each weight to the minimum over b_j >= 0
    for _ in range(2):
        for j in range(k):
            h = curve * S[j, j]
            if h <= 0.0:
                continue
            new = max(b[j] - g[j] / h, 0.0)
            step = new - b[j]
            if step != 0.0:
                moved = True
                b[j] = new
                delta[j] += step
                for c in range(k):
                    g[c] += step * curve * S[j, c]
    return moved


@jit
def _sweep_rows(
    indptr: Array, indices: Array, data: Array, diagonal: Array, B: Array, M: Array, S: Array
) -> None:
    """Improve the rows of B in turn; X is in CSR format, and M is always ``X' (B S - W)``."""
    k = B.shape[1]
    g = np.empty(k)
    delta = np.empty(k)
    change = np.empty(k)
    for i in range(len(indptr) - 1):
        # compute the gradient of the row
        g[:] = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            f = indices[position]
            x = data[position]
            for c in range(k):
                g[c] += x * M[f, c]

        # update M after a change
        if _step(B[i], g, diagonal[i], S, delta):
            for c in range(k):
                change[c] = 0.0
                for j in range(k):
                    change[c] += delta[j] * S[j, c]
            for position in range(indptr[i], indptr[i + 1]):
                f = indices[position]
                x = data[position]
                for c in range(k):
                    M[f, c] += x * change[c]
