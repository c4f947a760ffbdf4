"""Primal-dual iteration for the minimal l1 norm, which always converges.

Differs from the paper (Chambolle and Pock 2011): 1. Steps are over-relaxed. 2. The ratio of primal
and dual steps is balanced. 3. Newton's method on the support takes over when it can.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.l1_problem import Candidate, Problem, operator_norm
from skmoderndata._solvers.recovery.measurements import Operator
from skmoderndata._solvers.recovery.support_newton import sharpen

# Number of steps between two checks of the gap.
LOOK = 20
# Number of steps before Newton's method is tried on the support; it doubles after each trial.
FIRST = 60
# Over-relaxation factor of both steps, which must be below 2.
RELAXATION = 1.8
# Largest ratio of primal to dual steps, or of dual to primal steps, that needs no balancing.
IMBALANCE = 20


def primal_dual(p: Problem, tol: float, spent: Callable[[], bool]) -> Candidate:
    """Solve the problem by Chambolle and Pock's steps [2011], over-relaxed and balanced.

    ``a <- soft(a - tau A'q, tau)``, then ``q <- prox(q + sigma (A (2 a_new - a) - y))``. If the
    norms of columns differ, each has its own step size, as if it had been scaled to norm 1. From
    time to time, the support is passed to Newton's method.
    """
    # use separate step sizes for columns with different norms
    m, n = p.A.shape
    a = np.zeros(n)
    q = np.zeros(m)
    unit: Any = 1.0
    norm = p.norm
    if p.sizes is not None:
        unit = 1.0 / p.sizes
        norm = operator_norm(_with_columns_times(p.A, unit))
    # the ratio of the norms of the solution and the dual is about 1 / sqrt(number of non-zeros)
    slope = float(np.linalg.norm(p.slopes * unit))
    ratio = 0.3 * slope / norm / np.sqrt(m)

    adapt = 0.5
    best = p.failure()
    step = 0
    following = FIRST

    while not spent() and best.badness > tol:
        step += 1

        # 1. take the primal step, by soft thresholding
        tau = ratio / norm
        sigma = 1.0 / (ratio * norm)
        each = tau * unit * unit
        new_a = p.soft(a - each * p.adjoint(q), each)

        # 2. take the dual step from the extrapolated point; with a bound, shrink the dual variable
        ahead = p.forward(2 * new_a - a)
        w = q + sigma * (ahead - p.y)
        new_q = w
        if p.bound > 0:
            size = float(np.linalg.norm(w))
            new_q = w * max(1 - sigma * p.bound / size, 0.0) if size > 0 else w

        # 3. over-relax both steps
        step_a = new_a - a
        step_q = new_q - q
        moved = float(np.linalg.norm(step_a / unit)) / tau
        turned = float(np.linalg.norm(step_q)) / sigma
        a = a + RELAXATION * step_a
        q = q + RELAXATION * step_q

        # 4. balance the steps by the distances that they have moved
        primal_leads = moved > IMBALANCE * norm * turned
        dual_leads = norm * turned > IMBALANCE * moved
        if step % 10 == 0 and (primal_leads or dual_leads):
            ratio = ratio / (1 - adapt) if primal_leads else ratio * (1 - adapt)
            adapt = 0.95 * adapt

        # 5. check the certificate every few steps, and less often also at a refined point
        if step % LOOK and not spent():
            continue
        candidates = [best, p.judge(new_a, -q)]
        if step >= following or spent():
            following = 2 * step
            residual = p.y - p.forward(new_a)
            # penalty to which the point corresponds approximately
            lam = max(p.top(p.adjoint(residual)), EPS)
            candidates.append(sharpen(p, new_a, lam, tol))
        best = min(candidates, key=lambda c: c.badness)
    return best


def _with_columns_times(A: Operator, weights: Array) -> Operator:
    return Operator(
        A.shape, lambda X: A.forward(X * weights), lambda Y: A.adjoint(Y) * weights
    )
