"""What the site derives is whole: chapters, the choice of a method, gallery, links, benchmarks."""

import json
import pickle
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skmoderndata._estimator.base import DOCUMENTATION
from skmoderndata._estimator.registry import all_estimators, all_kernels
from skmoderndata._guide.suggest import knowledge
from skmoderndata.decomposition import KSVD, RobustPCA, SparseNMF
from skmoderndata.svm import SupportFeatureMachine

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path[:0] = [str(DOCS / "_ext"), str(ROOT / "tools")]

from skmoderndata_site import (  # noqa: E402
    api,
    benchmarks,
    choose,
    comparison,
    figures,
    gallery,
    guide,
    mathml,
    thumbnails,
)

CHAPTERS = [chapter["page"] for chapter in guide.load(DOCS)]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = api.render(DOCS)
PICTURES = {function.__name__ for function in figures.FIGURES}


def test_every_method_page_is_in_exactly_one_chapter():
    listed = [stem for stems in guide.pages(DOCS).values() for stem in stems]
    assert sorted(listed) == sorted(path.stem for path in (DOCS / "methods").glob("*.md"))


def test_detects_a_family_without_a_chapter():
    with pytest.raises(ValueError, match="0 chapters take 'alchemy'"):
        guide.chapter_of("alchemy", guide.load(DOCS))


def test_detects_a_family_in_two_chapters():
    twice = [
        {"page": "a", "families": ["kernels *"]},
        {"page": "b", "families": ["kernels on *"]},
    ]
    with pytest.raises(ValueError, match="2 chapters take 'kernels on trees'"):
        guide.chapter_of("kernels on trees", twice)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_is_an_introduction_with_a_picture_and_its_methods(chapter):
    text = (DOCS / "guide" / f"{chapter}.md").read_text(encoding="utf-8")
    assert 30 <= len(text.splitlines()) <= 80
    (picture,) = re.findall(r"!\[.{20,}\]\(\.\./generated/figures/(\w+)\.png\)", text)
    assert picture in PICTURES
    assert f"{{include}} ../generated/chapter_{chapter}.md" in text
    assert set(re.findall(r"</methods/(\w+)>", text)) <= {
        p.stem for p in DOCS.glob("methods/*.md")
    }


def test_every_class_to_choose_exists_or_is_in_the_atlas():
    data = knowledge()
    atlas = (DOCS / "atlas.toml").read_text(encoding="utf-8")
    rows = [row for section in data["section"] for row in section["rows"]]
    rows = [row for row in [*rows, *data["start"]] if not row.get("coming")]
    names = [name for row in rows for name in row["take"]]
    unknown = {
        name for name in names if name not in choose.known() and f".{name}" not in atlas
    }
    assert unknown == set()


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        ("sensor table has broken readings", "RobustPCA"),
        ("strings of events, two classes", "KernelTransformer"),
        ("a million rows, and a kernel classifier", "CoreVectorMachine"),
        ("access rights to roles", "RoleMiner"),
        ("two modalities of the same patients", "KernelCCA"),
    ],
)
def test_a_newcomer_finds_the_method(problem, name):
    rows = [line for line in choose.render(DOCS).splitlines() if problem in line.lower()]
    assert len(rows) >= 2  # the page has rows by task and rows by data
    assert any(f"{{doc}}`{name} </methods/" in row for row in rows)


def test_the_start_page_has_six_tasks_with_pictures():
    page = choose.render_tasks(DOCS)
    shown = re.findall(r"generated/figures/(\w+)\.png", page)
    assert len(set(shown)) == 6
    assert set(shown) <= PICTURES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_names_its_class(path):
    name = gallery.subject(path)
    assert name in path.read_text(encoding="utf-8")
    assert name in gallery.titled("Which one?", name)
    assert gallery.chapter(path, DOCS) in CHAPTERS


def test_an_example_of_functions_names_the_first(tmp_path):
    path = tmp_path / "plot_clustering_stability_of_pairs.py"
    path.write_text("from skmoderndata.metrics import SomeDisplay, source_mismatch\n")
    assert gallery.subject(path) == "source_mismatch"
    assert gallery.chapter(path, DOCS) == "choosing"


def thumbnail(stem):
    return (
        f'.. raw:: html\n\n    <div class="sphx-glr-thumbcontainer" tooltip="why">\n\n'
        f".. only:: html\n\n  :doc:`/auto_examples/{stem}`\n\n.. raw:: html\n\n"
        f'      <div class="sphx-glr-thumbnail-title">What of {stem}?</div>\n    </div>\n\n'
    )


