"""Evidence that a pass over blocks of rows is the pass over the rows, wherever they lie."""

import functools
import gc
import os
import pickle
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import skmoderndata
from skmoderndata._solvers.common import blocks as module
from skmoderndata._solvers.common.blocks import (
    BadRow,
    as_blocks,
    is_dask,
    is_on_disk,
    row_blocks,
)

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

CUTS = [(100,), (1, 99), (40, 1, 59), (1,) * 100, (0, 30, 0, 70), (7, 13, 29, 51)]


def table(n=100, p=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p)) * 10.0 ** np.arange(p)


def moments(block, shift=0.0):
    X = block.arrays[0] - shift
    return len(X), X.sum(axis=0), X.T @ X


def as_one_tree(parts):
    """The sum in words: neighbours four at a time, then neighbours of these."""
    while len(parts) > 1:
        parts = [functools.reduce(np.add, parts[i : i + 4]) for i in range(0, len(parts), 4)]
    return parts[0]


def in_dask(X, lengths, **scheduler):
    return da.from_array(X, chunks=(lengths, X.shape[1:]) if X.ndim > 1 else (lengths,))


class OneBlock(np.memmap):
    """A memory map that allows reading no more than the limit at once."""

    limit = np.inf

    def __getitem__(self, key):
        result = super().__getitem__(key)
        assert getattr(result, "nbytes", 0) <= self.limit, "more than a block"
        return result

    def __array__(self, *args, **kwargs):
        raise AssertionError("the whole map")


def on_disk(tmp_path, X, limit):
    path = tmp_path / "rows"
    np.asarray(X).tofile(path)
    rows = np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape).view(OneBlock)
    OneBlock.limit = limit
    return rows


@pytest.mark.oracle
@pytest.mark.parametrize("lengths", CUTS, ids=str)
def test_sum_matches_the_rows(lengths):
    X = table()
    n, total, squares = as_blocks(in_dask(X, lengths)).sum(moments, 1.0)
    assert n == 100
    assert_allclose(total, (X - 1).sum(axis=0), rtol=1e-12)
    assert_allclose(squares, sum(np.outer(row, row) for row in X - 1), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [1, 2, 4, 5, 16, 17, 63])
def test_tree_adds_neighbours_four_at_a_time(n):
    parts = 10.0 ** np.random.default_rng(n).uniform(-8, 8, size=n)
    blocks = as_blocks(in_dask(parts[:, None], (1,) * n))
    assert blocks.sum(lambda block: (block.arrays[0].sum(),))[0] == as_one_tree(list(parts))


@pytest.mark.invariance
@pytest.mark.parametrize("lengths", CUTS, ids=str)
def test_same_cuts_give_the_same_bits(lengths):
    X = table()
    here = module.ArrayBlocks((X,), np.cumsum([0, *filter(None, lengths)]))
    expected = here.sum(moments, 0.5)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            for one, other in zip(
                expected, as_blocks(in_dask(X, lengths)).sum(moments, 0.5), strict=True
            ):
                assert_array_equal(one, other)


def unaligned(X):
    """The same numbers at an address that does not fit their type, as a network leaves them."""
    memory = np.empty(X.nbytes + 1, dtype=np.uint8)[1:]
    copy = memory.view(X.dtype).reshape(X.shape)
    copy[...] = X
    assert not copy.flags.aligned
    return copy


class Pair(NamedTuple):
    left: np.ndarray
    right: int


def products(block, pair):
    X = block.arrays[0]
    return X.T @ X, pair.left.T @ pair.left, block.state.left.T @ block.state.left


@pytest.mark.invariance
def test_addresses_of_arrays_change_no_bit():
    X = np.random.default_rng(0).normal(size=(500, 5))

    def total(place):
        pair = Pair(place(X[:100]), 1)
        one_pass = module.Pass(products, False, (pair,))
        return module._run_group(one_pass, [0, 500], ([pair],), [(place(X),)])[1]

    for one, other in zip(total(np.copy), total(unaligned), strict=True):
        assert_array_equal(one, other)


@pytest.mark.invariance
def test_groups_of_many_blocks_give_the_same_bits(monkeypatch):
    X = table()
    rows = in_dask(X, (3,) * 33 + (1,))
    single = as_blocks(rows).sum(moments)
    monkeypatch.setattr(module, "MAX_TASKS", 3)
    blocks = as_blocks(rows)
    assert blocks.group == 16
    for one, other in zip(single, blocks.sum(moments), strict=True):
        assert_array_equal(one, other)

    moved, total = blocks.step(smooth, 0.5)
    assert_array_equal(total[0], module.ArrayBlocks((X,), blocks.cuts).step(smooth, 0.5)[1][0])
    assert len(moved.states) == 3


