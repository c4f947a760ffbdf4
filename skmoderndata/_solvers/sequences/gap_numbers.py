"""Common subsequences weighted by the number of their gaps."""

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._typing import Array


@jit
def _sum_by_gaps(s, t, p, decay, T, columns):
    """Sum over pairs of equal subsequences of p symbols, ``decay ** (gaps in both)``.

    With S_q(i, j) the sum over those of q symbols that end at i and j,
    ``S_q(i, j) = [s_i = t_j] T_{q-1}(i - 1, j - 1)``, where ``R(i, j) = S(i, j) + decay
    sum_{i' < i} S(i', j)`` and ``T(i, j) = R(i, j) + decay sum_{j' < j} R(i, j')``. Row q of `T`
    is that of the symbol before, row q of `columns` holds the sums of S over the symbols before.
    """
    T[:], columns[:] = 0.0, 0.0
    total = 0.0
    for a in s:
        for q in range(p, 0, -1):
            run = 0.0
            for j in range(len(t)):
                S = 0.0
                if t[j] == a:
                    S = 1.0 if q == 1 else (T[q - 1, j - 1] if j > 0 else 0.0)
                R = S + decay * columns[q, j]
                T[q, j] = R + decay * run
                run += R
                columns[q, j] += S
                if q == p:
                    total += S
    return total


@jit
def _pairs_by_gaps(codes, offsets, codes_y, offsets_y, own, p, decay, K):
    longest = (offsets_y[1:] - offsets_y[:-1]).max()
    T, columns = np.empty((p + 1, longest)), np.empty((p + 1, longest))
    for i in range(K.shape[0]):
        s = codes[offsets[i] : offsets[i + 1]]
        for j in range(i + 1 if own else K.shape[1]):
            t = codes_y[offsets_y[j] : offsets_y[j + 1]]
            m = len(t)
            K[i, j] = _sum_by_gaps(s, t, p, decay, T[:, :m], columns[:, :m])
            if own:
                K[j, i] = K[i, j]


@jit
def _own_by_gaps(codes, offsets, p, decay, d):
    longest = (offsets[1:] - offsets[:-1]).max()
    T, columns = np.empty((p + 1, longest)), np.empty((p + 1, longest))
    for i in range(len(d)):
        s = codes[offsets[i] : offsets[i + 1]]
        d[i] = _sum_by_gaps(s, s, p, decay, T[:, : len(s)], columns[:, : len(s)])


def sums_by_gaps(
    codes: Array,
    offsets: Array,
    p: int,
    decay: float,
    others: tuple[Array, Array] | None = None,
) -> Array:
    """Sum over pairs of equal subsequences of p symbols, ``decay`` for each gap of the two.

    Shawe-Taylor and Cristianini 2004, section 11.5; time ``p |s| |t|`` for each pair.
    """
    codes_y, offsets_y = (codes, offsets) if others is None else others
    K = np.zeros((len(offsets) - 1, len(offsets_y) - 1))
    if K.size:
        _pairs_by_gaps(codes, offsets, codes_y, offsets_y, others is None, p, decay, K)
    return K


def own_sums_by_gaps(codes: Array, offsets: Array, p: int, decay: float) -> Array:
    """Diagonal of `sums_by_gaps`."""
    d = np.zeros(len(offsets) - 1)
    if len(d):
        _own_by_gaps(codes, offsets, p, decay, d)
    return d
