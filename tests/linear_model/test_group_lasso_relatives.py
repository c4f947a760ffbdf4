"""Evidence on overlapping groups, the logistic loss and the path of the group lasso."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.linear_model import GroupLasso, GroupLassoClassifier, GroupLassoCV
from tests.oracles.group_lasso import dual_norm, latent_minimum, logistic_objective, objective

# Overlapping groups of 32 features.
CHAIN = [list(range(first, first + 5)) for first in range(0, 28, 3)]


def planted(seed, n=90, p=32):
    """Correlated columns with means; two overlapping groups of the chain have an influence."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 1:] += 0.5 * X[:, :-1]
    X += rng.normal(size=p)
    w = np.zeros(p)
    w[6:14] = rng.choice([-1.0, 1.0], size=8)
    y = X @ w + rng.normal(size=n)
    return X, y, w


def parts(latent, groups):
    """Coefficients of each group."""
    return np.split(latent, np.cumsum([len(members) for members in groups])[:-1])


# overlapping groups ----------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("intercept", [True, False])
def test_overlap_reaches_the_minimum_of_the_latent_norm(share, intercept, seed):
    X, y, _ = planted(seed)
    alpha = share * GroupLasso(1e9, CHAIN, fit_intercept=intercept).fit(X, y).alpha_max_
    model = GroupLasso(alpha, CHAIN, fit_intercept=intercept).fit(X, y)
    norms = [np.linalg.norm(v) for v in parts(model.latent_coef_, CHAIN)]
    assert_allclose(model.group_norms_, norms, rtol=1e-12, atol=1e-14)
    value = ((y - model.predict(X)) ** 2).mean() / 2
    value += alpha * np.sqrt(5) * sum(norms)
    least = latent_minimum(X, y, CHAIN, alpha, intercept=intercept)
    assert_allclose(value, least, rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("l1_ratio", [0.0, 0.4])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_overlap_is_repetition_of_columns(l1_ratio, positive, kind, seed):
    X, y, _ = planted(seed)
    Y = np.column_stack([y, X[:, 20] - y])
    order = np.concatenate(CHAIN)
    labels = np.repeat(np.arange(len(CHAIN)), 5)
    settings = {"alpha": 0.1, "l1_ratio": l1_ratio, "positive": positive}
    model = GroupLasso(groups=CHAIN, **settings).fit(kind(X), Y)
    repeated = GroupLasso(groups=labels, **settings).fit(kind(X[:, order]), Y)
    assert_array_equal(model.latent_coef_, repeated.coef_)
    assert_array_equal(model.group_norms_, repeated.group_norms_)
    assert_allclose(model.intercept_, repeated.intercept_, rtol=1e-13)
    assert model.dual_gap_ == repeated.dual_gap_

    # each coefficient is the sum of the coefficients in the groups of its feature
    summed = np.zeros((2, 32))
    for j, latent in zip(order, model.latent_coef_.T, strict=True):
        summed[:, j] += latent
    assert_allclose(model.coef_, summed, atol=1e-15)
    assert_allclose(model.predict(X), repeated.predict(X[:, order]), rtol=1e-12, atol=1e-12)


@pytest.mark.recovery
def test_support_is_a_union_of_groups(seed):
    """Features 6 to 13 are groups 2 and 3 of the chain: both enter as wholes."""
    X, y, w = planted(seed, n=300)
    model = GroupLasso(0.25, CHAIN).fit(X, y)
    chosen = np.flatnonzero(model.group_norms_)
    assert {2, 3} <= set(chosen)
    union = np.unique(np.concatenate([CHAIN[g] for g in chosen]))
    assert_array_equal(np.flatnonzero(model.coef_), union)
    assert f1_score(w != 0, model.coef_ != 0) > 0.7


@pytest.mark.invariance
def test_lists_without_overlap_are_labels_and_overlap_starts_warm(seed):
    X, y, _ = planted(seed)
    labels = np.arange(32) // 4
    lists = [np.flatnonzero(labels == g) for g in range(8)]
    by_lists = GroupLasso(0.1, lists).fit(X, y)
    assert_array_equal(by_lists.coef_, GroupLasso(0.1, labels).fit(X, y).coef_)
    assert by_lists.latent_coef_ is None
    assert_array_equal(by_lists.groups_, labels)

    model = GroupLasso(0.1, CHAIN, warm_start=True).fit(X, y)
    n_iter = model.n_iter_
    coef = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ < n_iter
    assert_allclose(model.coef_, coef, atol=1e-6)  # both are within the gap
    model.set_params(groups=labels).fit(X, y)
    assert_allclose(model.coef_, by_lists.coef_, atol=1e-6)
    cold = GroupLasso(0.1, CHAIN).fit(X, y)
    assert_array_equal([list(members) for members in cold.groups_], CHAIN)
    by_statement = GroupLasso(0.1, CHAIN, solver="cvxpy", tol=1e-6).fit(X, y)
    assert_allclose(by_statement.predict(X), cold.predict(X), atol=1e-3)  # the gap is 1e-6


# logistic loss ---------------------------------------------------------------------------------


def labels_of(y):
    return np.where(y > np.median(y), 1.0, -1.0)


@pytest.mark.oracle
@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_classifier_reaches_the_least_value(share, intercept, kind, seed):
    X, y, _ = planted(seed)
    y = labels_of(y)
    settings = {"groups": CHAIN, "fit_intercept": intercept}
    alpha = share * GroupLassoClassifier(1e9, **settings).fit(X, y).alpha_max_
    model = GroupLassoClassifier(alpha, **settings).fit(kind(X), y)
    latent = parts(model.latent_coef_, CHAIN)
    value = logistic_objective(X, y, alpha, model.intercept_[0], CHAIN, latent)
    least = latent_minimum(X, y, CHAIN, alpha, logistic=True, intercept=intercept)
    assert value <= least + 1e-8
    assert_allclose(value, least, rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.1, 0.01, 0.001])
