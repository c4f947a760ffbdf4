"""K-means of packed Boolean rows, with Hamming distances and majority centres."""

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.boolean_data.boolean import (
    count_ones,
    hamming_distances,
    nearest_packed,
)


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

    Returns centers, the labels nearest to them, their inertia, passes and convergence. As ties go
    to the first centre and to 0, a pass that changes anything lowers the inertia, or else the sum
    of labels and ones of the centres: there are no cycles.
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
    return centers, labels, float((cost + n_ones).sum()), n_iter, converged


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
