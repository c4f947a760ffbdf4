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
from benchmarks.compare.table import RULE, notes, score_text

METHOD_COLOR, BASELINE_COLOR = "#2f86d1", "#d9822b"
THEMES = {"light": ("#1d2430", "#5b6573"), "dark": ("#e6e9ee", "#9aa4b2")}


def write_report(rows, plan, folder, *, seconds, interrupted):
    """Write `index.html` and `results.json` into `folder`, which exists; return the page."""
    facts = _facts(rows, plan, seconds, interrupted)
    page = folder / "index.html"
    page.write_text(_page(rows, plan, facts), encoding="utf-8")  # first: it may note plot errors
    (folder / "results.json").write_text(json.dumps(_as_json(rows, facts), indent=1) + "\n")
    return page.resolve()


def _facts(rows, plan, seconds, interrupted):
    packages = ("numpy", "scipy", "scikit-learn", "joblib", "numba")
    return {
        "finished": datetime.datetime.now().isoformat(sep=" ", timespec="minutes"),
        "seconds": round(seconds, 1),
        "interrupted": interrupted,
        "quick": plan.quick,
        "outer_folds": plan.n_outer,
        "inner_folds": plan.n_inner,
        "versions": {"skmoderndata": skmoderndata.__version__, "python": platform.python_version()}
        | {package: version(package) for package in packages},
        "machine": platform.machine(),
    }


# --- JSON


def _as_json(rows, facts):
    return facts | {"rows": [_row_as_json(row) for row in rows]}


