"""Least squares over the cone of non-negative rows with a given sparseness.

Each row z of Z solves ``min 1/2 z G z' - f z'`` over ``z >= 0`` with Hoyer's sparseness `level`,
that is, ``sum z = ratio |z|_2``: a ray of any norm in a non-convex set of directions.

Differs from the paper (Hoyer 2004): 1. The norm of a row is free. 2. Newton steps on the support
follow projected gradient steps, from several starts.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.common.projections import project_sparseness
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array

# Number of starts that have a single non-zero entry.
SINGLES = 2

# Maximum number of rounds from each start, before the best start is chosen.
SHORT = 12

# Maximum number of rounds from the best start.
ROUNDS = 400

# Maximum number of entries of the Newton systems in memory.
ENTRIES = 2**20


# Ridge that keeps the system of a Newton step regular, relative to the metric.
RIDGE_RELATIVE = 1e-13

# Minimum gain of a useful round, as a fraction of the value.
GAIN = 1e-13


class State(NamedTuple):
    """Rows on the cone, with their gradients ``z G - f`` and values."""

    Z: Array
    Y: Array
    value: Array


def cone_codes(G: Array, F: Array, level: float, *, start: Array | None = None) -> Array:
    """Solve for each row f of F: exactly for levels 0 and 1, else from several starts.

    The starts are projections of the non-negative solution, of ``f / diag(G)``, of the best single
    entries and, if given, of `start`, so that no row gets worse. Each start descends for a few
    rounds; the best of them continues to a stationary point, see `descend_cone`. If G has a row of
    zeros, its entry costs nothing: choosing it gives the non-negative solution the required
    sparseness without any loss. G is positive semi-definite, one matrix (k, k) for all rows or one
    per row.
    """
    G = np.ascontiguousarray(G, dtype=np.float64)
    F = np.ascontiguousarray(F, dtype=np.float64)
    m, k = F.shape
    diagonal = np.einsum("...jj->...j", G)

    if level >= 1:  # use a single entry, whose gain has a closed form
        alive = (F > 0) & (diagonal > 0)
        divisor = np.where(diagonal > 0, diagonal, 1.0)
        entries = np.where(alive, F / divisor, 0.0)
        best = (entries * F).argmax(axis=1)
        rows = np.arange(m)
        Z = np.zeros((m, k))
        Z[rows, best] = entries[rows, best]
        return Z

    if level <= 0:  # use equal entries
        total = np.maximum(F.sum(axis=1), 0.0)
        size = G.sum(axis=(-2, -1))
        entry = total / np.where(size > 0, size, 1.0)
        return np.repeat(entry[:, None], k, axis=1)

    # start from non-negative least squares, the linear term, and single entries of large gain
    metric = _metric(G, F)
    unconstrained = nnls(G, F).Z
    starts = [_with_slack(diagonal, unconstrained, _ratio(k, level)), F / metric]
    gains = np.where(F > 0, F * F / metric, 0.0)
    rows = np.arange(m)
    for _ in range(min(SINGLES, k)):
        entry = rows, gains.argmax(axis=1)
        single = np.zeros((m, k))
        single[entry] = np.where(gains[entry] > 0, F[entry], 0.0)
        starts.append(single / metric)
        gains[entry] = 0.0

    if start is not None:
        starts.insert(0, np.asarray(start, dtype=np.float64))

    # descend briefly from each start, then longer from the best one
    best = np.zeros((m, k))
    lowest = np.full(m, np.inf)
    for Z in starts:
        Z = project_sparseness(Z, level)
        value = descend_cone(G, F, Z, level, rounds=SHORT)
        better = value < lowest
        best[better] = Z[better]
        lowest[better] = value[better]
    descend_cone(G, F, best, level, rounds=ROUNDS)
    return best


def descend_cone(G: Array, F: Array, Z: Array, level: float, *, rounds: int) -> Array:
    """Improve rows of Z (m, k) on the cone, in place, and return their values.

    A round is a step of Newton's method on the support. Before the first round, and if the last
    one gained nothing, a projected gradient step adds entries to the support. A row is done when
    both kinds of step gain nothing. Every accepted step lowers the value.
    """
    # process blocks of rows, to limit the memory
    m, k = Z.shape
    size = max(1, ENTRIES // (k + 1) ** 2)
    values = [np.zeros(0)]
    for first in range(0, m, size):
        # rows share a Gram matrix, or each row has its own
        b = slice(first, first + size)
        gram = G if G.ndim == 2 else G[b]
        values.append(_descend(gram, F[b], Z[b], level, rounds=rounds))
    return np.concatenate(values)


def _descend(G: Array, F: Array, Z: Array, level: float, *, rounds: int) -> Array:
    """Improve all rows of a block at once."""
    m, k = Z.shape
    one_gram = G.ndim == 2

    # bound the curvature
    ratio = _ratio(k, level)
    metric = _metric(G, F)
    if one_gram:
        steep = np.linalg.eigvalsh(G)[-1]
    else:
        steep = np.sqrt((G * G).sum(axis=(1, 2)))
    steep = np.broadcast_to(steep, m)[:, None]
    curves = steep[:, 0] > 0
    Z[~curves] = 0.0

    lowest = np.zeros(m)
    rows = np.flatnonzero(curves)
    stuck = np.ones(m, dtype=bool)
    curved = np.ones(m, dtype=bool)

    for _ in range(rounds):
        if not len(rows):
            break

        # 1. take a projected gradient step in rows whose Newton steps are stuck
        g = G if one_gram else G[rows]
        f = F[rows]
        unit = metric[rows]
        flat = stuck[rows]
        state = _at_best_norm(g, f, Z[rows])
        before = state.value
        moved = state.Z.copy()
        downhill = state.Z - state.Y / steep[rows]
        moved[flat] = project_sparseness(downhill[flat], level)
        state = _lower(state, _at_best_norm(g, f, moved))

        # 2. take a Newton step, and project back to the cone for three step lengths
        z, y, value = state
        step = _newton_step(g, z, y, unit, ratio, curved[rows])
        for size in (1.0, 0.3, 0.1):
            moved = _back_to_cone(z + size * step, unit, ratio)
            state = _lower(state, _at_best_norm(g, f, moved))

        # 3. drop rows that hardly gain after both kinds of step
        Z[rows] = state.Z
        lowest[rows] = state.value
        enough = GAIN * np.abs(before)
        idle = value - state.value <= enough
        stuck[rows] = idle
        # in rows without gain, switch from one curvature to the other (Lagrangian or objective)
        curved[rows] ^= idle
        gains = before - state.value > enough
        rows = rows[gains | ~flat]

    return lowest


def _ratio(k: int, level: float) -> float:
    return float(np.sqrt(k) - level * (np.sqrt(k) - 1))


def _metric(G: Array, F: Array) -> Array:
    """Return the diagonal of G for each row of F, with small entries raised."""
    diagonal = np.einsum("...jj->...j", G)
    metric = np.maximum(diagonal, ACCUMULATED_ROUNDING * diagonal.max(axis=-1, keepdims=True))
    return np.broadcast_to(np.where(metric > 0, metric, 1.0), F.shape)


def _at_best_norm(G: Array, F: Array, Z: Array) -> State:
    """Rescale the rows of Z to the norms of least value, and compute gradients and values."""
    Y = (Z[:, None] @ G)[:, 0]  # process row by row, so that no result depends on other rows
    met = (Z * F).sum(axis=1)
    size = (Z * Y).sum(axis=1)
    divisor = np.where(size > 0, size, np.maximum(met, TINY))
    norm = np.where(met > 0, met / divisor, 0.0)
    Z = Z * norm[:, None]
    Y = Y * norm[:, None] - F
    value = (Z * (Y - F)).sum(axis=1) / 2
    return State(Z, Y, value)


def _lower(old: State, new: State) -> State:
    """Take the new row, gradient and value if the value is lower."""
    better = new.value < old.value
    better_row = better[:, None]
    Z = np.where(better_row, new.Z, old.Z)
    Y = np.where(better_row, new.Y, old.Y)
    return State(Z, Y, np.where(better, new.value, old.value))


def _newton_step(
    G: Array, Z: Array, Y: Array, metric: Array, ratio: float, curved: Array
) -> Array:
    """Minimise a second order model on the support of each row.

    The model belongs to the Lagrangian in `curved` rows and to the objective in other rows. The
    constraint is ``((sum z)^2 - ratio^2 |z|^2) / 2 = 0``, with the gradient `normal`. The unknowns
    are scaled so that the metric is the identity. A step ends where an entry becomes 0.
    """
    # find the support, and the normal of the cone at z
    (m, k) = Z.shape
    unit = 1 / np.sqrt(metric)
    inside = Z > ACCUMULATED_ROUNDING * Z.max(axis=1, keepdims=True)
    gradient = Z.sum(axis=1, keepdims=True) - ratio**2 * Z
    normal = np.where(inside, gradient, 0.0) * unit
    largest = np.abs(normal).max(axis=1, keepdims=True)
    size = (normal * normal).sum(axis=1)

    # form the Hessian of the Lagrangian, bordered by the constraint
    along = (normal * Y * unit).sum(axis=1)
    multiplier = -along / np.where(size > 0, size, 1.0)
    of_constraint = 1 - ratio**2 * np.eye(k)
    H = G + (curved * multiplier)[:, None, None] * of_constraint
    pairs_inside = inside[:, :, None] & inside[:, None, :]
    scaled = H * unit[:, :, None] * unit[:, None, :]
    system = np.zeros((m, k + 1, k + 1))
    system[:, :k, :k] = np.where(pairs_inside, scaled, 0.0)
    border = normal / np.where(largest > 0, largest, 1.0)
    system[:, :k, k] = system[:, k, :k] = border

    diagonal = np.arange(k)
    system[:, diagonal, diagonal] += np.where(inside, RIDGE_RELATIVE, 1.0)
    system[:, k, k] = -RIDGE_RELATIVE

    # discard uphill steps, and stop at the first entry that reaches zero
    slope = np.where(inside, -Y * unit, 0.0)
    right = np.pad(slope, ((0, 0), (0, 1)))
    solution = np.linalg.solve(system, right[:, :, None])
    step = solution[:, :k, 0] * unit
    uphill = (step * Y).sum(axis=1) >= 0
    step[uphill] = 0.0

    limit = np.divide(Z, step, out=np.full(Z.shape, -np.inf), where=step < 0)
    length = np.minimum(1.0, -limit.max(axis=1, keepdims=True))
    return length * step


def _back_to_cone(Z: Array, metric: Array, ratio: float) -> Array:
    """Move positive entries to the cone along its normal v in the metric.

    ``z + t v`` is on the cone if ``a t^2 + 2 b t + c = 0``. Rows without a feasible solution
    become zero.
    """
    inside = Z > ACCUMULATED_ROUNDING * Z.max(axis=1, keepdims=True)
    Z = np.where(inside, Z, 0.0)
    total = Z.sum(axis=1)

    # compute the coefficients of the quadratic equation for the step t
    v = np.where(inside, total[:, None] - ratio**2 * Z, 0.0) / metric
    across = v.sum(axis=1)
    a = across**2 - ratio**2 * (v * v).sum(axis=1)
    b = total * across - ratio**2 * (v * Z).sum(axis=1)
    c = total**2 - ratio**2 * (Z * Z).sum(axis=1)
    root = b * b - a * c
    below = b + np.copysign(np.sqrt(np.maximum(root, 0.0)), b)

    t = c / np.where(below == 0, 1.0, below)
    Z = Z - t[:, None] * v
    total_sq = Z.sum(axis=1) ** 2
    error = np.abs(total_sq - ratio**2 * (Z * Z).sum(axis=1))
    on_cone = error <= ACCUMULATED_ROUNDING * total_sq
    feasible = on_cone & (root >= 0) & (Z >= 0).all(axis=1)
    return np.where(feasible[:, None], Z, 0.0)


def _with_slack(diagonal: Array, Z: Array, ratio: float) -> Array:
    """Bring rows to the sparseness by an entry without influence on the value, if any."""
    Z = Z.copy()
    free = np.broadcast_to(diagonal == 0, Z.shape)
    rows = np.flatnonzero(free.any(axis=1))
    entry = free[rows].argmax(axis=1)
    Z[rows, entry] = 0.0
    total = Z[rows].sum(axis=1)
    square = (Z[rows] ** 2).sum(axis=1)
    # solve (total + x)^2 = ratio^2 (square + x^2) for the entry x
    curve = ratio * ratio - 1
    root = total**2 + curve * (total**2 - ratio**2 * square)
    slack = (total + np.sqrt(np.maximum(root, 0))) / curve
    Z[rows, entry] = np.where(root >= 0, slack, 0.0)
    return np.maximum(Z, 0.0)
