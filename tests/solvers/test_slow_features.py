"""Evidence that the streaming moments match the rows, and that the directions are slow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.preprocessing import PolynomialFeatures

from skmoderndata._solvers.series.expansion import PolynomialExpansion
from skmoderndata._solvers.series.slow_features import (
    SlowMoments,
    polish_directions,
    slow_directions,
)
from tests.oracles.slow_feature_analysis import moments as moments_by_loops
from tests.oracles.slow_feature_analysis import slow_certificate


def random_walk(rng, n=700, p=20):
    return rng.normal(size=(n, p)).cumsum(axis=0) + 100


@pytest.mark.oracle
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("include_bias", [False, True])
@pytest.mark.parametrize("p", [1, 2, 5])
def test_expansion_matches_polynomial_features(degree, include_bias, p):
    X = np.random.default_rng(0).normal(size=(7, p))
    expansion = PolynomialExpansion(p, degree, include_bias)
    other = PolynomialFeatures(degree, include_bias=include_bias).fit(X)
    assert_allclose(expansion(X), other.transform(X), rtol=1e-14)
    assert expansion.n_outputs == other.n_output_features_


@pytest.mark.oracle
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("include_bias", [False, True])
def test_moments_about_another_origin_match_the_moved_monomials(degree, include_bias):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    here = PolynomialExpansion(3, degree, include_bias, rng.normal(size=3))
    there = here.about(rng.normal(size=3))
    T, t = here.translation(there.origin)
    assert_allclose(here(X) @ T.T + t, there(X), atol=1e-12)

    moved = SlowMoments(here).update(X).about(there.origin)
    direct = SlowMoments(there).update(X)
    assert_allclose(moved.mean, direct.mean, atol=1e-12)
    assert_allclose(moved.covariance(), direct.covariance(), atol=1e-10)
    assert_allclose(moved.step_moment(), direct.step_moment(), atol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("lag", [1, 2, 5])
@pytest.mark.parametrize("with_times", [False, True])
@pytest.mark.parametrize("p", [3, 20])  # test few and many features
def test_moments_match_plain_loops_however_the_rows_are_cut(seed, lag, with_times, p):
    rng = np.random.default_rng(seed)
    X = random_walk(rng, p=p)
    n = len(X)
    ids = np.sort(rng.integers(0, 9, n))
    valid = rng.random(n) > 0.03
    times = rng.uniform(0.5, 2, n).cumsum() if with_times else None

    mean, C, A, n_steps = moments_by_loops(X, lag=lag, ids=ids, valid=valid, times=times)
    # pass calls of different length, and chunks within them
    for call, chunk in [(n, None), (n, 1), (n, 3), (n, 100), (600, 599), (53, 10), (7, None)]:
        streamed = SlowMoments(PolynomialExpansion(p, 1), lag)
        for start in range(0, n, call):
            part = slice(start, start + call)
            streamed.update(
                X[part],
                sequence_ids=ids[part],
                valid=valid[part],
                times=None if times is None else times[part],
                chunk_rows=chunk,
            )

        assert streamed.n_samples == valid.sum()
        assert streamed.n_steps == n_steps
        assert streamed.n_sequences == len(np.unique(ids))
        assert_allclose(streamed.mean, mean, rtol=1e-12)
        assert_allclose(streamed.covariance(), C, rtol=1e-11, atol=1e-13 * C.max())
        assert_allclose(streamed.step_moment(), A, rtol=1e-11, atol=1e-13 * A.max())


@pytest.mark.invariance
def test_moments_keep_their_digits_far_from_the_origin(seed):
    """Small steps on a large offset, first chunk unlike the rest: no sum may cancel."""
    rng = np.random.default_rng(seed)
    # use multiples of 2^-20, so that adding the offset causes no rounding
    X = np.round(rng.normal(size=(3000, 16)).cumsum(axis=0) * 2**10) / 2**20
    X[:500] = X[0]
    plain = SlowMoments(PolynomialExpansion(16, 1)).update(X, chunk_rows=500)
    moved = SlowMoments(PolynomialExpansion(16, 1)).update(X + 2.0**20, chunk_rows=500)
    assert_allclose(moved.step_moment(), plain.step_moment(), rtol=1e-13, atol=1e-18)
    assert_allclose(moved.covariance(), plain.covariance(), rtol=1e-8, atol=1e-10)


@pytest.mark.invariance
def test_copy_is_independent(seed):
    rng = np.random.default_rng(seed)
    X = random_walk(rng)
    first = SlowMoments(PolynomialExpansion(20, 1)).update(X[:300])
    C = first.covariance()
    A = first.step_moment()
    mean = first.mean.copy()
    first.copy().update(X[300:])
    assert np.array_equal(first.covariance(), C)
    assert np.array_equal(first.step_moment(), A)
    assert np.array_equal(first.mean, mean)
    both = first.update(X[300:])
    assert_allclose(both.covariance(), moments_by_loops(X)[1], rtol=1e-11, atol=1e-10)


@pytest.mark.certificate
@pytest.mark.parametrize("solver", ["eigh", "cholesky", "auto"])
@pytest.mark.parametrize("k", [None, 1, 5])
def test_directions_solve_the_generalised_eigenproblem(seed, solver, k):
    rng = np.random.default_rng(seed)
    X = random_walk(rng) * np.logspace(-3, 3, 20)
    _, C, A, _ = moments_by_loops(X)
    before = C.copy(), A.copy()
    found = slow_directions(C, A, n_components=k, solver=solver)
    assert np.array_equal(C, before[0])
    assert np.array_equal(A, before[1])
    assert found.solver == {"auto": "cholesky" if k else "eigh"}.get(solver, solver)
    assert found.rank == 20
    certificate = slow_certificate(C, A, found.components, found.delta_values)
    assert certificate.stationarity < 1e-11
    assert certificate.orthonormality < 1e-10
    expected = linalg.eigh(A, C, eigvals_only=True)
    assert_allclose(found.eigenvalues, expected, rtol=1e-8)
    assert_allclose(found.delta_values, expected[:k], rtol=1e-8)


@pytest.mark.certificate
def test_certificate_detects_errors(seed):
    rng = np.random.default_rng(seed)
    _, C, A, _ = moments_by_loops(random_walk(rng))
    found = slow_directions(C, A)
    wrong = found.components + 1e-3 * rng.normal(size=found.components.shape)
    certificate = slow_certificate(C, A, wrong, found.delta_values)
    assert certificate.stationarity > 1e-5
    assert certificate.orthonormality > 1e-5
    shifted = slow_certificate(C, A, found.components, found.delta_values + 1e-4)
    assert shifted.stationarity > 1e-6


@pytest.mark.edge
def test_directions_of_singular_moments():
    rng = np.random.default_rng(0)
    X = random_walk(rng, p=4)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 3.0)])
    _, C, A, _ = moments_by_loops(X)
    found = slow_directions(
        C, A, n_components=1
    )  # few components are requested, but "cholesky" must not be used
    assert (found.rank, found.solver) == (4, "eigh")
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        slow_directions(C, A, solver="cholesky")
    # the remainder of column 4 is so small that Cholesky would not detect it; `rank_tol` does
    X[:, 4] += 1e-7 * np.random.default_rng(1).normal(size=len(X)) * X[:, 4].std()
    _, C, A, _ = moments_by_loops(X)
    linalg.cholesky(C[:5, :5])
    found = slow_directions(C[:5, :5], A[:5, :5], n_components=1)
    assert (found.rank, found.solver) == (4, "eigh")
    nothing = slow_directions(np.zeros((3, 3)), np.zeros((3, 3)))
    assert nothing.rank == 0
    assert nothing.components.shape == (0, 3)
    assert slow_certificate(C, A, nothing.components, nothing.delta_values) == (0.0, 0.0)


@pytest.mark.certificate
def test_polish_keeps_the_digits_of_small_delta_values():
    A = np.diag([1e-14, 1e-3, 2.0])
    C = np.eye(3) + 1e-8 * np.array([[1, 2, 3], [2, 1, 1], [3, 1, -1]])
    rotation, delta = polish_directions(C, A)
    assert_allclose(rotation @ C @ rotation.T, np.eye(3), atol=1e-14)
    # the other two directions contribute 1e-16
    assert_allclose(delta[0], 1e-14 / C[0, 0], rtol=2e-2)
