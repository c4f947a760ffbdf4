"""Output on the terminal: progress while the rows are filled, then the table."""

from collections import Counter

import numpy as np
from rich import box
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from benchmarks.compare.run import TIME_MARGIN

RULE = (
    "Score: mean and standard deviation over the outer folds, which the search has not seen;"
    " greater is better. The verdict rests on the 95 % confidence interval of the mean paired"
    " difference (Student's t; the variance is corrected for the training rows that folds share:"
    " Nadeau and Bengio, 2003). Equal: the whole interval lies within the margin shown, below"
    " which a difference has no practical relevance. Wins: not equal, and the interval excludes"
    " zero. Undecided: neither. Time: one fit with the chosen parameters and the prediction of the"
    " fold, median over the folds, on one core, without compilation. Its verdict follows the same"
    " rule for the logarithm of the ratio, without the correction; times within a factor of"
    f" {TIME_MARGIN:g} are equal."
)
VERDICTS = ("method", "baseline", "equal", "undecided")


def count(rows):
    """Family -> number of rows by verdict on the score, families in alphabetical order."""
    found = {}
    for row in sorted(rows, key=lambda row: row.family.lower()):
        found.setdefault(row.family, Counter())[row.winner or row.state] += 1
    return found


def summary(counts):
    """Write how often each verdict occurs, as one phrase."""
    names = {"method": ("win", "wins"), "baseline": ("loss", "losses")}
    parts = [
        f"{counts[kind]} {names.get(kind, (kind, kind))[counts[kind] != 1]}"
        for kind in VERDICTS
    ]
    parts += [f"{number} {kind}" for kind, number in counts.items() if kind not in VERDICTS]
    return ", ".join(parts)


def summary_of_times(rows):
    """Write how often each verdict on the time occurs."""
    counts = Counter(row.faster for row in rows)
    return (
        f"{counts['method']} faster, {counts['baseline']} slower, {counts['equal']} equal, "
        f"{counts['undecided']} undecided"
    )


