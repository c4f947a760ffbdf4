"""Refit of a low rank: least squares outside the cells that exceed the noise by far.

The nuclear norm shrinks, and its threshold on cells is far below the noise. Given its solution as
a start, the number of components is counted, the cells beyond the noise are found and left out,
and the others fitted by least squares, in turns.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.linalg import eigen_range
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._solvers.lowrank.quantiles import (
    MEDIAN_TO_STD,
    live_columns,
    median_size,
    truncation_factor,
)
from skmoderndata._solvers.lowrank.svt import svt
from skmoderndata._solvers.lowrank.table_noise import column_noise
from skmoderndata._solvers.lowrank.trusted_cells import fit_trusted

FIRST_CUT = 2.5  # standard deviations: many gross errors hide each other at a larger one
ROUNDS = 5  # at most, at each cut
LAST_STAGE = 2  # the second cut once more, for rows that were mended after it
STEPS_PER_ROUND = 5  # of alternating least squares in a round
NOISE_EDGE = 1.2  # of the largest singular value of noise, above which a component counts
ALL_CELLS_FLOOR = 0.6  # of the scale over all cells: the cut cells must not define the noise
TAIL_ROUNDS = 3
COLUMN_WEIGHT = 20  # cells of the common noise in the noise of a column
LEAST_FREEDOM = 0.1
# Smallest eigenvalue of a component that was asked for, relative to the largest.
RIDGE_RELATIVE = 1e-14
ROBUST_TOL = 1e-6  # relative duality gap of regressions by least absolute deviations
LOST_SHARE = 0.25  # of the cells of a row, beyond which its fit is doubtful
MOST_COMPONENTS = 1 / 3  # of the smaller side, from which no refit is tried


class Refit(NamedTuple):
    """Low rank ``A B'``, the cells beyond the noise, and the noise."""

    A: Array  # (n, r), orthonormal columns
    B: Array  # (p, r)
    outlying: Array  # (n, p)
    noise_std: float
    noise_scale: Array  # (p,), standard deviation in each column


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

    From the low-rank matrix `L` of a convex problem with right singular vectors `start` (p, r).
    Rounds with a cut at 2.5 standard deviations are followed by rounds with `threshold`. A round
    counts the components above the noise, which may only become fewer; fits the cells that are not
    cut; estimates the noise from them; and cuts again. After each cut, rows and columns that lose
    many cells are fitted by least absolute deviations; where that mends some after the second one,
    its rounds are made once more. None where the components are not few: at least a third of the
    smaller side. With `n_components` there are so many, whatever the noise. `known_noise`: `sigma`
    is not estimated. With `weights` of the cells their noise is divided by the roots of these, and
    so are residuals.
    """
    observed = ~np.isnan(X)
    live = live_columns(X)
    counted = observed & live if live.any() else observed
    n, p = X.shape
    root = None if weights is None else np.sqrt(weights)

    # start from the residuals of the convex problem
    residual = whitened(X, L, observed, root)
    if not known_noise:
        sigma = min(sigma, MEDIAN_TO_STD * median_size(residual, counted))
    noise = np.full(p, sigma)
    rank = start.shape[1]
    for stage, cut in enumerate((min(FIRST_CUT, threshold), threshold, threshold)):
        outlying = observed & (np.abs(residual) > cut * noise)
        for _ in range(ROUNDS):
            # 1. components above the edge of the noise
            trusted = keep_half(observed & ~outlying, observed, residual / noise, rank)
            filled, variance = steps_towards(X, L, trusted, weights)
            edge = NOISE_EDGE * sigma * (np.sqrt(n) + np.sqrt(p)) * np.sqrt(variance.mean())
            if n_components is None:
                leading = svt(filled, edge, subspace=start, max_rank=rank, tol=1e-3)
                start = leading.Vt.T
                sizes = leading.s + edge
            else:
                start, sizes = leading_vectors(filled, n_components)
            rank = len(sizes)
            if n_components is None and rank >= MOST_COMPONENTS * min(n, p):
                return None

            # 2. least squares on the trusted cells
            ridges = (sigma**2 * n / sizes**2, sigma**2 * p / sizes**2)
            A, B = fit_trusted(
                X, trusted, start, n_steps=STEPS_PER_ROUND, ridges=ridges, cell_weights=weights
            )
            L = A @ B.T
            residual = whitened(X, L, observed, root)

            # 3. noise of the cells that are left, of the table and of each column
            if not known_noise:
                retained = observed & ~outlying
                used = rank * (n + p - rank) / max(int(retained.sum()), 1)
                freedom = max(1 - used, LEAST_FREEDOM)
                sigma = _scale(residual, retained & counted, counted, cut) / np.sqrt(freedom)
                noise = column_noise(
                    residual, retained, sigma, weight=COLUMN_WEIGHT, freedom=freedom
                )

            # 4. cells beyond it
            last = outlying
            outlying = observed & (np.abs(residual) > cut * noise)
            if (last == outlying).all():
                break

        # rows and columns that follow their gross errors, which seem to be noise of a column
        # least squares once drawn to gross errors cannot tell; after the second cut, too
        least_squares = L
        if rank and stage < LAST_STAGE:
            L, anew = fit_doubtful(X, L, A, B, bound=cut * sigma, root=root)
            residual = whitened(X, L, observed, root)
            if not known_noise:
                noise = np.where(anew, np.minimum(noise, sigma), noise)
        if stage > 0 and np.array_equal(L, least_squares):
            break

    # tails heavier than Gaussian: the cells that they take back widen the noise in turn
    for _ in range(0 if known_noise else TAIL_ROUNDS):
        retained = observed & ~outlying
        noise = column_noise(
            residual, retained, sigma, weight=COLUMN_WEIGHT, freedom=freedom, tails=True
        )
        outlying = observed & (np.abs(residual) > threshold * noise)
    return Refit(A, B, outlying, float(sigma), noise)


def leading_vectors(X: Array, n_components: int) -> tuple[Array, Array]:
    """Leading right singular vectors (p, r) and singular values, from the smaller Gram matrix."""
    wide = X.shape[0] < X.shape[1]
    side = min(X.shape)
    G = X @ X.T if wide else X.T @ X
    values, vectors = eigen_range(G, side - n_components, side)

    # floor the singular values, as the vectors of the other side are divided by them
    sizes = np.sqrt(np.maximum(values[::-1], RIDGE_RELATIVE * max(values[-1], 1e-300)))
    vectors = vectors[:, ::-1]
    return (X.T @ vectors / sizes if wide else vectors), sizes


def whitened(X: Array, L: Array, observed: Array, root: Array | None) -> Array:
    """Residuals in units of equal noise, 0 where nothing is known."""
    residual = np.where(observed, X - L, 0.0)
    return residual if root is None else root * residual


def steps_towards(
    X: Array, L: Array, trusted: Array, weights: Array | None
) -> tuple[Array, Array]:
    """Return L with the trusted cells of X, and the variance of the noise of each cell of it.

    The latter in units of that of a cell of weight one. Cells of less than the median weight,
    which are noisier, go a part of the way only, in proportion to it; otherwise their noise alone
    would decide which singular values stand out.
    """
    if weights is None:
        return np.where(trusted, X, L), trusted

    # move noisier cells by the ratio of their weight to the median
    usual = float(np.median(weights[~np.isnan(X)]))
    part_of_way = np.minimum(weights / usual, 1.0)
    filled = np.where(trusted, L + part_of_way * (X - L), L)
    return filled, np.where(trusted, part_of_way**2 / weights, 0.0)


def fit_doubtful(
    X: Array, L: Array, A: Array, B: Array, *, bound: float, root: Array | None = None
) -> tuple[Array, Array]:
    """Fit rows and columns that lose many cells by least absolute deviations; which columns.

    Least squares that gross errors have once drawn to themselves keep the wrong cells of a row and
    cut the right ones, and the cells that they keep cannot tell. A regression of all its known
    cells on the components can; it is taken where it explains two more cells within `bound`, with
    weights that over `root`, theirs.
    """
    L = L.copy()
    bounds = np.broadcast_to(bound if root is None else bound / root, X.shape)
    for table, low_rank, basis, within_of in ((X, L, B, bounds), (X.T, L.T, A, bounds.T)):
        # find the rows that lose more than the allowed share of their cells
        within = (np.abs(table - low_rank) <= within_of).sum(axis=1)
        n_observed = np.count_nonzero(~np.isnan(table), axis=1)
        doubtful = np.flatnonzero(within < (1 - LOST_SHARE) * n_observed)
        better = doubtful[:0]
        if len(doubtful):
            # regress them on the components, and take the fits that explain more cells
            components = linalg.qr(basis, mode="economic")[0].T
            scores = robust_scores(table[doubtful], components, tol=ROBUST_TOL).scores
            fitted = scores @ components
            errors = np.abs(table[doubtful] - fitted)
            explained = (errors <= within_of[doubtful]).sum(axis=1)
            gains = explained >= within[doubtful] + 2
            better = doubtful[gains]
            low_rank[better] = fitted[gains]

    # mark the columns, whose pass was the last one
    anew = np.zeros(X.shape[1], bool)
    anew[better] = True
    return L, anew


def _scale(residual: Array, retained: Array, counted: Array, cut: float) -> float:
    """Robust scale of the retained cells, at least .6 of that of all cells."""
    of_retained = truncation_factor(cut) * MEDIAN_TO_STD * median_size(residual, retained)
    return max(of_retained, ALL_CELLS_FLOOR * MEDIAN_TO_STD * median_size(residual, counted))


def keep_half(trusted: Array, observed: Array, sizes: Array, rank: int) -> Array:
    """Trust in every row and column half of the known cells, and 2 rank + 1, the smallest ones.

    Otherwise a row that a fit has once missed would be cut as a whole, and never be fitted again.
    """
    trusted = trusted.copy()
    sizes = np.abs(sizes)
    for mask, cells, size in ((trusted, observed, sizes), (trusted.T, observed.T, sizes.T)):
        # trust the smallest residuals of rows, then of columns, that keep too few
        n_observed = cells.sum(axis=1)
        wanted = np.maximum((n_observed + 1) // 2, np.minimum(2 * rank + 1, n_observed))
        for i in np.flatnonzero(mask.sum(axis=1) < wanted):
            order = np.where(cells[i], size[i], np.inf).argsort(kind="stable")
            mask[i, order[: wanted[i]]] = True
    return trusted
