"""One word for one thing, over all signatures and fitted attributes."""

import ast
import inspect
import re
from collections import Counter

import pytest
from numpydoc.docscrape import FunctionDoc

from skmoderndata._estimator.registry import all_estimators
from tests.common import rules

CLASSES = all_estimators()
PAGE = rules.ROOT / "docs" / "contributing.md"


def words_not_used():
    """Words that the table of `docs/contributing.md` replaces: word -> what to use."""
    text = PAGE.read_text(encoding="utf-8").split("## Vocabulary")[1].split("\n### ")[0]
    table = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[2].startswith("`"):
            for word in re.findall(r"`(\w+)`", cells[2]):
                table[word] = cells[1]
    return table


def public_names(cls):
    """Parameters and documented fitted attributes of a class."""
    documented = FunctionDoc(cls, doc=inspect.getdoc(cls))["Attributes"]
    attributes = {name.strip() for part in documented for name in part.name.split(",")}
    return set(inspect.signature(cls).parameters) | attributes


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_names_match_the_table(cls):
    replaced = words_not_used()
    # scikit-learn uses "rank" for a numerical rank, not for a requested number of components
    found = {name: replaced[name.rstrip("_")] for name in public_names(cls) - {"rank_"}
             if name.rstrip("_") in replaced}  # fmt: skip
    assert found == {}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_at_most_two_positional_parameters(cls):
    positional = [
        name
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    assert len(positional) <= 2


def test_the_table_can_fail():
    assert {"lam", "noise_bound", "n_nonzero", "method"} <= set(words_not_used())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_kernels_scale_their_width_with_the_data(cls):
    parameters = inspect.signature(cls).parameters
    if "gamma" in parameters and "kernel" in parameters:
        assert parameters["gamma"].default == "scale"


SOLVERS = sorted((rules.ROOT / "skmoderndata" / "_solvers").rglob("*.py"))
VAGUE_CONSTANTS = {
    *("BLOCK", "CHUNK", "ROOM", "DENSE", "SMALL", "RIDGE", "PATIENCE"),
    *("MOST", "FEW", "LONG", "HUGE", "FAR"),
}
# Functions of solvers whose names contain a word that the table replaces; this list only ever
# shrinks.
VAGUE_NAMES = {
    "found": 0,
    "known": 0,
    "at": 0,
    "part": 0,
    "place": 0,
    "most": 0,
    "left": 8,
    "kept": 0,
    "rest": 0,
    "room": 0,
    "piece": 0,
}


def vague_constants(source):
    """Constants of a module whose name does not say what they are of, or in which unit."""
    assigned = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    names = {
        target.id for node in assigned for target in node.targets if hasattr(target, "id")
    }
    return sorted(names & VAGUE_CONSTANTS)


def vague_names(source):
    """Count the functions that use each word of `VAGUE_NAMES` as argument or local name."""
    count = Counter()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            names = {n.id for n in stored if isinstance(n.ctx, ast.Store)}
            names |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
            count.update(names & VAGUE_NAMES.keys())
    return count


def test_constants_name_quantity_and_unit():
    package = sorted((rules.ROOT / "skmoderndata").rglob("*.py"))
    found = {path.name: vague_constants(path.read_text(encoding="utf-8")) for path in package}
    assert not any(found.values()), {name: words for name, words in found.items() if words}


def test_one_machine_epsilon():
    texts = {path.name: path.read_text(encoding="utf-8") for path in SOLVERS}
    assert [name for name, text in texts.items() if re.search(r"^EPS = ", text, re.M)] == [
        "linalg.py"
    ]


def test_names_in_solvers_say_what_they_are():
    counts = sum(
        (vague_names(path.read_text(encoding="utf-8")) for path in SOLVERS), Counter()
    )
    above = {word: counts[word] for word, most in VAGUE_NAMES.items() if counts[word] > most}
    assert above == {}


def test_vague_words_are_found():
    assert vague_constants("BLOCK = 3\nBLOCK_ROWS = 4") == ["BLOCK"]
    assert vague_names("def f(found):\n    known = found")["known"] == 1


def test_words_of_solvers_are_in_the_table():
    text = PAGE.read_text(encoding="utf-8").split("### In solvers")[1].split("\n## ")[0]
    told = {word for line in text.splitlines() for word in re.findall(r"`(\w+)`", line)}
    assert told >= VAGUE_CONSTANTS | VAGUE_NAMES.keys()
