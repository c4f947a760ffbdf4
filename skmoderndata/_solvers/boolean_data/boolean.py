"""Boolean matrices: packed rows, Hamming distance, unions of sources.

Compiled loops write arrays entry by entry, because assigning one array to a part of another also
compiles numba's messages about shapes, which takes 1.6 s.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.quantities import FLOAT_BYTES, WORD_BITS
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array

# Number of bits of each of the two counts that are packed into one integer.
HALF_BITS = 32


def pack_rows(X: Array) -> Array:
    """Pack a Boolean matrix (n, p) into 64-bit words (n, ceil(p / 64)), padded with zeros."""
    n, p = X.shape
    n_words = -(-p // WORD_BITS)
    packed = np.zeros((n, 8 * n_words), dtype=np.uint8)
    packed[:, : -(-p // 8)] = np.packbits(X, axis=1, bitorder="little")
    return packed.view("<u8")


def unpack_rows(words: Array, p: int) -> Array:
    """Invert `pack_rows`: a Boolean matrix of shape (n, p)."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, :p].astype(bool)


@jit_leaf
def popcount(x: Any) -> Any:
    """Count the ones of a 64-bit word."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + (
        (x >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit_leaf
def upper_count(counts: Any) -> Any:
    """Return the count in the upper half of an integer."""
    return counts >> HALF_BITS


@jit_leaf
def lower_count(counts: Any) -> Any:
    """Return the count in the lower half of an integer."""
    return counts & ((1 << HALF_BITS) - 1)


@jit
def hamming_distances(A: Array, B: Array) -> Array:
    """Count differing bits between the packed rows of A and B, shape (len(A), len(B))."""
    out = np.empty((A.shape[0], B.shape[0]), dtype=np.int64)
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = np.int64(0)
            for w in range(A.shape[1]):
                total += popcount(A[i, w] ^ B[j, w])
            out[i, j] = total
    return out


def assignment_sets(k: int, max_size: int, *, allow_empty: bool = True) -> Array:
    """List the subsets of k sources with at most `max_size` members, shape (n_sets, k).

    Sets are sorted by size, and sets of equal size lexicographically by their members; with
    `allow_empty` the empty set comes first.
    """
    sizes = range(0 if allow_empty else 1, min(k, max_size) + 1)
    members = [
        members_of_set for size in sizes for members_of_set in combinations(range(k), size)
    ]
    sets = np.zeros((len(members), k), dtype=bool)
    for row, members_of_set in zip(sets, members, strict=True):
        row[list(members_of_set)] = True
    return sets


def count_assignment_sets(k: int, max_size: int, *, allow_empty: bool = True) -> int:
    """Count the rows that `assignment_sets` would return, without creating them."""
    return sum(comb(k, size) for size in range(0 if allow_empty else 1, min(k, max_size) + 1))


def boolean_product(Z: Array, U: Array) -> Array:
    """Return the OR of the rows of U that each row of Z selects, ``any_k Z[i, k] and U[k, d]``."""
    return (Z.astype(np.float32) @ U.astype(np.float32)) > 0.5


def nearest_patterns(X: Array, observed: Array | None, patterns: Array) -> tuple[Array, Array]:
    """Find for each row of X (n, p) the pattern (n_patterns, p) nearest to it in observed bits.

    Returns the index (ties go to the first pattern) and the number of observed bits that differ.
    If `observed` is None, all bits count.
    """
    ones = X if observed is None else X & observed
    # number of differing bits = ones outside the pattern + zeros inside = |ones| + (zeros - ones)
    # . pattern
    signed = -ones.astype(np.float32)
    signed += ~X if observed is None else ~X & observed
    cost = signed @ patterns.T.astype(np.float32)
    index = cost.argmin(axis=1)
    errors = ones.sum(axis=1) + np.rint(cost[np.arange(len(X)), index]).astype(np.int64)
    return index, errors


# Maximum number of sets of components that `best_cover` tries one after the other.
MAX_SETS = 2**13
# Maximum number of words, or of numbers, in a table that is in memory at once (32 MiB).
MAX_WORDS = TEMPORARY_BYTES // FLOAT_BYTES


def pack_bits(X: Any) -> Array:
    """Pack the rows of a Boolean matrix, dense or in compressed sparse rows, by `pack_rows`.

    Sparse rows are converted in blocks, so the memory is dominated by the packed rows, an eighth
    of a byte per entry.
    """
    if isinstance(X, np.ndarray):
        return pack_rows(X)
    n, p = X.shape
    words = np.zeros((n, -(-p // WORD_BITS)), dtype=np.uint64)
    step = max(1, MAX_WORDS // p)
    for start in range(0, n, step):
        words[start : start + step] = pack_rows(X[start : start + step].toarray().astype(bool))
    return words


def transpose_packed(words: Array, p: int) -> Array:
    """Pack the columns of a matrix of p columns whose rows are packed, shape (p, ceil(n / 64))."""
    columns = np.zeros((p, -(-len(words) // WORD_BITS)), dtype=np.uint64)
    for w in range(words.shape[1]):
        start = WORD_BITS * w
        width = min(WORD_BITS, p - start)
        block = unpack_rows(words[:, w : w + 1], width)
        columns[start : start + width] = pack_rows(np.ascontiguousarray(block.T))
    return columns


# Compile this loop: a fit of 500 x 60 bits then takes a quarter less time.
@jit
def unions(Z: Array, words: Array) -> Array:
    """Return the OR of the packed rows `words` that each row of the Boolean matrix Z selects."""
    out = np.zeros((Z.shape[0], words.shape[1]), dtype=np.uint64)
    for i in range(Z.shape[0]):
        for k in range(Z.shape[1]):
            if Z[i, k]:
                for w in range(words.shape[1]):
                    out[i, w] |= words[k, w]
    return out


@jit
def count_differences(rows: Array, Z: Array, words: Array) -> tuple[int, int]:
    """Count bits of packed `rows` missed by the unions that Z chooses, and bits added by them."""
    missed = 0
    extra = 0
    union = np.zeros(rows.shape[1], dtype=np.uint64)
    for i in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            union[w] = 0
        for k in range(Z.shape[1]):
            if Z[i, k]:
                for w in range(rows.shape[1]):
                    union[w] |= words[k, w]
        for w in range(rows.shape[1]):
            missed += popcount(rows[i, w] & ~union[w])
            extra += popcount(union[w] & ~rows[i, w])
    return missed, extra


def nearest_packed(
    rows: Array, patterns: Array, bonus: float, penalty: float
) -> tuple[Array, Array]:
    """Find for each packed row the pattern of least ``bonus * missed + penalty * extra`` bits.

    Returns the index (ties go to the first pattern) and the cost, without the constant
    ``bonus * ones of the row``.
    """
    # put the words of all patterns side by side, so that the inner loop over them is vectorised
    by_word = np.ascontiguousarray(patterns.T)
    return nearest_by_word(rows, by_word, float(bonus), float(penalty))


@jit
def nearest_by_word(
    rows: Array, patterns: Array, bonus: float, penalty: float
) -> tuple[Array, Array]:
    # count the bits of each pattern
    n_words, n_patterns = patterns.shape
    size = np.zeros(n_patterns, dtype=np.int64)
    for w in range(n_words):
        for j in range(n_patterns):
            size[j] += popcount(patterns[w, j])

    common = np.empty(n_patterns, dtype=np.int64)
    index = np.zeros(rows.shape[0], dtype=np.int64)
    cost = np.empty(rows.shape[0])

    # count the bits that each pattern shares with the row
    for i in range(rows.shape[0]):
        common[:] = 0
        for w in range(n_words):
            word = rows[i, w]
            if word != 0:
                for j in range(n_patterns):
                    common[j] += popcount(patterns[w, j] & word)

        # choose the first pattern with the smallest cost
        best = 0
        best_cost = np.inf
        for j in range(n_patterns):
            new = penalty * size[j] - (bonus + penalty) * common[j]
            if new < best_cost:
                best = j
                best_cost = new
        index[i] = best
        cost[i] = best_cost
    return index, cost


def improve_cover(rows: Array, words: Array, Z: Array, bonus: float, penalty: float) -> None:
    """Add the best components one by one and drop superfluous ones until the cost is constant."""
    union, union_of_others = np.empty((2, words.shape[1]), dtype=np.uint64)
    _improve_cover(rows, words, Z, bonus, penalty, union, union_of_others)


@jit_leaf
def _unite(words, chosen, left_out, union):
    """Write the union of the chosen components, except one; an index beyond all excludes none."""
    for w in range(len(union)):
        union[w] = 0
    for k in range(len(chosen)):
        if chosen[k] and k != left_out:
            for w in range(len(union)):
                union[w] |= words[k, w]


@jit_leaf
def _improve_cover(rows, words, Z, bonus, penalty, union, union_of_others):
    """Do the work of `improve_cover`; the last two arguments are work space."""
    k_max, n_words = words.shape

    for i in range(rows.shape[0]):
        # form the union of the components that the row uses
        _unite(words, Z[i], k_max, union)

        # the limit is reached only if rounding errors cause a cycle
        for _ in range(8 * k_max + 8):
            # 1. add the component with the largest gain
            best = -1
            best_gain = 0.0
            for k in range(k_max):
                covered = np.int64(0)
                size = np.int64(0)
                for w in range(n_words):
                    new = words[k, w] & ~union[w]
                    size += popcount(new)
                    covered += popcount(new & rows[i, w])
                gain = (bonus + penalty) * covered - penalty * size
                if gain > best_gain:
                    best = k
                    best_gain = gain
            if best >= 0:
                Z[i, best] = True
                for w in range(n_words):
                    union[w] |= words[best, w]

                continue

            # 2. if no addition helps, drop the first component that does more harm than good
            dropped = False
            for k in range(k_max):
                if not Z[i, k]:
                    continue
                # find the bits that only this component covers
                _unite(words, Z[i], k, union_of_others)

                covered = np.int64(0)
                size = np.int64(0)
                for w in range(n_words):
                    alone = union[w] & ~union_of_others[w]
                    size += popcount(alone)
                    covered += popcount(alone & rows[i, w])

                if (bonus + penalty) * covered - penalty * size <= 0:
                    Z[i, k] = False
                    for w in range(n_words):
                        union[w] = union_of_others[w]
                    dropped = True
                    break
            if not dropped:
                break


@lru_cache(maxsize=4)
def all_sets(k: int) -> Array:
    """Return all sets of k components, as a cached read-only array."""
    sets = assignment_sets(k, k)
    sets.flags.writeable = False
    return sets


def best_cover(
    rows: Array,
    words: Array,
    *,
    bonus: float = 1.0,
    penalty: float = 1.0,
    start: Array | None = None,
    exact: bool | None = None,
) -> Array:
    """Choose for each packed row the packed components whose union explains it best, (n, k).

    Minimises ``bonus * missed + penalty * extra`` bits. If there are at most 8192 sets of
    components, or if `exact`, all sets are tried, and ties go to the smallest and then to the
    first set. Otherwise the best components are added and superfluous ones dropped until neither
    helps, beginning with the memberships `start`; the cost never rises.
    """
    k = len(words)
    if exact is None:
        exact = 2**k <= MAX_SETS
    if not exact:
        Z = np.zeros((len(rows), k), dtype=bool) if start is None else start.copy()
        improve_cover(rows, words, Z, float(bonus), float(penalty))
        return Z

    # try all sets of components, in blocks of patterns of limited memory
    sets = all_sets(k)
    best = np.zeros(len(rows), dtype=np.int64)
    cost = np.full(len(rows), np.inf)
    step = max(1, MAX_WORDS // max(1, rows.shape[1]))
    for first in range(0, len(sets), step):
        patterns = unions(sets[first : first + step], words)
        index, new = nearest_packed(rows, patterns, bonus, penalty)
        better = new < cost
        best[better] = first + index[better]
        cost[better] = new[better]

    return sets[best]


def contained(rows: Array, words: Array) -> Array:
    """Return which packed components are contained in which packed rows; empty ones are not."""
    inside = [(word & ~rows == 0).all(axis=1) & word.any() for word in words]
    return np.stack(inside, axis=1)


@jit
def count_ones(words: Array) -> Array:
    """Count the ones of each packed row."""
    ones = np.zeros(words.shape[0], dtype=np.int64)
    for i in range(words.shape[0]):
        for w in range(words.shape[1]):
            ones[i] += popcount(words[i, w])
    return ones


def distinct_rows(words: Array) -> tuple[Array, Array]:
    """List distinct packed rows in the order of their first occurrence, with their counts."""
    key = np.ascontiguousarray(words).view(np.dtype((np.void, 8 * words.shape[1]))).ravel()
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    order = np.argsort(first)
    return words[first[order]], count[order]


def cooccurrence(X: Any) -> Array:
    """Count for each pair of columns the rows that have both, shape (p, p), in float64.

    A dense matrix is multiplied in blocks of at most `MAX_WORDS` rows, for which single precision
    is exact.
    """
    if not isinstance(X, np.ndarray):
        counts = X.astype(np.float64)
        return (counts.T @ counts).toarray()
    n, p = X.shape
    total = np.zeros((p, p))
    step = max(1, MAX_WORDS // max(p, 1))
    for start in range(0, n, step):
        block = X[start : start + step].astype(np.float32)
        total += block.T @ block
    return total


def associated_features(counts: Array, thresholds: Iterable[float]) -> Iterator[Array]:
    """Yield, for each threshold tau, the distinct sets of features associated with one feature.

    Feature j is associated with i if at least a fraction tau of the rows with i have j; `counts`
    are the numbers of rows with both. A feature that no row has gives no set. Sets are packed, and
    in the order of the features.
    """
    sizes = np.diag(counts)
    fractions = counts[sizes > 0] / sizes[sizes > 0, None]
    for tau in thresholds:
        # allow for the rounding errors of fractions
        yield distinct_rows(pack_rows(fractions >= tau - ACCUMULATED_ROUNDING))[0]


@jit_leaf
def cover_gain(count: Any, bonus: float, penalty: float) -> Any:
    """Return the gain of a row, from counts of free bits (lower half) and ones (upper half)."""
    return max((bonus + penalty) * upper_count(count) - penalty * lower_count(count), 0.0)
