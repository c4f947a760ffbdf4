"""The bound on the residual with which basis pursuit predicts best, by cross-validation.

Each bound corresponds to a penalty of the lasso path (`homotopy`), and penalties per row carry
over from folds to all rows. Equations that hold with few coefficients need no bound: with noise,
they would need as many coefficients as there are rows.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.homotopy import CROWDED, follow_path
from skmoderndata._solvers.recovery.optimality import first_of_repeated, largest_slope

# Penalties, in units of the smallest penalty for which all coefficients are zero.
PENALTIES = np.geomspace(1.0, 1e-6, 61)
# Maximum relative difference of residual norms that counts as zero: it does not justify further
# coefficients and cannot be certified.
NOTHING = 1e-6
# Largest residual at which equations count as satisfied, relative to the target.
EXACT = 1e-9

Folds = Iterable[tuple[Any, Any]]


class CentredRows(NamedTuple):
    """Rows minus their weighted means, times the roots of their weights, and the means."""

    A: Array
    Y: Array
    x_mean: Array
    y_mean: Array


def centred_rows(X: Array, Y: Array, weight: Array, *, intercept: bool) -> CentredRows:
    """Centre features (n, k) and targets (n, T); means are zero without an intercept."""
    x_mean = np.zeros(X.shape[1])
    y_mean = np.zeros(Y.shape[1])
    if intercept:
        x_mean, y_mean = (np.average(Z, axis=0, weights=weight) for Z in (X, Y))
        X = X - x_mean
        Y = Y - y_mean
    root = np.sqrt(weight)[:, None]
    return CentredRows(X * root, Y * root, x_mean, y_mean)


def credible_number(X: Array) -> float:
    """Return the largest credible number of coefficients: 3/4 of the distinct rows."""
    return CROWDED * len(np.unique(X, axis=0))


def holds_by_itself(A: Array, y: Array, coef: Array, largest: float) -> bool:
    """Return whether at most `largest` coefficients fit a target exactly, hence without noise."""
    residual = float(linalg.norm(y - A @ coef))
    exact = residual <= EXACT * float(linalg.norm(y))
    return exact and bool(np.count_nonzero(coef) <= largest)


def lasso_path(
    A: Array, y: Array, penalties: Array, *, largest: float | None = None, positive: bool
) -> Array:
    """Return the minimisers of ``|y - A a|^2 / 2 + lam |a|_1`` as rows, for falling penalties.

    There are fewer rows than penalties if the path is abandoned, beyond `largest` coefficients.
    """
    size = float(linalg.norm(y))
    if size == 0:
        return np.zeros((len(penalties), A.shape[1]))
    A = first_of_repeated(A, signed=positive)
    y = y / size

    # follow the path from one penalty to the next
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
    """Return the norm of the weighted residual for the penalty that predicts best.

    The penalty minimises the squared error on held-out rows. 0 means the smallest possible
    residual.

    Parameters
    ----------
    X, y, weight : arrays of shape (n, k), (n,), (n,)
        Rows, targets, and non-negative weights.
    folds : iterable of (train, test)
        Indices of rows.
    """
    # centre all rows, and choose the penalties
    Y = y[:, None]
    rows = centred_rows(X, Y, weight, intercept=intercept)
    A = rows.A
    target = rows.Y[:, 0]
    penalties = largest_slope(A.T @ target, positive) * PENALTIES
    credible = credible_number(X[weight > 0])

    # compute the errors on held-out rows; exclude penalties beyond the end of a path
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

    # compute the residual on all rows for the best penalty
    best = int(np.argmin(errors))
    size = float(linalg.norm(target))
    if best == 0:  # predictions are best with zero coefficients
        return size
    coefs = lasso_path(A, target, penalties, largest=credible, positive=positive)
    n_fitted = len(coefs)
    if n_fitted == 0:
        return size
    coef = coefs[min(best, n_fitted - 1)]
    bound = float(linalg.norm(target - A @ coef))
    least = float(linalg.norm(target - A @ coefs[-1]))
    if n_fitted == len(penalties) and bound <= (1 + NOTHING) * least:
        # request least squares, because a bound slightly above their residual would not determine
        # them
        return 0.0
    return bound if bound < (1 - NOTHING) * size else size
