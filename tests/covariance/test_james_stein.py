"""Evidence that JamesStein solves the problem it states."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.covariance import EmpiricalCovariance

from benchmarks.papers.efron1975 import AVERAGES, SEASON
from skmoderndata.covariance import JamesStein
from tests.oracles.james_stein import james_stein


def rows(seed, n=5, m=12, spread=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=m) * spread + rng.normal(size=(n, m))


@pytest.mark.oracle
@pytest.mark.parametrize("target", ["mean", "zero", 0.7])
def test_matches_plain_loops(target, seed):
    X = rows(seed)
    given = target if isinstance(target, str) else np.full(12, target)
    model = JamesStein(given, noise_variance=2.0).fit(X)
    t = {"mean": None, "zero": 0.0}.get(target, target)
    assert_allclose(model.location_, james_stein(list(X.mean(axis=0)), 2.0 / 5, t), rtol=1e-12)


@pytest.mark.oracle
def test_estimated_variance(seed):
    """Equation 24 of James and Stein: S / (d + 2) takes the place of the variance."""
    X = rows(seed)
    y = X.mean(axis=0)
    d = 4 * 12
    S = np.sum((X - y) ** 2) / 5  # the value d s^2 for means of 5 rows
    factor = 1 - (12 - 2) * S / (d + 2) / np.sum(y**2)
    model = JamesStein("zero", positive_part=False).fit(X)
    assert_allclose(model.shrinkage_, factor, rtol=1e-12)
    assert_allclose(model.noise_variance_, X.var(axis=0, ddof=1).mean(), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("target", ["mean", "zero"])
def test_variance_for_each_column(target, seed):
    X = rows(seed, n=1)
    v = np.random.default_rng(seed).uniform(0.5, 2, size=12)
    model = JamesStein(target, noise_variance=v, positive_part=False).fit(X)
    # residuals after projection on the standardised target, which takes one degree of freedom
    z = X[0] / np.sqrt(v)
    one = 1 / np.sqrt(v)
    on = one * (z @ one) / (one @ one) if target == "mean" else np.zeros(12)
    c = 9 if target == "mean" else 10
    want = on + (1 - c / np.sum((z - on) ** 2)) * (z - on)
    assert_allclose(model.location_, want * np.sqrt(v), rtol=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("noise", [None, 2.0, "each"])
@pytest.mark.parametrize("target", ["mean", "zero", 0.7])
def test_merged_parts_equal_fit(target, noise, seed):
    rng = np.random.default_rng(seed)
    X = rows(seed, n=40) + 100.0 * (target == "mean")
    noise = rng.uniform(0.5, 2, size=12) if noise == "each" else noise
    given = target if isinstance(target, str) else np.full(12, target)
    whole = JamesStein(given, noise_variance=noise).fit(X)
    cuts = np.sort(rng.choice(np.arange(3, 36, 3), size=3, replace=False))
    parts = [JamesStein(given, noise_variance=noise).fit(part) for part in np.split(X, cuts)]
    merged = (
        pickle.loads(pickle.dumps(parts[2])).merge(parts[0]).merge(parts[3].merge(parts[1]))
    )
    assert merged.n_samples_seen_ == 40
    for name in (
        "raw_location_",
        "location_",
        "shrinkage_",
        "noise_variance_",
        "risk_estimate_",
    ):
        assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-10, err_msg=name)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("other", "message"),
    [
        (JamesStein("zero").fit(rows(0)), "cannot merge: target differ"),
        (JamesStein(noise_variance=1.0).fit(rows(0)), "cannot merge: noise_variance differ"),
        (JamesStein().fit(rows(0, m=5)), "cannot merge: n_features_in_ differ"),
        (EmpiricalCovariance().fit(rows(0)), "cannot merge with EmpiricalCovariance"),
    ],
)
def test_merge_rejects_other_states(other, message):
    with pytest.raises(ValueError, match=message):
        JamesStein().fit(rows(0)).merge(other)


@pytest.mark.certificate
@pytest.mark.parametrize(
    ("target", "m"), [("zero", 3), ("mean", 4), ("zero", 10), ("mean", 10)]
)
def test_risk_is_below_the_risk_of_the_raw_means(target, m, seed):
    rng = np.random.default_rng(seed)
    for size in (0.0, 0.5, 2.0):
        truth = size * rng.normal(size=m) + (3.0 if target == "mean" else 0.0)
        gain = []
        estimates = []
        true_risk = []
        for _ in range(1500):
            X = truth + rng.normal(size=(1, m))
            model = JamesStein(target, noise_variance=1.0).fit(X)
            raw = np.sum((X[0] - truth) ** 2)
            true_risk.append(np.sum((model.location_ - truth) ** 2))
            gain.append(true_risk[-1] - raw)
            estimates.append(m * model.risk_estimate_)
        error = 4 * np.std(gain) / np.sqrt(1500)
        assert np.mean(gain) < error
        # the estimate is unbiased, within the error of the simulation
        off = np.subtract(estimates, true_risk)
        assert abs(off.mean()) < 4 * off.std() / np.sqrt(1500)


@pytest.mark.recovery
def test_many_equal_means_are_found_equal(seed):
    X = 5 + np.random.default_rng(seed).normal(size=(4, 300))
    model = JamesStein().fit(X)
    raw = np.mean((model.raw_location_ - 5) ** 2)
    assert np.mean((model.location_ - 5) ** 2) < 0.1 * raw


@pytest.mark.recovery
def test_means_far_from_the_target_hardly_change(seed):
    X = rows(seed, spread=1e4)
    model = JamesStein(noise_variance=1.0).fit(X)
    assert_allclose(
        model.location_, X.mean(axis=0), atol=1e-3
    )  # c s^2 / |y - t| is of order 1e-4
    assert 1 - 1e-6 < model.risk_estimate_ < 1


@pytest.mark.paper
def test_batting_averages():
    """Efron and Morris 1977: the factor, the extreme estimates, the ratio of the errors."""
    noise = np.mean(AVERAGES) * (1 - np.mean(AVERAGES)) / 45
    model = JamesStein(noise_variance=noise).fit([AVERAGES])
    assert list(model.location_[[0, -1]].round(3)) == [0.294, 0.242]
    assert round(model.shrinkage_, 3) == 0.212
    raw = np.sum(np.subtract(AVERAGES, SEASON) ** 2)
    # the printed value is 3.5
    assert 3.45 < raw / np.sum((model.location_ - SEASON) ** 2) < 3.6


@pytest.mark.invariance
def test_order_shift_and_scale(seed):
    X = rows(seed)
    want = JamesStein().fit(X).location_
    order = np.random.default_rng(seed).permutation(12)
    assert_allclose(JamesStein().fit(X[:, order]).location_, want[order], rtol=1e-10)
    assert_allclose(JamesStein().fit(X[::-1]).location_, want, rtol=1e-10)
    assert_allclose(JamesStein().fit(7 * X + 3).location_, 7 * want + 3, rtol=1e-10)
    same = JamesStein(noise_variance=np.full(12, 2.0)).fit(X)
    one = JamesStein(noise_variance=2.0).fit(X)
    assert_allclose(same.location_, one.location_, rtol=1e-10)
    assert_allclose(same.risk_estimate_, one.risk_estimate_, rtol=1e-10)


@pytest.mark.edge
@pytest.mark.parametrize(("target", "m"), [("zero", 2), ("mean", 3), ("mean", 1)])
def test_few_means_are_not_shrunk(target, m):
    X = rows(0, m=m)
    with pytest.warns(UserWarning, match=f"does not shrink {m} means"):
        model = JamesStein(target).fit(X)
    assert_allclose(model.location_, X.mean(axis=0))
    assert model.shrinkage_ == model.risk_estimate_ == 1


@pytest.mark.edge
def test_no_spread_and_no_noise():
    equal = JamesStein(noise_variance=1.0).fit(np.full((1, 6), 2.0))
    assert_allclose(equal.location_, 2)
    plain = JamesStein(noise_variance=1.0, positive_part=False).fit(np.full((1, 6), 2.0))
    assert_allclose(plain.location_, 2)
    exact = JamesStein().fit(np.repeat([[1.0, 2, 3, 4, 5]], 3, axis=0))
    assert_allclose(exact.location_, [1, 2, 3, 4, 5])
    assert exact.shrinkage_ == 1


@pytest.mark.edge
def test_positive_part_stops_at_the_target():
    X = np.array([[0.1, -0.1, 0.2, -0.2, 0.0]])
    cut = JamesStein("zero", noise_variance=1.0).fit(X)
    assert cut.shrinkage_ == 0
    assert (cut.location_ == 0).all()
    assert JamesStein("zero", noise_variance=1.0, positive_part=False).fit(X).shrinkage_ < 0


@pytest.mark.edge
@pytest.mark.parametrize(
    ("parameters", "n", "message"),
    [
        ({}, 1, "set `noise_variance`"),
        ({"target": [1.0, 2.0]}, 3, r"target has shape \(2,\), but there are 12 means"),
        ({"noise_variance": [1.0] * 3}, 3, r"noise_variance has shape \(3,\)"),
        ({"noise_variance": [0.0] + [1.0] * 11}, 3, "all variances must be positive"),
        ({"target": [np.nan] * 12}, 3, "target contains NaN"),
    ],
)
def test_messages(parameters, n, message):
    with pytest.raises(ValueError, match=message):
        JamesStein(**parameters).fit(rows(0, n=n))


@pytest.mark.edge
def test_merge_rejects_other_columns():
    X = pd.DataFrame(np.arange(20.0).reshape(4, 5), columns=list("abcde"))
    model = JamesStein().fit(X)
    with pytest.raises(ValueError, match="cannot merge: feature_names_in_ differ"):
        model.merge(JamesStein().fit(X[list("edcba")]))
    assert model.merge(JamesStein().fit(X.to_numpy())).n_samples_seen_ == 8
