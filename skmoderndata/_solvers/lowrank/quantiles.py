"""Robust scales of tables whose missing cells are NaN."""

import numpy as np
from scipy.special import ndtr, ndtri

from skmoderndata._solvers.common.typing import Array

MEDIAN_TO_STD = 1.4826  # of the absolute values of Gaussian noise
SCALE_ROWS = 2000  # rows, evenly spaced, that tell the scale of a column
SCALE_CELLS = 2**20  # cells, in evenly spaced rows, that tell the scale of a table


def spaced_rows(X: Array, n_rows: int) -> slice:
    """Evenly spaced rows, about `n_rows` of them."""
    return slice(None, None, max(1, len(X) // max(n_rows, 1)))


def masked_quantile(X: Array, share: float) -> Array:
    """Quantiles of the columns without their NaN; NaN where nothing is known."""
    return masked_quantiles(X, (share,))[0]


def masked_quantiles(X: Array, shares: tuple[float, ...]) -> list[Array]:
    """Several quantiles of the columns, from one sort of them."""
    # NaN are sorted to the end: positions are counted among the known cells only
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
    """Median absolute deviations from the medians of the columns; 0 where nothing is known."""
    X = X[spaced_rows(X, SCALE_ROWS)]
    deviations = np.abs(X - masked_quantile(X, 0.5))
    return np.nan_to_num(masked_quantile(deviations, 0.5))


def mean_deviations(X: Array) -> Array:
    """Mean absolute deviations from the medians of the columns; 0 where nothing is known."""
    X = X[spaced_rows(X, SCALE_ROWS)]
    deviations = np.abs(X - masked_quantile(X, 0.5))
    n_observed = np.count_nonzero(~np.isnan(X), axis=0)
    return np.asarray(np.nansum(deviations, axis=0) / np.maximum(n_observed, 1))


def live_columns(X: Array) -> Array:
    """Columns of which less than half of the cells are alike: the others are silent on noise."""
    return median_deviations(X) > 0


def median_size(X: Array, mask: Array) -> float:
    """Median absolute value of the cells of a mask, infinite where it has none."""
    rows = spaced_rows(X, SCALE_CELLS // X.shape[1])
    cells = np.abs(X[rows][mask[rows]])
    return float(np.median(cells)) if cells.size else np.inf


def truncation_factor(cut: float) -> float:
    """Return what corrects 1.4826 medians of Gaussian sizes that were cut at `cut` sigma."""
    middle = ndtri(0.5 + 0.5 * (ndtr(cut) - 0.5))
    return float(1 / (MEDIAN_TO_STD * middle))
