"""Evidence that PrincipalComponentsRegression solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata.cross_decomposition import PrincipalComponentsRegression


def data(seed, n=50, p=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 2
    return X, X[:, :2] ** 2 + rng.normal(size=(n, 2))


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("shape", [(50, 6), (20, 40)])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_matches_a_pipeline_of_pca(seed, solver, shape, k):
    X, Y = data(seed, *shape)
    model = PrincipalComponentsRegression(k, solver=solver).fit(X, Y)
    pipe = make_pipeline(PCA(k, svd_solver="full"), LinearRegression()).fit(X, Y)
    new = data(seed + 1, *shape)[0]
    assert_allclose(model.predict(new), pipe.predict(new), rtol=1e-8, atol=1e-8)
    assert_allclose(model.explained_variance_, pipe[0].explained_variance_, rtol=1e-8)
    ratio = pipe[0].explained_variance_ratio_
    assert_allclose(model.explained_variance_ratio_, ratio, rtol=1e-8)
    assert_allclose(np.abs(model.transform(new)), np.abs(pipe[0].transform(new)), atol=1e-7)


@pytest.mark.oracle
def test_matches_a_pipeline_of_kernel_pca(seed):
    X, Y = data(seed)
    model = PrincipalComponentsRegression(7, kernel="rbf", gamma=0.05).fit(X, Y[:, 0])
    pipe = make_pipeline(
        KernelPCA(7, kernel="rbf", gamma=0.05, eigen_solver="dense"), LinearRegression()
    ).fit(X, Y[:, 0])
    new = data(seed + 1)[0]
    assert_allclose(model.predict(new), pipe.predict(new), rtol=1e-7)
    assert_allclose(np.abs(model.transform(new)), np.abs(pipe[0].transform(new)), atol=1e-8)


@pytest.mark.certificate
def test_residuals_are_uncorrelated_with_the_components(seed):
    X, Y = data(seed)
    for setting in ({"n_components": 3}, {"kernel": "rbf", "n_components": 9}):
        model = PrincipalComponentsRegression(**setting).fit(X, Y)
        assert model.stationarity_ < 1e-12
        Z = model.transform(X)
        residual = Y - model.predict(X)
        assert_allclose(Z.T @ residual, 0, atol=1e-8 * np.abs(Z).max() * np.abs(Y).max())
        assert_allclose(Z.T @ Z / (len(X) - 1), np.diag(model.explained_variance_), atol=1e-8)


@pytest.mark.recovery
def test_few_factors_behind_many_columns(seed):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(100, 3))
    X = factors @ rng.normal(size=(3, 80)) + 0.5 * rng.normal(size=(100, 80))
    y = factors.sum(axis=1) + rng.normal(size=100)
    search = GridSearchCV(PrincipalComponentsRegression(), {"n_components": [1, 3, 60]}, cv=4)
    search.fit(X, y)
    assert search.best_params_["n_components"] == 3
    assert search.best_score_ > 0.5


@pytest.mark.invariance
def test_rotation_shift_and_solver_do_not_matter(seed):
    X, Y = data(seed)
    expected = PrincipalComponentsRegression(3).fit(X, Y).predict(X)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    turned = PrincipalComponentsRegression(3).fit(X @ Q + 7, Y).predict(X @ Q + 7)
    assert_allclose(turned, expected, rtol=1e-8)
    K = X @ X.T
    given = PrincipalComponentsRegression(3, kernel="precomputed").fit(K, Y).predict(K)
    assert_allclose(given, expected, rtol=1e-8)
    dual = PrincipalComponentsRegression(3, solver="dual").fit(X, Y)
    primal = PrincipalComponentsRegression(3, solver="primal").fit(X, Y)
    assert_allclose(dual.coef_, primal.coef_, atol=1e-8)


@pytest.mark.edge
def test_share_of_variance_and_rank(seed):
    X, Y = data(seed)
    ratio = PCA().fit(X).explained_variance_ratio_.cumsum()
    model = PrincipalComponentsRegression(0.9).fit(X, Y)
    assert model.n_components_ == np.searchsorted(ratio, 0.9) + 1
    double = PrincipalComponentsRegression().fit(np.c_[X, X], Y)
    assert double.n_components_ == 6
    assert_allclose(double.predict(np.c_[X, X]), LinearRegression().fit(X, Y).predict(X))


@pytest.mark.edge
def test_constant_columns_and_bad_input():
    X, Y = data(0)
    for kernel in ("linear", "rbf"):
        model = PrincipalComponentsRegression(kernel=kernel).fit(np.full((50, 2), 3.0), Y)
        assert model.n_components_ == 0
        assert_allclose(model.predict(np.ones((1, 2)))[0], Y.mean(axis=0))
    with pytest.raises(ValueError, match="solver='primal'"):
        PrincipalComponentsRegression(kernel="rbf", solver="primal").fit(X, Y)
    with pytest.raises(ValueError, match="semi-definite"):
        PrincipalComponentsRegression(kernel="precomputed").fit(-rbf_kernel(X), Y)
