"""Primal-dual interior point method for the ranking machine.

If ranks overlap so much that the optimum is close to zero, the kernel is nearly singular on the
optimal face and many bounds are nearly active. Steps along pairs then zigzag, and active sets
change one constraint at a time. The number of Newton steps here depends on neither.

Differs from the book [Nocedal and Wright 2006, Algorithm 16.4]: 1. Weights have two bounds. 2. The
distances to the upper bounds are variables. 3. The linear systems have one unknown for each
sample, and their solutions are refined. 4. The method stops at a relative duality gap and returns
the best point.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.tolerances import MAX_NEWTON_STEPS, PROGRESS, ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.ranking_certificate import (
    Certified,
    certificate,
    matrix_of_sums,
)
from skmoderndata._solvers.margins.ranking_faces import constraints
from skmoderndata._solvers.margins.tolerances import ZERO_WEIGHT

# Fraction of the distance to the nearest bound that a step covers.
FRACTION_TO_BOUND = 0.995
# Smallest and largest initial value of a weight, as fractions of its upper bound.
START_FRACTION = (0.1, 0.9)
# Number of steps without progress after which the method stops.
STEPS_WITHOUT_PROGRESS = 5


class Interior(NamedTuple):
    """Signed weights of both sides, the certificate there, and the number of Newton steps."""

    upper: Array  # (n,)
    lower: Array  # (n,)
    certified: Certified
    n_iter: int


class _Problem(NamedTuple):
    """`min v'Qv / 2` with `E'v = sums` and `0 <= v <= high`, `Q_cd = sign_c sign_d K_cd`."""

    K: Array  # (n, n)
    sample: Array  # (m,), sample of each constraint
    sign: Array  # (m,)
    E: Array  # (m, n_thresholds + 1)
    sums: Array  # (n_thresholds + 1,)
    high: Array  # (m,)


class _Point(NamedTuple):
    """Weights, distances from the upper bounds, and multipliers of sums and bounds."""

    v: Array
    t: Array  # `high - v`, stored because this difference would be rounded to zero
    y: Array  # multipliers of the sums
    z: Array  # multipliers of the lower bounds
    s: Array  # multipliers of the upper bounds


class _Factored(NamedTuple):
    """Factor of `Q + D` at a point."""

    problem: _Problem
    D: Array  # (m,)
    # (m,), whether the weight is the stiffer one of the two weights of its sample
    stiff: Array
    W: Array  # (n,)
    cholesky: Any  # factor of `I + W K W`


class _System(NamedTuple):
    """Equations of the Newton directions at a point."""

    factored: _Factored
    QE: Array  # (m, n_thresholds + 1), solutions for the columns of E
    schur: Array  # inverse of the matrix of the equations for the multipliers of the sums
    dual_residual: Array  # (m,)
    sums_missing: Array  # (n_thresholds + 1,)


def interior_point(
    K: Array, segments: Array, bounds: Array, *, tol: float, flat: float
) -> Interior:
    """Solve the dual of `nu_ranking` by predictor and corrector steps.

    See [Nocedal and Wright 2006, Algorithm 16.4], here with two bounds. The loop stops at the
    relative duality gap `tol`, at a function whose norm is at most `flat`, or if rounding prevents
    progress.

    Returns
    -------
    Interior
        The best of the points visited.
    """
    # scale the largest diagonal entry of the kernel and the largest bound to one
    size = float(np.abs(K.diagonal()).max())
    unit = float(bounds.max())
    problem = _problem(K, segments, bounds, size=size, unit=unit)

    point = _start(problem)
    best: Interior | None = None
    least_norm = np.inf
    last_progress = 0
    for step in range(1 + MAX_NEWTON_STEPS):
        # 1. Compute the certificate; the margin is the multiplier of the sum of all weights
        f = problem.K @ _coefficients(problem, point.v)
        g = size * unit * f
        upper, lower = _signed_weights(problem, point.v, unit)
        margin = size * unit * max(float(point.y[-1]), 0.0)
        certified = certificate(upper, lower, g, margin, segments, bounds)
        norm = certified.norm
        if not np.isfinite(norm):
            break

        # 2. Keep the best point; stop if the tolerance is met or there is no progress
        flat_function = norm <= flat
        if best is None or certified.gap < best.certified.gap or flat_function:
            best = Interior(upper, lower, certified, step)
            last_progress = step
        # count a lower norm as progress: the gap remains near 1 while the norm falls towards zero
        if norm < PROGRESS * least_norm:
            least_norm = norm
            last_progress = step
        stalled = step - last_progress > STEPS_WITHOUT_PROGRESS
        solved = certified.gap <= tol
        if solved or flat_function or stalled:
            break

        # 3. Take a predictor and corrector step
        try:
            point = _newton_step(problem, point, f)
        except linalg.LinAlgError:
            break

    assert best is not None
    tiny = ZERO_WEIGHT * bounds
    upper = np.where(best.upper > tiny, best.upper, 0.0)
    lower = np.where(best.lower < -tiny, best.lower, 0.0)
    return best._replace(upper=upper, lower=lower)


def _problem(
    K: Array, segments: Array, bounds: Array, *, size: float, unit: float
) -> _Problem:
    """State the dual in units of the kernel, `size`, and of the largest bound, `unit`."""
    sample, sign, threshold = constraints(segments)
    E = matrix_of_sums(sign, threshold)

    # the sums are equal at each threshold, and all weights add up to one
    zeros = np.zeros(len(segments) - 1)
    sums = np.r_[zeros, 1.0 / unit]
    scaled = (K + K.T) / (2.0 * size)
    high = bounds[sample] / unit
    return _Problem(scaled, sample, sign, E, sums, high)


def _start(problem: _Problem) -> _Point:
    """Start from even weights, and multipliers as large as the gradient."""
    # use equal fractions of the bounds that add up to the sum, but clip them to START_FRACTION
    least, largest = START_FRACTION
    total = float(problem.sums[-1])
    fraction = total / float(problem.high.sum())
    v = problem.high * min(max(fraction, least), largest)

    gradient = problem.K @ _coefficients(problem, v)
    tiny = np.finfo(float).tiny
    steepest = float(np.abs(gradient).max())
    multipliers = np.full(len(v), max(steepest, tiny))
    t = problem.high - v
    y = np.zeros(len(problem.sums))
    return _Point(v, t, y, multipliers, multipliers)


def _coefficients(problem: _Problem, v: Array) -> Array:
    """Return the coefficient of each sample, the sum of its signed weights."""
    n = len(problem.K)
    coef: Array = np.bincount(problem.sample, problem.sign * v, minlength=n)
    return coef


def _signed_weights(problem: _Problem, v: Array, unit: float) -> tuple[Array, Array]:
    """Return upper and lower weights of the samples, in units of the bounds."""
    n = len(problem.K)
    sample = problem.sample
    sign = problem.sign
    upper = np.zeros(n)
    lower = np.zeros(n)
    for side, members in ((upper, sign > 0), (lower, sign < 0)):
        side[sample[members]] = unit * sign[members] * v[members]
    return upper, lower


def _newton_step(problem: _Problem, point: _Point, f: Array) -> _Point:
    """Take one step of Mehrotra's method."""
    system = _newton_system(problem, point, f)

    # 1. Predictor: compute a step towards the optimum without centring
    d = _direction(system, point, 0.0, 0.0)
    predicted = _moved(point, d, _step_bound(point, d))

    # choose the centring: the cube of the ratio by which the predictor reduces the products
    mean = _complementarity(point)
    ratio = _complementarity(predicted) / mean
    n_products = 2 * len(point.v)
    target = ratio**3 * mean / n_products

    # 2. Corrector: step towards the centre, with the products of the predictor's changes
    vz = target - d.v * d.z
    ts = target - d.t * d.s
    d = _direction(system, point, vz, ts)
    step = FRACTION_TO_BOUND * _step_bound(point, d)
    return _moved(point, d, step)


