"""Separating hyperplanes with few non-zero weights: linear programs solved again and again.

In all programs `Z` has the rows `y_i x_i`, `y` is +1 or -1, and `r` is the margin, 1 or 0.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.linear_programs import (
    Infeasible,
    Separation,
    Vertex,
    dense,
    drop_rounding,
)

HARD = 1e6  # cost of squared slack that stands for infinity
MARGIN_TOL = 1e-2  # margin that may be missing then


class SparseSeparation(NamedTuple):
    """Last weights, what happened on the way, and the certificate of the last program.

    `values` and `sizes` have an array for each sequence of steps, as a sequence may begin with
    other features than those with which the last one ended.
    """

    features: Array  # that are selected; the least slack may leave some without weight
    w: Array
    bias: float
    value: float  # |w|_0 + alpha |w|_1 + slack_cost s
    values: tuple[Array, ...]  # the same after each step
    approximation: Array  # F after each linear program
    sizes: tuple[Array, ...]  # features after each step
    epsilon: float
    gap: float
    n_iter: int
    converged: bool


def reweighted_l1(
    problem: Separation,
    program: Any,
    *,
    start: Array,
    epsilon: float = 1e-3,
    keep_zeros: bool = False,
    enough: int = 0,
    max_iter: int = 50,
    tol: float = 1e-6,
    progress: Progress | None = None,
) -> SparseSeparation:
    r"""Lower `F = sum_j ln(1 + |w_j| / e) / ln(1 + 1 / epsilon) + alpha |w|_1 + slack_cost s`.

    The logarithm lies below its tangents, so that a linear program with the costs
    ``1 / ((e + |w_j|) ln(1 + 1 / epsilon)) + alpha`` in place of the first sums lowers F until it
    gives the same w again (Frank and Wolfe's algorithm with step size 1; Weston et al. 2003,
    section 3). A weight as large as the largest of the first program adds 1 to the first sum.

    Parameters
    ----------
    problem : Separation
    program : ColumnGeneration, CvxpyProgram or RescaledColumns
        What solves the programs of the problem.
    start : ndarray of shape (p,)
        Costs of the first program, infinite for weights that must stay zero.
    epsilon : float
        e is `epsilon` times the largest weight of the first program.
    keep_zeros : bool
        Costs ``1 / |w_j|`` up to the same factor: a weight that is zero stays zero, which is what
        multiplying the columns by the weights and solving the first program again amounts to.
    enough : int
        Stop as soon as no more weights than this are not zero.
    max_iter, tol : int, float
        Stop when no weight changes by more than `tol` times the largest.
    progress : Progress or None
        Told about the steps.
    """
    allowed = np.isfinite(start)
    costs = start
    top = np.log1p(1.0 / epsilon)  # the logarithm at the largest weight
    w = np.zeros(start.size)
    bias = 0.0
    e = 1.0

    vertex = Vertex(w, bias, np.zeros(problem.y.size), 0.0)
    objective: list[float] = []
    values: list[float] = []
    sizes: list[int] = []

    it = Iterations(max_iter, tol, progress)
    for step in it:
        # 1. linear program with the last costs
        new = program.solve(costs)
        largest = float(np.abs(new.w).max(initial=0.0))

        if step == 1:
            e = epsilon * (largest or 1.0)

        # 2. the logarithm lies below its tangents: no descent is rounding
        value = log_objective(problem, new.w, new.bias, e, epsilon)
        if objective and not keep_zeros and value > objective[-1] - 1e-12 * abs(objective[-1]):
            it.residual = 0.0  # no descent beyond rounding: the last weights are stationary
            if value > objective[-1]:
                new = new._replace(w=w, bias=bias)
                value = objective[-1]
        else:
            it.residual = float(np.abs(new.w - w).max(initial=0.0)) / (largest or 1.0)

        w = new.w
        bias = new.bias
        vertex = new
        objective.append(value)
        values.append(price(problem, w, bias))
        sizes.append(int(np.count_nonzero(w)))

        # 3. costs are the slope of the logarithm at the weights
        if keep_zeros:
            allowed = w != 0
        costs = np.full(start.size, np.inf)
        costs[allowed] = 1.0 / (top * (np.abs(w) + (0.0 if keep_zeros else e))[allowed])
        costs += problem.alpha

        if sizes[-1] <= enough:
            it.residual = 0.0

    # certificate, where the programs have duals
    gap = float("nan")
    if len(vertex.dual):
        gap = stationarity_gap(problem, costs, w, bias, vertex.dual, vertex.dual_direction)
        bias = middle_bias(problem, w, bias)

    return SparseSeparation(
        np.flatnonzero(w),
        w,
        bias,
        price(problem, w, bias),
        (np.asarray(values),),
        np.asarray(objective),
        (np.asarray(sizes),),
        e,
        gap,
        it.n_iter,
        it.converged,
    )


def log_objective(
    problem: Separation, w: Array, bias: float, e: float, epsilon: float
) -> float:
    """``sum_j ln(1 + |w_j| / e) / ln(1 + 1 / epsilon) + alpha |w|_1 + slack_cost s``, s least.

    The quotient is 0 for a weight of zero and 1 for one of ``e / epsilon``.
    """
    counted = np.log1p(np.abs(w) / e) / np.log1p(1.0 / epsilon)
    return float(counted.sum()) + penalty_and_slack(problem, w, bias)


def price(problem: Separation, w: Array, bias: float) -> float:
    """``|w|_0 + alpha |w|_1 + slack_cost s``, with the smallest slack s."""
    return int(np.count_nonzero(w)) + penalty_and_slack(problem, w, bias)


def penalty_and_slack(problem: Separation, w: Array, bias: float) -> float:
    """``alpha |w|_1 + slack_cost s``, with the smallest slack s."""
    return problem.alpha * float(np.abs(w).sum()) + slack_cost(problem, w, bias)


def scores(problem: Separation, w: Array, bias: float) -> Array:
    """Left sides ``Z w + y b`` of the constraints."""
    used = np.flatnonzero(w)
    return problem.Z[:, used] @ w[used] + problem.y * bias


def slack_cost(problem: Separation, w: Array, bias: float) -> float:
    """Cost of the smallest slack that w and b need; zero for a hard problem."""
    if problem.slack_cost is None:
        return 0.0
    lacking = np.maximum(problem.margin - scores(problem, w, bias), 0.0)
    return float(problem.slack_cost @ lacking)


def stationarity_gap(
    problem: Separation,
    costs: Array,
    w: Array,
    bias: float,
    dual: Array,
    dual_direction: float,
) -> float:
    """Bound on how far w is above the minimum of its linear program, relative to its value.

    The dual of ``min costs |w| + slack_cost s`` is

        max  r sum_i u_i + t   subject to  |Z' u + t direction|_j <= costs_j,
                                           0 <= u <= slack_cost,  y' u = 0 (free intercept).

    `dual` and `dual_direction` are made feasible by clipping, balancing and shrinking, so that
    their value is a bound whatever they are. With ``costs = 1 / (e + |w|)`` the bound is on
    the gap of Frank and Wolfe, which is zero only where F is stationary. A hard problem that is
    violated by more than the gap gets the violation instead.
    """
    # the primal value of w, scaled into the constraints where that can be
    margins = scores(problem, w, bias)
    finite = np.isfinite(costs)
    length = float(costs[finite] @ np.abs(w[finite]))
    violation = 0.0

    if problem.direction is not None:
        along = float(problem.direction @ w)
        violation = relative_gap(abs(along - 1.0), 0.0, unit=1.0)
        if along > 0:
            length = length / along
            margins = margins / along

    if problem.slack_cost is not None:
        primal = length + float(problem.slack_cost @ np.maximum(problem.margin - margins, 0.0))
    elif problem.margin > 0:
        least = float(margins.min())
        primal = length / least if least > 0 else np.inf
        violation = max(violation, relative_gap(problem.margin, least, unit=1.0))
    else:
        primal = length
        violation = max(violation, relative_gap(0.0, float(margins.min()), unit=1.0))

    # the dual value, scaled until no column prices out
    u = _balanced(problem, dual)
    gradient = _gradient(problem, u, dual_direction)
    excess = float(np.max(np.abs(gradient[finite]) / costs[finite], initial=0.0))
    bound = problem.margin * float(u.sum()) + dual_direction
    bound /= max(excess, 1.0)
    return max(relative_gap(primal, max(bound, 0.0), unit=primal), violation)


def support_gap(problem: Separation, vertex: Vertex) -> float:
    """Bound on how far w is above the least `|w|_0 + alpha |w|_1 + slack_cost s` on its features.

    Relative to the objective. The Lagrangian of any u that is feasible but for its slopes,
    `|Z' u + t direction|_j <= alpha`, bounds the objective of all weights whose l1 norm is at most
    twice that of w: an excess of the largest slope counts with this norm. A hard problem that is
    violated by more than the gap gets the violation instead.
    """
    w = vertex.w
    used = np.flatnonzero(vertex.w)
    u = _balanced(problem, vertex.dual)
    slopes = np.abs(_gradient(problem, u, vertex.dual_direction)[used])
    excess = float(np.max(slopes - problem.alpha, initial=0.0))
    bound = problem.margin * float(u.sum()) + vertex.dual_direction
    bound -= 2.0 * float(np.abs(w).sum()) * excess

    # constraints that w misses
    violation = 0.0
    if problem.direction is not None:
        violation = abs(float(problem.direction @ w) - 1.0)
    if problem.slack_cost is None:
        violation = max(
            violation, problem.margin - float(scores(problem, w, vertex.bias).min())
        )

    reached = price(problem, w, vertex.bias)
    lower = used.size + bound if bound > 0.0 else float(used.size)
    gap = relative_gap(reached, lower if np.isfinite(bound) else bound, unit=reached)
    return max(gap, violation)


def _balanced(problem: Separation, dual: Array) -> Array:
    """Dual values nearby with ``0 <= u <= slack_cost`` and, with an intercept, ``y' u = 0``."""
    u = np.maximum(dual, 0.0)
    if problem.slack_cost is not None:
        u = np.minimum(u, problem.slack_cost)
    if not problem.intercept:
        return u

    # each class scaled to the smaller sum
    positive = problem.y > 0
    sums = np.array([u[~positive].sum(), u[positive].sum()])
    factors = np.divide(float(sums.min()), sums, out=np.zeros(2), where=sums > 0)
    return np.asarray(u * factors[positive.astype(int)])


