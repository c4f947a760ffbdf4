"""Evidence that recovery by hard thresholding does what the papers say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from skmoderndata._solvers.codes.signal_blocks import prepare_atoms, to_dense
from skmoderndata._solvers.codes.thresholding import METHODS, hard_thresholding
from skmoderndata.sparse_coding import SparseRecovery, phase_transition
from tests.oracles import compressed_sensing as naive


def planted(seed, m=60, n=120, s=8, n_signals=3):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(m, n))
    codes = np.zeros((n_signals, n))
    for row in codes:
        row[rng.choice(n, s, replace=False)] = rng.choice([-1, 1], s) * rng.uniform(1, 2, s)
    return Phi, codes


@pytest.mark.oracle
@pytest.mark.parametrize("s", [1, 6, 14])
def test_textbook_hard_thresholding_pursuit(s, seed):
    Phi, codes = planted(seed, m=40, n=80, s=s, n_signals=1)
    for y in (Phi @ codes[0], Phi @ np.sign(codes[0])):
        wanted = naive.hard_thresholding_pursuit(Phi, y, s)
        for context in ({}, {"working_memory": 1e-3}):
            with config_context(**context):
                model = SparseRecovery(algorithm="htp", n_nonzero_coefs=s).fit(Phi, y)
            # the tolerance is the accuracy of conjugate gradients
            assert_allclose(model.coef_, wanted, atol=1e-7)


@pytest.mark.paper
def test_hard_thresholding_pursuit_finds_coefficients_of_equal_size():
    """Foucart (2011), section 4: with unit steps about as good as its rivals; here 100 x 200."""
    found = phase_transition(
        SparseRecovery(algorithm="htp"), n_features=200, delta=[0.5], rho=[0.15, 0.2],
        coefficients="signs", n_trials=40, random_state=0,
    )  # fmt: skip
    # 0.82 and 0.42, with a step that is normalised on the largest correlations
    assert found.success[0, 0] >= 0.95
    assert found.success[0, 1] >= 0.85


@pytest.mark.edge
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_signals_within_the_bound_have_the_code_zero(method, positive):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 12))
    atoms = prepare_atoms(rng.normal(size=(30, 12)))
    bounds = np.square(X).sum(axis=1) * [1 + 1e-12, 1.01, 0.99]
    codes = hard_thresholding(
        X, atoms, method=method, n_nonzero=3, tol_sq=bounds, positive=positive
    )
    dense = to_dense(codes, 30)
    assert_array_equal(dense[:2], 0)
    assert np.count_nonzero(dense[2]) > 0
    assert_allclose(codes.residual_sq[:2], np.square(X[:2]).sum(axis=1))
