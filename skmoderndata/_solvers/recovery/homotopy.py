"""The lasso path from the largest penalty down: homotopy that passes many breakpoints at a time.

The minimisers of ``|y - A a|^2 / 2 + lam |a|_1`` are piecewise linear in the penalty lam. The path
ends in basis pursuit, and passes its noisy form when the residual equals the bound.

Differs from the papers (Osborne, Presnell and Turlach 2000; Efron, Hastie, Johnstone and
Tibshirani 2004, section 3.1): several breakpoints are passed at once, and the support is corrected
there by an active set method (Fan, Jiao and Lu 2014); single breakpoints are the fallback.
"""

import numpy as np

from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.optimality import NormalEquations, Segment, largest_slope

# Maximum number of corrections of a support at one penalty.
CORRECTIONS = 12
# Maximum number of operations on the path, in units of one product with A for each row.
WORK = 50
# Number of non-zeros per equation above which the interior point method is faster.
CROWDED = 0.75


def follow_path(
    A: Array,
    y: Array,
    *,
    bound: float,
    positive: bool,
    least: float = 0.0,
    largest: float | None = None,
    start: tuple[Segment, float] | None = None,
) -> tuple[Segment, int, bool]:
    """Follow the path to a residual of norm `bound`, or to its end; y has norm 1.

    It also ends at the penalty `least`, and begins at `start`, a segment and a penalty. The path
    of equations is abandoned beyond `largest` coefficients, by default a fraction of the number of
    equations.

    From a segment, the penalty decreases past several of the segment's breakpoints, where the
    support is corrected: a primal-dual active set method with continuation [Fan, Jiao and Lu
    2014]. If the corrections do not settle, fewer breakpoints are passed, in the end a single one.

    Returns the last segment, the number of factorisations, and whether that is the end of the
    path: it may break off, and it is abandoned if the solution of equations is not sparse.
    """
    # start with an empty support, at the smallest penalty for which this support is optimal
    m, k = A.shape
    none = np.zeros(0)
    segment = Segment(np.zeros(0, np.int64), none, none, none, y, np.zeros(m))
    lam = first = largest_slope(A.T @ y, positive)
    segment, lam = (segment, lam) if start is None else start
    equations = NormalEquations(A, y)
    barred = np.zeros(k, np.bool_)  # columns that lie in the span of the support
    fewest = max(1, m // 16)
    at_once = fewest
    n_iter = 0
    work = 0
    largest = CROWDED * m if largest is None else largest

    while work <= WORK * m * m * k:
        # 1. find the penalties at which the next columns enter or leave on this segment
        end = max(segment.penalty(bound), least)
        meets = np.where(barred, 0.0, _breakpoints(A, segment, lam, positive))
        order = np.argsort(-meets, kind="stable")
        lowest = max(end * (1 + ACCUMULATED_ROUNDING), ACCUMULATED_ROUNDING * first)
        order = order[meets[order] > lowest]
        if order.size == 0:
            return segment, n_iter, True

        if bound == 0 and segment.support.size > largest:
            break

        # 2. pass up to twice as many breakpoints at once as last time, but no more than there are
        # coefficients (or m / 16, if this is more)
        limit = max(fewest, segment.support.size)
        at_once = min(max(1, 2 * at_once), limit, order.size)
        last = meets[order[at_once - 1]]
        ties = np.count_nonzero(meets >= last * (1 - RESULT_ROUNDING))
        below = meets[order[ties]] if ties < order.size else end
        goal = 0.5 * (meets[order[ties - 1]] + below)

        new, lam_new, count = _corrected(
            equations, segment, barred, (goal, lam), bound, positive
        )
        n_iter += count
        work += count * m * max(8, segment.support.size) ** 2

        # 3. if passing a single breakpoint fails, let one column enter or leave, as on the exact
        # path
        if new is None and at_once == 1:
            j = order[0]
            lam_new = meets[order[0]]
            stays = segment.support != j
            support = segment.support[stays]
            signs = segment.signs[stays]
            if stays.all():
                slope = A[:, j] @ (segment.residual + lam_new * segment.u)
                support = np.append(support, j)
                signs = np.append(signs, np.sign(slope))

            new = equations.segment(support, signs)
            barred[j] = new is None
            if new is None and not stays.all():
                break
        elif new is None:
            at_once //= 8

        # 4. continue from the new segment
        if new is not None:
            if barred.any():  # columns remain barred until some column leaves
                barred &= np.isin(segment.support, new.support).all()
            segment = new
            lam = lam_new
    return segment, n_iter, False


def _breakpoints(A: Array, segment: Segment, lam: float, positive: bool) -> Array:
    """Return the penalty below which a column leaves or enters the segment; 0 for none.

    A column outside enters when its slope ``c + lam w`` equals lam or -lam; an active column
    leaves when its coefficient becomes zero.
    """
    c = A.T @ segment.residual
    w = A.T @ segment.u
    meets = np.divide(c, 1 - w, out=np.zeros(len(c)), where=w < 1 - ACCUMULATED_ROUNDING)
    if not positive:
        opposite = np.divide(
            -c, 1 + w, out=np.zeros(len(c)), where=w > -1 + ACCUMULATED_ROUNDING
        )
        meets = np.maximum(meets, opposite)
    fitted = segment.signs * segment.fitted
    direction = segment.signs * segment.direction
    shrinks = (fitted < 0) & (direction < 0)
    zeros = np.zeros(len(fitted))
    meets[segment.support] = np.divide(fitted, direction, out=zeros, where=shrinks)
    return np.asarray(np.minimum(meets, lam))


def _corrected(
    equations: NormalEquations,
    segment: Segment,
    barred: Array,
    penalties: tuple[float, float],
    bound: float,
    positive: bool,
) -> tuple[Segment | None, float, int]:
    """Solve at the lower of two penalties, or at one in between where the bound is met.

    Coefficients of the wrong sign leave the support, columns whose slope is too large enter. Also
    returns the penalty and the number of factorisations; the segment is None if that does not
    settle.
    """
    A = equations.A
    goal, former = penalties
    lam = goal
    last = A.shape[1]
    for step in range(CORRECTIONS):
        # columns whose coefficients have the wrong sign leave, and columns whose slopes exceed the
        # penalty enter
        slopes = A.T @ (segment.residual + lam * segment.u)
        coef = segment.fitted - lam * segment.direction
        wrong = coef * segment.signs < 0
        beyond = slopes if positive else np.abs(slopes)
        beyond[segment.support] = beyond[barred] = 0.0
        new = np.flatnonzero(beyond > lam * (1 + ACCUMULATED_ROUNDING))
        changes = np.count_nonzero(wrong) + new.size

        # stop if the support no longer changes, or if it does not converge
        if changes == 0 and step > 0:
            return segment, lam, step
        if step > 3 and changes > max(last, 2):
            break
        last = changes

        # solve the least squares problem for the corrected support and signs
        stays = ~wrong
        support = np.concatenate([segment.support[stays], new])
        signs = np.concatenate([segment.signs[stays], np.sign(slopes[new])])
        corrected = equations.segment(support, signs)
        if corrected is None:
            break
        segment = corrected
        lam = min(max(goal, segment.penalty(bound)), former)
    return None, former, step + 1
