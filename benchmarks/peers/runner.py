"""The running half: rounds interleave the contenders, so that all see the same load."""

import contextlib
import copy
import gc
import importlib.metadata
import io
import os
import re
import sys
import time
import warnings
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from benchmarks.peers import memory

OK = "ok"
ABSENT = "not installed"
FAILED = "failed"
LEFT_OUT = "left out"


@dataclass
class Row:
    """Measurements of one contender at one size."""

    size: str
    contender: str
    peer: bool
    note: str = ""
    status: str = OK
    message: str = ""
    seconds: list[float] = field(default_factory=list)
    ratio: float | None = None
    quality: dict = field(default_factory=dict)
    memory: float | None = None
    warned: list[str] = field(default_factory=list)

    def value(self, figure):
        """Return a figure by name; "ratio" and "memory" are figures too, None when unknown."""
        if figure in ("ratio", "memory"):
            return getattr(self, figure)
        return self.quality.get(figure)


def run_case(
    case,
    *,
    quick=False,
    repeat=None,
    sizes=None,
    seed=0,
    budget=120.0,
    measure=None,
    say=print,
):
    """Measure every contender at every size and return the rows, in the order of the table.

    Parameters
    ----------
    case : Case
    quick : bool
        Use the quick sizes and two rounds.
    repeat : int or None
        Timed rounds; None for the number in the case.
    sizes : collection of str or None
        Labels to keep.
    budget : float
        A contender that has used this many seconds at one size gets no further round.
    measure : callable or None
        `measure(contender, size)` gives peak bytes; None measures no memory.
    say : callable
        Called with one line at every step.
    """
    rounds = repeat or (2 if quick else case.repeat)
    sizes_by_label = case.quick_sizes if quick else case.sizes
    rows = []
    warm = {}

    for label, size in sizes_by_label.items():
        if sizes and label not in sizes:
            continue

        # draw the same data for all contenders
        rng = np.random.default_rng(seed)
        data = case.work(size, rng)
        table = {}

        for name, contender in case.contenders.items():
            row = Row(size=label, contender=name, peer=contender.peer, note=contender.note)
            table[name] = row
            _refuse(row, contender, label)
            if row.status != OK:
                continue

            # the first call compiles; a contender that fails here is not timed
            if name not in warm:
                say(f"{label}: {name}: warm-up")
                warm[name] = _warm_up(case, contender, seed)
            if warm[name]:
                row.status = FAILED
                row.message = warm[name]

        _rounds(case, table, data, label, rounds, budget, say)

        # measure memory after all timings
        if measure and case.memory_unit:
            unit = case.memory_unit[1](data)
            for row in table.values():
                if row.status == OK:
                    say(f"{label}: {row.contender}: peak memory")
                    peak = measure(row.contender, label)
                    row.memory = None if peak is None else peak / unit

        _set_ratios(table, case.ours)
        rows.extend(table.values())

    return rows


def order_of_round(names, number):
    """Rotate the contenders, so that each comes first, second, ... equally often.

    >>> order_of_round(["a", "b", "c"], 1)
    ['b', 'c', 'a']
    """
    shift = number % len(names) if names else 0
    return [*names[shift:], *names[:shift]]


def missing(requirement):
    """Return the advice to install a requirement, "" if it is installed."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    if not name:
        return ""
    try:
        importlib.metadata.version(name.group())
    except importlib.metadata.PackageNotFoundError:
        return f'pip install "{requirement}"'
    return ""


def versions(case):
    """Versions of all packages involved."""
    names = ["skmoderndata", "scikit-learn", "numpy", "scipy", "numba"]
    for contender in case.contenders.values():
        found = re.match(r"[A-Za-z0-9._-]+", contender.requires)
        if found and found.group() not in names:
            names.append(found.group())
    installed = {"Python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            installed[name] = importlib.metadata.version(name)
    return installed


def cores():
    """Cores that this process may use, and threads that the BLAS uses."""
    from threadpoolctl import threadpool_info

    threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    return {"cores": len(allowed), "blas_threads": max(threads, default=1)}


def _refuse(row, contender, label):
    advice = missing(contender.requires)
    if contender.sizes is not None and label not in contender.sizes:
        row.status = LEFT_OUT
        row.message = contender.why_not
    elif advice:
        row.status = ABSENT
        row.message = advice


def _warm_up(case, contender, seed):
    data = case.work(case.warmup, np.random.default_rng(seed))
    _, _, error = _once(case, contender, data, [])
    return error


def _rounds(case, table, data, label, rounds, budget, say):
    names = [name for name, row in table.items() if row.status == OK]
    for number in range(rounds):
        for name in order_of_round(names, number):
            # skip contenders that failed or have used up their time
            row = table[name]
            if row.status != OK or sum(row.seconds) > budget:
                continue
            say(f"{label}: {name}: round {number + 1} of {rounds}")

            seconds, result, error = _once(case, case.contenders[name], data, row.warned)
            if error:
                row.status = FAILED
                row.message = error
                continue

            # keep the quality of the first result
            row.seconds.append(seconds)
            if len(row.seconds) == 1:
                try:
                    row.quality = dict(case.quality(data, result))
                except Exception as error:
                    row.status = FAILED
                    row.message = f"quality: {_one_line(error)}"
            del result


def _once(case, contender, data, warned):
    """Run a contender on its own copy of the data: (seconds, result, error)."""
    copied = copy.deepcopy(data)
    with (
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")

        try:
            # preparation is not timed
            if contender.prepare is not None:
                copied = contender.prepare(copied)
            gc.collect()
            start = time.perf_counter()
            result = contender.run(copied)
            seconds = time.perf_counter() - start
        except Exception as error:
            return None, None, _one_line(error)

    for warning in caught:
        name = warning.category.__name__
        if name not in warned:
            warned.append(name)

    if case.seconds is not None:
        seconds = case.seconds(result)
    return seconds, result, ""


def _one_line(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}"


def _set_ratios(table, ours):
    base = table[ours].seconds if table[ours].status == OK else []
    for row in table.values():
        if base and row.seconds and row.status == OK:
            row.ratio = median(row.seconds) / median(base)


def measure_memory(case_name, *, quick, seed):
    """Return the `measure` of `run_case`: every contender in a process of its own."""
    return lambda contender, size: memory.in_own_process(
        case_name, contender, size, quick, seed
    )
