"""Core vector problems, stated plainly: primal problems for cvxpy and scipy, loops for steps."""

import numpy as np
from scipy.optimize import minimize


def ball_by_cone(X, heights=None):
    """`min r : |x_i - c|^2 + z_i^2 <= r^2` as a second-order cone program: radius and centre."""
    import cvxpy as cp

    X = np.asarray(X, float)
    heights = np.zeros(len(X)) if heights is None else heights
    c = cp.Variable(X.shape[1])
    r = cp.Variable()
    rows = [cp.norm(cp.hstack([x - c, z])) <= r for x, z in zip(X, heights, strict=True)]
    cp.Problem(cp.Minimize(r), rows).solve(solver=cp.CLARABEL)
    return float(r.value), np.asarray(c.value)


def badoiu_clarkson(X, n_steps):
    """Centre of a ball that holds all rows of X, nearly the smallest [Badoiu and Clarkson 2003].

    Step i goes ``1 / (i + 1)`` of the way to the furthest row; the radius is within a factor of
    ``1 + eps`` of the smallest after about ``1 / eps^2`` steps.
    """
    c = X[0]
    for i in range(1, n_steps + 1):
        furthest = X[np.argmax(np.sum((X - c) ** 2, axis=1))]
        c = c + (furthest - c) / (i + 1)
    return c


def squared_hinge_primal(Z, costs):
    """`min 1/2 |w|^2 + 1/2 sum costs max(0, 1 - z_i w)^2` by a quasi-Newton method."""

    def value(w):
        rest = np.maximum(0.0, 1.0 - Z @ w)
        return 0.5 * w @ w + 0.5 * costs @ rest**2, w - Z.T @ (costs * rest)

    found = minimize(
        value,
        np.zeros(Z.shape[1]),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-11, "maxiter": 10_000},
    )
    return found.fun, found.x


def tube_primal(X, y, cost, level):
    """`min 1/2 |w|^2 + 1/2 cost sum (up^2 + down^2) + level width`, width >= 0, with cvxpy."""
    import cvxpy as cp

    w = cp.Variable(X.shape[1])
    width = cp.Variable(nonneg=True)
    slack = cp.Variable(len(y), nonneg=True)
    objective = 0.5 * cp.sum_squares(w) + 0.5 * cost * cp.sum_squares(slack) + level * width
    problem = cp.Problem(cp.Minimize(objective), [cp.abs(y - X @ w) <= width + slack])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value), np.asarray(w.value), float(width.value)


def pairwise_steps(K, a, g, tol):
    """Minimise ``a' K a / 2 + v' a`` on the simplex by steps along pairs of entries (SMO).

    g is the gradient at a. Entry i of the smallest gradient gains what j gives, the entry whose
    exchange with i lowers the objective most.
    """
    a = a.copy()
    g = g.copy()
    steps = 0
    while True:
        i = g.argmin()
        used = np.flatnonzero(a > 0)
        if g[used].max() - g[i] <= tol:
            return a, steps
        curvature = K[i, i] + K[used, used] - 2 * K[i, used]
        rise = np.maximum(0.0, g[used] - g[i])
        j = used[(rise**2 / np.maximum(curvature, 1e-300)).argmax()]
        step = min(a[j], (g[j] - g[i]) / (K[i, i] + K[j, j] - 2 * K[i, j]))
        a[i] += step
        a[j] -= step
        g += step * (K[i] - K[j])
        steps += 1


def shifted_ball(K, a, kappa, eps):
    """Shift a ball of radius `sqrt(kappa)` to its furthest point until all are near."""
    a = a.copy()
    while True:
        squares = a @ K @ a + kappa - 2 * (K @ a)
        p = squares.argmax()
        if squares[p] <= kappa * (1 + eps) ** 2:
            return a
        beta = np.sqrt(kappa / squares[p])
        a *= beta
        a[p] += 1 - beta


def one_class_primal(K, costs):
    """`min 1/2 |w|^2 - rho + 1/2 sum costs max(0, rho - f_i)^2`, `f = K beta`, with cvxpy."""
    import cvxpy as cp

    values, vectors = np.linalg.eigh(K)
    F = vectors * np.sqrt(np.maximum(values, 0.0))  # factor the matrix, K = F F'
    w = cp.Variable(len(K))
    rho = cp.Variable()
    slack = cp.Variable(len(K), nonneg=True)
    squares = cp.sum_squares(cp.multiply(np.sqrt(costs), slack))
    objective = 0.5 * cp.sum_squares(w) - rho + 0.5 * squares
    problem = cp.Problem(cp.Minimize(objective), [F @ w >= rho - slack])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value), F @ w.value, float(rho.value)
