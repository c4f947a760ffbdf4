"""Attempts on sparse unknowns: a linear program, pursuits, the lasso with less penalty."""

import numpy as np
from scipy.optimize import linprog
from sklearn.linear_model import Lasso, lars_path, orthogonal_mp


def program(inputs):
    """linprog on the linear program."""
    columns = np.hstack([inputs.X, -inputs.X])
    solution = linprog(np.ones(columns.shape[1]), A_eq=columns, b_eq=inputs.y).x
    return solution[: inputs.X.shape[1]] - solution[inputs.X.shape[1] :]


def path(inputs):
    """the end point of lars_path."""
    return lars_path(inputs.X, inputs.y, method="lasso", alpha_min=0)[2][:, -1]


def pursuit(inputs):
    """orthogonal_mp down to a residual of zero."""
    return orthogonal_mp(inputs.X, inputs.y, tol=1e-12 * inputs.y @ inputs.y)


def descent(inputs):
    """Lasso with a tiny penalty, refitted on its support."""
    coef = Lasso(alpha=1e-4, fit_intercept=False, max_iter=20000).fit(inputs.X, inputs.y).coef_
    support = np.abs(coef) > 1e-3
    coef[support] = np.linalg.lstsq(inputs.X[:, support], inputs.y, rcond=None)[0]
    return coef


def weighted(inputs):
    """reweighted least squares, refitted on its support."""
    weights = np.ones(inputs.X.shape[1])
    for eps in np.geomspace(1, 1e-6, 20):
        products = (inputs.X * weights) @ inputs.X.T
        coef = weights * (inputs.X.T @ np.linalg.solve(products, inputs.y))
        weights = coef**2 + eps**2
        support = np.argsort(-np.abs(coef))[: len(inputs.X) // 2]
        refit = np.linalg.lstsq(inputs.X[:, support], inputs.y, rcond=None)
        if refit[1].size and refit[1][0] < 1e-12:
            coef = np.zeros(len(coef))
            coef[support] = refit[0]
            break
    return coef
