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


def least_absolute_scores(X, V, weights=None):
    """Scores of each row by a linear program: minimise ``|x - a V|_1`` over known entries."""
    from scipy.optimize import linprog

    scores = []
    weights = np.ones(X.shape) if weights is None else weights
    for x, w in zip(X, weights, strict=True):
        known = ~np.isnan(x)
        r = len(V)
        p = known.sum()
        cost = np.r_[np.zeros(r), w[known], w[known]]
        equal = np.hstack([V[:, known].T, np.eye(p), -np.eye(p)])
        bounds = [(None, None)] * r + [(0, None)] * (2 * p)
        scores.append(linprog(cost, A_eq=equal, b_eq=x[known], bounds=bounds).x[:r])
    return np.array(scores)


def huber_scores(X, V, width):
    """Scores of each row by a cone solver: minimise the Huber loss of ``x - a V``."""
    import cvxpy as cp

    scores = []
    for x in X:
        a = cp.Variable(len(V))
        # cvxpy's function is u^2 inside and 2 width |u| - width^2 outside: ours, up to a factor
        problem = cp.Problem(cp.Minimize(cp.sum(cp.huber(x - V.T @ a, width))))
        problem.solve(solver="CLARABEL")
        scores.append(a.value)
    return np.array(scores)


def pursuit_by_plain_steps(X, lam, n_steps=5000):
    """Principal component pursuit by alternating directions [Candes et al. 2011, algorithm 1].

    Full decompositions, constant penalty mu. Entries that are NaN are free: there S is ``X - L``
    and costs nothing.
    """
    observed = ~np.isnan(X)
    X = np.where(observed, X, 0.0)
    mu = observed.sum() / (4 * np.abs(X).sum())
    S = np.zeros_like(X)
    Y = np.zeros_like(X)
    for _ in range(n_steps):
        U, s, Vt = np.linalg.svd(X - S + Y / mu, full_matrices=False)
        L = U @ np.diag(np.maximum(s - 1 / mu, 0)) @ Vt
        T = X - L + Y / mu
        S = np.where(observed, np.sign(T) * np.maximum(np.abs(T) - lam / mu, 0), X - L)
        Y = Y + mu * (X - L - S)
    return L, np.where(observed, S, 0.0)


def weighted_gap(X, L, Y, slopes, widths):
    """Relative duality gap where each entry has a slope and a width, NaN missing.

    Each error S is the best one for its entry, by a plain search where there is noise.
    """
    primal = np.linalg.norm(L, "nuc")
    known = np.argwhere(~np.isnan(X))
    for i, j in known:
        r = abs(X[i, j] - L[i, j])
        if widths[i, j] == 0:
            primal += slopes[i, j] * r
        else:
            errors = np.linspace(0, r, 20_001)
            squares = (r - errors) ** 2 / (2 * widths[i, j])
            primal += (slopes[i, j] * errors + squares).min()
    kappa = max(1.0, np.linalg.norm(Y, 2))
    kappa = max(kappa, max(abs(Y[i, j]) / slopes[i, j] for i, j in known))
    dual = 0.0
    for i, j in known:
        y = Y[i, j] / kappa
        dual += X[i, j] * y - widths[i, j] * y**2 / 2
    return (primal - dual) / primal


def relative_gap(X, L, Y, lam):
    """Relative duality gap of L, S = X - L, all norms from full decompositions."""
    primal = objective(L, X - L, lam)
    Y = Y / max(1.0, np.linalg.norm(Y, 2), np.abs(Y).max() / lam)
    return (primal - (X * Y).sum()) / primal


def rows_in_box(X, M, lam, n_sweeps=500):
    """Maximise ``x'y - y'My / 2`` over ``|y| <= lam`` for each row by cyclic coordinate steps.

    Missing entries of X keep y = 0.
    """
    Y = np.zeros(X.shape)
    for x, y in zip(X, Y, strict=True):
        known = np.flatnonzero(~np.isnan(x))
        for _ in range(n_sweeps):
            for j in known:
                slope = x[j] - M[j] @ y
                y[j] = np.clip(y[j] + slope / M[j, j], -lam, lam)
    return Y
