"""Attempts on missing pixels: interpolation, neighbours, forests, components of patches."""

import numpy as np
from scipy.interpolate import RBFInterpolator, griddata
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d
from sklearn.neighbors import KNeighborsRegressor


def linear(given):
    """griddata, linear, the nearest pixel outside."""
    known = ~np.isnan(given.image)
    seen = np.argwhere(known)
    every = np.argwhere(known | True)
    filled = griddata(seen, given.image[known], every, method="linear")
    nearest = griddata(seen, given.image[known], every, method="nearest")
    return np.where(np.isnan(filled), nearest, filled).reshape(given.image.shape)


def splines(given):
    """thin plate splines of forty neighbours."""
    known = ~np.isnan(given.image)
    seen = np.argwhere(known)
    every = np.argwhere(known | True)
    model = RBFInterpolator(seen, given.image[known], neighbors=40)
    filled = np.clip(model(every), 0, 255).reshape(given.image.shape)
    return np.where(known, given.image, filled)


def cubic(given):
    """radial cubics of sixty neighbours."""
    known = ~np.isnan(given.image)
    seen = np.argwhere(known)
    every = np.argwhere(known | True)
    model = RBFInterpolator(seen, given.image[known], neighbors=60, kernel="cubic")
    filled = np.clip(model(every), 0, 255).reshape(given.image.shape)
    return np.where(known, given.image, filled)


def neighbours(given):
    """KNeighborsRegressor on places."""
    known = ~np.isnan(given.image)
    seen = np.argwhere(known)
    every = np.argwhere(known | True)
    model = KNeighborsRegressor(5, weights="distance").fit(seen, given.image[known])
    return model.predict(every).reshape(given.image.shape)


def components(given):
    """splines, then components of patches in turn."""
    known = ~np.isnan(given.image)
    filled = splines(given)
    for cut in np.linspace(60, 5, 20):
        X = extract_patches_2d(filled, (8, 8)).reshape(-1, 64)
        model = PCA().fit(X)
        codes = model.transform(X)
        codes[np.abs(codes) < cut] = 0
        patches = model.inverse_transform(codes).reshape(-1, 8, 8)
        smooth = reconstruct_from_patches_2d(patches, filled.shape)
        filled = np.where(known, given.image, smooth)
    return filled


def forest(given):
    """ExtraTreesRegressor on filled surroundings."""
    known = ~np.isnan(given.image)
    start = splines(given)
    X = extract_patches_2d(np.pad(start, 2, mode="edge"), (5, 5)).reshape(-1, 25)
    X = np.delete(X, 12, axis=1)
    model = ExtraTreesRegressor(100, min_samples_leaf=3, random_state=0)
    model.fit(X[known.ravel()], given.image[known])
    return np.where(known, given.image, model.predict(X).reshape(known.shape))
