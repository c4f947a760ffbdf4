"""Sums over the rows of a Dask array, from which a process with inducing inputs is computed."""

from typing import NamedTuple

import numpy as np

from skmoderndata._estimator.blocks_input import block_of, rows_named
from skmoderndata._kernelized.landmarks import rows_of_ranks
from skmoderndata._solvers.gaussian.inducing import Sums, add


class RowReader(NamedTuple):
    """Reader of the rows of a block: inputs, standardised targets and weights."""

    weighted: bool
    size: int = 2**20  # maximum number of rows processed at a time
    mean: np.ndarray | float = 0.0  # subtracted from the targets
    std: np.ndarray | float = 1.0  # targets are divided by it

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


class RowsInBlocks:
    """Rows of a table in blocks: sums run over all of them, and selected rows can be fetched.

    Parameters
    ----------
    blocks : ArrayBlocks
    survey : Survey
        Statistics of all rows.
    reader : RowReader
    """

    def __init__(self, blocks, survey, reader):
        self.blocks = blocks
        self.survey = survey
        self.reader = reader

    @property
    def n_rows(self):
        """Number of rows of positive weight."""
        return self.survey.n_used

    def brought(self, ranks):
        """Fetch inputs, targets and weights of rows by their ranks among rows that count."""
        rows = rows_of_ranks(self.blocks, self.survey, np.asarray(ranks))
        return self.reader.read(self.blocks.sample(rows))

    def read_as(self, **changes):
        """Return the same rows with a different reader."""
        return RowsInBlocks(self.blocks, self.survey, self.reader._replace(**changes))

    def run(self, function, _):
        """Yield the sum of ``function(X, Y, w)`` over all rows."""
        (total,) = self.blocks.sum(_sum_of_block, self.reader, function)
        yield total.value


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