def test_classifier_with_groups_of_one_is_the_lasso(alpha, seed):
    X, y, _ = planted(seed)
    y = labels_of(y)
    model = GroupLassoClassifier(alpha).fit(X, y)
    peer = LogisticRegression(
        C=1 / (alpha * len(y)), l1_ratio=1, solver="saga", tol=1e-8, max_iter=100_000
    ).fit(X, y)
    assert_allclose(
        model.predict_proba(X), peer.predict_proba(X), atol=1e-4
    )  # the tolerance is the tolerance of saga


@pytest.mark.certificate
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("max_iter", [1, 2, 100])
def test_gap_bounds_the_suboptimality(l1_ratio, max_iter, seed):
    X, y, _ = planted(seed)
    y = labels_of(y)
    labels = np.arange(32) // 4
    groups = [np.flatnonzero(labels == g) for g in range(8)]
    settings = {"alpha": 0.02, "groups": labels, "l1_ratio": l1_ratio}

    def value(model):
        latent = [model.coef_[0][members] for members in groups]
        b = model.intercept_[0]
        return logistic_objective(X, y, 0.02, b, groups, latent, l1_ratio=l1_ratio)

    optimum = value(GroupLassoClassifier(tol=1e-9, **settings).fit(X, y))
    if max_iter == 100:
        model = GroupLassoClassifier(**settings).fit(X, y)
        assert model.dual_gap_ <= 1e-8
    else:
        with pytest.warns(ConvergenceWarning, match="relative duality gap"):
            model = GroupLassoClassifier(max_iter=max_iter, **settings).fit(X, y)
    zero = np.log(2)  # the classes are equally large
    assert value(model) - optimum <= model.dual_gap_ * zero * (1 + 1e-6) + 1e-9
    if max_iter < 100:
        # the penalty is strong enough to have an effect
        assert (value(model) - optimum) / zero >= 0.005 * model.dual_gap_

    # the slope of the loss keeps groups at zero, and the residuals sum to zero
    if max_iter == 100:
        residual = y / (1 + np.exp(y * model.decision_function(X)))
        assert abs(residual.sum()) < 1e-6 * len(y)
        norms = [dual_norm(X[:, g].T @ residual / len(y), 2.0, l1_ratio) for g in groups]
        assert max(norms) <= 0.02 * (1 + 1e-3)


