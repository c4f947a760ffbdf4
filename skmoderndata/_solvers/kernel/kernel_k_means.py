"""K-means in feature space by kernel values: Lloyd's passes, single exchanges, starts, bound."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import leading_eigen, row_signs
from skmoderndata._solvers.common.typing import Array

TIE = 1e-12  # relative difference of distances below which rounding would decide


class KernelSums(NamedTuple):
    """Samples in feature space, known by sums of their kernel values."""

    product: Callable[[Any], Array]  # `D @ K` for D of n columns, sparse or dense
    diagonal: Array  # (n,), of K
    weights: Array  # (n,), of the samples


class KMeansResult(NamedTuple):
    """A clustering, and the centres that it was assigned to."""

    labels: Array  # (n,), nearest centre
    members: Array  # (n,), clusters whose weighted means are the centres; labels if converged
    inner: Array  # (k,), squared norms of the centres times the squared weights of `members`
    objective: float  # sum of w_i |phi_i - centre|^2 for `members`
    n_iter: int  # passes over the samples
    converged: bool


def features_kernel(Z: Array, weights: Array) -> KernelSums:
    """Explicit features, whose kernel `Z Z'` is never formed."""
    diagonal = np.einsum("ij,ij->i", Z, Z)
    return KernelSums(lambda D: (D @ Z) @ Z.T, diagonal, weights)


def blocks_kernel(
    blocks: Callable[[Array], Any], diagonal: Array, weights: Array
) -> KernelSums:
    """Kernel values computed anew: `blocks(samples)` yields slices of `samples` and their rows.

    Only rows of samples that occur in the sums are computed, so that late passes are nearly free.
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
    product, diagonal, w = kernel
    n = len(w)
    labels = np.array(labels, dtype=np.intp)

    S = product(_indicator(labels, w, k))
    fresh = True  # whether the sums were computed anew
    trace = float(w @ diagonal)
    sums = S.sum(axis=0)
    of_mean = float(w @ sums) / float(w.sum())
    scatter = trace - of_mean
    slack = 1e-13 * max(trace, 0.0)

    last = last_fresh = np.inf  # objectives, of any pass and of those on sums computed anew
    it = Iterations(max_iter, -1.0, progress)

    for _ in it:
        # 1. sums, masses and objective of the clusters
        mass, inner, objective = _totals(S, labels, w, trace)
        settled = objective >= (last_fresh if fresh else last) - tol * scatter
        last = objective
        last_fresh = objective if fresh else last_fresh

        # 2. the nearest mean of each sample
        nearest = _nearest(S, mass, inner, diagonal)
        n_moved = np.count_nonzero(nearest != labels)

        # 3. move samples: sums anew if many move, else by their change
        if not settled and n_moved:
            fresh = 2 * int(n_moved) > n  # a sample that moves changes two sums
            new = _indicator(nearest, w, k)
            if fresh:
                S = product(new)
            else:
                S = S + product(new - _indicator(labels, w, k))
            labels = nearest

        # 4. nothing moves: single exchanges, or an end that rounding has not brought about
        elif not settled and local_search and _exchange(kernel, S, labels, mass, inner, slack):
            fresh = False
        elif fresh:
            it.residual = -np.inf  # nothing moves on sums computed anew
        else:
            S = product(_indicator(labels, w, k))
            fresh = True

    mass, inner, objective = _totals(S, labels, w, trace)
    nearest = _nearest(S, mass, inner)
    return KMeansResult(nearest, labels, inner, max(objective, 0.0), it.n_iter, it.converged)


def _indicator(labels: Array, w: Array, k: int) -> Any:
    """Matrix `(k, n)` of the weights of the samples in the rows of their clusters."""
    n = len(w)
    entries = w, labels, np.arange(n + 1)
    return sparse.csc_array(entries, shape=(k, n))


def _totals(S: Array, labels: Array, w: Array, trace: float) -> tuple[Array, Array, float]:
    """Weights of the clusters `s_c`, sums of kernel values within them `q_c`, the objective."""
    mass = np.bincount(labels, weights=w, minlength=len(S))
    within = S[labels, np.arange(len(w))]
    inner = np.bincount(labels, weights=w * within, minlength=len(S))
    explained = np.divide(inner, mass, out=np.zeros(len(S)), where=mass > 0)
    return mass, inner, trace - float(explained.sum())


