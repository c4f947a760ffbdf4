"""Facts of data that decide which methods are for them; read from some of the rows."""

import ast
import itertools
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from skmoderndata._solvers.common.blocks import is_dask, is_on_disk

N_ROWS = 2000  # that are looked at
N_NEAR = 400  # of which neighbours are looked for
N_COLUMNS = 300
FAR_DEVIATIONS = 8.0  # deviations, from the median absolute one, of a cell that is far out
BULK_DEVIATIONS = 4.5  # deviations within which the other cells of its column are
FAR_ROW_DEVIATIONS = 5.0
GRADES = {
    "bad good",
    "bad good ok",
    "high low",
    "high low medium",
    "high low moderate",
    "fair good poor",
    "mild moderate severe",
    "large medium small",
}


class DataFacts(NamedTuple):
    """What decides between methods; what does not apply is None, "" or False.

    Attributes
    ----------
    kind : str
        "table", "image", "film", "one series", "series", "strings", "texts", "document counts",
        "sequences", "trees", "graphs", "one graph", "sets", "views", "kernels", "distances",
        "stream" or "objects".
    rows, columns : int or None
        Numbers of samples and of columns.
    y : str
        "none", "one class", "classes", "ranks" (an order is told) or "numbers".
    values : str
        "Boolean", "counts", "non-negative", "real" or "ratings".
    missing : float
        Share of the cells without a value.
    wide : float
        Columns for each row.
    in_blocks : bool
        Whether it is an array of Dask, or on a disk.
    in_order : bool
        Whether neighbouring rows are alike, and the more so the nearer, as in a series.
    row_shape : str
        "image" or "signal" if the cells of a row are pixels or steps, which neighbours tell.
    far_cells, far_rows : float
        Shares of single cells, and of whole rows, that are far outside all others.
    clusters : str
        "round" or "not round" if groups stand apart.
    curved : bool
        Whether rows lie near a bent surface of few dimensions.
    incoherent : bool
        Whether columns are as unlike as random ones.
    distinct : float
        Share of the rows that are different from all others before them.
    one_scale : bool
        Whether the columns might have one unit.
    views : int
        Number of tables for the same samples.
    alphabet : int
        Number of different letters or symbols.
    words : float
        Words of a text in the mean.
    """

    kind: str
    rows: int | None = None
    columns: int | None = None
    y: str = "none"
    values: str = ""
    missing: float = 0.0
    wide: float = 0.0
    in_blocks: bool = False
    in_order: bool = False
    row_shape: str = ""
    far_cells: float = 0.0
    far_rows: float = 0.0
    clusters: str = ""
    curved: bool = False
    incoherent: bool = False
    distinct: float = 1.0
    one_scale: bool = True
    views: int = 1
    alphabet: int = 0
    words: float = 0.0


def data_facts(X: Any, y: Any = None) -> DataFacts:
    """Look at some of the rows, and at y.

    Parameters
    ----------
    X : table, series, strings, trees, graphs, sets, or list of tables
        As estimators and kernels take them, Dask arrays and memory maps included.
    y : array-like of shape (n_samples,), default=None
        Classes, ranks as an ordered categorical, or numbers.

    Raises
    ------
    ValueError
        If X is empty, or y has another length.
    TypeError
        If X is not a collection of samples.
    """
    of_X = _facts(X)
    _check_target(y, of_X.rows)
    return of_X._replace(y=_kind_of_target(y))


def _facts(X: Any) -> DataFacts:
    """Facts of X by its type."""
    # types that tell what they are
    if isinstance(X, Iterator):
        return DataFacts("stream")
    if hasattr(X, "nodes") and hasattr(X, "edges"):
        return DataFacts("one graph", rows=len(X.nodes))
    if sparse.issparse(X):
        return _of_sparse(X.tocsr())
    if hasattr(X, "dask") and hasattr(X, "to_dask_array"):
        raise TypeError("X is a Dask data frame: give X.to_dask_array(lengths=True).")
    if hasattr(X, "dtypes") and hasattr(X, "columns"):  # a data frame
        return _of_frame(X)

    # arrays of numbers, and collections of anything else
    in_blocks = is_dask(X) or is_on_disk(X)
    if (
        isinstance(X, str | bytes | dict)
        or not hasattr(X, "__len__")
        or (getattr(X, "ndim", 1) == 0)
    ):
        raise TypeError(
            f"suggest needs a collection of samples, and X is of type {type(X).__name__}: give a "
            "table, or a list of strings, series, trees, graphs or sets."
        )
    if len(X) == 0:
        raise ValueError("X is empty: give some samples.")
    if isinstance(X, np.ndarray) and not in_blocks and X.dtype.kind not in "biuf":
        X = _numbers_if_any(X)
    if in_blocks or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        return _of_array(X, in_blocks)
    return _of_objects(list(X))


