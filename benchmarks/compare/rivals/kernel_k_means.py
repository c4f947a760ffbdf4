"""Attempts to group rows that a kernel compares."""

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import KernelPCA


def many_starts(given):
    """k-means of kernel components, 30 starts."""
    Z = KernelPCA(kernel="precomputed").fit_transform(given.K)
    return KMeans(10, n_init=30, random_state=0).fit_predict(Z)


def few_components(given):
    """k-means of 20 kernel components, 50 starts."""
    Z = KernelPCA(20, kernel="precomputed").fit_transform(given.K)
    return KMeans(10, n_init=50, random_state=0).fit_predict(Z)


def spectral(given):
    """spectral clustering."""
    model = SpectralClustering(10, affinity="precomputed", random_state=0)
    return model.fit_predict(given.K)


def ward_first(given):
    """k-means of kernel components from Ward's groups."""
    Z = KernelPCA(kernel="precomputed").fit_transform(given.K)
    labels = AgglomerativeClustering(10).fit_predict(Z)
    means = np.array([Z[labels == label].mean(axis=0) for label in range(10)])
    return KMeans(10, init=means).fit_predict(Z)


def single_moves(given):
    """k-means of kernel components, then moves of single rows."""
    Z = KernelPCA(kernel="precomputed").fit_transform(given.K)
    labels = KMeans(10, n_init=10, random_state=0).fit_predict(Z)
    for i in np.tile(np.arange(len(Z)), 5):
        sizes = np.bincount(labels, minlength=10)
        means = np.array([Z[labels == label].mean(axis=0) for label in range(10)])
        costs = sizes / (sizes + 1) * ((Z[i] - means) ** 2).sum(axis=1)
        own = labels[i]
        costs[own] *= (sizes[own] + 1) / (sizes[own] - 1) if sizes[own] > 1 else 0
        labels[i] = np.argmin(costs)
    return labels
