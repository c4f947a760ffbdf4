"""Plain statements of sparse canonical correlation."""

import numpy as np


def sparse_pair(K, c_x, c_y, v, n_passes=500):
    """Penalised matrix decomposition with two bounds [Witten 2009, Algorithm 3]."""
    for _ in range(n_passes):
        u = soft_unit(K @ v, c_x)
        v = soft_unit(K.T @ u, c_y)
    return u, v, u @ K @ v


def soft_unit(g, c):
    """``S(g, delta) / |S(g, delta)|_2``, delta the smallest for which the sum of sizes is c."""
    if np.abs(g).sum() <= c * np.linalg.norm(g):
        return g / np.linalg.norm(g)
    if c == 1:
        return np.sign(g) * (np.arange(len(g)) == np.abs(g).argmax())
    size = np.sort(np.abs(g))[::-1]
    for k in range(1, len(g) + 1):
        if k <= c**2:
            continue
        # k entries above delta: (s1 - k delta)^2 = c^2 (s2 - 2 delta s1 + k delta^2)
        s1 = size[:k].sum()
        s2 = (size[:k] ** 2).sum()
        excess = (k * s2 - s1**2) * c**2 / (k - c**2)
        delta = (s1 - np.sqrt(max(excess, 0.0))) / k
        below = size[k] if k < len(g) else 0.0
        if below <= delta < size[k - 1]:
            break
    soft = np.sign(g) * np.maximum(np.abs(g) - delta, 0)
    return soft / np.linalg.norm(soft)


def half_step(g, c):
    """Value of the half step, stated for cvxpy."""
    import cvxpy as cp

    u = cp.Variable(len(g))
    problem = cp.Problem(cp.Maximize(g @ u), [cp.norm(u, 2) <= 1, cp.norm(u, 1) <= c])
    return problem.solve(solver=cp.CLARABEL)


def projected_on_scores(X, U):
    """Columns of X less their projection on the scores X U: the views of the next pair."""
    T = X @ U
    return X - T @ np.linalg.lstsq(T, X, rcond=None)[0]
