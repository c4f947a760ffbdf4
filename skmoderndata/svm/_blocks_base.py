"""Searches of the core vector machines, on samples in memory and on Dask arrays.

Both readers, `SamplesInMemory` and `CoreTable`, have a method `search` that returns a `Solution`.
For a Dask array, the driver fetches the rows that may matter and keeps them: first a sample, then
the rows that violate optimality most, which a pass over all rows finds. The problem on these rows
is the same as for a table in memory, and the pass computes its duality gap over all rows.
"""

import copy
from typing import NamedTuple

import numpy as np
from sklearn.utils.random import sample_without_replacement

from skmoderndata._estimator.base import FitProgress, run_parts
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
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.margins.core_blocks import Answer, RowSet, WorstRows

# Maximum number of rows drawn before the first pass.
SAMPLE = 5000
# Maximum number of rows fetched by a pass, unless more rows than this have weight.
FEWEST_BROUGHT = 512
# Maximum number of passes over all rows.
MOST_PASSES = 1000
# Tolerance of the problem on the first sample of rows.
FIRST_TOL = 0.05
# Tolerance of the problem on the local rows at which only rounding errors remain.
TIGHT = 1e-14
# Maximum number of rows for which row numbers are drawn by a permutation, as for a table in
# memory.
DRAWN_BY_PERMUTATION = 30_000_000
# Parameters of searches in memory, with the value that they must have for tables in blocks, and
# the reason.
SEARCHES = "visits the rows in its own order"
IN_MEMORY = {"solver": ("core_set", SEARCHES), "batch_size": (None, SEARCHES)}


def draw_numbers(n, size, rng):
    """Draw distinct numbers below n, by `rng.choice` as long as memory allows."""
    if n <= DRAWN_BY_PERMUTATION:
        return rng.choice(n, size, replace=False)
    return sample_without_replacement(n, size, random_state=rng)


def refuse_in_blocks(estimator, **remedies):
    """Raise ValueError if samples are not rows, or if a parameter needs all rows in memory.

    `remedies` maps the name of each such parameter to a pair: the only value allowed, and why
    any other value is not.
    """
    name = type(estimator).__name__
    kernel = estimator.kernel
    precomputed = isinstance(kernel, str) and kernel == "precomputed"
    if precomputed or is_structured(kernel):
        unsupported = (
            "a precomputed kernel" if precomputed else "samples other than rows of numbers"
        )
        raise ValueError(
            f"{name} accepts a Dask array of rows of numbers, but not {unsupported}: pass the "
            "rows and a kernel that can be evaluated, or X.compute() if all rows fit into memory."
        )
    for parameter, (allowed, why) in remedies.items():
        value = getattr(estimator, parameter)
        if value != allowed:
            raise ValueError(
                f"{name}({parameter}={value!r}) {why}, which a Dask array does not allow: use "
                f"{parameter}={allowed!r}, or X.compute() if all rows fit into memory."
            )


