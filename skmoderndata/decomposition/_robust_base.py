"""Shared parts of the robust components: terms, lists of wrong cells, hidden cells, warnings."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import stats

from skmoderndata._estimator.base import warn_fewer, warn_not_converged
from skmoderndata._estimator.doubt import record_doubt
from skmoderndata._solvers.common.quantities import N_FOLDS
from skmoderndata._solvers.lowrank.table_units import in_units

# Maximum fraction of the entries of an exact table that may be errors; pursuit never recovers a
# table with more errors.
MOST_MARKED = 0.5
# Minimum size of the smaller side of a table at which errors can be detected.
LEAST_SIDE = 8
# Maximum ratio of the number of components to the number of components above the noise.
MOST_OF_RANK = 2
# Number of components, as a fraction of the smaller side of a table, from which they leave no
# freedom to detect errors.
MOST_OF_SIDE = 0.5


class Decomposition(NamedTuple):
    """Terms of a matrix, ``low_rank + sparse`` (plus dense noise for the stable algorithm)."""

    low_rank: np.ndarray
    sparse: np.ndarray


def row_names_of(X):
    """Return the row names of a DataFrame; None for numbered rows and for arrays."""
    index = getattr(X, "index", None)
    if index is None or callable(index):
        return None
    names = np.asarray(index)
    return None if np.array_equal(names, np.arange(len(names))) else names


def list_cells(
    low_rank, sparse, noise_scale, *, rows=None, columns=None, weights=None, p_values_of=None
):
    """List the cells in which `sparse` is not zero, the largest in units of the noise first.

    `rows` and `columns` are names. `weights` of the cells divide their noise variance. If
    `p_values_of` is not None, ``p_values_of(size)`` adds a column of p-values.
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
    """Return a DataFrame, or a structured array if pandas is not installed."""
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
    """Sum the absolute residuals of each row, rescaled to all entries if some are NaN."""
    observed = ~np.isnan(residual)
    total = np.where(observed, np.abs(residual), 0.0).sum(axis=1)
    return total * (residual.shape[1] / np.maximum(observed.sum(axis=1), 1))


def score_of_hidden(X, components, mean, scores_of, weights=None):
    """Return the negative relative error of predictions of hidden columns from visible ones.

    Groups of columns are hidden in turn. `scores_of` computes the scores of rows with NaN; the
    `weights` of the cells apply to errors and deviations.
    """
    observed = ~np.isnan(X)
    counts = observed if weights is None else np.where(observed, weights, 0.0)
    size = (counts * np.abs(np.where(observed, X - mean, 0.0))).sum()
    if size == 0:
        return 0.0

    error = 0.0
    for fold in range(N_FOLDS):
        hidden = slice(fold, None, N_FOLDS)
        shown = X.copy()
        shown[:, hidden] = np.nan
        guess = scores_of(shown) @ components[:, hidden] + mean[hidden]
        wrong = np.where(observed[:, hidden], X[:, hidden] - guess, 0.0)
        error += (counts[:, hidden] * np.abs(wrong)).sum()
    return -float(error / size)


def split_rows(X, low_rank, threshold):
    """Split rows into a low-rank part and the errors beyond a threshold, in the type of X."""
    residual = np.where(np.isnan(X), 0.0, X - low_rank)
    sparse = np.where(np.abs(residual) > threshold, residual, 0.0)
    return Decomposition(low_rank.astype(X.dtype, copy=False), sparse.astype(X.dtype))


def column_medians(data):
    """Return the medians of the observed entries; 0 for columns without observed entries."""
    medians = np.zeros(data.shape[1])
    known = ~np.isnan(data).all(axis=0)
    medians[known] = np.nanmedian(data[:, known], axis=0)
    return medians


def terms_in_units(terms, verdict, spread):
    """Convert terms, and the verdict on the rows, from units of the columns to user units."""
    terms, turn = in_units(terms, spread)
    if verdict is not None:
        noise_scale = verdict.terms.noise_scale * spread
        verdict = verdict._replace(
            terms=verdict.terms._replace(noise_scale=noise_scale),
            map=verdict.map.turned(turn, terms.s),
        )
    return terms, verdict


