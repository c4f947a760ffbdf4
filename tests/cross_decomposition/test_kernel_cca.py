"""Evidence that KernelCCA solves the problem it states."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cross_decomposition import CCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, GenericKernelMixin, Kernel
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skmoderndata
from skmoderndata._solvers.kernel import canonical
from skmoderndata.cross_decomposition import KernelCCA
from skmoderndata.kernels import DerivedSubsets, Normalized, PSpectrum
from skmoderndata.preprocessing import SampleColumn
from tests.oracles.kernel_cca import (
    centred,
    consensus_values,
    constraint,
    correlations,
    linear_correlations,
)

RULES = ("shrinkage", "ridge", "bach-jordan")


def circle(n, seed, noise=0.1):
    """Two views of an angle without linear relation, and a third."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    X = np.c_[np.cos(angle), np.sin(angle)] + noise * rng.normal(size=(n, 2))
    Y = np.c_[np.cos(2 * angle), rng.normal(size=n), np.sin(3 * angle)]
    Z = np.c_[np.sin(angle), rng.normal(size=(n, 3))]
    return X, Y + noise * rng.normal(size=Y.shape), Z


def grams(views, gamma=0.5):
    return [rbf_kernel(X, gamma=gamma) for X in views]


# ---- another route agrees ----------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("alpha", [[0.05, 0.05], [0.3, 0.02], [1.0, 0.5]], ids=str)
def test_matches_the_generalised_eigenproblem(seed, rule, alpha):
    X, Y, _ = circle(60, seed)
    model = KernelCCA(5, gamma=0.5, alpha=alpha, regularization=rule).fit(X, Y)
    assert_allclose(
        model.regularized_correlations_,
        correlations(grams([X, Y]), alpha, rule)[:5],
        rtol=1e-8,
        atol=1e-10,
    )
    assert model.residual_ < 1e-10


@pytest.mark.oracle
@pytest.mark.parametrize("rule", RULES[:2])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_lanczos_iterations_match_eigendecompositions(seed, rule, kernel, monkeypatch):
    X, Y, _ = circle(canonical.DENSE_UP_TO + 40, seed)
    setting = {"kernel": kernel, "alpha": [0.03, 0.2], "regularization": rule, "degree": 5}
    fast = KernelCCA(4, **setting).fit(X, Y)
    assert fast.n_iter_ > 1
    monkeypatch.setattr("skmoderndata.cross_decomposition._kernel_base.DENSE_UP_TO", 10**9)
    full = KernelCCA(4, **setting).fit(X, Y)
    assert full.n_iter_ == 1
    assert_allclose(fast.regularized_correlations_, full.regularized_correlations_, rtol=1e-9)
    for one, two in zip(fast.transform(X, Y), full.transform(X, Y), strict=True):
        # if two correlations are nearly equal, the vectors are less accurate than the values
        assert_allclose(np.abs(one), np.abs(two), atol=1e-5)


@pytest.mark.certificate
def test_residual_of_early_lanczos_iterations_matches_the_definition(seed, monkeypatch):
    """The residual is the largest violation over columns, relative to the regularised kernels."""
    n = 150
    X = np.random.default_rng(seed).standard_normal((2, n, 200))
    kernels = [centred(K) for K in X @ X.transpose(0, 2, 1) / n]
    pen = canonical.penalty(0.1, "shrinkage")
    monkeypatch.setattr(canonical, "PAIRS_TOL", 1e-2)  # the iterations stop early
    found = canonical.kernel_pairs(*kernels, 3, pens=(pen, pen))
    expected = []
    duals = found.directions
    for K, other, dual, others in zip(kernels, kernels[::-1], duals, duals[::-1], strict=True):
        covariance = K @ other @ others / n
        regularised = K @ (pen.keep / n * K + pen.t * np.eye(n)) @ dual * found.values
        off = [np.linalg.norm(column) for column in (covariance - regularised).T]
        expected.append(max(off) / max(np.linalg.norm(column) for column in regularised.T))
    assert max(expected) > 1e-8
    assert_allclose(found.residual, max(expected), rtol=1e-6)


