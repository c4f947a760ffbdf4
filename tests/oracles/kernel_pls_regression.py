"""Kernel partial least squares as printed: the kernel matrix is deflated."""

import numpy as np


def deflating(K, Y, k):
    """Dual coefficients and k scores [Shawe-Taylor and Cristianini 2004, algorithm 6.48].

    E is what the scores leave unexplained of Y; each score t is taken out of the kernel matrix.
    """
    n = len(K)
    H = np.eye(n) - 1 / n
    centred = K = H @ K @ H
    E = Y - Y.mean(axis=0)
    B = []
    T = []
    for _ in range(k):
        v = np.linalg.eigh(E.T @ K @ E)[1][:, -1]
        b = E @ v / np.linalg.norm(E @ v)
        t = K @ b
        Q = np.eye(n) - np.outer(t, t) / (t @ t)
        E = Q @ E
        K = Q @ K @ Q
        B.append(b)
        T.append(t)
    B = np.array(B).T
    T = np.array(T).T
    dual = B @ np.linalg.solve(T.T @ centred @ B, T.T @ (Y - Y.mean(axis=0)))
    return dual, T
