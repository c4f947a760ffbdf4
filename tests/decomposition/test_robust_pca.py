"""Evidence that RobustPCA solves the problem it states."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.linalg import norm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata._solvers.common.convex_problems import robust_pca, solve
from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    duality_gap,
    huber,
    principal_component_pursuit,
)
from skmoderndata.datasets import make_low_rank_plus_sparse, make_video
from skmoderndata.decomposition import RobustPCA
from tests.oracles import robust_pca as oracle


def planted(shape=(60, 40), rank=2, share=0.05, seed=0, **settings):
    return make_low_rank_plus_sparse(
        *shape, rank=rank, outlier_fraction=share, random_state=seed, **settings
    )


def published(n, share, seed=0):
    """L = A B', entries of variance 1/n, rank n / 20, errors of +-1 [Candes 2011, section 4.1]."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(scale=n**-0.5, size=(2, n, n // 20))
    sparse = np.zeros(n * n)
    cells = rng.choice(n * n, size=round(share * n * n), replace=False)
    sparse[cells] = rng.choice([-1.0, 1.0], size=cells.size)
    return A @ B.T, sparse.reshape(n, n)


def error(found, truth):
    return norm(found - truth) / norm(truth)


# oracle: another route agrees


@pytest.mark.oracle
@pytest.mark.parametrize("delta", [0.0, 0.5])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_optimum_of_a_cone_solver(delta, missing, seed):
    X = planted((16, 12), 2, 0.1, seed, noise=0.2, missing=missing)[0]
    stated = robust_pca(X, 0.3, delta=delta)
    assert solve(stated, solver="CLARABEL")
    value, L = stated.problem.value, stated.variable.value
    model = RobustPCA(
        alpha=0.3,
        algorithm="stable" if delta else "pcp",
        noise_std=delta / np.sqrt(2 * 16),
        max_iter=20_000,
    ).fit(X)
    assert_allclose(model.objective_, value, rtol=2e-6)  # what an interior point method gives
    # minimisers are as accurate as the square root of the objective
    assert_allclose(model.low_rank_, L, atol=5e-3)


@pytest.mark.oracle
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_minimiser_of_plain_steps(missing, seed):
    X = planted((40, 30), 2, 0.1, seed, missing=missing)[0]
    lam = (np.isfinite(X).mean() * 40) ** -0.5
    L = oracle.pursuit_by_plain_steps(X, lam)[0]
    model = RobustPCA(tol=1e-8, max_iter=20_000).fit(X)
    assert model.alpha_ == pytest.approx(lam, rel=1e-12)
    reached = oracle.objective(L, np.nan_to_num(X - L), lam)
    assert model.objective_ <= reached * (1 + 1e-8)
    assert_allclose(model.objective_, reached, rtol=1e-5)  # what the plain steps reach
    assert_allclose(model.low_rank_, L, atol=0.02)  # the minimiser is less sharp than the minimum


@pytest.mark.oracle
def test_solver_cvxpy_is_selectable(seed):
    X = planted((20, 15), 1, 0.05, seed)[0]
    model, ours = RobustPCA(solver="cvxpy").fit(X), RobustPCA(max_iter=10_000).fit(X)
    assert model.dual_gap_ < 1e-5  # interior point accuracy
    assert_allclose(model.objective_, ours.objective_, rtol=1e-5)
    assert_allclose(model.low_rank_ + model.sparse_, X, atol=1e-4)
    noisy = planted((20, 15), 1, 0.05, seed, noise=0.1)[0]
    stable = RobustPCA(algorithm="stable", noise_std=0.1, tol=1e-4, max_iter=10_000)
    ours, theirs = stable.fit(noisy).objective_, stable.set_params(solver="cvxpy").fit(noisy)
    assert_allclose(theirs.objective_, ours, rtol=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_scores_are_least_absolute_deviations(missing, seed):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(30, 4)))[0].T
    X = rng.normal(size=(20, 4)) @ V + 0.3 * rng.standard_t(1.5, size=(20, 30))
    X[rng.random(X.shape) < missing] = np.nan
    found = robust_scores(X, V)
    assert (found.gap <= 1e-12).all()
    reference = oracle.least_absolute_scores(X, V)
    assert_allclose(found.scores, reference, atol=1e-7)


