"""Plain statements of linear multi-view problems."""

import numpy as np
from scipy import linalg, optimize


def bordered(X, Y, alpha):
    """Directions by the eigenproblem of both views side by side."""
    return linear_pencil(np.cov(X.T, Y.T, bias=True), X.shape[1], alpha)


def linear_pencil(C, p, alpha):
    """Canonical correlations and directions [Shawe-Taylor and Cristianini 2004, computation 6.34].

    C is the covariance of both views side by side; the first view has p columns.
    """
    A = C.copy()
    A[:p, :p] = A[p:, p:] = 0
    B = alpha * np.eye(len(C))
    B[:p, :p] += (1 - alpha) * C[:p, :p]
    B[p:, p:] += (1 - alpha) * C[p:, p:]
    values, W = linalg.eigh(A, B)
    return values[::-1], W[:p, ::-1] * 2**0.5, W[p:, ::-1] * 2**0.5


def best_sum_of_correlations(views, alpha, seed, tries=20):
    """Sum over pairs of views, by a general optimiser from random starts."""
    cuts = np.cumsum([X.shape[1] for X in views])[:-1]
    views = [X - X.mean(axis=0) for X in views]
    n = len(views[0])

    def loss(stacked):
        scores = []
        for X, w in zip(views, np.split(stacked, cuts), strict=True):
            size = (1 - alpha) * (X @ w) @ (X @ w) / n + alpha * w @ w
            scores.append(X @ w / np.sqrt(size))
        S = np.array(scores)
        G = S @ S.T / n
        return -(G.sum() - np.trace(G)) / 2

    rng = np.random.default_rng(seed)
    m = sum(X.shape[1] for X in views)
    return -min(optimize.minimize(loss, rng.normal(size=m)).fun for _ in range(tries))


def residuals(view, Z, w=None):
    """What a weighted least squares fit on [1 Z] leaves of a view."""
    root = np.ones(len(Z)) if w is None else np.sqrt(w)
    design = np.column_stack([np.ones(len(Z)), Z])
    slopes, *_ = np.linalg.lstsq(root[:, None] * design, root[:, None] * view, rcond=None)
    return view - design @ slopes
