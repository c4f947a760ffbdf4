"""Attempts on wrong and missing cells: cut, then filled or projected, at a rank they find."""

import numpy as np
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.model_selection import cross_val_score


def _rank(X):
    """Number of singular values above those of noise [Gavish and Donoho 2014]."""
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    beta = min(X.shape) / max(X.shape)
    omega = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
    return max(1, int((s > omega * np.median(s)).sum()))


def _project(X, rank):
    model = PCA(rank).fit(X)
    return model.inverse_transform(model.transform(X))


def _without_far_cells(X):
    middle = np.nanmedian(X, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(X - middle), axis=0)
    return np.where(np.abs(X - middle) > 3 * spread, np.nan, X)


def pca(given):
    """PCA, its rank by the optimal threshold."""
    X = SimpleImputer().fit_transform(given.X)
    return _project(X, _rank(X))


def imputed(given):
    """far cells imputed from ten columns, then PCA."""
    X = _without_far_cells(given.X)
    X = IterativeImputer(n_nearest_features=10, max_iter=3).fit_transform(X)
    return _project(X, _rank(X))


def trimmed(given):
    """PCA without cells of large residuals, ten times."""
    X = SimpleImputer().fit_transform(_without_far_cells(given.X))
    for _ in range(10):
        fitted = _project(X, _rank(X))
        residual = np.abs(given.X - fitted)
        good = residual <= 3 * 1.4826 * np.nanmedian(residual)
        X = np.where(good, given.X, fitted)
    return fitted


def at_best_rank(given):
    """the same forty times, its rank by likelihood."""
    X = SimpleImputer().fit_transform(_without_far_cells(given.X))
    for step in range(40):
        if step % 10 == 0:
            scores = [cross_val_score(PCA(rank), X).mean() for rank in range(1, 11)]
        fitted = _project(X, 1 + int(np.argmax(scores)))
        residual = np.abs(given.X - fitted)
        good = residual <= 3 * 1.4826 * np.nanmedian(residual)
        X = np.where(good, given.X, fitted)
    return fitted


def growing(given):
    """the same, one component more every five times."""
    X = SimpleImputer().fit_transform(given.X)
    for step in range(40):
        fitted = _project(X, min(_rank(X), 1 + step // 5))
        residual = np.abs(given.X - fitted)
        good = residual <= 3 * 1.4826 * np.nanmedian(residual)
        X = np.where(good, given.X, fitted)
    return fitted


def factors(given):
    """FactorAnalysis without cells of large residuals."""
    X = SimpleImputer().fit_transform(_without_far_cells(given.X))
    for _ in range(20):
        model = FactorAnalysis(_rank(X), svd_method="lapack").fit(X)
        fitted = model.transform(X) @ model.components_ + model.mean_
        residual = np.abs(given.X - fitted)
        good = residual <= 3 * 1.4826 * np.nanmedian(residual, axis=0)
        X = np.where(good, given.X, fitted)
    return fitted


def _trimmed(X, rank):
    fitted = _project(SimpleImputer().fit_transform(_without_far_cells(X)), 1)
    for step in range(60):
        residual = np.abs(X - fitted)
        cut = max(3, 6 - step / 10) * 1.4826 * np.nanmedian(residual)
        fitted = _project(np.where(residual <= cut, X, fitted), min(rank, 1 + step // 4))
    return fitted


def hidden(given):
    """the same, its rank by the median error of hidden cells."""
    is_hidden = np.random.default_rng(0).uniform(size=given.X.shape) < 0.1
    X = np.where(is_hidden, np.nan, given.X)
    errors = [
        np.nanmedian(np.abs(_trimmed(X, rank) - given.X)[is_hidden]) for rank in range(1, 11)
    ]
    return _trimmed(given.X, 1 + int(np.argmin(errors)))
