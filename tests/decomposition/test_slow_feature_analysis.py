"""Evidence that SlowFeatureAnalysis solves the problem it states."""

import itertools
import pickle
import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse, stats
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from skmoderndata._solvers.series.expansion import PolynomialExpansion
from skmoderndata._solvers.series.quadratic_form import QuadraticForm
from skmoderndata._solvers.series.slow_features import default_chunk_rows
from skmoderndata.datasets import make_logistic_map, make_mixed_sources, make_slow_signal
from skmoderndata.decomposition import SlowFeatureAnalysis
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.preprocessing import TimeDelayEmbedding
from tests.oracles.slow_feature_analysis import (
    bare_bones,
    moments,
    slow_certificate,
    slow_outputs,
)


def series(seed, n=400, p=5):
    """Mixed autoregressive signals with different time scales."""
    rng = np.random.default_rng(seed)
    S = np.zeros((n, p))
    memory = 1 - np.logspace(-2, -0.1, p)
    for t in range(1, n):
        S[t] = memory * S[t - 1] + np.sqrt(1 - memory**2) * rng.normal(size=p)
    return S @ rng.normal(size=(p, p)) + rng.normal(size=p)


def measured(Y, ids=None, lag=1):
    """Mean squared steps of outputs."""
    ids = np.zeros(len(Y)) if ids is None else ids
    return ((Y[lag:] - Y[:-lag])[ids[lag:] == ids[:-lag]] ** 2).mean(axis=0)


def assert_same_outputs(Y, expected, atol):
    """Equal up to the signs of the columns."""
    assert Y.shape == expected.shape
    signs = np.sign((Y * expected).sum(axis=0))
    assert_allclose(Y * signs, expected, rtol=0, atol=atol)


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


# ---- the problem is solved ---------------------------------------------------------------------

SETTINGS = [
    {},
    {"degree": 2},
    {"degree": 3, "n_components": 4},
    {"degree": 2, "n_components": 3, "solver": "cholesky"},
    {"degree": 2, "n_components": 3, "solver": "eigh", "batch_size": 13},
    {"degree": 2, "include_bias": True},
    {"degree": 2, "pre_pca": 3},
    {"lag": 3},
]


@pytest.mark.certificate
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_outputs_meet_constraints_and_delta_values_are_measured(seed, setting):
    X = series(seed)
    model = SlowFeatureAnalysis(**setting).fit(X)
    Y = model.transform(X)
    assert_allclose(Y.mean(axis=0), 0, atol=1e-8)
    assert_allclose(Y.T @ Y / len(Y), np.eye(Y.shape[1]), atol=1e-8)
    assert_allclose(model.delta_values_, measured(Y, lag=model.lag), rtol=1e-8)
    assert (np.diff(model.eigenvalues_) >= 0).all()
    assert model.eigenvalues_.shape == (model.rank_,)
    assert 0 <= model.eigenvalues_[0] <= model.eigenvalues_[-1] <= 4
    assert_allclose(model.eta_values_, 400 / 2 / np.pi / model.lag * model.delta_values_**0.5)
    assert_allclose(model.score(X), -model.delta_values_.mean(), rtol=1e-8)


@pytest.mark.certificate
def test_outputs_meet_constraints_when_features_almost_depend_on_each_other(seed):
    """Cubic functions of a deterministic map: without its second pass `fit` reaches 1e-6."""
    X, _ = make_logistic_map(3000, random_state=seed)
    windows = TimeDelayEmbedding(n_lags=4, padding="nan").fit_transform(X)
    model = SlowFeatureAnalysis(degree=3).fit(windows)
    Y = model.transform(windows)[3:]
    assert model.rank_ == 34
    assert_allclose(Y.mean(axis=0), 0, atol=1e-8)
    assert_allclose(Y.T @ Y / len(Y), np.eye(Y.shape[1]), atol=1e-8)
    assert_allclose(model.delta_values_, measured(Y), rtol=1e-8)


@pytest.mark.certificate
def test_generalised_eigenproblem_residual(seed):
    X = series(seed)
    F = PolynomialFeatures(2, include_bias=False).fit_transform(X - X.mean(axis=0))
    _, C, A, _ = moments(F)
    model = SlowFeatureAnalysis(n_components=4, degree=2).fit(X)
    assert_allclose(model.input_mean_, X.mean(axis=0), rtol=1e-13)
    certificate = slow_certificate(C, A, model.components_, model.delta_values_)
    assert certificate.stationarity < 1e-9
    assert certificate.orthonormality < 1e-9


@pytest.mark.certificate
def test_no_other_uncorrelated_functions_are_slower(seed):
    """The sum of the k smallest delta values is a minimum (Ky Fan)."""
    rng = np.random.default_rng(seed)
    X = series(seed)
    model = SlowFeatureAnalysis(n_components=3, degree=2).fit(X)
    every = SlowFeatureAnalysis(degree=2).fit_transform(X)
    for scale in (1e-2, 0.1, 1.0, 10.0):
        near = np.eye(every.shape[1])[:, :3] + scale * rng.normal(size=(every.shape[1], 3))
        other = every @ np.linalg.qr(near)[0]
        assert measured(other).sum() > model.delta_values_.sum()


