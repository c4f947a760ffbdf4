"""Newton steps on the coefficients of a group lasso that are not zero.

The objective is smooth there: a group norm has gradient ``w_g / |w_g|`` and Hessian
``(I - w_g w_g' / |w_g|^2) / |w_g|``.
"""

from typing import Any

import numpy as np
from scipy import linalg

from skmoderndata._jit import jit

Array = np.ndarray[Any, np.dtype[Any]]

NEWTON_SIZE = 3000  # equations of a step, at most


def newton_step(
    work: Any, a: Array, c: Array, group_lam: Array, single_lam: float, positive: bool
) -> Array:
    """Coefficients after a Newton step on those that are not zero; the same if none is lower.

    The objective is smooth there: the group norms have gradient ``w_g / |w_g|`` and Hessian
    ``(I - w_g w_g' / |w_g|^2) / |w_g|``. Coefficients that change their sign against a kink, and
    groups that turn round, are set to zero; where that is not lower, the step ends at the first.
    """
    S = np.flatnonzero(a)
    if S.size == 0:
        return a
    owner = np.repeat(np.arange(len(group_lam)), np.diff(work.edges))[S]
    first = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    sizes = np.diff(np.append(first, S.size))
    z, lams = a[S], group_lam[owner[first]]
    norms = np.sqrt(np.add.reduceat(z * z, first))
    slope = np.repeat(lams / norms, sizes) * z + single_lam * np.sign(z) - c[S]
    rows, columns = work.X.X.T, work.columns[S]
    samples = rows.shape[1]
    if work.gram is None and S.size > samples >= len(first) and lams.all():
        d = direction_by_samples(rows, columns, slope, z, first, sizes, norms, lams)
    elif S.size > (max(500, 2 * samples) if work.gram is None else NEWTON_SIZE):
        return a
    else:
        H = rows[columns] @ rows[columns].T if work.gram is None else work.gram[np.ix_(S, S)]
        add_curvature(H, z, first, sizes, lams / norms, 1 / norms)
        d = newton_direction(H, slope)
    descent = -1.0 if d is None else float(slope @ d)
    if d is None or not np.isfinite(descent) or descent >= 0:
        return a
    # step sizes at which coefficients pass a kink at zero, and groups turn round
    with np.errstate(divide="ignore", invalid="ignore"):
        zero_at = np.repeat(norms**2 / -np.add.reduceat(z * d, first), sizes)
        zero_at[zero_at <= 0] = np.inf
        if single_lam > 0 or positive:
            own = -z / d
            zero_at = np.where(own > 0, np.minimum(zero_at, own), zero_at)
    penalty = float(lams @ norms) + single_lam * float(np.abs(z).sum())
    slack = 4 * np.finfo(np.float64).eps * (penalty + abs(float(z @ c[S])))  # rounding
    ordered = np.sort(zero_at[zero_at < 1])
    halves = len(ordered) >> np.arange(1, 1 + len(ordered).bit_length())
    tried = np.concatenate([[1.0], ordered[halves[halves > 0] - 1]])
    tried = np.append(tried, tried[-1] * 0.5 ** np.arange(1, 20))
    best, out = np.inf, a
    for size in tried:
        new = np.where(zero_at <= size, 0.0, z + size * d)
        move = new - z
        if work.gram is None:
            image = times_rows(rows, columns, move)
            curve = float(image @ image)
        else:
            image = np.zeros(len(a))
            image[S] = move
            curve = float(image @ (work.gram @ image))
        change = 0.5 * curve - float(c[S] @ move) - penalty
        change += float(lams @ np.sqrt(np.add.reduceat(new * new, first)))
        change += single_lam * float(np.abs(new).sum())
        if change >= best:
            break
        if change <= 1e-4 * size * descent + slack:
            best = change
            out = np.zeros_like(a)
            out[S] = new
            if size == 1 and not ordered.size:
                break
    return out


