"""Least squares with a penalty on the norms of groups of coefficients, and on their magnitudes.

``min over w  1/2 |y - X w|^2 + lam Omega(w)``,
``Omega(w) = sum_g (1 - mix) weight_g |w_g|_2 + mix |w_g|_1``, also with ``w >= 0``. Groups are
consecutive columns. The problem is solved on a working set of groups, by block coordinate descent
and Newton steps on the coefficients that are not zero; groups that the residual asks for enter,
until the duality gap of the whole problem is small.
"""

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._jit import jit
from skmoderndata._solvers.codes.gaps import penalised_gap
from skmoderndata._solvers.codes.group_newton import NEWTON_SIZE, newton_step, times_rows
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.threads import blas_controller

Array = np.ndarray[Any, np.dtype[Any]]

FLOOR = 64 * np.finfo(np.float64).eps  # a relative gap below this is rounding
SWEEPS = 10  # of coordinate descent between two looks at the gap
NEWTON_STEPS = 8  # while each is worth it
NEWTON_CHEAP = 200  # up to this many a step is always taken
SMALL = 2**24  # entries of X up to which one thread is enough


class GroupLassoResult(NamedTuple):
    """Coefficients (p,), the duality gap relative to ``1/2 |y|^2``, sweeps or steps taken.

    From `lam_max` on all coefficients are zero.
    """

    coef: Array
    gap: float
    n_iter: int
    lam_max: float


class Columns:
    """Columns of X, weighted and centred: ``root * (X - mean)``, never formed for a sparse X.

    Parameters
    ----------
    X : array (n, p), weighted and centred already, or CSC array, weighted
    mean : array (p,)
        Weighted means of the columns of a sparse X, zero without an intercept; None if dense.
    root : array (n,)
        Square roots of the weights of a sparse X.
    products : array (p, p) or None
        Inner products of all columns, where they are there already.
    """

    def __init__(
        self,
        X: Any,
        mean: Array | None = None,
        root: Array | None = None,
        products: Array | None = None,
    ) -> None:
        self.is_sparse = sparse.issparse(X)
        self.X: Any = X if self.is_sparse else np.asfortranarray(X)
        self.mean, self.root = mean, root
        self.total = 0.0 if root is None else float(root @ root)
        self.products = products
        self.blocks: dict[int, tuple[float, Array]] = {}  # group -> largest eigenvalue, X_g' X_g

    def times(self, w: Array) -> Array:
        """Linear combination of the columns that `w` uses."""
        used = np.flatnonzero(w)
        if not self.is_sparse:
            return np.asarray(times_rows(self.X.T, used, w[used]))
        out = self.X[:, used] @ w[used] if 4 * used.size < w.size else self.X @ w
        if self.mean is not None:
            out = out - self.root * (self.mean @ w)
        return np.asarray(out)

    def cross(self, r: Array) -> Array:
        """Inner products of a vector with all columns."""
        out = self.X.T @ r
        if self.mean is not None:
            out = out - self.mean * (self.root @ r)
        return np.asarray(out)

    def gram(self, rows: Array, columns: Array) -> Array:
        """Inner products of some columns with some columns."""
        if self.products is not None:
            return np.asarray(self.products[np.ix_(rows, columns)])
        if not self.is_sparse:
            return np.asarray(self.X[:, rows].T @ self.X[:, columns])
        out = (self.X[:, rows].T @ self.X[:, columns]).toarray()
        if self.mean is not None:
            out = out - self.total * np.outer(self.mean[rows], self.mean[columns])
        return np.asarray(out)


def one_thread_if_small(size: int) -> AbstractContextManager[Any]:
    """Keep the BLAS to one thread where others gain little: with a busy core all wait for one.

    Measured on two cores, both busy: 4 to 30 times as fast.
    """
    limits = 1 if size <= SMALL else None
    limited: AbstractContextManager[Any] = blas_controller().limit(limits=limits, user_api="blas")
    return limited


