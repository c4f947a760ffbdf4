"""Evidence that NuSVOR solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_absolute_error
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC

from skmoderndata._kernelized.gram import Gram
from skmoderndata._kernelized.row_store import RowStore
from skmoderndata._solvers.margins.nu_ranking import (
    _start,
    _to_level,
    by_faces,
    factor_for_cvxpy,
    factor_of_few,
)
from skmoderndata._solvers.margins.ranking_faces import face_step
from skmoderndata.kernels import PSpectrum
from skmoderndata.ranking import NuSVOR
from skmoderndata.ranking._nu_svor import segments_of
from tests.oracles import nu_ranking as oracle


def ranked(n=90, n_ranks=4, seed=0):
    X, y = make_friedman1(n, 5, noise=1.0, random_state=seed)
    cuts = np.quantile(y, np.arange(1, n_ranks) / n_ranks)
    return StandardScaler().fit_transform(X), np.digitize(y, cuts)


def bounds_of(ranks, nu, u=None):
    u = np.ones(len(ranks)) if u is None else u
    sums = np.bincount(ranks, u)
    return u / (nu * (sums[1:] + sums[:-1]).sum())


@pytest.mark.oracle
@pytest.mark.parametrize("nu", [0.3, 0.6, 0.85])
def test_primal_problem(nu, seed):
    X, y = ranked(seed=seed)
    u = np.random.default_rng(seed).uniform(0.8, 1.2, 90)
    model = NuSVOR(nu, gamma=0.2).fit(X, y, sample_weight=u)
    value, f, b, margin = oracle.ranking_primal(
        rbf_kernel(X, gamma=0.2), y, bounds_of(y, nu, u)
    )
    assert_allclose(model.objective_, value, rtol=1e-6)
    # the tolerance is the root of the tolerance of the oracle
    assert_allclose(model.rank_score(X), f, atol=1e-4)
    assert_allclose(model.thresholds_, b, atol=1e-4)
    assert_allclose(model.margin_, margin, rtol=1e-4)


@pytest.mark.oracle
def test_steps_match_the_plain_loop(seed):
    X, y = ranked(60, 3, seed=seed)
    K = rbf_kernel(X, gamma=0.2)
    a = oracle.ranking_steps(K, y, bounds_of(y, 0.6), 1e-10)
    model = NuSVOR(0.6, gamma=0.2).fit(X, y)
    assert_allclose(model.rank_score(X), K @ a / np.sqrt(a @ K @ a), atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [90, pytest.param(600, marks=pytest.mark.full)])
def test_matches_ranking_from_cvxpy(n, seed):
    X, y = ranked(n, seed=seed)
    ours, theirs = (NuSVOR(0.6, solver=solver).fit(X, y) for solver in ("smo", "cvxpy"))
    assert theirs.dual_gap_ < 1e-5
    # the tolerance is `tol`
    assert_allclose(ours.objective_, theirs.objective_, rtol=1e-5 if n == 90 else 5e-3)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.98


@pytest.mark.oracle
@pytest.mark.parametrize("nu", [0.2, 0.5, 0.9])
def test_two_ranks_are_the_nu_machine(nu, seed):
    X, y = ranked(100, 2, seed=seed)
    ours = NuSVOR(nu, gamma=0.2).fit(X, y)
    theirs = NuSVC(nu=nu, gamma=0.2, tol=1e-8).fit(X, y)
    values = theirs.decision_function(X)
    own = ours.decision_function(X)
    if nu < 0.9:
        assert_allclose(own, values, atol=1e-5)
    # near the limit, no weight of one class is free, and each threshold may lie anywhere in an
    # interval: both ends have the same function and the same objective
    w = theirs.dual_coef_[0]
    norm = np.sqrt(w @ rbf_kernel(X[theirs.support_], gamma=0.2) @ w)
    f = (values - theirs.intercept_) / norm
    assert_allclose(ours.rank_score(X), f, atol=1e-6)
    slack = np.maximum(0, 1 - (2 * y - 1) * values)
    value = (bounds_of(y, nu) @ slack - 1) / norm
    assert_allclose(ours.objective_, value, rtol=1e-6)


@pytest.mark.certificate
@pytest.mark.parametrize("nu", [0.4, 0.7])
def test_gap(nu, seed):
    X, y = ranked(700, 5, seed=seed)
    for tol in (1e-1, 1e-3):
        model = NuSVOR(nu, gamma=0.2, tol=tol).fit(X, y)
        f = model.rank_score(X)
        c = bounds_of(y, nu)
        assert_allclose(model.dual_coef_ @ f[model.support_], 1, rtol=1e-9)
        b = np.r_[-np.inf, model.thresholds_, np.inf]
        slack = np.maximum(0, f - b[y + 1] + model.margin_)
        slack += np.maximum(0, b[y] + model.margin_ - f)
        assert_allclose(model.objective_, c @ slack - model.margin_, rtol=1e-9)
        best = NuSVOR(nu, gamma=0.2, tol=1e-7).fit(X, y)
        bound = model.objective_ - model.dual_gap_ * model.margin_
        assert bound <= best.objective_ * (1 - 1e-9) <= model.objective_ * (1 - 2e-9) + 1e-12
        assert model.dual_gap_ <= tol


@pytest.mark.certificate
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_small_problems_are_solved_to_rounding(kernel, seed):
    """Kernels of low rank and samples with two free weights make the systems singular."""
    X, y = ranked(200, 3, seed=seed)
    model = NuSVOR(0.8, kernel, tol=0.1).fit(X, y)
    assert model.dual_gap_ < 1e-10
    # the dual remains feasible: the function is the sum of upper minus lower weights
    assert_allclose(model.dual_coef_.sum(), 0, atol=1e-10 * np.abs(model.dual_coef_).sum())


@pytest.mark.certificate
@pytest.mark.parametrize("nu", [0.2, 0.5, 0.8])
def test_nu_is_the_fraction_of_constraints_with_slack(nu, seed):
    X, y = ranked(300, 5, seed=seed)
    model = NuSVOR(nu, gamma=0.2).fit(X, y)
    f = model.rank_score(X)
    b = np.r_[-np.inf, model.thresholds_, np.inf]
    n_constraints = 2 * 300 - 120
    for sign, compare in ((-1, np.less_equal), (1, np.greater_equal)):
        close = model.margin_ + sign * 1e-9
        active = (b[y + 1] - f < close).sum() + (f - b[y] < close).sum()
        assert compare(active, nu * n_constraints)


@pytest.mark.recovery
def test_rings_and_quantised_regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(600, 2))
    ring = np.digitize(np.linalg.norm(X, axis=1), [0.7, 1.3, 1.9])
    model = NuSVOR(0.1).fit(X[:400], ring[:400])
    assert model.score(X[400:], ring[400:]) > 0.93
    X, y = ranked(600, 5)
    error = [
        mean_absolute_error(y, cross_val_predict(machine, X, y, cv=5))
        for machine in (NuSVOR(0.5), SVC())
    ]
    assert error[0] < error[1]


@pytest.mark.invariance
def test_scale_order_weights_and_kernels(seed):
    X, y = ranked(seed=seed)
    K = rbf_kernel(X, gamma=0.2)
    model = NuSVOR(0.5, gamma=0.2).fit(X, y)
    values = model.rank_score(X)
    gram = NuSVOR(0.5, "precomputed").fit(100 * K, y)
    assert_allclose(gram.rank_score(100 * K), 10 * values, atol=1e-8)
    perm = np.random.default_rng(seed).permutation(90)
    same = NuSVOR(0.5, gamma=0.2).fit(X[perm], y[perm])
    assert_allclose(same.rank_score(X), values, atol=1e-9)
    words = np.array(["low", "mid", "high", "top"])
    named = NuSVOR(0.5, gamma=0.2, classes=words).fit(X, words[y])
    assert_array_equal(named.classes_, words)
    assert_array_equal(named.predict(X), words[model.predict(X)])
    back = NuSVOR(0.5, gamma=0.2, classes=[3, 2, 1, 0]).fit(X, y)
    assert_allclose(back.rank_score(X), -values, atol=1e-9)
    counts = np.random.default_rng(seed).integers(1, 3, 90)
    weighted = NuSVOR(0.4, gamma=0.2).fit(X, y, sample_weight=counts)
    repeated = NuSVOR(0.4, gamma=0.2).fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_allclose(weighted.rank_score(X), repeated.rank_score(X), atol=1e-9)


@pytest.mark.invariance
def test_sparse_single_precision_and_strings(seed):
    X, y = ranked(seed=seed)
    X[X < 0] = 0
    model = NuSVOR(0.5, gamma=0.2).fit(X, y)
    thin = NuSVOR(0.5, gamma=0.2).fit(sparse.csr_array(X), y)
    assert_allclose(thin.rank_score(X), model.rank_score(X), atol=1e-9)
    single = NuSVOR(0.5, gamma=0.2).fit(X.astype(np.float32), y)
    # X is rounded to single precision
    assert_allclose(single.rank_score(X), model.rank_score(X), atol=1e-5)
    text = NuSVOR(0.2, PSpectrum(1)).fit(["a", "aa", "aaaa", "aaaaa"], ["1", "1", "2", "2"])
    assert_array_equal(text.predict(["a", "aaaaaa"]), ["1", "2"])


def rare_middle():
    """A rare rank in the middle, and labels that have little to do with the samples."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    return X, np.repeat([0, 1, 2], [30, 10, 20])


