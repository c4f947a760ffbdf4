"""Robust scales of tables with NaN for missing cells."""

import numpy as np
from scipy.special import ndtr, ndtri

from skmoderndata._solvers.common.typing import Array

# Fractions of the values that lie below the quartiles.
QUARTILES = (0.25, 0.75)

# Standard deviation of Gaussian noise, as a multiple of its median absolute value.
MEDIAN_TO_STD = 1.4826

# Minimum residual of a gross error, in standard deviations.
GROSS = 5.0

# Minimum residual of a suspect, in standard deviations; 1.2 % of Gaussian noise is larger.
SUSPECT = 2.5

# Maximum residual of a cell on which estimates may be based, in standard deviations.
TRUSTED = 3.0

# Weight of the common noise in the noise of a column, as a number of cells.
COLUMN_WEIGHT = 20

# Minimum ratio of an estimate to the previous one at which the estimate counts as converged.
SETTLED = 0.98

# Number of rows, and of columns, of a random block that represents the table.
SIDE = 300

# Number of evenly spaced rows from which the scale of a column is estimated.
SCALE_ROWS = 2000

# Number of cells, in evenly spaced rows, from which the scale of a table is estimated.
SCALE_CELLS = 2**20


def spaced_rows(X: Array, n_rows: int) -> slice:
    """Return a slice of about `n_rows` evenly spaced rows."""
    return slice(None, None, max(1, len(X) // max(n_rows, 1)))


def masked_quantile(X: Array, share: float) -> Array:
    """Compute quantiles of the columns without NaN; NaN if no cell of a column is known."""
    return masked_quantiles(X, (share,))[0]


def masked_quantiles(X: Array, shares: tuple[float, ...]) -> list[Array]:
    """Compute several quantiles of the columns by a single sort."""
    # NaNs are sorted to the end, so count positions among the known cells only
    ordered = np.sort(X.T, axis=1)
    last = np.count_nonzero(~np.isnan(X), axis=0) - 1
    columns = np.arange(X.shape[1])

    quantiles = []
    for share in shares:
        position = np.maximum(share * last, 0)
        below = np.floor(position).astype(int)
        above = np.ceil(position).astype(int)
        low = ordered[columns, below]
        high = ordered[columns, above]
        quantiles.append(np.asarray(low + (position - below) * (high - low)))
    return quantiles


def median_deviations(X: Array) -> Array:
    """Compute median absolute deviations from the medians of columns, 0 without known cells."""
    X = X[spaced_rows(X, SCALE_ROWS)]
    deviations = np.abs(X - masked_quantile(X, 0.5))
    return np.nan_to_num(masked_quantile(deviations, 0.5))


def mean_deviations(X: Array) -> Array:
    """Compute mean absolute deviations from the medians of columns, 0 without known cells."""
    X = X[spaced_rows(X, SCALE_ROWS)]
    deviations = np.abs(X - masked_quantile(X, 0.5))
    n_observed = np.count_nonzero(~np.isnan(X), axis=0)
    return np.asarray(np.nansum(deviations, axis=0) / np.maximum(n_observed, 1))


def live_columns(X: Array) -> Array:
    """Mark columns with a positive median deviation.

    If at least half of the cells of a column are equal, the column gives no estimate of the noise.
    """
    return median_deviations(X) > 0


def median_size(X: Array, mask: Array) -> float:
    """Compute the median absolute value of the cells of a mask, infinite for an empty mask."""
    rows = spaced_rows(X, SCALE_CELLS // X.shape[1])
    cells = np.abs(X[rows][mask[rows]])
    return float(np.median(cells)) if cells.size else np.inf


def truncation_factor(cut: float) -> float:
    """Return the factor that corrects 1.4826 medians of Gaussian sizes cut at `cut` sigma."""
    middle = ndtri(0.5 + 0.5 * (ndtr(cut) - 0.5))
    return float(1 / (MEDIAN_TO_STD * middle))
