"""Cache of kernel values for the folds of a parameter search."""

import sys
import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import Any

import numpy as np

from skmoderndata._typing import Array
from skmoderndata.kernels._base import show


class GramCache:
    """Cache of the kernel values of pairs of samples, with bounded memory.

    Every fold of a parameter search needs kernel values between the same samples, and needs them
    again for each parameter of a later step. All clones of a
    `skmoderndata.preprocessing.KernelTransformer` use the cache that is passed as its parameter.

    Parameters
    ----------
    max_bytes : int, default=1073741824
        Memory for kernel values and samples, in bytes; the least recently used kernels are dropped
        first.

    See Also
    --------
    skmoderndata.preprocessing.KernelTransformer : Uses the cache as its parameter `cache`.

    Notes
    -----
    The key is the kernel with all its parameters and the value of each sample: equal strings,
    numbers, tuples, frozen sets and arrays count as one sample, because a kernel depends on values
    only. Other objects are identified by identity. The cache holds references to the samples. For
    each kernel it stores one square matrix over all samples seen so far, which is exact for
    kernels without state. Threads use one cache; each process has its own.

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
        self.clear()

    def clear(self) -> None:
        """Delete all stored values."""
        self._lock = threading.RLock()
        self._tables: OrderedDict[str, _Table] = OrderedDict()
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
        Y = X if Y is None else Y
        with self._lock:
            key = show(kernel)
            table = self._tables.pop(key, None) or _Table()
            self._tables[key] = table  # the one used last is at the end
            rows, columns = table.number(X), table.number(Y)
            self.n_computed += table.complete(kernel, rows, columns)
            K: Array = table.K[np.ix_(rows, columns)].copy()
            while self._size() > self.max_bytes and self._tables:
                self._tables.popitem(last=False)
            return K

    def _size(self) -> int:
        return sum(table.K.nbytes + table.n_bytes for table in self._tables.values())

    def __sklearn_clone__(self) -> "GramCache":
        return self

    def __deepcopy__(self, memo: Any) -> "GramCache":
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"max_bytes": self.max_bytes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.max_bytes = state["max_bytes"]
        self.clear()

    def __repr__(self) -> str:
        return f"GramCache(max_bytes={self.max_bytes})"


class _Table:
    """Symmetric matrix of one kernel, NaN where a value has not been computed."""

    def __init__(self) -> None:
        self.samples: list[Any] = []
        self.numbers: dict[Any, int] = {}
        self.n_bytes = 0  # of the samples that are referenced
        self.K: Array = np.empty((0, 0))

    def number(self, samples: list[Any]) -> Array:
        found = []
        for x in samples:
            key = _value(x)
            if key not in self.numbers:
                self.numbers[key] = len(self.samples)
                self.samples.append(x)  # referenced, so that no other object gets its id
                self.n_bytes += int(getattr(x, "nbytes", 0)) or sys.getsizeof(x)
            found.append(self.numbers[key])
        return np.array(found, dtype=np.intp)

    def complete(self, kernel: Any, rows: Array, columns: Array) -> int:
        n, old = len(self.samples), len(self.K)
        if n > old:
            size = max(n, 2 * old)
            grown = np.full((size, size), np.nan)
            grown[:old, :old] = self.K
            self.K = grown
        rows, columns = np.unique(rows), np.unique(columns)
        unknown = np.isnan(self.K[np.ix_(rows, columns)])
        needed = rows[unknown.any(axis=1)]
        count = 0
        while needed.size:  # rows with the same missing columns together
            gaps = np.isnan(self.K[np.ix_(needed, columns)])
            same = (gaps == gaps[0]).all(axis=1)
            group, missing = needed[same], columns[gaps[0]]
            K = kernel([self.samples[i] for i in group], [self.samples[j] for j in missing])
            if not np.isfinite(K).all():
                raise ValueError(f"GramCache: {show(kernel)} has values that are not finite.")
            self.K[np.ix_(group, missing)] = K
            self.K[np.ix_(missing, group)] = np.asarray(K).T
            count += int(K.size)
            needed = needed[~same]
            if needed.size:
                left = np.isnan(self.K[np.ix_(needed, columns)]).any(axis=1)
                needed = needed[left]
        return count


def _value(x: Any) -> Any:
    """Key of a sample: its value where that is cheap to compare, otherwise its identity."""
    if isinstance(x, str | bytes):
        return x
    if isinstance(x, int | float | np.generic):
        return type(x).__name__, repr(x)
    if isinstance(x, tuple):
        return ("tuple", *map(_value, x))
    if isinstance(x, frozenset):
        return x
    if isinstance(x, np.ndarray) and x.dtype != object:
        digest = blake2b(np.ascontiguousarray(x).tobytes(), digest_size=16).digest()
        return x.dtype.str, x.shape, digest
    return "object", id(x)
