"""Evidence that optimal_rank keeps the singular values that the paper says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from skmoderndata.metrics import optimal_rank
from skmoderndata.metrics._rank import noise_median, optimal_threshold


def table(shape, rank, sigma, seed):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    return L + sigma * rng.normal(size=shape), L


@pytest.mark.paper
@pytest.mark.parametrize(
    ("ratio", "coefficient"),
    [
        (0.05, 1.5194),
        (0.1, 1.6089),
        (0.25, 1.8371),
        (0.5, 2.1711),
        (0.75, 2.5011),
        (1.0, 2.8582),
    ],
)
def test_coefficients_of_the_published_table(ratio, coefficient):
    """Gavish and Donoho 2014, table IV, to its digits."""
    measured = optimal_threshold(ratio) / np.sqrt(noise_median(ratio))
    assert_allclose(measured, coefficient, rtol=5e-4)


@pytest.mark.paper
def test_square_tables_with_known_noise():
    assert_allclose(optimal_threshold(1.0), 4 / np.sqrt(3), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("ratio", [0.2, 1.0])
def test_median_of_singular_values_of_noise(ratio, seed):
    noise = np.random.default_rng(seed).normal(size=(int(1500 * ratio), 1500))
    median = np.median(linalg.svdvals(noise)) / np.sqrt(1500)
    assert_allclose(np.sqrt(noise_median(ratio)), median, rtol=5e-3)


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(300, 300), (80, 300)])
def test_no_other_threshold_has_a_smaller_error(shape, seed):
    """Mean error of 20 tables, on components near the limit of detection."""
    ratio = min(shape) / max(shape)
    multiples = np.array([0.8, 0.9, 1.0, 1.1, 1.25])
    errors = np.zeros(len(multiples))
    rng = np.random.default_rng(seed)
    for _ in range(20):
        # at the least favourable strength, both choices have the same cost
        U = linalg.qr(rng.normal(size=(shape[0], 8)), mode="economic")[0]
        V = linalg.qr(rng.normal(size=(shape[1], 8)), mode="economic")[0]
        strength = rng.uniform(0.7, 2.2, 8) * ratio**0.25 * np.sqrt(max(shape))
        L = (U * strength) @ V.T
        Q, s, Zt = linalg.svd(L + rng.normal(size=shape), full_matrices=False)
        for i, multiple in enumerate(multiples):
            kept = s > multiple * optimal_threshold(ratio) * np.sqrt(max(shape))
            errors[i] += linalg.norm((Q * (s * kept)) @ Zt - L) ** 2
    assert errors.argmin() in (1, 2, 3)
    assert errors[2] <= 1.02 * errors.min()


@pytest.mark.recovery
@pytest.mark.parametrize("shape", [(200, 40), (40, 200), (100, 100)])
@pytest.mark.parametrize("noise_std", [None, 1.0])
def test_planted_rank(shape, noise_std, seed):
    for i in range(10):
        s = linalg.svdvals(table(shape, 4, 1.0, 10 * seed + i)[0])
        assert optimal_rank(s, shape, noise_std=noise_std) == 4


@pytest.mark.invariance
def test_units_order_and_orientation(seed):
    X = table((90, 50), 3, 0.5, seed)[0]
    s = linalg.svdvals(X)
    for scale in (1e-90, 1.0, 1e90):
        assert optimal_rank(scale * s[::-1], (90, 50)) == 3
        assert optimal_rank(scale * s[:10], (50, 90), noise_std=0.5 * scale) == 3


@pytest.mark.edge
def test_without_noise_and_without_signal(seed):
    assert optimal_rank(linalg.svdvals(table((60, 40), 5, 0.0, seed)[0]), (60, 40)) == 5
    assert optimal_rank(np.zeros(4), (4, 9)) == 0
    assert optimal_rank([3.0], (1, 1), noise_std=0.0) == 1


@pytest.mark.edge
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], (5, 3)), "3 singular values, got 2.*noise_std"),
        (([1.0, 2.0, 1.0, 1.0], (5, 3), 1.0), "got 4"),
        (([-1.0, 2.0, 1.0], (5, 3)), "not be negative"),
        (([[1.0, 2.0]], (5, 2)), "one dimension"),
        (([1.0, np.nan], (5, 2)), "NaN"),
        (([1.0, 2.0], (5, 2, 3)), "two positive numbers"),
    ],
)
def test_raises_on_invalid_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        optimal_rank(*arguments)
