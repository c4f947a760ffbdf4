"""Attempts on dictionaries with an l1 penalty: batches, passes, other atoms."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import DictionaryLearning, MiniBatchDictionaryLearning


def passes(inputs):
    """DictionaryLearning."""
    model = DictionaryLearning(
        inputs.n_components,
        alpha=inputs.alpha,
        max_iter=30,
        fit_algorithm="cd",
        random_state=0,
    )
    return model.fit(inputs.X).components_


def batches(inputs):
    """MiniBatchDictionaryLearning."""
    model = MiniBatchDictionaryLearning(
        inputs.n_components,
        alpha=inputs.alpha,
        max_iter=60,
        fit_algorithm="cd",
        random_state=0,
    )
    return model.fit(inputs.X).components_


def started(inputs):
    """MiniBatchDictionaryLearning from rows, in small batches."""
    start = inputs.X[: inputs.n_components]
    model = MiniBatchDictionaryLearning(
        inputs.n_components,
        alpha=inputs.alpha,
        max_iter=40,
        fit_algorithm="cd",
        batch_size=32,
        dict_init=start / np.linalg.norm(start, axis=1, keepdims=True),
        random_state=0,
    )
    return model.fit(inputs.X).components_


def centres(inputs):
    """KMeans centres as atoms."""
    atoms = (
        KMeans(inputs.n_components, n_init=5, random_state=0).fit(inputs.X).cluster_centers_
    )
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def coordinates(inputs):
    """coordinate descent on codes and atoms in NumPy."""
    D = inputs.X[: inputs.n_components].copy()
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    C = np.zeros((len(inputs.X), len(D)))
    for _ in range(100):
        G = D @ D.T
        for k in range(len(D)):
            c = C[:, k] + inputs.X @ D[k] - C @ G[k]
            C[:, k] = np.sign(c) * np.maximum(np.abs(c) - inputs.alpha, 0)
        A = C.T @ C
        E = C.T @ inputs.X
        for k in range(len(D)):
            d = A[k, k] * D[k] + E[k] - A[k] @ D
            D[k] = d / max(np.linalg.norm(d), 1e-9)
    return D


def gradients(inputs):
    """proximal gradient steps on all codes in NumPy."""
    D = inputs.X[: inputs.n_components].copy()
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    C = np.zeros((len(inputs.X), len(D)))
    for _ in range(100):
        G = D @ D.T
        rate = 1 / np.linalg.norm(G, 2)
        for _ in range(5):
            C = C - rate * (C @ G - inputs.X @ D.T)
            C = np.sign(C) * np.maximum(np.abs(C) - rate * inputs.alpha, 0)
        A = C.T @ C
        E = C.T @ inputs.X
        for k in range(len(D)):
            d = A[k, k] * D[k] + E[k] - A[k] @ D
            D[k] = d / max(np.linalg.norm(d), 1e-9)
    return D
