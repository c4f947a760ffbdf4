"""Completion of a table in blocks: passes, refit of singular values, and certificate."""

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.blocks import ArrayBlocks, Block
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.completion import (
    FIRST_PENALTY,
    Factors,
    Table,
    completion_gap,
    row_penalty,
    solve_rows,
    zero_is_solution,
)
from skmoderndata._solvers.lowrank.completion_path import (
    Completion,
    diagonal_equations,
    refit_penalty,
    solve_for_diagonal,
)
from skmoderndata._solvers.lowrank.pursuit_blocks import (
    BlockPursuit,
    Loss,
    TableSizes,
    Units,
    norm_of_gram,
    pursue_blocks,
)


def complete_blocks(
    blocks: ArrayBlocks,
    units: Units,
    sizes: TableSizes,
    lam: float,
    lam_max: float,
    *,
    debias: bool,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> Completion:
    """Solve ``min 1/2 sum (M - L)^2 + lam |L|_*`` for a positive `lam`, as `CompletionTask` does.

    The scores of the rows are not stored; regressions on the row space compute them.
    """
    if zero_is_solution(lam, lam_max):
        return _zero(sizes, lam, lam_max)

    # solve the convex problem
    loss = Loss(np.inf, lam)
    mu = FIRST_PENALTY / lam
    result = pursue_blocks(
        blocks,
        units,
        sizes,
        loss,
        mu=mu,
        tol_gap=tol,
        max_iter=max_iter,
        progress=progress,
    )

    # refit the singular values, with the same singular vectors
    if debias:
        equations = result.blocks.sum(_diagonal_of_block, units, result.s, result.Vt)
        d = np.maximum(solve_for_diagonal(*equations), result.s)
        return _completion(result, lam, d, refit_penalty(lam, d))

    # certify the regressions whose scores `transform` returns
    penalty = row_penalty(lam, result.s)
    sums = result.blocks.sum(_regress_block, units, result.Vt, penalty)
    scores, residuals, misfit, product = sums
    nuclear = float(np.sqrt(np.maximum(np.linalg.eigvalsh(scores), 0.0)).sum())
    primal = nuclear + 0.5 * misfit / lam
    size = float(np.sqrt(misfit)) / lam
    gap = completion_gap(primal, size, product / lam, norm_of_gram(residuals) / lam, lam)
    certified = result._replace(objective=primal, gap=gap)
    certified = certified._replace(converged=result.converged or gap <= tol)
    return _completion(certified, lam, result.s, penalty)


def _completion(result: BlockPursuit, lam: float, s: Array, penalty: Array) -> Completion:
    reached = lam * result.objective, result.gap, result.n_iter, result.converged
    return Completion(None, s, result.Vt, penalty, lam, *reached)


def _zero(sizes: TableSizes, lam: float, lam_max: float) -> Completion:
    nothing = np.zeros(0)
    Vt = np.zeros((0, sizes.shape[1]))
    gap = 0.0
    if sizes.norm > 0:
        primal = 0.5 * sizes.norm**2 / lam
        size = sizes.norm
        gap = completion_gap(primal, size, size**2, lam_max, lam)
    return Completion(None, nothing, Vt, nothing, lam, 0.5 * sizes.norm**2, gap, 1, True)


def _table(X: Array) -> Table:
    observed = ~np.isnan(X)
    cells = X[observed], np.nonzero(observed)
    return Table(sparse.csr_array(cells, shape=X.shape), True)


def _diagonal_of_block(block: Block, units: Units, s: Array, Vt: Array) -> tuple[Array, Array]:
    factors = Factors(block.state.scores / s, s, Vt)
    return diagonal_equations(_table(units.rows(block)), factors)


def _regress_block(
    block: Block, units: Units, Vt: Array, penalty: Array
) -> tuple[Array, Array, float, float]:
    """Regress the rows; return Gram matrices of scores and residuals, squares and products."""
    X = units.rows(block)
    scores = solve_rows(_table(X).X, Vt, penalty, np.ones_like(penalty))
    residual = np.nan_to_num(X - scores @ Vt)
    grams = scores.T @ scores, residual.T @ residual
    squares = (residual**2).sum()
    product = np.nansum(residual * X)
    return *grams, float(squares), float(product)
