"""Basis pursuit as a linear program, by an interior point method.

``min cost'x  s.t.  A s'x = y, x >= 0``, where the rows of x are the positive and negative parts of
the coefficients, with s = (1, -1), or the coefficients themselves, with s = (1,).

As in the paper (Mehrotra 1992), except for the start, which is the least squares solution, shifted
away from the bounds.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array

# Relative gap, and relative residual, at which the iteration stops.
ERROR = 1e-11
# Maximum number of steps.
MAX_STEPS = 50


def interior_point(
    A: Array, y: Array, cost: Array, *, positive: bool
) -> tuple[Array, Array, int]:
    """Run Mehrotra's predictor-corrector method [1992]; |y| = 1, unit columns, costs up to 1.

    It ends at a relative gap and residuals of `ERROR`, or when rounding prevents progress. Returns
    coefficients, the dual variable and the number of steps; each factorises ``A diag(x / z) A'``.
    """
    # start from the least squares solution, moved away from the bounds
    m, k = A.shape
    s = np.array([[1.0]] if positive else [[1.0], [-1.0]])
    factor = _factor(A)
    a = A.T @ _solve(factor, y)
    away = 1e-3 * float(np.abs(a).max()) + float(np.abs(a).mean())
    x = np.maximum(s * a, 0.0) + away
    z = np.ones((len(s), k)) * cost
    v = np.zeros(m)
    best = np.inf
    coef = a
    dual = v
    n_iter = 0
    idle = 0

    while n_iter < MAX_STEPS:
        n_iter += 1

        # 1. compute the residuals of the primal and of the dual constraints, and the gap
        primal = y - A @ (x * s).sum(axis=0)
        slack = cost - s * (A.T @ v) - z
        gap = float(np.vdot(x, z)) / float((x @ cost).sum())
        primal_error = float(np.linalg.norm(primal))
        dual_error = float(np.abs(slack).max())
        error = max(gap, primal_error, dual_error)

        # 2. keep the best iterate; stop if it is accurate or after six steps without progress
        idle += 1
        if error < best:
            best = error
            dual = v
            idle = 0
            # by complementarity, x or z is zero; set x to zero where it is the smaller of the two
            positive_part = np.where(x > z, x, 0.0)
            coef = (positive_part * s).sum(axis=0)
        if not (best > ERROR and idle < 6):
            break

        # 3. factorise once for the predictor and the corrector [Mehrotra 1992]
        factor = _factor(A * np.sqrt((x / z).sum(axis=0)))
        mean = float(np.vdot(x, z)) / x.size
        target = -x * z
        for corrects in (False, True):
            h = (s * (target - x * slack) / z).sum(axis=0)
            dv = _solve(factor, primal - A @ h)
            dz = slack - s * (A.T @ dv)
            dx = (target - x * dz) / z

            tau = 1.0 if not corrects else min(max(0.99, 1.0 - mean), 1.0 - 1e-6)
            by_x = min(1.0, tau * _step_bound(x, dx))
            by_z = min(1.0, tau * _step_bound(z, dz))
            new_x = x + by_x * dx
            new_z = z + by_z * dz
            ahead = float(np.vdot(new_x, new_z)) / x.size
            target = mean * (ahead / mean) ** 3 - x * z - dx * dz

        # 4. take the longest step that stays inside the bounds
        x = new_x
        z = new_z
        v = v + by_z * dv
    return coef, dual, n_iter


def _factor(B: Array) -> Array:
    """Return a Cholesky factor of ``B B'``, with a larger diagonal if it is singular."""
    gram = B @ B.T
    factor, info = dpotrf(gram, lower=1)
    more = EPS * float(np.trace(gram))
    while info and np.isfinite(more):
        ridged = gram + more * np.eye(len(gram))
        factor, info = dpotrf(ridged, lower=1)
        more *= 100
    return np.asarray(factor)


def _solve(factor: Array, b: Array) -> Array:
    solution, _ = dpotrs(factor, b, lower=1)
    return np.asarray(solution)


def _step_bound(x: Array, dx: Array) -> float:
    """Return the largest step along dx for which x stays positive."""
    steepest = float((dx / x).min())
    return 1.0 / max(-steepest, SMALLEST_DIVISOR)
