"""The gallery, grouped as the user guide is, with the class that an example shows in its title."""

import ast
import re
from pathlib import Path

from skmoderndata._registry import all_estimators, all_kernels, method_stem

from . import guide

THUMBNAIL = re.compile(
    r'\.\. raw:: html\n\n    <div class="sphx-glr-thumbcontainer".*?\n    </div>\n', re.DOTALL
)
EXAMPLE = re.compile(r":doc:`/auto_examples/(plot_\w+)`")
TITLE = re.compile(r'(<div class="sphx-glr-thumbnail-title">)(.*?)(</div>)')
HEADING = re.compile(r"^(?:=+\n)?(\S.*)\n=+$", re.MULTILINE)


def setup(app):
    app.connect("source-read", _rewrite)


def subject(path):
    """Class that an example shows: the one that its name names, else the first that it imports."""
    classes = {cls.__name__: cls for cls in [*all_estimators(), *all_kernels()]}
    imported = [
        alias.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skmoderndata")
        for alias in node.names
        if alias.name in classes
    ]
    name = path.stem.removeprefix("plot_")
    named = [c for c in imported if name.startswith(method_stem(classes[c]))]
    named.sort(key=lambda c: -len(method_stem(classes[c])))
    found = [*named, *imported]
    return classes[found[0]] if found else None


def titled(text, cls):
    """Title of an example with its class, unless it is named already."""
    if cls is None or cls.__name__ in text:
        return text
    return f"{cls.__name__}: {text}"


def _html(text, cls):
    """Title of a thumbnail, with places where the name of the class may break."""
    text = titled(text, cls)
    name = cls.__name__ if cls else ""
    return text.replace(name, re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", name), 1)


def regroup(index, examples, docs):
    """Index of the gallery with a section for each chapter of the guide."""
    blocks = {EXAMPLE.search(block)[1]: block for block in THUMBNAIL.findall(index)}
    if not blocks:  # an index that is not sphinx-gallery's of today
        return index
    chapters = guide.load(docs)
    grouped = {chapter["page"]: [] for chapter in chapters}
    for stem, block in blocks.items():
        cls = subject(examples / f"{stem}.py")
        family = cls._card.family if cls else "Model selection"
        block = TITLE.sub(lambda found: found[1] + _html(found[2], cls) + found[3], block)  # noqa: B023
        grouped[guide.chapter_of(family, chapters)].append((cls.__name__ if cls else "", block))
    first = index.index(THUMBNAIL.search(index)[0])
    last = index.rindex("</div>", 0, index.index(".. toctree::", first)) + len("</div>")
    head = index[:first].split(".. raw:: html")[0]
    out = [head]
    for chapter, members in grouped.items():
        if members:
            title = guide.title(docs, chapter)
            out += [title, "-" * len(title), "", f"Guide: :doc:`/guide/{chapter}`", ""]
            out += [".. raw:: html", "", '    <div class="sphx-glr-thumbnails">', ""]
            out += [block for _, block in sorted(members, key=lambda member: member[0].lower())]
            out += [".. raw:: html", "", "    </div>", ""]
    return "\n".join(out) + index[last:]


def _rewrite(app, docname, source):
    folder, _, stem = docname.partition("/")
    if folder != "auto_examples":
        return
    docs = Path(app.srcdir)
    examples = docs.parent / "examples"
    if stem == "index":
        source[0] = regroup(source[0], examples, docs)
    elif (path := examples / f"{stem}.py").exists():
        source[0] = HEADING.sub(lambda found: _heading(found, path), source[0], count=1)


def _heading(found, path):
    text = titled(found[1], subject(path))
    return f"{text}\n{'=' * len(text)}"
