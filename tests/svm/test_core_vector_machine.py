"""Evidence that CoreVectorMachine solves the problem it states."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from skmoderndata import CoreVectorMachine
from skmoderndata._kernelized.expansion import KernelRows, scale_gamma
from skmoderndata._kernelized.gram import resolve_kernel
from skmoderndata._solvers.margins.certificates import (
    gap_to_margin,
    scaled_squared_hinge,
    tube_gap,
)
from skmoderndata._solvers.margins.core import Core
from skmoderndata._solvers.margins.core_problems import SignedRows
from skmoderndata._solvers.margins.simplex_qp import (
    active_set,
    ball_steps,
    gram_factor,
    pairwise_descent,
    simplex_by_cvxpy,
    simplex_gap,
    simplex_qp,
)
from tests.oracles import core_set as oracle


def board(n=400, seed=0):
    X = np.random.default_rng(seed).uniform(0, 4, size=(n, 2))
    return X, X.astype(int).sum(axis=1) % 2


def noisy(n=200, p=5, seed=0):
    return make_classification(n, p, n_redundant=0, flip_y=0.1, random_state=seed)


def quadratic_program(m=40, c=100.0, seed=0):
    X, y = board(m, seed)
    signs = 2.0 * y - 1
    K = np.outer(signs, signs) * (rbf_kernel(X, gamma=4) + 1) + np.eye(m) / c
    return np.ascontiguousarray(K), np.random.default_rng(seed).normal(size=m) * 1e-3


# oracle: a different computation gives the same result


@pytest.mark.oracle
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1, 1: 5}])
def test_linear_support_vector_machine(C, class_weight, seed):
    X, y = noisy(300, 5, seed)
    theirs = LinearSVC(
        C=C, class_weight=class_weight, dual=False, tol=1e-12, max_iter=100_000
    ).fit(X, y)
    ours = CoreVectorMachine(C, kernel="linear", class_weight=class_weight, tol=1e-13).fit(
        X, y
    )
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


@pytest.mark.oracle
def test_linear_support_vector_machine_beyond_the_exact_size(seed):
    X, y = noisy(1500, 5, seed)
    theirs = LinearSVC(C=1, dual=False, tol=1e-12, max_iter=100_000).fit(X, y)
    ours = CoreVectorMachine(kernel="linear", tol=1e-13, random_state=seed).fit(X, y)
    assert ours.dual_gap_ <= 1e-13
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("scaling", [0.5, 3.0])
def test_primal_with_scaled_offset_and_weights(scaling, seed):
    X, y = noisy(60, 3, seed)
    w = np.random.default_rng(seed).uniform(0.2, 3, 60)
    Z = (2 * y - 1)[:, None] * np.c_[X, np.full(60, scaling)]
    value, beta = oracle.squared_hinge_primal(Z, 2 * 0.7 * w)
    model = CoreVectorMachine(0.7, kernel="linear", intercept_scaling=scaling).fit(X, y, w)
    assert_allclose(
        model.coef_[0], beta[:-1], atol=1e-5
    )  # the tolerance is the accuracy of the quasi-Newton method
    assert_allclose(model.intercept_[0], scaling * beta[-1], atol=1e-5)
    assert_allclose(model.objective_, value, rtol=1e-8)
    without = CoreVectorMachine(0.7, kernel="linear", fit_intercept=False).fit(X, y, w)
    value, beta = oracle.squared_hinge_primal(Z[:, :-1], 2 * 0.7 * w)
    assert_allclose(without.coef_[0], beta, atol=1e-5)
    assert_array_equal(without.intercept_, 0)


@pytest.mark.oracle
def test_squared_hinge_with_a_kernel(seed):
    """SVC with a huge C on `K + delta / (2 C)` is the same problem, except for the free offset."""
    X, y = board(150, seed)
    C = 5.0
    K = rbf_kernel(X, gamma=2)
    theirs = SVC(kernel="precomputed", C=1e10, tol=1e-8).fit(K + np.eye(150) / (2 * C), y)
    free = theirs.decision_function(K)
    ours = CoreVectorMachine(C, gamma=2, intercept_scaling=300.0, tol=1e-13).fit(
        X, y
    )  # the offset is nearly free
    # an offset b adds b^2 / 90000 to the objective
    assert_allclose(ours.decision_function(X), free, atol=2e-3)


@pytest.mark.oracle
def test_matches_function_from_cvxpy(seed):
    X, y = board(120, seed)
    ours = CoreVectorMachine(10, gamma=2, tol=1e-13).fit(X, y)
    theirs = CoreVectorMachine(10, gamma=2, solver="cvxpy").fit(X, y)
    assert theirs.dual_gap_ <= 1e-10
    assert_allclose(theirs.objective_, ours.objective_, rtol=1e-8)
    # |w - w*|^2 / 2 <= P(w) - P*, and |f(x) - f*(x)|^2 <= |w - w*|^2 (k(x, x) + 1); the gap of
    # each machine, or rounding, bounds P(w) - P*
    lost = ours.objective_ * (ours.dual_gap_ + theirs.dual_gap_ + 1e-14)
    atol = 2.0 * np.sqrt(lost)
    assert_allclose(theirs.decision_function(X), ours.decision_function(X), atol=atol)


@pytest.mark.oracle
@pytest.mark.parametrize("m", [1, 2, 30, 256, 600])  # blocks have 256 samples
def test_pairwise_descent_matches_plain_steps(m, seed):
    K, v = quadratic_program(m, seed=seed)
    # the matrix does not contain the signs
    y = np.sign(np.random.default_rng(seed).normal(size=m))
    # half the gradient takes both signs
    a = np.full(m, 1 / m)
    start = -5 * v
    tol = 1e-7 if m <= 30 else 1e-5
    reference, steps = oracle.pairwise_steps(K, a, K @ a + start, tol)
    ours = a.copy()
    g = K @ a + start
    count = pairwise_descent(
        np.outer(y, y) * K, y, K.diagonal().copy(), ours, g, m, tol, 100_000
    )
    assert count == steps
    assert_allclose(ours, reference, atol=1e-12)
    assert_allclose(g, K @ ours + start, atol=1e-13)


@pytest.mark.oracle
def test_core_keeps_its_matrix(seed):
    """Grow in uneven steps, forget some, grow again: always the matrix of the problem."""
    X, y = board(400, seed)
    rows = KernelRows(resolve_kernel("rbf", X, gamma=4), X)
    problem = SignedRows(rows, np.where(y == 1, 1, -1), 10.0, bias=1.0, diagonal=1.0)
    rng = np.random.default_rng(seed)
    order = rng.permutation(400)

    core = Core(problem, order[:2])
    first = 2
    for size in (1, 5, 40, 7, 120):
        core.add(order[first : first + size])
        first += size
        core.solve(1e-5)
        if size == 40:
            core.drop(0.0)
            look = core.K  # the matrix is read while it grows
            before = look.copy()

        signs = problem.signs[core.indices]
        K = np.outer(signs, signs) * (rbf_kernel(X[core.indices], gamma=4) + 1) / 2
        K[np.diag_indices(len(K))] += 1 / (10.0 * 2)
        assert_allclose(core.K, K, atol=1e-12)
        assert_allclose(core.g, K @ core.a, atol=1e-12)

    assert_array_equal(look, before)

    # updated scores equal recomputed scores
    units = np.arange(400)
    a = core.a
    values = core.scorer()(units, exact=True)
    core.add(order[first : first + 3])

    moved = np.argsort(core.a)[-2:]  # only few of the samples with weight are scored
    change = 0.3 * core.a[moved[0]] * np.array([-1.0, 1.0])
    core.a = core.a.copy()
    core.a[moved] += change
    core.a[-1] = core.a[moved[1]]
    core.a[moved[1]] = 0.0

    before = rows.n_evaluations
    updated = core.update(values, units, a, exact=True)
    assert rows.n_evaluations - before == 3 * 400
    assert_allclose(updated, core.scorer()(units, exact=True), atol=1e-13)
    assert np.abs(updated - values).max() > 1e-3


@pytest.mark.oracle
def test_support_of_a_singular_matrix(seed):
    """Repeated samples without a slack: a ridge makes the Cholesky factorisation possible."""
    F = np.random.default_rng(seed).normal(size=(3, 12))
    K = np.ascontiguousarray(F.T @ F)
    a = active_set(K, np.zeros(12), np.full(12, 1 / 12), tol=1e-9)
    reference = simplex_by_cvxpy(gram_factor(K), np.zeros(12))
    assert abs(a @ K @ a - reference @ K @ reference) < 1e-6 * K.max()


@pytest.mark.oracle
def test_shifted_ball_matches_plain_steps(seed):
    K, _ = quadratic_program(30, seed=seed)
    # points far away are equally far from a single point, so start where no two distances are
    # equal
    kappa = K[0, 0]
    a = np.random.default_rng(seed).dirichlet(np.ones(30))
    reference = oracle.shifted_ball(K, a, kappa, 0.05)
    ours = a.copy()
    g = ball_steps(K, ours, 30, kappa, 0.05)
    assert_allclose(ours, reference, atol=1e-10)
    assert_allclose(g, K @ ours, rtol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("exact", [True, False])
def test_kernel_expansions_in_blocks(kernel, exact, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 3)) + 3
    gram = resolve_kernel(kernel, X, gamma=0.3)
    rows = KernelRows(gram, X)
    coef = rng.normal(size=20)
    values = rows.values(rows.expansion(np.arange(20), coef), slice(5, 70), exact=exact)
    reference = gram(X[5:], X[:20]) @ coef
    # this step may use single precision
    assert_allclose(
        values, reference, rtol=1e-10 if exact else 1e-4, atol=1e-12 if exact else 1e-4
    )
    assert_allclose(rows.matrix(np.arange(4), np.arange(9)), gram(X[:4], X[:9]), rtol=1e-12)
    assert_allclose(rows.diag(slice(0, 9)), gram(X[:9]).diagonal(), rtol=1e-12)
    assert rows.n_evaluations == 36 + (65 if kernel == "linear" else 65 * 20)


# certificate: the result is optimal


@pytest.mark.certificate
@pytest.mark.parametrize("solver", ["core_set", "cvxpy", "ball"])
def test_gap_matches_primal_and_dual(solver, seed):
    X, y = board(300, seed)
    with warnings.catch_warnings():
        # the ball reaches half of the margin
        warnings.simplefilter("ignore", ConvergenceWarning)
        tol = 0.05 if solver == "ball" else 1e-9
        model = CoreVectorMachine(20, gamma=4, solver=solver, tol=tol).fit(X, y)
    signs = 2 * y - 1
    C = 20
    rest = np.maximum(0, 1 - signs * model.decision_function(X))
    K = rbf_kernel(X[model.support_], gamma=4) + 1
    beta = model.dual_coef_[0]
    primal = 0.5 * beta @ K @ beta + C * rest @ rest
    # max over t of  t |beta| - t^2 (beta' K beta + |beta|^2 / (2 C)) / 2
    dual = 0.5 * np.abs(beta).sum() ** 2 / (beta @ K @ beta + beta @ beta / (2 * C))
    assert_allclose(model.objective_, dual, rtol=1e-9)
    assert dual <= primal * (1 + 1e-12)
    assert_allclose(model.dual_gap_, (primal - dual) / primal, atol=1e-9)
    if solver != "ball":
        assert model.dual_gap_ < 1e-8


@pytest.mark.certificate
def test_optimality_conditions(seed):
    """`a_i = c xi_i` and the offset is the sum of the coefficients."""
    X, y = board(300, seed)
    model = CoreVectorMachine(20, gamma=4, tol=0).fit(X, y)
    slack = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
    assert_allclose(np.abs(model.dual_coef_[0]), 2 * 20 * slack[model.support_], atol=1e-7)
    assert slack[np.setdiff1d(np.arange(300), model.support_)].max() < 1e-9
    rounding = 1e-13 * np.abs(model.dual_coef_).sum()
    assert_allclose(model.intercept_[0], model.dual_coef_[0].sum(), atol=rounding)
    assert_allclose(np.abs(model.dual_coef_).sum() * model.rho_[0], 1, rtol=1e-9)


@pytest.mark.certificate
@pytest.mark.parametrize("tol", [0.3, 0.05, 1e-3, 1e-6])
def test_tolerance_is_reached_and_bounds_the_error(tol, seed):
    X, y = board(3000, seed)
    model = CoreVectorMachine(50, gamma=4, tol=tol, random_state=seed).fit(X, y)
    best = CoreVectorMachine(50, gamma=4, tol=1e-9, random_state=seed).fit(X, y)
    assert model.dual_gap_ <= tol
    assert (1 - tol) * best.objective_ <= model.objective_
    assert model.objective_ <= best.objective_ * (1 + 1e-8)


@pytest.mark.certificate
def test_quadratic_programs_three_ways(seed):
    K, v = quadratic_program(seed=seed)
    start = np.full(40, 1 / 40)
    for a in (
        simplex_qp(K, v, start, tol=1e-13).a,
        active_set(K, v, start, tol=1e-12),
    ):
        assert simplex_gap(K, v, a) < 1e-11
    assert simplex_gap(K, v, simplex_by_cvxpy(gram_factor(K), v)) < 1e-7
    assert simplex_gap(K, v, start) > 1e-4


@pytest.mark.certificate
def test_steps_among_few_variables_reach_the_optimum_over_all(seed):
    X, labels = board(800, seed)
    y = np.where(labels == labels[0], 1.0, -1.0)
    K = rbf_kernel(X, gamma=4) + 1.0
    K[np.diag_indices(800)] += 0.02
    a = np.full(800, 1 / 800)
    v = np.zeros(800)
    found = simplex_qp(K, v, a, tol=1e-9, signs=y)
    assert found.converged
    # most steps have then changed only some of the weights
    assert 0 < np.count_nonzero(found.a) < 200
    Q = K * y * y[:, None]
    assert_allclose(found.gradient, Q @ found.a, atol=1e-13)
    assert simplex_gap(Q, v, found.a) <= 4e-9


@pytest.mark.certificate
def test_one_dimensional_minimisers(seed):
    rng = np.random.default_rng(seed)
    f = rng.normal(0.3, 1, 50)
    cost = rng.uniform(0.1, 2, 50)

    def hinge(s):
        return 0.5 * s * s * 1.7 + 0.5 * cost @ np.maximum(0, 1 - s * f) ** 2

    value, s = scaled_squared_hinge(f, cost, 1.7)
    assert_allclose(hinge(s), value, rtol=1e-12)
    assert min(hinge(t) for t in np.linspace(0, 3, 2000)) >= value - 1e-12
    assert gap_to_margin(value, 1e9) > 0.99

    def tube(width):
        return 0.5 * cost @ np.maximum(0, np.abs(f) - width) ** 2 + 4.0 * width

    gap, width = tube_gap(f, cost, 0.0, 4.0, 0.0)
    assert gap == 1.0
    assert min(tube(t) for t in np.linspace(0, 3, 2000)) >= tube(width) - 1e-12


@pytest.mark.certificate
def test_ball_machine_reaches_half_of_the_margin(seed):
    """`g >= (|c|^2 - (2 eps + eps^2) kappa) / 2` for all points."""
    X, y = board(300, seed)
    eps = 1e-6
    model = CoreVectorMachine(50, gamma=4, solver="ball", radius_tol=eps).fit(X, y)
    best = CoreVectorMachine(50, gamma=4).fit(X, y)
    kappa = 2 + 1 / 100
    a = np.zeros(300)
    a[model.support_] = np.abs(model.dual_coef_[0]) / np.abs(model.dual_coef_[0]).sum()
    signs = 2 * y - 1
    K = np.outer(signs, signs) * (rbf_kernel(X, gamma=4) + 1) + np.eye(300) / 100
    assert_allclose(a @ K @ a, model.rho_[0], rtol=1e-9)
    assert (K @ a).min() >= 0.5 * (a @ K @ a - (2 * eps + eps**2) * kappa) - 1e-12
    assert model.rho_[0] >= best.rho_[0] * (1 - 1e-9)
    assert (model.predict(X) == y).mean() > 0.95


# paper and recovery: known answers


@pytest.mark.paper
def test_two_points():
    """Closed form: x = y = +-1, `rho = 1 + 1 / (2 c)`, `w = 1`, for margins of weights 1/2."""
    X = [[-1.0], [1.0]]
    y = [0, 1]
    for C in (0.5, 5.0):
        model = CoreVectorMachine(C, kernel="linear").fit(X, y)
        rho = 1 + 1 / (4 * C)
        assert_allclose(model.rho_, rho, rtol=1e-12)
        assert_allclose(model.coef_, 1 / rho, rtol=1e-12)
        assert_allclose(model.intercept_, 0, atol=1e-12)


@pytest.mark.recovery
@pytest.mark.parametrize("settings", [{}, {"radius_tol": 1e-6}, {"batch_size": 1}])
def test_checkerboard(settings, seed):
    X, y = board(5000, seed)
    model = CoreVectorMachine(50, gamma=4, random_state=seed, **settings).fit(X, y)
    new, truth = board(5000, seed + 1000)
    assert model.score(new, truth) > 0.982
    assert len(model.support_) < 700


@pytest.mark.recovery
@pytest.mark.slow
def test_numbers_of_the_checkerboard_at_ten_thousand():
    """About 560 core vectors, 0.7 % test error at `radius_tol=1e-6`, as the original library."""
    X, y = board(10_000)
    model = CoreVectorMachine(50, gamma=4, radius_tol=1e-6, batch_size=1, random_state=0).fit(
        X, y
    )
    new, truth = board(100_000, 1000)
    assert 350 < len(model.support_) < 700
    assert model.score(new, truth) > 0.99


# invariance: what must not matter


@pytest.mark.invariance
def test_order_labels_and_kernel_spelling(seed):
    X, y = board(200, seed)
    new = board(50, seed + 1)[0]
    settings = {"C": 10, "random_state": seed, "tol": 1e-13}
    scores = CoreVectorMachine(gamma=4, **settings).fit(X, y).decision_function(new)

    order = np.random.default_rng(seed).permutation(200)
    same = CoreVectorMachine(gamma=4, **settings).fit(X[order], y[order])
    assert_allclose(same.decision_function(new), scores, atol=1e-7)

    named = CoreVectorMachine(gamma=4, **settings).fit(X, np.array(["no", "yes"])[y])
    assert set(named.predict(new)) == {"no", "yes"}
    assert_allclose(named.decision_function(new), scores, atol=1e-9)

    flipped = CoreVectorMachine(gamma=4, **settings).fit(X, 1 - y)
    assert_allclose(flipped.decision_function(new), -scores, atol=1e-7)

    thing = CoreVectorMachine(kernel=RBF(np.sqrt(1 / 8)), **settings).fit(X, y)
    assert_allclose(thing.decision_function(new), scores, atol=1e-7)
    call = CoreVectorMachine(kernel=rbf_kernel, kernel_params={"gamma": 4}, **settings).fit(
        X, y
    )
    assert_allclose(call.decision_function(new), scores, atol=1e-7)

    gram = CoreVectorMachine(kernel="precomputed", **settings).fit(rbf_kernel(X, gamma=4), y)
    assert_allclose(gram.decision_function(rbf_kernel(new, X, gamma=4)), scores, atol=1e-7)
    assert gram.support_vectors_.size == 0


@pytest.mark.invariance
def test_weights_are_repetitions(seed):
    X, y = board(120, seed)
    counts = np.random.default_rng(seed).integers(0, 4, 120)
    weighted = CoreVectorMachine(5, gamma=4, tol=1e-13).fit(X, y, counts)
    repeated = CoreVectorMachine(5, gamma=4, tol=1e-13).fit(
        X.repeat(counts, axis=0), y.repeat(counts)
    )
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-7)
    assert (counts[weighted.support_] > 0).all()
    gammas = (
        scale_gamma("scale", "rbf", X, counts),
        scale_gamma("scale", "rbf", X.repeat(counts, axis=0)),
    )
    assert_allclose(*gammas, rtol=1e-12)
    repeated = X.repeat(counts, axis=0)
    assert_allclose(gammas[0], 1 / (2 * repeated.var()), rtol=1e-12)
    assert_allclose(scale_gamma("scale", "rbf", sparse.csr_array(X), counts), gammas[0])


@pytest.mark.invariance
def test_sparse_rows_float32_threads_and_memory_maps(seed, tmp_path):
    X, y = board(2500, seed)
    new = board(50, seed + 1)[0]
    settings = {"C": 10, "gamma": 4.0, "random_state": seed, "tol": 1e-8}
    model = CoreVectorMachine(**settings).fit(X, y)
    scores = model.decision_function(new)
    rows = CoreVectorMachine(**settings).fit(sparse.csr_array(X), y)
    assert_allclose(
        rows.decision_function(sparse.csr_array(new)), scores, atol=1e-3
    )  # the tolerance is the root of `tol`
    two = CoreVectorMachine(**settings, n_jobs=2).fit(X, y)
    assert_array_equal(two.decision_function(new), scores)
    single = CoreVectorMachine(**settings).fit(X.astype(np.float32), y)
    # X is in single precision
    assert_allclose(single.decision_function(new), scores, atol=1e-2)
    assert single.support_vectors_.dtype == np.float32
    mapped = np.memmap(tmp_path / "X", np.float64, "w+", shape=X.shape)
    mapped[:] = X
    assert_array_equal(
        CoreVectorMachine(**settings).fit(mapped, y).decision_function(new), scores
    )


@pytest.mark.invariance
@pytest.mark.parametrize("n", [300, 2200])  # use a matrix over all samples, or stored rows
def test_classes_in_threads_match_sequential_classes(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[y]
    one = CoreVectorMachine(random_state=seed).fit(X, y)
    two = CoreVectorMachine(random_state=seed, n_jobs=2).fit(X, y)
    assert one.solver_ == ("core_set" if n == 300 else "coordinate_descent")
    for name in ("dual_coef_", "intercept_", "core_indices_"):
        assert_array_equal(getattr(two, name), getattr(one, name))
    for name in ("n_kernel_evaluations_", "n_iter_", "dual_gap_"):
        assert getattr(two, name) == getattr(one, name)


@pytest.mark.invariance
def test_several_classes_are_each_against_the_rest(seed):
    X, y = load_iris(return_X_y=True)
    model = CoreVectorMachine(2, gamma=0.3).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    for label in range(3):
        alone = CoreVectorMachine(2, gamma=0.3).fit(X, y == label)
        assert_allclose(scores[:, label], alone.decision_function(X), atol=1e-7)
    assert model.n_support_.sum() == len(model.support_)
    assert model.score(X, y) > 0.95


@pytest.mark.invariance
def test_warm_start_reaches_the_same_solution(seed):
    X, y = board(3000, seed)
    cold = CoreVectorMachine(20, gamma=4, tol=1e-8, random_state=0).fit(X, y)
    warm = CoreVectorMachine(10, gamma=4, tol=1e-8, random_state=0, warm_start=True).fit(X, y)
    warm.set_params(C=20).fit(X, y)
    assert_allclose(warm.objective_, cold.objective_, rtol=1e-7)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.n_kernel_evaluations_ < cold.n_kernel_evaluations_


# edge: what happens at the border


@pytest.mark.edge
def test_one_class_and_one_sample():
    X, y = board(20)
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        CoreVectorMachine().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        CoreVectorMachine().fit(X[:1], y[:1])
    model = CoreVectorMachine().fit(X[:3], ["a", "b", "c"], sample_weight=[1, 1, 0])
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert_array_equal(model.n_support_, [1, 1, 0])
    assert "c" not in model.predict(X)


@pytest.mark.edge
def test_contradicting_duplicates():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = CoreVectorMachine(1, gamma=1).fit(X, [0, 1, 0, 1])
    assert_allclose(model.decision_function(X), 0, atol=1e-12)
    assert len(model.support_) == 4
    model = CoreVectorMachine(1, gamma=1).fit(X, [0, 1, 0, 1], sample_weight=[3, 1, 1, 1])
    assert model.decision_function([[0.0]])[0] < 0


@pytest.mark.edge
def test_rejects_invalid_kernels():
    X, y = board(60)

    def indefinite(A, B):
        return -np.abs(A[:, :1] - B[:, 0]) + 0.5 * np.outer(A[:, 1], B[:, 1]) * 0

    with pytest.raises(ValueError, match="not positive semi-definite"):
        CoreVectorMachine(1000, kernel=lambda A, B: -rbf_kernel(A, B)).fit(X, y)
    with pytest.raises(ValueError, match=r"not positive semi-definite.*smaller"):
        CoreVectorMachine(1000, kernel="sigmoid", gamma=1, coef0=-4).fit(X, y)
    with pytest.raises(ValueError, match="not symmetric"):
        CoreVectorMachine(kernel=lambda A, B: A[:, :1] + 2 * B[:, 0]).fit(X, y)
    with pytest.raises(ValueError, match="not finite"):
        CoreVectorMachine(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)
    # -|x - z| is negative definite up to a constant, and a small C turns it into a kernel
    assert CoreVectorMachine(1e-3, kernel=indefinite).fit(X, y).dual_gap_ < 1e-6


@pytest.mark.edge
def test_zero_diagonal_and_constant_features():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [2.0, 0.5]])
    model = CoreVectorMachine(1, kernel="linear").fit(X, [0, 0, 1, 1])
    theirs = LinearSVC(C=1, dual=False, tol=1e-12).fit(X, [0, 0, 1, 1])
    assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-6)
    zeros = CoreVectorMachine(kernel="linear", fit_intercept=False).fit(
        np.zeros((4, 2)), [0, 0, 1, 1]
    )
    assert_array_equal(zeros.decision_function(X), 0)
    X, y = board(100)
    plain = CoreVectorMachine(gamma=4).fit(X, y).decision_function(X)
    wider = np.c_[X, np.full(100, 7.0)]
    assert_allclose(
        CoreVectorMachine(gamma=4).fit(wider, y).decision_function(wider), plain, atol=1e-7
    )


@pytest.mark.edge
@pytest.mark.parametrize(
    "settings",
    [
        {"tol": -1.0},
        {"radius_tol": 0.0},
        {"C": 0.0},
        {"max_core": 1},
        {"sample_size": 0},
        {"cache_size": 0},
    ],
    ids=repr,
)
def test_raises_on_invalid_parameters(settings):
    X, y = board(30)
    with pytest.raises(ValueError, match=f"The '{next(iter(settings))}' parameter"):
        CoreVectorMachine(**settings).fit(X, y)


@pytest.mark.edge
def test_raises_on_invalid_values():
    X, y = board(30)
    with pytest.raises(ValueError, match="NaN"):
        CoreVectorMachine().fit(X * np.nan, y)
    with pytest.raises(ValueError, match="weights"):
        CoreVectorMachine().fit(X, y, sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match="got kernel='linear'"):
        CoreVectorMachine(kernel="linear", solver="ball").fit(X, y)
    with pytest.raises(ValueError, match="got weights"):
        CoreVectorMachine(solver="ball").fit(X, y, sample_weight=np.arange(30))


@pytest.mark.edge
def test_warns_at_iteration_limits():
    X, y = board(3000)
    with pytest.warns(ConvergenceWarning, match="with 50 core samples.*increase max_core"):
        model = CoreVectorMachine(50, gamma=4, max_core=50, random_state=0).fit(X, y)
    assert len(model.core_indices_) == 50
    assert model.dual_gap_ > 0.05
    with pytest.warns(ConvergenceWarning, match="after 3 solutions.*increase max_iter"):
        assert CoreVectorMachine(50, gamma=4, max_iter=3).fit(X, y).n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="tolerates violations of the margin"):
        CoreVectorMachine(50, gamma=4, radius_tol=1e-3, random_state=0).fit(X, y)


@pytest.mark.edge
def test_search_and_calibration():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), CoreVectorMachine())
    grid = {
        "corevectormachine__C": [0.1, 10.0],
        "corevectormachine__kernel": ["rbf", "linear"],
    }
    assert GridSearchCV(pipe, grid, cv=3).fit(X, y).best_score_ > 0.9
    inner = {"kernel__length_scale": [0.1, 1.0]}
    search = GridSearchCV(CoreVectorMachine(kernel=RBF()), inner, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__length_scale": 1.0}
    p = CalibratedClassifierCV(CoreVectorMachine(), cv=3).fit(X, y).predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)


# memory: the matrix of the core set has a budget


def flipped(n, seed=0):
    X, y = board(n, seed)
    noise = np.random.default_rng(seed + 1).random(n) < 0.05
    return X, np.where(noise, 1 - y, y)


@pytest.mark.oracle
@pytest.mark.parametrize("cache_size", [0.05, 0.5])  # the caches hold 81 and 256 rows
def test_working_sets_match_the_full_matrix(cache_size, seed):
    X, y = flipped(1500, seed)
    settings = {"C": 0.5, "gamma": 4, "tol": 1e-8, "random_state": seed}
    whole = CoreVectorMachine(**settings).fit(X, y)
    parts = CoreVectorMachine(**settings, cache_size=cache_size).fit(X, y)
    assert len(parts.support_) > 500
    assert parts.dual_gap_ <= 1e-8
    assert_allclose(parts.objective_, whole.objective_, rtol=1e-6)
    # the tolerance is the root of `tol`
    assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-3)


@pytest.mark.certificate
@pytest.mark.parametrize("sizes", [(2, 60, 40, 100), (150, 100)])
def test_core_without_a_matrix_keeps_its_gradient(sizes, seed):
    """Beyond the limit: weights, gradient and diagonal still match the matrix."""
    X, y = board(400, seed)
    rows = KernelRows(resolve_kernel("rbf", X, gamma=4), X)
    problem = SignedRows(rows, np.where(y == 1, 1, -1), 10.0, bias=1.0, diagonal=1.0)
    order = np.random.default_rng(seed).permutation(400)
    core = Core(problem, order[: sizes[0]], limit=80)
    first = sizes[0]

    for size in sizes[1:]:
        core.add(order[first : first + size])
        first += size
        core.solve(1e-6)
        core.drop(0.0)
        signs = problem.signs[core.indices]
        K = np.outer(signs, signs) * (rbf_kernel(X[core.indices], gamma=4) + 1) / 2
        K[np.diag_indices(len(K))] += 1 / (10.0 * 2)
        assert_allclose(core.g, K @ core.a, atol=1e-12)
        assert core.g[core.a > 0].max() - core.g.min() <= 1e-6
        assert_allclose(core.a.sum(), 1, rtol=1e-12)

    assert not core.held
    followed = core.g.copy()
    core.refresh()
    assert_allclose(core.g, followed, atol=1e-13)


@pytest.mark.invariance
def test_warm_start_with_more_than_the_memory_holds(seed):
    X, y = flipped(1500, seed)
    settings = {"gamma": 4, "tol": 1e-6, "cache_size": 0.5, "random_state": 0}
    cold = CoreVectorMachine(0.5, **settings).fit(X, y)
    warm = CoreVectorMachine(0.4, warm_start=True, **settings).fit(X, y)
    warm.set_params(C=0.5).fit(X, y)
    assert_allclose(warm.objective_, cold.objective_, rtol=1e-6)
    assert warm.n_iter_ < cold.n_iter_


@pytest.mark.edge
def test_noise_stays_within_the_memory_allowed():
    """10,000 samples with 5 % of the labels flipped: 4700 core samples, a matrix of 170 MB."""
    X, y = flipped(10_000)
    CoreVectorMachine(gamma=4).fit(X[:500], y[:500])  # compile the loops
    tracemalloc.start()
    model = CoreVectorMachine(0.5, gamma=4, cache_size=20, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert len(model.core_indices_) > 4000
    assert model.dual_gap_ <= 0.05
    # the peak of the memory consists of the cache, blocks of scores, and a block of kernel values
    assert peak < 80


@pytest.mark.edge
def test_ball_without_room_warns():
    X, y = board(1500)
    with pytest.warns(ConvergenceWarning, match="increase cache_size"):
        CoreVectorMachine(50, gamma=4, solver="ball", radius_tol=1e-7, cache_size=0.01).fit(
            X, y
        )


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:CoreVectorMachine depends on the scales")
@pytest.mark.parametrize("ratio", [1e8, 1e12])
@pytest.mark.parametrize("random_state", range(4))
def test_columns_of_different_size_are_named(ratio, random_state):
    X, y = noisy(300, 4)
    X[:, 0] = np.random.default_rng(0).normal(size=300) * ratio
    with pytest.warns(
        ConvergenceWarning, match=r"scale X, whose columns differ.*by a factor of"
    ):
        CoreVectorMachine(kernel="linear", random_state=random_state).fit(X, y)


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e-110, 1e300])
def test_costs_beyond_the_range_are_rejected(scale):
    X, y = board(30)
    with pytest.raises(ValueError, match="C times sample_weight"):
        CoreVectorMachine().fit(X, y, sample_weight=np.full(30, scale))
