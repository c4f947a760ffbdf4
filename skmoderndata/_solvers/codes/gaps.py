"""The duality gap of penalised codes."""

from typing import Any

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gaps
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.typing import Array


def penalised_bounds(
    xr: Any, rr: Any, penalty: Any, largest: Any, lam: Any
) -> tuple[Any, Any]:
    """Return objective and lower bound of ``min over a  1/2 |x - a D|^2 + lam Omega(a)``.

    With the residual ``r = x - a D``, the dual problem is ``max x.v - 1/2 |v|^2`` over v with
    ``Omega*(D v) <= lam``. The best feasible multiple of r gives the bound.

    Parameters
    ----------
    xr, rr : float, or array of shape (N,); the other parameters likewise
        ``x.r`` and ``r.r``.
    penalty : float
        ``Omega(a)``.
    largest : float
        Dual norm ``Omega*(D r)`` of the correlations; for the lasso, their largest magnitude (for
        non-negative codes, the largest entry or 0).
    lam : float
        Weight of the penalty.

    Returns
    -------
    objective, bound : float
        Rounding may make the objective smaller than the bound.
    """
    objective = 0.5 * rr + lam * penalty
    best = np.maximum(xr / np.where(rr > 0, rr, 1.0), 0.0)
    divisor = np.where(largest > 0, largest, 1.0)
    feasible = np.where(largest > 0, lam / divisor, np.inf)
    factor = np.where(rr > 0, np.minimum(best, feasible), 0.0)
    return objective, factor * (xr - 0.5 * factor * rr)


def dual_norms(C: Array, positive: bool) -> Array:
    """Return the smallest penalties with zero codes; C (N, k) correlates residuals and atoms."""
    # use a compiled loop, because NumPy takes ten times as long for the maxima of short rows
    largest = np.empty(len(C))
    _dual_norms(np.ascontiguousarray(C), positive, largest)
    return largest


@jit_leaf
def _dual_norms(C, positive, largest):
    for i in range(C.shape[0]):
        value = 0.0
        for j in range(C.shape[1]):
            c = C[i, j] if positive else abs(C[i, j])
            # let NaN through, which fills the row if the residual contains NaN
            if not c <= value:
                value = c
        largest[i] = value


def row_sums(A: Array) -> Array:
    """Return the l1 norms of the rows of A (N, k)."""
    sums = np.empty(len(A))
    _row_sums(np.ascontiguousarray(A), sums)
    return sums


@jit_leaf
def _row_sums(A, sums):
    for i in range(A.shape[0]):
        value = 0.0
        for j in range(A.shape[1]):
            value += abs(A[i, j])
        sums[i] = value


def code_gaps(
    X: Array, R: Array, A: Array, rows: Array, alpha: Array, positive: bool
) -> tuple[Array, Array, Array]:
    """Return duality gaps, objectives and squared residuals of lasso codes A (N, k).

    All are computed from the residuals ``R = X - A D``, which are zero at missing entries.
    """
    xr = np.einsum("ij,ij->i", X, R)
    rr = np.einsum("ij,ij->i", R, R)
    largest = dual_norms(R @ rows.T, positive)
    penalty = row_sums(A)
    objective, bound = penalised_bounds(xr, rr, penalty, largest, alpha)
    return relative_gaps(objective, bound, unit=1.0), objective, rr