@pytest.mark.oracle
def test_matches_generalised_eigensolver(seed):
    X = np.random.default_rng(seed).normal(size=(60, 4)).cumsum(axis=0)
    steps = np.diff(X, axis=0)
    delta = linalg.eigh(steps.T @ steps / 59, np.cov(X.T, bias=True), eigvals_only=True)
    assert_allclose(SlowFeatureAnalysis().fit(X).delta_values_, delta, rtol=1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_matches_the_route_by_singular_values(seed, degree):
    X = series(seed, n=300, p=3)
    ids = np.repeat([4, 1, 7], 100)
    Y, delta = slow_outputs(X, degree=degree, ids=ids)
    model = SlowFeatureAnalysis(degree=degree).fit(X, sequence_ids=ids)
    assert_allclose(model.delta_values_, delta, rtol=1e-7)
    # the vectors rotate if their values are nearly equal
    assert_same_outputs(model.transform(X), Y, atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("lag", [1, 4])
def test_mask_missing_rows_and_times_match_plain_loops(seed, lag):
    rng = np.random.default_rng(seed)
    X = series(seed, n=200, p=3)
    ids = np.array(list("abc"))[np.sort(rng.integers(0, 3, 200))]
    mask = rng.random(200) > 0.1
    X[rng.random(200) < 0.05, 1] = np.nan
    times = rng.uniform(0.5, 2, 200).cumsum()
    valid = mask & ~np.isnan(X).any(axis=1)
    _, C, A, n_steps = moments(X, lag=lag, ids=ids, valid=valid, times=times)
    model = SlowFeatureAnalysis(lag=lag).fit(
        X, sequence_ids=ids, sample_mask=mask, times=times
    )
    assert model.n_steps_ == n_steps
    assert model.n_samples_seen_ == valid.sum()
    assert_allclose(model.delta_values_, linalg.eigh(A, C, eigvals_only=True), rtol=1e-8)


@pytest.mark.oracle
def test_transformer_and_callable_expansions_equal_the_built_in_one(seed):
    X = series(seed, p=3)
    own = SlowFeatureAnalysis(degree=2).fit(X)
    transformer = PolynomialFeatures(2, include_bias=False)
    by_transformer = SlowFeatureAnalysis(expansion=transformer, batch_size=50).fit(X)
    by_callable = SlowFeatureAnalysis(
        expansion=lambda rows: sparse.csr_array(transformer.fit_transform(rows))
    ).fit(X)
    for other in (by_transformer, by_callable):
        assert_allclose(other.delta_values_, own.delta_values_, rtol=1e-9)
        assert_same_outputs(other.transform(X), own.transform(X), atol=1e-8)
    assert list(by_transformer.expansion_names_) == list(own.expansion_names_)
    assert by_callable.expansion_names_[-1] == "expansion8"
    assert (
        not hasattr(transformer, "n_features_in_")
        or by_transformer.expansion_ is not transformer
    )


@pytest.mark.oracle
def test_lag_gives_the_time_lagged_independent_components(seed):
    """For outputs of unit variance a step of lag L has ``delta = 2 (1 - autocorrelation)``."""
    t = np.arange(4000) * 2 * np.pi / 4000
    sources = np.column_stack([np.cos(3 * t), np.cos(7 * t), np.cos(19 * t)])
    mixing = np.random.default_rng(seed).normal(size=(3, 3))
    model = SlowFeatureAnalysis(lag=100).fit(sources @ mixing)
    expected = 2 * (1 - np.cos(100 * np.array([3, 7, 19]) * 2 * np.pi / 4000))
    # 100 of 4000 steps are missing: the steps across the end of the period
    assert_allclose(model.delta_values_, expected, rtol=0.05)


# ---- a planted truth is found ------------------------------------------------------------------


@pytest.mark.paper
@pytest.mark.parametrize("solver", ["auto", "eigh", "cholesky"])
def test_classic_example(solver):
    """Wiskott and Sejnowski (2002), section 3: the slowest quadratic function is sin(t)."""
    X, slow = make_slow_signal(5000)
    model = SlowFeatureAnalysis(degree=2, solver=solver).fit(X)
    Y = model.transform(X)
    assert 1 - correlation(Y[:, 0], slow) < 1e-8
    assert_allclose(abs(Y[:, 0]), np.sqrt(2) * abs(slow), atol=1e-4)
    assert_allclose(model.delta_values_, measured(Y), rtol=1e-8)
    assert_allclose(model.delta_values_[0], (2 * np.pi / 5000) ** 2, rtol=1e-3)
    assert_allclose(model.eta_values_[0], 1, rtol=1e-3)
    form = model.quadratic_form(0)
    # the function that is found is sqrt(2) (x1 - x2^2)
    assert_allclose(form.f * np.sign(form.f[0]), [np.sqrt(2), 0], atol=1e-3)
    assert_allclose(form.H * np.sign(form.f[0]), [[0, 0], [0, -2 * np.sqrt(2)]], atol=1e-3)


@pytest.mark.paper
@pytest.mark.parametrize(("degree", "n_lags"), [(2, 4), (3, 3)])
def test_driving_force_of_the_logistic_map(seed, degree, n_lags):
    """Wiskott (2003): the slowest function of a window shows the hidden parameter."""
    X, force = make_logistic_map(6000, random_state=seed)
    model = make_pipeline(
        TimeDelayEmbedding(n_lags=n_lags, padding="nan"),
        SlowFeatureAnalysis(n_components=1, degree=degree),
    )
    y = model.fit_transform(X)[n_lags - 1 :, 0]
    assert correlation(y, force[n_lags - 1 :]) > 0.995


@pytest.mark.recovery
def test_mixed_cosines_are_ordered_by_frequency(seed):
    rng = np.random.default_rng(seed)
    n = 2000
    frequencies = np.array([2, 5, 9, 14, 30])
    # cosines that fit the interval are exactly uncorrelated, as are their steps
    t = np.arange(n) + 0.5
    sources = np.sqrt(2) * np.cos(np.pi * np.outer(t, frequencies) / n)
    model = SlowFeatureAnalysis()
    Y = model.fit_transform(sources @ rng.normal(size=(5, 5)))
    assert_same_outputs(Y, sources, atol=1e-8)
    assert_allclose(
        model.delta_values_, 2 * (1 - np.cos(np.pi * frequencies / n)) * n / (n - 1), rtol=1e-8
    )
    assert_allclose(model.eta_values_, frequencies / 2, rtol=5e-3)


@pytest.mark.recovery
def test_white_noise_has_delta_two(seed):
    X = np.random.default_rng(seed).normal(size=(50_000, 3))
    model = SlowFeatureAnalysis().fit(X)
    # the standard error of a delta value is 2 / sqrt(n); the extremes of 3 stay within 6 of them
    assert_allclose(model.delta_values_, 2, atol=12 / np.sqrt(50_000))


@pytest.mark.recovery
def test_linear_source_separation(seed):
    X, sources = make_mixed_sources(20_000, n_sources=3, mixing="linear", random_state=seed)
    Y = SlowFeatureAnalysis().fit_transform(X)
    for j in range(3):  # chance correlations of the slow sources limit the accuracy
        assert correlation(Y[:, j], sources[:, j]) > 0.95


@pytest.mark.recovery
def test_slowest_source_of_a_nonlinear_mixture(seed):
    """The slowest output is a monotone function of the slowest source."""
    X, sources = make_mixed_sources(5000, time_scale=15, random_state=seed)
    model = make_pipeline(
        StandardScaler(),
        SlowFeatureAnalysis(
            n_components=1, expansion=Nystroem(gamma=2.0, n_components=100, random_state=0)
        ),
    )
    y = model.fit_transform(X)[:, 0]
    assert abs(stats.spearmanr(y, sources[:, 0])[0]) > 0.98


# ---- what must not matter ----------------------------------------------------------------------


@pytest.mark.invariance
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_affine_maps_of_the_input_do_not_matter(seed, degree):
    rng = np.random.default_rng(seed)
    X = StandardScaler().fit_transform(series(seed, p=3))
    mapped = X @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3))) + rng.normal(size=3)
    model, other = (SlowFeatureAnalysis(degree=degree).fit(Z) for Z in (X, mapped))
    assert_allclose(model.delta_values_, other.delta_values_, rtol=1e-7)
    assert_same_outputs(model.transform(X), other.transform(mapped), atol=1e-5)


