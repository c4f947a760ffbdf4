"""The table that `report` reads: numbers of a sample of rows, names, and code for columns."""

import json
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._estimator.scale import N_ENTRIES
from skmoderndata._guide.cells import check_cells, numbers_of, numeric_columns
from skmoderndata._guide.data_facts import N_COLUMNS
from skmoderndata._solvers.common.blocks import is_dask

# Maximum number of rows that are read.
MAX_ROWS = 10_000
# Minimum number of rows in the sample of a wide table.
MIN_SAMPLE = 500


class Table(NamedTuple):
    """Numbers of a table, without the columns that contain no numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Cells of the sample; NaN for empty cells.
    names : list of str
        Names of the columns on the page.
    positions : ndarray of shape (n_columns,)
        Positions of the columns in X.
    rows : list of str
        Names of the rows of the sample on the page.
    shape : tuple of int
        Numbers of all rows and columns of X.
    others : list of str
        Columns without numbers.
    kind : {"array", "list", "pandas", "equal names", "polars"}
        Container; "equal names" is a pandas frame that scikit-learn accepts only as an array.
    labels : list
        Names of all columns of X in code; positions if they cannot be named.
    """

    values: np.ndarray
    names: list[str]
    positions: np.ndarray
    rows: list[str]
    shape: tuple[int, int]
    others: list[str]
    kind: str
    labels: list[Any]

    def code(self, columns: np.ndarray) -> str:
        """Return code for some of the columns, "X" for all columns of X."""
        source = "np.asarray(X)" if self.kind == "list" else "X"
        if len(columns) == self.shape[1]:
            return f"{source}.to_numpy()" if self.kind == "equal names" else source
        return self._selected(source, self.labels_of(columns))

    def labels_of(self, columns: np.ndarray) -> list[Any]:
        """Return the names or positions that code uses for some of the columns."""
        return [self.labels[position] for position in self.positions[columns]]

    def _selected(self, source: str, labels: list[Any]) -> str:
        if self.kind == "equal names":
            return f"{source}.iloc[:, {literal(labels)}].to_numpy()"
        if self.kind == "polars" or (self.kind == "pandas" and isinstance(labels[0], str)):
            return f"{source}[{literal(labels)}]"
        if self.kind == "pandas":
            return f"{source}.iloc[:, {literal(labels)}]"
        return f"{source}[:, {literal(labels)}]"


def literal(values: list[Any]) -> str:
    """Return the Python source of a list of strings or whole numbers."""
    shown = [
        json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(int(value))
        for value in values
    ]
    return f"[{', '.join(shown)}]"


def read_table(X: Any, random_state: int) -> Table:
    """Read a sample of the rows and columns of numbers, or raise an error that says why not."""
    kind = _kind(X)
    if kind == "list":
        X = _array_of_list(X)
    n, p = _checked_shape(X)

    # 1. Find the numeric columns; sample columns and rows, and keep their order
    rng = np.random.default_rng(random_state)
    numeric = numeric_columns(X)
    if not numeric:
        raise ValueError(
            "X has no column of numbers: encode the columns first, for example with OneHotEncoder."
        )
    others = [position for position in range(p) if position not in set(numeric)]
    positions = _sample(rng, np.array(numeric), N_COLUMNS)
    largest = min(MAX_ROWS, max(MIN_SAMPLE, N_ENTRIES // len(positions)))
    rows = _sample(rng, np.arange(n), largest)

    # 2. Read the numbers
    values = numbers_of(X, rows, positions)
    check_cells(values)

    # 3. Read the names
    columns = list(X.columns) if kind in ("pandas", "polars") else list(range(p))
    named = all(isinstance(name, str) for name in columns) and len(set(columns)) == p
    return Table(
        values=values,
        names=[_column_name(columns[position]) for position in positions],
        positions=positions,
        rows=_row_names(X, kind, rows),
        shape=(n, p),
        others=[str(columns[position]) for position in others],
        kind="equal names" if kind == "pandas" and len(set(columns)) < p else kind,
        labels=columns if named else list(range(p)),
    )


def _kind(X: Any) -> str:
    """Return the kind of the container, or raise an error that says what to pass instead."""
    # Reject tables that are not in memory or cannot have gaps
    if is_dask(X) or (hasattr(X, "dask") and hasattr(X, "compute")):
        raise TypeError(
            "X is a Dask collection, but report accepts only tables in memory: pass some rows, "
            "such as X[:10000].compute() of an array or X.head(10000) of a data frame."
        )
    if sparse.issparse(X):
        raise TypeError(
            "X is a sparse matrix, but report accepts only dense tables: pass some rows, such as "
            "X[:1000].toarray()."
        )
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise TypeError(
            "X is a lazy frame of polars: pass X.collect() or X.head(n).collect()."
        )

    # Identify the type of a table in memory by its attributes; exclude classes, which have the
    # same attributes
    is_instance = not isinstance(X, type)
    if is_instance and hasattr(X, "iloc") and hasattr(X, "columns"):
        return "pandas"
    if is_instance and hasattr(X, "columns") and hasattr(X, "get_column"):
        return "polars"
    if isinstance(X, list | tuple):
        return "list"
    if isinstance(X, np.ndarray):
        return "array"
    remedy = "X.to_frame()" if hasattr(X, "to_frame") else "pandas.DataFrame(X)"
    raise TypeError(
        f"X is of type {type(X).__name__}, but report accepts frames of pandas or polars, and "
        f"arrays: convert X first, for example by {remedy}."
    )


def _array_of_list(X: Any) -> np.ndarray:
    try:
        return np.array(X)
    except ValueError as error:
        raise ValueError("The rows of X have different lengths: X is not a table.") from error


def _checked_shape(X: Any) -> tuple[int, int]:
    if len(X.shape) != 2:
        raise ValueError(
            f"X has {len(X.shape)} dimension(s), but report accepts tables, which have two: use "
            "numpy.reshape(X, (len(X), -1)) for numbers, pandas.DataFrame(X) for records."
        )
    if 0 in X.shape:
        raise ValueError(
            f"X is empty, of shape {tuple(X.shape)}: report needs at least one row and one column."
        )
    return int(X.shape[0]), int(X.shape[1])


def _sample(rng: np.random.Generator, positions: np.ndarray, largest: int) -> np.ndarray:
    """Return a sample of no more than `largest` positions, in their order."""
    if len(positions) <= largest:
        return positions
    return positions[np.sort(rng.choice(len(positions), largest, replace=False))]


def _column_name(name: Any) -> str:
    return str(name) if isinstance(name, str | tuple) else f"column {name}"


def _row_names(X: Any, kind: str, rows: np.ndarray) -> list[str]:
    """Return the labels of a pandas index, otherwise positions."""
    if kind == "pandas":
        return [str(label) for label in X.index[rows]]
    return [str(row) for row in rows]
