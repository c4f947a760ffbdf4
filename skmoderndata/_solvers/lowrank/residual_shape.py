"""Size and tail of the residuals of a noisy table, which show whether errors count as noise."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.quantiles import masked_quantile


class ResidualShape(NamedTuple):
    """Figures about the residuals of a table, including its wrong cells."""

    # median absolute residual, divided by the median deviation from the column median
    unexplained: float
    tail: float  # ninth decile of the absolute residuals, divided by their median


def residual_shape(residual: Array, X: Array) -> ResidualShape:
    """Describe the residuals of the table X, column by column; NaN marks missing cells.

    Quantiles are used instead of moments, because the residuals of wrong cells are included.
    """
    sizes = np.abs(residual)
    typical = masked_quantile(sizes, 0.5)
    used = typical > 0
    if not used.any():
        return ResidualShape(0.0, 0.0)

    # compare the residuals with the deviations of the cells from the median of their column
    X = X[:, used]
    spread = np.abs(X - masked_quantile(X, 0.5))
    deviation = float(np.nanmedian(spread))
    unexplained = float(np.nanmedian(sizes[:, used])) / deviation if deviation > 0 else 0.0

    middle, high = np.nanquantile(sizes[:, used] / typical[used], [0.5, 0.9])
    return ResidualShape(unexplained, float(high / middle))
