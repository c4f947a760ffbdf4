"""Wrong cells of a noisy table at a stated false discovery rate.

No fixed number of standard deviations suits all kinds of noise. Nearly no Gaussian noise exceeds
five standard deviations, but 1 % of the cells do if the noise has Student's t distribution with
three degrees of freedom. Here the tail of the noise is fitted to the middle of the residuals,
which errors do not affect, and the procedure of Benjamini and Hochberg (1995) chooses the
threshold from the p-values of the cells.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.quantiles import (
    COLUMN_WEIGHT,
    MEDIAN_TO_STD,
    masked_quantile,
)
from skmoderndata._solvers.lowrank.table import TableTerms

# Levels of the quantiles of the error sizes to which the tail is fitted. Gross errors are assumed
# to lie beyond the largest of these quantiles.
SHARES = (0.5, 0.8, 0.9)

# Minimum number of degrees of freedom of the tail.
LEAST_DOF = 1.5

# Number of distributions that are compared with the quantiles.
GRID = 200


class CellTest(NamedTuple):
    """Test that calls a cell wrong if its size in units of the noise exceeds the threshold."""

    dof: float  # degrees of freedom of Student's distribution; infinite for Gaussian noise
    threshold: float


def p_values(size: Array, dof: float) -> Array:
    """Return the probability of noise that is at least as large, with either sign."""
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
    """Select the wrong cells of a decomposition anew, at a false discovery rate.

    Only the rows of the mask `counted` determine the noise and count in the rate. With
    `known_noise`, the noise is Gaussian with the standard deviations of `terms`. Otherwise it is
    estimated from the residuals. Nearly all good cells were fitted, so their residuals are smaller
    than the noise by the part that the fit has followed.
    """
    residual = X - (terms.U * terms.s) @ terms.Vt
    root = 1.0 if weights is None else np.sqrt(weights)
    white = residual * root
    dof = np.inf
    noise = terms.noise_scale

    # 1. estimate the noise of the columns, and its tail
    if not known_noise:
        core = _core_noise(white[counted])
        noise = np.where(core > 0, core, terms.noise_scale)
        sizes = np.abs(white[counted] / noise)
        dof, scale = student_tail(sizes[~np.isnan(sizes)])
        noise = noise * scale

    # 2. choose the threshold that attains the requested rate
    sizes = np.abs(white[counted] / noise)
    threshold = threshold_at(sizes[~np.isnan(sizes)], dof, rate)

    # 3. select the cells beyond the threshold
    with np.errstate(invalid="ignore"):
        support = np.abs(white) > threshold * noise
    sparse = np.where(support, residual, 0.0)
    judged = terms._replace(sparse=sparse, support=support, noise_scale=noise)
    return judged, CellTest(dof, threshold)


def student_tail(sizes: Array) -> tuple[float, float]:
    """Fit degrees of freedom and scale of Student's distribution to three quantiles of sizes.

    The mean of the two outer quantiles over the median determines the degrees of freedom.
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
    """Choose the threshold of sizes by Benjamini and Hochberg's procedure, at a rate.

    The p-value of the threshold is ``rate k / m`` if k of m cells are beyond it; k = 1 if there
    are none.
    """
    m = len(sizes)
    p = np.sort(p_values(sizes, dof))

    # find the largest k with p_(k) <= rate k / m
    below = np.flatnonzero(p <= rate * np.arange(1, m + 1) / m)
    k = below[-1] + 1 if len(below) else 1
    return float(_student(dof).isf(rate * k / m / 2))


def _core_noise(white: Array) -> Array:
    """Estimate the noise of each column by its median size, shrunk to the common noise."""
    sizes = np.abs(white)
    n_cells = np.count_nonzero(~np.isnan(sizes), axis=0)
    noise = np.nan_to_num(MEDIAN_TO_STD * masked_quantile(sizes, 0.5))
    live = noise > 0
    if not live.any():
        return noise

    # estimate the noise common to all columns
    relative = MEDIAN_TO_STD * np.nanmedian(sizes[:, live] / noise[live])
    common = relative * np.median(noise[live])

    # shrink the variances towards the common variance, mainly in columns with few cells
    squares = n_cells * noise**2 + COLUMN_WEIGHT * common**2
    return np.asarray(np.sqrt(squares / (n_cells + COLUMN_WEIGHT)))


def _student(dof: float) -> Any:
    return stats.norm() if np.isinf(dof) else stats.t(dof)


def _tail_ratio(dof: float) -> float:
    """Return the mean outer quantile over the median of the sizes of Student's distribution."""
    middle, *outer = _student(dof).ppf(0.5 + np.array(SHARES) / 2)
    return float(np.mean(outer) / middle)
