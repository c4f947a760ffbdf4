"""Draw sizes, measure all contenders in turn, and compare ours with the cheapest equal peer."""

import contextlib
import gc
import io
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from statistics import median
from typing import Any, NamedTuple

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
    reason : str
        Why tables are lost, and what to use instead; needed if the stored tables have losses.
    """

    title: str
    sizes: Callable[[Any], dict]
    work: Callable[[dict, Any], Any]
    contenders: Mapping[str, Callable[[Any], Any] | Contender]
    value: Callable[[Any, Any], float]
    slack: float
    relative: bool = True
    means: str
    reason: str = ""

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


def log_uniform(rng, low, high):
    """Draw a whole number between `low` and `high`, uniformly in its logarithm."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def run_family(name, family, *, seed, numbers, n_rounds, budget):
    """Measure the tables with these numbers, and yield each number with its draw.

    The sizes depend only on the seed, the name of the family and the number.
    """
    rng = np.random.default_rng([seed, *name.encode()])
    for number in range(max(numbers, default=-1) + 1):
        draw = Draw(family.sizes(rng))
        data = family.work(draw.sizes, rng)
        if number in numbers:
            _measure(family, data, draw, n_rounds, budget)
            yield number, draw


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


def ratio(family, draw, packages_only=False):
    """Return the time of the cheapest peer with our value, divided by ours, and its name.

    Both are None if our contender failed or no peer reaches its value. `packages_only` leaves out
    lines by hand and other classes of this package.
    """
    ours = next(iter(family.contenders))
    if ours not in draw.seconds:
        return None, None

    # peers that reach our value
    equal = [
        name
        for name, entry in family.contenders.items()
        if name != ours
        and name in draw.seconds
        and family.is_equal(draw.values[name], draw.values[ours])
        and not (packages_only and isinstance(entry, Contender) and not entry.peer)
    ]
    if not equal:
        return None, None
    peer = min(equal, key=draw.seconds.__getitem__)
    return draw.seconds[peer] / max(draw.seconds[ours], 1e-9), peer


def line(name, family, draw):
    """Return one line about a draw, with time and value of each contender."""
    times = ", ".join(
        f"{who} {1e3 * seconds:.3g} ms ({draw.values[who]:.6g})"
        for who, seconds in draw.seconds.items()
    )
    quotient, peer = ratio(family, draw)
    verdict = "no peer equal" if quotient is None else f"{quotient:.2f} ({peer})"
    return f"{name}: {shown(draw.sizes)}: {verdict}; {times}"


def shown(sizes):
    """Return sizes as text."""
    texts = (
        f"{key} {value:,}" if isinstance(value, int) else f"{key} {value:.2g}"
        for key, value in sizes.items()
    )
    return ", ".join(texts)


class Summary(NamedTuple):
    """What the draws of a family say.

    Attributes
    ----------
    middle, middle_packages : float or None
        Median ratio against all peers, and against packages only.
    worst : tuple of (float, str, Draw) or None
        Smallest ratio, its peer and its table.
    lost, lost_packages : int
        Draws lost by more than 1.25, to all peers and to packages only.
    alone : int
        Draws in which no peer reaches our value.
    """

    middle: float | None
    middle_packages: float | None
    worst: tuple | None
    lost: int
    lost_packages: int
    alone: int


def summary(family, draws):
    """Summarise the draws of a family."""
    raced = [(*ratio(family, draw), draw) for draw in draws]
    raced = [entry for entry in raced if entry[0] is not None]

    # the same without lines by hand and other classes of this package
    packages = [ratio(family, draw, packages_only=True)[0] for draw in draws]
    packages = [quotient for quotient in packages if quotient is not None]

    return Summary(
        middle=median(quotient for quotient, _, _ in raced) if raced else None,
        middle_packages=median(packages) if packages else None,
        worst=min(raced, key=itemgetter(0), default=None),
        lost=sum(quotient < LOST for quotient, _, _ in raced),
        lost_packages=sum(quotient < LOST for quotient in packages),
        alone=len(draws) - len(raced),
    )
