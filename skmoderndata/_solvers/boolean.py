"""Boolean matrices: packed rows, Hamming distance, unions of sources."""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from skmoderndata._jit import jit

Array = np.ndarray[Any, np.dtype[Any]]


def pack_rows(X: Array) -> Array:
    """Pack the rows of a Boolean matrix into 64-bit words, padded with zeros.

    Parameters
    ----------
    X : ndarray of bool of shape (n, p)
        Boolean matrix.

    Returns
    -------
    words : ndarray of uint64 of shape (n, ceil(p / 64))
        Packed rows.
    """
    n, p = X.shape
    n_words = -(-p // 64)
    packed = np.zeros((n, 8 * n_words), dtype=np.uint8)
    packed[:, : -(-p // 8)] = np.packbits(X, axis=1, bitorder="little")
    return packed.view("<u8")


def unpack_rows(words: Array, p: int) -> Array:
    """Invert `pack_rows`: a Boolean matrix of shape (n, p)."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, :p].astype(bool)


@jit
def hamming_distances(A: Array, B: Array) -> Array:
    """Count differing bits between the packed rows of A and B, shape (len(A), len(B))."""
    m1 = np.uint64(0x5555555555555555)
    m2 = np.uint64(0x3333333333333333)
    m4 = np.uint64(0x0F0F0F0F0F0F0F0F)
    h01 = np.uint64(0x0101010101010101)
    one, two, four, top = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
    out = np.empty((A.shape[0], B.shape[0]), dtype=np.int64)
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = np.int64(0)
            for w in range(A.shape[1]):
                # population count of one word in twelve operations
                x = A[i, w] ^ B[j, w]
                x = x - ((x >> one) & m1)
                x = (x & m2) + ((x >> two) & m2)
                x = (x + (x >> four)) & m4
                total += np.int64((x * h01) >> top)
            out[i, j] = total
    return out


def assignment_sets(k: int, max_size: int, *, allow_empty: bool = True) -> Array:
    """List the subsets of k sources with at most `max_size` members, smallest first.

    Parameters
    ----------
    k : int
        Number of sources.
    max_size : int
        Largest number of members.
    allow_empty : bool, default=True
        Whether the empty set comes first.

    Returns
    -------
    sets : ndarray of bool of shape (n_sets, k)
        One set per row; equal sizes in lexicographic order of the members.
    """
    sizes = range(0 if allow_empty else 1, min(k, max_size) + 1)
    members = [chosen for size in sizes for chosen in combinations(range(k), size)]
    sets = np.zeros((len(members), k), dtype=bool)
    for row, chosen in zip(sets, members, strict=True):
        row[list(chosen)] = True
    return sets


def count_assignment_sets(k: int, max_size: int, *, allow_empty: bool = True) -> int:
    """Count the rows that `assignment_sets` would return, without making them."""
    return sum(comb(k, size) for size in range(0 if allow_empty else 1, min(k, max_size) + 1))


def boolean_product(Z: Array, U: Array) -> Array:
    """OR of the rows of U chosen by each row of Z: ``any_k (Z[i, k] and U[k, d])``."""
    product: Array = (Z.astype(np.float32) @ U.astype(np.float32)) > 0.5
    return product


def nearest_patterns(X: Array, observed: Array | None, patterns: Array) -> tuple[Array, Array]:
    """Find for each row of X the pattern that differs in the fewest observed bits.

    Parameters
    ----------
    X : ndarray of bool of shape (n, p)
        Rows to explain.
    observed : ndarray of bool of shape (n, p) or None
        Bits that count; None counts all.
    patterns : ndarray of bool of shape (n_patterns, p)
        Candidates; the first of equally good ones wins.

    Returns
    -------
    index : ndarray of int of shape (n,)
        Row of `patterns` chosen.
    errors : ndarray of int of shape (n,)
        Number of observed bits that differ.
    """
    ones = X if observed is None else X & observed
    # differing bits = ones outside the pattern + zeros inside = |ones| + (zeros - ones) . pattern
    signed = -ones.astype(np.float32)
    signed += ~X if observed is None else ~X & observed
    cost = signed @ patterns.T.astype(np.float32)
    index = cost.argmin(axis=1)
    errors = ones.sum(axis=1) + np.rint(cost[np.arange(len(X)), index]).astype(np.int64)
    return index, errors
