"""Evidence that SVDD solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from skmoderndata.kernels import PSpectrum
from skmoderndata.ranking import NuSVOR
from skmoderndata.svm import L2SVC, L2SVR, SVDD, MinimumEnclosingBall
from tests.oracles import box_qp as oracle


def cloud(n=60, p=3, seed=0):
    return np.random.default_rng(seed).normal(1.0, 1.0, size=(n, p))


def squares(K, model):
    """Squared distances of the samples from the centre."""
    a = np.zeros(len(K))
    a[model.support_] = model.dual_coef_
    return np.diag(K) - 2 * K @ a + a @ K @ a, a


@pytest.mark.oracle
@pytest.mark.parametrize("nu", [0.0, 0.05, 0.2, 0.7])
def test_primal_problem(nu, seed):
    X = cloud(seed=seed)
    u = np.random.default_rng(seed).uniform(0.5, 2, 60)
    model = SVDD("poly", nu=nu, degree=2).fit(X, sample_weight=u)
    K = model._gram(X)
    costs = u / (nu * u.sum()) if nu else np.full(60, 50.0)
    value, r2 = oracle.ball_primal(K, costs)
    # the tolerance is the accuracy of a cone solver
    assert_allclose(model.objective_, value, rtol=1e-6)
    assert_allclose(model.radius_**2, r2, rtol=1e-4)  # the objective is flat in the radius


@pytest.mark.oracle
def test_steps_match_the_plain_loop(seed):
    K = polynomial_kernel(cloud(seed=seed), degree=2)
    n = len(K)
    nu = 0.2
    start = np.zeros(n)
    start[:12] = 1 / 12
    a = oracle.pairwise_steps(
        K, start, np.zeros(n), np.full(n, 1 / (nu * n)), np.zeros(n), -0.5 * np.diag(K), 0.0,
        [(0, n)], 1e-10,
    )  # fmt: skip
    model = SVDD("precomputed", nu=nu).fit(K)
    _, ours = squares(K, model)
    assert_allclose(ours @ K @ ours, a @ K @ a, rtol=1e-9)
    assert_allclose(K @ ours, K @ a, rtol=1e-7)


@pytest.mark.oracle
def test_matches_ball_from_cvxpy(seed):
    X = cloud(seed=seed)
    ours, theirs = (
        SVDD("linear", nu=0.2, solver=solver).fit(X) for solver in ("smo", "cvxpy")
    )
    assert theirs.dual_gap_ < 1e-6
    assert_allclose(theirs.center_, ours.center_, atol=1e-6)
    assert_allclose(theirs.radius_, ours.radius_, rtol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", [rbf_kernel, polynomial_kernel])
def test_one_class_machine_of_distances(kernel, seed):
    """For any kernel it is the one-class machine of the matrix ``-D^2 / 2``."""
    K = kernel(cloud(100, seed=seed))
    nu = 0.2
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    theirs = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9).fit(-D / 2)
    model = SVDD("precomputed", nu=nu).fit(K)
    d2, _ = squares(K, model)
    expected = theirs.decision_function(-D / 2) * 2 / (nu * 100)
    assert_allclose(model.radius_**2 - d2, expected, atol=1e-5 * np.diag(K).max())


@pytest.mark.oracle
def test_gaussian_kernel_is_the_one_class_machine(seed):
    X = cloud(200, seed=seed)
    ours = SVDD(nu=0.1).fit(X)
    theirs = OneClassSVM(nu=0.1, tol=1e-8).fit(X)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X) * 2 / 20, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("nu", [0.0, 1 / 300])
def test_hard_ball(nu, seed):
    X = cloud(300, seed=seed)
    ours = SVDD("linear", nu=nu, tol=1e-9).fit(X)
    theirs = MinimumEnclosingBall(tol=1e-10).fit(X)
    assert_allclose(ours.radius_, theirs.radius_, rtol=1e-6)
    # the radius is flat in the centre
    assert_allclose(ours.center_, theirs.center_, atol=1e-4)
    assert (ours.predict(X) == 1).all()


@pytest.mark.certificate
@pytest.mark.parametrize("n", [300, 2500])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_gap_and_conditions(kernel, n, seed):
    """KKT: inside without weight, outside with all of it; above 2000 in single precision."""
    X = cloud(n, seed=seed)
    for tol in (1e-2, 1e-4):
        model = SVDD(kernel, nu=0.15, tol=tol, degree=2).fit(X)
        K = model._gram(X)
        d2, a = squares(K, model)
        bound = 1 / (0.15 * n)
        dual = a @ np.diag(K) - a @ K @ a
        primal = model.radius_**2 + bound * np.maximum(0, d2 - model.radius_**2).sum()
        assert_allclose(model.objective_, primal, rtol=1e-7)
        assert_allclose(model.dual_gap_, (primal - dual) / primal, atol=1e-9)
        assert model.dual_gap_ <= tol
        assert_allclose(a.sum(), 1)
        assert a.min() >= 0
        assert a.max() <= bound * (1 + 1e-9)


@pytest.mark.certificate
@pytest.mark.parametrize("nu", [0.03, 0.1, 0.5, 0.9])
def test_nu_is_the_fraction_outside(nu, seed):
    X = cloud(200, seed=seed)
    model = SVDD(nu=nu).fit(X)
    assert (model.predict(X) == -1).sum() <= nu * 200
    assert len(model.support_) >= nu * 200


@pytest.mark.recovery
def test_novel_digits_under_a_polynomial_kernel():
    """Samples of unequal norm: the origin of the one-class machine has no meaning."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    for digit, least in ((0, 0.99), (3, 0.92), (8, 0.87)):
        train = np.flatnonzero(y == digit)[:100]
        test = np.setdiff1d(np.arange(len(y)), train)
        kernel = {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1, "nu": 0.1}
        auc = [
            roc_auc_score(
                y[test] == digit, cls(**kernel).fit(X[train]).decision_function(X[test])
            )
            for cls in (SVDD, OneClassSVM)
        ]
        assert auc[0] > max(least, auc[1] + 0.05)


