"""Low rank plus sparse: principal component pursuit, its stable version, and their certificate.

Both minimise, over a matrix L, ``|L|_* + sum h(X - L)`` over the observed entries, where `h` is
the Huber function with slope `lam` and quadratic part ``x**2 / (2 * delta)``; ``delta=0`` gives
``h = lam * |x|``, principal component pursuit. The sparse part is ``soft(X - L, lam * delta)``.
The dual is ``max <Y, X> - delta / 2 |Y|_F^2`` subject to ``|Y|_2 <= 1`` and ``|Y|_inf <= lam``,
with ``Y = 0`` on missing entries.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._jit import jit
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.lowrank.svt import orthonormal, spectral_norm, svt
from skmoderndata._typing import Array

RELAX_AFTER, RELAXATION = 40, 1.6
TINY = float(np.finfo(float).tiny)
DUAL_TOL_RATIO = 100.0  # the dual residual may be so many times the primal tolerance


class PursuitResult(NamedTuple):
    """Factors ``L = U * s @ Vt``, the sparse part, the dual matrix, and what was reached."""

    U: Array
    s: Array
    Vt: Array
    sparse: Array
    dual: Array
    objective: float
    dual_gap: float
    residual: float
    n_iter: int
    converged: bool


def principal_component_pursuit(
    X: Array,
    *,
    lam: float,
    delta: float = 0.0,
    solver: str = "auto",
    schedule: str = "balanced",
    tol: float = 1e-7,
    tol_gap: float = 1e-6,
    max_iter: int = 1000,
    progress: Progress | None = None,
    rng: np.random.RandomState | None = None,
) -> PursuitResult:
    """Minimise ``|L|_* + sum h(X - L)`` by the alternating direction method of multipliers.

    One pass, for the splitting ``Z = X - L``:
    ``L = svt(X - Z + Y / mu, 1 / mu)``, ``Y = clip(mu T / (1 + delta mu), -lam, lam)`` and
    ``Z = T - Y / mu`` with ``T = X - L + Y_old / mu``. The first pass starts from
    ``Z = soft(X, lam / mu)``, which keeps the rank low from the first decomposition on. After
    40 passes L is over-relaxed by 1.6 (a third fewer passes where many are needed, more where few
    are). The penalty `mu` is constant, balanced by the residuals, or grows by 1.5 a pass
    ("ialm"). A pass ends the loop when primal residual ``|X - L - Z|_F``, change of L on missing
    entries (both relative to ``|L|_F``, at least ``1e-6 |X|_F``) and dual residual
    ``mu |Z - Z_old|_F / |Y|_F`` (100 times looser) are below `tol` and then the relative duality
    gap is below `tol_gap`; otherwise the passes go on with `mu` held constant. A residual up to
    ten times `tol` will do when the gap is as much smaller.
    """
    rng = np.random.RandomState(0) if rng is None else rng
    n, p = X.shape
    observed = ~np.isnan(X)
    n_observed = int(observed.sum())
    filled = X if n_observed == X.size else np.where(observed, X, 0.0)
    size = float(linalg.norm(filled))
    if size == 0.0:
        U, s, Vt = np.zeros((n, 0)), np.zeros(0), np.zeros((0, p))
        return PursuitResult(U, s, Vt, filled.copy(), filled.copy(), 0, 0, 0, 1, True)
    mu = n_observed / (4 * float(np.abs(filled).sum()))
    Y, growth, relax, mu_start = np.zeros((n, p)), 1.0, 1.0, mu
    if schedule == "balanced":
        mu *= 0.3  # a low start keeps the rank low; rising later is cheap
    elif schedule == "ialm":
        norm = spectral_norm(filled)
        Y += filled / max(norm, float(np.abs(filled).max()) / lam)
        mu, growth = 1.25 / norm, 1.5
    mu_end = 1e7 * mu
    # X - Z + Y / mu for Z = soft(X + Y / mu, lam / mu): the step that starts from L = 0
    W = np.clip(filled + Y / mu, -lam / mu, lam / mu)
    L = np.empty((n, p))
    subspace: Array | None = None
    # early passes need neither all singular values nor accurate ones
    max_rank, accuracy, check_at = 10 + min(n, p) // 10, 1e-1, 1.0
    gap = objective = np.inf
    it = Iterations(max_iter, 0.0, progress)
    for n_iter in it:
        factors = svt(
            W,
            1 / mu,
            solver=solver,
            subspace=subspace,
            max_rank=max_rank,
            tol=accuracy,
            rng=rng,
        )
        subspace = factors.subspace
        max_rank = 10 + max(3 * factors.s.size // 2, min(n, p) // 10)
        np.dot(factors.U * factors.s, factors.Vt, out=L)
        mu_next = min(mu * growth, mu_end)
        if n_iter > RELAX_AFTER and growth == 1.0:
            relax = RELAXATION
        squares = update_splitting(X, L, Y, W, mu, mu_next, lam, delta, relax)
        primal, change, dual_size, fill = np.sqrt(squares)
        rank_zero = factors.s.size == 0
        scale = size if rank_zero else max(float(linalg.norm(factors.s)), 1e-6 * size)
        primal = max(primal, fill) / scale
        dual = mu * change / max(dual_size, TINY)
        it.residual = max(primal, dual / DUAL_TOL_RATIO)
        accuracy = min(accuracy, max(0.1 * it.residual, 1e-11))
        feasible = growth > 1.0 and primal <= tol  # where the inexact method stops
        tail = n_iter % 50 == 0 and it.residual <= 10 * tol
        if feasible or tail or it.residual <= tol * check_at or n_iter == max_iter:
            objective, gap = duality_gap(X, factors, Y, L=L, lam=lam, delta=delta)
            near = it.residual <= 10 * tol and gap * it.residual <= tol_gap * tol
            it.converged = gap <= tol_gap and (it.residual <= tol or near)
            if it.converged:
                continue
            if growth > 1.0:  # a penalty that has grown has stopped the duals: start afresh
                W += Y * (1 / mu_start - 1 / mu_next)
                mu_next, growth = mu_start, 1.0
            if feasible or not tail:
                check_at = 1.0 if feasible else 0.3 * it.residual / tol
                schedule = "constant"
        if schedule == "balanced" and n_iter % 3 == 0:
            mu_next = _balanced(mu, primal, dual, n_iter)
            W += Y * (1 / mu_next - 1 / mu)
        mu = mu_next
    if not np.isfinite(gap):  # a callback has stopped the passes
        objective, gap = duality_gap(X, factors, Y, L=L, lam=lam, delta=delta)
    sparse = _soft(X, L, Y, lam, delta)
    U, s, Vt = factors.U, factors.s, factors.Vt
    reached = objective, gap, it.residual, it.n_iter, it.converged
    return PursuitResult(U, s, Vt, sparse, Y, *reached)


def _balanced(mu: float, primal: float, dual: float, n_iter: int) -> float:
    """Move mu towards equal residuals, ever less, so that convergence is that of constant mu."""
    ratio = float(np.sqrt(10 * primal / max(dual, 1e-100)))
    if 0.5 < ratio < 2:
        return mu
    factor: float = float(np.clip(ratio, 0.5, 2.0)) ** (1 / (1 + n_iter / 100))
    return mu * factor


@jit
def update_splitting(X, L, Y, W, mu, mu_next, lam, delta, relax):
    """Update Y and ``W = X - Z + Y / mu_next`` in place, one fused pass over memory.

    Returns the squared norms of X - L - Z, Z - Z_old, Y, and of L - L_old on missing entries. Four
    times as fast as the same in NumPy.
    """
    primal, change, dual, fill = 0.0, 0.0, 0.0, 0.0
    inverse, inverse_next, shrink = 1.0 / mu, 1.0 / mu_next, mu / (1.0 + delta * mu)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            low = L[i, j]
            if x != x:  # missing: Z = X - L costs nothing, Y stays 0 and W repeats L
                fill += (low - W[i, j]) ** 2
                W[i, j] = low
                continue
            y_old = Y[i, j]
            z_old = x + y_old * inverse - W[i, j]
            t = relax * (x - low) + (1.0 - relax) * z_old + y_old * inverse
            y = min(max(t * shrink, -lam), lam)
            z = t - y * inverse
            primal += (x - low - z) ** 2
            change += (z - z_old) ** 2
            dual += y * y
            Y[i, j] = y
            W[i, j] = x - z + y * inverse_next
    return primal, change, dual, fill


def _soft(X: Array, L: Array, Y: Array, lam: float, delta: float) -> Array:
    """Sparse part: zero where the dual is inside its bounds, ``X - L -+ lam delta`` elsewhere."""
    S = np.where(np.abs(Y) >= lam, X - L - delta * Y, 0.0)
    S[np.isnan(S)] = 0.0
    return S


def duality_gap(
    X: Array,
    factors: Any,
    Y: Array,
    *,
    lam: float,
    delta: float = 0.0,
    L: Array | None = None,
) -> tuple[float, float]:
    """Objective of L and its relative duality gap, a bound on how far from the optimum it is.

    Any L is feasible (with ``S = X - L``). Any matrix Y becomes dual feasible when it is divided
    by ``max(1, |Y|_2, |Y|_inf / lam)`` and zero on missing entries.
    """
    L = (factors.U * factors.s) @ factors.Vt if L is None else L
    loss = huber(X - L, lam, delta)
    primal = float(factors.s.sum() + np.nansum(loss))
    if primal == 0.0:
        return 0.0, 0.0
    Y = np.where(np.isnan(X), 0.0, Y)
    kappa = max(1.0, spectral_norm(Y), float(np.abs(Y).max()) / lam)
    dual = float(np.nansum(X * Y)) / kappa - delta / 2 * (float(linalg.norm(Y)) / kappa) ** 2
    return primal, max(primal - dual, 0.0) / primal


def polish(
    X: Array, V: Array, sparse: Array, *, tol: float = 1e-9, max_iter: int = 300
) -> tuple[Array, Array, Array, Array] | None:
    """Fit the entries outside the support of `sparse` exactly with the rank of V (p, r).

    Alternating projections: entries in the support or missing (NaN) take the values of L, and L is
    the projection of the result on matrices of that rank, from one pass of subspace iteration.
    From a start that is nearly right the error shrinks linearly, by about the fraction of those
    entries. Returns ``U, s, Vt, sparse``, or None when the misfit stays above ``tol * |X|_F``.
    """
    free = np.isnan(X) | (sparse != 0)
    W = np.where(np.isnan(X), 0.0, X - sparse)
    size = float(linalg.norm(np.where(np.isnan(X), 0.0, X)))
    best, stalled = np.inf, 0
    L = W
    for _ in range(max_iter):
        Q = orthonormal(W @ V)[0]
        B = W.T @ Q
        V = orthonormal(B)[0]
        L = Q @ B.T
        misfit = float(linalg.norm((W - L)[~free]))
        stalled = 0 if misfit < 0.9 * best else stalled + 1
        best = min(best, misfit)
        if stalled == 5 or misfit <= 1e-15 * size:
            break
        np.copyto(W, L, where=free)
    if not best <= tol * size:
        return None
    Z, s, Qt = linalg.svd(B, full_matrices=False, check_finite=False)
    return Q @ Qt.T, s, Z.T, np.where(free & ~np.isnan(X), X - L, 0.0)


def noise_scale(
    X: Array, *, lam: float, solver: str, max_rounds: int = 15, rng: np.random.RandomState
) -> float:
    """Estimate the standard deviation of dense noise on a low-rank matrix with gross errors.

    Fixed point of "stable pursuit with the present estimate, then 1.4826 times the median
    absolute residual", from above, so that every round works at low rank and loose tolerance.
    """
    residual = X
    sigma, first = np.inf, 0.0
    for _ in range(max_rounds):
        middle = np.nanmedian(residual)
        new = 1.4826 * float(np.nanmedian(np.abs(residual - middle)))
        if new <= 1e-6 * (first := max(first, new)):
            return 0.0
        if new > 0.98 * sigma:
            return min(new, sigma)
        sigma = new
        fit = principal_component_pursuit(
            X,
            lam=lam,
            delta=noise_width(sigma, X.shape),
            solver=solver,
            tol=1e-4,
            tol_gap=1e-2,
            max_iter=200,
            rng=rng,
        )
        residual = X - (fit.U * fit.s) @ fit.Vt
    return sigma


def noise_width(sigma: float, shape: tuple[int, int]) -> float:
    """Quadratic width ``delta`` of stable pursuit for noise of standard deviation `sigma`."""
    return sigma * float(np.sqrt(2 * max(shape)))


def huber(X: Array, slope: float, width: float) -> Array:
    """Huber loss: ``X**2 / (2 * width)`` near zero, with slope `slope` in the tails.

    It is the Moreau envelope ``min_S slope * |S| + (X - S)**2 / (2 * width)``; `width=0` gives
    ``slope * |X|``.
    """
    size = np.abs(X)
    inner = np.minimum(size, slope * width)
    out: Array = slope * (size - inner)
    if width > 0:
        out = out + inner**2 / (2 * width)
    return out