@pytest.mark.oracle
def test_repeated_correlations_are_all_found(seed):
    """Four independent copies of one problem: the largest correlation occurs four times."""
    X, Y, _ = circle(110, seed)
    Ka, Kb = (centred(K) for K in grams([X, Y]))
    Ka = np.kron(np.eye(4), Ka)
    Kb = np.kron(np.eye(4), Kb)
    pens = (canonical.penalty(0.1, "shrinkage"),) * 2
    found = canonical.kernel_pairs(Ka, Kb, 5, pens=pens)
    a, b = (canonical.whiten_kernel(K, pen) for K, pen in zip((Ka, Kb), pens, strict=True))
    expected = np.linalg.svd(canonical.cross(a, b), compute_uv=False)[:5]
    assert_allclose(expected[0], expected[3], rtol=1e-9)
    assert_allclose(found.values, expected, rtol=1e-9)


@pytest.mark.oracle
def test_eigendecompositions_are_used_if_the_kernels_have_fewer_dimensions(seed):
    X, Y, _ = circle(canonical.DENSE_UP_TO + 20, seed)
    with pytest.warns(UserWarning, match="rank 2"):
        model = KernelCCA(3, kernel="linear").fit(X, Y)
    assert model.n_iter_ == 1
    assert_allclose(
        model.regularized_correlations_, linear_correlations([X, Y], [0.1, 0.1])[:2]
    )


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("solver", ["exact", "low_rank", "nystroem"])
def test_linear_kernel_is_regularised_linear_cca(seed, alpha, solver):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5))
    Y = rng.normal(size=(80, 3))
    Y[:, 0] += X[:, 0]
    model = KernelCCA(
        3, kernel="linear", alpha=alpha, solver=solver, rank_tol=0, random_state=0
    ).fit(X, Y)
    expected = linear_correlations([X, Y], [alpha, alpha])[:3]
    assert_allclose(model.regularized_correlations_, expected, rtol=1e-8)


@pytest.mark.oracle
def test_without_regularisation_is_sklearns_cca(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 4))
    Y = rng.normal(size=(120, 3))
    Y += X[:, :3] * [1.0, 0.5, 0.2]
    model = KernelCCA(3, kernel="linear", alpha=0).fit(X, Y)
    A, B = CCA(3, tol=1e-12, max_iter=10_000).fit(X, Y).transform(X, Y)
    expected = [np.corrcoef(a, b)[0, 1] for a, b in zip(A.T, B.T, strict=True)]
    assert_allclose(model.regularized_correlations_, expected, atol=1e-6)
    assert_allclose(model.correlations_, expected, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["low_rank", "nystroem"])
@pytest.mark.parametrize("rule", RULES)
def test_full_rank_approximations_are_exact(seed, solver, rule):
    X, Y, _ = circle(70, seed)
    setting = {"gamma": 0.5, "alpha": 0.1, "regularization": rule}
    exact = KernelCCA(3, **setting).fit(X, Y)
    low = KernelCCA(3, solver=solver, max_rank=70, rank_tol=0, random_state=0, **setting)
    low.fit(X, Y)
    assert_allclose(low.regularized_correlations_, exact.regularized_correlations_, rtol=1e-8)
    new = circle(20, seed + 1)[0]
    assert_allclose(np.abs(low.transform(new)), np.abs(exact.transform(new)), atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.05, [0.3, 0.05, 1.0]], ids=str)
@pytest.mark.parametrize("rule", RULES)
def test_three_views_match_the_stacked_eigenproblem(seed, alpha, rule):
    views = circle(50, seed)
    model = KernelCCA(3, gamma=0.5, alpha=alpha, regularization=rule).fit(views)
    alphas = alpha if isinstance(alpha, list) else [alpha] * 3
    expected = correlations(grams(views), alphas, rule)[:3]
    assert_allclose(model.regularized_correlations_, expected, rtol=1e-8)


@pytest.mark.oracle
def test_missing_views_match_projections(seed):
    rng = np.random.default_rng(seed)
    views = [X.copy() for X in circle(60, seed)]
    rows = [np.sort(rng.permutation(60)[:m]) for m in (60, 45, 50)]
    for X, index in zip(views, rows, strict=True):
        X[np.setdiff1d(np.arange(60), index)] = np.nan
    model = KernelCCA(3, kernel="linear", criterion="gcca", alpha=0.2).fit(views)
    factors = [X[i] - X[i].mean(axis=0) for X, i in zip(views, rows, strict=True)]
    values = consensus_values(factors, rows, [0.2] * 3, 60)[:3]
    assert_allclose(model.regularized_correlations_, (3 * values - 1) / 2, rtol=1e-8)
    scores = model.transform(views)
    for Z, index in zip(scores, rows, strict=True):
        assert np.isfinite(Z[index]).all()
        assert np.isnan(Z).all(axis=1).sum() == 60 - len(index)
    counts = sum(np.isin(np.arange(60), index) for index in rows)
    Z = model.consensus_
    assert_allclose(Z.T @ (counts[:, None] * Z) / counts.sum(), np.eye(3), atol=1e-8)
    for j in range(3):  # weights and scores have the same sign
        assert np.nanmean(scores[0][:, j] * Z[:, j]) > 0
    assert np.isfinite(model.score(views))


