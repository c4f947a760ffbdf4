"""Slow references of the incomplete Cholesky factorisation."""

import numpy as np


def column_by_column(K, rank):
    """Pivoted Cholesky factor [Shawe-Taylor and Cristianini 2004, algorithm 5.12]: F and pivots.

    One column and one entry at a time; d holds the diagonal of the residual ``K - F F'``.
    """
    n = len(K)
    F = np.zeros((n, rank))
    pivots = []
    d = np.array([K[i, i] for i in range(n)], dtype=float)
    for j in range(rank):
        p = max((i for i in range(n) if i not in pivots), key=lambda i: d[i])
        pivots.append(p)
        root = np.sqrt(d[p])
        for i in range(n):
            if i in pivots[:-1]:
                continue
            F[i, j] = (K[i, p] - sum(F[i, t] * F[p, t] for t in range(j))) / root
            d[i] -= F[i, j] ** 2
    return F, pivots


def numpy_loop(X, gamma, rank):
    """Column at a time with numpy, for `exp(-gamma |x - z|^2)`: what the blocks race against."""
    n = len(X)
    R = np.empty((rank, n))
    d = np.ones(n)
    pivots = []
    squares = np.einsum("ij,ij->i", X, X)
    for j in range(rank):
        p = int(np.argmax(d))
        pivots.append(p)
        column = np.exp(-gamma * np.maximum(squares + squares[p] - 2 * X @ X[p], 0))
        column -= R[:j, p] @ R[:j]
        column /= np.sqrt(d[p])
        R[j] = column
        d -= column * column
        d[pivots] = 0.0
    return R.T, pivots, float(d.sum())


def nystroem(K, pivots):
    """`K[:, p] K[p, p]^-1 K[p, :]`, the only matrix that the pivots determine."""
    C = K[:, pivots]
    return C @ np.linalg.solve(K[np.ix_(pivots, pivots)], C.T)
