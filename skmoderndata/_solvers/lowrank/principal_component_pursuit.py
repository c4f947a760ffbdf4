"""Low rank plus sparse: principal component pursuit, its stable version, and their certificate.

Both minimise, over a matrix L, ``|L|_* + sum h(X - L)`` over the observed entries, where `h` is
the Huber function with slope `lam` and quadratic part ``x**2 / (2 * delta)``; ``delta=0`` gives
``h = lam * |x|``, principal component pursuit. The sparse part is ``soft(X - L, lam * delta)``.
The dual is ``max <Y, X> - delta / 2 |Y|_F^2`` subject to ``|Y|_2 <= 1`` and ``|Y|_inf <= lam``,
with ``Y = 0`` on missing entries.

With weights `w` of the entries, `lam` and `delta` are arrays of the shape of X: ``lam w`` to
penalise the sum of ``w |S|``, or ``delta / w`` to weight the quadratic term. The dual is then
``max <Y, X> - 1/2 sum delta Y^2`` subject to ``|Y|_2 <= 1`` and ``|Y| <= lam`` entry by entry.

Differs from the paper (Candes et al. 2011): 1. The penalty of the augmented Lagrangian changes,
and later passes are over-relaxed. 2. A duality gap certifies the result. 3. Entries may be
missing, noisy or weighted.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.tolerances import (
    INNER_SHARE,
    PROGRESS,
    SINGLE_ROUNDING,
    SMALLEST_DIVISOR,
    TINY,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.svt import orthonormal, spectral_norm, svt

# Number of passes before over-relaxation begins.
RELAX_AFTER = 40

# Over-relaxation factor.
RELAXATION = 1.6

# Tolerance of the dual residual, in multiples of the tolerance of the primal residual.
DUAL_TOL_RATIO = 100.0

# Factor by which the penalty grows in each pass of the inexact method.
GROWTH = 1.5

# First growing penalty, relative to 1 / |X|_2 [Lin, Chen and Ma 2010, Algorithm 5].
FIRST_GROWN = 1.25

# Maximum ratio of the grown penalty to the first penalty.
GROWTH_LIMIT = 1e7

# Fraction of the penalty of Candes et al. [2011, section 5] with which balancing starts; a low
# start keeps the rank low, and raising the penalty later takes little time.
LOW_START = 0.3

# Number of passes between two certificates once the residuals are nearly small enough.
TAIL_EVERY = 50


class PursuitResult(NamedTuple):
    """Factors ``L = U * s @ Vt``, the sparse part, the dual matrix, and their quality."""

    U: Array
    s: Array
    Vt: Array
    sparse: Array
    dual: Array
    objective: float
    gap: float
    residual: float
    n_iter: int
    converged: bool


class PursuitState(NamedTuple):
    """Arrays of a pass, all with the shape of X and written in place."""

    L: Array  # low-rank part
    Y: Array  # dual variable
    W: Array  # X - Z + Y / mu, whose singular values are thresholded in the next pass


def _zero_result(zeros: Array) -> PursuitResult:
    """Return the solution for a table of zeros."""
    n, p = zeros.shape
    U = np.zeros((n, 0))
    Vt = np.zeros((0, p))
    return PursuitResult(U, np.zeros(0), Vt, zeros.copy(), zeros.copy(), 0, 0, 0, 1, True)


# Function of (n_iter, L, Y, rank) that returns True to stop.
Watch = Callable[[int, Array, Array, int], bool]


def principal_component_pursuit(
    X: Array,
    *,
    lam: float | Array,
    delta: float | Array = 0.0,
    solver: str = "auto",
    schedule: str = "balanced",
    tol: float = 1e-7,
    tol_gap: float = 1e-6,
    max_iter: int = 1000,
    progress: Progress | None = None,
    rng: np.random.RandomState | None = None,
    watch: Watch | None = None,
) -> PursuitResult:
    """Minimise ``|L|_* + sum h(X - L)`` by the alternating direction method of multipliers.

    A pass, for the splitting ``Z = X - L``, is ``L = svt(X - Z + Y / mu, 1 / mu)``,
    ``Y = clip(mu T / (1 + delta mu), -lam, lam)`` and ``Z = T - Y / mu`` with
    ``T = X - L + Y_old / mu``. The first pass starts from ``Z = soft(X, lam / mu)``, which keeps
    the rank low from the first decomposition on. After 40 passes L is over-relaxed by 1.6, which
    saves a third of the passes if many are needed, but takes more if few are. The penalty `mu` is
    "constant", "balanced" by the residuals, or grows by 1.5 a pass ("ialm") until the primal
    residual is below `tol`.

    The loop stops when three residuals are below `tol` and the relative duality gap is below
    `tol_gap`. The residuals are the primal one, ``|X - L - Z|_F``, and the change of L on missing
    entries, both relative to ``|L|_F`` (at least ``1e-6 |X|_F`` and the norm of the noise), and
    the dual one, ``mu |Z - Z_old|_F / |Y|_F``, with a tolerance 100 times larger. If only the gap
    is too large, passes continue with constant `mu`. Residuals up to ten times `tol` are accepted
    if the gap is smaller by the same factor.

    `watch` is called after each pass. `lam` and `delta` are both numbers, or both arrays of the
    shape of X.
    """
    rng = np.random.RandomState(0) if rng is None else rng
    shape = X.shape
    missing = np.isnan(X)
    filled = np.where(missing, 0.0, X) if missing.any() else X
    size = float(linalg.norm(filled))
    if size == 0.0:
        return _zero_result(filled)

    # if L is smaller than the noise, it need not be more accurate than the noise
    noise = max(SINGLE_ROUNDING * size, float(np.median(delta) * np.sqrt(min(shape) / 2)))
    step: Any = update_splitting if np.ndim(lam) == 0 else update_weighted
    penalty = _penalty_of(filled, X.size - int(missing.sum()), schedule)
    state = start(filled, penalty.mu, lam, grows=penalty.growth > 1.0)

    # early passes need neither all singular values nor accurate ones
    max_rank = 10 + min(shape) // 10
    accuracy = 1e-1
    subspace: Array | None = None
    check_at = 1.0
    relax = 1.0
    gap = objective = np.inf

    it = Iterations(max_iter, 0.0, progress)
    for n_iter in it:
        # 1. update L: threshold the singular values of X - Z + Y / mu
        mu = penalty.mu
        factors = svt(
            state.W, 1 / mu, solver=solver, subspace=subspace, max_rank=max_rank, tol=accuracy,
            rng=rng,
        )  # fmt: skip
        subspace = factors.subspace
        max_rank = 10 + max(3 * factors.s.size // 2, min(shape) // 10)
        np.dot(factors.U * factors.s, factors.Vt, out=state.L)

        # 2. update Y, Z: clip and shift in one pass over memory [Candes et al. 2011, Algorithm 1]
        if n_iter > RELAX_AFTER and penalty.growth == 1.0:
            relax = RELAXATION
        mu_next = penalty.grown()
        squares = step(X, *state, mu, mu_next, lam, delta, relax)

        # 3. compute the residuals, the primal one relative to |L|_F, the dual one to |Y|_F
        primal, dual = relative_residuals(squares, factors.s, mu, size, noise)
        it.residual = max(primal, dual / DUAL_TOL_RATIO)
        accuracy = min(accuracy, max(INNER_SHARE * it.residual, 1e-11))

        # 4. compute the gap only if the residuals are small, because it needs a spectral norm; if
        # `grown_out`, the published inexact method would stop without a gap
        grown_out = penalty.growth > 1.0 and primal <= tol
        tail = n_iter % TAIL_EVERY == 0 and it.residual <= 10 * tol
        if grown_out or tail or it.residual <= tol * check_at or n_iter == max_iter:
            objective, gap = duality_gap(X, factors, state.Y, L=state.L, lam=lam, delta=delta)
            near = it.residual <= 10 * tol and gap * it.residual <= tol_gap * tol
            it.converged = gap <= tol_gap and (it.residual <= tol or near)
            if it.converged:
                continue
            # the penalty has grown so much that the duals hardly change; restart it
            if penalty.growth > 1.0:
                mu_next = _rescale(state, mu_next, penalty.restart())
            if grown_out or not tail:
                check_at = 1.0 if grown_out else 0.3 * it.residual / tol
                penalty.balances = False

        # 5. set the penalty of the next pass, and update W for it
        penalty.mu = mu_next
        _rescale(state, mu_next, penalty.balance(primal, dual, n_iter))
        it.ended = watch is not None and watch(n_iter, state.L, state.Y, factors.s.size)

    if not np.isfinite(gap):  # a callback or `watch` has stopped the passes
        objective, gap = duality_gap(X, factors, state.Y, L=state.L, lam=lam, delta=delta)
    sparse = soft(X, state.L, state.Y, lam, delta)
    U = factors.U
    s = factors.s
    Vt = factors.Vt
    reached = objective, gap, it.residual, it.n_iter, it.converged
    return PursuitResult(U, s, Vt, sparse, state.Y, *reached)


class Penalty:
    """Penalty parameter `mu` of the augmented Lagrangian, updated from pass to pass."""

    def __init__(
        self, total: float, n_observed: int, schedule: str, norm: float = np.inf
    ) -> None:
        # `total` is the sum of absolute values; only a growing penalty needs the spectral `norm`
        self.first = n_observed / (4 * total)  # [Candes et al. 2011, section 5]
        self.balances = schedule == "balanced"
        self.growth = GROWTH if schedule == "ialm" else 1.0

        self.mu = self.first
        if self.balances:
            self.mu *= LOW_START
        elif self.growth > 1.0:
            self.mu = FIRST_GROWN / norm
        self.limit = GROWTH_LIMIT * self.mu

    def grown(self) -> float:
        """Return the next value, before it is balanced by the residuals."""
        return min(self.mu * self.growth, self.limit)

    def restart(self) -> float:
        """Stop the growth, and return the first value."""
        self.growth = 1.0
        return self.first

    def balance(self, primal: float, dual: float, n_iter: int) -> float:
        """Move mu towards balanced residuals by decreasing factors, so that passes converge."""
        if self.balances and n_iter % 3 == 0:
            ratio = float(np.sqrt(10 * primal / max(dual, SMALLEST_DIVISOR)))
            if not 0.5 < ratio < 2:
                self.mu *= float(np.clip(ratio, 0.5, 2.0)) ** (1 / (1 + n_iter / 100))
        return self.mu


def _penalty_of(filled: Array, n_observed: int, schedule: str) -> Penalty:
    norm = spectral_norm(filled) if schedule == "ialm" else np.inf
    return Penalty(float(np.abs(filled).sum()), n_observed, schedule, norm)


def start(filled: Array, mu: float, lam: float | Array, *, grows: bool) -> PursuitState:
    """Return the state for L = 0 and ``Z = soft(X + Y / mu, lam / mu)``.

    Y is 0, or a multiple of X if the penalty grows.
    """
    Y = np.zeros(filled.shape)
    if grows:
        norm = FIRST_GROWN / mu
        Y += filled / max(norm, float((np.abs(filled) / lam).max()))
    W = np.clip(filled + Y / mu, -lam / mu, lam / mu)
    return PursuitState(np.empty(filled.shape), Y, W)


def _rescale(state: PursuitState, mu: float, mu_next: float) -> float:
    """Convert W from the penalty `mu` to `mu_next`, in place; return `mu_next`."""
    if mu_next != mu:
        np.add(state.W, state.Y * (1 / mu_next - 1 / mu), out=state.W)
    return mu_next


def relative_residuals(
    squares: tuple[float, float, float, float], s: Array, mu: float, size: float, least: float
) -> tuple[float, float]:
    """Return the primal residual over ``|L|_F`` (or `least`), and the dual one over ``|Y|_F``."""
    primal, change, dual_size, fill = np.sqrt(squares)
    scale = max(float(linalg.norm(s)), least) if s.size else size
    return max(primal, fill) / scale, mu * change / max(dual_size, TINY)


@jit
def update_splitting(X, L, Y, W, mu, mu_next, lam, delta, relax):
    """Update Y and ``W = X - Z + Y / mu_next`` in place, in one fused pass over memory.

    Returns the squared norms of X - L - Z, Z - Z_old, Y, and of L - L_old on missing entries. It
    is four times as fast as the same computation in NumPy.
    """
    primal = 0.0
    change = 0.0
    dual = 0.0
    fill = 0.0
    inverse = 1.0 / mu
    inverse_next = 1.0 / mu_next
    shrink = mu / (1.0 + delta * mu)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            low = L[i, j]
            # missing cells: Z = X - L adds nothing to the objective, Y stays 0 and W repeats L
            if x != x:
                fill += (low - W[i, j]) ** 2
                W[i, j] = low
                continue

            # 1. dual step: clip the residual to [-lam, lam]
            y_old = Y[i, j]
            z_old = x + y_old * inverse - W[i, j]
            t = relax * (x - low) + (1.0 - relax) * z_old + y_old * inverse
            y = min(max(t * shrink, -lam), lam)
            z = t - y * inverse

            # 2. add up the squares for the norms of the residuals
            primal += (x - low - z) ** 2
            change += (z - z_old) ** 2
            dual += y * y

            # 3. store Y, and W, which the next pass thresholds
            Y[i, j] = y
            W[i, j] = x - z + y * inverse_next
    return primal, change, dual, fill


def update_weighted(
    X: Array,
    L: Array,
    Y: Array,
    W: Array,
    mu: float,
    mu_next: float,
    lam: Array,
    delta: Array,
    relax: float,
) -> tuple[float, float, float, float]:
    """Update as `update_splitting`, with a bound `lam` and a width `delta` for each entry."""
    missing = np.isnan(X)
    x = np.where(missing, 0.0, X)
    fill = float(((L - W)[missing] ** 2).sum())

    # 1. dual step: clip the residual to [-lam, lam]
    z_old = x + Y / mu - W
    t = relax * (x - L) + (1.0 - relax) * z_old + Y / mu
    y = np.clip(t * mu / (1.0 + delta * mu), -lam, lam)
    z = t - y / mu

    # 2. set missing cells: Z = X - L adds nothing to the objective, Y stays 0 and W repeats L
    y[missing] = 0.0
    z[missing] = z_old[missing] = (x - L)[missing]
    np.copyto(Y, y)
    np.copyto(W, np.where(missing, L, x - z + y / mu_next))

    # 3. compute the squares for the residuals
    primal, change, dual = (float((a * a).sum()) for a in (x - L - z, z - z_old, y))
    return primal, change, dual, fill


def soft(X: Array, L: Array, Y: Array, lam: float | Array, delta: float | Array) -> Array:
    """Return the sparse part: ``X - L -+ lam delta``, or zero if the dual is inside its bounds."""
    S = np.where(np.abs(Y) >= lam, X - L - delta * Y, 0.0)
    S[np.isnan(S)] = 0.0
    return S


def duality_gap(
    X: Array,
    factors: Any,
    Y: Array,
    *,
    lam: float | Array,
    delta: float | Array = 0.0,
    L: Array | None = None,
) -> tuple[float, float]:
    """Return the objective of L and its relative duality gap, a bound on the suboptimality.

    Any L is feasible (with ``S = X - L``). Any matrix Y becomes dual feasible if it is set to zero
    on missing entries and divided by ``max(1, |Y|_2, |Y|_inf / lam)``; if `lam` is an array, the
    last term is ``max |Y| / lam``.
    """
    L = (factors.U * factors.s) @ factors.Vt if L is None else L
    loss = huber(X - L, lam, delta)
    primal = float(factors.s.sum() + np.nansum(loss))
    if primal == 0.0:
        return 0.0, 0.0
    Y = np.where(np.isnan(X), 0.0, Y)
    largest = float((np.abs(Y) / lam).max())
    kappa = max(1.0, spectral_norm(Y), largest)
    product = float(np.nansum(X * Y))
    if np.ndim(delta) == 0:
        return primal, gap_of_sums(primal, float(linalg.norm(Y)), product, kappa, float(delta))
    charge = float((delta * (Y / kappa) ** 2).sum()) / 2
    return primal, relative_gap(primal, product / kappa - charge, unit=primal)


def gap_of_sums(
    primal: float, size: float, product: float, kappa: float, delta: float
) -> float:
    """Return the relative duality gap from ``|Y|_F``, ``<X, Y>`` and the divisor `kappa` of Y."""
    dual = product / kappa - delta / 2 * (size / kappa) ** 2
    return relative_gap(primal, dual, unit=primal)


def polish(
    X: Array, V: Array, sparse: Array, *, tol: float = 1e-9, max_iter: int = 300
) -> tuple[Array, Array, Array, Array] | None:
    """Fit the entries outside the support of `sparse` exactly with the rank of V (p, r).

    Alternating projections replace entries in the support and missing entries (NaN) by the values
    of L, and L by the projection of the result on matrices of this rank, from one pass of subspace
    iteration. Near the solution, the error shrinks linearly, by about the fraction of the replaced
    entries. Returns ``U, s, Vt, sparse``, or None if the misfit stays above ``tol * |X|_F``.
    """
    # find the entries that are replaced by the values of L
    free = np.isnan(X) | (sparse != 0)
    W = np.where(np.isnan(X), 0.0, X - sparse)
    size = float(linalg.norm(np.where(np.isnan(X), 0.0, X)))
    best = np.inf
    stalled = 0

    L = W
    for _ in range(max_iter):
        # 1. project onto the matrices of this rank
        Q = orthonormal(W @ V)[0]
        B = W.T @ Q
        V = orthonormal(B)[0]
        L = Q @ B.T

        # 2. stop when the misfit of the fitted entries is a rounding error or no longer falls
        misfit = float(linalg.norm((W - L)[~free]))
        stalled = 0 if misfit < PROGRESS * best else stalled + 1
        best = min(best, misfit)
        if stalled == 5 or misfit <= 1e-15 * size:
            break

        np.copyto(W, L, where=free)

    # return the singular value decomposition if the fit is exact
    if not best <= tol * size:
        return None
    Z, s, Qt = linalg.svd(B, full_matrices=False, check_finite=False)
    return Q @ Qt.T, s, Z.T, np.where(free & ~np.isnan(X), X - L, 0.0)


def huber(X: Array, slope: float | Array, width: float | Array) -> Array:
    """Compute the Huber loss: ``X**2 / (2 * width)`` near zero, with slope `slope` in the tails.

    It is the Moreau envelope ``min_S slope * |S| + (X - S)**2 / (2 * width)``; `width=0` gives
    ``slope * |X|``. Slope and width may be arrays of the shape of X.
    """
    size = np.abs(X)
    inner = np.minimum(size, slope * width)
    out: Array = slope * (size - inner)
    if np.any(width > 0):
        out = out + inner**2 / (2 * width)
    return out