def _gradient(problem: Separation, u: Array, dual_direction: float) -> Array:
    """``Z' u + t direction``."""
    gradient = np.asarray(problem.Z.T @ u)
    if problem.direction is not None:
        gradient = gradient + dual_direction * problem.direction
    return gradient


def middle_bias(problem: Separation, w: Array, bias: float) -> float:
    """Middle of the intercepts that are as good as `bias` for these weights."""
    if not problem.intercept:
        return bias
    reach = problem.margin - scores(problem, w, 0.0)  # the constraint asks for y b >= reach
    positive = problem.y > 0
    if problem.slack_cost is None:
        low = float(reach[positive].max())
        high = float((-reach[~positive]).min())
        return 0.5 * (low + high) if low <= high else bias
    # the cost of the slack is convex in b; its slope rises by a row's cost at y_i reach_i
    breaks = problem.y * reach
    order = np.argsort(breaks, kind="stable")
    slope = np.cumsum(problem.slack_cost[order]) - float(problem.slack_cost[positive].sum())
    scale = float(problem.slack_cost.sum())
    first = int(np.searchsorted(slope, -1e-12 * scale))
    if first + 1 < order.size and slope[first] <= 1e-12 * scale:  # flat up to the next break
        return 0.5 * float(breaks[order[first]] + breaks[order[first + 1]])
    return float(breaks[order[min(first, order.size - 1)]])


