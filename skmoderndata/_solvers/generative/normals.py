"""Normal distributions of several states or components: densities and their derivatives.

Covariances have shape (n_components, n_features) for independent features, else (n_components,
n_features, n_features). Derivatives refer to ``sum_t gamma_t(k) log N(x_t; mu_k, C_k)``, added up
over the steps of each sequence; for a mixture a sequence is one sample.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.generative.hidden_markov import sums_by_sequence


def log_densities(X: Array, means: Array, covariances: Array) -> Array:
    """Return the log-densities of the rows of X, of shape (n_samples, n_components)."""
    logarithms = np.empty((len(X), len(means)))
    constant = X.shape[1] * np.log(2.0 * np.pi)
    for k, (mean, C) in enumerate(zip(means, covariances, strict=True)):
        # divide by diagonal covariances, or solve with a Cholesky factor of full covariances
        if C.ndim == 1:
            squares = ((X - mean) ** 2 / C).sum(axis=1)
            log_det = np.log(C).sum()
        else:
            L = cholesky(C, lower=True)
            squares = (solve_triangular(L, (X - mean).T, lower=True) ** 2).sum(axis=0)
            log_det = 2.0 * np.log(np.diag(L)).sum()

        logarithms[:, k] = -0.5 * (squares + log_det + constant)
    return logarithms


def mean_scores(
    X: Array, gamma: Array, means: Array, covariances: Array, offsets: Array
) -> Array:
    """Return derivatives with respect to the means, ``C_k^-1 sum_t gamma_t(k) (x_t - mu_k)``."""
    scores = []
    for k, (mean, C) in enumerate(zip(means, covariances, strict=True)):
        total = sums_by_sequence(gamma[:, [k]] * (X - mean), offsets)
        scores.append(total / C if C.ndim == 1 else np.linalg.solve(C, total.T).T)
    return np.stack(scores, axis=1)


def covariance_scores(
    X: Array, gamma: Array, means: Array, covariances: Array, offsets: Array
) -> Array:
    """Return derivatives with respect to the covariances, ``(P_k S_k P_k - n_k P_k) / 2``.

    P is the inverse of C, ``S_k = sum_t gamma_t(k) (x_t - mu_k)(x_t - mu_k)'`` and
    ``n_k = sum_t gamma_t(k)``; all entries of C count as free. For independent features only the
    diagonal is returned.
    """
    scores = []
    n = sums_by_sequence(gamma, offsets)

    for k, (mean, C) in enumerate(zip(means, covariances, strict=True)):
        d = X - mean
        weight = gamma[:, k]

        # diagonal covariances: use squares of deviations
        if C.ndim == 1:
            S = sums_by_sequence(weight[:, None] * d * d, offsets)
            scores.append(0.5 * (S / C - n[:, [k]]) / C)

        # full covariances: use outer products of deviations multiplied by the precision matrix
        else:
            P = np.linalg.inv(C)
            e = d @ P
            outer = (weight[:, None] * e)[:, :, None] * e[:, None, :]
            S = sums_by_sequence(outer.reshape(len(X), -1), offsets)
            scores.append(0.5 * (S - n[:, [k]] * P.ravel()))

    return np.stack(scores, axis=1)
