"""The same grades with more rows, for methods that pass over the rows one by one."""

from dataclasses import replace

from benchmarks.compare.problems import graded


def load(quick, full=False):
    return graded.make(200 if quick else 2000 if full else 600)


PROBLEM = replace(
    graded.PROBLEM,
    title="grades, more rows",
    load=load,
    load_full=lambda: load(False, full=True),
)
