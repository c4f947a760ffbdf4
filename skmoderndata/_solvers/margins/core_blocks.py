"""Core sets of tables in blocks: what one pass asks of the rows, and the worst of them.

A pass adds up, over blocks of rows, the loss that a function has there, which gives the duality
gap, and brings the rows that violate optimality most. The problem itself is solved on the rows
that were brought.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.certificates import gap_to_margin
from skmoderndata._solvers.margins.core_problems import SignedRows, TubeRows, multiple_at
from skmoderndata._solvers.margins.core_set import CoreSetResult


class RowSet(NamedTuple):
    """Some rows of a table, in memory: their numbers, and what belongs to each."""

    ids: Array
    X: Any
    target: Array  # classes, or numbers
    costs: Array

    def part(self, chosen: Array) -> "RowSet":
        """Return some of them."""
        return RowSet(*(values[chosen] for values in self))

    def joined(self, other: "RowSet") -> "RowSet":
        """Return both, each row once, in the order of the table."""
        ids = np.concatenate([self.ids, other.ids])
        _, first = np.unique(ids, return_index=True)
        pairs = zip(self[2:], other[2:], strict=True)
        both = RowSet(ids, stacked(self.X, other.X), *map(np.concatenate, pairs))
        return both.part(first)

    def positions(self, ids: Array) -> Array:
        """Where the rows of these numbers stand, all of which are there."""
        return np.searchsorted(self.ids, ids)


def stacked(X: Any, other: Any) -> Any:
    """Rows of two tables, both dense or both sparse."""
    tables: Any = [X, other]
    return sparse.vstack(tables).tocsr() if sparse.issparse(X) else np.concatenate(tables)


class WorstRows:
    """Rows that violate optimality most, a number of them for each problem; `+` keeps the worst.

    Parameters
    ----------
    rows : RowSet
    excess : ndarray of shape (n_rows, n_problems)
        By how much a row violates optimality, in half the gradient; not positive means not at all.
    count : int
        Rows that are retained for each problem.
    """

    def __init__(self, rows: RowSet, excess: Array, count: int) -> None:
        n, n_problems = excess.shape
        retained = np.zeros(n, dtype=bool)
        for j in range(n_problems):
            of_problem = excess[:, j]
            worst = np.arange(n)
            if n > count:
                worst = np.argpartition(-of_problem, count - 1)[:count]
            retained[worst[of_problem[worst] > 0]] = True

        chosen = np.flatnonzero(retained)
        self.rows = rows.part(chosen)
        self.excess = excess[chosen]
        self.count = count
        self.largest = excess.max(axis=0, initial=0.0)

    def __add__(self, other: "WorstRows") -> "WorstRows":
        # blocks are added in the order of their rows, and each row is in one of them
        rows = self.rows.joined(other.rows)
        worst = WorstRows(rows, np.concatenate([self.excess, other.excess]), self.count)
        worst.largest = np.maximum(self.largest, other.largest)
        return worst


class HingeLook(NamedTuple):
    """What a pass asks for a problem of `SignedRows`; of one class all rows have its label."""

    label: int  # class with sign one
    scale: float
    offset: float
    level: float  # half the gradient below which a row violates optimality
    multiples: Array  # of the function, of which the better one gives the gap

    def at(self, values: Array, target: Array, costs: Array) -> tuple[Array, Array]:
        """Half the gradient at rows, and the sums of their losses."""
        g = np.where(target == self.label, 1.0, -1.0) * (values + self.offset)
        slack = np.maximum(0.0, 1.0 - np.multiply.outer(self.multiples, g))
        return g, (slack * slack) @ (self.scale * costs)


class TubeLook(NamedTuple):
    """What a pass asks for a problem of `TubeRows`."""

    unit: float  # of the values, in targets
    offset: float
    level: float
    width: float

    def at(self, values: Array, target: Array, costs: Array) -> tuple[Array, Array]:
        """Half the gradient at rows, and the sum of their losses."""
        size = np.abs(values + self.offset - target / self.unit)
        excess = np.maximum(self.unit * size - self.width, 0.0)
        return -size, np.array([costs @ (excess * excess)])


class Answer(NamedTuple):
    """What a pass says of a function."""

    gap: float
    parameter: float  # the multiple, or the width, that has it
    objective: float


class Question(NamedTuple):
    """A function that a pass evaluates, and how its answer becomes a gap."""

    units: Array  # of the function
    coef: Array
    look: HingeLook | TubeLook
    answer: Callable[[Array], Answer]  # by the sums of losses


def hinge_question(problem: SignedRows, result: CoreSetResult, label: int) -> Question:
    """Ask what the function of a solution on some rows is worth on all rows."""
    used = result.weights > 0
    core = result.core[used]
    a = result.weights[used]
    coef = a * problem.signs[core] / problem.scale

    # the multiple of the margin one, and the best on the rows at hand
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
    """Ask what the function and the tube of a solution on some rows are worth on all rows."""
    used = result.weights > 0
    core = result.core[used]
    a = result.weights[used]
    units, coef = problem.coefficients(core, a)
    _, width = problem.solution(result.values, core, a, result.rho)

    # values of both problems, in targets
    level = problem.level
    squares = level**2 * problem.scale
    linear = float(problem.linear(core) @ a)
    norm = squares * max(result.rho - float((a * a) @ problem.slack(core)), 0.0)
    dual = 0.5 * squares * (linear - result.rho)
    offset = problem.bias * float(coef.sum())
    look = TubeLook(level * problem.scale, offset, result.rho - 0.5 * linear, width)

    def answer(losses: Array) -> Answer:
        primal = 0.5 * (norm + float(losses[0])) + level * width
        floor = 1e-14 * level  # residuals are in deviations of y, so this is rounding
        gap = relative_gap(primal, dual, unit=primal, floor=floor)
        return Answer(gap, width, primal)

    return Question(units, coef, look, answer)