def test_one_block_matches_the_function():
    X = table()
    result = moments(module.Block(0, (X,)))
    for one, other in zip(result, as_blocks(X).sum(moments), strict=True):
        assert_array_equal(one, other)
    with_zeros = sparse.csr_array(X)
    assert as_blocks(with_zeros).sum(lambda block: (block.arrays[0],))[0] is with_zeros


def smooth(block, rate):
    """State of each row: a smoothed copy of it; the sum adds the states."""
    rows = block.arrays[0]
    state = rate * rows if block.state is None else (1 - rate) * block.state + rate * rows
    return state, (state.sum(axis=0), np.array([block.first]))


@pytest.mark.oracle
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS, ids=str)
def test_step_passes_its_state_to_the_next_pass(lengths, scheduler):
    X = table()
    blocks = as_blocks(in_dask(X, lengths))
    here = module.ArrayBlocks((X,), blocks.cuts)
    state = np.zeros_like(X)
    with dask.config.set(scheduler=scheduler):
        for rate in (0.5, 0.25, 0.125):
            blocks, total = blocks.step(smooth, rate)
            here, same = here.step(smooth, rate)
            state = (1 - rate) * state + rate * X
            assert_allclose(total[0], state.sum(axis=0), rtol=1e-12)
            assert_array_equal(total[0], same[0])
            assert total[1] == sum(blocks.cuts[:-1])


@pytest.mark.parametrize("kind", ["memory", "dask"])
def test_state_may_replace_the_rows(kind):
    X = table()
    blocks = module.ArrayBlocks((X,), [0, 40, 100]) if kind == "memory" else None
    blocks = as_blocks(in_dask(X, (40, 60))) if blocks is None else blocks
    halves, _ = blocks.step(smooth, 0.5)

    def total(block):
        return block.state.sum(axis=0), len(block.arrays), block.first

    rows, n_arrays, first = halves.without_arrays().sum(total)
    assert_allclose(rows, X.sum(axis=0) / 2, rtol=1e-12)
    assert (n_arrays, first) == (0, 40)


def test_step_leaves_earlier_blocks_unchanged():
    blocks = as_blocks(in_dask(table(), (50, 50)))
    first, total = blocks.step(smooth, 0.5)
    first.step(smooth, 0.5)
    assert_array_equal(blocks.step(smooth, 0.5)[1][0], total[0])


@pytest.mark.parametrize("cuts", [[0, 100], [0, 40, 100]], ids=str)
def test_states_are_gone_with_their_blocks(cuts):
    gc.disable()
    try:
        blocks, _ = module.ArrayBlocks((table(),), cuts).step(smooth, 0.5)
        state = weakref.ref(blocks.states[0])
        blocks, _ = blocks.step(smooth, 0.5)
        assert state() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("passes", [25, 45])
def test_checkpoints_change_nothing_and_are_removed(tmp_path, passes):
    X = table()
    blocks = plain = as_blocks(in_dask(X, (60, 40)))
    with skmoderndata.blocks_config(checkpoint_dir=tmp_path):
        for _ in range(passes):
            blocks, total = blocks.step(smooth, 0.1)
    folders = os.listdir(tmp_path)
    assert len(folders) == 1  # only the folder of the last checkpoint is kept
    assert sorted(os.listdir(tmp_path / folders[0])) == ["0.pickle", "1.pickle"]

    for _ in range(passes):
        plain, same = plain.step(smooth, 0.1)
    assert_array_equal(total[0], same[0])
    del blocks
    assert os.listdir(tmp_path) == []


def test_checkpoint_ends_the_recipe(tmp_path):
    blocks = as_blocks(in_dask(table(), (60, 40)))
    for _ in range(3):
        blocks, _ = blocks.step(smooth, 0.1)
    blocks = blocks.checkpoint(str(tmp_path))
    again, total = blocks.step(smooth, 0.1)
    assert_array_equal(total[0], blocks.step(smooth, 0.1)[1][0])
    assert len(again.states) == 2


def test_checkpoint_dir_must_exist(tmp_path):
    with pytest.raises(NotADirectoryError, match="checkpoint_dir"):
        with skmoderndata.blocks_config(checkpoint_dir=tmp_path / "nowhere"):
            pass


