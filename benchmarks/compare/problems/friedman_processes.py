"""The same smooth function with fewer rows, for Gaussian processes, whose exact fit takes long."""

from dataclasses import replace

from benchmarks.compare.problem import by_plan
from benchmarks.compare.problems import friedman


def load(quick, full=False):
    return friedman.make(by_plan(quick, full, 250, 500, 2000))


PROBLEM = replace(
    friedman.PROBLEM,
    title="smooth function, Gaussian processes",
    load=load,
    load_full=lambda: load(False, full=True),
)
