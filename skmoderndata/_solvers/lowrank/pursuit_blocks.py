"""Pursuit and completion of a table in blocks, with many more rows than columns.

Both minimise ``|L|_* + sum h(X - L)`` over the observed entries, with the Huber function `h` of
`principal_component_pursuit`. Completion is the case without errors: ``lam = inf``, and ``delta``
is the weight of the nuclear norm. A block stores its rows of the dual `Y` and of `W`, whose
singular values are thresholded next. ``W'W`` determines these values and the right singular
vectors, so that a pass only adds up matrices of the size of the columns.

A new penalty `mu` changes W by a multiple of Y, and is known only after the pass. ``W'Y`` and
``Y'Y`` give the Gram matrix of the changed W; the next pass changes the rows.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.blocks import ArrayBlocks, Block
from skmoderndata._solvers.common.extremes import Largest
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.tolerances import SINGLE_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.completion import BalancedPenalty, completion_gap
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    DUAL_TOL_RATIO,
    RELAX_AFTER,
    RELAXATION,
    Penalty,
    gap_of_sums,
    huber,
    relative_residuals,
    soft,
    update_splitting,
)

# Minimum number of rows per column at which passes over blocks are cheap.
TALL = 10


def check_tall(shape: tuple[int, ...], *, owner: str) -> None:
    """Raise unless a table in blocks has many more rows than columns.

    Parameters
    ----------
    shape : tuple of int
        Number of rows and number of columns.
    owner : str
        Name of the class in messages.

    Raises
    ------
    ValueError
        If there are fewer than ten rows for each column.
    """
    n, p = shape
    if n < TALL * p:
        raise ValueError(
            f"{owner}.fit on a Dask array needs at least {TALL} rows for each column, got X of "
            f"shape {(n, p)}; use X.compute() if all rows fit into memory."
        )


class Units(NamedTuple):
    """Columns, centre, scale and missing value that convert rows of a block for the problem."""

    columns: Array
    mean: Array
    scale: Array
    missing: float = np.nan

    def rows(self, block: Block) -> Array:
        """Return the rows in double precision, with NaN for missing cells."""
        X = np.asarray(block.arrays[0])[:, self.columns].astype(np.float64)
        if not np.isnan(self.missing):
            X[X == self.missing] = np.nan
        return (X - self.mean) / self.scale


class Loss(NamedTuple):
    """Slope of Huber's function, and width of its quadratic part."""

    lam: float
    delta: float

    def of(self, residual: Array) -> float:
        """Return the loss of the residuals, except NaN."""
        if np.isinf(self.lam):
            return float(np.nansum(residual**2)) / (2 * self.delta)
        return float(np.nansum(huber(residual, self.lam, self.delta)))


class RowState(NamedTuple):
    """Rows of a block: the dual, W, which is thresholded next, and scores of ``L = scores Vt``."""

    Y: Array
    W: Array
    scores: Array


class Threshold(NamedTuple):
    """Right singular vectors of W, and its thresholded singular values."""

    Vt: Array
    s: Array  # thresholded singular values
    shares: Array  # ratios of the thresholded singular values to the original ones


def norm_of_gram(gram: Array) -> float:
    """Bound the spectral norm of A from above, given ``A'A``, as `spectral_norm` does."""
    top = float(np.linalg.eigvalsh(gram)[-1])
    rounding = 10 * len(gram) * np.finfo(float).eps
    return float(np.sqrt(max(top, 0.0) * (1 + rounding)))


class Grams(NamedTuple):
    """Sums over rows that determine the singular values of ``W + shift Y`` and the norm of Y."""

    WW: Array
    WY: Array
    YY: Array

    def threshold(self, shift: float, level: float) -> Threshold:
        """Reduce the singular values of ``W + shift Y`` by `level`."""
        cross = shift * (self.WY + self.WY.T)
        gram = self.WW + cross + shift**2 * self.YY
        values, Q = np.linalg.eigh(gram)

        # sort the singular values in descending order
        largest_first = Q[:, ::-1]
        s = np.sqrt(np.maximum(values[::-1], 0.0))
        r = int(np.count_nonzero(s > level))
        leading = s[:r]
        reduced = leading - level
        return Threshold(largest_first[:, :r].T, reduced, reduced / leading)

    def norm_of_dual(self) -> float:
        """Bound ``|Y|_2`` from above."""
        return norm_of_gram(self.YY)