def test_gallery_is_grouped_by_chapter():
    stems = ["plot_role_miner", "plot_ksvd", "plot_ten_minutes", "plot_robust_pca"]
    index = "Gallery\n=======\n\n.. raw:: html\n\n    <div class='sphx-glr-thumbnails'>\n\n"
    index += "".join(thumbnail(stem) for stem in stems)
    index += (
        ".. raw:: html\n\n    </div>\n\n\n.. toctree::\n   :hidden:\n\n   /auto_examples/a\n"
    )
    page = gallery.regroup(index, ROOT / "examples", DOCS)
    order = [
        "The tour",
        ">What of plot_ten_minutes?",  # the question is listed under its own name
        "Components",
        "Robust<wbr>PCA: What",
        "Sparse codes",
        "KSVD: What",
        "Role<wbr>Miner",
    ]
    places = [page.index(word) for word in order]
    assert places == sorted(places)
    assert page.endswith("/auto_examples/a\n")
    assert page.count("<div") == page.count("</div>")


def test_the_start_page_leads_to_the_tour():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert "](auto_examples/plot_ten_minutes.rst)" in text
    assert (ROOT / "examples" / "plot_ten_minutes.py").exists()


@pytest.mark.parametrize("cls", all_estimators(), ids=lambda cls: cls.__name__)
def test_html_representation_links_to_the_page_of_the_class(cls):
    address = cls._get_doc_link(cls.__new__(cls))
    page = address.removeprefix(f"{DOCUMENTATION}/generated/").removesuffix(".html")
    assert f"{page}.rst" in PAGES


def test_the_link_is_in_the_html_of_a_pipeline():
    html = make_pipeline(RobustPCA(), PCA())._repr_html_()
    assert (
        f'href="{DOCUMENTATION}/generated/api/skmoderndata.decomposition.RobustPCA.html'
        in html
    )


def test_address_of_the_documentation_matches_the_project():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["urls"]["Documentation"] == DOCUMENTATION


def test_every_estimator_is_in_the_table_of_the_reference():
    estimators, kernels, others, old_estimators, old_kernels = (
        re.findall(r"^\| \{obj\}`(\w+) ", part, re.MULTILINE)
        for part in PAGES["api.md"].split("## ")[1:]
    )
    parts = (set(estimators), set(old_estimators)), (set(kernels), set(old_kernels))
    for classes, (current, textbook) in zip(
        (all_estimators(), all_kernels()), parts, strict=True
    ):
        of_books = {cls.__name__ for cls in classes if cls._card.tier == "textbook"}
        assert textbook == of_books
        assert {cls.__name__ for cls in classes} - of_books <= current
    assert "mutual_coherence" in others
    for names in (estimators, kernels, others, old_estimators, old_kernels):
        assert names == sorted(names, key=str.lower)


def test_table_of_the_reference_lists_accepted_input():
    found = {
        cls.__name__: dict(zip(api.ABILITIES, api.abilities(cls), strict=True))
        for cls in (SparseNMF, SupportFeatureMachine)
    }
    assert all(found["SparseNMF"].values())
    assert found["SupportFeatureMachine"] == {
        "NaN": False,
        "sparse": True,
        "streams": False,
        "weights": True,
        "blocks": False,
        "guarantee": True,
    }


ENTRY = {
    "page": "ksvd",
    "methods": ["KSVD"],
    "away": False,
    "when": "atoms are wanted",
    "kind": "tables",
    "generated": True,
    "about": "a table",
    "score": "atoms found",
    "full_only": False,
    "shorter": False,
    "lines": "KSVD(3).fit(X)",
    "gain": "Finds 9 of 10 atoms.",
    "winner": "method",
    "time": "half the time",
    "rounds": 5,
    "contenders": [{}, {}, {}],
    "levels": [
        {"name": "n", "value": 1000, "winner": "rival"},
        {"name": "noise", "value": 0.1, "winner": "method"},
        {"name": "noise", "value": 0.5, "winner": "method"},
    ],
}


def test_page_of_a_method_opens_with_its_purpose(tmp_path):
    away = ENTRY | {"away": True, "when": "atoms are not wanted", "winner": "rival"}
    (tmp_path / "comparison.json").write_text(json.dumps([ENTRY, away]))
    text = comparison.in_short("ksvd", [KSVD], tmp_path)
    assert "Use it when atoms are wanted. KSVD finds 9 of 10 atoms." in text
    assert "Use a scikit-learn pipeline when atoms are not wanted." in text
    assert "```python\nKSVD(3).fit(X)\n```" in text
    assert "strongest of 2 scikit-learn pipelines" in text
    folded = text.split("<details>")[1].split("</details>")[0]
    assert "<summary>If one property of the data changes</summary>\n\n" in folded
    rows = [line for line in folded.splitlines() if " = " in line]
    assert rows == [
        "| noise = 0.1 | wins |",
        "| noise = 0.5 | wins |",
        "| n = 1,000 | loses |",
    ]
    assert "![" not in text

    images = tmp_path / "auto_examples" / "images"
    images.mkdir(parents=True)
    (images / "sphx_glr_plot_ksvd_001.png").touch()
    assert "](../auto_examples/images/sphx_glr_plot_ksvd_001.png)" in comparison.in_short(
        "ksvd", [KSVD], tmp_path
    )
    table = comparison.render(tmp_path)
    assert "1 problems, each designed for its method; 1 of them use generated data." in table
    assert "The methods win 1 problems and lose 0; 0 are equal and 0 undecided." in table
    assert table.index("KSVD </methods/ksvd>` | atoms are wanted") < table.index("not wanted")


