"""Newton's method on the support: the solution of minimal l1 norm from an approximate support.

Columns enter and leave until the optimality conditions hold; the systems on the support are solved
by conjugate gradients.
"""

import numpy as np

from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    RESULT_ROUNDING,
    ROUNDING,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.conjugate_gradients import (
    MAX_STEPS,
    least_squares_steps,
    normal_equations,
)
from skmoderndata._solvers.recovery.l1_problem import Candidate, Problem

# Maximum number of Newton steps.
NEWTON_STEPS = 40
# Maximum number of columns in use, as a fraction of the number of measurements.
FULL = 0.9
# Relative tolerance for the linear systems as long as many columns change.
COARSE = 1e-3


def sharpen(p: Problem, a: Array, lam: float, tol: float) -> Candidate:
    """Return the solution that follows from an approximate support and signs."""
    return _within_bound(p, a, lam, tol) if p.bound > 0 else _equality(p, a, tol)


def _equality(p: Problem, a: Array, tol: float) -> Candidate:
    """Compute coefficients on a support that contains the right one, and a dual for their signs.

    Runs least squares on the support; its residual reveals columns that are missing.
    """
    m = len(p.y)
    coef = a
    former = np.inf
    for _ in range(8):
        # 1. fit the largest coefficients; stop at an exact fit
        support = _largest(coef, m // 2)
        coef, residual = _fit(p, support, coef)
        size = float(np.linalg.norm(residual))
        if size <= ACCUMULATED_ROUNDING:
            break

        # 2. give up if there is no progress: this method cannot find the support
        if size > 0.5 * former or support.size == 0:
            return p.failure()
        former = size

        # 3. change the support by a thresholded gradient step
        threshold = 2.0 * size / float(np.sqrt(m))
        coef = p.soft(coef + p.adjoint(residual), threshold)
    else:
        return p.failure()

    # drop coefficients that are rounding errors; find a dual variable for the signs of the others
    used = np.flatnonzero(np.abs(coef) > RESULT_ROUNDING * np.abs(coef).max())
    if p.positive and coef[used].min(initial=0.0) < 0:
        return p.failure()
    if used.size < support.size:
        coef, residual = _fit(p, used, coef)
    dual = _dual_of_signs(p, used, np.sign(coef[used]), tol)
    return p.judge(coef, dual, residual=residual)


def _largest(a: Array, count: int) -> Array:
    """Return the indices of the non-zero entries of largest magnitude."""
    index = np.flatnonzero(a)
    if index.size > count:
        size = np.abs(a[index])
        least = np.partition(size, -count)[-count]
        index = index[size >= least]
    return index


def _fit(p: Problem, support: Array, start: Array) -> tuple[Array, Array]:
    """Fit on a support and also return the residual; stop early if y is outside the span."""
    full = np.zeros(p.A.shape[1])
    r = p.y
    least = np.inf
    idle = 0
    steps = least_squares_steps(*p.columns(support), p.y, start[support])
    for _, (v, r, gg) in zip(range(1 + MAX_STEPS), steps, strict=False):
        full[support] = v
        rr = float(r @ r)
        idle += 1
        if rr < 0.5 * least:
            least = rr
            idle = 0
        # a residual in the span of well-conditioned columns has a larger gradient than this
        ends = idle >= 3 if rr <= 1e-26 else gg <= 0.03 * rr
        if rr <= ROUNDING**2 or gg == 0 or ends:
            break
    return full, r


def _dual_of_signs(p: Problem, support: Array, signs: Array, tol: float) -> Array:
    """Minimise ``|v|`` with ``A_j'v = sign_j`` on the support and ``|A_j'v| <= 1`` elsewhere.

    The dual is ``min 1/2 |A h|^2 - sign'h_I + |h|_1 elsewhere`` with ``v = A h``. Newton steps:
    columns beyond 1 enter, columns whose h has the wrong sign leave.
    """
    n = p.A.shape[1]
    h = np.zeros(n)
    sign = np.zeros(n)
    sign[support] = signs
    free = sign == 0  # columns that may have to leave again
    accuracy = COARSE
    dual = np.zeros(len(p.y))
    for _ in range(NEWTON_STEPS):
        # solve for h on the active set, so that A_j'v equals the signs there
        active = np.flatnonzero(sign)
        if active.size > FULL * len(p.y):
            break
        times, cross = p.columns(active)
        goal = accuracy * float(np.sqrt(active.size))
        values = normal_equations(times, cross, sign[active], h[active], tol=goal)
        h[:] = 0.0
        h[active] = values
        dual = times(values)

        # columns that violate a constraint enter, and columns with the wrong sign leave again
        slopes = p.adjoint(dual)
        outside = sign == 0
        beyond = p.beyond(slopes, 1 + 0.1 * tol) & outside
        wrong = (h * sign > 0) & free
        change = np.count_nonzero(beyond) + np.count_nonzero(wrong)
        if change == 0 and accuracy <= ACCUMULATED_ROUNDING:
            break

        # solve accurately once few columns change
        few = change < max(3, 0.01 * active.size)
        accuracy = ACCUMULATED_ROUNDING if few else COARSE
        sign[wrong] = 0.0
        sign[beyond] = np.sign(slopes[beyond])
    return dual


def _within_bound(p: Problem, a: Array, lam: float, tol: float) -> Candidate:
    """Run Newton's method on the support of the lasso whose residual meets the bound.

    On a support I with signs s, the lasso is ``fitted - lam inner`` with the least squares
    solution `fitted` and ``inner = inv(A_I'A_I) s``, so the penalty follows from the bound.
    Coefficients that change sign leave; columns whose slope exceeds the penalty enter.
    """
    m, n = p.A.shape
    sign = np.sign(a)
    coef = a.copy()
    inner = np.zeros(n)
    best = p.failure()
    accuracy = 3e-2
    idle = 0
    least = n + 1
    change = n
    for _ in range(NEWTON_STEPS):
        # compute the segment at the penalty lam, and its derivative with respect to lam
        active = np.flatnonzero(sign)
        if not 0 < active.size <= FULL * m:
            break
        times, cross = p.columns(active)
        signs = sign[active]
        size = float(np.sqrt(active.size))
        right = p.slopes[active] - lam * signs
        goal = accuracy * lam * size
        values = normal_equations(times, cross, right, coef[active], tol=goal)
        # each pass computes the penalty again, so the derivative with respect to it need not be
        # exact
        goal = max(accuracy, 0.01) * size
        change_of = normal_equations(times, cross, signs, inner[active], tol=goal)
        # move along the segment to the point where the residual meets the bound
        residual = p.y - times(values)
        direction = times(change_of)
        move = _meeting(residual, direction, p.bound, -0.9 * lam)
        met = move is not None
        move = -0.5 * lam if move is None else move
        lam += move
        coef[active] = values - move * change_of
        inner[active] = change_of
        residual += move * direction

        # find columns that have to leave or enter
        slopes = p.adjoint(residual)
        wrong = coef * sign < 0
        beyond = p.beyond(slopes, lam * (1 + ACCUMULATED_ROUNDING)) & (sign == 0)
        change = int(np.count_nonzero(wrong) + np.count_nonzero(beyond))
        top = p.top(slopes)

        # if the bound is met, the residual provides a dual variable for the certificate
        if met and top > 0:
            dual = residual / top
            slopes_of_dual = slopes / top
            candidate = p.judge(coef.copy(), dual, residual=residual, slopes=slopes_of_dual)
            best = min(best, candidate, key=lambda c: c.badness)
            settled = change == 0 and abs(move) <= ACCUMULATED_ROUNDING * lam
            if best.badness <= 0.05 * tol or settled:
                break

        # stop if there is no progress; solve more accurately as fewer columns change
        idle = idle + 1 if change >= least else 0
        least = min(least, change)
        if idle >= 5:
            break
        finer = min(0.3 * accuracy, 0.1 * change / active.size)
        accuracy = max(finer, 0.003 * tol)

        sign[wrong] = 0.0
        sign[beyond] = np.sign(slopes[beyond])
        coef[sign == 0] = 0.0
        inner[sign == 0] = 0.0
    return best


def _meeting(r: Array, direction: Array, bound: float, least: float) -> float | None:
    """Return the largest t with ``|r + t direction| = bound``; None if it is at most `least`."""
    a = float(direction @ direction)
    b = float(r @ direction)
    inside = b * b - a * (float(r @ r) - bound**2)
    if inside < 0 or a == 0:
        return None
    t = (-b + float(np.sqrt(inside))) / a
    return t if t > least else None
