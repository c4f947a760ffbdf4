"""`python -m benchmarks.papers [NAME ...]`: print published values next to ours."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.papers import find_entries

ROOT = Path(__file__).resolve().parents[2]
HEAD = ["setting", "quantity", "expected", "source", "ours", "agrees"]


def main(arguments=None):
    """Run the entries named on the command line; return 1 when a value does not agree."""
    entries = find_entries()
    options = _parser(entries).parse_args(arguments)

    unknown = sorted(set(options.name) - set(entries))
    if unknown:
        print(f"no entry named {', '.join(unknown)}; there are: {', '.join(entries)}")
        return 2

    if options.write_docs and options.quick:
        print("--write-docs needs the full settings: leave out --quick")
        return 2

    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)

    agreed = True
    for name in options.name or entries:
        # continue with the next entry if an entry fails
        entry = entries[name]
        try:
            values = entry.values(options.quick)
        except Exception as error:
            print(f"{name}: failed: {type(error).__name__}: {error}", end="\n\n", flush=True)
            agreed = False
            continue

        if not values:
            print(
                f"{name}: the data are not available. {entry.remarks}", end="\n\n", flush=True
            )
            continue

        agreed &= all(value.holds for value in values)

        page = markdown(name, entry, values)
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
        told = json.dumps([asdict(value) for value in values], indent=1, default=float)
        (folder / f"{name}.json").write_text(told + "\n", encoding="utf-8")
        print(terminal(name, entry, values), end="\n\n", flush=True)

        if options.write_docs:
            docs = ROOT / "docs" / "benchmarks"
            docs.mkdir(parents=True, exist_ok=True)
            (docs / f"paper_{name}.md").write_text(page, encoding="utf-8")

    return 0 if agreed else 1


def terminal(name, entry, values):
    """Table for the terminal."""
    rows = [HEAD, *_rows(values)]
    sizes = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = [
        "  ".join(cell.ljust(n) for cell, n in zip(row, sizes, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(len(line) for line in lines))
    return "\n".join([f"{name}: {entry.title}", entry.cites, "", *lines, "", entry.source])


def markdown(name, entry, values):
    """Page of the docs."""
    table = ["| " + " | ".join(row) + " |" for row in [HEAD, *_rows(values)]]
    table.insert(1, "|" + "---|" * len(HEAD))
    parts = [
        f"# {entry.title}",
        "",
        entry.cites,
        "",
        *table,
        "",
        f"Source: {entry.source}",
        "",
    ]
    if entry.remarks:
        parts += [entry.remarks, ""]
    parts += ["```bash", f"python -m benchmarks.papers {name} --write-docs", "```"]
    return "\n".join(parts) + "\n"


def _rows(values):
    return [
        [
            value.setting,
            value.quantity,
            value.expected,
            value.origin,
            value.ours if isinstance(value.ours, str) else f"{value.ours:.6g}",
            "yes" if value.holds else "**no**",
        ]
        for value in values
    ]


def _parser(entries):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Published values beside ours.",
        epilog=f"entries: {', '.join(entries)}",
    )
    parser.add_argument("name", nargs="*", metavar="NAME", help="entries; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller settings")
    parser.add_argument("--output", default="build/papers", metavar="FOLDER")
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="write docs/benchmarks/paper_<name>.md as well",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
