"""Convex problems as the papers print them, stated for cvxpy.

They are what ``solver="cvxpy"`` solves, and what the tests compare every other solver with. A
statement returns the problem, its variable and its constraints; `solve` hands it to a solver.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

ACCURATE = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)  # for Clarabel


class Statement(NamedTuple):
    """A problem of cvxpy, the variable asked for, and the constraint whose multiplier is."""

    problem: Any
    variable: Any
    constraint: Any


def solve(stated: Statement, **options: Any) -> bool:
    """Solve a stated problem with the `options` of cvxpy; False where the solver fails."""
    import cvxpy

    cp: Any = cvxpy
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            stated.problem.solve(**options)
    except cp.error.SolverError:
        return False
    return stated.problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


def basis_pursuit(A: Array, y: Array, *, weights: Any = 1.0, positive: bool = False) -> Statement:
    """``min |w * a|_1  s.t.  A a = y``, a linear program [Chen, Donoho and Saunders 1998]."""
    import cvxpy

    cp: Any = cvxpy
    a = cp.Variable(A.shape[1], nonneg=positive)
    equations = A @ a == y
    problem = cp.Problem(cp.Minimize(cp.norm1(cp.multiply(weights, a))), [equations])
    return Statement(problem, a, equations)


def basis_pursuit_denoising(
    A: Array, y: Array, bound: float, *, weights: Any = 1.0, positive: bool = False
) -> Statement:
    """``min |w * a|_1  s.t.  |y - A a|_2 <= bound`` [Candes, Romberg and Tao 2006, (P2)]."""
    import cvxpy

    cp: Any = cvxpy
    a = cp.Variable(A.shape[1], nonneg=positive)
    near = cp.norm2(y - A @ a) <= bound
    problem = cp.Problem(cp.Minimize(cp.norm1(cp.multiply(weights, a))), [near])
    return Statement(problem, a, near)
