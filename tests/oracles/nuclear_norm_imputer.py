"""Matrix completion stated for a conic solver, and the slow, obvious algorithms."""

import numpy as np


def soft_impute(Z, known, lam, n_iter=5000):
    """Soft-impute [Mazumder, Hastie and Tibshirani 2010, algorithm 1], with full decompositions.

    Fill the gaps of Z by the last L, and lower all singular values by `lam`.
    """
    L = np.zeros(Z.shape)
    for _ in range(n_iter):
        U, s, Vt = np.linalg.svd(np.where(known, Z, L), full_matrices=False)
        L = (U * np.maximum(s - lam, 0)) @ Vt
    return L


def objective(Z, known, L, lam):
    return 0.5 * ((Z - L)[known] ** 2).sum() + lam * np.linalg.norm(L, "nuc")


def gap(Z, known, L, lam):
    """Relative duality gap at L, from the dual point ``c (Z - L)`` on the known cells."""
    R = np.where(known, Z - L, 0)
    zero_filled = np.where(known, Z, 0)
    best = -np.inf
    primal = objective(Z, known, L, lam)
    largest = lam / np.linalg.norm(R, 2)
    for c in np.linspace(0, largest, 2001):  # search over a grid of feasible multiples
        best = max(best, c * (R * zero_filled).sum() - 0.5 * c**2 * (R**2).sum())
    return (primal - best) / primal


def weighted_objective(Z, weights, L, lam):
    """Objective with weights of the cells, each cell by itself; cells of weight 0 are unknown."""
    loss = 0.0
    for cell in zip(*np.nonzero(weights), strict=True):
        loss += weights[cell] * (Z[cell] - L[cell]) ** 2 / 2
    return loss + lam * np.linalg.norm(L, "nuc")


def weighted_soft_impute(Z, weights, lam, n_iter=20_000):
    """Proximal gradient of the weighted loss, whose gradient is as steep as the largest weight."""
    steep = weights.max()
    L = np.zeros(Z.shape)
    for _ in range(n_iter):
        L = prox_nuclear(L - weights * (L - np.where(weights > 0, Z, 0)) / steep, lam / steep)
    return L


def weighted_gap(Z, weights, L, lam):
    """Relative duality gap at L, from the dual points ``c w (Z - L)`` on the known cells.

    The dual problem is ``max <Y, Z> - 1/2 sum Y^2 / w`` over matrices of spectral norm lam that
    vanish where the weight does.
    """
    known = weights > 0
    R = np.where(known, weights * (np.where(known, Z, 0) - L), 0)
    best = -np.inf
    for c in np.linspace(0, lam / np.linalg.norm(R, 2), 2001):
        Y = c * R
        conjugate = (Y[known] ** 2 / weights[known]).sum() / 2
        best = max(best, (Y[known] * Z[known]).sum() - conjugate)
    primal = weighted_objective(Z, weights, L, lam)
    return (primal - best) / primal


def fill_rows(Z, known, Vt, penalty):
    """Ridge regression of each row on the row space, one row at a time."""
    filled = Z.copy()
    for i in range(len(Z)):
        A = Vt.T[known[i]]
        score = np.linalg.solve(A.T @ A + np.diag(penalty), A.T @ Z[i, known[i]])
        filled[i, ~known[i]] = (score @ Vt)[~known[i]]
    return filled


def prox_nuclear(X, threshold):
    """Singular value thresholding by a full decomposition."""
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return (U * np.maximum(s - threshold, 0)) @ Vt
