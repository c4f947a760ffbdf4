"""Core vector machines on Dask arrays: passes over the rows, and problems on few of them.

The rows that may matter are brought to the driver and stay there: a sample first, then the rows
that violate optimality most, as a pass over all rows finds them. A problem on these rows is that
of a table in memory, and the pass gives its duality gap over all rows.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.random import sample_without_replacement

from skmoderndata._estimator.blocks_input import block_of, check_entries, rows_named
from skmoderndata._kernelized.checks import is_structured
from skmoderndata._kernelized.expansion import Expansion, KernelRows
from skmoderndata._kernelized.landmarks import (
    Fold,
    Survey,
    checked_labels,
    gram_of_rows,
    rows_of_ranks,
    survey_of_rows,
    weights_of_block,
)
from skmoderndata._solvers.margins.core_blocks import Answer, RowSet, WorstRows

SAMPLE = 5000  # rows that are brought before the first pass
FEWEST_BROUGHT = 512  # rows that a pass brings at most, unless more than so many have weight
MOST_PASSES = 1000
FIRST_TOL = 0.05  # of the problem on a sample
TIGHT = 1e-14  # tolerance on the rows at hand that is rounding
DRAWN_BY_PERMUTATION = (
    30_000_000  # rows up to which numbers are drawn as from a table in memory
)
# parameters of searches in memory, the value that they must have, and why
SEARCHES = "looks at the rows in an order of its own"
IN_MEMORY = {"solver": ("core_set", SEARCHES), "batch_size": (None, SEARCHES)}


def draw_numbers(n, size, rng):
    """Draw different numbers below n, as `rng.choice` does while memory allows."""
    if n <= DRAWN_BY_PERMUTATION:
        return rng.choice(n, size, replace=False)
    return sample_without_replacement(n, size, random_state=rng)


def refuse_in_blocks(estimator, **remedies):
    """Refuse samples that are no rows, and parameters for a search in memory.

    `remedies` names parameters whose value must be the one of the dictionary's pair; the second
    of the pair says why.
    """
    name = type(estimator).__name__
    kernel = estimator.kernel
    precomputed = isinstance(kernel, str) and kernel == "precomputed"
    if precomputed or is_structured(kernel):
        what = "a precomputed kernel" if precomputed else "samples that are no rows of numbers"
        raise ValueError(
            f"{name} takes rows of numbers in blocks, and not {what}: give the rows and a kernel "
            "that can be evaluated, or X.compute() if all rows fit into memory."
        )
    for parameter, (allowed, why) in remedies.items():
        value = getattr(estimator, parameter)
        if value != allowed:
            raise ValueError(
                f"{name}({parameter}={value!r}) {why}, which a Dask array does not allow: take "
                f"{parameter}={allowed!r}, or X.compute() if all rows fit into memory."
            )


class RowReader(NamedTuple):
    """Reads the rows of a block: numbers, targets, and costs."""

    owner: str
    weighted: bool
    classes: np.ndarray | None = None  # targets are their numbers
    factors: np.ndarray | None = None  # of the costs, one for each class
    unit: float = 1.0  # cost of a row of weight one
    center: float = 0.0  # of targets that are numbers
    spread: float | None = None
    fold: Fold | None = None  # rows outside have no cost

    def read(self, arrays):
        """Return numbers, targets and costs of rows."""
        X = block_of(arrays[0])
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        n = X.shape[0]
        costs = np.full(n, self.unit)
        if self.weighted:
            costs = self.unit * np.asarray(arrays[1], dtype=np.float64)

        # classes, or numbers in deviations; zeros where there is no target
        target = np.zeros(n, dtype=np.int32)
        if self.classes is not None:
            codes = np.searchsorted(self.classes, np.asarray(arrays[-1]).ravel())
            target = codes.astype(np.int32)
            costs = costs * self.factors[codes]
        elif self.spread is not None:
            y = np.asarray(arrays[-1], dtype=np.float64).ravel()
            target = (y - self.center) / self.spread
        if self.fold is not None:
            costs = np.where(self.fold.holds(X), costs, 0.0)
        return X, target, costs


class CoreTable:
    """A table in blocks as the search for core sets sees it.

    Parameters
    ----------
    estimator : estimator instance
        It has the parameters of a kernel.
    blocks : ArrayBlocks
    survey : Survey
        Of all rows, with their weights.
    reader : RowReader
    """

    def __init__(self, estimator, blocks, survey, reader):
        self.estimator = estimator
        self.blocks = blocks
        self.survey = survey
        self.reader = reader
        self.n_evaluations = 0
        self.n_passes = 0

    def open(self, some):
        """Resolve the kernel on all rows, of which some are given; one pass for its diagonal."""
        self.resolve(some)
        if self.gram.constant_diagonal:
            self.diagonal = float(self.gram.diag(some[:1]).max())
        else:
            (largest,) = self.blocks.sum(_largest_diagonal, self.gram)
            self.diagonal = largest.value
        if not np.isfinite(self.diagonal):
            raise ValueError(
                f"kernel={self.estimator.kernel!r} gives values that are not finite: rescale X."
            )

    def resolve(self, some):
        """Resolve the kernel on all rows, of which some are given, and return it."""
        estimator = self.estimator
        names = ("gamma", "degree", "coef0", "kernel_params")
        parameters = {name: getattr(estimator, name) for name in names}
        self.gram = gram_of_rows(estimator.kernel, self.survey, some, **parameters)
        sees_origin = KernelRows(self.gram, some[:1]).origin is not None
        self.origin = self.survey.mean if sees_origin else None
        return self.gram

    def brought(self, ids):
        """Bring the rows of these numbers, those of no cost left out."""
        ids = np.unique(ids)
        rows = RowSet(ids, *self.reader.read(self.blocks.sample(ids)))
        return rows.part(np.flatnonzero(rows.costs > 0))

    def start(self, rng, firsts=(), earlier=None):
        """Bring a sample, some rows that it must have, and those of earlier core sets."""
        ids = [self.drawn(SAMPLE, rng), np.array(firsts, dtype=np.intp)]
        for state in earlier or ():
            if state is not None:
                ids.append(state[0][state[0] < self.blocks.shape[0]])
        return self.brought(np.concatenate(ids))

    def drawn(self, size, rng):
        """Numbers of some rows of positive weight, in order."""
        n = self.survey.n_used
        ranks = np.arange(n) if n <= size else np.sort(draw_numbers(n, size, rng))
        return rows_of_ranks(self.blocks, self.survey, ranks)

    def kernel_rows(self, X):
        """Kernel values between rows that were brought."""
        kernel_rows = KernelRows(self.gram, X, n_jobs=self.estimator.n_jobs)
        if self.origin is not None:
            kernel_rows.origin = self.origin
        return kernel_rows

    def expansion(self, samples, coef):
        """Sum of kernels at rows that were brought."""
        return Expansion(self.gram, samples, coef, origin=self.origin)

    def look(self, rows, questions, count):
        """Ask all rows: sums of losses for each question, and the worst rows."""
        support = np.unique(np.concatenate([question.units for question in questions]))
        coef = np.zeros((len(support), len(questions)))
        for j, question in enumerate(questions):
            coef[np.searchsorted(support, question.units), j] = question.coef
        samples = self.gram.subset(rows.X, support)
        looks = [question.look for question in questions]

        function = self.expansion(samples, coef)
        losses, worst = self.blocks.sum(_look, self.reader, function, looks, rows.ids, count)
        self.n_passes += 1
        per_row = 1 if function.kind == "linear" else len(support)
        self.n_evaluations += self.blocks.shape[0] * per_row
        return losses, worst

    def largest_block(self):
        """Return the number of rows of the largest block."""
        return int(np.diff(self.blocks.cuts).max())


class ClassSurveys:
    """Surveys of the rows of each class, and the first row of it that counts; `+` adds more."""

    def __init__(self, of):
        self.of = of

    def __add__(self, other):
        both = dict(self.of)
        for label, (survey, first) in other.of.items():
            if label in both:
                survey = both[label][0] + survey
                first = min(both[label][1], first)
            both[label] = survey, first
        return ClassSurveys(both)

    def total(self, classes, factors):
        """Return the survey of all rows, the weights of each class times a factor."""
        total = None
        counts = {}
        for label, factor in zip(classes, factors, strict=True):
            survey = self.of[label][0]
            for first, n in survey.counts:
                counts[first] = counts.get(first, 0) + n
            weighed = Survey(
                [],
                factor * survey.weight,
                factor * survey.heaviest,
                survey.mean,
                factor * survey.scatter,
                survey.largest_norm,
            )
            total = weighed if total is None else total + weighed
        total.counts = sorted(counts.items())
        return total


def survey_of_classes(estimator, blocks, weighted):
    """Check entries, labels and weights of all rows in one pass; surveys of the classes."""
    name = type(estimator).__name__
    (surveys,) = blocks.sum(_survey_classes, name, weighted, estimator.kernel)
    return surveys


def _survey_classes(block, name, weighted, kernel):
    X = block_of(block.arrays[0])
    check_entries(X, owner=name)
    w = weights_of_block(block, name, weighted)
    y = checked_labels(block.arrays[-1], name)

    of = {}
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        survey = survey_of_rows(X[rows], w[rows], block.first, name, kernel)
        counted = rows[w[rows] > 0]
        first = block.first + counted[0] if len(counted) else np.inf
        of[label] = survey, first
    return (ClassSurveys(of),)


class Largest:
    """A number; with `+` the larger of two."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Largest(max(self.value, other.value))


