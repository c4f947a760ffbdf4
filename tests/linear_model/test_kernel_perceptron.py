"""Evidence that KernelPerceptron takes the steps it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.kernels import PSpectrum
from skmoderndata.linear_model import KernelPerceptron
from tests.oracles.kernel_perceptron import perceptron


def classes(n=150, n_classes=2, seed=0):
    return make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=seed
    )


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [150, 1300])
def test_steps_sample_by_sample(n, seed):
    """Blocks of samples, and several passes, take the steps of the plain loop."""
    X, y = classes(n, seed=seed)
    K = rbf_kernel(X, gamma=0.2) + 1
    model = KernelPerceptron(gamma=0.2, shuffle=False, max_iter=3).fit(X, y)
    a = perceptron(K, 2 * y - 1, 3)[-1]
    assert_array_equal(model.support_, np.flatnonzero(a))
    assert_array_equal(model.dual_coef_[0], a[a != 0])
    assert_allclose(model.decision_function(X), K @ a, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_average_is_the_mean_of_all_functions(kernel, seed):
    X, y = classes(700, seed=seed)
    K = (linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.2)) + 1
    model = KernelPerceptron(kernel, gamma=0.2, shuffle=False, max_iter=2, average=True).fit(X, y)
    mean = np.mean(perceptron(K, 2 * y - 1, 2), axis=0)
    assert_allclose(model.decision_function(X), K @ mean, atol=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("policy", ["oldest", "smallest", "project"])
def test_budget(policy, seed):
    X, y = classes(700, seed=seed)
    K = rbf_kernel(X, gamma=0.2)
    settings = {"gamma": 0.2, "fit_intercept": False, "budget": 25, "budget_policy": policy}
    model = KernelPerceptron(**settings, shuffle=False, max_iter=1).fit(X, y)
    a = perceptron(K, 2 * y - 1, 1, budget=25, policy=policy)[-1]
    assert_allclose(model.decision_function(X), K @ a, atol=1e-6)
    assert len(model.support_) <= 25
    long = KernelPerceptron(**settings, max_iter=3, random_state=0).fit(X, y)
    assert len(long.support_) <= 25


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_linear_kernel_is_the_perceptron(fit_intercept, n_classes, seed):
    X, y = classes(600, n_classes, seed=seed)
    settings = {"fit_intercept": fit_intercept, "shuffle": False, "max_iter": 4}
    theirs = Perceptron(tol=None, **settings).fit(X, y)
    ours = KernelPerceptron("linear", **settings).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    dual = KernelPerceptron("linear", budget=10**6, budget_policy="oldest", **settings).fit(X, y)
    assert_allclose(dual.decision_function(X), ours.decision_function(X), atol=1e-8)


@pytest.mark.certificate
def test_mistake_bound_on_separable_classes(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 200)
    X = np.c_[2 * y - 1 + rng.uniform(-0.7, 0.7, 200), rng.uniform(-2, 2, 200)]
    for kernel in ("linear", "poly"):
        model = KernelPerceptron(kernel, degree=1, gamma=1.0, coef0=0, random_state=seed)
        model.fit(X, y)
        assert model.mistakes_[-1] == 0
        assert_array_equal(model.predict(X), y)
        margin = np.abs(X[:, 0]).min()  # of the function x_1, of norm one
        assert model.n_updates_ <= ((X**2).sum(axis=1).max() + 1) / margin**2
        assert model.margin_bound_[0] >= margin
        assert model.n_updates_ == sum(model.mistakes_)
        assert model.n_iter_ == len(model.mistakes_)


@pytest.mark.recovery
def test_exclusive_or(seed):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = KernelPerceptron("poly", degree=2, gamma=1.0, random_state=seed).fit(X, [0, 1, 1, 0])
    assert_array_equal(model.predict(X), [0, 1, 1, 0])
    assert np.isfinite(model.margin_bound_).all()


@pytest.mark.paper
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 10])
def test_average_is_better_than_the_last_function(max_iter):
    """The order of Freund and Schapire 1999, table 2, on the digits at hand."""
    X, y = load_digits(return_X_y=True)
    X, scores = X / 16, np.zeros(2)
    for order in range(5):
        rows = np.random.default_rng(order).permutation(len(X))
        train, test = rows[:600], rows[600:]
        for average in (0, 1):
            model = KernelPerceptron("poly", degree=4, max_iter=max_iter, average=bool(average))
            model.set_params(gamma=1.0, shuffle=False).fit(X[train], y[train])
            scores[average] += model.score(X[test], y[test])
    assert scores[1] > scores[0]


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_stream_is_one_pass_over_all(kernel, seed):
    X, y = classes(700, 3, seed=seed)
    settings = {"kernel": kernel, "gamma": 0.2, "shuffle": False}
    whole = KernelPerceptron(**settings, max_iter=1).fit(X, y)
    parts = KernelPerceptron(**settings)
    for rows in np.array_split(np.arange(700), 5):
        parts.partial_fit(X[rows], y[rows], classes=[2, 1, 0])
    assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-8)
    assert sum(parts.mistakes_) == whole.n_updates_
    assert_allclose(parts.margin_bound_, whole.margin_bound_)
    twice = KernelPerceptron(**settings, average=True).partial_fit(X, y, range(3))
    both = KernelPerceptron(**settings, average=True, max_iter=2).fit(X, y)
    assert_allclose(twice.partial_fit(X, y).decision_function(X), both.decision_function(X))


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_words_sparse_and_other_kernels(seed):
    X, y = classes(n_classes=3, seed=seed)
    X[X < 0] = 0
    settings = {"random_state": 0, "max_iter": 5}
    model = KernelPerceptron(gamma=0.2, **settings).fit(X, y)
    words = np.array(["ash", "beech", "cedar"])
    named = KernelPerceptron(gamma=0.2, **settings).fit(X, words[y])
    assert_array_equal(named.predict(X), words[model.predict(X)])
    thin = KernelPerceptron(gamma=0.2, **settings).fit(sparse.csr_array(X), y)
    assert_allclose(thin.decision_function(X), model.decision_function(X), atol=1e-9)
    K = rbf_kernel(X, gamma=0.2)
    gram = KernelPerceptron("precomputed", **settings).fit(K, y)
    assert_allclose(gram.decision_function(K), model.decision_function(X), atol=1e-9)
    few = {"budget": 20, **settings}
    kept = KernelPerceptron("precomputed", **few).fit(K, y).decision_function(K)
    other = KernelPerceptron(gamma=0.2, **few).fit(X, y).decision_function(X)
    assert_allclose(kept, other, atol=1e-6)
    line = KernelPerceptron("linear", **settings).fit(X, y)
    thin = KernelPerceptron("linear", **settings).fit(sparse.csr_array(X), y)
    assert_allclose(thin.decision_function(X), line.decision_function(X), atol=1e-9)
    text = KernelPerceptron(PSpectrum(2), random_state=0)
    trees = ["banana", "bandana", "cabana", "grass", "glass", "class"]
    assert_array_equal(text.fit(trees, [0, 0, 0, 1, 1, 1]).predict(["ananas", "brass"]), [0, 1])


@pytest.mark.edge
def test_refused_input():
    X, y = classes()
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        KernelPerceptron().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="set budget=None"):
        KernelPerceptron(average=True, budget=5).fit(X, y)
    with pytest.raises(ValueError, match="The 'budget_policy' parameter"):
        KernelPerceptron(budget_policy="newest").fit(X, y)


@pytest.mark.edge
def test_refused_streams():
    X, y = classes()
    with pytest.raises(ValueError, match="give all classes in the first call"):
        KernelPerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"y holds .*1.*, which is not among the classes"):
        KernelPerceptron().partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="got kernel='precomputed'"):
        KernelPerceptron("precomputed").partial_fit(X @ X.T, y, classes=range(2))
    model = KernelPerceptron().partial_fit(X, y, classes=range(2))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)


@pytest.mark.edge
def test_classes_that_no_line_separates():
    X, y = classes()
    with pytest.warns(ConvergenceWarning, match=r"the last of 5 passes made \d+ mistakes"):
        KernelPerceptron("linear", max_iter=5, random_state=0).fit(X, y)
    both = KernelPerceptron(average=True, max_iter=3).fit([[1.0], [1.0]], [0, 1])
    assert np.isfinite(both.decision_function([[1.0]])).all()


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X, y = classes()
    pipe = make_pipeline(StandardScaler(), KernelPerceptron(average=True, random_state=0))
    grid = {"kernelperceptron__gamma": [1e-6, 0.1]}
    assert GridSearchCV(pipe, grid, cv=3).fit(X, y).best_params_["kernelperceptron__gamma"] == 0.1
