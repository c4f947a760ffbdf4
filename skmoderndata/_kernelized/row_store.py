"""Cache of kernel rows that are computed on demand."""

import copy
from typing import Any

import numpy as np

from skmoderndata._kernelized.expansion import KernelRows
from skmoderndata._kernelized.gram import Gram
from skmoderndata._samples.containers import count_samples, take
from skmoderndata._solvers.common.quantities import MEBIBYTE
from skmoderndata._solvers.common.threads import in_threads, one_blas_thread
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import ROWS_TOGETHER

# Number of rows of a Gaussian kernel whose double-precision exponents fit into the cache.
ROWS_IN_CACHE = 16
# Maximum number of samples whose rows are stored in double precision; with more samples, rows are
# stored in single precision.
DOUBLE_UP_TO = 2000


class RowStore:
    """Cache of rows of the kernel matrix of one data set, in bounded memory.

    Rows are stored in double precision for up to 2000 samples and in single precision for more,
    which changes the optimum of a support vector machine by about 1e-6 of its value. A full cache
    drops the least recently used rows; a row that was just computed counts as used.

    Parameters
    ----------
    gram : Gram
        Kernel, with resolved parameters.
    X : array, sparse matrix or list
        Samples.
    cache_size : float
        Memory in MB.
    plus : float
        Constant added to every kernel value, for machines that penalise their offset.

    Attributes
    ----------
    values : ndarray of shape (capacity, n)
        Stored rows. Memory pages without rows are not used.
    slot : ndarray of int of shape (n,)
        Slot of the row of each sample, -1 if the row is not stored.
    used : ndarray of int of shape (n,)
        Time of the last use of each row, updated by the solvers.
    clock : int
        Current time, which the solvers increase by one with each step.
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

        # allocate as many rows as fit into the memory
        dtype: Any = np.float64 if self.n <= DOUBLE_UP_TO else np.float32
        row_bytes = np.dtype(dtype).itemsize * self.n
        fits = int(cache_size * MEBIBYTE // row_bytes)
        capacity = min(self.n, max(fits, 2 * ROWS_TOGETHER))
        self.values = np.empty((capacity, self.n), dtype)
        wide = self.writer is not None and not self.writer.augmented
        n_exponents = ROWS_TOGETHER if wide else ROWS_IN_CACHE
        self.exponents = np.empty((n_exponents, self.n))

        # position of the row of each sample in the store; -1 if the row is not stored
        self.slot = np.full(self.n, -1)
        self.used = np.zeros(self.n, np.int64)
        self.owner = np.full(capacity, -1)
        self.diagonal = self.rows.diag(np.arange(self.n)) + plus
        self.clock = self.n_filled = self.n_evaluations = 0

    def subset(self, index: Array) -> "RowStore":
        """Return a cache of the same size for some of the samples."""
        gram = self.rows.gram
        X = self.rows.X
        samples = X[np.ix_(index, index)] if gram.precomputed else take(X, index)
        return RowStore(gram, samples, cache_size=self.cache_size, plus=self.plus)

    @property
    def holds_all(self) -> bool:
        """Whether every row is stored."""
        return self.n_filled == self.n

    def reader(self) -> "RowStore":
        """Return a view of a store that holds all rows, with a separate count."""
        view = copy.copy(self)
        view.used = self.used.copy()
        view.n_evaluations = 0
        return view

    def bring(self, missing: Array) -> None:
        """Compute missing rows; their number must not exceed the capacity."""
        if not len(missing):
            return
        # 1. Use free slots, then the slots of the least recently used rows.
        stored = self.owner[: self.n_filled]
        end = min(self.n_filled + len(missing), len(self.values))
        slots = np.arange(self.n_filled, end)
        lacking = len(missing) - len(slots)
        if lacking:
            order = np.argpartition(self.used[stored], lacking - 1)
            oldest = order[:lacking]
            self.slot[stored[oldest]] = -1
            slots = np.concatenate([slots, oldest])

        # 2. Compute the rows.
        for first in range(0, len(missing), ROWS_TOGETHER):
            block = slice(first, first + ROWS_TOGETHER)
            self._write(missing[block], slots[block], self.exponents)
        self.n_evaluations += len(missing) * self.n
        n_used = int(slots.max()) + 1
        self.n_filled = max(self.n_filled, n_used)
        self.owner[slots] = missing
        self.slot[missing] = slots

        # 3. Mark the rows as used now, so that rows that no solver has used yet are not dropped
        # first.
        self.clock += 1
        self.used[missing] = self.clock

    def bring_all(self, n_jobs: int | None = None) -> None:
        """Compute all rows of a cache that can hold them, in threads."""

        def work(start: int) -> None:
            rows = np.arange(start, min(start + ROWS_TOGETHER, self.n))
            self._write(rows, rows, np.empty((len(rows), self.n)))

        # `work` writes the rows into `self.values`.
        in_threads(work, range(0, self.n, ROWS_TOGETHER), n_jobs)
        self.owner[:] = self.slot[:] = np.arange(self.n)
        self.n_filled = self.n
        self.n_evaluations += self.n**2

    def _write(self, samples: Array, slots: Array, buffer: Array) -> None:
        """Compute rows and write them into their slots; `buffer` holds exponents.

        Gaussian rows in single precision are computed directly from the exponents in double
        precision. This takes half the time of a detour by a matrix in double precision.
        """
        if self.writer is None or self.values.dtype == np.float64:
            self.values[slots] = self._compute(samples)
            return

        step = len(buffer)
        with one_blas_thread():
            for first in range(0, len(samples), step):
                block = samples[first : first + step]
                E = buffer[: len(block)]
                self.writer.exponents(block, slice(None), E)
                # Write in a single call if the slots are adjacent, which they are while the cache
                # fills.
                places = slots[first : first + step]
                if (np.diff(places) == 1).all():
                    neighbours = slice(places[0], places[-1] + 1)
                    targets = [(self.values[neighbours], E)]
                else:
                    targets = [
                        (self.values[slot], row) for slot, row in zip(places, E, strict=True)
                    ]
                for target, logarithms in targets:
                    # Positive exponents are rounding errors smaller than the resolution of single
                    # precision.
                    np.exp(logarithms, out=target, dtype=np.float32, casting="same_kind")
                    if self.plus:
                        target += np.float32(self.plus)

    def compute(self, samples: Array) -> Array:
        """Compute rows in double precision, without storing them."""
        self.n_evaluations += len(samples) * self.n
        return self._compute(samples)

    def _compute(self, samples: Array) -> Array:
        with one_blas_thread():
            if self.writer is not None:
                out = np.empty((len(samples), self.n))
                rows = self.writer(samples, slice(None), out)
            else:
                X, Y = self._pair(samples)
                rows = np.asarray(self.rows.gram(X, Y), dtype=np.float64)
        return rows + self.plus if self.plus else rows

    def product(self, weights: Array) -> Array:
        """Return the product of the kernel matrix and sample weights, in double precision."""
        support = np.flatnonzero(weights)
        out = np.zeros(self.n)
        for start in range(0, len(support), ROWS_TOGETHER):
            block = support[start : start + ROWS_TOGETHER]
            slots = self.slot[block]
            stored = self.values.dtype == np.float64 and slots.min() >= 0
            K = self.values[slots] if stored else self.compute(block)
            out += weights[block] @ K
        return out

    def _pair(self, samples: Array) -> tuple[Any, Any]:
        X = self.rows.X
        gram = self.rows.gram
        second = gram.subset(X, slice(None)) if gram.precomputed else X
        return take(X, samples), second
