"""Basis pursuit: the representation of least l1 norm, exactly or within a bound on the noise.

The lasso path ends in it (`homotopy`); where equations have no sparse solution `interior_point` is
faster. The support and the signs at either's end determine the coefficients and the dual variable
by two triangular solves, and the duality gap says whether they are right.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common import convex_problems
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.linalg import EPS
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

SURE = 1e-12  # gap and violation that need no orthogonal factorisation


class BasisPursuitResult(NamedTuple):
    """Coefficients (k,), dual variable (n,), and what is proved of them.

    `gap` is relative to the l1 norm; `route` says which solver gave the coefficients: "path",
    "interior", "simplex", "cvxpy" or "zero". `n_iter` counts factorisations.
    """

    coef: Array
    dual: Array
    residual: float
    gap: float
    n_iter: int
    route: str


class Pursuit(NamedTuple):
    """``min |a|_1  s.t.  |y - A a|_2 <= bound``, ``a >= 0`` with `positive`; y of norm one."""

    A: Array
    y: Array
    bound: float
    positive: bool

    def judge(self, coef: Array, dual: Array, route: str) -> BasisPursuitResult:
        form: dict[str, Any] = {"bound": self.bound, "positive": self.positive}
        gap = pursuit_gap(self.A, self.y, coef, dual, **form)
        residual = float(linalg.norm(self.y - self.A @ coef))
        return BasisPursuitResult(coef, dual, residual, gap, 1, route)

    def solution(self, support: Array, signs: Array) -> BasisPursuitResult | None:
        """Solve the problem for a support and signs; None where they have no solution."""
        best: BasisPursuitResult | None = None
        for make in (quick_segment, exact_segment):
            segment = make(self.A, self.y, support, signs)
            end = None if segment is None else segment.end(self.A, self.bound, self.positive)
            if end is not None:
                best = self.better(best, self.judge(*end, "path"))
            if best is not None and self.accepts(best, SURE):
                break
        return best

    def dual_of_residual(self, coef: Array) -> Array:
        """Multiple of the residual on the border of the dual constraint."""
        r = self.y - self.A @ coef
        top = largest_slope(self.A.T @ r, self.positive)
        return np.asarray(r / top if top > 0 else r)

    def accepts(self, result: BasisPursuitResult, tol: float) -> bool:
        return result.gap <= tol and result.residual <= self.bound + tol

    def better(
        self, one: BasisPursuitResult | None, other: BasisPursuitResult | None
    ) -> BasisPursuitResult | None:
        """Return the one that is nearer to a proved solution."""
        if one is None or other is None:
            return other if one is None else one
        return min(one, other, key=self.distance)

    def distance(self, result: BasisPursuitResult) -> float:
        """Sum of the gap and of what is missing to the bound."""
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
        No scaling of columns is needed, nor of the whole.
    y : array of shape (n,)
    bound : float
        0 asks for ``A a = y``.
    tol : float
        Relative duality gap, and residual relative to the norm of `y`, that are accepted.
    solver : {"path", "path only", "interior", "simplex", "cvxpy"}
        "path" is the lasso path with two triangular solves at its end; where equations have no
        sparse solution, "interior", the interior point method and the vertex next to its end; and
        where the answer is not proved to `tol`, "simplex" (cvxpy for a positive bound). "simplex"
        is HiGHS on the linear program of the case without noise; "cvxpy" states the
        problem. "path only" returns None where the path does not prove the answer.

    Returns
    -------
    BasisPursuitResult or None
        None if no coefficients satisfy the constraint.
    """
    # in units of |y|; zero suffices where the bound is not exceeded
    size = float(linalg.norm(y))
    if size <= bound:
        n, k = A.shape
        return BasisPursuitResult(np.zeros(k), np.zeros(n), size, 0.0, 0, "zero")
    # the bound is to hold for the norm as it is computed, with its rounding
    margin = min(64 * EPS * size / bound, 1e-3) if bound > 0 else 0.0
    relative_bound = bound / size * (1 - margin)
    p = Pursuit(A, y / size, relative_bound, positive)

    # take the first candidate that the certificate accepts, else the best
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
    """Yield what the solver finds, and what others find, for as long as no answer is proved."""
    # the route that was asked for
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

    # equations: an interior point, then an exact simplex step
    if p.bound == 0:
        yield _interior(p)
        yield _simplex(p)
        return

    # with noise: a bound in reach has its solution on some segment of the path
    near = nearest(p.A, p.y[:, None], positive=p.positive)[:, 0]
    distance = float(linalg.norm(p.y - near))
    if distance <= p.bound * (1 + 1e-9):
        # the right segment is next to where the path broke off, or to its very end
        yield _settle(p, broken_off)
        equations = p._replace(y=near, bound=0.0)
        yield _settle(p, _interior(equations))
        yield _settle(p, _stated(p))


