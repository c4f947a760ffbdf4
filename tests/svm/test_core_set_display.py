"""Evidence that the display draws core set, regions and boundary of the estimator."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine, make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skmoderndata.svm import (
    SVDD,
    CoreSetDisplay,
    CoreVectorMachine,
    CoreVectorOutlierDetector,
    CoreVectorRanker,
    CoreVectorRegressor,
    MinimumEnclosingBall,
)

plt = pytest.importorskip("matplotlib.pyplot")
to_rgba = pytest.importorskip("matplotlib.colors").to_rgba


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def moons(n=300, seed=0):
    return make_moons(n, noise=0.2, random_state=seed)


def machine(**settings):
    return CoreVectorMachine(gamma=1.0, random_state=0, **settings)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.oracle
def test_boundary_is_where_the_decision_changes_its_sign():
    X, y = moons()
    model = machine().fit(X, y)
    display = CoreSetDisplay.from_estimator(model, X, y, grid_resolution=150)
    line = np.concatenate(display.boundary_.get_paths()[0].to_polygons(closed_only=False))
    scale = np.abs(model.decision_function(X)).mean()
    # the drawn line is linear between the points of the grid
    assert np.abs(model.decision_function(line)).max() < 0.01 * scale

    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert_allclose(display.response.ravel(), model.decision_function(grid))
    assert (grid.min(axis=0) < X.min(axis=0)).all()
    assert (grid.max(axis=0) > X.max(axis=0)).all()


@pytest.mark.oracle
def test_marks_are_the_core_set_and_the_support():
    # two normal distributions: few of the samples in its core set determine the ball
    X = np.random.default_rng(0).normal(size=(500, 2))
    ball = MinimumEnclosingBall(tol=1e-6).fit(X)
    display = CoreSetDisplay.from_estimator(ball, X)
    assert_array_equal(display.core_.get_offsets(), X[ball.core_indices_])
    assert_array_equal(display.support_.get_offsets(), X[ball.support_])

    X, y = moons()
    svc = SVC().fit(X, y)
    display = CoreSetDisplay.from_estimator(svc, X, y)
    assert display.core_ is None
    assert_array_equal(display.support_.get_offsets(), svc.support_vectors_)
    assert legend(display) == ["0", "1", f"support vectors: {len(svc.support_)}"]


@pytest.mark.invariance
def test_classes_have_one_colour_each_in_samples_core_and_regions():
    X, y = moons()
    names = np.array(["left", "right"])[y]
    model = machine().fit(X, names)
    display = CoreSetDisplay.from_estimator(model, X, names, max_points=50)
    assert legend(display)[:2] == ["left", "right"]
    assert display.ax_.get_title() == "50 of 300 samples"
    expected = [to_rgba(f"C{j}") for j in y[model.core_indices_]]
    assert_allclose(display.core_.get_facecolor(), expected)
    assert_allclose(display.surface_.get_facecolor(), [to_rgba("C0", 0.2), to_rgba("C1", 0.2)])

    # only `classes` determines this order
    one = CoreSetDisplay.from_estimator(model, X, np.repeat("right", 300))
    assert legend(one)[:2] == ["left", "right"]
    assert_allclose(one.core_.get_facecolor()[0], to_rgba("C1"))


@pytest.mark.invariance
def test_three_classes_and_names_in_a_pipeline():
    wine = load_wine(as_frame=True)
    X = wine.data[["malic_acid", "flavanoids"]]
    y = wine.target
    model = make_pipeline(StandardScaler(), machine()).fit(X, y)
    display = CoreSetDisplay.from_estimator(model, X, y)
    assert display.ax_.get_xlabel() == "malic_acid"
    assert_allclose(display.levels, [0.5, 1.5])
    grid = pd.DataFrame({"malic_acid": display.xx0[7], "flavanoids": display.xx1[7]})
    assert_array_equal(display.response[7], model.predict(grid))
    assert_array_equal(display.core_.get_offsets(), X.to_numpy()[model[-1].core_indices_])

    # the table has thirteen columns; the last step gets two
    model = make_pipeline(StandardScaler(), PCA(2), machine()).fit(wine.data, y)
    display = CoreSetDisplay.from_estimator(model, wine.data, y)
    assert display.ax_.get_ylabel() == "pca1"
    assert_allclose(display.points, model[:-1].transform(wine.data))


@pytest.mark.invariance
@pytest.mark.parametrize(
    "estimator",
    [
        CoreVectorOutlierDetector(gamma=1.0, contamination=0.1, random_state=0),
        SVDD(nu=0.1, gamma=1.0),
        MinimumEnclosingBall("rbf", gamma=1.0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_outlier_detectors_have_two_regions(estimator):
    X, y = moons()
    display = CoreSetDisplay.from_estimator(estimator.fit(X), X)
    assert_allclose(display.surface_.get_facecolor(), [to_rgba("0.88"), to_rgba("white")])
    assert display.boundary_ is not None
    assert "0" in legend(CoreSetDisplay.from_estimator(estimator, X, y))


@pytest.mark.invariance
@pytest.mark.parametrize(
    "estimator",
    [
        CoreVectorRegressor(C=10, gamma=1.0, tube_distance=0.05, random_state=0),
        CoreVectorRanker(gamma=1.0, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_predicted_numbers_have_no_boundary(estimator):
    X, _ = moons(100)
    y = np.round(3 * X[:, 0])
    display = CoreSetDisplay.from_estimator(estimator.fit(X, y), X, y)
    assert display.boundary_ is None
    grid = np.column_stack([display.xx0[3], display.xx1[3]])
    assert_allclose(display.response[3], estimator.predict(grid))


@pytest.mark.edge
def test_one_region_and_a_constant_column():
    X = np.column_stack([np.arange(20.0), np.ones(20)])
    model = machine().fit(X, np.repeat([0, 1], [10, 10]))
    display = CoreSetDisplay.from_estimator(model, X)
    assert np.ptp(display.xx1) > 0
    flat = CoreSetDisplay(
        points=X, xx0=display.xx0, xx1=display.xx1, response=np.ones((100, 100))
    ).plot()
    assert flat.boundary_ is None


@pytest.mark.edge
def test_raises_on_invalid_columns_and_rows():
    X, y = moons()
    model = machine().fit(X, y)
    with pytest.raises(
        ValueError, match="X must be the rows that CoreVectorMachine was fitted to"
    ):
        CoreSetDisplay.from_estimator(model, X[::-1], y)
    with pytest.raises(
        ValueError, match="X must be the rows that CoreVectorMachine was fitted to"
    ):
        CoreSetDisplay.from_estimator(model, X[:100], y[:100])
    piped = make_pipeline(StandardScaler(), machine()).fit(X, y)
    with pytest.raises(
        ValueError, match="X must be the rows that CoreVectorMachine was fitted to"
    ):
        CoreSetDisplay.from_estimator(piped, X[::-1])

    wide = np.column_stack([X, X[:, 0]])
    remedy = (
        r"fitted to 3: fit it to two of them, .* make_pipeline\(PCA\(2\), CoreVectorMachine"
    )
    with pytest.raises(ValueError, match=remedy):
        CoreSetDisplay.from_estimator(machine().fit(wide, y), wide, y)
    piped = make_pipeline(StandardScaler(), machine()).fit(wide, y)
    with pytest.raises(ValueError, match="fitted to 3: fit it to two"):
        CoreSetDisplay.from_estimator(piped, wide, y)


@pytest.mark.edge
def test_raises_on_invalid_estimators_and_settings():
    X, y = moons(50)
    model = machine().fit(X, y)
    with pytest.raises(NotFittedError):
        CoreSetDisplay.from_estimator(machine(), X)
    with pytest.raises(ValueError, match="LogisticRegression has neither"):
        CoreSetDisplay.from_estimator(LogisticRegression().fit(X, y), X)
    K = X @ X.T
    on_kernel = CoreVectorMachine(kernel="precomputed", random_state=0).fit(K, y)
    with pytest.raises(ValueError, match="no columns to draw"):
        CoreSetDisplay.from_estimator(on_kernel, K)
    with pytest.raises(ValueError, match=r"contains the class 7, .* the classes \[0, 1\]"):
        CoreSetDisplay.from_estimator(model, X, y + 7)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CoreSetDisplay.from_estimator(model, X, y[1:])
    with pytest.raises(ValueError, match="max_points=0 should be"):
        CoreSetDisplay.from_estimator(model, X, max_points=0)
    with pytest.raises(ValueError, match=r"grid_resolution=1 should be .* at least 2"):
        CoreSetDisplay.from_estimator(model, X, grid_resolution=1)
    with pytest.raises(ValueError, match="pass two columns"):
        CoreSetDisplay(points=[[1.0]], xx0=[], xx1=[], response=[]).plot()
