"""What the robust components share: the two terms, lists of wrong cells, hidden cells."""

from typing import NamedTuple

import numpy as np

FOLDS = 5  # groups of columns that `score` predicts in turn


class Decomposition(NamedTuple):
    """The terms of a matrix, ``low_rank + sparse`` (plus dense noise for the stable algorithm)."""

    low_rank: np.ndarray
    sparse: np.ndarray


def row_names_of(X):
    """Names of the rows of a DataFrame; None where they are numbered, or for arrays."""
    index = getattr(X, "index", None)
    if index is None or callable(index):
        return None
    names = np.asarray(index)
    return None if np.array_equal(names, np.arange(len(names))) else names


def list_cells(
    low_rank, sparse, noise_scale, *, rows=None, columns=None, weights=None, p_values_of=None
):
    """List the cells where `sparse` is not zero, the largest in units of the noise first.

    `rows` and `columns` are names; `weights` of the cells divide their noise;
    ``p_values_of(size)`` adds a column of p-values.
    """
    row, column = np.nonzero(sparse)
    error = sparse[row, column].astype(np.float64)
    expected = low_rank[row, column].astype(np.float64)
    with np.errstate(divide="ignore"):
        size = np.abs(error) / noise_scale.astype(np.float64)[column]
        if weights is not None:
            size *= np.sqrt(weights[row, column])
    order = np.lexsort((-np.abs(error), -size))

    cells = {
        "row": row if rows is None else rows[row],
        "column": column if columns is None else columns[column],
        "value": expected + error,
        "expected": expected,
        "size": size,
    }
    if p_values_of is not None:
        cells["p_value"] = p_values_of(size)
    return _as_table({name: values[order] for name, values in cells.items()})


def list_rows(distances, outlying, leverage, n_cells, *, rows=None):
    """List outlying rows and leverage points, the farthest first; `rows` are names."""
    order = np.argsort(-distances.max(axis=1), kind="stable")
    order = order[(outlying | leverage)[order]]
    verdict = np.where(outlying, "outlying", "leverage")[order]
    return _as_table(
        {
            "row": order if rows is None else rows[order],
            "score_distance": distances[order, 0],
            "residual": distances[order, 1],
            "verdict": verdict,
            "n_cells": n_cells[order],
        }
    )


def _as_table(columns):
    """Make a DataFrame, or without pandas a structured array."""
    try:
        import pandas as pd
    except ImportError:
        fields = [(name, values.dtype) for name, values in columns.items()]
        table = np.empty(len(columns["row"]), dtype=fields)
        for name, values in columns.items():
            table[name] = values
        return table
    return pd.DataFrame(columns)


def absolute_residuals(residual):
    """Sum the absolute residuals of each row, rescaled to all entries where some are NaN."""
    observed = ~np.isnan(residual)
    total = np.where(observed, np.abs(residual), 0.0).sum(axis=1)
    return total * (residual.shape[1] / np.maximum(observed.sum(axis=1), 1))


def score_of_hidden(X, components, mean, scores_of, weights=None):
    """Negative relative error of predicting columns that are hidden in turn, from the others.

    `scores_of` gives the scores of rows with NaN; `weights` of the cells are those of both sums.
    """
    observed = ~np.isnan(X)
    counts = observed if weights is None else np.where(observed, weights, 0.0)
    size = (counts * np.abs(np.where(observed, X - mean, 0.0))).sum()
    if size == 0:
        return 0.0

    error = 0.0
    for fold in range(FOLDS):
        hidden = slice(fold, None, FOLDS)
        shown = X.copy()
        shown[:, hidden] = np.nan
        guess = scores_of(shown) @ components[:, hidden] + mean[hidden]
        wrong = np.where(observed[:, hidden], X[:, hidden] - guess, 0.0)
        error += (counts[:, hidden] * np.abs(wrong)).sum()
    return -float(error / size)


def split_rows(X, low_rank, threshold):
    """Split rows into their low rank and the errors beyond a threshold, in the type of X."""
    residual = np.where(np.isnan(X), 0.0, X - low_rank)
    sparse = np.where(np.abs(residual) > threshold, residual, 0.0)
    return Decomposition(low_rank.astype(X.dtype, copy=False), sparse.astype(X.dtype))
