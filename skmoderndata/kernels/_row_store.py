"""Cache of kernel rows that are computed on demand."""

from typing import Any

import numpy as np

from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._typing import Array
from skmoderndata.kernels._expansion import KernelRows
from skmoderndata.kernels._resolve import Gram, count_samples, take

TOGETHER = 64  # rows computed at a time, by one matrix product
SMALL = 2000  # samples up to which rows are stored in double precision


class RowStore:
    """Cache of rows of the kernel matrix of one data set, in bounded memory.

    Rows are stored in double precision for up to 2000 samples, above in single precision, which
    changes the optimum of a support vector machine by about 1e-6 of its value. A full cache drops
    the least recently used rows.

    Parameters
    ----------
    gram : Gram
        The kernel, with resolved parameters.
    X : array, sparse matrix or list
        Samples.
    cache_size : float
        Memory in MB.
    plus : float
        Constant added to every kernel value: the offset of a machine that penalises its offset.

    Attributes
    ----------
    values : ndarray of shape (capacity, n)
        Rows. Memory pages without rows are not used.
    slot : ndarray of int of shape (n,)
        Slot of the row of each sample, -1 if it is not stored.
    used : ndarray of int of shape (n,)
        Time of the last use of each row, updated by the solvers.
    n_evaluations : int
        Number of kernel values computed.
    """

    def __init__(self, gram: Gram, X: Any, *, cache_size: float = 500, plus: float = 0.0) -> None:
        self.n = count_samples(X)
        self.plus = plus
        self.rows = KernelRows(gram, X)
        self.writer = gram.writer(X)
        dtype: Any = np.float64 if self.n <= SMALL else np.float32
        fits = int(cache_size * 2**20 // (np.dtype(dtype).itemsize * self.n))
        capacity = min(self.n, max(fits, 2 * TOGETHER))
        self.values = np.empty((capacity, self.n), dtype)
        self.slot = np.full(self.n, -1)
        self.used = np.zeros(self.n, np.int64)
        self.owner = np.full(capacity, -1)
        self.diagonal = self.rows.diag(np.arange(self.n)) + plus
        self.n_filled = self.n_evaluations = 0

    def bring(self, wanted: Array, keep: int = -1) -> None:
        """Compute missing rows, at most 64 unless all fit; the row of `keep` is not dropped."""
        if keep >= 0:
            self.used[keep] = np.iinfo(np.int64).max
        places = np.arange(self.n_filled, min(self.n_filled + len(wanted), len(self.values)))
        self.n_filled += len(places)
        if len(places) < len(wanted):
            held = np.setdiff1d(np.arange(self.n_filled), places)
            oldest = held[np.argsort(self.used[self.owner[held]], kind="stable")]
            out = oldest[: len(wanted) - len(places)]
            self.slot[self.owner[out]] = -1
            places = np.concatenate([places, out])
        self.values[places] = self.compute(wanted)
        self.owner[places], self.slot[wanted] = wanted, places
        if keep >= 0:
            self.used[keep] = self.used[self.used < np.iinfo(np.int64).max].max(initial=0)

    def compute(self, wanted: Array) -> Array:
        """Compute rows in double precision, without storing them."""
        self.n_evaluations += len(wanted) * self.n
        with one_blas_thread():
            if self.writer is not None:
                rows = self.writer(wanted, slice(None), np.empty((len(wanted), self.n)))
            else:
                rows = np.asarray(self.rows.gram(*self._pair(wanted)), dtype=np.float64)
        return rows + self.plus if self.plus else rows

    def product(self, weights: Array) -> Array:
        """Product of the kernel matrix with weights of samples, in double precision."""
        support = np.flatnonzero(weights)
        out = np.zeros(self.n)
        for start in range(0, len(support), TOGETHER):
            chosen = support[start : start + TOGETHER]
            slot = self.slot[chosen]
            known = self.values.dtype == np.float64 and slot.min() >= 0
            out += weights[chosen] @ (self.values[slot] if known else self.compute(chosen))
        return out

    def _pair(self, wanted: Array) -> tuple[Any, Any]:
        X, gram = self.rows.X, self.rows.gram
        return take(X, wanted), gram.subset(X, slice(None)) if gram.precomputed else X
