"""One table of all pages with measured figures: where we lead, and where not."""

import re
from typing import NamedTuple

FASTER = "**faster than every peer**"
SLOWER = "slower than every peer"


class Page(NamedTuple):
    """What a page of `docs/benchmarks` says.

    Attributes
    ----------
    stem, title : str
        File, and first heading.
    ratios : list of tuple of (float, str, str)
        Time of a contender divided by ours, its name, the size.
    reached, missed : int
        Targets, or published values, that were reached or missed.
    misses : list of str
        Targets that were missed, with the measured values.
    """

    stem: str
    title: str
    ratios: list
    reached: int
    missed: int
    misses: list


def render(docs):
    """Markdown: the table, and a hidden toctree of `docs/benchmarks`."""
    pages = [read(path) for path in sorted((docs / "benchmarks").glob("*.md"))]
    if not pages:
        return "No figures are written down yet.\n"

    peers = _peers()
    races = [page for page in pages if not page.stem.startswith("paper_")]
    papers = [page for page in pages if page.stem.startswith("paper_")]

    # races against peers
    out = ["## Compared with other libraries", "", _summary(races, peers), ""]
    out += [
        "| measured | sizes | verdict on time | fastest peer: time / ours | targets reached |",
        "|---|---:|---|---|---:|",
    ]
    for page in sorted(races, key=_title):
        rivals = _rivals(page, peers)
        sizes = len({size for _, _, size in page.ratios}) or ""
        cells = [_link(page), f"{sizes}", verdict(rivals), _fastest(rivals), _score(page)]
        out.append(f"| {' | '.join(cells)} |")

    missed = [
        f"- {_link(page)}: {text}"
        for page in sorted(races, key=_title)
        for text in page.misses
    ]
    if missed:
        out += ["", "### Targets that were not reached", "", *missed]

    # repeated papers
    out += ["", "## Published figures", ""]
    out += ["| what was repeated | values that agree |", "|---|---:|"]
    out += [f"| {_link(page)} | {_score(page)} |" for page in sorted(papers, key=_title)]

    out += ["", "```{toctree}", ":hidden:", ""]
    return "\n".join([*out, *(f"/benchmarks/{page.stem}" for page in pages), "```", ""])


def _title(page):
    return page.title.lower()


def _link(page):
    return f"{{doc}}`{page.title} </benchmarks/{page.stem}>`"


def _score(page):
    total = page.reached + page.missed
    return f"{page.reached} of {total}" if total else "none set"


def _rivals(page, peers):
    return [row for row in page.ratios if row[1] in peers.get(page.stem, ())]


def _summary(pages, peers):
    """Sentence on top of the table: on how many pages we lead."""
    verdicts = [verdict(rivals) for page in pages if (rivals := _rivals(page, peers))]
    faster = verdicts.count(FASTER)
    slower = verdicts.count(SLOWER)
    return (
        f"{len(verdicts)} pages compare times with other libraries. On {faster} of them, every "
        f"other library takes longer. On {len(verdicts) - faster - slower} pages, some libraries "
        f"take longer, and on {slower} pages, none does."
    )


def read(path):
    """Read a page: its tables have known heads."""
    text = path.read_text(encoding="utf-8")
    title = re.search(r"^# (.*)$", text, re.MULTILINE)[1]
    ratios = []
    marks = []
    misses = []
    head = ()
    for line in text.splitlines():
        if not line.startswith("|"):
            head = ()
            continue

        # a table is known by its head
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        head = head or cells
        if "time / ours" in head and len(cells) == len(head):
            row = dict(zip(head, cells, strict=True))
            if re.fullmatch(r"\d[\d.e+-]*", row["time / ours"]):
                ratios.append((float(row["time / ours"]), row["contender"], row["size"]))
        elif head[-1] in ("reached", "agrees", "within the limit"):
            marks.append(cells[-1].strip("*"))
            if head[:2] == ["figure", "measured"] and marks[-1] == "no":
                misses.append(f"{cells[0]} (measured: {cells[1]})")
    return Page(path.stem, title, ratios, marks.count("yes"), marks.count("no"), misses)


def verdict(rivals):
    """Who is faster, in words; rivals need not solve the same problem as well."""
    if not rivals:
        return "no peer measured"
    slower = sum(ratio >= 1 for ratio, _, _ in rivals)
    if slower == len(rivals):
        return FASTER
    if slower == 0:
        return SLOWER
    return f"faster in {slower} of {len(rivals)} comparisons"


def _fastest(rivals):
    if not rivals:
        return ""
    ratio, name, size = min(rivals)
    return f"{ratio:.2g} ({name}, {size})"


def _peers():
    """Page -> names of the contenders that are other people's code, from the cases themselves."""
    from benchmarks.peers.discover import find_cases

    return {
        stem: {name for name, contender in case.contenders.items() if contender.peer}
        for stem, case in find_cases().items()
    }
