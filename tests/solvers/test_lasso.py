"""Evidence that the l1 coders reach the optimum, and that their certificate is true."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

from skmoderndata._solvers.codes import bounded_lasso, lasso
from skmoderndata._solvers.codes.bounded_lasso import bounded_lasso_codes
from skmoderndata._solvers.codes.gram_rows import no_rows
from skmoderndata._solvers.codes.lasso import METHODS, lasso_codes
from skmoderndata._solvers.codes.proximal import proximal_codes
from skmoderndata._solvers.codes.signal_blocks import prepare_atoms, to_dense
from tests.oracles import sparse_coder as oracle


def problem(seed, n_signals=40, n=12, k=30, coherent=False):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(k, n))
    if coherent:
        D = D @ np.diag(0.7 ** np.arange(n)) + 1.0
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    return rng.normal(size=(n_signals, n)), D


def shares(X, D, share):
    return share * np.abs(X @ D.T).max(axis=1)


@pytest.mark.certificate
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("coherent", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_every_signal_reaches_its_gap(method, coherent, positive, seed):
    X, D = problem(seed, coherent=coherent)
    for share in (0.9, 0.3, 0.05, 0.003):
        alpha = shares(X, D, share)
        codes = lasso_codes(
            X, prepare_atoms(D), alpha=alpha, method=method, positive=positive, max_iter=20000
        )
        A = to_dense(codes, len(D))
        assert (codes.stop == 0).all()
        assert not positive or (A >= 0).all()
        for x, a, lam, gap, r in zip(X, A, alpha, codes.gap, codes.residual_sq, strict=True):
            true_gap = oracle.lasso_gap(x, a, D, lam, positive=positive)
            assert true_gap <= 1e-6 + 1e-12
            assert_allclose(gap, true_gap, atol=1e-10)
            assert_allclose(r, np.sum((x - a @ D) ** 2), rtol=1e-7, atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_objective_matches_cvxpy(positive, seed):
    X, D = problem(seed, n_signals=4)
    alpha = shares(X, D, 0.15)
    for method in METHODS:
        codes = lasso_codes(
            X, prepare_atoms(D), alpha=alpha, method=method, positive=positive, tol=1e-9
        )
        for x, a, lam in zip(X, to_dense(codes, len(D)), alpha, strict=True):
            value, _ = oracle.lasso_by_cvxpy(x, D, lam, positive=positive)
            assert_allclose(oracle.lasso_objective(x, a, D, lam), value, rtol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_proximal_steps_reach_the_optimum(positive, seed):
    X, D = problem(seed, n_signals=30)
    alpha = shares(X, D, 0.15)
    codes = proximal_codes(X, prepare_atoms(D), alpha=alpha, positive=positive, max_iter=20000)
    A = to_dense(codes, len(D))
    assert (codes.stop == 0).all()
    for x, a, lam, gap in zip(X, A, alpha, codes.gap, strict=True):
        true_gap = oracle.lasso_gap(x, a, D, lam, positive=positive)
        assert true_gap <= 1e-6 + 1e-12
        assert_allclose(gap, true_gap, atol=1e-10)
    for x, a, lam in zip(X[:3], A, alpha, strict=False):
        value, _ = oracle.lasso_by_cvxpy(x, D, lam, positive=positive)
        # a gap of 1e-6 is a millionth of the objective
        assert_allclose(oracle.lasso_objective(x, a, D, lam), value, rtol=2e-6)


@pytest.mark.certificate
def test_acceleration_pays(seed):
    X, D = problem(seed, coherent=True)
    alpha = shares(X, D, 0.05)
    steps = [
        proximal_codes(
            X, prepare_atoms(D), alpha=alpha, accelerate=fast, max_iter=50000
        ).n_iter.mean()
        for fast in (False, True)
    ]
    assert steps[1] < 0.5 * steps[0]


@pytest.mark.oracle
def test_masked_signals_match_the_known_columns(seed):
    X, D = problem(seed, n_signals=10)
    mask = np.random.default_rng(seed).uniform(size=X.shape) < 0.7
    alpha = shares(np.where(mask, X, 0), D, 0.2)
    atoms = prepare_atoms(D)
    for run in (
        lambda X, atoms, alpha, **kw: lasso_codes(X, atoms, alpha=alpha, tol=1e-10, **kw),
        lambda X, atoms, alpha, **kw: proximal_codes(
            X, atoms, alpha=alpha, tol=1e-10, max_iter=100000, **kw
        ),
    ):
        A = to_dense(run(X, atoms, alpha, mask=mask), len(D))
        for i, m in enumerate(mask):
            plain = run(
                X[i : i + 1, m], prepare_atoms(D[:, m], normalize=False), alpha[i : i + 1]
            )
            # the error of the codes is the square root of the error of the objective
            assert_allclose(A[i], to_dense(plain, len(D))[0], atol=1e-4)


@pytest.mark.certificate
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("method", [*METHODS, "fista"])
def test_every_masked_signal_reaches_its_gap(method, positive, seed):
    X, D = problem(seed, n_signals=60, coherent=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    mask = rng.uniform(size=X.shape) < 0.6
    mask[:12] = mask[0]  # one pattern is shared by many signals, other patterns by few or none
    mask[12:15] = mask[12]
    mask[20] = True
    mask[21] = False

    alpha = shares(np.where(mask, X, 0), D, 0.1) + 1e-3
    options = {"method": method} if method in METHODS else {}
    run = lasso_codes if method in METHODS else proximal_codes
    for gram in (True, False):
        atoms = prepare_atoms(D, gram=gram)
        codes = run(
            X, atoms, alpha=alpha, positive=positive, mask=mask, max_iter=50_000, **options
        )

        A = to_dense(codes, len(D))
        assert (codes.stop == 0).all()
        assert not positive or (A >= 0).all()
        assert (A[21] == 0).all()

        for x, a, m, lam, gap in zip(X, A, mask, alpha, codes.gap, strict=True):
            if m.any():
                true_gap = oracle.lasso_gap(x[m], a, D[:, m], lam, positive=positive)
                assert true_gap <= 1e-6 + 1e-12
                assert_allclose(gap, true_gap, atol=1e-10)

        # two threads give the same result
        parallel = run(
            X, atoms, alpha=alpha, positive=positive, mask=mask, max_iter=50_000, n_jobs=2,
            **options,
        )  # fmt: skip
        assert_array_equal(to_dense(parallel, len(D)), A)


@pytest.mark.invariance
@pytest.mark.parametrize("method", METHODS)
def test_rows_of_the_gram_matrix_match_the_full_matrix(method, seed):
    X, D = problem(seed, n_signals=100)
    alpha = shares(X, D, 0.1)
    run = partial(lasso_codes, X, alpha=alpha, method=method, tol=1e-12)
    whole = run(prepare_atoms(D))
    # there is no room for 30 x 30 numbers
    rows = run(prepare_atoms(D, gram=False), memory=1000.0)
    assert_allclose(to_dense(rows, len(D)), to_dense(whole, len(D)), atol=1e-6)
    assert (rows.stop == 0).all()


@pytest.mark.certificate
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [1e-6, 1e-9, 1e-11])
def test_gaps_are_true_for_small_penalties(method, share, seed):
    X, D = problem(seed)
    alpha = shares(X, D, share)
    codes = lasso_codes(X, prepare_atoms(D), alpha=alpha, method=method)
    A = to_dense(codes, len(D))
    # if the share is tiny, a gap of 1e-6 is out of reach: with 16 digits, only 5 remain beyond the
    # penalty
    assert share < 1e-10 or (codes.stop == 0).all()
    for x, a, lam, gap, rest in zip(X, A, alpha, codes.gap, codes.residual_sq, strict=True):
        # the residual is a difference of numbers 1 / share as large
        rounding = 20 * 2.0**-52 / share
        assert abs(gap - oracle.lasso_gap(x, a, D, lam)) <= 1e-9 + rounding
        assert gap <= max(1e-6, rounding)
        assert_allclose(rest, np.sum((x - a @ D) ** 2), rtol=1e-3)


@pytest.mark.certificate
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_bounds_are_met_with_the_least_l1_norm(positive, masked, seed):
    X, D = problem(seed, coherent=seed % 2 == 1)
    mask = np.random.default_rng(seed).uniform(size=X.shape) < 0.7 if masked else None
    known = X if mask is None else np.where(mask, X, 0)
    size = np.sum(known**2, axis=1)

    for share in (2.0, 0.5, 0.1, 1e-3, 1e-5):
        bound = share * size
        codes = bounded_lasso_codes(
            X, prepare_atoms(D, signed=positive), tol_sq=bound, positive=positive, mask=mask
        )

        A = to_dense(codes, len(D))
        R = known - A @ D if mask is None else mask * (known - A @ D)
        rest = np.sum(R**2, axis=1)

        met = codes.stop == 0
        assert (rest[met] <= bound[met]).all()
        assert_allclose(codes.residual_sq, rest, rtol=1e-6, atol=1e-12)
        assert positive or met.all()
        assert set(codes.stop) <= {0, 3}  # the bound is either met or out of reach
        if share > 1:
            assert (A == 0).all()
            continue
        # any point with |D theta| <= 1 gives a lower bound
        C = R[met] @ D.T
        theta = R[met] / (C.max(axis=1) if positive else np.abs(C).max(axis=1))[:, None]
        dual = np.sum(known[met] * theta, axis=1)
        dual -= np.sqrt(bound[met]) * np.linalg.norm(theta, axis=1)
        norm = np.abs(A[met]).sum(axis=1)
        gap = (norm - dual) / norm
        assert (gap <= 1e-6 + 1e-9).all()
        assert_allclose(codes.gap[met], gap, atol=1e-9 + 1e-14 / share)

        # the bound cannot be reached: the best fit exceeds it, up to rounding errors
        if positive:
            for x, m, r, b in zip(
                known[~met], np.ones(X.shape)[~met] if mask is None else mask[~met],
                rest[~met], bound[~met], strict=True,
            ):  # fmt: skip
                least = nnls((D * m).T, x)[1] ** 2
                assert least >= b * (1 - 1e-3) - 1e-9
                assert_allclose(r, least, rtol=1e-3, atol=1e-9)


@pytest.mark.certificate
def test_the_penalty_of_a_bound_is_known_without_a_search(seed, monkeypatch):
    X, D = problem(seed)
    monkeypatch.setattr(bounded_lasso, "_search_penalties", None)
    for share in (0.5, 0.1, 1e-3, 1e-5):
        bound = share * np.sum(X**2, axis=1)
        codes = bounded_lasso_codes(X, prepare_atoms(D), tol_sq=bound)
        assert (codes.stop == 0).all()
        assert_allclose(codes.residual_sq, bound, rtol=1e-8)


@pytest.mark.oracle
def test_bounded_codes_match_cvxpy(seed):
    import cvxpy as cp

    X, D = problem(seed, n_signals=4)
    bound = np.array([0.3, 0.1, 0.03, 1e-3]) * np.sum(X**2, axis=1)
    codes = bounded_lasso_codes(X, prepare_atoms(D), tol_sq=bound)
    for x, b, a in zip(X, bound, to_dense(codes, len(D)), strict=True):
        v = cp.Variable(len(D))
        stated = cp.Problem(cp.Minimize(cp.norm1(v)), [cp.norm(x - D.T @ v) <= np.sqrt(b)])
        stated.solve(solver=cp.CLARABEL)
        assert_allclose(np.abs(a).sum(), stated.value, rtol=1e-5)


@pytest.mark.edge
def test_the_least_penalty_is_a_floor_and_dependent_atoms_are_searched(seed):
    rng = np.random.default_rng(seed)
    X, D = problem(seed)
    alpha = shares(X, D, 0.5)
    codes = bounded_lasso_codes(X, prepare_atoms(D), tol_sq=np.zeros(len(X)), alpha=alpha)
    plain = lasso_codes(X, prepare_atoms(D), alpha=alpha)
    assert_allclose(to_dense(codes, len(D)), to_dense(plain, len(D)), atol=1e-9)
    assert_array_equal(codes.stop, np.full(len(X), 3))
    E = rng.integers(-1, 2, size=(20, 4)).astype(float)
    Y = rng.integers(-2, 3, size=(30, 4)).astype(float)
    bound = 0.2 * np.sum(Y**2, axis=1)
    codes = bounded_lasso_codes(Y, prepare_atoms(E, normalize=False), tol_sq=bound)
    assert (codes.stop == 0).all()
    assert (codes.residual_sq <= bound).all()


@pytest.mark.oracle
def test_small_atoms_are_not_considered_equal():
    D = np.diag([1e13, 1.0, 1.0])
    atoms = prepare_atoms(D, normalize=False, distinct=True)
    codes = lasso_codes(np.array([[0.0, 5, 7]]), atoms, alpha=np.array([0.1]))
    assert_allclose(to_dense(codes, 3), [[0, 4.9, 6.9]])
    rows = np.array(
        [[1.0, 2], [3, 1], [1, 2], [-1, -2], [2, 4], [0, 0], [1e-9, 2e-9], [1, 2 + 1e-9]]
    )
    kept = prepare_atoms(rows, normalize=False, distinct=True).rows.any(axis=1)
    assert_array_equal(kept, [1, 1, 0, 0, 1, 0, 1, 1])
    kept = prepare_atoms(rows, distinct=True, signed=True).rows.any(axis=1)
    assert_array_equal(kept, [1, 1, 0, 1, 0, 0, 0, 1])


@pytest.mark.invariance
def test_start_and_threads_do_not_matter(seed):
    X, D = problem(seed, n_signals=600)
    alpha = shares(X, D, 0.2)
    atoms = prepare_atoms(D)
    cold = to_dense(lasso_codes(X, atoms, alpha=alpha, tol=1e-12), len(D))
    rng = np.random.default_rng(seed)
    near = cold + (rng.uniform(size=cold.shape) < 0.05) * rng.normal(size=cold.shape)
    for method in ("feature_sign", "coordinate_descent"):
        warm = lasso_codes(X, atoms, alpha=alpha, method=method, start=near, tol=1e-12)
        assert_allclose(to_dense(warm, len(D)), cold, atol=1e-6)
    parallel = lasso_codes(X, atoms, alpha=alpha, tol=1e-12, n_jobs=2)
    assert_array_equal(to_dense(parallel, len(D)), cold)


@pytest.mark.edge
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("method", [*METHODS, "fista"])
def test_degenerate_dictionaries(method, positive, seed):
    rng = np.random.default_rng(seed)
    # the atoms are repeated, opposite, zero and dependent
    D = rng.integers(-1, 2, size=(20, 4)).astype(float)
    X = np.vstack([np.zeros(4), rng.integers(-2, 3, size=(30, 4))])
    for alpha in (0.01, 0.5, 100.0):
        lam = np.full(len(X), alpha)
        for distinct in (False, True):
            atoms = prepare_atoms(D, normalize=False, distinct=distinct)
            if method in METHODS:
                codes = lasso_codes(
                    X, atoms, alpha=lam, method=method, positive=positive, max_iter=20000
                )
            else:
                codes = proximal_codes(X, atoms, alpha=lam, positive=positive, max_iter=20000)

            A = to_dense(codes, 20)
            assert np.isfinite(A).all()
            assert (codes.stop == 0).all()
            assert (A[0] == 0).all()
            if alpha == 100:
                assert (A == 0).all()

            if method in METHODS and not distinct:
                for x, a in zip(X, A, strict=True):
                    if x.any():
                        assert (
                            oracle.lasso_gap(x, a, D, alpha, positive=positive) <= 1e-6 + 1e-12
                        )


@pytest.mark.edge
@pytest.mark.parametrize("method", METHODS)
def test_signals_are_started_again_if_their_rows_do_not_fit(method, seed, monkeypatch):
    X, D = problem(seed)
    atoms = prepare_atoms(D, gram=False)
    alpha = shares(X, D, 0.02)
    code = partial(lasso_codes, X, atoms, alpha=alpha, method=method, memory=1000.0)
    expected = code()

    monkeypatch.setattr(lasso, "no_rows", lambda k: no_rows(k, 1))
    codes = code()
    for name in ("indptr", "indices", "values", "n_iter"):
        assert_array_equal(getattr(codes, name), getattr(expected, name))
