"""Attempts on groups: the lasso, ridge, groups by tests, groups one by one, weights."""

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_selection import f_regression
from sklearn.linear_model import ElasticNetCV, LassoCV, RidgeCV
from sklearn.model_selection import cross_val_predict

_ALPHAS = np.geomspace(1, 1e4, 13)


def lasso(inputs):
    """LassoCV."""
    return LassoCV().fit(inputs.X, inputs.y).predict(inputs.X_new)


def elastic(inputs):
    """ElasticNetCV."""
    model = ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9], alphas=50)
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)


def ridge(inputs):
    """RidgeCV."""
    return RidgeCV(_ALPHAS).fit(inputs.X, inputs.y).predict(inputs.X_new)


def boosting(inputs):
    """GradientBoostingRegressor."""
    model = GradientBoostingRegressor(max_depth=2, max_features=0.1, random_state=0)
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)


def tested(inputs):
    """RidgeCV on the groups of largest F, as many as CV says."""
    names = np.unique(inputs.groups)
    F = f_regression(inputs.X, inputs.y)[0]
    order = names[np.argsort([-F[inputs.groups == g].mean() for g in names])]
    best = (np.inf, None)
    for k in (1, 2, 3, 5, 8, 12, 20, 30, 60):
        columns = np.isin(inputs.groups, order[:k])
        model = RidgeCV(_ALPHAS)
        guess = cross_val_predict(model, inputs.X[:, columns], inputs.y)
        best = min(best, (np.mean((guess - inputs.y) ** 2), k))
    columns = np.isin(inputs.groups, order[: best[1]])
    return (
        RidgeCV(_ALPHAS).fit(inputs.X[:, columns], inputs.y).predict(inputs.X_new[:, columns])
    )


def weighted(inputs):
    """RidgeCV, iterated with columns weighted by group norms."""
    weights = np.ones(inputs.X.shape[1])
    for _ in range(6):
        model = RidgeCV(np.geomspace(0.1, 1e4, 20)).fit(inputs.X * weights, inputs.y)
        coef = weights * model.coef_
        norms = np.array([np.linalg.norm(coef[inputs.groups == g]) for g in inputs.groups])
        weights = np.sqrt(norms / norms.max())
    return model.predict(inputs.X_new * weights)


def adaptive(inputs):
    """ElasticNetCV with columns weighted by group ridge norms."""
    coef = RidgeCV(np.geomspace(0.1, 1e4, 20)).fit(inputs.X, inputs.y).coef_
    weights = np.array([np.linalg.norm(coef[inputs.groups == g]) for g in inputs.groups])
    model = ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9], alphas=50)
    return model.fit(inputs.X * weights, inputs.y).predict(inputs.X_new * weights)


def pursuit(inputs):
    """RidgeCV on groups added one by one, stopped by CV."""
    names = np.unique(inputs.groups)
    added = []
    guesses = {}
    rest = inputs.y - inputs.y.mean()
    for _ in range(20):
        fit = [np.sum((inputs.X[:, inputs.groups == g].T @ rest) ** 2) for g in names]
        added = [*added, names[int(np.argmax(fit))]]
        columns = np.isin(inputs.groups, added)
        model = RidgeCV(np.geomspace(0.1, 1e4, 16)).fit(inputs.X[:, columns], inputs.y)
        rest = inputs.y - model.predict(inputs.X[:, columns])
        guesses[model.best_score_] = model.predict(inputs.X_new[:, columns])
    return guesses[max(guesses)]
