"""Intersections of rows as candidates for roles [Vaidya, Atluri and Warner 2006].

Differs from the paper: 1. the number of candidates is limited. 2. Roles can also be chosen one by
one, by the ones that they newly cover.
"""

import numpy as np

from skmoderndata._solvers.boolean_data.boolean import (
    popcount,
)
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.pieces import PIECE_CELLS
from skmoderndata._solvers.common.quantities import GOLDEN

# Maximum number of candidates that the list can hold before it grows for the first time.
FIRST_ROOM = 1 << 12
DONE, FULL, PAUSED = range(3)


def intersections(rows, max_candidates, complete):
    """List the distinct nonempty rows, then intersections of two, or of any number, of rows.

    The intersection of several rows is found by intersecting one row with an earlier intersection.
    Returns the packed list and the number of rows processed, which is smaller if the list is full.
    """
    store = np.zeros((min(max_candidates, FIRST_ROOM), rows.shape[1]), dtype=np.uint64)
    # hash table whose entries are positions in `store`
    table = np.full(4 * len(store), -1, dtype=np.int64)
    state = np.array([-1, 0, 0])
    while True:
        status = _intersect(rows, complete, store, table, state, PIECE_CELLS)
        source, _, n_found = state.tolist()
        if status == DONE:
            return store[:n_found].copy(), len(rows)
        if status == FULL and n_found == max_candidates:
            return store[:n_found].copy(), min(max(source, 0), len(rows) - 1)

        # grow the list and fill a larger hash table
        if status == FULL:
            grown = np.zeros(
                (min(max_candidates, 2 * len(store)), rows.shape[1]), dtype=np.uint64
            )
            grown[:n_found] = store
            store = grown
            table = np.full(4 * len(grown), -1, dtype=np.int64)
            _fill(table, store, n_found)


@jit
def _fill(table, store, n_found):
    """Enter the patterns of the store into an empty table."""
    for i in range(n_found):
        table[_find(table, store, store[i])] = i


@jit
def _intersect(rows, complete, store, table, state, cells):
    """Extend the list of candidates, working through about `cells` words; return the status.

    `state` contains the source that rows are intersected with (-1 for the rows themselves), the
    next row, and the number of candidates found.
    """
    n_rows, n_words = rows.shape
    new = np.zeros(n_words, dtype=np.uint64)
    source, first, n_found = state
    done = 0
    while source < (n_found if complete else n_rows):
        for j in range(first, n_rows):
            if done > cells:
                state[0] = source
                state[1] = j
                state[2] = n_found
                return PAUSED
            done += n_words

            # use the row itself, or the part of it that the source also has
            is_nonempty = False
            for w in range(n_words):
                if source < 0:
                    new[w] = rows[j, w]
                elif complete:
                    new[w] = rows[j, w] & store[source, w]
                else:
                    new[w] = rows[j, w] & rows[source, w]
                is_nonempty = is_nonempty or new[w] != 0
            if not is_nonempty:
                continue

            # skip a known candidate; return if the list is full
            slot = _find(table, store, new)
            if table[slot] >= 0:
                continue
            if n_found == len(store):
                state[0] = source
                state[1] = j
                state[2] = n_found
                return FULL

            for w in range(n_words):
                store[n_found, w] = new[w]
            table[slot] = n_found
            n_found += 1

        source += 1
        first = 0 if complete else source + 1
    state[0] = source
    state[1] = 0
    state[2] = n_found
    return DONE


@jit
def _find(table, store, pattern):
    """Return the slot of the pattern in the hash table, or the free slot to insert it in."""
    # compute a multiplicative hash of the words of the pattern
    mixed = np.uint64(0)
    for w in range(len(pattern)):
        mixed = (mixed ^ pattern[w]) * GOLDEN
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed % np.uint64(len(table)))

    # probe linearly until the pattern or an empty slot is found
    while table[slot] >= 0:
        same = True
        for w in range(len(pattern)):
            if store[table[slot], w] != pattern[w]:
                same = False
                break
        if same:
            break
        slot = slot + 1 if slot + 1 < len(table) else np.int64(0)
    return slot


@jit
def _new_ones(candidate, rows, count, covered):
    """Count the ones that a candidate newly covers in the rows that contain it."""
    total = np.int64(0)
    for i in range(rows.shape[0]):
        inside = True
        for w in range(rows.shape[1]):
            if candidate[w] & ~rows[i, w]:
                inside = False
                break
        if inside:
            fresh = np.int64(0)
            for w in range(rows.shape[1]):
                fresh += popcount(candidate[w] & ~covered[i, w])
            total += fresh * count[i]
    return total


def roles_by_gain(candidates, rows, count):
    """Yield numbers of candidates, each time the one with the largest remaining gain."""
    covered = np.zeros_like(rows)
    gain = _areas(candidates, rows, count)
    # for each candidate, the step in which its gain was last counted
    counted = np.zeros(len(candidates), dtype=np.int64)
    for step in range(len(candidates)):
        best = _next_role(candidates, rows, count, covered, gain, counted, step)
        if best < 0:
            return
        yield best


def roles_by_area(candidates, rows, count):
    """Yield numbers of candidates in descending order of support times size."""
    area = _areas(candidates, rows, count)
    yield from np.argsort(-area, kind="stable")


@jit
def _next_role(candidates, rows, count, covered, gain, counted, step):
    """Choose the candidate of largest gain and cover its ones; return -1 if none has a gain."""
    # gains only decrease, so an old gain is an upper bound: recount the largest gain until it has
    # been counted in this step
    best = np.argmax(gain)
    while counted[best] < step:
        gain[best] = _new_ones(candidates[best], rows, count, covered)
        counted[best] = step
        best = np.argmax(gain)
    if gain[best] <= 0:
        return -1

    # cover the rows that contain the candidate
    for i in range(rows.shape[0]):
        inside = True
        for w in range(rows.shape[1]):
            if candidates[best, w] & ~rows[i, w]:
                inside = False
                break
        if inside:
            for w in range(rows.shape[1]):
                covered[i, w] |= candidates[best, w]
    return best


@jit
def _areas(candidates, rows, count):
    area = np.empty(candidates.shape[0], dtype=np.int64)
    covered = np.zeros_like(rows)
    for c in range(candidates.shape[0]):
        area[c] = _new_ones(candidates[c], rows, count, covered)
    return area
