"""Attempts on few coefficients: the lasso, its refits and its second stage, pursuits."""

import numpy as np
from sklearn.linear_model import LassoCV, LassoLarsIC, OrthogonalMatchingPursuitCV


def lasso(given):
    """LassoCV."""
    return LassoCV(max_iter=5000).fit(given.X, given.y).coef_


def twice(given):
    """LassoCV twice, features weighted by the first."""
    weights = np.abs(LassoCV(max_iter=5000).fit(given.X, given.y).coef_)
    return LassoCV(max_iter=5000).fit(given.X * weights, given.y).coef_ * weights


def often(given):
    """LassoCV four times, features weighted by the last."""
    weights = np.ones(given.X.shape[1])
    for _ in range(4):
        coef = LassoCV(max_iter=5000).fit(given.X * weights, given.y).coef_ * weights
        weights = np.sqrt(np.abs(coef))
    return coef


def pursuit(given):
    """OrthogonalMatchingPursuitCV."""
    return OrthogonalMatchingPursuitCV(max_iter=15).fit(given.X, given.y).coef_


def criterion(given):
    """LassoCV, then LassoLarsIC on its features."""
    coef = LassoCV(max_iter=5000).fit(given.X, given.y).coef_
    support = np.flatnonzero(coef)
    model = LassoLarsIC("bic").fit(given.X[:, support], given.y)
    chosen = support[np.abs(model.coef_) > 0]
    coef = np.zeros_like(coef)
    coef[chosen] = np.linalg.lstsq(given.X[:, chosen], given.y, rcond=None)[0]
    return coef
