"""Sections of a page of figures: a text, a table, targets, and the command."""

import argparse
import re
import warnings
from typing import NamedTuple

from threadpoolctl import threadpool_limits


class Section(NamedTuple):
    """Results of a part."""

    text: str
    head: tuple
    rows: list
    figures: list  # (target, measured, whether it is reached)


class Page(NamedTuple):
    """A page that is measured part by part."""

    path: object
    command: str
    titles: dict  # title of the section of each part
    digits: str = ".3g"  # format of a number
    full: str = ""  # option of the command that produces the figures of the page


def parser_of(page, description, parts):
    """Parser of a command that measures some parts, and writes them."""
    parser = argparse.ArgumentParser(prog=page.command, description=description)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--write-docs", action="store_true", help="write the sections")
    return parser


def measure(page, parts, names, effort, *, write_docs=False):
    """Print the named parts, or all, and return the number of missed targets."""
    missed = 0
    for name in names or parts:
        with warnings.catch_warnings(), threadpool_limits(1):
            # parts warn if no component is above the noise, or after few passes
            warnings.simplefilter("ignore")
            section = parts[name](effort)
        lines = as_markdown(page, name, section)
        print("\n".join(lines), flush=True)
        if write_docs:
            write(page.path, lines)
        missed += sum(not reached for *_, reached in section.figures)
    return missed


def as_markdown(page, name, section):
    """Heading, text, table, targets, and the command."""
    lines = [f"## {page.titles[name]}", "", *section.text.splitlines(), ""]
    lines += table(section.head, section.rows, page.digits)
    if section.figures:
        figures = [
            (text, measured, "yes" if reached else "**no**")
            for text, measured, reached in section.figures
        ]
        lines += ["", *table(("target", "measured", "reached"), figures, page.digits)]
    command = " ".join(filter(None, (page.command, name, page.full, "--write-docs")))
    return [*lines, "", "```bash", command, "```", ""]


def table(head, rows, digits=".3g"):
    """Lines of a table in Markdown."""
    body = [
        [format(cell, digits) if isinstance(cell, float) else str(cell) for cell in row]
        for row in rows
    ]
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body)]


def write(path, lines):
    """Replace the section of the page with the same heading, or add it."""
    text = "\n".join(lines) + "\n"
    section = rf"^{re.escape(lines[0])}\n.*?(?=^## |\Z)"
    before = path.read_text(encoding="utf-8")
    after, n = re.subn(section, lambda _: text, before, flags=re.DOTALL | re.MULTILINE)
    after = after if n else f"{before.rstrip()}\n\n{text}"
    path.write_text(after.rstrip() + "\n", encoding="utf-8")
