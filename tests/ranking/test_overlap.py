"""Evidence that NuSVOR ends soon, and at the optimum, on ranks that overlap."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata._solvers.common.tolerances import RESULT_ROUNDING
from skmoderndata._solvers.margins.nu_ranking import nu_ranking_by_cvxpy
from skmoderndata._solvers.margins.ranking_interior import interior_point
from skmoderndata._solvers.margins.simplex_qp import gram_factor
from skmoderndata.ranking import NuSVOR
from skmoderndata.ranking._nu_svor import largest_nu, segments_of
from tests.common.clock import processor_time
from tests.oracles.nu_ranking import ranking_primal

N = 150


def in_ranks(values, n_ranks):
    return np.digitize(values, np.quantile(values, np.arange(1, n_ranks) / n_ranks))


def overlapping():
    """Twelve tables of 150 rows: Gaussian, random, rounded and real, some with wrong ranks."""
    rng = np.random.default_rng(0)
    tables = {}

    X = rng.normal(size=(N, 4))
    value = X @ rng.normal(size=4)
    tables["noisy_line"] = X, in_ranks(value + 1.5 * rng.normal(size=N), 4)
    tables["noisier_line"] = X, in_ranks(value + 5.0 * rng.normal(size=N), 4)
    tables["random_in_two_columns"] = rng.normal(size=(N, 2)), rng.integers(0, 4, N)
    tables["random_in_five_columns"] = rng.normal(size=(N, 5)), rng.integers(0, 5, N)
    X = rng.integers(0, 4, size=(N, 2)).astype(float)
    tables["grid"] = X, in_ranks(X.sum(axis=1) + rng.normal(size=N), 3)
    tables["random_on_a_grid"] = (
        rng.integers(0, 3, size=(N, 3)).astype(float),
        rng.integers(0, 3, N),
    )
    X = rng.uniform(-2, 2, size=(N, 1))
    tables["wave"] = X, in_ranks(np.sin(2 * X[:, 0]) + 0.8 * rng.normal(size=N), 4)

    X, y = load_iris(return_X_y=True)
    tables["iris_sepals"] = X[:, :2], y
    tables["iris_permuted"] = X, rng.permutation(y)
    drawn = rng.integers(0, N, N)
    wrong = rng.uniform(size=N) < 0.3
    tables["iris_drawn"] = X[drawn], np.where(wrong, rng.integers(0, 3, N), y[drawn])
    X, y = load_wine(return_X_y=True)
    rows = rng.permutation(len(X))[:N]
    tables["wine"] = X[rows, :3], y[rows]
    X, y = load_diabetes(return_X_y=True)
    rows = rng.permutation(len(X))[:N]
    tables["diabetes"] = X[rows], in_ranks(y[rows], 5)
    return tables


TABLES = overlapping()


def problem(name, fraction):
    """Kernel matrix of sorted samples, segments and bounds, for a fraction of the largest nu."""
    X, y = TABLES[name]
    order = np.argsort(y, kind="stable")
    ranks = np.unique(y[order], return_inverse=True)[1]
    segments = segments_of(ranks)
    weights = np.ones(N)
    limit, total = largest_nu(weights, segments)
    K = rbf_kernel(X[order], gamma=1.0 / (X.shape[1] * X.var()))
    return K, ranks, segments, weights / (fraction * limit * total)


@pytest.mark.edge
@pytest.mark.parametrize("name", TABLES)
def test_defaults_end_within_two_seconds(name):
    X, y = TABLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the gap is below the tolerance
        warnings.filterwarnings("ignore", message=".*the margin is zero")
        warnings.filterwarnings("ignore", message=".*thresholds are not in order")
        NuSVOR().fit(X[::3], y[::3])  # compile the loops
        assert processor_time(lambda: NuSVOR().fit(X, y)) < 2.0


@pytest.mark.oracle
@pytest.mark.parametrize("name", TABLES)
def test_objective_is_the_one_of_the_cone_solver(name):
    K, _, segments, bounds = problem(name, 0.9)
    theirs = nu_ranking_by_cvxpy(gram_factor(K), segments, bounds, enforced=False, tol=1e-6)
    ours = interior_point(K, segments, bounds, tol=RESULT_ROUNDING, flat=1e-5)
    unit = max(theirs.margin, 1e-5)
    assert abs(ours.certified.objective - theirs.objective) < 1e-5 * unit
    assert ours.certified.gap < 1e-6


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["noisy_line", "iris_drawn", "wine"])
def test_interior_point_solves_the_primal_problem(name):
    K, ranks, segments, bounds = problem(name, 0.8)
    ours = interior_point(K, segments, bounds, tol=RESULT_ROUNDING, flat=1e-5)
    value, f, b, margin = ranking_primal(K, ranks, bounds)
    found = ours.certified
    assert_allclose(found.objective, value, rtol=1e-5)
    assert_allclose(K @ (ours.upper + ours.lower) / found.norm, f, atol=1e-4)
    assert_allclose(found.margin, margin, rtol=1e-3)
    assert_allclose(found.thresholds, b, atol=1e-3)


@pytest.mark.certificate
@pytest.mark.parametrize("fraction", [0.3, 0.7, 0.9])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_interior_points_are_feasible_and_tight_in_all_units(fraction, scale):
    K, _, segments, bounds = problem("noisy_line", fraction)
    flat = 1e-5 * np.sqrt(scale)
    found = interior_point(scale * K, segments, bounds, tol=RESULT_ROUNDING, flat=flat)
    assert found.certified.gap < 1e-8
    assert found.n_iter < 30
    assert ((found.upper >= 0) & (found.upper <= bounds)).all()
    assert ((found.lower <= 0) & (found.lower >= -bounds)).all()
    for (first, last), (start, stop) in pairwise(segments):
        missing = found.upper[start:stop].sum() + found.lower[first:last].sum()
        assert abs(missing) < 1e-7
    assert_allclose(found.upper.sum() - found.lower.sum(), 1.0, atol=1e-7)


@pytest.mark.edge
@pytest.mark.parametrize("nu", [0.2, 0.3])
def test_overlap_beyond_nu_ends_at_a_margin_of_zero(nu):
    X, y = TABLES["iris_permuted"]
    with pytest.warns(UserWarning, match="the margin is zero"):
        model = NuSVOR(nu).fit(X, y)
    assert model.n_iter_ < 200 * N
