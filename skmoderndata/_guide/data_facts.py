"""Facts of data that decide which methods suit them, read from some of the rows."""

import ast
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._estimator.scale import scale_ratio
from skmoderndata._guide.cells import check_cells, numbers_of, numeric_columns
from skmoderndata._solvers.common.blocks import is_dask, is_on_disk
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata._solvers.lowrank.quantiles import MEDIAN_TO_STD

# Minimum width and height of an image.
MIN_SIDE = 32
# Maximum number of rows that are read.
N_ROWS = 2000
# Maximum number of columns that are read.
N_COLUMNS = 300
# Minimum distance of a broken cell from the median, in standard deviations of its column.
FAR_DEVIATIONS = 8.0
# Maximum distance of all other cells from the median, in standard deviations of the column, if the
# column has no long tail.
BULK_DEVIATIONS = 4.5
# Names of ordered classes.
GRADES = [
    {"bad", "ok", "good"},
    {"poor", "fair", "good"},
    {"low", "high"},
    {"low", "medium", "high"},
    {"low", "moderate", "high"},
    {"mild", "moderate", "severe"},
    {"small", "medium", "large"},
]


class DataFacts(NamedTuple):
    """Facts that decide between methods; facts that do not apply are None, "" or False.

    Attributes
    ----------
    kind : str
        "table", "image", "film", "one series", "series", "strings", "texts", "document counts",
        "sequences", "trees", "graphs", "one graph", "sets", "views", "distances" or "objects".
    rows, columns : int or None
        Numbers of samples and of columns.
    y : str
        "none", "one class", "classes", "ranks" (classes with an order) or "numbers".
    coded : bool
        Whether y has at least three classes that are coded 0, 1, 2, ..., which may have an order.
    values : str
        "Boolean", "counts", "non-negative" or "real".
    zeros, missing : float
        Fraction of the cells that are zero, and fraction without a value.
    wide : float
        Number of columns per row.
    in_blocks : bool
        Whether X is a Dask array or data frame, or stored on disk.
    in_order : bool
        Whether neighbouring rows are more alike than distant ones, as in a series.
    broken : float
        Fraction of the cells that are far outside a column without a long tail.
    redundant : float
        Fraction of the components that are not needed for 90 % of the variance.
    scale_ratio : float
        Ratio of the largest to the smallest scale of a column.
    channels_first : bool
        Whether series are laid out as (channels, time).
    views : int
        Number of tables for the same samples.
    alphabet : int
        Number of different letters or symbols.
    words : float
        Average number of words of a text.
    """

    kind: str
    rows: int | None = None
    columns: int | None = None
    y: str = "none"
    coded: bool = False
    values: str = ""
    zeros: float = 0.0
    missing: float = 0.0
    wide: float = 0.0
    in_blocks: bool = False
    in_order: bool = False
    broken: float = 0.0
    redundant: float = 0.0
    scale_ratio: float = 1.0
    channels_first: bool = False
    views: int = 1
    alphabet: int = 0
    words: float = 0.0


def data_facts(X: Any, y: Any = None) -> DataFacts:
    """Read the facts from some of the rows, and from y.

    Parameters
    ----------
    X : table, series, strings, trees, graphs, sets, or list of tables
        Data in a form that estimators and kernels accept.
    y : array-like of shape (n_samples,), default=None
        Classes, ranks as an ordered categorical, or numbers.

    Raises
    ------
    ValueError
        If X is empty, or y has a different length.
    TypeError
        If X is not a collection of samples.
    """
    facts = _facts_of_X(X)
    return facts if y is None else _with_target(facts, y)


def _facts_of_X(X: Any) -> DataFacts:
    """Return the facts of X by its type."""
    _check_collection(X)
    if hasattr(X, "nodes") and hasattr(X, "edges"):
        if len(X.nodes) == 0:
            raise ValueError("X is a graph without nodes: suggest needs at least one.")
        return DataFacts("one graph", rows=len(X.nodes))
    if sparse.issparse(X):
        return _of_sparse(X)
    if is_dask(X) and hasattr(X, "to_frame"):
        X = X.to_frame() if X.ndim == 1 else X
    if is_frame(X):
        return _of_frame(X)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(float), np.nan)

    if 0 in getattr(X, "shape", ()) or (not hasattr(X, "shape") and len(X) == 0):
        raise ValueError(
            f"X is empty{_shape_of(X)}: pass some samples with at least one column."
        )
    if is_dask(X) or is_on_disk(X):
        return _of_array(_as_numbers(X))._replace(in_blocks=True)

    if isinstance(X, np.ndarray) and (X.ndim > 1 or X.dtype.names):
        return _of_array(_as_numbers(X))
    return _of_samples(list(X))