def _numbers_if_any(X: np.ndarray) -> np.ndarray:
    """Return a table of objects as numbers; samples of other kinds as they are."""
    if X.dtype.kind in "cmM":
        raise TypeError(f"X holds values of type {X.dtype}: suggest takes real numbers.")
    if X.ndim == 1:
        return X
    try:
        return X.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X has cells that are no numbers: encode them first, as by OneHotEncoder, or give a "
            "data frame, of which the columns of numbers count."
        ) from error


# Target


def _check_target(y: Any, n: int | None) -> None:
    """Refuse a y of another length, or without a value for some samples."""
    if y is None:
        return
    if sparse.issparse(y) or not hasattr(y, "__len__") or getattr(y, "ndim", 1) == 0:
        raise TypeError(
            f"y is of type {type(y).__name__}, and should be an array or list with one entry for "
            "each sample."
        )
    if n is not None and len(y) != n:
        raise ValueError(
            f"X has {n} samples, and y {len(y)}: y needs one entry for each sample."
        )

    # NaN is the only value that differs from itself; pandas has one that compares with nothing
    values = np.asarray(y)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    else:
        missing = np.array([v is None or str(v) in ("nan", "<NA>") for v in values.flat])
    if missing.any():
        raise ValueError(
            f"y has no value for {int(missing.sum())} of {len(values)} samples: leave these out "
            "of X and y."
        )


def _kind_of_target(y: Any) -> str:
    """Kind of y, by its type and by how often values repeat."""
    # an order that is told
    if y is None:
        return "none"
    dtype = getattr(y, "dtype", None)
    if getattr(getattr(y, "cat", y), "ordered", False) or getattr(dtype, "ordered", False):
        return "ranks"

    # different values
    values = np.asarray(y)
    if values.ndim > 1 and values.shape[1] > 1:
        return "numbers"
    values = values.astype(str) if values.dtype.kind == "O" else values
    distinct = np.unique(values)
    if len(distinct) == 1:
        return "one class"

    # names are classes, and few whole numbers
    texts = distinct.dtype.kind not in "iuf"
    if texts and " ".join(sorted(str(name).lower() for name in distinct)) in GRADES:
        return "ranks"
    few = len(distinct) <= 20 and len(distinct) < len(values) / 2
    whole = texts or np.array_equal(distinct, np.round(distinct))
    return "classes" if texts or (few and whole) else "numbers"


# Samples that are no rows of a table


def _of_objects(X: list[Any]) -> DataFacts:
    """Facts of a list of strings, series, trees, graphs, sets or tables."""
    samples = [x for x in X if not _is_missing(x)]
    n = len(X)
    _check_samples(samples, n)

    # types that tell what they are
    first = samples[0]
    if isinstance(first, str):
        return _of_strings(samples, n)
    if isinstance(first, set | frozenset):
        return DataFacts("sets", rows=n)
    if _is_tree(first):
        return DataFacts("trees", rows=n)
    if hasattr(first, "nodes") or _is_graph_tuple(first):
        return DataFacts("graphs", rows=n)
    if np.isscalar(first):
        return _of_array(np.asarray(X, dtype=float), False)
    if not hasattr(first, "__len__"):
        return DataFacts("objects", rows=n)

    if isinstance(first, list | tuple):
        return _of_lists(samples, n)
    return _of_arrays([x if sparse.issparse(x) else np.asarray(x) for x in samples], n)


def _check_samples(samples: list[Any], n: int) -> None:
    """Refuse samples of length zero, and bytes."""
    if not samples or all(hasattr(x, "__len__") and len(x) == 0 for x in samples):
        raise ValueError(f"All {n} samples of X are empty: give some that are not.")
    if any(isinstance(x, bytes) for x in samples):
        raise TypeError("X holds bytes: decode them, as by [x.decode() for x in X].")
    texts = [isinstance(x, str) for x in samples]
    if any(texts) and not all(texts):
        other = samples[texts.index(False)]
        raise TypeError(
            f"X mixes strings and other samples, such as {other!r}: use one type for all."
        )


def _is_missing(x: Any) -> bool:
    """Whether a sample is None, NaN or the NA of pandas."""
    return x is None or (np.isscalar(x) and x != x) or str(type(x).__name__) == "NAType"


