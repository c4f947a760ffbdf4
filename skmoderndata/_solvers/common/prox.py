"""Proximal operators of entrywise penalties."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def prox_l1(X: Array, threshold: float) -> Array:
    """Soft thresholding, the proximal operator of ``threshold * |X|_1``.

    >>> prox_l1(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    # X - clip(X) keeps NaN, gives exact zeros and rounds once
    out: Array = X - np.clip(X, -threshold, threshold)
    return out


def prox_nuclear(X: Array, threshold: float) -> Array:
    """Singular value thresholding by a full decomposition, for small matrices and references.

    >>> prox_nuclear(np.diag([3.0, 0.5]), 1.0)
    array([[2., 0.],
           [0., 0.]])
    """
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    out: Array = (U * np.maximum(s - threshold, 0)) @ Vt + 0.0
    return out


def huber(X: Array, slope: float, width: float) -> Array:
    """Huber loss: ``X**2 / (2 * width)`` near zero, with slope `slope` in the tails.

    It is the Moreau envelope ``min_S slope * |S| + (X - S)**2 / (2 * width)``; `width=0` gives
    ``slope * |X|``.
    """
    size = np.abs(X)
    inner = np.minimum(size, slope * width)
    out: Array = slope * (size - inner)
    if width > 0:
        out = out + inner**2 / (2 * width)
    return out
