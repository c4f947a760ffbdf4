"""Attempts on sparse unknowns: a linear program, pursuits, the lasso with less penalty."""

import numpy as np
from scipy.optimize import linprog
from sklearn.linear_model import Lasso, lars_path, orthogonal_mp


def program(given):
    """linprog on the linear program."""
    both = np.hstack([given.X, -given.X])
    solution = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=given.y).x
    return solution[: given.X.shape[1]] - solution[given.X.shape[1] :]


def path(given):
    """the end point of lars_path."""
    return lars_path(given.X, given.y, method="lasso", alpha_min=0)[2][:, -1]


def pursuit(given):
    """orthogonal_mp down to a residual of zero."""
    return orthogonal_mp(given.X, given.y, tol=1e-12 * given.y @ given.y)


def descent(given):
    """Lasso with a tiny penalty, refitted on its support."""
    coef = Lasso(alpha=1e-4, fit_intercept=False, max_iter=20000).fit(given.X, given.y).coef_
    support = np.abs(coef) > 1e-3
    coef[support] = np.linalg.lstsq(given.X[:, support], given.y, rcond=None)[0]
    return coef


def weighted(given):
    """reweighted least squares, refitted on its support."""
    weights = np.ones(given.X.shape[1])
    for eps in np.geomspace(1, 1e-6, 20):
        products = (given.X * weights) @ given.X.T
        coef = weights * (given.X.T @ np.linalg.solve(products, given.y))
        weights = coef**2 + eps**2
        support = np.argsort(-np.abs(coef))[: len(given.X) // 2]
        refit = np.linalg.lstsq(given.X[:, support], given.y, rcond=None)
        if refit[1].size and refit[1][0] < 1e-12:
            coef = np.zeros(len(coef))
            coef[support] = refit[0]
            break
    return coef
