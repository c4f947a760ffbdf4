"""Primal-dual iteration for the least l1 norm: the way that always converges."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skmoderndata._solvers.recovery.l1_problem import Candidate, Problem, operator_norm
from skmoderndata._solvers.recovery.measurements import Operator, columns_of
from skmoderndata._solvers.recovery.optimality import EPS, exact_piece
from skmoderndata._solvers.recovery.support_newton import sharpen

Array = np.ndarray[Any, np.dtype[Any]]

LOOK = 20  # steps between two looks at the gap
FIRST = 60  # steps before Newton's method tries the support; then twice as many each time
FACTORED = 2e9  # operations up to which columns of a support are factored


def primal_dual(p: Problem, tol: float, spent: Callable[[], bool]) -> Candidate:
    """Solve the problem by the steps of [Chambolle and Pock 2011], over-relaxed and balanced.

    ``a <- soft(a - tau A'q, tau)``, then ``q <- prox(q + sigma (A (2 a_new - a) - y))``. Where
    columns are of unlike norms each has its own step size, as if they had been brought to one.
    Supports go to Newton's method now and then, and where columns are few to factors.
    """
    m, n = p.A.shape
    a, q = np.zeros(n), np.zeros(m)
    unit: Any = 1.0
    norm = p.norm
    if p.sizes is not None:
        unit = 1.0 / p.sizes
        norm = operator_norm(_with_columns_times(p.A, unit))
    # the norms of the solution and of its dual are about as one to the root of the non-zeros
    ratio = 0.3 * float(np.linalg.norm(p.slopes * unit)) / norm / np.sqrt(m)
    adapt, best = 0.5, p.failure()
    former = np.zeros(0, np.int64)
    step, following = 0, FIRST
    while not spent() and best.badness > tol:
        step += 1
        tau, sigma = ratio / norm, 0.99 / (ratio * norm)
        each = tau * unit * unit
        new_a = p.soft(a - each * p.adjoint(q), each)
        w = q + sigma * (p.forward(2 * new_a - a) - p.y)
        new_q = w
        if p.bound > 0:
            size = float(np.linalg.norm(w))
            new_q = w * max(0.0, 1 - sigma * p.bound / size) if size > 0 else w
        moved = float(np.linalg.norm((new_a - a) / unit)) / tau
        turned = float(np.linalg.norm(new_q - q)) / sigma
        a, q = a + 1.8 * (new_a - a), q + 1.8 * (new_q - q)
        if step % 10 == 0 and adapt > 0.01:
            if moved > 20 * norm * turned:
                ratio, adapt = ratio / (1 - adapt), 0.95 * adapt
            elif norm * turned > 20 * moved:
                ratio, adapt = ratio * (1 - adapt), 0.95 * adapt
        if step % LOOK and not spent():
            continue
        active = np.flatnonzero(new_a)
        settled = np.array_equal(active, former) or spent()
        former = active
        candidates = [best, p.judge(new_a, -q)]
        if step >= following or spent():
            following = 2 * step
            lam = max(p.top(p.adjoint(p.y - p.forward(new_a))), EPS)  # that it is for, about
            candidates.append(sharpen(p, new_a, lam, tol))
        best = min(candidates, key=lambda c: c.badness)
        if best.badness > tol and settled and _factors_pay(p, active):
            completed = _completed(p, active, np.sign(new_a[active]))
            best = min(best, completed, key=lambda c: c.badness)
    return best


def _with_columns_times(A: Operator, weights: Array) -> Operator:
    return Operator(A.shape, lambda X: A.forward(X * weights), lambda Y: A.adjoint(Y) * weights)


def _factors_pay(p: Problem, active: Array) -> bool:
    m = len(p.y)
    return 0 < active.size <= m and float(m) * active.size**2 <= FACTORED


def solution(p: Problem, active: Array, signs: Array) -> Candidate:
    """Solution with a given support and signs, from a factor of its columns."""
    columns = columns_of(p.A, active)
    piece = exact_piece(columns, p.y, np.arange(active.size), signs)
    end = None if piece is None else piece.end(columns, p.bound, p.positive)
    if end is None:
        return p.failure()
    coef = np.zeros(p.A.shape[1])
    coef[active] = end[0]
    return p.judge(coef, end[1])


def _completed(p: Problem, active: Array, signs: Array) -> Candidate:
    """Solution with a given support and signs, and the columns that the support is short of.

    For equations that it does not meet the dual variable moves along the residual, which is
    orthogonal to its columns, to where the next column meets the dual constraint; that comes in.
    """
    best = solution(p, active, signs)
    for _ in range(20):
        if p.bound > 0 or best.gap > 1e-6 or best.missed <= 1e-12 or active.size >= len(p.y):
            break
        slopes = p.adjoint(best.dual)
        toward = p.adjoint(p.y - p.forward(best.coef))
        speed = toward if p.positive else np.abs(toward)
        open_ = speed > 1e-9 * float(np.abs(toward).max())
        open_[active] = False
        if not open_.any():
            break
        way = np.full(len(speed), np.inf)
        way[open_] = (1 - np.sign(toward[open_]) * slopes[open_]) / speed[open_]
        new = int(np.argmin(way))
        active, signs = np.append(active, new), np.append(signs, np.sign(toward[new]))
        further = solution(p, active, signs)
        if further.badness > best.badness:
            break
        best = further
    return best
