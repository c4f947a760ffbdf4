"""Attempts on groups of series: resampled, sorted, spectra, convolutions, hierarchies."""

import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler


def _resampled(series, n=50):
    at = np.linspace(0, 1, n)
    X = np.array([np.interp(at, np.linspace(0, 1, len(x)), x) for x in series])
    return gaussian_filter1d(X, 1.5, axis=1)


def resampled(inputs):
    """KMeans on resampled series."""
    model = KMeans(inputs.n_clusters, n_init=20, random_state=0)
    return model.fit_predict(_resampled(inputs.X))


def features(inputs):
    """KMeans on sorted values and spectra."""
    X = _resampled(inputs.X)
    values = np.hstack([np.sort(X, axis=1), np.abs(np.fft.rfft(X))[:, :15]])
    model = KMeans(inputs.n_clusters, n_init=20, random_state=0)
    return model.fit_predict(StandardScaler().fit_transform(values))


def convolutions(inputs):
    """KMeans on random convolutions."""
    rng = np.random.default_rng(0)
    X = _resampled(inputs.X)
    found = []
    for gap in 2 ** rng.integers(0, 4, 300):
        at = np.arange(50)[:, None] + gap * np.arange(9)
        values = np.pad(X, ((0, 0), (4 * gap, 4 * gap)))[:, at] @ rng.normal(size=9)
        found += [(values > rng.choice(values.ravel())).mean(axis=1), values.max(axis=1)]
    Z = PCA(10).fit_transform(StandardScaler().fit_transform(np.array(found).T))
    return KMeans(inputs.n_clusters, n_init=20, random_state=0).fit_predict(Z)


def hierarchy(inputs):
    """AgglomerativeClustering of resampled series."""
    return AgglomerativeClustering(inputs.n_clusters).fit_predict(_resampled(inputs.X))


def spectral(inputs):
    """SpectralClustering of resampled series."""
    model = SpectralClustering(
        inputs.n_clusters, affinity="nearest_neighbors", n_neighbors=8, random_state=0
    )
    return model.fit_predict(_resampled(inputs.X))


def mixture(inputs):
    """GaussianMixture of principal components of the series."""
    X = PCA(6).fit_transform(_resampled(inputs.X))
    return GaussianMixture(inputs.n_clusters, n_init=5, random_state=0).fit_predict(X)


def shifted(inputs):
    """KMeans on the best match of shifted series."""
    X = _resampled(inputs.X)
    X = (X - X.mean(axis=1)[:, None]) / X.std(axis=1)[:, None]
    shifts = [np.roll(X, shift, axis=1) @ X.T for shift in range(-10, 11)]
    K = np.max(shifts, axis=0)
    return KMeans(inputs.n_clusters, n_init=20, random_state=0).fit_predict(K + K.T)


def aligned(inputs):
    """AgglomerativeClustering on time warping in NumPy."""
    sizes = np.array([len(x) for x in inputs.X])
    longest = sizes.max()
    A = np.array([np.pad(x, (0, longest - len(x))) for x in inputs.X])
    last = np.full((longest + 1, len(A), len(A)), np.inf)
    last[0] = 0
    found = np.zeros((len(A), len(A)))
    for i in range(longest):
        row = np.full(last.shape, np.inf)
        for j in range(longest):
            nearest = np.minimum(np.minimum(last[j], last[j + 1]), row[j])
            row[j + 1] = (A[:, [i]] - A[:, j]) ** 2 + nearest
        last = row
        for k in np.flatnonzero(sizes == i + 1):
            found[k] = last[sizes, k, np.arange(len(A))]
    model = AgglomerativeClustering(inputs.n_clusters, metric="precomputed", linkage="average")
    return model.fit_predict(np.sqrt(found))
