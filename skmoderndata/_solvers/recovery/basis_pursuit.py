"""Basis pursuit: the representation of minimal l1 norm, exactly or within a bound on the noise.

The lasso path ends in it (`homotopy`); if equations have no sparse solution, `interior_point` is
faster. Support and signs at the end of either method determine the coefficients and the dual
variable by two triangular solves, and the duality gap shows whether they are right.

Differs from the paper (Chen, Donoho and Saunders 1998), which solves the linear program: the lasso
path comes first, and every answer is an exact vertex with its gap.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common import convex_problems
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    RESULT_ROUNDING,
    ROUNDING,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.homotopy import follow_path
from skmoderndata._solvers.recovery.interior_point import interior_point
from skmoderndata._solvers.recovery.optimality import (
    column_norms,
    exact_segment,
    first_of_repeated,
    l1_gap,
    largest_slope,
    quick_segment,
)


class BasisPursuitResult(NamedTuple):
    """Coefficients (k,), dual variable (n,), and their certificate.

    `gap` is relative to the l1 norm; `route` names the solver of the coefficients: "path",
    "interior", "simplex", "cvxpy" or "zero". `n_iter` counts factorisations.
    """

    coef: Array
    dual: Array
    residual: float
    gap: float
    n_iter: int
    route: str


class Pursuit(NamedTuple):
    """The problem ``min |a|_1  s.t.  |y - A a|_2 <= bound`` with y of norm 1.

    With `positive`, it includes ``a >= 0``.
    """

    A: Array
    y: Array
    bound: float
    positive: bool

    def judge(self, coef: Array, dual: Array, route: str) -> BasisPursuitResult:
        gap = pursuit_gap(self.A, self.y, coef, dual, bound=self.bound, positive=self.positive)
        residual = float(linalg.norm(self.y - self.A @ coef))
        return BasisPursuitResult(coef, dual, residual, gap, 1, route)

    def solution(self, support: Array, signs: Array) -> BasisPursuitResult | None:
        """Solve the problem for a support and signs; return None without a solution."""
        best: BasisPursuitResult | None = None
        for make in (quick_segment, exact_segment):
            segment = make(self.A, self.y, support, signs)
            end = None if segment is None else segment.end(self.A, self.bound, self.positive)
            if end is not None:
                best = self.better(best, self.judge(*end, "path"))
            if best is not None and self.accepts(best, ACCUMULATED_ROUNDING):
                break
        return best

    def dual_of_residual(self, coef: Array) -> Array:
        """Return the multiple of the residual on the boundary of the dual constraint."""
        r = self.y - self.A @ coef
        top = largest_slope(self.A.T @ r, self.positive)
        return np.asarray(r / top if top > 0 else r)

    def accepts(self, result: BasisPursuitResult, tol: float) -> bool:
        return result.gap <= tol and result.residual <= self.bound + tol

    def better(
        self, first: BasisPursuitResult | None, second: BasisPursuitResult | None
    ) -> BasisPursuitResult | None:
        """Return the result that is nearer to a certified solution."""
        if first is None or second is None:
            return second if first is None else first
        return min(first, second, key=self.distance)

    def distance(self, result: BasisPursuitResult) -> float:
        """Return the sum of the gap and the violation of the bound."""
        return result.gap + relative_gap(result.residual, self.bound, unit=1.0)


def basis_pursuit(
    A: Array,
    y: Array,
    *,
    bound: float = 0.0,
    positive: bool = False,
    tol: float = 1e-8,
    solver: str = "path",
    progress: Progress | None = None,
) -> BasisPursuitResult | None:
    """Solve ``min |a|_1  s.t.  |y - A a|_2 <= bound``; ``a >= 0`` with `positive`.

    Parameters
    ----------
    A : array of shape (n, k)
        Matrix; neither its columns nor the matrix need scaling.
    y : array of shape (n,)
    bound : float
        Bound on the residual; 0 means ``A a = y``.
    tol : float
        Largest accepted duality gap, relative, and residual relative to the norm of `y`.
    solver : {"path", "path only", "interior", "simplex", "cvxpy"}
        "path" is the lasso path with two triangular solves at its end. If equations have no sparse
        solution, "interior" follows, the interior point method and the vertex next to its end; if
        the answer is still not certified to `tol`, "simplex" (cvxpy for a positive bound).
        "simplex" is HiGHS on the linear program of the noise-free case; "cvxpy" states the
        problem. "path only" returns None if the path does not certify the answer.

    Returns
    -------
    BasisPursuitResult or None
        None if no coefficients satisfy the constraint.
    """
    # use |y| as the unit; if y is within the bound, the solution is zero
    size = float(linalg.norm(y))
    if size <= bound:
        n, k = A.shape
        return BasisPursuitResult(np.zeros(k), np.zeros(n), size, 0.0, 0, "zero")
    # the bound must hold for the norm as computed, including its rounding errors
    margin = min(ROUNDING * size / bound, 1e-3) if bound > 0 else 0.0
    relative_bound = bound / size * (1 - margin)
    p = Pursuit(A, y / size, relative_bound, positive)

    # return the first certified candidate, or the best one if none is certified
    best: BasisPursuitResult | None = None
    accepted = False
    if progress is not None:
        progress.begin()
    for candidate in _candidates(p, solver):
        best = p.better(best, candidate)
        accepted = best is not None and p.accepts(best, tol)
        if accepted:
            break
    if progress is not None:
        progress.end()

    if best is None or (solver == "path only" and not accepted):
        return None
    return in_units(best, A, size, positive)


def _candidates(p: Pursuit, solver: str) -> Iterator[BasisPursuitResult | None]:
    """Yield the solver's result, then results of other solvers while none is certified."""
    # try the requested solver
    broken_off = None
    if solver == "cvxpy":
        yield _settle(p, _stated(p)) if p.bound > 0 else _stated(p)
    if solver == "simplex":
        yield _simplex(p)
    if solver != "interior":
        broken_off = _follow(p)
        yield broken_off
    if solver == "path only":
        return

    # for equations, try the interior point method, then an exact simplex step
    if p.bound == 0:
        yield _interior(p)
        yield _simplex(p)
        return

    # with noise and a feasible bound, the solution lies on a segment of the path
    near = nearest(p.A, p.y[:, None], positive=p.positive)[:, 0]
    distance = float(linalg.norm(p.y - near))
    if distance <= p.bound * (1 + RESULT_ROUNDING):
        # the right segment is near the one at which the path broke off, or near the end of the
        # path
        yield _settle(p, broken_off)
        equations = p._replace(y=near, bound=0.0)
        yield _settle(p, _interior(equations))
        with suppress(ImportError):  # without cvxpy, return the best of the other results
            yield _settle(p, _stated(p))


