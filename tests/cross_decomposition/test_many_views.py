"""Evidence that RegularizedCCA of more than two views solves the problem it states."""

import functools
import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skmoderndata.cross_decomposition import (
    KernelCCA,
    RegularizedCCA,
)
from tests.oracles.kernel_cca import consensus_values, linear_correlations
from tests.oracles.regularized_cca import best_sum_of_correlations

MultisetCCA = functools.partial(RegularizedCCA, alpha=0.1)
CRITERIA = ("maxvar", "sumcor", "gcca")


def views_of(seed, n=90, sizes=(3, 4, 5), noise=1.0):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 2))
    return [
        common @ rng.normal(size=(2, p)) + noise * rng.normal(size=(n, p)) + 2 for p in sizes
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.0])
def test_maximum_variance_is_the_stacked_eigenproblem(seed, alpha):
    views = views_of(seed)
    model = MultisetCCA(3, alpha=alpha, scale=False).fit(views)
    assert_allclose(
        model.regularized_correlations_, linear_correlations(views, [alpha] * 3)[:3], rtol=1e-8
    )
    kernel = KernelCCA(3, kernel="linear", alpha=alpha).fit(views)
    assert_allclose(
        model.regularized_correlations_, kernel.regularized_correlations_, rtol=1e-8
    )


@pytest.mark.oracle
def test_sum_of_correlations_matches_a_general_optimiser(seed):
    views = views_of(seed, n=40, sizes=(2, 3, 2))
    model = MultisetCCA(1, criterion="sumcor", alpha=0.2, scale=False).fit(views)
    best = best_sum_of_correlations(views, 0.2, seed)
    # the optimiser stops at a gradient of 1e-5
    assert_allclose(3 * model.regularized_correlations_[0], best, rtol=1e-6)
    assert best <= 3 * model.regularized_correlations_[0] * (1 + model.dual_gap_) * (1 + 1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("missing", [0, 20])
def test_consensus_is_the_eigenproblem_of_projections(seed, missing):
    views = views_of(seed)
    rng = np.random.default_rng(seed)
    rows = [np.arange(90)] + [np.sort(rng.permutation(90)[missing:]) for _ in range(2)]
    factors = [X[i] - X[i].mean(axis=0) for X, i in zip(views, rows, strict=True)]
    for X, index in zip(views, rows, strict=True):
        X[np.setdiff1d(np.arange(90), index)] = np.nan
    model = MultisetCCA(3, criterion="gcca", alpha=0.1, scale=False).fit(views)
    values = consensus_values(factors, rows, [0.1] * 3, 90)[:3]
    assert_allclose(model.regularized_correlations_, (3 * values - 1) / 2, rtol=1e-8)


@pytest.mark.certificate
def test_gap_bounds_and_constraints_hold(seed):
    views = views_of(seed)
    model = MultisetCCA(2, criterion="sumcor", scale=False).fit(views)
    relaxed = MultisetCCA(2, scale=False).fit(views)
    assert model.residual_ <= 1e-9
    assert model.regularized_correlations_[0] <= relaxed.regularized_correlations_[0] * (
        1 + 1e-12
    )
    assert 0 <= model.dual_gap_ < 0.5
    for X, w in zip(views, model.weights_, strict=True):
        S = 0.9 * np.cov(X.T, bias=True) + 0.1 * np.eye(X.shape[1])
        assert_allclose(w.T @ S @ w, np.eye(2), atol=1e-8)


@pytest.mark.certificate
def test_passes_never_lower_the_sum(seed):
    views = views_of(seed, noise=3.0)
    values = []
    for passes in (1, 2, 4, 8, 200):
        model = MultisetCCA(
            1, criterion="sumcor", max_iter=passes, tol=0.1 if passes < 9 else 0
        )
        with warnings.catch_warnings(action="ignore"):
            values.append(model.fit(views).regularized_correlations_[0])
    assert (np.diff(values) >= -1e-12).all()


@pytest.mark.edge
def test_passes_over_the_views_are_counted(seed):
    for passes in (1, 3):
        model = MultisetCCA(2, criterion="sumcor", max_iter=passes, tol=0)
        with pytest.warns(ConvergenceWarning):
            model.fit(views_of(seed, noise=3.0))
        assert model.n_iter_ == 2 * passes  # each of two components needs this many passes


@pytest.mark.recovery
@pytest.mark.parametrize("criterion", CRITERIA)
def test_common_signal_of_five_views(seed, criterion):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=400)
    views = [
        np.c_[common + rng.normal(size=400), rng.normal(size=(400, 3))]
        @ rng.normal(size=(4, 4))
        for _ in range(5)
    ]
    model = MultisetCCA(1, criterion=criterion, alpha=0.01).fit([X[:300] for X in views])
    scores = model.transform([X[300:] for X in views])
    mean = np.mean(scores, axis=0)[:, 0]
    assert abs(np.corrcoef(mean, common[300:])[0, 1]) > 0.8


