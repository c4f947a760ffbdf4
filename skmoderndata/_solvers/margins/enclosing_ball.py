"""The smallest ball around points, in any inner product space, and its certificate.

Differs from the papers: 1. [Badoiu and Clarkson 2008]: many of the furthest points join the core
set at a time, and points without weight leave it. 2. [Yildirim 2008]: distances are computed
afresh at regular intervals. 3. The stopping rule is a relative duality gap.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.arrays import CACHED_BYTES
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, INNER_SHARE, ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.core_problems import Rows
from skmoderndata._solvers.margins.core_set import QUIET_SAMPLES
from skmoderndata._solvers.margins.simplex_qp import (
    CVXPY_LIMIT,
    gram_factor,
    polished,
    simplex_by_cvxpy,
    simplex_gap,
    simplex_qp,
)

# Maximum number of points whose ball is computed to machine precision.
POLISHED = 200


class BallResult(NamedTuple):
    """Weights of the centre, and the bounds that they give."""

    support: Array  # indices with positive weight
    weights: Array
    core: Array  # all indices that have ever been in the core set
    radius: float  # radius of a ball that contains all points
    lower: float  # lower bound on the radius of any enclosing ball
    gap: float  # radius / lower - 1
    norm: float  # squared norm of the centre
    n_iter: int
    n_passes: int
    converged: bool


class InputPoints:
    """Rows of a matrix relative to their mean, so that squared distances do not cancel."""

    def __init__(self, X: Any, mean: Array | None = None) -> None:
        self.X = X
        self.n_rows = int(X.shape[0])
        if mean is None:
            mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        self.mean = mean
        self.sparse = bool(sparse.issparse(X))

    def rows(self, indices: Array | slice) -> Array:
        """Return rows as a dense array, minus the mean."""
        samples = self.X[indices]
        dense: Array = np.array(samples.toarray() if self.sparse else samples, np.float64)
        dense -= self.mean
        return dense

    def matrix(self, a: Array, b: Array) -> Array:
        """Return inner products of rows."""
        return self.rows(a) @ self.rows(b).T

    def rows_of_block(self) -> int:
        """Return the number of rows that are converted at a time."""
        return max(1, CACHED_BYTES // (FLOAT_BYTES * max(1, len(self.mean))))

    def diag(self, a: Array | slice) -> Array:
        """Return squared distances from the mean."""
        index = np.arange(self.n_rows)[a]
        out = np.empty(len(index))
        n_rows = self.rows_of_block()
        for first in range(0, len(index), n_rows):
            rows = self.rows(index[first : first + n_rows])
            out[first : first + n_rows] = np.einsum("ij,ij->i", rows, rows)
        return out

    def expansion(self, b: Array, coef: Array) -> Array:
        """Return a weighted sum of rows, relative to the mean."""
        return coef @ self.rows(b)

    def values(self, expansion: Array, rows: Array | slice, *, exact: bool = True) -> Array:
        """Return inner products with rows."""
        X = (
            self.X
            if isinstance(rows, slice) and rows == slice(0, self.n_rows)
            else self.X[rows]
        )
        # convert single precision to double, block by block
        n_rows = self.rows_of_block()
        parts = [X[s : s + n_rows] @ expansion for s in range(0, X.shape[0], n_rows)]
        return np.concatenate(parts) - float(self.mean @ expansion)


class Look(NamedTuple):
    """Result of a pass over all points for one ball."""

    largest: float  # largest squared distance of a point from the centre
    lower: float  # lower bound on the squared radius, computed from the weights
    norm: float  # squared norm of the centre
    far: Callable[[int], Array]  # the n furthest points among those beyond the lower bound


class Ball:
    """Squared distances of all points from a weighted sum of the points."""

    def __init__(self, points: Rows, heights_sq: Array | None = None) -> None:
        self.points = points
        self.everything = slice(0, points.n_rows)
        self.v = points.diag(self.everything)
        if heights_sq is not None:
            self.v = self.v + heights_sq
        self.n_passes = 0

    def distances(self, support: Array, weights: Array) -> tuple[Array, float, float]:
        """Return squared distances, lower bound of `r^2`, and squared norm of the centre."""
        expansion = self.points.expansion(support, weights)
        values = self.points.values(expansion, self.everything)
        self.n_passes += 1

        # compute |phi_i - c|^2 = v_i - 2 (K a)_i + a' K a, and the dual value v' a - a' K a
        norm = float(weights @ values[support])
        lower = float(weights @ self.v[support]) - norm
        values *= -2.0
        values += self.v
        values += norm
        return values, max(lower, 0.0), norm

    def look(self, support: Array, weights: Array) -> Look:
        """Pass over all points: return bounds of the radius and the furthest points."""
        distances, lower, norm = self.distances(support, weights)

        def far(count: int) -> Array:
            count = min(count, len(distances))
            furthest = np.argpartition(distances, len(distances) - count)[-count:]
            return np.asarray(furthest[distances[furthest] > lower])

        return Look(float(distances.max(initial=0.0)), lower, norm, far)

    def far_pair(self) -> Array:
        """Return the point with the largest norm, and the point furthest from it."""
        first = int(self.v.argmax())
        second = int(self.distances(np.array([first]), np.ones(1))[0].argmax())
        return np.unique([first, second])


def coincidence(ball: Any) -> float:
    """Return the largest squared distance of points that coincide up to rounding."""
    return ROUNDING**2 * float(ball.v.max(initial=0.0))


def ball_gap(distances_sq: Array | float, lower_sq: float) -> float:
    """Return the relative gap between a ball that contains all points and a lower bound.

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
        Maximum number of steps.
    solver : {"core_set", "away_steps", "badoiu_clarkson", "cvxpy"}
        Exact balls of few points; Frank-Wolfe steps towards the furthest point and away from the
        nearest point of the support [Yildirim 2008]; shrinking steps towards the furthest point
        [Badoiu and Clarkson 2003]; a cone solver.
    search : {"exact", "sampling"}
        Whether "core_set" checks all points every time, or samples first.
    sample_size, batch_size : int
        Number of points in a sample; number of points that join at a time.
    rng : RandomState or None
    progress : Progress or None
    """
    ball = Ball(points, heights_sq)
    it = Iterations(1 if solver == "cvxpy" else max_iter, tol, progress)

    # find the weights of the centre
    if solver == "core_set":
        rng = np.random.RandomState(0) if rng is None else rng
        sampling = None if search != "sampling" else (sample_size, rng)
        return _core_set(ball, it, batch_size, sampling)
    tiny = coincidence(ball)
    a = _by_cvxpy(ball, it) if solver == "cvxpy" else _steps(ball, it, tiny, solver)
    support = np.flatnonzero(a)
    weights = a[support] / a[support].sum()
    reached = max(tol, 1e-6) if solver == "cvxpy" else tol
    return _certified(ball, it, support, weights, None, None, reached)


def ball_of_core_set(
    ball: Any, *, tol: float, max_iter: int, batch_size: int, progress: Progress | None
) -> BallResult:
    """Find the smallest ball on a growing core set, for points that come in blocks.

    `ball.points` are the points in memory and `ball.v` their squared lengths; its methods
    `far_pair` and `look` return positions among them, like the methods of `Ball`.
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
    """Compute bounds of the radius from all points, unless the last step has done so."""
    tiny = coincidence(ball)
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
        converged=gap <= tol + ACCUMULATED_ROUNDING,
    )


