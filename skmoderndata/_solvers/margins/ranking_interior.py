"""Primal-dual interior point method for the ranking machine.

Where ranks overlap so much that the optimum is close to zero, the kernel is nearly singular on the
optimal face and many bounds are nearly active: steps along pairs then zigzag, and active sets
change one constraint at a time. The number of Newton steps here does not depend on either.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.margins.ranking_certificate import Certified, certificate
from skmoderndata._solvers.margins.ranking_faces import constraints
from skmoderndata._typing import Array

MAX_NEWTON_STEPS = 100
# Fraction of the distance to the nearest bound that a step goes.
FRACTION_TO_BOUND = 0.995
# Fractions of the upper bounds between which the weights start.
START_FRACTION = (0.1, 0.9)
# Fraction of the least norm so far below which a norm counts as progress.
NORM_DECREASE = 0.9
# Number of steps without progress after which rounding has won.
STEPS_WITHOUT_PROGRESS = 5
# Weights below this fraction of their upper bound are zero in the result.
ZERO_FRACTION = 1e-9
# Number of times that rounding errors of a Newton direction are corrected.
REFINEMENTS = 1
# Ridge of the kernel matrix in the factor of a Newton step, relative to its diagonal: rounding may
# have made eigenvalues negative.
RIDGE_RELATIVE = 1e-14
# Smallest eigenvalue of the equations for the multipliers, relative to the largest, that counts.
RANK_OF_SCHUR = 1e-15


class Interior(NamedTuple):
    """Signed weights of both sides, the certificate there, and the number of Newton steps."""

    upper: Array  # (n,)
    lower: Array  # (n,)
    certified: Certified
    n_iter: int


class _Problem(NamedTuple):
    """`min v'Qv / 2` with `E'v = sums` and `0 <= v <= high`, `Q_cd = sign_c sign_d K_cd`."""

    K: Array  # (n, n)
    sample: Array  # (m,), of each constraint
    sign: Array  # (m,)
    E: Array  # (m, n_thresholds + 1)
    sums: Array  # (n_thresholds + 1,)
    high: Array  # (m,)


class _Point(NamedTuple):
    """Weights, distances from the upper bounds, and multipliers of sums and bounds."""

    v: Array
    t: Array  # carried along, as `high - v` would be rounded to zero
    y: Array  # of the sums
    z: Array  # of the lower bounds
    s: Array  # of the upper bounds


def interior_point(
    K: Array, segments: Array, bounds: Array, *, tol: float, flat: float
) -> Interior:
    """Solve the dual of `nu_ranking` by predictor and corrector steps.

    [Nocedal and Wright 2006, Algorithm 16.4, for two bounds]. It ends at the relative duality gap
    `tol`, at a function whose norm is at most `flat`, or where rounding prevents progress.

    Returns
    -------
    Interior
        The best of the points visited.
    """
    # in units of the kernel and of the largest bound
    n = len(bounds)
    size = float(np.abs(K.diagonal()).max())
    unit = float(bounds.max())
    sample, sign, threshold = constraints(segments)
    n_thresholds = len(segments) - 1
    E = np.column_stack(
        [sign[:, None] * np.eye(n_thresholds)[threshold], np.ones(len(sample))]
    )
    sums = np.r_[np.zeros(n_thresholds), 1.0 / unit]
    problem = _Problem((K + K.T) / (2.0 * size), sample, sign, E, sums, bounds[sample] / unit)

    point = _start(problem)
    best: Interior | None = None
    least_norm = np.inf
    last_progress = 0
    for step in range(1 + MAX_NEWTON_STEPS):
        # 1. certificate: thresholds and margin are the multipliers of the sums
        f = problem.K @ _coefficients(problem, point.v)
        upper = np.zeros(n)
        lower = np.zeros(n)
        for side, members in ((upper, sign > 0), (lower, sign < 0)):
            side[sample[members]] = unit * sign[members] * point.v[members]
        margin = size * unit * max(float(point.y[-1]), 0.0)
        found = certificate(upper, lower, size * unit * f, margin, segments, bounds)
        if not np.isfinite(found.norm):
            break
        if best is None or found.gap < best.certified.gap or found.norm <= flat:
            best = Interior(upper, lower, found, step)
            last_progress = step
        # the gap stays near 1 while the norm falls towards an optimum of zero
        if found.norm < NORM_DECREASE * least_norm:
            least_norm = found.norm
            last_progress = step
        stalled = step - last_progress > STEPS_WITHOUT_PROGRESS
        if found.gap <= tol or found.norm <= flat or stalled:
            break

        # 2. one step of predictor and corrector
        try:
            point = _newton_step(problem, point, f)
        except linalg.LinAlgError:
            break

    assert best is not None
    tiny = ZERO_FRACTION * bounds
    upper = np.where(best.upper > tiny, best.upper, 0.0)
    lower = np.where(best.lower < -tiny, best.lower, 0.0)
    return best._replace(upper=upper, lower=lower)


def _start(problem: _Problem) -> _Point:
    """Even weights, and multipliers as large as the gradient."""
    fraction = float(problem.sums[-1]) / float(problem.high.sum())
    v = problem.high * min(max(fraction, START_FRACTION[0]), START_FRACTION[1])
    gradient = problem.K @ _coefficients(problem, v)
    multipliers = np.full(len(v), max(float(np.abs(gradient).max()), np.finfo(float).tiny))
    return _Point(v, problem.high - v, np.zeros(len(problem.sums)), multipliers, multipliers)


def _coefficients(problem: _Problem, v: Array) -> Array:
    """Coefficient of each sample, the sum of its signed weights."""
    coef: Array = np.bincount(problem.sample, problem.sign * v, minlength=len(problem.K))
    return coef


def _newton_step(problem: _Problem, point: _Point, f: Array) -> _Point:
    """Take one step of Mehrotra's method."""
    v, t, y, z, s = point
    K, sample, sign, E, sums, _ = problem

    # once: the system `(Q + D) x = r`, with the inequalities eliminated. Its solution needs
    # `I + W K W` alone, whose eigenvalues are at least 1: with `da` the change of the
    # coefficients, `(1 + G K) da = b`, `G = W^2` the sum of `1 / D` over the weights of a sample
    D = z / v + s / t
    stiffest = np.zeros(len(K))
    np.maximum.at(stiffest, sample, D)
    stiff = (np.bincount(sample)[sample] > 1) & (D == stiffest[sample])
    W = np.sqrt(np.bincount(sample, 1.0 / D, minlength=len(K)))
    S = W[:, None] * K * W
    S[np.diag_indices(len(K))] += 1.0 + RIDGE_RELATIVE * W**2
    cho_factor: Any = linalg.cho_factor
    factor = cho_factor(S, overwrite_a=True)

    def solve(right: Array) -> Array:
        b = _coefficients(problem, right / D)
        change = W * np.asarray(linalg.cho_solve(factor, b / W))
        # the softer of two weights of a sample has the rest: no difference is divided by a small D
        solution: Array = np.where(stiff, (right - sign * (K @ change)[sample]) / D, 0.0)
        rest = change - _coefficients(problem, solution)
        return np.where(stiff, solution, sign * rest[sample])

    QE = np.column_stack([solve(column) for column in E.T])
    schur = E.T @ QE
    schur = np.linalg.pinv(0.5 * (schur + schur.T), rcond=RANK_OF_SCHUR, hermitian=True)

    dual_residual = E @ y + z - s - sign * f[sample]
    sums_missing = sums - E.T @ v

    def direction(vz: Array | float, ts: Array | float) -> _Point:
        """Newton direction to the products `v z = vz` and `t s = ts`."""
        right = dual_residual + (vz / v - z) - (ts / t - s)
        dv = np.zeros(len(v))
        dy = np.zeros(len(sums))
        for _ in range(1 + REFINEMENTS):
            # what (Q + D) dv - E dy = right and E' dv = sums_missing still lack
            x = solve(
                right - sign * (K @ _coefficients(problem, dv))[sample] - D * dv + E @ dy
            )
            more = schur @ (sums_missing - E.T @ (dv + x))
            dy += more
            dv += x + QE @ more
        return _Point(dv, -dv, dy, vz / v - z - z * dv / v, ts / t - s + s * dv / t)

    def longest(d: _Point) -> float:
        """Largest step that keeps all products non-negative."""
        pairs = ((v, d.v), (t, d.t), (z, d.z), (s, d.s))
        return min(1.0, *(float((a[b < 0] / -b[b < 0]).min(initial=np.inf)) for a, b in pairs))

    # 1. predictor: straight to the optimum
    d = direction(0.0, 0.0)
    step = longest(d)
    mean = float(v @ z + t @ s)
    reached = float((v + step * d.v) @ (z + step * d.z) + (t + step * d.t) @ (s + step * d.s))
    target = (reached / mean) ** 3 * mean / (2 * len(v))

    # 2. corrector: towards the centre, with the products of the predictor's changes
    d = direction(target - d.v * d.z, target - d.t * d.s)
    step = FRACTION_TO_BOUND * longest(d)
    return _Point(*(a + step * b for a, b in zip(point, d, strict=True)))