class RowReader(NamedTuple):
    """Reads the rows of a block: features, targets and costs."""

    owner: str
    weighted: bool
    # Sorted labels; the target of a row is then the index of its label.
    classes: np.ndarray | None = None
    # Factor of the costs of each class.
    factors: np.ndarray | None = None
    # Cost of a row of weight one.
    unit: float = 1.0
    # Mean of numeric targets, and the scale by which they are divided.
    center: float = 0.0
    spread: float | None = None
    # Rows outside the fold have no cost.
    fold: Fold | None = None

    def read(self, arrays):
        """Return features, targets and costs of the rows."""
        X = block_of(arrays[0])
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        n = X.shape[0]
        costs = np.full(n, self.unit)
        if self.weighted:
            costs = self.unit * np.asarray(arrays[1], dtype=np.float64)

        # use class indices, standardised numbers, or zeros if there is no target
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
    """Table in blocks, with the operations that the search for core sets needs.

    Parameters
    ----------
    estimator : estimator instance
        Estimator with the parameters of a kernel.
    blocks : ArrayBlocks
        The table, its targets and weights.
    survey : Survey
        Survey of all rows, with their weights.
    reader : RowReader
        Reader of features, targets and costs.
    shown : pair
        X and y for callbacks.
    """

    def __init__(self, estimator, blocks, survey, reader, shown=(None, None)):
        self.estimator = estimator
        self.blocks = blocks
        self.survey = survey
        self.reader = reader
        self.shown = shown
        self.rows = None
        self.n_evaluations = 0
        self.n_passes = 0

    def open(self, X_sample):
        """Resolve the kernel for all rows from a sample, and find its largest diagonal entry.

        Unless the diagonal is constant, this needs a pass over all rows.
        """
        self.resolve(X_sample)
        if self.gram.constant_diagonal:
            self.diagonal = float(self.gram.diag(X_sample[:1]).max())
        else:
            (largest,) = self.blocks.sum(_largest_diagonal, self.gram)
            self.diagonal = largest.value
        if not np.isfinite(self.diagonal):
            raise ValueError(
                f"kernel={self.estimator.kernel!r} returns values that are not finite: "
                "rescale X."
            )

    def resolve(self, X_sample):
        """Resolve the kernel for all rows from the survey and a sample, and return it."""
        estimator = self.estimator
        names = ("gamma", "degree", "coef0", "kernel_params")
        parameters = {name: getattr(estimator, name) for name in names}
        self.gram = gram_of_rows(estimator.kernel, self.survey, X_sample, **parameters)
        sees_origin = KernelRows(self.gram, X_sample[:1]).origin is not None
        self.origin = self.survey.mean if sees_origin else None
        return self.gram

    def brought(self, ids):
        """Fetch the rows with these numbers, except rows without cost."""
        ids = np.unique(ids)
        rows = RowSet(ids, *self.reader.read(self.blocks.sample(ids)))
        return rows.part(np.flatnonzero(rows.costs > 0))

    def start(self, rng, firsts=(), earlier=None):
        """Fetch the rows of `start_rows`, and resolve the kernel."""
        self.rows = self.start_rows(rng, firsts, earlier)
        self.open(self.rows.X)

    def start_rows(self, rng, firsts=(), earlier=None):
        """Fetch a sample, the required rows `firsts`, and the rows of earlier core sets."""
        ids = [self.drawn(SAMPLE, rng), np.array(firsts, dtype=np.intp)]
        for state in earlier or ():
            if state is not None:
                ids.append(state[0][state[0] < self.blocks.shape[0]])
        return self.brought(np.concatenate(ids))

    def search(self, machine, problems_on, answer, ask, rng, earlier, eps=None):
        """Solve all problems, as `SamplesInMemory.search` does, on the rows that may matter."""

        def problems_on_rows(kernel_rows, rows):
            return problems_on(kernel_rows, rows.target, rows.costs, None, self.diagonal)

        max_passes = machine.max_iter * len(earlier)
        with FitProgress(
            machine, *self.shown, max_passes=max_passes, task_name="core set"
        ) as progress:
            return search_in_blocks(
                machine, self, self.rows, problems_on_rows, ask, progress, rng, earlier
            )

    def drawn(self, size, rng):
        """Draw the numbers of `size` rows of positive weight, in ascending order."""
        n = self.survey.n_used
        ranks = np.arange(n) if n <= size else np.sort(draw_numbers(n, size, rng))
        return rows_of_ranks(self.blocks, self.survey, ranks)

    def kernel_rows(self, X):
        """Return the kernel values between rows that have been fetched."""
        kernel_rows = KernelRows(self.gram, X, n_jobs=self.estimator.n_jobs)
        if self.origin is not None:
            kernel_rows.origin = self.origin
        return kernel_rows

    def expansion(self, samples, coef):
        """Return a sum of kernels at rows that have been fetched."""
        return Expansion(self.gram, samples, coef, origin=self.origin)

    def look(self, rows, questions, count):
        """Pass over all rows; return the sum of losses for each question, and the worst rows."""
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
    """Survey of each class, and its first row of positive weight; `+` merges two blocks."""

    def __init__(self, of):
        self.of = of

    def __add__(self, other):
        merged = dict(self.of)
        for label, (survey, first) in other.of.items():
            if label in merged:
                survey = merged[label][0] + survey
                first = min(merged[label][1], first)
            merged[label] = survey, first
        return ClassSurveys(merged)

    def total(self, classes, factors):
        """Return the survey of all rows, with the weights of each class times its factor."""
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
    """Check entries, labels and weights in one pass; return the surveys of the classes."""
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
    """Number whose sum with another is the larger of the two."""

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
    """Return the sums of losses over a block, and its worst rows."""
    X, target, costs = reader.read(block.arrays)
    with rows_named():
        values = function.values(X)

    # compute half the gradient, and the loss, of each problem
    losses = []
    excess = np.empty(values.shape)
    for j, look in enumerate(looks):
        g, loss = look.at(values[:, j], target, costs)
        excess[:, j] = look.level - g - TIGHT * abs(look.level)
        losses.append(loss)

    # exclude rows without cost, and rows that have already been fetched
    excess[costs == 0] = -np.inf
    inside = known[np.searchsorted(known, block.first) :]
    inside = inside[inside < block.first + len(costs)] - block.first
    excess[inside] = -np.inf
    ids = np.arange(block.first, block.first + len(costs))
    return np.array(losses), WorstRows(RowSet(ids, X, target, costs), excess, count)


