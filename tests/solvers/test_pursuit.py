"""Evidence that the greedy coders choose and fit as textbooks say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.matching_pursuit import (
    group_matching_pursuit,
    matching_pursuit,
    nonnegative_matching_pursuit,
)
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    TOL,
    prepare_atoms,
    to_csr,
    to_dense,
)
from skmoderndata._solvers.codes.thresholding import METHODS, hard_thresholding
from skmoderndata._solvers.dictionaries.fixed import overcomplete_cosines
from skmoderndata.sparse_coding import SparseCoder
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
    assert (A[tol >= np.sum(X**2, axis=1)] == 0).all()  # no atom is used if none is needed


@pytest.mark.oracle
@pytest.mark.parametrize("optimised", [False, True])
def test_masked_signals_match_the_known_rows(optimised, seed):
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
def test_mask_of_ones_equals_no_mask_and_threads_do_not_matter(seed):
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
        plain = to_dense(run(), len(D))
        masked = to_dense(run(mask=ones), len(D))
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
        codes = matching_pursuit(
            X, prepare_atoms(D), n_nonzero=40, tol_sq=none(X), max_iter=steps
        )
        A = to_dense(codes, len(D))
        r = X - A @ D
        assert_allclose(codes.residual_sq, np.sum(r**2, axis=1), rtol=1e-9)
        # each step removes the largest squared correlation
        assert_allclose(codes.residual_sq, former - largest, rtol=1e-8)
        former = codes.residual_sq
        largest = np.max(np.abs(r @ Dn.T), axis=1) ** 2


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
    # the gradient is zero on the support
    slope = (X - A @ D) @ D.T
    assert np.abs(slope[A != 0]).max() < 1e-8
    assert not positive or (A >= 0).all()
    # most signals reach the best subset or come close to it
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


def coders(groups, positive=False):
    """Every coder that takes a number of atoms and a bound, as ``run(X, atoms, **bounds)``."""
    runs = {
        "mp": lambda *a, **kw: matching_pursuit(*a, positive=positive, max_iter=3000, **kw),
        "positive omp": nonnegative_matching_pursuit,
        **{
            method: lambda *a, method=method, **kw: hard_thresholding(
                *a, method=method, positive=positive, **kw
            )
            for method in METHODS
        },
    }
    if not positive:
        runs |= {
            "omp": orthogonal_matching_pursuit,
            "ormp": lambda *a, **kw: orthogonal_matching_pursuit(*a, optimised=True, **kw),
            "groups": lambda X, atoms, **kw: group_matching_pursuit(X, atoms, groups, **kw),
        }
    return runs


@pytest.mark.certificate
def test_bounds_hold_for_the_codes_as_they_are(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(30, 12)) * rng.uniform(0.3, 3, size=(30, 1))

    met = 0
    for scale, tol, relative in ((1e6, 0.3, 0.0), (1.0, 0.0, 1e-12), (1.0, 0.0, 1e-3)):
        X = scale * rng.normal(size=(40, 12))
        size = np.sum(X**2, axis=1)
        bound = np.maximum(tol, relative * size)

        for mask in (None, rng.uniform(size=X.shape) < 0.8):
            known = np.ones(X.shape, bool) if mask is None else mask
            for run in coders(np.arange(30) // 2).values():
                codes = run(X, prepare_atoms(D), n_nonzero=12, tol_sq=bound, mask=mask)
                r = np.where(known, X - to_dense(codes, 30) @ D, 0)
                residual_sq = np.sum(r**2, axis=1)

                said = codes.stop == TOL
                met += said.sum()
                # the slack is the accuracy of the sums above
                slack = 1e-13 * np.sqrt(size * residual_sq)
                assert (residual_sq[said] <= (bound + slack)[said]).all()
                assert (residual_sq[~said] > (bound - slack)[~said]).all()
                assert_allclose(
                    codes.residual_sq, residual_sq, rtol=1e-6, atol=1e-14 * size.max()
                )

    assert met > 1000


@pytest.mark.certificate
@pytest.mark.parametrize("n", [2, 6])
def test_bounds_of_codes_with_dependent_atoms(n, seed):
    # with eleven atoms in a plane or in their cone, the support is often dependent
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(11, 2)) @ rng.normal(size=(2, n))
    X = np.abs(rng.normal(size=(30, 11))) * (rng.uniform(size=(30, 11)) < 0.3) @ D
    size = np.sum(X**2, axis=1)
    for positive in (False, True):
        for name, run in coders(np.arange(11) // 2, positive).items():
            codes = run(X, prepare_atoms(D), n_nonzero=4, tol_sq=1e-6 * size)
            A = to_dense(codes, 11)
            met = residuals(X, A, D) <= 1e-6 * size * (1 + 1e-9)
            assert met[codes.stop == TOL].all()
            assert not positive or (A >= 0).all()
            # two atoms are enough, one on each side; steps that do not fit again choose others
            assert (codes.stop == TOL).all() or name == "mp"


@pytest.mark.edge
def test_missing_bound_is_never_met_and_a_large_bound_needs_no_atom(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(10, 6))
    X = 1e9 * rng.normal(size=(50, 6))
    size = np.sum(X**2, axis=1)
    for run in coders(np.arange(10) // 2).values():
        codes = run(X, prepare_atoms(D), n_nonzero=6, tol_sq=none(X))
        assert (codes.stop != TOL).all()
        codes = run(X, prepare_atoms(D), n_nonzero=6, tol_sq=size * (1 + 1e-12))
        assert codes.values.size == 0
        assert (codes.stop == TOL).all()
        assert_allclose(codes.residual_sq, size)


@pytest.mark.oracle
@pytest.mark.parametrize("rank", [3, 8])
def test_with_all_atoms_positive_codes_are_nonnegative_least_squares(rank, seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(20, rank)) @ rng.normal(size=(rank, 8))
    X = rng.normal(size=(30, 8))
    expected = np.array([nnls(D.T, x)[1] ** 2 for x in X])
    for method in METHODS:
        codes = hard_thresholding(
            X, prepare_atoms(D), method=method, n_nonzero=20, tol_sq=none(X), positive=True
        )
        settled = codes.stop != MAX_ITER
        assert settled.mean() > (0.8 if method == "iht" else 0.99)
        assert_allclose(codes.residual_sq[settled], expected[settled], rtol=1e-8, atol=1e-12)


@pytest.mark.oracle
def test_hard_thresholding_pursuit_is_the_published_one(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(60, 30))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    A = np.zeros((40, 60))
    for row in A:
        row[rng.choice(60, 6, replace=False)] = rng.choice([-1, 1], 6)
    X = A @ D + 0.01 * rng.normal(size=(40, 30))
    codes = hard_thresholding(X, prepare_atoms(D), method="htp", n_nonzero=6, tol_sq=none(X))
    expected = np.array([oracle.hard_thresholding_pursuit(x, D, 6) for x in X])
    # the package detects cycles of supports earlier
    same = np.abs(to_dense(codes, 60) - expected).max(axis=1) < 1e-8
    assert same.mean() > 0.9
    assert (codes.residual_sq[~same] <= 2 * residuals(X, expected, D)[~same]).all()


@pytest.mark.oracle
def test_iterative_hard_thresholding_settles_as_well_as_the_published_steps(seed):
    rng = np.random.default_rng(seed)
    cosines = np.kron(overcomplete_cosines(6, 12), overcomplete_cosines(6, 12))
    square = rng.normal(size=(12, 12))
    planted = np.zeros((40, 144))
    for row in planted:
        row[rng.choice(144, 4, replace=False)] = rng.normal(size=4)
    images = planted @ cosines + 0.05 * rng.normal(size=(40, 36))
    for X, D, s in ((images, cosines, 4), (rng.normal(size=(40, 12)), square, 12)):
        Dn = D / np.linalg.norm(D, axis=1, keepdims=True)
        codes = hard_thresholding(
            X, prepare_atoms(D), method="iht", n_nonzero=s, tol_sq=none(X)
        )
        # gradient steps alone need hundreds of passes, and thousands for square systems
        assert np.mean(codes.stop == MAX_ITER) <= 0.025
        if s == 12:
            assert codes.residual_sq.max() < 1e-12
        else:
            expected = np.array([oracle.normalised_iht(x, Dn, s) for x in X])
            # two thousand steps examine a few more supports
            assert codes.residual_sq.sum() <= 1.25 * expected.sum()


@pytest.mark.oracle
@pytest.mark.parametrize("width", [2, 5])
def test_masked_coders_match_the_known_entries(width, seed):
    rng = np.random.default_rng(seed)
    X, D = problem(seed, n_signals=24, n=14, k=30, scaled=False)
    groups = rng.permutation(30) // width
    # six entries are known, fewer than the atoms of two groups of five
    mask = np.argsort(rng.uniform(size=X.shape), axis=1) < rng.integers(6, 12, size=(24, 1))
    mask[12:] = mask[0]  # several signals share this pattern

    tol = 1e-3 * np.sum(np.where(mask, X, 0) ** 2, axis=1)
    atoms = prepare_atoms(D)
    runs = coders(groups) | {
        "groups of " + method: lambda *a, method=method, **kw: hard_thresholding(
            *a, method=method, groups=groups, **kw
        )
        for method in METHODS
    }

    for name, run in runs.items():
        most = 2 if "groups" in name else 4
        found = run(np.where(mask, X, np.inf), atoms, n_nonzero=most, tol_sq=tol, mask=mask)
        A = to_dense(found, 30)
        rest = np.sum(np.where(mask, X - A @ D, 0) ** 2, axis=1)
        assert_allclose(found.residual_sq, rest, atol=1e-9)

        # code each signal separately on its known entries
        for i in range(24):
            m = mask[i]
            alone = prepare_atoms(np.ascontiguousarray(D[:, m]))
            barred = np.sum(D[:, m] ** 2, axis=1) < 2e-3 * np.sum(D**2, axis=1)
            if barred.any():
                continue
            one = run(
                np.ascontiguousarray(X[i : i + 1, m]),
                alone,
                n_nonzero=most,
                tol_sq=tol[i : i + 1],
            )
            assert_allclose(one.residual_sq[0], found.residual_sq[i], rtol=1e-6, atol=1e-9)
            if rest[i] > 1e-9:  # other atoms can also give an exact fit
                expected = to_dense(one, 30)[0]
                assert_allclose(A[i], expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.invariance
def test_codes_do_not_depend_on_signals_with_the_same_mask(seed):
    rng = np.random.default_rng(seed)
    X, D = problem(seed, n_signals=12, n=14, k=30, scaled=False)
    X[1::2] *= 1e8  # large signals come after small ones
    mask = np.broadcast_to(rng.permutation(14) < 8, X.shape)
    groups = rng.permutation(30) // 2

    atoms = prepare_atoms(D)
    rest = none(X)
    runs = coders(groups) | {
        "groups of " + method: lambda *a, method=method, **kw: hard_thresholding(
            *a, method=method, groups=groups, **kw
        )
        for method in METHODS
    }

    for name, run in runs.items():
        together = run(X, atoms, n_nonzero=3, tol_sq=rest, mask=mask)
        A = to_dense(together, 30)

        for i in range(12):
            one = run(X[i : i + 1], atoms, n_nonzero=3, tol_sq=rest[:1], mask=mask[:1])
            expected = to_dense(one, 30)[0]
            assert_allclose(
                A[i], expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max(), err_msg=name
            )


@pytest.mark.oracle
def test_codes_of_dependent_groups_are_of_least_norm_with_a_mask_as_well(seed):
    rng = np.random.default_rng(seed)
    X, D = problem(seed, n_signals=20, n=14, k=24, scaled=False)
    groups = np.repeat(np.arange(6), 4)
    D[::4] = D[1::4] - 2 * D[2::4]
    mask = rng.uniform(size=X.shape) < 0.8
    for given in (None, mask):
        codes = group_matching_pursuit(
            X,
            prepare_atoms(D, normalize=False),
            groups,
            n_nonzero=2,
            tol_sq=none(X),
            mask=given,
        )

        A = to_dense(codes, 24)
        for x, a, m in zip(
            X, A, mask if given is not None else np.ones_like(mask), strict=True
        ):
            chosen = np.unique(groups[a != 0])
            assert len(chosen) == 2
            # compute the part of each group, and its code of least norm
            for g in chosen:
                part = D[groups == g][:, m]
                least = np.linalg.lstsq(part.T, a[groups == g] @ part, rcond=1e-8)[0]
                assert_allclose(a[groups == g], least, rtol=1e-6, atol=1e-8)

            # all groups together are at least as good as least squares
            members = np.isin(groups, chosen)
            best = oracle.least_squares(x[m], D[:, m], np.flatnonzero(members))[0]
            assert_allclose(
                np.sum((x - a @ D)[m] ** 2), np.sum(best**2), rtol=1e-8, atol=1e-12
            )


@pytest.mark.edge
def test_warns_about_a_bound_missed_at_the_last_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 8))
    D = rng.normal(size=(16, 8))
    with pytest.warns(
        ConvergenceWarning, match="20 of 20 signals do not meet .* transform_max_iter"
    ):
        SparseCoder(
            D, transform_algorithm="mp", residual_tol=1e-3, transform_max_iter=3
        ).fit_transform(X)


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
            orthogonal_matching_pursuit(
                X, atoms, n_nonzero=6, tol_sq=tol, optimised=True, mask=m
            ),
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
    # the first of two equal atoms is used
    assert_allclose(to_dense(codes, 6)[-1], [0, 0, 1, 0, 0, 0], atol=1e-15)
    assert (np.diff(codes.indptr) <= 3).all()
    assert (codes.residual_sq < 1e-28).all()
