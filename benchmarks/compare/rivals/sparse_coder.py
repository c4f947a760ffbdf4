"""Attempts on codes up to a bound: pursuits, the lasso, thresholds."""

import numpy as np
from sklearn.decomposition import sparse_encode
from sklearn.linear_model import orthogonal_mp, orthogonal_mp_gram


def pursuit(given):
    """orthogonal_mp_gram."""
    gram = given.D @ given.D.T
    return orthogonal_mp_gram(
        gram,
        given.D @ given.X.T,
        tol=given.residual_tol**2,
        norms_squared=np.ones(len(given.X)),
    ).T


def residuals(given):
    """orthogonal_mp."""
    return orthogonal_mp(given.D.T, given.X.T, tol=given.residual_tol**2).T


def lasso(given):
    """lasso codes with less penalty until the bound is met."""
    codes = np.zeros((len(given.X), len(given.D)))
    rows = np.arange(len(given.X))
    for alpha in np.geomspace(0.2, 0.001, 12):
        codes[rows] = sparse_encode(
            given.X[rows], given.D, algorithm="lasso_cd", alpha=alpha, max_iter=300
        )
        left = np.linalg.norm(given.X[rows] - codes[rows] @ given.D, axis=1)
        rows = rows[left > given.residual_tol]
        if len(rows) == 0:
            break
    return codes
