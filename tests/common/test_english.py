"""The project writes plain English: rates that may fall, and may not rise."""

import pytest

from tests.common import english
from tests.common.rules import ROOT

# Maximum number of constructions per 10,000 words; it is only ever lowered.
MOST_IN_PAGES = 3.0
MOST_IN_PACKAGE = 4.0
# Maximum percentage of comments that begin in the middle of a sentence; it is only ever lowered.
MOST_HEADLESS = 0.2


def sources():
    return [path.read_text(encoding="utf-8") for path in (ROOT / "skmoderndata").rglob("*.py")]


def test_pages_are_in_plain_english():
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    written = [path for path in paths if not {"changes", "generated"} & set(path.parts)]
    texts = [english.prose_of(path.read_text(encoding="utf-8")) for path in written]
    assert english.rate(texts) <= MOST_IN_PAGES


def test_docstrings_and_comments_become_no_worse():
    texts = []
    for source in sources():
        texts += english.comments_of(source) + english.docstrings_of(source)
    assert english.rate(texts) <= MOST_IN_PACKAGE


def test_comments_begin_with_a_head():
    comments = [text for source in sources() for text in english.comments_of(source)]
    assert english.headless(comments) <= MOST_HEADLESS


@pytest.mark.parametrize(
    "sentence",
    [
        "The error is that of the mean.",
        "It does what was asked.",
        "It takes ten passes, at most.",
        "This is no minimum.",
        "Rows tell columns.",
        "There are ten, of which two are empty.",
        "so many columns",
        "The passes go on.",
        "all but for one",
    ],
)
def test_constructions_are_counted(sentence):
    assert english.rate([sentence]) > 0
    assert english.rate(["The plain sentence has none of them."]) == 0


def test_headless_comments_are_counted():
    source = (
        "LIMIT = 3  # of the smaller side\n# Number of passes.\n# They end early.\nN = 2\n"
    )
    assert english.comments_of(source) == [
        "of the smaller side",
        "Number of passes. They end early.",
    ]
    assert english.headless(english.comments_of(source)) == 50


def test_code_tables_and_formulas_are_no_prose():
    page = "# What is\n\n```python\ntold = 1\n```\n\n| of which |\n\n$that of$ `asked` plain\n"
    assert english.prose_of(page).split() == ["plain"]
    source = '"""Told.\n\n>>> asked\n"""\n'
    assert english.docstrings_of(source)[0].split() == ["Told."]
