"""Rows in memory and of a Dask array; their sums determine a process with inducing inputs.

Both readers, `RowsInMemory` and `RowsInBlocks`, have the same methods.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from skmoderndata._estimator.blocks_input import block_of, rows_named
from skmoderndata._kernelized.landmarks import rows_of_ranks
from skmoderndata._solvers.common.arrays import as_numpy, move_array, namespace
from skmoderndata._solvers.gaussian.inducing import Sums, add, sums
from skmoderndata.gaussian_process._inducing_base import nearest_rows


class RowReader(NamedTuple):
    """Reader of the rows of a block: inputs, standardised targets and weights."""

    weighted: bool
    size: int = 2**20  # maximum number of rows processed at a time
    mean: np.ndarray | float = 0.0  # number that is subtracted from the targets
    std: np.ndarray | float = 1.0  # standard deviation by which the targets are divided

    def read(self, arrays):
        """Return inputs, targets and weights of the rows of positive weight."""
        X = np.asarray(block_of(arrays[0]), dtype=np.float64)
        Y = np.asarray(arrays[-1], dtype=np.float64).reshape(X.shape[0], -1)
        w = np.ones(len(Y))
        if self.weighted:
            w = np.asarray(arrays[1], dtype=np.float64)
        used = np.flatnonzero(w)
        if len(used) < len(w):
            X = X[used]
            Y = Y[used]
            w = w[used]
        return X, (Y - self.mean) / self.std, w


class RowsInMemory:
    """Rows in memory: sums run over blocks of them, in threads if there are several jobs.

    Parameters
    ----------
    X, Y, w : array
        Inputs, targets of shape (n_rows, n_targets), and positive weights, of one namespace of
        the Array API.
    size : int or None
        Number of rows in a block; None means all.
    n_jobs : int or None
        Number of jobs.
    """

    is_lazy = False

    def __init__(self, X, Y, w, *, size=None, n_jobs=None):
        self.X = X
        self.Y = Y
        self.w = w
        self.size = size
        self.n_jobs = n_jobs
        self.xp = namespace(X)
        self.n_rows = X.shape[0]
        # Targets of the first row, which are subtracted before summing to avoid rounding errors.
        self.shift = Y[0, :]

    def _with(self, X, Y, w):
        return RowsInMemory(X, Y, w, size=self.size, n_jobs=self.n_jobs)

    def read_as(self, mean=None, std=None, size=None):
        """Return the rows with standardised targets, or with blocks of another size."""
        Y = self.Y if mean is None else (self.Y - mean) / std
        size = self.size if size is None else size
        return RowsInMemory(self.X, Y, self.w, size=size, n_jobs=self.n_jobs)

    def moved(self, values):
        """Return NumPy values in the namespace of the rows."""
        return move_array(values, self.X)

    def first(self, n):
        """Return the inputs of the first rows as a NumPy array."""
        return np.asarray(as_numpy(self.X[: min(self.n_rows, n), :]))

    def sample(self, rows):
        """Return inputs and weights of rows as NumPy arrays."""
        X = self.xp.take(self.X, self.moved(rows), axis=0)
        return np.asarray(as_numpy(X)), np.asarray(as_numpy(self.w))[rows]

    def subset(self, size, rng):
        """Return at most `size` rows, in memory."""
        if self.n_rows <= size:
            return self
        rows = self.moved(np.sort(rng.choice(self.n_rows, size, replace=False)))
        parts = (self.xp.take(values, rows, axis=0) for values in (self.X, self.Y, self.w))
        return self._with(*parts)

    def nearest(self, Z):
        """Return the rows nearest to points, each row once."""
        rows = nearest_rows(self.X, Z)
        parts = (self.xp.take(values, rows, axis=0) for values in (self.X, self.Y, self.w))
        return self._with(*parts)

    def target_sums(self):
        """Return sums of the targets, without inducing inputs."""
        return _target_sums(None, self.Y, self.w, shift=self.shift)

    @property
    def blocks(self):
        """List of inputs, targets and weights of the blocks."""
        size = self.size or self.n_rows
        cuts = [(a, min(a + size, self.n_rows)) for a in range(0, self.n_rows, size)]
        return [(self.X[a:b, :], self.Y[a:b, :], self.w[a:b]) for a, b in cuts]

    def run(self, function, blocks):
        """Yield ``function(X, Y, w)`` of each block."""
        if len(blocks) == 1:
            return [function(*blocks[0])]
        jobs = Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")
        return jobs(delayed(function)(*block) for block in blocks)


class RowsInBlocks:
    """Rows of a table in blocks: sums run over all of them, and selected rows can be fetched.

    Parameters
    ----------
    blocks : ArrayBlocks
        Inputs, targets and weights.
    survey : Survey
        Statistics of all rows.
    reader : RowReader
        Reader of the rows of a block.
    n_jobs : int or None
        Number of jobs for rows that are fetched.
    shift : ndarray or None
        Targets that are subtracted before sums; None means the targets of the first row.
    """

    is_lazy = True
    xp = np

    def __init__(self, blocks, survey, reader, *, n_jobs=None, shift=None):
        self.blocks = blocks
        self.survey = survey
        self.reader = reader
        self.n_jobs = n_jobs
        self.n_rows = survey.n_used  # rows of positive weight
        self.shift = self._fetched([0])[1][0] if shift is None else shift

    def _fetched(self, ranks):
        """Fetch inputs, targets and weights of rows by their ranks among rows that count."""
        rows = rows_of_ranks(self.blocks, self.survey, np.asarray(ranks))
        return self.reader.read(self.blocks.sample(rows))

    def read_as(self, mean=None, std=None, size=None):
        """Return the rows with standardised targets, or with blocks of another size."""
        reader = self.reader
        if mean is not None:
            reader = reader._replace(mean=mean, std=std)
        if size is not None:
            reader = reader._replace(size=size)
        return RowsInBlocks(
            self.blocks, self.survey, reader, n_jobs=self.n_jobs, shift=self.shift
        )

    def moved(self, values):
        """Return the values in double precision."""
        return np.asarray(values, dtype=np.float64)

    def first(self, n):
        """Return the inputs of the first rows."""
        return self._fetched(np.arange(min(self.n_rows, n)))[0]

    def sample(self, rows):
        """Return inputs and weights of rows."""
        X, _, w = self._fetched(rows)
        return X, w

    def subset(self, size, rng):
        """Return at most `size` rows, in memory."""
        rows = np.arange(self.n_rows)
        if self.n_rows > size:
            rows = np.sort(rng.choice(self.n_rows, size, replace=False))
        return RowsInMemory(*self._fetched(rows), n_jobs=self.n_jobs)

    def target_sums(self):
        """Return sums of the targets, without inducing inputs."""
        (sums_of_targets,) = self.run(partial(_target_sums, shift=self.shift), None)
        return sums_of_targets

    def run(self, function, _):
        """Yield the sum of ``function(X, Y, w)`` over all rows."""
        (total,) = self.blocks.sum(_sum_of_block, self.reader, function)
        yield total.value


def _target_sums(X, Y, w, *, shift):
    """Add up targets without inducing inputs."""
    xp = namespace(Y)
    ones = xp.ones_like(w)
    empty = xp.zeros((1, w.shape[0]), dtype=Y.dtype, device=Y.device)
    return sums(empty, ones, Y, w, ones, shift)


class Total:
    """Numbers, arrays, `Sums` or tuples of them, which `+` adds up; None stands for nothing."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Total(_added(self.value, other.value))


def _added(first, second):
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, Sums):
        return add(first, second)
    if isinstance(first, tuple):
        return tuple(map(_added, first, second))
    return first + second


def _sum_of_block(block, reader, function):
    """Sum a function over the stretches of a block."""
    X, Y, w = reader.read(block.arrays)
    total = Total(None)
    with rows_named():
        for first in range(0, len(w), reader.size):
            rows = slice(first, first + reader.size)
            total = total + Total(function(X[rows], Y[rows], w[rows]))
    return (total,)
