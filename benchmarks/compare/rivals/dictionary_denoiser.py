"""Attempts on noise: dictionaries, principal components, filters, averages of neighbours."""

import numpy as np
from scipy.ndimage import gaussian_filter, median_filter
from scipy.signal import wiener
from sklearn.decomposition import PCA, MiniBatchDictionaryLearning
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d
from sklearn.linear_model import orthogonal_mp_gram
from sklearn.neighbors import NearestNeighbors


def _patches(image, side):
    X = extract_patches_2d(image, (side, side)).reshape(-1, side * side)
    means = X.mean(axis=1, keepdims=True)
    return X - means, means


def _image(X, given, side):
    return reconstruct_from_patches_2d(X.reshape(-1, side, side), given.noisy.shape)


def dictionary(given):
    """MiniBatchDictionaryLearning and OMP up to the noise."""
    X, means = _patches(given.noisy, 7)
    model = MiniBatchDictionaryLearning(
        100, alpha=2 * given.noise_std, batch_size=200, max_iter=5, fit_algorithm="cd",
        random_state=0,
    )
    D = model.fit(X).components_
    D = D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-9)
    codes = orthogonal_mp_gram(
        D @ D.T, D @ X.T, tol=49 * (1.1 * given.noise_std) ** 2, norms_squared=np.sum(X**2, axis=1)
    )
    return _image(codes.T @ D + means, given, 7)


def components(given):
    """principal components of patches above the noise."""
    X, means = _patches(given.noisy, 7)
    model = PCA().fit(X)
    codes = model.transform(X)
    codes[np.abs(codes) < 2.7 * given.noise_std] = 0
    return _image(model.inverse_transform(codes) + means, given, 7)


def local_components(given):
    """components of similar patches, shrunk by the noise."""
    X, means = _patches(given.noisy, 6)
    _, near = NearestNeighbors(n_neighbors=60).fit(X).kneighbors(X)
    out = np.empty_like(X)
    for i, rows in enumerate(near):
        middle = X[rows].mean(axis=0)
        values, V = np.linalg.eigh(np.cov(X[rows].T))
        gain = np.maximum(values - given.noise_std**2, 0) / np.maximum(values, 1e-9)
        out[i] = middle + (V * gain) @ (V.T @ (X[i] - middle))
    return _image(out + means, given, 6)


def similar(given):
    """means of similar patches."""
    X = extract_patches_2d(given.noisy, (7, 7)).reshape(-1, 49)
    far, near = NearestNeighbors(n_neighbors=60).fit(X).kneighbors(X)
    excess = np.maximum(far**2 / 49 - 2 * given.noise_std**2, 0)
    weight = np.exp(-excess / (0.4 * given.noise_std) ** 2)[:, :, None]
    means = np.sum(weight * X[near], axis=1) / weight.sum(axis=1)
    return _image(means, given, 7)


def smoothed(given):
    """the best of a few filters of SciPy, by hindsight."""
    candidates = [gaussian_filter(given.noisy, s) for s in (0.6, 0.8, 1.0)]
    candidates += [median_filter(given.noisy, 3), wiener(given.noisy, 3, given.noise_std**2)]
    return np.mean(candidates, axis=0)
