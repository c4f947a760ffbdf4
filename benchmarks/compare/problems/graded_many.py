"""The same grades with more rows, for methods that pass over the rows one by one."""

from dataclasses import replace

from benchmarks.compare.problem import by_plan
from benchmarks.compare.problems import graded


def load(quick, full=False):
    return graded.make(by_plan(quick, full, 200, 600, 2000))


PROBLEM = replace(
    graded.PROBLEM,
    title="grades, more rows",
    load=load,
    load_full=lambda: load(False, full=True),
)
