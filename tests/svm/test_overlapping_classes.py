"""Evidence that core vector machines reach the same optimum where most samples are support."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from skmoderndata._kernelized.gram import resolve_kernel
from skmoderndata._kernelized.row_store import RowStore
from skmoderndata._solvers.margins.box_qp import box_state
from skmoderndata._solvers.margins.coordinate_qp import coordinate_steps, take_weights
from skmoderndata.svm import CoreVectorMachine, CoreVectorOutlierDetector, _base

# Number of samples, so large that the fit uses a search; rows are in single precision.
N = 2100


def overlapping(n=N, n_classes=2, seed=0):
    return make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1,
        flip_y=0.1, random_state=seed,
    )  # fmt: skip


def both(settings, X, y, weight=None):
    """The machine by descent over all samples, and on a core set, which `max_core` keeps it to."""
    ours = CoreVectorMachine(random_state=0, **settings).fit(X, y, weight)
    theirs = CoreVectorMachine(random_state=0, max_core=len(y), **settings).fit(X, y, weight)
    assert (ours.solver_, theirs.solver_) == ("coordinate_descent", "core_set")
    return ours, theirs


@pytest.mark.few(4)
@pytest.mark.oracle
@pytest.mark.parametrize("n", [N, 3000])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"class_weight": {0: 1, 1: 5}, "intercept_scaling": 3.0},
        {"fit_intercept": False, "kernel": "poly", "degree": 2, "C": 0.01},
    ],
    ids=str,
)
def test_the_optimum_of_the_core_set(n, settings, seed):
    X, y = overlapping(n, seed=seed)
    ours, theirs = both({"tol": 1e-5, **settings}, X, y)
    assert ours.dual_gap_ <= 1e-5
    assert_allclose(ours.objective_, theirs.objective_, rtol=1e-5)  # the tolerance is `tol`
    values = ours.decision_function(X), theirs.decision_function(X)
    # the tolerance is the root of `tol`
    assert_allclose(*values, atol=1e-2 * np.ptp(values[1]))


@pytest.mark.oracle
def test_linear_support_vector_machine(seed):
    X, y = overlapping(seed=seed)
    ours = CoreVectorMachine(C=0.1, kernel="linear", tol=1e-6).fit(X, y)
    theirs = LinearSVC(C=0.1, tol=1e-9, dual=False, random_state=0).fit(X, y)
    assert ours.solver_ == "coordinate_descent"
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)  # the tolerance is the root of `tol`
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def program(X, y, cache_size=500):
    """Kernel rows and the state at weights of zero, with a ridge of a half."""
    store = RowStore(resolve_kernel("rbf", X, gamma=0.3), X, cache_size=cache_size)
    signs = 2.0 * y - 1.0
    low = np.where(signs < 0, -np.inf, 0.0)
    high = np.where(signs > 0, np.inf, 0.0)
    ridge = np.full(len(y), 0.5)
    zero = np.zeros(len(y))
    return store, box_state(
        store, zero, low=low, high=high, ridge=ridge, linear=-signs, tube=0.0
    )


@pytest.mark.oracle
# the caches hold 2100 and 128 rows, for 300 weights
@pytest.mark.parametrize("cache_size", [500, 0.5])
def test_gradient_of_the_first_weights(cache_size, seed):
    X, y = overlapping(seed=seed)
    store, state = program(X, y, cache_size)
    w = np.zeros(N)
    w[::7] = np.random.default_rng(seed).normal(size=300)
    take_weights(store, state, w)
    expected = rbf_kernel(X, gamma=0.3) @ w + 0.5 * w - (2.0 * y - 1.0)
    assert_array_equal(state.w, w)
    assert_allclose(state.g, expected, atol=1e-5)  # rows are in single precision


@pytest.mark.oracle
# the gradient is updated for four weights together
@pytest.mark.parametrize("count", [1, 3, 4, 5, 30])
def test_steps_match_the_plain_loop(count, seed):
    X, y = overlapping(30, seed=seed)
    store, state = program(X, y)
    store.bring(np.arange(30))
    order = np.random.default_rng(seed).permutation(30)[:count]
    for _ in range(3):
        coordinate_steps(store.values, store.slot, store.used, state, order, 1.0, 0.0, 0)

    K = rbf_kernel(X, gamma=0.3) + 0.5 * np.eye(30)
    signs = 2.0 * y - 1.0
    w = np.zeros(30)
    for i in np.tile(order, 3):
        best = w[i] - (K[i] @ w - signs[i]) / K[i, i]
        w[i] = max(best, 0.0) if signs[i] > 0 else min(best, 0.0)
    assert np.count_nonzero(w)
    assert_allclose(state.w, w, atol=1e-12)
    assert_allclose(state.g, K @ w - signs, atol=1e-12)


@pytest.mark.certificate
@pytest.mark.parametrize("tol", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_gap_in_double_precision(tol, scale, seed):
    """For kernels of any scale; the rows of the solver are in single precision."""
    X, y = overlapping(seed=seed)
    K = scale * rbf_kernel(X, gamma=0.3)
    C = 1.0 / scale
    model = CoreVectorMachine(C, kernel="precomputed", tol=tol, fit_intercept=False).fit(K, y)
    assert model.solver_ == "coordinate_descent"
    beta = np.zeros(N)
    beta[model.support_] = model.dual_coef_[0]
    f = K @ beta
    slack = np.maximum(0.0, 1.0 - np.where(y > 0, 1.0, -1.0) * f)
    primal = 0.5 * beta @ f + C * slack @ slack
    a = np.abs(beta) / np.abs(beta).sum()
    signed = np.sign(beta) * a
    dual = 0.5 / (signed @ K @ signed + a @ a / (2 * C))
    assert model.dual_gap_ <= tol
    assert_allclose(model.dual_gap_, (primal - dual) / primal, rtol=1e-3, atol=1e-6)
    assert_allclose(model.objective_, dual, rtol=1e-5)


@pytest.mark.certificate
def test_few_solutions_end_with_a_gap_and_a_warning():
    X, y = overlapping()
    with pytest.warns(
        ConvergenceWarning, match="the relative duality gap is.*increase max_iter"
    ):
        early = CoreVectorMachine(max_iter=9, random_state=0).fit(X, y)
    late = CoreVectorMachine(random_state=0).fit(X, y)
    assert early.dual_gap_ > late.tol >= late.dual_gap_
    assert early.objective_ <= late.objective_ * (1 + late.dual_gap_)


@pytest.mark.invariance
def test_weights_are_repetitions_and_zero_weights_are_ignored(seed):
    X, y = overlapping(3500, seed=seed)
    counts = np.random.default_rng(seed).integers(0, 3, len(y))
    settings = {"tol": 1e-5, "gamma": 0.3, "random_state": 0}
    weighted = CoreVectorMachine(**settings).fit(X, y, counts)
    repeated = CoreVectorMachine(**settings).fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert weighted.solver_ == repeated.solver_ == "coordinate_descent"
    assert counts[weighted.support_].all()
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-5)
    values = weighted.decision_function(X), repeated.decision_function(X)
    # the tolerance is the root of `tol`
    assert_allclose(*values, atol=1e-2 * np.ptp(values[1]))


@pytest.mark.invariance
def test_small_memory_sparse_rows_and_given_kernel_matrix(seed):
    X, y = overlapping(seed=seed)
    settings = {"gamma": 0.3, "tol": 1e-3, "random_state": 0}
    model = CoreVectorMachine(**settings).fit(X, y)
    K = rbf_kernel(X, gamma=0.3)
    others = [
        CoreVectorMachine(cache_size=0.5, **settings).fit(X, y),  # the cache holds 128 rows
        CoreVectorMachine(**settings).fit(sparse.csr_array(X), y),
        CoreVectorMachine(kernel="precomputed", **settings).fit(K, y),
    ]
    assert len(model.support_) > 5 * 128
    for other in others:
        assert other.solver_ == "coordinate_descent"
        assert other.dual_gap_ <= 1e-3
        # the tolerance is `tol`
        assert_allclose(other.objective_, model.objective_, rtol=1e-3)
    assert others[0].n_kernel_evaluations_ < 20 * N**2


@pytest.mark.invariance
def test_several_classes_share_the_rows(seed):
    X, y = overlapping(2400, n_classes=4, seed=seed)
    ours, theirs = both({"tol": 1e-3}, X, y)
    # the tolerance is the sum of both tolerances
    assert_allclose(ours.objective_, theirs.objective_, rtol=2e-3)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99
    assert ours.n_kernel_evaluations_ < theirs.n_kernel_evaluations_
    assert_array_equal(np.unique(ours.support_), ours.support_)


@pytest.mark.invariance
def test_warm_start_begins_with_the_last_weights(seed):
    X, y = overlapping(seed=seed)
    settings = {"tol": 1e-4, "random_state": 0}
    cold = CoreVectorMachine(**settings).fit(X, y)
    warm = CoreVectorMachine(C=0.9, warm_start=True, **settings).fit(X, y)
    warm.set_params(C=1.0).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert_allclose(warm.objective_, cold.objective_, rtol=1e-4)  # the tolerance is `tol`


@pytest.mark.edge
def test_what_keeps_the_core_set():
    """Classes that do not overlap, a limit of its size, and more digits than single precision."""
    X, y = overlapping()
    X_apart = np.random.default_rng(0).uniform(0, 4, (3000, 2))
    y_apart = X_apart.astype(int).sum(axis=1) % 2
    apart = CoreVectorMachine(C=50, gamma=4, random_state=0).fit(X_apart, y_apart)
    assert apart.solver_ == "core_set"
    for settings in ({"max_core": N}, {"tol": 1e-7}, {"radius_tol": 1e-6}, {"batch_size": 64}):
        model = CoreVectorMachine(random_state=0, **settings).fit(X, y)
        assert model.solver_ == "core_set"


@pytest.mark.edge
def test_rows_that_do_not_fit_are_reported_before_the_work(monkeypatch):
    """128 of 2100 rows fit: too few for a tenth."""
    X, y = overlapping()
    monkeypatch.setattr(_base, "FEW_ROWS", 10)
    with pytest.warns(UserWarning, match="rows of 128 of 2100 samples.*Set max_core"):
        CoreVectorMachine(cache_size=0.5, random_state=0).fit(X, y)


@pytest.mark.edge
def test_invalid_kernel_is_rejected_in_time():
    X, y = overlapping()
    D = np.abs(X[:, None, 0] - X[None, :, 0])
    start = time.perf_counter()
    with pytest.raises(ValueError, match="not positive semi-definite"):
        CoreVectorMachine(100.0, kernel="precomputed", random_state=0).fit(-D, y)
    assert time.perf_counter() - start < 60


@pytest.mark.oracle
def test_one_class(seed):
    X = np.random.default_rng(seed).normal(size=(2500, 3))
    settings = {"slack": 0.4, "tol": 1e-4, "random_state": 0}
    ours = CoreVectorOutlierDetector(**settings).fit(X)
    theirs = CoreVectorOutlierDetector(max_core=2500, **settings).fit(X)
    assert (ours.solver_, theirs.solver_) == ("coordinate_descent", "core_set")
    assert_allclose(ours.objective_, theirs.objective_, rtol=1e-4)  # the tolerance is `tol`
    # the tolerance is the root of `tol`
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-2)
    assert ours.dual_gap_ <= 1e-4
