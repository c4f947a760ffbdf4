"""Keep the table in README.md equal to the stored comparison.

python tools/catalogue.py           rewrite it
python tools/catalogue.py --check   exit 1 if it is stale
"""

import argparse
import inspect
import json
import sys
from itertools import takewhile
from pathlib import Path

from skmoderndata._estimator.registry import all_estimators, all_kernels

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
COMPARISON = ROOT / "docs" / "comparison.json"
GAINS_START = "<!-- comparison start -->"
GAINS_END = "<!-- comparison end -->"
# Pages whose results README shows, in this order.
SHOWN = (
    "robust_pca",
    "multi_assignment_clustering",
    "slow_feature_analysis",
    "ksvd",
    "sparse_nmf",
    "support_feature_machine",
    "core_vector_machine",
    "kernel_cca",
    "string_kernels",
    "dtw_neighbors",
)


def public_module(cls):
    """Return the module from which users import a class, without private parts."""
    parts = cls.__module__.split(".")
    return ".".join(takewhile(lambda part: not part.startswith("_"), parts))


def families():
    """Map each family to its public classes, both in alphabetical order."""
    found = {}
    for cls in [*all_estimators(), *all_kernels()]:
        found.setdefault(cls._card.family, []).append(cls)
    return {family: found[family] for family in sorted(found, key=str.lower)}


def summary(value):
    """Return the first line of a docstring, in a form for a table in Markdown."""
    return (inspect.getdoc(value) or "").strip().partition("\n")[0].replace("|", "\\|")


def render_gains():
    """Return the Markdown between the markers: when to use some methods, and what you gain."""
    entries = json.loads(COMPARISON.read_text(encoding="utf-8"))
    homes = {entry["page"]: entry for entry in entries if not entry["away"]}
    lines = [GAINS_START, "", "| use | when | what you gain |", "|---|---|---|"]
    for page in SHOWN:
        if page in homes:
            home = homes[page]
            link = f"[{home['methods'][0]}](docs/methods/{page}.md)"
            note = "" if home["winner"] == "method" else f" *({home['winner']})*"
            lines.append(f"| {link} | {home['when']} | {home['gain']}{note} |")
    return "\n".join([*lines, "", GAINS_END])


def replace(text):
    """Return the text of README with a new table."""
    head, rest = text.split(GAINS_START)
    return head + render_gains() + rest.split(GAINS_END)[1]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 if stale")
    options = parser.parse_args(arguments)
    old = README.read_text(encoding="utf-8")
    new = replace(old)
    if old == new:
        return 0
    if options.check:
        print("README.md: the table of gains is stale; run `python tools/catalogue.py`")
        return 1
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
