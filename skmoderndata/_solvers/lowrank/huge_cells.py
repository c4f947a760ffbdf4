"""Cells so large that they can only be errors, pulled in before a table is decomposed.

A cell of the sparse part has its dual at the bound: if it is moved along, the sparse part takes it
up, and the minimiser is otherwise the same. Left where it is, a cell of 1e12 rules the objective,
to which tolerances are relative.
"""

import numpy as np

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.quantiles import masked_quantile, median_deviations
from skmoderndata._solvers.lowrank.table import TableTerms

# Largest distance from the median of a column, in median absolute deviations.
HUGE_DEVIATIONS = 1e4


def limits_of(X: Array) -> tuple[Array, Array]:
    """Smallest and largest value of each column that can be more than an error.

    The deviation is that of the column, or the median one of the columns, if that is larger.
    """
    deviations = median_deviations(X)
    live = deviations > 0
    if not live.any():
        return np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf)
    width = HUGE_DEVIATIONS * np.maximum(deviations, np.median(deviations[live]))
    middle = np.nan_to_num(masked_quantile(X, 0.5))
    return middle - width, middle + width


def put_back(terms: TableTerms, excess: Array) -> TableTerms:
    """Take what the cells were pulled in by as part of the errors.

    The certificate is still that of the table with the cells pulled in.
    """
    return terms._replace(sparse=terms.sparse + excess, support=terms.support | (excess != 0))
