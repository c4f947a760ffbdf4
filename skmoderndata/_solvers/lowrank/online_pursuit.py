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

from skmoderndata._solvers.lowrank.least_absolute import robust_scores
from skmoderndata._typing import Array

GAP = 1e-8  # of the scores of a batch, relative to its objective
MAX_SWEEPS = 200
STEP = 1e-10  # last step of the scores, relative to them and the width
BLOCK_ENTRIES = 2**18  # of the rows whose scores are computed at once: 2 MB
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
    dual feasible, and the duality gap is ``|V' y - ridge r|^2 / (2 ridge)``: the sweeps end when
    it is small for every row.
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

    for n_iter in range(1, MAX_SWEEPS + 1):
        # 1. errors: what exceeds the width; NaN has no residual
        residual = filled - scores @ V.T
        if observed is not None:
            residual *= observed
        dual = np.clip(residual, -loss.width, loss.width)

        # 2. duality gap, from the gradient by the scores
        slope = dual @ V - loss.ridge * scores
        gap = np.einsum("ij,ij->i", slope, slope) / (2 * loss.ridge)
        objective = np.einsum("ij,ij->i", dual, residual - 0.5 * dual)
        objective += 0.5 * loss.ridge * np.einsum("ij,ij->i", scores, scores)
        if n_iter == MAX_SWEEPS or (gap <= GAP * objective + TINY).all():
            break

        # 3. scores of the cleaned rows
        step = linalg.cho_solve(factor, slope.T)
        scores += step.T

    return BatchResult(scores, residual, dual, objective, gap, n_iter)


def huber_scores(X: Array, components: Array, width: float) -> Array:
    """Minimise ``sum_j h(x_j - (a components)_j)`` over the scores `a` of every row of X.

    The sweeps of `robust_ridge` without the penalty, on orthonormal components; a row ends by
    itself, so that its answer does not depend on the others. Rows with more than half of their
    entries missing, and those whose sweeps are slow, are left to the interior point method of
    `robust_scores`, which takes ten times as long for others.
    """
    V = components.T
    scores = np.zeros((len(X), len(components)))
    if not len(components):
        return scores

    n = len(X)
    size = max(1, BLOCK_ENTRIES // len(V))
    for first in range(0, n, size):
        last = min(first + size, n)
        rows = np.arange(first, last)
        observed = ~np.isnan(X[rows])
        is_slow = observed.mean(axis=1) < 0.5
        slow = list(rows[is_slow])
        rows = rows[~is_slow]
        filled = np.where(observed[~is_slow], X[rows], 0.0)
        observed = observed[~is_slow]
        scores[rows] = filled @ V

        # sweeps over the rows that still move
        for _ in range(MAX_SWEEPS // 2):
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
            scores[slow] = robust_scores(X[slow], components, width=width).scores
    return scores


def empty_sums(noise_scale: Array, n_components: int, weight: float) -> StreamSums:
    """Make sums of no rows, in which the noise of a column counts as `weight` residuals."""
    p = len(noise_scale)
    r = n_components
    counts = np.full(p, weight)
    squares = TRUSTED_VARIANCE * weight * noise_scale**2
    return StreamSums(0.0, np.zeros((r, r)), np.zeros((p, r)), squares, counts)


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
