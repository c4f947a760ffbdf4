"""Compare methods with their scikit-learn baselines: `python -m benchmarks.compare`."""

import argparse
import sys
from pathlib import Path
from time import perf_counter

import joblib
from rich.console import Console

import skmoderndata
from benchmarks.compare.comparisons import COMPARISONS
from benchmarks.compare.home import known_homes
from benchmarks.compare.home_report import print_homes, store
from benchmarks.compare.home_run import make_home_rows, run_home_rows, tasks_of
from benchmarks.compare.no_comparison import without_comparison
from benchmarks.compare.problem import by_plan
from benchmarks.compare.report import write_report
from benchmarks.compare.run import DEFAULT, FULL, QUICK, make_rows, n_tasks, run_rows
from benchmarks.compare.table import ProgressReport, print_table
from skmoderndata._estimator.registry import all_kernels, method_stem

INTERRUPTED = 130
BESIDE = (
    "Compared with the closest scikit-learn estimator, on data that are not made for the method: "
    "the same pipeline with either of them, tuned by GridSearchCV on the same folds."
)
STORED = Path(__file__).parents[2] / "docs" / "comparison.json"


def main(arguments=None, *, estimators=None, comparisons=COMPARISONS, console=None):
    """Run the comparison; the exit status is 0 when every row is complete."""
    console = console or _console()
    reasons = {}
    if estimators is None:
        estimators = [*skmoderndata.all_estimators(), *all_kernels()]
        reasons = without_comparison()
    compared = {
        cls.__name__: cls
        for cls in estimators
        if cls.__name__ in comparisons or method_stem(cls) in known_homes()
    }
    options = _parse(arguments, sorted(compared))
    selected = [compared[name] for name in dict.fromkeys(options.only)]
    selected = selected or list(compared.values())
    plan = by_plan(options.quick, options.full, QUICK, DEFAULT, FULL)

    # compare only core methods unless --full or --only is given; the cards of all other methods
    # name a scikit-learn pipeline
    beside = selected
    if not (options.full or options.only):
        beside = [cls for cls in selected if cls._card.tier == "core"]
        left_out = [
            cls for cls in selected if cls._card.instead and cls.__name__ in comparisons
        ]
        reasons |= {cls.__name__: f"--full only. {cls._card.instead}" for cls in left_out}

    start = perf_counter()
    homes = make_home_rows(_pages(selected), plan.size)
    rows = [] if options.homes else make_rows(beside, plan, comparisons)
    interrupted = False
    with ProgressReport(console, len(tasks_of(homes, plan.size)) + n_tasks(rows)) as progress:
        try:
            run_home_rows(homes, plan.size, n_jobs=options.n_jobs, report=progress.of_home)
            run_rows(rows, plan, n_jobs=options.n_jobs, report=progress)
        except KeyboardInterrupt:
            interrupted = True
    seconds = perf_counter() - start

    print_results(console, homes, rows)
    if options.write_docs:
        store(STORED, homes)
    if interrupted:
        console.print("Interrupted: the report contains what was finished.", style="bold red")
    page = write_report(
        rows,
        plan,
        options.output,
        seconds=seconds,
        interrupted=interrupted,
        homes=homes,
        reasons={} if options.only else reasons,
    )
    for row in [*homes, *rows]:
        if row.plot_error:
            text = f"{row.name}: {row.plot_error}"
            console.print(text, style="red", markup=False, highlight=False)
    console.print(f"{seconds:.0f} s. Report: {page}", soft_wrap=True, highlight=False)
    if interrupted:
        return INTERRUPTED
    return int(any(row.state == "failed" or row.plot_error for row in [*homes, *rows]))


def print_results(console, homes, rows):
    """Print the benchmarks designed for methods, then the other table with what it is."""
    print_homes(console, homes)
    if rows:
        console.rule(style="dim")
        console.print(BESIDE, highlight=False)
        print_table(console, rows)


def _pages(classes):
    """Stem of each page -> names of its classes, and their family."""
    pages = {}
    for cls in classes:
        names, _ = pages.setdefault(method_stem(cls), ([], cls._card.family))
        names.append(cls.__name__)
    return {stem: (tuple(names), family) for stem, (names, family) in pages.items()}


def _parse(arguments, known):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", action="extend", default=[], metavar="NAME", help="classes to run"
    )

    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer rows, folds and candidates")
    size.add_argument("--full", action="store_true", help="more rows and folds: some hours")

    parser.add_argument(
        "--homes", action="store_true", help="run only the benchmarks designed for a method"
    )
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="store the results that the documentation shows",
    )

    parser.add_argument("--output", type=Path, default=Path("build/compare"), metavar="FOLDER")
    parser.add_argument(
        "--n-jobs", type=int, default=joblib.cpu_count(), help="worker processes (all cores)"
    )

    options = parser.parse_args(arguments)
    # report errors before hours of work are spent
    unknown = sorted(set(options.only) - set(known))
    if unknown:
        parser.error(
            f"--only: no comparison named {', '.join(unknown)}; known: {', '.join(known)}"
        )
    if options.write_docs and not options.full:
        parser.error("--write-docs needs --full: other runs draw smaller problems")
    if not known:
        parser.error("no estimator has a comparison")

    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--output: {error}")
    if options.n_jobs < 1:
        parser.error(f"--n-jobs must be at least 1, got {options.n_jobs}")

    return options


def _console():
    console = Console()
    return console if console.is_terminal else Console(width=150)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # the run was interrupted before the first or after the last fit
        sys.exit(INTERRUPTED)
