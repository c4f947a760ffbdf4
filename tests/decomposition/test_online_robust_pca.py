"""Evidence that OnlineRobustPCA solves the problem it states."""

import functools
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._solvers.lowrank.online_pursuit import (
    add_batch,
    best_components,
    empty_sums,
    huber_newton,
    huber_scores,
    pursuit_loss,
    robust_ridge,
    surrogate,
)
from skmoderndata.datasets import make_low_rank_plus_sparse
from skmoderndata.decomposition import OnlineRobustPCA, RobustPCA, RobustPCADisplay
from tests.oracles import online_robust_pca as oracle


def planted(shape=(400, 30), rank=2, seed=0, **settings):
    settings = {"outlier_fraction": 0.05, "magnitude": 5.0, "noise": 0.5, **settings}
    return make_low_rank_plus_sparse(*shape, rank=rank, random_state=seed, **settings)


def ten_passes(X, **parameters):
    with pytest.warns(ConvergenceWarning, match="pass 10 changed the objective"):
        return OnlineRobustPCA(max_iter=10, tol=0, **parameters).fit(X)


def angle(components, low_rank):
    truth = np.linalg.svd(low_rank, full_matrices=False)[2][: len(components)]
    return np.degrees(subspace_angles(components.T, truth.T).max())


# oracle: another route agrees


@pytest.mark.oracle
@pytest.mark.parametrize("forgetting", [1.0, 0.98])
def test_stream_of_single_rows_is_the_printed_algorithm(seed, forgetting):
    X, *_ = planted((60, 12), seed=seed)
    model = OnlineRobustPCA(
        2, alpha=1, noise_std=0.5, batch_size=1, forget_factor=forgetting
    ).partial_fit(X)
    start = model._start(X).V

    def ridge(weight):
        return 0.5 * np.sqrt(2) * np.sqrt(max(1, 12 / weight))

    V = oracle.online_robust_pca(X, start, ridge, 0.5 * np.sqrt(2), forgetting)
    assert_allclose(model._state.V, V, rtol=1e-3, atol=1e-3)  # gap of the scores: 1e-8
    assert subspace_angles(model.components_.T, V).max() < 1e-3


@pytest.mark.oracle
def test_scores_of_new_rows_match_the_interior_point_method(seed):
    X, *_ = planted((50, 20), missing=0.2, seed=seed)
    X[0, :15] = np.nan
    V = np.linalg.qr(np.random.default_rng(seed).normal(size=(20, 3)))[0]
    scores = huber_scores(X, V.T, 0.7)
    assert_allclose(scores, robust_scores(X, V.T, width=0.7).scores, rtol=1e-6, atol=1e-6)


@pytest.mark.oracle
def test_noise_and_number_of_components_match_the_batch(seed):
    X, *_ = planted((1000, 60), rank=3, seed=seed)
    batch = RobustPCA(tol=1e-3).fit(X)
    stream = OnlineRobustPCA().partial_fit(X)
    assert stream.n_components_ == batch.n_components_ == 3
    # the residuals differ: within three standard deviations, and without a refit
    assert_allclose(stream.noise_std_, batch.noise_std_, rtol=0.02)
    assert_allclose(stream.noise_scale_, 0.5, rtol=0.3)


@pytest.mark.oracle
@pytest.mark.parametrize("cell", [1e2, 1e6, 1e12])
def test_scores_of_a_row_do_not_depend_on_the_size_of_a_huge_cell(cell, seed):
    """Beyond the width Huber's function has the same slope everywhere."""
    X, *_ = planted((50, 20), missing=0.2, seed=seed)
    X[:, 3] = 1e3
    V = np.linalg.qr(np.random.default_rng(seed).normal(size=(20, 3)))[0]
    loss = pursuit_loss(0.5, 20, 50.0)
    expected = robust_ridge(X, V, loss).scores
    free = huber_scores(X, V.T, 0.7)
    X[:, 3] = cell
    # the reference has a gap of 1e-8
    assert_allclose(robust_ridge(X, V, loss).scores, expected, atol=1e-3)
    assert_allclose(huber_scores(X, V.T, 0.7), free, atol=1e-6)


@pytest.mark.oracle
def test_newton_steps_reach_the_scores_of_the_oracle(seed):
    X, *_ = planted((20, 15), missing=0.2, seed=seed)
    X[::2, 0] = 1e7
    V = np.random.default_rng(seed).normal(size=(15, 3))
    loss = pursuit_loss(0.5, 15, 20.0)
    observed = ~np.isnan(X)
    scores = huber_newton(np.where(observed, X, 0.0), V, loss, observed)
    for i in range(1, 20, 2):
        r, _ = oracle.scores_and_errors(X[i, observed[i]], V[observed[i]], *loss)
        assert_allclose(scores[i], r, atol=1e-4)
    residual = np.where(observed, X - scores @ V.T, 0.0)
    slope = np.clip(residual, -loss.width, loss.width) @ V - loss.ridge * scores
    assert np.abs(slope).max() < 1e-8 * loss.width


