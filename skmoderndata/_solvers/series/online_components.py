"""Passes over a sample with the rules of `online_rules`, and the components of their states."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.lengths import check_lengths
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.series.expansion import BLOCK_ENTRIES, Expansion
from skmoderndata._solvers.series.online_rules import (
    DEPENDENT,
    AmnesicSchedule,
    MinorState,
    PrincipalState,
    StepSchedule,
    minor_rows,
    principal_rows,
    slow_rows,
)

# Function that returns the order of the rows in the next pass; None keeps the order as it is.
Orders = Callable[[], "Array | None"]


class Passes(NamedTuple):
    """Outcome of the passes over a sample."""

    n_iter: int  # number of passes
    residual: float  # change in the last pass; infinite after a single pass
    converged: bool  # whether the change was small enough, or was not checked
    stopped: bool  # whether a callback requested a stop


# ---- passes over a sample -------------------------------------------------------------------


class RowSource:
    """Rows of a dense or sparse array, in blocks that are C-contiguous and writable.

    Parameters
    ----------
    X : array or sparse matrix in CSR format, of shape (n, p)
        Finite rows.
    expansion : Expansion, optional
        Expansion that is applied to each block.
    """

    def __init__(self, X: Any, expansion: Expansion | None = None) -> None:
        self.X = X
        self.expansion = expansion
        self.n = X.shape[0]
        self.p = X.shape[1] if expansion is None else expansion.n_outputs
        self.block_rows = max(BLOCK_ENTRIES // self.p, 100)

    def blocks(self, order: Array | None = None) -> Iterator[Array]:
        """Yield blocks of rows, in the given order if there is one."""
        for start in range(0, self.n, self.block_rows):
            rows: Any = slice(start, min(start + self.block_rows, self.n))
            block = self.X[rows if order is None else order[rows]]
            if hasattr(block, "toarray"):
                block = block.toarray()
            if self.expansion is not None:
                block = self.expansion(block.astype(np.float64, copy=False))
            # convert X, because the loops would be compiled again for other layouts and types
            yield np.require(block, dtype=np.float64, requirements=["C", "W"])

    def centred(self, mean: Array) -> Iterator[Array]:
        """Yield rows minus `mean`, in float64."""
        for block in self.blocks():
            yield block - mean

    def moments(self) -> tuple[Array, float]:
        """Return the mean of the rows and the mean squared distance from it."""
        first = np.zeros(self.p)  # shift that makes the mean of constant columns exact
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
    """Repeat CCIPCA over the rows with constant `state.mean` until the subspace settles.

    Let the rows of D be the components times their standard deviations, and let V be the
    components after the next pass. The passes stop when the fraction of the standard deviation
    that is lost, ``|D (I - V'V)| / |D|``, is at most `tol`. If not `weighted`, the rows of D are
    the components, and the fraction is the root mean square sine of the angles.
    """
    work = np.empty(source.p)
    it = Iterations(max_iter, -1.0 if tol is None else tol, progress)
    loadings: Array | None = None

    for _ in it:
        for block in source.blocks(orders()):
            principal_rows(block, False, state, schedule, work)

        # measure how much of the previous loadings lies outside the new subspace
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
    """Repeat the rule for minor components with constant `mean` until the subspace settles.

    Without `step` the rate is adapted: it begins at 0.9 and is multiplied by 0.7 after each pass
    that lowers the variance inside the subspace by less than one per cent. With `step` it is the
    rate of the stream.

    The passes stop when the sine of the largest angle between the subspaces after two passes is at
    most `tol`; without `step` this must happen twice in a row, because a subspace that still
    improves may turn slowly. The last rate is also returned.
    """
    # centre the rows with a constant mean
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
        # make a pass over the rows
        steps = StepSchedule(eta, float("inf")) if step is None else step
        for block in source.blocks(orders()):
            minor_rows(block, False, held, state, schedule, steps, work)

        # measure the change of the subspace
        new = orthonormal_rows(state.W)
        change = sine_of_angle(old, new)
        old = new

        # adapt the rate: lower it unless the variance in the subspace falls
        if step is None:
            inside = float(np.trace(_second_moment(source, mean, new)))
            if not 100 * EPS * float(state.gamma[0]) < inside <= 0.99 * lowest:
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
    """Return the time at which the schedule of the stream reaches the rate `eta`."""
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
    """Repeat incremental slow feature analysis, learning whitening and directions together.

    The passes stop when the sine of the largest angle between the spans of the features after two
    passes is at most `tol`, in the metric of the whitened rows.
    """
    it = Iterations(max_iter, -1.0 if tol is None else tol, progress)
    last = np.zeros(source.p)
    old: Array | None = None

    for _ in it:
        slow_update(
            source, follows, False, last, principal, minor, schedule, step, rank_tol=rank_tol
        )

        # the inner products of the rows of B @ metric are the covariances of the features
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
    """Make one pass of incremental slow feature analysis; all states are updated in place."""
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


# ---- components of the states ---------------------------------------------------------------


def principal_components(state: PrincipalState) -> tuple[Array, Array]:
    """Return orthonormal components and their variances, largest first.

    CCIPCA keeps its vectors only approximately orthogonal; they are made orthonormal in the order
    of their variances. Components that have not begun are zero rows.
    """
    order = np.argsort(-state.lam, kind="stable")
    Q = orthonormal_rows(state.V[order])
    return Q, np.where(Q.any(axis=1), state.lam[order], 0.0)


def minor_components(state: MinorState) -> tuple[Array, Array]:
    """Return orthonormal minor components and their variances, smallest first."""
    order = np.argsort(state.eigenvalues, kind="stable")
    return orthonormal_rows(state.W[order]), state.eigenvalues[order]


def slow_components(
    principal: PrincipalState, minor: MinorState, *, rank_tol: float
) -> tuple[Array, Array]:
    """Return the weights of the slow features and their delta values, slowest first.

    The whitened coordinates of a row are the same as in CCIPCA, the products with the residuals
    `r_j . V[j]`. They are ``L^-1 V u`` with the unit lower triangle L of ``V V'``. A feature
    without its own direction has zero weights and an infinite delta value.
    """
    # sort by slowness, the slowest first, and drop directions without variance
    order = np.argsort(minor.eigenvalues, kind="stable")
    varies = principal.lam > rank_tol * principal.lam.max()
    W = np.where(varies, minor.W[order], 0.0)
    if varies.any():
        W = orthonormal_rows(W)

    # transform back from the coordinates of V, whose rows need not be orthogonal
    V = principal.V
    L = V @ V.T
    weights = W / np.sqrt(np.where(varies, principal.lam, 1.0))
    weights = linalg.solve_triangular(
        L, weights.T, trans=1, lower=True, unit_diagonal=True, check_finite=False
    ).T
    B = weights @ V

    # put directions without an estimate last
    estimated = W.any(axis=1) & varies.any()
    order_out = np.argsort(~estimated, kind="stable")
    delta = np.where(estimated, minor.eigenvalues[order], np.inf)
    return np.where(estimated[:, None], B, 0.0)[order_out], delta[order_out]


def refine_principal(
    source: RowSource, mean: Array, V: Array, *, rank_tol: float = 0.0
) -> tuple[Array, Array]:
    """Return orthonormal directions near the span of `V`, and the variances along them.

    One step of orthogonal iteration, ``span(V) -> span(C V)`` with the covariance C of the rows,
    divides the error of the subspace by ``lam_k / lam_{k+1}``. It is surrounded by two
    Rayleigh-Ritz steps, which diagonalise C within the span. Directions whose variance is at most
    `rank_tol` of the largest, or pure rounding error, become zero rows.
    """
    rows, lam = _ritz(source, mean, orthonormal_rows(V), rank_tol)
    present = lam > 0
    # dividing by lam keeps the lengths of rows near one, however different the variances are
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
    """Apply a Rayleigh-Ritz step to minor components, smallest variance first."""
    Q = orthonormal_rows(W)
    lam, U = linalg.eigh(_second_moment(source, mean, Q), check_finite=False)
    return U.T @ Q, np.maximum(lam, 0.0)


def whitener(source: RowSource, mean: Array, V: Array, lam: Array) -> Array:
    """Return rows that map centred rows to uncorrelated features of unit variance.

    `V` and `lam` come from `refine_principal`. A second correction removes rounding errors in
    directions of small variance.
    """
    rows = V / np.sqrt(lam)[:, None]
    for _ in range(2):
        values, U = linalg.eigh(_second_moment(source, mean, rows))
        # use the symmetric root, which rotates as little as possible
        rows = (U / np.sqrt(values)) @ U.T @ rows
    return rows


def whitened_steps(source: RowSource, mean: Array, follows: Array, rows: Array) -> Array:
    """Return the steps between rows in the coordinates `rows`, for rows with `follows`."""
    Z = np.concatenate([U @ rows.T for U in source.centred(mean)])
    return np.diff(Z, axis=0)[follows[1:]]


def eigen_residual(
    source: RowSource, mean: Array, rows: Array, values: Array, largest: float
) -> Array:
    """Return ``|C v - lambda v| / largest`` for each unit row v, with the covariance C."""
    size = largest if largest > 0 else 1.0
    CV = _covariance_times(source, mean, rows)
    return np.asarray(linalg.norm(CV / size - (values / size)[:, None] * rows, axis=1))


def orthonormal_rows(V: Array) -> Array:
    """Orthonormalise rows by Gram-Schmidt; a row that depends on previous rows becomes zero."""
    out: Array = np.array(V, dtype=np.float64, order="C")
    for j, v in enumerate(out):
        before = linalg.norm(v)
        for _ in range(2):  # two passes are enough for orthogonality
            v -= (out[:j] @ v) @ out[:j]
        after = linalg.norm(v)
        v *= 1 / after if after > DEPENDENT * before else 0.0
    return out


def orthogonality_error(V: Array) -> float:
    """Return the largest inner product of two different rows."""
    products = V @ V.T
    return float(np.abs(products - np.diag(np.diag(products))).max(initial=0.0))


def sine_of_angle(old: Array, new: Array) -> float:
    """Return the sine of the largest angle between the spans of the rows `old` and `new`."""
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
