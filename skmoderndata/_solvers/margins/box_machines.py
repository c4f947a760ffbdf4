"""Machines whose dual is the program of `box_qp`: ball, two hulls, tube, with certificates."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.convex_problems import ACCURATE, box_program, solve
from skmoderndata._solvers.common.iterate import Progress
from skmoderndata._solvers.common.tolerances import ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import (
    ROWS_TOGETHER,
    BoxResult,
    Rows,
    all_rows,
    box_qp,
    box_state,
)
from skmoderndata._solvers.margins.simplex_qp import CVXPY_LIMIT, gram_factor
from skmoderndata._solvers.margins.squared_hinge import squared_hinge_by_newton
from skmoderndata._solvers.margins.tolerances import ZERO_WEIGHT

# Maximum number of samples for which the problem without a tube is solved by a Cholesky
# factorisation.
DIRECT = 3000


class Machine(NamedTuple):
    """Coefficients of the kernels, with values, offset and objective of the function."""

    coef: Array
    values: Array  # sum_j coef_j k(x_i, x_j) for each sample i
    offset: float  # intercept, or squared radius of the ball
    norm: float  # squared norm of the function, or of the centre
    objective: float  # value of the primal problem
    gap: float
    n_iter: int
    converged: bool


# soft enclosing ball ------------------------------------------------------------------------


def soft_ball(store: Rows, bounds: Array, *, solver: str, **limits: Any) -> Machine:
    """Minimise `r2 + sum_i bounds_i max(0, |phi_i - c|^2 - r2)` over the centre c and r2 >= 0.

    The dual is `max a' diag - a' K a`, `0 <= a <= bounds`, `sum a = 1` [Tax and Duin 2004, (7)];
    if all bounds are at least one, every sample has to be inside the ball.
    """
    n = len(bounds)
    segments = np.array([[0, n]])
    diagonal = store.diagonal
    none = np.zeros(n)
    box = {"low": none, "high": bounds, "ridge": none, "linear": -0.5 * diagonal}

    def gap(w: Array, g: Array) -> float:
        _, value = ball_radius(w, g, diagonal, bounds)
        return relative_gap(value, _ball_dual(w, g, diagonal))

    if solver == "cvxpy":
        result = by_cvxpy(store, box, 0.0, segments, [1.0], gap, limits["tol"])
    else:
        start = _filled(bounds, _order_of_distance(store))
        state = box_state(store, start, **box, tube=0.0)
        result = box_qp(store, state, segments, gap, **limits)
    # compute values in double precision, so that the radius agrees with distances computed later
    values = store.product(result.w)
    g = values - 0.5 * diagonal
    r2, objective = ball_radius(result.w, g, diagonal, bounds)
    reached = relative_gap(objective, _ball_dual(result.w, g, diagonal))
    norm = max(float(result.w @ values), 0.0)
    converged = reached <= limits["tol"]
    return Machine(result.w, values, r2, norm, objective, reached, result.n_iter, converged)


def ball_radius(w: Array, g: Array, diagonal: Array, bounds: Array) -> tuple[float, float]:
    """Return the best squared radius around a centre, and the primal value that it attains.

    The value `r2 + sum bounds max(0, d2 - r2)` is smallest if the bounds of the samples outside r2
    add up to one, so r2 is a weighted quantile of the squared distances d2. If the minimisers form
    an interval, free weights determine an end; without free weights the middle is returned.
    """
    norm = float(w @ (g + 0.5 * diagonal))
    d2 = np.maximum(norm - 2.0 * g, 0.0)
    order = np.argsort(-d2)
    outside = np.cumsum(bounds[order])
    # find the first index at which the sum of the bounds reaches one
    k = int(np.searchsorted(outside, 1.0 - ZERO_WEIGHT))
    if k == len(d2):  # the sum of all bounds is less than one: the ball shrinks to a point
        return 0.0, float(bounds @ d2)
    r2 = high = float(d2[order[k]])
    if outside[k] <= 1.0 + ZERO_WEIGHT:  # every radius down to the next distance is optimal
        low = float(d2[order[k + 1]]) if k + 1 < len(d2) else 0.0
        r2 = 0.0 if k + 1 == len(d2) else 0.5 * (low + high)
    return r2, r2 + float(bounds @ np.maximum(d2 - r2, 0.0))


def _ball_dual(w: Array, g: Array, diagonal: Array) -> float:
    return float(w @ diagonal - w @ (g + 0.5 * diagonal))


def _order_of_distance(store: Rows) -> Array:
    """Order samples by their distance from the mean of a few samples, furthest first."""
    n = len(store.diagonal)
    size = min(n, ROWS_TOGETHER)
    few = np.unique(np.linspace(0, n - 1, size).astype(int))
    weights = np.zeros(n)
    weights[few] = 1.0 / len(few)
    nearness = 2.0 * store.product(weights) - store.diagonal
    return np.argsort(nearness, kind="stable")


def _filled(bounds: Array, order: Array) -> Array:
    """Return weights of sum one; the first samples in `order` are at their bounds."""
    w = np.zeros(len(bounds))
    ordered = bounds[order]
    before = np.concatenate([[0.0], np.cumsum(ordered)[:-1]])
    w[order] = np.clip(1.0 - before, 0.0, ordered)
    total: float = w.sum()
    w /= total
    return w


# two hulls ----------------------------------------------------------------------------------


def nearest_hulls(
    store: Rows,
    ridge: Array,
    pair: Array,
    *,
    solver: str,
    table: Array | None = None,
    **limits: Any,
) -> Machine:
    """Minimise `1/2 |w|^2 + sum_i max(0, 1 - y_i (f(x_i) + b))^2 / (2 ridge_i)` over w and b.

    `pair` has the index of the first sample and the index after the last sample of the class
    `y = 1`, then of `y = -1`; other samples are ignored. The dual is solved in the form without
    scale, `min 1/2 v' (K + diag(ridge)) v` with sum 1 over the first class and -1 over the second:
    the nearest points of two hulls [Keerthi, Shevade, Bhattacharyya and Murthy 2000]. With
    `N = v' (K + diag(ridge)) v` the coefficients are `2 v / N`, and the dual value is `2 / N`.

    With a `table` whose rows have the inner products K, "newton" solves the primal problem
    instead; pairwise steps follow if its gap is above the tolerance.
    """
    n = len(ridge)
    (start_of_first, end_of_first), (start_of_second, end_of_second) = pair
    y = np.zeros(n)
    y[start_of_first:end_of_first] = 1.0
    y[start_of_second:end_of_second] = -1.0

    def gap(v: Array, g: Array) -> float:
        _, _, _, primal, scale = _hull_solution(v, g, y, ridge)
        return relative_gap(primal, scale, unit=primal)

    if solver == "newton" and table is not None:
        result = _hulls_by_newton(table, y, ridge, gap, **limits)
        if not result.converged and limits["max_iter"] < 0:
            solver = "smo"

    # set the box: weights are positive in one class and negative in the other
    low = np.where(y < 0, -np.inf, 0.0)
    high = np.where(y > 0, np.inf, 0.0)
    box = {"low": low, "high": high, "ridge": ridge, "linear": np.zeros(n)}
    if solver == "cvxpy":
        result = by_cvxpy(store, box, 0.0, pair, [1.0, -1.0], gap, limits["tol"])
    elif solver == "smo":
        # start from one sample of each class
        w = np.zeros(n)
        w[start_of_first] = 1.0
        w[start_of_second] = -1.0
        result = box_qp(store, box_state(store, w, **box, tube=0.0), pair, gap, **limits)

    values, offset, norm, primal, scale = _hull_solution(result.w, result.gradient, y, ridge)
    return Machine(
        scale * result.w,
        values,
        offset,
        norm,
        primal,
        result.gap,
        result.n_iter,
        result.converged,
    )


def _hull_solution(
    v: Array, g: Array, y: Array, ridge: Array
) -> tuple[Array, float, float, float, float]:
    """Return values, offset, squared norm, objective and scale for points v; y = 0 elsewhere."""
    # scale to the margin: the function, with offset, is 1 and -1 at the nearest points of the
    # hulls
    between = float(v @ g)  # squared distance between the two points
    scale = 2.0 / between if between > 0.0 else 0.0
    values = scale * (g - ridge * v)
    offset = -0.5 * scale * float(np.abs(v) @ g)

    # samples of other classes have y = 0, so they have no slack
    slack = np.maximum(0.0, np.abs(y) - y * (values + offset))
    norm = max(scale * float(v @ values), 0.0)
    primal = 0.5 * norm + 0.5 * float(slack @ (slack / ridge))
    return values, offset, norm, primal, scale


def _hulls_by_newton(
    table: Array,
    y: Array,
    ridge: Array,
    gap: Any,
    *,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> BoxResult:
    """Find the nearest points from the slacks of the primal problem, `ridge` times the weights."""
    pair = np.flatnonzero(y)
    X = table[pair]
    costs = 1.0 / ridge[pair]
    slack, n_iter = squared_hinge_by_newton(
        X, y[pair], costs, max_iter=max_iter, progress=progress
    )

    # scale the weights so that their sum is exactly one in each class
    v = np.zeros(len(y))
    v[pair] = costs * slack
    for members in (y > 0, y < 0):
        v[members] /= max(float(v[members].sum()), np.finfo(float).tiny)
    v *= y

    g = table @ (v @ table) + ridge * v
    reached = gap(v, g)
    return BoxResult(v, g, reached, n_iter, reached <= tol)


# tube ---------------------------------------------------------------------------------------


def squared_tube(
    store: Rows, y: Array, ridge: Array, tube: float, *, solver: str, **limits: Any
) -> Machine:
    """Minimise `1/2 |w|^2 + sum_i max(0, |y_i - f(x_i) - b| - tube)^2 / (2 ridge_i)`, b free.

    The dual is `min 1/2 a' (K + diag(ridge)) a - y' a + tube |a|_1`, `sum a = 0`.
    """
    n = len(y)
    segments = np.array([[0, n]])
    unbounded = np.full(n, np.inf)
    box = {"low": -unbounded, "high": unbounded, "ridge": ridge, "linear": -y}

    def solution(a: Array, g: Array) -> tuple[Array, float, float, float, float]:
        # compute the values at the samples, the best offset, and both objectives
        values = g - ridge * a + y
        offset = tube_offset(a, g, tube)
        excess = np.maximum(0.0, np.abs(y - values - offset) - tube)
        norm = max(float(a @ values), 0.0)
        primal = 0.5 * norm + 0.5 * float(excess @ (excess / ridge))
        width = tube * float(np.abs(a).sum())
        dual = 0.5 * float(a @ y) - 0.5 * float(a @ g) - width
        return values, offset, norm, primal, dual

    def gap(a: Array, g: Array) -> float:
        *_, primal, dual = solution(a, g)
        return relative_gap(primal, dual, floor=ROUNDING * float(y @ (y / ridge)))

    if solver == "cvxpy":
        result = by_cvxpy(store, box, tube, segments, [0.0], gap, limits["tol"])
    # without a tube, the problem is a system of linear equations
    elif tube == 0 and n <= DIRECT:
        result = _bordered(store, y, ridge, gap, limits["tol"])
    else:
        state = box_state(store, np.zeros(n), **box, tube=tube)
        result = box_qp(store, state, segments, gap, **limits)
    values, offset, norm, primal, _ = solution(result.w, result.gradient)
    return Machine(
        result.w, values, offset, norm, primal, result.gap, result.n_iter, result.converged
    )


def tube_offset(a: Array, g: Array, tube: float) -> float:
    """Return the mean offset over the support, or the middle of the optimal range if empty."""
    support = a != 0
    if support.any():
        return -float(np.mean(g[support] + tube * np.sign(a[support])))
    return -0.5 * float(g.min() + g.max())


def _bordered(store: Rows, y: Array, ridge: Array, gap: Any, tol: float) -> BoxResult:
    """Solve `(K + diag(ridge)) a + b = y`, `sum a = 0`, for a tube of width zero."""
    Q = all_rows(store)
    Q[np.diag_indices(len(Q))] += ridge
    factor = linalg.cho_factor(Q, lower=True, overwrite_a=True, check_finite=False)
    right = np.stack([y, np.ones(len(y))], axis=1)
    unbalanced, ones = linalg.cho_solve(factor, right, check_finite=False).T
    offset = float(unbalanced.sum()) / float(ones.sum())
    a = unbalanced - offset * ones
    g = store.product(a) + ridge * a - y
    reached = gap(a, g)
    return BoxResult(a, g, reached, 1, reached <= tol)


# common -------------------------------------------------------------------------------------


def by_cvxpy(
    store: Rows,
    box: dict[str, Array],
    tube: float,
    segments: Array | None,
    sums: Any,
    gap: Any,
    tol: float,
) -> BoxResult:
    """Solve a program of `box_qp` with a cone solver; weights outside the segments are zero."""
    n = len(box["ridge"])
    if n > CVXPY_LIMIT:
        raise ValueError(
            f"solver='cvxpy' accepts at most {CVXPY_LIMIT} samples, got {n}: use another solver."
        )

    factor = gram_factor(all_rows(store))
    members = np.zeros((0 if segments is None else len(segments), n))
    for row, (first, last) in zip(members, () if segments is None else segments, strict=True):
        row[first:last] = 1.0

    program = box_program(factor, box, tube, members, np.asarray(sums, dtype=np.float64))
    if not solve(program, solver="CLARABEL", **ACCURATE):
        raise ValueError("solver='cvxpy' failed: CLARABEL found no solution; rescale X.")

    # restore bounds, zeros and sums, because the cone solver satisfies them only up to rounding
    # errors
    w = np.clip(np.asarray(program.variable.value), box["low"], box["high"])
    unit = np.abs(box["linear"]).max() / (store.diagonal + box["ridge"]).max()
    w[np.abs(w) < ZERO_WEIGHT * max(np.abs(w).max(), unit)] = 0.0
    for row, total in zip(members.astype(bool), sums, strict=True):
        if total != 0:
            w[row] *= total / float(w[row].sum())

    g = store.product(w) + box["ridge"] * w + box["linear"]
    reached = gap(w, g)
    return BoxResult(w, g, reached, 1, reached <= tol)