def _row_as_json(row):
    found = {"method": row.name, "problem": row.problem_name, "state": row.state}
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
        }
    found["contenders"] = [
        {
            "name": side.name,
            "params": {name: _plain(value) for name, value in side.params.items()},
            "grid": {name: [_plain(value) for value in side.grid[name]] for name in side.grid},
            "warnings": dict(side.warnings),
            "folds": [
                {
                    "fold": fold + 1,
                    "score": outcome.score,
                    "seconds": outcome.seconds,
                    "refit_seconds": outcome.refit_seconds,
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
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


# --- HTML

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>skmoderndata beside scikit-learn</title>
<style>
:root { color-scheme: light dark; --back: #f6f7f9; --card: #ffffff; --text: #1d2430;
  --quiet: #5b6573; --line: #dfe3e8; --bad: #b3261e; --badge: #e8f1fb;
  --method: $method_color; --baseline: $baseline_color; }
@media (prefers-color-scheme: dark) { :root { --back: #12151a; --card: #1b2028; --text: #e6e9ee;
  --quiet: #9aa4b2; --line: #323a45; --bad: #f2938c; --badge: #1f3145; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text);
  font: 16px/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 32px 20px 64px; }
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
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
section > .wide > table.full { width: 100%; }
th, td { text-align: left; padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
td.num, th.num { text-align: right; white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
.win { font-weight: 700; }
.method, .baseline { white-space: nowrap; }
.badge { display: inline-block; padding: 1px 9px; border-radius: 99px; background: var(--badge);
  white-space: nowrap; }
.method::before, .baseline::before { content: ""; display: inline-block; width: .6em;
  height: .6em; border-radius: 50%; margin-right: .45em; }
.method::before { background: var(--method); }
.baseline::before { background: var(--baseline); }
img { display: block; max-width: 100%; height: auto; margin: 6px 0; }
pre { overflow-x: auto; font-size: .8rem; }
code { font-size: .92em; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--quiet); font-size: .9rem; }
</style>
</head>
<body>
<main>
<h1>skmoderndata beside scikit-learn</h1>
<p>Every method that has a counterpart in scikit-learn, in the same pipeline, tuned by
GridSearchCV on the same folds with the same budget.</p>
<p class="quiet">$how</p>
$alert
<section>
<div class="wide"><table class="full">
<thead><tr><th>method</th><th>baseline</th><th>data</th><th class="num">score</th>
<th class="num">baseline score</th><th class="num">s</th><th class="num">baseline s</th>
<th>winner</th></tr></thead>
<tbody>
$rows
</tbody>
</table></div>
<p class="quiet">$rule</p>
</section>
$sections
<p class="quiet">$versions</p>
</main>
</body>
</html>
""")


def _page(rows, plan, facts):
    how = (
        f"{plan.n_outer} outer folds for the scores, {plan.n_inner} inner folds for the search; "
        f"{facts['seconds']:.0f} s in all, {facts['finished']}."
    )
    alert = ""
    if plan.quick:
        how += " Quick run: fewer rows, folds and candidates than the full one."
    if facts["interrupted"]:
        alert = '<p class="bad">Interrupted: only what was finished is shown.</p>'
    return _PAGE.substitute(
        method_color=METHOD_COLOR,
        baseline_color=BASELINE_COLOR,
        how=escape(how),
        alert=alert,
        rows="\n".join(_table_row(row) for row in rows),
        rule=escape(
            RULE.replace("+-", "\N{PLUS-MINUS SIGN}").replace(" %", "\N{NO-BREAK SPACE}%")
        ),
        sections="\n".join(_section(row) for row in rows),
        versions=escape(
            ", ".join(f"{package} {number}" for package, number in facts["versions"].items())
            + f"; {facts['machine']}. The same results are in results.json."
        ),
    )


def _table_row(row):
    data = f"{row.problem.title} ({row.problem.score_name})" if row.problem else row.problem_name
    cells = [
        f'<td class="{kind}{" win" if row.winner == kind else ""}">{link}</td>'
        for kind, link in (
            ("method", f'<a href="#{escape(row.name)}">{escape(row.name)}</a>'),
            ("baseline", escape(row.baseline.name if row.baseline else "?")),
        )
    ]
    cells.append(f"<td>{escape(data)}</td>")
    if row.state in ("failed", "not run"):
        cells += ['<td class="num"></td>'] * 4 + [f'<td class="bad">{row.state}</td>']
        return f"<tr>{''.join(cells)}</tr>"
    for kind, side in zip(("method", "baseline"), row.contenders, strict=True):
        win = " win" if row.winner == kind else ""
        cells.append(f'<td class="num{win}">{_pm(row.scores(side))}</td>')
    cells += [f'<td class="num">{side.seconds:.1f}</td>' for side in row.contenders]
    partial = "" if row.state == "finished" else f" ({len(row.folds)} folds)"
    cells.append(f'<td><span class="badge">{escape(row.winner + partial)}</span></td>')
    return f"<tr>{''.join(cells)}</tr>"


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
    names = {"method": row.name, "baseline": row.baseline.name}
    won = f"{names[row.winner]} wins" if row.winner in names else "A tie"
    interval = f" \N{PLUS-MINUS SIGN} {half_width:.4f}" if np.isfinite(half_width) else ""
    return (
        f"<p><b>{escape(won)}.</b> {escape(row.name)} minus {escape(row.baseline.name)}: "
        f"{mean:+.4f}{interval} (95&#160;%) in {escape(row.problem.score_name)}.</p>"
    )


def _problem_plot(row):
    """Draw what the two fitted pipelines of the first fold made of its test rows."""
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
        chosen = Counter(
            ", ".join(f"{k}={_short(v)}" for k, v in outcome.best_params.items())
            for outcome in side.outcomes.values()
        )
        chosen = "; ".join(
            f"{params or 'the only candidate'} ({n} of {sum(chosen.values())} folds)"
            for params, n in chosen.most_common()
        )
        lines.append(
            f'<tr><td class="{kind}">{escape(side.name)}</td><td><code>{escape(chosen)}</code>'
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
            f"{a.refit_seconds:.2f}",
            f"{b.refit_seconds:.2f}",
        )
        cells = "".join(f'<td class="num">{number}</td>' for number in numbers)
        lines.append(f"<tr><td>{fold + 1}</td>{cells}</tr>")
    headings = (
        row.method.name,
        row.baseline.name,
        "difference",
        "search s",
        "baseline s",
        "refit s",
        "baseline refit s",
    )
    heading = "".join(f'<th class="num">{escape(text)}</th>' for text in headings)
    return (
        f"<h3>Scores on the outer folds ({escape(row.problem.score_name)})</h3>"
        + _picture(
            lambda fig: _plot_folds(fig, row),
            size=(8.5, 0.8 + 0.22 * len(row.folds)),
            alt="scores by fold",
        )
        + "<details><summary>Scores and seconds of every fold</summary>"
        f'<div class="wide"><table><thead><tr><th>fold</th>{heading}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div></details>"
    )


def _plot_folds(fig, row):
    ax = fig.subplots()
    y = np.arange(len(row.folds))
    a, b = row.scores(row.method), row.scores(row.baseline)
    ax.hlines(y, np.minimum(a, b), np.maximum(a, b), color="0.6", lw=1.5, zorder=1)
    for scores, color, side in (
        (a, METHOD_COLOR, row.method),
        (b, BASELINE_COLOR, row.baseline),
    ):
        ax.axvline(scores.mean(), color=color, lw=1, ls=":")
        ax.scatter(scores, y, color=color, s=42, label=side.name, zorder=2)
    ax.set_yticks(y, [f"fold {fold + 1}" for fold in row.folds])
    ax.invert_yaxis()
    ax.set_ylim(len(y) - 0.5, -0.5)
    ax.set_xlabel(f"{row.problem.score_name} (dotted: mean)")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _picture(draw, *, size, alt):
    """Draw once for a light and once for a dark page; the browser takes the one that fits."""
    encoded = {}
    for theme, (text, quiet) in THEMES.items():
        style = {
            "text.color": text,
            "axes.labelcolor": text,
            "axes.titlecolor": text,
            "axes.edgecolor": quiet,
            "xtick.color": quiet,
            "ytick.color": quiet,
            "axes.facecolor": "none",
            "font.size": 9,
            "axes.titlesize": 9,
        }
        with mpl.rc_context(style):
            fig = Figure(figsize=size, dpi=150, layout="constrained", facecolor="none")
            draw(fig)
            stream = io.BytesIO()
            fig.savefig(stream, format="png")
        encoded[theme] = base64.b64encode(stream.getvalue()).decode("ascii")
    width, height = (round(96 * length) for length in size)
    return (
        '<picture><source media="(prefers-color-scheme: dark)" '
        f'srcset="data:image/png;base64,{encoded["dark"]}"/>'
        f'<img alt="{escape(alt)}" width="{width}" height="{height}" '
        f'src="data:image/png;base64,{encoded["light"]}"/></picture>'
    )


def _pm(scores):
    return score_text(scores).replace("+-", "\N{PLUS-MINUS SIGN}")
