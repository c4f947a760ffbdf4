"""Run benchmarks designed for a method: method and rivals on the same draws, a round per task."""

import copy
import traceback
import warnings
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.compare.home import FLAGSHIPS, Result, find_home, find_rivals, gain, judge

OURS = "ours"
QUICK_ROUNDS = 3
LEVEL_ROUNDS = 5
PICTURE_SEED = 0


@dataclass
class HomeRow:
    """A `HOME` or `AWAY` problem, and the results of the contenders so far."""

    stem: str
    names: tuple  # names of the classes on the page
    family: str
    home: Any
    away: bool
    short: bool = False  # whether the run draws the smaller data of `home.short`
    rounds: dict = field(default_factory=dict)  # results by condition, round and contender
    about: str = ""
    error: str = ""
    trace: str = ""
    plot_error: str = ""

    @property
    def name(self):
        """The page, for messages."""
        return f"{self.stem}, away" if self.away else self.stem

    def make(self, seed, **levels):
        """Draw the problem, in a shorter run a smaller one."""
        return self.home.make(seed, **{**(self.home.short if self.short else {}), **levels})

    @property
    def state(self):
        """One of "failed", "finished", "not run"."""
        if self.error:
            return "failed"
        return "finished" if self.rounds.get(()) else "not run"

    def results(self, condition=()):
        """Results of the method, and of each rival, round by round."""
        rounds = [found for _, found in sorted(self.rounds[condition].items())]
        ours, *others = ({name: [found[name] for found in rounds]} for name in rounds[0])
        return ours[OURS], {name: list_ for side in others for name, list_ in side.items()}

    def verdict(self, condition=()):
        """The winner under a condition; () is the problem as designed."""
        return judge(self.home, *self.results(condition))

    @property
    def gain(self):
        """The result in one sentence."""
        return gain(self.home, *self.results(), self.verdict())

    @property
    def seconds(self):
        """Seconds of all contenders and rounds, under the condition of the problem as designed."""
        ours, others = self.results()
        return float(sum(r.seconds for side in (ours, *others.values()) for r in side))


def make_home_rows(pages, size):
    """Rows of the problems of pages: stem -> (names of the classes, family); flagships first."""
    rows = []
    stems = [stem for stem in FLAGSHIPS if stem in pages]
    for stem in dict.fromkeys([*stems, *pages]):
        names, family = pages[stem]
        for away in (False, True):
            home = find_home(stem, away=away)
            if home is not None and (size == "full" or not home.full_only):
                rows.append(HomeRow(stem, names, family, home, away, short=size != "full"))
    return rows


def conditions(home, size):
    """Conditions to run: the problem as designed, and each level by itself if time allows."""
    found = [()]
    if size == "full":
        found += [((name, value),) for name, values in home.levels.items() for value in values]
    return found


def tasks_of(rows, size):
    """Row, condition and round of each task."""
    return [
        (row, condition, seed)
        for row in rows
        for condition in conditions(row.home, size)
        for seed in range(
            row.home.first_seed, row.home.first_seed + n_draws(row.home, size, condition)
        )
    ]


def n_draws(home, size, condition=()):
    """Draws of a condition: at most five for a level, fewer in shorter runs."""
    if size == "full":
        return min(LEVEL_ROUNDS, home.n_rounds) if condition else home.n_rounds
    n_rounds = home.short_rounds or home.n_rounds
    return min(QUICK_ROUNDS, n_rounds) if size == "quick" else n_rounds


def run_home_rows(rows, size, *, n_jobs=1, report=lambda *what: None):
    """Fill `rows`, calling `report` after each task; after an interrupt, finished tasks remain."""
    tasks = tasks_of(rows, size)
    parallel = Parallel(
        n_jobs, batch_size=1, pre_dispatch=n_jobs, return_as="generator_unordered"
    )
    results = parallel(
        delayed(_round)(index, row.stem, row.away, row.short, condition, seed)
        for index, (row, condition, seed) in enumerate(tasks)
    )

    try:
        for index, found, about, error, trace in results:
            row, condition, seed = tasks[index]
            if error and not row.error:
                row.error = error
                row.trace = trace
            if found:
                row.rounds.setdefault(condition, {})[seed] = found
            if not condition:
                row.about = row.about or about
            report(row, condition, seed, found, error)
    finally:
        results.close()


def _round(index, stem, away, short, condition, seed):
    """Run all contenders on one draw, and name failures."""
    home = find_home(stem, away=away)
    row = HomeRow(stem, (), "", home, away, short=short)
    contenders = {OURS: home.ours, **find_rivals(stem)}
    found = {}
    about = ""
    name = "the data"

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hide warnings about choices at the end of a grid
        try:
            case = row.make(seed, **dict(condition))
            about = case.about
            for name, contend in contenders.items():
                found[name] = _contend(home, case, name, contend)
        except Exception as error:
            message = f"{stem}, {name}: {type(error).__name__}: {' '.join(str(error).split())}"
            return index, {}, about, message, traceback.format_exc()
    return index, found, about, "", ""


_warmed = set()  # contenders that have already run in this process


def _contend(home, case, name, contend):
    """Return score and time of a contender; a first call is not timed if time counts."""
    key = (home.title, name)
    if home.by_time and key not in _warmed:
        contend(copy.deepcopy(case.inputs))
    _warmed.add(key)

    inputs = copy.deepcopy(case.inputs)
    start = perf_counter()
    answer = contend(inputs)
    seconds = perf_counter() - start
    score = float(home.score(case, answer))
    if not np.isfinite(score):
        raise ValueError(f"the score is {score}")
    return Result(score, seconds)


def answers(row):
    """Case and answers of the method and of its strongest rival, for the picture."""
    case = row.make(PICTURE_SEED)
    rival = row.verdict().rival
    sides = {row.names[0]: row.home.ours, rival: find_rivals(row.stem)[rival]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case, {
            name: contend(copy.deepcopy(case.inputs)) for name, contend in sides.items()
        }
