"""Sets of few features that separate classes: many starts of the linear programs, in rounds."""

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from skmoderndata._solvers.common.iterate import Progress, WatchedProgress
from skmoderndata._solvers.margins.linear_programs import (
    ColumnGeneration,
    CvxpyProgram,
    Infeasible,
    Separation,
)
from skmoderndata._solvers.margins.zero_norm import (
    SparseSeparation,
    log_objective,
    rescaled_l2,
    reweighted_l1,
)

Array = np.ndarray[Any, np.dtype[Any]]

N_PERMUTATIONS = 5  # label permutations that a further round is compared with
QUANTILE = 0.1  # of their sizes
MAX_ROUNDS = 100
START_MARGIN = 1e-3  # of restarts by the class centres, in units of their distance
CHAIN = 3  # changes that the later starts try, one after the other
SPREAD = 0.5  # standard deviation of the logarithm of random costs, without slack
CHEAP = 0.1  # factor on the costs of features that a later start keeps, without slack
# with slack the level of the costs counts as well: from weights that are nearly free, where slack
# alone decides, to weights so dear that few are worth it
SOFT_SPREAD, SOFT_LEVEL = 3.0, 4.0
KEPT, OTHERS, DROPPED = 1e-2, 1e2, 1e4  # costs of a later start, with slack


class NoDirection(Exception):
    """The centres of the classes coincide."""


class Task(NamedTuple):
    """One class (+1) against the others (-1), with weights and costs of slack of the samples."""

    side: Array
    weight: Array
    cost: Array

    def permuted(self, rng: np.random.RandomState) -> "Task":
        """Give the labels, with what belongs to them, to other samples."""
        order = rng.permutation(self.side.size)
        return Task(self.side[order], self.weight[order], self.cost[order])


class Form(NamedTuple):
    """Which problem is posed: see the parameters of the support feature machine.

    C is None where slack is forbidden. With `penalized` the last column is the constant 1 that
    stands for the intercept; with `intercept` there is a free one.
    """

    centers: bool
    C: float | None
    soft_C: float | None  # taken in place of None where the first round has no solution
    intercept: bool
    penalized: bool


class Search(NamedTuple):
    """How it is solved: see the parameters of the support feature machine."""

    algorithm: str
    solver: str
    epsilon: float
    enough: int
    max_iter: int
    tol: float
    n_init: int
    n_jobs: int | None


class Rounds(NamedTuple):
    """For each task the results of its rounds, and whether slack was forbidden."""

    found: list[list[SparseSeparation]]
    hard: list[bool]


class Job(NamedTuple):
    """One start: costs of the first program, infinite where a weight must stay zero."""

    problem: Separation
    costs: Array
    restart: bool


def feature_rounds(
    X: Any,
    usable: Array,
    tasks: list[Task],
    form: Form,
    search: Search,
    *,
    n_rounds: int | str,
    rng: np.random.RandomState,
    progress: WatchedProgress,
) -> Rounds:
    """Find few features for each task, leave them out, and look again.

    A task ends when a round finds nothing or no more features remain; with `n_rounds="auto"`
    also when a round needs as much as with permuted labels [Klement, Anders, Martinetz 2013].

    Parameters
    ----------
    X : ndarray in Fortran order or csc_array of shape (n, p)
        Columns in standard units.
    usable : ndarray of bool of shape (p,)
        Columns that may be found.

    Raises
    ------
    Infeasible, NoDirection
        With the number of the task, when its first round has no solution.
    """
    n_features = usable.size - form.penalized
    found: list[list[SparseSeparation]] = [[] for _ in tasks]
    allowed = [usable.copy() for _ in tasks]
    forms = [form] * len(tasks)
    going = list(range(len(tasks)))
    for number in range(MAX_ROUNDS if n_rounds == "auto" else int(n_rounds)):
        if not going or (number and progress.stopped):
            break
        results = _one_round(X, tasks, allowed, forms, going, number, search, rng, progress)
        for k, result in zip(list(going), results, strict=True):
            size = 0 if result is None else np.count_nonzero(result.w)
            if number and (
                result is None
                or not size
                or (
                    n_rounds == "auto"
                    and not _worth(X, tasks[k], allowed[k], forms[k], result, search, rng)
                )
            ):
                going.remove(k)
                continue
            assert result is not None
            found[k].append(result)
            allowed[k] &= result.w == 0
            if form.penalized:
                allowed[k][-1] = True
            if not allowed[k][:n_features].any():
                going.remove(k)
    return Rounds(found, [own.C is None for own in forms])


