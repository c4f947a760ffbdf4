"""K-means of packed Boolean rows, with Hamming distances and majority centres.

Rows come in blocks; rows in memory are one block. Distances and counts are integers, so sums are
exact and the result does not depend on how the rows are cut into blocks.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.boolean_data.boolean import (
    count_ones,
    hamming_distances,
    nearest_packed,
    pack_rows,
    unpack_rows,
)
from skmoderndata._solvers.common.blocks import ArrayBlocks
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.quantities import WORD_BITS
from skmoderndata._solvers.common.typing import Array


class Clusters(NamedTuple):
    """Packed centres, rows whose states contain the labels, and the state of convergence."""

    centers: Array
    rows: ArrayBlocks
    inertia: float
    n_iter: int
    converged: bool


class Assigned(NamedTuple):
    """State of a block: packed rows, their ones, and label and distance of the nearest centre."""

    words: Array
    n_ones: Array
    labels: Array
    distance: Array


def in_one_block(words: Array) -> ArrayBlocks:
    """Return packed rows in memory as the state of a single block."""
    return ArrayBlocks((), [0, len(words)], [words])


# Choose the starts


def random_rows(rows, k, rng):
    """Draw k rows, all distinct if there are enough rows."""
    n = rows.cuts[-1]
    numbers = rng.permutation(n)[:k]
    if k > n:
        numbers = np.append(numbers, np.zeros(k - n, dtype=int))
    return _rows_at(rows, numbers)


def spread_rows(rows, k, rng):
    """Draw k centres in proportion to their distance (greedy k-means++ [Arthur 2007])."""
    n = rows.cuts[-1]
    n_draws = 2 + int(np.log(k))
    draws = _rows_at(rows, [rng.randint(n)])
    centers = []
    spread = rows
    while True:
        # for each draw, sum the distances to the nearest centre, and choose the draw with the
        # lowest sum
        spread, (sums,) = spread.step(_distances_with, draws)
        totals = np.array([total for _, total in sums])
        best = totals.sum(axis=0).argmin()
        centers.append(draws[best])
        ends = np.cumsum(totals[:, best])
        if len(centers) == k:
            break
        if ends[-1] == 0:  # every row is already a centre
            centers += [centers[0]] * (k - len(centers))
            break

        # draw rows with probabilities in proportion to their distances
        targets = rng.uniform(size=n_draws) * ends[-1]
        before = {
            first: end - total[best] for (first, total), end in zip(sums, ends, strict=True)
        }
        spread, (pairs,) = spread.step(_draw, best, targets, before, n)
        draws = np.array([row for _, row in sorted(pairs, key=lambda pair: pair[0])])
    return np.array(centers)


def _rows_at(rows, numbers):
    """Return the packed rows with these numbers."""
    (pairs,) = rows.sum(_numbered, np.unique(numbers))
    by_number = dict(pairs)
    return np.array([by_number[row] for row in numbers])


def _numbered(block, numbers):
    inside = numbers[(numbers >= block.first) & (numbers < block.first + len(block.state))]
    return (tuple((int(row), block.state[row - block.first]) for row in inside),)


def _distances_with(block, draws):
    """Return as state the packed rows and their distances to the nearest centre with each draw."""
    first = isinstance(block.state, np.ndarray)
    words = block.state if first else block.state[0]
    distances = hamming_distances(words, draws)
    if not first:
        np.minimum(distances, block.state[1][:, None], out=distances)
    return (words, distances), (((block.first, distances.sum(axis=0)),),)


def _draw(block, best, targets, before, n):
    """Return as state the distances with the best draw; sum the draws that lie in the block."""
    words, distances = block.state
    distance = distances[:, best]
    ends = before[block.first] + np.cumsum(distance)
    index = np.searchsorted(ends, targets, side="right")
    last = block.first + len(words) == n  # targets may exceed the sum by rounding errors
    inside = (targets >= before[block.first]) & ((index < len(words)) | last)
    index = np.minimum(index, len(words) - 1)
    drawn = tuple((int(draw), words[index[draw]]) for draw in np.flatnonzero(inside))
    return (words, distance), (drawn,)


# Alternate between assignments and centres


def lloyd(rows, centers, n_features, max_iter):
    """Alternate between labels and centres until the labels no longer change.

    Ties go to the first centre and to bit 0. Therefore each pass that changes anything lowers the
    inertia, or the sum of the labels and the ones of the centres, and the passes cannot cycle.
    """
    assigned, (_, counts, size, inertia) = rows.step(_assign, centers, n_features)
    n_iter = 0
    n_changed = 1
    while n_changed > 0 and n_iter < max_iter:
        n_iter += 1

        # set the bits that are set in more than half of the rows of a cluster; an empty cluster
        # gets row 0
        if (size == 0).any():
            counts, size = _fill_empty(assigned, counts, size)
        centers = pack_rows(2 * counts > size[:, None])
        if (size == 0).any():
            centers[size == 0] = _rows_at(rows, [0])

        step = assigned.step(_assign, centers, n_features)
        assigned, (n_changed, counts, size, inertia) = step
    return Clusters(centers, assigned, float(inertia), n_iter, n_changed == 0)


def labels_of(rows):
    """Return the labels of rows in memory that have been assigned."""
    return np.concatenate([state.labels for state in rows.states])


def _assign(block, centers, n_features):
    """Assign rows to centres; sum label changes, ones and rows by cluster, and distances."""
    first = not isinstance(block.state, Assigned)
    words = block.state if first else block.state.words
    n_ones = count_ones(words) if first else block.state.n_ones
    labels, cost = nearest_packed(words, centers, 1.0, 1.0)
    distance = cost + n_ones
    n_changed = len(words) if first else np.count_nonzero(labels != block.state.labels)

    counts, size = count_ones_of_clusters(words, labels, len(centers), n_features)
    state = Assigned(words, n_ones, labels, distance)
    return state, (n_changed, counts, size, distance.sum())


class Farthest:
    """Rows farthest from their centre, as (minus the distance, number, label, packed row)."""

    def __init__(self, rows, n_rows):
        # on ties, the row with the lower number wins
        first = sorted(rows, key=lambda row: row[:2])
        self.rows = first[:n_rows]
        self.n_rows = n_rows

    def __add__(self, other):
        """Return the farthest rows of both blocks."""
        return Farthest([*self.rows, *other.rows], self.n_rows)


def _fill_empty(rows, counts, size):
    """Move the row that is farthest from its centre, if any, into each empty cluster."""
    empty = np.flatnonzero(size == 0)
    (farthest,) = rows.sum(_farthest, len(empty))
    counts = counts.copy()
    size = size.copy()
    far = [row for row in farthest.rows if row[0] < 0]
    for cluster, (_, _, label, words) in zip(empty, far, strict=False):
        ones = _bits(words[None], counts.shape[1])[0]
        counts[label] -= ones
        size[label] -= 1
        counts[cluster] += ones
        size[cluster] += 1
    return counts, size


def _farthest(block, n_rows):
    words, _, labels, distance = block.state
    far = np.argsort(-distance, kind="stable")[:n_rows]
    rows = []
    for i in far:
        number = block.first + int(i)
        row = -float(distance[i]), number, int(labels[i]), words[i]
        rows.append(row)
    return (Farthest(rows, n_rows),)


def _bits(words, n_features):
    return unpack_rows(words, n_features).astype(np.int64)


def count_ones_of_clusters(words, labels, k, n_features):
    """Count the rows of each cluster, and their ones in each column."""
    planes, size = _digit_planes(words, labels, k)
    return _counts_of_planes(planes, n_features), size


@jit
def _counts_of_planes(planes, n_features):
    """Read the counters digit by digit."""
    k, _, n_planes = planes.shape
    counts = np.zeros((k, n_features), dtype=np.int64)
    for label in range(k):
        for column in range(n_features):
            for digit in range(n_planes):
                bit = (
                    planes[label, column // WORD_BITS, digit] >> np.uint64(column % WORD_BITS)
                ) & np.uint64(1)
                counts[label, column] += np.int64(bit) << digit
    return counts


@jit
def _digit_planes(words, labels, k):
    """Count the ones of each cluster in binary, and its rows.

    Each word holds one binary digit of 64 counters side by side, so adding a row takes a few word
    operations instead of one addition per bit.
    """
    n, n_words = words.shape
    n_planes = 1
    while (1 << n_planes) <= n:
        n_planes += 1
    planes = np.zeros((k, n_words, n_planes), dtype=np.uint64)
    size = np.zeros(k, dtype=np.int64)

    # add each row to the binary counters, with carry
    for i in range(n):
        label = labels[i]
        size[label] += 1
        for w in range(n_words):
            carry = words[i, w]
            digit = 0
            while carry != 0:
                carried = planes[label, w, digit] & carry
                planes[label, w, digit] ^= carry
                carry = carried
                digit += 1

    return planes, size
