"""The pages show code that is tested, and name every solver that there is to choose."""

import ast
import re

import pytest
from sklearn.utils._param_validation import StrOptions

from skmoderndata._estimator.registry import all_estimators
from tests.common import page as page_rules
from tests.common import rules

PAGES = sorted((rules.ROOT / "docs" / "methods").glob("*.md"))
BOX = re.compile(r"```\{literalinclude\} (\S+)\n:language: python\n:pyobject: (\w+)\n```")
BOXES = [
    (page, *box) for page in PAGES for box in BOX.findall(page.read_text(encoding="utf-8"))
]
CHOICES = [
    pytest.param(cls, parameter, id=f"{cls.__name__}-{parameter}")
    for cls in all_estimators()
    for parameter in ("solver", "algorithm")
    if parameter in cls._parameter_constraints
]
TESTS = [
    path.read_text(encoding="utf-8") for path in (rules.ROOT / "tests").rglob("test_*.py")
]


def test_at_least_thirty_methods_show_their_algorithm():
    assert len({page for page, *_ in BOXES}) >= 30


def body_lines(source, box):
    return page_rules.body_lines(box, page_rules.lines_of(source))


@pytest.mark.parametrize(
    ("page", "path", "name"), BOXES, ids=[f"{page.stem}-{name}" for page, _, name in BOXES]
)
def test_box_is_short_and_tested(page, path, name):
    file = (page.parent / path).resolve()
    source = file.read_text(encoding="utf-8")
    (box,) = (node for node in ast.parse(source).body if getattr(node, "name", None) == name)
    assert len(page_rules.lines_of(source).code.intersection(body_lines(source, box))) < 50
    assert ast.get_docstring(box)
    word = re.compile(rf"\b{name}\b")
    called_here = len(word.findall(source)) > 1
    assert called_here or any(file.stem in test and word.search(test) for test in TESTS)


@pytest.mark.parametrize(("cls", "parameter"), CHOICES)
def test_every_solver_is_in_the_table(cls, parameter):
    text = (rules.ROOT / "docs" / "solvers.md").read_text(encoding="utf-8")
    rows = "\n".join(row for row in text.splitlines() if f"`{cls.__name__}`" in row)
    options = {
        option
        for constraint in cls._parameter_constraints[parameter]
        if isinstance(constraint, StrOptions)
        for option in constraint.options
    }
    assert options == {option for option in options if f'"{option}"' in rows}
