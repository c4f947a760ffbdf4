"""Evidence that RobustPCA solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from skmoderndata.datasets import make_low_rank_plus_sparse
from skmoderndata.decomposition import RobustPCA
from tests.oracles import robust_pca as oracle


def planted(n, p, rank, share, seed, size=1.0):
    """Return data, low-rank and sparse part, with errors of +-size in a share of the cells."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) / np.sqrt(n)
    S = np.where(rng.uniform(size=(n, p)) < share, size * rng.choice([-1.0, 1.0], (n, p)), 0.0)
    return L + S, L, S


def relative(A, B):
    return np.linalg.norm(A - B) / np.linalg.norm(B)


@pytest.mark.oracle
def test_optimum_is_that_of_a_conic_solver(seed):
    X, _, _ = planted(16, 12, 2, 0.15, seed)
    X += 0.05 * np.random.default_rng(seed).normal(size=X.shape)
    X[3, 4] = X[7, 2] = np.nan
    model = RobustPCA(max_iter=5000).fit(X)
    value, low_rank = oracle.pursuit_by_cvxpy(X, model.lam_)
    assert_allclose(model.objective_, value, rtol=1e-5)  # interior point accuracy
    # the minimiser is determined less sharply than the minimum
    assert_allclose(model.low_rank_, low_rank, atol=1e-3 * np.abs(low_rank).max())
    conic = RobustPCA(solver="cvxpy").fit(X)
    assert_allclose(conic.objective_, model.objective_, rtol=1e-5)


@pytest.mark.oracle
def test_stable_optimum_is_that_of_a_conic_solver(seed):
    X, _, _ = planted(14, 10, 2, 0.1, seed)
    X += 0.1 * np.random.default_rng(seed).normal(size=X.shape)
    model = RobustPCA(method="stable", noise_std=0.1, max_iter=5000).fit(X)
    delta = 0.1 * np.sqrt(2 * 14)
    value, low_rank = oracle.pursuit_by_cvxpy(X, model.lam_, delta)
    assert_allclose(model.objective_, value, rtol=1e-5)  # interior point accuracy
    assert_allclose(model.low_rank_, low_rank, atol=1e-3 * np.abs(low_rank).max())


@pytest.mark.oracle
def test_scores_minimise_absolute_deviations(seed):
    X, _, _ = planted(60, 40, 3, 0.05, seed)
    model = RobustPCA().fit(X)
    new = planted(15, 40, 3, 0.2, seed + 100)[0] + 0.1  # not in the span: a real minimum
    expected = oracle.least_absolute_scores(new, model.components_)
    fit, best = (
        np.abs(new - A @ model.components_).sum(axis=1) for A in (model.transform(new), expected)
    )
    assert_allclose(fit, best, rtol=1e-7)


@pytest.mark.oracle
def test_all_solvers_and_schedules_reach_the_same_optimum(seed):
    X, _, _ = planted(70, 60, 4, 0.08, seed)
    X += 0.02 * np.random.default_rng(seed).normal(size=X.shape)
    values = [
        RobustPCA(solver=solver, schedule=schedule, max_iter=5000).fit(X).objective_
        for solver in ("full", "gram", "subspace")
        for schedule in ("balanced", "constant", "ialm")
    ]
    assert_allclose(values, values[0], rtol=3e-6)  # each within tol_gap of the minimum


@pytest.mark.certificate
def test_optimality_conditions(seed):
    X, _, _ = planted(90, 60, 3, 0.05, seed)
    model = RobustPCA().fit(X)
    Y, lam = model.dual_, model.lam_
    U, _, Vt = np.linalg.svd(model.low_rank_, full_matrices=False)
    r = model.n_components_
    assert np.linalg.norm(Y, 2) <= 1 + 1e-6
    assert np.abs(Y).max() <= lam * (1 + 1e-12)
    assert_allclose(U[:, :r].T @ Y @ Vt[:r].T, np.eye(r), atol=1e-4)  # first order in the error
    assert_allclose(Y[model.support_], lam * np.sign(model.sparse_[model.support_]), rtol=1e-12)
    assert_allclose(model.low_rank_ + model.sparse_, X, atol=1e-6 * np.abs(X).max())
    gap = oracle.objective(model.low_rank_, X - model.low_rank_, lam) - (Y * X).sum()
    assert abs(gap) <= 2e-6 * model.objective_
    assert 0 <= model.dual_gap_ <= 1e-6


