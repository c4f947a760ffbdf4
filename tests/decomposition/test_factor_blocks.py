"""Evidence that factors of a table in blocks match the table in memory."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import skmoderndata
from skmoderndata._estimator import blocks_input
from skmoderndata._solvers.common import blocks as solver_blocks
from skmoderndata._solvers.common import row_sample
from skmoderndata.decomposition import (
    FeatureSignDictionaryLearning,
    ProbabilisticLSA,
    SemiNMF,
    SparseNMF,
)
from tests.solvers.test_blocks import LikeHDF5, in_dask, on_disk

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

N = 240
P = 12
K = 3
CUTS = [(1, 239), (100, 0, 1, 139), (15,) * 16]
START = np.random.default_rng(9).uniform(size=(K, P))
MODELS = {
    "l1": SparseNMF(K, init=START),
    "both": SparseNMF(K, init=START, side="both", form="plain", alpha=0.1),
    "plain": SparseNMF(K, init=START, penalty=None),
    "exact": SparseNMF(K, init=START, penalty=None, solver="bpp", tol=1e-2),
    "hoyer": SparseNMF(K, init=START, penalty="hoyer", sparseness_components=0.4),
    "semi": SemiNMF(K, init=START),
}


def table(n=N, p=P, k=K, noise=0.1, seed=0):
    """Few parts in each row, with noise."""
    rng = np.random.default_rng(seed)
    W = rng.exponential(size=(n, k)) * (rng.uniform(size=(n, k)) < 0.6)
    H = rng.exponential(size=(k, p)) * (rng.uniform(size=(k, p)) < 0.5)
    return np.maximum(W @ H + noise * rng.normal(size=(n, p)), 0)


def weights_of_rows(n=N):
    weights = np.random.default_rng(1).uniform(0, 2, size=n)
    weights[::7] = 0
    return weights


def weights_of_entries(shape=(N, P)):
    weights = np.random.default_rng(2).uniform(0, 2, size=shape)
    weights[::5, ::3] = 0
    return weights


def with_gaps(X):
    """Missing entries in the last rows only."""
    X = X.copy()
    X[-60:][np.random.default_rng(3).uniform(size=(60, X.shape[1])) < 0.2] = np.nan
    return X


def assert_same_model(one, other, rtol=1e-10, atol=1e-8):
    assert one.n_iter_ == other.n_iter_
    assert_allclose(one.objective_, other.objective_, rtol=rtol)
    assert_allclose(one.objective_history_, other.objective_history_, rtol=rtol)
    assert_allclose(one.reconstruction_err_, other.reconstruction_err_, rtol=rtol)
    scale = np.abs(other.components_).max()
    assert_allclose(one.components_, other.components_, rtol=0, atol=atol * scale)


@pytest.fixture
def no_whole_table(monkeypatch):
    """A whole Dask array becomes no array of NumPy."""

    def refuse(*args, **kwargs):
        raise AssertionError("the whole table")

    monkeypatch.setattr(da.Array, "__array__", refuse)
    monkeypatch.setattr(da.Array, "compute", refuse)


def fresh(name):
    model = MODELS[name]
    return type(model)(**model.get_params())


@pytest.mark.few(6)
@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS, ids=lambda lengths: str(len(lengths)))
@pytest.mark.parametrize("name", MODELS)
def test_dask_array_gives_the_model_of_the_table(name, lengths, no_whole_table):
    X = table()
    here = fresh(name).fit(X)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            lazy = fresh(name).fit(in_dask(X, lengths))
        assert_same_model(lazy, here)
        assert_allclose(lazy.kkt_residual_, here.kkt_residual_, rtol=1e-4)
        assert lazy.n_features_in_ == P


@pytest.mark.invariance
@pytest.mark.parametrize("name", MODELS)
def test_one_block_gives_the_same_bits(name):
    X = table()
    lazy = fresh(name).fit(in_dask(X, (N,)))
    here = fresh(name).fit(X)
    assert lazy.objective_ == here.objective_
    assert lazy.kkt_residual_ == here.kkt_residual_
    assert_array_equal(lazy.components_, here.components_)


@pytest.mark.few(8)
@pytest.mark.invariance
@pytest.mark.parametrize("lengths", [(1, 239), (90, 0, 1, 149)], ids=str)
@pytest.mark.parametrize("entries", ["all", "missing", "weighted"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["l1", "plain", "semi"])
def test_weights_and_gaps_are_cut_like_the_rows(name, weighted, entries, lengths):
    X = with_gaps(table()) if entries == "missing" else table()
    options = {}
    if weighted:
        options["sample_weight"] = weights_of_rows()
    if entries == "weighted":
        options["entry_weight"] = weights_of_entries()
    here = fresh(name).fit(X, **options)
    assert_same_model(fresh(name).fit(in_dask(X, lengths), **options), here)

    chunks = {"sample_weight": 50, "entry_weight": (50, 5)}
    lazy = {key: da.from_array(rows, chunks=chunks[key]) for key, rows in options.items()}
    assert_same_model(fresh(name).fit(in_dask(X, lengths), **lazy), here)


@pytest.mark.invariance
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["l1", "plain", "hoyer", "semi"])
def test_sparse_blocks(name, weighted):
    X = np.where(table() > 0.5, table(), 0)
    rows = in_dask(X, (100, 1, 139)).map_blocks(sparse.csr_array)
    options = {"sample_weight": weights_of_rows()} if weighted else {}
    here = fresh(name).fit(sparse.csr_array(X), **options)
    assert_same_model(fresh(name).fit(rows, **options), here)


@pytest.mark.invariance
@pytest.mark.parametrize(
    ("cls", "init"),
    [
        (SparseNMF, "nndsvd"),
        (SparseNMF, "random"),
        (SemiNMF, "svd"),
        (SemiNMF, "kmeans"),
        (SemiNMF, "random"),
    ],
)
def test_starts_match_the_table(cls, init):
    X = table()
    settings = {"init": init, "n_init": 2, "random_state": 0}
    here = cls(K, **settings).fit(X)
    assert_same_model(cls(K, **settings).fit(in_dask(X, (100, 1, 139))), here)


def test_start_of_many_rows_matches_a_sample(monkeypatch):
    X = table(2000)
    here = SparseNMF(K).fit(X)
    monkeypatch.setattr(row_sample, "MOST_ROWS", 100)
    lazy = SparseNMF(K, random_state=0).fit(in_dask(X, (700, 1300)))
    assert lazy.n_iter_ != here.n_iter_ or lazy.objective_ != here.objective_
    assert_allclose(lazy.objective_, here.objective_, rtol=1e-3)


@pytest.mark.invariance
def test_lost_components_are_revived_in_blocks_too():
    X = table(noise=0.0)
    start = START.copy()
    start[1] = 0
    settings = {"init": start, "penalty": None, "max_iter": 50}
    here = SparseNMF(K, **settings).fit(X)
    assert here.components_.any(axis=1).all()
    lazy = SparseNMF(K, **settings).fit(in_dask(X, (100, 1, 139)))
    assert_same_model(lazy, here, rtol=1e-6, atol=1e-6)


@pytest.mark.invariance
def test_codes_of_given_sparseness():
    # a row may have several stationary codes, among which rounding decides
    settings = {"penalty": "hoyer", "sparseness_codes": 0.3, "codes_axis": "sample"}
    X = table()
    here = SparseNMF(K, init=START, **settings).fit(X)
    lazy = SparseNMF(K, init=START, **settings).fit(in_dask(X, (100, 1, 139)))
    assert_allclose(lazy.objective_, here.objective_, rtol=1e-6)


def test_single_precision_is_preserved():
    X = table().astype(np.float32)
    lazy = fresh("plain").fit(in_dask(X, (100, 140)))
    here = fresh("plain").fit(X)
    assert lazy.components_.dtype == np.float32
    # products have 24 bits, so the passes stop at different points within `tol`
    assert_allclose(lazy.objective_, here.objective_, rtol=1e-3)
    double = fresh("plain").fit(X.astype(float))
    assert_allclose(lazy.objective_, double.objective_, rtol=1e-3)


def test_whole_numbers_are_accepted():
    X = np.round(5 * table()).astype(np.int32)
    assert_same_model(fresh("l1").fit(in_dask(X, (100, 140))), fresh("l1").fit(X))


@pytest.mark.invariance
@pytest.mark.parametrize("kind", ["map", "HDF5"])
def test_table_on_disk(kind, tmp_path, monkeypatch):
    X = table()
    limit = 50 * X[0].nbytes
    monkeypatch.setattr(blocks_input, "BLOCK_BYTES", limit)
    monkeypatch.setattr(solver_blocks, "BLOCK_BYTES", limit)
    rows = on_disk(tmp_path, X, limit) if kind == "map" else LikeHDF5(X)
    lazy = fresh("l1").fit(rows, sample_weight=weights_of_rows())
    here = fresh("l1").fit(X, sample_weight=weights_of_rows())
    assert_same_model(lazy, here)
    assert_allclose(lazy.transform(rows), here.transform(X), atol=1e-7)


def test_fitted_estimator_continues_and_can_be_pickled(no_whole_table):
    X = table()
    lazy = fresh("l1").fit(in_dask(X, (100, 140)))
    again = pickle.loads(pickle.dumps(lazy))
    assert not any("dask" in type(value).__module__ for value in vars(again).values())
    assert again.codes_ is None
    here = fresh("l1").fit(X)
    more = table(seed=0)[:50]
    assert_allclose(
        again.partial_fit(more).components_, here.partial_fit(more).components_, atol=1e-8
    )


def test_sums_are_not_kept_if_entries_are_missing():
    lazy = fresh("l1").fit(in_dask(with_gaps(table()), (100, 140)))
    with pytest.raises(ValueError, match="missing entries"):
        lazy.partial_fit(table())


def test_results_are_lazy():
    X = table()
    rows = in_dask(X, (100, 140))
    codes = fresh("l1").fit_transform(rows)
    assert isinstance(codes, da.Array)
    assert_allclose(codes.compute(), fresh("l1").fit_transform(X), atol=1e-7)


@pytest.mark.edge
def test_sparseness_over_rows_is_rejected(no_whole_table):
    model = SparseNMF(K, penalty="hoyer", sparseness_codes=0.3)
    with pytest.raises(ValueError, match="codes_axis='sample'"):
        model.fit(in_dask(table(), (100, 140)))


BAD = {
    "infinity": (np.inf, "infinity in row 150"),
    "negative": (-1.0, "Negative values in data passed to SparseNMF, the first in row 150"),
}


@pytest.mark.edge
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("kind", [*BAD, "NaN"])
def test_error_names_bad_row(kind, as_sparse):
    X = table()
    value, message = BAD.get(kind, (np.nan, "NaN or infinity in row 150"))
    X[[150, 200], 3] = value
    rows = in_dask(X, (100, 1, 139))
    if as_sparse:
        rows = rows.map_blocks(sparse.csr_array)
    elif kind == "NaN":
        return  # one entry is missing
    with pytest.raises(ValueError, match=message):
        fresh("l1").fit(rows)


@pytest.mark.edge
def test_weights_of_entries_are_checked():
    X = table()
    rows = in_dask(X, (100, 140))
    weights = np.ones(X.shape)
    weights[:100] = 0
    assert_same_model(
        fresh("plain").fit(rows, entry_weight=weights),
        fresh("plain").fit(X, entry_weight=weights),
    )
    with pytest.raises(ValueError, match="zeros only"):
        fresh("plain").fit(rows, entry_weight=np.zeros(X.shape))
    weights[130, 2] = -1
    with pytest.raises(ValueError, match=r"from 100 on: .*at least 0"):
        fresh("plain").fit(rows, entry_weight=weights)


@pytest.mark.edge
def test_weights_are_checked():
    rows = in_dask(table(), (100, 140))
    weights = np.ones(N)
    weights[[120, 130]] = -1
    with pytest.raises(ValueError, match=r"sample_weight of SparseNMF is -1 in row 120"):
        fresh("l1").fit(rows, sample_weight=weights)
    with pytest.raises(ValueError, match="at least one non-zero"):
        fresh("l1").fit(rows, sample_weight=np.zeros(N))
    with pytest.raises(ValueError, match="240 rows, and what goes with them 99"):
        fresh("l1").fit(rows, sample_weight=np.ones(99))
    here = fresh("l1").fit(table(), sample_weight=2.0)
    assert_same_model(fresh("l1").fit(rows, sample_weight=2.0), here)


@pytest.mark.edge
def test_blocks_without_weight_count_nothing():
    X = table()
    weights = np.ones(N)
    weights[:100] = 0
    lazy = fresh("plain").fit(in_dask(X, (100, 140)), sample_weight=weights)
    assert_same_model(lazy, fresh("plain").fit(X[100:]))


@pytest.mark.parametrize("entries", ["all", "missing"])
@pytest.mark.parametrize(
    "model",
    [
        SparseNMF(K, max_iter=3),
        SemiNMF(K, max_iter=3),
        ProbabilisticLSA(K, max_iter=3),
        FeatureSignDictionaryLearning(K, 0.1, max_iter=3),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_passes_and_states_travel(model, entries, monkeypatch):
    X = table() if entries == "all" else with_gaps(table())
    model.set_params(random_state=0)
    components = model.fit(in_dask(X, (100, 140))).components_
    run = solver_blocks._run_block
    n_passes = []

    def elsewhere(one_pass, block, n_rows):
        n_passes.append(one_pass)
        there = pickle.loads(pickle.dumps((one_pass, block)))
        return pickle.loads(pickle.dumps(run(*there, n_rows)))

    monkeypatch.setattr(solver_blocks, "_run_block", elsewhere)
    with dask.config.set(scheduler="synchronous"):
        again = model.fit(in_dask(X, (100, 140))).components_
    assert len(n_passes) > 6
    assert_array_equal(again, components)


def test_data_frames_keep_their_names():
    dataframe = pytest.importorskip("dask.dataframe")
    X = pd.DataFrame(table(), columns=[f"column {j}" for j in range(P)])
    lazy = fresh("l1").fit(dataframe.from_pandas(X, npartitions=3), sample_weight=2.0)
    here = fresh("l1").fit(X, sample_weight=2.0)
    assert_same_model(lazy, here)
    assert_array_equal(lazy.feature_names_in_, here.feature_names_in_)


def test_codes_are_written_to_the_checkpoints(tmp_path, monkeypatch):
    saved = []
    save = solver_blocks._save

    def noted(pair, path):
        saved.append(path)
        return save(pair, path)

    monkeypatch.setattr(solver_blocks, "_save", noted)
    rows = in_dask(table(), (100, 140))
    settings = {"init": START, "penalty": None, "max_iter": 45, "tol": 0}
    with dask.config.set(scheduler="synchronous"):
        with skmoderndata.blocks_config(checkpoint_dir=tmp_path):
            with pytest.warns(ConvergenceWarning):
                lazy = SparseNMF(K, **settings).fit(rows)
    assert len(saved) == 2 * (lazy.n_iter_ // 20)
    assert os.listdir(tmp_path) == []
    with pytest.warns(ConvergenceWarning):
        here = SparseNMF(K, **settings).fit(table())
    assert_same_model(lazy, here)
