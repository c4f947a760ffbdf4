"""Counts of tests per kind of evidence, read from the test files."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

from skmoderndata._estimator.registry import all_estimators, all_kernels, method_stem

ROOT = Path(__file__).resolve().parents[3]


def _kinds():
    """Kinds of evidence: pytest's markers of this project, but for the one that means heavy."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    markers = settings["tool"]["pytest"]["ini_options"]["markers"]
    return tuple(
        name for name in (line.partition(":")[0] for line in markers) if name != "slow"
    )


KINDS = _kinds()


def file_of(cls):
    """Path of the tests of a class."""
    module = cls.__module__.split(".")[1]
    return ROOT / "tests" / module / f"test_{method_stem(cls)}.py"


def count(path):
    """Number of test functions per kind in a file, zeros if there is no such file.

    A function with two marks counts under both; a mark on a class or on the module (`pytestmark`)
    counts for every test in it; parametrised tests count once.
    """
    counts = Counter(dict.fromkeys(KINDS, 0))
    if path.exists():
        _walk(ast.parse(path.read_text(encoding="utf-8")).body, set(), counts)
    return {kind: counts[kind] for kind in KINDS}


def _walk(body, outer, counts):
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            outer = outer | _marks([node.value])
    for node in body:
        if isinstance(node, ast.ClassDef):
            _walk(node.body, outer | _marks(node.decorator_list), counts)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            counts.update(outer | _marks(node.decorator_list))


def _marks(nodes):
    attributes = (inner for node in nodes for inner in ast.walk(node))
    return {
        node.attr
        for node in attributes
        if isinstance(node, ast.Attribute)
        and node.attr in KINDS
        and ast.unparse(node.value) == "pytest.mark"
    }


def render():
    """Markdown table: a row per test file, a column per kind."""
    out = [f"| tests of | {' | '.join(KINDS)} |", "|---|" + "---:|" * len(KINDS)]
    files = {}
    for cls in [*all_estimators(), *all_kernels()]:
        files.setdefault(file_of(cls), []).append(cls)
    for path, classes in files.items():
        names = ", ".join(f"`{cls.__name__}`" for cls in classes)
        out.append(f"| {names} | {' | '.join(str(n) for n in count(path).values())} |")
    return "\n".join([*out, ""])
