"""Update a factor of ``X ~ W H``, with the other fixed: non-negative, free or of given sparseness.

Notation: X (n, p), codes W (n, k), components H (k, p). The components are stored as ``V = H'``,
so that the same functions update codes and components row by row.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.blocks import BLOCK_BYTES, row_blocks
from skmoderndata._solvers.common.nnls import descend_rows, nnls
from skmoderndata._solvers.common.projections import project_sparseness
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.sparseness_cone import cone_codes, descend_cone

Terms = Iterator[tuple[slice, Array, Array]]  # rows, Gram matrices, linear terms
Kind = Literal["nonnegative", "free", "columns_unit", "columns", "rows"]


# Maximum number of coordinate descent sweeps over one factor.
MAX_SWEEPS = 10

# Number of rounds in one pass over codes of rows whose sparseness is prescribed.
ROUNDS = 2

# Maximum number of coordinate descent sweeps for the initial codes.
START_SWEEPS = 200

# Movement in a sweep, as a fraction of the movement in the first sweep, below which sweeps stop.
ENOUGH = 0.03


class Side(NamedTuple):
    """Constraints and penalty of one factor.

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
        """True if there is a penalty, which fixes the scale."""
        return bool(self.l1 or self.l1_sq or self.l2)


def is_sparse(X: Any) -> bool:
    """Return True if X is a sparse matrix or array."""
    return bool(sparse.issparse(X))


def least_difference(sum_sq: float, dtype: Any) -> float:
    """Return the size below which a difference of sums of squares is mainly rounding error."""
    return float(sum_sq * np.sqrt(np.finfo(dtype).eps))


def lengths_of(V: Array) -> Array:
    """Return the Euclidean norms of the columns, 1 for columns of zeros."""
    size: Array = np.sqrt((V * V).sum(axis=0))
    return np.where(size > 0, size, 1.0)


