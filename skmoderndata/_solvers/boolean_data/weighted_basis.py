"""Discrete basis problem with weighted bits: the greedy search and the refit, on real matrices.

`gains` (n, p) holds the saving from covering each bit: ``bonus * weight`` for a one,
``-penalty * weight`` for a zero, 0 for an unobserved bit. The cost of a reconstruction is the sum
of the gains of all ones minus the sum of the gains of the covered bits.

Differs from the paper [Miettinen et al. 2008]: 1. bits have weights and may be unobserved, so they
are not packed as in `associations`. 2. Components and memberships are refitted in turn.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.boolean_data.boolean import (
    MAX_SETS,
    MAX_WORDS,
    all_sets,
    boolean_product,
    distinct_rows,
    pack_rows,
    unpack_rows,
)
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array

# Maximum number of flips of the local search per component.
MAX_FLIPS = 8
# Largest integer up to which single precision represents all integers exactly.
EXACT_BELOW = 2**24


class WeightedBasis(NamedTuple):
    """Components (k, p), memberships (n, k), their cost, and the rounds that lowered it."""

    components: Array
    memberships: Array
    cost: float
    n_rounds: int


def bit_gains(bits: Array, weights: Array, bonus: float, penalty: float) -> Array:
    """Return the saving from covering each bit.

    The result is in single precision if sums over rows and columns are exact, as for observed and
    missing bits of equal weights; products then take half the time.
    """
    gains = weights * np.where(bits, bonus, -penalty)
    largest = np.abs(gains).max(initial=0.0)
    exact = max(gains.shape) * largest < EXACT_BELOW
    if exact and (gains == np.rint(gains)).all():
        return gains.astype(np.float32)
    return gains


def weighted_associations(bits: Array, weights: Array) -> Array:
    """Return the weighted fraction of the rows with feature i that have j, for each i in use.

    A row counts with the product of the weights of the two bits, and not at all if j is not
    observed.
    """
    ones = weights * bits
    common = ones.T @ ones
    observed = ones.T @ weights
    used = np.diag(common) > 0
    fractions = common / np.where(observed > 0, observed, 1.0)
    np.fill_diagonal(fractions, 1.0)
    return fractions[used]


def distinct_sets(fractions: Array, tau: float) -> Array:
    """List the distinct sets of features associated with one feature, in feature order."""
    # allow for the rounding errors of fractions
    sets: Array = fractions >= tau - ACCUMULATED_ROUNDING
    if len(sets) == 0:
        return sets
    return unpack_rows(distinct_rows(pack_rows(sets))[0], sets.shape[1])


def weighted_greedy(gains: Array, candidates: Array, k: int) -> WeightedBasis:
    """Choose k times the candidate whose cover saves most [Miettinen et al. 2008, Asso].

    A row uses a candidate only if covering its remaining bits saves something.
    """
    n, p = gains.shape
    U = np.zeros((k, p), dtype=bool)
    Z = np.zeros((n, k), dtype=bool)
    free = gains.copy()  # gains of the uncovered bits
    sizes = np.abs(gains).sum(axis=1, dtype=np.float64)
    least_of_rows = ACCUMULATED_ROUNDING * sizes
    columns = candidates.T.astype(gains.dtype)
    saved = free @ columns  # saving of each candidate in each row

    for step in range(k):
        # 1. sum the saving of each candidate over the rows that use it
        totals = np.maximum(saved, 0.0).sum(axis=0, dtype=np.float64)
        if not len(totals) or totals.max() <= least_of_rows.sum():
            break

        # 2. choose the best candidate and assign it to the rows that gain from it
        best = int(totals.argmax())
        U[step] = candidates[best]
        Z[:, step] = saved[:, best] > least_of_rows

        # 3. set the gains of the bits that it covers to zero
        users = Z[:, step]
        covered = np.ix_(users, U[step])
        saved[users] -= free[covered] @ columns[U[step]]
        free[covered] = 0.0
    return WeightedBasis(U, Z, weighted_cost(gains, Z, U), 0)


def weighted_refit(gains: Array, start: WeightedBasis) -> WeightedBasis:
    """Improve the memberships and the components in turn.

    Improving the components is the same problem for the transposed matrix. Stops when the cost no
    longer decreases.
    """
    best = start
    least = ACCUMULATED_ROUNDING * float(np.abs(gains).sum(dtype=np.float64))
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
    """Choose for each row the components whose union saves most; returns shape (n, k).

    If there are at most 8192 sets of components, all are tried, and ties go to the smallest set.
    Otherwise single components are flipped, beginning at `start`, as long as a flip saves
    something.
    """
    k = len(components)
    n = len(gains)
    if 2**k > MAX_SETS:
        Z = np.zeros((n, k), dtype=bool) if start is None else start.copy()
        return _flip(gains, components, Z)

    sets = all_sets(k)
    patterns = boolean_product(sets, components).T.astype(gains.dtype)
    best = np.empty(n, dtype=np.int64)
    size = max(1, MAX_WORDS // len(sets))
    for first in range(0, n, size):
        saved = gains[first : first + size] @ patterns
        # on ties, choose the first set, which is the smallest; allow for rounding errors of
        # inexact sums
        if saved.dtype == np.float32:
            best[first : first + size] = saved.argmax(axis=1)
            continue
        top = saved.max(axis=1, keepdims=True)
        scale = np.abs(gains[first : first + size]).sum(axis=1, keepdims=True)
        best[first : first + size] = (saved >= top - ACCUMULATED_ROUNDING * scale).argmax(
            axis=1
        )
    return sets[best]


def _flip(gains: Array, components: Array, Z: Array) -> Array:
    """Flip in place the component that saves most, for each row, until no flip saves anything."""
    k = len(components)
    least = ACCUMULATED_ROUNDING * np.abs(gains).sum(axis=1)
    rows = np.arange(len(gains))  # rows that a flip might still improve
    for _ in range(MAX_FLIPS * k):
        saved = np.empty((len(rows), k))
        now = (gains[rows] * boolean_product(Z[rows], components)).sum(axis=1)
        for j in range(k):
            flipped_rows = Z[rows]
            flipped_rows[:, j] = ~flipped_rows[:, j]
            union = boolean_product(flipped_rows, components)
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
    """Return the weighted cost of the wrong bits in the product of Z and U."""
    covered = boolean_product(Z, U)
    lost = np.where(covered, -gains, gains)
    return float(np.maximum(lost, 0.0).sum(dtype=np.float64))