class MatrixPursuit:
    """Basis pursuit of signals that share a matrix.

    Without a bound (None), infeasible equations are replaced by the nearest feasible ones.
    """

    def __init__(
        self,
        A: Array,
        *,
        bound: float | None,
        positive: bool,
        tol: float,
        solver: str = "path",
    ) -> None:
        self.A = A
        self.bound = bound
        self.positive = positive
        self.tol = tol
        self.solver = solver

    @cached_property
    def range(self) -> Array | None:
        """Orthonormal basis of the range of the matrix; None if it is the entire space."""
        return range_of(self.A)

    def solve(self, y: Array, progress: Progress | None = None) -> BasisPursuitResult | None:
        """Return coefficients and dual variable; None if the bound cannot be met."""
        A = self.A
        positive = self.positive
        solver = self.solver
        form: dict[str, Any] = {"positive": positive, "tol": self.tol, "progress": progress}
        if self.bound is not None:
            return basis_pursuit(A, y, bound=self.bound, solver=solver, **form)

        # follow the path if there are more columns than rows
        if solver == "path" and A.shape[0] < A.shape[1]:
            result = basis_pursuit(A, y, solver="path only", **form)
            if result is not None:
                return result
            solver = "interior" if self.range is None else solver

        # replace infeasible equations by the nearest feasible ones
        near = y
        if self.range is not None:
            near = self.range @ (self.range.T @ y)
        result = basis_pursuit(A, near, solver=solver, **form)
        limit = self.tol * float(linalg.norm(near))
        if positive and (result is None or result.residual > limit):
            near = nearest(A, y[:, None], positive=True)[:, 0]
            result = basis_pursuit(A, near, solver=self.solver, **form)
        return result


def in_units(
    result: BasisPursuitResult, A: Array, size: float, positive: bool
) -> BasisPursuitResult:
    """Undo ``y / size``, and scale the dual variable to be feasible."""
    coef = result.coef * size
    dual = feasible_dual(A, result.dual, positive=positive)
    return result._replace(coef=coef, dual=dual, residual=result.residual * size)


def feasible_dual(A: Array, dual: Array, *, positive: bool = False) -> Array:
    """Return a multiple of `dual` with ``|A'v|_inf <= 1``, or ``A'v <= 1``, in its precision."""
    step = float(np.finfo(dual.dtype).eps)
    for _ in range(20):
        top = largest_slope(A.T @ dual, positive)
        if top <= 1:
            break
        dual = (dual / (top * (1 + step))).astype(dual.dtype)
        step *= 2
    return dual


def pursuit_gap(
    A: Array, y: Array, coef: Array, dual: Array, *, bound: float = 0.0, positive: bool = False
) -> float:
    """Return the `l1_gap` after scaling the dual variable to be feasible."""
    feasible = feasible_dual(A, dual, positive=positive)
    return l1_gap(y, coef, feasible, bound)


def range_of(A: Array) -> Array | None:
    """Return an orthonormal basis of the range of A; None if it is the entire space."""
    B = A / column_norms(A)
    if _has_full_row_rank(B):
        return None
    U, s, _ = linalg.svd(B, full_matrices=False, check_finite=False)
    rounding = s.max(initial=0.0) * max(A.shape) * EPS
    U = U[:, s > rounding]
    return U if U.shape[1] < len(A) else None


