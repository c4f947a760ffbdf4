"""Cache of kernel values for the folds of a parameter search."""

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from skmoderndata._samples.keys import Key, key_of_kernel, key_of_sample
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import show

# Size of the key of a sample, in bytes.
KEY_BYTES = 256

# Size of an enlarged table, as a multiple of its previous size in samples.
GROWTH = 1.25


class GramCache:
    """Cache of the kernel values of pairs of samples, with bounded memory.

    Every fold of a parameter search needs kernel values between the same samples, and needs them
    again for each parameter of a later step. All clones of a
    `skmoderndata.preprocessing.KernelTransformer` use the cache that is passed as its parameter.

    Parameters
    ----------
    max_bytes : int, default=1073741824
        Memory for kernel values, in bytes; the least recently used kernels are dropped first.
        If the samples of one call need more, their values are computed but not stored.

    See Also
    --------
    skmoderndata.preprocessing.KernelTransformer : Uses the cache as its parameter `cache`.

    Notes
    -----
    The key is the kernel with all its parameters and the value of each sample: equal strings,
    lists, sets, arrays or graphs count as one sample, because a kernel depends on values only, and
    a list that changes counts as a new sample from then on. Functions among the parameters of a
    kernel are equal if they are the same object; call `clear` after a change of anything else that
    a function reads. A sample that cannot be pickled raises TypeError, because the cache could not
    notice a change of it. For each kernel, the cache stores one square matrix over all samples
    seen so far, which is exact for kernels without state. Threads share one cache; each process
    has its own cache.

    Examples
    --------
    >>> from skmoderndata.kernels import GramCache, Intersection
    >>> cache = GramCache()
    >>> sets = [frozenset("abc"), frozenset("bcd"), frozenset("x")]
    >>> cache.values(Intersection(), sets, sets[:2])
    array([[3., 2.],
           [2., 3.],
           [0., 0.]])
    >>> cache.n_computed, len(cache.values(Intersection(), sets[1:], sets)), cache.n_computed
    (6, 2, 7)
    """

    def __init__(self, max_bytes: int = 2**30) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        """Delete all stored values."""
        with self._lock:
            self._tables: OrderedDict[Key, _Table] = OrderedDict()
            self.n_computed = 0

    def values(self, kernel: Any, X: list[Any], Y: list[Any] | None = None) -> Array:
        """Return the kernel values of all pairs; compute only those that are not stored.

        Parameters
        ----------
        kernel : Kernel
            Kernel object.
        X : list
            Samples.
        Y : list, default=None
            Other samples; None uses `X`.

        Returns
        -------
        K : ndarray of shape (n_X, n_Y)
            Kernel values.
        """
        is_square = Y is None or Y is X
        others = X if Y is None else Y
        row_keys = _keys(X)
        column_keys = row_keys if is_square else _keys(others)
        with self._lock:
            table = self._table(kernel, [*row_keys, *column_keys])
            if table is None:  # there are too many samples for `max_bytes`
                K = finite(kernel, kernel(X) if is_square else kernel(X, others))
                self.n_computed += int(K.size)
                return K

            rows = table.numbers_of(row_keys)
            columns = table.numbers_of(column_keys)
            samples = dict(zip(rows.tolist(), X, strict=True))
            samples |= dict(zip(columns.tolist(), others, strict=True))
            self.n_computed += table.complete(kernel, samples, rows, columns)
            values: Array = table.K[np.ix_(rows, columns)]  # a copy
            return values

    def _table(self, kernel: Any, keys: list[Key]) -> "_Table | None":
        """Return the table of a kernel, with space for the samples.

        Return None if the samples need too much memory. The bound always holds, even while an old
        table is copied to a larger one.
        """
        name = key_of_kernel(kernel)
        table = self._tables.pop(name, None) or _Table()
        n_needed = len(set(keys) | table.numbers.keys())
        if n_needed > len(table.K) and n_bytes_of(n_needed) + table.n_bytes > self.max_bytes:
            # drop the samples of other calls
            table = _Table()
            n_needed = len(set(keys))
        if n_bytes_of(n_needed) > self.max_bytes:
            return None

        # drop the tables of other kernels, beginning with the least recently used one
        size = n_needed
        if n_needed > len(table.K):
            while self._size() + table.n_bytes + n_bytes_of(n_needed) > self.max_bytes:
                self._tables.popitem(last=False)
            spare = max(n_needed, int(GROWTH * len(table.K)))
            if self._size() + table.n_bytes + n_bytes_of(spare) <= self.max_bytes:
                size = spare
        table.grow(size, keys)
        self._tables[name] = table  # the most recently used table is at the end
        return table

    def _size(self) -> int:
        return sum(table.n_bytes for table in self._tables.values())

    def __sklearn_clone__(self) -> "GramCache":
        return self

    def __deepcopy__(self, memo: Any) -> "GramCache":
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"max_bytes": self.max_bytes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.max_bytes = state["max_bytes"]
        self._lock = threading.RLock()
        self.clear()

    def __repr__(self) -> str:
        return f"GramCache(max_bytes={self.max_bytes})"


