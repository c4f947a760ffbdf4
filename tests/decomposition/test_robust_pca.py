"""Evidence that RobustPCA solves the problem it states."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.linalg import norm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

from skmoderndata._solvers.common.convex_problems import robust_pca, solve
from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._solvers.lowrank.noise_proof import proves_noise
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    duality_gap,
    huber,
    principal_component_pursuit,
)
from skmoderndata._solvers.lowrank.refit import fit_doubtful
from skmoderndata._solvers.lowrank.trusted_cells import fit_trusted
from skmoderndata.datasets import make_low_rank_plus_sparse, make_video
from skmoderndata.decomposition import RobustPCA, RobustPCADisplay
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
    value = stated.problem.value
    L = stated.variable.value
    model = RobustPCA(
        alpha=0.3,
        algorithm="stable" if delta else "pcp",
        noise_std=delta / np.sqrt(2 * 16),
        max_iter=20_000,
    ).fit(X)
    # the tolerance is the accuracy of the interior point method
    assert_allclose(model.objective_, value, rtol=2e-6)
    # minimisers are as accurate as the square root of the objective
    assert_allclose(model.low_rank_, L, atol=5e-3)


def weights_of(X, seed):
    """Weights of very different size, some of them zero."""
    rng = np.random.default_rng(seed + 1)
    weights = np.exp(rng.normal(size=X.shape))
    weights[rng.uniform(size=X.shape) < 0.1] = 0
    return weights


@pytest.mark.oracle
@pytest.mark.parametrize("delta", [0.0, 0.5])
def test_optimum_with_weights_of_a_cone_solver(delta, seed):
    X = planted((16, 12), 2, 0.1, seed, noise=0.2, missing=0.1)[0]
    weights = weights_of(X, seed)
    gaps = np.where(weights > 0, X, np.nan)
    w = np.where(weights > 0, weights, 1.0)
    slopes = np.full(X.shape, 0.3) if delta else 0.3 * w
    stated = robust_pca(gaps, slopes, delta=delta / w if delta else np.zeros(X.shape))
    assert solve(stated, solver="CLARABEL")
    model = RobustPCA(
        alpha=0.3,
        algorithm="stable" if delta else "pcp",
        noise_std=delta / np.sqrt(2 * 16 * weights[~np.isnan(gaps)].mean()),
        max_iter=20_000,
        polish=False,
    ).fit(X, entry_weight=weights)
    assert model.dual_gap_ <= 1e-6
    # the tolerance is the accuracy of the interior point method
    assert_allclose(model.objective_, stated.problem.value, rtol=2e-6)
    # minimisers are as accurate as the square root of the objective
    assert_allclose(model.low_rank_, stated.variable.value, atol=1e-2)

    by_name = RobustPCA(alpha=0.3, solver="cvxpy", polish=False)
    by_name.set_params(algorithm=model.algorithm_, noise_std=model.noise_std)
    by_name.fit(X, entry_weight=weights)
    assert_allclose(by_name.objective_, model.objective_, rtol=1e-5)


@pytest.mark.oracle
def test_scores_with_weights_are_weighted_least_absolute_deviations(seed):
    X = planted((30, 12), 2, 0.1, seed, missing=0.1)[0]
    weights = weights_of(X, seed)
    model = RobustPCA(algorithm="pcp", n_components=2)
    scores = model.fit_transform(X, entry_weight=weights)
    gaps = np.where(weights > 0, X, np.nan)
    V = model.components_
    best = oracle.least_absolute_scores(gaps, V, weights)

    def deviations(a):
        return np.nansum(weights * np.abs(gaps - a @ V), axis=1)

    assert_allclose(deviations(scores), deviations(best), rtol=1e-7, atol=1e-9)


@pytest.mark.oracle
def test_scores_with_weights_minimise_weighted_huber_losses(seed):
    X = planted((20, 12), 2, 0.1, seed, noise=0.2)[0]
    weights = weights_of(X, seed) + 0.1
    model = RobustPCA(algorithm="stable", noise_std=0.2, n_components=2)
    scores = model.fit_transform(X, entry_weight=weights)
    V = model.components_
    width = model.alpha_ * 0.2 * np.sqrt(2 * 20 * weights.mean()) / weights
    residual = X - scores @ V

    # at a stationary point, the bounded residuals are orthogonal to the components
    slope = np.clip(residual / width, -1, 1)
    assert_allclose(slope @ V.T, 0, atol=1e-6)


@pytest.mark.certificate
@pytest.mark.parametrize("sigma", [0.0, 0.2])
def test_gap_with_weights_matches_full_decompositions(sigma, seed):
    X = planted((30, 20), 2, 0.1, seed, noise=0.2, missing=0.1)[0]
    weights = weights_of(X, seed)
    w = np.where(weights > 0, weights, 1.0)
    gaps = np.where(weights > 0, X, np.nan)
    best = np.inf
    for max_iter in (5000, 60, 10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = RobustPCA(noise_std=sigma, polish=False, max_iter=max_iter, tol=1e-8)
            model.fit(X, entry_weight=weights)
        slopes = np.full(X.shape, model.alpha_) if sigma else model.alpha_ * w
        widths = sigma * np.sqrt(2 * 30 * w[~np.isnan(gaps)].mean()) / w
        gap = oracle.weighted_gap(gaps, model.low_rank_, model.dual_, slopes, widths)
        assert_allclose(model.dual_gap_, gap, atol=1e-6)  # error search
        best = min(best, model.objective_)
        assert (model.objective_ - best) / model.objective_ <= model.dual_gap_ + 1e-9
    assert gap > 1e-4  # the gap shows that 10 passes are too few


@pytest.mark.recovery
def test_weights_recover_the_truth_hidden_by_poor_cells(seed):
    rng = np.random.default_rng(seed)
    X, L, _ = planted((100, 80), 3, 0.05, seed)
    poor = rng.uniform(size=X.shape) < 0.4
    X = np.where(poor, X + rng.normal(scale=5, size=X.shape), X)
    weights = np.where(poor, 0.05, 1.0)
    plain = RobustPCA(algorithm="pcp").fit(X)
    weighted = RobustPCA(algorithm="pcp").fit(X, entry_weight=weights)
    assert error(weighted.low_rank_, L) < 1e-3 < error(plain.low_rank_, L)


@pytest.mark.recovery
@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_noise_of_known_proportions(spread, seed):
    """Weights give the size of noise of each cell; the refit uses them, and finds its unit."""
    rng = np.random.default_rng(seed)
    X, L, S = planted((120, 60), 3, 0.05, seed, magnitude=20)
    size = np.exp(spread * rng.normal(size=X.shape))
    X = X + 0.1 * size * rng.normal(size=X.shape)
    model = RobustPCA().fit(X, entry_weight=size**-2)
    assert model.algorithm_ == "stable"
    assert model.polished_
    assert model.n_components_ == 3
    assert_allclose(model.noise_std_, 0.1, rtol=0.1)
    assert_array_equal(model.column_scale_, 1.0)

    # compare with least squares that is given the right cells and the weights
    right = S == 0
    start = np.linalg.svd(L)[2][:3].T
    A, B = fit_trusted(X, right, start, n_steps=30, cell_weights=size**-2)
    assert error(model.low_rank_, L) < 1.2 * error(A @ B.T, L)
    assert error(model.low_rank_, L) < 0.9 * error(RobustPCA().fit(X).low_rank_, L)

    # outliers exceed the noise of their cell
    residual = np.abs(X - model.low_rank_)
    beyond = residual > 5 * model.noise_scale_ * size
    assert_array_equal(model.support_, beyond)
    sizes = np.asarray(model.find_outliers()["size"])
    assert sizes.min() > 5


@pytest.mark.invariance
def test_unit_of_the_weights_of_noisy_cells_does_not_matter(seed):
    X = noisy(seed=seed)[0]
    weights = np.random.default_rng(seed).gamma(2.0, size=X.shape)
    plain = RobustPCA(tol=1e-8).fit(X, entry_weight=weights)
    other = RobustPCA(tol=1e-8).fit(X, entry_weight=1e4 * weights)
    assert_allclose(other.noise_std_, 100 * plain.noise_std_, rtol=1e-6)
    assert_allclose(other.low_rank_, plain.low_rank_, atol=1e-6 * np.abs(X).max())


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
    assert_allclose(model.objective_, reached, rtol=1e-5)  # the plain steps reach this value
    assert_allclose(
        model.low_rank_, L, atol=0.02
    )  # the minimiser is less accurate than the minimum


@pytest.mark.oracle
def test_solver_cvxpy_is_selectable(seed):
    X = planted((20, 15), 1, 0.05, seed)[0]
    model = RobustPCA(solver="cvxpy").fit(X)
    ours = RobustPCA(max_iter=10_000).fit(X)
    assert model.dual_gap_ < 1e-5  # an interior point method reaches this accuracy
    assert_allclose(model.objective_, ours.objective_, rtol=1e-5)
    assert_allclose(model.low_rank_ + model.sparse_, X, atol=1e-4)
    noisy = planted((20, 15), 1, 0.05, seed, noise=0.1)[0]
    stable = RobustPCA(algorithm="stable", noise_std=0.1, tol=1e-4, max_iter=10_000)
    ours = stable.fit(noisy).objective_
    theirs = stable.set_params(solver="cvxpy").fit(noisy)
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
    # scores are as accurate as the root of the gap
    assert_allclose(found.scores, reference, atol=1e-3)


@pytest.mark.certificate
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_scores_for_a_narrow_huber_function_match_absolute_values(missing, seed):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(40, 5)))[0].T
    X = rng.normal(size=(30, 5)) @ V + 0.3 * rng.normal(size=(30, 40))
    X[rng.random(X.shape) < missing] = np.nan
    narrow = robust_scores(X, V, width=1e-6)
    absolute = robust_scores(X, V)
    assert max(narrow.gap.max(), absolute.gap.max()) <= 1e-12
    sums = [np.nansum(np.abs(X - A @ V), axis=1) for A in (narrow.scores, absolute.scores)]
    assert (sums[1] <= sums[0] + 1e-10).all()
    # the losses differ by half the width in each cell
    assert (sums[0] <= sums[1] + 40 * 1e-6).all()


# certificate: the answer is optimal


@pytest.mark.certificate
@pytest.mark.parametrize("solver", ["auto", "full", "gram", "subspace"])
@pytest.mark.parametrize("schedule", ["balanced", "constant", "ialm"])
def test_gap_matches_full_decompositions(solver, schedule, seed):
    X = planted((90, 80), 4, 0.1, seed)[0]
    model = RobustPCA(solver=solver, schedule=schedule).fit(X)
    gap = oracle.relative_gap(X, model.low_rank_, model.dual_, model.alpha_)
    assert gap <= model.dual_gap_ + 1e-9
    assert model.dual_gap_ <= 1e-6
    assert model.rank_ == 4


@pytest.mark.certificate
def test_gap_distinguishes_good_from_bad_solutions(seed):
    X = planted((40, 30), 2, 0.1, seed)[0]
    few = principal_component_pursuit(X, lam=40**-0.5, max_iter=4)
    many = principal_component_pursuit(X, lam=40**-0.5)
    assert not few.converged
    assert few.gap > 1e-3
    assert many.gap < 1e-6
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
    """The method of Lin et al. 2010 meets its residual, not the optimum; ours continues."""
    X = planted((30, 24), 2, 0.08, 1, noise=1.0)[0]
    lam = 30**-0.5
    L, S = oracle.full_svd_ialm(X, lam)
    best = RobustPCA(algorithm="pcp", max_iter=5000).fit(X)
    ialm = RobustPCA(algorithm="pcp", schedule="ialm", max_iter=5000).fit(X)
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
def test_polishing_never_worsens_a_solution(seed):
    X = planted((60, 50), 2, 0.05, seed, noise=0.1)[0]
    plain = RobustPCA(algorithm="pcp").fit(X)
    asked = RobustPCA(algorithm="pcp", polish=True).fit(X)
    assert asked.dual_gap_ <= 1e-6
    assert_allclose(asked.objective_, plain.objective_, rtol=2e-6)
    with pytest.warns(ConvergenceWarning):
        unfinished = RobustPCA(algorithm="pcp", polish=True, max_iter=4).fit(X)
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
    rows = X[120:].copy()
    clean = low_rank[120:]
    rng = np.random.default_rng(seed)
    rows[rng.random(rows.shape) < 0.4] = np.nan
    assert error(model.transform(rows), clean @ model.components_.T) < 1e-4
    assert error(model.decompose(rows).low_rank, clean) < 1e-4


@pytest.mark.recovery
def test_stable_algorithm_beats_plain_under_noise(seed):
    X, low_rank, _ = planted((150, 120), 3, 0.05, seed, noise=0.2, magnitude=8)
    plain = RobustPCA(algorithm="pcp").fit(X)
    stable = RobustPCA(algorithm="stable", polish=False).fit(X)
    assert 0.8 < stable.noise_std_ / 0.2 < 1.3
    assert stable.rank_ < plain.rank_ / 2
    assert error(stable.low_rank_, low_rank) < 0.7 * error(plain.low_rank_, low_rank)


@pytest.mark.recovery
def test_median_centring_finds_the_offset(seed):
    X, low_rank, _ = planted((120, 60), 2, 0.05, seed)
    offset = 100 * np.random.default_rng(seed).normal(size=60)
    model = RobustPCA(center="median").fit(X + offset)
    # a noisy row shifts the medians, which adds one component
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
        model = RobustPCA(algorithm="pcp", schedule="balanced", max_iter=16).fit(X)
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
    less = 0.95 * s.sum() / np.abs(L).sum()
    too_little = RobustPCA(alpha=less, algorithm="pcp", max_iter=10_000)
    assert too_little.fit(L).support_.any()


# invariance: what must not matter


@pytest.mark.invariance
def test_fit_transform_is_transform_of_the_training_rows(seed):
    X = planted((80, 50), 3, 0.08, seed)[0]
    model = RobustPCA()
    scores = model.fit_transform(X)
    assert_allclose(scores, model.transform(X), rtol=0, atol=1e-12)
    # recovery is exact, so the scores are U diag(s) of the low-rank part
    assert_allclose(scores, model.low_rank_ @ model.components_.T, rtol=0, atol=1e-4)
    assert_allclose(norm(scores, axis=0), model.singular_values_, rtol=1e-5)


@pytest.mark.invariance
def test_transpose_permutation_scale(seed):
    X = planted((80, 70), 2, 0.05, seed)[0]
    rng = np.random.default_rng(seed)
    rows = rng.permutation(80)
    columns = rng.permutation(70)
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
    plain = RobustPCA().fit(X)
    stable = RobustPCA(algorithm="stable", noise_std=0).fit(X)
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
    # a single wrong cell does not make its row wrong
    assert set(spoilt.find_outliers().row) == {7}


# how it is used


@pytest.mark.recovery
def test_score_prefers_the_true_rank_and_searches_without_y(seed):
    X = planted((150, 40), 3, 0.05, seed, noise=0.3)[0]
    search = GridSearchCV(RobustPCA(algorithm="stable"), {"n_components": [1, 2, 3, 6]}, cv=3)
    assert search.fit(X).best_params_ == {"n_components": 3}
    assert -1 < search.best_score_ < -0.1


@pytest.mark.recovery
def test_pipeline_and_names():
    X, y = load_digits(n_class=3, return_X_y=True)
    frame = pd.DataFrame(X).rename(columns=str)
    model = RobustPCA(10, algorithm="pcp", tol=1e-3).set_output(transform="pandas")
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
    model = RobustPCA(algorithm="pcp").fit(X)
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
    X[5] = np.nan
    X[:, 8] = np.nan
    model = RobustPCA().fit(X)
    assert_allclose(model.low_rank_[5], 0, atol=1e-6)
    assert_allclose(model.low_rank_[:, 8], 0, atol=1e-6)
    # these cells do not influence the rest
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
    # the scores have minimum norm, as with the pseudo-inverse
    expected = np.linalg.pinv(model.components_[:, :2].T) @ row[0, :2]
    assert_allclose(scores[0], expected, atol=1e-6)


@pytest.mark.edge
def test_n_components_is_an_upper_bound(seed):
    X = planted((50, 40), 3, 0.05, seed)[0]
    full = RobustPCA().fit(X)
    assert RobustPCA(40).fit(X).n_components_ == 3
    with pytest.warns(UserWarning, match="n_components=50 exceeds the smaller side 40 of X"):
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
    r"solver='cvxpy'.*up to 200": ({"solver": "cvxpy"}, np.ones((150, 60))),
    "infinity": ({}, np.where(np.eye(5) > 0, np.inf, 1.0)),
}


@pytest.mark.edge
@pytest.mark.parametrize("message", REFUSALS)
def test_raises_on_invalid_input(message):
    settings, X = REFUSALS[message]
    with pytest.raises(ValueError, match=message):
        RobustPCA(**settings).fit(X)


@pytest.mark.edge
def test_codes_that_do_not_fit_are_rejected():
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
@pytest.mark.parametrize("max_iter", [60, 150])
def test_passes_of_all_problems_together_may_exceed_max_iter(max_iter, seed):
    """Each problem of a fit with outlying rows stays below it."""
    X = noisy((80, 20), share=0.0, sigma=0.2, seed=seed)[0]
    X[:8] += 20 * np.random.default_rng(seed).normal(size=20)
    model = RobustPCA(max_iter=max_iter).fit(X)
    assert model.outlying_rows_[:8].all()
    assert model.n_iter_ > max_iter


@pytest.mark.edge
def test_input_is_unchanged():
    X = planted(missing=0.1)[0]
    before = X.copy()
    model = RobustPCA(center="median").fit(X)
    model.decompose(X)
    model.score(X)
    assert_array_equal(X, before)


# noisy tables: exact cells, noise, errors


def noisy(shape=(200, 60), rank=3, share=0.05, sigma=0.1, missing=0.0, seed=0):
    """Low rank of unit variance, noise, gross errors of five to ten: table, low rank, errors."""
    rng = np.random.default_rng(seed)
    n, p = shape
    L = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) / np.sqrt(rank)
    wrong = rng.random(shape) < share
    errors = np.where(wrong, rng.choice([-1, 1], shape) * rng.uniform(5, 10, shape), 0.0)
    X = L + sigma * rng.normal(size=shape) + errors
    X[rng.random(shape) < missing] = np.nan
    return X, L, wrong


def least_squares_of_known_truth(X, L, wrong, rank):
    """Fit of the planted rank outside the planted errors, by filling in and cutting the SVD."""
    free = np.isnan(X) | wrong
    filled = np.where(free, L, X)
    for _ in range(300):
        U, s, Vt = np.linalg.svd(filled, full_matrices=False)
        fit = (U[:, :rank] * s[:rank]) @ Vt[:rank]
        filled = np.where(free, fit, X)
    return fit


@pytest.mark.oracle
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_refit_is_as_good_as_least_squares_with_the_truth_known(share, missing, seed):
    X, L, wrong = noisy(share=share, missing=missing, seed=seed)
    model = RobustPCA(tol=1e-4).fit(X)
    assert (model.algorithm_, model.polished_, model.rank_) == ("stable", True, 3)
    known = least_squares_of_known_truth(X, L, wrong, 3)
    assert error(model.low_rank_, L) <= 1.05 * error(known, L)
    convex = RobustPCA(tol=1e-4, polish=False).fit(X)
    assert not convex.polished_
    assert error(convex.low_rank_, L) > 1.5 * error(known, L)


@pytest.mark.recovery
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_support_holds_the_errors_and_noise_scale_the_noise(missing, seed):
    X, _, wrong = noisy(missing=missing, seed=seed)
    model = RobustPCA(tol=1e-4).fit(X)
    observed = ~np.isnan(X)
    assert (model.support_ & wrong).sum() >= 0.99 * (wrong & observed).sum()
    assert (model.support_ & ~wrong).mean() <= 1e-3
    assert model.noise_std_ == pytest.approx(0.1, rel=0.05)  # the noise is an estimate
    # each column has 200 cells
    assert np.median(model.noise_scale_) == pytest.approx(0.1, rel=0.15)

    beyond = np.abs(np.nan_to_num(X - model.low_rank_)) > 5 * model.noise_scale_
    assert_array_equal(model.support_, beyond)
    assert_array_equal(model.support_, model.sparse_ != 0)
    assert_allclose(model.sparse_[model.support_], (X - model.low_rank_)[model.support_])


def rms_over_oracle(X, L, sparse, rank):
    """Error of the low rank over the error of least squares with rank and errors known."""
    right = (sparse == 0) & ~np.isnan(X)
    start = np.linalg.svd(L)[2][:rank].T
    A, B = fit_trusted(X, right, start, n_steps=30)
    return norm(RobustPCA(tol=1e-3).fit(X).low_rank_ - L) / norm(A @ B.T - L)


@pytest.mark.recovery
@pytest.mark.parametrize("share", [0.1, 0.2])
def test_hidden_cells_lower_a_noise_that_gaps_and_errors_made_too_large(share):
    """Of 300 x 60, rank 10, 30 % missing, pursuit at the first noise has 9 or 4 components."""
    settings = {"errors": "uniform", "magnitude": 10.0, "noise": 0.01, "missing": 0.3}
    X, L, sparse = planted((300, 60), 10, share, 24, **settings)
    assert rms_over_oracle(X, L, sparse, 10) < 1.2


@pytest.mark.recovery
def test_components_of_unequal_size_in_a_narrow_table_with_gaps(seed):
    """A table whose mean is a component fifty times the last one; most gaps of a row are three."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(1000, 3)) * (3.0, 1.0, 0.7)
    L = 20 + scores @ rng.uniform(0, 1, size=(3, 20))
    sparse = np.where(rng.uniform(size=L.shape) < 0.02, rng.uniform(3, 30, L.shape), 0.0)
    X = L + sparse + 0.2 * rng.normal(size=L.shape)
    X[rng.uniform(size=L.shape) < 0.05] = np.nan
    assert rms_over_oracle(X, L, sparse, 4) < 1.1


