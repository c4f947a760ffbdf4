"""Evidence that IncrementalSlowFeatureAnalysis solves the problem it states: slowness online."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_random_state

from skmoderndata.datasets import make_slow_signal
from skmoderndata.decomposition import IncrementalSlowFeatureAnalysis as ISFA
from skmoderndata.decomposition import SlowFeatureAnalysis, _incremental_slow_feature_analysis
from tests.oracles import online_components as oracle

STATE = ("components_", "delta_values_", "mean_", "whitening_variance_")


def sources(seed, n=2000, p=6, persistence=(0.995, 0.95, 0.7, 0.3, 0, 0)):
    """Mixed autoregressive sources with Delta = 2 (1 - persistence)."""
    rng = np.random.default_rng(seed)
    a = np.asarray(persistence)
    S = np.empty((n, len(a)))
    S[0] = rng.normal(size=len(a))
    noise = rng.normal(size=S.shape) * np.sqrt(1 - a**2)
    for t in range(1, n):
        S[t] = a * S[t - 1] + noise[t]
    return S @ rng.normal(size=(len(a), p)) + rng.normal(size=p), S


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


def largest_sine(A, B):
    """Between spans of columns, about their means."""
    return np.sin(subspace_angles(A - A.mean(axis=0), B - B.mean(axis=0))).max()


# ---- oracle ---------------------------------------------------------------------------------


@pytest.mark.oracle
def test_stream_matches_the_written_rule(seed):
    X, _ = sources(seed, n=400)
    W = check_random_state(seed).standard_normal((2, 5))
    Q, R = np.linalg.qr(W.T)
    vectors, minor, mean = oracle.slow_features(
        X, (Q * np.sign(np.diag(R))).T, starts=(0, 150), hold=100
    )
    ids = np.repeat([7, 3], [150, 250])
    model = ISFA(2, n_whitened=5, learning_rate_hold=100, random_state=seed)
    model.partial_fit(X, sequence_ids=ids)
    order = np.argsort(minor.eigenvalues)
    assert_allclose(model.delta_values_, np.array(minor.eigenvalues)[order], rtol=1e-6)
    assert_allclose(model.mean_, mean, rtol=1e-9, atol=1e-12)
    lam = np.sort([np.sqrt(v @ v) for v in vectors])[::-1]
    assert_allclose(model.whitening_variance_, lam, rtol=1e-8)
    Z = np.array([oracle.residual_coordinates(vectors, x - mean) for x in X])
    Z[:, np.array([np.sqrt(v @ v) for v in vectors]) <= 1e-3 * lam[0]] = 0
    Q, _ = np.linalg.qr(np.array(minor.W)[order].T)  # the class also makes them orthonormal
    assert_allclose(np.abs(model.transform(X)), np.abs(Z @ Q), rtol=1e-5, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("degree", [1, 2])
def test_all_features_refined_match_the_batch_solution(seed, degree):
    X, _ = sources(seed, p=3, persistence=(0.99, 0.9, 0.2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    batch = SlowFeatureAnalysis(degree=degree).fit(X)
    D = len(batch.delta_values_)
    model = ISFA(D, degree=degree, random_state=seed).fit(X)
    assert_allclose(model.delta_values_, batch.delta_values_, rtol=1e-7)
    assert_allclose(np.abs(model.transform(X)), np.abs(batch.transform(X)), atol=1e-5)
    assert_allclose(model.mean_, batch.mean_, rtol=1e-9, atol=1e-12)


@pytest.mark.oracle
def test_agrees_with_the_batch_solution(seed):
    X, _ = sources(seed)
    batch = SlowFeatureAnalysis(2).fit(X)
    model = ISFA(2, random_state=seed).fit(X)
    Y = batch.transform(X)
    Z = model.transform(X)
    assert correlation(Y[:, 0], Z[:, 0]) > 0.999
    assert largest_sine(Y, Z) < 0.05
    assert_allclose(model.delta_values_, batch.delta_values_, rtol=0.03)
    assert_allclose(model.score(X), batch.score(X), rtol=0.02)


@pytest.mark.oracle
def test_fewer_whitened_directions_are_batch_slow_features_after_pca(seed):
    rng = np.random.default_rng(seed)
    X, _ = sources(seed)
    X = X @ rng.normal(size=(6, 25)) + 0.05 * rng.normal(size=(2000, 25))
    few = PCA(6).fit_transform(X)
    batch = SlowFeatureAnalysis(2).fit(few)
    model = ISFA(2, n_whitened=6, random_state=seed).fit(X)
    assert largest_sine(batch.transform(few), model.transform(X)) < 0.03
    assert_allclose(model.delta_values_, batch.delta_values_, rtol=0.03)


# ---- paper ----------------------------------------------------------------------------------


@pytest.mark.paper
def test_signal_of_wiskott_and_sejnowski_from_the_rule_of_the_stream(seed):
    """x1 = sin t + cos^2 11 t, x2 = cos 11 t: the slow feature of degree 2 is sin t.

    Figures for 500 rows per pass: |corr| with the batch solution 0.9986 after 5 passes and
    0.9999 after 40 with a falling rate.
    """
    X, slow = make_slow_signal(500)
    model = ISFA(1, degree=2, refine=False, tol=None, random_state=seed)
    few = model.set_params(max_iter=5).fit(X).transform(X)[:, 0]
    many = model.set_params(max_iter=40).fit(X).transform(X)[:, 0]
    assert correlation(few, slow) > 0.9986
    assert correlation(many, slow) > 0.9999


@pytest.mark.paper
def test_signal_of_wiskott_and_sejnowski_from_fit(seed):
    X, slow = make_slow_signal(500)
    model = ISFA(1, degree=2, random_state=seed).fit(X)
    assert correlation(model.transform(X)[:, 0], slow) > 0.9999
    # the value in a batch is (2 pi / 500)^2; the feature contains small parts of the next
    # features, which are 100 times faster
    assert_allclose(model.delta_values_, (2 * np.pi / 500) ** 2, rtol=0.1)


# ---- certificate ----------------------------------------------------------------------------


@pytest.mark.certificate
@pytest.mark.parametrize("degree", [1, 2])
def test_outputs_keep_the_constraints_and_have_the_delta_values(seed, degree):
    X, _ = sources(seed, p=4, persistence=(0.99, 0.9, 0.5, 0.1))
    ids = np.repeat([0, 1], 1000)
    model = ISFA(3, degree=degree, random_state=seed).fit(X, sequence_ids=ids)
    Z = model.transform(X)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    assert_allclose(Z.T @ Z / len(Z), np.eye(3), atol=1e-8)
    steps = np.diff(Z, axis=0)[ids[1:] == ids[:-1]]
    M = steps.T @ steps / len(steps)
    assert_allclose(M, np.diag(model.delta_values_), atol=1e-9)
    assert_allclose(model.score(X, sequence_ids=ids), -model.delta_values_.mean(), rtol=1e-8)
    assert np.all(np.diff(model.delta_values_) >= 0)
    assert model.n_steps_ == 1998


@pytest.mark.certificate
def test_whitening_of_very_different_variances(seed):
    _, S = sources(seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    X = S * np.logspace(0, -4.7, 6) @ rotation
    Z = ISFA(6, random_state=seed).fit(X).transform(X)
    # with a single whitening, the error is 1e-9
    assert_allclose(Z.T @ Z / len(Z), np.eye(6), atol=2e-11)


@pytest.mark.certificate
def test_residuals_match_the_eigenproblem(seed):
    X, _ = sources(seed)
    model = ISFA(2, random_state=seed).fit(X)
    C = np.cov(X.T, bias=True)
    steps = np.diff(X, axis=0)
    A = steps.T @ steps / len(steps)
    B = model.components_
    # |C^-1/2 (A b - delta C b)| = |M w - delta w| in whitened coordinates
    residual = A @ B.T - C @ B.T * model.delta_values_
    lengths = np.sqrt((residual * np.linalg.solve(C, residual)).sum(axis=0))
    gamma = np.linalg.eigvals(np.linalg.solve(C, A)).real.max()
    # gamma is estimated by a running mean
    assert_allclose(model.eigen_residuals_, lengths / gamma, rtol=0.1, atol=1e-9)
    assert lengths.max() < 0.05 * gamma
    assert model.subspace_change_ <= model.tol
    assert model.whitening_change_ <= model.tol


# ---- recovery -------------------------------------------------------------------------------


@pytest.mark.recovery
def test_stream_finds_the_slow_source(seed):
    _, S = sources(seed, n=20000, persistence=(0.98, 0.8, 0.6, 0.3, 0, 0))
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    X = S * [1, 2, 0.5, 1.5, 0.7, 0.3] @ rotation
    model = ISFA(1, learning_rate_hold=3000, random_state=seed)
    for part in np.array_split(X, 20):
        model.partial_fit(part)
    assert correlation(model.transform(X)[:, 0], S[:, 0]) > 0.97


@pytest.mark.recovery
def test_two_features_of_a_stream_do_not_become_one():
    """Deflation by shares lets them: while gamma is underestimated, w_2 tends to w_1."""
    X, _ = sources(0, n=300)
    model = ISFA(2, rank_tol=0, random_state=0).partial_fit(X)
    assert np.isfinite(model.delta_values_).all()
    assert abs(np.corrcoef(model.transform(X).T)[0, 1]) < 0.9


@pytest.mark.recovery
def test_cosines_come_in_the_order_of_their_frequencies(seed):
    t = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    S = np.cos(np.outer(t, [1, 5, 14, 40])) * np.sqrt(2)
    X = S @ np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    Z = ISFA(4, random_state=seed).fit(X).transform(X)
    assert_allclose(np.abs(Z.T @ S / 1000), np.eye(4), atol=1e-3)


@pytest.mark.recovery
def test_follows_drift_on_request():
    first, S1 = sources(0, n=8000, p=3, persistence=(0.98, 0.3, 0))
    second, S2 = sources(1, n=8000, p=3, persistence=(0.98, 0.3, 0))
    model = ISFA(1, min_learning_rate=0.004, rank_tol=1e-6, random_state=0)
    assert (
        correlation(model.partial_fit(first).transform(first)[-2000:, 0], S1[-2000:, 0]) > 0.9
    )
    model.partial_fit(second, new_sequence=True)
    assert correlation(model.transform(second)[-2000:, 0], S2[-2000:, 0]) > 0.9


# ---- invariance -----------------------------------------------------------------------------


@pytest.mark.invariance
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("with_ids", [False, True])
def test_cutting_into_calls_changes_nothing(seed, degree, with_ids):
    X, _ = sources(seed, n=300, p=4, persistence=(0.99, 0.9, 0.5, 0.1))
    ids = np.repeat(["a", "b", "c"], [90, 1, 209]) if with_ids else None
    parameters = {"n_components": 2, "degree": degree, "random_state": seed}
    whole = ISFA(**parameters).partial_fit(X, sequence_ids=ids)
    for cuts in (range(1, 300), [90], [50, 90, 91, 200]):
        parts = ISFA(**parameters)
        for rows in np.split(np.arange(300), list(cuts)):
            parts.partial_fit(X[rows], sequence_ids=ids[rows] if with_ids else None)
        for name in STATE:
            assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)
        assert (parts.n_samples_seen_, parts.n_steps_) == (300, 297 if with_ids else 299)


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [2.0**100, 2.0**-100])
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_units_do_not_matter(seed, scale, fit):
    X, _ = sources(seed, n=300)
    model = getattr(ISFA(2, random_state=seed), fit)(X)
    scaled = getattr(ISFA(2, random_state=seed), fit)(X * scale)
    assert_array_equal(scaled.delta_values_, model.delta_values_)
    assert_array_equal(scaled.components_ * scale, model.components_)
    assert_allclose(scaled.transform(X * scale), model.transform(X), atol=1e-9)


@pytest.mark.invariance
def test_names_of_the_sequences_and_their_gaps(seed):
    X, _ = sources(seed, n=600)
    ids = np.repeat([0, 1, 2], 200)
    one = ISFA(2, random_state=seed).fit(X, sequence_ids=ids)
    two = ISFA(2, random_state=seed).fit(X, sequence_ids=np.array(["x", "y", "x"])[ids])
    assert_array_equal(one.components_, two.components_)
    # steps between two sequences are not counted, so a jump changes only the whitening
    streams = [ISFA(1, random_state=0) for _ in range(2)]
    streams[0].partial_fit(X[:200]).partial_fit(X[200:400], new_sequence=True)
    streams[1].partial_fit(X[:400], sequence_ids=ids[:400])
    assert_array_equal(streams[0].components_, streams[1].components_)
    assert streams[0].n_steps_ == 398


@pytest.mark.invariance
def test_order_of_sequences_hardly_matters_to_fit(seed):
    X, _ = sources(seed)
    ids = np.repeat(np.arange(10), 200)
    turned = np.concatenate([np.flatnonzero(ids == i) for i in range(9, -1, -1)])
    one = ISFA(1, random_state=seed).fit(X, sequence_ids=ids)
    two = ISFA(1, random_state=seed).fit(X[turned], sequence_ids=ids[turned])
    assert correlation(one.transform(X)[:, 0], two.transform(X)[:, 0]) > 0.999


@pytest.mark.invariance
@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_polynomial_features_do_not_depend_on_the_origin(seed, offset):
    X, slow = make_slow_signal(1000)
    model = ISFA(1, degree=2, random_state=seed).fit(X + offset)
    assert correlation(model.transform(X + offset)[:, 0], slow) > 0.9999
    stream = ISFA(1, degree=2, random_state=seed)
    for _ in range(15):
        stream.partial_fit(X + offset, new_sequence=True)
    assert correlation(stream.transform(X + offset)[:, 0], slow) > 0.999


@pytest.mark.invariance
def test_expansion_matches_polynomial_features(seed):
    X, _ = sources(seed, n=300, p=3, persistence=(0.99, 0.5, 0.1))
    inside = ISFA(2, degree=3, random_state=seed).partial_fit(X)
    assert_allclose(inside.origin_, X[:200].mean(axis=0), rtol=1e-12)
    centred = X - inside.origin_
    expanded = PolynomialFeatures(3, include_bias=False).fit_transform(centred)
    outside = ISFA(2, random_state=seed).partial_fit(expanded)
    assert_allclose(inside.transform(X), outside.transform(expanded), rtol=1e-5, atol=1e-5)


# ---- edge -----------------------------------------------------------------------------------


@pytest.mark.edge
def test_columns_that_depend_on_each_other(seed):
    X, _ = sources(seed, n=500, p=3, persistence=(0.99, 0.5, 0.1))
    wide = np.c_[X, X, np.ones(500)]
    with pytest.warns(UserWarning, match="exceeds the number 3 of directions"):
        model = ISFA(5, random_state=seed).fit(wide)
    batch = SlowFeatureAnalysis().fit(X)
    assert_allclose(model.delta_values_[:3], batch.delta_values_, rtol=1e-6)
    assert_array_equal(model.delta_values_[3:], np.inf)
    assert_array_equal(model.transform(wide)[:, 3:], 0)
    assert_allclose(model.score(wide), -batch.delta_values_.mean(), rtol=1e-6)
    # the state remains finite if zero features become non-zero later
    assert np.isfinite(model.partial_fit(wide).transform(wide)).all()
    stream = ISFA(5, random_state=seed).partial_fit(wide)
    assert np.isfinite(stream.transform(wide)).all()


@pytest.mark.edge
def test_constant_rows():
    X = np.full((20, 3), 0.1)
    with pytest.raises(ValueError, match="every feature is constant"):
        ISFA(2).fit(X)
    model = ISFA(2, random_state=0).partial_fit(X)
    assert_array_equal(model.components_, 0)
    assert_array_equal(model.transform(X), 0)
    assert_array_equal(model.delta_values_, np.inf)
    assert model.score(X) == -4.0
    X, _ = sources(0, p=3, persistence=(0.98, 0.5, 0.1))
    assert np.isfinite(model.partial_fit(X).delta_values_).all()


@pytest.mark.edge
def test_sequences_without_steps():
    X, _ = sources(0, n=30)
    with pytest.raises(ValueError, match="each of the 30 rows is a separate sequence"):
        ISFA(2).fit(X, sequence_ids=np.arange(30))
    model = ISFA(2, random_state=0).partial_fit(X, sequence_ids=np.arange(30))
    assert model.n_steps_ == 0
    assert np.isfinite(model.transform(X)).all()
    with pytest.raises(ValueError, match="no such step"):
        model.score(X[:1])


@pytest.mark.edge
def test_one_row_then_more():
    X, _ = sources(0, n=30)
    model = ISFA(2, random_state=0).partial_fit(X[:1])
    assert_array_equal(model.transform(X[:1]), 0)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        ISFA(2).fit(X[:1])


@pytest.mark.edge
def test_ids_in_some_calls_begin_new_sequences():
    X, _ = sources(0, n=30)
    model = ISFA(2, random_state=0).partial_fit(X[:10])
    model.partial_fit(X[10:20], sequence_ids=np.zeros(10)).partial_fit(X[20:])
    assert model.n_steps_ == 27


@pytest.mark.edge
def test_partial_fit_after_fit_continues_from_the_state(seed):
    X, _ = sources(seed)
    model = ISFA(2, random_state=seed).fit(X)
    before = model.transform(X)
    model.partial_fit(X[:20], new_sequence=True)
    assert (model.n_samples_seen_, model.n_steps_) == (2020, 2018)
    assert not hasattr(model, "eigen_residuals_")
    assert correlation(before[:, 0], model.transform(X)[:, 0]) > 0.99
    continued = ISFA(2, random_state=seed).fit(X).partial_fit(X[:20])
    assert continued.n_steps_ == 2019


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e90, 1e-90])
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_extreme_scales(scale, fit):
    X, _ = sources(0, n=300)
    model = getattr(ISFA(2, random_state=0), fit)(X * scale)
    plain = getattr(ISFA(2, random_state=0), fit)(X)
    # the passes amplify the rounding errors of the scaled entries
    assert_allclose(model.transform(X * scale), plain.transform(X), atol=1e-6)
    with pytest.raises(ValueError, match="Rescale X"):
        ISFA(2, degree=2).fit(X * scale)


@pytest.mark.edge
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_float32(fit):
    X = sources(0, n=300)[0].astype(np.float32)
    model = getattr(ISFA(2, random_state=0), fit)(X)
    exact = getattr(ISFA(2, random_state=0), fit)(X.astype(np.float64))
    assert model.transform(X).dtype == np.float32
    assert_allclose(model.transform(X), exact.transform(X), rtol=1e-5, atol=1e-5)


@pytest.mark.edge
def test_interrupted_partial_fit_leaves_no_trace(monkeypatch):
    X, _ = sources(0, n=300)
    model, reference = (ISFA(2, random_state=0).partial_fit(X[:100]) for _ in range(2))
    before = vars(model).copy()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_incremental_slow_feature_analysis, "slow_components", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(1e90 * X[100:200])
    assert all(vars(model)[name] is value for name, value in before.items())
    assert_array_equal(
        model.partial_fit(X[200:]).components_, reference.partial_fit(X[200:]).components_
    )


@pytest.mark.edge
def test_warns_if_too_many_components():
    X, _ = sources(0, n=300)
    with pytest.warns(
        UserWarning, match="n_components=7 exceeds the number 6 of whitened dir"
    ):
        model = ISFA(7, random_state=0).fit(X)
    assert model.components_.shape == (6, 6)
    with pytest.warns(UserWarning, match="n_components=3 .* returns 2"):
        stream = ISFA(3, n_whitened=2).partial_fit(X[:100])
    stream.partial_fit(X[100:])
    assert stream.components_.shape == (2, 6)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "n_whitened=30 exceeds n_features=27",
            lambda X: ISFA(2, n_whitened=30, degree=2).fit(X),
        ),
        (
            r"n_components=3 \(was 2\), degree=2 \(was 1\)",
            lambda X: (
                ISFA(2).partial_fit(X).set_params(n_components=3, degree=2).partial_fit(X)
            ),
        ),
        (
            "inconsistent numbers of samples",
            lambda X: ISFA(2).fit(X, sequence_ids=np.zeros(29)),
        ),
        (
            "sequence_ids contains NaN",
            lambda X: ISFA(2).partial_fit(X, sequence_ids=np.full(30, np.nan)),
        ),
        ("amnesic_ramp", lambda X: ISFA(2, amnesic_ramp=()).fit(X)),
    ],
)
def test_raises_on_invalid_input(message, call):
    X, _ = sources(0, n=30)
    with pytest.raises(ValueError, match=message):
        call(X)


@pytest.mark.edge
def test_warning_names_figure_and_remedy():
    X, _ = sources(0, n=300)
    with pytest.warns(
        ConvergenceWarning, match=r"subspace_change_=.*increase max_iter or tol"
    ):
        ISFA(2, max_iter=2, tol=1e-9, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match=r"whitening_change_="):
        ISFA(2, n_whitened=3, max_iter=2, tol=1e-9, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match=r"subspace_change_="):
        model = ISFA(2, max_iter=2, tol=1e-9, refine=False, random_state=0).fit(X)
    assert not hasattr(model, "whitening_change_")
    assert ISFA(2, max_iter=1, random_state=0).fit(X).n_iter_ == 2


@pytest.mark.edge
def test_grid_search_with_sequences_and_names():
    X, S = sources(0, n=600)
    ids = np.repeat(np.arange(6), 100)
    pipe = make_pipeline(ISFA(random_state=0), Ridge())
    name = "incrementalslowfeatureanalysis"
    search = GridSearchCV(pipe, {f"{name}__n_components": [1, 2]}, cv=GroupKFold(3))
    search.fit(X, S[:, 0], groups=ids, **{f"{name}__sequence_ids": ids})
    assert search.best_score_ > 0.8
    assert np.isfinite(GridSearchCV(ISFA(random_state=0), {}).fit(X).best_score_)
    model = ISFA(2, random_state=0).set_output(transform="pandas").fit(X)
    assert list(model.transform(X).columns) == [f"{name}0", f"{name}1"]