class RescaledColumns:
    """Euclidean machines in place of linear programs: columns multiplied by the last weights.

    Weston et al. 2003, section 3: each step minimises ``|w|^2 / 2 + slack_cost slack^2`` on
    columns multiplied by z, at first ``1 / costs``, and then multiplies z by ``|w|``. The weights
    of the columns as they were are ``z w``; those that fall end at zero with a speed that doubles
    the digits. There is no certificate, and no direction.
    """

    def __init__(self, problem: Separation) -> None:
        self.problem = problem
        self.z: Array | None = None

    def solve(self, costs: Array) -> Vertex:
        """Return the weights of one machine; dual values it has none."""
        # 2-norm problem in columns times the last weights
        y = self.problem.y
        price = self.problem.slack_cost
        z = np.where(np.isfinite(costs), 1.0 / costs, 0.0) if self.z is None else self.z
        used = np.flatnonzero(z)
        columns = dense(self.problem.Z[:, used]) * z[used] * y[:, None]
        weight = np.full(y.size, HARD) if price is None else price
        scaled, bias = _wide_svm(columns, y, weight, intercept=self.problem.intercept)

        w = np.zeros(costs.size)
        w[used] = z[used] * scaled
        drop_rounding(w)

        if price is None and float(scores(self.problem, w, bias).min()) < 1.0 - MARGIN_TOL:
            raise Infeasible
        self.z = np.abs(w)
        return Vertex(w, bias, np.empty(0), 0.0)