def _newton_system(problem: _Problem, point: _Point, f: Array) -> _System:
    """Factorise the system at a point, and eliminate the weights from the system of the sums."""
    v, _, y, z, s = point
    E = problem.E
    factored = _factorised(problem, point)

    # invert the matrix of the equations for the sums of weights, which is nearly singular if a
    # threshold has no free weight
    QE = np.column_stack([_solve(factored, column) for column in E.T])
    schur = E.T @ QE
    symmetric = 0.5 * (schur + schur.T)
    inverse = np.linalg.pinv(symmetric, rcond=ROUNDING / 10, hermitian=True)

    # compute the residuals of Qv - Ey - z + s = 0 and E'v = sums
    gradient = problem.sign * f[problem.sample]
    dual_residual = E @ y + z - s - gradient
    sums_missing = problem.sums - E.T @ v
    return _System(factored, QE, inverse, dual_residual, sums_missing)


def _factorised(problem: _Problem, point: _Point) -> _Factored:
    """Factorise `Q + D`, where D comes from the eliminated inequalities.

    A solution only needs `I + W K W`, whose eigenvalues are at least 1: the change `da` of the
    coefficients satisfies `(1 + G K) da = b`, where `G = W^2` is the sum of `1 / D` over the
    weights of a sample.
    """
    v, t, _, z, s = point
    K = problem.K
    sample = problem.sample
    n = len(K)
    D = z / v + s / t

    # find the stiffer of two weights of a sample
    stiffest = np.zeros(n)
    np.maximum.at(stiffest, sample, D)
    several = np.bincount(sample)[sample] > 1
    stiff = several & (D == stiffest[sample])

    # form I + W K W
    inverse = 1.0 / D
    G = np.bincount(sample, inverse, minlength=n)
    W = np.sqrt(G)
    S = W[:, None] * K * W
    diagonal = np.diag_indices(n)
    # add a ridge to K, because rounding may have made its eigenvalues negative
    S[diagonal] += 1.0 + ROUNDING * W**2
    cho_factor: Any = linalg.cho_factor
    cholesky = cho_factor(S, overwrite_a=True)
    return _Factored(problem, D, stiff, W, cholesky)