@pytest.mark.parametrize("kind", ["memory", "disk", "dask"])
def test_sample_returns_rows_in_the_requested_order(kind, tmp_path):
    X = table()
    y = np.arange(100)
    indices = [70, 3, 3, 99]
    rows = {"memory": X, "disk": on_disk(tmp_path, X, 24 * 10), "dask": in_dask(X, (40, 60))}
    sample, labels = as_blocks(rows[kind], y).sample(indices)
    assert type(sample) is np.ndarray or kind == "disk"
    assert_array_equal(sample, X[indices])
    assert_array_equal(labels, y[indices])


def rows_and_numbers(block):
    X, y = block.arrays
    return X.T @ y, int((y == block.first + np.arange(len(y))).all())


@pytest.mark.parametrize("of_y", [(100,), (1, 99), (50, 50)])
def test_aligned_arrays_are_cut_like_the_rows(of_y):
    X = table()
    y = np.arange(100)
    blocks = as_blocks(in_dask(X, (40, 1, 59)), da.from_array(y, chunks=(of_y,)))
    product, ordered = blocks.sum(rows_and_numbers)
    assert ordered == 3
    assert_allclose(product, X.T @ y, rtol=1e-12)
    assert_allclose(as_blocks(in_dask(X, (99, 1)), y).sum(rows_and_numbers)[0], X.T @ y)


def test_columns_in_chunks_are_joined():
    X = table(p=4)
    blocks = as_blocks(da.from_array(X, chunks=(30, 3)))
    assert_allclose(blocks.sum(moments)[2], X.T @ X, rtol=1e-12)


def test_memory_map_is_read_block_by_block(tmp_path, monkeypatch):
    X = table()
    monkeypatch.setattr(module, "BLOCK_BYTES", 10 * 24)
    blocks = as_blocks(on_disk(tmp_path, X, 10 * 24))
    assert len(blocks.cuts) == 11
    assert_allclose(blocks.sum(moments)[2], X.T @ X, rtol=1e-12)
    doubled = blocks.map_rows(lambda block: 2 * block.arrays[0], dtype=float, width=3)
    assert_array_equal(doubled, 2 * X)


class LikeHDF5:
    """What arrays of zarr and HDF5 have, and nothing else."""

    def __init__(self, X):
        self._X = X
        self.shape = X.shape
        self.dtype = X.dtype
        self.chunks = None

    def __getitem__(self, key):
        # h5py requires this argument
        assert isinstance(key, slice) or (np.diff(key) > 0).all()
        return self._X[key]


def test_array_of_a_file_format(monkeypatch):
    X = table()
    monkeypatch.setattr(module, "BLOCK_BYTES", 10 * 24)
    rows = LikeHDF5(X)
    assert is_on_disk(rows)
    assert_allclose(as_blocks(rows).sum(moments)[2], X.T @ X, rtol=1e-12)
    assert_array_equal(as_blocks(rows).sample([5, 2, 2])[0], X[[5, 2, 2]])


def test_detects_tables_on_disk():
    X = table()
    others = [X, X.tolist(), sparse.csr_array(X), in_dask(X, (100,)), None, "X"]
    assert [is_on_disk(one) for one in others] == [False] * len(others)
    assert [is_dask(one) for one in others] == [False, False, False, True, False, False]


def finite(block):
    X = block.arrays[0]
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        raise BadRow(int(bad[0]), "X has a NaN in row {row}.")
    return (X.sum(),)


@pytest.mark.edge
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("lengths", CUTS, ids=str)
def test_first_bad_row_is_named(lengths, scheduler):
    X = table()
    X[[98, 41, 42]] = np.nan
    with dask.config.set(scheduler=scheduler):
        with pytest.raises(ValueError, match="NaN in row 41") as error:
            as_blocks(in_dask(X, lengths)).sum(finite)
    assert error.value.__cause__ is None
    with pytest.raises(ValueError, match="NaN in row 41"):
        as_blocks(X).sum(finite)


@pytest.mark.edge
def test_error_names_bad_row_of_a_step():
    X = table()
    X[98] = np.inf
    with pytest.raises(ValueError, match="row 98"):
        as_blocks(in_dask(X, (50, 50))).step(lambda block: (None, finite(block)))


@pytest.mark.edge
def test_detects_wrong_chunk_sizes():
    rows = in_dask(table(), (50, 50)).map_blocks(lambda X: X[:-3], chunks=((50, 50), (3,)))
    with pytest.raises(ValueError, match="from row 0 on should have 50 rows and has 47"):
        as_blocks(rows).sum(moments)
    lazy = as_blocks(rows).map_rows(lambda block: block.arrays[0], dtype=float, width=3)
    with pytest.raises(ValueError, match="should have 50 rows and has 47"):
        lazy.compute()


