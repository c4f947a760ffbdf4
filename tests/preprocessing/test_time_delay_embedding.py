"""Evidence that TimeDelayEmbedding solves the problem it states."""

import itertools
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from skmoderndata.preprocessing import TimeDelayEmbedding
from tests.common.known_failures import known_failures
from tests.oracles import time_delay_embedding as oracle


def sequences(rng, *, n_features=2, n_sequences=5):
    """Smooth random series of random lengths, and their ids."""
    lengths = rng.integers(3, 40, n_sequences)
    ids = np.repeat(np.arange(n_sequences), lengths)
    return rng.normal(size=(len(ids), n_features)).cumsum(axis=0), ids


def lorenz(n_rows, dt):
    def flow(_, s):
        return [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]

    # skip the first 20 time units, in which the orbit approaches the attractor
    times = 20 + dt * np.arange(n_rows)
    return solve_ivp(flow, (0, times[-1]), [1, 1, 20], t_eval=times, rtol=1e-8, atol=1e-8).y.T


@pytest.mark.oracle
@pytest.mark.parametrize("padding", ["edge", "nan"])
def test_windows_match_a_loop_over_rows(seed, padding):
    X, ids = sequences(np.random.default_rng(seed))
    fill = None if padding == "edge" else np.nan
    for n_lags, lag in [(1, 1), (2, 1), (3, 2), (2, 3)]:
        est = TimeDelayEmbedding(n_lags, lag=lag, padding=padding)
        Z = est.fit_transform(X, sequence_ids=ids)
        assert_array_equal(Z, oracle.embed(X, ids, n_lags, lag, fill=fill))
        complete = est.complete_rows(X, sequence_ids=ids)
        marked = oracle.embed(X, ids, n_lags, lag, fill=np.nan)
        assert_array_equal(complete, ~np.isnan(marked).any(axis=1))


@pytest.mark.oracle
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_autocorrelation_matches_a_loop_over_pairs(seed, missing):
    rng = np.random.default_rng(seed)
    X, ids = sequences(rng, n_features=3)
    X[:, 2] = 7.0  # a constant feature has no effect
    X[:, :2][rng.random((len(X), 2)) < missing] = np.nan
    est = TimeDelayEmbedding(1, lag="auto", max_lag=10, lag_rule="zero")
    never = _never_below(X, ids, 0.0)
    with pytest.warns(UserWarning, match="satisfies the rule") if never else nullcontext():
        est.fit(X, sequence_ids=ids)
    expected = [oracle.autocorrelation(X, ids, k) for k in range(len(est.lag_curve_))]
    assert_allclose(est.lag_curve_, expected, rtol=1e-9, atol=1e-12)


def _never_below(X, ids, threshold):
    longest = np.unique(ids, return_counts=True)[1].max()
    lags = range(1, min(10, longest - 1) + 1)
    return all(oracle.autocorrelation(X, ids, k) > threshold for k in lags)


@pytest.mark.oracle
def test_mutual_information_matches_dictionaries(seed):
    rng = np.random.default_rng(seed)
    x = np.sin(np.arange(300) / 3) + 0.3 * rng.normal(size=300)
    ids = np.repeat([0, 1, 2], [90, 50, 160])
    est = TimeDelayEmbedding(2, lag="auto", lag_rule="mutual_information")
    est.fit(x[:, None], sequence_ids=ids)
    n_bins = int(np.sqrt(300 / 5))
    expected = [
        oracle.mutual_information(x, ids, k, n_bins) for k in range(len(est.lag_curve_))
    ]
    assert_allclose(est.lag_curve_, expected, rtol=1e-9)
    assert np.all(np.diff(expected[1 : est.lag_ + 1]) <= 0)
    assert expected[est.lag_ + 1] > expected[est.lag_]


