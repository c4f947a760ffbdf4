"""Number of delayed values that describe a state: false neighbours and growth of distances.

A window of d values is ``[x(t), x(t + lag), ..., x(t + (d - 1) lag)]``. If d is too small, distant
states can look like neighbours, and the next value separates them.

Differs from the papers: series may have several features, sequences and missing values; Cao's
method counts equal windows as one.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from skmoderndata._solvers.common.typing import Array

# Minimum number of windows from which conclusions about neighbours are drawn.
MIN_WINDOWS = 10
# Largest fraction of false neighbours in a dimension that counts as sufficient.
FALSE_TOL = 0.01
# Largest amount by which E1 is below 1 in a sufficient dimension, and largest distance of E2 from
# 1 in noise.
GROWTH_TOL = 0.1


def standardized(X: Array) -> Array:
    """Centre the features that vary and scale them to largest magnitude one; NaN is kept."""
    finite = ~np.isnan(X)
    low = np.min(X, axis=0, initial=np.inf, where=finite)
    high = np.max(X, axis=0, initial=-np.inf, where=finite)
    X = X[:, low < high].astype(np.float64)
    X -= np.nanmean(X, axis=0) if X.size else 0.0
    X /= np.nanmax(np.abs(X), axis=0, initial=0.0)
    return X


class Windows(NamedTuple):
    """Windows of d values, with the values that follow them.

    Attributes
    ----------
    now : ndarray of shape (n_windows, d * n_features)
        Values of the windows.
    following : ndarray of shape (n_windows, n_features)
        Next value, lag rows after the end of each window.
    """

    now: Array
    following: Array


def windows_of(X: Array, start: Array, lag: int, d: int) -> Windows:
    """Return the windows that lie in one sequence together with their next value, without NaN.

    ``start[t]`` is the first row of the sequence that contains row t.
    """
    # select first rows whose window and next row are in the same sequence
    n, p = X.shape
    first = np.arange(max(n - d * lag, 0))
    first = first[start[first] == start[first + d * lag]]

    # put the rows of each window and the next row side by side
    rows = first[:, None] + lag * np.arange(d + 1)
    long = X[rows].reshape(len(first), (d + 1) * p)
    long = long[~np.isnan(long).any(axis=1)]
    return Windows(long[:, : d * p], long[:, d * p :])


def largest_dimension(X: Array, start: Array, lag: int, limit: int) -> int:
    """Return the largest d up to `limit` with at least `MIN_WINDOWS` windows."""
    for d in range(limit, 0, -1):
        if len(windows_of(X, start, lag, d).now) >= MIN_WINDOWS:
            return d
    return 0


def false_neighbors(
    X: Array,
    start: Array,
    *,
    lag: int,
    max_dim: int,
    ratio_tol: float = 15.0,
    size_tol: float = 2.0,
) -> Array:
    """Return the fractions of false nearest neighbours for d = 1, ..., max_dim.

    Let r be the distance of a window from its nearest neighbour, s the distance of their next
    values, and R the spread of the series. The neighbour is false if ``s > ratio_tol * r``
    [Kennel, Brown and Abarbanel 1992, eq. 4] or ``sqrt(r^2 + s^2) > size_tol * R`` [eq. 5].

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Series with features of equal scale; windows with NaN are skipped.
    start : ndarray of int of shape (n_samples,)
        First row of the sequence of each row.
    lag : int
        Number of rows between neighbouring values of a window.
    max_dim : int
        Largest d.
    ratio_tol, size_tol : float
        Tolerances of the two criteria.
    """
    spread = np.sqrt(np.nanvar(X, axis=0).sum())
    fractions = np.empty(max_dim)
    for d in range(1, max_dim + 1):
        # find the nearest windows, and the distances of their next values
        windows = windows_of(X, start, lag, d)
        near, numbers = _two_nearest(windows.now, 2)
        neighbor = _other_than_self(numbers)
        r = near[:, 1]
        s = np.linalg.norm(windows.following - windows.following[neighbor], axis=1)
        # apply equations 4 and 5 of Kennel, Brown and Abarbanel [1992]
        false = (s > ratio_tol * r) | (np.hypot(r, s) > size_tol * spread)
        fractions[d - 1] = false.mean()
    return fractions


def _two_nearest(points: Array, p: float) -> tuple[Array, Array]:
    """Return distances and numbers of the two points nearest to each point, including itself."""
    near, numbers = KDTree(points).query(points, k=2, p=p)
    return np.asarray(near), np.asarray(numbers)


def _other_than_self(nearest: Array) -> Array:
    """Return the nearest point that is not the point itself; equal points may be swapped."""
    itself = np.arange(len(nearest))
    return np.where(nearest[:, 1] == itself, nearest[:, 0], nearest[:, 1])


def distance_growth(X: Array, start: Array, *, lag: int, max_dim: int) -> tuple[Array, Array]:
    """Return Cao's E1 and E2 for d = 1, ..., max_dim - 1.

    Distances are largest differences. For each window of d values, take the nearest window at a
    distance above 0. E(d) is the mean ratio of their distance with d + 1 values to their distance
    with d values, and E*(d) is the mean distance of their next values. Then ``E1(d) = E(d + 1) /
    E(d)`` and ``E2(d) = E*(d + 1) / E*(d)`` [Cao 1997, eq. 1 to 5]. The values are NaN if no two
    windows differ.

    Parameters
    ----------
    X, start, lag, max_dim
        The same as in `false_neighbors`.
    """
    growth = np.full(max_dim, np.nan)
    following = np.full(max_dim, np.nan)
    for d in range(1, max_dim + 1):
        windows = windows_of(X, start, lag, d)

        # merge equal windows, so that the distance to the nearest other window is above 0
        distinct, first, number = np.unique(
            windows.now, axis=0, return_index=True, return_inverse=True
        )
        if len(distinct) < 2:
            break
        near, numbers = _two_nearest(distinct, np.inf)
        r = near[number.ravel(), 1]
        neighbor = first[numbers[number.ravel(), 1]]

        # compute the largest difference of the values that extend the windows to d + 1 values
        s = np.abs(windows.following - windows.following[neighbor]).max(axis=1)
        growth[d - 1] = np.mean(np.maximum(r, s) / r)
        following[d - 1] = s.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        return growth[1:] / growth[:-1], following[1:] / following[:-1]


def first_without_false(fractions: Array, tol: float) -> int | None:
    """Return the first d whose fraction of false neighbours is at most `tol`."""
    enough = np.flatnonzero(fractions <= tol)
    return int(enough[0]) + 1 if enough.size else None


def first_at_rest(e1: Array, tol: float) -> int | None:
    """Return the first d at which distances stop growing, ``E1 >= 1 - tol``."""
    enough = np.flatnonzero(e1 >= 1 - tol)
    return int(enough[0]) + 1 if enough.size else None


def is_like_noise(e2: Array, tol: float) -> bool:
    """Return whether the past does not predict the next value: E2 is 1 for every d [Cao 1997]."""
    return bool((np.abs(e2 - 1) < tol).all())