@pytest.mark.edge
def test_unknown_rows_are_rejected_with_the_remedy():
    rows = in_dask(table(), (50, 50))
    rows = rows[rows[:, 0] > 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        as_blocks(rows)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        as_blocks(in_dask(table(), (50, 50)), rows[:, 0])
    rows.compute_chunk_sizes()
    assert as_blocks(rows).sum(moments)[0] == rows.shape[0]


@pytest.mark.edge
def test_lengths_must_agree():
    with pytest.raises(ValueError, match="X has 100 rows, and what goes with them 99"):
        as_blocks(table(), np.zeros(99))
    with pytest.raises(ValueError, match="X has 100 rows, and what goes with them 99"):
        as_blocks(in_dask(table(), (50, 50)), np.zeros(99))


def signs(block, bound):
    return np.where(block.arrays[0][:, 0] > bound, "above", "below").astype("U5")


def test_map_rows_is_lazy_with_known_output(tmp_path):
    X = table()
    calls = []

    def noted(block):
        calls.append(block.first)
        return 2 * block.arrays[0][:, :2]

    with dask.config.set(scheduler="synchronous"):
        lazy = as_blocks(in_dask(X, (40, 60))).map_rows(noted, dtype=float, width=2)
        assert calls == []
        assert (lazy.shape, lazy.dtype, lazy.chunks) == ((100, 2), float, ((40, 60), (2,)))
        assert_array_equal(lazy.compute(), 2 * X[:, :2])
        assert sorted(calls) == [0, 40]

        words = as_blocks(in_dask(X, (40, 60))).map_rows(signs, 0.5, dtype="U5", width=None)
        assert (words.shape, words.chunks) == ((100,), ((40, 60),))
        assert_array_equal(words.compute(), signs(module.Block(0, (X,)), 0.5))
        assert_array_equal(words[95:].compute(), signs(module.Block(0, (X[95:],)), 0.5))


def test_map_rows_needs_no_lengths():
    rows = in_dask(table(), (50, 50))
    rows = rows[rows[:, 0] > 0]
    blocks = as_blocks(rows, known_rows=False)
    lazy = blocks.map_rows(lambda block: block.arrays[0], dtype=float, width=3)
    assert_array_equal(lazy.compute(), rows.compute())


def test_sparse_blocks():
    X = np.where(table() > 0, table(), 0)
    rows = in_dask(X, (40, 60)).map_blocks(sparse.csr_array)
    blocks = as_blocks(rows)
    total = blocks.sum(lambda block: (block.arrays[0].T @ block.arrays[0],))[0]
    assert_allclose(total.toarray(), X.T @ X, rtol=1e-12)


@pytest.mark.parametrize("cost", [1.0, 300.0, 1e12])
def test_row_blocks_cover_the_rows(cost):
    stretches = list(row_blocks(1000, cost, limit=1e5))
    assert [i for rows in stretches for i in range(rows.start, rows.stop)] == list(range(1000))
    assert all((rows.stop - rows.start) * cost <= 1e5 or cost > 1e5 for rows in stretches)


def test_bad_row_error_can_be_pickled():
    bad = pickle.loads(pickle.dumps(BadRow(3, "text")))
    assert (bad.row, bad.message) == (3, "text")


@pytest.mark.slow
@pytest.mark.invariance
def test_cluster_gives_the_same_bits(tmp_path):
    distributed = pytest.importorskip("distributed")
    X = table(2000, 5)
    rows = in_dask(X, (700, 1, 299, 1000))
    here = module.ArrayBlocks((X,), as_blocks(rows).cuts)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster):
        blocks = as_blocks(rows)
        assert_array_equal(blocks.sum(moments)[2], here.sum(moments)[2])
        with skmoderndata.blocks_config(checkpoint_dir=tmp_path):
            for _ in range(21):
                blocks, total = blocks.step(smooth, 0.1)
                here, expected = here.step(smooth, 0.1)
            assert_array_equal(total[0], expected[0])
        X[1500] = np.nan
        with pytest.raises(ValueError, match="row 1,500"):
            as_blocks(in_dask(X, (700, 300, 1000))).sum(finite)
        lazy = as_blocks(rows).map_rows(signs, 0.0, dtype="U5", width=None)
        assert lazy.compute().shape == (2000,)