# ---- the answer is optimal ---------------------------------------------------------------------


@pytest.mark.certificate
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [60, canonical.DENSE_UP_TO + 20])
def test_constraints_and_stationarity_from_the_definition(seed, rule, n):
    X, Y, _ = circle(n, seed)
    model = KernelCCA(3, gamma=0.5, alpha=0.1, regularization=rule).fit(X, Y)
    Ka, Kb = (centred(K) for K in grams([X, Y]))
    a, b = model.dual_coef_
    Sa = constraint(Ka, 0.1, rule)
    Sb = constraint(Kb, 0.1, rule)
    assert_allclose(a.T @ Sa @ a, np.eye(3), atol=1e-8)
    assert_allclose(b.T @ Sb @ b, np.eye(3), atol=1e-8)
    assert_allclose(a.T @ Ka @ Kb @ b / n, np.diag(model.regularized_correlations_), atol=1e-8)
    size = np.abs(Sa @ a).max()
    assert_allclose(
        Ka @ (Kb @ b) / n, Sa @ a * model.regularized_correlations_, atol=1e-7 * size
    )


@pytest.mark.certificate
def test_sum_of_correlations_is_within_its_gap(seed):
    views = circle(50, seed)
    setting = {"n_components": 2, "gamma": 0.5, "alpha": 0.1}
    model = KernelCCA(criterion="sumcor", **setting).fit(views)
    relaxed = KernelCCA(**setting).fit(views)
    assert model.residual_ < 1e-8
    assert model.regularized_correlations_[0] <= relaxed.regularized_correlations_[0] + 1e-10
    assert_allclose(
        model.regularized_correlations_[0] * (1 + model.dual_gap_),
        relaxed.regularized_correlations_[0],
        rtol=0.5,
    )
    for K, dual in zip(grams(views), model.dual_coef_, strict=True):
        inner = dual.T @ constraint(centred(K), 0.1, "shrinkage") @ dual
        assert_allclose(inner, np.eye(2), atol=1e-8)


# ---- a planted relation is found ---------------------------------------------------------------


@pytest.mark.recovery
def test_finds_a_relation_that_linear_functions_miss(seed):
    X, Y, _ = circle(500, seed)
    train = slice(0, 250)
    new = slice(250, None)
    linear = KernelCCA(1, kernel="linear", alpha=0.1).fit(X[train], Y[train])
    model = KernelCCA(1).fit(X[train], Y[train])
    assert abs(linear.score(X[new], Y[new])) < 0.3
    assert model.score(X[new], Y[new]) > 0.85


@pytest.mark.recovery
def test_no_relation_scores_zero(seed):
    X, Y, _ = circle(600, seed)
    Y = np.random.default_rng(seed).permutation(Y)
    model = KernelCCA(1, alpha=0.01).fit(X[:300], Y[:300])
    assert model.correlations_[0] > 0.3  # the training scores suggest this correlation
    assert abs(model.score(X[300:], Y[300:])) < 3.5 / np.sqrt(300)


