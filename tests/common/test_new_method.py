"""`make new` writes files that import, are formatted, and whose evidence tests fail at first."""

import ast
import subprocess
import sys

import pytest

from tests.common import rules
from tools import new_method


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(new_method, "ROOT", tmp_path)
    (tmp_path / "skmoderndata" / "cluster").mkdir(parents=True)
    return tmp_path


def test_files_of_a_new_method(checkout):
    pytest.importorskip("ruff")
    assert new_method.main(["METHOD=BooleanKMeans", "MODULE=cluster"]) == 0

    # the generated file has five tests that must be filled in, and `evidence` names them
    test_file = checkout / "tests" / "cluster" / "test_boolean_k_means.py"
    source = test_file.read_text()
    assert rules.too_little_evidence(source) == []
    assert sum(isinstance(node, ast.Raise) for node in ast.walk(ast.parse(source))) == 5

    assert (
        "class BooleanKMeans"
        in (checkout / "skmoderndata" / "cluster" / "_boolean_k_means.py").read_text()
    )
    assert (checkout / "docs" / "methods" / "boolean_k_means.md").exists()
    assert (checkout / "examples" / "plot_boolean_k_means.py").exists()

    # the generated files pass the style checks
    config = str(rules.ROOT / "pyproject.toml")
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--config", config, str(checkout)],
            cwd=checkout,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_names_are_sorted_and_nothing_is_overwritten(checkout):
    for name in ("Zebra", "Aardvark"):
        assert new_method.main([f"METHOD={name}", "MODULE=cluster"]) == 0
    text = (checkout / "skmoderndata" / "cluster" / "__init__.py").read_text()
    assert text.index('"Aardvark"') < text.index('"Zebra"')
    assert "exist already" in new_method.main(["METHOD=Zebra", "MODULE=cluster"])


def test_imports_of_several_lines_are_left_as_they_are(checkout):
    path = checkout / "skmoderndata" / "cluster" / "__init__.py"
    before = (
        '"""Clusters."""\n\n'
        "from skmoderndata.cluster._many import (\n    First,\n    Second,\n)\n\n"
        '__all__ = [\n    "First",\n    "Second",\n]\n'
    )
    path.write_text(before)
    for name in ("Aardvark", "Zebra"):
        assert new_method.main([f"METHOD={name}", "MODULE=cluster"]) == 0
    assert path.read_text() == (
        '"""Clusters."""\n\n'
        "from skmoderndata.cluster._aardvark import Aardvark\n"
        "from skmoderndata.cluster._many import (\n    First,\n    Second,\n)\n"
        "from skmoderndata.cluster._zebra import Zebra\n\n"
        '__all__ = [\n    "Aardvark",\n    "First",\n    "Second",\n    "Zebra",\n]\n'
    )


@pytest.mark.parametrize(
    "arguments", [[], ["METHOD=lower", "MODULE=cluster"], ["METHOD=Good"]]
)
def test_wrong_call_prints_the_usage(checkout, arguments):
    assert new_method.main(arguments).startswith("usage:")
