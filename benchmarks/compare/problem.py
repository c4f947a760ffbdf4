"""A problem: data, folds, scorer, and the pipeline around the step under comparison."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from benchmarks.compare import problems

# Default name of the compared step in every pipeline.
STEP = "method"


def by_plan(quick, full, small, usual, large):
    """Size of a problem: small for `--quick`, large for `--full`."""
    if quick:
        return small
    return large if full else usual


@dataclass(frozen=True, kw_only=True)
class Data:
    """Rows of a problem.

    `fit_params` has one value per row, passed to the steps whose `fit` accepts them; `groups`
    keeps rows together in a fold; `extra` is for the plot.
    """

    X: np.ndarray
    y: np.ndarray
    about: str
    groups: np.ndarray | None = None
    fit_params: Mapping[str, np.ndarray] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def stratified_folds(n_splits, random_state):
    """Shuffled folds with the same fraction of every class."""
    return StratifiedKFold(n_splits, shuffle=True, random_state=random_state)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything around the compared step.

    Attributes
    ----------
    title : str
        Text of the column "data" in the table.
    description : str
        One sentence for the report.
    score_name : str
        Measure of the scorer; greater is better.
    scoring : str
        Scorer of the search and of the outer folds.
    load : callable, `load(quick) -> Data`
        Returns the same rows on every call.
    pipeline : callable, `pipeline(step) -> Pipeline`
        Puts `step` under the name "method" among the other steps.
    plot : callable, `plot(fig, methods, data, test)`
        Draws on `fig` the results of the fitted pipelines for the rows `test`, which neither has
        seen; `methods` maps the two class names to the two pipelines.
    plot_size : tuple of float
        Width and height of `fig` in inches.
    splitter : callable, `splitter(n_splits, random_state)`
        Makes the outer and the inner folds.
    load_full : callable, `load_full() -> Data`, or None
        Returns the rows of the large protocol, if they are more than `load(False)`.
    n_outer : int or None
        Outer folds, if fewer than the protocol's are enough for a verdict.
    n_repeats : int
        Number of times that the outer folds are drawn, if the rows are cheap and one draw leaves
        verdicts open; the quick protocol draws them once.
    margin : float
        Difference of scores that a practitioner would ignore.
    """

    title: str
    description: str
    score_name: str
    scoring: str
    load: Callable[[bool], Data]
    pipeline: Callable[[Any], Pipeline]
    plot: Callable[[Any, Mapping[str, Pipeline], Data, np.ndarray], None]
    plot_size: tuple[float, float] = (10.5, 4.2)
    splitter: Callable[..., Any] = stratified_folds
    load_full: Callable[[], Data] | None = None
    n_outer: int | None = None
    n_repeats: int = 1
    margin: float = 0.01

    def rows(self, size):
        """Return the rows of a protocol: "quick", "default" or "full"."""
        if size == "full" and self.load_full is not None:
            return self.load_full()
        return self.load(size == "quick")


def known_problems():
    """Names of the problems, from the file names."""
    return sorted(info.name for info in pkgutil.iter_modules(problems.__path__))


def find_problem(name):
    """Return the problem that a comparison names."""
    if name not in known_problems():
        raise LookupError(
            f"no problem {name!r} in benchmarks/compare/problems; known: {known_problems()}"
        )
    return importlib.import_module(f"{problems.__name__}.{name}").PROBLEM