@pytest.mark.invariance
@pytest.mark.parametrize("criterion", CRITERIA)
def test_order_of_views_and_columns_of_one_array(seed, criterion):
    views = views_of(seed)
    model = MultisetCCA(2, criterion=criterion).fit(views)
    turned = MultisetCCA(2, criterion=criterion).fit(views[::-1])
    assert_allclose(
        model.regularized_correlations_, turned.regularized_correlations_, rtol=1e-6
    )
    slices = [(0, 3), (3, 7), (7, 12)]
    stacked = MultisetCCA(2, criterion=criterion, view_slices=slices).fit(np.hstack(views))
    assert_allclose(stacked.transform(np.hstack(views)), np.hstack(model.transform(views)))
    search = GridSearchCV(
        MultisetCCA(1, criterion=criterion, view_slices=slices), {"alpha": [0.01, 0.5]}, cv=3
    ).fit(np.hstack(views))
    assert np.isfinite(search.best_score_)


@pytest.mark.invariance
def test_criteria_agree_without_regularisation(seed):
    views = views_of(seed)
    one = MultisetCCA(3, alpha=0).fit(views).regularized_correlations_
    two = MultisetCCA(3, alpha=0, criterion="gcca").fit(views).regularized_correlations_
    assert_allclose(one, two, rtol=1e-8)


@pytest.mark.edge
def test_error_names_bad_input():
    views = views_of(0)
    with pytest.raises(ValueError, match="at least two views"):
        MultisetCCA().fit(views[:1])
    with pytest.raises(ValueError, match="View 2 is constant"):
        MultisetCCA().fit([views[0], np.ones((90, 2)), views[1]])
    with pytest.raises(ValueError, match="NaN"):
        MultisetCCA().fit([views[0], np.full((90, 2), np.nan), views[1]])
    with pytest.raises(ValueError, match="be 1 for any data"):
        MultisetCCA(alpha=0).fit([X[:9] for X in views_of(0, sizes=(4, 5, 6))])


@pytest.mark.edge
@pytest.mark.parametrize("criterion", ["maxvar", "sumcor"])
@pytest.mark.parametrize("gap", [0, 1, 2])
def test_error_for_a_missing_view_names_the_criterion(criterion, gap):
    views = views_of(0)
    views[gap][[3, 5]] = np.nan
    sides = np.cumsum([0, *(view.shape[1] for view in views)])
    slices = list(zip(sides[:-1].tolist(), sides[1:].tolist(), strict=True))
    message = rf"view {gap + 1} contains NaN and is missing for 2 .* row 3: criterion='gcca'"

    model = MultisetCCA(criterion=criterion)
    with pytest.raises(ValueError, match=message):
        model.fit(views)
    with pytest.raises(ValueError, match=message):
        model.set_params(view_slices=slices).fit(np.hstack(views))
    model.set_params(criterion="gcca").fit(np.hstack(views))

    views[gap][[3, 5], 1:] = 0.0  # a single missing entry raises an error
    model = MultisetCCA(criterion=criterion)
    with pytest.raises(ValueError, match=r"^Input (X|view \d) contains NaN\."):
        model.fit(views)


@pytest.mark.edge
@pytest.mark.parametrize("cls", [RegularizedCCA, KernelCCA])
def test_error_for_a_missing_view_of_two_names_the_class(cls):
    X, Y, _ = views_of(0)
    Y[:4] = np.nan
    with pytest.raises(ValueError, match=r"view 2 contains NaN.*criterion='gcca'"):
        cls(1).fit(X, Y)


@pytest.mark.edge
def test_warns_if_too_few_passes(seed):
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        MultisetCCA(2, criterion="sumcor", max_iter=1).fit(views_of(seed))


@pytest.mark.invariance
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("scale", [False, True])
def test_weights_count_copies(criterion, scale, seed):
    views = views_of(seed, noise=0.5)
    times = np.random.default_rng(seed).integers(0, 4, size=90)
    if criterion == "gcca":
        views[1][:20] = np.nan
    copies = [np.repeat(X, times, axis=0) for X in views]
    model = MultisetCCA(2, criterion=criterion, scale=scale).fit(views, sample_weight=times)
    twin = MultisetCCA(2, criterion=criterion, scale=scale).fit(copies)
    assert_allclose(
        model.regularized_correlations_, twin.regularized_correlations_, rtol=1e-10
    )
    assert_allclose(model.correlations_, twin.correlations_, rtol=1e-9)
    for W, V in zip(model.weights_, twin.weights_, strict=True):
        assert_allclose(W, V, atol=1e-7 * np.abs(V).max())
    weighted = model.score(views, sample_weight=times)
    assert weighted == pytest.approx(twin.score(copies), abs=1e-9)
    if criterion == "gcca":
        Z = np.repeat(model.consensus_, times, axis=0)
        assert_allclose(Z, twin.consensus_, atol=1e-7 * np.abs(Z).max())
        assert np.isnan(model.consensus_[times == 0]).all()


