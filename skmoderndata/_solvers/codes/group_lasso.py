"""Least squares with a penalty on the norms of groups of coefficients, and on their magnitudes.

``min over w  1/2 |y - X w|^2 + lam Omega(w)``,
``Omega(w) = sum_g (1 - mix) weight_g |w_g|_2 + mix |w_g|_1``, also with ``w >= 0``. Groups are
consecutive columns. The problem is solved on a working set of groups, by block coordinate descent
and Newton steps on the coefficients that are not zero; groups that the residual asks for enter,
until the duality gap of the whole problem is small.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.codes.gaps import penalised_bounds
from skmoderndata._solvers.codes.group_newton import NEWTON_SIZE, newton_step
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.common.typing import Array

FLOOR = 64 * np.finfo(np.float64).eps  # of 1/2 |y|^2: a gap below this is rounding
SWEEPS_BETWEEN_GAPS = 20  # of coordinate descent between two looks at the gap
NEWTON_STEPS = 8  # while each is worth it
WIDE = 1000  # columns of a group up to which its inner products are stored
ONE_THREAD_ENTRIES = 2**24  # entries of X up to which one thread is enough


class GroupLassoResult(NamedTuple):
    """Coefficients (p,), the duality gap relative to ``1/2 |y|^2``, sweeps taken.

    From `lam_max` on all coefficients are zero. `objective` is absolute.
    """

    coef: Array
    gap: float
    n_iter: int
    lam_max: float
    objective: float = 0.0


class Columns:
    """Columns of X, weighted and centred: ``root * (X - mean)``, never formed for a sparse X.

    Of a sparse X also the projections onto the orthogonal complement of ``basis`` are implicit.

    Parameters
    ----------
    X : array (n, p), weighted and centred already, or CSC array, weighted
    mean : array (p,)
        Weighted means of the columns of a sparse X, zero without an intercept; None if dense.
    root : array (n,)
        Square roots of the weights of a sparse X.
    basis : array (n, q)
        Orthonormal columns that are projected out of a sparse X; None if there are none.
    """

    def __init__(
        self,
        X: Any,
        mean: Array | None = None,
        root: Array | None = None,
        basis: Array | None = None,
    ) -> None:
        self.is_sparse = sparse.issparse(X)
        self.X: Any = X if self.is_sparse else np.asfortranarray(X)
        self.mean: Any = mean
        self.root: Any = root
        self.basis: Any = None
        if basis is not None:
            self.loads = np.array([self.cross(column) for column in basis.T])
            self.basis = basis
        # group -> largest eigenvalue and inner products of its columns, for all working sets
        self.blocks: dict[int, tuple[float, Array]] = {}

    def times(self, w: Array) -> Array:
        """Linear combination of the columns that `w` uses."""
        used = np.flatnonzero(w)
        if not self.is_sparse:
            return np.asarray(w[used] @ self.X.T[used])
        out = self.X[:, used] @ w[used]
        if self.mean is not None:
            out = out - self.root * (self.mean @ w)
        if self.basis is not None:
            out = out - self.basis @ (self.loads @ w)
        return np.asarray(out)

    def cross(self, r: Array) -> Array:
        """Inner products of a vector with all columns."""
        out = self.X.T @ r
        if self.mean is not None:
            out = out - self.mean * (self.root @ r)
        if self.basis is not None:
            out = out - (self.basis.T @ r) @ self.loads
        return np.asarray(out)

    def rows(self, which: Array) -> Array:
        """Dense columns, in rows."""
        if not self.is_sparse:
            return np.asarray(self.X.T[which])
        out = np.ascontiguousarray(self.X[:, which].toarray().T)
        if self.mean is not None:
            out = out - np.outer(self.mean[which], self.root)
        if self.basis is not None:
            out = out - self.loads[:, which].T @ self.basis.T
        return out

    def gram(self, which: Array) -> Array:
        """Inner products of some columns."""
        if not self.is_sparse:
            rows = self.X.T[which]
            return np.asarray(rows @ rows.T)
        columns = self.X[:, which]
        out = (columns.T @ columns).toarray()
        if self.mean is not None:
            mean = self.mean[which]
            out -= (self.root @ self.root) * np.outer(mean, mean)
        if self.basis is not None:
            out -= self.loads[:, which].T @ self.loads[:, which]
        return np.asarray(out)


def one_thread_if_small(size: int) -> AbstractContextManager[Any]:
    """Keep the BLAS to one thread where others gain little: with a busy core all wait for one.

    Measured on two cores, both busy: 4 to 30 times as fast.
    """
    return one_blas_thread() if size <= ONE_THREAD_ENTRIES else nullcontext()


class WorkingSet:
    """Groups taken into the problem so far, with coefficients for the rows of a matrix Z.

    These are the columns of X in the set, or, with more samples than columns, rows with the same
    inner products: with Z the Cholesky factor of ``X_A' X_A`` the problem has the same solutions
    for ``Z^-1 X_A' y`` in the place of y. `all_edges` are the first columns of all groups and
    their end, `edges` those of the set.
    """

    def __init__(self, X: Columns, edges: Array) -> None:
        self.X = X
        self.all_edges = edges
        self.groups = np.zeros(0, np.int64)
        self.blocks_of_factor: dict[int, tuple[float, Array]] = {}
        self.add(self.groups)

    def add(self, groups: Array) -> None:
        """Take groups in."""
        self.groups = np.append(self.groups, groups)
        sizes = np.diff(self.all_edges)[self.groups]
        self.edges = np.append(0, np.cumsum(sizes))
        count = int(self.edges[-1])
        within = np.arange(count) - np.repeat(self.edges[:-1], sizes)
        self.columns = np.repeat(self.all_edges[self.groups], sizes) + within

        # the columns, or their Cholesky factor where they are few
        self.factor: Array | None = None
        if 2 * count > self.X.X.shape[0]:
            self.Z = self.X.rows(self.columns)
        else:
            gram = self.X.gram(self.columns)
            factor, pivots, rank, _ = linalg.lapack.dpstrf(gram, lower=1)
            self.factor = np.tril(factor)[:, :rank]
            self.pivots = pivots[:rank] - 1
            self.Z = np.empty((count, rank))
            self.Z[pivots - 1] = self.factor

        # inner products within new groups, those of one size together
        stored = self.X.blocks if self.factor is None else self.blocks_of_factor
        new = np.array([g not in stored for g in self.groups.tolist()], np.bool_)
        for size in np.unique(sizes[new]):
            which = np.flatnonzero(new & (sizes == size))
            rows = self.Z[self.edges[which][:, None] + np.arange(size)]
            turned = rows.transpose(0, 2, 1)
            few = size <= WIDE
            wide = not few and size > self.Z.shape[1]
            products = turned @ rows if wide else rows @ turned
            largest = np.linalg.eigvalsh(products)[:, -1].tolist()
            n_new = len(which)
            blocks = products.reshape(n_new, -1) if few else np.zeros((n_new, 0))
            values = zip(largest, blocks, strict=True)
            names = self.groups[which].tolist()
            stored.update(zip(names, values, strict=True))

        pairs = [stored[g] for g in self.groups.tolist()]
        self.largest = np.array([largest for largest, _ in pairs])
        self.blocks = np.concatenate([np.zeros(0), *(block for _, block in pairs)])

    def target(self, y: Array, b: Array) -> Array:
        """Compute what takes the place of y from ``b = X' y``."""
        if self.factor is None:
            return y
        L = self.factor[: len(self.pivots)]
        return linalg.solve_triangular(L, b[self.columns[self.pivots]], lower=True)