def newton_direction(H: Array, slope: Array) -> Array | None:
    """Newton direction; a little is added to the diagonal where the Hessian is singular."""
    top = float(np.diagonal(H).max())
    for ridge in (1e-13, 1e-10, 1e-7):
        H[np.diag_indices_from(H)] += ridge * top
        try:
            factor = linalg.cho_factor(H, check_finite=False)
        except linalg.LinAlgError:
            continue
        return -np.asarray(linalg.cho_solve(factor, slope, check_finite=False))
    return None


@np.errstate(over="ignore", invalid="ignore")
def direction_by_samples(
    rows: Array, columns: Array, slope: Array, z: Array, first: Array, sizes: Array,
    norms: Array, lams: Array,
) -> Array | None:  # fmt: skip
    """Newton direction with more coefficients than samples, by systems of the size of the latter.

    With ``A`` the columns in rows, the Hessian is ``A A' + D``, where D is ``lam_g / |z_g|``
    across ``u_g = z_g / |z_g|`` and zero along it. What lies across is eliminated, which leaves
    ``K = I + T' T``, ``T = D^-1/2 A`` across, for the image of the step, and ``U K^-1 U'``,
    ``U = u_g' A_g``, for the steps along. Single precision: the slope is exact, so that the
    next step makes up for it.
    """
    across, along = _split(rows, columns, z, first, sizes, norms, lams)
    u = z / np.repeat(norms, sizes)
    bend = np.repeat(np.sqrt(np.where(sizes == 1, 0.0, norms / lams)), sizes)
    slope_along = np.add.reduceat(slope * u, first)
    slope_across = bend * (slope - np.repeat(slope_along, sizes) * u)
    K = across.T @ across
    K[np.diag_indices_from(K)] += 1.0
    right = np.vstack([along, slope_across.astype(np.float32) @ across]).T
    try:
        L = linalg.cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    half = linalg.solve_triangular(L, right, lower=True, overwrite_b=True, check_finite=False)
    M = (half[:, :-1].T @ half).astype(np.float64)
    steps = newton_direction(M[:, :-1], slope_along - M[:, -1])
    if steps is None:
        return None
    image = half @ np.append(steps, -1.0).astype(np.float32)
    image = linalg.solve_triangular(L, image, lower=True, trans=1, check_finite=False)
    out: Array = np.repeat(steps, sizes) * u - bend * (slope_across + across @ image)
    return out


@jit
def times_rows(rows, columns, a):
    """Linear combination of some rows."""
    out = np.zeros(rows.shape[1])
    for j in range(len(columns)):
        if a[j] != 0.0:
            row = rows[columns[j]]
            for q in range(len(out)):
                out[q] += a[j] * row[q]
    return out


@jit
def _split(rows, columns, z, first, sizes, norms, lams):
    """Columns along ``u_g = z_g / |z_g|``, and across it, times the root of ``|z_g| / lam_g``."""
    n = rows.shape[1]
    across, along = np.zeros((len(z), n), np.float32), np.zeros((len(first), n), np.float32)
    total = np.empty(n)
    for g in range(len(first)):
        total[:] = 0.0
        for j in range(first[g], first[g] + sizes[g]):
            row, v = rows[columns[j]], z[j] / norms[g]
            for q in range(n):
                total[q] += v * row[q]
        along[g] = total
        if sizes[g] == 1:
            continue
        scale = np.sqrt(norms[g] / lams[g])
        for j in range(first[g], first[g] + sizes[g]):
            row, out, v = rows[columns[j]], across[j], z[j] / norms[g]
            for q in range(n):
                out[q] = scale * (row[q] - v * total[q])
    return across, along


@jit
def add_curvature(H, z, first, sizes, lams, inverse):
    """Add ``lam_g / |z_g| (I - z_g z_g' / |z_g|^2)`` to the blocks; `lams` holds ``lam/|z_g|``."""
    for g in range(len(first)):
        if sizes[g] == 1:
            continue
        for i in range(first[g], first[g] + sizes[g]):
            H[i, i] += lams[g]
            u = z[i] * inverse[g]
            for j in range(first[g], first[g] + sizes[g]):
                H[i, j] -= lams[g] * u * z[j] * inverse[g]
