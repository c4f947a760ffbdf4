"""Low rank, gross errors and noise in every cell: a convex problem, then a refit."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.principal_component_pursuit import PursuitResult, huber
from skmoderndata._solvers.lowrank.refit import COLUMN_WEIGHT, Refit, refit, whitened
from skmoderndata._solvers.lowrank.table_noise import (
    column_noise,
    column_scale,
    first_noise,
    noise_width,
    weighted_widths,
)

SolveConvex = Callable[[Array, float], PursuitResult]  # (table, delta) -> certified answer


class NoisyTable(NamedTuple):
    """Low rank ``U s Vt`` of the table, what lies beyond the noise, and where it comes from."""

    U: Array
    s: Array
    Vt: Array
    outlying: Array  # (n, p)
    noise_std: float  # in a column of median noise
    noise_scale: Array  # (p,), in each column
    convex: PursuitResult  # of the table divided by `scale`
    scale: Array  # (p,), with median one
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

    With `weights` of the cells `sigma` is that of a cell of weight one, and they take the place of
    divisors of the columns: who gives them knows how the noise of cells differs. The components
    are those above the noise, or `n_components`, if that is given.
    """
    # 1. stable pursuit; where the noise of the columns differs, of the columns divided by it
    scale = np.ones(X.shape[1])
    convex = solve(X, noise_width(sigma, X.shape))
    L = (convex.U * convex.s) @ convex.Vt
    if not known_noise and weights is None:
        divisors = column_scale(X, first_noise(X - L, sigma), sigma)
        if divisors is not None:
            scale = divisors
            convex = solve(X / scale, noise_width(sigma, X.shape))
            L = (convex.U * convex.s) @ convex.Vt

    # 2. the refit, unless it explains the cells worse
    table = X / scale
    given: dict[str, Any] = {"known_noise": known_noise, "weights": weights}
    fitted = None
    if refits:
        start = convex.Vt.T
        fitted = refit(table, L, start, sigma=sigma, threshold=threshold, **given)
    loss = weighted_widths(lam, noise_width(sigma, table.shape), weights)
    if fitted is not None and not explains_more(table, fitted, convex, *loss):
        fitted = None
    if fitted is None and (n_components is None or not refits):
        return _as_it_is(X, convex, scale, sigma, threshold, **given)

    # 3. once more, with weights by the noise that the refit has found
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

    # 4. as many components as were asked for
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
            **given,
        )

    assert fitted is not None  # a refit of a given rank always answers
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
    """Whether the Huber loss of the refit is at most that of as many convex components."""
    rank = fitted.A.shape[1]
    refitted = fitted.A @ fitted.B.T
    pursued = (convex.U[:, :rank] * convex.s[:rank]) @ convex.Vt[:rank]
    losses = [float(np.nansum(huber(table - L, slope, width))) for L in (refitted, pursued)]
    return losses[0] <= losses[1]


def _as_it_is(
    X: Array,
    convex: PursuitResult,
    scale: Array,
    sigma: float,
    threshold: float,
    *,
    known_noise: bool,
    weights: Array | None,
) -> NoisyTable:
    """Keep the convex solution; find the cells beyond the noise of its residual."""
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
    """Singular value decomposition of ``A B' diag(scale)``."""
    Q, R = linalg.qr(A, mode="economic")
    V, T = linalg.qr(B * scale[:, None], mode="economic")
    U, s, Vt = linalg.svd(R @ T.T)
    return Q @ U, s, Vt @ V.T