class ProgressReport:
    """A bar on a terminal, one plain line per finished task elsewhere."""

    def __init__(self, console, total):
        self.console = console
        self.total = total
        self.done = 0
        self.bar = None
        if console.is_terminal:
            self.bar = Progress(
                TextColumn("{task.description:<52.52}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )

    def __enter__(self):
        if self.bar:
            self.bar.start()
            self.task = self.bar.add_task("starting", total=self.total)
        return self

    def __exit__(self, *exception):
        if self.bar:
            self.bar.stop()

    def __call__(self, row, contender, fold, outcome):
        what = f"{contender.name} on {row.problem_name}, fold {fold + 1} of {len(row.splits)}"
        self._say(what, outcome.error or f"{outcome.score:.4f} in {outcome.seconds:.1f} s")

    def of_home(self, row, condition, seed, found, error):
        """Count a round of a benchmark designed for a method."""
        level = "".join(f", {name} = {value}" for name, value in condition)
        seconds = sum(result.seconds for result in found.values())
        self._say(
            f"{row.name}, benchmark of the method{level}, draw {seed}",
            error or f"{seconds:.1f} s",
        )

    def _say(self, what, reached):
        self.done += 1
        if self.bar:
            self.bar.update(self.task, advance=1, description=what)
            return
        width = len(str(self.total))
        self.console.print(
            f"[{self.done:{width}}/{self.total}] {what}: {reached}",
            markup=False,
            highlight=False,
        )


def make_table(rows, *, space=0):
    """Lay the rows out in two lines each, which fit a terminal of 80 columns."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, space),
        leading=1,
        header_style="bold",
    )
    table.add_column("method\nbaseline", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("data\nscore", overflow="fold")
    for heading in ("mean over\nouter folds", "s for\na fit"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("time", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row):
    baseline = row.baseline.name if row.baseline else "?"
    data = (
        f"{row.problem.title}\n{row.problem.score_name}" if row.problem else row.problem_name
    )

    if row.state in ("failed", "not run"):
        style = "bold red" if row.state == "failed" else "dim"
        return f"{row.name}\n{baseline}", Text(row.state, style=style), data, "", "", ""

    line = {"method": "bold green", "baseline": "bold yellow"}
    styles = [line[kind] if row.winner == kind else "" for kind in line]
    verdicts = {
        "method": "wins",
        "baseline": "\nwins",
        "equal": f"equal\nwithin {row.margin:g}",
        "undecided": f"undecided\n{row.shown}",
    }

    return (
        _lines((row.name, baseline), styles),
        Text(verdicts[row.winner], style="".join(styles)),
        data,
        _lines((score_text(row.scores(side)) for side in row.contenders), styles),
        _lines(seconds_text(side.fit_seconds) for side in row.contenders),
        _time_cell(row),
    )


def _time_cell(row):
    if row.faster in ("method", "baseline"):
        return time_in_words(row.time_ratio[0]).replace(" of", "\nof").replace(" as", "\nas")
    return row.faster


FRACTIONS = {
    2 / 3: "two thirds of the time",
    1 / 2: "half the time",
    1 / 3: "a third of the time",
    1 / 4: "a quarter of the time",
    1 / 5: "a fifth of the time",
    1 / 10: "a tenth of the time",
    1 / 20: "a twentieth of the time",
    1 / 50: "a fiftieth of the time",
    1 / 100: "a hundredth of the time",
}


def time_in_words(ratio):
    """Return a phrase for the time of the method, from the ratio of the other time to it.

    >>> time_in_words(3.1), time_in_words(1.1), time_in_words(0.28), time_in_words(0.012)
    ('a third of the time', 'about the same time', '3.6 times as long', '83 times as long')
    """
    if max(ratio, 1 / ratio) < TIME_MARGIN:
        return "about the same time"
    if ratio < 1:
        times = 1 / ratio
        return f"{times:.2g} times as long" if times < 99.5 else f"{times:,.0f} times as long"
    if ratio > 140:
        return "less than a hundredth of the time"
    return FRACTIONS[min(FRACTIONS, key=lambda part: abs(np.log(part * ratio)))]


def seconds_text(seconds):
    """Two significant digits, never an exponent."""
    if seconds < 0.01:
        return f"{seconds:.4f}"
    return f"{seconds:.2g}" if seconds < 100 else f"{seconds:.0f}"


def _lines(texts, styles=("", "")):
    return Text("\n").join(
        Text(text, style) for text, style in zip(texts, styles, strict=True)
    )


def score_text(scores):
    """Write mean and standard deviation."""
    spread = scores.std(ddof=1) if len(scores) > 1 else 0.0
    return f"{scores.mean():.3f} +- {spread:.3f}"


def notes(row):
    """Sentences under the table: failures, incomplete rows, and warnings."""
    if row.state == "failed":
        return [row.error]
    found = []
    if row.state == "partial":
        found.append(f"{len(row.folds)} of {len(row.splits)} folds finished")
    for side in row.contenders:
        for category, count in side.warnings.items():
            found.append(f"{side.name}: {count} x {category}")
        for name, value in side.at_grid_ends.items():
            found.append(f"{side.name}: best at the end of the grid, {name} = {value:g}")
    counts = [side.n_candidates for side in row.contenders]
    if len(set(counts)) > 1:
        found.append(f"unequal budget: {counts[0]} candidates against {counts[1]}")
    return found


def print_table(console, rows):
    """Print the table, its notes and the rule."""
    console.print()
    console.print(make_table(rows, space=int(console.width >= 100)))
    console.print()
    for row in rows:
        for note in notes(row):
            style = "red" if row.state == "failed" else "yellow"
            where = f"{row.name} on {row.problem_name}"
            console.print(f"{where}: {note}", style=style, markup=False, highlight=False)
    console.print()
    for family, counts in count(rows).items():
        console.print(f"{family}: {summary(counts)}", markup=False, highlight=False)
    total = sum(count(rows).values(), Counter())
    console.print(
        f"All: {summary(total)}. Time: {summary_of_times(rows)}.",
        style="bold",
        highlight=False,
    )
    console.print()
    console.print(RULE, style="dim", markup=False, highlight=False)
