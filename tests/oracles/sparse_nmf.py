"""Plain references of sparse factorisation: supports tried one by one, conic solvers, sums."""

import itertools

import numpy as np


def sparseness(x):
    n = len(x)
    return (np.sqrt(n) - np.abs(x).sum() / np.linalg.norm(x)) / (np.sqrt(n) - 1)


def nearest_of_sparseness(x, level, norm):
    """Try every support: on each the nearest point with both norms is known in closed form."""
    n = len(x)
    mass = (np.sqrt(n) - level * (np.sqrt(n) - 1)) * norm
    best, nearest = np.inf, None
    for size in range(1, n + 1):
        for support in itertools.combinations(range(n), size):
            support = list(support)
            mean = mass / size
            rest = norm**2 - size * mean**2  # left for the deviations from the mean
            if rest < -1e-12:
                continue
            d = x[support] - x[support].mean()
            spread = d @ d
            if spread == 0 and rest > 1e-12:
                continue
            s = np.zeros(n)
            s[support] = mean + (d * np.sqrt(max(rest, 0) / spread) if spread > 0 else 0)
            if (s < -1e-12).any():
                continue
            distance = np.linalg.norm(s - x)
            if distance < best:
                best, nearest = distance, s
    return best, nearest


def hoyer_alternating(x, level, norm):
    """Hoyer's own projection, which zeroes negative entries and starts again [2004, section 3]."""
    n = len(x)
    mass = (np.sqrt(n) - level * (np.sqrt(n) - 1)) * norm
    s = x + (mass - x.sum()) / n
    zero = np.zeros(n, bool)
    while True:
        middle = np.where(zero, 0.0, mass / (n - zero.sum()))
        direction = s - middle
        a = direction @ direction
        b = 2 * middle @ direction
        c = middle @ middle - norm**2
        alpha = (-b + np.sqrt(max(b * b - 4 * a * c, 0))) / (2 * a)
        s = middle + alpha * direction
        if (s >= -1e-14).all():
            return np.maximum(s, 0)
        zero |= s < 0
        s[zero] = 0
        s = np.where(zero, 0.0, s + (mass - s.sum()) / (n - zero.sum()))


def nnls_by_cvxpy(C, x, l1=0.0, l1_sq=0.0, l2=0.0):
    """Non-negative least squares with penalties as stated, by a conic solver."""
    import cvxpy as cp

    z = cp.Variable(len(C), nonneg=True)
    cost = cp.sum_squares(x - z @ C) / 2 + l1 * cp.sum(z)
    cost += l1_sq / 2 * cp.square(cp.sum(z)) + l2 / 2 * cp.sum_squares(z)
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return problem.value, z.value


def kim_park_objective(X, W, H, beta, eta):
    """Objective of SNMF/R, sum by sum; NaN is missing."""
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if not np.isnan(X[i, j]):
                total += (X[i, j] - W[i] @ H[:, j]) ** 2 / 2
        total += beta / 2 * np.abs(W[i]).sum() ** 2
    return total + eta / 2 * (H**2).sum()


def alternate_exactly(X, H, passes):
    """Alternating non-negative least squares, a column at a time by Lawson and Hanson's method."""
    from scipy.optimize import nnls

    for _ in range(passes):
        W = np.array([nnls(H.T, x)[0] for x in X])
        H = np.array([nnls(W, column)[0] for column in X.T]).T
    return W, H