@pytest.mark.invariance
def test_translation_order_weights_and_duplicates(seed):
    X = cloud(120, seed=seed)
    model = SVDD("linear", nu=0.2).fit(X)
    moved = SVDD("linear", nu=0.2).fit(X + 5)
    assert_allclose(moved.center_, model.center_ + 5, rtol=1e-6)
    order = np.random.default_rng(seed).permutation(120)
    same = SVDD("linear", nu=0.2).fit(X[order])
    assert_allclose(same.center_, model.center_, atol=1e-6)
    counts = np.random.default_rng(seed).integers(0, 3, 120)
    weighted = SVDD(nu=0.2).fit(X, sample_weight=counts)
    repeated = SVDD(nu=0.2).fit(X.repeat(counts, axis=0))
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X), atol=1e-8)
    assert_allclose(weighted.radius_, repeated.radius_, rtol=1e-8)
    assert counts[weighted.support_].all()


@pytest.mark.invariance
def test_precomputed_float32_and_strings(seed):
    X = cloud(100, seed=seed)
    model = SVDD("linear", nu=0.2).fit(X)
    single = SVDD("linear", nu=0.2).fit(X.astype(np.float32))
    assert_allclose(single.radius_, model.radius_, rtol=1e-6)
    K = rbf_kernel(X, gamma=0.3)
    gram = SVDD("precomputed", nu=0.2).fit(K)
    assert_allclose(
        gram.score_samples(K[:10]),
        SVDD(gamma=0.3, nu=0.2).fit(X).score_samples(X[:10]),
        atol=1e-8,
    )
    words = ["banana", "bananas", "ananas", "bandana", "cabana", "xyzzyx"]
    strange = SVDD(PSpectrum(2), nu=0.5).fit(words)
    assert strange.score_samples(words).argmin() == 5


