"""Stable principal component pursuit in one pass after another over batches of rows.

The nuclear norm is a minimum over factors, ``|L|_* = min (|R|^2 + |V|^2) / 2`` over ``L = R V'``,
so that with penalties in units of the noise the objective of n rows, divided by n, is

    f(V) = 1/n sum_i min_r [ sum_j h(x_ij - v_j' r) + ridge / 2 |r|^2 ] + ridge / 2 |V|^2

with Huber's function h, quadratic up to `width`: what is beyond is a gross error. Feng, Xu and Yan
(2013) minimise it row by row; here a batch of rows at a time.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array

# Tolerance on the duality gap of a row, relative to the bounded part of its objective
GAP = 1e-8
# Maximum number of sweeps before the remaining rows go on by Newton's method: sweeps move the
# scores by about a width each, and a gross error of 1e4 widths takes thousands
MAX_SWEEPS = 30
# Maximum number of Newton steps; 5 to 11 were seen for errors of 1 to 1e13 widths
MAX_NEWTON = 100
# Tolerance on the last step of the scores, relative to the scores and the width
STEP = 1e-10
# Number of widths beyond which an entry makes the sweeps start too far off
FAR_WIDTHS = 1e6
# Size of the multiple of the identity that keeps a Newton step finite, relative to the components
DAMPING = 1e-10
BLOCK_ENTRIES = 2**18  # of the rows whose scores are computed at once: 2 MB
# Fraction of the entries of a table, or of a column, that are not above its typical magnitude
QUARTILE = 0.75
# Number of typical magnitudes above which an entry is left out of the start: the tolerance of
# batch pursuit is relative to an objective that such entries rule
HUGE_MAGNITUDES = 1e4
TRUSTED = 3.0  # standard deviations up to which a residual tells the noise
TRUSTED_VARIANCE = 0.97334  # of standard normal numbers within them
TINY = 1e-300


class StreamLoss(NamedTuple):
    """Penalties of one row, in the units of the data."""

    ridge: float  # of the squared scores and components
    width: float  # residual beyond which Huber's function is linear


class StreamSums(NamedTuple):
    """Weighted sums over the rows so far: all that the components need to know of them."""

    weight: float
    A: Array  # (r, r), sum of scores scores'
    B: Array  # (p, r), sum of cleaned rows scores'
    squares: Array  # (p,), of residuals within TRUSTED standard deviations
    counts: Array  # (p,), of these

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
    """Penalties that make the objective that of stable pursuit with noise `sigma`.

    Stable pursuit has ``delta |L|_* + alpha delta |S|_1`` with ``delta = sigma sqrt(2 max(n, p))``
    and ``alpha = 1 / sqrt(max(n, p))``. Of n rows, `weight` here, one has the nth part.
    `alpha` multiplies the nuclear norm.
    """
    width = float(np.sqrt(2.0)) * sigma
    ratio = max(1.0, n_features / max(weight, 1.0))
    ridge = alpha * width * float(np.sqrt(ratio))
    return StreamLoss(ridge, width)


def robust_ridge(X: Array, V: Array, loss: StreamLoss) -> BatchResult:
    """Minimise ``sum_j h(x_j - v_j' r) + ridge / 2 |r|^2`` over the scores r of each row of X.

    Alternately in the errors, which are what clips off the residuals, and the scores, by one
    Cholesky factor for all rows and sweeps (Algorithm 1 of the paper). The clipped residuals y are
    dual feasible, and the duality gap is ``|V' y - ridge r|^2 / (2 ridge)``. The sweeps end when
    it is small for every row; rows that are still far off then, because an error is very large,
    are solved by `huber_newton`.

    The gap is compared with ``(|y|^2 + ridge |r|^2) / 2``, the part of the objective to which one
    huge cell adds no more than any other gross error.
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

    # once: the factor of all sweeps
    G = V.T @ V
    G += ridge * np.eye(r)
    factor = linalg.cho_factor(G)
    right = V.T @ filled.T
    solved = linalg.cho_solve(factor, right)
    scores = solved.T

    for n_iter in range(1, MAX_SWEEPS + 2):
        # 1. errors: what exceeds the width; NaN has no residual
        low_rank = scores @ V.T
        residual = filled - low_rank
        if observed is not None:
            residual *= observed
        dual = np.clip(residual, -width, width)

        # 2. duality gap, from the gradient by the scores
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

        # 3. scores of the cleaned rows; those that are far off after all sweeps by Newton's method
        if n_iter < MAX_SWEEPS:
            step = linalg.cho_solve(factor, slope.T)
            scores += step.T
        else:
            seen = None
            if observed is not None:
                seen = observed[is_open]
            scores[is_open] = huber_newton(filled[is_open], V, loss, seen)

    # Huber's function is dual * (residual - dual / 2)
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

    Newton's method with an exact line search: the function consists of quadratic pieces, and a few
    steps reach the minimum however large an error is. Each row is solved by itself, and has scores
    of minimum norm if its entries do not determine them.
    """
    r = V.shape[1]
    ridge = loss.ridge
    width = loss.width
    # products of pairs of components, which make the curvature of a row one product
    one, other = np.tril_indices(r)
    pairs = V[:, one] * V[:, other]
    squares = np.einsum("ij,ij->j", V, V)
    damping = ridge + DAMPING * float(squares.max(initial=TINY))
    damped = damping * np.eye(r)
    if observed is None:
        observed = np.ones(X.shape, bool)

    # start: least squares on rows without their largest entries
    sizes = np.abs(X)
    bound = np.quantile(sizes, QUARTILE, axis=1, keepdims=True)
    clipped = np.clip(X, -bound, bound)
    gram = V.T @ V
    solved = np.linalg.solve(gram + damped, V.T @ clipped.T)
    scores = solved.T

    rows = np.arange(len(X))
    for _ in range(MAX_NEWTON):
        # 1. slope at the clipped residuals
        counted = observed[rows]
        low_rank = scores[rows] @ V.T
        residual = X[rows] - low_rank
        residual *= counted
        dual = np.clip(residual, -width, width)
        slope = dual @ V
        slope -= ridge * scores[rows]

        # 2. curvature of the entries within the width
        within = np.abs(residual) <= width
        within &= counted
        products = within @ pairs
        G = np.empty((len(rows), r, r))
        G[:, one, other] = products
        G[:, other, one] = products
        G += damped
        solved = np.linalg.solve(G, slope[:, :, None])
        direction = solved[:, :, 0]

        # 3. the lowest point in this direction
        change = direction @ V.T
        change *= counted
        curvature = ridge * _row_dots(direction, direction)
        descent = _row_dots(direction, slope)
        length = _lowest_point(residual, change, width, curvature=curvature, slope=descent)
        step = length[:, None] * direction
        scores[rows] += step

        # 4. rows that still move
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
    where a residual enters the width, and its square joins the curvature, or leaves it.
    """
    # step lengths at which each residual comes within the width, and leaves it
    squares = change**2
    moves = change != 0
    divisor = np.where(moves, change, 1.0)
    one_end = (residual - width) / divisor
    other_end = (residual + width) / divisor
    enters = np.minimum(one_end, other_end)
    leaves = np.maximum(one_end, other_end)

    # points where the curvature changes, in order; those behind the start are counted there
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

    # curvature after each of these points; rounding must not make it negative
    order = np.argsort(times, axis=1)
    times = np.take_along_axis(times, order, axis=1)
    jumps = np.take_along_axis(jumps, order, axis=1)
    bends = start + np.cumsum(jumps, axis=1)
    bends = np.hstack([start, bends])
    bends = np.maximum(bends, 0.0)

    # slope left at each point; the first that has none ends the piece of the minimum
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

    # from there a Newton step, which is exact on the piece
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

    The sweeps of `robust_ridge` without the penalty, on orthonormal components; a row ends by
    itself, so that its answer does not depend on the others. `huber_newton` solves the rows with
    more than half of their entries missing or with a huge one, and those whose sweeps are slow.
    """
    V = components.T
    scores = np.zeros((len(X), len(components)))
    if not len(components):
        return scores

    n = len(X)
    size = max(1, BLOCK_ENTRIES // len(V))
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

        # start: the projection of the other rows
        rows = rows[~is_slow]
        observed = observed[~is_slow]
        filled = np.where(observed, X[rows], 0.0)
        scores[rows] = filled @ V

        # sweeps over the rows that still move
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
    """Make sums of no rows, in which the noise of a column counts as `weight` residuals."""
    p = len(noise_scale)
    r = n_components
    A = np.zeros((r, r))
    B = np.zeros((p, r))
    counts = np.full(p, weight)
    squares = TRUSTED_VARIANCE * weight * noise_scale**2
    return StreamSums(0.0, A, B, squares, counts)


def unexplained(batch: BatchResult, width: float, typical: float) -> float:
    """Sum the part of the objective that residuals beyond the magnitude `typical` add."""
    beyond = np.abs(batch.residual)
    beyond -= max(typical, width)
    beyond = np.maximum(beyond, 0.0)
    return width * float(beyond.sum())


def typical_magnitude(X: Array) -> float:
    """Upper quartile of the magnitudes of the entries that are neither 0 nor NaN; else 1.

    It is near the root mean square of ordinary entries, and a quarter of them may be of any size.
    """
    # zeros tell nothing of the magnitude of a table that is mostly empty
    counted = ~np.isnan(X)
    counted &= X != 0
    sizes = np.abs(X[counted])
    if not sizes.size:
        return 1.0
    quartile = np.quantile(sizes, QUARTILE, method="lower")
    return float(quartile)


def without_huge(X: Array, typical: float) -> Array:
    """Return rows with NaN for entries far above the typical ones of the table and the column.

    At most a quarter of the entries of a column go.
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

    # a cleaned row is its low rank plus the clipped residual
    gram = R.T @ R
    cleaned = V @ gram
    cleaned += batch.dual.T @ R

    # residuals that tell the noise
    trusted_residual = residual * trusted
    squares = np.einsum("ij,ij->j", trusted_residual, residual)
    counts = trusted.sum(axis=0)
    batch_sums = StreamSums(len(X), gram, cleaned, squares, counts)
    pairs: Any = zip(sums, batch_sums, strict=True)
    return StreamSums(*(old + new for old, new in pairs))


def surrogate(sums: StreamSums, V: Array, ridge: float) -> float:
    """Compute what `best_components` minimises, up to a constant; an upper bound of f(V)."""
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

    The limit of the descent by columns in Algorithm 2 of the paper.
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
    # the trusted part of a normal distribution varies less; components take degrees of freedom
    variance /= TRUSTED_VARIANCE * freedom
    return np.asarray(np.sqrt(variance))


def orthonormal(sums: StreamSums, V: Array) -> tuple[Array, Array]:
    """Orthonormal rows that span V, and the singular values of the low rank of all rows.

    The rows are the right singular vectors of ``R V'``, whose Gram matrix is ``V A V'``.
    """
    Q, T = linalg.qr(V, mode="economic")
    gram = T @ sums.A @ T.T
    values, vectors = linalg.eigh(gram)
    order = np.argsort(-values, kind="stable")
    squares = np.maximum(values[order], 0.0)
    rotated = Q @ vectors[:, order]
    return rotated.T, np.sqrt(squares)