@pytest.mark.certificate
def test_certificate_tells_an_unfinished_fit():
    X, _, _ = planted(80, 80, 4, 0.1, 0)
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap is .* raise max_iter"):
        model = RobustPCA(max_iter=3).fit(X)
    assert model.dual_gap_ > 1e-3


@pytest.mark.recovery
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_published_random_problem(share, seed):
    n, rank = 200, 10
    X, low_rank, sparse = planted(n, n, rank, share, seed)
    model = RobustPCA().fit(X)
    assert model.rank_ == rank
    assert model.dual_gap_ <= 1e-6
    assert relative(model.low_rank_, low_rank) <= 2e-6
    polished = RobustPCA(polish=True).fit(X)
    assert polished.polished_
    assert relative(polished.low_rank_, low_rank) <= 1e-12
    assert_array_equal(polished.support_, sparse != 0)


@pytest.mark.slow
@pytest.mark.paper
@pytest.mark.parametrize("n", [500, 1000, 2000])
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_table_of_random_problems(n, share):
    """Candes et al. 2011, table 1: rank 0.05 n, 5 and 10 per cent of errors, exact recovery."""
    X, low_rank, sparse = planted(n, n, n // 20, share, 0)
    model = RobustPCA(polish=True).fit(X)
    assert model.rank_ == n // 20
    assert_array_equal(model.support_, sparse != 0)
    assert relative(model.low_rank_, low_rank) <= 1e-12
    plain = RobustPCA().fit(X)
    assert plain.dual_gap_ <= 1e-6
    assert relative(plain.low_rank_, low_rank) <= 2e-6


@pytest.mark.paper
def test_growing_penalty_stops_at_a_wrong_point():
    """The inexact method of Lin et al. 2010 meets its residual, not the optimum; ours goes on."""
    X, _, _ = planted(30, 24, 2, 0.08, 1)
    X += 0.3 * np.random.default_rng(1).normal(size=X.shape)
    model = RobustPCA(max_iter=5000).fit(X)
    L, S = oracle.full_svd_ialm(X, model.lam_)
    assert np.linalg.norm(X - L - S) < 1e-6 * np.linalg.norm(X)
    assert oracle.objective(L, S, model.lam_) > model.objective_ * (1 + 1e-4)
    continued = RobustPCA(schedule="ialm", max_iter=5000).fit(X)
    assert_allclose(continued.objective_, model.objective_, rtol=3e-6)


@pytest.mark.recovery
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_new_rows_with_gross_errors(share, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(200, 5)))[0].T
    X = rng.normal(size=(300, 5)) @ basis * 10
    X[rng.uniform(size=X.shape) < 0.05] += 20
    model = RobustPCA().fit(X)
    clean = rng.normal(size=(50, 5)) @ basis * 10
    dirty = clean + np.where(rng.uniform(size=clean.shape) < share, 20.0, 0.0)
    truth = clean @ model.components_.T
    assert relative(model.transform(dirty), truth) <= 1e-4
    assert relative(dirty @ model.components_.T, truth) > 0.2  # plain projection
    assert_allclose(model.decompose(dirty).low_rank, clean, atol=1e-3)
    assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-10)


@pytest.mark.recovery
def test_missing_entries(seed):
    X, low_rank, _ = planted(150, 120, 3, 0.05, seed)
    holes = np.random.default_rng(seed).uniform(size=X.shape) < 0.4
    model = RobustPCA().fit(np.where(holes, np.nan, X))
    assert relative(model.low_rank_, low_rank) < 1e-5
    assert model.rank_ == 3
    assert not model.sparse_[holes].any()


@pytest.mark.recovery
def test_stable_method_under_noise(seed):
    X, low_rank, _ = planted(200, 150, 3, 0.05, seed, size=5.0)
    X = X + 0.02 * np.random.default_rng(seed).normal(size=X.shape)
    stable = RobustPCA(method="stable").fit(X)
    assert abs(stable.noise_std_ - 0.02) < 0.005
    plain = RobustPCA(tol=1e-5, tol_gap=1e-4).fit(X)
    errors = [relative(model.low_rank_, low_rank) for model in (stable, plain)]
    assert stable.rank_ < plain.rank_ / 2
    assert errors[0] < 0.9 * errors[1]