@pytest.mark.oracle
def test_scores_of_the_stable_algorithm_minimise_the_huber_loss(seed):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(25, 3)))[0].T
    X = rng.normal(size=(10, 3)) @ V + 0.2 * rng.standard_t(1.5, size=(10, 25))
    found = robust_scores(X, V, width=0.15)
    reference = oracle.huber_scores(X, V, 0.15)
    ours, theirs = (huber(X - A @ V, 1.0, 0.15).sum(axis=1) for A in (found.scores, reference))
    assert_allclose(ours, theirs, rtol=1e-7)
    assert (ours <= theirs + 1e-12).all()
    assert_allclose(found.scores, reference, atol=1e-3)  # the root of that


@pytest.mark.certificate
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_scores_for_a_narrow_huber_function_are_those_of_absolute_values(missing, seed):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(40, 5)))[0].T
    X = rng.normal(size=(30, 5)) @ V + 0.3 * rng.normal(size=(30, 40))
    X[rng.random(X.shape) < missing] = np.nan
    narrow, absolute = robust_scores(X, V, width=1e-6), robust_scores(X, V)
    assert max(narrow.gap.max(), absolute.gap.max()) <= 1e-12
    sums = [np.nansum(np.abs(X - A @ V), axis=1) for A in (narrow.scores, absolute.scores)]
    assert (sums[1] <= sums[0] + 1e-10).all()
    assert (sums[0] <= sums[1] + 40 * 1e-6).all()  # the losses differ by half the width a cell


# certificate: the answer is optimal


@pytest.mark.certificate
@pytest.mark.parametrize("solver", ["auto", "full", "gram", "subspace"])
@pytest.mark.parametrize("schedule", ["balanced", "constant", "ialm"])
def test_gap_is_what_full_decompositions_say(solver, schedule, seed):
    X = planted((90, 80), 4, 0.1, seed)[0]
    model = RobustPCA(solver=solver, schedule=schedule).fit(X)
    gap = oracle.relative_gap(X, model.low_rank_, model.dual_, model.alpha_)
    assert gap <= model.dual_gap_ + 1e-9
    assert model.dual_gap_ <= 1e-6
    assert model.rank_ == 4


@pytest.mark.certificate
def test_gap_tells_a_good_answer_from_a_bad_one(seed):
    X = planted((40, 30), 2, 0.1, seed)[0]
    few = principal_component_pursuit(X, lam=40**-0.5, max_iter=4)
    many = principal_component_pursuit(X, lam=40**-0.5)
    assert not few.converged
    assert few.dual_gap > 1e-3
    assert many.dual_gap < 1e-6
    spoilt = many._replace(s=1.01 * many.s)
    assert duality_gap(X, spoilt, many.dual, lam=40**-0.5)[1] > 1e-4


@pytest.mark.certificate
@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_optimality_conditions(delta, seed):
    """U'Y V' = I, |Y|_2 <= 1, Y = lam sign(S) on the support, |Y| <= lam off it."""
    X = planted((50, 40), 3, 0.1, seed, noise=0.05 if delta else 0.0, missing=0.1)[0]
    lam = 0.15
    fit = principal_component_pursuit(X, lam=lam, delta=delta, tol=1e-9, max_iter=20_000)
    observed = ~np.isnan(X)
    Y = fit.dual
    L = (fit.U * fit.s) @ fit.Vt
    assert norm(Y, 2) <= 1 + 1e-6
    assert_allclose(fit.U.T @ Y @ fit.Vt.T, np.eye(fit.s.size), atol=1e-6)
    support = fit.sparse != 0
    assert_array_equal(Y[support], lam * np.sign(fit.sparse[support]))
    assert (np.abs(Y) <= lam).all()
    assert (Y[~observed] == 0).all()
    assert_allclose((L + fit.sparse + delta * Y)[observed], X[observed], atol=1e-7)


@pytest.mark.paper
def test_growing_penalty_alone_stops_at_a_wrong_point():
    """The method of Lin et al. 2010 meets its residual, not the optimum; ours goes on."""
    X = planted((30, 24), 2, 0.08, 1, noise=1.0)[0]
    lam = 30**-0.5
    L, S = oracle.full_svd_ialm(X, lam)
    best = RobustPCA(max_iter=5000).fit(X)
    ialm = RobustPCA(schedule="ialm", max_iter=5000).fit(X)
    assert norm(X - L - S) < 1e-6 * norm(X)
    assert oracle.objective(L, S, lam) > best.objective_ * (1 + 1e-3)
    assert_allclose(ialm.objective_, best.objective_, rtol=2e-6)


# recovery: a planted truth is found


