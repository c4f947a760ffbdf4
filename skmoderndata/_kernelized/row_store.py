"""Cache of kernel rows that are computed on demand."""

import copy
from typing import Any

import numpy as np

from skmoderndata._kernelized.expansion import KernelRows
from skmoderndata._kernelized.gram import Gram
from skmoderndata._samples.containers import count_samples, take
from skmoderndata._solvers.common.threads import in_threads, one_blas_thread
from skmoderndata._solvers.common.typing import Array

ROWS_TOGETHER = 64  # rows computed at a time, by one matrix product
ROWS_IN_CACHE = 16  # of a Gaussian kernel, whose exponents are computed in a buffer of doubles
DOUBLE_UP_TO = 2000  # samples; the rows of more are stored in single precision


class RowStore:
    """Cache of rows of the kernel matrix of one data set, in bounded memory.

    Rows are stored in double precision for up to 2000 samples, above in single precision, which
    changes the optimum of a support vector machine by about 1e-6 of its value. A full cache drops
    the least recently used rows, and a row that was just brought counts as used.

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
    clock : int
        The time, which the solvers put forward by one with each step.
    n_evaluations : int
        Number of kernel values computed.
    """

    def __init__(
        self, gram: Gram, X: Any, *, cache_size: float = 500, plus: float = 0.0
    ) -> None:
        self.n = count_samples(X)
        self.cache_size = cache_size
        self.plus = plus
        self.rows = KernelRows(gram, X)
        self.writer = gram.writer(X)

        # rows, as many as the memory holds
        dtype: Any = np.float64 if self.n <= DOUBLE_UP_TO else np.float32
        row_bytes = np.dtype(dtype).itemsize * self.n
        fits = int(cache_size * 2**20 // row_bytes)
        capacity = min(self.n, max(fits, 2 * ROWS_TOGETHER))
        self.values = np.empty((capacity, self.n), dtype)
        wide = self.writer is not None and not self.writer.augmented
        n_exponents = ROWS_TOGETHER if wide else ROWS_IN_CACHE
        self.exponents = np.empty((n_exponents, self.n))

        # which row stands where
        self.slot = np.full(self.n, -1)
        self.used = np.zeros(self.n, np.int64)
        self.owner = np.full(capacity, -1)
        self.diagonal = self.rows.diag(np.arange(self.n)) + plus
        self.clock = self.n_filled = self.n_evaluations = 0

    def subset(self, chosen: Array) -> "RowStore":
        """Return a cache of the same size for some of the samples."""
        gram = self.rows.gram
        X = self.rows.X
        some = X[np.ix_(chosen, chosen)] if gram.precomputed else take(X, chosen)
        return RowStore(gram, some, cache_size=self.cache_size, plus=self.plus)

    @property
    def holds_all(self) -> bool:
        """Whether every row is stored."""
        return self.n_filled == self.n

    def reader(self) -> "RowStore":
        """Return a view of a store that holds all rows, with a count of its own."""
        view = copy.copy(self)
        view.used = self.used.copy()
        view.n_evaluations = 0
        return view

    def bring(self, wanted: Array) -> None:
        """Compute missing rows, as many as the cache holds at most."""
        if not len(wanted):
            return
        # 1. free slots, then those of the least recently used rows
        stored = self.owner[: self.n_filled]
        end = min(self.n_filled + len(wanted), len(self.values))
        slots = np.arange(self.n_filled, end)
        lacking = len(wanted) - len(slots)
        if lacking:
            order = np.argpartition(self.used[stored], lacking - 1)
            oldest = order[:lacking]
            self.slot[stored[oldest]] = -1
            slots = np.concatenate([slots, oldest])

        # 2. the rows
        for first in range(0, len(wanted), ROWS_TOGETHER):
            block = slice(first, first + ROWS_TOGETHER)
            self._write(wanted[block], slots[block], self.exponents)
        self.n_evaluations += len(wanted) * self.n
        n_used = int(slots.max()) + 1
        self.n_filled = max(self.n_filled, n_used)
        self.owner[slots] = wanted
        self.slot[wanted] = slots

        # 3. just used: a row of weight zero that nobody has looked at is no older than others
        self.clock += 1
        self.used[wanted] = self.clock

    def bring_all(self, n_jobs: int | None = None) -> None:
        """Compute all rows of a cache that can hold them, in threads."""

        def work(start: int) -> None:
            rows = np.arange(start, min(start + ROWS_TOGETHER, self.n))
            self._write(rows, rows, np.empty((len(rows), self.n)))

        # `work` writes into `values`
        in_threads(work, range(0, self.n, ROWS_TOGETHER), n_jobs)
        self.owner[:] = self.slot[:] = np.arange(self.n)
        self.n_filled = self.n
        self.n_evaluations += self.n**2

    def _write(self, wanted: Array, slots: Array, buffer: Array) -> None:
        """Compute rows into their slots, with room for some exponents.

        Single precision from exponents in double: rows of a Gaussian kernel then take half of the
        time that they take by way of a matrix of doubles.
        """
        if self.writer is None or self.values.dtype == np.float64:
            self.values[slots] = self._compute(wanted)
            return

        step = len(buffer)
        with one_blas_thread():
            for first in range(0, len(wanted), step):
                chosen = wanted[first : first + step]
                E = buffer[: len(chosen)]
                self.writer.exponents(chosen, slice(None), E)
                # in one call where slots are neighbours, as while a cache fills
                places = slots[first : first + step]
                if (np.diff(places) == 1).all():
                    neighbours = slice(places[0], places[-1] + 1)
                    targets = [(self.values[neighbours], E)]
                else:
                    targets = [
                        (self.values[slot], row) for slot, row in zip(places, E, strict=True)
                    ]
                for target, logarithms in targets:
                    # rounding makes exponents positive by less than single precision can tell
                    np.exp(logarithms, out=target, dtype=np.float32, casting="same_kind")
                    if self.plus:
                        target += np.float32(self.plus)

    def compute(self, wanted: Array) -> Array:
        """Compute rows in double precision, without storing them."""
        self.n_evaluations += len(wanted) * self.n
        return self._compute(wanted)

    def _compute(self, wanted: Array) -> Array:
        with one_blas_thread():
            if self.writer is not None:
                out = np.empty((len(wanted), self.n))
                rows = self.writer(wanted, slice(None), out)
            else:
                X, Y = self._pair(wanted)
                rows = np.asarray(self.rows.gram(X, Y), dtype=np.float64)
        return rows + self.plus if self.plus else rows

    def product(self, weights: Array) -> Array:
        """Product of the kernel matrix with weights of samples, in double precision."""
        support = np.flatnonzero(weights)
        out = np.zeros(self.n)
        for start in range(0, len(support), ROWS_TOGETHER):
            chosen = support[start : start + ROWS_TOGETHER]
            slots = self.slot[chosen]
            stored = self.values.dtype == np.float64 and slots.min() >= 0
            K = self.values[slots] if stored else self.compute(chosen)
            out += weights[chosen] @ K
        return out

    def _pair(self, wanted: Array) -> tuple[Any, Any]:
        X = self.rows.X
        gram = self.rows.gram
        second = gram.subset(X, slice(None)) if gram.precomputed else X
        return take(X, wanted), second
