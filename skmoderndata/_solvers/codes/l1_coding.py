"""Sparse codes of many signals by an l1 penalty, each with the certificate of its optimality.

``min over a  1/2 |x - a D|^2 + alpha sum_j |a_j|``, also with ``a >= 0``. Everything follows from
``b = D x``, the Gram matrix G, and ``c = b - G a``, the correlations of the residual.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.cholesky import SPAN, solve_chosen
from skmoderndata._solvers.codes.gram_rows import (
    all_rows,
    ask_row,
    forget_rows,
    no_rows,
    same_entries,
)
from skmoderndata._solvers.codes.products import EPS, MAGNITUDE, largest_entry, low_bits
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    MEMORY,
    STALL,
    TOL,
    Atoms,
    Block,
    SparseCodes,
    block_size,
    by_pattern,
    code_in_blocks,
    compact,
    dense_block,
    gram_pays,
    join,
    replace_rows,
    squared_residuals,
    to_csr,
    to_dense,
    with_gram,
)

Array = np.ndarray[Any, np.dtype[Any]]

METHODS = ("feature_sign", "homotopy", "coordinate_descent")
SLACK = 1e-10  # relative excess of a correlation over alpha that counts as none
ZERO: Any = np.int64(0)  # numba would compile functions once more for a literal 0
CANCELS = 1e-6  # below this share of (|x| + sum |a_j d_j|)^2, sums from G have lost their digits
FLOOR = 1e-8  # share of the largest penalty: below, a bound that is not met is out of reach
SEARCH = 60  # steps of the search for a penalty
ROWS_KEPT = 2**25  # bytes of rows of the Gram matrix that are kept for the next signal


def lasso_codes(
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    method: str = "homotopy",
    positive: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    start: "Array | sparse.csr_array | None" = None,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha |a|_1`` for every signal, to a certified gap.

    - "feature_sign": guess the signs of the active coefficients, solve, search along the line to
      the solution; admit one atom at a time [Lee, Battle, Raina, Ng 2007].
    - "homotopy": follow the minimiser from large penalties down to `alpha`, atom by atom
      [Osborne, Presnell, Turlach 2000].
    - "coordinate_descent": one coefficient at a time over the active atoms and then over all; when
      the signs have settled the equations are solved exactly.

    A signal whose gap is above `tol` (in proportion to the objective) after the first two goes on
    with the third, where `max_iter` bounds the sweeps; one that is still above after that goes
    back to the first.

    Parameters
    ----------
    X : array of shape (N, n)
    atoms : Atoms
        Without repeated atoms (``prepare_atoms(distinct=True)``), or the split between them is
        arbitrary.
    alpha : array of shape (N,)
        Weight of the penalty for each signal, positive.
    start : array or CSR array of shape (N, k) or None
        Codes to start from ("feature_sign" and "coordinate_descent").
    mask : boolean array of shape (N, n) or None
        True where an entry counts.
    """
    return _lasso_codes(
        X, mask, atoms, np.array(alpha, dtype=np.float64), None, method, positive, tol, max_iter,
        start, n_jobs, memory,
    )  # fmt: skip


