"""Benchmarks designed for a method: data that the method is made for, with a score.

`make compare` runs the method and every rival from `rivals/` on the same cases and compares the
method with the strongest rival. `HOME` is the problem that a method is designed for; `AWAY`, where
a file has one, is a problem on which a rival wins.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.compare import homes, rivals
from benchmarks.compare.run import TIME_MARGIN, decide, mean_interval

KINDS = (
    "tables",
    "Boolean tables",
    "counts and texts",
    "strings",
    "series",
    "signals and images",
    "graphs and trees",
    "two views",
    "distances and kernels",
)

# Pages of the methods shown in README.md, in the same order; every run measures them first.
FLAGSHIPS = (
    "robust_pca",
    "multi_assignment_clustering",
    "slow_feature_analysis",
    "ksvd",
    "sparse_nmf",
    "support_feature_machine",
    "core_vector_machine",
    "kernel_cca",
    "dtw_neighbors",
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One draw of a problem.

    Attributes
    ----------
    inputs : SimpleNamespace
        The input of the contenders: `X`, and everything that a user would know.
    truth : object
        Information that only the score uses.
    about : str
        Size and content of the data, for the report.
    """

    inputs: SimpleNamespace
    truth: Any
    about: str


@dataclass(frozen=True, kw_only=True)
class Home:
    """A problem that a method is designed for.

    Attributes
    ----------
    when : str
        Completes "Use it when ...", in the words of a user.
    title : str
        A short description of the data.
    kind : str
        One of `KINDS`.
    generated : bool
        Whether the data are generated.
    make : callable, `make(seed, **levels) -> Case`
        Draws the problem: another sample of generated data, or another choice of rows of real
        data, for each seed. The defaults of further arguments define the problem itself.
    ours : callable, `ours(inputs) -> answer`
        Runs the method, tuned as a user would tune it.
    score : callable, `score(case, answer) -> float`
        Measures how good an answer is.
    score_name : str
        Name of the score, with its unit.
    gain : str
        The result in one sentence. A `HOME` sentence begins with a verb whose subject is the
        method; an `AWAY` sentence names the method. Its fields are `ours` and `rival` (mean
        scores), `name` (of the rival), `our_seconds`, `rival_seconds` and `times` (the larger
        time divided by the smaller one).
    lines : str
        About three lines to paste; they use the names in `inputs`.
    smaller : bool
        Whether smaller scores are better.
    by_time : bool
        Whether the verdict depends on time: the strongest rival is then the fastest rival whose
        score is at most `margin` worse than the score of the method.
    margin : float
        Largest difference of scores that a user would not care about.
    n_rounds : int
        Number of draws.
    first_seed : int
        Seed of the first draw that counts; sizes and conditions were chosen on smaller seeds.
    overlap : float
        Number of test rows per training row if rounds share rows, otherwise 0.
    levels : mapping of str to sequence
        Arguments of `make` that `--full` varies one at a time, on at most five draws, to show
        where the advantage ends.
    short : mapping of str to value
        Arguments of `make` for smaller data, which runs other than `--full` draw.
    short_rounds : int
        Number of draws of these runs; 0 means `n_rounds`.
    full_only : bool
        Whether only `--full` runs it, because it takes more than 20 seconds.
    draw : callable, `draw(fig, case, answers)`, or None
        Draws the answers for one case; `answers` maps the names of both contenders to them.
    draw_size : tuple of float
        Width and height of `fig` in inches.
    """

    when: str
    title: str
    kind: str
    generated: bool
    make: Callable[..., Case]
    ours: Callable[[Any], Any]
    score: Callable[[Case, Any], float]
    score_name: str
    gain: str
    lines: str
    smaller: bool = False
    by_time: bool = False
    margin: float = 0.01
    n_rounds: int = 5
    first_seed: int = 100
    overlap: float = 0.0
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    short: Mapping[str, Any] = field(default_factory=dict)
    short_rounds: int = 0
    full_only: bool = False
    draw: Callable[..., None] | None = None
    draw_size: tuple[float, float] = (9.5, 3.6)

    @property
    def is_long(self):
        """Whether only `--full` runs the problem as it is documented."""
        return self.full_only or bool(self.short) or self.short_rounds > 0


class Result(NamedTuple):
    """Score and time of a contender in one round."""

    score: float
    seconds: float


def known_homes():
    """Names of the problems, equal to the names of the methods' pages."""
    return sorted(info.name for info in pkgutil.iter_modules(homes.__path__))


def find_home(stem, *, away=False):
    """Return the `HOME` or the `AWAY` problem of a page, or None if it has none."""
    if stem not in known_homes():
        return None
    module = importlib.import_module(f"{homes.__name__}.{stem}")
    return getattr(module, "AWAY", None) if away else module.HOME


def find_rivals(stem):
    """Map names to functions, for all scikit-learn pipelines that compete on a problem.

    They are in the order of the file; the name is the first line of the docstring.
    """
    module = importlib.import_module(f"{rivals.__name__}.{stem}")
    attempts = [
        value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    return {attempt.__doc__.splitlines()[0].rstrip("."): attempt for attempt in attempts}


class Verdict(NamedTuple):
    """Winner of a problem, and its margin.

    `winner` is "method", "rival", "equal" or "undecided". `mean` and `half_width` give the
    interval that decided it: of the difference of scores, positive if the method is better, or of
    the logarithm of the ratio of times.
    """

    winner: str
    rival: str
    mean: float
    half_width: float


def judge(home, ours, others):
    """Compare the results of the method with the results of the strongest rival.

    Parameters
    ----------
    home : Home
    ours : list of Result
        One result per round.
    others : mapping of str to list of Result
        One result per round, for each rival.
    """
    sign = -1.0 if home.smaller else 1.0
    scores = {name: sign * column(results, "score") for name, results in others.items()}
    method_scores = sign * column(ours, "score")
    strongest = max(scores, key=lambda name: scores[name].mean())

    interval = mean_interval(method_scores - scores[strongest], home.overlap)
    winner = decide(*interval, home.margin)
    by_score = Verdict(_of_rivals(winner), strongest, *interval)
    if not home.by_time:
        return by_score

    # Compare the time with the times of rivals that score equally well. If no rival certainly
    # does, a shorter time can only help the method.
    as_good = [
        name for name in scores if scores[name].mean() >= method_scores.mean() - home.margin
    ]
    fastest = min(
        as_good or [strongest], key=lambda name: column(others[name], "seconds").mean()
    )
    if method_scores.mean() < scores[fastest].mean() - home.margin:
        return by_score
    ratio = column(others[fastest], "seconds") / column(ours, "seconds")
    interval = mean_interval(np.log(ratio), 0.0)
    winner = decide(*interval, np.log(TIME_MARGIN))
    if as_good or (by_score.winner == "undecided" and winner == "method"):
        return Verdict(_of_rivals(winner), fastest, *interval)
    return by_score


def _of_rivals(winner):
    return "rival" if winner == "baseline" else winner


def column(results, name):
    """Values of one field over all rounds."""
    return np.array([getattr(result, name) for result in results])


def gain(home, ours, others, verdict):
    """The result in one sentence."""
    theirs = others[verdict.rival]
    seconds = [float(np.median(column(side, "seconds"))) for side in (ours, theirs)]
    return home.gain.format(
        ours=float(column(ours, "score").mean()),
        rival=float(column(theirs, "score").mean()),
        name=verdict.rival,
        our_seconds=seconds[0],
        rival_seconds=seconds[1],
        times=max(seconds) / min(seconds),
    )