@pytest.mark.invariance
@pytest.mark.parametrize("degree", [1, 2])
def test_units_of_the_input_do_not_matter(seed, degree):
    X = StandardScaler().fit_transform(series(seed, p=4))
    units = np.array([1e-9, 1.0, 1e6, 1e-3])
    model, other = (SlowFeatureAnalysis(degree=degree).fit(Z) for Z in (X, X * units))
    assert other.rank_ == model.rank_
    assert_allclose(other.delta_values_, model.delta_values_, rtol=1e-8)
    assert_same_outputs(other.transform(X * units), model.transform(X), atol=1e-7)


@pytest.mark.invariance
@pytest.mark.parametrize("degree", [1, 2])
def test_constant_and_duplicate_columns_do_not_matter(seed, degree):
    X = series(seed, p=3)
    more = np.column_stack([X[:, 0], np.full(len(X), 0.1), X, X[:, 1] - 2 * X[:, 2]])
    model = SlowFeatureAnalysis(degree=degree).fit(X)
    for setting in ({}, {"n_components": 2}):
        other = SlowFeatureAnalysis(degree=degree, **setting).fit(more)
        k = len(other.delta_values_)
        assert other.rank_ == model.rank_
        assert_allclose(other.delta_values_, model.delta_values_[:k], rtol=1e-8)
        assert_same_outputs(other.transform(more), model.transform(X)[:, :k], atol=1e-7)


@pytest.mark.invariance
def test_direction_of_time_and_order_of_sequences_do_not_matter(seed):
    X = series(seed)
    ids = np.repeat(np.arange(8), 50)
    Y = SlowFeatureAnalysis(degree=2).fit(X, sequence_ids=ids).transform(X)
    reverse = SlowFeatureAnalysis(degree=2).fit(X[::-1], sequence_ids=ids[::-1])
    assert_allclose(reverse.transform(X), Y, atol=1e-8)
    order = np.argsort(np.random.default_rng(seed).permutation(8)[ids], kind="stable")
    shuffled = SlowFeatureAnalysis(degree=2).fit(X[order], sequence_ids=ids[order])
    assert_allclose(shuffled.transform(X), Y, atol=1e-8)


@pytest.mark.invariance
def test_splitting_a_sequence_removes_one_step(seed):
    X = series(seed, p=3)
    ids = np.repeat([0, 1], [150, 250])
    whole = SlowFeatureAnalysis().fit(X)
    split = SlowFeatureAnalysis().fit(X, sequence_ids=ids)
    assert (whole.n_steps_, split.n_steps_) == (399, 398)
    assert (whole.n_sequences_, split.n_sequences_) == (1, 2)
    step = X[150] - X[149]
    A = (moments(X)[2] * 399 - np.outer(step, step)) / 398
    C = np.cov(X.T, bias=True)
    assert_allclose(split.delta_values_, linalg.eigh(A, C, eigvals_only=True), rtol=1e-8)
    # periods are counted within a sequence: two of 200 rows on average
    assert_allclose(split.eta_values_, 200 / (2 * np.pi) * np.sqrt(split.delta_values_))


@pytest.mark.invariance
def test_repeated_id_begins_a_new_sequence():
    X = series(0, n=60, p=2)
    ids = np.repeat([0, 1, 0], 20)
    assert SlowFeatureAnalysis(lag=25).fit(X).n_steps_ == 35
    with pytest.raises(ValueError, match="no step of lag=25"):
        SlowFeatureAnalysis(lag=25).fit(X, sequence_ids=ids)
    assert SlowFeatureAnalysis().fit(X, sequence_ids=ids).n_sequences_ == 3


@pytest.mark.invariance
@pytest.mark.parametrize("size", [1, 7, 64, 399])
@pytest.mark.parametrize(
    "setting", [{}, {"degree": 2, "n_components": 3}, {"lag": 3}], ids=str
)
def test_partial_fit_equals_fit_however_the_rows_are_cut(seed, size, setting):
    rng = np.random.default_rng(seed)
    X = PCA(whiten=True).fit_transform(series(seed, p=4))
    X[rng.random(400) < 0.02] = np.nan
    ids = np.sort(rng.integers(0, 5, 400))
    mask = rng.random(400) > 0.02
    whole = SlowFeatureAnalysis(**setting).fit(X, sequence_ids=ids, sample_mask=mask)
    model = SlowFeatureAnalysis(**setting, batch_size=29)
    model.partial_fit(X[:30], sequence_ids=ids[:30], sample_mask=mask[:30])
    for start in range(30, 400, size):
        part = slice(start, start + size)
        model.partial_fit(X[part], sequence_ids=ids[part], sample_mask=mask[part])
    assert model.n_steps_ == whole.n_steps_
    assert model.n_sequences_ == whole.n_sequences_
    assert_allclose(model.delta_values_, whole.delta_values_, rtol=1e-10)
    assert_allclose(model.mean_, whole.mean_, rtol=1e-10, atol=1e-12)
    # compare the vectors, including their signs
    assert_allclose(model.components_, whole.components_, rtol=1e-9, atol=1e-10)


@pytest.mark.invariance
def test_partial_fit_continues_after_fit(seed):
    X = series(seed, n=600, p=3)
    whole = SlowFeatureAnalysis(degree=2).fit(X)
    times = np.arange(600.0)
    model = SlowFeatureAnalysis(degree=2).fit(X[:400]).partial_fit(X[400:])
    assert_allclose(model.delta_values_, whole.delta_values_, rtol=1e-9)
    timed = SlowFeatureAnalysis(degree=2).fit(X[:400], times=times[:400])
    timed.partial_fit(X[400:], times=times[400:])
    assert_allclose(timed.delta_values_, whole.delta_values_, rtol=1e-9)
    model.fit(X[:400])  # `fit` forgets earlier rows
    assert model.n_samples_seen_ == 400


@pytest.mark.invariance
def test_new_sequence_suppresses_the_step_between_calls():
    X = series(0, p=3)
    model = SlowFeatureAnalysis().partial_fit(X[:100]).partial_fit(X[100:], new_sequence=True)
    expected = SlowFeatureAnalysis().fit(X, sequence_ids=np.arange(400) >= 100)
    assert model.n_steps_ == 398
    assert_allclose(model.delta_values_, expected.delta_values_, rtol=1e-10)


