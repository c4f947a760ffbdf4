"""Home problems: honest rivals, a verdict that can go either way, lines that run."""

import ast
import copy
import io
import json
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_equal
from rich.console import Console

from benchmarks.compare import home_run
from benchmarks.compare.__main__ import main, print_results
from benchmarks.compare.home import (
    FLAGSHIPS,
    KINDS,
    Case,
    Home,
    Result,
    find_home,
    find_rivals,
    gain,
    judge,
    known_homes,
)
from benchmarks.compare.home_report import in_order, print_homes, store
from benchmarks.compare.home_run import HomeRow, make_home_rows, run_home_rows
from benchmarks.compare.report import write_report
from benchmarks.compare.run import QUICK, Row
from skmoderndata._estimator.registry import all_estimators, all_kernels, method_stem
from tests.common.rules import ROOT

RIVALS = ROOT / "benchmarks" / "compare" / "rivals"
ALLOWED = {"sklearn", "numpy", "scipy", "itertools", "functools", "math", "re", "collections"}
# Maximum number of lines of an attempt, without its docstring. A larger limit only makes it harder
# for the method.
MOST_LINES = 17
LONGEST_NAME = 56
FIRST = next(iter(find_rivals("robust_pca")))

HOMES = [
    pytest.param(
        home,
        id=f"{stem}{'-away' if away else ''}",
        marks=pytest.mark.full if home.is_long else (),
    )
    for stem in known_homes()
    for away in (False, True)
    if (home := find_home(stem, away=away)) is not None
]


def rounds(*scores, seconds=1.0):
    return [Result(score, seconds) for score in scores]


PLAIN = Home(
    when="it is a test",
    title="toys",
    kind="tables",
    generated=True,
    make=lambda seed: Case(inputs=SimpleNamespace(x=seed), truth=seed, about="a number"),
    ours=lambda inputs: inputs.x,
    score=lambda case, answer: float(answer == case.truth),
    score_name="right",
    gain="{ours:.0%} of the numbers, {rival:.0%} with {name}, {times:.1f} times",
    lines="x + 1",
)


@pytest.mark.parametrize(
    ("ours", "theirs", "winner"),
    [
        ((0.9, 0.8, 0.9), (0.5, 0.6, 0.5), "method"),
        ((0.5, 0.6, 0.5), (0.9, 0.8, 0.9), "rival"),
        ((0.5, 0.5, 0.5), (0.501, 0.5, 0.499), "equal"),
        ((0.9, 0.1, 0.5), (0.1, 0.9, 0.4), "undecided"),
    ],
)
def test_verdict_rests_on_the_interval_of_the_difference(ours, theirs, winner):
    others = {"weak": rounds(0, 0, 0), "strong": rounds(*theirs)}
    found = judge(PLAIN, rounds(*ours), others)
    assert (found.winner, found.rival) == (winner, "strong")

    # use errors instead of scores: smaller is better
    errors = {name: rounds(*(1 - r.score for r in side)) for name, side in others.items()}
    turned = judge(
        replace(PLAIN, smaller=True), rounds(*(1 - score for score in ours)), errors
    )
    assert (turned.winner, turned.rival) == (winner, "strong")


def test_time_counts_only_among_equal_scores():
    home = replace(PLAIN, by_time=True)
    ours = rounds(0.9, 0.9, 0.9, seconds=1.0)
    quick_and_wrong = rounds(0.5, 0.5, 0.5, seconds=0.01)
    slow = rounds(0.9, 0.9, 0.9, seconds=5.0)
    found = judge(home, ours, {"wrong": quick_and_wrong, "slow": slow})
    assert (found.winner, found.rival) == ("method", "slow")
    assert gain(home, ours, {"slow": slow}, found) == (
        "90% of the numbers, 90% with slow, 5.0 times"
    )
    assert judge(home, slow, {"quick": ours}).winner == "rival"
    assert judge(home, quick_and_wrong, {"good": slow}).winner == "rival"
    assert judge(home, ours, {"wrong": quick_and_wrong}).winner == "method"

    # the mean is worse, but not clearly: a shorter time decides, a longer time does not
    wavering = [Result(score, 5.0) for score in (0.3, 0.9, 0.95)]
    assert judge(home, ours, {"wavering": wavering}).winner == "method"
    hasty = [result._replace(seconds=0.01) for result in wavering]
    assert judge(home, ours, {"hasty": hasty}).winner == "undecided"


def test_rows_in_common_widen_the_interval():
    ours = rounds(0.6, 0.7, 0.65)
    others = {"rival": rounds(0.5, 0.58, 0.6)}
    alone = judge(PLAIN, ours, others)
    shared = judge(replace(PLAIN, overlap=0.5), ours, others)
    assert shared.half_width > alone.half_width


