"""`python -m benchmarks.race [FAMILY ...]`: race, print the table, and write the page."""

import argparse
import sys
import time

from threadpoolctl import threadpool_limits

from benchmarks.race import page, results
from benchmarks.race.families import FAMILIES
from benchmarks.race.runner import line, run_family


def main(arguments=None):
    """Race the families named on the command line; return the exit status."""
    options = _options(arguments)
    unknown = sorted(set(options.family) - set(FAMILIES))
    if unknown:
        print(f"no family named {', '.join(unknown)}; there are: {', '.join(FAMILIES)}")
        return 2

    raced = {}
    if not options.pages_only:
        with threadpool_limits(1):
            raced = _race(options)
        print()
    if options.store or options.pages_only:
        raced = {name: results.read(name)[1] for name in options.family or FAMILIES}
    print(page.table(raced))
    for reason in page.absent(raced):
        print(reason)
    if options.write_docs:
        page.write(*page.stored())
    return 0


def _race(options):
    """Return the draws that were measured, by family and number."""
    end = time.monotonic() + options.minutes * 60
    raced = {}
    for name in options.family or FAMILIES:
        numbers = set(range(options.draws))
        if options.store:
            numbers -= set(results.read(name)[1])

        draws = run_family(
            name,
            FAMILIES[name],
            seed=options.seed,
            numbers=numbers,
            n_rounds=options.rounds,
            budget=options.budget,
        )

        # store each table at once, so that an interruption loses one at most
        raced[name] = {}
        for number, draw in draws:
            print(line(name, FAMILIES[name], draw), flush=True)
            raced[name][number] = draw
            if options.store:
                results.add(name, options.seed, number, draw)
            if time.monotonic() > end:
                return raced
    return raced


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("family", nargs="*", metavar="FAMILY", help="all by default")
    parser.add_argument("--seed", type=int, default=page.SEED)
    parser.add_argument("--draws", type=int, default=10, help="tables of each family")
    parser.add_argument("--rounds", type=int, default=5, help="timed calls; the median counts")
    parser.add_argument(
        "--budget",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="a contender that has used so much on one table gets no further round",
    )
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="start no table after this time"
    )
    parser.add_argument(
        "--store", action="store_true", help="store each table; skip tables that are stored"
    )
    parser.add_argument("--pages-only", action="store_true", help="use the stored tables")
    parser.add_argument("--write-docs", action="store_true", help=f"write {page.PAGE.name}")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
