"""Evidence that the inner loops of the coders compute what numpy computes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmoderndata._solvers.codes.products import (
    add_rows,
    inner,
    largest_entry,
    low_bits,
    residual_sq,
)


@pytest.mark.oracle
@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 12])
def test_sums_match_numpy(count, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(15, 6))
    x = rng.normal(size=6)
    u = rng.normal(size=12)
    v = rng.normal(size=12)
    at = rng.integers(15, size=12)
    assert_allclose(inner(u, v, count), u[:count] @ v[:count], rtol=1e-12, atol=1e-13)
    expected = u[:count] @ rows[at[:count]]
    out = x.copy()
    add_rows(out, -2.0, u, rows, at, count)
    assert_allclose(out, x - 2 * expected, rtol=1e-12, atol=1e-12)
    known = np.array([1.0, 0, 1, 1, 0, 1])
    r = np.empty(6)
    total = residual_sq(x, known, rows, at, u, count, r)
    assert_allclose(r, (x - expected) * known, rtol=1e-12, atol=1e-12)
    assert_allclose(total, np.sum(r**2), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("k", [1, 2, 7, 64, 1000])
def test_the_largest_magnitude_comes_first(k, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=k)
    low = low_bits(k)
    assert low >= k - 1
    assert largest_entry(z.view(np.int64), k, low) == np.abs(z).argmax()
    z[rng.integers(k, size=3)] = 9.0
    z[rng.integers(k)] = -np.nextafter(9.0, 10.0)  # the values are equal up to rounding
    assert largest_entry(z.view(np.int64), k, low) == np.flatnonzero(np.abs(z) > 8.9)[0]
