"""The smallest ball around points, in any inner product space, and its certificate."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.margins.simplex_qp import (
    CVXPY_LIMIT,
    active_set,
    gram_factor,
    simplex_by_cvxpy,
    simplex_gap,
    simplex_qp,
)

Array = np.ndarray[Any, np.dtype[Any]]

QUIET_SAMPLES = 20  # samples inside the ball before all points are looked at
BLOCK = 2**16  # rows at a time
POLISHED = 200  # points up to which the ball around them is computed to rounding


class Points(Protocol):
    """Inner products of points with each other and with weighted sums of them."""

    n_rows: int

    def matrix(self, a: Array, b: Array) -> Array:
        """Inner products of points."""

    def diag(self, a: Array | slice) -> Array:
        """Squared lengths."""

    def expansion(self, b: Array, coef: Array) -> Any:
        """Weighted sum of points."""

    def values(self, expansion: Any, rows: Array | slice, *, exact: bool = True) -> Array:
        """Inner products of such a sum with points."""


class BallResult(NamedTuple):
    """Weights of the centre and what they prove."""

    support: Array  # indices with positive weight
    weights: Array
    core: Array  # all indices that were looked at closely
    radius: float  # of a ball that holds everything
    lower: float  # no ball with a smaller radius does
    gap: float  # radius / lower - 1
    norm: float  # squared length of the centre
    n_iter: int
    n_passes: int
    converged: bool


class InputPoints:
    """Rows of a matrix, seen from their mean, so that squared distances do not cancel."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows = int(X.shape[0])
        self.mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        self.sparse = bool(sparse.issparse(X))
        if self.sparse:
            first = X[[0]].toarray().ravel()
        else:
            first = np.asarray(X[0], dtype=np.float64)
        if not np.isfinite(self.mean).all():  # a sum beyond the range of the numbers
            self.mean = first.astype(np.float64)

    def rows(self, indices: Array | slice) -> Array:
        """Dense rows, less the mean."""
        found = self.X[indices]
        dense: Array = np.array(found.toarray() if self.sparse else found, np.float64)
        dense -= self.mean
        return dense

    def matrix(self, a: Array, b: Array) -> Array:
        """Inner products of rows."""
        product: Array = self.rows(a) @ self.rows(b).T
        return product

    def diag(self, a: Array | slice) -> Array:
        """Squared distances from the mean."""
        n = self.n_rows
        index = np.arange(n)[a] if not isinstance(a, slice) else None
        count = len(index) if index is not None else len(range(*a.indices(n)))  # type: ignore[union-attr]
        out = np.empty(count)
        start = 0 if index is not None else range(*a.indices(n)).start  # type: ignore[union-attr]
        for first in range(0, count, BLOCK):
            last = min(first + BLOCK, count)
            part = slice(start + first, start + last) if index is None else index[first:last]
            rows = self.rows(part)
            out[first:last] = np.einsum("ij,ij->i", rows, rows)
        return out

    def expansion(self, b: Array, coef: Array) -> Array:
        """Weighted sum of rows, seen from the mean."""
        total: Array = coef @ self.rows(b)
        return total

    def values(self, expansion: Array, rows: Array | slice, *, exact: bool = True) -> Array:
        """Inner products with rows."""
        X = self.X if isinstance(rows, slice) and rows == slice(0, self.n_rows) else self.X[rows]
        if X.dtype == np.float64 or self.sparse:
            found = np.asarray(X @ expansion)
        else:
            parts = [
                np.asarray(X[first : first + BLOCK], np.float64) @ expansion
                for first in range(0, X.shape[0], BLOCK)
            ]
            found = np.concatenate(parts)
        found -= float(self.mean @ expansion)
        return found


class Ball:
    """Squared distances of all points from a weighted sum of them."""

    def __init__(self, points: Points, heights_sq: Array | None = None) -> None:
        self.points = points
        self.everything = slice(0, points.n_rows)
        self.v = points.diag(self.everything)
        if heights_sq is not None:
            self.v = self.v + heights_sq
        self.n_passes = 0

    def distances(self, support: Array, weights: Array) -> tuple[Array, float, float]:
        """Squared distances, `r^2` that the weights prove, squared length of the centre."""
        expansion = self.points.expansion(support, weights)
        values = self.points.values(expansion, self.everything)
        self.n_passes += 1
        norm = float(weights @ values[support])
        lower = float(weights @ self.v[support]) - norm
        values *= -2.0
        values += self.v
        values += norm
        return values, max(lower, 0.0), norm

    def far_pair(self) -> Array:
        """Return the longest point, and the one furthest from it."""
        first = int(self.v.argmax())
        second = int(self.distances(np.array([first]), np.ones(1))[0].argmax())
        return np.unique([first, second])