def _solve(factored: _Factored, right: Array) -> Array:
    """Solve `(Q + D) x = right`."""
    problem, D, stiff, W, cholesky = factored
    sign = problem.sign
    sample = problem.sample

    # solve (1 + G K) da = b
    b = _coefficients(problem, right / D)
    solution = linalg.cho_solve(cholesky, b / W)
    change = W * np.asarray(solution)

    # compute the softer of the two weights of a sample as the remainder, so that no difference is
    # divided by a small D
    gradient = sign * (problem.K @ change)[sample]
    x = np.where(stiff, (right - gradient) / D, 0.0)
    remaining = change - _coefficients(problem, x)
    softer = sign * remaining[sample]
    return np.where(stiff, x, softer)


def _direction(system: _System, point: _Point, vz: Array | float, ts: Array | float) -> _Point:
    """Return the Newton direction to the products `v z = vz` and `t s = ts`."""
    v, t, _, z, s = point
    factored, QE, schur, dual_residual, sums_missing = system
    problem = factored.problem
    E = problem.E
    z_change = vz / v - z
    s_change = ts / t - s
    right = dual_residual + z_change - s_change

    dv = np.zeros(len(v))
    dy = np.zeros(len(sums_missing))
    # solve, and correct the rounding errors once
    for _ in range(2):
        # compute the residuals of (Q + D) dv - E dy = right and E' dv = sums_missing
        f = problem.K @ _coefficients(problem, dv)
        gradient = problem.sign * f[problem.sample]
        lacking = right - gradient - factored.D * dv + E @ dy
        x = _solve(factored, lacking)
        y_change = schur @ (sums_missing - E.T @ (dv + x))
        dy += y_change
        dv += x + QE @ y_change

    # compute the multipliers of the bounds from the linearised products
    dz = z_change - z * dv / v
    ds = s_change + s * dv / t
    return _Point(dv, -dv, dy, dz, ds)


def _step_bound(point: _Point, d: _Point) -> float:
    """Return the largest step that keeps all products non-negative."""
    step_bound = 1.0
    pairs = ((point.v, d.v), (point.t, d.t), (point.z, d.z), (point.s, d.s))
    for values, change in pairs:
        falling = change < 0
        ratios = values[falling] / -change[falling]
        nearest = float(ratios.min(initial=np.inf))
        step_bound = min(step_bound, nearest)
    return step_bound


def _moved(point: _Point, d: _Point, step: float) -> _Point:
    """Move by a step along a direction."""
    pairs = zip(point, d, strict=True)
    return _Point(*(values + step * change for values, change in pairs))


def _complementarity(point: _Point) -> float:
    """Return the sum of the products of weights and distances with their multipliers."""
    return float(point.v @ point.z + point.t @ point.s)
