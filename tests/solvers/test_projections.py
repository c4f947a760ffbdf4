"""Evidence that the projection onto vectors of given sparseness is exact."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.common.projections import project_row, project_sparseness
from tests.oracles import sparse_nmf as oracle


@pytest.mark.oracle
@pytest.mark.parametrize("distribution", ["normal", "exponential", "ties"])
def test_no_support_gives_a_nearer_point(distribution, seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(2, 8))
        x = {
            "normal": rng.normal(size=n),
            "exponential": rng.exponential(size=n),
            "ties": rng.integers(0, 3, size=n).astype(float),
        }[distribution]
        level = rng.uniform()
        norm = rng.uniform(0.1, 3)
        s = project_sparseness(x[None], level, norm=norm)[0]
        if distribution == "ties":  # equal entries may have any order in the nearest point
            x_spread = x + 1e-6 * rng.normal(size=n)
            best = oracle.nearest_of_sparseness(x_spread, level, norm)[0]
            # the margin is ten times the observed spread
            assert np.linalg.norm(s - x) <= best + 1e-5
        else:
            best, nearest = oracle.nearest_of_sparseness(x, level, norm)
            assert np.linalg.norm(s - x) <= best + 1e-12
            assert_allclose(s, nearest, atol=1e-10)


@pytest.mark.oracle
def test_agrees_with_the_alternating_projection(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 200))
    ours = project_sparseness(X, 0.7, norm=2.0)
    theirs = np.array([oracle.hoyer_alternating(x, 0.7, 2.0) for x in X])
    assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.oracle
def test_compiled_and_plain_code_agree(seed):
    x = np.random.default_rng(seed).normal(size=30)
    out = np.empty(30)
    compiled = project_sparseness(x[None], 0.6, norm=1.0)[0]
    plain = {
        name: getattr(f, "py_func", f) for name, f in project_row.py_func.__globals__.items()
    }
    function = type(project_row.py_func)(project_row.py_func.__code__, plain)
    function(
        x / np.abs(x).max(), np.sqrt(30) - 0.6 * (np.sqrt(30) - 1), 1.0, out, np.empty(30)
    )
    assert_allclose(out, compiled, rtol=1e-13, atol=1e-15)


@pytest.mark.certificate
@pytest.mark.parametrize("n", [2, 3, 100, 100_000])
@pytest.mark.parametrize("level", [0.0, 0.01, 0.5, 0.9, 0.999, 1.0])
def test_sparseness_and_norm_are_exact(n, level, seed):
    rng = np.random.default_rng(seed)
    rows = [
        rng.normal(size=n),
        rng.exponential(size=n),
        np.logspace(0, -300, n),
        rng.integers(0, 4, size=n),
        1e9 + rng.normal(size=n),
        rng.standard_cauchy(size=n),
    ]
    S = project_sparseness(np.array(rows), level, norm=2.0)
    assert (S >= 0).all()
    assert_allclose(oracle.sparseness(S), level, atol=1e-12, rtol=0)
    assert_allclose(np.linalg.norm(S, axis=1), 2.0, rtol=1e-12)


@pytest.mark.certificate
def test_optimality_conditions(seed):
    """On the support s is an affine function of x with positive slope; off it x is smaller."""
    x = np.random.default_rng(seed).normal(size=5000)
    s = project_sparseness(x[None], 0.8, norm=1.0)[0]
    inside = s > 0
    slope, offset = np.polyfit(x[inside], s[inside], 1)
    assert slope > 0
    assert_allclose(s[inside], slope * x[inside] + offset, atol=1e-12)
    assert (slope * x[~inside] + offset <= 1e-12).all()


@pytest.mark.certificate
def test_free_length_is_a_projection_onto_a_cone(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 8))
    S = project_sparseness(X, 0.6)
    at = {norm: project_sparseness(X, 0.6, norm=norm) for norm in np.linspace(0.01, 4, 50)}
    distance = np.linalg.norm(S - X, axis=1)
    for other in at.values():
        assert (distance <= np.linalg.norm(other - X, axis=1) + 1e-12).all()
    assert_array_equal(project_sparseness(-np.ones((1, 4)), 0.5), 0)


@pytest.mark.paper
def test_figure_of_the_sparseness_levels():
    """Hoyer 2004, section 2: one entry has 1, equal entries 0; and two unequal ones by hand."""
    assert oracle.sparseness(np.eye(10)[:1])[0] == 1
    assert oracle.sparseness(np.ones((1, 10)))[0] == pytest.approx(0, abs=1e-15)
    assert oracle.sparseness(np.array([[3.0, 4.0]]))[0] == pytest.approx(
        (np.sqrt(2) - 7 / 5) / (np.sqrt(2) - 1)
    )


@pytest.mark.invariance
def test_order_scale_sign_and_shift(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1, 60))
    s = project_sparseness(x, 0.7, norm=1.0)
    order = rng.permutation(60)
    assert_allclose(project_sparseness(x[:, order], 0.7, norm=1.0), s[:, order], atol=1e-14)
    assert_allclose(project_sparseness(1e200 * x, 0.7, norm=1.0), s, atol=1e-13)
    assert_allclose(project_sparseness(1e-200 * x, 0.7, norm=1.0), s, atol=1e-13)
    assert_allclose(project_sparseness(x + 3, 0.7, norm=1.0), s, atol=1e-13)
    signed = project_sparseness(x, 0.7, norm=1.0, signed=True)
    assert_allclose(project_sparseness(-x, 0.7, norm=1.0, signed=True), -signed, atol=1e-15)
    assert_allclose(oracle.sparseness(signed), 0.7, atol=1e-12)
    assert_allclose(np.abs(signed), project_sparseness(np.abs(x), 0.7, norm=1.0), atol=1e-15)
    assert_allclose(project_sparseness(s, 0.7, norm=1.0), s, atol=1e-13)


@pytest.mark.edge
def test_nearest_point_is_not_unique():
    for x in (np.zeros(6), np.full(6, -2.0), np.array([1.0, 1, 1, 0, 0, 0])):
        for level in (0.0, 0.3, 0.7, 1.0):
            s = project_sparseness(x[None], level, norm=1.0)
            assert np.isfinite(s).all()
            assert (s >= 0).all()
            assert_allclose(oracle.sparseness(s), level, atol=1e-12)
    assert_allclose(project_sparseness(np.ones((1, 4)), 1.0, norm=1.0), [[1, 0, 0, 0]])
    assert_allclose(
        project_sparseness(np.array([[0.0, 9, 1]]), 0.0, norm=1.0), [[3**-0.5] * 3]
    )


@pytest.mark.edge
def test_zero_rows_and_single_entries():
    assert np.isnan(oracle.sparseness(np.zeros((1, 3)))).all()
    assert_array_equal(project_sparseness(np.zeros((1, 3)), 0.5), 0)
    assert project_sparseness(np.zeros((0, 3)), 0.5).shape == (0, 3)


@pytest.mark.edge
def test_slow_rows_are_sorted(seed):
    """Entries that fall like a geometric series would be dropped one by one."""
    n = 100_000
    x = np.concatenate([-np.logspace(0, 300, n // 2), -np.logspace(-300, 0, n // 2)])[None]
    project_sparseness(x, 0.9, norm=1.0)
    begin = time.perf_counter()
    s = project_sparseness(x, 0.9, norm=1.0)
    assert time.perf_counter() - begin < 1  # dropping entries one at a time would take minutes
    assert_allclose(oracle.sparseness(s), 0.9, atol=1e-12)