@pytest.mark.recovery
def test_a_column_that_follows_its_errors_is_fitted_anew():
    """Of 23 known cells of a column ten are wrong; least squares takes them for its noise."""
    settings = {"errors": "uniform", "magnitude": 10.0, "noise": 0.01, "missing": 0.3}
    X, L, sparse = planted((40, 200), 4, 0.2, 48, **settings)
    assert rms_over_oracle(X, L, sparse, 4) < 1.2


@pytest.mark.recovery
def test_doubtful_rows_and_columns_are_those_that_lose_cells():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 2))
    B = rng.normal(size=(30, 2))
    X = A @ B.T
    X[:12, 7] += 20.0
    X[3, rng.random(30) < 0.2] = np.nan
    L = A @ B.T
    L[:, 7] = 5.0  # a fit could lie between the right cells and the wrong ones
    fitted, anew = fit_doubtful(X, L, A, B, bound=0.1)
    assert np.flatnonzero(anew).tolist() == [7]
    assert_allclose(fitted, A @ B.T, atol=1e-4)


@pytest.mark.recovery
def test_columns_of_unequal_noise(seed):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 40)) / np.sqrt(3)
    scale = 0.3 * np.exp(1.2 * rng.normal(size=40))
    X = L + scale * rng.normal(size=L.shape)
    model = RobustPCA(tol=1e-4).fit(X)
    assert model.rank_ == 3
    assert model.column_scale_.max() > 5 * model.column_scale_.min()
    # with 300 cells per column, the noise of 40 columns is estimated to within 20 %
    assert np.mean(np.abs(np.log(model.noise_scale_ / scale)) < 0.2) >= 0.9
    weighted = np.linalg.svd(X / scale, full_matrices=False)
    known = (weighted[0][:, :3] * weighted[1][:3]) @ weighted[2][:3] * scale
    assert error(model.low_rank_, L) <= 1.3 * error(known, L)

    # scores of new rows also weigh the columns
    unweighted = X @ model.components_.T
    truth = L @ model.components_.T
    assert error(model.transform(X), truth) < 0.8 * error(unweighted, truth)


