"""Evidence that the convex problems are stated as printed."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmoderndata._solvers.common import convex_problems
from tests.oracles.support_feature_machine import linear_program


def least_of_all_bases(A, y, weights, positive):
    """A linear program has a solution with as few non-zeros as equations: try all supports."""
    best = np.inf
    for support in combinations(range(A.shape[1]), len(y)):
        a = np.linalg.solve(A[:, support], y)
        if not positive or a.min() >= -1e-12:
            best = min(best, np.abs(a) @ weights[list(support)])
    return best


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_basis_pursuit_is_the_best_of_all_supports(positive, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 8))
    weights = rng.uniform(0.5, 2, 8)
    y = A @ np.abs(rng.normal(size=8))
    stated = convex_problems.basis_pursuit(A, y, weights=weights, positive=positive)
    assert convex_problems.solve(stated, solver="HIGHS")
    assert_allclose(
        stated.problem.value, least_of_all_bases(A, y, weights, positive), rtol=1e-7
    )
    assert_allclose(A @ stated.variable.value, y, atol=1e-7)
    # the multiplier is the dual variable: |A'v| <= w, or A'v <= w
    slopes = A.T @ -stated.constraint.dual_value
    assert ((slopes if positive else np.abs(slopes)) <= weights + 1e-7).all()


@pytest.mark.oracle
def test_denoising_is_the_lasso_whose_residual_meets_the_bound(seed):
    """Optimality conditions: slopes of the residual at their largest where coefficients are."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 10))
    y = rng.normal(size=6)
    bound = 0.3 * np.linalg.norm(y)
    stated = convex_problems.basis_pursuit_denoising(A, y, bound)
    assert convex_problems.solve(stated, solver="CLARABEL", **convex_problems.ACCURATE)
    a = stated.variable.value
    r = y - A @ a
    assert_allclose(np.linalg.norm(r), bound, rtol=1e-7)
    slopes = A.T @ r / np.abs(A.T @ r).max()
    used = np.abs(a) > 1e-6
    # the tolerance is the accuracy of the interior point method
    assert_allclose(slopes[used], np.sign(a[used]), atol=1e-6)


@pytest.mark.oracle
def test_ball_of_a_triangle_and_of_an_obtuse_one(seed):
    """Around an acute triangle goes its circumscribed circle, else the longest side is enough."""
    angle = np.array([0.3, 2.2, 4.4]) + seed
    acute = 1.7 * np.c_[np.cos(angle), np.sin(angle)]
    obtuse = np.array([[-1.0, 0.0], [1.0, 0.0], [0.2, 0.3]])
    for points, radius in ((acute, 1.7), (obtuse, 1.0)):
        v = (points**2).sum(axis=1)
        stated = convex_problems.simplex_program(points.T, v)
        assert convex_problems.solve(stated, solver="CLARABEL", **convex_problems.ACCURATE)
        a = stated.variable.value / 3
        assert_allclose(a.sum(), 1, rtol=1e-7)
        assert_allclose(v @ a - ((points.T @ a) ** 2).sum(), radius**2, rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("centers", [False, True])
def test_separation_is_the_program_with_absolute_values(soft, centers, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 30))
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    costs = rng.uniform(0.5, 2, 30)
    slack_cost = np.full(20, 0.7) if soft else None
    margin = 0.0 if centers else 1.0
    w, _, value = linear_program(
        X, y, costs, margin=margin, centers=centers, slack_cost=slack_cost
    )
    direction = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0) if centers else None
    stated = convex_problems.sparse_separation(
        X * y[:, None], y, costs, margin=margin, direction=direction, slack_cost=slack_cost
    )
    assert convex_problems.solve(stated, solver="HIGHS")
    assert_allclose(stated.problem.value, value, rtol=1e-7)
    up, down, _ = stated.variable
    assert_allclose(up.value - down.value, w, atol=1e-7)


@pytest.mark.edge
def test_problems_without_a_solution_raise():
    stated = convex_problems.basis_pursuit(np.eye(2), np.array([1.0, -1.0]), positive=True)
    assert not convex_problems.solve(stated, solver="HIGHS")
