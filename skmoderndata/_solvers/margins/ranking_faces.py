"""Go to the minimum over all weights that are strictly between their bounds, at once.

Where there are many of these, steps along pairs come to the optimum slowly, long after they have
found which they are. `nu_ranking` then factorises their kernel matrix; weights that leave their
bounds on the way to the minimum are put there, and pairs mend what that makes wrong.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import BoxState, Rows, mark_all

MANY_FREE = 8000  # weights of a face at most: 512 MB
BOUNDED_TIMES = 10  # times that all weights beyond their bounds are put there, at most
SUMS_KEPT = 1e-10  # by which a step may change sums, of weights that add up to one
RIDGE_OF_FACE = 1e-5  # of the diagonal: rows in single precision, and copies of samples
GRAM_RIDGE = 1e-13  # of the conditions on a step
ROWS_AT_ONCE = 64


class Face(NamedTuple):
    """The free weights, all signed, of samples whose rows are stored."""

    sample: Array  # (m,)
    w: Array  # (m,)
    low: Array  # (m,)
    high: Array  # (m,)
    E: Array  # (m, n_thresholds + 1), E'w are the sums of thresholds, and that of all weights


def constraints(segments: Array) -> tuple[Array, Array, Array]:
    """Sample, sign of its weight in a, and threshold of each constraint."""
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
    """Go to the minimum of `a'Ka` over the free weights, in place; False if that is not lower."""
    face = _face(store, upper, lower, segments)
    g = upper.g  # one array of both states
    try:
        R = _factor(store, face.sample)
        there = None if R is None else _minimum(R, g[face.sample], face)
    except linalg.LinAlgError:
        there = None
    if there is None:
        return False

    # 1. the change of the gradient on the way there, by the rows as they are stored
    change = np.bincount(face.sample, there - face.w, minlength=len(g))
    g_change = np.zeros(len(g))
    moved = np.flatnonzero(change)
    for some in np.array_split(moved, 1 + len(moved) // ROWS_AT_ONCE):
        g_change += change[some] @ store.values[store.slot[some]]

    # 2. there, or to the lowest point before
    slope = float(change @ g)
    curvature = float(change @ g_change)
    if slope >= 0.0:
        return False
    step = 1.0 if -slope >= curvature else -slope / curvature
    w = there if step == 1.0 else face.w + step * (there - face.w)
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
    """Triangular R with `R'R = K + ridge`; None for none, or too many."""
    m = len(sample)
    if not 2 <= m <= MANY_FREE:
        return None
    K = np.empty((m, m))
    for row, i in zip(K, store.slot[sample], strict=True):
        row[:] = store.values[i][sample]
    K[np.diag_indices(m)] += RIDGE_OF_FACE * float(store.diagonal.max())
    root: Any = linalg.cholesky
    # of the transpose, which is in the order of LAPACK: no copy
    return np.asarray(root(K.T, overwrite_a=True, check_finite=False))


def _minimum(R: Array, g: Array, face: Face) -> Array | None:
    """Weights of least `a'Ka` of the same sums; None if they do not keep their bounds.

    All weights beyond their bounds are put there, and the others solve the problem again, which
    needs no other factor: `d = -K^-1 (g + C t)` with `C'd = c`, where the columns of C are those
    of E and, for weights that are held, of the unit matrix.
    """
    solve: Any = linalg.solve_triangular
    h = solve(R, -g, trans=1, check_finite=False)
    V = solve(R, face.E, trans=1, check_finite=False)  # R'^-1 C
    held = np.zeros(0, np.int64)
    where = np.zeros(0)
    for _ in range(BOUNDED_TIMES):
        # 1. the minimum with these held
        c = np.concatenate([np.zeros(face.E.shape[1]), where - face.w[held]])
        t = _solution(V.T @ V, V.T @ h - c)
        there = face.w + solve(R, h - V @ t, check_finite=False)
        there[held] = where

        # 2. all that are beyond their bounds
        beyond = np.flatnonzero((there < face.low) | (there > face.high))
        if not len(beyond):
            feasible = np.abs(face.E.T @ (there - face.w)).max() < SUMS_KEPT
            return there if feasible else None
        held = np.concatenate([held, beyond])
        where = np.concatenate([where, np.clip(there, face.low, face.high)[beyond]])
        units = np.zeros((len(g), len(beyond)))
        units[beyond, np.arange(len(beyond))] = 1.0
        V = np.concatenate([V, solve(R, units, trans=1, check_finite=False)], axis=1)
    return None


def _solution(S: Array, right: Array) -> Array:
    """Solve a system of a Gram matrix whose columns may be zero, or depend on each other."""
    size = np.sqrt(S.diagonal())
    size[size == 0.0] = 1.0
    S = S / np.outer(size, size)
    S[np.diag_indices(len(S))] += GRAM_RIDGE
    root: Any = linalg.cho_factor
    return np.asarray(linalg.cho_solve(root(S), right / size)) / size
