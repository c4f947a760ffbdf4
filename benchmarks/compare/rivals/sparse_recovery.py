"""Attempts on signals from few measurements: pursuits and the lasso on cosines."""

import numpy as np
from scipy.fft import idct
from sklearn.linear_model import Lasso, orthogonal_mp, ridge_regression

# Cosines, one in each row.
_COSINES = idct(np.eye(256), axis=1, norm="ortho")


def pursuit(inputs):
    """orthogonal_mp on the cosines."""
    codes = orthogonal_mp(
        inputs.Phi @ _COSINES.T, inputs.Y, n_nonzero_coefs=inputs.n_nonzero_coefs
    )
    return codes.T @ _COSINES


def gram(inputs):
    """orthogonal_mp on inner products."""
    codes = orthogonal_mp(
        inputs.Phi @ _COSINES.T,
        inputs.Y,
        n_nonzero_coefs=inputs.n_nonzero_coefs,
        precompute=True,
    )
    return codes.T @ _COSINES


def lasso(inputs):
    """Lasso on the cosines, the largest codes refitted."""
    A = inputs.Phi @ _COSINES.T
    codes = (
        Lasso(alpha=0.05 / len(A), fit_intercept=False, max_iter=300).fit(A, inputs.Y).coef_
    )
    for code, y in zip(codes, inputs.Y.T, strict=True):
        support = np.argsort(-np.abs(code))[: inputs.n_nonzero_coefs]
        code[:] = 0
        code[support] = np.linalg.lstsq(A[:, support], y, rcond=None)[0]
    return codes @ _COSINES


def thresholds(inputs):
    """gradient steps that keep only the largest codes."""
    A = inputs.Phi @ _COSINES.T
    codes = np.zeros((A.shape[1], inputs.Y.shape[1]))
    for _ in range(200):
        codes += 0.4 * A.T @ (inputs.Y - A @ codes)
        cut = np.sort(np.abs(codes), axis=0)[-inputs.n_nonzero_coefs]
        codes[np.abs(codes) < cut] = 0
    return codes.T @ _COSINES


def ridge(inputs):
    """ridge regression."""
    return ridge_regression(inputs.Phi, inputs.Y, alpha=0.01)


def all_at_once(inputs):
    """batched orthogonal matching pursuit in NumPy."""
    A = inputs.Phi @ _COSINES.T
    G = A.T @ A
    B = inputs.Y.T @ A
    R = B
    atoms = np.zeros((len(B), 0), int)
    for _ in range(inputs.n_nonzero_coefs):
        best = np.argmax(np.abs(R) / np.sqrt(G.diagonal()), axis=1)
        atoms = np.c_[atoms, best]
        products = G[atoms[:, :, None], atoms[:, None]]
        codes = np.zeros(B.shape)
        values = np.linalg.solve(products, np.take_along_axis(B, atoms, 1)[:, :, None])
        np.put_along_axis(codes, atoms, values[:, :, 0], 1)
        R = B - codes @ G
    return codes @ _COSINES
