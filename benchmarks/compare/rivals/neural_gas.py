"""Attempts on a codebook: k-means from many starts, halves, hierarchies, mended by exchanges."""

import numpy as np
from sklearn.cluster import AgglomerativeClustering, BisectingKMeans, KMeans
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.mixture import GaussianMixture


def many_starts(given):
    """KMeans from 20 starts."""
    return KMeans(given.n_clusters, n_init=20, random_state=0).fit(given.X).cluster_centers_


def greedy_starts(given):
    """KMeans from 10 random starts."""
    model = KMeans(given.n_clusters, init="random", n_init=10, random_state=0)
    return model.fit(given.X).cluster_centers_


def halves(given):
    """BisectingKMeans, then KMeans."""
    start = BisectingKMeans(given.n_clusters, n_init=3, random_state=0).fit(given.X)
    model = KMeans(given.n_clusters, init=start.cluster_centers_, n_init=1)
    return model.fit(given.X).cluster_centers_


def hierarchy(given):
    """AgglomerativeClustering, then KMeans."""
    labels = AgglomerativeClustering(given.n_clusters).fit_predict(given.X)
    start = np.array([given.X[labels == k].mean(axis=0) for k in range(given.n_clusters)])
    return KMeans(given.n_clusters, init=start, n_init=1).fit(given.X).cluster_centers_


def mixture(given):
    """spherical GaussianMixture, then KMeans."""
    model = GaussianMixture(given.n_clusters, covariance_type="spherical", random_state=0)
    start = model.fit(given.X).means_
    return KMeans(given.n_clusters, init=start, n_init=1).fit(given.X).cluster_centers_


def moved(given):
    """KMeans with centres moved to large clusters, 60 times."""
    rng = np.random.default_rng(0)
    best = KMeans(given.n_clusters, n_init=3, random_state=0).fit(given.X)
    for _ in range(60):
        start = best.cluster_centers_.copy()
        far = pairwise_distances_argmin_min(given.X, start)[1] ** 2
        start[rng.integers(len(start))] = given.X[rng.choice(len(far), p=far / far.sum())]
        model = KMeans(given.n_clusters, init=start, n_init=1).fit(given.X)
        best = min(best, model, key=lambda model: model.inertia_)
    return best.cluster_centers_
