"""How many delayed values describe a state: false neighbours, and the growth of distances.

A window of d values is ``[x(t), x(t + lag), ..., x(t + (d - 1) lag)]``. Where d is too small,
points far from each other are neighbours by projection, and the next value takes them apart.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from skmoderndata._solvers.common.typing import Array

MIN_WINDOWS = 10  # fewer say nothing about neighbours
FALSE_TOL = 0.01  # largest fraction of false neighbours in a dimension that suffices
GROWTH_TOL = 0.1  # distance of E1 from 1 in a dimension that suffices, and of E2 for noise


def standardized(X: Array) -> Array:
    """Features that vary, in float64, centred and scaled to largest magnitude one; NaN stays."""
    finite = ~np.isnan(X)
    low = np.min(X, axis=0, initial=np.inf, where=finite)
    high = np.max(X, axis=0, initial=-np.inf, where=finite)
    X = X[:, low < high].astype(np.float64)
    X -= np.nanmean(X, axis=0) if X.size else 0.0
    X /= np.nanmax(np.abs(X), axis=0, initial=0.0)
    return X


class Windows(NamedTuple):
    """Windows of d values and what follows them.

    Attributes
    ----------
    now : ndarray of shape (n_windows, d * n_features)
        The windows.
    following : ndarray of shape (n_windows, n_features)
        The value that comes next, lag rows after the end of each.
    """

    now: Array
    following: Array


def windows_of(X: Array, start: Array, lag: int, d: int) -> Windows:
    """Return the windows that lie in one sequence together with their next value, without NaN.

    ``start[t]`` is the first row of the sequence of row t.
    """
    # first rows whose window and next row are in one sequence
    n, p = X.shape
    first = np.arange(max(n - d * lag, 0))
    first = first[start[first] == start[first + d * lag]]

    # (n_windows, d + 1) rows side by side
    rows = first[:, None] + lag * np.arange(d + 1)
    long = X[rows].reshape(len(first), (d + 1) * p)
    long = long[~np.isnan(long).any(axis=1)]
    return Windows(long[:, : d * p], long[:, d * p :])


def largest_dimension(X: Array, start: Array, lag: int, limit: int) -> int:
    """Return the largest d up to `limit` for which `MIN_WINDOWS` windows have a next value."""
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

    With r the distance of a window from its nearest one, and s the distance of their next values,
    the neighbour is false if ``s > ratio_tol * r`` [Kennel, Brown and Abarbanel 1992, eq. 4], or
    ``sqrt(r^2 + s^2) > size_tol * R`` with R the spread of the series [eq. 5].

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Series, features of equal scale; NaN leaves out windows.
    start : ndarray of int of shape (n_samples,)
        First row of the sequence of each row.
    lag : int
        Rows between neighbouring values of a window.
    max_dim : int
        Largest d.
    ratio_tol, size_tol : float
        See above.
    """
    spread = np.sqrt(np.nanvar(X, axis=0).sum())
    fractions = np.empty(max_dim)
    for d in range(1, max_dim + 1):
        # nearest windows, and how far the next values take them apart
        windows = windows_of(X, start, lag, d)
        near, other = _two_nearest(windows.now, 2)
        neighbor = _other_than_self(other)
        r = near[:, 1]
        s = np.linalg.norm(windows.following - windows.following[neighbor], axis=1)
        # eq. 4, or eq. 5
        false = (s > ratio_tol * r) | (np.hypot(r, s) > size_tol * spread)
        fractions[d - 1] = false.mean()
    return fractions


def _two_nearest(points: Array, p: float) -> tuple[Array, Array]:
    """Return distances and numbers of the two points nearest to each, itself included."""
    near, other = KDTree(points).query(points, k=2, p=p)
    return np.asarray(near), np.asarray(other)


def _other_than_self(two: Array) -> Array:
    """Return the second of two nearest points, or the first where equal points changed places."""
    itself = np.arange(len(two))
    return np.where(two[:, 1] == itself, two[:, 0], two[:, 1])


def distance_growth(X: Array, start: Array, *, lag: int, max_dim: int) -> tuple[Array, Array]:
    """Return Cao's E1 and E2 for d = 1, ..., max_dim - 1.

    E(d) is the mean ratio of the distances, in the largest difference, of windows of d + 1 and of
    d values from their nearest one in d values at a distance above 0, and E*(d) the mean distance
    of their next values; ``E1(d) = E(d + 1) / E(d)``, E2 alike [Cao 1997, eq. 1 to 5]. NaN where
    no two windows differ.

    Parameters
    ----------
    X, start, lag, max_dim
        As of `false_neighbors`.
    """
    growth = np.full(max_dim, np.nan)
    following = np.full(max_dim, np.nan)
    for d in range(1, max_dim + 1):
        windows = windows_of(X, start, lag, d)

        # equal windows count as one, so that the nearest other one is at a distance above 0
        distinct, first, number = np.unique(
            windows.now, axis=0, return_index=True, return_inverse=True
        )
        if len(distinct) < 2:
            break
        near, other = _two_nearest(distinct, np.inf)
        r = near[number.ravel(), 1]
        neighbor = first[other[number.ravel(), 1]]

        # the largest difference with one more value
        s = np.abs(windows.following - windows.following[neighbor]).max(axis=1)
        growth[d - 1] = np.mean(np.maximum(r, s) / r)
        following[d - 1] = s.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        return growth[1:] / growth[:-1], following[1:] / following[:-1]


def first_without_false(fractions: Array, tol: float) -> int | None:
    """Return the first d with at most the fraction `tol` of false neighbours."""
    enough = np.flatnonzero(fractions <= tol)
    return int(enough[0]) + 1 if enough.size else None


def first_at_rest(e1: Array, tol: float) -> int | None:
    """Return the first d from which on distances cease to grow, ``E1 >= 1 - tol``."""
    enough = np.flatnonzero(e1 >= 1 - tol)
    return int(enough[0]) + 1 if enough.size else None


def is_like_noise(e2: Array, tol: float) -> bool:
    """Whether the past says nothing about the next value: E2 is 1 for every d [Cao 1997]."""
    return bool((np.abs(e2 - 1) < tol).all())
