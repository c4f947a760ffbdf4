"""The duality gap of penalised codes, in one place."""

from typing import Any

import numpy as np

from skmoderndata._jit import jit

Array = np.ndarray[Any, np.dtype[Any]]


@jit
def penalised_gap(xr, rr, penalty, largest, lam):
    """Duality gap and objective of ``min over a  1/2 |x - a D|^2 + lam Omega(a)``.

    With the residual ``r = x - a D`` the dual problem is ``max x.v - 1/2 |v|^2`` over v with
    ``Omega*(D v) <= lam``. The best feasible multiple of r gives the gap.

    Parameters
    ----------
    xr, rr : float
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
    gap, objective : float
        The gap may be negative by rounding.
    """
    objective = 0.5 * rr + lam * penalty
    if rr <= 0.0:
        return objective, objective
    factor = max(xr / rr, 0.0)
    if largest > 0.0:
        factor = min(factor, lam / largest)
    return objective - factor * (xr - 0.5 * factor * rr), objective


@jit
def penalised_gaps(xr, rr, penalty, largest, lam):
    """`penalised_gap` of each signal: arrays of shape (N,)."""
    gap, objective = np.empty(xr.shape[0]), np.empty(xr.shape[0])
    for i in range(xr.shape[0]):
        gap[i], objective[i] = penalised_gap(xr[i], rr[i], penalty[i], largest[i], lam[i])
    return gap, objective


def lasso_gaps(
    X: Array, known: Array | None, A: Array, rows: Array, alpha: Array, positive: bool
) -> tuple[Array, Array, Array]:
    """Duality gaps, objectives and squared residuals of lasso codes A (N, k).

    All from the residuals ``X - A D``, on the entries where the 0/1 matrix `known` is 1.
    """
    R = X - A @ rows
    if known is not None:
        R *= known
    C = R @ rows.T
    largest = C.max(axis=1, initial=0.0) if positive else np.abs(C).max(axis=1, initial=0.0)
    xr, rr = np.einsum("ij,ij->i", X, R), np.einsum("ij,ij->i", R, R)
    gap, objective = penalised_gaps(xr, rr, np.abs(A).sum(axis=1), largest, alpha)
    return np.maximum(gap, 0.0), objective, rr
