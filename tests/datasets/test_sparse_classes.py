"""The generator of sparse classes keeps its promises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.datasets import make_sparse_classes


def test_truth_separates_with_the_margin(seed):
    X, y, coef = make_sparse_classes(80, 300, n_informative=4, margin=0.3, random_state=seed)
    assert X.shape == (80, 300)
    assert_allclose(np.linalg.norm(coef), 1)
    assert np.count_nonzero(coef) == 4
    distance = np.where(y == 1, 1, -1) * (X @ coef)
    assert distance.min() >= 0.3
    # the nearest samples of both classes are equally far from the hyperplane
    assert_allclose(distance[y == 1].min(), distance[y == 0].min())


def test_other_columns_are_noise(seed):
    X, y, coef = make_sparse_classes(4000, 30, n_informative=3, random_state=seed)
    noise = X[:, coef == 0]
    assert np.abs(noise[y == 1].mean(axis=0) - noise[y == 0].mean(axis=0)).max() < 0.15
    assert_allclose(noise.std(axis=0), 1, atol=0.06)


def test_shares_and_flips(seed):
    X, y, coef = make_sparse_classes(3000, 10, weight=0.2, flip_y=0.0, random_state=seed)
    assert 0.15 < y.mean() < 0.25
    X, y, coef = make_sparse_classes(3000, 10, flip_y=0.1, random_state=seed)
    wrong = (y == 1) != (X @ coef > 0)
    assert 0.07 < wrong.mean() < 0.13


def test_reproducible_and_in_order():
    first, again = (make_sparse_classes(20, 50, random_state=3) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert_array_equal(a, b)
    _, _, coef = make_sparse_classes(20, 50, n_informative=2, shuffle=False, random_state=3)
    assert np.flatnonzero(coef).tolist() == [0, 1]


def test_edge_cases():
    _, y, _ = make_sparse_classes(2, 1, n_informative=1, weight=0.001, random_state=0)
    assert sorted(y) == [0, 1]
    with pytest.raises(ValueError, match="n_informative=3"):
        make_sparse_classes(10, 2, n_informative=3)
    with pytest.raises(ValueError, match="margin"):
        make_sparse_classes(margin=-1.0)