# certificate: gap, descent


@pytest.mark.certificate
def test_gap_of_scores_bounds_their_objective(seed):
    X, *_ = planted((40, 15), missing=0.1, seed=seed)
    V = np.random.default_rng(seed).normal(size=(15, 3))
    loss = pursuit_loss(0.5, 15, 40.0)
    batch = robust_ridge(X, V, loss)
    assert (batch.gap <= 1e-8 * batch.objective).all()
    for i in range(5):
        seen = ~np.isnan(X[i])
        r, e = oracle.scores_and_errors(X[i, seen], V[seen], *loss)
        residual = X[i, seen] - V[seen] @ r - e
        best = residual @ residual / 2 + loss.width * np.abs(e).sum() + loss.ridge * r @ r / 2
        assert best <= batch.objective[i] * (1 + 1e-12)
        assert batch.objective[i] - best <= batch.gap[i] + 1e-12 * best


@pytest.mark.certificate
def test_each_update_minimises_the_surrogate(seed):
    X, *_ = planted((100, 15), seed=seed)
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(15, 3))
    loss = pursuit_loss(0.5, 15, 100.0)
    noise = np.full(15, 0.5)
    sums = add_batch(empty_sums(noise, 3, 20), X, V, robust_ridge(X, V, loss), noise)
    best = best_components(sums, loss.ridge)
    value = surrogate(sums, best, loss.ridge)
    assert value < surrogate(sums, V, loss.ridge)
    for _ in range(20):
        assert value < surrogate(sums, best + 1e-3 * rng.normal(size=V.shape), loss.ridge)


@pytest.mark.certificate
def test_objective_falls_from_pass_to_pass(seed):
    X, *_ = planted(seed=seed)
    history = ten_passes(X, noise_std=0.5).objective_history_
    assert len(history) == 10
    assert history[-1] < history[0]
    # each pass evaluates the objective at moving components, in a new order
    assert (np.diff(history) < 1e-3 * history[0]).all()


@pytest.mark.certificate
def test_duality_gap_of_stable_pursuit(seed):
    """The convex problem over all rows: a feasible dual comes from the clipped residuals."""
    X, *_ = planted((300, 20), rank=2, seed=seed)
    model = OnlineRobustPCA(
        8, alpha=1, noise_std=0.5, max_iter=60, tol=1e-7, batch_size=300
    ).fit(X)
    n = len(X)
    loss = pursuit_loss(0.5, 20, n)
    V = model._state.V
    batch = robust_ridge(X, V, loss)
    radius = np.sqrt(n) * loss.ridge
    nuclear = np.linalg.norm(batch.scores @ V.T, "nuc")
    huber = np.sum(batch.dual * (batch.residual - batch.dual / 2))
    Y = batch.dual / max(1, np.linalg.norm(batch.dual, 2) / radius)
    primal = radius * nuclear + huber
    dual = np.sum(X * Y) - np.sum(Y**2) / 2
    # the components come from passes, not from a convex solver
    assert 0 <= primal - dual < 2e-3 * primal


# recovery: planted subspaces


@pytest.mark.recovery
@pytest.mark.parametrize(
    ("shape", "rank"), [((400, 200), 5), ((1000, 50), 3), ((2000, 100), 4)]
)
def test_ten_passes_come_within_twice_the_angle_of_the_batch(shape, rank, seed):
    X, low_rank, _ = planted(shape, rank, seed=seed)
    batch = RobustPCA(rank, tol=1e-3).fit(X)
    model = ten_passes(X, n_components=rank)
    assert angle(model.components_, low_rank) < 2 * angle(batch.components_, low_rank)


@pytest.mark.recovery
def test_outliers_are_found_in_rows_that_come_later(seed):
    X, _, sparse = planted((1000, 40), noise=0.2, seed=seed)
    stream = OnlineRobustPCA()
    for rows in np.array_split(X[:900], 9):
        stream = stream.partial_fit(rows)
    assert stream.n_samples_seen_ == 900
    marked = stream.decompose(X[900:]).sparse != 0
    assert np.mean(marked == (sparse[900:] != 0)) > 0.999
    listed = stream.find_outliers(pd.DataFrame(X[900:]).rename(index="row {}".format))
    assert len(listed) == marked.sum()
    assert listed.row.str.startswith("row ").all()
    scores = stream.outlier_scores(X[900:])
    sizes = np.abs(sparse[900:]).sum(axis=1)
    assert scores[sizes > 10].min() > scores[sizes == 0].max()


