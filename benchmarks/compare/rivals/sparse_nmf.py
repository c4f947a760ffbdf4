"""Attempts on parts with missing pixels: filled before, filled in turn, sparse codes."""

import numpy as np
from sklearn.decomposition import NMF, MiniBatchDictionaryLearning, non_negative_factorization
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer


def means(inputs):
    """NMF after column means."""
    X = SimpleImputer().fit_transform(inputs.X)
    return NMF(inputs.n_components, init="nndsvda", max_iter=500).fit(X).components_


def neighbours(inputs):
    """NMF after KNNImputer."""
    X = KNNImputer(n_neighbors=10).fit_transform(inputs.X)
    return NMF(inputs.n_components, init="nndsvda", max_iter=500).fit(X).components_


def regressions(inputs):
    """NMF after IterativeImputer on ten columns."""
    model = IterativeImputer(n_nearest_features=10, max_iter=3, min_value=0, random_state=0)
    X = model.fit_transform(inputs.X)
    return NMF(inputs.n_components, init="nndsvda", max_iter=500).fit(X).components_


def in_turn(inputs):
    """NMF with the gaps refilled 200 times."""
    X = SimpleImputer().fit_transform(inputs.X)
    model = NMF(inputs.n_components, init="nndsvda", max_iter=20)
    W = model.fit_transform(X)
    H = model.components_
    for _ in range(200):
        X = np.where(np.isnan(inputs.X), W @ H, inputs.X)
        W, H, _ = non_negative_factorization(
            X, W, H, n_components=len(H), init="custom", max_iter=2, tol=0
        )
    return H


def in_turn_longer(inputs):
    """NMF of ten passes with the gaps refilled 60 times."""
    X = SimpleImputer().fit_transform(inputs.X)
    W = None
    H = None
    for step in range(60):
        model = NMF(inputs.n_components, init="custom" if step else "nndsvda", max_iter=10)
        W = model.fit_transform(X, W=W, H=H)
        H = model.components_
        X = np.where(np.isnan(inputs.X), W @ H, inputs.X)
    return H


def dictionary(inputs):
    """MiniBatchDictionaryLearning after KNNImputer."""
    X = KNNImputer(n_neighbors=10).fit_transform(inputs.X)
    model = MiniBatchDictionaryLearning(
        inputs.n_components, positive_code=True, positive_dict=True, alpha=0.3, max_iter=10
    )
    return model.set_params(fit_algorithm="cd", random_state=0).fit(X).components_
