"""Edit distances of sequences: bit-parallel for unit costs, one row of the table otherwise."""

from typing import NamedTuple

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._typing import Array

BITS = 64


class EditCosts(NamedTuple):
    """What the changes of one symbol cost.

    Attributes
    ----------
    gap : float
        Insertion or deletion of a symbol.
    substitution : float
        Replacement of a symbol by another one.
    """

    gap: float
    substitution: float


@jit
def _table_distance(s, t, costs, row):
    """``D(i, j) = min(D(i-1, j-1) + [s_i != t_j] sub, D(i-1, j) + gap, D(i, j-1) + gap)``."""
    for j in range(len(t) + 1):
        row[j] = j * costs.gap
    for i in range(len(s)):
        diagonal, row[0] = row[0], (i + 1) * costs.gap
        for j in range(len(t)):
            change = diagonal if s[i] == t[j] else diagonal + costs.substitution
            diagonal = row[j + 1]
            row[j + 1] = min(change, min(row[j + 1], row[j]) + costs.gap)
    return row[len(t)]


@jit
def _unit_distance(m, t, peq, plus, minus):
    """Levenshtein distance of t and a sequence of m symbols, 64 rows of the table at a time.

    Bit i of ``peq[symbol]`` says whether the i-th of the m symbols is that one. Words `plus` and
    `minus` hold where the table rises and falls by one from row to row; `right` and `down` are
    the same from column to column [Hyyro 2003, figure 8].
    """
    one, top = np.uint64(1), np.uint64(BITS - 1)
    n_words = (m + BITS - 1) // BITS
    last = np.uint64((m - 1) % BITS)
    plus[:n_words] = ~np.uint64(0)
    minus[:n_words] = np.uint64(0)
    distance = m
    for a in t:
        carry_plus, carry_minus = one, np.uint64(0)  # the first row rises by one each column
        for w in range(n_words):
            equal, up, fall = peq[a, w], plus[w], minus[w]
            vertical = equal | fall
            equal |= carry_minus
            horizontal = (((equal & up) + up) ^ up) | equal
            right = fall | ~(horizontal | up)
            down = up & horizontal
            if w == n_words - 1:
                distance += np.int64((right >> last) & one) - np.int64((down >> last) & one)
            next_plus, next_minus = right >> top, down >> top
            right = (right << one) | carry_plus
            down = (down << one) | carry_minus
            plus[w] = down | ~(vertical | right)
            minus[w] = right & vertical
            carry_plus, carry_minus = next_plus, next_minus
    return distance


@jit
def _unit_rows(codes, offsets, first, codes_y, offsets_y, n_symbols, own, out):
    """Levenshtein distances of the sequences from `first` on to all others."""
    n_words = ((offsets[1:] - offsets[:-1]).max() + BITS - 1) // BITS
    peq = np.zeros((n_symbols, n_words), dtype=np.uint64)
    plus, minus = np.empty(n_words, dtype=np.uint64), np.empty(n_words, dtype=np.uint64)
    for k in range(out.shape[0]):
        s = codes[offsets[first + k] : offsets[first + k + 1]]
        for i in range(len(s)):
            peq[s[i], i // BITS] |= np.uint64(1) << np.uint64(i % BITS)
        for j in range(first + k + 1 if own else out.shape[1]):
            t = codes_y[offsets_y[j] : offsets_y[j + 1]]
            out[k, j] = _unit_distance(len(s), t, peq, plus, minus) if len(s) else len(t)
        for i in range(len(s)):
            peq[s[i], i // BITS] = np.uint64(0)


@jit
def _table_rows(codes, offsets, first, codes_y, offsets_y, costs, own, out):
    """Edit distances of the sequences from `first` on to all others, by the table."""
    row = np.empty((offsets_y[1:] - offsets_y[:-1]).max() + 1)
    for k in range(out.shape[0]):
        s = codes[offsets[first + k] : offsets[first + k + 1]]
        for j in range(first + k + 1 if own else out.shape[1]):
            t = codes_y[offsets_y[j] : offsets_y[j + 1]]
            out[k, j] = _table_distance(s, t, costs, row)


def edit_distances(
    codes: Array,
    offsets: Array,
    others: tuple[Array, Array],
    costs: EditCosts,
    *,
    first: int,
    own: bool,
    out: Array,
) -> None:
    """Write the distances of the sequences ``first`` to ``first + len(out) - 1`` into `out`.

    The distance is the least cost of insertions, deletions and substitutions of symbols that turn
    one sequence into the other [Wagner and Fischer 1974]. With unit costs a word of the machine
    holds 64 rows of their table [Myers 1999; Hyyro 2003]: time ``|s| |t| / 64`` for each pair.

    Parameters
    ----------
    codes, offsets : ndarray
        Sequences of symbol numbers.
    others : tuple of ndarray
        Codes and offsets of the second collection, of the same alphabet.
    costs : EditCosts
        Costs of the changes.
    first : int
        Number of the first sequence.
    own : bool
        Whether the second collection is the first: then row i stops at the diagonal.
    out : ndarray of shape (n_rows, n_others)
        Takes the distances.
    """
    if not out.size:
        return
    if costs == EditCosts(1.0, 1.0):
        top = max(codes.max(initial=-1), others[0].max(initial=-1))
        _unit_rows(codes, offsets, first, *others, int(top) + 1, own, out)
    else:
        _table_rows(codes, offsets, first, *others, costs, own, out)
