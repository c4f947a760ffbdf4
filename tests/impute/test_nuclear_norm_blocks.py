"""Completion of Dask arrays: the problem in memory, solved over blocks of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skmoderndata
from skmoderndata.impute import NuclearNormImputer

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

N = 300
P = 12
CUTS = {"uneven": (1, 150, 0, 100, 49), "many": (5,) * 60, "one": (N,)}
TIGHT = {"tol": 1e-9, "max_iter": 2000}


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def table(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) @ rng.normal(size=(3, P)) + 0.3 * rng.normal(size=(N, P)) + 5
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    X[7] = np.nan  # one row has no known cells
    return X.astype(dtype)


def in_dask(X, cuts="uneven"):
    return da.from_array(X, chunks=(CUTS[cuts], X.shape[1]))


def assert_same_solution(one, other):
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-8)
    assert one.dual_gap_ == pytest.approx(other.dual_gap_, abs=1e-8)
    assert one.n_components_ == other.n_components_
    assert one.alpha_ == pytest.approx(other.alpha_, rel=1e-12)
    assert_allclose(one.singular_values_, other.singular_values_, rtol=1e-6)
    assert_allclose(one.components_, other.components_, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.1},
        {"alpha": 0.02},
        {"alpha": 0.3, "debias": False},
        {"alpha": 5.0, "alpha_scale": "absolute", "center": False, "scale": False},
        {"alpha": 1.5},
    ],
    ids=repr,
)
def test_blocks_solve_the_problem_in_memory(options):
    X = table()
    one = NuclearNormImputer(**TIGHT, **options).fit(X)
    other = NuclearNormImputer(**TIGHT, **options).fit(in_dask(X))
    assert_same_solution(other, one)
    assert_allclose(other.mean_, one.mean_, rtol=1e-12)
    assert_allclose(other.scale_, one.scale_, rtol=1e-12)
    filled = other.transform(in_dask(X))
    assert isinstance(filled, da.Array)
    assert_allclose(filled.compute(), one.transform(X), atol=1e-5)


@pytest.mark.few(2)
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_cuts_and_schedulers_do_not_matter(cuts, scheduler):
    X = table()
    model = NuclearNormImputer(alpha=0.1)
    expected = model.fit(in_dask(X, "uneven")).components_
    with dask.config.set(scheduler=scheduler):
        found = model.fit(in_dask(X, cuts)).components_
    assert_allclose(found, expected, atol=1e-10)


def test_marks_empty_columns_and_indicators():
    X = table()
    X[:, 4] = np.nan
    one = NuclearNormImputer(alpha=0.1, add_indicator=True, missing_values=-1.0, tol=1e-9)
    marked = np.where(np.isnan(X), -1.0, X)
    with pytest.warns(UserWarning, match="drops features"):
        expected = one.fit(marked).transform(marked)
    with pytest.warns(UserWarning, match="drops features"):
        found = one.fit(in_dask(marked)).transform(in_dask(marked)).compute()
    assert_allclose(found, expected, atol=1e-5)


def test_single_precision():
    X = table(np.float32)
    one = NuclearNormImputer(alpha=0.1).fit(X)
    other = NuclearNormImputer(alpha=0.1).fit(in_dask(X))
    assert other.components_.dtype == np.float32
    assert other.transform(in_dask(X)).dtype == np.float32
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-4)


def test_alpha_of_a_sample(monkeypatch):
    from skmoderndata.impute import _nuclear_norm_imputer

    X = table()
    whole = NuclearNormImputer().fit(X)
    monkeypatch.setattr(_nuclear_norm_imputer, "MOST_ROWS", 150)
    model = NuclearNormImputer().fit(in_dask(X))
    assert model.validation_errors_[0] != whole.validation_errors_[0]
    assert model.alpha_ == pytest.approx(whole.alpha_, rel=0.5)
    n_tried = min(len(model.alpha_path_), len(whole.alpha_path_))
    assert_allclose(model.alpha_path_[:n_tried], whole.alpha_path_[:n_tried])


def test_checkpoints_are_used_and_removed(tmp_path, monkeypatch):
    from skmoderndata._solvers.common.blocks import DaskBlocks

    X = table()
    model = NuclearNormImputer(alpha=0.02, **TIGHT)
    expected = model.fit(in_dask(X)).components_
    written = []
    checkpoint = DaskBlocks.checkpoint

    def spy(blocks, folder):
        after = checkpoint(blocks, folder)
        written.append(len(list(tmp_path.rglob("*.pickle"))))
        return after

    monkeypatch.setattr(DaskBlocks, "checkpoint", spy)
    with skmoderndata.blocks_config(checkpoint_dir=tmp_path):
        model.fit(in_dask(X))
    assert model.n_iter_ > 20
    assert written
    assert min(written) == 4
    assert_array_equal(model.components_, expected)
    assert not list(tmp_path.iterdir())


def test_no_whole_table_comes_to_the_driver(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the whole table was asked for")

    X = in_dask(table())
    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)
    model = NuclearNormImputer(alpha=0.1).fit(X)
    model.fit_transform(X)


def test_rows_of_the_fit_are_not_kept():
    X = table()
    model = NuclearNormImputer(alpha=0.1).fit(X)
    assert len(model.row_scores_) == N
    model.fit(in_dask(X))
    with pytest.raises(AttributeError, match="does not keep row_scores_"):
        model.predict_entries([0], [1])
    assert model.predict_entries([0], [1], X=X[:3]).shape == (1,)


@pytest.mark.edge
def test_errors_name_bad_rows():
    X = table()
    X[203, 2] = np.inf
    with pytest.raises(ValueError, match="infinity in row 203"):
        NuclearNormImputer(alpha=0.1).fit(in_dask(X))
    with pytest.raises(ValueError, match="at least one known cell"):
        NuclearNormImputer(alpha=0.1).fit(in_dask(np.full((N, P), np.nan)))


@pytest.mark.edge
@pytest.mark.parametrize(
    "options",
    [{"alpha": 0}, {"n_components": 2}, {"solver": "cvxpy"}],
    ids=repr,
)
def test_rejects_options_that_need_all_rows(options):
    name = next(iter(options))
    with pytest.raises(ValueError, match=rf"does not take {name}=.*compute\(\)"):
        NuclearNormImputer(**options).fit(in_dask(table()))


@pytest.mark.edge
def test_weights_and_wide_tables_are_rejected():
    X = table()
    with pytest.raises(ValueError, match="does not take entry_weight"):
        NuclearNormImputer().fit(in_dask(X), entry_weight=np.ones(X.shape))
    with pytest.raises(ValueError, match=r"10 rows for each column.*compute\(\)"):
        NuclearNormImputer().fit(da.from_array(X[:100], chunks=(50, P)))


@pytest.mark.edge
def test_constant_table():
    X = np.full((N, P), 3.0)
    model = NuclearNormImputer(alpha=0.1).fit(in_dask(X))
    assert model.n_components_ == 0
    assert model.dual_gap_ == 0
    assert_array_equal(model.transform(np.full((1, P), np.nan)), X[:1])
