"""The table and the page of the tasks of other projects."""

from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.away.task import verdict

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "away.md"
INTRODUCTION = """# Tasks of other projects

Other benchmarks of this package use problems that were designed for its methods. The sixty
tasks on this page follow papers, galleries, vignettes and tests of other projects. All sixty
were written into a
[dated list](https://github.com/skmoderndata/skmoderndata/blob/main/benchmarks/away/tasks.md),
with the expected winner, before any of our methods was run on them. No task was dropped
afterwards. We wrote the recipes anew, and some of them use fewer samples, smaller images or
other data than the original. Figures are therefore comparable only within a row.

A task is *level* if both figures differ by at most 2 %, or by at most the standard error over
repeated draws. Times are processor times on one thread, in one process. If a program is not
installed, the table says so and uses its published figure. If there is no such figure either,
there is no verdict. The documented setting is the setting that our pages recommend for the
task; it is empty if this is the default.

A verdict compares two figures and does not say that either is good. In `robpy_robpca_rows`,
both programs miss the subspace. The measure of `robpy_topgear_cells` counts every flagged cell
that is not physically impossible as a false alarm, although some of these cells belong to
unusual cars. This favours the program that flags fewer cells. Two programs run with older
packages: CellMCD of robpy 0.0.6 with NumPy 2.3, and LassoCV of celer 0.7.4 with scikit-learn
1.8.
"""


def judge(task, record, side):
    """Return the verdict about one of our settings, or the reason why there is none."""
    ours = record.get(side, {}).get("figures")
    theirs = record["theirs"].get("figures", task.published)
    if ours is None or theirs is None:
        return "no verdict"
    return verdict(ours, theirs, task.better)


def table(rows, tasks, figures):
    """Return a Markdown table with one line per task of the list."""
    lines = [
        "| task | better | theirs | ours | ours, documented setting | verdict | "
        "verdict, documented setting | expected winner |",
        "| --- " * 8 + "|",
    ]

    for name, row in rows.items():
        task = tasks.get(name)
        record = figures.get(name)
        if task is None or record is None:
            cells = ["", "", "", "", "not run", ""]
        else:
            theirs = record["theirs"]
            cells = [
                task.better,
                "not installed" if "missing" in theirs else _figure(theirs),
                _figure(record.get("ours")),
                _figure(record.get("documented")),
                judge(task, record, "ours"),
                judge(task, record, _documented(record)),
            ]
        lines.append(f"| {name} | {' | '.join(cells)} | {row['expected']} |")
    return "\n".join(lines)


def write(rows, tasks, figures):
    """Write the page from the stored figures."""
    ran = {name: task for name, task in tasks.items() if name in figures}
    parts = [INTRODUCTION, _counts(rows, ran, figures), table(rows, tasks, figures)]
    parts.append("\n## Why tasks are lost\n")
    parts.append(_losses(ran, figures))
    parts.append("\n## What each task measures\n")
    parts += [
        f"- {name} ([{row['origin']}]({row['link']})): {row['measure']}."
        for name, row in rows.items()
    ]
    parts.append("\n```bash\nmake away ARGS=--write-docs\n```\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def _counts(rows, ran, figures):
    lines = [
        "| setting | won | level | lost | no verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for title, of in (("defaults", lambda _: "ours"), ("documented setting", _documented)):
        verdicts = [
            judge(task, figures[name], of(figures[name])) for name, task in ran.items()
        ]
        counts = [str(verdicts.count(word)) for word in ("won", "level", "lost", "no verdict")]
        lines.append(f"| {title} | {' | '.join(counts)} |")

    # compare times of tasks that both programs have run
    ratios = [
        figures[name]["ours"]["seconds"] / figures[name]["theirs"]["seconds"]
        for name in ran
        if "seconds" in figures[name]["theirs"] and "seconds" in figures[name]["ours"]
    ]
    lines.append(f"\n{len(ran)} of {len(rows)} tasks have been run.")
    if ratios:
        lines[-1] += (
            f" The median of our processor time divided by theirs is {median(ratios):.2g}, "
            "including the compilation of our loops."
        )
    return "\n".join([*lines, ""])


def _losses(ran, figures):
    lines = []
    for name, task in ran.items():
        sides = ("ours", _documented(figures[name]))
        if "lost" in {judge(task, figures[name], side) for side in sides}:
            lines.append(f"- {name}: {task.reason}")
    return "\n".join(lines)


def _documented(record):
    return "documented" if "documented" in record else "ours"


def _figure(side):
    if side is None:
        return ""
    return f"{np.mean(side['figures']):.3g}" if "figures" in side else "not installed"
