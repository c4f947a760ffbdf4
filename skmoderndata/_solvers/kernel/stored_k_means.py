"""Compiled passes of k-means in feature space over a kernel matrix in memory.

Differs from the papers as `kernel_k_means`, which runs the passes. S (k, n) holds the sums of
kernel values of each cluster with each sample, `mass` (k,) the weights of the clusters, and
`inner` (k,) the sums of kernel values within them.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array


class Clusters(NamedTuple):
    """State of one start: clusters, their sums, and work space for a pass."""

    labels: Array  # (n,)
    nearest: Array  # nearest centre of each sample, (n,)
    S: Array  # (k, n)
    mass: Array  # (k,)
    inner: Array  # (k,)
    distance: Array  # squared distance from the nearest centre, minus k(x, x), (n,)


def new_clusters(labels: Array, k: int) -> Clusters:
    """Allocate the state of a start."""
    n = len(labels)
    labels = np.array(labels, dtype=np.int64)
    nearest = np.empty(n, np.int64)
    return Clusters(labels, nearest, np.empty((k, n)), np.empty(k), np.empty(k), np.empty(n))


@jit_leaf
def compute_sums(K, w, clusters):
    """Compute the sums S afresh from all kernel values."""
    S = clusters.S
    (k, n) = S.shape
    for c in range(k):
        for j in range(n):
            S[c, j] = 0.0
    for i in range(n):
        _add_row(S[clusters.labels[i]], w[i], K[i])


@jit_leaf
def find_nearest(w, clusters):
    """Update weights and inner sums; find the nearest centre of each sample.

    Returns the sum of ``inner / mass`` over the clusters, the number of samples that have a nearer
    centre than their own, and the number of clusters that no sample is nearest to.
    """
    labels, nearest, S, mass, inner, distance = clusters
    (k, n) = S.shape

    # 1. compute the weight and the inner sum of each cluster
    for c in range(k):
        mass[c] = inner[c] = 0.0
    for i in range(n):
        c = labels[i]
        mass[c] += w[i]
        inner[c] += w[i] * S[c, i]

    # 2. find the nearest centre; the squared distance is q / s^2 - 2 S / s + k(x, x)
    explained = 0.0
    for i in range(n):
        distance[i] = np.inf
        nearest[i] = 0
    for c in range(k):
        if mass[c] == 0.0:
            continue
        explained += inner[c] / mass[c]
        norm = inner[c] / mass[c] ** 2
        factor = 2.0 / mass[c]
        for i in range(n):
            d = norm - factor * S[c, i]
            if d < distance[i]:
                distance[i] = d
                nearest[i] = c

    # 3. count samples that move, and clusters that lose all samples
    n_moved = 0
    n_empty = 0
    for i in range(n):
        n_moved += nearest[i] != labels[i]
    for c in range(k):
        filled = False
        for i in range(n):
            if nearest[i] == c:
                filled = True
                break
        n_empty += not filled
    return explained, n_moved, n_empty


@jit_leaf
def move_samples(K, w, clusters):
    """Move samples to `nearest` and update the sums S by their kernel rows."""
    labels = clusters.labels
    S = clusters.S
    for i in range(len(labels)):
        a = labels[i]
        b = clusters.nearest[i]
        if a != b:
            _add_row(S[a], -w[i], K[i])
            _add_row(S[b], w[i], K[i])
            labels[i] = b


@jit_leaf
def exchange_samples(K, diagonal, w, clusters, slack):
    """Make one pass of single exchanges that lower the objective; return the number of moves."""
    labels, _, S, mass, inner, distance = clusters
    n = S.shape[1]

    # mark the samples whose move would lower the objective; a move changes the gains of other
    # samples
    _smallest_changes(S, mass, inner, diagonal, w, labels, distance)

    n_moves = 0
    for i in range(n):
        if not distance[i] < -slack:
            continue
        change, b = _best_exchange(S, mass, inner, diagonal, w, labels, i)
        if not change < -slack:
            continue

        # move the sample and the two centres
        a = labels[i]
        norm = w[i] * diagonal[i]
        inner[a] += w[i] * (norm - 2.0 * S[a, i])
        inner[b] += w[i] * (norm + 2.0 * S[b, i])
        mass[a] -= w[i]
        mass[b] += w[i]
        _add_row(S[a], -w[i], K[i])
        _add_row(S[b], w[i], K[i])
        labels[i] = b
        n_moves += 1
    return n_moves


@jit_leaf
def _smallest_changes(S, mass, inner, diagonal, w, labels, changes):
    """Write the smallest change of the objective by moving each sample, cluster by cluster.

    This takes a third of the time of `_best_exchange` for each sample.
    """
    (k, n) = S.shape
    for i in range(n):
        changes[i] = np.inf

    # 1. compute the smallest amount by which the objective of another cluster would rise if it got
    # the sample
    for c in range(k):
        s = mass[c]
        if s == 0.0:
            continue
        norm = inner[c] / s**2
        factor = 2.0 / s
        for i in range(n):
            added = s / (s + w[i]) * w[i] * (norm - factor * S[c, i] + diagonal[i])
            changes[i] = min(changes[i], np.inf if labels[i] == c else added)

    # 2. subtract the amount by which the objective of its own cluster would fall without it; a
    # sample that is alone in its cluster stays there
    for i in range(n):
        own = labels[i]
        s = mass[own]
        remaining = s - w[i]
        if remaining <= ACCUMULATED_ROUNDING * s:
            changes[i] = np.inf
        else:
            d = inner[own] / s**2 - 2.0 / s * S[own, i] + diagonal[i]
            changes[i] -= w[i] * s / remaining * d


@jit_leaf
def _best_exchange(S, mass, inner, diagonal, w, labels, i):
    """Return the smallest change of the objective by moving sample i, and the new cluster."""
    own = labels[i]
    s = mass[own]
    remaining = s - w[i]
    best = np.inf
    cluster = own
    if remaining <= ACCUMULATED_ROUNDING * s:  # alone in its cluster
        return best, cluster

    # moving the sample lowers the objective of its cluster by w s / (s - w) d and raises the
    # objective of another cluster by w s / (s + w) d (w: weight of the sample, s: weight of the
    # cluster, d: squared distance)
    d = inner[own] / s**2 - 2.0 / s * S[own, i] + diagonal[i]
    taken = w[i] * s / remaining * d
    for c in range(len(mass)):
        if c == own or mass[c] == 0.0:
            continue
        d = inner[c] / mass[c] ** 2 - 2.0 / mass[c] * S[c, i] + diagonal[i]
        change = mass[c] / (mass[c] + w[i]) * w[i] * d - taken
        if change < best:
            best = change
            cluster = c
    return best, cluster


@jit_leaf
def draw_plus_plus(K, diagonal, w, uniforms, rows, closest, labels):
    """Write the labels of a start by greedy k-means++ [Arthur 2007].

    `uniforms` (1 + (k - 1) n_trials,) draws the samples; `rows` (k, n) and `closest` (3, n) are
    work space.
    """
    (k, n) = rows.shape
    n_trials = (len(uniforms) - 1) // max(k - 1, 1)
    heap = closest[0]
    nearest = closest[1]
    trial = closest[2]

    for c in range(k):
        # 1. sum the weighted squared distances from the nearest of the centres drawn before
        total = 0.0
        for i in range(n):
            total += w[i] * (nearest[i] if c > 0 else 1.0)
            heap[i] = total

        # 2. keep the candidate that leaves the smallest sum; ties go to the first
        chosen = 0
        least = np.inf
        for t in range(n_trials if c > 0 else 1):
            u = uniforms[1 + (c - 1) * n_trials + t] if c > 0 else uniforms[0]
            i = min(np.searchsorted(heap, u * total, side="right"), n - 1)
            if not total > 0.0:  # fewer distinct samples than clusters
                i = int(u * n)
            value = 0.0
            for j in range(n):
                d = max(diagonal[j] + diagonal[i] - 2.0 * K[i, j], 0.0)
                value += w[j] * (min(d, nearest[j]) if c > 0 else d)
            if value < least - ACCUMULATED_ROUNDING * abs(least) or t == 0:
                least = value
                chosen = i

        # 3. store the kernel row of the chosen candidate, and update the distances
        for j in range(n):
            d = diagonal[chosen] - 2.0 * K[chosen, j]
            rows[c, j] = d
            d = max(diagonal[j] + d, 0.0)
            nearest[j] = min(d, nearest[j]) if c > 0 else d

    # assign the samples to the nearest of the centres; ties up to rounding go to the first
    for j in range(n):
        trial[j] = 0.0
        nearest[j] = np.inf
        labels[j] = -1
    for c in range(k):
        for j in range(n):
            trial[j] = max(trial[j], abs(rows[c, j]))
            nearest[j] = min(nearest[j], rows[c, j])
    for c in range(k):
        for j in range(n):
            if labels[j] < 0 and rows[c, j] <= nearest[j] + ACCUMULATED_ROUNDING * trial[j]:
                labels[j] = c


@jit_leaf
def _add_row(total, factor, row):
    """Add a multiple of a kernel row to a row of sums."""
    for j in range(len(row)):
        total[j] += factor * row[j]