def _distances(S: Array, mass: Array, inner: Array) -> Array:
    """Squared distances from the centres `(k, n)`, without the squared norms of the samples."""
    with np.errstate(divide="ignore", invalid="ignore"):
        norms = inner / mass**2
        D: Array = norms[:, None] - (2 / mass)[:, None] * S
    D[mass == 0] = np.inf
    return D


def _nearest(S: Array, mass: Array, inner: Array, diagonal: Array | None = None) -> Array:
    """Nearest centre of each sample; with `diagonal` no cluster is left empty.

    A cluster without samples takes the one that is farthest from its centre.
    """
    D = _distances(S, mass, inner)
    nearest: Array = D.argmin(axis=0)
    sizes = np.bincount(nearest, minlength=len(S))
    if diagonal is None or sizes.all():
        return nearest

    # an empty cluster takes the sample furthest from its centre, of a cluster of two or more
    distance = D[nearest, np.arange(len(nearest))] + diagonal
    rounding = 1e-12 * np.abs(diagonal).max()
    distance[distance <= rounding] = -np.inf
    for c in np.flatnonzero(sizes == 0):
        candidates = np.where(sizes[nearest] > 1, distance, -np.inf)
        i = int(candidates.argmax())
        if candidates[i] > 0:
            sizes[nearest[i]] -= 1
            nearest[i] = c
            sizes[c] = 1
            distance[i] = -np.inf
    return nearest


def _exchange(
    kernel: KernelSums, S: Array, labels: Array, mass: Array, inner: Array, slack: float
) -> int:
    """Make one pass of exchanges, which changes the arrays; count the moves."""
    _, diagonal, w = kernel
    n_moves = 0
    changes = _changes(S, labels, diagonal, w, mass, inner)

    # samples that would lower the objective, one after another
    for i in np.flatnonzero(changes.min(axis=0) < -slack):
        one = slice(i, i + 1)
        sample = S[:, one], labels[one], diagonal[one], w[one]
        change = _changes(*sample, mass, inner)[:, 0]
        a = labels[i]
        b = int(change.argmin())

        # move, where it still does after the moves before
        if change[b] < -slack:
            weight = w[i]
            row = weight * _rows(kernel, np.array([i]))[0]
            own = weight * diagonal[i]
            inner[a] += weight * (own - 2 * S[a, i])
            inner[b] += weight * (own + 2 * S[b, i])
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
    """Compute the changes of the objective `(k, n)` where one sample moves to another cluster.

    A sample of weight w at the squared distance d from the mean of a cluster of weight s adds
    ``w s / (s + w) d`` when it comes, and takes ``w s / (s - w) d`` away when it goes.
    """
    own = labels, np.arange(len(labels))
    D = _distances(S, mass, inner) + diagonal
    D[mass == 0] = 0.0
    own_mass = mass[labels]
    remaining = own_mass - w
    alone = remaining <= 1e-12 * own_mass

    # w s / (s - w) d for the cluster left, w s / (s + w) d for the one joined
    taken = w * own_mass / np.where(alone, 1.0, remaining) * D[own]
    s = mass[:, None]
    changes: Array = s / (s + w) * w * D - taken
    changes[own] = np.inf
    changes[:, alone] = np.inf
    changes[mass == 0] = np.inf
    return changes


def _rows(kernel: KernelSums, samples: Array) -> Array:
    """Kernel values of a few samples against all."""
    m = len(samples)
    n = len(kernel.weights)
    entries = np.ones(m), samples, np.arange(m + 1)
    return kernel.product(sparse.csr_array(entries, shape=(m, n)))


def assign_to_samples(rows: Array, diagonal: Array) -> Array:
    """Nearest of some samples, given their kernel rows `(k, n)` and squared norms `(k,)`."""
    return first_least(diagonal[:, None] - 2 * rows)


def first_least(values: Array) -> Array:
    """Index of the least value along the first axis, the first of those equal but for rounding."""
    slack = TIE * np.abs(values).max(axis=0)
    least = values.min(axis=0)
    return np.argmax(values <= least + slack, axis=0)


