"""Evidence that GroupLasso solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from skmoderndata._solvers.codes.group_lasso import (
    Columns,
    Penalty,
    WorkingSet,
    descend,
    group_lasso_gap,
    one_thread_if_small,
)
from skmoderndata._solvers.codes.group_newton import newton_direction
from skmoderndata.linear_model import GroupLasso
from tests.oracles.group_lasso import block_descent, conic_minimum, dual_norm, objective


def planted(seed, n=60, p=40, n_groups=9):
    """Correlated columns with means, labels in any order, two groups with an influence."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)) / np.sqrt(p) * 3)
    X += rng.normal(size=p)
    labels = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, p - n_groups)])
    rng.shuffle(labels)
    y = X @ np.where(labels < 2, rng.normal(size=p), 0.0) + rng.normal(size=n)
    return X, y, labels


def value(model, X, y, labels, **rest):
    return objective(
        X, y, labels, model.alpha, model.coef_, model.intercept_, model.l1_ratio, **rest
    )


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("share", [0.5, 0.05, 0.002])
def test_agrees_with_a_conic_solver(share, l1_ratio, positive, seed):
    X, y, labels = planted(seed)
    settings = {"groups": labels, "l1_ratio": l1_ratio, "positive": positive}
    alpha = share * GroupLasso(1e9, **settings).fit(X, y).alpha_max_
    model = GroupLasso(alpha, **settings).fit(X, y)
    least, _ = conic_minimum(X, y, labels, alpha, l1_ratio, positive)
    reached = value(model, X, y, labels)
    # the objective does not exceed the value of the conic solver
    assert reached <= least * (1 + 1e-9) + 1e-10 * np.var(y)
    assert_allclose(reached, least, rtol=1e-6)
    assert not positive or model.coef_.min() >= 0


@pytest.mark.oracle
def test_coefficients_match_plain_block_descent(seed):
    X, y, labels = planted(seed, n=200, p=20)
    alpha = 0.1 * GroupLasso(1e9, groups=labels).fit(X, y).alpha_max_
    model = GroupLasso(alpha, groups=labels).fit(X, y)
    w = block_descent(X, y, labels, alpha)
    assert_allclose(model.coef_, w, atol=1e-6 * np.abs(w).max())


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_more_features_than_samples(l1_ratio, positive, seed):
    X, y, labels = planted(seed, n=20, p=60)
    settings = {"groups": labels, "l1_ratio": l1_ratio, "positive": positive}
    alpha = 0.003 * GroupLasso(1e9, **settings).fit(X, y).alpha_max_
    model = GroupLasso(alpha, **settings).fit(X, y)
    least, _ = conic_minimum(X, y, labels, alpha, l1_ratio, positive)
    reached = value(model, X, y, labels)
    assert reached <= least * (1 + 1e-9) + 1e-10 * np.var(y)
    # the tolerance is the accuracy of the conic solver
    assert_allclose(reached, least, rtol=1e-5)
    assert model.dual_gap_ <= 1e-8
    # if there are many features and few are used, working with inner products or with columns
    # gives equal results
    few = GroupLasso(0.3, labels).fit(X, y)
    again = GroupLasso(0.3, labels).fit(sparse.csc_array(X), y)
    assert_allclose(value(few, X, y, labels), value(again, X, y, labels), rtol=1e-8)


@pytest.mark.oracle
def test_coefficients_of_the_conic_solver(seed):
    X, y, labels = planted(seed)
    model = GroupLasso(0.3, labels, fit_intercept=False).fit(X, y)
    # the error of the coefficients of the conic solver is the root of the error of its objective
    _, coef = conic_minimum(X, y, labels, 0.3, intercept=False)
    assert_allclose(model.coef_, coef, atol=1e-4 * np.abs(coef).max())
    assert model.intercept_ == 0


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("route", ["single groups", "l1_ratio=1"])
def test_lasso_of_scikit_learn(route, positive, seed):
    X, y, labels = planted(seed)
    settings = {"groups": labels, "l1_ratio": 1} if route == "l1_ratio=1" else {}
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    for alpha in (0.5, 0.05):
        model = GroupLasso(alpha, positive=positive, **settings).fit(X, y, weight)
        lasso = Lasso(alpha, positive=positive, tol=1e-13, max_iter=10**6).fit(X, y, weight)
        assert_allclose(model.coef_, lasso.coef_, atol=1e-8)
        assert_allclose(model.intercept_, lasso.intercept_, atol=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("mix", [0.0, 0.2, 0.7, 1.0])
def test_dual_norm_by_bisection(mix, seed):
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 2, 7, 30])
    edges = np.concatenate([[0], np.cumsum(sizes)])
    c = rng.normal(size=40)
    weights = rng.uniform(0.1, 3, 4)
    c[5] = c[4]
    for positive, used in ((False, c), (True, np.maximum(c, 0))):
        wanted = [dual_norm(used[edges[g] : edges[g + 1]], weights[g], mix) for g in range(4)]
        penalty = Penalty(edges, weights, 1.0, mix, positive)
        assert_allclose(penalty.dual_norms(c), wanted, rtol=1e-10)
    assert_array_equal(Penalty(edges, weights, 1.0, mix).dual_norms(0 * c), 0)