@pytest.mark.parametrize("tier", ["standard", "textbook"])
def test_other_tiers_name_the_scikit_learn_alternative(tier, tmp_path):
    card = replace(KSVD._card, tier=tier, instead="Use PCA: it is as good.")
    text = comparison.in_short("ksvd", [type("Old", (), {"_card": card})], tmp_path)
    assert f"{tier.capitalize()} method" in text
    assert "](../comparison.md)). Use PCA: it is as good." in text
    assert comparison.in_short("ksvd", [KSVD], tmp_path) == ""


def test_every_page_of_figures_has_a_row():
    page = benchmarks.render(DOCS)
    for path in (DOCS / "benchmarks").glob("*.md"):
        assert page.count(f"</benchmarks/{path.stem}>` |") == 1


def test_a_page_of_figures_is_read(tmp_path):
    path = tmp_path / "race.md"
    path.write_text(
        "# Race\n\n| size | contender | time / ours |\n|---|---|---|\n| n = 1 | Ours | 1 |\n"
        "| n = 1 | theirs | 0.5 |\n| n = 2 | theirs | 2.5 |\n| n = 3 | theirs | left out |\n\n"
        "| figure | measured | reached |\n|---|---|---|\n| a | 1 | yes |\n| b | 2 | **no** |\n",
        encoding="utf-8",
    )
    page = benchmarks.read(path)
    assert (page.title, page.reached, page.missed) == ("Race", 1, 1)
    assert page.misses == ["b (measured: 2)"]
    theirs = [row for row in page.ratios if row[1] == "theirs"]
    assert theirs == [(0.5, "theirs", "n = 1"), (2.5, "theirs", "n = 2")]
    assert benchmarks.verdict(theirs) == "faster in 1 of 2 comparisons"
    assert benchmarks.verdict(theirs[1:]) == "**faster than every peer**"
    assert benchmarks.verdict(theirs[:1]) == "slower than every peer"
    assert benchmarks.verdict([]) == "no peer measured"


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"\tfrac12 x", "<mn>1</mn><mn>2</mn></mfrac><mi>x</mi>"),
        (r"\frac1n \sum_i x_i", "<mn>1</mn><mi>n</mi></mfrac><munder>"),
        (r"\log N", "<mspacewidth="),
        (r"\begin{aligned} a &= b \end{aligned}", '<mtabledisplaystyle="true"'),
    ],
)
def test_formulas_are_rendered_correctly(tex, expected):
    assert expected in re.sub(r"\s+", "", mathml.to_mathml(tex, block=True))


@pytest.mark.parametrize(
    "page", sorted((DOCS / "methods").glob("*.md")), ids=lambda page: page.stem
)
def test_method_pages_have_formulas_as_mathematics(page):
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    code = re.findall(r"(?<!`)`([^`]+)`(?!`)", text)
    # Powers, norms, sums and subscripts are signs of formulas in code; Python's own powers of
    # numbers are not.
    signs = re.compile(r"\^|\|\||\bsum_|\b[a-zA-Z]_[ij]\b|\b[a-z] ?\*\* ?\d")
    assert [span for span in code if signs.search(span)] == []
    for formula in re.findall(r"^\$\$\n(.*?)\n\$\$", text, flags=re.S | re.M):
        mathml.to_mathml(formula, block=True)


def test_thumbnail_is_one_panel(tmp_path):
    """The largest panel, or the one of this number, without its neighbours and their titles."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 2])
    left.set_facecolor("red")
    right.set_facecolor("blue")
    figure.suptitle("both")
    for number, color in ((None, "blue"), (0, "red")):
        panel = pickle.loads(pickle.dumps(figure))
        thumbnails.save_panel(panel, tmp_path / "panel.png", number)
        pixels = imread(tmp_path / "panel.png")[..., :3]
        others = (pixels == to_rgb("red" if color == "blue" else "blue")).all(axis=2)
        own = (pixels == to_rgb(color)).all(axis=2)
        assert not others.any()
        assert own.mean() > 0.5
