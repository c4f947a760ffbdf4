"""Evidence that the guarantees for dictionaries hold, by other routes and by experiments."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skmoderndata.sparse_coding
from skmoderndata.linear_model import BasisPursuit
from skmoderndata.sparse_coding import (
    SparseCoder,
    dct_dictionary,
    dictionaries,
    exact_recovery_bound,
    exact_recovery_coefficient,
    fourier_dictionary,
    mutual_coherence,
    random_dictionary,
    restricted_isometry_constant,
    smallest_recoverable_coefficient,
    two_bases_recovery_bound,
    welch_bound,
)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_exact_recovery_coefficient_by_pseudo_inverse(kind, seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(11, 7)) + (1j * rng.normal(size=(11, 7)) if kind == "complex" else 0)
    U = unit(D)
    for s in (1, 2, 4):
        support = rng.choice(11, s, replace=False)
        others = np.setdiff1d(np.arange(11), support)
        inverse = np.linalg.pinv(U[support].T)
        expected = 1 - max(np.abs(inverse @ U[j]).sum() for j in others)
        assert_allclose(exact_recovery_coefficient(D, support), expected, atol=1e-12)
        scale = 10.0 ** rng.uniform(-90, 90, size=(11, 1))
        assert_allclose(exact_recovery_coefficient(scale * D, support), expected, atol=1e-12)


@pytest.mark.certificate
def test_coefficient_of_a_support_is_no_worse_than_the_bound(seed):
    """What holds for all supports of a size holds for each."""
    rng = np.random.default_rng(seed)
    D = np.concatenate([np.eye(64), dct_dictionary(64)])[rng.permutation(128)[:100]]
    s = exact_recovery_bound(D)
    assert s == 3
    for _ in range(50):
        assert exact_recovery_coefficient(D, rng.choice(100, s, replace=False)) > 0


@pytest.mark.recovery
def test_sign_of_the_coefficient_predicts_success_of_pursuit(seed):
    rng = np.random.default_rng(seed)
    D = random_dictionary(20, 40, random_state=seed)
    right = wrong = 0
    for _ in range(40):
        support = np.sort(rng.choice(40, 3, replace=False))
        coefficient = exact_recovery_coefficient(D, support)

        others = np.setdiff1d(np.arange(40), support)
        inverse = np.linalg.pinv(D[support].T)
        weights = inverse @ D[others].T
        worst = weights[:, np.abs(weights).sum(axis=0).argmax()]

        # choose the correlations with the support that make the worst atom look best
        x = inverse.T @ np.sign(worst)
        code = SparseCoder(D, transform_n_nonzero_coefs=3).fit_transform(x[None])[0]

        if coefficient > 1e-9:
            assert set(np.flatnonzero(code)) <= set(support)
            pursued = BasisPursuit(0, fit_intercept=False).fit(D.T, x).coef_
            assert_allclose(pursued @ D, x, atol=1e-9)
            assert set(np.flatnonzero(pursued)) <= set(support)
            right += 1
        elif coefficient < -1e-9:
            first = SparseCoder(D, transform_n_nonzero_coefs=1).fit_transform(x[None])[0]
            assert np.flatnonzero(first)[0] not in support
            wrong += 1
    assert right
    assert wrong


@pytest.mark.paper
def test_two_bases():
    """Elad and Bruckstein 2002: (sqrt 2 - 1/2) / mu, mu = 1 / sqrt n for spikes and Fourier."""
    n = 64
    F = fourier_dictionary(n, complex_valued=True)
    assert two_bases_recovery_bound(np.eye(n), F) == 7  # the bound is 0.914 * 8 = 7.3
    assert two_bases_recovery_bound(np.eye(n), np.eye(n)) == 0
    # the bound is 0.914 / 0.0884
    assert two_bases_recovery_bound(np.eye(256), dct_dictionary(256)) == 10


@pytest.mark.recovery
def test_basis_pursuit_is_right_in_two_bases_up_to_the_bound(seed):
    C = dct_dictionary(64)
    s = two_bases_recovery_bound(np.eye(64), C)
    D = np.concatenate([np.eye(64), C])
    assert s == 5
    assert s > exact_recovery_bound(D)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        # choose the cosines with the most energy on the spikes, which is harder than random atoms
        a = np.zeros(128)
        spikes = rng.choice(64, rng.integers(0, s + 1), replace=False)
        score = np.abs(C[:, spikes].sum(axis=1)) + 1e-9 * rng.uniform(size=64)
        waves = 64 + np.argsort(-score)[: s - len(spikes)]
        a[spikes] = rng.choice([-1, 1], len(spikes))
        a[waves] = rng.choice([-1, 1], len(waves))
        assert_allclose(
            BasisPursuit(0, fit_intercept=False).fit(D.T, a @ D).coef_, a, atol=1e-10
        )


@pytest.mark.recovery
def test_coefficients_above_the_noise_are_found(seed):
    """Cai and Wang 2011, theorem 1; noise along the residual, and along atoms."""
    D = np.concatenate([np.eye(64), dct_dictionary(64)])
    rng = np.random.default_rng(seed)
    s = 2
    bound = 0.3
    size = smallest_recoverable_coefficient(D, s, bound)
    assert_allclose(size, 2 * bound / (1 - 3 * mutual_coherence(D)))
    for trial in range(50):
        support = np.sort(rng.choice(128, s, replace=False))
        a = np.zeros(128)
        a[support] = size * rng.choice([-1, 1], s)
        noise = (
            rng.normal(size=64) if trial % 2 else rng.normal(size=3) @ D[rng.choice(128, 3)]
        )
        # the residual is not allowed to be smaller
        noise *= (1 - 1e-9) * bound / np.linalg.norm(noise)
        code = SparseCoder(D, residual_tol=bound).fit_transform((a @ D + noise)[None])[0]
        assert np.flatnonzero(code).tolist() == support.tolist()
    assert smallest_recoverable_coefficient(D, 30, bound) == np.inf
    assert smallest_recoverable_coefficient(D, 2, 0.0) == 0


@pytest.mark.paper
def test_welch_bound_and_frames_that_reach_it():
    """Three directions in the plane, a simplex, and six diagonals of the icosahedron."""
    golden = (1 + np.sqrt(5)) / 2
    corners = [(0, 1, golden), (0, 1, -golden), (1, golden, 0), (1, -golden, 0), (golden, 0, 1),
               (-golden, 0, 1)]  # fmt: skip
    simplex = np.eye(5) - 1 / 5
    basis = np.linalg.svd(simplex)[2][:4]
    for D in (np.array(corners), simplex @ basis.T):
        assert_allclose(mutual_coherence(D), welch_bound(D.shape[1], len(D)), rtol=1e-12)
    assert_allclose(welch_bound(64, 256), 0.108, atol=5e-4)
    assert welch_bound(64, 64) == welch_bound(3, 1) == 0
    for n, k in ((4, 9), (16, 64)):
        assert mutual_coherence(random_dictionary(n, k, random_state=0)) > welch_bound(n, k)


@pytest.mark.oracle
def test_restricted_isometry_of_complex_atoms(seed):
    rng = np.random.default_rng(seed)
    D = unit(rng.normal(size=(8, 5)) + 1j * rng.normal(size=(8, 5)))
    for s in (1, 2, 3):
        extremes = [np.linalg.svd(D[list(J)])[1] ** 2 for J in combinations(range(8), s)]
        high = max(e[0] for e in extremes)
        low = min(e[-1] for e in extremes)
        bounds = restricted_isometry_constant(D, s)
        assert_allclose(bounds.upper, max(high - 1, 1 - low), atol=1e-12)
        rough = restricted_isometry_constant(D, s, max_supports=0, random_state=seed)
        assert rough.lower <= bounds.upper + 1e-12
        assert rough.upper >= bounds.upper - 1e-12
    F = fourier_dictionary(6, complex_valued=True)
    assert_allclose(restricted_isometry_constant(F, 3).upper, 0, atol=1e-14)


@pytest.mark.edge
def test_edge_cases():
    assert exact_recovery_coefficient(np.eye(4), [0, 1]) == 1
    assert exact_recovery_coefficient([[1.0, 2.0]], [0]) == 1
    assert exact_recovery_coefficient([[1, 0], [2, 0], [0, 1]], [0, 1]) == -np.inf
    assert exact_recovery_coefficient([[1, 0], [2, 1], [0, 1]], [0, 1, 2]) == -np.inf
    assert (
        exact_recovery_coefficient([[1, 0], [0, 0], [0, 1]], [2]) == 1
    )  # a zero atom does not count
    assert exact_recovery_coefficient([[1, 0], [0, 0], [1, 1]], [-1]) < 0.3
    assert set(dictionaries.__all__) <= set(skmoderndata.sparse_coding.__all__)
    assert "exact_recovery_coefficient" in dictionaries.__all__
    for name in ("mutual_coherence", "babel_function", "exact_recovery_bound",
                 "restricted_isometry_constant"):  # fmt: skip
        assert getattr(dictionaries, name) is getattr(skmoderndata.sparse_coding, name)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact_recovery_coefficient(np.eye(3), [3]), "numbers of atoms, below 3"),
        (lambda: exact_recovery_coefficient(np.eye(3), [0.5]), "list of the numbers of atoms"),
        (lambda: exact_recovery_coefficient(np.eye(3), [1, 1]), "name each atom only once"),
        (
            lambda: exact_recovery_coefficient([[1, 0], [0, 0]], [1]),
            r"zero atoms, \[1\]: remove",
        ),
        (
            lambda: two_bases_recovery_bound(np.eye(3), 2 * np.eye(3)),
            "second must be an ortho",
        ),
        (lambda: two_bases_recovery_bound(np.eye(3)[:2], np.eye(3)), "first must be an ortho"),
        (lambda: two_bases_recovery_bound(np.eye(3), np.eye(4)), r"got \[3, 4\]"),
        (lambda: welch_bound(0, 3), "n_features=0 must be an int"),
        (
            lambda: smallest_recoverable_coefficient(np.eye(3), 0, 1.0),
            "n_nonzero_coefs=0 must be",
        ),
        (
            lambda: smallest_recoverable_coefficient(np.eye(3), 1, -1.0),
            "residual_tol=-1.0 must be",
        ),
    ],
)
def test_raises_on_invalid_requests(call, message):
    with pytest.raises(ValueError, match=message):
        call()
