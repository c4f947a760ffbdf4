"""Slow references for dictionaries learned with an l1 penalty."""

import cvxpy as cp
import numpy as np


def objective(X, D, A, alpha, weights=None, known=None):
    """``sum_i w_i (1/2 |x_i - a_i D|^2 + alpha |a_i|_1)``, entry by entry."""
    total = 0.0
    for i, x in enumerate(X):
        rest = x - A[i] @ D
        if known is not None:
            rest = rest[known[i]]
        w = 1.0 if weights is None else weights[i]
        total += w * (0.5 * rest @ rest + alpha * np.abs(A[i]).sum())
    return total


def best_atoms(X, A, weights=None, positive=False):
    """Atoms in the unit ball of least squared error for given codes, by a conic solver."""
    w = np.ones(len(X)) if weights is None else weights
    D = cp.Variable((A.shape[1], X.shape[1]), nonneg=positive)
    rest = cp.multiply(np.sqrt(w)[:, None], X - A @ D)
    norms = [cp.sum_squares(D[j]) <= 1 for j in range(A.shape[1])]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(rest)), norms)
    problem.solve(solver="CLARABEL")
    multipliers = np.array([2.0 * constraint.dual_value.item() for constraint in norms])
    return D.value, multipliers, problem.value


def best_code(x, D, alpha, positive=False):
    """Lasso code of one signal, by a conic solver."""
    a = cp.Variable(len(D), nonneg=positive)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - a @ D) + alpha * cp.norm1(a)))
    problem.solve(solver="CLARABEL")
    return problem.value


def feature_sign_search(x, D, alpha):
    """Lasso code of x by feature-sign search [Lee, Battle, Raina and Ng 2007, algorithm 1].

    ``min 1/2 |x - a D|^2 + alpha |a|_1``: theta holds the signs, S the active atoms, and
    `value` is the objective up to a constant.
    """
    G = D @ D.T
    b = D @ x
    a = np.zeros(len(D))
    theta = np.zeros(len(D))

    def value(a):
        return 0.5 * a @ G @ a - b @ a + alpha * np.abs(a).sum()

    while True:
        slope = G @ a - b
        i = np.argmax(np.where(a == 0, np.abs(slope), 0))
        if np.abs(slope[i]) <= alpha * (1 + 1e-10):
            return a
        theta[i] = -np.sign(slope[i])  # activate the atom that lowers the objective most
        while True:
            S = np.flatnonzero(theta)
            z = np.zeros(len(D))
            z[S] = np.linalg.solve(G[np.ix_(S, S)], b[S] - alpha * theta[S])
            if (np.sign(z) == theta).all():
                a = z
                break
            # choose the best point between a and z at which a coefficient becomes zero, or z
            points = [z]
            for j in np.flatnonzero(a * z < 0):
                point = a + a[j] / (a[j] - z[j]) * (z - a)
                point[j] = 0
                points.append(point)
            a = min(points, key=value)
            theta = np.sign(a)
