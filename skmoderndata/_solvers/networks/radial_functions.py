"""Functions of the distance from centres, and the widths of these functions."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from skmoderndata._solvers.common.arrays import namespace

Array = Any


def distances_sq(X: Array, centers: Array, *, exact: bool) -> Array:
    """Return the squared distances of rows from centres.

    Uses a matrix product about the mean of the centres. With `exact`, adds up squared differences
    input by input, so that small distances keep all their digits: functions with a kink at 0 need
    this.
    """
    xp = namespace(X)
    if exact:
        shape = X.shape[0], centers.shape[0]
        out = xp.zeros(shape, dtype=X.dtype, device=X.device)
        for j in range(X.shape[1]):
            difference = X[:, j][:, None] - centers[:, j][None, :]
            out = out + difference**2
        return out

    # compute |x|^2 + |c|^2 - 2 x'c
    shift = xp.mean(centers, axis=0)
    X = X - shift
    C = centers - shift
    x2 = xp.sum(X * X, axis=1)
    c2 = xp.sum(C * C, axis=1)
    out = x2[:, None] + c2[None, :] - 2 * (X @ C.T)
    return (out + xp.abs(out)) / 2  # rounding errors may make the distance negative


def _logarithmic(d: Array, s: Array, power: float, theta: float) -> Array:
    xp = namespace(d)
    safe = xp.where(d > 0, d, xp.ones_like(d))
    # r^2 ln r; at r = 0 the limit is 0, so use r = 1, because 1 ln 1 = 0
    return safe * xp.log(safe) / 2


def _logistic(d: Array, s: Array, power: float, theta: float) -> Array:
    xp = namespace(d)
    z = xp.sqrt(d) / s**2 - theta
    return (1 - xp.tanh(z / 2)) / 2  # this form cannot overflow


# Basis functions of the squared distances d and the widths s.
BASES = {
    "gaussian": lambda d, s, power, theta: namespace(d).exp(-d / (2 * s**2)),
    "inverse_multiquadric": lambda d, s, power, theta: (s**2 + d) ** -power,
    "multiquadric": lambda d, s, power, theta: (s**2 + d) ** power,
    "linear": lambda d, s, power, theta: namespace(d).sqrt(d),
    "thin_plate_spline": _logarithmic,
    "logistic": _logistic,
}
KINKED = ("linear", "thin_plate_spline", "logistic")


def nearest_widths(centers: np.ndarray[Any, Any], n_nearest: int) -> np.ndarray[Any, Any]:
    """Return the mean distance of each centre from its nearest neighbours.

    No width is less than the smallest positive distance of two centres.
    """
    k = len(centers)
    D = cdist(centers, centers)
    positive = D[D > 0]
    floor = positive.min() if positive.size else 1.0
    if k == 1:
        return np.ones(1)
    n_others = min(n_nearest, k - 1)
    near = np.sort(D, axis=1)[:, 1 : 1 + n_others]
    return np.maximum(near.mean(axis=1), floor)