def ball_gap(distances_sq: Array, lower_sq: float) -> float:
    """Relative gap between a ball that holds all points and a bound from below.

    For weights a of the simplex, `sum a_i |x_i|^2 - |sum a_i x_i|^2` is at most the smallest
    squared radius, because it is the mean squared distance from the mean.
    """
    largest = float(distances_sq.max(initial=0.0))
    if largest <= 0.0:
        return 0.0
    if lower_sq <= 0.0:
        return float("inf")
    return max(0.0, float(np.sqrt(largest / lower_sq)) - 1.0)


def enclosing_ball(
    points: Points,
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
    points : Points
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
    size = float(ball.v.max(initial=0.0))
    routes: dict[str, Callable[..., BallResult]] = {
        "core_set": _core_set,
        "away_steps": _away_steps,
        "badoiu_clarkson": _shrinking_steps,
        "cvxpy": _by_cvxpy,
    }
    return routes[solver](
        ball,
        tol=tol,
        max_iter=max_iter,
        tiny=1e-30 * size,
        search=search,
        sample_size=sample_size,
        batch_size=batch_size,
        rng=np.random.RandomState(0) if rng is None else rng,
        progress=progress,
    )


def _core_set(
    ball: Ball,
    *,
    tol: float,
    max_iter: int,
    tiny: float,
    search: str,
    sample_size: int,
    batch_size: int,
    rng: np.random.RandomState,
    progress: Progress | None,
) -> BallResult:
    points, v = ball.points, ball.v
    core = ball.far_pair()
    a = np.full(len(core), 1.0 / len(core))
    K = points.matrix(core, core)
    seen = set(core.tolist())
    quiet = 0 if search == "sampling" else QUIET_SAMPLES
    it = Iterations(max_iter, tol, progress)
    looked = None  # distances that belong to the weights
    for _ in it:
        looked = None
        # half the gradient may spread by a tenth of what the stopping rule allows
        now = float(a @ v[core]) - float(a @ K @ a)
        unit = float(K.diagonal().max()) or 1.0
        goal = 0.1 * tol * max(now, 0.0) / unit
        found = simplex_qp(np.ascontiguousarray(K / unit), v[core] / unit, a, tol=goal)
        a = found.a / found.a.sum()
        if len(core) <= POLISHED:
            a = _polished(K / unit, v[core] / unit, a)
        keep = a > 0
        core, a, K = core[keep], a[keep], K[np.ix_(keep, keep)]
        if quiet < QUIET_SAMPLES:
            norm = float(a @ K @ a)
            lower = float(a @ v[core]) - norm
            expansion = points.expansion(core, a)
            new = np.zeros(0, int)
            while quiet < QUIET_SAMPLES and len(new) == 0:
                sample = rng.randint(0, points.n_rows, size=sample_size)
                d = v[sample] - 2.0 * points.values(expansion, sample) + norm
                if d.max() > (1.0 + tol) ** 2 * lower and sample[d.argmax()] not in core:
                    new, quiet = sample[[int(d.argmax())]], 0
                else:
                    quiet += 1
            if len(new):
                core, a, K = _join(points, core, a, K, new)
                seen.update(new.tolist())
                continue
        looked = distances, lower, norm = ball.distances(core, a)
        it.residual = 0.0 if distances.max() <= tiny else ball_gap(distances, lower)
        if it.residual <= tol or it.n_iter == max_iter:
            continue
        count = min(batch_size, len(distances))
        far = np.argpartition(distances, len(distances) - count)[-count:]
        far = far[distances[far] > lower]
        far = np.setdiff1d(far, core)
        if len(far) == 0:
            it.ended = True  # as good as rounding allows
            continue
        core, a, K = _join(points, core, a, K, far)
        seen.update(far.tolist())
    keep = a > 0  # those that joined last have no weight yet
    core, a = core[keep], a[keep]
    distances, lower, norm = ball.distances(core, a) if looked is None else looked
    return _result(ball, core, a, np.array(sorted(seen)), distances, lower, norm, it, tol, tiny)


def _polished(K: Array, v: Array, a: Array) -> Array:
    """Solve on the support to rounding, so that the route to it does not matter."""
    better = active_set(K, v, a, tol=0.0, max_iter=20)
    better /= better.sum()  # of points in too few dimensions rounding may have moved it
    return better if simplex_gap(K, v, better) <= simplex_gap(K, v, a) else a


def _join(
    points: Points, core: Array, a: Array, K: Array, new: Array
) -> tuple[Array, Array, Array]:
    cross = points.matrix(new, core)
    K = np.block([[K, cross.T], [cross, points.matrix(new, new)]])
    return np.concatenate([core, new]), np.concatenate([a, np.zeros(len(new))]), K


def _away_steps(
    ball: Ball,
    *,
    tol: float,
    max_iter: int,
    tiny: float,
    progress: Progress | None,
    **unused: Any,
) -> BallResult:
    points, v = ball.points, ball.v
    a = np.zeros(points.n_rows)
    pair = ball.far_pair()
    a[pair] = 1.0 / len(pair)
    values = points.values(points.expansion(pair, a[pair]), ball.everything)
    it = Iterations(max_iter, tol, progress)
    for _ in it:
        support = np.flatnonzero(a)
        if it.n_iter % 100 == 0:  # fresh, against rounding
            values = points.values(points.expansion(support, a[support]), ball.everything)
            ball.n_passes += 1
        norm = float(a[support] @ values[support])
        lower = float(a[support] @ v[support]) - norm
        distances = v - 2.0 * values + norm
        furthest = int(distances.argmax())
        it.residual = 0.0 if distances[furthest] <= tiny else ball_gap(distances, max(lower, 0.0))
        if it.residual <= tol:
            continue
        nearest = int(support[distances[support].argmin()])
        far, near = float(distances[furthest]), float(distances[nearest])
        ball.n_passes += 1
        if far - lower >= lower - near or len(support) == 1:
            step = (far - lower) / (2.0 * far)
            a *= 1.0 - step
            a[furthest] += step
            values *= 1.0 - step
            target = furthest
        else:
            limit = float(a[nearest] / (1.0 - a[nearest]))
            step = (lower - near) / (2.0 * near) if near > 0 else limit
            full = step >= limit
            step = min(step, limit)
            a *= 1.0 + step
            a[nearest] = 0.0 if full else a[nearest] - step
            values *= 1.0 + step
            step, target = -step, nearest
        column = points.values(points.expansion(np.array([target]), np.ones(1)), ball.everything)
        values += step * column
    return _whole(ball, a, it, tol, tiny)


def _shrinking_steps(
    ball: Ball,
    *,
    tol: float,
    max_iter: int,
    tiny: float,
    progress: Progress | None,
    **unused: Any,
) -> BallResult:
    points, v = ball.points, ball.v
    a = np.zeros(points.n_rows)
    a[0] = 1.0
    first = np.zeros(1, int)
    values = points.values(points.expansion(first, np.ones(1)), ball.everything)
    it = Iterations(max_iter, tol, progress)
    for _ in it:
        norm = float(a @ values)
        lower = float(a @ v) - norm
        distances = v - 2.0 * values + norm
        furthest = int(distances.argmax())
        it.residual = 0.0 if distances[furthest] <= tiny else ball_gap(distances, max(lower, 0.0))
        if it.residual <= tol:
            continue
        step = 1.0 / (it.n_iter + 1)
        column = points.values(points.expansion(np.array([furthest]), np.ones(1)), ball.everything)
        ball.n_passes += 1
        a *= 1.0 - step
        a[furthest] += step
        values += step * (column - values)
    return _whole(ball, a, it, tol, tiny)


def _by_cvxpy(
    ball: Ball,
    *,
    tol: float,
    max_iter: int,
    tiny: float,
    progress: Progress | None,
    **unused: Any,
) -> BallResult:
    points = ball.points
    it = Iterations(1, tol, progress)
    for _ in it:
        if isinstance(points, InputPoints):
            factor = points.rows(ball.everything).T
        else:
            if points.n_rows > CVXPY_LIMIT:
                raise ValueError(
                    f"solver='cvxpy' with a kernel is for at most {CVXPY_LIMIT} samples, got "
                    f"{points.n_rows}; use solver='core_set'."
                )
            index = np.arange(points.n_rows)
            factor = gram_factor(points.matrix(index, index))
        a = simplex_by_cvxpy(factor, ball.v)
    return _whole(ball, a, it, max(tol, 1e-6), tiny)


def _whole(ball: Ball, a: Array, it: Iterations, tol: float, tiny: float) -> BallResult:
    support = np.flatnonzero(a)
    weights = a[support] / a[support].sum()
    distances, lower, norm = ball.distances(support, weights)
    return _result(ball, support, weights, support, distances, lower, norm, it, tol, tiny)


def _result(
    ball: Ball,
    support: Array,
    weights: Array,
    core: Array,
    distances: Array,
    lower: float,
    norm: float,
    it: Iterations,
    tol: float,
    tiny: float,
) -> BallResult:
    largest = float(distances.max(initial=0.0))
    gap = 0.0 if largest <= tiny else ball_gap(distances, lower)
    order = np.argsort(support)
    return BallResult(
        support=support[order],
        weights=weights[order],
        core=core,
        radius=float(np.sqrt(max(largest, 0.0))),
        lower=float(np.sqrt(lower)),
        gap=gap,
        norm=norm,
        n_iter=max(1, it.n_iter),
        n_passes=ball.n_passes,
        converged=gap <= tol * (1 + 1e-6) + 1e-15,
    )
