"""Evidence that the tasks of other projects are judged as their page says."""

import numpy as np
import pytest

from benchmarks.away import page
from benchmarks.away.__main__ import run
from benchmarks.away.task import Task, find_tasks, listed, verdict


def toy(**changes):
    """Measure how well the mean and the median find 0 in ten draws."""
    facts = {
        name: ""
        for name in ("origin", "link", "program", "data", "licence", "measure", "reason")
    }
    facts |= {
        "name": "toy", "better": "lower", "published": None, "expected": "ours",
        "load": lambda: np.random.default_rng(0).standard_t(2, size=(10, 50)),
        "theirs": lambda draws: abs(np.mean(draws, axis=1)),
        "ours": lambda draws: abs(np.median(draws, axis=1)),
    }  # fmt: skip
    return Task(**{**facts, **changes})


def absent(problem):
    raise ImportError("no module named theirs")


def test_list_has_sixty_tasks_and_a_third_expected_losses():
    rows = listed()
    assert len(rows) == 60
    assert sum(row["expected"] == "origin" for row in rows.values()) >= 20


def test_every_file_is_in_the_list_unchanged():
    rows = listed()
    for name, task in find_tasks().items():
        facts = {key: rows[name][key] for key in ("origin", "link", "measure", "expected")}
        assert facts == {key: getattr(task, key) for key in facts}, name
        assert task.better in {"lower", "higher"}


@pytest.mark.parametrize(
    ("ours", "theirs", "better", "expected"),
    [
        (1.0, 1.01, "lower", "level"),
        (1.0, 1.1, "lower", "won"),
        (1.0, 1.1, "higher", "lost"),
        (0.0, 0.0, "higher", "level"),
        (np.nan, 1.0, "lower", "lost"),
        # the differences are 0.5 and -0.3, with a standard error of 0.4
        ([1.5, 1.0], [1.0, 1.3], "lower", "level"),
        ([1.5, 1.4], [1.0, 1.0], "lower", "lost"),
    ],
)
def test_verdict(ours, theirs, better, expected):
    assert verdict(ours, theirs, better) == expected


def test_run_measures_both_sides():
    task = toy()
    record = run(task)
    assert len(record["ours"]["figures"]) == 10
    assert page.judge(task, record, "ours") == "won"


def test_missing_program_is_named_and_its_published_figure_is_used():
    task = toy(theirs=absent, published=10.0)
    record = run(task)
    assert "missing" in record["theirs"]
    assert page.judge(task, record, "ours") == "won"
    assert page.judge(toy(theirs=absent), record, "ours") == "no verdict"


def test_table_lists_tasks_that_were_not_run():
    rows = {"toy": {"expected": "ours"}, "other": {"expected": "origin"}}
    lines = page.table(rows, {"toy": toy()}, {"toy": run(toy())}).splitlines()
    assert "not run" not in lines[2]
    assert "not run" in lines[3]
