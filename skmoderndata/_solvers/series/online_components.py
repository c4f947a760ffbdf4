"""Principal and minor components, one row at a time, and the slow features built from both.

Notation: `u` is a centred row, `V` holds unit vectors in rows, `lam` the variance along each,
`W` minor components in rows, `gamma` the largest variance. The compiled passes read the rows in
order, update their arrays in place and allocate nothing. Their arithmetic is homogeneous in the
data: rows scaled by a power of two give the same directions bit for bit. That is used to keep
squares of huge and tiny numbers inside the range of floating point (`exponent_of`, `rescaled`).
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._jit import jit
from skmoderndata._solvers.common.iterate import Iterations, Progress

Array = np.ndarray[Any, np.dtype[Any]]
Orders = Callable[[], "Array | None"]  # order of the rows in the next pass; None: as they are


class AmnesicSchedule(NamedTuple):
    """Rate of an amnesic mean: ``(1 + l(t)) / t`` with a memory loss `l` that grows with `t`.

    `l` is 0 up to `start`, rises linearly to `amnesic` at `end`, and then by one in `growth`
    rows (never if `growth` is infinite). The rate is 1 for the first row; later it is at least
    `floor`, and at most 1/2, because a rate of one would forget all.
    """

    amnesic: float = 2.0
    start: float = 20.0
    end: float = 200.0
    growth: float = float("inf")
    floor: float = 0.0


def amnesic_schedule(
    amnesic: float, ramp: tuple[float, float], growth: float | None, floor: float
) -> AmnesicSchedule:
    """Return the schedule for the parameters of the estimators; ValueError names a bad one."""
    if len(ramp) != 2 or not 0 <= ramp[0] <= ramp[1] < float("inf"):
        raise ValueError(
            f"amnesic_ramp={ramp!r} must be two numbers of rows, 0 <= first <= second."
        )
    return AmnesicSchedule(
        float(amnesic),
        float(ramp[0]),
        float(ramp[1]),
        float("inf") if growth is None else float(growth),
        float(floor),
    )


class StepSchedule(NamedTuple):
    """Learning rate `rate` for the first `hold` rows, then ``rate * hold / t``, above `floor`."""

    rate: float
    hold: float
    floor: float = 0.0


class PrincipalState(NamedTuple):
    """What CCIPCA knows; the arrays are updated in place."""

    mean: Array  # (p,)
    V: Array  # (k, p) unit rows; zero where a component has not begun
    lam: Array  # (k,) variances; zero where a component has not begun
    total: Array  # (1,) amnesic mean of |u|^2
    n_seen: Array  # (1,) rows, the t of the rate

    @classmethod
    def empty(cls, k: int, p: int) -> "PrincipalState":
        """State before the first row."""
        return cls(np.zeros(p), np.zeros((k, p)), np.zeros(k), np.zeros(1), np.zeros(1))

    def copy(self) -> "PrincipalState":
        """Arrays of its own."""
        return PrincipalState(*(a.copy() for a in self))

    def rescaled(self, shift: int) -> "PrincipalState":
        """State for rows multiplied by ``2 ** shift``, exactly."""
        return PrincipalState(
            np.ldexp(self.mean, shift),
            self.V.copy(),
            np.ldexp(self.lam, 2 * shift),
            np.ldexp(self.total, 2 * shift),
            self.n_seen.copy(),
        )


class MinorState(NamedTuple):
    """What the rule for minor components knows; the arrays are updated in place."""

    W: Array  # (k, p) unit rows
    eigenvalues: Array  # (k,) amnesic mean of (u . w_j)^2
    top: Array  # (1, p) direction of the largest variance, zero before the first row
    gamma: Array  # (1,) that variance
    n_seen: Array  # (2,) rows, the t of the amnesic rate; t of the learning rate

    @classmethod
    def start(cls, W: Array) -> "MinorState":
        """State before the first row, from directions in rows."""
        k, p = W.shape
        W = np.array(W, dtype=np.float64, order="C")
        return cls(W, np.zeros(k), np.zeros((1, p)), np.zeros(1), np.zeros(2))

    def copy(self) -> "MinorState":
        """Arrays of its own."""
        return MinorState(*(a.copy() for a in self))

    def rescaled(self, shift: int) -> "MinorState":
        """State for rows multiplied by ``2 ** shift``, exactly."""
        return MinorState(
            self.W.copy(),
            np.ldexp(self.eigenvalues, 2 * shift),
            self.top.copy(),
            np.ldexp(self.gamma, 2 * shift),
            self.n_seen.copy(),
        )


class Passes(NamedTuple):
    """How the passes over a sample ended."""

    n_iter: int
    residual: float  # change in the last pass, infinite after a single one
    converged: bool
    stopped: bool  # a callback asked for it

    def shortfall(self, name: str, tol: float) -> str:
        """Say why this is not convergence; `name` is the public name of the residual."""
        if self.residual <= tol:
            return (
                "the variance inside the subspace still fell by more than one per cent in one of "
                f"the last two of {self.n_iter} passes"
            )
        return f"{name}={self.residual:.2g} > tol={tol:g} after {self.n_iter} passes"


# ---- one row at a time, compiled ------------------------------------------------------------


@jit
def amnesic_rate(
    t: float, amnesic: float, start: float, end: float, growth: float, floor: float
) -> float:
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
def _follow_residual(r: Array, V: Array, lam: Array, eta: float) -> None:
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
        size = max(a, abs(b) * np.sqrt(rr))
        if size <= 0.0:  # decayed below the smallest number: begin again with a later residual
            lam[j] = 0.0
            continue
        sa, sb = a / size, b / size  # squares of variances may leave the range
        new = size * np.sqrt(max(sa * sa + 2.0 * sa * sb * d + sb * sb * rr, 0.0))
        c = (a * d + b * rr) / new  # r . V[j] after the update
        a, b = a / new, b / new
        for i in range(p):
            v[i] = a * v[i] + b * r[i]
            r[i] -= c * v[i]
        lam[j] = new
        rr = np.dot(r, r)


@jit
def _follow_minor(
    u: Array,
    W: Array,
    eigenvalues: Array,
    top: Array,
    gamma: Array,
    eta: float,
    eta_step: float,
    work: Array,
) -> None:
    """One update of the minor components by the row `u`.

    The rule is ``w_j <- (1 - e) w_j - (e / gamma) (u . w_j) u``, then Gram-Schmidt. The product
    is taken implicitly: its factor is ``e / (gamma (1 - e) + e |u|^2)``, so that no row, however
    long, turns a component round. Deflation that removes only the share e of ``w_i . w_j`` keeps
    components together for good while gamma is underestimated.
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
    for j in range(k):
        w = W[j]
        d = np.dot(u, w)
        eigenvalues[j] += eta * (d * d - eigenvalues[j])
        s = pull * d
        for i in range(p):
            w[i] -= s * u[i]
        before = np.sqrt(np.dot(w, w))
        for m in range(j):
            c = np.dot(W[m], w)
            wm = W[m]
            for i in range(p):
                w[i] -= c * wm[i]
        norm = np.sqrt(np.dot(w, w))
        for i in range(p):
            if norm > 1e-8 * before:
                w[i] /= norm
            else:  # nothing but rounding is left, as after a dropped direction: begin again
                w[i] = u[i]


