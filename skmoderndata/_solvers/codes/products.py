"""Inner loops of the coders: products, weighted sums of rows, residuals, the largest entry.

numba keeps the order of floating-point sums: a plain sum waits for each addition, and a plain loop
over rows loads and stores its result once per row. The loops therefore handle four at a time.
"""

from typing import Any

import numpy as np

from skmoderndata._solvers.common.jit import jit_leaf

# Zero as a variable, because numba would compile functions again for a literal 0.
ZERO: Any = np.int64(0)
# Mask of all bits of a double except the sign.
MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)


@jit_leaf
def inner(u, v, count):
    """Return the inner product of the first `count` entries."""
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    p = 0
    while p + 4 <= count:
        s0 += u[p] * v[p]
        s1 += u[p + 1] * v[p + 1]
        s2 += u[p + 2] * v[p + 2]
        s3 += u[p + 3] * v[p + 3]
        p += 4
    while p < count:
        s0 += u[p] * v[p]
        p += 1
    return (s0 + s1) + (s2 + s3)


@jit_leaf
def add_rows(out, sign, a, rows, which, count):
    """Add ``sign * sum_s a[s] rows[which[s]]`` to `out`, for the first `count` entries s."""
    k = out.shape[0]
    s = 0

    # add four rows at a time, so that `out` is read and written once for all four
    while s + 4 <= count:
        a0 = sign * a[s]
        a1 = sign * a[s + 1]
        a2 = sign * a[s + 2]
        a3 = sign * a[s + 3]
        g0 = rows[which[s]]
        g1 = rows[which[s + 1]]
        g2 = rows[which[s + 2]]
        g3 = rows[which[s + 3]]
        for j in range(k):
            out[j] += (a0 * g0[j] + a1 * g1[j]) + (a2 * g2[j] + a3 * g3[j])
        s += 4

    # add the remaining rows
    while s < count:
        a0 = sign * a[s]
        g0 = rows[which[s]]
        for j in range(k):
            out[j] += a0 * g0[j]
        s += 1


@jit_leaf
def residual_sq(x, observed, rows, index, a, t, r):
    """Return ``|x - sum_s a[s] d_index[s]|^2`` on the observed entries; `r` gets the residual.

    It is computed from the signal, because bounds are compared with this number.
    """
    n = x.shape[0]
    for p in range(n):
        r[p] = x[p]
    add_rows(r, -1.0, a, rows, index, t)
    for p in range(n):
        r[p] *= observed[p]
    return inner(r, r, n)


@jit_leaf
def largest_entry(bits, k, low):
    """Return the index of the double with the largest magnitude, the first of ties.

    `bits` holds k doubles as integers. Magnitudes of doubles are ordered as their bits are, and
    integers can be compared many at a time: with comparisons of doubles, OMP takes 1.5 times as
    long. The index replaces the last bits (`low`, from `low_bits`), so that entries that are equal
    up to rounding count as ties.
    """
    keep = MAGNITUDE & ~low
    best = np.int64(-1)
    for j in range(k):
        key = (bits[j] & keep) | (k - 1 - j)
        best = max(best, key)
    return k - 1 - (best & low)


@jit_leaf
def low_bits(k):
    """Return the mask of the bits that hold an index below k."""
    low = np.int64(1)
    while low < k:
        low *= 2
    return low - 1


@jit_leaf
def sort_pairs(index, value, count):
    """Sort the first `count` pairs by index."""
    for t in range(1, count):
        j = index[t]
        v = value[t]
        s = t
        while s > 0 and index[s - 1] > j:
            index[s] = index[s - 1]
            value[s] = value[s - 1]
            s -= 1
        index[s] = j
        value[s] = v
