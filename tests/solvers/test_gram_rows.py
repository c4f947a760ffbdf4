"""Evidence that rows of a Gram matrix that are computed on demand are the right ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.codes.gram_rows import (
    all_rows,
    ask_row,
    enlarged,
    forget_rows,
    no_rows,
    same_entries,
)


@pytest.mark.oracle
@pytest.mark.parametrize("capacity", [1, 3, 64])
def test_rows_match_the_masked_gram_matrix(capacity, seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 12)
    k = rng.integers(1, 20)
    D = rng.normal(size=(k, n))
    G, row_of = no_rows(k, capacity)
    for _ in range(3):
        known = (rng.uniform(size=n) < 0.6).astype(float)
        scale = rng.uniform(0.5, 2, size=k) * (rng.uniform(size=k) < 0.8)
        expected = scale[:, None] * (D @ np.diag(known) @ D.T) * scale
        forget_rows(row_of)
        asked = rng.integers(k, size=2 * k)
        for number, j in enumerate(asked):
            args = (j, np.ascontiguousarray(D.T), known, scale)
            room = (np.empty(n), np.empty(n, np.int64))
            if not ask_row(*args, G, row_of, room):
                assert row_of[k] == len(G)
                G = enlarged(G)
                assert ask_row(*args, G, row_of, room)
            assert row_of[k] == len(set(asked[: number + 1])) <= len(G) <= max(k, 1)
            for i in set(asked[: number + 1]):
                assert_allclose(G[row_of[i]], expected[i], rtol=1e-12, atol=1e-12)
        missing = np.setdiff1d(np.arange(k), asked)
        assert (row_of[missing] == -1).all()


@pytest.mark.edge
def test_full_gram_matrix_is_used_unchanged():
    D = np.random.default_rng(0).normal(size=(5, 3))
    gram = D @ D.T
    G, row_of = all_rows(gram)
    for j in (3, 0, 4, 3):
        args = (j, np.ascontiguousarray(D.T), np.zeros(3), np.zeros(5), G, row_of)
        assert ask_row(*args, (np.empty(3), np.empty(3, np.int64)))
        assert G.ctypes.data == gram.ctypes.data
        assert row_of[j] == j
    assert_array_equal(G, D @ D.T)


@pytest.mark.edge
def test_masks_are_compared():
    assert same_entries(np.array([1.0, 0, 1]), np.array([1.0, 0, 1]))
    assert not same_entries(np.array([1.0, 0, 1]), np.array([1.0, 0, 0]))
