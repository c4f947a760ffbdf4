"""The atlas: every method of the source texts, and where it is today.

The rows are data (`docs/atlas.toml`); whether a method of this project is there is looked up in
the package, so that the page cannot go stale.
"""

import importlib
import tomllib
import warnings
from pathlib import Path

THEIRS = ("sklearn", "scipy")  # import paths of other packages; the rest is below skmoderndata


def load(path):
    """Read the atlas: `prepare`, `texts` and `section`s with their `rows`."""
    return tomllib.loads(Path(path).read_text(encoding="utf-8"))


def split_homes(row):
    """Homes of a row: ours and those of other packages."""
    theirs = [home for home in row["home"] if home.split(".")[0] in THEIRS]
    return [home for home in row["home"] if home not in theirs], theirs


def find(home):
    """The object at a home below `skmoderndata`, None if it is not there yet."""
    module_name, _, name = home.rpartition(".")
    try:
        module = importlib.import_module(f"skmoderndata.{module_name}")
    except ModuleNotFoundError as error:
        if not f"skmoderndata.{module_name}".startswith(str(error.name)):
            raise  # something else is missing: a broken module must not look like a future one
        return None
    return getattr(module, name, None)


def accepts(cls, setting):
    """Whether a class takes these parameters with these values."""
    try:
        made = cls(**setting)
        if hasattr(made, "_validate_params"):
            made._validate_params()
    except (TypeError, ValueError):
        return False
    return True


def is_available(row):
    """Whether this project has everything that the row asks of it."""
    ours, _ = split_homes(row)
    found = [find(home) for home in ours]
    if not found or any(value is None for value in found):
        return False
    return accepts(found[0], row["setting"]) if "setting" in row else True


def namespace(atlas):
    """Names that the lines of the atlas may use, made by its `prepare`."""
    names = {}
    exec(atlas["prepare"], names)
    return names


def run(row, names):
    """Run the line of a row after the imports that the page shows beside it."""
    _, theirs = split_homes(row)
    local = dict(names)
    for home in theirs:
        module_name, _, name = home.rpartition(".")
        local[name] = getattr(importlib.import_module(module_name), name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return eval(row["line"], local)


def render(atlas, docs):
    """Markdown of the page below its introduction."""
    rows = [row for section in atlas["section"] for row in section["rows"]]
    count = {have: sum(row["have"] == have for row in rows) for have in ("sk", "part", "new")}
    here = sum(is_available(row) for row in rows)

    # introduction: counts, imports and texts that the rows rely on
    out = [
        f"The tables have {len(rows)} rows. scikit-learn provides {count['sk']} of them, and a "
        f"part of {count['part']} more. This package provides {here}; the number of rows that are "
        f"not there yet is {len(rows) - count['sk'] - here}.",
        "",
        "The lines of scikit-learn run after this code and the imports shown below each line:",
        "",
        "```python",
        atlas["prepare"].strip(),
        "```",
        "",
        "These are the texts, each with the word that stands for it in the tables:",
        "",
        *[f"- **{key}**: {text}" for key, text in atlas["texts"].items()],
        "",
    ]

    for section in atlas["section"]:
        out += [
            f"## {section['title']}",
            "",
            "| method | text | where it is |",
            "|---|---|---|",
            *[_render_row(row, docs) for row in section["rows"]],
            "",
        ]

    return "\n".join(out)


def _render_row(row, docs):
    where = row.get("where", "")
    if not where.startswith(tuple(row["source"])):
        where = f"{', '.join(row['source'])} {where}".strip()
    ours, theirs = split_homes(row)
    home = _our_lines(row, ours, docs)
    if "line" in row:
        home += [f"`{row['line']}`", _imports(theirs)]
    if "note" in row:
        home.append(row["note"])
    cells = [row["method"], where, "<br>".join(home)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _imports(homes):
    """Names with the module that each is imported from."""
    modules = {}
    for home in homes:
        module_name, _, name = home.rpartition(".")
        modules.setdefault(module_name, []).append(f"{{obj}}`{name} <{home}>`")
    return "; ".join(f"{', '.join(names)} of `{module}`" for module, names in modules.items())


def _our_lines(row, ours, docs):
    lines = []
    for i, home in enumerate(ours):
        value = find(home)
        setting = row.get("setting", {}) if i == 0 else {}
        options = ", ".join(f"{name}={option!r}" for name, option in setting.items())
        code = f"{home}({options})" if options else home
        if value is None or (setting and not accepts(value, setting)):
            lines.append(f"`{code}`: not there yet")
            continue
        lines.append(f"{{obj}}`{code} <skmoderndata.{home}>`: **available**")
        page = _page(value)
        if page and (docs / f"{page}.md").exists():
            lines[-1] += f", {{doc}}`guide </{page}>`"
    return lines


def _page(value):
    if not hasattr(value, "_card"):
        return None
    from skmoderndata._estimator.registry import method_stem

    return f"methods/{method_stem(value)}"
