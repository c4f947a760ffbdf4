"""Evidence that MinorComponentAnalysis solves the problem it states: smallest variances online."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import check_random_state

from skmoderndata.decomposition import MinorComponentAnalysis, _minor_component_analysis
from skmoderndata.decomposition import MinorComponentAnalysis as MCA
from tests.oracles import online_components as oracle

STATE = ("components_", "eigenvalues_", "largest_variance_", "mean_")
SCALES = (0.3, 0.6, 1.5, 2, 2.5, 3)


def correlated(seed, n=400, scales=SCALES):
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(len(scales), len(scales))))[0]
    return rng.normal(size=(n, len(scales))) * scales @ rotation + rng.normal(size=len(scales))


def start(seed, k, p):
    """First directions as the class draws them: Gram-Schmidt of normal numbers."""
    W = check_random_state(seed).standard_normal((k, p))
    Q, R = np.linalg.qr(W.T)
    return (Q * np.sign(np.diag(R))).T


def largest_sine(A, B):
    return np.sin(subspace_angles(A.T, B.T)).max()


# ---- oracle ---------------------------------------------------------------------------------


@pytest.mark.oracle
def test_stream_matches_the_written_rule(seed):
    X = correlated(seed)
    state, mean = oracle.minor_components(X, start(seed, 3, 6), hold=100)
    model = MCA(3, learning_rate_hold=100, random_state=seed).partial_fit(X)
    order = np.argsort(state.eigenvalues)
    assert_allclose(model.eigenvalues_, np.array(state.eigenvalues)[order], rtol=1e-8)
    assert_allclose(model.mean_, mean, rtol=1e-9, atol=1e-12)
    assert_allclose(model.largest_variance_, np.sqrt(state.top[0] @ state.top[0]), rtol=1e-9)
    Q, _ = np.linalg.qr(np.array(state.W)[order].T)
    assert_allclose(np.abs((model.components_ * Q.T).sum(axis=1)), 1, rtol=1e-9)


@pytest.mark.oracle
def test_passes_of_fit_match_the_rule_with_the_exact_mean(seed):
    X = correlated(seed, n=50)
    state, _ = oracle.minor_components(
        X, start(seed, 2, 6), n_passes=3, fixed_mean=True, hold=40
    )
    model = MCA(
        2,
        learning_rate_hold=40,
        shuffle=False,
        refine=False,
        max_iter=3,
        tol=None,
        random_state=seed,
    ).fit(X)
    assert_allclose(model.eigenvalues_, np.sort(state.eigenvalues), rtol=1e-8)


@pytest.mark.oracle
def test_all_components_refined_match_pca_reversed(seed):
    X = correlated(seed)
    model = MCA(6, random_state=0).fit(X)
    exact = PCA().fit(X)
    n = len(X)
    expected = exact.explained_variance_[::-1] * (n - 1) / n
    assert_allclose(model.eigenvalues_, expected, rtol=1e-9)
    assert_allclose(np.abs(model.components_), np.abs(exact.components_[::-1]), atol=1e-8)


@pytest.mark.oracle
def test_fit_reaches_the_last_components_of_pca(seed):
    X = correlated(seed)
    exact = PCA().fit(X)
    model = MCA(2, random_state=seed).fit(X)
    # the subspace rotates by less than tol = 0.01 per pass
    assert largest_sine(model.components_, exact.components_[-2:]) < 0.05
    variances = exact.explained_variance_[-1:-3:-1] * (len(X) - 1) / len(X)
    assert_allclose(model.eigenvalues_.sum(), variances.sum(), rtol=0.03)


# ---- certificate ----------------------------------------------------------------------------


@pytest.mark.certificate
@pytest.mark.parametrize("refine", [True, False])
def test_residuals_and_orthonormality(seed, refine):
    X = correlated(seed)
    model = MCA(2, refine=refine, random_state=seed).fit(X)
    W = model.components_
    lam = model.eigenvalues_
    assert_allclose(W @ W.T, np.eye(2), atol=1e-12)
    assert np.all(np.diff(lam) >= 0)
    C = np.cov(X.T, bias=True)
    residuals = np.linalg.norm(C @ W.T - W.T * lam, axis=0) / model.largest_variance_
    assert_allclose(model.eigen_residuals_, residuals, rtol=1e-7, atol=1e-12)
    assert residuals.max() < 0.05
    assert_allclose(model.largest_variance_, np.linalg.eigvalsh(C)[-1], rtol=0.1)
    assert model.subspace_change_ <= model.tol


@pytest.mark.certificate
def test_outputs_have_the_variances_and_score_is_their_fraction(seed):
    X = correlated(seed)
    model = MCA(2, random_state=seed).fit(X)
    Z = model.transform(X)
    assert_allclose(Z.T @ Z / len(X), np.diag(model.eigenvalues_), atol=1e-12)
    share = model.eigenvalues_.sum() / X.var(axis=0).sum()
    assert_allclose(model.score(X), -share, rtol=1e-10)
    assert_allclose(MCA(6, random_state=0).fit(X).score(X), -1, rtol=1e-12)


@pytest.mark.certificate
def test_residual_distinguishes_rest_from_convergence():
    """A spectrum over four decades: the estimate rests early, and the residual is not small."""
    X = correlated(0, n=500, scales=np.logspace(-2, 2, 12))
    model = MCA(2, refine=False, tol=0.05, random_state=0).fit(X)
    C = np.cov(X.T, bias=True)
    smallest = np.linalg.eigvalsh(C)[:2].sum()
    assert model.eigenvalues_.sum() > 10 * smallest
    assert model.eigen_residuals_.max() > 10 * smallest / model.largest_variance_


# ---- recovery -------------------------------------------------------------------------------


@pytest.mark.recovery
def test_stream_finds_planted_hyperplanes(seed):
    rng = np.random.default_rng(seed)
    p = 20
    planted = np.linalg.qr(rng.normal(size=(p, 2)))[0].T
    X = rng.normal(size=(10000, p))
    X = X - 0.95 * (X @ planted.T) @ planted
    model = MCA(2, learning_rate_hold=2000, random_state=seed).partial_fit(X)
    # at the last rate, 0.016, the noise of the rule is of order sqrt(0.016 p) * 0.05
    assert largest_sine(model.components_, planted) < 0.05
    # the values are running means of squares, over about 5000 effective rows
    assert_allclose(model.eigenvalues_, 0.05**2, rtol=0.5)


@pytest.mark.recovery
def test_linear_relation_among_columns(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 4))
    relation = np.array([1.0, -2.0, 0.5, 0.0])
    X[:, 0] = 2 * X[:, 1] - 0.5 * X[:, 2] + 3
    normal = MCA(random_state=seed).fit(X).components_[0]
    assert_allclose(normal / normal[0], relation, atol=0.02)


@pytest.mark.recovery
def test_follows_drift_on_request(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 4000, 4))
    first[:, 0] *= 0.1
    second[:, 1] *= 0.1
    model = MCA(min_learning_rate=0.02, learning_rate_hold=200, random_state=seed)
    assert abs(model.partial_fit(first).components_[0, 0]) > 0.98
    assert abs(model.partial_fit(second).components_[0, 1]) > 0.98


# ---- invariance -----------------------------------------------------------------------------


@pytest.mark.invariance
def test_cutting_into_calls_changes_nothing(seed):
    X = correlated(seed)
    X[200:] *= 1e60
    whole = MCA(2, random_state=seed).partial_fit(X)
    for sizes in ([1] * 400, [7] * 57 + [1], [100, 300]):
        parts = MCA(2, random_state=seed)
        for part in np.split(X, np.cumsum(sizes)[:-1]):
            parts.partial_fit(part)
        for name in STATE:
            assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)
        assert parts.n_samples_seen_ == 400


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [2.0**100, 2.0**-100])
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_units_do_not_matter(seed, scale, fit):
    X = correlated(seed)
    model = getattr(MCA(2, random_state=seed), fit)(X)
    scaled = getattr(MCA(2, random_state=seed), fit)(X * scale)
    assert_array_equal(scaled.components_, model.components_)
    assert_array_equal(scaled.eigenvalues_, model.eigenvalues_ * scale**2)
    assert_allclose(scaled.score(X * scale), model.score(X), rtol=1e-12)


@pytest.mark.invariance
def test_shift_of_the_data(seed):
    X = correlated(seed)
    plain = MCA(2, random_state=seed).partial_fit(X)
    moved = MCA(2, random_state=seed).partial_fit(X + 1000)
    # the rounding error of X + 1000 is 1e-13
    assert_allclose(moved.components_, plain.components_, atol=1e-9)


@pytest.mark.invariance
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, np.asfortranarray])
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_storage_of_the_rows(seed, form, fit):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5)) * (rng.random((80, 5)) < 0.4)
    parameters = {"n_components": 2, "random_state": 0, "tol": None, "max_iter": 5}
    dense = getattr(MCA(**parameters), fit)(X)
    other = getattr(MCA(**parameters), fit)(form(X))
    assert_array_equal(other.components_, dense.components_)
    assert_allclose(other.transform(form(X)), dense.transform(X), atol=1e-12)
    assert_allclose(other.score(form(X)), dense.score(X), rtol=1e-12)


@pytest.mark.invariance
def test_start_does_not_matter_after_convergence(seed):
    X = correlated(0)
    one = MCA(2, random_state=seed).fit(X)
    two = MCA(2, random_state=seed + 100).fit(X)
    assert largest_sine(one.components_, two.components_) < 0.05


# ---- edge -----------------------------------------------------------------------------------


@pytest.mark.edge
def test_constant_columns_are_minor_components():
    X = np.c_[np.full(200, 0.1), correlated(0, n=200), np.zeros(200)]
    model = MCA(2, random_state=0).fit(X)
    assert_allclose(model.eigenvalues_, 0, atol=1e-4)
    assert (np.abs(model.components_[:, [0, -1]]) ** 2).sum() > 1.99


@pytest.mark.edge
@pytest.mark.parametrize("value", [0.0, 0.1, 1e90])
def test_rows_that_are_all_equal_keep_the_first_directions(value):
    X = np.full((30, 4), value)
    for fit in ("fit", "partial_fit"):
        model = getattr(MCA(2, random_state=0), fit)(X)
        # `fit` rotates the components within their span
        assert largest_sine(model.components_, start(0, 2, 4)) < 1e-12
        assert_array_equal(model.eigenvalues_, 0)
        assert_array_equal(model.transform(X), 0)
        assert model.score(X) == 0.0


@pytest.mark.edge
def test_fewer_rows_than_columns():
    X = np.random.default_rng(0).normal(size=(4, 9))
    model = MCA(3, random_state=0, learning_rate=0.5, max_iter=300, tol=1e-3).fit(X)
    assert_allclose(model.eigenvalues_, 0, atol=1e-3)
    assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)


@pytest.mark.edge
def test_one_row_then_more():
    X = correlated(0)
    model = MCA(2, random_state=0).partial_fit(X[:1])
    assert_array_equal(model.mean_, X[0])
    assert_allclose(np.abs((model.components_ * start(0, 2, 6)).sum(axis=1)), 1, rtol=1e-12)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        MCA().fit(X[:1])


@pytest.mark.edge
def test_one_enormous_row_does_no_lasting_harm():
    X = correlated(0, n=6000)
    X[3000] *= 1e6
    model = MCA(2, amnesic=0, random_state=0, min_learning_rate=0.002).partial_fit(X)
    assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    assert np.isfinite(model.eigenvalues_).all()


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e90, 1e-90])
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_extreme_scales(scale, fit):
    X = correlated(0)
    parameters = {"n_components": 2, "random_state": 0, "tol": None, "max_iter": 5}
    model = getattr(MCA(**parameters), fit)(X * scale)
    plain = getattr(MCA(**parameters), fit)(X)
    assert_allclose(model.components_, plain.components_, atol=1e-9)
    assert_allclose(model.score(X * scale), plain.score(X), rtol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_float32(fit):
    X = correlated(0).astype(np.float32)
    model = getattr(MCA(2, random_state=0), fit)(X)
    exact = getattr(MCA(2, random_state=0), fit)(X.astype(np.float64))
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-12)


@pytest.mark.edge
def test_partial_fit_after_fit_continues_from_the_state():
    X = correlated(0, n=50)
    model = MCA(2, random_state=0).fit(X)
    before = model.components_.copy()
    model.partial_fit(X[:5])
    assert model.n_samples_seen_ == 55
    assert not hasattr(model, "eigen_residuals_")
    assert largest_sine(model.components_, before) < 0.05


@pytest.mark.edge
def test_interrupted_partial_fit_leaves_no_trace(monkeypatch):
    X = correlated(0)
    model, reference = (MCA(2, random_state=0).partial_fit(X[:100]) for _ in range(2))
    before = vars(model).copy()

    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_minor_component_analysis, "minor_components", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(1e90 * X[100:200])
    assert all(vars(model)[name] is value for name, value in before.items())
    assert_array_equal(
        model.partial_fit(X[200:]).components_, reference.partial_fit(X[200:]).components_
    )


@pytest.mark.edge
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_more_components_than_features_warn(fit):
    X = correlated(0)
    model = MCA(7, random_state=0)
    for _ in range(2):  # continue the stream
        with pytest.warns(
            UserWarning, match="n_components=7 exceeds the number 6 .* returns 6"
        ):
            getattr(model, fit)(X)
    assert model.components_.shape == (6, 6)


@pytest.mark.edge
def test_raises_on_invalid_input():
    X = correlated(0)
    with pytest.raises(ValueError, match="n_components=3, but the estimate has 2"):
        MCA(2).partial_fit(X).set_params(n_components=3).partial_fit(X)
    with pytest.raises(ValueError, match="learning_rate"):
        MCA(learning_rate=1.0).fit(X)
    with pytest.raises(ValueError, match="amnesic_ramp"):
        MCA(amnesic_ramp=(1, 2, 3)).partial_fit(X)
    with pytest.raises(ValueError, match="NaN"):
        MCA().partial_fit(np.where(X > 2, np.nan, X))


@pytest.mark.edge
def test_warning_names_figure_and_remedy():
    X = correlated(0)
    with pytest.warns(
        ConvergenceWarning, match=r"subspace_change_=.*increase max_iter or tol\.$"
    ):
        MCA(2, max_iter=2, tol=1e-9, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="lower learning_rate_hold"):
        MCA(2, max_iter=2, tol=1e-9, random_state=0, refine=False).fit(X)
    with pytest.warns(ConvergenceWarning, match="still decreased by more than one per cent"):
        MCA(2, max_iter=3, tol=1.0, random_state=0).fit(
            correlated(0, scales=np.logspace(-4, 0, 6))
        )


@pytest.mark.edge
def test_grid_search_and_names():
    X = correlated(0)
    search = GridSearchCV(MCA(random_state=0), {"n_components": [1, 3]}).fit(X)
    assert search.best_params_ == {"n_components": 1}
    model = MinorComponentAnalysis(random_state=0).set_output(transform="pandas").fit(X)
    assert list(model.transform(X).columns) == ["minorcomponentanalysis0"]
