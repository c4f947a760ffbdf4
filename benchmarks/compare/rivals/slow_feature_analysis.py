"""Attempts on the slow cause: smoothed, whitened, or predicted from the rows before.

Each returns its best guess of the slowest cause, one value a row.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.ndimage import uniform_filter1d
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures


def smoothed(inputs):
    """moving averages and PCA."""
    return PCA(1).fit_transform(uniform_filter1d(inputs.X, inputs.lag, axis=0))


def independent(inputs):
    """the slowest component of FastICA."""
    found = FastICA(random_state=0, tol=0.01, max_iter=100).fit_transform(inputs.X)
    return found[:, np.argmin(np.var(np.diff(found, axis=0), axis=0))]


def independent_smoothed(inputs):
    """the slowest FastICA component of moving averages."""
    smooth = uniform_filter1d(inputs.X, inputs.lag, axis=0)
    found = FastICA(random_state=0, tol=0.01, max_iter=100).fit_transform(smooth)
    return found[:, np.argmin(np.var(np.diff(found, axis=0), axis=0))]


def blocks(inputs):
    """LinearDiscriminantAnalysis of blocks of moving averages."""
    block = np.arange(len(inputs.X)) // 20
    smooth = uniform_filter1d(inputs.X, inputs.lag, axis=0)
    return LinearDiscriminantAnalysis(n_components=1).fit_transform(smooth, block)


def blocks_of_squares(inputs):
    """LinearDiscriminantAnalysis of blocks of products."""
    block = np.arange(len(inputs.X)) // 20
    model = LinearDiscriminantAnalysis(n_components=1)
    return make_pipeline(PolynomialFeatures(2), model).fit_transform(inputs.X, block)


def steps(inputs):
    """PCA of the steps of whitened products."""
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), PCA(whiten=True))
    white = model.fit_transform(inputs.X)
    return white @ PCA().fit(white[inputs.lag :] - white[: -inputs.lag]).components_[-1]


def steps_of_few(inputs):
    """PCA of the steps of whitened products of main components."""
    products = PolynomialFeatures(2, include_bias=False)
    model = make_pipeline(PCA(0.95), products, PCA(whiten=True))
    white = model.fit_transform(inputs.X)
    return white @ PCA().fit(white[inputs.lag :] - white[: -inputs.lag]).components_[-1]


def eigenvectors(inputs):
    """solving the eigenproblem in SciPy."""
    Z = PolynomialFeatures(2, include_bias=False).fit_transform(inputs.X)
    Z -= Z.mean(axis=0)
    steps = Z[inputs.lag :] - Z[: -inputs.lag]
    return Z @ eigh(steps.T @ steps, Z.T @ Z, subset_by_index=[0, 0])[1]


def eigenvectors_in_parts(inputs):
    """solving the eigenproblem from sums over 1000 rows each."""
    products = PolynomialFeatures(2, include_bias=False)
    mean = products.fit_transform(inputs.X[::20]).mean(axis=0)
    A, B = np.zeros((2, len(mean), len(mean)))
    for start in range(0, len(inputs.X) - inputs.lag, 1000):
        Z = products.transform(inputs.X[start : start + 1000 + inputs.lag]) - mean
        steps = Z[inputs.lag :] - Z[: -inputs.lag]
        A += steps.T @ steps
        B += Z[: -inputs.lag].T @ Z[: -inputs.lag]
    W = eigh(A, B, subset_by_index=[0, 0])[1]
    parts = np.array_split(inputs.X, len(inputs.X) // 1000 + 1)
    return np.vstack([products.transform(part) @ W for part in parts])
