"""K-means in feature space from kernel values: Lloyd's passes, exchanges, starts and a bound.

Differs from the papers: 1. sums of kernel values are updated by the samples that move, and are
recomputed before the end. 2. A cluster that loses all samples restarts at the farthest sample.
3. Lloyd's passes and single exchanges alternate.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import EPS, leading_eigen, row_signs
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.kernel.stored_k_means import (
    Clusters,
    compute_sums,
    draw_plus_plus,
    exchange_samples,
    find_nearest,
    move_samples,
    new_clusters,
)


class KernelSums(NamedTuple):
    """Samples in feature space, which are accessed by sums of their kernel values."""

    product: Callable[[Any], Array]  # function that returns `D @ K` for D with n columns
    diagonal: Array  # diagonal of K, (n,)
    weights: Array  # weights of the samples, (n,)
    matrix: Array | None = None  # K in memory, for compiled passes


class KMeansResult(NamedTuple):
    """A clustering, and the centres that the samples were assigned to."""

    labels: Array  # nearest centre of each sample, (n,)
    # clusters whose weighted means are the centres, (n,); equal to `labels` if converged
    members: Array
    # squared norms of the centres times the squared weights of the clusters in `members`, (k,)
    inner: Array
    objective: float  # sum of w_i |phi_i - centre|^2 for `members`
    n_iter: int  # number of passes over the samples
    converged: bool  # whether nothing moved in the last pass


def features_kernel(Z: Array, weights: Array) -> KernelSums:
    """Return sums for explicit features, whose kernel `Z Z'` is never formed."""
    diagonal = np.einsum("ij,ij->i", Z, Z)
    return KernelSums(lambda D: (D @ Z) @ Z.T, diagonal, weights)


def stored_kernel(K: Array, diagonal: Array, weights: Array) -> KernelSums:
    """Return sums for a symmetric kernel matrix in memory, with contiguous rows."""
    return KernelSums(lambda D: D @ K, diagonal, weights, K)


def blocks_kernel(
    blocks: Callable[[Array], Any], diagonal: Array, weights: Array
) -> KernelSums:
    """Return sums that compute kernel values again each time.

    `blocks(samples)` yields slices of `samples` and their kernel rows. Only the rows of samples
    that occur in the sums are computed, so late passes are nearly free.
    """

    def product(D: Any) -> Array:
        D = sparse.csc_array(D)
        samples = np.flatnonzero(np.diff(D.indptr))
        total = np.zeros(D.shape)
        for block, rows in blocks(samples):
            total += D[:, samples[block]] @ rows
        return total

    return KernelSums(product, diagonal, weights)


def kernel_k_means(
    kernel: KernelSums,
    labels: Array,
    k: int,
    *,
    max_iter: int,
    tol: float = 0.0,
    local_search: bool = False,
    verify: bool = True,
    progress: Progress | None = None,
) -> KMeansResult:
    """Minimise `sum_i w_i |phi(x_i) - m_{c(i)}|^2` over clusterings [Dhillon 2004, section 2].

    Lloyd's algorithm: centres are the weighted means of their clusters, and each sample belongs to
    the nearest centre. Its squared distance is `q_c / s_c^2 - 2 S_ci / s_c + k(x_i, x_i)`, where
    `s_c` is the weight of a cluster, `S` has the sums of kernel values with each sample and `q_c`
    the sum within the cluster. A cluster that lost all samples gets the sample farthest from its
    centre. With `local_search`, if no sample is nearer to another centre, samples move one by
    one where this lowers the objective, and the centres move with them [Telgarsky 2010]. The
    result is a fixed point of both.

    The objective never rises. The passes end when nothing moves, or when a pass lowers the
    objective by less than `tol` times the sum of squared distances from the overall mean. The sums
    are updated by the samples that move, and are recomputed before the end, so that accumulated
    rounding errors have no effect. Without `verify`, a start on a matrix in memory ends before
    that, in half the time; continue with the best start.
    """
    if kernel.matrix is not None:
        return _stored_k_means(
            kernel,
            new_clusters(labels, k),
            max_iter=max_iter,
            tol=tol,
            local_search=local_search,
            verify=verify,
            progress=progress,
        )
    product, diagonal, w, _ = kernel
    n = len(w)
    labels = np.array(labels, dtype=np.intp)

    S = product(_indicator(labels, w, k))
    fresh = True  # whether the sums were recomputed
    trace = float(w @ diagonal)
    sums = S.sum(axis=0)
    of_mean = float(w @ sums) / float(w.sum())
    scatter = trace - of_mean
    slack = ACCUMULATED_ROUNDING * max(trace, 0.0)

    # objectives of the last pass, and of the last pass with recomputed sums
    last = last_fresh = np.inf
    it = Iterations(max_iter, -1.0, progress)

    for _ in it:
        # 1. compute the weight and the inner sum of each cluster, and the objective
        mass, inner, objective = _totals(S, labels, w, trace)
        settled = objective >= (last_fresh if fresh else last) - tol * scatter
        last = objective
        last_fresh = objective if fresh else last_fresh

        # 2. find the nearest mean of each sample
        nearest = _nearest(S, mass, inner, diagonal)
        n_moved = np.count_nonzero(nearest != labels)

        # 3. move samples; recompute the sums if many samples move, otherwise update them
        if not settled and n_moved:
            fresh = 2 * int(n_moved) > n  # each moved sample changes two sums
            new = _indicator(nearest, w, k)
            if fresh:
                S = product(new)
            else:
                S = S + product(new - _indicator(labels, w, k))
            labels = nearest

        # 4. if no sample moves, try single exchanges; stop only if the sums are freshly computed
        elif not settled and local_search and _exchange(kernel, S, labels, mass, inner, slack):
            fresh = False
        elif fresh:
            it.residual = -np.inf  # converged: no sample moves even with recomputed sums
        else:
            S = product(_indicator(labels, w, k))
            fresh = True

    mass, inner, objective = _totals(S, labels, w, trace)
    nearest = _nearest(S, mass, inner)
    return KMeansResult(nearest, labels, inner, max(objective, 0.0), it.n_iter, it.converged)


def _stored_k_means(
    kernel: KernelSums,
    clusters: Clusters,
    *,
    max_iter: int,
    tol: float,
    local_search: bool,
    verify: bool,
    progress: Progress | None,
) -> KMeansResult:
    """Run the passes of `kernel_k_means` on a matrix in memory, with compiled steps."""
    _, diagonal, w, K = kernel
    compute_sums(K, w, clusters)
    fresh = True  # whether the sums were recomputed
    trace = float(w @ diagonal)
    of_mean = float(w @ clusters.S.sum(axis=0)) / float(w.sum())
    scatter = trace - of_mean
    slack = ACCUMULATED_ROUNDING * max(trace, 0.0)

    # objectives of the last pass, and of the last pass with recomputed sums
    last = last_fresh = np.inf
    it = Iterations(max_iter, -1.0, progress)

    for _ in it:
        # 1. and 2. compute the objective, and find the nearest mean of each sample
        explained, n_moved, n_empty = find_nearest(w, clusters)
        objective = trace - explained
        settled = objective >= (last_fresh if fresh else last) - tol * scatter
        last = objective
        last_fresh = objective if fresh else last_fresh
        if n_empty:
            _fill_empty(
                clusters.nearest, clusters.distance + diagonal, diagonal, len(clusters.S)
            )
            n_moved = np.count_nonzero(clusters.nearest != clusters.labels)

        # 3. move samples; recompute the sums if many samples move, otherwise update them
        if not settled and n_moved:
            fresh = 2 * int(n_moved) > len(w)
            if fresh:
                clusters.labels[:] = clusters.nearest
                compute_sums(K, w, clusters)
            else:
                move_samples(K, w, clusters)

        # 4. if no sample moves, try single exchanges; stop only if the sums are freshly computed
        elif (
            not settled and local_search and exchange_samples(K, diagonal, w, clusters, slack)
        ):
            fresh = False
        elif fresh or not verify:
            it.residual = -np.inf  # converged: no sample moves even with recomputed sums
        else:
            compute_sums(K, w, clusters)
            fresh = True

    explained, _, _ = find_nearest(w, clusters)
    return KMeansResult(
        clusters.nearest,
        clusters.labels,
        clusters.inner,
        max(trace - explained, 0.0),
        it.n_iter,
        it.converged,
    )


def _indicator(labels: Array, w: Array, k: int) -> Any:
    """Return a matrix `(k, n)` with the weights of the samples in the rows of their clusters."""
    n = len(w)
    entries = w, labels, np.arange(n + 1)
    return sparse.csc_array(entries, shape=(k, n))


def _totals(S: Array, labels: Array, w: Array, trace: float) -> tuple[Array, Array, float]:
    """Return weights `s_c` of clusters, sums `q_c` of kernel values in them, and the objective."""
    mass = np.bincount(labels, weights=w, minlength=len(S))
    within = S[labels, np.arange(len(w))]
    inner = np.bincount(labels, weights=w * within, minlength=len(S))
    explained = np.divide(inner, mass, out=np.zeros(len(S)), where=mass > 0)
    return mass, inner, trace - float(explained.sum())


def _distances(S: Array, mass: Array, inner: Array) -> Array:
    """Return squared distances from the centres `(k, n)`, minus the squared norms of samples."""
    with np.errstate(divide="ignore", invalid="ignore"):
        norms = inner / mass**2
        D: Array = norms[:, None] - (2 / mass)[:, None] * S
    D[mass == 0] = np.inf
    return D


def _nearest(S: Array, mass: Array, inner: Array, diagonal: Array | None = None) -> Array:
    """Return the nearest centre of each sample; with `diagonal`, no cluster is left empty.

    An empty cluster gets the sample that is farthest from its centre.
    """
    D = _distances(S, mass, inner)
    nearest: Array = D.argmin(axis=0)
    sizes = np.bincount(nearest, minlength=len(S))
    if diagonal is None or sizes.all():
        return nearest

    _fill_empty(nearest, D[nearest, np.arange(len(nearest))] + diagonal, diagonal, len(S))
    return nearest


def _fill_empty(nearest: Array, distance: Array, diagonal: Array, k: int) -> None:
    """Give each empty cluster the farthest sample of a cluster with at least two samples."""
    sizes = np.bincount(nearest, minlength=k)
    rounding = ACCUMULATED_ROUNDING * np.abs(diagonal).max()
    distance[distance <= rounding] = -np.inf
    for c in np.flatnonzero(sizes == 0):
        candidates = np.where(sizes[nearest] > 1, distance, -np.inf)
        i = int(candidates.argmax())
        if candidates[i] > 0:
            sizes[nearest[i]] -= 1
            nearest[i] = c
            sizes[c] = 1
            distance[i] = -np.inf


def _exchange(
    kernel: KernelSums, S: Array, labels: Array, mass: Array, inner: Array, slack: float
) -> int:
    """Make one pass of exchanges, which updates the arrays; return the number of moves."""
    _, diagonal, w, _ = kernel
    n_moves = 0
    changes = _changes(S, labels, diagonal, w, mass, inner)

    # try the samples that would lower the objective, one after another
    for i in np.flatnonzero(changes.min(axis=0) < -slack):
        column = slice(i, i + 1)
        sample = S[:, column], labels[column], diagonal[column], w[column]
        change = _changes(*sample, mass, inner)[:, 0]
        a = labels[i]
        b = int(change.argmin())

        # move the sample if this still lowers the objective after the previous moves
        if change[b] < -slack:
            weight = w[i]
            row = weight * _rows(kernel, np.array([i]))[0]
            norm = weight * diagonal[i]
            inner[a] += weight * (norm - 2 * S[a, i])
            inner[b] += weight * (norm + 2 * S[b, i])
            mass[a] -= weight
            mass[b] += weight
            S[a] -= row
            S[b] += row
            labels[i] = b
            n_moves += 1

    return n_moves


def _changes(
    S: Array, labels: Array, diagonal: Array, w: Array, mass: Array, inner: Array
) -> Array:
    """Compute the changes of the objective `(k, n)` if one sample moves to another cluster.

    A sample of weight w at the squared distance d from the mean of a cluster of weight s adds
    ``w s / (s + w) d`` when it joins, and removes ``w s / (s - w) d`` when it leaves.
    """
    own_cluster = labels, np.arange(len(labels))
    D = _distances(S, mass, inner) + diagonal
    D[mass == 0] = 0.0
    own_mass = mass[labels]
    remaining = own_mass - w
    alone = remaining <= ACCUMULATED_ROUNDING * own_mass

    # moving a sample lowers the objective of the old cluster by w s / (s - w) d and raises the
    # objective of the new cluster by w s / (s + w) d (w: weight of the sample, s: weight of the
    # cluster, d: squared distance)
    taken = w * own_mass / np.where(alone, 1.0, remaining) * D[own_cluster]
    s = mass[:, None]
    changes: Array = s / (s + w) * w * D - taken
    changes[own_cluster] = np.inf
    changes[:, alone] = np.inf
    changes[mass == 0] = np.inf
    return changes


def _rows(kernel: KernelSums, samples: Array) -> Array:
    """Return the kernel values of a few samples with all samples."""
    if kernel.matrix is not None:
        return kernel.matrix[samples]
    m = len(samples)
    n = len(kernel.weights)
    entries = np.ones(m), samples, np.arange(m + 1)
    return kernel.product(sparse.csr_array(entries, shape=(m, n)))


def assign_to_samples(rows: Array, diagonal: Array) -> Array:
    """Return the nearest of k samples, given their kernel rows `(k, n)` and squared norms."""
    return first_least(diagonal[:, None] - 2 * rows)


def first_least(values: Array) -> Array:
    """Return the index of the smallest value along axis 0; ties up to rounding go to the first."""
    slack = ACCUMULATED_ROUNDING * np.abs(values).max(axis=0)
    least = values.min(axis=0)
    return np.argmax(values <= least + slack, axis=0)


def plus_plus_start(kernel: KernelSums, k: int, rng: np.random.RandomState) -> Array:
    """Form clusters around samples drawn by greedy k-means++ [Arthur 2007].

    A sample is drawn with probability proportional to its weight times its squared distance, in
    feature space, from the nearest sample drawn before; the best of several trials is kept.
    """
    _, diagonal, w, matrix = kernel
    n_trials = 2 + int(np.log(k))
    if matrix is not None:
        n = len(w)
        labels = np.empty(n, np.int64)
        uniforms = rng.uniform(size=1 + (k - 1) * n_trials)
        draw_plus_plus(
            matrix, diagonal, w, uniforms, np.empty((k, n)), np.empty((3, n)), labels
        )
        return labels
    centres = np.empty(k, dtype=np.intp)

    # draw the first centre, and compute the distances from it
    centres[0] = _draw(w, rng, 1)[0]
    rows = np.empty((k, len(w)))
    rows[0] = _rows(kernel, centres[:1])[0]
    norm = diagonal[centres[:1]]
    closest = _squared_distances(rows[:1], diagonal, norm)[0]

    # keep the best of several candidates, drawn by their distances [Arthur 2007]
    for c in range(1, k):
        candidates = _draw(w * closest, rng, n_trials)
        K = _rows(kernel, candidates)
        distances = _squared_distances(K, diagonal, diagonal[candidates])
        D = np.minimum(closest, distances)
        best = int(first_least(D @ w))
        centres[c] = candidates[best]
        rows[c] = K[best]
        closest = D[best]

    return assign_to_samples(rows, diagonal[centres])


def random_start(kernel: KernelSums, k: int, rng: np.random.RandomState) -> Array:
    """Form clusters around k distinct samples drawn with probability proportional to weight."""
    w = kernel.weights
    probabilities = w / w.sum()
    centres = rng.choice(len(w), size=k, replace=False, p=probabilities)
    return assign_to_samples(_rows(kernel, centres), kernel.diagonal[centres])


class Relaxation(NamedTuple):
    """Leading part of the centred kernel, and the bound that follows from it."""

    coordinates: Array  # kernel principal components, (n, k - 1)
    bound: float  # lower bound on the objective of any clustering into k clusters


def spectral_relaxation(kernel: KernelSums, k: int) -> Relaxation:
    """Bound the objective of all clusterings from below [Shawe-Taylor 2004, Prop. 8.24; Zha 2002].

    With `A = W^(1/2) H K H' W^(1/2)`, where H centres with the weights, the objective is
    `tr A - tr Y'AY` for an orthonormal Y with k - 1 columns. It is therefore at least `tr A` minus
    the sum of the k - 1 largest eigenvalues. The norms of the residuals are added to this sum, so
    that the bound also holds for inexact eigenvalues.
    """
    product, diagonal, weights, _ = kernel
    n = len(weights)
    root = np.sqrt(weights)
    fraction = weights / weights.sum()

    def centred(B: Array) -> Array:
        B = np.asarray(B).reshape(n, -1) * root[:, None]
        B = B - fraction[:, None] * B.sum(axis=0)
        B = product(B.T).T
        return root[:, None] * (B - fraction @ B)

    # compute the trace of the centred kernel
    mean = product(fraction[None, :])[0]
    trace = float(weights @ (diagonal - 2 * mean + fraction @ mean))
    m = min(k - 1, n)
    if m == 0 or trace <= 0:
        return Relaxation(np.zeros((n, m)), max(trace, 0.0))

    operator = LinearOperator((n, n), matvec=centred, matmat=centred, dtype=np.float64)
    values, vectors = leading_eigen(operator, m, tol=1e-5)
    residuals = centred(vectors) - vectors * values
    errors = np.sqrt((residuals**2).sum(axis=0))

    # compute coordinates for a start, and a bound that allows for errors of the eigenvalues
    values = np.maximum(values, 0.0)
    safe = np.where(root > 0, root, 1.0)
    turned = row_signs(vectors.T) * vectors
    coordinates = turned * np.sqrt(values) / safe[:, None]
    errors += 100 * EPS * n**0.5 * trace / m  # rounding errors
    explained = float((values + errors).sum())
    return Relaxation(coordinates, max(trace - explained, 0.0))


def _draw(mass: Array, rng: np.random.RandomState, size: int) -> Array:
    """Draw samples with probability proportional to `mass`."""
    heap = np.cumsum(mass)
    if not heap[-1] > 0:  # there are fewer distinct samples than clusters
        return rng.randint(len(mass), size=size)
    points = rng.uniform(size=size) * heap[-1]
    drawn: Array = np.searchsorted(heap, points, side="right")
    return np.minimum(drawn, len(mass) - 1)


def _squared_distances(K: Array, diagonal: Array, norms: Array) -> Array:
    squares = diagonal + norms[:, None] - 2 * K
    return np.maximum(squares, 0.0)
