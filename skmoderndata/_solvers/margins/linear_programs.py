"""Linear programs for separating hyperplanes, by column generation or as a single program.

In all programs `Z` has the rows `y_i x_i`, `y` is +1 or -1, and `r` is the margin, 1 or 0.
"""

import importlib
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.convex_problems import import_cvxpy, solve, sparse_separation
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.tolerances import ZERO_WEIGHT

# Number of columns of the first program, and maximum number of columns added at a time.
BATCH = 60
# Tolerance on constraints and on reduced costs, the latter relative to the cost of the column.
FEASIBILITY_TOL = 1e-9
# Largest sum of artificial variables at which a hard-margin problem counts as feasible.
FEASIBLE = 1e-6
# Number that HiGHS gives to the primal simplex method, whose last basis remains feasible if
# columns are added or costs change.
PRIMAL = 4


class Infeasible(Exception):
    """No hyperplane meets the constraints."""


class SolverFailure(Exception):
    """The solver of linear programs failed; its last status is the message."""


class Separation(NamedTuple):
    """Data that the linear programs of one two-class problem share.

    Z : (n, p) dense in Fortran order, or sparse by columns. The constraints are
    `Z w + y b + slack >= margin`, and `direction w = 1` if there is a direction.
    slack_cost : (n,) cost of a unit of slack; None allows no slack.
    intercept : whether there is a free b.
    alpha : cost of a unit of `|w|_1`, in addition to the cost of the features.
    """

    Z: Any
    y: Array
    margin: float
    direction: Array | None
    slack_cost: Array | None
    intercept: bool
    alpha: float = 0.0


class Vertex(NamedTuple):
    """Solution of one linear program, and the dual values of its constraints."""

    w: Array  # (p,)
    bias: float
    dual: Array  # (n,)
    dual_direction: float


def drop_rounding(w: Array) -> None:
    """Set weights to zero that are only rounding errors, in place."""
    w[np.abs(w) <= ZERO_WEIGHT * np.abs(w).max(initial=0.0)] = 0.0


def mean_difference(problem: Any) -> Array:
    """Return the difference of the class means, from the samples times their signs."""
    positive = problem.y > 0
    counts = np.where(positive, positive.sum(), (~positive).sum())
    return np.asarray(problem.Z.T @ (1.0 / counts))


def highs_module() -> Any:
    """Return the module of HiGHS: highspy, or the copy in SciPy if highspy is not installed."""
    try:
        return importlib.import_module("highspy")
    except ImportError:
        return importlib.import_module("scipy.optimize._highspy._core")


