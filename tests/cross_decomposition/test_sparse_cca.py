"""Evidence that SparseCCA solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.cross_decomposition import PLSSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._solvers.kernel.sparse_canonical import (
    CrossProduct,
    alternate,
    best_weights,
    stationarity,
)
from skmoderndata.cross_decomposition import CanonicalLoadingsDisplay, SparseCCA
from skmoderndata.model_selection import canonical_permutation_test
from tests.oracles.sparse_cca import half_step, projected_on_scores, soft_unit, sparse_pair


def two_views(seed, n=80, p=60, q=40, n_related=5, n_pairs=2, noise=0.5):
    """Pair j relates the columns from ``j * n_related`` on; the others are noise."""
    rng = np.random.default_rng(seed)
    X = noise * rng.normal(size=(n, p))
    Y = noise * rng.normal(size=(n, q)) + 3
    for j in range(n_pairs):
        common = (1 - 0.2 * j) * rng.normal(size=(n, 1))
        columns = slice(j * n_related, (j + 1) * n_related)
        X[:, columns] += common
        Y[:, columns] -= common
    return X, Y


def standard(X):
    return StandardScaler().fit_transform(X)


def fit(X, Y, k=1, *, l1_bound=0.3, **settings):
    return SparseCCA(k, l1_bound=l1_bound, random_state=0, **settings).fit(X, Y)


# ---- the half step -----------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("p", [1, 2, 3, 7, 50, 1000])
def test_threshold_matches_the_sorted_search(seed, p):
    rng = np.random.default_rng(seed)
    for c in np.linspace(1, p**0.5, 7):
        g = rng.normal(size=p) * 10.0 ** rng.integers(-20, 20)
        u = best_weights(g[None], np.array([c]))[0]
        # the tolerance allows for a square root near zero
        assert_allclose(u, soft_unit(g, c), atol=1e-9)
        assert np.linalg.norm(u) <= 1 + 1e-14
        assert np.abs(u).sum() <= c * (1 + 1e-14)


@pytest.mark.oracle
def test_value_of_the_half_step_matches_cvxpy(seed):
    rng = np.random.default_rng(seed)
    for c in (1.0, 1.7, 3.0, 20**0.5):
        g = rng.normal(size=20).round(1)  # rounding leads to ties
        u = best_weights(g[None], np.array([c]))[0]
        # the tolerance is the accuracy of cvxpy's solver
        assert_allclose(u @ g, half_step(g, c), rtol=1e-6)


@pytest.mark.edge
def test_half_step_of_ties_and_zeros():
    G = np.array([[2.0, -2.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, -1e-300]])
    U = best_weights(G, np.full(4, 1.2))
    # the optimum puts all weight on the two largest entries
    assert_allclose(U[0] @ G[0], 2.4)
    assert_allclose(np.abs(U).sum(axis=1), [1.2, 0.0, 1.2, 1.0])
    assert_allclose(np.linalg.norm(U, axis=1), [1.0, 0.0, 1.0, 1.0])


# ---- pairs -------------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize("bound", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("n", [30, 200])
def test_no_start_of_the_plain_algorithm_is_better(seed, bound, n):
    X, Y = two_views(seed, n=n, noise=1.5)
    model = fit(X, Y, l1_bound=bound)
    K = standard(X).T @ standard(Y) / n
    c_x, c_y = (max(1.0, bound * m**0.5) for m in K.shape)
    rng = np.random.default_rng(seed)
    values = [sparse_pair(K, c_x, c_y, rng.normal(size=n) @ Y, 200)[2] for _ in range(10)]
    assert model.covariances_[0] >= max(values) - 1e-7

    # the attribute equals the objective for these weights
    u, v = (W[:, 0] * s for W, s in zip(model.weights_, model.scales_, strict=True))
    assert_allclose(u @ K @ v, model.covariances_[0], rtol=1e-10)
    assert np.abs(u).sum() <= c_x + 1e-12
    assert np.linalg.norm(v) <= 1 + 1e-12


@pytest.mark.oracle
def test_later_pairs_match_the_views_without_the_scores(seed):
    X, Y = two_views(seed)
    model = fit(X, Y, 2)
    A = standard(X)
    B = standard(Y)
    U, V = (W * s[:, None] for W, s in zip(model.weights_, model.scales_, strict=True))
    K = projected_on_scores(A, U[:, :1]).T @ projected_on_scores(B, V[:, :1]) / len(X)
    assert_allclose(U[:, 1] @ K @ V[:, 1], model.covariances_[1], rtol=1e-10)
    again = sparse_pair(K, 0.3 * 60**0.5, 0.3 * 40**0.5, V[:, 1], 1)
    assert_allclose(again[2], model.covariances_[1], rtol=1e-8)


@pytest.mark.oracle
def test_without_bounds_the_first_pair_matches_plssvd(seed):
    X, Y = two_views(seed)
    scores = fit(X, Y, l1_bound=1.0, tol=1e-14).transform(X)
    # scikit-learn's standard deviations have the divisor n - 1
    expected = PLSSVD(1).fit(X, Y).transform(X) * (80 / 79) ** 0.5
    assert_allclose(np.abs(scores), np.abs(expected), atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("deflated", [False, True])
def test_products_match_the_formed_matrix(seed, deflated):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(12, 30))
    B = rng.normal(size=(12, 20))
    order = rng.permutation(12)
    formed = CrossProduct(np.tile(A, (4, 1)), np.tile(B, (4, 1)), 48.0)

    implicit = CrossProduct(A, B, 12.0)
    permuted = CrossProduct(A, B, 12.0, orders=order[None])
    C = A
    D = B
    if deflated:
        u = rng.normal(size=30)
        v = rng.normal(size=20)
        for K in (formed, implicit, permuted):
            K.deflate(u, v)
        C = projected_on_scores(A, u[:, None])
        D = projected_on_scores(B, v[:, None])

    assert formed.matrix is not None
    assert implicit.matrix is None

    V = rng.normal(size=(1, 20))
    U = rng.normal(size=(1, 30))
    row = np.zeros(1, dtype=int)
    for K, expected in (
        (formed, C.T @ D / 12),
        (implicit, C.T @ D / 12),
        (permuted, C.T @ D[order] / 12),
    ):
        assert_allclose(K.times(V, row)[0], expected @ V[0], atol=1e-12)
        assert_allclose(K.transposed_times(U, row)[0], expected.T @ U[0], atol=1e-12)


@pytest.mark.certificate
def test_certificate_is_the_gain_of_the_half_steps(seed):
    X, Y = two_views(seed, n=30)
    model = fit(X, Y, 3)
    assert model.residual_ <= 1e-9
    K = CrossProduct(standard(X), standard(Y), 30.0)
    dense = standard(X).T @ standard(Y) / 30
    rng = np.random.default_rng(seed)
    u = soft_unit(rng.normal(size=60), 2.0)
    v = soft_unit(rng.normal(size=40), 2.0)
    v = v if u @ dense @ v > 0 else -v
    largest = max(half_step(dense @ v, 2.0), half_step(dense.T @ u, 2.0))
    gains = [1 - u @ dense @ v / half_step(g, 2.0) for g in (dense @ v, dense.T @ u)]
    # this is the value that cvxpy finds
    assert_allclose(stationarity(K, u, v, (2.0, 2.0)), max(gains), rtol=1e-5)
    assert largest > u @ dense @ v


@pytest.mark.certificate
def test_the_objective_never_falls(seed):
    X, Y = two_views(seed, n=30, noise=2.0)
    K = CrossProduct(standard(X), standard(Y), 30.0)
    V = np.random.default_rng(seed).normal(size=(5, 40))
    values = np.array(
        [alternate(K, V, (2.0, 1.5), max_iter=m, tol=0.0).values for m in range(1, 15)]
    )
    assert (np.diff(values, axis=0) >= -1e-14).all()


@pytest.mark.certificate
def test_warns_if_stopped_early():
    X, Y = two_views(0, noise=3.0)
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model = fit(X, Y, max_iter=1, l1_bound=0.8)
    assert model.residual_ > 1e-9


# ---- recovery ----------------------------------------------------------------------------------


@pytest.mark.recovery
def test_planted_columns_of_two_pairs(seed):
    X, Y = two_views(seed, n=60, p=300, q=200)
    model = fit(X, Y, 2, l1_bound=[0.15, 0.18])
    for W in model.weights_:
        assert (W != 0).sum(axis=0).max() <= 20
        heaviest = np.argsort(-np.abs(W), axis=0)[:5]
        pairs = {frozenset(heaviest[:, j].tolist()) for j in (0, 1)}
        assert pairs == {frozenset(range(5)), frozenset(range(5, 10))}


@pytest.mark.recovery
def test_permutations_choose_a_sparse_bound(seed):
    X, Y = two_views(seed, n=60, p=300, q=200, n_pairs=1)
    model = fit(X, Y, l1_bound="permutation")
    assert model.l1_bound_.max() < 0.3
    assert model.grid_z_scores_.max() > 3
    heaviest = np.argsort(-np.abs(model.x_weights_[:, 0]))[
        : min(5, model.n_nonzero_coefs_[0, 0])
    ]
    assert set(heaviest) <= set(range(5))


@pytest.mark.recovery
def test_the_permutation_test_counts_the_planted_pairs(seed):
    X, Y = two_views(seed, n=60, p=100, q=80)
    for bound in (0.2, "permutation"):
        test = canonical_permutation_test(
            SparseCCA(4, l1_bound=bound), X, Y, n_permutations=99, random_state=0
        )
        assert test.n_pairs == 2
    rng = np.random.default_rng(seed + 100)
    noise = canonical_permutation_test(
        SparseCCA(2), rng.normal(size=X.shape), Y, n_permutations=99, random_state=0
    )
    assert noise.p_values[0] > 0.01


# ---- invariance and edges ----------------------------------------------------------------------


@pytest.mark.invariance
def test_units_order_of_rows_and_of_views(seed):
    X, Y = two_views(seed, noise=1.0)
    order = np.random.default_rng(seed).permutation(len(X))
    expected = fit(X, Y).covariances_
    assert_allclose(fit(1e5 * X + 7, 1e-5 * Y).covariances_, expected, rtol=1e-7)
    assert_allclose(fit(Y[order], X[order]).covariances_, expected, rtol=1e-7)


@pytest.mark.invariance
def test_weights_are_copies(seed):
    X, Y = two_views(seed, n=30)
    w = np.random.default_rng(seed).integers(0, 3, size=30)
    model = SparseCCA(2, l1_bound=0.3, random_state=0).fit(X, Y, sample_weight=w)
    copies = fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0), 2)
    assert_allclose(model.covariances_, copies.covariances_, rtol=1e-7)
    assert_allclose(model.correlations_, copies.correlations_, rtol=1e-6)
    assert_allclose(model.predict(X), copies.predict(X), atol=1e-4)


@pytest.mark.invariance
def test_sparse_views_are_dense_ones(seed):
    rng = np.random.default_rng(seed)
    X, Y = (m * (rng.random(m.shape) < 0.3) for m in two_views(seed, n=25))
    dense = fit(X, Y, 2, tol=1e-13)
    model = fit(sparse.csr_matrix(X), sparse.csc_matrix(Y), 2, tol=1e-13)
    assert_allclose(model.covariances_, dense.covariances_, rtol=1e-9)
    assert_allclose(model.transform(sparse.csr_matrix(X)), dense.transform(X), atol=1e-5)
    search = fit(sparse.csr_matrix(X), sparse.csr_matrix(Y), l1_bound="permutation")
    assert_allclose(
        search.grid_z_scores_, fit(X, Y, l1_bound="permutation").grid_z_scores_, rtol=1e-6
    )


@pytest.mark.invariance
def test_prediction_is_least_squares_on_the_scores(seed):
    X, Y = two_views(seed)
    model = fit(X, Y, 2)
    scores = model.transform(X)
    expected = LinearRegression().fit(scores, Y).predict(scores)
    assert_allclose(model.predict(X), expected, atol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("views", "setting", "message"),
    [
        (lambda X, Y: (X, Y[1:]), {}, "inconsistent numbers"),
        (lambda X, Y: (X, np.ones((80, 3))), {}, "View 2 is constant"),
        (lambda X, Y: (X, Y), {"l1_bound": [0.1]}, "1 entries for 2 views"),
        (lambda X, Y: (X, Y), {"l1_bound": [0.1, 2.0]}, "at most 1"),
        (lambda X, Y: (X, Y), {"l1_bound": 0.0}, "l1_bound"),
        (lambda X, Y: ([X, Y, Y],), {}, "two views"),
        (lambda X, Y: (X,), {}, "requires y"),
    ],
)
def test_error_names_bad_input(views, setting, message):
    with pytest.raises(ValueError, match=message):
        SparseCCA(2, **setting).fit(*views(*two_views(0)))


@pytest.mark.edge
def test_constant_duplicate_and_single_columns():
    X, Y = two_views(0)
    X = np.c_[X, np.ones(80), np.zeros(80), X[:, 0]]
    model = fit(X, Y)
    assert_allclose(model.x_weights_[[60, 61]], 0)
    assert np.isfinite(model.covariances_).all()
    assert model.residual_ <= 1e-9

    # with one column in each view, the result is the correlation
    one = fit(X[:, :1], Y[:, 0].astype(float))
    assert_allclose(one.covariances_, abs(np.corrcoef(X[:, 0], Y[:, 0])[0, 1]))
    assert one.predict(X[:, :1]).shape == (80,)


@pytest.mark.edge
def test_fewer_pairs_than_requested():
    X, Y = two_views(0)
    with pytest.warns(UserWarning, match="returns 2"):
        model = fit(X[:, :2], Y, 3)
    assert model.weights_[1].shape == (40, 2)


@pytest.mark.edge
def test_float32_and_separate_bounds():
    X, Y = two_views(0)
    model = fit(X.astype(np.float32), Y.astype(np.float32), l1_bound=[0.2, 1.0])
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.n_nonzero_coefs_[0, 0] < 10
    assert model.n_nonzero_coefs_[1, 0] == 40


@pytest.mark.edge
def test_in_a_pipeline_tuned_by_grid_search():
    X, Y = two_views(0, n=60, p=200, q=150, n_pairs=1)
    both = np.c_[X, Y]
    cca = SparseCCA(1, view_slices=[(0, 200), (200, 350)], random_state=0)
    search = GridSearchCV(cca, {"l1_bound": [0.1, 0.2, 1.0]}, cv=3).fit(both)
    assert search.best_params_["l1_bound"] < 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target = X[:, :5].sum(axis=1)
        model = make_pipeline(search.best_estimator_, LinearRegression()).fit(both, target)
    assert model.score(both, target) > 0.9


@pytest.mark.edge
def test_loadings_display_keeps_the_chosen_bound():
    X, Y = two_views(0, p=12, q=8)
    display = CanonicalLoadingsDisplay.from_estimator(
        SparseCCA(1, l1_bound="permutation", random_state=0),
        X,
        Y,
        n_bootstraps=5,
        random_state=0,
    )
    assert np.abs(display.loadings[0][:5]).min() > 0.5
