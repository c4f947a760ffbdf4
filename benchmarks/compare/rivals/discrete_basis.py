"""Attempts on unions of sets: factors cut, centres cut, sets and members in turn."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, FastICA, MiniBatchDictionaryLearning


def cut_nmf(given):
    """NMF cut at a half."""
    model = NMF(given.n_clusters, init="nndsvda", max_iter=1000)
    codes = model.fit_transform(given.X.astype(float))
    return model.components_ * np.quantile(codes, 0.95, axis=0)[:, None] > 0.5


def best_nmf(given):
    """NMF above a base rate, ten starts, cut at a half."""
    X = np.maximum(given.X - np.quantile(given.X.mean(axis=0), 0.1), 0)
    fits = [NMF(given.n_clusters, init="random", random_state=i, max_iter=400) for i in range(10)]
    W = [model.fit_transform(X) for model in fits]
    best = int(np.argmin([model.reconstruction_err_ for model in fits]))
    H = fits[best].components_
    return (H - H.min(axis=1, keepdims=True)) > 0.5 * np.sort(H)[:, [-4]]


def sparse_nmf(given):
    """NMF with l1 penalties, cut at a half of its largest."""
    X = given.X.astype(float)
    model = NMF(given.n_clusters + 1, alpha_W=0.01, alpha_H=0.05, l1_ratio=1, max_iter=1000)
    H = model.fit(X).components_
    H = H[np.argsort(H.std(axis=1) / (H.mean(axis=1) + 1e-9))[1:]]
    return H > 0.5 * np.sort(H)[:, [-4]]


def _alternate(X, roles, cut):
    """Sets and their members in turn, one set after the other; a one gains 1 - cut."""
    roles = roles.copy()
    has = X @ roles.T.astype(float) > 1.2 * cut * roles.sum(axis=1)
    for k in 20 * list(range(len(roles))):
        others = np.arange(len(roles)) != k
        is_free = has[:, others].astype(int) @ roles[others] == 0
        gain = np.where(is_free, X - cut, 0.0)
        roles[k] = has[:, k].astype(float) @ gain > 0
        has[:, k] = gain @ roles[k] > 0
    return roles, has.astype(int) @ roles > 0


def _log_likelihood(X, granted):
    rates = [X[granted].mean(), X[~granted].mean()] if 0 < granted.mean() < 1 else [0.5, 0.5]
    p = np.clip(np.where(granted, *rates), 1e-9, 1 - 1e-9)
    return np.sum(np.where(X, np.log(p), np.log(1 - p)))


def alternating(given):
    """NMF cut at a half, then sets and members in turn."""
    return _alternate(given.X, best_nmf(given), 0.5)[0]


def likely(given):
    """NMF, then in turn, at the most likely of six cuts."""
    start = best_nmf(given)
    fits = [_alternate(given.X, start, cut) for cut in (0.15, 0.2, 0.3, 0.4, 0.5, 0.6)]
    return max(fits, key=lambda fit: _log_likelihood(given.X, fit[1]))[0]


def mixtures(given):
    """KMeans, the centres of the largest clusters, cut."""
    model = KMeans(3 * given.n_clusters, n_init=10, random_state=0).fit(given.X)
    centres = model.cluster_centers_ > 0.5
    small = np.argsort(centres.sum(axis=1))[: given.n_clusters]
    return centres[small]


def independent(given):
    """FastICA, cut at a half."""
    model = FastICA(given.n_clusters, random_state=0, max_iter=1000, whiten="unit-variance")
    A = model.fit(given.X.astype(float)).mixing_.T
    A *= np.sign(np.sum(A**3, axis=1, keepdims=True))
    return A > 0.5 * np.sort(A)[:, [-4]]


def dictionary(given):
    """MiniBatchDictionaryLearning without negative entries, cut."""
    model = MiniBatchDictionaryLearning(
        given.n_clusters + 1, positive_code=True, positive_dict=True, fit_algorithm="cd", alpha=0.5, max_iter=50, random_state=0,
    )
    H = model.fit(given.X.astype(float)).components_
    H = H[np.argsort(H.std(axis=1) / (H.mean(axis=1) + 1e-9))[1:]]
    return H > 0.5 * np.sort(H)[:, [-4]]
