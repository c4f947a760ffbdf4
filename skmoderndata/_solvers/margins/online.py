"""Machines that process one sample after another and change their function on mistakes.

Differs from the papers: 1. PRank and the perceptron may have a budget of coefficients. 2. The
threshold of the projectron is relative to the squared norm of the sample, and with a full support
it projects every mistake.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.lengths import check_lengths
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, ROUNDING
from skmoderndata._solvers.common.typing import Array

# Largest squared distance from the span of the support, relative to the squared norm, at which a
# sample is projected. Adding a sample that is nearer would make the matrix of the support
# ill-conditioned.
NEARLY_INSIDE = 1e-6


class Expanded(NamedTuple):
    """A function `sum_j coef_j k(x, z_j)` that changes over time, and its mean over time."""

    coef: Array  # coefficient of each column of the current kernel matrix
    late: Array  # sum of the changes of coef, each multiplied by the time of the change
    born: Array  # time of the first coefficient of a column, or see `perceptron_block`; -1 if none


def prank_block(
    K: Array,
    function: Expanded,
    thresholds: Array,
    late: Array,
    ranks: Array,
    *,
    time: int,
    budget: int,
) -> int:
    """Run one pass of PRank over a block of samples [Crammer and Singer 2001], in place.

    If a sample of rank y has a value in the range of rank q, its coefficient changes by `y - q`,
    and each threshold between the two ranks moves by one towards the value. If there are more than
    `budget` coefficients (-1: no limit), the oldest is dropped.

    Parameters
    ----------
    K : ndarray of shape (n_block, n_columns)
        Kernel values with the support, and with the block itself in the last n_block columns.
    function : Expanded
        Coefficients of the columns.
    thresholds, late : ndarray of shape (n_ranks - 1,)
        Thresholds, and the sum of their changes, each multiplied by its time.
    ranks : ndarray of int of shape (n_block,)
        Ranks from 0.
    time : int
        Number of samples seen before.
    budget : int
        Maximum number of coefficients, or -1.

    Returns
    -------
    n_updates : int
        Number of samples that were ranked wrongly.
    """
    _check_block(K, function, ranks=ranks)
    check_lengths(len(thresholds), late=late)
    return int(_prank(K, function, thresholds, late, ranks, time, budget))


@jit
def _prank(K, function, thresholds, late, ranks, time, budget):
    n, m = K.shape
    coef = function.coef
    count = 0

    # compute the values of the function before the pass
    values = np.zeros(n)
    n_support = 0
    for j in range(m):
        if coef[j] != 0.0:
            n_support += 1
            for i in range(n):
                values[i] += coef[j] * K[i, j]

    for i in range(n):
        # 1. Predict the rank: the number of thresholds that the value reaches
        guess = 0
        for b in thresholds:
            guess += 1 if values[i] >= b else 0
        change = ranks[i] - guess
        if change == 0:
            continue
        count += 1

        # 2. Update the function, and its values at the samples that follow
        now = time + i
        column = m - n + i
        function.born[column] = now
        coef[column] += change
        function.late[column] += change * now
        n_support += 1
        for q in range(i, n):
            values[q] += change * K[q, column]

        # 3. Move the thresholds between the two ranks
        low, high, move = (guess, ranks[i], -1.0) if change > 0 else (ranks[i], guess, 1.0)
        for y in range(low, high):
            thresholds[y] += move
            late[y] += move * now

        # 4. Drop the oldest coefficient if the budget is exceeded
        if n_support > budget >= 0:
            oldest = -1
            for j in range(m):
                if coef[j] != 0.0 and (oldest < 0 or function.born[j] < function.born[oldest]):
                    oldest = j
            for q in range(i, n):
                values[q] -= coef[oldest] * K[q, oldest]
            coef[oldest] = function.late[oldest] = 0.0
            n_support -= 1
    return count


def perceptron_block(
    K: Array,
    values: Array,
    function: Expanded,
    steps: Array,
    *,
    time: int,
    budget: int,
    smallest: bool,
) -> int:
    """Run one pass of the perceptron over a block of samples [Rosenblatt 1958], in place.

    If `step * value <= 0` for a sample, its step is added to its coefficient. If there are more
    than `budget` coefficients (-1: no limit), the oldest is dropped or, with `smallest`, the one
    with the smallest `|coef_j| sqrt(k_jj)`, for which `born` has `sqrt(k_jj)` instead of the time.

    Parameters
    ----------
    K : ndarray of shape (n_block, n_columns)
        Kernel values with the support, and with the block itself in the last n_block columns.
    values : ndarray of shape (n_block,)
        Values of the function before the pass.
    function : Expanded
        Coefficients of the columns.
    steps : ndarray of shape (n_block,)
        Classes, -1 and 1, times the weights of the samples; 0 leaves a sample out.
    time : int
        Number of samples seen before.
    budget : int
        Maximum number of coefficients, or -1.
    smallest : bool
        Whether the smallest coefficient is dropped instead of the oldest.

    Returns
    -------
    n_updates : int
        Number of mistakes.
    """
    _check_block(K, function, steps=steps, values=values)
    return int(_perceptron(K, values, function, steps, time, budget, smallest))


@jit
def _perceptron(K, values, function, steps, time, budget, smallest):
    n, m = K.shape
    coef = function.coef
    count = 0
    n_support = 0
    for j in range(m):
        n_support += 1 if coef[j] != 0.0 else 0

    for i in range(n):
        # 1. Skip the sample unless it is misclassified
        if steps[i] * values[i] > 0.0 or steps[i] == 0.0:
            continue
        count += 1

        # 2. Update the function, and its values at the samples that follow
        now = time + i
        column = m - n + i
        if not smallest:
            function.born[column] = now
        else:
            function.born[column] = np.sqrt(max(K[i, column], 0.0))
        coef[column] += steps[i]
        function.late[column] += steps[i] * now
        n_support += 1
        for q in range(i, n):
            values[q] += steps[i] * K[q, column]

        # 3. Drop the oldest coefficient, or the smallest one, if the budget is exceeded
        if n_support > budget >= 0:
            worst = -1
            least = np.inf
            for j in range(m):
                size = abs(coef[j]) * function.born[j] if smallest else function.born[j]
                # choose the first of all coefficients that are equally large up to rounding errors
                if coef[j] != 0.0 and (
                    worst < 0 or size < least * (1.0 - ACCUMULATED_ROUNDING)
                ):
                    worst = j
                    least = size
            for q in range(i, n):
                values[q] -= coef[worst] * K[q, worst]
            coef[worst] = function.late[worst] = 0.0
            n_support -= 1
    return count


def projectron_block(
    K: Array, own: Array, function: Expanded, steps: Array, budget: int
) -> int:
    """Run one pass with a bounded support [Orabona, Keshet and Caputo 2009], in place.

    On a mistake, the projection of the sample on the span of the support, `K_SS^-1 k_S`, is added
    to the coefficients if the budget is spent or if the squared distance of the sample from the
    span, `k(x, x) - k_S' K_SS^-1 k_S`, is at most `NEARLY_INSIDE` times `k(x, x)`. Otherwise the
    sample joins the support.

    Parameters
    ----------
    K : ndarray of shape (n_block, n_columns)
        As in `perceptron_block`.
    own : ndarray of shape (n_old, n_old)
        Kernel values of the support so far.
    function : Expanded
        Coefficients; `late` holds 1 for a member of the support, whose coefficient may be 0.
    steps : ndarray of shape (n_block,)
        As in `perceptron_block`.
    budget : int
        Maximum number of samples in the support.

    Returns
    -------
    n_updates : int
        Number of mistakes.
    """
    _check_block(K, function, steps=steps)
    n, m = K.shape
    old = m - n
    coef = function.coef
    count = 0
    S = np.flatnonzero(function.late)
    R = np.zeros((0, 0))
    factored = len(S) == 0

    for i in range(n):
        # skip samples that are classified correctly, because they change nothing
        if steps[i] * float(K[i, S] @ coef[S]) > 0.0 or steps[i] == 0.0:
            continue
        count += 1

        if not factored:
            R = _upper_factor(own[np.ix_(S, S)])
            factored = True

        # compute the distance from the span of the support
        half = linalg.solve_triangular(R, K[i, S], trans="T", check_finite=False)
        norm_sq = float(K[i, old + i])
        residual_sq = norm_sq - float(half @ half)

        # project the sample if it is near the span or the support is full
        if len(S) == budget or residual_sq <= NEARLY_INSIDE * max(norm_sq, 0.0):
            coef[S] += steps[i] * linalg.solve_triangular(R, half, check_finite=False)
            continue

        # otherwise add the sample to the support, and extend the factor
        coef[old + i] = steps[i]
        function.late[old + i] = 1.0
        S = np.append(S, old + i)
        R = np.block([[R, half[:, None]], [np.zeros(len(half)), np.sqrt(residual_sq)]])
    return count


def _check_block(K: Array, function: Expanded, **sample_arrays: Array) -> None:
    """Check that a function has an entry for each column, and other arrays one for each row."""
    check_lengths(K.shape[1], **function._asdict())
    check_lengths(len(K), **sample_arrays)


def _upper_factor(K: Array) -> Array:
    """Return the Cholesky factor `R'R = K`, adding a ridge if rounding errors require one."""
    try:
        return np.asarray(linalg.cholesky(K, check_finite=False))
    except linalg.LinAlgError:  # this is possible if kernel values are in single precision
        lowest = float(linalg.eigvalsh(K, subset_by_index=[0, 0])[0])
        ridge = 2.0 * abs(lowest) + ROUNDING * float(np.trace(K))
        return np.asarray(linalg.cholesky(K + ridge * np.eye(len(K)), check_finite=False))
