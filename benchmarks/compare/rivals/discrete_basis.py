"""Attempts on unions of sets: factors cut, centres cut, sets and members in turn."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, FastICA


def cut_nmf(inputs):
    """NMF thresholded at one half."""
    model = NMF(inputs.n_clusters, init="nndsvda", max_iter=1000)
    codes = model.fit_transform(inputs.X.astype(float))
    return model.components_ * np.quantile(codes, 0.95, axis=0)[:, None] > 0.5


def best_nmf(inputs):
    """NMF above a base rate, ten starts, thresholded."""
    X = np.maximum(inputs.X - np.quantile(inputs.X.mean(axis=0), 0.1), 0)
    fits = [
        NMF(inputs.n_clusters, init="random", random_state=i, max_iter=400) for i in range(10)
    ]
    for model in fits:
        model.fit(X)
    best = int(np.argmin([model.reconstruction_err_ for model in fits]))
    H = fits[best].components_
    return (H - H.min(axis=1, keepdims=True)) > 0.5 * np.sort(H)[:, [-4]]


def sparse_nmf(inputs):
    """NMF with l1 penalties, thresholded at half its maximum."""
    X = inputs.X.astype(float)
    model = NMF(inputs.n_clusters + 1, alpha_W=0.01, alpha_H=0.05, l1_ratio=1, max_iter=1000)
    H = model.fit(X).components_
    H = H[np.argsort(H.std(axis=1) / (H.mean(axis=1) + 1e-9))[1:]]
    return H > 0.5 * np.sort(H)[:, [-4]]


def alternating(inputs):
    """thresholded NMF with alternating refinement."""
    sets = best_nmf(inputs)
    cut = 0.5
    has = inputs.X @ sets.T.astype(float) > 0.6 * sets.sum(axis=1)
    for k in 20 * list(range(len(sets))):
        others = np.arange(len(sets)) != k
        is_free = has[:, others].astype(int) @ sets[others] == 0
        gain = np.where(is_free, inputs.X - cut, 0.0)
        sets[k] = has[:, k].astype(float) @ gain > 0
        has[:, k] = gain @ sets[k] > 0
        covered = has.astype(int) @ sets > 0
        cut = (inputs.X[covered].mean() + inputs.X[~covered].mean()) / 2
    return sets


def mixtures(inputs):
    """thresholded centres of the largest KMeans clusters."""
    model = KMeans(3 * inputs.n_clusters, n_init=10, random_state=0).fit(inputs.X)
    centres = model.cluster_centers_ > 0.5
    small = np.argsort(centres.sum(axis=1))[: inputs.n_clusters]
    return centres[small]


def independent(inputs):
    """FastICA thresholded at one half."""
    model = FastICA(inputs.n_clusters, random_state=0, max_iter=1000, whiten="unit-variance")
    A = model.fit(inputs.X.astype(float)).mixing_.T
    A *= np.sign(np.sum(A**3, axis=1, keepdims=True))
    return A > 0.5 * np.sort(A)[:, [-4]]


def associations(inputs):
    """a greedy choice of sets of associated columns."""
    X = inputs.X.astype(np.float32)
    together = X.T @ X / np.maximum(X.sum(axis=0), 1)[:, None]
    best = (np.inf, None)
    for cut in np.arange(0.4, 0.95, 0.1):
        candidates = np.unique(together > cut, axis=0)
        covered = np.zeros(X.shape, bool)
        indices = []
        for _ in range(inputs.n_clusters):
            gain = np.where(covered, 0, 2 * X - 1) @ candidates.T
            indices.append(np.maximum(gain, 0).sum(axis=0).argmax())
            covered |= (gain[:, indices[-1]] > 0)[:, None] & candidates[indices[-1]]
        wrong = np.sum(covered != inputs.X)
        best = min(best, (wrong, candidates[indices]), key=lambda pair: pair[0])
    return best[1]
