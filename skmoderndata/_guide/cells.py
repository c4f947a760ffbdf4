"""Numbers of a table: the columns that have them, how they are read, and what they must be."""

from typing import Any

import numpy as np

from skmoderndata._estimator.validation import LARGEST


def numeric_columns(X: Any) -> list[int]:
    """Return the positions of the columns of real numbers and Boolean values."""
    if hasattr(X, "iloc"):  # pandas or Dask
        from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

        return [
            i
            for i, dtype in enumerate(X.dtypes)
            if (is_numeric_dtype(dtype) or is_bool_dtype(dtype))
            and not is_complex_dtype(dtype)
        ]
    if hasattr(X, "get_column"):  # polars
        return [
            i
            for i, dtype in enumerate(X.dtypes)
            if dtype.is_numeric() or str(dtype) == "Boolean"
        ]
    if X.dtype.kind == "O":
        return [i for i in range(X.shape[1]) if _is_number(X[:, i])]
    return list(range(X.shape[1])) if X.dtype.kind in "biuf" else []


def _is_number(column: np.ndarray) -> bool:
    """Return whether a column of objects contains only real numbers, None and NaN."""
    return all(
        cell is None or isinstance(cell, bool | int | float | np.number | np.bool_)
        for cell in column
    )


def numbers_of(X: Any, rows: np.ndarray, positions: Any) -> np.ndarray:
    """Return cells of a frame or array in memory, with NaN in gaps."""
    if hasattr(X, "iloc"):
        part = X.iloc[rows, positions]
        columns = [
            part.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
            for j in range(len(positions))
        ]
        return np.column_stack(columns)
    if hasattr(X, "get_column"):
        names = [X.columns[position] for position in positions]
        columns = [X.get_column(name).gather(rows).cast(float).to_numpy() for name in names]
        return np.column_stack(columns).astype(np.float64)
    if isinstance(X, np.ma.MaskedArray):
        return X[rows][:, positions].astype(np.float64).filled(np.nan)
    return np.array(X[rows][:, positions], dtype=np.float64)


def check_cells(values: np.ndarray) -> None:
    """Raise an error if no cell is known, or if no estimator accepts the magnitudes."""
    size = np.abs(values[~np.isnan(values)].astype(float))
    if size.size == 0:
        raise ValueError("X has NaN in all cells that were read: pass rows with known cells.")
    if np.isinf(size).any():
        raise ValueError(
            "X has infinite cells, which no estimator accepts: replace them by NaN first."
        )
    if size.max() > LARGEST or size[size > 0].min(initial=1.0) < 1 / LARGEST:
        raise ValueError(
            "X has cells beyond 1e100 or below 1e-100 in magnitude, which no estimator accepts: "
            "rescale the columns to other units, or replace the cells by NaN."
        )
