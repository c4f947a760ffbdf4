"""How much the scales of columns differ."""

from typing import Any

import numpy as np

# Number of rows that the scales of columns are estimated from.
N_ROWS = 500


def scale_ratio(X: Any) -> float:
    """Return the largest robust scale of a column over the smallest, from a sample of the rows.

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
    sample = np.asarray(X[:: -(-len(X) // N_ROWS)], dtype=float)
    sample = sample[:, ~np.isnan(sample).all(axis=0)]
    low, high = np.nanquantile(sample, [0.25, 0.75], axis=0) if sample.size else ([], [])
    spread = np.asarray(high) - np.asarray(low)
    spread = spread[spread > 0]
    return float(spread.max() / spread.min()) if spread.size else 1.0