@pytest.mark.invariance
def test_times_of_equal_spacing_only_change_the_unit():
    X = series(0, p=3)
    plain = SlowFeatureAnalysis().fit(X)
    timed = SlowFeatureAnalysis().fit(X, times=0.25 * np.arange(400) + 7)
    assert_allclose(timed.delta_values_, plain.delta_values_ * 16, rtol=1e-10)
    assert_allclose(timed.components_, plain.components_, rtol=1e-8, atol=1e-10)
    # there are 400 rows but only 399 steps
    assert_allclose(timed.eta_values_, plain.eta_values_ * 399 / 400, rtol=1e-10)


@pytest.mark.invariance
def test_times_make_uneven_sampling_of_a_sine_harmless():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 1, 4000))
    t[1:] += np.arange(1, 4000) * 1e-9
    S = np.column_stack([np.sin(2 * np.pi * 3 * t), np.sin(2 * np.pi * 40 * t)])
    model = SlowFeatureAnalysis().fit(S @ rng.normal(size=(2, 2)), times=t)
    assert_allclose(model.eta_values_, [3, 40], rtol=0.02)  # sines are sampled at random times


@pytest.mark.invariance
def test_float32_input_gives_the_result_of_float64(seed):
    X = series(seed, p=3).astype(np.float32)
    model = SlowFeatureAnalysis(degree=2).fit(X)
    Y = model.transform(X)
    assert Y.dtype == np.float32
    other = SlowFeatureAnalysis(degree=2).fit(X.astype(np.float64))
    assert_allclose(model.delta_values_, other.delta_values_, rtol=1e-10)
    assert_allclose(Y, other.transform(X.astype(np.float64)), atol=1e-5)


@pytest.mark.invariance
def test_transform_of_a_row_depends_only_on_that_row(seed):
    X = series(seed, p=4)
    model = SlowFeatureAnalysis(degree=2, n_components=5).fit(X)
    Y = model.transform(X)
    one_by_one = np.vstack([model.transform(row[None]) for row in X])
    assert_allclose(one_by_one, Y, atol=1e-10)
    assert_allclose(model.set_params(batch_size=3).transform(X), Y, atol=1e-10)
    X[7, 2] = np.nan
    with_hole = model.transform(X)
    assert np.isnan(with_hole[7]).all()
    assert_allclose(np.delete(with_hole, 7, axis=0), np.delete(Y, 7, axis=0), atol=1e-10)


@pytest.mark.invariance
def test_quadratic_form_is_the_component(seed):
    X = series(seed, p=4)
    for setting in ({"degree": 1}, {"degree": 2}, {"degree": 2, "pre_pca": 3}, SETTINGS[5]):
        model = SlowFeatureAnalysis(**setting).fit(X)
        Y = model.transform(X)
        for j in (0, Y.shape[1] - 1):
            H, f, c = model.quadratic_form(j)
            assert_allclose(H, H.T)
            value = np.einsum("ti,ij,tj->t", X, H, X) / 2 + X @ f + c
            assert_allclose(value, Y[:, j], atol=1e-7)
            assert_allclose(model.quadratic_form(j)(X), value, atol=1e-10)


