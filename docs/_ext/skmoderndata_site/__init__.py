"""Sphinx extension that writes what can be derived: nothing under `docs/generated` is by hand.

At the start of a build it writes, from the registry, the cards, the test files and
`docs/atlas.toml`:

generated/*.md       fragments that pages of `docs/` include
generated/figures    pictures of the start page and of the user guide
generated/api/*.rst  one page per public module and per public object

and appends to each method's page the facts on its card.
"""

import shutil
from pathlib import Path

from . import (
    api,
    atlas,
    benchmarks,
    cards,
    changes,
    choose,
    comparison,
    evidence,
    figures,
    gallery,
    guide,
    headings,
    links,
    machines,
    mathml,
    names,
)  # fmt: skip


def setup(app):
    mathml.setup(app)
    links.setup(app)
    names.setup(app)
    gallery.setup(app)
    headings.setup(app)
    app.connect("builder-inited", _generate, priority=100)  # before the gallery and autodoc
    app.connect("source-read", cards.append_facts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _generate(app):
    docs = Path(app.srcdir)
    pages = {
        "atlas.md": atlas.render(atlas.load(docs / "atlas.toml"), docs),
        "choose.md": choose.render(docs),
        "tasks.md": choose.render_tasks(docs),
        "scaling.md": guide.render_scaling(docs),
        **guide.render(docs),
        "evidence.md": evidence.render(),
        "machines.md": machines.render(),
        "changes.md": changes.render(docs.parent),
        "benchmarks.md": benchmarks.render(docs),
        "comparison.md": comparison.render(docs),
        **api.render(docs),
    }

    # pages of former builds
    generated = docs / "generated"
    for path in [*generated.glob("*.md"), *generated.glob("api/*.rst")]:  # not the gallery's
        if path.relative_to(generated).as_posix() not in pages:
            path.unlink()

    # a page that is untouched is not read anew by Sphinx
    for name, text in pages.items():
        _write_if_changed(generated / name, text)
    figures.write(generated / "figures")

    if not any((docs.parent / "examples").glob("plot_*.py")):  # a gallery of former examples
        shutil.rmtree(docs / "auto_examples", ignore_errors=True)


def _write_if_changed(path, text):
    """Keep the time stamp of what is unchanged, so that sphinx rebuilds only the rest."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
