"""One pass of K-SVD in the plainest form."""

import numpy as np


def sweep(X, D, A, order, exact=True):
    """Update one atom after the other [Aharon, Elad and Bruckstein 2006, figure 2, second stage].

    The residual E of the signals that use atom j, without that atom, is approximated by a matrix
    of rank one: by its singular vectors, or, if not `exact`, by one step of the power method
    [Rubinstein, Zibulevsky and Elad 2008, algorithm 5].
    """
    D = D.copy()
    A = A.copy()
    for j in order:
        users = np.flatnonzero(A[:, j])
        if not users.size:
            continue
        E = X[users] - A[users] @ D + np.outer(A[users, j], D[j])
        if exact:
            U, s, Vt = np.linalg.svd(E, full_matrices=False)
            sign = np.sign(Vt[0] @ D[j]) or 1.0
            D[j] = sign * Vt[0]
            A[users, j] = sign * s[0] * U[:, 0]
        else:
            d = E.T @ A[users, j]
            D[j] = d / np.linalg.norm(d)
            A[users, j] = E @ D[j]
    return D, A