def _largest_diagonal(block, gram):
    X = block_of(block.arrays[0])
    X = X if X.dtype == np.float64 else X.astype(np.float64)
    with rows_named():
        return (Largest(float(np.max(gram.diag(X)))),)


def _look(block, reader, function, looks, known, count):
    """Return sums of losses of a block, and its worst rows."""
    X, target, costs = reader.read(block.arrays)
    with rows_named():
        values = function.values(X)

    # half the gradient and losses of each problem
    losses = []
    excess = np.empty(values.shape)
    for j, look in enumerate(looks):
        g, loss = look.at(values[:, j], target, costs)
        excess[:, j] = look.level - g - TIGHT * abs(look.level)
        losses.append(loss)

    # rows without cost, or at the driver already, are not looked for
    excess[costs == 0] = -np.inf
    inside = known[np.searchsorted(known, block.first) :]
    inside = inside[inside < block.first + len(costs)] - block.first
    excess[inside] = -np.inf
    ids = np.arange(block.first, block.first + len(costs))
    return np.array(losses), WorstRows(RowSet(ids, X, target, costs), excess, count)


class Solution(NamedTuple):
    """What a search over blocks has found."""

    rows: RowSet  # at the driver
    kernel_rows: KernelRows
    problems: list  # on these rows
    results: list  # of core sets on these rows, with the gaps of all rows
    answers: list  # of the last passes
    cores: list  # states: numbers of rows, sides and weights


