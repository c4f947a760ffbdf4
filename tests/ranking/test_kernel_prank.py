"""Evidence that KernelPRank takes the steps it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.linear_model import Perceptron
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.kernels import PSpectrum
from skmoderndata.ranking import KernelPRank
from tests.oracles.kernel_prank import prank


def ranked(n=90, n_ranks=4, seed=0):
    X, y = make_friedman1(n, 5, noise=1.0, random_state=seed)
    cuts = np.quantile(y, np.arange(1, n_ranks) / n_ranks)
    return StandardScaler().fit_transform(X), np.digitize(y, cuts)


def separable(n=150, seed=0):
    """Ranks along a line, with a gap between neighbours."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    return np.c_[y + rng.uniform(-0.3, 0.3, n), rng.uniform(-1, 1, n)], y


@pytest.mark.oracle
@pytest.mark.parametrize("n", [90, 1300])
def test_steps_sample_by_sample(n, seed):
    """Blocks of samples, and several passes, take the steps of the plain loop."""
    X, y = ranked(n, seed=seed)
    K = rbf_kernel(X, gamma=0.2)
    model = KernelPRank(gamma=0.2, shuffle=False, max_iter=3).fit(X, y)
    a, b = prank(K, y, 3)[-1]
    assert_array_equal(model.support_, np.flatnonzero(a))
    assert_array_equal(model.dual_coef_, a[a != 0])
    assert_array_equal(model.thresholds_, b)
    assert_allclose(model.rank_score(X), K @ a, atol=1e-9)


@pytest.mark.oracle
def test_average_is_the_mean_of_all_functions(seed):
    X, y = ranked(600, seed=seed)
    K = rbf_kernel(X, gamma=0.2)
    model = KernelPRank(gamma=0.2, shuffle=False, max_iter=2, average=True).fit(X, y)
    functions = prank(K, y, 2)
    assert_allclose(
        model.rank_score(X), K @ np.mean([a for a, _ in functions], axis=0), atol=1e-9
    )
    assert_allclose(model.thresholds_, np.mean([b for _, b in functions], axis=0))


@pytest.mark.oracle
def test_budget_drops_the_oldest(seed):
    X, y = ranked(300, seed=seed)
    model = KernelPRank(gamma=0.2, shuffle=False, max_iter=1, budget=25).fit(X, y)
    a, b = prank(rbf_kernel(X, gamma=0.2), y, 1, budget=25)[-1]
    assert_array_equal(model.support_, np.flatnonzero(a))
    assert_array_equal(model.thresholds_, b)
    long = KernelPRank(gamma=0.2, budget=25, random_state=0).fit(*ranked(1500, seed=seed))
    assert len(long.support_) <= 25


