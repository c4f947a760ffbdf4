"""Evidence that make_boolean_sources generates the data it describes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.datasets import make_boolean_sources


@pytest.mark.oracle
def test_rows_are_the_or_of_their_sources(seed):
    _, clean, sources, assignments = make_boolean_sources(40, 24, 4, random_state=seed)
    for row, members in zip(clean, assignments, strict=True):
        expected = np.zeros(24, dtype=bool)
        for k in np.flatnonzero(members):
            expected |= sources[k]
        assert_array_equal(row, expected)


@pytest.mark.recovery
def test_noise_is_the_requested_mixture(seed):
    for noise, rate in ((0.3, 0.5), (0.6, 0.2), (1.0, 0.9)):
        X, clean, _, _ = make_boolean_sources(
            700, 60, noise=noise, noise_rate=rate, random_state=seed
        )
        # allow five standard errors of a fraction of at least 10000 bits
        assert_allclose(X[clean].mean(), 1 - noise + noise * rate, atol=0.025)
        assert_allclose(X[~clean].mean(), noise * rate, atol=0.025)


@pytest.mark.paper
def test_published_set_up():
    """Streich et al. (2009): 350 rows, 50 for each of the 7 sets of up to three sources."""
    _, _, sources, assignments = make_boolean_sources(350, 60, 3, random_state=0)
    _, count = np.unique(assignments, axis=0, return_counts=True)
    assert_array_equal(count, [50] * 7)
    shared = sources.astype(int) @ sources.T
    assert shared[0, 1] == shared[1, 2] > 0 == shared[0, 2]
    disjoint = make_boolean_sources(overlap=0.0, random_state=0)[2].astype(int)
    assert_array_equal(disjoint @ disjoint.T, 20 * np.eye(3))


@pytest.mark.recovery
@pytest.mark.parametrize("overlap", [0.0, 0.1, 0.25, 0.4, 0.49])
def test_sources_have_equal_size_and_features_of_their_own(overlap):
    for k, p in ((1, 5), (2, 20), (5, 60), (10, 200)):
        sources = make_boolean_sources(3, p, k, overlap=overlap, random_state=0)[2]
        assert len(set(sources.sum(axis=1))) == 1
        assert (sources[:, sources.sum(axis=0) == 1].sum(axis=1) > 0).all()


@pytest.mark.recovery
def test_many_sources_are_drawn_uniformly(seed):
    """More sets than rows: sizes in proportion to the number of sets of that size."""
    Z = make_boolean_sources(3000, 60, 30, max_assignments=3, random_state=seed)[3]
    share = np.bincount(Z.sum(axis=1), minlength=4) / 3000
    assert_allclose(share, np.array([0, 30, 435, 4060]) / 4525, atol=0.03)
    assert_allclose(Z.mean(axis=0), Z.mean(), atol=0.04)  # allow five standard errors


@pytest.mark.invariance
def test_reproducible():
    first, second = (make_boolean_sources(noise=0.4, random_state=3) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)


@pytest.mark.edge
def test_border_cases():
    X, clean, sources, Z = make_boolean_sources(1, 1, 1)
    assert all(M.all() for M in (X, clean, sources, Z))
    Z = make_boolean_sources(64, 12, 3, allow_empty=True)[3]
    assert_array_equal(np.bincount(Z.sum(axis=1)), [8, 24, 24, 8])
    assert make_boolean_sources(10, 12, 3, max_assignments=1)[3].sum(axis=1).max() == 1
    sources = make_boolean_sources(10, 20, 2, size=4, overlap=0)[2]
    assert_array_equal(sources.sum(axis=0), [1] * 8 + [0] * 12)
    assert make_boolean_sources(5, 9, 9)[2].sum() == 9
    assert make_boolean_sources(5, 9, 8, overlap=0.99)[2].any(axis=1).all()


@pytest.mark.edge
def test_sources_that_do_not_fit_are_rejected():
    with pytest.raises(ValueError, match="need 12 features, but n_features=10"):
        make_boolean_sources(5, 10, 3, size=4, overlap=0)
    with pytest.raises(ValueError, match="n_features=2"):
        make_boolean_sources(5, 2, 3)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("name", "value"), [("overlap", 1.0), ("noise", 1.5), ("noise_rate", -0.1), ("size", 0)]
)
def test_bad_parameters_are_rejected(name, value):
    with pytest.raises(ValueError, match=name):
        make_boolean_sources(**{name: value})