def plus_plus_start(kernel: KernelSums, k: int, rng: np.random.RandomState) -> Array:
    """Clusters around samples drawn by k-means++ [Arthur 2007], the best of some trials each.

    A sample is drawn with probability proportional to its weight times its squared distance, in
    feature space, from the nearest one drawn before.
    """
    _, diagonal, w = kernel
    n_trials = 2 + int(np.log(k))
    chosen = np.empty(k, dtype=np.intp)

    # the first centre, and distances from it
    chosen[0] = _draw(w, rng, 1)[0]
    rows = np.empty((k, len(w)))
    rows[0] = _rows(kernel, chosen[:1])[0]
    own = diagonal[chosen[:1]]
    closest = _squared_distances(rows[:1], diagonal, own)[0]

    # the best of some candidates, drawn by their distances [Arthur 2007]
    for c in range(1, k):
        candidates = _draw(w * closest, rng, n_trials)
        K = _rows(kernel, candidates)
        distances = _squared_distances(K, diagonal, diagonal[candidates])
        D = np.minimum(closest, distances)
        best = int(first_least(D @ w))
        chosen[c] = candidates[best]
        rows[c] = K[best]
        closest = D[best]

    return assign_to_samples(rows, diagonal[chosen])


def random_start(kernel: KernelSums, k: int, rng: np.random.RandomState) -> Array:
    """Clusters around k different samples drawn with probability proportional to weight."""
    w = kernel.weights
    probabilities = w / w.sum()
    chosen = rng.choice(len(w), size=k, replace=False, p=probabilities)
    return assign_to_samples(_rows(kernel, chosen), kernel.diagonal[chosen])


class Relaxation(NamedTuple):
    """Leading part of the centred kernel, and the bound that follows from it."""

    coordinates: Array  # (n, k - 1), kernel principal components
    bound: float  # no clustering into k clusters has a lower objective


def spectral_relaxation(kernel: KernelSums, k: int) -> Relaxation:
    """Lower bound of the objective over all clusterings [Shawe-Taylor 2004, Prop. 8.24; Zha 2002].

    With `A = W^(1/2) H K H' W^(1/2)`, H centring with the weights, the objective is
    `tr A - tr Y'AY` for some orthonormal Y with k - 1 columns, hence at least `tr A` minus the sum
    of the k - 1 largest eigenvalues. The norms of the residuals are added, so that the bound holds
    for what was computed.
    """
    product, diagonal, weights = kernel
    n = len(weights)
    root = np.sqrt(weights)
    fraction = weights / weights.sum()

    def centred(B: Array) -> Array:
        B = np.asarray(B).reshape(n, -1) * root[:, None]
        B = B - fraction[:, None] * B.sum(axis=0)
        B = product(B.T).T
        return root[:, None] * (B - fraction @ B)

    # trace of the centred kernel, from which the leading eigenvalues are taken away
    mean = product(fraction[None, :])[0]
    trace = float(weights @ (diagonal - 2 * mean + fraction @ mean))
    m = min(k - 1, n)
    if m == 0 or trace <= 0:
        return Relaxation(np.zeros((n, m)), max(trace, 0.0))

    operator = LinearOperator((n, n), matvec=centred, matmat=centred, dtype=np.float64)
    values, vectors = leading_eigen(operator, m, tol=1e-5)
    residuals = centred(vectors) - vectors * values
    errors = np.sqrt((residuals**2).sum(axis=0))

    # coordinates for a start, and a bound that the errors of the eigenvalues cannot break
    values = np.maximum(values, 0.0)
    safe = np.where(root > 0, root, 1.0)
    turned = row_signs(vectors.T) * vectors
    coordinates = turned * np.sqrt(values) / safe[:, None]
    errors += 1e-14 * n**0.5 * trace / m  # rounding
    explained = float((values + errors).sum())
    return Relaxation(coordinates, max(trace - explained, 0.0))


def _draw(mass: Array, rng: np.random.RandomState, size: int) -> Array:
    """Draw samples with probability proportional to `mass`."""
    heap = np.cumsum(mass)
    if not heap[-1] > 0:  # fewer different samples than clusters
        return rng.randint(len(mass), size=size)
    points = rng.uniform(size=size) * heap[-1]
    drawn: Array = np.searchsorted(heap, points, side="right")
    return np.minimum(drawn, len(mass) - 1)


def _squared_distances(K: Array, diagonal: Array, own: Array) -> Array:
    squares = diagonal + own[:, None] - 2 * K
    return np.maximum(squares, 0.0)
