"""Packed Boolean rows agree with plain Boolean arithmetic."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmoderndata._solvers.boolean_data.boolean import (
    assignment_sets,
    boolean_product,
    count_assignment_sets,
    hamming_distances,
    nearest_patterns,
    pack_rows,
    unpack_rows,
)


@pytest.mark.parametrize("p", [1, 7, 8, 63, 64, 65, 130])
def test_packing_can_be_undone(p, seed):
    X = np.random.default_rng(seed).uniform(size=(9, p)) < 0.4
    words = pack_rows(X)
    assert words.shape == (9, -(-p // 64))
    assert_array_equal(unpack_rows(words, p), X)


@pytest.mark.parametrize("p", [1, 64, 200])
def test_hamming_distance_counts_differing_bits(p, seed):
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(6, p)) < 0.5
    B = rng.uniform(size=(4, p)) < 0.5
    expected = (A[:, None] != B[None]).sum(axis=2)
    assert_array_equal(hamming_distances(pack_rows(A), pack_rows(B)), expected)


def test_sets_are_all_subsets_smallest_first():
    sets = assignment_sets(4, 3)
    assert len(sets) == count_assignment_sets(4, 3) == 15
    assert len(np.unique(sets, axis=0)) == 15
    assert_array_equal(np.sort(sets.sum(axis=1)), sets.sum(axis=1))
    assert not sets[0].any()
    assert len(assignment_sets(4, 3, allow_empty=False)) == 14


def test_boolean_product_and_nearest_patterns(seed):
    rng = np.random.default_rng(seed)
    Z = rng.uniform(size=(30, 3)) < 0.5
    U = rng.uniform(size=(3, 70)) < 0.4
    X = boolean_product(Z, U)
    assert_array_equal(X, (Z[:, :, None] & U[None]).any(axis=1))
    patterns = boolean_product(assignment_sets(3, 3), U)
    index, errors = nearest_patterns(X, None, patterns)
    assert_array_equal(patterns[index], X)
    assert_array_equal(errors, 0)
    observed = rng.uniform(size=X.shape) < 0.5
    noisy = X ^ (rng.uniform(size=X.shape) < 0.2)
    index, errors = nearest_patterns(noisy, observed, patterns)
    brute = ((noisy[:, None] != patterns[None]) & observed[:, None]).sum(axis=2)
    assert_array_equal(errors, brute.min(axis=1))
    assert_array_equal(index, brute.argmin(axis=1))