@pytest.mark.certificate
def test_inverse_is_the_least_squares_series(seed):
    """The embedding is linear in the series: compare with its pseudo-inverse on complete rows."""
    rng = np.random.default_rng(seed)
    n = 12
    n_lags = 3
    lag = 2
    est = TimeDelayEmbedding(n_lags, lag=lag).fit(rng.normal(size=(n, 1)))
    Z = rng.normal(size=(n, n_lags))
    E = np.array([est.transform(e[:, None]).ravel() for e in np.eye(n)]).T
    inside = ~np.isnan(oracle.embed(np.ones((n, 1)), np.zeros(n), n_lags, lag, fill=np.nan))
    expected = np.linalg.lstsq(E[inside.ravel()], Z[inside], rcond=None)[0]
    assert_allclose(est.inverse_transform(Z).ravel(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.certificate
@pytest.mark.parametrize("padding", ["edge", "nan"])
def test_inverse_undoes_transform(seed, padding):
    X, ids = sequences(np.random.default_rng(seed))
    est = TimeDelayEmbedding(3, lag=1, padding=padding)
    Z = est.fit_transform(X, sequence_ids=ids)
    assert_allclose(est.inverse_transform(Z, sequence_ids=ids), X, rtol=1e-12)


@pytest.mark.paper
def test_windows_of_the_lecture():
    """Lag 2 on 1..7 gives [1, 3, 5], [2, 4, 6], [3, 5, 7] (forward windows, here reversed)."""
    X = np.arange(1, 8)[:, None]
    est = TimeDelayEmbedding(3, lag=2).fit(X)
    forward = est.transform(X)[est.complete_rows(X)][:, ::-1]
    assert_array_equal(forward, [[1, 3, 5], [2, 4, 6], [3, 5, 7]])


@pytest.mark.paper
def test_lag_of_the_lorenz_system():
    """First minimum of the mutual information of x near 0.17 time units, as often printed."""
    X = lorenz(8000, 0.01)[:, :1]
    lag = TimeDelayEmbedding(3, lag="auto", lag_rule="mutual_information").fit(X).lag_
    assert 15 <= lag <= 19


@pytest.mark.recovery
@pytest.mark.parametrize(
    ("rule", "angle"), [("1/e", np.arccos(np.exp(-1))), ("zero", np.pi / 2)]
)
def test_lag_of_a_sine(seed, rule, angle):
    period = np.random.default_rng(seed).uniform(30, 60)
    X = np.sin(2 * np.pi * np.arange(2000) / period)[:, None]
    est = TimeDelayEmbedding(2, lag="auto", lag_rule=rule).fit(X)
    # the lag is rounded up, and the ends have an effect
    assert abs(est.lag_ - angle / (2 * np.pi) * period) <= 1.5


@pytest.mark.recovery
def test_two_delays_unfold_a_circle(seed):
    """At a quarter of the period a sine and its delayed copy fill a circle."""
    phase = np.random.default_rng(seed).uniform(0, 6)
    X = np.sin(2 * np.pi * np.arange(4000) / 40 + phase)[:, None]
    est = TimeDelayEmbedding(2, lag="auto", lag_rule="zero").fit(X)
    Z = est.transform(X)[est.complete_rows(X)]
    radius = np.hypot(*Z.T)
    assert 10 <= est.lag_ <= 11
    # the value is exact at lag 10, and 0.11 at lag 11
    assert radius.std() / radius.mean() < 0.12


@pytest.mark.recovery
def test_driving_force_of_a_logistic_map(seed):
    """Slowest quadratic function of four delays follows the hidden parameter: |corr| >= 0.995."""
    rng = np.random.default_rng(seed)
    t = np.arange(6000)
    force = sum(
        np.sin(2 * np.pi * t / period + rng.uniform(0, 6)) for period in (900, 1700, 2900)
    )
    force /= np.abs(force).max()
    x = np.empty((6000, 1))
    x[0] = 0.6
    for i in range(5999):
        x[i + 1] = (3.6 + 0.13 * force[i]) * x[i] * (1 - x[i])
    est = TimeDelayEmbedding(4)
    windows = est.fit_transform(x)[est.complete_rows(x)]
    Z = PolynomialFeatures(2, include_bias=False).fit_transform(windows)
    Z -= Z.mean(axis=0)
    steps = np.diff(Z, axis=0)
    w = eigh(steps.T @ steps, Z.T @ Z)[1][:, 0]
    assert abs(np.corrcoef(Z @ w, force[3:])[0, 1]) >= 0.995


@pytest.mark.recovery
def test_projected_windows_denoise(seed):
    """Embed, project, invert (singular spectrum analysis) brings the series nearer the truth."""
    rng = np.random.default_rng(seed)
    clean = np.sin(np.arange(1000) / 8)[:, None]
    noisy = clean + 0.5 * rng.normal(size=clean.shape)
    est = TimeDelayEmbedding(40).fit(noisy)
    Z = est.transform(noisy)
    complete = est.complete_rows(noisy)
    pca = PCA(2, svd_solver="full").fit(Z[complete])
    smooth = est.inverse_transform(pca.inverse_transform(pca.transform(Z)))
    assert np.mean((smooth - clean) ** 2) < 0.2 * np.mean((noisy - clean) ** 2)


@pytest.mark.invariance
def test_sequences_stay_apart(seed):
    """All sequences at once give what each one alone gives; names of ids do not matter."""
    X, ids = sequences(np.random.default_rng(seed))
    est = TimeDelayEmbedding(2).fit(X, sequence_ids=ids)
    Z = est.transform(X, sequence_ids=ids)
    alone = [est.transform(X[ids == i]) for i in np.unique(ids)]
    assert_array_equal(Z, np.vstack(alone))
    assert_array_equal(Z, est.transform(X, sequence_ids=np.array(list("zyxwv"))[ids]))
    back = [est.inverse_transform(z) for z in alone]
    assert_array_equal(est.inverse_transform(Z, sequence_ids=ids), np.vstack(back))


@pytest.mark.invariance
@pytest.mark.parametrize("rule", ["1/e", "zero", "mutual_information"])
@pytest.mark.parametrize("scale", [1e-90, 1e90, -3.0])
def test_lag_ignores_scale_shift_constants_and_order(seed, rule, scale):
    rng = np.random.default_rng(seed)
    x = np.sin(np.arange(600) / 6)[:, None] + 0.2 * rng.normal(size=(600, 2))
    est = TimeDelayEmbedding(2, lag="auto", lag_rule=rule)
    other = np.column_stack([scale * x[:, ::-1], np.full(600, 0.1)])
    assert clone(est).fit(other).lag_ == est.fit(x).lag_
    assert clone(est).fit(x + 10).lag_ == est.lag_


@pytest.mark.invariance
def test_curve_ignores_cutting_into_blocks(seed, monkeypatch):
    X, ids = sequences(np.random.default_rng(seed), n_features=5, n_sequences=30)
    X = np.diff(X, axis=0, prepend=0)  # make the columns uncorrelated, with unit variance
    est = TimeDelayEmbedding(2, lag="auto")
    whole = est.fit(X, sequence_ids=ids).lag_curve_
    monkeypatch.setattr("skmoderndata.preprocessing._time_delay_embedding.TEMPORARY_BYTES", 1)
    assert_allclose(est.fit(X, sequence_ids=ids).lag_curve_, whole, rtol=1e-12, atol=1e-14)


@pytest.mark.invariance
def test_float32_is_preserved(seed):
    X = np.random.default_rng(seed).normal(size=(30, 2)).astype(np.float32)
    est = TimeDelayEmbedding(2, lag="auto").fit(X)
    Z = est.transform(X)
    assert Z.dtype == np.float32
    assert est.inverse_transform(Z).dtype == np.float32
    assert_array_equal(Z[:, :2], X)


@pytest.mark.edge
def test_names_and_frames():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    est = TimeDelayEmbedding(2, lag=2).set_output(transform="pandas")
    out = est.fit_transform(frame)
    assert list(out.columns) == ["a_lag0", "b_lag0", "a_lag2", "b_lag2"]
    assert_array_equal(out.iloc[2], [3, 6, 1, 4])
    with pytest.raises(ValueError, match="input_features"):
        est.get_feature_names_out(["x", "y"])


@pytest.mark.edge
def test_one_row():
    est = TimeDelayEmbedding(1).fit([[3.0, 4.0]])
    assert_array_equal(est.transform([[3.0, 4.0]]), [[3, 4]])
    with pytest.raises(
        ValueError, match=r"covers 3 rows.*longest sequence has 1 \(n_samples=1\)"
    ):
        TimeDelayEmbedding(3).fit([[3.0]])
    est = TimeDelayEmbedding(3).fit(np.ones((5, 1)))
    assert_array_equal(est.transform([[2.0]]), [[2, 2, 2]])
    assert est.score([[2.0]]) == -1.0


@pytest.mark.edge
def test_window_longer_than_every_sequence_is_rejected_in_fit():
    X = np.arange(12.0)[:, None]
    ids = np.repeat([0, 1, 2], 4)
    TimeDelayEmbedding(4).fit(X, sequence_ids=ids)
    for params in [{"n_lags": 5}, {"n_lags": 3, "lag": 2}, {"n_lags": 2, "lag": 2**62}]:
        with pytest.raises(ValueError, match="lower n_lags or lag"):
            TimeDelayEmbedding(**params).fit(X, sequence_ids=ids)
    with pytest.raises(ValueError, match="lower n_lags or lag"):
        TimeDelayEmbedding(9, lag="auto").fit(X, sequence_ids=ids)


@pytest.mark.edge
def test_sequence_shorter_than_the_window_is_padded():
    X = np.arange(6.0)[:, None]
    ids = [0, 0, 0, 0, 1, 1]
    Z = TimeDelayEmbedding(3).fit_transform(X, sequence_ids=ids)
    assert_array_equal(Z[4:], [[4, 4, 4], [5, 4, 4]])


@pytest.mark.edge
@pytest.mark.parametrize("rule", ["1/e", "zero", "mutual_information"])
def test_constant_series_uses_lag_one_and_warns(rule):
    X = np.full((20, 2), 0.1)
    est = TimeDelayEmbedding(2, lag="auto", lag_rule=rule)
    with pytest.warns(UserWarning, match="no lag up to 10 satisfies the rule; lag 1"):
        est.fit(X)
    assert est.lag_ == 1
    assert np.isfinite(est.lag_curve_).all()
    assert est.score(X) == -1.0


@pytest.mark.edge
def test_limit_of_the_search():
    X = np.sin(2 * np.pi * np.arange(400) / 100)[:, None]
    est = TimeDelayEmbedding(2, lag="auto", lag_rule="zero", max_lag=10)
    with pytest.warns(UserWarning, match="Increase max_lag"):
        est.fit(X)
    assert est.lag_ == 10
    long = TimeDelayEmbedding(3, lag="auto", lag_rule="zero", max_lag=10**9).fit(X)
    # the lag is limited to (400 - 1) // 2
    assert (long.lag_, len(long.lag_curve_)) == (26, 200)


@pytest.mark.edge
@pytest.mark.parametrize("rule", ["1/e", "zero", "mutual_information"])
def test_missing_values_are_copied_and_excluded_from_the_choice(seed, rule):
    rng = np.random.default_rng(seed)
    X = np.sin(2 * np.pi * np.arange(3000) / 40)[:, None] + 0.1 * rng.normal(size=(3000, 1))
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    est = TimeDelayEmbedding(2, lag="auto", lag_rule=rule)
    full_lag = est.fit(X).lag_
    est.fit(np.column_stack([holes, np.full(3000, np.nan)]))
    assert abs(est.lag_ - full_lag) <= (3 if rule == "mutual_information" else 1)
    Z = TimeDelayEmbedding(2).fit_transform(holes)
    assert_array_equal(Z[1:, 1], holes[:-1, 0])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        (sparse.eye_array(6, format="csr"), TypeError, "dense data is required"),
        (np.full((6, 1), np.inf), ValueError, "infinity"),
        (np.ones((6, 1), dtype=complex), ValueError, "Complex"),
        (np.array([["a"], ["b"], ["c"]]), ValueError, "convert"),
        (np.ones((0, 2)), ValueError, "0 sample"),
    ],
)
def test_raises_on_invalid_input(X, error, match):
    with pytest.raises(error, match=match):
        TimeDelayEmbedding().fit(X)


