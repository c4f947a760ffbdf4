"""Thresholds for novelty detectors."""

from collections.abc import Iterator

import numpy as np

from skmoderndata._solvers.common.quantities import N_FOLDS
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_ROUNDING
from skmoderndata._solvers.common.typing import Array

# Number of held-out samples that is large enough: the error of an outlier rate of 10 % is then 1.3
# percentage points.
HELD_OUT_SAMPLES = 500
# Approximate number of rows in the largest fold that is held out of a table read in passes.
LARGEST_FOLD = 25_000


def outlier_threshold(scores: Array, weights: Array, contamination: float) -> float:
    """Return the largest threshold with no more than this fraction of the weights below it.

    It is halfway between two scores, or just below the lowest score, so that rounding cannot move
    a score across it.

    >>> outlier_threshold(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.25)
    1.5
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    below = np.cumsum(weights[order])
    allowed = contamination * below[-1] * (1 + ACCUMULATED_ROUNDING)
    j = int(np.searchsorted(below, allowed, side="right"))

    rounding = RESULT_ROUNDING * float(np.abs(ordered).max())
    while 0 < j < len(ordered) and ordered[j] - ordered[j - 1] <= rounding:
        j -= 1  # keep all tied scores above the threshold
    if j == 0:
        return float(ordered[0]) - rounding
    above = ordered[min(j, len(ordered) - 1)]
    return float((ordered[j - 1] + above) / 2)


def folds(values: Array, key: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the positions of the training samples and of the held-out samples of each fold.

    Samples with equal rows in `values` (kernel values or coordinates) are copies of one another
    and are held out together. Distinct samples are dealt to the folds in the order of `key`, so
    neither copies nor the order of the samples matter. The folds stop once `HELD_OUT_SAMPLES`
    samples have been held out; there are none if there are fewer than two samples.
    """
    n, m = values.shape

    # multiply by a generic vector: the products are equal for copies, and different for distinct
    # rows
    vector = np.random.RandomState(0).random_sample(m)
    generic = values @ vector
    order = np.argsort(generic, kind="stable")
    largest = float(np.abs(values).max(initial=0.0))
    rounding = ACCUMULATED_ROUNDING * largest * m
    differs = np.diff(generic[order]) > rounding
    copies = np.empty(n, dtype=np.intp)
    copies[order] = np.cumsum(np.r_[False, differs])

    # deal the distinct samples to the folds in the order of `key`
    _, first = np.unique(copies, return_index=True)
    turn = np.empty(len(first), dtype=np.intp)
    by_key = np.argsort(key[first], kind="stable")
    turn[by_key] = np.arange(len(first))
    fold = turn[copies] % N_FOLDS

    # yield only as many folds as are needed to hold out enough samples
    enough = -(-HELD_OUT_SAMPLES * N_FOLDS // len(first))
    yielded = min(N_FOLDS, len(first), enough)
    for f in range(yielded if len(first) > 1 else 0):
        yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def centre_of_mass_slack(n: float, radius: float, delta: float) -> float:
    """Bound twice the distance between mean and expectation, with probability `1 - delta`.

    See Shawe-Taylor 2004, Theorem 5.5 and Algorithm 5.4; the samples lie in a ball of this radius.
    """
    confidence = np.sqrt(2) + np.sqrt(np.log(1 / delta))
    deviation = np.sqrt(2 * radius**2 / n)
    return float(2 * deviation * confidence)
