"""`python -m benchmarks.race [FAMILY ...]`: race, print the table, and write the page."""

import argparse
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.race.families import FAMILIES
from benchmarks.race.runner import run_family, shown, summary

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "race.md"
HEAD = (
    "| family | draws | median | worst (peer; sizes) | lost > 1.25 | no peer equal | ours ms |"
)


def main(arguments=None):
    """Race the families named on the command line; return the exit status."""
    options = _options(arguments)
    unknown = sorted(set(options.family) - set(FAMILIES))
    if unknown:
        print(f"no family named {', '.join(unknown)}; there are: {', '.join(FAMILIES)}")
        return 2
    if options.write_docs and options.family:
        print("--write-docs needs all families")
        return 2

    raced = {}
    with threadpool_limits(1):
        for name in options.family or FAMILIES:
            raced[name] = run_family(
                name,
                FAMILIES[name],
                seed=options.seed,
                n_draws=options.draws,
                n_rounds=options.rounds,
                budget=options.budget,
                say=lambda text: print(text, flush=True),
            )

    print("\n" + table(raced))
    for reason in absent(raced):
        print(reason)
    if options.write_docs:
        PAGE.write_text(page(raced, options), encoding="utf-8")
    return 0


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("family", nargs="*", metavar="FAMILY", help="all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=10, help="tables of each family")
    parser.add_argument("--rounds", type=int, default=3, help="timed calls; the median counts")
    parser.add_argument(
        "--budget",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="a contender that has used so much on one table gets no further round",
    )
    parser.add_argument("--write-docs", action="store_true", help=f"write {PAGE.name}")
    return parser.parse_args(arguments)


def table(raced):
    """Return the table of all families."""
    lines = [HEAD, "|---|---|---|---|---|---|---|"]
    for name, draws in raced.items():
        middle, worst, lost, alone = summary(draws)
        ours = next(iter(FAMILIES[name].contenders))
        times = sorted(1e3 * draw.seconds[ours] for draw in draws if ours in draw.seconds)
        span = f"{times[0]:.3g} to {times[-1]:.3g}" if times else "failed"
        told = "" if worst is None else f"{worst.ratio:.2f} ({worst.peer}; {_sizes(worst)})"
        half = "none" if middle is None else f"{middle:.2f}"
        title = FAMILIES[name].title
        lines.append(
            f"| {title} | {len(draws)} | **{half}** | {told} | {lost} | {alone} | {span} |"
        )
    return "\n".join(lines)


def _sizes(draw):
    return ", ".join(f"{key} {shown(value)}" for key, value in draw.sizes.items())


def absent(raced):
    """Return one line for each contender that failed or is not installed."""
    reasons = {
        f"{name}: {who}: {reason}": None
        for name, draws in raced.items()
        for draw in draws
        for who, reason in draw.failed.items()
    }
    return list(reasons)


def page(raced, options):
    """Return the page in the docs."""
    equal = [f"- **{family.title}**: {family.means}" for family in FAMILIES.values()]
    failed = [f"- {reason}" for reason in absent(raced)] or ["None."]
    draws = [draw for family in raced.values() for draw in family]
    lost = sum(summary(family)[2] for family in raced.values())
    command = f"python -m benchmarks.race --seed {options.seed} --draws {options.draws}"

    parts = [
        "# Race at sizes drawn at random",
        "Sizes are drawn uniformly in their logarithm. All contenders run in turn in one "
        "process on one thread; processor times are compared. A ratio is the time of the "
        "cheapest peer that reaches our objective or error, divided by ours: above 1, ours is "
        'faster. Contenders "by hand" are a few lines of NumPy or SciPy without any checks.',
        f"Of {len(draws)} tables, {lost} are lost by more than 1.25.",
        table(raced),
        "## When a peer is equal",
        "\n".join(equal),
        "## Not raced",
        "\n".join(failed),
        f"Command: `{command} --write-docs`.",
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
