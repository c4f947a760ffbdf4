"""Attempts on slow features of images: of pixels, of products, of a kernel."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures


def _slowest(inputs, n_directions, *features):
    """The directions of least steps of whitened features."""
    whitened = PCA(n_directions, whiten=True, svd_solver="randomized", random_state=0)
    model = make_pipeline(*features, whitened).fit(inputs.X)
    steps = np.diff(model.transform(inputs.X), axis=0)[np.diff(inputs.ids) == 0]
    last = PCA().fit(np.vstack([steps, -steps])).components_[-5:]
    return model.transform(inputs.X_new) @ last.T


def pixels(inputs):
    """slow feature analysis of pixels."""
    return _slowest(inputs, 100)


def products(inputs):
    """slow feature analysis of products of 20 components."""
    return _slowest(inputs, 200, PCA(20, whiten=True), PolynomialFeatures(2))


def kernel(inputs):
    """slow feature analysis of Nystroem features."""
    features = Nystroem(gamma=0.1, n_components=1000, random_state=0)
    return _slowest(inputs, 400, PCA(20), features)


def kernel_of_few(inputs):
    """slow feature analysis of more Nystroem features."""
    features = Nystroem(gamma=0.1, n_components=1000, random_state=0)
    return _slowest(inputs, 600, PCA(15), features)
