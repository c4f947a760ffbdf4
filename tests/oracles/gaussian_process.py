"""Dense formulas of sparse Gaussian processes and committees, one line each."""

import numpy as np
from scipy.stats import multivariate_normal


def fitc_or_vfe(kernel, noise, Z, X, y, new, method, jitter=1e-8):
    """Objective, mean and latent variance from n x n matrices.

    Quinonero-Candela and Rasmussen (2005): the prior is Q + D, the posterior follows by the
    conditioning of Gaussians; Titsias (2009): the bound takes off tr(K - Q) / (2 s).
    """
    K_uu = kernel(Z)
    K_uu = K_uu + jitter * np.trace(K_uu) / len(Z) * np.eye(len(Z))
    K_uf = kernel(Z, X)
    K_un = kernel(Z, new)
    Q = K_uf.T @ np.linalg.solve(K_uu, K_uf)
    gap = kernel.diag(X) - np.diag(Q)
    D = np.diag(noise + (gap if method == "fitc" else 0 * gap))
    objective = multivariate_normal.logpdf(y, np.zeros(len(y)), Q + D)
    if method == "vfe":
        objective -= gap.sum() / (2 * noise)
    Q_new = K_un.T @ np.linalg.solve(K_uu, K_uf)
    prior = K_un.T @ np.linalg.solve(K_uu, K_un)
    if method == "nystroem":
        Q_new = kernel(new, X)
    if method != "sor":
        prior = kernel(new)
    gain = np.linalg.solve(Q + D, Q_new.T)
    return objective, gain.T @ y, np.diag(prior - Q_new @ gain)


def exact_log_likelihood(kernel, noise, X, y):
    """``log N(y; 0, K + s I)``."""
    return multivariate_normal.logpdf(y, np.zeros(len(y)), kernel(X) + noise * np.eye(len(y)))


def committee(betas, means, variances, prior, with_prior):
    """Combine experts at one point, term by term (Deisenroth and Ng 2015, equation 21)."""
    precision = 0.0
    weighted = 0.0
    total = 0.0
    for beta, mean, variance in zip(betas, means, variances, strict=True):
        precision += beta / variance
        weighted += beta * mean / variance
        total += beta
    if with_prior:
        precision += (1 - total) / prior
    return weighted / precision, 1 / precision


def classification_bound(kernel, Z, X, y, m, S, jitter=1e-8, n_nodes=20):
    """Bound of two classes, its parts written out; labels y of -1 and 1.

    Hensman, Matthews and Ghahramani (2015): u = L v with v ~ N(m, S) under q and N(0, I) under
    the prior; the expectations by Gauss-Hermite quadrature, sample by sample.
    """
    K_uu = kernel(Z)
    L = np.linalg.cholesky(K_uu + jitter * np.trace(K_uu) / len(Z) * np.eye(len(Z)))
    nodes, weights = np.polynomial.hermite.hermgauss(n_nodes)
    total = 0.0
    for x, label in zip(X, y, strict=True):
        k = kernel(Z, x[None])[:, 0]
        a = np.linalg.solve(L, k)
        mean = a @ m
        variance = kernel(x[None])[0, 0] - a @ a + a @ S @ a
        for node, weight in zip(nodes, weights, strict=True):
            f = mean + np.sqrt(2 * variance) * node
            total -= weight / np.sqrt(np.pi) * np.log1p(np.exp(-label * f))
    log_det = np.linalg.slogdet(S)[1]
    return total - 0.5 * (np.trace(S) + m @ m - len(m) - log_det)
