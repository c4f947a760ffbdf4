"""Discrete basis problem with weights of bits: the greedy search and the refit, on real matrices.

`gains` (n, p) holds what a covered bit saves: ``bonus * weight`` for a one, ``-penalty * weight``
for a zero, 0 for a bit that is not observed. The cost of a reconstruction is the sum of the gains
of all ones minus that of the covered bits. Packed words, as in `associations`, have no place for
weights.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.boolean_data.boolean import (
    MAX_SETS,
    all_sets,
    boolean_product,
    distinct_rows,
    pack_rows,
    unpack_rows,
)
from skmoderndata._solvers.common.typing import Array

BLOCK_ENTRIES = 2**22  # gains of rows by sets of components, held at a time
MAX_FLIPS = 8  # passes of the local search for each component
EXACT_BELOW = 2**24  # integers of single precision
LEAST_GAIN = 1e-12  # relative to the sum of all gains: less is rounding


class WeightedBasis(NamedTuple):
    """Components (k, p), memberships (n, k), their cost, and the rounds that lowered it."""

    components: Array
    memberships: Array
    cost: float
    n_rounds: int


def bit_gains(bits: Array, weights: Array, bonus: float, penalty: float) -> Array:
    """Return what each bit saves when it is covered.

    In single precision where its sums over rows and columns are exact, as for observed and missing
    bits of equal weights: products take half of the time.
    """
    gains = weights * np.where(bits, bonus, -penalty)
    largest = np.abs(gains).max(initial=0.0)
    exact = max(gains.shape) * largest < EXACT_BELOW
    if exact and (gains == np.rint(gains)).all():
        return gains.astype(np.float32)
    return gains


def weighted_associations(bits: Array, weights: Array) -> Array:
    """Fractions of the rows with feature i that have j, by weights, for each feature i in use.

    Rows in which j is not observed do not count for it, and each row counts by the product of the
    weights of the two bits.
    """
    ones = weights * bits
    both = ones.T @ ones
    observed = ones.T @ weights
    used = np.diag(both) > 0
    fractions = both / np.where(observed > 0, observed, 1.0)
    np.fill_diagonal(fractions, 1.0)
    return fractions[used]


def distinct_sets(fractions: Array, tau: float) -> Array:
    """List the sets of features associated with one feature, once, in the order of these."""
    sets: Array = fractions >= tau - 1e-12  # fractions are not exact
    if len(sets) == 0:
        return sets
    return unpack_rows(distinct_rows(pack_rows(sets))[0], sets.shape[1])


def weighted_greedy(gains: Array, candidates: Array, k: int) -> WeightedBasis:
    """Take k times the candidate whose cover saves most [Miettinen et al. 2008, Asso].

    A row uses a candidate only if the bits of it that are not covered yet save something.
    """
    n, p = gains.shape
    U = np.zeros((k, p), dtype=bool)
    Z = np.zeros((n, k), dtype=bool)
    free = gains.copy()  # gains of the bits that are not covered
    sizes = np.abs(gains).sum(axis=1, dtype=np.float64)
    least_of_rows = LEAST_GAIN * sizes
    columns = candidates.T.astype(gains.dtype)
    saved = free @ columns  # by each candidate in each row

    for step in range(k):
        # 1. what each candidate saves in all rows that use it
        totals = np.maximum(saved, 0.0).sum(axis=0, dtype=np.float64)
        if not len(totals) or totals.max() <= least_of_rows.sum():
            break

        # 2. the best one, for the rows that gain
        best = int(totals.argmax())
        U[step] = candidates[best]
        Z[:, step] = saved[:, best] > least_of_rows

        # 3. the bits that it covers save nothing any more
        users = Z[:, step]
        covered = np.ix_(users, U[step])
        saved[users] -= free[covered] @ columns[U[step]]
        free[covered] = 0.0
    return WeightedBasis(U, Z, weighted_cost(gains, Z, U), 0)


def weighted_refit(gains: Array, start: WeightedBasis) -> WeightedBasis:
    """Improve memberships for the components, and components for the memberships, in turn.

    The second is the first for the transposed problem. Ends when the cost falls no more.
    """
    best = start
    least = LEAST_GAIN * float(np.abs(gains).sum(dtype=np.float64))
    while True:
        U = best.components
        Z = weighted_cover(gains, U, start=best.memberships)
        by_feature = weighted_cover(gains.T, Z.T, start=U.T)
        U_new = np.ascontiguousarray(by_feature.T)
        cost = weighted_cost(gains, Z, U_new)
        if not cost < best.cost - least:
            break
        best = WeightedBasis(U_new, Z, cost, best.n_rounds + 1)
    return best._replace(memberships=Z, cost=weighted_cost(gains, Z, best.components))


def weighted_cover(gains: Array, components: Array, *, start: Array | None = None) -> Array:
    """Choose for each row the components whose union saves most, (n, k).

    Over all sets of components where there are at most 8192 of them, the smallest among equals;
    beyond by flips of single components from `start`, as long as one saves something.
    """
    k = len(components)
    n = len(gains)
    if 2**k > MAX_SETS:
        Z = np.zeros((n, k), dtype=bool) if start is None else start.copy()
        return _flip(gains, components, Z)

    sets = all_sets(k)
    patterns = boolean_product(sets, components).T.astype(gains.dtype)
    best = np.empty(n, dtype=np.int64)
    size = max(1, BLOCK_ENTRIES // len(sets))
    for first in range(0, n, size):
        saved = gains[first : first + size] @ patterns
        # the first among equals, which is the smallest set; but for rounding, if there is any
        if saved.dtype == np.float32:
            best[first : first + size] = saved.argmax(axis=1)
            continue
        top = saved.max(axis=1, keepdims=True)
        scale = np.abs(gains[first : first + size]).sum(axis=1, keepdims=True)
        best[first : first + size] = (saved >= top - LEAST_GAIN * scale).argmax(axis=1)
    return sets[best]


def _flip(gains: Array, components: Array, Z: Array) -> Array:
    """Flip the component of each row that saves most, in place, until none saves anything."""
    k = len(components)
    least = LEAST_GAIN * np.abs(gains).sum(axis=1)
    rows = np.arange(len(gains))  # where something may still be saved
    for _ in range(MAX_FLIPS * k):
        saved = np.empty((len(rows), k))
        now = (gains[rows] * boolean_product(Z[rows], components)).sum(axis=1)
        for j in range(k):
            other = Z[rows]
            other[:, j] = ~other[:, j]
            union = boolean_product(other, components)
            saved[:, j] = (gains[rows] * union).sum(axis=1) - now

        best = saved.argmax(axis=1)
        better = saved[np.arange(len(rows)), best] > least[rows]
        rows = rows[better]
        if not len(rows):
            break
        flipped = best[better]
        Z[rows, flipped] = ~Z[rows, flipped]
    return Z


def weighted_cost(gains: Array, Z: Array, U: Array) -> float:
    """Weighted cost of the bits that the product of Z and U has wrong."""
    covered = boolean_product(Z, U)
    lost = np.where(covered, -gains, gains)
    return float(np.maximum(lost, 0.0).sum(dtype=np.float64))
