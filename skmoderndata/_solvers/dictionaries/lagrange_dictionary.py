"""Dictionaries learned with an l1 penalty: the atoms by Lagrange's dual, the codes by the lasso.

Signals X (N, n) and atoms D (k, n) are rows; X may be a CSR array, and stays one. The objective,
with weights w of the signals, is
``sum_i w_i (1/2 |x_i - a_i D|^2 + alpha |a_i|_1)  subject to  |d_j| <= 1``.
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
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.coded_signals import CodedSignals, WorstSignals

# least multiplier, relative to the largest diagonal entry of S: S may be singular
LEAST_FLOOR = 1e-14
LARGEST_FLOOR = 1e-10
FURTHEST = 0.9  # largest momentum of the atoms
DUAL_TOL = 1e-10  # gap of the atoms, relative to the objective, at which Newton's method ends
NEWTON_STEPS = 100  # at most
# of the dual value, relative: near the optimum steps gain less, though the gap, which is linear in
# the distance from the optimum where the gain is quadratic, still falls
ROUNDING = 1e-15
# signals looked at together for an idle atom: each time is a pass over blocks
FEWEST_CANDIDATES = 64
MOST_CANDIDATES = 4096


class DualPoint(NamedTuple):
    """The dual function at given multipliers, its derivatives, and the atoms that belong to them.

    `value` leaves the constant ``1/2 |X|^2`` out.
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
    """Atoms in the unit ball, their multipliers, and the proved distance from the optimum.

    `gap` is the primal less the dual objective, in the units of the objective.
    """

    atoms: Array
    multipliers: Array
    gap: float
    n_iter: int
    converged: bool


