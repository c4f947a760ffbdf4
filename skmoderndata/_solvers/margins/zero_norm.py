"""Separating hyperplanes with few non-zero weights: linear programs solved again and again.

In all programs `Z` has the rows `y_i x_i`, `y` is +1 or -1, and `r` is the margin, 1 or 0.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from skmoderndata._solvers.common.iterate import Iterations, Progress

Array = np.ndarray[Any, np.dtype[Any]]

BATCH = 60  # columns of the first program, and at most so many more at a time
PRICE_TOL = 1e-9  # a column prices out when its reduced cost is below minus this share of its cost
FEASIBLE = 1e-6  # sum of artificial variables below which a hard problem counts as feasible
ZERO = 1e-9  # weights below this share of the largest are zero


class Infeasible(Exception):
    """No hyperplane meets the constraints."""


class SolverFailure(Exception):
    """The program for linear programs gave up; its last status is the message."""


class Separation(NamedTuple):
    """What the linear programs of one two-class problem have in common.

    Z : (n, p) dense in Fortran order, or sparse by columns. The constraints are
    `Z w + y b + slack >= margin`, and `direction w = 1` where there is a direction.
    slack_cost : (n,) cost of a unit of slack; None allows no slack.
    intercept : whether there is a free b.
    """

    Z: Any
    y: Array
    margin: float
    direction: Array | None
    slack_cost: Array | None
    intercept: bool


class Vertex(NamedTuple):
    """Solution of one linear program, and the dual values of its constraints."""

    w: Array  # (p,)
    bias: float
    dual: Array  # (n,)
    dual_direction: float


class SparseSeparation(NamedTuple):
    """Last weights, what happened on the way, and the certificate of the last program."""

    w: Array
    bias: float
    slack: float  # cost of the slack
    objective: Array  # of each step
    sizes: Array  # non-zero weights after each step
    epsilon: float
    gap: float
    n_iter: int
    converged: bool


class Program(Protocol):
    """Solves the linear program for the costs of the weights; an infinite cost means w = 0."""

    def solve(self, costs: Array) -> Vertex:
        """Minimise `costs |w| + slack_cost slack`."""
        ...


def reweighted_l1(
    problem: Separation,
    program: Program,
    *,
    start: Array,
    epsilon: float = 1e-3,
    keep_zeros: bool = False,
    enough: int = 0,
    max_iter: int = 50,
    tol: float = 1e-6,
    progress: Progress | None = None,
) -> SparseSeparation:
    r"""Lower `F(w, b, s) = sum_j ln(1 + |w_j| / e) + slack_cost s` by linear programs.

    The logarithm lies below its tangents, so that a program with the costs
    ``1 / (e + |w_j|)`` in place of the first sum lowers F until it gives the same w again (Frank
    and Wolfe's algorithm with steps of length 1; Weston et al. 2003, section 3).

    Parameters
    ----------
    problem, program : Separation, Program
        The problem, and what solves its programs.
    start : ndarray of shape (p,)
        Costs of the first program, infinite for weights that must stay zero.
    epsilon : float
        e is `epsilon` times the largest weight of the first program.
    keep_zeros : bool
        Costs ``1 / |w_j|``: a weight that is zero stays zero, which is what multiplying the
        columns by the weights and solving the first program again amounts to.
    enough : int
        Stop as soon as no more weights than this are not zero.
    max_iter, tol : int, float
        Stop when no weight changes by more than `tol` times the largest.
    progress : Progress or None
        Told about the steps.
    """
    allowed = np.isfinite(start)
    costs = start
    w, bias, e = np.zeros(start.size), 0.0, 1.0
    vertex = Vertex(w, bias, np.zeros(problem.y.size), 0.0)
    objective: list[float] = []
    sizes: list[int] = []
    it = Iterations(max_iter, tol, progress)
    for step in it:
        new = program.solve(costs)
        largest = float(np.abs(new.w).max(initial=0.0))
        if step == 1:
            e = epsilon * (largest or 1.0)
        value = log_objective(problem, new.w, new.bias, e)
        if objective and not keep_zeros and value > objective[-1] - 1e-12 * abs(objective[-1]):
            it.residual = 0.0  # no descent beyond rounding: the last weights are stationary
            if value > objective[-1]:
                new = new._replace(w=w, bias=bias)
                value = objective[-1]
        else:
            it.residual = float(np.abs(new.w - w).max(initial=0.0)) / (largest or 1.0)
        w, bias, vertex = new.w, new.bias, new
        objective.append(value)
        sizes.append(int(np.count_nonzero(w)))
        if keep_zeros:
            allowed = w != 0
            e_costs = np.abs(w)
        else:
            e_costs = e + np.abs(w)
        costs = np.full(start.size, np.inf)
        costs[allowed] = 1.0 / e_costs[allowed]
        if sizes[-1] <= enough:
            it.residual = 0.0
    gap = stationarity_gap(problem, costs, w, bias, vertex.dual, vertex.dual_direction)
    return SparseSeparation(
        w,
        middle_bias(problem, w, bias),
        slack_cost(problem, w, bias),
        np.asarray(objective),
        np.asarray(sizes),
        e,
        gap,
        it.n_iter,
        it.converged,
    )


def log_objective(problem: Separation, w: Array, bias: float, e: float) -> float:
    """``sum_j ln(1 + |w_j| / e) + slack_cost s`` with the smallest slack s."""
    return float(np.log1p(np.abs(w) / e).sum()) + slack_cost(problem, w, bias)


def scores(problem: Separation, w: Array, bias: float) -> Array:
    """Left sides ``Z w + y b`` of the constraints."""
    used = np.flatnonzero(w)
    left: Array = problem.Z[:, used] @ w[used] + problem.y * bias
    return left


def slack_cost(problem: Separation, w: Array, bias: float) -> float:
    """Cost of the smallest slack that w and b need; zero for a hard problem."""
    if problem.slack_cost is None:
        return 0.0
    lacking = np.maximum(problem.margin - scores(problem, w, bias), 0.0)
    return float(problem.slack_cost @ lacking)


def stationarity_gap(
    problem: Separation, costs: Array, w: Array, bias: float, dual: Array, dual_direction: float
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
    left = scores(problem, w, bias)
    finite = np.isfinite(costs)
    length = float(costs[finite] @ np.abs(w[finite]))
    violation = 0.0
    if problem.direction is not None:
        along = float(problem.direction @ w)
        violation = abs(along - 1.0)
        if along > 0:
            length, left = length / along, left / along
    if problem.slack_cost is not None:
        primal = length + float(problem.slack_cost @ np.maximum(problem.margin - left, 0.0))
    elif problem.margin > 0:
        least = float(left.min())
        primal = length / least if least > 0 else np.inf
        violation = max(violation, problem.margin - least)
    else:
        primal = length
        violation = max(violation, -float(left.min()))

    u = np.maximum(dual, 0.0)
    if problem.slack_cost is not None:
        u = np.minimum(u, problem.slack_cost)
    if problem.intercept:
        positive = problem.y > 0
        sums = np.array([u[~positive].sum(), u[positive].sum()])
        least_sum = float(sums.min())
        factors = np.divide(least_sum, sums, out=np.zeros(2), where=sums > 0)
        u = u * factors[positive.astype(int)]
    gradient = problem.Z.T @ u
    if problem.direction is not None:
        gradient = gradient + dual_direction * problem.direction
    excess = float(np.max(np.abs(gradient[finite]) / costs[finite], initial=0.0))
    bound = problem.margin * float(u.sum()) + dual_direction
    bound /= max(excess, 1.0)
    gap = (primal - max(bound, 0.0)) / primal if primal > 0 else 0.0
    return max(gap, violation, 0.0)


def middle_bias(problem: Separation, w: Array, bias: float) -> float:
    """Middle of the intercepts that are as good as `bias` for these weights."""
    if not problem.intercept:
        return bias
    reach = problem.margin - scores(problem, w, 0.0)  # the constraint asks for y b >= reach
    positive = problem.y > 0
    if problem.slack_cost is None:
        low, high = float(reach[positive].max()), float((-reach[~positive]).min())
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


HARD = 1e6  # cost of squared slack that stands for infinity
MARGIN_TOL = 1e-2  # margin that may be missing then


def rescaled_l2(
    problem: Separation,
    *,
    start: Array,
    epsilon: float = 1e-3,
    enough: int = 0,
    max_iter: int = 50,
    tol: float = 1e-6,
    progress: Progress | None = None,
) -> SparseSeparation:
    """Multiply the columns by the weights of a Euclidean support vector machine, and repeat.

    Weston et al. 2003, section 3: each step minimises ``|w|^2 / 2 + slack_cost slack^2`` on
    columns multiplied by z, and then multiplies z by ``|w|``. The weights of the columns as they
    were are ``z w``; those that fall end at zero with a speed that doubles the digits. There is no
    certificate. Arguments as for `reweighted_l1`; only problems with ``margin=1``, no direction.
    """
    hard = problem.slack_cost is None
    price = np.full(problem.y.size, HARD) if problem.slack_cost is None else problem.slack_cost
    z = np.where(np.isfinite(start), 1.0 / start, 0.0)
    w, bias, e = np.zeros(start.size), 0.0, 1.0
    objective: list[float] = []
    sizes: list[int] = []
    it = Iterations(max_iter, tol, progress)
    for step in it:
        used = np.flatnonzero(z)
        columns = _dense(problem.Z[:, used]) * z[used] * problem.y[:, None]
        scaled, bias = _wide_svm(columns, problem.y, price, intercept=problem.intercept)
        new = np.zeros(start.size)
        new[used] = z[used] * scaled
        largest = float(np.abs(new).max(initial=0.0))
        new[np.abs(new) <= ZERO * largest] = 0.0
        if hard and float(scores(problem, new, bias).min()) < 1.0 - MARGIN_TOL:
            raise Infeasible
        if step == 1:
            e = epsilon * (largest or 1.0)
        it.residual = float(np.abs(new - w).max(initial=0.0)) / (largest or 1.0)
        z[used] *= np.abs(scaled)
        z[new == 0] = 0.0
        w = new
        objective.append(log_objective(problem, w, bias, e))
        sizes.append(int(np.count_nonzero(w)))
        if sizes[-1] <= enough:
            it.residual = 0.0
    return SparseSeparation(
        w,
        bias,
        slack_cost(problem, w, bias),
        np.asarray(objective),
        np.asarray(sizes),
        e,
        float("nan"),
        it.n_iter,
        it.converged,
    )


def _wide_svm(X: Array, y: Array, price: Array, *, intercept: bool) -> tuple[Array, float]:
    """`squared_hinge_svm`, in the space of the rows where there are more columns than rows."""
    n, p = X.shape
    if p <= n:
        return squared_hinge_svm(X, y, price, intercept=intercept)
    values, vectors = np.linalg.eigh(X @ X.T)
    kept = values > max(values[-1], 0.0) * n * np.finfo(np.float64).eps
    root = np.sqrt(values[kept])
    v, bias = squared_hinge_svm(vectors[:, kept] * root, y, price, intercept=intercept)
    return X.T @ (vectors[:, kept] @ (v / root)), bias


class ColumnGeneration:
    """Linear programs with few rows and many columns, solved by pricing.

    The restricted program starts with the `BATCH` columns that tell the classes apart best, and
    takes in columns whose reduced cost is negative, `BATCH` at a time, until there is none: then
    its solution is that of the whole program. Columns stay from one call of `solve` to the next.
    A hard problem is made feasible first, by minimising the sum of artificial slack.

    Parameters
    ----------
    problem : Separation
        Data.
    master : callable or None
        Makes the solver of the restricted program; None takes `HighsMaster`, or `ScipyMaster`
        where highspy is not installed.
    """

    def __init__(self, problem: Separation, master: "Callable[..., Master] | None" = None) -> None:
        self.problem = problem
        self.n_rows, self.n_features = problem.Z.shape
        self._make = _default_master if master is None else master
        self._master: Master | None = None
        self._features = np.empty(0, dtype=np.intp)  # of the columns, in their order
        self._signs = np.empty(0)
        self._present = np.zeros((2, self.n_features), dtype=bool)  # by sign
        self._n_fixed = 0  # columns before those of the weights: intercept and slack

    def solve(self, costs: Array) -> Vertex:
        """Minimise `costs |w| + slack_cost slack`.

        Raises
        ------
        Infeasible
            When a hard problem has no solution.
        """
        if self._master is None:
            self._begin(costs)
        assert self._master is not None
        self._set_costs(costs)
        values, dual = self._priced(costs)
        at = values[self._n_fixed :]
        w = np.zeros(self.n_features)
        np.add.at(w, self._features, self._signs * at)
        w[np.abs(w) <= ZERO * np.abs(w).max(initial=0.0)] = 0.0
        bias = float(values[0]) if self.problem.intercept else 0.0
        return Vertex(w, bias, dual[: self.n_rows], float(dual[self.n_rows :].sum()))

    def _begin(self, costs: Array) -> None:
        problem, n = self.problem, self.n_rows
        lower, upper = np.full(n, problem.margin), np.full(n, np.inf)
        if problem.direction is not None:
            lower, upper = np.append(lower, 1.0), np.append(upper, 1.0)
        self._master = self._make(lower, upper)
        if problem.intercept:
            self._master.add(self._padded(problem.y[:, None]), np.zeros(1), free=True)
        hard = problem.slack_cost is None
        price = np.ones(n) if problem.slack_cost is None else problem.slack_cost
        self._master.add_slack(price)
        self._n_fixed = n + int(problem.intercept)
        found = problem.direction
        if found is None:
            share = 1.0 / np.where(problem.y > 0, (problem.y > 0).sum(), (problem.y < 0).sum())
            found = problem.Z.T @ share
        with np.errstate(invalid="ignore"):
            promise = np.abs(found) / costs
        self._take(_largest(promise, BATCH), np.where(found < 0, -1.0, 1.0), np.zeros_like(costs))
        if hard:
            free = np.where(np.isfinite(costs), 0.0, np.inf)
            self._set_costs(free)
            values, _ = self._priced(free)
            slack = slice(int(problem.intercept), self._n_fixed)
            if values[slack].sum() > FEASIBLE:
                raise Infeasible
            self._master.close(np.arange(slack.start, slack.stop))

    def _priced(self, costs: Array) -> tuple[Array, Array]:
        """Solve, add columns that price out, and so on; there are at most 2 p columns."""
        assert self._master is not None
        problem = self.problem
        scale = float(np.abs(costs[np.isfinite(costs)]).max(initial=0.0)) or 1.0
        while True:
            values, dual = self._master.solve()
            gradient = problem.Z.T @ dual[: self.n_rows]
            if problem.direction is not None:
                gradient = gradient + dual[self.n_rows] * problem.direction
            excess = np.abs(gradient) - costs
            negative = gradient < 0
            # costs of zero (first phase): compare with rounding of the gradient, not with the cost
            slack = PRICE_TOL * np.maximum(costs, scale if scale == 1.0 else 0.0)
            excess[~(excess > slack) | self._present[negative.astype(int), self._columns]] = 0.0
            if not excess.any():
                return values, dual
            with np.errstate(divide="ignore", invalid="ignore"):
                promise = np.where(excess > 0, excess / np.where(costs > 0, costs, 1.0), 0.0)
            self._take(_largest(promise, BATCH), np.where(negative, -1.0, 1.0), costs)

    @property
    def _columns(self) -> Array:
        return np.arange(self.n_features)

    def _take(self, chosen: Array, signs: Array, costs: Array) -> None:
        assert self._master is not None
        signs = signs[chosen]
        columns = _dense(self.problem.Z[:, chosen]) * signs
        if self.problem.direction is not None:
            columns = np.vstack([columns, self.problem.direction[chosen] * signs])
        self._master.add(columns, costs[chosen])
        self._features = np.concatenate([self._features, chosen])
        self._signs = np.concatenate([self._signs, signs])
        self._present[(signs < 0).astype(int), chosen] = True

    def _set_costs(self, costs: Array) -> None:
        assert self._master is not None
        costs = costs[self._features]
        shut = ~np.isfinite(costs)
        at = self._n_fixed + np.arange(costs.size)
        if shut.any():
            self._master.close(at[shut])
        self._master.set_costs(at, np.where(shut, 0.0, costs))

    def _padded(self, columns: Array) -> Array:
        """Add the zero in the row of the direction."""
        if self.problem.direction is None:
            return columns
        return np.vstack([columns, np.zeros(columns.shape[1])])


class Master(Protocol):
    """A linear program with given rows whose columns come one batch after the other."""

    def add(self, columns: Array, costs: Array, *, free: bool = False) -> None:
        """Add variables, non-negative unless they are free."""

    def add_slack(self, costs: Array) -> None:
        """Add a variable to each of the first rows, with the factor 1."""

    def close(self, at: Array) -> None:
        """Fix variables to zero."""

    def set_costs(self, at: Array, costs: Array) -> None:
        """Change the objective."""

    def solve(self) -> tuple[Array, Array]:
        """Return the variables and the dual values of the rows."""
        ...


class HighsMaster:
    """HiGHS through highspy: the simplex method starts from the last basis."""

    def __init__(self, lower: Array, upper: Array) -> None:
        import highspy

        make: Any = highspy.Highs
        self._done = highspy.HighsModelStatus.kOptimal
        self._highs: Any = make()
        self._n_columns = 0
        options: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": 1,
            "presolve": "off",
            "simplex_strategy": 4,  # primal: feasible after new columns and new costs
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
        }
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        n = lower.size
        none = np.empty(0, dtype=np.int32)
        self._highs.addRows(n, lower, upper, 0, np.zeros(n, dtype=np.int32), none, np.empty(0))

    def add(self, columns: Array, costs: Array, *, free: bool = False) -> None:
        """Add variables, non-negative unless they are free."""
        k = columns.shape[1]
        where = columns.T != 0
        counts = where.sum(axis=1)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
        index = np.nonzero(where)[1].astype(np.int32)
        self._highs.addCols(
            k,
            np.asarray(costs, dtype=np.float64),
            np.full(k, -np.inf if free else 0.0),
            np.full(k, np.inf),
            index.size,
            starts,
            index,
            np.ascontiguousarray(columns.T[where]),
        )
        self._n_columns += k

    def add_slack(self, costs: Array) -> None:
        """Add a variable to each of the first rows, with the factor 1."""
        n = costs.size
        at = np.arange(n, dtype=np.int32)
        self._highs.addCols(
            n,
            np.asarray(costs, dtype=np.float64),
            np.zeros(n),
            np.full(n, np.inf),
            n,
            at,
            at,
            np.ones(n),
        )
        self._n_columns += n

    def close(self, at: Array) -> None:
        """Fix variables to zero."""
        zero = np.zeros(at.size)
        self._highs.changeColsBounds(at.size, at.astype(np.int32), zero, zero)

    def set_costs(self, at: Array, costs: Array) -> None:
        """Change the objective."""
        self._highs.changeColsCost(at.size, at.astype(np.int32), costs)

    def solve(self) -> tuple[Array, Array]:
        """Return the variables and the dual values of the rows."""
        limit = 10_000 + 50 * (self._n_columns + self._highs.getNumRow())
        self._highs.setOptionValue("simplex_iteration_limit", limit)
        self._highs.run()
        if self._highs.getModelStatus() != self._done:  # numerical trouble: once more, from cold
            self._highs.clearSolver()
            self._highs.setOptionValue("simplex_strategy", 1)
            self._highs.run()
            self._highs.setOptionValue("simplex_strategy", 4)
        status = self._highs.getModelStatus()
        if status != self._done:
            raise SolverFailure(self._highs.modelStatusToString(status))
        solution = self._highs.getSolution()
        return np.asarray(solution.col_value), np.asarray(solution.row_dual)


class ScipyMaster:
    """`scipy.optimize.linprog`, which starts anew every time."""

    def __init__(self, lower: Array, upper: Array) -> None:
        self._lower, self._equal = lower, lower == upper
        self._columns = np.empty((lower.size, 0))
        self._costs, self._least, self._most = np.empty(0), np.empty(0), np.empty(0)

    def add(self, columns: Array, costs: Array, *, free: bool = False) -> None:
        """Add variables, non-negative unless they are free."""
        k = columns.shape[1]
        self._columns = np.hstack([self._columns, columns])
        self._costs = np.append(self._costs, costs)
        self._least = np.append(self._least, np.full(k, -np.inf if free else 0.0))
        self._most = np.append(self._most, np.full(k, np.inf))

    def add_slack(self, costs: Array) -> None:
        """Add a variable to each of the first rows, with the factor 1."""
        self.add(np.eye(self._lower.size, costs.size), costs)

    def close(self, at: Array) -> None:
        """Fix variables to zero."""
        self._least[at] = self._most[at] = 0.0

    def set_costs(self, at: Array, costs: Array) -> None:
        """Change the objective."""
        self._costs[at] = costs

    def solve(self) -> tuple[Array, Array]:
        """Return the variables and the dual values of the rows."""
        from scipy.optimize import linprog

        equal = self._equal
        found: Any = linprog(
            self._costs,
            A_ub=-self._columns[~equal],
            b_ub=-self._lower[~equal],
            A_eq=self._columns[equal] if equal.any() else None,
            b_eq=self._lower[equal] if equal.any() else None,
            bounds=[*zip(self._least.tolist(), self._most.tolist(), strict=True)],
            method="highs",
            options={
                "primal_feasibility_tolerance": 1e-9,
                "dual_feasibility_tolerance": 1e-9,
            },
        )
        if found.status != 0:
            raise SolverFailure(str(found.message))
        dual = np.empty(self._lower.size)
        dual[~equal] = -found.ineqlin.marginals
        if equal.any():
            dual[equal] = found.eqlin.marginals
        return np.asarray(found.x), dual


class CvxpyProgram:
    """The whole program, stated in cvxpy: compiled once, the costs are a parameter.

    Weights are differences of non-negative variables, so that the program stays linear whatever
    the costs are; columns with infinite cost are left out.
    """

    def __init__(self, problem: Separation) -> None:
        self.problem = problem
        self._columns = np.empty(0, dtype=np.intp)
        self._problem: Any = None
        self._bias: Any = None
        self._positive: Any = None
        self._negative: Any = None

    def solve(self, costs: Array) -> Vertex:
        """Minimise `costs |w| + slack_cost slack`."""
        import cvxpy as cp

        columns = np.flatnonzero(np.isfinite(costs))
        if self._problem is None or not np.array_equal(columns, self._columns):
            self._state(columns)
        self._costs.value = costs[columns]
        tolerances = dict.fromkeys(
            ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-9
        )
        try:
            self._problem.solve(solver=cp.HIGHS, highs_options=tolerances)
        except cp.error.SolverError as error:
            raise SolverFailure(str(error)) from error
        if self._problem.status == cp.INFEASIBLE:
            raise Infeasible
        if self._problem.status != cp.OPTIMAL:
            raise SolverFailure(str(self._problem.status))
        w = np.zeros(costs.size)
        w[columns] = self._positive.value - self._negative.value
        w[np.abs(w) <= ZERO * np.abs(w).max(initial=0.0)] = 0.0
        bias = 0.0 if self._bias is None else float(self._bias.value)
        along = 0.0
        if self.problem.direction is not None:
            along = -float(np.ravel(self._problem.constraints[1].dual_value)[0])
        return Vertex(w, bias, np.ravel(self._problem.constraints[0].dual_value), along)

    def _state(self, columns: Array) -> None:
        import cvxpy as cp

        problem, self._columns = self.problem, columns
        k = max(columns.size, 1)
        Z = problem.Z[:, columns] if columns.size else np.zeros((problem.y.size, 1))
        self._costs = cp.Parameter(k, nonneg=True)
        self._positive, self._negative = cp.Variable(k, nonneg=True), cp.Variable(k, nonneg=True)
        objective = self._costs @ (self._positive + self._negative)
        left = Z @ self._positive - Z @ self._negative
        self._bias = cp.Variable() if problem.intercept else None
        if self._bias is not None:
            left = left + problem.y * self._bias
        if problem.slack_cost is not None:
            slack = cp.Variable(problem.y.size, nonneg=True)
            left = left + slack
            objective = objective + problem.slack_cost @ slack
        constraints: list[Any] = [left >= problem.margin]
        if problem.direction is not None:
            d = problem.direction[columns]
            constraints.append(d @ self._positive - d @ self._negative == 1)
        self._problem = cp.Problem(cp.Minimize(objective), constraints)


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def _default_master(lower: Array, upper: Array) -> Master:
    try:
        return HighsMaster(lower, upper)
    except ImportError:
        return ScipyMaster(lower, upper)


def _largest(promise: Array, k: int) -> Array:
    """Places of the k largest values that are positive."""
    promise = np.nan_to_num(promise, nan=0.0)
    if promise.size > k:
        chosen = np.argpartition(-promise, k - 1)[:k]
    else:
        chosen = np.arange(promise.size)
    found: Array = np.sort(chosen[promise[chosen] > 0])
    return found


def squared_hinge_svm(
    X: Array, y: Array, weight: Array, *, intercept: bool = True, max_iter: int = 100
) -> tuple[Array, float]:
    """Minimise ``|w|^2 / 2 + sum_i weight_i max(0, 1 - y_i (x_i w + b))^2`` by Newton steps.

    The objective is piecewise quadratic: once the rows with a loss stay the same, a full step
    ends at the optimum. The intercept b carries no penalty. At most `max_iter` steps, each with
    halving of its length until the objective falls.
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
        part, cost = A[active], weight[active]
        gradient = ridge * theta - 2.0 * part.T @ (cost * y[active] * lacking[active])
        hessian = 2.0 * (part.T * cost) @ part + np.diag(ridge)
        # an intercept without loss on either side has no curvature: least norm step
        step = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        length = 1.0
        while length > 1e-10 and value(theta - length * step) > now:
            length *= 0.5
        if length <= 1e-10:
            break
        theta = theta - length * step
        before, now = now, value(theta)
        same = np.array_equal(active, 1.0 - y * (A @ theta) > 0)
        if (same and length == 1.0) or before - now <= 1e-15 * before:
            break
    return theta[:p], float(theta[p]) if intercept else 0.0
