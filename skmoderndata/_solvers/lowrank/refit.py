"""Refit a low rank by least squares without the cells that exceed the noise by far.

The nuclear norm shrinks singular values, and its threshold on cells is far below the noise. The
refit starts from its solution. It alternately counts the components, leaves out the cells beyond
the noise, and fits the other cells by least squares.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.linalg import eigen_range
from skmoderndata._solvers.common.tolerances import ROUNDING, SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._solvers.lowrank.quantiles import (
    COLUMN_WEIGHT,
    MEDIAN_TO_STD,
    SUSPECT,
    live_columns,
    median_size,
    truncation_factor,
)
from skmoderndata._solvers.lowrank.svt import COARSE, svt
from skmoderndata._solvers.lowrank.table_noise import column_noise
from skmoderndata._solvers.lowrank.trusted_cells import fit_trusted

# Maximum number of rounds at each cut.
ROUNDS = 5


# Number of alternating least-squares steps in a round.
STEPS_PER_ROUND = 5

# Minimum singular value of a component, relative to the largest singular value of the noise.
NOISE_EDGE = 1.2

# Minimum noise, as a fraction of the scale of all cells; without this minimum, the choice of the
# cells to cut would determine the noise.
ALL_CELLS_FLOOR = 0.6

# Number of rounds that adapt the noise to heavy tails.
TAIL_ROUNDS = 3


# Minimum fraction of the degrees of freedom that a fit is assumed to leave.
LEAST_FREEDOM = 0.1


# Tolerance of the relative duality gap of regressions by least absolute deviations.
ROBUST_TOL = 1e-6

# Maximum fraction of the cells that a row may lose before its fit counts as doubtful.
LOST_SHARE = 0.25

# Maximum number of components of a refit, as a fraction of the smaller side.
MOST_COMPONENTS = 1 / 3


class Refit(NamedTuple):
    """Low rank ``A B'``, the cells beyond the noise, and the noise."""

    A: Array  # (n, r), orthonormal columns
    B: Array  # (p, r)
    outlying: Array  # (n, p), mask of cells beyond the noise
    noise_std: float
    noise_scale: Array  # (p,), standard deviation of the noise in each column


def refit(
    X: Array,
    L: Array,
    start: Array,
    *,
    sigma: float,
    threshold: float,
    known_noise: bool = False,
    weights: Array | None = None,
    n_components: int | None = None,
) -> Refit | None:
    """Fit the cells of X within `threshold` standard deviations by least squares of low rank.

    The refit starts from the low-rank matrix `L` of a convex problem with right singular vectors
    `start` (p, r). Rounds with a cut at 2.5 standard deviations are followed by rounds with
    `threshold`. Each round counts the components above the noise, which may only become fewer,
    fits the cells that are not cut, estimates the noise from them, and cuts again.

    After the rounds of each cut, rows and columns that lose many cells are fitted by least
    absolute deviations. If this corrects any after the second cut, its rounds are repeated. The
    result is None if the number of components is at least a third of the smaller side.

    `n_components` fixes the number of components, whatever the noise. With `known_noise`, `sigma`
    is not estimated. `weights` of the cells divide the variance of their noise.
    """
    observed = ~np.isnan(X)
    live = live_columns(X)
    counted = observed & live if live.any() else observed
    n, p = X.shape
    root = None if weights is None else np.sqrt(weights)

    # start from the residuals of the convex solution
    residual = whitened(X, L, observed, root)
    if not known_noise:
        sigma = min(sigma, MEDIAN_TO_STD * median_size(residual, counted))
    noise = np.full(p, sigma)
    rank = start.shape[1]
    for stage, cut in enumerate((min(SUSPECT, threshold), threshold, threshold)):
        outlying = observed & (np.abs(residual) > cut * noise)
        for _ in range(ROUNDS):
            # 1. count the components above the edge of the noise
            trusted = keep_half(observed & ~outlying, observed, residual / noise, rank)
            filled, variance = steps_towards(X, L, trusted, weights)
            edge = NOISE_EDGE * sigma * (np.sqrt(n) + np.sqrt(p)) * np.sqrt(variance.mean())
            if n_components is None:
                leading = svt(filled, edge, subspace=start, max_rank=rank, tol=COARSE)
                start = leading.Vt.T
                sizes = leading.s + edge
            else:
                start, sizes = leading_vectors(filled, n_components)
            rank = len(sizes)
            if n_components is None and rank >= MOST_COMPONENTS * min(n, p):
                return None

            # 2. fit the trusted cells by least squares
            ridges = (sigma**2 * n / sizes**2, sigma**2 * p / sizes**2)
            A, B = fit_trusted(
                X, trusted, start, n_steps=STEPS_PER_ROUND, ridges=ridges, cell_weights=weights
            )
            L = A @ B.T
            residual = whitened(X, L, observed, root)

            # 3. estimate the noise of the table and of each column from the cells that are not cut
            if not known_noise:
                retained = observed & ~outlying
                used = rank * (n + p - rank) / max(int(retained.sum()), 1)
                freedom = max(1 - used, LEAST_FREEDOM)
                sigma = _scale(residual, retained & counted, counted, cut) / np.sqrt(freedom)
                noise = column_noise(
                    residual, retained, sigma, weight=COLUMN_WEIGHT, freedom=freedom
                )

            # 4. cut the cells beyond the noise
            last = outlying
            outlying = observed & (np.abs(residual) > cut * noise)
            if (last == outlying).all():
                break

        # refit rows and columns whose fits follow their gross errors: least squares cannot detect
        # these errors, and mistakes errors in a column for its noise
        least_squares = L
        if rank and stage < 2:
            L, is_robust = fit_doubtful(X, L, A, B, bound=cut * sigma, root=root)
            residual = whitened(X, L, observed, root)
            if not known_noise:
                noise = np.where(is_robust, np.minimum(noise, sigma), noise)
        if stage > 0 and np.array_equal(L, least_squares):
            break

    # adapt the noise to heavy tails, in rounds, because cells that are admitted again widen the
    # noise in turn
    for _ in range(0 if known_noise else TAIL_ROUNDS):
        retained = observed & ~outlying
        noise = column_noise(
            residual, retained, sigma, weight=COLUMN_WEIGHT, freedom=freedom, tails=True
        )
        outlying = observed & (np.abs(residual) > threshold * noise)
    return Refit(A, B, outlying, float(sigma), noise)


