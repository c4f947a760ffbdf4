"""Evidence that false neighbours and Cao's method count the values that describe a state."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.datasets import make_chaotic_series
from skmoderndata.metrics import cao_dimension, false_nearest_neighbors
from skmoderndata.preprocessing import TimeDelayEmbedding
from tests.oracles import embedding_dimension as plain

# Lag of the first column of each system, and the dimension that the papers find.
SYSTEMS = {"lorenz": (5, 3), "henon": (1, 2), "ikeda": (1, 4)}


def noise(seed, n=1500):
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.oracle
@pytest.mark.parametrize("lag", [1, 3])
def test_curves_match_loops_over_pairs(lag, seed):
    x = make_chaotic_series("henon", 120, noise=0.05, random_state=seed)[:, 0]
    _, fractions = false_nearest_neighbors(x, lag=lag, max_dim=4)
    expected = [plain.false_fraction(x, lag, d) for d in range(1, 5)]
    assert_allclose(fractions, expected, atol=1e-12)

    means = np.array([plain.cao_means(x, lag, d) for d in range(1, 6)])
    _, e1, e2 = cao_dimension(x, lag=lag, max_dim=4)
    assert_allclose(e1, means[1:, 0] / means[:-1, 0], rtol=1e-9)
    assert_allclose(e2, means[1:, 1] / means[:-1, 1], rtol=1e-9)


@pytest.mark.paper
@pytest.mark.parametrize("system", SYSTEMS)
def test_dimensions_of_the_papers(system, seed):
    """Kennel, Brown and Abarbanel 1992, and Cao 1997: Lorenz 3, Henon 2, Ikeda 4."""
    lag, expected = SYSTEMS[system]
    x = make_chaotic_series(system, 4000, random_state=seed)[:, 0]
    dimension, fractions = false_nearest_neighbors(x, lag=lag, max_dim=6)
    assert dimension == expected
    assert fractions[0] > 0.5
    dimension, e1, e2 = cao_dimension(x, lag=lag, max_dim=6)
    assert dimension == expected
    assert abs(e2 - 1).max() > 0.1
    assert e1[0] < 0.01


@pytest.mark.recovery
@pytest.mark.parametrize("n_lags", ["fnn", "cao"])
def test_embedding_uses_the_dimension(n_lags, seed):
    for system, (lag, expected) in SYSTEMS.items():
        X = make_chaotic_series(system, 3000, random_state=seed)[:, :1]
        model = TimeDelayEmbedding(n_lags, lag=lag, max_n_lags=6).fit(X)
        assert model.n_lags_ == expected
        assert model.transform(X).shape == (3000, expected)
        assert len(model.get_feature_names_out()) == expected
        assert_array_equal(model.inverse_transform(model.transform(X)).shape, X.shape)
        given = TimeDelayEmbedding(expected, lag=lag).fit(X)
        assert given.n_lags_curve_ is None
        assert_array_equal(given.transform(X), model.transform(X))
        assert_array_equal(given.complete_rows(X), model.complete_rows(X))

        # the curve matches the function
        x = X[:, 0]
        if n_lags == "fnn":
            _, curve = false_nearest_neighbors(x, lag=lag, max_dim=6)
        else:
            _, curve, _ = cao_dimension(x, lag=lag, max_dim=6)
        assert_allclose(model.n_lags_curve_, curve, rtol=1e-12)


@pytest.mark.invariance
def test_scale_sequences_and_gaps(seed):
    x = make_chaotic_series("henon", 900, random_state=seed)[:, 0]
    _, fractions = false_nearest_neighbors(x, max_dim=4)
    _, moved = false_nearest_neighbors(1e6 * x - 3e6, max_dim=4)
    assert_allclose(moved, fractions, atol=2 / 900)  # rounding may change a neighbour
    # a constant feature adds no information
    with_constant = np.column_stack([x, np.full(900, 7.0)])
    assert_array_equal(false_nearest_neighbors(with_constant, max_dim=4)[1], fractions)

    # windows cross neither the border of a sequence nor a missing row
    ids = np.repeat([0, 1, 2], 300)
    _, apart = false_nearest_neighbors(x, max_dim=4, sequence_ids=ids)
    separate = np.concatenate([np.append(part, np.nan) for part in np.split(x, 3)])
    assert_array_equal(false_nearest_neighbors(separate, max_dim=4)[1], apart)
    assert_array_equal(
        cao_dimension(separate, max_dim=4)[1],
        cao_dimension(x, max_dim=4, sequence_ids=ids)[1],
    )


@pytest.mark.edge
def test_noise_has_no_dimension(seed):
    x = noise(seed)
    dimension, fractions = false_nearest_neighbors(x, max_dim=8)
    assert dimension is None
    assert fractions.min() > 0.05
    dimension, _, e2 = cao_dimension(x, max_dim=6)
    assert dimension is None
    assert abs(e2 - 1).max() < 0.1

    # the estimator warns, and continues
    with pytest.warns(UserWarning, match="no number of rows up to 8 describes a state"):
        model = TimeDelayEmbedding("fnn", max_n_lags=8).fit(x[:, None])
    assert model.n_lags_ == fractions.argmin() + 1
    with pytest.warns(UserWarning, match="as in noise"):
        TimeDelayEmbedding("cao", max_n_lags=8).fit(x[:, None])


@pytest.mark.edge
def test_constant_and_periodic_series():
    constant = np.full(100, 3.0)
    for function in (false_nearest_neighbors, cao_dimension):
        with pytest.raises(ValueError, match="the series is constant"):
            function(constant)
    for n_lags in ("fnn", "cao"):
        with pytest.warns(UserWarning, match="all features are constant"):
            assert TimeDelayEmbedding(n_lags).fit(constant[:, None]).n_lags_ == 1

    # two values show whether a sine rises or falls, even with a period of four rows
    sine = np.sin(np.arange(2000) / 7.3)
    assert false_nearest_neighbors(sine, lag=11)[0] == 2
    assert cao_dimension(sine, lag=11)[0] == 2
    assert false_nearest_neighbors(np.tile([0, 1, 2, 1.0], 100))[0] == 2


@pytest.mark.edge
def test_short_series():
    x = noise(0, 12)
    _, fractions = false_nearest_neighbors(x, max_dim=10)
    assert len(fractions) == 2  # ten windows of two values have a next value
    _, e1, _ = cao_dimension(x, max_dim=10)
    assert len(e1) == 1
    with pytest.raises(ValueError, match="needs 10 windows of 1 values at lag=3"):
        false_nearest_neighbors(x, lag=3)
    with pytest.raises(ValueError, match="needs 10 windows of 2 values at lag=2"):
        cao_dimension(x, lag=2)
    for n_lags, least in (("fnn", 1), ("cao", 2)):
        with pytest.raises(ValueError, match=f"needs 10 windows of {least} rows at lag=3"):
            TimeDelayEmbedding(n_lags, lag=3).fit(x[:, None])
    with pytest.raises(ValueError, match="covers 31 rows"):
        TimeDelayEmbedding("fnn", lag=30).fit(x[:, None])
    with pytest.raises(ValueError, match="infinity"):
        false_nearest_neighbors([1.0, np.inf])
    with pytest.raises(ValueError, match="n_lags"):
        TimeDelayEmbedding("all").fit(x[:, None])


@pytest.mark.recovery
def test_lag_and_number_together():
    X = make_chaotic_series("lorenz", 5000, random_state=0)[:, :1]
    model = TimeDelayEmbedding(n_lags="fnn", lag="auto", lag_rule="mutual_information").fit(X)
    assert 3 <= model.lag_ <= 10
    assert model.n_lags_ == 3
