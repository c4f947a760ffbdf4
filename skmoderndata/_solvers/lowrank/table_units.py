"""Units of the columns of a table, and its decomposition in the units of the user."""

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.linalg import row_signs
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.quantiles import (
    QUARTILES,
    SCALE_ROWS,
    masked_quantile,
    masked_quantiles,
    mean_deviations,
    spaced_rows,
)
from skmoderndata._solvers.lowrank.table import TableTerms

# Maximum offset that can be neglected, in robust standard deviations of the column.
FAR_OFFSET = 3.0

# Maximum ratio of the offsets, and of the spreads, of columns that have the same unit.
ALIKE = 3.0

# Interquartile range of Gaussian cells, in standard deviations.
RANGE_OF_STD = 1.349

# Standard deviation of Gaussian cells, in mean absolute deviations.
MEAN_TO_STD = 1.2533


def robust_spread(X: Array) -> Array:
    """Estimate the spread of each column by the interquartile range, as `RobustScaler` does.

    If most cells are equal, the mean absolute deviation is used. Constant columns have spread 1.
    """
    low, high = masked_quantiles(X[spaced_rows(X, SCALE_ROWS)], QUARTILES)
    spread = np.nan_to_num(high - low) / RANGE_OF_STD

    # use the mean absolute deviation if the quartiles coincide
    spread = np.where(spread > 0, spread, MEAN_TO_STD * mean_deviations(X))
    return np.where(spread > 0, spread, 1.0)


def has_far_offsets(X: Array) -> bool:
    """Return True if the columns have different offsets, which would need a component.

    Columns in the same unit with offsets of similar size, such as pixels of films, are not
    centred: their offset is the main component.
    """
    spread = robust_spread(X)
    offset = np.nan_to_num(masked_quantile(X, 0.5))
    if not (np.abs(offset) > FAR_OFFSET * spread).any():
        return False

    # accept offsets that have the same sign and similar size: they are the main component itself
    sizes = np.abs(offset)
    of_one_sign = (offset > 0).all() or (offset < 0).all()
    of_one_size = sizes.max() <= ALIKE * sizes.min() and not has_unequal_spread(X)
    return not (of_one_sign and of_one_size)


def has_unequal_spread(X: Array) -> bool:
    """Return True if columns seem to be in different units."""
    spread = robust_spread(X)
    return bool(spread.max() > ALIKE * spread.min())


def in_units(terms: TableTerms, spread: Array) -> tuple[TableTerms, Array]:
    """Return the terms of the table times `spread`, and the matrix that rotates the scores.

    The certificate still refers to the table in units of the columns.
    """
    # decompose the scaled loadings again, because scaling them destroys their orthogonality
    u, s, Vt = linalg.svd(terms.s[:, None] * terms.Vt * spread, full_matrices=False)
    signs = np.where(row_signs(Vt) < 0, -1.0, 1.0)
    u = u * signs
    Vt = Vt * signs[:, None]

    # express the scores and the errors in the new components and units
    turn = (terms.Vt * spread) @ Vt.T
    scaled = terms._replace(
        U=terms.U @ u,
        s=s,
        Vt=Vt,
        sparse=terms.sparse * spread,
        noise_scale=terms.noise_scale * spread,
        column_scale=terms.column_scale * spread,
    )
    return scaled, turn
