"""Evidence that chaotic series follow the equations of their systems."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.datasets import make_chaotic_series


@pytest.mark.certificate
def test_rows_follow_the_equations(seed):
    x, y = make_chaotic_series("henon", 500, random_state=seed).T
    assert_allclose(x[1:], 1 - 1.4 * x[:-1] ** 2 + y[:-1], rtol=1e-12, atol=1e-12)
    assert_allclose(y[1:], 0.3 * x[:-1])
    z = make_chaotic_series("ikeda", 500, random_state=seed) @ [1, 1j]
    angle = 0.4 - 6 / (1 + abs(z[:-1]) ** 2)
    assert_allclose(z[1:], 1 + 0.9 * z[:-1] * np.exp(1j * angle), rtol=1e-12)

    # compute central differences of the flow
    h = 1e-3
    X = make_chaotic_series("lorenz", 200, step=h, random_state=seed)
    x, y, z = X[1:-1].T
    slope = np.column_stack([16 * (y - x), x * (45.92 - z) - y, x * y - 4 * z])
    error = (X[2:] - X[:-2]) / (2 * h) - slope
    # the error of the differences is of second order
    assert abs(error).max() < 1e-2 * abs(slope).max()


@pytest.mark.invariance
def test_seeds_and_noise():
    X = make_chaotic_series("lorenz", 300, random_state=3)
    assert_array_equal(make_chaotic_series("lorenz", 300, random_state=3), X)
    assert X.shape == (300, 3)
    noisy = make_chaotic_series("lorenz", 300, noise=0.1, random_state=3)
    # there are 300 draws
    assert_allclose((noisy - X).std(axis=0), 0.1 * X.std(axis=0), rtol=0.2)


@pytest.mark.edge
def test_raises_on_invalid_input():
    with pytest.raises(ValueError, match="system"):
        make_chaotic_series("rossler")
    with pytest.raises(ValueError, match="step"):
        make_chaotic_series(step=0)
    assert make_chaotic_series("henon", 1).shape == (1, 2)