@pytest.mark.oracle
@pytest.mark.parametrize(("samples", "times"), [(0, 1), (20, 1), (60, 1), (200, 15)])
def test_newton_direction_by_the_hessian(samples, times, seed):
    """Curvature by differences; systems of the size of the coefficients, or of the samples."""
    rng = np.random.default_rng(seed)
    sizes = np.tile([1, 9, 1, 5, 2, 6, 4, 8, 1, 3], times)
    first = np.cumsum(sizes) - sizes
    k = 40 * times
    z = rng.normal(size=k)
    slope = rng.normal(size=k)
    lams = rng.uniform(0.5, 2, 10 * times)
    rows = rng.normal(size=(k, samples))

    def gradient(z):
        norms = np.sqrt(np.add.reduceat(z * z, first, axis=-1))
        return np.repeat(lams / norms, sizes, axis=-1) * z

    h = 1e-6
    H = (gradient(z + h * np.eye(k)) - gradient(z - h * np.eye(k))) / (2 * h) + rows @ rows.T
    if samples == 0:  # the norms alone have no curvature along the groups
        slope = H @ slope
    d = newton_direction(rows, slope, z, first, lams / np.sqrt(np.add.reduceat(z * z, first)))
    # the tolerance is the accuracy of differences, or of conjugate gradients
    atol = 1e-6 * np.abs(H).max() * np.abs(d).max() if times == 1 else 0.0
    assert np.linalg.norm(H @ d + slope) <= 1e-2 * np.linalg.norm(slope)
    assert times > 1 or np.abs(H @ d + slope).max() <= atol


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_sweeps_by_columns_and_by_rows_with_the_same_inner_products(positive, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 12))
    y = rng.normal(size=30)
    X[:, 11] = X[:, 10]
    edges = np.array([0, 1, 4, 10, 12])
    weights = np.array([0.3, 0.2, 0.5, 0.1])

    work = WorkingSet(Columns(X), edges)
    work.add(np.array([3, 0]))
    work.add(np.array([1, 2]))
    assert_allclose(work.Z @ work.Z.T, X[:, work.columns].T @ X[:, work.columns], atol=1e-12)
    assert work.Z.shape == (12, 11)

    target = work.target(y, X.T @ y)
    assert_allclose(work.Z @ target, X[:, work.columns].T @ y, atol=1e-12)

    # make a few sweeps over rows of the factor, and over columns of X
    rest = (weights[work.groups], 0.05, work.largest, positive, 5)
    a = np.zeros(12)
    b = np.zeros(12)
    r = y.copy()
    t = target.copy()
    one = descend(work.Z, work.edges, t, work.blocks, a, *rest)
    columns = np.ascontiguousarray(X[:, work.columns].T)
    two = descend(columns, work.edges, r, work.blocks, b, *rest)

    assert one == two
    assert_allclose(b, a, atol=1e-10)
    assert_allclose(t, target - a @ work.Z, atol=1e-10)
    assert_allclose(r, y - b @ columns, atol=1e-10)


@pytest.mark.certificate
@pytest.mark.parametrize("l1_ratio", [0.0, 0.2])
def test_newton_steps_with_more_coefficients_than_samples(l1_ratio, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 400)) @ (np.eye(400) + 0.5 * np.eye(400, k=1))
    y = X[:, :40] @ rng.normal(size=40) + rng.normal(size=60)
    settings = {"groups": 10, "l1_ratio": l1_ratio, "tol": 1e-12}
    alpha = 0.05 * GroupLasso(1e9, **settings).fit(X, y).alpha_max_
    model = GroupLasso(alpha, **settings, max_iter=300).fit(X, y)
    assert np.count_nonzero(model.coef_) > 60
    assert model.dual_gap_ <= 1e-12