@pytest.mark.recovery
def test_missing_entries(seed):
    X, low_rank, _ = planted((1000, 40), missing=0.3, noise=0.2, seed=seed)
    model = OnlineRobustPCA(2).fit(X)
    assert angle(model.components_, low_rank) < 2
    filled = model.decompose(X).low_rank
    assert np.linalg.norm(filled - low_rank) < 0.15 * np.linalg.norm(low_rank)


@pytest.mark.recovery
def test_forgetting_follows_a_change(seed):
    before, *_ = planted((1500, 30), seed=seed)
    after, low_rank, _ = planted((1500, 30), seed=seed + 100)
    X = np.vstack([before, after])
    follows = OnlineRobustPCA(2, forget_factor=0.99).partial_fit(X)
    keeps = OnlineRobustPCA(2).partial_fit(X)
    assert angle(follows.components_, low_rank) < 10
    assert angle(keeps.components_, low_rank) > 20


MAGNITUDES = (1e4, 1e6, -999999.0, 1e8, 1e12)


def with_huge_cells(X, count, value, rows=slice(None)):
    """Return a copy of X in which some cells of the given rows have a huge value."""
    X = X.copy()
    block = X[rows]
    cells = np.random.default_rng(1).choice(block.size, count, replace=False)
    block[np.unravel_index(cells, block.shape)] = value
    return X


def streamed(X, size, **parameters):
    stream = OnlineRobustPCA(**parameters)
    for first in range(0, len(X), size):
        stream = stream.partial_fit(X[first : first + size])
    return stream


@functools.cache
def clean_table(shape, rank):
    """Return a table with noise only, its low rank, and the angle that RobustPCA has to it."""
    X, low_rank, _ = planted(shape, rank, outlier_fraction=0, noise=0.1)
    return X, low_rank, angle(RobustPCA().fit(X).components_, low_rank)


@pytest.mark.few(6)
@pytest.mark.recovery
@pytest.mark.parametrize("value", MAGNITUDES)
@pytest.mark.parametrize(
    ("shape", "rank"),
    [
        ((400, 20), 3),
        ((60, 8), 2),
        pytest.param((3000, 50), 3, marks=pytest.mark.full),
    ],
)
@pytest.mark.parametrize("count", [1, 5, "one per cent"])
def test_huge_cells_turn_no_component(shape, rank, count, value):
    X, low_rank, of_batch = clean_table(shape, rank)
    count = X.size // 100 if count == "one per cent" else count
    Z = with_huge_cells(X, count, value)
    for model in (OnlineRobustPCA().fit(Z), streamed(Z, 50), streamed(Z, 400)):
        assert model.n_components_ == rank
        assert angle(model.components_, low_rank) < 2 * of_batch
        assert 0.05 < model.noise_std_ < 0.2
        expected = model.decompose(Z).low_rank
        assert np.abs(expected - low_rank).max() < 1


@pytest.mark.recovery
@pytest.mark.parametrize("where", ["first batch", "last batch"])
def test_huge_cells_in_one_batch_of_a_stream(where):
    X, low_rank, of_batch = clean_table((400, 20), 3)
    rows = slice(0, 50) if where == "first batch" else slice(350, 400)
    for value in MAGNITUDES:
        stream = streamed(with_huge_cells(X, 10, value, rows), 50)
        assert angle(stream.components_, low_rank) < 2 * of_batch


@pytest.mark.full
@pytest.mark.recovery
@pytest.mark.parametrize("value", MAGNITUDES)
def test_huge_cells_in_a_stream_of_single_rows(value):
    X, low_rank, of_batch = clean_table((400, 20), 3)
    stream = streamed(with_huge_cells(X, 80, value), 1)
    assert angle(stream.components_, low_rank) < 2 * of_batch


@pytest.mark.recovery
@pytest.mark.parametrize("n_first", [1, 2])
@pytest.mark.parametrize("cell", [None, 1e12])
def test_first_batch_of_few_rows_is_harmless(n_first, cell):
    """Of one row, and of one row less than there are components."""
    X, low_rank, of_batch = clean_table((400, 20), 3)
    X = X.copy()
    X[0, 0] = X[0, 0] if cell is None else cell
    for size in (50, 399):
        stream = OnlineRobustPCA(3).partial_fit(X[:n_first])
        assert np.isfinite(stream.components_).all()
        for first in range(n_first, 400, size):
            stream = stream.partial_fit(X[first : first + size])
        assert angle(stream.components_, low_rank) < 2 * of_batch


