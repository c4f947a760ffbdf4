"""Attempts on few numbers of each signal: projections, pursuits, components, samples."""

import numpy as np
from scipy.fft import idct
from scipy.interpolate import CubicSpline
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso, orthogonal_mp
from sklearn.random_projection import GaussianRandomProjection

# Cosines, one in each row.
_COSINES = idct(np.eye(256), axis=1, norm="ortho")


def pursuit(inputs):
    """GaussianRandomProjection and orthogonal_mp."""
    model = GaussianRandomProjection(inputs.n_measurements, random_state=0)
    Y = model.fit_transform(inputs.X)
    A = model.components_ @ _COSINES.T
    codes = orthogonal_mp(A, Y.T, n_nonzero_coefs=inputs.n_nonzero_coefs)
    return Y, codes.T @ _COSINES


def gram(inputs):
    """GaussianRandomProjection and precomputed orthogonal_mp."""
    model = GaussianRandomProjection(inputs.n_measurements, random_state=0)
    Y = model.fit_transform(inputs.X)
    A = model.components_ @ _COSINES.T
    codes = orthogonal_mp(A, Y.T, n_nonzero_coefs=inputs.n_nonzero_coefs, precompute=True)
    return Y, codes.T @ _COSINES


def lasso(inputs):
    """GaussianRandomProjection and Lasso."""
    model = GaussianRandomProjection(inputs.n_measurements, random_state=0)
    Y = model.fit_transform(inputs.X)
    A = model.components_ @ _COSINES.T
    codes = Lasso(alpha=1e-4, fit_intercept=False, max_iter=500).fit(A, Y.T).coef_
    return Y, codes @ _COSINES


def principal(inputs):
    """PCA."""
    model = PCA(inputs.n_measurements)
    Y = model.fit_transform(inputs.X)
    return Y, model.inverse_transform(Y)


def samples(inputs):
    """cubic splines between single values."""
    places = np.linspace(0, 255, inputs.n_measurements).round().astype(int)
    Y = inputs.X[:, places]
    return Y, CubicSpline(places, Y, axis=1)(np.arange(256))


def all_at_once(inputs):
    """GaussianRandomProjection and batched OMP in NumPy."""
    model = GaussianRandomProjection(inputs.n_measurements, random_state=0)
    Y = model.fit_transform(inputs.X)
    A = model.components_ @ _COSINES.T
    G = A.T @ A
    B = Y @ A
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
    return Y, codes @ _COSINES
