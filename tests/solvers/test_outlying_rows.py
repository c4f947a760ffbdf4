"""Evidence for the distances of rows, along the components and off them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

from skmoderndata._solvers.lowrank.outlying_rows import (
    LEAST_SIZE,
    TAIL,
    OutlierMap,
    _concentrate,
    _mahalanobis,
    deviation_of_new,
    outlyingness,
    row_sizes,
)


@pytest.mark.recovery
def test_a_group_of_a_quarter_is_far_in_some_direction(seed):
    rng = np.random.default_rng(seed)
    T = rng.normal(size=(200, 3)) * [3.0, 2.0, 1.0]
    T[:50, 2] += 12
    far = outlyingness(T, np.random.RandomState(seed))
    assert far[:50].min() > np.median(far[50:])
    distances = _mahalanobis(T, *_concentrate(T, far))
    assert distances[:50].min() > np.sqrt(chi2.isf(TAIL, 3)) > distances[50:].max() - 1


@pytest.mark.invariance
def test_distances_of_gaussian_scores_are_calibrated_and_affine(seed):
    rng = np.random.default_rng(seed)
    T = rng.normal(size=(4000, 4))
    start = outlyingness(T, np.random.RandomState(seed))
    squares = _mahalanobis(T, *_concentrate(T, start)) ** 2
    assert 0.015 < np.mean(squares > chi2.ppf(0.975, 4)) < 0.04

    A = rng.normal(size=(4, 4)) + 3 * np.eye(4)
    turned = T @ A + 7.0
    assert_allclose(
        _mahalanobis(turned, *_concentrate(turned, start)) ** 2, squares, rtol=1e-6
    )


@pytest.mark.edge
def test_scores_that_do_not_vary():
    rng = np.random.RandomState(0)
    for T in (np.zeros((9, 0)), np.zeros((9, 2)), np.ones((1, 1))):
        assert_array_equal(outlyingness(T, rng), np.zeros(len(T)))
        assert_array_equal(_mahalanobis(T, *_concentrate(T, np.zeros(len(T)))), 0.0)


@pytest.mark.recovery
def test_sizes_match_most_cells(seed):
    rng = np.random.default_rng(seed)
    residual = rng.normal(size=(400, 60))
    size, logarithm = row_sizes(residual, 3)
    assert 0.95 < np.median(size) / np.sqrt(60 / 57) < 1.05
    assert 0.9 < logarithm.std() < 1.1

    # if a quarter of the cells are broken, the cells are at fault; if all are broken, the row is
    broken = np.where(np.arange(60) < 15, 1e9, residual)
    assert np.median(row_sizes(broken, 0)[0]) < LEAST_SIZE
    assert row_sizes(4 * residual, 0)[0].min() > LEAST_SIZE

    residual[0] = np.nan
    assert row_sizes(residual, 3)[0][0] == pytest.approx(1.0, abs=0.01)


@pytest.mark.oracle
def test_deviation_of_new_rows_matches_a_regression(seed):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(30, 2)))[0]
    s = np.array([9.0, 4.0])
    new = np.array([[30.0, 0.0], [0.0, 10.0], [0.0, 0.0]])
    fits = [np.linalg.lstsq(U * s, rng.normal(size=30), rcond=None)[0] for _ in range(4000)]
    errors = rng.normal(size=(3, 4000)) - new @ np.transpose(fits)
    assert_allclose(deviation_of_new(new, s), errors.std(axis=1), rtol=0.05)


@pytest.mark.edge
def test_rows_with_too_few_cells_are_at_no_distance():
    outlier_map = OutlierMap(np.full(2, 9.0), np.eye(2), np.ones(2), 0.0, 1.0)
    residual = np.array([[np.nan] * 5, [np.nan, np.nan, np.nan, 9.0, 9.0]])
    assert_array_equal(outlier_map.distances(np.zeros((2, 2)), residual)[:, 0], 0.0)
    assert outlier_map.distances(np.zeros((1, 2)), np.zeros((1, 5)))[0, 0] > 2