@pytest.mark.parametrize("fails", ["make", "ours", "score", "rival"])
def test_failures_are_named_and_other_rows_continue(monkeypatch, fails):
    def broken(*args):
        raise ValueError("nothing\nworks")

    def right(inputs):
        return inputs.x

    toy = PLAIN if fails == "rival" else replace(PLAIN, **{fails: broken})
    homes = {"plain": PLAIN, "toy": toy}
    guesses = {"plain": right, "toy": broken if fails == "rival" else right}
    monkeypatch.setattr(
        home_run, "find_home", lambda stem, away=False: None if away else homes[stem]
    )
    monkeypatch.setattr(home_run, "find_rivals", lambda stem: {"a guess": guesses[stem]})
    rows = make_home_rows({"plain": (("A",), "f"), "toy": (("B",), "f")}, "quick")
    run_home_rows(rows, "quick")
    assert [row.state for row in rows] == ["finished", "failed"]
    assert rows[1].error.endswith("ValueError: nothing works")
    assert rows[0].verdict().winner == "equal"
    assert rows[0].gain.startswith("100% of the numbers, 100% with a guess, ")


def test_levels_vary_only_in_full_runs():
    home = replace(PLAIN, levels={"noise": (1, 2), "size": (3,)})
    assert home_run.conditions(home, "default") == [()]
    assert home_run.conditions(home, "full") == [
        (),
        (("noise", 1),),
        (("noise", 2),),
        (("size", 3),),
    ]
    many = replace(home, n_rounds=30)
    assert home_run.n_draws(many, "full") == 30
    assert home_run.n_draws(many, "full", (("size", 3),)) == 5
    assert home_run.n_draws(many, "quick") == 3


@pytest.fixture
def row():
    """A finished home problem, with one level that a rival wins."""
    home = replace(PLAIN, generated=False, draw=lambda fig, case, found: fig.subplots())
    found = HomeRow("robust_pca", ("RobustPCA",), "toys", home, False, about="a <number>")
    others = dict.fromkeys(find_rivals("robust_pca"), Result(0.5, 2.0))
    for condition, ours in (((), 0.9), ((("noise", 3),), 0.1)):
        results = {"ours": Result(ours, 1.0), **others}
        found.rounds[condition] = dict.fromkeys(range(3), results)
    return found


def test_report_opens_with_advice(row, tmp_path):
    failed = HomeRow("ksvd", ("KSVD",), "others", PLAIN, False, error="nothing works")
    path = write_report(
        [], QUICK, tmp_path, seconds=0.0, interrupted=False, homes=[failed, row]
    )
    text = path.read_text()
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>"))
    first, second = (line for line in root.iter("tr") if line.get("data-family"))
    assert "".join(first.itertext()) == (
        "Use RobustPCA when it is a testwins"
        f"90% of the numbers, 50% with {FIRST}, 2.0 timeshalf the time"
    )
    assert second.get("data-family") == "others"
    assert "nothing works" in "".join(second.itertext())
    assert text.index("When to use which") < text.index(
        "Compared with the closest scikit-learn"
    )
    assert "2 benchmarks designed for a method: 1 won, 0 lost" in text
    assert "noise = 3" in text
    assert len(list(root.iter("img"))) == 1 or "the plot failed" in text


def test_documentation_keeps_results_that_were_not_run_again(row, tmp_path):
    path = tmp_path / "comparison.json"
    other = replace(row, stem="ksvd")
    store(path, [row, other])
    row.rounds[()] = {
        seed: {**found, "ours": Result(0.1, 1.0)} for seed, found in row.rounds[()].items()
    }
    store(path, [row, HomeRow("ksvd", ("KSVD",), "toys", PLAIN, False, error="broken")])
    first, second = json.loads(path.read_text())
    assert (first["page"], first["winner"]) == ("ksvd", "method")
    assert (second["page"], second["winner"]) == ("robust_pca", "rival")
    (level,) = second["levels"]
    assert (level["name"], level["value"], level["winner"]) == ("noise", 3, "rival")


def test_terminal_shows_one_line_for_each(row):
    stream = io.StringIO()
    print_homes(Console(file=stream, width=200), [row])
    assert "Use RobustPCA when it is a test" in stream.getvalue()
    assert f"90% of the numbers, 50% with {FIRST}, 2.0 times" in stream.getvalue()


@pytest.mark.parametrize("stem", known_homes())
def test_rivals_are_a_few_lines_of_scikit_learn(stem):
    source = (RIVALS / f"{stem}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        assert {name.split(".")[0] for name in names} <= ALLOWED

    # the lines of a helper are counted for every attempt that uses it; an attempt may build on
    # another attempt
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    attempts = [name for name in functions if not name.startswith("_")]
    lengths = {
        name: n_lines(name, {k: v for k, v in functions.items() if k[0] == "_" or k == name})
        for name in attempts
    }
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}
    assert [name for name in find_rivals(stem) if len(name) > LONGEST_NAME] == []
    assert len(find_rivals(stem)) == len(attempts)


