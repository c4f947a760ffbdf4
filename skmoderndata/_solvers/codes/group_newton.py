"""Newton steps on the non-zero coefficients of a group lasso.

The objective is smooth there: a group norm has gradient ``w_g / |w_g|`` and Hessian
``(I - w_g w_g' / |w_g|^2) / |w_g|``.
"""

from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import SUFFICIENT_DECREASE
from skmoderndata._solvers.common.typing import Array

# Maximum number of equations in a Newton step.
NEWTON_SIZE = 3000
# Maximum number of coefficients for which the Hessian is formed and factorised.
DENSE_UP_TO = 500
# Tolerance of the conjugate gradients, relative to the right-hand side.
RTOL = 1e-2
# Maximum number of conjugate gradient steps.
MAX_STEPS = 20
# Curvature assumed along a group so that a solution exists, as a fraction of the curvature of its
# norm.
CURVATURE_ALONG = 1e-6
# Curvature that the preconditioner assumes along a group, as a fraction of the curvature of its
# norm.
ALONG = 1e-4


def newton_step(
    Z: Array,
    edges: Array,
    a: Array,
    c: Array,
    group_lam: Array,
    single_lam: float,
    positive: bool,
) -> Array:
    """Take a Newton step on the non-zero coefficients; return `a` unchanged if none descends.

    The rows of Z are the columns of the problem, and c their products with the residual.
    Coefficients that change their sign at a kink, and groups that reverse their direction, are set
    to zero; if that does not lower the objective, the step ends at the first kink.
    """
    S = np.flatnonzero(a)
    if min(S.size, Z.shape[1]) > NEWTON_SIZE or S.size == 0:
        return a

    # find the non-zero coefficients of each group
    owner = np.repeat(np.arange(len(group_lam)), np.diff(edges))[S]
    first = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    sizes = np.diff(np.append(first, S.size))
    rows = Z[S]
    z = a[S]
    lams = group_lam[owner[first]]
    norms = np.sqrt(np.add.reduceat(z * z, first))
    curvature = lams / norms
    slope = np.repeat(curvature, sizes) * z + single_lam * np.sign(z) - c[S]

    # compute the direction, which must be a descent direction
    d = newton_direction(rows, slope, z, first, curvature)
    descent = -1.0 if d is None else float(slope @ d)
    if d is None or not np.isfinite(descent) or descent >= 0:
        return a

    # compute the step sizes at which coefficients pass zero, or groups reverse their direction
    with np.errstate(divide="ignore", invalid="ignore"):
        turn_at = norms**2 / -np.add.reduceat(z * d, first)
        zero_at = np.repeat(turn_at, sizes)
        zero_at[zero_at <= 0] = np.inf
        if single_lam > 0 or positive:
            kink_at = -z / d
            zero_at = np.where(kink_at > 0, np.minimum(zero_at, kink_at), zero_at)

    penalty = float(lams @ norms) + single_lam * float(np.abs(z).sum())
    magnitude = penalty + abs(float(z @ c[S]))
    slack = 4 * EPS * magnitude  # rounding error of the change

    # collect the candidates: the full step, kinks on the way, and fractions of the first kink
    ordered = np.sort(zero_at[zero_at < 1])
    halves = len(ordered) >> np.arange(1, 1 + len(ordered).bit_length())
    tried = np.concatenate([[1.0], ordered[halves[halves > 0] - 1]])
    tried = np.append(tried, tried[-1] * 0.5 ** np.arange(1, 20))

    # use the candidate at the first minimum of the objective
    best = np.inf
    out = a
    for size in tried:
        new = np.where(zero_at <= size, 0.0, z + size * d)
        move = new - z
        image = move @ rows
        new_norms = np.sqrt(np.add.reduceat(new * new, first))
        change = 0.5 * float(image @ image) - float(c[S] @ move) - penalty
        change += float(lams @ new_norms)
        change += single_lam * float(np.abs(new).sum())

        if change >= best:
            break
        if change <= SUFFICIENT_DECREASE * size * descent + slack:
            best = change
            out = np.zeros_like(a)
            out[S] = new
            if size == 1 and not ordered.size:
                break
    return out


def newton_direction(
    rows: Array, slope: Array, z: Array, first: Array, curvature: Array
) -> Array | None:
    """Solve ``(A A' + D) d = -slope``; return None if that is impossible.

    `rows` holds A, the columns of the problem. With the unit vectors ``u_g = z_g / |z_g|``, D has
    the blocks ``D_g = curvature_g (I - u_g u_g')``. With more coefficients than samples, conjugate
    gradients solve the system, preconditioned in single precision by the smaller system
    ``I + T' T`` with ``T = D^-1/2 A`` (Sherman, Morrison and Woodbury), for D with the fraction
    `ALONG` of its curvature along `u_g`.
    """
    sizes = np.diff(np.append(first, len(z)))
    owner = np.repeat(np.arange(len(first)), sizes)
    bend = curvature[owner]
    u = z / np.sqrt(np.add.reduceat(z * z, first))[owner]

    # many coefficients: use conjugate gradients, preconditioned in single precision
    if len(z) > max(DENSE_UP_TO, rows.shape[1]) and curvature.all():
        root = (1 / np.sqrt(bend)).astype(np.float32)

        def along(V: Array) -> Array:  # u u' V
            products = np.add.reduceat(u * V.T, first, axis=-1)
            return np.asarray((products[..., owner] * u).T)

        def scaled(V: Array) -> Array:  # D^-1/2 V
            stretched = V + (ALONG**-0.5 - 1) * along(V)
            return np.asarray((stretched.T * root).T, np.float32)

        T = scaled(rows)
        K = T.T @ T
        K[np.diag_indices_from(K)] += 1.0
        factor = _factor(K)
        if factor is None:
            return None

        def precondition(v: Array) -> Array:
            s = scaled(v)
            inner = linalg.cho_solve(factor, s @ T, check_finite=False)
            return scaled(s - T @ inner)

        def hessian(v: Array) -> Array:
            across = v - (1 - CURVATURE_ALONG) * along(v)
            return np.asarray(rows @ (v @ rows) + bend * across)

        square = (len(z), len(z))
        operator = LinearOperator(square, hessian, dtype=np.float64)
        M = LinearOperator(square, precondition, dtype=np.float64)
        solution, _ = cg(operator, -slope, rtol=RTOL, maxiter=MAX_STEPS, M=M)
        return np.asarray(solution)

    # few coefficients: form the Hessian
    same_group = owner == owner[:, None]
    H = rows @ rows.T - np.where(same_group, np.outer(bend * u, u), 0.0)
    H[np.diag_indices_from(H)] += bend
    factor = _factor(H)
    return None if factor is None else -linalg.cho_solve(factor, slope, check_finite=False)


def _factor(K: Array) -> Any:
    """Return a Cholesky factor; increase the diagonal if K is singular, None if that fails."""
    unit = float(np.finfo(K.dtype).eps * np.diagonal(K).max())
    for ridge in (1e2, 1e5, 1e8):
        K[np.diag_indices_from(K)] += ridge * unit
        try:
            return linalg.cho_factor(K, check_finite=False)
        except linalg.LinAlgError:
            continue
    return None
