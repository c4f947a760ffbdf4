"""Evidence that the permutation test of canonical pairs finds pairs, and few false ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cross_decomposition import CCA, PLSSVD
from sklearn.datasets import load_linnerud
from sklearn.gaussian_process.kernels import RBF

from skmoderndata._solvers.kernel.canonical import ALPHAS, penalty, whiten_features
from skmoderndata._solvers.kernel.canonical_permutations import (
    Coordinates,
    held_out_correlations,
    largest_correlations,
    leading_pairs,
    orthogonal_rows,
    rotated_coordinates,
)
from skmoderndata.cross_decomposition import KernelCCA, RegularizedCCA, SparseCCA
from skmoderndata.model_selection import canonical_permutation_test
from tests.oracles.canonical_permutation_test import (
    canonical_correlations,
    correlation_across_folds,
    orthogonal_directions,
    p_values,
    permuted_correlations,
)
from tests.oracles.regularized_cca import residuals


def two_views(seed, n_pairs, *, n=100, p=8, q=6, heavy=False):
    """Mixed columns; some of one view correlate by .7 with a column of the other."""
    rng = np.random.default_rng(seed)
    shapes = (n, p), (n, q)
    X, Y = (rng.standard_t(3, s) if heavy else rng.normal(size=s) for s in shapes)
    Y[:, :n_pairs] = 0.7 * X[:, :n_pairs] + np.sqrt(0.51) * Y[:, :n_pairs]
    return X @ rng.normal(size=(p, p)), Y @ rng.normal(size=(q, q))


def curved_views(seed, n_pairs, n=100):
    """Three columns each; no linear relation."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, n, 3))
    if n_pairs:
        Y[:, 0] = 1.5 * np.abs(X[:, 0]) + 0.3 * Y[:, 0]
    return X, Y


def n_found(estimator, views, runs, n_permutations=99):
    """Number of pairs found in each run."""
    return np.array(
        [
            canonical_permutation_test(
                estimator, *views(run), n_permutations=n_permutations, random_state=run
            ).n_pairs
            for run in range(runs)
        ]
    )


def whitened(X, alpha=0.0):
    return whiten_features(X - X.mean(axis=0), penalty(alpha, "shrinkage"))


@pytest.mark.oracle
@pytest.mark.parametrize(("p", "q"), [(5, 3), (3, 5), (4, 1)])
def test_matches_the_published_steps(seed, p, q):
    X, Y = two_views(seed, 1, n=30, p=p, q=q)
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(30) for _ in range(7)])
    k = min(p, q)
    pair = rotated_coordinates(whitened(X), whitened(Y))
    assert_allclose(pair.values, canonical_correlations(X, Y)[0], atol=1e-10)
    expected = permuted_correlations(X, Y, orders, k)
    assert_allclose(largest_correlations(pair, orders, k), expected, atol=1e-10)
    data = np.arange(30)[None]
    assert_allclose(largest_correlations(pair, data, k)[0], pair.values[:k], atol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("alpha", [0.1, 0.8])
def test_first_pair_matches_a_new_fit(seed, alpha):
    X, Y = two_views(seed, 1, n=40)
    order = np.random.default_rng(seed).permutation(40)
    pair = rotated_coordinates(whitened(X, alpha), whitened(Y, alpha))
    model = RegularizedCCA(1, alpha=alpha, scale=False).fit(X[order], Y)
    # directions with small gains are left out, which lowers the correlation slightly
    expected = model.regularized_correlations_
    assert_allclose(largest_correlations(pair, order[None], 1)[0], expected, rtol=2e-2)


@pytest.mark.oracle
def test_scores_across_folds_match_plain_loops(seed):
    X, Y = two_views(seed, 2, n=60, p=4, q=3)
    A, B, _ = rotated_coordinates(whitened(X, 0.3), whitened(Y, 0.3))
    fold = np.arange(60) % 5
    order = np.arange(60)[None]
    found = held_out_correlations(Coordinates(A, B, np.ones(3)), order, 2, fold)[0]
    expected = [correlation_across_folds(A[:, j:], B[:, j:], fold) for j in range(2)]
    assert_allclose(found, expected, atol=1e-10)


@pytest.mark.oracle
def test_p_values_are_counts_with_their_running_maximum(seed):
    X, Y = two_views(seed, 1)
    test = canonical_permutation_test(
        RegularizedCCA(6, alpha=0), X, Y, n_permutations=50, random_state=seed
    )
    assert_allclose(test.p_values, p_values(test.statistics, test.null_distribution))
    assert_allclose(test.correlations, canonical_correlations(X, Y)[0], atol=1e-10)
    assert test.null_distribution.shape == (50, 6)
    assert test.n_pairs == (test.p_values <= 0.05).sum()


@pytest.mark.oracle
def test_automatic_penalty_is_searched_in_each_permutation(seed):
    X, Y = two_views(seed, 1, n=50)
    settings = {"n_permutations": 30, "random_state": seed}
    auto = canonical_permutation_test(RegularizedCCA(2, alpha="auto"), X, Y, **settings)
    deviations = []
    for alpha in ALPHAS:
        one = canonical_permutation_test(RegularizedCCA(2, alpha=alpha), X, Y, **settings)
        values = np.vstack([one.statistics, one.null_distribution])
        deviations.append((values - values.mean(axis=0)) / values.std(axis=0))
    expected = np.max(deviations, axis=0)
    assert_allclose(auto.statistics, expected[0], rtol=1e-7)
    assert_allclose(auto.null_distribution, expected[1:], rtol=1e-7)


@pytest.mark.certificate
@pytest.mark.parametrize("shape", [(3, 9, 6), (2, 50, 60)])
def test_leading_pairs_are_singular_vectors(seed, shape):
    M = np.random.default_rng(seed).normal(size=shape)
    M[:, 0, 0] += 40
    for matrix, u, v in zip(M, *leading_pairs(M), strict=True):
        U, _, Vt = np.linalg.svd(matrix)
        assert_allclose(np.abs([u @ U[:, 0], v @ Vt[0]]), 1, atol=1e-10)


# Maximum number of runs with an error among 60; a test at the level .05 exceeds it once in 1,000
# times.
MOST_FALSE = 9


@pytest.mark.recovery
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5, "auto"])
def test_false_pairs_are_rare(alpha, heavy):
    runs = n_found(
        RegularizedCCA(2, alpha=alpha), lambda s: two_views(s, 0, heavy=heavy), 60, 39
    )
    assert (runs > 0).sum() <= MOST_FALSE


