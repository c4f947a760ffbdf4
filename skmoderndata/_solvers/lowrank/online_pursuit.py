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

from skmoderndata._typing import Array

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
    unknown = np.isnan(X)
    observed = ~unknown if unknown.any() else None
    filled = X if observed is None else np.where(observed, X, 0.0)
    G = V.T @ V
    G += loss.ridge * np.eye(r)
    factor = linalg.cho_factor(G)
    right = V.T @ filled.T
    scores = linalg.cho_solve(factor, right).T

    for n_iter in range(1, MAX_SWEEPS + 2):
        # 1. errors: what exceeds the width; NaN has no residual
        residual = filled - scores @ V.T
        if observed is not None:
            residual *= observed
        dual = np.clip(residual, -loss.width, loss.width)

        # 2. duality gap, from the gradient by the scores
        slope = dual @ V - loss.ridge * scores
        gap = np.einsum("ij,ij->i", slope, slope) / (2 * loss.ridge)
        penalty = 0.5 * loss.ridge * np.einsum("ij,ij->i", scores, scores)
        bounded = 0.5 * np.einsum("ij,ij->i", dual, dual) + penalty
        open_rows = np.flatnonzero(gap > GAP * bounded + TINY)
        if n_iter > MAX_SWEEPS or not len(open_rows):
            break

        # 3. scores of the cleaned rows; those that are far off after all sweeps by Newton's method
        if n_iter < MAX_SWEEPS:
            scores += linalg.cho_solve(factor, slope.T).T
        else:
            seen = None if observed is None else observed[open_rows]
            scores[open_rows] = huber_newton(filled[open_rows], V, loss, seen)

    objective = np.einsum("ij,ij->i", dual, residual - 0.5 * dual) + penalty
    return BatchResult(scores, residual, dual, objective, gap, n_iter)


def huber_newton(X: Array, V: Array, loss: StreamLoss, observed: Array | None = None) -> Array:
    """Minimise ``sum_j h(x_j - v_j' r) + ridge / 2 |r|^2`` over the scores r of each row of X.

    Newton's method with an exact line search: the function consists of quadratic pieces, and a few
    steps reach the minimum however large an error is. Each row is solved by itself, and has scores
    of minimum norm if its entries do not determine them.
    """
    r = V.shape[1]
    lower = np.tril_indices(r)
    pairs = V[:, lower[0]] * V[:, lower[1]]
    damping = loss.ridge + DAMPING * float(np.einsum("ij,ij->j", V, V).max(initial=TINY))
    counted = np.ones(X.shape, bool) if observed is None else observed

    # start: least squares on rows without their largest entries
    bound = np.quantile(np.abs(X), QUARTILE, axis=1, keepdims=True)
    scores = np.linalg.solve(
        V.T @ V + damping * np.eye(r), V.T @ np.clip(X, -bound, bound).T
    ).T

    rows = np.arange(len(X))
    for _ in range(MAX_NEWTON):
        # 1. slope at the clipped residuals
        residual = (X[rows] - scores[rows] @ V.T) * counted[rows]
        slope = np.clip(residual, -loss.width, loss.width) @ V - loss.ridge * scores[rows]

        # 2. curvature of the entries within the width
        within = counted[rows] & (np.abs(residual) <= loss.width)
        G = np.empty((len(rows), r, r))
        G[:, lower[0], lower[1]] = G[:, lower[1], lower[0]] = within @ pairs
        G += damping * np.eye(r)
        direction = np.linalg.solve(G, slope[:, :, None])[:, :, 0]

        # 3. the lowest point in this direction
        length = _lowest_point(
            residual,
            (direction @ V.T) * counted[rows],
            loss.width,
            curvature=loss.ridge * np.einsum("ij,ij->i", direction, direction),
            slope=np.einsum("ij,ij->i", direction, slope),
        )
        step = length[:, None] * direction
        scores[rows] += step
        largest = np.abs(scores[rows]).max(axis=1)
        rows = rows[np.abs(step).max(axis=1) > STEP * (largest + loss.width)]
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
    squares = change**2
    divisor = np.where(change == 0, 1.0, change)
    ends = np.stack([(residual - width) / divisor, (residual + width) / divisor])
    enters = ends.min(axis=0)
    leaves = ends.max(axis=0)
    moves = change != 0

    # points where the curvature changes, in order; those behind the start are counted there
    inside = moves & (enters <= 0) & (leaves > 0)
    start = curvature + (squares * inside).sum(axis=1)
    times = np.hstack([enters, leaves])
    jumps = np.hstack([squares, -squares])
    ahead = np.hstack([moves, moves]) & (times > 0)
    times = np.where(ahead, times, np.inf)
    order = np.argsort(times, axis=1)
    times = np.take_along_axis(times, order, axis=1)
    jumps = np.take_along_axis(np.where(ahead, jumps, 0.0), order, axis=1)
    bends = start[:, None] + np.cumsum(jumps, axis=1)
    bends = np.maximum(np.hstack([start[:, None], bends]), 0.0)

    # slope left at each point; the first that has none ends the piece of the minimum
    points = np.hstack([np.zeros((len(times), 1)), times])
    finite = np.isfinite(points)
    gaps = np.diff(np.where(finite, points, 0.0), axis=1) * finite[:, 1:]
    slopes = slope[:, None] - np.cumsum(bends[:, :-1] * gaps, axis=1)
    slopes = np.hstack([slope[:, None], slopes])
    index = np.maximum(((slopes > 0) & finite).sum(axis=1) - 1, 0)[:, None]
    begin = np.take_along_axis(points, index, axis=1)
    remaining = np.maximum(np.take_along_axis(slopes, index, axis=1), 0.0)
    bend = np.take_along_axis(bends, index, axis=1)
    return (begin + np.divide(remaining, bend, out=np.zeros_like(begin), where=bend > 0))[:, 0]


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
        is_slow = observed.mean(axis=1) < 0.5
        is_slow |= np.nanmax(np.abs(X[rows]), axis=1, initial=0.0) > FAR_WIDTHS * width
        slow = list(rows[is_slow])
        rows = rows[~is_slow]
        filled = np.where(observed[~is_slow], X[rows], 0.0)
        observed = observed[~is_slow]
        scores[rows] = filled @ V

        # sweeps over the rows that still move
        for _ in range(3 * MAX_SWEEPS):
            old = scores[rows]
            residual = np.clip(filled - old @ V.T, -width, width)
            step = (residual * observed) @ V
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
    counts = np.full(p, weight)
    squares = TRUSTED_VARIANCE * weight * noise_scale**2
    return StreamSums(0.0, np.zeros((r, r)), np.zeros((p, r)), squares, counts)


