"""Evidence that the central path of a noisy tall table leads to the optimum of pursuit."""

import numpy as np
import pytest
from numpy.linalg import norm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from skmoderndata._solvers.lowrank import central_path
from skmoderndata._solvers.lowrank.central_path import follow_path, solve_rows, weigh
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    principal_component_pursuit,
)
from skmoderndata.decomposition import RobustPCA
from tests.oracles import robust_pca as oracle


def noisy(shape=(400, 40), rank=2, noise=0.01, missing=0.0, seed=0):
    """Low rank, noise in all cells, 5 % gross errors, and missing cells."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    X += noise * X.std() * rng.normal(size=shape)
    wrong = rng.random(shape) < 0.05
    X[wrong] += 5 * X.std() * rng.choice([-1.0, 1.0], size=int(wrong.sum()))
    X[rng.random(shape) < missing] = np.nan
    return X


def rough(X, lam, n_passes=24):
    return principal_component_pursuit(X, lam=lam, schedule="ialm", max_iter=n_passes)


def definite(p, rng):
    A = rng.normal(size=(p, 2 * p))
    return A @ A.T / p


@pytest.mark.oracle
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_rows_match_coordinate_steps(missing, seed):
    rng = np.random.default_rng(seed)
    X = noisy((8, 6), missing=missing, seed=seed)
    M = definite(6, rng)
    lam = 0.3
    expected = oracle.rows_in_box(X, M, lam)
    first = np.where(np.isnan(X), 0.0, rng.uniform(-lam, lam, size=X.shape))
    for start in (first, lam * np.sign(first), np.zeros(X.shape)):
        point = solve_rows(X, np.nan_to_num(X), M, start, lam)
        assert_allclose(point.Y, expected, atol=1e-8)
    assert_allclose(point.R, X - expected @ M, atol=1e-7)
    inside = (np.abs(expected) < lam) & ~np.isnan(X)
    assert_array_equal(np.diff(point.cells.starts), inside.sum(axis=1))


@pytest.mark.oracle
def test_derivatives_of_f_match_differences(seed):
    rng = np.random.default_rng(seed)
    X = noisy((15, 6), seed=seed)
    M = definite(6, rng)
    D = definite(6, rng) - definite(6, rng)
    lam = 0.4
    step = 1e-6
    zero = np.zeros(X.shape)
    point, up, down = (solve_rows(X, X, M + t * D, zero, lam) for t in (0, step, -step))

    # the gradient is (I - Y'Y) / 2, and the Hessian comes from the free cells
    slope = (up.objective - down.objective) / (2 * step)
    assert_allclose(slope, np.vdot(np.eye(6) - point.C, D) / 2, rtol=1e-6)
    H = weigh(point.Y @ D, point.Y, *point.cells)
    assert_allclose((H + H.T) / 2, (down.C - up.C) / (4 * step), atol=1e-5)


@pytest.mark.certificate
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("noise", [1e-3, 0.3])
def test_optimum_of_the_augmented_lagrangian(noise, missing, seed):
    X = noisy(noise=noise, missing=missing, seed=seed)
    lam = 400**-0.5
    path = follow_path(X, rough(X, lam), lam=lam)
    passes = principal_component_pursuit(X, lam=lam, tol=1e-6, tol_gap=1e-5, max_iter=2000)
    assert path.converged
    assert path.gap <= 1e-6
    assert_allclose(path.objective, passes.objective, rtol=1e-5)

    # the certificate matches full decompositions, and the parts add up to X
    L = (path.U * path.s) @ path.Vt
    observed = ~np.isnan(X)
    filled = np.where(observed, X, L)
    assert oracle.relative_gap(filled, L, path.dual, lam) <= path.gap + 1e-9
    assert (path.dual[~observed] == 0).all()
    assert norm((X - L - path.sparse)[observed]) <= 1e-7 * norm(L)
    assert path.s.min() > 1e-4 * noise * norm(X[observed]) / X.size**0.5


@pytest.mark.certificate
def test_an_early_stop_leaves_a_large_but_true_gap(seed):
    X = noisy(seed=seed)
    lam = 400**-0.5
    stopped = follow_path(X, rough(X, lam), lam=lam, max_iter=1)
    L = (stopped.U * stopped.s) @ stopped.Vt
    assert not stopped.converged
    assert stopped.gap > 1e-6
    assert_allclose(oracle.relative_gap(X, L, stopped.dual, lam), stopped.gap, rtol=1e-6)


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_and_transposition(scale, seed):
    X = noisy(seed=seed)
    model = RobustPCA(algorithm="pcp").fit(X)
    scaled = RobustPCA(algorithm="pcp").fit(scale * X)
    wide = RobustPCA(algorithm="pcp").fit(np.ascontiguousarray(X.T))
    for other in (scaled, wide):
        assert other.dual_gap_ <= 1e-6
        assert other.n_iter_ < 70
        assert other.rank_ == model.rank_
    assert_allclose(scaled.objective_, scale * model.objective_, rtol=2e-6)
    assert_allclose(wide.objective_, model.objective_, rtol=2e-6)
    assert_allclose(wide.sparse_.T, model.sparse_, atol=1e-3 * np.abs(X).max())


@pytest.mark.edge
def test_tables_with_many_free_cells_are_left_to_the_passes(monkeypatch, seed):
    X = load_digits().data[:600]
    lam = 600**-0.5
    left = follow_path(X, rough(X, lam), lam=lam)
    assert not left.converged
    assert left.n_iter == 0

    # the passes reach the same optimum as the path
    X = noisy(seed=seed)
    by_path = RobustPCA(algorithm="pcp").fit(X)
    monkeypatch.setattr(central_path, "MOST_FREE", 0.0)
    by_passes = RobustPCA(algorithm="pcp").fit(X)
    assert by_path.n_iter_ < 70 < by_passes.n_iter_
    assert_allclose(by_path.objective_, by_passes.objective_, rtol=2e-6)


@pytest.mark.edge
def test_rows_that_take_too_long_end_the_path(monkeypatch, seed):
    X = noisy(seed=seed)
    lam = 400**-0.5
    start = rough(X, lam)
    monkeypatch.setattr(central_path, "fit_rows", lambda *_: (*[None] * 5, False))
    left = follow_path(X, start, lam=lam)
    assert not left.converged
    assert left.n_iter == 0
