"""Evidence that huge cells, such as -999999 for a missing value, do not rule RobustPCA."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.lowrank.huge_cells import limits_of
from skmoderndata.decomposition import RobustPCA

TOL = 1e-4


def sentinels(size, n_cells, seed=0):
    """Table of rank 3 with noise .1, the same with huge cells, and where these are."""
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 20))
    clean += 0.1 * rng.normal(size=clean.shape)
    cells = np.unravel_index(rng.choice(clean.size, n_cells, replace=False), clean.shape)
    X = clean.copy()
    X[cells] = size
    return clean, X, cells


@pytest.mark.recovery
@pytest.mark.parametrize("size", [1e4, -999999.0, 1e8, 1e12])
@pytest.mark.parametrize("n_cells", [1, 5, 80])
def test_huge_cells_turn_nothing(size, n_cells, seed):
    clean, X, cells = sentinels(size, n_cells, seed)
    expected = RobustPCA(tol=TOL).fit(clean)
    model = RobustPCA(tol=TOL).fit(X)
    assert model.rank_ == 3
    cosines = np.linalg.svd(model.components_ @ expected.components_.T, compute_uv=False)
    assert np.degrees(np.arccos(min(cosines.min(), 1.0))) < 0.3
    assert_allclose(model.noise_std_, expected.noise_std_, rtol=0.05)
    assert model.support_[cells].all()
    assert_allclose((model.low_rank_ + model.sparse_)[cells], size, rtol=1e-12)
    # rows with huge cells are transformed like any other
    scores = model.transform(X)
    assert_allclose(scores, model.transform(clean), atol=1.0)


@pytest.mark.certificate
@pytest.mark.parametrize("algorithm", ["pcp", "stable"])
def test_the_certificate_matches_the_table_with_huge_cells_pulled_in(algorithm, seed):
    _, X, _ = sentinels(1e6, 5, seed)
    model = RobustPCA(algorithm=algorithm, polish=False, noise_std=None, tol=TOL).fit(X)
    Y = model.dual_
    scale = max(1.0, np.linalg.norm(Y, 2), np.abs(Y).max() / model.alpha_)
    delta = 0.0 if algorithm == "pcp" else model.noise_std_ * np.sqrt(2 * 400)
    Y = Y / scale
    table = np.clip(X, *limits_of(X)) / model.column_scale_
    dual = (table * Y).sum() - 0.5 * delta * (Y**2).sum()
    assert (model.objective_ - dual) / model.objective_ <= model.dual_gap_ * (1 + 1e-6)


@pytest.mark.invariance
def test_tables_without_huge_cells_keep_their_values(seed):
    clean, *_ = sentinels(1.0, 1, seed)
    model = RobustPCA(tol=TOL).fit(clean)
    assert_array_equal(
        model.sparse_[model.support_], (clean - model.low_rank_)[model.support_]
    )
