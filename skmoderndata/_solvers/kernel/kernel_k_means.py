"""K-means in feature space by kernel values: Lloyd's passes, single exchanges, starts, bound."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator

from skmoderndata._jit import jit
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import leading_eigen, row_signs

Array = np.ndarray[Any, np.dtype[Any]]

TIE = 1e-12  # relative difference of distances below which rounding would decide


class KMeansResult(NamedTuple):
    """A clustering, and the centres that it was assigned to."""

    labels: Array  # (n,), nearest centre
    members: Array  # (n,), clusters whose weighted means are the centres; labels if converged
    objective: float  # sum of w_i |phi_i - centre|^2 for `members`
    n_iter: int  # passes over the samples
    n_rows: int  # rows of the kernel matrix that were read
    converged: bool


class Clusters(Protocol):
    """Sums of kernel values between samples and clusters, kept up to date as samples move.

    `sums[c, i]` is the sum of `w_j k(x_j, x_i)` over the samples j of cluster c.
    """

    sums: Array
    diagonal: Array
    weights: Array
    n_rows: int
    many: float  # fraction of samples above which to compute anew is faster than to move them

    def refresh(self, labels: Array) -> None:
        """Compute the sums anew."""

    def move(self, samples: Array, old: Array, new: Array) -> None:
        """Move samples from one cluster to another."""

    def exchange(self, labels: Array, mass: Array, inner: Array, slack: float) -> int:
        """Move single samples as long as the objective falls; changes its arguments."""

    def rows(self, samples: Array) -> Array:
        """Kernel values of a few samples against all."""


class GramClusters:
    """Clusters of the samples of a kernel matrix, in memory or computed by blocks.

    Only rows of samples that move are read, so that late passes are nearly free.

    Parameters
    ----------
    K : ndarray of shape (n, n) or None
        The kernel matrix.
    blocks : callable or None
        `blocks(samples)` yields `part, rows` of the kernel matrix, where `part` is a slice of
        `samples`; used where `K` is None.
    diagonal, weights : ndarray of shape (n,)
        Diagonal of the matrix and weights of the samples.
    k : int
        Number of clusters.
    """

    def __init__(self, K: Array | None, blocks: Any, diagonal: Array, weights: Array, k: int):
        self.K, self.blocks = K, blocks
        self.diagonal, self.weights = diagonal, weights
        self.sums = np.zeros((k, len(weights)))
        self.n_rows = 0
        self.many = 0.5 if K is not None else 1.0

    def _parts(self, samples: Array) -> Iterator[tuple[slice, Array, Array]]:
        self.n_rows += len(samples)
        if self.K is not None:
            yield slice(0, len(samples)), self.K, samples
            return
        for part, block in self.blocks(samples):
            yield part, np.ascontiguousarray(block), np.arange(len(block))

    def refresh(self, labels: Array) -> None:
        """Compute the sums anew."""
        self.sums[:] = 0.0
        if self.K is None:
            self.move(np.arange(len(labels)), np.full(len(labels), -1), labels)
            return
        self.n_rows += len(labels)
        _add_kernel_rows(self.sums, self.K, np.argsort(labels), labels, self.weights)

    def move(self, samples: Array, old: Array, new: Array) -> None:
        """Move samples from one cluster to another."""
        for part, K, index in self._parts(samples):
            _move(self.sums, K, index, old[part], new[part], self.weights[samples[part]])

    def exchange(self, labels: Array, mass: Array, inner: Array, slack: float) -> int:
        """Move single samples as long as the objective falls; changes its arguments."""
        n_moves = 0
        samples = np.arange(len(labels))
        before = self.n_rows
        for part, K, index in self._parts(samples):
            n_moves += _exchange(
                self.sums,
                K,
                index,
                samples[part],
                labels,
                self.weights,
                self.diagonal,
                mass,
                inner,
                slack,
            )
        if self.K is not None:
            self.n_rows = before + n_moves
        return n_moves

    def rows(self, samples: Array) -> Array:
        """Kernel values of a few samples against all."""
        self.n_rows += len(samples)
        if self.K is not None:
            return self.K[samples].astype(np.float64)
        return np.concatenate([np.asarray(block, float) for _, block in self.blocks(samples)])


class FeatureClusters:
    """Clusters of explicit features: the kernel is `Z Z'`, which is never formed."""

    def __init__(self, Z: Array, weights: Array, k: int):
        self.Z, self.weights = np.ascontiguousarray(Z), weights
        self.diagonal = np.einsum("ij,ij->i", Z, Z)
        self.totals = np.zeros((k, Z.shape[1]))
        self.sums = np.zeros((k, len(Z)))
        self.n_rows = 0
        self.many = 0.5

    def refresh(self, labels: Array) -> None:
        """Compute the sums anew."""
        self.totals[:] = 0.0
        self.move(np.arange(len(labels)), np.full(len(labels), -1), labels)

    def move(self, samples: Array, old: Array, new: Array) -> None:
        """Move samples from one cluster to another."""
        _move(self.totals, self.Z, samples, old, new, self.weights[samples])
        self._project()

    def exchange(self, labels: Array, mass: Array, inner: Array, slack: float) -> int:
        """Move single samples as long as the objective falls; changes its arguments."""
        n_moves = _exchange_features(
            self.totals, self.Z, labels, self.weights, self.diagonal, mass, inner, slack
        )
        self._project()
        return int(n_moves)

    def rows(self, samples: Array) -> Array:
        """Kernel values of a few samples against all."""
        product: Array = self.Z[samples] @ self.Z.T
        return product

    def _project(self) -> None:
        np.matmul(self.totals, self.Z.T, out=self.sums)


def kernel_k_means(
    clusters: Clusters,
    labels: Array,
    *,
    max_iter: int,
    tol: float = 0.0,
    local_search: bool = False,
    progress: Progress | None = None,
) -> KMeansResult:
    """Minimise `sum_i w_i |phi(x_i) - m_{c(i)}|^2` over clusterings [Dhillon 2004, section 2].

    Lloyd's algorithm: centres are the weighted means of their clusters, each sample goes to the
    nearest centre, `q_c / s_c^2 - 2 S_ci / s_c + k(x_i, x_i)` with `s_c` the weight of a cluster,
    `S` the sums of kernel values and `q_c` those within it. A cluster that lost all samples takes
    the sample farthest from its centre. With `local_search`, when no sample is nearer to
    another centre, samples move one by one where that lowers the objective, centres moving with
    them [Telgarsky 2010]; what remains is a fixed point of both.

    The objective never rises. The passes end when nothing moves, or when a pass lowers the
    objective by less than `tol` times the sum of squared distances from the overall mean. The
    sums are changed by the samples that move, and before the end computed anew, so that rounding
    errors of the changes do not decide.
    """
    k, n = clusters.sums.shape
    w, diagonal = clusters.weights, clusters.diagonal
    labels = np.array(labels, dtype=np.intp)
    clusters.refresh(labels)
    fresh = True
    trace = float(w @ diagonal)
    scatter = trace - float(w @ (clusters.sums.sum(axis=0))) / float(w.sum())
    slack = 1e-13 * max(trace, 0.0)
    nearest, partial = np.empty(n, dtype=np.intp), np.empty(n)
    mass, inner = np.empty(k), np.empty(k)
    last = last_fresh = np.inf  # objectives, of any pass and of those on sums computed anew
    it = Iterations(max_iter, -1.0, progress)
    for _ in it:
        _totals(clusters.sums, labels, w, mass, inner)
        objective = trace - float((inner[mass > 0] / mass[mass > 0]).sum())
        settled = objective >= (last_fresh if fresh else last) - tol * scatter
        last = objective
        last_fresh = objective if fresh else last_fresh
        _nearest(clusters.sums, mass, inner, nearest, partial)
        _fill_empty(nearest, partial, diagonal, k)
        moved = np.flatnonzero(nearest != labels)
        if not settled:
            if len(moved):
                fresh = len(moved) > clusters.many * n
                if fresh:
                    clusters.refresh(nearest)
                else:
                    clusters.move(moved, labels[moved], nearest[moved])
                labels[moved] = nearest[moved]
                continue
            if local_search and clusters.exchange(labels, mass, inner, slack):
                fresh = False
                continue
        if fresh:
            it.residual = -np.inf  # nothing moves on sums computed anew
            continue
        clusters.refresh(labels)
        fresh = True
    _totals(clusters.sums, labels, w, mass, inner)
    objective = max(trace - float((inner[mass > 0] / mass[mass > 0]).sum()), 0.0)
    _nearest(clusters.sums, mass, inner, nearest, partial)
    return KMeansResult(nearest, labels, objective, it.n_iter, clusters.n_rows, it.converged)


def assign_to_samples(rows: Array, diagonal: Array) -> Array:
    """Nearest of some samples, given their kernel rows `(k, n)` and squared norms `(k,)`."""
    return first_least(diagonal[:, None] - 2 * rows)


def first_least(values: Array) -> Array:
    """Index of the least value along the first axis, the first of those equal but for rounding."""
    slack = TIE * np.abs(values).max(axis=0)
    index: Array = np.argmax(values <= values.min(axis=0) + slack, axis=0)
    return index


def plus_plus_start(
    clusters: Clusters, k: int, rng: np.random.RandomState, n_trials: int | None = None
) -> Array:
    """Clusters around samples drawn by k-means++ [Arthur 2007], the best of some trials each.

    A sample is drawn with probability proportional to its weight times its squared distance, in
    feature space, from the nearest one drawn before.
    """
    w, diagonal = clusters.weights, clusters.diagonal
    n_trials = 2 + int(np.log(k)) if n_trials is None else n_trials
    chosen = np.empty(k, dtype=np.intp)
    chosen[0] = _draw(w, rng, 1)[0]
    rows = np.empty((k, len(w)))
    rows[0] = clusters.rows(chosen[:1])[0]
    closest = _squared_distances(rows[:1], diagonal, diagonal[chosen[:1]])[0]
    for c in range(1, k):
        candidates = _draw(w * closest, rng, n_trials)
        K = clusters.rows(candidates)
        D = np.minimum(closest, _squared_distances(K, diagonal, diagonal[candidates]))
        best = int(first_least(D @ w))
        chosen[c], rows[c], closest = candidates[best], K[best], D[best]
    return assign_to_samples(rows, diagonal[chosen])


def random_start(clusters: Clusters, k: int, rng: np.random.RandomState) -> Array:
    """Clusters around k different samples drawn with probability proportional to weight."""
    w = clusters.weights
    chosen = rng.choice(len(w), size=k, replace=False, p=w / w.sum())
    return assign_to_samples(clusters.rows(chosen), clusters.diagonal[chosen])


class Relaxation(NamedTuple):
    """Leading part of the centred kernel, and the bound that follows from it."""

    coordinates: Array  # (n, k - 1), kernel principal components
    bound: float  # no clustering into k clusters has a lower objective


def spectral_relaxation(product: Any, diagonal: Array, weights: Array, k: int) -> Relaxation:
    """Lower bound of the objective over all clusterings [Shawe-Taylor 2004, Prop. 8.24; Zha 2002].

    With `A = W^(1/2) H K H' W^(1/2)`, H centring with the weights, the objective is
    `tr A - tr Y'AY` for some orthonormal Y with k - 1 columns, hence at least `tr A` minus the sum
    of the k - 1 largest eigenvalues. The norms of the residuals are added, so that the bound holds
    for what was computed.

    Parameters
    ----------
    product : callable
        `product(B)` is `K @ B`.
    diagonal, weights : ndarray of shape (n,)
        Diagonal of K, weights of the samples.
    k : int
        Number of clusters.
    """
    n, root = len(weights), np.sqrt(weights)
    fraction = weights / weights.sum()

    def centred(B: Array) -> Array:
        B = np.asarray(B).reshape(n, -1) * root[:, None]
        B = product(B - fraction[:, None] * B.sum(axis=0))
        result: Array = root[:, None] * (B - fraction @ B)
        return result

    mean = np.asarray(product(fraction[:, None]))[:, 0]
    trace = float(weights @ (diagonal - 2 * mean + fraction @ mean))
    m = min(k - 1, n)
    if m == 0 or trace <= 0:
        return Relaxation(np.zeros((n, m)), max(trace, 0.0))
    operator = LinearOperator((n, n), matvec=centred, matmat=centred, dtype=np.float64)
    values, vectors = leading_eigen(operator, m, tol=1e-5)
    errors = np.sqrt(((centred(vectors) - vectors * values) ** 2).sum(axis=0))
    values = np.maximum(values, 0.0)
    safe = np.where(root > 0, root, 1.0)
    coordinates = row_signs(vectors.T) * vectors * np.sqrt(values) / safe[:, None]
    errors += 1e-14 * n**0.5 * trace / m  # rounding
    return Relaxation(coordinates, max(trace - float((values + errors).sum()), 0.0))


def _draw(mass: Array, rng: np.random.RandomState, size: int) -> Array:
    """Draw samples with probability proportional to `mass`."""
    heap = np.cumsum(mass)
    if not heap[-1] > 0:  # fewer different samples than clusters
        return rng.randint(len(mass), size=size)
    drawn: Array = np.searchsorted(heap, rng.uniform(size=size) * heap[-1], side="right")
    return np.minimum(drawn, len(mass) - 1)


def _squared_distances(K: Array, diagonal: Array, own: Array) -> Array:
    distances: Array = np.maximum(diagonal + own[:, None] - 2 * K, 0.0)
    return distances


def _fill_empty(labels: Array, partial: Array, diagonal: Array, k: int) -> None:
    """Give each cluster without samples the sample that is farthest from its centre."""
    sizes = np.bincount(labels, minlength=k)
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == 0:
        return
    distance = partial + diagonal
    floor = 1e-12 * float(np.abs(diagonal).max())
    for c in empty:
        candidates = np.flatnonzero((sizes[labels] > 1) & (distance > floor))
        if len(candidates) == 0:
            return
        i = candidates[np.argmax(distance[candidates])]
        sizes[labels[i]] -= 1
        labels[i], distance[i] = c, 0.0
        sizes[c] = 1


@jit
def _totals(sums: Any, labels: Any, w: Any, mass: Any, inner: Any) -> Any:
    mass[:] = 0.0
    inner[:] = 0.0
    for i in range(len(labels)):
        mass[labels[i]] += w[i]
        inner[labels[i]] += w[i] * sums[labels[i], i]


@jit
def _nearest(sums: Any, mass: Any, inner: Any, nearest: Any, partial: Any) -> Any:
    k, n = sums.shape
    partial[:] = np.inf
    nearest[:] = 0
    for c in range(k):
        if mass[c] > 0:
            offset, factor, row = inner[c] / (mass[c] * mass[c]), 2.0 / mass[c], sums[c]
            for i in range(n):
                value = offset - factor * row[i]
                if value < partial[i]:
                    partial[i] = value
                    nearest[i] = c


@jit
def _move(sums: Any, K: Any, index: Any, old: Any, new: Any, w: Any) -> Any:
    """Move `w[t] K[index[t]]` from `sums[old[t]]` to `sums[new[t]]`; -1 is nowhere."""
    n = K.shape[1]
    for t in range(len(index)):
        row, weight, a, b = K[index[t]], w[t], old[t], new[t]
        if a >= 0:
            source = sums[a]
            for i in range(n):
                source[i] -= weight * row[i]
        target = sums[b]
        for i in range(n):
            target[i] += weight * row[i]


@jit
def _add_kernel_rows(sums: Any, K: Any, order: Any, labels: Any, w: Any) -> Any:
    """Add rows, `order` cluster by cluster: 1.4 times as fast by four rows at a time."""
    n, t = K.shape[1], 0
    while t < len(order):
        i = order[t]
        total = sums[labels[i]]
        if t + 3 < len(order) and labels[order[t + 3]] == labels[i]:
            i1, i2, i3 = order[t + 1], order[t + 2], order[t + 3]
            row0, row1, row2, row3 = K[i], K[i1], K[i2], K[i3]
            w0, w1, w2, w3 = w[i], w[i1], w[i2], w[i3]
            for j in range(n):
                total[j] += w0 * row0[j] + w1 * row1[j] + w2 * row2[j] + w3 * row3[j]
            t += 4
        else:
            row, weight = K[i], w[i]
            for j in range(n):
                total[j] += weight * row[j]
            t += 1


@jit
def _change(
    products: Any, a: Any, weight: Any, own: Any, mass: Any, inner: Any, slack: Any
) -> Any:
    """Cluster to which moving a sample of cluster `a` lowers the objective most, or -1.

    `products` are the sums of kernel values of the sample with the clusters, `own` its squared
    norm; `mass` and `inner` follow the move.
    """
    remaining = mass[a] - weight
    if remaining <= 1e-12 * mass[a]:
        return -1
    d = own - 2 * products[a] / mass[a] + inner[a] / (mass[a] * mass[a])
    best, to = weight * mass[a] / remaining * d - slack, -1
    for c in range(len(mass)):
        if c == a or mass[c] <= 0:
            continue
        d = own - 2 * products[c] / mass[c] + inner[c] / (mass[c] * mass[c])
        cost = weight * mass[c] / (mass[c] + weight) * d
        if cost < best:
            best, to = cost, c
    if to >= 0:
        inner[a] += weight * (weight * own - 2 * products[a])
        inner[to] += weight * (weight * own + 2 * products[to])
        mass[a] = remaining
        mass[to] += weight
    return to


@jit
def _exchange(
    sums: Any,
    K: Any,
    index: Any,
    samples: Any,
    labels: Any,
    w: Any,
    diagonal: Any,
    mass: Any,
    inner: Any,
    slack: Any,
) -> Any:
    """Make one pass of exchanges; `K[index]` are the kernel rows of `samples`. Count the moves."""
    n_moves = 0
    for t in range(len(samples)):
        i = samples[t]
        a, row = labels[i], K[index[t]]
        to = _change(sums[:, i], a, w[i], diagonal[i], mass, inner, slack)
        if to >= 0:
            source, target = sums[a], sums[to]
            for j in range(len(row)):
                source[j] -= w[i] * row[j]
                target[j] += w[i] * row[j]
            labels[i] = to
            n_moves += 1
    return n_moves


@jit
def _exchange_features(
    totals: Any, Z: Any, labels: Any, w: Any, diagonal: Any, mass: Any, inner: Any, slack: Any
) -> Any:
    """Do the same with the sums of features `totals`, where `totals @ Z[i]` are the products."""
    k, r = totals.shape
    products = np.empty(k)
    n_moves = 0
    for i in range(len(labels)):
        a, z = labels[i], Z[i]
        for c in range(k):
            value = 0.0
            for j in range(r):
                value += totals[c, j] * z[j]
            products[c] = value
        to = _change(products, a, w[i], diagonal[i], mass, inner, slack)
        if to >= 0:
            for j in range(r):
                totals[a, j] -= w[i] * z[j]
                totals[to, j] += w[i] * z[j]
            labels[i] = to
            n_moves += 1
    return n_moves
