"""Evidence that the generators of slow signals produce what they state."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.datasets import make_logistic_map, make_mixed_sources, make_slow_signal


@pytest.mark.paper
def test_classic_signal_is_the_printed_formula():
    X, slow = make_slow_signal(1000)
    t = np.linspace(0, 2 * np.pi, 1001)[:-1]
    assert_allclose(X[:, 0], np.sin(t) + np.cos(11 * t) ** 2, atol=1e-12)
    assert_allclose(X[:, 1], np.cos(11 * t), atol=1e-12)
    assert_allclose(slow, np.sin(t), atol=1e-12)
    noisy, _ = make_slow_signal(1000, noise=0.5, random_state=0)
    assert_allclose((noisy - X).std(), 0.5, rtol=0.1)
    assert_array_equal(noisy, make_slow_signal(1000, noise=0.5, random_state=0)[0])


@pytest.mark.paper
def test_logistic_map_obeys_its_recursion(seed):
    X, force = make_logistic_map(3000, random_state=seed)
    x = X[:, 0]
    assert_allclose(x[1:], (3.6 + 0.13 * force[:-1]) * x[:-1] * (1 - x[:-1]), rtol=1e-13)
    assert (force.min(), force.max()) == (-1, 1)
    assert ((x > 0) & (x < 1)).all()
    # the driving force is slow, but the series is not
    assert (np.diff(force) ** 2).mean() / force.var() < 1e-3
    assert (np.diff(x) ** 2).mean() / x.var() > 1


@pytest.mark.recovery
def test_sources_are_independent_and_ordered_by_slowness(seed):
    X, sources = make_mixed_sources(random_state=seed)
    assert X.shape == sources.shape == (20_000, 2)
    assert np.abs(sources).max() <= 1
    slowness = (np.diff(sources, axis=0) ** 2).mean(axis=0) / sources.var(axis=0)
    assert_allclose(np.sqrt(slowness[1] / slowness[0]), 2.5, rtol=0.25)
    # each source has about 110 independent stretches
    assert abs(np.corrcoef(sources.T)[0, 1]) < 0.25
    # the mixture loses no information: angle and radius determine the sources
    angle = 1.5 * np.pi * sources[:, 0]
    assert_allclose(np.hypot(*X.T), sources[:, 1] + 3 * sources[:, 0] + 6, rtol=1e-12)
    assert_allclose(np.exp(1j * np.arctan2(X[:, 1], X[:, 0])), np.exp(1j * angle), atol=1e-12)


@pytest.mark.invariance
def test_linear_mixture_is_linear(seed):
    X, sources = make_mixed_sources(500, n_sources=4, mixing="linear", random_state=seed)
    mixing, *_ = np.linalg.lstsq(sources, X, rcond=None)
    assert_allclose(sources @ mixing, X, atol=1e-9)


@pytest.mark.edge
def test_bad_arguments_are_rejected():
    with pytest.raises(ValueError, match="needs n_sources=2"):
        make_mixed_sources(100, n_sources=3)
    with pytest.raises(ValueError, match="n_samples"):
        make_slow_signal(1)
    with pytest.raises(ValueError, match="periods must be a sequence"):
        make_logistic_map(100, periods=[])
    _, force = make_logistic_map(50, periods=[0])
    assert_array_equal(force, 0)
