"""The page "Which method for my problem", from `_choose.toml` and what is in the package."""

import copy

from skmoderndata._registry import all_estimators, all_kernels
from skmoderndata._suggest import knowledge
from skmoderndata.model_selection import EntrySearchCV

from . import cards


def load():
    """Sections of the page, without the rows whose classes are not there."""
    classes = known()
    sections = copy.deepcopy(knowledge()["section"])
    for section in sections:
        section["rows"] = [row for row in section["rows"] if set(row["take"]) <= set(classes)]
        for row in section["rows"]:  # a textbook method only where there is no other
            better = [name for name in row["take"] if not is_textbook(classes[name])]
            row["take"] = better or row["take"]
    return sections


def is_textbook(cls):
    """Whether a method is here to be compared with."""
    card = getattr(cls, "_card", None)
    return card is not None and bool(card.textbook)


def known():
    """Name -> class, for all of the package."""
    return {cls.__name__: cls for cls in [*all_estimators(), *all_kernels(), EntrySearchCV]}


def render(docs):
    """Markdown: by task a list of problems, by data the tables."""
    classes = known()
    sections = load()

    # problems of all sections, gathered by task
    tasks = {}
    for section in sections:
        for row in section["rows"]:
            tasks.setdefault(row["task"], []).append((section, row))

    jumps = [f"[{section['title']}](#{slug(section['title'])})" for section in sections]
    out = ["[By task](#by-task) or by data: " + ", ".join(jumps) + ".", ""]

    out += ["## By task", "", "| task | problem | take |", "|---|---|---|"]
    for task, rows in tasks.items():
        for _, row in rows:
            out.append(f"| {task} | {row['problem']} | {_links(row, classes, docs)} |")
            task = ""  # written once

    out += [
        "",
        "## By data",
        "",
        "The last column is the nearest way with scikit-learn, and when to",
    ]
    out += ["stay with it.", ""]

    # the same problems by section, with the size and scikit-learn's way
    for section in sections:
        out += [f"### {section['title']}", ""]
        out += ["| problem | take | size | scikit-learn's way |", "|---|---|---|---|"]
        for row in section["rows"]:
            problem = f"{row['problem']} *({', '.join(row['synonyms'])})*"
            cells = problem, _links(row, classes, docs), row["size"], row["stay"]
            out.append(f"| {' | '.join(cells)} |")
        out.append("")

    return "\n".join(out)


def slug(title):
    """Anchor of a heading.

    >>> slug("Sequences, trees, graphs, sets")
    'sequences-trees-graphs-sets'
    """
    return title.lower().replace(",", "").replace(" ", "-")


def _links(row, classes, docs):
    marks = {name: " *(textbook)*" * is_textbook(classes[name]) for name in row["take"]}
    return ", ".join(
        f"{cards.link(classes[name], docs)}{mark}" for name, mark in marks.items()
    )


def render_tasks(docs):
    """Markdown: six tasks for the start page, each with its picture."""
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
