"""Attempts on groups: the lasso, ridge, groups by tests, groups one by one, weights."""

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_selection import f_regression
from sklearn.linear_model import ElasticNetCV, LassoCV, RidgeCV
from sklearn.model_selection import cross_val_predict

_ALPHAS = np.geomspace(1, 1e4, 13)


def lasso(given):
    """LassoCV."""
    return LassoCV().fit(given.X, given.y).predict(given.X_new)


def elastic(given):
    """ElasticNetCV."""
    model = ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9], alphas=50)
    return model.fit(given.X, given.y).predict(given.X_new)


def ridge(given):
    """RidgeCV."""
    return RidgeCV(_ALPHAS).fit(given.X, given.y).predict(given.X_new)


def boosting(given):
    """GradientBoostingRegressor."""
    model = GradientBoostingRegressor(max_depth=2, max_features=0.1, random_state=0)
    return model.fit(given.X, given.y).predict(given.X_new)


def tested(given):
    """RidgeCV on the groups of largest F, as many as CV says."""
    names = np.unique(given.groups)
    F = f_regression(given.X, given.y)[0]
    order = names[np.argsort([-F[given.groups == g].mean() for g in names])]
    best = (np.inf, None)
    for k in (1, 2, 3, 5, 8, 12, 20, 30, 60):
        columns = np.isin(given.groups, order[:k])
        model = RidgeCV(_ALPHAS)
        guess = cross_val_predict(model, given.X[:, columns], given.y)
        best = min(best, (np.mean((guess - given.y) ** 2), k))
    columns = np.isin(given.groups, order[: best[1]])
    return RidgeCV(_ALPHAS).fit(given.X[:, columns], given.y).predict(given.X_new[:, columns])


def weighted(given):
    """RidgeCV, iterated with columns weighted by group norms."""
    weights = np.ones(given.X.shape[1])
    for _ in range(6):
        model = RidgeCV(np.geomspace(0.1, 1e4, 20)).fit(given.X * weights, given.y)
        coef = weights * model.coef_
        norms = np.array([np.linalg.norm(coef[given.groups == g]) for g in given.groups])
        weights = np.sqrt(norms / norms.max())
    return model.predict(given.X_new * weights)


def adaptive(given):
    """ElasticNetCV with columns weighted by group ridge norms."""
    coef = RidgeCV(np.geomspace(0.1, 1e4, 20)).fit(given.X, given.y).coef_
    weights = np.array([np.linalg.norm(coef[given.groups == g]) for g in given.groups])
    model = ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9], alphas=50)
    return model.fit(given.X * weights, given.y).predict(given.X_new * weights)


def pursuit(given):
    """RidgeCV on groups added one by one, stopped by CV."""
    names = np.unique(given.groups)
    chosen = []
    guesses = {}
    rest = given.y - given.y.mean()
    for _ in range(20):
        fit = [np.sum((given.X[:, given.groups == g].T @ rest) ** 2) for g in names]
        chosen = [*chosen, names[int(np.argmax(fit))]]
        columns = np.isin(given.groups, chosen)
        model = RidgeCV(np.geomspace(0.1, 1e4, 16)).fit(given.X[:, columns], given.y)
        rest = given.y - model.predict(given.X[:, columns])
        guesses[model.best_score_] = model.predict(given.X_new[:, columns])
    return guesses[max(guesses)]
