"""Evidence that RobustPCA finds rows that do not lie on the components of the others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmoderndata.decomposition import RobustPCA, RobustPCADisplay
from skmoderndata.exceptions import DoubtfulResultWarning

SCALES = np.array([2.4, 2.0, 1.7])  # Standard deviations of the scores; the noise is .3.
TOL = 1e-4


def rows_table(share, kind, *, shape=(100, 20), cells=0.0, missing=0.0, seed=0, new=False):
    """Table of rank 3 with outlying rows of a kind; the components, and which rows these are."""
    n, p = shape
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(p, p)))[0]
    components = V[:, :3].T
    if new:
        rng = np.random.default_rng(seed + 1000)
    scores = rng.normal(size=(n, 3)) * SCALES * np.sqrt(p / 20)
    outlying = np.arange(n) < round(share * n)
    if kind == "leverage":
        scores[outlying] += 6 * SCALES * np.sqrt(p / 20) * rng.choice([-1, 1], size=3)
    X = scores @ components + 0.3 * rng.normal(size=shape)

    # move the rows off the components, all in one direction or each in its own
    k = np.count_nonzero(outlying)
    off = np.tile(V[:, 3], (k, 1))
    if kind == "scattered":
        off = rng.normal(size=(k, p - 3)) @ V[:, 3:].T
        off /= np.linalg.norm(off, axis=1, keepdims=True)
    length = {"together": 14.0, "near": 8.0, "scattered": 14.0, "leverage": 0.0}[kind]
    X[outlying] += length * np.sqrt(p / 20) * off

    errors = rng.choice([-1, 1], size=shape) * rng.uniform(3, 6, size=shape)
    X = np.where(rng.random(shape) < cells, X + errors, X)
    X[rng.random(shape) < missing] = np.nan
    return X, components, outlying


def sine(model, components):
    """Sine of the largest angle between the true components and the leading ones."""
    found = model.components_[: len(components)]
    cosines = np.linalg.svd(found @ components.T, compute_uv=False)
    return float(np.sqrt(1 - min(cosines.min(), 1.0) ** 2))


@pytest.mark.recovery
@pytest.mark.parametrize("kind", ["together", "near", "scattered"])
@pytest.mark.parametrize("cells", [0.0, 0.1])
def test_outlying_rows_have_no_influence(kind, cells, seed):
    X, components, outlying = rows_table(0.2, kind, cells=cells, seed=seed)
    model = RobustPCA(tol=TOL).fit(X)
    assert sine(model, components) < 0.2
    assert model.outlying_rows_[outlying].mean() >= 0.85
    assert model.outlying_rows_[~outlying].sum() <= 1
    if kind == "together":
        assert sine(RobustPCA(tol=TOL, rows=False).fit(X), components) > 0.5


@pytest.mark.recovery
def test_rows_with_gaps_in_a_wide_table(seed):
    X, components, outlying = rows_table(
        0.1, "together", shape=(60, 100), cells=0.05, missing=0.2, seed=seed
    )
    model = RobustPCA(tol=TOL).fit(X)
    assert sine(model, components) < 0.25
    assert_array_equal(model.outlying_rows_, outlying)


@pytest.mark.recovery
@pytest.mark.parametrize("shape", [(100, 20), (60, 200)])
def test_leverage_points_are_named_and_kept(shape, seed):
    X, components, far = rows_table(0.2, "leverage", shape=shape, cells=0.1, seed=seed)
    model = RobustPCA(tol=TOL).fit(X)
    assert not model.outlying_rows_.any()
    assert model.leverage_[far].mean() >= 0.9
    assert model.leverage_[~far].mean() <= 0.05
    assert sine(model, components) < 0.2


@pytest.mark.invariance
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_clean_tables_are_unchanged_to_the_bit(missing, seed):
    X, *_ = rows_table(0.0, "together", cells=0.05, missing=missing, seed=seed)
    plain = RobustPCA(tol=TOL, rows=False).fit(X)
    model = RobustPCA(tol=TOL).fit(X)
    assert not model.outlying_rows_.any()
    for name, value in vars(plain).items():
        if name.endswith("_") and not name.startswith("_"):
            assert_array_equal(getattr(model, name), value, err_msg=name)
    assert_array_equal(model.transform(X), plain.transform(X))


@pytest.mark.recovery
def test_a_large_group_is_structure_unless_a_larger_share_is_allowed(seed):
    X, components, group = rows_table(0.3, "together", seed=seed)
    plain = RobustPCA(tol=TOL, rows=False).fit(X)
    with pytest.warns(DoubtfulResultWarning, match=r"rows='auto' allows.*rows=False"):
        model = RobustPCA(tol=TOL).fit(X)
    assert_array_equal(model.low_rank_, plain.low_rank_)
    assert not model.outlying_rows_.any()

    wide = RobustPCA(tol=TOL, rows=0.45).fit(X)
    assert_array_equal(wide.outlying_rows_, group)
    assert sine(wide, components) < 0.2


@pytest.mark.certificate
def test_certificate_refers_to_the_inlying_rows(seed):
    X, _, outlying = rows_table(0.15, "together", cells=0.05, seed=seed)
    model = RobustPCA(algorithm="stable").fit(X)
    others = RobustPCA(algorithm="stable", rows=False).fit(X[~outlying])
    assert_array_equal(model.outlying_rows_, outlying)
    assert_allclose(model.objective_, others.objective_, rtol=1e-5)
    assert model.alpha_ == others.alpha_
    assert_array_equal(model.dual_[outlying], 0.0)
    assert_allclose(model.components_, others.components_, atol=1e-5)
    assert_allclose(model.low_rank_[~outlying], others.low_rank_, atol=1e-4)
    # an outlying row is projected like a new row
    projected = others.decompose(X[outlying])
    assert_allclose(model.low_rank_[outlying], projected.low_rank, atol=1e-4)
    assert_array_equal(model.support_[outlying], projected.sparse != 0)


@pytest.mark.recovery
@pytest.mark.parametrize("kind", ["together", "leverage", "scattered"])
def test_scores_of_new_rows_rank_the_outlying_ones_first(kind, seed):
    X, *_ = rows_table(0.1, kind, cells=0.02, seed=seed)
    new, _, unusual = rows_table(0.3, kind, cells=0.02, seed=seed, new=True)
    model = RobustPCA(tol=TOL).fit(X)
    scores = model.outlier_scores(new)
    assert scores[unusual].min() > np.quantile(scores[~unusual], 0.97)
    assert np.mean(scores[unusual] > 1) > 0.9 > 0.05 > np.mean(scores[~unusual] > 1)
    assert_array_equal(scores, model.row_distances(new).max(axis=1))


@pytest.mark.recovery
def test_rows_are_listed_with_their_names(seed):
    X, _, outlying = rows_table(0.1, "together", cells=0.02, seed=seed)
    frame = pd.DataFrame(X, index=[f"day {i}" for i in range(100)]).rename(
        columns="s{}".format
    )
    model = RobustPCA(tol=TOL, store_matrices=False).fit(frame)
    found = model.find_outliers(kind="rows")
    names = ["row", "score_distance", "residual", "verdict", "n_cells"]
    assert list(found.columns) == names
    assert set(found.row[found.verdict == "outlying"]) == set(frame.index[outlying])
    farthest = found[["score_distance", "residual"]].max(axis=1)
    assert (np.diff(farthest) <= 0).all()
    assert len(found) == (model.outlying_rows_ | model.leverage_).sum()

    # list new rows by their scores, and cells outside outlying rows
    new = model.find_outliers(frame[:30], kind="rows")
    assert set(new.row[new.verdict == "outlying"]) == set(frame.index[outlying])
    cells = model.find_outliers(frame)
    assert not set(cells.row) & set(frame.index[outlying])
    whole = RobustPCA(tol=TOL).fit(frame)
    assert not set(whole.find_outliers().row) & set(frame.index[outlying])
    assert (
        whole.support_[outlying].sum()
        == whole.find_outliers(kind="rows").n_cells[lambda n: n.index < outlying.sum()].sum()
    )


@pytest.mark.invariance
def test_weights_of_zero_are_gaps_for_rows_too(seed):
    X, components, outlying = rows_table(0.15, "together", missing=0.1, seed=seed)
    weights = np.where(np.isnan(X), 0.0, 2.0)
    model = RobustPCA(tol=TOL).fit(np.nan_to_num(X), entry_weight=weights)
    assert np.count_nonzero(model.outlying_rows_ != outlying) <= 1
    assert sine(model, components) < 0.2


@pytest.mark.edge
@pytest.mark.parametrize("options", [{"rows": False}, {"polish": False}, {"algorithm": "pcp"}])
def test_rows_have_no_attributes_if_not_tested(options):
    X, *_ = rows_table(0.0, "together")
    model = RobustPCA(tol=1e-3).fit(X).set_params(**options).fit(X)
    for name in ("outlying_rows_", "leverage_", "row_distances_"):
        assert not hasattr(model, name)
    for ask in (lambda: model.find_outliers(kind="rows"), lambda: model.row_distances(X)):
        with pytest.raises(ValueError, match=r"looked for outlying rows.*rows="):
            ask()
    assert_allclose(
        model.outlier_scores(X), np.abs(X - model.decompose(X).low_rank).sum(axis=1)
    )
    with pytest.raises(ValueError, match="kind must be 'cells' or 'rows', got 'columns'"):
        model.find_outliers(kind="columns")


@pytest.mark.edge
def test_rows_without_cells_and_few_rows(seed):
    X, *_ = rows_table(0.1, "together", seed=seed)
    X += 50.0  # rows without known cells have neither scores nor distances
    X[3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RobustPCA(tol=1e-3).fit(X)
    assert not model.outlying_rows_[3]
    assert not model.leverage_[3]
    assert np.isfinite(model.row_distances_).all()
    for n in (2, 3, 5):
        few = RobustPCA(algorithm="stable", tol=1e-3).fit(X[10 : 10 + n])
        assert np.isfinite(few.row_distances_).all()


@pytest.mark.edge
def test_outlier_map_is_the_fourth_panel(seed):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, _, outlying = rows_table(0.1, "together", seed=seed)
    frame = pd.DataFrame(X, index=[f"day {i}" for i in range(100)]).rename(
        columns="s{}".format
    )
    model = RobustPCA(tol=TOL).fit(frame)
    display = RobustPCADisplay.from_estimator(model, frame)
    assert display.axes_.shape == (4,)
    points = display.axes_[3].collections[0].get_offsets()
    assert_allclose(points, model.row_distances(frame))
    named = {text.get_text() for text in display.axes_[3].texts}
    assert named <= set(frame.index)
    assert len(named & set(frame.index[outlying])) >= 9

    _, axes = matplotlib.pyplot.subplots(1, 3)
    assert display.plot(axes).axes_.shape == (3,)
    matplotlib.pyplot.close("all")
