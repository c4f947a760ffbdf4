"""Attempts to find what two views have in common: three pairs of functions."""

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.cross_decomposition import CCA, PLSCanonical
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler


class _Pairs(BaseEstimator):
    """Pairs of functions of features of both views."""

    def __init__(self, features=None, model=None):
        self.features = features
        self.model = model

    def fit(self, X, Y):
        self.first_ = clone(self.features).fit(X)
        self.second_ = clone(self.features).fit(Y)
        self.model_ = clone(self.model).fit(
            self.first_.transform(X), self.second_.transform(Y)
        )
        return self

    def transform(self, X, Y):
        return self.model_.transform(self.first_.transform(X), self.second_.transform(Y))

    def score(self, X, Y):
        pairs = zip(*(side.T for side in self.transform(X, Y)), strict=True)
        return np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs])


def plain(inputs):
    """CCA."""
    return CCA(3).fit(inputs.X, inputs.Y).transform(inputs.X_new, inputs.Y_new)


def covariance(inputs):
    """PLSCanonical."""
    return PLSCanonical(3).fit(inputs.X, inputs.Y).transform(inputs.X_new, inputs.Y_new)


def components(inputs):
    """CCA after PCA of both views."""
    grid = {"features__n_components": [4, 6, 8, 12, 16, 24]}
    search = GridSearchCV(_Pairs(PCA(), CCA(3, max_iter=1000)), grid).fit(inputs.X, inputs.Y)
    return search.best_estimator_.transform(inputs.X_new, inputs.Y_new)


def kernel_components(inputs):
    """CCA after KernelPCA of both views."""
    grid = {
        "features__n_components": [12, 20, 40, 60, 90],
        "features__gamma": [3e-4, 1e-3, 3e-3],
    }
    pairs = _Pairs(KernelPCA(kernel="rbf"), CCA(3, max_iter=1000))
    search = GridSearchCV(pairs, grid).fit(inputs.X, inputs.Y)
    return search.best_estimator_.transform(inputs.X_new, inputs.Y_new)


def kernel_covariance(inputs):
    """PLSCanonical after KernelPCA of both views."""
    grid = {
        "features__n_components": [30, 100, 200],
        "features__gamma": [3e-4, 1e-3, 3e-3],
        "model__scale": [False, True],
    }
    pairs = _Pairs(KernelPCA(kernel="rbf"), PLSCanonical(3, max_iter=1000))
    search = GridSearchCV(pairs, grid).fit(inputs.X, inputs.Y)
    return search.best_estimator_.transform(inputs.X_new, inputs.Y_new)


def regressed(inputs):
    """KernelRidge to the components of the second view."""
    second = PCA(3).fit(inputs.Y)
    grid = {"alpha": [0.001, 0.01, 0.1, 1.0], "gamma": [3e-4, 1e-3, 3e-3]}
    targets = StandardScaler().fit_transform(second.transform(inputs.Y))
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid).fit(inputs.X, targets)
    return search.predict(inputs.X_new), second.transform(inputs.Y_new)
