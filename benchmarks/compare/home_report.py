"""Results of the benchmarks designed for methods: terminal, HTML report and documentation."""

import json
import traceback
from html import escape

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from benchmarks.compare.home import FLAGSHIPS, column, find_rivals
from benchmarks.compare.home_run import answers
from benchmarks.compare.table import seconds_text, time_in_words

ORDER = ("method", "rival", "equal", "undecided", "")
WORDS = {
    "method": "wins",
    "rival": "scikit-learn wins",
    "equal": "equal",
    "undecided": "undecided",
}


def in_order(rows):
    """Sort rows: the methods that README.md shows, then wins, losses and failed rows."""
    return sorted(rows, key=_place)


def _place(row):
    if row.stem in FLAGSHIPS and not row.away:
        return (FLAGSHIPS.index(row.stem), 0, False, ())
    return (len(FLAGSHIPS), ORDER.index(winner(row)), row.away, row.names)


def winner(row):
    """Return the winner, or "" if it is not known."""
    return row.verdict().winner if row.state == "finished" else ""


def summary(rows):
    """Count the verdicts in one phrase."""
    homes = [winner(row) for row in rows if not row.away]
    counts = [homes.count(kind) for kind in ORDER[:-1]]
    return (
        f"{len(homes)} benchmarks designed for a method: {counts[0]} won, {counts[1]} lost, "
        f"{counts[2]} equal, {counts[3]} undecided"
    )


def advice(row):
    """Advise when to use the method, or scikit-learn instead."""
    what = "a scikit-learn pipeline" if row.away else " or ".join(row.names[:2])
    return f"Use {what} when {row.home.when}"


def time_phrase(row):
    """Time of the method relative to the time of its rival, in words."""
    ours, others = row.results()
    ratio = np.median(column(others[row.verdict().rival], "seconds"))
    return time_in_words(ratio / np.median(column(ours, "seconds")))


# --- terminal


def print_homes(console, rows):
    """Print the advice, the verdict and the gain of each benchmark."""
    if not rows:
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, leading=1, header_style="bold")
    table.add_column("when to use it", overflow="fold", ratio=2)
    table.add_column("verdict", no_wrap=True)
    table.add_column("what you gain", overflow="fold", ratio=3)
    styles = {"method": "bold green", "rival": "bold yellow"}
    for row in in_order(rows):
        found = winner(row)
        text = row.gain if found else row.error or "not run"
        verdict = Text(WORDS.get(found, row.state), styles.get(found, ""))
        table.add_row(Text(advice(row)), verdict, Text(text))
    console.print(table)
    console.print(f"{summary(rows)}.", style="bold", highlight=False)
    console.print()


# --- JSON


def as_json(row):
    """Everything about a benchmark that the documentation shows."""
    home = row.home
    found = {
        "page": row.stem,
        "methods": list(row.names),
        "family": row.family,
        "away": row.away,
        "state": row.state,
        "when": home.when,
        "title": home.title,
        "kind": home.kind,
        "generated": home.generated,
        "about": row.about,
        "score": home.score_name,
        "smaller_is_better": home.smaller,
        "by_time": home.by_time,
        "full_only": home.full_only,
        "shorter": home.is_long and not home.full_only,
        "lines": home.lines,
    }
    if row.state != "finished":
        return found | {"error": row.error}

    ours, others = row.results()
    verdict = row.verdict()
    return found | {
        "gain": row.gain,
        "winner": verdict.winner,
        "rival": verdict.rival,
        "time": time_phrase(row),
        "rounds": len(ours),
        "contenders": [
            _contender_as_json(name, results)
            for name, results in {row.names[0]: ours, **others}.items()
        ],
        "levels": [_level_as_json(row, condition) for condition in row.rounds if condition],
    }


def _contender_as_json(name, results):
    scores = column(results, "score")
    return {
        "name": name,
        "score": _rounded(scores.mean()),
        "deviation": _rounded(scores.std(ddof=1)),
        "seconds": _rounded(np.median(column(results, "seconds")), 2),
    }


def _level_as_json(row, condition):
    ((name, value),) = condition
    verdict = row.verdict(condition)
    ours, others = row.results(condition)
    return {
        "name": name,
        "value": value,
        "winner": verdict.winner,
        "ours": _rounded(column(ours, "score").mean()),
        "rival": _rounded(column(others[verdict.rival], "score").mean()),
        "rival_name": verdict.rival,
    }


def _rounded(value, digits=4):
    return float(f"{value:.{digits}g}")