def bounded_lasso_codes(
    X: Array,
    atoms: Atoms,
    *,
    tol_sq: Array,
    alpha: Array | None = None,
    positive: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    single: bool = False,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Minimise ``|a|_1`` subject to ``|x - a D|^2 <= tol_sq``, to a certified gap.

    The minimiser of ``1/2 |x - a D|^2 + lam |a|_1`` is followed from large `lam` downwards, and
    within the segment where the bound is met its `lam` is known. Where that fails, because atoms
    depend on each other, `lam` is searched for. With ``r = x - a D`` and ``q = |D r|_inf`` the gap
    is that of the dual point ``r / q``: ``|a|_1 - (r x - |r| sqrt(tol_sq)) / q``, in proportion to
    ``|a|_1``.

    Parameters
    ----------
    tol_sq : array of shape (N,)
        Bounds, which a code that ends with reason "tol" does not exceed.
    alpha : array of shape (N,) or None
        Smallest penalty `lam`; None for 1e-8 of the largest. A signal that does not meet its bound
        with it has the code of that penalty, the gap of `lasso_codes`, and reason "stall".
    single : bool
        The codes will be rounded to single precision: the bound holds for the rounded code.

    Other parameters as in `lasso_codes`.
    """
    common = (positive, tol, max_iter, None, n_jobs, memory)
    codes = _codes_within(X, mask, atoms, tol_sq, alpha, common)
    if not single:
        return codes
    shift = np.zeros(len(X))
    for _ in range(8):
        rest = squared_residuals(_round(codes), X, atoms, mask)
        over = np.flatnonzero((codes.stop == TOL) & (rest > tol_sq))
        if over.size == 0:
            break
        # rounding moves the residual by chance, each time otherwise
        chance = 2.0**-26 * np.sqrt(tol_sq) * _penalties(codes, atoms, None)
        shift[over] = 2 * np.maximum(np.maximum(shift, rest - tol_sq), chance)[over]
        over = over[shift[over] < tol_sq[over]]
        known, least = (None if v is None else v[over] for v in (mask, alpha))
        found = _codes_within(X[over], known, atoms, (tol_sq - shift)[over], least, common)
        codes = replace_rows(codes, over, found, len(atoms.rows))
    before, codes = _penalties(codes, atoms, None), _round(codes)
    rest = squared_residuals(codes, X, atoms, mask)
    stop = np.where((codes.stop == TOL) & (rest > tol_sq), STALL, codes.stop).astype(np.int8)
    after = _penalties(codes, atoms, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(stop == TOL, 1 - (1 - codes.gap) * before / after, codes.gap)
    gap = np.where(after > 0, np.maximum(gap, 0.0), codes.gap)
    return codes._replace(residual_sq=rest, stop=stop, gap=gap)


def rounded_codes(
    codes: SparseCodes,
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    groups: Array | None = None,
    mask: Array | None = None,
) -> SparseCodes:
    """Codes of the (group) lasso in single precision, with their own residuals and gaps.

    Where rounding makes a code worse than none, as can be with atoms that nearly depend on each
    other, it is zero.
    """
    dual = (1 - codes.gap) * (0.5 * codes.residual_sq + alpha * _penalties(codes, atoms, groups))
    codes = _round(codes)
    rest = squared_residuals(codes, X, atoms, mask)
    primal = 0.5 * rest + alpha * _penalties(codes, atoms, groups)
    known = X if mask is None else np.where(mask, X, X.dtype.type(0))
    size = np.einsum("ij,ij->i", known, known, dtype=np.float64)
    worse = ~(primal <= 0.5 * size)
    if worse.any():
        matrix = to_csr(codes, len(atoms.rows))
        matrix.data[np.repeat(worse, np.diff(matrix.indptr))] = 0.0
        matrix.eliminate_zeros()
        codes = codes._replace(
            indptr=matrix.indptr.astype(np.int64), indices=matrix.indices, values=matrix.data
        )
        rest, primal = np.where(worse, size, rest), np.where(worse, 0.5 * size, primal)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(primal > 0, np.maximum(primal - dual, 0.0) / primal, 0.0)
    return codes._replace(residual_sq=rest, gap=gap)


def _round(codes: SparseCodes) -> SparseCodes:
    with np.errstate(over="ignore"):
        return codes._replace(values=codes.values.astype(np.float32).astype(np.float64))


def _penalties(codes: SparseCodes, atoms: Atoms, groups: Array | None) -> Array:
    """``sum_g sqrt(|g|) |a_g|`` of each code, for atoms as they were made ready."""
    k = len(atoms.rows)
    matrix = to_csr(codes, k)
    values = np.abs(matrix.data) * atoms.norms[matrix.indices]
    if groups is None:
        groups = np.arange(k)
    sizes = np.bincount(groups)
    # one row for each atom, which sums squares by group
    squares = sparse.csr_array((values**2, matrix.indices, matrix.indptr), shape=matrix.shape)
    member = sparse.csr_array((np.ones(k), (np.arange(k), groups)), shape=(k, len(sizes)))
    out: Array = (squares @ member).sqrt() @ np.sqrt(sizes)
    return out


def _codes_within(
    X: Array,
    mask: Array | None,
    atoms: Atoms,
    tol_sq: Array,
    alpha: Array | None,
    common: tuple[Any, ...],
) -> SparseCodes:
    """Codes by homotopy, and by a search where that does not meet the bound."""
    levels = np.zeros(len(X)) if alpha is None else np.array(alpha, dtype=np.float64)
    codes = _lasso_codes(X, mask, atoms, levels, tol_sq, "homotopy", *common)
    left = np.flatnonzero(codes.stop == MAX_ITER)
    if left.size == 0:
        return codes
    found = _search_penalties(
        np.array(X[left], dtype=np.float64),
        None if mask is None else mask[left],
        atoms,
        tol_sq[left],
        None if alpha is None else alpha[left],
        levels[left],
        common,
    )
    return replace_rows(codes, left, found, len(atoms.rows))


def _search_penalties(
    X: Array,
    mask: Array | None,
    atoms: Atoms,
    tol_sq: Array,
    alpha: Array | None,
    levels: Array,
    common: tuple[Any, ...],
) -> SparseCodes:
    """Codes whose squared residual is the bound: bisection and secants over squared penalties."""
    positive, tol, *rest = common
    known = None if mask is None else mask.astype(np.float64)
    X = X if known is None else np.where(known > 0, X, 0.0)
    size = np.einsum("ij,ij->i", X, X)
    B = X @ atoms.rows.T
    top = (np.maximum(B, 0.0) if positive else np.abs(B)).max(axis=1)
    least = FLOOR * top if alpha is None else np.maximum(alpha, FLOOR * top)
    low, high = least**2, top**2
    below, above = np.full(len(X), np.nan), size - tol_sq
    held = np.zeros(len(X), np.bool_)
    lam = np.clip(levels, least, top)
    codes = np.zeros((len(X), len(atoms.rows)))
    residual_sq, gap = size.copy(), np.ones(len(X))
    stop, steps = np.full(len(X), MAX_ITER, np.int8), np.zeros(len(X), np.int32)
    left = np.arange(len(X))
    for number in range(SEARCH):
        part = _lasso_codes(
            X[left], None if mask is None else mask[left], atoms, lam[left].copy(), None,
            "homotopy", positive, min(tol, 1e-10), *rest,
        )  # fmt: skip
        A = to_dense(part, len(atoms.rows)) * atoms.norms
        some = None if known is None else known[left]
        rr, reached, slack = _bound_gaps(X[left], some, A, atoms.rows, tol_sq[left], positive)
        inside = rr <= tol_sq[left] - slack
        at_floor = ~inside & (lam[left] <= least[left])
        met = inside & (reached <= tol)
        # the best that meets the bound, or else the nearest
        better = np.where(inside, ~held[left] | (reached < gap[left]), rr < residual_sq[left])
        better &= inside | ~held[left]
        held[left] |= inside
        put = left[better]
        codes[put], residual_sq[put], gap[put] = A[better], rr[better], reached[better]
        steps[left] += part.n_iter
        stop[left[met]] = TOL
        stop[left[at_floor]] = STALL
        gap[left[at_floor]] = part.gap[at_floor]
        error = rr - (tol_sq[left] * (1 - 1e-10) - 2 * slack)
        over = error > 0
        high[left[over]], above[left[over]] = lam[left[over]] ** 2, error[over]
        low[left[~over]], below[left[~over]] = lam[left[~over]] ** 2, error[~over]
        left = left[~(met | at_floor)]
        if left.size == 0:
            break
        with np.errstate(all="ignore"):
            share = above[left] / (above[left] - below[left])
            secant = high[left] - share * (high[left] - low[left])
        halves = np.sqrt(low[left]) * np.sqrt(high[left])
        usable = (secant > low[left]) & (secant < high[left]) & (number % 3 != 2)
        new = np.where(usable, secant, halves)
        # nothing below has been tried yet: the least penalty tells whether the bound can be met
        lam[left] = np.where(np.isnan(below[left]) & (number > 0), least[left], np.sqrt(new))
    block = dense_block(codes / atoms.norms, residual_sq, stop, gap, steps)
    return join([compact(block)])


def _bound_gaps(
    X: Array, known: Array | None, A: Array, rows: Array, tol_sq: Array, positive: bool
) -> tuple[Array, Array, Array]:
    """Squared residuals, gaps to the least ``|a|_1`` within the bounds, errors by rounding."""
    R = X - A @ rows
    if known is not None:
        R *= known
    C = R @ rows.T
    q = (np.maximum(C, 0.0) if positive else np.abs(C)).max(axis=1)
    rr = np.einsum("ij,ij->i", R, R)
    norm = np.abs(A).sum(axis=1)
    # r x = a c + |r|^2
    dual = np.einsum("ij,ij->i", A, C) + np.sqrt(rr) * (np.sqrt(rr) - np.sqrt(tol_sq))
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.maximum(norm - np.where(q > 0, dual / q, 0.0), 0.0) / norm
    lengths = np.abs(A) @ np.sqrt(np.einsum("ij,ij->i", rows, rows))
    slack = 8 * EPS * np.sqrt(tol_sq) * (np.linalg.norm(X, axis=1) + lengths)
    return rr, np.where(norm > 0, gap, 0.0), np.where(norm > 0, slack, 0.0)


def _lasso_codes(
    X: Array,
    mask: Array | None,
    atoms: Atoms,
    alpha: Array,
    bound: Array | None,
    method: str,
    positive: bool,
    tol: float,
    max_iter: int,
    start: "Array | sparse.csr_array | None",
    n_jobs: int | None,
    memory: float,
) -> SparseCodes:
    """Codes of signals with and without missing entries; with bounds, `alpha` is set by them."""

    def run(signals: Array, some: Atoms, rows: Any, known: Array | None = None) -> SparseCodes:
        levels = np.array(alpha[rows])
        codes = _lasso_rows(
            signals, known, some, levels, None if bound is None else bound[rows], method, positive,
            tol, max_iter, None if start is None else start[rows], n_jobs, memory,
        )  # fmt: skip
        alpha[rows] = levels
        return codes

    if mask is None:
        return run(X, atoms, slice(None))
    return by_pattern(
        X,
        mask,
        atoms,
        run,
        renormalize=False,
        memory=memory,
        each=lambda signals, known, rows: run(signals, atoms, rows, known),
    )


def _lasso_rows(
    X: Array,
    mask: Array | None,
    atoms: Atoms,
    alpha: Array,
    bound: Array | None,
    method: str,
    positive: bool,
    tol: float,
    max_iter: int,
    start: "Array | sparse.csr_array | None",
    n_jobs: int | None,
    memory: float,
) -> SparseCodes:
    """Codes from the whole Gram matrix, or from those of its rows that are asked for."""
    n, k = X.shape[1], len(atoms.rows)
    if mask is None and gram_pays(k, len(X), memory):
        atoms = with_gram(atoms)
    whole = mask is None and atoms.gram is not None
    whole = mask is None and atoms.gram is not None
    rows = all_rows(atoms.gram) if whole else None  # type: ignore[arg-type]
    transposed = np.ascontiguousarray(atoms.rows.T)
    squares = transposed**2
    kind = METHODS.index(method)
    bounds = np.full(len(X), -1.0) if bound is None else np.asarray(bound, dtype=np.float64)
    floor = alpha.copy()

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        m = len(x)
        codes = np.zeros((m, k)) if start is None else _dense(start[part])
        if start is not None:
            codes *= atoms.norms
        known = np.ones((1, n)) if mask is None else mask[part].astype(np.float64)
        G, place = no_rows(k) if rows is None else rows
        gap, residual_sq = np.zeros(m), np.zeros(m)
        stop, steps = np.zeros(m, np.int8), np.zeros(m, np.int32)
        B = x @ transposed
        _lasso(
            x, known, B, known @ squares, transposed, np.ones(k), G, place, whole,
            alpha[part], bounds[part], kind, start is not None, positive, tol, max_iter,
            ROWS_KEPT // (8 * k), codes, residual_sq, stop, gap, steps,
        )  # fmt: skip
        if bound is not None:
            some = None if mask is None else known
            rr, reached, slack = _bound_gaps(x, some, codes, atoms.rows, bounds[part], positive)
            top = (np.maximum(B, 0.0) if positive else np.abs(B)).max(axis=1)
            met = rr <= bounds[part] - slack
            short = ~met & (alpha[part] <= np.maximum(floor[part], FLOOR * top) * (1 + 1e-12))
            sure = (reached <= tol) & met
            stop = np.where(sure, TOL, np.where(short & (stop == TOL), STALL, MAX_ITER))
            residual_sq, gap = rr, np.where(short, gap, reached)
        return dense_block(codes / atoms.norms, residual_sq, stop.astype(np.int8), gap, steps)

    return code_in_blocks(len(X), work, n_jobs=n_jobs, block=block_size(n, k, memory))


def proximal_codes(
    X: Array,
    atoms: Atoms,
    *,
    alpha: Array,
    groups: Array | None = None,
    positive: bool = False,
    accelerate: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    mask: Array | None = None,
    n_jobs: int | None = None,
    memory: float = MEMORY,
) -> SparseCodes:
    """Minimise ``1/2 |x - a D|^2 + alpha sum_g sqrt(|g|) |a_g|`` by proximal gradient steps.

    Without `groups` (the number of the group of each atom) every atom is a group of its own: the
    lasso. All signals of a block take their steps together, each with its own momentum, which
    starts afresh when it points uphill [Beck, Teboulle 2009; O'Donoghue, Candes 2015]; with
    ``accelerate=False`` there is none (ISTA). A signal is done when its duality gap is at most
    `tol` of its objective. Other parameters as in `lasso_codes`.
    """
    n, k = X.shape[1], len(atoms.rows)
    labels = np.arange(k) if groups is None else groups
    order = np.argsort(labels, kind="stable")
    inverse = np.argsort(order)
    start = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
    sizes = np.diff(np.append(start, k))
    rows = atoms.rows[order]
    transposed = np.ascontiguousarray(rows.T)
    # steps through the signal take 4 n k operations, through the Gram matrix 2 k^2
    gram = None
    if mask is None and 2 * n > k and gram_pays(k, len(X), memory):
        gram = rows @ rows.T if atoms.gram is None else atoms.gram[np.ix_(order, order)]
    # a mask does not make the norm larger
    largest = _largest_eigenvalue(rows @ transposed if k <= n else transposed @ rows)
    grouped = _Groups(start, sizes, np.sqrt(sizes), positive)

    def work(part: slice) -> Block:
        x = np.array(X[part], dtype=np.float64, order="C")
        known = None if mask is None else mask[part].astype(np.float64)
        if known is not None:
            x = np.where(known > 0, x, 0.0)
        problem = _Problem(x, known, rows, transposed, gram, alpha[part], grouped)
        codes, gap, rest, steps, done = _proximal_gradient(
            problem, largest, accelerate, tol, max_iter
        )
        stop = np.where(done, TOL, MAX_ITER).astype(np.int8)
        return dense_block(codes[:, inverse] / atoms.norms, rest, stop, gap, steps)

    return code_in_blocks(len(X), work, n_jobs=n_jobs, block=block_size(n, 2 * k, memory))


def _dense(codes: "Array | sparse.csr_array") -> Array:
    """Copy as an array in double precision."""
    out: Array = codes.toarray() if sparse.issparse(codes) else codes
    return np.array(out, dtype=np.float64)


class _Groups(NamedTuple):
    """Atoms in groups, one after the other: where each begins, its size and its weight."""

    start: Array
    sizes: Array
    weights: Array
    positive: bool

    def norms(self, Z: Array) -> Array:
        """Norms of the groups of each row."""
        if len(self.start) == Z.shape[1]:
            return np.abs(Z)
        return np.sqrt(np.add.reduceat(Z * Z, self.start, axis=1))

    def shrink(self, Z: Array, threshold: Array) -> Array:
        """Proximal operator of the penalty, with one threshold for each row."""
        if self.positive:
            Z = np.maximum(Z, 0.0)
        norms = self.norms(Z)
        left = np.maximum(norms - threshold[:, None] * self.weights, 0.0)
        factor = np.divide(left, norms, out=np.zeros_like(norms), where=norms > 0)
        if len(self.start) != Z.shape[1]:
            factor = np.repeat(factor, self.sizes, axis=1)
        out: Array = Z * factor
        return out

    def dual_norm(self, C: Array) -> Array:
        """Largest ratio of the norm of a group to its weight, for each row."""
        if self.positive:
            C = np.maximum(C, 0.0)
        out: Array = (self.norms(C) / self.weights).max(axis=1)
        return out


class _Problem(NamedTuple):
    """Signals of a block with what all of them share: their codes solve the (group) lasso."""

    x: Array
    known: Array | None
    rows: Array
    transposed: Array
    gram: Array | None
    alpha: Array
    groups: _Groups

    def some(self, kept: Array) -> "_Problem":
        """Return the problem of some of the signals."""
        known = None if self.known is None else self.known[kept]
        return self._replace(x=self.x[kept], known=known, alpha=self.alpha[kept])

    def residual(self, A: Array) -> Array:
        """Known entries of ``x - a D``."""
        R: Array = self.x - A @ self.rows
        return R if self.known is None else R * self.known

    def gradient(self, A: Array, B: Array) -> Array:
        """``G a - b``, in the way that takes fewer operations."""
        out: Array = (
            -self.residual(A) @ self.transposed if self.gram is None else A @ self.gram - B
        )
        return out

    def gaps(self, A: Array) -> tuple[Array, Array, Array]:
        """Duality gaps, objectives and squared residuals of codes."""
        R = self.residual(A)
        q = self.groups.dual_norm(R @ self.transposed)
        xr, rr = np.einsum("ij,ij->i", self.x, R), np.einsum("ij,ij->i", R, R)
        primal = 0.5 * rr + self.alpha * (self.groups.norms(A) * self.groups.weights).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(rr > 0, xr / rr, 0.0)
            factor = np.where(q > 0, np.minimum(factor, self.alpha / q), factor)
        factor = np.maximum(factor, 0.0)
        dual = factor * xr - 0.5 * factor**2 * rr
        return np.maximum(primal - dual, 0.0), primal, rr


def _largest_eigenvalue(gram: Array) -> float:
    """Upper bound on the largest eigenvalue, tight up to one part in a hundred."""
    k = len(gram)
    if k <= 2000:
        return float(np.linalg.eigvalsh(gram)[-1]) * (1 + 1e-12)
    v = np.abs(gram).sum(axis=1)
    for _ in range(100):
        v = gram @ (v / np.linalg.norm(v))
    return float(np.linalg.norm(v)) * 1.01


def _proximal_gradient(
    problem: _Problem, largest: float, accelerate: bool, tol: float, max_iter: int
) -> tuple[Array, Array, Array, Array, Array]:
    """Codes, relative gaps, squared residuals, steps and who is done; rows leave when done."""
    size = np.einsum("ij,ij->i", problem.x, problem.x)
    B = problem.x @ problem.transposed
    m, k = B.shape
    codes, gap, rest = np.zeros((m, k)), np.zeros(m), size.copy()
    steps, done = np.zeros(m, np.int32), np.ones(m, np.bool_)
    # without an atom, or with a large penalty, zero is the answer
    active = np.flatnonzero(problem.groups.dual_norm(B) > problem.alpha)
    if largest <= 0:
        active = active[:0]
    A = np.zeros((active.size, k))
    Y, t = A, np.ones(active.size)
    done[active] = False
    left, b, floor = problem.some(active), B[active], 4 * EPS * size[active]
    for step in range(1, max_iter + 1):
        if active.size == 0:
            break
        new = left.groups.shrink(Y - left.gradient(Y, b) / largest, left.alpha / largest)
        if accelerate:
            change = new - A
            uphill = np.einsum("ij,ij->i", Y - new, change) > 0
            t = np.where(uphill, 1.0, t)
            t_new = 0.5 * (1 + np.sqrt(1 + 4 * t * t))
            momentum = np.where(uphill, 0.0, (t - 1) / t_new)
            Y, t = new + momentum[:, None] * change, t_new
        else:
            Y = new
        A = new
        if step % 10 == 0 or step == max_iter:
            reached, primal, rr = left.gaps(A)
            certain = reached <= np.maximum(tol * primal, floor)
            # what has overflowed will not end
            ready = certain | ~np.isfinite(primal) | np.bool_(step == max_iter)
            rows = active[ready]
            codes[rows], rest[rows], steps[rows] = A[ready], rr[ready], step
            gap[rows] = reached[ready] / primal[ready]
            done[rows] = certain[ready]
            if ready.any():
                stay = ~ready
                left = left.some(stay)
                active, A, Y, t, b, floor = (
                    active[stay], A[stay], Y[stay], t[stay], b[stay], floor[stay],
                )  # fmt: skip
    return codes, gap, rest, steps, done


@jit
def _lasso(  # type: ignore[no-untyped-def]
    X, known, B, norms_sq, columns, scale, G, place, whole, alpha, bound, kind, warm, positive,
    tol, max_iter, most, out_codes, out_residual, out_stop, out_gap, out_steps,
):  # fmt: skip
    """Code one signal after the other; `out_codes` holds the start and receives the code.

    `known` and `norms_sq`, the squared norms of the atoms in the known entries, have one row for
    each signal or one for all; see `ask_row` for `columns`, `scale`, `G` and `place`. With a
    `bound` for a squared residual (-1 for none) `alpha` receives the penalty that meets it.
    """
    m, k = B.shape
    n = X.shape[1]
    cap = min(n, k)
    L = np.empty((cap, cap))
    index = np.empty(k, np.int64)
    a, theta, z, right = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    c, v, score, r = np.empty(k), np.empty(k), np.empty(k), np.empty(n)
    banned = np.zeros(k, np.bool_)
    shared = known.shape[0] == 1
    for i in range(m):
        x, b, lam, code = X[i], B[i], alpha[i], out_codes[i]
        entries = known[0 if shared else i]
        squares = norms_sq[0 if shared else i]
        if not whole and i > 0:
            if place[k] > most or not (shared or same_entries(entries, known[i - 1])):
                forget_rows(place)
        size = 0.0
        for p in range(n):
            size += x[p] * x[p]
        steps = 0
        t = ZERO
        if warm:
            for j in range(k):
                if code[j] != 0.0 and (code[j] > 0.0 or not positive):
                    index[t] = j
                    a[t] = code[j]
                    t += 1
                    G = ask_row(j, columns, entries, scale, G, place)
                code[j] = 0.0
        stage = kind
        gap, primal, rest = 0.0, 0.0, 0.0
        for _ in range(3):
            if stage == 0:
                kept = t
                t = ZERO
                for s in range(kept):  # the independent ones of the atoms so far
                    j, value = index[s], a[s]
                    if append_atom(G, place, L, index, t, j):
                        index[t] = j
                        a[t] = value
                        t += 1
                t, passes, G = _feature_sign(
                    columns, entries, scale, G, place, b, lam, positive, L, index, a, theta, z,
                    right, c, score, banned, t,
                )  # fmt: skip
            elif stage == 1:
                t, passes, lam, G = _homotopy(
                    x, columns, entries, scale, G, place, b, squares, size, lam, bound[i],
                    positive, L, index, a, theta, z, c, v, score, banned, r,
                )  # fmt: skip
            else:
                t, passes, G = _coordinate_descent(
                    x, columns, entries, scale, G, place, b, squares, size, lam, positive, tol,
                    max_iter, L, index, a, theta, z, right, c, r, code, t,
                )  # fmt: skip
            steps += passes
            gap, primal, rest = _certify(
                x, columns, entries, G, place, b, index, a, t, size, lam, positive, c, r
            )
            if gap <= max(tol * primal, 4 * EPS * size):
                break
            # descent can be slow where atoms are alike, and is finished by solving for the signs
            stage = 0 if stage == 2 else 2
        for s in range(t):
            code[index[s]] = a[s]
        alpha[i] = lam
        out_residual[i] = max(0.0, rest)
        out_gap[i] = max(0.0, gap) / primal if primal > 0.0 else 0.0
        out_stop[i] = TOL if gap <= max(tol * primal, 4 * EPS * size) else MAX_ITER
        out_steps[i] = steps


@jit
def append_atom(G, place, L, index, t, new):  # type: ignore[no-untyped-def]
    """Row t of the Cholesky factor for atom `new` after ``index[:t]``; False if dependent.

    The row of the Gram matrix of `new` has been asked for.
    """
    g = G[place[new]]
    pivot = g[new]
    if pivot <= 0.0 or t >= L.shape[0]:
        return False
    least = SPAN * pivot
    for s in range(t):
        total = g[index[s]]
        for q in range(s):
            total -= L[t, q] * L[s, q]
        L[t, s] = total / L[s, s]
        pivot -= L[t, s] * L[t, s]
    if pivot <= least:
        return False
    L[t, t] = np.sqrt(pivot)
    return True


@jit
def _weighted_rows(G, place, index, a, t, sign, c):  # type: ignore[no-untyped-def]
    """Add ``sign G a`` to `c`, four rows at a time."""
    k = c.shape[0]
    s = 0
    while s + 4 <= t:
        g0, g1 = G[place[index[s]]], G[place[index[s + 1]]]
        g2, g3 = G[place[index[s + 2]]], G[place[index[s + 3]]]
        a0, a1, a2, a3 = sign * a[s], sign * a[s + 1], sign * a[s + 2], sign * a[s + 3]
        for j in range(k):
            c[j] += (a0 * g0[j] + a1 * g1[j]) + (a2 * g2[j] + a3 * g3[j])
        s += 4
    while s < t:
        g0 = G[place[index[s]]]
        a0 = sign * a[s]
        for j in range(k):
            c[j] += a0 * g0[j]
        s += 1


@jit
def _correlations(G, place, b, index, a, t, c):  # type: ignore[no-untyped-def]
    """``c = b - G a``."""
    for j in range(b.shape[0]):
        c[j] = b[j]
    _weighted_rows(G, place, index, a, t, -1.0, c)


@jit
def _residual_sq(x, columns, known, index, a, t, r):  # type: ignore[no-untyped-def]
    """Squared norm of the residual ``x - a D`` on the known entries; `r` receives it."""
    n = x.shape[0]
    for p in range(n):
        r[p] = x[p]
    for s in range(t):
        j, value = index[s], a[s]
        for p in range(n):
            r[p] -= value * columns[p, j]
    total = 0.0
    for p in range(n):
        r[p] *= known[p]
        total += r[p] * r[p]
    return total


@jit
def _rounding(index, a, t, norms_sq, size, bound):  # type: ignore[no-untyped-def]
    """How far off a squared residual near `bound` can be."""
    total = np.sqrt(size)
    for s in range(t):
        total += abs(a[s]) * np.sqrt(norms_sq[index[s]])
    return 8 * EPS * np.sqrt(bound) * total


@jit
def _certify(  # type: ignore[no-untyped-def]
    x, columns, known, G, place, b, index, a, t, size, lam, positive, c, r
):
    """Duality gap, objective and squared residual of a code; `c` receives its correlations.

    All from ``c = b - G a``, or where that leaves too few digits, from the residual itself.
    """
    _correlations(G, place, b, index, a, t, c)
    xr, rr, penalty, reach = size, size, 0.0, np.sqrt(size)
    for s in range(t):
        j = index[s]
        xr -= a[s] * b[j]
        rr -= a[s] * (b[j] + c[j])
        penalty += abs(a[s])
        reach += abs(a[s]) * np.sqrt(G[place[j], j])
    if 0.5 * rr + lam * penalty < CANCELS * reach * reach:
        n, k = columns.shape
        xr, rr = 0.0, _residual_sq(x, columns, known, index, a, t, r)
        for j in range(k):
            c[j] = 0.0
        for p in range(n):
            value, row = r[p], columns[p]
            xr += x[p] * value
            if value != 0.0:
                for j in range(k):
                    c[j] += value * row[j]
    rr = max(rr, 0.0)
    largest = 0.0
    if positive:
        for j in range(c.shape[0]):
            largest = max(largest, c[j])
    else:
        for j in range(c.shape[0]):
            largest = max(largest, abs(c[j]))
    primal = 0.5 * rr + lam * penalty
    if rr == 0.0:
        return primal, primal, rr
    # the best multiple of the residual that is feasible
    factor = xr / rr
    if largest > 0.0:
        factor = min(factor, lam / largest)
    factor = max(factor, 0.0)
    dual = factor * xr - 0.5 * factor * factor * rr
    return primal - dual, primal, rr


@jit
def _solve_signs(L, index, t, b, lam, theta, right, z):  # type: ignore[no-untyped-def]
    """Solve ``G_II z = b_I - lam theta`` with the Cholesky factor."""
    for s in range(t):
        total = b[index[s]] - lam * theta[s]
        for q in range(s):
            total -= L[s, q] * z[q]
        z[s] = total / L[s, s]
    for s in range(t - 1, -1, -1):
        total = z[s]
        for q in range(s + 1, t):
            total -= L[q, s] * z[q]
        z[s] = total / L[s, s]


@jit
def _drop(G, place, L, index, t, gone):  # type: ignore[no-untyped-def]
    """Remove atom number `gone` from index and factor; returns how many are left.

    The rows of the factor below are rebuilt. The caller moves what belongs to the atoms.
    """
    for s in range(gone, t - 1):
        j = index[s + 1]
        append_atom(G, place, L, index, s, j)
        index[s] = j
    return t - 1


@jit
def _feature_sign(  # type: ignore[no-untyped-def]
    columns, known, scale, G, place, b, lam, positive, L, index, a, theta, z, right, c, score,
    banned, t,
):  # fmt: skip
    """Feature-sign search from the `t` atoms given; returns how many it ends with, passes, G."""
    k = b.shape[0]
    low = low_bits(k)
    bits = score.view(np.int64)
    largest = 0.0
    for j in range(k):
        largest = max(largest, abs(b[j]))
    enough = lam * (1 + SLACK) + 8 * EPS * largest
    fresh = -1
    solved = t == 0
    n_banned = 0
    for s in range(t):
        theta[s] = 1.0 if a[s] > 0.0 else -1.0
    limit = 20 * k + 50
    passes = 0
    for _ in range(limit):
        passes += 1
        if solved:
            _correlations(G, place, b, index, a, t, c)
            if positive:
                for j in range(k):
                    score[j] = max(c[j], 0.0)
            else:
                for j in range(k):
                    score[j] = c[j]
            for s in range(t):
                score[index[s]] = 0.0
            if n_banned > 0:
                for j in range(k):
                    if banned[j]:
                        score[j] = 0.0
            new = largest_entry(bits, k, low)
            if abs(score[new]) <= enough:
                break
            sign = 1.0 if c[new] > 0.0 else -1.0
            G = ask_row(new, columns, known, scale, G, place)
            if append_atom(G, place, L, index, t, new):
                index[t] = new
                a[t] = 0.0
                theta[t] = sign
                fresh = new
                t += 1
            else:
                # in the span: move along the direction that leaves the signal as it is
                solve_chosen(L, index, t, G[place[new]], z)
                length, gone = np.inf, ZERO - 1
                for s in range(t):
                    direction = -z[s] * sign
                    if a[s] * direction < 0.0 and -a[s] / direction < length:
                        length, gone = -a[s] / direction, s
                if gone < 0:
                    banned[new] = True
                    n_banned += 1
                    continue
                for s in range(t):
                    a[s] -= length * sign * z[s]
                t = _drop(G, place, L, index, t, gone)
                for s in range(gone, t):
                    a[s] = a[s + 1]
                    theta[s] = theta[s + 1]
                if append_atom(G, place, L, index, t, new):
                    index[t] = new
                    a[t] = length * sign
                    theta[t] = sign
                    t += 1
                fresh = -1
            solved = False
        _solve_signs(L, index, t, b, lam, theta, right, z)
        crossing = False
        for s in range(t):
            crossing = crossing or z[s] * theta[s] <= 0.0
        if not crossing:
            for s in range(t):
                a[s] = z[s]
            solved = True
            if n_banned > 0:
                for j in range(k):
                    banned[j] = False
                n_banned = 0
            continue
        if fresh >= 0 and t > 0 and index[t - 1] == fresh and z[t - 1] * theta[t - 1] <= 0.0:
            # against theory, hence rounding
            t -= 1
            banned[fresh] = True
            n_banned += 1
            fresh = -1
            solved = True
            continue
        fresh = -1
        # the lowest of the solution and of the points where a coefficient changes sign
        slope, curve = 0.0, 0.0
        for s in range(t):
            right[s] = z[s] - a[s]
        for s in range(t):
            j = index[s]
            total = b[j]
            g = G[place[j]]
            for q in range(t):
                total -= g[index[q]] * a[q]
            slope += right[s] * total
            curve += right[s] * (total - lam * theta[s])
        best, best_value = 0.0, 0.0
        for s in range(t):
            best_value += lam * abs(a[s])
        start_value = best_value
        for candidate in range(t + 1):
            if candidate == t:
                length = 1.0
            else:
                if a[candidate] == 0.0 or a[candidate] * z[candidate] > 0.0:
                    continue
                length = a[candidate] / (a[candidate] - z[candidate])
            value = length * (0.5 * length * curve - slope)
            for s in range(t):
                value += lam * abs(a[s] + length * right[s])
            if value < best_value:
                best, best_value = length, value
        if best == 0.0 or best_value >= start_value - 1e-15 * abs(start_value):
            # no descent left but for rounding
            break
        for s in range(t):
            moved = a[s] + best * right[s]
            if abs(moved) <= 1e-14 * (abs(a[s]) + abs(z[s])):
                moved = 0.0
            a[s] = moved
        s = ZERO
        while s < t:
            if a[s] == 0.0 or (positive and a[s] < 0.0):
                t = _drop(G, place, L, index, t, s)
                for q in range(s, t):
                    a[q] = a[q + 1]
            else:
                s += 1
        for s in range(t):
            theta[s] = 1.0 if a[s] > 0.0 else -1.0
        if n_banned > 0:
            for j in range(k):
                banned[j] = False
            n_banned = 0
        solved = t == 0
    if n_banned > 0:
        for j in range(k):
            banned[j] = False
    return t, passes, G


@jit
def _homotopy(  # type: ignore[no-untyped-def]
    x, columns, known, scale, G, place, b, norms_sq, size, lam, bound, positive, L, index, a,
    theta, z, c, v, score, banned, r,
):  # fmt: skip
    """Follow the minimiser from the largest penalty down to `lam`.

    With a `bound` (at least 0) for the squared residual, only down to where it is met: on a
    segment ``|r|^2`` changes as ``lam^2 theta w``, with the signs `theta` and w = G_II^-1 theta.
    Returns the number of atoms, the events, the penalty at the end, and G.
    """
    k = b.shape[0]
    low = low_bits(k)
    bits = score.view(np.int64)
    keep = MAGNITUDE & ~low
    for j in range(k):
        c[j] = b[j]
        score[j] = max(b[j], 0.0) if positive else b[j]
    new = largest_entry(bits, k, low)
    level = abs(score[new])
    if bound >= 0.0:
        lam = max(lam, FLOOR * level)
    if level <= lam or size <= bound:
        return 0, 1, level, G
    t = ZERO
    n_banned = 0
    limit = 8 * k + 50
    last = -1
    joining = True
    events = 0
    rho, slope, met = size, 0.0, False
    for _ in range(limit):
        events += 1
        if joining:
            G = ask_row(new, columns, known, scale, G, place)
            if append_atom(G, place, L, index, t, new):
                index[t] = new
                a[t] = 0.0
                theta[t] = 1.0 if c[new] > 0.0 else -1.0
                t += 1
            else:
                banned[new] = True
                n_banned += 1
        if t == 0:
            break
        # direction of the coefficients and of the correlations as the penalty falls
        for s in range(t):
            total = theta[s]
            for q in range(s):
                total -= L[s, q] * z[q]
            z[s] = total / L[s, s]
        for s in range(t - 1, -1, -1):
            total = z[s]
            for q in range(s + 1, t):
                total -= L[q, s] * z[q]
            z[s] = total / L[s, s]
        for j in range(k):
            v[j] = 0.0
        _weighted_rows(G, place, index, z, t, 1.0, v)
        # an inactive correlation meets the level
        if positive:
            for j in range(k):
                below = 1.0 - v[j]
                score[j] = max(level - c[j], 0.0) / below if below > 1e-14 else np.inf
        else:
            for j in range(k):
                up, down = max(level - c[j], 0.0), max(level + c[j], 0.0)
                rise, fall = 1.0 - v[j], 1.0 + v[j]
                # which of up/rise and down/fall comes first, without a second division
                first = up * fall < down * rise
                over = up if first else down
                under = rise if first else fall
                score[j] = over / under if under > 1e-14 else np.inf
        for s in range(t):
            score[index[s]] = np.inf
        if last >= 0:
            score[last] = np.inf
        if n_banned > 0:
            for j in range(k):
                if banned[j]:
                    score[j] = np.inf
        lowest = MAGNITUDE
        for j in range(k):
            key = (bits[j] & keep) | j
            lowest = min(lowest, key)
        new = lowest & low
        length = score[new] if new < k else np.inf
        # an active coefficient meets zero
        leaving = ZERO - 1
        for s in range(t):
            if z[s] * theta[s] < 0.0:
                zero = -a[s] / z[s]
                if zero < length:
                    length, leaving = max(zero, 0.0), s
        done = length >= level - lam
        if done:
            length = level - lam
        if bound >= 0.0:
            slope = 0.0
            for s in range(t):
                slope += z[s] * theta[s]
            if rho < CANCELS * size:
                rho = _residual_sq(x, columns, known, index, a, t, r)
            after = level - length
            goal = level * level - (rho - bound) / slope
            met = goal >= after * after
            if met:
                length = max(0.0, level - np.sqrt(goal))
                done = True
            rho -= slope * (level * level - after * after)
        for s in range(t):
            a[s] += length * z[s]
        level = lam if done and not met else level - length
        if done:
            break
        for j in range(k):
            c[j] -= length * v[j]
        last = -1
        joining = leaving < 0
        if leaving >= 0:
            last = index[leaving]
            t = _drop(G, place, L, index, t, leaving)
            for s in range(leaving, t):
                a[s] = a[s + 1]
                theta[s] = theta[s + 1]
            if n_banned > 0:
                for j in range(k):
                    banned[j] = False
                n_banned = 0
    if n_banned > 0:
        for j in range(k):
            banned[j] = False
    # at the end the equations are solved afresh
    for _ in range(6):
        _solve_signs(L, index, t, b, level, theta, v, z)
        agree = True
        for s in range(t):
            agree = agree and z[s] * theta[s] > 0.0
        if not agree:
            break
        for s in range(t):
            a[s] = z[s]
        if not met:
            break
        # the bound is to hold for the residual itself
        rho = _residual_sq(x, columns, known, index, a, t, r)
        slack = _rounding(index, a, t, norms_sq, size, bound) + 1e-10 * bound
        aim = bound - 2.0 * slack
        goal = level * level - (rho - aim) / slope
        if abs(rho - aim) <= 0.5 * slack or goal <= 0.0:
            break
        level = np.sqrt(goal)
    return t, events, level, G


@jit
def _coordinate_descent(  # type: ignore[no-untyped-def]
    x, columns, known, scale, G, place, b, norms_sq, size, lam, positive, tol, max_iter, L, index,
    a, theta, z, right, c, r, code, t,
):  # fmt: skip
    """Coordinate descent from the `t` atoms given; `code` is work space, zero before and after.

    Returns the number of atoms, the sweeps, and G.
    """
    k = b.shape[0]
    for s in range(t):
        code[index[s]] = a[s]
    gap, primal, _ = _certify(
        x, columns, known, G, place, b, index, a, t, size, lam, positive, c, r
    )
    sweeps = 0
    inner = 0
    former = np.empty(k)
    every = True
    n_active = ZERO
    active = np.empty(k, np.int64)
    while sweeps < max_iter:
        sweeps += 1
        moved = 0.0
        changed = False
        n_visit = k if every else n_active
        for visit in range(n_visit):
            j = visit if every else active[visit]
            norm = norms_sq[j]
            if norm <= 0.0:
                continue
            old = code[j]
            u = c[j] + norm * old
            value = 0.0
            if u > lam:
                value = (u - lam) / norm
            elif u < -lam and not positive:
                value = (u + lam) / norm
            if value != old:
                change = value - old
                if (value > 0.0) != (old > 0.0) or (value < 0.0) != (old < 0.0):
                    changed = True
                G = ask_row(j, columns, known, scale, G, place)
                g = G[place[j]]
                code[j] = value
                moved = max(moved, change * change * norm)
                for q in range(k):
                    c[q] -= change * g[q]
        if every or changed:
            n_active = 0
            for j in range(k):
                if code[j] != 0.0:
                    active[n_active] = j
                    n_active += 1
        inner += 1
        settled = moved <= 1e-3 * tol * primal / max(1, n_active)
        if not every and not settled and (changed or inner % 10 != 0):
            continue
        # signs at rest: solve for them, and look at the gap after a full sweep
        t = 0
        for s in range(n_active):
            index[s] = active[s]
            a[s] = code[active[s]]
        t = n_active
        gap, primal, _ = _certify(
            x, columns, known, G, place, b, index, a, t, size, lam, positive, c, r
        )
        if gap <= max(tol * primal, 4 * EPS * size):
            break
        if not changed:
            independent = True
            for s in range(t):
                theta[s] = 1.0 if a[s] > 0.0 else -1.0
                if independent:
                    independent = append_atom(G, place, L, index, s, index[s])
            if independent:
                _solve_signs(L, index, t, b, lam, theta, right, z)
                agree = True
                for s in range(t):
                    agree = agree and z[s] * theta[s] > 0.0
                if agree:
                    for s in range(t):
                        former[s] = a[s]
                        a[s] = z[s]
                    new_gap, new_primal, _ = _certify(
                        x, columns, known, G, place, b, index, a, t, size, lam, positive, c, r
                    )
                    if new_primal <= primal:
                        gap, primal = new_gap, new_primal
                        for s in range(t):
                            code[index[s]] = a[s]
                        if gap <= max(tol * primal, 4 * EPS * size):
                            break
                    else:
                        for s in range(t):
                            a[s] = former[s]
                        _correlations(G, place, b, index, a, t, c)
        every = not every or settled
    t = 0
    for j in range(k):
        if code[j] != 0.0:
            index[t] = j
            a[t] = code[j]
            t += 1
            code[j] = 0.0
    return t, sweeps, G
