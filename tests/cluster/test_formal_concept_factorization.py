"""Evidence that FormalConceptFactorization solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skmoderndata.cluster import FormalConceptFactorization
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.metrics import boolean_coverage_score, boolean_over_coverage, source_mismatch
from tests.oracles import boolean_factorization as oracle


def random_bits(seed, shape, density=0.5):
    return np.random.default_rng(seed).uniform(size=shape) < density


@pytest.mark.oracle
@pytest.mark.parametrize("n", [9, 70])
def test_agrees_with_the_algorithm_on_sets(n, seed):
    X = random_bits(seed, (n, 6))
    found = oracle.grecon(X, 100)
    model = FormalConceptFactorization(None).fit(X)
    assert [set(np.flatnonzero(u)) for u in model.components_] == [
        intent for intent, _ in found
    ]
    assert_allclose(
        model.coverage_, np.cumsum([gain for _, gain in found]) / X.sum(), rtol=1e-12
    )


@pytest.mark.certificate
def test_components_are_concepts_and_no_zero_is_covered(seed):
    X = random_bits(seed, (40, 12), 0.6)
    model = FormalConceptFactorization(6).fit(X)
    for intent, extent in zip(model.components_, model.assignments_.T, strict=True):
        assert_array_equal(extent, X[:, intent].all(axis=1))
        assert_array_equal(intent, X[extent].all(axis=0))
    explained = model.inverse_transform(model.transform(X))
    assert boolean_over_coverage(X, explained) == 0
    assert_allclose(model.coverage_[-1], boolean_coverage_score(X, explained), rtol=1e-12)
    best = FormalConceptFactorization(6, cover="best").fit(X)
    assert best.reconstruction_err_ <= model.reconstruction_err_


@pytest.mark.certificate
def test_error_falls_with_every_concept_down_to_zero(seed):
    X = make_boolean_sources(80, 20, 3, noise=0.3, random_state=seed)[0]
    whole = FormalConceptFactorization(None).fit(X)
    assert whole.reconstruction_err_ == 0
    assert (np.diff(whole.coverage_) > 0).all()
    for k in (1, 4, 9):
        model = FormalConceptFactorization(k).fit(X)
        assert_array_equal(model.components_, whole.components_[:k])
        assert_allclose(model.coverage_, whole.coverage_[:k], rtol=1e-12)
        expected = (1 - whole.coverage_[k - 1]) * X.mean()
        assert_allclose(model.reconstruction_err_, expected, rtol=1e-9)
    more = FormalConceptFactorization(60).fit(X)
    assert not more.components_[len(whole.components_) :].any()
    assert more.coverage_[-1] == 1


@pytest.mark.certificate
def test_never_above_brute_force_and_near_it(seed):
    X = random_bits(seed, (12, 5), 0.6)
    for k in (1, 2):
        model = FormalConceptFactorization(k).fit(X)
        covered = model.inverse_transform(model.assignments_).sum()
        optimum = oracle.most_ones_from_below(X, k)
        # concepts are grown feature by feature, without the guarantee of a full greedy search
        assert 0.6 * optimum <= covered <= optimum


@pytest.mark.oracle
def test_worked_by_hand():
    X = np.array(
        [[1, 1, 0, 0, 0], [1, 1, 0, 0, 1], [1, 1, 1, 1, 0], [1, 0, 0, 0, 1]], dtype=bool
    )
    model = FormalConceptFactorization(None).fit(X)
    assert_array_equal(model.assignments_ @ model.components_, X)
    # first the six ones of three rows, then three of the four ones with x4, then two of the third
    # row
    assert_array_equal(model.components_, [[1, 1, 0, 0, 0], [1, 0, 0, 0, 1], [1, 1, 1, 1, 0]])
    assert_allclose(model.coverage_ * 11, [6, 9, 11], rtol=1e-12)


@pytest.mark.recovery
def test_clean_sources_are_found(seed):
    """Disjoint sources in clean data: two of them at a time cover fewer ones."""
    X, _, sources, Z = make_boolean_sources(
        200, 60, 4, overlap=0.0, max_assignments=2, random_state=seed
    )
    model = FormalConceptFactorization(4).fit(X)
    assert model.reconstruction_err_ == 0
    assert source_mismatch(sources, model.components_) == 0
    assert source_mismatch(Z.T, model.assignments_.T) == 0


@pytest.mark.invariance
def test_sparse_duplicated_and_permuted_rows(seed):
    rng = np.random.default_rng(seed)
    X = make_boolean_sources(150, 30, 3, noise=0.2, random_state=seed)[0]
    model = FormalConceptFactorization(5).fit(X)
    same = FormalConceptFactorization(5).fit(sparse.csr_matrix(X.astype(float)))
    assert_array_equal(same.components_, model.components_)
    assert_array_equal(same.transform(sparse.csr_array(X)), model.assignments_)
    doubled = FormalConceptFactorization(5).fit(np.vstack([X, X]))
    assert_array_equal(doubled.components_, model.components_)
    moved = FormalConceptFactorization(5).fit(X[rng.permutation(150)])
    assert_array_equal(moved.components_, model.components_)


@pytest.mark.edge
def test_border_data():
    for X in (np.zeros((6, 4)), np.ones((6, 4)), np.eye(6)[:, :1], np.eye(1), np.eye(3)):
        for k in (None, 4):
            model = FormalConceptFactorization(k).fit(X)
            assert model.reconstruction_err_ == 0
            assert_array_equal(model.inverse_transform(model.transform(X)), X)
    assert FormalConceptFactorization(None).fit(np.zeros((3, 2))).components_.shape == (1, 2)
    X = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
    model = FormalConceptFactorization(3).fit(X)
    assert_array_equal(model.components_, [[0, 1, 1, 0], [0] * 4, [0] * 4])
    assert_array_equal(model.coverage_, [1, 1, 1])
    assert not model.assignments_[2].any()


@pytest.mark.edge
def test_raises_on_invalid_input():
    X = random_bits(0, (10, 4))
    with pytest.raises(ValueError, match="set `threshold`"):
        FormalConceptFactorization(threshold=None).fit(3.0 * X)
    with pytest.raises(ValueError, match="NaN"):
        FormalConceptFactorization().fit(np.where(X, np.nan, 0))
    with pytest.raises(ValueError, match="Z has 2 columns, but there are 3 components"):
        FormalConceptFactorization().fit(X).inverse_transform(np.ones((4, 2)))