@pytest.mark.recovery
def test_one_gross_outlier_turns_pca_but_not_robust_pca(seed):
    rng = np.random.default_rng(seed)
    direction = np.linalg.qr(rng.normal(size=(30, 1)))[0][:, 0]
    X = np.outer(rng.normal(size=100), direction)
    X[7, 3] += 1e4
    robust = RobustPCA(n_components=1).fit(X).components_[0]
    plain = PCA(1).fit(X).components_[0]
    assert abs(robust @ direction) > 1 - 1e-6
    assert abs(plain @ direction) < 0.9


@pytest.mark.invariance
def test_transpose_permutation_and_scale(seed):
    X, _, _ = planted(50, 40, 2, 0.05, seed)
    model = RobustPCA().fit(X)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(50), rng.permutation(40)
    close = {"atol": 3e-6 * np.abs(model.low_rank_).max()}  # the tolerance of the fit
    assert_allclose(RobustPCA().fit(X.T).low_rank_.T, model.low_rank_, **close)
    moved = RobustPCA().fit(X[rows][:, columns])
    assert_allclose(moved.low_rank_, model.low_rank_[rows][:, columns], **close)
    for factor in (-1.0, 1e-9, 1e9):
        scaled = RobustPCA().fit(factor * X)
        assert_allclose(scaled.low_rank_ / factor, model.low_rank_, **close)


@pytest.mark.invariance
def test_low_rank_data_without_errors_stay_as_they_are(seed):
    X = planted(100, 80, 2, 0.0, seed)[0]
    model = RobustPCA().fit(X)
    assert_allclose(model.low_rank_, X, atol=1e-6 * np.abs(X).max())
    assert model.n_components_ == 2
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-6 * np.abs(X).max())


def test_outlier_scores_and_centre(seed):
    X, _, _ = planted(80, 50, 2, 0.0, seed)
    X = X + np.arange(50)
    X[5, :10] += 30
    model = RobustPCA(n_components=2, center="median", tol=1e-5, tol_gap=1e-4).fit(X)
    assert model.outlier_scores(X).argmax() == 5
    assert model.score(X) > -0.5


@pytest.mark.edge
def test_zeros_single_rows_and_columns():
    assert RobustPCA().fit(np.zeros((6, 4))).n_components_ == 0
    assert RobustPCA().fit_transform(np.zeros((6, 4))).shape == (6, 0)
    for X in (np.arange(1.0, 9)[None], np.arange(1.0, 9)[:, None], np.ones((5, 5))):
        model = RobustPCA().fit(X)
        assert_allclose(model.low_rank_ + model.sparse_, X, atol=1e-5)
        assert np.isfinite(model.transform(X)).all()


@pytest.mark.edge
def test_empty_rows_and_columns_of_missing_entries():
    X, _, _ = planted(30, 20, 2, 0.05, 0)
    X[4], X[:, 6] = np.nan, np.nan
    model = RobustPCA().fit(X)
    assert_allclose(model.low_rank_[4], 0, atol=1e-6)
    assert_allclose(model.low_rank_[:, 6], 0, atol=1e-6)
    with pytest.warns(UserWarning, match="too few known entries"):
        scores = model.transform(X[:6])
    assert np.isfinite(scores).all()
    with pytest.raises(ValueError, match="at least one observed entry"):
        RobustPCA().fit(np.full((3, 3), np.nan))


@pytest.mark.edge
def test_settings_that_do_not_fit_together():
    X = planted(30, 20, 2, 0.05, 0)[0]
    with pytest.raises(ValueError, match="polish=True"):
        RobustPCA(method="stable", polish=True).fit(X)
    with pytest.raises(ValueError, match="rows plus columns up to 200"):
        RobustPCA(solver="cvxpy").fit(np.zeros((150, 60)) + 1.0)
    model = RobustPCA(store_matrices=False).fit(X)
    assert not hasattr(model, "low_rank_")
    with pytest.raises(ValueError, match="scores a row"):
        model.inverse_transform(np.zeros((2, 9)))


@pytest.mark.edge
def test_generator_agrees_with_the_docstring(seed):
    X, low_rank, sparse = make_low_rank_plus_sparse(
        60, 40, rank=2, outlier_fraction=0.05, random_state=seed
    )
    model = RobustPCA().fit(X)
    assert relative(model.low_rank_, low_rank) < 1e-5
    assert_array_equal(model.support_ & (sparse == 0), np.zeros_like(model.support_))
