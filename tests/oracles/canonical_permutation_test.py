"""Plain statements of the step-wise permutation test of canonical pairs."""

import numpy as np


def canonical_correlations(X, Y):
    """Canonical correlations, and coefficients of the pairs and of their complement."""
    Qx, Rx = np.linalg.qr(X - X.mean(axis=0))
    Qy, Ry = np.linalg.qr(Y - Y.mean(axis=0))
    U, r, Vt = np.linalg.svd(Qx.T @ Qy)
    return r, np.linalg.solve(Rx, U), np.linalg.solve(Ry, Vt.T)


def permuted_correlations(X, Y, orders, k):
    """Largest correlations after 0, ..., k - 1 pairs [Winkler et al. 2020, algorithm 1]."""
    _, A, B = canonical_correlations(X, Y)
    U = (X - X.mean(axis=0)) @ A
    V = (Y - Y.mean(axis=0)) @ B
    values = np.empty((len(orders), k))
    for i, order in enumerate(orders):
        for j in range(k):  # use what remains after j pairs, and permute the rows of one view
            r, _, _ = canonical_correlations(U[order, j:], V[:, j:])
            values[i, j] = r[0]
    return values


def p_values(observed, permuted):
    """P-values that never decrease from pair to pair."""
    p = []
    for j, r in enumerate(observed):
        reached = sum(value >= r - 1e-12 for value in permuted[:, j])
        own = (1 + reached) / (1 + len(permuted))
        p.append(max([own, *p]))
    return p


def correlation_across_folds(A, B, fold):
    """Correlation of scores of left-out rows, with the first singular vectors of the others."""
    a = np.empty(len(A))
    b = np.empty(len(A))
    for f in np.unique(fold):
        out = fold == f
        U, _, Vt = np.linalg.svd(A[~out].T @ B[~out])
        a[out] = A[out] @ U[:, 0]
        b[out] = B[out] @ Vt[0]
        a[out] -= a[out].mean()
        b[out] -= b[out].mean()
    return a @ b / np.sqrt((a @ a) * (b @ b))


def orthogonal_directions(Z):
    """Orthonormal basis, in columns, of the rows orthogonal to [1 Z], by the eigenvectors of the
    residual-forming matrix [Huh and Jhun 2001]."""
    design = np.column_stack([np.ones(len(Z)), Z])
    forming = np.eye(len(Z)) - design @ np.linalg.pinv(design)
    values, vectors = np.linalg.eigh(forming)
    return vectors[:, values > 0.5]
