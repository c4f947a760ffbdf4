"""Forward selection by orthogonal least squares; leave-one-out chooses the number of columns.

Differs from the paper (Chen, Cowan and Grant 1991): 1. The leave-one-out error chooses the number
of columns, not a threshold on the explained part. 2. Several targets count equally. 3. Samples
have weights.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.tolerances import RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.networks.ridge_path import SMALLEST_FREEDOM

# Maximum number of consecutive columns that do not lower the leave-one-out error.
COLUMNS_WITHOUT_GAIN = 10


class Selection(NamedTuple):
    """Selected columns in order, their error reduction ratios, and the leave-one-out errors."""

    chosen: Array
    error_reduction: Array
    loo_path: Array


def forward_selection(
    P: Array, Y: Array, w: Array, *, max_columns: int, intercept: bool
) -> Selection:
    """Choose columns of P by orthogonal least squares (Chen, Cowan and Grant 1991).

    Each step deflates every candidate by the selected columns, which leaves q_j, and selects the
    candidate with the largest error reduction ratio: the mean over the targets t of
    ``(q_j' y_t)^2 / (q_j' q_j) / y_t' y_t``. The norms ``q_j'q_j`` and products ``q_j'y`` are
    updated, so that a step costs one product of P with a vector. Selection stops when the exact
    leave-one-out error of least squares on the selected columns has not fallen for 10 steps, and
    returns to the minimum of this error.

    Parameters
    ----------
    P : ndarray of shape (n, M)
        Candidates.
    Y : ndarray of shape (n, t)
        Targets.
    w : ndarray of shape (n,)
        Weights.
    max_columns : int
        Maximum number of columns.
    intercept : bool
        If True, the model always contains a constant.
    """
    # weight and centre the columns
    root = np.sqrt(w)[:, None]
    leverage = np.zeros(len(P))
    if intercept:
        total = w.sum()
        P = P - w @ P / total
        Y = Y - w @ Y / total
        leverage = w / total
    P = root * P
    R = root * Y

    sizes = (R**2).sum(axis=0)
    units = np.sqrt(np.where(sizes > 0, sizes, 1))
    R = R / units
    norms = (P**2).sum(axis=0)
    products = P.T @ R
    # a candidate whose remaining squared norm is below this value is explained by the selected
    # columns
    floor = RANK_TOL * norms
    free = norms > 0

    Q = np.empty((len(P), 0))
    selected: list[int] = []
    ratios: list[float] = []
    errors = [_loo_error(R, leverage)]
    max_columns = min(max_columns, P.shape[1], len(P) - 1 - intercept)

    # 1. choose the column that explains the largest part of the residual
    while (
        len(selected) < max_columns
        and len(selected) - int(np.argmin(errors)) < COLUMNS_WITHOUT_GAIN
    ):
        squares = (products**2).sum(axis=1)
        gains = np.where(free, squares / np.where(free, norms, 1), -1.0)
        j = int(gains.argmax())
        if gains[j] <= 0:
            break

        # 2. orthogonalise the column
        q = P[:, j].copy()
        for _ in range(2):  # twice is enough for orthogonality
            q -= Q @ (Q.T @ q)
        q /= np.linalg.norm(q)
        Q = np.column_stack([Q, q])

        # 3. remove its direction from all columns and all targets
        g = q @ R
        p = q @ P
        R = R - np.outer(q, g)
        norms = norms - p**2
        products = products - np.outer(p, g)
        free &= norms > floor
        free[j] = False

        # 4. compute the leave-one-out error of the regression on the selected columns
        leverage = leverage + q**2
        selected.append(j)
        ratios.append(float(np.mean(g**2)))
        errors.append(_loo_error(R, leverage))

    best = max(int(np.argmin(errors)), min(1, len(selected)))
    columns = np.array(selected[:best], int)
    reductions = np.array(ratios[:best])
    return Selection(columns, reductions, np.array(errors))


def _loo_error(R: Array, leverage: Array) -> float:
    free = 1 - leverage
    if free.min() < SMALLEST_FREEDOM:
        return float("inf")
    squares = (R / free[:, None]) ** 2
    return float(np.mean(squares.sum(axis=0)))