class Solution(NamedTuple):
    """Result of the searches of a fit, for one or several problems."""

    # Samples that the problems use, with their row numbers in the table.
    rows: RowSet
    # Kernel values of the samples that the problems use.
    kernel_rows: KernelRows
    problems: list
    # Core sets among the samples, with the duality gaps over all rows.
    results: list
    # Best multiple of each function (or width of its tube), with its gap over all rows.
    answers: list
    # States of the problems: numbers of rows, sides and weights.
    cores: list
    # Number of passes over all rows.
    n_passes: int


class SamplesInMemory:
    """Samples in memory; core sets are searched among all of them.

    Parameters
    ----------
    kernel_rows : KernelRows
        Kernel values of all samples.
    target : ndarray
        Classes or numbers of all samples.
    costs : ndarray
        Costs of the samples of positive weight.
    diagonal : float
        Largest kernel value of a sample with itself.
    active : ndarray or None
        Indices of the samples of positive weight; None means all.
    shown : pair
        X and y for callbacks.
    """

    def __init__(self, kernel_rows, target, costs, diagonal, active, shown):
        self.kernel_rows = kernel_rows
        self.target = target
        self.costs = costs
        self.diagonal = diagonal
        self.active = active
        self.shown = shown

    def search(self, machine, problems_on, answer, ask, rng, earlier, eps=None):
        """Solve all problems on their core sets.

        Parameters
        ----------
        machine : CoreVectors
            Estimator with the parameters of the search.
        problems_on : callable
            Function of (kernel rows, target, costs, indices of active samples, diagonal) that
            returns the problems.
        answer, ask : callable
            Functions of (problem, result) and of (problem, result, number of the problem) that
            return the `Answer` on these samples, and the `Question` for a pass over a table.
        rng : RandomState
            Source of random numbers.
        earlier : list
            States to start from, or None, for each problem.
        eps : float or None
            Tolerance of the radius, for the published rule.

        Returns
        -------
        Solution
            Problems, core sets and their gaps.
        """
        rows = self.kernel_rows
        target = self.target if self.active is None else self.target[self.active]
        problems = problems_on(rows, target, self.costs, self.active, self.diagonal)

        # The problems share the kernel matrix, but each has its own random numbers.
        several = len(problems) > 1
        rngs = [rng]
        if several:
            seeds = rng.randint(np.iinfo(np.int32).max, size=len(problems))
            rngs = [np.random.RandomState(seed) for seed in seeds]

        def solve(number, progress=None):
            problem = problems[number]
            if several:
                problem.rows = copy.copy(rows)
                problem.rows.n_evaluations = 0
                problem.rows.n_jobs = None
            last = earlier[number]
            result = machine._search(problem, rngs[number], progress, last=last, eps=eps)
            return result._replace(values=result.values[:0]), answer(problem, result)

        solved = run_parts(
            machine,
            *self.shown,
            solve,
            range(len(problems)),
            max_passes=machine.max_iter * len(problems),
            task_name="core set",
            n_jobs=machine.n_jobs,
        )
        results, answers = zip(*solved, strict=True)
        if several:
            rows.n_evaluations += sum(problem.rows.n_evaluations for problem in problems)

        cores = [p.state(r.core, r.weights) for p, r in zip(problems, results, strict=True)]
        n_passes = sum(result.n_passes for result in results)
        ids = np.arange(count_samples(rows.X))
        samples = RowSet(ids, rows.X, self.target, self.costs)
        return Solution(samples, rows, problems, results, answers, cores, n_passes)


def hinge_answer(problem, result):
    """Return the best multiple of a function, computed from its values at all samples."""
    used = result.weights > 0
    objective, multiple = problem.best_multiple(
        result.values, result.core[used], result.weights[used], result.rho
    )
    return Answer(result.gap, multiple, objective)


