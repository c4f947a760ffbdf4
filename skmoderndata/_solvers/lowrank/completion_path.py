"""Completion of a table: choose lam, follow the path of solutions, polish, certify.

The problems themselves, soft-impute and ADMM, are in `completion`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.blocks import entries_at
from skmoderndata._solvers.common.convex_problems import matrix_completion, solve_for_factors
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.lowrank.completion import (
    CompletionResult,
    DenseTable,
    Factors,
    Table,
    Thresholder,
    alternating_least_squares,
    empty_factors,
    exact_completion,
    exact_gap,
    row_penalty,
    soft_completion,
    soft_gap,
    solve_rows,
    top_singular_pair,
)

Array = np.ndarray[Any, np.dtype[Any]]

HIDDEN = 0.1  # fraction of the known cells on which lam is chosen
ENOUGH_CELLS = 30  # fewer known cells than this cannot spare any to choose lam
FALLBACK = 0.1  # fraction of lam_max taken then
PATH_RATIO, PATH_LENGTH = 0.7, 20  # the path goes from 0.7 lam_max down to 8e-4 lam_max


class Completion(NamedTuple):
    """Scores of the rows on the row space `Vt`, and how good the completion is."""

    scores: Array
    s: Array
    Vt: Array
    penalty: Array
    lam: float
    objective: float
    gap: float
    n_iter: int
    converged: bool
    stopped: bool
    path: Array | None = None
    errors: Array | None = None


class CompletionTask(NamedTuple):
    """One fit: the settings that every solve of it shares."""

    cap: int | None
    debias: bool
    tol: float
    max_iter: int
    rng: np.random.RandomState
    progress: Progress | None
    solver: str = "thresholding"

    def threshold(self, table: Table) -> Thresholder:
        """Return the proximal operator of the nuclear norm, with the cap on the rank."""
        return Thresholder(table.shape, self.rng, self.cap)

    def step(
        self,
        table: Table,
        lam: float,
        threshold: Thresholder,
        factors: Factors | None,
        *,
        tol: float | None = None,
        max_iter: int | None = None,
    ) -> CompletionResult:
        """Solve for one `lam` of the path, coarsely unless told otherwise."""
        return soft_completion(
            table,
            lam=lam,
            threshold=threshold,
            rng=self.rng,
            init=factors,
            tol=max(self.tol, 1e-2) if tol is None else tol,
            max_iter=min(self.max_iter, 50) if max_iter is None else max_iter,
            progress=self.progress,
        )

    def descend(self, table: Table, lam: float, lam_max: float) -> CompletionResult:
        """Solve for `lam` by way of halves of `lam_max`, each started from the one before."""
        threshold, factors = self.threshold(table), empty_factors(table)
        n_halves = math.ceil(math.log2(lam_max / lam)) if 0 < lam < lam_max else 0
        for half in range(1, n_halves):
            result = self.step(table, lam_max * 0.5**half, threshold, factors)
            factors = result.factors
            if result.stopped:
                return result
        return self.step(table, lam, threshold, factors, tol=self.tol, max_iter=self.max_iter)

    def soft(self, table: Table, lam: float, lam_max: float) -> Completion:
        """Solve for a given `lam`."""
        if lam >= lam_max * (1 - 1e-6):  # zero solves it, up to the accuracy of lam_max
            nothing = self.step(table, max(2 * lam, 1.0), self.threshold(table), None)
            return self.finish(table, lam, nothing)
        if self.solver == "cvxpy":
            return self.finish(table, lam, self.conic(table, lam))
        result = self.descend(table, lam, lam_max)
        if self.capped(table, result.factors):
            result = result._replace(
                factors=alternating_least_squares(table, result.factors, lam=lam, tol=1e-6)
            )
        return self.finish(table, lam, result)

    def conic(self, table: Table, lam: float) -> CompletionResult:
        """Solve as a semidefinite program, with cvxpy and Clarabel."""
        rows, columns, values = table.cells()
        size = float(np.abs(values).max(initial=0.0)) or 1.0  # its tolerances are absolute
        M, known = np.zeros(table.shape), np.zeros(table.shape, bool)
        M[rows, columns], known[rows, columns] = values / size, True
        stated = matrix_completion(M, known, lam / size)
        found = solve_for_factors(stated, size, "solver='thresholding'")
        factors = Factors(*(a.astype(table.data.dtype) for a in found))
        residual = table.data - table.known(table.lift(factors))
        dual = residual
        if lam == 0:
            multiplier = stated.constraint.dual_value
            at = multiplier[rows, columns] * np.sign((multiplier * M).sum())
            dual = np.zeros_like(table.data)
            dual[known if isinstance(table, DenseTable) else slice(None)] = at
        nuclear = float(factors.s.sum())
        top = top_singular_pair(table.as_matrix(dual), self.rng)[0]
        if lam == 0:
            objective, gap = nuclear, exact_gap(table, residual, dual, nuclear, top=top)
        else:
            objective = 0.5 * float(np.vdot(residual, residual)) + lam * nuclear
            gap = soft_gap(table, residual, nuclear, lam=lam, top=top)
        passes = int(stated.problem.solver_stats.num_iters or 1)
        done = gap <= max(self.tol, 1e-5)
        return CompletionResult(
            factors, residual, dual, objective, gap, passes, done, stopped=False
        )

    def capped(self, table: Table, factors: Factors) -> bool:
        """Whether the cap on the rank binds."""
        return self.cap is not None and factors.s.size == self.cap < min(table.shape)

    def finish(self, table: Table, lam: float, result: CompletionResult) -> Completion:
        """Regress every row on the row space found, as `transform` will do; certify that."""
        factors = result.factors
        s, penalty = self.penalty(table, factors, lam)
        scores = solve_rows(*table.rows(), factors.Vt, penalty)
        objective, gap = result.objective, result.gap
        if not self.debias:
            residual, nuclear = _fit_of(table, scores, factors.Vt)
            objective = 0.5 * float(np.vdot(residual, residual)) + lam * nuclear
            top = top_singular_pair(
                table.as_matrix(residual), self.rng, 0.1 * self.tol, factors.Vt.T
            )[0]
            gap = soft_gap(table, residual, nuclear, lam=lam, top=top)
        ended = result.n_iter, result.converged or gap <= self.tol, result.stopped
        return Completion(scores, s, factors.Vt, penalty, lam, objective, gap, *ended)

    def penalty(self, table: Table, factors: Factors, lam: float) -> tuple[Array, Array]:
        """Singular values and the ridge penalty of each score."""
        if not self.debias or factors.s.size == 0:
            return factors.s, row_penalty(lam, factors.s)
        d = np.maximum(_refit_singular_values(table, factors), factors.s)
        return d, (lam / d.astype(np.float64)) ** 2

    def exact(self, table: Table, lam_max: float, *, polish: bool) -> Completion:
        """Solve for ``lam = 0``: the known cells are met."""
        if lam_max > 0 and self.cap is not None and self.cap < min(table.shape):
            return self.exact_capped(table, lam_max)
        if table.full:
            U, s, Vt = linalg.svd(table.data, full_matrices=False, check_finite=False)
            keep = s > s[0] * max(table.shape) * np.finfo(s.dtype).eps
            U, s, Vt = U[:, keep], s[keep], Vt[keep]
            none = np.zeros(s.size)
            return Completion(U * s, s, Vt, none, 0.0, float(s.sum()), 0.0, 1, True, False)
        if self.solver == "cvxpy":
            result = self.conic(table, 0.0)
        else:
            result = exact_completion(
                table,
                threshold=self.threshold(table),
                rng=self.rng,
                tol=self.tol,
                max_iter=self.max_iter,
                progress=self.progress,
            )
        top = top_singular_pair(
            table.as_matrix(result.dual), self.rng, 0.1 * self.tol, result.factors.Vt.T
        )[0]
        solution = self.exact_finish(table, result, result.factors, top)
        s, (n, p) = result.factors.s, table.shape
        goal = float(np.vdot(table.data, table.data)) * 1e-18
        # first without the singular values that only the tolerance of ADMM explains
        ranks = {int(np.count_nonzero(s > 1e-5 * s.max(initial=0.0))), int(s.size)}
        for r in sorted(ranks) if polish else ():
            if not 0 < r * (n + p - r) < table.n_known:
                continue
            start = result.factors.leading(r)
            factors = alternating_least_squares(table, start, lam=0.0, target=goal * 1e-9)
            polished = self.exact_finish(table, result, factors, top)
            residual = _fit_of(table, polished.scores, polished.Vt)[0]
            if np.vdot(residual, residual) <= goal and polished.gap <= max(solution.gap, self.tol):
                return polished
        return solution

    def exact_finish(
        self, table: Table, result: CompletionResult, factors: Factors, top: float
    ) -> Completion:
        """Regress every row on the row space without penalty; certify that."""
        none = np.zeros(factors.s.size)
        scores = solve_rows(*table.rows(), factors.Vt, none, free_weight(factors.s))
        residual, nuclear = _fit_of(table, scores, factors.Vt)
        gap = exact_gap(table, residual, result.dual, nuclear, top=top)
        ended = result.n_iter, result.converged or gap <= self.tol, result.stopped
        return Completion(scores, factors.s, factors.Vt, none, 0.0, nuclear, gap, *ended)

    def exact_capped(self, table: Table, lam_max: float) -> Completion:
        """Least squares at the rank `cap`, started from the soft solution for a small `lam`."""
        result = self.descend(table, 1e-3 * lam_max, lam_max)
        factors = alternating_least_squares(table, result.factors, lam=0.0, max_iter=100)
        return self.exact_finish(table, result, factors, 1.0)._replace(
            gap=math.inf, converged=True
        )

    def search(self, table: Table, lam_max: float) -> Completion:
        """Choose lam on hidden cells, then solve with it."""
        if lam_max == 0:
            return self.soft(table, 0.0, lam_max)
        if table.n_known < ENOUGH_CELLS:
            return self.soft(table, FALLBACK * lam_max, lam_max)
        rows, columns, values = table.cells()
        n_hidden = round(HIDDEN * table.n_known)
        n_repeats = min(5, math.ceil(2000 / n_hidden))
        path = lam_max * PATH_RATIO ** np.arange(1, PATH_LENGTH + 1)
        errors = np.zeros(path.size)
        for _ in range(n_repeats):
            keep = np.ones(table.n_known, dtype=bool)
            keep[self.rng.permutation(table.n_known)[:n_hidden]] = False
            hidden = rows[~keep], columns[~keep], values[~keep]
            squares, stopped = self.validate(table.part(keep), path, hidden)
            errors += squares
            if stopped is not None:
                return self.finish(table, path[0], stopped)
        # the spectral norm of noise grows as the root of the number of known cells
        lam = _smooth_argmin(path, errors) / math.sqrt(1 - HIDDEN)
        tried = np.isfinite(errors)
        errors = np.sqrt(errors[tried] / (n_repeats * n_hidden))
        return self.soft(table, lam, lam_max)._replace(path=path[tried], errors=errors)

    def validate(
        self, table: Table, path: Array, hidden: tuple[Array, Array, Array]
    ) -> tuple[Array, CompletionResult | None]:
        """Squared errors on hidden cells along the path, infinite where it was not followed."""
        rows, columns, values = hidden
        threshold, factors = self.threshold(table), empty_factors(table)
        errors = np.full(path.size, np.inf)
        null = float(np.vdot(values, values))
        stale, last_rank, patience = 0, 0, 1 if values.size > 10_000 else 2
        for k, lam in enumerate(path):
            result = self.step(table, lam, threshold, factors)
            factors = result.factors
            if result.stopped:
                return errors, result
            left = factors.U * factors.s
            if self.debias:
                left = solve_rows(*table.rows(), factors.Vt, self.penalty(table, factors, lam)[1])
            errors[k] = ((fitted_cells(left, factors.Vt, rows, columns) - values) ** 2).sum()
            # Beyond the minimum noise enters: the rank grows fast, and the cost with it. End
            # there, but not on a plateau at constant rank, below which a weaker component waits.
            best, rank = errors[:k].min(initial=null), factors.s.size
            if errors[k] <= 0.98 * best:
                stale = 0
            elif rank > 1.2 * last_rank:
                stale += 1
            last_rank = rank
            if (stale >= patience and best < 0.95 * null) or errors[k] <= 1e-12 * null:
                break
        return errors, None


def _smooth_argmin(path: Array, errors: Array) -> float:
    """Least point of the parabola through the smallest error and its neighbours, in log lam."""
    k = int(np.argmin(errors))
    if k == 0 or k == errors.size - 1 or not np.isfinite(errors[k + 1]):
        return float(path[k])
    left, middle, right = errors[k - 1 : k + 2]
    curvature = left - 2 * middle + right
    shift = 0.5 * (left - right) / curvature if curvature > 0 else 0.0
    return float(path[k] * (path[k + 1] / path[k]) ** shift)


def _fit_of(table: Table, scores: Array, Vt: Array) -> tuple[Array, float]:
    """Residual on the known cells, and nuclear norm, of ``scores @ Vt`` with orthonormal Vt."""
    dtype = table.data.dtype
    one = np.ones(len(Vt), dtype=dtype)
    lifted = table.lift(Factors(scores.astype(dtype), one, Vt))
    return table.data - table.known(lifted), float(linalg.svdvals(scores).sum())


def _refit_singular_values(table: Table, factors: Factors) -> Array:
    """Least squares on the known cells for the diagonal between fixed singular vectors."""
    rows, columns, values = table.cells()
    r = factors.s.size
    G, g = np.zeros((r, r)), np.zeros(r)
    block = max(1, 2**22 // r)  # rows of the design matrix held at a time
    for start in range(0, values.size, block):
        part = slice(start, start + block)
        D = (factors.U[rows[part]] * factors.Vt.T[columns[part]]).astype(np.float64)
        G += D.T @ D
        g += D.T @ values[part]
    return linalg.lstsq(G, g, check_finite=False)[0]


def fitted_cells(left: Array, Vt: Array, rows: Array, columns: Array) -> Array:
    """Entries of ``left @ Vt`` at given cells."""
    out = np.empty(rows.size, dtype=np.float64)
    right = np.ascontiguousarray(Vt.T, dtype=np.float64)
    entries_at(rows, columns, np.ascontiguousarray(left, dtype=np.float64), right, out)
    return out


def free_weight(s: Array) -> Array:
    """Weights of the scores where, without penalty, the known cells leave a choice."""
    out: Array = np.sqrt(np.asarray(s, dtype=np.float64) / s.max(initial=1e-300))
    return out