def _check_collection(X: Any) -> None:
    """Raise an error if X is a single value, a class, or lazy and of unknown length."""
    has_length = hasattr(X, "__len__") or hasattr(X, "shape") or hasattr(X, "nodes")
    if _is_single(X) or not has_length:
        raise TypeError(
            f"suggest needs a collection of samples, got X of type {type(X).__name__}: pass a "
            "table in memory or in Dask, or a list of strings, series, graphs or sets."
        )


def _is_single(X: Any) -> bool:
    """Return whether X is a single value, a mapping, a class, or a delayed object of Dask."""
    is_delayed = is_dask(X) and not hasattr(type(X), "ndim")
    return isinstance(X, str | bytes | dict | type) or is_delayed or getattr(X, "ndim", 1) == 0


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame of pandas, polars or Dask."""
    is_sized = hasattr(X, "__len__")  # False for lazy frames of polars
    return is_sized and hasattr(X, "columns") and getattr(X, "ndim", 2) == 2


def _shape_of(X: Any) -> str:
    return f", of shape {tuple(X.shape)}" if hasattr(X, "shape") else ""


def _as_numbers(X: np.ndarray) -> np.ndarray:
    """Return the array with a numeric type; arrays in Dask and on disk must have one."""
    if X.dtype.kind in "biuf":
        return X
    if X.dtype.kind not in "OSU" or not isinstance(X, np.ndarray):
        raise TypeError(
            f"X has values of type {X.dtype}, but suggest needs real numbers: convert X first, "
            "for example by X.astype(float), or by pandas.DataFrame(X) for records."
        )
    try:
        return X.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X has cells that are not numbers: encode them first, for example with "
            "OneHotEncoder, or pass a data frame, whose numeric columns are used."
        ) from error


# Classify the target


def _with_target(facts: DataFacts, y: Any) -> DataFacts:
    """Add the kind of y, by its type and by how often values repeat."""
    if sparse.issparse(y) or isinstance(y, set) or _is_single(y) or not hasattr(y, "__len__"):
        raise TypeError(
            f"y is of type {type(y).__name__}; it should be an array or list with one entry for "
            "each sample."
        )
    is_ordered = getattr(getattr(y, "cat", y), "ordered", False)
    is_ordered = is_ordered or getattr(getattr(y, "dtype", None), "ordered", False)
    try:
        values = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "The entries of y have different lengths: y needs one number or class for each sample."
        ) from error
    if facts.rows is not None and not (facts.in_blocks and hasattr(y, "dask")):
        _check_length(facts, values)
    if values.ndim > 1 and values.shape[1] > 1:
        return facts._replace(y="numbers")

    # Find missing values. Objects are recognised by their text, because pandas.NA cannot be
    # compared
    values = values.ravel()
    if values.dtype.kind == "f":
        gaps = np.isnan(values)
    else:
        gaps = np.array([str(v) in ("None", "nan", "NaT", "<NA>") for v in values])
    if gaps.any():
        raise ValueError(
            f"y has no value for {int(gaps.sum())} of {len(values)} samples: drop them from X "
            "and y."
        )
    if is_ordered:
        return facts._replace(y="ranks")

    levels = np.unique(values.astype(str) if values.dtype.kind == "O" else values)
    if len(levels) == 1:
        return facts._replace(y="one class")
    if levels.dtype.kind not in "iuf":
        in_order = {str(name).lower() for name in levels} in GRADES
        return facts._replace(y="ranks" if in_order else "classes")

    # Treat a few distinct whole numbers as classes; if they are consecutive and start above zero,
    # treat them as ranks
    few = len(levels) <= 20 and len(levels) < len(values) / 2
    if not few or not np.array_equal(levels, np.round(levels)):
        return facts._replace(y="numbers")
    consecutive = len(levels) >= 3 and bool((np.diff(levels) == 1).all())
    if consecutive and levels[0] > 0:
        return facts._replace(y="ranks")
    return facts._replace(y="classes", coded=consecutive and levels[0] == 0)


def _check_length(facts: DataFacts, y: np.ndarray) -> None:
    if facts.rows != len(y) and not facts.in_blocks:
        raise ValueError(
            f"X has {facts.rows} samples, but y has {len(y)}: y needs one entry for each sample."
        )


# Describe samples that are not rows of a table


def _of_samples(X: list[Any]) -> DataFacts:
    """Return the facts of a list, by the type of its samples."""
    n = len(X)
    samples = [x for x in X if not _is_missing(x)]
    if not samples or all(hasattr(x, "__len__") and len(x) == 0 for x in samples):
        raise ValueError(f"All {n} samples of X are empty: pass some that are not.")
    if any(isinstance(x, bytes) for x in samples):
        raise TypeError(
            "X has samples of type bytes: decode them with [x.decode() for x in X]."
        )
    texts = [isinstance(x, str) for x in samples]
    if any(texts) and not all(texts):
        raise TypeError(
            f"X mixes strings and other samples, such as {samples[texts.index(False)]!r}: use one "
            "type for all."
        )

    first = samples[0]
    if isinstance(first, str):
        return _of_strings(samples, n)
    if isinstance(first, set | frozenset):
        return DataFacts("sets", rows=n)
    if isinstance(first, ast.AST):
        return DataFacts("trees", rows=n)
    if hasattr(first, "nodes") and hasattr(first, "edges"):
        return DataFacts("graphs", rows=n)

    if np.isscalar(first):
        return _of_array(np.asarray(X, dtype=float))
    if hasattr(first, "ndim") or is_frame(first):
        return _of_arrays(samples, n)
    if isinstance(first, list) and first and np.isscalar(first[0]):
        return _of_lists(samples, n)
    return DataFacts("objects", rows=n)


def _is_missing(x: Any) -> bool:
    """Return whether a sample is None, NaN or the NA of pandas."""
    return x is None or type(x).__name__ == "NAType" or (np.isscalar(x) and bool(x != x))


def _of_strings(samples: list[str], n: int) -> DataFacts:
    samples_read = samples[:N_ROWS]
    words = float(np.mean([len(text.split()) for text in samples_read]))
    letters = {letter for text in samples_read for letter in text if not letter.isspace()}
    kind = "texts" if words >= 2 else "strings"
    return DataFacts(kind, rows=n, alphabet=len(letters), words=words)


def _of_lists(samples: list[Any], n: int) -> DataFacts:
    """Return the facts of lists of symbols or numbers: rows of a table, sequences, or series."""
    numeric = all(isinstance(cell, int | float | np.number) for x in samples for cell in x)
    if numeric and len({len(x) for x in samples}) == 1:
        return _of_array(np.asarray(samples, dtype=float))
    if all(isinstance(cell, str | int | np.integer) for x in samples for cell in x):
        return DataFacts("sequences", rows=n, alphabet=len({s for x in samples for s in x}))
    return DataFacts("series", rows=n) if numeric else DataFacts("objects", rows=n)


def _of_arrays(samples: list[Any], n: int) -> DataFacts:
    """Return the facts of a list of arrays: tables of the same samples, or series."""
    shapes = [np.shape(x) for x in samples]
    if any(len(shape) not in (1, 2) for shape in shapes) or len({len(s) for s in shapes}) > 1:
        return DataFacts("objects", rows=n)
    lengths = {shape[0] for shape in shapes}
    if len(shapes[0]) == 2 and len(lengths) == 1 and 1 < n <= 10 and n < shapes[0][0]:
        rows = shapes[0][0]
        columns = max(shape[1] for shape in shapes)
        return DataFacts("views", rows=rows, columns=columns, wide=columns / rows, views=n)

    # Time is the axis along which the sizes of the series differ more often; if they differ along
    # neither axis, time is the longer axis
    widths = {shape[-1] for shape in shapes}
    channels_first = len(shapes[0]) == 2 and (
        len(lengths) < len(widths) or (len(widths) == 1 and max(lengths) < min(widths))
    )
    return DataFacts("series", rows=n, channels_first=channels_first)


# Describe tables


def _of_frame(X: Any) -> DataFacts:
    """Return the facts of the numeric columns, or of a single column of another type."""
    lazy = is_dask(X)
    head = _first_part(X.to_delayed()) if lazy else X
    if 0 in head.shape:
        raise ValueError(f"X is empty, of shape {tuple(head.shape)}: pass some samples.")

    numbers = numeric_columns(head)
    if numbers:
        cells = numbers_of(head, np.arange(len(head)), numbers)
        facts = _of_array(cells, picture=False)
    elif head.shape[1] == 1:
        facts = _of_samples(list(head[head.columns[0]]))
    else:
        raise ValueError(
            "X has no numeric columns: encode them first, for example with OneHotEncoder, or pass "
            "one column of strings."
        )
    if not lazy:
        return facts
    rows = len(head) * X.npartitions
    return facts._replace(rows=rows, wide=len(numbers) / rows, in_blocks=True)


def _first_part(parts: Any) -> Any:
    """Return the first part of a Dask collection that has rows, in memory."""
    for part in parts:
        rows = part.compute()
        if len(rows):
            break
    return rows


def _of_sparse(X: Any) -> DataFacts:
    """Return the facts of a sparse matrix: a graph, counts of documents, ratings, or a table."""
    X = X.tocsr()
    n, p = X.shape
    if 0 in X.shape:
        raise ValueError(f"X is empty, of shape {X.shape}: pass some samples.")
    if n == p and not X.diagonal().any() and (X != X.T).nnz == 0:
        return DataFacts("one graph", rows=n, columns=p)
    facts = _of_array(X[:N_ROWS, : 10 * N_COLUMNS].toarray(), picture=False)
    facts = facts._replace(kind="table", rows=n, columns=p, wide=p / n)
    if facts.values != "counts" or p <= 100 or X.nnz > 0.2 * n * p:
        return facts

    # Numbers up to 10 with a median of at least 2 look like ratings, whose empty cells are
    # missing; an empty cell of a table of counts is a zero
    if np.median(X.data) >= 2 and X.data.max() <= 10:
        return facts._replace(missing=1 - X.nnz / (n * p))
    return facts._replace(kind="document counts")


def _of_array(X: Any, *, picture: bool = True) -> DataFacts:
    """Return the facts of an array by its dimensions; `picture` if it may be an image."""
    n = X.shape[0]
    if X.ndim == 1 or (X.ndim == 2 and X.shape[1] == 1):
        if is_dask(X) or X.dtype.kind != "f" or not np.isnan(X).all():
            return DataFacts("one series", rows=None if n != n else n)
        raise ValueError("X has NaN in all cells.")
    if X.ndim == 3:
        if X.shape[2] in (3, 4) and min(X.shape[:2]) >= MIN_SIDE:
            return DataFacts("image", columns=X.shape[1])
        if min(X.shape[1:]) >= 8 and _is_smooth(X[0]) and _is_smooth(X[0].T):
            return DataFacts("film", rows=n)
        return DataFacts("series", rows=n, channels_first=X.shape[1] < X.shape[2])
    if X.ndim > 3:
        raise ValueError(
            f"X has {X.ndim} dimensions, but suggest accepts at most three: use "
            "X.reshape(len(X), -1)."
        )

    in_memory = isinstance(X, np.ndarray) and not is_on_disk(X)
    if picture and in_memory:
        kind = _kind_of_matrix(X)
        if kind:
            return DataFacts(kind, rows=n if kind != "image" else None, columns=X.shape[1])
    if np.isnan(n):  # a Dask array may have chunks of unknown length
        rows = _first_part(X.blocks[i] for i in range(X.numblocks[0]))
        n = len(rows) * X.numblocks[0]
    else:
        rows = np.asarray(X[:N_ROWS])
    if in_memory and n > N_ROWS:
        rows = np.concatenate([rows, X[N_ROWS :: -(-n // N_ROWS)]])
    return _of_table(rows)._replace(rows=n, columns=X.shape[1], wide=X.shape[1] / n)


def _kind_of_matrix(X: np.ndarray) -> str:
    """Return whether a matrix holds distances, the edges of a graph, or pixels."""
    n, p = X.shape
    if n == p >= 3 and not np.diagonal(X).any() and (X >= 0).all() and np.array_equal(X, X.T):
        return "one graph" if np.mean(X == 0) > 0.4 else "distances"
    many_levels = min(n, p) >= MIN_SIDE and len(np.unique(X[:50])) >= 10
    return "image" if many_levels and _is_smooth(X) and _is_smooth(X.T) else ""


def _is_smooth(X: Any) -> bool:
    """Return whether each row is closer to the next row than to later rows."""
    X = np.asarray(X, dtype=float)
    X = X - X.mean()
    near = np.mean((X[1:] - X[:-1]) ** 2)
    far = np.mean((X[4:] - X[:-4]) ** 2) if len(X) > 4 else 0.0
    return bool(near < np.mean(X**2) and near < 0.85 * far)


def _of_table(X: np.ndarray) -> DataFacts:
    """Return the facts of rows in memory, which begin with consecutive rows."""
    check_cells(X)
    known = ~np.isnan(X)
    facts = DataFacts(
        "table",
        values=_kind_of_values(X[known]),
        missing=float(1 - known.mean()),
        zeros=float(np.mean(X == 0)),
    )
    if facts.values == "Boolean" or len(X) < 5:
        return facts

    # Fill the gaps with medians, and standardise the columns that vary
    X = np.asarray(X[:, :N_COLUMNS], dtype=float)
    X = X[:, known[:, :N_COLUMNS].sum(axis=0) > 2]
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    if Z.shape[1] < 2:
        return facts
    return facts._replace(
        in_order=_in_order(Z[:N_ROWS]),
        broken=_broken(X),
        redundant=_redundant(Z),
        scale_ratio=scale_ratio(X),
    )


def _kind_of_values(values: np.ndarray) -> str:
    if values.dtype.kind == "b" or np.isin(values, (0, 1)).all():
        return "Boolean"
    if values.min() < 0:
        return "real"
    return "counts" if np.array_equal(values, np.round(values)) else "non-negative"


def _in_order(Z: np.ndarray) -> bool:
    """Return whether rows change little from one to the next, and more over four steps.

    If rows are sorted by class, the jumps between classes make them as different over one step as
    over four.
    """
    if len(Z) < 20:
        return False
    near = np.mean((Z[1:] - Z[:-1]) ** 2, axis=0) / 2
    far = np.mean((Z[4:] - Z[:-4]) ** 2, axis=0) / 2
    return bool(
        np.median(near) < 0.35 and np.median(near / np.maximum(far, SMALLEST_DIVISOR)) < 0.7
    )


def _broken(X: np.ndarray) -> float:
    """Return the fraction of the cells that are far outside columns without a long tail."""
    middle = np.median(X, axis=0)
    scale = MEDIAN_TO_STD * np.median(np.abs(X - middle), axis=0)
    if not scale.any():
        return 0.0
    Z = np.abs(X - middle)[:, scale > 0] / scale[scale > 0]
    far = Z > FAR_DEVIATIONS

    # In a long-tailed column, values fill the space between the bulk and the far cells
    between = ((Z > BULK_DEVIATIONS) & ~far).mean(axis=0)
    fraction = far.mean(axis=0)
    cells = far & (between <= 0.5 * fraction) & (fraction < 0.4)

    # The large entries of non-negative components occur in the same rows; broken cells do not
    of_row = cells.sum(axis=1)
    return float(cells.mean() if of_row.var() <= 2.5 * of_row.mean() else 0.0)


def _redundant(Z: np.ndarray) -> float:
    variances = np.linalg.eigvalsh(Z.T @ Z if len(Z) >= Z.shape[1] else Z @ Z.T)[::-1]
    needed = 1 + np.searchsorted(np.cumsum(variances), 0.9 * variances.sum())
    return float(1 - needed / len(variances))


def phrases(facts: DataFacts) -> dict[str, str]:
    """Return a phrase about the data for each fact."""
    return {
        "kind": facts.kind,
        "rows": f"{facts.rows:,} samples" if facts.rows is not None else "",
        "columns": f"{facts.columns:,} columns" if facts.columns is not None else "",
        "y": {"none": "no y", "one class": "y has one class"}.get(facts.y, f"y has {facts.y}"),
        "coded": "the classes 0, 1, 2, ... may have an order",
        "values": f"values are {facts.values}",
        "zeros": f"{facts.zeros:.0%} of the cells are zero",
        "missing": f"{facts.missing:.1%} of the cells are empty",
        "wide": f"{facts.wide:.1f} columns for each row",
        "in_blocks": "it is in chunks or on disk",
        "in_order": "neighbouring rows are alike",
        "broken": f"{facts.broken:.1%} of the cells are far outside their column",
        "redundant": f"columns are correlated: {1 - facts.redundant:.0%} of the components "
        "explain 90% of the variance",
        "views": f"{facts.views} tables of the same samples",
        "alphabet": f"{facts.alphabet} different letters",
        "words": f"{facts.words:.0f} words each",
    }
