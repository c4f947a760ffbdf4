"""Factorisations ``X ~ W H`` by alternation; factors non-negative, free or of given sparseness.

Notation: X (n, p), codes W (n, k), components H (k, p); the components are kept as ``V = H'``.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import eigen_range
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

AFRESH = 20  # passes after which codes of rows of given sparseness are looked for from several
# starts again
LARGEST_NORM = 1e4  # norms of components at which they are brought back to 1
# Maximum number of passes without penalty before the first with it; without them objectives are up
# to 1.6 times higher, and components of digits stay zero
APART = 20


class FactorizationResult(NamedTuple):
    """Factors, how good they are, and how it went."""

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
    """Components of a pass: the best so far, the last ones, and those extrapolated from them."""

    best: Array
    last: Array
    ahead: Array

    def back_to_best(self) -> "_Iterates":
        """Where extrapolation led astray: go on from the best ones, without a last step."""
        return _Iterates(self.best, self.best, self.best)

    def drift(self) -> Array | None:
        """Lengths of the best ones, if they are huge or tiny: long before anything overflows."""
        lengths = lengths_of(self.best)
        if lengths.max() <= LARGEST_NORM and lengths.min() >= 1 / LARGEST_NORM:
            return None
        return lengths


class _Known(NamedTuple):
    """Products with the data at the best factors, as far as the last pass has made them.

    `sums` are what the components need of the codes, `codes_ratio` is `_codes_ratio`.
    """

    sums: Any = None
    codes_ratio: Any = None


def _scale_is_fixed(*sides: Side) -> bool:
    """Whether a penalty or a sparseness of rows fixes the scale of the factors."""
    return any(side.penalised or side.kind == "rows" for side in sides)


def _sweeps(p: int, k: int, exact: bool) -> tuple[int, int]:
    """Sweeps over the codes and over the components in a pass; -1 is an exact solution.

    A sweep costs k k per row, the linear terms p k. The number does not depend on that of the
    rows, so that weights mean the same as repetition.
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
    extrapolation, so that the accepted objectives never rise. With `exact` each factor is
    minimised over by block principal pivoting, without extrapolation [Kim & Park 2007]. It stops
    when the projected gradients of both factors, relative to the linear terms of their problems,
    are below `tol`, the components being taken at unit norm where no penalty fixes the scale, or
    when a pass lowers the objective by less than the fraction `min_decrease`.
    `history` holds the objectives of passes that were made before, and counts them.

    The rows may lie in blocks: a pass over them improves their codes and adds up what the
    components need; the objective is known after it, and the next pass carries out what follows.
    """
    sides = (codes_side, components_side)
    fixed = _scale_is_fixed(*sides)
    sweeps_W, sweeps_V = _sweeps(rows.shape[1], V.shape[1], exact)

    # start without extrapolation: best, last and next components are the same
    state = _Iterates(V, V, V)
    rows = rows.at_best()
    least = np.inf
    extrapolation = Extrapolation(off=exact)

    history = [] if history is None else list(history)
    it = Iterations(max_iter, tol, progress)
    since_look = 0
    cached_products = _Known()

    for _ in it:
        # 1. codes, extrapolated; those of given sparseness are solved for again anyway
        extra = extrapolation.length
        afresh = codes_side.kind == "rows" and it.n_iter % AFRESH == 0
        sweeps = MAX_SWEEPS + 1 if afresh else sweeps_W
        scales = scales_of(state.ahead, fixed)
        length = 0.0 if codes_side.kind == "rows" else extra
        rows, (sums, penalty) = rows.step(
            improved_codes, state.ahead, codes_side, sweeps, scales, length
        )

        # 2. components
        new = state.ahead.copy()
        moved = update(sums.terms(), components_side, new, sweeps=sweeps_V, scales=1 / scales)

        # 3. objective, and what rounding makes of it
        objective, noise = _objective(rows, new, components_side, moved.value, penalty)

        # 4. where extrapolation led astray, back to the best
        if extra and objective > least + 1e-15 * rows.sum_sq:
            state = state.back_to_best()
            rows = rows.decided(Decision(better=False, onward=False))
            extrapolation.led_astray()
            history.append(least)
            continue

        falls = least - objective
        # without extrapolation, all but rounding ends below
        better = objective <= least + noise
        if better:
            state = state._replace(best=new)
        rows = rows.decided(Decision(better=better))
        cached_products = _Known(sums if better else None)
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
        if drift is not None:  # lengths drift without a penalty
            state = _Iterates(*(components / drift for components in state))
            rows = rows.times(drift)
            cached_products = _Known()
        extrapolation.went_well()

        # 6. stopping rule: the residual of the codes costs a pass, so it is looked at rarely
        since_look += 1
        there = ratio(moved)
        if exact or (there <= tol and since_look >= 5) or falls <= 1e-15 * rows.sum_sq:
            codes_ratio = _codes_ratio(rows, state.best, codes_side, fixed)
            cached_products = cached_products._replace(codes_ratio=codes_ratio)
            it.residual = worst(codes_ratio, there)
            since_look = 0

    # measure the residual at the best factors, from products that are still valid
    residual = residual_of(rows, state.best, *sides, cached_products)
    course = (len(history), it.converged or residual <= tol, history)
    return FactorizationResult(rows.at_best(), state.best, least, residual, *course)


def _codes_ratio(rows: CodedRows, V: Array, side: Side, fixed: bool) -> float:
    """Projected gradient of the best codes relative to the linear terms."""
    looked = rows.sum(distance_of_codes, V, side, scales_of(V, fixed))
    return ratio(Update(*looked))


def _objective(
    rows: CodedRows, V: Array, components_side: Side, value: float, penalty: float
) -> tuple[float, float]:
    """Return the objective of the codes of the last pass, and its rounding error.

    `value` is what the update of the components reports, their penalty included, and `penalty`
    that of the codes. Where the short form cancels, the objective is computed from the residuals.
    """
    objective = rows.sum_sq / 2 + value + penalty
    if objective >= rows.cancelled / 2:
        return objective, rows.rounding

    # recompute from the residuals, which lose no digits
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
    """Codes for given components, and both at the scale and on the sets of the problem.

    Components that are not `given` by the user but a guess are improved without penalty first, in
    at most `max_iter` passes. Returns the rows, the components and the number of these passes.
    """
    V = project(components_side, V)
    if given or codes_side.kind == "rows":
        return rows.step(first_codes, V, codes_side, True)[0], V, 0

    # codes of the unconstrained kind, then projected
    if codes_side.kind not in ("nonnegative", "free"):
        return rows.step(first_codes, V, codes_side, False)[0], V, 0
    plain = Side(codes_side.kind)
    rows, _ = rows.step(first_codes, V, plain, False)

    n_passes = min(APART, max_iter)
    if n_passes and (codes_side.penalised or components_side.penalised):
        # components part ways before the penalty can switch some of them off
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


def _balance(side: Side, rows: CodedRows, other: Side, V: Array) -> float:
    """Scale of V (and 1 / scale of W) at which the penalties are smallest."""
    first, second = rows.sum(penalties_of_best, *_linear_and_squared(side))
    third, fourth = (penalty_value(each, V) for each in _linear_and_squared(other))
    if min(first + second, third + fourth) <= 0:
        return 1.0

    # search the scale on a grid, as the penalties are of degrees one and two
    c = np.logspace(-60, 60, 2401)
    with np.errstate(over="ignore"):
        penalties = first / c + second / c**2 + third * c + fourth * c**2
    return float(c[np.argmin(penalties)])


def _linear_and_squared(side: Side) -> tuple[Side, Side]:
    """Penalties that grow with the scale, and with its square."""
    return side._replace(l1_sq=0, l2=0), side._replace(l1=0)


def residual_of(
    rows: CodedRows,
    V: Array,
    codes_side: Side,
    components_side: Side,
    cached_products: _Known = _Known(),  # noqa: B008
) -> float:
    """Relative projected gradient of both factors, the larger of the two: the KKT residual.

    Zero exactly at stationary points. The components are taken at unit norm where no penalty
    fixes the scale, so that it does not depend on the units of the data or of the factors.
    """
    fixed = _scale_is_fixed(codes_side, components_side)
    # products with the data that the last pass has not made
    sums, codes_ratio = cached_products
    if codes_ratio is None:
        codes_ratio = _codes_ratio(rows, V, codes_side, fixed)
    if sums is None:
        (sums,) = rows.sum(sums_of_best)

    scales = 1 / scales_of(V, fixed)
    components = update(sums.terms(), components_side, V, sweeps=0, scales=scales)
    return worst(codes_ratio, ratio(components))


def worst(*residuals: float) -> float:
    """Return the largest of numbers, and not a number where one of them is none."""
    return float(np.max(residuals))


def idle_components(rows: CodedRows, V: Array) -> Array:
    """Components that are zero or that no row uses."""
    (uses,) = rows.sum(uses_of_best)
    return ~V.any(axis=0) | (uses == 0)


def revive(
    rows: CodedRows, V: Array, side: Side, idle: Array
) -> tuple[CodedRows, Array] | None:
    """Replace idle components by what some row lacks most; None if there is nothing to do.

    A factorisation with a component of zeros is stationary, and no minimum while X is not met.
    """
    dead = np.flatnonzero(idle)
    if not len(dead):
        return None

    # rows of which most is missing
    (worst_rows,) = rows.sum(lacking_rows, V, side, len(dead))
    worth = worst_rows.sizes > 1e-12 * rows.sum_sq
    if not worth.any():
        return None

    # what they lack as components as long as the others, which no row uses yet
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
    """Non-negative parts of the right singular vectors [Boutsidis & Gallopoulos 2008], (p, k).

    Each component is the positive or the negative part of a singular vector, whichever belongs to
    the larger product with its left one, at unit norm. Components beyond the rank are random.
    With `codes` the parts are those of the left vectors, and the components fit them best.
    """
    X = data.to_start_from()
    if data.weights is not None:
        root = np.sqrt(data.weights)
        X = sparse.csr_array(X.multiply(root[:, None])) if is_sparse(X) else X * root[:, None]

    # singular vectors, the left ones scaled
    V = _right_singular_vectors(X, k, rng)
    U = np.asarray(X @ V.astype(X.dtype, copy=False), dtype=np.float64)

    out = np.zeros((data.shape[1], k))
    top = 0.0

    # of each pair the sign whose positive part is larger
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
    # few rows or columns: eigenvectors of the smaller Gram matrix
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

    # Lanczos iterations
    values = X.data if is_sparse(X) else X
    if not values.any():
        return np.zeros((p, k))
    smaller = min(n, p)
    start = rng.uniform(-1, 1, size=smaller).astype(X.dtype)
    n_vectors = min(k, smaller - 1)
    _, _, Vt = sparse.linalg.svds(X, k=n_vectors, v0=start, tol=1e-3)
    return np.asarray(Vt[::-1].T, dtype=np.float64)