class TableSizes(NamedTuple):
    """Sizes of a table, which the first pass needs."""

    shape: tuple[int, int]
    n_observed: int
    absolute: float  # sum of the absolute values of the entries
    norm: float  # root of the sum of squares of the entries


def _sizes_of_block(block: Block, units: Units) -> tuple[int, float, float, Array]:
    """Return the summands of `TableSizes`, and the Gram matrix of the columns."""
    X = units.rows(block)
    filled = np.nan_to_num(X)
    gram = filled.T @ filled
    n_observed = int(np.count_nonzero(~np.isnan(X)))
    return n_observed, float(np.abs(filled).sum()), float(np.trace(gram)), gram


def sizes_of_blocks(blocks: ArrayBlocks, units: Units) -> tuple[TableSizes, float]:
    """Return the sizes of the table and its spectral norm, with zeros in missing cells."""
    n_observed, absolute, squares, gram = blocks.sum(_sizes_of_block, units)
    shape = blocks.shape[0], len(units.columns)
    sizes = TableSizes(shape, n_observed, absolute, float(np.sqrt(squares)))
    return sizes, float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0.0)))


class BlockPursuit(NamedTuple):
    """Factors ``L = scores @ Vt``, with scores in the state of `blocks`, and their quality."""

    blocks: ArrayBlocks
    Vt: Array
    s: Array
    objective: float
    gap: float
    residual: float
    n_iter: int
    converged: bool


class Move(NamedTuple):
    """Parameters of a pass: threshold and shift from the last pass, penalty, and relaxation."""

    threshold: Threshold
    shift: float
    mu: float
    relax: float


def pursue_blocks(
    blocks: ArrayBlocks,
    units: Units,
    sizes: TableSizes,
    loss: Loss,
    *,
    mu: float | None = None,
    schedule: str = "balanced",
    tol: float = 1e-7,
    tol_gap: float = 1e-6,
    max_iter: int = 1000,
    progress: Progress | None = None,
) -> BlockPursuit:
    """Run the passes of `principal_component_pursuit` over blocks of rows.

    If `mu` is None, the stopping rule is the same. Otherwise `mu` is the first penalty of
    completion, which stops when the gap of `completion_gap` is at most `tol_gap`.
    """
    # return zero for a table of zeros
    completes = np.isinf(loss.lam)
    if sizes.norm == 0.0:
        blocks, _ = blocks.step(_start_rows, units, 1.0, loss.lam)
        Vt = np.zeros((0, sizes.shape[1]))
        return BlockPursuit(blocks, Vt, np.zeros(0), 0.0, 0.0, 0.0, 1, True)

    # if L is smaller than the noise, it need not be more accurate than the noise
    noise = SINGLE_ROUNDING * sizes.norm
    if not completes:
        noise = max(noise, loss.delta * float(np.sqrt(min(sizes.shape) / 2)))
    penalty: Any = Penalty(sizes.absolute, sizes.n_observed, schedule)
    if mu is not None:
        penalty = BalancedPenalty(mu)

    # start from L = 0
    blocks, sums = blocks.step(_start_rows, units, penalty.mu, loss.lam)
    grams = Grams(*sums)
    shift = 0.0
    check_at = 1.0
    relax = 1.0
    gap = objective = np.inf

    it = Iterations(max_iter, 0.0, progress)
    for n_iter in it:
        # 1. update L, the dual and W in a pass
        mu = penalty.mu
        threshold = grams.threshold(shift, 1 / mu)
        if n_iter > RELAX_AFTER and not completes:
            relax = RELAXATION
        move = Move(threshold, shift, mu, relax)
        blocks, sums = blocks.step(_move_rows, units, loss, move)
        *gram, squares, fit, product, largest = sums
        grams = Grams(*gram)

        # 2. compute residuals and gap from the sums
        primal, dual = relative_residuals(squares, threshold.s, mu, sizes.norm, noise)
        it.residual = max(primal, dual / DUAL_TOL_RATIO)
        nuclear = float(threshold.s.sum())
        objective = nuclear + fit
        size = float(np.sqrt(squares[2]))
        if completes:
            gap = completion_gap(objective, size, product, grams.norm_of_dual(), loss.delta)
            it.converged = gap <= tol_gap
        elif it.residual <= tol * check_at or n_iter == max_iter:
            kappa = max(1.0, grams.norm_of_dual(), largest.value / loss.lam)
            gap = gap_of_sums(objective, size, product, kappa, loss.delta)
            near = it.residual <= 10 * tol and gap * it.residual <= tol_gap * tol
            it.converged = gap <= tol_gap and (it.residual <= tol or near)
            check_at = 0.3 * it.residual / tol
            penalty.balances = False

        # 3. choose the penalty of the next pass, which first converts W to this penalty
        if not it.converged:
            if completes:
                primal, dual = changes(squares, threshold.s, sizes.norm)
            mu_next = penalty.balance(primal, dual, n_iter)
            shift = 1 / mu_next - 1 / mu

    if not np.isfinite(gap):  # a callback has stopped the passes
        kappa = max(1.0, grams.norm_of_dual(), largest.value / loss.lam)
        gap = gap_of_sums(objective, size, product, kappa, loss.delta)
    reached = objective, gap, it.residual, it.n_iter, it.converged
    return BlockPursuit(blocks, threshold.Vt, threshold.s, *reached)


