"""Evidence that intrinsic_dimension measures what it says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist, squareform

from skmoderndata.metrics import _dimension, intrinsic_dimension


@pytest.mark.oracle
def test_moments_pair_by_pair(seed):
    X = np.random.default_rng(seed).normal(size=(20, 4))
    squares = [np.sum((X[i] - X[j]) ** 2) for i in range(20) for j in range(i)]
    assert_allclose(intrinsic_dimension(X), 2 * np.mean(squares) ** 2 / np.var(squares))
    d = [np.abs(X[i] - X[j]).sum() for i in range(20) for j in range(i)]
    wanted = np.mean(d) ** 2 / (2 * np.var(d))
    assert_allclose(intrinsic_dimension(X, metric="manhattan"), wanted)
    square = squareform(pdist(X, "cityblock"))
    assert_allclose(intrinsic_dimension(square, metric="precomputed"), wanted)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "manhattan", "chebyshev", "seuclidean", "mahalanobis"]
)
def test_drawn_pairs_have_the_distances_of_the_metric(metric, seed, monkeypatch):
    X = np.random.default_rng(seed).normal(size=(30, 4))
    i, j = np.triu_indices(30, 1)  # use each pair once, instead of drawing pairs at random

    class Pairs:
        def randint(self, low, high=None, size=None):
            return i if high is None else j - i

    monkeypatch.setattr(_dimension, "check_random_state", lambda _: Pairs())
    monkeypatch.setattr(_dimension, "ALL_PAIRS", 2)
    drawn = intrinsic_dimension(X, metric=metric, n_pairs=435)
    monkeypatch.undo()
    assert_allclose(drawn, intrinsic_dimension(X, metric=metric))


@pytest.mark.recovery
@pytest.mark.parametrize("dimension", [1, 3, 10, 30])
def test_dimension_of_gaussians(dimension, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, dimension))
    Q = np.linalg.qr(rng.normal(size=(40, dimension)))[0]
    # there are 1,500 samples
    assert_allclose(intrinsic_dimension(X @ Q.T), dimension, rtol=0.15)
    scales = 0.5 ** np.arange(dimension)
    wanted = (scales**2).sum() ** 2 / (scales**4).sum()
    assert_allclose(intrinsic_dimension(X * scales), wanted, rtol=0.15)


@pytest.mark.invariance
def test_scale_position_and_pairs(seed):
    X = np.random.default_rng(seed).normal(size=(300, 5))
    found = intrinsic_dimension(X)
    assert_allclose(intrinsic_dimension(1e60 * X), found)
    assert_allclose(intrinsic_dimension(X + 100), found, rtol=1e-8)
    for metric in ("euclidean", "chebyshev", lambda a, b: np.abs(a - b).max()):
        some = intrinsic_dimension(X, metric=metric, n_pairs=20_000, random_state=seed)
        assert_allclose(some, intrinsic_dimension(X, metric=metric), rtol=0.1)
    assert_allclose(
        intrinsic_dimension(np.tile(X, (10, 1)), random_state=0), found, rtol=0.05
    )  # there are more pairs than for 2,000 samples, so pairs are drawn


@pytest.mark.edge
def test_degenerate_data():
    assert intrinsic_dimension(np.eye(5)) == np.inf  # all distances are equal
    with pytest.raises(ValueError, match="samples that differ"):
        intrinsic_dimension(np.ones((4, 2)))
    with pytest.raises(ValueError, match="square matrix of distances"):
        intrinsic_dimension(np.ones((4, 2)), metric="precomputed")
