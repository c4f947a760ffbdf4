"""Euclidean projections onto sets of vectors with a fixed sparseness.

Differs from the papers (Hoyer 2004; Thom and Palm 2013): passes that drop entries find the support
without sorting.
"""

import numpy as np

from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array

# Number of entries summed at a time, so that rounding errors do not grow with the length.
SUMMED_AT_ONCE = 256


def project_sparseness(
    X: Array, level: float, *, norm: Array | float | None = None, signed: bool = False
) -> Array:
    """Return the nearest rows with exactly the given sparseness, in float64.

    Each row solves ``min |s - x|_2`` over ``s`` with sparseness `level`, and ``s >= 0`` unless
    `signed`, which keeps the signs. Passes that drop entries find the support, on which the
    solution has a closed form [Thom & Palm 2013, Hoyer 2004]. `norm` is the Euclidean norm of the
    solution. None leaves it free: the projection onto a cone, in which rows at an obtuse angle to
    the entire cone become zero. If the nearest point is not unique (equal largest entries), the
    first of these entries is favoured.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    n = X.shape[1]
    ratio = np.sqrt(n) - level * (np.sqrt(n) - 1)  # ratio of the l1 norm to the l2 norm
    lengths = np.ones(len(X)) if norm is None else np.broadcast_to(norm, len(X))

    out = np.empty_like(X)
    source = np.abs(X) if signed else X
    size = np.maximum(source.max(axis=1, keepdims=True), -source.min(axis=1, keepdims=True))
    if size.size and not (size.min() > 1e-100 and size.max() < 1e100):
        source = source / np.where(size > 0, size, 1.0)  # avoid overflow and underflow
    _project_rows(source, float(ratio), np.ascontiguousarray(lengths, dtype=np.float64), out)

    # restore the signs, and scale to the best norm if the norm is free
    if signed:
        out = np.where(X < 0, -out, out)
    if norm is None:
        out *= np.maximum((X * out).sum(axis=1, keepdims=True), 0.0)
    return out


@jit
def _project_rows(X: Array, ratio: float, lengths: Array, out: Array) -> None:
    """Project each row of `X` onto ``{s >= 0, |s|_2 = length, |s|_1 = ratio * length}``."""
    m, n = X.shape
    work = np.empty(n)
    for i in range(m):
        project_row(X[i], ratio, lengths[i], out[i], work)


@jit
def project_row(x: Array, ratio: float, length: float, out: Array, work: Array) -> None:
    n = len(x)
    top = x.max()
    low = x.min()
    ratio_sq = ratio * ratio

    # at the maximum ratio of the norms, all entries are equal
    if ratio_sq >= n * (1 - 2 * EPS):
        for i in range(n):
            out[i] = length / np.sqrt(n)
        return

    n_top = 0
    for i in range(n):
        work[i] = x[i] - top  # subtract the largest entry first, to avoid cancellation later
        n_top += work[i] == 0.0

    # handle ties separately: if at least ratio^2 entries share the largest value, all others
    # become zero
    if ratio_sq <= n_top:
        _project_tied(work, ratio, length, n_top, out)
        return

    scale = 1.0 / (top - low)  # with this scale, the largest difference is 1
    for i in range(n):
        work[i] *= scale
    # If the active entries contain the support of the solution, active entries that are not above
    # the threshold are zero in the solution. The threshold therefore never falls, and fewer and
    # fewer entries remain from which it is computed.
    active = n
    while True:
        mean, spread = _moments(work, active)
        shift = ratio * np.sqrt(spread / (active * (active - ratio_sq)))
        n_above = _keep_above(work, active, mean - shift)
        if n_above == active or n_above <= ratio_sq:
            break
        active = n_above

    # on this support, the solution is an affine function of x that has the required mean and norm
    slope = length * np.sqrt((1.0 - ratio_sq / active) / spread)
    for i in range(n):
        deviation = (x[i] - top) * scale - mean
        out[i] = max(ratio * length / active + deviation * slope, 0.0)


@jit
def _keep_above(values: Array, count: int, tau: float) -> int:
    """Move entries above `tau` to the front and count them."""
    n_above = 0
    for i in range(count):
        value = values[i]
        values[n_above] = value  # avoid a branch, which would be unpredictable
        n_above += value > tau
    return n_above


@jit
def _moments(values: Array, count: int) -> tuple[float, float]:
    """Return the mean and sum of squared deviations of the first entries, in two passes."""
    mean = 0.0
    # use deviations in the second pass, because their rounding errors are smaller
    for shift in range(2):
        off = 0.0
        spread = 0.0
        for first in range(0, count, SUMMED_AT_ONCE):
            a = 0.0
            b = 0.0
            for i in range(first, min(first + SUMMED_AT_ONCE, count)):
                t = values[i] - mean
                a = a + t
                b = b + t * t
            off += a
            spread += b

        if shift == 0:
            mean = off / count
    return mean + off / count, spread - off * off / count


@jit
def _project_tied(z: Array, ratio: float, length: float, n_top: int, out: Array) -> None:
    """Let several largest entries share all the weight: the nearest point is not unique."""
    # the first entry is delta (n - 1) above the mean of the largest entries, and the others are
    # delta below it
    mass = ratio * length
    delta = 0.0
    if n_top > 1:
        excess = length * length - mass * mass / n_top
        delta = np.sqrt(max(excess, 0.0) / (n_top * (n_top - 1)))

    first = True
    for i in range(len(z)):
        if z[i] != 0.0:
            out[i] = 0.0
        elif first:
            out[i] = mass / n_top + (n_top - 1) * delta
            first = False
        else:
            out[i] = max(mass / n_top - delta, 0.0)
