"""Updates of atoms for given codes: sweeps of K-SVD, optimal directions, running statistics.

Signals X (N, n) and atoms D (k, n) are rows; ``X ~ A D`` with sparse codes A, a CSR array whose
values the sweeps change in place.

Differs from the papers (Aharon et al. 2006; Rubinstein et al. 2008): 1. Entries may be missing;
ridges then bound atoms and coefficients that few entries determine. 2. Atoms may be non-negative
or have zero mean. 3. A step of optimal directions that raises the objective is undone.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lstsq

from skmoderndata._solvers.codes.products import add_rows, inner
from skmoderndata._solvers.codes.signal_blocks import SparseCodes, to_csr
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES, aligned_empty
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.linalg import eigen_range
from skmoderndata._solvers.common.nnls import nnls
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RANK_TOL, ROUNDING
from skmoderndata._solvers.common.typing import Array

UPDATES = ("approximate", "exact", "mod")
# Number of rounds that alternate between updating the atoms of incomplete signals and filling the
# gaps of these signals.
FILL_ROUNDS = 3


class Ridges(NamedTuple):
    """Ridges for incomplete signals, see `ridges_from`.

    `atoms` is added to the sum of squared coefficients of the signals in which an entry of an atom
    is observed, and `codes` (k,) to the squared norm of the observed part of each atom. The
    squared predictions of hidden entries count with the weights `hidden` (n,).
    """

    atoms: float
    codes: Array
    hidden: Array


def ridges_from(
    observed: Array | None, D: Array, A: sparse.csr_array, objective: float
) -> Ridges:
    """Estimate the ridges from the residuals and the coefficients, without further parameters.

    If few entries are observed, least squares divides by nearly zero: an entry of an atom that is
    only observed with small coefficients, or a coefficient whose signal hides most of the atom,
    fits the noise and is huge elsewhere. The most probable values under Gaussian priors are
    bounded. Entries of unit atoms have the variance ``1 / n``, and coefficients of atom j the
    variance ``t_j``, so that with noise of variance ``s`` the ridges are ``n s`` and ``s / t_j``.
    Here s is the mean squared residual, and ``t_j`` the mean squared coefficient, in which a
    signal counts by the observed part of the atom. Atoms without users get the mean of all atoms.

    Two atoms that are alike on the observed entries of a signal may have large coefficients of
    opposite signs, which cancel there and nowhere else. A priori, a hidden entry of feature c has
    the mean square ``v_c`` of the observed ones, so its prediction has the ridge ``s / v_c``.
    """
    # estimate the noise from the squared residuals; each coefficient takes one degree of freedom
    k, n = D.shape
    n_shown = A.shape[0] * n if observed is None else int(observed.sum())
    noise = objective / max(n_shown - np.count_nonzero(A.data), 1)

    # compute the squared norm of the observed part of the atom for each coefficient
    shown = np.ones(len(A.data))
    if observed is not None:
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        for which in row_blocks(len(shown), 8.0 * n, limit=TEMPORARY_BYTES):
            shown[which] = np.einsum(
                "ij,ij->i", observed[rows[which]], D[A.indices[which]] ** 2
            )

    # compute mean squared coefficients; unused atoms get the mean of all atoms
    shown = np.where(A.data != 0, shown, 0.0)
    sums = np.bincount(A.indices, weights=shown * A.data**2, minlength=k)
    weights = np.bincount(A.indices, weights=shown, minlength=k)
    mean = np.divide(sums.sum(), weights.sum(), out=np.zeros(()), where=weights.sum() > 0)
    variances = np.divide(sums, weights, out=np.full(k, mean), where=weights > 0)
    codes = np.divide(noise, variances, out=np.zeros(k), where=variances > 0)

    # compute the mean square of each feature: approximation plus noise
    hidden = noise / (_mean_squares(observed, D, A) + noise) if noise > 0 else np.zeros(n)
    return Ridges(float(n * noise), codes, hidden)


def _mean_squares(observed: Array | None, D: Array, A: sparse.csr_array) -> Array:
    """Return the mean squares of ``A D`` for each feature, over observed entries."""
    if observed is None:
        second = np.asarray((A.T @ A).todense())
        return (
            np.maximum(np.einsum("jc,jl,lc->c", D, second, D, optimize=True), 0.0) / A.shape[0]
        )
    sums = np.zeros(D.shape[1])
    for rows in row_blocks(A.shape[0], 8.0 * D.shape[1], limit=TEMPORARY_BYTES):
        sums += np.square(np.where(observed[rows], A[rows] @ D, 0.0)).sum(axis=0)
    return sums / np.maximum(observed.sum(axis=0), 1)


def users_of_atoms(codes: SparseCodes, k: int) -> tuple[Array, Array, Array]:
    """Return where the users of each atom begin, their rows, and indices of coefficients."""
    entries = codes._replace(values=np.arange(len(codes.indices)))
    by_atom = to_csr(entries, k, np.int64).tocsc()
    return by_atom.indptr, by_atom.indices, by_atom.data


def update_all(
    D: Array, S: Array, T: Array, order: Array, positive: bool, center: bool
) -> None:
    """Move each atom to its optimum given the others, in `order`, at unit norm, in place."""
    k, n = D.shape
    _update_all(D, S, T, order, positive, center, np.arange(k), np.empty(n))


@jit_leaf
def _update_all(D, S, T, order, positive, center, every, optimum):
    """Do the work of `update_all`; the last two arguments are all atoms, and work space."""
    k, n = D.shape
    for turn in range(len(order)):
        j = order[turn]
        if S[j, j] <= 0.0:
            continue
        for c in range(n):
            optimum[c] = T[j, c] + S[j, j] * D[j, c]
        add_rows(optimum, -1.0, S[j], D, every, k)
        norm = _constrain(optimum, positive, center)
        if norm > RANK_TOL * S[j, j]:
            for c in range(n):
                D[j, c] = optimum[c] / norm


@jit_leaf
def _constrain(d, positive, center):
    """Project a direction onto the constraints of an atom, in place; return its norm."""
    n = len(d)
    mean = 0.0
    for c in range(n):
        mean += d[c] / n
    for c in range(n):
        if center:
            d[c] -= mean
        if positive:
            d[c] = max(d[c], 0.0)
    return np.sqrt(inner(d, d, n))


def _allowed(d: Array, positive: bool, center: bool) -> Array:
    """Project a direction onto the constraints of an atom."""
    d = d - d.mean(axis=-1, keepdims=True) if center else d
    return np.maximum(d, 0.0) if positive else d


def least_squares_atoms(
    X: Array,
    observed: Array | None,
    D: Array,
    A: sparse.csr_array,
    *,
    ridge: float = 0.0,
    positive: bool = False,
    constant: bool = False,
) -> None:
    """Compute the best atoms for the given codes, in place: the method of optimal directions.

    ``D = (A^T A)^+ A^T X``, by non-negative least squares with `positive`; then the atoms are
    scaled to unit norm and their coefficients to match, so that ``A D`` is unchanged. Hidden
    entries are filled with ``A D`` in several rounds, none of which raises the sum over observed
    ones plus `ridge` times the squared norms of the atoms. Unused atoms stay, and so do atoms that
    would become zero, but with zero coefficients; rounding errors in the codes become zero. If
    the statistics are singular and a step raises the objective nevertheless, it is undone; D must
    therefore satisfy the constraints.
    """
    # drop coefficients that are rounding errors, because they would determine the direction of an
    # atom
    k = len(D)
    before = squared_residuals(X, observed, D, A)
    values = A.data
    old = D.copy(), values.copy()
    largest = np.zeros(len(X))
    rows = np.repeat(np.arange(len(X)), np.diff(A.indptr))
    np.maximum.at(largest, rows, np.abs(values))
    values[np.abs(values) <= ROUNDING * largest[rows]] = 0.0

    # form the normal equations of the atoms in use, scaled to a unit diagonal
    S = np.asarray((A.T @ A).todense())
    diagonal = np.diag(S)
    free = np.flatnonzero(diagonal > 0)
    if constant:
        free = free[free > 0]
    if free.size == 0:
        return
    scale = np.sqrt(diagonal[free])[:, None]
    scaled = S[np.ix_(free, free)] / (scale * scale.T)
    scaled[np.diag_indices(len(free))] += ridge / diagonal[free]

    new = D.copy()
    lengths = np.zeros(k)
    if observed is not None and ridge > 0:
        # Filling never changes entries that no user of the atom observes, so start from their
        # ridge estimates.
        weights = np.asarray(A.multiply(A).T @ observed.astype(np.float64))[free]
        new[free] *= weights / (weights + ridge)
    for _ in range(1 if observed is None else FILL_ROUNDS):
        # fill gaps with the last approximation [expectation maximisation]
        full = X if observed is None else np.where(observed, X, A @ new)
        right = np.asarray(A.T @ full, dtype=np.float64)[free]
        if constant:
            right = right - np.outer(S[free, 0], new[0])
        if positive:
            solved = nnls(scaled, (right / scale).T).Z.T
        else:
            if constant:
                right = right - right.mean(axis=1, keepdims=True)
            solved, *_ = lstsq(scaled, right / scale, cond=RANK_TOL, lapack_driver="gelsy")
        new[free] = solved / scale
        lengths[free] = np.linalg.norm(right, axis=1) / diagonal[free]

    # Normalise the atoms, moving their norms into the coefficients; skip atoms that are pure
    # rounding errors.
    norms = np.ones(k)
    norms[free] = np.linalg.norm(new[free], axis=1)
    allowed = before.sum() + ridge * (len(free) - np.sum(norms[free] ** 2))
    sound = norms > ROUNDING * np.maximum(1.0, lengths)
    D[sound] = new[sound] / norms[sound, None]
    factors = np.where(sound, norms, 0.0)
    values *= factors[A.indices]

    # undo the step if it made the fit worse
    after = squared_residuals(X, observed, D, A)
    total = float(np.sum(np.square(X, dtype=np.float64)))
    rounding = ROUNDING**2 * total
    if not after.sum() <= allowed * (1 + ACCUMULATED_ROUNDING) + rounding:
        D[:], values[:] = old


def sweep(
    X: Array,
    observed: Array | None,
    D: Array,
    A: sparse.csr_array,
    users: tuple[Array, Array, Array],
    order: Array,
    *,
    ridges: Ridges | None = None,
    exact: bool = False,
    positive: bool = False,
    center: bool = False,
) -> None:
    """Sweep once over all atoms as in K-SVD, in place.

    Each atom d and its coefficients g approximate the part E of their signals that the other atoms
    do not explain: ``E = R + g d'`` for the users of the atom, where R is the residual. With
    `exact`, they become the best matrix of rank one [Aharon et al. 2006], unless the atoms are
    `positive`; otherwise a step of the power method, ``d = E'g / |E'g|`` and ``g = E d``
    [Rubinstein et al. 2008]. With a mask, there are two rounds of alternating least squares on the
    observed entries, with `ridges`. With `center`, atoms have mean 0.
    """
    start, rows, entries = users
    R = X - A @ D
    if observed is not None:
        R[~observed] = 0.0
        ridges = ridges or Ridges(0.0, np.zeros(len(D)), np.zeros(D.shape[1]))
    elif positive or not exact:
        space = aligned_empty(1, D.shape[1])[0]
        power_steps(R, D, A.data, users, order, positive, center, space)
        return
    d: Array | None

    for j in order:
        which = slice(start[j], start[j + 1])
        i = rows[which]
        entries_of_j = entries[which]
        if i.size == 0:
            continue

        # with a mask, only the observed entries of a signal enter the fit
        g = A.data[entries_of_j]
        residual = R[i]
        if observed is not None and ridges is not None:
            K = observed[i].astype(np.float64)
            E = residual + K * np.outer(g, D[j])
            ridge = ridges.atoms, ridges.codes[j]
            d, new_g = _masked_step(E, K, D[j], g, ridge, positive, center)
            R[i] = E - K * np.outer(new_g, d)

        # 1. find the leading direction of E, the residual without the atom
        else:
            old = D[j]
            E = _allowed(residual + np.outer(g, old), False, center)
            d = leading_direction(E, np.ones(len(E)))
            if d is None:
                continue
            d = d if d @ old >= 0 else -d

            # 2. compute coefficients of the new atom; update the residual by a matrix of rank two
            new_g = residual @ d + (old @ d) * g
            coefficients = np.array([g, -new_g])
            R[i] = residual + coefficients.T @ np.array([old, d])
        D[j] = d
        A.data[entries_of_j] = new_g


@jit_leaf
def power_steps(R, D, values, users, order, positive, center, d):
    """Sweep by steps of the power method without a mask, see `sweep`, in place.

    R is the residual of all signals, `values` are their coefficients, and d is work space. It is
    compiled so that
    rows of the residual are read and written in place, instead of copied six times.
    """
    start, rows, entries = users
    n = D.shape[1]
    for turn in range(len(order)):
        j = order[turn]
        # 1. compute the new direction E'g = R'g + |g|^2 d
        old = D[j]
        for c in range(n):
            d[c] = 0.0
        size_sq = 0.0
        for u in range(start[j], start[j + 1]):
            g = values[entries[u]]
            size_sq += g * g
            residual = R[rows[u]]
            for c in range(n):
                d[c] += g * residual[c]
        for c in range(n):
            d[c] += size_sq * old[c]

        # 2. apply the constraints and normalise
        norm = _constrain(d, positive, center)
        if not norm > ROUNDING * size_sq:
            continue
        for c in range(n):
            d[c] /= norm

        # 3. compute the coefficients g = E d, and their residual
        cosine = inner(old, d, n)
        for u in range(start[j], start[j + 1]):
            g = values[entries[u]]
            residual = R[rows[u]]
            new_g = inner(residual, d, n) + cosine * g
            if positive:
                new_g = max(new_g, 0.0)
            for c in range(n):
                residual[c] += g * old[c] - new_g * d[c]
            values[entries[u]] = new_g
        for c in range(n):
            old[c] = d[c]


def _masked_step(
    E: Array,
    K: Array,
    d: Array,
    g: Array,
    ridge: tuple[float, float],
    positive: bool,
    center: bool,
) -> tuple[Array, Array]:
    """Run two rounds of alternating least squares on the entries marked by K; E is 0 elsewhere.

    The ridges apply to the entries of the atom and to the coefficients of incomplete signals.
    """
    on_atom, on_code = ridge
    incomplete = ~K.all(axis=1)
    for _ in range(2):
        # compute the best atom for the coefficients; without a ridge, entries that are missing in
        # all signals with this atom do not change
        below = (g * g) @ K + on_atom
        seen = below > 0
        new = np.divide(g @ E, below, out=d.copy(), where=seen)
        new = _allowed(new, positive, False)

        # Make the sum zero. At the optimum, entries that are observed in fewer signals change
        # more. An entry that is observed in hardly any signal would then absorb the whole
        # correction and would be wrong for all other signals; if there is a ridge, all entries
        # therefore change equally.
        if center and seen.any():
            give = np.divide(1.0, below, out=np.zeros(len(d)), where=seen)
            give = np.ones(len(d)) if on_atom > 0 else give
            new -= new.sum() / give.sum() * give

        # compute the best coefficients for the atom
        norm = np.linalg.norm(new)
        if norm <= ROUNDING:
            break
        d = new / norm
        bottom = K @ d**2
        g = np.divide(E @ d, bottom + on_code * incomplete, out=g * norm, where=bottom > 1e-6)
        g = np.maximum(g, 0.0) if positive else g
    return d, g


def residual_without(
    X: Array, D: Array, A: sparse.csr_array, users: Array, entries: Array, j: int
) -> Array:
    """Return the signals that use atom j minus the contributions of all other atoms."""
    residual = X[users] - A[users] @ D
    return np.asarray(residual + np.outer(A.data[entries], D[j]))


def leading_direction(E: Array, weights: Array) -> Array | None:
    """Maximise ``sum_x w_x (d e_x)^2`` over unit vectors d; return None if it stays <= 0."""
    m, n = E.shape
    basis = None
    # with fewer rows than columns, the direction lies in the span of the rows, so work in a basis
    # of it
    if m < n:
        basis, R = np.linalg.qr(E.T)
        E = R.T

    # find the leading eigenvector of the weighted scatter matrix
    M = (E * weights[:, None]).T @ E
    values, vectors = eigen_range(M, len(M) - 1, len(M))

    # reject an eigenvalue that is not positive beyond rounding errors
    largest = np.abs(np.diag(M)).max()
    if not values[0] > ROUNDING * largest:
        return None
    leading = vectors[:, 0]
    return leading if basis is None else basis @ leading


def squared_residuals(
    X: Array, observed: Array | None, D: Array, A: sparse.csr_array
) -> Array:
    """Return the squared norms of the residuals of the rows, over the observed entries."""
    out = np.empty(len(X))
    for rows in row_blocks(len(X), 8.0 * X.shape[1], limit=TEMPORARY_BYTES):
        R = X[rows] - A[rows] @ D
        R = R if observed is None else np.where(observed[rows], R, 0.0)
        out[rows] = np.einsum("ij,ij->i", R, R)
    return out
