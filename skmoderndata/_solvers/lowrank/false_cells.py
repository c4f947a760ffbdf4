"""Wrong cells of a noisy table at a stated false discovery rate.

A fixed number of standard deviations cannot suit all noise: five of them are beyond nearly all
Gaussian cells, but 1 % of the cells of Student's t with three degrees of freedom. Here the tail of
the noise is fitted to the middle of the residuals, which errors do not reach, and Benjamini and
Hochberg's procedure chooses the threshold from the p-values of the cells.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.quantiles import MEDIAN_TO_STD, masked_quantile
from skmoderndata._solvers.lowrank.table import TableTerms

# Fractions of the sizes whose quantiles tell the tail: the errors are beyond the largest one.
SHARES = (0.5, 0.8, 0.9)
# Minimum number of degrees of freedom of the tail.
LEAST_DOF = 1.5
# Number of distributions that the quantiles are compared with.
GRID = 200
# Number of cells of the common noise in the noise of a column.
COLUMN_WEIGHT = 20


class CellTest(NamedTuple):
    """Which cells are wrong: those whose size in units of the noise exceeds the threshold."""

    dof: float  # degrees of freedom of Student's distribution; infinite for Gaussian noise
    threshold: float


def p_values(size: Array, dof: float) -> Array:
    """Probability that noise is at least as large, on either side."""
    return np.asarray(2 * _student(dof).sf(np.abs(size)))


def judge_cells(
    X: Array,
    terms: TableTerms,
    *,
    rate: float,
    counted: Array,
    known_noise: bool,
    weights: Array | None = None,
) -> tuple[TableTerms, CellTest]:
    """Replace the wrong cells of a decomposition by those at a false discovery rate.

    The rows of the mask `counted` tell the noise, and only their cells are counted in the rate.
    With `known_noise` it is Gaussian with the standard deviations of `terms`. The noise is that of
    the residuals: nearly all good cells were fitted, so that their residuals are smaller than the
    noise by what the fit has followed.
    """
    residual = X - (terms.U * terms.s) @ terms.Vt
    root = 1.0 if weights is None else np.sqrt(weights)
    white = residual * root
    dof = np.inf
    noise = terms.noise_scale

    # 1. noise of the columns, and its tail
    if not known_noise:
        core = _core_noise(white[counted])
        noise = np.where(core > 0, core, terms.noise_scale)
        sizes = np.abs(white[counted] / noise)
        dof, scale = student_tail(sizes[~np.isnan(sizes)])
        noise = noise * scale

    # 2. the threshold that keeps the rate
    sizes = np.abs(white[counted] / noise)
    threshold = threshold_at(sizes[~np.isnan(sizes)], dof, rate)

    # 3. cells beyond it
    with np.errstate(invalid="ignore"):
        support = np.abs(white) > threshold * noise
    sparse = np.where(support, residual, 0.0)
    judged = terms._replace(sparse=sparse, support=support, noise_scale=noise)
    return judged, CellTest(dof, threshold)


def student_tail(sizes: Array) -> tuple[float, float]:
    """Degrees of freedom and scale of Student's distribution that fit three quantiles of sizes.

    The mean of the two outer quantiles over the median tells the degrees of freedom.
    """
    middle, *outer = np.quantile(sizes, SHARES)
    if not middle > 0:
        return np.inf, 1.0

    # invert the tail ratio on a grid of inverse degrees of freedom, 0 for a Gaussian
    inverse = np.linspace(0, 1 / LEAST_DOF, GRID)
    ratios = [_tail_ratio(1 / i if i > 0 else np.inf) for i in inverse]
    inverse_dof = float(np.interp(np.mean(outer) / middle, ratios, inverse))
    dof = 1 / inverse_dof if inverse_dof > 0 else np.inf

    # match the scale at the innermost quantile
    return dof, float(middle / _student(dof).ppf(0.5 + SHARES[0] / 2))


def threshold_at(sizes: Array, dof: float, rate: float) -> float:
    """Threshold of sizes by Benjamini and Hochberg's procedure, at a false discovery rate.

    The p-value of the threshold is ``rate k / m`` for k of m cells beyond it, with k = 1 if none
    is.
    """
    m = len(sizes)
    p = np.sort(p_values(sizes, dof))

    # find the largest k with p_(k) <= rate k / m
    below = np.flatnonzero(p <= rate * np.arange(1, m + 1) / m)
    k = below[-1] + 1 if len(below) else 1
    return float(_student(dof).isf(rate * k / m / 2))


def _core_noise(white: Array) -> Array:
    """Noise of each column by the median size of its residuals, shrunk to that of all columns."""
    sizes = np.abs(white)
    n_cells = np.count_nonzero(~np.isnan(sizes), axis=0)
    own = np.nan_to_num(MEDIAN_TO_STD * masked_quantile(sizes, 0.5))
    live = own > 0
    if not live.any():
        return own

    # estimate the noise common to all columns
    relative = MEDIAN_TO_STD * np.nanmedian(sizes[:, live] / own[live])
    common = relative * np.median(own[live])

    # shrink variances towards it: a column of few cells says little of its own
    squares = n_cells * own**2 + COLUMN_WEIGHT * common**2
    return np.asarray(np.sqrt(squares / (n_cells + COLUMN_WEIGHT)))


def _student(dof: float) -> Any:
    return stats.norm() if np.isinf(dof) else stats.t(dof)


def _tail_ratio(dof: float) -> float:
    """Mean of the outer quantiles over the median of the sizes of Student's distribution."""
    middle, *outer = _student(dof).ppf(0.5 + np.array(SHARES) / 2)
    return float(np.mean(outer) / middle)
