"""Attempts on Sammon's stress: maps of scikit-learn, and the stress itself in scipy."""

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA
from sklearn.manifold import MDS, Isomap


def principal(inputs):
    """PCA."""
    return PCA(2).fit_transform(inputs.X)


def geodesic(inputs):
    """scaled Isomap."""
    Y = Isomap(n_neighbors=30).fit_transform(inputs.X)
    d = pdist(inputs.X)
    near = pdist(Y)
    return Y * near.sum() / np.sum(near**2 / d)


def scaled(inputs):
    """scaled MDS, started from PCA."""
    model = MDS(2, n_init=1, init="classical_mds", random_state=0)
    Y = model.fit_transform(inputs.X)
    near = pdist(Y)
    return Y * near.sum() / np.sum(near**2 / pdist(inputs.X))


def gradient(inputs):
    """scipy.optimize on the stress from a PCA start."""
    D = squareform(pdist(inputs.X)) + np.eye(len(inputs.X))

    def stress(y):
        Y = y.reshape(-1, 2)
        d = squareform(pdist(Y)) + np.eye(len(Y))
        W = (D - d) / (D * d)
        value = np.sum((D - d) ** 2 / D) / 2
        return value, -2 * (W.sum(axis=1)[:, None] * Y - W @ Y).ravel()

    start = PCA(2).fit_transform(inputs.X).ravel()
    return minimize(stress, start, jac=True, method="L-BFGS-B").x.reshape(-1, 2)