def _wide_svm(X: Array, y: Array, price: Array, *, intercept: bool) -> tuple[Array, float]:
    """`squared_hinge_svm`, in the space of the rows where there are more columns than rows."""
    n, p = X.shape
    if p <= n:
        return squared_hinge_svm(X, y, price, intercept=intercept)
    values, vectors = np.linalg.eigh(X @ X.T)
    retained = values > max(values[-1], 0.0) * n * np.finfo(np.float64).eps
    root = np.sqrt(values[retained])
    v, bias = squared_hinge_svm(vectors[:, retained] * root, y, price, intercept=intercept)
    return X.T @ (vectors[:, retained] @ (v / root)), bias


def squared_hinge_svm(
    X: Array, y: Array, weight: Array, *, intercept: bool = True, max_iter: int = 100
) -> tuple[Array, float]:
    """Minimise ``|w|^2 / 2 + sum_i weight_i max(0, 1 - y_i (x_i w + b))^2`` by Newton steps.

    The objective is piecewise quadratic: once the rows with a loss stay the same, a full step
    ends at the optimum. The intercept b is not penalised. At most `max_iter` steps, each with
    halving of the step size until the objective falls.
    """
    n, p = X.shape
    A = np.column_stack([X, np.ones(n)]) if intercept else X
    ridge = np.ones(A.shape[1])
    ridge[p:] = 0.0
    theta = np.zeros(A.shape[1])

    def value(theta: Array) -> float:
        lacking = np.maximum(1.0 - y * (A @ theta), 0.0)
        return float(0.5 * (ridge * theta) @ theta + weight @ lacking**2)

    now = value(theta)
    for _ in range(max_iter):
        lacking = 1.0 - y * (A @ theta)
        active = lacking > 0
        rows = A[active]
        cost = weight[active]
        gradient = ridge * theta - 2.0 * rows.T @ (cost * y[active] * lacking[active])
        hessian = 2.0 * (rows.T * cost) @ rows + np.diag(ridge)
        # an intercept without loss on either side has no curvature: least norm step
        step = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        length = 1.0
        while length > 1e-10 and value(theta - length * step) > now:
            length *= 0.5
        if length <= 1e-10:
            break
        theta = theta - length * step
        before = now
        now = value(theta)
        same = np.array_equal(active, 1.0 - y * (A @ theta) > 0)
        if (same and length == 1.0) or before - now <= 1e-15 * before:
            break
    return theta[:p], float(theta[p]) if intercept else 0.0
