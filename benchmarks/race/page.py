"""The table and the page of the race."""

from pathlib import Path

from benchmarks.race import results
from benchmarks.race.families import FAMILIES
from benchmarks.race.runner import shown, summary

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "race.md"
# Seed of the stored tables.
SEED = 20261129
INTRODUCTION = """# Race at sizes drawn at random

Other benchmarks use sizes that were chosen by hand. Here the sizes, the noise and the number of
components are drawn at random, most of them uniformly in their logarithm, which makes many tables
small. Each family has ten tables, and none was left out. All contenders of a family run in turn in
one process on one thread, after one call that compiles, and processor times are compared.

A ratio is the time of the fastest peer divided by our time; if it is above 1, our class is faster.
Only peers that reach our objective or error count. The column "packages" gives the median without
contenders "by hand", which are a few lines of NumPy or SciPy without any checks, and without other
classes of this package. "Lost" counts ratios below 0.8. The machine was busy: ratios are reliable
to about a tenth, times are not. `SparseNMF`, `L2SVC`, `RobustPCA` and `MultiAssignmentClustering`
were measured again, on the same tables, after changes that a first run had suggested."""


def table(raced):
    """Return a Markdown table with one line for each family."""
    titles = [
        "family", "tables", "median", "packages", "worst (peer; table)",
        "lost", "no peer equal", "ours ms",
    ]  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for name, draws in raced.items():
        family = FAMILIES[name]
        found = summary(family, draws.values())

        # name the smallest ratio with its peer and its table
        worst = ""
        if found.worst is not None:
            quotient, peer, draw = found.worst
            worst = f"{_ratio(quotient)} ({peer}; {shown(draw.sizes)})"

        cells = [
            family.title,
            f"{len(draws)}",
            f"**{_ratio(found.middle)}**",
            _ratio(found.middle_packages),
            worst,
            f"{found.lost}",
            f"{found.alone}",
            _span(family, draws.values()),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratio(quotient):
    if quotient is None:
        return "none"
    return f"{quotient:.2g}" if quotient < 100 else f"{quotient:.0f}"


def _span(family, draws):
    ours = next(iter(family.contenders))
    times = sorted(1e3 * draw.seconds[ours] for draw in draws if ours in draw.seconds)
    return f"{times[0]:.3g} to {times[-1]:.3g}" if times else "failed"


def absent(raced):
    """Return one line for each contender that failed or is not installed."""
    reasons = {
        f"{FAMILIES[name].title}: {who}: {reason}": None
        for name, draws in raced.items()
        for draw in draws.values()
        for who, reason in draw.failed.items()
    }
    return list(reasons)


def stored():
    """Return the seed and the stored draws of all families."""
    found = {name: results.read(name) for name in FAMILIES}
    seeds = {seed for seed, _ in found.values() if seed is not None}
    if len(seeds) > 1:
        raise results.OtherSeed(f"the families are stored with several seeds: {sorted(seeds)}")
    return seeds.pop(), {name: draws for name, (_, draws) in found.items()}


def write(seed, raced, path=PAGE):
    """Write the page from stored draws."""
    path.write_text(page(seed, raced), encoding="utf-8")


def page(seed, raced):
    """Return the page in the docs."""
    found = {name: summary(FAMILIES[name], draws.values()) for name, draws in raced.items()}
    n_tables = sum(len(draws) for draws in raced.values())
    lost = sum(entry.lost for entry in found.values())
    to_packages = sum(entry.lost_packages for entry in found.values())
    alone = sum(entry.alone for entry in found.values())
    n_draws = max(len(draws) for draws in raced.values())
    command = f"python -m benchmarks.race --seed {seed} --draws {n_draws} --store"

    reasons = [
        f"- **{FAMILIES[name].title}**: {FAMILIES[name].reason}"
        for name, entry in found.items()
        if entry.lost
    ]
    equal = [f"- **{FAMILIES[name].title}**: {FAMILIES[name].means}." for name in raced]
    parts = [
        INTRODUCTION,
        f"Of {n_tables} tables, {lost} are lost, {to_packages} of them to packages. "
        f"On {alone} tables no peer reaches our objective or error.",
        table(raced),
        "## Why families are lost, and what to use instead",
        "\n".join(reasons) or "No family is lost.",
        "## When a peer is equal",
        "\n".join(equal),
        "## Contenders that did not run",
        "\n".join(f"- {line}" for line in absent(raced)) or "All contenders ran.",
        "Tables that are stored in `benchmarks/race/results` are not measured again; delete "
        "the files to repeat all measurements.",
        f"```bash\n{command}\npython -m benchmarks.race --pages-only --write-docs\n```",
    ]
    return "\n\n".join(parts) + "\n"
