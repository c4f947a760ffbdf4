"""Evidence that the greedy coders choose and fit as textbooks say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.hard_thresholding import METHODS, hard_thresholding
from skmoderndata._solvers.pursuit import (
    group_matching_pursuit,
    matching_pursuit,
    nonnegative_matching_pursuit,
    orthogonal_matching_pursuit,
)
from skmoderndata._solvers.signal_blocks import prepare_atoms, to_csr, to_dense
from tests.oracles import sparse_coder as oracle


def problem(seed, n_signals=60, n=16, k=40, scaled=True):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(k, n))
    if scaled:
        D *= rng.uniform(0.01, 100, size=(k, 1))
    return rng.normal(size=(n_signals, n)), D


def none(X):
    return np.full(len(X), -1.0)


def residuals(X, A, D):
    return np.sum((X - A @ D) ** 2, axis=1)


@pytest.mark.oracle
@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("gram", [False, True])
def test_omp_is_the_textbook_algorithm(optimised, gram, seed):
    X, D = problem(seed)
    for s in (1, 3, 9, 15):
        codes = orthogonal_matching_pursuit(
            X, prepare_atoms(D, gram=gram), n_nonzero=s, tol_sq=none(X), optimised=optimised
        )
        A = to_dense(codes, len(D))
        expected = np.array([oracle.omp(x, D, s, optimised=optimised) for x in X])
        assert_array_equal(A != 0, expected != 0)
        assert_allclose(A, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
        assert_allclose(codes.residual_sq, residuals(X, A, D), atol=1e-11)
        assert_array_equal(to_csr(codes, len(D)).toarray(), A)
        assert to_csr(codes, len(D)).has_sorted_indices


@pytest.mark.oracle
@pytest.mark.parametrize("optimised", [False, True])
def test_error_bound_is_reached_with_the_first_support_that_meets_it(optimised, seed):
    X, D = problem(seed)
    tol = np.random.default_rng(seed).uniform(0.001, 1.2, size=len(X)) * np.sum(X**2, axis=1)
    tol[0] = 0.0
    codes = orthogonal_matching_pursuit(
        X, prepare_atoms(D), n_nonzero=16, tol_sq=tol, optimised=optimised
    )
    A = to_dense(codes, len(D))
    met = codes.stop == 0
    assert met[1:].all()
    assert (residuals(X, A, D)[met] <= tol[met] * (1 + 1e-9) + 1e-13).all()
    pairs = zip(X, tol, strict=True)
    expected = np.array([oracle.omp(x, D, 16, t, optimised=optimised) for x, t in pairs])
    assert_array_equal((A != 0)[1:], (expected != 0)[1:])
    assert (A[tol >= np.sum(X**2, axis=1)] == 0).all()  # no atom where none is needed


@pytest.mark.oracle
@pytest.mark.parametrize("optimised", [False, True])
def test_masked_signals_as_with_the_known_rows_alone(optimised, seed):
    X, D = problem(seed)
    mask = np.random.default_rng(seed + 1).uniform(size=X.shape) < 0.7
    tol = 0.05 * np.sum(np.where(mask, X, 0) ** 2, axis=1)
    codes = orthogonal_matching_pursuit(
        np.where(mask, X, np.nan_to_num(np.inf)), prepare_atoms(D, normalize=True), n_nonzero=5,
        tol_sq=tol, optimised=optimised, mask=mask,
    )  # fmt: skip
    A = to_dense(codes, len(D))
    Dn = D / np.linalg.norm(D, axis=1, keepdims=True)
    for x, a, m, t in zip(X, A, mask, tol, strict=True):
        barred = np.sum(Dn[:, m] ** 2, axis=1) < 1e-3
        if not barred.any():
            expected = oracle.omp(x, D, 5, t, known=m, optimised=optimised)
            assert_allclose(a, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.invariance
def test_mask_of_ones_is_no_mask_and_threads_do_not_matter(seed):
    X, D = problem(seed, n_signals=300)
    atoms = prepare_atoms(D)
    ones = np.ones(X.shape, bool)
    tol = 0.1 * np.sum(X**2, axis=1)
    for run in (
        lambda **kw: orthogonal_matching_pursuit(X, atoms, n_nonzero=5, tol_sq=tol, **kw),
        lambda **kw: matching_pursuit(X, atoms, n_nonzero=5, tol_sq=tol, **kw),
        lambda **kw: nonnegative_matching_pursuit(X, atoms, n_nonzero=5, tol_sq=tol, **kw),
        lambda **kw: hard_thresholding(X, atoms, method="htp", n_nonzero=5, tol_sq=tol, **kw),
    ):
        plain, masked = to_dense(run(), len(D)), to_dense(run(mask=ones), len(D))
        assert_allclose(plain, masked, rtol=1e-8, atol=1e-10)
        assert_array_equal(to_dense(run(n_jobs=2), len(D)), plain)


@pytest.mark.oracle
def test_nonnegative_pursuit(seed):
    X, D = problem(seed)
    Dn = D / np.linalg.norm(D, axis=1, keepdims=True)
    codes = nonnegative_matching_pursuit(X, prepare_atoms(Dn), n_nonzero=6, tol_sq=none(X))
    A = to_dense(codes, len(D))
    expected = np.array([oracle.positive_omp(x, Dn, 6) for x in X])
    assert_allclose(A, expected, atol=1e-8)
    assert (A >= 0).all()
    assert_allclose(codes.residual_sq, residuals(X, A, Dn), rtol=1e-8, atol=1e-12)


@pytest.mark.oracle
def test_group_pursuit(seed):
    X, D = problem(seed, k=24, scaled=False)
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(8), 3))
    codes = group_matching_pursuit(X, prepare_atoms(D), groups, n_nonzero=3, tol_sq=none(X))
    expected = np.array([oracle.group_omp(x, D, groups, 3) for x in X])
    assert_allclose(to_dense(codes, len(D)), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.certificate
def test_matching_pursuit_loses_energy_geometrically(seed):
    X, D = problem(seed, scaled=False)
    Dn = D / np.linalg.norm(D, axis=1, keepdims=True)
    former = np.sum(X**2, axis=1)
    largest = np.max(np.abs(X @ Dn.T), axis=1) ** 2
    for steps in range(1, 12):
        codes = matching_pursuit(X, prepare_atoms(D), n_nonzero=40, tol_sq=none(X), max_iter=steps)
        A = to_dense(codes, len(D))
        r = X - A @ D
        assert_allclose(codes.residual_sq, np.sum(r**2, axis=1), rtol=1e-9)
        # each step takes away the largest squared correlation
        assert_allclose(codes.residual_sq, former - largest, rtol=1e-8)
        former, largest = codes.residual_sq, np.max(np.abs(r @ Dn.T), axis=1) ** 2


@pytest.mark.certificate
def test_positive_matching_pursuit_never_goes_below_zero(seed):
    X, D = problem(seed, scaled=False)
    former = np.sum(X**2, axis=1)
    for steps in (1, 2, 5, 20, 60):
        codes = matching_pursuit(
            X, prepare_atoms(D), n_nonzero=8, tol_sq=none(X), max_iter=steps, positive=True
        )
        assert (codes.values >= 0).all()
        assert (codes.residual_sq <= former * (1 + 1e-12)).all()
        former = codes.residual_sq


@pytest.mark.oracle
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("positive", [False, True])
def test_hard_thresholding_ends_in_least_squares_and_is_never_below_the_best_subset(
    method, positive, seed
):
    X, D = problem(seed, n_signals=30, n=6, k=8, scaled=False)
    codes = hard_thresholding(
        X, prepare_atoms(D), method=method, n_nonzero=2, tol_sq=none(X), positive=positive
    )
    A = to_dense(codes, len(D))
    assert ((A != 0).sum(axis=1) <= 2).all()
    best = np.array([oracle.best_subset(x, D, 2, positive) for x in X])
    assert (codes.residual_sq >= best - 1e-10).all()
    assert (codes.residual_sq <= np.sum(X**2, axis=1) + 1e-12).all()
    assert_allclose(codes.residual_sq, residuals(X, A, D), atol=1e-10)
    # gradient zero on the support
    slope = (X - A @ D) @ D.T
    assert np.abs(slope[A != 0]).max() < 1e-8
    assert not positive or (A >= 0).all()
    # most signals reach the best subset, or are near it
    assert np.mean(codes.residual_sq <= 2 * best + 1e-9) > 0.5


@pytest.mark.recovery
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("positive", [False, True])
def test_hard_thresholding_finds_planted_codes(method, positive, seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(128, 64))
    A = np.zeros((40, 128))
    for row in A:
        row[rng.choice(128, 6, replace=False)] = rng.uniform(1, 2, 6)
        if not positive:
            row *= rng.choice([-1, 1], 128)
    X = A @ D
    codes = hard_thresholding(
        X, prepare_atoms(D), method=method, n_nonzero=6, tol_sq=1e-16 * np.sum(X**2, axis=1),
        positive=positive, max_iter=200,
    )  # fmt: skip
    found = np.abs(to_dense(codes, 128) - A).max(axis=1) < 1e-8
    assert found.mean() >= 0.85


@pytest.mark.recovery
@pytest.mark.parametrize("method", METHODS)
def test_block_sparse_codes_are_found(method, seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(90, 60))
    groups = rng.permutation(np.repeat(np.arange(30), 3))
    A = np.zeros((30, 90))
    for row in A:
        row[np.isin(groups, rng.choice(30, 3, replace=False))] = rng.normal(size=9)
    codes = hard_thresholding(
        A @ D, prepare_atoms(D), method=method, n_nonzero=3, tol_sq=np.zeros(30), groups=groups,
        max_iter=300,
    )  # fmt: skip
    assert np.mean(np.abs(to_dense(codes, 90) - A).max(axis=1) < 1e-7) >= 0.8


@pytest.mark.edge
def test_zero_signals_zero_atoms_duplicates_and_too_many_atoms():
    rng = np.random.default_rng(0)
    D = rng.normal(size=(6, 3))
    D[1] = 0
    D[3] = D[2]
    D[5] = -2 * D[4]
    X = np.vstack([np.zeros(3), rng.normal(size=(4, 3)), D[2]])
    groups = np.array([0, 0, 1, 1, 2, 2])
    atoms = prepare_atoms(D)
    tol = none(X)
    mask = np.ones(X.shape, bool)
    mask[4] = False
    mask[3, :2] = False
    for m in (None, mask):
        for codes in (
            orthogonal_matching_pursuit(X, atoms, n_nonzero=6, tol_sq=tol, mask=m),
            orthogonal_matching_pursuit(X, atoms, n_nonzero=6, tol_sq=tol, optimised=True, mask=m),
            matching_pursuit(X, atoms, n_nonzero=6, tol_sq=tol, mask=m),
            nonnegative_matching_pursuit(X, atoms, n_nonzero=6, tol_sq=tol, mask=m),
            group_matching_pursuit(X, atoms, groups, n_nonzero=3, tol_sq=tol, mask=m),
            *(
                hard_thresholding(X, atoms, method=how, n_nonzero=6, tol_sq=tol, mask=m)
                for how in METHODS
            ),
        ):
            A = to_dense(codes, 6)
            assert np.isfinite(A).all()
            assert (A[:, 1] == 0).all()
            assert (A[0] == 0).all()
            if m is not None:
                assert (A[4] == 0).all()
    codes = orthogonal_matching_pursuit(X, atoms, n_nonzero=6, tol_sq=tol)
    # the first of twins
    assert_allclose(to_dense(codes, 6)[-1], [0, 0, 1, 0, 0, 0], atol=1e-15)
    assert (np.diff(codes.indptr) <= 3).all()
    assert (codes.residual_sq < 1e-28).all()
