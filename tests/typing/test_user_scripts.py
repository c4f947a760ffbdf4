"""A type checker accepts scripts of users, and finds their mistakes."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import skmoderndata

ROOT = Path(skmoderndata.__file__).parents[1]
SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
# Settings that suppress errors inside the package, as for an installed package.
SETTINGS = f"""
[mypy]
python_version = 3.11
mypy_path = {ROOT.as_posix()}

[mypy-skmoderndata.*]
follow_imports = silent

[mypy-sklearn.*]
ignore_missing_imports = True
"""
WRONG = """
from skmoderndata.decomposition import NoSuchMethod
from skmoderndata.kernels import PSpectrum

PSpectrum(p="two")
"""


@pytest.mark.certificate
def test_package_has_the_marker_of_typed_packages():
    assert (Path(skmoderndata.__file__).parent / "py.typed").is_file()
    assert len(SCRIPTS) == 10


@pytest.mark.full
@pytest.mark.certificate
def test_mypy_accepts_scripts_and_finds_mistakes(tmp_path):
    pytest.importorskip("mypy")
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS, encoding="utf-8")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG, encoding="utf-8")

    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--no-error-summary"]
    options = ["--cache-dir", tmp_path / "cache", "--hide-error-context"]
    found = subprocess.run(
        [*command, *options, *SCRIPTS, wrong], capture_output=True, text=True, cwd=tmp_path
    )

    errors = [line for line in found.stdout.splitlines() if ": error:" in line]
    places = [line.split(": error:")[0] for line in errors]
    assert places == ["wrong.py:2", "wrong.py:5"], found.stdout + found.stderr


@pytest.mark.full
@pytest.mark.certificate
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs(script):
    runpy.run_path(str(script))
