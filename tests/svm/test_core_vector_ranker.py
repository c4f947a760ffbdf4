"""Evidence that CoreVectorRanker solves the problem it states."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kendalltau
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skmoderndata._kernelized.expansion import KernelRows
from skmoderndata._kernelized.gram import resolve_kernel
from skmoderndata._solvers.margins.core_problems import GivenPairs, GradedRows
from skmoderndata._solvers.margins.ranking import graded_pairs, pair_order, worst_below
from skmoderndata.svm import CoreVectorRanker
from tests.oracles.core_set import squared_hinge_primal


def graded(n=60, levels=4, seed=0, n_queries=1, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    value = np.sin(X[:, 0]) + 0.3 * X[:, 1] + noise * rng.normal(size=n)
    y = np.digitize(value, np.linspace(-1, 1, levels - 1))
    return X, y, rng.integers(0, n_queries, n)


def all_pairs(y, queries):
    """Every (i, j) of one query with y_i above y_j, by plain loops."""
    n = len(y)
    return np.array(
        [
            (i, j)
            for i in range(n)
            for j in range(n)
            if queries[i] == queries[j] and y[i] > y[j]
        ]
    )


# oracle: a different computation gives the same result


@pytest.mark.oracle
@pytest.mark.parametrize("n_queries", [1, 5])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_linear_machine_on_differences(n_queries, C, seed):
    X, y, queries = graded(40, 3, seed, n_queries)
    pairs = all_pairs(y, queries)
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    # LinearSVC needs two classes
    both = np.vstack([D, -D])
    signs = np.repeat([1, -1], len(D))
    theirs = LinearSVC(C=C / 2, fit_intercept=False, dual=False, tol=1e-12).fit(both, signs)
    ours = CoreVectorRanker(C, kernel="linear", tol=1e-11).fit(X, y, query_ids=queries)
    assert_allclose(ours.dual_coef_ @ ours.support_vectors_, theirs.coef_[0], rtol=1e-5)
    listed = CoreVectorRanker(C, kernel="linear", tol=1e-11).fit(X, pairs=pairs)
    assert_allclose(listed.dual_coef_ @ listed.support_vectors_, theirs.coef_[0], rtol=1e-5)


@pytest.mark.oracle
def test_grades_and_listed_pairs_give_the_same_function(seed):
    X, y, queries = graded(80, 4, seed, 3)
    ours = CoreVectorRanker(0.1, gamma=0.5, tol=1e-10).fit(X, y, query_ids=queries)
    listed = CoreVectorRanker(0.1, gamma=0.5, tol=1e-10).fit(X, pairs=all_pairs(y, queries))
    # the tolerance is the root of `tol`
    assert_allclose(ours.predict(X), listed.predict(X), atol=1e-4)
    cone = CoreVectorRanker(0.1, gamma=0.5, solver="cvxpy", tol=1e-6)
    small = slice(0, 30)
    reference = CoreVectorRanker(0.1, gamma=0.5, tol=1e-10).fit(X[small], y[small])
    assert_allclose(
        cone.fit(X[small], y[small]).predict(X), reference.predict(X), atol=1e-4
    )  # the tolerance is the accuracy of a cone solver


@pytest.mark.oracle
def test_sums_over_pairs_by_plain_loops(seed):
    rng = np.random.default_rng(seed)
    queries = np.sort(rng.integers(0, 3, 50))
    grades = rng.integers(0, 4, 50)
    order = np.lexsort((grades, queries))
    grades = grades[order]
    f = rng.normal(size=50)
    pairs = all_pairs(grades, queries)
    d = f[pairs[:, 0]] - f[pairs[:, 1]]
    for s in (0.3, 1.0, 5.0):
        r = np.maximum(0, 1 - s * d)
        active = graded_pairs(queries, grades, s * f)
        reached = (active.squares, active.fold @ f, f @ active.laplacian(f))
        assert_allclose(reached, (r @ r, r @ d, d[r > 0] @ d[r > 0]), atol=1e-10)

    f = np.round(f, 1)  # create tied scores
    d = f[pairs[:, 0]] - f[pairs[:, 1]]
    assert_array_equal(pair_order(queries, grades, f), ((d > 0).sum(), (d == 0).sum(), len(d)))
    partner, top = worst_below(queries, grades, f)
    for i in range(50):
        below = [j for k, j in pairs if k == i]
        assert top[i] == max([f[j] for j in below], default=-np.inf)
        assert (partner[i] in below) if below else partner[i] == -1


# certificate: the result is optimal


@pytest.mark.certificate
@pytest.mark.parametrize("tol", [0.3, 0.01, 1e-6])
def test_gap_over_all_pairs(tol, seed):
    X, y, queries = graded(150, 4, seed, 2)
    C = 0.05
    model = CoreVectorRanker(C, gamma=0.5, tol=tol, random_state=seed).fit(
        X, y, query_ids=queries
    )
    pairs = all_pairs(y, queries)
    f = model.predict(X)
    rest = np.maximum(0, 1 - f[pairs[:, 0]] + f[pairs[:, 1]])
    K = rbf_kernel(model.support_vectors_, gamma=0.5)
    primal = 0.5 * model.dual_coef_ @ K @ model.dual_coef_ + C * rest @ rest
    best = CoreVectorRanker(C, gamma=0.5, tol=1e-9).fit(X, y, query_ids=queries)
    f = best.predict(X)
    rest = np.maximum(0, 1 - f[pairs[:, 0]] + f[pairs[:, 1]])
    K = rbf_kernel(best.support_vectors_, gamma=0.5)
    optimum = 0.5 * best.dual_coef_ @ K @ best.dual_coef_ + C * rest @ rest
    assert model.dual_gap_ <= tol
    assert optimum <= primal * (1 + 1e-8)
    assert primal * (1 - 2 * tol) <= optimum


@pytest.mark.certificate
def test_core_pairs_are_pairs(seed):
    X, y, queries = graded(100, 4, seed, 4)
    model = CoreVectorRanker(0.1, gamma=0.5).fit(X, y, query_ids=queries)
    up, down = model.core_pairs_.T
    assert (y[up] > y[down]).all()
    assert_array_equal(queries[up], queries[down])
    assert_allclose(model.dual_coef_.sum(), 0, atol=1e-9 * np.abs(model.dual_coef_).sum())


# recovery


@pytest.mark.recovery
def test_planted_order(seed):
    X, y, queries = graded(900, 5, seed, 30)
    train = slice(0, 600)
    test = slice(600, 900)
    model = CoreVectorRanker(0.1, gamma=0.5, random_state=seed)
    model.fit(X[train], y[train], query_ids=queries[train])
    assert model.score(X[test], y[test], queries[test]) > 0.95


# invariance


@pytest.mark.invariance
@pytest.mark.parametrize("listed", [False, True])
def test_warm_start_reaches_the_same_solution(listed, seed):
    X, y, queries = graded(300, 4, seed, 3)
    given = {"pairs": all_pairs(y, queries)} if listed else {"y": y, "query_ids": queries}
    settings = {"gamma": 0.5, "tol": 1e-6, "random_state": 0}
    cold = CoreVectorRanker(0.02, **settings).fit(X, **given)
    warm = CoreVectorRanker(0.01, warm_start=True, **settings).fit(X, **given)
    warm.set_params(C=0.02).fit(X, **given)
    # the tolerance is the root of `tol`
    assert_allclose(warm.predict(X), cold.predict(X), atol=5e-3)
    assert warm.n_iter_ < cold.n_iter_
    # with other grades, use only pairs that are still pairs
    other = {"pairs": given["pairs"][::2]} if listed else {"y": y.max() - y}
    turned = warm.fit(X, **other)
    alone = CoreVectorRanker(0.02, **settings).fit(X, **other)
    assert_allclose(turned.predict(X), alone.predict(X), atol=5e-3)


@pytest.mark.invariance
def test_names_order_and_kernels(seed):
    X, y, queries = graded(60, 4, seed, 3)
    f = CoreVectorRanker(0.1, gamma=0.5, tol=1e-10).fit(X, y, query_ids=queries).predict(X)
    names = np.array(["q", "r", "s"])[queries]
    other = CoreVectorRanker(0.1, gamma=0.5, tol=1e-10).fit(X, 10.0**y, query_ids=names)
    assert_allclose(other.predict(X), f, atol=1e-4)  # the tolerance is the root of `tol`
    order = np.random.default_rng(seed).permutation(60)
    moved = CoreVectorRanker(0.1, gamma=0.5, tol=1e-10)
    moved.fit(X[order], y[order], query_ids=queries[order])
    assert_allclose(moved.predict(X), f, atol=1e-4)
    gram = CoreVectorRanker(0.1, kernel="precomputed", tol=1e-10)
    K = rbf_kernel(X, gamma=0.5)
    assert_allclose(gram.fit(K, y, query_ids=queries).predict(K), f, atol=1e-4)
    down = CoreVectorRanker(0.1, gamma=0.5, tol=1e-10).fit(X, -y, query_ids=queries)
    assert_allclose(down.predict(X), -f, atol=1e-4)


@pytest.mark.invariance
def test_classes_order_the_labels(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 2))
    grade = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), [-0.5, 0.5])
    queries = rng.integers(0, 3, 90)
    words = np.array(["low", "mid", "high"])
    numbers = CoreVectorRanker(random_state=0).fit(X, grade, query_ids=queries)
    named = CoreVectorRanker(classes=[*words, "highest"], random_state=0)
    named.fit(X, words[grade], query_ids=queries)
    assert_array_equal(named.predict(X), numbers.predict(X))
    assert named.score(X, words[grade], queries) == numbers.score(X, grade, queries)
    exact = CoreVectorRanker(tol=1e-8).fit(X, grade, query_ids=queries)
    back = CoreVectorRanker(tol=1e-8, classes=[2, 1, 0]).fit(X, grade, query_ids=queries)
    # a gap of 1e-8 changes the function by about its root
    assert_allclose(back.predict(X), -exact.predict(X), atol=1e-3)
    assert back.score(X, grade, queries) == pytest.approx(exact.score(X, grade, queries))
    objects = CoreVectorRanker(classes=words, random_state=0)
    objects.fit(X, words[grade].astype(object), query_ids=queries)
    assert_array_equal(objects.predict(X), numbers.predict(X))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["low", "mid"], "y holds 'high', which is not in classes"),
        (["low", "mid", "mid", "high"], "must list every label once"),
        ("low", "The 'classes' parameter"),
        (None, "needs numbers as y, and received 'low': set classes"),
    ],
)
def test_raises_on_invalid_classes(classes, message):
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match=message):
        CoreVectorRanker(classes=classes).fit(X, ["low", "mid", "high"] * 2)


@pytest.mark.edge
def test_score_rejects_labels_without_a_place():
    X = np.arange(4.0)[:, None]
    model = CoreVectorRanker(classes=["low", "high"]).fit(X, ["low", "low", "high", "high"])
    with pytest.raises(ValueError, match="y holds 'mid', which is not in classes"):
        model.score(X, ["low", "mid", "mid", "high"])


@pytest.mark.invariance
def test_score_is_kendalls_tau(seed):
    X, _, _ = graded(50, 4, seed)
    y = np.random.default_rng(seed).normal(size=50)
    model = CoreVectorRanker(gamma=0.5).fit(X, y)
    tau = kendalltau(model.predict(X), y).statistic
    assert_allclose(2 * model.score(X, y) - 1, tau, atol=1e-12)


# edge


@pytest.mark.edge
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "requires y to be passed"),
        ({"y": np.ones(20)}, "needs a query with two different grades"),
        ({"y": range(20), "query_ids": range(20)}, "needs a query with two different grades"),
        (
            {"y": range(20), "query_ids": [1, 2]},
            "query_ids must contain the query of each of 20",
        ),
        ({"y": [*range(19), None]}, "missing.*position 19"),
        ({"pairs": [[0, 1, 2]]}, r"of shape \(n_pairs, 2\)"),
        ({"pairs": [[0.0, 1.0]]}, r"of shape \(n_pairs, 2\)"),
        ({"pairs": np.zeros((0, 2), int)}, r"of shape \(n_pairs, 2\)"),
        ({"pairs": [[0, 20]]}, "two different samples out of 20"),
        ({"pairs": [[3, 3]]}, "two different samples out of 20"),
    ],
)
def test_raises_on_invalid_order(given, message):
    with pytest.raises(ValueError, match=message):
        CoreVectorRanker().fit(graded(20)[0], **given)


@pytest.mark.edge
def test_raises_on_invalid_samples():
    X, y, _ = graded(20)
    with pytest.raises(ValueError, match="1 sample"):
        CoreVectorRanker().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="NaN"):
        CoreVectorRanker().fit(X * np.nan, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        CoreVectorRanker(kernel=lambda A, B: -A @ B.T, C=1e4).fit(X, y)


@pytest.mark.edge
def test_contradictions_and_equal_samples():
    X = np.array([[0.0], [1.0]])
    even = CoreVectorRanker(kernel="linear").fit(X, pairs=[[0, 1], [1, 0]])
    assert_allclose(even.predict(X), 0, atol=1e-12)
    same = CoreVectorRanker().fit(np.zeros((6, 2)), [1, 2, 3, 1, 2, 3])
    assert_allclose(same.predict(X.repeat(2, axis=1)), 0, atol=1e-12)
    assert same.score(np.zeros((2, 2)), [1, 2]) == 0.5
    assert same.score(np.zeros((2, 2)), [1, 1]) == 0.5


@pytest.mark.edge
def test_warns_at_iteration_limits():
    X, y, _ = graded(300)
    with pytest.warns(ConvergenceWarning, match="with 20 core pairs.*increase max_core"):
        CoreVectorRanker(1.0, gamma=0.5, max_core=20, random_state=0).fit(X, y)


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X, y, _ = graded(90)
    pipe = make_pipeline(StandardScaler(), CoreVectorRanker())
    search = GridSearchCV(pipe, {"corevectorranker__gamma": [0.001, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"corevectorranker__gamma": 1.0}


# there are many pairs: use all of them, with one unknown per sample


def noisy_grades(n, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.digitize(np.sin(X[:, 0]) + X[:, 1] + rng.normal(size=n), [-0.6, 0.6])


@pytest.mark.oracle
@pytest.mark.parametrize("listed", [False, True])
def test_active_pairs_by_plain_loops(listed, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 50)
    queries = rng.integers(0, 3, 50)
    f = rng.normal(size=50)
    pairs = all_pairs(y, queries)
    rows = KernelRows(resolve_kernel("rbf", f[:, None], gamma=1.0), f[:, None])
    problem = (
        GivenPairs(rows, pairs, 1.0, diagonal=1.0)
        if listed
        else GradedRows(rows, y, queries, 1.0, diagonal=1.0)
    )

    active = problem.active(f)
    E = np.eye(50)[pairs[:, 0]] - np.eye(50)[pairs[:, 1]]
    r = np.maximum(0, 1 - E @ f)
    A = E[r > 0]
    assert_allclose([active.total, active.squares], [r.sum(), r @ r], rtol=1e-11)
    assert_allclose(active.fold, E.T @ r, atol=1e-11)
    assert_allclose(active.degree, (A.T @ A).diagonal(), atol=1e-11)
    v = rng.normal(size=50)
    assert_allclose(active.laplacian(v), A.T @ (A @ v), atol=1e-11)


@pytest.mark.oracle
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_all_pairs_against_a_quasi_newton_method(C, seed):
    """150 samples, about 7000 pairs: more than the core set takes."""
    X, y = noisy_grades(150, seed=seed)
    pairs = all_pairs(y, np.zeros(150, int))
    K = rbf_kernel(X, gamma=0.3)
    F = np.linalg.cholesky(K + 1e-12 * np.eye(150))
    value, _ = squared_hinge_primal(
        F[pairs[:, 0]] - F[pairs[:, 1]], np.full(len(pairs), 2 * C)
    )
    for given in ({"y": y}, {"pairs": pairs}):
        model = CoreVectorRanker(C, gamma=0.3, tol=1e-6, random_state=seed).fit(X, **given)
        f = model.predict(X)
        beta = model.dual_coef_
        rest = np.maximum(0, 1 - f[pairs[:, 0]] + f[pairs[:, 1]])
        norm = beta @ f[model.support_]
        primal = 0.5 * norm + C * rest @ rest
        assert model.dual_gap_ <= 1e-6
        assert_allclose(primal, value, rtol=2e-6)


@pytest.mark.edge
@pytest.mark.timeout(60)
def test_noise_takes_seconds_and_little_memory():
    """As few as 800 noisy samples have 200,000 pairs, half of them inside the margin."""
    X, y = noisy_grades(1000)
    CoreVectorRanker(random_state=0).fit(X[:200], y[:200])  # compile the loops
    tracemalloc.start()
    model = CoreVectorRanker(random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert model.dual_gap_ <= 0.05
    assert peak < 200
    assert model.score(*noisy_grades(1000, seed=1)) > 0.8


@pytest.mark.edge
def test_too_few_basis_functions_are_named():
    X, y = noisy_grades(1000)
    with pytest.warns(
        ConvergenceWarning, match=r"with 13 basis functions.*increase cache_size"
    ):
        model = CoreVectorRanker(cache_size=0.1, random_state=0).fit(X, y)
    assert 0.05 < model.dual_gap_ <= 1
    assert len(model.support_) == 13


@pytest.mark.edge
def test_few_iterations_end_with_the_gap_reached():
    X, y = noisy_grades(500)
    with pytest.warns(ConvergenceWarning, match="relative duality gap.*increase max_iter"):
        model = CoreVectorRanker(max_iter=20, random_state=0).fit(X, y)
    assert model.n_iter_ <= 21
    assert 0 < model.dual_gap_ <= 1


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [1e3, 1e8])
def test_work_does_not_grow_with_the_scale_of_a_linear_kernel(scale, seed):
    """Steep costs leave the least squares of the pairs, whose answer has a limit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    y = np.digitize(X @ rng.normal(size=4) + 0.5 * rng.normal(size=60), [-1.0, 0.0, 1.0])
    small = CoreVectorRanker(kernel="linear", C=0.1, tol=1e-3, random_state=0).fit(X, y)
    large = clone(small).fit(scale * X, y)
    assert large.dual_gap_ <= 1e-3
    assert large.n_iter_ <= 3 * small.n_iter_
    # f = (X w) has the least loss; at scale 1, the penalty changes it slightly
    assert np.corrcoef(small.predict(X), large.predict(scale * X))[0, 1] > 0.999
