"""`python -m benchmarks.peers [CASE ...]`: measure, print, and save the figures."""

import argparse
import json
import shutil
import sys
from pathlib import Path

from benchmarks.peers import report
from benchmarks.peers.discover import find_cases
from benchmarks.peers.processes import run_each
from benchmarks.peers.runner import measure_memory, run_case

ROOT = Path(__file__).resolve().parents[2]


def main(arguments=None):
    """Run the cases named on the command line; return the exit status."""
    cases = find_cases()
    options = _parser(cases).parse_args(arguments)

    if options.list:
        for name, case in cases.items():
            print(f"{name:20} {case.title}")
        return 0

    unknown = sorted(set(options.case) - set(cases))
    if unknown:
        print(f"no case named {', '.join(unknown)}; there are: {', '.join(cases)}")
        return 2
    if options.write_docs and (options.quick or options.size):
        print("--write-docs needs the full sizes: leave out --quick and --size")
        return 2

    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(options.case)) or list(cases)

    failed = []
    try:
        if len(names) == 1:
            _measure(names[0], cases[names[0]], options, folder)
        else:
            failed = _measure_each({name: cases[name] for name in names}, options, folder)
    except KeyboardInterrupt:
        print(
            f"\ninterrupted; the cases that were finished are in {folder}/ (go on: --resume)"
        )
        return 130

    if failed:
        print(f"not finished: {', '.join(failed)}")
    print(f"written to {folder}/")
    return int(bool(failed))


def _measure_each(cases, options, folder):
    """Run every case in its own process; the record that it writes last marks it as done."""
    if not options.resume:
        for name in cases:
            (folder / f"{name}.json").unlink(missing_ok=True)
    shared = ["--output", str(folder.resolve()), "--budget", str(options.budget)]
    switches = {
        "--quick": options.quick,
        "--no-memory": options.no_memory,
        "--write-docs": options.write_docs,
    }
    shared += [name for name, on in switches.items() if on]
    for size in options.size or ():
        shared += ["--size", size]

    def command(name):
        return [sys.executable, "-m", "benchmarks.peers", name, *_changed(options), *shared]

    def done(name):
        if not (options.resume and _is_done(name, cases[name], options, folder)):
            return False
        if options.write_docs:
            _publish(name, folder)
        return True

    return run_each(list(cases), command, timeout=options.timeout, done=done, say=_line)


def _is_done(name, case, options, folder):
    """Whether the folder has a record of the same command at all requested sizes."""
    path = folder / f"{name}.json"
    if not path.exists():
        return False
    measured = json.loads(path.read_text(encoding="utf-8"))
    return (
        measured["command"] == _command(name, options)
        and measured["quick"] == options.quick
        and {row["size"] for row in measured["rows"]}
        == set(options.size or (case.quick_sizes if options.quick else case.sizes))
    )


def _command(name, options):
    """Return the command that makes the page."""
    return " ".join(["python -m benchmarks.peers", name, *_changed(options), "--write-docs"])


def _changed(options):
    """Options of the command line that change the figures."""
    out = []
    for key, usual in (("repeat", None), ("seed", 0)):
        if getattr(options, key) != usual:
            out += [f"--{key}", str(getattr(options, key))]
    return out


def _publish(name, folder):
    docs = ROOT / "docs" / "benchmarks"
    docs.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / f"{name}.md", docs / f"{name}.md")


def _measure(name, case, options, folder):
    rows = run_case(
        case,
        quick=options.quick,
        repeat=options.repeat,
        sizes=options.size,
        seed=options.seed,
        budget=options.budget,
        measure=None
        if options.no_memory
        else measure_memory(name, quick=options.quick, seed=options.seed),
        say=_say,
    )

    _say("")
    measured = report.record(
        name,
        case,
        rows,
        command=_command(name, options),
        quick=options.quick,
        seed=options.seed,
    )

    page = report.markdown(case, rows, measured)
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    print(report.terminal(name, case, rows, measured), end="\n\n", flush=True)
    if options.write_docs:
        _publish(name, folder)
    (folder / f"{name}.json").write_text(report.to_json(measured), encoding="utf-8")


def _parser(cases):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="Speed and quality against other software for the same work, in one run.",
        epilog=f"cases: {', '.join(cases)}",
    )

    parser.add_argument("case", nargs="*", metavar="CASE", help="cases to run; all by default")
    # selection
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--quick", action="store_true", help="small sizes, two rounds")
    parser.add_argument("--repeat", type=int, metavar="N", help="timed rounds")
    parser.add_argument("--size", action="append", help="only this size (may be repeated)")
    parser.add_argument("--seed", type=int, default=0)
    # time limit and resuming
    parser.add_argument(
        "--budget",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="a contender that has used so much at one size gets no further round",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="a case that takes longer is stopped, and the next one starts",
    )
    parser.add_argument(
        "--resume", action="store_true", help="leave out the cases that the last run finished"
    )
    # measurements and output
    parser.add_argument("--no-memory", action="store_true", help="measure no peak memory")
    parser.add_argument("--output", default="build/peers", metavar="FOLDER")
    parser.add_argument(
        "--write-docs", action="store_true", help="write docs/benchmarks/<case>.md as well"
    )

    return parser


def _line(text):
    print(text, flush=True)


def _say(line):
    """Keep one line of progress on a terminal; stay silent in a log."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
