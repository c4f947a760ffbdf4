"""Reports: the table for the terminal, JSON, and the Markdown page of the docs."""

import json
import math
from dataclasses import asdict
from statistics import median

from benchmarks.peers.runner import ABSENT, FAILED, LEFT_OUT, OK, cores, versions


def record(name, case, rows, *, command, quick, seed):
    """All measurements, ready for JSON."""
    return {
        "case": name,
        "title": case.title,
        "command": command,
        "quick": quick,
        "seed": seed,
        **cores(),
        "versions": versions(case),
        "figures": dict(case.figures),
        "rows": [asdict(row) for row in rows],
        "targets": [_judged(target, rows) for target in case.targets],
        "excluded": dict(case.excluded),
    }


def to_json(measured):
    """Write a record; NaN and infinity become null."""
    return json.dumps(_finite(measured), indent=1, default=float) + "\n"


def terminal(name, case, rows, measured):
    """Table for the terminal: medians in seconds, ratios to ours, figures."""
    head = ["size", "contender", "seconds", "x ours", *_figure_names(case, rows)]
    body = []
    for row in rows:
        if row.status == OK:
            middle = [f"{median(row.seconds):.3g}", _number(row.ratio)]
            body.append([row.size, row.contender, *middle, *_figures(case, rows, row)])
        else:
            body.append([row.size, row.contender, *_told(row)])
    lines = [f"{name}: {case.title}", "", *_aligned(head, body), ""]
    lines += [f"{label}: {text}" for label, text in _legend(case, rows).items()]
    lines += [
        f"{_mark(target['reached'])} {target['text']} (measured: {target['measured']})"
        for target in measured["targets"]
    ]
    lines += [f"not included: {peer}: {why}" for peer, why in case.excluded.items()]
    lines += [_how(case, rows, measured)]
    return "\n".join(lines)


def markdown(case, rows, measured):
    """Page of the docs: only ratios and figures, nothing that depends on the machine's speed."""
    parts = [f"# {case.title}", "", case.question, ""]
    if case.remarks:
        parts += [case.remarks, ""]

    parts += [
        "Time is the median over the rounds, divided by the time of "
        f"`{case.ours}`; a value above 1 means that the contender takes longer.",
        "",
        *markdown_table(case, rows),
        "",
    ]

    parts += [f"- *{label}*: {text}" for label, text in _legend(case, rows).items()]

    # list the contenders, and the peers that were left out
    parts += ["", "## Contenders", ""]
    for name, contender in case.contenders.items():
        packaged = f" (`{contender.requires}`)" if contender.requires else ""
        parts.append(f"- **{name}**{packaged}: {contender.note}".rstrip(": "))
    if case.excluded:
        parts += ["", "Tried and left out:", ""]
        parts += [f"- **{peer}**: {why}" for peer, why in case.excluded.items()]

    if measured["targets"]:
        parts += [
            "",
            "## Targets",
            "",
            "| target | measured | reached |",
            "|---|---|---|",
        ]
        parts += [
            f"| {target['text']} | {target['measured']} | {_yes(target['reached'])} |"
            for target in measured["targets"]
        ]

    # explain how to repeat the measurement
    parts += ["", "## How this was measured", "", "```bash", measured["command"], "```", ""]
    parts += [_how(case, rows, measured), ""]
    parts += [", ".join(f"{name} {version}" for name, version in measured["versions"].items())]

    return "\n".join(parts) + "\n"


def markdown_table(case, rows):
    """Lines of the table of `markdown`."""
    head = ["size", "contender", "time / ours", "spread", *_figure_names(case, rows)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        if row.status == OK:
            figures = _figures(case, rows, row)
            cells = [row.size, row.contender, _number(row.ratio), _spread(row), *figures]
        else:
            cells = [row.size, row.contender, *_told(row)]
        cells += [""] * (len(head) - len(cells))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _figure_names(case, rows):
    names = [name for name in case.figures if any(name in row.quality for row in rows)]
    if any(row.memory is not None for row in rows):
        names.append("peak memory")
    if any(row.warned for row in rows):
        names.append("warned")
    return names


def _figures(case, rows, row):
    cells = []
    for name in _figure_names(case, rows):
        if name == "peak memory":
            cells.append(_number(row.memory))
        elif name == "warned":
            cells.append(", ".join(row.warned))
        else:
            cells.append(_number(row.quality.get(name)))
    return cells


def _legend(case, rows):
    names = _figure_names(case, rows)
    legend = {name: case.figures[name] for name in names if name in case.figures}
    if "peak memory" in names:
        unit = case.memory_unit[0]
        legend["peak memory"] = (
            f"largest increase of the resident memory during the run, in {unit}"
        )
    return legend


def _told(row):
    return {
        ABSENT: [f"not installed: {row.message}"],
        FAILED: [f"failed: {row.message}"],
        LEFT_OUT: [f"left out: {row.message}"],
    }[row.status]


def _spread(row):
    middle = median(row.seconds)
    if len(row.seconds) == 1 or not middle:
        return "1 run"
    return f"{min(row.seconds) / middle:.2f} to {max(row.seconds) / middle:.2f}"


def _how(case, rows, measured):
    runs = sorted({len(row.seconds) for row in rows if row.seconds})
    rounds = " to ".join(str(n) for n in dict.fromkeys((runs[0], runs[-1]))) if runs else "0"
    if case.seconds:
        per_run = (
            ". Each run is a separate process that measures its own time. Each contender first "
            "makes a run that is not timed."
        )
    else:
        per_run = (
            ", each on its own copy of the same data. Each contender first solves a small problem "
            "that is not timed, so the times do not include imports and compilation."
        )
    return (
        f"There are {rounds} timed rounds, with the contenders interleaved in rotating order"
        f"{per_run} The process may use {_count(measured['cores'], 'core')} and "
        f"{_count(measured['blas_threads'], 'BLAS thread')}."
    )


def _count(number, noun):
    return f"{number} {noun}" + "s" * (number != 1)


def _judged(target, rows):
    reached, measured = target.check(rows)
    return {"text": target.text, "reached": reached, "measured": measured}


def _mark(reached):
    return {True: "[reached]", False: "[MISSED]", None: "[unknown]"}[reached]


def _yes(reached):
    return {True: "yes", False: "**no**", None: "unknown"}[reached]


def _number(value):
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    if 0.01 <= abs(value) < 1e5:
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return f"{value:.1e}"


def _aligned(head, body):
    width = max([len(head), *(len(cells) for cells in body)])
    table = [[*cells, *[""] * (width - len(cells))] for cells in [head, *body]]
    full = [cells for cells in table if any(cells[3:])] or table
    sizes = [max(len(cells[i]) for cells in full) for i in range(width)]
    sizes[0] = max(len(cells[0]) for cells in table)
    sizes[1] = max(len(cells[1]) for cells in table)
    lines = []
    for cells in table:
        text = [cell.ljust(n) for cell, n in zip(cells, sizes, strict=True)]
        lines.append("  ".join(text).rstrip())
    lines.insert(1, "-" * max(len(line) for line in lines))
    return lines


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
