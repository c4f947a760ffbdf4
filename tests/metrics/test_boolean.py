"""Boolean metrics agree with brute force over permutations and with counts by hand."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skmoderndata.metrics import (
    assignment_error,
    boolean_coverage_score,
    boolean_over_coverage,
    boolean_reconstruction_error,
    generalization_error,
    match_sources,
    source_mismatch,
)


def random_bits(rng, *shape):
    return rng.uniform(size=shape) < 0.5


@pytest.mark.oracle
def test_mismatch_is_the_minimum_over_permutations(seed):
    rng = np.random.default_rng(seed)
    A = random_bits(rng, 4, 9)
    B = random_bits(rng, 4, 9)
    brute = min((A != B[list(order)]).mean() for order in permutations(range(4)))
    assert_allclose(source_mismatch(A, B), brute, rtol=1e-12)
    order, n_different = match_sources(A, B)
    assert_allclose((A != B[order]).sum(), n_different, rtol=1e-12)
    assert_allclose(assignment_error(A.T, B.T), brute, rtol=1e-12)


@pytest.mark.invariance
def test_order_of_sources_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    A = random_bits(rng, 5, 30)
    B = random_bits(rng, 5, 30)
    assert_allclose(
        source_mismatch(A, B[rng.permutation(5)]), source_mismatch(A, B), rtol=1e-12
    )
    assert source_mismatch(A, A[::-1]) == 0


def test_missing_source_counts_its_ones():
    A = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    assert source_mismatch(A, A[:1]) == 2 / 8
    assert source_mismatch(A[:1], A) == 2 / 8


def test_counts_by_hand():
    X = [[1, 1, 0, 0], [1, 0, 0, 0]]
    R = [[1, 0, 1, 0], [1, 0, 0, 0]]
    assert boolean_reconstruction_error(X, R) == 2 / 8
    assert_allclose(boolean_coverage_score(X, R), 2 / 3, rtol=1e-12)
    assert_allclose(boolean_over_coverage(X, R), 1 / 3, rtol=1e-12)
    dense = (np.array(X), np.array(R))
    thin = tuple(sparse.csr_array(M) for M in dense)
    for metric in (
        boolean_reconstruction_error,
        boolean_coverage_score,
        boolean_over_coverage,
    ):
        assert_allclose(metric(*thin), metric(*dense), rtol=1e-12)
        assert_allclose(metric(thin[0], dense[1]), metric(*dense), rtol=1e-12)


def test_unobserved_bits_do_not_count():
    assert boolean_reconstruction_error([[1, np.nan, 0]], [[1, 1, 1]]) == 0.5
    assert boolean_reconstruction_error([[np.nan, np.nan]], [[1, 0]]) == 0


@pytest.mark.edge
def test_edge_cases():
    assert boolean_coverage_score([[0, 0]], [[1, 0]]) == 1
    assert boolean_over_coverage([[0, 0]], [[1, 0]]) == np.inf
    assert boolean_over_coverage([[0, 0]], [[0, 0]]) == 0


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("must contain only 0 and 1", lambda: source_mismatch([[2, 0]], [[1, 0]])),
        ("same features", lambda: source_mismatch([[1, 0]], [[1, 0, 1]])),
        ("must be equal", lambda: boolean_reconstruction_error([[1, 0]], [[1, 0, 1]])),
        (
            "reveal",
            lambda: generalization_error(
                SimpleNamespace(components_=np.eye(2)), np.eye(2), reveal=1
            ),
        ),
        (
            "features",
            lambda: generalization_error(SimpleNamespace(components_=np.eye(3)), np.eye(2)),
        ),
    ],
)
def test_raises_on_invalid_input(message, call):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.recovery
def test_generalization_error_of_the_truth_is_the_noise(seed):
    rng = np.random.default_rng(seed)
    U = random_bits(rng, 3, 300)
    Z = random_bits(rng, 100, 3)
    clean = (Z.astype(int) @ U) > 0
    noisy = np.where(rng.uniform(size=clean.shape) < 0.1, ~clean, clean)
    truth = SimpleNamespace(components_=U)
    assert generalization_error(truth, clean, random_state=seed) == 0
    error = generalization_error(truth, noisy, n_repeats=2, random_state=seed)
    # with 30000 hidden bits at a rate of 0.1, the standard error is 0.002
    assert_allclose(error, 0.1, atol=0.01)
    wrong = SimpleNamespace(components_=random_bits(rng, 3, 300))
    assert generalization_error(wrong, noisy, random_state=seed) > 0.2


def test_generalization_error_is_reproducible(seed):
    X = random_bits(np.random.default_rng(seed), 30, 20)
    model = SimpleNamespace(components_=X[:4])
    errors = [generalization_error(model, X, random_state=5) for _ in range(2)]
    assert_array_equal(errors[0], errors[1])
