"""Evidence that atoms learned from a table in blocks match the table in memory."""

import os
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import skmoderndata
from skmoderndata._estimator import blocks_input
from skmoderndata._solvers.common import blocks as solver_blocks
from skmoderndata._solvers.common import row_sample
from skmoderndata.decomposition import FeatureSignDictionaryLearning
from tests.solvers.test_blocks import LikeHDF5, in_dask, on_disk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

CUTS = [(1, 199), (80, 0, 1, 119), (20,) * 10]
ATOMS = 12
LENGTH = 8


def signals(n=200, seed=0):
    """Few atoms in each signal, with noise."""
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(ATOMS, LENGTH))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    A = rng.normal(size=(n, ATOMS)) * (rng.uniform(size=(n, ATOMS)) < 0.2)
    return A @ D + 0.02 * rng.normal(size=(n, LENGTH))


def with_gaps(X):
    """Missing entries in the last signals only."""
    X = X.copy()
    X[-60:][np.random.default_rng(3).uniform(size=(60, X.shape[1])) < 0.1] = np.nan
    return X


def weights_of_signals(n=200):
    weights = np.random.default_rng(1).uniform(0, 2, size=n)
    weights[::7] = 0
    return weights


def model(**parameters):
    given = {"max_iter": 30, "tol": 1e-3, "random_state": 0, **parameters}
    return FeatureSignDictionaryLearning(ATOMS, 0.1, **given)


def assert_same_model(one, other, rtol=1e-10):
    assert one.n_iter_ == other.n_iter_
    assert_allclose(one.objective_, other.objective_, rtol=rtol)
    # each update of the atoms ends within 1e-10 of its optimum; rounding may cause one more step
    assert_allclose(one.objective_history_, other.objective_history_, rtol=10 * rtol)
    assert_allclose(one.components_, other.components_, rtol=0, atol=1e-7)
    assert_array_equal(one.n_replaced_, other.n_replaced_)
    assert_array_equal(one.usage_, other.usage_)


@pytest.fixture
def no_whole_table(monkeypatch):
    """A whole Dask array becomes no array of NumPy."""

    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


PARAMETERS = [
    {},
    {"algorithm": "homotopy", "momentum": False},
    {"positive_code": True, "positive_dict": True, "init": "random"},
]


@pytest.mark.few(3)
@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_dask_array_gives_the_model_of_the_table(parameters, lengths, no_whole_table):
    X = signals()
    here = model(**parameters).fit(X)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            lazy = model(**parameters).fit(in_dask(X, lengths))
        assert_same_model(lazy, here)
        assert lazy.largest_dual_gap_ <= 1e-6


@pytest.mark.invariance
@pytest.mark.parametrize("entries", ["all", "missing"])
def test_one_block_gives_the_same_bits(entries):
    X = signals() if entries == "all" else with_gaps(signals())
    lazy = model().fit(in_dask(X, (200,)))
    here = model().fit(X)
    assert lazy.objective_ == here.objective_
    assert lazy.largest_dual_gap_ == here.largest_dual_gap_ == here.dual_gap_.max()
    assert_array_equal(lazy.components_, here.components_)


@pytest.mark.few(1)
@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS[:2], ids=str)
@pytest.mark.parametrize("entries", ["all", "missing"])
def test_weights_and_gaps_are_cut_like_the_rows(entries, lengths):
    X = signals() if entries == "all" else with_gaps(signals())
    weights = weights_of_signals()
    here = model().fit(X, sample_weight=weights)
    assert_same_model(model().fit(in_dask(X, lengths), sample_weight=weights), here)
    lazy = da.from_array(weights, chunks=50)
    assert_same_model(model().fit(in_dask(X, lengths), sample_weight=lazy), here)
    plain = model().fit(X)
    assert_same_model(model().fit(in_dask(X, lengths)), plain)


@pytest.mark.invariance
@pytest.mark.parametrize("positive", [False, True])
def test_idle_atoms_are_replaced_in_blocks_too(positive):
    # most atoms point away from the signals, which are nearly equal
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(LENGTH)[:6], 20, axis=0) * rng.uniform(1, 3, size=(120, 1))
    X += 0.05 * rng.normal(size=X.shape)
    start = np.eye(LENGTH)[[7] * ATOMS] + 1e-3 * rng.uniform(size=(ATOMS, LENGTH))
    settings = {"init": start, "positive_dict": positive, "max_iter": 6, "tol": 0}
    here = model(**settings).fit(X)
    assert here.n_replaced_.sum() > 3
    assert_same_model(model(**settings).fit(in_dask(X, (50, 1, 69))), here)


