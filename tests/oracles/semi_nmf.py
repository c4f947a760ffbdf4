"""Ding's multiplicative rules, entry by entry, and the bound by singular values."""

import numpy as np


def positive(M):
    """Positive part of each entry."""
    return (np.abs(M) + M) / 2


def negative(M):
    """Magnitude of the negative part of each entry."""
    return (np.abs(M) - M) / 2


def semi_round(X, W):
    """One round of the rule for semi-NMF [Ding 2010, equations (9), (10)]; samples in rows."""
    H = np.linalg.lstsq(W, X, rcond=None)[0]
    A = X @ H.T
    G = H @ H.T
    out = W.copy()
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            up = positive(A)[i, j] + sum(
                W[i, c] * negative(G)[c, j] for c in range(W.shape[1])
            )
            down = negative(A)[i, j] + sum(
                W[i, c] * positive(G)[c, j] for c in range(W.shape[1])
            )
            out[i, j] = W[i, j] * np.sqrt(up / down)
    return out, np.linalg.lstsq(out, X, rcond=None)[0]


def singular_bound(X, k):
    """No factorisation with k components has a smaller objective."""
    return (np.linalg.svd(X, compute_uv=False)[k:] ** 2).sum() / 2


def convex_objective(K, W, B):
    """Objective of convex factorisation through the Gram matrix, term by term."""
    total = 0.0
    for i in range(len(K)):
        combined = B @ W[i]  # compute the approximation of row i
        total += K[i, i] - 2 * K[i] @ combined + combined @ K @ combined
    return total / 2


def convex_gradients(K, W, B):
    """Gradients with respect to W and B, from the definition."""
    A = W @ B.T - np.eye(len(K))  # X is approximated by (A + I) X
    return A @ K @ B, (A @ K).T @ W


def convex_round(K, W, B):
    """One round of the rules for convex NMF [Ding 2010, equations (19), (20)]."""
    up = positive(K)
    down = negative(K)
    W = W * np.sqrt((up @ B + W @ (B.T @ down @ B)) / (down @ B + W @ (B.T @ up @ B)))
    S = W.T @ W
    B = B * np.sqrt((up @ W + down @ B @ S) / (down @ W + up @ B @ S))
    return W, B
