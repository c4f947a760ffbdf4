"""One word for one thing, over all signatures and fitted attributes."""

import inspect
import re

import pytest
from numpydoc.docscrape import FunctionDoc

from skmoderndata._registry import all_estimators
from tests.common import rules

CLASSES = all_estimators()
PAGE = rules.ROOT / "docs" / "contributing.md"


def words_not_used():
    """Words that the table of `docs/contributing.md` replaces: word -> what to use."""
    text = PAGE.read_text(encoding="utf-8").split("## Vocabulary")[1].split("\n## ")[0]
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
def test_names_are_those_of_the_table(cls):
    replaced = words_not_used()
    # scikit-learn's word for a numerical rank, which is no number of components asked for
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
