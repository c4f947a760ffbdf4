"""Ridge regression for a path of penalties, with exact leave-one-out predictions.

Arrays may come from NumPy or another library of the Array API standard. H (n x L) holds the
outputs of the first layer, Y (n x t) the targets and w (n) the weights.

As in the papers (Allen 1974; Golub, Heath and Wahba 1979), with sample weights.
"""

from typing import Any, NamedTuple

from skmoderndata._solvers.common.arrays import namespace
from skmoderndata._solvers.common.linalg import EPS

Array = Any

# Minimum of 1 - leverage; below it, the sample alone determines a direction.
SMALLEST_FREEDOM = 1e-10

# Minimum mean of 1 - leverage; its square must exceed the rounding error of squares, 1e-14.
SMALLEST_MEAN_FREEDOM = 1e-6


class Statistics(NamedTuple):
    """Sums over samples that determine a ridge regression; they add up over blocks.

    With an intercept, all sums are about the means; without one, the means are zero.

    Attributes
    ----------
    n_samples : int
        Number of samples with positive weight.
    weight : float
        Sum of the weights.
    h_mean, y_mean : array of shape (L,) and (t,)
        Weighted means.
    S, B : array of shape (L, L) and (L, t)
        ``sum w h h'`` and ``sum w h y'``.
    y_sq : array of shape (t,)
        ``sum w y^2``.
    """

    n_samples: int
    weight: float
    h_mean: Array
    y_mean: Array
    S: Array
    B: Array
    y_sq: Array


def statistics(H: Array, Y: Array, w: Array, *, intercept: bool) -> Statistics:
    """Sum over one block of samples."""
    xp = namespace(H)
    weight = float(xp.sum(w))

    # centre at the means if there is an intercept
    h_mean = xp.zeros_like(H[0, :])
    y_mean = xp.zeros_like(Y[0, :])
    if intercept and weight > 0:
        h_mean = w @ H / weight
        y_mean = w @ Y / weight

    root = xp.sqrt(w)[:, None]
    H = root * (H - h_mean)
    Y = root * (Y - y_mean)

    S = H.T @ H
    B = H.T @ Y
    y_sq = xp.sum(Y * Y, axis=0)
    counted = xp.astype(w > 0, xp.int64)
    n_samples = int(xp.sum(counted))
    return Statistics(n_samples, weight, h_mean, y_mean, S, B, y_sq)


def add(a: Statistics, b: Statistics) -> Statistics:
    """Combine the statistics of two sets of samples; the order does not matter."""
    weight = a.weight + b.weight
    share = b.weight / weight if weight > 0 else 0.0

    # the difference of the means contributes the part between the two sets
    d = b.h_mean - a.h_mean
    e = b.y_mean - a.y_mean
    between = a.weight * share
    d_column = d[:, None]
    S = a.S + b.S + between * (d_column * d[None, :])
    B = a.B + b.B + between * (d_column * e[None, :])
    y_sq = a.y_sq + b.y_sq + between * (e * e)

    n = a.n_samples + b.n_samples
    h_mean = a.h_mean + share * d
    y_mean = a.y_mean + share * e
    return Statistics(n, weight, h_mean, y_mean, S, B, y_sq)


class Spectrum(NamedTuple):
    """``S = V diag(values) V'`` without the null space, and ``VB = V'B``."""

    values: Array
    V: Array
    VB: Array


def spectrum(total: Statistics, rows: Array | None = None) -> Spectrum:
    """Return eigenvalues and eigenvectors of S.

    If there are fewer rows than columns, `rows` holds all rows ``sqrt(w) (h - h_mean)``, and the
    smaller matrix of their inner products is decomposed.
    """
    xp = namespace(total.S)
    matrix = total.S if rows is None else rows @ rows.T
    values, V = xp.linalg.eigh(matrix)

    # drop the null space: the eigenvalues that may be rounding errors of zero
    size = max(total.n_samples, total.S.shape[0])
    largest = float(values[-1])
    cut = largest * size * EPS
    is_rounding = values <= max(cut, 0.0)
    first = int(xp.sum(xp.astype(is_rounding, xp.int64)))
    values = values[first:]
    V = V[:, first:]

    # compute V = rows' U / sqrt(values), where U are the eigenvectors of rows rows'
    if rows is not None:
        V = rows.T @ V / xp.sqrt(values)
    return Spectrum(values, V, V.T @ total.B)


