"""Machines that look at one sample after the other and change their function on mistakes."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

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


@jit
def perceptron_block(K, values, function, signs, time, budget, smallest):
    """One pass of the perceptron over a block of samples [Rosenblatt 1958], in place.

    A sample with `sign * value <= 0` adds its sign to its coefficient. With more than `budget`
    coefficients (-1: no limit) the oldest goes, or with `smallest` the one of smallest
    `|coef_j| sqrt(k_jj)`, for which `born` has `sqrt(k_jj)` in place of the time.

    Parameters
    ----------
    K : ndarray of shape (n_block, n_columns)
        Kernel values with the support, and in the last n_block columns with the block itself.
    values : ndarray of shape (n_block,)
        Values of the function before the pass.
    function : Expanded
        Coefficients of the columns.
    signs : ndarray of shape (n_block,)
        Classes, -1 and 1.
    time : int
        Samples seen before.
    budget : int
        Coefficients at most, or -1.
    smallest : bool
        Which coefficient goes.

    Returns
    -------
    n_updates : int
        Mistakes.
    """
    n, m = K.shape
    coef, count, kept = function.coef, 0, 0
    for j in range(m):
        kept += 1 if coef[j] != 0.0 else 0
    for i in range(n):
        if signs[i] * values[i] > 0.0:
            continue
        count += 1
        now, column = time + i, m - n + i
        if not smallest:
            function.born[column] = now
        else:
            function.born[column] = np.sqrt(max(K[i, column], 0.0))
        coef[column] += signs[i]
        function.late[column] += signs[i] * now
        kept += 1
        for q in range(i, n):
            values[q] += signs[i] * K[q, column]
        if kept > budget >= 0:
            worst, least = -1, np.inf
            for j in range(m):
                size = abs(coef[j]) * function.born[j] if smallest else function.born[j]
                # of equal ones, rounding aside, the first
                if coef[j] != 0.0 and (worst < 0 or size < least * (1.0 - 1e-12)):
                    worst, least = j, size
            for q in range(i, n):
                values[q] -= coef[worst] * K[q, worst]
            coef[worst] = function.late[worst] = 0.0
            kept -= 1
    return count


def projectron_block(K: Array, own: Array, function: Expanded, signs: Array, budget: int) -> int:
    """One pass over a block with a bounded support [Orabona, Keshet and Caputo 2009], in place.

    The first `budget` mistakes give support, as in the perceptron. From then on a mistake adds
    the projection of its sample on the span of the support, `K_SS^-1 k_S`, to the coefficients.

    Parameters
    ----------
    K : ndarray of shape (n_block, n_columns)
        As in `perceptron_block`.
    own : ndarray of shape (n_old, n_old)
        Kernel values of the support so far.
    function : Expanded
        Coefficients; `late` holds 1 for a member of the support, whose coefficient may be 0.
    signs : ndarray of shape (n_block,)
        Classes, -1 and 1.
    budget : int
        Samples of the support at most.

    Returns
    -------
    n_updates : int
        Mistakes.
    """
    n, m = K.shape
    old, coef, count = m - n, function.coef, 0
    inverse, factored = np.zeros((0, 0)), False
    for i in range(n):
        S = np.flatnonzero(function.late)
        if signs[i] * float(K[i, S] @ coef[S]) > 0.0:
            continue
        count += 1
        if len(S) < budget:
            coef[old + i], function.late[old + i] = signs[i], 1.0
            continue
        if not factored:
            whole = np.block([[own, K[:, :old].T], [K[:, :old], K[:, old:]]])
            inverse, factored = linalg.pinvh(whole[np.ix_(S, S)]), True
        coef[S] += signs[i] * (inverse @ K[i, S])
    return count
