"""Low rank plus sparse: principal component pursuit, its stable version, and their certificate.

Both minimise, over a matrix L, ``|L|_* + sum h(X - L)`` over the observed entries, where `h` is
the Huber function with slope `lam` and quadratic part ``x**2 / (2 * delta)``; ``delta=0`` gives
``h = lam * |x|``, principal component pursuit. The sparse part is ``S = soft(X - L, lam * delta)``.
The dual is ``max <Y, X> - delta / 2 |Y|_F^2`` subject to ``|Y|_2 <= 1`` and ``|Y|_inf <= lam``,
with ``Y = 0`` on missing entries.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._jit import jit
from skmoderndata._solvers.iterate import Iterations, Progress
from skmoderndata._solvers.prox import huber
from skmoderndata._solvers.svt import ThresholdedSVD, orthonormal, spectral_norm, svt

Array = np.ndarray[Any, np.dtype[Any]]

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
    schedule: str = "constant",
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
    ``Z = soft(X, lam / mu)``, which keeps the rank low from the first decomposition on. The
    penalty `mu` is constant, balanced by the residuals, or grows by 1.5 a pass ("ialm"). A pass
    ends the loop when primal residual ``|X - L - Z|_F / |X|_F``, change of L on missing entries,
    and dual residual ``mu |Z - Z_old|_F / |Y|_F`` (100 times looser) are below `tol` and then the
    relative duality gap is below `tol_gap`; otherwise the passes go on with `mu` held constant.

    Parameters
    ----------
    X : array of shape (n, p)
        C-contiguous float64, NaN where missing, of moderate scale.
    lam, delta : float
        Slope and quadratic width of the loss.
    solver, schedule, tol, tol_gap, max_iter, progress, rng
        See `svt` and above.
    """
    rng = np.random.RandomState(0) if rng is None else rng
    n, p = X.shape
    observed = ~np.isnan(X)
    n_observed = int(observed.sum())
    filled = X if n_observed == X.size else np.where(observed, X, 0.0)
    size = float(linalg.norm(filled))
    if size == 0.0:
        zero = np.zeros((n, p))
        return PursuitResult(
            np.zeros((n, 0)), np.zeros(0), np.zeros((0, p)), zero, zero.copy(), 0, 0, 0, 1, True
        )
    mu = n_observed / (4 * float(np.abs(filled).sum()))
    Y, growth = np.zeros((n, p)), 1.0
    if schedule == "ialm":
        norm = spectral_norm(filled, rng=rng)
        Y += filled / max(norm, float(np.abs(filled).max()) / lam)
        mu, growth = 1.25 / norm, 1.5
    mu_end = 1e7 * mu
    # X - Z + Y / mu for Z = soft(X + Y / mu, lam / mu): the step that starts from L = 0
    W = np.clip(filled + Y / mu, -lam / mu, lam / mu)
    L = np.empty((n, p))
    factors = ThresholdedSVD(L, L, L, None, 1.0, 0)
    gap, objective, accuracy, check_at = np.inf, np.inf, 1e-2, 1.0
    it = Iterations(max_iter, 0.0, progress)
    for n_iter in it:
        factors = svt(
            W, 1 / mu, solver=solver, subspace=factors.subspace, tol=accuracy, rng=rng
        )
        np.dot(factors.U * factors.s, factors.Vt, out=L)
        mu_next = min(mu * growth, mu_end)
        sums = _update(X, L, Y, W, mu, mu_next, lam, delta)
        primal, change, dual_size, fill = np.sqrt(sums)
        primal /= size
        fill /= size
        dual = mu * change / max(dual_size, np.finfo(float).tiny)
        it.residual = max(primal, fill, dual / DUAL_TOL_RATIO)
        accuracy = min(accuracy, max(0.1 * it.residual, 1e-11))
        if it.residual <= tol * check_at or n_iter == max_iter:
            objective, gap = duality_gap(X, factors, Y, L=L, lam=lam, delta=delta, rng=rng)
            if gap <= tol_gap:
                it.converged = it.residual <= tol
                break
            check_at = 0.3 * it.residual / tol
            growth, schedule = 1.0, "constant"
        if schedule == "balanced":
            mu_next = _balanced(mu, primal, dual, n_iter)
            if mu_next != mu:
                W += Y * (1 / mu_next - 1 / mu)
        mu = mu_next
    sparse = _soft(X, L, Y, lam, delta, mu)
    return PursuitResult(
        factors.U,
        factors.s,
        factors.Vt,
        sparse,
        Y,
        objective,
        gap,
        it.residual,
        it.n_iter,
        it.converged,
    )


def _balanced(mu: float, primal: float, dual: float, n_iter: int) -> float:
    ratio = 1 + 1.0 / (1 + n_iter / 10)
    if primal > 10 * dual:
        return mu * ratio
    if dual > 100 * primal:
        return mu / ratio
    return mu


@jit
def _update(X, L, Y, W, mu, mu_next, lam, delta):  # type: ignore[no-untyped-def]
    """Update Y and W in place; return four sums of squares: X-L-Z, Z-Z_old, Y, L-L_old missing."""
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
            if x != x:  # missing: Z = X - L costs nothing, Y stays 0 and W repeats L
                step = low - W[i, j]
                fill += step * step
                W[i, j] = low
                continue
            y_old = Y[i, j]
            t = x - low + y_old * inverse
            y = min(max(t * shrink, -lam), lam)
            z = t - y * inverse
            residual = x - low - z
            step = z - (x + y_old * inverse - W[i, j])
            primal += residual * residual
            change += step * step
            dual += y * y
            Y[i, j] = y
            W[i, j] = x - z + y * inverse_next
    return primal, change, dual, fill


def _soft(X: Array, L: Array, Y: Array, lam: float, delta: float, mu: float) -> Array:
    """Sparse part: zero where the dual matrix is inside its bounds, ``X - L -+ lam delta`` else."""
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
    rng: np.random.RandomState | None = None,
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
    start = None if factors.s.size == 0 else factors.Vt.T
    kappa = max(1.0, spectral_norm(Y, start=start, rng=rng), float(np.abs(Y).max()) / lam)
    dual = float(np.nansum(X * Y)) / kappa - delta / 2 * (float(linalg.norm(Y)) / kappa) ** 2
    return primal, max(primal - dual, 0.0) / primal
