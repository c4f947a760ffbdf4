"""Evidence that L2SVR solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVR

from skmoderndata.kernels import PSpectrum
from skmoderndata.svm import L2SVR
from tests.oracles import box_qp as oracle


def curve(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)


@pytest.mark.oracle
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("C", [0.1, 20.0])
def test_primal_problem(C, epsilon, seed):
    X, y = curve(seed=seed)
    u = np.random.default_rng(seed).uniform(0.3, 2, 80)
    model = L2SVR(C, gamma=0.5, epsilon=epsilon).fit(X, y, sample_weight=u)
    K = rbf_kernel(X, gamma=0.5)
    value, f, b = oracle.squared_tube_with_offset(K, y, C * u, epsilon)
    assert_allclose(model.objective_, value, rtol=1e-6)
    assert_allclose(model.predict(X), f + b, atol=1e-3)  # the tolerance is the root of `tol`


@pytest.mark.oracle
def test_steps_match_the_plain_loop(seed):
    X, y = curve(seed=seed)
    K = rbf_kernel(X, gamma=0.5)
    n = len(y)
    wide = np.full(n, np.inf)
    a = oracle.pairwise_steps(
        K, np.zeros(n), -wide, wide, np.full(n, 0.25), -y, 0.2, [(0, n)], 1e-10
    )
    model = L2SVR(2.0, gamma=0.5, epsilon=0.2).fit(X, y)
    assert_allclose(model.predict(X) - model.intercept_, K @ a, atol=1e-8)
    assert_array_equal(model.support_, np.flatnonzero(a))


@pytest.mark.oracle
@pytest.mark.parametrize("n", [200, 2500])
def test_libsvm_on_the_matrix_with_a_ridge(n, seed):
    X, y = curve(n, seed=seed)
    K = rbf_kernel(X, gamma=0.5)
    theirs = SVR(kernel="precomputed", C=1e8, epsilon=0.2, tol=1e-7).fit(K + np.eye(n) / 4, y)
    values = K[:, theirs.support_] @ theirs.dual_coef_[0] + theirs.intercept_
    ours = L2SVR(2.0, gamma=0.5, epsilon=0.2, tol=1e-9).fit(X, y)
    assert_allclose(ours.predict(X), values, atol=1e-4)


@pytest.mark.oracle
def test_linear_kernel(seed):
    X, y = curve(150, seed=seed)
    theirs = LinearSVR(
        C=0.7, epsilon=0.2, intercept_scaling=1e3, tol=1e-10, max_iter=100_000,
        loss="squared_epsilon_insensitive", dual=False,
    ).fit(X, y)  # fmt: skip
    ours = L2SVR(0.7, "linear", epsilon=0.2).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert_allclose(ours.predict(X), X @ ours.coef_ + ours.intercept_)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [100, 3100])
def test_no_tube_is_a_bordered_system(n, seed):
    """Cholesky up to 3000 samples, pairwise steps above."""
    X, y = curve(n, seed=seed)
    K = rbf_kernel(X, gamma=0.5)
    system = np.block(
        [[K + np.eye(n) / 4, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
    )
    solution = np.linalg.solve(system, np.r_[y, 0.0])
    model = L2SVR(2.0, gamma=0.5, epsilon=0.0, tol=1e-3 if n == 100 else 1e-7).fit(X, y)
    assert model.dual_gap_ <= 1e-7
    # with more than 3000 samples, the tolerance is the root of `tol`
    assert_allclose(
        model.predict(X), K @ solution[:-1] + solution[-1], atol=1e-9 if n == 100 else 5e-3
    )


@pytest.mark.oracle
def test_matches_function_from_cvxpy(seed):
    X, y = curve(seed=seed)
    ours, theirs = (L2SVR(2.0, solver=solver).fit(X, y) for solver in ("smo", "cvxpy"))
    assert theirs.dual_gap_ < 1e-6
    assert_allclose(theirs.predict(X), ours.predict(X), atol=1e-4)


@pytest.mark.certificate
@pytest.mark.parametrize("n", [150, 2500])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_gap_and_excess(n, C, seed):
    """``|a| = 2 C u`` times the excess over the tube, and the gap matches the two problems."""
    X, y = curve(n, seed=seed)
    u = np.random.default_rng(seed).uniform(0.3, 2, n)
    for tol in (1e-2, 1e-4):
        model = L2SVR(C, gamma=0.5, epsilon=0.3, tol=tol).fit(X, y, sample_weight=u)
        f = model.predict(X)
        a = np.zeros(n)
        a[model.support_] = model.dual_coef_
        assert abs(a.sum()) < 1e-8 * np.abs(a).sum()
        norm = a @ (f - model.intercept_)
        excess = np.maximum(0, np.abs(y - f) - 0.3)
        primal = 0.5 * norm + C * u @ excess**2
        dual = y @ a - 0.3 * np.abs(a).sum() - 0.5 * norm - a @ (a / (4 * C * u))
        assert_allclose(model.objective_, primal, rtol=1e-5)
        assert_allclose(model.dual_gap_, (primal - dual) / primal, atol=1e-5)
        assert model.dual_gap_ <= tol
    if n == 150:
        assert_allclose(np.abs(a), 2 * C * u * excess, atol=1e-7)


@pytest.mark.recovery
def test_curve_and_diabetes():
    X, y = curve(500)
    model = L2SVR(10.0, epsilon=0.3).fit(X, y)
    truth = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    assert np.abs(model.predict(X) - truth).mean() < 0.1
    assert len(model.support_) < 250
    X, y = load_diabetes(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), L2SVR(1.0, gamma=0.01, epsilon=10.0))
    assert pipe.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.48


@pytest.mark.invariance
def test_shift_order_weights_and_kernels(seed):
    X, y = curve(seed=seed)
    model = L2SVR(2.0, gamma=0.5).fit(X, y)
    shifted = L2SVR(2.0, gamma=0.5).fit(X, y + 1e6)
    assert_allclose(shifted.predict(X), model.predict(X) + 1e6, rtol=1e-13)
    order = np.random.default_rng(seed).permutation(80)
    same = L2SVR(2.0, gamma=0.5).fit(X[order], y[order])
    assert_allclose(same.predict(X), model.predict(X), atol=1e-8)
    K = rbf_kernel(X, gamma=0.5)
    counts = np.random.default_rng(seed).integers(0, 3, 80)
    weighted = L2SVR(2.0, "precomputed").fit(K, y, sample_weight=counts)
    repeated = L2SVR(2.0, gamma=0.5).fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_allclose(weighted.predict(K), repeated.predict(X), atol=1e-8)


@pytest.mark.invariance
def test_sparse_single_precision_and_strings(seed):
    X, y = curve(seed=seed)
    X[X < 0.3] = 0
    model = L2SVR(3.0, gamma=0.3).fit(X, y)
    thin = L2SVR(3.0, gamma=0.3).fit(sparse.csr_array(X), y)
    assert_allclose(thin.predict(X), model.predict(X), atol=1e-8)
    single = L2SVR(3.0, gamma=0.3).fit(X.astype(np.float32), y)
    assert_allclose(single.predict(X), model.predict(X), atol=1e-4)
    words = ["a", "aa", "aaa", "aaaa", "aaaaa"]
    text = L2SVR(1e3, PSpectrum(1), epsilon=0.0).fit(words, [1, 2, 3, 4, 5])
    assert_allclose(text.predict(["aaaaaa"]), 6, atol=0.01)


@pytest.mark.edge
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 5.0])
def test_tube_wider_than_the_data(epsilon):
    X, y = curve(60)
    y = np.clip(y, 0, 2)
    model = L2SVR(epsilon=max(epsilon, 1.0)).fit(X, y)
    assert len(model.support_) == 0
    assert_allclose(model.predict(X), 1.0)
    constant = L2SVR(epsilon=epsilon).fit(X, np.full(60, 3.0))
    assert_allclose(constant.predict(X), 3.0)
    assert constant.dual_gap_ == 0


@pytest.mark.edge
def test_one_sample_and_duplicates():
    assert_allclose(L2SVR().fit([[1.0]], [2.0]).predict([[5.0]]), 2.0)
    X = np.repeat([[0.0], [1.0]], 4, axis=0)
    y = np.tile([0.0, 1.0], 4)
    assert_allclose(L2SVR(epsilon=0.0).fit(X, y).predict([[0.0], [1.0]]), 0.5)


@pytest.mark.edge
def test_raises_on_invalid_input():
    X, y = curve(40)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        L2SVR(1e3, "precomputed").fit(np.ones((40, 40)) - 5 * np.eye(40), y)
    with pytest.raises(ValueError, match="weights"):
        L2SVR().fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="at most 2000 samples"):
        L2SVR(solver="cvxpy").fit(*curve(2001))
    with pytest.raises(ValueError, match="The 'epsilon' parameter"):
        L2SVR(epsilon=-1.0).fit(X, y)


@pytest.mark.edge
def test_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match="after 20 steps the relative duality gap is"):
        L2SVR(max_iter=20).fit(*curve(600))


@pytest.mark.edge
def test_grid_search_in_a_pipeline():
    X, y = curve(120)
    pipe = make_pipeline(StandardScaler(), L2SVR())
    assert GridSearchCV(pipe, {"l2svr__C": [0.1, 10]}, cv=3).fit(X, y).best_score_ > 0.7
