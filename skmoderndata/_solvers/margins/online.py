"""Machines that look at one sample after the other and change their function on mistakes."""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit

Array = np.ndarray[Any, np.dtype[Any]]


class Expanded(NamedTuple):
    """A function `sum_j coef_j k(x, z_j)` that changes, and its mean over time."""

    coef: Array  # of each column of the kernel matrix at hand
    late: Array  # sum of the changes of coef, times when they happened
    born: Array  # when a column got its first coefficient, -1 for never


@jit
def prank_block(K, function, thresholds, late, ranks, time, budget):
    """One pass of PRank over a block of samples [Crammer and Singer 2001], in place.

    A sample of rank y whose value is in the range of rank q changes its coefficient by `y - q`,
    and the thresholds between the two ranks move towards it by one. With more than `budget`
    coefficients (-1: no limit) the oldest goes.

    Parameters
    ----------
    K : ndarray of shape (n_block, n_columns)
        Kernel values with the support, and in the last n_block columns with the block itself.
    function : Expanded
        Coefficients of the columns.
    thresholds, late : ndarray of shape (n_ranks - 1,)
        Thresholds, and the sum of their changes times the time.
    ranks : ndarray of int of shape (n_block,)
        Ranks from 0.
    time : int
        Samples seen before.
    budget : int
        Coefficients at most, or -1.

    Returns
    -------
    n_updates : int
        Samples that were ranked wrongly.
    """
    n, m = K.shape
    coef, count = function.coef, 0
    values = np.zeros(n)
    kept = 0
    for j in range(m):
        if coef[j] != 0.0:
            kept += 1
            for i in range(n):
                values[i] += coef[j] * K[i, j]
    for i in range(n):
        guess = 0
        for b in thresholds:
            guess += 1 if values[i] >= b else 0
        change = ranks[i] - guess
        if change == 0:
            continue
        count += 1
        now = time + i
        column = m - n + i
        function.born[column] = now
        coef[column] += change
        function.late[column] += change * now
        kept += 1
        for q in range(i, n):
            values[q] += change * K[q, column]
        low, high, move = (guess, ranks[i], -1.0) if change > 0 else (ranks[i], guess, 1.0)
        for y in range(low, high):
            thresholds[y] += move
            late[y] += move * now
        if kept > budget >= 0:
            oldest = -1
            for j in range(m):
                if coef[j] != 0.0 and (oldest < 0 or function.born[j] < function.born[oldest]):
                    oldest = j
            for q in range(i, n):
                values[q] -= coef[oldest] * K[q, oldest]
            coef[oldest] = function.late[oldest] = 0.0
            kept -= 1
    return count
