"""Factorisations ``X ~ W H`` by alternation: non-negative, free or of given sparseness.

Notation: X (n, p), codes W (n, k), components H (k, p). The components are stored as ``V = H'``.

Differs from the papers (Hoyer 2004; Kim and Park 2008): 1. Coordinate descent with extrapolation
replaces projected gradients and exact solutions. 2. Initial passes run without penalty.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import eigen_range
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.coded_rows import (
    CodedRows,
    Decision,
    distance_of_codes,
    error_of_best,
    extrapolated,
    first_codes,
    improved_codes,
    lacking_rows,
    penalties_of_best,
    sums_of_best,
    uses_of_best,
)
from skmoderndata._solvers.factors.extrapolation import Extrapolation
from skmoderndata._solvers.factors.factor_updates import (
    MAX_SWEEPS,
    Data,
    Side,
    Update,
    is_sparse,
    lengths_of,
    penalty_value,
    project,
    ratio,
    scales_of,
    update,
)

# Number of passes after which codes of prescribed sparseness are computed from several starts
# again.
AFRESH = 20

# Maximum norm, and maximum inverse norm, of a component; beyond either, components are rescaled to
# norm 1.
LARGEST_NORM = 1e4

# Maximum number of initial passes without penalty. Without these passes, objectives are up to 1.6
# times as high, and some components of the digits data stay zero.
APART = 20


class FactorizationResult(NamedTuple):
    """Factors, their quality, and the course of the fit."""

    rows: CodedRows
    components: Array  # (p, k)
    objective: float
    residual: float
    n_iter: int
    converged: bool
    history: list[float]

    @property
    def codes(self) -> Array:
        """Codes of rows in memory."""
        return self.rows.codes


class _Iterates(NamedTuple):
    """Components of a pass: the best so far, the last, and the extrapolated ones."""

    best: Array
    last: Array
    ahead: Array

    def back_to_best(self) -> "_Iterates":
        """Return to the best components, without a last step, after a failed extrapolation."""
        return _Iterates(self.best, self.best, self.best)

    def drift(self) -> Array | None:
        """Return the lengths of the best components if any is huge or tiny, else None.

        The limits are far below overflow.
        """
        lengths = lengths_of(self.best)
        if lengths.max() <= LARGEST_NORM and lengths.min() >= 1 / LARGEST_NORM:
            return None
        return lengths


class _CachedProducts(NamedTuple):
    """Products with the data at the best factors, as far as the last pass has computed them.

    `sums` are the sums that determine the components; `codes_ratio` is from `_codes_ratio`.
    """

    sums: Any = None
    codes_ratio: Any = None


def _scale_is_fixed(*sides: Side) -> bool:
    """Return True if a penalty or a sparseness of rows fixes the scale of the factors."""
    return any(side.penalised or side.kind == "rows" for side in sides)


def _sweeps(p: int, k: int, exact: bool) -> tuple[int, int]:
    """Return the numbers of sweeps over codes and components in a pass; -1 is an exact solution.

    A sweep costs k k per row, the linear terms p k. The numbers do not depend on the number of
    rows, so that weights and repetitions have the same effect.
    """
    if exact:
        return -1, -1
    for_codes = int(np.clip(p / k / 10, 3, MAX_SWEEPS))
    return for_codes, MAX_SWEEPS


def factorize(
    rows: CodedRows,
    V: Array,
    *,
    codes_side: Side,
    components_side: Side,
    exact: bool = False,
    max_iter: int = 500,
    tol: float = 1e-4,
    min_decrease: float = 0.0,
    progress: Progress | None = None,
    history: list[float] | None = None,
) -> FactorizationResult:
    """Minimise ``1/2 |X - W V'|^2`` plus penalties by alternating improvements of W and V.

    Each factor is improved by a few sweeps of coordinate descent from an extrapolated point
    [Ang & Gillis 2019]; a step that raises the objective is taken back and repeated without
    extrapolation, so that the accepted objectives never rise. If `exact`, block principal pivoting
    minimises over each factor, without extrapolation [Kim & Park 2007].

    Stops when the projected gradients of both factors, relative to the linear terms of their
    problems, are below `tol`, or when a pass lowers the objective by less than the fraction
    `min_decrease`. The gradients refer to components of unit norm unless a penalty fixes the
    scale. `history` holds the objectives of earlier passes, which count as passes.

    The rows may lie in blocks. A pass over them improves their codes and adds up the sums for the
    components. The objective is known after the pass, so the next one carries out the decision.
    """
    sides = (codes_side, components_side)
    fixed = _scale_is_fixed(*sides)
    sweeps_W, sweeps_V = _sweeps(rows.shape[1], V.shape[1], exact)

    # start without extrapolation: the best, last and extrapolated components are equal
    state = _Iterates(V, V, V)
    rows = rows.at_best()
    least = np.inf
    extrapolation = Extrapolation(off=exact)

    history = [] if history is None else list(history)
    it = Iterations(max_iter, tol, progress)
    since_look = 0
    cached_products = _CachedProducts()

    for _ in it:
        # 1. update and extrapolate the codes; codes of prescribed sparseness are not extrapolated
        extra = extrapolation.length
        afresh = codes_side.kind == "rows" and it.n_iter % AFRESH == 0
        sweeps = MAX_SWEEPS + 1 if afresh else sweeps_W
        length = 0.0 if codes_side.kind == "rows" else extra
        rows, (sums, penalty) = rows.step(
            improved_codes, state.ahead, codes_side, sweeps, length
        )

        # 2. update the components
        new = state.ahead.copy()
        scales = scales_of(new, fixed)
        moved = update(sums.terms(), components_side, new, sweeps=sweeps_V, scales=1 / scales)

        # 3. compute the objective and its rounding error
        objective, noise = _objective(rows, new, components_side, moved.value, penalty)

        # 4. return to the best factors if extrapolation has raised the objective
        if extra and objective > least + rows.negligible:
            state = state.back_to_best()
            rows = rows.decided(Decision(better=False, onward=False))
            extrapolation.led_astray()
            history.append(least)
            continue

        falls = least - objective
        # without extrapolation, only rounding errors can raise the objective
        better = objective <= least + noise
        if better:
            state = state._replace(best=new)
        rows = rows.decided(Decision(better=better))
        cached_products = _CachedProducts(sums if better else None)
        least = min(least, objective)
        history.append(least)

        # stop if the objective hardly falls
        if min_decrease and falls < min_decrease * least:
            it.ended = True
            continue

        # 5. extrapolate the components
        ahead = extrapolated(components_side, new, state.last, extra) if extra else new
        state = _Iterates(state.best, new, ahead)
        drift = None if fixed or codes_side.kind != "nonnegative" else state.drift()
        # without a penalty, the norms of the components are arbitrary, so they drift
        if drift is not None:
            state = _Iterates(*(components / drift for components in state))
            rows = rows.times(drift)
            cached_products = _CachedProducts()
        extrapolation.went_well()

        # 6. check the stopping rule; the residual of the codes takes a pass, so compute it rarely
        since_look += 1
        there = ratio(moved)
        if exact or (there <= tol and since_look >= 5) or falls <= rows.negligible:
            codes_ratio = _codes_ratio(rows, state.best, codes_side, fixed)
            cached_products = cached_products._replace(codes_ratio=codes_ratio)
            it.residual = worst(codes_ratio, there)
            since_look = 0

    # compute the residual at the best factors, from products that are still valid
    residual = residual_of(rows, state.best, *sides, cached_products)
    course = (len(history), it.converged or residual <= tol, history)
    return FactorizationResult(rows.at_best(), state.best, least, residual, *course)


def _codes_ratio(rows: CodedRows, V: Array, side: Side, fixed: bool) -> float:
    """Return the projected gradient of the best codes relative to the linear terms."""
    looked = rows.sum(distance_of_codes, V, side, scales_of(V, fixed))
    return ratio(Update(*looked))


def _objective(
    rows: CodedRows, V: Array, components_side: Side, value: float, penalty: float
) -> tuple[float, float]:
    """Return the objective of the codes of the last pass, and its rounding error.

    `value` is the value of the update of the components, with their penalty; `penalty` is the
    penalty of the codes. If the sum cancels, the objective is computed from the residuals.
    """
    objective = rows.sum_sq / 2 + value + penalty
    if objective >= rows.cancelled / 2:
        return objective, rows.rounding

    # compute the objective again from the residuals, which does not lose digits
    penalty += penalty_value(components_side, V)
    (error,) = rows.sum(error_of_best, V)
    return error / 2 + penalty, 0.0


def start_from(
    rows: CodedRows,
    V: Array,
    codes_side: Side,
    components_side: Side,
    *,
    given: bool = False,
    max_iter: int = APART,
    progress: Progress | None = None,
) -> tuple[CodedRows, Array, int]:
    """Compute initial codes, and bring both factors to the scale and constraints of the problem.

    Unless the components are `given` by the user, they are first improved without penalty, in at
    most `max_iter` passes. Returns the rows, the components and the number of these passes.
    """
    V = project(components_side, V)
    if given or codes_side.kind == "rows":
        return rows.step(first_codes, V, codes_side, True)[0], V, 0

    # for codes with other constraints, solve without these constraints and project the result
    if codes_side.kind not in ("nonnegative", "free"):
        return rows.step(first_codes, V, codes_side, False)[0], V, 0
    plain = Side(codes_side.kind)
    rows, _ = rows.step(first_codes, V, plain, False)

    n_passes = min(APART, max_iter)
    if n_passes and (codes_side.penalised or components_side.penalised):
        # separate the components first, because the penalty might set some of them to zero
        apart = factorize(
            rows,
            V,
            codes_side=plain,
            components_side=plain,
            max_iter=n_passes,
            tol=1e-2,
            min_decrease=1e-3,
            progress=progress,
        )
        V = apart.components
        factor = _balance(codes_side, apart.rows, components_side, V)
        rows = apart.rows.decided(apart.rows.decision._replace(over=factor))
        return rows, V * factor, apart.n_iter
    return rows, V, 0


def _balance(codes_side: Side, rows: CodedRows, components_side: Side, V: Array) -> float:
    """Return the scale of V (and 1 / scale of W) that minimises the penalties."""
    first, second = rows.sum(penalties_of_best, *_linear_and_squared(codes_side))
    third, fourth = (penalty_value(side, V) for side in _linear_and_squared(components_side))
    if min(first + second, third + fourth) <= 0:
        return 1.0

    # search for the scale on a grid: the objective has terms of degrees -2 to 2 and no minimum in
    # closed form
    c = np.logspace(-60, 60, 2401)
    with np.errstate(over="ignore"):
        penalties = first / c + second / c**2 + third * c + fourth * c**2
    return float(c[np.argmin(penalties)])


def _linear_and_squared(side: Side) -> tuple[Side, Side]:
    """Split a penalty into the parts that grow with the scale and with its square."""
    return side._replace(l1_sq=0, l2=0), side._replace(l1=0)


def residual_of(
    rows: CodedRows,
    V: Array,
    codes_side: Side,
    components_side: Side,
    cached_products: _CachedProducts = _CachedProducts(),  # noqa: B008
) -> float:
    """Return the KKT residual: the larger relative projected gradient of the two factors.

    It is zero exactly at stationary points. The components have unit norm unless a penalty fixes
    the scale, so that the residual does not depend on the units of the data or of the factors.
    """
    fixed = _scale_is_fixed(codes_side, components_side)
    # compute those products with the data that the last pass has not cached
    sums, codes_ratio = cached_products
    if codes_ratio is None:
        codes_ratio = _codes_ratio(rows, V, codes_side, fixed)
    if sums is None:
        (sums,) = rows.sum(sums_of_best)

    scales = 1 / scales_of(V, fixed)
    components = update(sums.terms(), components_side, V, sweeps=0, scales=scales)
    return worst(codes_ratio, ratio(components))


def worst(*residuals: float) -> float:
    """Return the largest of the residuals, or NaN if any of them is NaN."""
    return float(np.max(residuals))


def idle_components(rows: CodedRows, V: Array) -> Array:
    """Find components that are zero or that no row uses."""
    (uses,) = rows.sum(uses_of_best)
    return ~V.any(axis=0) | (uses == 0)


def revive(
    rows: CodedRows, V: Array, side: Side, idle: Array
) -> tuple[CodedRows, Array] | None:
    """Replace idle components by the rows with the largest residuals.

    Returns None if there is nothing to do. A factorisation with a component of zeros is
    stationary, but not a minimum as long as a residual remains.
    """
    dead = np.flatnonzero(idle)
    if not len(dead):
        return None

    # find the rows with the largest residuals
    (worst_rows,) = rows.sum(lacking_rows, V, side, len(dead))
    worth = worst_rows.sizes > ACCUMULATED_ROUNDING * rows.sum_sq
    if not worth.any():
        return None

    # scale the residuals to the median norm of the components in use; no row uses the new
    # components yet
    lacks = worst_rows.lacks[worth] / np.sqrt(worst_rows.sizes[worth, None])
    revived = dead[: len(lacks)]
    length = 1.0 if idle.all() else float(np.median(lengths_of(V[:, ~idle])))
    V = V.copy()
    V[:, revived] = length * lacks.T
    V[:, revived] = project(side, V)[:, revived]
    remaining = np.ones(V.shape[1])
    remaining[revived] = 0.0
    return rows.times(remaining), V


def nndsvd_components(
    data: Data, k: int, rng: np.random.RandomState, *, codes: bool = False
) -> Array:
    """Return non-negative parts of right singular vectors [Boutsidis & Gallopoulos 2008], (p, k).

    Each component is the positive or the negative part of a singular vector, whichever has the
    larger product of norms with the part of the left vector, at unit norm. Components beyond the
    rank are random. With `codes`, the parts come from the left vectors, and each component is the
    best fit to its part.
    """
    X = data.to_start_from()
    if data.weights is not None:
        root = np.sqrt(data.weights)
        X = sparse.csr_array(X.multiply(root[:, None])) if is_sparse(X) else X * root[:, None]

    # compute right singular vectors, and left singular vectors times the singular values
    V = _right_singular_vectors(X, k, rng)
    U = np.asarray(X @ V.astype(X.dtype, copy=False), dtype=np.float64)

    out = np.zeros((data.shape[1], k))
    top = 0.0

    # give each pair the sign with the larger positive part
    for j in range(k):
        if j < V.shape[1]:
            size = float(np.linalg.norm(U[:, j]))
            top = max(top, size)
            if size > 1e-6 * top:
                u = U[:, j]
                v = V[:, j]
                down = np.linalg.norm(np.minimum(u, 0))
                up = np.linalg.norm(np.maximum(u, 0))
                if not codes:
                    down *= np.linalg.norm(np.minimum(v, 0))
                    up *= np.linalg.norm(np.maximum(v, 0))
                sign = -1 if down > up else 1
                if codes:
                    out[:, j] = X.T @ np.maximum(sign * u, 0)
                else:
                    out[:, j] = np.maximum(sign * v, 0)

        if not out[:, j].any():
            out[:, j] = rng.uniform(size=len(out))
        out[:, j] /= np.linalg.norm(out[:, j])
    return out


def _right_singular_vectors(X: Any, k: int, rng: np.random.RandomState) -> Array:
    # if there are few rows or columns, use eigenvectors of the smaller Gram matrix
    n, p = X.shape
    if min(n, p) <= 1000:
        wide = p > n
        gram = X @ X.T if wide else X.T @ X
        gram = gram.toarray() if is_sparse(gram) else gram
        gram = np.asarray(gram, dtype=np.float64)

        size = len(gram)
        _, Q = eigen_range(gram, max(0, size - k), size)
        Q = Q[:, ::-1]

        if wide:
            Q = np.asarray(X.T @ Q.astype(X.dtype), dtype=np.float64)
            length = np.linalg.norm(Q, axis=0)
            Q = Q / np.where(length > 0, length, 1.0)
        return np.asarray(Q)

    # otherwise use Lanczos iterations
    values = X.data if is_sparse(X) else X
    if not values.any():
        return np.zeros((p, k))
    smaller = min(n, p)
    start = rng.uniform(-1, 1, size=smaller).astype(X.dtype)
    n_vectors = min(k, smaller - 1)
    _, _, Vt = sparse.linalg.svds(X, k=n_vectors, v0=start, tol=1e-3)
    return np.asarray(Vt[::-1].T, dtype=np.float64)
