"""Nested cross-validation of each method and its baseline on the same folds.

Every outer fold is a separate task for each of the two contenders: a grid search on the rows
outside the fold, by inner folds, then one score on the fold, which the search has not seen. Each
process fits each contender once on a few rows before its time is measured, so that neither pays
for compilation or imports.
"""

import contextlib
import functools
import importlib
import inspect
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from benchmarks.compare.comparisons import COMPARISONS
from benchmarks.compare.problem import STEP, Data, Problem, find_problem
from skmoderndata.kernels import Normalized
from skmoderndata.preprocessing import KernelTransformer


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Amount of work of a run.

    A search uses `n_inner` of the three inner folds. If time is short, outer folds are worth more
    than inner ones: they narrow the interval of the verdict, and a search with one third of the
    training rows held out is equally fair to both contenders.
    """

    size: str
    n_outer: int
    n_inner: int

    @property
    def quick(self):
        return self.size == "quick"


FULL = Plan(size="full", n_outer=10, n_inner=3)
DEFAULT = Plan(size="default", n_outer=10, n_inner=1)
QUICK = Plan(size="quick", n_outer=5, n_inner=1)

INNER_FOLDS = 3
# Largest ratio of times that a practitioner would ignore.
TIME_MARGIN = 1.25
# Number of folds of the training rows, one of which the warm-up uses.
WARM_UP = 8


@dataclass(frozen=True)
class Outcome:
    """Result of one contender on one outer fold."""

    score: float = np.nan
    seconds: float = np.nan  # time of the whole search with refit
    fit_seconds: float = np.nan  # time of one fit with the chosen parameters, and its score
    best_params: Mapping[str, Any] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    trace: str = ""
    pipeline: Pipeline | None = None  # fitted pipeline of the first fold, for the plot


@dataclass
class Contender:
    """One estimator of a row and its results so far, by fold."""

    cls: type
    params: Mapping[str, Any]
    grid: Mapping[str, Any]
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)  # natural bounds of the grid

    @property
    def name(self):
        return self.cls.__name__

    def make(self):
        """Return the step to compare; a kernel is wrapped in a transformer."""
        made = self.cls(**self.params)
        return made if hasattr(made, "fit") else KernelTransformer(Normalized(made))

    @property
    def n_candidates(self):
        return len(ParameterGrid(dict(self.grid)))

    @property
    def warnings(self):
        return sum(
            (Counter(outcome.warnings) for outcome in self.outcomes.values()), Counter()
        )

    @property
    def seconds(self):
        return float(np.median([outcome.seconds for outcome in self.outcomes.values()]))

    @property
    def fit_seconds(self):
        return float(np.median([outcome.fit_seconds for outcome in self.outcomes.values()]))

    @property
    def at_grid_ends(self):
        """Parameters whose best value lies at one end of the grid in most folds.

        Only ordered grids of at least three numbers count, because two numbers have no middle. An
        end that the comparison declares as a natural bound does not count.
        """
        found = {}
        for name, values in self.grid.items():
            if not self.outcomes or len(values) < 3 or not all(map(_is_number, values)):
                continue
            best = [outcome.best_params.get(name) for outcome in self.outcomes.values()]
            value, count = Counter(best).most_common(1)[0]
            ends = {min(values), max(values)} - {self.bounds.get(name)}
            if value in ends and 2 * count > len(best):
                found[name] = value
        return found


@dataclass
class Row:
    """A method compared with its baseline on one problem."""

    name: str
    problem_name: str
    method: Contender | None = None
    baseline: Contender | None = None
    problem: Problem | None = None
    data: Data | None = None
    splits: list = field(default_factory=list)
    family: str = ""
    error: str = ""
    trace: str = ""
    plot_error: str = ""

    @property
    def contenders(self):
        return [side for side in (self.method, self.baseline) if side is not None]

    @property
    def folds(self):
        """Outer folds that both contenders have finished."""
        if not self.splits:
            return []
        return sorted(set(self.method.outcomes) & set(self.baseline.outcomes))

    @property
    def state(self):
        """One of "failed", "finished", "partial", "not run"."""
        if self.error:
            return "failed"
        if len(self.folds) == len(self.splits):
            return "finished"
        return "partial" if self.folds else "not run"

    def scores(self, contender):
        return np.array([contender.outcomes[fold].score for fold in self.folds])

    def fit_seconds(self, contender):
        return np.array([contender.outcomes[fold].fit_seconds for fold in self.folds])

    @property
    def difference(self):
        """Mean of method minus baseline over the folds, and half the width of its interval."""
        return self._interval(self.scores(self.method) - self.scores(self.baseline))

    @property
    def time_ratio(self):
        """Geometric mean of the ratio of times, baseline to method, and the factor around it."""
        mean, half_width = self._log_time_ratio
        return float(np.exp(mean)), float(np.exp(half_width))

    @property
    def winner(self):
        """One of "method", "baseline", "equal", "undecided", "" if unknown."""
        if self.state in ("failed", "not run"):
            return ""
        return decide(*self.difference, self.margin)

    @property
    def shown(self):
        """Smallest difference of scores that the folds would show, in words; "" for one fold."""
        half_width = self.difference[1]
        return f"below {half_width:.2g}" if np.isfinite(half_width) else ""

    @property
    def faster(self):
        """Winner in the time of one fit, with the same words."""
        if self.state in ("failed", "not run"):
            return ""
        return decide(*self._log_time_ratio, np.log(TIME_MARGIN))

    @property
    def margin(self):
        return self.problem.margin if self.problem else Problem.margin

    @property
    def _log_time_ratio(self):
        """Ordinary interval: the noise of the clock is independent of common rows."""
        method = self.fit_seconds(self.method)
        baseline = self.fit_seconds(self.baseline)
        return mean_interval(np.log(baseline / method), 0.0)

    def _interval(self, by_fold):
        train, test = (np.mean([len(split[i]) for split in self.splits]) for i in (0, 1))
        return mean_interval(by_fold, test / train)


def mean_interval(by_fold, test_to_train):
    """Mean over folds of cross-validation, and half the width of its 95 % interval.

    Folds have training rows in common, so their results are correlated; the interval is the
    corrected one of Nadeau and Bengio (2003): the variance of the mean is `(1 / k + n_test /
    n_train)` times the variance between the folds, with k - 1 degrees of freedom. One fold shows
    nothing about the noise.
    """
    k = len(by_fold)
    if k < 2:
        return float(np.mean(by_fold)), np.inf
    error = np.std(by_fold, ddof=1) * np.sqrt(1 / k + test_to_train)
    return float(np.mean(by_fold)), float(stats.t.ppf(0.975, k - 1) * error)


def decide(mean, half_width, margin):
    """Verdict on an interval of differences, positive if the method is better.

    "equal" if the interval lies within the margin; else "method" or "baseline" if it excludes
    zero; else "undecided".
    """
    if abs(mean) + half_width <= margin:
        return "equal"
    if abs(mean) <= half_width:
        return "undecided"
    return "method" if mean > 0 else "baseline"


def make_rows(estimators, plan, comparisons=COMPARISONS):
    """One row per comparison; a comparison that cannot be set up gives a failed row."""
    load = functools.cache(lambda name: find_problem(name).rows(plan.size))
    rows = []

    for cls in estimators:
        comparison = comparisons.get(cls.__name__)
        if comparison is None:
            continue
        row = Row(cls.__name__, comparison.problem, family=cls._card.family)
        rows.append(row)

        # a faulty entry affects only its own row
        try:
            row.method = _contender(
                cls, comparison.params, comparison.grid, comparison.bounds, plan
            )
            row.baseline = _contender(
                _import_class(comparison.baseline),
                comparison.baseline_params,
                comparison.baseline_grid,
                comparison.baseline_bounds,
                plan,
            )

            row.problem = find_problem(comparison.problem)
            row.data = load(comparison.problem)
            n_outer = min(plan.n_outer, row.problem.n_outer or plan.n_outer)
            row.splits = [
                split
                for repeat in range(1 if plan.quick else row.problem.n_repeats)
                for split in row.problem.splitter(n_splits=n_outer, random_state=repeat).split(
                    row.data.X, row.data.y, row.data.groups
                )
            ]
        except Exception as error:
            _note_failure(row, error)

    return rows


def run_rows(rows, plan, *, n_jobs=1, report=lambda row, contender, fold, outcome: None):
    """Fill `rows`, calling `report` after each task; after an interrupt, finished tasks remain."""
    tasks = [
        (row, contender, fold)
        for row in rows
        if not row.error
        for fold in range(len(row.splits))
        for contender in row.contenders
    ]

    call = _tune_in_worker if n_jobs > 1 else _tune
    parallel = Parallel(
        n_jobs, batch_size=1, pre_dispatch=n_jobs, return_as="generator_unordered"
    )
    # outcomes arrive in any order; the index identifies them
    results = parallel(
        delayed(call)(
            index,
            contender.make(),
            contender.grid,
            row.problem_name,
            row.data,
            row.splits[fold],
            plan,
            keep=fold == 0,
        )
        for index, (row, contender, fold) in enumerate(tasks)
    )

    try:
        for index, outcome in results:
            row, contender, fold = tasks[index]
            contender.outcomes[fold] = outcome
            if outcome.error and not row.error:
                row.error = f"{contender.name}, outer fold {fold + 1}: {outcome.error}"
                row.trace = outcome.trace
            report(row, contender, fold, outcome)
    finally:
        results.close()


def n_tasks(rows):
    return sum(len(row.splits) * 2 for row in rows if not row.error)


def _contender(cls, params, grid, bounds, plan):
    """Both contenders use the same fixed random state if they are random at all."""
    params = dict(params)
    grid = dict(grid)
    if "random_state" in signature(cls).parameters:
        params.setdefault("random_state", 0)
    if plan.quick:
        grid = {
            name: list(values)[(len(values) - 1) // 2 : (len(values) - 1) // 2 + 2]
            for name, values in grid.items()
        }
    if not hasattr(cls, "fit"):
        grid, bounds = (
            {f"kernel__kernel__{name}": value for name, value in found.items()}
            for found in (grid, bounds)
        )
    return Contender(cls, params, grid, bounds=bounds)


def _import_class(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _note_failure(row, error):
    row.error = f"{type(error).__name__}: {error}"
    row.trace = traceback.format_exc()


def _tune_in_worker(*args, **kwargs):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    return _tune(*args, **kwargs)


def _tune(index, estimator, grid, problem_name, data, split, plan, *, keep):
    """Search on the training rows, score on the others; one BLAS thread for both contenders."""
    problem = find_problem(problem_name)
    (train, test) = split

    with (
        warnings.catch_warnings(record=True) as caught,
        config_context(enable_metadata_routing=True),
        threadpool_limits(1),
    ):
        warnings.simplefilter("always")
        try:
            _warm_up(problem, estimator, grid, data, train)
            outcome = _search(problem, estimator, grid, data, train, test, plan)
        except Exception as error:
            message = " ".join(str(error).split())
            return index, Outcome(
                error=f"{type(error).__name__}: {message}", trace=traceback.format_exc()
            )

    score, seconds, score_seconds, search = outcome
    return index, Outcome(
        score=float(score),
        seconds=seconds,
        fit_seconds=search.refit_time_ + score_seconds,
        best_params={
            name.removeprefix(f"{STEP}__"): value
            for name, value in search.best_params_.items()
        },
        warnings=Counter(entry.category.__name__ for entry in caught),
        pipeline=search.best_estimator_ if keep else None,
    )


@functools.cache
def _warmed():
    """Pipelines that this process has already fitted, by problem and class."""
    return set()


def _warm_up(problem, estimator, grid, data, train):
    """Fit once on a few rows, the first time that this process uses the contender."""
    key = (problem.title, type(estimator), str(estimator))
    if key in _warmed():
        return
    _warmed().add(key)
    groups = None if data.groups is None else data.groups[train]
    folds = problem.splitter(n_splits=WARM_UP, random_state=2)
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        # ignore warnings and errors, because there are few rows here; the search reports its own
        warnings.simplefilter("ignore")
        few = train[next(folds.split(data.X[train], data.y[train], groups))[1]]
        first = {f"{STEP}__{name}": values[0] for name, values in grid.items()}
        pipeline = clone(problem.pipeline(clone(estimator))).set_params(**first)
        params = _fit_params(pipeline[STEP], data, few)
        pipeline.fit(data.X[few], data.y[few], **params)
        check_scoring(pipeline, problem.scoring)(pipeline, data.X[few], data.y[few])


def _fit_params(step, data, rows):
    """Values of the rows that `fit` of the step accepts, and a request for them."""
    accepted = inspect.signature(step.fit).parameters
    params = {
        name: values[rows] for name, values in data.fit_params.items() if name in accepted
    }
    if params:
        step.set_fit_request(**dict.fromkeys(params, True))
    return params


def _search(problem, estimator, grid, data, train, test, plan):
    params = _fit_params(estimator, data, train)
    groups = None if data.groups is None else data.groups[train]
    inner = problem.splitter(n_splits=INNER_FOLDS, random_state=1)
    search = GridSearchCV(
        problem.pipeline(estimator),
        {f"{STEP}__{name}": values for name, values in grid.items()},
        scoring=problem.scoring,
        cv=list(islice(inner.split(data.X[train], data.y[train], groups), plan.n_inner)),
        error_score="raise",
    )
    start = perf_counter()
    search.fit(data.X[train], data.y[train], **params)
    fitted = perf_counter()
    score = search.score(data.X[test], data.y[test])
    end = perf_counter()
    if not np.isfinite(score):
        raise ValueError(f"the score on the outer fold is {score}")
    return score, end - start, end - fitted, search


def _is_number(value):
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