@pytest.mark.recovery
def test_regularisation_is_chosen_by_search(seed):
    X, Y, _ = circle(150, seed, noise=0.3)
    search = GridSearchCV(KernelCCA(1), {"alpha": [1e-6, 1e-4, 1e-2, 0.1]}, cv=3).fit(X, Y)
    assert search.best_params_["alpha"] > 1e-6
    both = np.hstack([X, Y])
    again = GridSearchCV(
        KernelCCA(1, view_slices=[(0, 2), slice(2, 5)]),
        {"alpha": [1e-6, 1e-4, 1e-2, 0.1]},
        cv=3,
    ).fit(both)
    assert_allclose(
        again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


@pytest.mark.recovery
def test_low_rank_generalises_like_exact(seed):
    X, Y, _ = circle(900, seed)
    train = slice(0, 450)
    new = slice(450, None)
    exact = KernelCCA(2, solver="exact").fit(X[train], Y[train])
    low = KernelCCA(2, solver="low_rank", max_rank=60).fit(X[train], Y[train])
    assert len(low.dual_coef_[0]) <= 60
    assert (low.kernel_residual_ < 0.02).all()
    assert_allclose(low.score(X[new], Y[new]), exact.score(X[new], Y[new]), atol=0.01)


@pytest.mark.recovery
def test_blocks_in_a_pipeline(seed):
    X, Y, _ = circle(200, seed)
    labels = (Y[:, 0] > 0).astype(int)  # the labels follow the common part of the views
    model = make_pipeline(KernelCCA(2, view_slices=[(0, 2), (2, None)]), LogisticRegression())
    assert model.fit(np.hstack([X, Y]), labels).score(np.hstack([X, Y]), labels) > 0.8
    assert model[0].transform(np.hstack([X, Y])).shape == (200, 4)
    assert len(model[0].get_feature_names_out()) == 4


# ---- what must not matter ----------------------------------------------------------------------


@pytest.mark.invariance
@pytest.mark.parametrize("n", [60, canonical.DENSE_UP_TO + 20])
def test_order_of_views_and_rows_rotation_and_shift(seed, n):
    X, Y, _ = circle(n, seed)
    rng = np.random.default_rng(seed)
    setting = {"n_components": 2, "gamma": 0.5, "alpha": 0.1}
    expected = KernelCCA(**setting).fit(X, Y).regularized_correlations_
    order = rng.permutation(n)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for views in ((Y, X), (X[order], Y[order]), (X, Y @ Q), (X + 1e6, Y - 1e5)):
        # a shift of 1e6 loses six digits of the differences between samples
        assert_allclose(
            KernelCCA(**setting).fit(*views).regularized_correlations_, expected, rtol=1e-7
        )


@pytest.mark.invariance
@pytest.mark.parametrize("rule", RULES)
def test_every_sample_twice_changes_nothing(rule, seed):
    X, Y, _ = circle(40, seed)
    model = KernelCCA(kernel="linear", regularization=rule, alpha=0.25)
    once = model.fit(X, Y).regularized_correlations_
    twice = model.fit(np.r_[X, X], np.r_[Y, Y]).regularized_correlations_
    assert_allclose(twice, once, rtol=1e-10)


@pytest.mark.invariance
def test_ways_to_pass_views_agree(seed):
    X, Y, _ = circle(50, seed)
    pair = KernelCCA(2).fit(X, Y)
    listed = KernelCCA(2).fit([X, Y])
    sliced = KernelCCA(2, view_slices=[(0, 2), (2, 5)]).fit(np.hstack([X, Y]))
    a, b = pair.transform(X, Y)
    assert_allclose(pair.transform(X), a)
    assert_allclose(listed.transform([X, Y]), [a, b])
    assert listed.transform([X, None])[1] is None
    assert_allclose(sliced.transform(np.hstack([X, Y])), np.hstack([a, b]))
    assert_allclose(pair.fit_transform(X, Y)[0], a)
    assert_allclose(pair.fit_transform(X, Y)[1], b)
    assert pair.score(X, Y) == listed.score([X, Y]) == sliced.score(np.hstack([X, Y]))
    assert_allclose(pair.score_components(X, Y), pair.correlations_)


@pytest.mark.invariance
def test_forms_of_kernels_agree(seed):
    X, Y, _ = circle(50, seed)
    expected = KernelCCA(2, gamma=0.5).fit(X, Y)
    one, two = expected.transform(X[:7], Y[:7])
    for kernel in (RBF(1.0), lambda A, B: rbf_kernel(A, B, gamma=0.5)):
        model = KernelCCA(2, kernel=kernel).fit(X, Y)
        assert_allclose(model.transform(X[:7]), one, atol=1e-8)
    K, L = grams([X, Y])
    for solver in ("exact", "low_rank"):
        model = KernelCCA(2, kernel="precomputed", solver=solver, max_rank=50, rank_tol=0)
        a, b = model.fit(K, L).transform(K[:7], L[:7])
        assert_allclose(a, one, atol=1e-6)
        assert_allclose(b, two, atol=1e-6)
    mixed = KernelCCA(2, kernel=["precomputed", "rbf"], gamma=[None, 0.5]).fit(K, Y)
    assert_allclose(mixed.transform(K[:7]), one, atol=1e-8)
    sparse_views = KernelCCA(2, gamma=0.5).fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert_allclose(sparse_views.transform(sparse.csr_array(X[:7])), one, atol=1e-8)


class CommonLetters(GenericKernelMixin, Kernel):
    """Number of letters of the alphabet that two words share."""

    def __init__(self):
        """No parameters."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return np.array([[float(len(set(x) & set(y))) for y in (Y or X)] for x in X])

    def diag(self, X):
        return np.array([float(len(set(x))) for x in X])

    def is_stationary(self):
        return False


@pytest.mark.invariance
def test_samples_that_are_not_vectors():
    words = ["pair", "of", "views", "may", "be", "words", "and", "numbers", "too", "here"]
    lengths = np.array([[len(word)] for word in words], dtype=float)
    model = KernelCCA(1, kernel=[CommonLetters(), "linear"]).fit(words, lengths)
    assert model.transform(words[:3]).shape == (3, 1)
    assert model.correlations_[0] > 0.8
    low = KernelCCA(1, kernel=[CommonLetters(), "linear"], solver="low_rank", rank_tol=0)
    assert_allclose(
        low.fit([words, lengths]).regularized_correlations_,
        model.regularized_correlations_,
        rtol=1e-8,
    )


def text_and_series(n=40, seed=0):
    """Words of two kinds, and series of the same kinds: two views that are not vectors."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 2
    texts = ["".join(rng.choice(list("ab" if k else "cd"), size=6)) for k in kind]
    series = [tuple(rng.integers(3 * k, 3 * k + 4, size=rng.integers(3, 7))) for k in kind]
    return texts, [list(map(int, s)) for s in series], kind


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", [PSpectrum(1), [PSpectrum(1), Normalized(PSpectrum(1))]])
def test_views_in_every_container(kernel):
    A, B, _ = text_and_series()
    expected = KernelCCA(1, kernel=kernel).fit(A, B)
    objects = np.empty(len(A), dtype=object)
    objects[:] = A

    for first in (
        objects,
        np.array(A),
        pd.Series(A, index=range(3, 3 + len(A))),
        pl.Series(A),
    ):
        for model in (
            KernelCCA(1, kernel=kernel).fit([first, B]),
            KernelCCA(1, kernel=kernel).fit(first, B),
            KernelCCA(1, kernel=kernel).fit((first, pd.Series(B))),
        ):
            for one, two in zip(model.dual_coef_, expected.dual_coef_, strict=True):
                assert_array_equal(one, two)
            assert_array_equal(model.transform(first), expected.transform(A))
            assert_array_equal(model.transform([first, B])[1], expected.transform([A, B])[1])

    cubes = np.array([[[1.0 + i, 2.0], [3.0, i % 7]] for i in range(40)])
    model = KernelCCA(1, kernel=[DerivedSubsets(RBF(1.0)), PSpectrum(1)]).fit([cubes, A])
    again = KernelCCA(1, kernel=[DerivedSubsets(RBF(1.0)), PSpectrum(1)]).fit(list(cubes), A)
    assert_array_equal(model.dual_coef_[0], again.dual_coef_[0])


@pytest.mark.invariance
def test_a_list_of_pairs_goes_through_a_pipeline():
    A, B, kind = text_and_series()
    pairs = list(zip(A, B, strict=True))
    kernel = [PSpectrum(1), Normalized(PSpectrum(1))]
    model = KernelCCA(2, kernel=kernel).fit(A, B)
    expected = np.hstack(model.transform(A, B))

    for samples in (
        pairs,
        tuple(pairs),
        pd.Series(pairs),
        SampleColumn().fit_transform(pairs),
    ):
        again = KernelCCA(2, kernel=kernel).fit(samples)
        assert again.n_views_ == 2
        assert_array_equal(again.transform(samples), expected)
        assert again.score(samples) == model.score(A, B)
        assert_array_equal(KernelCCA(2, kernel=kernel).fit_transform(samples, kind), expected)

    frame = KernelCCA(2, kernel=kernel).set_output(transform="pandas").fit_transform(pairs)
    assert list(frame.columns) == [f"kernelcca_view{v}_{j}" for v in (1, 2) for j in (0, 1)]
    steps = make_pipeline(KernelCCA(1, kernel=kernel), LogisticRegression())
    search = GridSearchCV(steps, {"kernelcca__alpha": [0.01, 0.1]}, cv=4).fit(pairs, kind)
    assert search.best_score_ == 1.0
    alone = GridSearchCV(KernelCCA(1, kernel=kernel), {"alpha": [0.01, 0.1]}, cv=4).fit(pairs)
    assert alone.best_score_ > 0.9


# ---- borders -----------------------------------------------------------------------------------


@pytest.mark.edge
def test_shrinkage_and_ridge_are_the_same_family(seed):
    X, Y, _ = circle(50, seed)
    tau = 0.2
    one = KernelCCA(2, gamma=0.5, alpha=tau).fit(X, Y).regularized_correlations_
    two = KernelCCA(2, gamma=0.5, alpha=tau / (1 - tau), regularization="ridge").fit(X, Y)
    assert_allclose(one, two.regularized_correlations_ / (1 - tau), rtol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("views", "setting", "message"),
    [
        (lambda X, Y: (X, Y[:-1]), {}, "inconsistent numbers of samples"),
        (lambda X, Y: (X, None), {}, "requires y to be passed"),
        (lambda X, Y: ([X], None), {}, "at least two views"),
        (lambda X, Y: ([X, Y], Y), {}, "into the list"),
        (lambda X, Y: (X, np.ones_like(Y)), {}, "View 2 is constant"),
        (lambda X, Y: (np.zeros_like(X), Y), {"kernel": "linear"}, "View 1 is constant"),
        (lambda X, Y: (X, np.ones_like(Y)), {"solver": "low_rank"}, "View 2 is constant"),
        (lambda X, Y: (X, Y), {"alpha": 0}, "correlation would be 1"),
        (lambda X, Y: (X, Y), {"alpha": [0, 0.1]}, "correlation would be 1"),
        (lambda X, Y: (X, Y), {"alpha": 1.5}, "between 0 and 1"),
        (lambda X, Y: (X, Y), {"alpha": [0.1, 0.1, 0.1]}, "3 entries for 2 views"),
        (lambda X, Y: (X, Y), {"kernel": ["rbf", "nonsense"]}, "nonsense"),
        (lambda X, Y: (X, Y), {"kernel": "precomputed"}, "square"),
        (lambda X, Y: (X @ X.T, np.tri(len(X))), {"kernel": "precomputed"}, "not symmetric"),
        (
            lambda X, Y: (X @ X.T, ((Y[:, None] - Y) ** 2).sum(axis=2)),
            {"kernel": "precomputed"},
            "zero on its diagonal",
        ),
        (lambda X, Y: (X @ X.T, -(Y @ Y.T)), {"kernel": "precomputed"}, "semi-definite"),
        (lambda X, Y: (X, Y), {"kernel": "sigmoid", "gamma": 5.0}, "semi-definite"),
        (lambda X, Y: (X, Y), {"view_slices": [(0, 1)]}, "at least two views"),
        (lambda X, Y: (X, Y), {"view_slices": [(0, 1), (1, 7)]}, "does not fit"),
        (lambda X, Y: (X, Y), {"view_slices": [(0, 1), 1]}, "pairs"),
        (lambda X, Y: (np.where(X > 0.9, np.nan, X), Y), {"criterion": "gcca"}, "NaN entries"),
        (lambda X, Y: (np.full_like(X, np.nan), Y), {"criterion": "gcca"}, "missing in all"),
        (lambda X, Y: (np.where(X > 0.9, np.nan, X), Y), {}, "NaN"),
    ],
)
def test_error_names_bad_input(views, setting, message):
    X, Y, _ = circle(30, 0)
    with pytest.raises(ValueError, match=message):
        KernelCCA(2, **setting).fit(*views(X, Y))


@pytest.mark.edge
@pytest.mark.parametrize("n", [30, canonical.DENSE_UP_TO + 20])
def test_indefinite_kernels_are_detected_at_every_size(n):
    X, Y, _ = circle(n, 0)
    v = np.where(np.arange(n) % 2, 1.0, -1.0) / np.sqrt(n)
    K = rbf_kernel(X) - 10 * np.outer(v, v)
    K[np.diag_indices(n)] += 9
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelCCA(1, kernel=["precomputed", "rbf"]).fit(K, Y)
    KernelCCA(1, kernel=["precomputed", "rbf"]).fit(K + np.eye(n), Y)


@pytest.mark.edge
def test_warns_if_too_few_passes():
    model = KernelCCA(1, criterion="sumcor", max_iter=1, tol=0)
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model.fit(circle(40, 0))
    assert model.n_iter_ == 1


@pytest.mark.edge
def test_data_frames_out():
    X, Y, _ = circle(30, 0)
    model = KernelCCA(2).set_output(transform="pandas").fit(X, Y)
    assert list(model.transform(X).columns) == ["kernelcca_view1_0", "kernelcca_view1_1"]
    for several in (model.transform(X, Y), model.transform([X, Y])):
        assert list(several[0].columns) == ["kernelcca_view1_0", "kernelcca_view1_1"]
        assert several[1].shape == (30, 2)
    blocks = KernelCCA(1, view_slices=[(0, 2), (2, 5)]).set_output(transform="pandas")
    frame = blocks.fit_transform(np.hstack([X, Y]))
    assert list(frame.columns) == ["kernelcca_view1_0", "kernelcca_view2_0"]
    assert list(blocks.get_feature_names_out()) == list(frame.columns)


@pytest.mark.edge
def test_rank_limits_the_number_of_components():
    X, Y, _ = circle(40, 0)
    with pytest.warns(UserWarning, match="n_components=5 exceeds the rank 2 .* returns 2"):
        model = KernelCCA(5, kernel="linear").fit(X, Y)
    assert model.n_components_ == 2
    with pytest.warns(UserWarning, match="returns 1"):
        one = KernelCCA(5, kernel=["rbf", "linear"]).fit(X, Y[:, 0])
    assert one.transform(X).shape == (40, 1)


@pytest.mark.edge
def test_rank_limit_allows_no_regularisation():
    X, Y, _ = circle(60, 0)
    model = KernelCCA(2, alpha=0, solver="low_rank", max_rank=8).fit(X, Y)
    assert_allclose(model.regularized_correlations_, model.correlations_, rtol=1e-8)
    assert model.regularized_correlations_[0] < 1


@pytest.mark.edge
def test_raises_on_other_numbers_of_views_or_features():
    X, Y, Z = circle(40, 0)
    model = KernelCCA(1).fit([X, Y, Z])
    with pytest.raises(ValueError, match="3 views"):
        model.transform([X, Y])
    with pytest.raises(ValueError, match="View 2 has 2 features"):
        model.transform([X, X, Z])
    with pytest.raises(ValueError, match="compares views"):
        model.score(X)


@pytest.mark.edge
def test_float32_and_huge_numbers():
    X, Y, _ = circle(60, 0)
    model = KernelCCA(2).fit(X.astype(np.float32), Y.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    for size in (1e95, 1e-95):
        found = KernelCCA(2, kernel="linear", alpha=1.0).fit(X * size, Y * size)
        assert np.isfinite(found.transform(X * size)).all()
        assert found.score(X * size, Y * size) > -1


@pytest.mark.edge
def test_polynomial_kernel_has_finite_rank():
    X, Y, _ = circle(60, 0)
    K = polynomial_kernel(X, degree=2, gamma=0.5)
    model = KernelCCA(3, kernel=["poly", "linear"], gamma=0.5, degree=2, alpha=0).fit(X, Y)
    assert np.linalg.matrix_rank(centred(K)) == 5
    assert model.regularized_correlations_[0] < 1


@pytest.mark.edge
def test_top_level_name():
    assert skmoderndata.KernelCCA is KernelCCA


@pytest.mark.invariance
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"regularization": "ridge"},
        {"regularization": "bach-jordan"},
        {"kernel": "poly", "degree": 2, "solver": "low_rank", "rank_tol": 0.0},
        {"kernel": "linear", "solver": "low_rank", "rank_tol": 0.0},
        {"n_components": 1, "alpha": 0.3},
    ],
)
@pytest.mark.parametrize("n", [50, 500])  # solve by eigenvectors, and by Lanczos iterations
def test_weights_count_copies(settings, n, seed):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 2))
    X, Y = (common @ rng.normal(size=(2, p)) + 0.5 * rng.normal(size=(n, p)) for p in (3, 4))
    times = rng.integers(0, 3, size=n)
    Xs = np.repeat(X, times, axis=0)
    Ys = np.repeat(Y, times, axis=0)
    model = KernelCCA(**{"n_components": 2, **settings}).fit(X, Y, sample_weight=times)
    twin = KernelCCA(**{"n_components": 2, **settings}).fit(Xs, Ys)
    assert_allclose(model.regularized_correlations_, twin.regularized_correlations_, rtol=1e-8)
    assert_allclose(model.correlations_, twin.correlations_, rtol=1e-6)
    for A, B in zip(model.transform(X, Y), twin.transform(X, Y), strict=True):
        # the tolerance is the rounding error divided by the gap between the values
        assert_allclose(A, B, atol=1e-5 * np.abs(B).max())
    assert model.score(X, Y, sample_weight=times) == pytest.approx(
        twin.score(Xs, Ys), abs=1e-6
    )


