"""The smallest ball around points, in any inner product space, and its certificate."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.core_problems import Rows
from skmoderndata._solvers.margins.simplex_qp import (
    CVXPY_LIMIT,
    active_set,
    gram_factor,
    simplex_by_cvxpy,
    simplex_gap,
    simplex_qp,
)

QUIET_SAMPLES = 20  # samples inside the ball before all points are looked at
BLOCK_ROWS = 2**16  # rows at a time
DENSE_ENTRIES = 2**20  # entries that are centred, and so made dense, at a time
POLISHED = 200  # points up to which the ball around them is computed to rounding


class BallResult(NamedTuple):
    """Weights of the centre and what they prove."""

    support: Array  # indices with positive weight
    weights: Array
    core: Array  # all indices that were looked at closely
    radius: float  # of a ball that holds everything
    lower: float  # no ball with a smaller radius does
    gap: float  # radius / lower - 1
    norm: float  # squared norm of the centre
    n_iter: int
    n_passes: int
    converged: bool


class InputPoints:
    """Rows of a matrix, seen from their mean, so that squared distances do not cancel."""

    def __init__(self, X: Any, mean: Array | None = None) -> None:
        self.X = X
        self.n_rows = int(X.shape[0])
        if mean is None:
            mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        self.mean = mean
        self.sparse = bool(sparse.issparse(X))

    def rows(self, indices: Array | slice) -> Array:
        """Dense rows, less the mean."""
        samples = self.X[indices]
        dense: Array = np.array(samples.toarray() if self.sparse else samples, np.float64)
        dense -= self.mean
        return dense

    def matrix(self, a: Array, b: Array) -> Array:
        """Inner products of rows."""
        return self.rows(a) @ self.rows(b).T

    def diag(self, a: Array | slice) -> Array:
        """Squared distances from the mean."""
        index = np.arange(self.n_rows)[a]
        out = np.empty(len(index))
        step = max(1, min(BLOCK_ROWS, DENSE_ENTRIES // max(1, len(self.mean))))
        for first in range(0, len(index), step):
            rows = self.rows(index[first : first + step])
            out[first : first + step] = np.einsum("ij,ij->i", rows, rows)
        return out

    def expansion(self, b: Array, coef: Array) -> Array:
        """Weighted sum of rows, seen from the mean."""
        return coef @ self.rows(b)

    def values(self, expansion: Array, rows: Array | slice, *, exact: bool = True) -> Array:
        """Inner products with rows."""
        X = (
            self.X
            if isinstance(rows, slice) and rows == slice(0, self.n_rows)
            else self.X[rows]
        )
        # single precision is widened, block by block
        parts = [X[s : s + BLOCK_ROWS] @ expansion for s in range(0, X.shape[0], BLOCK_ROWS)]
        return np.concatenate(parts) - float(self.mean @ expansion)


class Look(NamedTuple):
    """What a look at all points says of a ball."""

    largest: float  # squared distance from the centre
    lower: float  # squared radius that the weights prove
    norm: float  # squared norm of the centre
    far: Callable[[int], Array]  # so many furthest points, those beyond the lower radius


class Ball:
    """Squared distances of all points from a weighted sum of them."""

    def __init__(self, points: Rows, heights_sq: Array | None = None) -> None:
        self.points = points
        self.everything = slice(0, points.n_rows)
        self.v = points.diag(self.everything)
        if heights_sq is not None:
            self.v = self.v + heights_sq
        self.n_passes = 0

    def distances(self, support: Array, weights: Array) -> tuple[Array, float, float]:
        """Squared distances, `r^2` that the weights prove, squared norm of the centre."""
        expansion = self.points.expansion(support, weights)
        values = self.points.values(expansion, self.everything)
        self.n_passes += 1

        # |phi_i - c|^2 = v_i - 2 (K a)_i + a' K a, and the dual value v' a - a' K a
        norm = float(weights @ values[support])
        lower = float(weights @ self.v[support]) - norm
        values *= -2.0
        values += self.v
        values += norm
        return values, max(lower, 0.0), norm

    def look(self, support: Array, weights: Array) -> Look:
        """Look at all points: bounds of the radius, and the furthest points."""
        distances, lower, norm = self.distances(support, weights)

        def far(count: int) -> Array:
            count = min(count, len(distances))
            chosen = np.argpartition(distances, len(distances) - count)[-count:]
            return np.asarray(chosen[distances[chosen] > lower])

        return Look(float(distances.max(initial=0.0)), lower, norm, far)

    def far_pair(self) -> Array:
        """Return the longest point, and the one furthest from it."""
        first = int(self.v.argmax())
        second = int(self.distances(np.array([first]), np.ones(1))[0].argmax())
        return np.unique([first, second])


def ball_gap(distances_sq: Array | float, lower_sq: float) -> float:
    """Relative gap between a ball that holds all points and a bound from below.

    For weights a of the simplex, `sum a_i |x_i|^2 - |sum a_i x_i|^2` is at most the smallest
    squared radius, because it is the mean squared distance from the mean.
    """
    largest = float(np.sqrt(np.max(distances_sq, initial=0.0)))
    lower = float(np.sqrt(max(lower_sq, 0.0)))
    return relative_gap(largest, lower, unit=lower)


def enclosing_ball(
    points: Rows,
    *,
    heights_sq: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    solver: str = "core_set",
    search: str = "exact",
    sample_size: int = 59,
    batch_size: int = 10,
    rng: np.random.RandomState | None = None,
    progress: Progress | None = None,
) -> BallResult:
    """Find weights `a` of the simplex whose mean is the centre of the smallest ball.

    Maximises `sum a_i (|x_i|^2 + z_i^2) - |sum a_i x_i|^2`, the dual of
    `min r^2 : |x_i - c|^2 + z_i^2 <= r^2`, until `radius <= (1 + tol) lower`.

    Parameters
    ----------
    points : Rows
    heights_sq : ndarray of shape (n,) or None
        `z_i^2`, squared distances along an axis on which the centre is zero.
    tol : float
        Relative gap of the radii.
    max_iter : int
        Largest number of steps.
    solver : {"core_set", "away_steps", "badoiu_clarkson", "cvxpy"}
        Exact balls of few points; Frank-Wolfe steps towards the furthest point and away from the
        nearest of the support [Yildirim 2008]; shrinking steps towards the furthest point
        [Badoiu and Clarkson 2003]; a cone solver.
    search : {"exact", "sampling"}
        Whether "core_set" looks at all points every time, or at samples first.
    sample_size, batch_size : int
        Points in a sample; points that join at a time.
    rng : RandomState or None
    progress : Progress or None
    """
    ball = Ball(points, heights_sq)
    it = Iterations(1 if solver == "cvxpy" else max_iter, tol, progress)

    # weights of the centre
    if solver == "core_set":
        rng = np.random.RandomState(0) if rng is None else rng
        sampling = None if search != "sampling" else (sample_size, rng)
        return _core_set(ball, it, batch_size, sampling)
    tiny = 1e-30 * float(ball.v.max(initial=0.0))
    a = _by_cvxpy(ball, it) if solver == "cvxpy" else _steps(ball, it, tiny, solver)
    support = np.flatnonzero(a)
    weights = a[support] / a[support].sum()
    reached = max(tol, 1e-6) if solver == "cvxpy" else tol
    return _certified(ball, it, support, weights, None, None, reached)


def ball_of_core_set(
    ball: Any, *, tol: float, max_iter: int, batch_size: int, progress: Progress | None
) -> BallResult:
    """Find the smallest ball on few points, which the furthest of all join.

    `ball` has the points that were brought as `points`, whose squared lengths are `v`; `far_pair`
    and `look` say which points they are, as those of `Ball` do.
    """
    return _core_set(ball, Iterations(max_iter, tol, progress), batch_size, None)


def _certified(
    ball: Any,
    it: Iterations,
    support: Array,
    weights: Array,
    core: Array | None,
    looked: Look | None,
    tol: float,
) -> BallResult:
    """Bounds of the radius from all points, unless the last step has looked at them."""
    tiny = 1e-30 * float(ball.v.max(initial=0.0))
    looked = looked or ball.look(support, weights)
    largest = looked.largest
    gap = 0.0 if largest <= tiny else ball_gap(largest, looked.lower)

    order = np.argsort(support)
    return BallResult(
        support=support[order],
        weights=weights[order],
        core=support if core is None else core,
        radius=float(np.sqrt(max(largest, 0.0))),
        lower=float(np.sqrt(looked.lower)),
        gap=gap,
        norm=looked.norm,
        n_iter=max(1, it.n_iter),
        n_passes=ball.n_passes,
        converged=gap <= tol * (1 + 1e-6) + 1e-15,
    )


def _core_set(
    ball: Any,
    it: Iterations,
    batch_size: int,
    sampling: tuple[int, np.random.RandomState] | None,
) -> BallResult:
    """Exact balls of few points, which the furthest of the others join.

    `sampling` is the size of the samples that are looked at before all points, and what draws
    them.
    """
    core = ball.far_pair()
    tiny = 1e-30 * float(ball.v.max(initial=0.0))
    a = np.full(len(core), 1.0 / len(core))
    K = ball.points.matrix(core, core)
    seen = set(core.tolist())
    quiet = QUIET_SAMPLES if sampling is None else 0
    looked = None

    for _ in it:
        looked = None
        v = ball.v
        # 1. ball of the core set: its dual, scaled to a diagonal of at most one
        # half the gradient may spread by a tenth of what the stopping rule allows
        now = float(a @ v[core]) - float(a @ K @ a)
        unit = float(K.diagonal().max()) or 1.0
        goal = 0.1 * it.tol * max(now, 0.0) / unit
        result = simplex_qp(np.ascontiguousarray(K / unit), v[core] / unit, a, tol=goal)
        a = result.a / result.a.sum()
        if len(core) <= POLISHED:
            a = _polished(K / unit, v[core] / unit, a)

        # points without weight leave
        keep = a > 0
        core = core[keep]
        a = a[keep]
        K = K[np.ix_(keep, keep)]

        # 2. a furthest point of a random sample, while samples still find one outside
        new = np.zeros(0, int)
        if sampling is not None and quiet < QUIET_SAMPLES:
            norm = float(a @ K @ a)
            lower = float(a @ v[core]) - norm
            points = ball.points
            expansion = points.expansion(core, a)
            while quiet < QUIET_SAMPLES and len(new) == 0:
                sample = sampling[1].randint(0, points.n_rows, size=sampling[0])
                d = v[sample] - 2.0 * points.values(expansion, sample) + norm
                outside = d.max() > (1.0 + it.tol) ** 2 * lower
                quiet += 1
                if outside and sample[d.argmax()] not in core:
                    new = sample[[int(d.argmax())]]
                    quiet = 0

        # 3. all points: bounds of the radius, then the furthest ones
        if len(new) == 0:
            looked = ball.look(core, a)
            none = looked.largest <= tiny
            it.residual = 0.0 if none else ball_gap(looked.largest, looked.lower)
            if it.residual <= it.tol or it.n_iter == it.max_iter:
                continue
            new = np.setdiff1d(looked.far(batch_size), core)
            if len(new) == 0:
                it.ended = True  # as good as rounding allows
                continue

        # 4. they join with weight zero
        cross = ball.points.matrix(new, core)
        K = np.block([[K, cross.T], [cross, ball.points.matrix(new, new)]])
        core = np.concatenate([core, new])
        a = np.concatenate([a, np.zeros(len(new))])
        seen.update(new.tolist())

    keep = a > 0  # those that joined last have no weight yet
    looked = looked if keep.all() else None
    return _certified(ball, it, core[keep], a[keep], np.array(sorted(seen)), looked, it.tol)


def _polished(K: Array, v: Array, a: Array) -> Array:
    """Solve on the support to rounding, so that the route to it does not matter."""
    better = active_set(K, v, a, tol=0.0, max_iter=20)
    better /= better.sum()  # of points in too few dimensions rounding may have moved it
    return better if simplex_gap(K, v, better) <= simplex_gap(K, v, a) else a


def _steps(ball: Ball, it: Iterations, tiny: float, solver: str) -> Array:
    """Step from the weights towards the furthest point, again and again.

    "badoiu_clarkson" goes `1 / (t + 1)` of the way in step t [Badoiu and Clarkson 2003];
    "away_steps" as far as is best, or away from the nearest point of the support where that
    promises more [Yildirim 2008].
    """
    points = ball.points
    v = ball.v
    away = solver == "away_steps"
    a = np.zeros(points.n_rows)
    first = ball.far_pair() if away else np.zeros(1, int)
    a[first] = 1.0 / len(first)
    values = points.values(points.expansion(first, a[first]), ball.everything)

    for _ in it:
        support = np.flatnonzero(a)
        if it.n_iter % 100 == 0:  # fresh, against rounding
            values = points.values(points.expansion(support, a[support]), ball.everything)
            ball.n_passes += 1

        # bounds of the squared radius: the furthest distance and the dual value
        norm = float(a[support] @ values[support])
        lower = float(a[support] @ v[support]) - norm
        distances = v - 2.0 * values + norm
        target = int(distances.argmax())
        far = float(distances[target])
        it.residual = 0.0 if far <= tiny else ball_gap(far, lower)
        if it.residual <= it.tol:
            continue

        # towards the furthest point (Frank-Wolfe), or away from the nearest with weight
        step = (far - lower) / (2.0 * far) if away else 1.0 / (it.n_iter + 1)
        full = -np.inf
        nearest = int(support[distances[support].argmin()])
        near = float(distances[nearest])
        if away and far - lower < lower - near and len(support) > 1:
            # all its weight
            target = nearest
            full = -float(a[nearest] / (1.0 - a[nearest]))
            step = max((near - lower) / (2.0 * near), full) if near > 0 else full

        # all values follow the step, with the column of one point
        column = points.values(
            points.expansion(np.array([target]), np.ones(1)), ball.everything
        )
        ball.n_passes += 1
        a *= 1.0 - step
        a[target] = 0.0 if step == full else a[target] + step
        values += step * (column - values)

    return a


def _by_cvxpy(ball: Ball, it: Iterations) -> Array:
    """Weights by a cone solver."""
    points = ball.points
    if not isinstance(points, InputPoints) and points.n_rows > CVXPY_LIMIT:
        raise ValueError(
            f"solver='cvxpy' with a kernel is for at most {CVXPY_LIMIT} samples, got "
            f"{points.n_rows}; use solver='core_set'."
        )

    a = np.zeros(0)
    for _ in it:
        if isinstance(points, InputPoints):
            factor = points.rows(ball.everything).T
        else:
            index = np.arange(points.n_rows)
            factor = gram_factor(points.matrix(index, index))
        a = simplex_by_cvxpy(factor, ball.v)
    return a
