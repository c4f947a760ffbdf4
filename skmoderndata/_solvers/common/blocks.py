"""Blocks of rows: one solver for arrays in memory, tables on disk and Dask arrays.

A pass applies a function to each block and sums the results. `as_blocks` cuts its input into
blocks; `ArrayBlocks` runs a pass in this process, `DaskBlocks` runs it on Dask. No other module
of the package depends on Dask.

>>> import numpy as np
>>> blocks = as_blocks(np.arange(6.0).reshape(3, 2))
>>> blocks.sum(lambda block: (len(block.arrays[0]), block.arrays[0].sum(axis=0)))
(3, array([6., 9.]))
"""

import contextlib
import contextvars
import importlib
import itertools
import mmap
import pickle
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

# Maximum number of multiplications in a compiled call, chosen so that Ctrl-C acts within seconds.
WORK = 2**31
# Maximum number of bytes of a table on disk that are in memory at a time.
BLOCK_BYTES = 2**26
# Number of sums that are added at a time, in a fixed tree, so that rounding errors depend only on
# where the table is cut.
TREE_WIDTH = 4
# Number of scattered rows of a file that are read at a time.
ROWS_READ_AT_ONCE = 256
# Maximum number of Dask tasks in a pass; with more blocks, a task handles several neighbours.
MAX_TASKS = 200
PACKAGE = __name__.partition(".")[0]
# Number of passes between two checkpoints; if a worker is lost, at most this many passes are
# repeated.
PASSES_PER_CHECKPOINT = 20

_checkpoint_dir: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    "checkpoint_dir", default=None
)


def row_blocks(n_rows: int, cost: float, *, limit: float | None = None) -> Iterator[slice]:
    """Yield slices of rows that cost at most `limit`, if each row costs `cost`.

    Costs are multiplications or bytes.
    """
    size = max(1, int((WORK if limit is None else limit) / max(cost, 1.0)))
    for first in range(0, n_rows, size):
        yield slice(first, min(first + size, n_rows))


@contextlib.contextmanager
def blocks_config(*, checkpoint_dir: Any = None) -> Iterator[None]:
    """Set how fits on Dask arrays run, within a `with` statement.

    Parameters
    ----------
    checkpoint_dir : str or path-like, default=None
        Folder that all workers can access. Methods whose passes change a state of each row write
        it there every 20 passes, so that the loss of a worker repeats at most 20 passes instead of
        all. The files are removed after the fit. None writes no checkpoints. Methods that only add
        up sums have no such state.

    Raises
    ------
    NotADirectoryError
        If the folder does not exist.

    Examples
    --------
    >>> import tempfile
    >>> import skmoderndata
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with skmoderndata.blocks_config(checkpoint_dir=folder):
    ...         pass  # model.fit(X)
    """
    if checkpoint_dir is not None and not Path(checkpoint_dir).is_dir():
        raise NotADirectoryError(
            f"checkpoint_dir={str(checkpoint_dir)!r} is not a folder: make one that all workers "
            "see."
        )
    token = _checkpoint_dir.set(None if checkpoint_dir is None else str(checkpoint_dir))
    try:
        yield
    finally:
        _checkpoint_dir.reset(token)