def _one_round(
    X: Any,
    tasks: list[Task],
    allowed: list[Array],
    forms: list[Form],
    going: list[int],
    number: int,
    search: Search,
    rng: np.random.RandomState,
    progress: WatchedProgress,
) -> list[SparseSeparation | None]:
    """Best result of each task that goes on; None where a later round has no solution.

    A first round without a solution puts the soft form of its task into `forms`, if there is one.
    """
    n_later = search.n_init // 2 if search.n_init >= 4 else 0
    seeds = rng.randint(2**31 - 1, size=(len(going), search.n_init)).tolist()
    problems = [_posed(X, tasks[k], allowed[k], forms[k], k) for k in going]

    def spread(at: list[int]) -> list[list[SparseSeparation] | Infeasible]:
        return _spread_starts(
            [problems[i] for i in at],
            [allowed[going[i]] for i in at],
            [seeds[i][: search.n_init - n_later] for i in at],
            search,
            progress,
        )

    results = spread(list(range(len(going))))
    for i, k in enumerate(going):
        if isinstance(results[i], Infeasible) and number == 0 and forms[k].soft_C is not None:
            forms[k] = forms[k]._replace(C=forms[k].soft_C)
            problems[i] = _posed(X, tasks[k], allowed[k], forms[k], k)
            results[i] = spread([i])[0]
        if isinstance(results[i], Infeasible) and number == 0:
            raise Infeasible(k)
    alive = {i: own for i, own in enumerate(results) if not isinstance(own, Infeasible)}
    for link in range(CHAIN if n_later else 0):
        if progress.stopped:
            break
        jobs, owner = [], []
        for i, own in alive.items():
            for at, seed in enumerate(seeds[i][search.n_init - n_later :]):
                costs = _neighbour_costs(
                    problems[i], allowed[going[i]], own, at + link * n_later, seed + link
                )
                jobs.append(Job(problems[i], costs, True))
                owner.append(i)
        for i, result in zip(owner, _solve_all(jobs, search, progress), strict=True):
            if result is not None and not isinstance(result, Infeasible):
                alive[i].append(result)
    return [
        _best(problems[i], alive[i], search.epsilon) if i in alive else None
        for i in range(len(going))
    ]


def _posed(X: Any, task: Task, may: Array, form: Form, k: int) -> Separation:
    """Constraints and costs of a task."""
    side = task.side
    if sparse.issparse(X):
        signs: Any = sparse.diags_array(side)
        Z: Any = sparse.csc_array(signs @ X)
    else:
        Z = np.asfortranarray(X * side[:, None])
    direction = None
    if form.centers:
        direction = Z.T @ (
            task.weight
            / np.where(side > 0, task.weight[side > 0].sum(), task.weight[side < 0].sum())
        )
        if form.penalized:
            direction[-1] = 0.0
        if not np.abs(direction[may]).max(initial=0.0) > 1e-12:
            raise NoDirection(k)
    cost = None if form.C is None else form.C * task.cost
    return Separation(Z, side, 0.0 if form.centers else 1.0, direction, cost, form.intercept)


def _spread_starts(
    problems: list[Separation],
    allowed: list[Array],
    seeds: list[list[int]],
    search: Search,
    progress: WatchedProgress,
) -> list[list[SparseSeparation] | Infeasible]:
    """Results of the plain start and of random ones; the exception where there is no solution."""
    jobs = []
    for problem, may, own in zip(problems, allowed, seeds, strict=True):
        soft = problem.slack_cost is not None
        jobs.append(Job(problem, np.where(may, 1.0, np.inf), False))
        jobs += [Job(problem, _random_costs(may, soft, seed), True) for seed in own[1:]]
    results = iter(_solve_all(jobs, search, progress))
    found: list[list[SparseSeparation] | Infeasible] = []
    for own in seeds:
        mine = [next(results) for _ in own]
        failed = [result for result in mine if isinstance(result, Infeasible)]
        solved = [result for result in mine if isinstance(result, SparseSeparation)]
        found.append(failed[0] if failed else solved)
    return found


def _random_costs(may: Array, soft: bool, seed: int) -> Array:
    rng = np.random.RandomState(seed)
    exponent = rng.standard_normal(may.size) * (SOFT_SPREAD if soft else SPREAD)
    if soft:
        exponent += SOFT_LEVEL * rng.uniform(-1, 1)
    return np.where(may, np.exp(exponent), np.inf)


def _neighbour_costs(
    problem: Separation, may: Array, results: list[SparseSeparation], number: int, seed: int
) -> Array:
    """Costs that change the features of one of the best results.

    With slack they drop one feature, in turn, and hold to the others. Without slack a random half
    of the features is held to, and all other costs are random.
    """
    sizes = np.array([np.count_nonzero(result.w) + result.slack for result in results])
    smallest = np.flatnonzero(sizes <= sizes.min() + 1e-9)
    used = np.flatnonzero(results[smallest[number % smallest.size]].w)
    if problem.slack_cost is None:
        costs = _random_costs(may, False, seed)
        half = np.random.RandomState(seed + CHAIN).random_sample(used.size) < 0.5
        costs[used[half]] *= CHEAP
        return costs
    if used.size == 0:
        return _random_costs(may, True, seed)
    costs = np.where(may, OTHERS, np.inf)
    costs[used] = KEPT
    costs[used[number % used.size]] = DROPPED
    return costs


