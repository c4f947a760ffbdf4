"""Guarantees for sparse recovery from the inner products of atoms.

Atoms are rows of unit norm, real or complex, unless a function states otherwise.
"""

from itertools import combinations, islice
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array

# Margin by which strict inequalities must hold, to allow for rounding errors.
MARGIN = ACCUMULATED_ROUNDING


def babel(atoms: "Array | sparse.csr_array", size: int) -> Array:
    """Return the largest sum of at most s inner products with one atom, for s = 1, ..., `size`.

    The Gram matrix is never formed in full.
    """
    k = atoms.shape[0]
    count = min(size, k - 1)
    best = np.zeros(max(size, 0))
    if count < 1:
        return best

    # compare blocks of atoms with all atoms
    for block in row_blocks(k, 8.0 * k, limit=TEMPORARY_BYTES):
        products: Any = atoms[block] @ atoms.conj().T
        products = products if isinstance(products, np.ndarray) else products.toarray()
        rows = np.abs(products)
        index = np.arange(len(rows))
        rows[index, block.start + index] = -1.0

        # keep only the largest products, in descending order
        if count == 1:
            best[0] = max(best[0], rows.max())
            continue
        if count < k - 1:
            smaller = k - count
            rows = np.partition(rows, smaller, axis=1)[:, smaller:]
        largest = np.sort(rows, axis=1)[:, ::-1][:, :count]
        sums = np.cumsum(largest, axis=1)
        best[:count] = np.maximum(best[:count], sums.max(axis=0))
    best[count:] = best[count - 1]  # there are no more atoms
    return best


def recovery_bound(atoms: "Array | sparse.csr_array") -> int:
    """Return the largest s with ``babel(s - 1) + babel(s) < 1``, up to the number of atoms."""
    k, n = atoms.shape
    sums = np.concatenate([[0.0], babel(atoms, min(n, k))])
    holds = sums[:-1] + sums[1:] < 1 - MARGIN
    if k <= n and holds[: k - 1].all():
        return int(k)  # if the condition holds for k - 1 atoms, any k atoms are independent
    return len(holds) if holds.all() else int(np.argmin(holds))


def recovery_coefficient(atoms: Array, support: Array) -> float:
    """Return ``1 - max_{j not in I} |D_I^+ d_j|_1``; minus infinity if d_I are dependent."""
    # require that the support is linearly independent
    inside = np.zeros(len(atoms), np.bool_)
    inside[support] = True
    chosen = atoms[inside].T
    outside = atoms[~inside].T
    if chosen.shape[1] > chosen.shape[0]:
        return -np.inf
    Q, R = linalg.qr(chosen, mode="economic", check_finite=False)
    singular = linalg.svdvals(R, check_finite=False) if len(R) else np.ones(1)
    if not singular[-1] > MARGIN * singular[0]:
        return -np.inf

    # apply the pseudo-inverse, computed from the triangular factor, to blocks of the other atoms
    if outside.shape[1] == 0 or len(R) == 0:
        return 1.0
    largest = 0.0
    for block in row_blocks(outside.shape[1], 8.0 * len(R), limit=TEMPORARY_BYTES):
        inner = Q.conj().T @ outside[:, block]
        weights = linalg.solve_triangular(R, inner, check_finite=False)
        sums = np.abs(weights).sum(axis=0)
        largest = max(largest, float(sums.max()))
    return 1.0 - largest


class IsometryBounds(NamedTuple):
    """Bounds on a restricted isometry constant; equal if it was computed exactly."""

    lower: float
    upper: float
    exact: bool


def isometry_bounds(
    atoms: Array, size: int, *, max_supports: int, rescale: bool, rng: np.random.RandomState
) -> IsometryBounds:
    """Bound ``max |eigenvalue(D_I D_I^*) - 1|`` over supports I of `size` atoms, of any norm.

    If there are at most `max_supports` supports, all are examined. Otherwise, the babel function
    (or the largest eigenvalue, if it is closer) gives the upper bound, and random and greedily
    grown supports the lower bound. With `rescale`, the dictionary is multiplied by the number that
    minimises the constant, which is then ``(largest - smallest) / (largest + smallest)``.
    """
    # if there are few supports, examine all of them
    gram = atoms @ atoms.conj().T
    k = len(gram)
    if comb(k, size) <= max_supports:
        low = np.inf
        high = 0.0
        every = combinations(range(k), size)
        n_at_once = max(1, TEMPORARY_BYTES // (8 * size**2))
        while supports := list(islice(every, n_at_once)):
            low, high = _extremes(gram, np.array(supports), low, high)
        value = _constant(low, high, rescale)
        return IsometryBounds(value, value, True)

    # if there are many supports, compute a lower bound from random and greedy supports
    drawn = [rng.choice(k, size, replace=False) for _ in range(2000)]
    low, high = _extremes(gram, np.array(drawn), np.inf, 0.0)
    for start in rng.choice(k, min(k, 20), replace=False):
        for largest in (False, True):
            support = [int(start)]
            while len(support) < size:
                outside = np.setdiff1d(np.arange(k), support)
                trials = np.array([[*support, j] for j in outside])
                values = _eigenvalues(gram, trials)
                index = np.argmax(values[:, -1]) if largest else np.argmin(values[:, 0])
                support.append(int(outside[index]))
            low, high = _extremes(gram, np.array([support]), low, high)
    lower = _constant(low, high, rescale)

    # Gershgorin: the largest inner products bound the distance between the eigenvalues and the
    # squared norms
    norms = np.diag(gram).real
    products = np.abs(gram - np.diag(norms))
    descending = np.sort(products, axis=1)[:, ::-1]
    radius = descending[:, : size - 1].sum(axis=1)
    least = max(float((norms - radius).min()), 0.0)
    spectral = float(np.linalg.eigvalsh(gram)[-1])
    largest_value = min(float((norms + radius).max()), spectral)
    upper = max(lower, _constant(least, largest_value, rescale))
    return IsometryBounds(lower, upper, False)


def _eigenvalues(gram: Array, supports: Array) -> Array:
    """Return the eigenvalues of the Gram matrix of each support, in ascending order."""
    return np.linalg.eigvalsh(gram[supports[:, :, None], supports[:, None, :]])


def _extremes(gram: Array, supports: Array, low: float, high: float) -> tuple[float, float]:
    values = _eigenvalues(gram, supports)
    smallest = float(values[:, 0].min())
    largest = float(values[:, -1].max())
    return min(low, smallest), max(high, largest)


def _constant(low: float, high: float, rescale: bool) -> float:
    low = max(low, 0.0)
    if rescale:
        return (high - low) / (high + low) if high > 0 else 1.0
    return max(high - 1, 1 - low)
