"""Attempts on unknown ratings: columns, neighbours, regressions, components in turn."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import Ridge


def columns(given):
    """means of the columns."""
    return SimpleImputer().fit_transform(given.X)


def neighbours(given):
    """KNNImputer."""
    return KNNImputer(n_neighbors=15, weights="distance").fit_transform(given.X)


def regressions(given):
    """IterativeImputer on ten columns."""
    model = IterativeImputer(n_nearest_features=10, max_iter=5, random_state=0)
    return model.fit_transform(given.X)


def _filled(X, rank, n_passes=60):
    known = ~np.isnan(X)
    filled = SimpleImputer().fit_transform(X)
    for _ in range(n_passes):
        model = PCA(rank).fit(filled)
        filled = np.where(known, X, model.inverse_transform(model.transform(filled)))
    return filled


def components(given):
    """PCA filled in turn, its rank by hidden cells."""
    hidden = np.random.default_rng(0).uniform(size=given.X.shape) < 0.1
    X = np.where(hidden, np.nan, given.X)
    errors = [np.nanmean((_filled(X, rank) - given.X)[hidden] ** 2) for rank in range(1, 7)]
    return _filled(given.X, 1 + int(np.argmin(errors)))


def alternating(given):
    """Ridge of users and items in turn, penalty by hidden cells."""
    middle = np.nanmean(given.X, axis=0)
    hidden = np.random.default_rng(0).uniform(size=given.X.shape) < 0.1
    Z = np.where(hidden, np.nan, given.X) - middle
    grid = [(rank, alpha) for rank in (4, 8) for alpha in (2, 5, 10)]
    fits = [_factors(Z, *pair) for pair in grid]
    errors = [np.nanmean((fit + middle - given.X)[hidden] ** 2) for fit in fits]
    fit = _factors(given.X - middle, *grid[int(np.argmin(errors))]) + middle
    return np.where(np.isnan(given.X), fit, given.X)


def _factors(Z, rank, alpha):
    H = 0.1 * np.random.default_rng(0).normal(size=(rank, Z.shape[1]))
    known = ~np.isnan(Z)
    for _ in range(6):
        W = _solved(H.T, Z, known, alpha)
        H = _solved(W, Z.T, known.T, alpha).T
    return W @ H


def _solved(A, Z, known, alpha):
    model = Ridge(alpha=alpha, fit_intercept=False)
    return np.array(
        [
            model.fit(A[k], z[k]).coef_ if k.any() else np.zeros(A.shape[1])
            for z, k in zip(Z, known, strict=True)
        ]
    )
