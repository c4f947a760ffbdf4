"""Passes over a sample with the rules of `online_rules`, and what their states say."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.lengths import check_lengths
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.series.expansion import Expansion
from skmoderndata._solvers.series.online_rules import (
    AmnesicSchedule,
    MinorState,
    PrincipalState,
    StepSchedule,
    minor_rows,
    principal_rows,
    slow_rows,
)

Orders = Callable[[], "Array | None"]  # order of the rows in the next pass; None: as they are


class Passes(NamedTuple):
    """How the passes over a sample ended."""

    n_iter: int
    residual: float  # change in the last pass, infinite after a single one
    converged: bool
    stopped: bool  # a callback asked for it


# ---- passes over a sample -------------------------------------------------------------------


class RowSource:
    """Rows of an array, dense or sparse, in blocks of C-contiguous, writable, finite numbers.

    Parameters
    ----------
    X : array or sparse matrix in CSR format, of shape (n, p)
        The rows.
    expansion : Expansion, optional
        Applied to each block.
    """

    def __init__(self, X: Any, expansion: Expansion | None = None) -> None:
        self.X = X
        self.expansion = expansion
        self.n = X.shape[0]
        self.p = X.shape[1] if expansion is None else expansion.n_outputs
        self.block_rows = int(min(max((1 << 21) // self.p, 64), 1 << 16))

    def blocks(self, order: Array | None = None) -> Iterator[Array]:
        """Yield the rows in their order or in another."""
        for start in range(0, self.n, self.block_rows):
            rows: Any = slice(start, min(start + self.block_rows, self.n))
            block = self.X[rows if order is None else order[rows]]
            if hasattr(block, "toarray"):
                block = block.toarray()
            if self.expansion is not None:
                block = self.expansion(block.astype(np.float64, copy=False))
            # other layouts and types would be compiled once more
            yield np.require(block, dtype=np.float64, requirements=["C", "W"])

    def centred(self, mean: Array) -> Iterator[Array]:
        """Yield rows minus `mean`, in float64."""
        for block in self.blocks():
            yield block - mean

    def moments(self) -> tuple[Array, float]:
        """Mean of the rows and mean squared distance from it."""
        first = np.zeros(self.p)  # shift: constant columns have their value as mean, exactly
        total = np.zeros(self.p)
        for number, block in enumerate(self.blocks()):
            if number == 0:
                first = block[0].copy()
            total += (block - first).sum(axis=0)
        mean = first + total / self.n
        return mean, sum(float((U * U).sum()) for U in self.centred(mean)) / self.n


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
    work = np.empty(source.p)
    it = Iterations(max_iter, -1.0 if tol is None else tol, progress)
    loadings: Array | None = None

    for _ in it:
        for block in source.blocks(orders()):
            principal_rows(block, False, state, schedule, work)

        # how far the loadings have left the subspace of the pass before
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
    # rows are centred with the mean held
    held = PrincipalState.empty(0, source.p)._replace(mean=mean)
    work = np.empty((2, source.p))
    held.n_seen[:] = state.n_seen[0]
    it = Iterations(max_iter, -1.0 if tol is None else tol, progress)
    eta = 0.9
    lowest = float("inf")
    change = float("inf")
    before = float("inf")
    old = orthonormal_rows(state.W)

    for _ in it:
        # a pass over the rows
        steps = StepSchedule(eta, float("inf")) if step is None else step
        for block in source.blocks(orders()):
            minor_rows(block, False, held, state, schedule, steps, work)

        # change of the subspace
        new = orthonormal_rows(state.W)
        change = sine_of_angle(old, new)
        old = new

        # steps found by themselves: shorter ones unless the variance inside falls
        if step is None:
            inside = float(np.trace(_second_moment(source, mean, new)))
            if not 1e-14 * float(state.gamma[0]) < inside <= 0.99 * lowest:
                eta *= 0.7
                it.residual = max(before, change)
                before = change
            else:
                before = float("inf")
            lowest = min(inside, lowest)
        elif it.n_iter > 1:
            it.residual = change

    if step is not None:
        eta = max(
            step.rate * min(1.0, step.hold / max(float(state.n_seen[1]), 1.0)), step.floor
        )
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
    check_lengths(source.p, mean=principal.mean, last=last)
    check_lengths(len(principal.lam), directions=minor.W[0])
    work = np.empty(source.p)
    whitened = np.empty((2, len(principal.lam)))
    start = 0
    for block in source.blocks():
        block_follows = follows[start : start + len(block)]
        states = principal, minor, schedule, step
        slow_rows(block, block_follows, learn_mean, rank_tol, last, *states, work, whitened)
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
    # slowest first, without directions of no variance
    order = np.argsort(minor.eigenvalues, kind="stable")
    varies = principal.lam > rank_tol * principal.lam.max()
    W = np.where(varies, minor.W[order], 0.0)
    if varies.any():
        W = orthonormal_rows(W)

    # back from coordinates of V, whose rows need not be orthogonal
    V = principal.V
    L = V @ V.T
    weights = W / np.sqrt(np.where(varies, principal.lam, 1.0))
    weights = linalg.solve_triangular(
        L, weights.T, trans=1, lower=True, unit_diagonal=True, check_finite=False
    ).T
    B = weights @ V

    # directions without an estimate come last
    estimated = W.any(axis=1) & varies.any()
    order_out = np.argsort(~estimated, kind="stable")
    delta = np.where(estimated, minor.eigenvalues[order], np.inf)
    return np.where(estimated[:, None], B, 0.0)[order_out], delta[order_out]


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
    present = lam > 0
    # dividing by lam keeps the rows near unit vectors, however far apart the variances are
    rows[present] = _covariance_times(source, mean, rows[present]) / lam[present, None]
    return _ritz(source, mean, orthonormal_rows(rows), rank_tol)


def _ritz(source: RowSource, mean: Array, Q: Array, rank_tol: float) -> tuple[Array, Array]:
    present = Q.any(axis=1)
    G = _second_moment(source, mean, Q[present])
    lam, U = linalg.eigh(G, check_finite=False)
    lam = np.maximum(lam[::-1], 0.0)
    U = U[:, ::-1]
    floor = max(rank_tol, len(lam) * float(np.finfo(np.float64).eps))
    keep = lam > floor * lam.max(initial=0.0)
    rows = np.zeros_like(Q)
    variances = np.zeros(len(Q))
    n_kept = int(np.count_nonzero(keep))
    rows[:n_kept] = U[:, keep].T @ Q[present]
    variances[:n_kept] = lam[keep]
    return rows, variances


def refine_minor(source: RowSource, mean: Array, W: Array) -> tuple[Array, Array]:
    """Rayleigh-Ritz step for minor components: smallest variance first."""
    Q = orthonormal_rows(W)
    lam, U = linalg.eigh(_second_moment(source, mean, Q), check_finite=False)
    return U.T @ Q, np.maximum(lam, 0.0)


def whitener(source: RowSource, mean: Array, V: Array, lam: Array) -> Array:
    """Rows that map centred rows of the source to uncorrelated features of unit variance.

    `V` and `lam` come from `refine_principal`. A second look at the outputs removes what
    rounding caused in directions of small variance.
    """
    rows = V / np.sqrt(lam)[:, None]
    for _ in range(2):
        values, U = linalg.eigh(_second_moment(source, mean, rows))
        rows = (
            (U / np.sqrt(values)) @ U.T @ rows
        )  # the symmetric root turns as little as possible
    return rows


def whitened_steps(source: RowSource, mean: Array, follows: Array, rows: Array) -> Array:
    """Return the steps from row to row in the coordinates `rows`, where `follows`."""
    Z = np.concatenate([U @ rows.T for U in source.centred(mean)])
    return np.diff(Z, axis=0)[follows[1:]]


def eigen_residual(
    source: RowSource, mean: Array, rows: Array, values: Array, largest: float
) -> Array:
    """``|C v - lambda v| / largest`` for each unit row v, with the covariance C of the source."""
    size = largest if largest > 0 else 1.0
    CV = _covariance_times(source, mean, rows)
    return np.asarray(linalg.norm(CV / size - (values / size)[:, None] * rows, axis=1))


def orthonormal_rows(V: Array) -> Array:
    """Gram-Schmidt from the first row on; a row that depends on those before becomes zero."""
    out: Array = np.array(V, dtype=np.float64, order="C")
    for j, v in enumerate(out):
        before = linalg.norm(v)
        for _ in range(2):  # twice is enough
            v -= (out[:j] @ v) @ out[:j]
        after = linalg.norm(v)
        v *= 1 / after if after > 1e-8 * before else 0.0
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


def _covariance_times(source: RowSource, mean: Array, rows: Array) -> Array:
    CV: Array = np.zeros_like(rows)
    for U in source.centred(mean):
        CV += (U @ rows.T).T @ U
    CV /= source.n
    return CV


def _second_moment(source: RowSource, mean: Array, rows: Array) -> Array:
    G = np.zeros((len(rows), len(rows)))
    for U in source.centred(mean):
        Y = U @ rows.T
        G += Y.T @ Y
    G /= source.n
    return G
