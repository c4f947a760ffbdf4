"""Factorisations ``X ~ W H`` by alternation; factors non-negative, free or of given sparseness.

Notation: X (n, p), codes W (n, k), components H (k, p); the components are kept as ``V = H'``, so
that both factors are updated row by row with the same functions.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import eigen_range
from skmoderndata._solvers.common.nnls import descend_rows, nnls
from skmoderndata._solvers.common.projections import project_sparseness
from skmoderndata._solvers.factors.extrapolation import Extrapolation
from skmoderndata._solvers.factors.sparseness_cone import cone_codes, descend_cone
from skmoderndata._typing import Array

Kind = Literal["nonnegative", "free", "columns_unit", "columns", "rows"]

BLOCK_BYTES = 2**26  # of Gram matrices held at once where entries are missing
MAX_SWEEPS = 10  # of coordinate descent on one factor, at most
ROUNDS = 2  # in a pass on codes of rows of given sparseness
START_SWEEPS = 200  # of coordinate descent on the first codes, at most
AFRESH = 20  # passes after which such codes are looked for from several starts again
CANCELLED = 0.5  # power of the rounding unit: sums of squares below it are summed once more
LARGEST_NORM = 1e4  # norms of components at which they are brought back to 1
APART = 20  # passes without penalty before the first with it


class Side(NamedTuple):
    """What one factor may look like, and what it costs.

    The penalty is ``l1 sum z + l1_sq / 2 sum_rows (sum z)^2 + l2 / 2 sum z^2``. `kind`:
    "nonnegative"; "free"; or with sparseness `level` of the columns at unit norm
    ("columns_unit") or any norm ("columns"), or of the rows at any norm ("rows").
    """

    kind: Kind = "nonnegative"
    l1: float = 0.0
    l1_sq: float = 0.0
    l2: float = 0.0
    level: float = 0.0

    @property
    def penalised(self) -> bool:
        """Whether there is a penalty, which fixes the scale."""
        return bool(self.l1 or self.l1_sq or self.l2)


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array."""
    return bool(sparse.issparse(X))


def lengths_of(V: Array) -> Array:
    """Euclidean norms of the columns, 1 where a column vanishes."""
    size: Array = np.sqrt((V * V).sum(axis=0))
    return np.where(size > 0, size, 1.0)


