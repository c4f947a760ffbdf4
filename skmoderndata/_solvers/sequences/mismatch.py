"""Counts of the words within a Hamming distance of the windows of a sequence.

Differs from the paper (Leslie et al. 2004): instead of traversing a mismatch tree, neighbours are
counted by passes over a table of all words, listed for each distinct window, or counted by the
positions on which two windows agree.
"""

from itertools import pairwise
from math import comb

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.quantities import CELLS_OF_PRODUCTS
from skmoderndata._solvers.common.typing import Array


@jit
def _spread(T, sigma, p, m):
    """Turn the histogram ``T[0]`` of words into counts of words at distance 0 to m, in place.

    Applies ``I + z (J - I)``, where J has all entries 1, on each of the p axes of a tensor of
    sigma^p entries, and keeps the powers of z up to m. Row k is the coefficient of z^k.
    """
    stride = 1
    for _ in range(p):
        for begin in range(0, T.shape[1], stride * sigma):
            for k in range(m, 0, -1):  # row k - 1 still belongs to the previous axes
                for i in range(begin, begin + stride):
                    total = 0.0
                    for j in range(i, i + stride * sigma, stride):
                        total += T[k - 1, j]
                    for j in range(i, i + stride * sigma, stride):
                        T[k, j] += total - T[k - 1, j]
        stride *= sigma


@jit
def _neighbour_rows(numbers, offsets, sigma, p, m, out, position, cells):
    """Count for rows from ``position[0]`` on, about `cells` cells; return True when finished."""
    T = np.empty((m + 1, out.shape[1]))
    for i in range(position[0], len(offsets) - 1):
        if cells <= 0 and i > position[0]:  # each call fills at least one row
            position[0] = i
            return False
        cells -= CELLS_OF_PRODUCTS * p * T.size + offsets[i + 1] - offsets[i]
        T[:] = 0.0
        for w in range(offsets[i], offsets[i + 1]):
            T[0, numbers[w]] += 1.0
        _spread(T, sigma, p, m)
        for k in range(m + 1):
            out[i] += T[k]
    return True


def neighbour_counts(numbers: Array, offsets: Array, sigma: int, p: int, m: int) -> Array:
    """Count the windows of each row within m mismatches of each word of p symbols.

    `numbers` have base sigma. The result has ``sigma ** p`` columns. No neighbourhood is
    enumerated, so the cost is ``p (m + 1)`` passes over a row.
    """
    out = np.zeros((len(offsets) - 1, sigma**p))
    start = np.zeros(1, dtype=np.int64)
    in_pieces(_neighbour_rows, numbers, offsets, sigma, p, m, out, start)
    return out


@jit
def _words_near(window, order, costs, threshold, weights, out):
    """Write the numbers of the words u with ``sum_i costs[u_i, v_i] < threshold``; count them.

    Here v is the window. ``order[:, b]`` sorts the symbols by their cost in place of b, so that a
    depth-first search meets few words that are too expensive. Returns -1 if `out` is too short.
    """
    p = len(window)
    sigma = order.shape[0]
    tried = np.full(p, -1, dtype=np.int64)
    spent = np.zeros(p + 1)
    number = np.zeros(p + 1, dtype=np.int64)
    n = i = 0

    # search depth first: try the next cheapest symbol at position i
    while i >= 0:
        tried[i] += 1
        too_much = tried[i] == sigma
        if not too_much:
            a = order[tried[i], window[i]]
            spent[i + 1] = spent[i] + costs[a, window[i]]
            too_much = spent[i + 1] >= threshold

        # go back if all symbols have been tried, or if this one is too expensive, because the
        # remaining symbols cost at least as much
        if too_much:
            tried[i] = -1
            i -= 1
            continue

        # extend the word by this symbol; the word is complete at position p
        number[i + 1] = number[i] + a * weights[i]
        if i + 1 < p:
            i += 1
            continue
        if n == len(out):
            return -1
        out[n] = number[p]
        n += 1
    return n


@jit
def _all_words_near(windows, order, costs, threshold, weights, k, indptr, out):
    """Continue from window k until `out` is full; return the first window that did not fit."""
    while k < len(windows):
        n = _words_near(windows[k], order, costs, threshold, weights, out[indptr[k] :])
        if n < 0:
            return k
        indptr[k + 1] = indptr[k] + n
        k += 1
    return k


