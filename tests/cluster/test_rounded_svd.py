"""Evidence that RoundedSVD solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skmoderndata.cluster import RoundedSVD
from skmoderndata.cluster._rounded_svd import _balanced_factors
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.metrics import source_mismatch
from tests.oracles import boolean_factorization as oracle


def random_bits(seed, shape, density=0.4):
    return np.random.default_rng(seed).uniform(size=shape) < density


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_factors_match_the_svd(shape, seed):
    X = random_bits(seed, shape)
    U, s, Vt = np.linalg.svd(X.astype(float), full_matrices=False)
    for k in (1, 4, 12):
        for data in (X, sparse.csr_array(X)):
            A, B, values = _balanced_factors(data, k)
            assert_allclose(values, s[:k], rtol=1e-6, atol=1e-6)
            # compare products, so that signs do not matter; the tolerance allows for roots of
            # eigenvalues
            assert_allclose(A @ B, (U[:, :k] * s[:k]) @ Vt[:k], atol=1e-6)
            assert (B.sum(axis=1) >= 0).all()


@pytest.mark.oracle
def test_lanczos_agrees_with_the_whole_decomposition(monkeypatch, seed):
    X = make_boolean_sources(150, 90, 4, noise=0.3, random_state=seed)[0]
    for data in (X, X.T, sparse.csr_array(X), sparse.csr_array(X.T)):
        A, B, s = _balanced_factors(data, 3)
        with monkeypatch.context() as patch:
            patch.setattr("skmoderndata.cluster._rounded_svd._DENSE", 10)
            patch.setattr("skmoderndata.cluster._rounded_svd.TEMPORARY_BYTES", 8000)
            A_lanczos, B_lanczos, s_lanczos = _balanced_factors(data, 3)
        assert_allclose(s_lanczos, s, rtol=1e-9)
        assert_allclose(A_lanczos, A, atol=1e-6)
        assert_allclose(B_lanczos, B, atol=1e-6)


@pytest.mark.oracle
def test_rounding_is_the_best_of_the_grid(seed):
    X = make_boolean_sources(60, 20, 2, noise=0.3, random_state=seed)[0]
    U, s, Vt = np.linalg.svd(X.astype(float), full_matrices=False)
    A = U[:, :2] * np.sqrt(s[:2])
    B = np.sqrt(s[:2])[:, None] * Vt[:2]
    for k in range(2):
        if B[k].sum() < 0:
            A[:, k] = -A[:, k]
            B[k] = -B[k]
    errors = []
    for s_b in np.arange(1, 10) / 10:
        for s_a in np.arange(1, 10) / 10:
            Z = A >= s_a * A.max(axis=0)
            components = B >= s_b * B.max(axis=1, keepdims=True)
            errors.append(((Z @ components) != X).mean())
    assert RoundedSVD(2).fit(X).rounding_error_ == min(errors)


@pytest.mark.certificate
def test_best_memberships_lower_the_error(seed):
    X = make_boolean_sources(100, 30, 3, noise=0.4, random_state=seed)[0]
    model = RoundedSVD(3).fit(X)
    wrong = sum(oracle.best_set(row, model.components_)[1] for row in X)
    assert_allclose(model.reconstruction_err_, wrong / X.size, rtol=1e-12)
    assert model.reconstruction_err_ <= model.rounding_error_
    assert_allclose(model.score(X), -model.reconstruction_err_, rtol=1e-12)
    one = random_bits(seed, (15, 5))
    wrong = round(RoundedSVD(1).fit(one).reconstruction_err_ * one.size)
    assert oracle.least_cost(one, 1) <= wrong <= one.sum()


@pytest.mark.recovery
def test_disjoint_sources_of_different_weight_are_found(seed):
    """Singular vectors are then indicators of the sources; equal weights would mix them."""
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.eye(3, dtype=bool), [5, 7, 11], axis=1)
    X = sources[np.repeat([0, 1, 2], [30, 40, 50])]
    X = X[rng.permutation(len(X))]
    model = RoundedSVD(3).fit(X)
    assert model.rounding_error_ == 0
    assert source_mismatch(sources, model.components_) == 0
    rank_one = np.outer(rng.uniform(size=30) < 0.6, rng.uniform(size=20) < 0.6)
    assert RoundedSVD(1).fit(rank_one).reconstruction_err_ == 0


@pytest.mark.invariance
def test_sparse_rows_and_features_in_any_order(seed):
    rng = np.random.default_rng(seed)
    X = make_boolean_sources(200, 40, 4, noise=0.3, random_state=seed)[0]
    X[:60] |= X[0]  # make the singular values differ widely
    model = RoundedSVD(3).fit(X)
    same = RoundedSVD(3).fit(sparse.csr_matrix(X.astype(float)))
    assert_array_equal(same.components_, model.components_)
    assert_array_equal(same.transform(sparse.csr_array(X)), model.assignments_)
    rows = rng.permutation(200)
    features = rng.permutation(40)
    moved = RoundedSVD(3).fit(X[rows][:, features])
    assert_array_equal(moved.components_, model.components_[:, features])
    assert_array_equal(moved.assignments_, model.assignments_[rows])


@pytest.mark.edge
def test_border_data():
    for X in (np.zeros((6, 4)), np.ones((6, 4)), np.eye(6)[:, :1], np.eye(1), np.ones((1, 3))):
        model = RoundedSVD(4).fit(X)
        assert model.components_.shape == (4, X.shape[1])
        assert model.reconstruction_err_ == 0
        assert_array_equal(model.inverse_transform(model.transform(X)), X)
    # the table has rank 1, an empty row and empty columns
    X = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
    model = RoundedSVD(3).fit(X)
    assert_array_equal(model.components_, [[0, 1, 1, 0], [0] * 4, [0] * 4])
    assert_allclose(model.singular_values_, [2, 0, 0], atol=1e-12)
    assert not model.assignments_[2].any()


@pytest.mark.edge
def test_raises_on_invalid_input():
    X = random_bits(0, (10, 4))
    for fractions in ((0.0, 0.5), (1.5,), ()):
        with pytest.raises(ValueError, match="fractions"):
            RoundedSVD(fractions=fractions).fit(X)
    with pytest.raises(ValueError, match="set `threshold`"):
        RoundedSVD(threshold=None).fit(3.0 * X)
    with pytest.raises(ValueError, match="NaN"):
        RoundedSVD().fit(np.where(X, np.nan, 0))
    with pytest.raises(ValueError, match="Z has 2 columns, but there are 3 components"):
        RoundedSVD().fit(X).inverse_transform(np.ones((4, 2)))
