"""Evidence that NuclearNormImputer solves the problem it states."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata._solvers.common.convex_problems import matrix_completion, solve
from skmoderndata._solvers.common.products import entries_at
from skmoderndata._solvers.lowrank import completion
from skmoderndata.datasets import make_ratings
from skmoderndata.impute import NuclearNormImputer
from tests.oracles import nuclear_norm_imputer as oracle


def convex(alpha, **settings):
    """The plain problem, without units or debiasing."""
    plain = {"alpha_scale": "absolute", "center": False, "scale": False, "debias": False}
    plain |= {"tol": 1e-9, "max_iter": 5000}
    return NuclearNormImputer(alpha=alpha, **(plain | settings))


def low_rank(rng, n=30, p=20, rank=2, share=0.6, noise=0.0):
    truth = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p))
    known = rng.random((n, p)) < share
    return truth, known, np.where(known, truth + noise * rng.normal(size=(n, p)), np.nan)


def fit_of(imputer):
    return imputer.row_scores_ @ imputer.components_


def conic(X, known, alpha):
    stated = matrix_completion(X, known, alpha)
    assert solve(stated, solver="SCS", eps=1e-9, max_iters=100_000)
    return stated.variable.value, stated.problem.value


# oracle


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_solver_cvxpy_is_selectable(kind, alpha, seed):
    X = low_rank(np.random.default_rng(seed), 16, 12, noise=0.3)[2]
    known = ~np.isnan(X)
    if kind == "sparse":
        X = sparse.csr_array((X[known], np.nonzero(known)), shape=X.shape)
    scaled = 1e40 * X
    ours = convex(alpha).fit(X)
    theirs = convex(alpha, solver="cvxpy").fit(X)
    assert theirs.dual_gap_ < 1e-5  # an interior point method reaches this accuracy
    assert_allclose(theirs.objective_, ours.objective_, rtol=1e-5)
    far = convex(1e40 * alpha, solver="cvxpy").fit(scaled)
    assert_allclose(far.objective_ / (1e80 if alpha else 1e40), ours.objective_, rtol=1e-5)
    with pytest.raises(ValueError, match=r"solver='cvxpy'.*up to 200"):
        convex(alpha, solver="cvxpy", n_components=2).fit(X)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.5, 4.0])
def test_soft_matches_conic_solver(seed, alpha):
    _, known, X = low_rank(np.random.default_rng(seed), 20, 14, noise=0.3)
    L, value = conic(X, known, alpha)
    imputer = convex(alpha).fit(X)
    assert_allclose(imputer.objective_, value, rtol=1e-6)
    # the conic solver itself is accurate to about 1e-5 in the matrix
    assert_allclose(fit_of(imputer), L, atol=2e-4 * np.abs(L).max())


@pytest.mark.oracle
def test_exact_matches_conic_solver(seed):
    # with noise, the solution does not have low rank, so only the nuclear norm selects it
    _, known, X = low_rank(np.random.default_rng(seed), 16, 12, share=0.5, noise=0.3)
    L, value = conic(X, known, 0)
    imputer = convex(0).fit(X)
    # the tolerance is the accuracy of the conic solver
    assert_allclose(imputer.objective_, value, rtol=1e-5)
    # the minimum is flat, so the matrix is less accurate than its norm
    assert_allclose(fit_of(imputer), L, atol=2e-2 * np.abs(L).max())
    assert_allclose(fit_of(imputer)[known], X[known], atol=1e-7 * np.abs(L).max())


@pytest.mark.oracle
def test_soft_matches_plain_soft_impute(seed):
    _, known, X = low_rank(np.random.default_rng(seed), 40, 25, noise=0.5)
    alpha = 0.2 * np.linalg.norm(np.where(known, X, 0), 2)
    L = oracle.soft_impute(X, known, alpha)
    imputer = convex(0.2, alpha_scale="relative").fit(X)
    assert_allclose(imputer.alpha_, alpha, rtol=1e-10)
    # if the relative gap of the objective is 1e-9, the error of the matrix is about the root of
    # that
    assert_allclose(fit_of(imputer), L, atol=1e-4 * np.abs(L).max())


@pytest.mark.oracle
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_weighted_problem_matches_conic_solver_and_proximal_gradient(spread, seed):
    rng = np.random.default_rng(seed)
    _, known, X = low_rank(rng, 14, 10, noise=0.4)
    weights = np.where(known, np.exp(spread * rng.normal(size=X.shape)), 0)
    alpha = 0.1 * np.linalg.norm(weights * np.nan_to_num(X), 2)
    ours = convex(alpha, tol=1e-10, max_iter=20_000).fit(X, entry_weight=weights)
    assert ours.dual_gap_ <= 1e-9
    value = oracle.weighted_objective(X, weights, fit_of(ours), alpha)
    assert_allclose(ours.objective_, value, rtol=1e-10)

    # the conic solver gets the square roots of the weights
    stated = matrix_completion(X, known, alpha, weights)
    assert solve(stated, solver="SCS", eps=1e-9, max_iters=100_000)
    # SCS reaches this accuracy
    assert_allclose(ours.objective_, stated.problem.value, rtol=1e-5)
    by_name = convex(alpha, solver="cvxpy", tol=1e-5).fit(X, entry_weight=weights)
    assert_allclose(by_name.objective_, value, rtol=1e-5)

    # proximal gradient steps converge slowly if weights differ widely
    slow = oracle.weighted_soft_impute(X, weights, alpha, 3000)
    reached = oracle.weighted_objective(X, weights, slow, alpha)
    assert value <= reached * (1 + 1e-9)
    if spread == 1.0:
        assert_allclose(fit_of(ours), slow, atol=1e-4 * np.abs(slow).max())


@pytest.mark.oracle
@pytest.mark.parametrize("debias", [False, True])
def test_new_rows_with_weights_match_ridge_of_scaled_rows(seed, debias):
    rng = np.random.default_rng(seed)
    _, known, X = low_rank(rng, 40, 12, noise=0.3)
    weights = rng.gamma(1.0, size=X.shape)
    imputer = NuclearNormImputer(alpha=0.1, debias=debias, center=False, scale=False)
    filled = imputer.fit_transform(X, entry_weight=weights)
    for x, observed, w, row in zip(X, known, weights, filled, strict=True):
        root = np.sqrt(w[observed])
        A = imputer.components_.T[observed] * root[:, None]
        G = A.T @ A + np.diag(imputer.row_penalty_)
        score = np.linalg.solve(G, A.T @ (root * x[observed]))
        assert_allclose(row[~observed], (score @ imputer.components_)[~observed], rtol=1e-9)
        assert_array_equal(row[observed], x[observed])


@pytest.mark.oracle
def test_weights_of_a_sparse_table_match_those_of_the_dense_one(seed):
    rng = np.random.default_rng(seed)
    _, known, X = low_rank(rng, 30, 20, noise=0.3)
    weights = rng.gamma(1.0, size=X.shape)
    weights[rng.uniform(size=X.shape) < 0.1] = 0
    table = sparse.csr_array((X[known], np.nonzero(known)), shape=X.shape)
    settings = {"alpha": 0.05, "scale": True, "tol": 1e-10, "max_iter": 3000}
    dense = NuclearNormImputer(**settings).fit(X, entry_weight=weights)
    for form in (weights, sparse.csr_array(weights), sparse.coo_matrix(weights)):
        thin = NuclearNormImputer(**settings).fit(table, entry_weight=form)
        # both solutions have a gap of 1e-10
        assert_allclose(fit_of(thin), fit_of(dense), atol=1e-4)
        assert_allclose(thin.objective_, dense.objective_, rtol=1e-8)
        assert_allclose(thin.mean_, dense.mean_, rtol=1e-12)
        score = dense.score(X, entry_weight=weights)
        assert_allclose(thin.score(table, entry_weight=form), score, rtol=1e-3)


@pytest.mark.oracle
def test_complete_table_is_soft_thresholding():
    X = np.random.default_rng(0).normal(size=(30, 12))
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    imputer = convex(3.0).fit(X)
    assert_allclose(fit_of(imputer), (U * np.maximum(s - 3, 0)) @ Vt, atol=1e-12)
    assert imputer.n_iter_ == 1


@pytest.mark.oracle
@pytest.mark.parametrize("debias", [False, True])
def test_new_rows_match_ridge_row_by_row(seed, debias):
    rng = np.random.default_rng(seed)
    _, _, X = low_rank(rng, 60, 15, rank=3, noise=0.3)
    imputer = convex(0.1, alpha_scale="relative", debias=debias, tol=1e-5).fit(X)
    new = rng.normal(size=(40, 15))
    known = rng.random(new.shape) < 0.5
    known[:10] = known[0]  # these rows share a factorisation
    known[10:12, 1:] = False  # these rows have fewer known cells than components
    expected = oracle.fill_rows(new, known, imputer.components_, imputer.row_penalty_)
    filled = imputer.transform(np.where(known, new, np.nan))
    assert_allclose(filled, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.oracle
def test_new_rows_without_penalty_are_least_squares(seed):
    rng = np.random.default_rng(seed)
    _, _, X = low_rank(rng, 60, 12, rank=3, share=0.97)
    imputer = convex(0).fit(X)
    assert imputer.n_components_ == 3
    new = rng.normal(size=(20, 12))
    known = np.arange(12) < 8
    V = imputer.components_.T
    scores = np.linalg.lstsq(V[known], new[:, known].T, rcond=None)[0]
    filled = imputer.transform(np.where(known, new, np.nan))
    assert_allclose(filled[:, ~known], (V @ scores).T[:, ~known], rtol=1e-8, atol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_sparse_table_matches_dense(seed, alpha):
    _, known, X = low_rank(np.random.default_rng(seed), 90, 80, rank=3, share=0.4, noise=0.01)
    rows, columns = np.nonzero(known)
    S = sparse.coo_array((X[known], (rows, columns)), shape=X.shape)
    settings = {"scale": False, "tol": 1e-8, "max_iter": 3000}
    dense = NuclearNormImputer(alpha=alpha, **settings).fit(X)
    thin = NuclearNormImputer(alpha=alpha, **settings).fit(S)
    assert_allclose(thin.alpha_, dense.alpha_, rtol=1e-9)
    # both objectives are within the tolerance, so the matrices agree up to about its root
    atol = 2e-3 * np.abs(X[known]).max()
    assert_allclose(thin.transform(S), dense.transform(X), atol=atol)


@pytest.mark.oracle
def test_compiled_loops_match_plain_python():
    rng = np.random.default_rng(0)
    left = rng.normal(size=(5, 3))
    right = rng.normal(size=(7, 3))
    rows = rng.integers(5, size=20)
    columns = rng.integers(7, size=20)
    out = np.empty(20)
    entries_at(rows, columns, left, right, out)
    assert_allclose(out, (left @ right.T)[rows, columns], rtol=1e-12)


# certificate


@pytest.mark.certificate
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5])
def test_optimality_conditions(seed, fraction):
    _, known, X = low_rank(np.random.default_rng(seed), 50, 40, noise=0.5)
    imputer = convex(fraction, alpha_scale="relative", tol=1e-10).fit(X)
    assert imputer.dual_gap_ <= 1e-9  # at the end, the rows are regressed once more
    R = np.where(known, X - fit_of(imputer), 0)
    alpha = imputer.alpha_
    U, s, Vt = np.linalg.svd(fit_of(imputer))
    r = np.count_nonzero(s > 1e-6 * s[0])
    assert_allclose(np.linalg.norm(R, 2), alpha, rtol=1e-4)
    # the gap is quadratic in the error of the subgradient
    assert_allclose(U.T[:r] @ R @ Vt[:r].T, alpha * np.eye(r), atol=1e-3 * alpha)


@pytest.mark.certificate
def test_gap_matches_an_independent_formula_and_bounds_the_error(seed):
    _, known, X = low_rank(np.random.default_rng(seed), 25, 20, noise=0.5, share=0.4)
    alpha = 0.02 * np.linalg.norm(np.where(known, X, 0), 2)
    best = convex(alpha, tol=1e-11).fit(X).objective_
    for max_iter in (1, 3, 10, 30):
        imputer = convex(alpha, tol=0.0, max_iter=max_iter)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            imputer.fit(X)
        value = oracle.objective(X, known, fit_of(imputer), alpha)
        assert_allclose(imputer.objective_, value, rtol=1e-10)
        # the oracle searches a grid of dual points, whose best point is slightly worse than the
        # optimum
        assert_allclose(
            imputer.dual_gap_, oracle.gap(X, known, fit_of(imputer), alpha), atol=1e-5
        )
        assert (value - best) / value <= imputer.dual_gap_ + 1e-10


@pytest.mark.certificate
def test_weighted_gap_matches_an_independent_formula_and_bounds_the_error(seed):
    rng = np.random.default_rng(seed)
    _, known, X = low_rank(rng, 25, 20, noise=0.5, share=0.4)
    weights = np.where(known, rng.gamma(1.0, size=X.shape), 0)
    alpha = 0.02 * np.linalg.norm(weights * np.nan_to_num(X), 2)
    best = convex(alpha, tol=1e-11, max_iter=50_000).fit(X, entry_weight=weights).objective_
    for max_iter in (1, 3, 10, 30):
        imputer = convex(alpha, tol=0.0, max_iter=max_iter)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            imputer.fit(X, entry_weight=weights)
        L = fit_of(imputer)
        value = oracle.weighted_objective(X, weights, L, alpha)
        assert_allclose(imputer.objective_, value, rtol=1e-10)
        # the oracle searches a grid of dual points, whose best point is slightly worse than the
        # optimum
        assert_allclose(
            imputer.dual_gap_, oracle.weighted_gap(X, weights, L, alpha), atol=1e-5
        )
        assert (value - best) / value <= imputer.dual_gap_ + 1e-10


@pytest.mark.certificate
def test_optimality_conditions_with_weights(seed):
    rng = np.random.default_rng(seed)
    _, known, X = low_rank(rng, 40, 30, noise=0.5)
    weights = np.where(known, rng.gamma(1.0, size=X.shape), 0)
    imputer = convex(0.1, alpha_scale="relative", tol=1e-10, max_iter=20_000)
    imputer.fit(X, entry_weight=weights)
    L = fit_of(imputer)
    alpha = imputer.alpha_
    # weighted residuals are alpha times a subgradient of the nuclear norm
    R = weights * np.where(known, np.nan_to_num(X) - L, 0)
    U, s, Vt = np.linalg.svd(L)
    r = np.count_nonzero(s > 1e-6 * s[0])
    assert_allclose(np.linalg.norm(R, 2), alpha, rtol=1e-4)
    # the gap is quadratic in the error of the subgradient
    assert_allclose(U.T[:r] @ R @ Vt[:r].T, alpha * np.eye(r), atol=1e-3 * alpha)


@pytest.mark.invariance
@pytest.mark.parametrize("settings", [{}, {"alpha": 0.1}, {"n_components": 2, "alpha": 0.05}])
def test_unit_of_weights_does_not_matter(settings, seed):
    rng = np.random.default_rng(seed)
    X = low_rank(rng, noise=0.3)[2]
    weights = rng.gamma(1.0, size=X.shape)
    plain = NuclearNormImputer(**settings).fit_transform(X, entry_weight=weights)
    for unit in (1e-3, 1e3):
        same = NuclearNormImputer(**settings).fit_transform(X, entry_weight=unit * weights)
        # the tolerance is the gap
        assert_allclose(same, plain, atol=1e-5 * np.abs(plain).max())


@pytest.mark.recovery
def test_known_sizes_of_errors_help(seed):
    rng = np.random.default_rng(seed)
    truth, known, _ = low_rank(rng, 80, 40, share=0.5)
    size = np.exp(1.2 * rng.normal(size=truth.shape))
    X = np.where(known, truth + 0.5 * size * rng.normal(size=truth.shape), np.nan)

    def error(**weights):
        imputer = NuclearNormImputer(center=False, scale=False).fit(X, **weights)
        return np.linalg.norm((fit_of(imputer) - truth)[~known])

    assert error(entry_weight=size**-2) < 0.7 * error()


@pytest.mark.certificate
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_gap_of_a_larger_table_matches_full_decompositions(share, seed):
    """An optimal residual has many equal singular values, which iterations separate slowly."""
    _, known, X = low_rank(np.random.default_rng(seed), 450, 420, 8, share, noise=0.3)
    imputer = convex(0.03, alpha_scale="relative", tol=1e-5).fit(X)
    L = fit_of(imputer)
    R = np.where(known, X - L, 0)
    Y = R * min(1, imputer.alpha_ / np.linalg.norm(R, 2))
    value = oracle.objective(X, known, L, imputer.alpha_)
    gap = 1 - ((Y * np.nan_to_num(X)).sum() - (Y**2).sum() / 2) / value
    assert imputer.dual_gap_ <= 1e-4
    assert_allclose(imputer.objective_, value, rtol=1e-10)
    assert_allclose(imputer.dual_gap_, gap, atol=3e-6)


@pytest.mark.certificate
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_exact_dual_is_feasible_and_tight(seed, noise):
    rng = np.random.default_rng(seed)
    _, known, X = low_rank(rng, 60, 50, noise=noise, share=0.5)
    cells = np.nonzero(known)
    table = completion.Table(sparse.csr_array((X[known], cells), shape=X.shape), dense=True)
    state = np.random.RandomState(0)
    result = completion.complete(table, lam=0.0, rng=state, tol=1e-7, max_iter=3000)
    assert result.converged
    Y = np.zeros_like(X)
    Y[cells] = result.dual
    nuclear = np.linalg.norm((result.factors.U * result.factors.s) @ result.factors.Vt, "nuc")
    assert np.linalg.norm(Y, 2) <= 1 + 1e-6
    assert_allclose((Y[known] * X[known]).sum(), nuclear, rtol=1e-6)


# recovery


@pytest.mark.recovery
@pytest.mark.parametrize(("n", "p", "rank", "share"), [(100, 100, 3, 0.5), (120, 60, 2, 0.5)])
def test_exact_recovery_of_low_rank_tables(seed, n, p, rank, share):
    """Candes and Recht 2009: the minimum of the nuclear norm is the table itself."""
    truth, _, X = low_rank(np.random.default_rng(seed), n, p, rank, share)
    imputer = convex(0, tol=1e-6).fit(X)
    assert imputer.n_components_ == rank
    assert imputer.dual_gap_ <= 1e-5
    assert_allclose(imputer.transform(X), truth, atol=1e-9 * np.abs(truth).max())


@pytest.mark.recovery
def test_default_nears_the_noise_on_ratings(seed):
    X, users, items = make_ratings(300, 120, observed=0.4, noise=0.3, random_state=seed)
    truth = users @ items.T
    hidden = np.isnan(X)

    def error(imputer):
        return np.sqrt(np.mean((imputer.fit_transform(X) - truth)[hidden] ** 2))

    mine = error(NuclearNormImputer())
    assert mine < 0.3  # the error is below the noise of a single rating
    assert mine < 0.5 * error(SimpleImputer())
    assert mine < 0.5 * error(KNNImputer())


@pytest.mark.recovery
def test_auto_lam_is_close_to_the_best(seed):
    X, users, items = make_ratings(200, 80, observed=0.4, noise=0.5, random_state=seed)
    truth = users @ items.T
    hidden = np.isnan(X)

    def error(alpha):
        filled = NuclearNormImputer(alpha=alpha).fit_transform(X)
        return np.sqrt(np.mean((filled - truth)[hidden] ** 2))

    assert error("auto") <= 1.1 * min(error(alpha) for alpha in 0.7 ** np.arange(1, 14))


@pytest.mark.recovery
def test_rank_cap_finds_the_planted_table(seed):
    truth, known, X = low_rank(
        np.random.default_rng(seed), 80, 50, rank=3, share=0.5, noise=0.01
    )
    imputer = convex(0, n_components=3, tol=1e-6).fit(X)
    assert imputer.n_components_ == 3
    error = (imputer.transform(X) - truth)[~known]
    # 3 (80 + 50 - 3) numbers are estimated from 2000 cells with noise of 0.01
    assert np.sqrt(np.mean(error**2)) < 0.01
    assert imputer.dual_gap_ == np.inf


# paper


@pytest.mark.paper
@pytest.mark.slow
def test_cai_candes_shen_table():
    """Cai, Candes and Shen 2010, Table 1: n = 1000, rank 10, 12 % known; they print 1.64e-4."""
    rng = np.random.default_rng(0)
    n = 1000
    rank = 10
    A = rng.normal(size=(n, rank))
    B = rng.normal(size=(n, rank))
    cells = rng.choice(n * n, size=round(0.12 * n * n), replace=False)
    rows, columns = np.divmod(cells, n)
    values = np.einsum("ij,ij->i", A[rows], B[columns])
    X = sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    imputer = convex(0, tol=1e-5, max_iter=1000).fit(X)
    truth = A @ B.T
    error = np.linalg.norm(fit_of(imputer) - truth) / np.linalg.norm(truth)
    assert imputer.n_components_ == rank
    assert error <= 1.64e-4
    assert error <= 1e-9  # polishing reaches this accuracy


@pytest.mark.paper
def test_phase_transition_of_candes_and_recht(seed):
    """Candes and Recht 2009, Figure 1, n = 50: recovered at rank 2, m / n^2 = 0.5; not at all
    where the number of cells is below the degrees of freedom."""
    rng = np.random.default_rng(seed)
    for rank, share, found in [(2, 0.5, True), (10, 0.2, False)]:
        truth, _, X = low_rank(rng, 50, 50, rank, share)
        imputer = convex(0, tol=1e-5, max_iter=3000).fit(X)
        error = np.linalg.norm(fit_of(imputer) - truth) / np.linalg.norm(truth)
        assert (error < 1e-3) == found


@pytest.mark.paper
def test_behaviour_of_soft_impute_and_its_postprocessing(seed):
    """Mazumder et al. 2010: towards small alpha the rank grows and the test error is U-shaped,
    and unshrinking the singular values gains where the rank is low and the noise small."""
    truth, known, X = low_rank(np.random.default_rng(seed), 100, 100, 5, 0.5, noise=2.5)
    fractions = 0.9, 0.5, 0.3, 0.1, 0.01, 0.001
    fits = [convex(alpha, alpha_scale="relative", tol=1e-5).fit(X) for alpha in fractions]
    ranks = [imputer.n_components_ for imputer in fits]
    errors = [np.linalg.norm((fit_of(imputer) - truth)[~known]) for imputer in fits]
    assert ranks == sorted(ranks)
    assert 0 < np.argmin(errors) < len(errors) - 1
    _, known, X = low_rank(np.random.default_rng(seed), 100, 100, 5, 0.5, noise=0.2)
    truth = low_rank(np.random.default_rng(seed), 100, 100, 5, 0.5, noise=0.2)[0]
    plain, unshrunk = (
        min(
            np.linalg.norm((fit_of(convex(alpha, alpha_scale="relative", debias=debias, tol=1e-5)
            .fit(X)) - truth)[~known])
            for alpha in (0.05, 0.1, 0.2)
        )
        for debias in (False, True)
    )  # fmt: skip
    assert unshrunk < 0.7 * plain


# invariance


@pytest.mark.invariance
@pytest.mark.parametrize("alpha", ["auto", 0.1, 0.0])
def test_fit_transform_is_fit_then_transform(alpha):
    X = make_ratings(60, 30, observed=0.5, random_state=0)[0]
    imputer = NuclearNormImputer(alpha=alpha)
    filled = imputer.fit_transform(X)
    assert_allclose(imputer.transform(X), filled, rtol=1e-12)
    known = ~np.isnan(X)
    assert_array_equal(filled[known], X[known])
    rows, columns = np.nonzero(~known)
    assert_allclose(imputer.predict_entries(rows, columns), filled[~known], rtol=1e-9)
    new = imputer.predict_entries(rows, columns, X)
    assert_allclose(new, filled[~known], rtol=1e-9)


@pytest.mark.invariance
@pytest.mark.parametrize("factor", [1e-90, 1e-3, 1e90])
@pytest.mark.parametrize("settings", [{}, {"scale": False}, {"alpha": 0.0, "scale": False}])
def test_scale_equivariance(settings, factor):
    X = make_ratings(40, 20, observed=0.5, random_state=0)[0]
    one = NuclearNormImputer(**settings).fit(X)
    other = NuclearNormImputer(**settings).fit(X * factor)
    # only rounding errors, amplified by the condition of the problems of the rows
    assert_allclose(other.transform(X * factor), one.transform(X) * factor, rtol=1e-6)
    assert_allclose(other.score(X * factor), one.score(X) * factor, rtol=1e-6)


@pytest.mark.invariance
def test_units_of_columns_and_shifts_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = make_ratings(50, 12, observed=0.6, random_state=seed)[0]
    units = 10.0 ** rng.uniform(-3, 3, 12)
    shifts = rng.normal(size=12)
    one = NuclearNormImputer(alpha=0.1).fit_transform(X)
    other = NuclearNormImputer(alpha=0.1).fit_transform(X * units + shifts)
    assert_allclose((other - shifts) / units, one, rtol=1e-5, atol=1e-5)


@pytest.mark.invariance
def test_order_of_rows_and_columns_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = make_ratings(50, 25, observed=0.5, random_state=seed)[0]
    rows = rng.permutation(50)
    columns = rng.permutation(25)
    one = NuclearNormImputer(alpha=0.1, tol=1e-9).fit_transform(X)
    other = NuclearNormImputer(alpha=0.1, tol=1e-9).fit_transform(X[rows][:, columns])
    # the tolerance is the root of `tol`
    assert_allclose(other, one[rows][:, columns], atol=1e-4)


@pytest.mark.invariance
def test_transposed_table(seed):
    _, _, X = low_rank(np.random.default_rng(seed), noise=0.3)
    one = convex(2.0).fit(X)
    other = convex(2.0).fit(X.T)
    assert_allclose(one.objective_, other.objective_, rtol=1e-8)
    # the tolerance is the root of `tol`
    assert_allclose(fit_of(one), fit_of(other).T, atol=1e-3)


@pytest.mark.invariance
def test_rows_are_completed_one_by_one():
    X = make_ratings(60, 30, observed=0.5, random_state=0)[0]
    imputer = NuclearNormImputer(alpha=0.1).fit(X)
    together = imputer.transform(X)
    alone = np.vstack([imputer.transform(row[None]) for row in X])
    assert_allclose(alone, together, rtol=1e-12)


@pytest.mark.invariance
def test_float32_agrees_with_float64():
    X = make_ratings(80, 40, observed=0.5, random_state=0)[0]
    double = NuclearNormImputer(alpha=0.1).fit(X)
    single = NuclearNormImputer(alpha=0.1).fit(X.astype(np.float32))
    for name in ("components_", "singular_values_", "row_scores_", "mean_", "scale_"):
        assert getattr(single, name).dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.transform(X), double.transform(X), atol=2e-2)
    S = sparse.csr_array(np.nan_to_num(X).astype(np.float32))
    assert NuclearNormImputer(alpha=0.1).fit(S).predict_entries([0], [1]).dtype == np.float32


@pytest.mark.invariance
def test_missing_mark_does_not_matter():
    X = make_ratings(40, 20, observed=0.5, random_state=0)[0]
    filled = NuclearNormImputer(alpha=0.1).fit_transform(X)
    marked = np.where(np.isnan(X), -1.0, X)
    imputer = NuclearNormImputer(alpha=0.1, missing_values=-1)
    assert_array_equal(imputer.fit_transform(marked), filled)
    frame = pd.DataFrame(X).convert_dtypes()
    imputer = NuclearNormImputer(alpha=0.1, missing_values=pd.NA)
    assert_array_equal(imputer.fit_transform(frame), filled)


# use within scikit-learn


@pytest.mark.recovery
def test_search_without_target_prefers_a_sensible_lam():
    X = make_ratings(150, 60, observed=0.5, noise=0.3, random_state=0)[0]
    search = GridSearchCV(NuclearNormImputer(), {"alpha": [0.001, 0.1, 0.99]}, cv=3).fit(X)
    assert search.best_params_ == {"alpha": 0.1}
    assert search.best_score_ < 0


@pytest.mark.edge
def test_pipeline_and_feature_names():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd"))
    X.iloc[::3, 1] = np.nan
    X["c"] = np.nan
    imputer = NuclearNormImputer(add_indicator=True).set_output(transform="pandas")
    with pytest.warns(UserWarning, match=r"drops features.*'c'"):
        out = imputer.fit_transform(X)
    assert list(out.columns) == ["a", "b", "d", "missingindicator_b", "missingindicator_c"]
    imputer.set_params(keep_empty_features=True)
    out = imputer.fit_transform(X)
    assert list(out.columns)[:4] == list("abcd")
    assert_array_equal(out["c"], 0)
    back = imputer.inverse_transform(out)
    assert_array_equal(back, X)
    model = make_pipeline(NuclearNormImputer(), Ridge()).fit(X[["a", "b"]], X["d"])
    assert np.isfinite(model.predict(X[["a", "b"]])).all()


@pytest.mark.edge
def test_inverse_transform_restores_dropped_columns():
    X = np.array([[1, np.nan, 3], [np.nan, np.nan, 4.0], [2, np.nan, 5], [3, np.nan, 1]])
    imputer = NuclearNormImputer(add_indicator=True)
    with pytest.warns(UserWarning, match="drops features"):
        out = imputer.fit_transform(X)
    assert_array_equal(imputer.inverse_transform(out), X)
    with pytest.raises(ValueError, match="indicator columns"):
        imputer.inverse_transform(out[:, :2])
    with pytest.raises(AttributeError, match="inverse_transform"):
        imputer.set_params(add_indicator=False).inverse_transform(out)


# edge


@pytest.mark.edge
def test_sparse_zeros_are_known_and_the_table_stays_sparse():
    X = sparse.csr_array(
        (np.array([0.0, 2.0, 0.0, 4.0]), ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2)
    )
    assert X.nnz == 4
    assert_array_equal(NuclearNormImputer().fit_transform(X), [[0, 2], [0, 4]])
    n = 10_000
    p = 4_000
    S = make_ratings(n, p, observed=0.01, sparse=True, random_state=0)[0]
    tracemalloc.start()
    imputer = NuclearNormImputer(alpha=0.5, keep_empty_features=True).fit(S)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * p / 4  # the limit is a quarter of one array of this shape
    assert np.isfinite(imputer.predict_entries([0, n - 1], [0, p - 1])).all()
    with pytest.raises(ValueError, match="missing_values=0"):
        NuclearNormImputer(missing_values=0).fit(S)


@pytest.mark.edge
def test_sparse_formats_and_marks():
    X = make_ratings(30, 20, observed=0.4, sparse=True, random_state=0)[0]
    expected = NuclearNormImputer(alpha=0.1).fit(X).transform(X)
    for container in (sparse.csc_array, sparse.coo_matrix, sparse.csr_matrix):
        filled = NuclearNormImputer(alpha=0.1).fit_transform(container(X))
        assert_allclose(filled, expected, rtol=1e-9)
    marked = X.copy()
    marked.data[:5] = np.nan
    filled = NuclearNormImputer(alpha=0.1).fit_transform(marked)
    assert np.isfinite(filled).all()
    assert_array_equal(
        X.data, make_ratings(30, 20, observed=0.4, sparse=True, random_state=0)[0].data
    )


DEGENERATE = {
    "one cell": np.array([[3.0]]),
    "one row": np.array([[1.0, np.nan, 3.0]]),
    "one column": np.array([[1.0], [np.nan], [3.0]]),
    "constant": np.where(np.eye(6) > 0, np.nan, 7.0),
    "zeros": np.where(np.eye(6) > 0, np.nan, 0.0),
    "empty row": np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, 5.0], [2.0, 2.5]]),
    "one known cell per column": np.where(np.eye(8, 8) > 0, 2.0, np.nan),
    "two cells known": np.where(np.arange(40).reshape(8, 5) % 39 == 0, 2.0, np.nan)[:, [0, 4]],
    "huge and tiny columns": np.where(
        np.eye(12, 3) > 0, np.nan, np.random.default_rng(0).normal(size=(12, 3))
    ) * [1e-90, 1.0, 1e90],
    "duplicate columns": np.where(
        np.eye(20, 6) > 0, np.nan, np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 2, 1)
    ),
}  # fmt: skip


@pytest.mark.edge
@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"alpha": 0.0},
        {"alpha": 0.1, "debias": False, "scale": False},
        {"alpha": 0.0, "n_components": 1},
        {"alpha": 0.01, "center": False, "n_components": 1},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_degenerate_tables_have_a_result(kind, settings):
    X = DEGENERATE[kind]
    imputer = NuclearNormImputer(**settings, keep_empty_features=True).fit(X)
    filled = imputer.transform(X)
    assert filled.shape == X.shape
    assert np.isfinite(filled).all()
    assert np.isfinite(imputer.score(X))
    if kind in ("constant", "zeros") and imputer.center:
        assert_array_equal(filled, np.nanmax(X))
    if kind == "empty row" and imputer.center:
        assert_allclose(filled[1], np.nanmean(X, axis=0))


@pytest.mark.edge
def test_rank_one_table_with_a_gap_per_row():
    truth = np.outer(np.arange(1.0, 9), [1.0, 2.0, -1.0, 3.0])
    X = truth.copy()
    X[np.arange(8), np.arange(8) % 4] = np.nan
    assert_allclose(convex(0, tol=1e-8).fit_transform(X), truth, atol=1e-8)


@pytest.mark.edge
def test_weights_of_sparse_tables_are_checked():
    X = sparse.csr_array(np.eye(4) + 1)
    for weights, message in (
        (-np.ones((4, 4)), "least weight of -1"),
        (np.ones((4, 3)), "entry_weight of shape"),
        (sparse.csr_array((4, 4)), "zeros only"),
        (np.full((4, 4), np.nan), "NaN or infinity"),
    ):
        with pytest.raises(ValueError, match=message):
            NuclearNormImputer().fit(X, entry_weight=weights)


@pytest.mark.edge
def test_weights_do_not_enter_equations(seed):
    rng = np.random.default_rng(seed)
    X = low_rank(rng)[2]
    exact = NuclearNormImputer(alpha=0)
    plain = clone(exact).set_params(center=False, scale=False)
    weighted = clone(plain).fit(X, entry_weight=rng.gamma(1.0, size=X.shape))
    assert_array_equal(weighted.row_scores_, plain.fit(X).row_scores_)


@pytest.mark.edge
def test_new_rows_with_nothing_or_everything_known():
    X = make_ratings(40, 10, observed=0.6, random_state=0)[0]
    imputer = NuclearNormImputer().fit(X)
    assert_allclose(imputer.transform(np.full((2, 10), np.nan)), [imputer.mean_] * 2)
    complete = np.arange(20.0).reshape(2, 10)
    assert_array_equal(imputer.transform(complete), complete)


@pytest.mark.edge
def test_lam_above_lam_max_fills_with_the_means():
    X = make_ratings(40, 10, observed=0.6, random_state=0)[0]
    imputer = NuclearNormImputer(alpha=1.0).fit(X)
    assert imputer.n_components_ == 0
    assert_allclose(imputer.transform(X), SimpleImputer().fit_transform(X))
    assert NuclearNormImputer(alpha=0.99).fit(X).n_components_ == 1


@pytest.mark.edge
def test_input_is_unchanged_and_empty_columns_are_dropped():
    X = make_ratings(30, 10, observed=0.6, random_state=0)[0]
    before = X.copy()
    imputer = NuclearNormImputer().fit(X)
    imputer.transform(X)
    assert_array_equal(X, before)
    holes = X.copy()
    holes[:, 3] = np.nan
    with pytest.warns(UserWarning, match="drops"):
        imputer.fit(holes)
    with pytest.raises(ValueError, match="no known cell"):
        imputer.predict_entries([0], [3])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "at least one known cell",
            lambda X, imputer: NuclearNormImputer().fit(np.full((3, 2), np.nan)),
        ),
        ("infinity", lambda X, imputer: NuclearNormImputer().fit([[1.0, np.inf], [2.0, 3.0]])),
        ("missing_values", lambda X, imputer: NuclearNormImputer(missing_values="?").fit(X)),
        ("NaN", lambda X, imputer: NuclearNormImputer(missing_values=-1).fit(X)),
        (
            "rows must be integers from 0 to 29",
            lambda X, imputer: imputer.predict_entries([30], [0]),
        ),
        ("must have the same length", lambda X, imputer: imputer.predict_entries([1, 2], [0])),
        (
            "score needs known cells",
            lambda X, imputer: imputer.score(np.full((2, 10), np.nan)),
        ),
    ],
)
def test_bad_input_is_rejected(message, call):
    X = make_ratings(30, 10, observed=0.6, random_state=0)[0]
    imputer = NuclearNormImputer().fit(X)
    with pytest.raises(ValueError, match=message):
        call(X, imputer)


@pytest.mark.edge
def test_rank_cap_on_a_convex_path(seed):
    X = make_ratings(60, 40, observed=0.5, random_state=seed)[0]
    free = NuclearNormImputer(alpha=0.1, debias=False).fit(X)
    capped = NuclearNormImputer(2, alpha=0.1, debias=False).fit(X)
    assert free.n_components_ > 2 == capped.n_components_
    assert capped.objective_ >= free.objective_
    assert (capped.objective_ - free.objective_) / capped.objective_ <= capped.dual_gap_ + 1e-9
    loose = NuclearNormImputer(alpha=0.1, debias=False, n_components=40).fit(X)
    assert_allclose(loose.objective_, free.objective_, rtol=1e-4)


@pytest.mark.edge
def test_clone_keeps_parameters_and_score_is_reproducible():
    X = make_ratings(60, 20, observed=0.5, random_state=0)[0]
    imputer = NuclearNormImputer(alpha=0.1, random_state=7)
    assert clone(imputer).get_params()["alpha"] == 0.1
    assert imputer.fit(X).score(X) == imputer.score(X)


def test_table_without_missing_entries():
    """The residual of its optimum has singular values that are equal up to rounding."""
    X = np.random.default_rng(0).normal(size=(60, 6))
    assert_array_equal(NuclearNormImputer().fit_transform(X), X)


def rounded_ratings(seed):
    """Table of rank 2, cut to the range from 1 to 5, and the same table with gaps."""
    rng = np.random.default_rng(seed)
    full = (
        3
        + rng.normal(size=(60, 2)) @ rng.normal(size=(2, 12))
        + 0.3 * rng.normal(size=(60, 12))
    )
    full = np.clip(full, 1, 5)
    table = full.copy()
    table[rng.uniform(size=full.shape) < 0.4] = np.nan
    return full, table


@pytest.mark.oracle
@pytest.mark.parametrize("form", [np.asarray, lambda X: sparse.csr_array(np.nan_to_num(X))])
def test_bounds_clip_the_imputed_values_only(form, seed):
    full, table = rounded_ratings(seed)
    X = form(table)
    low = np.full(12, 1.0)
    low[3] = -np.inf
    free = NuclearNormImputer(alpha=0.05).fit(X)
    bounded = NuclearNormImputer(alpha=0.05, min_value=low, max_value=5).fit(X)
    assert_array_equal(free.components_, bounded.components_)
    assert free.objective_ == bounded.objective_
    missing = np.isnan(table)
    plain = free.transform(X)
    expected = np.where(missing, np.minimum(np.maximum(plain, low), 5), plain)
    assert_array_equal(bounded.transform(X), expected)
    assert (plain != expected).any()

    # single cells agree, and errors of cells within the bounds never grow
    rows, columns = np.nonzero(missing)
    cells = bounded.predict_entries(rows, columns)
    assert_allclose(cells, expected[missing], rtol=1e-6, atol=1e-6)
    tight = NuclearNormImputer(alpha=0.05, min_value=1, max_value=5).fit(X)
    error = np.abs(tight.transform(X) - full)[missing]
    assert (error <= np.abs(plain - full)[missing] + 1e-12).all()
    assert tight.score(table) >= free.score(table)


@pytest.mark.invariance
def test_bounds_of_columns_that_are_dropped_or_kept_empty():
    _, table = rounded_ratings(0)
    table[:, 2] = np.nan
    bounds = np.arange(12) / 10
    with pytest.warns(UserWarning, match="drops features"):
        dropped = NuclearNormImputer(alpha=0.05, min_value=bounds).fit(table)
    kept = NuclearNormImputer(alpha=0.05, min_value=bounds, keep_empty_features=True).fit(
        table
    )
    filled = kept.transform(table)
    assert_array_equal(np.delete(filled, 2, axis=1), dropped.transform(table))
    assert_array_equal(filled[:, 2], bounds[2])
    single = NuclearNormImputer(alpha=0.05, min_value=bounds, keep_empty_features=True)
    assert single.fit_transform(table.astype(np.float32)).dtype == np.float32
    assert (kept.predict_entries(np.arange(5), np.full(5, 2)) == bounds[2]).all()


@pytest.mark.edge
@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"min_value": 2, "max_value": 1}, "feature 0 has the bounds 2 and 1"),
        ({"max_value": np.nan}, "'max_value' parameter"),
        ({"min_value": [0, 1]}, "each of the 12 features"),
        ({"min_value": [0.0] * 11 + [np.nan]}, "min_value must be a number"),
    ],
)
def test_errors_name_bad_bounds(bounds, message):
    _, table = rounded_ratings(0)
    with pytest.raises(ValueError, match=message):
        NuclearNormImputer(alpha=0.1, **bounds).fit(table)


@pytest.mark.edge
def test_no_bound_is_none_or_infinite():
    _, table = rounded_ratings(0)
    expected = NuclearNormImputer(alpha=0.1).fit_transform(table)
    found = NuclearNormImputer(alpha=0.1, min_value=None, max_value=None).fit_transform(table)
    assert_array_equal(found, expected)
