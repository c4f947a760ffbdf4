"""Attempts on many means: raw, robust, shrunk by cross-validation or evidence."""

import numpy as np
from sklearn.linear_model import BayesianRidge, RidgeCV
from sklearn.preprocessing import TargetEncoder


def _long(X):
    group = np.tile(np.arange(X.shape[1]), len(X))
    return group, X.ravel()


def mean(given):
    """the sample means."""
    return given.X.mean(axis=0)


def evidence(given):
    """BayesianRidge on indicators of the columns."""
    group, y = _long(given.X)
    model = BayesianRidge().fit(np.eye(given.X.shape[1])[group], y)
    return model.predict(np.eye(given.X.shape[1]))


def encoded(given):
    """TargetEncoder."""
    group, y = _long(given.X)
    model = TargetEncoder(target_type="continuous").fit(group[:, None], y)
    return model.encodings_[0]


def validated(given):
    """RidgeCV on indicators of the columns."""
    group, y = _long(given.X)
    model = RidgeCV(np.geomspace(0.1, 100, 20)).fit(np.eye(given.X.shape[1])[group], y)
    return model.predict(np.eye(given.X.shape[1]))
