"""Least squares with a penalty on the norms of groups of coefficients, and on their magnitudes.

``min over w  1/2 |y - X w|^2 + lam Omega(w)``,
``Omega(w) = sum_g (1 - mix) weight_g |w_g|_2 + mix |w_g|_1``, also with ``w >= 0``. Groups are
consecutive columns. The problem is solved on a working set of groups, whose inner products are
kept, by block coordinate descent and Newton steps on the coefficients that are not zero; groups
that the residual asks for enter, until the duality gap of the whole problem is small.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skmoderndata._jit import jit
from skmoderndata._solvers.iterate import Progress

Array = np.ndarray[Any, np.dtype[Any]]

FLOOR = 64 * np.finfo(np.float64).eps  # a relative gap below this is rounding
SWEEPS = 10  # of coordinate descent between two looks at the gap
NEWTON_STEPS = 8
NEWTON_SIZE = 3000  # non-zero coefficients up to which their equations are solved


class GroupLassoResult(NamedTuple):
    """Coefficients (p,), the duality gap in proportion to ``1/2 |y|^2``, sweeps or steps taken."""

    coef: Array
    gap: float
    n_iter: int


class Columns:
    """Columns of X, weighted and centred: ``root * (X - mean)``, never formed for a sparse X.

    Parameters
    ----------
    X : array (n, p) in Fortran order, weighted and centred already, or CSC array, weighted
    mean : array (p,)
        Weighted means of the columns of a sparse X, zero without an intercept; None if dense.
    root : array (n,)
        Square roots of the weights of a sparse X.
    """

    def __init__(self, X: Any, mean: Array | None = None, root: Array | None = None) -> None:
        self.X, self.mean, self.root = X, mean, root
        self.total = 0.0 if root is None else float(root @ root)

    def times(self, w: Array) -> Array:
        """Linear combination of the columns that `w` uses."""
        used = np.flatnonzero(w)
        if 4 * used.size < w.size:
            out = self.X[:, used] @ w[used]
        else:
            out = self.X @ w
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
        if not sparse.issparse(self.X):
            return np.asarray(self.X[:, rows].T @ self.X[:, columns])
        X: Any = self.X
        out = (X[:, rows].T @ X[:, columns]).toarray()
        if self.mean is not None:
            out = out - self.total * np.outer(self.mean[rows], self.mean[columns])
        return np.asarray(out)


class WorkingSet:
    """Groups taken into the problem so far, with the inner products of their columns.

    `edges` are the first columns of all groups of the problem and their end. With more columns
    than `X` has rows, where `X` is dense, the columns themselves are kept (`rows`) and inner
    products within groups only (`blocks`, one after the other): that is less, and less work.
    """

    def __init__(self, X: Columns, edges: Array) -> None:
        self.X, self.all_edges = X, edges
        self.groups = np.zeros(0, np.int64)
        self.columns = np.zeros(0, np.int64)
        self.edges = np.zeros(1, np.int64)
        self.largest = np.zeros(0)  # eigenvalue of each block on the diagonal
        self.gram = np.zeros((0, 0))
        self.rows: Array | None = None
        self.blocks = np.zeros(0)

    def add(self, groups: Array) -> None:
        """Take groups in."""
        sizes = np.diff(self.all_edges)[groups]
        new = _ranges(self.all_edges[groups], sizes)
        old = len(self.columns)
        self.columns = np.append(self.columns, new)
        ends = self.edges[-1] + np.cumsum(sizes)
        self.groups = np.append(self.groups, groups)
        wide = not sparse.issparse(self.X.X) and len(self.columns) > self.X.X.shape[0]
        gram = self.gram
        if wide:
            self.rows = np.ascontiguousarray(self.X.X[:, self.columns].T)
            self.gram = np.zeros((0, 0))
        else:
            gram = np.empty((len(self.columns), len(self.columns)))
            gram[:old, :old] = self.gram
            gram[old:] = self.X.gram(new, self.columns)
            gram[:old, old:] = gram[old:, :old].T
            self.gram = gram
        every = np.append(np.diff(self.edges), sizes)
        last = np.append(self.edges[1:], ends)
        self.largest = np.zeros(len(every))
        blocks = np.zeros(int((every**2).sum()) if wide else 0)
        offsets = np.cumsum(every**2) - every**2
        for size in np.unique(every):  # blocks of one size together
            which = np.flatnonzero(every == size)
            at = (last[which] - size)[:, None] + np.arange(size)
            if self.rows is None:
                part = gram[at[:, :, None], at[:, None, :]]
            else:
                part = self.rows[at] @ self.rows[at].transpose(0, 2, 1)
                blocks[offsets[which][:, None] + np.arange(size**2)] = part.reshape(-1, size**2)
            self.largest[which] = np.linalg.eigvalsh(part)[:, -1]
        self.blocks = blocks
        self.edges = np.append(self.edges, ends)


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
    Simon, Friedman, Hastie and Tibshirani 2013), and Newton steps on the non-zero coefficients
    while the signs stay.

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
        Share of the l1 norm.
    tol : float
        Duality gap in proportion to ``1/2 |y|^2``.
    max_iter : int
        Sweeps of coordinate descent, or steps of proximal gradient.
    start : array (p,) or None
        Coefficients to start from.
    most_columns : int
        Size of the working set beyond which inner products are not kept, and accelerated proximal
        gradient steps [Beck and Teboulle 2009] are taken instead.
    """
    X, edges = work.X, work.all_edges
    w = np.zeros(int(edges[-1])) if start is None else np.array(start, dtype=np.float64)
    if positive:
        w = np.maximum(w, 0.0)
    scale = 0.5 * float(y @ y)
    if scale == 0:
        return GroupLassoResult(np.zeros_like(w), 0.0, 0)
    of_group = np.repeat(np.arange(len(weights)), np.diff(edges))
    inside = np.zeros(len(weights), np.bool_)
    inside[work.groups] = True
    taken, idle, goal = 0, 0, 0.1
    best_w, best_gap = w, np.inf
    momentum = _Momentum(w)
    while True:
        r = y - X.times(w)
        c = X.cross(r)
        scores = dual_norms(c, edges, weights, mix, positive)
        gap = _gap(
            float(y @ r), float(r @ r), lam, float(scores.max()),
            _penalty(w, edges, weights, mix),
        ) / scale  # fmt: skip
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
        room = len(work.columns) + int(np.diff(edges)[missing].sum()) <= most_columns
        if room:
            if missing.size:
                work.add(np.sort(missing))
                inside[missing] = True
            # no closer than needed for what is known of the other groups yet
            goal = 0.1 * min(gap, goal) if missing.size == 0 else 0.1 * gap
            w, steps = _solve_working_set(
                y, work, w, lam, weights, mix, positive, max(0.3 * tol, goal), max_iter - taken
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
    return GroupLassoResult(best_w, max(0.0, best_gap), taken)


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
    return _gap(float(y @ r), float(r @ r), lam, largest, _penalty(w, edges, weights, mix))


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


def _gap(yr: float, rr: float, lam: float, largest: float, penalty: float) -> float:
    """Duality gap from ``y'r``, ``r'r``, the largest dual norm of a group, and Omega(w)."""
    factor = max(0.0, yr / rr) if rr > 0 else 0.0
    if largest > 0:
        factor = min(factor, lam / largest)
    return float(0.5 * rr + lam * penalty - (factor * yr - 0.5 * factor**2 * rr))


def _solve_working_set(
    y: Array,
    work: WorkingSet,
    w: Array,
    lam: float,
    weights: Array,
    mix: float,
    positive: bool,
    tol: float,
    max_iter: int,
) -> tuple[Array, int]:
    """Coefficients of the problem on the working set, all others zero, and the sweeps taken."""
    G, rows, edges = work.gram, work.rows, work.edges
    b = work.X.cross(y)[work.columns]
    a = np.ascontiguousarray(w[work.columns])
    size = float(y @ y)
    part = weights[work.groups]
    group_lam, single_lam = lam * (1 - mix) * part, lam * mix
    most = NEWTON_SIZE if rows is None else min(NEWTON_SIZE, rows.shape[1])
    r = np.zeros(0) if rows is None else y - a @ rows
    c = b - G @ a if rows is None else rows @ r

    def products(S: Array) -> Array:
        return G[np.ix_(S, S)] if rows is None else rows[S] @ rows[S].T

    taken, best, idle, slow = 0, np.inf, 0, False
    while taken < max_iter:
        count = min(SWEEPS, max_iter - taken)
        if rows is None:
            taken += _descend(G, c, a, edges, group_lam, single_lam, work.largest, positive, count)
        else:
            taken += _descend_wide(
                rows,
                work.blocks,
                r,
                a,
                edges,
                group_lam,
                single_lam,
                work.largest,
                positive,
                count,
            )
        _newton(
            products, b, a, edges, group_lam, single_lam, positive, NEWTON_SIZE if slow else most
        )
        r = r if rows is None else y - a @ rows
        c = b - G @ a if rows is None else rows @ r
        largest = float(dual_norms(c, edges, part, mix, positive).max())
        yr, rr = size - float(a @ b), max(0.0, size - float(a @ (b + c)))
        gap = _gap(yr, rr, lam, largest, _penalty(a, edges, part, mix)) / (0.5 * size)
        if gap <= max(tol, FLOOR):
            break
        idle = 0 if gap < 0.99 * best else idle + 1
        slow = gap > 0.3 * best
        best = min(best, gap)
        if idle >= 20 and gap <= 1e3 * FLOOR:  # rounding
            break
    out = np.zeros_like(w)
    out[work.columns] = a
    return out, taken


def _newton(
    products: Callable[[Array], Array],
    b: Array,
    a: Array,
    edges: Array,
    group_lam: Array,
    single_lam: float,
    positive: bool,
    most: int,
) -> None:
    """Newton steps on the coefficients that are not zero, in place; each lowers the objective.

    The objective is smooth there: the group norms have gradient ``w_g / |w_g|`` and Hessian
    ``(I - w_g w_g' / |w_g|^2) / |w_g|``. A step ends where a coefficient would change its sign
    against a kink, or a group would pass zero, and leaves it there.
    """
    of_group = np.repeat(np.arange(len(group_lam)), np.diff(edges))
    for step in range(NEWTON_STEPS):
        S = np.flatnonzero(a)
        if S.size == 0 or S.size > most or (S.size > 500 and step > 1):
            return
        z, owner = a[S], of_group[S]
        first = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
        sizes = np.diff(np.append(first, S.size))
        lams = group_lam[owner[first]]
        norms = np.sqrt(np.add.reduceat(z * z, first))
        GS = products(S)
        slope = GS @ z - b[S] + np.repeat(lams / norms, sizes) * z + single_lam * np.sign(z)
        H = GS.copy()
        _add_curvature(H, z, first, sizes, lams / norms, 1 / norms)
        d = _descent_direction(H, slope)
        if d is None:
            return
        descent = float(slope @ d)
        if not np.isfinite(descent) or descent >= 0:
            return
        kinked = np.repeat((sizes == 1) | (single_lam > 0) | positive, sizes)
        length, zeroed = _first_kink(z, d, first, sizes, norms, kinked)
        curve = float(d @ (GS @ d))
        base = float(slope @ d) - float(
            (np.repeat(lams / norms, sizes) * z) @ d + single_lam * (np.sign(z) @ d)
        )
        penalty = float(lams @ norms) + single_lam * float(np.abs(z).sum())
        slack = 4 * np.finfo(np.float64).eps * (penalty + float(z @ (GS @ z)))  # rounding
        for _ in range(30):
            new = z + length * d
            new[zeroed] = 0.0
            change = length * base + 0.5 * length**2 * curve - penalty
            change += float(lams @ np.sqrt(np.add.reduceat(new * new, first)))
            change += single_lam * float(np.abs(new).sum())
            if change <= 1e-4 * length * descent + slack:
                break
            length, zeroed = 0.5 * length, zeroed[:0]
        else:
            return
        a[S] = new
        if zeroed.size == 0 and -descent <= 1e-15 * penalty:
            return


def _descent_direction(H: Array, slope: Array) -> Array | None:
    """Newton direction; a little is added to the diagonal where the Hessian is singular."""
    top = float(np.diagonal(H).max())
    for ridge in (1e-13, 1e-10, 1e-7):
        H[np.diag_indices_from(H)] += ridge * top
        try:
            factor = linalg.cho_factor(H, check_finite=False)
        except linalg.LinAlgError:
            continue
        return -np.asarray(linalg.cho_solve(factor, slope, check_finite=False))
    return None


def _first_kink(
    z: Array, d: Array, first: Array, sizes: Array, norms: Array, kinked: Array
) -> tuple[float, Array]:
    """Where on the way from `z` to `z + d` a coefficient or a group is first zero, and which."""
    length, zeroed = 1.0, np.zeros(0, np.int64)
    flips = np.flatnonzero(kinked & (z * (z + d) < 0))
    if flips.size:
        lengths = -z[flips] / d[flips]
        at = int(np.argmin(lengths))
        length, zeroed = float(lengths[at]), flips[at : at + 1]
    # groups that come close to zero at their nearest
    dd = np.add.reduceat(d * d, first)
    nearest = np.divide(-np.add.reduceat(z * d, first), dd, out=np.zeros_like(dd), where=dd > 0)
    missed = norms**2 - nearest**2 * dd
    for g in np.flatnonzero((nearest > 0) & (nearest < length) & (missed <= 1e-4 * norms**2)):
        if nearest[g] < length:
            length = float(nearest[g])
            zeroed = np.arange(first[g], first[g] + sizes[g])
    return length, zeroed


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
def _dual_norms(size, edges, weights, mix, out):  # type: ignore[no-untyped-def]
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
def _shrink(z, edges, group_lam, single_lam, positive, out):  # type: ignore[no-untyped-def]
    """Proximal operator of the penalty: soft thresholding, then shrinking of each group."""
    for g in range(len(group_lam)):
        total = 0.0
        for j in range(edges[g], edges[g + 1]):
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
        if norm <= group_lam[g]:
            for j in range(edges[g], edges[g + 1]):
                out[j] = 0.0
        else:
            factor = 1.0 - group_lam[g] / norm
            for j in range(edges[g], edges[g + 1]):
                out[j] *= factor


@jit
def _descend(  # type: ignore[no-untyped-def]
    G, c, a, edges, group_lam, single_lam, largest, positive, max_sweeps
):
    """Sweeps of block coordinate descent in place, the first and last over all groups.

    ``c = b - G a`` is kept. Each block takes proximal gradient steps with its own curvature until
    it moves little. Returns the number of sweeps.
    """
    n_groups = len(group_lam)
    m = len(a)
    widest = 0
    for g in range(n_groups):
        widest = max(widest, edges[g + 1] - edges[g])
    old, slope = np.empty(widest), np.empty(widest)
    z, new = np.empty(widest), np.empty(widest)
    whole = np.zeros(2, np.int64)
    lam = np.empty(1)
    every = True
    sweeps = 0
    reference = 0.0
    while sweeps < max_sweeps:
        sweeps += 1
        moved = 0.0
        for g in range(n_groups):
            first, last = edges[g], edges[g + 1]
            size = last - first
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
            whole[1] = size
            lam[0] = group_lam[g] / L
            for j in range(size):
                old[j] = a[first + j]
                slope[j] = c[first + j]
            for _ in range(10):
                for j in range(size):
                    z[j] = a[first + j] + slope[j] / L
                _shrink(z[:size], whole, lam, single_lam / L, positive, new[:size])
                step, length = 0.0, 0.0
                for j in range(size):
                    z[j] = new[j] - a[first + j]
                    step += z[j] * z[j]
                    length += new[j] * new[j]
                    a[first + j] = new[j]
                if size == 1 or step <= 1e-6 * length:
                    break
                for q in range(size):
                    if z[q] != 0.0:
                        for j in range(size):
                            slope[j] -= G[first + q, first + j] * z[q]
            change = 0.0
            for j in range(size):
                z[j] = a[first + j] - old[j]
                change += z[j] * z[j]
            if change > 0.0:
                moved += change * L
                for j in range(size):
                    if z[j] != 0.0:
                        row = G[first + j]
                        v = z[j]
                        for q in range(m):
                            c[q] -= v * row[q]
        reference = max(reference, moved)
        if moved <= 1e-3 * reference:
            if every:
                break
            every = True
        else:
            every = False
    return sweeps


@jit
def _descend_wide(  # type: ignore[no-untyped-def]
    rows, blocks, r, a, edges, group_lam, single_lam, largest, positive, max_sweeps
):
    """Sweeps as in `_descend`, with the residual ``r = y - a rows`` kept instead of ``c``."""
    n_groups = len(group_lam)
    widest = 0
    for g in range(n_groups):
        widest = max(widest, edges[g + 1] - edges[g])
    old, z, new = np.empty(widest), np.empty(widest), np.empty(widest)
    whole = np.zeros(2, np.int64)
    lam = np.empty(1)
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
            if not L > 0.0:
                for j in range(first, last):
                    a[j] = 0.0
                continue
            whole[1] = size
            lam[0] = group_lam[g] / L
            slope = np.dot(rows[first:last], r)
            for j in range(size):
                old[j] = a[first + j]
            for _ in range(10):
                for j in range(size):
                    z[j] = a[first + j] + slope[j] / L
                _shrink(z[:size], whole, lam, single_lam / L, positive, new[:size])
                step, length = 0.0, 0.0
                for j in range(size):
                    z[j] = new[j] - a[first + j]
                    step += z[j] * z[j]
                    length += new[j] * new[j]
                    a[first + j] = new[j]
                if size == 1 or step <= 1e-6 * length:
                    break
                for q in range(size):
                    if z[q] != 0.0:
                        for j in range(size):
                            slope[j] -= blocks[block + q * size + j] * z[q]
            change = 0.0
            for j in range(size):
                z[j] = a[first + j] - old[j]
                change += z[j] * z[j]
            if change > 0.0:
                moved += change * L
                for j in range(size):
                    if z[j] != 0.0:
                        row = rows[first + j]
                        v = z[j]
                        for q in range(len(r)):
                            r[q] -= v * row[q]
        reference = max(reference, moved)
        if moved <= 1e-3 * reference:
            if every:
                break
            every = True
        else:
            every = False
    return sweeps


@jit
def _add_curvature(H, z, first, sizes, lams, inverse):  # type: ignore[no-untyped-def]
    """Add ``lam_g / |z_g| (I - z_g z_g' / |z_g|^2)`` to the blocks; `lams` holds ``lam/|z_g|``."""
    for g in range(len(first)):
        if sizes[g] == 1:
            continue
        for i in range(first[g], first[g] + sizes[g]):
            H[i, i] += lams[g]
            u = z[i] * inverse[g]
            for j in range(first[g], first[g] + sizes[g]):
                H[i, j] -= lams[g] * u * z[j] * inverse[g]
