"""Links to methods, and the facts on each method's page: its card, comparison and tests."""

import inspect
from pathlib import Path

import catalogue

from benchmarks.compare import comparisons, no_comparison
from skmoderndata._estimator.registry import all_estimators, all_kernels, method_stem
from tests.common import known_failures

from . import comparison, evidence, examples


def by_page():
    """Stem of a method page -> its classes."""
    pages = {}
    for cls in [*all_estimators(), *all_kernels()]:
        pages.setdefault(method_stem(cls), []).append(cls)
    return pages


def public_path(cls):
    """Path from which users import a class: its module without the private file."""
    return f"{catalogue.public_module(cls)}.{cls.__name__}"


def link(cls, docs):
    """Link to the page of a class, to its reference while it has no page."""
    stem = method_stem(cls)
    if (docs / "methods" / f"{stem}.md").exists():
        return f"{{doc}}`{cls.__name__} </methods/{stem}>`"
    return f"{{obj}}`{cls.__name__} <{public_path(cls)}>`"


def append_facts(app, docname, source):
    """Sphinx hook: put the facts below the text of a method's page."""
    # doctest wants a blank line before the fence that closes an example; readers do not
    source[0] = source[0].replace("\n\n```\n", "\n```\n")
    folder, _, stem = docname.partition("/")
    if folder != "methods":
        return
    docs = Path(app.srcdir)
    parts = [source[0].rstrip()]
    if stem in (pages := by_page()):
        app.env.note_dependency(str(docs / "comparison.json"))
        title, _, text = parts[0].partition("\n\n")
        parts = [title, comparison.in_short(stem, pages[stem], docs), text]
        # rebuild the page when a card, a table or a test changes
        for table in (comparisons, no_comparison, known_failures):
            app.env.note_dependency(table.__file__)
        for cls in pages[stem]:
            app.env.note_dependency(inspect.getfile(cls))
            app.env.note_dependency(str(evidence.file_of(cls)))
        parts.append(render_facts(pages[stem]))
    parts.append(render_examples(stem, pages.get(stem, []), docs))
    source[0] = "\n\n".join(filter(None, parts))


def render_examples(stem, classes, docs):
    """Markdown with thumbnails of the examples of a method's page and of its classes."""
    folder = docs.parent / "examples"
    paths = {path for cls in classes for path in examples.using(*_home(cls), folder)}
    paths |= set(folder.glob(f"plot_{stem}*.py"))
    if not paths:
        return ""
    shown = examples.thumbnails(sorted(paths))
    return "\n".join(["## Examples", "", "```{eval-rst}", *shown, "```", ""])


def _home(cls):
    return catalogue.public_module(cls), cls.__name__


def render_facts(classes):
    """Markdown of the part of a method's page that comes from its cards, comparisons and tests."""
    out = ["## Facts", "", "| | |", "|---|---|"]
    for cls in classes:
        out.append(
            f"| {{obj}}`{cls.__name__} <{public_path(cls)}>` | {catalogue.summary(cls)} |"
        )
        what = "cost of `fit`" if hasattr(cls, "fit") else "cost of a matrix"
        out.append(f"| {what} | `{cls._card.cost.replace('`', '')}` |")
        name = cls.__name__
        if name in comparisons.COMPARISONS:
            baseline = comparisons.COMPARISONS[name].baseline
            out.append(f"| compared with | {{obj}}`{baseline}` |")
        elif name in no_comparison.NO_COMPARISON:
            out.append(f"| not compared | {no_comparison.NO_COMPARISON[name]} |")
    counts = evidence.count(evidence.file_of(classes[0]))
    shown = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    out += [f"| tests by {{doc}}`kind of evidence </evidence>` | {shown or 'none yet'} |", ""]
    out += _deviations(classes)
    return "\n".join(out)


def _deviations(classes):
    failures = {
        check: reason
        for cls in classes
        for check, reason in known_failures.known_failures(cls).items()
    }
    if not any(hasattr(cls, "fit") for cls in classes):
        text = ["None: each kernel passes the contract test of the kernels."]
    elif not failures:
        text = ["None: the common tests apply every check of scikit-learn's suite."]
    else:
        text = [
            "These checks of scikit-learn's suite are expected to fail, and the common tests "
            "report if one of them passes:",
            "",
            *[f"- `{check}`: {reason}" for check, reason in failures.items()],
        ]
    return [":::{admonition} Known deviations", ":class: note", "", *text, ":::", ""]