def _core_set(
    ball: Any,
    it: Iterations,
    batch_size: int,
    sampling: tuple[int, np.random.RandomState] | None,
) -> BallResult:
    """Compute exact balls of few points, adding the furthest of the other points.

    `sampling` is the size of the samples that are checked before all points, and the random
    generator that draws them.
    """
    core = ball.far_pair()
    tiny = coincidence(ball)
    a = np.full(len(core), 1.0 / len(core))
    K = ball.points.matrix(core, core)
    seen = set(core.tolist())
    quiet = QUIET_SAMPLES if sampling is None else 0
    looked = None

    for _ in it:
        looked = None
        v = ball.v
        # 1. Solve the dual on the core set, scaled to a diagonal of at most one; the spread of
        # half the gradient may be a tenth of the tolerance
        now = float(a @ v[core]) - float(a @ K @ a)
        unit = float(K.diagonal().max()) or 1.0
        goal = INNER_SHARE * it.tol * max(now, 0.0) / unit
        result = simplex_qp(np.ascontiguousarray(K / unit), v[core] / unit, a, tol=goal)
        a = result.a / result.a.sum()
        if len(core) <= POLISHED:
            a = _polished(K / unit, v[core] / unit, a)

        # drop points without weight
        keep = a > 0
        core = core[keep]
        a = a[keep]
        K = K[np.ix_(keep, keep)]

        # 2. Find the furthest point in a random sample, as long as the samples contain points
        # outside the ball
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

        # 3. Check all points: compute the bounds on the radius, then find the furthest points
        if len(new) == 0:
            looked = ball.look(core, a)
            none = looked.largest <= tiny
            it.residual = 0.0 if none else ball_gap(looked.largest, looked.lower)
            if it.residual <= it.tol or it.n_iter == it.max_iter:
                continue
            new = np.setdiff1d(looked.far(batch_size), core)
            if len(new) == 0:
                it.ended = True  # rounding errors prevent a better ball
                continue

        # 4. Add the points that were found, with weight zero
        cross = ball.points.matrix(new, core)
        K = np.block([[K, cross.T], [cross, ball.points.matrix(new, new)]])
        core = np.concatenate([core, new])
        a = np.concatenate([a, np.zeros(len(new))])
        seen.update(new.tolist())

    keep = a > 0  # remove points without weight, for instance those added last
    looked = looked if keep.all() else None
    return _certified(ball, it, core[keep], a[keep], np.array(sorted(seen)), looked, it.tol)


