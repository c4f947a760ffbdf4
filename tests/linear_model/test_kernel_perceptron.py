"""Evidence that KernelPerceptron takes the steps it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import compute_sample_weight

from skmoderndata.kernels import PSpectrum
from skmoderndata.linear_model import KernelPerceptron
from tests.oracles.kernel_perceptron import perceptron


def classes(n=150, n_classes=2, seed=0):
    return make_classification(
        n,
        5,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        flip_y=0.1,
        random_state=seed,
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
    model = KernelPerceptron(kernel, gamma=0.2, shuffle=False, max_iter=2, average=True).fit(
        X, y
    )
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
    dual = KernelPerceptron("linear", budget=10**6, budget_policy="oldest", **settings).fit(
        X, y
    )
    assert_allclose(dual.decision_function(X), ours.decision_function(X), atol=1e-8)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("class_weight", [{0: 0.2, 1: 3.0}, {1: 0.01}, "balanced"])
def test_weighted_linear_kernel_is_the_weighted_perceptron(n_classes, class_weight, seed):
    X, y = classes(600, n_classes, seed=seed)
    if isinstance(class_weight, dict):
        class_weight = dict.fromkeys(range(n_classes), 1.0) | class_weight
    weights = np.random.default_rng(seed).uniform(0.5, 2, 600)
    settings = {"shuffle": False, "max_iter": 4}
    theirs = Perceptron(tol=None, **settings)
    if n_classes == 2:
        theirs.set_params(class_weight=class_weight).fit(X, y, sample_weight=weights)
    else:  # scikit-learn applies the weight of a class only in the function of this class
        by_sample = weights * compute_sample_weight(class_weight, y)
        theirs.fit(X, y, sample_weight=by_sample)
    settings["class_weight"] = class_weight
    ours = KernelPerceptron("linear", **settings).fit(X, y, sample_weight=weights)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    dual = KernelPerceptron("linear", budget=10**6, budget_policy="oldest", **settings)
    dual.fit(X, y, sample_weight=weights)
    assert_allclose(dual.decision_function(X), ours.decision_function(X), atol=1e-8)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": "linear"},
        {"average": True},
        {"kernel": "linear", "average": True},
        {"budget": 25, "budget_policy": "oldest"},
        {"budget": 25, "budget_policy": "smallest"},
        {"budget": 25, "budget_policy": "project"},
    ],
    ids=str,
)
def test_weights_multiply_the_steps_of_the_plain_loop(settings, seed):
    X, y = classes(700, seed=seed)
    weights = np.random.default_rng(seed).choice([0.25, 0.5, 1.0, 3.0], 700)
    step = np.where(y == 1, 4.0, -0.5) * weights
    K = (linear_kernel(X) if "kernel" in settings else rbf_kernel(X, gamma=0.2)) + 1
    budget = settings.get("budget", np.inf)
    policy = settings.get("budget_policy", "oldest")
    functions = perceptron(K, step, 2, budget, policy)
    expected = np.mean(functions, axis=0) if settings.get("average") else functions[-1]
    model = KernelPerceptron(
        gamma=0.2, shuffle=False, max_iter=2, class_weight={0: 0.5, 1: 4.0}, **settings
    )
    model.fit(X, y, sample_weight=weights)
    assert_allclose(model.decision_function(X), K @ expected, rtol=1e-9, atol=1e-7)
    if "budget" not in settings:
        stream = clone(model)
        for rows in np.array_split(np.arange(1400) % 700, 4):
            stream.partial_fit(X[rows], y[rows], classes=[0, 1], sample_weight=weights[rows])
        assert_allclose(stream.decision_function(X), model.decision_function(X), atol=1e-8)
        assert_allclose(stream.margin_bound_, model.margin_bound_)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "settings",
    [{}, {"kernel": "linear", "average": True}, {"average": True}, {"budget": 20}],
    ids=str,
)
def test_early_stopping_is_a_loop_over_streams(settings, seed):
    """Each pass as a stream, scored on the samples set aside, which the seed reproduces."""
    X, y = classes(400, 3, seed=seed)
    X[y == 2] += 1
    weights = np.random.default_rng(seed).uniform(0.5, 2, 400)
    settings = {"gamma": 0.2, "shuffle": False, "class_weight": {0: 1, 1: 2, 2: 1}, **settings}

    model = KernelPerceptron(
        early_stopping=True, validation_fraction=0.3, n_iter_no_change=2, random_state=5,
        **settings,
    ).fit(X, y, sample_weight=weights)  # fmt: skip

    first = np.random.RandomState(5).randint(np.iinfo(np.int32).max)
    split = StratifiedShuffleSplit(1, test_size=0.3, random_state=first).split(X, y)
    train, held_out = (np.sort(rows) for rows in next(split))

    stream = KernelPerceptron(**settings)
    scores = []
    waited = 0
    while waited < 2 and len(scores) < 100 and (not scores or stream.mistakes_[-1]):
        stream.partial_fit(X[train], y[train], range(3), weights[train])
        score = stream.score(X[held_out], y[held_out], weights[held_out])
        waited = 0 if not scores or score > max(scores) else waited + 1
        scores.append(score)

    assert_allclose(model.validation_scores_, scores)
    assert model.n_iter_ == len(scores) < 100
    assert model.mistakes_ == stream.mistakes_
    assert_allclose(model.decision_function(X), stream.decision_function(X), atol=1e-8)
    if "kernel" not in settings:
        assert np.isin(model.support_, train).all()

    K = rbf_kernel(X, gamma=0.2)
    if "kernel" not in settings:
        gram = clone(model).set_params(kernel="precomputed").fit(K, y, sample_weight=weights)
        assert_allclose(gram.validation_scores_, scores)
        assert_allclose(gram.decision_function(K), model.decision_function(X), atol=1e-8)


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

        margin = np.abs(X[:, 0]).min()  # the function x_1 has norm one and this margin
        assert model.n_updates_ <= ((X**2).sum(axis=1).max() + 1) / margin**2
        assert model.margin_bound_[0] >= margin
        assert model.n_updates_ == sum(model.mistakes_)
        assert model.n_iter_ == len(model.mistakes_)

        weights = rng.choice([0.1, 1.0, 5.0], 200)
        weighted = clone(model).fit(X, y, sample_weight=weights)
        assert weighted.margin_bound_[0] >= margin
    # a function with a budget may continue to make mistakes, so these do not bound the margin
    for policy in ("oldest", "smallest", "project"):
        model = KernelPerceptron("linear", budget=1, budget_policy=policy, max_iter=200)
        model.set_params(random_state=seed).fit(X, y)
        assert ((X**2).sum(axis=1).max() + 1) / model.n_updates_ < margin**2
        assert model.margin_bound_[0] >= margin


@pytest.mark.recovery
def test_exclusive_or(seed):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = KernelPerceptron("poly", degree=2, gamma=1.0, random_state=seed).fit(
        X, [0, 1, 1, 0]
    )
    assert_array_equal(model.predict(X), [0, 1, 1, 0])
    assert np.isfinite(model.margin_bound_).all()


@pytest.mark.paper
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 10])
def test_average_is_better_than_the_last_function(max_iter):
    """The order of Freund and Schapire 1999, table 2, on the digits at hand."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    scores = np.zeros(2)
    for order in range(5):
        rows = np.random.default_rng(order).permutation(len(X))
        train = rows[:600]
        test = rows[600:]
        for average in (0, 1):
            model = KernelPerceptron(
                "poly", degree=4, max_iter=max_iter, average=bool(average)
            )
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
    assert_allclose(kept, other, atol=1e-8)

    line = KernelPerceptron("linear", **settings).fit(X, y)
    thin = KernelPerceptron("linear", **settings).fit(sparse.csr_array(X), y)
    assert_allclose(thin.decision_function(X), line.decision_function(X), atol=1e-9)

    text = KernelPerceptron(PSpectrum(2), random_state=0)
    trees = ["banana", "bandana", "cabana", "grass", "glass", "class"]
    assert_array_equal(
        text.fit(trees, [0, 0, 0, 1, 1, 1]).predict(["ananas", "brass"]), [0, 1]
    )