def unexplained(batch: BatchResult, width: float, typical: float) -> float:
    """Sum the part of the objective that residuals beyond the magnitude `typical` add."""
    beyond = np.abs(batch.residual) - max(typical, width)
    return width * float(np.maximum(beyond, 0.0).sum())


def typical_magnitude(X: Array) -> float:
    """Upper quartile of the magnitudes of the entries that are neither 0 nor NaN; else 1.

    It is near the root mean square of ordinary entries, and a quarter of them may be of any size.
    """
    sizes = np.abs(X[~np.isnan(X) & (X != 0)])
    if not sizes.size:
        return 1.0
    return float(np.quantile(sizes, QUARTILE, method="lower"))


def without_huge(X: Array, typical: float) -> Array:
    """Return rows with NaN for entries far above the typical ones of the table and the column.

    At most a quarter of the entries of a column go.
    """
    sizes = np.abs(np.where(np.isnan(X), 0.0, X))
    columns = np.quantile(sizes, QUARTILE, axis=0, method="lower")
    huge = sizes > HUGE_MAGNITUDES * np.maximum(columns, typical)
    return np.where(huge, np.nan, X) if huge.any() else X


def add_batch(
    sums: StreamSums, X: Array, V: Array, batch: BatchResult, noise_scale: Array
) -> StreamSums:
    """Add the rows of a batch to the sums."""
    R = batch.scores
    trusted = np.abs(batch.residual) <= TRUSTED * noise_scale
    trusted &= ~np.isnan(X)

    # a cleaned row is its low rank plus the clipped residual
    gram = R.T @ R
    cleaned = V @ gram + batch.dual.T @ R
    squares = np.einsum("ij,ij->j", batch.residual * trusted, batch.residual)
    counts = trusted.sum(axis=0)
    batch_sums = StreamSums(len(X), gram, cleaned, squares, counts)
    pairs: Any = zip(sums, batch_sums, strict=True)
    return StreamSums(*(old + new for old, new in pairs))


def surrogate(sums: StreamSums, V: Array, ridge: float) -> float:
    """Compute what `best_components` minimises, up to a constant; an upper bound of f(V)."""
    A = sums.A / sums.weight + ridge * np.eye(len(sums.A))
    quadratic = np.sum((V @ A) * V)
    linear = np.sum(V * sums.B) / sums.weight
    return float(0.5 * quadratic - linear)


def best_components(sums: StreamSums, ridge: float) -> Array:
    """Minimise ``tr V (A / w + ridge I) V' / 2 - tr V' B / w`` over the components V.

    The limit of the descent by columns in Algorithm 2 of the paper.
    """
    A = sums.A / sums.weight + ridge * np.eye(len(sums.A))
    B = sums.B / sums.weight
    V = linalg.solve(A, B.T, assume_a="pos").T
    return np.asarray(V)


def noise_of_columns(sums: StreamSums, n_components: int) -> Array:
    """Estimate the noise of each column from the trusted residuals."""
    p = len(sums.squares)
    freedom = max(p - n_components, 1) / p
    counts = np.maximum(sums.counts, TINY)
    variance = sums.squares / counts
    return np.asarray(np.sqrt(variance / (TRUSTED_VARIANCE * freedom)))


def orthonormal(sums: StreamSums, V: Array) -> tuple[Array, Array]:
    """Orthonormal rows that span V, and the singular values of the low rank of all rows.

    The rows are the right singular vectors of ``R V'``, whose Gram matrix is ``V A V'``.
    """
    Q, T = linalg.qr(V, mode="economic")
    values, vectors = linalg.eigh(T @ sums.A @ T.T)
    order = np.argsort(-values, kind="stable")
    squares = np.maximum(values[order], 0.0)
    rotated = Q @ vectors[:, order]
    return rotated.T, np.sqrt(squares)
