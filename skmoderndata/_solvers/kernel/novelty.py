"""Thresholds of novelty detectors."""

from collections.abc import Iterator

import numpy as np

from skmoderndata._solvers.common.typing import Array

# held-out samples: the rate of outliers is known to 1.3 points where it is a tenth
HELD_OUT_SAMPLES = 500
N_FOLDS = 5


def outlier_threshold(scores: Array, weights: Array, contamination: float) -> float:
    """Value below which lies the given fraction of the weights, at most.

    It lies halfway between two scores, or just below the lowest, so that rounding decides about
    none of them.

    >>> outlier_threshold(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.25)
    1.5
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    below = np.cumsum(weights[order])
    wanted = contamination * below[-1] * (1 + 1e-12)
    j = int(np.searchsorted(below, wanted, side="right"))

    rounding = 1e-9 * float(np.abs(ordered).max())
    while 0 < j < len(ordered) and ordered[j] - ordered[j - 1] <= rounding:
        j -= 1  # ties are all kept
    if j == 0:
        return float(ordered[0]) - rounding
    above = ordered[min(j, len(ordered) - 1)]
    return float((ordered[j - 1] + above) / 2)


def folds(values: Array, key: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the samples that a fold is fitted to, and those held out, as positions.

    Samples with equal rows in `values`, kernel values or coordinates, are copies of one another,
    and are held out together. Distinct samples go to the folds in turn, in the order of `key`, so
    that neither copies nor the order of the samples matter. No more folds are yielded than hold
    out `HELD_OUT_SAMPLES` samples, and none where there are fewer than two samples.
    """
    n, m = values.shape

    # copies have equal products with a vector that tells rows apart
    vector = 1.5 + np.cos(np.arange(m) ** 2 % 7919)
    generic = values @ vector
    order = np.argsort(generic, kind="stable")
    largest = float(np.abs(values).max(initial=0.0))
    rounding = 1e-12 * largest * m
    differs = np.diff(generic[order]) > rounding
    copies = np.empty(n, dtype=np.intp)
    copies[order] = np.cumsum(np.r_[False, differs])

    # distinct samples in turn, in the order of the key
    _, first = np.unique(copies, return_index=True)
    turn = np.empty(len(first), dtype=np.intp)
    by_key = np.argsort(key[first], kind="stable")
    turn[by_key] = np.arange(len(first))
    fold = turn[copies] % N_FOLDS

    # as many folds as hold out enough samples
    enough = -(-HELD_OUT_SAMPLES * N_FOLDS // len(first))
    yielded = min(N_FOLDS, len(first), enough)
    for f in range(yielded if len(first) > 1 else 0):
        yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def centre_of_mass_slack(n: float, radius: float, delta: float) -> float:
    """Twice the distance of mean and expectation, at most, with probability `1 - delta`.

    [Shawe-Taylor 2004, Theorem 5.5 and Algorithm 5.4], for samples in a ball of this radius.
    """
    confidence = np.sqrt(2) + np.sqrt(np.log(1 / delta))
    deviation = np.sqrt(2 * radius**2 / n)
    return float(2 * deviation * confidence)