@pytest.mark.certificate
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("light", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("group", [0, 2], ids=["noise", "planted"])
def test_certificate_holds_with_small_group_weights(light, group, kind, seed):
    """Also in three other draws: the gap is not above tol long after the objective is right."""
    X, y, _ = planted(seed)
    y = labels_of(y)
    labels = np.arange(32) // 4
    weights = np.full(8, 2.0)
    weights[group] = light
    settings = {"alpha": 0.02, "groups": labels, "group_weights": weights}
    model = GroupLassoClassifier(**settings).fit(kind(X), y)
    assert model.dual_gap_ <= 1e-8
    assert model.n_iter_ <= 12

    # if stopped early, the gap still bounds the distance to the optimum
    groups = [np.flatnonzero(labels == g) for g in range(8)]

    def value(model):
        f = model.decision_function(X)
        norms = np.array([np.linalg.norm(model.coef_[0, members]) for members in groups])
        return np.logaddexp(0.0, -y * f).mean() + 0.02 * weights @ norms

    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        early = GroupLassoClassifier(max_iter=2, **settings).fit(X, y)
    missing = (value(early) - value(model)) / np.log(2)
    assert 0 < missing <= early.dual_gap_ * (1 + 1e-6) + 1e-8


@pytest.mark.invariance
def test_a_group_of_nearly_no_weight_is_not_penalised(seed):
    X, y, _ = planted(seed)
    y = labels_of(y)
    labels = np.repeat([0, 1], [2, 30])
    model = GroupLassoClassifier(10.0, labels, group_weights=[1e-9, 1.0]).fit(X, y)
    plain = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(X[:, :2], y)
    assert_allclose(model.coef_[0, :2], plain.coef_[0], rtol=1e-4)
    assert not model.coef_[0, 2:].any()
    with pytest.raises(ValueError, match="use a weight of 1e-6"):
        GroupLassoClassifier(10.0, labels, group_weights=[0.0, 1.0]).fit(X, y)


@pytest.mark.invariance
def test_classifier_weights_units_and_starts(seed):
    X, y, _ = planted(seed)
    y = labels_of(y)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, size=len(y))
    settings = {"groups": 4, "alpha": 0.02}
    weighted = GroupLassoClassifier(**settings).fit(X, y, weight)
    repeated = GroupLassoClassifier(**settings).fit(
        np.repeat(X, weight, 0), np.repeat(y, weight)
    )
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)  # both are within the gap

    # change the units of the table and the names of the labels
    model = GroupLassoClassifier(**settings).fit(X, y)
    scaled = GroupLassoClassifier(groups=4, alpha=0.02e6).fit(1e6 * X, y)
    assert_allclose(1e6 * scaled.coef_, model.coef_, atol=1e-6)
    named = GroupLassoClassifier(**settings).fit(X, np.where(y > 0, "yes", "no"))
    assert_array_equal(named.classes_, ["no", "yes"])
    assert_array_equal(named.predict(X) == "yes", model.predict(X) > 0)
    assert_array_equal(named.coef_, model.coef_)
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)

    # start from the last fit
    warm = GroupLassoClassifier(warm_start=True, **settings).fit(X, y)
    assert warm.fit(X, y).n_iter_ == 1
    assert_allclose(warm.coef_, model.coef_, atol=1e-6)
    chain = GroupLassoClassifier(0.02, CHAIN, warm_start=True).fit(X, y)
    assert chain.fit(X, y).n_iter_ == 1


@pytest.mark.edge
def test_classifier_of_extremes(seed):
    X, y, _ = planted(seed)
    y = labels_of(y)
    top = GroupLassoClassifier(1.0, 4).fit(X, y).alpha_max_
    assert not GroupLassoClassifier(top * 1.001, 4).fit(X, y).coef_.any()
    assert GroupLassoClassifier(top * 0.98, 4).fit(X, y).coef_.any()

    # the classes are separable, or one of them is rare
    separable = GroupLassoClassifier(1e-4, 4).fit(X, np.sign(X[:, 0] - X[:, 0].mean()))
    assert separable.dual_gap_ <= 1e-8
    rare = np.where(np.arange(len(y)) < 2, 1, 0)
    model = GroupLassoClassifier(10.0).fit(X, rare)
    assert_allclose(model.predict_proba(X)[:, 1], 2 / len(y), rtol=1e-6)
    assert not GroupLassoClassifier(0.01, positive=True).fit(X, y).coef_.min() < 0

    with pytest.raises(ValueError, match=r"multiclass: use sklearn\.multiclass"):
        GroupLassoClassifier().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="at least two classes, got 1 class with positive"):
        GroupLassoClassifier().fit(X, y, (y > 0).astype(float))
    several = OneVsRestClassifier(GroupLassoClassifier(0.01, 4)).fit(X, np.arange(len(y)) % 3)
    assert several.predict(X).shape == y.shape


@pytest.mark.recovery
def test_classifier_tuned_in_a_pipeline(seed):
    X, y, _ = planted(seed, n=400)
    y = labels_of(y)
    model = make_pipeline(StandardScaler(), GroupLassoClassifier(groups=CHAIN))
    grid = {"grouplassoclassifier__alpha": [0.003, 0.01, 0.03]}
    search = GridSearchCV(model, grid, cv=4).fit(X, y)
    assert search.best_score_ > 0.85
    norms = search.best_estimator_[-1].group_norms_
    assert set(np.argsort(-norms)[:2]) <= {
        1,
        2,
        3,
        4,
    }  # the planted groups, or groups that overlap with them