@pytest.mark.recovery
@pytest.mark.parametrize("shape", [(150, 150), (300, 80), (80, 300)])
@pytest.mark.parametrize("errors", ["random", "uniform"])
def test_exact_recovery(shape, errors, seed):
    X, low_rank, sparse = planted(shape, 2, 0.03, seed, errors=errors)
    model = RobustPCA().fit(X)
    assert model.rank_ == 2
    assert error(model.low_rank_, low_rank) < 2e-6
    assert_allclose(model.sparse_, sparse, atol=1e-4)


@pytest.mark.recovery
def test_polishing_reaches_machine_precision(seed):
    X, low_rank, sparse = planted((100, 90), 4, 0.1, seed)
    model = RobustPCA(polish=True).fit(X)
    assert model.polished_
    assert error(model.low_rank_, low_rank) < 1e-12
    assert_array_equal(model.support_, sparse != 0)
    assert model.dual_gap_ < 1e-6


@pytest.mark.certificate
def test_polishing_never_spoils_an_answer(seed):
    X = planted((60, 50), 2, 0.05, seed, noise=0.1)[0]
    plain, asked = RobustPCA().fit(X), RobustPCA(polish=True).fit(X)
    assert asked.dual_gap_ <= 1e-6
    assert_allclose(asked.objective_, plain.objective_, rtol=2e-6)
    with pytest.warns(ConvergenceWarning):
        unfinished = RobustPCA(polish=True, max_iter=4).fit(X)
    assert not unfinished.polished_


@pytest.mark.recovery
def test_most_entries_missing(seed):
    X, low_rank, _ = planted((150, 150), 3, 0.05, seed, missing=0.6)
    model = RobustPCA().fit(X)
    assert model.rank_ == 3
    assert error(model.low_rank_, low_rank) < 1e-5
    assert error(RobustPCA(polish=True).fit(X).low_rank_, low_rank) < 1e-10


@pytest.mark.recovery
def test_new_rows_with_many_gross_errors(seed):
    X, low_rank, _ = planted((260, 200), 6, 0.05, seed)
    model = RobustPCA().fit(X[:200])
    clean = low_rank[200:]
    rng = np.random.default_rng(seed)
    for share in (0.05, 0.1, 0.2, 0.3):
        wrong = rng.random(clean.shape) < share
        rows = clean + wrong * rng.choice([-5.0, 5.0], size=clean.shape)
        scores = model.transform(rows)
        truth = clean @ model.components_.T
        assert error(scores, truth) < 1e-4
        assert error(rows @ model.components_.T, truth) > 0.1
        L, S = model.decompose(rows)
        assert_array_equal(np.abs(S) > 1, wrong)
        assert error(L, clean) < 1e-4


@pytest.mark.recovery
def test_new_rows_with_errors_and_missing_entries(seed):
    X, low_rank, _ = planted((160, 100), 3, 0.05, seed)
    model = RobustPCA().fit(X[:120])
    rows, clean = X[120:].copy(), low_rank[120:]
    rng = np.random.default_rng(seed)
    rows[rng.random(rows.shape) < 0.4] = np.nan
    assert error(model.transform(rows), clean @ model.components_.T) < 1e-4
    assert error(model.decompose(rows).low_rank, clean) < 1e-4


@pytest.mark.recovery
def test_stable_algorithm_beats_plain_under_noise(seed):
    X, low_rank, _ = planted((150, 120), 3, 0.05, seed, noise=0.2, magnitude=8)
    plain, stable = RobustPCA().fit(X), RobustPCA(algorithm="stable").fit(X)
    assert 0.8 < stable.noise_std_ / 0.2 < 1.3
    assert stable.rank_ < plain.rank_ / 2
    assert error(stable.low_rank_, low_rank) < 0.7 * error(plain.low_rank_, low_rank)


@pytest.mark.recovery
def test_median_centring_finds_the_offset(seed):
    X, low_rank, _ = planted((120, 60), 2, 0.05, seed)
    offset = 100 * np.random.default_rng(seed).normal(size=60)
    model = RobustPCA(center="median").fit(X + offset)
    # the medians are off by a noisy row, which is one more component
    assert model.rank_ <= 3
    assert_allclose(model.low_rank_, low_rank + offset, atol=1e-3)


@pytest.mark.recovery
def test_background_of_a_film(seed):
    video = make_video(80, image_shape=(16, 20), n_objects=2, object_size=4, random_state=seed)
    model = RobustPCA().fit(video.data)
    assert error(model.low_rank_, video.background) < 0.03
    found = np.abs(model.sparse_) > 0.1
    assert (found & video.mask).sum() > 0.8 * video.mask.sum()
    assert (found & ~video.mask).mean() < 0.01


