"""Thresholds of novelty detectors."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def outlier_threshold(scores: Array, weights: Array, contamination: float) -> float:
    """Value below which lies the given share of the weights, at most.

    It lies halfway between two scores, so that rounding does not decide about training samples.

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
        return float(ordered[0])
    return float((ordered[j - 1] + ordered[min(j, len(ordered) - 1)]) / 2)


def centre_of_mass_slack(n: float, radius: float, delta: float) -> float:
    """Twice the distance of mean and expectation, at most, with probability `1 - delta`.

    [Shawe-Taylor 2004, Theorem 5.5 and Algorithm 5.4], for samples in a ball of this radius.
    """
    return float(2 * np.sqrt(2 * radius**2 / n) * (np.sqrt(2) + np.sqrt(np.log(1 / delta))))