class Data:
    """The matrix, seen from both factors.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, p)
        With zeros in place of missing entries.
    observed : bool array of shape (n, p), optional
        None when every entry is observed.
    weights : array of shape (n,), optional
        Weights of the rows, penalties included.
    cells : array of shape (n, p), optional
        Weights of the squared residuals, 0 where an entry is missing; they multiply those of the
        rows. None when all observed entries count alike.
    """

    def __init__(
        self,
        X: Any,
        observed: Array | None = None,
        weights: Array | None = None,
        cells: Array | None = None,
    ):
        self.X = X
        self.weights = weights
        self.observed = observed
        self.cells = cells
        self.shape: tuple[int, int] = X.shape

        # what each entry counts, seen from codes and from components
        self._masks: list[Array] | None = None
        counts = observed if cells is None else cells
        if counts is not None:
            self._masks = [counts.astype(X.dtype), np.ascontiguousarray(counts.T, X.dtype)]
        self._weighted = X if cells is None else X * cells.astype(X.dtype)  # (n, p)

        # |X|^2 for errors that are differences
        if cells is not None:
            rows = self.row_sums(np.asarray(X, dtype=np.float64), slice(None))
            self.sum_sq = float(rows.sum() if weights is None else weights @ rows)
        elif weights is None:
            values = X.data if is_sparse(X) else X
            flat = values.ravel()
            self.sum_sq = float(np.dot(flat, flat))
        else:
            squares = X.multiply(X) if is_sparse(X) else X * X
            rows = np.asarray(squares.sum(axis=1), dtype=np.float64)
            self.sum_sq = float(weights @ rows.ravel())

    @classmethod
    def of(cls, X: Any, weights: Array | None = None, cells: Array | None = None) -> "Data":
        """Return the data of a matrix, where NaN marks the missing entries of a dense one."""
        if is_sparse(X):
            return cls(sparse.csr_array(X), None, weights)
        missing = np.isnan(X)
        if not missing.any():
            return cls(X, None, weights, cells)
        filled = np.where(missing, X.dtype.type(0), X)
        return cls(filled, ~missing, weights, cells)

    def row_sums(self, R: Array, rows: slice) -> Array:
        """Sum the squares of each row of residuals, each entry with its weight."""
        if self.cells is None:
            return np.einsum("ij,ij->i", R, R)
        return np.einsum("ij,ij,ij->i", self.cells[rows], R, R)

    def to_start_from(self) -> Any:
        """Return X, with entries of less than the median weight shrunk in proportion to it.

        Missing entries are zero already. Spectra of this are starts: no entry that counts little
        leads them astray, nor one that counts much.
        """
        if self.cells is None:
            return self.X
        usual = float(np.median(self.cells[self.cells > 0]))
        return self.X * np.minimum(self.cells / usual, 1.0).astype(self.X.dtype)

    @property
    def cancelled(self) -> float:
        """Size below which the difference of sums of squares is little but their rounding."""
        return float(self.sum_sq * np.finfo(self.X.dtype).eps ** CANCELLED)

    def terms(self, other: Array, codes: bool) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows, Gram matrices and linear terms of the problem of one factor given the other.

        Only with missing or weighted entries there is more than one block, with a Gram matrix for
        each row.
        """
        narrow = other.astype(self.X.dtype, copy=False)
        if not codes and self.weights is not None:
            weighted = other * self.weights[:, None]
            heavy = weighted.astype(self.X.dtype, copy=False)
        else:
            weighted = other
            heavy = narrow

        # the linear terms, and one Gram matrix for all rows without gaps
        F = (self._weighted if codes else self._weighted.T) @ heavy
        F = np.ascontiguousarray(F, dtype=np.float64)
        if self._masks is None:
            yield slice(0, len(F)), other.T @ weighted, F
            return

        # gaps or weights: a Gram matrix for each row, from the products of the components that it
        # sees
        mask = self._masks[0 if codes else 1]
        k = other.shape[1]
        i, j = np.tril_indices(k)
        pairs = other[:, i] * weighted[:, j]
        pairs = pairs.astype(self.X.dtype, copy=False)
        size = max(1, BLOCK_BYTES // (8 * k * k))

        for first in range(0, len(F), size):
            rows = slice(first, min(first + size, len(F)))
            packed = mask[rows] @ pairs
            G = np.empty((len(packed), k, k))
            G[:, i, j] = packed
            G[:, j, i] = packed
            yield rows, G, F[rows]


class SummedData(NamedTuple):
    """Rows that were seen before, as the sums that the problem of the components needs.

    `S` is codes' codes, `T` is X' codes, `sum_sq` the sum of squares of X, and `penalty` that of
    the codes.
    """

    S: Array
    T: Array
    sum_sq: float
    penalty: float = 0.0
    weights: None = None

    def terms(self, other: Array, codes: bool) -> Iterator[tuple[slice, Array, Array]]:
        """Yield the one problem there is; `other` is in the sums already."""
        yield slice(0, len(self.T)), self.S, self.T

    def plus(self, S: Array, T: Array, sum_sq: float, penalty: float) -> "SummedData":
        """Return the sums with those of further rows."""
        return SummedData(self.S + S, self.T + T, self.sum_sq + sum_sq, self.penalty + penalty)

    def with_codes_times(self, size: Array) -> "SummedData":
        """Return the sums for codes whose columns are multiplied by `size`."""
        return self._replace(S=self.S * size * size[:, None], T=self.T * size)


class Update(NamedTuple):
    """What is known after one factor was updated (or only looked at)."""

    value: float  # linear and quadratic terms of the objective with the penalty of this factor
    residual_sq: float  # squared norm of the projected gradient
    size_sq: float  # squared norm of the linear terms


def update(
    data: Data | SummedData,
    side: Side,
    other: Array,
    Z: Array,
    *,
    codes: bool,
    sweeps: int,
    scales: Array,
) -> Update:
    """Lower the objective over the factor Z, in place; `sweeps` 0 looks only, -1 is exact.

    More than `MAX_SWEEPS` go on until nothing moves, and ask for several starts for codes of rows
    of given sparseness.

    `scales` are the norms by which the columns of Z have to be multiplied for the residual.
    """
    total = np.zeros(3)
    k = Z.shape[1]
    # one compiled call for all rows where columns are constrained, else bounded ones
    cost = 0.0 if side.kind.startswith("columns") else _cost(side, k)

    # rows with their Gram matrices, penalties added
    for rows, G, F in data.terms(other, codes):
        if side.l1_sq or side.l2:
            G = G + (side.l1_sq + side.l2 * np.eye(k))
        if side.l1:
            F = F - side.l1

        for block in row_blocks(len(F), cost):
            g = G[block] if G.ndim == 3 else G
            f = F[block]
            z = Z[rows][block]
            Y = _improve(side, g, f, z, sweeps)

            # values, gradients and their units, weighted
            gradient = violation(side, g, z, Y) / scales
            linear = (f + side.l1) / scales
            terms = (z * (Y - f) / 2, gradient * gradient, linear * linear)
            if codes and data.weights is not None:
                weights = data.weights[rows][block]
                total += [weights @ each.sum(axis=1) for each in terms]
            else:
                total += [each.sum() for each in terms]

    return Update(*total.tolist())


def _cost(side: Side, k: int) -> float:
    """Bound on the multiplications for one row: sweeps, or Newton steps on all entries."""
    return 100.0 * k**3 if side.kind == "rows" else float(MAX_SWEEPS * k * k)


def violation(side: Side, G: Array, Z: Array, Y: Array) -> Array:
    """Projected gradient, or for sets that are not convex the step of a projected gradient."""
    if side.kind == "free":
        return Y
    if side.kind == "nonnegative":
        return np.where(Z > 0, Y, np.minimum(Y, 0))
    steep = _steepness(side, G)
    return steep * (Z - project(side, Z - Y / steep))


def project(side: Side, Z: Array) -> Array:
    """Nearest point of the set of a factor."""
    if side.kind == "free":
        return Z
    if side.kind == "nonnegative":
        return np.maximum(Z, 0)
    if side.kind == "rows":
        return project_sparseness(Z, side.level)
    norm = 1.0 if side.kind == "columns_unit" else None
    return project_sparseness(Z.T, side.level, norm=norm).T


def _steepness(side: Side, G: Array) -> Any:
    """Bound on the curvature: the largest eigenvalue, or norms where rows have Gram matrices.

    It is one for each row where rows are independent.
    """
    if G.ndim == 2:
        top = np.linalg.eigvalsh(G)[-1]
    else:
        top = np.sqrt(np.einsum("ijk,ijk->i", G, G))
        top = top[:, None] if side.kind == "rows" else top.max()
    return np.maximum(top, 1e-300)


def _gradient(G: Array, F: Array, z: Array) -> Array:
    return np.einsum("mj,mjk->mk", z, G) - F if G.ndim == 3 else z @ G - F


def _improve(side: Side, G: Array, F: Array, z: Array, sweeps: int) -> Array:
    """Improve z in place and return the gradient ``z G - F`` there."""
    # unconstrained, or exactly: the solution itself
    each = G.ndim == 3
    if side.kind == "free" and sweeps:
        z[:] = least_squares(G, F)
    elif side.kind == "nonnegative" and sweeps < 0:
        z[:] = nnls(G, F, start=z).Z

    Y = _gradient(G, F, z)
    if sweeps <= 0 or side.kind == "free":
        return Y

    # non-negative entries: coordinate descent
    if side.kind == "nonnegative":
        enough = 0.03 if sweeps <= MAX_SWEEPS else 1e-12
        descend_rows(G if each else G[None], z, Y, sweeps, enough)
        return Y

    # rows of given sparseness
    if side.kind == "rows":
        if sweeps > MAX_SWEEPS or not 0 < side.level < 1:
            z[:] = cone_codes(G, F, side.level, start=z)
        else:
            descend_cone(G, F, z, side.level, rounds=ROUNDS)
        return _gradient(G, F, z)

    norm = 1.0 if side.kind == "columns_unit" else None
    # a column at a time, each to its minimum; with Gram matrices of rows to that of a bound
    curves = np.einsum("...jj->...j", G)
    if each:
        curves = curves.max(axis=0)
    for _ in range(sweeps):
        for j in range(z.shape[1]):
            if curves[j] <= 0:
                continue

            wanted = z[:, j] - Y[:, j] / curves[j]
            new = project_sparseness(wanted[None], side.level, norm=norm)[0]
            change = (new - z[:, j])[:, None]
            Y += change * G[..., j, :]
            z[:, j] = new
    return Y


def least_squares(G: Array, F: Array) -> Array:
    """Solutions of ``z G = f`` for each row, of minimum norm where G is singular."""
    if G.ndim == 2:
        return F @ linalg.pinvh(G)
    inverse = np.linalg.pinv(G, hermitian=True, rcond=1e-12)
    return np.einsum("mj,mjk->mk", F, inverse)


class Factors(NamedTuple):
    """Codes and components, whose product is the fit."""

    W: Array
    V: Array  # (p, k)

    def scaled(self, lengths: Array) -> "Factors":
        """Divide the components by `lengths`, and multiply the codes by them."""
        return Factors(self.W * lengths, self.V / lengths)


class FactorizationResult(NamedTuple):
    """Factors, how good they are, and how it went."""

    codes: Array
    components: Array  # (p, k)
    objective: float
    residual: float
    n_iter: int
    converged: bool
    history: list[float]


class _Iterates(NamedTuple):
    """Factors of a pass: the best so far, the last ones, and those extrapolated from them."""

    best: Factors
    last: Factors
    ahead: Factors

    def back_to_best(self) -> "_Iterates":
        """Where extrapolation led astray: go on from the best factors, without a last step."""
        return _Iterates(self.best, self.best, self.best)

    def balanced(self) -> "_Iterates":
        """Bring components of huge or tiny norm back to 1, long before anything overflows."""
        lengths = lengths_of(self.best.V)
        if lengths.max() <= LARGEST_NORM and lengths.min() >= 1 / LARGEST_NORM:
            return self
        return _Iterates(*(factors.scaled(lengths) for factors in self))


def penalty_value(side: Side, Z: Array, weights: Array | None = None) -> float:
    """Penalty of a factor."""
    if not side.penalised:
        return 0.0
    sums = Z.sum(axis=1)
    squares = (Z * Z).sum(axis=1)
    rows = side.l1 * sums + side.l1_sq / 2 * sums**2 + side.l2 / 2 * squares
    total = rows.sum() if weights is None else weights @ rows
    return float(total)


def scales_of(V: Array, fixed: bool) -> Array:
    """Norms of the components; ones where a penalty fixes the scale."""
    return np.ones(V.shape[1]) if fixed else lengths_of(V)


def _scale_is_fixed(*sides: Side) -> bool:
    """Whether a penalty or a sparseness of rows fixes the scale of the factors."""
    return any(side.penalised or side.kind == "rows" for side in sides)


def _codes_ratio(data: Data, side: Side, W: Array, V: Array, fixed: bool) -> float:
    """Projected gradient of the codes relative to the linear terms."""
    scales = scales_of(V, fixed)
    looked = update(data, side, V, W, codes=True, sweeps=0, scales=scales)
    return ratio(looked)


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
    data: Data,
    W: Array,
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
    """
    fixed = _scale_is_fixed(codes_side, components_side)
    sweeps_W, sweeps_V = _sweeps(data.shape[1], W.shape[1], exact)

    start = Factors(W.copy(), V.copy())
    state = _Iterates(start, start, start)
    least = np.inf
    extrapolation = Extrapolation(off=exact)

    history = [] if history is None else list(history)
    it = Iterations(max_iter, tol, progress)
    since_look = 0

    for _ in it:
        # 1. codes, extrapolated
        extra = extrapolation.length
        Wy, Vy = state.ahead
        W_new = Wy.copy()
        afresh = codes_side.kind == "rows" and it.n_iter % AFRESH == 0
        sweeps = MAX_SWEEPS + 1 if afresh else sweeps_W
        scales = scales_of(Vy, fixed)
        update(data, codes_side, Vy, W_new, codes=True, sweeps=sweeps, scales=scales)

        # codes of given sparseness are solved for again anyway
        extended = extra and codes_side.kind != "rows"
        Wy = _extrapolated(codes_side, W_new, state.last.W, extra) if extended else W_new

        # 2. components
        V_new = Vy.copy()
        scales = 1 / scales_of(V_new, fixed)
        moved = update(
            data, components_side, Wy, V_new, codes=False, sweeps=sweeps_V, scales=scales
        )

        # 3. objective, and what rounding makes of it
        ahead = Factors(Wy, V_new)
        objective, noise = _objective(data, ahead, codes_side, components_side, moved.value)

        # 4. where extrapolation led astray, back to the best
        if extra and objective > least + 1e-15 * data.sum_sq:
            state = state.back_to_best()
            extrapolation.led_astray()
            history.append(least)
            continue

        falls = least - objective
        if objective <= least + noise:  # without extrapolation, all but rounding ends below
            state = state._replace(best=ahead)
        least = min(least, objective)
        history.append(least)

        if min_decrease and falls < min_decrease * least:
            it.ended = True
            continue

        # 5. extrapolate the components
        Vy = _extrapolated(components_side, V_new, state.last.V, extra) if extra else V_new
        state = _Iterates(state.best, Factors(W_new, V_new), Factors(Wy, Vy))
        if not fixed and codes_side.kind == "nonnegative":  # lengths drift without a penalty
            state = state.balanced()
        extrapolation.went_well()

        # 6. stopping rule: the residual of the codes costs a pass, so it is looked at rarely
        since_look += 1
        there = ratio(moved)
        if exact or (there <= tol and since_look >= 5) or falls <= 1e-15 * data.sum_sq:
            it.residual = worst(_codes_ratio(data, codes_side, *state.best, fixed), there)
            since_look = 0

    residual = residual_of(data, *state.best, codes_side, components_side)
    done = it.converged or residual <= tol
    return FactorizationResult(*state.best, least, residual, len(history), done, history)


