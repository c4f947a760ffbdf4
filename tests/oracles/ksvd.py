"""One pass of K-SVD in the plainest form."""

import numpy as np


def sweep(X, D, A, order, exact=True):
    """Update atom after atom with full residuals; the exact best rank one, or one power step."""
    D, A = D.copy(), A.copy()
    for j in order:
        users = np.flatnonzero(A[:, j])
        if not users.size:
            continue
        E = X[users] - A[users] @ D + np.outer(A[users, j], D[j])
        if exact:
            U, s, Vt = np.linalg.svd(E, full_matrices=False)
            sign = np.sign(Vt[0] @ D[j]) or 1.0
            D[j], A[users, j] = sign * Vt[0], sign * s[0] * U[:, 0]
        else:
            d = E.T @ A[users, j]
            D[j] = d / np.linalg.norm(d)
            A[users, j] = E @ D[j]
    return D, A
