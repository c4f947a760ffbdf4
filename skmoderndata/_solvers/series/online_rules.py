"""Principal, minor and slow components of a stream: compiled rules for one row.

Notation: `u` is a centred row, `V` contains unit vectors in rows, `lam` the variance along each
vector, `W` minor components in rows, and `gamma` the largest variance. The compiled passes read
the rows in order, update the arrays of a state in place and allocate nothing. Their arithmetic is
homogeneous in the data, so rows in another unit give the same directions.

Differs from the papers (Weng 2003; Peng 2007; Kompella 2012): 1. vectors are stored with unit norm
and their variances apart. 2. The step for minor components is implicit, and followed by complete
Gram-Schmidt. 3. The mean can move with the covariance kept exact. 4. Directions below a tolerance
are left out of the whitening.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.lengths import check_lengths
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array

# Largest length after Gram-Schmidt, relative to the length before, that counts as a rounding
# error.
DEPENDENT = 1e-8


class AmnesicSchedule(NamedTuple):
    """Rate ``(1 + l(t)) / t`` of an amnesic mean, whose memory loss `l` grows with `t`.

    `l` is 0 up to `start`, increases linearly to `amnesic` at `end`, and then increases by one in
    `growth` rows (never if `growth` is infinite). The rate is 1 for the first row; later it lies
    between `floor` and 1/2, because a rate of one would forget everything.
    """

    amnesic: float = 2.0
    start: float = 20.0
    end: float = 200.0
    growth: float = float("inf")
    floor: float = 0.0


class StepSchedule(NamedTuple):
    """Learning rate `rate` for the first `hold` rows, then ``rate * hold / t``, above `floor`."""

    rate: float
    hold: float
    floor: float = 0.0


class PrincipalState(NamedTuple):
    """State of CCIPCA; the arrays are updated in place."""

    mean: Array  # mean of the rows, (p,)
    V: Array  # unit rows, (k, p); components that have not begun are zero
    lam: Array  # variances, (k,); zero for components that have not begun
    total: Array  # amnesic mean of |u|^2, (1,)
    n_seen: Array  # number of rows, which is t in the rate, (1,)

    @classmethod
    def empty(cls, k: int, p: int) -> "PrincipalState":
        """Return the state before the first row."""
        return cls(np.zeros(p), np.zeros((k, p)), np.zeros(k), np.zeros(1), np.zeros(1))

    def copy(self) -> "PrincipalState":
        """Return a copy whose lengths are checked, because compiled code relies on them."""
        k, p = self.V.shape
        check_lengths(k, lam=self.lam)
        check_lengths(p, mean=self.mean)
        return PrincipalState(*(a.copy() for a in self))


class MinorState(NamedTuple):
    """State of the rule for minor components; the arrays are updated in place."""

    W: Array  # unit rows, (k, p)
    eigenvalues: Array  # amnesic mean of (u . w_j)^2, (k,)
    top: Array  # direction of the largest variance, (1, p); zero before the first row
    gamma: Array  # largest variance, (1,)
    n_seen: Array  # t of the amnesic rate (number of rows), and t of the learning rate, (2,)

    @classmethod
    def start(cls, W: Array) -> "MinorState":
        """Return the state before the first row, from directions in rows."""
        k, p = W.shape
        W = np.array(W, dtype=np.float64, order="C")
        return cls(W, np.zeros(k), np.zeros((1, p)), np.zeros(1), np.zeros(2))

    def copy(self) -> "MinorState":
        """Return a copy whose lengths are checked, because compiled code relies on them."""
        k, p = self.W.shape
        check_lengths(k, eigenvalues=self.eigenvalues)
        check_lengths(p, top=self.top[0])
        return MinorState(*(a.copy() for a in self))


# ---- one row at a time, compiled ------------------------------------------------------------


@jit_leaf
def amnesic_rate(t: float, s: AmnesicSchedule) -> float:
    """Return the rate of row number `t` = 1, 2, ...; see `AmnesicSchedule`."""
    if t <= 1:
        return 1.0
    if t < s.start:
        loss = 0.0
    elif t < s.end:
        loss = s.amnesic * (t - s.start) / (s.end - s.start)
    else:
        loss = s.amnesic + (t - s.end) / s.growth
    return min(max((1.0 + loss) / t, s.floor), 0.5)


@jit_leaf
def learning_rate(t: float, s: StepSchedule) -> float:
    """Return the learning rate of row number `t`; see `StepSchedule`."""
    return max(s.rate * min(1.0, s.hold / t), s.floor)


@jit_leaf
def _follow_residual(r: Array, V: Array, lam: Array, eta: float) -> None:
    """Update all components by CCIPCA with the row `r`, which is deflated in place.

    With ``v = lam V[j]`` the rule is ``v <- (1 - eta) v + eta (r . V[j]) r``, followed by
    ``r <- r - (r . V[j]) V[j]``. A component begins with the first residual above rounding errors.
    """
    k, p = V.shape
    rr = np.dot(r, r)
    rounding = ACCUMULATED_ROUNDING**2 * rr
    for j in range(k):
        if rr <= rounding:  # without a residual, the remaining components get a zero row
            for i in range(j, k):
                lam[i] *= 1.0 - eta
            return

        # start a component without variance from the residual
        v = V[j]
        if lam[j] <= 0.0:
            norm = np.sqrt(rr)
            for i in range(p):
                v[i] = r[i] / norm
                r[i] = 0.0
            lam[j] = eta * rr
            rr = 0.0
            continue

        # update v <- (1 - eta) lam v + eta (r'v) r, of norm one [Weng, Zhang and Hwang 2003]
        d = np.dot(r, v)
        a = (1.0 - eta) * lam[j]
        b = eta * d
        size = max(a, abs(b) * np.sqrt(rr))
        if size <= 0.0:  # if a component has underflowed, a later residual restarts it
            lam[j] = 0.0
            continue
        # divide first, because squares of variances would be fourth powers of the data and could
        # overflow
        a = a / size
        b = b / size
        new = np.sqrt(max(a * a + 2.0 * a * b * d + b * b * rr, 0.0))
        a = a / new
        b = b / new
        c = a * d + b * rr  # product r . V[j] after the update

        # remove the new direction from the residual
        for i in range(p):
            v[i] = a * v[i] + b * r[i]
            r[i] -= c * v[i]
        lam[j] = size * new
        rr = np.dot(r, r)


@jit_leaf
def _follow_minor(
    u: Array, state: MinorState, eta: float, eta_step: float, work: Array
) -> None:
    """Update the minor components with the row `u`.

    The rule is ``w_j <- (1 - e) w_j - (e / gamma) (u . w_j) u``, followed by Gram-Schmidt. The
    step is implicit, with the factor ``e / (gamma (1 - e) + e |u|^2)``, so no row can reverse a
    component, however long it is. Deflation that removes only a fraction e of ``w_i . w_j`` could
    keep components together forever while gamma is underestimated.
    """
    W = state.W
    eigenvalues = state.eigenvalues
    gamma = state.gamma
    k, p = W.shape

    # a row of zeros only shrinks the variances
    uu = np.dot(u, u)
    if uu <= 0.0:
        for j in range(k):
            eigenvalues[j] *= 1.0 - eta
        gamma[0] *= 1.0 - eta
        return

    # update the largest eigenvalue, which bounds the steps
    for i in range(p):
        work[i] = u[i]
    _follow_residual(work, state.top, gamma, eta)
    g = gamma[0]
    if g <= 0.0:
        return

    # take an anti-Hebbian step [Peng, Yi and Luo 2007], then apply Gram-Schmidt
    keep = 1.0 - eta_step
    pull = eta_step / g / (keep + eta_step * uu / g)
    for j in range(k):
        w = W[j]
        d = np.dot(u, w)
        eigenvalues[j] += eta * (d * d - eigenvalues[j])
        s = pull * d
        for i in range(p):
            w[i] -= s * u[i]

        # make the component orthogonal to the previous ones, and scale it to unit norm
        before = np.sqrt(np.dot(w, w))
        for m in range(j):
            c = np.dot(W[m], w)
            wm = W[m]
            for i in range(p):
                w[i] -= c * wm[i]
        norm = np.sqrt(np.dot(w, w))
        for i in range(p):
            if norm > DEPENDENT * before:
                w[i] /= norm
            # restart if only rounding errors remain, as after a direction has been dropped
            else:
                w[i] = u[i] / np.sqrt(uu)


@jit_leaf
def _centre(
    x: Array, learn_mean: bool, state: PrincipalState, schedule: AmnesicSchedule, out: Array
) -> float:
    """Count the row x, write it centred to `out`, and return the rate.

    With `learn_mean` the mean follows the rows, and ``u = sqrt(1 - eta) (x - mean)`` uses the mean
    before the row, so that ``(1 - eta) C + eta u u'`` is exactly the covariance about the moving
    mean. Otherwise the mean is constant.
    """
    state.n_seen[0] += 1.0
    eta: float = amnesic_rate(state.n_seen[0], schedule)
    factor = np.sqrt(1.0 - eta) if learn_mean else 1.0
    for i in range(len(out)):
        d = x[i] - state.mean[i]
        if learn_mean:
            state.mean[i] += eta * d
        out[i] = factor * d
    return eta


@jit_leaf
def _follow_principal(
    x: Array, learn_mean: bool, state: PrincipalState, schedule: AmnesicSchedule, work: Array
) -> None:
    """Update mean, total variance and components by CCIPCA with the row x."""
    eta = _centre(x, learn_mean, state, schedule, work)
    state.total[0] += eta * (np.dot(work, work) - state.total[0])
    _follow_residual(work, state.V, state.lam, eta)


@jit_leaf
def principal_rows(
    X: Array, learn_mean: bool, state: PrincipalState, schedule: AmnesicSchedule, work: Array
) -> None:
    """Update the principal components with the rows of `X`."""
    for t in range(len(X)):
        _follow_principal(X[t], learn_mean, state, schedule, work)


@jit_leaf
def minor_rows(
    X: Array,
    learn_mean: bool,
    moving: PrincipalState,
    state: MinorState,
    schedule: AmnesicSchedule,
    step: StepSchedule,
    work: Array,
) -> None:
    """Update the minor components with the rows of `X`.

    `moving` contains the mean and has no components; `work` has two rows.
    """
    for t in range(len(X)):
        state.n_seen[0] += 1.0
        state.n_seen[1] += 1.0
        eta = _centre(X[t], learn_mean, moving, schedule, work[0])
        _follow_minor(work[0], state, eta, learning_rate(state.n_seen[1], step), work[1])


@jit_leaf
def slow_rows(
    X: Array,
    follows: Array,
    learn_mean: bool,
    rank_tol: float,
    last: Array,
    principal: PrincipalState,
    minor: MinorState,
    schedule: AmnesicSchedule,
    step: StepSchedule,
    work: Array,
    whitened: Array,
) -> None:
    """Update the slow features with the rows of `X`; row t ends a step if `follows[t]`.

    CCIPCA of the rows gives the whitening. Slow directions are minor components of the whitened
    steps ``(V / sqrt(lam)) (x(t) - x(t - 1))``, where both rows use the current whitening. `last`
    is the row before the first one, and is set to the last row; `whitened` has two rows.
    """
    n, p = X.shape
    V = principal.V
    lam = principal.lam
    W = minor.W
    n_steps = minor.n_seen
    z = whitened[0]

    for t in range(n):
        # update the whitening
        _follow_principal(X[t], learn_mean, principal, schedule, work)
        for i in range(p):
            work[i] = X[t, i] - last[i]
            last[i] = X[t, i]
        if not follows[t]:
            continue

        n_steps[0] += 1.0
        n_steps[1] += 1.0

        # whiten the step, leaving out directions below the tolerance
        floor = 0.0
        for j in range(len(lam)):
            floor = max(floor, rank_tol * lam[j])
        for j in range(len(lam)):
            if lam[j] > floor:
                v = V[j]
                c = np.dot(v, work)
                z[j] = c / np.sqrt(lam[j])
                for i in range(p):
                    work[i] -= c * v[i]
            else:
                z[j] = 0.0
                for m in range(len(W)):
                    W[m, j] = 0.0  # a direction that was dropped must not count as slow

        # update the minor components of the whitened steps
        eta = amnesic_rate(n_steps[0], schedule)
        _follow_minor(z, minor, eta, learning_rate(n_steps[1], step), whitened[1])
