"""Evidence that KernelPLSRegression solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from skmoderndata.cross_decomposition import KernelPLSRegression
from tests.oracles.kernel_cca import centred
from tests.oracles.kernel_pls_regression import deflating


def data(seed, n=60, p=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 1
    Y = np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2], X[:, 3]]
    return X, Y + 0.1 * rng.normal(size=Y.shape)


@pytest.mark.oracle
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("targets", [1, 3])
def test_linear_kernel_is_pls_regression(seed, k, targets):
    X, Y = data(seed)
    Y = Y[:, 0] if targets == 1 else Y
    model = KernelPLSRegression(k, kernel="linear").fit(X, Y)
    linear = PLSRegression(k, scale=False)
    # if two directions are close, the power method stops at a distance of 1e-7
    linear.algorithm = "svd"
    linear.fit(X, Y)
    new = data(seed + 1)[0]
    assert_allclose(model.predict(new), linear.predict(new), rtol=1e-8, atol=1e-8)
    assert_allclose(np.abs(model.transform(new)), np.abs(linear.transform(new)), atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("k", [1, 5, 12])
def test_matches_the_deflating_algorithm(seed, k):
    X, Y = data(seed)
    model = KernelPLSRegression(k, gamma=0.1).fit(X, Y)
    K = rbf_kernel(X, gamma=0.1)
    dual, T = deflating(K, Y, k)
    expected = centred(K) @ dual + Y.mean(axis=0)
    assert_allclose(model.predict(X), expected, atol=1e-7)
    cosines = (model.x_scores_ / np.linalg.norm(model.x_scores_, axis=0)).T @ (
        T / np.linalg.norm(T, axis=0)
    )
    assert_allclose(np.abs(np.diag(cosines)), 1, atol=1e-7)


@pytest.mark.oracle
def test_all_components_of_columns_are_least_squares(seed):
    X, Y = data(seed)
    model = KernelPLSRegression(5, kernel="linear").fit(X, Y[:, 0])
    expected = LinearRegression().fit(X, Y[:, 0]).predict(X)
    assert_allclose(model.predict(X), expected, atol=1e-8)


@pytest.mark.certificate
def test_scores_are_orthogonal_and_reproduced(seed):
    X, Y = data(seed)
    model = KernelPLSRegression(30, gamma=0.1).fit(X, Y)
    T = model.x_scores_ / np.linalg.norm(model.x_scores_, axis=0)
    assert_allclose(T.T @ T, np.eye(model.n_components_), atol=1e-10)
    assert model.orthogonality_ < 1e-10
    assert_allclose(model.transform(X), model.x_scores_, atol=1e-6)
    # the regression on the scores is a least-squares fit
    residual = Y - model.predict(X)
    assert np.abs(T.T @ residual).max() < 1e-6


# the last components consist of rounding errors, and `fit` warns
@pytest.mark.filterwarnings("ignore:n_components=")
@pytest.mark.certificate
def test_more_components_fit_better_until_all_is_interpolated(seed):
    X, Y = data(seed)
    errors = [
        np.square(Y - KernelPLSRegression(k, gamma=1.0).fit(X, Y).predict(X)).sum()
        for k in (1, 2, 4, 8, 16, 32, 59)
    ]
    assert (np.diff(errors[:-2]) < 0).all()
    assert (
        max(errors[-2:]) < 1e-8 * errors[0]
    )  # the last components may consist of rounding errors


@pytest.mark.filterwarnings("ignore:n_components=60")
@pytest.mark.recovery
def test_search_finds_a_good_number_of_components(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(200, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=200)
    search = GridSearchCV(KernelPLSRegression(), {"n_components": [1, 2, 4, 8, 16, 60]}, cv=5)
    search.fit(X, y)
    assert 1 < search.best_params_["n_components"] < 60
    assert search.best_score_ > 0.75


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_low_rank_removes_a_common_shift(seed, kernel):
    """`rank_tol` is relative to the centred kernel: an offset of 1e3 leaves all components."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6))
    y = X @ np.array([1.0, -2.0, 0.5, 3.0, 0.0, 1.0])
    parameters = {"kernel": kernel, "degree": 1, "gamma": 1.0}
    exact = KernelPLSRegression(6, solver="exact", **parameters).fit(X + 1e3, y)
    low = KernelPLSRegression(6, solver="low_rank", **parameters).fit(X + 1e3, y)
    assert low.n_components_ == exact.n_components_ == 6
    # shifted numbers keep ten correct digits
    assert_allclose(low.predict(X + 1e3), y, atol=1e-4)