class Penalty(NamedTuple):
    """``lam sum_g ((1 - mix) weight_g |w_g| + mix |w_g|_1)``, also with ``w >= 0``.

    Group g holds the coefficients ``edges[g]:edges[g + 1]``.
    """

    edges: Array
    weights: Array
    lam: float
    mix: float = 0.0
    positive: bool = False

    def of(self, w: Array) -> float:
        """Penalty divided by `lam`."""
        norms = np.sqrt(np.add.reduceat(w * w, self.edges[:-1]))
        of_groups = self.weights @ norms
        return float((1 - self.mix) * of_groups + self.mix * np.abs(w).sum())

    def slopes(self, w: Array) -> Array:
        """Slopes of the penalty at the coefficients that are not zero, 0 at the others."""
        sizes = np.diff(self.edges)
        norms = np.sqrt(np.add.reduceat(w * w, self.edges[:-1]))
        factors = (1 - self.mix) * self.weights / np.where(norms > 0, norms, 1.0)
        return self.lam * (np.repeat(factors, sizes) * w + self.mix * np.sign(w))

    def dual_norms(self, c: Array) -> Array:
        """Dual norm for each group: the smallest `lam` for which it stays zero.

        For group g it is the root v of ``|soft(c_g, mix v)|_2 = (1 - mix) weight_g v``; with
        `positive` only positive entries count.
        """
        out = np.empty(len(self.edges) - 1)
        size = np.maximum(c, 0.0) if self.positive else np.abs(c)
        if self.mix > 0:  # descending in each group
            owner = np.repeat(np.arange(len(out)), np.diff(self.edges))
            size = size[np.lexsort((-size, owner))]
        _dual_norms(size, self.edges, self.weights, self.mix, out)
        return out


