"""Attempts on parts that are added: regressions in turn, clusters, shifted components."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, PCA
from sklearn.linear_model import LinearRegression


def in_turn(inputs):
    """LinearRegression alternating between codes and parts."""
    H = KMeans(inputs.n_components, n_init=3, random_state=0).fit(inputs.X).cluster_centers_
    model = LinearRegression(fit_intercept=False, positive=True)
    for _ in range(20):
        W = model.fit(H.T, inputs.X.T).coef_
        H = np.linalg.lstsq(W, inputs.X, rcond=None)[0]
    return model.fit(H.T, inputs.X.T).coef_, H


def shifted(inputs):
    """PCA with its scores shifted above zero."""
    model = PCA(inputs.n_components - 1)
    codes = model.fit_transform(inputs.X)
    lowest = codes.min(axis=0)
    codes = np.c_[codes - lowest, np.ones(len(codes))]
    return codes, np.vstack([model.components_, model.mean_ + lowest @ model.components_])


def split(inputs):
    """NMF of positive and negative parts side by side."""
    X = np.hstack([np.maximum(inputs.X, 0), np.maximum(-inputs.X, 0)])
    model = NMF(inputs.n_components, init="nndsvda", max_iter=500)
    codes = model.fit_transform(X)
    p = inputs.X.shape[1]
    return codes, model.components_[:, :p] - model.components_[:, p:]


def clusters(inputs):
    """KMeans with codes by LinearRegression."""
    H = KMeans(inputs.n_components, n_init=5, random_state=0).fit(inputs.X).cluster_centers_
    model = LinearRegression(fit_intercept=False, positive=True)
    return model.fit(H.T, inputs.X.T).coef_, H


def coordinates(inputs):
    """alternating coordinate descent in NumPy."""
    H = KMeans(inputs.n_components, n_init=1, random_state=0).fit(inputs.X).cluster_centers_
    W = np.maximum(inputs.X @ np.linalg.pinv(H), 0)
    for _ in range(100):
        G = H @ H.T
        B = inputs.X @ H.T
        for k in 2 * list(range(len(H))):
            W[:, k] = np.maximum(W[:, k] + (B[:, k] - W @ G[:, k]) / G[k, k], 0)
        H = np.linalg.solve(W.T @ W + 1e-9 * np.eye(len(H)), W.T @ inputs.X)
    return W, H
