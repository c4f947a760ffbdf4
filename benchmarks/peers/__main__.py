"""`python -m benchmarks.peers [CASE ...]`: measure, print, and write what was measured."""

import argparse
import sys
from pathlib import Path

from benchmarks.peers import report
from benchmarks.peers.discover import find_cases
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
    try:
        for name in options.case or cases:
            _measure(name, cases[name], options, folder)
    except KeyboardInterrupt:
        print(f"\ninterrupted; the cases that were finished are in {folder}/")
        return 130
    print(f"written to {folder}/")
    return 0


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
    changed = "".join(
        f" --{key} {getattr(options, key)}"
        for key, usual in (("repeat", None), ("seed", 0))
        if getattr(options, key) != usual
    )
    command = f"python -m benchmarks.peers {name}{changed} --write-docs"
    measured = report.record(
        name, case, rows, command=command, quick=options.quick, seed=options.seed
    )
    page = report.markdown(case, rows, measured)
    (folder / f"{name}.json").write_text(report.to_json(measured), encoding="utf-8")
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    print(report.terminal(name, case, rows, measured), end="\n\n", flush=True)
    if options.write_docs:
        docs = ROOT / "docs" / "benchmarks"
        docs.mkdir(parents=True, exist_ok=True)
        (docs / f"{name}.md").write_text(page, encoding="utf-8")


def _parser(cases):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="Speed and quality against other software for the same work, in one run.",
        epilog=f"cases: {', '.join(cases)}",
    )
    parser.add_argument("case", nargs="*", metavar="CASE", help="cases to run; all by default")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--quick", action="store_true", help="small sizes, two rounds")
    parser.add_argument("--repeat", type=int, metavar="N", help="timed rounds")
    parser.add_argument("--size", action="append", help="only this size (may be repeated)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--budget",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="a contender that has used so much at one size gets no further round",
    )
    parser.add_argument("--no-memory", action="store_true", help="measure no peak memory")
    parser.add_argument("--output", default="build/peers", metavar="FOLDER")
    parser.add_argument(
        "--write-docs", action="store_true", help="write docs/benchmarks/<case>.md as well"
    )
    return parser


def _say(line):
    """Keep one line of progress on a terminal; stay silent in a log."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
