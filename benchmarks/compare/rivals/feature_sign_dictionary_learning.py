"""Attempts on dictionaries with an l1 penalty: batches, passes, other atoms."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import DictionaryLearning, MiniBatchDictionaryLearning


def passes(given):
    """DictionaryLearning."""
    model = DictionaryLearning(
        given.n_components, alpha=given.alpha, max_iter=30, fit_algorithm="cd", random_state=0
    )
    return model.fit(given.X).components_


def batches(given):
    """MiniBatchDictionaryLearning."""
    model = MiniBatchDictionaryLearning(
        given.n_components, alpha=given.alpha, max_iter=60, fit_algorithm="cd", random_state=0
    )
    return model.fit(given.X).components_


def started(given):
    """MiniBatchDictionaryLearning from rows, in small batches."""
    start = given.X[: given.n_components]
    model = MiniBatchDictionaryLearning(
        given.n_components,
        alpha=given.alpha,
        max_iter=40,
        fit_algorithm="cd",
        batch_size=32,
        dict_init=start / np.linalg.norm(start, axis=1, keepdims=True),
        random_state=0,
    )
    return model.fit(given.X).components_


def centres(given):
    """KMeans centres as atoms."""
    atoms = KMeans(given.n_components, n_init=5, random_state=0).fit(given.X).cluster_centers_
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def coordinates(given):
    """coordinate descent on codes and atoms in NumPy."""
    D = given.X[: given.n_components].copy()
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    C = np.zeros((len(given.X), len(D)))
    for _ in range(100):
        G = D @ D.T
        for k in range(len(D)):
            c = C[:, k] + given.X @ D[k] - C @ G[k]
            C[:, k] = np.sign(c) * np.maximum(np.abs(c) - given.alpha, 0)
        A = C.T @ C
        E = C.T @ given.X
        for k in range(len(D)):
            d = A[k, k] * D[k] + E[k] - A[k] @ D
            D[k] = d / max(np.linalg.norm(d), 1e-9)
    return D


def gradients(given):
    """proximal gradient steps on all codes in NumPy."""
    D = given.X[: given.n_components].copy()
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    C = np.zeros((len(given.X), len(D)))
    for _ in range(100):
        G = D @ D.T
        rate = 1 / np.linalg.norm(G, 2)
        for _ in range(5):
            C = C - rate * (C @ G - given.X @ D.T)
            C = np.sign(C) * np.maximum(np.abs(C) - rate * given.alpha, 0)
        A = C.T @ C
        E = C.T @ given.X
        for k in range(len(D)):
            d = A[k, k] * D[k] + E[k] - A[k] @ D
            D[k] = d / max(np.linalg.norm(d), 1e-9)
    return D
