"""Noise of a table to start from: a robust estimate, lowered where hidden cells speak for it."""

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.principal_component_pursuit import PursuitResult
from skmoderndata._solvers.lowrank.quantiles import live_columns
from skmoderndata._solvers.lowrank.refit import Refit, refit
from skmoderndata._solvers.lowrank.table_noise import (
    block_weight,
    noise_scale,
    random_cells,
    rough_pursuit,
)
from skmoderndata._solvers.lowrank.trusted_cells import fit_trusted

BEYOND = 2.5  # standard deviations; of Gaussian noise 1.2 % of the cells lie beyond
BEYOND_SHARE = 0.08  # of the cells, up to which the estimate is taken as it is
HIDDEN_SHARE = 0.1  # of the known cells
FALL = 4.0  # from one trial of the noise to the next
TRIALS = 6
CLEARLY_BETTER = 0.7  # of the error in hidden cells
PREDICTED = (1 / 2, 2 / 3)  # shares of the hidden cells that are to be predicted better
CUT = 5.0  # standard deviations, in the refits that are compared
STEPS = 10  # of alternating least squares without the hidden cells


def start_noise(X: Array, *, lam: float, solver: str, rng: np.random.RandomState) -> float:
    """Estimate the noise of a table with gross errors, also where many cells are wrong or missing.

    With many gross errors and gaps, pursuit shrinks the low rank so much that the fixed point of
    `noise_scale` is several times too high: pursuit at this noise has too few components, and
    the refit, which only removes components, cannot regain them. The sign of it is that many
    cells lie beyond 2.5 standard deviations. Then a quarter of the noise is tried, a quarter of
    that, and kept as long as the refit from there predicts hidden cells clearly better: half of
    them, and two thirds of them, as columns of small units can make up half of a table.
    """
    block = np.asarray(X[random_cells(X.shape, rng)])
    lam *= block_weight(X, block)
    sigma = noise_scale(block, lam=lam, solver=solver, rng=rng)

    # most cells alike: the columns that are not tell the noise, less well
    live = live_columns(block)
    is_silent = sigma == 0 and live.any() and not live.all()
    if is_silent:
        live_block = block[:, live]
        sigma = noise_scale(
            live_block, lam=lam * block_weight(block, live_block), solver=solver, rng=rng
        )
    if sigma == 0:
        return sigma

    # enough as it is?
    fit = rough_pursuit(block, sigma, lam=lam, solver=solver, rng=rng)
    observed = ~np.isnan(block)
    beyond = np.abs(block - (fit.U * fit.s) @ fit.Vt)[observed] > BEYOND * sigma
    best = _refitted(block, fit, sigma) if is_silent or beyond.mean() > BEYOND_SHARE else None
    if best is None:
        return sigma

    # from one quarter to the next, at least two: the first may change nothing
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
    """Estimate the noise of a cell of weight one, without the trials of `start_noise`."""
    cells = random_cells(X.shape, rng)
    block = np.asarray(X[cells])
    lam *= block_weight(X, block)
    return noise_scale(block, lam=lam, solver=solver, rng=rng, weights=weights[cells])


def _refitted(block: Array, fit: PursuitResult, sigma: float) -> Refit | None:
    low_rank = (fit.U * fit.s) @ fit.Vt
    return refit(block, low_rank, fit.Vt.T, sigma=sigma, threshold=CUT)


def hidden_error(block: Array, fitted: Refit, hidden: Array) -> Array:
    """Quantiles of the errors in the hidden cells, of least squares on the other trusted ones.

    From the components of the refit, which have seen the hidden cells: enough steps forget them.
    `PREDICTED` of the cells disregard those that are wrong themselves.
    """
    trusted = ~np.isnan(block) & ~fitted.outlying & ~hidden
    start = linalg.qr(fitted.B, mode="economic")[0]
    A, B = fit_trusted(block, trusted, start, n_steps=STEPS)
    errors = np.abs(block - A @ B.T)[hidden & live_columns(block)]
    return np.quantile(errors, PREDICTED) if len(errors) else np.zeros(len(PREDICTED))
