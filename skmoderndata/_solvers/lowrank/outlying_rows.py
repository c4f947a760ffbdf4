"""Find rows of a noisy table that do not lie on the components of the other rows.

A group of similar wrong rows gets its own component, and its scores are far from the others.
Single wrong rows are off the components in most of their cells. Rows of both kinds are suspects.
The other rows are fitted, and a row is outlying if its cells are off the components of this fit.
Far rows on the components are leverage points, which return to the fit.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.stats import chi2

from skmoderndata._solvers.common.linalg import row_signs
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.least_absolute import scores_in_units
from skmoderndata._solvers.lowrank.quantiles import MEDIAN_TO_STD, SUSPECT
from skmoderndata._solvers.lowrank.table import TableTerms

# Fraction of good rows beyond the cutoff of the score distance.
TAIL = 1e-4

# Maximum robust z-score of the log-size of the residuals of a row that lies on the components.
OFF = 4.0


# Minimum size of an outlying row, in units of the noise; rows with 30 % broken cells have size
# 1.58.
LEAST_SIZE = 1.6

# Maximum fraction of the rows that are left out of the first fit.
MOST_SUSPECTS = 0.5

# Maximum number of fits without the suspects, before the final fit.
FITS = 3

# Number of directions onto which the scores are projected.
DIRECTIONS = 500

# Fraction of the rows that each concentration step keeps, except the last steps, which reweight.
CORE = 0.6

# Minimum number of kept rows for a covariance, in multiples of the number of dimensions plus 1.
LEAST_CORE = 2

# Fraction of good rows that the last concentration steps keep.
REWEIGHT = 0.975

# Number of concentration steps, and how many of them, at the end, reweight the rows.
STEPS = (8, 3)

# Standard deviation of the logarithm of the median of m Gaussian sizes, times the square root of
# m.
LOG_MEDIAN_STD = 1.166

Decompose = Callable[[Array], TableTerms]  # function that decomposes the rows of a mask


class OutlierMap(NamedTuple):
    """Parameters of the distances of a row, along the components and off them."""

    location: Array  # (r,), centre of the scores
    precision: Array  # (r, r), inverse covariance of the scores
    singular_values: Array  # (r,), singular values of the fitted rows
    centre: float  # centre of the log-sizes, in units of their standard deviation
    spread: float  # spread of the log-sizes

    def turned(self, turn: Array, singular_values: Array) -> "OutlierMap":
        """Return the map for scores times the matrix `turn`, which has the same distances."""
        back = np.linalg.inv(turn)
        precision = back @ self.precision @ back.T
        return self._replace(
            location=self.location @ turn, precision=precision, singular_values=singular_values
        )

    def distances(self, scores: Array, residual: Array) -> Array:
        """Return the distances (m, 2) of rows, each over its cutoff.

        Residuals are in units of their deviations. Rows whose known cells do not determine the
        scores have distance 0 along the components.
        """
        rank = scores.shape[1]
        along = _mahalanobis(scores, self.location, self.precision)
        along /= _cutoff(rank)
        n_known = np.count_nonzero(~np.isnan(residual), axis=1)
        along[n_known <= rank] = 0.0

        # measure the distance from the components, which is zero for rows within the noise
        size, logarithm = row_sizes(residual, rank)
        z = (logarithm - self.centre) / self.spread
        z = np.where(size > LEAST_SIZE, z, 0.0)
        z = np.maximum(z, 0.0)
        return np.column_stack([along, z / OFF])


class RowVerdict(NamedTuple):
    """Decomposition of a table without the influence of its outlying rows."""

    terms: TableTerms  # terms of all rows
    outlying: Array  # (n,), mask of outlying rows
    # (n,), mask of rows that lie far out along the components but close to their span
    leverage: Array
    distances: Array  # (n, 2), along the components and off them
    map: OutlierMap
    # fraction of seemingly outlying rows if there were too many of them, otherwise 0
    too_many: float


def judge_rows(
    X: Array,
    first: TableTerms,
    decompose: Decompose,
    *,
    share: float,
    threshold: float,
    weights: Array | None,
    rng: np.random.RandomState,
) -> RowVerdict:
    """Find the rows that are off the components of the other rows, and fit these other rows.

    `first` is the decomposition of all rows with noise; ``decompose(rows)`` decomposes the rows of
    a mask. At most the fraction `share` of the rows is outlying: a larger group is structure of
    the table. If no row is outlying, the verdict contains the terms `first`.
    """
    # 1. find suspects, which are far out along the components or off them: at most half of the
    # rows
    first = _with_fixed_signs(first)
    is_empty = np.isnan(X).all(axis=1)
    bound = int(share * np.count_nonzero(~is_empty))
    scores = first.U * first.s
    suspects = _suspects(X, first, scores, weights, rng)

    # 2. fit the other rows; rows that lie off the components of this fit are outlying
    refitted, outlying, n_convicted, spent = _convict(X, suspects, decompose, bound, weights)
    too_many = n_convicted / len(X) if n_convicted > bound else 0.0

    terms = first
    residual = in_noise(X, scores @ first.Vt, first.noise_scale, weights)
    if refitted is not None:
        scores, residual = _judged(X, refitted, outlying, weights)
        spent += first.convex.n_iter
        terms = _with_left_out(X, refitted, outlying, scores, threshold, weights)
        terms = terms._replace(convex=terms.convex._replace(n_iter=spent))

    # 3. estimate parameters from the rows that are not outlying, and compute the distances of all
    # rows with them, as for new rows
    inside = scores[~outlying]
    farness = outlyingness(inside, rng)
    scatter = _concentrate(inside, farness)
    _, logarithm = row_sizes(residual, len(terms.s))
    typical = _centre_and_spread(logarithm[~outlying])
    outlier_map = OutlierMap(*scatter, terms.s, *typical)
    distances = outlier_map.distances(scores, residual)
    leverage = ~outlying & (distances[:, 0] > 1)
    return RowVerdict(terms, outlying, leverage, distances, outlier_map, too_many)


def _with_fixed_signs(terms: TableTerms) -> TableTerms:
    """Make the largest loading of each component positive, as in the fitted attributes."""
    is_negative = row_signs(terms.Vt) < 0
    signs = np.where(is_negative, -1.0, 1.0)
    U = terms.U * signs
    Vt = terms.Vt * signs[:, None]
    return terms._replace(U=U, Vt=Vt)


def _suspects(
    X: Array,
    first: TableTerms,
    scores: Array,
    weights: Array | None,
    rng: np.random.RandomState,
) -> Array:
    """Mark the rows that may be outlying."""
    # find rows far from the span of the components
    rank = len(first.s)
    low_rank = scores @ first.Vt
    residual = in_noise(X, low_rank, first.noise_scale, weights)
    all_rows = np.ones(len(X), bool)
    z = _off_components(residual, rank, all_rows)

    # find rows far along the components
    farness = outlyingness(scores, rng)
    scatter = _concentrate(scores, farness)
    along = _mahalanobis(scores, *scatter)
    along /= _cutoff(rank)
    suspects = (along > 1) | (z > OFF)

    n_farthest = int(MOST_SUSPECTS * len(X))
    if np.count_nonzero(suspects) > n_farthest:
        distances = np.maximum(along, z / OFF)
        order = np.argsort(-distances, kind="stable")
        farthest = order[:n_farthest]
        suspects = np.isin(np.arange(len(X)), farthest)
    return suspects


def _convict(
    X: Array, suspects: Array, decompose: Decompose, bound: int, weights: Array | None
) -> tuple[TableTerms | None, Array, int, int]:
    """Alternate between fits of the other rows and tests of all rows.

    Returns the fit, the mask of the outlying rows, the number of rows that seemed outlying in the
    last test, and the number of passes. The fit is None if no row is outlying.
    """
    no_rows = np.zeros(len(X), bool)
    left_out = suspects
    n_convicted = spent = 0
    for _ in range(FITS):
        if not left_out.any():
            return None, no_rows, n_convicted, spent
        refitted = _with_fixed_signs(decompose(~left_out))
        spent += refitted.convex.n_iter
        if not refitted.noise_std > 0:  # exact rows have no noise with which to compare
            return None, no_rows, 0, spent

        # mark the rows off the components as outlying, with a lower cutoff for suspects; all other
        # rows return to the fit
        _, residual = _judged(X, refitted, left_out, weights)
        z = _off_components(residual, len(refitted.s), ~left_out)
        suspects = suspects | (z > OFF)
        convicted = suspects & (z > SUSPECT)
        n_convicted = int(np.count_nonzero(convicted))
        if n_convicted > bound:
            return None, no_rows, n_convicted, spent
        if np.array_equal(convicted, left_out):
            return refitted, left_out, n_convicted, spent
        left_out = convicted

    # use the last mask, even if another round would change it
    if not left_out.any():
        return None, no_rows, n_convicted, spent
    refitted = _with_fixed_signs(decompose(~left_out))
    return refitted, left_out, n_convicted, spent + refitted.convex.n_iter


def outlyingness(T: Array, rng: np.random.RandomState) -> Array:
    """Return the largest robust z of each row over directions of two rows (Stahel, Donoho)."""
    n, r = T.shape
    first, second = rng.randint(n, size=(2, DIRECTIONS))
    directions = T[first] - T[second]
    lengths = np.linalg.norm(directions, axis=1)
    directions = directions[lengths > 1e-9 * lengths.max(initial=0.0)]
    if r == 0 or not len(directions):
        return np.zeros(n)

    # compute z in each direction from the median and the median absolute deviation
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    units = directions / lengths
    Z = T @ units.T
    Z = np.abs(Z - np.median(Z, axis=0))
    spread = MEDIAN_TO_STD * np.median(Z, axis=0)
    Z /= np.where(spread > 0, spread, np.inf)
    return np.asarray(Z.max(axis=1))


def row_sizes(residual: Array, rank: int) -> tuple[Array, Array]:
    """Return the median size of each row in units of the noise, and its scaled logarithm.

    The median allows half of the cells of a row to be wrong by any amount. Logarithms are divided
    by their standard deviations. A row without known cells has size 1.
    """
    m = np.count_nonzero(~np.isnan(residual), axis=1)
    freedom = np.maximum(m - rank, 1)
    is_known = m > 0
    observed_size = np.where(is_known[:, None], np.abs(residual), 1 / MEDIAN_TO_STD)
    size = MEDIAN_TO_STD * np.nanmedian(observed_size, axis=1)
    size *= np.sqrt(np.maximum(m, 1) / freedom)

    # scale the logarithm to standard deviation one, whatever the number of cells
    logarithm = np.log(np.maximum(size, ACCUMULATED_ROUNDING))
    logarithm *= np.sqrt(freedom)
    logarithm /= LOG_MEDIAN_STD
    return size, logarithm


def _off_components(residual: Array, rank: int, typical: Array) -> Array:
    """Return the robust z of the size of each row among `typical` rows, 0 for small rows."""
    size, logarithm = row_sizes(residual, rank)
    centre, spread = _centre_and_spread(logarithm[typical])
    z = (logarithm - centre) / spread
    return np.where(size > LEAST_SIZE, z, 0.0)


def in_noise(X: Array, low_rank: Array, noise_scale: Array, weights: Array | None) -> Array:
    """Return the residuals in units of the noise of their cells."""
    residual = (X - low_rank) / noise_scale
    if weights is None:
        return residual
    return residual * np.sqrt(weights)


def deviation_of_new(scores: Array, singular_values: Array) -> Array:
    """Compute the standard deviation of residuals of new rows, in units of the noise.

    Components with singular values s have errors of the size of the noise over s. They add
    ``|t / s|^2`` to the variance of a row with scores t, so that far rows on the components do not
    seem to be off them.
    """
    divisors = np.where(singular_values > 0, singular_values, np.inf)
    ratios = scores / divisors
    variance = 1 + (ratios**2).sum(axis=1)
    return np.asarray(np.sqrt(variance))


def _centre_and_spread(logarithm: Array) -> tuple[float, float]:
    centre = float(np.median(logarithm))
    deviations = np.abs(logarithm - centre)
    spread = MEDIAN_TO_STD * float(np.median(deviations))
    return centre, max(1.0, spread)


def _concentrate(T: Array, start: Array) -> tuple[Array, Array]:
    """Return location and inverse covariance of the scores of most rows.

    The first steps use the closest 60 % of the rows, beginning with `start`. The last steps use
    all rows within the quantile of 97.5 %, because estimates from 60 % make the distances of other
    rows vary too much. With too few rows, all distances are zero.
    """
    n, r = T.shape
    n_core = int(CORE * n)
    location = np.zeros(r)
    precision = np.zeros((r, r))
    if r == 0 or n_core < LEAST_CORE * (r + 1):
        return location, precision
    core = np.argsort(start, kind="stable")[:n_core]

    good_share = n_core / n  # fraction of the good rows that the core is assumed to contain
    n_steps, n_reweighted = STEPS
    for step in range(n_steps):
        # 1. compute mean and covariance of the core
        location = T[core].mean(axis=0)
        covariance = np.cov(T[core].T, bias=True)
        covariance = np.atleast_2d(covariance)
        precision = linalg.pinvh(covariance)
        squares = _mahalanobis(T, location, precision) ** 2

        # 2. scale the precision matrix so that it is correct for Gaussian scores
        middle = float(np.median(squares[core]))
        factor = 1.0
        if middle > 0:
            factor = chi2.ppf(0.5 * good_share, r) / middle
        precision = factor * precision

        # 3. choose the nearest rows as the new core
        near = factor * squares <= chi2.ppf(REWEIGHT, r)
        if step >= n_steps - n_reweighted and near.mean() > 0.5:
            core = np.flatnonzero(near)
            good_share = REWEIGHT
        else:
            order = np.argsort(squares, kind="stable")
            core = order[:n_core]
            good_share = n_core / n
    return location, precision


def _mahalanobis(T: Array, location: Array, precision: Array) -> Array:
    centred = T - location
    products = centred @ precision
    squares = np.einsum("ij,ij->i", products, centred)
    squares = np.maximum(squares, 0.0)
    return np.sqrt(squares)


def _cutoff(rank: int) -> float:
    """Return the distance along the components beyond which a row is far."""
    if not rank:
        return 1.0
    square = chi2.isf(TAIL, rank)
    return float(np.sqrt(square))


def _judged(
    X: Array, refitted: TableTerms, left_out: Array, weights: Array | None
) -> tuple[Array, Array]:
    """Compute scores of all rows, by robust regression for left-out rows, and residuals."""
    # use the scores of the fitted rows, and regress the rows that were left out on the components
    scores = np.empty((len(X), len(refitted.s)))
    scores[~left_out] = refitted.U * refitted.s
    their_weights = None if weights is None else weights[left_out]
    projected = scores_in_units(
        X[left_out], refitted.Vt, refitted.column_scale, refitted.width, their_weights
    )
    scores[left_out] = projected.scores

    low_rank = scores @ refitted.Vt
    residual = in_noise(X, low_rank, refitted.noise_scale, weights)
    deviations = deviation_of_new(scores[left_out], refitted.s)
    residual[left_out] /= deviations[:, None]
    return scores, residual


def _with_left_out(
    X: Array,
    refitted: TableTerms,
    left_out: Array,
    scores: Array,
    threshold: float,
    weights: Array | None,
) -> TableTerms:
    """Return the terms of all rows; left-out rows have no influence and no dual."""
    shape = X.shape
    U = np.zeros((shape[0], len(refitted.s)))
    np.divide(scores, refitted.s, out=U, where=refitted.s > 0)

    # find the wrong cells of the rows that were left out, as for new rows
    low_rank = scores @ refitted.Vt
    residual = np.where(np.isnan(X), 0.0, X - low_rank)
    noise = refitted.noise_scale
    if weights is not None:
        noise = noise / np.sqrt(weights)
    support = np.abs(residual) > threshold * noise
    support[~left_out] = refitted.support
    sparse = np.where(support, residual, 0.0)
    sparse[~left_out] = refitted.sparse

    dual = np.zeros(shape)
    dual[~left_out] = refitted.convex.dual
    convex = refitted.convex._replace(dual=dual)
    return refitted._replace(U=U, sparse=sparse, support=support, convex=convex)
