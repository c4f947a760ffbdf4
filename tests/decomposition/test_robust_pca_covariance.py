"""Evidence for the covariance of the repaired table."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.covariance import MinCovDet

from skmoderndata.decomposition import RobustPCA


def factor_table(p, *, cells=0.05, n=200, seed=0):
    """Table of two factors with wrong cells, and its covariance without these."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(2, p))
    X = rng.normal(size=(n, 2)) @ loadings + 0.3 * rng.normal(size=(n, p))
    wrong = rng.random(X.shape) < cells
    X[wrong] += 8.0 * rng.choice([-1, 1], size=wrong.sum())
    return X, loadings.T @ loadings + 0.09 * np.eye(p)


def distance(found, true):
    """Kullback-Leibler divergence of centred Gaussian distributions, times two."""
    ratio = np.linalg.solve(true, found)
    return np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(true)


@pytest.mark.recovery
def test_covariance_of_tables_with_wrong_cells(seed):
    X, true = factor_table(20, seed=seed)
    found = RobustPCA(tol=1e-3).fit(X).get_covariance()
    assert_allclose(found, found.T)
    rival = MinCovDet(random_state=0).fit(X).covariance_  # nearly all rows have wrong cells
    assert distance(found, true) < 0.1 * distance(rival, true)
    assert distance(found, true) < 2 * distance(np.cov(factor_table(20, cells=0)[0].T), true)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:RobustPCA depends on the scales")
@pytest.mark.parametrize("kwargs", [{}, {"center": "auto", "scale": "auto"}])
def test_covariance_matches_the_repaired_rows_plus_noise(kwargs):
    X, _ = factor_table(20)
    X[:20] += 4.0 * np.random.default_rng(0).choice([-1, 1], size=20)
    X = X * 10.0 ** np.linspace(-1, 1, 20) + 50.0
    model = RobustPCA(center=True, tol=1e-3).set_params(**kwargs).fit(X)
    good = model.low_rank_[~model.outlying_rows_]
    expected = np.cov(good.T) + np.diag(model.noise_scale_**2)
    found = model.get_covariance()
    assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())

    light = RobustPCA(center=True, tol=1e-3, store_matrices=False).set_params(**kwargs).fit(X)
    assert_allclose(light.get_covariance(), found)


@pytest.mark.edge
def test_covariance_of_noise_alone_is_diagonal():
    X = np.random.default_rng(0).normal(size=(60, 12))
    with pytest.warns(UserWarning, match="no component"):
        model = RobustPCA(tol=1e-3).fit(X)
    assert_allclose(model.get_covariance(), np.diag(model.noise_scale_**2))
