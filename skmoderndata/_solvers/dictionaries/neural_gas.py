"""Neural gas: units attracted by samples according to distance rank; and a version for atoms.

A sample x ranks the units by their distance and attracts the unit of rank r (0 for the nearest)
with the strength ``exp(-r / range)``. As the range falls, neural gas turns into k-means.

Differs from the papers (Martinetz et al. 1993; Cottrell et al. 2006; Labusch et al. 2009): batch
passes end with k-means, and units may then move to where the error is largest (Fritzke 1997).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.arrays import CACHED_BYTES
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.lengths import check_lengths
from skmoderndata._solvers.common.tolerances import CANCELS, RESULT_ROUNDING, SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array

# Maximum number of ranks that are found by insertion; for more ranks, sorting is faster.
INSERTED_RANKS = 8
# Strength below which the attraction of a unit is neglected.
NEGLIGIBLE = 1e-12
LARGEST_KEY = np.iinfo(np.int64).max


class Gas(NamedTuple):
    """Units, the nearest two of each sample, and the course of the fit.

    `objective` holds ``sum_i w_i sum_j h(rank_ij) |x_i - c_j|^2`` before the update of each pass,
    with the range in `ranges`; passes of k-means hold the inertia after the pass, and range 0.
    """

    centers: Array
    nearest: Array
    second: Array
    inertia: float
    objective: Array
    ranges: Array
    n_iter: int
    converged: bool


class Nearest(NamedTuple):
    """Nearest and second nearest unit of each row, with the squared distances to both."""

    first: Array
    second: Array
    distance: Array
    to_second: Array


def centred(X: Any) -> tuple[Any, Array]:
    """Return rows in double precision minus their mean, and the mean; CSR rows are not moved."""
    if sparse.issparse(X):
        few: Any = X
        return few.astype(np.float64, copy=False), np.zeros(few.shape[1])
    shift = X.mean(axis=0, dtype=np.float64)
    return np.subtract(X, shift, dtype=np.float64, order="C"), shift


def distinct_rows(X: Any) -> Array:
    """Find the distinct rows of a canonical CSR array, in the order of rows in `numpy.unique`.

    Rows are compared entry by entry, among those that agree so far. The first entry in which two
    rows differ decides: a row that stores it comes before (if negative) or after (if positive)
    all rows whose next entry is farther right.
    """
    size = np.diff(X.indptr)
    rank = np.zeros(X.shape[0], dtype=np.intp)  # number of rows in earlier groups
    open_rows = np.arange(X.shape[0])  # not yet distinguished from all others
    entry = 0
    while open_rows.size and X.nnz:
        # find the next entry of each row that is still open
        ended = entry >= size[open_rows]
        index = np.where(ended, 0, X.indptr[open_rows] + entry)
        value = np.where(ended, 0.0, X.data[index])
        column = X.indices[index]
        side = np.sign(value)

        # sort the rows of a group by sign, column and value
        keys = (value, -side * column, side, rank[open_rows])
        order = np.lexsort(keys)
        group = rank[open_rows[order]]
        changes = [np.diff(key[order], prepend=-np.inf) != 0 for key in keys]
        new = np.any(changes, axis=0)

        # new groups begin where a key changes; rows that are alone in their group are done
        first = np.flatnonzero(new)
        sizes = np.diff(np.append(first, order.size))
        lead = np.repeat(first, sizes)
        open_rows = open_rows[order]
        rank[open_rows] += lead - np.searchsorted(group, group)
        alone = new & np.append(new[1:], True)
        open_rows = open_rows[~alone & ~ended[order]]
        entry += 1

    _, distinct = np.unique(rank, return_index=True)
    return distinct


def annealed(first: float, last: float, fraction: float) -> float:
    """Return the value at a fraction of a geometric descent from `first` to `last`."""
    fraction = min(max(fraction, 0.0), 1.0)
    return float(first * (last / first) ** fraction)


def strengths(width: float, k: int) -> Array:
    """Return ``exp(-r / width)`` for at most k ranks r from 0 that are not negligible."""
    ranks = np.arange(k)
    h: Array = np.exp(-ranks / width)
    return h[h >= NEGLIGIBLE]


def squared_norms(X: Any) -> Array:
    """Return the squared norms of the rows of an array or a CSR array, in double precision."""
    if sparse.issparse(X):
        rows: Any = X
        squares = np.append(rows.data.astype(np.float64) ** 2, 0.0)
        sums = np.add.reduceat(squares, rows.indptr[:-1])
        nonempty = np.diff(rows.indptr) > 0
        return np.asarray(sums * nonempty)
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def distance_blocks(n: int, k: int) -> Iterator[slice]:
    """Return blocks of rows whose distances to k units stay in the cache.

    With 16 times larger blocks, passes take 1.5 times as long.
    """
    return row_blocks(n, 8.0 * k, limit=CACHED_BYTES)


def squared_distances(X: Any, norms_sq: Array, centers: Array) -> Array:
    """Return squared distances of rows to units in double precision, given their `squared_norms`.

    They are ``|x|^2 - 2 x'c + |c|^2`` by a matrix product, or ``|x - c|^2`` if the terms cancel.
    """
    C = np.asarray(centers, dtype=np.float64)
    terms = norms_sq[:, None] + squared_norms(C)
    rows = X.astype(np.float64, copy=False)
    out = np.asarray(rows @ (-2.0 * C.T))
    out += terms
    terms *= CANCELS
    cancelled = out < terms
    for j in np.flatnonzero(cancelled.any(axis=0)):
        near = cancelled[:, j]
        out[near, j] = squared_norms(_dense(rows[near]) - C[j])
    return out


def rank_units(distances: Array, count: int) -> Array:
    """Return the indices of the `count` nearest units of each row, nearest first.

    Ties are broken by index. The index of a unit replaces the lowest bits of its distance, in
    place, so that integers are sorted row by row with vector instructions; differences in these
    bits do not count.
    """
    k = distances.shape[1]
    low = (1 << max(k - 1, 1).bit_length()) - 1
    keys = np.ascontiguousarray(distances).view(np.int64)
    keys &= ~low
    keys |= np.arange(k)
    if count == 1:
        nearest = keys.min(axis=1, keepdims=True)
        return np.asarray(nearest & low)
    if count < k // 2:
        keys = np.partition(keys, count - 1, axis=1)[:, :count]
    keys.sort(axis=1)
    return np.asarray(keys[:, :count] & low)


def ranked_distances(
    X: Any, norms_sq: Array, centers: Array, count: int
) -> tuple[Array, Array]:
    """Return the `count` nearest units of each row, nearest first, and the squared distances.

    Ranks and distances are those of `rank_units` and `squared_distances`. Few ranks of dense rows
    are found in one compiled pass over the products, in a third of the time.
    """
    if sparse.issparse(X) or count > INSERTED_RANKS:
        distances = squared_distances(X, norms_sq, centers)
        ranked = rank_units(distances.copy(), count)
        return ranked, np.take_along_axis(distances, ranked, axis=1)

    C = np.array(centers, dtype=np.float64, order="C")
    rows = np.ascontiguousarray(X, dtype=np.float64)
    distances = np.ascontiguousarray(rows @ (-2.0 * C.T))
    ranked = np.empty((len(rows), count), np.int64)
    near = np.empty((len(rows), count))
    low = (1 << max(len(C) - 1, 1).bit_length()) - 1
    bits = distances.view(np.int64)
    _rank_few(distances, bits, low, norms_sq, squared_norms(C), rows, C, ranked, near)
    return ranked, near


@jit_leaf
def _rank_few(distances, bits, low, norms_sq, units_sq, rows, C, ranked, near):
    """Turn products into squared distances, in place, and write the nearest units of each row."""
    (m, k) = distances.shape
    count = ranked.shape[1]
    for i in range(m):
        # 1. compute squared distances, from the differences if the terms cancel
        n_cancelled = 0
        for j in range(k):
            terms = norms_sq[i] + units_sq[j]
            distances[i, j] += terms
            n_cancelled += distances[i, j] < CANCELS * terms
        if n_cancelled:
            for j in range(k):
                if distances[i, j] < CANCELS * (norms_sq[i] + units_sq[j]):
                    total = 0.0
                    for q in range(rows.shape[1]):
                        total += (rows[i, q] - C[j, q]) ** 2
                    distances[i, j] = total

        # 2. keep the smallest keys, built as in `rank_units`, in ascending order
        keys = ranked[i]
        for r in range(count):
            keys[r] = LARGEST_KEY
        if count == 1:
            for j in range(k):
                keys[0] = min(keys[0], (bits[i, j] & ~low) | j)
        else:
            for j in range(k):
                key = (bits[i, j] & ~low) | j
                r = count - 1
                if key >= keys[r]:
                    continue
                while r > 0 and keys[r - 1] > key:
                    keys[r] = keys[r - 1]
                    r -= 1
                keys[r] = key

        for r in range(count):
            keys[r] &= low
            near[i, r] = distances[i, keys[r]]


def batch_pass(
    X: Any, norms_sq: Array, w: Array, centers: Array, width: float
) -> tuple[Array, float]:
    """Make a pass over all samples; return new units, and the objective of the old ones.

    Each unit becomes the mean of the samples, weighted by w and by the strength of its rank; for a
    fixed range, this never raises the objective. A unit without weight stays.
    """
    k, p = centers.shape
    h = strengths(width, k)
    sums = np.zeros((k, p))
    mass = np.zeros(k)
    value = 0.0
    for rows in distance_blocks(len(norms_sq), k):
        # rank units by their distance from each sample
        x = X[rows]
        ranked, near = ranked_distances(x, norms_sq[rows], centers, len(h))
        value += float(w[rows] @ (near @ h))
        H = np.zeros((len(ranked), k))

        # attract units to each sample, with a strength that falls with the rank
        np.put_along_axis(H, ranked, np.outer(w[rows], h), axis=1)
        mass += H.sum(axis=0)
        sums += (x.T @ H).T

    return _means(sums, mass, centers), value


def _means(sums: Array, mass: Array, centers: Array) -> Array:
    """Divide sums by their mass; units without mass stay at `centers`."""
    divisor = np.where(mass > 0, mass, 1.0)[:, None]
    return np.where(mass[:, None] > 0, sums / divisor, centers)


def _dense(product: Any) -> Array:
    """Return a dense array in double precision from an array or a sparse array."""
    if sparse.issparse(product):
        rows: Any = product
        return np.asarray(rows.toarray(), np.float64)
    return np.asarray(product, np.float64)


def nearest_units(X: Any, norms_sq: Array, centers: Array) -> Nearest:
    """Find the nearest and second nearest unit of each row; the same one if there is no other."""
    k = len(centers)
    n = len(norms_sq)
    first = np.zeros(n, np.int32)
    second = np.zeros(n, np.int32)
    distance = np.empty(n)
    to_second = np.empty(n)
    for rows in distance_blocks(len(norms_sq), k):
        ranked, two = ranked_distances(X[rows], norms_sq[rows], centers, min(2, k))
        first[rows] = ranked[:, 0]
        second[rows] = ranked[:, -1]
        distance[rows] = two[:, 0]
        to_second[rows] = two[:, -1]
    return Nearest(first, second, distance, to_second)


def first_units(X: Any, norms_sq: Array, centers: Array) -> tuple[Array, Array]:
    """Find the nearest unit of each row and its squared distance, in half the time of two."""
    first = np.zeros(len(norms_sq), np.int32)
    distance = np.empty(len(norms_sq))
    for rows in distance_blocks(len(norms_sq), len(centers)):
        ranked, near = ranked_distances(X[rows], norms_sq[rows], centers, 1)
        first[rows] = ranked[:, 0]
        distance[rows] = near[:, 0]
    return first, distance


def batch_neural_gas(
    X: Any,
    w: Array,
    centers: Array,
    *,
    width: float,
    last_width: float,
    max_iter: int,
    polish: int = 300,
    progress: Progress | None = None,
) -> Gas:
    """Make passes with a range that falls from `width` to `last_width`, followed by k-means.

    The passes are Cottrell, Hammer, Hasenfuss and Villmann's (2006). After `max_iter` passes of
    annealing, only the nearest units count, for at most `polish` passes, until no sample changes
    its unit. Then units move from where they contribute little to where the error is largest, as
    long as that lowers the inertia.
    """
    norms_sq = squared_norms(X)
    C = np.array(centers, dtype=np.float64)
    objective: list[float] = []
    ranges: list[float] = []
    stopped = False

    # make passes with a falling range
    for t in range(max_iter):
        fraction = t / (max_iter - 1) if max_iter > 1 else 1.0
        ranges.append(annealed(width, last_width, fraction))
        if progress is not None:
            progress.begin()
        C, value = batch_pass(X, norms_sq, w, C, ranges[-1])
        objective.append(value)
        if progress is not None and progress.end():
            stopped = True
            break

    # run k-means from these units
    near = nearest_units(X, norms_sq, C)
    converged = True
    if polish and not stopped:
        C, near, path, converged = _k_means(X, norms_sq, w, C, polish)
        objective += path

        # move the least useful unit next to one with a large error while this lowers the inertia
        while converged and len(C) > 1:
            moved = moved_unit(X, w, C, near)
            if moved is None:
                break
            tried = _k_means(X, norms_sq, w, moved, polish)
            inertia = float(w @ tried[1].distance)
            if inertia >= float(w @ near.distance) * (1 - RESULT_ROUNDING):
                break
            C, near, path, converged = tried
            objective += path

    ranges += [0.0] * (len(objective) - len(ranges))
    inertia = float(w @ near.distance)
    course = (np.array(objective), np.array(ranges), len(objective))
    return Gas(C, near.first, near.second, inertia, *course, converged)


def _k_means(
    X: Any, norms_sq: Array, w: Array, centers: Array, max_iter: int
) -> tuple[Array, Nearest, list[float], bool]:
    """Move units to the means of their samples until no sample changes its unit."""
    C = centers
    first, _ = first_units(X, norms_sq, C)
    path: list[float] = []
    settled = False
    while not settled and len(path) < max_iter:
        C = cluster_means(X, w, first, C)
        former = first
        first, distance = first_units(X, norms_sq, C)
        path.append(float(w @ distance))
        settled = np.array_equal(first, former)
    return C, nearest_units(X, norms_sq, C), path, settled


def moved_unit(X: Any, w: Array, C: Array, near: Nearest) -> Array | None:
    """Move the least useful unit next to the unit with the largest error [Fritzke 1997].

    The use of a unit is the increase of the inertia if its samples go to their second nearest
    units. The two halves lie on the line of largest variance, at one standard deviation. Returns
    None if moving does not pay.
    """
    # compute the rise of the inertia without each unit, and the error of each unit; the unit with
    # the largest error is the target
    k = len(C)
    first = near.first
    distance = near.distance
    rise = w * (near.to_second - distance)
    missed = np.bincount(first, weights=rise, minlength=k)
    error = np.bincount(first, weights=w * distance, minlength=k)
    order = np.argsort(-error, kind="stable")
    target = int(order[0])
    is_target = np.arange(k) == target
    idle = int(np.argmin(np.where(is_target, np.inf, missed)))

    rows = np.flatnonzero((first == target) & (w > 0))
    if error[target] <= missed[idle] or rows.size < 2:
        return None

    # find the leading direction of the samples of the target unit, by the power method from the
    # sample that is farthest from the unit
    samples = X[rows]
    c = C[target]
    weight = w[rows]
    farthest = int(np.argmax(distance[rows]))
    v = _dense(samples[[farthest]])[0] - c
    for _ in range(10):
        v = v / max(float(np.linalg.norm(v)), SMALLEST_DIVISOR)
        along = np.asarray(samples @ v, np.float64) - c @ v
        peak = float(np.abs(along).max())  # scale, because fourth powers in |v| could overflow
        along = along / (peak or 1.0)
        total = _dense((weight * along) @ samples)
        v = total - float(weight @ along) * c

    length = np.linalg.norm(v)
    spread = float(np.sqrt(length / weight.sum()) * np.sqrt(peak))
    v = v / max(float(length), SMALLEST_DIVISOR)
    moved = C.copy()
    moved[target] = c + spread * v
    moved[idle] = c - spread * v
    return moved


def cluster_means(X: Any, w: Array, labels: Array, centers: Array) -> Array:
    """Return the weighted means of the rows of each label; units without weight stay."""
    n = len(w)
    k = len(centers)
    member = sparse.csr_array((w, labels, np.arange(n + 1)), shape=(n, k))
    mass = np.bincount(labels, weights=w, minlength=k)
    return _means(_dense(member.T @ X), mass, centers)


def online_neural_gas(
    X: Array,
    order: Array,
    w: Array,
    centers: Array,
    *,
    step: int,
    n_steps: int,
    widths: tuple[float, float],
    rates: tuple[float, float],
) -> Array:
    """Move the units towards one sample after the other [Martinetz, Berkovich, Schulten 1993].

    Range and rate fall geometrically over `n_steps` samples, starting after sample `step`, and
    then stay at their last values. A sample of weight w moves units like w samples: the rate is
    ``1 - (1 - rate)^w``.
    """
    C = np.array(centers, dtype=np.float64)
    check_lengths(len(X), w=w)
    check_lengths(X.shape[1], centers=C[0])
    _online(X, order, w, C, step, n_steps, *widths, *rates)
    return C


def sparse_coding_gas(
    X: Array,
    atoms: Array,
    *,
    n_nonzero: int,
    n_steps: int,
    rng: np.random.RandomState,
    widths: tuple[float, float] | None = None,
    rates: tuple[float, float] = (0.1, 1e-3),
) -> Array:
    """Run sparse coding neural gas: unit atoms for `n_nonzero` codes [Labusch et al. 2009].

    A signal ranks the atoms by how much of it each explains. All atoms move towards the part that
    they would explain (Oja's rule) with the strength of their rank, and the best one is removed;
    this is repeated with the residual, which is orthogonal to the chosen atoms. `n_steps` signals
    are drawn at random, in rounds over all of them.
    """
    D = np.array(atoms, dtype=np.float64)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    norms = np.sqrt(squared_norms(X))
    rows = np.flatnonzero(norms > 0)
    if rows.size == 0:
        return D

    # visit the samples in random order, with a range that decreases with each sample
    n_rounds = -(-n_steps // rows.size)
    rounds = [rng.permutation(rows) for _ in range(n_rounds)]
    order = np.concatenate(rounds)[:n_steps]
    first, last = widths or (max(len(D) / 2, 1.0), 0.01)
    n_chosen = min(n_nonzero, X.shape[1], len(D))

    # Oja's rule depends on scale, so give the signals the mean square 1
    mean_sq = np.mean(norms[rows] ** 2)
    scale = 1.0 / float(np.sqrt(mean_sq))
    _sparse_gas(X, order, D, n_chosen, scale, first, last, *rates)
    return D


@jit
def _online(X, order, w, C, step, n_steps, width, last_width, rate, last_rate):
    """Run stochastic neural gas, in place."""
    k, p = C.shape
    distance = np.empty(k)

    for o in range(order.shape[0]):
        i = order[o]
        x = X[i]

        # compute the range and the rate of this step
        fraction = min(1.0, (step + o) / n_steps)
        here = width * (last_width / width) ** fraction
        eta = rate * (last_rate / rate) ** fraction
        if w[i] != 1.0:
            eta = 1.0 - (1.0 - eta) ** w[i]

        # compute the distances from all units
        for j in range(k):
            total = 0.0
            c = C[j]
            for q in range(p):
                total += (x[q] - c[q]) ** 2
            distance[j] = total

        # move units towards the sample, in order of rank
        n_moved = min(k, int(-here * np.log(1e-6)) + 1)
        ranked = np.argsort(distance, kind="mergesort")
        for r in range(n_moved):
            c = C[ranked[r]]
            move = eta * np.exp(-r / here)
            for q in range(p):
                c[q] += move * (x[q] - c[q])


@jit
def _sparse_gas(X, order, D, n_nonzero, scale, width, last_width, rate, last_rate):
    """Run sparse coding neural gas, in place.

    The part of an atom orthogonal to the chosen ones (the rows of Q) has the squared norm
    `outside[j]`; its product with the residual r is the atom's own product, because r is
    orthogonal to Q.
    """
    k, n = D.shape
    Q = np.zeros((n_nonzero, n))
    key = np.empty(k)

    for o in range(order.shape[0]):
        fraction = o / order.shape[0]
        here = width * (last_width / width) ** fraction
        eta = rate * (last_rate / rate) ** fraction
        n_moved = min(k, int(-here * np.log(1e-3)) + 1)

        # start with the signal; keep the residual orthogonal to the atoms chosen so far
        r = X[order[o]] * scale
        free = np.ones(k, np.bool_)
        Q[:] = 0.0

        # rank atoms by how much of the residual they would explain
        for t in range(n_nonzero):
            y = D @ r
            products = D @ Q.T
            outside = 1.0 - (products * products).sum(axis=1)
            for j in range(k):
                can_win = free[j] and outside[j] > 1e-6
                key[j] = -(y[j] ** 2) / outside[j] if can_win else np.inf
            ranked = np.argsort(key, kind="mergesort")[:n_moved]
            winner = ranked[0]
            if key[winner] >= 0.0:
                break

            # move atoms by Oja's rule, in order of rank
            for rank in range(n_moved):
                j = ranked[rank]
                if key[j] == np.inf:
                    break
                d = D[j]
                along = d - products[j] @ Q
                move = eta * np.exp(-rank / here) * y[j] / np.sqrt(outside[j])
                d += move * (r - y[j] / outside[j] * along)
                d /= np.sqrt(np.dot(d, d))

            # make the winner orthogonal to earlier winners, and remove its direction from the
            # residual
            free[winner] = False
            q = D[winner].copy()
            for _ in range(2):
                q -= (Q @ q) @ Q
            norm = np.sqrt(np.dot(q, q))
            if norm <= 1e-6:
                break
            Q[t] = q / norm
            r -= np.dot(Q[t], r) * Q[t]