@pytest.mark.invariance
@pytest.mark.parametrize("criterion", ["maxvar", "sumcor", "gcca"])
def test_weights_with_precomputed_kernels_of_three_views(criterion, seed):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(40, 1))
    views = [common + rng.normal(size=(40, p)) for p in (2, 3, 4)]
    times = rng.integers(0, 3, size=40)
    kernels = [rbf_kernel(X) for X in views]
    index = np.repeat(np.arange(40), times)
    model = KernelCCA(1, kernel="precomputed", criterion=criterion)
    scores = model.fit(kernels, sample_weight=times).transform(kernels)
    values = model.regularized_correlations_
    copies = [K[np.ix_(index, index)] for K in kernels]
    twin = model.fit(copies)
    assert_allclose(values, twin.regularized_correlations_, rtol=1e-8)
    for A, B in zip(scores, twin.transform([K[:, index] for K in kernels]), strict=True):
        # the tolerance is the rounding error divided by the gap between the values
        assert_allclose(A, B, atol=1e-6 * np.abs(B).max())


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["exact", "low_rank", "nystroem"])
@pytest.mark.parametrize("weighted", [False, True])
def test_predict_is_least_squares_on_the_scores(seed, solver, weighted):
    X, Y, _ = circle(60, seed)
    weight = np.random.default_rng(seed).integers(0, 3, 60).astype(float) if weighted else None
    cca = KernelCCA(2, solver=solver, random_state=0).fit(X, Y, sample_weight=weight)
    regression = LinearRegression().fit(cca.transform(X), Y, sample_weight=weight)
    new, *_ = circle(20, seed + 1)
    assert_allclose(cca.predict(new), regression.predict(cca.transform(new)), atol=1e-8)


