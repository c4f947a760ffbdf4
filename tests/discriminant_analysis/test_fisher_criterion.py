"""Evidence that two classes of equal priors have the direction of Fisher's criterion."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from skmoderndata.cluster import KernelKMeans
from skmoderndata.cross_decomposition import KernelPLSRegression
from skmoderndata.decomposition import KernelPCAOutlierDetector
from skmoderndata.discriminant_analysis import KernelDiscriminantAnalysis
from tests.oracles.kernel_discriminant import fisher_direction, fisher_ratio, scatters

# With equal priors, the covariance within the classes, and therefore the ridge, is half of the sum
# over the classes.
Fisher = functools.partial(KernelDiscriminantAnalysis, priors=(0.5, 0.5))


def classes(seed, n=(12, 25), p=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(n), p)) + 2
    X[: n[0]] += rng.normal(size=p)
    return X, np.repeat(["a", "b"], n)


def quadratic_features(X):
    """Coordinates whose inner product is `(x'z)^2`."""
    return np.array([np.outer(x, x).ravel() for x in X])


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_linear_kernel_is_the_primal_problem(seed, solver):
    X, y = classes(seed)
    model = Fisher("linear", alpha=0.01, solver=solver).fit(X, y)
    A = X[y == "a"]
    B = X[y == "b"]
    S = (np.cov(A.T, bias=True) + np.cov(B.T, bias=True)) / 2
    assert_allclose(model.ridge_, 0.01 * np.trace(S), rtol=1e-10)
    d = B.mean(axis=0) - A.mean(axis=0)
    w = np.linalg.solve(S + model.ridge_ * np.eye(3), d)
    w /= np.sqrt(d @ w)
    new = classes(seed + 1)[0]
    middle = (A.mean(axis=0) + B.mean(axis=0)) @ w / 2
    assert_proportional(np.abs(model.transform(new)[:, 0]), np.abs(new @ w - middle), 1e-8)
    assert_proportional(model.decision_function(new), new @ w - middle, 1e-8)


def assert_proportional(a, b, tolerance):
    """Equal up to a positive factor, computed from the entry of largest magnitude."""
    i = np.abs(b).argmax()
    assert a[i] / b[i] > 0
    assert_allclose(a * (b[i] / a[i]), b, rtol=0, atol=tolerance * np.abs(b[i]))


@pytest.mark.oracle
def test_balanced_classes_agree_with_other_methods(seed):
    X, y = classes(seed, n=(20, 20))
    fisher = Fisher("linear", alpha=1e-9, solver="low_rank").fit(X, y)
    linear = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    new = classes(seed + 1)[0]
    assert_proportional(fisher.decision_function(new), linear.decision_function(new), 1e-6)
    K = rbf_kernel(X, gamma=0.3)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    fisher = Fisher("precomputed", alpha=0.05).fit(K, y)
    target = np.where(y == "b", 1.0, -1.0)
    ridge = KernelRidge(alpha=40 * fisher.ridge_, kernel="precomputed").fit(K, target)
    assert_proportional(fisher.decision_function(K), ridge.predict(K), 1e-7)


@pytest.mark.oracle
def test_direction_matches_the_textbook_in_feature_space(seed):
    X, y = classes(seed)
    Z = quadratic_features(X)
    model = Fisher("poly", degree=2, coef0=0, gamma=1, alpha=0.02).fit(X, y)
    expected = fisher_direction(Z, y, 2 * model.ridge_)
    assert_proportional(Z.T @ model.dual_coef_[:, 0], expected, 1e-8)


@pytest.mark.certificate
def test_no_optimiser_finds_a_better_direction(seed):
    X, y = classes(seed)
    Z = quadratic_features(X)
    model = Fisher("poly", degree=2, coef0=0, gamma=1, alpha=0.02).fit(X, y)
    w = Z.T @ model.dual_coef_[:, 0]
    ridge = 2 * model.ridge_
    criterion = fisher_ratio(w, Z, y, ridge)
    rng = np.random.default_rng(seed)
    for start in (w + 0.1 * rng.normal(size=9) * np.abs(w).max(), rng.normal(size=9)):
        found = minimize(lambda v: -fisher_ratio(v, Z, y, ridge), start)
        assert -found.fun <= criterion * (1 + 1e-9)
    scores = model.transform(X)[:, 0]
    spread = scores[y == "a"].var() + scores[y == "b"].var() + ridge * w @ w
    assert_allclose(spread, 2, rtol=1e-8)


@pytest.mark.paper
def test_printed_right_hand_side_is_worse_for_unequal_classes():
    """With y in place of D y the ratio is lower, if the classes differ in size."""
    X, y = classes(3)
    model = Fisher("linear", alpha=0.01).fit(X, y)
    sign = np.where(y == "b", 1.0, -1.0)
    n = len(y)
    a = (y == "a").sum()
    b = (y == "b").sum()
    D = np.diag(np.where(y == "b", 2 * a / n, 2 * b / n))
    plus = (y == "b").astype(float)
    minus = (y == "a").astype(float)
    B = D - 2 * a / (n * b) * np.outer(plus, plus) - 2 * b / (n * a) * np.outer(minus, minus)
    ridge = 2 * model.ridge_
    criterion = fisher_ratio(X.T @ model.dual_coef_[:, 0], X, y, ridge)
    lam = ridge * 2 * a * b / n
    printed = np.linalg.solve(B @ (X @ X.T) + lam * np.eye(n), sign)
    right = np.linalg.solve(B @ (X @ X.T) + lam * np.eye(n), D @ sign)
    assert_allclose(fisher_ratio(X.T @ right, X, y, ridge), criterion, rtol=1e-9)
    assert fisher_ratio(X.T @ printed, X, y, ridge) < 0.95 * criterion


@pytest.mark.recovery
def test_ring_around_a_core(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=400)
    y = np.repeat([0, 1], 200)
    radius = np.where(y, 3.0, 1.0) + 0.2 * rng.normal(size=400)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    model = Fisher(gamma=0.2).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.99
    assert LinearDiscriminantAnalysis().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) < 0.75


@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_weights_scale_labels_and_order(seed, solver):
    X, y = classes(seed)
    w = np.random.default_rng(seed).integers(0, 3, size=len(X))
    copies = np.repeat(np.arange(len(X)), w)
    new = classes(seed + 1)[0]
    model = Fisher("poly", gamma=None, degree=2, alpha=0.01, solver=solver)
    weighted = model.fit(X, y, sample_weight=w).decision_function(new)
    assert_allclose(
        model.fit(X[copies], y[copies]).decision_function(new), weighted, rtol=1e-6
    )
    K = polynomial_kernel(X, degree=2)
    K_new = polynomial_kernel(new, X, degree=2)
    given = Fisher("precomputed", alpha=0.01, solver=solver)
    values = given.fit(K, y, sample_weight=w).decision_function(K_new)
    assert_allclose(values, weighted, rtol=1e-6)
    scaled = given.fit(1e6 * K, y, sample_weight=w).decision_function(1e6 * K_new)
    assert_allclose(scaled, weighted, rtol=1e-6)
    turned = model.fit(X, np.where(y == "a", "z", y), sample_weight=w).decision_function(new)
    assert_allclose(turned, -weighted, rtol=1e-6)


@pytest.mark.edge
def test_one_sample_in_a_class_and_no_scatter():
    X, y = classes(0, n=(1, 20))
    model = Fisher("linear").fit(X, y)
    assert model.predict(X[:1])[0] == "a"
    X = np.repeat([[0.0, 1.0], [2.0, 1.0]], 5, axis=0)
    model = Fisher("linear").fit(X, np.repeat([0, 1], 5))
    assert_array_equal(model.predict(X), np.repeat([0, 1], 5))
    model = Fisher("linear").fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    assert np.isfinite(model.decision_function(np.ones((2, 2)))).all()
    assert model.eigenvalues_[0] < 1e-12


@pytest.mark.edge
def test_priors_favour_the_larger_class(seed):
    X, y = classes(seed)
    new = classes(seed + 1)[0]
    middle = Fisher("linear").fit(X, y).decision_function(new)
    prior = Fisher("linear", priors=(12 / 37, 25 / 37)).fit(X, y)
    assert (prior.decision_function(new) > middle).any()
    assert (prior.decision_function(new) > 0).sum() >= (middle > 0).sum()


@pytest.mark.oracle
def test_scatter_of_the_classes(seed):
    X, y = classes(seed)
    model = Fisher("linear", alpha=0.1).fit(X, y)
    _, within, _ = scatters(X, y, priors=[0.5, 0.5])
    assert_allclose(model.ridge_, 0.1 * np.trace(within), rtol=1e-10)


@pytest.mark.edge
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize(
    "estimator",
    [
        KernelDiscriminantAnalysis(),
        KernelKMeans(2),
        KernelPCAOutlierDetector(1),
        KernelPLSRegression(1),
    ],
)
def test_samples_far_from_the_origin_are_rejected(estimator, kernel, solver, seed):
    """Rounding of the kernel values is above the squared distances of the samples."""
    X = np.random.default_rng(seed).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    model = clone(estimator).set_params(kernel=kernel, solver=solver)
    model.fit(X + 1e3, y)
    with pytest.raises(ValueError, match="cannot resolve these samples"):
        model.fit(X + 1e8, y)


@pytest.mark.edge
def test_another_solver_removes_attributes_of_the_last():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] > 0
    model = Fisher(solver="exact").fit(X, y)
    model.set_params(solver="low_rank").fit(X, y)
    assert hasattr(model, "landmarks_")
    assert not hasattr(model, "dual_coef_")
    model.set_params(solver="exact").fit(X, y)
    assert hasattr(model, "dual_coef_")
    assert not hasattr(model, "landmarks_")
