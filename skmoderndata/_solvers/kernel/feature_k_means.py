"""K-means on features of rows that are seen in passes: sums of each cluster, for all starts."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.typing import Array

TINY = float(np.finfo(np.float64).tiny)


class FeatureTable(Protocol):
    """Rows with features `Z` and `weights`, of which sums are known."""

    def sum(self, function: Any, *shared: Any) -> Any:
        """Add up the tuples of ``function(rows, *shared)``."""


class FeatureMoments(NamedTuple):
    """Mean and scatter of the features."""

    mean: Array  # (r,)
    scatter: Array  # (r, r), weighted sum of the squared deviations
    beyond: float  # weighted sum of the squared distances from the span
    weight: float


class FeatureClusters(NamedTuple):
    """The best clustering of some starts."""

    centres: Array  # (k, r)
    mass: Array  # (k,), weights of the clusters
    objective: float  # in the span of the landmarks
    n_iter: int
    converged: bool


def feature_moments(table: FeatureTable) -> FeatureMoments:
    """Mean and scatter, in two passes."""
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
    """Leading directions `(r, k - 1)`, and the bound of `spectral_relaxation`.

    The directions are those of the principal components; the bound has the eigenvalues of the
    scatter, which are those of the centred kernel. What rounding adds is taken away from it.
    """
    S = moments.scatter
    trace = float(S.trace())
    m = min(k - 1, len(S))
    values, V = linalg.eigh(S)
    leading = np.maximum(values[::-1][:m], 0.0)
    explained = float(leading.sum())
    rounding = 1e-14 * len(S) * trace
    bound = max(trace - explained - rounding, 0.0)
    return V[:, ::-1][:, :m], bound


def means_of(Z: Array, weights: Array, labels: Array, k: int) -> Array:
    """Weighted means of clusters; an empty one has the mean of all."""
    sums, mass = cluster_sums(Z, weights, labels, k)
    filled = mass > 0
    mean = weights @ Z / weights.sum()
    means = np.tile(mean, (k, 1))
    means[filled] = sums[filled] / mass[filled, None]
    return means


def cluster_sums(Z: Array, weights: Array, labels: Array, k: int) -> tuple[Array, Array]:
    """Return sums of the features, and weights, of each cluster or class."""
    n = len(weights)
    entries = weights, labels, np.arange(n + 1)
    indicator = sparse.csc_array(entries, shape=(k, n))
    return indicator @ Z, np.bincount(labels, weights, minlength=k)


def nearest_centres(Z: Array, centres: Array) -> tuple[Array, Array]:
    """Nearest centre of each row, and the squared distance from it."""
    norms = np.einsum("ij,ij->i", centres, centres)
    own = np.einsum("ij,ij->i", Z, Z)
    D = norms - 2 * (Z @ centres.T)
    labels = D.argmin(axis=1)
    nearest = D[np.arange(len(Z)), labels]
    return labels, np.maximum(nearest + own, 0.0)


def feature_k_means(
    table: FeatureTable,
    starts: list[Array],
    *,
    scatter: float,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> FeatureClusters:
    """Lloyd's algorithm from several starts, which share their passes.

    Parameters
    ----------
    table : FeatureTable
        Rows.
    starts : list of ndarray of shape (k, r)
        Centres.
    scatter : float
        Weighted sum of squared distances from the mean of all rows, in units of which `tol` is.
    max_iter, tol, progress
        As `kernel_k_means` takes them.

    Returns
    -------
    FeatureClusters
        The start of lowest objective. Its centres are those that the rows were assigned to last.
    """
    n_starts = len(starts)
    running = np.arange(n_starts)
    centres = np.array(starts)
    mass = np.zeros(centres.shape[:2])
    objectives = np.full(n_starts, np.inf)
    n_iter = np.zeros(n_starts, dtype=int)

    it = Iterations(max_iter, -1.0, progress)
    for _ in it:
        # 1. a pass: sums of the clusters, and what the centres leave
        sums, mass[running], values = table.sum(_pass, centres[running])
        settled = values >= objectives[running] - tol * scatter
        objectives[running] = np.minimum(values, objectives[running])
        n_iter[running] += 1

        # 2. new centres of the starts that go on
        going = ~settled
        for i, own in zip(running[going], sums[going], strict=True):
            centres[i] = _new_centres(table, own, mass[i], centres[i])
        running = running[going]
        if len(running) == 0:
            it.residual = -np.inf

    # the last centres were not assigned to, if the passes ran out
    if len(running):
        _, mass[running], objectives[running] = table.sum(_pass, centres[running])
    best = int(objectives.argmin())
    objective = float(objectives[best])
    passes = int(n_iter[best])
    converged = best not in running
    return FeatureClusters(centres[best], mass[best], objective, passes, converged)


def _pass(rows: Any, centres: Array) -> tuple[Array, Array, Array]:
    """Return sums and weights of the clusters, and the objective, of each start."""
    # all starts see the rows at once
    n_starts, k, r = centres.shape
    sums = np.empty((n_starts, k, r))
    mass = np.empty((n_starts, k))
    objectives = np.empty(n_starts)
    for i, own in enumerate(centres):
        labels, squared = nearest_centres(rows.Z, own)
        sums[i], mass[i] = cluster_sums(rows.Z, rows.weights, labels, k)
        objectives[i] = rows.weights @ squared
    return sums, mass, objectives


def _new_centres(table: FeatureTable, sums: Array, mass: Array, centres: Array) -> Array:
    """Means of the clusters; empty ones take the rows that are farthest from their centres."""
    # means where there are rows
    filled = mass > 0
    new = centres.copy()
    new[filled] = sums[filled] / mass[filled, None]

    # rows that are far by more than rounding
    n_empty = int(np.count_nonzero(~filled))
    if n_empty:
        (farthest,) = table.sum(_farthest, centres, n_empty)
        norms = np.einsum("ij,ij->i", centres, centres)
        rounding = 1e-12 * norms.max()
        taken = farthest.distances > rounding
        empty = np.flatnonzero(~filled)
        empty = empty[: len(taken)]
        new[empty[taken]] = farthest.Z[taken]
    return new


class Farthest:
    """Rows farthest from their centres, and with `+` those of other rows too."""

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
