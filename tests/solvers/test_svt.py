"""Evidence that singular values are thresholded correctly, whatever the route."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from skmoderndata._solvers.lowrank import svt as svt_module
from skmoderndata._solvers.lowrank.principal_component_pursuit import huber
from skmoderndata._solvers.lowrank.svt import operator, orthonormal, spectral_norm, svt
from tests.oracles.nuclear_norm_imputer import prox_nuclear

SHAPES = [(60, 40), (40, 60), (150, 150), (8, 200), (1, 5), (5, 1), (3, 3)]


def noisy_low_rank(shape, rng, rank=4, noise=0.1):
    rank = min(rank, *shape)
    A = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    return A + noise * rng.normal(size=shape)


def full(out):
    return (out.U * out.s) @ out.Vt


@pytest.mark.oracle
@pytest.mark.parametrize("solver", ["auto", "full", "gram", "subspace"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_route_agrees_with_the_decomposition(solver, shape, seed):
    A = noisy_low_rank(shape, np.random.default_rng(seed))
    threshold = 0.3 * np.linalg.norm(A, 2)
    out = svt(A, threshold, solver=solver, tol=1e-10)
    # the tolerance is the tolerance of subspace iteration, with a margin because that is an
    # estimate
    assert_allclose(full(out), prox_nuclear(A, threshold), atol=1e-8 * np.linalg.norm(A, 2))
    assert_allclose(out.U.T @ out.U, np.eye(out.s.size), atol=1e-9)
    assert_allclose(out.Vt @ out.Vt.T, np.eye(out.s.size), atol=1e-9)
    assert (np.diff(out.s) <= 0).all()
    assert (out.s > 0).all()


@pytest.mark.oracle
def test_estimated_error_is_the_error(seed):
    A = noisy_low_rank((200, 180), np.random.default_rng(seed), rank=12)
    reference = prox_nuclear(A, 10.0)
    for tol in (1e-2, 1e-4, 1e-6):
        out = svt(A, 10.0, solver="subspace", tol=tol)
        error = np.linalg.norm(full(out) - reference) / np.linalg.norm(reference)
        assert out.error <= tol
        assert error <= 10 * tol


@pytest.mark.oracle
def test_clustered_spectrum_just_above_the_threshold(seed):
    rng = np.random.default_rng(seed)
    Q, P = (np.linalg.qr(rng.normal(size=(120, 120)))[0] for _ in range(2))
    s = np.r_[np.full(15, 1.02), np.linspace(1.0, 0.1, 105)]
    A = (Q * s) @ P.T
    # fifteen equal singular values of 1.02 lie above a dense spectrum that begins at 1.00
    out = svt(A, 1.01, solver="subspace", tol=1e-8)
    assert out.s.size == 15
    assert_allclose(out.s, 0.01, rtol=1e-6)


@pytest.mark.oracle
def test_operators_match_arrays(seed):
    rng = np.random.default_rng(seed)
    U, s, Vt = np.linalg.svd(rng.normal(size=(90, 70)), full_matrices=False)
    U = U[:, :3]
    s = 30 * s[:3]
    Vt = Vt[:3]
    few = sparse.random(90, 70, density=0.05, random_state=seed, format="csr")
    A = few.toarray() + (U * s) @ Vt
    reference = prox_nuclear(A, 4.0)
    for matrix in (
        operator(
            lambda V: few @ V + (U * s) @ (Vt @ V),
            lambda Q: few.T @ Q + Vt.T @ ((U * s).T @ Q),
            A.shape,
        ),
        operator(lambda V: A @ V, lambda Q: A.T @ Q, A.shape),
    ):
        assert_allclose(full(svt(matrix, 4.0, tol=1e-10)), reference, atol=1e-7)


@pytest.mark.certificate
def test_warm_start_saves_products(seed):
    A = noisy_low_rank((200, 200), np.random.default_rng(seed), rank=10)
    cold = svt(A, 20.0, solver="subspace")
    warm = svt(A, 20.0, solver="subspace", subspace=cold.subspace)
    assert warm.n_products < cold.n_products / 2
    assert_allclose(full(warm), full(cold), atol=1e-6)


@pytest.mark.certificate
def test_a_rank_too_high_for_iteration_is_remembered(seed, monkeypatch):
    A = np.random.default_rng(seed).normal(size=(150, 120))
    first = svt(A, 6.0)
    assert first.s.size > 0.35 * 120

    def no_iteration(X):
        raise AssertionError("block iteration began")

    monkeypatch.setattr(svt_module, "orthonormal", no_iteration)
    again = svt(A, 6.0, subspace=first.subspace)
    assert_allclose(full(again), full(first), rtol=1e-12)
    with pytest.raises(AssertionError, match="block iteration"):
        svt(A, 6.0)


@pytest.mark.certificate
@pytest.mark.parametrize("shape", [(50, 80), (80, 50), (120, 120), (1, 9)])
def test_spectral_norm_is_a_tight_upper_bound(shape, seed):
    A = np.random.default_rng(seed).normal(size=shape)
    truth = np.linalg.norm(A, 2)
    assert truth <= spectral_norm(A) * (1 + 1e-12)
    assert spectral_norm(A) <= truth * 1.02
    # without a proof, the norm is a lower estimate, up to rounding errors
    assert_allclose(spectral_norm(A, exact_up_to=0), truth, rtol=2e-2)


@pytest.mark.certificate
def test_spectral_norm_proof_catches_what_power_steps_miss(seed):
    rng = np.random.default_rng(seed)
    Q, P = (np.linalg.qr(rng.normal(size=(300, 300)))[0] for _ in range(2))
    A = (Q * np.r_[1.001, np.linspace(1, 0.9, 299)]) @ P.T
    bound = spectral_norm(A)
    assert 1.001 * (1 - 1e-12) <= bound <= 1.01


@pytest.mark.invariance
def test_transpose_and_scale(seed):
    A = noisy_low_rank((70, 90), np.random.default_rng(seed))
    out = full(svt(A, 5.0, tol=1e-11))
    assert_allclose(full(svt(A.T.copy(), 5.0, tol=1e-11)).T, out, atol=1e-8)
    assert_allclose(full(svt(4 * A, 20.0, tol=1e-11)), 4 * out, atol=1e-7)


@pytest.mark.edge
def test_edge_cases(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(90, 80))
    assert svt(A, 1e6).s.size == 0
    assert svt(np.zeros((70, 70)), 1.0).s.size == 0
    assert spectral_norm(np.zeros((4, 3))) == 0
    everything = svt(A, 1e-9, solver="subspace")
    assert_allclose(full(everything), A, atol=1e-7)
    capped = svt(A, 1e-3, solver="subspace", max_rank=3, tol=1e-6)
    assert capped.s.size == 3
    assert_allclose(capped.s[0], np.linalg.norm(A, 2) - 1e-3, rtol=1e-6)
    assert svt(A.astype(np.float32), 5.0, solver="subspace", tol=1e-4).U.dtype == np.float32


@pytest.mark.edge
def test_orthonormal_of_dependent_columns(seed):
    X = np.random.default_rng(seed).normal(size=(30, 3)) @ np.ones((3, 5))
    Q, R = orthonormal(X)
    assert_allclose(Q.T @ Q, np.eye(5), atol=1e-12)
    assert_allclose(Q @ R, X, atol=1e-12)


@pytest.mark.oracle
def test_huber_loss_is_the_envelope(seed):
    rng = np.random.default_rng(seed)
    grid = np.linspace(-4, 4, 80001)
    for x in rng.uniform(-3, 3, size=5):
        envelope = np.min(0.7 * np.abs(grid) + (grid - x) ** 2 / (2 * 0.3))
        assert_allclose(huber(np.array([x]), 0.7, 0.3), envelope, atol=1e-6)
    assert_allclose(huber(np.array([-2.0, 0.5]), 0.7, 0.0), [1.4, 0.35])