# paper: printed figures


@pytest.mark.paper
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_published_random_problems(share, seed):
    """Exact rank, exact number of errors, error below 2e-6 [Candes 2011, table 1]; n = 500."""
    low_rank, sparse = published(500, share, seed)
    model = RobustPCA().fit(low_rank + sparse)
    assert model.rank_ == 25
    assert model.support_.sum() == np.count_nonzero(sparse)
    assert error(model.low_rank_, low_rank) <= 2e-6
    assert model.dual_gap_ <= 1e-6
    polished = RobustPCA(polish=True).fit(low_rank + sparse)
    assert error(polished.low_rank_, low_rank) <= 1e-12


@pytest.mark.slow
@pytest.mark.paper
@pytest.mark.parametrize("share", [0.05, 0.1])
@pytest.mark.parametrize("n", [1000, 2000])
def test_published_random_problems_large(n, share):
    low_rank, sparse = published(n, share)
    model = RobustPCA(polish=True).fit(low_rank + sparse)
    assert model.rank_ == n // 20
    assert model.support_.sum() == np.count_nonzero(sparse)
    assert error(model.low_rank_, low_rank) <= 1e-12
    assert model.dual_gap_ <= 1e-6


@pytest.mark.paper
def test_sixteen_passes_reach_the_accuracy_of_the_paper():
    """Fewer than 17 partial decompositions for an error below 1e-5 [Candes 2011, section 4.1]."""
    low_rank, sparse = published(500, 0.1)
    X = low_rank + sparse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RobustPCA(max_iter=16).fit(X)
    assert error(model.low_rank_, low_rank) < 1e-5


@pytest.mark.certificate
def test_low_rank_data_without_errors(seed):
    """When S = 0 is optimal: always for lam >= max |U V'|, never for lam < |L|_* / |L|_1.

    The first makes U V' a dual matrix; under the second (0, L) is better than (L, 0).
    """
    L = planted((40, 30), 2, 0.0, seed)[0]
    U, s, Vt = np.linalg.svd(L)
    enough = RobustPCA(alpha=1.01 * np.abs(U[:, :2] @ Vt[:2]).max()).fit(L)
    assert not enough.support_.any()
    assert_allclose(enough.low_rank_, L, atol=1e-5)
    too_little = RobustPCA(alpha=0.95 * s.sum() / np.abs(L).sum(), max_iter=10_000)
    assert too_little.fit(L).support_.any()


# invariance: what must not matter


@pytest.mark.invariance
def test_fit_transform_is_transform_of_the_training_rows(seed):
    X = planted((80, 50), 3, 0.08, seed)[0]
    model = RobustPCA()
    scores = model.fit_transform(X)
    assert_allclose(scores, model.transform(X), rtol=0, atol=1e-12)
    # exact recovery: U diag(s) of the low-rank part
    assert_allclose(scores, model.low_rank_ @ model.components_.T, rtol=0, atol=1e-4)
    assert_allclose(norm(scores, axis=0), model.singular_values_, rtol=1e-5)


@pytest.mark.invariance
def test_transpose_permutation_scale(seed):
    X = planted((80, 70), 2, 0.05, seed)[0]
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(80), rng.permutation(70)
    L = RobustPCA(tol=1e-8).fit(X).low_rank_
    assert_allclose(RobustPCA(tol=1e-8).fit(X.T).low_rank_.T, L, atol=1e-6)
    permuted = RobustPCA(tol=1e-8).fit(X[np.ix_(rows, columns)]).low_rank_
    assert_allclose(permuted, L[np.ix_(rows, columns)], atol=1e-6)
    assert_allclose(RobustPCA(tol=1e-8).fit(-3.7 * X).low_rank_, -3.7 * L, atol=1e-5)


@pytest.mark.invariance
@pytest.mark.parametrize("algorithm", ["pcp", "stable"])
def test_a_row_is_transformed_by_itself(algorithm, seed):
    X = planted((60, 40), 2, 0.1, seed, noise=0.1)[0]
    model = RobustPCA(algorithm=algorithm, n_components=3).fit(X)
    scores = model.transform(X)
    alone = np.vstack([model.transform(row[None]) for row in X])
    assert_allclose(alone, scores, atol=1e-6)
    assert_allclose(model.transform(X[::-1])[::-1], scores, atol=1e-6)


