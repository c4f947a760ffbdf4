"""The pages of the code have paragraphs; what holds them fails on broken examples."""

import pytest

from tests.common import page
from tests.common.rules import ROOT

FOLDERS = ("skmoderndata", "tests", "benchmarks", "docs/_ext")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
PACKAGE = [path for path in FILES if path.is_relative_to(ROOT / "skmoderndata")]

# Names of pursuits whose loops are single functions, because calls in them would take time;
# headings mark their steps.
KEPT_WHOLE = {"_omp", "homotopy"}


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_file_has_paragraphs(path):
    source = path.read_text(encoding="utf-8")
    assert page.long_runs(source) == []
    assert page.nested_choices(source) == []
    assert page.crowded_assignments(source) == []


@pytest.mark.parametrize("path", PACKAGE, ids=name)
def test_functions_are_not_crowded(path):
    crowded = page.crowded_functions(path.read_text(encoding="utf-8"))
    assert [
        line for line in crowded if not any(f": {kept} has" in line for kept in KEPT_WHOLE)
    ] == []


# For each folder: tokens per statement, percentages of the functions of at least 20 lines that
# have no blank line or no heading, and comments per 100 lines. These limits are only ever
# tightened.
LIMITS = {
    "skmoderndata/_solvers": (11.5, 1, 5, 8),
    "skmoderndata": (11.3, 1, 6, 6),
    "tests": (None, 5, None, None),
    "benchmarks": (None, 5, None, None),
    "docs/_ext": (None, 5, None, None),
}


@pytest.mark.parametrize("folder", LIMITS)
def test_folder_reads_well(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    found = page.page_of([path.read_text(encoding="utf-8") for path in files])
    tokens, bare, headless, comments = LIMITS[folder]
    assert tokens is None or found.tokens_per_statement <= tokens, found
    assert found.without_blank_line <= bare, found
    assert headless is None or found.without_heading <= headless, found
    assert comments is None or found.comments >= comments, found


BROKEN = [
    (page.long_runs, "def f():\n" + "    x = 1\n" * 26),
    (page.long_runs, "class A:\n    def f(self):\n" + "        x = 1\n" * 26),
    (page.nested_choices, "x = a if b else c if d else e"),
    (page.nested_choices, "x = f(a if b else c) if d else e"),
    (page.crowded_assignments, "a, b = f(x), g(y)"),
    (page.crowded_assignments, "self.a, self.b = x, y"),
    (page.crowded_functions, "def f():\n" + "    x = 1\n" * 61),
    (page.crowded_functions, "def f():\n" + "    if a: b\n" * 28),
    (page.crowded_functions, "def f():\n" + "".join(f"    x{i} = 1\n" for i in range(35))),
]


@pytest.mark.parametrize(("rule", "source"), BROKEN)
def test_broken_page_is_found(rule, source):
    assert rule(source)


FINE = [
    (page.long_runs, "def f():\n" + "    x = 1\n" * 25 + "    # then\n" + "    x = 1\n" * 25),
    (page.long_runs, 'def f():\n    """Text.\n' + "    more\n" * 30 + '    """\n    x = 1\n'),
    (page.nested_choices, "x = (a if b else c) + 1"),
    (page.crowded_assignments, "a, b = b, a"),
    (page.crowded_assignments, "a, b = b, a + b"),
    (page.crowded_assignments, "n, p = X.shape"),
    (page.crowded_assignments, "a, b = f(x)"),
    (page.crowded_functions, "def f():\n" + "    x = 1\n" * 60),
]


@pytest.mark.parametrize(("rule", "source"), FINE)
def test_fine_page_passes(rule, source):
    assert rule(source) == []


def test_page_is_measured():
    bare = "def f():\n" + "    x = 1\n" * 20
    good = "def g():\n" + "    x = 1\n" * 10 + "\n    # then\n" + "    x = 1\n" * 10
    found = page.page_of([bare, good])
    assert found.without_blank_line == found.without_heading == 50
    assert found.comments == pytest.approx(100 / 40)
    assert found.tokens_per_statement == 3
