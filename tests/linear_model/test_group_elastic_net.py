"""Evidence for the squared norm in the group lasso, for groups left out, and for alpha="auto"."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from skmoderndata.linear_model import GroupLasso, GroupLassoClassifier, GroupLassoCV

LABELS = np.repeat(np.arange(5), [3, 2, 4, 3, 2])
PRECISE = {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10}


def drawn(seed, n=50):
    """Correlated columns, a target of a few groups, and weights of the samples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 14)) + rng.normal(size=(n, 1)) + 1.0
    X[rng.uniform(size=X.shape) < 0.3] = 0.0
    y = X[:, :5] @ [2.0, -1.0, 1.0, 3.0, -2.0] + rng.normal(size=n)
    return X, y, rng.uniform(0.2, 2.0, n)


def value(X, target, share, w, b, *, alpha, ridge, mix, weights, free=()):
    """Objective of the docstrings, for numbers or for variables of cvxpy; labels are Boolean."""
    f = X @ w + b
    if target.dtype == bool:
        sign = np.where(target, 1.0, -1.0)
        loss = cp.sum(cp.multiply(share, cp.logistic(-cp.multiply(sign, f))))
    else:
        loss = 0.5 * cp.sum(cp.multiply(share, cp.square(target - f)))
    norms = [
        weights[g] * cp.norm2(w[LABELS == g]) for g in range(5) if np.isfinite(weights[g])
    ]
    penalty = (1 - mix) * cp.sum(cp.hstack(norms)) + mix * cp.norm1(w)
    ridged = ~np.isin(LABELS, free)
    return loss + alpha * penalty + ridge / 2 * cp.sum_squares(w[ridged])


def minimum(X, target, share, *, positive=False, intercept=True, **settings):
    w = cp.Variable(14, nonneg=positive)
    b = cp.Variable()
    out = [w[LABELS == g] == 0 for g in range(5) if np.isinf(settings["weights"][g])]
    out += [] if intercept else [b == 0]
    problem = cp.Problem(cp.Minimize(value(X, target, share, w, b, **settings)), out)
    problem.solve(**PRECISE)
    return problem.value


def check(model, X, target, weight, free=()):
    """Compare the objective with cvxpy's minimum; the certificate bounds the difference."""
    alpha = getattr(model, "alpha_", model.alpha)
    settings = {
        "alpha": alpha,
        "ridge": model.ridge,
        "mix": model.l1_ratio,
        "weights": np.sqrt(np.bincount(LABELS))
        if model.group_weights is None
        else model.group_weights,
        "free": free,
    }
    share = weight / weight.sum()
    best = minimum(
        X, target, share, positive=model.positive, intercept=model.fit_intercept, **settings
    )
    w = np.ravel(model.coef_)
    b = float(np.ravel(model.intercept_)[0])
    reached = value(X, target, share, w, b, **settings).value
    assert model.dual_gap_ <= 1e-8
    assert reached <= best + 1e-7 * abs(best)  # accuracy of the interior point solver
    return reached, best


@pytest.mark.oracle
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("mix", [0.0, 0.4])
@pytest.mark.parametrize("logistic", [False, True])
def test_squared_norm_matches_cvxpy(form, positive, mix, logistic, seed):
    X, y, weight = drawn(seed)
    target = y > np.median(y) if logistic else y
    model = GroupLassoClassifier if logistic else GroupLasso
    settings = {"ridge": 0.3, "l1_ratio": mix, "positive": positive}
    fitted = model(0.05, LABELS, **settings).fit(form(X), target, sample_weight=weight)
    assert np.count_nonzero(fitted.coef_)
    check(fitted, X, target, weight)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [12, 50])
