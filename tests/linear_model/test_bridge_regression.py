"""Evidence that BridgeRegression solves the problem it states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._solvers.codes.bridge import shrink
from skmoderndata.linear_model import BridgeRegression
from tests.oracles.bridge_regression import local_quadratic, objective, one_coefficient


def data(seed, n=80, p=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3) + 2
    y = X[:, 0] - 2 * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n) + 5
    return X, y


@pytest.mark.oracle
@pytest.mark.parametrize("q", [1.0, 1.1, 1.5, 1.9, 2.0, 3.0, 6.0])
def test_one_coefficient_on_a_grid(q, seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        z, a, penalty = rng.exponential(size=3)
        assert_allclose(shrink(z, a, penalty, q), one_coefficient(z, a, penalty, q), atol=1e-8)


@pytest.mark.oracle
def test_lasso_and_ridge(seed):
    X, y = data(seed)
    lasso = Lasso(alpha=0.1, tol=1e-12).fit(X, y)
    model = BridgeRegression(0.1, exponent=1, tol=1e-12).fit(X, y)
    assert_allclose(model.coef_, lasso.coef_, atol=1e-7)
    assert_allclose(model.intercept_, lasso.intercept_, rtol=1e-7)
    model = BridgeRegression(0.1, exponent=2, tol=1e-12).fit(X, y)
    ridge = Ridge(alpha=2 * 80 * 0.1).fit(X, y)
    assert_allclose(model.coef_, ridge.coef_, atol=1e-6)
    positive = BridgeRegression(0.1, exponent=1, positive=True, tol=1e-12).fit(X, y)
    wanted = Lasso(alpha=0.1, positive=True, tol=1e-12).fit(X, y)
    assert_allclose(positive.coef_, wanted.coef_, atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("q", [1.3, 1.7])
def test_ridge_regressions_with_changing_weights(q, seed):
    X, y = data(seed)
    model = BridgeRegression(0.1, exponent=q, tol=1e-13).fit(X, y)
    # the exponent q - 2 is negative at zero
    assert_allclose(model.coef_, local_quadratic(X, y, 0.1, q), atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("q", [1.5, 3.0])
def test_cvxpy(q, seed):
    cp = pytest.importorskip("cvxpy")
    X, y = data(seed)
    b = cp.Variable(8)
    b0 = cp.Variable()
    loss = cp.sum_squares(y - X @ b - b0) / 160 + 0.2 * cp.sum(cp.power(cp.abs(b), q))
    cp.Problem(cp.Minimize(loss)).solve(solver="CLARABEL")
    model = BridgeRegression(0.2, exponent=q, tol=1e-12).fit(X, y)
    found = objective(X, y, model.coef_, model.intercept_, 0.2, q)
    assert_allclose(found, loss.value, rtol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("q", [0.3, 0.5, 0.8])
def test_exhaustive_search_below_one(q, seed):
    """With orthogonal features each coefficient is the least value of a scalar function."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(60, 7)) - 0.1)[0]
    Q = np.linalg.qr(Q - Q.mean(axis=0))[0] * np.sqrt(60)
    c = np.array([3.0, -2.0, 1.5, 0.1, -0.05, 0.02, 0.6])
    y = Q @ c
    alpha = 0.3
    model = BridgeRegression(alpha, exponent=q, tol=1e-10).fit(Q, y)
    wanted = np.array([one_coefficient(z, 1.0, alpha, q) for z in c])
    clear = np.abs(c) > 1  # near the threshold there are two stationary points
    assert_allclose(model.coef_[clear], wanted[clear], atol=1e-6)
    assert (model.coef_[np.abs(c) <= 0.1] == 0).all()


@pytest.mark.oracle
@pytest.mark.parametrize("positive", [False, True])
def test_working_set_of_many_features(positive, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 1500)) + 2
    X[rng.random(size=X.shape) < 0.3] = 0
    X[:, -1] = 1.0
    y = 2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=40)
    lasso = Lasso(0.1, tol=1e-12, max_iter=100_000, positive=positive).fit(X, y)
    model = BridgeRegression(0.1, exponent=1, tol=1e-10, positive=positive).fit(X, y)
    assert_allclose(model.coef_, lasso.coef_, atol=1e-6)
    assert model.dual_gap_ < 1e-10

    # below exponent 1, check the equations of the non-zero coefficients, for dense and sparse
    # columns
    dense, thin = (
        BridgeRegression(0.1, tol=1e-9, positive=positive).fit(data, y)
        for data in (X, sparse.csr_array(X))
    )
    assert_allclose(thin.coef_, dense.coef_, atol=1e-7)
    slopes = (X - X.mean(axis=0)).T @ (y - dense.predict(X)) / 40
    used = np.flatnonzero(dense.coef_)
    expected = 0.05 * np.abs(dense.coef_[used]) ** -0.5 * np.sign(dense.coef_[used])
    assert_allclose(slopes[used], expected, atol=1e-7)
    assert len(used) < 20


