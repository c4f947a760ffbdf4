"""Nested cross-validation of each method and its baseline on the same folds.

Every outer fold is a task of its own for each of the two contenders: a grid search on the rows
outside the fold, by inner folds, then one score on the fold, which the search has not seen.
"""

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
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from benchmarks.compare.problem import STEP, Data, Problem, find_problem
from skmoderndata.kernels import Normalized
from skmoderndata.preprocessing import KernelTransformer


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much work a run does."""

    n_outer: int
    n_inner: int
    quick: bool


FULL = Plan(n_outer=10, n_inner=3, quick=False)
QUICK = Plan(n_outer=3, n_inner=2, quick=True)


@dataclass(frozen=True)
class Outcome:
    """What one contender reached on one outer fold."""

    score: float = np.nan
    seconds: float = np.nan
    refit_seconds: float = np.nan
    best_params: Mapping[str, Any] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    trace: str = ""
    pipeline: Pipeline | None = None  # first fold only, for the plot


@dataclass
class Contender:
    """One estimator of a row and what it reached so far, by fold."""

    cls: type
    params: Mapping[str, Any]
    grid: Mapping[str, Any]
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    @property
    def name(self):
        return self.cls.__name__

    def make(self):
        """Return the step to compare; a kernel is one inside of a transformer."""
        made = self.cls(**self.params)
        return made if hasattr(made, "fit") else KernelTransformer(Normalized(made))

    @property
    def n_candidates(self):
        return len(ParameterGrid(dict(self.grid)))

    @property
    def warnings(self):
        return sum((Counter(outcome.warnings) for outcome in self.outcomes.values()), Counter())

    @property
    def seconds(self):
        return float(np.median([outcome.seconds for outcome in self.outcomes.values()]))

    @property
    def refit_seconds(self):
        return float(np.median([outcome.refit_seconds for outcome in self.outcomes.values()]))


@dataclass
class Row:
    """A method beside its baseline on one problem."""

    name: str
    problem_name: str
    method: Contender | None = None
    baseline: Contender | None = None
    problem: Problem | None = None
    data: Data | None = None
    splits: list = field(default_factory=list)
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

    @property
    def difference(self):
        """Mean of method minus baseline over the folds, and half the width of its interval.

        Folds share training rows, so that their scores are correlated; the 95 % interval is
        the corrected one of Nadeau and Bengio (2003): the variance of the mean is
        `(1 / k + n_test / n_train)` times the variance between folds, with k - 1 degrees of
        freedom.
        """
        by_fold = self.scores(self.method) - self.scores(self.baseline)
        if len(by_fold) < 2:
            return float(by_fold.mean()), np.inf
        train, test = (np.mean([len(split[i]) for split in self.splits]) for i in (0, 1))
        error = by_fold.std(ddof=1) * np.sqrt(1 / len(by_fold) + test / train)
        return float(by_fold.mean()), float(stats.t.ppf(0.975, len(by_fold) - 1) * error)

    @property
    def winner(self):
        """One of "method", "baseline", "tie" within the noise of the folds, "" if unknown."""
        if self.state in ("failed", "not run"):
            return ""
        mean, half_width = self.difference
        if abs(mean) <= half_width:
            return "tie"
        return "method" if mean > 0 else "baseline"


def make_rows(estimators, plan):
    """One row per card with a comparison; what cannot be set up is a failed row."""
    load = functools.cache(lambda name: find_problem(name).load(plan.quick))
    rows = []
    for cls in estimators:
        comparison = cls._card.comparison
        if comparison is None:
            continue
        row = Row(cls.__name__, comparison.problem)
        rows.append(row)
        try:
            row.method = _contender(cls, comparison.params, comparison.grid, plan)
            row.baseline = _contender(
                _import_class(comparison.baseline),
                comparison.baseline_params,
                comparison.baseline_grid,
                plan,
            )
            row.problem = find_problem(comparison.problem)
            row.data = load(comparison.problem)
            outer = row.problem.splitter(n_splits=plan.n_outer, random_state=0)
            row.splits = list(outer.split(row.data.X, row.data.y, row.data.groups))
        except Exception as error:
            _note_failure(row, error)
    return rows


def run_rows(rows, plan, *, n_jobs=1, report=lambda row, contender, fold, outcome: None):
    """Fill `rows`, calling `report` after each task; an interrupt leaves what is finished."""
    tasks = [
        (row, contender, fold)
        for row in rows
        if not row.error
        for fold in range(len(row.splits))
        for contender in row.contenders
    ]
    call = _tune_in_worker if n_jobs > 1 else _tune
    parallel = Parallel(n_jobs, batch_size=1, pre_dispatch=n_jobs, return_as="generator_unordered")
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


def _contender(cls, params, grid, plan):
    """Both contenders draw from the same fixed random state where they draw at all."""
    params, grid = dict(params), dict(grid)
    if "random_state" in signature(cls).parameters:
        params.setdefault("random_state", 0)
    if plan.quick:
        grid = {
            name: [values[i] for i in sorted({0, len(values) - 1})]
            for name, values in grid.items()
        }
    if not hasattr(cls, "fit"):
        grid = {f"kernel__kernel__{name}": values for name, values in grid.items()}
    return Contender(cls, params, grid)


def _import_class(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _note_failure(row, error):
    row.error = f"{type(error).__name__}: {error}"
    row.trace = traceback.format_exc()


def _tune_in_worker(*args, **kwargs):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers Ctrl-C
    return _tune(*args, **kwargs)


def _tune(index, estimator, grid, problem_name, data, split, plan, *, keep):
    """Search on the training rows, score on the others; one BLAS thread for both contenders."""
    problem, (train, test) = find_problem(problem_name), split
    with (
        warnings.catch_warnings(record=True) as caught,
        config_context(enable_metadata_routing=True),
        threadpool_limits(1),
    ):
        warnings.simplefilter("always")
        try:
            outcome = _search(problem, estimator, grid, data, train, test, plan)
        except Exception as error:
            message = " ".join(str(error).split())
            return index, Outcome(
                error=f"{type(error).__name__}: {message}", trace=traceback.format_exc()
            )
    score, seconds, search = outcome
    return index, Outcome(
        score=float(score),
        seconds=seconds,
        refit_seconds=search.refit_time_,
        best_params={
            name.removeprefix(f"{STEP}__"): value for name, value in search.best_params_.items()
        },
        warnings=Counter(entry.category.__name__ for entry in caught),
        pipeline=search.best_estimator_ if keep else None,
    )


def _search(problem, estimator, grid, data, train, test, plan):
    accepted = inspect.signature(estimator.fit).parameters
    params = {name: rows[train] for name, rows in data.fit_params.items() if name in accepted}
    if params:
        estimator.set_fit_request(**dict.fromkeys(params, True))
    if data.groups is not None:
        params["groups"] = data.groups[train]
    search = GridSearchCV(
        problem.pipeline(estimator),
        {f"{STEP}__{name}": values for name, values in grid.items()},
        scoring=problem.scoring,
        cv=problem.splitter(n_splits=plan.n_inner, random_state=1),
        error_score="raise",
    )
    start = perf_counter()
    search.fit(data.X[train], data.y[train], **params)
    score = search.score(data.X[test], data.y[test])
    if not np.isfinite(score):
        raise ValueError(f"the score on the outer fold is {score}")
    return score, perf_counter() - start, search