# invariance


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_matter(scale, seed):
    X, *_ = planted((200, 20), seed=seed)
    model = OnlineRobustPCA(2).fit(X)
    other = OnlineRobustPCA(2).fit(scale * X)
    assert_allclose(other.components_, model.components_, atol=1e-6)
    assert_allclose(other.noise_scale_, scale * model.noise_scale_, rtol=1e-6)
    assert_allclose(other.transform(scale * X), scale * model.transform(X), rtol=1e-4)


@pytest.mark.invariance
def test_calls_at_the_cuts_of_batches_are_one_call(seed):
    X, *_ = planted((400, 20), seed=seed)
    whole = OnlineRobustPCA(2).partial_fit(X)
    parts = OnlineRobustPCA(2).partial_fit(X[:200]).partial_fit(X[200:300])
    parts = parts.partial_fit(X[300:])
    assert_array_equal(parts.components_, whole.components_)
    assert_array_equal(parts.noise_scale_, whole.noise_scale_)


@pytest.mark.invariance
def test_single_precision(seed):
    X, *_ = planted((200, 20), seed=seed)
    model = OnlineRobustPCA(2).fit(X.astype(np.float32))
    assert model.components_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32
    # rounding in the seventh digit of the data grows over the passes
    assert_allclose(model.components_, OnlineRobustPCA(2).fit(X).components_, atol=1e-4)


# edge


@pytest.mark.edge
def test_one_row_at_a_time_starts_again_until_there_are_many(seed):
    X, low_rank, _ = planted((400, 20), seed=seed)
    stream = OnlineRobustPCA(2)
    for row in X:
        stream = stream.partial_fit(row[None])
    assert stream.n_samples_seen_ == 400
    assert stream._first_rows is None
    assert angle(stream.components_, low_rank) < 8


@pytest.mark.edge
def test_superfluous_components_fade(seed):
    X, *_ = planted((1000, 30), seed=seed)
    s = OnlineRobustPCA(6, alpha=1).fit(X).singular_values_
    assert (s[2:] < 0.1 * s[1]).all()
    with pytest.warns(UserWarning, match="n_components=40 exceeds the number 30 of features"):
        model = OnlineRobustPCA(40, tol=1).fit(X)
    assert model.transform(X).shape == (1000, 30)


@pytest.mark.edge
@pytest.mark.parametrize(
    "X", [np.zeros((30, 5)), np.ones((30, 4)), np.outer(np.arange(200.0), np.ones(10))]
)
def test_entries_without_noise(X):
    model = OnlineRobustPCA(max_iter=100).fit(X)
    assert np.isfinite(model.components_).all()
    assert model.noise_std_ > 0
    assert_allclose(
        model.inverse_transform(model.transform(X)), X, atol=0.02 * np.abs(X).max()
    )


@pytest.mark.edge
def test_few_distinct_rows_end_soon(seed):
    """Cells of such a table are met exactly: each row needs few steps, as its errors are large."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, 7))[rng.integers(0, 3, 12)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.process_time()
        model = OnlineRobustPCA().fit(X)
        assert time.process_time() - began < 3
    state = model._state
    loss = pursuit_loss(model.noise_std_, 7, 12)
    batch = robust_ridge(X, state.V, loss)
    assert (batch.gap <= 1e-8 * batch.objective).all()


@pytest.mark.edge
def test_raises_on_invalid_input(seed):
    with pytest.raises(ValueError, match="at least one observed entry, but all 3 x 2 entries"):
        OnlineRobustPCA().fit(np.full((3, 2), np.nan))
    X, *_ = planted((60, 8), seed=seed)
    model = OnlineRobustPCA(2).partial_fit(X)
    with pytest.raises(ValueError, match="X has 7 features"):
        model.partial_fit(X[:, 1:])
    assert model.n_samples_seen_ == 60


@pytest.mark.edge
def test_display_and_search(seed):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, _, sparse = planted((120, 12), seed=seed)
    model = OnlineRobustPCA(2).fit(X)
    display = RobustPCADisplay.from_estimator(model, X[:30])
    assert display.images_[0].get_array().shape == (30, 12)
    matplotlib.pyplot.close("all")

    y = X[:, 0] - sparse[:, 0] > 0
    steps = make_pipeline(OnlineRobustPCA(), LogisticRegression())
    search = GridSearchCV(steps, {"onlinerobustpca__n_components": [1, 2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7
    assert 0 > model.score(X) > OnlineRobustPCA(1).fit(X).score(X)


@pytest.mark.edge
@pytest.mark.parametrize(("n", "p", "n_distinct"), [(12, 7, 3), (30, 8, 2), (60, 10, 4)])
def test_few_distinct_rows_end_early(n, p, n_distinct, seed):
    """Without noise the objective is nearly zero, and never settles relative to itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_distinct, p))[rng.integers(0, n_distinct, n)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = OnlineRobustPCA().fit(X)
    assert model.n_iter_ < 150