class WorkingSet:
    """Groups taken into the problem so far, with inner products of their columns.

    `edges` are the first columns of all groups of the problem and their end. Kept are all inner
    products (`gram`) or, with more columns than a dense `X` has rows, those within groups only
    (`blocks`, one after the other; `gram` is None): that is less, and less work.
    """

    def __init__(self, X: Columns, edges: Array) -> None:
        self.X, self.all_edges = X, edges
        self.groups = np.zeros(0, np.int64)
        self.columns = np.zeros(0, np.int64)
        self.edges = np.zeros(1, np.int64)
        self.largest = np.zeros(0)  # eigenvalue of each block
        self.blocks = np.zeros(0)
        self.gram: Array | None = np.zeros((0, 0))

    def fits(self, groups: Array, most: int) -> bool:
        """Whether at most the square of `most` inner products are stored with more groups."""
        sizes = np.diff(self.all_edges)[np.append(self.groups, groups)]
        count = int(sizes.sum())
        return int((sizes**2).sum() if self._by_columns(count) else count**2) <= most**2

    def add(self, groups: Array) -> None:
        """Take groups in."""
        sizes = np.diff(self.all_edges)[groups]
        new = _ranges(self.all_edges[groups], sizes)
        old = len(self.columns)
        ends = old + np.cumsum(sizes)
        self.groups = np.append(self.groups, groups)
        self.columns = np.append(self.columns, new)
        self.edges = np.append(self.edges, ends)
        if self._by_columns(len(self.columns)):
            self.gram = None
        if self.gram is not None:
            gram = np.empty((len(self.columns), len(self.columns)))
            gram[:old, :old] = self.gram
            gram[old:] = self.X.gram(new, self.columns)
            gram[:old, old:] = gram[old:, :old].T
            self.gram = gram
        known = self.X.blocks
        fresh = np.array([g not in known for g in groups.tolist()], dtype=bool)
        for size in np.unique(sizes[fresh]):  # blocks of one size together
            which = np.flatnonzero(fresh & (sizes == size))
            at = (ends[which] - size)[:, None] + np.arange(size)
            if self.gram is not None:
                part = self.gram[at[:, :, None], at[:, None, :]]
            else:
                rows = self.X.X.T[self.columns[at]]
                part = rows @ rows.transpose(0, 2, 1)
            largest = np.linalg.eigvalsh(part)[:, -1].tolist()
            known.update(zip(groups[which].tolist(), zip(largest, part, strict=True), strict=True))
        pairs = [known[g] for g in groups.tolist()]
        self.largest = np.append(self.largest, [value for value, _ in pairs])
        self.blocks = np.concatenate([self.blocks, *(block.ravel() for _, block in pairs)])

    def _by_columns(self, count: int) -> bool:
        return not self.X.is_sparse and count > self.X.X.shape[0]


