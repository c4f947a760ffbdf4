"""Evidence that CoreVectorRegressor solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_wine, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skmoderndata.svm import CoreVectorRegressor
from tests.oracles import core_set as oracle


def wave(n=300, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, size=(n, 1))
    return X, np.sinc(X[:, 0] / np.pi) + noise * rng.normal(size=n)


@pytest.mark.oracle
@pytest.mark.parametrize("distance", [0.01, 0.1, 3.0])
def test_primal_problem(distance, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, -2.0, 0.5] + 3 + 0.4 * rng.normal(size=60)
    scaled = (y - y.mean()) / y.std()
    C = 2.0
    Z = np.c_[X, np.ones(60)]
    value, w, width = oracle.tube_primal(Z, scaled, 2 * C, 2 * distance * C * 60)
    model = CoreVectorRegressor(C, tube_distance=distance, kernel="linear").fit(X, y)
    assert_allclose(
        model.predict(X), y.mean() + y.std() * (Z @ w), atol=1e-4
    )  # the tolerance is the accuracy of a cone solver
    assert_allclose(model.epsilon_, y.std() * width, atol=1e-4)
    assert value > 0


@pytest.mark.oracle
@pytest.mark.parametrize("distance", [5.0, 50.0])
def test_large_distance_is_kernel_ridge_regression(distance, seed):
    """Without a tube: weight `2 C` on the halved square, so `alpha = 1 / (2 C)`."""
    X, y = wave(120, seed=seed)
    scaled = (y - y.mean()) / y.std()
    K = rbf_kernel(X, gamma=0.3) + 1
    ridge = KernelRidge(alpha=1 / 20, kernel="precomputed").fit(K, scaled).predict(K)
    model = CoreVectorRegressor(10, tube_distance=distance, gamma=0.3, tol=1e-13).fit(X, y)
    assert model.epsilon_ < 1e-9
    assert_allclose(model.predict(X), y.mean() + y.std() * ridge, atol=1e-7)


@pytest.mark.oracle
def test_matches_function_from_cvxpy(seed):
    X, y = wave(100, seed=seed)
    ours = CoreVectorRegressor(gamma=0.3).fit(X, y)
    theirs = CoreVectorRegressor(gamma=0.3, solver="cvxpy").fit(X, y)
    assert_allclose(theirs.predict(X), ours.predict(X), atol=1e-5)


@pytest.mark.certificate
@pytest.mark.parametrize(
    "distance", [0.005, 0.03, 0.15]
)  # with values of 0.2 and more, some draws have no tube
def test_mean_distance_to_the_tube(distance, seed):
    X, y = wave(400, seed=seed)
    model = CoreVectorRegressor(tube_distance=distance, gamma=0.3, tol=1e-13).fit(X, y)
    outside = np.maximum(0, np.abs(y - model.predict(X)) - model.epsilon_)
    assert model.epsilon_ > 0
    assert_allclose(outside.mean(), distance * y.std(), rtol=1e-6)
    assert_allclose(np.flatnonzero(outside > 1e-9), np.sort(model.support_))
    assert model.dual_gap_ < 1e-8


@pytest.mark.certificate
@pytest.mark.parametrize("tol", [0.2, 0.02, 1e-5])
def test_tolerance_is_reached(tol, seed):
    X, y = wave(3000, seed=seed)
    settings = {"C": 10, "tube_distance": 0.03, "gamma": 0.3, "random_state": seed}
    model = CoreVectorRegressor(tol=tol, **settings).fit(X, y)
    best = CoreVectorRegressor(tol=1e-8, **settings).fit(X, y)
    assert model.dual_gap_ <= tol
    assert best.dual_gap_ <= 1e-8

    def objective(m):
        f = (m.predict(X) - y) / y.std()
        rest = m.dual_coef_ / y.std()
        K = rbf_kernel(m.support_vectors_, gamma=0.3) + 1
        width = m.epsilon_ / y.std()
        outside = np.maximum(0, np.abs(f) - width)
        return 0.5 * rest @ K @ rest + 10 * outside @ outside + 20 * 0.03 * 3000 * width

    assert objective(best) <= objective(model) * (1 + 1e-7)
    assert objective(model) * (1 - tol) <= objective(best)


@pytest.mark.recovery
def test_noisy_wave(seed):
    X, y = wave(3000, seed=seed)
    settings = {"C": 10, "tube_distance": 0.03, "gamma": 0.3, "random_state": seed}
    model = CoreVectorRegressor(**settings).fit(X, y)
    grid = np.linspace(-10, 10, 500)[:, None]
    error = model.predict(grid) - np.sinc(grid[:, 0] / np.pi)
    assert np.sqrt(np.mean(error**2)) < 0.03
    assert len(model.support_) < 900


@pytest.mark.paper
@pytest.mark.slow
def test_friedman():
    """Friedman's first function, noise 1: support and error fall and rise with the distance."""
    X, y = make_friedman1(8000, noise=1.0, random_state=0)
    new, truth = make_friedman1(5000, noise=0.0, random_state=1)
    errors = []
    sizes = []
    for distance in (0.003, 0.03, 0.1):
        model = CoreVectorRegressor(50, tube_distance=distance, gamma=0.3, random_state=0)
        model.fit(X, y)
        errors.append(np.sqrt(np.mean((model.predict(new) - truth) ** 2)))
        sizes.append(len(model.support_))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.6
    assert sizes[0] < sizes[1] < sizes[2]