def _worth(
    X: Any,
    task: Task,
    may: Array,
    form: Form,
    result: SparseSeparation,
    search: Search,
    rng: np.random.RandomState,
) -> bool:
    """Whether a further round needs less than it would with permuted labels."""
    jobs = [
        Job(_posed(X, task.permuted(rng), may, form, 0), np.where(may, 1.0, np.inf), False)
        for _ in range(N_PERMUTATIONS)
    ]
    # a problem that is not separable needs more than all features
    sizes = [
        np.count_nonzero(other.w) + other.slack
        if isinstance(other, SparseSeparation)
        else may.sum() + 1
        for other in _solve_all(jobs, search, None)
    ]
    least = np.quantile(np.minimum(sizes, may.sum() + 1), QUANTILE)
    return bool(np.count_nonzero(result.w) + result.slack < least)


def _solve_all(
    jobs: list[Job], search: Search, progress: WatchedProgress | None
) -> list[SparseSeparation | Infeasible | None]:
    """Results of the jobs in their order; None for those not begun after a stop.

    After a stop each problem still gets one linear program, if it had none.
    """
    parallel = effective_n_jobs(search.n_jobs) > 1
    if parallel and len(jobs) > 1:
        if progress is not None:
            progress.begin()
        results: list[SparseSeparation | Infeasible | None] = Parallel(n_jobs=search.n_jobs)(
            delayed(one_start)(job, search) for job in jobs
        )
        if progress is not None:
            progress.end()
        return results
    results, begun = [], set()
    for job in jobs:
        stopped = progress is not None and progress.stopped
        if stopped and id(job.problem) in begun:
            results.append(None)
            continue
        begun.add(id(job.problem))
        results.append(
            one_start(
                job,
                search._replace(max_iter=1) if stopped else search,
                None if parallel or stopped else progress,
            )
        )
    return results


def _best(
    problem: Separation, results: list[SparseSeparation], epsilon: float
) -> SparseSeparation:
    """Return the result of smallest zero-norm and slack; among equals, of smallest objective."""
    e = results[0].epsilon

    def rank(result: SparseSeparation) -> tuple[float, float]:
        size = np.count_nonzero(result.w) + result.slack
        return round(size, 9), log_objective(problem, result.w, result.bias, e, epsilon)

    return min(results, key=rank)


def one_start(
    job: Job, search: Search, progress: Progress | None = None
) -> SparseSeparation | Infeasible:
    """One start; returns the exception where a hard problem has no solution."""
    problem, costs = job.problem, job.costs
    make = ColumnGeneration if search.solver == "highs" else CvxpyProgram
    settings: dict[str, Any] = {
        name: getattr(search, name) for name in ("epsilon", "enough", "max_iter", "tol")
    }
    try:
        if search.algorithm == "rescaled_l2":
            result = rescaled_l2(problem, start=costs, progress=progress, **settings)
        else:
            if job.restart and problem.margin > 0 and problem.slack_cost is None:
                costs = _costs_by_centers(problem, costs, make, settings)
            result = reweighted_l1(
                problem,
                make(problem),
                start=costs,
                keep_zeros=search.algorithm == "rescaled",
                progress=progress,
                **settings,
            )
    except Infeasible as error:
        return error
    if search.enough and np.count_nonzero(result.w) > search.enough:
        largest = np.argsort(-np.abs(result.w), kind="stable")[: search.enough]
        w = np.zeros_like(result.w)
        w[largest] = result.w[largest]
        result = result._replace(w=w)
    return result


def _costs_by_centers(
    problem: Separation, costs: Array, make: Any, settings: dict[str, Any]
) -> Array:
    """First costs from the form that the centres of the classes fix.

    It has better local optima, and a plane that keeps a little distance from all samples in this
    form is feasible in the other as well, after scaling.
    """
    positive = problem.y > 0
    direction = problem.Z.T @ (1.0 / np.where(positive, positive.sum(), (~positive).sum()))
    if not np.abs(direction[np.isfinite(costs)]).max(initial=0.0) > 1e-12:
        return costs
    near = problem._replace(margin=START_MARGIN, direction=direction)
    try:
        found = reweighted_l1(near, make(near), start=costs, **settings)
    except Infeasible:
        return costs
    size = np.abs(found.w)
    return np.where(np.isfinite(costs), 1.0 / (START_MARGIN * (size.max() or 1.0) + size), np.inf)
