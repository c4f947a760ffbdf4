"""Evidence that block principal pivoting solves non-negative least squares exactly."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls as lawson_hanson

from skmoderndata._solvers.common import blocks
from skmoderndata._solvers.common import nnls as nnls_module
from skmoderndata._solvers.common.nnls import (
    descend_rows,
    kkt_residual,
    nnls,
)
from tests.oracles import sparse_nmf as oracle


def problem(seed, k=7, p=12, m=20, sign=True):
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(k, p)) if sign else rng.uniform(size=(k, p))
    return C, rng.normal(size=(m, p)) + (0 if sign else 0.5)


def least_residual(C, x):
    """Least norm of ``x - z C`` over z of at least 0, by a look at all supports."""
    least = np.linalg.norm(x)
    for rows in itertools.chain.from_iterable(
        itertools.combinations(C, size) for size in range(1, len(x) + 1)
    ):
        z = np.linalg.lstsq(np.transpose(rows), x)[0]
        if (z >= 0).all():
            least = min(least, np.linalg.norm(x - z @ rows))
    return least


@pytest.mark.oracle
@pytest.mark.parametrize("sign", [True, False])
def test_lawson_and_hanson(sign, seed):
    C, X = problem(seed, sign=sign)
    found = nnls(C @ C.T, X @ C.T)
    assert_allclose(found.Z, [lawson_hanson(C.T, x)[0] for x in X], atol=1e-12)
    assert found.n_fallback == 0


@pytest.mark.oracle
@pytest.mark.parametrize(
    "penalty", [{}, {"l1": 0.4}, {"l1_sq": 0.7}, {"l1": 0.2, "l1_sq": 0.3, "l2": 0.5}]
)
def test_conic_solver(penalty, seed):
    C, X = problem(seed, m=4, sign=False)
    G = C @ C.T + penalty.get("l1_sq", 0) + penalty.get("l2", 0) * np.eye(len(C))
    F = X @ C.T - penalty.get("l1", 0)
    Z = nnls(G, F).Z
    for x, f, z in zip(X, F, Z, strict=True):
        value, theirs = oracle.nnls_by_cvxpy(C, x, **penalty)
        assert z @ G @ z / 2 - f @ z + x @ x / 2 <= value + 1e-9
        # the tolerance is the accuracy of the interior point method
        assert_allclose(z, theirs, atol=1e-5)


@pytest.mark.certificate
@pytest.mark.parametrize("k", [1, 5, 40])
def test_optimality_conditions(k, seed):
    C, X = problem(seed, k=k, p=2 * k, m=200)
    G = C @ C.T
    F = X @ C.T
    Z = nnls(G, F).Z
    assert kkt_residual(G, F, Z) < 1e-13
    Y = Z @ G - F
    assert (Z >= 0).all()
    assert (Y >= -1e-10).all()
    assert_allclose(Z * Y, 0, atol=1e-10)
    assert kkt_residual(G, F, Z + 0.01) > 1e-4
    assert kkt_residual(G, F, Z - 1) == np.inf


def nnls_gap(C, x, z):
    """Duality gap of ``min 1/2 |x - z C|^2`` over ``z >= 0``, for C >= 0 without rows of zeros.

    An upper bound on how far ``1/2 |x - z C|^2`` is above the minimum.
    """
    r = x - z @ C
    shift = max(0.0, np.max((C @ r) / C.sum(axis=1)))
    theta = r - shift  # shift the residual so that C theta <= 0, which is dual feasible
    gap = r @ r / 2 - (theta @ x - theta @ theta / 2)
    return gap


@pytest.mark.certificate
def test_duality_gap(seed):
    C, X = problem(seed, sign=False)
    Z = nnls(C @ C.T, X @ C.T).Z
    assert max(nnls_gap(C, x, z) for x, z in zip(X, Z, strict=True)) < 1e-12
    least = min(nnls_gap(C, x, z + 0.1) for x, z in zip(X, Z, strict=True))
    assert least > 1e-3


@pytest.mark.invariance
def test_start_order_and_units(seed):
    C, X = problem(seed, k=10, p=15, m=60)
    G = C @ C.T
    F = X @ C.T
    Z = nnls(G, F).Z
    rng = np.random.default_rng(seed)
    assert_allclose(nnls(G, F, start=rng.normal(size=Z.shape)).Z, Z, atol=1e-12)
    order = rng.permutation(60)
    assert_allclose(nnls(G, F[order]).Z, Z[order], atol=1e-14)
    units = 10.0 ** rng.integers(-8, 8, size=10)
    scaled = nnls(G * units * units[:, None], F * units).Z
    assert_allclose(scaled * units, Z, atol=1e-10)


@pytest.mark.invariance
def test_a_gram_matrix_for_each_row(seed):
    rng = np.random.default_rng(seed)
    C, X = problem(seed)
    known = rng.uniform(size=X.shape) < 0.8
    G = np.einsum("mp,jp,kp->mjk", known, C, C)
    F = (X * known) @ C.T
    Z = nnls(G, F).Z
    for g, f, z in zip(G, F, Z, strict=True):
        assert_allclose(nnls(g, f[None]).Z[0], z, atol=1e-12)
    assert kkt_residual(G, F, Z) < 1e-12


@pytest.mark.invariance
def test_a_good_start_saves_work(seed):
    C, X = problem(seed, k=20, p=40, m=300, sign=False)
    G = C @ C.T
    F = X @ C.T
    cold = nnls(G, F)
    warm = nnls(G, F, start=cold.Z)
    assert warm.n_solves == len(F) < cold.n_solves


@pytest.mark.certificate
def test_coordinate_descent_ends_at_the_same_point(seed):
    C, X = problem(seed)
    G = C @ C.T
    F = X @ C.T
    Z = np.zeros(F.shape)
    Y = -F.copy()
    descend_rows(G[None], Z, Y, 5000, 0.0)
    assert_allclose(Z, nnls(G, F).Z, atol=1e-8)
    assert_allclose(Y, Z @ G - F, atol=1e-10)


def descent(seed, k=6, m=150, movable=1.0):
    """Return a problem with a zero column, and a start of which a part can move."""
    rng = np.random.default_rng(seed)
    C = rng.uniform(size=(k, 2 * k))
    C[k // 2] = 0
    G = C @ C.T
    Z = rng.exponential(size=(m, k)) * (rng.random((m, k)) < movable)
    F = rng.uniform(-1, 1, size=(m, k)) + (Z @ G - 3 * (Z == 0) if movable < 1 else 0)
    F[:, k // 2] = rng.choice([-1.0, 0.0], size=m)
    return G, F, Z


@pytest.mark.oracle
@pytest.mark.parametrize("movable", [1.0, 0.05])
@pytest.mark.parametrize("sweeps", [1, 4])
def test_coordinate_descent_matches_a_loop_over_entries(movable, sweeps, seed):
    G, F, Z = descent(seed, movable=movable)
    expected = [oracle.descend(G, z, f, sweeps, 0.03) for z, f in zip(Z, F, strict=True)]
    Y = Z @ G - F
    descend_rows(G[None], Z, Y, sweeps, 0.03)
    assert_allclose(Z, expected, atol=1e-10)
    assert_allclose(Y, Z @ G - F, atol=1e-10)


@pytest.mark.invariance
def test_rows_side_by_side_move_as_single_rows_do(seed):
    G, F, Z = descent(seed)
    together = Z.copy()
    Y = Z @ G - F
    steep = Y.copy()
    n_sweeps = descend_rows(G[None], together, Y, 5, 0.03)

    single = [
        descend_rows(G[None], Z[i : i + 1], steep[i : i + 1], 5, 0.03) for i in range(len(Z))
    ]
    assert_array_equal(together, Z)
    assert_array_equal(Y, steep)
    assert n_sweeps == max(single)


@pytest.mark.edge
def test_dependent_repeated_and_zero_columns(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        k = int(rng.integers(2, 8))
        p = int(rng.integers(1, 6))
        C = rng.normal(size=(k, p)) if rng.uniform() < 0.5 else rng.uniform(size=(k, p))
        C[0] = C[-1]
        C[k // 2] = 0
        X = rng.normal(size=(5, p))
        Z = nnls(C @ C.T, X @ C.T).Z
        reached = np.linalg.norm(X - Z @ C, axis=1)
        assert_allclose(reached, [least_residual(C, x) for x in X], atol=1e-9)


@pytest.mark.edge
def test_nothing_to_fit():
    assert_array_equal(nnls(np.eye(3), np.zeros((2, 3))).Z, 0)
    assert_array_equal(nnls(np.eye(3), -np.ones((2, 3))).Z, 0)
    assert_array_equal(nnls(np.zeros((3, 3)), np.zeros((2, 3))).Z, 0)
    assert nnls(np.eye(3), np.zeros((0, 3))).Z.shape == (0, 3)
    assert kkt_residual(np.eye(3), np.zeros((2, 3)), np.zeros((2, 3))) == 0


def test_compiled_calls_are_bounded(monkeypatch):
    """An interrupt stops between them; the result matches one call for all rows."""
    C, X = problem(0, k=60, p=80, m=300)
    once = nnls(C @ C.T, X @ C.T)
    rows = []

    def counted(G, F, *rest):
        rows.append(len(F))
        return pivot_rows(G, F, *rest)

    pivot_rows = nnls_module._pivot_rows
    monkeypatch.setattr(nnls_module, "_pivot_rows", counted)
    monkeypatch.setattr(blocks, "WORK", 2**25)
    assert_array_equal(nnls(C @ C.T, X @ C.T).Z, once.Z)
    assert sum(rows) == 300
    assert max(rows) * 60**3 <= 2**25
