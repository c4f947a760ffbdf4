"""Ranking with all pairs at once: pairs are implicit, and the unknowns belong to samples.

Differs from the papers [Chapelle 2010; Kuo, Lee and Lin 2014]: 1. Newton steps are taken in the
coordinates of a factor of the kernel matrix, with a preconditioner from a subset of the rows.
2. The stopping rule is a relative duality gap, for which the residuals of the pairs give a bound.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    INNER_SHARE,
    SUFFICIENT_DECREASE,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.tolerances import SHORTEST_STEP

# Number of rows of the factor from which the preconditioner is computed.
SKETCH = 5000
# Maximum number of steps of conjugate gradients.
MOST_CG_STEPS = 200
# Fraction of the tolerance, and later of the previous gap within the factor, to which the gap
# within the factor is reduced.
SHARE_OF_TOL = 0.3
# Largest relative change of the objective that counts as a rounding error.
FLAT = 1e-13


class ActivePairs(NamedTuple):
    """Sums over the pairs (i, j) with `r_ij = 1 - f_i + f_j > 0`, for each sample."""

    total: float  # sum of r
    squares: float  # sum of r^2
    fold: Array  # (n,), sum over pairs of r (e_i - e_j)
    degree: Array  # (n,), number of pairs that contain each sample
    # function v -> sum over pairs of (v_i - v_j) (e_i - e_j)
    laplacian: Callable[[Array], Array]


class PairLoss(Protocol):
    """Pairs whose first member should rank above the second."""

    def active(self, f: Array) -> ActivePairs:
        """Return the pairs that are not in order by a margin of one."""


class RankingResult(NamedTuple):
    """Function in the coordinates of the factor, and its distance from the optimum."""

    theta: Array
    gap: float  # relative duality gap, over all pairs and with the complete kernel
    n_iter: int
    converged: bool
    exhausted: bool  # whether the rank of the factor limits the accuracy


def rank_on_samples(
    pairs: PairLoss,
    factor: Array,
    norm: Callable[[Array], float],
    *,
    cost: float,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    progress: Progress | None = None,
) -> RankingResult:
    """Minimise `1/2 |w|^2 + cost/2 sum_pairs max(0, 1 - f_i + f_j)^2` over `f = factor theta`.

    Newton's method on the piecewise quadratic objective [Chapelle 2010; Kuo 2014]: with L the
    Laplacian of the graph of active pairs, the Hessian is `I + cost F' L F`; products with L take
    `n log n` operations. The residuals `r_ij` of the pairs give a point of the dual. Its best
    multiple has the value `(sum r)^2 / 2 / (b' K b + sum r^2 / cost)`, where b are the residuals
    summed for each sample, with signs.

    Parameters
    ----------
    pairs : PairLoss
    factor : ndarray of shape (n, r)
        F, with `F F'` the kernel matrix or a low-rank approximation of it.
    norm : callable
        Function `b -> b' K b` with the complete kernel matrix.
    cost : float
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Maximum number of Newton steps.
    start : ndarray of shape (at most r,) or None
        First coordinates of the start; zeros follow.
    progress : Progress or None
    """
    theta = np.zeros(factor.shape[1])
    if start is not None:
        theta[: len(start)] = start

    active = pairs.active(factor @ theta)
    gap = inner_gap = np.inf
    aim = SHARE_OF_TOL * tol
    it = Iterations(max_iter, -1.0, progress)

    for _ in it:
        # 1. Step in the Newton direction for the active pairs, with a line search
        slope = theta - cost * (factor.T @ active.fold)
        direction = newton_direction(factor, active, slope, cost)
        theta, active, moved = _line_search(
            pairs, factor, theta, active, slope, direction, cost
        )

        # 2. Compute the gap within the factor, which takes little time; continue if the gap is too
        # large
        primal = _primal(theta, active, cost)
        inner = factor.T @ active.fold
        inner_gap = _gap(primal, active, float(inner @ inner), cost)
        exhausted = not moved or inner_gap <= ACCUMULATED_ROUNDING
        if inner_gap > aim and not exhausted and it.n_iter < max_iter:
            continue

        # 3. Compute the gap with the complete kernel
        gap = _gap(primal, active, norm(active.fold), cost)
        it.converged = gap <= tol
        # the rank of the factor is too low if the gap with the complete kernel is much larger than
        # the gap within the factor
        it.ended = not it.converged and (exhausted or inner_gap <= INNER_SHARE * gap)
        aim = SHARE_OF_TOL * inner_gap

    if gap == np.inf:  # a callback has stopped the fit
        gap = _gap(_primal(theta, active, cost), active, norm(active.fold), cost)

    return RankingResult(theta, gap, it.n_iter, it.converged, it.ended)


def _primal(theta: Array, active: ActivePairs, cost: float) -> float:
    return 0.5 * float(theta @ theta) + 0.5 * cost * active.squares


def _gap(primal: float, active: ActivePairs, norm: float, cost: float) -> float:
    """Return the relative gap between the primal and the best multiple of the dual point r."""
    curvature = norm + active.squares / cost
    dual = 0.5 * active.total**2 / curvature if active.total > 0.0 else 0.0
    return relative_gap(primal, dual, unit=primal)


def newton_direction(factor: Array, active: ActivePairs, slope: Array, cost: float) -> Array:
    """Solve `(I + cost F' L F) p = -slope` by conjugate gradients.

    The relative error is a tenth or less. The preconditioner replaces L by `D - d d' / sum(d)`,
    where d are the degrees, on some rows.
    """
    # compute the preconditioner: factorise the Hessian for a subset of the rows
    n, r = factor.shape
    rows = np.arange(n) if n <= SKETCH else np.linspace(0, n - 1, SKETCH).astype(int)
    d = active.degree[rows] * (n / len(rows))
    F = factor[rows]
    if d.sum() > 0:
        F = F - d @ F / d.sum()
    M = cost * (F.T @ (d[:, None] * F))
    M[np.diag_indices(r)] += 1.0
    solve = linalg.cho_factor(M, overwrite_a=True, check_finite=False)

    # reduce the residual to a thousandth of its size by conjugate gradients
    residual = -slope
    p = np.zeros(r)
    z = linalg.cho_solve(solve, residual, check_finite=False)
    q = z.copy()
    size = float(residual @ z)
    first = size
    for _ in range(MOST_CG_STEPS):
        if size <= 1e-6 * first or size <= 0.0:
            return p
        image = q + cost * (factor.T @ active.laplacian(factor @ q))
        step = size / float(q @ image)
        p += step * q
        residual = residual - step * image
        z = linalg.cho_solve(solve, residual, check_finite=False)
        size, before = float(residual @ z), size
        q = z + (size / before) * q
    return p


def _line_search(
    pairs: PairLoss,
    factor: Array,
    theta: Array,
    active: ActivePairs,
    slope: Array,
    direction: Array,
    cost: float,
) -> tuple[Array, ActivePairs, bool]:
    """Halve the Newton step until the objective falls; return False if it cannot fall further.

    If the objective changes only by rounding errors, the slope, with twice the digits, decides.
    """
    value = _primal(theta, active, cost)
    decrease = float(slope @ direction)
    step = 1.0

    while step > SHORTEST_STEP:
        new = theta + step * direction
        after = pairs.active(factor @ new)
        change = _primal(new, after, cost) - value
        if change < SUFFICIENT_DECREASE * step * decrease:
            return new, after, True
        # near the optimum, differences of the objective are rounding errors, so use the slope
        if step == 1.0 and change <= FLAT * value:
            new_slope = new - cost * (factor.T @ after.fold)
            if linalg.norm(new_slope) < 0.5 * linalg.norm(slope):
                return new, after, True
        step *= 0.5
    return theta, active, False


@jit
def sums_below(queries, grades, rank, first, W):
    """Return sums of the columns of W over the rows j of lower grade in the query of each row i.

    Only rows with `rank[j] >= first[i]` count. Rows are sorted by query and grade; rows of lower
    grades are kept in a binary indexed tree over their ranks.
    """
    n, k = W.shape
    tree = np.zeros((n + 1, k))
    out = np.zeros((n, k))
    begin = 0
    level = 0

    for i in range(n):
        # 1. If the query is new, empty the tree; if the grade is new, insert the rows of the
        # previous grade
        if i > 0 and queries[i] != queries[i - 1]:
            for row in range(begin, level):  # remove the rows of the previous query
                position = rank[row] + 1
                while position <= n:
                    for c in range(k):
                        tree[position, c] = 0.0
                    position += position & -position
            begin = level = i
        elif i > 0 and grades[i] != grades[i - 1]:
            for row in range(level, i):
                position = rank[row] + 1
                while position <= n:
                    for c in range(k):
                        tree[position, c] += W[row, c]
                    position += position & -position
            level = i

        if level == begin:
            continue

        # 2. Subtract the sums over ranks below first[i] from the sums over all ranks
        position = n
        while position > 0:
            for c in range(k):
                out[i, c] += tree[position, c]
            position -= position & -position

        position = first[i]
        while position > 0:
            for c in range(k):
                out[i, c] -= tree[position, c]
            position -= position & -position
    return out


def graded_pairs(queries: Array, grades: Array, f: Array) -> ActivePairs:
    """Return the active pairs of rows that are sorted by query and grade."""
    f = f - f.mean()
    # find the active partners by their position among the sorted scores
    ways = []
    for way in (
        slice(None),
        slice(None, None, -1),
    ):  # partners of lower grades, then of higher grades
        sign = 1.0 if way.step is None else -1.0
        values = sign * f[way]
        rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
        first = np.searchsorted(np.sort(values), values - 1.0, side="right")
        ways.append((way, queries[way].copy(), sign * grades[way], rank, first))

    def sums(W: Array) -> list[Array]:
        """Return sums over the active partners below, and over the active partners above."""
        return [
            sums_below(*columns, np.ascontiguousarray(W[way]))[way] for way, *columns in ways
        ]

    below, above = sums(np.stack([np.ones(len(f)), f, f * f], axis=1))
    # compute the squared hinge loss and its gradient from counts, sums and squares of scores
    count = below[:, 0]
    r_below = below[:, 0] * (1.0 - f) + below[:, 1]
    r_above = above[:, 0] * (1.0 + f) - above[:, 1]
    squares = count * (1.0 - f) ** 2 + 2.0 * (1.0 - f) * below[:, 1] + below[:, 2]
    degree = count + above[:, 0]

    def laplacian(v: Array) -> Array:
        down, up = sums(v[:, None])
        return degree * v - down[:, 0] - up[:, 0]

    return ActivePairs(
        float(r_below.sum()), float(squares.sum()), r_below - r_above, degree, laplacian
    )


def listed_pairs(pairs: Array, f: Array) -> ActivePairs:
    """Return the active pairs of a list."""
    r = 1.0 - f[pairs[:, 0]] + f[pairs[:, 1]]
    up, down = pairs[r > 0].T
    r = r[r > 0]
    n = len(f)

    # sum the signed residuals of the pairs of each sample
    def fold(weights: Array) -> Array:
        return np.bincount(up, weights, n) - np.bincount(down, weights, n)

    degree = (np.bincount(up, minlength=n) + np.bincount(down, minlength=n)).astype(np.float64)
    return ActivePairs(
        float(r.sum()), float(r @ r), fold(r), degree, lambda v: fold(v[up] - v[down])
    )


@jit
def worst_below(queries, grades, values):
    """For rows sorted by query and grade, return the highest lower-graded value and its row."""
    n = len(queries)
    partner = np.full(n, -1, np.int64)
    top = np.full(n, -np.inf)
    # highest value among the rows of lower grades
    best = -np.inf
    who = -1
    # highest value among the rows of the current grade
    level = -np.inf
    level_who = -1
    for i in range(n):
        if i == 0 or queries[i] != queries[i - 1]:
            best = -np.inf
            who = -1
            level = -np.inf
            level_who = -1
        elif grades[i] != grades[i - 1]:
            if level > best:
                best = level
                who = level_who
            level = -np.inf
            level_who = -1

        partner[i] = who
        top[i] = best
        if values[i] > level:
            level = values[i]
            level_who = i
    return partner, top


@jit
def next_below(in_core, sorted_rows, queries, grades, values, core, n, partner, top):
    """Replace partners by the highest rows whose pairs are not in `core`, which is sorted."""
    for row in in_core:
        i = sorted_rows[row]

        begin = row
        while begin > 0 and queries[begin - 1] == queries[row]:
            begin -= 1
        best = -np.inf
        who = -1

        for k in range(begin, row):
            if grades[k] == grades[row]:
                break
            if values[k] > best:
                pair = i * n + sorted_rows[k]
                index = np.searchsorted(core, pair)
                if index == len(core) or core[index] != pair:
                    best = values[k]
                    who = k
        partner[row] = who
        top[row] = best


def pair_order(queries: Array, grades: Array, values: Array) -> tuple[float, float, float]:
    """Count the pairs of different grade in a query: in order, tied, and all of them."""
    by = np.lexsort((grades, queries))
    rank = np.unique(values[by], return_inverse=True)[1]
    q = queries[by]
    g = grades[by]
    ones = np.ones((len(by), 1))

    def pairs_from(first: Array) -> float:
        """Count the pairs whose lower-graded row has at least this rank."""
        return float(sums_below(q, g, rank, first, ones).sum())

    every = pairs_from(np.zeros(len(by), np.int64))
    not_in_order = pairs_from(rank)
    wrong = pairs_from(rank + 1)
    return every - not_in_order, not_in_order - wrong, every