@pytest.mark.invariance
def test_sparse_blocks():
    X = np.where(np.abs(signals()) > 0.1, signals(), 0)
    rows = in_dask(X, (80, 1, 119)).map_blocks(sparse.csr_array)
    assert_same_model(model().fit(rows), model().fit(sparse.csr_array(X)))


def test_single_precision_is_preserved():
    X = signals().astype(np.float32)
    lazy = model().fit(in_dask(X, (80, 120)))
    assert lazy.components_.dtype == np.float32
    assert_allclose(lazy.objective_, model().fit(X).objective_, rtol=1e-6)


@pytest.mark.invariance
@pytest.mark.parametrize("kind", ["map", "HDF5"])
def test_table_on_disk(kind, tmp_path, monkeypatch):
    X = signals()
    limit = 50 * X[0].nbytes
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    rows = on_disk(tmp_path, X, limit) if kind == "map" else LikeHDF5(X)
    lazy = model(init="random").fit(rows)
    assert_same_model(lazy, model(init="random").fit(X))
    assert lazy.transform(rows).shape == (200, ATOMS)


def test_start_of_many_signals_is_drawn_from_a_sample(monkeypatch):
    X = signals(1000)
    here = model().fit(X)
    monkeypatch.setattr(row_sample, "MOST_ROWS", 100)
    lazy = model().fit(in_dask(X, (300, 700)))
    assert lazy.objective_ != here.objective_
    assert_allclose(lazy.objective_, here.objective_, rtol=0.05)


def test_rows_are_not_kept(no_whole_table):
    X = signals()
    fitted = model(store_codes=True).fit(X)
    fitted.set_params(store_codes=False).fit(in_dask(X, (80, 120)))
    with pytest.raises(AttributeError, match=r"codes_.*transform\(X\)"):
        _ = fitted.codes_
    with pytest.raises(AttributeError, match="use largest_dual_gap_"):
        _ = fitted.dual_gap_
    with pytest.raises(AttributeError, match="no attribute 'dual_gap_'"):
        _ = model().dual_gap_
    again = pickle.loads(pickle.dumps(fitted))
    assert not any("dask" in type(value).__module__ for value in vars(again).values())
    codes = again.fit_transform(in_dask(X, (80, 120)))
    assert isinstance(codes, da.Array)
    assert again.partial_fit(X).dual_gap_.shape == (200,)


@pytest.mark.edge
def test_codes_of_all_rows_are_rejected(no_whole_table):
    with pytest.raises(ValueError, match="store_codes=False"):
        model(store_codes=True).fit(in_dask(signals(), (80, 120)))


@pytest.mark.edge
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_error_names_bad_row(value, as_sparse):
    X = signals()
    X[[90, 150], 3] = value
    rows = in_dask(X, (80, 1, 119))
    if as_sparse:
        rows = rows.map_blocks(sparse.csr_array)
    elif np.isnan(value):
        return  # one entry is missing
    with pytest.raises(ValueError, match="infinity in row 90"):
        model().fit(rows)


@pytest.mark.edge
def test_weights_are_checked():
    rows = in_dask(signals(), (80, 120))
    weights = np.ones(200)
    weights[90] = -1
    with pytest.raises(ValueError, match="is -1 in row 90"):
        model().fit(rows, sample_weight=weights)
    with pytest.raises(ValueError, match="at least one non-zero"):
        model().fit(rows, sample_weight=np.zeros(200))


def test_codes_are_written_to_the_checkpoints(tmp_path, monkeypatch):
    saved = []
    save = solver_blocks._save

    def noted(pair, path):
        saved.append(path)
        return save(pair, path)

    monkeypatch.setattr(solver_blocks, "_save", noted)
    X = signals()
    settings = {"max_iter": 25, "tol": 0}
    with dask.config.set(scheduler="synchronous"):
        with skmoderndata.blocks_config(checkpoint_dir=tmp_path):
            lazy = model(**settings).fit(in_dask(X, (80, 120)))
    assert len(saved) == 2
    assert os.listdir(tmp_path) == []
    plain = model(**settings).fit(in_dask(X, (80, 120)))
    assert lazy.objective_ == plain.objective_
    assert_array_equal(lazy.components_, plain.components_)
