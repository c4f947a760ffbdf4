"""Evidence that the loadings are correlations, with the intervals of matched samples."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_linnerud

from skmoderndata._estimator.refits import correlations, match
from skmoderndata.cross_decomposition import (
    CanonicalLoadingsDisplay,
    KernelCCA,
    RegularizedCCA,
)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def two_views(seed, n=200):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 2)) * (2, 1)
    # the columns are equal and opposite, so the largest weight, and with it the sign, changes
    X = common @ [[1, -1, 0, 0], [0, 0, 1, 0]] + 0.5 * rng.normal(size=(n, 4))
    Y = common @ [[1, 0, 0], [0, 1, 0]] + 0.5 * rng.normal(size=(n, 3))
    return X, Y


@pytest.mark.oracle
def test_loadings_are_correlations_with_the_scores(seed):
    X, Y = two_views(seed)
    cca = RegularizedCCA(2, alpha=0.1)
    display = CanonicalLoadingsDisplay.from_estimator(
        cca, X, Y, n_bootstraps=3, random_state=0
    )
    for V, T, loadings in zip(
        (X, Y), cca.fit(X, Y).transform(X, Y), display.loadings, strict=True
    ):
        expected = [[np.corrcoef(v, t)[0, 1] for t in T.T] for v in V.T]
        assert_allclose(loadings, expected)


@pytest.mark.oracle
def test_intervals_are_quantiles_of_samples_matched_by_hand(seed):
    X, Y = two_views(seed)
    cca = RegularizedCCA(2, alpha=0.1)
    display = CanonicalLoadingsDisplay.from_estimator(
        cca, X, Y, n_bootstraps=5, level=0.5, random_state=seed
    )
    scores = cca.fit(X, Y).transform(X)
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=5)
    values = []
    for one in seeds:
        rows = np.random.RandomState(one).randint(200, size=200)
        T = cca.fit(X[rows], Y[rows]).transform(X)
        # the two pairs are clearly separated: their order does not change, and the scores fix the
        # signs
        signs = np.sign((T * scores).sum(axis=0))
        values.append(
            [[np.corrcoef(x, t)[0, 1] for t in (T[rows] * signs).T] for x in X[rows].T]
        )
    assert_allclose(display.lower[0], np.quantile(values, 0.25, axis=0))
    assert_allclose(display.upper[0], np.quantile(values, 0.75, axis=0))


@pytest.mark.invariance
def test_pairs_are_matched_whatever_their_order_and_signs(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(2, 50, 3))
    order = np.array([2, 0, 1])
    turned = scores[:, :, order] * [1, -1, -1] + 0.1 * rng.normal(size=scores.shape)
    similarity = sum(correlations(*views) for views in zip(scores, turned, strict=True))
    index, signs = match(similarity)
    assert_array_equal(order[index], range(3))
    assert_array_equal(signs, np.array([1, -1, -1])[index])
    fewer, _ = match(similarity[:, :2])
    assert_array_equal(fewer, [1, -1, 0])


@pytest.mark.recovery
def test_intervals_contain_zero_without_a_relation():
    X, Y = two_views(0)
    display = CanonicalLoadingsDisplay.from_estimator(RegularizedCCA(1), X, Y, random_state=0)
    inside = [
        (low[:, 0] < 0) & (high[:, 0] > 0)
        for low, high in zip(display.lower, display.upper, strict=True)
    ]
    assert_array_equal(inside[0], [False, False, True, True])
    assert_array_equal(inside[1], [False, True, True])


@pytest.mark.invariance
@pytest.mark.parametrize("estimator", [RegularizedCCA(2), KernelCCA(2), CCA(2)])
def test_n_jobs_and_estimators(estimator):
    X, Y = two_views(0, n=40)
    one, two = (
        CanonicalLoadingsDisplay.from_estimator(
            estimator, X, Y, n_bootstraps=4, random_state=1, n_jobs=n_jobs
        )
        for n_jobs in (None, 2)
    )
    for v in (0, 1):
        assert_array_equal(one.lower[v], two.lower[v])
        assert (one.lower[v] <= one.upper[v]).all()


@pytest.mark.edge
def test_plot_has_the_names_of_the_columns():
    exercise, body = load_linnerud(return_X_y=True, as_frame=True)
    _, ax = plt.subplots()
    display = CanonicalLoadingsDisplay.from_estimator(
        RegularizedCCA(2, alpha=0.1), exercise, body, n_bootstraps=4, component=1, ax=ax
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [*exercise.columns, *body.columns]
    points = display.errorbars_[1].lines[0].get_xdata()
    assert_allclose(points, display.loadings[1][:, 1])
    assert display.plot(component=0).ax_ is not ax

    series = CanonicalLoadingsDisplay.from_estimator(
        RegularizedCCA(1, alpha=0.1), exercise, pd.Series(body["Waist"]), n_bootstraps=2
    )
    assert series.feature_names[1] == ["Waist"]


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_bootstraps": 1}, "integer of at least 2"),
        ({"level": 1.0}, "between 0 and 1"),
        (
            {"component": 2, "n_bootstraps": 2},
            "should be between 0 and 1, as there are 2 pairs",
        ),
    ],
)
def test_raises_on_invalid_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        CanonicalLoadingsDisplay.from_estimator(RegularizedCCA(2), *two_views(0), **settings)


@pytest.mark.edge
def test_raises_on_invalid_views():
    X, Y = two_views(0)
    with pytest.raises(ValueError, match="200 and 199 rows; pass the same samples"):
        CanonicalLoadingsDisplay.from_estimator(RegularizedCCA(2), X, Y[1:])
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        CanonicalLoadingsDisplay.from_estimator(RegularizedCCA(2), X, Y)
