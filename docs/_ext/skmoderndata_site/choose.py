"""The page "Which method for my problem?", from `choose.toml` and the classes of the package."""

import copy

from skmoderndata._estimator.registry import all_estimators, all_kernels
from skmoderndata._guide.suggest import knowledge
from skmoderndata.model_selection import EntrySearchCV

from . import cards


def load():
    """Sections of the page, without rows whose classes do not exist yet."""
    classes = known()
    sections = copy.deepcopy(knowledge()["section"])
    for section in sections:
        section["rows"] = [row for row in section["rows"] if set(row["take"]) <= set(classes)]
        for row in section["rows"]:  # the textbook has a chapter of its own
            row["take"] = [
                name for name in row["take"] if tier_of(classes[name]) != "textbook"
            ]
        section["rows"] = [row for row in section["rows"] if row["take"]]
    return sections


def tier_of(cls):
    """Tier of a method; a search has no card."""
    card = getattr(cls, "_card", None)
    return "core" if card is None else card.tier


def known():
    """Map names to classes, for the whole package."""
    return {cls.__name__: cls for cls in [*all_estimators(), *all_kernels(), EntrySearchCV]}


def render(docs):
    """Markdown: a list of problems by task, and tables by kind of data."""
    classes = known()
    sections = load()

    # Gather the problems of all sections by task.
    tasks = {}
    for section in sections:
        for row in section["rows"]:
            tasks.setdefault(row["task"], []).append((section, row))

    jumps = [f"[{section['title']}](#{slug(section['title'])})" for section in sections]
    out = ["[By task](#by-task) or by data: " + ", ".join(jumps) + ".", ""]

    out += ["## By task", "", "| task | problem | use |", "|---|---|---|"]
    for task, rows in tasks.items():
        for _, row in rows:
            out.append(f"| {task} | {row['problem']} | {_links(row, classes, docs)} |")
            task = ""  # write each task once

    out += [
        "",
        "## By data",
        "",
        "The last column names the closest scikit-learn solution, and when it is enough.",
        "",
    ]

    # List the same problems by section, with the size and the solution in scikit-learn.
    for section in sections:
        out += [f"### {section['title']}", ""]
        out += ["| problem | use | size | in scikit-learn |", "|---|---|---|---|"]
        for row in section["rows"]:
            problem = f"{row['problem']} *({', '.join(row['synonyms'])})*"
            cells = problem, _links(row, classes, docs), row["size"], row["stay"]
            out.append(f"| {' | '.join(cells)} |")
        out.append("")

    out += [
        "Methods that books teach and that one estimator of scikit-learn replaces are in the "
        "chapter {doc}`Textbook methods </guide/textbook>`.",
        "",
    ]
    return "\n".join(out)


def slug(title):
    """Anchor of a heading.

    >>> slug("Sequences, trees, graphs, sets")
    'sequences-trees-graphs-sets'
    """
    return title.lower().replace(",", "").replace(" ", "-")


def _links(row, classes, docs):
    return ", ".join(cards.link(classes[name], docs) for name in row["take"])


def render_tasks(docs):
    """Markdown: the six tasks of the start page, each with its picture."""
    tasks = knowledge()["start"]
    classes = known()
    out = ["::::{container} tasks", ""]
    for task in tasks:
        out += [
            ":::{container} task",
            f"![{task['alt']}](generated/figures/{task['picture']}.png)",
            "",
        ]
        out += [
            f"**{task['problem']}**",
            "",
            f"{_links(task, classes, docs)}: {task['answer']}",
        ]
        out += [":::", ""]
    return "\n".join([*out, "::::", ""])
