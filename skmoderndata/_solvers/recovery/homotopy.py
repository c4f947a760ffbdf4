"""The lasso path from the largest penalty down: homotopy.

The minimisers of ``|y - A a|^2 / 2 + lam |a|_1`` are piecewise linear in the penalty lam [Osborne,
Presnell and Turlach 2000; Efron, Hastie, Johnstone and Tibshirani 2004, section 3.1]. The path
ends in basis pursuit, and passes its noisy form where the residual meets the bound.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dtrtrs

from skmoderndata._solvers.recovery.optimality import column_norms, largest_slope

Array = np.ndarray[Any, np.dtype[Any]]

SPAN = 1e-9  # distance of a unit column from the span of others that counts as none
REFRESH = 50  # steps after which slopes and residual are computed anew


class PathEnd(NamedTuple):
    """Support and signs of a piece of the path that may hold its end, and steps up to it."""

    support: Array
    signs: Array
    n_iter: int


class ActiveColumns:
    """QR factorisation of the active columns, in the order in which they came in."""

    def __init__(self, A: Array) -> None:
        m = len(A)
        self.A, self.places = A, np.zeros(0, np.int64)
        self.norms = column_norms(A)
        self.Q, self.R = np.zeros((m, m), order="F"), np.zeros((m, m), order="F")

    def add(self, j: int) -> bool:
        """Add a column, by Gram-Schmidt twice; False where it is in the span of the others."""
        t = len(self.places)
        if t == len(self.Q):
            return False
        v, Q = self.A[:, j] / self.norms[j], self.Q[:, :t]
        coefficients = Q.T @ v
        v = v - Q @ coefficients
        again = Q.T @ v
        v = v - Q @ again
        distance = float(linalg.norm(v))
        if distance <= SPAN:
            return False
        self.Q[:, t] = v / distance
        self.R[:t, t] = (coefficients + again) * self.norms[j]
        self.R[t, t] = distance * self.norms[j]
        self.places = np.append(self.places, j)
        return True

    def remove(self, i: int) -> None:
        """Remove the column that came i-th."""
        t = len(self.places)
        self.places = np.delete(self.places, i)
        if t > 1:
            Q, R = linalg.qr_delete(
                self.Q[:, :t], self.R[:t, :t], i, which="col", check_finite=False
            )
            self.Q[:, : t - 1], self.R[: t - 1, : t - 1] = Q[:, : t - 1], R[: t - 1]

    def directions(self, signs: Array) -> tuple[Array, Array]:
        """Return ``d = inv(A_I'A_I) signs`` and ``u = A_I d``, with ``A_I'u = signs``."""
        t = len(self.places)
        R = self.R[:t, :t]
        inner = dtrtrs(R, signs, trans=1)[0]
        return dtrtrs(R, inner)[0], self.Q[:, :t] @ inner


def follow_path(A: Array, y: Array, *, bound: float, positive: bool) -> Iterator[PathEnd]:
    """Follow the path to where the residual is of norm `bound`, or to its end; y of norm one.

    Yields pieces that hold that point, up to rounding; the last where the path breaks off.

    Along a piece, as lam falls by t, ``a_I <- a_I + t d``, ``r <- r - t u``, ``c <- c - t A'u``
    with the slopes c; it ends where a column meets ``|c_j| = lam``, or a coefficient zero.
    """
    k = A.shape[1]
    a, signs, r, c = np.zeros(k), np.zeros(k), y.copy(), A.T @ y
    lam = largest_slope(c, positive)
    active = ActiveColumns(A)
    barred = np.zeros(k, np.bool_)  # in the span of active ones
    new = int(np.argmax(c if positive else np.abs(c)))
    left = np.zeros(k)  # sign of the column that the last step took out
    step, most = 0, 8 * min(A.shape) + 20
    while step < most and lam > 0:
        step += 1
        if new >= 0 and active.add(new):
            signs[new] = np.sign(c[new])
        elif new >= 0:
            barred[new] = True
        support = active.places
        if support.size == 0:
            break
        d, u = active.directions(signs[support])
        w = A.T @ u
        if float(linalg.norm(r - lam * u)) <= 1e-13:  # equations are met at the end of this piece
            r, c = lam * u, lam * w
        entries = _meetings(c, w, lam, left)
        if not positive:
            entries = np.minimum(entries, _meetings(-c, -w, lam, -left))
        entries[support] = entries[barred] = np.inf
        exits = np.full(support.size, np.inf)
        shrinks = a[support] * d < 0
        exits[shrinks] = -a[support][shrinks] / d[shrinks]
        new, i = int(np.argmin(entries)), int(np.argmin(exits))
        t = min(entries[new], exits[i])
        end = _end(r, u, lam, bound)
        if end <= t * (1 + 1e-6):
            yield PathEnd(support, signs[support], step)
            if end <= t:
                return
        a[support] += t * d
        r, c, lam = r - t * u, c - t * w, lam - t
        left[:] = 0.0
        if exits[i] <= entries[new]:
            j, new = support[i], -1
            left[j] = signs[j]
            active.remove(i)
            a[j] = signs[j] = 0.0
            barred[:] = False
        if step % REFRESH == 0:
            r = y - A[:, active.places] @ a[active.places]
            c = A.T @ r
    yield PathEnd(active.places, signs[active.places], step)


def _meetings(c: Array, w: Array, lam: float, left: Array) -> Array:
    """Fall of the penalty after which slopes ``c - t w`` of columns outside meet ``lam - t``.

    A column that has just left starts from there, and is told by a sign of 1.
    """
    t = np.full(len(c), np.inf)
    nears = (w < 1 - 1e-10) & (left <= 0)
    t[nears] = np.maximum(lam - c[nears], 0.0) / (1 - w[nears])
    return t


def _end(r: Array, u: Array, lam: float, bound: float) -> float:
    """Fall of the penalty after which ``|r - t u| = bound``, or the penalty is zero."""
    uu, ru = float(u @ u), float(r @ u)
    inside = ru * ru - uu * (float(r @ r) - bound * bound)
    if bound == 0 or inside < 0:
        return lam
    t = (ru - float(np.sqrt(inside))) / uu
    return min(lam, t) if t >= 0 else lam