@pytest.mark.invariance
def test_solvers_and_random_states_agree(seed):
    X = planted((90, 80), 3, 0.1, seed)[0]
    reference = RobustPCA(solver="full").fit(X)
    for settings in (
        {"solver": "gram"},
        {"solver": "subspace", "random_state": seed + 1},
        {"schedule": "constant"},
        {"schedule": "ialm"},
    ):
        model = RobustPCA(**settings).fit(X)
        assert_allclose(model.low_rank_, reference.low_rank_, atol=1e-5)
        assert_allclose(model.components_, reference.components_, atol=1e-5)


@pytest.mark.invariance
def test_stable_without_noise_is_plain(seed):
    X = planted((50, 40), 2, 0.1, seed)[0]
    plain, stable = RobustPCA().fit(X), RobustPCA(algorithm="stable", noise_std=0).fit(X)
    assert_array_equal(plain.low_rank_, stable.low_rank_)
    assert_array_equal(plain.transform(X), stable.transform(X))


@pytest.mark.invariance
def test_one_gross_error_does_not_move_the_components(seed):
    X = planted((100, 60), 2, 0.0, seed)[0]
    clean = RobustPCA().fit(X).components_
    X[7, 3] = 1e6
    spoilt = RobustPCA().fit(X)
    assert_allclose(spoilt.components_ @ clean.T, np.eye(2), atol=1e-5)
    turned = PCA(2).fit(X).components_ @ clean.T
    assert np.linalg.svd(turned, compute_uv=False)[1] < 0.95
    assert spoilt.outlier_scores(X).argmax() == 7


# how it is used


@pytest.mark.recovery
def test_score_prefers_the_true_rank_and_searches_without_y(seed):
    X = planted((150, 40), 3, 0.05, seed, noise=0.3)[0]
    search = GridSearchCV(RobustPCA(algorithm="stable"), {"n_components": [1, 2, 3, 12]}, cv=3)
    assert search.fit(X).best_params_ == {"n_components": 3}
    assert -1 < search.best_score_ < -0.1


@pytest.mark.recovery
def test_pipeline_and_names():
    X, y = load_digits(n_class=3, return_X_y=True)
    frame = pd.DataFrame(X).rename(columns=str)
    model = RobustPCA(10, tol=1e-3).set_output(transform="pandas")
    scores = model.fit_transform(frame)
    assert list(scores.columns) == [f"robustpca{i}" for i in range(10)]
    pipeline = make_pipeline(model, LogisticRegression(max_iter=5000))
    assert pipeline.fit(frame[:300], y[:300]).score(frame[300:], y[300:]) > 0.95


# edge: what happens at the border


@pytest.mark.edge
def test_zero_data():
    model = RobustPCA(polish=True).fit(np.zeros((6, 4)))
    assert model.n_components_ == model.rank_ == 0
    assert model.dual_gap_ == model.objective_ == 0
    assert model.transform(np.ones((2, 4))).shape == (2, 0)
    assert_array_equal(model.inverse_transform(np.empty((2, 0))), np.zeros((2, 4)))
    assert model.score(np.zeros((6, 4))) == 0
    assert model.score(np.ones((6, 4))) == -1
    centred = RobustPCA(center="median").fit(np.full((6, 4), 3.0))
    assert_array_equal(centred.low_rank_, np.full((6, 4), 3.0))
    assert centred.n_components_ == 0


@pytest.mark.edge
@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (1, 1), (2, 9)])
def test_few_rows_or_columns(shape, seed):
    X = np.random.default_rng(seed).normal(size=shape)
    model = RobustPCA().fit(X)
    assert model.dual_gap_ <= 1e-6
    assert_allclose(model.low_rank_ + model.sparse_, X, atol=1e-5)
    assert np.isfinite(model.score(X))


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_extreme_scales(scale, seed):
    X = planted((40, 30), 2, 0.05, seed)[0]
    plain, model = (RobustPCA(max_iter=5000).fit(factor * X) for factor in (1.0, scale))
    assert model.rank_ == plain.rank_
    assert_allclose(model.low_rank_ / scale, plain.low_rank_, atol=1e-4)
    assert_allclose(model.transform(scale * X) / scale, plain.transform(X), atol=1e-3)
    assert np.isfinite(model.score(scale * X))


