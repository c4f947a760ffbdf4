"""The bound on the residual with which basis pursuit predicts best, by cross-validation.

Each bound corresponds to a penalty of the lasso path (`homotopy`), and penalties per row carry
over from folds to all rows. Equations that hold with few coefficients need no bound: with noise,
they would need as many coefficients as there are rows.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, stats

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.homotopy import CROWDED, follow_path
from skmoderndata._solvers.recovery.optimality import first_of_repeated, largest_slope

# Penalties, in units of the smallest penalty for which all coefficients are zero.
PENALTIES = np.geomspace(1.0, 1e-6, 61)
# Maximum relative difference of residual norms that counts as zero: a smaller difference does not
# justify further coefficients and cannot be certified.
NOTHING = 1e-6
# Probability that a refit is chosen although it predicts no better.
REFIT_LEVEL = 0.05
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


class PathPoints(NamedTuple):
    """Coefficients at penalties (rows), and the least squares coefficients on their supports."""

    lasso: Array
    least_squares: Array


def lasso_path(
    A: Array, y: Array, penalties: Array, *, largest: float | None = None, positive: bool
) -> PathPoints:
    """Return the minimisers of ``|y - A a|^2 / 2 + lam |a|_1`` for falling penalties.

    There are fewer rows than penalties if the path is abandoned, beyond `largest` coefficients.
    If coefficients must be non-negative and least squares gives a negative one, the minimiser is
    used instead.
    """
    shape = (len(penalties), A.shape[1])
    points = PathPoints(np.zeros(shape), np.zeros(shape))
    size = float(linalg.norm(y))
    if size == 0:
        return points
    A = first_of_repeated(A, signed=positive)
    y = y / size

    # follow the path from one penalty to the next
    start = None
    for i, lam in enumerate(penalties / size):
        segment, _, ended = follow_path(
            A, y, bound=0.0, positive=positive, least=lam, largest=largest, start=start
        )
        if not ended:
            return PathPoints(*(coefs[:i] for coefs in points))
        shrunk = segment.fitted - lam * segment.direction
        negative = positive and bool((segment.fitted < 0).any())
        points.lasso[i, segment.support] = size * shrunk
        points.least_squares[i, segment.support] = size * (
            shrunk if negative else segment.fitted
        )
        start = segment, lam
    return points


def least_squares_on_support(A: Array, y: Array, coef: Array, *, positive: bool) -> Array:
    """Return the least squares coefficients on the support of `coef`.

    Returns `coef` if coefficients must be non-negative and least squares gives a negative one.
    """
    support = np.flatnonzero(coef)
    if support.size == 0:
        return coef
    fitted = linalg.lstsq(A[:, support], y)[0]
    if positive and (fitted < 0).any():
        return coef
    refit = np.zeros_like(coef)
    refit[support] = fitted
    return refit


class PredictiveBound(NamedTuple):
    """Bound on the norm of the residual, and whether a refit on its support predicts better."""

    bound: float | None
    refit: bool


def predictive_bound(
    X: Array,
    y: Array,
    weight: Array,
    folds: Folds,
    *,
    intercept: bool,
    positive: bool,
    refits: bool | None = None,
) -> PredictiveBound:
    """Return the norm of the weighted residual for the penalty that predicts best.

    The penalty minimises the squared error on held-out rows, of the lasso's coefficients or of
    least squares on their support. 0 means the smallest possible residual.

    Parameters
    ----------
    X, y, weight : arrays of shape (n, k), (n,), (n,)
        Rows, targets, and non-negative weights.
    folds : iterable of (train, test)
        Indices of rows.
    refits : bool or None
        Whether coefficients are refitted by least squares. With None, they are if the refit
        predicts better by a one-sided t test of the differences over folds.
    """
    # centre all rows, and choose the penalties
    rows = centred_rows(X, y[:, None], weight, intercept=intercept)
    A = rows.A
    target = rows.Y[:, 0]
    penalties = largest_slope(A.T @ target, positive) * PENALTIES
    form: dict[str, Any] = {
        "largest": credible_number(X[weight > 0]),
        "positive": positive,
    }

    # find the best penalty
    errors = _held_out_errors(X, y, weight, folds, penalties, intercept=intercept, **form)
    best_lasso, best_refit = (int(i) for i in np.argmin(errors.sum(axis=0), axis=1))
    if refits is None:
        refits = _clearly_positive(errors[:, 0, best_lasso] - errors[:, 1, best_refit])
    best = best_refit if refits else best_lasso

    # compute the residual on all rows for the best penalty
    size = float(linalg.norm(target))
    if best == 0:  # predictions are best with zero coefficients
        return PredictiveBound(size, False)
    coefs = lasso_path(A, target, penalties, **form).lasso
    n_fitted = len(coefs)
    if n_fitted == 0:
        return PredictiveBound(size, False)
    coef = coefs[min(best, n_fitted - 1)]
    bound = float(linalg.norm(target - A @ coef))
    least = float(linalg.norm(target - A @ coefs[-1]))
    if n_fitted == len(penalties) and bound <= (1 + NOTHING) * least:
        # request least squares, because a bound slightly above their residual would not determine
        # them
        return PredictiveBound(0.0, False)
    if bound >= (1 - NOTHING) * size:
        return PredictiveBound(size, False)
    return PredictiveBound(bound, refits)


def _held_out_errors(
    X: Array,
    y: Array,
    weight: Array,
    folds: Folds,
    penalties: Array,
    *,
    intercept: bool,
    **form: Any,
) -> Array:
    """Return the squared errors (folds, 2, penalties) of the lasso and of its refits.

    Errors are infinite beyond the end of a path.
    """
    errors = []
    for train, test in folds:
        train = np.arange(len(y))[train]
        train = train[weight[train] > 0]
        if train.size == 0:
            continue
        trained = centred_rows(X[train], y[train, None], weight[train], intercept=intercept)
        fraction = weight[train].sum() / weight.sum()
        points = lasso_path(trained.A, trained.Y[:, 0], fraction * penalties, **form)
        expected = (y[test] - trained.y_mean)[:, None]
        of_fold = np.full((2, len(penalties)), np.inf)
        for of_rule, coefs in zip(of_fold, points, strict=True):
            residuals = expected - (X[test] - trained.x_mean) @ coefs.T
            of_rule[: len(coefs)] = weight[test] @ residuals**2
        errors.append(of_fold)
    return np.array(errors).reshape(-1, 2, len(penalties))


def _clearly_positive(differences: Array) -> bool:
    """Return whether the mean of at least two differences is significantly positive (t test)."""
    n = len(differences)
    if n < 2 or not np.isfinite(differences).all():
        return False
    quantile = stats.t.ppf(1 - REFIT_LEVEL, n - 1)
    return bool(differences.sum() > quantile * np.sqrt(n) * differences.std(ddof=1))
