"""Stable principal component pursuit by passes over batches of rows.

The nuclear norm is a minimum over factors, ``|L|_* = min (|R|^2 + |V|^2) / 2`` over ``L = R V'``,
so that with penalties in units of the noise the objective of n rows, divided by n, is

    f(V) = 1/n sum_i min_r [ sum_j h(x_ij - v_j' r) + ridge / 2 |r|^2 ] + ridge / 2 |V|^2

with Huber's function h, which is quadratic up to `width`; the excess is a gross error.

Differs from the paper (Feng, Xu and Yan 2013): 1. Batches of rows replace single rows. 2. Newton's
method completes slow rows. 3. The noise of each column is estimated.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.arrays import CACHED_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import MAX_NEWTON_STEPS, RANK_TOL, TINY
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.quantiles import TRUSTED

# Tolerance of the duality gap of a row, relative to its objective with clipped residuals.
GAP = 1e-8

# Maximum number of sweeps before Newton's method solves the remaining rows. A sweep moves the
# scores by about a width, so a gross error of 1e4 widths would take thousands of sweeps.
MAX_SWEEPS = 30


# Change of the scores at the last step, relative to the scores and the width, below which they
# have converged.
STEP = 1e-10

# Largest magnitude of an entry, in multiples of the width, for which the sweeps start near enough
# to the solution.
FAR_WIDTHS = 1e6


# Fraction of the entries of a table or a column that do not exceed the typical magnitude.
QUARTILE = 0.75

# Maximum entry of the start, in typical magnitudes; larger entries would dominate the objective,
# to which the tolerance of batch pursuit is relative.
HUGE_MAGNITUDES = 1e4


# Variance of a standard normal variable that is truncated at TRUSTED standard deviations.
TRUSTED_VARIANCE = 0.97334


class StreamLoss(NamedTuple):
    """Penalties of one row, in the units of the data."""

    ridge: float  # weight of the squared scores and components
    width: float  # size of the residual beyond which Huber's function is linear


class StreamSums(NamedTuple):
    """Weighted sums over the rows so far, which determine components and noise."""

    weight: float
    A: Array  # (r, r), sum of scores scores'
    B: Array  # (p, r), sum of cleaned rows scores'
    squares: Array  # (p,), sums of squared residuals within TRUSTED standard deviations
    counts: Array  # (p,), numbers of the residuals in these sums

    def faded(self, factor: float) -> "StreamSums":
        """Multiply all sums by a factor."""
        terms: Any = (factor * term for term in self)
        return StreamSums(*terms)


class BatchResult(NamedTuple):
    """Scores of a batch, clipped residuals (the dual), and objective and gap of each row."""

    scores: Array  # (m, r)
    residual: Array  # (m, p), 0 where X is NaN
    dual: Array  # (m, p)
    objective: Array  # (m,), without the penalty of V
    gap: Array  # (m,)
    n_iter: int


def pursuit_loss(
    sigma: float, n_features: int, weight: float, alpha: float = 1.0
) -> StreamLoss:
    """Return the penalties for which the objective equals stable pursuit with noise `sigma`.

    Stable pursuit has ``delta |L|_* + alpha delta |S|_1`` with ``delta = sigma sqrt(2 max(n, p))``
    and ``alpha = 1 / sqrt(max(n, p))``. Each row contributes 1 / n of it, where the number n of
    rows is `weight`. The argument `alpha` multiplies the nuclear norm.
    """
    width = float(np.sqrt(2.0)) * sigma
    ratio = max(1.0, n_features / max(weight, 1.0))
    ridge = alpha * width * float(np.sqrt(ratio))
    return StreamLoss(ridge, width)


def robust_ridge(X: Array, V: Array, loss: StreamLoss) -> BatchResult:
    """Minimise ``sum_j h(x_j - v_j' r) + ridge / 2 |r|^2`` over the scores r of each row of X.

    Sweeps minimise alternately over the errors, the parts of residuals beyond the width, and over
    the scores, by one Cholesky factor for all rows and sweeps (Algorithm 1 of the paper). The
    clipped residuals y are dual feasible, and the duality gap is
    ``|V' y - ridge r|^2 / (2 ridge)``. Sweeps stop when the gap is small for every row.
    `huber_newton` solves rows that are still far off after all sweeps, because an error is large.

    The gap is compared with ``(|y|^2 + ridge |r|^2) / 2``, a part of the objective to which a huge
    cell contributes no more than any other gross error.
    """
    r = V.shape[1]
    ridge = loss.ridge
    width = loss.width
    unknown = np.isnan(X)
    observed = None
    filled = X
    if unknown.any():
        observed = ~unknown
        filled = np.where(observed, X, 0.0)

    # compute the Cholesky factor that all sweeps use
    G = V.T @ V
    G += ridge * np.eye(r)
    factor = linalg.cho_factor(G)
    right = V.T @ filled.T
    solved = linalg.cho_solve(factor, right)
    scores = solved.T

    for n_iter in range(1, MAX_SWEEPS + 2):
        # 1. clip the residuals at the width; missing cells have no residual
        low_rank = scores @ V.T
        residual = filled - low_rank
        if observed is not None:
            residual *= observed
        dual = np.clip(residual, -width, width)

        # 2. compute the duality gap from the gradient with respect to the scores
        slope = dual @ V
        slope -= ridge * scores
        gap = _row_dots(slope, slope)
        gap /= 2 * ridge
        penalty = _row_dots(scores, scores)
        penalty *= 0.5 * ridge
        bounded = 0.5 * _row_dots(dual, dual)
        bounded += penalty
        is_open = gap > GAP * bounded + TINY
        if n_iter > MAX_SWEEPS:
            break
        if not is_open.any():
            break

        # 3. regress the cleaned rows; after all sweeps, use Newton's method for the remaining rows
        if n_iter < MAX_SWEEPS:
            step = linalg.cho_solve(factor, slope.T)
            scores += step.T
        else:
            seen = None
            if observed is not None:
                seen = observed[is_open]
            scores[is_open] = huber_newton(filled[is_open], V, loss, seen)

    # Huber's function equals dual * (residual - dual / 2)
    inner = residual - 0.5 * dual
    objective = _row_dots(dual, inner)
    objective += penalty
    return BatchResult(scores, residual, dual, objective, gap, n_iter)


def _row_dots(A: Array, B: Array) -> Array:
    """Compute the inner product of each row of A with the same row of B."""
    dots: Array = np.einsum("ij,ij->i", A, B)
    return dots


def huber_newton(X: Array, V: Array, loss: StreamLoss, observed: Array | None = None) -> Array:
    """Minimise ``sum_j h(x_j - v_j' r) + ridge / 2 |r|^2`` over the scores r of each row of X.

    Uses Newton's method with an exact line search: the function consists of quadratic pieces, and
    a few steps reach the minimum however large an error is. Rows are solved independently, and
    have scores of minimum norm if their entries do not determine them.
    """
    r = V.shape[1]
    ridge = loss.ridge
    width = loss.width
    # multiply pairs of components, so that the curvature of a row needs only one product
    i, j = np.tril_indices(r)
    pairs = V[:, i] * V[:, j]
    squares = np.einsum("ij,ij->j", V, V)
    damping = ridge + RANK_TOL * float(squares.max(initial=TINY))
    damped = damping * np.eye(r)
    if observed is None:
        observed = np.ones(X.shape, bool)

    # start from least squares with the largest entries of each row clipped
    sizes = np.abs(X)
    bound = np.quantile(sizes, QUARTILE, axis=1, keepdims=True)
    clipped = np.clip(X, -bound, bound)
    gram = V.T @ V
    solved = np.linalg.solve(gram + damped, V.T @ clipped.T)
    scores = solved.T

    rows = np.arange(len(X))
    for _ in range(MAX_NEWTON_STEPS):
        # 1. compute the slope from the clipped residuals
        counted = observed[rows]
        low_rank = scores[rows] @ V.T
        residual = X[rows] - low_rank
        residual *= counted
        dual = np.clip(residual, -width, width)
        slope = dual @ V
        slope -= ridge * scores[rows]

        # 2. compute the curvature from the entries within the width
        within = np.abs(residual) <= width
        within &= counted
        products = within @ pairs
        G = np.empty((len(rows), r, r))
        G[:, i, j] = products
        G[:, j, i] = products
        G += damped
        solved = np.linalg.solve(G, slope[:, :, None])
        direction = solved[:, :, 0]

        # 3. move to the lowest point in this direction
        change = direction @ V.T
        change *= counted
        curvature = ridge * _row_dots(direction, direction)
        descent = _row_dots(direction, slope)
        length = _lowest_point(residual, change, width, curvature=curvature, slope=descent)
        step = length[:, None] * direction
        scores[rows] += step

        # 4. keep the rows that still move
        largest = np.abs(scores[rows]).max(axis=1)
        moved = np.abs(step).max(axis=1)
        rows = rows[moved > STEP * (largest + width)]
        if not len(rows):
            break
    return scores


def _lowest_point(
    residual: Array, change: Array, width: float, *, curvature: Array, slope: Array
) -> Array:
    """Minimise a convex function of the step length t, for each row.

    The function is ``sum_j h(residual_j - t change_j)`` plus a quadratic function of the given
    curvature; `slope` is its rate of descent at t = 0. The slope is linear in t between the points
    where a residual enters the width, which adds ``change_j^2`` to the curvature, or leaves it.
    """
    # find the step lengths at which each residual enters and leaves the interval [-width, width]
    squares = change**2
    moves = change != 0
    divisor = np.where(moves, change, 1.0)
    at_width = (residual - width) / divisor
    at_minus_width = (residual + width) / divisor
    enters = np.minimum(at_width, at_minus_width)
    leaves = np.maximum(at_width, at_minus_width)

    # find the points where the curvature changes; a change before t = 0 counts as a change at the
    # start
    inside = moves & (enters <= 0)
    inside &= leaves > 0
    start = curvature + (squares * inside).sum(axis=1)
    start = start[:, None]
    times = np.hstack([enters, leaves])
    jumps = np.hstack([squares, -squares])
    ahead = np.hstack([moves, moves])
    ahead &= times > 0
    times = np.where(ahead, times, np.inf)
    jumps = np.where(ahead, jumps, 0.0)

    # compute the curvature after each point, in order; rounding errors must not make it negative
    order = np.argsort(times, axis=1)
    times = np.take_along_axis(times, order, axis=1)
    jumps = np.take_along_axis(jumps, order, axis=1)
    bends = start + np.cumsum(jumps, axis=1)
    bends = np.hstack([start, bends])
    bends = np.maximum(bends, 0.0)

    # compute the slope at each point; the first point with a slope of zero ends the piece that
    # contains the minimum
    origin = np.zeros((len(times), 1))
    points = np.hstack([origin, times])
    finite = np.isfinite(points)
    gaps = np.diff(np.where(finite, points, 0.0), axis=1)
    gaps *= finite[:, 1:]
    falls = np.cumsum(bends[:, :-1] * gaps, axis=1)
    slope = slope[:, None]
    slopes = np.hstack([slope, slope - falls])
    descends = (slopes > 0) & finite
    n_before = descends.sum(axis=1)
    index = np.maximum(n_before - 1, 0)
    index = index[:, None]

    # take a Newton step, which is exact on this piece, from the start of the piece
    begin = np.take_along_axis(points, index, axis=1)
    remaining = np.take_along_axis(slopes, index, axis=1)
    remaining = np.maximum(remaining, 0.0)
    bend = np.take_along_axis(bends, index, axis=1)
    length = np.zeros_like(begin)
    np.divide(remaining, bend, out=length, where=bend > 0)
    length += begin
    return length[:, 0]


def huber_scores(X: Array, components: Array, width: float) -> Array:
    """Minimise ``sum_j h(x_j - (a components)_j)`` over the scores `a` of every row of X.

    Runs the sweeps of `robust_ridge` without the penalty, on orthonormal components. Rows stop
    independently, so that the scores of a row do not depend on other rows. `huber_newton` solves
    rows with more than half of their entries missing, with a huge entry, or with slow sweeps.
    """
    V = components.T
    scores = np.zeros((len(X), len(components)))
    if not len(components):
        return scores

    n = len(X)
    size = max(1, CACHED_BYTES // (FLOAT_BYTES * len(V)))
    loss = StreamLoss(0.0, width)
    for first in range(0, n, size):
        last = min(first + size, n)
        rows = np.arange(first, last)
        observed = ~np.isnan(X[rows])
        known_share = observed.mean(axis=1)
        sizes = np.abs(X[rows])
        largest = np.nanmax(sizes, axis=1, initial=0.0)
        is_slow = known_share < 0.5
        is_slow |= largest > FAR_WIDTHS * width
        slow = list(rows[is_slow])

        # start from the projections of the other rows; Newton's method solves the slow rows below
        rows = rows[~is_slow]
        observed = observed[~is_slow]
        filled = np.where(observed, X[rows], 0.0)
        scores[rows] = filled @ V

        # sweep over the rows whose scores still change
        for _ in range(3 * MAX_SWEEPS):
            old = scores[rows]
            residual = filled - old @ V.T
            dual = np.clip(residual, -width, width)
            dual *= observed
            step = dual @ V
            new = old + step
            scores[rows] = new
            length = np.abs(step).max(axis=1)
            largest = np.abs(new).max(axis=1)
            moves = length > STEP * (largest + width)
            if not moves.all():
                rows = rows[moves]
                filled = filled[moves]
                observed = observed[moves]
            if not len(rows):
                break

        slow += list(rows)
        if slow:
            observed = ~np.isnan(X[slow])
            filled = np.where(observed, X[slow], 0.0)
            scores[slow] = huber_newton(filled, V, loss, observed)
    return scores


def empty_sums(noise_scale: Array, n_components: int, weight: float) -> StreamSums:
    """Return sums without rows, in which the noise of a column counts as `weight` residuals."""
    p = len(noise_scale)
    r = n_components
    A = np.zeros((r, r))
    B = np.zeros((p, r))
    counts = np.full(p, weight)
    squares = TRUSTED_VARIANCE * weight * noise_scale**2
    return StreamSums(0.0, A, B, squares, counts)


def unexplained(batch: BatchResult, width: float, typical: float) -> float:
    """Sum the part of the objective that comes from residuals beyond the magnitude `typical`."""
    beyond = np.abs(batch.residual)
    beyond -= max(typical, width)
    beyond = np.maximum(beyond, 0.0)
    return width * float(beyond.sum())


def typical_magnitude(X: Array) -> float:
    """Return the upper quartile of the magnitudes of entries other than 0 and NaN, or 1.

    The quartile is near the root mean square of ordinary entries, and a quarter of the entries may
    have any size.
    """
    # leave out zeros: if most entries are zero, they say nothing about the magnitude of the others
    counted = ~np.isnan(X)
    counted &= X != 0
    sizes = np.abs(X[counted])
    if not sizes.size:
        return 1.0
    quartile = np.quantile(sizes, QUARTILE, method="lower")
    return float(quartile)


def without_huge(X: Array, typical: float) -> Array:
    """Return rows with NaN for entries far above typical entries of the table and the column.

    At most a quarter of the entries of a column become NaN.
    """
    filled = np.where(np.isnan(X), 0.0, X)
    sizes = np.abs(filled)
    columns = np.quantile(sizes, QUARTILE, axis=0, method="lower")
    magnitudes = np.maximum(columns, typical)
    huge = sizes > HUGE_MAGNITUDES * magnitudes
    if not huge.any():
        return X
    return np.where(huge, np.nan, X)


def add_batch(
    sums: StreamSums, X: Array, V: Array, batch: BatchResult, noise_scale: Array
) -> StreamSums:
    """Add the rows of a batch to the sums."""
    R = batch.scores
    residual = batch.residual
    trusted = np.abs(residual) <= TRUSTED * noise_scale
    trusted &= ~np.isnan(X)

    # a cleaned row is the sum of its low-rank part and the clipped residual
    gram = R.T @ R
    cleaned = V @ gram
    cleaned += batch.dual.T @ R

    # add up the squares of the residuals from which the noise is estimated
    trusted_residual = residual * trusted
    squares = np.einsum("ij,ij->j", trusted_residual, residual)
    counts = trusted.sum(axis=0)
    batch_sums = StreamSums(len(X), gram, cleaned, squares, counts)
    pairs: Any = zip(sums, batch_sums, strict=True)
    return StreamSums(*(old + new for old, new in pairs))


def surrogate(sums: StreamSums, V: Array, ridge: float) -> float:
    """Compute the objective of `best_components`, up to a constant: an upper bound of f(V)."""
    A = _penalised_gram(sums, ridge)
    products = V @ A
    products *= V
    quadratic = np.sum(products)
    linear = np.sum(V * sums.B)
    linear /= sums.weight
    return float(0.5 * quadratic - linear)


def _penalised_gram(sums: StreamSums, ridge: float) -> Array:
    r = len(sums.A)
    A: Array = sums.A / sums.weight
    A += ridge * np.eye(r)
    return A


def best_components(sums: StreamSums, ridge: float) -> Array:
    """Minimise ``tr V (A / w + ridge I) V' / 2 - tr V' B / w`` over the components V.

    This is the limit of the descent by columns in Algorithm 2 of the paper.
    """
    A = _penalised_gram(sums, ridge)
    B = sums.B / sums.weight
    solved = linalg.solve(A, B.T, assume_a="pos")
    return np.asarray(solved.T)


def noise_of_columns(sums: StreamSums, n_components: int) -> Array:
    """Estimate the noise of each column from the trusted residuals."""
    p = len(sums.squares)
    freedom = max(p - n_components, 1) / p
    counts = np.maximum(sums.counts, TINY)
    variance = sums.squares / counts
    # correct for the smaller variance of trusted residuals and for the degrees of freedom
    variance /= TRUSTED_VARIANCE * freedom
    return np.asarray(np.sqrt(variance))


def orthonormal(sums: StreamSums, V: Array) -> tuple[Array, Array]:
    """Return orthonormal rows that span V, and the singular values of the low rank of all rows.

    The rows are the right singular vectors of ``R V'``, whose Gram matrix is ``V A V'``.
    """
    Q, T = linalg.qr(V, mode="economic")
    gram = T @ sums.A @ T.T
    values, vectors = linalg.eigh(gram)
    order = np.argsort(-values, kind="stable")
    squares = np.maximum(values[order], 0.0)
    rotated = Q @ vectors[:, order]
    return rotated.T, np.sqrt(squares)