@pytest.mark.certificate
@pytest.mark.parametrize("settings", [{}, {"positive": True}, {"groups": 10, "l1_ratio": 0.3}])
def test_near_interpolation(settings, seed):
    """Before few columns are left, more have coefficients than there are samples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 400))
    y = X[:, :60] @ rng.normal(size=60) + 0.5 * rng.normal(size=100)
    alpha = 0.001 * GroupLasso(1e9, **settings).fit(X, y).alpha_max_
    model = GroupLasso(alpha, **settings).fit(X, y)
    assert model.dual_gap_ <= 1e-8
    assert np.count_nonzero(model.coef_) <= 100 or "groups" in settings


@pytest.mark.certificate
def test_newton_steps_reach_rounding_in_few_sweeps(seed):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, size=(300, 5))
    # powers make the columns ill conditioned
    X = np.hstack([t[:, [j]] ** np.arange(1, 7) for j in range(5)])
    y = np.sin(3 * t[:, 0]) + t[:, 1] ** 3 + 0.1 * rng.normal(size=300)
    model = GroupLasso(0.003, 6, tol=1e-13, max_iter=60).fit(X, y)
    assert model.dual_gap_ <= 1e-13


@pytest.mark.certificate
@pytest.mark.parametrize("l1_ratio", [0.0, 0.4])
def test_gap_proves_the_optimum_and_detects_errors(l1_ratio, seed):
    X, y, labels = planted(seed)
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    model = GroupLasso(0.1, labels, l1_ratio=l1_ratio, fit_intercept=False).fit(X, y)
    penalty = Penalty(edges, np.sqrt(sizes), 0.1 * len(y), l1_ratio)
    columns = Columns(X[:, order])
    gap = group_lasso_gap(columns, y, model.coef_[order], penalty)
    assert gap <= 1e-8 * (0.5 * y @ y) * 1.001
    assert_allclose(gap / (0.5 * y @ y), model.dual_gap_, atol=1e-13)
    # for other coefficients, the gap bounds the distance to the optimum from above
    w = model.coef_ + 0.01 * np.random.default_rng(seed).normal(size=len(labels))
    worse = objective(X, y, labels, 0.1, w, l1_ratio=l1_ratio)
    missing = len(y) * (worse - value(model, X, y, labels))
    assert 0 < missing <= group_lasso_gap(columns, y, w[order], penalty)


@pytest.mark.certificate
def test_optimality_conditions_of_each_group(seed):
    X, y, labels = planted(seed)
    model = GroupLasso(0.2, labels, tol=1e-14).fit(X, y)
    slopes = X.T @ (y - model.predict(X)) / len(y)
    for g in range(labels.max() + 1):
        members = labels == g
        bound = 0.2 * np.sqrt(members.sum())
        norm = np.linalg.norm(model.coef_[members])
        assert_allclose(norm, model.group_norms_[g], rtol=1e-12)
        if norm > 0:
            assert_allclose(slopes[members], bound * model.coef_[members] / norm, atol=1e-6)
        else:
            assert np.linalg.norm(slopes[members]) <= bound + 1e-6


@pytest.mark.certificate
def test_alpha_max_is_the_border(seed):
    X, y, labels = planted(seed)
    for settings in ({}, {"l1_ratio": 0.5}, {"positive": True}):
        top = GroupLasso(1.0, labels, **settings).fit(X, y).alpha_max_
        assert not GroupLasso(1.0001 * top, labels, **settings).fit(X, y).coef_.any()
        assert GroupLasso(0.99 * top, labels, **settings).fit(X, y).coef_.any()


@pytest.mark.recovery
def test_planted_groups_are_found(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 300))
    labels = rng.permutation(np.repeat(np.arange(60), 5))
    w = np.where(labels < 4, 1.0, 0.0)
    y = X @ w + 0.5 * rng.normal(size=200)
    model = GroupLasso(0.25, labels).fit(X, y)
    assert_array_equal(np.flatnonzero(model.group_norms_), np.arange(4))
    # the mixed penalty finds single coefficients within groups
    w = np.where((labels < 4) & (rng.random(300) < 0.5), 2.0, 0.0)
    mixed = GroupLasso(0.3, labels, l1_ratio=0.5).fit(X, X @ w + 0.1 * rng.normal(size=200))
    plain = GroupLasso(0.3, labels).fit(X, X @ w)
    assert np.count_nonzero(mixed.coef_[w == 0]) < np.count_nonzero(plain.coef_[w == 0])
    assert np.all(mixed.coef_[w != 0] > 0)


@pytest.mark.paper
def test_orthonormal_groups_shrink_in_closed_form(seed):
    """Yuan and Lin (2006), equation 2.4: least squares of a group, shortened."""
    rng = np.random.default_rng(seed)
    X = np.linalg.qr(rng.normal(size=(50, 12)))[0] * np.sqrt(50)
    y = X @ rng.normal(size=12)
    labels = np.repeat([0, 1, 2], [2, 4, 6])
    model = GroupLasso(0.5, labels, fit_intercept=False, tol=1e-14).fit(X, y)
    least_squares = X.T @ y / 50
    for g in range(3):
        s = least_squares[labels == g]
        factor = max(0.0, 1 - 0.5 * np.sqrt(len(s)) / np.linalg.norm(s))
        assert_allclose(model.coef_[labels == g], factor * s, atol=1e-7)


@pytest.mark.invariance
def test_names_order_and_form_of_groups(seed):
    X, y, labels = planted(seed)
    model = GroupLasso(0.1, labels).fit(X, y)
    lists = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    assert_array_equal(GroupLasso(0.1, lists).fit(X, y).coef_, model.coef_)
    names = np.array(list("abcdefghi"))[labels]
    assert_array_equal(GroupLasso(0.1, names).fit(X, y).coef_, model.coef_)
    order = np.random.default_rng(seed).permutation(len(labels))
    turned = GroupLasso(0.1, labels[order]).fit(X[:, order], y)
    # the tolerance is the root of the gap
    assert_allclose(turned.coef_, model.coef_[order], atol=1e-5)
    blocks = GroupLasso(0.1, 7).fit(X, y)
    assert_array_equal(blocks.groups_, np.arange(40) // 7)


@pytest.mark.invariance
def test_rotation_within_groups(seed):
    X, y, labels = planted(seed)
    model = GroupLasso(0.1, labels, tol=1e-13).fit(X, y)
    Q = np.zeros((40, 40))
    for g in range(labels.max() + 1):
        members = np.flatnonzero(labels == g)
        rotation = np.linalg.qr(
            np.random.default_rng(seed + g).normal(size=(len(members), len(members)))
        )[0]
        Q[np.ix_(members, members)] = rotation
    turned = GroupLasso(0.1, labels, tol=1e-13).fit(X @ Q, y)
    # the tolerance is the root of the gap
    assert_allclose(Q @ turned.coef_, model.coef_, atol=1e-5)


@pytest.mark.invariance
@pytest.mark.parametrize("intercept", [False, True])
def test_sparse_input_is_the_same_problem(intercept, seed):
    X, y, labels = planted(seed)
    X = np.where(np.abs(X) > 1, X, 0.0)
    weight = np.random.default_rng(seed).integers(0, 3, len(y))
    settings = {"alpha": 0.1, "groups": labels, "fit_intercept": intercept, "tol": 1e-13}
    dense = GroupLasso(**settings).fit(X, y, weight)
    for form in (sparse.csr_array, sparse.csc_array):
        model = GroupLasso(**settings).fit(form(X), y, weight)
        # the tolerance is the root of the gap
        assert_allclose(model.coef_, dense.coef_, atol=1e-6)
        assert_allclose(model.predict(form(X)), dense.predict(X), atol=1e-5)
        assert_allclose(model.alpha_max_, dense.alpha_max_, rtol=1e-10)


@pytest.mark.invariance
def test_weights_count_rows_and_scale_does_not_matter(seed):
    X, y, labels = planted(seed, n=40)
    weight = np.arange(40) % 3
    settings = {"alpha": 0.1, "groups": labels, "tol": 1e-13}
    weighted = GroupLasso(**settings).fit(X, y, weight)
    repeated = GroupLasso(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    # the tolerance is the root of the gap
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    scaled = GroupLasso(0.1, labels, tol=1e-13).fit(X, y, 1000.0 * weight)
    assert_allclose(scaled.coef_, weighted.coef_, atol=1e-6)


@pytest.mark.invariance
def test_units(seed):
    X, y, labels = planted(seed)
    model = GroupLasso(0.1, labels, tol=1e-13).fit(X, y)
    for a, b in ((1e6, 1e-3), (1e-90, 1e90), (1e90, 1e90)):
        scaled = GroupLasso(0.1 * a * b, labels, tol=1e-13).fit(a * X, b * y)
        assert_allclose(scaled.coef_ * a / b, model.coef_, atol=1e-6)
        assert_allclose(scaled.intercept_ / b, model.intercept_, atol=1e-5)
        assert_allclose(scaled.alpha_max_ / a / b, model.alpha_max_, rtol=1e-9)


@pytest.mark.invariance
def test_warm_start_path_ends_where_a_cold_start_ends(seed):
    X, y, labels = planted(seed)
    labels = np.arange(40) // 5
    warm = GroupLasso(groups=5, warm_start=True, tol=1e-12)
    for alpha in np.geomspace(2, 0.02, 8):
        warm.set_params(alpha=alpha).fit(X, y)
        cold = GroupLasso(alpha, labels, tol=1e-12).fit(X, y)
        assert_allclose(
            warm.coef_, cold.coef_, atol=1e-4
        )  # the tolerance is the root of the gap, divided by small singular values
    again = warm.n_iter_
    assert warm.fit(X, y).n_iter_ <= again
    assert warm.fit(X[:, :20], y).coef_.shape == (20,)  # other features lead to a cold start


def test_warm_start_of_other_features_needs_other_groups():
    X, y, labels = planted(0)
    model = GroupLasso(0.1, labels, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="groups has 40 labels, and X 20 features"):
        model.fit(X[:, :20], y)


@pytest.mark.invariance
def test_targets_are_separate_and_float32_is_preserved(seed):
    X, y, labels = planted(seed)
    Y = np.column_stack([y, np.roll(y, 7)])
    both = GroupLasso(0.1, labels, tol=1e-13).fit(X, Y)
    one = GroupLasso(0.1, labels, tol=1e-13).fit(X, Y[:, 1])
    assert both.coef_.shape == (2, 40)
    assert both.group_norms_.shape == (2, 9)
    # the tolerance is the root of the gap
    assert_allclose(both.coef_[1], one.coef_, atol=1e-5)
    assert both.predict(X).shape == Y.shape
    single = GroupLasso(0.1, labels).fit(X.astype(np.float32), y.astype(np.float32))
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, both.coef_[0], atol=1e-3)  # the data are in single precision


@pytest.mark.certificate
@pytest.mark.parametrize("l1_ratio", [0.0, 0.2])
def test_groups_too_wide_to_store_their_inner_products(l1_ratio, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 1100)) + rng.normal(size=(50, 1))
    y = X[:, :20].sum(axis=1) + X[:, 1080:].sum(axis=1)
    settings = {"groups": [np.arange(1060), np.arange(1060, 1100)], "l1_ratio": l1_ratio}
    alpha = 0.1 * GroupLasso(1e9, **settings).fit(X, y).alpha_max_
    assert GroupLasso(alpha, **settings).fit(X, y).dual_gap_ <= 1e-8


def test_small_penalty_is_least_squares(seed):
    X, y, labels = planted(seed, n=100)
    model = GroupLasso(1e-7, labels, tol=1e-11).fit(X, y)
    reference = LinearRegression().fit(X, y)
    # the loss exceeds that of least squares by at most the penalty of the least squares
    # coefficients
    excess = np.mean((y - model.predict(X)) ** 2) - np.mean((y - reference.predict(X)) ** 2)
    assert 0 <= excess <= 2e-7 * np.sqrt(40) * np.abs(reference.coef_).sum()


def test_pipeline_and_search():
    X, y, labels = planted(0)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), GroupLasso(groups=labels)),
        {"grouplasso__alpha": [0.01, 0.1, 1.0], "grouplasso__l1_ratio": [0.0, 0.5]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.8


@pytest.mark.edge
def test_degenerate_input():
    X, y, labels = planted(0)
    constant = GroupLasso(0.1, labels).fit(X, np.full(60, 3.0))
    assert not constant.coef_.any()
    assert constant.intercept_ == 3
    assert constant.dual_gap_ == 0
    # include zero, constant and repeated columns
    X[:, 3], X[:, 5], X[:, 8] = 0.0, 7.0, X[:, 9]
    model = GroupLasso(0.05, labels).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert_allclose(model.coef_[[3, 5]], 0)
    assert model.dual_gap_ <= 1e-8

    same = GroupLasso(0.05).fit(
        X, y
    )  # the split between equal columns is arbitrary, but the sum is not
    assert_allclose(same.predict(X), Lasso(0.05, tol=1e-12, max_iter=10**6).fit(X, y).predict(X),
                    atol=1e-5)  # fmt: skip

    assert not GroupLasso(0.1, 4).fit(np.zeros((5, 8)), np.arange(5.0)).coef_.any()
    one = GroupLasso(0.1).fit([[2.0]], [3.0])
    assert_allclose(one.predict([[2.0]]), 3.0)
    wide = GroupLasso(0.01, 3).fit(X[:4], y[:4])
    assert wide.dual_gap_ <= 1e-8
    whole = GroupLasso(0.1, 40).fit(X, y)  # a single group contains all columns
    assert whole.group_norms_.shape == (1,)


@pytest.mark.edge
def test_threads_of_the_blas_are_given_back():
    def threads():
        return [
            pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
        ]

    X, y, labels = planted(0)
    before = threads()
    with one_thread_if_small(X.size):
        assert set(threads()) == {1}
    GroupLasso(0.1, labels).fit(X, y)
    with one_thread_if_small(10**9):
        assert threads() == before


@pytest.mark.edge
def test_warning_and_weights_of_groups():
    X, y, labels = planted(0)
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap .* increase max_iter"):
        GroupLasso(0.001, 2, max_iter=1).fit(X[:30] ** 3, y[:30])
    weighted = GroupLasso(0.3, labels, group_weights=[9.0, *np.ones(8)]).fit(X, y)
    least = objective(X, y, labels, 0.3, weighted.coef_, weighted.intercept_,
                      weights=[9.0, *np.ones(8)])  # fmt: skip
    plain = GroupLasso(0.3, labels).fit(X, y)
    assert least < objective(X, y, labels, 0.3, plain.coef_, plain.intercept_,
                             weights=[9.0, *np.ones(8)])  # fmt: skip


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "groups has 39 labels, and X 40 features",
            lambda X, labels, y: GroupLasso(groups=labels[:-1]).fit(X, y),
        ),
        (
            r"groups leave out 38 of 40 features, the first is 0",
            lambda X, labels, y: GroupLasso(groups=[[1], [2]]).fit(X, y),
        ),
        (
            r"groups\[1\] lists a feature twice",
            lambda X, labels, y: GroupLasso(groups=[list(range(40)), [3, 3]]).fit(X, y),
        ),
        (
            r"groups\[0\] names feature 40, and X has",
            lambda X, labels, y: GroupLasso(groups=[[40]]).fit(X, y),
        ),
        (
            "group_weights must be positive numbers, one for each",
            lambda X, labels, y: GroupLasso(groups=labels, group_weights=np.zeros(9)).fit(
                X, y
            ),
        ),
        (
            r"group_weights must be positive .* got shape",
            lambda X, labels, y: GroupLasso(groups=labels, group_weights=np.ones(3)).fit(X, y),
        ),
        (
            "must contain at least one non-zero",
            lambda X, labels, y: GroupLasso(groups=labels).fit(X, y, np.zeros(60)),
        ),
    ],
)
def test_errors_name_the_remedy(message, call):
    X, y, labels = planted(0)
    with pytest.raises(ValueError, match=message):
        call(X, labels, y)


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.3])
def test_the_statement_in_cvxpy_has_the_same_optimum(l1_ratio, positive, seed):
    X, y, labels = planted(seed)
    given = {"groups": labels, "l1_ratio": l1_ratio, "positive": positive}
    ours = GroupLasso(0.1, **given).fit(X, y)
    stated = GroupLasso(0.1, solver="cvxpy", tol=1e-6, **given).fit(X, y)
    assert stated.dual_gap_ <= 1e-6
    # the tolerance is the root of the gap
    assert_allclose(stated.coef_, ours.coef_, atol=1e-3)
    assert_allclose(stated.alpha_max_, ours.alpha_max_, rtol=1e-12)
    with pytest.raises(ValueError, match="needs dense X"):
        stated.fit(sparse.csr_array(X), y)