class MatrixPursuit:
    """Basis pursuit of signals that share a matrix.

    Without a bound (None) equations that cannot hold are replaced by the nearest that can.
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
        """Range of the matrix; None for the whole space."""
        return range_of(self.A)

    def solve(self, y: Array, progress: Progress | None = None) -> BasisPursuitResult | None:
        """Coefficients and dual variable; None where the bound is out of reach."""
        A = self.A
        positive = self.positive
        solver = self.solver
        form: dict[str, Any] = {"positive": positive, "tol": self.tol, "progress": progress}
        if self.bound is not None:
            return basis_pursuit(A, y, bound=self.bound, solver=solver, **form)

        # the path, where there are more columns than rows
        if solver == "path" and A.shape[0] < A.shape[1]:
            result = basis_pursuit(A, y, solver="path only", **form)
            if result is not None:
                return result
            solver = "interior" if self.range is None else solver

        # equations that cannot be met are replaced by the nearest
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
    """Undo ``y / size``; the dual variable becomes feasible."""
    coef = result.coef * size
    dual = feasible_dual(A, result.dual, positive=positive)
    return result._replace(coef=coef, dual=dual, residual=result.residual * size)


def feasible_dual(A: Array, dual: Array, *, positive: bool = False) -> Array:
    """Multiple of `dual` with ``|A'v|_inf <= 1``, or ``A'v <= 1``; in its own precision."""
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
    """Return the `l1_gap` for a dual variable that is scaled to be feasible."""
    feasible = feasible_dual(A, dual, positive=positive)
    return l1_gap(y, coef, feasible, bound)


def range_of(A: Array) -> Array | None:
    """Orthonormal basis of the range of A; None where that is the whole space."""
    B = A / column_norms(A)
    if _has_full_row_rank(B):
        return None
    U, s, _ = linalg.svd(B, full_matrices=False, check_finite=False)
    rounding = s.max(initial=0.0) * max(A.shape) * EPS
    U = U[:, s > rounding]
    return U if U.shape[1] < len(A) else None


def nearest(A: Array, Y: Array, *, positive: bool = False) -> Array:
    """Return the combinations of columns of A nearest to each column of Y."""
    if positive:
        from scipy.optimize import nnls

        B = A / column_norms(A)
        norms = column_norms(Y)
        fits = [B @ nnls(B, y)[0] for y in (Y / norms).T]
        return np.column_stack(fits) * norms
    U = range_of(A)
    return Y if U is None else U @ (U.T @ Y)


def _has_full_row_rank(B: Array) -> bool:
    """Tell whether rows are independent beyond doubt; a tenth of the work of singular values."""
    if B.shape[0] > B.shape[1]:
        return False
    try:
        factor = linalg.cholesky(B @ B.T, check_finite=False)
    except linalg.LinAlgError:
        return False
    diagonal = np.diagonal(factor)
    return bool(diagonal.min() > 1e-5 * diagonal.max())


def _follow(p: Pursuit) -> BasisPursuitResult | None:
    """Go down the lasso path to its end, or to where the residual is `bound`."""
    A = first_of_repeated(p.A, signed=p.positive)
    segment, n_iter, ended = follow_path(A, p.y, bound=p.bound, positive=p.positive)
    if p.bound == 0 and not ended:
        return None
    best = p.solution(segment.support, segment.signs)
    return None if best is None else best._replace(n_iter=n_iter)


def _interior(p: Pursuit) -> BasisPursuitResult | None:
    """Interior point method, and the vertex next to its end; None without a solution."""
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
    """Find the segment of the path that a solution which is nearly right belongs to.

    Coefficients below the fraction `least` of the largest are none.
    Columns of the wrong sign leave the active ones, those whose slope is too large enter.
    """
    # support and signs of the start
    if start is None:
        return None
    origin: dict[str, Any] = {"route": start.route, "n_iter": start.n_iter}
    judged = p.judge(start.coef, start.dual, "")
    best: BasisPursuitResult | None = judged._replace(**origin)
    norms = column_norms(p.A)
    size = np.abs(start.coef) * norms
    counts = size > least * size.max(initial=0.0)
    signs = np.where(counts, np.sign(start.coef), 0.0)

    # exchange one column at a time, until the signs of a segment agree with it
    for _ in range(2 * len(p.y) + 20):
        active = np.flatnonzero(signs)
        result = p.solution(active, signs[active])
        if result is None:
            break
        best = p.better(best, result._replace(**origin))
        with_start = p.judge(result.coef, start.dual, "")
        best = p.better(best, with_start._replace(**origin))

        # out: the column whose sign is wrong by most
        wrong = result.coef * signs < 0
        if wrong.any():
            error = np.where(wrong, np.abs(result.coef) * norms, 0.0)
            signs[error.argmax()] = 0.0
            continue

        # in: the column of the most violated constraint |A_j'v| <= 1
        slopes = p.A.T @ result.dual
        bounded = slopes if p.positive else np.abs(slopes)
        excess = np.where(signs == 0, bounded - 1, 0.0)
        new = int(excess.argmax())
        if excess[new] <= 1e-12:
            break
        signs[new] = np.sign(slopes[new])
    return best


def _simplex(p: Pursuit) -> BasisPursuitResult | None:
    """Simplex method of HiGHS on the linear program, and the exact vertex that it ends at."""
    start = _stated(p)
    if start is None:
        return None
    return _settle(p, start._replace(route="simplex"), 1e-9)


def _stated(p: Pursuit) -> BasisPursuitResult | None:
    """Hand the problem as it is stated, with columns of unit norm, to a conic or linear solver."""
    # columns of unit norm, weights as of the columns given
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

    # coefficients in units of the columns, and the dual variable with the sign of ours
    if not convex_problems.solve(stated, **options):
        return None
    coef = np.asarray(stated.variable.value) / norms
    if p.bound > 0:
        dual = p.dual_of_residual(coef)
    else:
        dual = -np.asarray(stated.constraint.dual_value) / unit
    return p.judge(coef, dual, "cvxpy")
