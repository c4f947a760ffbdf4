"""Compiled passes of kernel k-means against the passes on sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata._solvers.kernel.kernel_k_means import (
    kernel_k_means,
    plus_plus_start,
    stored_kernel,
)


def kernels(seed, n=60, weighted=True):
    rng = np.random.default_rng(seed)
    K = rbf_kernel(rng.normal(size=(n, 3)), gamma=0.5)
    w = rng.uniform(0.1, 1.0, size=n) if weighted else np.ones(n)
    stored = stored_kernel(K, np.diagonal(K).copy(), w)
    return stored, stored._replace(matrix=None)


@pytest.mark.oracle
@pytest.mark.parametrize("local_search", [False, True])
def test_compiled_passes_match_the_passes_on_sums(seed, local_search):
    stored, plain = kernels(seed, weighted=seed % 2 == 0)
    labels = np.random.default_rng(seed).integers(5, size=60)
    settings = {"max_iter": 100, "local_search": local_search}
    fast = kernel_k_means(stored, labels, 5, **settings)
    slow = kernel_k_means(plain, labels, 5, **settings)
    assert_array_equal(fast.labels, slow.labels)
    assert_array_equal(fast.members, slow.members)
    assert_allclose(fast.inner, slow.inner, rtol=1e-10)
    assert_allclose(fast.objective, slow.objective, rtol=1e-10)
    assert (fast.n_iter, fast.converged) == (slow.n_iter, slow.converged)


@pytest.mark.oracle
def test_compiled_passes_fill_empty_clusters_alike(seed):
    stored, plain = kernels(seed)
    labels = np.zeros(60, int)
    fast = kernel_k_means(stored, labels, 6, max_iter=100)
    slow = kernel_k_means(plain, labels, 6, max_iter=100)
    assert_array_equal(fast.labels, slow.labels)
    assert len(np.unique(fast.labels)) == 6


@pytest.mark.oracle
@pytest.mark.parametrize("k", [1, 2, 7])
def test_compiled_draws_match_the_draws_on_sums(seed, k):
    stored, plain = kernels(seed)
    fast, slow = (np.random.RandomState(seed) for _ in range(2))
    assert_array_equal(plus_plus_start(stored, k, fast), plus_plus_start(plain, k, slow))
    assert fast.uniform() == slow.uniform()
