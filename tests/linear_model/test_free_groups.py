"""Groups of weight 0: their coefficients are free, as the intercept is."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LinearRegression

from skmoderndata.linear_model import GroupLasso, GroupLassoCV

LABELS = np.repeat(np.arange(6), [3, 2, 4, 3, 2, 4])
# Weights of the groups; groups 1 and 4 are unpenalised.
WEIGHTS = np.array([1.5, 0.0, 2.0, 1.0, 0.0, 2.0])
FREE = np.isin(LABELS, [1, 4])


def drawn(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 18)) + 0.7 * rng.normal(size=(n, 1)) + 2.0
    X[rng.uniform(size=X.shape) < 0.3] = 0.0
    w = np.zeros(18)
    w[[3, 4, 5, 6, 12]] = [3.0, -2.0, 1.0, -1.5, 4.0]
    return X, X @ w + rng.normal(size=n) + 5.0, rng.uniform(0.2, 2.0, n)


def stated(X, y, weight, *, alpha, mix, intercept):
    """Optimum of the problem as the docstring has it, solved by cvxpy."""
    w = cp.Variable(X.shape[1])
    b = cp.Variable() if intercept else 0.0
    share = weight / weight.sum()
    loss = 0.5 * cp.sum(cp.multiply(share, cp.square(y - X @ w - b)))
    norms = [WEIGHTS[g] * cp.norm2(w[LABELS == g]) for g in range(6)]
    penalty = (1 - mix) * cp.sum(cp.hstack(norms)) + mix * cp.norm1(w)
    problem = cp.Problem(cp.Minimize(loss + alpha * penalty))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9)
    return problem.value, w.value


def value(model, X, y, weight):
    residual = y - model.predict(X)
    coef = model.coef_
    norms = [WEIGHTS[g] * np.linalg.norm(coef[LABELS == g]) for g in range(6)]
    penalty = (1 - model.l1_ratio) * np.sum(norms) + model.l1_ratio * np.abs(coef).sum()
    return 0.5 * np.average(residual**2, weights=weight) + model.alpha * penalty


@pytest.mark.oracle
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("mix", [0.0, 0.4])
@pytest.mark.parametrize("alpha", [0.05, 0.8])
def test_free_groups_match_cvxpy(form, intercept, mix, alpha, seed):
    X, y, weight = drawn(seed)
    best, w = stated(X, y, weight, alpha=alpha, mix=mix, intercept=intercept)
    settings = {"l1_ratio": mix, "group_weights": WEIGHTS, "fit_intercept": intercept}
    model = GroupLasso(alpha, LABELS, **settings).fit(form(X), y, sample_weight=weight)
    assert model.dual_gap_ <= 1e-8
    assert abs(value(model, X, y, weight) - best) <= 1e-6 * best
    assert_allclose(model.coef_, w, atol=1e-3 * np.abs(w).max())


@pytest.mark.certificate
def test_gap_bounds_the_distance_to_the_optimum(seed):
    X, y, weight = drawn(seed)
    settings = {"groups": LABELS, "group_weights": WEIGHTS}
    model = GroupLasso(0.05, **settings).fit(X, y, sample_weight=weight)
    with pytest.warns(UserWarning, match="relative duality gap"):
        early = GroupLasso(0.05, max_iter=1, **settings).fit(X, y, sample_weight=weight)
    missing = value(early, X, y, weight) - value(model, X, y, weight)

    # the unit is half the variance that the free columns leave
    plain = LinearRegression().fit(X[:, FREE], y, sample_weight=weight)
    unit = 0.5 * np.average((y - plain.predict(X[:, FREE])) ** 2, weights=weight)
    assert 0 < missing <= unit * (early.dual_gap_ + 1e-7)


@pytest.mark.invariance
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_above_alpha_max_only_free_groups_are_used(form, seed):
    X, y, _ = drawn(seed)
    settings = {"groups": LABELS, "group_weights": WEIGHTS}
    largest = GroupLasso(1.0, **settings).fit(form(X), y).alpha_max_
    above = GroupLasso(1.001 * largest, **settings).fit(form(X), y)
    assert_array_equal(np.flatnonzero(above.group_norms_), [1, 4])
    plain = LinearRegression().fit(X[:, FREE], y)
    assert_allclose(above.coef_[FREE], plain.coef_, rtol=1e-9)
    assert_allclose(above.intercept_, plain.intercept_, rtol=1e-9)
    below = GroupLasso(0.99 * largest, **settings).fit(form(X), y)
    assert np.count_nonzero(below.group_norms_) > 2


@pytest.mark.invariance
def test_small_weights_approach_free_groups(seed):
    X, y, _ = drawn(seed)
    nearly = np.where(WEIGHTS == 0, 1e-6, WEIGHTS)
    model = GroupLasso(0.3, LABELS, group_weights=WEIGHTS).fit(X, y)
    limit = GroupLasso(0.3, LABELS, group_weights=nearly).fit(X, y)
    assert_allclose(model.coef_, limit.coef_, atol=1e-3)
    settings = {"group_weights": WEIGHTS, "solver": "cvxpy", "tol": 1e-6}
    by_cvxpy = GroupLasso(0.3, LABELS, **settings).fit(X, y)
    assert_allclose(model.coef_, by_cvxpy.coef_, atol=1e-4)

    # compare starts, targets and units
    targets = GroupLasso(0.3, LABELS, group_weights=WEIGHTS).fit(X, np.column_stack([-y, y]))
    assert_allclose(targets.coef_[1], model.coef_, atol=1e-6)
    again = model.set_params(warm_start=True).fit(X, y)
    assert again.n_iter_ <= 2
    scaled = GroupLasso(300.0, LABELS, group_weights=WEIGHTS).fit(1e3 * X, y)
    assert_allclose(1e3 * scaled.coef_, model.coef_, atol=1e-6)


@pytest.mark.edge
def test_dependent_and_overlapping_free_columns(seed):
    X, y, _ = drawn(seed)
    X[:, 4] = 2.0 * X[:, 3]  # this column lies in the span of the free group 1
    X[:, 13] = 7.0  # this column of the free group 4 is constant
    model = GroupLasso(0.3, LABELS, group_weights=WEIGHTS).fit(X, y)
    assert model.dual_gap_ <= 1e-8
    assert np.isfinite(model.coef_).all()
    assert model.coef_[13] == 0

    # a penalised group gains nothing from a column that is free elsewhere
    lists = [[0, 1, 2], [2, 3], list(range(4, 18))]
    latent = GroupLasso(0.1, lists, group_weights=[0.0, 1.0, 3.0]).fit(X, y)
    assert latent.dual_gap_ <= 1e-8
    assert latent.latent_coef_[3] == 0

    # free columns explain these targets
    exact = GroupLasso(0.1, LABELS, group_weights=WEIGHTS).fit(X, X[:, 12] - 3.0)
    assert_allclose(exact.coef_, np.eye(18)[12], atol=1e-9)
    assert_allclose(exact.intercept_, -3.0, rtol=1e-9)
    assert not exact.coef_[~FREE].any()


@pytest.mark.invariance
def test_path_has_free_groups_in_every_fold(seed):
    X, y, weight = drawn(seed)
    model = GroupLassoCV(20, LABELS, group_weights=WEIGHTS, cv=3).fit(X, y, weight)
    single = GroupLasso(model.alpha_, LABELS, group_weights=WEIGHTS).fit(X, y, weight)
    assert_allclose(model.coef_, single.coef_, atol=1e-3 * np.abs(single.coef_).max())
    assert (model.group_norms_[[1, 4]] > 0).all()
    assert_allclose(model.alphas_[0], single.alpha_max_, rtol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize("cls", [GroupLasso, GroupLassoCV])
def test_raises_if_weights_leave_no_problem(cls):
    X, y, _ = drawn(0)
    with pytest.raises(ValueError, match="at least one must be positive"):
        cls(groups=LABELS, group_weights=np.zeros(6)).fit(X, y)
    with pytest.raises(ValueError, match=r"positive=True\) penalises every group"):
        cls(groups=LABELS, group_weights=WEIGHTS, positive=True).fit(X, y)
    cls(groups=LABELS, group_weights=WEIGHTS, positive=True, l1_ratio=0.5).fit(X, y)