@pytest.mark.certificate
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_certificate_belongs_to_the_convex_problem_of_scaled_columns(spread, seed):
    X, _, _ = noisy((80, 50), seed=seed)
    X *= np.exp(spread * np.random.default_rng(seed).normal(size=50))
    model = RobustPCA(polish=False).fit(X)
    table = X / model.column_scale_
    L = model.low_rank_ / model.column_scale_
    delta = model.noise_std_ * np.sqrt(2 * 80)
    Y = model.dual_ / max(1, norm(model.dual_, 2), np.abs(model.dual_).max() / model.alpha_)
    primal = norm(L, "nuc") + huber(table - L, model.alpha_, delta).sum()
    dual = (table * Y).sum() - delta / 2 * norm(Y) ** 2
    assert_allclose(model.objective_, primal, rtol=1e-9)
    assert (primal - dual) / primal <= model.dual_gap_ + 1e-9
    assert model.dual_gap_ <= 1e-6
    assert RobustPCA().fit(X).objective_ == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.recovery
@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(60, 40), (200, 60), (40, 200)])
@pytest.mark.parametrize("sigma", [0.0, 1e-4, 1e-2, 0.5])
def test_exact_or_noisy(shape, share, sigma, seed):
    X, L, _ = noisy(shape, 2, share, sigma, seed=seed)
    model = RobustPCA(tol=1e-4).fit(X)
    assert model.algorithm_ == ("stable" if sigma else "pcp")
    if not sigma:
        assert error(model.low_rank_, L) < 1e-3  # the tolerance is the same as above
        assert model.noise_std_ == 0
        assert not model.noise_scale_.any()