def _of_lists(samples: list[Any], n: int) -> DataFacts:
    """Facts of lists of symbols or numbers: sequences, series, or rows of a table."""
    symbol = next(x for x in samples if len(x))[0]
    if not np.isscalar(symbol):
        return DataFacts("objects", rows=n)

    one_length = len({len(x) for x in samples}) == 1
    if one_length and not isinstance(symbol, str):
        return _of_array(np.asarray(samples, dtype=float), False)
    if _is_symbol(symbol):
        return DataFacts("sequences", rows=n, alphabet=len({s for x in samples for s in x}))
    return _of_arrays([np.asarray(x) for x in samples], n)


def _is_symbol(value: Any) -> bool:
    return isinstance(value, str | int | np.integer)


def _is_tree(x: Any) -> bool:
    if isinstance(x, ast.AST) or callable(getattr(x, "label", None)):
        return True
    if hasattr(x, "tag") and hasattr(x, "iter"):  # of ElementTree
        return True
    if hasattr(x, "successors") and hasattr(x, "nodes"):  # of networkx
        return len(x.edges) == len(x.nodes) - 1
    nested = isinstance(x, tuple | list) and len(x) > 0 and isinstance(x[0], str)
    leaf = isinstance(x, tuple) and len(x) == 1  # a list of one string is a sequence
    return nested and (leaf or any(isinstance(child, tuple | list) for child in x[1:]))


def _is_graph_tuple(x: Any) -> bool:
    """Whether x is (edges or adjacency, labels of the nodes, ...), as graph kernels take it."""
    if not isinstance(x, tuple) or len(x) < 2 or isinstance(x[0], str):
        return False
    square = getattr(x[0], "ndim", 0) == 2 and x[0].shape[0] == x[0].shape[1]
    return square or (hasattr(x[1], "__len__") and not np.isscalar(x[0]) and len(x) <= 4)


def _of_strings(samples: list[str], n: int) -> DataFacts:
    some = samples[:N_ROWS]
    words = float(np.mean([len(text.split()) for text in some]))
    letters = {letter for text in some for letter in text if not letter.isspace()}
    return DataFacts(
        "texts" if words >= 2 else "strings", rows=n, alphabet=len(letters), words=words
    )


def _of_arrays(arrays: list[Any], n: int) -> DataFacts:
    """Facts of a list of arrays: views of the same samples, kernel matrices, or series."""
    tables = [array for array in arrays if array.ndim == 2]
    lengths = {array.shape[0] for array in tables}
    same_rows = len(tables) == len(arrays) and len(lengths) == 1
    if same_rows and n <= 10 and n < next(iter(lengths)):
        square = all(table.shape[0] == table.shape[1] for table in tables)
        kind = "kernels" if square else "views"
        columns = max(table.shape[1] for table in tables)
        rows = next(iter(lengths))
        return DataFacts(kind, rows=rows, columns=columns, wide=columns / rows, views=n)
    return DataFacts("series", rows=n)


# Tables


def _of_frame(X: Any) -> DataFacts:
    """Facts of the columns of numbers, or of a single column of anything else."""
    _check_size(X.shape)
    names = list(X.columns)
    numbers = _columns_of_numbers(X)
    if not numbers:
        if len(names) == 1:
            return _of_objects(list(X[names[0]]))
        raise ValueError(
            "X has no columns of numbers: encode them first, or give one column of strings."
        )

    # what is not looked at is told
    others = [str(name) for name in names if name not in numbers]
    if others:
        told = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
        warnings.warn(
            f"{len(others)} of {len(names)} columns hold no numbers, and suggest does not look at "
            f"them: {told}. Encode them, as by OneHotEncoder, before an estimator takes X.",
            stacklevel=4,
        )
    return _of_array(np.column_stack(list(numbers.values())), False)


def _columns_of_numbers(X: Any) -> dict[Any, np.ndarray]:
    """Columns of numbers by name; pandas' own types of numbers become floats."""
    if hasattr(X, "select_dtypes"):
        X = X.select_dtypes(["number", "bool"])
        return dict(zip(X.columns, X.to_numpy(dtype=float).T, strict=True))
    columns = {name: np.asarray(X[name]) for name in X.columns}
    return {name: column for name, column in columns.items() if column.dtype.kind in "biuf"}


