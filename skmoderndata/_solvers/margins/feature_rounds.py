"""Small sets of features that separate classes: many starts of the linear programs, in rounds.

Differs from the paper [Klement, Anders and Martinetz 2013]: 1. There are restarts with random
costs. 2. The features of the linear programs are improved by exchanging single features. 3. With
slack, an information criterion may drop features at the end.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from skmoderndata._solvers.common.iterate import WatchedProgress
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_DIGITS
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.feature_exchange import LeastSlack, exchange, followed
from skmoderndata._solvers.margins.linear_programs import (
    ColumnGeneration,
    CvxpyProgram,
    Infeasible,
    Separation,
    mean_difference,
)
from skmoderndata._solvers.margins.splicing import RidgeLogistic, best_subset, prune
from skmoderndata._solvers.margins.zero_norm import (
    RescaledColumns,
    SparseSeparation,
    log_objective,
    middle_bias,
    price,
    reweighted_l1,
    scores,
    support_gap,
)

# Number of label permutations with which each further round is compared.
N_PERMUTATIONS = 5
# Level of the quantile of the sizes that are found with permuted labels; the size of a further
# round has to stay below this quantile.
QUANTILE = 0.1
# Maximum number of rounds.
MAX_ROUNDS = 100
# Margin in restarts along the class centres, in units of their distance.
START_MARGIN = 1e-3
# Standard deviation of the logarithm of random costs if slack is forbidden.
SPREAD = 0.5
# Standard deviation of the same logarithm if slack is allowed. The level of the costs varies as
# well, from weights that are nearly free, so that slack alone decides, to weights so expensive
# that few are worth their cost.
SOFT_SPREAD = 3.0
# Largest magnitude of the logarithm of the level of random costs if slack is allowed.
SOFT_LEVEL = 4.0
# Maximum number of features from the linear programs with which exchanges begin: MOST_FACTOR times
# the number of features found while slack becomes more expensive, plus MOST_EXTRA.
MOST_FACTOR = 2
MOST_EXTRA = 10
# Largest price of a feature for which the information criterion decides whether to drop it.
# Without this limit the criterion drops features that save much slack: at 200 x 1000 with ten
# relevant features and 5 % wrong labels, the mean F1 falls from .94 to .83, but only to .93 with
# the limit.
DOUBTFUL_PRICE = 1.25


class NoDirection(Exception):
    """The centres of the classes coincide."""


class Task(NamedTuple):
    """One class (+1) against the others (-1), with weights and costs of slack of the samples."""

    side: Array
    weight: Array
    cost: Array

    def permuted(self, rng: np.random.RandomState) -> "Task":
        """Assign labels, weights and costs to other samples at random."""
        order = rng.permutation(self.side.size)
        return Task(self.side[order], self.weight[order], self.cost[order])


class Form(NamedTuple):
    """The problem to solve: see the parameters of the support feature machine.

    C is None if slack is forbidden; alpha is the cost of `|w|_1`. With `penalized` the last column
    is the constant 1 that stands for the intercept; with `intercept` there is a free intercept.
    """

    centers: bool
    C: float | None
    soft_C: float | None  # cost that replaces C = None if the first round has no solution
    alpha: float
    intercept: bool
    penalized: bool


class Search(NamedTuple):
    """Settings of the search: see the parameters of the support feature machine.

    `guide_C` is the cost of slack at which a feature has to be worth more than chance. With
    `prune`, if there is slack, the information criterion decides at the end which features are
    worth their price.
    """

    algorithm: str
    solver: str
    epsilon: float
    enough: int
    max_iter: int
    tol: float
    n_init: int
    n_jobs: int | None
    guide_C: float
    prune: bool


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
) -> list[tuple[list[SparseSeparation], bool]]:
    """Find few features for each task, exclude them, and search again.

    Returns for each task the results of its rounds, and whether slack was forbidden.

    A task ends if a round finds nothing or no features remain; with `n_rounds="auto"` it also ends
    if a round needs as many features as with permuted labels [Klement, Anders, Martinetz 2013].

    Parameters
    ----------
    X : ndarray in Fortran order or csc_array of shape (n, p)
        Columns in standard units.
    usable : ndarray of bool of shape (p,)
        Columns that may be selected.

    Raises
    ------
    Infeasible, NoDirection
        With the number of the task, if its first round has no solution.
    """
    # give each task its own generator, so that the number of threads does not change the results
    several = len(tasks) > 1
    rngs = [rng]
    if several:
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(tasks))
        rngs = [np.random.RandomState(seed) for seed in seeds.tolist()]
    todo = [
        (k, X, usable, task, form, search, n_rounds, task_rng)
        for k, (task, task_rng) in enumerate(zip(tasks, rngs, strict=True))
    ]

    if several and effective_n_jobs(search.n_jobs) > 1:
        progress.begin()
        results = Parallel(n_jobs=search.n_jobs)(
            delayed(_rounds_of_task)(*arguments) for arguments in todo
        )
        progress.end()
    else:
        results = [_rounds_of_task(*arguments, progress=progress) for arguments in todo]
    return list(results)


def _rounds_of_task(
    k: int,
    X: Any,
    usable: Array,
    task: Task,
    form: Form,
    search: Search,
    n_rounds: int | str,
    rng: np.random.RandomState,
    progress: WatchedProgress | None = None,
) -> tuple[list[SparseSeparation], bool]:
    """Return the results of the rounds of task k, and whether slack was forbidden."""
    auto = n_rounds == "auto"
    max_rounds = MAX_ROUNDS if auto else int(n_rounds)
    allowed = usable.copy()
    n_features = usable.size - form.penalized
    results: list[SparseSeparation] = []

    # run the first round even if there is no usable feature: then it predicts the larger class
    while len(results) < max_rounds and (not results or allowed[:n_features].any()):
        if results and progress is not None and progress.stopped:
            break

        # solve on the remaining features; without slack there may be no solution
        try:
            problem = _posed(X, task, allowed, form)
            result = _best_of_starts(problem, allowed, search, rng, progress)
        except (Infeasible, NoDirection) as error:
            if results:
                break
            without_direction = isinstance(error, NoDirection)
            may_soften = form.C is None and form.soft_C is not None
            if without_direction or not may_soften:
                raise type(error)(k) from None
            form = form._replace(C=form.soft_C)  # repeat the first round, now with slack
            continue

        # stop if the result has no feature, or no fewer features than results with permuted labels
        if results and auto and not _worth(X, task, allowed, form, result, search, rng):
            break
        result = _pruned(problem, result, allowed, search)
        if results and not result.features.size:
            break

        # exclude the selected features from the next rounds
        results.append(result)
        allowed[result.features] = False
        allowed[n_features:] = True  # the constant column is never excluded

    return results, form.C is None


def _best_of_starts(
    problem: Separation,
    may: Array,
    search: Search,
    rng: np.random.RandomState,
    progress: WatchedProgress | None,
) -> SparseSeparation:
    """Return the result of smallest value or, among equal values, of smallest approximation.

    The first start has equal costs, the other starts have random costs. If the user stops the fit,
    no further start begins, and the first one solves a single linear program.
    """
    # use equal costs first, then random costs
    n_starts = 1 if search.algorithm == "splicing" else search.n_init
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_starts).tolist()
    soft = problem.slack_cost is not None
    plain = max(1.0, problem.alpha)
    starts = [np.where(may, plain, np.inf)]
    starts += [_random_costs(may, soft, seed) for seed in seeds[1:]]
    jobs = [(problem, costs, number > 0, search) for number, costs in enumerate(starts)]

    n_jobs = effective_n_jobs(search.n_jobs)
    if n_jobs > 1 and len(jobs) > 1:
        if progress is not None:
            progress.begin()
        results: list[SparseSeparation] = Parallel(n_jobs=search.n_jobs)(
            delayed(one_start)(*job) for job in jobs
        )
        if progress is not None:
            progress.end()
    else:
        results = []
        for job in jobs:
            stopped = progress is not None and progress.stopped
            if not stopped:
                results.append(one_start(*job, progress))
            elif not results:
                one_program = search._replace(max_iter=1)
                results.append(one_start(*job[:3], one_program))

    # rank by value, and on ties by the approximation that was minimised
    e = results[0].epsilon

    def rank(result: SparseSeparation) -> tuple[float, float]:
        approximation = log_objective(problem, result.w, result.bias, e, search.epsilon)
        return round(result.objective, RESULT_DIGITS), approximation

    return min(results, key=rank)


def _posed(X: Any, task: Task, may: Array, form: Form) -> Separation:
    """Return constraints and costs of a task."""
    # multiply the rows by the signs of their classes
    side = task.side
    if sparse.issparse(X):
        signs: Any = sparse.diags_array(side)
        Z: Any = sparse.csc_array(signs @ X)
    else:
        Z = np.asfortranarray(X * side[:, None])

    # compute the difference of the class means; its product with w is fixed to one
    direction = None
    if form.centers:
        positive_weight = task.weight[side > 0].sum()
        negative_weight = task.weight[side < 0].sum()
        shares = task.weight / np.where(side > 0, positive_weight, negative_weight)
        direction = Z.T @ shares
        if form.penalized:
            direction[-1] = 0.0
        largest = np.abs(direction[may]).max(initial=0.0)
        if not largest > ACCUMULATED_ROUNDING:
            raise NoDirection

    cost = None if form.C is None else form.C * task.cost
    margin = 0.0 if form.centers else 1.0
    return Separation(Z, side, margin, direction, cost, form.intercept, form.alpha)


def _random_costs(may: Array, soft: bool, seed: int) -> Array:
    rng = np.random.RandomState(seed)
    spread = SOFT_SPREAD if soft else SPREAD
    exponent = rng.standard_normal(may.size) * spread
    if soft:
        exponent += SOFT_LEVEL * rng.uniform(-1, 1)
    costs = np.exp(exponent)
    return np.where(may, costs, np.inf)


def _worth(
    X: Any,
    task: Task,
    may: Array,
    form: Form,
    result: SparseSeparation,
    search: Search,
    rng: np.random.RandomState,
) -> bool:
    """Return whether a further round needs fewer features than with permuted labels."""
    # count permutations with inseparable labels as if they needed more than all features
    largest = float(may.sum() + 1)
    costs = np.where(may, 1.0, np.inf)
    sizes = []
    for _ in range(N_PERMUTATIONS):
        permuted = task.permuted(rng)
        problem = _posed(X, permuted, may, form)
        try:
            by_chance = one_start(problem, costs, False, search)
            sizes.append(by_chance.objective)
        except Infeasible:
            sizes.append(largest)

    sizes_by_chance = np.minimum(sizes, largest)
    needed = np.quantile(sizes_by_chance, QUANTILE)
    return bool(result.objective < needed)


def one_start(
    problem: Separation,
    costs: Array,
    restart: bool,
    search: Search,
    progress: WatchedProgress | None = None,
) -> SparseSeparation:
    """Lower the objective from the first costs; weights with infinite costs stay zero."""
    may = np.isfinite(costs)
    if search.algorithm == "splicing":
        return _spliced(problem, may, search, progress)

    make: Any = ColumnGeneration if search.solver == "highs" else CvxpyProgram
    hard = problem.slack_cost is None
    settings = {
        name: getattr(search, name) for name in ("epsilon", "enough", "max_iter", "tol")
    }
    if search.algorithm == "rescaled_l2":
        make = RescaledColumns
    elif restart and problem.margin > 0 and hard:
        costs = _costs_by_centers(problem, costs, make, settings)

    program = make(problem)
    keep_zeros = search.algorithm in ("rescaled", "rescaled_l2")
    result = reweighted_l1(
        problem, program, start=costs, keep_zeros=keep_zeros, progress=progress, **settings
    )

    # keep at most `enough` features: those with the largest weights
    n_features = np.count_nonzero(result.w)
    if search.enough and n_features > search.enough:
        w = np.zeros_like(result.w)
        largest = _largest(result.w, search.enough)
        w[largest] = result.w[largest]
        # without slack, the features with the largest weights may not suffice to satisfy the
        # constraints
        value = np.inf if hard else price(problem, w, result.bias)
        result = result._replace(features=largest, w=w, objective=value)

    stopped = progress is not None and progress.stopped
    if search.algorithm != "exchange" or stopped:
        return result
    return _improved(problem, result, may, search, progress, guided=not restart)


def _improved(
    problem: Separation,
    result: SparseSeparation,
    may: Array,
    search: Search,
    progress: WatchedProgress | None,
    *,
    guided: bool,
) -> SparseSeparation:
    """Exchange features of the last program, and of sets found while slack becomes expensive."""
    limits: dict[str, Any] = {
        "may": may,
        "max_features": search.enough,
        "max_iter": search.max_iter,
    }
    features = np.flatnonzero(result.w)
    starts: list[Any] = [features]
    if guided:
        guide = followed(problem, cost=search.guide_C, **limits)
        count = MOST_FACTOR * len(guide) + MOST_EXTRA
        largest = _largest(result.w, count)
        starts = [guide, largest, features]

    program = LeastSlack(problem)
    best = None
    for k, start in enumerate(starts):
        # try all features of the linear program only if no earlier start has attained its
        # objective
        unnecessary = best is not None and k == 2 and best.objective <= result.objective
        stopped = progress is not None and progress.stopped
        if unnecessary or stopped:
            continue
        try:
            exchanged = exchange(program, start, progress=progress, **limits)
        except Infeasible:  # neither this set nor any neighbouring set has a solution
            continue
        if best is None or exchanged.objective < best.objective:
            best = exchanged

    if best is None:
        return result
    w = best.vertex.w
    return result._replace(
        features=np.flatnonzero(w),
        w=w,
        bias=middle_bias(problem, w, best.vertex.bias),
        objective=best.objective,
        values=(*result.values, best.values),
        sizes=(*result.sizes, best.sizes),
        gap=best.gap,
        n_iter=result.n_iter + best.n_iter,
        converged=best.converged,
    )


def _spliced(
    problem: Separation, may: Array, search: Search, progress: WatchedProgress | None
) -> SparseSeparation:
    """Return the set of least criterion, with the weights of least slack on it."""
    logistic = _logistic(problem, may, search)
    spliced = best_subset(
        logistic, largest=search.enough, max_iter=search.max_iter, progress=progress
    )
    empty = SparseSeparation(
        features=np.empty(0, dtype=np.intp),
        w=np.zeros(may.size),
        bias=0.0,
        objective=np.inf,
        values=(spliced.values,),
        approximation=np.empty(0),
        sizes=(spliced.sizes,),
        epsilon=search.epsilon,
        gap=np.nan,
        n_iter=spliced.n_iter,
        converged=spliced.converged,
    )
    return _on_features(problem, empty, spliced.features)


def _pruned(
    problem: Separation, result: SparseSeparation, may: Array, search: Search
) -> SparseSeparation:
    """Drop the features that are not worth their price in the information criterion.

    Features that save much slack stay in any case: the objective must not rise if each feature
    costs `DOUBTFUL_PRICE`. All features stay if every sample is on its side of the plane, because
    the logistic loss of separated classes is nearly uninformative about single features.
    """
    if not search.prune or problem.slack_cost is None or not result.features.size:
        return result
    least_score = scores(problem, result.w, result.bias).min()
    if float(least_score) > 0:
        return result

    features = result.features.tolist()
    program = LeastSlack(problem)

    def doubtful(features: Iterable[int]) -> float:
        features = list(features)
        price_of_all = DOUBTFUL_PRICE * len(features)
        return price_of_all + program.value(features)

    highest = doubtful(features)
    logistic = _logistic(problem, may, search)
    retained = prune(logistic, features, lambda fewer: doubtful(fewer) > highest)
    if len(retained) == result.features.size:
        return result
    return _on_features(problem, result, retained)


def _logistic(problem: Separation, may: Array, search: Search) -> RidgeLogistic:
    """Return the logistic loss of the same rows, with costs that do not depend on C."""
    assert problem.slack_cost is not None
    cost = problem.slack_cost / search.guide_C
    return RidgeLogistic(problem.Z, problem.y, cost, may, intercept=problem.intercept)


def _on_features(
    problem: Separation, result: SparseSeparation, features: list[int]
) -> SparseSeparation:
    """Replace features and weights by other features and their weights of least slack.

    The result is returned unchanged if no weights on these features satisfy the constraints.
    """
    program = LeastSlack(problem)
    if not np.isfinite(program.solve(features)):
        return result
    vertex = program.weights()
    value = price(problem, vertex.w, vertex.bias)
    bias = middle_bias(problem, vertex.w, vertex.bias)
    gap = support_gap(problem, vertex)
    ordered = np.sort(np.asarray(features, dtype=np.intp))
    values = (*result.values, np.array([value]))
    sizes = (*result.sizes, np.array([len(features)]))
    return result._replace(
        features=ordered,
        w=vertex.w,
        bias=bias,
        objective=value,
        values=values,
        sizes=sizes,
        gap=gap,
    )


def _largest(w: Array, count: int) -> Array:
    """Return the indices of the `count` largest weights, without zeros."""
    order = np.argsort(-np.abs(w), kind="stable")[:count]
    return np.sort(order[w[order] != 0])


def _costs_by_centers(
    problem: Separation, costs: Array, make: Any, settings: dict[str, Any]
) -> Array:
    """Return first costs from the form whose direction the class centres fix.

    This form has better local optima, and a plane that keeps a small distance from all samples in
    this form is also feasible in the other one, after scaling.
    """
    direction = mean_difference(problem)
    may = np.isfinite(costs)
    largest = np.abs(direction[may]).max(initial=0.0)
    if not largest > ACCUMULATED_ROUNDING:
        return costs

    # assign low costs to features that have large weights in the form with class centres
    near = problem._replace(margin=START_MARGIN, direction=direction)
    try:
        program = make(near)
        result = reweighted_l1(near, program, start=costs, **settings)
    except Infeasible:
        return costs
    size = np.abs(result.w)
    largest_weight = size.max() or 1.0
    least = START_MARGIN * largest_weight
    new_costs = 1.0 / (least + size)
    return np.where(may, new_costs, np.inf)
