"""Attempts on roles without a right too many: rows in common, clusters, factors."""

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import NMF


def pairs(inputs):
    """a greedy choice of the rights that two users share."""
    rows = np.unique(inputs.X, axis=0)
    i, j = np.triu_indices(len(rows))
    keep = np.random.default_rng(0).permutation(len(i))[:20000]
    candidates = np.unique(rows[i[keep]] & rows[j[keep]], axis=0).astype(np.float32)
    has = (~inputs.X).astype(np.float32) @ candidates.T == 0
    left = inputs.X.astype(np.float32)
    roles = []
    for _ in range(inputs.n_clusters):
        best = np.argmax(np.sum(has * (left @ candidates.T), axis=0))
        roles.append(candidates[best] > 0)
        left[np.ix_(has[:, best], roles[-1])] = 0
    return np.array(roles)


def groups(inputs):
    """the rights that all users of a KMeans cluster share."""
    labels = KMeans(inputs.n_clusters, n_init=5, random_state=0).fit_predict(inputs.X)
    return np.array([inputs.X[labels == k].all(axis=0) for k in range(inputs.n_clusters)])


def tree(inputs):
    """the rights that all users of a Jaccard cluster share."""
    model = AgglomerativeClustering(inputs.n_clusters, linkage="average", metric="jaccard")
    labels = model.fit_predict(inputs.X)
    return np.array([inputs.X[labels == k].all(axis=0) for k in range(inputs.n_clusters)])


def factors(inputs):
    """NMF thresholded at half its maximum."""
    H = (
        NMF(inputs.n_clusters, init="nndsvda", max_iter=500)
        .fit(inputs.X.astype(float))
        .components_
    )
    return H > 0.5 * H.max(axis=1, keepdims=True)


def core(inputs):
    """the rights that all users with a large NMF part share."""
    W = NMF(inputs.n_clusters, init="nndsvda", max_iter=500).fit_transform(
        inputs.X.astype(float)
    )
    return np.array([inputs.X[w > 0.7 * np.sort(w)[-5]].all(axis=0) for w in W.T])
