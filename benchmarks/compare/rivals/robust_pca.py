"""Attempts on wrong and missing cells: cut, then filled or projected, at a rank they find."""

import numpy as np
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV

_RANKS = {"n_components": range(1, 11)}


def pca(inputs):
    """PCA with its rank chosen by likelihood."""
    X = SimpleImputer().fit_transform(inputs.X)
    model = GridSearchCV(PCA(), _RANKS).fit(X).best_estimator_
    return model.inverse_transform(model.transform(X))


def imputed(inputs):
    """PCA after far cells are imputed from ten columns."""
    middle = np.nanmedian(inputs.X, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(inputs.X - middle), axis=0)
    X = np.where(np.abs(inputs.X - middle) > 3 * spread, np.nan, inputs.X)
    X = IterativeImputer(n_nearest_features=10, max_iter=3, random_state=0).fit_transform(X)
    model = GridSearchCV(PCA(), _RANKS).fit(X).best_estimator_
    return model.inverse_transform(model.transform(X))


def trimmed(inputs):
    """PCA, refitted forty times without large residuals."""
    X = SimpleImputer().fit_transform(inputs.X)
    for step in range(40):
        if step % 10 == 0:
            rank = GridSearchCV(PCA(), _RANKS).fit(X).best_params_["n_components"]
        model = PCA(rank).fit(X)
        fitted = model.inverse_transform(model.transform(X))
        residual = np.abs(inputs.X - fitted)
        X = np.where(residual <= 3 * 1.4826 * np.nanmedian(residual), inputs.X, fitted)
    return fitted


def growing(inputs):
    """refitted PCA with one more component every five times."""
    X = SimpleImputer().fit_transform(inputs.X)
    for step in range(60):
        s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
        beta = X.shape[1] / X.shape[0]  # compute the optimal threshold of Gavish and Donoho
        rank = np.sum(
            s > (0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43) * np.median(s)
        )
        model = PCA(int(np.clip(rank, 1, 1 + step // 5))).fit(X)
        fitted = model.inverse_transform(model.transform(X))
        residual = np.abs(inputs.X - fitted)
        X = np.where(residual <= 3 * 1.4826 * np.nanmedian(residual), inputs.X, fitted)
    return fitted


def factors(inputs):
    """FactorAnalysis refitted without large-residual cells."""
    X = SimpleImputer().fit_transform(inputs.X)
    for step in range(30):
        if step % 10 == 0:
            model = PCA("mle").fit(X)
            rank = int(np.sum(model.explained_variance_ > 2 * model.noise_variance_))
        model = FactorAnalysis(min(max(rank, 1), 10), svd_method="lapack").fit(X)
        fitted = model.transform(X) @ model.components_ + model.mean_
        residual = np.abs(inputs.X - fitted)
        good = residual <= 3 * 1.4826 * np.nanmedian(residual, axis=0)
        X = np.where(good, inputs.X, fitted)
    return fitted
