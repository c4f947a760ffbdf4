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
    """lasso codes, with less penalty until the bound is met."""
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


def all_at_once(given):
    """batched orthogonal matching pursuit in NumPy."""
    G = given.D @ given.D.T
    B = given.X @ given.D.T
    codes = np.zeros(B.shape)
    chosen = np.zeros((len(B), 0), int)
    rows = np.arange(len(B))  # that miss the bound
    while len(rows):
        rest = B[rows] - codes[rows] @ G
        chosen = np.c_[chosen, np.abs(rest).argmax(axis=1)]
        products = G[chosen[:, :, None], chosen[:, None]]
        values = np.linalg.solve(products, B[rows[:, None], chosen][:, :, None])
        codes[rows[:, None], chosen] = values[:, :, 0]
        left = np.linalg.norm(given.X[rows] - codes[rows] @ given.D, axis=1)
        chosen = chosen[left > given.residual_tol]
        rows = rows[left > given.residual_tol]
    return codes
