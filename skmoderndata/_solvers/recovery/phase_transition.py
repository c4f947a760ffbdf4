"""Theory of how many non-zeros can be recovered from how many measurements."""

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, ndtr

from skmoderndata._solvers.common.typing import Array

# Ridge on the coefficients of the logistic curve.
LOGISTIC_RIDGE = 1e-6


def l1_threshold(delta: Array, *, positive: bool = False) -> Array:
    """Return the largest number of non-zeros per measurement for which l1 minimisation succeeds.

    This is the limit for large problems with `delta` Gaussian measurements per unknown [Donoho and
    Tanner 2009, weak threshold]. With e non-zeros per unknown, the required number of measurements
    per unknown is

    ``min over t  e (1 + t^2) + (1 - e) c ((1 + t^2) Phi(-t) - t phi(t))``, c = 2 (1 if positive).

    At the minimum, ``e / (1 - e) = c (phi(t) / t - Phi(-t))``, so that t determines both e and
    delta.
    """
    sides = 1.0 if positive else 2.0

    def point(t: float) -> tuple[float, float]:
        density = float(np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi))
        tail = float(ndtr(-t))
        odds = sides * max(density / t - tail, 0.0)
        e = odds / (1 + odds)
        square = 1 + t * t
        needed = e * square + (1 - e) * sides * (square * tail - t * density)
        return e, needed

    # for each fraction in delta, find the t for which this fraction of measurements is needed
    out = np.empty(len(delta))
    for i, fraction in enumerate(delta):
        if fraction >= 1:
            out[i] = 1.0
            continue

        def excess(t: float, fraction: float = fraction) -> float:
            return point(t)[1] - fraction

        t = brentq(excess, 1e-9, 12.0)
        density, _ = point(t)
        out[i] = density / fraction
    return out


def half_success(rho: Array, hits: Array, trials: Array) -> float:
    """Return the sparsity at which a logistic curve through success rates is one half.

    ``P(success) = expit(b (middle - rho))`` is fitted by maximum likelihood, with half an
    observation of each kind added for every rho. NaN if the rates do not cross one half.
    """
    # return NaN unless the success rates cross one half
    fraction = hits / trials
    if not (fraction.max() >= 0.5 > fraction.min()):
        return float("nan")

    # fit a logistic regression, adding half a success and half a failure for each rho
    hits = hits + 0.5
    trials = trials + 1.0
    unit = np.ptp(rho) or 1.0
    x = (rho - rho.mean()) / unit
    D = np.column_stack([np.ones_like(x), x])

    def misfit(w: Array) -> tuple[float, Array]:
        z = D @ w
        log_loss = float(trials @ np.logaddexp(0, z) - hits @ z)
        gradient = D.T @ (trials * expit(z) - hits) + LOGISTIC_RIDGE * w
        return log_loss + 0.5 * LOGISTIC_RIDGE * float(w @ w), gradient

    w = minimize(misfit, np.zeros(2), jac=True).x
    if w[1] >= 0:
        return float("nan")
    return float(rho.mean() - w[0] / w[1] * unit)
