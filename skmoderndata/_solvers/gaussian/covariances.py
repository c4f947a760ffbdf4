"""Stationary covariance functions and their gradients, by products of matrices.

``k(a, b) = variance g(r^2)`` with ``r^2 = sum_j (a_j - b_j)^2 / scale_j^2``. Arrays may come from
any library of the Array API standard. No array of shape (m, n, p) is formed.
"""

import math
from typing import Any, NamedTuple

from skmoderndata._solvers.common.arrays import namespace
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import CANCELS

Array = Any


# Maximum squared distance from the centre, in length scales, at which rounding errors stay below
# 1e-10.
FAR_SQ = 1e5


class Stationary(NamedTuple):
    """A covariance function: its shape and parameters.

    Attributes
    ----------
    shape : {"rbf", "matern12", "matern32", "matern52", "rational"}
        The function g.
    variance : float
        ``k(a, a)``.
    scales : array of shape (p,)
        Length scales.
    alpha : float
        Exponent of the rational quadratic.
    """

    shape: str
    variance: float
    scales: Array
    alpha: float = 1.0


class Gradient(NamedTuple):
    """Derivatives of ``sum_ab G_ab k(a, b)`` with respect to log parameters and the points a."""

    variance: float
    scales: Array
    alpha: float
    points: Array


def squared_distances(kernel: Stationary, A: Array, B: Array) -> Array:
    """Compute ``r^2`` between the rows of A and B, accurate to the rounding error of each pair.

    Values below the rounding errors become 0, because Matern 1/2 depends on their root.
    """
    xp = namespace(A)

    # to keep digits, subtract the median of A, which a few distant rows hardly change
    centre = median(A)
    A = (A - centre) / kernel.scales
    B = (B - centre) / kernel.scales

    # compute |a|^2 + |b|^2 - 2 a'b
    a2 = xp.sum(A * A, axis=1)
    b2 = xp.sum(B * B, axis=1)
    terms = a2[:, None] + b2[None, :]
    r2 = terms - 2 * (A @ B.T)
    # set distances that may be rounding errors to zero
    r2 = xp.where(r2 > 8 * EPS * terms, r2, xp.zeros_like(r2))

    # use differences for pairs that are near each other but far from the centre
    farthest = float(xp.max(a2)) + float(xp.max(b2))
    if farthest > FAR_SQ:
        cancels = (terms > FAR_SQ) & (r2 < CANCELS * terms)
        for j in range(B.shape[0]):
            column = cancels[:, j]
            if bool(xp.any(column)):
                difference = A - B[j, :]
                exact = xp.sum(difference**2, axis=1)
                r2[:, j] = xp.where(column, exact, r2[:, j])
    return r2


def median(A: Array) -> Array:
    """Return the middle value of each column."""
    ordered = namespace(A).sort(A, axis=0)
    return ordered[A.shape[0] // 2, :]


def covariance(kernel: Stationary, A: Array, B: Array) -> Array:
    """Compute ``k(a, b)`` for the rows of A and B."""
    xp = namespace(A)
    r2 = squared_distances(kernel, A, B)

    # evaluate smooth functions of the squared distance
    if kernel.shape == "rbf":
        return kernel.variance * xp.exp(-0.5 * r2)
    if kernel.shape == "rational":
        u = r2 / (2 * kernel.alpha)
        return kernel.variance * xp.exp(-kernel.alpha * xp.log1p(u))

    # evaluate Matern functions of the distance
    r = xp.sqrt(r2)
    if kernel.shape == "matern12":
        return kernel.variance * xp.exp(-r)
    if kernel.shape == "matern32":
        r = math.sqrt(3) * r
        return kernel.variance * (1 + r) * xp.exp(-r)
    r = math.sqrt(5) * r
    polynomial = 1 + r + r * r / 3
    return kernel.variance * polynomial * xp.exp(-r)


def slope(kernel: Stationary, K: Array, r2: Array) -> Array:
    """Compute ``dk / d(r^2)``."""
    # differentiate smooth functions of the squared distance
    if kernel.shape == "rbf":
        return -0.5 * K
    if kernel.shape == "rational":
        return -0.5 * K / (1 + r2 / (2 * kernel.alpha))

    # differentiate Matern functions of the distance
    xp = namespace(r2)
    r = xp.sqrt(r2)
    # the factor is infinite at r = 0, but is multiplied by zero there, so make it finite
    if kernel.shape == "matern12":
        safe = xp.where(r > 0, r, xp.ones_like(r))
        return -0.5 * K / safe
    if kernel.shape == "matern32":
        return -1.5 * kernel.variance * xp.exp(-math.sqrt(3) * r)
    r = math.sqrt(5) * r
    scale = -(5 / 6) * kernel.variance
    return scale * (1 + r) * xp.exp(-r)


def contract(kernel: Stationary, A: Array, B: Array, K: Array, G: Array) -> Gradient:
    """Differentiate ``sum_ab G_ab k(a, b)``, where ``K = covariance(kernel, A, B)``.

    With ``H = G * dk/d(r^2)`` all sums over pairs are products of H with A, B and their squares.
    """
    xp = namespace(A)
    # the slope of "rbf" needs only K
    r2 = K if kernel.shape == "rbf" else squared_distances(kernel, A, B)
    H = G * slope(kernel, K, r2)

    # use the same centre as for the distances
    centre = median(A)
    A = (A - centre) / kernel.scales
    B = (B - centre) / kernel.scales

    rows = xp.sum(H, axis=1)
    columns = xp.sum(H, axis=0)
    HB = H @ B

    # compute the derivative with respect to the scales: sum_ab H_ab (a_j - b_j)^2
    mixed = xp.sum(A * HB, axis=0)
    spread = rows @ (A * A) + columns @ (B * B) - 2 * mixed

    # compute the derivative with respect to the exponent
    alpha = 0.0
    if kernel.shape == "rational":
        u = r2 / (2 * kernel.alpha)
        change = u / (1 + u) - xp.log1p(u)
        alpha = kernel.alpha * float(xp.sum(G * K * change))

    variance = float(xp.sum(G * K))
    points = 2 * (rows[:, None] * A - HB) / kernel.scales
    return Gradient(variance, -2 * spread, alpha, points)
