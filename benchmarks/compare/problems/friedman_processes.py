"""The same smooth function with fewer rows, for Gaussian processes, whose exact fit takes long."""

from dataclasses import replace

from benchmarks.compare.problems import friedman


def load(quick, full=False):
    return friedman.make(250 if quick else 2000 if full else 500)


PROBLEM = replace(
    friedman.PROBLEM,
    title="smooth function, Gaussian processes",
    load=load,
    load_full=lambda: load(False, full=True),
)