def group_lasso(
    y: Array,
    work: WorkingSet,
    *,
    lam: float,
    weights: Array,
    mix: float = 0.0,
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    start: Array | None = None,
    most_columns: int = 10_000,
    progress: Progress | None = None,
) -> GroupLassoResult:
    """Solve ``min 1/2 |y - X w|^2 + lam sum_g ((1 - mix) weight_g |w_g| + mix |w_g|_1)``.

    Block coordinate descent with majorised blocks on a working set of groups (Yuan and Lin 2006;
    Simon, Friedman, Hastie and Tibshirani 2013), and Newton steps on the coefficients that are not
    zero, where these cost less than the sweeps they save.

    Parameters
    ----------
    y : array (n,)
        Centred, if there is an intercept.
    work : WorkingSet
        Of the columns; it grows, and serves several `y` and `lam`.
    lam : float
        Positive.
    weights : array (n_groups,)
        Positive.
    mix : float in [0, 1]
        Fraction of the l1 norm.
    tol : float
        Duality gap relative to ``1/2 |y|^2``.
    max_iter : int
        Sweeps of coordinate descent, or steps of proximal gradient.
    start : array (p,) or None
        Coefficients to start from.
    most_columns : int
        Size of the working set beyond which inner products are not stored, and accelerated
        proximal gradient steps [Beck and Teboulle 2009] are taken instead.
    """
    X, edges = work.X, work.all_edges
    w = np.zeros(int(edges[-1])) if start is None else np.array(start, dtype=np.float64)
    if positive:
        w = np.maximum(w, 0.0)
    scale = 0.5 * float(y @ y)
    if scale == 0:
        return GroupLassoResult(np.zeros_like(w), 0.0, 0, 0.0)
    of_group = np.repeat(np.arange(len(weights)), np.diff(edges))
    inside = np.zeros(len(weights), np.bool_)
    inside[work.groups] = True
    taken, idle = 0, 0
    best_w, best_gap = w, np.inf
    momentum = _Momentum(w)
    b = X.cross(y)
    lam_max = float(dual_norms(b, edges, weights, mix, positive).max())
    while True:
        r = y - X.times(w)
        c = X.cross(r) if w.any() else b
        scores = dual_norms(c, edges, weights, mix, positive)
        penalty = _penalty(w, edges, weights, mix)
        gap = penalised_gap(float(y @ r), float(r @ r), penalty, scores.max(), lam)[0] / scale
        idle = 0 if gap < 0.9 * best_gap else idle + 1
        if gap < best_gap:
            best_w, best_gap = w, gap
        if best_gap <= max(tol, FLOOR) or taken >= max_iter or idle > 5:
            break
        if progress is not None:
            progress.begin()
        active = np.zeros(len(weights), np.bool_)
        active[of_group[w != 0]] = True
        wanted = (scores > lam * (1 + 1e-12)) | active
        missing = np.flatnonzero(wanted & ~inside)
        if missing.size:
            most = max(20, 2 * int(np.count_nonzero(active)), len(weights) // 20)
            urgency = np.where(active[missing], np.inf, scores[missing])
            missing = missing[np.argsort(-urgency, kind="stable")[:most]]
        if work.fits(missing, most_columns):
            if missing.size:
                work.add(np.sort(missing))
                inside[missing] = True
            # no closer than needed while other groups wait
            goal = max(0.3 * tol, 0.1 * gap) if missing.size else 0.3 * tol
            w, steps = _solve_working_set(
                y, work, w, r, c, b, lam, weights, mix, positive, goal, max_iter - taken
            )
            taken += steps
        else:
            w = momentum.steps(
                X, y, w, edges, lam * (1 - mix) * weights, lam * mix, positive, SWEEPS
            )
            taken += SWEEPS
            idle = 0
        if progress is not None and progress.end():
            break
    return GroupLassoResult(best_w, max(0.0, best_gap), taken, lam_max)


def group_lasso_gap(
    X: Columns,
    y: Array,
    w: Array,
    *,
    lam: float,
    edges: Array,
    weights: Array,
    mix: float,
    positive: bool,
) -> float:
    """Duality gap of any coefficients; the dual point is the best multiple of the residual.

    The dual problem is ``max y'v - 1/2 |v|^2`` with ``dual_norms(X'v) <= lam`` for every group.
    """
    r = y - X.times(w)
    largest = float(dual_norms(X.cross(r), edges, weights, mix, positive).max())
    penalty = _penalty(w, edges, weights, mix)
    return float(penalised_gap(float(y @ r), float(r @ r), penalty, largest, lam)[0])


def dual_norms(c: Array, edges: Array, weights: Array, mix: float, positive: bool) -> Array:
    """Dual norm of the penalty for each group: the smallest penalty for which it stays zero.

    For group g it is the root v of ``|soft(c_g, mix v)|_2 = (1 - mix) weight_g v``; with
    ``positive`` only positive entries count.
    """
    out = np.empty(len(edges) - 1)
    _dual_norms(np.maximum(c, 0.0) if positive else np.abs(c), edges, weights, mix, out)
    return out


def _ranges(first: Array, sizes: Array) -> Array:
    """``first[i], first[i] + 1, ...``, `sizes[i]` of them, for all i."""
    before = np.cumsum(sizes) - sizes
    out: Array = np.repeat(first - before, sizes) + np.arange(int(sizes.sum()))
    return out


def _penalty(w: Array, edges: Array, weights: Array, mix: float) -> float:
    norms = np.sqrt(np.add.reduceat(w * w, edges[:-1]))
    return float((1 - mix) * (weights @ norms) + mix * np.abs(w).sum())


def _solve_working_set(
    y: Array,
    work: WorkingSet,
    w: Array,
    r: Array,
    c: Array,
    b: Array,
    lam: float,
    weights: Array,
    mix: float,
    positive: bool,
    tol: float,
    max_iter: int,
) -> tuple[Array, int]:
    """Coefficients of the problem on the working set, all others zero, and the sweeps taken.

    ``r = y - X w``, ``c = X' r`` and ``b = X' y``.
    """
    G, edges, columns = work.gram, work.edges, work.columns
    a, b, c = w[columns], b[columns], c[columns]
    rows = work.X.X.T
    r = r.copy()
    size = float(y @ y)
    part = weights[work.groups]
    group_lam, single_lam = lam * (1 - mix) * part, lam * mix
    tol = max(tol, FLOOR)

    def slopes() -> Array:
        return np.asarray(_cross(rows, columns, r) if G is None else b - G @ a)

    def gap_of_set() -> float:
        largest = float(dual_norms(c, edges, part, mix, positive).max())
        yr, rr = size - float(a @ b), max(0.0, size - float(a @ (b + c)))
        penalty = _penalty(a, edges, part, mix)
        return float(penalised_gap(yr, rr, penalty, largest, lam)[0]) / (0.5 * size)

    gap = gap_of_set()
    taken, best, idle = 0, np.inf, 0
    while taken < max_iter and gap > tol:
        before = gap
        count = min(SWEEPS, max_iter - taken)
        matrix, starts, state = (rows, columns[edges[:-1]], r) if G is None else (G, edges, c)
        taken += descend(
            matrix, starts, state, G is not None, work.blocks, a, edges, group_lam, single_lam,
            work.largest, positive, count,
        )  # fmt: skip
        c = slopes()
        gap = gap_of_set()
        used = int(np.count_nonzero(a))
        system = used if G is not None else min(used, len(y))
        worth = system <= NEWTON_CHEAP
        if not worth and system <= NEWTON_SIZE and gap > tol:
            # sweeps to come would take longer than a step, by measurement
            worth = np.log(gap / tol) > system / 200 * np.log(max(1.0, before / gap))
        if worth:
            for _ in range(NEWTON_STEPS):
                former, used = gap, int(np.count_nonzero(a))
                a = newton_step(work, a, c, group_lam, single_lam, positive)
                r = r if G is not None else y - times_rows(rows, columns, a)
                c = slopes()
                gap = gap_of_set()
                zeroed = np.count_nonzero(a) < used
                if gap <= tol or (gap > 0.1 * former and not zeroed):
                    break
        idle = 0 if gap < 0.99 * best else idle + 1
        best = min(best, gap)
        if idle >= 20 and gap <= 1e3 * FLOOR:  # rounding
            break
    out = np.zeros_like(w)
    out[columns] = a
    return out, taken


class _Momentum:
    """Accelerated proximal gradient steps, in stretches."""

    def __init__(self, w: Array) -> None:
        self.t, self.former, self.bound = 1.0, w, 0.0

    def steps(
        self,
        X: Columns,
        y: Array,
        w: Array,
        edges: Array,
        group_lam: Array,
        single_lam: float,
        positive: bool,
        count: int,
    ) -> Array:
        """Take `count` steps from `w`; momentum starts afresh where it points uphill."""
        if self.bound == 0:
            v = X.cross(y)
            for _ in range(30):
                v = X.cross(X.times(v / linalg.norm(v)))
            self.bound = 1.1 * float(linalg.norm(v))
        point = w
        for _ in range(count):
            for _ in range(60):
                residual = y - X.times(point)
                new = np.empty_like(w)
                _shrink(
                    point + X.cross(residual) / self.bound, edges, group_lam / self.bound,
                    single_lam / self.bound, positive, new,
                )  # fmt: skip
                move = new - point
                curved = float(np.square(X.times(move)).sum())
                if curved <= self.bound * float(move @ move) * (1 + 1e-12):
                    break
                self.bound *= 2  # the estimate was too small
            change = new - w
            if float((point - new) @ change) > 0:
                self.t, point = 1.0, new
            else:
                t = 0.5 * (1 + np.sqrt(1 + 4 * self.t**2))
                point = new + (self.t - 1) / t * change
                self.t = t
            w = new
        return w


@jit
def _dual_norms(size, edges, weights, mix, out):
    """Root v of ``sum (size - mix v)_+^2 = ((1 - mix) weight v)^2`` in each group."""
    for g in range(len(out)):
        first, last = edges[g], edges[g + 1]
        a = (1.0 - mix) * weights[g]
        if mix == 0.0 or last - first == 1:
            total = 0.0
            for j in range(first, last):
                total += size[j] * size[j]
            out[g] = np.sqrt(total) / (a + mix)
            continue
        if mix == 1.0:
            out[g] = size[first:last].max()
            continue
        ordered = -np.sort(-size[first:last])
        s1, s2 = 0.0, 0.0
        out[g] = 0.0
        if ordered[0] == 0.0:
            continue
        k = 0
        n = last - first
        while k < n:
            s1 += ordered[k]
            s2 += ordered[k] * ordered[k]
            k += 1
            v = ordered[k] / mix if k < n else 0.0
            if s2 - 2 * mix * v * s1 + (k * mix * mix - a * a) * v * v >= 0.0:
                break
        root = mix * mix * s1 * s1 - s2 * (k * mix * mix - a * a)
        out[g] = s2 / (mix * s1 + np.sqrt(max(root, 0.0)))


@jit
def _shrink(z, edges, group_lam, single_lam, positive, out):
    """Proximal operator of the penalty."""
    for g in range(len(group_lam)):
        first, last = edges[g], edges[g + 1]
        _shrink_group(z[first:last], group_lam[g], single_lam, positive, out[first:last])


@jit
def _shrink_group(z, group_lam, single_lam, positive, out):
    """Soft thresholding, then shrinking of the group."""
    total = 0.0
    for j in range(len(z)):
        v = z[j]
        if v > single_lam:
            v -= single_lam
        elif v < -single_lam and not positive:
            v += single_lam
        else:
            v = 0.0
        out[j] = v
        total += v * v
    norm = np.sqrt(total)
    for j in range(len(z)):
        out[j] = out[j] * (1.0 - group_lam / norm) if norm > group_lam else 0.0


@jit
def descend(
    matrix, starts, state, by_products, blocks, a, edges, group_lam, single_lam, largest,
    positive, max_sweeps,
):  # fmt: skip
    """Sweeps of block coordinate descent in place, the first and last over all groups.

    With `by_products`, `matrix` is G and `state` is ``c = b - G a``; else they hold the columns,
    one in a row, and the residual. Group g begins in row ``starts[g]`` of the matrix. Each block
    takes proximal gradient steps with its own curvature until it moves little. Returns the number
    of sweeps.
    """
    n_groups = len(group_lam)
    widest = 0
    for g in range(n_groups):
        widest = max(widest, edges[g + 1] - edges[g])
    old, slope = np.empty(widest), np.empty(widest)
    z, new = np.empty(widest), np.empty(widest)
    every = True
    sweeps = 0
    reference = 0.0
    while sweeps < max_sweeps:
        sweeps += 1
        moved = 0.0
        offset = 0
        for g in range(n_groups):
            first, last = edges[g], edges[g + 1]
            size = last - first
            block = offset
            offset += size * size
            L = largest[g]
            used = False
            for j in range(first, last):
                used = used or a[j] != 0.0
            if not used and not every:
                continue
            if not L > 0.0:  # columns of zeros
                for j in range(first, last):
                    a[j] = 0.0
                continue
            for j in range(size):
                old[j] = a[first + j]
                if by_products:
                    slope[j] = state[first + j]
                else:
                    slope[j] = np.dot(matrix[starts[g] + j], state)
            for _ in range(10):
                for j in range(size):
                    z[j] = a[first + j] + slope[j] / L
                _shrink_group(z[:size], group_lam[g] / L, single_lam / L, positive, new)
                step, norm_sq = 0.0, 0.0
                for j in range(size):
                    z[j] = new[j] - a[first + j]
                    step += z[j] * z[j]
                    norm_sq += new[j] * new[j]
                    a[first + j] = new[j]
                if size == 1 or step <= 1e-6 * norm_sq:
                    break
                for q in range(size):
                    if z[q] != 0.0:
                        for j in range(size):
                            slope[j] -= blocks[block + q * size + j] * z[q]
            for j in range(size):
                v = a[first + j] - old[j]
                if v != 0.0:
                    moved += v * v * L
                    row = matrix[starts[g] + j]
                    for q in range(len(state)):
                        state[q] -= v * row[q]
        reference = max(reference, moved)
        if moved <= 1e-3 * reference:
            if every:
                break
            every = True
        else:
            every = False
    return sweeps


@jit
def _cross(rows, columns, r):
    """Inner products of a vector with some rows."""
    out = np.empty(len(columns))
    for j in range(len(columns)):
        out[j] = np.dot(rows[columns[j]], r)
    return out
