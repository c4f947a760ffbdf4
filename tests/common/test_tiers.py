"""The tiers of the tests: what runs by default, with `-m`, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MARKED = """
import pytest


def test_plain():
    pass


@pytest.mark.oracle
def test_evidence():
    pass


@pytest.mark.full
def test_long():
    pass


@pytest.mark.slow
def test_minutes():
    pass


@pytest.mark.parametrize(
    "case", [0, pytest.param(1, marks=pytest.mark.full), pytest.param(2, marks=pytest.mark.slow)]
)
def test_marked_cases(case):
    pass


@pytest.mark.few(3)
@pytest.mark.parametrize("case", range(9))
def test_few(case):
    pass


@pytest.mark.few(1)
@pytest.mark.parametrize("case", range(4))
def test_one(case):
    pass


@pytest.mark.few(5)
@pytest.mark.parametrize("case", range(2))
def test_fewer_than_few(case):
    pass
"""
DEFAULT = {
    *("test_plain", "test_evidence", "test_marked_cases[0]", "test_one[0]"),
    *(f"test_few[{case}]" for case in (0, 4, 8)),
    *(f"test_fewer_than_few[{case}]" for case in range(2)),
}
ALL = {
    *DEFAULT,
    *("test_long", "test_marked_cases[1]"),
    *(f"test_few[{case}]" for case in range(9)),
    *(f"test_one[{case}]" for case in range(4)),
}
SLOW = {"test_minutes", "test_marked_cases[2]"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], DEFAULT),
        (["-m", "not slow"], ALL),
        pytest.param(["-m", "slow"], SLOW, marks=pytest.mark.full),
        pytest.param(
            ["-m", "full or slow"],
            {"test_long", "test_marked_cases[1]", *SLOW},
            marks=pytest.mark.full,
        ),
        pytest.param(["-m", "oracle"], {"test_evidence"}, marks=pytest.mark.full),
    ],
    ids=["default", "all", "slow", "full or slow", "oracle"],
)
def test_tiers_run_what_they_name(options, expected, tmp_path):
    """The suite's own conftest in another folder, and so without the suite's tests."""
    assert collected_names(tmp_path, "--collect-only", *options) == expected


@pytest.mark.full
def test_the_default_tier_and_what_is_beyond_it_are_all_tests(tmp_path):
    assert collected_names(tmp_path, "-rA") >= DEFAULT
    beyond = collected_names(tmp_path, "--collect-only", "--beyond-default", "-m", "not slow")
    assert beyond == ALL - DEFAULT


def collected_names(folder, *options):
    """Names of the tests that pytest prints for marked tests with the suite's own conftest."""
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_marked.py").write_text(MARKED)
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={folder / 'cache'}"),
        *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), *options),
        str(folder / "test_marked.py"),
    ]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = {line.split("::")[1] for line in told.stdout.splitlines() if "::" in line}
    assert names, told.stdout + told.stderr
    return names
