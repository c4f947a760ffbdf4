"""Evidence that alignment, distances and variance of kernel matrices are what they say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata.metrics import kernel_alignment, kernel_distances, kernel_variance

K1 = np.array([[2.0, 1.0], [1.0, 2.0]])
IDENTITY = np.eye(2)


@pytest.mark.oracle
def test_alignment_worked_out_by_hand():
    A = kernel_alignment(K1, IDENTITY)
    assert A == pytest.approx(0.8944271910, abs=1e-9)
    apart = np.linalg.norm(K1 / np.linalg.norm(K1) - IDENTITY / np.linalg.norm(IDENTITY))
    assert apart == pytest.approx(np.sqrt(2 - 2 * A), abs=1e-9)
    assert kernel_alignment(K1, [1, -1]) == pytest.approx(0.3162277660, abs=1e-9)
    assert kernel_alignment(K1, ["a", "b"]) == pytest.approx(0.3162277660, abs=1e-9)


@pytest.mark.oracle
def test_centred_alignment_is_a_correlation_of_features(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 30))
    r = np.corrcoef(x, y)[0, 1]
    K = np.multiply.outer(x, x)
    H = np.multiply.outer(y, y)
    assert kernel_alignment(K, H, centered=True) == pytest.approx(r**2, rel=1e-9)
    assert kernel_alignment(K, y, centered=True) == pytest.approx(r**2, rel=1e-9)


@pytest.mark.oracle
def test_distances_of_the_linear_kernel(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3))
    Y = rng.normal(size=(5, 3))
    assert_allclose(kernel_distances(X @ X.T), pairwise_distances(X), atol=1e-7)
    cross = kernel_distances(X @ Y.T, (X**2).sum(axis=1), (Y**2).sum(axis=1), squared=True)
    assert_allclose(cross, pairwise_distances(X, Y, metric="sqeuclidean"), atol=1e-12)
    assert kernel_variance(X @ X.T) == pytest.approx(X.var(axis=0).sum(), rel=1e-12)


@pytest.mark.invariance
def test_scale_shift_and_order(seed):
    X = np.random.default_rng(seed).normal(size=(9, 3))
    K = rbf_kernel(X)
    y = np.arange(9) % 3
    order = np.random.default_rng(seed).permutation(9)
    A = kernel_alignment(K, y, centered=True)
    assert kernel_alignment(5 * K + 2, y, centered=True) == pytest.approx(A, rel=1e-9)
    mixed = kernel_alignment(K[np.ix_(order, order)], y[order], centered=True)
    assert mixed == pytest.approx(A, rel=1e-9)
    assert kernel_variance(K + 3) == pytest.approx(kernel_variance(K), rel=1e-9)


@pytest.mark.recovery
def test_kernel_that_separates_classes_is_better_aligned():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = 5 * np.eye(3)[y] + rng.normal(size=(30, 3))
    values = [
        kernel_alignment(rbf_kernel(X, gamma=g), y, centered=True) for g in (1e-3, 0.1, 100)
    ]
    assert values[1] > max(values[0], values[2])


@pytest.mark.edge
def test_edge_cases():
    assert kernel_alignment(np.zeros((2, 2)), IDENTITY) == 0
    assert kernel_alignment(np.ones((2, 2)), IDENTITY, centered=True) == 0
    assert kernel_variance([[3.0]]) == 0


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("square", lambda: kernel_alignment(np.ones((2, 3)), IDENTITY)),
        ("3 labels for 2 samples", lambda: kernel_alignment(K1, [1, 2, 1])),
        ("K has 2 samples, but target has 3", lambda: kernel_alignment(K1, np.eye(3))),
        ("diag_X is required", lambda: kernel_distances(np.ones((2, 3)))),
        (
            "diag_X has 1 entries",
            lambda: kernel_distances(np.ones((2, 3)), [1.0], [1.0, 1, 1]),
        ),
        ("diag_Y is needed", lambda: kernel_distances(np.ones((2, 3)), [1.0, 1.0])),
    ],
)
def test_raises_on_invalid_input(message, call):
    with pytest.raises(ValueError, match=message):
        call()
