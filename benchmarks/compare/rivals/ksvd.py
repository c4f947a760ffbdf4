"""Attempts on few numbers for each patch: other dictionaries, other bases."""

import numpy as np
from scipy.fft import idct
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA, MiniBatchDictionaryLearning, sparse_encode


def online(inputs):
    """MiniBatchDictionaryLearning, alpha from held-out patches."""
    s = inputs.n_nonzero_coefs
    best = (np.inf, None)
    start = inputs.X[np.argsort(-inputs.X.std(axis=1))[: 5 * inputs.n_components : 5]]
    start = start / np.linalg.norm(start, axis=1, keepdims=True)
    settings = {"dict_init": start, "fit_algorithm": "cd", "max_iter": 5, "random_state": 0}
    for alpha in np.array([1, 2, 4]) * inputs.X.std():
        model = MiniBatchDictionaryLearning(inputs.n_components, alpha=alpha, **settings)
        D = model.fit(inputs.X[500:]).components_
        codes = sparse_encode(inputs.X[:500], D, algorithm="omp", n_nonzero_coefs=s)
        best = min(
            best, (np.sum((inputs.X[:500] - codes @ D) ** 2), D), key=lambda one: one[0]
        )
    codes = sparse_encode(inputs.X_new, best[1], algorithm="omp", n_nonzero_coefs=s)
    return codes, best[1]


def centres(inputs):
    """MiniBatchKMeans centres as atoms."""
    X = inputs.X / np.maximum(np.linalg.norm(inputs.X, axis=1, keepdims=True), 1.0)
    model = MiniBatchKMeans(inputs.n_components, random_state=0).fit(np.vstack([X, -X]))
    D = model.cluster_centers_ + 1e-9
    D = D / np.linalg.norm(D, axis=1, keepdims=True)
    s = inputs.n_nonzero_coefs
    return sparse_encode(inputs.X_new, D, algorithm="omp", n_nonzero_coefs=s), D


def optimal_directions(inputs):
    """MiniBatchKMeans refined by OMP and least squares."""
    D = centres(inputs)[1]
    s = inputs.n_nonzero_coefs
    for _ in range(5):
        codes = sparse_encode(inputs.X, D, algorithm="omp", n_nonzero_coefs=s)
        D = np.linalg.lstsq(codes, inputs.X, rcond=None)[0] + 1e-6 * D
        D = D / np.linalg.norm(D, axis=1, keepdims=True)
    return sparse_encode(inputs.X_new, D, algorithm="omp", n_nonzero_coefs=s), D


def cosines(inputs):
    """an overcomplete cosine dictionary."""
    waves = idct(np.eye(11), axis=1, norm="ortho")[:, :8]
    D = np.kron(waves, waves)[1:]
    D = D / np.linalg.norm(D, axis=1, keepdims=True)
    s = inputs.n_nonzero_coefs
    return sparse_encode(inputs.X_new, D, algorithm="omp", n_nonzero_coefs=s), D


def principal(inputs):
    """the largest scores of PCA."""
    model = PCA().fit(inputs.X)
    codes = model.transform(inputs.X_new) + model.components_ @ model.mean_
    cut = np.sort(np.abs(codes), axis=1)[:, [-inputs.n_nonzero_coefs]]
    return np.where(np.abs(codes) >= cut, codes, 0.0), model.components_


def _pursuit(X, D, s):
    G = D @ D.T
    B = X @ D.T
    support = np.abs(B).argmax(axis=1)[:, None]
    for k in range(s):
        products = G[support[:, :, None], support[:, None]] + 1e-9 * np.eye(k + 1)
        values = np.linalg.solve(products, np.take_along_axis(B, support, 1)[:, :, None])
        codes = np.zeros(B.shape)
        np.put_along_axis(codes, support, values[:, :, 0], 1)
        support = np.c_[support, np.abs(B - codes @ G).argmax(axis=1)]
    return codes


def directions_at_once(inputs):
    """batched OMP alternating with least squares in NumPy."""
    D = inputs.X[: inputs.n_components] + 1e-9
    for _ in range(20):
        D = D / np.linalg.norm(D, axis=1, keepdims=True)
        codes = _pursuit(inputs.X, D, inputs.n_nonzero_coefs)
        D = np.linalg.lstsq(codes, inputs.X, rcond=None)[0] + 1e-6 * D
    D = D / np.linalg.norm(D, axis=1, keepdims=True)
    return _pursuit(inputs.X_new, D, inputs.n_nonzero_coefs), D