def group_lasso(
    y: Array,
    work: WorkingSet,
    penalty: Penalty,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    start: Array | None = None,
    of_objective: bool = False,
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
    penalty : Penalty
        Over all groups, with positive `lam` and weights.
    tol : float
        Duality gap relative to ``1/2 |y|^2``, or with `of_objective` to the objective.
    max_iter : int
        Sweeps of coordinate descent.
    start : array (p,) or None
        Coefficients to start from.
    """
    X = work.X
    lam = penalty.lam
    n_columns = int(penalty.edges[-1])
    w = np.zeros(n_columns) if start is None else np.array(start, dtype=np.float64)
    if penalty.positive:
        w = np.maximum(w, 0.0)
    scale = 0.5 * float(y @ y)
    if scale == 0:
        return GroupLassoResult(np.zeros_like(w), 0.0, 0, 0.0)

    n_groups = len(penalty.weights)
    of_group = np.repeat(np.arange(n_groups), np.diff(penalty.edges))
    taken = 0
    idle = 0
    best = GroupLassoResult(w, np.inf, 0, 0.0)
    b = X.cross(y)
    lam_max = float(penalty.dual_norms(b).max())

    while True:
        # 1. gap on all groups; keep the best coefficients
        r = y - X.times(w)
        scores = penalty.dual_norms(X.cross(r) if w.any() else b)
        gap, objective = _gap(float(y @ r), float(r @ r), w, scores, penalty)
        idle = 0 if gap < 0.9 * best.gap else idle + 1
        if gap < best.gap:
            best = GroupLassoResult(w, gap, taken, lam_max, objective)

        # 2. stop: gap, number of sweeps, or no progress
        unit = best.objective if of_objective else scale
        wanted_gap = max(tol * unit, FLOOR * scale)
        if best.gap <= wanted_gap or taken >= max_iter or idle > 5:
            break
        if progress is not None:
            progress.begin()

        # 3. groups that violate their constraint most join the working set
        active = np.zeros(len(scores), np.bool_)
        active[of_group[w != 0]] = True
        missing = active | (scores > lam * (1 + 1e-12))
        missing[work.groups] = False
        new = np.flatnonzero(missing)
        if new.size:
            largest = max(20, 2 * int(np.count_nonzero(active)), len(scores) // 20)
            urgency = np.where(active[new], np.inf, scores[new])
            order = np.argsort(-urgency, kind="stable")
            work.add(np.sort(new[order[:largest]]))

        # 4. solve on the working set, no closer than needed while other groups wait
        goal = max(0.3 * wanted_gap, 0.1 * gap if new.size else 0.0)
        w, steps = _solve_working_set(y, b, work, w, penalty, goal, max_iter - taken)
        taken += steps
        if progress is not None and progress.end():
            break
    return best._replace(gap=best.gap / scale, n_iter=taken)


def group_lasso_gap(X: Columns, y: Array, w: Array, penalty: Penalty) -> float:
    """Duality gap of any coefficients; the dual point is the best multiple of the residual.

    The dual problem is ``max y'v - 1/2 |v|^2`` with ``dual_norms(X'v) <= lam`` for every group.
    """
    r = y - X.times(w)
    scores = penalty.dual_norms(X.cross(r))
    gap, _ = _gap(float(y @ r), float(r @ r), w, scores, penalty)
    return gap


def _gap(
    yr: float, rr: float, w: Array, scores: Array, penalty: Penalty
) -> tuple[float, float]:
    """Duality gap, at least 0, and objective; `scores` are the dual norms of ``X' r``."""
    objective, bound = penalised_bounds(yr, rr, penalty.of(w), scores.max(), penalty.lam)
    return relative_gap(objective, bound, unit=1.0), float(objective)


