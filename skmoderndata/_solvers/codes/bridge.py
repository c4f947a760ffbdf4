"""Bridge regression: least squares with the penalty ``sum |b|^q`` (Frank and Friedman 1993).

With the Gram matrix ``G = X'WX / sum w`` and ``c = X'W y / sum w`` of centred X and y, the
objective is ``1/2 (yy - 2 c'b + b'G b) + alpha sum |b_j|^q``. If there are many features, most
coefficients stay at zero, and only the block of G that belongs to a working set is computed.

Differs from the paper, which only defines the estimate: 1. Coordinate descent for q >= 1, up to a
duality gap. 2. Tangents of a smoothed penalty for q < 1, up to a stationary point.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap, relative_gaps
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.tolerances import BISECTIONS, ROUNDING, SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array

# Smallest smoothing for exponents below 1, as a fraction of the largest coefficient.
SMALLEST = 1e-10
# Maximum number of features whose Gram matrix is formed at once.
FULL_GRAM_UP_TO = 1000
# Minimum number of features added to the working set at a time; otherwise it doubles.
ADDED_FEATURES = 50


class BridgeResult(NamedTuple):
    """Coefficients, relative duality gap (NaN for q < 1), KKT residual, and number of sweeps."""

    coef: Array
    gap: float
    kkt_residual: float
    n_iter: int


@jit
def sweep(G, penalties, q, positive, b, g):
    """Minimise over each coefficient in turn; return the largest change of the fit.

    The penalty of coefficient j is ``penalties[j] |b_j|^q`` with q of at least 1. Coefficients b
    and correlations ``g = c - G b`` are updated in place.
    """
    largest = 0.0
    for j in range(len(b)):
        a = G[j, j]
        if a == 0.0:
            continue

        # compute the correlation with the residual of the other features
        z = g[j] + a * b[j]
        new = 0.0
        if not (positive and z < 0):
            new = np.sign(z) * shrink(abs(z), a, penalties[j], q)

        step = new - b[j]
        if step != 0.0:
            b[j] = new
            for i in range(len(b)):
                g[i] -= G[j, i] * step
            largest = max(largest, abs(step) * np.sqrt(a))
    return largest


@jit
def shrink(z, a, penalty, q):
    """Return ``argmin_t a t^2 / 2 - z t + penalty t^q`` over t >= 0, for z >= 0 and q >= 1.

    For q > 1 it is the root of ``f(t) = a t + penalty q t^(q - 1) = z``. f is concave for q < 2
    and convex for q > 2, so Newton's method converges monotonically from below the root, or from
    above it.
    """
    # use closed forms for q = 1, for q = 2, and if the input or the penalty is zero
    if q == 1.0:
        return max(z - penalty, 0.0) / a
    if z == 0.0 or penalty == 0.0:
        return z / a
    if q == 2.0:
        return z / (a + 2 * penalty)

    # start Newton's method below the root if f is concave, and above it otherwise
    p = q - 1.0
    # bound both terms of f by the same level: z / 2 gives f <= z, and z gives f >= z
    level = 0.5 * z if q < 2.0 else z
    t = min(level / a, (level / (penalty * q)) ** (1 / p))

    for _ in range(BISECTIONS):
        if t == 0.0:
            break
        power = penalty * q * t ** (p - 1)
        step = (z - a * t - power * t) / (a + p * power)
        t += step
        if abs(step) <= ROUNDING * t:
            break
    return t


class Moments(NamedTuple):
    """Functions and moments of the data that the objective needs."""

    gram: Callable[[Array, Array], Array]  # block of G for two sets of features
    products: Callable[[Array], Array]  # G b, for coefficients b of all features
    c: Array  # correlations with the target
    norms: Array  # square roots of the diagonal of G
    yy: float


class WorkingSet:
    """Features that may be non-zero (all of them if they are few), and their coefficients."""

    def __init__(self, moments: Moments, complete: bool) -> None:
        self.moments = moments
        self.complete = complete
        self.indices = np.arange(len(moments.c) if complete else 0)
        self.b = np.zeros(len(self.indices))
        self.c = moments.c[self.indices]
        self.G = moments.gram(self.indices, self.indices)
        self.g = self.c.copy()

    def slopes(self) -> Array:
        """Correlations of all features with the residual."""
        if self.complete:
            return self.g
        return self.moments.c - self.moments.products(self.coef())

    def coef(self) -> Array:
        """Coefficients of all features."""
        coef = np.zeros(len(self.moments.c))
        coef[self.indices] = self.b
        return coef

    def add(self, excess: Array) -> bool:
        """Add features with the largest positive `excess`; return False if there are none."""
        excess[self.indices] = 0.0
        outside = np.flatnonzero(excess > 0.0)
        if len(outside) == 0:
            return False
        size = min(len(outside), max(ADDED_FEATURES, len(self.indices)))
        largest = np.argsort(-excess[outside], kind="stable")[:size]
        added = np.sort(outside[largest])

        beside = self.moments.gram(self.indices, added)
        among = self.moments.gram(added, added)
        self.G = np.block([[self.G, beside], [beside.T, among]])
        self.indices = np.append(self.indices, added)
        self.b = np.append(self.b, np.zeros(size))
        self.c = self.moments.c[self.indices]
        self.g = self.c - self.G @ self.b
        return True


def bridge(
    moments: Moments,
    *,
    alpha: float,
    q: float,
    positive: bool = False,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> BridgeResult:
    """Compute the coefficients of bridge regression.

    For q >= 1, coordinate descent runs until the relative duality gap is at most `tol`. For q < 1,
    the concave penalty ``sum (|b| + e)^q`` is replaced repeatedly by its tangent, a weighted
    lasso, while e is halved from the size of the lasso's coefficients; the result is a stationary
    point with a KKT residual of at most `tol`.

    Sweeps run over a working set. When they settle, features outside that would move are added.
    """
    complete = q > 1 or alpha == 0 or len(moments.c) <= FULL_GRAM_UP_TO
    work = WorkingSet(moments, complete)
    it = Iterations(max_iter, tol, progress)
    if q >= 1:
        gap = _convex_sweeps(work, it, alpha, q, positive)
    else:
        _concave_sweeps(work, it, alpha, q, positive)
        gap = float("nan")

    b = work.coef()
    violation = kkt_residual(b, moments.c, work.slopes(), alpha, q, positive)
    return BridgeResult(b, gap, violation, it.n_iter)


def _convex_sweeps(
    work: WorkingSet, it: Iterations, alpha: float, q: float, positive: bool
) -> float:
    """Run coordinate descent for q >= 1; return the gap over all features."""
    _, _, c, _, yy = work.moments
    for _ in it:
        penalties = np.full(len(work.b), alpha)
        sweep(work.G, penalties, q, positive, work.b, work.g)
        it.residual = duality_gap(work.b, work.c, work.g, yy, alpha, q, positive)

        # the residual ignores features outside the working set, so check these as well
        if it.residual <= it.tol and not work.complete:
            slopes = work.slopes()
            it.residual = duality_gap(work.coef(), c, slopes, yy, alpha, q, positive)
            work.add((slopes if positive else np.abs(slopes)) - alpha)
    return duality_gap(work.coef(), c, work.slopes(), yy, alpha, q, positive)


def _concave_sweeps(
    work: WorkingSet, it: Iterations, alpha: float, q: float, positive: bool
) -> None:
    """Solve weighted lassos for q < 1; halve the smoothing e whenever they settle."""
    _, _, c, norms, yy = work.moments
    largest = np.max(np.abs(c), initial=0.0)
    curvature = max(float(norms.max(initial=0.0)) ** 2, SMALLEST_DIVISOR)
    scale = float(largest / curvature)
    negligible = it.tol * float(np.sqrt(max(yy, 0.0)))  # largest negligible change of the fit
    e = scale

    for _ in it:
        penalties = np.zeros(len(work.b))
        if scale > 0:
            penalties = alpha * q * (np.abs(work.b) + e) ** (q - 1)
        step = sweep(work.G, penalties, 1.0, positive, work.b, work.g)
        settled = step <= negligible

        # add features outside the working set if zero is not optimal for their coefficient
        if settled and not work.complete and scale > 0:
            slopes = work.slopes()
            excess = (slopes if positive else np.abs(slopes)) - alpha * q * e ** (q - 1)
            settled = not work.add(excess - negligible * norms)

        it.residual = np.inf
        if settled and e <= SMALLEST * scale:
            it.residual = kkt_residual(work.coef(), c, work.slopes(), alpha, q, positive)
        elif settled:
            e *= 0.5


def duality_gap(
    b: Array, c: Array, g: Array, yy: float, alpha: float, q: float, positive: bool
) -> float:
    """Return the objective minus the dual objective, relative to ``yy / 2``, for q >= 1.

    The dual function at the residual r is ``r'y - r'r / 2 - sum h*(x_j'r)`` (over sum w), with
    ``h*(u) = (q - 1) alpha (|u| / (alpha q))^(q / (q - 1))``. For q = 1, the constraint
    ``|u| <= alpha`` takes the place of h*, and r is scaled to fulfil it.
    """
    if yy <= 0:
        return 0.0
    rr = max(float(yy - c @ b - g @ b), 0.0)
    ry = float(yy - c @ b)
    u = np.maximum(g, 0) if positive else np.abs(g)
    primal = rr / 2 + alpha * float(np.sum(np.abs(b) ** q))

    steepest = u.max(initial=0.0)
    if alpha == 0:  # without a penalty, use the violation of the normal equations
        slopes = np.abs(g * b).sum() + steepest * np.abs(b).sum()
        return relative_gap(slopes, 0.0, unit=yy / 2)

    # dual value: from the best multiple of the residual if q = 1, else from the conjugate of the
    # penalty
    if q == 1:
        s = min(1.0, alpha / max(float(steepest), SMALLEST_DIVISOR))
        dual = s * ry - s * s * rr / 2
    else:
        power = q / (q - 1)
        with np.errstate(over="ignore"):
            conjugate = (q - 1) * alpha * (u / (alpha * q)) ** power
        dual = ry - rr / 2 - float(conjugate.sum())
    return relative_gap(primal, max(dual, 0.0), unit=yy / 2)  # r = 0 has the dual value 0


def kkt_residual(
    b: Array, c: Array, g: Array, alpha: float, q: float, positive: bool
) -> float:
    """Return the largest violation of the optimality conditions, relative to ``max |c|``.

    They are ``x_j'r = alpha q |b_j|^(q - 1) sign(b_j)``; at ``b_j = 0``, any slope is optimal for
    q < 1, and ``|x_j'r| <= alpha`` for q = 1.
    """
    scale = float(np.abs(c).max(initial=0.0))
    if scale == 0:
        return 0.0
    used = b != 0
    violation = np.zeros(len(b))
    coef = b[used]
    slope = alpha * q * np.abs(coef) ** (q - 1) * np.sign(coef)
    violation[used] = np.abs(g[used] - slope)
    u = np.maximum(g, 0) if positive else np.abs(g)
    if q >= 1:
        allowed = alpha if q == 1 else 0.0
        violation[~used] = relative_gaps(u[~used], allowed, unit=1.0)
    return relative_gap(violation.max(initial=0.0), 0.0, unit=scale)
