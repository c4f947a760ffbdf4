"""Evidence that L2SVC solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from skmoderndata._solvers.margins import box_machines
from skmoderndata._solvers.margins.squared_hinge import _least_on_line
from skmoderndata.kernels import PSpectrum
from skmoderndata.svm import L2SVC, CoreVectorMachine
from tests.oracles import box_qp as oracle


def classes(n=80, p=4, seed=0, flip=0.15):
    return make_classification(
        n, p, n_informative=3, n_redundant=0, flip_y=flip, random_state=seed
    )


@pytest.mark.oracle
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_primal_problem(C, seed):
    X, y = classes(seed=seed)
    u = np.random.default_rng(seed).uniform(0.3, 2, 80)
    model = L2SVC(C, gamma=0.3).fit(X, y, sample_weight=u)
    value, f, b = oracle.squared_hinge_with_offset(rbf_kernel(X, gamma=0.3), 2 * y - 1, C * u)
    assert_allclose(model.objective_, value, rtol=1e-7)
    # the tolerance is the root of `tol`
    assert_allclose(model.decision_function(X), f + b, atol=1e-4)


@pytest.mark.oracle
def test_steps_match_the_plain_loop(seed):
    X, y = classes(seed=seed)
    order = np.argsort(-y, kind="stable")
    X = X[order]
    y = y[order]
    n = len(y)
    positive = int(y.sum())
    K = rbf_kernel(X, gamma=0.3)
    ridge = np.full(n, 0.5 / 2.0)
    start = np.zeros(n)
    start[0] = 1.0
    start[positive] = -1.0
    low = np.where(y > 0, 0.0, -np.inf)
    high = np.where(y > 0, np.inf, 0.0)
    v = oracle.pairwise_steps(
        K, start, low, high, ridge, np.zeros(n), 0.0, [(0, positive), (positive, n)], 1e-12
    )
    coef = 2 * v / (v @ (K @ v + ridge * v))
    model = L2SVC(2.0, gamma=0.3).fit(X, y)
    assert_allclose(model.decision_function(X) - model.intercept_, K @ coef, atol=1e-8)


@pytest.mark.oracle
def test_least_objective_on_a_line_matches_its_definition(seed):
    rng = np.random.default_rng(seed)
    w, d = rng.normal(size=(2, 5))
    margins, change = rng.normal(size=(2, 40))
    costs = rng.uniform(0.1, 2, size=40)

    def objective(s):
        slack = np.maximum(0, 1 - margins - s * change)
        return 0.5 * np.sum((w + s * d) ** 2) + 0.5 * costs @ slack**2

    value, step = _least_on_line(w, d, margins, change, costs)
    assert_allclose(value, objective(step), rtol=1e-12)
    assert value <= min(map(objective, np.linspace(0, 1, 101))) * (1 + 1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [200, 2500])
def test_hard_margin_of_the_matrix_with_a_ridge(n, seed):
    """LIBSVM with a large C, on ``K + I / (2 C)``; above 2000 in single precision."""
    X, y = classes(n, seed=seed)
    K = rbf_kernel(X, gamma=0.3)
    theirs = SVC(kernel="precomputed", C=1e8, tol=1e-7).fit(K + np.eye(n) / 4, y)
    values = K[:, theirs.support_] @ theirs.dual_coef_[0] + theirs.intercept_
    ours = L2SVC(2.0, gamma=0.3, tol=1e-9).fit(X, y)
    assert_allclose(ours.decision_function(X), values, atol=1e-4)


@pytest.mark.oracle
def test_linear_kernel(seed):
    X, y = classes(150, seed=seed)
    theirs = LinearSVC(C=0.7, intercept_scaling=1e3, tol=1e-10, max_iter=100_000).fit(X, y)
    ours = L2SVC(0.7, "linear").fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert_allclose(ours.margin_, 1 / np.linalg.norm(ours.coef_))
    assert_allclose(ours.decision_function(X), X @ ours.coef_[0] + ours.intercept_)


@pytest.mark.oracle
def test_newton_steps_on_the_primal_problem(seed):
    """They give the function of pairwise steps, its support vectors and its certificate."""
    X, y = classes(300, seed=seed)
    X = X + 1e4  # move the samples far from the origin
    labels = y + (X[:, 1] > 1e4 + 1)  # make three classes
    u = np.random.default_rng(seed).uniform(0.3, 2, 300)
    primal = L2SVC(0.7, "linear", solver="newton").fit(X, labels, sample_weight=u)
    pairs = L2SVC(0.7, "linear", solver="smo", tol=1e-10).fit(X, labels, sample_weight=u)
    assert_allclose(primal.objective_, pairs.objective_, rtol=1e-9)
    assert_allclose(primal.coef_, pairs.coef_, atol=1e-5)
    assert_array_equal(primal.support_, pairs.support_)
    assert_allclose(primal.dual_coef_, pairs.dual_coef_, atol=1e-5)
    assert primal.dual_gap_ < 1e-12
    assert primal.n_iter_ < 20
    with pytest.raises(ValueError, match="needs kernel='linear' and a dense table"):
        L2SVC(kernel="linear", solver="newton").fit(sparse.csr_array(X), y)


@pytest.mark.edge
def test_one_newton_step_warns():
    X, y = classes(200, flip=0.0)
    with pytest.warns(ConvergenceWarning, match="after 1 steps the relative duality gap is"):
        L2SVC(10.0, "linear", max_iter=1).fit(X, y)


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:L2SVC depends on the scales")
def test_columns_of_unlike_scale_are_named_in_the_warning():
    X, y = classes(60)
    with pytest.warns(
        ConvergenceWarning, match="gap is .* scale X, .* by a factor of 2e[+]07"
    ):
        L2SVC(10.0, "linear", max_iter=3).fit(X * [1e7, 1.0, 1.0, 1.0], y)
    with pytest.warns(ConvergenceWarning, match="gap is .* increase max_iter or tol"):
        L2SVC(10.0, max_iter=3).fit(X, y)


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:L2SVC depends on the scales")
def test_columns_that_newton_steps_cannot_factor():
    """Copies of a column at a cost of 1e8: pairwise steps follow where rounding is in the way."""
    X, y = classes(60, flip=0.0)
    X = np.hstack([X, X[:, :2], 1e-6 * X]) * 1e4
    model = L2SVC(1e4, "linear", tol=1e-2).fit(X, y)
    assert model.dual_gap_ <= 1e-2


@pytest.mark.oracle
def test_core_vector_machine_with_hardly_penalised_offset(seed):
    X, y = classes(200, seed=seed)
    ours = L2SVC(1.0, gamma=0.3).fit(X, y)
    theirs = CoreVectorMachine(1.0, gamma=0.3, intercept_scaling=1e3, tol=1e-10).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


@pytest.mark.oracle
def test_matches_function_from_cvxpy(seed):
    X, y = load_iris(return_X_y=True)
    ours = L2SVC(5.0).fit(X, y)
    pairs = [
        L2SVC(5.0, gamma=ours._gram.params["gamma"]).fit(X[y != k], y[y != k])
        for k in range(3)
    ]
    assert_allclose(ours.objective_, sum(pair.objective_ for pair in pairs), rtol=1e-6)
    theirs = L2SVC(5.0, solver="cvxpy").fit(X, y)
    assert theirs.dual_gap_ < 1e-6
    assert_allclose(theirs.objective_, ours.objective_, rtol=1e-6)
    assert_array_equal(theirs.predict(X), ours.predict(X))


@pytest.mark.oracle
@pytest.mark.parametrize("break_ties", [False, True])
def test_votes_match_svc(break_ties):
    """The pairs are trained on the same side, and votes and confidence are counted alike."""
    X, y = load_digits(return_X_y=True)
    X = X[:600:2]
    y = y[:600:2]
    ours = L2SVC(2.0, gamma=0.001, break_ties=break_ties).fit(X, y)
    K = rbf_kernel(X, gamma=0.001)
    theirs = SVC(kernel="precomputed", C=1e8, tol=1e-8, break_ties=break_ties)
    theirs.fit(K + np.eye(len(K)) / 4, y)
    assert_allclose(ours.decision_function(X[:5]), theirs.decision_function(K[:5]), atol=0.2)
    ovo = ours.set_params(break_ties=False, decision_function_shape="ovo")
    votes = SVC(kernel="precomputed", decision_function_shape="ovo")
    votes.__dict__ |= vars(theirs) | {"decision_function_shape": "ovo", "break_ties": False}
    support = theirs.support_
    off = K.copy()
    # a training sample is compared with itself in the joint kernel matrix
    off[support, support] += 0.25
    others = np.setdiff1d(np.arange(len(K)), support)
    assert_allclose(
        ovo.decision_function(X[others]), votes.decision_function(off[others]), atol=1e-4
    )
    assert_array_equal(ovo.predict(X[others]), votes.predict(off[others]))


@pytest.mark.certificate
@pytest.mark.parametrize("n", [150, 2500])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_gap_and_slack(n, C, seed):
    """Every support vector has ``xi = a / (2 C u)``, and the gap matches the two problems."""
    X, y = classes(n, seed=seed)
    u = np.random.default_rng(seed).uniform(0.3, 2, n)
    for tol in (1e-2, 1e-4):
        model = L2SVC(C, gamma=0.3, tol=tol).fit(X, y, sample_weight=u)
        signs = 2 * y - 1
        f = model.decision_function(X)
        a = np.zeros(n)
        a[model.support_] = model.dual_coef_[0] * signs[model.support_]
        assert a.min() >= 0
        assert abs(a @ signs) < 1e-8 * a.sum()
        norm = (a * signs) @ (f - model.intercept_)
        slack = np.maximum(0, 1 - signs * f)
        primal = 0.5 * norm + C * u @ slack**2
        dual = a.sum() - 0.5 * norm - a @ (a / (4 * C * u))
        assert_allclose(model.objective_, primal, rtol=1e-5)
        assert_allclose(model.dual_gap_, (primal - dual) / primal, atol=1e-5)
        assert model.dual_gap_ <= tol
    if n == 150:
        assert_allclose(slack[a > 0], (a / (2 * C * u))[a > 0], atol=1e-8)


@pytest.mark.recovery
def test_digits():
    X, y = load_digits(return_X_y=True)
    model = L2SVC(10.0).fit(X[:900], y[:900])
    theirs = SVC(C=10.0).fit(X[:900], y[:900])
    assert model.score(X[900:], y[900:]) > theirs.score(X[900:], y[900:]) - 0.01
    assert model.n_support_.sum() == len(model.support_) > len(theirs.support_)


@pytest.mark.invariance
def test_small_cost_leaves_the_mean_label(seed):
    X, y = classes(90, seed=seed)
    model = L2SVC(1e-9, gamma=0.3).fit(X, y)
    signs = 2 * y - 1
    assert_allclose(model.intercept_, signs.mean(), atol=1e-6)
    w = rbf_kernel(X, gamma=0.3) @ (signs - signs.mean())
    assert_allclose((model.decision_function(X) - model.intercept_) / 2e-9, w, rtol=1e-4)


@pytest.mark.invariance
def test_order_labels_weights_and_kernels(seed):
    X, y = classes(120, seed=seed)
    model = L2SVC(3.0, gamma=0.3).fit(X, y)
    values = model.decision_function(X)
    order = np.random.default_rng(seed).permutation(120)
    same = L2SVC(3.0, gamma=0.3).fit(X[order], np.array(["no", "yes"])[y[order]])
    assert_allclose(same.decision_function(X), values, atol=1e-8)
    assert_array_equal(same.predict(X) == "yes", model.predict(X))
    K = rbf_kernel(X, gamma=0.3)
    gram = L2SVC(3.0, "precomputed").fit(K, y)
    assert_allclose(gram.decision_function(K), values, atol=1e-8)
    counts = np.random.default_rng(seed).integers(0, 3, 120)
    weighted = L2SVC(3.0, "precomputed").fit(K, y, sample_weight=counts)
    repeated = L2SVC(3.0, gamma=0.3).fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_allclose(weighted.decision_function(K), repeated.decision_function(X), atol=1e-8)
    balanced = L2SVC(3.0, gamma=0.3, class_weight="balanced").fit(X, y)
    factors = 60 / np.bincount(y)[y]
    by_hand = L2SVC(3.0, gamma=0.3).fit(X, y, sample_weight=factors)
    assert_allclose(balanced.decision_function(X), by_hand.decision_function(X), atol=1e-8)


@pytest.mark.invariance
def test_sparse_single_precision_and_strings(seed):
    X, y = classes(100, seed=seed)
    X[X < 0.3] = 0
    model = L2SVC(3.0, gamma=0.3).fit(X, y)
    thin = L2SVC(3.0, gamma=0.3).fit(sparse.csr_array(X), y)
    assert_allclose(thin.decision_function(X), model.decision_function(X), atol=1e-8)
    single = L2SVC(3.0, gamma=0.3).fit(X.astype(np.float32), y)
    assert_allclose(single.decision_function(X), model.decision_function(X), atol=1e-4)
    words = ["banana", "bandana", "cabana", "grass", "glass", "class"]
    labels = [0, 0, 0, 1, 1, 1]
    text = L2SVC(10.0, PSpectrum(2)).fit(words, labels)
    assert_array_equal(text.predict([*words, "ananas", "brass"]), [*labels, 0, 1])


@pytest.mark.invariance
@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}])
def test_pairs_of_classes_are_machines_of_two_classes(settings, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 3)) + y[:, None]
    model = L2SVC(gamma=0.3, tol=1e-8, **settings).fit(X, y)
    pairs = L2SVC(gamma=0.3, tol=1e-8, decision_function_shape="ovo", **settings).fit(X, y)
    two = L2SVC(gamma=0.3, tol=1e-8, n_jobs=2, **settings).fit(X, y)

    assert_array_equal(two.dual_coef_, model.dual_coef_)
    assert_array_equal(two.intercept_, model.intercept_)
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        of_pair = (y == i) | (y == j)
        alone = L2SVC(gamma=0.3, tol=1e-8, **settings).fit(X[of_pair], y[of_pair] == i)
        values = pairs.decision_function(X)[:, column]
        # the tolerance is the gap
        assert_allclose(values, alone.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, y = classes(40)
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        L2SVC().fit(X, np.zeros(40))
    with pytest.raises(ValueError, match="1 class with positive weight"):
        L2SVC().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="needs decision_function_shape='ovr'"):
        L2SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        L2SVC(1e3, "precomputed").fit(np.ones((40, 40)) - 5 * np.eye(40), y)


@pytest.mark.edge
@pytest.mark.parametrize("C", [0, -1.0, np.inf])
def test_costs_are_positive_numbers(C):
    with pytest.raises(ValueError, match="C"):
        L2SVC(C).fit(*classes(40))


@pytest.mark.edge
def test_duplicates_and_two_samples():
    X = np.repeat([[0.0], [1.0], [1.0]], 5, axis=0)
    y = np.repeat([0, 1, 0], 5)
    model = L2SVC(gamma=1.0).fit(X, y)  # the samples at 1 have both labels
    assert_allclose(model.decision_function([[1.0]]), 0.0, atol=0.2)
    pair = L2SVC(gamma=1.0).fit([[0.0], [1.0]], [0, 1])
    assert_array_equal(pair.predict([[0.0], [1.0]]), [0, 1])


@pytest.mark.edge
def test_few_steps_warn_and_small_memory_does_not():
    X, y = classes(2500)
    with pytest.warns(ConvergenceWarning, match="after 20 steps the relative duality gap is"):
        L2SVC(max_iter=20).fit(X, y)
    small = L2SVC(cache_size=0.001).fit(X, y)
    large = L2SVC().fit(X, y)
    assert_allclose(small.objective_, large.objective_, rtol=1e-3)  # the tolerance is `tol`


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), L2SVC())
    assert GridSearchCV(pipe, {"l2svc__C": [0.1, 10]}, cv=3).fit(X, y).best_score_ > 0.93


@pytest.mark.certificate
def test_few_samples_are_solved_to_rounding_with_few_computations_of_the_gap(monkeypatch):
    gaps = []

    def counted(*values, **settings):
        gaps.append(relative_gap(*values, **settings))
        return gaps[-1]

    relative_gap = box_machines.relative_gap
    monkeypatch.setattr(box_machines, "relative_gap", counted)
    X, y = load_digits(return_X_y=True)
    model = L2SVC(10.0).fit(X[:200] / 16, y[:200])
    assert model.dual_gap_ < 1e-13
    assert len(gaps) <= 3 * 45
