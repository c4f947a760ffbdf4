"""Gaussian process classification of two classes through inducing inputs.

With whitened values u of m inducing inputs, ``u ~ N(0, I)``, and whitened columns ``a = L^-1 k``
(``K_uu = L L'``), the latent value of a sample is ``a'u`` plus an independent remainder of
variance ``g = k(x, x) - a'a``. The posterior of u is approximated by the ``N(m, S)`` that
maximises

    F = sum_i w_i E log s(y_i f_i) - KL(N(m, S) | N(0, I)),    f_i ~ N(a_i'm, g_i + a_i'S a_i)

with labels y of -1 and 1 and the logistic function s, a lower bound of the log marginal likelihood
(Hensman, Matthews and Ghahramani 2015). Gauss-Hermite quadrature computes the expectations. In m
and the Cholesky factor C of S the bound is concave, and strongly so because of the divergence: no
other Gaussian improves it by more than half of the squared gradient.

Differs from the paper: 1. The link is logistic, not probit. 2. Natural gradients with a line
search maximise over m and S, instead of a joint ascent with the kernel's parameters. 3. The
inducing values are whitened.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.gaussian.inducing import solve_lower, solve_upper

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
WEIGHTS = WEIGHTS / WEIGHTS.sum()

# Minimum variance of a latent value.
LEAST_VARIANCE = 1e-12

# Minimum step of the line search, as a fraction of a full step.
SMALLEST_STEP = 1e-4


class Sites(NamedTuple):
    """Gaussian factors of the latent values, one per sample, in natural parameters.

    The posterior has ``S^-1 = I + sum w precision a a'`` and ``S^-1 m = sum w shift a``. Sites
    do not depend on the inducing inputs, so the sites of one kernel are a start for the next.
    """

    precision: Array
    shift: Array


class Bound(NamedTuple):
    """The maximum of the bound over Gaussians, and its derivatives there."""

    objective: float
    gap: float  # certificate: no Gaussian improves the bound by more than this
    m: Array  # mean
    R: Array  # Cholesky factor of S^-1
    # (n,), derivative of the expected log likelihood of each sample with respect to the mean of
    # its latent value
    slope: Array
    # (n,), -2 times the derivative of the expected log likelihood of each sample with respect to
    # the variance of its latent value
    curvature: Array
    sites: Sites
    n_iter: int
    converged: bool


def expectations(y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Compute the mean of ``log s(y f)``, its d/d mean, and its -2 d/d variance."""
    std = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    z = y[:, None] * (mean[:, None] + std[:, None] * NODES)
    value = -np.logaddexp(0.0, -z) @ WEIGHTS

    # compute d log s(y f) / d f = y s(-y f) at the nodes
    slopes = y[:, None] * expit(-z)
    return value, slopes @ WEIGHTS, -(slopes @ (WEIGHTS * NODES)) / std


def first_sites(y: Array) -> Sites:
    """Return the sites of latent values with mean and variance zero."""
    return Sites(np.full(len(y), 0.25), 0.5 * y)


def maximise_bound(
    A: Array, g: Array, y: Array, w: Array, sites: Sites, *, tol: float, max_iter: int
) -> Bound:
    """Maximise F over m and S, by natural gradients with a line search.

    A (m x n) holds the whitened columns, `g` (n) the variances g. A full step replaces the sites
    by the slopes and curvatures at the present posterior; for the mean, this is Newton's method.
    Stops when the certificate is at most `tol` times the sum of the weights.
    """
    size = A.shape[0]
    eye = np.eye(size)
    present: Bound | None = None
    step = 1.0
    B = eye + (A * (w * sites.precision)) @ A.T
    shift = A @ (w * sites.shift)
    old_B = new_B = B
    old_shift = new_shift = shift
    limit = tol * float(w.sum())

    for n_iter in range(1, max_iter + 1):
        # 1. compute the posterior for the current sites, and the bound
        R = np.linalg.cholesky(B)
        m = solve_upper(R, solve_lower(R, shift[:, None]))[:, 0]
        mean = m @ A
        variance = g + np.sum(solve_lower(R, A) ** 2, axis=0)
        expected, slope, curvature = expectations(y, mean, variance)
        C_inverse = solve_lower(R, eye)
        divergence = np.sum(C_inverse**2) + m @ m - size + 2 * np.sum(np.log(np.diag(R)))
        value = float(w @ expected - 0.5 * divergence)

        # 2. halve the step if the bound has decreased
        if present is not None and step > SMALLEST_STEP:
            if value < present.objective - ACCUMULATED_ROUNDING * abs(present.objective):
                step /= 2
                B = (1 - step) * old_B + step * new_B
                shift = (1 - step) * old_shift + step * new_shift
                continue

        # 3. compute the new sites at this posterior, and the certificate
        new_sites = Sites(curvature, curvature * mean + slope)
        new_B = eye + (A * (w * curvature)) @ A.T
        new_shift = A @ (w * new_sites.shift)
        gap = _gap(A @ (w * slope) - m, new_B, C_inverse)
        present = Bound(value, gap, m, R, slope, curvature, new_sites, n_iter, gap <= limit)
        if present.converged:
            break

        # 4. take a full step
        step = 1.0
        old_B = B
        old_shift = shift
        B = new_B
        shift = new_shift

    assert present is not None
    return present._replace(n_iter=n_iter)


def _gap(by_mean: Array, new_B: Array, C_inverse: Array) -> float:
    """Return half of the squared gradient with respect to m and the Cholesky factor C of S.

    The gradient with respect to C is the lower triangle of ``diag(1 / C) - (I + A Lambda A') C``.
    """
    S = C_inverse.T @ C_inverse
    C = np.linalg.cholesky(S)
    by_C = np.tril(new_B @ C)
    by_C[np.diag_indices(len(C))] -= 1 / np.diag(C)
    return float(0.5 * (by_mean @ by_mean + np.sum(by_C**2)))


class KernelSlopes(NamedTuple):
    """Derivatives of the bound with respect to the kernel values."""

    K_uf: Array
    prior: Array  # gradient with respect to k(x, x)
    K_uu: Array


def kernel_slopes(L: Array, A: Array, w: Array, bound: Bound) -> KernelSlopes:
    """Differentiate the bound with respect to the kernel values, at its maximum over m and S."""
    curvature = w * bound.curvature
    half = solve_lower(bound.R, A)
    SA = solve_upper(bound.R, half)
    by_A = np.outer(bound.m, w * bound.slope) - (SA - A) * curvature

    # differentiate through A = L^-1 K_uf, and through the Cholesky factor of K_uu
    M = by_A @ A.T
    triangle = -np.tril(M)
    triangle[np.diag_indices(len(M))] *= 0.5
    by_L = solve_upper(L, solve_upper(L, (triangle + triangle.T) / 2).T)
    return KernelSlopes(solve_upper(L, by_A), -0.5 * curvature, by_L)


def mean_probability(mean: Array, variance: Array) -> Array:
    """Return the probability of label 1: the mean of ``s(f)`` over Gaussian f.

    Nodes are taken in pairs, so that a mean of zero gives exactly 1/2 whatever the order of sums.
    Otherwise, rounding would choose the class far from all data, differently in each batch.
    """
    std = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    positive = NODES > 0
    far = std[:, None] * NODES[positive]
    odd = np.tanh(0.5 * (mean[:, None] + far)) + np.tanh(0.5 * (mean[:, None] - far))
    return np.asarray(0.5 + 0.5 * (odd @ WEIGHTS[positive]))