class Data:
    """The matrix, in the forms that updates of codes and components need.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, p)
        Data, with zeros in place of missing entries.
    observed : bool array of shape (n, p), optional
        Mask of the observed entries. None if every entry is observed.
    weights : array of shape (n,), optional
        Weights of the rows, which also multiply the penalties of their codes.
    cells : array of shape (n, p), optional
        Weights of the squared residuals, 0 for missing entries; they multiply the weights of the
        rows. None if all observed entries have equal weights.
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

        # store the weights of the entries in the layouts for codes and for components
        self._masks: list[Array] | None = None
        counts = observed if cells is None else cells
        if counts is not None:
            self._masks = [counts.astype(X.dtype), np.ascontiguousarray(counts.T, X.dtype)]
        self._weighted = X if cells is None else X * cells.astype(X.dtype)  # (n, p)

    @cached_property
    def sum_sq(self) -> float:
        """Weighted sum of the squares of X, for errors that are computed as differences."""
        if self.cells is not None:
            rows = self.row_sums(np.asarray(self.X, dtype=np.float64), slice(None))
            return float(rows.sum() if self.weights is None else self.weights @ rows)
        if self.weights is not None:
            squares = self.X.multiply(self.X) if is_sparse(self.X) else self.X * self.X
            rows = np.asarray(squares.sum(axis=1, dtype=np.float64))
            return float(self.weights @ rows.ravel())

        values = self.X.data if is_sparse(self.X) else self.X
        flat = values.ravel()
        if flat.dtype == np.float64:
            return float(np.dot(flat, flat))
        return float(np.einsum("i,i->", flat, flat, dtype=np.float64))

    @classmethod
    def of(cls, X: Any, weights: Array | None = None, cells: Array | None = None) -> "Data":
        """Return the data of a matrix; NaN marks missing entries of a dense matrix."""
        if is_sparse(X):
            return cls(sparse.csr_array(X), None, weights)
        missing = np.isnan(X)
        if not missing.any():
            return cls(X, None, weights, cells)
        filled = np.where(missing, X.dtype.type(0), X)
        return cls(filled, ~missing, weights, cells)

    def row_sums(self, R: Array, rows: slice) -> Array:
        """Return the weighted sum of squares of each row of residuals."""
        if self.cells is None:
            return np.einsum("ij,ij->i", R, R)
        return np.einsum("ij,ij,ij->i", self.cells[rows], R, R)

    def to_start_from(self) -> Any:
        """Return X, with entries below the median weight shrunk in proportion to their weight.

        Missing entries are zero already. Starts come from the spectrum of the result, which
        neither entries with small weights nor entries with large weights distort.
        """
        if self.cells is None:
            return self.X
        usual = float(np.median(self.cells[self.cells > 0]))
        return self.X * np.minimum(self.cells / usual, 1.0).astype(self.X.dtype)

    @property
    def cancelled(self) -> float:
        """Size below which a difference of sums of squares is mainly rounding error."""
        return least_difference(self.sum_sq, self.X.dtype)

    def terms(self, V: Array) -> Terms:
        """Yield rows, Gram matrices and linear terms of the problem of the codes.

        There is a single block with one Gram matrix, unless entries are missing or weighted: then
        each row has its own Gram matrix.
        """
        F = np.ascontiguousarray(self._weighted @ self._narrow(V), dtype=np.float64)
        if self._masks is None:
            yield slice(0, len(F)), V.T @ V, F
            return

        # if entries are missing or weighted, sum the products of the components over the observed
        # entries of each row
        pairs = self._narrow(_pairs(V, V))
        for rows in _gram_blocks(len(F), V.shape[1]):
            yield rows, _unpacked(self._masks[0][rows] @ pairs, V.shape[1]), F[rows]

    def sums(self, W: Array) -> "SummedData":
        """Return the sums over these rows and their codes that determine the components."""
        weighted = W if self.weights is None else W * self.weights[:, None]
        narrow = self._narrow(weighted)
        T = np.ascontiguousarray(self._weighted.T @ narrow, dtype=np.float64)
        weight = float(len(W) if self.weights is None else self.weights.sum())
        if self._masks is None:
            return SummedData(W.T @ weighted, T, weight=weight)

        # compute the lower triangle of the Gram matrix of each column, summed over the rows in
        # which the column is observed
        mask = self._masks[1]
        k = W.shape[1]
        pairs = self._narrow(_pairs(W, weighted))
        packed = [mask[columns] @ pairs for columns in _gram_blocks(len(T), k)]
        S = np.concatenate(packed, dtype=np.float64)
        return SummedData(S, T, by_column=True, weight=weight)

    def _narrow(self, factor: Array) -> Array:
        return factor.astype(self.X.dtype, copy=False)


def _pairs(A: Array, B: Array) -> Array:
    """Multiply pairs of columns, for the lower triangles of Gram matrices."""
    i, j = np.tril_indices(A.shape[1])
    return A[:, i] * B[:, j]


def _unpacked(packed: Array, k: int) -> Array:
    """Return Gram matrices from their lower triangles."""
    i, j = np.tril_indices(k)
    G = np.empty((len(packed), k, k))
    G[:, i, j] = packed
    G[:, j, i] = packed
    return G


def _gram_blocks(n: int, k: int) -> Iterator[slice]:
    """Yield blocks of rows whose Gram matrices fit into memory together."""
    return row_blocks(n, 8.0 * k * k, limit=BLOCK_BYTES)


class SummedData(NamedTuple):
    """Sums over rows that determine the components; sums of blocks add up.

    `S` is ``W' W``. With `by_column` it has a row for each column of X: the lower triangle of
    ``W' W`` over the rows that observe the column. `T` is ``X' W``, `sum_sq` the sum of squares of
    X, `penalty` the penalty of the codes, and `weight` the sum of the weights of the rows.
    """

    S: Array
    T: Array
    sum_sq: float = 0.0
    penalty: float = 0.0
    by_column: bool = False
    weight: float = 0.0

    def __add__(self, other: "SummedData") -> "SummedData":  # type: ignore[override]
        # use sums for each column if only one of the two has missing entries
        if self.by_column != other.by_column:
            return self._of_columns() + other._of_columns()
        return SummedData(
            S=self.S + other.S,
            T=self.T + other.T,
            sum_sq=self.sum_sq + other.sum_sq,
            penalty=self.penalty + other.penalty,
            by_column=self.by_column,
            weight=self.weight + other.weight,
        )

    def times(self, factor: float) -> "SummedData":
        """Return the sums for row weights multiplied by a factor."""
        return SummedData(
            S=factor * self.S,
            T=factor * self.T,
            sum_sq=factor * self.sum_sq,
            penalty=factor * self.penalty,
            by_column=self.by_column,
            weight=factor * self.weight,
        )

    def without(self, components: Array) -> "SummedData":
        """Return the sums with the codes of some components set to zero."""
        factors = np.where(components, 0.0, 1.0)
        return self.with_codes_times(factors)

    def _of_columns(self) -> "SummedData":
        if self.by_column:
            return self
        packed = self.S[np.tril_indices(len(self.S))]
        return self._replace(S=np.tile(packed, (len(self.T), 1)), by_column=True)

    def terms(self) -> Terms:
        """Yield columns, Gram matrices and linear terms of the problem of the components."""
        if not self.by_column:
            yield slice(0, len(self.T)), self.S, self.T
            return
        k = self.T.shape[1]
        for columns in _gram_blocks(len(self.T), k):
            yield columns, _unpacked(self.S[columns], k), self.T[columns]

    def with_codes_times(self, size: Array) -> "SummedData":
        """Return the sums for codes with columns multiplied by `size`."""
        return self._replace(S=self.S * size * size[:, None], T=self.T * size)


class Update(NamedTuple):
    """Measures of a factor after an update, or without one."""

    value: float  # part of the objective that depends on this factor
    residual_sq: float  # squared norm of the projected gradient
    size_sq: float  # squared norm of the linear terms


def update(
    terms: Terms,
    side: Side,
    Z: Array,
    *,
    sweeps: int,
    scales: Array,
    weights: Array | None = None,
) -> Update:
    """Lower the objective over the factor Z, in place.

    With 0 `sweeps` only the measures are computed; with -1 the solution is exact. If `sweeps` is
    above `MAX_SWEEPS`, they continue until nothing moves; codes of rows with given sparseness then
    have several starts. `scales` multiply the columns of Z in the residual; `weights` are the
    weights of the rows of Z.
    """
    total = np.zeros(3)
    for rows, G, f, z, Y in _improved(terms, side, Z, sweeps):
        # add the weighted values, squared gradients and squared linear terms
        gradient = violation(side, G, z, Y) / scales
        linear = (f + side.l1) / scales
        measures = (z * (Y - f) / 2, gradient * gradient, linear * linear)
        if weights is not None:
            total += [weights[rows] @ entries.sum(axis=1) for entries in measures]
        else:
            total += [entries.sum() for entries in measures]

    return Update(*total.tolist())


def improve(terms: Terms, side: Side, Z: Array, *, sweeps: int) -> None:
    """Lower the objective over the factor Z, in place, as `update` does, without the measures.

    The measures take up to a quarter of the time of a pass over a tall table.
    """
    for _ in _improved(terms, side, Z, sweeps):
        pass


def _improved(
    terms: Terms, side: Side, Z: Array, sweeps: int
) -> Iterator[tuple[slice, Array, Array, Array, Array]]:
    """Improve Z; yield rows, Gram matrices and linear terms with penalties, codes, gradients."""
    k = Z.shape[1]
    # constraints on columns need all rows in one compiled call; otherwise limit the work of a call
    cost = 0.0 if side.kind.startswith("columns") else _cost(side, k)

    # add the penalties to the terms of each group of rows, then improve the codes of the group
    for rows, G, F in terms:
        if side.l1_sq or side.l2:
            G = G + (side.l1_sq + side.l2 * np.eye(k))
        if side.l1:
            F = F - side.l1

        for block in row_blocks(len(F), cost):
            g = G[block] if G.ndim == 3 else G
            z = Z[rows][block]
            Y = _improve(side, g, F[block], z, sweeps)
            inside = slice(rows.start + block.start, rows.start + block.stop)
            yield inside, g, F[block], z, Y


def _cost(side: Side, k: int) -> float:
    """Bound the number of multiplications for one row, in sweeps or in Newton steps."""
    return 100.0 * k**3 if side.kind == "rows" else float(MAX_SWEEPS * k * k)


def violation(side: Side, G: Array, Z: Array, Y: Array) -> Array:
    """Return the projected gradient; for non-convex sets, the step of a projected gradient."""
    if side.kind == "free":
        return Y
    if side.kind == "nonnegative":
        return np.where(Z > 0, Y, np.minimum(Y, 0))
    steep = _steepness(side, G)
    return steep * (Z - project(side, Z - Y / steep))


def project(side: Side, Z: Array) -> Array:
    """Return the nearest point that satisfies the constraints of a factor."""
    if side.kind == "free":
        return Z
    if side.kind == "nonnegative":
        return np.maximum(Z, 0)
    if side.kind == "rows":
        return project_sparseness(Z, side.level)
    norm = 1.0 if side.kind == "columns_unit" else None
    return project_sparseness(Z.T, side.level, norm=norm).T


def _steepness(side: Side, G: Array) -> Any:
    """Bound the curvature by the largest eigenvalue, or by norms if each row has a Gram matrix.

    Independent rows have separate bounds.
    """
    if G.ndim == 2:
        top = np.linalg.eigvalsh(G)[-1]
    else:
        top = np.sqrt(np.einsum("ijk,ijk->i", G, G))
        top = top[:, None] if side.kind == "rows" else top.max()
    return np.maximum(top, TINY)


def _gradient(G: Array, F: Array, z: Array) -> Array:
    return np.einsum("mj,mjk->mk", z, G) - F if G.ndim == 3 else z @ G - F


def _improve(side: Side, G: Array, F: Array, z: Array, sweeps: int) -> Array:
    """Improve z in place and return the gradient ``z G - F`` there."""
    # compute unconstrained solutions, or exact ones, directly
    has_gram_per_row = G.ndim == 3
    if side.kind == "free" and sweeps:
        z[:] = least_squares(G, F)
    elif side.kind == "nonnegative" and sweeps < 0:
        z[:] = nnls(G, F, start=z).Z

    # compute the gradient
    Y = _gradient(G, F, z)
    if sweeps <= 0 or side.kind == "free":
        return Y

    # use coordinate descent for non-negative entries
    if side.kind == "nonnegative":
        enough = ENOUGH if sweeps <= MAX_SWEEPS else ACCUMULATED_ROUNDING
        descend_rows(G if has_gram_per_row else G[None], z, Y, sweeps, enough)
        return Y

    # update rows whose sparseness is prescribed
    if side.kind == "rows":
        if sweeps > MAX_SWEEPS or not 0 < side.level < 1:
            z[:] = cone_codes(G, F, side.level, start=z)
        else:
            descend_cone(G, F, z, side.level, rounds=ROUNDS)
        return _gradient(G, F, z)

    norm = 1.0 if side.kind == "columns_unit" else None
    # minimise over one column at a time; if each row has its own Gram matrix, minimise an upper
    # bound
    curves = np.einsum("...jj->...j", G)
    if has_gram_per_row:
        curves = curves.max(axis=0)
    for _ in range(sweeps):
        for j in range(z.shape[1]):
            if curves[j] <= 0:
                continue

            # project the unconstrained minimum to the prescribed sparseness
            minimum = z[:, j] - Y[:, j] / curves[j]
            new = project_sparseness(minimum[None], side.level, norm=norm)[0]
            change = (new - z[:, j])[:, None]
            Y += change * G[..., j, :]
            z[:, j] = new
    return Y


def least_squares(G: Array, F: Array) -> Array:
    """Solve ``z G = f`` for each row, with the solution of minimum norm if G is singular."""
    if G.ndim == 2:
        return F @ linalg.pinvh(G)
    inverse = np.linalg.pinv(G, hermitian=True, rcond=ACCUMULATED_ROUNDING)
    return np.einsum("mj,mjk->mk", F, inverse)


def penalty_value(side: Side, Z: Array, weights: Array | None = None) -> float:
    """Compute the penalty of a factor."""
    if not side.penalised:
        return 0.0
    sums = Z.sum(axis=1)
    squares = (Z * Z).sum(axis=1)
    rows = side.l1 * sums + side.l1_sq / 2 * sums**2 + side.l2 / 2 * squares
    total = rows.sum() if weights is None else weights @ rows
    return float(total)


def scales_of(V: Array, fixed: bool) -> Array:
    """Return the norms of the components, or ones if the scale is fixed."""
    return np.ones(V.shape[1]) if fixed else lengths_of(V)


def codes_for(data: Data, V: Array, side: Side, *, exact: bool = True) -> Array:
    """Compute codes for given components.

    Codes are exact, or the best from several starts if rows have a given sparseness. The code of
    a row depends on that row alone. If `exact` is False, coordinate descent replaces pivoting,
    which is accurate enough for a start and takes a third less time to compile.
    """
    k = V.shape[1]
    W = np.zeros((data.shape[0], k))
    if side.kind != "rows":
        plain = side if side.kind in ("nonnegative", "free") else Side()
        sweeps = -1 if exact else START_SWEEPS
        improve(data.terms(V), plain, W, sweeps=sweeps)
        return project(side, W) if side is not plain else W

    for rows, G, F in data.terms(V):
        for block in row_blocks(len(F), _cost(side, k)):
            g = G[block] if G.ndim == 3 else G
            W[rows][block] = cone_codes(g, F[block], side.level)
    return W


def ratio(update: Update) -> float:
    """Return the norm of the projected gradient over the norm of the linear terms."""
    return float(np.sqrt(update.residual_sq / (update.size_sq or 1.0)))


def residual_blocks(data: Data, W: Array, V: Array) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of rows of ``X - W V'``; missing entries have residual zero."""
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
    """Sum the squared residuals of observed entries, weighted by rows and by entries."""
    if is_sparse(data.X):
        error, size = _error_of_sums(data, W, V)
        if error > least_difference(size, np.float64):
            return error
    total = 0.0
    for rows, R in residual_blocks(data, W, V):
        squares = data.row_sums(R, rows)
        weighted = squares.sum() if data.weights is None else data.weights[rows] @ squares
        total += float(weighted)
    return total


def _error_of_sums(data: Data, W: Array, V: Array) -> tuple[float, float]:
    """Compute the squared error from the stored entries, and the size of the cancelling terms."""
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