def changes(squares: Array, s: Array, size: float) -> tuple[float, float]:
    """Return the misfit of the cells and the change of L, which balance the penalty."""
    change = float(np.sqrt(squares[1] + squares[3]))
    misfit = float(np.sqrt(squares[0]))
    length = float(np.linalg.norm(s))
    return misfit / size, change / max(length, TINY)


def terms_of_rows(block: Block, units: Units, loss: Loss, Vt: Array, noise: Array) -> Array:
    """Return L and the gross errors side by side, in units of the table, from the state.

    Errors are S, or residuals beyond the threshold `noise` of each column.
    """
    X = units.rows(block)
    L = block.state.scores @ Vt
    if loss.delta == 0.0:
        errors = soft(X, L, block.state.Y, loss.lam, loss.delta) * units.scale
    else:
        residual = np.where(np.isnan(X), 0.0, (X - L) * units.scale)
        errors = np.where(np.abs(residual) > noise, residual, 0.0)
    return np.hstack([L * units.scale + units.mean, errors])


def _start_rows(block: Block, units: Units, mu: float, lam: float) -> Any:
    filled = np.nan_to_num(units.rows(block))
    W = np.clip(filled, -lam / mu, lam / mu)
    Y = np.zeros_like(W)
    zero = np.zeros((W.shape[1],) * 2)
    scores = np.empty((len(W), 0))
    gram = W.T @ W
    return RowState(Y, W, scores), (gram, zero, zero)


def _move_rows(block: Block, units: Units, loss: Loss, move: Move) -> Any:
    """Threshold W, and update Y and W; return the new state and the sums of the block."""
    # compute L from the right singular vectors of the entire matrix W
    X = units.rows(block)
    threshold = move.threshold
    Y = block.state.Y.copy()  # copied, because earlier states may be read again
    W = block.state.W + move.shift * Y
    scores = (W @ threshold.Vt.T) * threshold.shares
    L = scores @ threshold.Vt
    squares = update_splitting(X, L, Y, W, move.mu, move.mu, loss.lam, loss.delta, move.relax)

    # compute the terms that are added up over all blocks
    grams = W.T @ W, W.T @ Y, Y.T @ Y
    fit = loss.of(X - L)
    product = float(np.nansum(X * Y))
    top = np.abs(Y).max(initial=0.0)
    largest = Largest(float(top))
    sums = (*grams, np.array(squares), fit, product, largest)
    state = RowState(Y, W, scores)
    return state, sums
