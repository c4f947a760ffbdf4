"""Estimate the noise of a low-rank table with gross errors, of all cells and of each column."""

import numpy as np
from scipy.special import ndtri

from skmoderndata._solvers.common.tolerances import SINGLE_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    PursuitResult,
    principal_component_pursuit,
)
from skmoderndata._solvers.lowrank.quantiles import (
    GROSS,
    MEDIAN_TO_STD,
    SCALE_ROWS,
    SETTLED,
    masked_quantile,
    masked_quantiles,
    mean_deviations,
    median_deviations,
    median_size,
    spaced_rows,
)

# Levels of the quantiles of the absolute residuals that determine the noise.
CORE = (0.5, 0.8)

# Levels of the quantiles of the absolute residuals that show heavy tails.
TAILS = (0.95, 0.99)

# Number of random rows and columns from which the noise of a large table is estimated.
BLOCK_SIDE = 500

# Maximum number of rounds of the fixed-point iteration.
ROUNDS = 15


# Minimum divisor of a column, in multiples of the deviation of its cells, but at most the noise
# of the table.
SPREAD_FLOOR = 0.5

# Maximum ratio of the largest to the smallest noise of the columns at which no divisors are
# needed.
EQUAL_UP_TO = 2.0


def noise_width(sigma: float, shape: tuple[int, int]) -> float:
    """Return the quadratic width ``delta`` of stable pursuit for standard deviation `sigma`."""
    return sigma * float(np.sqrt(2 * max(shape)))


def noise_scale(
    block: Array,
    *,
    lam: float,
    solver: str,
    rng: np.random.RandomState,
    rounds: int = ROUNDS,
    most_components: int | None = None,
    weights: Array | None = None,
) -> float:
    """Estimate the standard deviation of dense noise on a low-rank matrix with gross errors.

    The estimate is a fixed point of "stable pursuit with the present estimate, then 1.4826 times
    the median absolute residual". It is approached from above, so that every round has low rank
    and a loose tolerance. With many errors the estimate is too high, because pursuit shrinks the
    low rank; then it is only a start for other estimates. The result is NaN if pursuit needs more
    than `most_components`. With weights of the cells, it is the noise of a cell with weight one.
    """
    counted = ~np.isnan(block)
    if not counted.any():
        return 0.0

    # start from the spread of the cells, and lower the estimate as pursuit explains more of the
    # spread
    residual = block - float(np.median(block[counted]))
    sigma = np.inf
    first = 0.0
    root = None if weights is None else np.sqrt(weights)
    for _ in range(rounds):
        white = residual if root is None else root * residual
        new = MEDIAN_TO_STD * median_size(white, counted)
        first = max(first, new)
        if new <= SINGLE_ROUNDING * first:
            return 0.0
        if new > SETTLED * sigma:
            return min(new, sigma)

        sigma = new
        fit = rough_pursuit(block, sigma, lam=lam, solver=solver, rng=rng, weights=weights)
        if most_components is not None and len(fit.s) > most_components:
            return np.nan
        residual = block - (fit.U * fit.s) @ fit.Vt
    return sigma


def weighted_widths(
    lam: float, delta: float, weights: Array | None
) -> tuple[float | Array, float | Array]:
    """Return slope and width of the loss of each cell, with weights.

    Weights multiply the absolute errors without noise (``delta = 0``), and the squared residuals
    otherwise.
    """
    if weights is None:
        return lam, delta
    if delta == 0:
        return lam * weights, np.zeros(weights.shape)
    return np.full(weights.shape, lam), delta / weights


def rough_pursuit(
    block: Array,
    sigma: float,
    *,
    lam: float,
    solver: str,
    rng: np.random.RandomState,
    weights: Array | None = None,
) -> PursuitResult:
    """Run stable pursuit with a loose tolerance, for estimates of the noise."""
    slope, width = weighted_widths(lam, noise_width(sigma, block.shape), weights)
    return principal_component_pursuit(
        block,
        lam=slope,
        delta=width,
        solver=solver,
        tol=1e-4,
        tol_gap=1e-2,
        max_iter=200,
        rng=rng,
    )


def random_cells(shape: tuple[int, ...], rng: np.random.RandomState) -> tuple[Array, ...]:
    """Draw 500 rows and columns of a large table to estimate its noise, as an open mesh."""
    rows, columns = (
        np.sort(rng.permutation(size)[:BLOCK_SIDE]) if size > BLOCK_SIDE else np.arange(size)
        for size in shape
    )
    return np.ix_(rows, columns)


def block_weight(X: Array, block: Array) -> float:
    """Return the factor of the weight of errors for a block of X."""
    return float(np.sqrt(max(X.shape) / max(block.shape)))


def column_noise(
    residual: Array,
    trusted: Array,
    sigma: float,
    *,
    weight: float,
    freedom: float = 1.0,
    tails: bool = False,
) -> Array:
    """Estimate the noise of each column, shrunk to `sigma`, which counts as `weight` cells.

    The estimate is the larger of the estimates by the median and by the 80 % quantile of the
    absolute residuals in trusted cells, over the root of `freedom`, the fraction of degrees of
    freedom that a fit has left. With `tails`, the quantiles of 95 and 99 % count as well if at
    least two cells exceed them, which suits noise with heavier tails than Gaussian.
    """
    rows = spaced_rows(residual, SCALE_ROWS)
    sizes = np.where(trusted[rows], np.abs(residual[rows]), np.nan)
    n_cells = np.count_nonzero(trusted[rows], axis=0)

    shares = CORE + TAILS if tails else CORE
    scale = np.zeros(residual.shape[1])
    for share, size in zip(shares, masked_quantiles(sizes, shares), strict=True):
        quantile = size / ndtri(0.5 + share / 2)
        counts = (share in CORE) | ((1 - share) * n_cells >= 2)
        scale = np.where(counts, np.fmax(scale, quantile), scale)
    scale /= np.sqrt(freedom)
    return np.asarray(np.sqrt((n_cells * scale**2 + weight * sigma**2) / (n_cells + weight)))


def first_noise(residual: Array, sigma: float) -> Array:
    """Estimate the noise of each column from a convex solution, without gross errors."""
    sizes = np.abs(residual)
    middle = np.maximum(MEDIAN_TO_STD * masked_quantile(sizes, 0.5), 1e-3 * sigma)
    return column_noise(residual, sizes <= GROSS * middle, sigma, weight=5)


def column_scale(X: Array, noise: Array, sigma: float) -> Array | None:
    """Return divisors that give all columns the same noise, with median one.

    Returns None if the noise is about equal. A column that is a copy of others seems to have no
    noise. Therefore divisors are at least half of the spread of the column or the common noise
    `sigma`, whichever is smaller. The spread is the larger of the median and the mean absolute
    deviation, because the former vanishes if most cells are equal.
    """
    if noise.max() <= EQUAL_UP_TO * noise.min():
        return None
    spread = np.maximum(median_deviations(X), mean_deviations(X))
    scale = np.maximum(noise, np.minimum(SPREAD_FLOOR * spread, sigma))
    return np.asarray(scale / np.median(scale))
