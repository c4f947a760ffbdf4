"""Updates of atoms for given codes: sweeps of K-SVD, optimal directions, running statistics.

Signals X (N, n) and atoms D (k, n) are rows; ``X ~ A D`` with sparse codes A, kept as the three
arrays of a CSR matrix whose values the sweeps change in place.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from skmoderndata._jit import jit
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


@jit
def add_statistics(X, at, indptr, indices, values, sign, S, T):
    """Add ``A^T A`` and ``A^T X``, times `sign`, for the codes in the rows `at` of A."""
    for i in range(X.shape[0]):
        first, last = indptr[at[i]], indptr[at[i] + 1]
        x = X[i]
        for q in range(first, last):
            v = sign * values[q]
            if v == 0.0:
                continue
            j = indices[q]
            for c in range(first, last):
                S[j, indices[c]] += v * values[c]
            for p in range(x.shape[0]):
                T[j, p] += v * x[p]


@jit
def constrained(d, positive, center):
    """Project the direction d onto the constraints of an atom, in place, and return its norm."""
    if center:
        d -= d.mean()
    if positive:
        d[:] = np.maximum(d, 0.0)
    return np.sqrt(d @ d)


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
    indptr: Array,
    indices: Array,
    values: Array,
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
    before = squared_residuals(X, known, D, indptr, indices, values)
    old = D.copy(), values.copy()
    largest = np.zeros(len(X))
    rows = np.repeat(np.arange(len(X)), np.diff(indptr))
    np.maximum.at(largest, rows, np.abs(values))
    values[np.abs(values) <= ROUNDING * largest[rows]] = 0.0
    A = sparse.csr_array((values, indices, indptr), shape=(len(X), k))
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
    values *= np.where(kept, norms, 0.0)[indices]
    after = squared_residuals(X, known, D, indptr, indices, values)
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
    indptr: Array,
    indices: Array,
    values: Array,
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
        E = np.empty((users.size, n))
        residual_without(X, D, indptr, indices, values, users, own, j, E)
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
        values[own] = E @ d


@jit
def residual_without(X, D, indptr, indices, values, users, own, j, E):
    """Rows of the signals that use atom j, less all their other atoms."""
    for u in range(users.shape[0]):
        without_atom(X, D, indptr, indices, values, users[u], own[u], E[u])


@jit
def without_atom(X, D, indptr, indices, values, i, own, e):
    """Put row i of X less all its atoms but that of the coefficient `own` into e."""
    n = X.shape[1]
    for p in range(n):
        e[p] = X[i, p]
    for q in range(indptr[i], indptr[i + 1]):
        if q != own:
            v = values[q]
            d = D[indices[q]]
            for p in range(n):
                e[p] -= v * d[p]


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


@jit
def masked_sweep(
    X, known, D, indptr, indices, values, start, rows, place, order, positive, center=False
):
    """Weighted approximations of rank one by alternating least squares on the known entries."""
    n = D.shape[1]
    above = np.empty(n)
    below = np.empty(n)
    e = np.empty(n)
    d = np.empty(n)
    for o in range(order.shape[0]):
        j = order[o]
        first, last = start[j], start[j + 1]
        if first == last:
            continue
        for _ in range(2):
            above[:] = 0.0
            below[:] = 0.0
            for u in range(first, last):
                i = rows[u]
                own = place[u]
                g = values[own]
                if g == 0.0:
                    continue
                without_atom(X, D, indptr, indices, values, i, own, e)
                for p in range(n):
                    if known[i, p]:
                        above[p] += g * e[p]
                        below[p] += g * g
            total, give = 0.0, 0.0
            for p in range(n):
                d[p] = above[p] / below[p] if below[p] > 0.0 else D[j, p]
                if positive:
                    d[p] = max(d[p], 0.0)
                total += d[p]
                if below[p] > 0.0:
                    give += 1.0 / below[p]
            norm = 0.0
            for p in range(n):
                if center and below[p] > 0.0:  # the best of zero sum: the weaker gives way more
                    d[p] -= total / (give * below[p])
                norm += d[p] * d[p]
            norm = np.sqrt(norm)
            if norm <= 1e-14:
                break
            D[j] = d / norm
            for u in range(first, last):
                i = rows[u]
                own = place[u]
                without_atom(X, D, indptr, indices, values, i, own, e)
                top, bottom = 0.0, 0.0
                for p in range(n):
                    if known[i, p]:
                        top += D[j, p] * e[p]
                        bottom += D[j, p] * D[j, p]
                value = top / bottom if bottom > 1e-6 else values[own] * norm
                values[own] = max(value, 0.0) if positive else value


def squared_residuals(
    X: Array, known: Array | None, D: Array, indptr: Array, indices: Array, values: Array
) -> Array:
    """Squared norms of the residuals of the rows, over the known entries."""
    A = sparse.csr_array((values, indices, indptr), shape=(len(X), len(D)))
    out, step = np.empty(len(X)), max(1, BLOCK // X.shape[1])
    for first in range(0, len(X), step):
        rows = slice(first, first + step)
        R = X[rows] - A[rows] @ D
        R = R if known is None else np.where(known[rows], R, 0.0)
        out[rows] = np.einsum("ij,ij->i", R, R)
    return out
