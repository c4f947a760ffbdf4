"""Dictionaries learned with an l1 penalty: atoms by the Lagrange dual, codes by the lasso.

Signals X (N, n) and atoms D (k, n) are rows; X may be a CSR array, and stays sparse. With weights
w of the signals, the objective is
``sum_i w_i (1/2 |x_i - a_i D|^2 + alpha |a_i|_1)  subject to  |d_j| <= 1``.

Differs from the paper (Lee et al. 2006): 1. Newton steps are projected and a gap decides when to
stop. 2. Atoms are scaled to norm 1 and their codes to match; unused atoms are replaced. 3. Codes
may be computed for extrapolated atoms. 4. Atoms may be non-negative.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from skmoderndata._solvers.codes.signal_blocks import SparseCodes
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    MAX_NEWTON_STEPS,
    RESULT_DIGITS,
    ROUNDING,
    SMALLEST_DIVISOR,
    SUFFICIENT_DECREASE,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.coded_signals import CodedSignals, WorstSignals

# Largest momentum used for the atoms.
FURTHEST = 0.9
# Tolerance for the duality gap of the atoms, relative to the objective.
DUAL_TOL = 1e-10
# Minimum and maximum number of candidates for idle atoms that are examined together; each
# examination takes a pass over all blocks.
FEWEST_CANDIDATES = 64
MOST_CANDIDATES = 4096


class DualPoint(NamedTuple):
    """The dual function at given multipliers, its derivatives, and the corresponding atoms.

    `value` excludes the constant ``1/2 |X|^2``.
    """

    atoms: Array
    value: float
    gradient: Array
    inverse: Array

    @property
    def hessian(self) -> Array:
        """Second derivatives, negative semi-definite."""
        return -self.inverse * (self.atoms @ self.atoms.T)


class DictionaryUpdate(NamedTuple):
    """Atoms in the unit ball, their multipliers, and the certified distance from the optimum.

    `gap` is the primal minus the dual objective, in the units of the objective.
    """

    atoms: Array
    multipliers: Array
    gap: float
    n_iter: int
    converged: bool


class LearnedDictionary(NamedTuple):
    """A dictionary, codes, and the course of learning.

    `objective` holds the objective of each pass; the codes hold the relative duality gap of each
    signal, and `atom_gap` is the relative gap of the last update of the atoms.
    """

    atoms: Array
    signals: CodedSignals
    multipliers: Array
    objective: Array
    replaced: Array
    atom_gap: float
    n_iter: int
    converged: bool

    @property
    def codes(self) -> SparseCodes:
        """Codes of signals in memory."""
        return self.signals.codes


def dual_point(S: Array, T: Array, multipliers: Array) -> DualPoint:
    """Evaluate the dual of ``min over |d_j| <= 1 of  1/2 tr(D' S D) - tr(T' D)``.

    See [Lee et al. 2007, section 4]. With ``S = A' A`` and ``T = A' X``, the primal objective is
    ``1/2 |X - A D|^2`` up to a constant. The Lagrangian is minimal over D at
    ``D = (S + diag(multipliers))^-1 T``; the gradient is half the excess of each squared norm
    over 1.
    """
    factor = cho_factor(S + np.diag(multipliers), lower=True)
    inverse = cho_solve(factor, np.eye(len(S)))
    D = cho_solve(factor, T)
    value = -0.5 * float(np.vdot(T, D)) - 0.5 * float(multipliers.sum())
    norms_sq = np.einsum("ij,ij->i", D, D)
    return DualPoint(D, value, 0.5 * (norms_sq - 1.0), inverse)


def primal_value(S: Array, T: Array, D: Array) -> float:
    """Return ``1/2 tr(D' S D) - tr(T' D)``."""
    quadratic = float(np.vdot(S @ D, D))
    return 0.5 * quadratic - float(np.vdot(T, D))


def update_atoms(S: Array, T: Array, start: Array, *, size: float) -> DictionaryUpdate:
    """Minimise ``1/2 tr(D' S D) - tr(T' D)`` over atoms in the unit ball, by its dual.

    Takes Newton steps on the k multipliers, projected on their bound, with Armijo's rule
    (Bertsekas 1982). The multipliers start from the optimality condition at the atoms `start`. The
    loop ends when the gap is at most ``DUAL_TOL * size``; `start` is returned if no better point
    is found. An atom that no code uses (``S[j, j] == 0``) stays unchanged.
    """
    D = np.array(start, dtype=np.float64)
    used = np.flatnonzero(np.diag(S) > 0)
    multipliers = np.zeros(len(S))
    if used.size == 0:
        return DictionaryUpdate(D, multipliers, 0.0, 0, True)

    # Use the largest entry as the unit, so that products of S and T, which are products of the
    # data themselves, do not overflow.
    largest = float(np.diag(S).max())
    S = S[np.ix_(used, used)] / largest
    T = T[used] / largest
    old = D[used]
    size = size / largest

    # Keep the multipliers above a positive floor: the lower bounds remain valid, and the floor
    # uses up at most a quarter of the tolerance.
    allowed = 0.5 * DUAL_TOL * size / len(S)
    floor = max(allowed, ROUNDING)  # S may be singular

    lam, point = _first_point(S, T, old, floor)
    best = old
    best_value = primal_value(S, T, old)
    best_lam = lam
    gap = np.inf
    highest = -np.inf
    it = Iterations(MAX_NEWTON_STEPS, DUAL_TOL)

    for _ in it:
        # 1. compute feasible atoms and the gap to the dual value
        feasible, distance = _feasible_atoms(S, lam, point)
        if distance < gap:
            gap = distance
            best_lam = lam
        if point.value + distance < best_value:
            best = feasible
            best_value = point.value + distance
        it.residual = relative_gap(gap, 0.0, unit=size)
        if it.residual <= DUAL_TOL:
            continue
        if distance > gap and point.value <= highest:
            it.ended = True  # the remaining gap is due to the floor or to rounding errors
            continue
        highest = max(highest, point.value)

        # 2. take a projected Newton step on the multipliers, with Armijo's rule
        direction = _newton_step(point, lam, floor)
        step = 1.0
        while step > ROUNDING:
            trial = np.maximum(lam + step * direction, floor)
            candidate = _factored(S, T, trial)
            expected = float(point.gradient @ (trial - lam))
            # Near the optimum, the gains of steps are smaller than rounding errors although the
            # gap still falls: the gap is linear in the distance from the optimum, the gain is
            # quadratic.
            sufficient = (
                point.value + SUFFICIENT_DECREASE * expected - ROUNDING * abs(point.value)
            )
            if candidate is not None and candidate.value >= sufficient:
                break
            step *= 0.5
        else:
            it.ended = True  # any further increase is due to rounding errors
            continue
        assert candidate is not None

        lam = trial
        point = candidate

    # convert to the caller's units
    D[used] = best
    multipliers[used] = best_lam * largest
    return DictionaryUpdate(D, multipliers, gap * largest, it.n_iter, it.converged)


def _first_point(S: Array, T: Array, atoms: Array, floor: float) -> tuple[Array, DualPoint]:
    """Return multipliers for ``d_j (S_jj + multiplier_j) = T_j - sum_i!=j S_ji d_i``."""
    diagonal = np.diag(S)
    contributions = T - S @ atoms + diagonal[:, None] * atoms
    lam = np.maximum(np.linalg.norm(contributions, axis=1) - diagonal, floor)
    point = _factored(S, T, lam)
    if point is None:
        lam = np.maximum(lam, 1e-8)
        point = dual_point(S, T, lam)
    return lam, point


def _feasible_atoms(S: Array, multipliers: Array, point: DualPoint) -> tuple[Array, float]:
    """Return atoms in the unit ball near the dual's, and their objective minus the dual value.

    Let D be the atoms of the dual, ``D - E`` the feasible atoms, and ``r = |d_j|``. Since
    ``S D - T = -diag(multipliers) D``, the difference is ``1/2 tr(E' S E)`` plus, for each atom,
    half its multiplier times ``(r - 1)^2`` on the sphere, or ``1 - r^2`` if E is zero. No term is
    negative, so the difference is accurate even if it is far smaller than the rounding
    errors of the two objectives.
    """
    lengths = np.sqrt(np.maximum(2.0 * point.gradient + 1.0, 0.0))
    shortfall = 1.0 - lengths
    inside = multipliers * shortfall * (1.0 + lengths)

    # move atoms from inside the ball to the sphere if that lowers their part of the difference
    on_sphere = (multipliers + np.diag(S)) * shortfall**2 < inside
    on_sphere |= shortfall < 0
    E = np.zeros_like(point.atoms)
    E[on_sphere] = point.atoms[on_sphere] * (1.0 - 1.0 / lengths[on_sphere])[:, None]

    terms = np.where(on_sphere, multipliers * shortfall**2, inside)
    gap = 0.5 * float(np.vdot(S @ E, E)) + 0.5 * float(terms.sum())
    return point.atoms - E, gap


def _factored(S: Array, T: Array, multipliers: Array) -> DualPoint | None:
    """Evaluate the dual; return None if rounding makes the matrix singular."""
    try:
        return dual_point(S, T, multipliers)
    except np.linalg.LinAlgError:
        return None


def _newton_step(point: DualPoint, lam: Array, floor: float) -> Array:
    """Return the Newton direction of the free multipliers, and zero for the bound ones."""
    gradient = point.gradient
    free = (lam > floor * (1 + 1e-6)) | (gradient > 0)
    step = np.zeros_like(lam)
    if not free.any():
        return step
    hessian = -point.hessian[np.ix_(free, free)]
    hessian[np.diag_indices_from(hessian)] *= 1 + ACCUMULATED_ROUNDING
    try:
        factor = cho_factor(hessian, lower=True)
        step[free] = cho_solve(factor, gradient[free])
    except np.linalg.LinAlgError:
        step[free] = gradient[free] / np.maximum(np.diag(hessian), SMALLEST_DIVISOR)
    return step


def update_positive_atoms(
    S: Array, T: Array, start: Array, *, size: float, tol: float = 1e-8, max_iter: int = 200
) -> DictionaryUpdate:
    """Minimise ``1/2 tr(D' S D) - tr(T' D)`` over non-negative atoms in the unit ball.

    Runs block descent: with the other atoms fixed, the best atom is the projection of
    ``d_j + (T_j - S_j D) / S_jj`` on ball and orthant, which is the positive part, scaled down to
    length 1 if it is longer. The gap is ``max over D' of <gradient, D - D'>``, for convex
    functions an upper bound on the distance from the optimum [Frank, Wolfe 1956], here
    ``sum_j <gradient_j, d_j> + |(-gradient_j)_+|``. The multipliers of ``|d_j|^2 / 2 <= 1 / 2``
    follow from the gradient. Unused atoms stay unchanged.
    """
    D = np.array(start, dtype=np.float64)
    multipliers = np.zeros(len(S))
    used = np.flatnonzero(np.diag(S) > 0)
    if used.size == 0:
        return DictionaryUpdate(D, multipliers, 0.0, 0, True)
    largest = float(np.diag(S).max())  # use the same unit as in `update_atoms`
    S = S[np.ix_(used, used)] / largest
    T = T[used] / largest
    size = size / largest
    d = np.ascontiguousarray(D[used])

    it = Iterations(max_iter, tol)
    gap = np.inf
    for _ in it:
        # move one atom at a time to its optimum in the ball
        for j in range(len(d)):
            unconstrained = d[j] + (T[j] - S[j] @ d) / S[j, j]
            step = np.maximum(unconstrained, 0.0)
            d[j] = step / max(1.0, float(np.linalg.norm(step)))

        # gap: largest decrease of the linearised objective within the balls
        ahead = T - S @ d  # negative gradient
        along = np.einsum("ij,ij->i", ahead, d)
        furthest = np.linalg.norm(np.maximum(ahead, 0.0), axis=1)
        gap = relative_gap(np.sum(furthest - along), 0.0, unit=1.0)
        it.residual = gap / size

    D[used] = d
    multipliers[used] = np.maximum(along, 0.0) * largest
    return DictionaryUpdate(D, multipliers, gap * largest, it.n_iter, it.converged)


def _unit_atoms(atoms: Array, positive: bool) -> Array:
    if positive:
        atoms = np.maximum(atoms, 0.0)
    norms: Array = np.linalg.norm(atoms, axis=1)
    return np.asarray(atoms / np.maximum(norms, SMALLEST_DIVISOR)[:, None])


def _grow(atoms: Array, l1: Array) -> tuple[Array | None, float]:
    """Scale atoms inside the ball to norm 1 in place; return the codes' factors, and l1 saved."""
    norms = np.linalg.norm(atoms, axis=1)
    short = (norms < 1.0) & (norms > 0)
    if not short.any():
        return None, 0.0
    atoms[short] /= norms[short, None]
    factor = np.where(short, norms, 1.0)
    return factor, float(l1[short] @ (1.0 - norms[short]))


def learn_l1_dictionary(
    signals: CodedSignals,
    start: Array,
    *,
    alpha: float,
    momentum: bool = True,
    positive: bool = False,
    positive_code: bool = False,
    max_iter: int = 100,
    tol: float = 1e-5,
    progress: Progress | None = None,
) -> LearnedDictionary:
    """Alternate lasso codes and the dual update of the atoms, starting from unit atoms `start`.

    After each update, atoms of norm below 1 are scaled to norm 1 and their codes down, which
    changes no fit and lowers the penalty. Atoms that no signal uses are replaced by the largest
    residuals. Missing entries are filled with the fit before the update of the atoms: this
    majorises the objective over the observed entries.

    With `momentum`, the signals are coded with atoms that are extrapolated from the last two
    updates. If that does not lower the objective, codes for the atoms themselves are computed, so
    that the objective never rises. Learning has converged when a pass lowers it by at most the
    fraction `tol`.

    With `positive`, atoms are non-negative, and updated by `update_positive_atoms`;
    `positive_code` states that codes are non-negative. The signals may be in blocks: a pass codes
    them and adds up the statistics that the atoms need.
    """
    improve = update_positive_atoms if positive else update_atoms
    D = np.array(start, dtype=np.float64)
    objective: list[float] = []
    replaced: list[int] = []
    atom_gap = 0.0
    last = np.inf
    ahead = D
    beta = 0.5
    multipliers = np.zeros(len(D))
    it = Iterations(max_iter, tol, progress)

    for _ in it:
        # 1. compute codes, starting from the last ones; undo momentum if it made them worse
        signals, (value, S, T, l1) = signals.coded(ahead, alpha)
        if value > last and ahead is not D:
            # the momentum was too large
            beta *= 0.5
            ahead = D
            signals, (value, S, T, l1) = signals.taken_back().coded(D, alpha)
        elif ahead is not D:
            beta = min(1.2 * beta, FURTHEST)

        # 2. update the atoms by solving the dual problem; fill gaps with the approximation
        atoms = ahead
        update = improve(S, T, atoms, size=max(value, SMALLEST_DIVISOR))
        new = update.atoms
        multipliers = update.multipliers

        if signals.complete:
            value += primal_value(S, T, new) - primal_value(S, T, atoms)
        else:
            value = 0.5 * signals.squared_error(new) + alpha * l1.sum()
        atom_gap = update.gap / max(value, SMALLEST_DIVISOR)

        # 3. scale atoms inside the ball to norm 1, and scale their coefficients down
        factor, spared = _grow(new, l1)
        signals = signals.shrunk(factor)
        value -= alpha * spared

        # 4. give idle atoms the directions of the largest residuals
        worst = partial(signals.worst, atoms, new)
        signs = (positive, positive_code)
        count = replace_unused(new, np.diag(S) > 0, worst, alpha, *signs)
        replaced.append(count)
        objective.append(value)

        # 5. stop when the objective no longer falls
        if tol > 0 and np.isfinite(last) and count == 0:
            it.residual = (last - value) / max(last, SMALLEST_DIVISOR)

        last = value
        ahead = new

        # 6. extrapolate the atoms
        if momentum and count == 0 and it.n_iter > 1:
            ahead = _unit_atoms(new + beta * (new - D), positive)

        D = new
    course = (np.array(objective), np.array(replaced))
    ended = (it.n_iter, it.converged)
    return LearnedDictionary(D, signals, multipliers, *course, atom_gap, *ended)


def replace_unused(
    D: Array,
    used: Array,
    worst: Callable[[int, WorstSignals | None], WorstSignals],
    alpha: float,
    positive: bool = False,
    positive_code: bool = False,
) -> int:
    """Give idle atoms the directions of the largest residuals, in place; return their number.

    Only residuals longer than `alpha` are candidates: they will use their atom, which lowers the
    objective. With `positive`, the positive part of a residual counts, or, unless `positive_code`,
    the negative part if it is longer. ``worst(n, last)`` returns the next signals by their error,
    because a new atom helps the worst ones first.
    """
    idle = np.flatnonzero(~used)
    count = 0
    taken = np.zeros((0, D.shape[1]))
    candidates = None
    n_wanted = max(idle.size, FEWEST_CANDIDATES)
    while count < idle.size:
        candidates = worst(n_wanted, candidates)
        useful = candidates.sizes > alpha**2
        for d in candidates.residuals[useful]:
            if count == idle.size:
                break

            if positive:
                above = np.maximum(d, 0.0)
                negative = np.linalg.norm(d) > np.sqrt(2.0) * np.linalg.norm(above)
                if negative and not positive_code:
                    above = np.maximum(-d, 0.0)
                d = above

            # skip residuals that are too small for the penalty or similar to an earlier candidate
            norm = float(np.linalg.norm(d))
            alike = np.abs(taken @ d) > 0.9 * norm
            if norm <= alpha * (1 + 1e-6) or alike.any():
                continue
            D[idle[count]] = d / norm
            taken = np.concatenate([taken, d[None] / norm])
            count += 1
        if not useful.all() or len(useful) < n_wanted:
            break
        n_wanted = max(n_wanted, min(2 * n_wanted, MOST_CANDIDATES))
    return count


def draw_atoms(
    X: Any,
    k: int,
    rng: np.random.RandomState,
    *,
    positive: bool = False,
    positive_code: bool = False,
) -> Array:
    """Draw unit directions of different rows of X, then random ones if there are too few rows.

    The result depends neither on the order of the rows nor on how often a row occurs. Signs are
    fixed unless `positive_code`; `positive` takes the positive part.
    """
    # scale the rows of X to unit norm, with the sign that the codes require
    n = X.shape[1]
    rows: Any = X.astype(np.float64)
    if sparse.issparse(X):
        norms_sq = rows.multiply(rows).sum(axis=1)
        norms = np.sqrt(np.asarray(norms_sq).ravel())
        nonzero = np.flatnonzero(norms > 0)
        factors = 1.0 / norms[nonzero, None]
        rows = sparse.csr_array(rows[nonzero].multiply(factors))
        if not positive_code and rows.shape[0]:
            peak = rows.max(axis=1).toarray().ravel()
            least = rows.min(axis=1).toarray().ravel()
            signs = np.where(-least > peak, -1.0, 1.0)
            rows = sparse.csr_array(rows.multiply(signs[:, None]))
        if positive:
            rows.data = np.maximum(rows.data, 0.0)
    else:
        norms = np.linalg.norm(rows, axis=1)
        rows = rows[norms > 0] / norms[norms > 0, None]
        if not positive_code:
            rows = fix_signs(rows)
        if positive:
            rows = np.maximum(rows, 0.0)

    # drop repeated rows, which have equal products with a random direction
    if rows.shape[0]:
        direction = np.random.RandomState(0).normal(size=n)
        keys = np.round(rows @ direction, RESULT_DIGITS) + 0.0
        _, distinct = np.unique(keys, return_index=True)
        rows = rows[distinct]

    # draw k rows, and add random directions if there are too few rows
    drawn = rng.permutation(rows.shape[0])[:k]
    start: Any = rows[drawn]
    if sparse.issparse(X):
        start = start.toarray()
    start = start[np.any(start != 0, axis=1)]
    random = rng.normal(size=(k - len(start), n))
    out = np.concatenate([start, np.abs(random) if positive else random])
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    return out
