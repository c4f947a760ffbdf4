"""Edit distances of sequences: bit-parallel for unit costs, one row of the table otherwise.

Differs from the paper (Hyyro 2003): sequences of equal length are compared side by side if a
column fits into one machine word.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.quantities import WORD_BITS
from skmoderndata._solvers.common.typing import Array

# Number of sequences of equal length that are compared with one sequence at a time.
LANES = 64


class EditCosts(NamedTuple):
    """Costs of changing one symbol.

    Attributes
    ----------
    gap : float
        Cost of inserting or deleting a symbol.
    substitution : float
        Cost of replacing a symbol by another symbol.
    """

    gap: float
    substitution: float


UNIT = EditCosts(1.0, 1.0)


def levenshtein(s: str | bytes, t: str | bytes) -> int:
    """Return the Levenshtein distance of one short pair, by the formulas of `_unit_distance`.

    Python's integers serve as machine words of any length. For two words of a natural language,
    making the arrays for a compiled loop would take ten times as long.
    """
    if not s:
        return len(t)
    equal: dict[object, int] = {}
    for i, a in enumerate(s):
        equal[a] = equal.get(a, 0) | 1 << i

    last = 1 << len(s) - 1
    word = 2 * last - 1
    plus = word
    minus = 0
    distance = len(s)
    for a in t:
        matches = equal.get(a, 0)
        vertical = matches | minus
        horizontal = ((matches & plus) + plus ^ plus) | matches
        right = minus | ~(horizontal | plus) & word
        down = plus & horizontal
        if right & last:
            distance += 1
        elif down & last:
            distance -= 1

        # update the differences between rows; the first row increases by one in each column
        right = right << 1 | 1
        plus = (down << 1 | ~(vertical | right)) & word
        minus = right & vertical
    return distance


@jit
def _table_distance(s, t, costs, row, first, cells):
    """Fill ``D(i, j) = min(D(i-1, j-1) + [s_i != t_j] sub, D(i-1, j) + gap, D(i, j-1) + gap)``.

    Resumes at row `first` and works through about `cells` cells; returns the next row and the
    number of cells left over.
    """
    if first == 0:
        for j in range(len(t) + 1):
            row[j] = j * costs.gap
    for i in range(first, len(s)):
        if cells <= 0 and i > first:  # each call fills at least one row
            return i, cells
        cells -= len(t)
        diagonal = row[0]
        row[0] = (i + 1) * costs.gap
        for j in range(len(t)):
            change = diagonal if s[i] == t[j] else diagonal + costs.substitution
            diagonal = row[j + 1]
            row[j + 1] = min(change, min(row[j + 1], row[j]) + costs.gap)
    return len(s), cells


@jit
def _unit_distance(m, t, peq, plus, minus, distance, first, cells):
    """Compute the Levenshtein distance of t and m symbols, 64 rows of the table at a time.

    Bit i of ``peq[symbol]`` is set if the i-th of the m symbols equals `symbol`. The bits of the
    words `plus` and `minus` mark where the table increases and decreases by one from row to row;
    `right` and `down` mark the same from column to column [Hyyro 2003, figure 8]. Resumes at
    symbol `first` of t and works through about `cells` cells; returns the distance, the next
    symbol and the number of cells left over.
    """
    one = np.uint64(1)
    top = np.uint64(WORD_BITS - 1)
    n_words = (m + WORD_BITS - 1) // WORD_BITS
    last = np.uint64((m - 1) % WORD_BITS)
    if first == 0:
        plus[:n_words] = ~np.uint64(0)
        minus[:n_words] = np.uint64(0)
        distance = m

    for j in range(first, len(t)):
        if cells <= 0 and j > first:  # each call fills at least one column
            return distance, j, cells
        cells -= n_words

        # fill column j downwards; the first row increases by one in each column
        a = t[j]
        carry_plus = one
        carry_minus = np.uint64(0)
        for w in range(n_words):
            # find the rows where the table differs from the previous column: one addition handles
            # 64 rows
            equal = peq[a, w]
            up = plus[w]
            fall = minus[w]
            vertical = equal | fall
            equal |= carry_minus
            horizontal = (((equal & up) + up) ^ up) | equal
            right = fall | ~(horizontal | up)
            down = up & horizontal

            # update the distance, which is the entry in the last row
            if w == n_words - 1:
                distance += np.int64((right >> last) & one) - np.int64((down >> last) & one)

            # find where the column increases and decreases from row to row
            next_plus = right >> top
            next_minus = down >> top
            right = (right << one) | carry_plus
            down = (down << one) | carry_minus
            plus[w] = down | ~(vertical | right)
            minus[w] = right & vertical

            # carry bits over into the next word
            carry_plus = next_plus
            carry_minus = next_minus
    return distance, len(t), cells


class Columns(NamedTuple):
    """Sequences in batches of equal length, stored symbol by symbol.

    Attributes
    ----------
    symbols : ndarray of uint32
        First symbols of all sequences of a batch, then their second symbols, and so on; then the
        next batch.
    order : ndarray of int
        Numbers of the sequences.
    edges : ndarray of int
        Positions in `order` at which the batches begin, and the end.
    lengths : ndarray of int
        Length of the sequences of each batch.
    """

    symbols: Array
    order: Array
    edges: Array
    lengths: Array


def in_columns(codes: Array, offsets: Array) -> Columns:
    """Sort sequences into batches of equal length."""
    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    steps = np.flatnonzero(np.diff(lengths[order])) + 1
    cuts = [0, *steps.tolist(), len(order)]
    edges = [edge for a, b in pairwise(cuts) for edge in range(a, b, LANES)]
    edges.append(len(order))

    symbols = [np.empty(0, dtype=np.uint32)]
    for a, b in pairwise(edges):
        positions = np.arange(lengths[order[a]])[:, None] + offsets[order[a:b]]
        symbols.append(codes[positions].ravel().astype(np.uint32))
    return Columns(np.concatenate(symbols), order, np.array(edges), lengths[order[edges[:-1]]])


@jit_leaf
def _word_rows(codes, offsets, first, others, masks, lanes, out, position, cells):
    """Compute Levenshtein distances of up to 64 symbols, by the formulas of `_unit_distance`.

    Other sequences of equal length lie side by side. This takes a tenth of the time, because
    carries are unnecessary and the lanes share vector registers. Resumes at row ``position[0]``
    and works through about `cells` cells. `masks` is zero before and after each row.
    """
    plus, minus, matches, total = lanes
    one = np.uint64(1)
    for k in range(position[0], out.shape[0]):
        if cells <= 0 and k > position[0]:  # each call fills at least one row
            position[0] = k
            return False
        cells -= len(others.symbols)

        # set the bits of the positions of each symbol in s
        s = codes[offsets[first + k] : offsets[first + k + 1]]
        for i in range(len(s)):
            masks[s[i]] |= one << np.uint64(i)
        last = np.uint64(max(len(s) - 1, 0))

        column = 0
        for b in range(len(others.lengths)):
            batch = others.order[others.edges[b] : others.edges[b + 1]]
            width = len(batch)
            plus[:width] = ~np.uint64(0)
            minus[:width] = np.uint64(0)
            total[:width] = np.uint64(len(s))
            for _ in range(others.lengths[b]):
                for lane in range(width):
                    matches[lane] = masks[others.symbols[column + lane]]
                column += width

                # use only four arrays in this loop; with more arrays, LLVM would not vectorise it
                for lane in range(width):
                    equal = matches[lane]
                    up = plus[lane]
                    vertical = equal | minus[lane]
                    horizontal = (((equal & up) + up) ^ up) | equal
                    right = minus[lane] | ~(horizontal | up)
                    down = up & horizontal
                    rises = (right >> last) & one
                    falls = (down >> last) & one
                    total[lane] += rises - falls

                    # update the differences between rows; the first row increases by one in each
                    # column
                    right = (right << one) | one
                    plus[lane] = (down << one) | ~(vertical | right)
                    minus[lane] = right & vertical

            for lane in range(width):
                out[k, batch[lane]] = total[lane] if len(s) else others.lengths[b]

        for i in range(len(s)):
            masks[s[i]] = np.uint64(0)
    return True


@jit
def _unit_rows(codes, offsets, first, others, n_symbols, own, out, position, words, cells):
    """Compute Levenshtein distances from the sequences `first`, `first` + 1, ... to all others.

    Resumes at symbol ``position[2]`` of the pair ``position[0], position[1]``, at distance
    ``position[3]`` and with the last column in `words`, and works through about `cells` cells.
    Returns True when finished.
    """
    codes_y, offsets_y = others
    n_words = ((offsets[1:] - offsets[:-1]).max() + WORD_BITS - 1) // WORD_BITS
    peq = np.zeros((n_symbols, n_words), dtype=np.uint64)
    plus = words[0].copy()
    minus = words[1].copy()
    for k in range(position[0], out.shape[0]):
        s = codes[offsets[first + k] : offsets[first + k + 1]]
        # set the bits of the positions of each symbol in s
        for i in range(len(s)):
            peq[s[i], i // WORD_BITS] |= np.uint64(1) << np.uint64(i % WORD_BITS)

        for j in range(position[1], first + k + 1 if own else out.shape[1]):
            t = codes_y[offsets_y[j] : offsets_y[j + 1]]
            distance = len(t)
            done = len(t)
            if len(s):
                distance, done, cells = _unit_distance(
                    len(s), t, peq, plus, minus, position[3], position[2], cells
                )
            if done < len(t):
                position[0] = k
                position[1] = j
                position[2] = done
                position[3] = distance
                words[0] = plus
                words[1] = minus
                return False
            position[2] = 0
            out[k, j] = distance

        # clear the bits that were set
        position[1] = 0
        for i in range(len(s)):
            peq[s[i], i // WORD_BITS] = np.uint64(0)
    return True


@jit
def _table_rows(codes, offsets, first, others, costs, own, out, position, saved, cells):
    """Compute edit distances from the sequences `first`, `first` + 1, ... to all others.

    Resumes at row ``position[2]`` of the pair ``position[0], position[1]``, with the previous row
    in `saved`.
    """
    codes_y, offsets_y = others
    row = saved.copy()
    for k in range(position[0], out.shape[0]):
        s = codes[offsets[first + k] : offsets[first + k + 1]]
        for j in range(position[1], first + k + 1 if own else out.shape[1]):
            t = codes_y[offsets_y[j] : offsets_y[j + 1]]
            done, cells = _table_distance(s, t, costs, row, position[2], cells)
            if done < len(s):
                position[0] = k
                position[1] = j
                position[2] = done
                saved[:] = row
                return False
            position[2] = 0
            out[k, j] = row[len(t)]
        position[1] = 0
    return True


def one_word(offsets: Array, costs: EditCosts) -> bool:
    """Return whether a machine word holds a column of each table; all pairs are then computed."""
    return costs == UNIT and int(np.diff(offsets).max(initial=0)) <= WORD_BITS


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

    The distance is the smallest total cost of insertions, deletions and substitutions of symbols
    that turn one sequence into the other [Wagner and Fischer 1974]. With unit costs, a machine
    word holds 64 rows of the table [Myers 1999; Hyyro 2003], so the time for a pair is
    ``|s| |t| / 64``.

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
        Whether both collections are the same. In this case row i stops at the diagonal unless
        `one_word` holds.
    out : ndarray of shape (n_rows, n_others)
        Array that receives the distances.
    """
    if not out.size:
        return
    position = np.zeros(4, dtype=np.int64)
    top = int(max(codes.max(initial=-1), others[0].max(initial=-1)))
    if one_word(offsets, costs):
        masks = np.zeros(top + 1, dtype=np.uint64)
        lanes = tuple(np.empty((4, LANES), dtype=np.uint64))
        columns = in_columns(*others)
        in_pieces(_word_rows, codes, offsets, first, columns, masks, lanes, out, position)
    elif costs == UNIT:
        n_words = (int(np.diff(offsets).max()) + WORD_BITS - 1) // WORD_BITS
        words = np.zeros((2, n_words), dtype=np.uint64)
        in_pieces(
            _unit_rows, codes, offsets, first, others, top + 1, own, out, position, words
        )
    else:
        saved = np.empty(int(np.diff(others[1]).max()) + 1)
        in_pieces(_table_rows, codes, offsets, first, others, costs, own, out, position, saved)