def held_out(
    H: Array,
    Y: Array,
    w: Array,
    total: Statistics,
    parts: Spectrum,
    alphas: Array,
    *,
    intercept: bool,
) -> tuple[Array, Array]:
    """Predict each sample of a block by the ridge regression on all other samples.

    With ``U = (H - h_mean) V`` the weighted leverage is ``h = w (1 / sum w + sum_j U_j^2 /
    (values_j + alpha))``. Leaving the sample out divides its residual by ``1 - h`` (Allen 1974).

    Returns
    -------
    predictions : array of shape (n, n_alphas, t)
        Predictions for every alpha.
    determined : array of bool of shape (n_alphas,)
        True if ``1 - h`` is above rounding errors for every sample.
    """
    xp = namespace(H)

    # compute the leverages of the samples for each penalty
    U = (H - total.h_mean) @ parts.V
    inverse = 1 / (parts.values[:, None] + alphas[None, :])  # (rank, k)
    leverage = (U * U) @ inverse
    if intercept:
        leverage = leverage + 1 / total.weight
    free = 1 - w[:, None] * leverage

    # compute the fitted values (n, k, t) by one product
    n = H.shape[0]
    k = alphas.shape[0]
    t = Y.shape[1]
    coef = inverse[:, :, None] * parts.VB[:, None, :]
    side_by_side = U @ xp.reshape(coef, (U.shape[1], k * t))
    fitted = xp.reshape(side_by_side, (n, k, t)) + total.y_mean

    # divide errors by 1 - leverage unless a sample determines its own prediction
    enough = free > SMALLEST_FREEDOM
    free = xp.where(enough, free, xp.ones_like(free))
    target = Y[:, None, :]
    residual = (target - fitted) / free[:, :, None]
    return target - residual, xp.all(enough, axis=0)


def cross_validated_squares(
    total: Statistics, parts: Spectrum, alphas: Array, *, intercept: bool
) -> Array:
    """Sum the squared held-out residuals (n_alphas x t) by generalised cross-validation.

    Replaces the leverage of each sample, as in `held_out`, by the mean over the samples (Golub,
    Heath and Wahba 1979): ``sum w r^2 / (1 - mean h)^2``. The result is infinite if ``1 - mean h``
    is below the rounding errors of the residuals.
    """
    xp = namespace(parts.values)

    # reshape eigenvalues and penalties so that they broadcast to (rank, k)
    values = parts.values[:, None]
    a = alphas[None, :]

    # compute sum w r^2 = y'y - b' (2 (S + a)^-1 - (S + a)^-1 S (S + a)^-1) b
    shrunk = (values + 2 * a) / (values + a) ** 2
    explained = shrunk.T @ (parts.VB * parts.VB)
    squares = total.y_sq[None, :] - explained
    squares = xp.where(squares > 0, squares, xp.zeros_like(squares))

    # compute 1 - mean leverage
    of_intercept = 1.0 if intercept else 0.0
    n_par = xp.sum(values / (values + a), axis=0) + of_intercept
    free = 1 - n_par / max(total.n_samples, 1)
    enough = free > SMALLEST_MEAN_FREEDOM
    free = xp.where(enough, free, xp.ones_like(free))[:, None]

    held_out_squares = squares / free**2
    infinite = xp.full_like(squares, xp.inf)
    return xp.where(enough[:, None], held_out_squares, infinite)


def ridge_from_spectrum(parts: Spectrum, alpha: float) -> Array:
    """Return the coefficients (L x t) of least norm that minimise the penalised squares."""
    damped = parts.values[:, None] + alpha
    return parts.V @ (parts.VB / damped)


def ridge(total: Statistics, alpha: float) -> Array:
    """Return ``(S + alpha I)^-1 B``, or the solution of least norm if S + alpha I is singular."""
    xp = namespace(total.S)
    L = total.S.shape[0]
    trace = float(xp.linalg.trace(total.S))
    if alpha <= trace * L * EPS:
        return ridge_from_spectrum(spectrum(total), alpha)
    eye = xp.eye(L, dtype=total.S.dtype, device=total.S.device)
    return xp.linalg.solve(total.S + alpha * eye, total.B)


def n_parameters(total: Statistics, alpha: float) -> float:
    """Return the effective number of coefficients, ``sum values / (values + alpha)``."""
    xp = namespace(total.S)
    values = xp.linalg.eigvalsh(total.S)
    size = max(total.n_samples, total.S.shape[0])
    cut = max(float(values[-1]), 0.0) * size * EPS
    above = values > cut
    safe = xp.where(above, values, xp.ones_like(values))
    fractions = xp.where(above, safe / (safe + alpha), xp.zeros_like(values))
    return float(xp.sum(fractions))


def optimality(total: Statistics, coef: Array, alpha: float) -> float:
    """Return the certificate: the norm of ``(S + alpha I) W - B`` over the norm of B."""
    xp = namespace(total.B)
    gradient = total.S @ coef + alpha * coef - total.B
    size = 0.0
    if total.B.shape[0] > 0:
        size = float(xp.max(xp.abs(total.B)))
    if size == 0:
        return 0.0

    # compute squares in units of the largest entry, so that they neither overflow nor underflow
    squares = xp.sum((gradient / size) ** 2)
    squares_of_B = xp.sum((total.B / size) ** 2)
    return float(xp.sqrt(squares / squares_of_B))
