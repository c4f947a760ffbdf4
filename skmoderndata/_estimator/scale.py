"""How much the scales of columns differ, and the warning of classes that depend on it."""

import warnings
from typing import Any

import numpy as np

from skmoderndata._solvers.lowrank.quantiles import QUARTILES

# Maximum number of rows used to estimate the scales of the columns.
N_ROWS = 500
# Maximum number of entries that are read to estimate the scales, unless LEAST_ROWS rows have more.
N_ENTRIES = 500_000
# Minimum number of rows for a comparison of scales; with fewer rows, columns of equal scale may
# differ by more than the limit.
LEAST_ROWS = 20
# Maximum ratio of the scales of two columns that does not cause a warning.
RATIO_LIMIT = 100
# Names of kernels that require non-negative columns, such as counts in histograms.
NON_NEGATIVE_KERNELS = ("chi2", "additive_chi2")


def scale_ratio(X: Any) -> float:
    """Return the ratio of the largest to the smallest robust scale of columns, from some rows.

    The scale is the interquartile range without missing cells; columns without one, such as
    indicators that are rarely 1, do not count.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Table.

    Returns
    -------
    ratio : float
        At least 1.

    Examples
    --------
    >>> import numpy as np
    >>> scale_ratio(np.arange(10.0)[:, None] * [1, 5, 200])
    200.0
    """
    ranges, _ = _spreads(X)
    return _ratio(ranges)


def _spreads(X: Any) -> tuple[Any, Any]:
    """Interquartile ranges and standard deviations of the columns whose range is not 0."""
    sample = _some_rows(X)
    missing = np.isnan(sample)
    if missing.any():
        sample = sample[:, ~missing.all(axis=0)]
    if not sample.size:
        return np.empty(0), np.empty(0)

    quantile = np.nanquantile if missing.any() else np.quantile
    low, high = quantile(sample, QUARTILES, axis=0)
    counts = high > low
    return (high - low)[counts], np.nanstd(sample[:, counts], axis=0)


def _some_rows(X: Any) -> Any:
    """Return rows from all parts of the table in double precision, all rows of a small one."""
    n_rows = min(N_ROWS, max(LEAST_ROWS, N_ENTRIES // max(X.shape[1], 1)))
    return np.asarray(X[:: -(-len(X) // n_rows)], dtype=float)


def _deviations_agree(X: Any) -> bool:
    """Whether no columns can differ by more than the limit; needs no quantiles, which are slow."""
    deviations = _some_rows(X).std(axis=0)
    return (
        bool(np.isfinite(deviations).all())
        and _ratio(deviations[deviations > 0]) <= RATIO_LIMIT
    )


def _ratio(spreads: Any) -> float:
    return float(spreads.max() / spreads.min()) if spreads.size else 1.0


def warn_unlike_scales(estimator: Any, X: Any, view: int = 1) -> None:
    """Warn if the columns differ in scale, and the class depends on it and does not scale them.

    Parameters
    ----------
    estimator : estimator instance
        Its card names the scaler.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Table of `fit`, validated. With `view_slices` each of its views is examined.
    view : int, default=1
        Number of the view; a pipeline scales only the first view.
    """
    scaler = getattr(getattr(estimator, "_card", None), "scaler", "")
    if not scaler or not isinstance(X, np.ndarray) or X.ndim != 2 or len(X) < LEAST_ROWS:
        return
    if getattr(estimator, "scale", False) or not _compares_columns(estimator):
        return

    # Skip invalid pairs here; they raise an error later.
    pairs = getattr(estimator, "view_slices", None) or [(0, X.shape[1])]
    views = [X[:, slice(*pair)] for pair in pairs if np.shape(pair) == (2,)]
    # Sparse columns have a small range after any scaler, and a column with one huge cell has a
    # large standard deviation, so use the smaller of the two ratios.
    views = [view for view in views if not _deviations_agree(view)]
    ratio = max((min(map(_ratio, _spreads(view))) for view in views), default=1.0)
    if ratio <= RATIO_LIMIT:
        return

    # Round the ratio in the message, so that the message is the same in all folds of a search; the
    # search then shows the warning only once.
    name = type(estimator).__name__
    where = "X" if view == 1 else f"view {view}"
    remedy = f"make_pipeline({scaler}(), {name}(...))"
    if view > 1:
        remedy = f"{scaler}().fit_transform on that view"
    warnings.warn(
        f"{name} depends on the scales of the columns, and in {where} the interquartile ranges "
        "and the standard deviations of the columns differ by a factor of more than "
        f"{10 ** int(np.log10(ratio)):,}: use {remedy}. If all columns have the same unit, "
        "ignore this warning.",
        stacklevel=4,
    )


def _compares_columns(estimator: Any) -> bool:
    """Whether the samples are rows of numbers, and their columns are not scaled in the kernel."""
    if estimator.__sklearn_tags__().input_tags.pairwise:
        return False
    kernels = getattr(estimator, "kernel", "linear")
    kernels = kernels if isinstance(kernels, list | tuple) else [kernels]
    excluded = ("precomputed", *NON_NEGATIVE_KERNELS)
    return all(isinstance(kernel, str) and kernel not in excluded for kernel in kernels)
