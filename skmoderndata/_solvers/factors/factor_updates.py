"""One factor of ``X ~ W H`` given the other: non-negative, free or of given sparseness.

Notation: X (n, p), codes W (n, k), components H (k, p); the components are kept as ``V = H'``, so
that both factors are updated row by row with the same functions.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.nnls import descend_rows, nnls
from skmoderndata._solvers.common.projections import project_sparseness
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.sparseness_cone import cone_codes, descend_cone

Terms = Iterator[tuple[slice, Array, Array]]  # rows, Gram matrices, linear terms
Kind = Literal["nonnegative", "free", "columns_unit", "columns", "rows"]

BLOCK_BYTES = 2**26  # of Gram matrices held at once where entries are missing
MAX_SWEEPS = 10  # of coordinate descent on one factor, at most
ROUNDS = 2  # in a pass on codes of rows of given sparseness
START_SWEEPS = 200  # of coordinate descent on the first codes, at most
CANCELLED = 0.5  # power of the rounding unit: sums of squares below it are summed once more


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


def least_difference(sum_sq: float, dtype: Any) -> float:
    """Size below which a difference of sums of squares is little but their rounding."""
    return float(sum_sq * np.finfo(dtype).eps ** CANCELLED)


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

    @cached_property
    def sum_sq(self) -> float:
        """Sum of the squares of X with their weights, for errors that are differences."""
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
        return least_difference(self.sum_sq, self.X.dtype)

    def terms(self, V: Array) -> Terms:
        """Yield rows, Gram matrices and linear terms of the problem of the codes.

        Only with missing or weighted entries there is more than one block, with a Gram matrix for
        each row.
        """
        F = np.ascontiguousarray(self._weighted @ self._narrow(V), dtype=np.float64)
        if self._masks is None:
            yield slice(0, len(F)), V.T @ V, F
            return

        # gaps or weights: a Gram matrix for each row, from the products of the components that it
        # sees
        pairs = self._narrow(_pairs(V, V))
        for rows in _gram_blocks(len(F), V.shape[1]):
            yield rows, _unpacked(self._masks[0][rows] @ pairs, V.shape[1]), F[rows]

    def sums(self, W: Array) -> "SummedData":
        """Return what the problem of the components needs of these rows and their codes."""
        weighted = W if self.weights is None else W * self.weights[:, None]
        narrow = self._narrow(weighted)
        # few rows on the left: BLAS takes half of the time that it takes for the transposed X
        if is_sparse(self.X):
            T = self._weighted.T @ narrow
        else:
            T = (narrow.T @ self._weighted).T
        T = np.ascontiguousarray(T, dtype=np.float64)
        weight = float(len(W) if self.weights is None else self.weights.sum())
        if self._masks is None:
            return SummedData(W.T @ weighted, T, weight=weight)

        # a triangle for each column, over the rows that observe it
        mask = self._masks[1]
        k = W.shape[1]
        pairs = self._narrow(_pairs(W, weighted))
        packed = [mask[columns] @ pairs for columns in _gram_blocks(len(T), k)]
        S = np.concatenate(packed, dtype=np.float64)
        return SummedData(S, T, by_column=True, weight=weight)

    def _narrow(self, factor: Array) -> Array:
        return factor.astype(self.X.dtype, copy=False)


def _pairs(A: Array, B: Array) -> Array:
    """Products of two columns, for the lower triangles of Gram matrices."""
    i, j = np.tril_indices(A.shape[1])
    return A[:, i] * B[:, j]


def _unpacked(packed: Array, k: int) -> Array:
    """Gram matrices of their lower triangles."""
    i, j = np.tril_indices(k)
    G = np.empty((len(packed), k, k))
    G[:, i, j] = packed
    G[:, j, i] = packed
    return G


def _gram_blocks(n: int, k: int) -> Iterator[slice]:
    """Stretches of rows whose Gram matrices are held at once."""
    return row_blocks(n, 8.0 * k * k, limit=BLOCK_BYTES)


class SummedData(NamedTuple):
    """Rows as the sums that the problem of the components needs; those of blocks add up.

    `S` is codes' codes, and with `by_column` the lower triangle of that over the rows in which a
    column is observed, for each of the columns; `T` is X' codes, `sum_sq` the sum of squares of X,
    `penalty` that of the codes, and `weight` the sum of the weights of the rows.
    """

    S: Array
    T: Array
    sum_sq: float = 0.0
    penalty: float = 0.0
    by_column: bool = False
    weight: float = 0.0

    def __add__(self, other: "SummedData") -> "SummedData":  # type: ignore[override]
        # entries are missing in one of the two only
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
        """Return the sums of rows whose weights are multiplied."""
        return SummedData(
            S=factor * self.S,
            T=factor * self.T,
            sum_sq=factor * self.sum_sq,
            penalty=factor * self.penalty,
            by_column=self.by_column,
            weight=factor * self.weight,
        )

    def without(self, components: Array) -> "SummedData":
        """Return the sums for codes that are zero for some components."""
        used = np.where(components, 0.0, 1.0)
        return self.with_codes_times(used)

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
        """Return the sums for codes whose columns are multiplied by `size`."""
        return self._replace(S=self.S * size * size[:, None], T=self.T * size)


class Update(NamedTuple):
    """What is known after one factor was updated (or only looked at)."""

    value: float  # linear and quadratic terms of the objective with the penalty of this factor
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
    """Lower the objective over the factor Z, in place; `sweeps` 0 looks only, -1 is exact.

    More than `MAX_SWEEPS` go on until nothing moves, and ask for several starts for codes of rows
    of given sparseness.

    `scales` are the norms by which the columns of Z have to be multiplied for the residual, and
    `weights` those of the rows of Z.
    """
    total = np.zeros(3)
    k = Z.shape[1]
    # one compiled call for all rows where columns are constrained, else bounded ones
    cost = 0.0 if side.kind.startswith("columns") else _cost(side, k)

    # rows with their Gram matrices, penalties added
    for rows, G, F in terms:
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
            each = (z * (Y - f) / 2, gradient * gradient, linear * linear)
            if weights is not None:
                total += [weights[rows][block] @ one.sum(axis=1) for one in each]
            else:
                total += [one.sum() for one in each]

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

    # projected gradient
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

            # the best column, brought to the sparseness
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
        update(data.terms(V), plain, W, sweeps=sweeps, scales=np.ones(k))
        return project(side, W) if side is not plain else W

    for rows, G, F in data.terms(V):
        for block in row_blocks(len(F), _cost(side, k)):
            g = G[block] if G.ndim == 3 else G
            W[rows][block] = cone_codes(g, F[block], side.level)
    return W


def ratio(update: Update) -> float:
    """Norm of the projected gradient relative to that of the linear terms."""
    return float(np.sqrt(update.residual_sq / (update.size_sq or 1.0)))


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
