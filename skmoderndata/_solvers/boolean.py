"""Boolean matrices as packed words: OR, counting, Hamming distance."""

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