@pytest.mark.recovery
@pytest.mark.parametrize("n_pairs", [0, 1, 2])
def test_finds_the_planted_pairs(n_pairs):
    runs = n_found(RegularizedCCA(6, alpha=0), lambda s: two_views(s, n_pairs), 60)
    assert (runs < n_pairs).sum() <= 1
    assert (runs > n_pairs).sum() <= MOST_FALSE


@pytest.mark.recovery
@pytest.mark.parametrize("n_pairs", [0, 1])
def test_kernels_find_only_curved_relations(n_pairs):
    runs = n_found(KernelCCA(2), lambda s: curved_views(s, n_pairs), 12, 39)
    assert (runs < n_pairs).sum() <= 1
    assert (runs > n_pairs).sum() <= 4


@pytest.mark.recovery
@pytest.mark.slow
def test_false_pairs_of_kernels_are_rare():
    runs = n_found(KernelCCA(1), lambda s: curved_views(s, 0), 200, 39)
    # by the binomial distribution, more than 20 of 200 errors occur once in 1,000 times
    assert (runs > 0).sum() <= 20


@pytest.mark.invariance
def test_units_of_the_columns_do_not_matter(seed):
    X, Y = two_views(seed, 1)
    mixed = X @ np.random.default_rng(seed).normal(size=(8, 8)) + 100
    cca = RegularizedCCA(3, alpha=0)
    settings = {"n_permutations": 30, "random_state": 0}
    one = canonical_permutation_test(cca, X, Y, **settings)
    two = canonical_permutation_test(cca, mixed, 1e3 * Y, **settings)
    assert_allclose(one.null_distribution, two.null_distribution, atol=1e-8)
    assert_allclose(one.p_values, two.p_values)


@pytest.mark.invariance
def test_equal_analyses_have_equal_tests(seed):
    X, Y = two_views(seed, 1)
    settings = {"n_permutations": 30, "random_state": 0}
    found = [
        canonical_permutation_test(cca, X, Y, **settings)
        for cca in (RegularizedCCA(2, alpha=0), CCA(2))
    ]
    for other in found[1:]:
        assert_array_equal(found[0].null_distribution, other.null_distribution)