def quiet_highs() -> Any:
    """Return a solver that prints nothing, with tight tolerances and without presolve."""
    module = highs_module()
    Solver: Any = getattr(module, "Highs", None) or module._Highs

    class QuietHighs(Solver):  # type: ignore[misc]  # the base class is chosen at run time
        """Silent before anything is called: the first call prints the licence."""

        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    highs = QuietHighs()
    options: dict[str, bool | float | str] = {
        "output_flag": False,
        "presolve": "off",
        "primal_feasibility_tolerance": FEASIBILITY_TOL,
        "dual_feasibility_tolerance": FEASIBILITY_TOL,
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    return highs


class ColumnGeneration:
    """Linear programs with few rows and many columns, solved by pricing with HiGHS.

    Columns with negative reduced cost join the restricted program, `BATCH` at a time, until there
    is none; then its solution also solves the complete program. Columns and basis are kept
    between calls of `solve`. A hard problem is made feasible first, by minimising the sum of
    artificial slack.
    """

    def __init__(self, problem: Separation) -> None:
        n, p = problem.Z.shape
        self.problem = problem
        # features and signs of the columns in the program
        self._features = np.empty(0, dtype=np.intp)
        self._signs = np.empty(0)
        # for each sign, whether the column is present
        self._present = np.zeros((2, p), dtype=bool)
        self._done = highs_module().HighsModelStatus.kOptimal

        # set up the solver
        self._highs: Any = quiet_highs()
        self._highs.setOptionValue("simplex_strategy", PRIMAL)

        # add a row for each margin, and one for the direction
        lower = np.full(n, problem.margin)
        upper = np.full(n, np.inf)
        if problem.direction is not None:
            lower = np.append(lower, 1.0)
            upper = np.append(upper, 1.0)
        none = np.empty(0, dtype=np.int32)
        starts = np.zeros(lower.size, dtype=np.int32)
        self._highs.addRows(lower.size, lower, upper, 0, starts, none, np.empty(0))
        # the columns of slack and intercept come before the columns of the weights
        self._add(sparse.eye_array(lower.size, n), np.ones(n))
        if problem.intercept:
            self._add(problem.y[:, None], np.zeros(1), least=-np.inf)
        self._n_fixed = n + int(problem.intercept)

    def solve(self, costs: Array) -> Vertex:
        """Minimise `costs |w| + slack_cost slack`.

        Raises
        ------
        Infeasible
            If a hard problem has no solution.
        """
        # Phase 1: check whether a hard-margin problem has a solution, with the costs of all
        # features set to zero
        n = len(self.problem.y)
        price = self.problem.slack_cost
        if not len(self._features):
            self._begin(costs)
            if price is None:
                values, _ = self._priced(np.where(np.isfinite(costs), 0.0, np.inf))
                if values[:n].sum() > FEASIBLE:
                    raise Infeasible
                self._close(np.arange(n))
            else:
                self._highs.changeColsCost(n, np.arange(n, dtype=np.int32), price)

        # Phase 2: minimise the costs
        values, dual = self._priced(costs)

        # collect the weights of the columns, and set rounding errors to zero
        w = np.zeros(costs.size)
        np.add.at(w, self._features, self._signs * values[self._n_fixed :])
        drop_rounding(w)
        bias = float(values[n]) if self.problem.intercept else 0.0
        return Vertex(w, bias, dual[:n], float(dual[n:].sum()))

    def _begin(self, costs: Array) -> None:
        """Add the columns that best separate the classes for their costs."""
        problem = self.problem
        direction = problem.direction
        if direction is None:
            direction = mean_difference(problem)
        with np.errstate(invalid="ignore"):
            self._take(np.abs(direction) / costs, direction < 0)

    def _priced(self, costs: Array) -> tuple[Array, Array]:
        """Solve and add columns that price out, repeatedly; there are at most 2 p columns."""
        problem = self.problem
        n = len(self.problem.y)

        # fix columns of infinite cost to zero, and set the costs of the other columns
        inner = costs[self._features]
        columns = self._n_fixed + np.arange(inner.size)
        self._close(columns[np.isinf(inner)])
        inner = np.where(np.isinf(inner), 0.0, inner)
        self._highs.changeColsCost(columns.size, columns.astype(np.int32), inner)

        scale = float(np.abs(costs[np.isfinite(costs)]).max(initial=0.0)) or 1.0
        # if the costs are zero (phase 1), compare with the rounding errors of the gradient instead
        # of the costs
        slack = FEASIBILITY_TOL * np.maximum(costs, scale if scale == 1.0 else 0.0)

        while True:
            # compute by how much the products of the columns with the duals exceed the costs
            values, dual = self._run()
            gradient = problem.Z.T @ dual[:n]
            if problem.direction is not None:
                gradient = gradient + dual[n] * problem.direction

            excess = np.abs(gradient) - costs
            negative = gradient < 0
            present = np.where(negative, self._present[1], self._present[0])
            excess[~(excess > slack) | present] = 0.0
            if not excess.any():
                return values, dual

            # add those columns first whose excess is largest relative to their cost
            with np.errstate(divide="ignore", invalid="ignore"):
                promise = np.where(excess > 0, excess / np.where(costs > 0, costs, 1.0), 0.0)
            self._take(promise, negative, costs)

    def _take(self, promise: Array, negative: Array, costs: Array | None = None) -> None:
        """Add the columns of largest promise, with the sign of their weight."""
        promise = np.nan_to_num(promise, nan=0.0)
        features = np.argsort(-promise, kind="stable")[:BATCH]
        features = np.sort(features[promise[features] > 0])

        signs = np.where(negative[features], -1.0, 1.0)
        columns = dense(self.problem.Z[:, features])
        if self.problem.direction is not None:
            columns = np.vstack([columns, self.problem.direction[features]])
        self._add(
            columns * signs, np.zeros(len(features)) if costs is None else costs[features]
        )

        self._features = np.concatenate([self._features, features])
        self._signs = np.concatenate([self._signs, signs])
        self._present[negative[features].astype(int), features] = True

    def _add(self, columns: Any, costs: Array, least: float = 0.0) -> None:
        """Add variables with the lower bound `least`."""
        columns = sparse.csc_array(columns)
        columns.resize(self._highs.getNumRow(), columns.shape[1])
        self._highs.addCols(
            len(costs),
            np.asarray(costs, dtype=np.float64),
            np.full(len(costs), least),
            np.full(len(costs), np.inf),
            columns.nnz,
            columns.indptr[:-1].astype(np.int32),
            columns.indices.astype(np.int32),
            np.asarray(columns.data, dtype=np.float64),
        )

    def _close(self, columns: Array) -> None:
        """Fix variables to zero."""
        zeros = np.zeros(columns.size)
        self._highs.changeColsBounds(columns.size, columns.astype(np.int32), zeros, zeros)

    def _run(self) -> tuple[Array, Array]:
        """Solve by steps from the last basis; return the variables and the dual of the rows."""
        limit = 10_000 + 50 * (self._highs.getNumCol() + self._highs.getNumRow())
        self._highs.setOptionValue("simplex_iteration_limit", limit)
        self._highs.run()
        if self._highs.getModelStatus() != self._done:
            # there is numerical trouble: restart from an empty basis with the dual simplex
            self._highs.clearSolver()
            self._highs.setOptionValue("simplex_strategy", 1)
            self._highs.run()
            self._highs.setOptionValue("simplex_strategy", PRIMAL)

        status = self._highs.getModelStatus()
        if status != self._done:
            raise SolverFailure(self._highs.modelStatusToString(status))
        solution = self._highs.getSolution()
        return np.asarray(solution.col_value), np.asarray(solution.row_dual)


class CvxpyProgram:
    """The complete program, stated in cvxpy and compiled once; the costs are a parameter.

    Columns with infinite cost are left out.
    """

    def __init__(self, problem: Separation) -> None:
        self.problem = problem
        self._columns = np.full(1, -1, dtype=np.intp)
        self._costs: Any = None
        self._stated: Any = None

    def solve(self, costs: Array) -> Vertex:
        """Minimise `costs |w| + slack_cost slack`."""
        # build the program again if it has other columns
        columns = np.flatnonzero(np.isfinite(costs))
        if not np.array_equal(columns, self._columns):
            self._state(columns)
        self._costs.value = costs[columns]

        tolerances = dict.fromkeys(
            ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), FEASIBILITY_TOL
        )
        if not solve(self._stated, solver="HIGHS", highs_options=tolerances):
            if self._stated.problem.status == "infeasible":
                raise Infeasible
            raise SolverFailure(str(self._stated.problem.status))

        up, down, bias = self._stated.variable
        w = np.zeros(costs.size)
        w[columns] = up.value - down.value
        drop_rounding(w)

        # collect the dual values of the margins and of the direction
        dual = [np.ravel(rows.dual_value) for rows in self._stated.constraint]
        along = -float(dual[1][0]) if len(dual) > 1 else 0.0
        return Vertex(w, 0.0 if bias is None else float(bias.value), dual[0], along)

    def _state(self, columns: Array) -> None:
        cp = import_cvxpy()
        problem = self.problem
        self._columns = columns
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
    """Return a dense array from an array or a sparse matrix."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
