"""The bound on the residual with which basis pursuit predicts best, by cross-validation.

Each bound belongs to a penalty of the lasso path (`homotopy`), and penalties per row carry over
from folds to all rows. Equations that hold with few coefficients need no bound: with noise they
take as many coefficients as there are rows.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.homotopy import CROWDED, follow_path
from skmoderndata._solvers.recovery.optimality import first_of_repeated, largest_slope

# in units of that above which all coefficients are zero
PENALTIES = np.geomspace(1.0, 1e-6, 61)
NOTHING = 1e-6  # share of the norm of a target that is not worth coefficients, nor provable
EXACT = 1e-9  # residual relative to the target at which equations hold

Folds = Iterable[tuple[Any, Any]]


class CentredRows(NamedTuple):
    """Rows less their weighted means, times the roots of their weights, and the means."""

    A: Array
    Y: Array
    x_mean: Array
    y_mean: Array


def centred_rows(X: Array, Y: Array, weight: Array, *, intercept: bool) -> CentredRows:
    """Features (n, k) and targets (n, T); the means are zero without an intercept."""
    x_mean = np.zeros(X.shape[1])
    y_mean = np.zeros(Y.shape[1])
    if intercept:
        x_mean, y_mean = (np.average(Z, axis=0, weights=weight) for Z in (X, Y))
        X = X - x_mean
        Y = Y - y_mean
    root = np.sqrt(weight)[:, None]
    return CentredRows(X * root, Y * root, x_mean, y_mean)


def credible_number(X: Array) -> float:
    """Coefficients that fit a target better than noise allows: three quarters of distinct rows."""
    return CROWDED * len(np.unique(X, axis=0))


def holds_by_itself(A: Array, y: Array, coef: Array, largest: float) -> bool:
    """Tell whether at most so many coefficients fit a target that no noise has reached."""
    residual = float(linalg.norm(y - A @ coef))
    exact = residual <= EXACT * float(linalg.norm(y))
    return exact and bool(np.count_nonzero(coef) <= largest)


def lasso_path(
    A: Array, y: Array, penalties: Array, *, largest: float | None = None, positive: bool
) -> Array:
    """Minimisers of ``|y - A a|^2 / 2 + lam |a|_1`` in rows, for descending penalties.

    Fewer than there are penalties where the path is left: beyond `largest` coefficients.
    """
    size = float(linalg.norm(y))
    if size == 0:
        return np.zeros((len(penalties), A.shape[1]))
    A = first_of_repeated(A, signed=positive)
    y = y / size

    # from one penalty to the next
    start = None
    coefs = []
    for lam in penalties / size:
        segment, _, ended = follow_path(
            A, y, bound=0.0, positive=positive, least=lam, largest=largest, start=start
        )
        if not ended:
            break
        coef = np.zeros(A.shape[1])
        on_support = segment.fitted - lam * segment.direction
        coef[segment.support] = size * on_support
        coefs.append(coef)
        start = segment, lam
    return np.array(coefs).reshape(len(coefs), A.shape[1])


def predictive_bound(
    X: Array, y: Array, weight: Array, folds: Folds, *, intercept: bool, positive: bool
) -> float:
    """Norm of the weighted residual for the penalty of least squared error on held-out rows.

    0 stands for the smallest possible residual.

    Parameters
    ----------
    X, y, weight : arrays of shape (n, k), (n,), (n,)
        Rows, targets, and non-negative weights.
    folds : iterable of (train, test)
        Indices of rows.
    """
    # all rows, and the penalties
    Y = y[:, None]
    rows = centred_rows(X, Y, weight, intercept=intercept)
    A = rows.A
    target = rows.Y[:, 0]
    penalties = largest_slope(A.T @ target, positive) * PENALTIES
    credible = credible_number(X[weight > 0])

    # held-out errors; penalties beyond the end of a path are out of the running
    errors = np.zeros(len(penalties))
    for train, test in folds:
        train = np.arange(len(y))[train]
        train = train[weight[train] > 0]
        if train.size == 0:
            continue
        trained = centred_rows(X[train], Y[train], weight[train], intercept=intercept)
        fraction = weight[train].sum() / weight.sum()
        coefs = lasso_path(
            trained.A,
            trained.Y[:, 0],
            fraction * penalties,
            largest=credible,
            positive=positive,
        )
        predicted = (X[test] - trained.x_mean) @ coefs.T
        residuals = (y[test] - trained.y_mean)[:, None] - predicted
        n_fitted = len(coefs)
        errors[:n_fitted] += weight[test] @ residuals**2
        errors[n_fitted:] = np.inf

    # the residual of all rows for the best of them
    best = int(np.argmin(errors))
    size = float(linalg.norm(target))
    if best == 0:  # no coefficients
        return size
    coefs = lasso_path(A, target, penalties, largest=credible, positive=positive)
    n_fitted = len(coefs)
    if n_fitted == 0:
        return size
    coef = coefs[min(best, n_fitted - 1)]
    bound = float(linalg.norm(target - A @ coef))
    least = float(linalg.norm(target - A @ coefs[-1]))
    if n_fitted == len(penalties) and bound <= (1 + NOTHING) * least:
        return 0.0  # that of least squares, which a bound just above would not pin down
    return bound if bound < (1 - NOTHING) * size else size
