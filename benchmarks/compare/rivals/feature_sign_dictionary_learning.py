"""Attempts on dictionaries with an l1 penalty: batches, passes, other atoms."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import DictionaryLearning, MiniBatchDictionaryLearning


def passes(given):
    """DictionaryLearning."""
    model = DictionaryLearning(
        given.n_components, alpha=given.alpha, max_iter=60, fit_algorithm="cd", random_state=0
    )
    return model.fit(given.X).components_


def batches(given):
    """MiniBatchDictionaryLearning."""
    model = MiniBatchDictionaryLearning(
        given.n_components, alpha=given.alpha, max_iter=60, fit_algorithm="cd", random_state=0
    )
    return model.fit(given.X).components_


def started(given):
    """MiniBatchDictionaryLearning from rows, small batches."""
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
    """centres of KMeans as atoms."""
    atoms = KMeans(given.n_components, n_init=5, random_state=0).fit(given.X).cluster_centers_
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