@pytest.mark.invariance
def test_warm_start_reaches_the_same_solution(seed):
    X, y = wave(2100, seed=seed)
    settings = {"gamma": 0.3, "tol": 1e-6, "random_state": 0}
    weight = np.random.default_rng(seed).integers(0, 2, 2100)
    cold = CoreVectorRegressor(20, **settings).fit(X, y, weight)
    warm = CoreVectorRegressor(10, warm_start=True, **settings).fit(X, y)
    # half of the core set no longer exists in the new data
    warm.set_params(C=20).fit(X, y, weight)
    # the tolerance is the root of `tol`
    assert_allclose(warm.predict(X), cold.predict(X), atol=2e-3 * y.std())
    assert weight[warm.support_].all()
    assert warm.n_iter_ < cold.n_iter_
    again = warm.fit(X, y, weight)
    assert again.n_iter_ <= 3
    few = warm.fit(X[:50], y[:50])  # most of the core set no longer exists in the new data
    alone = CoreVectorRegressor(20, **settings).fit(X[:50], y[:50])
    assert_allclose(few.predict(X), alone.predict(X), atol=1e-4)


@pytest.mark.invariance
def test_units_order_weights_and_kernels(seed):
    X, y = wave(150, seed=seed)
    rng = np.random.default_rng(seed)
    model = CoreVectorRegressor(gamma=0.3, tol=0).fit(X, y)
    f = model.predict(X)

    moved = CoreVectorRegressor(gamma=0.3, tol=0).fit(X, 5 * y - 100)
    assert_allclose(moved.predict(X), 5 * f - 100, atol=1e-6)
    assert_allclose(moved.epsilon_, 5 * model.epsilon_, rtol=1e-6)

    order = rng.permutation(150)
    again = CoreVectorRegressor(gamma=0.3, tol=0).fit(X[order], y[order])
    assert_allclose(again.predict(X), f, atol=1e-6)

    thing = CoreVectorRegressor(kernel=RBF(np.sqrt(1 / 0.6)), tol=0).fit(X, y)
    assert_allclose(thing.predict(X), f, atol=1e-6)
    gram = CoreVectorRegressor(kernel="precomputed", tol=0).fit(rbf_kernel(X, gamma=0.3), y)
    assert_allclose(gram.predict(rbf_kernel(X, gamma=0.3)), f, atol=1e-6)
    rows = CoreVectorRegressor(gamma=0.3, tol=0).fit(sparse.csr_array(X), y)
    assert_allclose(rows.predict(sparse.csr_array(X)), f, atol=1e-6)

    counts = rng.integers(0, 3, 150)
    weighted = CoreVectorRegressor(gamma=0.3, tol=0).fit(X, y, counts)
    repeated = CoreVectorRegressor(gamma=0.3, tol=0)
    repeated.fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