@pytest.mark.edge
def test_thresholds_out_of_order():
    X, y = rare_middle()
    with pytest.warns(UserWarning, match="thresholds are not in order"):
        free = NuSVOR(0.57, gamma=0.5).fit(X, y)
    assert free.thresholds_[0] > free.thresholds_[1]
    model = NuSVOR(0.57, gamma=0.5, order="enforced").fit(X, y)
    assert model.thresholds_[0] <= model.thresholds_[1] * (1 + 1e-9)
    value, _, _, margin = oracle.ranking_primal(
        rbf_kernel(X, gamma=0.5), y, bounds_of(y, 0.57), enforced=True, scale=100.0
    )
    assert_allclose(model.objective_, value, rtol=1e-5)
    assert_allclose(model.margin_, margin, rtol=1e-4)
    assert model.dual_gap_ < 1e-3
    assert model.objective_ > free.objective_


@pytest.mark.edge
@pytest.mark.parametrize("nu", [0.95, 1.0])
def test_no_weight_is_free_near_the_limit(nu, seed):
    """Thresholds and margin then come from a linear program, not from a free pair."""
    X, y = ranked(80, 4, seed=seed)
    model = NuSVOR(nu, gamma=0.2).fit(X, y)
    value, _, _, _ = oracle.ranking_primal(rbf_kernel(X, gamma=0.2), y, bounds_of(y, nu))
    assert_allclose(model.objective_, value, rtol=1e-6)
    assert np.isfinite(model.thresholds_).all()
    assert model.score(X, y) > 0.4