def words_near(
    windows: Array, costs: Array, threshold: float, limit: int
) -> tuple[Array, Array | None]:
    """List the words that replace windows at a cost below a threshold [Leslie et al. 2004].

    Parameters
    ----------
    windows : ndarray of int32, of shape (n_windows, p)
        Symbol numbers.
    costs : ndarray of shape (n_symbols, n_symbols)
        Cost ``costs[a, b]`` of the symbol a in place of b. With 1 off the diagonal and a
        threshold of ``m + 1 / 2``, the words have up to m mismatches.
    threshold : float
        Upper bound on the sum over the positions, exclusive.
    limit : int
        Largest total number of words.

    Returns
    -------
    indptr : ndarray of int64, of shape (n_windows + 1,)
        The words of window k are ``numbers[indptr[k] : indptr[k + 1]]``.
    numbers : ndarray of int64, or None
        Numbers of the words in base `n_symbols`, with the first symbol as the lowest digit; None
        if there are more than `limit` words.
    """
    order = np.argsort(costs, axis=0, kind="stable")
    weights = len(costs) ** np.arange(windows.shape[1], dtype=np.int64)
    indptr = np.zeros(len(windows) + 1, dtype=np.int64)
    out = np.empty(min(len(windows), limit), dtype=np.int64)
    k = 0
    while k < len(windows):
        k = _all_words_near(windows, order, costs, threshold, weights, k, indptr, out)
        if k < len(windows):
            if len(out) == limit:
                return indptr, None
            # extrapolate the number of words from the windows seen so far
            size = max(2 * len(out), int(1.01 * len(windows) * indptr[k] / max(k, 1)))
            larger = np.empty(min(size, limit), dtype=np.int64)
            larger[: indptr[k]] = out[: indptr[k]]
            out = larger
    return indptr, out[: indptr[-1]]


@jit
def _add_words(ranks, offsets, starts, columns, rows, indices, data, count):
    """Count the words of all windows of each row; columns are in the order of appearance."""
    k = 0
    for i in range(len(offsets) - 1):
        begin = k
        for w in range(offsets[i], offsets[i + 1]):
            for e in range(starts[ranks[w]], starts[ranks[w] + 1]):
                column = columns[e]
                if count[column] == 0:
                    indices[k] = column
                    k += 1
                count[column] += 1
        for e in range(begin, k):
            data[e] = count[indices[e]]
            count[indices[e]] = 0
        rows[i + 1] = k


def word_counts(
    ranks: Array, offsets: Array, starts: Array, columns: Array, n_columns: int
) -> sparse.csr_array:
    """Count, for each row, the windows that have each word.

    ``ranks[w]`` is the kind of window w; the words of kind k have the columns
    ``columns[starts[k] : starts[k + 1]]``.
    """
    sizes = np.concatenate([[0], np.cumsum(np.diff(starts)[ranks])])
    max_entries = int(np.minimum(np.diff(sizes[offsets]), n_columns).sum())
    rows = np.zeros(len(offsets), dtype=np.int64)
    indices = np.empty(max_entries, dtype=np.int32)
    data = np.empty(max_entries)
    count = np.zeros(max(n_columns, 1), dtype=np.int32)
    _add_words(ranks, offsets, starts, columns, rows, indices, data, count)
    n = rows[-1]
    kind = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    return sparse.csr_array(
        (data[:n], indices[:n].astype(kind, copy=False), rows.astype(kind)),
        shape=(len(offsets) - 1, n_columns),
    )


def n_common_neighbours(d: int, p: int, m: int, sigma: int) -> int:
    """Count the words within m mismatches of each of two words of p symbols at distance d.

    Such a word differs in a of the p - d positions where the two words agree. In the other d
    positions it has the symbol of the first word i times, the symbol of the second word j times,
    and a third symbol k times.
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
    """Return weights c with ``N(d) = sum_k c[k] C(p - d, k)``, for N of `n_common_neighbours`.

    Two words at distance d agree completely on ``C(p - d, k)`` sets of k positions. The kernel is
    therefore the sum over sets of positions of ``c[size of the set]`` times the number of pairs of
    windows that agree there. By Newton's formula, c are the forward differences of N at 0
    agreements; they are 0 for sets of fewer than p - 2 m positions.
    """
    values = [n_common_neighbours(p - agreements, p, m, sigma) for agreements in range(p + 1)]
    weights = []
    while values:
        weights.append(values[0])
        values = [b - a for a, b in pairwise(values)]
    return weights