def _of_sparse(X: Any) -> DataFacts:
    """Facts of a sparse matrix: a graph, counts of documents, ratings, or a table."""
    # edges of a graph
    _check_size(X.shape)
    n, p = X.shape
    if n == p and (X != X.T).nnz == 0 and not X.diagonal().any():
        return DataFacts("one graph", rows=n, columns=p)
    values = X.data[: N_ROWS * N_COLUMNS]
    facts = _of_table(X[:N_ROWS, : 10 * N_COLUMNS].toarray())
    facts = facts._replace(rows=n, columns=p, wide=p / n)

    # counts of words, or stars, of which most are not there
    counts = facts.values in ("counts", "Boolean")
    if counts and p > 100 and X.nnz < 0.2 * n * p and values.max() > 1:
        if np.median(values) >= 2 and values.max() <= 10:  # an empty cell is no rating of zero
            return facts._replace(values="ratings", missing=1 - X.nnz / (n * p))
        return facts._replace(kind="document counts")
    return facts


def _of_array(X: Any, in_blocks: bool) -> DataFacts:
    """Facts of an array by its number of dimensions."""
    _check_size(X.shape)
    n = X.shape[0]
    # series, films, images
    if X.ndim == 1 or (X.ndim == 2 and X.shape[1] == 1):
        return DataFacts("one series", rows=None)
    if X.ndim == 3:
        if X.shape[2] in (3, 4) and min(X.shape[:2]) >= 32:
            return DataFacts("image", columns=X.shape[1])
        frames = np.asarray(X[: min(n, 50)], dtype=float)
        pictures = min(X.shape[1:]) >= 8 and _is_smooth(frames[0]) and _is_smooth(frames[0].T)
        return DataFacts("film" if pictures else "series", rows=n)
    if X.ndim > 3:
        raise ValueError(f"X has {X.ndim} dimensions: suggest takes tables, series and films.")

    # what is square, what is smooth in both directions, and plain tables
    rows = np.asarray(X[:N_ROWS] if in_blocks else X)
    if not in_blocks and _square_kind(rows):
        return DataFacts(_square_kind(rows), rows=n, columns=n)
    if not in_blocks and min(rows.shape) >= 32 and _is_picture(rows):
        return DataFacts("image", columns=X.shape[1])
    facts = _of_table(rows)
    return facts._replace(
        rows=n,
        columns=X.shape[1],
        wide=X.shape[1] / n,
        in_blocks=in_blocks,
        curved=facts.curved,
    )


def _check_size(shape: tuple[int, ...]) -> None:
    if 0 in shape:
        raise ValueError(
            f"X is empty, of shape {tuple(shape)}: give some samples of one column at least."
        )


def _square_kind(X: np.ndarray) -> str:
    """Say whether a square matrix has distances, kernel values or the edges of a graph."""
    n, p = X.shape
    if n != p or n < 3 or not np.isfinite(X).all() or not np.allclose(X, X.T):
        return ""
    diagonal = np.diagonal(X)
    if not diagonal.any() and (X >= 0).all():
        return "one graph" if np.mean(X == 0) > 0.4 else "distances"
    if (diagonal < 0).any():
        return ""
    largest = np.sqrt(np.outer(diagonal, diagonal)) + 1e-9
    return "kernels" if (np.abs(X) <= largest).all() else ""


def _is_picture(X: np.ndarray) -> bool:
    """Whether neighbouring rows and neighbouring columns are alike."""
    if not np.isfinite(X).all() or len(np.unique(X[:50])) < 10:
        return False
    return _is_smooth(X) and _is_smooth(X.T) and _one_scale(X)


def _is_smooth(X: np.ndarray) -> bool:
    """Whether columns go on from row to row; and the more alike the nearer."""
    X = X - X.mean()
    total = np.mean(X**2)
    if total == 0:
        return False
    near = np.mean((X[1:] - X[:-1]) ** 2) / (2 * total)
    far = np.mean((X[4:] - X[:-4]) ** 2) / (2 * total)
    return bool(near < 0.5 and near < 0.85 * far)


def _one_scale(X: np.ndarray) -> bool:
    """Whether all columns have about one scale, as pixels have."""
    spread = X.std(axis=0)
    return bool(spread.min() > 0 and np.quantile(spread, 0.8) < 7 * np.quantile(spread, 0.2))