@pytest.mark.oracle
def test_two_ranks_without_threshold_are_the_perceptron(seed):
    """A constant feature gives the perceptron the offset, which is the threshold here."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    y = (X @ [1.0, 2.0, -1.0] + 0.3 > 0).astype(int)
    ours = KernelPRank("linear", shuffle=False, max_iter=4).fit(X, y)
    theirs = Perceptron(shuffle=False, tol=None, max_iter=4, eta0=1.0).fit(X, y)
    # the start differs: here the value 0 belongs to the upper rank
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.1


@pytest.mark.certificate
def test_mistake_bound_on_separable_ranks(seed):
    X, y = separable(seed=seed)
    model = KernelPRank("linear", max_iter=1000, random_state=seed).fit(X, y)
    assert model.mistakes_[-1] == 0
    assert_array_equal(model.predict(X), y)
    # f = x_1 and the thresholds 0.5, 1.5, 2.5 have norm one together
    norm = np.sqrt(1 + 0.5**2 + 1.5**2 + 2.5**2)
    radius_sq = (X**2).sum(axis=1).max()
    assert model.n_updates_ <= 3 * (radius_sq + 1) / (0.2 / norm) ** 2
    assert model.n_updates_ == sum(model.mistakes_)
    assert model.n_iter_ == len(model.mistakes_) < 1000


@pytest.mark.certificate
def test_thresholds_stay_integers_in_order(seed):
    X, y = ranked(500, 6, seed=seed)
    model = KernelPRank("linear", shuffle=False, max_iter=2).fit(X, y)
    for _, b in prank(linear_kernel(X), y, 2):
        assert (np.diff(b) >= 0).all()
    assert_array_equal(model.thresholds_, np.round(model.thresholds_))


@pytest.mark.recovery
def test_rings():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(900, 2))
    ring = np.digitize(np.linalg.norm(X, axis=1), [0.7, 1.3, 1.9])
    model = KernelPRank(average=True, random_state=0).fit(X[:600], ring[:600])
    assert model.score(X[600:], ring[600:]) > 0.92


@pytest.mark.invariance
def test_stream_is_one_pass_over_all(seed):
    X, y = ranked(700, seed=seed)
    whole = KernelPRank(gamma=0.2, shuffle=False, max_iter=1).fit(X, y)
    parts = KernelPRank(gamma=0.2)
    for rows in np.array_split(np.arange(700), 5):
        parts.partial_fit(X[rows], y[rows], classes=range(4))
    assert_allclose(parts.rank_score(X), whole.rank_score(X), atol=1e-9)
    assert_array_equal(parts.thresholds_, whole.thresholds_)
    assert sum(parts.mistakes_) == whole.n_updates_
    twice = (
        KernelPRank(gamma=0.2, average=True).partial_fit(X, y, [0, 1, 2, 3]).partial_fit(X, y)
    )
    both = KernelPRank(gamma=0.2, average=True, shuffle=False, max_iter=2).fit(X, y)
    assert_allclose(twice.rank_score(X), both.rank_score(X), atol=1e-9)


@pytest.mark.invariance
def test_order_of_words_sparse_and_other_kernels(seed):
    X, y = ranked(seed=seed)
    X[X < 0] = 0
    words = np.array(["low", "mid", "high", "top"])
    model = KernelPRank(gamma=0.2, random_state=0).fit(X, y)
    named = KernelPRank(gamma=0.2, random_state=0, classes=words).fit(X, words[y])
    assert_array_equal(named.predict(X), words[model.predict(X)])
    thin = KernelPRank(gamma=0.2, random_state=0).fit(sparse.csr_array(X), y)
    assert_allclose(thin.rank_score(X), model.rank_score(X), atol=1e-9)
    K = rbf_kernel(X, gamma=0.2)
    gram = KernelPRank("precomputed", random_state=0).fit(K, y)
    assert_allclose(gram.rank_score(K), model.rank_score(X), atol=1e-9)
    single = KernelPRank("linear", random_state=0).fit(X.astype(np.float32), y)
    assert single.rank_score(X).dtype == np.float64
    text = KernelPRank(PSpectrum(1), random_state=0, max_iter=100)
    text.fit(["a", "aa", "aaaa", "aaaaa"], [1, 1, 2, 2])
    assert_array_equal(text.predict(["a", "aaaaaa"]), [1, 2])


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, y = ranked()
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        KernelPRank().fit(X, np.zeros(90))
    with pytest.raises(ValueError, match="set budget=None"):
        KernelPRank(average=True, budget=5).fit(X, y)
    with pytest.raises(ValueError, match="y holds 3, which is not in classes"):
        KernelPRank(classes=[0, 1, 2]).fit(X, y)


@pytest.mark.edge
def test_raises_on_invalid_streams():
    X, y = ranked()
    with pytest.raises(ValueError, match="pass all classes, lowest first, in the first call"):
        KernelPRank().partial_fit(X, y)
    with pytest.raises(ValueError, match="y holds 3, which is not in classes"):
        KernelPRank().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="got kernel='precomputed'"):
        KernelPRank("precomputed").partial_fit(X @ X.T, y, classes=range(4))
    model = KernelPRank().partial_fit(X, y, classes=range(4))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X, y = ranked(150)
    pipe = make_pipeline(StandardScaler(), KernelPRank(random_state=0))
    grid = {"kernelprank__average": [False, True]}
    search = GridSearchCV(pipe, grid, cv=3, scoring="neg_mean_absolute_error").fit(X, y)
    assert search.best_params_ == {"kernelprank__average": True}