@pytest.mark.edge
def test_raises_on_invalid_sequence_ids():
    X = np.ones((4, 1))
    with pytest.raises(ValueError, match="one entry per row: got 3 for 4 rows"):
        TimeDelayEmbedding(1).fit(X, sequence_ids=[0, 0, 1])
    with pytest.raises(ValueError, match="sequence_ids contains NaN"):
        TimeDelayEmbedding(1).fit(X, sequence_ids=[0, 0, np.nan, 1])
    with pytest.raises(ValueError, match="needs X with n_lags"):
        TimeDelayEmbedding(2).fit(X).inverse_transform(np.ones((4, 3)))


@pytest.mark.edge
def test_raises_on_invalid_parameters():
    wrong = [{"n_lags": 0}, {"lag": 0}, {"lag": "best"}, {"max_lag": 0}, {"padding": 0.0}]
    for params in [*wrong, {"lag_rule": "first"}]:
        with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter"):
            TimeDelayEmbedding(**params).fit(np.ones((9, 1)))


@pytest.mark.edge
@pytest.mark.newest  # older searches do not route metadata to the score of a pipeline
def test_sequence_ids_reach_every_step_of_a_search(seed):
    """In a pipeline the ids are routed to fit, transform and score, and cut with the rows."""
    X, ids = sequences(np.random.default_rng(seed), n_sequences=6)
    # the target is the previous row, or 0 for the first
    y = np.concatenate([[0.0], X[:-1, 0]])
    y[np.flatnonzero(np.diff(ids)) + 1] = X[np.flatnonzero(np.diff(ids)) + 1, 0]
    y[0] = X[0, 0]
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(TimeDelayEmbedding(), Ridge(1e-9))
        grid = {"timedelayembedding__n_lags": [1, 2]}
        search = GridSearchCV(pipe, grid, cv=GroupKFold(3))
        search.fit(X, y, groups=ids, sequence_ids=ids)
        assert search.best_params_ == {"timedelayembedding__n_lags": 2}
        # this holds only if windows respect the sequences
        assert search.best_score_ == pytest.approx(1.0)
        best = search.best_estimator_
        assert_allclose(best.predict(X, sequence_ids=ids), y, rtol=1e-6, atol=1e-6)


