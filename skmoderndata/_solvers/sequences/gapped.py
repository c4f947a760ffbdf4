"""Global and local alignments with gaps: the best score of many pairs, and the path of one pair.

A sequence is an array of symbol numbers, and `table` contains the scores of two symbols. Points of
real series are numbered, and their table contains the scores of all pairs. The recursion follows
Gotoh (1982).
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.typing import Array

# Steps that lead to the best score of a cell, in two bits.
BEGIN, DIAGONAL, SKIP_S, SKIP_T = range(4)
# Flags for a gap that ends in a cell and was already open in the cell before it.
LONGER_S = 4
LONGER_T = 8


class GapRule(NamedTuple):
    """Costs of gaps, and the kind of alignment.

    Attributes
    ----------
    first : float
        Cost of the first symbol of a gap.
    further : float
        Cost of each further symbol of a gap, no larger than `first`.
    local : bool
        Whether the best stretches are aligned instead of the whole sequences.
    """

    first: float
    further: float
    local: bool


@jit
def _begin(m, rule, best, gap_in_t):
    """Write row 0, which aligns nothing of s with the first j of the m symbols of t."""
    # entry j of row 0 is a single gap of j symbols, which costs nothing in a local alignment
    best[0] = 0.0
    for j in range(m):
        best[j + 1] = 0.0 if rule.local else -(rule.first + j * rule.further)
    gap_in_t[: m + 1] = -np.inf


@jit
def _next_row(i, a, t, table, rule, best, gap_in_t):
    """Turn row i into row i + 1 for symbol a of s; return its largest score [Gotoh 1982].

    ``best[j]`` is the best score H of the first i symbols of s and the first j symbols of t;
    ``gap_in_t[j]`` is the best score of alignments that leave out symbol i of s.
    """
    diagonal = best[0]
    best[0] = 0.0 if rule.local else -(rule.first + i * rule.further)
    gap_in_s = -np.inf
    top = 0.0

    for j in range(len(t)):
        # start a gap or extend one
        gap_in_t[j + 1] = max(best[j + 1] - rule.first, gap_in_t[j + 1] - rule.further)
        gap_in_s = max(best[j] - rule.first, gap_in_s - rule.further)
        score = max(diagonal + table[a, t[j]], max(gap_in_t[j + 1], gap_in_s))
        if rule.local:
            score = max(score, 0.0)

        # the old H(i, j + 1) is the diagonal of the next column
        diagonal = best[j + 1]
        best[j + 1] = score
        top = max(top, score)
    return top


@jit
def _score_rows(codes, offsets, first, others, table, rule, own, out, position, saved, cells):
    """Compute the scores of the sequences `first`, `first` + 1, ... with all others.

    Resumes at row ``position[2]`` of the pair ``position[0], position[1]``, and works through
    about `cells` cells. `saved` contains the largest score so far and then the previous row.
    Returns True when finished.
    """
    codes_t, offsets_t = others
    best = saved[0, 1:].copy()
    gap_in_t = saved[1, 1:].copy()
    top = saved[0, 0]

    for k in range(position[0], out.shape[0]):
        s = codes[offsets[first + k] : offsets[first + k + 1]]
        for p in range(position[1], first + k + 1 if own else out.shape[1]):
            t = codes_t[offsets_t[p] : offsets_t[p + 1]]
            if position[2] == 0:
                _begin(len(t), rule, best, gap_in_t)
                top = 0.0

            # fill the rows, at least one per call
            for i in range(position[2], len(s)):
                if cells <= 0 and i > position[2]:
                    position[:] = np.array([k, p, i])
                    saved[0, 0] = top
                    saved[0, 1:] = best
                    saved[1, 1:] = gap_in_t
                    return False
                cells -= len(t) + 1
                top = max(top, _next_row(i, s[i], t, table, rule, best, gap_in_t))

            # read the corner (global) or the largest cell (local)
            position[2] = 0
            out[k, p] = top if rule.local else best[len(t)]
        position[1] = 0
    return True


def alignment_scores(
    codes: Array,
    offsets: Array,
    others: tuple[Array, Array],
    table: Array,
    rule: GapRule,
    *,
    first: int,
    own: bool,
    out: Array,
) -> None:
    """Write the scores of the sequences ``first`` to ``first + len(out) - 1`` into `out`.

    The score is the largest sum of the scores of aligned symbols minus the costs of gaps, over all
    alignments of the sequences [Needleman and Wunsch 1970] or of a stretch of each [Smith and
    Waterman 1981]. The recursion of Gotoh (1982) takes time ``|s| |t|`` and two rows for each
    pair.

    Parameters
    ----------
    codes, offsets : ndarray
        Sequences of symbol numbers.
    others : tuple of ndarray
        Codes and offsets of the second collection, of the same alphabet.
    table : ndarray of shape (n_symbols, n_symbols)
        Scores of two symbols.
    rule : GapRule
        Costs of gaps.
    first : int
        Number of the first sequence.
    own : bool
        Whether both collections are the same; row i then stops at the diagonal.
    out : ndarray of shape (n_rows, n_others)
        Array that receives the scores.
    """
    if not out.size:
        return
    # `saved` holds the largest score so far, and one row of each kind of score
    position = np.zeros(3, dtype=np.int64)
    saved = np.zeros((2, int(np.diff(others[1]).max()) + 2))
    in_pieces(
        _score_rows, codes, offsets, first, others, table, rule, own, out, position, saved
    )


@jit
def _fill_moves(s, t, table, rule, moves, position, saved, cells):
    """Fill the table of moves from row ``position[0]`` on, about `cells` cells.

    `saved` contains the largest score, which belongs to cell ``position[1], position[2]``, and
    then the scores of the previous row.
    """
    best = saved[0, 1:].copy()
    gap_in_t = saved[1, 1:].copy()
    top = saved[0, 0]
    if position[0] == 0:
        _begin(len(t), rule, best, gap_in_t)

    # fill the rows, beginning where the last call ended
    for i in range(position[0], len(s)):
        if cells <= 0 and i > position[0]:
            position[0] = i
            saved[0, 0] = top
            saved[0, 1:] = best
            saved[1, 1:] = gap_in_t
            return False
        cells -= len(t) + 1

        diagonal = best[0]
        best[0] = 0.0 if rule.local else -(rule.first + i * rule.further)
        gap_in_s = -np.inf
        for j in range(len(t)):
            # update both gap scores, and record whether a gap has been open before
            move = 0
            opened = best[j + 1] - rule.first
            gap_in_t[j + 1] -= rule.further
            if gap_in_t[j + 1] > opened:
                move |= LONGER_S
            gap_in_t[j + 1] = max(gap_in_t[j + 1], opened)
            opened = best[j] - rule.first
            gap_in_s -= rule.further
            if gap_in_s > opened:
                move |= LONGER_T
            gap_in_s = max(gap_in_s, opened)

            # choose the best of the three steps; on ties, choose the diagonal step
            score = diagonal + table[s[i], t[j]]
            step = DIAGONAL
            if gap_in_t[j + 1] > score:
                score = gap_in_t[j + 1]
                step = SKIP_S
            if gap_in_s > score:
                score = gap_in_s
                step = SKIP_T
            if rule.local and score <= 0.0:
                score = 0.0
                step = BEGIN

            moves[i, j] = move | step
            diagonal = best[j + 1]
            best[j + 1] = score
            if score > top:
                top = score
                position[1] = i + 1
                position[2] = j + 1
    saved[0, 0] = top if rule.local else best[len(t)]
    return True


@jit
def _way_back(moves, i, j, local):
    """Trace the aligned positions back from cell (i, j); -1 where one sequence has a gap."""
    path = np.empty((i + j, 2), dtype=np.int64)
    k = i + j
    gap = BEGIN  # kind of the gap that continues, or BEGIN
    while i > 0 or j > 0:
        # along the borders, a global alignment has gaps
        step = gap
        move = 0
        if i > 0 and j > 0:
            move = moves[i - 1, j - 1]
            if gap == BEGIN:
                step = move & 3
        elif local:
            break
        else:
            step = SKIP_S if i > 0 else SKIP_T
        if step == BEGIN:
            break

        # go one step back
        k -= 1
        path[k, 0] = -1
        path[k, 1] = -1
        gap = BEGIN
        if step != SKIP_T:
            i -= 1
            path[k, 0] = i
        if step != SKIP_S:
            j -= 1
            path[k, 1] = j
        if (step == SKIP_S and move & LONGER_S) or (step == SKIP_T and move & LONGER_T):
            gap = step
    return path[k:].copy()


def best_alignment(s: Array, t: Array, table: Array, rule: GapRule) -> tuple[Array, float]:
    """Return the best alignment of two sequences of symbol numbers, and its score.

    Parameters
    ----------
    s, t : ndarray of int
        Sequences.
    table : ndarray of shape (n_symbols_s, n_symbols_t)
        Scores of two symbols.
    rule : GapRule
        Costs of gaps.

    Returns
    -------
    path : ndarray of int of shape (n_steps, 2)
        Aligned positions, with -1 where one sequence has a gap. A local alignment covers only the
        best stretches, and is empty if no two symbols have a positive score. If scores are equal,
        a step in both sequences is preferred to a step in s, and this to a step in t. Memory is a
        byte for each pair of positions.
    score : float
        Score of this alignment.
    """
    moves = np.zeros((len(s), len(t)), dtype=np.uint8)
    position = np.zeros(3, dtype=np.int64)
    saved = np.zeros((2, len(t) + 2))
    in_pieces(_fill_moves, s, t, table, rule, moves, position, saved)

    # go back from the corner, or from the largest score
    end = (position[1], position[2]) if rule.local else (len(s), len(t))
    return _way_back(moves, *end, rule.local), float(saved[0, 0]) + 0.0  # turn -0.0 into 0.0
