"""The same smooth function with enough rows to make exact kernel methods slow."""

from dataclasses import replace

from benchmarks.compare.problem import by_plan
from benchmarks.compare.problems import friedman


def load(quick, full=False):
    return friedman.make(by_plan(quick, full, 400, 1500, 10_000))


PROBLEM = replace(
    friedman.PROBLEM,
    title="smooth function, many rows",
    load=load,
    load_full=lambda: load(False, full=True),
    n_outer=5,
)