@pytest.mark.edge
def test_row_and_column_without_entries(seed):
    X = planted((60, 50), 2, 0.05, seed)[0]
    X[5], X[:, 8] = np.nan, np.nan
    model = RobustPCA().fit(X)
    assert_allclose(model.low_rank_[5], 0, atol=1e-6)
    assert_allclose(model.low_rank_[:, 8], 0, atol=1e-6)
    # they do not influence the rest
    rest = np.ix_(np.arange(60) != 5, np.arange(50) != 8)
    alone = RobustPCA(alpha=model.alpha_).fit(X[rest])
    assert_allclose(model.objective_, alone.objective_, rtol=2e-6)
    with pytest.warns(UserWarning, match="1 of 60 rows have too few known entries"):
        scores = model.transform(X)
    assert_array_equal(scores[5], np.zeros(model.n_components_))
    assert model.outlier_scores(X)[5] == 0


@pytest.mark.edge
def test_row_with_fewer_entries_than_components(seed):
    X = planted((60, 50), 4, 0.0, seed)[0]
    model = RobustPCA().fit(X)
    row = X[:1].copy()
    row[0, 2:] = np.nan
    with pytest.warns(UserWarning, match="lower n_components"):
        scores = model.transform(row)
    # minimum norm: what the pseudo-inverse gives
    expected = np.linalg.pinv(model.components_[:, :2].T) @ row[0, :2]
    assert_allclose(scores[0], expected, atol=1e-6)


@pytest.mark.edge
def test_n_components_caps_and_never_pads(seed):
    X = planted((50, 40), 3, 0.05, seed)[0]
    full = RobustPCA().fit(X)
    assert RobustPCA(50).fit(X).n_components_ == 3
    capped = RobustPCA(2).fit(X)
    assert_array_equal(capped.components_, full.components_[:2])
    assert_array_equal(capped.low_rank_, full.low_rank_)
    assert capped.rank_ == 3
    assert len(capped.get_feature_names_out()) == 2


@pytest.mark.edge
def test_matrices_are_not_kept_on_request():
    X = planted()[0]
    model = RobustPCA(store_matrices=False).fit(X)
    for name in ("low_rank_", "sparse_", "dual_", "support_"):
        assert not hasattr(model, name)
    assert max(np.size(value) for value in vars(model).values()) < X.size / 4
    assert_allclose(model.decompose(X).low_rank, RobustPCA().fit(X).low_rank_, atol=1e-5)


@pytest.mark.edge
def test_float32_in_float32_out(seed):
    X, low_rank, _ = planted((60, 40), 2, 0.05, seed)
    model = RobustPCA().fit(X.astype(np.float32))
    for name in ("low_rank_", "sparse_", "dual_", "components_", "singular_values_", "mean_"):
        assert getattr(model, name).dtype == np.float32
    rows = X.astype(np.float32)
    scores = model.transform(rows)
    assert scores.dtype == model.inverse_transform(scores).dtype == np.float32
    assert model.decompose(rows).sparse.dtype == model.outlier_scores(rows).dtype == np.float32
    assert error(model.low_rank_, low_rank) < 1e-5


REFUSALS = {
    "needs at least one observed entry": ({}, np.full((3, 2), np.nan)),
    r"polish=True.*needs algorithm='pcp'": ({"algorithm": "stable", "polish": True}, np.eye(5)),
    r"solver='cvxpy'.*up to 200": ({"solver": "cvxpy"}, np.ones((150, 60))),
    "infinity": ({}, np.where(np.eye(5) > 0, np.inf, 1.0)),
}


@pytest.mark.edge
@pytest.mark.parametrize("message", REFUSALS)
def test_clear_refusals(message):
    settings, X = REFUSALS[message]
    with pytest.raises(ValueError, match=message):
        RobustPCA(**settings).fit(X)


@pytest.mark.edge
def test_codes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="X has 5 codes a row"):
        RobustPCA().fit(planted((30, 20))[0]).inverse_transform(np.ones((2, 5)))


@pytest.mark.edge
def test_stopping_early_warns_with_the_figures():
    X = planted()[0]
    with pytest.warns(ConvergenceWarning, match=r"after 3 passes the relative duality gap is"):
        model = RobustPCA(max_iter=3).fit(X)
    assert model.n_iter_ == 3
    assert np.isfinite(model.dual_gap_)


@pytest.mark.edge
def test_input_is_left_alone():
    X = planted(missing=0.1)[0]
    before = X.copy()
    model = RobustPCA(center="median").fit(X)
    model.decompose(X)
    model.score(X)
    assert_array_equal(X, before)