def tail_of_student():
    """Return the ninth decile over the median of absolute values, for three degrees of freedom."""
    middle, high = stats.t(3).isf([0.25, 0.05])
    return high / middle


class WarnsOfDoubt:
    """Warnings of `RobustPCA` about doubtful results."""

    def _doubt_of_number(self, shape):
        """Return a doubt if components are noise, or too many for errors to be visible."""
        k = self.n_components
        side = min(shape)
        if self.algorithm_ != "stable" or not self.polished_ or k is None:
            return None
        if side >= LEAST_SIDE and MOST_OF_SIDE * side <= k <= side:
            return (
                f"n_components={k} is at least half of the smaller side {side} of X, which "
                f"leaves no freedom to see errors: {type(self).__name__} keeps at most the "
                f"{self.rank_} components above the noise. Lower n_components."
            )
        if self.n_components_ > MOST_OF_RANK * self.rank_ > 0:
            return (
                f"{type(self).__name__} has fitted {self.n_components_} components, but only "
                f"{self.rank_} are above the noise (rank_); the rest are noise. Lower "
                "n_components, or set n_components=None."
            )
        return None

    def _doubt_of_rows(self, verdict):
        """Return a doubt if a group of rows is too large for an error."""
        if verdict is None or not verdict.too_many:
            return None
        return (
            f"{verdict.too_many:.0%} of the rows are far from the rest, more than rows="
            f"{self.rows!r} allows, so {type(self).__name__} keeps them as structure. "
            "Increase rows if they are wrong; set rows=False if they are a second population."
        )

    def _doubt_of_residuals(self, residuals):
        """Return a doubt if the residuals do not look like noise."""
        if residuals is None:
            return None
        if residuals.unexplained > 0.5 and residuals.tail > tail_of_student():
            return (
                "The residuals are more than half as large as the table and have long tails, so "
                "errors may count as noise, and components may be missing: too many cells are "
                "wrong for the size of the table. Remove the worst rows and columns, or add rows."
            )
        return None

    def _warn(self, terms, shape, found):
        record_doubt(
            self,
            self._doubt_of_number(shape),
            self._doubt_of_rows(found.verdict),
            self._doubt_of_residuals(found.shape),
        )

        # warn if there are fewer components than `n_components`, or none
        if self.n_components is not None and self.n_components > min(shape):
            reason = f"the smaller side {min(shape)} of X"
            warn_fewer(self, asked=self.n_components, found=self.n_components_, reason=reason)
        if self.algorithm_ == "stable" and self.polished_ and self.rank_ == 0:
            warnings.warn(
                f"{type(self).__name__} found no component above the noise (noise_std_="
                f"{self.noise_std_:.3g}): low_rank_ is mean_, and transform returns no columns.",
                UserWarning,
                stacklevel=3,
            )

        # warn if most of the exact entries count as errors
        marked = 0.0
        if terms.support is not None:
            marked = np.count_nonzero(terms.support) / terms.support.size
        decided = self.algorithm == "auto" and self.noise_std is None
        if decided and self.algorithm_ == "pcp" and marked > MOST_MARKED:
            warnings.warn(
                f"{type(self).__name__} treats the entries as exact, because the columns have "
                f"few distinct values, and {marked:.0%} of them as errors: this is not a low-rank "
                "table with few errors. Set noise_std, or use a method for Boolean tables, such "
                "as MultiAssignmentClustering.",
                UserWarning,
                stacklevel=3,
            )

        self._warn_passes(terms.convex)

    def _warn_passes(self, result):
        if not result.converged:
            warn_not_converged(
                self,
                reached=f"after {result.n_iter} passes the relative duality gap is "
                f"{result.gap:.1e} (tol={self.tol:g}) and the residual is "
                f"{result.residual:.1e} (must be at most tol / 10)",
                remedy="increase max_iter or tol",
            )