@pytest.mark.invariance
def test_kernels_and_low_rank_agree(seed):
    X, Y = data(seed)
    new = data(seed + 1)[0]
    expected = KernelPLSRegression(4, gamma=0.1).fit(X, Y).predict(new)
    K = rbf_kernel(X, gamma=0.1)
    L = rbf_kernel(new, X, gamma=0.1)
    given = KernelPLSRegression(4, kernel="precomputed").fit(K, Y).predict(L)
    assert_allclose(given, expected, atol=1e-9)
    low = KernelPLSRegression(4, gamma=0.1, solver="low_rank", max_rank=60, rank_tol=0)
    assert_allclose(low.fit(X, Y).predict(new), expected, atol=1e-6)
    order = np.random.default_rng(seed).permutation(len(X))
    turned = KernelPLSRegression(4, gamma=0.1).fit(X[order], Y[order]).predict(new)
    assert_allclose(turned, expected, atol=1e-9)
    scaled = KernelPLSRegression(4, gamma=0.1).fit(X, 1e9 * Y + 5).predict(new)
    assert_allclose((scaled - 5) / 1e9, expected, atol=1e-7)


@pytest.mark.edge
def test_constant_target_and_constant_columns():
    X, Y = data(0)
    with pytest.warns(UserWarning, match="returns 0"):
        model = KernelPLSRegression(3).fit(X, np.full(60, 4.0))
    assert model.n_components_ == 0
    assert_allclose(model.predict(X), 4.0)
    with pytest.warns(UserWarning, match="n_components=3"):
        flat = KernelPLSRegression(3).fit(np.ones((60, 2)), Y)
    assert_allclose(flat.predict(np.ones((2, 2))), np.tile(Y.mean(axis=0), (2, 1)), atol=1e-8)


@pytest.mark.edge
def test_error_names_bad_input():
    X, Y = data(0)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        KernelPLSRegression().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="square"):
        KernelPLSRegression(kernel="precomputed").fit(X, Y)
    with pytest.raises(ValueError, match="semi-definite"):
        KernelPLSRegression(kernel="precomputed").fit(-(X @ X.T), Y)


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
@pytest.mark.parametrize("targets", [1, 3])
def test_weights_count_copies(kernel, solver, targets, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4))
    Y = np.sin(X) @ rng.normal(size=(4, targets)) + 0.1 * rng.normal(size=(40, targets))
    Y = Y[:, 0] if targets == 1 else Y

    times = rng.integers(0, 4, size=40)
    index = np.repeat(np.arange(40), times)
    model = KernelPLSRegression(3, kernel=kernel, solver=solver, rank_tol=0.0)
    twin = KernelPLSRegression(3, kernel=kernel, solver=solver, rank_tol=0.0)

    if kernel == "precomputed":
        K = rbf_kernel(X)
        model.fit(K, Y, sample_weight=times)
        twin.fit(K[np.ix_(index, index)], Y[index])
        got = K
        wanted = K[:, index]
    else:
        model.fit(X, Y, sample_weight=times)
        twin.fit(X[index], Y[index])
        got = wanted = X

    assert_allclose(model.predict(got), twin.predict(wanted), atol=1e-8)
    assert_allclose(model.transform(got), twin.transform(wanted), atol=1e-8)
    assert_allclose(model.x_scores_, model.transform(got), atol=1e-8)
    assert model.orthogonality_ < 1e-10


@pytest.mark.newest
@pytest.mark.edge
def test_components_are_reported_and_can_be_stopped(seed):
    seen = []

    class Stop:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            seen.append(context.task_name)
            return len(seen) >= 2

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4))
    model = KernelPLSRegression(5).set_callbacks(Stop()).fit(X, np.sin(X[:, 0]))
    assert model.n_components_ == 2
    assert seen == ["component", "component", "fit"]
    with pytest.raises(ValueError, match="at least 2 samples of positive weight"):
        model.fit(X, X[:, 0], sample_weight=np.eye(40)[3])


@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
@pytest.mark.parametrize("factor", [1e-300, 1e-30, 0.3, 1e300])
def test_a_common_factor_of_the_weights_changes_nothing(seed, solver, factor):
    X, Y = data(seed)
    w = np.random.default_rng(seed).uniform(0.5, 2, size=60)
    model = KernelPLSRegression(3, solver=solver)
    once = model.fit(X, Y, sample_weight=w).predict(X)
    scores = model.x_scores_
    assert_allclose(model.fit(X, Y, sample_weight=factor * w).predict(X), once, rtol=1e-8)
    assert_allclose(model.x_scores_, scores, atol=1e-8 * np.abs(scores).max())
