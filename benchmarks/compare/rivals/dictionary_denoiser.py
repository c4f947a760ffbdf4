"""Attempts on noise: dictionaries, principal components, filters, averages of neighbours."""

import numpy as np
from scipy.ndimage import gaussian_filter, median_filter
from scipy.signal import wiener
from sklearn.decomposition import PCA, MiniBatchDictionaryLearning
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d
from sklearn.linear_model import orthogonal_mp
from sklearn.neighbors import NearestNeighbors


def dictionary(given):
    """MiniBatchDictionaryLearning and OMP up to the noise."""
    X = extract_patches_2d(given.noisy, (7, 7)).reshape(-1, 49)
    means = X.mean(axis=1, keepdims=True)
    X = X - means
    model = MiniBatchDictionaryLearning(100, alpha=2 * given.noise_std, max_iter=5)
    D = model.set_params(fit_algorithm="cd", random_state=0).fit(X).components_ + 1e-9
    D = D / np.linalg.norm(D, axis=1, keepdims=True)
    tol = 49 * (1.1 * given.noise_std) ** 2
    codes = orthogonal_mp(D.T, X.T, tol=tol, precompute=True).T
    return reconstruct_from_patches_2d(
        (codes @ D + means).reshape(-1, 7, 7), given.noisy.shape
    )


def gallery(given):
    """MiniBatchDictionaryLearning and two atoms a patch."""
    X = extract_patches_2d(given.noisy, (7, 7)).reshape(-1, 49)
    means = X.mean(axis=1, keepdims=True)
    given_atoms = {"transform_algorithm": "omp", "transform_n_nonzero_coefs": 2}
    model = MiniBatchDictionaryLearning(
        50, alpha=2 * given.noise_std, max_iter=5, **given_atoms
    )
    model.set_params(fit_algorithm="cd", random_state=0)
    patches = model.fit_transform(X - means) @ model.components_ + means
    return reconstruct_from_patches_2d(patches.reshape(-1, 7, 7), given.noisy.shape)


def components(given):
    """principal components of patches above the noise."""
    X = extract_patches_2d(given.noisy, (7, 7)).reshape(-1, 49)
    means = X.mean(axis=1, keepdims=True)
    model = PCA().fit(X - means)
    codes = model.transform(X - means)
    codes[np.abs(codes) < 2.7 * given.noise_std] = 0
    patches = model.inverse_transform(codes) + means
    return reconstruct_from_patches_2d(patches.reshape(-1, 7, 7), given.noisy.shape)


def local_components(given):
    """components of similar patches, shrunk by the noise."""
    X = extract_patches_2d(given.noisy, (6, 6)).reshape(-1, 36)
    _, near = NearestNeighbors(n_neighbors=60).fit(X).kneighbors(X)
    out = np.empty_like(X)
    for i, rows in enumerate(near):
        middle = X[rows].mean(axis=0)
        values, V = np.linalg.eigh(np.cov(X[rows].T))
        gain = np.maximum(values - given.noise_std**2, 0) / np.maximum(values, 1e-9)
        out[i] = middle + (V * gain) @ (V.T @ (X[i] - middle))
    return reconstruct_from_patches_2d(out.reshape(-1, 6, 6), given.noisy.shape)


def similar(given):
    """means of similar patches."""
    X = extract_patches_2d(given.noisy, (7, 7)).reshape(-1, 49)
    far, near = NearestNeighbors(n_neighbors=60).fit(X).kneighbors(X)
    excess = np.maximum(far**2 / 49 - 2 * given.noise_std**2, 0)
    weight = np.exp(-excess / (0.4 * given.noise_std) ** 2)[:, :, None]
    means = np.sum(weight * X[near], axis=1) / weight.sum(axis=1)
    return reconstruct_from_patches_2d(means.reshape(-1, 7, 7), given.noisy.shape)


def smoothed(given):
    """the mean of five filters of SciPy."""
    candidates = [gaussian_filter(given.noisy, s) for s in (0.6, 0.8, 1.0)]
    candidates += [median_filter(given.noisy, 3), wiener(given.noisy, 3, given.noise_std**2)]
    return np.mean(candidates, axis=0)
