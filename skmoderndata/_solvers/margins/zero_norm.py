"""Separating hyperplanes with few non-zero weights, by a sequence of linear programs.

In all programs `Z` has the rows `y_i x_i`, `y` is +1 or -1, and `r` is the margin, 1 or 0.

Differs from the paper [Weston et al. 2003]: 1. The constant e in the logarithm is relative to
the largest weight of the first program. 2. There may be slack, and a penalty on `|w|_1`. 3. Zero
weights can become nonzero again, unless `keep_zeros` is set.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.linear_programs import (
    Infeasible,
    Separation,
    Vertex,
    dense,
    drop_rounding,
)
from skmoderndata._solvers.margins.tolerances import SHORTEST_STEP

# Cost of squared slack that stands for an infinite cost.
HARD = 1e6
# Tolerance on the margin if slack costs HARD.
MARGIN_TOL = 1e-2


class SparseSeparation(NamedTuple):
    """Last weights, history of the search, and the certificate of the last program.

    `values` and `sizes` have an array for each sequence of steps, because a sequence may begin
    with features other than those at the end of the previous one.
    """

    features: Array  # selected features; weights of least slack may be zero for some of them
    w: Array
    bias: float
    objective: float  # |w|_0 + alpha |w|_1 + slack_cost s
    values: tuple[Array, ...]  # `objective` after each step
    approximation: Array  # F after each linear program
    sizes: tuple[Array, ...]  # number of features after each step
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

    The logarithm lies below its tangents. So a linear program with the costs
    ``1 / ((e + |w_j|) ln(1 + 1 / epsilon)) + alpha`` instead of the first sums lowers F, until the
    solution w no longer changes (Frank and Wolfe's algorithm with step size 1; Weston et al. 2003,
    section 3). A weight as large as the largest of the first program adds 1 to the first sum.

    Parameters
    ----------
    problem : Separation
    program : ColumnGeneration, CvxpyProgram or RescaledColumns
        Solver of the programs of the problem.
    start : ndarray of shape (p,)
        Costs of the first program, infinite for weights that must stay zero.
    epsilon : float
        Ratio of e to the largest weight of the first program.
    keep_zeros : bool
        If True, the costs are ``1 / |w_j|`` up to the same factor, so that zero weights stay zero.
        This is equivalent to multiplying the columns by the weights and solving the first program
        again.
    enough : int
        Stop if at most this number of weights is non-zero.
    max_iter, tol : int, float
        Stop if no weight changes by more than `tol` times the largest weight.
    progress : Progress or None
        Progress, reported after each step.
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
        # 1. Solve the linear program with the current costs
        new = program.solve(costs)
        largest = float(np.abs(new.w).max(initial=0.0))

        if step == 1:
            e = epsilon * (largest or 1.0)

        # 2. Check that F falls; the logarithm lies below its tangents, so an increase is a
        # rounding error
        value = log_objective(problem, new.w, new.bias, e, epsilon)
        if (
            objective
            and not keep_zeros
            and value > objective[-1] - ACCUMULATED_ROUNDING * abs(objective[-1])
        ):
            it.residual = 0.0  # F cannot fall any further, so the last weights are stationary
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

        # 3. Set the costs to the slopes of the logarithm at the weights
        if keep_zeros:
            allowed = w != 0
        costs = np.full(start.size, np.inf)
        costs[allowed] = 1.0 / (top * (np.abs(w) + (0.0 if keep_zeros else e))[allowed])
        costs += problem.alpha

        if sizes[-1] <= enough:
            it.residual = 0.0

    # compute the certificate if the programs have dual values
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
    """Return F, ``sum_j ln(1 + |w_j| / e) / ln(1 + 1 / epsilon) + alpha |w|_1 + slack_cost s``.

    The slack s is the smallest possible. The quotient is 0 for a weight of zero and 1 for a weight
    of ``e / epsilon``.
    """
    counted = np.log1p(np.abs(w) / e) / np.log1p(1.0 / epsilon)
    return float(counted.sum()) + penalty_and_slack(problem, w, bias)


def price(problem: Separation, w: Array, bias: float) -> float:
    """Return ``|w|_0 + alpha |w|_1 + slack_cost s``, with the smallest slack s."""
    return int(np.count_nonzero(w)) + penalty_and_slack(problem, w, bias)


def penalty_and_slack(problem: Separation, w: Array, bias: float) -> float:
    """Return ``alpha |w|_1 + slack_cost s``, with the smallest slack s."""
    return problem.alpha * float(np.abs(w).sum()) + slack_cost(problem, w, bias)


def scores(problem: Separation, w: Array, bias: float) -> Array:
    """Return the left sides ``Z w + y b`` of the constraints."""
    used = np.flatnonzero(w)
    return problem.Z[:, used] @ w[used] + problem.y * bias


def slack_cost(problem: Separation, w: Array, bias: float) -> float:
    """Return the cost of the smallest slack that w and b require; zero for a hard problem."""
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
    """Bound how far w is above the minimum of its linear program, relative to its value.

    The dual of ``min costs |w| + slack_cost s`` is

        max  r sum_i u_i + t   subject to  |Z' u + t direction|_j <= costs_j,
                                           0 <= u <= slack_cost,  y' u = 0 (free intercept).

    `dual` and `dual_direction` are made feasible by clipping, balancing and shrinking, so that any
    values give a bound. With ``costs = 1 / (e + |w|)`` the bound is on the gap of Frank and Wolfe,
    which is zero only if F is stationary. If a hard problem is violated by more than the gap, the
    violation is returned instead.
    """
    # compute the primal value, after scaling w into the constraints if possible
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

    # compute the dual value, scaled until all constraints are satisfied
    u = _balanced(problem, dual)
    gradient = _gradient(problem, u, dual_direction)
    excess = float(np.max(np.abs(gradient[finite]) / costs[finite], initial=0.0))
    bound = problem.margin * float(u.sum()) + dual_direction
    bound /= max(excess, 1.0)
    return max(relative_gap(primal, max(bound, 0.0), unit=primal), violation)


def support_gap(problem: Separation, vertex: Vertex) -> float:
    """Bound how far w is above the least `|w|_0 + alpha |w|_1 + slack_cost s` on its features.

    The bound is relative to the objective. The Lagrangian of any u that is feasible except for its
    slopes, `|Z' u + t direction|_j <= alpha`, bounds the objective of all weights whose l1 norm is
    at most twice the l1 norm of w; the largest excess of a slope is multiplied by this norm. If a
    hard problem is violated by more than the gap, the violation is returned instead.
    """
    w = vertex.w
    used = np.flatnonzero(vertex.w)
    u = _balanced(problem, vertex.dual)
    slopes = np.abs(_gradient(problem, u, vertex.dual_direction)[used])
    excess = float(np.max(slopes - problem.alpha, initial=0.0))
    bound = problem.margin * float(u.sum()) + vertex.dual_direction
    bound -= 2.0 * float(np.abs(w).sum()) * excess

    # compute the violation of the constraints by w
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
    """Return nearby dual values with ``0 <= u <= slack_cost``; ``y' u = 0`` with an intercept."""
    u = np.maximum(dual, 0.0)
    if problem.slack_cost is not None:
        u = np.minimum(u, problem.slack_cost)
    if not problem.intercept:
        return u

    # scale the dual values of both classes so that both sums equal the smaller one
    positive = problem.y > 0
    sums = np.array([u[~positive].sum(), u[positive].sum()])
    factors = np.divide(float(sums.min()), sums, out=np.zeros(2), where=sums > 0)
    return np.asarray(u * factors[positive.astype(int)])


