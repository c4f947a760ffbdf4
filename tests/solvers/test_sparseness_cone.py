"""Evidence that codes of given sparseness are stationary, and nearly always the best."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.common.projections import project_sparseness
from skmoderndata._solvers.factors.sparseness_cone import cone_codes, descend_cone
from tests.oracles import sparse_nmf as oracle
from tests.oracles.sparse_nmf import sparseness


def problem(seed, m=40, p=12, k=5, units=0):
    """Non-negative components, whose lengths differ by up to `units` orders of magnitude."""
    rng = np.random.default_rng(seed)
    H = np.abs(rng.normal(size=(k, p))) * 10.0 ** rng.uniform(0, units, size=(k, 1))
    return H @ H.T, np.abs(rng.normal(size=(m, p))) @ H.T


def values(G, F, Z):
    return (Z * (Z @ G / 2 - F)).sum(axis=1)


@pytest.mark.oracle
@pytest.mark.parametrize("level", [0.1, 0.4, 0.7, 0.95])
def test_three_entries_by_a_grid(level, seed):
    G, F = problem(seed, m=20, k=3)
    Z = cone_codes(G, F, level)
    assert_allclose(sparseness(Z), level, atol=1e-12)
    expected = [oracle.codes_of_three_by_grid(G, f, level) for f in F]
    assert_allclose(values(G, F, Z), expected, rtol=1e-7)


@pytest.mark.oracle
def test_two_entries_lie_on_two_rays(seed):
    G, F = problem(seed, k=2)
    ratio = np.sqrt(2) - 0.4 * (np.sqrt(2) - 1)
    gap = np.sqrt(1 - ratio**2 / 2) / np.sqrt(2)
    rays = np.array([[ratio / 2 + gap, ratio / 2 - gap], [ratio / 2 - gap, ratio / 2 + gap]])
    gains = (F @ rays.T) ** 2 / np.einsum("ij,jk,ik->i", rays, G, rays)
    assert_allclose(values(G, F, cone_codes(G, F, 0.4)), -gains.max(axis=1) / 2, rtol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("each", [False, True])
def test_borders_of_the_range_are_exact(each, seed):
    G, F = problem(seed)
    F[:5] -= F[:5].max() / 2
    matrices = np.stack([G * (1 + i / 10) for i in range(len(F))]) if each else G
    single = cone_codes(matrices, F, 1.0)
    equal = cone_codes(matrices, F, 0.0)
    for i, f in enumerate(F):
        g = matrices[i] if each else G
        gains = np.maximum(f, 0) ** 2 / np.diag(g)
        assert_allclose(single[i] @ g @ single[i] / 2 - f @ single[i], -gains.max() / 2)
        assert (single[i] > 0).sum() <= 1
        assert_allclose(equal[i], max(f.sum(), 0) / g.sum(), rtol=1e-12)


@pytest.mark.certificate
@pytest.mark.parametrize("level", [0.3, 0.6, 0.9])
def test_stationary(level, seed):
    """A step of the projected gradient leads nowhere."""
    G, F = problem(seed, k=8, p=20)
    Z = cone_codes(G, F, level)
    assert_allclose(sparseness(Z), level, atol=1e-12)
    assert (Z >= 0).all()
    step = np.linalg.eigvalsh(G)[-1] * 1.001
    moved = project_sparseness(Z - (Z @ G - F) / step, level) - Z
    # the largest remaining value where the curvature is small
    assert np.abs(moved).max() <= 1e-6 * Z.max()
    # the derivative along the length is zero
    assert_allclose((Z * (Z @ G - F)).sum(axis=1), 0, atol=1e-10 * np.abs(F).max())


@pytest.mark.certificate
@pytest.mark.parametrize(
    ("level", "units"), [(0.3, 0), (0.6, 0), (0.9, 0), (0.6, 2), (0.9, 2)]
)
def test_hardly_below_the_best_of_many_starts(level, units, seed):
    G, F = problem(seed, m=60, p=20, k=10, units=units)
    found = values(G, F, cone_codes(G, F, level))
    rng = np.random.default_rng(seed)
    best = found
    for _ in range(20):
        Z = project_sparseness(rng.uniform(size=F.shape) ** 3 * F / np.diag(G), level)
        start = values(G, F, Z)
        descend_cone(G, F, Z, level, rounds=100)
        assert (values(G, F, Z) <= start + 1e-12 * np.abs(start)).all()
        best = np.minimum(best, values(G, F, Z))
    assert found.sum() <= 0.997 * best.sum()  # both are negative
    assert (found > best + 1e-6 * np.abs(best)).mean() <= 0.12


@pytest.mark.certificate
def test_one_more_start_is_never_lost(seed):
    G, F = problem(seed, k=8)
    start = project_sparseness(np.random.default_rng(seed).uniform(size=F.shape), 0.7)
    start[:20] = cone_codes(G, F, 0.7)[:20]
    found = cone_codes(G, F, 0.7, start=start)
    assert (values(G, F, found) <= values(G, F, start) + 1e-12).all()


@pytest.mark.invariance
def test_a_gram_matrix_for_each_row_order_and_units(seed):
    rng = np.random.default_rng(seed)
    G, F = problem(seed)
    matrices = G * rng.uniform(0.5, 2, size=(len(F), 1, 1))
    Z = cone_codes(matrices, F, 0.6)
    alone = np.vstack([cone_codes(g, f[None], 0.6) for g, f in zip(matrices, F, strict=True)])
    assert_allclose(
        values_of_each(matrices, F, Z), values_of_each(matrices, F, alone), rtol=1e-2
    )
    rows = rng.permutation(len(F))
    whole = cone_codes(G, F, 0.6)
    assert_array_equal(cone_codes(G, F[rows], 0.6), whole[rows])
    assert_allclose(cone_codes(G / 1024, F / 32, 0.6), 32 * whole, rtol=1e-9)
    entries = rng.permutation(5)
    turned = cone_codes(G[np.ix_(entries, entries)], F[:, entries], 0.6)
    assert_allclose(turned, whole[:, entries], atol=1e-6 * whole.max())


def values_of_each(G, F, Z):
    return np.array([z @ g @ z / 2 - f @ z for g, f, z in zip(G, F, Z, strict=True)])


@pytest.mark.edge
@pytest.mark.parametrize("level", [0.2, 0.8])
def test_an_entry_that_costs_nothing_takes_what_is_lacking(level, seed):
    G, F = problem(seed, k=5)
    G[2] = 0
    G[:, 2] = 0
    F[:, 2] = 0
    Z = cone_codes(G, F, level)
    free = values(G, F, nnls(G, F).Z)
    reached = values(G, F, Z) <= free + 1e-9 * np.abs(free)
    # this always holds, unless there are too few entries for such a spread
    assert reached.all() or level < 0.5
    assert_allclose(sparseness(Z), level, atol=1e-12)


@pytest.mark.edge
@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_nothing_to_code(level):
    G, F = problem(0)
    assert_array_equal(cone_codes(G, np.zeros((3, 5)), level), 0)
    assert_array_equal(cone_codes(G, -F[:3], level), 0)
    assert_array_equal(cone_codes(np.zeros((5, 5)), np.zeros((3, 5)), level), 0)
    assert cone_codes(G, np.zeros((0, 5)), level).shape == (0, 5)
    tiny = cone_codes(G * 1e-150, F * 1e-150, level)
    assert_allclose(tiny, cone_codes(G, F, level), rtol=1e-6)
