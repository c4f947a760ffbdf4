"""Common subsequences weighted by the number of their gaps.

As in the textbook (Shawe-Taylor and Cristianini 2004, section 11.5), with running sums in place of
tables.
"""

import numpy as np

from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.typing import Array


@jit
def _sum_by_gaps(s, t, p, decay, T, columns, first, total, cells):
    """Sum ``decay ** (gaps in both)`` over pairs of equal subsequences of p symbols.

    Let S_q(i, j) be the sum over subsequences of q symbols that end at i and j. Then
    ``S_q(i, j) = [s_i = t_j] T_{q-1}(i - 1, j - 1)``, where ``R(i, j) = S(i, j) + decay
    sum_{i' < i} S(i', j)`` and ``T(i, j) = R(i, j) + decay sum_{j' < j} R(i, j')``. Row q of `T`
    belongs to the previous symbol, and row q of `columns` contains the sums of S over all previous
    symbols. Resumes at symbol `first` and works through about `cells` cells; returns the sum so
    far, the next symbol and the number of cells left over.
    """
    if first == 0:
        T[:] = 0.0
        columns[:] = 0.0
        total = 0.0

    for i in range(first, len(s)):
        if cells <= 0 and i > first:  # each call processes at least one symbol
            return total, i, cells
        cells -= p * len(t)

        a = s[i]
        for q in range(p, 0, -1):  # row q - 1 still belongs to the previous symbol
            run = 0.0
            for j in range(len(t)):
                S = 0.0
                if t[j] == a:
                    if q == 1:
                        S = 1.0
                    elif j > 0:
                        S = T[q - 1, j - 1]
                R = S + decay * columns[q, j]
                T[q, j] = R + decay * run
                run += R
                columns[q, j] += S
                if q == p:
                    total += S
    return total, len(s), cells


@jit
def _pairs_by_gaps(X, Y, own, p, decay, K, position, T, columns, cells):
    """Sum for all pairs; return True when finished.

    Resumes at symbol ``position[2]`` of the pair ``position[0], position[1]``. The sum of an
    unfinished pair is kept in K.
    """
    (codes, offsets) = X
    (codes_y, offsets_y) = Y
    for i in range(position[0], K.shape[0]):
        s = codes[offsets[i] : offsets[i + 1]]
        for j in range(position[1], i + 1 if own else K.shape[1]):
            t = codes_y[offsets_y[j] : offsets_y[j + 1]]

            m = len(t)
            K[i, j], done, cells = _sum_by_gaps(
                s, t, p, decay, T[:, :m], columns[:, :m], position[2], K[i, j], cells
            )

            # after an interruption, store where to resume
            if done < len(s):
                position[0] = i
                position[1] = j
                position[2] = done
                return False
            position[2] = 0

            if own:
                K[j, i] = K[i, j]
        position[1] = 0
    return True


@jit
def _own_by_gaps(codes, offsets, p, decay, d, position, T, columns, cells):
    """Sum for each sequence with itself, resuming at symbol ``position[1]`` of ``position[0]``."""
    for i in range(position[0], len(d)):
        s = codes[offsets[i] : offsets[i + 1]]
        m = len(s)
        d[i], done, cells = _sum_by_gaps(
            s, s, p, decay, T[:, :m], columns[:, :m], position[1], d[i], cells
        )
        if done < len(s):
            position[0] = i
            position[1] = done
            return False
        position[1] = 0
    return True


def _gap_state(offsets: Array, p: int) -> tuple[Array, Array, Array]:
    """Return the initial position, and workspace for the rows and the column sums of a pair."""
    shape = (p + 1, int(np.diff(offsets).max()))
    return np.zeros(3, dtype=np.int64), np.empty(shape), np.empty(shape)


def sums_by_gaps(
    codes: Array,
    offsets: Array,
    p: int,
    decay: float,
    others: tuple[Array, Array] | None = None,
) -> Array:
    """Sum over pairs of equal subsequences of p symbols, with a factor ``decay`` for each gap.

    See Shawe-Taylor and Cristianini 2004, section 11.5. The time for a pair is ``p |s| |t|``.
    """
    codes_y, offsets_y = (codes, offsets) if others is None else others
    K = np.zeros((len(offsets) - 1, len(offsets_y) - 1))
    if K.size:
        own = others is None
        state = _gap_state(offsets_y, p)
        X = (codes, offsets)
        Y = (codes_y, offsets_y)
        in_pieces(_pairs_by_gaps, X, Y, own, p, decay, K, *state)
    return K


def own_sums_by_gaps(codes: Array, offsets: Array, p: int, decay: float) -> Array:
    """Return the diagonal of `sums_by_gaps`."""
    d = np.zeros(len(offsets) - 1)
    if len(d):
        in_pieces(_own_by_gaps, codes, offsets, p, decay, d, *_gap_state(offsets, p))
    return d
