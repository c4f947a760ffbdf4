"""Draw sizes, measure all contenders in turn, and compare ours with the cheapest equal peer."""

import contextlib
import gc
import io
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from benchmarks.peers.case import Contender
from benchmarks.peers.runner import missing, order_of_round

# Ratio below which a draw counts as lost.
LOST = 1 / 1.25


class LeftOut(Exception):
    """Raised by a contender that would take minutes on this table."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Methods that do the same work.

    Attributes
    ----------
    title : str
        Name in the table.
    sizes : callable
        `sizes(rng)` draws the sizes of a table, by name.
    work : callable
        `work(sizes, rng)` draws the table.
    contenders : mapping of str to callable or Contender
        The first one is ours.
    value : callable
        `value(data, result)` is the objective or error of a result; lower is better.
    slack : float
        A peer is equal if its value is at most ours plus this, relative to ours if `relative`.
    relative : bool
    means : str
        What `value` is and when it is equal, for the reader.
    """

    title: str
    sizes: Callable[[Any], dict]
    work: Callable[[dict, Any], Any]
    contenders: Mapping[str, Callable[[Any], Any] | Contender]
    value: Callable[[Any, Any], float]
    slack: float
    relative: bool = True
    means: str

    def is_equal(self, theirs, ours):
        """Whether the value of a peer is as good as ours."""
        allowed = self.slack * (abs(ours) if self.relative else 1.0)
        return bool(theirs <= ours + allowed)


@dataclass
class Draw:
    """One table: sizes, and seconds and value of each contender."""

    sizes: dict
    seconds: dict[str, float] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    ratio: float | None = None
    peer: str = ""


def log_uniform(rng, low, high):
    """Draw a whole number between `low` and `high`, uniformly in its logarithm."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def run_family(name, family, *, seed, n_draws, n_rounds, budget, say):
    """Measure `n_draws` tables of a family; the sizes depend only on the seed and its name."""
    rng = np.random.default_rng([seed, *name.encode()])
    draws = []
    for _ in range(n_draws):
        draw = Draw(family.sizes(rng))
        data = family.work(draw.sizes, rng)
        _measure(family, data, draw, n_rounds, budget)
        _compare(family, draw)
        draws.append(draw)
        say(line(name, draw))
    return draws


def _measure(family, data, draw, n_rounds, budget):
    """Time the contenders in turn, after one call of each that compiles and gives the value."""
    spent = {}
    runs = {
        name: entry if isinstance(entry, Contender) else Contender(run=entry)
        for name, entry in family.contenders.items()
    }
    for name, contender in runs.items():
        advice = missing(contender.requires)
        if advice:
            draw.failed[name] = advice
            continue
        try:
            seconds, result = _once(contender, data)
            value = float(family.value(data, result))
        except LeftOut:
            continue
        except Exception as error:
            draw.failed[name] = f"{type(error).__name__}: {error}"[:160]
            continue
        spent[name] = [seconds]
        draw.values[name] = value

    # contenders rotate; one that has used up its time gets no further round
    times: dict[str, list[float]] = {name: [] for name in spent}
    for number in range(n_rounds):
        for name in order_of_round(list(times), number):
            if sum(spent[name]) <= budget:
                seconds, _ = _once(runs[name], data)
                times[name].append(seconds)
                spent[name].append(seconds)
    draw.seconds = {name: median(times[name] or spent[name]) for name in times}


def _once(contender, data):
    """Return the processor time of one call, and its result."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = data if contender.prepare is None else contender.prepare(data)
        gc.collect()
        start = time.process_time()
        result = contender.run(prepared)
        return time.process_time() - start, result


def _compare(family, draw):
    """Set the ratio of the cheapest peer that reaches our value."""
    ours = next(iter(family.contenders))
    if ours not in draw.seconds:
        return
    equal = [
        name
        for name in draw.seconds
        if name != ours and family.is_equal(draw.values[name], draw.values[ours])
    ]
    if equal:
        draw.peer = min(equal, key=draw.seconds.__getitem__)
        draw.ratio = draw.seconds[draw.peer] / max(draw.seconds[ours], 1e-9)


def line(name, draw):
    """Return one line about a draw, with time and value of each contender."""
    sizes = ", ".join(f"{key} {shown(value)}" for key, value in draw.sizes.items())
    times = ", ".join(
        f"{who} {1e3 * seconds:.3g} ms ({draw.values[who]:.6g})"
        for who, seconds in draw.seconds.items()
    )
    ratio = "no peer equal" if draw.ratio is None else f"{draw.ratio:.2f} ({draw.peer})"
    return f"{name}: {sizes}: {ratio}; {times}"


def shown(value):
    """Return a size as text."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.2g}"


def summary(draws):
    """Return draws, median, worst draw, draws lost, draws without an equal peer."""
    raced = [draw for draw in draws if draw.ratio is not None]
    middle = median(draw.ratio for draw in raced) if raced else None
    worst = min(raced, key=lambda draw: draw.ratio, default=None)
    lost = sum(draw.ratio < LOST for draw in raced)
    return middle, worst, lost, len(draws) - len(raced)