@jit
def ccipca_rows(
    X: Array,
    scale: float,
    learn_mean: bool,
    mean: Array,
    V: Array,
    lam: Array,
    total: Array,
    n_seen: Array,
    rate: Array,
    work: Array,
) -> None:
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
    X: Array,
    scale: float,
    learn_mean: bool,
    mean: Array,
    W: Array,
    eigenvalues: Array,
    top: Array,
    gamma: Array,
    n_seen: Array,
    rate: Array,
    step: Array,
    u: Array,
    work: Array,
) -> None:
    """Follow the rows of `X`, times `scale`, by their minor components."""
    n, p = X.shape
    for t in range(n):
        n_seen += 1.0
        eta = amnesic_rate(n_seen[0], rate[0], rate[1], rate[2], rate[3], rate[4])
        eta_step = max(step[0] * min(1.0, step[1] / n_seen[1]), step[2])
        factor = np.sqrt(1.0 - eta) if learn_mean else 1.0
        for i in range(p):
            d = X[t, i] * scale - mean[i]
            if learn_mean:
                mean[i] += eta * d
            u[i] = factor * d
        _follow_minor(u, W, eigenvalues, top, gamma, eta, eta_step, work)


@jit
def slow_rows(
    X: Array,
    follows: Array,
    scale: float,
    learn_mean: bool,
    rank_tol: float,
    last: Array,
    mean: Array,
    V: Array,
    lam: Array,
    total: Array,
    n_seen: Array,
    W: Array,
    eigenvalues: Array,
    top: Array,
    gamma: Array,
    n_steps: Array,
    rate: Array,
    step: Array,
    work: Array,
    z: Array,
    z_work: Array,
) -> None:
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
        n_steps += 1.0
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
        eta_step = max(step[0] * min(1.0, step[1] / n_steps[1]), step[2])
        _follow_minor(z, W, eigenvalues, top, gamma, eta, eta_step, z_work)


