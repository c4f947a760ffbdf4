"""Evidence that the display draws the signals of the estimator, with their slowness."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.datasets import make_moving_object, make_slow_signal
from skmoderndata.decomposition import (
    HierarchicalSlowFeatureAnalysis,
    IncrementalSlowFeatureAnalysis,
    SlowFeatureAnalysis,
    SlowSignalsDisplay,
)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def walks(seed, n=300, p=4):
    return np.random.default_rng(seed).normal(size=(n, p)).cumsum(axis=0)


@pytest.mark.oracle
@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("unequal", [False, True])
def test_slowness_of_the_training_rows_matches_the_fit(lag, unequal, seed):
    X = walks(seed)
    ids = np.repeat([0, 1, 0], 100)
    times = np.cumsum(np.random.default_rng(seed).uniform(0.5, 2, 300)) if unequal else None
    sfa = SlowFeatureAnalysis(3, lag=lag).fit(X, sequence_ids=ids, times=times)
    display = SlowSignalsDisplay.from_estimator(sfa, X, sequence_ids=ids, times=times)
    assert_allclose(display.slowness_, sfa.delta_values_, rtol=1e-8)


@pytest.mark.oracle
def test_signals_have_unit_variance_on_their_level_and_a_gap_between_sequences():
    X = walks(0, 100)
    ids = np.repeat([0, 1], [60, 40])
    sfa = SlowFeatureAnalysis(2).fit(X, sequence_ids=ids)
    display = SlowSignalsDisplay.from_estimator(sfa, X, sequence_ids=ids)
    Y = sfa.transform(X)
    for j, (line, level) in enumerate(
        zip(display.lines_, display.ax_.get_yticks(), strict=True)
    ):
        values = line.get_ydata() - level
        assert np.isnan(values[60])
        expected = (Y[:, j] - Y[:, j].mean()) / Y[:, j].std()
        assert_allclose(np.delete(values, 60), expected, atol=1e-12)
        assert_array_equal(np.delete(line.get_xdata(), 60), np.arange(100))


@pytest.mark.recovery
def test_labels_show_a_fit_to_noise():
    rng = np.random.default_rng(0)
    noise = SlowFeatureAnalysis(1).fit(rng.normal(size=(60, 30)))
    display = SlowSignalsDisplay.from_estimator(noise, rng.normal(size=(600, 30)))
    assert display.slowness_[0] > 1.5
    label = display.ax_.get_yticklabels()[0].get_text()
    assert label.startswith(f"0:  $\\Delta$ = {display.slowness_[0]:.2g}")
    assert label.endswith(f"in the fit {noise.delta_values_[0]:.2g}")


@pytest.mark.invariance
def test_scale_of_the_signals_does_not_matter():
    Y = walks(0)
    first = SlowSignalsDisplay(signals=Y).plot()
    other = SlowSignalsDisplay(signals=5 - 1e3 * Y).plot()
    assert_allclose(first.slowness_, other.slowness_)
    assert_allclose(first.lines_[0].get_ydata(), -other.lines_[0].get_ydata(), atol=1e-9)


@pytest.mark.invariance
@pytest.mark.parametrize(
    "estimator",
    [
        IncrementalSlowFeatureAnalysis(2, degree=2, random_state=0),
        make_pipeline(StandardScaler(), SlowFeatureAnalysis(2, degree=2)),
    ],
)
def test_estimators(estimator):
    X = pd.DataFrame(make_slow_signal(500)[0], columns=["x", "y"])
    display = SlowSignalsDisplay.from_estimator(estimator.fit(X), X, color="k")
    assert len(display.lines_) == 2
    assert display.lines_[1].get_color() == "k"


@pytest.mark.invariance
def test_films():
    film = make_moving_object(n_sequences=2, n_steps=100, random_state=1)
    model = HierarchicalSlowFeatureAnalysis(4, image_shape=film.image_shape)
    model.fit(film.data, sequence_ids=film.sequence_ids)
    display = SlowSignalsDisplay.from_estimator(
        model, film.data, sequence_ids=film.sequence_ids, max_signals=3, max_rows=150
    )
    assert len(display.lines_) == 3
    assert display.ax_.get_xlabel() == "Row (the first 150 of 200 rows)"


@pytest.mark.edge
def test_gaps_and_constant_signals():
    Y = np.column_stack([np.arange(6.0), np.ones(6), np.full(6, np.nan)])
    Y[3, 0] = np.nan
    display = SlowSignalsDisplay(signals=Y).plot()
    assert_allclose(display.slowness_[0], 1 / np.nanvar(Y[:, 0]))
    assert np.isnan(display.slowness_[1:]).all()
    assert np.isnan(display.lines_[0].get_ydata()[3])
    alone = SlowSignalsDisplay(signals=Y, sequence_ids=np.arange(6)).plot()
    assert np.isnan(alone.slowness_).all()


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_signals": 0}, "max_signals=0 should be an integer"),
        ({"max_rows": 1.5}, "max_rows=1.5 should be an integer"),
        ({"times": [1.0, 2.0]}, "pass one time for each row"),
        ({"sequence_ids": [0, 1]}, "inconsistent numbers of samples"),
    ],
)
def test_raises_on_invalid_settings(settings, message):
    sfa = SlowFeatureAnalysis(2).fit(walks(0))
    with pytest.raises(ValueError, match=message):
        SlowSignalsDisplay.from_estimator(sfa, walks(0), **settings)


@pytest.mark.edge
def test_raises_on_invalid_estimators():
    with pytest.raises(NotFittedError):
        SlowSignalsDisplay.from_estimator(SlowFeatureAnalysis(), walks(0))
    with pytest.raises(
        ValueError, match=r"PCA is a different method: pass .* SlowSignalsDisplay\(signals"
    ):
        SlowSignalsDisplay.from_estimator(PCA().fit(walks(0)), walks(0))
    with pytest.raises(ValueError, match="one signal in each column"):
        SlowSignalsDisplay(signals=[1.0, 2.0]).plot()