def store(path, rows):
    """Replace the stored results of the benchmarks that were run, and keep the other results."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    found = {(row.stem, row.away): as_json(row) for row in rows if row.state == "finished"}
    kept = [entry for entry in known if (entry["page"], entry["away"]) not in found]
    entries = sorted(
        [*kept, *found.values()], key=lambda entry: (entry["page"], entry["away"])
    )
    path.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


# --- HTML


def take_it_when(rows):
    """Section with the advice, verdict and gain of each benchmark, and filters."""
    if not rows:
        return ""
    filters = "".join(
        f"<label>{name} <select data-filter='{name}'><option value=''>all</option>"
        + "".join(f"<option>{escape(value)}</option>" for value in values)
        + "</select></label> "
        for name, values in (
            ("family", sorted({row.family for row in rows}, key=str.lower)),
            ("kind", sorted({row.home.kind for row in rows}, key=str.lower)),
        )
    )
    lines = "\n".join(_line(row) for row in in_order(rows))
    return (
        '<section id="take-it-when"><h2>When to use which</h2>'
        '<p class="quiet">Each method on a problem that it is made for, compared with the '
        "strongest of several scikit-learn pipelines, which are in benchmarks/compare/rivals. "
        "The verdict rests on the 95&#160;% interval of the paired differences.</p>"
        f"<p>{filters}</p>"
        '<div class="wide"><table class="full filtered"><thead><tr><th>use</th><th>verdict</th>'
        "<th>what you gain</th><th>time</th></tr></thead>"
        f"<tbody>\n{lines}\n</tbody></table></div></section>"
    )


def anchor(row):
    """Anchor of the section of a benchmark."""
    return f"{'away' if row.away else 'home'}-{row.stem}"


def _line(row):
    found = winner(row)
    css = {"rival": "baseline"}.get(found, found)
    verdict = f'<span class="badge {css}">{WORDS[found]}</span>' if found else row.state
    text = row.gain if found else row.error
    time = time_phrase(row) if found else ""
    return (
        f'<tr data-family="{escape(row.family)}" data-kind="{escape(row.home.kind)}">'
        f'<td><a href="#{anchor(row)}">{escape(advice(row))}</a></td><td>{verdict}</td>'
        f"<td>{escape(text)}</td><td>{escape(time)}</td></tr>"
    )


def sections(rows, picture):
    """A section for each benchmark; `picture` turns a drawing function into an image."""
    return "\n".join(_section(row, picture) for row in in_order(rows))


def _section(row, picture):
    home = row.home
    names = " and ".join(row.names[:2])
    head = f"scikit-learn instead of {names}" if row.away else names
    parts = [
        f'<section id="{anchor(row)}">',
        f"<h2>{escape(head)}: {escape(home.title)}</h2>",
        f"<p>{escape(advice(row))}.</p>",
        f'<p class="quiet">Data: {escape(row.about)}'
        f"{' (generated)' if home.generated else ''}.</p>",
    ]
    if row.state == "failed":
        parts.append(f'<p class="bad">{escape(row.error)}</p>')
        parts.append(
            f"<details><summary>Traceback</summary><pre>{escape(row.trace)}</pre></details>"
        )
    elif row.state == "finished":
        parts += [f"<p><b>{escape(row.gain)}</b></p>", _drawn(row, picture), _contenders(row)]
        parts += [_levels(row), f"<pre>{escape(home.lines)}</pre>"]
    return "\n".join([*parts, "</section>"])


def _drawn(row, picture):
    if row.home.draw is None:
        return ""
    try:
        case, found = answers(row)
        return picture(
            lambda fig: row.home.draw(fig, case, found),
            size=row.home.draw_size,
            alt=f"{' and '.join(found)} on {row.home.title}",
        )
    except Exception as error:
        row.plot_error = f"the plot failed: {type(error).__name__}: {error}"
        trace = escape(traceback.format_exc())
        return f'<p class="bad">{escape(row.plot_error)}</p><pre>{trace}</pre>'


def _contenders(row):
    """Scores and seconds of the method and all rivals, best first."""
    ours, others = row.results()
    sign = 1 if row.home.smaller else -1
    ranked = sorted(
        {row.names[0]: ours, **others}.items(),
        key=lambda item: sign * column(item[1], "score").mean(),
    )
    better = "smaller" if row.home.smaller else "greater"
    lines = "".join(
        f'<tr><td class="{"method" if results is ours else "baseline"}">{escape(name)}</td>'
        f'<td class="num">{column(results, "score").mean():.4g}</td>'
        f'<td class="num">{np.std(column(results, "score"), ddof=1):.2g}</td>'
        f'<td class="num">{seconds_text(np.median(column(results, "seconds")))}</td></tr>'
        for name, results in ranked
    )
    return (
        f"<h3>{escape(row.home.score_name)}; {better} is better</h3>"
        '<div class="wide"><table><thead><tr><th>contender</th><th class="num">mean</th>'
        '<th class="num">deviation</th><th class="num">seconds</th></tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
        f'<p class="quiet">{len(ours)} draws; {len(find_rivals(row.stem))} rivals.</p>'
    )


def _levels(row):
    """Winners if one property of the data changes."""
    levels = [_level_as_json(row, condition) for condition in row.rounds if condition]
    if not levels:
        return ""
    lines = "".join(
        f"<tr><td>{escape(str(level['name']))} = {escape(str(level['value']))}</td>"
        f"<td>{WORDS[level['winner']]}</td>"
        f'<td class="num">{level["ours"]:.4g}</td><td class="num">{level["rival"]:.4g}</td>'
        f"<td>{escape(level['rival_name'])}</td></tr>"
        for level in levels
    )
    return (
        '<h3>Where the advantage ends</h3><div class="wide"><table><thead><tr><th>data</th>'
        '<th>verdict</th><th class="num">method</th><th class="num">strongest rival</th>'
        f"<th>which</th></tr></thead><tbody>{lines}</tbody></table></div>"
    )