# ---- passes over a sample -------------------------------------------------------------------


class RowSource:
    """Rows of an array, dense or sparse, in blocks of C-contiguous, writable, finite numbers.

    Parameters
    ----------
    X : array or sparse matrix in CSR format, of shape (n, p)
        The rows.
    scale : float
        Power of two by which the passes multiply the rows.
    expand : callable, optional
        Applied to each block.
    n_columns : int, optional
        Columns after the expansion.
    """

    def __init__(
        self,
        X: Any,
        *,
        scale: float = 1.0,
        expand: Callable[[Array], Array] | None = None,
        n_columns: int | None = None,
    ) -> None:
        self.X, self.scale, self.expand = X, scale, expand
        self.n, self.p = X.shape[0], n_columns or X.shape[1]
        self.block_rows = int(min(max((1 << 21) // self.p, 64), 1 << 16))

    def blocks(self, order: Array | None = None) -> Iterator[Array]:
        """Yield the rows, not scaled, in their order or in another."""
        for start in range(0, self.n, self.block_rows):
            part: Any = slice(start, min(start + self.block_rows, self.n))
            block = self.X[part if order is None else order[part]]
            if hasattr(block, "toarray"):
                block = block.toarray()
            if self.expand is not None:
                block = self.expand(block)
            # other layouts would be compiled once more
            yield np.require(block, requirements=["C", "W"])

    def centred(self, mean: Array) -> Iterator[Array]:
        """Yield scaled rows minus `mean`, in float64."""
        for block in self.blocks():
            yield block * np.float64(self.scale) - mean

    def largest(self) -> float:
        """Magnitude of the largest entry."""
        return max(
            (float(max(block.max(), -block.min())) for block in self.blocks() if block.size),
            default=0.0,
        )

    def last_row(self) -> Array:
        """Return the last row, scaled."""
        row = RowSource(self.X[-1:], expand=self.expand, n_columns=self.p)
        return np.asarray(next(row.blocks())[0] * np.float64(self.scale))

    def moments(self) -> tuple[Array, float]:
        """Mean of the scaled rows and mean squared distance from it."""
        first = np.zeros(self.p)  # shift: constant columns have their value as mean, exactly
        total = np.zeros(self.p)
        for number, block in enumerate(self.blocks()):
            if number == 0:
                first = block[0] * np.float64(self.scale)
            total += (block * np.float64(self.scale) - first).sum(axis=0)
        mean = first + total / self.n
        return mean, sum(float((U * U).sum()) for U in self.centred(mean)) / self.n


def exponent_of(largest: float, exponent: int | None) -> int | None:
    """Exponent e for which rows times ``2 ** -e`` are near 1, or near enough.

    An exponent in use is kept until entries exceed it by a factor of ``2 ** 200``.
    """
    if largest == 0:
        return exponent
    new = int(np.clip(np.frexp(largest)[1], -1000, 1000))
    return new if exponent is None or new > exponent + 200 else exponent


def principal_passes(
    source: RowSource,
    state: PrincipalState,
    schedule: AmnesicSchedule,
    orders: Orders,
    *,
    max_iter: int,
    tol: float | None,
    weighted: bool = True,
    progress: Progress | None = None,
) -> Passes:
    """Repeat CCIPCA over the rows with `state.mean` held, until the subspace settles.

    Stops when the fraction of the captured standard deviation that lies outside of the subspace
    after the next pass, ``|D (I - V'V)| / |D|`` with the rows of D the components times their
    standard deviations, is at most `tol`. If not `weighted`, the rows of D are the components,
    and the fraction is the root mean square sine of the angles.
    """
    rate, work = np.array(schedule, dtype=np.float64), np.empty(source.p)
    it = Iterations(max_iter, -1.0 if tol is None else tol, progress)
    loadings: Array | None = None
    for _ in it:
        for block in source.blocks(orders()):
            ccipca_rows(block, source.scale, False, *state, rate, work)
        Q, lam = principal_components(state)
        if loadings is not None:
            lost = loadings - (loadings @ Q.T) @ Q
            size = float(linalg.norm(loadings))
            it.residual = float(linalg.norm(lost)) / size if size > 0 else 0.0
        loadings = np.sqrt(lam)[:, None] * Q if weighted else Q
    return _ended(it, tol)


def minor_passes(
    source: RowSource,
    mean: Array,
    state: MinorState,
    schedule: AmnesicSchedule,
    step: StepSchedule | None,
    orders: Orders,
    *,
    max_iter: int,
    tol: float | None,
    progress: Progress | None = None,
) -> tuple[Passes, float]:
    """Repeat the rule for minor components with `mean` held, until the subspace settles.

    Without `step` the rate is chosen here: 0.9 at first, times 0.7 after each pass that lowers
    the variance inside the subspace by less than one per cent. With `step` it is the stream's.

    Stops when the sine of the largest angle between the subspaces after two passes is at most
    `tol`; without `step` only after two such passes in a row, since a subspace that still
    improves may turn slowly. Returns the last rate, too.
    """
    rate = np.array(schedule, dtype=np.float64)
    u, work = np.empty(source.p), np.empty(source.p)
    it = Iterations(max_iter, -1.0 if tol is None else tol, progress)
    eta, lowest, change, before = 0.9, float("inf"), float("inf"), float("inf")
    old = orthonormal_rows(state.W)
    for _ in it:
        steps = np.array(StepSchedule(eta, np.inf) if step is None else step, dtype=np.float64)
        for block in source.blocks(orders()):
            minor_rows(block, source.scale, False, mean, *state, rate, steps, u, work)
        new = orthonormal_rows(state.W)
        change = sine_of_angle(old, new)
        old = new
        if step is None:
            inside = float(np.trace(_second_moment(source.centred(mean), new, source.n)))
            if not 1e-14 * float(state.gamma[0]) < inside <= 0.99 * lowest:
                eta *= 0.7
                it.residual, before = max(before, change), change
            else:
                before = float("inf")
            lowest = min(inside, lowest)
        elif it.n_iter > 1:
            it.residual = change
    if step is not None:
        eta = max(step.rate * min(1.0, step.hold / max(float(state.n_seen[1]), 1.0)), step.floor)
    passes = _ended(it, tol)
    return passes._replace(residual=change if it.n_iter > 1 else float("inf")), eta


def clock_of_rate(step: StepSchedule, eta: float) -> float:
    """Return the time at which the schedule of the stream has come down to the rate `eta`."""
    return step.hold * max(step.rate / eta, 1.0) if eta < step.rate else 0.0


def slow_passes(
    source: RowSource,
    follows: Array,
    principal: PrincipalState,
    minor: MinorState,
    schedule: AmnesicSchedule,
    step: StepSchedule,
    *,
    rank_tol: float,
    max_iter: int,
    tol: float | None,
    progress: Progress | None = None,
) -> Passes:
    """Repeat incremental slow feature analysis, whitening and slow directions at once.

    Stops when the sine of the largest angle between the spans of the features after two passes
    is at most `tol`, in the metric of the whitened rows.
    """
    it = Iterations(max_iter, -1.0 if tol is None else tol, progress)
    last = np.zeros(source.p)
    old: Array | None = None
    for _ in it:
        slow_update(
            source, follows, False, last, principal, minor, schedule, step, rank_tol=rank_tol
        )
        # rows of B are features; in coordinates sqrt(lam) V the covariance is the identity
        B = slow_components(principal, minor, rank_tol=rank_tol)[0]
        Q, lam = principal_components(principal)
        metric = Q.T * np.sqrt(lam)
        if old is not None:
            it.residual = sine_of_angle(
                orthonormal_rows(old @ metric), orthonormal_rows(B @ metric)
            )
        old = B
    return _ended(it, tol)


def slow_update(
    source: RowSource,
    follows: Array,
    learn_mean: bool,
    last: Array,
    principal: PrincipalState,
    minor: MinorState,
    schedule: AmnesicSchedule,
    step: StepSchedule,
    *,
    rank_tol: float,
) -> None:
    """Take one pass of incremental slow feature analysis; all states are updated in place."""
    rate, steps = np.array(schedule, dtype=np.float64), np.array(step, dtype=np.float64)
    K = len(principal.lam)
    work, z, z_work = np.empty(source.p), np.empty(K), np.empty(K)
    start = 0
    for block in source.blocks():
        slow_rows(
            block, follows[start : start + len(block)], source.scale, learn_mean, rank_tol, last,
            *principal, *minor, rate, steps, work, z, z_work,
        )  # fmt: skip
        start += len(block)


def _ended(it: Iterations, tol: float | None) -> Passes:
    stopped = not it.converged and it.n_iter < it.max_iter
    unchecked = tol is None or it.max_iter == 1
    return Passes(it.n_iter, it.residual, it.converged or unchecked, stopped)


# ---- what the states say --------------------------------------------------------------------


def principal_components(state: PrincipalState) -> tuple[Array, Array]:
    """Orthonormal components and their variances, largest first; zero rows where there is none.

    CCIPCA keeps its vectors orthogonal only approximately; they are made orthonormal in the
    order of their variances.
    """
    order = np.argsort(-state.lam, kind="stable")
    Q = orthonormal_rows(state.V[order])
    return Q, np.where(Q.any(axis=1), state.lam[order], 0.0)


def minor_components(state: MinorState) -> tuple[Array, Array]:
    """Orthonormal minor components and their variances, smallest first."""
    order = np.argsort(state.eigenvalues, kind="stable")
    return orthonormal_rows(state.W[order]), state.eigenvalues[order]


def slow_components(
    principal: PrincipalState, minor: MinorState, *, rank_tol: float
) -> tuple[Array, Array]:
    """Weights of the slow features and their delta values, slowest first.

    The whitened coordinates of a row are those that CCIPCA itself sees: the products with the
    residuals, `r_j . V[j]`. They are ``L^-1 V u`` with the unit lower triangle L of ``V V'``.
    A feature without a direction of its own has zero weights and an infinite delta value.
    """
    order = np.argsort(minor.eigenvalues, kind="stable")
    kept = principal.lam > rank_tol * principal.lam.max()
    W = np.where(kept, minor.W[order], 0.0)
    if kept.any():
        W = orthonormal_rows(W)
    V = principal.V
    L = V @ V.T
    weights = W / np.sqrt(np.where(kept, principal.lam, 1.0))
    weights = linalg.solve_triangular(
        L, weights.T, trans=1, lower=True, unit_diagonal=True, check_finite=False
    ).T
    B = weights @ V
    known = W.any(axis=1) & kept.any()
    order_out = np.argsort(~known, kind="stable")
    delta = np.where(known, minor.eigenvalues[order], np.inf)
    return np.where(known[:, None], B, 0.0)[order_out], delta[order_out]


def refine_principal(
    source: RowSource, mean: Array, V: Array, *, rank_tol: float = 0.0
) -> tuple[Array, Array]:
    """Orthonormal directions near the span of `V` and the variances along them.

    One step of orthogonal iteration, ``span(V) -> span(C V)`` with the covariance C of the rows,
    which divides the error of the subspace by ``lam_k / lam_{k+1}``, between two Rayleigh-Ritz
    steps, which diagonalise C within the span. Directions with at most `rank_tol` of the largest
    variance, or nothing but rounding, become zero rows.
    """
    rows, lam = _ritz(source, mean, orthonormal_rows(V), rank_tol)
    found = lam > 0
    # dividing by lam keeps the rows near unit vectors, however far apart the variances are
    rows[found] = _covariance_times(source, mean, rows[found]) / lam[found, None]
    return _ritz(source, mean, orthonormal_rows(rows), rank_tol)


def _ritz(source: RowSource, mean: Array, Q: Array, rank_tol: float) -> tuple[Array, Array]:
    found = Q.any(axis=1)
    G = _second_moment(source.centred(mean), Q[found], source.n)
    lam, U = linalg.eigh(G, check_finite=False)
    lam, U = np.maximum(lam[::-1], 0.0), U[:, ::-1]
    floor = max(rank_tol, len(lam) * float(np.finfo(np.float64).eps))
    keep = lam > floor * lam.max(initial=0.0)
    rows, variances = np.zeros_like(Q), np.zeros(len(Q))
    n_kept = int(np.count_nonzero(keep))
    rows[:n_kept] = U[:, keep].T @ Q[found]
    variances[:n_kept] = lam[keep]
    return rows, variances


def refine_minor(source: RowSource, mean: Array, W: Array) -> tuple[Array, Array]:
    """Rayleigh-Ritz step for minor components: smallest variance first."""
    Q = orthonormal_rows(W)
    lam, U = linalg.eigh(_second_moment(source.centred(mean), Q, source.n), check_finite=False)
    return U.T @ Q, np.maximum(lam, 0.0)


def whitener(source: RowSource, mean: Array, V: Array, lam: Array) -> Array:
    """Rows that map centred rows of the source to uncorrelated features of unit variance.

    `V` and `lam` come from `refine_principal`. A second look at the outputs removes what
    rounding left in directions of small variance.
    """
    rows = V / np.sqrt(lam)[:, None]
    for _ in range(2):
        values, U = linalg.eigh(_second_moment(source.centred(mean), rows, source.n))
        rows = (U / np.sqrt(values)) @ U.T @ rows  # the symmetric root turns as little as possible
    return rows


def whitened_steps(source: RowSource, follows: Array, rows: Array) -> Array:
    """Return the steps from row to row in the coordinates `rows`, where `follows`."""
    steps = []
    previous = np.zeros((1, source.p))
    start = 0
    for block in source.blocks():
        scaled = block * np.float64(source.scale)
        d = np.diff(scaled, axis=0, prepend=previous)[follows[start : start + len(block)]]
        steps.append(d @ rows.T)
        previous = scaled[-1:]
        start += len(block)
    return np.concatenate(steps)


def eigen_residual(source: RowSource, mean: Array, rows: Array, values: Array) -> Array:
    """Length of ``C v - lambda v`` for each unit row v, with the covariance C of the source."""
    CV = _covariance_times(source, mean, rows)
    return np.asarray(linalg.norm(CV - values[:, None] * rows, axis=1))


def orthonormal_rows(V: Array) -> Array:
    """Gram-Schmidt from the first row on; a row that depends on those before becomes zero."""
    if V.size == 0:
        return V.copy()
    Q, R = linalg.qr(V.T, mode="economic", check_finite=False)
    diagonal = np.diag(R)
    length = linalg.norm(V, axis=1)
    if len(diagonal) == len(V) and (np.abs(diagonal) > 1e-8 * length).all():
        return np.ascontiguousarray((Q * np.sign(diagonal)).T)
    out: Array = np.array(V, dtype=np.float64, order="C")
    _gram_schmidt(out)
    return out


def orthogonality_error(V: Array) -> float:
    """Return the largest product of two different rows."""
    products = V @ V.T
    return float(np.abs(products - np.diag(np.diag(products))).max(initial=0.0))


def sine_of_angle(old: Array, new: Array) -> float:
    """Sine of the largest angle from the span of the rows `old` to that of `new`."""
    if old.size == 0:
        return 0.0
    return float(min(linalg.norm(old - (old @ new.T) @ new, 2), 1.0))


@jit
def _gram_schmidt(V: Array) -> None:
    k, p = V.shape
    for j in range(k):
        v = V[j]
        before = np.sqrt(np.dot(v, v))
        for _ in range(2):  # twice is enough
            for m in range(j):
                c = np.dot(V[m], v)
                for i in range(p):
                    v[i] -= c * V[m, i]
        after = np.sqrt(np.dot(v, v))
        scale = 1.0 / after if after > 1e-8 * before else 0.0
        for i in range(p):
            v[i] *= scale


def _covariance_times(source: RowSource, mean: Array, rows: Array) -> Array:
    CV: Array = np.zeros_like(rows)
    for U in source.centred(mean):
        CV += (U @ rows.T).T @ U
    CV /= source.n
    return CV


def _second_moment(blocks: Iterator[Array], rows: Array, n: int) -> Array:
    G = np.zeros((len(rows), len(rows)))
    for U in blocks:
        Y = U @ rows.T
        G += Y.T @ Y
    return G / n
