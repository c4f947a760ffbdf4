"""Evidence that MinimumEnclosingBall solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._solvers.margins.enclosing_ball import InputPoints, ball_gap, enclosing_ball
from skmoderndata.svm import MinimumEnclosingBall
from tests.oracles import core_set as oracle


def cloud(n=80, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


# oracle: a different computation gives the same result


@pytest.mark.oracle
@pytest.mark.parametrize("p", [1, 2, 5])
def test_cone_program(p, seed):
    X = cloud(60, p, seed) + 10.0
    radius, center = oracle.ball_by_cone(X)
    ball = MinimumEnclosingBall(tol=1e-9).fit(X)
    assert_allclose(ball.radius_, radius, rtol=1e-7)
    # the tolerance is the root of the accuracy of the radius
    assert_allclose(ball.center_, center, atol=1e-4)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_steps_of_badoiu_and_clarkson(seed):
    X = cloud(60, 4, seed)
    for n_steps in (1, 7, 300):
        ball = MinimumEnclosingBall(solver="badoiu_clarkson", tol=1e-9, max_iter=n_steps).fit(
            X
        )
        assert ball.n_iter_ == n_steps
        assert_allclose(ball.center_, oracle.badoiu_clarkson(X, n_steps), atol=1e-12)


@pytest.mark.oracle
def test_cone_program_with_heights(seed):
    X = cloud(50, 2, seed)
    heights = np.random.default_rng(seed).uniform(0, 3, 50)
    radius, center = oracle.ball_by_cone(X, heights)
    ball = MinimumEnclosingBall(tol=1e-9).fit(X, heights=heights)
    assert_allclose(ball.radius_, radius, rtol=1e-7)
    # the tolerance is the root of the accuracy of the radius
    assert_allclose(ball.center_, center, atol=1e-4)
    assert (ball.predict(X, heights) == 1).all()
    assert ball.radius_ > MinimumEnclosingBall().fit(X).radius_


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("solver", "tol"), [("away_steps", 1e-7), ("badoiu_clarkson", 0.02), ("cvxpy", 1e-6)]
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_solvers_agree(solver, tol, kernel, seed):
    X = cloud(70, 3, seed)
    exact = MinimumEnclosingBall(kernel, tol=1e-9).fit(X)
    ball = MinimumEnclosingBall(kernel, solver=solver, tol=tol, max_iter=50_000).fit(X)
    assert ball.dual_gap_ <= tol
    assert exact.radius_lower_ <= ball.radius_ * (1 + 1e-12)
    assert_allclose(ball.radius_, exact.radius_, rtol=tol)
    assert_array_equal(ball.core_indices_, np.unique(ball.core_indices_))


@pytest.mark.oracle
def test_linear_kernels_of_any_kind_give_the_ball_of_input_space(seed):
    X = cloud(60, 3, seed)
    direct = MinimumEnclosingBall(tol=1e-9).fit(X)
    for kernel, data in [(lambda A, B: A @ B.T, X), ("precomputed", X @ X.T)]:
        ball = MinimumEnclosingBall(kernel, tol=1e-9).fit(data)
        assert_allclose(ball.radius_, direct.radius_, rtol=1e-8)
        assert_array_equal(ball.support_, direct.support_)
        assert_allclose(ball.score_samples(data), direct.score_samples(X), rtol=1e-6)


# certificate: no smaller ball


@pytest.mark.certificate
@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-8])
def test_bounds_hold_the_smallest_radius(tol, seed):
    X = cloud(200, 8, seed)
    ball = MinimumEnclosingBall(tol=tol).fit(X)
    exact = MinimumEnclosingBall(tol=1e-12).fit(X)
    assert ball.radius_lower_ <= exact.radius_ * (1 + 1e-12)
    assert ball.radius_ >= exact.radius_lower_ * (1 - 1e-12)
    assert_allclose(ball.dual_gap_, ball.radius_ / ball.radius_lower_ - 1, atol=1e-12)
    distances = np.linalg.norm(X - ball.center_, axis=1)
    assert_allclose(ball.radius_, distances.max(), rtol=1e-12)
    a = ball.dual_coef_
    assert_allclose(a.sum(), 1, rtol=1e-12)
    assert (a > 0).all()
    lower = a @ (X[ball.support_] ** 2).sum(axis=1) - np.sum((a @ X[ball.support_]) ** 2)
    assert_allclose(ball.radius_lower_, np.sqrt(lower), rtol=1e-9)


@pytest.mark.certificate
def test_support_lies_on_the_surface(seed):
    X = cloud(300, 4, seed)
    ball = MinimumEnclosingBall(tol=1e-10).fit(X)
    distances = np.linalg.norm(X[ball.support_] - ball.center_, axis=1)
    assert_allclose(distances, ball.radius_, rtol=1e-7)
    assert len(ball.support_) <= 5


@pytest.mark.certificate
def test_gap_distinguishes_good_from_bad_solutions(seed):
    X = cloud(100, 5, seed)
    few = enclosing_ball(InputPoints(X), solver="away_steps", max_iter=3)
    many = enclosing_ball(InputPoints(X))
    assert not few.converged
    assert few.gap > 1e-3
    assert many.gap < 1e-6
    assert ball_gap(np.array([4.0, 1.0]), 1.0) == 1.0
    assert ball_gap(np.zeros(3), 0.0) == 0.0


# paper and recovery: known answers


@pytest.mark.paper
@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_corners_of_the_simplex(n):
    """Badoiu and Clarkson 2003: centre in the mean, `r^2 = 1 - 1/n`."""
    ball = MinimumEnclosingBall().fit(np.eye(n))
    assert_allclose(ball.radius_, np.sqrt(1 - 1 / n), rtol=1e-7)
    assert_allclose(ball.center_, 1 / n, atol=1e-7)
    assert len(ball.support_) == n


@pytest.mark.paper
@pytest.mark.parametrize("eps", [0.3, 0.1, 0.03, 0.01])
def test_size_of_the_core_set(eps, seed):
    """Badoiu and Clarkson 2003: `ceil(2 / eps)` furthest points are enough, in any dimension."""
    X = cloud(2000, 100, seed)
    ball = MinimumEnclosingBall(tol=eps, batch_size=1).fit(X)
    assert ball.dual_gap_ <= eps
    assert len(ball.core_indices_) <= np.ceil(2 / eps) + 2


@pytest.mark.recovery
def test_planted_ball(seed):
    rng = np.random.default_rng(seed)
    center = rng.normal(size=4)
    D = rng.normal(size=(500, 4))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    inside = D[8:] * rng.uniform(0, 2.9, size=(492, 1))
    X = center + np.vstack([3 * D[:4], -3 * D[:4], inside])  # place pairs on opposite sides
    ball = MinimumEnclosingBall(tol=1e-10).fit(X)
    assert_allclose(ball.center_, center, atol=1e-6)
    assert_allclose(ball.radius_, 3.0, rtol=1e-8)
    assert set(ball.support_) <= set(range(8))


# invariance: what must not matter


@pytest.mark.invariance
def test_rotation_shift_scale_order_and_repeats(seed):
    rng = np.random.default_rng(seed)
    X = cloud(100, 3, seed)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    ball = MinimumEnclosingBall(tol=1e-10).fit(X)
    moved = MinimumEnclosingBall(tol=1e-10).fit(5 * X @ Q + 1e5)
    assert_allclose(moved.radius_, 5 * ball.radius_, rtol=1e-8)
    # the error is relative to 1e5
    assert_allclose(moved.center_, 5 * ball.center_ @ Q + 1e5, atol=1e-4)
    order = rng.permutation(100)
    assert_allclose(MinimumEnclosingBall().fit(X[order]).radius_, ball.radius_, rtol=1e-6)
    assert_allclose(
        MinimumEnclosingBall().fit(np.vstack([X, X])).radius_, ball.radius_, rtol=1e-6
    )


@pytest.mark.invariance
def test_sampling_exact_search_sparse_and_float32_give_the_same_ball(seed):
    X = cloud(3000, 5, seed)
    radius = MinimumEnclosingBall().fit(X).radius_
    sampled = MinimumEnclosingBall(algorithm="sampling", random_state=seed).fit(X)
    assert_allclose(sampled.radius_, radius, rtol=2e-6)
    assert_allclose(MinimumEnclosingBall().fit(sparse.csr_array(X)).radius_, radius, rtol=2e-6)
    assert_allclose(
        MinimumEnclosingBall().fit(X.astype(np.float32)).radius_, radius, rtol=1e-5
    )


@pytest.mark.invariance
def test_kernel_by_name_object_and_matrix(seed):
    X = cloud(80, 3, seed)
    balls = [
        MinimumEnclosingBall("rbf", gamma=0.5).fit(X),
        MinimumEnclosingBall(RBF(1.0)).fit(X),
        MinimumEnclosingBall("precomputed").fit(rbf_kernel(X, gamma=0.5)),
        MinimumEnclosingBall("rbf", gamma=0.5, n_jobs=2).fit(X),
    ]
    for ball in balls[1:]:
        assert_allclose(ball.radius_, balls[0].radius_, rtol=1e-6)
    new = cloud(20, 3, seed + 100)
    assert_allclose(balls[1].score_samples(new), balls[0].score_samples(new), atol=1e-5)


# edge: what happens at the border


@pytest.mark.edge
@pytest.mark.parametrize("solver", ["core_set", "away_steps", "badoiu_clarkson", "cvxpy"])
@pytest.mark.parametrize("X", [np.full((1, 3), 2.0), np.full((5, 2), 7.3), np.zeros((4, 2))])
def test_ball_of_radius_zero(solver, X):
    ball = MinimumEnclosingBall(solver=solver).fit(X)
    assert ball.radius_ <= 1e-12
    assert_allclose(ball.center_, X[0], atol=1e-12)
    assert (ball.predict(X) == 1).all()


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e90, 1e-90])
def test_huge_and_tiny(scale, seed):
    X = cloud(50, 3, seed)
    ball = MinimumEnclosingBall().fit(X)
    scaled = MinimumEnclosingBall().fit(X * scale)
    assert_allclose(scaled.radius_ / scale, ball.radius_, rtol=1e-6)


@pytest.mark.edge
def test_end_before_the_tolerance():
    with pytest.warns(ConvergenceWarning, match="after 5 steps of solver='away_steps'"):
        ball = MinimumEnclosingBall(solver="away_steps", max_iter=5).fit(cloud(200, 5))
    assert ball.n_iter_ == 5
    assert ball.dual_gap_ > 1e-6


@pytest.mark.edge
def test_raises_on_invalid_input():
    X = cloud(10)
    with pytest.raises(ValueError, match="NaN"):
        MinimumEnclosingBall().fit(np.where(X > 1, np.nan, X) * np.nan)
    with pytest.raises(
        ValueError, match="heights must contain one finite number for each of 10"
    ):
        MinimumEnclosingBall().fit(X, heights=[1.0])
    with pytest.raises(ValueError, match="kernel values of new samples with themselves"):
        MinimumEnclosingBall("precomputed").fit(X @ X.T).predict(X[:3] @ X.T)
    with pytest.raises(ValueError, match="at most 2000 samples"):
        MinimumEnclosingBall("rbf", solver="cvxpy").fit(cloud(2001))


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X = cloud(120)
    pipe = make_pipeline(StandardScaler(), MinimumEnclosingBall("rbf"))
    grid = {"minimumenclosingball__gamma": [0.1, 1.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(pipe, grid, cv=3).fit(X)
    assert 0 <= search.best_score_ <= 1


@pytest.mark.edge
@pytest.mark.parametrize("seed_of_circle", [7, 9, 13])
@pytest.mark.parametrize("n", [40, 100])
def test_points_on_a_circle(n, seed_of_circle):
    """The inner products of the many points on the sphere are singular."""
    X = np.random.default_rng(seed_of_circle).normal(size=(n, 2))
    X /= np.linalg.norm(X, axis=1)[:, None]
    ball = MinimumEnclosingBall(random_state=0).fit(X)
    assert ball.dual_gap_ <= 1e-6
    assert_allclose(ball.radius_, 1.0, rtol=1e-2)
