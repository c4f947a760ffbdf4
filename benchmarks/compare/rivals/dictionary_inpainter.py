"""Attempts on missing pixels: interpolation, neighbours, forests, components of patches."""

import numpy as np
from scipy.interpolate import RBFInterpolator, griddata
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors


def linear(inputs):
    """linear griddata, with the nearest pixel outside."""
    known = ~np.isnan(inputs.image)
    seen = np.argwhere(known)
    every = np.argwhere(known | True)
    filled = griddata(seen, inputs.image[known], every, method="linear")
    nearest = griddata(seen, inputs.image[known], every, method="nearest")
    return np.where(np.isnan(filled), nearest, filled).reshape(inputs.image.shape)


def splines(inputs):
    """thin plate splines of forty neighbours."""
    known = ~np.isnan(inputs.image)
    seen = np.argwhere(known)
    every = np.argwhere(known | True)
    model = RBFInterpolator(seen, inputs.image[known], neighbors=40)
    filled = np.clip(model(every), 0, 255).reshape(inputs.image.shape)
    return np.where(known, inputs.image, filled)


def cubic(inputs):
    """radial cubics of sixty neighbours."""
    known = ~np.isnan(inputs.image)
    seen = np.argwhere(known)
    every = np.argwhere(known | True)
    model = RBFInterpolator(seen, inputs.image[known], neighbors=60, kernel="cubic")
    filled = np.clip(model(every), 0, 255).reshape(inputs.image.shape)
    return np.where(known, inputs.image, filled)


def neighbours(inputs):
    """KNeighborsRegressor on pixel positions."""
    known = ~np.isnan(inputs.image)
    seen = np.argwhere(known)
    every = np.argwhere(known | True)
    model = KNeighborsRegressor(5, weights="distance").fit(seen, inputs.image[known])
    return model.predict(every).reshape(inputs.image.shape)


def components(inputs):
    """splines, then iterated components of patches."""
    known = ~np.isnan(inputs.image)
    filled = splines(inputs)
    for cut in np.linspace(60, 5, 20):
        X = extract_patches_2d(filled, (8, 8)).reshape(-1, 64)
        model = PCA().fit(X)
        codes = model.transform(X)
        codes[np.abs(codes) < cut] = 0
        patches = model.inverse_transform(codes).reshape(-1, 8, 8)
        smooth = reconstruct_from_patches_2d(patches, filled.shape)
        filled = np.where(known, inputs.image, smooth)
    return filled


def forest(inputs):
    """ExtraTreesRegressor on filled surroundings."""
    known = ~np.isnan(inputs.image)
    start = splines(inputs)
    X = extract_patches_2d(np.pad(start, 2, mode="edge"), (5, 5)).reshape(-1, 25)
    X = np.delete(X, 12, axis=1)
    model = ExtraTreesRegressor(100, min_samples_leaf=3, random_state=0)
    model.fit(X[known.ravel()], inputs.image[known])
    return np.where(known, inputs.image, model.predict(X).reshape(known.shape))


def similar(inputs):
    """components plus Wiener filters of similar patches."""
    known = ~np.isnan(inputs.image)
    filled = components(inputs)
    for noise in np.geomspace(20, 3, 5):
        P = extract_patches_2d(filled, (8, 8)).reshape(-1, 64)
        _, near = NearestNeighbors(n_neighbors=60).fit(P).kneighbors(P[::3])
        total = 0.1 * P
        for rows in near:
            middle = P[rows].mean(axis=0)
            C = np.cov(P[rows].T)
            W = np.linalg.solve(C + noise**2 * np.eye(64), C)
            total[rows] += middle + (P[rows] - middle) @ W
        weight = 0.1 + np.bincount(near.ravel(), minlength=len(P))[:, None]
        smooth = reconstruct_from_patches_2d((total / weight).reshape(-1, 8, 8), filled.shape)
        filled = np.where(known, inputs.image, smooth)
    return filled


def mixture(inputs):
    """GaussianMixture of patches, shrunk iteratively."""
    known = ~np.isnan(inputs.image)
    filled = splines(inputs)
    for noise in np.geomspace(30, 3, 10):
        X = extract_patches_2d(filled, (8, 8)).reshape(-1, 64)
        model = GaussianMixture(8, random_state=0, reg_covar=1, max_iter=20)
        labels = model.fit(X[::3]).predict(X)
        for middle, C, c in zip(model.means_, model.covariances_, range(8), strict=True):
            W = np.linalg.solve(C + noise**2 * np.eye(64), C)
            X[labels == c] = middle + (X[labels == c] - middle) @ W
        smooth = reconstruct_from_patches_2d(X.reshape(-1, 8, 8), filled.shape)
        filled = np.where(known, inputs.image, smooth)
    return filled
