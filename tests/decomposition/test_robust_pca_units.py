"""Evidence that RobustPCA can take columns in units and with offsets of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.decomposition import RobustPCA

SPREAD = 10.0 ** np.linspace(-3, 3, 20)
OFFSET = 1e3 * SPREAD * np.linspace(-1, 1, 20)


def table(seed=0, noise=0.3, rows=0):
    """Table of rank 2 with 3 % wrong cells, and some outlying rows; columns of spread 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 20))
    X += noise * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.03] += 6.0
    X[:rows] += 6.0 * rng.choice([-1, 1], size=20)
    X -= np.median(X, axis=0)
    return 1.349 * X / np.subtract(*np.quantile(X, [0.75, 0.25], axis=0))


@pytest.mark.invariance
@pytest.mark.parametrize("rows", [0, 12])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_units_and_offsets_do_not_matter(noise, rows):
    X = table(noise=noise, rows=rows)
    plain = RobustPCA(tol=1e-4).fit(X)
    raw = X * SPREAD + OFFSET
    model = RobustPCA(center="auto", scale="auto", tol=1e-4).fit(raw)
    assert model.algorithm_ == plain.algorithm_
    assert_array_equal(model.support_, plain.support_)
    assert_allclose(model.mean_, OFFSET, atol=1e-6 * SPREAD.max())
    assert_allclose((model.low_rank_ - OFFSET) / SPREAD, plain.low_rank_, atol=1e-6)
    assert_allclose(model.sparse_ / SPREAD, plain.sparse_, atol=1e-6)
    assert_allclose(model.noise_scale_ / SPREAD, plain.noise_scale_, rtol=1e-6)
    assert_allclose(model.column_scale_ / SPREAD, plain.column_scale_, rtol=1e-6)

    # components are orthonormal in the units of the table
    r = model.n_components_
    assert_allclose(model.components_ @ model.components_.T, np.eye(r), atol=1e-10)
    scores = (model.low_rank_ - model.mean_) @ model.components_.T
    assert_allclose(
        scores @ model.components_ + model.mean_, model.low_rank_, atol=1e-8 * SPREAD.max()
    )

    # compare new rows
    new = table(1, noise)
    assert_allclose(
        (model.decompose(new * SPREAD + OFFSET).low_rank - OFFSET) / SPREAD,
        plain.decompose(new).low_rank,
        atol=1e-4,
    )
    if noise:
        assert_array_equal(model.outlying_rows_, plain.outlying_rows_)
        assert plain.outlying_rows_.sum() >= 0.8 * rows
        assert_allclose(model.row_distances_, plain.row_distances_, atol=1e-5)
        assert_allclose(
            model.row_distances(new * SPREAD + OFFSET), plain.row_distances(new), atol=1e-3
        )


@pytest.mark.invariance
def test_tables_in_one_unit_keep_their_result():
    X = table()
    plain = RobustPCA(tol=1e-3).fit(X)
    model = RobustPCA(center="auto", scale="auto", tol=1e-3).fit(X)
    assert_array_equal(model.low_rank_, plain.low_rank_)
    assert_array_equal(model.components_, plain.components_)
    assert_array_equal(model.mean_, 0.0)

    # the background of a film is its main component
    film = 5.0 + 0.1 * X
    model = RobustPCA(center="auto", scale="auto", tol=1e-3).fit(film)
    assert_array_equal(model.mean_, 0.0)
    assert_array_equal(model.low_rank_, RobustPCA(tol=1e-3).fit(film).low_rank_)


@pytest.mark.invariance
def test_numbers_for_missing_values_are_pulled_in_in_units():
    X = table() * SPREAD + OFFSET
    X[4, 3] = 1e12
    model = RobustPCA(center="auto", scale="auto", tol=1e-3).fit(X)
    assert model.support_[4, 3]
    assert abs(model.low_rank_[4, 3] - OFFSET[3]) < 10 * SPREAD[3]
    scores = model.transform(X[4:5])
    X[4, 3] = np.nan
    size = np.abs(model.transform(X)).max()
    assert_allclose(scores, model.transform(X[4:5]), atol=0.05 * size)


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:RobustPCA depends on the scales")
def test_known_noise_is_in_the_units_of_the_table():
    X = table() * np.repeat([1.0, 100.0], 10)
    kwargs = {"noise_std": 0.5, "tol": 1e-3}
    scaled = RobustPCA(scale=True, **kwargs).fit(X)
    assert_array_equal(scaled.low_rank_, RobustPCA(**kwargs).fit(X).low_rank_)


@pytest.mark.edge
def test_constant_and_empty_columns():
    X = table() * SPREAD
    X[:, 2] = 7.0
    X[:, 5] = np.nan
    model = RobustPCA(center="auto", scale="auto", tol=1e-3).fit(X)
    assert np.isfinite(model.low_rank_).all()
    assert_allclose(model.low_rank_[:, 2], 7.0)
