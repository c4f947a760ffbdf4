"""What a home problem is: data of the kind a method is made for, scored by what it is for.

`make compare` runs the method and every rival of `rivals/` on the same cases, and the strongest
rival counts. Where an `AWAY` stands beside the `HOME`, it is a problem that a rival wins.
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


@dataclass(frozen=True, kw_only=True)
class Case:
    """One draw of a problem.

    Attributes
    ----------
    given : SimpleNamespace
        What contenders get: `X`, and whatever a user would know.
    truth : object
        What only the score sees.
    about : str
        Size and content of the data, for the report.
    """

    given: SimpleNamespace
    truth: Any
    about: str


@dataclass(frozen=True, kw_only=True)
class Home:
    """A problem that a method is for.

    Attributes
    ----------
    when : str
        Completes "Take it when ...", in the words of a user.
    title : str
        The data in a few words.
    kind : str
        One of `KINDS`.
    generated : bool
        Whether the data are generated.
    make : callable, `make(seed, **levels) -> Case`
        A draw of the problem: of generated data another one for each seed, of real data another
        choice of rows. The defaults of further arguments are the condition of the home problem.
    ours : callable, `ours(given) -> answer`
        The method, tuned as a user would tune it.
    score : callable, `score(case, answer) -> float`
        How good an answer is.
    score_name : str
        What the score is, with its unit.
    gain : str
        The result in one sentence, with the fields `ours` and `rival` (means of the scores),
        `name` (of the rival), `our_seconds`, `rival_seconds`, `times` (the larger time in units
        of the smaller one).
    lines : str
        Three lines to paste, about; their free names are those of `given`.
    smaller : bool
        Whether smaller scores are better.
    by_time : bool
        Whether the verdict is on time: the strongest rival is then the fastest of those whose
        score is not worse than ours by more than the margin.
    margin : float
        Difference of scores below which a user would not care.
    n_rounds : int
        Draws.
    first_seed : int
        Of the draws that count: sizes and conditions were chosen on draws below.
    overlap : float
        Test rows in units of training rows, where rounds have rows in common; else 0.
    levels : mapping of str to sequence
        Arguments of `make` that `--full` varies one at a time, on five draws at most, to show
        where the win ends.
    full_only : bool
        Whether only `--full` runs it, as it takes more than 20 seconds.
    draw : callable, `draw(fig, case, answers)`, or None
        Picture of the answers for one case; `answers` maps the names of both contenders to them.
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
    full_only: bool = False
    draw: Callable[..., None] | None = None
    draw_size: tuple[float, float] = (9.5, 3.6)


class Result(NamedTuple):
    """What a contender reached in one round."""

    score: float
    seconds: float


def known_homes():
    """Names of the home problems, which are those of the pages of the methods."""
    return sorted(info.name for info in pkgutil.iter_modules(homes.__path__))


def find_home(stem, *, away=False):
    """Return the home problem of a page, or the one away; None where it has none."""
    if stem not in known_homes():
        return None
    module = importlib.import_module(f"{homes.__name__}.{stem}")
    return getattr(module, "AWAY", None) if away else module.HOME


def find_rivals(stem):
    """Name -> function, for all attempts of scikit-learn to win a home problem.

    They come in the order of the file; the name is the first line of the docstring.
    """
    module = importlib.import_module(f"{rivals.__name__}.{stem}")
    attempts = [
        value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    return {attempt.__doc__.splitlines()[0].rstrip("."): attempt for attempt in attempts}


class Verdict(NamedTuple):
    """Who wins a home problem, and by how much.

    `winner` is "method", "rival", "equal" or "undecided"; `mean` and `half_width` are the
    interval it rests on: of the difference of scores, positive where the method is better, or of
    the logarithm of the ratio of times.
    """

    winner: str
    rival: str
    mean: float
    half_width: float


def judge(home, ours, others):
    """Compare the results of the method with those of the strongest rival.

    Parameters
    ----------
    home : Home
    ours : list of Result
        One for each round.
    others : mapping of str to list of Result
        The same for each rival.
    """
    sign = -1.0 if home.smaller else 1.0
    scores = {name: sign * column(results, "score") for name, results in others.items()}
    own = sign * column(ours, "score")
    strongest = max(scores, key=lambda name: scores[name].mean())

    interval = mean_interval(own - scores[strongest], home.overlap)
    winner = decide(*interval, home.margin)
    by_score = Verdict(_of_rivals(winner), strongest, *interval)
    if not home.by_time:
        return by_score

    # time counts among those that are as good; where none is for sure, it can only help
    as_good = [name for name in scores if scores[name].mean() >= own.mean() - home.margin]
    fastest = min(
        as_good or [strongest], key=lambda name: column(others[name], "seconds").mean()
    )
    if own.mean() < scores[fastest].mean() - home.margin:
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
    """One field of the results of all rounds."""
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
