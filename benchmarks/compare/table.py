"""What the terminal shows: progress while the rows are filled, then the table."""

from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

RULE = (
    "Score: mean over the outer folds, +- standard deviation between them; the folds were not seen"
    " by the search. A contender wins when the 95 % interval of the mean paired difference"
    " (Student's t, variance corrected for overlapping training rows) excludes zero; otherwise"
    " the row is a tie. Seconds: median over the folds of one grid search with refit, one core."
)


class ProgressReport:
    """A bar on a terminal, one plain line per finished task elsewhere."""

    def __init__(self, console, total):
        self.console, self.total, self.done = console, total, 0
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
        self.done += 1
        what = f"{contender.name} on {row.problem_name}, fold {fold + 1} of {len(row.splits)}"
        if self.bar:
            self.bar.update(self.task, advance=1, description=what)
            return
        reached = outcome.error or f"{outcome.score:.4f} in {outcome.seconds:.1f} s"
        width = len(str(self.total))
        self.console.print(
            f"[{self.done:{width}}/{self.total}] {what}: {reached}", markup=False, highlight=False
        )


def make_table(rows, *, space=0):
    """Lay the rows out in two lines each, which fit a terminal of 80 columns."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, padding=(0, space), leading=1, header_style="bold"
    )
    table.add_column("method\nbaseline", overflow="fold")
    table.add_column("data\nscore", overflow="fold")
    for heading in ("mean over\nouter folds", "\ns"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("winner", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row):
    baseline = row.baseline.name if row.baseline else "?"
    data = f"{row.problem.title}\n{row.problem.score_name}" if row.problem else row.problem_name
    if row.state in ("failed", "not run"):
        style = "bold red" if row.state == "failed" else "dim"
        return f"{row.name}\n{baseline}", data, "", "", Text(row.state, style=style)
    line = {"method": "bold green", "baseline": "bold yellow"}
    styles = [line[kind] if row.winner == kind else "" for kind in line]
    wins = {"method": "wins", "baseline": "\nwins", "tie": "tie"}[row.winner]
    return (
        _lines((row.name, baseline), styles),
        data,
        _lines((score_text(row.scores(side)) for side in row.contenders), styles),
        _lines(f"{side.seconds:.1f}" for side in row.contenders),
        Text(wins, style="".join(styles)),
    )


def _lines(texts, styles=("", "")):
    return Text("\n").join(Text(text, style) for text, style in zip(texts, styles, strict=True))


def score_text(scores):
    """Write mean and standard deviation."""
    spread = scores.std(ddof=1) if len(scores) > 1 else 0.0
    return f"{scores.mean():.3f} +- {spread:.3f}"


def notes(row):
    """Sentences under the table: what failed, what is incomplete, what was warned of."""
    if row.state == "failed":
        return [row.error]
    found = []
    if row.state == "partial":
        found.append(f"{len(row.folds)} of {len(row.splits)} folds finished")
    for side in row.contenders:
        for category, count in side.warnings.items():
            found.append(f"{side.name}: {count} x {category}")
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
    console.print(RULE, style="dim", markup=False, highlight=False)
