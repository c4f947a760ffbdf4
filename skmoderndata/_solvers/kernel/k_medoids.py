"""K-medoids from a matrix of distances: a greedy start, and exchanges of one medoid.

Notation: D (n, n) symmetric distances, w (n,) positive weights, k medoids.

Differs from the papers (Kaufman and Rousseeuw 1990; Schubert and Rousseeuw 2021, Algorithm 3): the
greedy start updates the gains of all candidates only for samples whose nearest medoid changes,
which takes about ``n^2 (1 + log k)`` operations instead of ``n^2 k``.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array


class MedoidsResult(NamedTuple):
    """Medoids of one start, their objective, and the state of convergence.

    `converged` says whether a complete pass found no exchange that lowers the objective.
    """

    medoids: Array
    objective: float
    n_iter: int
    converged: bool


class _Nearest(NamedTuple):
    """Positions of the two nearest medoids of each sample, and the distances from them."""

    first: Array
    second: Array
    d_first: Array
    d_second: Array


def build(D: Array, w: Array, k: int) -> Array:
    """Choose k medoids, each the sample that lowers the objective most (BUILD)."""
    medoids = [int((D @ w).argmin())]
    nearest = D[medoids[0]].copy()
    gains = np.zeros(len(D))
    _add_gains(D, w, np.full(len(D), np.inf), nearest, gains)

    for _ in range(1, k):
        gains[medoids] = -np.inf
        medoids.append(int(gains.argmax()))
        new = np.minimum(nearest, D[medoids[-1]])
        _add_gains(D, w, nearest, new, gains)
        nearest = new
    return np.array(medoids)


@jit_leaf
def _add_gains(D, w, old, new, gains):
    """Update the gain of each candidate c, ``sum_i w_i max(nearest_i - D_ic, 0)``, in place.

    Distances from the nearest medoid fall from `old` to `new`. Infinite old distances have no
    gain yet.
    """
    n = len(w)

    for i in range(n):
        if new[i] == old[i]:
            continue
        if old[i] == np.inf:
            for c in range(n):
                gains[c] += w[i] * max(new[i] - D[i, c], 0.0)
        else:
            for c in range(n):
                gains[c] -= w[i] * max(old[i] - max(new[i], D[i, c]), 0.0)


def k_medoids(
    D: Array, w: Array, medoids: Any, *, max_iter: int, progress: Progress | None = None
) -> MedoidsResult:
    """Exchange medoids until no exchange lowers the objective (FasterPAM, Algorithm 3).

    Each candidate is evaluated against the removal of each medoid, for all medoids at once. If an
    exchange lowers the objective, the best one for the candidate is made immediately.
    """
    n = len(D)
    medoids = np.array(medoids, dtype=np.int64)
    nearest = _nearest_two(D, medoids)
    without_change = 0

    it = Iterations(max_iter, 0.5, progress)
    for _ in it:
        for block in row_blocks(n, n):
            candidates = np.arange(block.start, block.stop)
            without_change = _try_all(D, w, candidates, medoids, *nearest, without_change)
        it.residual = 0.0 if without_change >= n else 1.0

    objective = float(w @ nearest.d_first)
    return MedoidsResult(medoids, objective, it.n_iter, it.converged)


def _nearest_two(D: Array, medoids: Array) -> _Nearest:
    """Find the two nearest medoids of each sample; a single medoid has a distant second."""
    rows = D[medoids].T  # (n, k)
    samples = np.arange(len(rows))
    first = rows.argmin(axis=1)
    d_first = rows[samples, first]
    if len(medoids) == 1:
        # there is no second medoid: assume one that is more distant than any candidate
        return _Nearest(first, first - 1, d_first, np.full(len(rows), 2.0 * D.max() + 1.0))
    rows = rows.copy()
    rows[samples, first] = np.inf
    second = rows.argmin(axis=1)
    return _Nearest(first, second, d_first, rows[samples, second])


@jit
def _try_all(D, w, candidates, medoids, first, second, d_first, d_second, without_change):
    """Try candidates in turn, and update medoids and nearest medoids in place.

    `without_change` is the number of candidates since the last exchange. Returns it, at least n if
    all samples have been tried without an exchange.
    """
    n = len(D)
    k = len(medoids)
    removal = np.empty(k)
    change = np.empty(k)
    objective = _removal_losses(w, first, d_first, d_second, removal)

    for c in candidates:
        if without_change >= n:
            break
        without_change += 1
        is_medoid = False
        for j in range(k):
            is_medoid |= medoids[j] == c
        if is_medoid:
            continue

        # 1. for each medoid, compute the change of the objective if c replaces it
        gain = _changes(D[c], w, first, d_first, d_second, removal, change)
        out = 0
        for j in range(1, k):
            if change[j] < change[out]:
                out = j

        # 2. exchange c with the best medoid if that lowers the objective
        if gain + change[out] < -ACCUMULATED_ROUNDING * (objective + removal[out]):
            medoids[out] = c
            _replace(D, medoids, out, first, second, d_first, d_second)
            objective = _removal_losses(w, first, d_first, d_second, removal)
            without_change = 0
    return without_change


@jit_leaf
def _removal_losses(w, first, d_first, d_second, removal):
    """Write the rise of the objective without each medoid; return the objective."""
    for j in range(len(removal)):
        removal[j] = 0.0

    objective = 0.0
    for i in range(len(w)):
        objective += w[i] * d_first[i]
        removal[first[i]] += w[i] * (d_second[i] - d_first[i])
    return objective


@jit_leaf
def _changes(d, w, first, d_first, d_second, removal, change):
    """Return the change of the objective by an additional medoid at distances d.

    Writes what the removal of each medoid then adds: its samples move to the new medoid or to
    their second nearest one.
    """
    for j in range(len(removal)):
        change[j] = 0.0

    # add in the same order as `_removal_losses`, so that replacing a medoid by its copy changes
    # nothing
    gain = 0.0
    for i in range(len(w)):
        if d[i] < d_second[i]:
            if d[i] < d_first[i]:
                gain += w[i] * (d[i] - d_first[i])
                change[first[i]] += w[i] * (d_first[i] - d_second[i])
            else:
                change[first[i]] += w[i] * (d[i] - d_second[i])
    for j in range(len(removal)):
        change[j] += removal[j]
    return gain


@jit_leaf
def _replace(D, medoids, new, first, second, d_first, d_second):
    """Update the two nearest medoids of each sample after medoid number `new` was replaced."""
    k = len(medoids)
    row = medoids[new]

    for i in range(len(first)):
        d = D[row, i]
        if k == 1:
            d_first[i] = d
        elif first[i] != new and second[i] != new:
            if d < d_first[i]:
                second[i] = first[i]
                d_second[i] = d_first[i]
                first[i] = new
                d_first[i] = d
            elif d < d_second[i]:
                second[i] = new
                d_second[i] = d
        else:
            # search all medoids if one of the two nearest was removed
            d_first[i] = np.inf
            d_second[i] = np.inf
            for j in range(k):
                d = D[medoids[j], i]
                if d < d_first[i]:
                    second[i] = first[i]
                    d_second[i] = d_first[i]
                    first[i] = j
                    d_first[i] = d
                elif d < d_second[i]:
                    second[i] = j
                    d_second[i] = d


def best_swap_gain(D: Array, w: Array, medoids: Array) -> float:
    """Return the largest relative decrease of the objective by one exchange, from D alone.

    A decrease at rounding level counts as 0.
    """
    nearest = _nearest_two(D, medoids)
    changes = []
    for block in row_blocks(len(D), len(D)):
        candidates = np.arange(block.start, block.stop)
        state = (nearest.first, nearest.d_first, nearest.d_second, len(medoids))
        changes.append(_least_change(D, w, candidates, *state))

    objective = float(w @ nearest.d_first)
    gain = -min(changes) / objective if objective > 0 else 0.0
    return gain if gain > 100 * ACCUMULATED_ROUNDING else 0.0


@jit
def _least_change(D, w, candidates, first, d_first, d_second, k):
    """Return the least change of the objective by an exchange of a medoid with a candidate."""
    removal = np.empty(k)
    change = np.empty(k)
    _removal_losses(w, first, d_first, d_second, removal)

    least = 0.0
    for c in candidates:
        gain = _changes(D[c], w, first, d_first, d_second, removal, change)
        for j in range(k):
            least = min(least, gain + change[j])
    return least
