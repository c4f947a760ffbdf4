"""Attempts on codes up to a bound: pursuits, the lasso, thresholds."""

import numpy as np
from sklearn.decomposition import sparse_encode
from sklearn.linear_model import orthogonal_mp, orthogonal_mp_gram


def pursuit(inputs):
    """orthogonal_mp_gram."""
    gram = inputs.D @ inputs.D.T
    return orthogonal_mp_gram(
        gram,
        inputs.D @ inputs.X.T,
        tol=inputs.residual_tol**2,
        norms_squared=np.ones(len(inputs.X)),
    ).T


def residuals(inputs):
    """orthogonal_mp."""
    return orthogonal_mp(inputs.D.T, inputs.X.T, tol=inputs.residual_tol**2).T


def lasso(inputs):
    """lasso codes, with less penalty until the bound is met."""
    codes = np.zeros((len(inputs.X), len(inputs.D)))
    rows = np.arange(len(inputs.X))
    for alpha in np.geomspace(0.2, 0.001, 12):
        codes[rows] = sparse_encode(
            inputs.X[rows], inputs.D, algorithm="lasso_cd", alpha=alpha, max_iter=300
        )
        left = np.linalg.norm(inputs.X[rows] - codes[rows] @ inputs.D, axis=1)
        rows = rows[left > inputs.residual_tol]
        if len(rows) == 0:
            break
    return codes


def all_at_once(inputs):
    """batched orthogonal matching pursuit in NumPy."""
    G = inputs.D @ inputs.D.T
    B = inputs.X @ inputs.D.T
    codes = np.zeros(B.shape)
    atoms = np.zeros((len(B), 0), int)
    rows = np.arange(len(B))  # continue with the rows that miss the bound
    while len(rows):
        rest = B[rows] - codes[rows] @ G
        atoms = np.c_[atoms, np.abs(rest).argmax(axis=1)]
        products = G[atoms[:, :, None], atoms[:, None]]
        values = np.linalg.solve(products, B[rows[:, None], atoms][:, :, None])
        codes[rows[:, None], atoms] = values[:, :, 0]
        left = np.linalg.norm(inputs.X[rows] - codes[rows] @ inputs.D, axis=1)
        atoms = atoms[left > inputs.residual_tol]
        rows = rows[left > inputs.residual_tol]
    return codes