def search_in_blocks(
    machine, table, rows, make_problems, ask, progress, rng, earlier=None, all_rows=True
):
    """Solve problems on a few rows, adding the worst of all other rows until the gaps are small.

    Parameters
    ----------
    machine : CoreVectors
        Estimator with the parameters of the search.
    table : CoreTable
        All rows.
    rows : RowSet
        The first rows.
    make_problems : callable
        Function of (KernelRows, RowSet) that returns the problems on these rows.
    ask : callable
        Function of (problem, result, number of the problem) that returns the `Question` for a
        pass.
    progress : FitProgress
        Progress of the fit.
    rng : RandomState
        Source of random numbers.
    earlier : list or None
        States to start from.
    all_rows : bool
        Whether to add rows of the table; False solves the problems on the first rows only.

    Returns
    -------
    Solution
        Rows, problems on them, and results.
    """
    n_evaluations = 0
    for n_passes in range(1, MOST_PASSES + 1):
        # 1. Solve the unfinished problems on the local rows, starting from the last weights.
        kernel_rows = table.kernel_rows(rows.X)
        problems = make_problems(kernel_rows, rows)
        if n_passes == 1:
            states = earlier or [None] * len(problems)
            searches = [_Search(machine.tol, state, all_rows) for state in states]
        unfinished = [j for j, search in enumerate(searches) if not search.done]
        questions = []
        for j in unfinished:
            searches[j].solve(machine, problems[j], rows, rng, progress)
            question = ask(problems[j], searches[j].result, j)
            searches[j].level = question.look.level
            questions.append(question)
        n_evaluations += kernel_rows.n_evaluations

        # 2. Pass over all rows for the gaps and the rows that violate optimality.
        n_weighted = max(np.count_nonzero(search.result.weights) for search in searches)
        if not all_rows:
            for j in unfinished:
                searches[j].settle(problems[j])
            break
        count = max(FEWEST_BROUGHT, min(n_weighted, table.largest_block()))
        losses, worst = table.look(rows, questions, -(-count // len(unfinished)))

        # 3. Stop if all problems are solved.
        last = progress.stopped or n_passes == MOST_PASSES
        for i, j in enumerate(unfinished):
            searches[j].judge(
                machine, problems[j], questions[i].answer(losses[i]), float(worst.largest[i])
            )
        if last or all(search.done for search in searches):
            break

        # 4. Keep the rows that the problems need, and add the worst of the other rows.
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
        table.n_passes,
    )


class _Search:
    """One problem of a search over blocks."""

    def __init__(self, tol, state, all_rows):
        self.tol = tol
        self.inner = max(FIRST_TOL, 0.3 * tol) if all_rows else tol
        # Row numbers, sides and weights.
        self.state = state
        self.result = None
        self.n_iter = 0
        # Result of the last pass.
        self.answer = None
        self.violation = np.inf
        # Half the gradient at samples with weight.
        self.level = 0.0
        self.done = self.converged = False

    def solve(self, machine, problem, rows, rng, progress):
        """Solve the problem on the local rows."""
        last = None
        if self.state is not None:
            ids, side, a = self.state
            present = np.isin(ids, rows.ids)
            last = rows.positions(ids[present]), side[present], a[present]
            last = last if a[present].sum() > 0 else None
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
        """Accept the gap and the violation on the local rows as final."""
        result = self.result
        self.answer = hinge_answer(problem, result)
        self.violation = result.violation
        self.converged = result.converged

    def judge(self, machine, problem, answer, largest):
        """Update `done` and the tolerance from the gap over all rows and the largest violation."""
        self.answer = answer
        unit = problem.margin_unit(self.result.rho)
        self.violation = largest / unit if unit > 0 else np.inf
        self.converged = answer.gap <= self.tol
        spent = self.n_iter >= machine.max_iter or self.result.full or not unit > 0
        self.done = self.converged or spent or (largest <= 0 and self.inner <= TIGHT)

        # The local tolerance follows the gap. If no other row violates optimality, only the local
        # problem is left to solve more accurately.
        self.inner = min(self.inner, max(0.3 * self.tol, 0.1 * answer.gap))
        if largest <= 0:
            self.inner *= 0.1

    def needed(self, problem, rows):
        """Mark rows with weight and, if the problem is unfinished, rows within a margin of it."""
        ids, _, a = self.state
        near = np.isin(rows.ids, ids[a > 0])
        if not self.done:
            local = slice(0, len(rows.ids))
            _, g = problem.candidates(local, self.result.values)
            reach = problem.margin_unit(self.result.rho)
            near |= g < self.level + reach
        return near

    def on(self, rows, problem):
        """Return the result in terms of positions among the local rows."""
        ids, side, a = self.state
        present = np.isin(ids, rows.ids)
        core = problem.sides * rows.positions(ids[present]) + side[present]
        return self.result._replace(
            core=core,
            weights=a[present],
            gap=self.answer.gap,
            violation=self.violation,
            n_iter=self.n_iter,
            n_passes=0,
            converged=self.converged,
            values=np.zeros(0),
        )
