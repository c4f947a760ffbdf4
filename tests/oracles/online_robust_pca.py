"""Online robust PCA as it is printed, one row at a time, in plain NumPy."""

import numpy as np


def scores_and_errors(z, V, ridge, width, sweeps=1000):
    """Algorithm 1 of Feng, Xu and Yan (2013): scores r and errors e of one row, in turn."""
    e = np.zeros(len(z))
    for _ in range(sweeps):
        r = np.linalg.solve(V.T @ V + ridge * np.eye(V.shape[1]), V.T @ (z - e))
        residual = z - V @ r
        e = np.sign(residual) * np.maximum(np.abs(residual) - width, 0)
    return r, e


def online_robust_pca(X, V, ridge, width, forgetting=1.0):
    """Follow the rows with the least components of the surrogate after each.

    Feng, Xu and Yan (2013), algorithm 2, whose descent by columns is carried to its limit here;
    `ridge(weight)` is the penalty after so much weight of rows, per row.
    """
    (p, k) = V.shape
    A = np.zeros((k, k))
    B = np.zeros((p, k))
    weight = 0.0
    for z in X:
        r, e = scores_and_errors(z, V, ridge(weight + 1), width)
        A = forgetting * A + np.outer(r, r)
        B = forgetting * B + np.outer(z - e, r)
        penalty = ridge(weight + 1)
        weight = forgetting * weight + 1
        V = (B / weight) @ np.linalg.inv(A / weight + penalty * np.eye(k))
    return V
