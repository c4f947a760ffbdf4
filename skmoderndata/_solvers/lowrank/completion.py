"""Completion of a table with the nuclear norm: the problem, its certificate, and regressions.

The table `M` is known on the set `Omega` of cells and stored as compressed rows (`Table`), with
weights `w` of squared residuals, 1 by default. Iterates are thin factors; values on `Omega`
(residuals, dual variables) are vectors in the order of the stored entries. For a sparse table, no
array of its shape is ever formed: `sparse + U diag(s) Vt`, whose singular values are thresholded,
only enters products with thin blocks.

Differs from the paper (Mazumder et al. 2010): ADMM with a balanced penalty replaces Soft-Impute,
and a duality gap certifies the result.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.blocks import BLOCK_BYTES, row_blocks
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.products import entries_at
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    INNER_SHARE,
    PROGRESS,
    RANK_TOL,
    RESULT_ROUNDING,
    TINY,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.svt import operator, svt, top_singular_pair

# Number of passes between two computations of the duality gap.
CHECK_EVERY = 10

# Number of passes after which ADMM stops if the limit on the rank binds.
CAPPED = 30

# First penalty parameter of ADMM for a table with missing cells, relative to the curvature of the
# loss.
FIRST_PENALTY = 0.3

# Factor by which the penalty is raised or lowered.
PENALTY_FACTOR = 1.5

# Maximum ratio of smallest to largest eigenvalue at which a Gram matrix counts as singular.
SINGULAR = 1e-8


def zero_is_solution(lam: float, lam_max: float) -> bool:
    """Return True if zero solves the problem for `lam`, up to the accuracy of `lam_max`."""
    return lam >= lam_max * (1 - 1e-6)


class Factors(NamedTuple):
    """A matrix `U @ diag(s) @ Vt` with orthonormal `U`, `Vt.T` and descending positive `s`."""

    U: Array
    s: Array
    Vt: Array

    def leading(self, r: int) -> "Factors":
        """Keep the `r` largest singular values."""
        return Factors(self.U[:, :r], self.s[:r], self.Vt[:r])


class Table:
    """Known cells of a table as compressed rows; every stored entry, zero or not, is known.

    `dense` permits arrays of the shape of the table. `weights` are positive, one for each stored
    entry; None means 1 everywhere.
    """

    def __init__(self, X: Any, dense: bool, weights: Array | None = None) -> None:
        self.X = X
        self.dense = dense
        self.weights = weights
        self.data: Array = X.data
        self.columns: Array = X.indices
        self.shape: tuple[int, int] = X.shape
        self.rows = np.repeat(np.arange(X.shape[0], dtype=X.indices.dtype), np.diff(X.indptr))
        self.full = X.nnz == X.shape[0] * X.shape[1]

    def part(self, keep: Array) -> "Table":
        """Restrict the known cells by `keep`, one flag per known cell."""
        cells = self.rows[keep], self.columns[keep]
        weights = None if self.weights is None else self.weights[keep]
        table = sparse.csr_array((self.data[keep], cells), shape=self.shape)
        return Table(table, self.dense, weights)

    def weighted(self, values: Array) -> Array:
        """Return values on Omega times the weights."""
        return values if self.weights is None else self.weights * values

    def misfit(self, residual: Array) -> float:
        """Return the root of the weighted sum of squares, ``(sum w residual^2)^(1/2)``."""
        return norm(residual if self.weights is None else np.sqrt(self.weights) * residual)

    def mean_weight(self) -> float:
        """Return the mean weight of the known cells."""
        return 1.0 if self.weights is None else float(self.weights.mean(dtype=np.float64))

    def transposed(self) -> tuple[Any, Array | None]:
        """Return the known cells of the transposed table, and their weights in its order."""
        X = self.X.T.tocsr()
        if self.weights is None:
            return X, None
        stored = self.weights, self.columns, self.X.indptr
        return X, sparse.csr_array(stored, shape=self.shape).T.tocsr().data

    def known(self, factors: Factors) -> Array:
        """Return `P_Omega(L)`."""
        return entries(factors.U * factors.s, factors.Vt, self.rows, self.columns)

    def matrix(self, values: Array, factors: Factors | None = None) -> Any:
        """Return the matrix with `values` on Omega, and L or zero elsewhere."""
        if self.dense:
            n, p = self.shape
            L = np.zeros((n, p), values.dtype) if factors is None else _product(factors)
            L[self.rows, self.columns] = values
            return L

        if factors is None:
            return sparse.csr_array((values, self.columns, self.X.indptr), shape=self.shape)

        S = self.matrix(values - self.known(factors))
        St = S.T
        left = factors.U * factors.s
        right = factors.Vt.T
        return operator(
            lambda V: S @ V + left @ (right.T @ V),
            lambda Q: St @ Q + right @ (left.T @ Q),
            self.shape,
            values.dtype,
        )

    def empty_factors(self) -> Factors:
        """Return the zero matrix."""
        (n, p) = self.shape
        dtype = self.data.dtype
        return Factors(np.empty((n, 0), dtype), np.empty(0, dtype), np.empty((0, p), dtype))


def _product(factors: Factors) -> Array:
    return (factors.U * factors.s) @ factors.Vt


def entries(left: Array, Vt: Array, rows: Array, columns: Array) -> Array:
    """Compute the entries of ``left @ Vt`` at given cells."""
    out = np.empty(rows.size, dtype=left.dtype)
    right = np.ascontiguousarray(Vt.T, dtype=left.dtype)
    entries_at(rows, columns, np.ascontiguousarray(left), right, out)
    return out


class CompletionResult(NamedTuple):
    """Result of `complete`: factors of L, the dual variable on Omega, and their quality."""

    factors: Factors
    dual: Array
    objective: float
    gap: float
    n_iter: int
    converged: bool


def certificate(
    table: Table,
    residual: Array,
    dual: Array,
    nuclear: float,
    lam: float,
    accuracy: float = 1e-6,
) -> tuple[float, float, Array]:
    """Return the objective, the relative duality gap, and the leading right vector of the dual.

    The objective is `1/2 sum w (M - L)^2 + lam ||L||_*`, summed over Omega, or `||L||_*` for
    ``lam = 0``, with `residual` = `P(M - L)` and `nuclear` = `||L||_*`.

    For ``lam > 0`` the dual problem, divided by lam, is `max <Y, M> - lam/2 sum Y^2 / w` over
    `||Y|| <= 1` with Y zero outside Omega, because `y^2 lam / (2 w)` is the conjugate of
    `w e^2 / (2 lam)`. The bound comes from the best feasible multiple of `dual`; at the solution,
    `w (M - L) / lam` is optimal.

    For ``lam = 0`` weights have no effect. If L misses the known cells, the objective is raised by
    the bound `sqrt(min(n, p)) ||residual||_F` on the nuclear norm of the correction, so that the
    gap bounds the suboptimality of the corrected L.
    """
    w = table.weights if lam > 0 else None
    misfit = norm(residual) if w is None else table.misfit(residual)
    size = norm(dual if w is None else dual / np.sqrt(w))
    charge = 0.5 * misfit**2 / lam if lam else np.sqrt(min(table.shape)) * misfit
    primal = nuclear + charge
    objective = lam * primal if lam else nuclear

    top, v = top_singular_pair(table.matrix(dual), accuracy)
    product = float(np.vdot(dual.astype(float), table.data))
    return objective, completion_gap(primal, size, product, top, lam), v


def completion_gap(
    primal: float, size: float, product: float, top: float, lam: float
) -> float:
    """Return the relative duality gap for the best feasible multiple of a dual variable Y.

    `primal` is the objective divided by lam, `size` the root of ``sum Y^2 / w``, `product` is
    ``<Y, M>`` and `top` the spectral norm of Y.
    """
    if primal == 0 or top == 0:
        return float(primal > 0)
    c = min(1 / top, product / (lam * size**2)) if lam else 1 / top
    bound = max(c, 0.0) * (product - 0.5 * max(c, 0.0) * lam * size**2)
    return relative_gap(primal, bound, unit=primal)


def norm(a: Array) -> float:
    """Compute the Euclidean norm in double precision."""
    return float(linalg.norm(a.astype(np.float64), check_finite=False))


class BalancedPenalty:
    """Penalty parameter `mu` of completion, updated from pass to pass."""

    def __init__(self, mu: float) -> None:
        self.mu = mu
        self.next_change = 10

    def is_due(self, n_iter: int) -> bool:
        """Return True if the penalty changes after this pass."""
        return n_iter >= self.next_change

    def balance(self, primal: float, dual: float, n_iter: int) -> float:
        """Move mu towards balanced residuals, if a change is due."""
        # aim at a primal residual of three times the dual one, which was fastest with and without
        # noise; the intervals between changes grow, so that the method converges as with a
        # constant mu
        if self.is_due(n_iter):
            if max(primal, dual) > ACCUMULATED_ROUNDING:
                is_low = primal > 3 * dual
                self.mu *= PENALTY_FACTOR if is_low else 1 / PENALTY_FACTOR
            self.next_change = n_iter + 3 + n_iter // 10
        return self.mu


def complete(
    table: Table,
    *,
    lam: float,
    rng: np.random.RandomState,
    max_rank: int | None = None,
    init: CompletionResult | None = None,
    max_iter: int = 500,
    tol: float = 1e-5,
    progress: Progress | None = None,
) -> CompletionResult:
    """Solve `min 1/2 sum w (M - L)^2 + lam ||L||_*` by ADMM; `P(L) = P(M)` for ``lam = 0``.

    The splitting `L + E = M` with E free outside Omega keeps the dual Y zero outside Omega. On
    Omega, `E = c Y` with `c = lam / w` holds after every pass. The steps (for the objective
    divided by lam) are therefore `L <- SVT(L outside Omega, M - c Y + Y / mu on Omega, 1 / mu)`
    and `Y <- (mu P(M - L) + Y) / (1 + c mu)`. The penalty mu balances the primal and dual
    residuals, at growing intervals. Stops on the gap of `certificate`, computed every ten passes.

    If the cap `max_rank` binds, the problem is not convex and ADMM need not converge. The factors
    after 30 passes are then a start for `alternating_least_squares`.
    """
    M = table.data
    factors, Y = (
        (init.factors, init.dual) if init else (table.empty_factors(), np.zeros_like(M))
    )
    x = table.known(factors)
    # compute the curvature of the conjugate of the loss, for each cell if cells have weights
    c = lam if table.weights is None else lam / table.weights
    if lam > 0:
        mu = (1.0 if table.full else FIRST_PENALTY) / float(np.median(c))
    else:
        mu = 8 / top_singular_pair(table.matrix(M))[0]

    # use inaccurate singular values, because warm starts compensate for their errors
    subspace = factors.Vt.T
    accuracy = 0.3
    objective = gap = np.inf
    penalty = BalancedPenalty(mu)
    it = Iterations(max_iter, tol, progress)

    for k in it:
        # 1. update L: threshold the singular values of W, which equals L in the missing cells
        W = table.matrix(M - c * Y + Y / mu, factors)
        out = svt(W, 1 / mu, subspace=subspace, max_rank=max_rank, tol=accuracy, rng=rng)
        old = factors
        factors = Factors(*out[:3])
        subspace = out.subspace
        x = table.known(factors)

        # 2. update Y, the multipliers of the known cells
        Y = (mu * (M - x) + Y) / (1 + c * mu)

        # 3. adapt mu, to balance the residuals
        if penalty.is_due(k):
            primal = norm(M - x - c * Y) / norm(M)
            dual = _distance(factors, old) / max(norm(factors.s), TINY)
            mu = penalty.balance(primal, dual, k)

        # 4. at intervals, compute the gap and add a direction that the subspace may miss
        if k % CHECK_EVERY == 0 or k == max_iter or (k == 1 and table.full):
            last_gap = gap
            objective, gap, v = _certified(table, x, Y, factors, lam, tol)
            if subspace.shape[1] < min(table.shape):
                subspace = np.column_stack([subspace, v.astype(M.dtype)])
            if gap > PROGRESS * last_gap:
                accuracy = max(accuracy / 3, RESULT_ROUNDING)
            it.residual = gap
            if factors.s.size == max_rank and k >= CAPPED:
                it.converged = True

    if it.n_iter % CHECK_EVERY and not it.converged:  # a callback has stopped the passes
        objective, gap, _ = _certified(table, x, Y, factors, lam, tol)

    if lam > 0:
        Y = table.weighted(M - x) / lam
    return CompletionResult(factors, Y, objective, gap, it.n_iter, it.converged or gap <= tol)


def _certified(
    table: Table, x: Array, Y: Array, factors: Factors, lam: float, tol: float
) -> tuple[float, float, Array]:
    """Certify an iterate coarsely, and to a tenth of `tol` if the coarse gap is at most `tol`."""
    residual = table.data - x
    dual = table.weighted(residual) / lam if lam else Y
    nuclear = float(factors.s.sum())
    coarse = certificate(table, residual, dual, nuclear, lam, 1e-2)
    return (
        coarse
        if coarse[1] > tol
        else certificate(table, residual, dual, nuclear, lam, INNER_SHARE * tol)
    )


def _distance(new: Factors, old: Factors) -> float:
    """Return the Frobenius distance of two iterates."""
    cross = ((new.U.T @ old.U) * (new.Vt @ old.Vt.T) * old.s * new.s[:, None]).sum(dtype=float)
    return float(np.sqrt(max(norm(new.s) ** 2 + norm(old.s) ** 2 - 2 * float(cross), 0.0)))


def alternating_least_squares(
    table: Table,
    factors: Factors,
    *,
    lam: float,
    max_iter: int = 50,
    tol: float = 1e-9,
    target: float = 0.0,
) -> Factors:
    """Improve `1/2 sum w (M - L)^2 + lam ||L||_*` at fixed rank, rows and columns in turn.

    For L = A B' the nuclear norm is the least `1/2 (||A||_F^2 + ||B||_F^2)`, so that each half
    sweep is one ridge regression per row or column. `lam = 0` is plain least squares at this
    rank. Stops when the objective falls by less than the fraction `tol` or reaches `target`.
    """
    last = np.inf
    sides = ((table.X, table.weights), table.transposed())
    for _ in range(max_iter):
        # compute the scores of one side, then the singular values of the product; each half sweep
        # leaves the factors of the transposed matrix
        for X, weights in sides:
            penalty = row_penalty(lam, factors.s)
            scores = solve_rows(X, factors.Vt, penalty, np.ones_like(penalty), weights)
            A, s, Bt = linalg.svd(scores, full_matrices=False, check_finite=False)
            keep = s > s.max(initial=0.0) * 100 * EPS
            factors = Factors((Bt[keep] @ factors.Vt).T, s[keep], A[:, keep].T)

        misfit = table.misfit(table.data - table.known(factors))
        objective = 0.5 * misfit**2 + lam * float(factors.s.sum())
        if objective <= target or objective >= last * (1 - tol):
            break
        last = objective
    return Factors(*(np.asarray(a, dtype=table.data.dtype) for a in factors))


def row_penalty(lam: float, s: Array) -> Array:
    """Return the ridge penalty on each score that represents the nuclear norm at fixed `Vt`."""
    if lam == 0:
        return np.zeros(s.size)
    return lam / np.asarray(s, dtype=np.float64)


def solve_rows(
    X: Any, Vt: Array, penalty: Array, weight: Array, cell_weights: Array | None = None
) -> Array:
    """Return the scores `a` of each row: `min 1/2 sum w (x - V a)^2 + 1/2 sum penalty a^2`.

    Only the stored cells of the compressed rows `X` count, with weights w, which are 1 if
    `cell_weights` is None. With zero penalty, this is least squares; if the known cells do not
    determine the scores, `a / weight` has least norm. Rows without known cells get zeros. Scores
    are always computed in double precision.
    """
    (n, p) = X.shape
    r = len(Vt)
    scores = np.zeros((n, r))
    if r == 0 or n == 0:
        return scores

    # scale the components so that the penalty is 1
    ridge = float(penalty.max() > 0)
    if ridge:
        weight = 1 / np.sqrt(penalty)
    B = np.ascontiguousarray(Vt.T * weight, dtype=np.float64)

    values = X.data.astype(np.float64)
    w = np.ones(values.size) if cell_weights is None else cell_weights.astype(np.float64)
    targets = values if cell_weights is None else w * values
    observed = sparse.csr_array((w, X.indices, X.indptr), shape=(n, p))
    right = sparse.csr_array((targets, X.indices, X.indptr), shape=(n, p)) @ B

    # form the normal equations of blocks of rows from products of pairs of components
    lower = np.tril_indices(r)
    pairs = np.ascontiguousarray(B[:, lower[0]] * B[:, lower[1]])
    for block in row_blocks(n, 8 * r * r, limit=BLOCK_BYTES):
        G = np.empty((len(scores[block]), r, r))
        G[:, lower[0], lower[1]] = G[:, lower[1], lower[0]] = observed[block] @ pairs
        G += ridge * np.eye(r)
        singular = np.zeros(len(G), dtype=bool)

        if not ridge or SINGULAR * np.trace(G, axis1=1, axis2=2).max() > 1:
            spread = np.linalg.eigvalsh(G)
            singular = spread[:, 0] <= SINGULAR * spread[:, -1]
            G[singular] = np.eye(r)

        # solve ``G a = B' x`` for all rows of the block; if G is singular, solve the least-squares
        # problem on the known cells of the row
        scores[block] = np.linalg.solve(G, right[block][:, :, None])[:, :, 0]
        for i in block.start + np.flatnonzero(singular):
            cells = slice(X.indptr[i], X.indptr[i + 1])
            root = np.sqrt(w[cells])
            rows = np.vstack([root[:, None] * B[X.indices[cells]], np.sqrt(ridge) * np.eye(r)])
            target = np.append(root * values[cells], np.zeros(r))
            scores[i] = linalg.lstsq(rows, target, cond=RANK_TOL, check_finite=False)[0]

    return scores * weight
