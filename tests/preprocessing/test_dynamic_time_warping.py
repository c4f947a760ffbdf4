"""Evidence that SeriesFormatter returns the series that were meant."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skmoderndata.metrics import pairwise_dtw
from skmoderndata.preprocessing import SeriesFormatter


def ragged(seed, channels=2):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(1, 9), channels)) for _ in range(7)]


def padded(X):
    out = np.full((len(X), max(map(len, X)), X[0].shape[1]), np.nan)
    for i, x in enumerate(X):
        out[i, : len(x)] = x
    return out


@pytest.mark.recovery
def test_padding_is_removed(seed):
    X = ragged(seed)
    for found, x in zip(SeriesFormatter().fit_transform(padded(X)), X, strict=True):
        assert_array_equal(found, x)
    first = padded(X).transpose(0, 2, 1)
    for found, x in zip(SeriesFormatter("channels_first").transform(first), X, strict=True):
        assert_array_equal(found, x)


@pytest.mark.invariance
def test_containers(seed):
    X = ragged(seed, channels=1)
    objects = np.empty(len(X), dtype=object)
    objects[:] = X
    for given in (X, objects, [x[:, 0] for x in X], [x.tolist() for x in X], padded(X)):
        for found, x in zip(SeriesFormatter().transform(given), X, strict=True):
            assert_array_equal(found, x)
    before = padded(X)
    SeriesFormatter().transform(before)
    assert_array_equal(before, padded(X))


@pytest.mark.invariance
def test_frames_of_other_libraries(seed):
    """Nested columns, rows of times under two levels of the index, and padded wide frames."""
    X = ragged(seed)
    nested = pd.DataFrame({c: [pd.Series(x[:, c]) for x in X] for c in range(2)})
    lists = pl.DataFrame({str(c): [x[:, c].tolist() for x in X] for c in range(2)})
    labels = [(f"series {i}", t) for i, x in enumerate(X) for t in range(len(x))]
    long = pd.DataFrame(np.concatenate(X), index=pd.MultiIndex.from_tuples(labels))
    for frame in (nested, lists, long):
        for found, x in zip(
            SeriesFormatter("channels_first").transform(frame), X, strict=True
        ):
            assert_array_equal(found, x)

    # series keep the order of their first rows, and times are in order
    order = np.random.default_rng(seed).permutation(len(long))
    shuffled = long.iloc[order]
    names = shuffled.index.get_level_values(0).unique()
    for found, name in zip(SeriesFormatter().transform(shuffled), names, strict=True):
        assert_array_equal(found, X[int(name.split()[1])])
    wide = pd.DataFrame(padded(ragged(seed, channels=1))[:, :, 0])
    for found, x in zip(SeriesFormatter().transform(wide), ragged(seed, 1), strict=True):
        assert_array_equal(found, x)


@pytest.mark.oracle
def test_works_before_other_steps(seed):
    X = ragged(seed)
    model = make_pipeline(SeriesFormatter(), FunctionTransformer(pairwise_dtw))
    assert_array_equal(model.fit_transform(padded(X)), pairwise_dtw(X))
    assert repr(clone(model)) == repr(model)
    grid = {"seriesformatter__trim_nan": [True]}
    search = GridSearchCV(model, grid, scoring=lambda *_: 0.0, cv=2).fit(padded(X))
    assert search.best_params_ == {"seriesformatter__trim_nan": True}


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        ([[1.0, np.nan, 2.0]], {}, "series 0 has NaN or infinity at time 1"),
        ([[1.0, np.nan]], {"trim_nan": False}, "series 0 has NaN or infinity at time 1"),
        ([[1.0], [np.nan]], {}, "series 1 is empty"),
        ([["a"]], {}, "series 0 has shape"),
        ([[1.0]], {"layout": "time"}, "layout"),
        ([], {}, "empty collection"),
        (
            pd.DataFrame({"a": [[1.0, 2.0]], "b": [3.0]}),
            {},
            "some columns hold series and others",
        ),
        (
            pd.DataFrame({"a": [[1.0, 2.0]], "b": [[3.0]]}),
            {},
            "channels of series 0 have the",
        ),
        (
            pd.DataFrame({"a": [1.0]}, index=pd.MultiIndex.from_tuples([(1, 2, 3)])),
            {},
            "3 levels of the index",
        ),
    ],
)
def test_error_names_bad_input(X, settings, message):
    with pytest.raises(ValueError, match=message):
        SeriesFormatter(**settings).fit(X)
