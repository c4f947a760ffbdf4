"""Attempts to predict ranks."""

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC, SVR


def svc(given):
    """SVC."""
    grid = {"C": [1, 10, 100], "gamma": [0.1, 0.3, 1.0, 3.0]}
    search = GridSearchCV(SVC(), grid, scoring="neg_mean_absolute_error")
    return search.fit(given.X, given.y).predict(given.X_new)


def rounded(given):
    """SVR on the ranks, rounded."""
    grid = {"C": [1, 10, 100], "gamma": [0.1, 0.3, 1.0, 3.0], "epsilon": [0.1]}
    search = GridSearchCV(SVR(), grid, scoring="neg_mean_absolute_error")
    return search.fit(given.X, given.y).predict(given.X_new).round().clip(0, given.y.max())


def normal_scores(given):
    """SVR on normal scores of the ranks, cut in between."""
    share = np.bincount(given.y).cumsum() / len(given.y)
    middle = norm.ppf((np.r_[0, share[:-1]] + share) / 2)
    grid = {"C": [1, 10, 100], "gamma": [0.1, 0.3, 1.0, 3.0], "epsilon": [0.1]}
    search = GridSearchCV(SVR(), grid).fit(given.X, middle[given.y])
    held_out = cross_val_predict(search.best_estimator_, given.X, middle[given.y])
    values = np.linspace(middle[0], middle[-1], 300)[:, None]
    losses = [
        [np.sum((held_out > v) != (given.y > k)) for v in values] for k in range(given.y.max())
    ]
    cuts = np.sort(values[np.argmin(losses, axis=1), 0])
    return np.digitize(search.predict(given.X_new), cuts)


def each_border(given):
    """one SVC for each border of ranks, added up."""
    grid = {"C": [1, 10, 100], "gamma": [0.1, 0.3, 1.0, 3.0]}
    borders = range(1, given.y.max() + 1)
    machines = [
        GridSearchCV(SVC(), grid).fit(given.X, given.y >= border) for border in borders
    ]
    return sum(machine.predict(given.X_new).astype(int) for machine in machines)


def process(given):
    """a Gaussian process on the ranks, rounded."""
    kernel = ConstantKernel() * RBF(np.ones(given.X.shape[1])) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(given.X, given.y)
    return model.predict(given.X_new).round().clip(0, given.y.max()).astype(int)


def boosted(given):
    """gradient boosting on the ranks, rounded."""
    grid = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 15]}
    search = GridSearchCV(HistGradientBoostingRegressor(), grid)
    return search.fit(given.X, given.y).predict(given.X_new).round().clip(0, given.y.max())