@pytest.mark.recovery
def test_predict_sees_curved_relations():
    X, Y, _ = circle(300, 0)
    predicted = KernelCCA(3).fit(X[:200], Y[:200]).predict(X[200:])
    assert r2_score(Y[200:, 0], predicted[:, 0]) > 0.8
    linear = KernelCCA(2, kernel="linear").fit(X[:200], Y[:200]).predict(X[200:])
    assert r2_score(Y[200:, 0], linear[:, 0]) < 0.2


@pytest.mark.recovery
def test_predict_with_views_that_are_missing_for_some_samples():
    X, Y, _ = circle(200, 0)
    Y[:50] = np.nan
    X[180:] = np.nan
    cca = KernelCCA(2, criterion="gcca").fit(X, Y)
    predicted = cca.predict(X)
    assert np.isnan(predicted[180:]).all()
    both = slice(50, 180)
    regression = LinearRegression().fit(cca.transform(X)[both], Y[both])
    expected = regression.predict(cca.transform(X)[both])
    assert_allclose(predicted[both], expected, atol=1e-8)


@pytest.mark.edge
def test_predict_raises_on_invalid_input():
    X, Y, Z = circle(30, 0)
    with pytest.raises(ValueError, match="predict needs two views, but 3 were fitted"):
        KernelCCA(1).fit([X, Y, Z]).predict(X)
    cca = KernelCCA(1, kernel="precomputed").fit(rbf_kernel(X), rbf_kernel(Y))
    with pytest.raises(AttributeError) as raised:
        cca.predict(rbf_kernel(X))
    assert "needs a second view of vectors" in str(raised.value.__cause__ or raised.value)
    assert not hasattr(cca, "predict")
    of_vectors = KernelCCA(1, kernel=["precomputed", "rbf"]).fit(rbf_kernel(X), Y)
    assert of_vectors.predict(rbf_kernel(X)).shape == Y.shape


