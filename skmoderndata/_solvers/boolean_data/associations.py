"""Greedy Boolean factors from associations of features [Miettinen et al. 2008], with a refit."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from skmoderndata._solvers.boolean_data.boolean import (
    MAX_SETS,
    MAX_WORDS,
    all_sets,
    associated_features,
    best_cover,
    count_differences,
    cover_gain,
    nearest_packed,
    pack_rows,
    popcount,
    unions,
    unpack_rows,
)
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.typing import Array

# cost, packed components, memberships, number of rounds of the refit, threshold
Answer = list[Any]
NO_SETS = all_sets(1)[:0]  # a local search in place of all sets


@jit_leaf
def _total_gains(words, candidates, bonus, penalty, totals, sizes, counts):
    """Add the gain of each candidate in all rows to `totals`; return the ones in the rows."""
    n_words, width = candidates.shape
    for c in range(width):
        sizes[c] = 0
        for w in range(n_words):
            sizes[c] += popcount(candidates[w, c])

    n_ones = 0
    for i in range(len(words)):
        for c in range(width):
            counts[c] = sizes[c]
        for w in range(n_words):
            row = words[i, w]
            n_ones += popcount(row)
            for c in range(width):
                counts[c] += popcount(candidates[w, c] & row) << 32
        for c in range(width):
            totals[c] += cover_gain(counts[c], bonus, penalty)
    return n_ones


@jit_leaf
def _transpose(candidates, near):
    """Write candidates side by side, word by word."""
    for c in range(len(candidates)):
        for w in range(candidates.shape[1]):
            near[w, c] = candidates[c, w]


@jit_leaf
def _clear(change, near, n_near, width):
    """Set the changes to zero, and the candidates that fill up the width."""
    for c in range(width):
        change[c] = 0.0
    for w in range(len(near)):
        for c in range(n_near, width):
            near[w, c] = 0


@jit_leaf
def _sharing(candidates, chosen, near, index):
    """Write candidates that share bits with `chosen` to `near` and `index`; return how many."""
    n_near = 0
    for c in range(len(candidates)):
        shared = np.uint64(0)
        for w in range(len(chosen)):
            near[w, n_near] = candidates[c, w]
            shared |= candidates[c, w] & chosen[w]
        index[n_near] = c
        n_near += shared != 0
    return n_near


@jit_leaf
def _rows_that_gain(words, covered, chosen, bonus, penalty, used):
    """Write the rows that gain from a component to `used`.

    Returns their number, and the ones and the zeros that they cover newly.
    """
    n_used = 0
    ones = 0
    zeros = 0
    for i in range(len(words)):
        count = np.int64(0)
        for w in range(len(chosen)):
            free = chosen[w] & ~covered[i, w]
            count += popcount(free) + (popcount(free & words[i, w]) << 32)
        gains = cover_gain(count, bonus, penalty) > 0
        used[n_used] = i
        n_used += gains
        ones += (count >> 32) * gains
        zeros += ((count & 0xFFFFFFFF) - (count >> 32)) * gains
    return n_used, ones, zeros


@jit
def greedy_basis(words, candidates, k, bonus, penalty):
    """Take k times the candidate of largest gain.

    Covering a one gains `bonus`, covering a zero costs `penalty`, covered bits do not count, and
    a row uses a candidate only if it gains. The gains of all candidates are kept as totals over
    rows: after a choice only the rows that use it are weighed again, and only for the candidates
    that share bits with it. Returns the cost, packed components and memberships.

    For speed, inner loops run over candidates, one word of each side by side and empty ones up
    to a multiple of eight, and count twice at once: free bits in the lower half of an integer,
    ones among them in the upper half. Both together are four times as fast.
    """
    (n, n_words) = words.shape
    n_candidates = len(candidates)
    width = (n_candidates + 7) // 8 * 8
    U = np.zeros((k, n_words), dtype=np.uint64)
    Z = np.zeros((n, k), dtype=np.bool_)
    covered = np.zeros_like(words)

    # candidates that share bits with a choice, at first all
    near = np.zeros((n_words, width), dtype=np.uint64)
    _transpose(candidates, near)

    # counts of the near candidates in a row, before and after a choice
    old = np.empty(width, dtype=np.int64)
    new = np.empty(width, dtype=np.int64)

    totals = np.zeros(width)
    missed = _total_gains(words, near, bonus, penalty, totals, old, new)
    totals = totals[:n_candidates]
    extra = 0
    index = np.empty(n_candidates, dtype=np.int64)
    used = np.empty(n, dtype=np.int64)
    change = np.empty(width)

    # 1. choose the candidate of largest gain
    for step in range(k if n_candidates > 0 else 0):
        best = totals.argmax()
        if totals[best] <= 0:
            break

        # 2. only candidates that share bits with it change
        chosen = candidates[best]
        n_near = _sharing(candidates, chosen, near, index)
        width = (n_near + 7) // 8 * 8
        _clear(change, near, n_near, width)

        # 3. rows that gain from it take it
        n_used, ones, zeros = _rows_that_gain(words, covered, chosen, bonus, penalty, used)
        for i in used[:n_used]:
            Z[i, step] = True
        missed -= ones
        extra += zeros
        if n_used == 0:  # the total was rounding error
            break

        # 4. gains of the near candidates, before and after, in these rows
        for i in used[:n_used]:
            for c in range(width):
                old[c] = new[c] = 0
            for w in range(n_words):
                free = ~covered[i, w]
                if free == 0:
                    continue

                covered[i, w] |= chosen[w]
                uncovered = ~covered[i, w]
                row = words[i, w]
                for c in range(width):
                    bits = near[w, c] & free
                    old[c] += popcount(bits) + (popcount(bits & row) << 32)
                    bits = near[w, c] & uncovered
                    new[c] += popcount(bits) + (popcount(bits & row) << 32)

            for c in range(width):
                change[c] += cover_gain(new[c], bonus, penalty) - cover_gain(
                    old[c], bonus, penalty
                )

        for c in range(n_near):
            totals[index[c]] += change[c]
        for w in range(n_words):
            U[step, w] = chosen[w]
    return bonus * missed + penalty * extra, U, Z


def greedy_searches(
    words: Array,
    counts: Array,
    thresholds: Iterable[float],
    k: int,
    bonus: float,
    penalty: float,
    progress: Progress | None = None,
) -> tuple[list[Answer], list[Answer]]:
    """Search greedily with the associations of each threshold; `counts` are co-occurrences.

    Returns the answer of each threshold, and the distinct ones in ascending order of cost:
    thresholds often give the same components, and then share an answer.
    """
    by_components: dict[bytes, Answer] = {}
    of_thresholds = []
    thresholds = list(thresholds)
    sets = associated_features(counts, thresholds)
    for tau, candidates in zip(thresholds, sets, strict=True):
        if progress is not None:
            progress.begin()
        cost, U, Z = greedy_basis(words, candidates, k, bonus, penalty)
        answer = by_components.setdefault(U.tobytes(), [cost, U, Z, 0, float(tau)])
        of_thresholds.append(answer)
        if progress is not None and progress.end():
            break
    return of_thresholds, sorted(by_components.values(), key=lambda answer: answer[0])


def race(words, columns, answers, bonus, penalty):
    """Refit answers in place, from the best of the greedy searches on; return the best of them.

    Each is a list of cost, components, memberships, number of rounds and threshold. One that comes
    to the components of the leader ends there, and so does one, before its first round or later,
    that is too far behind. The winner is refitted with all sets of components tried.
    """
    nothing = np.zeros_like(answers[0][1])
    leader = [np.inf, nothing]
    pace = np.inf

    for answer in answers:
        begun = answer[0]
        cost, U, Z = answer[:3]
        least, leader_U = leader[:2]
        answer[:4] = _refit(
            words, columns, cost, U, Z, least, leader_U, pace, NO_SETS, NO_SETS, bonus, penalty
        )
        if answer[0] < leader[0]:
            # the next ones may save four times as much, or a quarter: no loss seen in 240 problems
            leader = answer
            pace = max(begun - answer[0], begun / 16) / 2

    # the winner, with all sets of components and of features where they are few
    k = len(nothing)
    if all_sets_fit(k, words):
        sets = all_sets(k)
        column_sets = sets if all_sets_fit(k, columns) else NO_SETS
        cost, U, Z = leader[:3]
        *best, n_rounds = _refit(
            words,
            columns,
            cost,
            U,
            Z,
            np.inf,
            nothing,
            np.inf,
            sets,
            column_sets,
            bonus,
            penalty,
        )
        leader[:4] = *best, leader[3] + n_rounds
    return leader


def all_sets_fit(k, words):
    """Whether all sets of k components are tried, and a table of their unions fits."""
    return 2**k <= MAX_SETS and 2**k * words.shape[1] <= MAX_WORDS


def _refit(
    words, columns, cost, U, Z, least, leader_U, pace, sets, column_sets, bonus, penalty
):
    """Better memberships for the components, better components for the memberships, in turn.

    The second is the first for the transposed problem. Each is the best of all `sets`, or found
    by local search if there are none. The rounds stop when the cost no longer falls, when they
    come to `leader_U`, or when eight rounds like the last would not reach the cost `least`.
    Returns the cost, components, memberships, and the number of rounds that lowered the cost.
    """
    p = len(columns)
    n_rounds = 0

    while cost - least <= 8 * pace and not (U == leader_U).all():
        # memberships given the components, then components given the memberships
        new_Z = _cover(words, U, Z, sets, bonus, penalty)
        by_feature = np.ascontiguousarray(unpack_rows(U, p).T)
        sources = pack_rows(np.ascontiguousarray(new_Z.T))
        by_feature = _cover(columns, sources, by_feature, column_sets, bonus, penalty)
        new_U = pack_rows(np.ascontiguousarray(by_feature.T))

        missed, extra = count_differences(words, new_Z, new_U)
        pace = cost - (bonus * missed + penalty * extra)
        if not pace > 0:
            Z = new_Z  # no worse for U
            break

        U = new_U
        Z = new_Z
        cost = bonus * missed + penalty * extra
        n_rounds += 1
    return cost, U, Z, n_rounds


def _cover(rows, words, start, sets, bonus, penalty):
    """Best of the sets of components for each packed row; from `start` if there are no sets."""
    if len(sets) == 0:
        return best_cover(rows, words, bonus=bonus, penalty=penalty, start=start, exact=False)
    return sets[nearest_packed(rows, unions(sets, words), bonus, penalty)[0]]
