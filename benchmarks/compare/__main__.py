"""Compare methods with their scikit-learn baselines: `python -m benchmarks.compare`."""

import argparse
import sys
from pathlib import Path
from time import perf_counter

import joblib
from rich.console import Console

import skmoderndata
from benchmarks.compare.problem import by_plan
from benchmarks.compare.report import write_report
from benchmarks.compare.run import DEFAULT, FULL, QUICK, make_rows, n_tasks, run_rows
from benchmarks.compare.table import ProgressReport, print_table
from skmoderndata._registry import all_kernels, without_comparison

INTERRUPTED = 130


def main(arguments=None, *, estimators=None, console=None):
    """Run the comparison; the exit status is 0 when every row is complete."""
    console = console or _console()
    reasons = {}
    if estimators is None:
        estimators = [*skmoderndata.all_estimators(), *all_kernels()]
        reasons = without_comparison()
    carded = {cls.__name__: cls for cls in estimators if cls._card.comparison is not None}
    options = _parse(arguments, sorted(carded))
    chosen = [carded[name] for name in dict.fromkeys(options.only)] or list(carded.values())
    plan = by_plan(options.quick, options.full, QUICK, DEFAULT, FULL)

    start = perf_counter()
    rows = make_rows(chosen, plan)
    interrupted = False
    with ProgressReport(console, n_tasks(rows)) as progress:
        try:
            run_rows(rows, plan, n_jobs=options.n_jobs, report=progress)
        except KeyboardInterrupt:
            interrupted = True
    seconds = perf_counter() - start

    print_table(console, rows)
    if interrupted:
        console.print("Interrupted: the report holds what was finished.", style="bold red")
    page = write_report(
        rows,
        plan,
        options.output,
        seconds=seconds,
        interrupted=interrupted,
        reasons={} if options.only else reasons,
    )
    for row in rows:
        if row.plot_error:
            console.print(
                f"{row.name}: {row.plot_error}", style="red", markup=False, highlight=False
            )
    console.print(f"{seconds:.0f} s. Report: {page}", soft_wrap=True, highlight=False)
    if interrupted:
        return INTERRUPTED
    return int(any(row.state == "failed" or row.plot_error for row in rows))


def _parse(arguments, known):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", action="extend", default=[], metavar="NAME", help="classes to run"
    )

    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer rows, folds and candidates")
    size.add_argument("--full", action="store_true", help="more rows and folds: some hours")

    parser.add_argument("--output", type=Path, default=Path("build/compare"), metavar="FOLDER")
    parser.add_argument(
        "--n-jobs", type=int, default=joblib.cpu_count(), help="worker processes (all cores)"
    )

    options = parser.parse_args(arguments)
    # errors before hours of work
    unknown = sorted(set(options.only) - set(known))
    if unknown:
        parser.error(
            f"--only: no comparison named {', '.join(unknown)}; known: {', '.join(known)}"
        )
    if not known:
        parser.error("no estimator has a card with a comparison")

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
    except KeyboardInterrupt:  # before the first or after the last fit
        sys.exit(INTERRUPTED)
