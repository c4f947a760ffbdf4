"""The gallery, grouped as the user guide is, with the class that an example shows in its title."""

import ast
import re
from pathlib import Path

from skmoderndata._estimator.registry import all_estimators, all_kernels, method_stem

from . import guide

TOUR = "plot_ten_minutes"  # the example of several methods, first and under its own name
THUMBNAIL = re.compile(
    r'\.\. raw:: html\n\n    <div class="sphx-glr-thumbcontainer".*?\n    </div>\n', re.DOTALL
)
EXAMPLE = re.compile(r":doc:`/auto_examples/(plot_\w+)`")
TITLE = re.compile(r'(<div class="sphx-glr-thumbnail-title">)(.*?)(</div>)')
HEADING = re.compile(r"^(?:=+\n)?(\S.*)\n=+$", re.MULTILINE)


def setup(app):
    app.connect("source-read", _rewrite)


def subject(path):
    """Name of the class that an example shows, of the function where it shows no class.

    It is the class that the name of the file names, else the first that is imported.
    """
    names = [
        alias.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skmoderndata")
        for alias in node.names
        if not alias.name.endswith("Display")
    ]
    classes = _classes()
    stem = path.stem.removeprefix("plot_")
    named = [c for c in names if c in classes and stem.startswith(method_stem(classes[c]))]
    named.sort(key=lambda name: -len(method_stem(classes[name])))
    return [*named, *(name for name in names if name in classes), *names][0]


def chapter(path, docs):
    """Chapter of the guide for an example: that of its method's page, else that of its class.

    Examples of functions without a page are in "choosing".
    """
    homes = {page: chapter for chapter, pages in guide.pages(docs).items() for page in pages}
    stem = path.stem.removeprefix("plot_")
    own = [page for page in homes if stem.startswith(page)]
    if own:
        return homes[max(own, key=len)]
    cls = _classes().get(subject(path))
    return "choosing" if cls is None else homes[method_stem(cls)]


def _classes():
    return {cls.__name__: cls for cls in [*all_estimators(), *all_kernels()]}


def titled(text, name):
    """Title of an example with its class, unless it is named already."""
    return text if name in text else f"{name}: {text}"


def _html(text, name):
    """Title of a thumbnail, with places where the name of the class may break."""
    return titled(text, name).replace(name, re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", name), 1)


def regroup(index, examples, docs):
    """Index of the gallery with a section for each chapter of the guide."""
    blocks = {EXAMPLE.search(block)[1]: block for block in THUMBNAIL.findall(index)}
    if not blocks:  # an index that is not sphinx-gallery's of today
        return index

    # thumbnails by chapter, with the class instead of the file's name in the title
    grouped = {member["page"]: [] for member in guide.load(docs)}
    tour = blocks.pop(TOUR, "")
    for stem, block in blocks.items():
        path = examples / f"{stem}.py"
        name = subject(path)
        start, title, end = TITLE.search(block).groups()
        block = block.replace(start + title + end, start + _html(title, name) + end)
        grouped[chapter(path, docs)].append((name, block))

    first = index.index(THUMBNAIL.search(index)[0])
    # the closing tag of the last thumbnail, before the hidden toctree
    last = index.rindex("</div>", 0, index.index(".. toctree::", first)) + len("</div>")
    head = index[:first].split(".. raw:: html")[0]

    out = [head]
    if tour:
        out += ["The tour", "--------", "", *_thumbnails([tour])]
    for page, members in grouped.items():
        if members:
            title = guide.title(docs, page)
            out += [title, "-" * len(title), "", f"Guide: :doc:`/guide/{page}`", ""]
            members.sort(key=lambda member: member[0].lower())
            out += _thumbnails([block for _, block in members])

    return "\n".join(out) + index[last:]


def _thumbnails(blocks):
    """Lines of a section with thumbnails side by side."""
    begin = [".. raw:: html", "", '    <div class="sphx-glr-thumbnails">', ""]
    return [*begin, *blocks, ".. raw:: html", "", "    </div>", ""]


def _rewrite(app, docname, source):
    folder, _, stem = docname.partition("/")
    if folder != "auto_examples":
        return
    docs = Path(app.srcdir)
    examples = docs.parent / "examples"
    if stem == "index":
        source[0] = regroup(source[0], examples, docs)
    elif stem != TOUR and (path := examples / f"{stem}.py").exists():
        source[0] = HEADING.sub(lambda found: _heading(found, path), source[0], count=1)


def _heading(found, path):
    text = titled(found[1], subject(path))
    return f"{text}\n{'=' * len(text)}"
