"""K-means of packed Boolean rows, with Hamming distances and majority centres."""

from typing import NamedTuple

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.boolean_data.bit_blocks import Data, packed_words
from skmoderndata._solvers.boolean_data.boolean import (
    count_ones,
    hamming_distances,
    nearest_packed,
    pack_rows,
    unpack_rows,
)
from skmoderndata._typing import Array


class Clusters(NamedTuple):
    """Packed centres, the label of each row (None of rows in blocks), and what was reached."""

    centers: Array
    labels: Array | None
    inertia: float
    n_iter: int
    converged: bool


def random_rows(words, k, rng):
    """Draw k rows, distinct as long as there are enough."""
    n = len(words)
    chosen = rng.permutation(n)[:k] if k <= n else np.r_[rng.permutation(n), [0] * (k - n)]
    return words[chosen]


def spread_rows(words, k, rng):
    """k-means++ [2]: draw proportionally to the distance, and take the best of some draws."""
    n_draws = 2 + int(np.log(k))
    chosen = [rng.randint(len(words))]
    distance = hamming_distances(words, words[chosen])[:, 0]

    while len(chosen) < k:
        total = np.cumsum(distance)
        if total[-1] == 0:  # every row is a centre
            chosen += [chosen[0]] * (k - len(chosen))
            break

        # candidates drawn in proportion to their distance; the one that lowers the sum most
        draws = np.searchsorted(total, rng.uniform(size=n_draws) * total[-1], side="right")
        draws = np.minimum(draws, len(words) - 1)
        new = np.minimum(hamming_distances(words, words[draws]), distance[:, None])
        best = new.sum(axis=0).argmin()

        chosen.append(draws[best])
        distance = new[:, best]
    return words[chosen]


def lloyd(words, centers, max_iter):
    """Alternate between labels and centres until the labels do not change.

    As ties go to the first centre and to 0, a pass that changes anything lowers the inertia, or
    else the sum of labels and ones of the centres: there are no cycles.
    """
    n_ones = count_ones(words)
    labels, cost = nearest_packed(words, centers, 1.0, 1.0)
    n_iter = 0
    converged = False
    while not converged and n_iter < max_iter:
        n_iter += 1
        filled = _fill_empty(labels, cost + n_ones, len(centers))
        centers = _majority(words, filled, len(centers))
        new_labels, cost = nearest_packed(words, centers, 1.0, 1.0)
        converged = np.array_equal(new_labels, labels)
        labels = new_labels
    return Clusters(centers, labels, float((cost + n_ones).sum()), n_iter, converged)


def _fill_empty(labels, distance, k):
    """Give each empty cluster the row that is farthest from its centre, if there is one."""
    empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
    if empty.size == 0:
        return labels
    labels = labels.copy()
    far = np.argsort(-distance, kind="stable")[: empty.size]
    far = far[distance[far] > 0]
    labels[far] = empty[: far.size]
    return labels


@jit
def _majority(words, labels, k):
    """Bits that more than half of the rows of each cluster have.

    Each word keeps 64 counters side by side, one binary digit per plane: adding a row takes a
    few word operations instead of one addition per bit. An empty cluster repeats row 0.
    """
    planes, size = digit_planes(words, labels, k)
    return _above_half(planes, size, words)


@jit
def digit_planes(words, labels, k):
    """Count the ones of each cluster in binary, 64 counters side by side; and its rows."""
    n, n_words = words.shape
    n_planes = 1
    while (1 << n_planes) <= n:
        n_planes += 1
    planes = np.zeros((k, n_words, n_planes), dtype=np.uint64)
    size = np.zeros(k, dtype=np.int64)

    # counts of set bits in binary, one word for each digit: a row is added with its carries
    for i in range(n):
        label = labels[i]
        size[label] += 1
        for w in range(n_words):
            carry = words[i, w]
            digit = 0
            while carry != 0:
                both = planes[label, w, digit] & carry
                planes[label, w, digit] ^= carry
                carry = both
                digit += 1

    return planes, size


@jit
def _above_half(planes, size, words):
    """Bits whose counters exceed half of the rows of their cluster."""
    k, n_words, n_planes = planes.shape
    centers = np.zeros((k, n_words), dtype=np.uint64)
    for label in range(k):
        if size[label] == 0:
            for w in range(n_words):
                centers[label, w] = words[0, w]
            continue

        # compare the counts with half, digit by digit, all bits of a word at once
        half = size[label] // 2
        for w in range(n_words):
            # compare with half, digit by digit
            above = np.uint64(0)
            equal = ~np.uint64(0)
            for digit in range(n_planes - 1, -1, -1):
                plane = planes[label, w, digit]
                if (half >> digit) & 1:
                    equal &= plane
                else:
                    above |= equal & plane
                    equal &= ~plane
            centers[label, w] = above
    return centers


# The same for rows in blocks: distances and counts are whole numbers, so that their sums are exact
# and the answer is that of `lloyd`, whatever the cuts


def random_rows_of_blocks(data, k, rng):
    """Draw k packed rows, distinct as long as there are enough."""
    n = data.shape[0]
    chosen = rng.permutation(n)[:k] if k <= n else np.r_[rng.permutation(n), [0] * (k - n)]
    return rows_at(data, chosen)


def rows_at(data, chosen):
    """Packed rows of some numbers."""
    (pairs,) = data.sum_words(_rows_at, np.unique(chosen))
    by_number = dict(pairs)
    return np.array([by_number[row] for row in chosen])


