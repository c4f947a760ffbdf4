"""Attempts on wrong and missing cells: cut by column, then filled or projected."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline


def pca(given):
    """PCA."""
    model = make_pipeline(SimpleImputer(), PCA(given.n_components))
    return model[-1].inverse_transform(model.fit_transform(given.X))


def clipped_pca(given):
    """clipped columns, then PCA."""
    middle = np.nanmedian(given.X, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(given.X - middle), axis=0)
    X = np.clip(given.X, middle - 3 * spread, middle + 3 * spread)
    model = make_pipeline(SimpleImputer(), PCA(given.n_components))
    return model[-1].inverse_transform(model.fit_transform(X))


def imputed(given):
    """far cells imputed from ten columns, then PCA."""
    middle = np.nanmedian(given.X, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(given.X - middle), axis=0)
    X = np.where(np.abs(given.X - middle) > 3 * spread, np.nan, given.X)
    filled = IterativeImputer(n_nearest_features=10, random_state=0).fit_transform(X)
    model = PCA(given.n_components).fit(filled)
    return model.inverse_transform(model.transform(filled))


def twice(given):
    """PCA without cells of large residuals, ten times."""
    X = SimpleImputer().fit_transform(given.X)
    known = ~np.isnan(given.X)
    for _ in range(10):
        model = PCA(given.n_components).fit(X)
        fitted = model.inverse_transform(model.transform(X))
        residual = np.abs(given.X - fitted)
        good = known & (residual <= 3 * 1.4826 * np.nanmedian(residual))
        X = np.where(good, given.X, fitted)
    return fitted


def neighbours(given):
    """far cells from five neighbours."""
    middle = np.nanmedian(given.X, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(given.X - middle), axis=0)
    X = np.where(np.abs(given.X - middle) > 3 * spread, np.nan, given.X)
    return KNNImputer().fit_transform(X)
