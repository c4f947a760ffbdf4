"""Least squares with penalties on the norms of groups of coefficients, and on their magnitudes.

``min over w  1/2 |y - X w|^2 + lam Omega(w)``,
``Omega(w) = sum_g (1 - mix) weight_g |w_g|_2 + mix |w_g|_1``, optionally with ``w >= 0``. Groups
are consecutive columns.

Differs from the papers (Yuan and Lin 2006; Simon et al. 2013): 1. Groups need not be orthonormal;
each is majorised by its largest eigenvalue. 2. Sweeps run over a working set of groups, which
grows until the duality gap of the full problem is small. 3. Newton steps on the non-zero
coefficients follow if further sweeps would cost more.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._solvers.codes.gaps import penalised_bounds
from skmoderndata._solvers.codes.group_newton import NEWTON_SIZE, newton_step
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.jit import jit_leaf
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    INNER_SHARE,
    PROGRESS,
    ROUNDING,
)
from skmoderndata._solvers.common.typing import Array

# Largest gap that counts as a rounding error, as a fraction of 1/2 |y|^2.
FLOOR = ROUNDING
# Number of coordinate descent sweeps between two checks of the gap.
SWEEPS_BETWEEN_GAPS = 20
# Maximum number of consecutive Newton steps; they end earlier if a step gains too little.
NEWTON_STEPS = 8
# Maximum number of columns of a group whose inner products are stored.
WIDE = 1000
# Maximum number of entries of X for which one BLAS thread is enough.
ONE_THREAD_ENTRIES = 2**24


class GroupLassoResult(NamedTuple):
    """Coefficients (p,), duality gap relative to ``1/2 |y|^2``, and number of sweeps.

    For `lam` of at least `lam_max`, all coefficients are zero. `objective` is absolute.
    """

    coef: Array
    gap: float
    n_iter: int
    lam_max: float
    objective: float = 0.0


class Columns:
    """Columns of X, weighted and centred: ``root * (X - mean)``, never formed if X is sparse.

    For sparse X, the projections onto the orthogonal complement of ``basis`` are also implicit.
    With ``ridge``, the rows of ``ridge`` times the identity follow the rows of X: least squares
    with targets of 0 there add ``1/2 ridge^2 |w|^2`` to the objective.

    Parameters
    ----------
    X : array (n, p), already weighted and centred, or CSC array, weighted
    mean : array (p,)
        Weighted means of the columns of a sparse X (zero without an intercept); None if dense.
    root : array (n,)
        Square roots of the sample weights, for a sparse X.
    basis : array (n, q)
        Orthonormal columns that are projected out of a sparse X; None if there are none.
    ridge : float
        Non-zero entry of the additional rows; 0 if there are none.
    """

    def __init__(
        self,
        X: Any,
        mean: Array | None = None,
        root: Array | None = None,
        basis: Array | None = None,
        ridge: float = 0.0,
    ) -> None:
        # keep the ridge at 0 until `loads` is computed, because `cross` would add the ridge rows
        self.ridge = 0.0
        self.is_sparse = sparse.issparse(X)
        self.X: Any = X if self.is_sparse else np.asfortranarray(X)
        self.mean: Any = mean
        self.root: Any = root
        self.basis: Any = None
        if basis is not None:
            self.loads = np.array([self.cross(column) for column in basis.T])
            self.basis = basis
        self.ridge = ridge
        self.n_rows: int = self.X.shape[0] + (self.X.shape[1] if ridge else 0)
        # store the largest eigenvalue and the inner products of each group for all working sets
        self.blocks: dict[int, tuple[float, Array]] = {}

    def times(self, w: Array) -> Array:
        """Return the linear combination of the columns with coefficients `w`."""
        out = self._times(w)
        return np.append(out, self.ridge * w) if self.ridge else out

    def _times(self, w: Array) -> Array:
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
        """Return the inner products of a vector with all columns."""
        if self.ridge:
            n = self.X.shape[0]
            return self._cross(r[:n]) + self.ridge * r[n:]
        return self._cross(r)

    def _cross(self, r: Array) -> Array:
        out = self.X.T @ r
        if self.mean is not None:
            out = out - self.mean * (self.root @ r)
        if self.basis is not None:
            out = out - (self.basis.T @ r) @ self.loads
        return np.asarray(out)

    def rows(self, which: Array) -> Array:
        """Return the given columns as rows of a dense array."""
        if self.ridge:
            multiples = np.zeros((len(which), self.X.shape[1]))
            multiples[np.arange(len(which)), which] = self.ridge
            return np.hstack([self._rows(which), multiples])
        return self._rows(which)

    def _rows(self, which: Array) -> Array:
        if not self.is_sparse:
            return np.asarray(self.X.T[which])
        out = np.ascontiguousarray(self.X[:, which].toarray().T)
        if self.mean is not None:
            out = out - np.outer(self.mean[which], self.root)
        if self.basis is not None:
            out = out - self.loads[:, which].T @ self.basis.T
        return out

    def gram(self, which: Array) -> Array:
        """Return the inner products of the given columns."""
        out = self._gram(which)
        if self.ridge:
            out.ravel()[:: len(which) + 1] += self.ridge**2
        return out

    def _gram(self, which: Array) -> Array:
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
    """Limit BLAS to one thread for small data: more threads gain little and wait for busy cores.

    It is 4 to 30 times as fast if both of two cores are busy.
    """
    return one_blas_thread() if size <= ONE_THREAD_ENTRIES else nullcontext()


class WorkingSet:
    """Groups in the problem so far; the coefficients refer to the rows of a matrix Z.

    Z holds the columns of X in the set or, with more samples than columns, rows with the same
    inner products: if Z is the Cholesky factor of ``X_A' X_A``, the problem has the same solutions
    with ``Z^-1 X_A' y`` in place of y. `all_edges` holds the first column of every group and the
    end, and `edges` the same for the groups in the set.
    """

    def __init__(self, X: Columns, edges: Array) -> None:
        self.X = X
        self.all_edges = edges
        self.groups = np.zeros(0, np.int64)
        self.blocks_of_factor: dict[int, tuple[float, Array]] = {}
        self.add(self.groups)

    def add(self, groups: Array) -> None:
        """Add groups to the set."""
        self.groups = np.append(self.groups, groups)
        sizes = np.diff(self.all_edges)[self.groups]
        self.edges = np.append(0, np.cumsum(sizes))
        count = int(self.edges[-1])
        within = np.arange(count) - np.repeat(self.edges[:-1], sizes)
        self.columns = np.repeat(self.all_edges[self.groups], sizes) + within

        # use the columns themselves, or the Cholesky factor of their Gram matrix if there are few
        # columns
        self.factor: Array | None = None
        if 2 * count > self.X.n_rows:
            self.Z = self.X.rows(self.columns)
        else:
            gram = self.X.gram(self.columns)
            factor, pivots, rank, _ = linalg.lapack.dpstrf(gram, lower=1)
            self.factor = np.tril(factor)[:, :rank]
            self.pivots = pivots[:rank] - 1
            self.Z = np.empty((count, rank))
            self.Z[pivots - 1] = self.factor

        # compute the inner products within new groups, for all groups of one size together
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
        """Return the vector that replaces y, given ``b = X' y``."""
        if self.factor is None:
            return y
        L = self.factor[: len(self.pivots)]
        return linalg.solve_triangular(L, b[self.columns[self.pivots]], lower=True)


