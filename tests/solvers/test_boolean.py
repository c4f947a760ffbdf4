"""Packed Boolean rows agree with plain Boolean arithmetic."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmoderndata._solvers.boolean import hamming_distances, pack_rows, unpack_rows


@pytest.mark.parametrize("p", [1, 7, 8, 63, 64, 65, 130])
def test_packing_can_be_undone(p, seed):
    X = np.random.default_rng(seed).uniform(size=(9, p)) < 0.4
    words = pack_rows(X)
    assert words.shape == (9, -(-p // 64))
    assert_array_equal(unpack_rows(words, p), X)


@pytest.mark.parametrize("p", [1, 64, 200])
def test_hamming_distance_counts_differing_bits(p, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.uniform(size=(6, p)) < 0.5, rng.uniform(size=(4, p)) < 0.5
    expected = (A[:, None] != B[None]).sum(axis=2)
    assert_array_equal(hamming_distances(pack_rows(A), pack_rows(B)), expected)