@pytest.mark.edge
def test_search_without_y_prefers_the_decorrelated_lag():
    X = np.sin(2 * np.pi * np.arange(4000) / 40)[:, None]
    grid = {"lag": [1, 5, 10, 20]}
    search = GridSearchCV(TimeDelayEmbedding(2), grid, cv=GroupKFold(2))
    search.fit(X, groups=np.arange(4000) // 1000)
    assert search.best_params_ == {"lag": 10}


@pytest.mark.edge
def test_last_step_of_a_routed_pipeline():
    X = np.sin(np.arange(60.0))[:, None]
    ids = np.repeat([0, 1, 2], 20)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), TimeDelayEmbedding(2))
        found = pipe.fit(X, sequence_ids=ids).score(X, sequence_ids=ids)
    assert found == TimeDelayEmbedding(2).fit(X).score(
        StandardScaler().fit_transform(X), None, sequence_ids=ids
    )


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:TimeDelayEmbedding.*no lag up to:UserWarning")
@pytest.mark.parametrize(
    "params", [{"lag": "auto", "lag_rule": "mutual_information"}, {"padding": "nan"}]
)
def test_scikit_learn_checks_with_other_parameters(params):
    """Parameters whose output may be NaN, or that warn on short series, are no parameter sets."""
    est = TimeDelayEmbedding(2, **params)
    results = check_estimator(est, on_fail=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    assert failed == set(known_failures(TimeDelayEmbedding))


@pytest.mark.edge
def test_input_is_unchanged():
    X = np.arange(40.0).reshape(20, 2)
    X.setflags(write=False)
    for lag, padding in itertools.product([1, "auto"], ["edge", "nan"]):
        est = TimeDelayEmbedding(2, lag=lag, padding=padding)
        Z = est.fit_transform(X)
        assert not np.shares_memory(Z, X)
