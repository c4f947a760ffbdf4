"""Evidence that SemiNMF solves the problem it states."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from skmoderndata._solvers.factors.coded_rows import CodedRows
from skmoderndata._solvers.factors.factor_updates import Data, Side
from skmoderndata._solvers.factors.factorization import factorize
from skmoderndata.decomposition import SemiNMF
from tests.oracles import semi_nmf as oracle


def mixed(n=60, p=12, k=4, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    W = rng.gamma(0.5, size=(n, k))
    return W @ rng.normal(size=(k, p)) + noise * rng.normal(size=(n, p))


@pytest.mark.oracle
def test_codes_are_non_negative_least_squares(seed):
    X = mixed(seed=seed)
    model = SemiNMF(4).fit(X[:50])
    expected = [nnls(model.components_.T, x)[0] for x in X[50:]]
    assert_allclose(model.transform(X[50:]), expected, atol=1e-10)


@pytest.mark.oracle
def test_factors_with_weights_of_entries_match_scaled_rows(seed):
    X = mixed(seed=seed)
    weights = np.random.default_rng(seed).gamma(1.0, size=X.shape)
    root = np.sqrt(weights)
    model = SemiNMF(3, tol=1e-6, ridge=0)
    codes = model.fit_transform(X, entry_weight=weights)
    H = model.components_
    expected = [nnls((H * r).T, x * r)[0] for x, r in zip(X, root, strict=True)]
    assert_allclose(codes, expected, atol=1e-9)

    # compute the components by least squares for each column; both agree up to the tolerance of
    # the passes
    best = [
        np.linalg.lstsq(codes * r[:, None], x * r, rcond=None)[0]
        for x, r in zip(X.T, root.T, strict=True)
    ]
    assert_allclose(H.T, best, atol=1e-3)


@pytest.mark.oracle
def test_components_are_least_squares(seed):
    X = mixed(seed=seed)
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(60, 3))
    V = rng.normal(size=(12, 3))
    found = factorize(
        CodedRows.of(Data(X), W),
        V,
        codes_side=Side(),
        components_side=Side("free"),
        max_iter=20,
    )
    H = np.linalg.lstsq(found.codes, X, rcond=None)[0]
    assert_allclose(found.codes @ found.components.T, found.codes @ H, atol=1e-8)
    error = np.linalg.norm(X - found.codes @ H)
    assert_allclose(found.objective, error**2 / 2, rtol=1e-9)


@pytest.mark.oracle
def test_least_squares_end_below_the_multiplicative_rule(seed):
    """Ding's rule, entry by entry, never gets below alternating least squares."""
    X = mixed(10, 6, 3, seed)
    W = np.random.default_rng(seed).uniform(0.1, 1, size=(10, 3))
    objectives = []
    for _ in range(100):
        W, H = oracle.semi_round(X, W)
        objectives.append(np.linalg.norm(X - W @ H) ** 2 / 2)
    assert (np.diff(objectives) <= 1e-9 * objectives[0]).all()
    model = SemiNMF(3, n_init=3, tol=1e-6, max_iter=5000, random_state=seed).fit(X)
    assert model.objective_ <= objectives[-1] * (1 + 1e-6)


@pytest.mark.certificate
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("passes", [3, 300])
def test_kkt_residual_matches_the_gradients(missing, passes, seed):
    X = mixed(seed=seed)
    rng = np.random.default_rng(seed)
    known = rng.uniform(size=X.shape) >= missing
    W = rng.uniform(size=(60, 3))
    V = rng.normal(size=(12, 3))
    data = Data(X * known, None if known.all() else known)
    found = factorize(
        CodedRows.of(data, W),
        V,
        codes_side=Side(),
        components_side=Side("free"),
        max_iter=passes,
    )

    length = np.linalg.norm(found.components, axis=0)
    length[length == 0] = 1  # a component may be lost
    W = found.codes * length
    H = (found.components / length).T

    R = known * (W @ H - X)
    grad = R @ H.T
    projected = np.where(W > 0, grad, np.minimum(grad, 0))
    codes = np.linalg.norm(projected) / np.linalg.norm((X * known) @ H.T)
    components = np.linalg.norm(W.T @ R) / np.linalg.norm(W.T @ (X * known))

    assert_allclose(found.residual, max(codes, components), rtol=1e-6)
    assert (found.residual <= 1e-2) == (passes == 300)