def _extrapolated(side: Side, new: Array, last: Array, length: float) -> Array:
    """Nearest factor to the point beyond the new one, `length` times the last step away."""
    return project(side, new + length * (new - last))


def _objective(
    data: Data,
    factors: Factors,
    codes_side: Side,
    components_side: Side,
    components_value: float,
) -> tuple[float, float]:
    """Return the objective and its rounding error.

    `components_value` is what the update of the components reports, their penalty included. Where
    the short form cancels, the objective is computed from the residuals.
    """
    penalty = penalty_value(codes_side, factors.W, data.weights)
    objective = data.sum_sq / 2 + components_value + penalty
    if objective >= data.cancelled / 2:
        return objective, float(np.finfo(data.X.dtype).eps) * data.sum_sq

    penalty += penalty_value(components_side, factors.V)
    error = squared_error(data, *factors)
    return error / 2 + penalty, 0.0


def codes_for(data: Data, V: Array, side: Side, *, exact: bool = True) -> Array:
    """Codes for given components: exact, or the best of some where rows have a given sparseness.

    The code of a row depends on that row alone. Not `exact`, coordinate descent replaces
    pivoting: good enough to start from, and a third less to compile.
    """
    k = V.shape[1]
    W = np.zeros((data.shape[0], k))
    if side.kind != "rows":
        plain = side if side.kind in ("nonnegative", "free") else Side()
        sweeps = -1 if exact else START_SWEEPS
        update(data, plain, V, W, codes=True, sweeps=sweeps, scales=np.ones(k))
        return project(side, W) if side is not plain else W

    for rows, G, F in data.terms(V, True):
        for block in row_blocks(len(F), _cost(side, k)):
            g = G[block] if G.ndim == 3 else G
            W[rows][block] = cone_codes(g, F[block], side.level)
    return W


