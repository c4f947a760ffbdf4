"""Greedy Boolean factors from associations of features [Miettinen et al. 2008], with a refit.

Differs from the paper: 1. gains of all candidates are kept and updated, instead of being computed
again for each choice. 2. Components and memberships are refitted in turn. 3. Several thresholds
compete, and the refit drops answers that fall behind.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.boolean_data.boolean import (
    HALF_BITS,
    MAX_SETS,
    MAX_WORDS,
    all_sets,
    associated_features,
    best_cover,
    count_differences,
    cover_gain,
    lower_count,
    nearest_packed,
    pack_rows,
    popcount,
    unions,
    unpack_rows,
    upper_count,
)
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.typing import Array

# Cost, packed components, memberships, number of refit rounds, and threshold of a solution.
Answer = list[Any]
# Empty table of sets, which selects a local search.
NO_SETS = all_sets(1)[:0]


@jit_leaf
def _padded(n):
    """Round up to a multiple of eight, so that loops over candidates are vectorised."""
    return -(-n // 8) * 8


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
                counts[c] += popcount(candidates[w, c] & row) << HALF_BITS
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
    """Reset the changes, and the padding candidates beyond `n_near`."""
    for c in range(width):
        change[c] = 0.0
    for w in range(len(near)):
        for c in range(n_near, width):
            near[w, c] = 0


@jit_leaf
def _sharing(candidates, source, near, index):
    """Write the candidates that share bits with `source` to `near` and `index`; count them."""
    n_near = 0
    for c in range(len(candidates)):
        shared = np.uint64(0)
        for w in range(len(source)):
            near[w, n_near] = candidates[c, w]
            shared |= candidates[c, w] & source[w]
        index[n_near] = c
        n_near += shared != 0
    return n_near


@jit_leaf
def _rows_that_gain(words, covered, source, bonus, penalty, used):
    """Write the rows that gain from a component to `used`.

    Returns their number, and the numbers of ones and zeros that they newly cover.
    """
    n_used = 0
    ones = 0
    zeros = 0
    for i in range(len(words)):
        count = np.int64(0)
        for w in range(len(source)):
            free = source[w] & ~covered[i, w]
            count += popcount(free) + (popcount(free & words[i, w]) << HALF_BITS)
        gains = cover_gain(count, bonus, penalty) > 0
        used[n_used] = i
        n_used += gains
        ones += upper_count(count) * gains
        zeros += (lower_count(count) - upper_count(count)) * gains
    return n_used, ones, zeros


class WorkSpace(NamedTuple):
    """Work space of `greedy_basis`, in which w candidates stand side by side."""

    # (n_words, w), candidates that share bits with the last choice; initially all candidates
    near: Array
    old: Array  # (w,), counts of the candidates of `near` in one row before the choice
    new: Array  # (w,), counts of the candidates of `near` in one row after the choice
    totals: Array  # (w,), gains of all candidates
    change: Array  # (w,)
    positions: Array  # (n_candidates,)
    used: Array  # (n,), rows that use the choice
    covered: Array  # (n, n_words), bits that the choices so far cover


def greedy_basis(
    words: Array, candidates: Array, k: int, bonus: float, penalty: float
) -> tuple[float, Array, Array]:
    """Choose k times the candidate of largest gain.

    Covering a one gains `bonus`, covering a zero costs `penalty`, covered bits do not count, and
    a row uses a candidate only if it gains. The gains of all candidates are kept as totals over
    rows: after a choice they are updated only for the rows that use it, and only for candidates
    that share bits with it. Returns the cost, packed components and memberships.

    For speed, inner loops run over candidates, whose words lie side by side and are padded to a
    multiple of eight, and keep two counts in one integer: free bits in the lower half, the ones
    among them in the upper half. Both measures together are four times as fast.
    """
    (n, n_words) = words.shape
    width = -(-len(candidates) // 8) * 8
    near = np.zeros((n_words, width), dtype=np.uint64)
    old, new = np.empty((2, width), dtype=np.int64)
    totals, change = np.zeros((2, width))
    index = np.empty(len(candidates), dtype=np.int64)
    used = np.empty(n, dtype=np.int64)
    space = WorkSpace(near, old, new, totals, change, index, used, np.zeros_like(words))

    U = np.zeros((k, n_words), dtype=np.uint64)
    Z = np.zeros((n, k), dtype=np.bool_)
    cost = _greedy_basis(words, candidates, bonus, penalty, space, U, Z)
    return cost, U, Z


@jit_leaf
def _largest(totals, n):
    """Return the index of the largest of the first n numbers, the first of equal ones."""
    best = 0
    for c in range(1, n):
        if totals[c] > totals[best]:
            best = c
    return best


@jit_leaf
def _greedy_basis(words, candidates, bonus, penalty, space, U, Z):
    """Write the components and memberships of `greedy_basis`, and return the cost."""
    n_words = words.shape[1]
    n_candidates = len(candidates)
    near, old, new, totals, change, index, used, covered = space
    _transpose(candidates, near)
    missed = _total_gains(words, near, bonus, penalty, totals, old, new)
    extra = 0

    # 1. choose the candidate with the largest gain
    for step in range(len(U) if n_candidates > 0 else 0):
        best = _largest(totals, n_candidates)
        if totals[best] <= 0:
            break

        # 2. find the candidates that share bits with the choice, because only their gains change
        source = candidates[best]
        n_near = _sharing(candidates, source, near, index)
        width = _padded(n_near)
        _clear(change, near, n_near, width)

        # 3. assign the choice to the rows that gain from it
        n_used, ones, zeros = _rows_that_gain(words, covered, source, bonus, penalty, used)
        for u in range(n_used):
            Z[used[u], step] = True
        missed -= ones
        extra += zeros
        if n_used == 0:  # the total gain was a rounding error
            break

        # 4. update the gains of these candidates by the change in these rows
        for u in range(n_used):
            i = used[u]
            for c in range(width):
                old[c] = new[c] = 0
            for w in range(n_words):
                free = ~covered[i, w]
                if free == 0:
                    continue

                covered[i, w] |= source[w]
                uncovered = ~covered[i, w]
                row = words[i, w]
                for c in range(width):
                    bits = near[w, c] & free
                    old[c] += popcount(bits) + (popcount(bits & row) << HALF_BITS)
                    bits = near[w, c] & uncovered
                    new[c] += popcount(bits) + (popcount(bits & row) << HALF_BITS)

            for c in range(width):
                change[c] += cover_gain(new[c], bonus, penalty) - cover_gain(
                    old[c], bonus, penalty
                )

        for c in range(n_near):
            totals[index[c]] += change[c]
        for w in range(n_words):
            U[step, w] = source[w]
    return bonus * missed + penalty * extra


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

    Returns the answer of each threshold, and the distinct answers in ascending order of cost.
    Thresholds that give the same components share one answer.
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
    """Refit answers in place, beginning with the best greedy search; return the best answer.

    An answer is a list of cost, components, memberships, number of rounds and threshold. Its refit
    stops when it reaches the components of the leader or when it is too far behind, possibly
    before the first round. The winner is refitted once more, trying all sets of components.
    """
    no_components = np.zeros_like(answers[0][1])
    leader = [np.inf, no_components]
    pace = np.inf

    for answer in answers:
        begun = answer[0]
        cost, U, Z = answer[:3]
        least, leader_U = leader[:2]
        answer[:4] = _refit(
            words, columns, cost, U, Z, least, leader_U, pace, NO_SETS, NO_SETS, bonus, penalty
        )
        if answer[0] < leader[0]:
            # refit a later solution only if its cost exceeds the lowest cost by at most four times
            # what the refit of the leader saved, or by a quarter of the leader's first cost; this
            # lost nothing in 240 problems
            leader = answer
            pace = max(begun - answer[0], begun / 16) / 2

    # refit the winner over all sets of components and of features, if there are few of them
    k = len(no_components)
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
            no_components,
            np.inf,
            sets,
            column_sets,
            bonus,
            penalty,
        )
        leader[:4] = *best, leader[3] + n_rounds
    return leader


def all_sets_fit(k, words):
    """Return whether there are few enough sets of k components to try all of them."""
    return 2**k <= MAX_SETS and 2**k * words.shape[1] <= MAX_WORDS


def _refit(
    words, columns, cost, U, Z, least, leader_U, pace, sets, column_sets, bonus, penalty
):
    """Improve the memberships and the components in turn.

    Improving the components is the same problem for the transposed matrix. Each step chooses the
    best of all `sets`, or uses local search if `sets` is empty. The rounds stop when the cost no
    longer falls, when they reach `leader_U`, or when eight more rounds like the last would not
    reach the cost `least`. Returns the cost, components, memberships, and the number of rounds
    that lowered the cost.
    """
    p = len(columns)
    n_rounds = 0

    while cost - least <= 8 * pace and not (U == leader_U).all():
        # update the memberships given the components, then the components given the memberships
        new_Z = _cover(words, U, Z, sets, bonus, penalty)
        by_feature = np.ascontiguousarray(unpack_rows(U, p).T)
        sources = pack_rows(np.ascontiguousarray(new_Z.T))
        by_feature = _cover(columns, sources, by_feature, column_sets, bonus, penalty)
        new_U = pack_rows(np.ascontiguousarray(by_feature.T))

        missed, extra = count_differences(words, new_Z, new_U)
        pace = cost - (bonus * missed + penalty * extra)
        if not pace > 0:
            Z = new_Z  # accept the new memberships, which fit U at least as well as the old ones
            break

        U = new_U
        Z = new_Z
        cost = bonus * missed + penalty * extra
        n_rounds += 1
    return cost, U, Z, n_rounds


def _cover(rows, words, start, sets, bonus, penalty):
    """Choose the best of the sets of components for each packed row, or search from `start`."""
    if len(sets) == 0:
        return best_cover(rows, words, bonus=bonus, penalty=penalty, start=start, exact=False)
    return sets[nearest_packed(rows, unions(sets, words), bonus, penalty)[0]]
