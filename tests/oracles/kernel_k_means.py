"""Slow references of kernel k-means."""

from itertools import product

import numpy as np


def plain_loop(K, labels, n_clusters, max_iter=300):
    """Kernel k-means [Shawe-Taylor and Cristianini 2004, algorithm 8.22], from given labels.

    The distances in the feature space are ``K_ii - 2 mean_j K_ij + mean_jl K_jl`` over the
    members j, l of a cluster, with all sums afresh in every pass.
    """
    labels = np.array(labels)
    for _ in range(max_iter):
        distance = np.full((len(K), n_clusters), np.inf)
        for c in range(n_clusters):
            inside = labels == c
            if inside.any():
                distance[:, c] = (
                    np.diag(K)
                    - 2 * K[:, inside].sum(axis=1) / inside.sum()
                    + K[np.ix_(inside, inside)].sum() / inside.sum() ** 2
                )
        new = distance.argmin(axis=1)
        if (new == labels).all():
            break
        labels = new
    return labels, objective(K, labels)


def objective(K, labels, weights=None):
    """Sum of weighted squared distances from the weighted means, cluster by cluster."""
    w = np.ones(len(K)) if weights is None else np.asarray(weights, dtype=float)
    total = 0.0
    for c in np.unique(labels):
        i = np.flatnonzero(labels == c)
        a = w[i] / w[i].sum()
        B = K[np.ix_(i, i)]
        total += sum(w[p] * (K[p, p] - 2 * B[t] @ a + a @ B @ a) for t, p in enumerate(i))
    return total


def best_of_all(K, n_clusters, weights=None):
    """Lowest objective over every assignment."""
    return min(
        objective(K, np.array(labels), weights)
        for labels in product(range(n_clusters), repeat=len(K))
    )
