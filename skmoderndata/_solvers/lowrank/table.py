"""Decompose a table into low rank plus gross errors, exactly or with noise in every cell."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.convex_problems import robust_pca, solve_for_factors
from skmoderndata._solvers.common.iterate import WatchedProgress
from skmoderndata._solvers.common.tolerances import INNER_SHARE
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.exact_or_noisy import exact_or_noisy
from skmoderndata._solvers.lowrank.noise_proof import proves_noise
from skmoderndata._solvers.lowrank.noise_start import start_noise, weighted_noise
from skmoderndata._solvers.lowrank.noisy_table import decompose_noisy
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    PursuitResult,
    duality_gap,
    polish,
    principal_component_pursuit,
)
from skmoderndata._solvers.lowrank.table_noise import noise_width, weighted_widths

# Maximum number of rows plus columns of a table that an interior point method accepts.
CVXPY_LIMIT = 200

# Largest duality gap that counts as converged for an interior point method.
CVXPY_GAP = 1e-5

# Maximum error that counts as zero for an interior point method, relative to the largest cell.
CVXPY_ZERO = 1e-6


class TableSettings(NamedTuple):
    """Settings of the decomposition of a table, named as the parameters of `RobustPCA`."""

    lam: float  # weight of the gross errors
    algorithm: str = "auto"
    noise_std: float | None = None
    threshold: float = 5.0  # in standard deviations of the noise
    solver: str = "auto"
    schedule: str = "auto"
    tol: float = 1e-6  # largest relative duality gap
    max_iter: int = 5000
    polish: bool | str = "auto"
    n_components: int | None = None  # number of components of a noisy table; None estimates it

    @property
    def svt_solver(self) -> str:
        """Method to threshold singular values in problems that cvxpy does not solve."""
        return "auto" if self.solver == "cvxpy" else self.solver

    @property
    def decides(self) -> bool:
        """True if the decision between exact and noisy cells depends on the data."""
        return self.algorithm == "auto" and self.noise_std is None


class TableTerms(NamedTuple):
    """Low rank ``U s Vt``, the errors, and the convex problem with its certified solution."""

    U: Array
    s: Array
    Vt: Array
    sparse: Array  # (n, p), errors
    support: Array  # (n, p), mask of wrong cells
    noise_std: float  # noise of a typical column, 0 for exact cells
    noise_scale: Array  # (p,), noise of each column
    column_scale: Array  # (p,), divisors of the columns in the convex problem
    convex: PursuitResult
    polished: bool
    lam: float  # weight of the gross errors
    rank: int  # number of components above the noise
    width: float  # width of Huber's function for scores of rows divided by `column_scale`


def decompose_table(
    X: Array,
    settings: TableSettings,
    *,
    weights: Array | None = None,
    progress: WatchedProgress | None = None,
    rng: np.random.RandomState,
) -> TableTerms:
    """Decompose a table with exact or noisy cells.

    `weights` of the cells multiply the errors of exact cells, or the squared residuals of noisy
    cells. They do not affect the decision between the two. Weights of NaN cells have no effect,
    but must be positive.
    """
    # 1. decide whether the cells are noisy, unless the settings determine this
    n_passes = 0
    is_noisy = settings.algorithm == "stable" or (
        settings.algorithm == "auto" and settings.noise_std
    )
    if settings.decides:
        is_noisy = proves_noise(X, lam=settings.lam, solver=settings.svt_solver, rng=rng)

    # 2. solve for exact cells, which may still reveal noise; once the cells are known to be exact,
    # solve with the weights, if any
    if settings.noise_std == 0 or not is_noisy:
        if weights is None or settings.decides:
            result, is_exact = _pursue(X, settings, progress, rng)
            n_passes = result.n_iter
        else:
            is_exact = True
        if is_exact and weights is not None:
            loss = weighted_widths(settings.lam, 0.0, weights)
            result = _solve_certified(X, *loss, settings, n_passes, progress, rng)
            result = result._replace(n_iter=result.n_iter + n_passes)
        if is_exact:
            return _exact_terms(X, result, settings, weights)
    return _noisy_terms(X, settings, n_passes, progress, rng, weights)


def _pursue(
    X: Array,
    settings: TableSettings,
    progress: WatchedProgress | None,
    rng: np.random.RandomState,
) -> tuple[PursuitResult, bool]:
    """Run principal component pursuit; also return True if the cells are exact."""
    by_cvxpy = settings.solver == "cvxpy"
    if by_cvxpy and not settings.decides:
        return _by_cvxpy(X, settings.lam, 0.0, settings.tol), True

    result, is_exact = exact_or_noisy(
        X,
        lam=settings.lam,
        decide=settings.decides,
        solver=settings.svt_solver,
        schedule=settings.schedule,
        tol=INNER_SHARE * settings.tol,
        tol_gap=settings.tol,
        max_iter=settings.max_iter,
        progress=progress,
        rng=rng,
    )
    if by_cvxpy and is_exact:
        result = _by_cvxpy(X, settings.lam, 0.0, settings.tol)
    return result, is_exact


def _solve_certified(
    table: Array,
    slope: float | Array,
    width: float | Array,
    settings: TableSettings,
    n_passes: int,
    progress: WatchedProgress | None,
    rng: np.random.RandomState,
) -> PursuitResult:
    """Solve the convex problem of a table to the tolerance, after `n_passes` earlier passes."""
    if settings.solver == "cvxpy":
        return _by_cvxpy(table, slope, width, settings.tol)
    return principal_component_pursuit(
        table,
        lam=slope,
        delta=width,
        solver=settings.solver,
        schedule="balanced" if settings.schedule == "auto" else settings.schedule,
        tol=INNER_SHARE * settings.tol,
        tol_gap=settings.tol,
        max_iter=max(settings.max_iter - n_passes, 1),
        progress=progress,
        rng=rng,
    )


def _exact_terms(
    X: Array, result: PursuitResult, settings: TableSettings, weights: Array | None
) -> TableTerms:
    """Return the terms of a pursuit, polished to machine precision on request."""
    polished = False
    if settings.polish is True and result.s.size:
        lam, delta = weighted_widths(settings.lam, 0.0, weights)
        result, polished = _polished(X, result, lam, delta, settings.tol)

    p = X.shape[1]
    factors = result.U, result.s, result.Vt
    sparse = result.sparse
    support = result.sparse != 0
    return TableTerms(
        *factors,
        sparse,
        support,
        noise_std=0.0,
        noise_scale=np.zeros(p),
        column_scale=np.ones(p),
        convex=result,
        polished=polished,
        lam=settings.lam,
        rank=len(result.s),
        width=0.0,
    )


def _noisy_terms(
    X: Array,
    settings: TableSettings,
    n_passes: int,
    progress: WatchedProgress | None,
    rng: np.random.RandomState,
    weights: Array | None,
) -> TableTerms:
    """Decompose into low rank, errors and noise, after `n_passes` earlier passes."""
    # estimate the noise, and state the convex problem
    lam = settings.lam
    relative, unit = _relative_weights(X, weights)
    sigma = None if settings.noise_std is None else settings.noise_std / unit
    solver = settings.svt_solver
    if sigma is None and relative is not None:
        sigma = weighted_noise(X, relative, lam=lam, solver=solver, rng=rng)
    elif sigma is None:
        sigma = start_noise(X, lam=lam, solver=solver, rng=rng)
    spent = [n_passes]

    def solve(table: Array, delta: float) -> PursuitResult:
        loss = weighted_widths(lam, delta, relative if delta > 0 else weights)
        result = _solve_certified(table, *loss, settings, sum(spent), progress, rng)
        spent.append(result.n_iter)
        return result

    # solve for exact cells if the estimated noise is zero, and otherwise for noisy cells
    if sigma == 0.0:  # more than half of the cells are fitted exactly
        terms = _exact_terms(X, solve(X, 0.0), settings, weights)
    else:
        split = decompose_noisy(
            X,
            solve,
            lam=lam,
            sigma=float(sigma),
            threshold=settings.threshold,
            refits=settings.polish is not False,
            known_noise=settings.noise_std is not None,
            weights=relative,
            n_components=settings.n_components,
        )

        # convert the noise and the residuals to the unit of the table
        residual = X - (split.U * split.s) @ split.Vt
        terms = TableTerms(
            U=split.U,
            s=split.s,
            Vt=split.Vt,
            sparse=np.where(split.outlying, residual, 0.0),
            support=split.outlying,
            noise_std=split.noise_std * unit,
            noise_scale=split.noise_scale * unit,
            column_scale=split.scale,
            convex=split.convex,
            polished=split.refitted,
            lam=lam,
            rank=split.rank,
            width=lam * noise_width(split.noise_std * unit, X.shape) * unit,
        )

    n_iter = sum(spent) if settings.solver != "cvxpy" else terms.convex.n_iter
    return terms._replace(convex=terms.convex._replace(n_iter=n_iter))


def _relative_weights(X: Array, weights: Array | None) -> tuple[Array | None, float]:
    """Return the weights over their mean, for the usual width of the loss, and the unit of noise.

    The unit is the root of the mean weight. It is the ratio of the noise of a cell with weight one
    to the noise of a cell with mean weight.
    """
    if weights is None:
        return None, 1.0
    mean = float(weights[~np.isnan(X)].mean())
    return weights / mean, float(np.sqrt(mean))


def _polished(
    data: Array,
    result: PursuitResult,
    lam: float | Array,
    delta: float | Array,
    tol: float,
) -> tuple[PursuitResult, bool]:
    """Replace low rank and errors by the exact fit outside the support, if equally optimal."""
    exact = polish(data, result.Vt.T, result.sparse)
    if exact is None:
        return result, False
    U, s, Vt, sparse = exact

    # certify the exact fit by the previous dual point, and accept the fit if its gap is at most
    # the tolerance or the previous gap
    better = result._replace(U=U, s=s, Vt=Vt, sparse=sparse)
    objective, gap = duality_gap(data, better, better.dual, lam=lam, delta=delta)
    if gap > max(tol, result.gap):
        return result, False
    return better._replace(objective=objective, gap=gap), True


def _by_cvxpy(
    data: Array, lam: float | Array, delta: float | Array, tol: float
) -> PursuitResult:
    """Solve the problem as a semidefinite program with cvxpy and Clarabel."""
    size = np.nanmax(np.abs(data)) or 1.0  # the tolerances of Clarabel are absolute
    stated = robust_pca(data / size, lam, delta=delta / size)
    U, s, Vt = solve_for_factors(stated, size, "solver='auto'")

    # recover the dual point from the residuals or, for exact cells, the multipliers
    observed = ~np.isnan(data)
    residual = np.where(observed, data - (U * s) @ Vt, 0.0)
    if np.any(delta > 0):
        dual = np.clip(residual / delta, -lam, lam)
    else:
        dual = np.where(observed, stated.constraint.dual_value, 0.0)
        dual *= np.sign(np.nansum(dual * data))
    sparse = residual - delta * dual
    sparse[np.abs(sparse) <= CVXPY_ZERO * size] = 0.0

    # compute the gap in the same way as for the other solvers
    result = PursuitResult(U, s, Vt, sparse, dual, 0.0, 0.0, 0.0, 1, True)
    value, gap = duality_gap(data, result, dual, lam=lam, delta=delta)
    passes = int(stated.problem.solver_stats.num_iters or 1)
    return result._replace(
        objective=value, gap=gap, n_iter=passes, converged=gap <= max(tol, CVXPY_GAP)
    )
