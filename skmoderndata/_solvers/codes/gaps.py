"""The duality gap of penalised codes, in one place."""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def penalised_gap(xr: Any, rr: Any, penalty: Any, largest: Any, lam: Any) -> tuple[Any, Any]:
    """Duality gap and objective of ``min over a  1/2 |x - a D|^2 + lam Omega(a)``.

    With the residual ``r = x - a D`` the dual problem is ``max x.v - 1/2 |v|^2`` over v with
    ``Omega*(D v) <= lam``. The best feasible multiple of r gives the gap.

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
    gap, objective : float
        The gap may be negative by rounding.
    """
    objective = 0.5 * rr + lam * penalty
    factor = np.maximum(xr / np.where(rr > 0, rr, 1.0), 0.0)
    most = np.where(largest > 0, lam / np.where(largest > 0, largest, 1.0), np.inf)
    factor = np.where(rr > 0, np.minimum(factor, most), 0.0)
    return objective - factor * (xr - 0.5 * factor * rr), objective


class Groups(NamedTuple):
    """Atoms ``edges[g]`` to ``edges[g + 1]``, whose norm costs ``weights[g]``."""

    edges: Array
    weights: Array


def dual_norms(C: Array, positive: bool, groups: Groups | None = None) -> Array:
    """Least penalties for which the code with correlations C (N, k) of the residual is zero."""
    if groups is None:
        largest: Array = C.max(axis=1, initial=0.0)
        return largest if positive else np.maximum(largest, -C.min(axis=1, initial=0.0))
    norms = group_norms(np.maximum(C, 0.0) if positive else C, groups) / groups.weights
    return np.asarray(norms.max(axis=1))


def group_norms(A: Array, groups: Groups) -> Array:
    """Euclidean norms of the groups of each row."""
    return np.asarray(np.sqrt(np.add.reduceat(A * A, groups.edges[:-1], axis=1)))


def code_gaps(
    X: Array, R: Array, A: Array, rows: Array, alpha: Array, positive: bool,
    groups: Groups | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Duality gaps, objectives and squared residuals of lasso or group lasso codes A (N, k).

    All from the residuals ``R = X - A D``, zero where entries are missing.
    """
    penalty = np.abs(A).sum(axis=1) if groups is None else group_norms(A, groups) @ groups.weights
    xr, rr = np.einsum("ij,ij->i", X, R), np.einsum("ij,ij->i", R, R)
    largest = dual_norms(R @ rows.T, positive, groups)
    gap, objective = penalised_gap(xr, rr, penalty, largest, alpha)
    return np.maximum(gap, 0.0), objective, rr
