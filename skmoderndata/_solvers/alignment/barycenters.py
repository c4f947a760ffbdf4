"""Averages of series under warping, and k-means with these averages.

Differs from the papers: 1. series are aligned with the center side by side if the tables are
small. 2. Steps of L-BFGS are in units of ``sqrt(gamma)``. 3. An empty cluster restarts at the
series farthest from its center, so the objective of k-means never rises.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from skmoderndata._solvers.alignment.corridors import Band, corridor, fill_corridor
from skmoderndata._solvers.alignment.paths import walk
from skmoderndata._solvers.alignment.soft_warping import soft_costs
from skmoderndata._solvers.alignment.warping import (
    Packed,
    alignment_costs,
    lane_batches,
    next_row,
    side_by_side,
)
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.jit import FALSE, jit_leaf
from skmoderndata._solvers.common.threads import in_jobs
from skmoderndata._solvers.common.tolerances import TINY
from skmoderndata._solvers.common.typing import Array

# Maximum number of cells of a cost table if several are kept at once (32 tables take 64 MB).
CELLS = 2**18
# Number of tables that are kept at once; with 8 tables, the passes take twice as long as
# with 32.
WIDTH = 32


class Barycenter(NamedTuple):
    """An average series.

    Attributes
    ----------
    center : ndarray of shape (length, n_channels)
        Average series.
    objective : float
        Weighted sum of the costs of the center with the series.
    n_iter : int
        Number of passes.
    converged : bool
        Whether the objective stopped decreasing.
    """

    center: Array
    objective: float
    n_iter: int
    converged: bool


class Room(NamedTuple):
    """Work space for a center of n points and several series side by side."""

    tables: Array  # (n + 1, longest + 1, n_series)
    work: Array  # (2, n_series), see `next_row`
    low: Array  # (n,), first columns of the corridor
    high: Array  # (n,), ends of the corridor, exclusive


@jit_leaf
def _add_aligned(path, z, weight, sums, masses):
    """Add the points of a series to the points of the center that they are aligned with."""
    for step in range(len(path)):
        i = path[step, 0]
        j = path[step, 1]
        masses[i] += weight
        for c in range(z.shape[1]):
            sums[i, c] += weight * z[j, c]


def gather(
    center: Array, X: Packed, weights: Array, band: Band, sums: Array, masses: Array
) -> float:
    """Sum the points aligned with each point of the center; return the weighted cost."""
    total = 0.0
    no_costs = np.empty((0, 0))
    for p, weight in enumerate(weights):
        z = X[0][X[1][p] : X[1][p + 1]]
        low, high = corridor(len(center), len(z), band)
        path, cost = walk(center, z, no_costs, low, high, False)
        total += weight * cost
        _add_aligned(path, z, weight, sums, masses)
    return total


@jit_leaf
def gather_side_by_side(center, lanes, lengths, weights, space, band, sums, masses):
    """Do the same as `gather` for several short series at once, keeping their full tables."""
    n = len(center)
    (longest, n_channels, width) = lanes.shape
    D = space.tables
    work = space.work
    low = space.low
    high = space.high
    fill_corridor(n, longest, band, low, high)

    # 1. fill the tables of all lanes, row by row
    for j in range(longest + 1):
        for k in range(width):
            D[0, j, k] = np.inf if j > 0 else 0.0
    for i in range(n):
        for j in range(longest + 1):
            for k in range(width):
                D[i + 1, j, k] = D[i, j, k]
        next_row(center[i], i, lanes, low[i], high[i], FALSE, D[i + 1], work, width)

    # 2. go back along the best path of each lane and add up the points that it aligns
    total = 0.0
    for k in range(width):
        i = n
        j = lengths[k]
        if not low[n - 1] < j <= high[n - 1]:
            return np.inf
        total += weights[k] * D[i, j, k]
        while i > 0 and D[n, lengths[k], k] < np.inf:
            masses[i - 1] += weights[k]
            for c in range(n_channels):
                sums[i - 1, c] += weights[k] * lanes[j - 1, c, k]

            above = D[i - 1, j, k]
            left = D[i, j - 1, k]
            if D[i - 1, j - 1, k] <= min(above, left):
                i = i - 1
                j = j - 1
            elif above <= left:
                i -= 1
            else:
                j -= 1
    return total


def _gatherer(
    X: Packed, weights: Array, length: int, band: Band
) -> Callable[[Array], tuple[Array, Array, float]]:
    """Return a function that maps a center to the sums and masses of its points and the cost."""
    lengths = np.diff(X[1])
    batches: list[tuple[Any, ...]] = []
    if length * int(lengths.max()) <= CELLS:
        order = np.argsort(lengths, kind="stable")
        intervals = lane_batches(
            lengths[order], mixed_lengths=not band.needs_lengths, size=WIDTH
        )
        tables = np.empty((length + 1) * (int(lengths.max()) + 1) * WIDTH)
        for members in (order[slice(*interval)] for interval in intervals):
            lanes = side_by_side(X, members)
            shape = (length + 1, len(lanes.values) + 1, len(members))
            D = tables[: int(np.prod(shape))].reshape(shape)
            low, high = np.empty((2, length), dtype=np.int64)
            space = Room(D, np.empty((2, len(members))), low, high)
            batches.append((*lanes, weights[members], space))

    def gathered(center: Array) -> tuple[Array, Array, float]:
        sums = np.zeros_like(center)
        masses = np.zeros(len(center))
        if not batches:
            return sums, masses, gather(center, X, weights, band, sums, masses)
        costs = [gather_side_by_side(center, *batch, band, sums, masses) for batch in batches]
        return sums, masses, sum(costs)

    return gathered


def average_step(X: Packed, weights: Array, center: Array, band: Band) -> Array:
    """Return the weighted means of the points that are aligned with each point of the center."""
    sums, masses, _ = _gatherer(X, weights, len(center), band)(center)
    return _means(sums, masses, center)


def _means(sums: Array, masses: Array, center: Array) -> Array:
    here = masses[:, None] > 0
    return np.where(here, sums / np.where(here, masses[:, None], 1.0), center)


def average(
    X: Packed, weights: Array, center: Array, *, band: Band, max_iter: int, tol: float
) -> Barycenter:
    """Minimise ``sum_p w_p dtw(c, x_p)^2`` over the series c (Petitjean et al. 2011, DBA).

    Each pass aligns the series and then replaces each point of the center by the weighted mean of
    the points aligned with it. Neither step raises the objective. Stops when the relative decrease
    is at most `tol`.
    """
    center = center.copy()
    gathered = _gatherer(X, weights, len(center), band)
    it = Iterations(max_iter, tol)
    sums, masses, objective = gathered(center)
    for _ in it:
        new = _means(sums, masses, center)
        sums, masses, value = gathered(new)
        if not value < objective:  # only rounding errors can prevent a decrease
            it.converged = True
            continue
        it.residual = (objective - value) / objective
        center = new
        objective = value
    return Barycenter(center, float(objective), it.n_iter, it.converged)


def soft_average(
    X: Packed,
    weights: Array,
    center: Array,
    *,
    gamma: float,
    band: Band,
    max_iter: int,
    tol: float,
) -> Barycenter:
    """Minimise ``sum_p w_p softdtw(c, x_p)`` by L-BFGS (Cuturi and Blondel 2017, section 3).

    The steps and tolerances of L-BFGS are absolute. Therefore the variable is the change of the
    center in units of ``sqrt(gamma)``, and the objective is divided by gamma.
    """
    unit = np.sqrt(gamma)

    def function(change: Array) -> tuple[float, Array]:
        c = center + unit * change.reshape(center.shape)
        gradient = np.zeros_like(center)
        costs = soft_costs(c, *X, weights, gamma, band, gradient)
        return float(weights @ costs) / gamma, gradient.ravel() / unit

    start, _ = function(np.zeros(center.size))
    result = minimize(
        function,
        np.zeros(center.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "ftol": tol},
    )
    if not result.fun <= start:
        return Barycenter(center.copy(), gamma * start, 0, True)
    average = center + unit * result.x.reshape(center.shape)
    objective = gamma * float(result.fun)
    return Barycenter(average, objective, int(result.nit), result.status == 0)


class Clusters(NamedTuple):
    """Clusters of series.

    Attributes
    ----------
    centers : list of ndarray
        Averages of the clusters.
    labels : ndarray of int
        Nearest center of each series.
    objective : float
        Sum of the costs of the series with their centers.
    history : ndarray
        Objective after each assignment.
    n_iter : int
        Number of passes.
    converged : bool
        Whether the assignments or the objective stopped changing.
    """

    centers: list[Array]
    labels: Array
    objective: float
    history: Array
    n_iter: int
    converged: bool


def pack_centers(centers: list[Array]) -> Packed:
    """Return centers as one collection."""
    offsets = np.concatenate([[0], np.cumsum([len(c) for c in centers])]).astype(np.int64)
    return np.concatenate(centers), offsets


def _take(X: Packed, indices: Array) -> Packed:
    return pack_centers([X[0][X[1][i] : X[1][i + 1]] for i in indices])


def plus_plus(
    X: Packed, k: int, costs_to: Callable[[list[Array]], Array], rng: Any
) -> list[Array]:
    """Draw k series as centers, each far from the previous centers (greedy k-means++)."""
    n = len(X[1]) - 1
    tries = 2 + int(np.log(k))
    numbers = [int(rng.randint(n))]
    nearest = costs_to([_take(X, np.array(numbers))[0]])[0]
    for _ in range(1, k):
        usable = np.clip(np.where(np.isfinite(nearest), nearest, 0.0), 0.0, None)
        usable[np.isinf(nearest)] = max(usable.max(), 1.0)
        usable[numbers] = 0.0
        total = usable.sum()
        if total > 0:
            drawn = rng.choice(n, size=tries, p=usable / total)
        else:  # there are fewer distinct series than clusters
            drawn = rng.choice(np.setdiff1d(np.arange(n), numbers), size=1)
        costs = np.minimum(costs_to([_take(X, np.array([i]))[0] for i in drawn]), nearest)
        best = int(costs.sum(axis=1).argmin())
        numbers.append(int(drawn[best]))
        nearest = costs[best]
    return [_take(X, np.array([i]))[0].copy() for i in numbers]


def series_k_means(
    X: Packed,
    centers: list[Array],
    costs_to: Callable[[list[Array]], Array],
    update: Callable[[Packed, Array], Array],
    *,
    max_iter: int,
    tol: float,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Clusters:
    """Alternate nearest centers and averages (Lloyd), computing averages in `n_jobs` threads.

    `costs_to(centers)` returns the costs of all series, of shape (k, n), and
    `update(part, center)` an average whose cost is no higher. An empty cluster restarts at the
    series farthest from its center if this lowers the cost of the series, so the objective never
    rises and equal series have equal labels. Stops when no label changes and the relative decrease
    of the objective is at most `tol`.
    """
    it = Iterations(max_iter, tol, progress)

    centers = list(centers)
    history: list[float] = []
    labels = np.full(len(X[1]) - 1, -1)
    costs = costs_to(centers)
    best = labels
    best_centers = centers
    for _ in it:
        # 1. assign each series to its nearest center
        previous = labels
        labels = _fill_empty(X, costs, centers, costs_to)
        costs_to_own = costs[labels, np.arange(len(labels))]
        objective = float(costs_to_own.sum())

        # if rounding errors have raised the objective, stop and keep the previous clusters
        if history and not objective <= history[-1]:
            it.converged = True
            continue
        fallen = history[-1] - objective if history else np.inf
        history.append(objective)
        best = labels
        best_centers = list(centers)
        it.residual = fallen / max(abs(objective), TINY)

        if (labels == previous).all() and fallen <= tol * abs(objective):
            it.converged = True
            continue

        # 2. update each average independently
        filled = np.unique(labels)
        members = [np.flatnonzero(labels == c) for c in filled]
        tasks = [(_take(X, rows), centers[c]) for c, rows in zip(filled, members, strict=True)]
        averages = in_jobs(update, tasks, n_jobs, prefer="threads")
        for c, center in zip(filled, averages, strict=True):
            centers[c] = center
        costs = costs_to(centers)
    return Clusters(
        best_centers, best, history[-1], np.array(history), it.n_iter, it.converged
    )


def _fill_empty(
    X: Packed, costs: Array, centers: list[Array], costs_to: Callable[[list[Array]], Array]
) -> Array:
    """Return nearest centers; an empty cluster gets the farthest series as its center.

    If the cost of this series with itself is not below its current cost, as with copies of other
    centers, the cluster stays empty. Modifies `costs` and `centers` in place.
    """
    labels = costs.argmin(axis=0)
    for c in range(len(centers)):
        if (labels == c).any():
            continue
        costs_to_own = costs[labels, np.arange(len(labels))]
        single = np.bincount(labels, minlength=len(centers))[labels] < 2
        far = int(np.where(single, -np.inf, costs_to_own).argmax())
        if single[far]:
            continue

        center = _take(X, np.array([far]))[0].copy()
        to_center = costs_to([center])[0]
        if to_center[far] < costs_to_own[far]:
            centers[c] = center
            costs[c] = to_center
            labels = costs.argmin(axis=0)
    return labels


def warping_costs_to(
    X: Packed, band: Band, n_jobs: int | None
) -> Callable[[list[Array]], Array]:
    """Return a function that maps centers to the squared warping distances of all series."""

    def costs_to(centers: list[Array]) -> Array:
        return alignment_costs(
            pack_centers(centers), X, band=band, rooted=False, n_jobs=n_jobs
        )

    return costs_to


def smoothing(gamma: float | str, values: Array) -> float:
    """Return gamma of the soft minimum; "scale" is the variance of all values (points, channels).

    All pairs of a set share one value, so that soft costs can be compared and added.
    """
    if gamma != "scale":
        return float(gamma)
    variance = float(values.var(axis=0).sum())
    return variance if variance > 0 else 1.0


def soft_costs_to(X: Packed, gamma: float, band: Band) -> Callable[[list[Array]], Array]:
    """Return a function that maps centers to the soft costs of all series."""
    weights = np.ones(len(X[1]) - 1)
    no_gradient = np.empty((0, X[0].shape[1]))

    def costs_to(centers: list[Array]) -> Array:
        return np.array(
            [soft_costs(c, *X, weights, gamma, band, no_gradient) for c in centers]
        )

    return costs_to