@pytest.mark.edge
def test_constant_targets_and_one_sample():
    X, _ = wave(20)
    for y in (np.full(20, 3.5), np.zeros(20)):
        assert_allclose(CoreVectorRegressor().fit(X, y).predict(X), y, atol=1e-20)
    with pytest.raises(ValueError, match="1 sample"):
        CoreVectorRegressor().fit([[1.0, 2.0]], [7.0])
    with pytest.raises(ValueError, match="rescale X"):
        CoreVectorRegressor(kernel="linear").fit(X * 1e40, np.arange(20.0))


@pytest.mark.edge
def test_contradicting_duplicates_and_constant_features():
    X = np.zeros((10, 2))
    y = np.arange(10.0)
    model = CoreVectorRegressor().fit(X, y)
    assert np.ptp(model.predict(X)) == 0
    assert 0 < model.predict(X)[0] < 9
    assert model.epsilon_ > 2


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, y = wave(30)
    with pytest.raises(ValueError, match="NaN"):
        CoreVectorRegressor().fit(X, y * np.nan)
    with pytest.raises(ValueError, match="weights"):
        CoreVectorRegressor().fit(X, y, np.zeros(30))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        CoreVectorRegressor(kernel=lambda A, B: -A @ B.T).fit(X, y)
    for settings in ({"C": 0.0}, {"tube_distance": 0.0}, {"tol": -1.0}, {"max_core": 1}):
        with pytest.raises(ValueError, match=f"The '{next(iter(settings))}' parameter"):
            CoreVectorRegressor(**settings).fit(X, y)


@pytest.mark.edge
def test_warns_at_iteration_limits():
    X, y = wave(3000)
    with pytest.warns(ConvergenceWarning, match="with 30 core samples.*increase max_core"):
        CoreVectorRegressor(gamma=0.3, max_core=30, random_state=0).fit(X, y)


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X, y = wave(200)
    pipe = make_pipeline(StandardScaler(), CoreVectorRegressor())
    grid = {"corevectorregressor__gamma": [0.01, 10.0]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"corevectorregressor__gamma": 10.0}


@pytest.mark.oracle
def test_working_sets_match_the_full_matrix(seed):
    X, y = wave(1500, seed)
    settings = {"gamma": 0.3, "tol": 1e-6, "random_state": seed}
    whole = CoreVectorRegressor(**settings).fit(X, y)
    # the cache holds rows of 114 samples
    parts = CoreVectorRegressor(**settings, cache_size=0.1).fit(X, y)
    assert len(parts.core_indices_) > 114
    assert parts.dual_gap_ <= 1e-6
    # the tolerance is the root of `tol`
    assert_allclose(parts.predict(X), whole.predict(X), atol=1e-3)
    assert_allclose(parts.epsilon_, whole.epsilon_, rtol=1e-2)


def heavy_tails(n=1500):
    """A smooth function of two of eight columns, with errors that hardly have a variance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.standard_t(2.5, size=n)


@pytest.mark.recovery
@pytest.mark.parametrize(
    "table",
    [
        load_diabetes(return_X_y=True),
        (load_wine().data[:, :-1], load_wine().data[:, -1]),
        make_friedman1(1500, noise=2, random_state=0),
        make_friedman1(1500, noise=0.1, random_state=0),
        heavy_tails(),
    ],
    ids=["diabetes", "wine", "friedman", "friedman, little noise", "heavy tails"],
)
def test_defaults_regress_on_plain_tables(table):
    folds = KFold(5, shuffle=True, random_state=0)
    relative = TransformedTargetRegressor(SVR(), transformer=StandardScaler())

    ours, theirs = (
        cross_val_score(make_pipeline(StandardScaler(), model), *table, cv=folds).mean()
        for model in (CoreVectorRegressor(), relative)
    )

    assert ours > theirs - 0.05
