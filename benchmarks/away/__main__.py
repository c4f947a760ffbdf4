"""`python -m benchmarks.away [--only GLOB]`: tasks of other projects, theirs and ours."""

import argparse
import json
import sys
import warnings
from fnmatch import fnmatch
from time import process_time

import numpy as np

from benchmarks.away import page
from benchmarks.away.task import FOLDER, find_tasks, listed
from benchmarks.peers.processes import run_each

FIGURES = FOLDER / "figures"
# Maximum time of one task in seconds.
LIMIT = 300


def main(arguments=None):
    """Run the selected tasks, each in its own process; return the exit status."""
    options = _parser().parse_args(arguments)
    tasks = find_tasks()
    names = [name for name in listed() if fnmatch(name, options.only)]
    if options.list:
        for name in names:
            print(f"{name:32} {'' if name in tasks else 'not written'}")
        return 0
    if not names:
        print(f"no task matches {options.only}")
        return 2

    if options.here:
        for name in names:
            _store(name, run(tasks[name]))
        return 0
    runnable = [name for name in names if name in tasks]
    failed = [] if options.pages_only else run_each(runnable, _command, timeout=LIMIT)
    figures = stored()
    print(
        page.table(
            {name: row for name, row in listed().items() if name in names}, tasks, figures
        )
    )
    if options.write_docs:
        page.write(listed(), tasks, figures)
    if failed:
        print(f"not finished: {', '.join(failed)}")
    return int(bool(failed))


def run(task):
    """Measure theirs, ours and the documented setting; return figures and processor times."""
    problem = task.load()
    record = {"name": task.name}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for side in ("theirs", "ours", "documented"):
            measure = getattr(task, side)
            if measure is None:
                continue
            start = process_time()
            try:
                figure = np.atleast_1d(measure(problem)).astype(float)
            except ImportError as error:
                record[side] = {"missing": str(error)}
                continue
            record[side] = {"figures": figure.tolist(), "seconds": process_time() - start}
    return record


def stored():
    """Return the stored figures, by name of the task."""
    records = (json.loads(path.read_text("utf-8")) for path in sorted(FIGURES.glob("*.json")))
    return {record["name"]: record for record in records}


def _store(name, record):
    FIGURES.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1) + "\n"
    (FIGURES / f"{name}.json").write_text(text, encoding="utf-8")


def _command(name):
    return [sys.executable, "-m", "benchmarks.away", "--here", "--only", name]


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.away", description=__doc__)
    parser.add_argument("--only", default="*", metavar="GLOB", help="tasks to run")
    parser.add_argument("--list", action="store_true", help="list the tasks and stop")
    parser.add_argument("--here", action="store_true", help="run in this process, and store")
    parser.add_argument("--pages-only", action="store_true", help="use the stored figures")
    parser.add_argument("--write-docs", action="store_true", help=f"write {page.PAGE.name}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
