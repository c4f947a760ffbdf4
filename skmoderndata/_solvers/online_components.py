"""Principal and minor components, one sample at a time, and the slow features built from both.

Notation: `u` is a centred row, `V` holds unit vectors in rows, `lam` the variance along each,
`W` minor components in rows, `gamma` the largest variance. Every pass reads the rows in order,
updates its arrays in place and allocates nothing per row. All arithmetic is homogeneous in the
data, so that rows scaled by a power of two give the same directions bit for bit: the estimators
use that to keep squares of huge and tiny numbers inside the range of floating point.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._jit import jit
from skmoderndata._solvers.linalg import fix_signs

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK_ROWS = 4096


class AmnesicSchedule(NamedTuple):
    """Rate of an amnesic mean: ``(1 + l(t)) / t`` with a memory loss `l` that grows with `t`.

    `l` is 0 up to `start`, rises linearly to `amnesic` at `end`, and then by one per `growth`
    samples (never if `growth` is infinite). The rate is at least `floor`, at most 1/2 from the
    second sample on (a rate of one would forget everything) and 1 at the first.
    """

    amnesic: float = 2.0
    start: float = 20.0
    end: float = 200.0
    growth: float = float("inf")
    floor: float = 0.0


class StepSchedule(NamedTuple):
    """Learning rate ``rate`` for the first `hold` samples, then ``rate * hold / t``."""

    rate: float
    hold: float
    floor: float = 0.0


class PrincipalState(NamedTuple):
    """What CCIPCA knows: arrays updated in place; `total` and `n_seen` have one entry."""

    mean: Array  # (p,)
    V: Array  # (k, p), unit rows, zero while a component has not begun
    lam: Array  # (k,)
    total: Array  # (1,) amnesic mean of |u|^2
    n_seen: Array  # (1,) rows that entered the running mean and the rate

    @classmethod
    def empty(cls, k: int, p: int) -> "PrincipalState":
        """State before the first row."""
        return cls(np.zeros(p), np.zeros((k, p)), np.zeros(k), np.zeros(1), np.zeros(1))


class MinorState(NamedTuple):
    """What the minor component rule knows about the rows it has seen."""

    W: Array  # (k, p) unit rows
    eigenvalues: Array  # (k,) amnesic mean of (u . w_j)^2
    top: Array  # (1, p) unit vector of the largest variance, zero before the first row
    gamma: Array  # (1,) that variance
    n_seen: Array  # (1,)

    @classmethod
    def start(cls, W: Array) -> "MinorState":
        """State before the first row, from directions `W` in rows."""
        k, p = W.shape
        return cls(
            np.array(W, dtype=np.float64, order="C"), np.zeros(k), np.zeros((1, p)), np.zeros(1), np.zeros(1)
        )


@jit
def amnesic_rate(t, amnesic, start, end, growth, floor):
    """Rate of sample number `t` = 1, 2, ...; see `AmnesicSchedule`."""
    if t <= 1:
        return 1.0
    if t < start:
        loss = 0.0
    elif t < end:
        loss = amnesic * (t - start) / (end - start)
    else:
        loss = amnesic + (t - end) / growth
    return min(max((1.0 + loss) / t, floor), 0.5)


@jit
def _follow_residual(r, V, lam, eta):
    """One CCIPCA update of all components by the row `r`, which is deflated in place.

    With ``v = lam V[j]`` the rule is ``v <- (1 - eta) v + eta (r . V[j]) r`` and then
    ``r <- r - (r . V[j]) V[j]``. A component begins with the first residual that is not rounding.
    """
    k, p = V.shape
    rr = np.dot(r, r)
    rounding = 1e-24 * rr
    for j in range(k):
        if rr <= rounding:  # nothing left: the other components see a zero row
            for i in range(j, k):
                lam[i] *= 1.0 - eta
            return
        v = V[j]
        if lam[j] <= 0.0:
            norm = np.sqrt(rr)
            for i in range(p):
                v[i] = r[i] / norm
                r[i] = 0.0
            lam[j] = eta * rr
            rr = 0.0
            continue
        d = np.dot(r, v)
        a, b = (1.0 - eta) * lam[j], eta * d
        new = np.sqrt(a * a + 2.0 * a * b * d + b * b * rr)
        if new <= 0.0:  # decayed below the smallest number: begin again with a later residual
            lam[j] = 0.0
            continue
        c = (a * d + b * rr) / new  # r . V[j] after the update
        a, b = a / new, b / new
        for i in range(p):
            v[i] = a * v[i] + b * r[i]
            r[i] -= c * v[i]
        lam[j] = new
        rr = np.dot(r, r)


@jit
def _follow_minor(u, W, eigenvalues, top, gamma, eta, eta_step, work):
    """One update of the minor components by the row `u`.

    In the notation of the module ``w_j <- (1 - e) w_j - (e / gamma) [(u . w_j) u
    + gamma sum_{i<j} (w_i . w_j) w_i]`` and then ``w_j <- w_j / |w_j|``, with the product
    with `u` taken implicitly: ``e / (1 - e + e |u|^2 / gamma)``, so that no row, however long,
    turns a component round.
    """
    k, p = W.shape
    uu = np.dot(u, u)
    if uu <= 0.0:
        for j in range(k):
            eigenvalues[j] *= 1.0 - eta
        gamma[0] *= 1.0 - eta
        return
    for i in range(p):
        work[i] = u[i]
    _follow_residual(work, top, gamma, eta)
    g = gamma[0]
    if g <= 0.0:
        return
    keep = 1.0 - eta_step
    pull = eta_step / g / (keep + eta_step * uu / g)
    deflation = min(eta_step / keep, 1.0)
    for j in range(k):
        w = W[j]
        d = np.dot(u, w)
        eigenvalues[j] += eta * (d * d - eigenvalues[j])
        s = pull * d
        for i in range(p):
            w[i] -= s * u[i]
        for m in range(j):
            c = deflation * np.dot(W[m], w)
            wm = W[m]
            for i in range(p):
                w[i] -= c * wm[i]
        norm = np.sqrt(np.dot(w, w))
        if norm > 0.0:
            for i in range(p):
                w[i] /= norm


@jit
def ccipca_rows(X, scale, learn_mean, mean, V, lam, total, n_seen, rate, work):
    """Follow the rows of `X`, times `scale`; `rate` holds the fields of `AmnesicSchedule`.

    With `learn_mean` the mean follows the rows too, and ``u = sqrt(1 - eta) (x - mean)`` with the
    mean before the row: then ``(1 - eta) C + eta u u'`` is exactly the covariance about the
    moving mean. Else `mean` stays.
    """
    n, p = X.shape
    for t in range(n):
        n_seen[0] += 1.0
        eta = amnesic_rate(n_seen[0], rate[0], rate[1], rate[2], rate[3], rate[4])
        factor = np.sqrt(1.0 - eta) if learn_mean else 1.0
        for i in range(p):
            d = X[t, i] * scale - mean[i]
            if learn_mean:
                mean[i] += eta * d
            work[i] = factor * d
        total[0] += eta * (np.dot(work, work) - total[0])
        _follow_residual(work, V, lam, eta)


@jit
def minor_rows(
    X, scale, learn_mean, mean, W, eigenvalues, top, gamma, n_seen, rate, step, u, work
):
    """Follow the rows of `X`, times `scale`, by their minor components."""
    n, p = X.shape
    for t in range(n):
        n_seen[0] += 1.0
        eta = amnesic_rate(n_seen[0], rate[0], rate[1], rate[2], rate[3], rate[4])
        eta_step = max(step[0] * min(1.0, step[1] / n_seen[0]), step[2])
        factor = np.sqrt(1.0 - eta) if learn_mean else 1.0
        for i in range(p):
            d = X[t, i] * scale - mean[i]
            if learn_mean:
                mean[i] += eta * d
            u[i] = factor * d
        _follow_minor(u, W, eigenvalues, top, gamma, eta, eta_step, work)


@jit
def slow_rows(
    X, follows, scale, learn_mean, rank_tol, last,
    mean, V, lam, total, n_seen, W, eigenvalues, top, gamma, n_steps, rate, step, work, z, z_work,
):  # fmt: skip
    """Follow the rows of `X` and their steps; `follows[t]` tells whether row t has a step.

    Whitening: CCIPCA of the rows. Slow directions: minor components of the whitened steps
    ``(V / sqrt(lam)) (x(t) - x(t - 1))``, both rows seen through the present whitening. `last` is
    the row before the first one, scaled, and holds the last row afterwards.
    """
    n, p = X.shape
    K = V.shape[0]
    for t in range(n):
        n_seen[0] += 1.0
        eta = amnesic_rate(n_seen[0], rate[0], rate[1], rate[2], rate[3], rate[4])
        factor = np.sqrt(1.0 - eta) if learn_mean else 1.0
        for i in range(p):
            d = X[t, i] * scale - mean[i]
            if learn_mean:
                mean[i] += eta * d
            work[i] = factor * d
        total[0] += eta * (np.dot(work, work) - total[0])
        _follow_residual(work, V, lam, eta)
        for i in range(p):
            x = X[t, i] * scale
            work[i] = x - last[i]
            last[i] = x
        if not follows[t]:
            continue
        n_steps[0] += 1.0
        floor = rank_tol * np.max(lam)
        for j in range(K):
            if lam[j] > floor:
                v = V[j]
                c = np.dot(v, work)
                z[j] = c / np.sqrt(lam[j])
                for i in range(p):
                    work[i] -= c * v[i]
            else:
                z[j] = 0.0
                for m in range(W.shape[0]):
                    W[m, j] = 0.0  # a dropped direction has no steps, but is not slow
        eta = amnesic_rate(n_steps[0], rate[0], rate[1], rate[2], rate[3], rate[4])
        eta_step = max(step[0] * min(1.0, step[1] / n_steps[0]), step[2])
        _follow_minor(z, W, eigenvalues, top, gamma, eta, eta_step, z_work)