@pytest.mark.edge
def test_infeasible_nu_names_the_limit():
    X, y = rare_middle()  # N = 70, 2 (10 + 10) / 70
    with pytest.raises(ValueError, match=r"nu=0.7 is infeasible.* feasible value is 0.571429"):
        NuSVOR(0.7).fit(X, y)


@pytest.mark.edge
def test_overlapping_ranks_have_no_margin():
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.tile([0, 1], 20)
    with pytest.warns(UserWarning, match="the margin is zero for nu=0.5"):
        model = NuSVOR(0.5).fit(X, y)
    assert model.margin_ == 0
    assert len(model.support_) == 0
    assert len(set(model.predict(X))) == 1


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, y = ranked()
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        NuSVOR().fit(X, np.zeros(90))
    with pytest.raises(ValueError, match="1 class with positive weight"):
        NuSVOR().fit(X, y, sample_weight=y == 1)
    with pytest.raises(ValueError, match="y holds 3, which is not in classes"):
        NuSVOR(classes=[0, 1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="list every label once"):
        NuSVOR(classes=[0, 1, 1, 2, 3]).fit(X, y)


@pytest.mark.edge
def test_missing_rank_few_steps_and_indefinite_kernels():
    X, y = ranked()
    gap = NuSVOR(0.4, classes=[0, 1, 2, 3, 4]).fit(X, np.where(y == 2, 4, y))
    assert_array_equal(gap.classes_, [0, 1, 2, 3, 4])
    assert 2 not in gap.predict(X)
    with pytest.warns(ConvergenceWarning, match="steps the relative duality gap is"):
        NuSVOR(0.4, max_iter=20).fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        NuSVOR(0.4, "precomputed").fit(np.ones((90, 90)) - 5 * np.eye(90), y)


@pytest.mark.full
@pytest.mark.edge
@pytest.mark.certificate
def test_many_samples_that_are_nearly_linear():
    # with steps of two and four weights only, .13 of the margin is missing after 50 steps per
    # sample
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 10))
    value = X @ rng.normal(size=10)
    y = np.searchsorted(np.quantile(value, [0.2, 0.4, 0.6, 0.8]), value)
    model = NuSVOR(0.002, kernel="linear").fit(X, y)
    assert model.dual_gap_ < 1e-3
    assert model.score(X, y) > 0.99
    with pytest.warns(ConvergenceWarning):
        NuSVOR(0.002, kernel="linear", max_iter=2100).fit(X, y)