@pytest.mark.invariance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"budget": 20}], ids=str)
def test_weight_zero_is_absence_and_scale_of_weights_is_free(settings, seed):
    X, y = classes(300, 3, seed=seed)
    weights = np.random.default_rng(seed).choice([0.0, 1.0, 2.0], 300)
    model = KernelPerceptron(gamma=0.2, max_iter=3, random_state=0, **settings)
    whole = clone(model).fit(X, y, sample_weight=weights).decision_function(X)
    seen = weights > 0
    part = clone(model).fit(X[seen], y[seen], sample_weight=weights[seen])
    assert_allclose(part.decision_function(X), whole, atol=1e-9)
    scaled = clone(model).fit(X, y, sample_weight=4 * weights)
    assert_allclose(scaled.decision_function(X), 4 * whole, atol=1e-9)
    assert_allclose(scaled.margin_bound_, part.margin_bound_)
    y[seen & (y == 2)] = 0  # a class without weight keeps its number and never wins
    absent = clone(model).fit(X, y, sample_weight=weights)
    assert_array_equal(absent.classes_, [0, 1, 2])
    assert 2 not in absent.predict(X)


@pytest.mark.invariance
def test_samples_spanned_by_the_budget_are_not_added(seed):
    X, y = classes(200, seed=seed)
    copies = np.r_[X, X + 1e-9, X]
    labels = np.r_[y, y, y]
    model = KernelPerceptron(gamma=0.02, budget=150, random_state=0, max_iter=5)
    double = clone(model).fit(copies, labels)
    assert len(np.unique(double.support_ % 200)) == len(double.support_)
    assert np.isfinite(double.decision_function(X)).all()
    # the matrix of rounded kernel values has negative eigenvalues
    K = rbf_kernel(copies, gamma=0.02).astype(np.float32)
    single = clone(model).set_params(kernel="precomputed").fit(K, labels)
    agree = single.predict(K) == double.predict(copies)
    assert agree.mean() > 0.8
    line = KernelPerceptron("linear", budget=150, random_state=0, max_iter=5).fit(X, y)
    assert len(line.support_) <= 6  # five features and the offset are enough


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, y = classes()
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        KernelPerceptron().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="set budget=None"):
        KernelPerceptron(average=True, budget=5).fit(X, y)
    with pytest.raises(ValueError, match="The 'budget_policy' parameter"):
        KernelPerceptron(budget_policy="newest").fit(X, y)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "weights", "message"),
    [
        ({"validation_fraction": 1.0}, None, "The 'validation_fraction' parameter"),
        ({"n_iter_no_change": 0}, None, "The 'n_iter_no_change' parameter"),
        ({"early_stopping": True}, np.arange(150) < 9, "test_size = 1 should be greater"),
        ({}, np.zeros(150), "must contain at least one non-zero"),
        ({"class_weight": {7: 1.0}}, None, "not in class_weight"),
        (
            {"class_weight": {0: -1.0, 1: 1.0}},
            None,
            "must contain finite numbers of at least 0",
        ),
    ],
)
def test_raises_on_invalid_weights_and_fractions(settings, weights, message):
    X, y = classes()
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**settings).fit(X, y, sample_weight=weights)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "labels", "message"),
    [
        ({}, None, "pass all classes in the first call"),
        ({}, [0, 2], r"y contains .*1.*, which is not among the classes"),
        ({"kernel": "precomputed"}, [0, 1], "got kernel='precomputed'"),
        ({"early_stopping": True}, [0, 1], "set early_stopping=False"),
        ({"class_weight": "balanced"}, [0, 1], "support class_weight='balanced'"),
    ],
)
def test_raises_on_invalid_streams(settings, labels, message):
    X, y = classes()
    model = KernelPerceptron(**settings)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X @ X.T, y, classes=labels)
    model = KernelPerceptron().partial_fit(X, y, classes=[0, 1])
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
    assert (
        GridSearchCV(pipe, grid, cv=3).fit(X, y).best_params_["kernelperceptron__gamma"] == 0.1
    )
