"""Thresholds of novelty detectors."""

from collections.abc import Iterator

import numpy as np

from skmoderndata._typing import Array

# held-out samples: the rate of outliers is known to 1.3 points where it is a tenth
HELD_OUT_SAMPLES = 500


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
    j = int(np.searchsorted(below, contamination * below[-1] * (1 + 1e-12), side="right"))
    rounding = 1e-9 * float(np.abs(ordered).max())
    while 0 < j < len(ordered) and ordered[j] - ordered[j - 1] <= rounding:
        j -= 1  # ties are all kept
    if j == 0:
        return float(ordered[0]) - rounding
    return float((ordered[j - 1] + ordered[min(j, len(ordered) - 1)]) / 2)


def folds(values: Array, key: Array, n_folds: int = 5) -> Iterator[tuple[Array, Array]]:
    """Yield the samples that a fold is fitted to, and those held out, as positions.

    Samples with equal rows in `values`, kernel values or coordinates, are copies of one another,
    and are held out together. Distinct samples go to the folds in turn, in the order of `key`, so
    that neither copies nor the order of the samples matter. No more folds are yielded than hold
    out `HELD_OUT_SAMPLES` samples, and none where there are fewer than two samples.
    """
    n, m = values.shape

    # copies have equal products with a vector that tells rows apart
    generic = values @ (1.5 + np.cos(np.arange(m) ** 2 % 7919))  # tells rows that differ
    order = np.argsort(generic, kind="stable")
    rounding = 1e-12 * float(np.abs(values).max(initial=0.0)) * m
    copies = np.empty(n, dtype=np.intp)
    copies[order] = np.cumsum(np.r_[False, np.diff(generic[order]) > rounding])

    # distinct samples in turn, in the order of the key
    _, first = np.unique(copies, return_index=True)
    turn = np.empty(len(first), dtype=np.intp)
    turn[np.argsort(key[first], kind="stable")] = np.arange(len(first))
    fold = turn[copies] % n_folds

    enough = min(n_folds, len(first), -(-HELD_OUT_SAMPLES * n_folds // len(first)))
    for f in range(enough if len(first) > 1 else 0):
        yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def centre_of_mass_slack(n: float, radius: float, delta: float) -> float:
    """Twice the distance of mean and expectation, at most, with probability `1 - delta`.

    [Shawe-Taylor 2004, Theorem 5.5 and Algorithm 5.4], for samples in a ball of this radius.
    """
    return float(2 * np.sqrt(2 * radius**2 / n) * (np.sqrt(2) + np.sqrt(np.log(1 / delta))))