def _polished(K: Array, v: Array, a: Array) -> Array:
    """Solve on the support to rounding error; the result does not depend on earlier steps."""
    better = polished(K, v, a)
    return better if simplex_gap(K, v, better) <= simplex_gap(K, v, a) else a


def _steps(ball: Ball, it: Iterations, tiny: float, solver: str) -> Array:
    """Step from the weights towards the furthest point, repeatedly.

    "badoiu_clarkson" moves by `1 / (t + 1)` of the way in step t [Badoiu and Clarkson 2003];
    "away_steps" moves by the best step length, or away from the nearest point of the support if
    that promises more [Yildirim 2008].
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
        if it.n_iter % 100 == 0:  # remove accumulated rounding errors
            values = points.values(points.expansion(support, a[support]), ball.everything)
            ball.n_passes += 1

        # bound the squared radius from above by the furthest distance, and from below by the dual
        # value
        norm = float(a[support] @ values[support])
        lower = float(a[support] @ v[support]) - norm
        distances = v - 2.0 * values + norm
        target = int(distances.argmax())
        far = float(distances[target])
        it.residual = 0.0 if far <= tiny else ball_gap(far, lower)
        if it.residual <= it.tol:
            continue

        # step towards the furthest point (Frank-Wolfe), or away from the nearest point with weight
        step = (far - lower) / (2.0 * far) if away else 1.0 / (it.n_iter + 1)
        full = -np.inf
        nearest = int(support[distances[support].argmin()])
        near = float(distances[nearest])
        if away and far - lower < lower - near and len(support) > 1:
            # remove no more than the weight of this point
            target = nearest
            full = -float(a[nearest] / (1.0 - a[nearest]))
            step = max((near - lower) / (2.0 * near), full) if near > 0 else full

        # update all values with the column of one point
        column = points.values(
            points.expansion(np.array([target]), np.ones(1)), ball.everything
        )
        ball.n_passes += 1
        a *= 1.0 - step
        a[target] = 0.0 if step == full else a[target] + step
        values += step * (column - values)

    return a


def _by_cvxpy(ball: Ball, it: Iterations) -> Array:
    """Find the weights with a cone solver."""
    points = ball.points
    if not isinstance(points, InputPoints) and points.n_rows > CVXPY_LIMIT:
        raise ValueError(
            f"solver='cvxpy' with a kernel accepts at most {CVXPY_LIMIT} samples, got "
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
