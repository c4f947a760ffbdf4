"""Updates of atoms for given codes: sweeps of K-SVD, optimal directions, running statistics.

Signals X (N, n) and atoms D (k, n) are rows; ``X ~ A D`` with sparse codes A, a CSR array whose
values the sweeps change in place.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.codes.signal_blocks import SparseCodes
from skmoderndata._solvers.common.nnls import nnls

Array = np.ndarray[Any, np.dtype[Any]]

UPDATES = ("approximate", "exact", "mod")
BLOCK = 2**21  # entries of residuals that are held at a time
ROUNDING = 1e-14  # fraction below which a coefficient, or an atom, is rounding


def users_of_atoms(codes: SparseCodes, k: int) -> tuple[Array, Array, Array]:
    """Where the users of each atom begin, their rows, and the places of their coefficients."""
    start = np.zeros(k + 1, np.int64)
    np.cumsum(np.bincount(codes.indices, minlength=k), out=start[1:])
    place = np.argsort(codes.indices, kind="stable")
    rows = np.repeat(np.arange(len(codes.indptr) - 1), np.diff(codes.indptr))[place]
    return start, rows, place


@jit_leaf
def constrained(d, positive, center):
    """Project the direction d onto the constraints of an atom, in place, and return its norm."""
    n, mean, total = len(d), 0.0, 0.0
    if center:
        for p in range(n):
            mean += d[p] / n
    for p in range(n):
        d[p] = max(d[p] - mean, 0.0) if positive else d[p] - mean
        total += d[p] * d[p]
    return np.sqrt(total)


@jit
def update_all(D, S, T, order, positive, center):
    """Move the atoms to their optima given the others, in `order`, at unit norm."""
    for o in range(order.shape[0]):
        j = order[o]
        size = S[j, j]
        if size <= 0.0:
            continue
        d = T[j] + size * D[j] - S[j] @ D
        norm = constrained(d, positive, center)
        if norm > 1e-10 * size:
            D[j] = d / norm


def least_squares_atoms(
    X: Array,
    known: Array | None,
    D: Array,
    A: sparse.csr_array,
    *,
    positive: bool = False,
    constant: bool = False,
    n_rounds: int = 3,
) -> None:
    """Best atoms for the given codes, in place: the method of optimal directions.

    ``D = (A^T A)^+ A^T X``, then atoms to unit norm and their coefficients scaled to match, which
    leaves ``A D`` as it is; by non-negative least squares with `positive`. Hidden entries are
    filled with ``A D`` in each of `n_rounds` rounds, none of which raises the sum over the known
    ones. Atoms that nobody uses, or that would become zero, stay; the latter's coefficients
    become zero, as do coefficients at the level of rounding. A step that raises the objective all
    the same, the statistics being singular, is taken back; so D has to satisfy the constraints.
    """
    k = len(D)
    before = squared_residuals(X, known, D, A)
    values = A.data
    old = D.copy(), values.copy()
    largest = np.zeros(len(X))
    rows = np.repeat(np.arange(len(X)), np.diff(A.indptr))
    np.maximum.at(largest, rows, np.abs(values))
    values[np.abs(values) <= ROUNDING * largest[rows]] = 0.0
    S = np.asarray((A.T @ A).todense())
    free = np.flatnonzero(np.diag(S) > 0)
    if constant:
        free = free[free > 0]
    if free.size == 0:
        return
    new = D.copy()
    own = np.zeros(k)
    for _ in range(1 if known is None else n_rounds):
        full = X if known is None else np.where(known, X, A @ new)
        right = np.asarray(A.T @ full, dtype=np.float64)[free]
        if constant:
            right = right - np.outer(S[free, 0], new[0])
        if positive:
            scale = np.sqrt(np.diag(S)[free])
            scaled = S[np.ix_(free, free)] / np.outer(scale, scale)
            solved = nnls(scaled, (right / scale[:, None]).T).Z.T / scale[:, None]
        else:
            if constant:
                right = right - right.mean(axis=1, keepdims=True)
            solved = _symmetric_solve(S[np.ix_(free, free)], right)
        new[free] = solved
        own[free] = np.linalg.norm(right, axis=1) / np.diag(S)[free]
    norms = np.ones(k)
    norms[free] = np.linalg.norm(new[free], axis=1)
    kept = norms > ROUNDING * np.maximum(1.0, own)
    D[kept] = new[kept] / norms[kept, None]
    values *= np.where(kept, norms, 0.0)[A.indices]
    after = squared_residuals(X, known, D, A)
    total = float(np.sum(np.square(X, dtype=np.float64)))
    if not after.sum() <= before.sum() * (1 + 1e-12) + ROUNDING**2 * total:
        D[:], values[:] = old


def _symmetric_solve(S: Array, T: Array) -> Array:
    """Solve ``S Z = T`` for positive semi-definite S; of least norm where S is singular."""
    scale = np.sqrt(np.diag(S))
    scaled = S / np.outer(scale, scale)
    try:
        factor = cho_factor(scaled)
        pivots = np.diag(factor[0])
        if pivots.min() > 1e-6:
            return np.asarray(cho_solve(factor, T / scale[:, None]) / scale[:, None])
    except np.linalg.LinAlgError:
        pass
    found = np.linalg.lstsq(scaled, T / scale[:, None], rcond=1e-10)[0]
    return np.asarray(found / scale[:, None])


def exact_sweep(
    X: Array,
    D: Array,
    A: sparse.csr_array,
    start: Array,
    rows: Array,
    place: Array,
    order: Array,
    center: bool = False,
) -> None:
    """Best approximation of rank one to what the other atoms leave, for each atom."""
    n = X.shape[1]
    for j in order:
        users = rows[start[j] : start[j + 1]]
        if users.size == 0:
            continue
        own = place[start[j] : start[j + 1]]
        E = residual_without(X, D, A, users, own, j)
        if center:
            E -= E.mean(axis=1, keepdims=True)
        if users.size > n:
            d = np.linalg.eigh(E.T @ E)[1][:, -1]
        else:
            d = np.linalg.svd(E, full_matrices=False)[2][0]
        if d @ D[j] < 0:
            d = -d
        if not np.any(E):
            continue
        D[j] = d
        A.data[own] = E @ d


def residual_without(
    X: Array, D: Array, A: sparse.csr_array, users: Array, own: Array, j: int
) -> Array:
    """Rows of the signals that use atom j, less all their other atoms."""
    return np.asarray(X[users] - A[users] @ D + np.outer(A.data[own], D[j]))


@jit
def power_sweep(
    X, D, indptr, indices, values, start, rows, place, order, n_power, positive, center=False
):
    """Power steps for each atom, without forming what the other atoms leave.

    With g the coefficients of the users and E the residual, ``g E = g X - (g A) D + |g|^2 d`` and
    ``E d = X d - A (D d) + g``: two products with the users' signals and some lookups.
    """
    k, n = D.shape
    weight = np.zeros(k)
    d = np.empty(n)
    for o in range(order.shape[0]):
        j = order[o]
        first, last = start[j], start[j + 1]
        if first == last:
            continue
        for _ in range(n_power):
            d[:] = 0.0
            weight[:] = 0.0
            size = 0.0
            for u in range(first, last):
                i = rows[u]
                g = values[place[u]]
                if g == 0.0:
                    continue
                size += g * g
                x = X[i]
                for p in range(n):
                    d[p] += g * x[p]
                for q in range(indptr[i], indptr[i + 1]):
                    weight[indices[q]] += g * values[q]
            if size == 0.0:
                break
            weight[j] -= size
            d -= weight @ D
            norm = constrained(d, positive, center)
            if norm <= 1e-14 * size:
                break
            # products with the atoms as they were: the code of this atom still counts the old one
            d /= norm
            products = D @ d
            for u in range(first, last):
                i = rows[u]
                own = place[u]
                total = 0.0
                x = X[i]
                for p in range(n):
                    total += x[p] * d[p]
                for q in range(indptr[i], indptr[i + 1]):
                    if q != own:
                        total -= values[q] * products[indices[q]]
                if positive:
                    total = max(total, 0.0)
                values[own] = total
            D[j] = d


def masked_sweep(
    X: Array,
    known: Array,
    D: Array,
    A: sparse.csr_array,
    start: Array,
    rows: Array,
    place: Array,
    order: Array,
    positive: bool,
    center: bool = False,
) -> None:
    """Weighted approximations of rank one by alternating least squares on the known entries."""
    for j in order:
        users, own = rows[start[j] : start[j + 1]], place[start[j] : start[j + 1]]
        if users.size == 0:
            continue
        K = known[users].astype(np.float64)
        E = K * residual_without(X, D, A, users, own, j)
        for _ in range(2):
            g = A.data[own]
            above, below = g @ E, (g * g) @ K
            seen = below > 0
            d = np.divide(above, below, out=D[j].copy(), where=seen)
            if positive:
                d = np.maximum(d, 0.0)
            if center and seen.any():  # the best of zero sum: the weaker gives way more
                give = np.divide(1.0, below, out=np.zeros(len(d)), where=seen)
                d -= d.sum() / give.sum() * give
            norm = np.linalg.norm(d)
            if norm <= 1e-14:
                break
            D[j] = d / norm
            bottom = K @ D[j] ** 2
            g = np.divide(E @ D[j], bottom, out=g * norm, where=bottom > 1e-6)
            A.data[own] = np.maximum(g, 0.0) if positive else g


def squared_residuals(X: Array, known: Array | None, D: Array, A: sparse.csr_array) -> Array:
    """Squared norms of the residuals of the rows, over the known entries."""
    out, step = np.empty(len(X)), max(1, BLOCK // X.shape[1])
    for first in range(0, len(X), step):
        rows = slice(first, first + step)
        R = X[rows] - A[rows] @ D
        R = R if known is None else np.where(known[rows], R, 0.0)
        out[rows] = np.einsum("ij,ij->i", R, R)
    return out
