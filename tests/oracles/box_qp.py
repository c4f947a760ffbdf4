"""Support vector machines, stated plainly: pairwise steps by loops, primal problems for cvxpy."""

import numpy as np


def pairwise_steps(K, w, low, high, ridge, linear, tube, segments, tol):
    """Minimise ``w'Kw / 2 + sum(ridge w^2) / 2 + linear'w + tube |w|_1`` in a box (SMO).

    The weights of each segment keep their sum. In the worst segment the weight that gains most
    by rising and the one that gains most by falling are exchanged, as far as is best, but not
    over a bound or, with a tube, over zero.
    """
    w = w.copy()
    Q = K + np.diag(ridge)
    while True:
        g = Q @ w + linear
        up = np.where(w >= high, np.inf, g + np.where(w >= 0, tube, -tube))
        down = np.where(w <= low, -np.inf, g + np.where(w > 0, tube, -tube))
        pairs = [(a + up[a:b].argmin(), a + down[a:b].argmax()) for a, b in segments]
        i, j = max(pairs, key=lambda pair: down[pair[1]] - up[pair[0]])
        if down[j] - up[i] <= tol:
            return w
        room_up = -w[i] if tube and w[i] < 0 else high[i] - w[i]
        room_down = w[j] if tube and w[j] > 0 else w[j] - low[j]
        curvature = Q[i, i] + Q[j, j] - 2 * Q[i, j]
        best = (down[j] - up[i]) / curvature if curvature > 0 else np.inf
        step = min(room_up, room_down, best)
        w[i] += step
        w[j] -= step


def factor(K):
    """Rows whose inner products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def solved(objective, constraints=(), tol=1e-9):
    """Value of a problem of cvxpy after solving it accurately."""
    import cvxpy as cp

    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    return float(problem.value)


def ball_primal(K, costs):
    """``min r2 + sum costs max(0, |phi - c|^2 - r2)``, r2 >= 0: the value, and r2.

    With ``s = r2 - |c|^2`` the constraints are linear in the squares: ``|phi|^2 - 2 phi c <= s``.
    """
    import cvxpy as cp

    F = factor(K)
    c = cp.Variable(F.shape[1])
    r2 = cp.Variable(nonneg=True)
    squares = np.diag(K) - 2 * (F @ c) + cp.sum_squares(c)
    value = solved(r2 + costs @ cp.pos(squares - r2))
    return value, float(r2.value)


def squared_hinge_with_offset(K, y, costs):
    """``min 1/2 |w|^2 + sum costs max(0, 1 - y (f + b))^2``: the value, f and b."""
    import cvxpy as cp

    F = factor(K)
    w = cp.Variable(F.shape[1])
    b = cp.Variable()
    slack = cp.Variable(len(y), nonneg=True)
    squares = cp.sum_squares(cp.multiply(np.sqrt(costs), slack))
    margins = cp.multiply(y, F @ w + b)
    value = solved(0.5 * cp.sum_squares(w) + squares, [margins >= 1 - slack])
    return value, F @ w.value, float(b.value)


def squared_tube_with_offset(K, y, costs, tube):
    """``min 1/2 |w|^2 + sum costs max(0, |y - f - b| - tube)^2``: the value, f and b."""
    import cvxpy as cp

    F = factor(K)
    w = cp.Variable(F.shape[1])
    b = cp.Variable()
    excess = cp.Variable(len(y), nonneg=True)
    squares = cp.sum_squares(cp.multiply(np.sqrt(costs), excess))
    within = [cp.abs(y - F @ w - b) <= tube + excess]
    value = solved(0.5 * cp.sum_squares(w) + squares, within)
    return value, F @ w.value, float(b.value)
