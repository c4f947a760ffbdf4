"""Attempts on few numbers for each patch: other dictionaries, other bases."""

import numpy as np
from scipy.fft import idct
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA, MiniBatchDictionaryLearning, sparse_encode


def _code(given, X, atoms):
    atoms = atoms[np.linalg.norm(atoms, axis=1) > 1e-9]
    atoms = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    s = given.n_nonzero_coefs
    return sparse_encode(X, atoms, algorithm="omp", n_nonzero_coefs=s), atoms


def _patches(given):
    """Patches of more than median contrast, as first atoms."""
    contrast = given.X.std(axis=1)
    atoms = given.X[contrast > np.median(contrast)][: given.n_components]
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def online(given):
    """MiniBatchDictionaryLearning, alpha from held-out patches."""
    X = given.X / given.X.std()
    fits = [
        MiniBatchDictionaryLearning(
            given.n_components, alpha=alpha, dict_init=_patches(given), fit_algorithm="cd",
            max_iter=5, batch_size=256, random_state=0,
        ).fit(X[:-500])
        for alpha in (1, 2, 4)
    ]
    rest = [np.sum((X[-500:] - np.dot(*_code(given, X[-500:], m.components_))) ** 2) for m in fits]
    return _code(given, given.X_new, fits[int(np.argmin(rest))].components_)


def _in_turn(given, atoms, n_passes):
    for _ in range(n_passes):
        codes, atoms = _code(given, given.X, atoms)
        solution = np.linalg.lstsq(codes, given.X, rcond=None)[0]
        is_used = np.linalg.norm(solution, axis=1) > 1e-9
        atoms = np.where(is_used[:, None], solution, atoms)
    return _code(given, given.X_new, atoms)


def optimal_directions(given):
    """OMP and least squares in turn, eight times."""
    return _in_turn(given, _patches(given), 8)


def from_centres(given):
    """centres of MiniBatchKMeans, least squares twice."""
    return _in_turn(given, centres(given)[1], 2)


def centres(given):
    """centres of MiniBatchKMeans as atoms."""
    X = given.X / np.maximum(np.linalg.norm(given.X, axis=1, keepdims=True), 1.0)
    model = MiniBatchKMeans(given.n_components, random_state=0).fit(np.vstack([X, -X]))
    return _code(given, given.X_new, model.cluster_centers_)


def cosines(given):
    """an overcomplete cosine dictionary."""
    atoms = idct(np.eye(11), axis=1, norm="ortho")[:, :8]
    return _code(given, given.X_new, np.kron(atoms, atoms)[1:])


def principal(given):
    """the largest scores of PCA."""
    model = PCA().fit(given.X)
    codes = model.transform(given.X_new) + model.components_ @ model.mean_
    cut = np.sort(np.abs(codes), axis=1)[:, [-given.n_nonzero_coefs]]
    return np.where(np.abs(codes) >= cut, codes, 0.0), model.components_