@pytest.mark.certificate
def test_objective_never_rises_and_respects_the_bound(seed):
    X = mixed(seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SemiNMF(3, max_iter=200).fit(X)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    assert history[-1] >= oracle.singular_bound(X, 3)
    assert len(history) == model.n_iter_


@pytest.mark.certificate
def test_bound_is_attained_if_the_leading_codes_can_be_made_positive(seed):
    rng = np.random.default_rng(seed)
    X = np.c_[np.full(40, 5.0), rng.normal(size=(40, 6))]  # all rows lie in a half space
    model = SemiNMF(3, n_init=5, random_state=0, tol=1e-5, max_iter=5000).fit(X)
    assert_allclose(model.objective_, oracle.singular_bound(X, 3), rtol=1e-3)


@pytest.mark.recovery
def test_clusters(seed):
    """Ding 2010: the largest code is a cluster, as in k-means."""
    rng = np.random.default_rng(seed)
    centers = 8 * np.linalg.qr(rng.normal(size=(10, 3)))[0].T
    labels = rng.integers(0, 3, size=90)
    X = centers[labels] + rng.normal(size=(90, 10))
    model = SemiNMF(3, init="kmeans", n_init=5, random_state=0).fit(X)
    found = model.transform(X).argmax(axis=1)
    k_means = KMeans(3, n_init=5, random_state=0).fit(X).labels_
    pairs = np.equal.outer(found, found) == np.equal.outer(k_means, k_means)
    assert pairs.mean() > 0.9


@pytest.mark.recovery
def test_hidden_entries_are_found(seed):
    X = mixed(80, 20, 3, seed, noise=0)
    hidden = np.random.default_rng(seed).uniform(size=X.shape) < 0.2
    shown = np.where(hidden, np.nan, X)
    model = SemiNMF(3, n_init=3, random_state=0, tol=1e-5, max_iter=5000).fit(shown)
    guess = model.inverse_transform(model.transform(shown))
    assert np.linalg.norm((guess - X)[hidden]) < 0.02 * np.linalg.norm(X[hidden])


@pytest.mark.paper
def test_source_sign_of_the_negative_part():
    """The notes print min(0, a) for the negative part: roots of negative numbers, at once."""
    A = np.array([[1.0, -2.0]])
    assert_array_equal(oracle.negative(A), [[0, 2]])
    printed = np.minimum(0, A)
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.sqrt(printed / oracle.positive(A[:, :1]))).any()


@pytest.mark.invariance
def test_sparse_input_weights_signs_units(seed):
    X = mixed(seed=seed)
    X[np.abs(X) < 0.5] = 0
    model = SemiNMF(4)
    value = model.fit(X).objective_
    codes = model.transform(X)
    score = model.score(X)
    thin = sparse.csr_array(X)
    # the objective is determined, although the components may not be
    near = {"rtol": 2e-3}
    assert_allclose(model.transform(thin), codes, atol=1e-9 * codes.max())
    assert_allclose(model.score(sparse.csc_array(X)), score, rtol=1e-9)
    assert_allclose(model.fit(thin).objective_, value, **near)
    assert_allclose(model.fit(-X).objective_, value, **near)
    assert_allclose(model.fit(1000 * X).objective_, 1e6 * value, **near)
    weights = np.random.default_rng(seed).integers(0, 3, size=len(X))
    weighted = model.fit(X, sample_weight=weights).objective_
    assert_allclose(model.fit(np.repeat(X, weights, axis=0)).objective_, weighted, **near)


@pytest.mark.edge
def test_partial_fit(seed):
    X = mixed(120, 12, 3, seed, noise=0.05)
    model = SemiNMF(3)
    for first in range(0, 120, 40):
        model.partial_fit(X[first : first + 40])
    whole = SemiNMF(3).fit(X)
    assert model.score(X) > 1.5 * whole.score(X) - 0.02
    assert model.objective_ >= whole.objective_ * 0.99
    holes = X.copy()
    holes[0, 0] = np.nan
    with pytest.raises(ValueError, match="accepts no missing entries"):
        model.partial_fit(holes)


