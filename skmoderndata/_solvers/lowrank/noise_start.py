"""Initial noise of a table: a robust estimate, lowered if hidden cells support it."""

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.principal_component_pursuit import PursuitResult
from skmoderndata._solvers.lowrank.quantiles import GROSS, SUSPECT, live_columns
from skmoderndata._solvers.lowrank.refit import Refit, refit
from skmoderndata._solvers.lowrank.table_noise import (
    block_weight,
    noise_scale,
    random_cells,
    rough_pursuit,
)
from skmoderndata._solvers.lowrank.trusted_cells import fit_trusted

# Maximum fraction of large residuals at which the first estimate is accepted.
BEYOND_SHARE = 0.08

# Fraction of the known cells that are hidden.
HIDDEN_SHARE = 0.1

# Factor by which the noise falls from one trial to the next.
FALL = 4.0

# Maximum number of lower noise levels that are tried.
TRIALS = 6

# Maximum ratio of new to old errors in hidden cells at which the new fit counts as clearly better.
CLEARLY_BETTER = 0.7

# Levels of two quantiles of the errors in hidden cells; a better fit must lower both.
PREDICTED = (1 / 2, 2 / 3)


# Number of alternating least-squares steps without the hidden cells.
STEPS = 10


def start_noise(X: Array, *, lam: float, solver: str, rng: np.random.RandomState) -> float:
    """Estimate the noise of a table with gross errors, even if many cells are wrong or missing.

    With many gross errors and gaps, pursuit shrinks the low rank too much, and the fixed point of
    `noise_scale` is several times too high. Pursuit at this noise has too few components, and the
    refit, which only removes components, cannot recover them. This shows in many residuals beyond
    2.5 standard deviations. In this case a quarter of the noise is tried, then a quarter of that,
    and so on. A trial is accepted as long as its refit predicts hidden cells clearly better, both
    half of them and two thirds of them, because columns of small units can make up half of a
    table.
    """
    block = np.asarray(X[random_cells(X.shape, rng)])
    lam *= block_weight(X, block)
    sigma = noise_scale(block, lam=lam, solver=solver, rng=rng)

    # if most cells are equal, estimate the noise from the columns that vary, which is less
    # accurate
    live = live_columns(block)
    is_silent = sigma == 0 and live.any() and not live.all()
    if is_silent:
        live_block = block[:, live]
        sigma = noise_scale(
            live_block, lam=lam * block_weight(block, live_block), solver=solver, rng=rng
        )
    if sigma == 0:
        return sigma

    # accept an estimate from all columns unless many residuals are large
    fit = rough_pursuit(block, sigma, lam=lam, solver=solver, rng=rng)
    observed = ~np.isnan(block)
    beyond = np.abs(block - (fit.U * fit.s) @ fit.Vt)[observed] > SUSPECT * sigma
    best = _refitted(block, fit, sigma) if is_silent or beyond.mean() > BEYOND_SHARE else None
    if best is None:
        return sigma

    # try at least two lower values, because the first one may change nothing
    hidden = observed & (rng.random_sample(block.shape) < HIDDEN_SHARE)
    error = hidden_error(block, best, hidden)
    trial = sigma
    for i in range(TRIALS):
        trial /= FALL
        fit = rough_pursuit(block, trial, lam=lam, solver=solver, rng=rng)
        candidate = _refitted(block, fit, trial)
        if candidate is None:
            break

        candidate_error = hidden_error(block, candidate, hidden)
        if (candidate_error < CLEARLY_BETTER * error).all():
            sigma = trial
            error = candidate_error
        elif i > 0:
            break
    return sigma


def weighted_noise(
    X: Array, weights: Array, *, lam: float, solver: str, rng: np.random.RandomState
) -> float:
    """Estimate the noise of a cell with weight one, without the trials of `start_noise`."""
    cells = random_cells(X.shape, rng)
    block = np.asarray(X[cells])
    lam *= block_weight(X, block)
    return noise_scale(block, lam=lam, solver=solver, rng=rng, weights=weights[cells])


def _refitted(block: Array, fit: PursuitResult, sigma: float) -> Refit | None:
    low_rank = (fit.U * fit.s) @ fit.Vt
    return refit(block, low_rank, fit.Vt.T, sigma=sigma, threshold=GROSS)


def hidden_error(block: Array, fitted: Refit, hidden: Array) -> Array:
    """Return quantiles of the errors in hidden cells of a fit to the other trusted cells.

    The fit starts from the components of the refit, which depend on the hidden cells, and takes
    enough steps to forget them. The quantiles `PREDICTED` ignore hidden cells that are wrong.
    """
    trusted = ~np.isnan(block) & ~fitted.outlying & ~hidden
    start = linalg.qr(fitted.B, mode="economic")[0]
    A, B = fit_trusted(block, trusted, start, n_steps=STEPS)
    errors = np.abs(block - A @ B.T)[hidden & live_columns(block)]
    return np.quantile(errors, PREDICTED) if len(errors) else np.zeros(len(PREDICTED))
