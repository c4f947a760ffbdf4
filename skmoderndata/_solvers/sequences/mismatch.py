"""Counts of the words within a Hamming distance of the windows of a sequence."""

from itertools import combinations, pairwise, product
from math import comb
from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._jit import jit

Array = np.ndarray[Any, np.dtype[Any]]


@jit
def _spread(T, sigma, p, m):
    """Turn the histogram ``T[0]`` of words into counts of words at distance 0 to m, in place.

    On each of the p axes of a tensor of sigma^p entries, apply ``I + z (J - I)``, J of ones, and
    keep the powers of z up to m: row k is the coefficient of z^k.
    """
    stride = 1
    for _ in range(p):
        for begin in range(0, T.shape[1], stride * sigma):
            for k in range(m, 0, -1):  # row k - 1 is still that of the axes before
                for i in range(begin, begin + stride):
                    total = 0.0
                    for j in range(i, i + stride * sigma, stride):
                        total += T[k - 1, j]
                    for j in range(i, i + stride * sigma, stride):
                        T[k, j] += total - T[k - 1, j]
        stride *= sigma


@jit
def _neighbour_rows(numbers, offsets, sigma, p, m, out):
    T = np.empty((m + 1, out.shape[1]))
    for i in range(len(offsets) - 1):
        T[:] = 0.0
        for w in range(offsets[i], offsets[i + 1]):
            T[0, numbers[w]] += 1.0
        _spread(T, sigma, p, m)
        for k in range(m + 1):
            out[i] += T[k]


def neighbour_counts(numbers: Array, offsets: Array, sigma: int, p: int, m: int) -> Array:
    """For each word of p symbols, the number of windows of each row at most m symbols from it.

    `numbers` are those of the base sigma. The result has ``sigma ** p`` columns; no neighbourhood
    is enumerated, so the cost is ``p (m + 1)`` passes over a row.
    """
    out = np.zeros((len(offsets) - 1, sigma**p))
    _neighbour_rows(numbers, offsets, sigma, p, m, out)
    return out


def neighbourhoods(words: Array, sigma: int, p: int, m: int) -> sparse.csr_array:
    """Words at most m symbols from each of the given ones, as rows of zeros and ones.

    `words` are distinct numbers in base sigma; so are the columns, ``sigma ** p`` of them.
    """
    found = [words]
    for d in range(1, m + 1):
        for positions in combinations(range(p), d):
            for shifts in product(range(1, sigma), repeat=d):
                other = words.copy()
                for position, shift in zip(positions, shifts, strict=True):
                    weight = sigma**position
                    digit = words // weight % sigma
                    other += ((digit + shift) % sigma - digit) * weight
                found.append(other)
    indices = np.stack(found, axis=1)
    indptr = np.arange(len(words) + 1) * indices.shape[1]
    return sparse.csr_array(
        (np.ones(indices.size), indices.ravel(), indptr), shape=(len(words), sigma**p)
    )


def n_common_neighbours(d: int, p: int, m: int, sigma: int) -> int:
    """Count the words at most m symbols from each of two words of p symbols at distance d.

    Of the p - d positions where the two agree the word differs in a. Of the d others it takes the
    symbol of the first in i, that of the second in j, and a third one in k.
    """
    total = 0
    for i in range(d + 1):
        for j in range(d + 1 - i):
            k = d - i - j
            for a in range(min(p - d, m - k - max(i, j)) + 1):
                words = comb(d, i) * comb(d - i, j) * comb(p - d, a)
                total += words * (sigma - 1) ** a * (sigma - 2) ** k
    return total


def pattern_weights(p: int, m: int, sigma: int) -> list[int]:
    """Weights c with ``N(d) = sum_k c[k] C(p - d, k)``, for N of `n_common_neighbours`.

    Two words at distance d agree on all of ``C(p - d, k)`` sets of k positions, so the kernel is
    the sum over the sets, weighted by ``c[size of the set]``, of the number of pairs of windows
    that agree there. By Newton's formula c are the forward differences of N at 0 agreements; they
    are 0 for sets of fewer than p - 2 m positions.
    """
    values = [n_common_neighbours(p - agreements, p, m, sigma) for agreements in range(p + 1)]
    weights = []
    while values:
        weights.append(values[0])
        values = [b - a for a, b in pairwise(values)]
    return weights
