"""Core sets of tables that come in blocks of rows.

A pass over the blocks adds up the loss of a function, which gives the duality gap, and collects
the rows that violate optimality most. The problem itself is solved on the collected rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.tolerances import ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.certificates import gap_to_margin
from skmoderndata._solvers.margins.core_problems import SignedRows, TubeRows, multiple_at
from skmoderndata._solvers.margins.core_set import CoreSetResult


class RowSet(NamedTuple):
    """Some rows of a table, in memory, with their row numbers, targets and costs."""

    ids: Array
    X: Any
    target: Array  # class labels or numbers
    costs: Array

    def part(self, index: Array) -> "RowSet":
        """Return the rows at these positions."""
        return RowSet(*(values[index] for values in self))

    def joined(self, other: "RowSet") -> "RowSet":
        """Return the union of two sets, each row once, in the order of the table."""
        ids = np.concatenate([self.ids, other.ids])
        _, first = np.unique(ids, return_index=True)
        pairs = zip(self[2:], other[2:], strict=True)
        union = RowSet(ids, stacked(self.X, other.X), *map(np.concatenate, pairs))
        return union.part(first)

    def positions(self, ids: Array) -> Array:
        """Return the positions of rows by their numbers, which must all be present."""
        return np.searchsorted(self.ids, ids)


def stacked(X: Any, other: Any) -> Any:
    """Stack the rows of two tables, which are both dense or both sparse."""
    tables: Any = [X, other]
    return sparse.vstack(tables).tocsr() if sparse.issparse(X) else np.concatenate(tables)


class WorstRows:
    """The `count` rows that violate optimality most, for each problem; `+` keeps the worst.

    Parameters
    ----------
    rows : RowSet
    excess : ndarray of shape (n_rows, n_problems)
        Violation of optimality by each row, in half the gradient; rows with values of at most 0
        do not violate it.
    count : int
        Number of rows retained for each problem.
    """

    def __init__(self, rows: RowSet, excess: Array, count: int) -> None:
        n, n_problems = excess.shape
        retained = np.zeros(n, dtype=bool)
        for j in range(n_problems):
            column = excess[:, j]
            worst = np.arange(n)
            if n > count:
                worst = np.argpartition(-column, count - 1)[:count]
            retained[worst[column[worst] > 0]] = True

        index = np.flatnonzero(retained)
        self.rows = rows.part(index)
        self.excess = excess[index]
        self.count = count
        self.largest = excess.max(axis=0, initial=0.0)

    def __add__(self, other: "WorstRows") -> "WorstRows":
        # blocks must be added in the order of their rows, and each row must be in only one block,
        # because `joined` sorts the rows but `excess` is not sorted
        rows = self.rows.joined(other.rows)
        worst = WorstRows(rows, np.concatenate([self.excess, other.excess]), self.count)
        worst.largest = np.maximum(self.largest, other.largest)
        return worst


class HingeLook(NamedTuple):
    """Evaluation of a pass for a problem of `SignedRows`; with one class, labels are equal."""

    label: int  # class whose sign is +1
    scale: float
    offset: float
    level: float  # a row violates optimality if half its gradient is below this level
    multiples: Array  # two multiples of the function to try; the better one gives the gap

    def at(self, values: Array, target: Array, costs: Array) -> tuple[Array, Array]:
        """Return half the gradient at rows, and the sums of their losses."""
        g = np.where(target == self.label, 1.0, -1.0) * (values + self.offset)
        slack = np.maximum(0.0, 1.0 - np.multiply.outer(self.multiples, g))
        return g, (slack * slack) @ (self.scale * costs)


class TubeLook(NamedTuple):
    """Evaluation of a pass for a problem of `TubeRows`."""

    unit: float  # unit of the function values, in units of the targets
    offset: float
    level: float
    width: float

    def at(self, values: Array, target: Array, costs: Array) -> tuple[Array, Array]:
        """Return half the gradient at rows, and the sum of their losses."""
        size = np.abs(values + self.offset - target / self.unit)
        excess = np.maximum(self.unit * size - self.width, 0.0)
        return -size, np.array([costs @ (excess * excess)])


class Answer(NamedTuple):
    """Result of a pass for one function."""

    gap: float
    parameter: float  # multiple of the function, or width of the tube, that attains the gap
    objective: float


class Question(NamedTuple):
    """A function to evaluate in a pass, and how to compute the gap from the losses."""

    units: Array  # samples with nonzero coefficients
    coef: Array
    look: HingeLook | TubeLook
    # function that computes the result from the sums of losses
    answer: Callable[[Array], Answer]


def hinge_question(problem: SignedRows, result: CoreSetResult, label: int) -> Question:
    """State how to evaluate on all rows the function that was fitted on a subset."""
    used = result.weights > 0
    core = result.core[used]
    a = result.weights[used]
    coef = a * problem.signs[core] / problem.scale

    # evaluate the multiple with margin one, and the multiple that is best on the rows of the
    # subset
    _, best = problem.best_multiple(result.values, core, a, result.rho)
    multiples = np.array([multiple_at(result.rho), best])
    norm = max(result.rho - float((a * a) @ problem.slack(core)), 0.0)
    offset = problem.bias * float(coef.sum())
    look = HingeLook(label, problem.scale, offset, result.rho, multiples)

    def answer(losses: Array) -> Answer:
        primal = 0.5 * (multiples**2 * norm + losses)
        first = int(primal.argmin())
        best = float(primal[first])
        return Answer(gap_to_margin(best, result.rho), float(multiples[first]), best)

    return Question(core, coef, look, answer)


def tube_question(problem: TubeRows, result: CoreSetResult) -> Question:
    """State how to evaluate on all rows the function and the tube fitted on a subset."""
    used = result.weights > 0
    core = result.core[used]
    a = result.weights[used]
    units, coef = problem.coefficients(core, a)
    _, width = problem.solution(result.values, core, a, result.rho)

    # compute the norm and the dual value in units of the targets
    level = problem.level
    squares = level**2 * problem.scale
    linear = float(problem.linear(core) @ a)
    norm = squares * max(result.rho - float((a * a) @ problem.slack(core)), 0.0)
    dual = 0.5 * squares * (linear - result.rho)
    offset = problem.bias * float(coef.sum())
    look = TubeLook(level * problem.scale, offset, result.rho - 0.5 * linear, width)

    def answer(losses: Array) -> Answer:
        primal = 0.5 * (norm + float(losses[0])) + level * width
        # residuals are standardised, so values this small are rounding errors
        floor = ROUNDING * level
        gap = relative_gap(primal, dual, unit=primal, floor=floor)
        return Answer(gap, width, primal)

    return Question(units, coef, look, answer)