@pytest.mark.oracle
def test_a_face_step_goes_to_the_minimum_over_free_weights(seed):
    """There, no exchange of two free weights of one threshold and side lowers the objective."""
    X, y = ranked(300, 4, seed=seed)
    order = np.argsort(y, kind="stable")
    K = rbf_kernel(X[order], gamma=0.2)
    segments = segments_of(y)
    store = RowStore(Gram("precomputed"), K)
    upper, lower = _start(store, segments, bounds_of(y, 0.3)[order])
    _to_level(store, upper, lower, segments, 1e-4, 10_000)
    a = upper.w + lower.w
    before = a @ K @ a
    assert face_step(store, upper, lower, segments)

    # the lower weights have the right sums and bounds, and the gradient matches the weights
    a = upper.w + lower.w
    assert a @ K @ a < before * (1 - 1e-4)
    above = [upper.w[start:stop].sum() for start, stop in segments[1:]]
    below = [lower.w[start:stop].sum() for start, stop in segments[:-1]]
    assert_allclose(np.add(above, below), 0.0, atol=1e-10)
    assert_allclose(sum(above), 0.5, atol=1e-10)
    assert_allclose(upper.g, K @ a, atol=1e-12)
    for state, own in ((upper, segments[1:]), (lower, segments[:-1])):
        assert ((state.w >= state.low) & (state.w <= state.high)).all()
        for first, last in own:
            w, low, high = (v[first:last] for v in (state.w, state.low, state.high))
            slopes = state.g[first:last][(w > low) & (w < high)]
            assert np.ptp(slopes) < 1e-5 * np.ptp(state.g)


@pytest.mark.certificate
def test_faces_keep_the_sums_and_never_raise_the_objective(seed):
    X, y = ranked(60, 3, seed=seed)
    order = np.argsort(y, kind="stable")
    K = rbf_kernel(X[order], gamma=3.0)  # with a narrow margin, many weights are free
    segments = segments_of(y)
    values = []
    for budget in range(0, 60, 2):
        store = RowStore(Gram("precomputed"), K)
        store.bring_all()
        upper, lower = _start(store, segments, bounds_of(y, 0.8)[order])
        _to_level(store, upper, lower, segments, 0.5, 10_000)
        n_faces, at_optimum = by_faces(store, upper, lower, segments, budget)
        assert at_optimum or n_faces == budget

        a = upper.w + lower.w
        values.append(a @ K @ a)
        above = [upper.w[start:stop].sum() for start, stop in segments[1:]]
        below = [lower.w[start:stop].sum() for start, stop in segments[:-1]]
        assert_allclose(np.add(above, below), 0.0, atol=1e-12)
        assert_allclose(sum(above), 0.5, atol=1e-12)
    assert (np.diff(values) <= 1e-14).all()
    assert values[-1] < values[0]