def _gradient(problem: Separation, u: Array, dual_direction: float) -> Array:
    """Return ``Z' u + t direction``."""
    gradient = np.asarray(problem.Z.T @ u)
    if problem.direction is not None:
        gradient = gradient + dual_direction * problem.direction
    return gradient


def middle_bias(problem: Separation, w: Array, bias: float) -> float:
    """Return the middle of the intercepts that are as good as `bias` for these weights."""
    if not problem.intercept:
        return bias
    reach = problem.margin - scores(problem, w, 0.0)  # the constraint is y b >= reach
    positive = problem.y > 0
    if problem.slack_cost is None:
        low = float(reach[positive].max())
        high = float((-reach[~positive]).min())
        return 0.5 * (low + high) if low <= high else bias
    # the cost of slack is a convex function of b; its slope rises by the cost of row i at y_i
    # reach_i
    breaks = problem.y * reach
    order = np.argsort(breaks, kind="stable")
    slope = np.cumsum(problem.slack_cost[order]) - float(problem.slack_cost[positive].sum())
    scale = float(problem.slack_cost.sum())
    first = int(np.searchsorted(slope, -ACCUMULATED_ROUNDING * scale))
    if (
        first + 1 < order.size and slope[first] <= ACCUMULATED_ROUNDING * scale
    ):  # the cost does not change between this break and the next one
        return 0.5 * float(breaks[order[first]] + breaks[order[first + 1]])
    return float(breaks[order[first]])


class RescaledColumns:
    """Euclidean machines instead of linear programs: columns are multiplied by the last weights.

    Each step [Weston et al. 2003, section 3] minimises ``|w|^2 / 2 + slack_cost slack^2`` on
    columns multiplied by z, at first ``1 / costs``, and then multiplies z by ``|w|``. The weights
    of the original columns are ``z w``. Weights that tend to zero reach it quadratically, doubling
    the number of digits in each step. There is neither a certificate nor a direction.
    """

    def __init__(self, problem: Separation) -> None:
        self.problem = problem
        self.z: Array | None = None

    def solve(self, costs: Array) -> Vertex:
        """Return the weights of one machine, without dual values."""
        # solve the 2-norm problem for the columns multiplied by the last weights
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
    """Solve `squared_hinge_svm` in the space of the rows if there are more columns than rows."""
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

    The objective is piecewise quadratic: a full step that leaves the same rows with a loss ends
    at the optimum. The intercept b is not penalised. Takes at most `max_iter` steps; each is
    halved until the objective falls.
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
        # use the step of least norm, because the intercept has no curvature if no sample has a
        # loss
        step = np.linalg.lstsq(hessian, gradient, rcond=ROUNDING)[0]
        length = 1.0
        while length > SHORTEST_STEP and value(theta - length * step) > now:
            length *= 0.5
        if length <= SHORTEST_STEP:
            break
        theta = theta - length * step
        before = now
        now = value(theta)
        same = np.array_equal(active, 1.0 - y * (A @ theta) > 0)
        if (same and length == 1.0) or before - now <= ROUNDING / 10 * before:
            break
    return theta[:p], float(theta[p]) if intercept else 0.0
