"""Attempts on sources of mixed rows: clusters, extreme rows, factors in turn."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import FastICA, TruncatedSVD
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import normalize


def centres(inputs):
    """KMeans centres of rows with norm one."""
    model = KMeans(inputs.n_components, n_init=10, random_state=0)
    return model.fit(normalize(inputs.X)).cluster_centers_


def many_centres(inputs):
    """extreme centres among many of KMeans."""
    model = KMeans(5 * inputs.n_components, n_init=5, random_state=0).fit(inputs.X)
    rest = model.cluster_centers_.copy()
    indices = []
    for _ in range(inputs.n_components):
        indices.append(int(np.argmax(np.sum(rest**2, axis=1))))
        axis = rest[indices[-1]] / np.linalg.norm(rest[indices[-1]])
        rest -= np.outer(rest @ axis, axis)
    return model.cluster_centers_[indices]


def extremes(inputs):
    """extreme rows of TruncatedSVD and ten neighbours of each."""
    model = TruncatedSVD(inputs.n_components, random_state=0)
    P = model.inverse_transform(model.fit_transform(inputs.X))
    rest = P.copy()
    indices = []
    for _ in range(inputs.n_components):
        indices.append(int(np.argmax(np.sum(rest**2, axis=1))))
        axis = rest[indices[-1]] / np.linalg.norm(rest[indices[-1]])
        rest -= np.outer(rest @ axis, axis)
    cosine = normalize(P) @ normalize(P).T
    return np.array([P[np.argsort(-cosine[i])[:10]].mean(axis=0) for i in indices])


def in_turn(inputs):
    """extreme rows refined by alternating least squares."""
    parts = extremes(inputs)
    codes = LinearRegression(positive=True, fit_intercept=False)
    for _ in range(15):
        W = codes.fit(parts.T, inputs.X.T).coef_
        parts = np.linalg.lstsq(W, inputs.X, rcond=None)[0]
    return parts


def independent(inputs):
    """FastICA."""
    model = FastICA(inputs.n_components, random_state=0, max_iter=500)
    codes = model.fit_transform(inputs.X)
    return model.mixing_.T * np.sign(np.sum(codes**3, axis=0))[:, None]
