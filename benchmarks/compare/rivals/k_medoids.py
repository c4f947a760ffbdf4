"""Attempts on representatives: clusters of coordinates or of distances, centres, exchanges."""

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import KernelPCA


def _centres(D, labels):
    clusters = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    return np.array([c[D[np.ix_(c, c)].sum(axis=0).argmin()] for c in clusters])


def _alternate(D, centres):
    for _ in range(10):
        centres = _centres(D, D[:, centres].argmin(axis=1))
    return centres


def agglomerative(inputs):
    """AgglomerativeClustering and the centre of each cluster."""
    model = AgglomerativeClustering(inputs.n_clusters, metric="precomputed", linkage="average")
    return _alternate(inputs.D, _centres(inputs.D, model.fit_predict(inputs.D)))


def coordinates(inputs):
    """KMeans in coordinates of KernelPCA."""
    X = KernelPCA(50, kernel="precomputed").fit_transform(-(inputs.D**2) / 2)
    labels = KMeans(inputs.n_clusters, n_init=10, random_state=0).fit_predict(X)
    return _alternate(inputs.D, _centres(inputs.D, labels))


def rows_of_distances(inputs):
    """KMeans on the rows of distances."""
    labels = KMeans(inputs.n_clusters, n_init=5, random_state=0).fit_predict(inputs.D)
    return _alternate(inputs.D, _centres(inputs.D, labels))


def alternating(inputs):
    """alternating centres and clusters from 20 starts."""
    rng = np.random.default_rng(0)
    starts = [rng.permutation(len(inputs.D))[: inputs.n_clusters] for _ in range(20)]
    found = []
    for centres in starts:
        for _ in range(8):
            centres = _centres(inputs.D, inputs.D[:, centres].argmin(axis=1))
        found.append(centres)
    return min(found, key=lambda centres: inputs.D[:, centres].min(axis=1).sum())


def greedy(inputs):
    """a greedy choice of one centre after the other."""
    nearest = np.full(len(inputs.D), np.inf)
    centres = []
    for _ in range(inputs.n_clusters):
        centres.append(np.minimum(inputs.D, nearest[:, None]).sum(axis=0).argmin())
        nearest = np.minimum(nearest, inputs.D[:, centres[-1]])
    return _alternate(inputs.D, np.array(centres))


def exchanges(inputs):
    """swaps of centres with random samples."""
    rng = np.random.default_rng(0)
    D = inputs.D
    centres = []
    for _ in range(inputs.n_clusters):
        nearest = D[:, centres].min(axis=1, initial=9)[:, None]
        centres.append(np.minimum(D, nearest).sum(axis=0).argmin())
    for _ in range(3000):
        new = centres.copy()
        new[rng.integers(len(new))] = rng.integers(len(D))
        if D[:, new].min(axis=1).sum() < D[:, centres].min(axis=1).sum():
            centres = new
    return np.array(centres)


def best_exchanges(inputs):
    """repeating the best swap of each centre."""
    D = inputs.D
    centres = np.arange(inputs.n_clusters)
    total = np.inf
    while D[:, centres].min(axis=1).sum() < total - 1e-9:
        total = D[:, centres].min(axis=1).sum()
        for k in range(len(centres)):
            nearest = D[:, np.delete(centres, k)].min(axis=1)
            centres[k] = np.minimum(D, nearest[:, None]).sum(axis=0).argmin()
    return centres
