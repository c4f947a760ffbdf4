"""A task of another project: its data, its measure, its program and ours."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent
LIST = FOLDER / "tasks.md"
# Maximum relative difference of two figures that count as level.
LEVEL = 0.02

Measured = float | Sequence[float]


@dataclass(frozen=True)
class Task:
    """What one task needs to be run.

    `theirs`, `ours` and `documented` take the problem that `load` returns, and return the measured
    figure, or one figure per draw if the task repeats. `documented` is None if our defaults are
    the setting that our documentation recommends. `expected` was written down before ours was run.
    """

    name: str
    origin: str
    link: str
    program: str
    data: str
    licence: str
    measure: str
    better: str
    published: float | None
    expected: str
    load: Callable[[], Any]
    theirs: Callable[[Any], Measured]
    ours: Callable[[Any], Measured]
    documented: Callable[[Any], Measured] | None = None
    reason: str = ""


def verdict(ours, theirs, better):
    """Return "won", "level" or "lost"; draws are compared pair by pair.

    Figures are level within `LEVEL`, or within the standard error of the mean difference.
    """
    ours, theirs = np.atleast_1d(ours), np.atleast_1d(theirs)
    scale = max(abs(ours.mean()), abs(theirs.mean()))
    margin = LEVEL * scale
    if len(ours) == len(theirs) > 1:
        margin = max(margin, np.std(ours - theirs, ddof=1) / np.sqrt(len(ours)))
    lead = ours.mean() - theirs.mean()
    if better == "lower":
        lead = -lead
    # NaN compares as False, so a figure that is not a number is a loss
    if abs(lead) <= margin:
        return "level"
    return "won" if lead > 0 else "lost"


def find_tasks():
    """Return the tasks that have a file, by name."""
    names = sorted(path.stem for path in (FOLDER / "tasks").glob("[a-z]*.py"))
    modules = (importlib.import_module(f"benchmarks.away.tasks.{name}") for name in names)
    return {module.TASK.name: module.TASK for module in modules}


def listed():
    """Return the rows of the list of all tasks, as dictionaries, by name."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    head, _, *body = rows
    return {row[0]: dict(zip(head, row, strict=True)) for row in body}
