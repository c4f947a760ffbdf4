"""Slow references of discriminant analysis, in the coordinates of the samples."""

import numpy as np
from scipy.linalg import eigh


def fisher_ratio(w, X, y, ridge):
    """Ratio of Fisher with classes that count the same, class by class."""
    first, second = (X[y == label] @ w for label in np.unique(y))
    spread = np.mean((first - first.mean()) ** 2) + np.mean((second - second.mean()) ** 2)
    return (first.mean() - second.mean()) ** 2 / (spread + ridge * w @ w)


def fisher_direction(Phi, y, ridge):
    """Direction of Fisher's discriminant in feature space, up to its norm [Mika et al. 1999].

    Rows of Phi are the features of the samples; both classes count the same.
    """
    first, second = (Phi[y == label] for label in np.unique(y))
    S = np.cov(first.T, bias=True) + np.cov(second.T, bias=True)
    return np.linalg.solve(
        S + ridge * np.eye(len(S)), second.mean(axis=0) - first.mean(axis=0)
    )


def scatters(X, y, weights=None, priors=None):
    """Covariances between and within the classes, sample by sample, and the mean of all."""
    w = np.ones(len(X)) if weights is None else weights
    labels = np.unique(y)
    pi = [w[y == c].sum() / w.sum() for c in labels] if priors is None else priors
    means = [np.average(X[y == c], axis=0, weights=w[y == c]) for c in labels]
    centre = sum(p * m for p, m in zip(pi, means, strict=True))
    between = sum(p * np.outer(m - centre, m - centre) for p, m in zip(pi, means, strict=True))
    within = np.zeros_like(between)
    for c, p, m in zip(labels, pi, means, strict=True):
        for x, weight in zip(X[y == c], w[y == c], strict=True):
            within += p * weight / w[y == c].sum() * np.outer(x - m, x - m)
    return between, within, centre


def discriminants(X, y, alpha, weights=None, priors=None):
    """Discriminants ``B w = lambda W w`` [Baudat and Anouar 2000], one fewer than classes.

    B and W are the scatters between and within the classes, W with a ridge. Returns eigenvalues,
    descending, directions in columns, and the mean.
    """
    between, within, centre = scatters(X, y, weights, priors)
    within += alpha * np.trace(within) * np.eye(len(within))
    values, W = eigh(between, within)
    q = len(np.unique(y)) - 1
    return values[::-1][:q], W[:, ::-1][:, :q], centre