def nearest(A: Array, Y: Array, *, positive: bool = False) -> Array:
    """Return the combinations of columns of A that are nearest to the columns of Y."""
    if positive:
        from scipy.optimize import nnls

        B = A / column_norms(A)
        norms = column_norms(Y)
        fits = [B @ nnls(B, y)[0] for y in (Y / norms).T]
        return np.column_stack(fits) * norms
    U = range_of(A)
    return Y if U is None else U @ (U.T @ Y)


def _has_full_row_rank(B: Array) -> bool:
    """Return whether the rows are clearly independent, in a tenth of the time of an SVD."""
    if B.shape[0] > B.shape[1]:
        return False
    try:
        factor = linalg.cholesky(B @ B.T, check_finite=False)
    except linalg.LinAlgError:
        return False
    diagonal = np.diagonal(factor)
    return bool(diagonal.min() > 1e-5 * diagonal.max())


def _follow(p: Pursuit) -> BasisPursuitResult | None:
    """Follow the lasso path to its end, or to where the residual equals `bound`."""
    A = first_of_repeated(p.A, signed=p.positive)
    segment, n_iter, ended = follow_path(A, p.y, bound=p.bound, positive=p.positive)
    if p.bound == 0 and not ended:
        return None
    best = p.solution(segment.support, segment.signs)
    return None if best is None else best._replace(n_iter=n_iter)


def _interior(p: Pursuit) -> BasisPursuitResult | None:
    """Run the interior point method, then find the adjacent vertex; None without a solution."""
    norms = column_norms(p.A)
    least = float(norms.min())
    cost = least / norms
    coef, dual, n_iter = interior_point(p.A / norms, p.y, cost, positive=p.positive)
    start = p.judge(coef / norms, dual / least, "interior")
    best = _settle(p, start._replace(n_iter=n_iter), 0.0)
    if best is None or best.residual > 1e-6:
        return None
    return best


def _settle(
    p: Pursuit, start: BasisPursuitResult | None, least: float = 1e-6
) -> BasisPursuitResult | None:
    """Find the segment of the path that a nearly correct solution belongs to.

    Coefficients below the fraction `least` of the largest count as zero. Active columns of the
    wrong sign leave; columns whose slope is too large enter.
    """
    # read the support and the signs of the start
    if start is None:
        return None
    origin: dict[str, Any] = {"route": start.route, "n_iter": start.n_iter}
    judged = p.judge(start.coef, start.dual, "")
    best: BasisPursuitResult | None = judged._replace(**origin)
    norms = column_norms(p.A)
    size = np.abs(start.coef) * norms
    counts = size > least * size.max(initial=0.0)
    signs = np.where(counts, np.sign(start.coef), 0.0)

    # exchange one column at a time until the signs are consistent with the segment
    for _ in range(2 * len(p.y) + 20):
        active = np.flatnonzero(signs)
        result = p.solution(active, signs[active])
        if result is None:
            break
        best = p.better(best, result._replace(**origin))
        with_start = p.judge(result.coef, start.dual, "")
        best = p.better(best, with_start._replace(**origin))

        # of the columns with the wrong sign, drop the one that contributes most
        wrong = result.coef * signs < 0
        if wrong.any():
            error = np.where(wrong, np.abs(result.coef) * norms, 0.0)
            signs[error.argmax()] = 0.0
            continue

        # add the column of the most violated constraint |A_j'v| <= 1
        slopes = p.A.T @ result.dual
        bounded = slopes if p.positive else np.abs(slopes)
        excess = np.where(signs == 0, bounded - 1, 0.0)
        new = int(excess.argmax())
        if excess[new] <= ACCUMULATED_ROUNDING:
            break
        signs[new] = np.sign(slopes[new])
    return best


def _simplex(p: Pursuit) -> BasisPursuitResult | None:
    """Run HiGHS' simplex method on the linear program, then find the exact vertex at its end."""
    start = _stated(p)
    if start is None:
        return None
    return _settle(p, start._replace(route="simplex"), 1e-9)


def _stated(p: Pursuit) -> BasisPursuitResult | None:
    """Pass the problem, with columns of unit norm, to a conic or linear solver."""
    # scale the columns to unit norm, with weights that correspond to the original columns
    norms = column_norms(p.A)
    unit = float(norms.max())
    B = p.A / norms
    form: dict[str, Any] = {"weights": unit / norms, "positive": p.positive}
    if p.bound > 0:
        stated = convex_problems.basis_pursuit_denoising(B, p.y, p.bound, **form)
        options: dict[str, Any] = {"solver": "CLARABEL", **convex_problems.ACCURATE}
    else:
        stated = convex_problems.basis_pursuit(B, p.y, **form)
        options = {"solver": "HIGHS"}

    # return coefficients in the original units, and the dual variable with the sign used here
    if not convex_problems.solve(stated, **options):
        return None
    coef = np.asarray(stated.variable.value) / norms
    if p.bound > 0:
        dual = p.dual_of_residual(coef)
    else:
        dual = -np.asarray(stated.constraint.dual_value) / unit
    return p.judge(coef, dual, "cvxpy")
