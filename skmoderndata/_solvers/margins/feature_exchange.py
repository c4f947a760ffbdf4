"""Sets of features, improved by dropping, adding and exchanging one feature at a time.

The least cost of weights and slack on a set S of features is the linear program

    H(S) = min  alpha |w|_1 + slack_cost s   subject to  Z w + y b + s >= r,  w = 0 outside S,

with `direction w = 1` if there is a direction; `|S| + H(S)` is to be minimised. Its dual

    H(S) = max  r sum_i u_i + t   subject to  |Z' u + t direction|_j <= alpha  for j in S,
                                              0 <= u <= slack_cost,  y' u = 0 (free intercept)

has a row only for each feature of S, about ten, and changes by one row from set to set.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.linear_programs import (
    FEASIBILITY_TOL,
    Infeasible,
    Separation,
    Vertex,
    dense,
    drop_rounding,
    highs_module,
    quiet_highs,
)
from skmoderndata._solvers.margins.zero_norm import price, support_gap

# Cost of a unit of slack that stands for an infinite cost.
HARD_COST = 1e4
# Number of features that are tried: those along which the objective falls most steeply.
N_CANDIDATES = 5
# Maximum number of rows in a linear program that belong to unused features.
STALE_ROWS = 60
# Smallest decrease of the objective that counts as progress, relative to the objective.
GAIN = 1e-7
# Minimum penalty on |w|_1 in the first two stages of `followed`.
GUIDE_ALPHA = 1.0
# Factor by which `followed` raises the cost of slack in its last stage.
DEARER = 3.0


class Exchanged(NamedTuple):
    """The last set of features, its weights, and the history of the search."""

    vertex: Vertex
    objective: float  # |S| + H(S)
    values: Array  # |S| + H(S) after each pass
    sizes: Array  # number of features after each pass
    gap: float
    n_iter: int
    converged: bool


class LeastSlack:
    """H(S) for a sequence of sets S, by simplex steps from the last basis.

    A new feature adds a row to the dual, which leaves its last solution optimal but infeasible; a
    dropped feature frees a row, which leaves the solution feasible. Values are infinite if no
    weights on S satisfy the constraints.
    """

    def __init__(self, problem: Separation) -> None:
        self.problem = problem
        self.hard = problem.slack_cost is None
        self.cost: Array = np.full(problem.y.size, HARD_COST)
        if problem.slack_cost is not None:
            self.cost = problem.slack_cost
        # sets that a pass of exchanges does not improve
        self.settled: set[frozenset[int]] = set()
        self._values: dict[frozenset[int], float] = {}
        self._begin()

    def _begin(self) -> None:
        """State the program without any feature."""
        highs = highs_module()
        problem = self.problem
        n = self.problem.y.size
        self._inf = highs.kHighsInf
        self._status = highs.HighsModelStatus
        self._highs: Any = quiet_highs()

        # minimise -r sum(u) - t
        costs = np.full(n, -problem.margin)
        low = np.zeros(n)
        high = self.cost
        if problem.direction is not None:
            costs = np.append(costs, -1.0)
            low = np.append(low, -self._inf)
            high = np.append(high, self._inf)

        # start without features; the row of a feature is added when the feature is first used
        none = np.empty(0, dtype=np.int32)
        m = costs.size
        self._highs.addCols(m, costs, low, high, 0, np.zeros(m, np.int32), none, np.empty(0))

        self._row: dict[int, int] = {}  # number of the row of each feature
        self._used: set[int] = set()
        if problem.intercept:
            self._highs.addRow(0.0, 0.0, n, np.arange(n, dtype=np.int32), problem.y)

    def value(self, features: Iterable[int]) -> float:
        """Return H(S), from memory if it was computed before."""
        key = frozenset(features)
        if key not in self._values:
            self._values[key] = self.solve(key)
        return self._values[key]

    def solve(self, features: Iterable[int]) -> float:
        """Compute H(S), and keep its weights and dual values for `weights` and `dual`."""
        self._use(set(features))
        self._highs.run()
        status = self._highs.getModelStatus()
        decided = (self._status.kOptimal, self._status.kUnbounded, self._status.kInfeasible)

        if status not in decided:  # there is numerical trouble: restart from an empty basis
            self._highs.clearSolver()
            self._highs.run()
            status = self._highs.getModelStatus()

        self._optimal = status == self._status.kOptimal
        if not self._optimal:
            return float("inf")

        least = -float(self._highs.getInfo().objective_function_value)
        if self.hard and bool((self.dual().dual >= HARD_COST * (1 - FEASIBILITY_TOL)).any()):
            return float("inf")  # the constraints cannot be satisfied without slack
        return least

    def dual(self) -> Vertex:
        """Return the dual values u and t of the last set, without weights.

        If t is unbounded, return the direction alone.
        """
        n = self.problem.y.size
        if not self._optimal:
            return Vertex(np.empty(0), 0.0, np.zeros(n), 1.0)
        solution = np.asarray(self._highs.getSolution().col_value)
        return Vertex(np.empty(0), 0.0, solution[:n], float(solution[n:].sum()))

    def weights(self) -> Vertex:
        """Return the weights of the last set, which are the multipliers of the rows."""
        multipliers = np.asarray(self._highs.getSolution().row_dual)
        w = np.zeros(self.problem.Z.shape[1])
        for j in self._used:
            w[j] = -multipliers[self._row[j]]
        drop_rounding(w)
        bias = -float(multipliers[0]) if self.problem.intercept else 0.0
        return self.dual()._replace(w=w, bias=bias)

    def _use(self, features: set[int]) -> None:
        """Fix the rows of these features, and free all other rows."""
        if len(self._row) > len(features | self._used) + STALE_ROWS:
            self._begin()
        for j in self._used - features:
            self._highs.changeRowBounds(self._row[j], -self._inf, self._inf)

        for j in sorted(features - self._used):
            if j in self._row:
                self._highs.changeRowBounds(
                    self._row[j], -self.problem.alpha, self.problem.alpha
                )
            else:
                self._add(j)
        self._used = features

    def _add(self, j: int) -> None:
        problem = self.problem
        column = dense(problem.Z[:, [j]])[:, 0]
        if problem.direction is not None:
            column = np.append(column, problem.direction[j])
        entries = np.flatnonzero(column).astype(np.int32)
        self._row[j] = len(self._row) + int(problem.intercept)
        self._highs.addRow(
            -problem.alpha, problem.alpha, entries.size, entries, column[entries]
        )


class _Sets:
    """A set of features S with `|S| + H(S)`, and the steps that lower it."""

    def __init__(
        self, program: LeastSlack, may: Array, features: list[int], max_features: int
    ) -> None:
        self.program = program
        self.may = may
        self.max_features = max_features
        self.problem = problem = program.problem
        squares = problem.Z.power(2) if hasattr(problem.Z, "power") else problem.Z**2
        norms = np.sqrt(np.asarray(squares.sum(axis=0)).ravel())
        self.norms = np.where(norms > 0, norms, 1.0)
        self.features = features
        self.least = program.value(features)

    @property
    def value(self) -> float:
        """Objective of the set."""
        return len(self.features) + self.least

    @property
    def gain(self) -> float:
        """Smallest decrease that counts."""
        return GAIN * max(1.0, self.value) if np.isfinite(self.value) else GAIN

    def by_weight(self) -> list[int]:
        """Return the features in the order of their weights, smallest first."""
        self.least = self.program.solve(self.features)
        size = np.abs(self.program.weights().w * self.norms)
        return sorted(self.features, key=lambda j: (size[j], j))

    def drop(self) -> None:
        """Drop the cheapest feature, while its loss costs less than a feature."""
        ordered = self.by_weight()
        price = 1.0 - self.gain
        self.features, self.least = drop_cheapest(
            ordered, self.least, self.program.value, price
        )

    def add(self) -> None:
        """Add the best of the features of steepest descent, if it is worth its price."""
        if len(self.features) >= self.max_features:
            return
        self.least = self.program.solve(self.features)
        self._better(self.features, self.features, self.least - 1.0)

    def swap(self) -> None:
        """Replace each feature in turn by a better one."""
        for i in self.by_weight():
            remaining = [j for j in self.features if j != i]
            self.program.solve(remaining)
            self._better(remaining, self.features, self.least)

    def _better(self, base: list[int], out: list[int], limit: float) -> None:
        """Add to `base`, the last set solved, the feature of least H, if it is below `limit`."""
        best = limit - self.gain
        best_feature = -1
        for j in self._candidates(out, limit):
            least = self.program.value([*base, j])
            if least < best:
                best = least
                best_feature = j
        if best_feature >= 0:
            self.features = [*base, best_feature]
            self.least = best

    def _candidates(self, out: list[int], limit: float) -> list[int]:
        """Return features outside `out` along which H falls most steeply from the last set."""
        problem = self.problem
        dual = self.program.dual()
        slope = np.asarray(problem.Z.T @ dual.dual)
        if problem.direction is not None:
            slope = slope + dual.dual_direction * problem.direction
        slope = np.abs(slope)

        promise = np.where(self.may, slope / self.norms, 0.0)
        promise[out] = 0.0

        # the dual value of u, reduced until u also satisfies the constraint of feature j, is a
        # lower bound on H of the set with j
        if problem.alpha > 0 and np.isfinite(limit):
            bound = problem.margin * float(dual.dual.sum()) + dual.dual_direction
            shrunk = bound * problem.alpha / np.maximum(slope, problem.alpha)
            promise[shrunk >= limit - self.gain] = 0.0

        n = min(N_CANDIDATES, promise.size)
        first = np.argpartition(-promise, n - 1)[:n]
        first = first[np.argsort(-promise[first], kind="stable")]
        return [int(j) for j in first if promise[j] > 0]


def drop_cheapest(
    features: list[int], least: float, value: Callable[[Iterable[int]], float], price: float
) -> tuple[list[int], float]:
    """Drop the feature whose loss costs least, while it costs less than its price.

    `value` grows as features leave, so the value without a feature is a lower bound for the value
    without it and more: few values have to be recomputed after a feature has left.

    Parameters
    ----------
    features : list of int
        The set, in the order in which equally cheap features leave.
    least : float
        The value of this set.
    value : callable
        Function from a set to its value.
    price : float
        Cost below which a feature is dropped.

    Returns
    -------
    features : list of int
    least : float
        The value of the features that remain.
    """
    ordered = list(features)
    bounds = dict.fromkeys(ordered, least)

    current: set[int] = set()  # features whose bound is the value for the current set
    while ordered:
        # choose the feature with the least bound; compute its value first if the bound is not
        # current
        j = min(ordered, key=lambda j: bounds[j])
        if bounds[j] >= least + price:
            break
        if j not in current:
            bounds[j] = max(bounds[j], value(k for k in ordered if k != j))
            current.add(j)
            continue

        # drop the feature; for the other features, the values are now only lower bounds
        ordered.remove(j)
        current.clear()
        least = bounds[j]
    return ordered, least


def exchange(
    program: LeastSlack,
    features: Iterable[int],
    *,
    may: Array,
    max_features: int,
    max_iter: int = 50,
    progress: Progress | None = None,
) -> Exchanged:
    """Lower `|S| + H(S)` from a first set until no change of one feature lowers it further.

    Parameters
    ----------
    program : LeastSlack
        Solver of the linear programs of the problem; it remembers sets between calls.
    features : iterable of int
        The first set.
    may : ndarray of bool of shape (p,)
        Features that may be in a set.
    max_features : int
        Maximum number of features; 0 sets no limit.
    max_iter : int
        Maximum number of passes; each tries to drop, to add and to exchange features.
    progress : Progress or None
        Progress, reported after each pass.

    Raises
    ------
    Infeasible
        If no set was found that satisfies the constraints.
    """
    sets = _Sets(program, may, [int(j) for j in features], max_features or may.size)
    values: list[float] = []
    sizes: list[int] = []

    it = Iterations(max_iter, 0.0, progress)
    for _ in it:
        # 1. Drop features; if the resulting set is new, also try to add and to swap features
        before = sets.value
        sets.drop()
        if frozenset(sets.features) not in program.settled:
            sets.add()
            sets.swap()

        # 2. Stop if nothing has changed beyond rounding errors
        values.append(sets.value)
        sizes.append(len(sets.features))
        settled = frozenset(sets.features) in program.settled
        it.residual = 0.0 if settled or not sets.value < before - sets.gain else 1.0

    if it.converged:
        program.settled.add(frozenset(sets.features))
    if not np.isfinite(program.solve(sets.features)):
        raise Infeasible

    vertex = program.weights()
    value = price(program.problem, vertex.w, vertex.bias)
    gap = support_gap(program.problem, vertex)
    return Exchanged(
        vertex, value, np.array(values), np.array(sizes), gap, it.n_iter, it.converged
    )


def followed(
    problem: Separation, *, cost: float, may: Array, max_features: int = 0, max_iter: int = 50
) -> list[int]:
    """Return the features found while slack becomes more expensive, starting with none.

    Cheap slack and a price on the size of the weights distinguish features even if the problem
    itself is solved equally well by too many sets.

    Parameters
    ----------
    cost : float
        Cost of slack at which a feature has to be worth more than chance; the cost in the problem
        is used if it is lower.
    """
    ones = np.ones(problem.y.size)
    shape = (
        ones if problem.slack_cost is None else problem.slack_cost / problem.slack_cost.mean()
    )
    last = np.inf if problem.slack_cost is None else float(problem.slack_cost.mean())

    # choose the cost of slack and the penalty on |w|_1 for each stage: a low and a middle cost
    # with an additional penalty, then the middle and a high cost without it
    middle = min(cost, last)
    stages = [(middle / 4, max(problem.alpha, GUIDE_ALPHA))]
    stages += [(middle, max(problem.alpha, GUIDE_ALPHA)), (middle, problem.alpha)]
    stages += [(DEARER * middle, problem.alpha)]

    features: list[int] = []
    for level, alpha in stages:
        if level >= last and alpha == problem.alpha:
            break

        # start each stage from the features of the stage before
        easier = problem._replace(slack_cost=level * shape, alpha=alpha)
        program = LeastSlack(easier)
        result = exchange(
            program, features, may=may, max_features=max_features, max_iter=max_iter
        )
        features = [int(j) for j in np.flatnonzero(result.vertex.w)]
    return features