@pytest.mark.invariance
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_views_are_not_filled(criterion, weighted, seed):
    rng = np.random.default_rng(seed)
    sizes = (20, 150, 8)  # the views have fewer or more columns than rows
    dense = [rng.poisson(0.3, size=(60, p)) * rng.uniform(1, 2, size=p) for p in sizes]
    dense[0][:, 3] = 0.0
    thin = [sparse.csr_array(X) for X in dense]
    w = rng.integers(0, 3, size=60) if weighted else None

    for scale in (False, True):
        settings = {"criterion": criterion, "alpha": 0.3, "scale": scale}
        # components whose values are nearly equal are determined only up to a rotation
        full = MultisetCCA(1, **settings).fit(dense, sample_weight=w)
        model = MultisetCCA(1, **settings).fit(thin, sample_weight=w)
        assert_allclose(
            model.regularized_correlations_, full.regularized_correlations_, rtol=1e-9
        )
        assert_allclose(model.correlations_, full.correlations_, rtol=1e-6)

        for A, B in zip(model.transform(thin), full.transform(dense), strict=True):
            # rounding errors, divided by the gap, rotate the components
            assert_allclose(A, B, atol=1e-5 * np.abs(B).max())
        mixed = MultisetCCA(1, **settings).fit([dense[0], *thin[1:]], sample_weight=w)
        assert_allclose(
            mixed.regularized_correlations_, full.regularized_correlations_, rtol=1e-9
        )


@pytest.mark.edge
def test_sparse_columns_of_equal_numbers_and_large_sparse_views():
    constant = sparse.csr_array(np.full((30, 4), 0.3))
    other = sparse.random_array(
        (30, 5), density=0.5, rng=np.random.default_rng(0), format="csr"
    )
    with pytest.raises(ValueError, match="View 1 is constant"):
        MultisetCCA(1).fit([constant, other])
    rng = np.random.default_rng(0)
    X, Y = (sparse.random_array((300, 200_000), density=1e-4, rng=rng) for _ in range(2))
    tracemalloc.start()
    RegularizedCCA(1, alpha=0.5).fit(X.tocsr(), Y.tocsr())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * 200_000 * 8 / 4  # a dense view would take 480 MB


@pytest.mark.newest
@pytest.mark.edge
def test_passes_are_reported_and_can_be_stopped(seed):
    seen = []

    class Stop:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            seen.append(context.task_name)
            return len(seen) >= 2

    model = MultisetCCA(2, criterion="sumcor", tol=0).set_callbacks(Stop())
    with pytest.warns(ConvergenceWarning):
        model.fit(views_of(seed, noise=3.0))
    assert model.n_iter_ == 2
    assert seen.count("pass") == 2


@pytest.mark.edge
def test_weights_that_leave_too_little():
    views = views_of(0)
    with pytest.raises(ValueError, match="at least 2 samples of positive weight"):
        MultisetCCA(1).fit(views, sample_weight=np.eye(90)[0])
    with pytest.raises(ValueError, match="Negative values in data"):
        MultisetCCA(1).fit(views, sample_weight=-np.ones(90))


@pytest.mark.edge
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("scale", [False, True])
def test_extreme_columns_and_weights_give_finite_results(seed, criterion, scale):
    """Covariances up to 1e190, and weights over 60 orders of magnitude."""
    rng = np.random.default_rng(seed)
    views = [X * 10.0 ** rng.uniform(-90, 95, size=X.shape[1]) for X in views_of(seed)]
    model = MultisetCCA(1, criterion=criterion, alpha=1.0, scale=scale)
    for w in (None, 10.0 ** rng.uniform(-30, 30, size=90)):
        with warnings.catch_warnings(action="ignore"):
            model.fit(views, sample_weight=w)
        for Z, W in zip(model.transform(views), model.weights_, strict=True):
            assert np.isfinite(Z).all()
            assert np.isfinite(W).all()
        assert np.isfinite(model.regularized_correlations_).all()


@pytest.mark.oracle
@pytest.mark.parametrize("criterion", ["maxvar", "gcca"])
def test_automatic_penalty_maximises_held_out_correlations(criterion, seed):
    """The penalty of `alpha="auto"` is nearly the best of others on new rows."""
    views = views_of(seed, n=400, sizes=(30, 30, 30), noise=6.0)
    train = [X[:60] for X in views]
    new = [X[60:] for X in views]
    scores = {
        alpha: RegularizedCCA(1, alpha=alpha, criterion=criterion).fit(train).score(new)
        for alpha in ("auto", 1e-4, 0.01, 0.1, 0.5, 0.9)
    }
    assert scores["auto"] > max(scores.values()) - 0.05
    assert scores["auto"] > scores[1e-4]


@pytest.mark.edge
def test_automatic_penalty_needs_samples_with_all_views():
    views = views_of(0)
    views[0][:45] = np.nan
    views[1][45:] = np.nan
    with pytest.raises(ValueError, match="but only 0 do: set alpha to a number"):
        RegularizedCCA(1, criterion="gcca").fit(views)