@pytest.mark.certificate
@pytest.mark.parametrize("case", ["general", "linear", "no linear part", "hard", "repeated"])
def test_extrema_of_a_quadratic_form_on_a_sphere(seed, case):
    """Stationary on the sphere with the right curvature, and no random row is better."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(4, 4))
    H = H + H.T
    f = rng.normal(size=4)
    V = np.linalg.eigh(H)[1]

    if case == "linear":
        H = np.zeros((4, 4))
    elif case == "no linear part":
        f = np.zeros(4)
    elif case == "hard":  # the linear part vanishes along the extreme directions
        f = 0.1 * V[:, 1] + 0.2 * V[:, 2]
    elif case == "repeated":
        H = V @ np.diag([-1, -1, 2, 2]) @ V.T

    form = QuadraticForm(H, f, 0.5)
    X = rng.normal(size=(20_000, 4))
    X *= 1.7 / np.linalg.norm(X, axis=1, keepdims=True)
    largest, smallest = form.extrema_on_sphere(1.7)

    # the extremes are stationary, have norm 1.7, and exceed all random points
    for x, sign in ((largest, 1), (smallest, -1)):
        assert_allclose(np.linalg.norm(x), 1.7, rtol=1e-9)
        gradient = H @ x + f
        multiplier = gradient @ x / 1.7**2
        assert_allclose(gradient, multiplier * x, atol=1e-6)
        assert sign * form(x[None])[0] >= (sign * form(X)).max() - 1e-9


@pytest.mark.invariance
def test_pre_pca_is_a_pipeline_with_whitened_principal_components(seed):
    X = series(seed)
    inside = SlowFeatureAnalysis(degree=2, pre_pca=3).fit(X)
    Z = PCA(3, whiten=True).fit_transform(X)
    outside = SlowFeatureAnalysis(degree=2).fit(Z)
    assert_allclose(inside.delta_values_, outside.delta_values_, rtol=1e-8)
    assert_same_outputs(inside.transform(X), outside.transform(Z), atol=1e-7)
    assert inside.expansion_names_[3] == "pca0^2"
    explained = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    by_fraction = SlowFeatureAnalysis(pre_pca=float(explained[1] + 1e-6)).fit(X)
    assert by_fraction.input_components_.shape == (3, 5)


# ---- origin and rounding ----------------------------------------------------------------------


def fitted_in_every_way(X, **setting):
    """Models of the same rows by fit, partial_fit, a first batch of one row, and merge."""
    whole = SlowFeatureAnalysis(**setting).fit(X)
    stream = SlowFeatureAnalysis(**setting)
    for rows in np.array_split(X, 20):
        stream.partial_fit(rows)
    short = SlowFeatureAnalysis(**setting).partial_fit(X[:1]).partial_fit(X[1:])
    parts = [SlowFeatureAnalysis(**setting).fit(rows) for rows in np.array_split(X, 3)]
    return whole, stream, short, parts[0].merge(parts[1].merge(parts[2]))


@pytest.mark.invariance
@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("offset", [-100.0, 1e4, 1e6])
def test_polynomial_features_do_not_depend_on_the_origin(degree, offset):
    X, slow = make_slow_signal(1000)
    plain = SlowFeatureAnalysis(degree=degree).fit(X)
    for model in fitted_in_every_way(X + offset, degree=degree):
        assert model.rank_ == plain.rank_
        assert_allclose(model.delta_values_, plain.delta_values_, rtol=1e-3)
        assert_allclose(model.input_mean_, X.mean(axis=0) + offset, rtol=1e-14)
        assert correlation(model.transform(X + offset)[:, 0], slow) > 0.99999


@pytest.mark.invariance
def test_ways_to_fit_agree_on_weights_about_the_mean_of_all_rows(seed):
    X = PCA(whiten=True).fit_transform(series(seed, p=3)) + 50
    whole, *others = fitted_in_every_way(X, degree=2, include_bias=True)
    for other in others:
        assert_same_model(other, whole, rtol=1e-8)
        assert_allclose(other.input_mean_, whole.input_mean_, rtol=1e-12)


@pytest.mark.invariance
def test_stream_whose_first_rows_are_not_usable(seed):
    X = make_slow_signal(500)[0] + 1e4
    X[:20] = np.nan
    whole = SlowFeatureAnalysis(degree=2).fit(X)
    stream = SlowFeatureAnalysis(degree=2)
    for rows in (X[:5], X[5:15], X[15:]):
        stream.partial_fit(rows)
    assert_allclose(stream.delta_values_, whole.delta_values_, rtol=1e-6)
    assert_allclose(stream.input_mean_, X[20:].mean(axis=0), rtol=1e-12)


@pytest.mark.oracle
def test_columns_of_unlike_spread_keep_all_directions(seed):
    """Quadratic functions of sources mixed by a matrix of condition 653 span the same space."""
    rng = np.random.default_rng(seed)
    S = np.zeros((8000, 6))
    memory = np.array([0.998, 0.99, 0.97, 0.9, 0.7, 0.3])
    for t in range(1, len(S)):
        S[t] = memory * S[t - 1] + np.sqrt(1 - memory**2) * rng.normal(size=6)
    U, V = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    mixing = U @ np.diag(np.geomspace(653, 1, 6)) @ V
    expected = SlowFeatureAnalysis(degree=2).fit(S)
    model = SlowFeatureAnalysis(degree=2).fit(S @ mixing)
    assert model.rank_ == expected.rank_ == 27
    assert_allclose(model.delta_values_, expected.delta_values_, rtol=1e-8)


@pytest.mark.edge
def test_directions_lost_to_the_rounding_of_the_input_are_reported():
    """A second column that differs from the first by less than the rounding of float32."""
    X, _ = make_slow_signal(1000)
    far = np.column_stack([X[:, 0], X[:, 0] + 1e-4 * X[:, 1]]) + 3e3
    assert SlowFeatureAnalysis().fit(far).rank_ == 2
    with pytest.warns(DoubtfulResultWarning, match="omitted 1 direction.*float64"):
        model = SlowFeatureAnalysis().fit(far.astype(np.float32))
    assert model.rank_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SlowFeatureAnalysis(rank_tol=0).fit(far.astype(np.float32))


# ---- blocks that are merged -------------------------------------------------------------------


def random_blocks(rng, n, n_cuts, *also):
    """Slices that cut n rows at random places, and one row after the first of these."""
    cuts = rng.choice(np.arange(1, n - 1), size=n_cuts, replace=False)
    edges = np.unique(np.r_[0, cuts, cuts[0] + 1, n, np.array(also, dtype=int)])
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def merged_in_random_order(rng, models):
    """Join neighbours, pair by pair, in any order: `merge` is associative."""
    models = list(models)
    while len(models) > 1:
        i = int(rng.integers(len(models) - 1))
        models[i] = models[i].merge(models.pop(i + 1))
    return models[0]


def assert_same_model(model, whole, rtol=1e-10):
    assert model.n_samples_seen_ == whole.n_samples_seen_
    assert model.n_steps_ == whole.n_steps_
    assert model.n_sequences_ == whole.n_sequences_
    assert_allclose(model.mean_, whole.mean_, rtol=rtol, atol=1e-12)
    assert_allclose(model.delta_values_, whole.delta_values_, rtol=rtol)
    assert_allclose(model.eta_values_, whole.eta_values_, rtol=rtol)
    # vectors whose values are nearly equal rotate by more than the values change
    assert_allclose(model.components_, whole.components_, rtol=1e-8, atol=1e-10)


@pytest.mark.invariance
@pytest.mark.parametrize("lag", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("rows", ["plain", "ids", "mask", "times", "all", "float32"])
def test_merged_blocks_equal_fit_however_the_rows_are_cut(seed, lag, rows):
    rng = np.random.default_rng([seed, lag])
    X = PCA(whiten=True).fit_transform(series(seed, p=4))
    given = {}

    if rows in ("ids", "all"):
        given["sequence_ids"] = np.sort(rng.integers(0, 6, 400))
    if rows in ("mask", "all"):
        X[rng.random(400) < 0.05] = np.nan
        X[100:110] = np.nan  # one block has no usable row
        given["sample_mask"] = rng.random(400) > 0.05
    if rows in ("times", "all"):
        given["times"] = rng.uniform(0.5, 2, 400).cumsum()

    if rows == "float32":
        X = X.astype(np.float32)
    setting = {"lag": lag, "degree": 2, "n_components": 3} if lag < 3 else {"lag": lag}
    whole = SlowFeatureAnalysis(**setting).fit(X, **given)

    for n_cuts in (1, 4, 60):
        empty = (103, 106) if rows in ("mask", "all") else ()
        blocks = random_blocks(rng, 400, n_cuts, *empty)
        models = [
            SlowFeatureAnalysis(**setting, batch_size=int(rng.integers(1, 50))).partial_fit(
                X[block], **{name: value[block] for name, value in given.items()}
            )
            for block in blocks
        ]

        models = [pickle.loads(pickle.dumps(model)) for model in models]
        assert_same_model(merged_in_random_order(rng, models), whole)


@pytest.mark.invariance
def test_rows_continue_after_a_merge(seed):
    """`partial_fit` after `merge` and `merge` after `partial_fit`, blocks below the lag."""
    X = series(seed, p=3)
    whole = SlowFeatureAnalysis(lag=4).fit(X)
    blocks = [slice(0, 2), slice(2, 3), slice(3, 150), slice(150, 152), slice(152, 400)]
    a, b, c, d = (SlowFeatureAnalysis(lag=4).partial_fit(X[block]) for block in blocks[:4])
    a.merge(b.merge(c)).merge(d).partial_fit(X[blocks[4]])
    assert_same_model(a, whole)
    assert (c.n_samples_seen_, d.n_samples_seen_) == (147, 2)


@pytest.mark.invariance
def test_merge_of_other_sequences_has_no_seam(seed):
    X = series(seed, p=3)
    ids = np.arange(400) >= 150
    whole = SlowFeatureAnalysis(lag=2).fit(X, sequence_ids=ids)
    first, second = (SlowFeatureAnalysis(lag=2).fit(X[some]) for some in (~ids, ids))
    before = pickle.dumps(second)
    assert_same_model(first.merge(second, follows=False), whole)
    assert pickle.dumps(second) == before
    first = SlowFeatureAnalysis(lag=2).fit(X[~ids])
    second = SlowFeatureAnalysis(lag=2).partial_fit(X[ids], new_sequence=True)
    assert_same_model(first.merge(second), whole)


@pytest.mark.invariance
def test_merge_leaves_sources_unchanged_and_accepts_itself():
    X = series(0, n=100, p=2)
    model = SlowFeatureAnalysis().fit(X[:60])
    other = SlowFeatureAnalysis().fit(X[60:])
    before = other.components_.copy()
    model.merge(other).partial_fit(X[:5])
    assert_array_equal(other.components_, before)
    assert (other.n_samples_seen_, other.n_steps_) == (40, 39)
    twice = SlowFeatureAnalysis().fit(np.concatenate([X, X]))
    model = SlowFeatureAnalysis().fit(X)
    assert_same_model(model.merge(model), twice)


@pytest.mark.invariance
def test_merge_with_an_expansion(seed):
    """One that learns nothing adds up; one fitted to other rows gives other features."""
    X = StandardScaler().fit_transform(series(seed, p=3))
    expansion = RBFSampler(n_components=8, random_state=0)
    whole = SlowFeatureAnalysis(expansion=expansion).fit(X)
    parts = [SlowFeatureAnalysis(expansion=expansion).fit(part) for part in (X[:90], X[90:])]
    assert_allclose(parts[0].merge(parts[1]).delta_values_, whole.delta_values_, rtol=1e-8)
    expansion = Nystroem(gamma=0.5, n_components=8, random_state=0)
    parts = [SlowFeatureAnalysis(expansion=expansion).fit(part) for part in (X[:90], X[90:])]
    with pytest.raises(ValueError, match="cannot merge: expansion_ differs"):
        parts[0].merge(parts[1])
    frozen = FrozenEstimator(expansion.fit(X[:50]))
    whole = SlowFeatureAnalysis(expansion=frozen).fit(X)
    parts = [SlowFeatureAnalysis(expansion=frozen).fit(part) for part in (X[:90], X[90:])]
    assert_allclose(parts[0].merge(parts[1]).delta_values_, whole.delta_values_, rtol=1e-8)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("parameters", "columns", "message"),
    [
        ({"degree": 2}, 2, "degree differs, 1 here and 2 there"),
        ({"lag": 2}, 2, "lag differs, 1 here and 2 there"),
        ({"include_bias": True}, 2, "include_bias differs"),
        ({"n_components": 1}, 2, "n_components differs, None here and 1 there"),
        ({"rank_tol": 0.1}, 2, "rank_tol differs"),
        ({"expansion": np.sin}, 2, "expansion_ differs"),
        ({}, 1, "n_features_in_ differs, 2 here and 1 there"),
    ],
)
def test_merge_rejects_other_states(parameters, columns, message):
    X = series(0, n=60, p=2)
    model = SlowFeatureAnalysis().fit(X[:30])
    other = SlowFeatureAnalysis(**parameters).fit(X[30:, :columns])
    with pytest.raises(ValueError, match=f"SlowFeatureAnalysis cannot merge: {message}"):
        model.merge(other)
    assert model.n_samples_seen_ == 30


@pytest.mark.edge
def test_merge_rejects_states_that_cannot_be_joined():
    X = series(0, n=60, p=2)
    model = SlowFeatureAnalysis().fit(X[:30])
    frames = [pd.DataFrame(X, columns=list(names)) for names in ("ab", "ba")]
    named = [SlowFeatureAnalysis().fit(frame) for frame in frames]
    with pytest.raises(ValueError, match="feature_names_in_ differs"):
        named[0].merge(named[1])
    with pytest.raises(ValueError, match="cannot merge with PCA"):
        model.merge(PCA().fit(X))
    with pytest.raises(NotFittedError):
        model.merge(SlowFeatureAnalysis())
    with pytest.raises(AttributeError, match="merge"):
        SlowFeatureAnalysis(pre_pca=1).fit(X).merge(model)


@pytest.mark.edge
def test_merge_checks_times():
    X = series(0, n=60, p=2)
    times = np.arange(60.0)

    def fit(*arguments, **given):
        return SlowFeatureAnalysis().fit(*arguments, **given)

    early = fit(X[:30], times=times[:30])
    late = fit(X[30:], times=times[30:])
    with pytest.raises(ValueError, match="to both estimators, or to none"):
        early.merge(fit(X))
    with pytest.raises(ValueError, match="first row to merge has 0 after 59"):
        late.merge(early)
    assert late.n_samples_seen_ == 30
    assert late.merge(early, follows=False).n_steps_ == 58


# ---- use with scikit-learn ---------------------------------------------------------------------


@pytest.mark.invariance
def test_search_over_sequences_with_metadata(seed):
    import sklearn

    X = series(seed)
    ids = np.repeat(np.arange(8), 50)
    pipeline = make_pipeline(StandardScaler(), SlowFeatureAnalysis(), Ridge())
    grid = {"slowfeatureanalysis__n_components": [1, 3], "slowfeatureanalysis__degree": [1, 2]}
    search = GridSearchCV(pipeline, grid, cv=GroupKFold(4), error_score="raise")
    search.fit(X, X[:, 0], groups=ids, slowfeatureanalysis__sequence_ids=ids)
    scores = search.cv_results_["mean_test_score"]
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, X[:, 0], groups=ids, sequence_ids=ids)
    assert_allclose(search.cv_results_["mean_test_score"], scores)
    search = GridSearchCV(SlowFeatureAnalysis(), {"degree": [1, 2]}, cv=GroupKFold(4))
    search.fit(X, groups=ids)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.invariance
def test_score_is_the_slowness_of_held_out_rows(seed):
    X = series(seed, n=800)
    ids = np.repeat(np.arange(16), 50)
    model = SlowFeatureAnalysis(n_components=2).fit(X[:400], sequence_ids=ids[:400])
    Y = model.transform(X[400:])
    expected = -(measured(Y, ids[400:]) / (Y**2).mean(axis=0)).mean()
    assert_allclose(model.score(X[400:], sequence_ids=ids[400:]), expected, rtol=1e-10)
    assert model.score(X[400:]) != model.score(X[400:], sequence_ids=ids[400:])


@pytest.mark.invariance
def test_names_of_features_and_outputs():
    X = pd.DataFrame(series(0, p=2), columns=["left", "right"])
    model = SlowFeatureAnalysis(degree=2, n_components=2).fit(X)
    assert list(model.expansion_names_) == ["left", "right", "left^2", "left right", "right^2"]
    names = ["slowfeatureanalysis0", "slowfeatureanalysis1"]
    assert list(model.get_feature_names_out()) == names
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == names


@pytest.mark.invariance
def test_pickle_of_a_stream_continues(seed):
    X = series(seed, p=3)
    model = SlowFeatureAnalysis().partial_fit(X[:200])
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[200:])
    expected = model.partial_fit(X[200:])
    assert_array_equal(again.components_, expected.components_)


# ---- the border --------------------------------------------------------------------------------


@pytest.mark.edge
def test_more_components_than_rank_warns():
    X = series(0, p=3)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(UserWarning, match="n_components=4 exceeds the rank 3"):
        model = SlowFeatureAnalysis(n_components=4).fit(X)
    assert model.transform(X).shape == (400, 3)
    with pytest.raises(ValueError, match="depend linearly"):
        SlowFeatureAnalysis(solver="cholesky").fit(X)


@pytest.mark.edge
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9, -1e-9])
def test_constant_data_are_rejected(degree, value):
    with pytest.raises(ValueError, match="feature is constant"):
        SlowFeatureAnalysis(degree=degree).fit(np.full((50, 3), value))
    with pytest.raises(ValueError, match="feature is constant"):
        SlowFeatureAnalysis(pre_pca=2).fit(np.full((50, 3), value, dtype=np.float32))


@pytest.mark.edge
def test_rows_without_steps_are_rejected():
    X = series(0, n=20, p=2)
    with pytest.raises(ValueError, match=r"no step of lag=1 within a sequence"):
        SlowFeatureAnalysis().fit(X, sequence_ids=np.arange(20))
    with pytest.raises(ValueError, match="no step of lag=20"):
        SlowFeatureAnalysis(lag=20).fit(X)
    X[::2] = np.nan
    with pytest.raises(ValueError, match="no step"):
        SlowFeatureAnalysis().fit(X)
    assert SlowFeatureAnalysis(lag=2).fit(X).n_steps_ == 9


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "mask"),
    [(np.full((5, 2), np.nan), None), (np.ones((5, 2)), np.zeros(5, dtype=bool))],
    ids=["missing", "masked"],
)
def test_rejects_data_without_usable_rows(X, mask):
    with pytest.raises(ValueError, match="no usable row"):
        SlowFeatureAnalysis().fit(X, sample_mask=mask)


@pytest.mark.edge
def test_sequences_of_one_row_count_for_the_rows_only():
    X = series(0, n=40, p=2)
    ids = np.r_[np.zeros(30), np.arange(1, 11)]
    model = SlowFeatureAnalysis().fit(X, sequence_ids=ids)
    assert (model.n_samples_seen_, model.n_steps_) == (40, 29)
    assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)


@pytest.mark.edge
def test_fewer_rows_than_features():
    X = series(0, n=12, p=5)
    model = SlowFeatureAnalysis(degree=3).fit(X)
    assert model.rank_ <= 11
    Y = model.transform(X)
    assert_allclose(Y.T @ Y / 12, np.eye(model.rank_), atol=1e-8)
    # the functions fit noise, and the score reveals this
    assert model.score(series(1, n=300)) < -0.1
    two = SlowFeatureAnalysis().fit(X[:2])
    assert_allclose(two.delta_values_, [4])


@pytest.mark.edge
@pytest.mark.parametrize("scale", [1e-90, 1e-30, 1e30, 1e90])
def test_extreme_scales(scale):
    X = series(0, p=3)
    expected = SlowFeatureAnalysis().fit(X)
    model = SlowFeatureAnalysis().fit(X * scale)
    assert_allclose(model.delta_values_, expected.delta_values_, rtol=1e-8)
    assert_allclose(model.transform(X * scale), expected.transform(X), atol=1e-8)
    assert_allclose(model.components_, expected.components_ / scale, rtol=1e-6)
    if abs(np.log10(scale)) > 80:
        with pytest.raises(ValueError, match="range of float64"):
            SlowFeatureAnalysis(degree=3).fit(X * scale)
    scale = scale**0.7  # squares remain in the range of float64
    model = SlowFeatureAnalysis(degree=2, n_components=2).fit(X * scale)
    expected = SlowFeatureAnalysis(degree=2, n_components=2).fit(X)
    assert_allclose(model.delta_values_, expected.delta_values_, rtol=1e-8)
    assert_same_outputs(model.transform(X * scale), expected.transform(X), atol=1e-7)


@pytest.mark.edge
def test_overflow_in_a_later_batch_is_reported():
    X = series(0, p=3)
    model = SlowFeatureAnalysis(degree=2).fit(X)
    before = model.delta_values_
    with pytest.raises(ValueError, match="leave the range of float64"):
        model.partial_fit(X * 1e90)
    assert_array_equal(model.delta_values_, before)
    assert model.n_samples_seen_ == 400


@pytest.mark.edge
def test_times_restart_with_a_sequence():
    X = series(0, n=30, p=2)
    fit = SlowFeatureAnalysis().fit
    times = np.tile(np.arange(15.0), 2)
    fit(X, times=times, sequence_ids=np.repeat([0, 1], 15))
    model = SlowFeatureAnalysis().fit(X, times=np.arange(30.0))
    model.partial_fit(X, times=np.arange(30.0), new_sequence=True)
    assert np.isfinite(model.score(X))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "inconsistent numbers of samples",
            lambda X, fit, times, model: fit(X, sequence_ids=np.zeros(29)),
        ),
        (
            "contains NaN",
            lambda X, fit, times, model: fit(X, sequence_ids=np.r_[np.zeros(29), np.nan]),
        ),
        (
            "must be Boolean",
            lambda X, fit, times, model: fit(X, sample_mask=np.ones(30, dtype=int)),
        ),
        (
            "times must be finite and increase",
            lambda X, fit, times, model: fit(X, times=np.zeros(30)),
        ),
        (
            "times must be finite and increase",
            lambda X, fit, times, model: fit(X, times=np.r_[np.arange(29), np.inf]),
        ),
        (
            "times must be finite and increase",
            lambda X, fit, times, model: fit(X, times=times),
        ),
        (
            "in every call of partial_fit, or in none",
            lambda X, fit, times, model: model.partial_fit(X),
        ),
        (
            "times must be finite and increase",
            lambda X, fit, times, model: model.partial_fit(X, times=np.arange(30.0)),
        ),
        ("score needs at least one step", lambda X, fit, times, model: model.score(X[:1])),
    ],
)
def test_bad_row_information_is_rejected(message, call):
    X = series(0, n=30, p=2)
    fit = SlowFeatureAnalysis().fit
    times = np.tile(np.arange(15.0), 2)
    model = SlowFeatureAnalysis().fit(X, times=np.arange(30.0))
    with pytest.raises(ValueError, match=message):
        call(X, fit, times, model)


@pytest.mark.edge
def test_attributes_and_pre_pca_of_unfitted_estimators():
    X = series(0, n=30, p=2)
    for pre_pca in (3, 1.0, 2.5):
        with pytest.raises(ValueError, match="must be a number of components"):
            SlowFeatureAnalysis(pre_pca=pre_pca).fit(X)
    assert not hasattr(SlowFeatureAnalysis(), "expansion_names_")
    assert not hasattr(SlowFeatureAnalysis(), "components_")


@pytest.mark.edge
@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            ValueError,
            r"degree=2 and expansion=.* were both given",
            lambda X: SlowFeatureAnalysis(degree=2, expansion=SplineTransformer()).fit(X),
        ),
        (
            AttributeError,
            "partial_fit",
            lambda X: SlowFeatureAnalysis(pre_pca=1).partial_fit(X),
        ),
        (
            ValueError,
            "needs degree=1 or 2",
            lambda X: SlowFeatureAnalysis(degree=3).fit(X).quadratic_form(),
        ),
        (
            TypeError,
            "dense data is required",
            lambda X: SlowFeatureAnalysis().fit(sparse.csr_array(X)),
        ),
    ],
)
def test_bad_parameters_are_rejected(error, message, call):
    X = series(0, n=30, p=2)
    with pytest.raises(error, match=message):
        call(X)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("expansion", "message"),
    [
        (lambda rows: rows[:1], "as many rows"),
        (lambda rows: rows[:, 0], "as many rows"),
        (lambda rows: rows * np.inf, "NaN or infinity"),
        (lambda rows: rows[:, : 1 + len(rows) % 2], "columns, but must return"),
    ],
)
def test_bad_expansions_are_rejected(expansion, message):
    with pytest.raises(ValueError, match=message):
        SlowFeatureAnalysis(expansion=expansion).fit(series(0, n=30, p=2))


@pytest.mark.edge
def test_random_expansion_is_drawn_once():
    X = StandardScaler().fit_transform(series(0, p=3))
    model = SlowFeatureAnalysis(3, expansion=RBFSampler(n_components=30, random_state=0)).fit(
        X
    )
    Y = model.transform(X)
    assert_allclose(model.delta_values_, measured(Y), rtol=1e-8)
    assert model.expansion_names_[0] == "rbfsampler0"


@pytest.mark.edge
def test_stream_before_its_first_step():
    X = series(0, p=3)
    model = SlowFeatureAnalysis()
    model.partial_fit(X[:1])
    with pytest.raises(ValueError, match="has seen 1 usable row"):
        model.transform(X)
    for row in X[1:50]:
        model.partial_fit(row[None])
    assert model.transform(X).shape == (400, 3)


class Interrupting:
    """Expansion of the input to itself that is interrupted on request."""

    at = None

    def __call__(self, rows):
        if self.at is not None:
            self.at -= 1
            if self.at < 0:
                raise KeyboardInterrupt
        return rows


@pytest.mark.edge
def test_interrupted_partial_fit_leaves_the_state_unchanged():
    X = series(0, p=3)
    whole = SlowFeatureAnalysis().fit(X)
    expansion = Interrupting()
    model = SlowFeatureAnalysis(expansion=expansion, batch_size=20).partial_fit(X[:200])
    before = model.components_.copy()
    expansion.at = 7
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[200:])
    expansion.at = None
    assert_array_equal(model.components_, before)
    assert model.n_samples_seen_ == 200
    model.partial_fit(X[200:])
    assert_allclose(model.delta_values_, whole.delta_values_, rtol=1e-10)
    fresh = SlowFeatureAnalysis(expansion=Interrupting(), batch_size=20)
    fresh.expansion.at = 3
    with pytest.raises(KeyboardInterrupt):
        fresh.partial_fit(X)
    assert vars(fresh).keys() == vars(clone(fresh)).keys()


# ---- cost --------------------------------------------------------------------------------------


def peak_of_fit(X, **parameters):
    model = SlowFeatureAnalysis(**parameters)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.certificate
@pytest.mark.parametrize("n_components", [None, 5])
def test_memory_is_five_matrices_and_one_chunk(n_components):
    X = np.random.default_rng(0).normal(size=(20_000, 24))
    D = 324
    chunk = 2048
    peak = peak_of_fit(X, n_components=n_components, degree=2, batch_size=chunk)
    rows = 20_000 * 8 * 3  # the columns count sequences and valid rows
    assert peak < 5 * D * D * 8 + chunk * D * 8 * 1.1 + rows


@pytest.mark.slow
@pytest.mark.certificate
def test_time_and_memory_of_the_large_problem():
    """50 inputs, 1325 quadratic features, 100000 rows: within 1.3 of two `dsyrk`, two `eigh`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_001, 50))
    X = 0.9 * X[1:] + X[:-1]
    model = SlowFeatureAnalysis(n_components=10, degree=2)
    theory = []
    ours = []
    for _ in range(3):
        delta, seconds = bare_bones(X)
        theory.append(seconds)
        start = time.perf_counter()
        model.fit(X)
        ours.append(time.perf_counter() - start)
    assert_allclose(model.delta_values_, delta[:10], rtol=1e-8)
    assert min(ours) < 1.3 * min(theory)
    D = 1325
    peak = peak_of_fit(X, n_components=10, degree=2)
    assert peak < 5 * D * D * 8 + default_chunk_rows(D) * D * 8 + 100_000 * 8 * 3


@pytest.mark.certificate
def test_fit_never_expands_the_whole_input(monkeypatch):
    widths = []
    expand = PolynomialExpansion.__call__

    def spy(self, rows):
        widths.append(len(rows))
        return expand(self, rows)

    monkeypatch.setattr(PolynomialExpansion, "__call__", spy)
    X = series(0, n=2000, p=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SlowFeatureAnalysis(degree=2, batch_size=100).fit(X).transform(X)
    assert 100 <= max(widths) <= 101  # each chunk includes the row before it


@pytest.mark.edge
def test_columns_of_very_different_sizes_before_the_expansion(seed):
    rng = np.random.default_rng(seed)
    X = series(seed, p=3) * 10.0 ** rng.uniform(-90, 90, size=3)
    assert np.isfinite(SlowFeatureAnalysis(1, pre_pca=0.9).fit(X).transform(X)).all()
