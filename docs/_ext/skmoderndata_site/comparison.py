"""Stored results of `make compare`: the page of all methods, and the first lines of each page."""

import json

from skmoderndata._estimator.registry import all_estimators, all_kernels, method_stem

LEVELS = {
    "method": "wins",
    "rival": "loses",
    "equal": "is equal",
    "undecided": "is undecided",
}
ORDER = tuple(LEVELS)


def load(docs):
    """Entries of the stored comparison."""
    path = docs / "comparison.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def render(docs):
    """Markdown: when to use which method, by kind of data."""
    entries = load(docs)
    homes = [entry for entry in entries if not entry["away"]]
    counts = {kind: sum(entry["winner"] == kind for entry in homes) for kind in ORDER}
    generated = sum(entry["generated"] for entry in homes)
    out = [
        f"The tables have {len(homes)} problems, each designed for its method; {generated} of "
        f"them use generated data. The methods win {counts['method']} problems and lose "
        f"{counts['rival']}; {counts['equal']} are equal and {counts['undecided']} undecided.",
        "",
    ]

    for kind in sorted({entry["kind"] for entry in entries}):
        out += [f"## {kind[0].upper()}{kind[1:]}", ""]
        out += ["| use | when | what you gain | time |", "|---|---|---|---|"]
        members = [entry for entry in entries if entry["kind"] == kind]
        members.sort(key=lambda entry: (ORDER.index(entry["winner"]), entry["away"]))
        out += [_row(entry) for entry in members]
        out.append("")
    return "\n".join([*out, *_without_benchmark("standard"), *_without_benchmark("textbook")])


SHELVES = {
    "standard": "These methods do in one step what a scikit-learn pipeline does in "
    "several, just as well.",
    "textbook": "One estimator of scikit-learn is as good as these methods, which books teach.",
}


def _without_benchmark(tier):
    """Markdown: the methods of a tier and the scikit-learn estimators that replace them."""
    rows = [
        f"| {{doc}}`{cls.__name__} </methods/{method_stem(cls)}>` | {cls._card.instead} |"
        for cls in [*all_estimators(), *all_kernels()]
        if cls._card.tier == tier
    ]
    if not rows:
        return []
    title = f"## {tier.capitalize()} methods"
    return [
        title,
        "",
        SHELVES[tier],
        "",
        "| method | in scikit-learn |",
        "|---|---|",
        *rows,
        "",
    ]


def _row(entry):
    what = f"{{doc}}`{entry['methods'][0]} </methods/{entry['page']}>`"
    if entry["away"]:
        what = f"a scikit-learn pipeline instead of {what}"
    note = "" if entry["winner"] in ("method", "rival") else f" *({entry['winner']})*"
    full = " *(`--full` only)*" if entry["full_only"] else ""
    full = " *(smaller without `--full`)*" if entry["shorter"] else full
    cells = what, entry["when"], f"{entry['gain']}{note}{full}", entry["time"]
    return f"| {' | '.join(cells)} |"


def in_short(stem, classes, docs):
    """Markdown of the first lines of a method's page: a picture, a result, lines to paste."""
    entries = {entry["away"]: entry for entry in load(docs) if entry["page"] == stem}
    card = next((cls._card for cls in classes if cls._card.tier != "core"), None)
    if card and False not in entries:
        tried = "[problems tried so far](../comparison.md)"
        said = {
            "standard": f"Scikit-learn does the same in several steps ({tried}).",
            "textbook": f"One estimator of scikit-learn is as good ({tried}).",
        }
        title = f":::{{admonition}} {card.tier.capitalize()} method"
        text = f"{said[card.tier]} {card.instead}"
        return "\n".join([title, ":class: note", "", text, ":::", ""])
    if False not in entries:
        return ""

    home = entries[False]
    out = ["::::{container} in-short", ""]
    if picture := _picture(stem, docs):
        out += [f"![What {home['methods'][0]} finds](../{picture})", ""]
    result = f"{home['methods'][0]} {home['gain'][0].lower()}{home['gain'][1:]}"
    out += [f"**In short.** Use it when {home['when']}. {result}", ""]
    if True in entries:
        away = entries[True]
        out += [f"Use a scikit-learn pipeline when {away['when']}. {away['gain']}", ""]
    out += ["```python", *home["lines"].splitlines(), "```", ""]
    out += [_source(home), "", *_levels(home), "::::", ""]
    return "\n".join(out)


def _source(home):
    """Source of the result, in small print."""
    data = "Generated" if home["generated"] else "Real"
    return (
        f"{data} data: {home['about']}. Score: {home['score']}; {home['rounds']} draws, compared "
        f"with the strongest of {len(home['contenders']) - 1} scikit-learn pipelines "
        "([all results](../comparison.md))."
    )


def _levels(home):
    """Markdown lines of a folded table: the verdict if one property of the data changes."""
    levels = sorted(home["levels"], key=lambda level: ORDER.index(level["winner"]))
    if not levels:
        return []
    rows = []
    for level in levels:
        value = level["value"]
        shown = value if isinstance(value, str) else f"{value:,}"
        rows.append(f"| {level['name']} = {shown} | {LEVELS[level['winner']]} |")
    return [
        "<details>",
        "<summary>If one property of the data changes</summary>",
        "",
        f"| changed | {home['methods'][0]} |",
        "|---|---|",
        *rows,
        "",
        "</details>",
        "",
    ]


def _picture(stem, docs):
    """First picture of the example of a page, if the gallery was drawn."""
    found = sorted((docs / "auto_examples" / "images").glob(f"sphx_glr_plot_{stem}_0*.png"))
    return found[0].relative_to(docs).as_posix() if found else ""
