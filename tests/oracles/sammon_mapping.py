"""Sammon's stress and his own iteration, pair by pair as in the paper."""

import numpy as np


def stress(D, Y):
    n = len(D)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if D[i, j] > 0]
    c = sum(D[i, j] for i, j in pairs)
    return sum((D[i, j] - np.linalg.norm(Y[i] - Y[j])) ** 2 / D[i, j] for i, j in pairs) / c


def sammon_newton(D, Y, n_steps=200):
    """Steps against the gradient over the magnitude of the second derivative; halved if worse."""
    Y = Y.copy()
    n, k = Y.shape

    c = D[np.triu_indices(n, 1)].sum()
    for _ in range(n_steps):
        # compute the first and second derivatives of the stress
        first = np.zeros((n, k))
        second = np.zeros((n, k))
        for p in range(n):
            for j in range(n):
                if j == p or D[p, j] == 0:
                    continue
                d = np.linalg.norm(Y[p] - Y[j])
                u = Y[p] - Y[j]
                miss = D[p, j] - d
                first[p] += -2 / c * miss / (D[p, j] * d) * u
                second[p] += -2 / c / (D[p, j] * d) * (miss - u**2 / d * (1 + miss / d))

        # halve the step until the stress falls
        step = first / np.abs(second)
        before = stress(D, Y)
        for _ in range(20):
            if stress(D, Y - step) < before:
                Y = Y - step
                break
            step = step / 2

    return Y


def guttman_transforms(D, Y, steps):
    """Majorisation of the stress (de Leeuw 1977): no transform raises it.

    ``Y <- V^+ B(Y) Y`` with the Laplacians V of the weights 1 / d and B of 1 / |y_i - y_j|.
    """
    weights = np.divide(1.0, D, out=np.zeros_like(D), where=D > 0)
    V = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(V)
    for _ in range(steps):
        lengths = np.linalg.norm(Y[:, None] - Y[None], axis=2)
        pull = np.divide(1.0, lengths, out=np.zeros_like(D), where=lengths > 0)
        Y = inverse @ (pull.sum(axis=1)[:, None] * Y - pull @ Y)
    return Y