def _of_table(X: np.ndarray) -> DataFacts:
    """Facts of rows in memory; of many some are taken."""
    # gaps, and values
    known = ~np.isnan(X) if X.dtype.kind == "f" else np.ones(X.shape, dtype=bool)
    missing = float(1 - known.mean())
    if missing == 1:
        raise ValueError(
            "X has NaN in all cells that were looked at: there is nothing to go by."
        )
    if X.dtype.kind == "f" and np.isinf(X).any():
        raise ValueError("X has infinite cells, which no estimator takes: set them to NaN.")
    values = _kind_of_values(X[known])
    head = np.asarray(X[:N_ROWS, :N_COLUMNS], dtype=float)
    if values == "Boolean" or missing > 0:
        distinct = len(np.unique(head, axis=0)) / len(head)
        return DataFacts("table", values=values, missing=missing, distinct=distinct)

    # neighbouring rows and cells; rows in random order for the rest
    in_order = _in_order(head)
    rows = np.random.default_rng(0).permutation(len(X))[:N_ROWS]
    some = np.asarray(X[np.sort(rows)][:, :N_COLUMNS], dtype=float)
    spread = some.std(axis=0)
    if (spread > 0).sum() < 2 or len(some) < 5:
        return DataFacts("table", values=values, in_order=in_order)

    # columns that vary, of one scale
    row_shape = _row_shape((some - some.mean(axis=0)) / np.where(spread > 0, spread, 1))
    some = some[:, spread > 0]
    scaled = (some - some.mean(axis=0)) / some.std(axis=0)
    far_cells, far_rows = _far(some)
    near = scaled[:: -(-len(scaled) // N_NEAR)]
    return DataFacts(
        "table",
        values=values,
        in_order=in_order,
        row_shape=row_shape,
        far_cells=far_cells,
        far_rows=far_rows,
        clusters=_clusters(near),
        curved=_is_curved(near),
        incoherent=_is_incoherent(scaled),
        distinct=len(np.unique(head, axis=0)) / len(head),
        one_scale=_one_scale(some),
    )


def _kind_of_values(values: np.ndarray) -> str:
    if values.size == 0:
        return "real"
    if values.dtype.kind == "b" or np.isin(values, (0, 1)).all():
        return "Boolean"
    if values.min() < 0:
        return "real"
    return "counts" if np.array_equal(values, np.round(values)) else "non-negative"


def _in_order(X: np.ndarray) -> bool:
    """Whether rows change little from one to the next, and more over longer times.

    Rows sorted by class, between which the classes jump, are as unlike over one step as over
    four.
    """
    X = X[:, X.std(axis=0) > 0]
    if len(X) < 20 or X.shape[1] == 0:
        return False
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    near = np.mean((X[1:] - X[:-1]) ** 2, axis=0) / 2
    far = np.mean((X[4:] - X[:-4]) ** 2, axis=0) / 2
    return bool(np.median(near) < 0.35 and np.median(near / np.maximum(far, 1e-12)) < 0.7)


def _row_shape(X: np.ndarray) -> str:
    """Say whether cells of a row are pixels of a square or steps, by what neighbours share."""
    n, p = X.shape
    if p < 16 or n < 10:
        return ""
    correlation = np.abs(X.T @ X) / n
    next_to = np.diagonal(correlation, 1).mean()
    any_two = (correlation.sum() - p) / (p * (p - 1))
    if next_to < any_two + 0.15:
        return ""

    # one row of pixels further
    for width in range(max(4, int(np.sqrt(p) / 2)), int(2 * np.sqrt(p)) + 1):
        lags = (width // 2, width - 2, width)
        half, before, one_row = (np.diagonal(correlation, lag).mean() for lag in lags)
        if p % width == 0 and one_row > max(half, before) + 0.03:
            return "image"
    return "signal"


def _far(X: np.ndarray) -> tuple[float, float]:
    """Shares of cells and of rows that are far out where all others are not."""
    middle = np.median(X, axis=0)
    scale = 1.4826 * np.median(np.abs(X - middle), axis=0)
    usable = scale > 0
    if not usable.any():
        return 0.0, 0.0
    Z = np.abs(X[:, usable] - middle[usable]) / scale[usable]

    # cells far out, of columns in which the others are not
    far = Z > FAR_DEVIATIONS
    share = far.mean(axis=0)
    below = np.maximum(0.5, 0.98 - 1.2 * share)
    bulk = np.array([np.quantile(z, level) for z, level in zip(Z.T, below, strict=True)])
    tails = ((Z > BULK_DEVIATIONS) & ~far).mean(
        axis=0
    ) > 0.5 * share  # which go on without a gap
    cells = far & (bulk < BULK_DEVIATIONS) & ~tails

    # rows of which most cells are out, but not far out one by one
    size = np.sqrt(np.mean(np.minimum(Z, 20.0) ** 2, axis=1))
    typical = np.median(size)
    rows = size > typical + FAR_ROW_DEVIATIONS * 1.4826 * np.median(np.abs(size - typical))
    whole = rows & ((Z > 3).mean(axis=1) > 0.3)
    cells = cells[~whole]

    # single cells are spread over the rows; parts of non-negative data come together
    of_row = cells.sum(axis=1)
    together = cells.any() and of_row.var() > 2.5 * of_row.mean()
    return float(0.0 if together or cells.size == 0 else cells.mean()), float(whole.mean())


def _near_distances(X: np.ndarray) -> np.ndarray:
    squares = np.einsum("ij,ij->i", X, X)
    D = np.sqrt(np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0))
    np.fill_diagonal(D, np.inf)
    return D


def _clusters(X: np.ndarray) -> str:
    """Say whether groups stand apart: those of neighbours, and whether k-means finds them."""
    n = len(X)
    if n < 30:
        return ""
    # groups that no neighbours join
    D = _near_distances(X)
    nearest = np.argsort(D, axis=1)[:, :6]
    graph = sparse.csr_array(
        (np.ones(nearest.size), (np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel())),
        shape=(n, n),
    )
    labels = connected_components(graph, directed=False)[1]
    size = np.bincount(labels)
    groups = np.flatnonzero(size >= 0.05 * n)
    if len(groups) < 2 or size[groups].sum() < 0.9 * n:
        return ""

    # round if all samples of a group are nearest to its own mean
    inside = np.isin(labels, groups)
    means = np.array([X[labels == group].mean(axis=0) for group in groups])
    to_means = ((X[inside, None] - means) ** 2).sum(axis=2)
    own = groups[to_means.argmin(axis=1)] == labels[inside]
    return "round" if own.mean() > 0.97 else "not round"


def _is_curved(X: np.ndarray) -> bool:
    """Whether the dimension among neighbours is well below that of the whole [two nearest]."""
    n = len(X)
    if n < 50 or X.shape[1] < 3:
        return False
    # dimension by the ratio of the distances of two neighbours
    near = np.sort(_near_distances(X), axis=1)[:, :2]
    near = near[near[:, 0] > 0]
    if len(near) < 50:
        return False
    ratio = np.log(np.maximum(near[:, 1] / near[:, 0], 1 + 1e-12))
    dimension = len(ratio) / ratio.sum()

    # against that of a plane with most of the variance
    variances = np.linalg.eigvalsh(X.T @ X)[::-1]
    linear = 1 + int(np.searchsorted(np.cumsum(variances), 0.95 * variances.sum()))
    return bool(dimension < 3 and linear >= dimension + 0.6)


def _is_incoherent(X: np.ndarray) -> bool:
    """Whether columns are about as correlated as random ones of that length."""
    n, p = X.shape
    if p < 10:
        return False
    squares = (X.T @ X / n) ** 2
    mean = (squares.sum() - p) / (p * (p - 1))
    return bool(mean < 1.5 / n)


def phrases(facts: DataFacts) -> Iterator[tuple[str, str]]:
    """Yield the name of a fact, and what it says of the data."""
    # name of the fact -> what it says
    told = {
        "kind": facts.kind,
        "rows": f"{facts.rows:,} samples" if facts.rows is not None else "",
        "columns": f"{facts.columns:,} columns" if facts.columns is not None else "",
        "y": {"none": "no y", "one class": "y has one class"}.get(facts.y, f"y has {facts.y}"),
        "values": f"values are {facts.values}",
        "missing": f"{facts.missing:.0%} of the cells are empty",
        "wide": f"{facts.wide:.1f} columns for each row",
        "in_blocks": "it is not in memory",
        "in_order": "neighbouring rows are alike",
        "row_shape": f"each row looks like an {facts.row_shape}".replace(
            "an signal", "a signal"
        ),
        "far_cells": f"{facts.far_cells:.1%} of the cells are far outside their column",
        "far_rows": f"{facts.far_rows:.1%} of the rows are far outside",
        "clusters": f"groups stand apart and are {facts.clusters}",
        "curved": "rows lie near a bent surface",
        "incoherent": "columns are as unlike as random ones",
        "distinct": f"{facts.distinct:.0%} of the rows are different",
        "one_scale": "columns have one scale",
        "views": f"{facts.views} views",
        "alphabet": f"{facts.alphabet} different letters",
        "words": f"{facts.words:.0f} words each",
    }
    yield from itertools.chain(told.items())