@pytest.mark.edge
def test_a_small_nu_takes_few_steps():
    # exchanges of two and four weights alone need 100 steps per sample
    X, y = ranked(1000, 5)
    model = NuSVOR(0.05, tol=1e-5).fit(X, y)
    assert model.dual_gap_ < 1e-5
    assert model.n_iter_ < 20 * len(X)


@pytest.mark.oracle
def test_factor_of_few_directions():
    X = np.random.default_rng(0).normal(size=(50, 3))
    store = RowStore(Gram("precomputed"), X @ X.T)
    F = factor_of_few(store)
    assert F.shape == (3, 50)
    assert_allclose(F.T @ F, X @ X.T, atol=1e-12)
    full = RowStore(Gram("precomputed"), rbf_kernel(np.linspace(0, 999, 150)[:, None]))
    assert factor_of_few(full) is None
    assert factor_for_cvxpy(full).shape == (150, 150)


def test_grid_search_by_absolute_error():
    X, y = ranked(150)
    pipe = make_pipeline(StandardScaler(), NuSVOR())
    search = GridSearchCV(
        pipe, {"nusvor__nu": [0.3, 0.7]}, cv=3, scoring="neg_mean_absolute_error"
    )
    assert search.fit(X, y).best_score_ > -0.8


def disease():
    X, t = load_diabetes(return_X_y=True)
    return X, t, 5


def wine():
    X = load_wine().data
    return X[:, 1:], X[:, 0], 4


def texture():
    X = load_breast_cancer().data
    return np.delete(X, 1, axis=1), X[:, 1], 5


@pytest.mark.recovery
@pytest.mark.parametrize("table", [disease, wine, texture])
def test_nu_from_the_data_is_near_the_best_of_a_grid(table):
    """The mean absolute error of ranks, on tables whose best values are far apart."""
    X, t, n_ranks = table()
    X = StandardScaler().fit_transform(X)
    y = np.digitize(t, np.quantile(t, np.arange(1, n_ranks) / n_ranks))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    def error(machine):
        return np.abs(cross_val_predict(machine, X, y, cv=folds) - y).mean()

    assert error(NuSVOR()) <= min(error(NuSVOR(nu)) for nu in (0.4, 0.6, 0.8, 0.9)) + 0.02


@pytest.mark.invariance
def test_nu_from_the_data_does_not_depend_on_order_or_copies(seed):
    X, y = ranked(120, 4, seed=seed)
    model = NuSVOR().fit(X, y)
    perm = np.random.default_rng(seed).permutation(120)
    assert_allclose(NuSVOR().fit(X[perm], y[perm]).nu_, model.nu_, rtol=1e-12)
    counts = np.random.default_rng(seed).integers(1, 3, 120)
    weighted = NuSVOR().fit(X, y, sample_weight=counts)
    repeated = NuSVOR().fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_allclose(weighted.nu_, repeated.nu_, rtol=1e-12)
    by_kernel = NuSVOR(kernel="precomputed").fit(rbf_kernel(X, gamma=0.2), y)
    assert_allclose(by_kernel.nu_, NuSVOR(gamma=0.2).fit(X, y).nu_, rtol=1e-12)


@pytest.mark.edge
def test_nu_from_the_data_of_few_samples():
    """Feasible for any number of ranks and samples."""
    X = np.arange(5.0)[:, None]
    for y in ([0, 1, 2, 3, 4], [0, 0, 0, 0, 1], [0, 0, 1, 1, 1]):
        assert 0 < NuSVOR().fit(X, y).nu_ <= 1
    assert NuSVOR(0.3).fit(X, [0, 0, 1, 1, 1]).nu_ == 0.3
