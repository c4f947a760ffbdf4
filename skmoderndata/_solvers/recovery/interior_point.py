"""Basis pursuit as a linear program, by an interior point method.

``min cost'x  s.t.  A s'x = y, x >= 0``, where the rows of x are the positive and the negative
parts of the coefficients, with s = (1, -1), or the coefficients themselves, with s = (1,).
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from skmoderndata._typing import Array


def interior_point(
    A: Array, y: Array, cost: Array, *, positive: bool, tol: float = 1e-11, max_iter: int = 50
) -> tuple[Array, Array, int]:
    """Mehrotra's predictor-corrector method [1992]; y and columns of norm one, costs at most one.

    Ends at a relative gap and residuals of `tol`, or where rounding ends the descent. Returns
    coefficients, the dual variable and the number of steps; each factors ``A diag(x / z) A'``.
    """
    # start: least squares, moved away from the bounds
    m, k = A.shape
    s = np.array([[1.0]] if positive else [[1.0], [-1.0]])
    factor = _factor(A)
    a = A.T @ _solve(factor, y)  # least squares
    away = 1e-3 * float(np.abs(a).max()) + float(np.abs(a).mean())
    x = np.maximum(s * a, 0.0) + away
    z = np.ones((len(s), k)) * cost
    v = np.zeros(m)
    best = np.inf
    coef = a
    dual = v
    n_iter = 0
    idle = 0

    while n_iter < max_iter:
        n_iter += 1

        # 1. residuals of the primal and of the dual constraints, and the gap
        primal = y - A @ (x * s).sum(axis=0)
        slack = cost - s * (A.T @ v) - z
        gap = float(np.vdot(x, z)) / float((x @ cost).sum())
        error = max(gap, float(np.linalg.norm(primal)), float(np.abs(slack).max()))

        # 2. keep the best; end without progress for six steps
        idle += 1
        if error < best:
            best = error
            dual = v
            idle = 0
            coef = (np.where(x > z, x, 0.0) * s).sum(
                axis=0
            )  # complementary: one of them is zero
        if not (best > tol and idle < 6):
            break

        # 3. one factorisation for the predictor and the corrector [Mehrotra 1992]
        factor = _factor(A * np.sqrt((x / z).sum(axis=0)))
        mean = float(np.vdot(x, z)) / x.size
        target = -x * z
        for corrects in (False, True):
            h = (s * (target - x * slack) / z).sum(axis=0)
            dv = _solve(factor, primal - A @ h)
            dz = slack - s * (A.T @ dv)
            dx = (target - x * dz) / z

            tau = 1.0 if not corrects else min(max(0.99, 1.0 - mean), 1.0 - 1e-6)
            by_x = min(1.0, tau * _room(x, dx))
            by_z = min(1.0, tau * _room(z, dz))
            ahead = float(np.vdot(x + by_x * dx, z + by_z * dz)) / x.size
            target = mean * (ahead / mean) ** 3 - x * z - dx * dz

        # 4. the longest step that stays inside
        x = x + by_x * dx
        z = z + by_z * dz
        v = v + by_z * dv
    return coef, dual, n_iter


def _factor(B: Array) -> Array:
    """Cholesky factor of ``B B'``, of a little more where that is singular."""
    gram = B @ B.T
    factor, info = dpotrf(gram, lower=1)
    more = 1e-15 * float(np.trace(gram))
    while info and np.isfinite(more):
        factor, info = dpotrf(gram + more * np.eye(len(gram)), lower=1)
        more *= 100
    return np.asarray(factor)


def _solve(factor: Array, b: Array) -> Array:
    return np.asarray(dpotrs(factor, b, lower=1)[0])


def _room(x: Array, dx: Array) -> float:
    """Largest step along dx for which x stays positive."""
    return 1.0 / max(-float((dx / x).min()), 1e-300)
