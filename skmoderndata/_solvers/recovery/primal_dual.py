"""Primal-dual iteration for the least l1 norm: the way that always converges."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.l1_problem import Candidate, Problem, operator_norm
from skmoderndata._solvers.recovery.measurements import Operator
from skmoderndata._solvers.recovery.support_newton import sharpen

LOOK = 20  # steps between two looks at the gap
FIRST = 60  # steps before Newton's method tries the support; then twice as many each time


def primal_dual(p: Problem, tol: float, spent: Callable[[], bool]) -> Candidate:
    """Solve the problem by the steps of [Chambolle and Pock 2011], over-relaxed and balanced.

    ``a <- soft(a - tau A'q, tau)``, then ``q <- prox(q + sigma (A (2 a_new - a) - y))``. Where
    columns are of unlike norms each has its own step size, as if they had been brought to one.
    Supports go to Newton's method now and then.
    """
    # columns of different norms get steps of their own
    m, n = p.A.shape
    a = np.zeros(n)
    q = np.zeros(m)
    unit: Any = 1.0
    norm = p.norm
    if p.sizes is not None:
        unit = 1.0 / p.sizes
        norm = operator_norm(_with_columns_times(p.A, unit))
    # the norms of the solution and of its dual are about as one to the root of the non-zeros
    slope = float(np.linalg.norm(p.slopes * unit))
    ratio = 0.3 * slope / norm / np.sqrt(m)

    adapt = 0.5
    best = p.failure()
    step = 0
    following = FIRST

    while not spent() and best.badness > tol:
        step += 1

        # 1. primal step: soft thresholding
        tau = ratio / norm
        sigma = 0.99 / (ratio * norm)
        each = tau * unit * unit
        new_a = p.soft(a - each * p.adjoint(q), each)

        # 2. dual step from the extrapolated point; the ball of radius `bound` shrinks it
        ahead = p.forward(2 * new_a - a)
        w = q + sigma * (ahead - p.y)
        new_q = w
        if p.bound > 0:
            size = float(np.linalg.norm(w))
            new_q = w * max(1 - sigma * p.bound / size, 0.0) if size > 0 else w

        # 3. over-relax both
        step_a = new_a - a
        step_q = new_q - q
        moved = float(np.linalg.norm(step_a / unit)) / tau
        turned = float(np.linalg.norm(step_q)) / sigma
        a = a + 1.8 * step_a
        q = q + 1.8 * step_q

        # 4. balance the steps by how far each has moved
        if step % 10 == 0 and adapt > 0.01:
            if moved > 20 * norm * turned:
                ratio = ratio / (1 - adapt)
                adapt = 0.95 * adapt
            elif norm * turned > 20 * moved:
                ratio = ratio * (1 - adapt)
                adapt = 0.95 * adapt

        # 5. now and then look at the certificate, rarely at a sharpened point
        if step % LOOK and not spent():
            continue
        candidates = [best, p.judge(new_a, -q)]
        if step >= following or spent():
            following = 2 * step
            residual = p.y - p.forward(new_a)
            lam = max(p.top(p.adjoint(residual)), EPS)  # that it is for, about
            candidates.append(sharpen(p, new_a, lam, tol))
        best = min(candidates, key=lambda c: c.badness)
    return best


def _with_columns_times(A: Operator, weights: Array) -> Operator:
    return Operator(
        A.shape, lambda X: A.forward(X * weights), lambda Y: A.adjoint(Y) * weights
    )