def start_from(
    data: Data, V: Array, codes_side: Side, components_side: Side, *, given: bool = False
) -> tuple[Array, Array]:
    """Codes for given components, and both at the scale and on the sets of the problem.

    Components that are not `given` by the user but a guess are improved without penalty first.
    """
    V = project(components_side, V)
    if given:
        return codes_for(data, V, codes_side), V

    plain = Side("free" if codes_side.kind == "free" else "nonnegative")
    if codes_side.kind == "rows":
        return codes_for(data, V, codes_side), V

    # codes of the unconstrained kind, then projected
    W = codes_for(data, V, plain, exact=False)
    if codes_side.kind not in ("nonnegative", "free"):
        return project(codes_side, W), V

    if codes_side.penalised or components_side.penalised:
        # components part ways before the penalty can switch some of them off
        sides: Any = {"codes_side": plain, "components_side": plain}
        apart = factorize(data, W, V, **sides, max_iter=APART, tol=1e-2, min_decrease=1e-3)
        W = apart.codes
        V = apart.components
        factor = _balance(codes_side, W, components_side, V, data.weights)
        W = W / factor
        V = V * factor
    return W, V


def _balance(side: Side, W: Array, other: Side, V: Array, weights: Array | None) -> float:
    """Scale of V (and 1 / scale of W) at which the penalties are smallest."""
    first = penalty_value(side._replace(l1_sq=0, l2=0), W, weights)
    second = penalty_value(side._replace(l1=0), W, weights)
    third = penalty_value(other._replace(l1_sq=0, l2=0), V)
    fourth = penalty_value(other._replace(l1=0), V)
    if min(first + second, third + fourth) <= 0:
        return 1.0
    c = np.logspace(-60, 60, 2401)
    with np.errstate(over="ignore"):
        penalties = first / c + second / c**2 + third * c + fourth * c**2
    return float(c[np.argmin(penalties)])


