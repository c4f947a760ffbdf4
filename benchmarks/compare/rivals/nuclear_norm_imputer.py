"""Attempts on hidden cells: columns, neighbours, regressions, components in turn."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer


def columns(inputs):
    """column means."""
    return SimpleImputer().fit_transform(inputs.X)


def neighbours(inputs):
    """KNNImputer."""
    return KNNImputer(n_neighbors=15, weights="distance").fit_transform(inputs.X)


def regressions(inputs):
    """IterativeImputer on ten columns."""
    model = IterativeImputer(n_nearest_features=10, max_iter=5, random_state=0)
    return model.fit_transform(inputs.X)


def components(inputs):
    """iterated PCA, its rank tuned on hidden cells."""
    rows = SimpleImputer()
    hidden = np.random.default_rng(0).uniform(size=inputs.X.shape) < 0.1
    errors = []
    for rank in [1, 2, 3, 4, 5, 6, None]:
        X = np.where(hidden, np.nan, inputs.X) if rank else inputs.X
        filled = rows.fit_transform(X)
        for _ in range(60):
            model = PCA(rank or 1 + int(np.argmin(errors))).fit(filled)
            filled = np.where(np.isnan(X), model.inverse_transform(model.transform(filled)), X)
        errors.append(np.nanmean((filled - inputs.X)[hidden] ** 2))
    return filled


def shrunk(inputs):
    """iterated SVD shrinkage, tuned on hidden cells."""
    hidden = np.random.default_rng(0).uniform(size=inputs.X.shape) < 0.1
    errors = []
    cuts = np.geomspace(3, 60, 9)
    for cut in [*cuts, None]:
        X = np.where(hidden, np.nan, inputs.X) if cut else inputs.X
        filled = SimpleImputer().fit_transform(X)
        for _ in range(100):
            U, s, Vt = np.linalg.svd(filled - filled.mean(axis=0), full_matrices=False)
            s = np.maximum(s - (cut or cuts[int(np.argmin(errors))]), 0)
            filled = np.where(np.isnan(X), U * s @ Vt + filled.mean(axis=0), X)
        errors.append(np.nanmean((filled - inputs.X)[hidden] ** 2))
    return filled


def shrunk_less(inputs):
    """weakening SVD shrinkage, tuned on hidden cells."""
    hidden = np.random.default_rng(0).uniform(size=inputs.X.shape) < 0.1
    cuts = list(np.geomspace(60, 10, 12))
    errors = []
    for X in (np.where(hidden, np.nan, inputs.X), inputs.X):
        filled = SimpleImputer().fit_transform(X)
        for cut in cuts[: int(np.argmin(errors)) + 1 if errors else None]:
            for _ in range(20):
                U, s, Vt = np.linalg.svd(filled - filled.mean(axis=0), full_matrices=False)
                fitted = U * np.maximum(s - cut, 0) @ Vt + filled.mean(axis=0)
                filled = np.where(np.isnan(X), fitted, X)
            errors.append(np.nanmean((filled - inputs.X)[hidden] ** 2))
    return filled
