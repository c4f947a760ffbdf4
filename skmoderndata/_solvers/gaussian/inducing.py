"""Gaussian process regression through inducing inputs.

m inducing inputs Z represent n samples. With ``Q = K_fu K_uu^-1 K_uf``, the sum ``Q + D`` replaces
the exact covariance ``K + s I`` of the targets (noise variance s), where D is diagonal:

=======  =====================  ==========================================================
name     D                      objective
=======  =====================  ==========================================================
sor,dtc  ``s I``                ``log N(y; 0, Q + D)``
fitc     ``diag(K - Q) + s I``  the same
vfe      ``s I``                the same minus ``tr(K - Q) / (2 s)``, a bound of the exact one
=======  =====================  ==========================================================

A sample of weight w counts as w equal samples. `t` targets share the covariance, and their
objectives add up. Sums are over whitened columns ``a = L^-1 k`` with ``K_uu = L L'``, so that
``B = I + sum a a' / d`` stays positive definite despite rounding. Arrays may come from any
library of the Array API standard.

As in the papers (Quinonero-Candela and Rasmussen 2005; Titsias 2009), with weights and several
targets.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsm

from skmoderndata._solvers.common.arrays import namespace
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING

Array = Any

# Maximum jitter, as a fraction of the mean of the diagonal.
LARGEST_JITTER = 1e-4


class Sums(NamedTuple):
    """Sums over samples, which add up over blocks; ``a = L^-1 k`` is the column of a sample.

    For "fitc", `d` is the entry of D of the sample. Otherwise it is 1, and `scaled` applies D.

    Attributes
    ----------
    n : float
        ``sum w``.
    prior : float
        ``sum w k(x, x)``.
    precision : float
        ``sum w / d``.
    log_d : float
        ``sum w log d``.
    P : array of shape (m, m)
        ``sum w a a' / d``.
    q : array of shape (m,)
        ``sum w a / d``.
    b : array of shape (m, t)
        ``sum w a (y - shift)' / d``.
    y : array of shape (t,)
        ``sum w (y - shift) / d``.
    yy : array of shape (t,)
        ``sum w (y - shift)^2 / d``.
    moments : array of shape (2, t)
        ``sum w (y - shift)`` and ``sum w (y - shift)^2``.
    shift : array of shape (t,)
        A value near the targets, which keeps digits.
    """

    n: float
    prior: float
    precision: float
    log_d: float
    P: Array
    q: Array
    b: Array
    y: Array
    yy: Array
    moments: Array
    shift: Array


def sums(A: Array, prior: Array, Y: Array, w: Array, d: Array, shift: Array) -> Sums:
    """Compute the sums of a block: A (m x n), ``prior = k(x, x)`` (n), Y (n x t), w and d (n)."""
    xp = namespace(A)
    Y = Y - shift
    u = w / d
    root = xp.sqrt(u)

    squares = Y * Y
    n = float(xp.sum(w))
    total_prior = float(xp.sum(w * prior))
    precision = float(xp.sum(u))
    log_d = float(xp.sum(w * xp.log(d)))

    # BLAS needs half the work for the product of a matrix with its own transpose
    weighted = A * root[None, :]
    P = weighted @ weighted.T
    q = weighted @ root
    b = weighted @ (root[:, None] * Y)

    y = u @ Y
    yy = u @ squares
    moments = xp.stack([w @ Y, w @ squares])
    return Sums(n, total_prior, precision, log_d, P, q, b, y, yy, moments, shift)


def add(first: Sums, second: Sums) -> Sums:
    """Add the sums of two sets of samples, converted to the shift of the first."""
    xp = namespace(second.moments)
    e = second.shift - first.shift
    n = second.n
    y = second.y
    precision = second.precision
    first_power = second.moments[0, :]
    second_power = second.moments[1, :]

    # expand sums of powers of y - shift about the first shift
    b = second.b + second.q[:, None] * e[None, :]
    yy = second.yy + 2 * e * y + precision * e * e
    moved_power = second_power + 2 * e * first_power + n * e * e
    moments = xp.stack([first_power + n * e, moved_power])

    moved = second._replace(b=b, y=y + precision * e, yy=yy, moments=moments)
    pairs = zip(first[:-1], moved[:-1], strict=True)
    added = [a + b for a, b in pairs]
    return Sums._make([*added, first.shift])


def target_moments(total: Sums) -> tuple[Array, Array]:
    """Return the mean and standard deviation of each target, 1 for constant targets."""
    xp = namespace(total.moments)
    mean = total.moments[0, :] / total.n
    variance = total.moments[1, :] / total.n - mean * mean

    # check that the variation, compared with the size of the targets, is more than rounding error
    positive = xp.where(variance > 0, variance, 0 * variance)
    size = xp.abs(total.shift + mean) + xp.sqrt(positive)
    varies = variance > (100 * EPS * size) ** 2
    std = xp.sqrt(xp.where(varies, variance, xp.ones_like(variance)))

    return total.shift + mean, std


def scaled(total: Sums, mean: Array, std: Array, s: float) -> Sums:
    """Scale to targets ``(y - mean) / std`` and noise variance s (1 if `d` contains s already)."""
    e = mean - total.shift
    precision = total.precision

    # compute the sums for y - mean from the sums for y - shift
    b = total.b - total.q[:, None] * e[None, :]
    y = total.y - precision * e
    yy = total.yy - 2 * e * total.y + precision * e * e

    # convert to units of the standard deviation, and divide by the noise
    b = b / std / s
    y = y / std / s
    yy = yy / (std * std) / s
    P = total.P / s
    q = total.q / s
    log_d = total.log_d + total.n * math.log(s)
    sums_of_a = total._replace(precision=precision / s, log_d=log_d, P=P, q=q)
    return sums_of_a._replace(b=b, y=y, yy=yy)


def cholesky_with_jitter(K: Array, jitter: float) -> tuple[Array | None, float]:
    """Return the Cholesky factor of ``K + jitter mean(diag K) I``, and the final jitter.

    Multiplies the jitter by 10 until the factor exists; the factor is None if 1e-4 fails.
    """
    xp = namespace(K)
    trace = float(xp.linalg.trace(K))
    diagonal = trace / K.shape[0] or 1.0  # the kernel may be 0 everywhere
    eye = identity(K)

    while jitter <= LARGEST_JITTER:
        try:
            L = xp.linalg.cholesky(K + (jitter * diagonal) * eye)
            if bool(xp.all(xp.isfinite(L))):
                return L, jitter
        # torch raises RuntimeError instead of LinAlgError
        except (np.linalg.LinAlgError, RuntimeError):
            pass
        jitter = max(10 * jitter, ACCUMULATED_ROUNDING)

    return None, jitter


class Factors(NamedTuple):
    """``B = I + P = R R'``, ``c = R^-1 b``, ``u = B^-1 b``, ``v = L^-T u``."""

    R: Array
    c: Array
    u: Array
    v: Array


