"""Semi- and convex non-negative factorisation: what is not alternating least squares on X.

Notation: X (n, p), codes W (n, k) non-negative; convex factorisation has components ``B' X`` with
weights B (n, k), non-negative, columns of sum 1.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._jit import jit
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.nnls import descend_rows
from skmoderndata._solvers.factors.factorization import (
    CANCELLED,
    Data,
    FactorizationResult,
    Side,
    is_sparse,
    least_squares,
    lengths_of,
    ratio,
    residual_blocks,
    squared_error,
    update,
    worst,
)

Array = np.ndarray[Any, np.dtype[Any]]

TINY = 1e-300
SWEEPS = 10  # of coordinate descent on the codes in a pass


def semi_multiplicative(
    data: Data,
    W: Array,
    *,
    max_iter: int = 1000,
    tol: float = 1e-4,
    progress: Progress | None = None,
) -> FactorizationResult:
    """Minimise ``1/2 |X - W V'|^2`` over ``W >= 0`` and V by Ding's rule [2010, equation (10)].

    The objective never rises, but the rule slows down before the stationary point, and cannot
    leave a zero.
    """
    W = W.copy()
    history: list[float] = []
    it = Iterations(max_iter, tol, progress)
    V = np.zeros((data.shape[1], W.shape[1]))
    for _ in it:
        _, S, T = next(data.terms(W, False))
        V = least_squares(S, T)
        length = lengths_of(V)
        V, W = V / length, W * length
        _, G, F = next(data.terms(V, True))
        Y = W @ G - F
        W_up = np.maximum(F, 0) + W @ np.maximum(-G, 0)
        W_down = np.maximum(-F, 0) + W @ np.maximum(G, 0)
        weights = 1.0 if data.weights is None else data.weights[:, None]
        fixed = np.sqrt((weights * np.where(W > 0, Y, np.minimum(Y, 0)) ** 2).sum())
        size = np.sqrt((weights * F * F).sum())
        it.residual = float(fixed / size) if size > 0 else float(fixed)
        objective = data.sum_sq / 2 + float((weights * W * (Y - F)).sum()) / 2
        if objective < data.cancelled / 2:
            objective = squared_error(data, W, V) / 2
        history.append(min(objective, history[-1]) if history else objective)
        if it.residual > tol:
            W = W * np.sqrt((W_up + TINY) / (W_down + TINY))
    _, S, T = next(data.terms(W, False))
    V = least_squares(S, T)
    looked = update(data, Side(), V, W, codes=True, sweeps=0, scales=np.ones(V.shape[1]))
    objective = data.sum_sq / 2 + float((V * (V @ S / 2 - T)).sum())
    if objective < data.cancelled / 2:
        objective = squared_error(data, W, V) / 2
    history[-1] = min(history[-1], objective)
    return FactorizationResult(W, V, history[-1], ratio(looked), it.n_iter, it.converged, history)


class ConvexResult(NamedTuple):
    """Codes, weights of the rows in the components, how good they are, and how it went."""

    codes: Array
    weights: Array
    objective: float
    residual: float
    n_iter: int
    converged: bool
    history: list[float]


class IndefiniteError(ValueError):
    """The kernel matrix has a negative eigenvalue, for which the problem has no minimum."""


class Rows:
    """The rows through their inner products: from X, or from a kernel matrix.

    `rounding` is the relative error of the entries of the kernel matrix.
    """

    def __init__(self, X: Any = None, K: Array | None = None, rounding: float = 1e-16):
        self.X, self.K = X, K
        if K is not None:
            self.diagonal = np.array(np.diagonal(K))
        elif is_sparse(X):
            self.diagonal = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        else:
            self.diagonal = np.einsum("ij,ij->i", X, X)
        self.trace = float(self.diagonal.sum())
        self.slack = 0.0 if K is None else min(1e-3, 10 * len(K) * rounding)
        if K is not None:
            self.check(self.diagonal, float(np.abs(K).max(initial=0.0)))

    def check(self, values: Array | float, size: float) -> None:
        """Raise where what is a squared norm is negative by more than rounding of `size`."""
        if np.min(values, initial=0.0) < -self.slack * size and self.K is not None:
            least = float(np.min(values)) / size
            raise IndefiniteError(f"squared norm of {least:.3g} times the largest entry")

    def squared_error(self, W: Array, B: Array) -> float:
        """``|X - W B' X|^2`` from the residuals, with which nothing cancels."""
        if self.K is None:
            data = Data(self.X)
            V = np.ascontiguousarray(self.X.T @ B, dtype=np.float64)
            return float(sum((R * R).sum() for _, R in residual_blocks(data, W, V)))
        R = self.K - W @ (B.T @ self.K)
        error = float(np.trace(R) - ((R @ B) * W).sum())
        self.check(error, self.trace)
        return max(error, 0.0)

    def against(self, B: Array) -> Array:
        """Inner products of all rows with the combinations in the columns of B."""
        if self.K is not None:
            out: Array = self.K @ B
            return out
        product: Array = np.asarray(self.X @ np.ascontiguousarray(self.X.T @ B))
        return product

    def sweep(self, B: Array, W: Array, S: Array) -> None:
        """Improve B row by row, in place, given the codes and ``S = W' W``."""
        n, k = B.shape
        if self.K is not None:
            D = B @ S - W
            for rows in row_blocks(n, n * k + 2.0 * k * k):
                _sweep_gram(self.K, self.diagonal, B, D, S, rows.start, rows.stop)
            return
        M = np.ascontiguousarray(self.X.T @ (B @ S - W))
        for rows in row_blocks(n, 2.0 * k * (self.X.shape[1] + k)):
            b, diagonal = B[rows], self.diagonal[rows]
            part = self.X[rows]
            if not is_sparse(part):  # as if all entries were stored
                size, p = part.shape
                indptr, indices = np.arange(0, size * p + 1, p), np.tile(np.arange(p), size)
                part = sparse.csr_array((part.ravel(), indices, indptr), shape=part.shape)
            _sweep_rows(part.indptr, part.indices, part.data, diagonal, b, M, S)