@pytest.mark.invariance
@pytest.mark.parametrize("cca", [RegularizedCCA(2), KernelCCA(2)])
def test_n_jobs_and_seed(cca, monkeypatch):
    X, Y = two_views(0, 1, n=40)
    # use several batches
    monkeypatch.setattr(
        "skmoderndata.model_selection._canonical_permutation_test.BATCH_ENTRIES", 4000
    )
    settings = {"n_permutations": 19, "random_state": 3}
    one, two = (
        canonical_permutation_test(cca, X, Y, n_jobs=n_jobs, **settings)
        for n_jobs in (None, 2)
    )
    assert_array_equal(one.null_distribution, two.null_distribution)
    assert len(np.unique(one.null_distribution[:, 0])) == 19
    assert not hasattr(cca, "n_components_")


@pytest.mark.invariance
def test_precomputed_kernels_have_the_same_test(seed):
    X, Y = curved_views(seed, 1, n=50)
    settings = {"n_permutations": 19, "random_state": 0}
    kernel = RBF(2.0)
    one = canonical_permutation_test(KernelCCA(1, kernel=kernel), X, Y, **settings)
    precomputed = KernelCCA(1, kernel="precomputed")
    two = canonical_permutation_test(precomputed, kernel(X), kernel(Y), **settings)
    assert_allclose(one.null_distribution, two.null_distribution, atol=1e-8)


@pytest.mark.invariance
def test_low_rank_kernels_find_the_same(seed):
    X, Y = curved_views(seed, 1)
    settings = {"n_permutations": 39, "random_state": 0}
    exact = canonical_permutation_test(KernelCCA(1, solver="exact"), X, Y, **settings)
    low = canonical_permutation_test(
        KernelCCA(1, solver="low_rank", rank_tol=1e-6), X, Y, **settings
    )
    # the rows of the kernels differ by the residual of the factor
    assert_allclose(low.correlations, exact.correlations, atol=0.05)
    assert low.n_pairs == exact.n_pairs == 1


@pytest.mark.edge
def test_one_column_and_one_dimension():
    X, Y = two_views(0, 1, q=1)
    test = canonical_permutation_test(
        RegularizedCCA(3, alpha=0), X, Y.ravel(), n_permutations=39, random_state=0
    )
    assert test.p_values.shape == (1,)
    assert test.n_pairs == 1


@pytest.mark.edge
def test_level_determines_the_number_of_pairs():
    exercise, body = load_linnerud(return_X_y=True)
    cca = RegularizedCCA(3, alpha=0)
    pairs = [
        canonical_permutation_test(
            cca, exercise, body, level=level, n_permutations=400, random_state=0
        ).n_pairs
        for level in (0.005, 0.2)
    ]
    assert pairs == [0, 1]


@pytest.mark.edge
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X[:-1], Y), "99 and 100 rows; pass the same samples"),
        (lambda X, Y: (np.where(X > X[3, 2], np.nan, X), Y), "NaN .* impute them, or leave"),
        (
            lambda X, Y: (X[:15], Y[:15]),
            "use at least 16 rows, or a RegularizedCCA with alpha",
        ),
        (lambda X, Y: (np.ones_like(X), Y), "all columns of X are constant"),
        (lambda X, Y: (X, np.ones(100)), "all columns of Y are constant"),
    ],
)
def test_raises_on_invalid_views(change, message):
    with pytest.raises(ValueError, match=message):
        canonical_permutation_test(RegularizedCCA(alpha=0), *change(*two_views(0, 0)))


@pytest.mark.edge
def test_sparse_views_are_rejected():
    X, Y = two_views(0, 0)
    with pytest.raises(TypeError, match=r"Y is sparse; pass Y.toarray\(\)"):
        canonical_permutation_test(RegularizedCCA(), X, sparse.csr_array(Y))


@pytest.mark.edge
@pytest.mark.parametrize("estimator", [PLSSVD(), RegularizedCCA, "cca"])
def test_other_estimators_are_rejected(estimator):
    with pytest.raises(TypeError, match="pass an instance of RegularizedCCA, SparseCCA"):
        canonical_permutation_test(estimator, *two_views(0, 0))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("estimator", "settings", "message"),
    [
        (RegularizedCCA(criterion="gcca"), {}, "set criterion='maxvar'"),
        (RegularizedCCA(view_slices=[(0, 2), (2, 4)]), {}, "set view_slices=None"),
        (RegularizedCCA(alpha=[0.1]), {}, "1 entries for 2 views"),
        (RegularizedCCA(), {"n_permutations": 18}, "use at least 19 permutations"),
        (RegularizedCCA(), {"n_permutations": 1.5}, "integer above 0"),
        (RegularizedCCA(), {"level": 1}, "between 0 and 1"),
        (KernelCCA(alpha=0, solver="exact"), {}, "KernelCCA with alpha above 0"),
    ],
)
def test_raises_on_invalid_settings(estimator, settings, message):
    with pytest.raises(ValueError, match=message):
        canonical_permutation_test(estimator, *two_views(0, 0), **settings)