@pytest.mark.parametrize("intercept", [False, True])
def test_free_groups_are_exempt_from_the_squared_norm(n, intercept, seed):
    X, y, weight = drawn(seed, n)
    weights = np.array([1.0, 0.0, 2.0, np.inf, 1.5])
    settings = {"ridge": 0.5, "group_weights": weights, "fit_intercept": intercept}
    for form in (np.asarray, sparse.csr_array):
        model = GroupLasso(0.1, LABELS, **settings).fit(form(X), y, sample_weight=weight)
        check(model, X, y, weight, free=[1])
        assert_array_equal(model.coef_[LABELS == 3], 0)


@pytest.mark.oracle
def test_groups_of_one_feature_are_the_elastic_net(seed):
    X, y, _ = drawn(seed)
    model = GroupLasso(0.1, ridge=0.2).fit(X, y)
    plain = ElasticNet(alpha=0.3, l1_ratio=1 / 3, tol=1e-12, max_iter=100_000).fit(X, y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    # if the penalty of the groups is negligible, ridge regression remains
    labels = y > np.median(y)
    ridge = GroupLassoClassifier(1e-9, ridge=0.1).fit(X, labels)
    reference = LogisticRegression(C=10 / len(y), tol=1e-10, max_iter=1000).fit(X, labels)
    assert_allclose(ridge.coef_, reference.coef_, atol=1e-4)


@pytest.mark.oracle
def test_squared_norm_with_the_conic_route(seed):
    X, y, _ = drawn(seed)
    one, two = (
        GroupLasso(0.1, LABELS, ridge=0.4, solver=solver, tol=1e-6).fit(X, y)
        for solver in ("descent", "cvxpy")
    )
    assert_allclose(one.coef_, two.coef_, atol=1e-3)


@pytest.mark.certificate
@pytest.mark.filterwarnings("ignore:.*duality gap")
@pytest.mark.parametrize("max_iter", [1, 2, 3, 5])
@pytest.mark.parametrize("logistic", [False, True])
def test_gap_bounds_the_error_of_a_fit_that_is_stopped_early(logistic, max_iter, seed):
    X, y, _ = drawn(seed)
    target = y > np.median(y) if logistic else y
    model = GroupLassoClassifier if logistic else GroupLasso
    early = model(0.01, LABELS, ridge=0.05, max_iter=max_iter).fit(X, target)
    settings = {
        "alpha": 0.01, "ridge": 0.05, "mix": 0.0, "weights": np.sqrt(np.bincount(LABELS)),
    }  # fmt: skip
    share = np.full(len(y), 1 / len(y))
    best = minimum(X, target, share, **settings)
    w = np.ravel(early.coef_)
    reached = value(X, target, share, w, early.intercept_, **settings).value
    unit = np.log(2) if logistic else 0.5 * y.var()
    error = (reached - best) / unit
    assert (
        error <= early.dual_gap_ * (1 + 1e-6) + 1e-8
    )  # accuracy of the interior point solver
    assert max_iter > 1 or error > 1e-6


@pytest.mark.oracle
@pytest.mark.parametrize("model", [GroupLasso, GroupLassoCV, GroupLassoClassifier])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_groups_of_infinite_weight_are_left_out(model, form, seed):
    X, y, _ = drawn(seed)
    target = y > np.median(y) if model is GroupLassoClassifier else y
    weights = np.array([1.0, np.inf, 2.0, np.inf, 1.5])
    stay = ~np.isin(LABELS, [1, 3])
    settings = {
        "l1_ratio": 0.2,
        **({"alphas": 10} if model is GroupLassoCV else {"alpha": 0.02}),
    }
    fitted = model(groups=LABELS, group_weights=weights, **settings).fit(form(X), target)
    narrow = model(groups=LABELS[stay], group_weights=weights[[0, 2, 4]], **settings)
    narrow.fit(form(X[:, stay]), target)
    coef = np.ravel(fitted.coef_)
    assert_array_equal(coef[~stay], 0)
    assert_allclose(coef[stay], np.ravel(narrow.coef_), atol=1e-6)
    assert_array_equal(fitted.group_norms_[[1, 3]], 0)
    assert fitted.group_norms_[0] > 0


@pytest.mark.invariance
def test_left_out_groups_may_share_features_with_others(seed):
    X, y, _ = drawn(seed)
    groups = [[0, 1, 2, 3], [3, 4, 5], list(range(5, 14))]
    weights = [1.0, np.inf, 1.0]
    model = GroupLasso(0.05, groups, group_weights=weights, ridge=0.1).fit(X, y)
    assert model.coef_[4] == 0
    assert model.coef_[3] != 0
    again = GroupLasso(0.05, groups, group_weights=weights, ridge=0.1, warm_start=True)
    assert_allclose(again.fit(X, y).fit(X, y).coef_, model.coef_, atol=1e-6)


@pytest.mark.edge
@pytest.mark.parametrize("model", [GroupLasso, GroupLassoClassifier])
def test_some_weight_must_be_positive_and_finite(model):
    X, y, _ = drawn(0)
    with pytest.raises(ValueError, match="group_weights must be positive"):
        model(groups=LABELS, group_weights=[np.inf] * 5).fit(X, y > 0)
    with pytest.raises(ValueError, match="group_weights must be positive"):
        model(groups=LABELS, group_weights=[1, np.nan, 1, 1, 1]).fit(X, y > 0)


@pytest.mark.oracle
def test_automatic_penalty_has_the_smallest_held_out_loss(seed):
    X, y, weight = drawn(seed, 80)
    labels = np.where(y > np.median(y), "yes", "no")
    model = GroupLassoClassifier("auto", LABELS, cv=3).fit(X, labels, sample_weight=weight)
    assert model.alphas_[0] == pytest.approx(model.alpha_max_)
    best = model.log_loss_path_.mean(axis=1).argmin()
    assert model.alpha_ == model.alphas_[best]
    for a in (10, best):
        losses = []
        for train, test in StratifiedKFold(3).split(X, labels):
            one = GroupLassoClassifier(model.alphas_[a], LABELS)
            one.fit(X[train], labels[train], sample_weight=weight[train])
            losses.append(log_loss(labels[test], one.predict_proba(X[test]),
                                   sample_weight=weight[test]))  # fmt: skip
        # the path stops at a gap of 1e-4
        assert_allclose(model.log_loss_path_[a], losses, rtol=1e-2)
    fixed = GroupLassoClassifier(model.alpha_, LABELS).fit(X, labels, sample_weight=weight)
    assert_allclose(model.coef_, fixed.coef_, atol=1e-4)
    assert fixed.alphas_ is None


@pytest.mark.invariance
def test_automatic_penalty_ignores_samples_of_weight_zero():
    X, y, weight = drawn(0, 60)
    labels = y > 0
    weight[:20] = 0
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    model = GroupLassoClassifier("auto", LABELS, cv=folds)
    found = model.fit(X, labels, sample_weight=weight).alpha_
    folds = [(np.arange(10), np.arange(10, 40)), (np.arange(10, 40), np.arange(10))]
    model = GroupLassoClassifier("auto", LABELS, cv=folds)
    assert found == model.fit(X[20:], labels[20:], sample_weight=weight[20:]).alpha_
    with pytest.raises(ValueError, match="fold 0 needs held-out samples"):
        GroupLassoClassifier("auto", cv=[(np.flatnonzero(labels), np.arange(9))]).fit(
            X, labels
        )


@pytest.mark.recovery
def test_squared_norm_keeps_copies_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6))
    # groups 2 and 3 are copies of groups 0 and 1
    X = np.hstack([X, X + 1e-3 * rng.normal(size=X.shape)])
    y = X[:, :3].sum(axis=1) + 0.1 * rng.normal(size=100)
    norms = GroupLasso(0.05, 3, ridge=0.1).fit(X, y).group_norms_
    assert_allclose(norms[0], norms[2], rtol=0.05)
