"""Attempts on groups of Boolean rows: k-means in all its forms, mixtures."""

import numpy as np
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA


def k_means(given):
    """KMeans, ten starts."""
    X = given.X.astype(np.float32)
    return KMeans(given.n_clusters, n_init=10, random_state=0).fit_predict(X)


def one_start(given):
    """KMeans."""
    X = given.X.astype(np.float32)
    return KMeans(given.n_clusters, random_state=0).fit_predict(X)


def batches(given):
    """MiniBatchKMeans."""
    X = given.X.astype(np.float32)
    return MiniBatchKMeans(given.n_clusters, random_state=0, n_init=10).fit_predict(X)


def bisected(given):
    """BisectingKMeans."""
    X = given.X.astype(np.float32)
    return BisectingKMeans(given.n_clusters, random_state=0).fit_predict(X)


def projected(given):
    """KMeans on principal components."""
    X = PCA(given.n_clusters, random_state=0).fit_transform(given.X.astype(np.float32))
    return KMeans(given.n_clusters, n_init=10, random_state=0).fit_predict(X)
