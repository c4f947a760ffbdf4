"""Matrix completion with the nuclear norm: dense tables with holes and sparse tables of entries.

The table is `M`, known on the set `Omega` of cells. Everything here runs on two kinds of tables
behind one small interface: `DenseTable` (array and mask) and `SparseTable` (compressed rows whose
stored entries are the known ones). For the latter no array of the shape of the table is ever
made: iterates are `sparse + U diag(s) Vt`, of which only products with thin blocks are taken.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.common.blocks import entries_at
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import eigen_range
from skmoderndata._solvers.lowrank.svt import operator, orthonormal, svt, top_ritz_pair

Array = np.ndarray[Any, np.dtype[Any]]

_EXACT_NORM = 100  # up to this smaller side the spectral norm comes from a full decomposition
MATRICES = 2**21  # entries of the matrices of rows held at once
_NORM_BLOCK = 6  # columns of the Krylov block beyond it


class Factors(NamedTuple):
    """A matrix `U @ diag(s) @ Vt` with orthonormal `U`, `Vt.T` and descending positive `s`."""

    U: Array
    s: Array
    Vt: Array

    def leading(self, r: int) -> "Factors":
        """Keep the `r` largest singular values."""
        return Factors(self.U[:, :r], self.s[:r], self.Vt[:r])


class CompletionResult(NamedTuple):
    """What `soft_completion` and `exact_completion` return.

    `residual` holds `P_Omega(M - L)` in the layout of the table, `dual` the dual variable in the
    same layout, `gap` the relative duality gap at the last check.
    """

    factors: Factors
    residual: Array
    dual: Array
    objective: float
    gap: float
    n_iter: int
    converged: bool
    stopped: bool


class DenseTable:
    """A table held as an array with zeros in the unknown cells, and the mask of the known."""

    def __init__(self, data: Array, mask: Array) -> None:
        self.data, self.mask = data, mask
        self.shape: tuple[int, int] = data.shape
        self.n_known = int(np.count_nonzero(mask))
        self.full = self.n_known == data.size

    def lift(self, factors: Factors) -> Array:
        """Represent an iterate: here the whole matrix."""
        return (factors.U * factors.s) @ factors.Vt

    def known(self, lifted: Any) -> Array:
        """Return `P_Omega(L)`."""
        inside: Array = lifted if self.full else lifted * self.mask
        return inside

    def matrix(self, values: Array, lifted: Array, previous: Array, beta: float) -> Array:
        """Form `P_Omega(values) + L + beta (L - L_previous)`."""
        W: Array = values + lifted
        if beta:
            W += beta * (lifted - previous)
        return W

    def as_matrix(self, values: Array) -> Array:
        """Return a matrix known only on Omega, zero elsewhere."""
        return values

    def part(self, keep: Array) -> "DenseTable":
        """Restrict the known cells to those where `keep` (one flag per known cell) holds."""
        mask = self.mask.copy()
        mask[self.mask] = keep
        return DenseTable(self.data * mask, mask)

    def cells(self) -> tuple[Array, Array, Array]:
        """Rows, columns and values of the known cells."""
        rows, columns = np.nonzero(self.mask)
        return rows, columns, self.data[self.mask]

    def rows(self) -> tuple[Array, Array, Array]:
        """Compressed rows of the known cells: pointers, columns, values."""
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(self.mask, axis=1))])
        return indptr, np.nonzero(self.mask)[1], self.data[self.mask]

    def columns(self) -> tuple[Array, Array, Array]:
        """Compressed columns of the known cells."""
        return DenseTable(self.data.T, self.mask.T).rows()


class _Lifted(NamedTuple):
    left: Array  # (n, k), U * s
    right: Array  # (p, k)
    known: Array  # entries on Omega


class SparseTable:
    """A table held as compressed sparse rows; every stored entry, zero or not, is known."""

    def __init__(self, X: Any) -> None:
        self.data: Array = X.data
        self.indices: Array = X.indices
        self.indptr: Array = X.indptr
        self.shape: tuple[int, int] = X.shape
        self.row = np.repeat(np.arange(X.shape[0], dtype=X.indices.dtype), np.diff(X.indptr))
        self.n_known = int(self.data.size)
        self.full = False

    def lift(self, factors: Factors) -> _Lifted:
        """Represent an iterate: thin factors and the entries on Omega."""
        left = np.ascontiguousarray(factors.U * factors.s)
        right = np.ascontiguousarray(factors.Vt.T)
        known = np.empty_like(self.data)
        entries_at(self.row, self.indices, left, right, known)
        return _Lifted(left, right, known)

    def known(self, lifted: Any) -> Array:
        """Return `P_Omega(L)`."""
        inside: Array = lifted.known
        return inside

    def matrix(self, values: Array, lifted: _Lifted, previous: _Lifted, beta: float) -> Any:
        """Form `P_Omega(values) + L + beta (L - L_previous)`."""
        left, right = lifted.left, lifted.right
        if beta:
            left = np.hstack([(1 + beta) * left, -beta * previous.left])
            right = np.hstack([right, previous.right])
        S = self.as_matrix(values)
        St = S.T
        return operator(
            lambda V: S @ V + left @ (right.T @ V),
            lambda Q: St @ Q + right @ (left.T @ Q),
            self.shape,
            values.dtype,
        )

    def as_matrix(self, values: Array) -> Any:
        """Return a matrix known only on Omega, zero elsewhere."""
        return sparse.csr_array((values, self.indices, self.indptr), shape=self.shape)

    def part(self, keep: Array) -> "SparseTable":
        """Restrict the known cells to those where `keep` (one flag per known cell) holds."""
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.indptr].astype(self.indptr.dtype)
        return SparseTable(
            sparse.csr_array((self.data[keep], self.indices[keep], indptr), shape=self.shape)
        )

    def cells(self) -> tuple[Array, Array, Array]:
        """Rows, columns and values of the known cells."""
        return self.row, self.indices, self.data

    def rows(self) -> tuple[Array, Array, Array]:
        """Compressed rows of the known cells: pointers, columns, values."""
        return self.indptr, self.indices, self.data

    def columns(self) -> tuple[Array, Array, Array]:
        """Compressed columns of the known cells."""
        X = sparse.csc_array(self.as_matrix(self.data))
        return X.indptr, X.indices, X.data


Table = DenseTable | SparseTable


class Thresholder:
    """Singular value thresholding that remembers the subspace and the rank of its last call.

    `max_rank` keeps at most that many components: the best approximation of the proximal step
    within that rank.
    """

    def __init__(
        self, shape: tuple[int, int], rng: np.random.RandomState, max_rank: int | None = None
    ) -> None:
        self.side = min(shape)
        self.max_rank = self.side if max_rank is None else min(max_rank, self.side)
        self.rng = rng
        self.tol = 3e-1  # a warm start makes up for the coarse tolerance; tightened on failure
        self._subspace: Array | None = None

    def __call__(self, W: Any, t: float) -> Factors:
        """Return `argmin 1/2 ||W - L||_F^2 + t ||L||_*` (at most `max_rank` components)."""
        out = svt(
            W,
            t,
            subspace=self._subspace,
            max_rank=self.max_rank if self.max_rank < self.side else None,
            tol=self.tol,
            rng=self.rng,
        )
        self._subspace = out.subspace
        return Factors(out.U, out.s, out.Vt)

    def learn(self, v: Array, gap: float, last_gap: float) -> None:
        """Take in a direction that the certificate found missing; be finer if the gap stalls."""
        if self._subspace is not None and self._subspace.shape[1] < self.side:
            block = np.hstack([self._subspace, v.astype(self._subspace.dtype)[:, None]])
            self._subspace = orthonormal(block)[0]
        if gap > 0.9 * last_gap:
            self.tol = max(self.tol / 3, 1e-9)


def top_singular_pair(
    A: Any, rng: np.random.RandomState, accuracy: float = 1e-6, start: Array | None = None
) -> tuple[float, Array]:
    """Return the largest singular value of an array or sparse matrix and its right vector.

    Up to a smaller side of 100 the decomposition is complete; beyond it a block Krylov space
    gives the value from below, to about `accuracy`, relative. `start` of shape (p, k) holds
    columns near the leading right singular vectors: with them the many equal singular values of
    an optimal residual are found at once, where Lanczos iteration separates them slowly.
    """
    n, p = A.shape
    stored = A if isinstance(A, np.ndarray) else A.data
    scale = float(np.abs(stored).max(initial=0.0))
    if scale == 0:
        return 0.0, np.eye(p, 1)[:, 0]
    A = A / scale
    At = A.T
    if min(n, p) <= _EXACT_NORM:
        G = At @ A if p <= n else A @ At
        G = np.asarray(G if isinstance(G, np.ndarray) else G.toarray(), dtype=np.float64)
        values, vectors = eigen_range(G, len(G) - 1, len(G))
        v = vectors[:, 0] if p <= n else At @ vectors[:, 0]
        return scale * float(np.sqrt(max(values[0], 0.0))), v / linalg.norm(v)
    X = rng.standard_normal((p, _NORM_BLOCK)).astype(A.dtype)
    if start is not None and start.size:
        mixed = start @ rng.standard_normal((start.shape[1], _NORM_BLOCK)).astype(A.dtype)
        X = np.hstack([mixed, X])
    value, v, _ = top_ritz_pair(lambda X: At @ (A @ X), X, accuracy)
    return scale * float(np.sqrt(value)), v


def soft_gap(table: Table, residual: Array, nuclear: float, *, lam: float, top: float) -> float:
    """Return the relative duality gap of `min 1/2 ||P(M - L)||_F^2 + lam ||L||_*`.

    `residual` is `P(M - L)`, `top` its largest singular value, `nuclear` the nuclear norm of L.
    The dual is
    `max <Y, M> - 1/2 ||Y||_F^2` over `||Y|| <= lam` with Y zero outside Omega; the best multiple
    of the residual is taken for Y. L is optimal to within `gap` times its own objective.
    """
    square = _dot(residual, residual)
    primal = 0.5 * square + lam * nuclear
    if primal == 0:
        return 0.0
    product = _dot(table.data, residual)
    if square == 0:
        return 1.0 if lam * nuclear > 0 else 0.0
    c = min(max(product / square, 0.0), lam / top)
    return float(max(0.0, (primal - c * product + 0.5 * c**2 * square) / primal))


def exact_gap(table: Table, residual: Array, dual: Array, nuclear: float, *, top: float) -> float:
    """Return a relative duality gap of `min ||L||_*  s.t.  P(L) = P(M)`.

    The dual is `max <Y, M>` over `||Y|| <= 1` with Y zero outside Omega; `top` is the largest
    singular value of `dual`, which is divided by it if that exceeds one. An L that misses the
    known cells by `residual` is charged the bound `sqrt(min(n, p)) ||residual||_F` on the nuclear
    norm of the correction, so that the figure bounds the suboptimality of the corrected L.
    """
    primal = nuclear + np.sqrt(min(table.shape)) * np.sqrt(_dot(residual, residual))
    if primal == 0:
        return 0.0
    return float(max(0.0, (primal - _dot(dual, table.data) / max(1.0, top)) / primal))


def _dot(a: Array, b: Array) -> float:
    return float(np.vdot(a, b)) if a.dtype == np.float64 else float((a * b).sum(dtype=np.float64))


def empty_factors(table: Table) -> Factors:
    """Return the zero matrix, from which the path of completions starts."""
    (n, p), dtype = table.shape, table.data.dtype
    return Factors(np.empty((n, 0), dtype), np.empty(0, dtype), np.empty((0, p), dtype))


def soft_completion(
    table: Table,
    *,
    lam: float,
    threshold: Thresholder,
    rng: np.random.RandomState,
    init: Factors | None = None,
    max_iter: int = 500,
    tol: float = 1e-5,
    check_every: int = 10,
    progress: Progress | None = None,
) -> CompletionResult:
    """Solve `min 1/2 ||P_Omega(M - L)||_F^2 + lam ||L||_*` by accelerated soft-impute.

    Soft-impute [Mazumder2010, Alg. 1] is the proximal gradient method with unit step; momentum
    with restart whenever the objective rises keeps it monotone and makes it an order faster. It
    stops on the relative duality gap (`soft_gap`), looked at every `check_every` passes. When the
    rank cap of `threshold` binds the problem is not convex: it then stops when the objective
    falls by less than `tol` over that many passes.
    """
    factors = empty_factors(table) if init is None else init
    L: Any = table.lift(factors)
    x = table.known(L)
    objective = 0.5 * _dot(table.data - x, table.data - x) + lam * float(factors.s.sum())
    L_prev, x_prev, t, beta = L, x, 1.0, 0.0
    gap, checked = np.inf, np.inf
    accuracy = min(max(0.1 * tol, 1e-8), 1e-3)
    it = Iterations(max_iter, tol, progress)
    for k in it:
        y = x + beta * (x - x_prev) if beta else x
        new = threshold(table.matrix(table.data - y, L, L_prev, beta), lam)
        L_new = table.lift(new)
        x_new = table.known(L_new)
        residual = table.data - x_new
        objective_new = 0.5 * _dot(residual, residual) + lam * float(new.s.sum())
        rounding = 10 * float(np.finfo(x.dtype).eps) * objective
        if beta and objective_new > objective + rounding:
            L_prev, x_prev, t, beta = L, x, 1.0, 0.0
            continue
        if objective_new > objective + rounding:  # the subspace was not resolved well enough
            threshold.tol = max(threshold.tol / 10, 1e-9)
        t_new = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
        t, beta = t_new, (t - 1) / t_new
        factors, objective = new, objective_new
        L_prev, x_prev, L, x = L, x, L_new, x_new
        if k % check_every == 0 or (k == 1 and table.full):
            top, v = top_singular_pair(table.as_matrix(residual), rng, accuracy, new.Vt.T)
            last_gap = gap
            gap = soft_gap(table, residual, float(new.s.sum()), lam=lam, top=top)
            threshold.learn(v, gap, last_gap)
            it.residual = gap
            if new.s.size == threshold.max_rank < threshold.side:
                it.residual = min(gap, (checked - objective) / max(objective, 1e-300))
            checked = objective
    residual = table.data - x
    if not it.converged:
        top = top_singular_pair(table.as_matrix(residual), rng, accuracy, factors.Vt.T)[0]
        gap = soft_gap(table, residual, float(factors.s.sum()), lam=lam, top=top)
    ended = it.n_iter, it.converged or gap <= tol, it.n_iter < max_iter and not it.converged
    return CompletionResult(factors, residual, residual, objective, gap, *ended)


def exact_completion(
    table: Table,
    *,
    threshold: Thresholder,
    rng: np.random.RandomState,
    max_iter: int = 500,
    tol: float = 1e-5,
    check_every: int = 10,
    progress: Progress | None = None,
) -> CompletionResult:
    """Solve `min ||L||_*  s.t.  P_Omega(L) = P_Omega(M)` by ADMM.

    The splitting `L + E = P_Omega(M)` with E free outside Omega and zero on it keeps the dual Y
    zero outside Omega, so that every step is `sparse + low rank`:
    `L <- SVT(L + P_Omega(M - L + Y / mu), 1 / mu)`, `Y <- Y + mu P_Omega(M - L)`. The penalty mu
    is balanced on the primal and dual residuals, ever more rarely. Stops on `exact_gap`.
    """
    factors = empty_factors(table)
    L: Any = table.lift(factors)
    M = table.data
    norm_M = np.sqrt(_dot(M, M))
    if norm_M == 0:
        return CompletionResult(factors, M, np.zeros_like(M), 0.0, 0.0, 1, True, False)
    x = table.known(L)
    mu = 8.0 / top_singular_pair(table.as_matrix(M), rng)[0]
    Y = np.zeros_like(M)
    gap = np.inf
    nuclear = 0.0
    next_change = 10
    accuracy = min(max(0.1 * tol, 1e-8), 1e-3)
    it = Iterations(max_iter, tol, progress)
    for k in it:
        s_old = factors
        factors = threshold(table.matrix(M - x + Y / mu, L, L, 0.0), 1 / mu)
        L_old, L = L, table.lift(factors)
        x = table.known(L)
        residual = M - x
        Y = Y + mu * residual
        nuclear = float(factors.s.sum())
        primal = np.sqrt(_dot(residual, residual)) / norm_M
        change = _distance(table, factors, s_old, L, L_old)
        dual = change / max(np.sqrt(_dot(factors.s, factors.s)), 1e-300)
        if k >= next_change:
            # a ratio of three was the fastest on noise-free and on noisy tables; ever longer
            # intervals, so that the method converges as it does with constant mu
            if max(primal, dual) > 1e-11:
                mu = mu * 1.5 if primal > 3 * dual else mu / 1.5
            next_change = k + 3 + k // 10
        if k % check_every == 0:
            top, v = top_singular_pair(table.as_matrix(Y), rng, accuracy, factors.Vt.T)
            last_gap = gap
            gap = exact_gap(table, residual, Y, nuclear, top=top)
            threshold.learn(v, gap, last_gap)
            it.residual = gap
    if not it.converged:
        top = top_singular_pair(table.as_matrix(Y), rng, accuracy, factors.Vt.T)[0]
        gap = exact_gap(table, residual, Y, nuclear, top=top)
    ended = it.n_iter, it.converged or gap <= tol, it.n_iter < max_iter and not it.converged
    return CompletionResult(factors, residual, Y, nuclear, gap, *ended)


def _distance(table: Table, new: Factors, old: Factors, L: Any, L_old: Any) -> float:
    """Return the Frobenius distance of two iterates."""
    if isinstance(L, np.ndarray):
        return float(linalg.norm(L - L_old, check_finite=False))
    cross = ((new.U.T @ old.U) * (new.Vt @ old.Vt.T) * old.s * new.s[:, None]).sum(dtype=float)
    square = _dot(new.s, new.s) + _dot(old.s, old.s) - 2 * float(cross)
    return float(np.sqrt(max(square, 0.0)))


def alternating_least_squares(
    table: Table,
    factors: Factors,
    *,
    lam: float,
    max_iter: int = 50,
    tol: float = 1e-9,
    target: float = 0.0,
) -> Factors:
    """Improve `1/2 ||P_Omega(M - L)||_F^2 + lam ||L||_*` at fixed rank, row and column in turn.

    For L = A B' the nuclear norm is the least `1/2 (||A||_F^2 + ||B||_F^2)`, so that each half
    sweep is one ridge regression per row or column. `lam = 0` is plain least squares at that
    rank. Ends when the objective falls by less than `tol` of itself or reaches `target`.
    """
    last = np.inf
    by_row, by_column = table.rows(), table.columns()
    for _ in range(max_iter):
        for cells in (by_row, by_column):  # each half ends with the transposed matrix
            scores = solve_rows(*cells, factors.Vt, row_penalty(lam, factors.s))
            A, s, Bt = linalg.svd(scores, full_matrices=False, check_finite=False)
            keep = s > s.max(initial=0.0) * 1e-14
            factors = Factors((Bt[keep] @ factors.Vt).T, s[keep], A[:, keep].T)
        residual = table.data - table.known(table.lift(_cast(factors, table.data.dtype)))
        objective = 0.5 * _dot(residual, residual) + lam * float(factors.s.sum())
        if objective <= target or objective >= last * (1 - tol):
            break
        last = objective
    return _cast(factors, table.data.dtype)


def _cast(factors: Factors, dtype: Any) -> Factors:
    return Factors(*(np.asarray(a, dtype=dtype) for a in factors))


def row_penalty(lam: float, s: Array) -> Array:
    """Return the ridge penalty on each score that the nuclear norm implies at fixed `Vt`."""
    if lam == 0:
        return np.zeros(s.size)
    return lam / np.asarray(s, dtype=np.float64)


def solve_rows(
    indptr: Array, indices: Array, data: Array, Vt: Array, penalty: Array, weight: Any = None
) -> Array:
    """Return the scores `a` of each row: `min 1/2 ||x - V a||^2 + 1/2 sum penalty a^2`.

    Only the known cells of the row enter. With zero penalty: least squares, of least norm in
    `a / weight` where the known cells leave a choice. Rows without known cells get zeros. Always
    computed in double precision.
    """
    n, r = indptr.size - 1, Vt.shape[0]
    scores = np.zeros((n, r))
    if r == 0 or n == 0:
        return scores
    penalised = bool(penalty.max() > 0)
    if penalised:
        weight = 1 / np.sqrt(penalty)
    elif weight is None:
        weight = np.ones(r)
    B = np.ascontiguousarray(Vt.T * weight, dtype=np.float64)
    values, shape = np.asarray(data, dtype=np.float64), (n, len(B))
    known = sparse.csr_array((np.ones(values.size), indices, indptr), shape)
    right = sparse.csr_array((values, indices, indptr), shape) @ B
    ridge, counts = float(penalised), np.diff(indptr)
    lower = np.tril_indices(r)
    pairs = np.ascontiguousarray(B[:, lower[0]] * B[:, lower[1]])
    # rows without gaps share one matrix; the others have one each, made in blocks
    full, gaps = np.flatnonzero(counts == len(B)), np.flatnonzero((0 < counts) & (counts < len(B)))
    size = max(1, MATRICES // (r * r))
    blocks = [full, *(gaps[first : first + size] for first in range(0, gaps.size, size))]
    for block in (block for block in blocks if block.size):
        some = block[:1] if block is full else block
        G = np.empty((some.size, r, r))
        G[:, lower[0], lower[1]] = G[:, lower[1], lower[0]] = known[some] @ pairs
        G += ridge * np.eye(r)
        singular = np.zeros(some.size, dtype=bool)
        if not penalised or np.trace(G, axis1=1, axis2=2).max() > 1e8:
            spread = np.linalg.eigvalsh(G)
            singular = spread[:, 0] <= 1e-8 * spread[:, -1]
            G[singular] = np.eye(r)
        target = right[block]
        if block is full:
            scores[block] = np.linalg.solve(G[0], target.T).T
        else:
            scores[block] = np.linalg.solve(G, target[:, :, None])[:, :, 0]
        for i in block[np.broadcast_to(singular, block.shape)]:  # no normal equations here
            cells = slice(indptr[i], indptr[i + 1])
            rows = np.vstack([B[indices[cells]], np.sqrt(ridge) * np.eye(r)])
            target = np.append(values[cells], np.zeros(r))
            scores[i] = linalg.lstsq(rows, target, cond=1e-10, check_finite=False)[0]
    out: Array = scores * weight
    return out
