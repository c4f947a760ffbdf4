"""Eigenvalues of symmetric matrices that repeat up to rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmoderndata._solvers.common.linalg import eigen_range


def nearly_equal(n, seed):
    """A multiple of the identity up to rounding: routines for some eigenvalues fail on many."""
    rng = np.random.default_rng(seed)
    noise = 1e-16 * rng.normal(size=(n, n))
    return rng.uniform(1, 10) * np.eye(n) + noise + noise.T


@pytest.mark.parametrize("n", [10, 40, 70, 100])
@pytest.mark.parametrize("k", [1, 3])
def test_repeated_eigenvalues_are_not_lost(n, k):
    for seed in range(40):
        A = nearly_equal(n, seed)
        for start in (0, n - k):
            values, vectors = eigen_range(A, start, start + k)
            assert_allclose(values, np.full(k, A[0, 0]), rtol=1e-13)
            assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-12)


def test_range_of_distinct_eigenvalues():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    A = (Q * np.arange(1.0, 7)) @ Q.T
    values, vectors = eigen_range(A, 1, 4)
    assert_allclose(values, [2, 3, 4])
    assert_allclose(A @ vectors, vectors * values, atol=1e-12)
