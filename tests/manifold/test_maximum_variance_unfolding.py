"""Evidence that MaximumVarianceUnfolding solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.manifold import Isomap
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skmoderndata._solvers.embeddings.unfolding as unfolding_module
from skmoderndata._solvers.embeddings.unfolding import (
    Graph,
    dual_bound,
    geodesic_start,
    softness,
    unfold_at_most,
    unfold_softly,
    value,
)
from skmoderndata.manifold import MaximumVarianceUnfolding
from tests.oracles.maximum_variance_unfolding import bound, unfolding

# the oracle may warn of an inaccurate solution
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def roll(n, seed=0, hole=False):
    """Swiss roll, and its sheet: length along the spiral, and height."""
    X, t = make_swiss_roll(n, hole=hole, random_state=seed)
    return X, np.column_stack([(t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2, X[:, 1]])


def arc(n, seed):
    """Points near an arc, with some noise in space."""
    rng = np.random.default_rng(seed)
    angle = 3 * (np.arange(n) + rng.uniform(0, 0.8, n)) / n
    return np.column_stack([np.cos(angle), np.sin(angle), 0.1 * rng.normal(size=n)])


def squares(X, edges):
    return np.sum((X[edges[:, 0]] - X[edges[:, 1]]) ** 2, axis=1)


def path(n, seed):
    """A path with steps of different size, in units of their mean."""
    d = np.random.default_rng(seed).uniform(0.5, 1.5, n - 1)
    return Graph(n, np.arange(n - 1), np.arange(1, n), (d / d.mean()) ** 2), d / d.mean()


@pytest.mark.certificate
@pytest.mark.parametrize("number", [2, 6, 15])
def test_leaves_the_saddle_of_a_line(number):
    """With all points on a line the edges hold, and the value is not yet the optimum."""
    model = MaximumVarianceUnfolding(
        n_neighbors=4, constraints="at_most", solver="low_rank", tol=1e-4, random_state=number
    ).fit(arc(24, number))
    assert model.dual_gap_ <= 1e-4


@pytest.mark.certificate
@pytest.mark.parametrize("number", [11, 12, 13])
def test_neighbours_that_nearly_coincide(number):
    """Steps of L-BFGS do not see edges of a thousandth of the mean length."""
    rng = np.random.default_rng(number)
    X = rng.uniform(size=30)[:, None] * rng.normal(size=3)
    model = MaximumVarianceUnfolding(
        n_neighbors=12, constraints="at_most", tol=1e-5, random_state=number
    ).fit(X)
    assert model.dual_gap_ <= 1e-5
    assert model.edge_errors_.max() <= 1e-12


@pytest.mark.certificate
def test_late_multipliers_are_no_saddle():
    X = arc(25, 14) @ np.linalg.qr(np.random.default_rng(14).normal(size=(3, 3)))[0] + 3
    model = MaximumVarianceUnfolding(
        n_neighbors=4, constraints="at_most", solver="low_rank", tol=1e-4, random_state=0
    ).fit(X)
    assert model.dual_gap_ <= 1e-4


@pytest.mark.oracle
def test_at_most_reaches_the_optimum_of_the_program(seed):
    X = arc(24, seed)
    model = MaximumVarianceUnfolding(
        n_neighbors=4, constraints="at_most", solver="low_rank", tol=1e-4, random_state=seed
    ).fit(X)
    d2 = squares(X, model.edges_)
    unit = np.mean(np.sqrt(d2)) ** 2  # conic solvers need numbers whose size is about one
    optimum = unit * unfolding(24, model.edges_, d2 / unit)[0]
    assert_allclose(model.variance_, optimum, rtol=1e-4)
    assert_allclose(model.eigenvalues_.sum(), model.variance_)
    assert model.dual_bound_ >= optimum * (1 - 1e-7)
    assert model.edge_errors_.max() <= 1e-12


@pytest.mark.oracle
@pytest.mark.slow
def test_sixty_points_of_a_roll_at_most():
    X, _ = roll(60)
    model = MaximumVarianceUnfolding(
        n_neighbors=4, constraints="at_most", max_iter=20_000, tol=1e-4, random_state=0
    ).fit(X)
    optimum, _ = unfolding(60, model.edges_, squares(X, model.edges_))
    assert_allclose(model.variance_, optimum, rtol=1e-4)  # the gap promises this accuracy


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["low_rank", "cvxpy"])
def test_soft_reaches_the_optimum_of_the_program(solver, seed):
    X = arc(24, seed)
    model = MaximumVarianceUnfolding(
        n_neighbors=4, constraints="soft", solver=solver, tol=1e-4, random_state=seed
    ).fit(X)
    d2 = squares(X, model.edges_)
    unit = np.mean(np.sqrt(d2)) ** 2  # conic solvers need numbers whose size is about one
    optimum, _ = unfolding(24, model.edges_, d2 / unit, "soft", model.alpha_ * unit)
    reached = model.variance_ - model.alpha_ * np.sum((model.edge_errors_ * d2) ** 2)
    # the tolerance is the accuracy of the conic solver
    assert_allclose(reached, unit * optimum, rtol=1e-5)
    assert_allclose(
        model.dual_gap_, (model.dual_bound_ - reached) / model.dual_bound_, atol=1e-8
    )
    assert model.dual_gap_ <= 1e-3


@pytest.mark.oracle
@pytest.mark.parametrize("constraints", ["equal", "at_most"])
def test_stated_program(constraints, seed):
    X = arc(16, seed)
    model = MaximumVarianceUnfolding(
        n_neighbors=4, constraints=constraints, solver="cvxpy", random_state=seed
    ).fit(X)
    d2 = squares(X, model.edges_)
    unit = np.mean(np.sqrt(d2)) ** 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        optimum, K = unfolding(16, model.edges_, d2 / unit, constraints)
    # the problem "equal" is ill posed
    assert_allclose(model.variance_, unit * optimum, rtol=1e-3)
    assert_allclose(model.kernel_, model.kernel_.T, atol=1e-12)
    assert_allclose(model.kernel_.sum(axis=0), 0, atol=1e-9)
    assert_allclose(np.trace(model.kernel_), model.variance_)
    assert_allclose(model.kernel_, unit * K, atol=0.02 * unit * np.abs(K).max())
    if constraints == "equal":
        assert np.abs(model.edge_errors_).max() < 1e-2


@pytest.mark.certificate
def test_bound_holds_for_all_multipliers_and_placements(seed):
    rng = np.random.default_rng(seed)
    X = arc(20, seed)
    edges = MaximumVarianceUnfolding(n_neighbors=4, solver="low_rank").fit(X).edges_
    d2 = squares(X, edges)
    graph = Graph(20, edges[:, 0], edges[:, 1], d2)
    for _ in range(20):
        w = rng.uniform(0, 1, len(d2))
        assert_allclose(dual_bound(graph, w, None), bound(20, edges, d2, w), rtol=1e-9)
        Y = rng.normal(size=(20, 3))
        Y = Y - Y.mean(axis=0)
        feasible = Y / np.sqrt((squares(Y, edges) / d2).max())
        assert value(graph, feasible, None) <= dual_bound(graph, w, None)
        soft = dual_bound(graph, w, 0.7)
        assert max(value(graph, s * feasible, 0.7) for s in np.linspace(0.1, 3, 30)) <= soft


@pytest.mark.certificate
@pytest.mark.parametrize("constraints", ["soft", "at_most"])
def test_gap_closes_on_five_hundred_points(constraints):
    X, _ = roll(500)
    model = MaximumVarianceUnfolding(constraints=constraints, random_state=0).fit(X)
    assert model.dual_gap_ <= 0.01
    assert model.dual_bound_ >= model.variance_ * (constraints == "at_most")
    assert model.eigenvalues_[:2].sum() >= 0.98 * model.variance_


@pytest.mark.recovery
def test_path_becomes_a_straight_line(seed):
    graph, d = path(30, seed)
    straight = np.append(0, np.cumsum(d))
    straight -= straight.mean()
    start = geodesic_start(graph, 5, np.random.RandomState(seed))
    nu = softness(graph, start, 0.01)
    found = unfold_at_most(graph, start, nu, max_iter=20_000, tol=1e-6)
    assert_allclose(found.objective, np.sum(straight**2), rtol=1e-4)
    assert found.bound >= np.sum(straight**2) * (1 - 1e-9)
    soft = unfold_softly(graph, start, nu, max_iter=20_000, tol=1e-6)
    assert soft.objective >= np.sum(straight**2)
    assert soft.bound >= soft.objective * (1 - 1e-9)


@pytest.mark.recovery
def test_points_on_a_segment_stay(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=30)[:, None] * rng.normal(size=3)
    model = MaximumVarianceUnfolding(
        n_neighbors=12, constraints="at_most", tol=1e-5, random_state=seed
    ).fit(X)
    centred = X - X.mean(axis=0)
    assert_allclose(model.variance_, np.sum(centred**2), rtol=1e-4)
    assert_allclose(cdist(model.embedding_, model.embedding_), cdist(X, X), atol=1e-2)


@pytest.mark.recovery
@pytest.mark.parametrize(
    ("constraints", "solver"),
    [("equal", "cvxpy"), ("at_most", "cvxpy"), ("at_most", "low_rank")],
)
def test_complete_graph_gives_the_centred_gram_matrix(constraints, solver, seed):
    X = np.random.default_rng(seed).normal(size=(9, 2))
    centred = X - X.mean(axis=0)
    model = MaximumVarianceUnfolding(
        n_neighbors=50, constraints=constraints, solver=solver, tol=1e-6, max_iter=20_000,
        random_state=0,
    ).fit(X)  # fmt: skip
    assert len(model.edges_) == 36
    Y = model.embedding_
    assert_allclose(Y @ Y.T, centred @ centred.T, atol=1e-3 * np.sum(centred**2))
    assert_allclose(model.variance_, np.sum(centred**2), rtol=1e-4)


@pytest.mark.recovery
def test_sheet_with_a_hole_is_closer_to_the_truth_than_by_isomap(seed):
    X, sheet = roll(600, seed % 3, hole=True)
    model = MaximumVarianceUnfolding(random_state=0).fit(X)
    _, _, ours = procrustes(sheet, model.embedding_)
    _, _, theirs = procrustes(sheet, Isomap(n_neighbors=6).fit_transform(X))
    assert ours < 0.01
    assert ours < theirs / 2


@pytest.mark.paper
@pytest.mark.slow
def test_two_eigenvalues_carry_the_trace_of_the_roll():
    X, sheet = roll(800)  # figure 2 of Weinberger and Saul: n = 800, k = 6
    model = MaximumVarianceUnfolding(random_state=0).fit(X)
    assert model.eigenvalues_[:2].sum() >= 0.98 * model.variance_
    assert abs(np.corrcoef(model.embedding_[:, 0], sheet[:, 0])[0, 1]) > 0.99


@pytest.mark.invariance
@pytest.mark.parametrize("constraints", ["equal", "at_most", "soft"])
def test_scale_and_rotation(constraints, seed):
    X = arc(25, seed)
    settings = {"n_neighbors": 4, "constraints": constraints, "random_state": 0, "tol": 1e-4}
    model = MaximumVarianceUnfolding(solver="low_rank", **settings).fit(X)
    wide = MaximumVarianceUnfolding(solver="low_rank", **settings).fit(8 * X)
    assert_allclose(wide.embedding_, 8 * model.embedding_, rtol=1e-9)
    assert_allclose(wide.alpha_, model.alpha_ / 64)
    assert_allclose(wide.dual_bound_, 64 * model.dual_bound_)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    turned = MaximumVarianceUnfolding(solver="low_rank", **settings).fit(X @ Q + 3)
    # both results are within the gap
    assert_allclose(turned.variance_, model.variance_, rtol=1e-3)
    again = MaximumVarianceUnfolding(solver="low_rank", **settings).fit(X[::-1])
    assert_allclose(again.variance_, model.variance_, rtol=1e-3)


@pytest.mark.invariance
def test_angles_join_neighbours_of_a_sample(seed):
    X = arc(20, seed)
    model = MaximumVarianceUnfolding(n_neighbors=3, angles=True, solver="low_rank").fit(X)
    nearest = np.argsort(cdist(X, X), axis=1)[:, :4]
    want = {
        (min(a, b), max(a, b)) for row in nearest for a in row.tolist() for b in row if a != b
    }
    assert {tuple(edge) for edge in model.edges_.tolist()} == want


@pytest.mark.invariance
def test_pipeline_tuned_by_grid_search(seed):
    X = arc(80, seed)
    target = np.arctan2(X[:, 1], X[:, 0])
    order = np.random.default_rng(seed).permutation(80)
    pipeline = make_pipeline(
        MaximumVarianceUnfolding(solver="low_rank", random_state=0), LinearRegression()
    )
    grid = {"maximumvarianceunfolding__n_neighbors": [8, 10]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(
        X[order], target[order]
    )
    assert search.best_score_ > 0.95


@pytest.mark.edge
def test_new_samples():
    X, sheet = roll(500)
    new, there = roll(100, 1)
    model = MaximumVarianceUnfolding(random_state=0).fit(X)
    assert_array_equal(model.transform(X), model.embedding_)
    line = LinearRegression().fit(model.embedding_, sheet)
    assert line.score(model.transform(new), there) > 0.9
    assert model.transform(new.astype(np.float32)).dtype == np.float32


@pytest.mark.edge
def test_raises_on_disconnected_graph():
    X = np.vstack([arc(20, 0), arc(12, 1) + 100, arc(9, 2) - 100])
    with pytest.raises(ValueError, match=r"3 components, of 20, 12, 9 samples.*n_neighbors"):
        MaximumVarianceUnfolding(n_neighbors=3).fit(X)


@pytest.mark.edge
def test_equal_samples_get_equal_positions():
    X = arc(15, 0)
    model = MaximumVarianceUnfolding(n_neighbors=4).fit(X)
    twice = MaximumVarianceUnfolding(n_neighbors=4).fit(np.repeat(X, 2, axis=0))
    assert_allclose(twice.embedding_, np.repeat(model.embedding_, 2, axis=0), rtol=1e-6)
    assert twice.kernel_.shape == (30, 30)
    assert_allclose(twice.kernel_[::2, ::2], model.kernel_, atol=1e-6)
    assert (squares(np.repeat(X, 2, axis=0), twice.edges_) > 0).all()


# a test of all estimators covers this warning
@pytest.mark.filterwarnings("ignore:n_components=")
@pytest.mark.edge
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("solver", ["auto", "low_rank"])
def test_few_samples(n, solver):
    X = np.arange(n)[:, None] * np.array([[3.0, 4.0]])
    model = MaximumVarianceUnfolding(3, solver=solver).fit(np.repeat(X, 2, axis=0))
    assert model.embedding_.shape == (2 * n, 3)
    want = 5 * np.repeat(np.arange(n), 2)
    distances = np.abs(want[:, None] - want)
    # edges may deviate by as much as the slack
    assert_allclose(cdist(model.embedding_, model.embedding_), distances, atol=0.2)
    assert_array_equal(model.transform(X), model.embedding_[::2])
    if n == 1:
        assert model.variance_ == model.dual_gap_ == 0


@pytest.mark.edge
def test_settings_that_contradict_each_other():
    with pytest.raises(ValueError, match="max_rank=1 is less than n_components=2"):
        MaximumVarianceUnfolding(max_rank=1).fit(arc(20, 0))


@pytest.mark.edge
def test_warns_if_not_converged():
    with pytest.warns(
        ConvergenceWarning, match="duality gap .* increase max_iter, max_rank, tol"
    ):
        MaximumVarianceUnfolding(solver="low_rank", max_iter=2).fit(arc(30, 0))


# a test of all estimators covers this warning
@pytest.mark.filterwarnings("ignore:n_components=")
@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["cvxpy", "low_rank"])
def test_kernel_holds_the_inner_products(solver, seed):
    X = arc(15, seed)
    model = MaximumVarianceUnfolding(20, n_neighbors=4, constraints="soft", solver=solver).fit(
        X
    )
    Y = model.embedding_
    assert_allclose(model.kernel_, Y @ Y.T, atol=1e-9)
    errors = squares(Y, model.edges_) / squares(X, model.edges_) - 1
    assert_allclose(model.edge_errors_, errors, atol=1e-9)
    assert model.score(X) <= 0
    assert model.score(X + 1e-3) > -0.2


@pytest.mark.invariance
@pytest.mark.parametrize("solver", ["low_rank", "cvxpy"])
@pytest.mark.parametrize("constraints", ["at_most", "soft"])
def test_points_are_centred(solver, constraints, seed):
    X = np.random.default_rng(seed).normal(size=(25, 3))
    model = MaximumVarianceUnfolding(
        constraints=constraints, solver=solver, n_neighbors=6, random_state=0, tol=0.05
    ).fit(X)
    deviation = np.sqrt(model.variance_ / len(X))
    assert np.abs(model.embedding_.mean(axis=0)).max() <= 1e-12 * deviation
    assert np.abs(model.kernel_.sum(axis=0)).max() <= 1e-11 * model.variance_


@pytest.mark.oracle
@pytest.mark.parametrize("dense_up_to", [0, 400])
@pytest.mark.parametrize("n_negative", [0, 1, 5])
def test_lowest_eigenvector_of_sum_zero_whatever_the_signs(
    monkeypatch, n_negative, dense_up_to
):
    """Weights of the soft form may be negative: then the vector of ones is not the lowest."""
    monkeypatch.setattr(unfolding_module, "DENSE_UP_TO", dense_up_to)
    rng = np.random.default_rng(0)
    i, j = np.nonzero(np.triu(rng.random((40, 40)) < 0.2, 1))
    w = rng.random(len(i))
    w[:n_negative] = -3.0
    L = np.zeros((40, 40))
    for a, b, weight in zip(i, j, w, strict=True):
        L[[a, b], [b, a]] -= weight
        L[[a, b], [a, b]] += weight

    value, v = unfolding_module.lowest_beyond_ones(sparse.csr_array(L))
    outside = L + 1e3 * np.ones((40, 40))
    assert_allclose(value, np.linalg.eigvalsh(outside)[0], rtol=1e-9)
    assert_allclose(L @ v, value * v, atol=1e-9)
    assert_allclose(v.sum(), 0, atol=1e-9)
