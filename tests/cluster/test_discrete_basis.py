"""Evidence that DiscreteBasis solves the problem it states."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import NMF

from skmoderndata.cluster import DiscreteBasis
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.metrics import boolean_reconstruction_error, source_mismatch
from tests.oracles import boolean_factorization as oracle


def random_bits(seed, shape, density=0.4):
    return np.random.default_rng(seed).uniform(size=shape) < density


@pytest.mark.oracle
@pytest.mark.parametrize(("bonus", "penalty"), [(1, 1), (1, 2.5), (3, 1)])
def test_greedy_search_agrees_with_plain_loops(bonus, penalty, seed):
    X = random_bits(seed, (25, 8))
    for tau in (0.4, 0.6, 1.0):
        U, covered = oracle.asso(X, 3, tau, bonus, penalty)
        weights = {"bonus": bonus, "penalty": penalty}
        model = DiscreteBasis(3, association_threshold=tau, refit=False, **weights).fit(X)
        assert_array_equal(model.components_, U)
        greedy = bonus * (X & ~covered).sum() + penalty * (covered & ~X).sum()
        assert_allclose(model.costs_[0] * X.size, greedy, rtol=1e-12)
        # the memberships found by the search are not the best ones; the best ones are computed
        # afterwards
        best = sum(oracle.best_set(row, U, bonus, penalty)[1] for row in X)
        explained = model.inverse_transform(model.assignments_)
        cost = bonus * (X & ~explained).sum() + penalty * (explained & ~X).sum()
        assert_allclose(cost, best, rtol=1e-12)
        assert cost <= greedy + 1e-9


@pytest.mark.oracle
def test_rows_and_candidates_of_several_words(seed):
    """More than 64 features, and some candidates without a common feature with the choices."""
    X = make_boolean_sources(60, 150, 4, noise=0.2, random_state=seed)[0]
    X[:, 130:] = 0
    for tau in (0.5, 0.9):
        U, covered = oracle.asso(X, 4, tau, 1.0, 1.0)
        model = DiscreteBasis(4, association_threshold=tau, refit=False).fit(X)
        assert_array_equal(model.components_, U)
        assert_allclose(model.costs_[0] * X.size, (X != covered).sum(), rtol=1e-12)


def weighted_asso(X, weights, k, tau, bonus, penalty):
    """Greedy search of Asso with weights of the bits, by loops."""
    n, p = X.shape
    candidates = []
    for i in range(p):
        members = np.zeros(p, dtype=bool)
        own = [r for r in range(n) if X[r, i] and weights[r, i]]
        for j in range(p):
            both = sum(weights[r, i] * weights[r, j] for r in own if X[r, j])
            known = sum(weights[r, i] * weights[r, j] for r in own)
            members[j] = i == j or (known > 0 and both / known >= tau - 1e-12)
        if own:
            candidates.append(members)

    covered = np.zeros(X.shape, dtype=bool)
    chosen = np.zeros((k, p), dtype=bool)
    for step in range(k):
        best = 0
        for members in candidates:
            use = np.zeros(n, dtype=bool)
            total = 0
            for r in range(n):
                gain = 0
                for d in np.flatnonzero(members & ~covered[r]):
                    gain += weights[r, d] * (bonus if X[r, d] else -penalty)
                use[r] = gain > 0
                total += max(gain, 0)
            if total > best + 1e-9:
                best = total
                chosen[step] = members
                rows = use
        if best == 0:
            break
        covered[np.ix_(rows, chosen[step])] = True
    return chosen, covered


@pytest.mark.oracle
@pytest.mark.parametrize("largest", [1, 3])
def test_greedy_search_with_weights_agrees_with_plain_loops(largest, seed):
    X = random_bits(seed, (20, 8))
    weights = np.random.default_rng(seed).integers(0, largest + 1, size=X.shape)
    for tau in (0.4, 0.7):
        U, covered = weighted_asso(X, weights, 3, tau, 1.0, 1.5)
        model = DiscreteBasis(3, association_threshold=tau, refit=False, penalty=1.5)
        model.fit(X, entry_weight=weights)
        assert_array_equal(model.components_, U)
        wrong = np.where(X, 1.0, 1.5) * (X != covered)
        assert_allclose(model.costs_[0], (weights * wrong).sum() / weights.sum(), rtol=1e-12)


@pytest.mark.oracle
def test_weights_that_are_equal_change_nothing(seed):
    X = random_bits(seed, (40, 10))
    for refit in (False, True):
        settings = {"association_threshold": 0.5, "refit": refit}
        plain = DiscreteBasis(3, **settings).fit(X)
        equal = DiscreteBasis(3, **settings).fit(X, entry_weight=np.full(X.shape, 3.0))
        assert_allclose(equal.costs_, plain.costs_, rtol=1e-12)
        assert_array_equal(equal.components_, plain.components_)
        assert_array_equal(equal.assignments_, plain.assignments_)


@pytest.mark.oracle
@pytest.mark.parametrize("n_clusters", [3, 14])
def test_memberships_with_weights_are_best(n_clusters, seed):
    """All sets for few components; flips come as far where the components do not overlap."""
    rng = np.random.default_rng(seed)
    if n_clusters == 3:
        X = random_bits(seed, (20, 8))
        model = DiscreteBasis(3, penalty=2.0).fit(X)
    else:
        X = np.kron(np.eye(n_clusters), np.ones((3, 2))) > 0
        model = DiscreteBasis(n_clusters, penalty=2.0).fit(X)
    weights = rng.integers(0, 4, size=X.shape)
    noisy = X ^ (rng.uniform(size=X.shape) < 0.2)
    Z = model.transform(noisy, entry_weight=weights)
    assert_array_equal(Z, model.predict(noisy, entry_weight=weights))
    for row, w, z in zip(noisy, weights, Z, strict=True):
        repeated = np.repeat(row, w)
        U = np.repeat(model.components_, w, axis=1)
        covered = (U & z[:, None]).any(axis=0)
        cost = oracle.cost(repeated, covered, 1.0, 2.0)
        if n_clusters == 3:
            assert_allclose(cost, oracle.best_set(repeated, U, 1.0, 2.0)[1])
        else:
            for j in range(n_clusters):
                saved = sum(1.0 if bit else -2.0 for bit in repeated[U[j]])
                assert z[j] == (saved > 0)


@pytest.mark.recovery
def test_finds_sources_with_missing_bits(seed):
    X = make_boolean_sources(300, 30, 3, noise=0.1, random_state=seed)[0]
    rng = np.random.default_rng(seed)
    gaps = np.where(rng.uniform(size=X.shape) < 0.4, np.nan, X)
    model = DiscreteBasis(3).fit(gaps)
    zeros = DiscreteBasis(3).fit(np.nan_to_num(gaps))
    mistakes = [
        boolean_reconstruction_error(X, one.inverse_transform(one.assignments_))
        for one in (model, zeros)
    ]
    assert mistakes[0] < 0.12 < mistakes[1]
    hidden = np.isnan(gaps)
    filled = model.inverse_transform(model.transform(gaps))
    assert (filled != X)[hidden].mean() < 0.15


@pytest.mark.invariance
def test_score_counts_observed_bits_by_their_weights(seed):
    X = random_bits(seed, (30, 8))
    weights = np.random.default_rng(seed).integers(0, 3, size=X.shape)
    model = DiscreteBasis(3).fit(X)
    wrong = X != model.inverse_transform(model.transform(X, entry_weight=weights))
    score = model.score(X, entry_weight=weights)
    assert_allclose(score, -(weights * wrong).sum() / weights.sum(), rtol=1e-12)
    gaps = np.where(weights > 0, X, np.nan)
    assert model.score(gaps) == model.score(X, entry_weight=weights > 0)


@pytest.mark.oracle
def test_no_discarded_tau_would_have_won(seed):
    """The best of separate fits for each tau is at most a hundredth better."""
    for noise in (0.1, 0.5):
        X = make_boolean_sources(
            200, 40, 5, max_assignments=3, noise=noise, random_state=seed
        )[0]
        taus = np.arange(1, 11) / 10
        apart = [DiscreteBasis(5, association_threshold=tau).fit(X) for tau in taus]
        least = min(model.reconstruction_err_ for model in apart)
        assert DiscreteBasis(5).fit(X).reconstruction_err_ <= 1.01 * least


@pytest.mark.oracle
def test_near_the_optimum_of_brute_force(seed):
    X = random_bits(seed, (20, 5))
    for k in (1, 2):
        model = DiscreteBasis(k).fit(X)
        wrong = round(model.reconstruction_err_ * X.size)
        optimum = oracle.least_cost(X, k)
        # for pure noise, the local optimum is within a fifth of the optimum for each of 20 seeds
        assert optimum <= wrong <= 1.2 * optimum + 1


@pytest.mark.certificate
@pytest.mark.parametrize("weights", [{}, {"bonus": 1.0, "penalty": 2.0}])
def test_error_never_rises_with_more_components_and_by_refit(weights, seed):
    X = make_boolean_sources(150, 60, 4, noise=0.4, random_state=seed)[0]
    greedy = [DiscreteBasis(k, refit=False, **weights).fit(X) for k in range(1, 8)]
    best = [model.costs_.min() for model in greedy]
    assert (np.diff(best) <= 1e-12).all()
    for small, large in pairwise(greedy):
        if small.association_threshold_ == large.association_threshold_:
            assert_array_equal(small.components_, large.components_[:-1])
    for model in greedy:
        refitted = DiscreteBasis(len(model.components_), **weights).fit(X)
        assert (refitted.costs_ <= model.costs_ + 1e-12).all()


@pytest.mark.certificate
def test_refit_is_optimal_in_each_half(seed):
    """No row gains by another set of components, no feature by another set of sources."""
    X = make_boolean_sources(100, 30, 3, noise=0.5, random_state=seed)[0]
    model = DiscreteBasis(3).fit(X)
    U = model.components_
    Z = model.assignments_
    wrong = sum(oracle.best_set(row, U)[1] for row in X)
    assert wrong == round(model.reconstruction_err_ * X.size)
    assert wrong == sum(oracle.best_set(column, Z.T)[1] for column in X.T)


@pytest.mark.certificate
@pytest.mark.parametrize("n_clusters", [4, 15])
def test_cost_of_the_chosen_tau_matches_the_result(n_clusters, seed):
    """Also after the last re-fit, with all sets of components or without."""
    X = make_boolean_sources(120, 40, 6, max_assignments=3, noise=0.5, random_state=seed)[0]
    for tau in (None, 0.5):
        model = DiscreteBasis(
            n_clusters, association_threshold=tau, bonus=1.0, penalty=1.5
        ).fit(X)
        explained = (model.assignments_[:, :, None] & model.components_).any(axis=1)
        cost = (X & ~explained).sum() + 1.5 * (explained & ~X).sum()
        taus = np.arange(1, 11) / 10 if tau is None else np.array([tau])
        chosen = model.costs_[taus == model.association_threshold_]
        assert_allclose(chosen, cost / X.size, rtol=1e-12)


@pytest.mark.recovery
def test_clean_sources_are_found_exactly(seed):
    """Disjoint sources, and overlapping ones that are not alone in any feature pair."""
    for overlap in (0.0, 0.25):
        X, _, sources, _ = make_boolean_sources(
            200, 60, 3, overlap=overlap, noise=0.0, random_state=seed
        )
        model = DiscreteBasis(3).fit(X)
        assert model.reconstruction_err_ == 0
        assert source_mismatch(sources, model.components_) == 0


@pytest.mark.recovery
def test_sources_are_found_under_noise_and_many_of_them(seed):
    X, clean, sources, _ = make_boolean_sources(
        800, 120, 8, max_assignments=3, noise=0.2, random_state=seed
    )
    model = DiscreteBasis(8).fit(X)
    assert source_mismatch(sources, model.components_) == 0
    # count the errors of the best set given the true components: rare rows are ambiguous
    assert (
        boolean_reconstruction_error(clean, model.inverse_transform(model.transform(X))) < 0.01
    )
    # with more than 13 components, local search replaces the search over all sets
    many = DiscreteBasis(15).fit(X)
    assert many.reconstruction_err_ <= model.reconstruction_err_ + 0.002


@pytest.mark.recovery
def test_better_than_rounded_nmf(seed):
    X = make_boolean_sources(300, 60, 5, noise=0.3, random_state=seed)[0]
    nmf = NMF(5, init="nndsvda", max_iter=1000, tol=1e-3, random_state=seed)
    W = nmf.fit_transform(X.astype(float))
    H = nmf.components_
    rounded = (
        ((W > 0.5 * W.max(axis=0)) @ (H > 0.5 * H.max(axis=1, keepdims=True))) != X
    ).mean()
    assert DiscreteBasis(5).fit(X).reconstruction_err_ <= rounded


@pytest.mark.invariance
def test_sparse_rows_and_features_in_any_order(seed):
    rng = np.random.default_rng(seed)
    X = make_boolean_sources(200, 40, 4, noise=0.3, random_state=seed)[0]
    model = DiscreteBasis(4).fit(X)
    same = DiscreteBasis(4).fit(sparse.csr_matrix(X.astype(float)))
    assert_array_equal(same.components_, model.components_)
    assert_array_equal(same.transform(sparse.csr_array(X)), model.assignments_)
    rows = rng.permutation(200)
    assert_array_equal(DiscreteBasis(4).fit(X[rows]).components_, model.components_)
    twice = DiscreteBasis(4).fit(np.vstack([X, X]))
    assert_array_equal(twice.components_, model.components_)


@pytest.mark.invariance
def test_weights_count_only_by_their_ratio(seed):
    X = make_boolean_sources(200, 40, 4, noise=0.5, random_state=seed)[0]
    first = DiscreteBasis(4, bonus=1, penalty=3).fit(X)
    second = DiscreteBasis(4, bonus=2, penalty=6).fit(X)
    assert_array_equal(first.components_, second.components_)
    assert_allclose(second.costs_, 2 * first.costs_, rtol=1e-12)
    cautious = DiscreteBasis(4, penalty=1000).fit(X)
    assert not (cautious.inverse_transform(cautious.assignments_) & ~X).any()


@pytest.mark.edge
def test_border_data():
    for X in (np.zeros((6, 4)), np.ones((6, 4)), np.eye(6)[:, :1], np.eye(1), np.eye(3)):
        model = DiscreteBasis(4).fit(X)
        assert model.components_.shape == (4, X.shape[1])
        assert model.reconstruction_err_ == 0
        assert_array_equal(model.inverse_transform(model.transform(X)), X)
    # the table has an empty row and empty columns
    X = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
    model = DiscreteBasis(3).fit(X)
    assert not model.assignments_[2].any()
    assert not model.components_[:, [0, 3]].any()


@pytest.mark.edge
def test_raises_on_invalid_input():
    X = random_bits(0, (10, 4))
    for tau in (0.0, 1.1, (0.5, -1), ()):
        with pytest.raises(ValueError, match="association_threshold is a fraction"):
            DiscreteBasis(association_threshold=tau).fit(X)
    with pytest.raises(ValueError, match="set `threshold`"):
        DiscreteBasis(threshold=None).fit(3.0 * X)
    with pytest.raises(ValueError, match="infinity"):
        DiscreteBasis().fit(np.where(X, np.inf, 0))
    with pytest.raises(ValueError, match="at least one observed bit"):
        DiscreteBasis().fit(np.full((3, 4), np.nan))
    with pytest.raises(ValueError, match="does not take NaN in sparse input"):
        DiscreteBasis().fit(sparse.csr_array(np.where(X, np.nan, 0)))
    with pytest.raises(ValueError, match="Z has 2 columns, but there are 3 components"):
        DiscreteBasis().fit(X).inverse_transform(np.ones((4, 2)))
