"""Bridge regression by its definition."""

import numpy as np


def objective(X, y, coef, intercept, alpha, q):
    """Half the mean squared residual plus the penalty."""
    return np.mean((y - X @ coef - intercept) ** 2) / 2 + alpha * np.sum(np.abs(coef) ** q)


def one_coefficient(z, a, penalty, q):
    """Least ``a t^2 / 2 - z t + penalty |t|^q`` on a fine grid, refined around the best point."""
    low = -abs(z) / a
    high = abs(z) / a
    for _ in range(6):
        t = np.linspace(low, high, 2001)
        values = a * t**2 / 2 - z * t + penalty * np.abs(t) ** q
        best = t[np.argmin(values)]
        width = (high - low) / 1000
        low = best - width
        high = best + width
    return best


def local_quadratic(X, y, alpha, q, n_iter=2000):
    """Fu's modified Newton route for q > 1: ridge regressions with the weights ``|b|^(q - 2)``."""
    X = X - X.mean(axis=0)
    y = y - y.mean()
    n = len(y)
    b = np.linalg.solve(X.T @ X / n + 2 * alpha * np.eye(X.shape[1]), X.T @ y / n)
    for _ in range(n_iter):
        weights = alpha * q * np.maximum(np.abs(b), 1e-12) ** (q - 2)
        b = np.linalg.solve(X.T @ X / n + np.diag(weights), X.T @ y / n)
    return b
