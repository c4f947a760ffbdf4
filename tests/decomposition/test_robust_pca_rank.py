"""Evidence that RobustPCA fits the requested number of components with noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.lowrank.refit import leading_vectors
from skmoderndata.datasets import make_low_rank_plus_sparse
from skmoderndata.decomposition import RobustPCA
from skmoderndata.exceptions import DoubtfulResultWarning

TOL = 1e-4


def planted(shape=(100, 20), rank=3, seed=0):
    return make_low_rank_plus_sparse(
        *shape, rank=rank, outlier_fraction=0.1, magnitude=10.0, noise=0.2, random_state=seed
    )


@pytest.mark.recovery
@pytest.mark.parametrize("shape", [(100, 20), (300, 60)])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_fits_the_requested_components_and_finds_the_cells(shape, k, seed):
    X, _, sparse = planted(shape, seed=seed)
    auto = RobustPCA(tol=TOL).fit(X)
    model = RobustPCA(k, tol=TOL).fit(X)
    assert auto.rank_ == model.rank_ == 3
    assert model.n_components_ == np.linalg.matrix_rank(model.low_rank_) == k
    assert_allclose(
        model.inverse_transform(model.low_rank_ @ model.components_.T),
        model.low_rank_,
        atol=1e-9,
    )
    wrong = sparse != 0
    precision = (model.support_ & wrong).sum() / model.support_.sum()
    assert precision >= 0.98 if k >= 3 else precision >= 0.9
    if k >= 3:
        recall = (model.support_ & wrong).sum() / wrong.sum()
        assert recall >= (auto.support_ & wrong).sum() / wrong.sum() - 0.02
    if k == 3:
        for name in ("low_rank_", "support_", "noise_scale_", "components_"):
            assert_array_equal(getattr(model, name), getattr(auto, name))


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_leading_vectors_match_the_full_decomposition(shape, seed):
    X = np.random.default_rng(seed).normal(size=shape)
    V, s = leading_vectors(X, 4)
    _, expected, Vt = np.linalg.svd(X, full_matrices=False)
    assert_allclose(s, expected[:4])
    assert_allclose(np.abs((V * Vt[:4].T).sum(axis=0)), 1.0)


@pytest.mark.edge
def test_warns_if_components_are_noise_or_leave_no_freedom(seed):
    X, *_ = planted(seed=seed)
    with pytest.warns(DoubtfulResultWarning, match="has fitted 7 components, but only 3"):
        assert RobustPCA(7, tol=TOL).fit(X).n_components_ == 7
    with pytest.warns(DoubtfulResultWarning, match="half of the smaller side 20.*Lower"):
        model = RobustPCA(10, tol=TOL).fit(X)
    assert model.n_components_ == model.rank_ == 3


@pytest.mark.edge
def test_convex_solutions_and_exact_tables_are_capped(seed):
    X, *_ = planted(seed=seed)
    model = RobustPCA(2, tol=TOL, polish=False).fit(X)
    assert model.n_components_ == 2 < model.rank_
    assert_array_equal(model.low_rank_, RobustPCA(tol=TOL, polish=False).fit(X).low_rank_)
