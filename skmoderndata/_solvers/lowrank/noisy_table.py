"""Decompose a table into low rank, gross errors and noise: a convex problem, then a refit.

Differs from the paper (Zhou et al. 2010, stable principal component pursuit): a refit by least
squares outside the gross errors undoes the shrinkage, and columns have their own noise.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.principal_component_pursuit import PursuitResult, huber
from skmoderndata._solvers.lowrank.quantiles import COLUMN_WEIGHT
from skmoderndata._solvers.lowrank.refit import Refit, refit, whitened
from skmoderndata._solvers.lowrank.table_noise import (
    column_noise,
    column_scale,
    first_noise,
    noise_width,
    weighted_widths,
)

# Function from (table, delta) to a certified result.
SolveConvex = Callable[[Array, float], PursuitResult]


class NoisyTable(NamedTuple):
    """Low rank ``U s Vt`` of the table, cells beyond the noise, noise, and convex solution."""

    U: Array
    s: Array
    Vt: Array
    outlying: Array  # (n, p), mask of cells beyond the noise
    noise_std: float  # noise of a column whose noise is the median
    noise_scale: Array  # (p,), noise of each column
    convex: PursuitResult  # solution for the table divided by `scale`
    scale: Array  # (p,), divisors of the columns, with median 1
    refitted: bool
    rank: int  # number of components above the noise


def decompose_noisy(
    X: Array,
    solve: SolveConvex,
    *,
    lam: float,
    sigma: float,
    threshold: float,
    refits: bool = True,
    known_noise: bool = False,
    weights: Array | None = None,
    n_components: int | None = None,
) -> NoisyTable:
    """Decompose a table with noise of standard deviation `sigma`, an estimate unless known.

    With `weights` of the cells, `sigma` is the noise of a cell with weight one, and columns have
    no divisors, because the weights already describe how the noise of cells differs. The
    components are those above the noise, or `n_components` of them if given.
    """
    # 1. run stable pursuit; if the noise of the columns differs, divide the columns by it and run
    # pursuit again
    scale = np.ones(X.shape[1])
    convex = solve(X, noise_width(sigma, X.shape))
    L = (convex.U * convex.s) @ convex.Vt
    if not known_noise and weights is None:
        divisors = column_scale(X, first_noise(X - L, sigma), sigma)
        if divisors is not None:
            scale = divisors
            convex = solve(X / scale, noise_width(sigma, X.shape))
            L = (convex.U * convex.s) @ convex.Vt

    # 2. refit, and keep the refit unless it explains the cells less well than the convex solution
    table = X / scale
    noise_options: dict[str, Any] = {"known_noise": known_noise, "weights": weights}
    fitted = None
    if refits:
        start = convex.Vt.T
        fitted = refit(table, L, start, sigma=sigma, threshold=threshold, **noise_options)
    loss = weighted_widths(lam, noise_width(sigma, table.shape), weights)
    if fitted is not None and not explains_more(table, fitted, convex, *loss):
        fitted = None
    if fitted is None and (n_components is None or not refits):
        return _without_refit(X, convex, scale, sigma, threshold, **noise_options)

    # 3. refit once more, with columns divided by the noise of the first refit
    final = scale
    if fitted is not None and not known_noise and scale.max() > scale.min():
        divisors = column_scale(table, fitted.noise_scale, fitted.noise_std)
        again = None
        if divisors is not None:
            final = scale * divisors
            low_rank = (fitted.A @ fitted.B.T) / divisors
            start = fitted.B / divisors[:, None]
            again = refit(
                X / final,
                low_rank,
                linalg.qr(start, mode="economic")[0],
                sigma=fitted.noise_std,
                threshold=threshold,
            )
        fitted, final = (fitted, scale) if again is None else (again, final)

    # 4. refit with the requested number of components
    rank = len(convex.s)
    if fitted is not None:
        rank = fitted.A.shape[1]
        L = fitted.A @ fitted.B.T
        sigma = fitted.noise_std
    if n_components not in (None, rank) or fitted is None:
        start = convex.Vt.T
        fitted = refit(
            X / final,
            L,
            start,
            sigma=sigma,
            threshold=threshold,
            n_components=n_components,
            **noise_options,
        )

    assert fitted is not None  # a refit of fixed rank always succeeds
    factors = _in_units(fitted.A, fitted.B, final)
    noise = fitted.noise_scale * final
    return NoisyTable(
        *factors, fitted.outlying, fitted.noise_std, noise, convex, scale, True, rank
    )


def explains_more(
    table: Array,
    fitted: Refit,
    convex: PursuitResult,
    slope: float | Array,
    width: float | Array,
) -> bool:
    """Return True if the Huber loss of the refit is at most the loss of the convex solution.

    The convex solution is cut to the rank of the refit.
    """
    rank = fitted.A.shape[1]
    refitted = fitted.A @ fitted.B.T
    pursued = (convex.U[:, :rank] * convex.s[:rank]) @ convex.Vt[:rank]
    losses = [float(np.nansum(huber(table - L, slope, width))) for L in (refitted, pursued)]
    return losses[0] <= losses[1]


def _without_refit(
    X: Array,
    convex: PursuitResult,
    scale: Array,
    sigma: float,
    threshold: float,
    *,
    known_noise: bool,
    weights: Array | None,
) -> NoisyTable:
    """Keep the convex solution, and find the cells beyond the noise of its residual."""
    observed = ~np.isnan(X)
    L = (convex.U * convex.s) @ convex.Vt
    residual = whitened(X / scale, L, observed, None if weights is None else np.sqrt(weights))
    noise = np.full(X.shape[1], sigma)
    if not known_noise:
        noise = column_noise(residual, observed, sigma, weight=COLUMN_WEIGHT)
    outlying = np.abs(residual) > threshold * noise
    factors = _in_units(convex.U * convex.s, convex.Vt.T, scale)
    return NoisyTable(
        *factors, outlying, sigma, noise * scale, convex, scale, False, len(convex.s)
    )


def _in_units(A: Array, B: Array, scale: Array) -> tuple[Array, Array, Array]:
    """Compute the singular value decomposition of ``A B' diag(scale)``."""
    Q, R = linalg.qr(A, mode="economic")
    V, T = linalg.qr(B * scale[:, None], mode="economic")
    U, s, Vt = linalg.svd(R @ T.T)
    return Q @ U, s, Vt @ V.T
