"""Convex problems as the papers print them, stated in cvxpy for an interior point method.

The reference for the special solvers, and what `solver="cvxpy"` runs. Each function returns the
optimal variables and raises `ValueError` where the solver fails.
"""

import importlib
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def group_lasso_by_cvxpy(
    X: Array, y: Array, edges: Array, *, lam: float, weights: Array, mix: float, positive: bool
) -> Array:
    """Solve ``min 1/2 |y - X w|^2 + lam sum_g ((1 - mix) weight_g |w_g| + mix |w_g|_1)``.

    Group g holds the columns ``edges[g]:edges[g + 1]`` [Simon et al. 2013, eq. (1)].
    """
    cp = load_cvxpy()
    w = cp.Variable(X.shape[1], nonneg=positive)
    norms = [cp.norm2(w[a:b]) for a, b in pairwise(edges)]
    penalty = (1 - mix) * cp.sum(cp.multiply(weights, cp.hstack(norms))) + mix * cp.norm1(w)
    solve(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(y - X @ w) + lam * penalty)))
    return np.asarray(w.value)


def load_cvxpy() -> Any:
    """Import cvxpy where it is needed; its stubs lack some of its names."""
    return importlib.import_module("cvxpy")


def solve(problem: Any, **settings: Any) -> float:
    """Solve with CLARABEL; return the optimal value."""
    value = problem.solve(solver="CLARABEL", **settings)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise ValueError(f"solver='cvxpy' failed: CLARABEL says {problem.status}.")
    return float(value)