def convex_factorize(
    rows: Rows,
    W: Array,
    B: Array,
    *,
    method: Literal["descent", "multiplicative"] = "descent",
    max_iter: int = 1000,
    tol: float = 1e-4,
    progress: Progress | None = None,
) -> ConvexResult:
    """Minimise ``1/2 |X - W B' X|^2`` over non-negative W and B; rows of zeros get no weight.

    "descent": coordinate descent over the codes of each row, then over the weights of each row,
    with the residual kept up to date, from extrapolated points; a step that raises the objective
    is taken back; "multiplicative": Ding's rules [2010, equations
    (19), (20)]. The columns of B are rescaled to sum 1. Stops when the projected gradients of both
    factors, relative to their linear terms, are below `tol`.

    Raises
    ------
    IndefiniteError
        When a squared norm turns out to be negative.
    """
    it = Iterations(max_iter, tol, progress)
    history: list[float] = []
    nothing = rows.diagonal <= 0
    if nothing.any() and not nothing.all():  # rows of zeros, whose weights mean nothing
        B = np.where(nothing[:, None], 0.0, B)
        B = B / B.sum(axis=0)
    if method == "multiplicative":
        new_W, new_B = W, B
        for _ in it:
            total = new_B.sum(axis=0)
            W, B = new_W * total, new_B / total
            F = rows.against(B)
            G = B.T @ F
            objective = _objective(rows, W, B, F, G)
            history.append(min(objective, history[-1]) if history else objective)
            it.residual = _residual(rows, W, B, F, G)
            new_W, new_B = _multiply(rows, W, B, F, G)
        return ConvexResult(W, B, history[-1], it.residual, it.n_iter, it.converged, history)
    best, best_W, best_B = np.inf, W, B
    last_W, last_B = W, B  # before extrapolation
    step, step_limit, fresh = 0.5, 1.0, True
    residual = np.inf
    for _ in it:
        W = W.copy()
        F = rows.against(B)
        G = B.T @ F
        descend_rows(G[None], W, W @ G - F, SWEEPS, 0.03)
        objective = _objective(rows, W, B, F, G)
        if objective > best + 1e-15 * rows.trace and not fresh:
            W, B = best_W, best_B
            last_W, last_B = best_W, best_B
            step_limit, step, fresh = step, step / 1.5, True
            history.append(best)
            continue
        best = min(best, objective)
        history.append(best)
        total = B.sum(axis=0)
        total[total == 0] = 1.0
        B, last_B, F = B / total, last_B / total, F / total
        W, last_W, G = W * total, last_W * total, G / total / total[:, None]
        best_W, best_B = W, B
        it.residual = residual = _residual(rows, W, B, F, G)
        if residual <= tol:
            continue
        extra = 0.0 if fresh else step
        ahead = np.maximum(W + extra * (W - last_W), 0) if extra else W
        B = B.copy()
        rows.sweep(B, ahead, ahead.T @ ahead)
        B, last_B = (np.maximum(B + extra * (B - last_B), 0) if extra else B), B
        W, last_W = ahead, W
        if not fresh:
            step_limit = min(1.0, 1.01 * step_limit)
            step = min(step_limit, 1.05 * step)
        fresh = False
    return ConvexResult(
        best_W, best_B, best, residual, it.n_iter, it.converged or residual <= tol, history
    )


