"""Readers of a table in blocks, with weights of rows and entries, for the factorisations."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d

from skmoderndata._estimator.blocks_input import (
    block_of,
    blocks_of,
    check_entries,
    in_blocks,
    rows_named,
)
from skmoderndata._estimator.validation import FLOATS, check_magnitude, weigh_entries
from skmoderndata._solvers.common.blocks import BadRow, is_dask

NO_WEIGHT = "Sample weights must contain at least one non-zero number."
NO_ENTRY = "{} got entry_weight of zeros only: at least one entry needs a positive weight."


class RowReader(NamedTuple):
    """Reader of the rows of a block."""

    owner: str  # name of the estimator in messages
    dtype: type  # data type of the numbers
    weighted: bool  # whether rows have weights
    celled: bool  # whether entries have weights

    def read(self, block):
        """Return numbers, weights of the rows or None, and weights of the entries or None.

        If entries have weights, NaN also marks entries of weight 0.
        """
        X = block_of(block.arrays[0]).astype(self.dtype, copy=False)
        weights = cells = None
        if self.weighted:
            weights = np.asarray(block.arrays[1], dtype=np.float64)
        if self.celled and not self.counts(block):
            X = np.full(X.shape, np.nan, dtype=X.dtype)
        elif self.celled:
            with rows_named():
                X, cells = weigh_entries(X, block.arrays[-1], owner=self.owner)
        return X, weights, cells

    def counts(self, block):
        """Return whether any entry of the block has a weight other than zero."""
        return not self.celled or bool(np.any(block.arrays[-1]))

    def checked(self, block, *, allow_nan, nonnegative=None, fourth_powers=False):
        """Read a block, and raise `BadRow` if it contains invalid values.

        If `nonnegative` is not None, negative numbers are invalid, and it is the remedy.
        """
        X = block_of(block.arrays[0])
        # NaN marks missing entries only in dense arrays
        check_entries(X, owner=self.owner, allow_nan=allow_nan and not sparse.issparse(X))
        with rows_named():
            check_magnitude(X, owner=self.owner, fourth_powers=fourth_powers)

        X, weights, cells = self.read(block)
        if nonnegative is not None:
            row = _first_row_below_zero(X)
            if row is not None:
                raise BadRow(
                    row,
                    f"Negative values in data passed to {self.owner}, the first in row {{row}}: "
                    f"{nonnegative}",
                )
        if weights is not None:
            self._check_weights(weights)
        return X, weights, cells

    def _check_weights(self, weights):
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if bad.size:
            raise BadRow(
                int(bad[0]),
                f"sample_weight of {self.owner} is {weights[bad[0]]:.3g} in row {{row}}: weights "
                "must be finite and non-negative.",
            )
        with rows_named():
            check_magnitude(weights, input_name="sample_weight")


def _first_row_below_zero(X):
    if not sparse.issparse(X):
        rows = np.flatnonzero((X < 0).any(axis=1))
        return int(rows[0]) if rows.size else None
    below = X.data < 0
    return int(sparse.coo_array(X).row[below].min()) if below.any() else None


def open_rows(estimator, X, sample_weight=None, entry_weight=None, **checks):
    """Return the blocks of a table and its weights, and their reader."""
    # the weights are cut into the same blocks as the rows
    aligned = []
    if sample_weight is not None:
        if isinstance(sample_weight, Real):
            n = len(X) if is_dask(X) else X.shape[0]
            sample_weight = np.full(n, float(sample_weight))
        aligned.append(
            sample_weight if in_blocks(sample_weight) else column_or_1d(sample_weight)
        )
    if entry_weight is not None:
        aligned.append(entry_weight if in_blocks(entry_weight) else np.asarray(entry_weight))

    blocks = blocks_of(
        estimator,
        X,
        *aligned,
        dtype=FLOATS,
        accept_sparse="csr",
        ensure_all_finite="allow-nan",
        **checks,
    )
    single = blocks.arrays[0].dtype == np.float32
    reader = RowReader(
        type(estimator).__name__,
        np.float32 if single else np.float64,
        sample_weight is not None,
        entry_weight is not None,
    )
    return blocks, reader
