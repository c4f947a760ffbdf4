"""Distance between clusterings: brute force over renamings, and what must not matter."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmoderndata.metrics import clustering_distance


@pytest.mark.oracle
def test_minimum_over_renamings(seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(4, size=50)
    b = rng.integers(4, size=50)
    brute = min((np.array(names)[a] != b).mean() for names in permutations(range(4)))
    assert_allclose(clustering_distance(a, b), brute, rtol=1e-12)


@pytest.mark.oracle
def test_memberships_with_one_label_count_each_object_twice(seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=40)
    b = rng.integers(3, size=40)
    A = np.eye(3)[a]
    B = np.eye(3)[b]
    assert_allclose(
        clustering_distance(A, B) * A.size / 2, clustering_distance(a, b) * 40, rtol=1e-12
    )


@pytest.mark.invariance
def test_names_and_sides_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=40)
    b = rng.integers(5, size=40)
    names = np.array(["x", "y", "z"])
    assert clustering_distance(names[a], b) == clustering_distance(a, b)
    assert_allclose(clustering_distance(b, a), clustering_distance(a, b), rtol=1e-12)
    assert clustering_distance(a, names[(a + 1) % 3]) == 0


@pytest.mark.edge
def test_edge_cases():
    assert clustering_distance([], []) == 0
    assert clustering_distance([0, 1, 2, 3], [0, 0, 0, 0]) == 0.75
    assert clustering_distance([[1, 0]], [[0, 1]]) == 0
    with pytest.raises(ValueError, match="memberships"):
        clustering_distance([0, 1], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="inconsistent"):
        clustering_distance([0, 1], [0, 1, 2])
