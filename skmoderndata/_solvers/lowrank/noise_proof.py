"""Prove noise in a large table from a part of it, which avoids pursuit of the whole table."""

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._solvers.lowrank.quantiles import GROSS, SIDE, TRUSTED, live_columns
from skmoderndata._solvers.lowrank.refit import ROBUST_TOL, Refit, refit
from skmoderndata._solvers.lowrank.table_noise import (
    block_weight,
    noise_scale,
    rough_pursuit,
)

# Minimum number of cells of a large table.
LARGE = 3 * 10**6

# Maximum length of the smaller side of the table. A longer side would take too much time, because
# the spectrum of a square matrix of this size is computed.
MOST_ROWS = 2000


# Maximum number of rounds to estimate the noise of the block.
ROUNDS = 6


# Maximum number of components of a pursuit that estimates noise, as a fraction of the side of the
# block.
PURSUED_RANK = 0.3

# Minimum noise that the refit must leave, as a fraction of the noise to which pursuit converges.
PERSISTING = 0.5

# Maximum rank of a block with exactly fitted cells, as a fraction of its side.
PLAIN_RANK = 0.05

# Maximum fraction of wrong cells in a block with exactly fitted cells.
PLAIN_SHARE = 0.1

# Largest rank that pursuit recovers, as a fraction of the smaller side.
RECOVERED_RANK = 0.25

# Maximum fraction of the energy of noise that a matrix of the largest recovered rank can explain.
SPREAD_SHARE = 0.8


def proves_noise(X: Array, *, lam: float, solver: str, rng: np.random.RandomState) -> bool:
    """Return True if a random part of a large table shows that its cells carry noise.

    A block of 300 x 300 is decomposed. If it has few components and few wrong cells, exact cells
    would be fitted exactly, unless the table has further components, too many for a block of this
    size. These components would then contain the residual of all rows. A quarter of the singular
    values of noise contains only about 60 % of its energy. False does not prove exact cells: then
    pursuit of the whole table must decide.
    """
    if X.shape[0] > X.shape[1]:
        X = X.T
    n, p = X.shape
    if X.size < LARGE or n > MOST_ROWS or not live_columns(X).any():
        return False

    # 1. find the components and the noise of a block
    rows = np.sort(rng.permutation(n)[:SIDE])
    columns = np.sort(rng.permutation(p)[:SIDE])
    fitted = _decompose_block(X, rows, columns, lam=lam, solver=solver, rng=rng)
    if fitted is None:
        return False

    # 2. regress all n rows on the components of the block, then n random columns on the scores
    A = _scores(X[:, columns], fitted.B)
    table = X[:, np.sort(rng.permutation(p)[:n])]
    B = _scores(table.T, A)
    residual = table - A @ B.T
    trusted = np.abs(residual) <= TRUSTED * fitted.noise_std
    n_observed = np.count_nonzero(~np.isnan(table))
    if np.count_nonzero(trusted) < (1 - PLAIN_SHARE) * n_observed:
        return False

    # 3. check that no matrix of a rank that pursuit would recover explains most of the residual
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
    """Fit a block; return None unless noise persists beside few components and wrong cells."""
    block = X[np.ix_(rows, columns)]
    side = min(block.shape)
    lam *= block_weight(X, block)

    # estimate the noise level to which pursuit converges
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

    # check that the refit leaves noise
    fit = rough_pursuit(block, sigma, lam=lam, solver=solver, rng=rng)
    low_rank = (fit.U * fit.s) @ fit.Vt
    fitted = refit(block, low_rank, fit.Vt.T, sigma=sigma, threshold=GROSS)
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
