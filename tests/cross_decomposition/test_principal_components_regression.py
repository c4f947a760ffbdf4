"""Evidence that PrincipalComponentsRegression solves the problem it states."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
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
    biased = pipe[0].explained_variance_ * (len(X) - 1) / len(X)
    assert_allclose(model.explained_variance_, biased, rtol=1e-8)
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


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("shape", [(40, 6), (15, 30)])
@pytest.mark.parametrize("weighted", [False, True])
def test_number_of_components_matches_brute_force_leave_one_out(seed, kernel, shape, weighted):
    """Least squares on the components, with each sample and its copies left out in turn."""
    X, Y = data(seed, *shape)
    # this row is a copy
    X[3] = X[7]
    Y[3] = Y[7]
    n = len(X)
    w = np.random.default_rng(seed).integers(1, 4, size=n) if weighted else np.ones(n)

    model = PrincipalComponentsRegression(kernel=kernel).fit(X, Y, sample_weight=w)
    every = PrincipalComponentsRegression(None, kernel=kernel).fit(X, Y, sample_weight=w)
    Z = every.transform(X)
    variance = np.average((Y - np.average(Y, axis=0, weights=w)) ** 2, axis=0, weights=w)

    errors = []
    for k in range(1, Z.shape[1] + 1):
        squares = np.zeros_like(Y)
        for i in range(n):
            others = np.setdiff1d(np.arange(n), [3, 7] if i in (3, 7) else [i])
            if k >= len(others):
                squares[i] = np.inf
                continue

            fit = LinearRegression().fit(Z[others, :k], Y[others], sample_weight=w[others])
            squares[i] = (Y[i] - fit.predict(Z[i : i + 1, :k])[0]) ** 2
        errors.append((np.average(squares, axis=0, weights=w) / variance).mean())

    assert model.n_components_ == np.argmin(errors) + 1
    best = model.n_components_
    assert_allclose(model.loo_errors_[: best + 1], errors[: best + 1], rtol=1e-6)


@pytest.mark.recovery
def test_default_finds_few_factors_behind_many_columns(seed):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(200, 3))
    X = factors @ rng.normal(size=(3, 80)) + 0.5 * rng.normal(size=(200, 80))
    y = factors.sum(axis=1) + rng.normal(size=200)
    default = PrincipalComponentsRegression()
    full = PrincipalComponentsRegression(None)
    default.fit(X[:100], y[:100])
    assert 3 <= default.n_components_ < 15
    full.fit(X[:100], y[:100])
    assert default.score(X[100:], y[100:]) > full.score(X[100:], y[100:]) + 0.2


@pytest.mark.edge
def test_a_component_of_one_sample_is_not_chosen():
    X = np.zeros((30, 3))
    X[:, 0] = np.random.default_rng(0).normal(size=30)
    X[4, 1] = 0.5  # no other sample has this feature
    y = X[:, 0] + 5 * X[:, 1]
    model = PrincipalComponentsRegression().fit(X, y)
    assert model.n_components_ == 1
    assert np.isinf(model.loo_errors_[1])


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("factor", [1e-300, 1e-30, 0.3, 1e300])
def test_a_common_factor_of_the_weights_changes_nothing(seed, kernel, factor):
    X, Y = data(seed)
    w = np.random.default_rng(seed).uniform(0.5, 2, size=50)
    model = PrincipalComponentsRegression(kernel=kernel)
    once = model.fit(X, Y, sample_weight=w).predict(X)
    variances = model.explained_variance_
    assert_allclose(model.fit(X, Y, sample_weight=factor * w).predict(X), once, rtol=1e-8)
    assert_allclose(model.explained_variance_, variances, rtol=1e-10)


@pytest.mark.certificate
def test_residuals_are_uncorrelated_with_the_components(seed):
    X, Y = data(seed)
    for setting in ({"n_components": 3}, {"kernel": "rbf", "n_components": 9}):
        model = PrincipalComponentsRegression(**setting).fit(X, Y)
        assert model.stationarity_ < 1e-12
        Z = model.transform(X)
        residual = Y - model.predict(X)
        assert_allclose(Z.T @ residual, 0, atol=1e-8 * np.abs(Z).max() * np.abs(Y).max())
        assert_allclose(Z.T @ Z / len(X), np.diag(model.explained_variance_), atol=1e-8)


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
    double = PrincipalComponentsRegression(None).fit(np.c_[X, X], Y)
    assert double.n_components_ == 6
    assert_allclose(double.predict(np.c_[X, X]), LinearRegression().fit(X, Y).predict(X))


@pytest.mark.edge
def test_more_components_than_the_rank_warn(seed):
    X, Y = data(seed)
    with pytest.warns(UserWarning, match="n_components=7 exceeds the rank 6 .* returns 6"):
        assert PrincipalComponentsRegression(7).fit(X, Y).n_components_ == 6


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


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("thin", [False, True])
def test_weights_count_copies(kernel, solver, thin, seed):
    if (kernel != "linear" and solver == "primal") or (thin and kernel == "precomputed"):
        return

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.6)
    y = X @ rng.normal(size=6) + 0.1 * rng.normal(size=40)
    times = rng.integers(0, 4, size=40)
    index = np.repeat(np.arange(40), times)
    model, twin = (
        PrincipalComponentsRegression(3, kernel=kernel, solver=solver) for _ in range(2)
    )

    if kernel == "precomputed":
        K = rbf_kernel(X)
        model.fit(K, y, sample_weight=times)
        twin.fit(K[np.ix_(index, index)], y[index])
        got = K
        wanted = K[:, index]
    else:
        got = wanted = sparse.csr_array(X) if thin else X
        model.fit(got, y, sample_weight=times)
        twin.fit(X[index], y[index])

    assert_allclose(model.predict(got), twin.predict(wanted), atol=1e-7)
    assert_allclose(model.transform(got), twin.transform(wanted), atol=1e-6)
    assert_allclose(model.explained_variance_, twin.explained_variance_, rtol=1e-8)
    assert_allclose(model.explained_variance_ratio_, twin.explained_variance_ratio_, rtol=1e-8)
    assert model.stationarity_ < 1e-8


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(500, 60), (60, 500), (900, 450), (450, 900)])
@pytest.mark.parametrize("k", [3, 0.5])
def test_sparse_rows_are_not_filled(shape, k, seed):
    rng = np.random.default_rng(seed)
    X = sparse.random_array(shape, density=0.05, rng=rng, format="csr")
    X = X + sparse.csr_array(
        np.outer(np.arange(shape[0]) % 3 == 0, np.arange(shape[1]) % 9 == 0)
    )
    y = X @ rng.normal(size=shape[1])
    model = PrincipalComponentsRegression(k).fit(X, y)
    full = PrincipalComponentsRegression(k).fit(X.toarray(), y)
    assert_allclose(model.explained_variance_, full.explained_variance_, rtol=1e-8)
    assert_allclose(model.explained_variance_ratio_, full.explained_variance_ratio_, rtol=1e-8)
    assert_allclose(model.predict(X), full.predict(X.toarray()), atol=1e-6 * np.abs(y).max())
    assert model.solver_ == full.solver_


@pytest.mark.edge
def test_large_sparse_table_and_too_little_weight():
    rng = np.random.default_rng(0)
    X = sparse.random_array((2000, 100_000), density=1e-4, rng=rng, format="csr")
    y = X @ rng.normal(size=100_000)
    tracemalloc.start()
    model = PrincipalComponentsRegression(2).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_components_ == 2
    assert peak < 2000 * 100_000 * 8 / 10  # a dense table would take 1.6 GB
    with pytest.raises(ValueError, match="at least 2 samples of positive weight"):
        model.fit(X[:5], y[:5], sample_weight=[0, 1, 0, 0, 0])


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:kernel='rbf' with gamma:UserWarning")
def test_constant_kernel_predicts_the_mean():
    """The residual of the centred kernel is rounding noise of either sign."""
    X = np.random.default_rng(0).normal(size=(80, 5))
    model = PrincipalComponentsRegression(kernel="rbf", gamma=0.2).fit(1e-8 * X, X[:, 0])
    assert model.n_components_ == 0
    assert_allclose(model.predict(1e-8 * X), X[:, 0].mean())


@pytest.mark.oracle
def test_low_rank_is_the_dual_solution_at_full_rank(seed):
    X, Y = data(seed)
    settings = {"kernel": "rbf", "gamma": 0.01, "n_components": 6}
    dual = PrincipalComponentsRegression(solver="dual", **settings).fit(X, Y)
    low = PrincipalComponentsRegression(solver="low_rank", **settings).fit(X, Y)
    new = data(seed + 1)[0]
    assert low.solver_ == "low_rank"
    assert_allclose(low.predict(new), dual.predict(new), rtol=1e-6, atol=1e-8)
    # signs follow the largest dual coefficient, which depends on rounding errors of the span
    assert_allclose(np.abs(low.transform(new)), np.abs(dual.transform(new)), atol=1e-6)
    ratios = dual.explained_variance_ratio_
    assert_allclose(low.explained_variance_ratio_, ratios, rtol=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("k", [0.5, "loo"])
def test_leading_components_match_the_full_spectrum(monkeypatch, seed, k):
    """A fraction of the variance, or the best number, without all eigenvectors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1001, 5))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=1001)
    settings = {"kernel": "rbf", "gamma": 0.02, "solver": "dual"}
    few = PrincipalComponentsRegression(k, **settings).fit(X, y)
    monkeypatch.setattr("skmoderndata._solvers.common.linalg.DENSE_UP_TO", 1001)
    whole = PrincipalComponentsRegression(k, **settings).fit(X, y)
    assert few.n_components_ == whole.n_components_
    assert_allclose(few.predict(X[:50]), whole.predict(X[:50]), rtol=1e-6)


@pytest.mark.edge
def test_auto_uses_the_low_rank_if_it_contains_the_components():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1001, 3))
    y = X[:, 0] ** 2
    solvers = {
        k: PrincipalComponentsRegression(k, kernel="rbf", max_rank=30).fit(X, y).solver_
        for k in ("loo", 10, 0.9, 31)
    }
    assert solvers == {"loo": "low_rank", 10: "low_rank", 0.9: "low_rank", 31: "dual"}
    with pytest.raises(ValueError, match="use solver='auto'"):
        PrincipalComponentsRegression(solver="low_rank").fit(X, y)