class LearnedDictionary(NamedTuple):
    """A dictionary, codes, and how they were reached.

    `objective` is that of each pass; the codes hold the relative duality gap of each signal,
    `atom_gap` is the relative gap of the last update of the atoms.
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
    """Dual of ``min over |d_j| <= 1 of  1/2 tr(D' S D) - tr(T' D)``  [Lee et al. 2007, section 4].

    With ``S = A' A`` and ``T = A' X`` this is ``1/2 |X - A D|^2`` but for a constant. The minimum
    of the Lagrangian over D is at ``D = (S + diag(multipliers))^-1 T``; half the excess of each
    squared norm over 1 is the gradient.
    """
    factor = cho_factor(S + np.diag(multipliers), lower=True)
    inverse = cho_solve(factor, np.eye(len(S)))
    D = cho_solve(factor, T)
    value = -0.5 * float(np.vdot(T, D)) - 0.5 * float(multipliers.sum())
    norms_sq = np.einsum("ij,ij->i", D, D)
    return DualPoint(D, value, 0.5 * (norms_sq - 1.0), inverse)


def primal_value(S: Array, T: Array, D: Array) -> float:
    """``1/2 tr(D' S D) - tr(T' D)``."""
    quadratic = float(np.vdot(S @ D, D))
    return 0.5 * quadratic - float(np.vdot(T, D))


def update_atoms(S: Array, T: Array, start: Array, *, size: float) -> DictionaryUpdate:
    """Minimise ``1/2 tr(D' S D) - tr(T' D)`` over atoms in the unit ball, by its dual.

    Newton steps on the k multipliers, cut off at their bound, with Armijo's rule (Bertsekas 1982).
    The multipliers start from the condition of optimality at the atoms `start`. Ends when the gap
    is at most ``DUAL_TOL * size``; `start` is returned if no better point is met. An atom
    that no code uses (``S[j, j] == 0``) stays as it is.
    """
    D = np.array(start, dtype=np.float64)
    used = np.flatnonzero(np.diag(S) > 0)
    multipliers = np.zeros(len(S))
    if used.size == 0:
        return DictionaryUpdate(D, multipliers, 0.0, 0, True)

    # in units of the largest entry: S and T are squares of the data, and are squared again
    largest = float(np.diag(S).max())
    S = S[np.ix_(used, used)] / largest
    T = T[used] / largest
    old = D[used]
    size = size / largest

    # a bound above zero gives lower bounds as valid, and costs at most a quarter of the tolerance
    allowed = 0.5 * DUAL_TOL * size / len(S)
    floor = min(max(allowed, LEAST_FLOOR), LARGEST_FLOOR)

    lam, point = _first_point(S, T, old, floor)
    best = old
    best_value = primal_value(S, T, old)
    best_lam = lam
    gap = np.inf
    highest = -np.inf
    it = Iterations(NEWTON_STEPS, DUAL_TOL)

    for _ in it:
        # 1. feasible atoms, and how far the dual value is below theirs
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
            it.ended = True  # the floor of the multipliers, or rounding
            continue
        highest = max(highest, point.value)

        # 2. Newton's step on the multipliers, projected, with Armijo's rule
        direction = _newton_step(point, lam, floor)
        step = 1.0
        while step > 1e-10:
            trial = np.maximum(lam + step * direction, floor)
            candidate = _factored(S, T, trial)
            expected = float(point.gradient @ (trial - lam))
            sufficient = point.value + 1e-4 * expected - ROUNDING * abs(point.value)
            if candidate is not None and candidate.value >= sufficient:
                break
            step *= 0.5
        else:
            it.ended = True  # rounding
            continue
        assert candidate is not None

        lam = trial
        point = candidate

    # back in the units of the caller
    D[used] = best
    multipliers[used] = best_lam * largest
    return DictionaryUpdate(D, multipliers, gap * largest, it.n_iter, it.converged)


def _first_point(S: Array, T: Array, atoms: Array, floor: float) -> tuple[Array, DualPoint]:
    """Multipliers of given atoms, ``d_j (S_jj + multiplier_j) = T_j - sum_i!=j S_ji d_i``."""
    diagonal = np.diag(S)
    others = T - S @ atoms + diagonal[:, None] * atoms
    lam = np.maximum(np.linalg.norm(others, axis=1) - diagonal, floor)
    point = _factored(S, T, lam)
    if point is None:
        lam = np.maximum(lam, 1e-8)
        point = dual_point(S, T, lam)
    return lam, point


def _feasible_atoms(S: Array, multipliers: Array, point: DualPoint) -> tuple[Array, float]:
    """Atoms in the unit ball near those of the dual, and their objective less the dual value.

    Let D be the atoms of the dual, ``D - E`` the feasible ones and ``r = |d_j|``. As
    ``S D - T = -diag(multipliers) D``, the difference is ``1/2 tr(E' S E)`` plus, for each atom,
    half its multiplier times ``(r - 1)^2`` on the sphere, or ``1 - r^2`` where E is zero: no
    term is negative, so that it has correct digits far below those of the two objectives.
    """
    lengths = np.sqrt(np.maximum(2.0 * point.gradient + 1.0, 0.0))
    shortfall = 1.0 - lengths
    inside = multipliers * shortfall * (1.0 + lengths)

    # atoms inside the ball go to the sphere where their own terms then add up to less
    on_sphere = (multipliers + np.diag(S)) * shortfall**2 < inside
    on_sphere |= shortfall < 0
    E = np.zeros_like(point.atoms)
    E[on_sphere] = point.atoms[on_sphere] * (1.0 - 1.0 / lengths[on_sphere])[:, None]

    own = np.where(on_sphere, multipliers * shortfall**2, inside)
    gap = 0.5 * float(np.vdot(S @ E, E)) + 0.5 * float(own.sum())
    return point.atoms - E, gap


def _factored(S: Array, T: Array, multipliers: Array) -> DualPoint | None:
    """Evaluate the dual; None where rounding makes the matrix singular."""
    try:
        return dual_point(S, T, multipliers)
    except np.linalg.LinAlgError:
        return None


def _newton_step(point: DualPoint, lam: Array, floor: float) -> Array:
    """Newton direction of the free multipliers; those that are bound stay."""
    gradient = point.gradient
    free = (lam > floor * (1 + 1e-6)) | (gradient > 0)
    step = np.zeros_like(lam)
    if not free.any():
        return step
    hessian = -point.hessian[np.ix_(free, free)]
    hessian[np.diag_indices_from(hessian)] *= 1 + 1e-12
    try:
        factor = cho_factor(hessian, lower=True)
        step[free] = cho_solve(factor, gradient[free])
    except np.linalg.LinAlgError:
        step[free] = gradient[free] / np.maximum(np.diag(hessian), 1e-300)
    return step


def update_positive_atoms(
    S: Array, T: Array, start: Array, *, size: float, tol: float = 1e-8, max_iter: int = 200
) -> DictionaryUpdate:
    """Minimise ``1/2 tr(D' S D) - tr(T' D)`` over atoms of at least zero in the unit ball.

    Block descent: for given others the best atom is the projection of
    ``d_j + (T_j - S_j D) / S_jj`` on the ball and the orthant, which is the positive part, cut to
    length 1. The gap is ``max over D' of <gradient, D - D'>``, an upper bound on the distance from
    the optimum of any convex function [Frank, Wolfe 1956], here
    ``sum_j <gradient_j, d_j> + |(-gradient_j)_+|``. The multipliers of ``|d_j|^2 <= 1`` (of half
    of it) are those that the gradient asks for. Unused atoms stay as they are.
    """
    D = np.array(start, dtype=np.float64)
    multipliers = np.zeros(len(S))
    used = np.flatnonzero(np.diag(S) > 0)
    if used.size == 0:
        return DictionaryUpdate(D, multipliers, 0.0, 0, True)
    largest = float(np.diag(S).max())  # the unit, as in `update_atoms`
    S = S[np.ix_(used, used)] / largest
    T = T[used] / largest
    size = size / largest
    d = np.ascontiguousarray(D[used])

    it = Iterations(max_iter, tol)
    gap = np.inf
    for _ in it:
        # one atom after another, at its optimum in the ball
        for j in range(len(d)):
            unconstrained = d[j] + (T[j] - S[j] @ d) / S[j, j]
            step = np.maximum(unconstrained, 0.0)
            d[j] = step / max(1.0, float(np.linalg.norm(step)))

        # gap: how far a step along the gradient could go within the balls
        ahead = T - S @ d  # minus the gradient
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
    return np.asarray(atoms / np.maximum(norms, 1e-300)[:, None])


def _grow(atoms: Array, l1: Array) -> tuple[Array | None, float]:
    """Scale atoms inside the ball to norm one, in place; return what codes do, and `l1` loses."""
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
    """Alternate lasso codes and the dual update of the atoms from the unit atoms `start`.

    After each update atoms of norm below 1 are scaled to norm 1 and their codes down, which
    changes no fit and lowers the penalty. Atoms that no signal uses become the largest residuals.
    Where entries are missing, they are filled by the fit before the update of the atoms: this
    majorises the objective over the observed entries.

    With `momentum` the signals are coded with atoms further along the line of the last two
    updates. Where that does not lower the objective, the codes with the atoms themselves are
    taken, so that the objective never rises. Converged is a pass that lowers it by at most the
    fraction `tol`.

    With `positive` atoms are at least zero, and updated by `update_positive_atoms`;
    `positive_code` says that codes are at least zero. The signals may lie in blocks: a pass over
    them codes them and adds up what the atoms need.
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
        # 1. codes, warm from the last ones; momentum is given up where it made them worse
        signals, (value, S, T, l1) = signals.coded(ahead, alpha)
        if value > last and ahead is not D:
            # momentum led astray
            beta *= 0.5
            ahead = D
            signals, (value, S, T, l1) = signals.taken_back().coded(D, alpha)
        elif ahead is not D:
            beta = min(1.2 * beta, FURTHEST)

        # 2. atoms, by the dual; gaps are filled by the approximation
        atoms = ahead
        update = improve(S, T, atoms, size=max(value, 1e-300))
        new = update.atoms
        multipliers = update.multipliers

        if signals.complete:
            value += primal_value(S, T, new) - primal_value(S, T, atoms)
        else:
            value = 0.5 * signals.squared_error(new) + alpha * l1.sum()
        atom_gap = update.gap / max(value, 1e-300)

        # 3. atoms inside the ball grow to norm one, their coefficients shrink
        factor, spared = _grow(new, l1)
        signals = signals.shrunk(factor)
        value -= alpha * spared

        # 4. idle atoms get the directions of the largest residuals
        worst = partial(signals.worst, atoms, new)
        signs = (positive, positive_code)
        count = replace_unused(new, np.diag(S) > 0, worst, alpha, *signs)
        replaced.append(count)
        objective.append(value)

        # 5. stop when the objective no longer falls
        if np.isfinite(last) and count == 0:
            it.residual = (last - value) / max(last, 1e-300)
            if tol == 0.0:
                it.residual = max(it.residual, 1e-300)

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
    """Give idle atoms the directions of the largest residuals, in place; returns how many.

    A residual longer than `alpha` will use its atom, which lowers the objective; shorter ones
    would not, and are no candidates. With `positive` the positive part of a residual counts, or,
    unless `positive_code`, the negative part if that is longer. ``worst(n, last)`` gives the next
    signals by their error, those that a new atom would serve first.
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

            # too small for the penalty, or like one that was taken
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
    """Draw unit directions of different rows of X, and random ones where these end.

    Neither the order of the rows nor how often a row occurs matters. Signs are fixed unless
    `positive_code`; with `positive` the positive part is taken.
    """
    # unit rows of X, with the sign that the codes need
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

    # equal rows have equal products
    if rows.shape[0]:
        direction = np.random.RandomState(0).normal(size=n)
        keys = np.round(rows @ direction, 9) + 0.0
        _, distinct = np.unique(keys, return_index=True)
        rows = rows[distinct]

    # k of them, and random directions where they do not suffice
    drawn = rng.permutation(rows.shape[0])[:k]
    start: Any = rows[drawn]
    if sparse.issparse(X):
        start = start.toarray()
    start = start[np.any(start != 0, axis=1)]
    more = rng.normal(size=(k - len(start), n))
    out = np.concatenate([start, np.abs(more) if positive else more])
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    return out