def search_in_blocks(
    machine, table, rows, make_problems, ask, progress, rng, earlier=None, whole=True
):
    """Solve problems on few rows, which the worst of all others join, until the gaps are small.

    Parameters
    ----------
    machine : CoreVectors
    table : CoreTable
    rows : RowSet
        The first rows.
    make_problems : function of (KernelRows, RowSet)
        Returns the problems on some rows.
    ask : function of (problem, result, number of the problem)
        Returns the `Question` for a pass.
    progress : FitProgress
    rng : RandomState
    earlier : list or None
        States to start from.
    whole : bool
        False solves on the first rows alone.

    Returns
    -------
    Solution
    """
    n_evaluations = 0
    for n_passes in range(1, MOST_PASSES + 1):
        # 1. the problems on the rows at hand, from the weights before; those that are done wait
        kernel_rows = table.kernel_rows(rows.X)
        problems = make_problems(kernel_rows, rows)
        if n_passes == 1:
            states = earlier or [None] * len(problems)
            searches = [_Search(machine.tol, state, whole) for state in states]
        open_ones = [j for j, search in enumerate(searches) if not search.done]
        questions = []
        for j in open_ones:
            searches[j].solve(machine, problems[j], rows, rng, progress)
            question = ask(problems[j], searches[j].result, j)
            searches[j].level = question.look.level
            questions.append(question)
        n_evaluations += kernel_rows.n_evaluations

        # 2. a pass over all rows: gaps, and rows that violate optimality
        weighty = max(np.count_nonzero(search.result.weights) for search in searches)
        if not whole:
            for j in open_ones:
                searches[j].settle(problems[j])
            break
        count = max(FEWEST_BROUGHT, min(weighty, table.largest_block()))
        losses, worst = table.look(rows, questions, -(-count // len(open_ones)))

        # 3. what is done
        last = progress.stopped or n_passes == MOST_PASSES
        for i, j in enumerate(open_ones):
            searches[j].judge(
                machine, problems[j], questions[i].answer(losses[i]), float(worst.largest[i])
            )
        if last or all(search.done for search in searches):
            break

        # 4. rows that matter stay, the worst join them
        kept = np.zeros(len(rows.ids), dtype=bool)
        for j, search in enumerate(searches):
            kept |= search.needed(problems[j], rows)
        rows = rows.part(np.flatnonzero(kept)).joined(worst.rows)

    results = [
        search.on(rows, problem) for search, problem in zip(searches, problems, strict=True)
    ]
    kernel_rows.n_evaluations = n_evaluations + table.n_evaluations
    return Solution(
        rows,
        kernel_rows,
        problems,
        results,
        [search.answer for search in searches],
        [search.state for search in searches],
    )


class _Search:
    """One problem of a search over blocks."""

    def __init__(self, tol, state, whole):
        self.tol = tol
        self.inner = max(FIRST_TOL, 0.3 * tol) if whole else tol
        self.state = state  # numbers of rows, sides and weights
        self.result = None
        self.n_iter = 0
        self.answer = None  # of the last pass
        self.violation = np.inf
        self.level = 0.0  # half the gradient that weights have
        self.done = self.converged = False

    def solve(self, machine, problem, rows, rng, progress):
        """Solve on the rows at hand."""
        last = None
        if self.state is not None:
            ids, side, a = self.state
            there = np.isin(ids, rows.ids)
            last = rows.positions(ids[there]), side[there], a[there]
            last = last if a[there].sum() > 0 else None
        self.result = machine._search(
            problem,
            rng,
            progress,
            last=last,
            tol=self.inner,
            max_iter=max(1, machine.max_iter - self.n_iter),
        )
        self.n_iter += self.result.n_iter
        positions, side, a = problem.state(self.result.core, self.result.weights)
        self.state = rows.ids[positions], side, a

    def settle(self, problem):
        """Take what the rows at hand say."""
        result = self.result
        used = result.weights > 0
        objective, multiple = problem.best_multiple(
            result.values, result.core[used], result.weights[used], result.rho
        )
        self.answer = Answer(result.gap, multiple, objective)
        self.violation = result.violation
        self.converged = result.converged

    def judge(self, machine, problem, answer, largest):
        """Decide what comes next by the gap over all rows, and the largest violation."""
        self.answer = answer
        unit = problem.margin_unit(self.result.rho)
        self.violation = largest / unit if unit > 0 else np.inf
        self.converged = answer.gap <= self.tol
        spent = self.n_iter >= machine.max_iter or self.result.full or not unit > 0
        self.done = self.converged or spent or (largest <= 0 and self.inner <= TIGHT)

        # the problem on the rows at hand follows the gap; where nobody violates, it alone is left
        self.inner = min(self.inner, max(0.3 * self.tol, 0.1 * answer.gap))
        if largest <= 0:
            self.inner *= 0.1

    def needed(self, problem, rows):
        """Rows with weight and, of an open problem, those within a margin of the level."""
        ids, _, a = self.state
        near = np.isin(rows.ids, ids[a > 0])
        if not self.done:
            every = slice(0, len(rows.ids))
            _, g = problem.candidates(every, self.result.values)
            reach = problem.margin_unit(self.result.rho)
            near |= g < self.level + reach
        return near

    def on(self, rows, problem):
        """Return the result by the positions of the rows at hand."""
        ids, side, a = self.state
        there = np.isin(ids, rows.ids)
        core = problem.sides * rows.positions(ids[there]) + side[there]
        return self.result._replace(
            core=core,
            weights=a[there],
            gap=self.answer.gap,
            violation=self.violation,
            n_iter=self.n_iter,
            n_passes=0,
            converged=self.converged,
            values=np.zeros(0),
        )