def _solve_working_set(
    y: Array,
    b: Array,
    work: WorkingSet,
    w: Array,
    penalty: Penalty,
    goal: float,
    max_iter: int,
) -> tuple[Array, int]:
    """Coefficients of the problem on the working set, all others zero, and the sweeps taken.

    ``b = X' y``; it ends with a duality gap of at most `goal`.
    """
    Z = work.Z
    edges = work.edges
    a = w[work.columns]
    target = work.target(y, b)
    size = float(y @ y)
    outside = float(y @ y - target @ target)
    some = penalty._replace(edges=edges, weights=penalty.weights[work.groups])
    group_lam = some.lam * (1 - some.mix) * some.weights
    single_lam = some.lam * some.mix
    positive = some.positive

    def look() -> tuple[Array, Array, float]:
        r = target - a @ Z
        c = Z @ r
        yr = outside + float(target @ r)
        rr = outside + float(r @ r)
        return r, c, _gap(yr, rr, a, some.dual_norms(c), some)[0]

    r, c, gap = look()
    taken = 0
    best = np.inf
    idle = 0

    while taken < max_iter and gap > goal:
        # sweeps of block coordinate descent
        before = gap
        count = min(SWEEPS_BETWEEN_GAPS, max_iter - taken)
        taken += descend(
            Z, edges, r, work.blocks, a, group_lam, single_lam, work.largest, positive, count
        )
        r, c, gap = look()

        # Newton's steps where sweeps to come would take longer, by measurement
        system = min(np.count_nonzero(a), Z.shape[1])
        worth = False
        if system <= NEWTON_SIZE and gap > goal:
            gain = np.log(max(1.0, before / gap))
            worth = np.log(gap / goal) > system / 200 * gain
        for _ in range(NEWTON_STEPS if worth else 0):
            former = gap
            used = np.count_nonzero(a)
            a = newton_step(Z, edges, a, c, group_lam, single_lam, positive)
            r, c, gap = look()
            zeroed = np.count_nonzero(a) < used
            if gap <= goal or (gap > 0.1 * former and not zeroed):
                break

        # no progress but for rounding
        idle = 0 if gap < 0.99 * best else idle + 1
        best = min(best, gap)
        if idle >= 20 and gap <= 500 * FLOOR * size:  # rounding
            break

    out = np.zeros_like(w)
    out[work.columns] = a
    return out, taken