class _Table:
    """Symmetric matrix of one kernel, NaN where a value has not been computed."""

    def __init__(self) -> None:
        self.numbers: dict[Key, int] = {}
        self.K: Array = np.empty((0, 0))

    @property
    def n_bytes(self) -> int:
        """Memory of the matrix and of the keys, in bytes."""
        return n_bytes_of(len(self.K))

    def grow(self, size: int, keys: list[Key]) -> None:
        """Assign numbers to new samples; enlarge the matrix if it is smaller than `size`."""
        old = len(self.K)
        if size > old:
            grown = np.full((size, size), np.nan)
            grown[:old, :old] = self.K
            self.K = grown
        for key in keys:
            self.numbers.setdefault(key, len(self.numbers))

    def numbers_of(self, keys: list[Key]) -> Array:
        """Return the positions of samples in the matrix."""
        return np.array([self.numbers[key] for key in keys], dtype=np.intp)

    def complete(
        self, kernel: Any, samples: dict[int, Any], rows: Array, columns: Array
    ) -> int:
        """Compute the missing values of a block; return the number of values computed."""
        rows = np.unique(rows)
        columns = np.unique(columns)
        unknown = np.isnan(self.K[np.ix_(rows, columns)])
        needed = rows[unknown.any(axis=1)]
        count = 0
        while needed.size:
            # compute rows that have the same missing columns together
            gaps = np.isnan(self.K[np.ix_(needed, columns)])
            same = (gaps == gaps[0]).all(axis=1)
            group = needed[same]
            missing = columns[gaps[0]]
            K = kernel([samples[i] for i in group], [samples[j] for j in missing])
            finite(kernel, K)

            # store each value twice, because a kernel is symmetric
            self.K[np.ix_(group, missing)] = K
            self.K[np.ix_(missing, group)] = np.asarray(K).T
            count += int(K.size)
            needed = needed[~same]
            if needed.size:
                incomplete = np.isnan(self.K[np.ix_(needed, columns)]).any(axis=1)
                needed = needed[incomplete]
        return count


def n_bytes_of(n_samples: int) -> int:
    """Return the memory of a table of `n_samples` samples, in bytes."""
    return 8 * n_samples**2 + KEY_BYTES * n_samples


def finite(kernel: Any, K: Any) -> Array:
    """Return kernel values as an array; raise ValueError if some are not finite."""
    if not np.isfinite(K).all():
        raise ValueError(f"GramCache: {show(kernel)} has values that are not finite.")
    return np.asarray(K)


def _keys(samples: list[Any]) -> list[Key]:
    return [key_of_sample(x, f"GramCache: sample {i}") for i, x in enumerate(samples)]
