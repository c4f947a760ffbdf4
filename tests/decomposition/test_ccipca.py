"""Evidence that CCIPCA solves the problem it states: principal components, row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.decomposition import CCIPCA, _ccipca
from tests.oracles import online_components as oracle

STATE = (
    "components_",
    "mean_",
    "explained_variance_",
    "noise_variance_",
    "orthogonality_error_",
)


def correlated(seed, n=300, p=6, scales=(5, 3, 2, 1, 0.5, 0.2)):
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return rng.normal(size=(n, p)) * np.asarray(scales) @ rotation + rng.normal(size=p)


def largest_sine(A, B):
    return np.sin(subspace_angles(A.T, B.T)).max()


def orthonormal_in_order(vectors):
    """Independent Gram-Schmidt: QR with the signs of the vectors."""
    V = np.array([oracle.unit(v) for v in vectors])
    Q, R = np.linalg.qr(V.T)
    return (Q * np.sign(np.diag(R))).T


# ---- oracle ---------------------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize(
    "schedule", [{}, {"amnesic": 4.0, "ramp": (5, 50), "growth": 80.0}, {"floor": 0.02}]
)
def test_stream_matches_the_written_rule(seed, schedule):
    X = correlated(seed)
    vectors, mean = oracle.ccipca(X, 3, **schedule)
    names = {"ramp": "amnesic_ramp", "growth": "amnesic_growth", "floor": "min_learning_rate"}
    parameters = {names.get(key, key): value for key, value in schedule.items()}
    model = CCIPCA(3, **parameters).partial_fit(X)
    lam = np.sqrt([v @ v for v in vectors])
    order = np.argsort(-lam)
    assert_allclose(model.explained_variance_, lam[order], rtol=1e-9)
    assert_allclose(model.mean_, mean, rtol=1e-9, atol=1e-12)
    expected = orthonormal_in_order([vectors[j] for j in order])
    products = np.abs((model.components_ * expected).sum(axis=1))
    assert_allclose(products, 1, rtol=1e-9)


@pytest.mark.oracle
def test_passes_of_fit_match_the_rule_with_the_exact_mean(seed):
    X = correlated(seed, n=60)
    vectors, _ = oracle.ccipca(X, 2, n_passes=3, fixed_mean=True)
    model = CCIPCA(2, refine=False, shuffle=False, max_iter=3, tol=None).fit(X)
    lam = np.sqrt([v @ v for v in vectors])
    assert_allclose(model.explained_variance_, np.sort(lam)[::-1], rtol=1e-9)
    assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)


@pytest.mark.oracle
def test_one_feature_without_amnesia_is_the_variance(seed):
    x = np.random.default_rng(seed).normal(3, 2, size=(50, 1))
    model = CCIPCA(1, amnesic=0).partial_fit(x)
    assert_allclose(model.explained_variance_, x.var(axis=0), rtol=1e-12)
    assert_allclose(model.mean_, x.mean(axis=0), rtol=1e-12)
    assert_allclose(model.explained_variance_ratio_, 1, rtol=1e-12)


@pytest.mark.oracle
def test_rows_on_a_line_give_their_variance(seed):
    rng = np.random.default_rng(seed)
    direction = oracle.unit(rng.normal(size=4))
    x = rng.normal(size=200)
    model = CCIPCA(1, amnesic=0).partial_fit(np.outer(x, direction) + 7)
    assert_allclose(model.explained_variance_, x.var(), rtol=1e-10)
    assert_allclose(np.abs(model.components_[0]), np.abs(direction), rtol=1e-8, atol=1e-10)


@pytest.mark.oracle
def test_all_components_refined_match_pca(seed):
    X = correlated(seed)
    model = CCIPCA(random_state=0).fit(X)
    exact = PCA().fit(X)
    n = len(X)
    assert_allclose(
        model.explained_variance_, exact.explained_variance_ * (n - 1) / n, rtol=1e-9
    )
    assert_allclose(
        model.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-9
    )
    assert_allclose(model.singular_values_, exact.singular_values_, rtol=1e-9)
    assert_allclose(np.abs(model.components_), np.abs(exact.components_), atol=1e-8)
    assert_allclose(np.abs(model.transform(X)), np.abs(exact.transform(X)), atol=1e-8)
    assert model.noise_variance_ == 0.0


@pytest.mark.oracle
def test_fit_reaches_the_subspace_of_pca(seed):
    X = correlated(seed, n=500)
    exact = PCA(2).fit(X)
    # the subspace has converged up to tol = 3e-3 per pass; allow five times this distance
    model = CCIPCA(2, random_state=0).fit(X)
    assert largest_sine(model.components_, exact.components_) < 0.015
    ratio = exact.explained_variance_ratio_.sum()
    assert_allclose(model.explained_variance_ratio_.sum(), ratio, rtol=1e-4)


@pytest.mark.oracle
def test_loses_less_variance_on_digits_than_incremental_pca():
    X = load_digits().data
    best = PCA(8).fit(X).explained_variance_ratio_.sum()
    batches = IncrementalPCA(8).fit(X)
    Z = (X - X.mean(axis=0)) @ batches.components_.T
    lost_by_batches = best - Z.var(axis=0).sum() / X.var(axis=0).sum()
    lost = best - CCIPCA(8, random_state=0).fit(X).explained_variance_ratio_.sum()
    assert 0 <= lost < 0.3 * lost_by_batches


# ---- certificate ----------------------------------------------------------------------------


@pytest.mark.certificate
@pytest.mark.parametrize("refine", [True, False])
def test_residuals_and_orthonormality(seed, refine):
    X = correlated(seed)
    model = CCIPCA(3, refine=refine, random_state=0).fit(X)
    V = model.components_
    lam = model.explained_variance_
    assert_allclose(V @ V.T, np.eye(3), atol=1e-12)
    C = np.cov(X.T, bias=True)
    residuals = np.linalg.norm(C @ V.T - V.T * lam, axis=0) / lam[0]
    assert_allclose(model.eigen_residuals_, residuals, rtol=1e-7, atol=1e-12)
    assert residuals.max() < 0.05
    assert model.subspace_change_ <= model.tol


@pytest.mark.certificate
def test_refined_variances_match_the_outputs(seed):
    X = correlated(seed)
    Z = CCIPCA(3, random_state=0).fit(X).transform(X)
    model = CCIPCA(3, random_state=0).fit(X)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.T @ Z / len(X), np.diag(model.explained_variance_), atol=1e-10)
    white = CCIPCA(3, whiten=True, random_state=0).fit(X)
    assert_allclose(np.cov(white.transform(X).T, bias=True), np.eye(3), atol=1e-10)
    assert_allclose(white.inverse_transform(white.transform(X)), model.inverse_transform(Z))


@pytest.mark.certificate
def test_score_is_the_reconstruction_error(seed):
    X, unseen = np.split(correlated(seed), 2)
    model = CCIPCA(2, random_state=0).fit(X)
    back = model.inverse_transform(model.transform(unseen))
    expected = -np.sum((unseen - back) ** 2) / np.sum((unseen - model.mean_) ** 2)
    assert_allclose(model.score(unseen), expected, rtol=1e-10)
    assert_allclose(model.score(X), model.explained_variance_ratio_.sum() - 1, rtol=1e-8)


# ---- recovery -------------------------------------------------------------------------------


@pytest.mark.recovery
def test_stream_finds_planted_directions(seed):
    rng = np.random.default_rng(seed)
    p = 100
    n = 5000
    planted = np.linalg.qr(rng.normal(size=(p, 3)))[0].T
    scales = np.array([8.0, 5.0, 3.0])
    X = rng.normal(size=(n, 3)) * scales @ planted + rng.normal(size=(n, p))
    model = CCIPCA(3).partial_fit(X)
    # in theory, the sine for PCA is about sqrt(p / n) / 3 = 0.05 in the weakest direction
    assert largest_sine(model.components_, planted) < 0.12
    # amnesic weights use about 5 / 9 of the rows, so the standard error is 3 %
    assert_allclose(model.explained_variance_, scales**2 + 1, rtol=0.15)


@pytest.mark.recovery
def test_amnesia_pays_when_variances_are_close():
    sines = {0.0: [], 2.0: []}
    for seed in range(5):
        X = correlated(seed, n=2000, scales=(3, 2.5, 2, 1.5, 1.2, 1))
        exact = PCA(3).fit(X).components_
        for amnesic, values in sines.items():
            model = CCIPCA(3, amnesic=amnesic).partial_fit(X)
            values.append(largest_sine(model.components_, exact))
    assert np.mean(sines[2.0]) < 0.5 * np.mean(sines[0.0])


@pytest.mark.recovery
def test_follows_drift_on_request(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 3000, 5))
    first[:, 0] *= 4
    second[:, 1] *= 4
    moving = CCIPCA(1, min_learning_rate=0.01)
    fixed = CCIPCA(1, amnesic=0)
    for model in (moving, fixed):
        model.partial_fit(first).partial_fit(second[:1000])
    assert abs(moving.components_[0, 1]) > 0.95
    assert abs(fixed.components_[0, 0]) > 0.9


# ---- invariance -----------------------------------------------------------------------------


@pytest.mark.invariance
def test_cutting_into_calls_changes_nothing(seed):
    X = correlated(seed)
    whole = CCIPCA(3).partial_fit(X)
    for sizes in ([1] * 300, [7] * 42 + [6], [100, 200]):
        parts = CCIPCA(3)
        for part in np.split(X, np.cumsum(sizes)[:-1]):
            parts.partial_fit(part)
        for name in STATE:
            assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)
        assert parts.n_samples_seen_ == 300


@pytest.mark.invariance
def test_cutting_changes_nothing_when_sizes_leap(seed):
    X = correlated(seed, n=40)
    X[20:] *= 1e90
    whole = CCIPCA(2).partial_fit(X)
    parts = CCIPCA(2)
    for row in X:
        parts.partial_fit(row[None])
    for name in STATE:
        assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [2.0**100, 2.0**-100])
def test_units_do_not_matter(seed, scale):
    X = correlated(seed)
    for make in (CCIPCA(3, random_state=0).fit, CCIPCA(3).partial_fit):
        model = make(X)
        scaled = None
        reference = (model.components_.copy(), model.explained_variance_.copy())
        scaled = (
            make(X * scale) if make.__name__ == "fit" else CCIPCA(3).partial_fit(X * scale)
        )
        assert_array_equal(scaled.components_, reference[0])
        assert_array_equal(scaled.explained_variance_, reference[1] * scale**2)


@pytest.mark.invariance
def test_rotation_of_the_features(seed):
    X = correlated(seed)
    R = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    plain = CCIPCA(3).partial_fit(X)
    turned = CCIPCA(3).partial_fit(X @ R)
    assert_allclose(turned.explained_variance_, plain.explained_variance_, rtol=1e-8)
    assert_allclose(np.abs(turned.transform(X @ R)), np.abs(plain.transform(X)), atol=1e-8)


@pytest.mark.invariance
def test_shift_of_the_data(seed):
    X = correlated(seed)
    plain = CCIPCA(3).partial_fit(X)
    moved = CCIPCA(3).partial_fit(X + 1000)
    # the rounding error of X + 1000 is 1e-13, relative to the smallest variance
    assert_allclose(moved.transform(X + 1000), plain.transform(X), atol=1e-7)


@pytest.mark.invariance
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, np.asfortranarray])
def test_storage_of_the_rows(seed, form):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5)) * (rng.random((80, 5)) < 0.4)
    for fit in ("fit", "partial_fit"):
        dense = getattr(CCIPCA(2, random_state=0), fit)(X)
        other = getattr(CCIPCA(2, random_state=0), fit)(form(X))
        assert_array_equal(other.components_, dense.components_)
        assert_allclose(other.transform(form(X)), dense.transform(X), atol=1e-12)
        assert_allclose(other.score(form(X)), dense.score(X), rtol=1e-12)


@pytest.mark.invariance
def test_seed_determines_the_result_and_input_is_unchanged(seed):
    X = correlated(seed)
    before = X.copy()
    one, two = (CCIPCA(2, random_state=seed).fit(X) for _ in range(2))
    assert_array_equal(one.components_, two.components_)
    assert_array_equal(X, before)


# ---- edge -----------------------------------------------------------------------------------


@pytest.mark.edge
def test_partial_fit_after_fit_continues_as_if_rows_counted_once(seed):
    X = correlated(seed)
    model = CCIPCA(2, amnesic=0, random_state=0).fit(X)
    variance = model.explained_variance_[0]
    assert model.n_samples_seen_ == 300
    row = model.mean_ + 3 * model.components_[0]
    model.partial_fit(row[None])
    assert model.n_samples_seen_ == 301
    expected = (300 * variance + 9 * 300 / 301) / 301
    assert_allclose(model.explained_variance_[0], expected, rtol=1e-10)
    assert not hasattr(model, "eigen_residuals_")


@pytest.mark.edge
def test_more_components_than_rank(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 7))
    for model in (CCIPCA(5, random_state=0).fit(X), CCIPCA(5).partial_fit(X)):
        rank = 2
        V = model.components_
        assert_allclose(V[:rank] @ V[:rank].T, np.eye(rank), atol=1e-10)
        assert_array_equal(V[rank:], 0)
        assert_array_equal(model.explained_variance_[rank:], 0)
        assert_array_equal(model.transform(X)[:, rank:], 0)
        assert_allclose(model.score(X), 0, atol=1e-10)
        model.set_params(whiten=True)
        assert np.isfinite(model.transform(X)).all()


@pytest.mark.edge
def test_fewer_rows_than_components():
    X = np.random.default_rng(0).normal(size=(4, 9))
    model = CCIPCA(6, random_state=0).fit(X)
    assert model.components_.shape == (6, 9)
    assert np.count_nonzero(model.explained_variance_) == 3
    assert CCIPCA(random_state=0).fit(X).components_.shape == (4, 9)
    assert CCIPCA().partial_fit(X).components_.shape == (9, 9)


@pytest.mark.edge
@pytest.mark.parametrize("value", [0.0, 0.1, 1e90])
def test_rows_that_are_all_equal(value):
    X = np.full((30, 4), value)
    for model in (CCIPCA(2, random_state=0).fit(X), CCIPCA(2).partial_fit(X)):
        assert_array_equal(model.components_, 0)
        assert_array_equal(model.explained_variance_ratio_, 0)
        assert_array_equal(model.transform(X), 0)
        assert_array_equal(model.inverse_transform(model.transform(X)), X)
        assert model.score(X) == 0.0
    rng = np.random.default_rng(0)
    late = (
        CCIPCA(1, amnesic=0)
        .partial_fit(X)
        .partial_fit(X + (1 + value) * rng.normal(size=(30, 1)))
    )
    assert_allclose(late.components_, 0.5, rtol=1e-6)


@pytest.mark.edge
def test_constant_and_zero_columns_get_no_weight(seed):
    X = np.c_[np.full(300, 0.1), correlated(seed), np.zeros(300)]
    for model in (CCIPCA(3, random_state=0).fit(X), CCIPCA(3).partial_fit(X)):
        assert_allclose(model.components_[:, [0, -1]], 0, atol=1e-14)
        assert_allclose(model.mean_[[0, -1]], [0.1, 0], rtol=1e-12)


@pytest.mark.edge
def test_one_row_then_more():
    X = correlated(0, n=30)
    model = CCIPCA(2).partial_fit(X[:1])
    assert_array_equal(model.mean_, X[0])
    assert_array_equal(model.transform(X[:1]), 0)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        CCIPCA(2).fit(X[:1])


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e90, 1e-90])
def test_extreme_scales(seed, scale):
    X = correlated(seed)
    for fit in ("fit", "partial_fit"):
        model = getattr(CCIPCA(2, random_state=0), fit)(X * scale)
        plain = getattr(CCIPCA(2, random_state=0), fit)(X)
        # scaling by a power of ten rounds each entry, and the number of passes may change as a
        # result
        assert_allclose(model.components_, plain.components_, atol=1e-6)
        assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_)
        assert_allclose(model.score(X * scale), plain.score(X), rtol=1e-6)
        model.set_params(whiten=True)
        assert np.isfinite(model.transform(X * scale)).all()


@pytest.mark.edge
def test_float32(seed):
    X = correlated(seed).astype(np.float32)
    for fit in ("fit", "partial_fit"):
        model = getattr(CCIPCA(2, whiten=True, random_state=0), fit)(X)
        exact = getattr(CCIPCA(2, whiten=True, random_state=0), fit)(X.astype(np.float64))
        assert model.components_.dtype == model.mean_.dtype == np.float32
        assert model.transform(X).dtype == np.float32
        assert model.inverse_transform(model.transform(X)).dtype == np.float32
        # for both, the state is in float64
        assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-12)
        assert_allclose(model.transform(X), exact.transform(X), atol=1e-5)


@pytest.mark.edge
def test_interrupted_partial_fit_leaves_no_trace(seed, monkeypatch):
    X = correlated(seed)
    model = CCIPCA(2).partial_fit(X[:100])
    reference = CCIPCA(2).partial_fit(X[:100])
    before = vars(model).copy()

    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_ccipca, "principal_components", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(1e90 * X[100:200])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    model.partial_fit(X[200:])
    reference.partial_fit(X[200:])
    assert_array_equal(model.components_, reference.components_)


@pytest.mark.edge
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_more_components_than_features_warn(fit):
    X = correlated(0, n=20)
    model = CCIPCA(7, random_state=0)
    for _ in range(2):  # continue the stream
        with pytest.warns(
            UserWarning, match="n_components=7 exceeds the number 6 .* returns 6"
        ):
            getattr(model, fit)(X)
    assert model.components_.shape == (6, 6)


@pytest.mark.edge
def test_raises_on_invalid_input():
    X = correlated(0, n=20)
    with pytest.raises(ValueError, match="n_components=3, but the estimate has 2"):
        CCIPCA(2).partial_fit(X).set_params(n_components=3).partial_fit(X)
    with pytest.raises(ValueError, match="amnesic_ramp=\\(30, 20\\)"):
        CCIPCA(2, amnesic_ramp=(30, 20)).fit(X)
    with pytest.raises(ValueError, match="needs n_components=2 columns, got 6"):
        CCIPCA(2, random_state=0).fit(X).inverse_transform(X)
    with pytest.raises(ValueError, match="NaN"):
        CCIPCA(2).partial_fit(np.where(X > 2, np.nan, X))


@pytest.mark.edge
def test_warning_names_figure_and_remedy():
    X = correlated(0, scales=(1, 1, 1, 1, 1, 1))
    with pytest.warns(
        ConvergenceWarning, match=r"subspace_change_=.*increase max_iter or tol"
    ):
        model = CCIPCA(2, max_iter=2, tol=1e-9, random_state=0).fit(X)
    assert model.n_iter_ == 2
    assert CCIPCA(2, max_iter=1, random_state=0).fit(X).subspace_change_ == np.inf


@pytest.mark.edge
def test_grid_search_and_names():
    X = correlated(0, n=120)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), CCIPCA(random_state=0)),
        {"ccipca__n_components": [1, 4]},
    ).fit(X)
    assert search.best_params_ == {"ccipca__n_components": 4}
    model = CCIPCA(2, random_state=0).set_output(transform="pandas").fit(X)
    assert list(model.transform(X).columns) == ["ccipca0", "ccipca1"]