@pytest.mark.edge
def test_starts_and_messages(seed):
    X = mixed(seed=seed)
    first = SemiNMF(3, tol=1e-3).fit(X)
    again = SemiNMF(3, tol=1e-3, init=first.components_).fit(X)
    assert again.n_iter_ <= first.n_iter_
    assert again.objective_ <= first.objective_ * (1 + 1e-6)
    assert SemiNMF(3, n_init=4, random_state=0).fit(X).objective_ <= first.objective_ * 1.01
    with pytest.raises(ValueError, match=r"init must be .* \(n_components=3, n_features=12\)"):
        SemiNMF(3, init=np.ones((2, 12))).fit(X)
    with pytest.raises(ValueError, match="does not accept NaN in sparse input"):
        SemiNMF().fit(sparse.csr_array(np.where(X > 1, np.nan, 0)))
    with pytest.raises(ValueError, match="X has 5 codes a row"):
        first.inverse_transform(np.ones((2, 5)))
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        SemiNMF(3, max_iter=2, tol=1e-9).fit(X)


@pytest.mark.edge
def test_handles_data_without_structure(seed):
    model = SemiNMF(2).fit(np.zeros((5, 3)))
    assert_array_equal(model.transform(np.ones((2, 3)) * 0), 0)
    assert model.score(np.zeros((2, 3))) == 0
    X = mixed(seed=seed)
    X[2] = np.nan
    assert_array_equal(SemiNMF(2).fit(X).transform(X)[2], 0)
    with pytest.warns(UserWarning, match="more components than n_samples=5 or n_features=4"):
        more = SemiNMF(8).fit(mixed(5, 4, 3, seed))
    assert np.isfinite(more.components_).all()


@pytest.mark.invariance
def test_repeated_entries_add_up(seed):
    X = mixed(seed=seed)
    columns = np.tile(np.r_[np.arange(12), np.arange(12)], 60)
    values = np.concatenate([np.r_[0.25 * row, 0.75 * row] for row in X])
    D = sparse.csr_array((values, columns, np.arange(61) * 24), shape=X.shape)
    dense = SemiNMF(3).fit(X)
    thin = SemiNMF(3).fit(D)
    assert_allclose(thin.objective_, dense.objective_, rtol=1e-9)
    assert_allclose(thin.score(D), dense.score(X), rtol=1e-8)
    assert D.nnz == 60 * 24  # the caller's matrix is unchanged