@pytest.mark.certificate
@pytest.mark.parametrize("q", [0.5, 1.0, 1.2, 2.0, 4.0])
@pytest.mark.parametrize("positive", [False, True])
def test_gap_and_optimality_conditions(q, positive, seed):
    X, y = data(seed)
    model = BridgeRegression(0.05, exponent=q, positive=positive, tol=1e-9).fit(X, y)
    residual = y - model.predict(X)
    g = (X - X.mean(axis=0)).T @ residual / len(y)
    used = model.coef_ != 0
    b = model.coef_[used]
    scale = np.abs((X - X.mean(axis=0)).T @ y).max() / len(y)
    assert_allclose(g[used] / scale, 0.05 * q * np.abs(b) ** (q - 1) * np.sign(b) / scale,
                    atol=1e-4)  # a relative gap of 1e-9 is a residual of its root  # fmt: skip
    assert model.kkt_residual_ < 1e-4
    if q < 1:
        assert np.isnan(model.dual_gap_)
        return
    assert model.dual_gap_ <= 1e-9
    best = objective(X, y, model.coef_, model.intercept_, 0.05, q)
    for _ in range(5):
        other = model.coef_ + 1e-3 * np.random.default_rng(seed).normal(size=8) * used
        assert best <= objective(X, y, other, model.intercept_, 0.05, q) + 1e-9 * y.var()


@pytest.mark.recovery
def test_exponent_one_half_shrinks_less_than_the_lasso(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 150))
    y = X[:, :5] @ np.array([3.0, -2.0, 2.0, -3.0, 2.5]) + 0.3 * rng.normal(size=100)
    bridge = BridgeRegression(0.2).fit(X, y)
    assert set(np.flatnonzero(bridge.coef_)) == set(range(5))
    lasso = Lasso(0.2).fit(X, y)
    truth = np.append([3.0, -2.0, 2.0, -3.0, 2.5], np.zeros(145))
    assert np.linalg.norm(bridge.coef_ - truth) < 0.5 * np.linalg.norm(lasso.coef_ - truth)


@pytest.mark.invariance
@pytest.mark.parametrize("q", [0.5, 1.5])
def test_weights_sparse_input_and_scale(q, seed):
    X, y = data(seed)
    X[np.abs(X) < 1] = 0
    model = BridgeRegression(0.05, exponent=q, tol=1e-10).fit(X, y)
    same = BridgeRegression(0.05, exponent=q, tol=1e-10).fit(sparse.csr_array(X), y)
    assert_allclose(same.coef_, model.coef_, atol=1e-6)
    w = np.random.default_rng(seed).integers(0, 3, size=80)
    weighted = BridgeRegression(0.05, exponent=q, tol=1e-10).fit(X, y, sample_weight=w)
    repeated = BridgeRegression(0.05, exponent=q, tol=1e-10).fit(
        np.repeat(X, w, axis=0), np.repeat(y, w)
    )
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    scaled = BridgeRegression(0.05 * 1e6 ** (2 - q), exponent=q, tol=1e-10).fit(X, 1e6 * y)
    assert_allclose(scaled.coef_ / 1e6, model.coef_, atol=1e-6)
    single = BridgeRegression(0.05, exponent=q).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, model.coef_, atol=1e-3)


@pytest.mark.edge
def test_degenerate_data(seed):
    X, y = data(seed)
    constant = BridgeRegression(0.1).fit(X, np.full(80, 3.0))
    assert (constant.coef_ == 0).all()
    # the prediction is the mean of y, up to rounding errors
    assert_allclose(constant.predict(X), 3, rtol=1e-14)
    # include a constant column and a repeated column
    flat = np.column_stack([X, np.ones(80), X[:, 0]])
    for q in (0.5, 1.5):
        model = BridgeRegression(0.1, exponent=q).fit(flat, y)
        assert model.coef_[8] == 0
        assert model.score(flat, y) > 0.5
    least = BridgeRegression(0.0, exponent=1.5, tol=1e-12).fit(X, y)
    assert_allclose(
        least.coef_, np.linalg.lstsq(X - X.mean(axis=0), y, rcond=None)[0], atol=1e-5
    )
    with pytest.warns(ConvergenceWarning, match="after 2 sweeps"):
        BridgeRegression(0.01, exponent=1.5, max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        BridgeRegression().fit(X, y, sample_weight=np.zeros(80))


@pytest.mark.edge
def test_pipeline_and_search():
    X, y = data(0)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), BridgeRegression()),
        {
            "bridgeregression__alpha": [0.01, 0.1],
            "bridgeregression__exponent": [0.5, 1, 1.5],
        },
    ).fit(X, y)
    assert search.best_score_ > 0.9
