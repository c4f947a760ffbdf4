"""Attempts on sparse parts: penalties or cuts that reach the sparseness, sparse coding."""

import numpy as np
from sklearn.decomposition import NMF, MiniBatchSparsePCA, sparse_encode
from sklearn.linear_model import LinearRegression


def _sparseness(H):
    root = np.sqrt(H.shape[1])
    ratio = H.sum(axis=1) / np.maximum(np.linalg.norm(H, axis=1), 1e-12)
    return np.mean((root - ratio) / (root - 1))


def _first(fits, given):
    """The least sparse parts that are sparse enough; else the sparsest."""
    enough = [H for H in fits if _sparseness(H) >= given.sparseness]
    return min(enough, key=_sparseness) if enough else max(fits, key=_sparseness)


def _cut(H, given):
    """Parts less the lowest of so many thresholds that makes them sparse enough."""
    H = H / np.maximum(H.max(axis=1, keepdims=True), 1e-12)
    return _first([np.maximum(H - cut, 0) for cut in np.linspace(0, 0.95, 200)], given)


def penalized(given):
    """NMF with the l1 penalty that gives the sparseness."""
    model = NMF(given.n_components, init="nndsvda", max_iter=400, l1_ratio=1, alpha_W=1e-3)
    alphas = np.geomspace(3e-3, 0.3, 12)
    return _first(
        [model.set_params(alpha_H=alpha).fit(given.X).components_ for alpha in alphas], given
    )


def cut(given):
    """NMF, its parts less a threshold."""
    model = NMF(given.n_components, init="nndsvda", max_iter=1000)
    return _cut(model.fit(given.X).components_, given)


def cut_often(given):
    """parts of NMF less a threshold, refitted five times."""
    H = cut(given)
    for _ in range(5):
        W = LinearRegression(positive=True, fit_intercept=False).fit(H.T, given.X.T).coef_
        W += 1e-9
        H = LinearRegression(positive=True, fit_intercept=False).fit(W, given.X).coef_.T
        H = _cut(H, given)
    return H


def coded(given):
    """lasso codes of the pixels and NMF codes in turn."""
    model = NMF(given.n_components, init="nndsvda", max_iter=1000)
    W, H = model.fit_transform(given.X), model.components_
    for _ in range(3):
        W = W / np.maximum(np.linalg.norm(W, axis=0), 1e-9)
        fits = [
            sparse_encode(given.X.T, W.T, algorithm="lasso_cd", alpha=alpha, positive=True).T
            for alpha in np.geomspace(0.1, 5, 8)
        ]
        H = _first(fits, given)
        W = LinearRegression(positive=True, fit_intercept=False).fit(H.T, given.X.T).coef_
    return H


def sparse_pca(given):
    """positive parts of MiniBatchSparsePCA."""
    model = MiniBatchSparsePCA(given.n_components, alpha=0.5, random_state=0, max_iter=50)
    H = model.fit(given.X).components_
    return _cut(np.maximum(H * np.sign(H.sum(axis=1, keepdims=True)), 0), given)