def factors(L: Array, total: Sums) -> Factors:
    """Compute the factors from sums that `scaled` has returned."""
    B = identity(L) + (total.P + total.P.T) / 2
    R = namespace(L).linalg.cholesky(B)
    c = solve_lower(R, total.b)
    u = solve_upper(R, c)
    return Factors(R, c, u, solve_upper(L, u))


def log_likelihood(total: Sums, fac: Factors) -> float:
    """Return ``log N(y; 0, Q + D)``, added up over targets."""
    xp = namespace(fac.c)
    explained = float(xp.sum(fac.c * fac.c))
    fit = float(xp.sum(total.yy)) - explained
    return _gaussian(total, fac.R, fit)


def _gaussian(total: Sums, R: Array, fit: float) -> float:
    """Return ``-1/2 (n log 2 pi + log |Q + D| + fit)`` of all targets with quadratic form fit."""
    xp = namespace(R)
    roots = xp.linalg.diagonal(R)
    log_roots = float(xp.sum(xp.log(roots)))
    log_det = 2 * log_roots + total.log_d
    t = total.b.shape[1]
    return -0.5 * float(t * (total.n * math.log(2 * math.pi) + log_det) + fit)


def trace_penalty(total: Sums, s: float) -> float:
    """Return ``tr(K - Q) / (2 s)`` for one target, from sums that are scaled by s."""
    trace_Q = float(namespace(total.P).linalg.trace(total.P))
    return max(total.prior / s - trace_Q, 0.0) / 2


def upper_bound(total: Sums, fac: Factors, s: float) -> float:
    """Return an upper bound of the exact log likelihood (Titsias 2014, equation 7).

    ``-n/2 log 2 pi - 1/2 log|Q + s I| - 1/2 y'(Q + (e + s) I)^-1 y`` with ``e = tr(K - Q)``. The
    sums must be scaled to noise variance s.
    """
    xp = namespace(fac.R)
    ratio = 1 / (1 + 2 * trace_penalty(total, s))  # s / (s + e)
    B = identity(fac.R) + ratio * (total.P + total.P.T) / 2
    R = xp.linalg.cholesky(B)
    c = ratio * solve_lower(R, total.b)
    explained = float(xp.sum(c * c))
    fit = ratio * float(xp.sum(total.yy)) - explained
    return _gaussian(total, fac.R, fit)


class Slopes(NamedTuple):
    """Parts of the gradient of the objective that need the sums of all blocks."""

    # derivative of the objective with respect to K_uu, without the terms that fitc adds for each
    # block
    K_uu: Array
    B_inverse: Array
    # derivative of the objective with respect to log s; 0 for fitc, which adds it for each block
    log_s: float


