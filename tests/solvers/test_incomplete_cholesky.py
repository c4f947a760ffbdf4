"""Evidence that the blocked incomplete Cholesky factorisation is the one by columns."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from skmoderndata._kernelized.gram import resolve_kernel
from skmoderndata._solvers.kernel.incomplete_cholesky import cholesky_rows, incomplete_cholesky
from tests.oracles import incomplete_cholesky as oracle


def matrix(seed, n=40, p=60):
    """Kernel matrix of full rank without ties."""
    A = np.random.default_rng(seed).normal(size=(n, p)) * np.logspace(0, -1, p)
    return A @ A.T


def run(K, greedy=True, **settings):
    return incomplete_cholesky(resolve_kernel("precomputed", K), K, greedy=greedy, **settings)


@pytest.mark.oracle
@pytest.mark.parametrize("block", [1, 3, 64])
def test_pivots_and_factor_of_the_plain_loop(block, seed):
    K = matrix(seed)
    F, pivots = oracle.column_by_column(K, 12)
    found = run(K, rank=12, block=block)
    assert_array_equal(found.pivots, pivots)
    assert_allclose(found.factor, F, atol=1e-10)
    assert_allclose(found.factor @ found.factor.T, oracle.nystroem(K, pivots), atol=1e-9)


@pytest.mark.oracle
def test_ties_go_to_the_first_sample(seed):
    X = np.random.default_rng(seed).normal(size=(3000, 8))
    gram = resolve_kernel("rbf", X, gamma=0.3)
    _, pivots, trace = oracle.numpy_loop(X, 0.3, 70)
    found = incomplete_cholesky(gram, X, rank=70, greedy=True)
    assert found.pivots[0] == pivots[0] == 0
    assert_array_equal(found.pivots, pivots)
    assert found.residual_trace == pytest.approx(trace, rel=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("n_features", [1, 5, 90])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_values_of_the_fast_route(n_features, shift, seed):
    X = np.random.default_rng(seed).normal(size=(80, n_features)) + shift
    chosen = np.array([3, 70, 11])
    exact = [[np.exp(-0.02 * ((X[i] - z) ** 2).sum()) for z in X[20:61]] for i in chosen]
    for gram in (
        resolve_kernel("rbf", X, gamma=0.02),
        resolve_kernel(RBF(5.0), X),
        resolve_kernel(RBF([5.0]), X),
    ):
        out = np.empty((3, 41))
        values = gram.writer(X)(chosen, slice(20, 61), out)
        assert values is out
        # if there are many features, the squares of a table far from zero cancel
        assert_allclose(out, exact, atol=1e-12 if n_features < 64 or shift == 0 else 1e-7)
    assert resolve_kernel(RBF([1.0, 2.0]), X).writer(X) is None
    assert resolve_kernel("laplacian", X).writer(X) is None


@pytest.mark.oracle
def test_the_fast_route_gives_the_factor_of_the_other(seed):
    X = np.random.default_rng(seed).normal(size=(700, 3))
    found = incomplete_cholesky(resolve_kernel("rbf", X, gamma=0.5), X, rank=90)
    other = incomplete_cholesky(
        resolve_kernel(rbf_kernel, X, kernel_params={"gamma": 0.5}), X, rank=90
    )
    assert_array_equal(found.pivots, other.pivots)
    assert_allclose(found.factor, other.factor, atol=1e-9)
    assert found.residual_trace == pytest.approx(other.residual_trace, rel=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("block", [3, 64])
def test_sample_in_a_tie_waits_for_the_first(block):
    K = np.eye(8)
    K[6:, 6:] = [[4.0, 2.0], [2.0, 2.0]]  # after pivot 6, all residuals are 1
    assert_array_equal(run(K, rank=8, block=block).pivots, [6, 0, 1, 2, 3, 4, 5, 7])


@pytest.mark.invariance
def test_threads_change_nothing(seed):
    X = np.random.default_rng(seed).normal(size=(6000, 5))
    gram = resolve_kernel("rbf", X, gamma=0.1)
    found = []
    for limit in (1, 2, 3):
        with threadpool_limits(limit, user_api="blas"):
            found.append(incomplete_cholesky(gram, X, rank=80, tol=1e-6))
    for other in found[1:]:
        assert_array_equal(other.factor, found[0].factor)
        assert_array_equal(other.pivots, found[0].pivots)
        assert other.residual_trace == found[0].residual_trace


@pytest.mark.certificate
def test_the_residual_trace_is_exact_and_the_residual_positive(seed):
    K = matrix(seed)
    found = run(K, rank=15)
    E = K - found.factor @ found.factor.T
    assert found.residual_trace == pytest.approx(np.trace(E), rel=1e-12)
    assert_allclose(found.residual, np.diag(E), atol=1e-12)
    assert np.linalg.eigvalsh(E)[0] >= -1e-12 * np.trace(K)
    assert np.linalg.norm(E, 2) <= found.residual_trace
    L = found.factor[found.pivots]
    assert_array_equal(L, np.tril(L))
    assert (found.residual[found.pivots] == 0).all()


@pytest.mark.certificate
@pytest.mark.parametrize("tol", [0.5, 0.1, 0.01])
def test_tolerance_is_met_by_the_smallest_rank(tol, seed):
    K = matrix(seed)
    found = run(K, rank=40, tol=tol)
    r = len(found.pivots)
    assert found.residual_trace <= tol * np.trace(K)
    assert run(K, rank=r - 1).residual_trace > tol * np.trace(K)


@pytest.mark.recovery
def test_rank_of_a_matrix_of_low_rank(seed):
    A = np.random.default_rng(seed).normal(size=(300, 5))
    found = run(A @ A.T, rank=50)
    assert found.factor.shape == (300, 5)
    assert found.residual_trace <= 1e-10
    assert_allclose(found.factor @ found.factor.T, A @ A.T, atol=1e-10)


@pytest.mark.invariance
def test_samples_their_matrix_and_new_rows(seed):
    X = np.random.default_rng(seed).normal(size=(600, 3))
    gram = resolve_kernel("poly", X)
    found = incomplete_cholesky(gram, X, rank=15)
    same = run(gram(X), greedy=False, rank=15)
    assert_array_equal(found.pivots, same.pivots)
    assert_allclose(found.factor, same.factor, atol=1e-9)
    L = found.factor[found.pivots]
    rows = cholesky_rows(gram, X[50:90], gram.subset(X, found.pivots), L)
    assert_allclose(rows, found.factor[50:90], atol=1e-9)


@pytest.mark.invariance
def test_strings_travel_as_lists():
    words = ["cat", "car", "bar", "bart", "cart", "rat"]

    def shared(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    found = incomplete_cholesky(resolve_kernel(shared, words), words, rank=6)
    assert_allclose(found.factor @ found.factor.T, shared(words, words), atol=1e-12)


@pytest.mark.edge
def test_edge_cases():
    zero = run(np.zeros((4, 4)), rank=2)
    assert zero.factor.shape == (4, 0)
    assert zero.residual_trace == 0
    one = run(np.array([[4.0]]), rank=5)
    assert_array_equal(one.factor, [[2.0]])
    same = run(np.ones((6, 6)), rank=3)
    assert_array_equal(same.factor, np.ones((6, 1)))
    X = np.zeros((5, 2))
    assert incomplete_cholesky(resolve_kernel("rbf", X), X, rank=5).factor.shape == (5, 1)
    K = matrix(0)
    before = K.copy()
    run(K, rank=3)
    assert_array_equal(K, before)


@pytest.mark.edge
def test_work_is_linear_in_the_number_of_samples(seed):
    X = np.random.default_rng(seed).normal(size=(4000, 6))
    gram = resolve_kernel("rbf", X, gamma=0.1)
    found = incomplete_cholesky(gram, X, rank=60)
    assert found.n_evaluations <= 4000 * (1 + 60 * 1.5)


@pytest.mark.oracle
@pytest.mark.parametrize("block", [1, 2, 4])
def test_random_pivots_have_the_probabilities_of_the_definition(block):
    """All orders of three of four samples: products of residual over the sum of residuals."""
    K = matrix(0, 4, 5)
    counts = {}
    rng = np.random.RandomState(0)
    for _ in range(6000):
        pivots = tuple(run(K, greedy=False, rank=3, block=block, rng=rng).pivots)
        counts[pivots] = counts.get(pivots, 0) + 1
    total = 0.0
    for order in itertools.permutations(range(4), 3):
        probability = 1.0
        E = K.copy()
        for i in order:
            probability *= E[i, i] / np.trace(E)
            E = E - np.outer(E[i], E[i]) / E[i, i]
        total += probability
        deviation = np.sqrt(probability * (1 - probability) / 6000)
        assert abs(counts.get(order, 0) / 6000 - probability) < 4.5 * deviation + 1e-4
    assert total == pytest.approx(1.0)


@pytest.mark.recovery
def test_random_pivots_leave_less_than_greedy_ones_where_there_are_outliers(seed):
    X = np.random.default_rng(seed).standard_t(2, size=(2000, 3))
    gram = resolve_kernel("rbf", X, gamma=0.5)
    greedy = incomplete_cholesky(gram, X, rank=100, greedy=True).residual_trace
    rng = np.random.RandomState(seed)
    assert incomplete_cholesky(gram, X, rank=100, rng=rng).residual_trace < 0.6 * greedy