class BadRow(ValueError):
    """A row that the function of a pass rejects; the message contains {row}."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(row, message)
        self.row = row
        self.message = message


class Refusal(NamedTuple):
    """A bad row as a value: in sums, the first bad row replaces the result."""

    row: int
    message: str


class Block(NamedTuple):
    """Neighbouring rows: the index of the first row, their part of each array, and their state."""

    first: int
    arrays: tuple[Any, ...]
    state: Any = None


class Pass(NamedTuple):
    """The function that runs on every block, whether it returns a new state, and its arguments."""

    function: Callable[..., Any]
    makes_state: bool
    shared: tuple[Any, ...]


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection (Dask is then already imported)."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X))


def is_on_disk(X: Any) -> bool:
    """Return whether X is a memory map, or a zarr or HDF5 array."""
    if isinstance(X, np.ndarray):
        return isinstance(X, np.memmap)
    if is_dask(X) or hasattr(X, "__array_ufunc__"):  # a Dask array or an array in memory
        return False
    return all(hasattr(X, name) for name in ("shape", "dtype", "chunks"))


def as_blocks(X: Any, *aligned: Any, known_rows: bool = True) -> "ArrayBlocks":
    """Cut X and the arrays aligned with its rows into blocks.

    Parameters
    ----------
    X : array, sparse matrix, memory map, zarr or HDF5 array, Dask array or Dask data frame
        Data in memory make one block, data on disk make blocks of 64 MiB, and Dask arrays keep
        their chunks of rows.
    *aligned : array
        Targets, weights, a second view or sequence ids, which are cut in the same way as X.
    known_rows : bool, default=True
        Whether a Dask array must know the lengths of its chunks; only `map_rows` works without.

    Raises
    ------
    ValueError
        If the lengths differ, or if the lengths of the chunks are unknown.
    """
    if any(is_dask(array) for array in (X, *aligned)):
        return _dask_blocks(X, aligned, known_rows)

    n = X.shape[0]
    for array in aligned:
        _check_length(n, array.shape[0])
    cuts = [0, n]
    if any(is_on_disk(array) for array in (X, *aligned)):
        row_bytes = np.dtype(X.dtype).itemsize * np.prod(X.shape[1:], dtype=float)
        cuts = [0, *(rows.stop for rows in row_blocks(n, row_bytes, limit=BLOCK_BYTES))]
    return ArrayBlocks((X, *aligned), cuts)


def _check_length(n: int, n_other: int) -> None:
    if n_other != n:
        raise ValueError(f"X has {n} rows, and what goes with them {n_other}: give as many.")


class ArrayBlocks:
    """Blocks of arrays that can be sliced: in memory, sparse, or on disk."""

    def __init__(
        self, arrays: Sequence[Any], cuts: Sequence[int], states: list[Any] | None = None
    ) -> None:
        self.arrays = tuple(arrays)
        self.cuts = list(cuts)
        self.states = [None] * (len(self.cuts) - 1) if states is None else states

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first array."""
        shape: tuple[int, ...] = self.arrays[0].shape
        return shape

    def sum(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Add up the tuples that ``function(block, *shared)`` returns, in a fixed order.

        Their entries only need to support ``+``. If there is one block, its tuple is returned
        unchanged.
        """
        one_pass = Pass(function, False, shared)
        return _checked(_tree(lambda i: self._run(one_pass, i)[1], len(self.states), _add))

    def step(self, function: Callable[..., Any], *shared: Any) -> tuple["ArrayBlocks", Any]:
        """Return blocks in a new state, and a sum.

        ``function(block, *shared)`` returns both for a block, whose `state` is None at first.
        """
        one_pass = Pass(function, True, shared)
        states: list[Any] = []

        def leaf(i: int) -> Any:
            state, sums = self._run(one_pass, i)
            states.append(state)
            return sums

        total = _checked(_tree(leaf, len(self.states), _add))
        return ArrayBlocks(self.arrays, self.cuts, states), total

    def without_arrays(self) -> "ArrayBlocks":
        """Return blocks that hold only their states, for steps that need no arrays."""
        return ArrayBlocks((), self.cuts, self.states)

    def sample(self, indices: Any) -> tuple[Any, ...]:
        """Return the given rows of each array, in memory."""
        return tuple(
            self._read(array, indices) if is_on_disk(array) else array[indices]
            for array in self.arrays
        )

    def _read(self, X: Any, indices: Any) -> Any:
        """Read rows of a file in ascending order, a few at a time: reads load whole pages."""
        rows, inverse = np.unique(np.asarray(indices), return_inverse=True)
        some = []
        for stretch in row_blocks(len(rows), 1.0, limit=ROWS_READ_AT_ONCE):
            some.append(X[rows[stretch]])
            self._release()
        return np.concatenate(some)[inverse]

    def map_rows(
        self,
        function: Callable[..., Any],
        *shared: Any,
        dtype: Any,
        width: int | None,
        meta: Any = None,
    ) -> Any:
        """Return ``function(block, *shared)`` for all rows; a vector if `width` is None."""
        results = []
        for i in range(len(self.states)):
            results.append(function(self._block(i), *shared))
            self._release()
        if sparse.issparse(results[0]):
            return sparse.vstack(results, format="csr", dtype=dtype)
        return np.concatenate(results).astype(dtype, copy=False)

    def map_states(
        self, function: Callable[..., Any], *shared: Any, dtype: Any, width: int
    ) -> Any:
        """Return ``function(block, *shared)`` for all rows, from blocks that hold their state."""
        blocks = [self._block(i)._replace(state=state) for i, state in enumerate(self.states)]
        return np.concatenate([function(block, *shared) for block in blocks]).astype(dtype)

    def _block(self, i: int) -> Block:
        first, last = self.cuts[i : i + 2]
        return Block(first, tuple(self._cut(X, first, last) for X in self.arrays))

    def _cut(self, X: Any, first: int, last: int) -> Any:
        if is_on_disk(X):
            return np.asarray(X[first:last])
        return X if len(self.states) == 1 else X[first:last]

    def _run(self, one_pass: Pass, i: int) -> tuple[Any, Any]:
        block = self._block(i)
        n_rows = self.cuts[i + 1] - self.cuts[i]
        result = _run_block(one_pass, block._replace(state=self.states[i]), n_rows)
        self._release()
        return result

    def _release(self) -> None:
        """Let the system drop the pages of memory maps that have been read."""
        for X in self.arrays:
            if isinstance(X, np.memmap) and X.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
                X._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


class DaskBlocks(ArrayBlocks):
    """Blocks of Dask arrays: their chunks of rows, or groups of chunks if there are many."""

    def __init__(
        self,
        arrays: Sequence[Any],
        cuts: Sequence[int],
        states: list[Any] | None = None,
        *,
        chunks: list[tuple[Any, ...]] | None = None,
        n_passes: int = 0,
        folder: Any = None,
    ) -> None:
        self.arrays = tuple(arrays)
        self.cuts = list(cuts)
        n = len(self.cuts) - 1
        self.group = 1
        while n > MAX_TASKS * self.group:
            self.group *= TREE_WIDTH
        # store the tasks that make each block, and the pairs (states, sums) of the last pass
        self.chunks = _chunks(self.arrays) if chunks is None else chunks
        self.states = [None] * -(-n // self.group) if states is None else states
        self.n_passes = n_passes
        self.folder = folder  # removed with the last blocks that refer to it

    def sum(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Add up the tuples that ``function(block, *shared)`` returns, in a fixed order."""
        sums = self._tasks(_sum_of_group, Pass(function, False, shared))
        return _checked(_dask_tree(sums).compute())

    def step(self, function: Callable[..., Any], *shared: Any) -> tuple["DaskBlocks", Any]:
        """Return blocks in a new state, and a sum; the states stay on their workers."""
        from dask.base import persist
        from dask.delayed import delayed

        # State and sums are one object. A separate task extracts the sums, so that the state
        # remains on its worker.
        pairs = self._tasks(_run_group, Pass(function, True, shared))
        sums = [delayed(_second, pure=False)(pair) for pair in pairs]
        *states, total = persist(*pairs, _dask_tree(sums))
        blocks = self._with(states, self.n_passes + 1)
        result = _checked(total.compute())

        checkpoint_dir = _checkpoint_dir.get()
        if checkpoint_dir is not None and blocks.n_passes % PASSES_PER_CHECKPOINT == 0:
            blocks = blocks.checkpoint(checkpoint_dir)
        return blocks, result

    def checkpoint(self, folder: str) -> "DaskBlocks":
        """Write the states to a folder; from now on Dask restores them by reading the files."""
        from dask.base import compute, persist
        from dask.delayed import delayed

        own = _Folder(folder)
        save = delayed(_save, pure=False)
        load = delayed(_load, pure=False)
        paths = compute(
            *[save(state, f"{own.path}/{i}.pickle") for i, state in enumerate(self.states)]
        )
        return self._with(list(persist(*[load(path) for path in paths])), self.n_passes, own)

    def without_arrays(self) -> "DaskBlocks":
        """Return blocks that hold only their states, for steps that need no arrays."""
        chunks: list[tuple[Any, ...]] = [()] * len(self.chunks)
        return DaskBlocks(
            (),
            self.cuts,
            self.states,
            chunks=chunks,
            n_passes=self.n_passes,
            folder=self.folder,
        )

    def sample(self, indices: Any) -> tuple[Any, ...]:
        """Return the given rows of each array, in memory."""
        from dask.base import compute

        rows, inverse = np.unique(np.asarray(indices), return_inverse=True)
        return tuple(array[inverse] for array in compute(*[X[rows] for X in self.arrays]))

    def map_rows(
        self,
        function: Callable[..., Any],
        *shared: Any,
        dtype: Any,
        width: int | None,
        meta: Any = None,
    ) -> Any:
        """Return ``function(block, *shared)`` for all rows as a Dask array, without computing."""
        import dask.array as da
        from dask.delayed import delayed

        # determine shape and type of the result for each chunk
        X = self.arrays[0]
        lengths = X.chunks[0]
        shape: dict[str, Any] = {"drop_axis": 1}
        if width is not None:
            shape = {"chunks": (lengths, (width,))}
        if meta is None:
            of_none = (0,) if width is None else (0, width)
            meta = np.empty(of_none, dtype)
        cuts = np.cumsum([0, *lengths])
        # send function and arguments once, instead of once per block
        once = delayed((function, shared), pure=False, traverse=False)
        return da.map_blocks(
            _map_block,
            X,
            once=once,
            cuts=cuts,
            nothing=meta,
            dtype=dtype,
            meta=meta,
            **shape,
        )

    def map_states(
        self, function: Callable[..., Any], *shared: Any, dtype: Any, width: int
    ) -> Any:
        """Return ``function(block, *shared)`` for all rows as a Dask array, without computing.

        Blocks hold their state, which stays on the workers as long as the array exists.
        """
        import dask.array as da

        tasks = self._tasks(_rows_of_group, Pass(function, False, (dtype, *shared)))
        arrays = []
        for i, task in enumerate(tasks):
            first = i * self.group
            last = min(first + self.group, len(self.cuts) - 1)
            shape = (self.cuts[last] - self.cuts[first], width)
            arrays.append(da.from_delayed(task, shape, dtype=dtype))
        return da.concatenate(arrays)

    def _with(self, states: list[Any], n_passes: int, folder: Any = None) -> "DaskBlocks":
        folder = self.folder if folder is None else folder
        return DaskBlocks(
            self.arrays,
            self.cuts,
            states,
            chunks=self.chunks,
            n_passes=n_passes,
            folder=folder,
        )

    def _tasks(self, run_group: Callable[..., Any], one_pass: Pass) -> list[Any]:
        from dask.delayed import delayed

        # send the pass once, instead of once per block
        once = delayed(one_pass, pure=False, traverse=False)
        run = delayed(run_group, pure=False)
        tasks = []
        for i, state in enumerate(self.states):
            first = i * self.group
            cuts = self.cuts[first : first + self.group + 1]
            tasks.append(run(once, cuts, state, self.chunks[first : first + self.group]))
        return tasks


class _Folder:
    """A folder inside another one, removed together with the last blocks that need it."""

    def __init__(self, parent: str) -> None:
        self.path = tempfile.mkdtemp(dir=parent, prefix="skmoderndata-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _chunks(arrays: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """List the Dask tasks that make each block of the arrays; skip chunks without rows."""
    columns = []
    for X in arrays:
        tasks = X.to_delayed().reshape(-1)
        columns.append([task for task, n in zip(tasks, X.chunks[0], strict=True) if n > 0])
    return list(zip(*columns, strict=True))


def _check_workers() -> None:
    """Raise if workers of a cluster cannot import the package; otherwise Dask waits forever."""
    from dask.base import get_scheduler

    client: Any = getattr(get_scheduler(), "__self__", None)
    # skip the check if there is no cluster, or if its client is asynchronous
    if not hasattr(client, "run") or client.asynchronous:
        return
    # call a function of the standard library, which workers can import without this package
    answers = client.run(importlib.import_module, PACKAGE, on_error="return")
    lacking = {
        worker: answer for worker, answer in answers.items() if isinstance(answer, ImportError)
    }
    if lacking:
        worker, error = min(lacking.items())
        raise ImportError(
            f"{len(lacking)} of {len(answers)} workers of Dask cannot import {PACKAGE} (the first "
            f"is {worker}: {error}): install the version that you have here on all workers."
        )


def _dask_blocks(X: Any, aligned: tuple[Any, ...], known_rows: bool) -> DaskBlocks:
    _check_workers()

    # 1. split X into chunks of rows, each with all columns
    X = _dask_array(X, lengths=True if known_rows else None)
    lengths = X.chunks[0]
    if known_rows and np.isnan(X.shape[0]):
        raise ValueError(
            "X is a Dask array that does not know the lengths of its chunks: call "
            "X.compute_chunk_sizes() first."
        )
    if X.ndim > 1 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})

    # 2. split aligned arrays into the same chunks
    arrays = [X]
    for array in aligned:
        array = _dask_array(array, lengths=True)
        if np.isnan(array.shape[0]):
            raise ValueError(
                "What goes with X is a Dask array that does not know the lengths of its chunks: "
                "call compute_chunk_sizes() of it first."
            )
        _check_length(X.shape[0], array.shape[0])
        arrays.append(array.rechunk((lengths, *[-1] * (array.ndim - 1))))

    cuts = [0, *itertools.accumulate(n for n in lengths if n > 0)] if known_rows else [0]
    return DaskBlocks(arrays, cuts, chunks=None if known_rows else [])


def _dask_array(X: Any, lengths: bool | None) -> Any:
    """Return an array or a Dask data frame as a Dask array."""
    import dask.array as da

    if isinstance(X, da.Array):
        return X
    if hasattr(type(X), "to_dask_array"):  # X is a data frame
        return X.to_dask_array(lengths=lengths)
    if is_dask(X):
        raise TypeError(
            f"A {type(X).__name__} of Dask has no shape: give a Dask array or data frame, such as "
            "da.from_delayed(X, shape, dtype) of a delayed table, or bag.to_dataframe()."
        )
    return da.asarray(X)


# Functions that run on the workers


def _run_block(one_pass: Pass, block: Block, n_rows: int) -> Any:
    """Return the state and the sums of a block, or a refusal in place of the sums."""
    for array in block.arrays:
        if array.shape[0] != n_rows:
            return block.state, Refusal(
                block.first,
                f"The block from row {{row}} on should have {n_rows} rows and has "
                f"{array.shape[0]}: the chunks of X are not what they say, call "
                "X.compute_chunk_sizes() on an array of unknown lengths.",
            )

    try:
        result = one_pass.function(block, *one_pass.shared)
    except BadRow as bad:
        return block.state, Refusal(block.first + bad.row, bad.message)
    return result if one_pass.makes_state else (block.state, result)


def _run_group(one_pass: Pass, cuts: Any, before: Any, chunks: Any) -> Any:
    """Return the states and the sum of neighbouring blocks."""
    states = []
    one_pass = one_pass._replace(shared=_aligned(one_pass.shared))

    def leaf(i: int) -> Any:
        state = None if before is None else before[0][i]
        block = Block(cuts[i], _aligned(tuple(chunks[i])), _aligned(state))
        state, sums = _run_block(one_pass, block, cuts[i + 1] - cuts[i])
        states.append(state)
        return sums

    total = _tree(leaf, len(chunks), _add)
    return states, total


def _aligned(value: Any) -> Any:
    """Return arrays, or tuples of arrays, at addresses aligned to their type.

    Arrays received over a network may lie at any address, and NumPy multiplies unaligned arrays
    differently: ``X.T @ X`` then differs in its last bits, because the factors are copied and no
    longer recognised as the same array.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy(order="K")
    if isinstance(value, tuple):
        entries = [_aligned(entry) for entry in value]
        return type(value)(*entries) if hasattr(value, "_fields") else tuple(entries)
    return value


def _sum_of_group(one_pass: Pass, cuts: Any, before: Any, chunks: Any) -> Any:
    return _run_group(one_pass, cuts, before, chunks)[1]


def _rows_of_group(one_pass: Pass, cuts: Any, before: Any, chunks: Any) -> Any:
    """Return the result of a function for the rows of neighbouring blocks and their states."""
    dtype, *shared = one_pass.shared
    states = before[0]
    results = []
    for first, arrays, state in zip(cuts[:-1], chunks, states, strict=True):
        block = Block(first, _aligned(tuple(arrays)), _aligned(state))
        rows = one_pass.function(block, *shared)
        results.append(rows)
    joined = np.concatenate(results)
    return joined.astype(dtype, copy=False)


def _second(pair: Any) -> Any:
    return pair[1]


def _dask_tree(sums: list[Any]) -> Any:
    from dask.delayed import delayed

    return _tree(sums.__getitem__, len(sums), delayed(_add, pure=False))


def _tree(leaf: Callable[[int], Any], n: int, add: Callable[..., Any]) -> Any:
    """Add n leaves, `TREE_WIDTH` at a time; depth first, so that few sums are in memory."""
    width = 1
    while width < n:
        width *= TREE_WIDTH
    return _node(leaf, n, add, 0, width)


def _node(
    leaf: Callable[[int], Any], n: int, add: Callable[..., Any], first: int, width: int
) -> Any:
    # A nested function that calls itself would keep all states alive until garbage collection.
    if width == 1:
        return leaf(first)
    step = width // TREE_WIDTH
    end = min(first + width, n)
    starts = range(first, end, step)
    sums = [_node(leaf, n, add, start, step) for start in starts]
    if len(sums) == 1:
        return sums[0]
    return add(*sums)


def _add(*sums: Any) -> Any:
    """Add tuples entry by entry; among refusals, keep the one of the first row."""
    refusals = [entry for entry in sums if isinstance(entry, Refusal)]
    if refusals:
        return min(refusals, key=lambda refusal: refusal.row)
    return tuple(sum(entries[1:], entries[0]) for entries in zip(*sums, strict=True))


def _checked(total: Any) -> Any:
    if isinstance(total, Refusal):
        raise ValueError(total.message.replace("{row}", f"{total.row:,}"))
    return total


def _map_block(rows: Any, *, once: Any, cuts: Any, nothing: Any, block_id: Any = None) -> Any:
    """Return the result for the rows of a block, after checking their number."""
    function, shared = once
    first = cuts[block_id[0]]
    n_rows = cuts[block_id[0] + 1] - first
    if rows.shape[0] != n_rows and np.isfinite(n_rows):
        raise ValueError(
            f"The block from row {first:,} on should have {n_rows} rows and has "
            f"{rows.shape[0]}: the chunks of X are not what they say."
        )
    if rows.shape[0] == 0:
        return nothing

    # the result must have the shape that was announced to Dask
    result = function(Block(first, (rows,)), *shared)
    if result.shape[1:] != nothing.shape[1:]:
        raise ValueError(
            f"The block from row {first:,} on gave rows of shape {result.shape[1:]}, and not "
            f"{nothing.shape[1:]}."
        )
    return result


def _save(pair: Any, path: str) -> str:
    with open(path, "wb") as file:
        pickle.dump(pair, file, protocol=5)
    return path


def _load(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)
