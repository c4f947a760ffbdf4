"""Evidence that KernelDiscriminantAnalysis solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.covariance import EmpiricalCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata.discriminant_analysis import KernelDiscriminantAnalysis
from skmoderndata.kernels import Intersection
from tests.oracles.kernel_discriminant import discriminants, scatters


def classes(seed, sizes=(15, 30, 25, 20), p=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(sizes), p)) @ rng.normal(size=(p, p)) + 3
    y = np.repeat(list("dcba")[: len(sizes)], sizes)
    return X + 2 * rng.normal(size=(len(sizes), p))[np.unique(y, return_inverse=True)[1]], y


class Given(EmpiricalCovariance):
    """Hands a fixed covariance to LinearDiscriminantAnalysis."""

    def __init__(self, covariance=None):
        self.covariance = covariance

    def fit(self, X, y=None):
        self.covariance_ = self.covariance
        return self


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_linear_kernel_is_the_primal_eigenproblem(seed, solver):
    X, y = classes(seed)
    w = np.random.default_rng(seed).uniform(0.2, 3, size=len(X))
    for weights in (None, w):
        model = KernelDiscriminantAnalysis("linear", alpha=0.01, solver=solver)
        Z = model.fit(X, y, sample_weight=weights).transform(X)
        values, W, centre = discriminants(X, y, 0.01, weights)
        assert_allclose(model.eigenvalues_, values, rtol=1e-8)
        primal = (X - centre) @ W
        primal *= np.sign((primal * Z).sum(axis=0))
        assert_allclose(Z, primal, atol=1e-8)
        assert_allclose(model.explained_variance_ratio_, values / values.sum(), rtol=1e-8)


@pytest.mark.oracle
def test_linear_kernel_is_linear_discriminant_analysis_with_a_ridge(seed):
    X, y = classes(seed)
    model = KernelDiscriminantAnalysis("linear", alpha=0.02).fit(X, y)

    _, within, _ = scatters(X, y)
    ridged = within + 0.02 * np.trace(within) * np.eye(5)
    linear = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Given(ridged))
    linear.fit(X, y)

    new = classes(seed + 1)[0]
    assert_allclose(model.predict_log_proba(new), linear.predict_log_proba(new), atol=1e-8)
    assert_allclose(model.predict_proba(new), linear.predict_proba(new), atol=1e-8)
    assert_array_equal(model.predict(new), linear.predict(new))
    # for classes of equal prior, shrinkage s is a ridge of s / ((1 - s) p) traces
    s = 0.1
    even = np.full(4, 0.25)
    model = KernelDiscriminantAnalysis("linear", alpha=s / (1 - s) / 5, priors=even).fit(X, y)
    linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=s, priors=even).fit(X, y)
    assert_array_equal(model.predict(new), linear.predict(new))

    shrunk = linear.decision_function(new)
    assert_allclose(
        (model.decision_function(new) - np.log(0.25)) / (1 - s),
        (shrunk - shrunk.mean(axis=1, keepdims=True))
        + (model.decision_function(new) - np.log(0.25)).mean(axis=1, keepdims=True) / (1 - s),
        atol=1e-8,
    )


@pytest.mark.certificate
def test_directions_are_orthonormal_and_optimal(seed):
    X, y = classes(seed)
    model = KernelDiscriminantAnalysis(gamma=0.05, alpha=0.01).fit(X, y)

    K = rbf_kernel(X, gamma=0.05)
    # the directions are orthonormal in the ridged scatter within classes, and diagonalise the
    # scatter between classes
    A = model.dual_coef_
    scores = K @ A
    within = sum((y == c).mean() * np.cov(scores[y == c].T, bias=True) for c in np.unique(y))
    assert_allclose(within + model.ridge_ * A.T @ K @ A, np.eye(3), atol=1e-8)

    between = sum(
        (y == c).mean() * np.outer(m, m)
        for c, m in zip(model.classes_, model.class_scores_, strict=True)
    )
    assert_allclose(between, np.diag(model.eigenvalues_), atol=1e-8)
    # check stationarity in feature space for each coefficient: S_b W = (S_w + ridge) W diag
    G = np.stack([(y == c) / (y == c).sum() - 1 / len(y) for c in model.classes_], axis=1)

    shares = np.array([(y == c).mean() for c in model.classes_])
    left = G * shares @ (G.T @ scores)

    centred = np.zeros_like(scores)
    for c, share in zip(model.classes_, shares, strict=True):
        inside = y == c
        centred[inside] = share / inside.sum() * (scores[inside] - scores[inside].mean(axis=0))
    right = (centred + model.ridge_ * A) * model.eigenvalues_

    assert_allclose(left, right, atol=1e-9 * np.abs(left).max())


@pytest.mark.recovery
def test_parts_of_a_plane_that_lines_do_not_cut(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(600, 2))
    y = np.floor(np.linalg.norm(X, axis=1)).astype(int).clip(0, 2)
    model = KernelDiscriminantAnalysis(gamma=0.3).fit(X[::2], y[::2])
    linear = LinearDiscriminantAnalysis().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.93
    assert linear.score(X[1::2], y[1::2]) < 0.8


@pytest.mark.recovery
def test_probabilities_match_the_model(seed):
    rng = np.random.default_rng(seed)
    means = np.array([[0, 0], [2, 0], [0, 3.0]])
    y = rng.integers(3, size=3000)
    X = means[y] + rng.normal(size=(3000, 2))
    proba = KernelDiscriminantAnalysis("linear", solver="low_rank").fit(X, y).predict_proba(X)
    truth = np.stack([multivariate_normal(m).pdf(X) for m in means], axis=1)
    truth /= truth.sum(axis=1, keepdims=True)
    assert np.abs(proba - truth).mean() < 0.02


@pytest.mark.invariance
def test_kernel_in_five_forms(seed):
    X, y = classes(seed)
    new = classes(seed + 1)[0]
    want = KernelDiscriminantAnalysis(gamma=0.125).fit(X, y).transform(new)
    K = rbf_kernel(X, gamma=0.125)
    K_new = rbf_kernel(new, X, gamma=0.125)
    callable_ = KernelDiscriminantAnalysis(rbf_kernel, kernel_params={"gamma": 0.125})
    rows = sparse.csr_array(X)
    new_rows = sparse.csr_array(new)
    found = [
        KernelDiscriminantAnalysis(RBF(2.0)).fit(X, y).transform(new),
        callable_.fit(X, y).transform(new),
        KernelDiscriminantAnalysis(gamma=0.125).fit(rows, y).transform(new_rows),
        KernelDiscriminantAnalysis("precomputed").fit(K, y).transform(K_new),
        KernelDiscriminantAnalysis(gamma=0.125, solver="low_rank").fit(X, y).transform(new),
    ]
    for Z in found:
        assert_allclose(Z, want, atol=1e-6)  # errors are divided by a ridge of 0.001


@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_weights_scale_and_order(seed, solver):
    X, y = classes(seed)
    rng = np.random.default_rng(seed)
    w = rng.integers(0, 3, size=len(X))
    copies = rng.permutation(np.repeat(np.arange(len(X)), w))
    new = classes(seed + 1)[0]
    model = KernelDiscriminantAnalysis(gamma=0.05, alpha=0.01, solver=solver)
    weighted = model.fit(X, y, sample_weight=w).predict_log_proba(new)
    repeated = model.fit(X[copies], y[copies]).predict_log_proba(new)
    assert_allclose(repeated, weighted, rtol=1e-6, atol=1e-6)
    K = rbf_kernel(X, gamma=0.05)
    K_new = rbf_kernel(new, X, gamma=0.05)
    given = KernelDiscriminantAnalysis("precomputed", alpha=0.01, solver=solver)
    found = given.fit(1e5 * K, y, sample_weight=w).predict_log_proba(1e5 * K_new)
    assert_allclose(found, weighted, rtol=1e-6, atol=1e-6)


@pytest.mark.edge
def test_coinciding_means_single_samples_and_few_directions():
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    model = KernelDiscriminantAnalysis("linear").fit(X, [0, 0, 1, 1])
    assert_allclose(model.eigenvalues_, 0, atol=1e-12)
    assert_allclose(model.predict_proba(X), 0.5, atol=1e-6)
    model = KernelDiscriminantAnalysis("linear").fit(X, [0, 1, 2, 3])
    assert_array_equal(model.predict(X), [0, 1, 2, 3])
    X, y = classes(0)
    model = KernelDiscriminantAnalysis("linear", n_components=1).fit(X, y)
    assert model.transform(X).shape == (90, 1)
    full = KernelDiscriminantAnalysis("linear").fit(X, y)
    assert_allclose(model.transform(X), full.transform(X)[:, :1], rtol=1e-12)


@pytest.mark.edge
def test_lists_of_sets_float32_and_messages():
    X = [{1, 2}, {1, 2, 3}, {2, 3}, {7, 8}, {7, 8, 9}, {8, 9}]
    y = [0, 0, 0, 1, 1, 1]
    model = KernelDiscriminantAnalysis(Intersection(), alpha=0.1).fit(X, y)
    assert_array_equal(model.predict([{1, 3}, {7, 9}]), [0, 1])
    with pytest.raises(ValueError, match="target y is None"):
        KernelDiscriminantAnalysis(Intersection()).fit(X, None)
    X, y = classes(0)
    single = KernelDiscriminantAnalysis(gamma=0.05).fit(X.astype(np.float32), y)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match=r"n_components=4 exceeds 3"):
        KernelDiscriminantAnalysis(n_components=4).fit(X, y)
    with pytest.raises(ValueError, match="one positive probability for each of the 4"):
        KernelDiscriminantAnalysis(priors=[0.5, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        KernelDiscriminantAnalysis().fit(X, np.ones(90))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("solver", "shift", "alpha"), [("exact", 1e6, 1e-9), ("low_rank", 0, 1e-20)]
)
def test_raises_if_singular_in_double_precision(solver, shift, alpha):
    X, y = classes(0)
    kernel = "linear" if shift else "rbf"
    model = KernelDiscriminantAnalysis(kernel, alpha=alpha, solver=solver)
    with pytest.raises(ValueError, match="increase alpha, or centre the samples"):
        model.fit(np.repeat(X, 2, axis=0) + shift, np.repeat(y, 2))
    # a kernel of differences does not depend on the origin
    KernelDiscriminantAnalysis("rbf").fit(X + 1e9, y)
