"""The duality gap of penalised codes, in one place."""

from typing import Any

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gaps
from skmoderndata._solvers.common.typing import Array


def penalised_bounds(
    xr: Any, rr: Any, penalty: Any, largest: Any, lam: Any
) -> tuple[Any, Any]:
    """Objective of ``min over a  1/2 |x - a D|^2 + lam Omega(a)``, and a bound from below.

    With the residual ``r = x - a D`` the dual problem is ``max x.v - 1/2 |v|^2`` over v with
    ``Omega*(D v) <= lam``. The best feasible multiple of r gives the bound.

    Parameters
    ----------
    xr, rr : float, or array of shape (N,), as all others
        ``x.r`` and ``r.r``.
    penalty : float
        ``Omega(a)``.
    largest : float
        Dual norm ``Omega*(D r)`` of the correlations: for the lasso the largest magnitude (the
        largest entry or 0 for codes of at least zero).
    lam : float
        Weight of the penalty.

    Returns
    -------
    objective, bound : float
        Rounding may put the first below the second.
    """
    objective = 0.5 * rr + lam * penalty
    best = np.maximum(xr / np.where(rr > 0, rr, 1.0), 0.0)
    divisor = np.where(largest > 0, largest, 1.0)
    feasible = np.where(largest > 0, lam / divisor, np.inf)
    factor = np.where(rr > 0, np.minimum(best, feasible), 0.0)
    return objective, factor * (xr - 0.5 * factor * rr)


def dual_norms(C: Array, positive: bool) -> Array:
    """Least penalties for which the code with correlations C (N, k) of the residual is zero."""
    largest: Array = C.max(axis=1, initial=0.0)
    return largest if positive else np.maximum(largest, -C.min(axis=1, initial=0.0))


def code_gaps(
    X: Array, R: Array, A: Array, rows: Array, alpha: Array, positive: bool
) -> tuple[Array, Array, Array]:
    """Duality gaps, objectives and squared residuals of lasso codes A (N, k).

    All from the residuals ``R = X - A D``, zero where entries are missing.
    """
    xr = np.einsum("ij,ij->i", X, R)
    rr = np.einsum("ij,ij->i", R, R)
    largest = dual_norms(R @ rows.T, positive)
    penalty = np.abs(A).sum(axis=1)
    objective, bound = penalised_bounds(xr, rr, penalty, largest, alpha)
    return relative_gaps(objective, bound, unit=1.0), objective, rr