class Penalty(NamedTuple):
    """The penalty ``lam sum_g ((1 - mix) weight_g |w_g| + mix |w_g|_1)``; may require ``w >= 0``.

    Group g holds the coefficients ``edges[g]:edges[g + 1]``.
    """

    edges: Array
    weights: Array
    lam: float
    mix: float = 0.0
    positive: bool = False

    def of(self, w: Array) -> float:
        """Return the penalty divided by `lam`."""
        norms = np.sqrt(np.add.reduceat(w * w, self.edges[:-1]))
        of_groups = self.weights @ norms
        return float((1 - self.mix) * of_groups + self.mix * np.abs(w).sum())

    def slopes(self, w: Array) -> Array:
        """Return the slopes of the penalty at non-zero coefficients, and 0 at zeros."""
        sizes = np.diff(self.edges)
        norms = np.sqrt(np.add.reduceat(w * w, self.edges[:-1]))
        factors = (1 - self.mix) * self.weights / np.where(norms > 0, norms, 1.0)
        return self.lam * (np.repeat(factors, sizes) * w + self.mix * np.sign(w))

    def dual_norms(self, c: Array) -> Array:
        """Return the dual norm of each group: the smallest `lam` for which it stays zero.

        For group g, it is the root v of ``|soft(c_g, mix v)|_2 = (1 - mix) weight_g v``; with
        `positive`, only positive entries count.
        """
        out = np.empty(len(self.edges) - 1)
        size = np.maximum(c, 0.0) if self.positive else np.abs(c)
        if self.mix > 0:  # sort in descending order within each group
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

    Runs block coordinate descent with majorised blocks on a working set of groups (Yuan and Lin
    2006; Simon, Friedman, Hastie and Tibshirani 2013), and Newton steps on the non-zero
    coefficients if these cost less than the sweeps that they save.


    Parameters
    ----------
    y : array (n,)
        Targets, centred if there is an intercept.
    work : WorkingSet
        Working set of the columns; it grows, and can be reused for several `y` and `lam`.
    penalty : Penalty
        Penalty on all groups, with positive `lam` and weights.
    tol : float
        Duality gap relative to ``1/2 |y|^2`` or, with `of_objective`, relative to the objective.
    max_iter : int
        Maximum number of coordinate descent sweeps.
    start : array (p,) or None
        Initial coefficients.
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
        # 1. compute the gap on all groups; keep the best coefficients
        r = y - X.times(w)
        scores = penalty.dual_norms(X.cross(r) if w.any() else b)
        gap, objective = _gap(float(y @ r), float(r @ r), w, scores, penalty)
        idle = 0 if gap < PROGRESS * best.gap else idle + 1
        if gap < best.gap:
            best = GroupLassoResult(w, gap, taken, lam_max, objective)

        # 2. stop if the gap is small, after the last sweep, or if there is no progress
        unit = best.objective if of_objective else scale
        target_gap = max(tol * unit, FLOOR * scale)
        if best.gap <= target_gap or taken >= max_iter or idle > 5:
            break
        if progress is not None:
            progress.begin()

        # 3. add the groups that violate their constraint most
        active = np.zeros(len(scores), np.bool_)
        active[of_group[w != 0]] = True
        missing = active | (scores > lam * (1 + ACCUMULATED_ROUNDING))
        missing[work.groups] = False
        new = np.flatnonzero(missing)
        if new.size:
            largest = max(20, 2 * int(np.count_nonzero(active)), len(scores) // 20)
            urgency = np.where(active[new], np.inf, scores[new])
            order = np.argsort(-urgency, kind="stable")
            work.add(np.sort(new[order[:largest]]))

        # 4. solve on the working set, less accurately as long as groups are added
        goal = max(0.3 * target_gap, INNER_SHARE * gap if new.size else 0.0)
        w, steps = _solve_working_set(y, b, work, w, penalty, goal, max_iter - taken)
        taken += steps
        if progress is not None and progress.end():
            break
    return best._replace(gap=best.gap / scale, n_iter=taken)


def group_lasso_gap(X: Columns, y: Array, w: Array, penalty: Penalty) -> float:
    """Return the duality gap of any coefficients, for the best multiple of the residual.

    The dual problem is ``max y'v - 1/2 |v|^2`` with ``dual_norms(X'v) <= lam`` for every group.
    """
    r = y - X.times(w)
    scores = penalty.dual_norms(X.cross(r))
    gap, _ = _gap(float(y @ r), float(r @ r), w, scores, penalty)
    return gap


def _gap(
    yr: float, rr: float, w: Array, scores: Array, penalty: Penalty
) -> tuple[float, float]:
    """Return a non-negative gap and the objective; `scores` holds the dual norms of ``X' r``."""
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
    """Return the solution on the working set, with all others zero, and the number of sweeps.

    ``b = X' y``; the loop ends with a duality gap of at most `goal`.
    """
    Z = work.Z
    edges = work.edges
    a = w[work.columns]
    target = work.target(y, b)
    size = float(y @ y)
    outside = float(y @ y - target @ target)
    restricted = penalty._replace(edges=edges, weights=penalty.weights[work.groups])
    group_lam = restricted.lam * (1 - restricted.mix) * restricted.weights
    single_lam = restricted.lam * restricted.mix
    positive = restricted.positive

    def look() -> tuple[Array, Array, float]:
        r = target - a @ Z
        c = Z @ r
        yr = outside + float(target @ r)
        rr = outside + float(r @ r)
        return r, c, _gap(yr, rr, a, restricted.dual_norms(c), restricted)[0]

    r, c, gap = look()
    taken = 0
    best = np.inf
    idle = 0

    while taken < max_iter and gap > goal:
        # make sweeps of block coordinate descent
        before = gap
        count = min(SWEEPS_BETWEEN_GAPS, max_iter - taken)
        taken += descend(
            Z, edges, r, work.blocks, a, group_lam, single_lam, work.largest, positive, count
        )
        r, c, gap = look()

        # take Newton steps if the remaining sweeps would take longer, according to measured times
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

        # stop if all remaining progress is rounding error
        idle = 0 if gap < 0.99 * best else idle + 1
        best = min(best, gap)
        if idle >= 20 and gap <= 500 * FLOOR * size:
            break

    out = np.zeros_like(w)
    out[work.columns] = a
    return out, taken


@jit_leaf
def _dual_norms(size, edges, weights, mix, out):
    """Solve ``sum (size - mix v)_+^2 = ((1 - mix) weight v)^2``; sizes descend in each group."""
    for g in range(len(out)):
        first = edges[g]
        last = edges[g + 1]
        a = (1.0 - mix) * weights[g]

        # use closed forms for the Euclidean norm, groups of one column, and the maximum norm
        if mix == 0.0 or last - first == 1:
            total = 0.0
            for j in range(first, last):
                total += size[j] * size[j]
            out[g] = np.sqrt(total) / (a + mix)
            continue
        if mix == 1.0:
            out[g] = size[first]
            continue

        # the root lies between two sizes: go through the sizes in descending order until the sign
        # changes
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


@jit_leaf
def _shrink_group(z, group_lam, single_lam, positive):
    """Apply the proximal operator in place: soft thresholding, then shrinking of the group."""
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


def descend(
    Z: Array,
    edges: Array,
    r: Array,
    blocks: Array,
    a: Array,
    group_lam: Array,
    single_lam: float,
    largest: Array,
    positive: bool,
    max_sweeps: int,
) -> int:
    """Sweep by block coordinate descent in place; the first and last sweep visit all groups.

    The rows of Z hold the columns, and r the residual. Each block takes proximal gradient steps
    with its own curvature until it moves little. Returns the number of sweeps.
    """
    space = np.empty((3, len(a)))  # enough for the widest group
    penalties = group_lam, single_lam
    return _descend(Z, edges, r, blocks, a, penalties, largest, positive, max_sweeps, space)


@jit_leaf
def _descend(Z, edges, r, blocks, a, penalties, largest, positive, max_sweeps, space):
    """Do the work of `descend`."""
    group_lam, single_lam = penalties
    old = space[0]
    slope = space[1]
    z = space[2]
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

            # visit zero groups only during sweeps over all groups
            used = False
            for j in range(first, first + size):
                used = used or a[j] != 0.0
            if not used and not (every and L > 0.0):  # L = 0 if the columns are zero
                continue

            # compute the slopes of the group, then make some steps within it
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

            # update the residual once for the whole group
            for j in range(size):
                v = a[first + j] - old[j]
                if v != 0.0:
                    moved += v * v * L
                    row = Z[first + j]
                    for q in range(len(r)):
                        r[q] -= v * row[q]

        # visit the active groups while they move, then all groups
        reference = max(reference, moved)
        if moved <= 1e-3 * reference:
            if every:
                return sweep
            every = True
        else:
            every = False
    return max_sweeps
