"""The same smooth function with so many rows that exact kernel methods take their time."""

from dataclasses import replace

from benchmarks.compare.problems import friedman


def load(quick, full=False):
    return friedman.make(400 if quick else 10_000 if full else 1500)


PROBLEM = replace(
    friedman.PROBLEM,
    title="smooth function, many rows",
    load=load,
    load_full=lambda: load(False, full=True),
    n_outer=5,
)
