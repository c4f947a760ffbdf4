"""Limit cells that are large enough to be certain errors before a table is decomposed.

The dual of a cell of the sparse part is at its bound. If such a cell is moved further, only the
sparse part of the minimiser changes. Without a limit, a cell of 1e12 would dominate the objective,
to which tolerances are relative.
"""

import numpy as np

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.quantiles import masked_quantile, median_deviations
from skmoderndata._solvers.lowrank.table import TableTerms

# Maximum distance of a cell that may be correct from the median of its column, in median absolute
# deviations.
HUGE_DEVIATIONS = 1e4


def limits_of(X: Array) -> tuple[Array, Array]:
    """Return the limits of each column, beyond which a cell can only be an error.

    The deviation is the larger of the deviation of the column and the median of all columns.
    """
    deviations = median_deviations(X)
    live = deviations > 0
    if not live.any():
        return np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf)
    width = HUGE_DEVIATIONS * np.maximum(deviations, np.median(deviations[live]))
    middle = np.nan_to_num(masked_quantile(X, 0.5))
    return middle - width, middle + width


def put_back(terms: TableTerms, excess: Array) -> TableTerms:
    """Add the amounts by which cells exceeded their limits to the errors.

    The certificate still refers to the limited table.
    """
    return terms._replace(sparse=terms.sparse + excess, support=terms.support | (excess != 0))
