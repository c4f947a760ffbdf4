"""Evidence that SparseGaussianProcessClassifier solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_friedman1,
    make_moons,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    WhiteKernel,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._solvers.gaussian.bernoulli import (
    expectations,
    first_sites,
    maximise_bound,
    mean_probability,
)
from skmoderndata.gaussian_process import SparseGaussianProcessClassifier
from skmoderndata.gaussian_process import _sparse_gaussian_process_classifier as module
from skmoderndata.gaussian_process._base import Covariance
from tests.oracles.gaussian_process import classification_bound

KERNEL = ConstantKernel(4.0) * RBF(0.8)


def moons(seed, n=120):
    return make_moons(n, noise=0.3, random_state=seed)


def fixed(kernel=KERNEL, **parameters):
    Z = np.random.default_rng(5).uniform([-1, -0.5], [2, 1], (12, 2))
    return SparseGaussianProcessClassifier(kernel, inducing=Z, optimizer=None, **parameters)


def problem(seed, n=150, m=8):
    """Whitened columns, variances and labels."""
    rng = np.random.default_rng(seed)
    A = 0.5 * rng.normal(size=(m, n))
    y = np.where(3 * A[0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return A, rng.uniform(0, 0.3, n), y, rng.uniform(0.5, 2, n)


# oracle


@pytest.mark.oracle
def test_bound_matches_its_definition(seed):
    X, y = moons(seed)
    model = fixed().fit(X, y)
    bound = model._processes[0].bound
    S = np.linalg.inv(bound.R @ bound.R.T)
    Z = model.inducing_points_[0]
    value = classification_bound(KERNEL, Z, X, 2 * y - 1, bound.m, S)
    assert_allclose(model.lower_bound_, [value], rtol=1e-7)


@pytest.mark.oracle
def test_a_general_optimiser_reaches_the_same_posterior(seed):
    A, rest, y, w = problem(seed)
    m = len(A)
    below = np.tril_indices(m)

    def negative(x):
        C = np.zeros((m, m))
        C[below] = x[m:]
        variance = rest + np.sum((C.T @ A) ** 2, axis=0)
        expected = expectations(y, x[:m] @ A, variance)[0]
        log_det = 2 * np.sum(np.log(np.abs(np.diag(C))))
        return 0.5 * (np.sum(C**2) + x[:m] @ x[:m] - m - log_det) - w @ expected

    start = np.append(np.zeros(m), np.eye(m)[below])
    options = {"maxiter": 1000, "maxfun": 10**6, "ftol": 1e-13}
    other = minimize(negative, start, method="L-BFGS-B", options=options)
    bound = maximise_bound(A, rest, y, w, first_sites(y), tol=1e-12, max_iter=100)
    # the tolerance is the accuracy of gradients by differences
    assert_allclose(bound.objective, -other.fun, rtol=1e-6)
    assert bound.objective >= -other.fun - 1e-9


@pytest.mark.oracle
def test_all_samples_as_inducing_inputs_are_near_laplace(seed):
    """Another approximation of the same exact process, by scikit-learn."""
    X, y = moons(seed)
    new, truth = moons(seed + 1, 300)
    model = SparseGaussianProcessClassifier(KERNEL, inducing=X, optimizer=None).fit(X, y)
    exact = GaussianProcessClassifier(KERNEL, optimizer=None).fit(X, y)
    ours = model.predict_proba(new)
    theirs = exact.predict_proba(new)
    assert np.abs(ours - theirs).max() < 0.06  # both approximate the same posterior
    assert log_loss(truth, ours) < log_loss(truth, theirs) + 0.01


@pytest.mark.oracle
@pytest.mark.parametrize(
    "kernel",
    [ConstantKernel(1.3) * RBF([1.0, 0.7]), Matern(1.0, nu=1.5), RBF() + DotProduct()],
)
def test_gradient_by_differences(kernel, seed, monkeypatch):
    monkeypatch.setattr(module, "GAP", 1e-18)
    X, y = moons(seed, 80)
    labels = 2.0 * y - 1
    w = np.random.default_rng(seed).uniform(0.5, 2, 80)
    process = module.BinaryProcess(Covariance(kernel), X[:7] + 0.1, np.array([1.0, 2.0]), 1e-8)
    points = process.covariance.fast
    x = process.vector(points)

    def value_at(x):
        return process.with_vector(x, points).value_and_gradient(X, labels, w, points, None)[
            :2
        ]

    gradient = value_at(x)[1]
    steps = 1e-5 * np.eye(len(x))
    differences = [(value_at(x + e)[0] - value_at(x - e)[0]) / 2e-5 for e in steps]
    assert_allclose(gradient, differences, atol=2e-6 * np.abs(gradient).max())


# certificate


@pytest.mark.certificate
@pytest.mark.parametrize("max_iter", [1, 2, 4])
def test_gap_bounds_the_distance_to_the_optimum(max_iter, seed):
    A, rest, y, w = problem(seed)
    best = maximise_bound(A, rest, y, w, first_sites(y), tol=1e-14, max_iter=100)
    early = maximise_bound(A, rest, y, w, first_sites(y), tol=1e-14, max_iter=max_iter)
    assert best.converged
    assert not early.converged
    assert 0 < best.objective - early.objective <= early.gap


@pytest.mark.certificate
def test_fitted_gap_and_lower_bound(seed):
    X, y = moons(seed)
    model = SparseGaussianProcessClassifier(n_inducing=15, random_state=0).fit(X, y)
    assert 0 <= model.dual_gap_ <= 1e-8
    plain = SparseGaussianProcessClassifier(n_inducing=15, optimizer=None, random_state=0)
    assert model.lower_bound_[0] > plain.fit(X, y).lower_bound_[0]


@pytest.mark.certificate
def test_more_inducing_inputs_raise_the_bound(seed):
    X, y = moons(seed)
    values = [
        SparseGaussianProcessClassifier(KERNEL, inducing=X[:m], optimizer=None)
        .fit(X, y)
        .lower_bound_[0]
        for m in (5, 20, 60, 120)
    ]
    assert (np.diff(values) > 0).all()


# recovery: predictions


@pytest.mark.recovery
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris])
def test_log_loss_is_no_higher_than_with_the_exact_classifier(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    A, B, a, b = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    kernel = ConstantKernel() * RBF(np.sqrt(X.shape[1]))
    exact = GaussianProcessClassifier(kernel, random_state=0).fit(A, a)
    model = SparseGaussianProcessClassifier(kernel, n_inducing=40, random_state=0).fit(A, a)
    ours = log_loss(b, model.predict_proba(B))
    assert ours < log_loss(b, exact.predict_proba(B)) + 0.01


@pytest.mark.recovery
def test_probabilities_are_calibrated(seed):
    X, f = make_friedman1(6000, n_features=5, noise=2.0, random_state=seed)
    y = f > 14.4
    model = SparseGaussianProcessClassifier(n_inducing=30, max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:2000], y[:2000])
    p = model.predict_proba(X[2000:])[:, 1]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        bin_ = (p >= low) & (p < low + 0.2)
        # allow three standard deviations of a frequency, and the error with 2000 samples
        allowed = 0.04 + 1.5 / np.sqrt(bin_.sum())
        assert abs(p[bin_].mean() - y[2000:][bin_].mean()) < allowed


# invariance


@pytest.mark.invariance
def test_weights_are_copies(seed):
    X, y = moons(seed)
    w = np.random.default_rng(seed).integers(0, 3, len(y))
    weighted = fixed().fit(X, y, sample_weight=w)
    copies = fixed().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    # both have a gap of 1e-8 per sample
    assert_allclose(weighted.predict_proba(X), copies.predict_proba(X), rtol=1e-4)
    assert_allclose(weighted.lower_bound_, copies.lower_bound_, rtol=1e-7)


@pytest.mark.invariance
def test_names_of_classes_and_order_of_rows(seed):
    X, y = moons(seed)
    model = fixed().fit(X, y)
    named = fixed().fit(X[::-1], np.array(["zebra", "ape"])[y[::-1]])
    assert list(named.classes_) == ["ape", "zebra"]
    # both have a gap of 1e-8 per sample
    assert_allclose(named.predict_proba(X), model.predict_proba(X)[:, ::-1], rtol=1e-3)
    assert (named.predict(X) == np.array(["zebra", "ape"])[model.predict(X)]).all()


@pytest.mark.invariance
def test_threads_over_classes(seed):
    X, y = load_iris(return_X_y=True)
    settings = {"n_inducing": 8, "tol": 1.0, "random_state": seed}
    one = SparseGaussianProcessClassifier(**settings).fit(X, y)
    two = SparseGaussianProcessClassifier(**settings, n_jobs=2).fit(X, y)
    assert_allclose(two.predict_proba(X), one.predict_proba(X), rtol=1e-10)
    assert one.predict_proba(X).shape == (150, 3)
    assert_allclose(one.predict_proba(X).sum(axis=1), 1)
    assert one.latent_mean_and_variance(X)[1].shape == (150, 3)
    assert len(one.kernels_) == 3


@pytest.mark.invariance
def test_far_samples_have_equal_probabilities_in_every_batch(seed):
    # the mean is zero there, so rounding errors in a sum over nodes chose the class
    variance = np.random.default_rng(seed).uniform(1e-3, 1e3, size=200)
    assert (mean_probability(np.zeros(200), variance) == 0.5).all()
    X, y = moons(seed)
    model = fixed().fit(X, y)
    batch = np.vstack([X[:5], np.full((3, 2), 1e8)])
    together = model.predict_proba(batch)
    assert (together[5:] == 0.5).all()
    assert_allclose(together, [model.predict_proba([x])[0] for x in batch], rtol=1e-12)
    assert (model.predict(batch[5:]) == model.classes_[0]).all()


# edge


@pytest.mark.edge
def test_raises_on_invalid_input(seed):
    X, y = moons(seed)
    with pytest.raises(ValueError, match="at least two classes, got 1 class with positive"):
        fixed().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="inducing has 3 columns but X has 2"):
        SparseGaussianProcessClassifier(inducing=np.ones((4, 3))).fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        fixed().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="kernel consists only of noise"):
        SparseGaussianProcessClassifier(WhiteKernel()).fit(X, y)


@pytest.mark.edge
def test_warnings(seed):
    X, y = moons(seed)
    with pytest.warns(
        ConvergenceWarning, match="the likelihood still rises after 1 iterations"
    ):
        SparseGaussianProcessClassifier(n_inducing=10, max_iter=1, random_state=0).fit(X, y)
    narrow = ConstantKernel(1.0, (0.5, 1.1)) * RBF(0.8, "fixed")
    with pytest.warns(ConvergenceWarning, match=r"upper bound 1.1 of .*constant_value"):
        SparseGaussianProcessClassifier(narrow, n_inducing=10, random_state=0).fit(X, y)


@pytest.mark.edge
def test_handles_well_separated_classes(seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 20])
    y = np.repeat([0, 1], 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the variance ends at its bound
        model = SparseGaussianProcessClassifier(n_inducing=10, random_state=0).fit(X, y)
    assert model.score(X, y) == 1
    assert np.isfinite(model.predict_proba(1e3 * X)).all()


@pytest.mark.edge
def test_search_in_a_pipeline(seed):
    X, y = moons(seed)
    steps = make_pipeline(StandardScaler(), fixed())
    name = "sparsegaussianprocessclassifier__kernel"
    grid = {name: [ConstantKernel() * RBF(scale) for scale in (0.01, 1.0)]}
    search = GridSearchCV(steps, grid, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_[name].k2.length_scale == 1.0
