"""Step to the minimum over all weights that are strictly between their bounds, at once.

If there are many such weights, steps along pairs approach the optimum slowly, long after they have
found which weights are free. `nu_ranking` then factorises the kernel matrix of the free weights.
Weights that leave their bounds on the way to the minimum are fixed at the bound; later pair steps
correct this if it was wrong.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import ROWS_TOGETHER, BoxState, Rows, mark_all

# Maximum number of free weights; at this number their matrix takes 512 MB.
MANY_FREE = 8000
# Maximum number of times that all weights beyond their bounds are fixed at their bounds.
BOUNDED_TIMES = 10
# Size of the ridge, relative to the diagonal; it absorbs the rounding errors of single-precision
# rows and makes copies of samples harmless.
RIDGE_OF_FACE = 1e-5


class Face(NamedTuple):
    """The free weights, with signs, of samples whose rows are stored."""

    sample: Array  # (m,)
    w: Array  # (m,)
    low: Array  # (m,)
    high: Array  # (m,)
    # (m, n_thresholds + 1), matrix E; E'w has the sum of each threshold and the sum of all weights
    E: Array


def constraints(segments: Array) -> tuple[Array, Array, Array]:
    """Return sample, sign of its weight in a, and threshold of each constraint."""
    thresholds = range(len(segments) - 1)
    parts = [(y, s, segments[y + (s > 0)]) for s in (1.0, -1.0) for y in thresholds]
    sample = np.concatenate([np.arange(first, last) for _, _, (first, last) in parts])
    sizes = [last - first for _, _, (first, last) in parts]
    sign = np.repeat([row[1] for row in parts], sizes)
    threshold = np.repeat([row[0] for row in parts], sizes)
    return sample, sign, threshold


def n_free(upper: BoxState, lower: BoxState) -> int:
    """Count weights strictly between their bounds."""
    free = [(s.w > s.low) & (s.w < s.high) for s in (upper, lower)]
    return int(np.count_nonzero(free))


def face_step(store: Rows, upper: BoxState, lower: BoxState, segments: Array) -> bool:
    """Step to the minimum of `a'Ka` over the free weights, in place; False if it is not lower."""
    face = _face(store, upper, lower, segments)
    g = upper.g  # both states share this array
    try:
        R = _factor(store, face.sample)
        minimum = None if R is None else _minimum(R, g[face.sample], face)
    except linalg.LinAlgError:
        minimum = None
    if minimum is None:
        return False

    # 1. Compute the change of the gradient from the stored rows
    change = np.bincount(face.sample, minimum - face.w, minlength=len(g))
    g_change = np.zeros(len(g))
    moved = np.flatnonzero(change)
    for rows in np.array_split(moved, 1 + len(moved) // ROWS_TOGETHER):
        g_change += change[rows] @ store.values[store.slot[rows]]

    # 2. Step to the minimum, or to the lowest point on the way to it
    slope = float(change @ g)
    curvature = float(change @ g_change)
    if slope >= 0.0:
        return False
    step = 1.0 if -slope >= curvature else -slope / curvature
    w = minimum if step == 1.0 else face.w + step * (minimum - face.w)
    g += step * g_change

    is_upper = face.high > 0.0
    upper.w[face.sample[is_upper]] = w[is_upper]
    lower.w[face.sample[~is_upper]] = w[~is_upper]
    for state in (upper, lower):
        mark_all(state, np.array([[0, len(g)]]))
    return True


def _face(store: Rows, upper: BoxState, lower: BoxState, segments: Array) -> Face:
    """Collect the free weights."""
    sample, sign, threshold = constraints(segments)
    w = np.where(sign > 0, upper.w[sample], lower.w[sample])
    low = np.where(sign > 0, 0.0, lower.low[sample])
    high = np.where(sign > 0, upper.high[sample], 0.0)
    free = np.flatnonzero((w > low) & (w < high) & (store.slot[sample] >= 0))
    E = np.column_stack([np.eye(len(segments) - 1)[threshold[free]], sign[free]])
    return Face(sample[free], w[free], low[free], high[free], E)


def _factor(store: Rows, sample: Array) -> Array | None:
    """Return triangular R with `R'R = K + ridge`, or None for too few or too many weights."""
    m = len(sample)
    if not 2 <= m <= MANY_FREE:
        return None
    K = np.empty((m, m))
    for row, i in zip(K, store.slot[sample], strict=True):
        row[:] = store.values[i][sample]
    K[np.diag_indices(m)] += RIDGE_OF_FACE * float(store.diagonal.max())
    root: Any = linalg.cholesky
    # factorise the transpose, which is in the order of LAPACK and needs no copy
    return np.asarray(root(K.T, overwrite_a=True, check_finite=False))


def _minimum(R: Array, g: Array, face: Face) -> Array | None:
    """Return the weights with the same sums that minimise `a'Ka`, or None if bounds are violated.

    All weights beyond their bounds are fixed there and the problem is solved again for the
    remaining ones. This needs no other factor: `d = -K^-1 (g + C t)` with `C'd = c`, where C
    consists of E and, for fixed weights, of columns of the unit matrix.
    """
    solve: Any = linalg.solve_triangular
    h = solve(R, -g, trans=1, check_finite=False)
    V = solve(R, face.E, trans=1, check_finite=False)  # R'^-1 E
    fixed = np.zeros(0, np.int64)
    bound = np.zeros(0)
    for _ in range(BOUNDED_TIMES):
        # 1. Minimise with the weights in `fixed` at their bounds
        c = np.concatenate([np.zeros(face.E.shape[1]), bound - face.w[fixed]])
        t = _solution(V.T @ V, V.T @ h - c)
        w = face.w + solve(R, h - V @ t, check_finite=False)
        w[fixed] = bound

        # 2. Fix all weights beyond their bounds; stop if there are none
        beyond = np.flatnonzero((w < face.low) | (w > face.high))
        if not len(beyond):
            # the sums must not change; because all weights add up to one, the tolerance is
            # absolute
            feasible = np.abs(face.E.T @ (w - face.w)).max() < 100 * ACCUMULATED_ROUNDING
            return w if feasible else None
        fixed = np.concatenate([fixed, beyond])
        bound = np.concatenate([bound, np.clip(w, face.low, face.high)[beyond]])
        units = np.zeros((len(g), len(beyond)))
        units[beyond, np.arange(len(beyond))] = 1.0
        V = np.concatenate([V, solve(R, units, trans=1, check_finite=False)], axis=1)
    return None


def _solution(S: Array, right: Array) -> Array:
    """Solve a system with a Gram matrix whose columns may be zero or linearly dependent."""
    size = np.sqrt(S.diagonal())
    size[size == 0.0] = 1.0
    S = S / np.outer(size, size)
    S[np.diag_indices(len(S))] += 10 * ROUNDING  # make S positive definite
    root: Any = linalg.cho_factor
    return np.asarray(linalg.cho_solve(root(S), right / size)) / size
