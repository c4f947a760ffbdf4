"""The report: one HTML page that needs no other file, and the same results as JSON."""

import base64
import datetime
import io
import json
import platform
import traceback
from collections import Counter
from html import escape
from importlib.metadata import version
from string import Template

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import skmoderndata
from benchmarks.compare import home_report
from benchmarks.compare.table import (
    RULE,
    VERDICTS,
    count,
    notes,
    score_text,
    seconds_text,
    summary,
    summary_of_times,
    time_in_words,
)

METHOD_COLOR = "#2f86d1"
BASELINE_COLOR = "#d9822b"
# Number of dots per inch of a picture.
RESOLUTION = 90
# Quality of the compressed pictures, on the scale of the format.
QUALITY = 60


def write_report(rows, plan, folder, *, seconds, interrupted, homes=(), reasons=None):
    """Write `index.html` and `results.json` into `folder`, which exists; return the page.

    `homes` are the rows of benchmarks designed for a method; `reasons` says, name by name, why a
    method is not compared.
    """
    facts = _facts(rows, plan, seconds, interrupted)
    page = folder / "index.html"
    # write the page first, because plotting may record errors
    page.write_text(_page(rows, homes, plan, facts, reasons or {}), encoding="utf-8")
    found = facts | {
        "homes": [home_report.as_json(row) for row in homes],
        "rows": [_row_as_json(row) for row in rows],
    }
    (folder / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    return page.resolve()


def _facts(rows, plan, seconds, interrupted):
    packages = ("numpy", "scipy", "scikit-learn", "joblib", "numba")
    return {
        "finished": datetime.datetime.now().isoformat(sep=" ", timespec="minutes"),
        "seconds": round(seconds, 1),
        "interrupted": interrupted,
        "protocol": plan.size,
        "outer_folds": plan.n_outer,
        "inner_folds": plan.n_inner,
        "versions": {
            "skmoderndata": skmoderndata.__version__,
            "python": platform.python_version(),
        }
        | {package: version(package) for package in packages},
        "machine": platform.machine(),
    }


# --- JSON


def _row_as_json(row):
    found = {
        "method": row.name,
        "family": row.family,
        "problem": row.problem_name,
        "state": row.state,
    }

    if row.error:
        found["error"] = row.error
    if row.plot_error:
        found["plot_error"] = row.plot_error
    if row.data is not None:
        found |= {"data": row.data.about, "score": row.problem.score_name}

    if row.folds:
        mean, half_width = row.difference
        found |= {
            "winner": row.winner,
            "difference": mean,
            "half_width": half_width if np.isfinite(half_width) else None,
            "margin": row.margin,
            "faster": row.faster,
            "time_ratio": row.time_ratio[0],
        }

    found["contenders"] = [
        {
            "name": side.name,
            "params": {name: _plain(value) for name, value in side.params.items()},
            "grid": {name: [_plain(value) for value in side.grid[name]] for name in side.grid},
            "warnings": dict(side.warnings),
            "at_grid_ends": {name: _plain(value) for name, value in side.at_grid_ends.items()},
            # for each outer fold, list the chosen candidate and its score in the search
            "folds": [
                {
                    "fold": fold + 1,
                    "score": outcome.score,
                    "seconds": outcome.seconds,
                    "fit_seconds": outcome.fit_seconds,
                    "best_params": {k: _plain(v) for k, v in outcome.best_params.items()},
                }
                for fold, outcome in sorted(side.outcomes.items())
                if not outcome.error
            ],
        }
        for side in row.contenders
    ]

    return found


def _plain(value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return (
        value if value is None or isinstance(value, bool | int | float | str) else repr(value)
    )


# --- HTML

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>skmoderndata compared with scikit-learn</title>
<style>
:root { color-scheme: light dark; --back: #f6f7f9; --card: #ffffff; --text: #1d2430;
  --quiet: #5b6573; --line: #dfe3e8; --bad: #b3261e; --badge: #e8f1fb;
  --method: $method_color; --baseline: $baseline_color; }
@media (prefers-color-scheme: dark) { :root { --back: #12151a; --card: #1b2028; --text: #e6e9ee;
  --quiet: #9aa4b2; --line: #323a45; --bad: #f2938c; --badge: #1f3145; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text);
  font: 16px/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1260px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 0 0 .2rem; }
h3 { font-size: .95rem; margin: 1.4rem 0 .4rem; }
p { margin: .4rem 0; }
a { color: inherit; text-decoration-color: var(--quiet); text-underline-offset: 3px; }
.quiet { color: var(--quiet); font-size: .9rem; }
.bad { color: var(--bad); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px 22px; margin-top: 22px; }
.wide { overflow-x: auto; }
.overview td:first-child { font-weight: 600; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
section > .wide > table.full { width: 100%; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--method); }
th button::after { content: " \\2195"; opacity: .5; }
th[aria-sort="ascending"] button::after { content: " \\2191"; opacity: 1; }
th[aria-sort="descending"] button::after { content: " \\2193"; opacity: 1; }
td.num, th.num { text-align: right; white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
.win { font-weight: 700; }
.method, .baseline { overflow-wrap: anywhere; }
.full td.method, .full td.baseline { white-space: nowrap; }
.badge { display: inline-block; padding: 1px 9px; border-radius: 99px; background: var(--badge);
  white-space: nowrap; }
.method::before, .baseline::before { content: ""; display: inline-block; width: .6em;
  height: .6em; border-radius: 50%; margin-right: .45em; }
.method::before { background: var(--method); }
.baseline::before { background: var(--baseline); }
img { display: block; max-width: 100%; height: auto; margin: 6px 0; padding: 8px;
  background: #ffffff; border-radius: 6px; }
svg { display: block; max-width: 100%; height: auto; margin: 6px 0; font-size: 12px; }
svg text { fill: var(--quiet); }
svg .mean { stroke-dasharray: 2 3; }
@media (max-width: 760px) {
  main { padding: 16px 8px 40px; }
  section { padding: 12px 10px; }
  table.full, table.full tbody, table.full tr { display: block; }
  table.full thead { display: none; }
  table.full tr { border-bottom: 1px solid var(--line); padding: 8px 0; }
  table.full td.method, table.full td.baseline { white-space: normal; }
  table.full td { display: inline-block; border: 0; padding: 1px 10px 1px 0; text-align: left; }
  table.full td[data-label]::before { content: attr(data-label) " "; color: var(--quiet);
    font-weight: 400; }
  table.full td:first-child, table.full td.about { display: block; }
}
pre { overflow-x: auto; font-size: .8rem; }
code { font-size: .92em; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--quiet); font-size: .9rem; }
</style>
</head>
<body>
<main>
<h1>skmoderndata compared with scikit-learn</h1>
<p><b>$summary</b></p>
$alert
$homes
<section>
<h2>Compared with the closest scikit-learn estimator</h2>
<p>The same pipeline with the method and with the closest scikit-learn estimator. GridSearchCV
tunes both on the same folds, on data that are not made for the method. If two grids differ in
size, the section says so.</p>
<p><b>$comparisons</b></p>
<p class="quiet">$how</p>
<details>
<summary>By family</summary>
<div class="wide"><table class="overview">
<thead><tr><th>family</th><th class="num">wins</th><th class="num">losses</th>
<th class="num">equal</th><th class="num">undecided</th><th class="num">other</th></tr></thead>
<tbody>
$families
</tbody>
</table></div>
</details>
<p class="quiet">$rule</p>
<div class="wide"><table class="full sortable">
<thead><tr><th>verdict</th><th>method</th><th>baseline</th><th class="num">score</th>
<th class="num">baseline score</th><th>time of a fit</th><th>data</th></tr></thead>
<tbody>
$rows
</tbody>
</table></div>
</section>
$reasons
$home_sections
$sections
<p class="quiet">$versions</p>
</main>
<script>
for (const select of document.querySelectorAll("select[data-filter]"))
  select.onchange = () => {
    const wanted = [...document.querySelectorAll("select[data-filter]")];
    const fits = row => wanted.every(
      each => ["", row.dataset[each.dataset.filter]].includes(each.value));
    for (const row of document.querySelectorAll("table.filtered tbody tr"))
      row.hidden = !fits(row);
  };
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const value = (row, i) => row.cells[i].dataset.sort || row.cells[i].textContent;
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.onclick = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (a, b) =>
        value(a, i).localeCompare(value(b, i), "en", {numeric: true});
      body.append(...[...body.rows].sort((a, b) => down ? compare(b, a) : compare(a, b)));
    };
  });
}
</script>
</body>
</html>
""")


def _page(rows, homes, plan, facts, reasons):
    how = (
        f"The scores come from {plan.n_outer} outer folds, fewer if a fit is slow"
        f"{'' if plan.quick else ' and more if it is fast'}; each search holds out a third of "
        f"its rows, {('once', 'twice', 'each third in turn')[plan.n_inner - 1]}. "
        f"The run took {facts['seconds']:.0f} s and ended at {facts['finished']}."
    )

    alert = ""
    if plan.quick:
        how += " Quick run: fewer rows, folds and candidates, so that most verdicts are undecided."
    if facts["interrupted"]:
        alert = '<p class="bad">Interrupted: only what was finished is shown.</p>'

    counts = count(rows)
    total = sum(counts.values(), Counter())
    comparisons = f"{len(rows)} comparisons: {summary(total)}. Time: {summary_of_times(rows)}."

    return _PAGE.substitute(
        method_color=METHOD_COLOR,
        baseline_color=BASELINE_COLOR,
        summary=escape(f"{home_report.summary(homes)}." if homes else ""),
        homes=home_report.take_it_when(homes),
        home_sections=home_report.sections(homes, _picture),
        comparisons=escape(comparisons),
        how=escape(how),
        alert=alert,
        families="\n".join(_family(family, found) for family, found in counts.items()),
        rows="\n".join(_table_row(row) for row in rows),
        rule=escape(
            RULE.replace("+-", "\N{PLUS-MINUS SIGN}").replace(" %", "\N{NO-BREAK SPACE}%")
        ),
        reasons=_reasons(reasons),
        sections="\n".join(_section(row) for row in rows),
        versions=escape(
            ", ".join(f"{package} {number}" for package, number in facts["versions"].items())
            + f"; {facts['machine']}. The same results are in results.json."
        ),
    )


def _family(family, counts):
    numbers = [counts[kind] for kind in VERDICTS]
    numbers.append(sum(counts.values()) - sum(numbers))
    cells = "".join(f'<td class="num">{number or ""}</td>' for number in numbers)
    return f"<tr><td>{escape(family)}</td>{cells}</tr>"


def _reasons(reasons):
    if not reasons:
        return ""
    lines = [
        f"<tr><td>{escape(name)}</td><td>{escape(reason)}</td></tr>"
        for name, reason in reasons.items()
    ]
    return (
        '<section id="not-compared"><h2>Not compared, and why</h2>'
        f'<div class="wide"><table><tbody>{"".join(lines)}</tbody></table></div></section>'
    )


def _table_row(row):
    data = (
        f"{row.problem.title} ({row.problem.score_name})" if row.problem else row.problem_name
    )
    names = {"method": row.name, "baseline": row.baseline.name if row.baseline else "?"}

    cells = [_verdict_cell(row)]
    for kind, name in names.items():
        win = " win" if row.winner == kind else ""
        link = (
            f'<a href="#{escape(name)}">{escape(name)}</a>'
            if kind == "method"
            else escape(name)
        )
        cells.append(f'<td class="{kind}{win}">{link}</td>')

    if row.state in ("failed", "not run"):
        cells += ["<td></td>"] * 3
    else:
        # write the scores, each with the bounds of its mean, then the times of both fits in
        # seconds
        for kind, side in zip(names, row.contenders, strict=True):
            win = " win" if row.winner == kind else ""
            label = "score" if kind == "method" else "baseline"
            mean = _sortable(row.scores(side).mean())
            cells.append(
                f'<td class="num{win}" data-label="{label}" data-sort="{mean}">'
                f"{_pm(row.scores(side))}</td>"
            )
        fit_times = " and ".join(
            f"{seconds_text(side.fit_seconds)} s" for side in row.contenders
        )
        cells.append(
            f'<td data-label="time" {_time_order(row)}>{escape(_time_verdict(row))} '
            f'<span class="quiet">{fit_times}</span></td>'
        )

    cells.append(f'<td class="about">{escape(data)}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _verdict_cell(row):
    order = (*VERDICTS, "").index(row.winner)
    if row.state in ("failed", "not run"):
        return f'<td class="bad" data-sort="{order}">{row.state}</td>'
    text = {
        "equal": f"equal within {row.margin:g}",
        "undecided": f"undecided {row.shown}".strip(),
        "method": "method wins",
        "baseline": "baseline wins",
    }[row.winner]
    partial = "" if row.state == "finished" else f" ({len(row.folds)} folds)"
    return (
        f'<td data-sort="{order}"><span class="badge {row.winner}">{escape(text + partial)}'
        "</span></td>"
    )


def _sortable(value):
    """Write a number so that sorting by text sorts by number: no sign, fixed width."""
    return f"{value + 1e6:017.8f}"


def _time_order(row):
    return f'data-sort="{_sortable(np.log(row.time_ratio[0]))}"'


def _time_verdict(row):
    """Time, as a phrase about the method."""
    if row.faster in ("method", "baseline"):
        return time_in_words(row.time_ratio[0])
    return row.faster


def _section(row):
    title = row.problem.title if row.problem else row.problem_name
    parts = [
        f'<section id="{escape(row.name)}">',
        f"<h2>{escape(row.name)} on {escape(title)}</h2>",
    ]
    if row.problem:
        parts.append(f"<p>{escape(row.problem.description)}</p>")
    if row.data:
        parts.append(f'<p class="quiet">Data: {escape(row.data.about)}</p>')
    css = ' class="bad"' if row.state == "failed" else ' class="quiet"'
    parts += [f"<p{css}>{escape(note)}</p>" for note in notes(row)]
    if row.state == "failed":
        parts.append(
            f"<details><summary>Traceback</summary><pre>{escape(row.trace)}</pre></details>"
        )
    elif row.folds:
        parts += [_verdict(row), _problem_plot(row), _parameters(row), _folds(row)]
    return "\n".join([*parts, "</section>"])


def _verdict(row):
    mean, half_width = row.difference
    phrase = {
        "method": f"{row.name} wins",
        "baseline": f"{row.baseline.name} wins",
        "equal": f"Equal within {row.margin:g}",
        "undecided": "Undecided",
    }[row.winner]
    interval = f" \N{PLUS-MINUS SIGN} {half_width:.4f}" if np.isfinite(half_width) else ""
    if row.winner == "undecided" and interval:
        phrase = f"Undecided: these folds show no difference {row.shown}"
    ratio, factor = row.time_ratio
    around = f" (95\N{NO-BREAK SPACE}%: {ratio / factor:.2g} to {ratio * factor:.2g})"
    return (
        f"<p><b>{escape(phrase)}.</b> {escape(row.name)} minus {escape(row.baseline.name)}: "
        f"{mean:+.4f}{interval} (95&#160;%) in {escape(row.problem.score_name)}. Time of one fit: "
        f"{escape(_time_verdict(row))}; {escape(row.baseline.name)} takes {ratio:.2g} times as "
        f"long{around if np.isfinite(factor) else ''}.</p>"
    )


def _problem_plot(row):
    """Draw the results of the two fitted pipelines of the first fold on its test rows."""
    fitted = {
        side.name: side.outcomes[0].pipeline for side in row.contenders if 0 in side.outcomes
    }
    if len(fitted) < 2:
        return ""
    try:
        return _picture(
            lambda fig: row.problem.plot(fig, fitted, row.data, row.splits[0][1]),
            size=row.problem.plot_size,
            alt=f"{row.name} and {row.baseline.name} on {row.problem.title}",
        )
    except Exception as error:
        row.plot_error = f"the plot failed: {type(error).__name__}: {error}"
        return (
            f'<p class="bad">{escape(row.plot_error)}</p>'
            f"<details><summary>Traceback</summary><pre>{escape(traceback.format_exc())}"
            "</pre></details>"
        )


def _parameters(row):
    lines = []

    for kind, side in zip(("method", "baseline"), row.contenders, strict=True):
        fixed = ", ".join(f"{name}={value!r}" for name, value in side.params.items())
        grid = "; ".join(
            f"{name} in {', '.join(map(_short, values))}" for name, values in side.grid.items()
        )

        # count how often each candidate won the inner search
        choices = Counter(
            ", ".join(f"{k}={_short(v)}" for k, v in outcome.best_params.items())
            for outcome in side.outcomes.values()
        )
        choices = "; ".join(
            f"{params or 'the only candidate'} ({n} of {sum(choices.values())} folds)"
            for params, n in choices.most_common()
        )

        lines.append(
            f'<tr><td class="{kind}">{escape(side.name)}</td><td><code>{escape(choices)}</code>'
            f'</td><td><code>{escape(grid)}</code></td><td class="num">{side.n_candidates}</td>'
            f"<td><code>{escape(fixed)}</code></td></tr>"
        )

    return (
        '<h3>Best parameters</h3><div class="wide"><table><thead><tr><th>estimator</th>'
        '<th>chosen</th><th>searched</th><th class="num">candidates</th><th>fixed</th></tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def _folds(row):
    lines = []

    for fold in row.folds:
        a, b = (side.outcomes[fold] for side in row.contenders)
        numbers = (
            f"{a.score:.4f}",
            f"{b.score:.4f}",
            f"{a.score - b.score:+.4f}",
            f"{a.seconds:.1f}",
            f"{b.seconds:.1f}",
            seconds_text(a.fit_seconds),
            seconds_text(b.fit_seconds),
        )
        cells = "".join(f'<td class="num">{number}</td>' for number in numbers)
        lines.append(f"<tr><td>{fold + 1}</td>{cells}</tr>")

    headings = (
        row.method.name,
        row.baseline.name,
        "difference",
        "search s",
        "baseline s",
        "fit s",
        "baseline fit s",
    )
    heading = "".join(f'<th class="num">{escape(text)}</th>' for text in headings)

    return (
        f"<h3>Scores on the outer folds ({escape(row.problem.score_name)})</h3>"
        + _fold_chart(row)
        + "<details><summary>Scores and seconds of every fold</summary>"
        f'<div class="wide"><table><thead><tr><th>fold</th>{heading}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div></details>"
    )


def _fold_chart(row):
    """Draw the scores of both contenders by fold, in the colours of the page."""
    a = row.scores(row.method)
    b = row.scores(row.baseline)
    low = min(a.min(), b.min())
    high = max(a.max(), b.max())
    left = 60
    width = 520
    step = 18 if len(a) <= 10 else 11
    bottom = step * (len(a) + 1)

    def place(score):
        return left + width * (0.5 if high == low else (score - low) / (high - low))

    parts = [
        f'<svg role="img" viewBox="0 0 {left + width + 60} {bottom + 16}" '
        f'width="{left + width + 60}" height="{bottom + 16}" '
        'xmlns="http://www.w3.org/2000/svg"><title>scores by fold; dotted: mean</title>'
    ]

    # draw the means
    for scores, kind in ((a, "method"), (b, "baseline")):
        x = place(scores.mean())
        parts.append(
            f'<line class="mean" x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{bottom - 8}" '
            f'stroke="var(--{kind})"/>'
        )

    # draw one line for each fold, between the two scores
    for i, fold in enumerate(row.folds):
        y = step * (i + 1)
        xa = place(a[i])
        xb = place(b[i])
        if len(a) <= 10 or fold % 5 == 0:
            parts.append(f'<text x="0" y="{y + 4}">fold {fold + 1}</text>')
        parts.append(
            f'<line x1="{xa:.1f}" x2="{xb:.1f}" y1="{y}" y2="{y}" stroke="var(--quiet)"/>'
            f'<circle cx="{xa:.1f}" cy="{y}" r="4.5" fill="var(--method)"/>'
            f'<circle cx="{xb:.1f}" cy="{y}" r="4.5" fill="var(--baseline)"/>'
        )

    for score, anchor in ((low, "start"), (high, "end")) if high > low else ((low, "middle"),):
        parts.append(
            f'<text x="{place(score):.1f}" y="{bottom + 10}" text-anchor="{anchor}">'
            f"{score:.4g}</text>"
        )

    legend = "".join(
        f'<span class="{kind}">{escape(side.name)}</span> '
        for kind, side in zip(("method", "baseline"), row.contenders, strict=True)
    )
    return f'{"".join(parts)}</svg><p class="quiet">{legend}</p>'


def _picture(draw, *, size, alt):
    style = {"font.size": 9, "axes.titlesize": 9}
    with mpl.rc_context(style):
        fig = Figure(figsize=size, dpi=RESOLUTION, layout="constrained", facecolor="white")
        draw(fig)
        stream = io.BytesIO()
        fig.savefig(stream, format="webp", pil_kwargs={"quality": QUALITY, "method": 6})
    encoded = base64.b64encode(stream.getvalue()).decode("ascii")
    width, height = (round(96 * length) for length in size)
    return (
        f'<img alt="{escape(alt)}" width="{width}" height="{height}" '
        f'src="data:image/webp;base64,{encoded}"/>'
    )


def _pm(scores):
    return score_text(scores).replace("+-", "\N{PLUS-MINUS SIGN}")
