"""Attempts to stand for a kernel by a few features."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel


def nystroem(given):
    """Nystroem."""
    model = Nystroem(gamma=given.gamma, n_components=given.n_components, random_state=0)
    return model.fit_transform(given.X)


def centers(given):
    """Nystroem at the centres of k-means."""
    means = MiniBatchKMeans(given.n_components, n_init=1, random_state=0).fit(given.X)
    model = Nystroem(gamma=given.gamma, n_components=given.n_components)
    return model.fit(means.cluster_centers_).transform(given.X)


def column_by_column(given):
    """a pivoted Cholesky factorisation in NumPy."""
    features = np.zeros((given.n_components, len(given.X)))
    rest = np.ones(len(given.X))
    for j in range(given.n_components):
        pivot = np.argmax(rest)
        column = rbf_kernel(given.X, given.X[[pivot]], gamma=given.gamma)[:, 0]
        column -= features[:j, pivot] @ features[:j]
        features[j] = column / np.sqrt(rest[pivot])
        rest = np.maximum(rest - features[j] ** 2, 0)
    return features.T


def furthest(given):
    """Nystroem at the rows furthest from earlier choices."""
    chosen = [0]
    nearest = np.inf
    for _ in range(given.n_components - 1):
        steps = ((given.X - given.X[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, steps)
        chosen.append(int(nearest.argmax()))
    model = Nystroem(gamma=given.gamma, n_components=len(chosen))
    return model.fit(given.X[chosen]).transform(given.X)


def in_rounds(given):
    """Nystroem with the rows that it loses added in ten rounds."""
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(given.X), 30, replace=False)
    while True:
        model = Nystroem(gamma=given.gamma, n_components=len(chosen)).fit(given.X[chosen])
        features = model.transform(given.X)
        if len(chosen) == given.n_components:
            return features
        rest = np.maximum(1 - (features**2).sum(axis=1), 0) ** 2
        rest[chosen] = 0
        new = rng.choice(len(rest), 30, replace=False, p=rest / rest.sum())
        chosen = np.union1d(chosen, new)


def worst_rows(given):
    """Nystroem with the ten worst rows added in each round."""
    chosen = np.arange(10)
    while True:
        model = Nystroem(gamma=given.gamma, n_components=len(chosen)).fit(given.X[chosen])
        features = model.transform(given.X)
        if len(chosen) == given.n_components:
            return features
        chosen = np.r_[chosen, np.argsort((features**2).sum(axis=1))[:10]]