def slopes(L: Array, total: Sums, fac: Factors, s: float, method: str) -> Slopes:
    """Differentiate the objective with respect to K_uu and log s, from sums scaled by s."""
    xp = namespace(L)
    t = total.b.shape[1]
    u = fac.u
    eye = identity(L)
    inverse = solve_lower(fac.R, eye)
    B_inverse = inverse.T @ inverse

    # compute the derivative with respect to the whitened K_uu
    whitened = t * (eye - B_inverse) - u @ u.T
    log_s = 0.0
    if method == "vfe":
        whitened = whitened - t * total.P

    # compute the derivative with respect to the logarithm of the noise
    if method != "fitc":
        n_free = L.shape[0] - float(xp.linalg.trace(B_inverse))
        u_P_u = float(xp.sum(u * (total.P @ u)))
        u_b = float(xp.sum(u * total.b))
        yy = float(xp.sum(total.yy))
        log_s = 0.5 * (-t * total.n + t * n_free + u_P_u - 2 * u_b + yy)
    if method == "vfe":
        log_s += t * trace_penalty(total, s)

    return Slopes(0.5 * unwhiten(L, whitened), B_inverse, log_s)


def unwhiten(L: Array, S: Array) -> Array:
    """Compute ``L^-T S L^-1`` for symmetric S."""
    return solve_upper(L, solve_upper(L, S).T)


class BlockSlopes(NamedTuple):
    """Derivatives of the objective with respect to the kernel values of one block."""

    K_uf: Array
    prior: Array  # derivative with respect to k(x, x)
    K_uu: Array | float
    log_s: float


def block_slopes(
    L: Array,
    A: Array,
    Y: Array,
    w: Array,
    d: Array,
    s: float,
    method: str,
    slope: Slopes,
    u: Array,
) -> BlockSlopes:
    """Differentiate with respect to K_uf (m x n) of one block, where d holds the entries of D.

    With the whitened column a and the entry D of a sample, the derivative with respect to a is
    ``w (u y - (t B^-1 + u u') a) / D``. "vfe" adds ``t w a / s``, "fitc" the derivative through
    ``D = k(x, x) - a'a + s``.
    """
    xp = namespace(A)
    t = Y.shape[1]
    weight = w / d

    # each sample has its own noise variance ("fitc")
    if method == "fitc":
        BA = slope.B_inverse @ A
        residual = Y - A.T @ u
        by_a = (u @ residual.T - t * BA) * weight[None, :]
        variance = xp.sum(A * BA, axis=0)
        quadratic = t * variance + xp.sum(residual**2, axis=1)
        by_d = 0.5 * weight * (quadratic / d - t)
        AD = A * by_d[None, :]
        K_uf = solve_upper(L, by_a - 2 * AD)
        K_uu = unwhiten(L, AD @ A.T)
        log_s = s * float(xp.sum(by_d))
        return BlockSlopes(K_uf, by_d, K_uu, log_s)

    # the noise is the same for all samples ("vfe" and "dtc")
    S = t * slope.B_inverse + u @ u.T
    prior = 0 * weight
    if method == "vfe":
        S = S - t * identity(L)
        prior = -0.5 * t * weight
    fitted = solve_upper(L, S) @ A
    K_uf = solve_upper(L, u) @ Y.T - fitted
    return BlockSlopes(K_uf * weight[None, :], prior, 0.0, 0.0)


def identity(K: Array) -> Array:
    """Return the unit matrix with the size, type and device of K."""
    return namespace(K).eye(K.shape[0], dtype=K.dtype, device=K.device)


def solve_lower(L: Array, B: Array) -> Array:
    """Compute ``L^-1 B`` for lower triangular L; the standard has no triangular solve."""
    if isinstance(L, np.ndarray):
        # solve from the right for the transpose, which has Fortran layout, so that a wide B is not
        # copied
        return dtrsm(1.0, L, B.T, side=1, lower=1, trans_a=1).T
    return namespace(L).linalg.solve(L, B)


def solve_upper(L: Array, B: Array) -> Array:
    """Compute ``L^-T B`` for lower triangular L."""
    if isinstance(L, np.ndarray):
        return dtrsm(1.0, L, B.T, side=1, lower=1).T
    return namespace(L).linalg.solve(L.T, B)


def greedy_points(diagonal, row, m):
    """Select at most m samples by pivoted Cholesky, each time the one with the largest variance.

    `row(i)` gives ``k(x_i, x)`` for all samples. Burt, Rasmussen and van der Wilk (2020), 4.2.
    """
    # variance of each sample given the selected samples
    residual = np.array(diagonal, dtype=np.float64)
    first = residual.max()
    selected: list[int] = []
    F = np.empty((m, len(residual)))

    for k in range(min(m, len(residual))):
        i = int(np.argmax(residual))
        if residual[i] <= ACCUMULATED_ROUNDING * first:
            break

        # compute a row of the Cholesky factor; the variance falls by its square
        explained = F[:k, i] @ F[:k]
        root = np.sqrt(residual[i])
        F[k] = (row(i) - explained) / root
        residual -= F[k] ** 2
        residual[i] = 0.0
        selected.append(i)
    return np.array(selected)
