"""Pair hidden Markov models: the probability of two strings over all alignments.

Differs from the book (Durbin et al. 1998, section 4.2): cells are scaled by powers of two and two
rows are kept, so that long strings neither underflow nor fill the memory.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.typing import Array

# Number that serves as the unit of exponents: a cell holds its values divided by a power of this
# number.
SCALE_DOWN = 2.0**-256

# Exponent of cells that have probability 0; all other exponents are larger.
IMPOSSIBLE = -(2**60)

# Cost of a cell with three states, in ordinary cells.
CELLS_OF_STATES = 8


class PairModel(NamedTuple):
    """Probabilities of moves and of symbols.

    State 0 emits a pair of symbols, state 1 a symbol of s alone, state 2 a symbol of t alone. The
    start has the same moves as state 0.
    """

    joint: Array  # (n_symbols, n_symbols), probabilities of pairs
    insert: Array  # (n_symbols,), probabilities of single symbols
    moves: Array  # (3, 3), probabilities of moves between states
    ends: Array  # (3,), probabilities of moves from a state to the end


@jit_leaf
def _reached(x, weights, factor, shift):
    """Return ``factor (x . weights) 2^(-256 shift)``."""
    term = factor * (x[0] * weights[0] + x[1] * weights[1] + x[2] * weights[2])
    for _ in range(min(shift, 5)):
        term *= SCALE_DOWN
    return term


@jit_leaf
def _pair(s, t, joint, insert, columns, ends, rows, exponents, first, cells):
    """Compute the log-probability of s and t, keeping two rows of the three tables.

    ``AB(i, j) = P(s_i, t_j) sum_k f_k(i-1, j-1) moves(k, 0)``, ``A(i, j) = q(s_i) sum_k f_k(i-1,
    j) moves(k, 1)`` and ``B(i, j) = q(t_j) sum_k f_k(i, j-1) moves(k, 2)``. A cell holds its three
    values times ``2^(256 e)`` with its own exponent e: a common scale for each row would lose
    paths that are improbable at first and win in the end. Starts at row `first` and computes about
    `cells` cells; returns the logarithm, the next row, and the number of cells left.
    """
    m = len(t)
    for i in range(first, len(s) + 1):
        if cells <= 0 and i > first:  # each call computes at least one row
            return 0.0, i, cells
        cells -= CELLS_OF_STATES * (m + 1)
        now = rows[i % 2]
        old = rows[(i + 1) % 2]
        e_now = exponents[i % 2]
        e_old = exponents[(i + 1) % 2]

        for j in range(m + 1):
            # find the largest exponent of the three preceding cells
            cell = now[j]
            e = IMPOSSIBLE
            if i > 0 and j > 0:
                e = max(e, e_old[j - 1])
            if i > 0:
                e = max(e, e_old[j])
            if j > 0:
                e = max(e, e_now[j - 1])

            # set the values: 1 at the start, otherwise sums for the states in which both s and t
            # emit, only s emits, and only t emits
            cell[0] = 0.0
            cell[1] = 0.0
            cell[2] = 0.0
            if i == 0 and j == 0:
                e = 0
                cell[0] = 1.0
            if i > 0 and j > 0:
                p = joint[s[i - 1], t[j - 1]]
                cell[0] = _reached(old[j - 1], columns[0], p, e - e_old[j - 1])
            if i > 0:
                cell[1] = _reached(old[j], columns[1], insert[s[i - 1]], e - e_old[j])
            if j > 0:
                cell[2] = _reached(now[j - 1], columns[2], insert[t[j - 1]], e - e_now[j - 1])

            # if a cell is small, move a power of two from its values to its exponent
            largest = max(cell[0], cell[1], cell[2])
            if largest == 0.0:
                e = IMPOSSIBLE
            elif largest < SCALE_DOWN:
                cell[0] /= SCALE_DOWN
                cell[1] /= SCALE_DOWN
                cell[2] /= SCALE_DOWN
                e -= 1
            e_now[j] = e

    last = rows[len(s) % 2, m]
    logarithm = -np.inf
    value = last[0] * ends[0] + last[1] * ends[1] + last[2] * ends[2]
    if value > 0.0:
        logarithm = np.log(value) - np.log(SCALE_DOWN) * exponents[len(s) % 2, m]
    return logarithm, len(s) + 1, cells


@jit
def _pairs(
    X, Y, pairs, joint, insert, columns, ends, logarithms, position, rows, exponents, cells
):
    """Fill in the log-probabilities of pairs; return True once all are done.

    Resumes at row ``position[1]`` of the pair ``pairs[position[0]]``.
    """
    codes, offsets = X
    codes_y, offsets_y = Y
    for r in range(position[0], len(pairs)):
        i, j = pairs[r]
        s = codes[offsets[i] : offsets[i + 1]]
        t = codes_y[offsets_y[j] : offsets_y[j + 1]]
        logarithms[r], done, cells = _pair(
            s, t, joint, insert, columns, ends, rows, exponents, position[1], cells
        )
        if done <= len(s):
            position[0] = r
            position[1] = done
            return False
        position[1] = 0
    return True


def pair_logarithms(
    model: PairModel,
    X: tuple[Array, Array],
    Y: tuple[Array, Array],
    pairs: Array,
) -> Array:
    """Return the log-probabilities of pairs of strings.

    Forward algorithm of Durbin et al. 1998, section 4.2. Each pair takes time ``|s| |t|`` and the
    memory of two rows.

    Parameters
    ----------
    model : PairModel
        Probabilities of moves and of symbols.
    X, Y : tuple of (codes, offsets)
        Strings, packed.
    pairs : ndarray of shape (n_pairs, 2)
        Indices of the string of X and the string of Y in each pair.

    Returns
    -------
    logarithms : ndarray of shape (n_pairs,)
        Log-probabilities; -inf if no alignment is possible.
    """
    logarithms = np.zeros(len(pairs))
    if len(pairs):
        columns = np.ascontiguousarray(model.moves.T)
        longest = int(np.diff(Y[1]).max()) + 1
        rows = np.zeros((2, longest, 3))
        exponents = np.zeros((2, longest), dtype=np.int64)
        # pair, and row of its table, at which to resume
        position = np.zeros(2, dtype=np.int64)
        in_pieces(
            _pairs,
            X,
            Y,
            pairs,
            model.joint,
            model.insert,
            columns,
            model.ends,
            logarithms,
            position,
            rows,
            exponents,
        )
    return logarithms
