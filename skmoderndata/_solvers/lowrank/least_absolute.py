"""Least absolute deviations and Huber regression of many rows on the same few components.

Differs from the paper (Portnoy and Koenker 1997): rows are solved in blocks, and Huber's loss and
a slope per entry are supported.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.tolerances import RANK_TOL, SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array

# Maximum number of entries of a block of rows; its arrays then stay in the cache.
CELLS = 2**15

# Ridge of every Newton step, relative to the trace; it matters only if the entries do not
# determine the scores.
RIDGE_RELATIVE = 1e-13


class ScoresResult(NamedTuple):
    """Scores of rows on fixed components, and the relative duality gap of each row."""

    scores: Array
    gap: Array
    deficient: Array  # mask of rows whose observed entries do not determine the scores
    n_iter: int


def robust_scores(
    X: Array,
    components: Array,
    *,
    width: float | Array = 0.0,
    slopes: Array | None = None,
    tol: float = 1e-12,
    max_iter: int = 100,
) -> ScoresResult:
    """Minimise ``sum_j h(x_j - (a components)_j)`` over the scores `a` of every row of X (m, p).

    `h` is the absolute value or, for ``width > 0``, the Huber function, which is quadratic up to
    `width` and has slope one beyond it. The components are orthonormal rows (r, p); NaN entries do
    not count. `slopes` (m, p), at most 1, and an array `width` give every entry its own slope and
    width. The interior point method stops for each row when its duality gap is at most `tol` times
    its l1 norm, so that the scores of a row do not depend on other rows. If the observed entries
    of a row do not determine the scores, it is marked in `deficient` and its scores have minimum
    norm.
    """
    (m, p) = X.shape
    r = len(components)
    V = np.ascontiguousarray(components.T)
    scores = np.zeros((m, r))
    gap = np.zeros(m)
    deficient = np.zeros(m, bool)
    n_iter = 0

    # solve blocks of rows, each row in units of its largest entry
    size = max(1, CELLS // p)
    for first in range(0, m if r else 0, size):
        rows = slice(first, first + size)
        observed = ~np.isnan(X[rows])
        x = np.where(observed, X[rows], 0.0)
        scale = np.abs(x).max(axis=1, keepdims=True)
        scale[scale == 0] = 1.0
        widths = (width[rows] if isinstance(width, np.ndarray) else width) / scale
        bounds = np.ones(x.shape) if slopes is None else slopes[rows]
        solved = _interior_point(x / scale, observed, V, widths, bounds, tol, max_iter)
        scores[rows], gap[rows], deficient[rows] = solved.scores * scale, *solved[1:3]
        n_iter = max(n_iter, solved.n_iter)

    # in rows that do not determine their scores, choose the scores of minimum norm
    for i in np.flatnonzero(deficient):
        seen = V[~np.isnan(X[i])]
        scores[i] = linalg.pinv(seen) @ (seen @ scores[i])

    return ScoresResult(scores, gap, deficient, n_iter)


def scores_in_units(
    X: Array,
    components: Array,
    scale: Array,
    width: float,
    weights: Array | None = None,
) -> ScoresResult:
    """Compute robust scores of rows with columns divided by `scale`, on orthonormal components.

    The loss is Huber's function of this width, or the absolute value if the width is 0. Weights of
    the entries multiply the squares or the absolute values.
    """
    rows = X / scale
    widths: float | Array = width
    slopes = None
    if weights is not None and width > 0:
        widths = width / weights
    elif weights is not None:  # only the proportions of weights in a row matter
        slope = np.where(np.isnan(X), 0.0, weights)
        largest = slope.max(axis=1, keepdims=True)
        slopes = np.where(slope > 0, slope / np.where(largest > 0, largest, 1), 1.0)
    if (scale == 1.0).all():
        return robust_scores(rows, components, width=widths, slopes=slopes)

    # for columns of unequal noise, factorise components / scale = R' Q' with orthonormal Q
    weighted = (components / scale).T
    Q, R = linalg.qr(weighted, mode="economic")
    solved = robust_scores(rows, Q.T, width=widths, slopes=slopes)
    scores = linalg.solve_triangular(R, solved.scores.T).T
    for i in np.flatnonzero(solved.deficient):
        seen = weighted[~np.isnan(rows[i])]
        scores[i] = linalg.pinv(seen) @ (seen @ scores[i])
    return solved._replace(scores=scores)


def _interior_point(
    X: Array,
    observed: Array,
    V: Array,
    width: Array,
    bounds: Array,
    tol: float,
    max_iter: int,
) -> ScoresResult:
    """Solve all rows by a primal-dual interior point method, the Frisch-Newton method.

    The dual of a row is ``max <x, y> - width / 2 |y|^2`` subject to ``V' y = 0, |y_j| <= b_j``,
    where the bounds b are the slopes, or 1 without slopes. With slacks ``u = b - y, w = b + y``
    and their multipliers s and t, the optimum satisfies ``x - V a - width y = s - t`` and
    ``s u = t w = 0`` (Portnoy and Koenker 1997, with Mehrotra's predictor and corrector). A Newton
    step is a weighted regression of each row on V. The linear equations hold from the start, so
    that the sum of ``s u + t w`` is the duality gap.
    """
    m = len(X)
    r = V.shape[1]
    lower = np.tril_indices(r)
    pairs = V[:, lower[0]] * V[:, lower[1]]

    def gram(D: Array) -> Array:
        G = np.empty((m, r, r))
        G[:, lower[0], lower[1]] = G[:, lower[1], lower[0]] = D @ pairs
        return G

    def solve(G: Array, right: Array) -> Array:
        ridge = RIDGE_RELATIVE * np.trace(G, axis1=1, axis2=2) + SMALLEST_DIVISOR
        G = G + ridge[:, None, None] * np.eye(r)
        return np.linalg.solve(G, right[:, :, None])[:, :, 0]

    # start from least squares, and keep the slacks away from zero
    counted = observed.astype(float)
    size = np.maximum(np.abs(X).sum(axis=1, keepdims=True), 1.0)
    count = np.maximum(counted.sum(axis=1, keepdims=True), 1)
    G = gram(counted)
    deficient = np.linalg.eigvalsh(G)[:, 0] <= RANK_TOL
    a = solve(G, X @ V)
    e = X - a @ V.T

    start = np.maximum((counted * np.abs(e)).sum(axis=1, keepdims=True), 1e-3 * size) / count
    s = np.maximum(e, 0) + start
    t = np.maximum(-e, 0) + start
    u = bounds.copy()
    w = bounds.copy()

    for n_iter in range(max_iter + 1):
        # 1. compute the gap of each row; rows that have converged no longer change
        gap = (counted * (s * u + t * w)).sum(axis=1, keepdims=True)
        active = gap > tol * size
        if n_iter == max_iter or not active.any():
            break

        # 2. solve the equations of the predictor, then of the corrector
        y = counted * (w - u) / 2
        e = X - a @ V.T - width * y
        D = counted / (width + s / u + t / w)
        G = gram(D)
        target = 0.0
        ds = 0.0
        dy = 0.0
        dt = 0.0

        for is_corrector in (False, True):
            # set the targets of s u and t w, corrected by the second-order terms of the predictor
            su = target + dy * ds
            tw = target - dy * dt
            g = e - su / u + tw / w
            da = solve(G, (D * g + y) @ V)
            dy = D * (g - da @ V.T)
            ds = (su + s * dy) / u - s
            dt = (tw - t * dy) / w - t

            ratio = np.maximum(np.maximum(dy / u, -dy / w), np.maximum(-ds / s, -dt / t))
            step = 0.995 / np.maximum(ratio.max(axis=1, keepdims=True), 0.995)

            # 3. choose the centring by the progress of the predictor [Mehrotra 1992]
            if not is_corrector:
                after = (s + step * ds) * (u - step * dy) + (t + step * dt) * (w + step * dy)
                ratio = (counted * after).sum(axis=1, keepdims=True) / (gap + SMALLEST_DIVISOR)
                target = ratio**3 * gap / (2 * count)

        # 4. take the longest step that stays inside the bounds
        step *= active
        a = a + step * da
        s = s + step * ds
        t = t + step * dt
        u = u - step * dy
        w = w + step * dy
    return ScoresResult(a, (gap / size)[:, 0], deficient, n_iter)