def leading_vectors(X: Array, n_components: int) -> tuple[Array, Array]:
    """Compute leading right singular vectors (p, r) and values by the smaller Gram matrix."""
    wide = X.shape[0] < X.shape[1]
    side = min(X.shape)
    G = X @ X.T if wide else X.T @ X
    values, vectors = eigen_range(G, side - n_components, side)

    # bound the singular values from below, because vectors are divided by them
    sizes = np.sqrt(np.maximum(values[::-1], ROUNDING * max(values[-1], SMALLEST_DIVISOR)))
    vectors = vectors[:, ::-1]
    return (X.T @ vectors / sizes if wide else vectors), sizes


def whitened(X: Array, L: Array, observed: Array, root: Array | None) -> Array:
    """Return the residuals in units of equal noise, 0 for missing cells."""
    residual = np.where(observed, X - L, 0.0)
    return residual if root is None else root * residual


def steps_towards(
    X: Array, L: Array, trusted: Array, weights: Array | None
) -> tuple[Array, Array]:
    """Return L with the trusted cells of X, and the noise variance of each cell of the result.

    Variances are in units of the variance of a cell with weight one. Cells with less than the
    median weight move from L to X only in part, in proportion to their weight: otherwise their
    larger noise would decide which singular values stand out.
    """
    if weights is None:
        return np.where(trusted, X, L), trusted

    # move cells below the median weight only part of the way: by the ratio of their weight to the
    # median weight
    usual = float(np.median(weights[~np.isnan(X)]))
    part_of_way = np.minimum(weights / usual, 1.0)
    filled = np.where(trusted, L + part_of_way * (X - L), L)
    return filled, np.where(trusted, part_of_way**2 / weights, 0.0)


def fit_doubtful(
    X: Array, L: Array, A: Array, B: Array, *, bound: float, root: Array | None = None
) -> tuple[Array, Array]:
    """Fit rows and columns that lose many cells by least absolute deviations.

    Returns the low rank, and a mask of the columns that were fitted anew. If gross errors have
    once attracted least squares, it keeps the wrong cells of a row and cuts the right ones, and
    the kept cells do not show this. A regression of all known cells of the row on the components
    does. It is accepted if it explains at least two more cells within `bound`, divided by `root`
    if there are weights.
    """
    L = L.copy()
    bounds = np.broadcast_to(bound if root is None else bound / root, X.shape)
    for table, low_rank, basis, within_of in ((X, L, B, bounds), (X.T, L.T, A, bounds.T)):
        # find the rows that lose more than the allowed fraction of their cells
        within = (np.abs(table - low_rank) <= within_of).sum(axis=1)
        n_observed = np.count_nonzero(~np.isnan(table), axis=1)
        doubtful = np.flatnonzero(within < (1 - LOST_SHARE) * n_observed)
        better = doubtful[:0]
        if len(doubtful):
            # regress these rows on the components, and accept the fits that explain at least two
            # more cells than before
            components = linalg.qr(basis, mode="economic")[0].T
            scores = robust_scores(table[doubtful], components, tol=ROBUST_TOL).scores
            fitted = scores @ components
            errors = np.abs(table[doubtful] - fitted)
            explained = (errors <= within_of[doubtful]).sum(axis=1)
            gains = explained >= within[doubtful] + 2
            better = doubtful[gains]
            low_rank[better] = fitted[gains]

    # mark the refitted columns (the last pass works on the transposed table, so they are its rows)
    is_robust = np.zeros(X.shape[1], bool)
    is_robust[better] = True
    return L, is_robust


def _scale(residual: Array, retained: Array, counted: Array, cut: float) -> float:
    """Estimate the scale of the retained cells, no less than .6 times the scale of all cells."""
    of_retained = truncation_factor(cut) * MEDIAN_TO_STD * median_size(residual, retained)
    return max(of_retained, ALL_CELLS_FLOOR * MEDIAN_TO_STD * median_size(residual, counted))


def keep_half(trusted: Array, observed: Array, sizes: Array, rank: int) -> Array:
    """Trust at least half, and at least 2 rank + 1, of the known cells of each row and column.

    Cells with the smallest residuals are added. Otherwise a row that a fit has once missed would
    be cut entirely, and never be fitted again.
    """
    trusted = trusted.copy()
    sizes = np.abs(sizes)
    for mask, cells, size in ((trusted, observed, sizes), (trusted.T, observed.T, sizes.T)):
        # first for the rows, then for the columns: if too few cells are trusted, also trust the
        # cells with the smallest residuals
        n_observed = cells.sum(axis=1)
        needed = np.maximum((n_observed + 1) // 2, np.minimum(2 * rank + 1, n_observed))
        for i in np.flatnonzero(mask.sum(axis=1) < needed):
            order = np.where(cells[i], size[i], np.inf).argsort(kind="stable")
            mask[i, order[: needed[i]]] = True
    return trusted
