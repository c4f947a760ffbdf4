"""Quadratic programs on the simplex: `min a' K a - v' a` over `a >= 0`, `sum(a) = 1`."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.convex_problems import ACCURATE, simplex_program, solve
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.tolerances import BISECTIONS, ROUNDING, SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import smallest
from skmoderndata._solvers.margins.tolerances import ZERO_WEIGHT

# Minimum number of variables in a subset to which steps are restricted.
LEAST = 100
# Number of steps after which the gradient is recomputed.
FRESH = 4000
# Maximum number of steps along pairs before the active-set method takes over.
MOST_STEPS = 1_000_000
# Maximum number of times that a ball is shifted.
MOST_SHIFTS = 4_000_000
# Largest error of the slack at which a cost is accepted, relative to the slack.
SLACK_TOL = 1e-10
# Maximum number of samples for which a cone solver is used.
CVXPY_LIMIT = 2000


class SimplexResult(NamedTuple):
    """A point of the simplex and half the gradient there, `K a - v / 2`."""

    a: Array
    gradient: Array
    converged: bool


def simplex_gap(K: Array, v: Array, a: Array) -> float:
    """Bound `f(a) - min f` for `f(a) = a' K a - v' a` by the gap of Frank and Wolfe.

    For convex f and any b of the simplex, `f(b) >= f(a) + f'(a) (b - a)`; the right side is
    smallest at a corner of the simplex.
    """
    slope = 2.0 * (K @ a) - v
    return float(a @ slope - slope.min())


def simplex_qp(
    K: Array,
    v: Array,
    a: Array,
    *,
    tol: float,
    gradient: Array | None = None,
    diagonal: Array | None = None,
    signs: Array | None = None,
) -> SimplexResult:
    """Minimise `a' K a - v' a` over the simplex by pairwise steps, then by active sets.

    Parameters
    ----------
    K : ndarray of shape (>= m, >= m)
        Positive semidefinite, C-contiguous; only the leading m rows and columns are used.
    v : ndarray of shape (m,)
        Linear part.
    a : ndarray of shape (m,)
        Start, a point of the simplex.
    tol : float
        Largest spread of half the gradient: `max g[a > 0] - min g <= tol`.
    gradient : ndarray of shape (m,) or None
        `K a - v / 2` at the start, if known.
    diagonal : ndarray of shape (m,) or None
        Diagonal of K, if known.
    signs : ndarray of shape (m,) or None
        Signs y of a problem with the matrix `(y y') * K`.
    """
    m = len(v)
    k = K[:m, :m]
    a = np.array(a, dtype=np.float64)
    diagonal = np.ascontiguousarray(k.diagonal() if diagonal is None else diagonal)
    y = np.ones(m) if signs is None else np.asarray(signs, dtype=np.float64)
    tol = max(tol, ROUNDING / 10 * float(np.abs(diagonal).max(initial=0.0)))

    # many slow steps take longer than a few factorisations on the support, each of which takes as
    # long as m^2 / 36 steps
    patience = min(MOST_STEPS, max(10 * m + 2000, m * m // 36))
    g = half_gradient(k, v, a, y) if gradient is None else np.array(gradient)
    done = since = 0
    while done < patience:
        # 1. Take pairwise steps, on all indices or on some of them
        few = max(3 * int(np.count_nonzero(a)) // 2, LEAST)
        if done >= m // 2 and 2 * few <= m:  # use indices with nonzero weight or low gradient
            weights_first = np.where(a > 0.0, -np.inf, g)
            subset = np.argpartition(weights_first, few)[:few]
            weights = a[subset]
            sub = k[np.ix_(subset, subset)]
            steps = pairwise_descent(
                sub, y[subset], diagonal[subset], weights, g[subset], few, tol, FRESH
            )
            a[subset] = weights
            since = FRESH
        else:
            max_steps = FRESH if done else max(m // 2, LEAST)
            steps = pairwise_descent(K, y, diagonal, a, g, m, tol, max_steps)
            since += steps

        # 2. Recompute the gradient, to remove rounding errors
        if since >= FRESH:
            a /= a.sum()
            g = half_gradient(k, v, a, y)
            since = 0
        done += steps
        if steps == 0 or (steps < FRESH and _spread(g, a) <= tol):
            break

    # 3. Continue with active sets if the steps did not reach the tolerance
    if _spread(g, a) > tol and m > 1:
        k = k if signs is None else k * y * y[:, None]
        a = active_set(k, v, a, tol=tol)
        g = k @ a - 0.5 * v
    return SimplexResult(a, g, _spread(g, a) <= 2.0 * tol)


def half_gradient(K: Array, v: Array, a: Array, y: Array) -> Array:
    """Return half the gradient for the matrix `(y y') * K`, from a few rows if a is sparse."""
    support = np.flatnonzero(a)
    used = support if 3 * len(support) <= len(a) else slice(None)
    product = (y * a)[used] @ K[used]
    return np.asarray(y * product - 0.5 * v)


def cost_of_slack(K: Array, share: Array, slack: float) -> tuple[float, Array]:
    """Find the cost b at which `1 / (b rho)` equals `slack`.

    Here `rho = min a' (K + diag(1 / (b share))) a`. Uses Newton's method for
    `log(b rho slack) = 0` in `log(b)`, whose slope is `a' K a / rho`; the problems are solved
    more accurately close to the solution. Changes the diagonal of K in place to the diagonal of
    the last problem, whose weights are also returned.
    """
    v = np.zeros(len(K))
    a = share
    diagonal = K.diagonal().copy()
    kernel_part = K @ a
    mean = max(float(share @ kernel_part), 100 * ROUNDING)

    cost = 1.0 / (slack * mean)
    excess = 1.0

    # 1. Solve the program for this cost
    for _ in range(BISECTIONS):
        slack_part = 1.0 / (cost * share)
        K[np.diag_indices(len(K))] = total = diagonal + slack_part
        aim = max(SLACK_TOL, 1e-2 * min(1.0, abs(excess))) * mean
        result = simplex_qp(
            K, v, a, tol=aim, gradient=kernel_part + slack_part * a, diagonal=total
        )
        a = result.a
        kernel_part = result.gradient - slack_part * result.a

        # 2. Stop if the slack is close enough to the requested slack
        norm = float(a @ kernel_part)
        rho = float(a @ result.gradient)
        excess = float(np.log(cost * rho * slack)) if rho > 0 else 9.0
        if abs(excess) <= SLACK_TOL:
            break

        # 3. Take a Newton step for the logarithm of the cost
        slope = norm / rho if min(norm, rho) > 0 else 1.0
        cost *= float(np.exp(np.clip(-excess / slope, -9.0, 9.0)))
    return cost, a


@jit
def pairwise_descent(K, y, d, a, g, m, tol, max_steps):
    """Move weight between two indices, the second one chosen by its gain, in place.

    The matrix is `(y y') * K` with signs y, and has the diagonal d; `g` is half the gradient.
    Problems that differ only in their signs share K. Returns the number of steps. [Platt's
    sequential minimal optimisation; the pairwise steps of Frank and Wolfe.]

    Both searches compare the bit patterns of the numbers, see `smallest`: for 400 or more
    variables, this takes 53 to 71 % of the time of the plain loop, with the same steps.
    """
    # gains and rises are not negative, so their bit patterns are in the same order as the values
    gains = np.empty(m)
    rises = np.empty(m)
    gain_bits = gains.view(np.int64)
    rise_bits = rises.view(np.int64)

    free = np.empty(m)
    for q in range(m):
        free[q] = 1.0 if a[q] > 0.0 else 0.0
    g_bits = g.view(np.int64)
    i = smallest(g_bits[:m])

    for step_count in range(max_steps):
        # 1. Find the index of largest gain, from which the index of least gradient takes weight
        row_i = K[i]
        diag_i = d[i]
        low = g[i]
        twice = 2.0 * y[i]
        for q in range(m):
            rise = free[q] * (g[q] - low)
            rises[q] = rise
            gains[q] = (
                rise * rise / max(diag_i + d[q] - twice * y[q] * row_i[q], SMALLEST_DIVISOR)
            )

        best = 0
        high = 0
        j = m
        for q in range(m):
            best = max(best, gain_bits[q])
            high = max(high, rise_bits[q])
        for q in range(m):
            j = min(j, q if gain_bits[q] == best else m)

        rise_bits[0] = high
        if rises[0] <= tol or best == 0:
            return step_count

        # 2. Step to the minimum, or until the weight of j is used up
        row_j = K[j]
        step = a[j]
        curvature = diag_i + d[j] - twice * y[j] * row_i[j]
        if curvature > 0.0 and (g[j] - low) < step * curvature:
            step = (g[j] - low) / curvature
        if a[i] + step == a[i]:
            return step_count

        a[i] += step
        a[j] -= step
        free[i] = 1.0
        free[j] = 1.0 if a[j] > 0.0 else 0.0

        # 3. Update the gradient, and find its least entry
        sign_i = y[i]
        sign_j = y[j]
        for q in range(m):
            g[q] += step * y[q] * (sign_i * row_i[q] - sign_j * row_j[q])
        i = smallest(g_bits[:m])
    return max_steps


@jit
def ball_steps(K, a, m, kappa, eps):
    """Shift a ball of radius `sqrt(kappa)` onto its furthest point until all are near, in place.

    A point is near if its squared distance from the centre, `a' K a + kappa - 2 (K a)_i`, is at
    most `kappa (1 + eps)^2`. Returns `K a` [Tsang 2007].
    """
    g = np.zeros(m)
    norm = 0.0
    limit = kappa * (1.0 + eps) ** 2

    for step in range(MOST_SHIFTS):
        if step % FRESH == 0:
            for q in range(m):
                g[q] = np.dot(K[q, :m], a)
            norm = np.dot(a, g)

        # move the centre so that the ball touches the furthest point
        p = np.argmin(g)
        distance = norm + kappa - 2.0 * g[p]
        if distance <= limit:
            break

        beta = np.sqrt(kappa / distance)
        norm = (
            beta * beta * norm + 2.0 * beta * (1.0 - beta) * g[p] + (1.0 - beta) ** 2 * kappa
        )
        for q in range(m):
            a[q] *= beta
            g[q] = beta * g[q] + (1.0 - beta) * K[p, q]
        a[p] += 1.0 - beta
    return g


def active_set(
    K: Array, v: Array, a: Array, *, tol: float, max_iter: int | None = None
) -> Array:
    """Minimise `a' K a - v' a` over the simplex: solve on the support, drop, add, repeat.

    Each step solves the equality-constrained problem on the support by a Cholesky factorisation
    and moves towards the solution until a weight is zero, so that the objective never rises.
    """
    a = np.array(a, dtype=np.float64)
    a /= a.sum()
    free = a > 0
    if max_iter is None:
        max_iter = int(np.clip(3_000_000_000 // max(1, len(a)) ** 3, 20, 2000))

    best = a.copy()
    best_spread = np.inf

    for _ in range(max_iter):
        # 1. Solve on the support; drop weights that fall to zero on the way
        target = np.zeros_like(a)
        target[free], level = _on_support(K, v, np.flatnonzero(free))
        falling = free & (target <= 0)
        if falling.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(falling, a / (a - target), np.inf)
            t = float(min(1.0, np.nanmin(ratio)))
            a += t * (target - a)
            dropped = falling & (a <= ROUNDING * a.max())
            a[dropped] = 0.0
            a = np.maximum(a, 0.0)
            a /= a.sum()
            free = free & ~dropped
            if dropped.any() and free.any():
                continue

        else:
            a = target

        # 2. Keep the weights of smallest spread
        g = K @ a - 0.5 * v
        spread = _spread(g, a)
        if spread < best_spread:
            best = a.copy()
            best_spread = spread

        # 3. Add indices whose gradient is below the level of the support
        level = float(a @ g)
        worse = np.flatnonzero(~free & (g < level - 0.5 * tol))
        if spread <= tol or len(worse) == 0:
            break
        order = worse[np.argsort(g[worse])]
        free[order[: max(1, len(worse) // 2)]] = True
    return best


def polished(K: Array, v: Array, a: Array) -> Array:
    """Continue from a to the optimum on its support, up to rounding errors."""
    better = active_set(K, v, a, tol=0.0, max_iter=20)
    # restore the sum, which rounding errors may have changed if the points span few dimensions
    return np.asarray(better / better.sum())


def _on_support(K: Array, v: Array, support: Array) -> tuple[Array, float]:
    """Solve `K a = v / 2 + level`, `sum(a) = 1` on a support."""
    right = np.stack([np.ones(len(support)), 0.5 * v[support]], axis=1)
    top = float(np.abs(K.diagonal()[support]).max(initial=0.0)) or 1.0

    # add a ridge if the matrix is singular
    for ridge in (0.0, *(top * 10.0**power for power in range(-15, 1, 2))):
        k = K[np.ix_(support, support)]
        k[np.diag_indices(len(k))] += ridge
        try:
            # the matrix is symmetric, so its transpose can be factorised in place
            factor = linalg.cho_factor(k.T, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue

        of_ones, of_linear = linalg.cho_solve(factor, right, check_finite=False).T
        total = float(of_ones.sum())
        if np.isfinite(total) and total > 0 and np.isfinite(of_linear).all():
            level = (1.0 - float(of_linear.sum())) / total
            solution = of_linear + level * of_ones
            if abs(float(solution.sum()) - 1.0) <= 1e-6:  # otherwise rounding errors dominate
                return solution, level
    return np.full(len(support), 1.0 / len(support)), 0.0


def _spread(gradient: Array, a: Array) -> float:
    return float(gradient[a > 0].max() - gradient.min())


def gram_factor(K: Array) -> Array:
    """Return F with `F' F = K`; negative eigenvalues count as zero."""
    values, vectors = linalg.eigh(K)
    keep = values > values.max(initial=0.0) * ROUNDING / 10 * len(K)
    return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T)


def simplex_by_cvxpy(factor: Array, v: Array) -> Array:
    """Minimise `|factor a|^2 - v' a` over the simplex with cvxpy."""
    program = simplex_program(factor, v)
    # do not check the status, because the duality gap shows how accurate the solution is
    solve(program, solver="CLARABEL", **ACCURATE)
    if program.variable.value is None:
        raise ValueError(f"solver='cvxpy' failed: CLARABEL returned {program.problem.status}.")
    a = np.maximum(np.asarray(program.variable.value), 0.0)
    a[a < ZERO_WEIGHT * a.max()] = 0.0  # an interior point method leaves every weight positive
    return np.asarray(a / a.sum())