# path ------------------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("groups", [4, CHAIN], ids=["blocks", "chain"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_path_is_a_search_over_single_fits(groups, kind, seed):
    X, y, _ = planted(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, size=len(y))
    folds = KFold(3)
    model = GroupLassoCV(12, groups, cv=folds, tol=1e-10).fit(kind(X), y, weight)
    errors = np.empty((12, 3))
    for f, (train, test) in enumerate(folds.split(X)):
        for a, alpha in enumerate(model.alphas_):
            one = GroupLasso(alpha, groups, tol=1e-10).fit(X[train], y[train], weight[train])
            residual = one.predict(X[test]) - y[test]
            errors[a, f] = np.average(residual**2, weights=weight[test])
    assert_allclose(model.mse_path_, errors, rtol=1e-4)  # the coefficients are within the gap
    assert model.alpha_ == model.alphas_[errors.mean(axis=1).argmin()]

    best = GroupLasso(model.alpha_, groups, tol=1e-10).fit(X, y, weight)
    assert_allclose(model.coef_, best.coef_, atol=1e-4)
    assert_allclose(model.group_norms_, best.group_norms_, atol=1e-4)
    assert model.dual_gap_ <= 1e-10
    assert_allclose(model.alphas_[0], best.alpha_max_, rtol=1e-10)
    assert_allclose(model.alphas_[-1], 0.01 * best.alpha_max_, rtol=1e-10)


@pytest.mark.oracle
def test_path_without_groups_matches_the_lasso(seed):
    X, y, _ = planted(seed)
    alphas = np.geomspace(1, 0.01, 15)
    ours = GroupLassoCV(alphas[::-1], cv=4, tol=1e-9).fit(X, y)
    peer = LassoCV(alphas=alphas, cv=4, tol=1e-9, max_iter=100_000).fit(X, y)
    assert_allclose(ours.mse_path_, peer.mse_path_, rtol=1e-4)
    assert ours.alpha_ == peer.alpha_
    assert_allclose(ours.coef_, peer.coef_, atol=1e-4)


@pytest.mark.certificate
def test_every_fit_of_the_path_has_its_gap(seed):
    X, y, _ = planted(seed)
    model = GroupLassoCV(8, 4).fit(X, y)
    labels = model.groups_
    settings = {"alpha": model.alpha_, "groups": labels}
    least = GroupLasso(tol=1e-11, **settings).fit(X, y)
    of = (X, y, labels, model.alpha_)
    reached = objective(*of, model.coef_, model.intercept_)
    optimum = objective(*of, least.coef_, least.intercept_)
    assert reached - optimum <= model.dual_gap_ * np.var(y) / 2 * (1 + 1e-6) + 1e-13
    assert model.dual_gap_ <= 1e-6


@pytest.mark.invariance
def test_path_does_not_depend_on_threads(seed):
    X, y, _ = planted(seed)
    one = GroupLassoCV(10, CHAIN).fit(X, y)
    two = GroupLassoCV(10, CHAIN, n_jobs=2).fit(X, y)
    assert_array_equal(one.mse_path_, two.mse_path_)
    assert_array_equal(one.latent_coef_, two.latent_coef_)


@pytest.mark.recovery
def test_path_chooses_groups_with_an_influence(seed):
    X, y, _ = planted(seed, n=300)
    model = GroupLassoCV(groups=CHAIN, cv=5).fit(X, y)
    assert set(np.argsort(-model.group_norms_)[:2]) <= {1, 2, 3, 4}
    assert model.alphas_[-1] < model.alpha_ < model.alphas_[0]
    assert model.score(X, y) > 0.8


@pytest.mark.edge
def test_path_of_extremes():
    X, y, _ = planted(0)
    model = GroupLassoCV(3).fit(X, np.full(len(y), 7.0))
    assert not model.coef_.any()
    assert model.intercept_ == 7.0
    with pytest.raises(ValueError, match="alphas must be a number or a list of positive"):
        GroupLassoCV([1.0, 0.0]).fit(X, y)
    with pytest.raises(ValueError, match="lists a feature twice"):
        GroupLassoCV(groups=[[0, 0], list(range(32))]).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="at alpha_="):
        GroupLassoCV([1e-3], CHAIN, max_iter=1, tol=1e-12).fit(X, y)


class StopAfter:
    """Callback that asks to stop after some penalties."""

    def __init__(self, penalties):
        self.left = penalties

    def setup(self, estimator, context):
        """Nothing is needed."""

    def teardown(self, estimator, context):
        """Nothing is held."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing is counted."""

    def on_fit_task_end(self, estimator, context):
        """Count a penalty."""
        self.left -= 1
        return self.left <= 0


@pytest.mark.newest
@pytest.mark.edge
@pytest.mark.parametrize(("penalties", "shape"), [(4, (4, 1)), (13, (10, 1)), (25, (10, 2))])
def test_stopped_path_keeps_complete_folds(penalties, shape):
    X, y, _ = planted(0)
    whole = GroupLassoCV(10, CHAIN, cv=3).fit(X, y)
    stopped = GroupLassoCV(10, CHAIN, cv=3).set_callbacks(StopAfter(penalties)).fit(X, y)
    assert stopped.mse_path_.shape == shape
    assert_array_equal(stopped.mse_path_, whole.mse_path_[: shape[0], : shape[1]])
    assert stopped.alpha_ in stopped.alphas_[: shape[0]]
