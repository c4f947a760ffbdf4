"""Attempts to stand for a kernel by a few features."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel


def nystroem(inputs):
    """Nystroem."""
    model = Nystroem(gamma=inputs.gamma, n_components=inputs.n_components, random_state=0)
    return model.fit_transform(inputs.X)


def centers(inputs):
    """Nystroem at the centres of k-means."""
    means = MiniBatchKMeans(inputs.n_components, n_init=1, random_state=0).fit(inputs.X)
    model = Nystroem(gamma=inputs.gamma, n_components=inputs.n_components)
    return model.fit(means.cluster_centers_).transform(inputs.X)


def column_by_column(inputs):
    """a pivoted Cholesky factorisation in NumPy."""
    features = np.zeros((inputs.n_components, len(inputs.X)))
    rest = np.ones(len(inputs.X))
    for j in range(inputs.n_components):
        pivot = np.argmax(rest)
        column = rbf_kernel(inputs.X, inputs.X[[pivot]], gamma=inputs.gamma)[:, 0]
        column -= features[:j, pivot] @ features[:j]
        features[j] = column / np.sqrt(rest[pivot])
        rest = np.maximum(rest - features[j] ** 2, 0)
    return features.T


def furthest(inputs):
    """Nystroem at the rows furthest from earlier choices."""
    pivots = [0]
    nearest = np.inf
    for _ in range(inputs.n_components - 1):
        steps = ((inputs.X - inputs.X[pivots[-1]]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, steps)
        pivots.append(int(nearest.argmax()))
    model = Nystroem(gamma=inputs.gamma, n_components=len(pivots))
    return model.fit(inputs.X[pivots]).transform(inputs.X)


def in_rounds(inputs):
    """Nystroem with the rows that it loses added in ten rounds."""
    rng = np.random.default_rng(0)
    pivots = rng.choice(len(inputs.X), 30, replace=False)
    while True:
        model = Nystroem(gamma=inputs.gamma, n_components=len(pivots)).fit(inputs.X[pivots])
        features = model.transform(inputs.X)
        if len(pivots) == inputs.n_components:
            return features
        rest = np.maximum(1 - (features**2).sum(axis=1), 0) ** 2
        rest[pivots] = 0
        new = rng.choice(len(rest), 30, replace=False, p=rest / rest.sum())
        pivots = np.union1d(pivots, new)


def worst_rows(inputs):
    """Nystroem with the ten worst rows added in each round."""
    pivots = np.arange(10)
    while True:
        model = Nystroem(gamma=inputs.gamma, n_components=len(pivots)).fit(inputs.X[pivots])
        features = model.transform(inputs.X)
        if len(pivots) == inputs.n_components:
            return features
        pivots = np.r_[pivots, np.argsort((features**2).sum(axis=1))[:10]]
