"""Minimal l1 norm under linear equations whose matrix is only accessible by products.

``min |a|_1  s.t.  |y - A a| <= bound``, optionally with ``a >= 0``. With few measurements, the
matrix is formed (`basis_pursuit`); with many, a primal-dual iteration searches for the support
(`primal_dual`), from which Newton's method on the optimality conditions finishes
(`support_newton`). If the solution is not sparse enough for that, the matrix is formed after all,
if it fits.

Infeasible equations are replaced by the nearest feasible ones. The gap of the result is computed
from its definition, whichever stage produced it.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.basis_pursuit import MatrixPursuit
from skmoderndata._solvers.recovery.conjugate_gradients import least_squares_steps
from skmoderndata._solvers.recovery.l1_problem import Candidate, Facts, Problem, facts_of
from skmoderndata._solvers.recovery.measurements import Operator, to_matrix
from skmoderndata._solvers.recovery.primal_dual import primal_dual

# Maximum number of rows, and of entries, for which the matrix is formed from the start.
FORMED_ROWS = 600
FORMED_ENTRIES = 2**23
# Maximum number of entries of a matrix that is formed after the iteration has failed.
LAST_ENTRIES = 2**25


class L1Recovery(NamedTuple):
    """Coefficients, dual variable, relative duality gap, violation of the bound, and success.

    `n_iter` counts pairs of products. `reachable` is False if the bound is proved infeasible.
    """

    coef: Array
    dual: Array
    gap: float
    missed: float
    n_iter: int
    converged: bool
    reachable: bool = True


def least_l1(
    y: Array,
    A: Operator,
    *,
    bound: float = 0.0,
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    facts: Facts | None = None,
) -> L1Recovery:
    """Solve ``min |a|_1  s.t.  |y - A a| <= bound``; ``a >= 0`` with `positive`.

    Parameters
    ----------
    y : array of shape (m,)
        Measurements of norm 1, greater than the bound.
    tol : float
        Relative duality gap, and violation, at which the search ends.
    max_iter : int
        Maximum number of pairs of products, one with A and one with its transpose; then the best
        result so far is returned. A step in progress is finished.
    """
    # decide whether and when a matrix may be formed
    m, n = A.shape
    at_once = m <= FORMED_ROWS and m * n <= FORMED_ENTRIES
    formed = min(m, n)  # number of products needed to form the matrix
    at_last = not at_once and m * n <= LAST_ENTRIES and formed < max_iter
    limit = 2 * max_iter
    if at_last:
        limit = min(limit, 5 * formed) - formed

    # count products, and scale the columns to mean squared norm 1
    facts = facts_of(A) if facts is None else facts
    unit = 1.0 / np.sqrt(facts.mean_sq)
    used = 0

    def forward(X: Array) -> Array:
        nonlocal used
        used += len(X)
        return np.asarray(unit * A.forward(X))

    def adjoint(Y: Array) -> Array:
        nonlocal used
        used += len(Y)
        return np.asarray(unit * A.adjoint(Y))

    def spent() -> bool:
        return used >= limit

    matrix = None if A.matrix is None else A.matrix * unit
    scaled = Operator(A.shape, forward, adjoint, matrix)
    sizes = None if facts.sizes is None else unit * facts.sizes
    slopes = adjoint(y[None])[0]
    p = Problem(scaled, y, bound, positive, slopes, facts.norm * unit, sizes)

    # check whether zero is the solution
    best = p.judge(np.zeros(A.shape[1]), y, residual=y, slopes=slopes)
    if p.top(slopes) <= ACCUMULATED_ROUNDING * p.norm:  # no coefficients reduce the residual
        return L1Recovery(best.coef, unit * best.dual, 0.0, 0.0, 1, bound == 0, bound == 0)

    # try the methods until a certificate holds, starting with the cheapest
    reachable = True
    if at_once:
        best, reachable = _by_matrix(p, tol)
    if reachable and best.badness > tol:
        near = _nearest(p)
        if near is not None and bound == 0:
            p = p._replace(y=near)
        elif near is not None:
            distance = float(np.linalg.norm(y - near))
            reachable = distance <= bound * (1 + RESULT_ROUNDING)

        if reachable:
            best = _better(best, primal_dual(p, tol, spent))
        if reachable and at_last and best.badness > tol:
            candidate, _ = _by_matrix(p, tol)
            best = _better(best, candidate)

    converged = reachable and best.badness <= tol
    coef = unit * best.coef
    dual = unit * best.dual
    return L1Recovery(coef, dual, best.gap, best.missed, used // 2, converged, reachable)


def _better(first: Candidate, second: Candidate) -> Candidate:
    """Return the candidate nearer to a certified solution, the first if they are equal."""
    return min(first, second, key=lambda candidate: candidate.badness)


def _nearest(p: Problem) -> Array | None:
    """Return the nearest measurements that coefficients of any sign can produce.

    None if these are the given ones up to rounding, or if conjugate gradients do not settle.
    """
    r = p.y
    squared_gradient = 0.0
    start = np.zeros(p.A.shape[1])
    steps = least_squares_steps(p.forward, p.adjoint, p.y, start)
    n_steps = min(2 * min(p.A.shape) + 50, 1000)
    for _, (_, r, squared_gradient) in zip(range(1 + n_steps), steps, strict=False):
        size = float(np.linalg.norm(r))
        if size <= 1e-11:
            return None
        if np.sqrt(squared_gradient) <= 1e-11 * p.norm * size:
            return p.y - r
    gradient = float(np.sqrt(squared_gradient))
    settled = gradient <= 1e-8 * p.norm * float(np.linalg.norm(r))
    return p.y - r if settled else None


def _by_matrix(p: Problem, tol: float) -> tuple[Candidate, bool]:
    """Form the matrix and follow the path; also return whether the bound can be met."""
    matrix = to_matrix(p.A)
    bound = p.bound or None
    pursuit = MatrixPursuit(matrix, bound=bound, positive=p.positive, tol=0.1 * tol)
    result = pursuit.solve(p.y)
    if result is None:
        return p.failure(), False
    candidate = p.judge(result.coef, result.dual)
    # the equations may have been solved for the nearest feasible measurements
    if p.bound == 0:
        candidate = candidate._replace(missed=0.0, gap=result.gap)
    return candidate, True
