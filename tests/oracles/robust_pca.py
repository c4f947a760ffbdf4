"""Principal component pursuit by full decompositions: slow, obvious references."""

import numpy as np


def full_svd_ialm(X, lam, *, tol=1e-7, rho=1.5, max_iter=500):
    """Inexact augmented Lagrangian of Lin, Chen and Ma (2010), algorithm 5, with full SVDs."""
    norm = np.linalg.norm(X, 2)
    Y = X / max(norm, np.abs(X).max() / lam)
    mu = 1.25 / norm
    mu_end = 1e7 * mu
    S = np.zeros_like(X)
    for _ in range(max_iter):
        U, s, Vt = np.linalg.svd(X - S + Y / mu, full_matrices=False)
        L = (U * np.maximum(s - 1 / mu, 0)) @ Vt
        T = X - L + Y / mu
        S = np.sign(T) * np.maximum(np.abs(T) - lam / mu, 0)
        Y = Y + mu * (X - L - S)
        mu = min(rho * mu, mu_end)
        if np.linalg.norm(X - L - S) < tol * np.linalg.norm(X):
            break
    return L, S


def objective(L, S, lam):
    """Nuclear norm plus weighted sum of magnitudes."""
    return np.linalg.norm(L, "nuc") + lam * np.abs(S).sum()


def pursuit_by_cvxpy(X, lam, delta=0.0):
    """State the convex problem for cvxpy; NaN entries are free. Returns the optimum value."""
    import cvxpy as cp

    seen = (~np.isnan(X)).astype(float)
    L, S = cp.Variable(X.shape), cp.Variable(X.shape)
    rest = cp.multiply(seen, np.nan_to_num(X) - L - S)
    value = cp.normNuc(L) + lam * cp.sum(cp.abs(cp.multiply(seen, S)))
    if delta > 0:
        problem = cp.Problem(cp.Minimize(value + cp.sum_squares(rest) / (2 * delta)))
    else:
        problem = cp.Problem(cp.Minimize(value), [rest == 0])
    problem.solve(solver="CLARABEL")
    return problem.value, L.value


def least_absolute_scores(X, V):
    """Scores of each row by a linear program: minimise ``|x - a V|_1``."""
    from scipy.optimize import linprog

    r, p = V.shape
    scores = []
    for x in X:
        cost = np.r_[np.zeros(r), np.ones(2 * p)]
        equal = np.hstack([V.T, np.eye(p), -np.eye(p)])
        bounds = [(None, None)] * r + [(0, None)] * (2 * p)
        scores.append(linprog(cost, A_eq=equal, b_eq=x, bounds=bounds).x[:r])
    return np.array(scores)
