"""Least l1 norm under linear equations that are known by products with their matrix only.

``min |a|_1  s.t.  |y - A a| <= bound``, ``a >= 0`` if so wanted, in four stages:

1. Approximate message passing looks for the support (`message_passing`). Some tens of products
   with matrices that mix well, where the solution is sparse; no promise otherwise.
2. From a support and signs, Newton's method on the optimality conditions (`support_newton`). It
   starts from the first stage each time that has got nearer.
3. Without such luck, and with few measurements, the problem is solved with some of the columns;
   those that the dual variable tells are missing come in, until none is.
4. With many a primal-dual iteration (`primal_dual`), which always converges.

Equations that cannot be met are replaced by the nearest that can. What is returned has a gap
computed from the definition, whatever stage it comes from.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.recovery.basis_pursuit import (
    BasisPursuitResult,
    Pursuit,
    basis_pursuit,
    in_units,
    nearest,
)
from skmoderndata._solvers.recovery.conjugate_gradients import least_squares_steps
from skmoderndata._solvers.recovery.l1_problem import Candidate, Facts, Problem, facts_of
from skmoderndata._solvers.recovery.measurements import Operator, columns_of, from_matrix
from skmoderndata._solvers.recovery.message_passing import message_passing
from skmoderndata._solvers.recovery.optimality import column_norms, may_repeat
from skmoderndata._solvers.recovery.primal_dual import primal_dual
from skmoderndata._solvers.recovery.support_newton import sharpen

Array = np.ndarray[Any, np.dtype[Any]]

BY_COLUMNS = 600  # measurements up to which columns are formed where they are needed
QUICK_COLUMNS = 512  # with fewer, the path is as fast
QUICK_PAIRS = 500  # of products with A and its transpose, after which the path is the better way


class L1Recovery(NamedTuple):
    """Coefficients, dual variable, relative duality gap, violation of the bound, and success.

    `n_iter` counts pairs of products. `reachable` is False where it is proved that no coefficients
    keep the bound.
    """

    coef: Array
    dual: Array
    gap: float
    missed: float
    n_iter: int
    done: bool
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
    last_resort: bool = True,
) -> L1Recovery:
    """Solve ``min |a|_1  s.t.  |y - A a| <= bound``; ``a >= 0`` with `positive`.

    Parameters
    ----------
    y : array of shape (m,)
        Of norm one, and beyond the bound.
    tol : float
        Relative duality gap, and violation, that end the search.
    max_iter : int
        Pairs of products, one with A and one with its transpose, after which the best so far is
        returned. A step that is under way is finished.
    last_resort : bool
        Whether the other stages follow where the first two do not succeed.
    """
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
        return used >= 2 * max_iter

    matrix = None if A.matrix is None else A.matrix * unit
    scaled = Operator(A.shape, forward, adjoint, matrix)
    sizes = None if facts.sizes is None else unit * facts.sizes
    slopes = adjoint(y[None])[0]
    p = Problem(scaled, y, bound, positive, slopes, facts.norm * unit, facts.orthogonal, sizes)
    best = p.judge(np.zeros(A.shape[1]), y, residual=y, slopes=slopes)
    if p.top(slopes) <= 1e-13 * p.norm:  # nothing is nearer than zero
        return L1Recovery(best.coef, unit * best.dual, 0.0, 0.0, 1, bound == 0, bound == 0)
    for a, lam in message_passing(p):
        best = min(best, sharpen(p, a, lam, tol), key=_badness)
        if best.badness <= tol or spent():
            break
    reachable = True
    if best.badness > tol and last_resort and not spent():
        near = _nearest(p)
        if near is not None and bound == 0:
            p = p._replace(y=near)
        elif near is not None:
            reachable = float(np.linalg.norm(y - near)) <= bound * (1 + 1e-9)
        if reachable and A.shape[0] <= BY_COLUMNS:
            candidate, p, reachable = _by_columns(p, best, tol, spent)
            best = min(best, candidate, key=_badness)
        if reachable and best.badness > tol:
            best = min(best, primal_dual(p, tol, spent), key=_badness)
    done = reachable and best.badness <= tol
    return L1Recovery(
        unit * best.coef, unit * best.dual, best.gap, best.missed, used // 2, done, reachable
    )


def quick_facts(A: Array) -> Facts | None:
    """Return what `quick_pursuit` has to know of A; None where the path is the better way."""
    if A.shape[1] < QUICK_COLUMNS or A.shape[0] >= A.shape[1]:
        return None
    norms = column_norms(A)
    if norms.max() > 100 * norms.min() or may_repeat(A, norms):
        return None
    return facts_of(from_matrix(A))


def quick_pursuit(
    A: Array,
    y: Array,
    *,
    bound: float = 0.0,
    positive: bool = False,
    tol: float = 1e-8,
    facts: Facts | None = None,
    progress: Progress | None = None,
) -> BasisPursuitResult | None:
    """Try to solve the problem of `basis_pursuit` in fewer products with A than the path takes.

    Message passing finds a support and Newton's method the signs; a factor of their columns makes
    the coefficients exact. None without success, which is no proof that there is no solution, and
    for problems that it does not pay for. `facts` are ``quick_facts(A)``, if they are known.
    """
    size = float(linalg.norm(y))
    facts = quick_facts(A) if facts is None else facts
    if facts is None or size <= bound:
        return None
    p = Pursuit(A, y / size, bound / size, positive)
    if progress is not None:
        progress.begin()
    # of equations the dual variable is used as it is
    accuracy = tol if bound > 0 else 1e-3 * tol
    quick = least_l1(
        p.y, from_matrix(A), bound=p.bound, positive=positive, tol=accuracy, facts=facts,
        max_iter=QUICK_PAIRS, last_resort=False,
    )  # fmt: skip
    if progress is not None:
        progress.end()
    support = np.flatnonzero(quick.coef)
    exact = p.solution(support, np.sign(quick.coef[support]))
    coef = quick.coef if exact is None else exact.coef
    best = p.better(exact, p.judge(coef, quick.dual, "quick"))
    if best is None or not p.accepts(best, tol):
        return None
    return in_units(best._replace(n_iter=quick.n_iter, route="quick"), A, size, positive)


def _badness(candidate: Candidate) -> float:
    return candidate.badness


def _nearest(p: Problem) -> Array | None:
    """Nearest measurements that coefficients of any sign give; None where these are, about.

    None also where conjugate gradients do not settle.
    """
    r, squared_gradient = p.y, 0.0
    steps = least_squares_steps(p.forward, p.adjoint, p.y, np.zeros(p.A.shape[1]))
    most = min(2 * min(p.A.shape) + 50, 1000)
    for _, (_, r, squared_gradient) in zip(range(1 + most), steps, strict=False):
        size = float(np.linalg.norm(r))
        if size <= 1e-11:
            return None
        if np.sqrt(squared_gradient) <= 1e-11 * p.norm * size:
            return p.y - r
    gradient = float(np.sqrt(squared_gradient))
    return p.y - r if gradient <= 1e-8 * p.norm * float(np.linalg.norm(r)) else None


def _by_columns(
    p: Problem, start: Candidate, tol: float, spent: Callable[[], bool]
) -> tuple[Candidate, Problem, bool]:
    """Solve the problem with some columns; those that violate the dual constraint come in.

    Where equations have no non-negative solution the problem becomes the nearest that has. Also
    tells whether the bound can be kept.
    """
    m, n = p.A.shape
    ranked = np.argsort(-p.slopes if p.positive else -np.abs(p.slopes), kind="stable")
    chosen = np.union1d(ranked[: 2 * m], np.flatnonzero(start.coef)[: 2 * m])
    columns, best, moved = columns_of(p.A, chosen), p.failure(), False
    for _ in range(40):
        result = basis_pursuit(columns, p.y, bound=p.bound, positive=p.positive, tol=0.1 * tol)
        if result is not None and result.residual > p.bound + tol:
            result = None
        if result is None:
            near = nearest(columns, p.y[:, None], positive=p.positive)[:, 0]
            residual = p.y - near
            slopes, limit = p.adjoint(residual), 1e-9 * float(np.linalg.norm(residual))
        else:
            coef = np.zeros(n)
            coef[chosen] = result.coef
            best = min(best, p.judge(coef, result.dual), key=_badness)
            if best.badness <= tol or spent():
                break
            slopes, limit = p.adjoint(result.dual), 1 + 0.1 * tol
        beyond = p.beyond(slopes, limit)
        beyond[chosen] = False
        new = np.flatnonzero(beyond)
        if new.size == 0:
            if result is not None:
                break
            if p.bound > 0:
                return best, p, float(np.linalg.norm(residual)) <= p.bound * (1 + 1e-9)
            if moved:
                break
            p, moved = p._replace(y=near), True
            if not np.any(near):
                return Candidate(np.zeros(n), near, 0.0, 0.0), p, True
            continue
        new = new[np.argsort(-np.abs(slopes[new]), kind="stable")[:m]]
        columns = np.hstack([columns, columns_of(p.A, new)])
        chosen = np.append(chosen, new)
        if len(chosen) > 8 * m:
            break
    return best, p, True
