"""Evidence that matrices, cached rows and expansions share one Gaussian kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._kernelized.expansion import Expansion
from skmoderndata._kernelized.gaussian import gaussian, opposite, packed
from skmoderndata._kernelized.gram import resolve_kernel


def tables(seed, p, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 1.0, size=(40, p)).astype(dtype)
    Y = rng.normal(3.0, 1.0, size=(25, p)).astype(dtype)
    return X, Y


@pytest.mark.oracle
@pytest.mark.parametrize("p", [1, 20, 64, 65, 200])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_routes_agree_with_the_formula(p, dtype, seed):
    X, Y = tables(seed, p, dtype)
    gamma = 1.0 / p
    differences = X.astype(np.float64)[:, None] - Y.astype(np.float64)
    expected = np.exp(-gamma * (differences**2).sum(axis=2))

    both = np.vstack([X, Y])
    write = resolve_kernel("rbf", both, gamma=gamma).writer(both)
    expansion = Expansion(resolve_kernel("rbf", Y, gamma=gamma), Y, np.eye(len(Y)))
    found = {
        "matrix": gaussian(X, Y, gamma=gamma),
        "writer": write(np.arange(40), slice(40, None), np.empty((40, 25))),
        "expansion": expansion.kernel(X),
        "values": expansion.values(X),
    }
    for route, K in found.items():
        # the matrix of single-precision samples is in single precision
        rtol = 1e-6 if K.dtype == np.float32 else 1e-12
        assert_allclose(K, expected, rtol=rtol, err_msg=route)


@pytest.mark.invariance
def test_matrix_of_one_table_is_symmetric_with_ones_on_the_diagonal(seed):
    X, _ = tables(seed, 7)
    K = gaussian(X, gamma=0.3)
    assert_array_equal(K, K.T)
    assert_array_equal(K.diagonal(), 1.0)
    assert_allclose(gaussian(X, X.copy(), gamma=0.3), K, rtol=1e-13)


@pytest.mark.oracle
def test_packed_rows_times_their_opposites_are_the_exponents(seed):
    X, Y = tables(seed, 5)
    origin = Y.mean(axis=0)
    given = X.copy()
    E = opposite(packed(X, 0.4, origin)) @ packed(Y, 0.4, origin).T
    assert_allclose(E, -0.4 * ((X[:, None] - Y) ** 2).sum(axis=2), rtol=1e-12)
    assert_array_equal(X, given)


@pytest.mark.edge
def test_no_samples_and_a_width_without_end():
    X, Y = tables(0, 3)
    assert gaussian(X, Y[:0], gamma=1.0).shape == (40, 0)
    assert gaussian(X[:0], Y, gamma=1.0).shape == (0, 25)
    assert_array_equal(gaussian(X, Y, gamma=0.0), np.ones((40, 25)))
