"""Attempts on variables with influence: the lasso by group, forests, tests."""

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import f_regression, mutual_info_regression
from sklearn.linear_model import LassoCV, LinearRegression, RidgeCV


def lasso(given):
    """LassoCV, its coefficients by group."""
    return np.bincount(
        given.groups, LassoCV(max_iter=5000, cv=5).fit(given.X, given.y).coef_ ** 2
    )


def adaptive(given):
    """LassoCV, groups weighted by RidgeCV."""
    ridge = RidgeCV(np.geomspace(1, 1000, 10)).fit(given.X, given.y)
    weights = np.sqrt(np.bincount(given.groups, ridge.coef_**2))[given.groups]
    model = LassoCV(max_iter=5000, cv=5).fit(given.X * weights, given.y)
    return np.bincount(given.groups, (model.coef_ * weights) ** 2)


def one_by_one(given):
    """the fit of each group by itself."""
    names = np.unique(given.groups)
    blocks = [given.X[:, given.groups == g] for g in names]
    return np.array([LinearRegression().fit(B, given.y).score(B, given.y) for B in blocks])


def forward(given):
    """groups added one by one, the best next."""
    names = list(np.unique(given.groups))
    order, influence = [], np.zeros(len(names))
    for step in range(8):
        fits = {}
        for g in set(names) - set(order):
            B = given.X[:, np.isin(given.groups, [*order, g])]
            fits[g] = LinearRegression().fit(B, given.y).score(B, given.y)
        order.append(max(fits, key=fits.get))
        influence[order[-1]] = 8 - step
    return influence


def trees(given):
    """importances of ExtraTreesRegressor."""
    model = ExtraTreesRegressor(200, max_features=0.3, random_state=0)
    return model.fit(given.Z, given.y).feature_importances_


def information(given):
    """mutual information, then correlation."""
    shared = mutual_info_regression(given.Z, given.y, random_state=0)
    return shared + 1e-3 * f_regression(given.Z, given.y)[0]
