"""A table as low rank plus gross errors, exact or with noise in every cell."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.convex_problems import robust_pca, solve_for_factors
from skmoderndata._solvers.common.iterate import WatchedProgress
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

CVXPY_GAP = 1e-5  # what an interior point method reaches
CVXPY_ZERO = 1e-6  # relative to the largest cell


class TableSettings(NamedTuple):
    """How to decompose a table; the names are those of the parameters of `RobustPCA`."""

    lam: float  # weight of the gross errors
    algorithm: str = "auto"
    noise_std: float | None = None
    threshold: float = 5.0  # standard deviations of the noise
    solver: str = "auto"
    schedule: str = "auto"
    tol: float = 1e-6  # largest relative duality gap
    max_iter: int = 5000
    polish: bool | str = "auto"
    n_components: int | None = None  # of a table with noise; None finds them

    @property
    def svt_solver(self) -> str:
        """How singular values are thresholded where cvxpy does not solve the problem."""
        return "auto" if self.solver == "cvxpy" else self.solver

    @property
    def decides(self) -> bool:
        """Whether the cells tell if they are exact."""
        return self.algorithm == "auto" and self.noise_std is None


class TableTerms(NamedTuple):
    """Low rank ``U s Vt``, the errors, and the convex problem whose answer is certified."""

    U: Array
    s: Array
    Vt: Array
    sparse: Array  # (n, p)
    support: Array  # (n, p)
    noise_std: float  # 0 for exact cells
    noise_scale: Array  # (p,), in each column
    column_scale: Array  # (p,), divisors of the columns in the convex problem
    convex: PursuitResult
    polished: bool
    lam: float  # weight of the gross errors
    rank: int  # number of components above the noise
    width: float  # of Huber's function for the scores of a row in units of the scale


def decompose_table(
    X: Array,
    settings: TableSettings,
    *,
    weights: Array | None = None,
    progress: WatchedProgress | None = None,
    rng: np.random.RandomState,
) -> TableTerms:
    """Decompose a table as its cells ask for: exact, or with noise.

    `weights` of the cells multiply their errors where cells are exact, and their squared residuals
    where they carry noise. They do not enter the decision between the two; where X is NaN they are
    of no account, but positive.
    """
    # 1. decide whether the cells carry noise, where the settings leave it open
    n_passes = 0
    is_noisy = settings.algorithm == "stable" or (
        settings.algorithm == "auto" and settings.noise_std
    )
    if settings.decides:
        is_noisy = proves_noise(X, lam=settings.lam, solver=settings.svt_solver, rng=rng)

    # 2. solve for exact cells, which may still reveal noise, and then with weights
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
    """Run principal component pursuit; tell whether the cells are exact."""
    by_cvxpy = settings.solver == "cvxpy"
    if by_cvxpy and not settings.decides:
        return _by_cvxpy(X, settings.lam, 0.0, settings.tol), True

    result, is_exact = exact_or_noisy(
        X,
        lam=settings.lam,
        decide=settings.decides,
        solver=settings.svt_solver,
        schedule=settings.schedule,
        tol=0.1 * settings.tol,
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
    """Solve the convex problem of a table to the tolerance; `n_passes` have been spent before."""
    if settings.solver == "cvxpy":
        return _by_cvxpy(table, slope, width, settings.tol)
    return principal_component_pursuit(
        table,
        lam=slope,
        delta=width,
        solver=settings.solver,
        schedule="balanced" if settings.schedule == "auto" else settings.schedule,
        tol=0.1 * settings.tol,
        tol_gap=settings.tol,
        max_iter=max(settings.max_iter - n_passes, 1),
        progress=progress,
        rng=rng,
    )


def _exact_terms(
    X: Array, result: PursuitResult, settings: TableSettings, weights: Array | None
) -> TableTerms:
    """Take the answer of pursuit, polished to machine precision on request."""
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
    """Decompose into low rank, errors and noise; `n_passes` have been spent before."""
    # noise, and the convex problem that is solved for a table with it
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

    # exact after all, or noisy
    if sigma == 0.0:  # more than half of the cells are met exactly
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

        # noise and residuals in the unit of the table
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
    """Weights over their mean, which the usual width of the loss fits, and the root of the mean.

    That is the unit of the noise: the noise of a cell of weight one is so many times that of a
    cell of mean weight.
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
    """Replace both terms by the exact fit outside the support, if it is equally optimal."""
    exact = polish(data, result.Vt.T, result.sparse)
    if exact is None:
        return result, False
    U, s, Vt, sparse = exact

    # certify the exact fit by the old dual point; take it if the gap is no larger
    better = result._replace(U=U, s=s, Vt=Vt, sparse=sparse)
    objective, gap = duality_gap(data, better, better.dual, lam=lam, delta=delta)
    if gap > max(tol, result.dual_gap):
        return result, False
    return better._replace(objective=objective, dual_gap=gap), True


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

    # measure the gap as for the other solvers
    result = PursuitResult(U, s, Vt, sparse, dual, 0.0, 0.0, 0.0, 1, True)
    value, gap = duality_gap(data, result, dual, lam=lam, delta=delta)
    passes = int(stated.problem.solver_stats.num_iters or 1)
    return result._replace(
        objective=value, dual_gap=gap, n_iter=passes, converged=gap <= max(tol, CVXPY_GAP)
    )