@pytest.mark.edge
@pytest.mark.parametrize("X", [np.ones((1, 2)), np.zeros((6, 2)), np.full((5, 3), 4.0)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.filterwarnings("ignore:kernel='rbf' with gamma")
def test_one_sample_and_equal_samples(X, kernel):
    model = SVDD(kernel).fit(X)
    assert model.radius_ == pytest.approx(0, abs=1e-7)
    assert model.dual_gap_ < 1e-3
    assert (model.predict(X) == 1).all()
    assert (model.predict(X + 100) == -1).all()


@pytest.mark.edge
def test_all_weights_at_the_bound_give_radius_zero():
    model = SVDD("linear", nu=1.0).fit(cloud(50))
    assert model.radius_ == 0
    assert_allclose(model.dual_coef_, 1 / 50)
    assert_allclose(model.center_, cloud(50).mean(axis=0))


@pytest.mark.edge
def test_margin_enlarges_the_ball():
    X = cloud(100)
    model = SVDD(nu=0.2).fit(X)
    larger = SVDD(nu=0.2, margin=0.1).fit(X)
    assert_allclose(larger.decision_function(X), model.decision_function(X) + 0.1)
    assert (larger.predict(X) == -1).sum() < (model.predict(X) == -1).sum()


@pytest.mark.recovery
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_share_of_new_outliers(kernel, seed):
    """`contamination` moves the threshold and leaves the ball; chance of 500 samples held out."""
    X = cloud(4600, seed=seed)
    plain, model = (SVDD(kernel, contamination=c).fit(X[:600]) for c in ("auto", 0.05))
    assert plain.radius_ == model.radius_
    assert_array_equal(plain.dual_coef_, model.dual_coef_)
    assert_allclose(plain.offset_, -(plain.radius_**2), rtol=1e-8)
    share = (model.predict(X[600:]) == -1).mean()
    assert abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 500)
    larger = SVDD(kernel, contamination=0.05, margin=0.1).fit(X[:600])
    assert_allclose(larger.offset_, model.offset_ - 0.1)


@pytest.mark.recovery
def test_far_samples_that_lie_on_the_surface(seed):
    """Rows that are similar to none tie on the surface of the ball."""
    X = cloud(585, 5, seed=seed)
    X[-15:] += 30.0 * np.arange(1, 16)[:, None]
    ball = SVDD(nu=0.02, gamma=0.02, contamination=0.05)
    assert not (SVDD(nu=0.02, gamma=0.02).fit_predict(X)[-15:] == -1).all()
    flagged = ball.fit_predict(X) == -1
    assert flagged[-15:].all()
    weighted = ball.fit(X, sample_weight=np.full(585, 2.0))
    assert_array_equal(weighted.predict(X) == -1, flagged)


@pytest.mark.edge
def test_new_samples_of_a_precomputed_kernel_need_a_constant_diagonal():
    K = linear_kernel(cloud(50))
    model = SVDD("precomputed").fit(K)
    assert model.predict(K).shape == (50,)
    with pytest.raises(ValueError, match="kernel values of new samples with themselves"):
        model.predict(K[:5])


@pytest.mark.edge
def test_indefinite_kernel():
    K = -np.eye(20)
    K[0] = K[:, 0] = 3
    with pytest.raises(ValueError, match=r"not positive semi-definite.*SpectrumCorrector"):
        SVDD("precomputed").fit(K)


@pytest.mark.edge
def test_few_steps_warn_and_small_memory_does_not():
    X = cloud(2500)
    with pytest.warns(ConvergenceWarning, match="after 20 steps the relative duality gap is"):
        SVDD(nu=0.1, max_iter=20).fit(X)
    small = SVDD(nu=0.1, cache_size=0.001).fit(X)
    large = SVDD(nu=0.1).fit(X)
    assert_allclose(small.objective_, large.objective_, rtol=1e-3)  # the tolerance is `tol`


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    pipe = make_pipeline(StandardScaler(), SVDD())
    X = cloud(90)
    y = np.repeat([1, -1], [80, 10])
    X[80:] += 6
    grid = {"svdd__nu": [0.05, 0.3]}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(pipe, grid, cv=folds, scoring="roc_auc").fit(X, y)
    assert search.best_score_ > 0.8


@pytest.mark.edge
def test_sparse_input(seed):
    from scipy import sparse

    X = cloud(80, seed=seed) * (cloud(80, seed=seed + 1) > 1)
    for kernel in ("linear", "rbf"):
        dense = SVDD(kernel).fit(X)
        thin = SVDD(kernel).fit(sparse.csr_array(X))
        assert_array_equal(thin.support_, dense.support_)
        assert_allclose(
            thin.score_samples(sparse.csr_array(X)), dense.score_samples(X), atol=1e-9
        )


@pytest.mark.certificate
@pytest.mark.parametrize("tol", [1e-3, 1e-9, 1e-15, 1e-17])
@pytest.mark.parametrize(
    "machine", [SVDD(), L2SVC(), L2SVR(), L2SVR(epsilon=0), NuSVOR()], ids=repr
)
def test_a_gap_above_the_tolerance_warns(machine, tol, seed):
    """Also where it is rounding after the last steps, and nowhere else."""
    X, t = make_friedman1(120, 5, noise=1.0, random_state=seed)
    machine.set_params(tol=tol)
    y = t if isinstance(machine, L2SVR) else np.digitize(t, np.quantile(t, [0.5]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert warned == (machine.dual_gap_ > tol)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("machine", "attribute"), [(L2SVR(), "coef_"), (L2SVC(), "coef_"), (SVDD(), "center_")]
)
def test_another_kernel_leaves_no_linear_weights(machine, attribute):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.sign(X[:, 0])
    machine.set_params(kernel="linear").fit(X, y)
    assert hasattr(machine, attribute)
    machine.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(machine, attribute)
