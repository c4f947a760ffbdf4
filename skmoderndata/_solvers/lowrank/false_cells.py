"""Wrong cells of a noisy table at a stated false discovery rate.

No fixed number of standard deviations suits all kinds of noise. Nearly no Gaussian noise exceeds
five standard deviations, but 1 % of the cells do if the noise has Student's t distribution with
three degrees of freedom. Here the tail of the noise is fitted to the middle of the residuals,
which errors do not affect, and the procedure of Benjamini and Hochberg (1995) chooses the
threshold from the p-values of the cells.

The residual of a cell that the fit has left out is an error of prediction. It is larger than the
residual of a fitted cell, most of all in columns that determine a component, in rows with many
gaps, and if the copy of a column is left out as well. The ratio is measured: the same cells are
left out of other rows.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, stats

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

# Number of Student's t distributions that are compared with the quantiles.
GRID = 200

# Number of degrees of freedom from which the effect of a fit on the tail is neglected. A few
# errors in Gaussian noise look like such a tail.
LIGHT_DOF = 10.0

# Numbers of degrees of freedom at which the effect of a fit on the tail is simulated.
SIMULATED = (5.0, 3.0, 2.0, LEAST_DOF)

# Minimum number of cells that are simulated for each number of degrees of freedom.
SIMULATED_CELLS = 20_000

# Size of noise, in multiples of its median size, beyond which a refit leaves out cells.
LEFT_OUT_FROM = 7.5

# Maximum number of rows in which cells are left out to measure errors of prediction.
REFERENCE_ROWS = 200


class CellTest(NamedTuple):
    """Test that calls a cell wrong if its size in units of the noise exceeds the threshold."""

    dof: float  # degrees of freedom of Student's distribution; infinite for Gaussian noise
    threshold: float
    inflation: Array | None = None  # (n, p), factors that multiply the noise of left-out cells


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
        sizes = sizes[~np.isnan(sizes)]
        dof, scale = student_tail(sizes)
        if dof < LIGHT_DOF:
            dof, scale = student_tail(sizes, tail_shift(terms.Vt))
        noise = noise * scale

    # 2. choose the threshold that attains the requested rate
    sizes = np.abs(white / noise)
    observed = ~np.isnan(sizes)
    eligible = observed & counted[:, None]
    threshold = threshold_at(sizes[eligible], dof, rate)

    # 3. compare cells that may be wrong with errors of prediction, and choose the threshold anew
    suspects = (eligible & (sizes > threshold)) | (observed & terms.support)
    inflation = None
    if not known_noise and (suspects & eligible).any():
        inflation = noise_inflation(residual, terms, suspects, eligible, root)
        sizes = sizes / inflation
        threshold = threshold_at(sizes[eligible], dof, rate)

    # 4. select the cells beyond the threshold
    with np.errstate(invalid="ignore"):
        support = sizes > threshold
    sparse = np.where(support, residual, 0.0)
    judged = terms._replace(sparse=sparse, support=support, noise_scale=noise)
    return judged, CellTest(dof, threshold, inflation)


def noise_inflation(
    residual: Array,
    terms: TableTerms,
    suspects: Array,
    eligible: Array,
    root: Array | float = 1.0,
) -> Array:
    """Return the factor by which errors of prediction exceed residuals, 1 for other cells.

    Each row with cells of the mask `suspects` is regressed on the components without these cells.
    The same regression is applied to rows with few suspects, whose good cells show how large the
    errors of prediction are compared with the residuals. Only cells of the mask `eligible` count.
    """
    V = terms.Vt.T
    root = np.broadcast_to(root, residual.shape)
    inflation = np.ones(residual.shape)

    # use the most complete rows as references, with residuals of 0 outside their good cells
    good = eligible & ~suspects
    rows = np.argsort(-good.sum(axis=1), kind="stable")[:REFERENCE_ROWS]
    low_rank = (terms.U[rows] * terms.s) @ terms.Vt
    white = np.where(good, root * residual, 0.0)[rows]
    typical = _column_medians(white, good[rows])

    for i in np.flatnonzero((suspects & eligible).any(axis=1)):
        # 1. regress the good cells of the row, scaled to equal noise, on the components
        left_out = suspects[i]
        fitted = good[i]
        weighted = root[i, fitted]
        coefs = linalg.pinv(weighted[:, None] * V[fitted]) * weighted
        predict = V[left_out] @ coefs

        # 2. predict the suspects, and the same cells of the references with the noise of this row
        own = (terms.U[i] * terms.s) @ terms.Vt + residual[i]
        error = root[i, left_out] * (own[left_out] - predict @ own[fitted])
        others = low_rank + white / root[i]
        errors = root[i, left_out] * (others[:, left_out] - others[:, fitted] @ predict.T)
        usual = _column_medians(errors, good[rows][:, left_out])

        # 3. compare errors of prediction with residuals; no suspect becomes more suspicious
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (usual / typical[left_out]) * np.abs(
                root[i, left_out] * residual[i, left_out] / error
            )
        inflation[i, left_out] = np.fmax(ratio, 1.0)
    return inflation


def _column_medians(values: Array, mask: Array) -> Array:
    """Return the median sizes of the cells of a mask in each column, NaN without cells."""
    return masked_quantile(np.where(mask, np.abs(values), np.nan), 0.5)


def student_tail(sizes: Array, shift: Array | None = None) -> tuple[float, float]:
    """Fit degrees of freedom and scale of Student's distribution to three quantiles of sizes.

    The mean of the two outer quantiles over the median determines the degrees of freedom. A fit
    changes this ratio by `shift` at the degrees of freedom of `SIMULATED`.
    """
    middle, *outer = np.quantile(sizes, SHARES)
    if not middle > 0:
        return np.inf, 1.0

    # invert the tail ratio on a grid of inverse degrees of freedom; 0 stands for a Gaussian
    inverse = np.linspace(0, 1 / LEAST_DOF, GRID)
    ratios = np.array([_tail_ratio(1 / i if i > 0 else np.inf) for i in inverse])
    if shift is not None:
        ratios += np.interp(inverse, 1 / np.array([LIGHT_DOF, *SIMULATED]), np.r_[0, shift])
    inverse_dof = float(np.interp(np.mean(outer) / middle, ratios, inverse))
    dof = 1 / inverse_dof if inverse_dof > 0 else np.inf

    # choose the scale that matches the innermost quantile
    return dof, float(middle / _student(dof).ppf(0.5 + SHARES[0] / 2))


def tail_shift(Vt: Array) -> Array:
    """Simulate how regressions on components change the ratio by which tails are measured.

    Each residual is a cell of noise minus a weighted sum of the noise of its row. The sum is
    nearly Gaussian, so the middle of the residuals has lighter tails than the noise, although
    their extremes have the same.
    """
    rng = np.random.default_rng(0)
    r, p = Vt.shape
    shape = (-(-SIMULATED_CELLS // p), p)
    shift = np.zeros(len(SIMULATED))
    if r == 0:
        return shift
    for i, dof in enumerate(SIMULATED):
        noise = rng.standard_t(dof, size=shape)
        cut = LEFT_OUT_FROM * _student(dof).ppf(0.75)
        fitted = np.where(np.abs(noise) > cut, 0.0, noise)
        ratios = []
        for values in (noise - (fitted @ Vt.T) @ Vt, noise):
            sizes = np.abs(values)
            middle, *outer = np.quantile(sizes / np.median(sizes, axis=0), SHARES)
            ratios.append(np.mean(outer) / middle)
        shift[i] = ratios[0] - ratios[1]
    return shift


def threshold_at(sizes: Array, dof: float, rate: float) -> float:
    """Choose the threshold of sizes by Benjamini and Hochberg's procedure, at a rate.

    The p-value of the threshold is ``rate k / m`` if k of m cells are beyond it; k = 1 if there
    are none.
    """
    m = len(sizes)
    p = np.sort(p_values(sizes, dof))

    # find the largest k for which p_(k) <= rate k / m
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

    # shrink the variances towards the common variance, most strongly in columns with few cells
    squares = n_cells * noise**2 + COLUMN_WEIGHT * common**2
    return np.asarray(np.sqrt(squares / (n_cells + COLUMN_WEIGHT)))


def _student(dof: float) -> Any:
    return stats.norm() if np.isinf(dof) else stats.t(dof)


def _tail_ratio(dof: float) -> float:
    """Return the mean outer quantile over the median of the sizes of Student's distribution."""
    middle, *outer = _student(dof).ppf(0.5 + np.array(SHARES) / 2)
    return float(np.mean(outer) / middle)
