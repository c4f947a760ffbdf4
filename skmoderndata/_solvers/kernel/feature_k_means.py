"""K-means on features of rows that are read in passes, which all starts share."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import EPS
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array


class FeatureTable(Protocol):
    """Rows with features `Z` and `weights`, which can be summed over."""

    def sum(self, function: Any, *shared: Any) -> Any:
        """Add up the tuples of ``function(rows, *shared)``."""


class FeatureMoments(NamedTuple):
    """Mean and scatter of the features."""

    mean: Array  # weighted mean, (r,)
    scatter: Array  # weighted sum of products of deviations, (r, r)
    beyond: float  # weighted sum of the squared distances from the span of the landmarks
    weight: float  # sum of the weights


class FeatureClusters(NamedTuple):
    """Best clustering of several starts."""

    centres: Array  # centres, (k, r)
    mass: Array  # weights of the clusters, (k,)
    objective: float  # part of the objective within the span of the landmarks
    n_iter: int  # number of passes
    converged: bool  # whether the passes converged


def feature_moments(table: FeatureTable) -> FeatureMoments:
    """Compute the mean and the scatter in two passes."""
    total, beyond, weight = table.sum(_sums)
    mean = total / max(weight, TINY)
    (scatter,) = table.sum(_scatter, mean)
    return FeatureMoments(mean, scatter, beyond, weight)


def _sums(rows: Any) -> tuple[Array, float, float]:
    w = rows.weights
    return w @ rows.Z, float(w @ rows.beyond), float(w.sum())


def _scatter(rows: Any, mean: Array) -> tuple[Array]:
    centred = np.sqrt(rows.weights)[:, None] * (rows.Z - mean)
    return (centred.T @ centred,)


def relaxation_of_moments(moments: FeatureMoments, k: int) -> tuple[Array, float]:
    """Return leading directions `(r, k - 1)`, and the bound of `spectral_relaxation`.

    The directions are the principal components. The bound uses the eigenvalues of the scatter,
    which equal the eigenvalues of the centred kernel, and is lowered by the possible rounding
    error.
    """
    S = moments.scatter
    trace = float(S.trace())
    m = min(k - 1, len(S))
    values, V = linalg.eigh(S)
    leading = np.maximum(values[::-1][:m], 0.0)
    explained = float(leading.sum())
    rounding = 100 * EPS * len(S) * trace
    bound = max(trace - explained - rounding, 0.0)
    return V[:, ::-1][:, :m], bound


def means_of(Z: Array, weights: Array, labels: Array, k: int) -> Array:
    """Return the weighted means of clusters; an empty cluster gets the overall mean."""
    sums, mass = cluster_sums(Z, weights, labels, k)
    filled = mass > 0
    mean = weights @ Z / weights.sum()
    means = np.tile(mean, (k, 1))
    means[filled] = sums[filled] / mass[filled, None]
    return means


def cluster_sums(Z: Array, weights: Array, labels: Array, k: int) -> tuple[Array, Array]:
    """Return the sums of the features and of the weights, for each cluster or class."""
    n = len(weights)
    entries = weights, labels, np.arange(n + 1)
    indicator = sparse.csc_array(entries, shape=(k, n))
    return indicator @ Z, np.bincount(labels, weights, minlength=k)


def nearest_centres(Z: Array, centres: Array) -> tuple[Array, Array]:
    """Return the nearest centre of each row, and the squared distance from it."""
    norms = np.einsum("ij,ij->i", centres, centres)
    squares = np.einsum("ij,ij->i", Z, Z)
    D = norms - 2 * (Z @ centres.T)
    labels = D.argmin(axis=1)
    nearest = D[np.arange(len(Z)), labels]
    return labels, np.maximum(nearest + squares, 0.0)


def feature_k_means(
    table: FeatureTable,
    starts: list[Array],
    *,
    scatter: float,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> FeatureClusters:
    """Run Lloyd's algorithm from several starts, which share their passes.

    Parameters
    ----------
    table : FeatureTable
        Rows to be clustered.
    starts : list of ndarray of shape (k, r)
        First centres of each start.
    scatter : float
        Weighted sum of squared distances from the overall mean; the unit of `tol`.
    max_iter, tol, progress
        The same as in `kernel_k_means`.

    Returns
    -------
    FeatureClusters
        Start with the lowest objective, with the centres that rows were last assigned to.
    """
    n_starts = len(starts)
    running = np.arange(n_starts)
    centres = np.array(starts)
    mass = np.zeros(centres.shape[:2])
    objectives = np.full(n_starts, np.inf)
    n_iter = np.zeros(n_starts, dtype=int)

    it = Iterations(max_iter, -1.0, progress)
    for _ in it:
        # 1. compute the sums of all clusters, and the objectives, in one pass
        sums, mass[running], values = table.sum(_pass, centres[running])
        settled = values >= objectives[running] - tol * scatter
        objectives[running] = np.minimum(values, objectives[running])
        n_iter[running] += 1

        # 2. update the centres of the starts that still change
        going = ~settled
        for i, sums_of_start in zip(running[going], sums[going], strict=True):
            centres[i] = _new_centres(table, sums_of_start, mass[i], centres[i])
        running = running[going]
        if len(running) == 0:
            it.residual = -np.inf

    # if the maximum number of passes is reached, assign the rows to the last centres
    if len(running):
        _, mass[running], objectives[running] = table.sum(_pass, centres[running])
    best = int(objectives.argmin())
    objective = float(objectives[best])
    passes = int(n_iter[best])
    converged = best not in running
    return FeatureClusters(centres[best], mass[best], objective, passes, converged)


def _pass(rows: Any, centres: Array) -> tuple[Array, Array, Array]:
    """Return sums and weights of the clusters, and the objective, of each start."""
    # evaluate all starts while the rows are in memory
    n_starts, k, r = centres.shape
    sums = np.empty((n_starts, k, r))
    mass = np.empty((n_starts, k))
    objectives = np.empty(n_starts)
    for i, centres_of_start in enumerate(centres):
        labels, squared = nearest_centres(rows.Z, centres_of_start)
        sums[i], mass[i] = cluster_sums(rows.Z, rows.weights, labels, k)
        objectives[i] = rows.weights @ squared
    return sums, mass, objectives


def _new_centres(table: FeatureTable, sums: Array, mass: Array, centres: Array) -> Array:
    """Return the means of the clusters; empty clusters get the rows farthest from a centre."""
    # compute the means of the clusters that have rows
    filled = mass > 0
    new = centres.copy()
    new[filled] = sums[filled] / mass[filled, None]

    # give empty clusters only rows whose distance from the nearest centre exceeds rounding errors
    n_empty = int(np.count_nonzero(~filled))
    if n_empty:
        (farthest,) = table.sum(_farthest, centres, n_empty)
        norms = np.einsum("ij,ij->i", centres, centres)
        rounding = ACCUMULATED_ROUNDING * norms.max()
        taken = farthest.distances > rounding
        empty = np.flatnonzero(~filled)
        empty = empty[: len(taken)]
        new[empty[taken]] = farthest.Z[taken]
    return new


class Farthest:
    """Rows farthest from their centres; `+` merges two such sets."""

    def __init__(self, Z: Array, distances: Array, n: int) -> None:
        order = np.argsort(-distances, kind="stable")[:n]
        self.Z = Z[order]
        self.distances = distances[order]
        self.n = n

    def __add__(self, other: "Farthest") -> "Farthest":
        Z = np.concatenate([self.Z, other.Z])
        distances = np.concatenate([self.distances, other.distances])
        return Farthest(Z, distances, self.n)


def _farthest(rows: Any, centres: Array, n: int) -> tuple[Farthest]:
    _, squared = nearest_centres(rows.Z, centres)
    return (Farthest(rows.Z, squared, n),)
