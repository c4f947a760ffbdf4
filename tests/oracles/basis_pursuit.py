"""Basis pursuit as a statement for a conic solver, and its phase transition from the theory."""

from scipy.optimize import minimize_scalar
from scipy.stats import norm

from skmoderndata._solvers.common import convex_problems


def least_l1(A, y, bound=0.0, positive=False):
    """Smallest l1 norm under the constraint: a linear program for HiGHS, a cone for Clarabel."""
    if bound:
        stated = convex_problems.basis_pursuit_denoising(A, y, bound, positive=positive)
        assert convex_problems.solve(stated, solver="CLARABEL")
    else:
        stated = convex_problems.basis_pursuit(A, y, positive=positive)
        assert convex_problems.solve(stated, solver="HIGHS")
    return stated.problem.value


def transition(share, positive=False):
    """Non-zeros per measurement at which recovery turns, for `share` measurements a coefficient.

    With e non-zeros a coefficient recovery needs a share of measurements of
    ``min_t e (1 + t^2) + (1 - e) c ((1 + t^2) Phi(-t) - t phi(t))``, c = 2, or 1 if non-negative.
    """
    sides = 1 if positive else 2

    def needed(e):
        def cost(t):
            return e * (1 + t * t) + (1 - e) * sides * (
                (1 + t * t) * norm.cdf(-t) - t * norm.pdf(t)
            )

        return minimize_scalar(cost, bounds=(0, 10), method="bounded").fun

    low = 0.0
    high = share
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) < share else (low, middle)
    return low / share
