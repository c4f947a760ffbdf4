"""Completion of a table: choose lam, follow the path of solutions, polish, certify.

`completion` has the problem and its solver.

Differs from the paper (Mazumder et al. 2010): hidden cells choose lam, and singular values are
refitted to undo part of the shrinkage.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.blocks import BLOCK_BYTES, row_blocks
from skmoderndata._solvers.common.convex_problems import matrix_completion, solve_for_factors
from skmoderndata._solvers.common.iterate import WatchedProgress
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    INNER_SHARE,
    RESULT_ROUNDING,
    TINY,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.completion import (
    CompletionResult,
    Factors,
    Table,
    alternating_least_squares,
    certificate,
    complete,
    entries,
    norm,
    row_penalty,
    solve_rows,
    zero_is_solution,
)
from skmoderndata._solvers.lowrank.quantiles import SETTLED

# Fraction of the known cells that are hidden in order to choose lam.
HIDDEN = 0.1

# Minimum number of known cells at which some of them are hidden in order to choose lam.
ENOUGH_CELLS = 30

# Fraction of lam_max that is used if there are too few known cells to hide any of them.
FALLBACK = 0.1

# Ratio of successive values of lam on the path, which ends at 8e-4 lam_max.
PATH_RATIO = 0.7

# Number of steps of the path.
PATH_LENGTH = 20

# Tolerance of the duality gap for the intermediate problems of a path.
PATH_TOL = 1e-2

# Maximum number of passes for each intermediate problem.
PATH_PASSES = 50

# Smallest ratio of the ranks of neighbouring solutions at which the rank counts as growing fast.
RANK_GROWTH = 1.2

# Number of hidden cells above which the path ends the first time their error no longer falls.
CELLS_OF_CERTAIN_ERROR = 10_000

# Largest error on hidden cells that counts as a minimum, relative to the error of a table of
# zeros.
USEFUL = 0.95


class Completion(NamedTuple):
    """Scores of the rows on the row space `Vt`, None for blocks, and their quality."""

    scores: Any
    s: Array
    Vt: Array
    penalty: Array
    lam: float
    objective: float
    gap: float
    n_iter: int
    converged: bool
    path: Array | None = None
    errors: Array | None = None


class CompletionTask(NamedTuple):
    """A fit, with the settings that all its solutions share."""

    max_rank: int | None
    debias: bool
    tol: float
    max_iter: int
    rng: np.random.RandomState
    progress: WatchedProgress
    solver: str = "thresholding"
    polish: bool = True

    def solve(self, table: Table, lam: float, lam_max: float) -> Completion:
        """Solve for a given `lam`, zero included."""
        zero = table.empty_factors()
        if zero_is_solution(lam, lam_max):
            return self.finish(table, lam, self.certified(table, lam, zero, table.data, 1))

        if self.solver == "cvxpy":
            return self.finish(table, lam, self.conic(table, lam))

        # weights have no effect if the known cells must be fitted exactly
        if lam == 0 and self.max_rank is None:
            table = Table(table.X, table.dense)

        # use a penalty or a limit on the rank; with a limit alone, start from a small penalty and
        # end with least squares
        if lam > 0 or self.max_rank is not None:
            result = self.descend(table, lam or 1e-3 * lam_max, lam_max)
            if lam > 0:
                return self.finish(table, lam, result)
            factors = alternating_least_squares(table, result.factors, lam=0.0, max_iter=100)
            solution = self.finish(table, lam, result._replace(factors=factors))
            return solution._replace(gap=math.inf, converged=True)

        # with neither a penalty nor a limit, return the table if it is complete, and otherwise the
        # matrix of least nuclear norm that has the known cells
        if table.full:
            U, s, Vt = linalg.svd(table.matrix(table.data), full_matrices=False)
            factors = Factors(U, s, Vt).leading(
                _rank(s, max(table.shape) * np.finfo(s.dtype).eps)
            )
            dual = table.known(factors._replace(s=np.ones_like(factors.s)))
            return self.finish(table, lam, self.certified(table, lam, factors, dual, 1))
        return self.polished(table, self.step(table, 0.0, None, self.tol, self.max_iter))

    def step(
        self,
        table: Table,
        lam: float,
        init: CompletionResult | None,
        tol: float,
        max_iter: int,
    ) -> CompletionResult:
        """Solve for one `lam`, starting from the result for another."""
        tol = max(self.tol, tol)
        result = complete(
            table,
            lam=lam,
            rng=self.rng,
            max_rank=self.max_rank,
            init=init,
            tol=tol,
            max_iter=min(self.max_iter, max_iter),
            progress=self.progress,
        )

        # if the limit on the rank binds, continue with least squares at this rank
        if result.factors.s.size != self.max_rank:
            return result
        factors = alternating_least_squares(
            table, result.factors, lam=lam, tol=INNER_SHARE * tol
        )
        dual = table.weighted(table.data - table.known(factors))
        refined = self.certified(table, lam, factors, dual, result.n_iter)
        return refined._replace(dual=dual / lam, converged=result.converged)

    def descend(self, table: Table, lam: float, lam_max: float) -> CompletionResult:
        """Solve for `lam_max` halved again and again, down to `lam`, with warm starts."""
        result = None
        for half in range(1, math.ceil(math.log2(lam_max / lam))):
            result = self.step(table, lam_max * 0.5**half, result, PATH_TOL, PATH_PASSES)
            if self.progress.stopped:
                return result
        return self.step(table, lam, result, self.tol, self.max_iter)

    def conic(self, table: Table, lam: float) -> CompletionResult:
        """Solve as a semidefinite program, with cvxpy and Clarabel."""
        size = float(np.abs(table.data).max())  # the tolerances of Clarabel are absolute
        cells = table.rows, table.columns
        M = np.zeros(table.shape)
        observed = np.zeros(table.shape, bool)
        M[cells] = table.data / size
        observed[cells] = True
        weights = None
        if table.weights is not None and lam > 0:
            weights = np.zeros(table.shape)
            weights[cells] = table.weights
        stated = matrix_completion(M, observed, lam / size, weights)
        solved = solve_for_factors(stated, size, "solver='thresholding'")
        factors = Factors(*(a.astype(table.data.dtype) for a in solved))
        dual = table.weighted(table.data - table.known(factors))
        if lam == 0:
            multiplier = stated.constraint.dual_value[cells]
            dual = multiplier * np.sign(multiplier @ table.data)
        passes = int(stated.problem.solver_stats.num_iters or 1)
        result = self.certified(table, lam, factors, dual, passes)
        return result._replace(converged=result.gap <= max(self.tol, 1e-5))

    def certified(
        self, table: Table, lam: float, factors: Factors, dual: Array, n_iter: int
    ) -> CompletionResult:
        """Return the result with objective and gap from the certificate."""
        residual = table.data - table.known(factors)
        nuclear = float(factors.s.sum())
        objective, gap, _ = certificate(table, residual, dual, nuclear, lam)
        return CompletionResult(factors, dual, objective, gap, n_iter, gap <= self.tol)

    def finish(self, table: Table, lam: float, result: CompletionResult) -> Completion:
        """Regress every row on the row space, as `transform` will do, and certify the result."""
        factors = result.factors
        objective = result.objective
        gap = result.gap
        s, penalty = self.penalty(table, factors, lam)
        scores = solve_rows(table.X, factors.Vt, penalty, free_weight(s), table.weights)
        if lam == 0 or not self.debias:
            residual = table.data - entries(scores, factors.Vt, table.rows, table.columns)
            dual = table.weighted(residual) if lam else result.dual
            nuclear = float(linalg.svdvals(scores).sum())
            objective, gap, _ = certificate(
                table, residual, dual, nuclear, lam, INNER_SHARE * self.tol
            )
        ended = result.n_iter, result.converged or gap <= self.tol
        return Completion(scores, s, factors.Vt, penalty, lam, objective, gap, *ended)

    def penalty(self, table: Table, factors: Factors, lam: float) -> tuple[Array, Array]:
        """Return the singular values and the ridge penalty of each score.

        A common weight c of all cells reduces the shrinkage of singular values from lam to
        ``lam / c``. Therefore the penalty is divided by the mean weight.
        """
        if not self.debias or lam == 0 or factors.s.size == 0:
            return factors.s, row_penalty(lam, factors.s)
        d = np.maximum(_refit_singular_values(table, factors), factors.s)
        return d, refit_penalty(lam, d) / table.mean_weight()

    def polished(self, table: Table, result: CompletionResult) -> Completion:
        """Refine a solution for ``lam = 0`` at its rank, if the result is no less optimal."""
        solution = self.finish(table, 0.0, result)
        factors = result.factors
        (n, p) = table.shape
        goal = RESULT_ROUNDING * norm(table.data)
        # first try without the singular values that are due only to the tolerance of ADMM
        for r in sorted({_rank(factors.s, self.tol), factors.s.size}) if self.polish else ():
            if not 0 < r * (n + p - r) < table.data.size:
                continue
            refined = alternating_least_squares(
                table, factors.leading(r), lam=0.0, target=RESULT_ROUNDING * goal**2
            )
            polished = self.finish(table, 0.0, result._replace(factors=refined))
            fit = entries(polished.scores, polished.Vt, table.rows, table.columns)
            if norm(table.data - fit) <= goal and polished.gap <= max(solution.gap, self.tol):
                return polished
        return solution

    def search(self, table: Table, lam_max: float) -> Completion:
        """Choose lam by hidden cells, then solve with it."""
        n_known = table.data.size
        if lam_max == 0 or n_known < ENOUGH_CELLS:
            return self.solve(table, FALLBACK * lam_max, lam_max)
        n_hidden = round(HIDDEN * n_known)
        n_repeats = min(5, math.ceil(2000 / n_hidden))
        weights = np.ones(n_known) if table.weights is None else table.weights
        total = 0.0  # sum of the weights of the hidden cells over all repeats
        path = lam_max * PATH_RATIO ** np.arange(1, PATH_LENGTH + 1)
        errors = np.zeros(path.size)
        for _ in range(n_repeats):
            hidden = self.rng.permutation(n_known)[:n_hidden]
            errors += self.validate(table, path, hidden)
            total += float(weights[hidden].sum())
            if self.progress.stopped:
                return self.solve(table, path[0], lam_max)
        # convert lam to all known cells: the spectral norm of noise grows as the square root of
        # their number
        lam = _smooth_argmin(path, errors) / math.sqrt(1 - HIDDEN)
        tried = np.isfinite(errors)
        errors = np.sqrt(errors[tried] / total)
        return self.solve(table, lam, lam_max)._replace(path=path[tried], errors=errors)

    def validate(self, table: Table, path: Array, hidden: Array) -> Array:
        """Return squared errors on hidden cells along the path, infinite beyond its end."""
        rows, columns, values = (a[hidden] for a in (table.rows, table.columns, table.data))
        root = 1.0 if table.weights is None else np.sqrt(table.weights[hidden])
        keep = np.ones(table.data.size, dtype=bool)
        keep[hidden] = False
        training = table.part(keep)
        errors = np.full(path.size, np.inf)
        result = None

        null = norm(root * values) ** 2  # error of a table of zeros
        stale = 0
        last_rank = 0
        patience = 1 if values.size > CELLS_OF_CERTAIN_ERROR else 2

        for k, lam in enumerate(path):
            result = self.step(training, lam, result, PATH_TOL, PATH_PASSES)
            if self.progress.stopped:
                return errors

            # predict the hidden cells; with `debias`, undo the shrinkage, as `transform` does
            factors = result.factors
            scores = factors.U * factors.s
            if self.debias:
                penalty = self.penalty(training, factors, lam)[1]
                ones = np.ones(factors.s.size)
                scores = solve_rows(training.X, factors.Vt, penalty, ones, training.weights)
            errors[k] = norm(root * (entries(scores, factors.Vt, rows, columns) - values)) ** 2

            # Beyond the minimum, the solution fits noise, its rank grows fast, and so does the
            # time. Stop there, but not on a plateau of constant rank, because a weaker component
            # may follow.
            best = errors[:k].min(initial=null)
            rank = factors.s.size
            if errors[k] <= SETTLED * best:
                stale = 0
            elif rank > RANK_GROWTH * last_rank:
                stale += 1
            last_rank = rank
            is_past_minimum = stale >= patience and best < USEFUL * null
            if is_past_minimum or errors[k] <= ACCUMULATED_ROUNDING * null:
                break
        return errors


def _smooth_argmin(path: Array, errors: Array) -> float:
    """Minimise the parabola in log lam through the smallest error and its neighbours."""
    k = int(np.argmin(errors))
    if k == 0 or k == errors.size - 1 or not np.isfinite(errors[k + 1]):
        return float(path[k])
    before, least, after = errors[k - 1 : k + 2]
    curvature = before - 2 * least + after
    shift = 0.5 * (before - after) / curvature if curvature > 0 else 0.0
    return float(path[k] * (path[k + 1] / path[k]) ** shift)


def _rank(s: Array, fraction: float) -> int:
    return int(np.count_nonzero(s > fraction * s.max(initial=0.0)))


def _refit_singular_values(table: Table, factors: Factors) -> Array:
    """Fit singular values to the known cells by least squares, with fixed singular vectors."""
    return solve_for_diagonal(*diagonal_equations(table, factors))


def diagonal_equations(table: Table, factors: Factors) -> tuple[Array, Array]:
    """Return the normal equations of the singular values, which add up over rows."""
    rows = table.rows
    columns = table.columns
    values = table.data
    r = factors.s.size
    G = np.zeros((r, r))
    g = np.zeros(r)
    for cells in row_blocks(values.size, 8 * r, limit=BLOCK_BYTES):
        D = (factors.U[rows[cells]] * factors.Vt.T[columns[cells]]).astype(np.float64)
        weighted = D if table.weights is None else D * table.weights[cells, None]
        G += weighted.T @ D
        g += weighted.T @ values[cells]
    return G, g


def solve_for_diagonal(G: Array, g: Array) -> Array:
    """Solve the equations of `diagonal_equations`."""
    d: Array = linalg.lstsq(G, g, check_finite=False)[0]
    return d


def refit_penalty(lam: float, d: Array) -> Array:
    """Return the ridge penalty on each score that shrinks it by ``d^2 / (d^2 + lam^2)``."""
    return (lam / d.astype(np.float64)) ** 2


def free_weight(s: Array) -> Array:
    """Return weights of the scores for rows whose known cells do not determine them."""
    return np.sqrt(np.asarray(s, dtype=np.float64) / s.max(initial=TINY))
