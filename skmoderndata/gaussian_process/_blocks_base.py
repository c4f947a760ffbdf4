"""Sums over the rows of a Dask array, of which a process with inducing inputs consists."""

from typing import NamedTuple

import numpy as np

from skmoderndata._estimator.blocks_input import block_of, rows_named
from skmoderndata._kernelized.landmarks import rows_of_ranks
from skmoderndata._solvers.gaussian.inducing import Sums, add


class RowReader(NamedTuple):
    """Reads the rows of a block: inputs, targets in their units, and weights."""

    weighted: bool
    size: int = 2**20  # rows at a time
    mean: np.ndarray | float = 0.0  # of the targets
    std: np.ndarray | float = 1.0

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
    """Rows of a table in blocks, over which sums run; some can be brought.

    Parameters
    ----------
    blocks : ArrayBlocks
    survey : Survey
        Of all rows.
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
        """Bring inputs, targets and weights of rows, by their numbers among those that count."""
        rows = rows_of_ranks(self.blocks, self.survey, np.asarray(ranks))
        return self.reader.read(self.blocks.sample(rows))

    def read_as(self, **changes):
        """Return the same rows, read in another way."""
        return RowsInBlocks(self.blocks, self.survey, self.reader._replace(**changes))

    def run(self, function, _):
        """Yield the sum of ``function(X, Y, w)`` over all rows."""
        (total,) = self.blocks.sum(_sum_of_block, self.reader, function)
        yield total.value


class Total:
    """Numbers, arrays, `Sums`, or tuples of these, which `+` adds up; None is none."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Total(_added(self.value, other.value))


def _added(one, other):
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, Sums):
        return add(one, other)
    if isinstance(one, tuple):
        return tuple(map(_added, one, other))
    return one + other


def _sum_of_block(block, reader, function):
    """Sum over the stretches of a block."""
    X, Y, w = reader.read(block.arrays)
    total = Total(None)
    with rows_named():
        for first in range(0, len(w), reader.size):
            rows = slice(first, first + reader.size)
            total = total + Total(function(X[rows], Y[rows], w[rows]))
    return (total,)
