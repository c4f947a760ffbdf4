"""First rows of a stream, which are fitted together."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.arrays import move_array, namespace

# Fraction by which the stored first rows of a stream must grow before they are fitted again.
REFIT_GROWTH = 0.25


class EarlyRows(NamedTuple):
    """First rows of a stream, stored and fitted together until there are enough of them.

    Otherwise a small first batch would fix parts of the model that a few rows do not determine,
    and later batches rarely correct such noise.
    """

    X: Any
    weights: Any = None
    y: Any = None
    n_fitted: int = 0

    @property
    def n_rows(self):
        """Number of rows."""
        return self.X.shape[0]

    @property
    def are_due(self):
        """Whether there are enough new rows to fit all rows again."""
        return self.n_rows >= (1 + REFIT_GROWTH) * self.n_fitted

    def plus(self, X, weights=None, y=None):
        """Return these rows joined with the rows of another batch."""
        xp = namespace(X)
        is_sparse = sparse.issparse(X) or sparse.issparse(self.X)
        join = sparse.vstack if is_sparse else xp.concat
        joined = None
        if weights is not None or self.weights is not None:
            batches = ((self.X, self.weights), (X, weights))
            joined = xp.concat(
                [
                    move_array(np.ones(rows.shape[0]), X) if w is None else w
                    for rows, w in batches
                ]
            )
        targets = None if y is None else xp.concat([self.y, y])
        return self._replace(X=join([self.X, X]), weights=joined, y=targets)

    def copy(self):
        """Return a copy that the caller cannot change."""
        return self._replace(X=_copy(self.X), weights=_copy(self.weights), y=_copy(self.y))


def _copy(rows):
    if rows is None or sparse.issparse(rows):
        return rows if rows is None else rows.copy()
    return namespace(rows).asarray(rows, copy=True)
