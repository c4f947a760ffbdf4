"""Noise of a table on a low rank with gross errors: of all cells, and column by column."""

import numpy as np
from scipy.special import ndtri

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    PursuitResult,
    principal_component_pursuit,
)
from skmoderndata._solvers.lowrank.quantiles import (
    MEDIAN_TO_STD,
    SCALE_ROWS,
    masked_quantile,
    masked_quantiles,
    mean_deviations,
    median_deviations,
    median_size,
    spaced_rows,
)

GROSS = 5.0  # standard deviations of a column
# quantiles of absolute residuals
CORE = (0.5, 0.8)
TAILS = (0.95, 0.99)
BLOCK_SIDE = 500  # rows and columns at random that tell the noise of a large table
ROUNDS = 15
SETTLED = 0.98  # of the last estimate, above which the next would fall no more
ZERO_RELATIVE = 1e-6  # of the first estimate, below which there is no noise
SPREAD_FLOOR = 0.5  # least scale of a column, in deviations of its cells
EQUAL_UP_TO = 2.0  # ratio of largest to smallest scale that needs no weights


def noise_width(sigma: float, shape: tuple[int, int]) -> float:
    """Quadratic width ``delta`` of stable pursuit for noise of standard deviation `sigma`."""
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

    Fixed point of "stable pursuit with the present estimate, then 1.4826 times the median
    absolute residual", from above, so that every round works at low rank and loose tolerance.
    Where there are many errors the estimate is too high, as pursuit shrinks the low rank: it is a
    start for others. NaN where pursuit needs more than `most_components`. With weights of the
    cells it is the noise of a cell of weight one.
    """
    counted = ~np.isnan(block)
    if not counted.any():
        return 0.0

    # from the spread of the cells down, as pursuit explains more of it
    residual = block - float(np.median(block[counted]))
    sigma = np.inf
    first = 0.0
    root = None if weights is None else np.sqrt(weights)
    for _ in range(rounds):
        white = residual if root is None else root * residual
        new = MEDIAN_TO_STD * median_size(white, counted)
        first = max(first, new)
        if new <= ZERO_RELATIVE * first:
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
    """Slope and width of the loss of each cell: weights of its error, or of its square.

    Of the absolute errors where there is no noise, ``delta = 0``, else of the squared residuals.
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
    """Stable pursuit at a loose tolerance, for estimates of the noise."""
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
    """Draw 500 rows and columns of a larger table, which tell its noise, as an open mesh."""
    rows, columns = (
        np.sort(rng.permutation(size)[:BLOCK_SIDE]) if size > BLOCK_SIDE else np.arange(size)
        for size in shape
    )
    return np.ix_(rows, columns)


def block_weight(X: Array, block: Array) -> float:
    """Return what the weight of errors of X is multiplied by in a block of it."""
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
    """Estimate the noise of each column, shrunk to `sigma` with so many cells.

    The largest of what the median and the 80 % quantile of the absolute residuals in trusted
    cells say, over the root of `freedom`, the share of degrees of freedom that a fit has left.
    With `tails` also of what the quantiles of 95 and 99 % say, where two cells exceed them: noise
    with heavier tails than Gaussian is to be judged by these.
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
    """Noise of each column from the residual of a convex solution, without its gross errors."""
    sizes = np.abs(residual)
    middle = np.maximum(MEDIAN_TO_STD * masked_quantile(sizes, 0.5), 1e-3 * sigma)
    return column_noise(residual, sizes <= GROSS * middle, sigma, weight=5)


def column_scale(X: Array, noise: Array, sigma: float) -> Array | None:
    """Divisors that give all columns the same noise, with median one; None where they have it.

    A column that is a copy of others seems to have no noise: no divisor is below half of the
    spread of its column, as far as that is below the common noise `sigma`. The spread is the
    median absolute deviation, or where most cells are alike the mean one.
    """
    if noise.max() <= EQUAL_UP_TO * noise.min():
        return None
    spread = np.maximum(median_deviations(X), mean_deviations(X))
    scale = np.maximum(noise, np.minimum(SPREAD_FLOOR * spread, sigma))
    return np.asarray(scale / np.median(scale))