def ratio(update: Update) -> float:
    """Norm of the projected gradient relative to that of the linear terms."""
    return float(np.sqrt(update.residual_sq / (update.size_sq or 1.0)))


def residual_of(
    data: Data, W: Array, V: Array, codes_side: Side, components_side: Side
) -> float:
    """Relative projected gradient of both factors, the larger of the two: the KKT residual.

    Zero exactly at stationary points. The components are taken at unit norm where no penalty
    fixes the scale, so that it does not depend on the units of the data or of the factors.
    """
    fixed = _scale_is_fixed(codes_side, components_side)
    scales = 1 / scales_of(V, fixed)
    components = update(data, components_side, W, V, codes=False, sweeps=0, scales=scales)
    of_codes = _codes_ratio(data, codes_side, W, V, fixed)
    return worst(of_codes, ratio(components))


def worst(*residuals: float) -> float:
    """Return the largest of numbers, and not a number where one of them is none."""
    return float(np.max(residuals))


def residual_blocks(data: Data, W: Array, V: Array) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of rows of ``X - W V'``, zero where entries are missing."""
    n, p = data.shape
    block = max(1, BLOCK_BYTES // (8 * p))
    for first in range(0, n, block):
        rows = slice(first, min(first + block, n))
        X: Any = data.X[rows]
        dense = X.toarray() if is_sparse(X) else X
        R = dense - W[rows] @ V.T
        if data.observed is not None:
            R *= data.observed[rows]
        yield rows, R


def squared_error(data: Data, W: Array, V: Array) -> float:
    """Sum of squared residuals over observed entries, weighted by rows and by entries."""
    if is_sparse(data.X):
        error, size = _error_of_sums(data, W, V)
        if error > size * np.finfo(np.float64).eps ** CANCELLED:
            return error
    total = 0.0
    for rows, R in residual_blocks(data, W, V):
        squares = data.row_sums(R, rows)
        weighted = squares.sum() if data.weights is None else data.weights[rows] @ squares
        total += float(weighted)
    return total


def _error_of_sums(data: Data, W: Array, V: Array) -> tuple[float, float]:
    """Squared error from the stored entries alone, and the size of the terms that cancel in it."""
    X: Any = data.X.astype(np.float64, copy=False)
    heavy = W if data.weights is None else W * data.weights[:, None]
    squares = X.data**2
    if data.weights is not None:
        squares *= np.repeat(data.weights, np.diff(X.indptr))
    products = (X.T @ heavy) * V
    squared_fit = (W.T @ heavy) * (V.T @ V)
    met = float(products.sum())
    model = float(squared_fit.sum())
    size = float(squares.sum()) + model
    return size - 2 * met, size


def revive(data: Data, W: Array, V: Array) -> bool:
    """Replace components of zeros by what some row lacks most; False if there is nothing to do.

    A factorisation with a component of zeros is stationary, and no minimum while X is not met.
    """
    dead = np.flatnonzero(~V.any(axis=0) | ~W.any(axis=0))
    if not len(dead):
        return False

    # rows of which most is missing
    sizes = np.empty(0)
    lacks = np.empty((0, data.shape[1]))
    for rows, R in residual_blocks(data, W, V):
        lack = np.maximum(R, 0)
        size = data.row_sums(lack, rows)
        first = np.argsort(-size, kind="stable")[: len(dead)]
        sizes = np.append(sizes, size[first])
        lacks = np.vstack([lacks, lack[first]])

    first = np.argsort(-sizes, kind="stable")[: len(dead)]
    worth = sizes[first] > 1e-12 * data.sum_sq
    first = first[worth]

    for j, row in zip(dead, first, strict=False):
        V[:, j] = lacks[row] / np.sqrt(sizes[row])
        W[:, j] = 0.0
    return len(first) > 0


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
                out[:, j] = X.T @ np.maximum(sign * u, 0) if codes else np.maximum(sign * v, 0)

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
