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


def agglomerative(given):
    """AgglomerativeClustering and the centre of each cluster."""
    model = AgglomerativeClustering(given.n_clusters, metric="precomputed", linkage="average")
    return _alternate(given.D, _centres(given.D, model.fit_predict(given.D)))


def coordinates(given):
    """KMeans in coordinates of KernelPCA."""
    X = KernelPCA(50, kernel="precomputed").fit_transform(-(given.D**2) / 2)
    labels = KMeans(given.n_clusters, n_init=10, random_state=0).fit_predict(X)
    return _alternate(given.D, _centres(given.D, labels))


def rows_of_distances(given):
    """KMeans on the rows of distances."""
    labels = KMeans(given.n_clusters, n_init=5, random_state=0).fit_predict(given.D)
    return _alternate(given.D, _centres(given.D, labels))


def alternating(given):
    """alternating centres and clusters from 20 starts."""
    rng = np.random.default_rng(0)
    starts = [rng.permutation(len(given.D))[: given.n_clusters] for _ in range(20)]
    found = []
    for centres in starts:
        for _ in range(8):
            centres = _centres(given.D, given.D[:, centres].argmin(axis=1))
        found.append(centres)
    return min(found, key=lambda centres: given.D[:, centres].min(axis=1).sum())


def greedy(given):
    """a greedy choice of one centre after the other."""
    nearest = np.full(len(given.D), np.inf)
    centres = []
    for _ in range(given.n_clusters):
        centres.append(np.minimum(given.D, nearest[:, None]).sum(axis=0).argmin())
        nearest = np.minimum(nearest, given.D[:, centres[-1]])
    return _alternate(given.D, np.array(centres))


def exchanges(given):
    """swaps of centres with random samples."""
    rng = np.random.default_rng(0)
    D = given.D
    centres = []
    for _ in range(given.n_clusters):
        nearest = D[:, centres].min(axis=1, initial=9)[:, None]
        centres.append(np.minimum(D, nearest).sum(axis=0).argmin())
    for _ in range(3000):
        new = centres.copy()
        new[rng.integers(len(new))] = rng.integers(len(D))
        if D[:, new].min(axis=1).sum() < D[:, centres].min(axis=1).sum():
            centres = new
    return np.array(centres)


def best_exchanges(given):
    """repeating the best swap of each centre."""
    D = given.D
    centres = np.arange(given.n_clusters)
    total = np.inf
    while D[:, centres].min(axis=1).sum() < total - 1e-9:
        total = D[:, centres].min(axis=1).sum()
        for k in range(len(centres)):
            nearest = D[:, np.delete(centres, k)].min(axis=1)
            centres[k] = np.minimum(D, nearest[:, None]).sum(axis=0).argmin()
    return centres