@pytest.mark.invariance
def test_weights_are_repetitions_with_missing_entries(seed):
    X = mixed(seed=seed)
    rng = np.random.default_rng(seed)
    X[rng.uniform(size=X.shape) < 0.15] = np.nan
    weights = rng.integers(0, 3, size=len(X))
    model = SemiNMF(3, init="kmeans", random_state=0, tol=1e-3)
    weighted = model.fit(X, sample_weight=weights).objective_
    repeated = model.fit(np.repeat(X, weights, axis=0)).objective_
    assert_allclose(weighted, repeated, rtol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize("size", [1e12, 1.0, 1e-12])
def test_partial_fit_of_single_precision(size, seed):
    X = mixed(120, 12, 3, seed)
    whole = SemiNMF(3, tol=1e-3).fit(X[:60]).partial_fit(X[60:])
    scaled = (size * X).astype(np.float32)
    model = SemiNMF(3, tol=1e-3).fit(scaled[:60]).partial_fit(scaled[60:])
    assert np.isfinite(model.components_).all()
    # products have 24 bits, and the objective is flat in some directions
    assert_allclose(model.objective_ / size**2, whole.objective_, rtol=1e-2)
    before = model.fit(scaled[:60]).kkt_residual_
    assert model.partial_fit(scaled[60:]).kkt_residual_ != before
    assert model.kkt_residual_ < 1e-6  # the components solve their subproblem


@pytest.mark.edge
def test_extreme_units(seed):
    X = mixed(20, 8, 3, seed)
    for settings in ({}, {"init": "kmeans"}):
        settings = {"tol": 1e-3, "random_state": 0, "max_iter": 5000} | settings
        base = SemiNMF(2, **settings).fit(X)
        for size, dtype in ((1e48, float), (1e-48, float), (1e13, "f4"), (1e-14, "f4")):
            model = SemiNMF(2, **settings).fit((size * X).astype(dtype))
            # the tolerance is `tol`
            assert_allclose(model.objective_ / size**2, base.objective_, rtol=1e-2)
            assert np.isfinite(model.transform((size * X).astype(dtype))).all()
    with pytest.raises(ValueError, match=r"fourth powers over- or underflow: rescale it"):
        SemiNMF(2).fit(1e60 * X)


@pytest.mark.certificate
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_objective_of_exact_factors_has_no_rounding_noise(dtype, seed):
    rng = np.random.default_rng(seed)
    X = (rng.gamma(1.0, size=(40, 3)) @ rng.normal(size=(3, 10))).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SemiNMF(3, tol=1e-9, max_iter=1000).fit(X)
    history = model.objective_history_
    assert history.min() >= 0
    assert (np.diff(history) <= 0).all()
    # in single precision, cancellation leaves errors of 3e-4
    rtol = 1e-6 if dtype == np.float64 else 1e-3
    error = model.reconstruction_err_**2 / 2
    assert_allclose(model.objective_, error, rtol=rtol, atol=1e-24 * (X * X).sum())


@pytest.mark.edge
@pytest.mark.parametrize(
    "X", [np.zeros((8, 5)), np.ones((8, 5)), np.tile(np.eye(5)[:2], (4, 1))]
)
def test_few_distinct_rows_give_no_warning_of_k_means(X):
    model = SemiNMF(3, init="kmeans", random_state=0).fit(X)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-3)
    wide = sparse.csr_array(X)
    wide.indices = wide.indices.astype(np.int64)
    wide.indptr = wide.indptr.astype(np.int64)
    again = SemiNMF(3, init="kmeans", random_state=0).fit(wide)
    assert_allclose(again.objective_, model.objective_, atol=1e-6)


@pytest.mark.edge
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_many_rows_and_columns_of_zeros(kind):
    X = kind(np.zeros((1100, 1050)))
    assert_array_equal(SemiNMF(3, random_state=0).fit(X).transform(X[:5]), 0)


@pytest.mark.edge
def test_sparse_codes_and_weights_of_scores(seed):
    X = mixed(seed=seed)
    model = SemiNMF(3).fit(X)
    codes = model.transform(X)
    assert_allclose(
        model.inverse_transform(sparse.csr_array(codes)), model.inverse_transform(codes)
    )
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.score(X, sample_weight=-np.ones(len(X)))


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_weights_beyond_the_limits_are_rejected(scale):
    """Their objective would be zero or infinite, and the start the answer."""
    X = np.random.default_rng(0).normal(size=(30, 5))
    with pytest.raises(ValueError, match=r"sample_weight .* between 1e-100 and 1e100"):
        SemiNMF(2).fit(X, sample_weight=np.full(30, scale))


@pytest.mark.recovery
def test_few_observed_entries_do_not_give_huge_factors(seed):
    """Without the ridge hidden entries are missed by many times the size of the data."""
    rng = np.random.default_rng(seed)
    F = rng.gamma(1, size=(100, 4)) @ rng.normal(size=(4, 40))
    observed = rng.random(F.shape) < 0.2
    X = np.where(observed, F + 0.1 * rng.normal(size=F.shape), np.nan)
    model = SemiNMF(4).fit(X)
    W = model.transform(X)
    H = model.components_
    assert np.sqrt(np.mean((W @ H - F)[~observed] ** 2)) < F.std()

    # the reported objective includes a ridge, and the result is stationary for it
    residual = np.where(observed, W @ H - X, 0.0)
    ridge = model.ridge_
    gradient = W.T @ residual + ridge * H
    assert np.abs(gradient).max() < 1e-3 * np.abs(W.T @ np.where(observed, X, 0.0)).max()
    penalty = ridge / 2 * (np.sum(W**2) + np.sum(H**2))
    objective = np.sum(residual**2) / 2 + penalty
    assert_allclose(model.objective_, objective, rtol=1e-3)  # the codes are exact
    assert SemiNMF(4).fit(np.nan_to_num(X)).ridge_ == 0
