"""Evidence that group lasso codes reach the optimum, and that their certificate is true."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skmoderndata._solvers.codes.groups import (
    group_lasso_codes,
)
from skmoderndata._solvers.codes.lasso import lasso_codes
from skmoderndata._solvers.codes.signal_blocks import prepare_atoms, to_dense
from tests.oracles import sparse_coder as oracle


def problem(seed, n_signals=30, n=12, sizes=(3,) * 10, coherent=False):
    """Signals, atoms and the group of each atom, in mixed order."""
    rng = np.random.default_rng(seed)
    k = sum(sizes)
    D = rng.normal(size=(k, n))
    if coherent:
        D = D @ np.diag(0.7 ** np.arange(n)) + 1.0
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(n_signals, n)), D, groups


def shares(X, D, groups, share):
    """Penalties in proportion to the least one at which the code of a signal is zero."""
    C = X @ D.T
    top = [
        np.linalg.norm(C[:, groups == g], axis=1) / np.sqrt(np.sum(groups == g))
        for g in np.unique(groups)
    ]
    return share * np.max(top, axis=0)


# Sizes of groups: few or many groups, single atoms, a group with more atoms than the signals have
# entries, and a single group.
SIZES = [(3,) * 10, (1, 2, 7, 20, 3, 1), (40, 30, 25), (2, 2), (9,)]


@pytest.mark.certificate
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("coherent", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_signal_reaches_its_gap(sizes, coherent, positive, seed):
    X, D, groups = problem(seed, sizes=sizes, coherent=coherent)
    for share in (0.9, 0.3, 0.05, 0.003):
        alpha = np.maximum(shares(X, D, groups, share), 1e-3)
        codes = group_lasso_codes(
            X, prepare_atoms(D), alpha=alpha, groups=groups, positive=positive
        )
        A = to_dense(codes, len(D))
        assert (codes.stop == 0).all()
        assert not positive or (A >= 0).all()
        for x, a, lam, gap, r in zip(X, A, alpha, codes.gap, codes.residual_sq, strict=True):
            true_gap = oracle.lasso_gap(x, a, D, lam, positive=positive, groups=groups)
            assert true_gap <= 1e-6 + 1e-12
            assert_allclose(gap, true_gap, atol=1e-10)
            assert_allclose(r, np.sum((x - a @ D) ** 2), rtol=1e-7, atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_objective_matches_cvxpy(sizes, positive, seed):
    X, D, groups = problem(seed, n_signals=3, sizes=sizes)
    alpha = shares(X, D, groups, 0.15)
    codes = group_lasso_codes(
        X, prepare_atoms(D), alpha=alpha, groups=groups, positive=positive, tol=1e-10
    )
    for x, a, lam in zip(X, to_dense(codes, len(D)), alpha, strict=True):
        v = cp.Variable(len(D), nonneg=positive)
        penalty = sum(
            np.sqrt(np.sum(groups == g)) * cp.norm2(v[np.flatnonzero(groups == g)])
            for g in np.unique(groups)
        )
        statement = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - D.T @ v) + lam * penalty))
        norms = [
            np.sqrt(np.sum(groups == g)) * np.linalg.norm(a[groups == g])
            for g in np.unique(groups)
        ]
        ours = 0.5 * np.sum((x - a @ D) ** 2) + lam * sum(norms)
        # the interior point method stops at 1e-8, relative to a number larger than the value
        assert_allclose(ours, statement.solve(solver=cp.CLARABEL), rtol=1e-6)


@pytest.mark.oracle
def test_single_atoms_are_the_lasso(seed):
    X, D, _ = problem(seed)
    alpha = np.full(len(X), 0.3)
    alone = group_lasso_codes(
        X, prepare_atoms(D), alpha=alpha, groups=np.arange(30), tol=1e-13
    )
    lasso = lasso_codes(X, prepare_atoms(D), alpha=alpha, tol=1e-13)
    assert_allclose(to_dense(alone, 30), to_dense(lasso, 30), atol=1e-6)


@pytest.mark.certificate
@pytest.mark.parametrize("share", [0.5, 0.05])
def test_wide_groups_and_a_shared_working_set(share, seed):
    """Signals of a block share inner products: the codes match each signal alone."""
    rng = np.random.default_rng(seed)
    X, D, groups = problem(seed, n_signals=60, n=100, sizes=(40, 30, 30, 50))
    # a direction common to all atoms slows down the descent
    D += 0.3 * rng.normal(size=100) / 10
    X[0] = 0.0
    X[1] = D[0]
    alpha = np.maximum(shares(X, D, groups, share), 1e-3)
    atoms = prepare_atoms(D, normalize=False)
    together = group_lasso_codes(X, atoms, alpha=alpha, groups=groups, tol=1e-12)
    assert (together.stop == 0).all()
    A = to_dense(together, len(D))

    for i in range(0, 60, 7):
        alone = group_lasso_codes(
            X[i : i + 1], atoms, alpha=alpha[i : i + 1], groups=groups, tol=1e-12
        )
        # the tolerance is the root of the gap
        assert_allclose(to_dense(alone, len(D))[0], A[i], atol=1e-5)
        gap = oracle.lasso_gap(X[i], A[i], D, alpha[i], groups=groups) if i else 0.0
        assert gap <= 1e-11

    few = group_lasso_codes(X, atoms, alpha=alpha, groups=groups, tol=1e-12, max_iter=1)
    assert few.n_iter.max() <= 1
    assert (few.stop == 4).any()


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_masked_signals_match_the_known_columns(positive, seed):
    X, D, groups = problem(seed, n_signals=10)
    mask = np.random.default_rng(seed).uniform(size=X.shape) < 0.7
    alpha = shares(np.where(mask, X, 0), D, groups, 0.2)
    given = {"groups": groups, "positive": positive, "tol": 1e-11}
    found = group_lasso_codes(X, prepare_atoms(D), alpha=alpha, mask=mask, **given)
    A = to_dense(found, len(D))
    for i, m in enumerate(mask):
        plain = group_lasso_codes(
            X[i : i + 1, m], prepare_atoms(D[:, m], normalize=False), alpha=alpha[i : i + 1],
            **given,
        )  # fmt: skip
        assert_allclose(A[i], to_dense(plain, len(D))[0], atol=1e-4)


@pytest.mark.few(1)
@pytest.mark.invariance
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("sizes", [(3,) * 10, (20, 30)], ids=str)
def test_start_threads_lengths_and_rotations_do_not_matter(sizes, positive, seed):
    X, D, groups = problem(seed, n_signals=600, sizes=sizes)
    alpha = shares(X, D, groups, 0.3)
    atoms = prepare_atoms(D)
    given = {"alpha": alpha, "groups": groups, "positive": positive, "tol": 1e-13}
    cold = group_lasso_codes(X, atoms, **given)
    A = to_dense(cold, len(D))
    rng = np.random.default_rng(seed)
    near = A + (rng.uniform(size=A.shape) < 0.05) * rng.normal(size=A.shape)
    for start in (near, sparse.csr_array(near)):
        warm = to_dense(group_lasso_codes(X, atoms, start=start, **given), len(D))
        assert_allclose(warm, A, atol=1e-5)
    again = group_lasso_codes(X, atoms, start=A, **given)
    assert again.n_iter.mean() <= 1

    threads = to_dense(group_lasso_codes(X, atoms, n_jobs=2, **given), len(D))
    assert_array_equal(threads, A)
    long = prepare_atoms(D * rng.uniform(0.5, 2, size=(len(D), 1)))
    scaled = to_dense(group_lasso_codes(X, long, **given), len(D)) * long.norms
    assert_allclose(scaled, A, atol=1e-5)
    turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    turned = to_dense(group_lasso_codes(X @ turn, prepare_atoms(D @ turn), **given), len(D))
    assert_allclose(turned, A, atol=1e-5)


@pytest.mark.edge
@pytest.mark.parametrize("positive", [False, True])
def test_degenerate_dictionaries(positive, seed):
    rng = np.random.default_rng(seed)
    # the atoms are repeated, opposite, zero and dependent
    D = rng.integers(-1, 2, size=(20, 4)).astype(float)
    D[4:6] = 0
    X = np.vstack([np.zeros(4), rng.integers(-2, 3, size=(30, 4))])

    # with small penalties on atoms that are repeated in other groups, sweeps alone would take very
    # long
    for alpha in (0.001, 0.01, 0.5, 100.0):
        lam = np.full(len(X), alpha)
        for groups in (
            np.arange(20) // 2,
            np.arange(20),
            np.zeros(20, int),
            np.arange(20) // 7,
        ):
            for distinct in (False, True):
                atoms = prepare_atoms(D, normalize=False, distinct=distinct)
                codes = group_lasso_codes(
                    X, atoms, alpha=lam, groups=groups, positive=positive
                )
                A = to_dense(codes, 20)
                assert (codes.stop == 0).all()
                assert (A[0] == 0).all()
                assert (A[:, 4:6] == 0).all()
                if alpha == 100:
                    assert (A == 0).all()

                for x, a, stop in zip(X, A, codes.stop, strict=True):
                    if x.any() and stop == 0:
                        gap = oracle.lasso_gap(
                            x, a, atoms.rows, alpha, positive=positive, groups=groups
                        )
                        assert gap <= 1e-6 + 1e-12

    nothing = group_lasso_codes(
        X, prepare_atoms(np.zeros((6, 4))), alpha=np.ones(len(X)), groups=np.arange(6) // 2
    )
    assert nothing.values.size == 0
    assert_allclose(nothing.residual_sq, np.sum(X**2, axis=1))
