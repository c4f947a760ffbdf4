"""Attempts on noise: dictionaries, principal components, filters, averages of neighbours."""

import numpy as np
from scipy.ndimage import gaussian_filter, median_filter
from scipy.signal import wiener
from sklearn.decomposition import PCA, MiniBatchDictionaryLearning
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d
from sklearn.linear_model import orthogonal_mp
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors


def dictionary(inputs):
    """MiniBatchDictionaryLearning and OMP to the noise level."""
    X = extract_patches_2d(inputs.noisy, (7, 7)).reshape(-1, 49)
    means = X.mean(axis=1, keepdims=True)
    X = X - means
    model = MiniBatchDictionaryLearning(100, alpha=2 * inputs.noise_std, max_iter=5)
    D = model.set_params(fit_algorithm="cd", random_state=0).fit(X).components_ + 1e-9
    D = D / np.linalg.norm(D, axis=1, keepdims=True)
    tol = 49 * (1.1 * inputs.noise_std) ** 2
    codes = orthogonal_mp(D.T, X.T, tol=tol, precompute=True).T
    return reconstruct_from_patches_2d(
        (codes @ D + means).reshape(-1, 7, 7), inputs.noisy.shape
    )


def components(inputs):
    """principal components of patches above the noise level."""
    X = extract_patches_2d(inputs.noisy, (7, 7)).reshape(-1, 49)
    means = X.mean(axis=1, keepdims=True)
    model = PCA().fit(X - means)
    codes = model.transform(X - means)
    codes[np.abs(codes) < 2.7 * inputs.noise_std] = 0
    patches = model.inverse_transform(codes) + means
    return reconstruct_from_patches_2d(patches.reshape(-1, 7, 7), inputs.noisy.shape)


def mixture(inputs):
    """GaussianMixture of patches, shrunk by the noise."""
    X = extract_patches_2d(inputs.noisy, (7, 7)).reshape(-1, 49)
    means = X.mean(axis=1, keepdims=True)
    X = X - means
    model = GaussianMixture(10, random_state=0, reg_covar=1, max_iter=20, tol=0.01)
    labels = model.fit(X[::3]).predict(X)
    for c in range(10):
        rows = labels == c
        values, V = np.linalg.eigh(model.covariances_[c])
        gain = np.maximum(1 - inputs.noise_std**2 / values, 0)
        X[rows] = model.means_[c] + (X[rows] - model.means_[c]) @ (V * gain) @ V.T
    return reconstruct_from_patches_2d((X + means).reshape(-1, 7, 7), inputs.noisy.shape)


def _filtered(inputs, first):
    """Wiener filters of groups of 60 patches that are similar in a first image."""
    X = extract_patches_2d(inputs.noisy, (7, 7)).reshape(-1, 49)
    P = extract_patches_2d(first, (7, 7)).reshape(-1, 49)
    _, near = NearestNeighbors(n_neighbors=60).fit(P).kneighbors(P[::3])
    total = 0.1 * P
    weight = np.full((len(X), 1), 0.1)
    for rows in near:
        C = np.cov(P[rows].T)
        W = np.linalg.solve(C + inputs.noise_std**2 * np.eye(49), C)
        middle = (P[rows].mean(axis=0) + X[rows].mean(axis=0)) / 2
        total[rows] += middle + (X[rows] - middle) @ W
        weight[rows] += 1
    return reconstruct_from_patches_2d((total / weight).reshape(-1, 7, 7), first.shape)


def filtered_components(inputs):
    """components plus Wiener filters of similar patches."""
    return _filtered(inputs, components(inputs))


def filtered_mixture(inputs):
    """GaussianMixture plus Wiener filters of similar patches."""
    return _filtered(inputs, mixture(inputs))


def smoothed(inputs):
    """the mean of five SciPy filters."""
    candidates = [gaussian_filter(inputs.noisy, s) for s in (0.6, 0.8, 1.0)]
    candidates += [
        median_filter(inputs.noisy, 3),
        wiener(inputs.noisy, 3, inputs.noise_std**2),
    ]
    return np.mean(candidates, axis=0)


def wide(inputs):
    """a Gaussian filter four pixels wide."""
    return gaussian_filter(inputs.noisy, 4.0)
