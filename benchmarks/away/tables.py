"""Tables with wrong cells or rows, as in the simulations of robust statistics, and measures."""

import numpy as np


def a09(p):
    """Return the correlation matrix of Rousseeuw and Van den Bossche: (-0.9)^|i - j|."""
    index = np.arange(p)
    return (-0.9) ** abs(index[:, None] - index)


def wrong_cells(n, p, *, fraction, size, seed):
    """Return a table of A09 data, the table with wrong cells, and the positions of these cells."""
    rng = np.random.default_rng(seed)
    clean = rng.multivariate_normal(np.zeros(p), a09(p), size=n)
    wrong = rng.uniform(size=(n, p)) < fraction
    return clean, np.where(wrong, size, clean), wrong


def outlying_rows(n, p, *, fraction, size, seed):
    """Return A09 data in which the first rows lie along the eigenvector of smallest variance."""
    rng = np.random.default_rng(seed)
    n_outliers = int(fraction * n)
    X = rng.multivariate_normal(np.zeros(p), a09(p), size=n)
    direction = np.linalg.eigh(a09(p))[1][:, 0] * np.sqrt(p)
    X[:n_outliers] = size * direction + 0.1 * rng.normal(size=(n_outliers, p))
    return X


def discrepancy(covariance, truth):
    """Return the Kullback-Leibler discrepancy of an estimated covariance from the truth."""
    ratio = np.linalg.solve(truth, covariance)
    return np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(truth)


def f1(found, truth):
    """Return the F1 score of a Boolean mask; 0 if nothing is found."""
    hits = np.sum(found & truth)
    return 2 * hits / max(np.sum(found) + np.sum(truth), 1)


def estimator_of_robpy(name, **settings):
    """Return an estimator of robpy 0.0.6, which calls a method that scikit-learn 1.6 removed."""
    from robpy import covariance, pca
    from robpy.covariance.base import RobustCovariance
    from sklearn.utils.validation import validate_data

    if not hasattr(RobustCovariance, "_validate_data"):
        RobustCovariance._validate_data = validate_data
    module = pca if hasattr(pca, name) else covariance
    return getattr(module, name)(**settings)
