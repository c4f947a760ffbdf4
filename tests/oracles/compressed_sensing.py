"""Measurements as explicit matrices, and recovery written as in the papers, step by step."""

import numpy as np
from scipy.linalg import hadamard


def dct_matrix(n):
    """Cosines, from the definition."""
    i = np.arange(n)
    rows = np.array([np.cos(np.pi * k * (2 * i + 1) / (2 * n)) for k in range(n)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def fourier_rows(n):
    """Constant, and cosine and sine of each frequency, at unit norm, in any order."""
    t = 2 * np.pi * np.arange(n) / n
    rows = [np.cos(k * t) for k in range(n // 2 + 1)] + [
        np.sin(k * t) for k in range(1, (n + 1) // 2)
    ]
    return np.array([row / np.linalg.norm(row) for row in rows])


def hadamard_rows(n):
    """Hadamard's matrix at unit norm."""
    return hadamard(n) / np.sqrt(n)


def omp(A, y, s):
    """Orthogonal matching pursuit [Tropp and Gilbert 2007]: s columns of A for y.

    Least squares from scratch in each step; columns count as if they had unit norm.
    """
    norms = np.linalg.norm(A, axis=0)
    support = []
    r = y
    a = np.zeros(A.shape[1])
    for _ in range(s):
        if np.linalg.norm(r) <= 1e-12 * np.linalg.norm(y):
            break
        support.append(int(np.argmax(np.abs(A.T @ r) / norms)))
        values = np.linalg.lstsq(A[:, support], y, rcond=None)[0]
        r = y - A[:, support] @ values
        a = np.zeros(A.shape[1])
        a[support] = values
    return a


def subspace_pursuit(A, y, s):
    """Subspace pursuit [Dai and Milenkovic 2009, algorithm 1]: a code of y with s non-zeros.

    The columns of A, the measurements of the atoms, count as if they had unit norm.
    """
    norms = np.linalg.norm(A, axis=0)
    B = A / norms

    def fit(support):
        a = np.zeros(A.shape[1])
        a[support] = np.linalg.lstsq(B[:, support], y, rcond=None)[0]
        return a, y - B @ a

    def best(values):
        return np.sort(np.argsort(-np.abs(values), kind="stable")[:s])

    support = best(B.T @ y)
    a, r = fit(support)
    while True:
        wide = np.union1d(support, best(B.T @ r))
        support_new = best(fit(wide)[0])
        a_new, r_new = fit(support_new)
        if np.linalg.norm(r_new) >= np.linalg.norm(r):
            return a / norms
        support = support_new
        a = a_new
        r = r_new


def hard_thresholding_pursuit(A, y, s):
    """Foucart (2011), HTP with unit steps; columns at unit norm; the best code met."""
    norms = np.linalg.norm(A, axis=0)
    B = A / norms
    a = np.zeros(A.shape[1])
    support = None
    best = a
    least = np.linalg.norm(y)

    # make a gradient step, keep the s largest entries, and fit them by least squares
    for _ in range(200):
        step = a + B.T @ (y - B @ a)

        # the support consists of the s largest entries after a gradient step
        new = np.sort(np.argsort(-np.abs(step), kind="stable")[:s])
        if support is not None and np.array_equal(new, support):
            break
        support = new
        a = np.zeros(A.shape[1])
        a[support] = np.linalg.lstsq(B[:, support], y, rcond=None)[0]

        if np.linalg.norm(y - B @ a) < least * (1 - 1e-9):
            best = a
            least = np.linalg.norm(y - B @ a)
        if least < 1e-10 * np.linalg.norm(y):
            break
    return best / norms