def n_lines(name, functions):
    """Lines of a function and of all that it uses from the same file, without docstrings."""
    used = [name]
    for each in used:
        names = [n.id for n in ast.walk(functions[each]) if isinstance(n, ast.Name)]
        used += [n for n in dict.fromkeys(names) if n in functions and n not in used]
    return sum(
        node.end_lineno - node.body[ast.get_docstring(node) is not None].lineno + 1
        for node in map(functions.get, used)
    )


def test_lines_of_helpers_count():
    source = (
        "def _one(x):\n    y = x\n    return y\ndef two(x):\n    'two'\n    return _one(x)"
    )
    functions = {node.name: node for node in ast.parse(source).body}
    assert n_lines("two", functions) == 3


@pytest.mark.few(10)
@pytest.mark.parametrize("home", HOMES)
def test_home_is_reproducible_and_its_lines_run(home):
    assert home.kind in KINDS
    case = home.make(1)
    again = home.make(1)
    assert_equal(vars(case.inputs), vars(again.inputs))
    assert not home.when.endswith(".")

    # run the lines of the page on a copy of what the contenders receive
    names = classes() | {"np": np} | copy.deepcopy(vars(case.inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(home.lines, "lines", "exec"), names)
    assert 1 <= len(home.lines.splitlines()) <= 4


# Names of tools with which other methods are combined.
TOOLS = {
    "kernel_algebra",
    "kernel_matrix_steps",
    "kernel_transformer",
    "dynamic_time_warping",
    "time_delay_embedding",
}


def test_a_method_has_a_home_or_a_better_choice():
    cards = {}
    for cls in [*all_estimators(), *all_kernels()]:
        cards.setdefault(method_stem(cls), []).append(cls._card)
    undecided = {
        stem
        for stem, found in cards.items()
        if stem not in known_homes() and not any(card.tier != "core" for card in found)
    }
    assert undecided == TOOLS


def test_stored_results_match_the_problems():
    stored = json.loads((ROOT / "docs" / "comparison.json").read_text(encoding="utf-8"))
    for entry in stored:
        home = find_home(entry["page"], away=entry["away"])
        names = [contender["name"] for contender in entry["contenders"][1:]]
        assert names == list(find_rivals(entry["page"]))
        assert (entry["when"], entry["lines"]) == (home.when, home.lines)
        assert (entry["title"], entry["score"]) == (home.title, home.score_name)


def classes():
    return {cls.__name__: cls for cls in [*all_estimators(), *all_kernels()]}


# ---- the methods that README shows


def readme_pages():
    """Pages in the table of README.md, in its order."""
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- comparison")[1]
    return re.findall(r"^\| \[\w+\]\(docs/methods/(\w+)\.md\)", table, re.MULTILINE)


def test_every_run_measures_the_methods_of_the_readme_first():
    assert list(FLAGSHIPS) == readme_pages()
    pages = {stem: ((stem,), "f") for stem in known_homes()}
    for size in ("quick", "default", "full"):
        rows = make_home_rows(pages, size)
        measured = [row.stem for row in rows if not row.away]
        assert measured[: len(FLAGSHIPS)] == list(FLAGSHIPS)
        assert [row.stem for row in in_order(rows) if not row.away][: len(FLAGSHIPS)] == list(
            FLAGSHIPS
        )


def test_shorter_runs_draw_smaller_problems(monkeypatch):
    home = replace(PLAIN, short={"n": 10}, short_rounds=4, n_rounds=30)
    home = replace(
        home, make=lambda seed, n=1000: Case(inputs=None, truth=n, about=f"{n} rows")
    )
    monkeypatch.setattr(home_run, "find_home", lambda stem, away=False: None if away else home)
    abouts = {}
    for size in ("quick", "default", "full"):
        (row,) = make_home_rows({"toy": (("A",), "f")}, size)
        abouts[size] = row.make(1).about
    assert abouts == {"quick": "10 rows", "default": "10 rows", "full": "1000 rows"}
    assert home_run.n_draws(home, "quick") == 3
    assert home_run.n_draws(home, "default") == 4
    assert home_run.n_draws(home, "full") == 30
    assert home.is_long


def test_documentation_shows_full_draws_only(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--write-docs", "--output", str(tmp_path)])
    assert "--write-docs needs --full" in capsys.readouterr().err


def test_terminal_shows_benchmarks_of_methods_before_the_other_table(row):
    stream = io.StringIO()
    print_results(Console(file=stream, width=200), [row], [])
    assert "closest scikit-learn estimator" not in stream.getvalue()
    print_results(
        Console(file=stream, width=200), [row], [Row("PCA", "digits", error="broken")]
    )
    text = stream.getvalue()
    place = text.index(
        "Compared with the closest scikit-learn estimator, on data that are not"
    )
    assert text.index("90% of the numbers") < place < text.rindex("method")
