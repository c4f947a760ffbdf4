"""Proof of noise in a large table by a part of it, so that pursuit of the whole is spared."""

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._solvers.lowrank.quantiles import live_columns
from skmoderndata._solvers.lowrank.refit import ROBUST_TOL, Refit, refit
from skmoderndata._solvers.lowrank.table_noise import (
    block_weight,
    noise_scale,
    rough_pursuit,
)

# which tables
LARGE = 3 * 10**6  # cells
MOST_ROWS = 2000  # of the smaller side, whose spectrum is computed

SIDE = 300  # rows and columns of the block
ROUNDS = 6
CUT = 5.0  # standard deviations, in the block
CLOSE_CUT = 3.0  # in all rows: smaller errors would pass for noise
PURSUED_RANK = 0.3  # of the side of the block, in which pursuit at the noise also has noise
PERSISTING = 0.5  # of the noise at which pursuit settles, which the refit must leave

# in which exact cells would be met
PLAIN_RANK = 0.05  # of the side of the block
PLAIN_SHARE = 0.1  # of the known cells
# largest rank that pursuit recovers, of the smaller side, and most of a residual of noise in it
RECOVERED_RANK = 0.25
SPREAD_SHARE = 0.8


def proves_noise(X: Array, *, lam: float, solver: str, rng: np.random.RandomState) -> bool:
    """Whether a part of a large table, drawn at random, shows that its cells carry noise.

    A block of 300 x 300 is decomposed. With few components and few wrong cells exact ones would
    be met, but for further components, too many for so small a block. Then these would hold the
    residual of all rows, a quarter of whose singular values hold only some 60 % of noise. False
    is no proof of exact cells: pursuit of the whole table has to decide.
    """
    if X.shape[0] > X.shape[1]:
        X = X.T
    n, p = X.shape
    if X.size < LARGE or n > MOST_ROWS or not live_columns(X).any():
        return False

    # 1. components and noise of a block
    rows = np.sort(rng.permutation(n)[:SIDE])
    columns = np.sort(rng.permutation(p)[:SIDE])
    fitted = _decompose_block(X, rows, columns, lam=lam, solver=solver, rng=rng)
    if fitted is None:
        return False

    # 2. the same components in all rows, and in as many columns
    A = _scores(X[:, columns], fitted.B)
    table = X[:, np.sort(rng.permutation(p)[:n])]
    B = _scores(table.T, A)
    residual = table - A @ B.T
    trusted = np.abs(residual) <= CLOSE_CUT * fitted.noise_std
    n_observed = np.count_nonzero(~np.isnan(table))
    if np.count_nonzero(trusted) < (1 - PLAIN_SHARE) * n_observed:
        return False

    # 3. no rank that pursuit would recover holds what is left
    residual = np.where(trusted, residual, 0.0)
    energies = linalg.eigvalsh(residual @ residual.T)[::-1]
    largest = energies[: int(RECOVERED_RANK * n)].sum()
    return bool(largest < SPREAD_SHARE * energies.sum())


def _decompose_block(
    X: Array,
    rows: Array,
    columns: Array,
    *,
    lam: float,
    solver: str,
    rng: np.random.RandomState,
) -> Refit | None:
    """Fit a block; None unless a noise persists beside few components and few wrong cells."""
    block = X[np.ix_(rows, columns)]
    side = min(block.shape)
    lam *= block_weight(X, block)

    # where pursuit settles
    sigma = noise_scale(
        block,
        lam=lam,
        solver=solver,
        rng=rng,
        rounds=ROUNDS,
        most_components=int(PURSUED_RANK * side),
    )
    if not sigma > 0:
        return None

    # what the refit leaves
    fit = rough_pursuit(block, sigma, lam=lam, solver=solver, rng=rng)
    low_rank = (fit.U * fit.s) @ fit.Vt
    fitted = refit(block, low_rank, fit.Vt.T, sigma=sigma, threshold=CUT)
    if fitted is None or fitted.noise_std < PERSISTING * sigma:
        return None
    n_observed = np.count_nonzero(~np.isnan(block))
    is_plain = (
        fitted.B.shape[1] <= PLAIN_RANK * side
        and np.count_nonzero(fitted.outlying) <= PLAIN_SHARE * n_observed
    )
    return fitted if is_plain else None


def _scores(table: Array, basis: Array) -> Array:
    """Regress all rows by least absolute deviations on the columns of a basis."""
    if basis.shape[1] == 0:
        return np.zeros((len(table), 0))
    Q, R = linalg.qr(basis, mode="economic")
    scores = robust_scores(table, Q.T, tol=ROBUST_TOL).scores
    return np.asarray(linalg.solve_triangular(R, scores.T).T)
