"""Samples of any kind: checks of containers, selection of samples, blocks of rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._estimator.compat import unmasked
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.common.typing import Array

# Maximum number of entries of a sparse table that are made dense at a time.
DENSE_ENTRIES = 2**20


class Sample:
    """Wrapper that hides one sample from NumPy; see `preprocessing.SampleColumn`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Sample({self.value!r})"


def as_samples(X: Any, name: str = "The kernel") -> list[Any]:
    """Return samples of any kind as a list, unwrapped; raise an error for tables.

    Parameters
    ----------
    X : list, tuple, array or Series
        A collection of samples. A numeric array of two or more dimensions is a collection of its
        entries along the first axis; an array of objects, or a data frame, is a table.
    name : str
        Name of the caller, for error messages.

    Returns
    -------
    samples : list
        The same objects.
    """
    X = unmasked(X, owner=name)
    if X is None:
        raise ValueError(
            f"{name} received None for X: pass a collection of samples, for example a list."
        )

    # an array without dimensions holds one sample
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) == 0:
        raise TypeError(
            f"{name} needs a collection of samples, for example a list, but received one "
            f"{type(X).__name__}."
        )

    # the caller must choose the column of a table that contains the samples
    if hasattr(X, "columns") and hasattr(X, "shape"):
        raise ValueError(
            f"{name} needs a collection of samples, but received a table of shape "
            f"{tuple(X.shape)}: select one column."
        )
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim != 1:
        raise ValueError(
            f"{name} needs a collection of samples, but received an array of objects of shape "
            f"{X.shape}: select one column."
        )

    if isinstance(X, set | frozenset | dict):
        raise TypeError(
            f"{name} needs samples in order, for example a list, but received a "
            f"{type(X).__name__}."
        )

    # unwrap the samples of SampleColumn
    if is_sparse(X):
        return [X[[i]] for i in range(X.shape[0])]
    return [x.value if isinstance(x, Sample) else x for x in X]


def is_missing(x: Any) -> bool:
    """Return whether a sample or a symbol is None, NaN, or a missing value of pandas."""
    if x is None or type(x).__name__ in ("NAType", "NaTType"):
        return True
    return np.isscalar(x) and bool(x != x)


def as_vectors(X: Any, name: str = "The kernel") -> Array:
    """Return vectors as rows of a finite float64 array."""
    X = unmasked(X, owner=name)
    if is_sparse(X):
        raise TypeError(
            f"{name} accepts only dense samples; convert a sparse matrix with X.toarray()."
        )
    if isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object):
        X = [x.value if isinstance(x, Sample) else x for x in X]
    try:
        table = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} needs samples that are numeric vectors: {error}") from None
    if table.ndim != 2:
        raise ValueError(
            f"{name} needs a table of shape (n_samples, n_features), but received an array of "
            f"shape {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError(f"{name} needs finite samples, but received NaN or infinity.")
    return table


def check_real(X: Any, name: str) -> None:
    """Raise ValueError for complex numbers: a conversion would drop the imaginary part."""
    try:
        wrong = np.iscomplexobj(X)
    except ValueError:  # samples of different lengths, which are checked elsewhere
        return
    if wrong:
        raise ValueError(
            f"{name} needs real numbers, but received complex ones: pass real and imaginary parts "
            "as separate features."
        )


def check_finite(X: Any, name: str) -> None:
    """Raise ValueError if numbers include NaN or infinity."""
    numbers = X.data if is_sparse(X) else X
    try:
        finite = bool(np.isfinite(np.asarray(numbers, dtype=np.float64)).all())
    except (TypeError, ValueError):  # values other than numbers, which are checked elsewhere
        return
    if not finite:
        raise ValueError(f"{name} needs finite samples, but received NaN or infinity.")


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix, without narrowing its type as the stubs would."""
    return bool(sparse.issparse(X))


def count_samples(X: Any) -> int:
    """Return the length of an array, a sparse matrix or a list of samples."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Any, indices: Any) -> Any:
    """Select samples: rows of an array, items of a list."""
    if hasattr(X, "shape") or isinstance(indices, slice):
        return X[indices]
    samples: Sequence[Any] = X
    return [samples[i] for i in indices]


def row_blocks(n_rows: int, row_bytes: int, *, n_bytes: int | None = None) -> Iterator[slice]:
    """Split `n_rows` into slices of `n_bytes`, by default scikit-learn's working memory."""
    limit = working_memory() if n_bytes is None else n_bytes
    step = max(1, limit // max(1, row_bytes))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def dense_blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """Yield `rows, X[rows]` of a sparse table, the rows as a dense array of bounded size."""
    step = max(1, DENSE_ENTRIES // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield rows, X[rows].toarray()