@jit
def _dual_norms(size, edges, weights, mix, out):
    """Roots v of ``sum (size - mix v)_+^2 = ((1 - mix) weight v)^2``; sizes of groups descend."""
    for g in range(len(out)):
        first = edges[g]
        last = edges[g + 1]
        a = (1.0 - mix) * weights[g]

        # closed forms: groups of Euclidean norm, of one column, of maximum norm
        if mix == 0.0 or last - first == 1:
            total = 0.0
            for j in range(first, last):
                total += size[j] * size[j]
            out[g] = np.sqrt(total) / (a + mix)
            continue
        if mix == 1.0:
            out[g] = size[first]
            continue

        # the root lies between two sizes: go down until the sign changes
        ordered = size[first:last]
        s1 = 0.0
        s2 = 0.0
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
            quadratic = (k * mix * mix - a * a) * v * v
            if s2 - 2 * mix * v * s1 + quadratic >= 0.0:
                break

        root = mix * mix * s1 * s1 - s2 * (k * mix * mix - a * a)
        out[g] = s2 / (mix * s1 + np.sqrt(max(root, 0.0)))


@jit
def _shrink_group(z, group_lam, single_lam, positive):
    """Soft thresholding in place, then shrinking of the group: the proximal operator."""
    total = 0.0
    for j in range(len(z)):
        v = max(abs(z[j]) - single_lam, 0.0)
        if z[j] <= 0.0:
            v = 0.0 if positive else -v
        z[j] = v
        total += z[j] * z[j]
    norm = np.sqrt(total)
    for j in range(len(z)):
        z[j] = z[j] * (1.0 - group_lam / norm) if norm > group_lam else 0.0


@jit
def descend(Z, edges, r, blocks, a, group_lam, single_lam, largest, positive, max_sweeps):
    """Sweeps of block coordinate descent in place, the first and last over all groups.

    The rows of Z hold the columns, and r the residual. Each block takes proximal gradient steps
    with its own curvature until it moves little. Returns the number of sweeps.
    """
    widest = np.diff(edges).max()
    old = np.empty(widest)
    slope = np.empty(widest)
    z = np.empty(widest)
    every = True
    reference = 0.0
    for sweep in range(1, max_sweeps + 1):
        moved = 0.0
        after = 0

        for g in range(len(group_lam)):
            first = edges[g]
            size = edges[g + 1] - edges[g]
            L = largest[g]
            block = after
            after += size * size if size <= WIDE else 0

            # groups of zeros wait for a sweep over all
            used = False
            for j in range(first, first + size):
                used = used or a[j] != 0.0
            if not used and not (every and L > 0.0):  # columns of zeros have L = 0
                continue

            # slopes of the group, then a few steps within it
            for j in range(size):
                old[j] = a[first + j]
                slope[j] = np.dot(Z[first + j], r)
            for _ in range(10 if 1 < size <= WIDE else 1):
                for j in range(size):
                    z[j] = a[first + j] + slope[j] / L
                _shrink_group(z[:size], group_lam[g] / L, single_lam / L, positive)

                step = 0.0
                norm_sq = 0.0
                for j in range(size):
                    norm_sq += z[j] * z[j]
                    v = z[j] - a[first + j]
                    a[first + j] = z[j]
                    z[j] = v
                    step += v * v
                if step <= 1e-6 * norm_sq:
                    break

                if 1 < size <= WIDE:
                    for q in range(size):
                        if z[q] != 0.0:
                            for j in range(size):
                                slope[j] -= blocks[block + q * size + j] * z[q]

            # the residual follows once for the whole group
            for j in range(size):
                v = a[first + j] - old[j]
                if v != 0.0:
                    moved += v * v * L
                    row = Z[first + j]
                    for q in range(len(r)):
                        r[q] -= v * row[q]

        # over the active groups while they move, then over all
        reference = max(reference, moved)
        if moved <= 1e-3 * reference:
            if every:
                return sweep
            every = True
        else:
            every = False
    return max_sweeps