def _objective(rows: Rows, W: Array, B: Array, F: Array, G: Array) -> float:
    rows.check(np.diagonal(G), rows.diagonal.max(initial=0.0))
    objective = rows.trace / 2 + float((W * (W @ G / 2 - F)).sum())
    if objective < rows.trace * np.finfo(np.float64).eps ** CANCELLED:
        objective = rows.squared_error(W, B) / 2
    return objective


def _residual(rows: Rows, W: Array, B: Array, F: Array, G: Array) -> float:
    linear = rows.against(W)
    slope_B = F @ (W.T @ W) - linear
    slope_W = W @ G - F
    residuals = []
    for factor, slope, size in ((W, slope_W, F), (B, slope_B, linear)):
        projected = np.where(factor > 0, slope, np.minimum(slope, 0))
        norm = float(np.linalg.norm(size))
        residuals.append(float(np.linalg.norm(projected)) / (norm if norm > 0 else 1.0))
    return worst(*residuals)


def _multiply(rows: Rows, W: Array, B: Array, F: Array, G: Array) -> tuple[Array, Array]:
    """One round of Ding's rules; they need the positive and negative parts of the Gram matrix."""
    K = rows.K if rows.K is not None else rows.against(np.eye(len(W)))
    up, down = np.maximum(K, 0), np.maximum(-K, 0)
    up_B, down_B = up @ B, down @ B
    grows = up_B + W @ (B.T @ down_B)
    shrinks = down_B + W @ (B.T @ up_B)
    W = W * np.sqrt((grows + TINY) / (shrinks + TINY))
    S = W.T @ W
    grows = up @ W + down_B @ S
    shrinks = down @ W + up_B @ S
    B = B * np.sqrt((grows + TINY) / (shrinks + TINY))
    return W, B


@jit
def _step(b: Array, g: Array, curve: float, S: Array, delta: Array) -> bool:
    """Two sweeps of coordinate descent over one row b; its change goes into `delta`."""
    k = len(b)
    moved = False
    for j in range(k):
        delta[j] = 0.0
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
    """Rows of B in turn, those of X in CSR format; M is ``X' (B S - W)``, kept up to date."""
    k = B.shape[1]
    g, delta, change = np.empty(k), np.empty(k), np.empty(k)
    for i in range(len(indptr) - 1):
        g[:] = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            f, x = indices[position], data[position]
            for c in range(k):
                g[c] += x * M[f, c]
        if _step(B[i], g, diagonal[i], S, delta):
            for c in range(k):
                change[c] = 0.0
                for j in range(k):
                    change[c] += delta[j] * S[j, c]
            for position in range(indptr[i], indptr[i + 1]):
                f, x = indices[position], data[position]
                for c in range(k):
                    M[f, c] += x * change[c]


@jit
def _sweep_gram(
    K: Array, diagonal: Array, B: Array, D: Array, S: Array, first: int, last: int
) -> None:
    """As `_sweep_rows`, through the Gram matrix; D is ``B S - W`` and is kept up to date."""
    n, k = B.shape
    g, delta = np.empty(k), np.empty(k)
    for i in range(first, last):
        g[:] = 0.0
        for a in range(n):
            value = K[i, a]
            for c in range(k):
                g[c] += value * D[a, c]
        if _step(B[i], g, diagonal[i], S, delta):
            for c in range(k):
                for j in range(k):
                    D[i, c] += delta[j] * S[j, c]
