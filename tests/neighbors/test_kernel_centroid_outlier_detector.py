"""Evidence that KernelCentroidOutlierDetector solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata.kernels import Intersection
from skmoderndata.neighbors import KernelCentroidOutlierDetector


@pytest.mark.oracle
def test_linear_kernel_is_the_distance_from_the_mean(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3))
    new = rng.normal(size=(20, 3))
    w = rng.uniform(0.1, 2, size=50)
    for weights in (None, w):
        model = KernelCentroidOutlierDetector("linear").fit(X, sample_weight=weights)
        centre = np.average(X, axis=0, weights=weights)
        assert_allclose(
            -model.score_samples(new), np.linalg.norm(new - centre, axis=1), atol=1e-8
        )
        assert_allclose(model.dual_coef_ @ X, centre, atol=1e-12)
        assert_allclose(
            model.max_distance_, np.linalg.norm(X - centre, axis=1).max(), rtol=1e-10
        )


@pytest.mark.paper
@pytest.mark.parametrize(("n", "slack"), [(100, 1.007), (1000, 0.318), (10000, 0.101)])
def test_threshold_of_the_book(n, slack):
    """Second term for R = 1 and a failure probability of 0.01."""
    X = np.random.default_rng(0).normal(size=(min(n, 1000), 2))
    weights = np.full(len(X), n / len(X))
    model = KernelCentroidOutlierDetector(contamination="auto").fit(X, sample_weight=weights)
    assert_allclose(model.threshold_ - model.max_distance_, slack, atol=5e-4)
    assert_allclose(model.false_alarm_bound_, 1 / (n + 1))
    assert_allclose(model.offset_, -model.threshold_)


@pytest.mark.certificate
def test_false_alarms_stay_below_the_bound(seed):
    rng = np.random.default_rng(seed)
    alarms = 0
    mean_error = []
    slack = []
    for _ in range(30):
        X = rng.uniform(-1, 1, size=(40, 3))
        model = KernelCentroidOutlierDetector(
            "linear", contamination="auto", radius=np.sqrt(3)
        ).fit(X)
        alarms += np.sum(model.predict(rng.uniform(-1, 1, size=(1000, 3))) == -1)
        mean_error.append(np.linalg.norm(model.dual_coef_ @ X))  # the expected value is 0
        slack.append((model.threshold_ - model.max_distance_) / 2)
    assert alarms / 30000 <= 1 / 41
    assert (np.array(mean_error) <= np.array(slack)).all()


@pytest.mark.recovery
def test_planted_outliers_are_found(seed):
    rng = np.random.default_rng(seed)
    X = np.r_[rng.normal(size=(190, 5)), rng.uniform(5, 8, size=(10, 5))]
    model = KernelCentroidOutlierDetector(gamma=0.05, contamination=0.05).fit(X)
    assert_array_equal(np.flatnonzero(model.predict(X) == -1), np.arange(190, 200))
    assert roc_auc_score(np.arange(200) < 190, model.decision_function(X)) == 1


@pytest.mark.certificate
def test_threshold_is_a_quantile_of_leave_one_out_distances(seed):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    model = KernelCentroidOutlierDetector(gamma=0.5, contamination=0.25).fit(X)
    distances = np.empty(40)
    for i in range(40):
        others = KernelCentroidOutlierDetector(gamma=0.5).fit(np.delete(X, i, axis=0))
        distances[i] = -others.score_samples(X[[i]])[0]
    assert_allclose(model.threshold_, np.sort(distances)[29:31].mean(), rtol=1e-10)


@pytest.mark.recovery
@pytest.mark.parametrize("gamma", [None, "scale"])
@pytest.mark.parametrize("heavy", [False, True])
def test_contamination_is_the_rate_among_new_samples(heavy, gamma, seed):
    """A narrow kernel puts a sample much nearer to a mean that it is part of."""
    rng = np.random.default_rng(seed)
    rates = []
    for _ in range(20):
        X = rng.standard_t(2, size=(300, 5)) if heavy else rng.normal(size=(300, 20))
        model = KernelCentroidOutlierDetector(gamma=gamma).fit(X[:100])
        rates.append(np.mean(model.predict(X[100:]) == -1))
    assert 0.05 <= np.mean(rates) <= 0.14


@pytest.mark.invariance
def test_kernel_in_five_forms_and_blocks(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    new = rng.normal(size=(10, 3))

    # pass the kernel by name, as an object or a callable, with sparse rows, or in blocks
    named = KernelCentroidOutlierDetector(gamma=0.125).fit(X)
    want = named.decision_function(new)
    callable_ = KernelCentroidOutlierDetector(rbf_kernel, kernel_params={"gamma": 0.125})
    found = [
        KernelCentroidOutlierDetector(RBF(2.0)).fit(X).decision_function(new),
        callable_.fit(X).decision_function(new),
        KernelCentroidOutlierDetector(gamma=0.125)
        .fit(sparse.csr_array(X))
        .decision_function(sparse.csr_array(new)),
    ]
    with config_context(working_memory=0.005):
        found.append(KernelCentroidOutlierDetector(gamma=0.125).fit(X).decision_function(new))

    for values in found:
        assert_allclose(values, want, atol=1e-10)

    # compare with a precomputed kernel
    given = KernelCentroidOutlierDetector("precomputed").fit(rbf_kernel(X, gamma=0.125))
    assert_allclose(given.threshold_, named.threshold_, rtol=1e-10)
    assert_array_equal(given.fit_predict(rbf_kernel(X, gamma=0.125)), named.predict(X))


@pytest.mark.invariance
@pytest.mark.parametrize("contamination", ["auto", 0.2])
def test_weights_are_copies(seed, contamination):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    w = rng.integers(0, 3, size=60)
    model = KernelCentroidOutlierDetector(contamination=contamination)
    weighted = model.fit(X, sample_weight=w).decision_function(X)
    repeated = model.fit(X[np.repeat(np.arange(60), w)]).decision_function(X)
    assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-12)


@pytest.mark.edge
def test_one_sample_equal_samples_and_lists():
    model = KernelCentroidOutlierDetector("linear").fit([[1.0, 2.0]])
    assert_array_equal(model.predict([[1.0, 2.0], [3.0, 4.0]]), [1, -1])
    model = KernelCentroidOutlierDetector().fit(np.ones((5, 2)))
    assert_array_equal(model.predict([[1.0, 1.0], [3.0, 4.0]]), [1, -1])
    X = [{1, 2}, {1, 2, 3}, {1, 3}, {2, 3}]
    model = KernelCentroidOutlierDetector(Intersection(), contamination=0.5).fit(X)
    scores = model.score_samples([{1, 2, 3}, {8, 9}])
    assert scores[0] > scores[1]


@pytest.mark.edge
def test_messages_and_small_samples():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = KernelCentroidOutlierDetector(contamination="auto").fit(X)
    assert (model.predict(1e3 + X) == 1).all()  # for few samples, the bound is trivial
    given = KernelCentroidOutlierDetector("precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="kernel values of new samples with themselves"):
        given.predict((X @ X.T)[:5])
    with pytest.raises(ValueError, match="needs the square matrix"):
        KernelCentroidOutlierDetector("precomputed").fit(X)