def confounded_views(seed, n=30, r=10, relation=0.0):
    """Two views of three columns that depend on confounders and correlate by `relation`."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2, n, 3))
    Y[:, 0] += relation * X[:, 0]
    Z = rng.normal(size=(n, r))
    return X + Z @ rng.normal(size=(r, 3)), Y + Z @ rng.normal(size=(r, 3)), Z


@pytest.mark.oracle
def test_rows_are_orthogonal_to_the_confounders(seed):
    X, Y, Z = confounded_views(seed)
    Z[:, 0] = 1e6 * Z[:, 1] + 3  # the columns are collinear
    Q = orthogonal_directions(Z)
    rows = [orthogonal_rows(view, Z) for view in (X, Y)]
    assert len(rows[0]) == Q.shape[1] == 20
    factor = 20 / 30
    for view, found in zip((X, Y), rows, strict=True):
        assert_allclose(found.T @ found, factor * (view.T @ Q @ Q.T @ view), atol=1e-8)
    assert_allclose(rows[0].T @ rows[1], factor * (X.T @ Q @ Q.T @ Y), atol=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_correlations_with_confounders_are_those_of_the_fit(seed, alpha, scale):
    X, Y, Z = confounded_views(seed)
    cca = RegularizedCCA(3, alpha=alpha, scale=scale)
    test = canonical_permutation_test(cca, X, Y, confounders=Z, n_permutations=19)
    expected = cca.fit(X, Y, confounders=Z).regularized_correlations_
    assert_allclose(test.correlations, expected, rtol=1e-8)


@pytest.mark.recovery
def test_confounders_cause_no_pairs_and_hide_none():
    def runs(relation, n):
        return np.array([
            canonical_permutation_test(
                RegularizedCCA(1, alpha=0), X, Y, confounders=Z, n_permutations=39,
                random_state=run,
            ).n_pairs
            for run in range(60)
            for X, Y, Z in [confounded_views(run, n=n, relation=relation)]
        ])  # fmt: skip

    assert (runs(0.0, 30) > 0).sum() <= MOST_FALSE
    assert (runs(1.5, 60) > 0).sum() >= 55


@pytest.mark.recovery
def test_permuted_residuals_would_find_too_much():
    """The reason for the rotation: residuals are correlated with each other."""
    false = 0
    for run in range(60):
        X, Y, Z = confounded_views(run, r=20)
        left = [residuals(view, Z) for view in (X, Y)]
        test = canonical_permutation_test(
            RegularizedCCA(1, alpha=0), *left, n_permutations=39, random_state=run
        )
        false += test.n_pairs
    assert false > 2 * MOST_FALSE


@pytest.mark.edge
def test_errors_name_bad_confounders():
    X, Y, Z = confounded_views(0)
    settings = {"n_permutations": 19}
    with pytest.raises(ValueError, match="confounders has 5 rows"):
        canonical_permutation_test(RegularizedCCA(1), X, Y, confounders=Z[:5], **settings)
    with pytest.raises(ValueError, match="not from kernels"):
        canonical_permutation_test(KernelCCA(1), X, Y, confounders=Z, **settings)
    with pytest.raises(ValueError, match="explain all columns of X"):
        canonical_permutation_test(RegularizedCCA(1), Z[:, :2], Y, confounders=Z, **settings)
    many = np.random.default_rng(0).normal(size=(30, 28))
    with pytest.raises(ValueError, match="28 confounders leave 1 directions"):
        canonical_permutation_test(RegularizedCCA(1), X, Y, confounders=many, **settings)
    with pytest.raises(ValueError, match="without penalty, the 6 directions"):
        canonical_permutation_test(
            RegularizedCCA(1, alpha=0), X, Y, confounders=many[:, :24], **settings
        )


@pytest.mark.invariance
def test_sparse_pairs_accept_confounders(seed):
    X, Y, Z = confounded_views(seed, relation=2.0)
    test = canonical_permutation_test(
        SparseCCA(1, l1_bound=1.5), X, Y, confounders=Z, n_permutations=19, random_state=seed
    )
    assert test.n_pairs == 1
