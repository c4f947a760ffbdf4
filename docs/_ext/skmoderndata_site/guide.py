"""Chapters of the user guide: the families on the cards say which methods each of them has."""

import fnmatch
import tomllib

import catalogue

from skmoderndata._estimator.registry import all_estimators, all_kernels, method_stem

from . import cards


def load(docs):
    """Read the chapters, in the order of the guide."""
    text = (docs / "guide" / "chapters.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["chapter"]


TEXTBOOK = "textbook"  # the chapter of methods that books teach, of all families


def on_textbook_page(cls):
    """Whether a page has textbook methods only: one page may hold a kernel of each tier."""
    stem = method_stem(cls)
    same_page = [c for c in [*all_estimators(), *all_kernels()] if method_stem(c) == stem]
    return all(c._card.tier == "textbook" for c in same_page)


def chapter_of(family, chapters):
    """Stem of the chapter that takes a family; ValueError unless there is exactly one."""
    found = [
        chapter["page"]
        for chapter in chapters
        if any(fnmatch.fnmatchcase(family, pattern) for pattern in chapter["families"])
    ]
    if len(found) != 1:
        raise ValueError(f"docs/guide/chapters.toml: {len(found)} chapters take {family!r}")
    return found[0]


def contents(docs):
    """Chapter -> family -> classes, in the order of the guide."""
    chapters = load(docs)
    found = {chapter["page"]: {} for chapter in chapters}
    for family, classes in catalogue.families().items():
        textbook = [cls for cls in classes if on_textbook_page(cls)]
        others = [cls for cls in classes if cls not in textbook]
        if textbook:
            found[TEXTBOOK][family] = textbook
        if others:
            found[chapter_of(family, chapters)][family] = others
    order = {chapter["page"]: chapter["families"] for chapter in chapters}
    for page, families in found.items():
        if page == TEXTBOOK:
            continue
        rank = {family: _rank(family, order[page]) for family in families}
        found[page] = dict(sorted(families.items(), key=lambda item: rank[item[0]]))
    return found


def _rank(family, patterns):
    return next(i for i, name in enumerate(patterns) if fnmatch.fnmatchcase(family, name))


def pages(docs):
    """Chapter -> stems of its method pages, each page in the chapter of its first class."""
    extra = {chapter["page"]: chapter.get("pages", []) for chapter in load(docs)}
    taken = set()
    found = {}
    for chapter, families in contents(docs).items():
        stems = [method_stem(cls) for classes in families.values() for cls in classes]
        stems = [
            stem for stem in dict.fromkeys([*stems, *extra[chapter]]) if stem not in taken
        ]
        found[chapter] = [stem for stem in stems if (docs / "methods" / f"{stem}.md").exists()]
        taken.update(found[chapter])
    return found


def title(docs, chapter):
    """Title of a chapter, the first heading of its page."""
    text = (docs / "guide" / f"{chapter}.md").read_text(encoding="utf-8")
    return next(line[2:] for line in text.splitlines() if line.startswith("# "))


def render(docs):
    """File name below `generated` -> Markdown: methods of each chapter, and the list of all."""
    stems = pages(docs)
    found = {}
    for chapter, families in contents(docs).items():
        out = []
        for family, classes in families.items():
            out += [f"### {family[0].upper()}{family[1:]}", "", "| method | what it does |"]
            out += ["|---|---|"]
            out += [
                f"| {cards.link(cls, docs)} | {catalogue.summary(cls)} |" for cls in classes
            ]
            out.append("")
        out += ["```{toctree}", ":hidden:", ""]
        out += [*(f"/methods/{stem}" for stem in stems[chapter]), "```", ""]
        found[f"chapter_{chapter}.md"] = "\n".join(out)
    found["chapters.md"] = _render_list(docs, stems)
    return found


def _render_list(docs, stems):
    out = ["| chapter | methods |", "|---|---|"]
    for chapter, members in stems.items():
        links = ", ".join(f"{{doc}}`/methods/{stem}`" for stem in members)
        out.append(f"| {{doc}}`{title(docs, chapter)} </guide/{chapter}>` | {links} |")
    out += ["", "```{toctree}", ":hidden:", ":maxdepth: 2", ""]
    return "\n".join([*out, *(f"/guide/{chapter}" for chapter in stems), "```", ""])


def render_scaling(docs):
    """Markdown: a link to the page on data beyond one machine, nothing while there is none."""
    if not (docs / "scaling.md").exists():
        return ""
    page = "{doc}`More data than one machine holds </scaling>`"
    return f"{page} shows measurements of all these options.\n"