def _rows_at(first, words, numbers):
    inside = numbers[(numbers >= first) & (numbers < first + len(words))]
    return (tuple((int(row), words[row - first]) for row in inside),)


def spread_rows_of_blocks(data, k, rng):
    """k-means++ as `spread_rows` draws it: three passes for each centre."""
    n = data.shape[0]
    n_draws = 2 + int(np.log(k))
    centers = [rows_at(data, [rng.randint(n)])[0]]
    blocks = data.packed

    while len(centers) < k:
        # 1. distances to the nearest centre, and their sum up to each block
        blocks, (sums,) = blocks.step(_come_closer, centers[-1:])
        ends = np.cumsum([total for _, total in sums])
        if ends[-1] == 0:  # every row is a centre
            centers += [centers[0]] * (k - len(centers))
            break

        # 2. rows drawn in proportion to their distance
        targets = rng.uniform(size=n_draws) * ends[-1]
        before = {first: end - total for (first, total), end in zip(sums, ends, strict=True)}
        (pairs,) = blocks.sum(_drawn, targets, before, n)
        draws = np.array([row for _, row in sorted(pairs, key=lambda pair: pair[0])])

        # 3. the one that lowers the sum most
        (new,) = blocks.sum(_sums_with, draws)
        centers.append(draws[new.argmin()])
    return np.array(centers)


def _come_closer(block, center):
    """State: the packed rows, and their distance to the nearest centre."""
    first = isinstance(block.state, Data)
    words = packed_words(block) if first else block.state[0]
    distance = hamming_distances(words, np.array(center))[:, 0]
    if not first:
        distance = np.minimum(distance, block.state[1])
    return (words, distance), (((block.first, int(distance.sum())),),)


def _drawn(block, targets, before, n):
    """Return number and packed row of each draw that falls into the block."""
    words, distance = block.state
    ends = before[block.first] + np.cumsum(distance)
    index = np.searchsorted(ends, targets, side="right")
    last = block.first + len(words) == n  # rounding may lead beyond the last row
    inside = (targets >= before[block.first]) & ((index < len(words)) | last)
    index = np.minimum(index, len(words) - 1)
    return (tuple((int(draw), words[index[draw]]) for draw in np.flatnonzero(inside)),)


def _sums_with(block, draws):
    words, distance = block.state
    return (np.minimum(hamming_distances(words, draws), distance[:, None]).sum(axis=0),)


def lloyd_of_blocks(data, centers, max_iter):
    """Alternate as `lloyd` does; labels are not kept, and told apart by the counts they give."""
    p = data.shape[1]
    counts, size, inertia = data.sum_words(_assigned, centers, p)
    n_iter = 0
    converged = False
    while not converged and n_iter < max_iter:
        n_iter += 1

        # centres: bits of more than half of the rows, empty clusters filled
        filled = counts
        filled_size = size
        if (size == 0).any():
            filled, filled_size = _fill_from_blocks(data, centers, counts, size)
        centers = pack_rows(2 * filled > filled_size[:, None])
        if (filled_size == 0).any():
            centers[filled_size == 0] = rows_at(data, [0])

        # what the labels amount to: where it stays the same, so do they
        new_counts, new_size, inertia = data.sum_words(_assigned, centers, p)
        converged = np.array_equal(new_size, size) and np.array_equal(new_counts, counts)
        counts = new_counts
        size = new_size
    return Clusters(centers, None, float(inertia), n_iter, converged)


def _assigned(first, words, centers, p):
    """Ones and rows of each cluster, and the sum of distances, for the nearest centres."""
    labels, cost = nearest_packed(words, centers, 1.0, 1.0)
    planes, size = digit_planes(words, labels, len(centers))
    counts = np.zeros((len(centers), p), dtype=np.int64)
    for digit in range(planes.shape[2]):
        counts += unpack_rows(planes[:, :, digit], p).astype(np.int64) << digit
    return counts, size, (cost + count_ones(words)).sum()


class Farthest:
    """The rows farthest from their centre: (minus the distance, number, label, packed row)."""

    def __init__(self, rows, n_rows):
        self.rows = sorted(rows, key=lambda row: row[:2])[
            :n_rows
        ]  # the first of equally far ones
        self.n_rows = n_rows

    def __add__(self, other):
        """Return the farthest of both."""
        return Farthest([*self.rows, *other.rows], self.n_rows)


def _fill_from_blocks(data, centers, counts, size):
    """Give each empty cluster the row farthest from its centre; return counts and sizes."""
    empty = np.flatnonzero(size == 0)
    (farthest,) = data.sum_words(_farthest, centers, len(empty))
    counts = counts.copy()
    size = size.copy()
    far = [row for row in farthest.rows if row[0] < 0]
    for cluster, (_, _, label, words) in zip(empty, far, strict=False):
        bits = unpack_rows(words[None], data.shape[1])[0].astype(np.int64)
        counts[label] -= bits
        size[label] -= 1
        counts[cluster] += bits
        size[cluster] += 1
    return counts, size


def _farthest(first, words, centers, n_rows):
    labels, cost = nearest_packed(words, centers, 1.0, 1.0)
    distance = cost + count_ones(words)
    far = np.argsort(-distance, kind="stable")[:n_rows]
    rows = [(-float(distance[i]), first + int(i), int(labels[i]), words[i]) for i in far]
    return (Farthest(rows, n_rows),)
