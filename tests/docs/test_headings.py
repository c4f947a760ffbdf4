"""A heading of the site without content, and a method without an example, are seen."""

import sys
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path[:0] = [str(DOCS / "_ext"), str(ROOT / "tools")]

from skmoderndata_site import api, cards, examples, headings  # noqa: E402

WHOLE = "Page\n====\n\nText.\n\nPart\n----\n\n.. rubric:: Notes\n\nText.\n"
PAGES = sorted(path.stem for path in (DOCS / "methods").glob("*.md"))


@pytest.mark.parametrize(
    ("added", "missing"),
    [
        ("", []),
        ("\nExamples\n--------\n", ["Examples"]),
        ("\nExamples\n--------\n\n.. a comment\n", ["Examples"]),
        ("\n.. rubric:: Examples\n", ["Examples"]),
        ("\n.. rubric:: One\n\n.. rubric:: Two\n\nText.\n", ["One"]),
        ("\nExamples\n--------\n\nMore\n~~~~\n\nText.\n", []),
    ],
)
def test_headings_without_content_are_found(added, missing):
    assert headings.empty(publish_doctree(WHOLE + added)) == missing


def test_thumbnails_are_found():
    page = publish_doctree(WHOLE)
    assert not headings.shows_an_example(page)
    page += nodes.raw("", '<div class="sphx-glr-thumbcontainer">', format="html")
    assert headings.shows_an_example(page)


@pytest.mark.parametrize("stem", PAGES)
def test_every_method_page_has_an_example(stem):
    text = cards.render_examples(stem, cards.by_page().get(stem, []), DOCS)
    assert "../examples/plot_" in text
    for line in text.splitlines():
        if "../examples/" in line:
            assert (DOCS / line.strip()).exists()


def test_a_class_shows_the_examples_that_import_it():
    pages = api.render(DOCS)
    shown = pages["api/skmoderndata.decomposition.KSVD.rst"]
    assert ".. minigallery::\n\n   ../examples/plot_ksvd.py" in shown
    for name, text in pages.items():
        assert ("Examples of use" in text) == (".. minigallery::" in text), name


def test_imports_from_the_top_count(tmp_path):
    (tmp_path / "plot_a.py").write_text("from skmoderndata import KSVD\n")
    (tmp_path / "plot_b.py").write_text(
        "from skmoderndata.decomposition import KSVD, RobustPCA\n"
    )
    (tmp_path / "plot_c.py").write_text("from sklearn.decomposition import PCA\n")
    found = examples.using("skmoderndata.decomposition", "KSVD", tmp_path)
    assert [path.name for path in found] == ["plot_a.py", "plot_b.py"]
    assert examples.using("skmoderndata.decomposition", "PCA", tmp_path) == []
