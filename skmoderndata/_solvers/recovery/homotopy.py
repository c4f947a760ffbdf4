"""The lasso path from the largest penalty down: homotopy that passes many breakpoints at a time.

The minimisers of ``|y - A a|^2 / 2 + lam |a|_1`` are piecewise linear in the penalty lam [Osborne,
Presnell and Turlach 2000; Efron, Hastie, Johnstone and Tibshirani 2004, section 3.1]. The path
ends in basis pursuit, and passes its noisy form where the residual meets the bound.
"""

import numpy as np

from skmoderndata._solvers.recovery.optimality import Piece, largest_slope, quick_piece
from skmoderndata._typing import Array

ROUNDING_RELATIVE = 1e-12  # relative to the largest penalty, or to a slope
CORRECTIONS = 12  # of a support at one penalty
WORK = (
    50  # operations, relative to a product with A for each row, after which the path is left
)
CROWDED = 0.75  # non-zeros per equation beyond which the interior point method is faster


def follow_path(
    A: Array,
    y: Array,
    *,
    bound: float,
    positive: bool,
    least: float = 0.0,
    most: float | None = None,
    start: tuple[Piece, float] | None = None,
) -> tuple[Piece, int, bool]:
    """Follow the path to where the residual is of norm `bound`, or to its end; y of norm one.

    It also ends at the penalty `least`, and begins at `start`, a piece and a penalty. Equations
    are given up beyond `most` coefficients, by default a share of their number.

    From a piece the penalty goes down by several breakpoints, those of the piece, and the support
    is corrected there: a primal-dual active set method with continuation [Fan, Jiao and Lu 2014].
    Where that does not settle, fewer breakpoints are passed, at last a single one.

    Returns the last piece, the number of factorisations, and whether that is the end: the path may
    break off, and is left where the solution of equations is not sparse.
    """
    # the empty support, at the penalty above which it is optimal
    m, k = A.shape
    none = np.zeros(0)
    piece = Piece(np.zeros(0, np.int64), none, none, none, y, np.zeros(m))
    lam = first = largest_slope(A.T @ y, positive)
    piece, lam = (piece, lam) if start is None else start
    barred = np.zeros(k, np.bool_)  # in the span of the support
    at_once = max(1, m // 16)
    n_iter = 0
    work = 0
    most = CROWDED * m if most is None else most

    while work <= WORK * m * m * k:
        # 1. where the next columns enter or leave on this piece
        end = max(piece.penalty(bound), least)
        meets = np.where(barred, 0.0, _breakpoints(A, piece, lam, positive))
        order = np.argsort(-meets, kind="stable")
        order = order[
            meets[order] > max(end * (1 + ROUNDING_RELATIVE), ROUNDING_RELATIVE * first)
        ]
        if order.size == 0:
            return piece, n_iter, True

        if bound == 0 and piece.support.size > most:
            break

        # 2. pass as many of these at once as proved right before
        few = max(
            1, m // 16, piece.support.size
        )  # more would bring in columns that leave again
        at_once = min(max(1, 2 * at_once), few, order.size)
        ties = np.count_nonzero(meets >= meets[order[at_once - 1]] * (1 - 1e-9))
        below = meets[order[ties]] if ties < order.size else end
        goal = 0.5 * (meets[order[ties - 1]] + below)

        new, lam_new, count = _corrected(A, y, piece, barred, (goal, lam), bound, positive)

        n_iter += count
        work += count * m * max(8, piece.support.size) ** 2

        # 3. where that fails, one column enters or leaves, as on the path itself
        if new is None and at_once == 1:
            j = order[0]
            lam_new = meets[order[0]]
            stays = piece.support != j
            support = piece.support[stays]
            signs = piece.signs[stays]
            if stays.all():
                slope = A[:, j] @ (piece.rest + lam_new * piece.u)
                support = np.append(support, j)
                signs = np.append(signs, np.sign(slope))

            new = quick_piece(A, y, support, signs)
            barred[j] = new is None
            if new is None and not stays.all():
                break
        elif new is None:
            at_once //= 8

        # 4. go on from the new piece
        if new is not None:
            if barred.any():  # until a column leaves
                barred &= np.isin(piece.support, new.support).all()
            piece = new
            lam = lam_new
    return piece, n_iter, False


def _breakpoints(A: Array, piece: Piece, lam: float, positive: bool) -> Array:
    """Penalty below which a column leaves the piece or enters it; 0 for none.

    A column outside enters where its slope ``c + lam w`` meets lam or its opposite, an active one
    leaves where its coefficient is zero.
    """
    c = A.T @ piece.rest
    w = A.T @ piece.u
    meets = np.divide(c, 1 - w, out=np.zeros(len(c)), where=w < 1 - 1e-10)
    if not positive:
        other = np.divide(-c, 1 + w, out=np.zeros(len(c)), where=w > -1 + 1e-10)
        meets = np.maximum(meets, other)
    fitted = piece.signs * piece.fitted
    direction = piece.signs * piece.direction
    shrinks = (fitted < 0) & (direction < 0)
    meets[piece.support] = np.divide(
        fitted, direction, out=np.zeros(len(fitted)), where=shrinks
    )
    return np.asarray(np.minimum(meets, lam))


def _corrected(
    A: Array,
    y: Array,
    piece: Piece,
    barred: Array,
    penalties: tuple[float, float],
    bound: float,
    positive: bool,
) -> tuple[Piece | None, float, int]:
    """Solution at the lower of two penalties, or where the residual meets the bound in between.

    Coefficients of the wrong sign leave the support, columns whose slope is too large enter. Also
    returns the penalty and the number of factorisations; None where that does not settle.
    """
    goal, former = penalties
    lam = goal
    last = A.shape[1]
    for step in range(CORRECTIONS):
        # columns that leave: wrong signs; columns that enter: slopes above the penalty
        slopes = A.T @ (piece.rest + lam * piece.u)
        wrong = (piece.fitted - lam * piece.direction) * piece.signs < 0
        beyond = slopes if positive else np.abs(slopes)
        beyond[piece.support] = beyond[barred] = 0.0
        new = np.flatnonzero(beyond > lam * (1 + ROUNDING_RELATIVE))
        changes = np.count_nonzero(wrong) + new.size

        # settled, or not getting there
        if changes == 0 and step > 0:
            return piece, lam, step
        if step > 3 and changes > max(last, 2):
            break
        last = changes

        # the least squares solution for the corrected support and signs
        support = np.concatenate([piece.support[~wrong], new])
        signs = np.concatenate([piece.signs[~wrong], np.sign(slopes[new])])
        found = quick_piece(A, y, support, signs)
        if found is None:
            break
        piece = found
        lam = min(max(goal, piece.penalty(bound)), former)
    return None, former, step + 1