# ---- the route of "auto" -----------------------------------------------------------------------


@pytest.mark.edge
def test_few_pairs_are_exact_up_to_three_thousand_samples():
    X, Y, Z = circle(3001, 0)
    few = slice(1001)
    assert KernelCCA().fit(X[few], Y[few]).solver_ == "exact"
    assert KernelCCA().fit(X, Y).solver_ == "low_rank"

    # only smaller tables are solved by matrix decompositions
    assert KernelCCA().fit([X[few], Y[few], Z[few]]).solver_ == "low_rank"
    for settings in (
        {"criterion": "gcca"},
        {"regularization": "bach-jordan"},
        {"alpha": [0.1, 0]},
        {"n_components": 60},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert KernelCCA(**settings).fit(X[few], Y[few]).solver_ == "low_rank"


@pytest.mark.recovery
def test_correlations_do_not_jump_at_the_exact_limit():
    # a low rank represents these signals, so both solvers agree on either side of the limit
    X, Y, _ = circle(1200, 0)
    exact = KernelCCA().fit(X, Y)
    low = KernelCCA(solver="low_rank").fit(X, Y)
    assert exact.solver_ == "exact"
    assert_allclose(low.correlations_, exact.correlations_, atol=5e-3)  # rank_tol is 1e-3
