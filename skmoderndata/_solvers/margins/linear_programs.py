"""Linear programs for separating hyperplanes: all columns priced, or the whole program at once.

In all programs `Z` has the rows `y_i x_i`, `y` is +1 or -1, and `r` is the margin, 1 or 0.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.convex_problems import solve, sparse_separation

Array = np.ndarray[Any, np.dtype[Any]]

BATCH = 60  # columns of the first program, and at most so many more at a time
PRICE_TOL = 1e-9  # fraction of its cost below minus which the reduced cost of a column prices out
FEASIBLE = 1e-6  # sum of artificial variables below which a hard problem counts as feasible
ZERO = 1e-9  # weights below this fraction of the largest are zero


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


class Program(Protocol):
    """Solves the linear program for the costs of the weights; an infinite cost means w = 0."""

    def solve(self, costs: Array) -> Vertex:
        """Minimise `costs |w| + slack_cost slack`."""
        ...


class ColumnGeneration:
    """Linear programs with few rows and many columns, solved by pricing.

    The restricted program starts with the `BATCH` columns that tell the classes apart best, and
    takes in columns whose reduced cost is negative, `BATCH` at a time, until there is none: then
    its solution is that of the whole program. Columns stay from one call of `solve` to the next.
    A hard problem is made feasible first, by minimising the sum of artificial slack.

    """

    def __init__(self, problem: Separation) -> None:
        self.problem = problem
        self.n_rows, self.n_features = problem.Z.shape
        self._master: HighsMaster | None = None
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
        self._master = HighsMaster(lower, upper)
        if problem.intercept:
            self._master.add(problem.y[:, None], np.zeros(1), free=True)
        hard = problem.slack_cost is None
        price = np.ones(n) if problem.slack_cost is None else problem.slack_cost
        self._master.add(sparse.eye_array(n), price)
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
            present = np.where(negative, self._present[1], self._present[0])
            excess[~(excess > slack) | present] = 0.0
            if not excess.any():
                return values, dual
            with np.errstate(divide="ignore", invalid="ignore"):
                promise = np.where(excess > 0, excess / np.where(costs > 0, costs, 1.0), 0.0)
            self._take(_largest(promise, BATCH), np.where(negative, -1.0, 1.0), costs)

    def _take(self, chosen: Array, signs: Array, costs: Array) -> None:
        assert self._master is not None
        signs = signs[chosen]
        columns = dense(self.problem.Z[:, chosen])
        if self.problem.direction is not None:
            columns = np.vstack([columns, self.problem.direction[chosen]])
        self._master.add(columns * signs, costs[chosen])
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


class HighsMaster:
    """Linear program with given rows whose columns come batch by batch, by HiGHS.

    The simplex method starts from the last basis.
    """

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

    def add(self, columns: Any, costs: Array, *, free: bool = False) -> None:
        """Add variables, non-negative unless they are free."""
        columns = sparse.csc_array(columns)
        k = columns.shape[1]
        self._highs.addCols(
            k,
            np.asarray(costs, dtype=np.float64),
            np.full(k, -np.inf if free else 0.0),
            np.full(k, np.inf),
            columns.nnz,
            columns.indptr[:-1].astype(np.int32),
            columns.indices.astype(np.int32),
            np.asarray(columns.data, dtype=np.float64),
        )
        self._n_columns += k

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


class CvxpyProgram:
    """The whole program, stated in cvxpy: compiled once, the costs are a parameter.

    Columns with infinite cost are left out.
    """

    def __init__(self, problem: Separation) -> None:
        self.problem = problem
        self._columns = np.full(1, -1, dtype=np.intp)
        self._costs: Any = None
        self._stated: Any = None

    def solve(self, costs: Array) -> Vertex:
        """Minimise `costs |w| + slack_cost slack`."""
        columns = np.flatnonzero(np.isfinite(costs))
        if not np.array_equal(columns, self._columns):
            self._state(columns)
        self._costs.value = costs[columns]
        tolerances = dict.fromkeys(
            ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-9
        )
        if not solve(self._stated, solver="HIGHS", highs_options=tolerances):
            if self._stated.problem.status == "infeasible":
                raise Infeasible
            raise SolverFailure(str(self._stated.problem.status))
        up, down, bias = self._stated.variable
        w = np.zeros(costs.size)
        w[columns] = up.value - down.value
        w[np.abs(w) <= ZERO * np.abs(w).max(initial=0.0)] = 0.0
        dual = [np.ravel(rows.dual_value) for rows in self._stated.constraint]
        along = -float(dual[1][0]) if len(dual) > 1 else 0.0
        return Vertex(w, 0.0 if bias is None else float(bias.value), dual[0], along)

    def _state(self, columns: Array) -> None:
        import cvxpy as cp

        problem, self._columns = self.problem, columns
        self._costs = cp.Parameter(columns.size, nonneg=True)
        self._stated = sparse_separation(
            problem.Z[:, columns],
            problem.y,
            self._costs,
            margin=problem.margin,
            direction=None if problem.direction is None else problem.direction[columns],
            slack_cost=problem.slack_cost,
            intercept=problem.intercept,
        )


def dense(X: Any) -> Array:
    """Array from an array or a sparse matrix."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def _largest(promise: Array, k: int) -> Array:
    """Places of the k largest values that are positive."""
    promise = np.nan_to_num(promise, nan=0.0)
    chosen = np.argsort(-promise, kind="stable")[:k]
    found: Array = np.sort(chosen[promise[chosen] > 0])
    return found
