"""Evidence that ConvexNMF solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from skmoderndata._solvers.factors.convex_factorization import convex_factorize, rows_of_kernel
from skmoderndata.decomposition import ConvexNMF, SemiNMF
from skmoderndata.exceptions import DoubtfulResultWarning
from tests.oracles import semi_nmf as oracle


def hull(n=80, p=6, seed=0, noise=0.0):
    """Mixtures of three corners, which are among the rows."""
    rng = np.random.default_rng(seed)
    corners = 3 * rng.normal(size=(3, p))
    mix = rng.dirichlet(0.8 * np.ones(3), size=n)
    mix[:3] = np.eye(3)
    return mix @ corners + noise * rng.normal(size=(n, p)), corners


@pytest.mark.oracle
def test_objective_and_residual_from_the_definition(seed):
    X, _ = hull(seed=seed, noise=0.3)
    model = ConvexNMF(3, random_state=seed).fit(X)
    K = X @ X.T
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(80, 3))
    B = rng.dirichlet(np.ones(80), size=3).T
    result = convex_factorize(X, W, B, tol=1e-4, max_iter=3000)
    assert_allclose(
        result.objective, oracle.convex_objective(K, result.codes, result.weights), rtol=1e-9
    )
    slopes = oracle.convex_gradients(K, result.codes, result.weights)

    # the units of the gradients are linear terms of centred rows
    centre = np.eye(80) - 1 / 80
    sizes = (centre @ K @ centre @ result.weights, centre @ K @ centre @ result.codes)
    residuals = []
    for factor, slope, size in zip((result.codes, result.weights), slopes, sizes, strict=True):
        projected = np.where(factor > 0, slope, np.minimum(slope, 0))
        residuals.append(np.linalg.norm(projected) / np.linalg.norm(size))
    assert_allclose(result.residual, max(residuals), rtol=1e-4)
    error = np.linalg.norm(X - model.inverse_transform(model.transform(X)))
    # the codes are exact at the end
    assert_allclose(model.objective_, error**2 / 2, rtol=0.01)


@pytest.mark.invariance
def test_an_offset_does_not_stop_the_passes():
    X, _ = hull(n=100, noise=0.3, seed=1)
    model = ConvexNMF(3, random_state=0).fit(X + 10)
    best = ConvexNMF(3, random_state=0, tol=1e-5, max_iter=5000).fit(X + 10)
    assert model.objective_ <= 1.05 * best.objective_
    assert model.kkt_residual_ <= 1e-3


@pytest.mark.edge
@pytest.mark.parametrize("offset", [1e3, 1e4, 1e5])
def test_warns_if_an_offset_hides_the_components(offset):
    X, _ = hull(n=100, noise=0.3, seed=1)
    model = ConvexNMF(3, random_state=0, max_iter=50)
    with pytest.warns(DoubtfulResultWarning, match="offset"):
        model.fit(X + offset)
    assert model.kkt_residual_ > 0.01
    assert "offset" in model.doubt_
    assert model.set_params(max_iter=1000).fit(X).doubt_ is None


@pytest.mark.edge
def test_equal_rows_converge():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = ConvexNMF(2, random_state=0).fit(np.tile([1e4, 1e4 + 1, 1e4 + 2], (20, 1)))
    assert model.kkt_residual_ <= 1e-3


@pytest.mark.oracle
def test_codes_are_non_negative_least_squares(seed):
    X, _ = hull(seed=seed, noise=0.3)
    model = ConvexNMF(3, random_state=0).fit(X[:60])
    expected = [nnls(model.components_.T, x)[0] for x in X[60:]]
    assert_allclose(model.transform(X[60:]), expected, atol=1e-9)


@pytest.mark.certificate
def test_feasible_and_never_rising(seed):
    X, _ = hull(seed=seed, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ConvexNMF(3, random_state=seed, max_iter=300).fit(X)
    assert_allclose(model.weights_.sum(axis=0), 1, rtol=1e-12)
    assert (model.weights_ >= 0).all()
    assert_allclose(model.components_, model.weights_.T @ X, atol=1e-12)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-10 * history[0]).all()
    assert model.objective_ >= SemiNMF(3, n_init=5, random_state=0).fit(X).objective_ * (
        1 - 1e-6
    )
    assert model.kkt_residual_ <= 1e-3


@pytest.mark.certificate
def test_descent_ends_below_the_multiplicative_rules(seed):
    X, _ = hull(seed=seed, noise=0.3)
    K = X @ X.T
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.1, 1, size=(len(X), 3))
    B = rng.dirichlet(np.ones(len(X)), size=3).T
    objectives = []
    for _ in range(300):
        objectives.append(oracle.convex_objective(K, W, B))
        W, B = oracle.convex_round(K, W, B)
    assert (np.diff(objectives) <= 1e-9 * objectives[0]).all()
    model = ConvexNMF(3, random_state=seed, n_init=3).fit(X)
    assert model.objective_ <= objectives[-1] * (1 + 1e-3)


@pytest.mark.recovery
def test_corners_of_the_hull(seed):
    X, corners = hull(seed=seed)
    model = ConvexNMF(3, n_init=3, random_state=0, tol=2e-4, max_iter=20_000).fit(X)
    assert model.score(X) > -0.05
    distance = np.linalg.norm(model.components_[:, None] - corners, axis=2)
    assert (distance.min(axis=0) < 0.25 * np.linalg.norm(corners, axis=1)).all()


@pytest.mark.paper
def test_weights_are_sparse_by_themselves():
    """Ding 2010, section 4: factors of convex NMF are naturally sparse."""
    X, _ = hull(200, noise=0.2)
    model = ConvexNMF(3, random_state=0).fit(X)
    assert (model.weights_ > 0).mean() < 0.2


@pytest.mark.invariance
def test_linear_kernel_matches_the_plain_method(seed):
    X, _ = hull(seed=seed, noise=0.3)
    plain = ConvexNMF(3, init="random", random_state=0).fit(X)
    gram = ConvexNMF(3, kernel="precomputed", init="random", random_state=0).fit(X @ X.T)
    function = ConvexNMF(3, kernel=lambda A, B: A @ B.T, init="random", random_state=0).fit(X)
    assert_allclose(gram.weights_, plain.weights_, atol=1e-6)
    assert_allclose(function.weights_, plain.weights_, atol=1e-6)
    assert_allclose(gram.transform(X[:5] @ X.T), plain.transform(X[:5]), atol=1e-5)
    assert_allclose(function.score(X), plain.score(X), atol=1e-6)
    rbf = ConvexNMF(3, kernel="rbf", gamma=0.1, random_state=0).fit(X)
    same = ConvexNMF(3, kernel="precomputed", random_state=0).fit(rbf_kernel(X, gamma=0.1))
    assert_allclose(same.weights_, rbf.weights_, atol=1e-8)


@pytest.mark.invariance
def test_sparse_input_and_units(seed):
    X, _ = hull(seed=seed, noise=0.3)
    X[np.abs(X) < 0.5] = 0
    dense = ConvexNMF(3, init="random", random_state=0).fit(X)
    thin = ConvexNMF(3, init="random", random_state=0).fit(sparse.csr_array(X))
    assert_allclose(thin.weights_, dense.weights_, atol=1e-8)
    assert_allclose(thin.transform(sparse.csr_array(X)), dense.transform(X), atol=1e-8)
    assert_allclose(thin.score(sparse.csr_array(X)), dense.score(X), atol=1e-8)
    large = ConvexNMF(3, init="random", random_state=0).fit(1000 * X)
    assert_allclose(large.weights_, dense.weights_, atol=1e-6)


@pytest.mark.invariance
def test_rotation_does_not_matter(seed):
    X, _ = hull(seed=seed, noise=0.3)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    one = ConvexNMF(3, init="random", random_state=0).fit(X)
    two = ConvexNMF(3, init="random", random_state=0).fit(X @ Q)
    assert_allclose(two.weights_, one.weights_, atol=1e-6)


@pytest.mark.edge
def test_messages_and_borders(seed):
    X, _ = hull(seed=seed)
    model = ConvexNMF(2, kernel="rbf", random_state=0).fit(X)
    assert not hasattr(model, "inverse_transform")
    assert model.components_ is None
    with pytest.raises(ValueError, match="X has 5 codes a row"):
        ConvexNMF(2, random_state=0).fit(X).inverse_transform(np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"contains NaN.*undefined if entries are missing"):
        ConvexNMF().fit(np.where(X > 1, np.nan, X))
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        ConvexNMF(3, max_iter=2, tol=1e-12, random_state=0).fit(X + 1)
    for init in ("random", "kmeans"):
        zeros = ConvexNMF(2, random_state=0, init=init).fit(np.zeros((5, 3)))
        assert_array_equal(zeros.transform(np.zeros((2, 3))), 0)
        assert zeros.score(np.zeros((2, 3))) == 0
    one = ConvexNMF(1, random_state=0).fit(X[:1])
    assert_allclose(one.components_, X[:1])


@pytest.mark.edge
def test_search_over_kernels(seed):
    X, _ = hull(seed=seed, noise=0.1)
    search = GridSearchCV(
        ConvexNMF(random_state=0, max_iter=3000, tol=1e-2), {"n_components": [1, 3]}, cv=3
    )
    assert search.fit(X).best_params_ == {"n_components": 3}


@pytest.mark.invariance
def test_repeated_entries_add_up(seed):
    X, _ = hull(seed=seed, noise=0.3)
    columns = np.tile(np.r_[np.arange(6), np.arange(6)], 80)
    values = np.concatenate([np.r_[0.25 * row, 0.75 * row] for row in X])
    D = sparse.csr_array((values, columns, np.arange(81) * 12), shape=X.shape)
    D.indices = D.indices.astype(np.int64)
    D.indptr = D.indptr.astype(np.int64)
    for settings in ({}, {"kernel": "rbf"}):
        dense = ConvexNMF(3, random_state=0, **settings).fit(X)
        thin = ConvexNMF(3, random_state=0, **settings).fit(D)
        # the initial clusters differ between the two
        assert_allclose(thin.objective_, dense.objective_, rtol=1e-4)
        assert_allclose(thin.score(D), dense.score(X), rtol=1e-4)
    assert D.nnz == 80 * 12  # the caller's matrix is unchanged
    assert D.indices.dtype == np.int64


@pytest.mark.edge
def test_rejects_invalid_kernels(seed):
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(20, 20))
    model = ConvexNMF(3, kernel="precomputed", random_state=0)
    with pytest.raises(ValueError, match="not symmetric"):
        model.fit(K)
    for wrong in (K + K.T, -K @ K.T):
        with pytest.raises(
            ValueError, match=r"kernel='precomputed'\) needs .*SpectrumCorrector"
        ):
            model.fit(wrong)
    # the diagonal is not negative, but one direction has negative length
    direction = rng.uniform(0.5, 1, size=20)
    direction /= np.linalg.norm(direction)
    bent = np.eye(20) - 3 * np.outer(direction, direction)
    with pytest.raises(ValueError, match="positive semi-definite"):
        model.fit(bent)
    with pytest.raises(ValueError, match=r"kernel='sigmoid'\) needs a positive semi-definite"):
        ConvexNMF(3, kernel="sigmoid", random_state=0).fit(rng.normal(size=(200, 10)))


@pytest.mark.certificate
def test_nan_is_not_a_small_residual():
    rows = np.full((4, 3), np.nan)
    result = convex_factorize(rows, np.ones((4, 2)), np.full((4, 2), 0.25), max_iter=2)
    assert np.isnan(result.residual)
    assert not result.converged


@pytest.mark.edge
@pytest.mark.parametrize("size", [1e13, 1e-14])
def test_kernel_of_single_precision(size, seed):
    X, _ = hull(seed=seed, noise=0.3)
    scaled = (size * X).astype(np.float32)
    model = ConvexNMF(3, kernel="rbf", random_state=0).fit(scaled)
    base = ConvexNMF(3, kernel="rbf", random_state=0).fit(X.astype(np.float32))
    assert_allclose(model.weights_, base.weights_, atol=1e-3)  # the rows have 24 bits
    assert_allclose(model.transform(scaled), base.transform(X.astype(np.float32)), atol=1e-3)


@pytest.mark.edge
def test_rows_of_zeros_have_no_weight(seed):
    X, _ = hull(30, seed=seed, noise=0.3)
    X[[3, 7]] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ConvexNMF(3, random_state=0, max_iter=300).fit(X)
    assert_array_equal(model.weights_[[3, 7]], 0)
    assert_array_equal(model.transform(X)[[3, 7]], 0)
    assert_allclose(model.weights_.sum(axis=0), 1, rtol=1e-12)


@pytest.mark.edge
def test_extreme_units(seed):
    X, _ = hull(seed=seed, noise=0.3)
    for size in (1e48, 1e-48):
        for kernel in ("linear", "precomputed"):
            rows = size * X if kernel == "linear" else size**2 * X @ X.T
            model = ConvexNMF(3, kernel=kernel, random_state=0).fit(rows)
            assert 0 < model.objective_ < np.inf
            assert np.isfinite(model.transform(rows)).all()
            assert kernel == "precomputed" or -1 < model.score(rows) < 0
    with pytest.raises(ValueError, match=r"fourth powers over- or underflow: rescale it"):
        ConvexNMF(2).fit(1e60 * X)


@pytest.mark.certificate
@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_objective_of_exact_factors_has_no_rounding_noise(kernel, seed):
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(40, 3)) @ rng.gamma(1.0, size=(3, 10))
    X[:3] = np.eye(3) @ rng.gamma(1.0, size=(3, 10))
    X[3:] = rng.gamma(1.0, size=(37, 3)) @ X[:3]
    W = np.zeros((40, 3))
    B = np.eye(40, 3)
    W[:3] = np.eye(3)
    W[3:] = np.linalg.lstsq(X[:3].T, X[3:].T, rcond=None)[0].T
    rows = X if kernel == "linear" else rows_of_kernel(X @ X.T)
    result = convex_factorize(rows, np.maximum(W, 0), B, max_iter=5, tol=0)
    assert min(result.history) >= 0
    exact = 1e-24 if kernel == "linear" else 1e-15  # the matrix itself is rounded
    assert result.objective <= exact * (X * X).sum()


@pytest.mark.edge
def test_few_distinct_rows_and_many_components():
    for X in (np.ones((8, 5)), np.tile(np.eye(5)[:2], (4, 1))):
        model = ConvexNMF(3, random_state=0).fit(X)
        assert model.score(X) > -1e-2
    with pytest.warns(
        UserWarning, match=r"n_components=8\) has more components than n_samples=4"
    ):
        ConvexNMF(8, random_state=0).fit(np.eye(4))


@pytest.mark.edge
def test_sparse_codes(seed):
    X, _ = hull(seed=seed)
    model = ConvexNMF(3, random_state=0).fit(X)
    codes = model.transform(X)
    assert_allclose(
        model.inverse_transform(sparse.csr_array(codes)), model.inverse_transform(codes)
    )


@pytest.mark.recovery
def test_start_does_not_hold_the_factors_back(seed):
    """Descent from the random start must not end where hardly any weight has moved."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(200, 5)) @ rng.gamma(1.0, size=(5, 30))
    X = X + 0.05 * X.std() * rng.standard_normal(X.shape)
    model = ConvexNMF(5, random_state=seed, max_iter=3000).fit(X)
    assert model.objective_ < 0.0135 * np.sum((X - X.mean(axis=0)) ** 2)
