"""The table of the release rehearsal shows every step, and its verdict every failure."""

import sys

import pytest

from tests.common import rules

sys.path.append(str(rules.ROOT / "tools"))
import rehearsal

pytestmark = pytest.mark.edge

ROWS = [
    rehearsal.Row("install wheel", "3.12", "passed", 41.4),
    rehearsal.Row("notebook", "3.12", "failed with status 1", 3.0),
    rehearsal.Row("clone", "3.13", "not run", None),
]


def test_table_has_aligned_columns():
    lines = rehearsal.table(ROWS).splitlines()
    assert lines[0].split() == ["step", "Python", "result", "seconds"]
    assert lines[2].split() == ["install", "wheel", "3.12", "passed", "41"]
    assert (
        len(
            {
                line.index(result)
                for line, result in zip(lines[2:], ("passed", "failed", "not"), strict=True)
            }
        )
        == 1
    )


def test_verdict_names_each_problem():
    problems = rehearsal.verdict(ROWS, ["3.14"])
    assert problems == [
        "Failed: notebook, Python 3.12 (failed with status 1).",
        "Failed: clone, Python 3.13 (not run).",
        "Not found on PATH, in pyenv or by uv: Python 3.14.",
        "Too few Pythons: 2, of at least 3.",
    ]
    assert rehearsal.verdict(ROWS[:1], [], fewest=0) == []


def test_pythons_are_tried_before_they_are_used():
    version = ".".join(map(str, sys.version_info[:2]))
    assert rehearsal.is_python(sys.executable, version)
    assert not rehearsal.is_python(sys.executable, "3.0")
    assert not rehearsal.is_python("/no/such/python", version)
    assert rehearsal.declared_versions()[0] == "3.11"
