"""Canonical correlations straight from their statements: generalised eigenproblems."""

import numpy as np
from scipy import linalg


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def constraint(K, alpha, rule):
    """Matrix S of the constraint ``a' S a = 1`` for a centred kernel K."""
    n = len(K)
    if rule == "shrinkage":
        return (1 - alpha) * K @ K / n + alpha * K
    if rule == "ridge":
        return K @ K / n + alpha * K
    N = K + n * alpha / 2 * np.eye(n)
    return N @ N / n


def pencil(Ks, alphas, rule="shrinkage"):
    """Matrices A, B of ``A a = rho B a`` for the stacked dual coefficients, centred kernels."""
    n = len(Ks[0])
    n_views = len(Ks)
    A = np.zeros((n * n_views, n * n_views))
    for u in range(n_views):
        for v in range(n_views):
            if u != v:
                A[u * n : (u + 1) * n, v * n : (v + 1) * n] = Ks[u] @ Ks[v] / n
    parts = [constraint(K, alpha, rule) for K, alpha in zip(Ks, alphas, strict=True)]
    return A, linalg.block_diag(*parts)


def correlations(Ks, alphas, rule="shrinkage"):
    """Regularised correlations of kernels, descending: eigenvalues over the number of other views.

    The null space of B is cut off.
    """
    A, B = pencil([centred(K) for K in Ks], alphas, rule)
    size, V = linalg.eigh(B)
    keep = size > 1e-11 * size[-1]
    W = V[:, keep] / np.sqrt(size[keep])
    return linalg.eigvalsh(W.T @ A @ W)[::-1] / (len(Ks) - 1)


def linear_correlations(views, alphas):
    """Regularised correlations of linear functions of the views [Kettenring 1971, MAXVAR].

    ``A w = rho B w`` with the covariances between the views in A, and in B those within a view,
    shrunk towards the identity.
    """
    cuts = np.cumsum([X.shape[1] for X in views])[:-1]
    C = np.cov(np.hstack(views).T, bias=True)
    A = C.copy()
    B = np.zeros_like(C)
    rows = np.split(np.arange(len(C)), cuts)
    for index, alpha in zip(rows, alphas, strict=True):
        block = np.ix_(index, index)
        A[block] = 0
        B[block] = (1 - alpha) * C[block] + alpha * np.eye(len(index))
    return linalg.eigh(A, B, eigvals_only=True)[::-1] / (len(views) - 1)


def consensus_values(factors, rows, alphas, n):
    """Eigenvalues of the generalised criterion by projections, view by view.

    ``factors`` are centred features on the present rows; the problem is
    ``max tr Z' (sum_v P_v) Z`` subject to ``Z' diag(counts) Z = 1``.
    """
    total = np.zeros((n, n))
    counts = np.zeros(n)
    for G, index, alpha in zip(factors, rows, alphas, strict=True):
        m = len(index)
        inner = (1 - alpha) * G.T @ G / m + alpha * np.eye(G.shape[1])
        total[np.ix_(index, index)] += G @ linalg.solve(inner, G.T) / m
        counts[index] += 1
    return linalg.eigh(total, np.diag(counts), eigvals_only=True)[::-1]
