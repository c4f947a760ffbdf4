"""Attempts on slow features of images: of pixels, of products, of a kernel."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures


def _slowest(given, n_directions, *features):
    """The directions of least steps of whitened features."""
    whitened = PCA(n_directions, whiten=True, svd_solver="randomized", random_state=0)
    model = make_pipeline(*features, whitened).fit(given.X)
    steps = np.diff(model.transform(given.X), axis=0)[np.diff(given.ids) == 0]
    last = PCA().fit(np.vstack([steps, -steps])).components_[-5:]
    return model.transform(given.X_new) @ last.T


def pixels(given):
    """slow feature analysis of pixels."""
    return _slowest(given, 100)


def products(given):
    """slow feature analysis of products of 20 components."""
    return _slowest(given, 200, PCA(20, whiten=True), PolynomialFeatures(2))


def kernel(given):
    """slow feature analysis of Nystroem features."""
    features = Nystroem(gamma=0.1, n_components=1000, random_state=0)
    return _slowest(given, 400, PCA(20), features)


def kernel_of_few(given):
    """slow feature analysis of more Nystroem features."""
    features = Nystroem(gamma=0.1, n_components=1000, random_state=0)
    return _slowest(given, 600, PCA(15), features)
