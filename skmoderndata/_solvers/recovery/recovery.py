"""Sparse codes from few linear measurements, with or without a matrix.

``y ~ A a`` with few non-zeros in a. If the matrix and the inner products of its columns fit in
memory, the compiled coders run; otherwise, the same algorithms run on products with A and its
transpose (`operator_pursuit`, `l1_recovery`).
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.matching_pursuit import nonnegative_matching_pursuit
from skmoderndata._solvers.codes.signal_blocks import MAX_ITER, prepare_atoms, to_dense
from skmoderndata._solvers.codes.thresholding import METHODS as PRUNING
from skmoderndata._solvers.codes.thresholding import hard_thresholding
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.tolerances import ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.recovery.basis_pursuit import MatrixPursuit
from skmoderndata._solvers.recovery.l1_problem import Facts, facts_of
from skmoderndata._solvers.recovery.l1_recovery import least_l1
from skmoderndata._solvers.recovery.measurements import Operator, to_matrix
from skmoderndata._solvers.recovery.operator_pursuit import (
    MAX_STEPS,
    Columns,
    prepare_columns,
    pursue_columns,
)
from skmoderndata._solvers.recovery.optimality import first_of_repeated

METHODS = ("omp", "basis_pursuit", *PRUNING)
# Maximum number of columns whose inner products are worth computing for only a few signals.
DENSE_COLUMNS = 2048


class Recovery(NamedTuple):
    """Codes (N, k), residual norms (N,), relative duality gaps (NaN: none), steps, completion.

    `converged` is False if the limit of steps was reached first.
    """

    codes: Array
    residual: Array
    gap: Array
    n_iter: Array
    converged: Array


class Code(NamedTuple):
    """Code of a single signal, with the fields of `Recovery`."""

    coef: Array
    residual: float
    gap: float
    n_iter: int
    converged: bool


# Function that returns the code of a signal within a given bound.
Solve = Callable[[Array, float], Code]


class Settings(NamedTuple):
    """Arguments of `recover`."""

    method: str
    n_nonzero: int
    positive: bool
    tol: float
    max_iter: int

    def out_of_reach(self) -> ValueError:
        return ValueError(
            f"no {'non-negative ' * self.positive}coefficients reproduce the measurements to "
            "within residual_tol or residual_rtol: increase it, or set both to None for the "
            "smallest residual."
        )


def recover(
    Y: Array,
    A: Operator,
    *,
    method: str,
    n_nonzero: int | None = None,
    residual_tol: float | None = None,
    residual_rtol: float | None = None,
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    memory: float = 2.0**30,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Recovery:
    """Find sparse codes for which A reproduces the measurements `Y` (N, m).

    `residual_tol` bounds the norm of the residual of each row of Y, and `residual_rtol` the same
    relative to the norm of the row; the larger bound applies.

    Parameters
    ----------
    method : str
        "basis_pursuit": ``min |a|_1  s.t.  |y - A a| <= residual_tol`` (0 if None). The others
        search for the smallest residual with `n_nonzero` non-zeros, and stop when it is within the
        bound: "omp", "iht", "htp", "cosamp", "subspace_pursuit". If `n_nonzero` is None, "omp"
        continues up to the bound; without a bound, and in the other methods, it is a quarter of m.
    tol : float
        Relative duality gap, and violation, for basis pursuit.
    max_iter : int
        Maximum number of pairs of products with A and its transpose, for basis pursuit without a
        matrix.
    memory : float
        Maximum number of bytes for the matrix and its inner products.
    progress : Progress or None
        Notified of every signal, or once for all signals if the compiled coders run. Signals after
        a stop have codes of zeros, and have not converged.
    """
    # set the default number of non-zeros
    m, k = A.shape
    bounded = (residual_tol, residual_rtol) != (None, None)
    if n_nonzero is None:
        pursuing = method == "omp" and bounded
        n_nonzero = min(m, k) if pursuing else max(1, m // 4)
    settings = Settings(method, min(n_nonzero, m, k), positive, tol, max_iter)

    # compute the residual bound of each signal, which is 0 without noise
    norms = np.linalg.norm(Y, axis=1)
    relative = (residual_rtol or 0.0) * norms
    bounds = np.maximum(residual_tol or 0.0, relative)

    # form the matrix if it fits in memory, and if there are few columns or many signals
    fits = 8.0 * k * (m + 2.0 * k) <= memory
    formed = fits and (k <= DENSE_COLUMNS or len(Y) >= 16)
    if formed and method != "basis_pursuit":
        limits = bounds**2 if bounded else np.full(len(Y), -1.0)
        return _by_coders(Y, to_matrix(A), settings, limits, n_jobs, progress)

    # solve for one signal at a time, with the requested method
    solve: Solve
    if formed:
        pursuit = MatrixPursuit(to_matrix(A), bound=None, positive=positive, tol=tol)
        solve = partial(_by_matrix, pursuit=pursuit, settings=settings)
    elif method == "basis_pursuit":
        solve = partial(_least_l1_norm, A=A, settings=settings, facts=facts_of(A))
    else:
        columns = prepare_columns(A, Y, positive)
        solve = partial(_by_products, D=columns, settings=settings)
    codes = _each(solve, Y, bounds, n_jobs, progress)
    return _gather(codes, Y, k, method)


def _by_coders(
    Y: Array,
    A: Array,
    settings: Settings,
    limits: Array,
    n_jobs: int | None,
    progress: Progress | None,
) -> Recovery:
    """Run compiled greedy pursuit or hard thresholding on all signals at once."""
    if progress is not None:
        progress.begin()
    # unless signs matter, a column and its opposite count as duplicates
    used = first_of_repeated(A, signed=True) if settings.positive else A
    atoms = prepare_atoms(used.T, normalize=True, distinct=not settings.positive)
    bounds: dict[str, Any] = {
        "n_nonzero": settings.n_nonzero,
        "tol_sq": limits,
        "n_jobs": n_jobs,
    }
    if settings.method == "omp":
        code = (
            nonnegative_matching_pursuit if settings.positive else orthogonal_matching_pursuit
        )
        codes = code(Y, atoms, **bounds)
    else:
        codes = hard_thresholding(
            Y,
            atoms,
            method=settings.method,
            positive=settings.positive,
            max_iter=MAX_STEPS,
            **bounds,
        )

    if progress is not None:
        progress.end()

    # signals whose norm is within their bound get the code zero
    a = to_dense(codes, A.shape[1])
    residual = np.sqrt(codes.residual_sq)
    norms = np.linalg.norm(Y, axis=1)
    nothing = norms**2 <= limits
    a[nothing] = 0.0
    residual[nothing] = norms[nothing]
    converged = (codes.stop != MAX_ITER) | nothing
    no_gap = np.full(len(Y), np.nan)
    return Recovery(a, residual, no_gap, codes.n_iter, converged)


def _by_matrix(y: Array, bound: float, *, pursuit: MatrixPursuit, settings: Settings) -> Code:
    """Run basis pursuit with a matrix."""
    if bound > 0:
        pursuit = MatrixPursuit(
            pursuit.A, bound=bound, positive=settings.positive, tol=settings.tol
        )
    result = pursuit.solve(y)
    if result is None:
        raise settings.out_of_reach()
    residual = float(np.linalg.norm(y - pursuit.A @ result.coef))
    gap = result.gap
    return Code(result.coef, residual, gap, result.n_iter, gap <= settings.tol)


def _least_l1_norm(
    y: Array, bound: float, *, A: Operator, settings: Settings, facts: Facts
) -> Code:
    """Run basis pursuit without a matrix."""
    size = float(np.linalg.norm(y))
    if size <= bound:
        return Code(np.zeros(A.shape[1]), size, 0.0, 0, True)
    unit_y = y / size
    result = least_l1(
        unit_y,
        A,
        bound=bound / size,
        positive=settings.positive,
        tol=settings.tol,
        max_iter=settings.max_iter,
        facts=facts,
    )
    if not result.reachable:
        raise settings.out_of_reach()
    image = A.forward(result.coef[None])[0]
    residual = float(np.linalg.norm(unit_y - image))
    coef = size * result.coef
    return Code(coef, size * residual, result.gap, result.n_iter, result.converged)


def _by_products(y: Array, bound: float, *, D: Columns, settings: Settings) -> Code:
    """Run greedy pursuit or hard thresholding without a matrix."""
    size = float(np.linalg.norm(y))
    if size <= bound:
        return Code(np.zeros(D.A.shape[1]), size, np.nan, 0, True)
    bound = max(bound / size, ROUNDING)
    D = D._replace(X=y[None] / size)
    a, steps, converged = pursue_columns(settings.method, D, settings.n_nonzero, bound)
    residual = float(np.linalg.norm(D.residuals(a[None])))
    coef = size * a * D.scale
    return Code(coef, size * residual, np.nan, steps, converged)


def _each(
    solve: Solve, Y: Array, bounds: Array, n_jobs: int | None, progress: Progress | None
) -> list[Code]:
    """Return the results for the signals in order; fewer if the progress requests a stop."""
    from joblib import Parallel, delayed

    # use threads, which share the matrix
    parallel = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
    signals = zip(Y, bounds, strict=True)
    results = parallel(delayed(solve)(y, bound) for y, bound in signals)
    if progress is None:
        return list(results)
    codes: list[Code] = []
    for _ in range(len(Y)):
        progress.begin()
        codes.append(next(results))
        if progress.end():
            with warnings.catch_warnings():  # joblib warns about results that are not consumed
                warnings.simplefilter("ignore", UserWarning)
                results.close()
            break
    return codes


def _gather(codes: list[Code], Y: Array, k: int, method: str) -> Recovery:
    if len(Y) == 0:
        empty = np.zeros(0)
        return Recovery(np.zeros((0, k)), empty, empty, np.zeros(0, int), np.zeros(0, bool))
    unproved = 1.0 if method == "basis_pursuit" else np.nan
    for y in Y[len(codes) :]:  # signals for which no computation was started
        residual = float(np.linalg.norm(y))
        codes.append(Code(np.zeros(k), residual, unproved, 0, not y.any()))
    fields = zip(*codes, strict=True)
    return Recovery(*(np.array(values) for values in fields))
