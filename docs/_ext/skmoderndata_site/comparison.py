"""What `make compare` has found at home: a page of all methods, the first lines of each page."""

import json

from skmoderndata._registry import all_estimators, all_kernels, method_stem

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
    """Markdown: when to take what, by kind of data."""
    entries = load(docs)
    homes = [entry for entry in entries if not entry["away"]]
    counts = {kind: sum(entry["winner"] == kind for entry in homes) for kind in ORDER}
    generated = sum(entry["generated"] for entry in homes)
    out = [
        f"{len(homes)} problems at home, {generated} of them generated: {counts['method']} won, "
        f"{counts['rival']} lost, {counts['equal']} equal, {counts['undecided']} undecided.",
        "",
    ]

    for kind in sorted({entry["kind"] for entry in entries}):
        out += [f"## {kind[0].upper()}{kind[1:]}", ""]
        out += ["| take | when | what you gain | time |", "|---|---|---|---|"]
        members = [entry for entry in entries if entry["kind"] == kind]
        members.sort(key=lambda entry: (ORDER.index(entry["winner"]), entry["away"]))
        out += [_row(entry) for entry in members]
        out.append("")
    return "\n".join([*out, *_textbooks()])


def _textbooks():
    """Markdown: methods without a home problem that they win, and what to take instead."""
    rows = [
        f"| {{doc}}`{cls.__name__} </methods/{method_stem(cls)}>` | {cls._card.textbook} |"
        for cls in [*all_estimators(), *all_kernels()]
        if cls._card.textbook
    ]
    if not rows:
        return []
    return ["## Textbook methods", "", "| not | but |", "|---|---|", *rows, ""]


def _row(entry):
    what = f"{{doc}}`{entry['methods'][0]} </methods/{entry['page']}>`"
    if entry["away"]:
        what = f"scikit-learn's way, not {what}"
    note = "" if entry["winner"] in ("method", "rival") else f" *({entry['winner']})*"
    full = " *(`--full` only)*" if entry["full_only"] else ""
    cells = what, entry["when"], f"{entry['gain']}{note}{full}", entry["time"]
    return f"| {' | '.join(cells)} |"


def in_short(stem, classes, docs):
    """Markdown of the first lines of a method's page: a picture, a number, lines to paste."""
    entries = {entry["away"]: entry for entry in load(docs) if entry["page"] == stem}
    textbook = next((cls._card.textbook for cls in classes if cls._card.textbook), "")
    if textbook and False not in entries:
        text = (
            "No problem was found that this method wins against a few lines of scikit-learn "
            f"([tried so far](../comparison.md)). {textbook}"
        )
        return "\n".join([":::{admonition} Textbook", ":class: note", "", text, ":::", ""])
    if False not in entries:
        return ""

    home = entries[False]
    out = ["::::{container} in-short", ""]
    if picture := _picture(stem, docs):
        out += [f"![What {home['methods'][0]} finds](../{picture})", ""]
    out += [f"**In short.** Take it when {home['when']}. {home['gain']}", ""]
    if True in entries:
        away = entries[True]
        out += [f"Take scikit-learn's way when {away['when']}. {away['gain']}", ""]
    out += ["```python", *home["lines"].splitlines(), "```", ""]
    out += [" ".join(filter(None, (_source(home), _levels(home)))), "", "::::", ""]
    return "\n".join(out)


def _source(home):
    """Where the number comes from, in small print."""
    data = "Generated" if home["generated"] else "Real"
    return (
        f"{data} data: {home['about']}. {home['score'][0].upper()}{home['score'][1:]}, "
        f"{home['rounds']} draws, against the strongest of {len(home['contenders']) - 1} "
        "pipelines of scikit-learn ([all of them](../comparison.md))."
    )


def _levels(home):
    """Where the win ends: verdicts with one argument of the draw changed, as one sentence."""
    found = {}
    for level in home["levels"]:
        values = found.setdefault(level["winner"], {}).setdefault(level["name"], [])
        value = level["value"]
        values.append(value if isinstance(value, str) else f"{value:,}")
    parts = []
    for winner in sorted(found, key=ORDER.index):
        places = [f"{name} = {' or '.join(values)}" for name, values in found[winner].items()]
        parts.append(f"{LEVELS[winner]} at {'; '.join(places)}")
    if not parts:
        return ""
    return f"With one of these changed, {home['methods'][0]} {', and '.join(parts)}."


def _picture(stem, docs):
    """First picture of the example of a page, if the gallery was drawn."""
    found = sorted((docs / "auto_examples" / "images").glob(f"sphx_glr_plot_{stem}_0*.png"))
    return found[0].relative_to(docs).as_posix() if found else ""