def large(shape, rank, share, sigma, missing, seed):
    """Entries of a low rank of one standard deviation, errors up to ten, and noise."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1])) / np.sqrt(rank)
    wrong = rng.random(shape) < share
    X = L + sigma * rng.normal(size=shape) + wrong * rng.uniform(-10, 10, shape)
    X[rng.random(shape) < missing] = np.nan
    return X


def proved(X):
    weight = (np.mean(~np.isnan(X)) * max(X.shape)) ** -0.5
    rng = np.random.RandomState(0)
    return proves_noise(X, lam=weight, solver="auto", rng=rng)


LARGE_TABLES = pytest.mark.parametrize(
    ("shape", "missing"),
    [
        ((320, 340), 0.1),
        *(
            pytest.param(shape, missing, marks=pytest.mark.full)
            for shape in ((700, 500), (400, 1200))
            for missing in (0.0, 0.3)
        ),
    ],
)


@pytest.mark.recovery
@LARGE_TABLES
def test_a_part_of_a_large_table_proves_noise_and_no_exact_rank(
    shape, missing, seed, monkeypatch
):
    monkeypatch.setattr("skmoderndata._solvers.lowrank.noise_proof.LARGE", 0)
    assert proved(large(shape, 3, 0.05, 0.01, missing, seed))
    assert not proved(large(shape, 3, 0.05, 0.0, missing, seed))

    # Boolean cells carry no information about noise; small tables are solved by pursuit at once
    assert not proved((large(shape, 3, 0.0, 0.1, 0.0, seed) > 2).astype(float))
    monkeypatch.undo()
    assert not proved(large(shape, 3, 0.05, 0.01, missing, seed))


@pytest.mark.recovery
@LARGE_TABLES
@pytest.mark.parametrize(("part", "share"), [(10, 0.05), (7, 0.0)])
def test_no_noise_is_claimed_if_full_pursuit_recovers_the_rank(
    part, share, shape, missing, seed, monkeypatch
):
    """A block of the table does not recover it."""
    monkeypatch.setattr("skmoderndata._solvers.lowrank.noise_proof.LARGE", 0)
    assert not proved(large(shape, min(shape) // part, share, 0.0, missing, seed))


@pytest.mark.recovery
def test_a_large_table_with_noise_is_decomposed_without_pursuit(monkeypatch):
    X = large((500, 400), 2, 0.02, 0.05, 0.0, 0)
    slow = RobustPCA(tol=1e-4).fit(X)
    monkeypatch.setattr("skmoderndata._solvers.lowrank.noise_proof.LARGE", 0)
    quick = RobustPCA(tol=1e-4).fit(X)
    assert quick.algorithm_ == slow.algorithm_ == "stable"
    assert quick.n_iter_ < slow.n_iter_
    assert_allclose(quick.low_rank_, slow.low_rank_, atol=1e-3)


@pytest.mark.recovery
@pytest.mark.filterwarnings("ignore:RobustPCA depends on the scales")
@pytest.mark.parametrize("standardised", [False, True])
@pytest.mark.parametrize(
    "load",
    [
        pytest.param(load_breast_cancer, marks=pytest.mark.full),
        *(load_diabetes, load_iris, load_wine),
    ],
)
def test_real_tables_are_noisy(load, standardised):
    X = load().data
    X = X / X.std(axis=0) if standardised else X
    assert RobustPCA(tol=1e-4).fit(X).algorithm_ == "stable"


@pytest.mark.recovery
def test_noise_of_a_table_with_just_over_half_zeros():
    """The fit is exact at the median cell; columns that are not mostly zero give the noise."""
    X = load_digits().data[:300]
    folds = StratifiedKFold(3).split(X, load_digits().target[:300])
    tables = [X[rows] for rows, _ in folds]
    assert np.mean(tables[2] == 0) > 0.5 > np.mean(tables[0] == 0)
    for table in tables:
        model = RobustPCA(tol=1e-4).fit(table)
        assert model.algorithm_ == "stable"
        assert model.support_.mean() < 0.04
        assert 8 <= model.rank_ <= 14  # the table of all digits has 14 components


@pytest.mark.recovery
@pytest.mark.parametrize(
    ("load", "precision", "marked"),
    [(load_breast_cancer, 0.5, 0.03), (load_wine, 0.85, 0.03), (load_diabetes, 0.9, 0.03)],
)
def test_broken_cells_of_real_tables(load, precision, marked):
    """Two of a hundred cells are raised by eight standard deviations."""
    X = load().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert RobustPCA(tol=1e-4).fit(X).support_.mean() <= marked
    rng = np.random.default_rng(0)
    wrong = rng.random(X.shape) < 0.02
    found = RobustPCA(tol=1e-4).fit(X + 8 * wrong).support_
    assert (found & wrong).sum() >= 0.95 * wrong.sum()
    assert (found & wrong).sum() >= precision * found.sum()


@pytest.mark.edge
def test_tables_of_pure_noise_or_without_noise(seed):
    X = np.random.default_rng(seed).normal(size=(80, 40))
    with pytest.warns(UserWarning, match="no component above the noise"):
        model = RobustPCA().fit(X)
    assert model.components_.shape == (0, 40)
    assert not model.low_rank_.any()
    # in Boolean tables, most cells of a column are equal
    assert RobustPCA().fit(X > 1).algorithm_ == "pcp"
    assert RobustPCA().fit(np.full((9, 5), 3.0)).algorithm_ == "pcp"


@pytest.mark.edge
def test_boolean_answers_are_not_low_rank(seed):
    """Columns of two values say nothing on noise; that most entries are marked is said."""
    rng = np.random.default_rng(seed)
    X = (rng.random((300, 30)) < rng.uniform(0.2, 0.4, 30)).astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    with pytest.warns(UserWarning, match="of them as errors.*MultiAssignmentClustering"):
        model = RobustPCA().fit(X)
    assert model.algorithm_ == "pcp"
    assert model.support_.mean() > 0.5


@pytest.mark.edge
def test_known_noise_is_used(seed):
    X, _, _ = noisy(seed=seed)
    model = RobustPCA(noise_std=0.1, tol=1e-4).fit(X)
    assert (model.algorithm_, model.noise_std_) == ("stable", 0.1)
    assert_array_equal(model.noise_scale_, np.full(60, 0.1))
    assert RobustPCA(noise_std=0, max_iter=20_000).fit(X[:40, :30]).algorithm_ == "pcp"


@pytest.mark.invariance
def test_noisy_tables_in_other_units_orders_and_precision(seed):
    X, _, _ = noisy((90, 40), missing=0.1, seed=seed)
    model = RobustPCA().fit(X)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(90)
    columns = rng.permutation(40)
    other = RobustPCA().fit(-40 * X[np.ix_(rows, columns)])
    # the refit ends after a few steps, from a start that is as accurate as `tol`
    expected = -40 * model.low_rank_[np.ix_(rows, columns)]
    assert_allclose(other.low_rank_, expected, atol=1e-2)
    assert_array_equal(other.support_, model.support_[np.ix_(rows, columns)])
    single = RobustPCA().fit(X.astype(np.float32))
    assert single.algorithm_ == "stable"
    assert single.noise_scale_.dtype == single.low_rank_.dtype == np.float32
    assert_allclose(single.low_rank_, model.low_rank_, atol=1e-3)


@pytest.mark.recovery
def test_outliers_are_listed_with_their_names(seed):
    X, *_ = noisy((90, 40), share=0.02, seed=seed)
    frame = pd.DataFrame(X, index=[f"day {i}" for i in range(90)]).rename(columns="s{}".format)
    model = RobustPCA(tol=1e-4).fit(frame)
    found = model.find_outliers()
    assert list(found.columns) == ["row", "column", "value", "expected", "size"]
    assert len(found) == model.support_.sum()
    assert (np.diff(found["size"]) <= 0).all()
    for cell in found.itertuples():
        i = int(cell.row[4:])
        j = int(cell.column[1:])
        assert model.support_[i, j]
        assert cell.value == pytest.approx(X[i, j])
        assert cell.expected == pytest.approx(model.low_rank_[i, j])
        assert cell.size == pytest.approx(
            abs(X[i, j] - model.low_rank_[i, j]) / model.noise_scale_[j]
        )

    rows = model.find_outliers(frame[10:20])
    inside = [
        cell for cell in zip(found.row, found.column, strict=True) if cell[0] in rows.row
    ]
    assert set(zip(rows.row, rows.column, strict=True)) >= set(inside)
    assert (
        RobustPCA(tol=1e-4).fit(X).find_outliers().row == [int(r[4:]) for r in found.row]
    ).all()


@pytest.mark.edge
def test_outliers_without_pandas_without_noise_without_matrices(monkeypatch, seed):
    X, _, sparse = planted((60, 40), 2, 0.05, seed)
    model = RobustPCA().fit(X)
    assert np.isinf(model.find_outliers()["size"]).all()
    assert len(model.find_outliers()) == len(model.find_outliers(X)) == (sparse != 0).sum()
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = model.find_outliers()
    assert table.dtype.names == ("row", "column", "value", "expected", "size")
    assert_allclose(table["value"], X[table["row"], table["column"]])
    with pytest.raises(ValueError, match=r"find_outliers\(\).*store_matrices=True"):
        RobustPCA(store_matrices=False).fit(X).find_outliers()


@pytest.mark.edge
def test_display_shows_the_names_of_the_user(seed):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, _, _ = noisy((30, 12), 1, missing=0.1, seed=seed)
    frame = pd.DataFrame(X, index=[f"day {i}" for i in range(30)]).rename(columns="s{}".format)
    model = RobustPCA(tol=1e-4).fit(frame)
    display = RobustPCADisplay.from_estimator(model, frame)
    assert [ax.get_title() for ax in display.axes_][:2] == ["Table", "Low rank"]
    columns = [label.get_text() for label in display.axes_[0].get_xticklabels()]
    assert columns == ["s0", "s2", "s4", "s6", "s8", "s10"]  # at most ten names are shown
    assert display.axes_[0].get_yticklabels()[4].get_text() == "day 12"
    assert_array_equal(display.images_[0].get_array().mask, np.isnan(X))
    expected = model.decompose(frame).sparse / model.noise_scale_
    assert_allclose(display.images_[2].get_array(), expected)

    # one huge cell must not hide the other errors
    sizes = np.zeros((30, 12))
    sizes[::5, ::4] = 2.0
    sizes[3, 3] = 1e6
    huge = RobustPCADisplay(table=X, low_rank=X, errors=sizes).plot()
    assert 2.0 <= huge.images_[2].get_clim()[1] <= 20.0
    sizes[3, 3] = 3.0
    even = RobustPCADisplay(table=X, low_rank=X, errors=sizes).plot()
    assert even.images_[2].get_clim() == (-3.0, 3.0)

    _, axes = matplotlib.pyplot.subplots(1, 2)
    with pytest.raises(ValueError, match="three or four axes, got 2"):
        display.plot(axes)
    matplotlib.pyplot.close("all")
