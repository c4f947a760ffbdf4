"""Impossible cells of the TopGear table of cars."""

import numpy as np

from benchmarks.away.tables import f1
from benchmarks.away.task import Task
from skmoderndata.decomposition import RobustPCA


def load():
    """Return the numeric columns, transformed as in the vignette, and impossible cells."""
    from robpy.datasets import load_topgear

    table = load_topgear(as_frame=True).data.select_dtypes("number").drop(columns="Verdict")
    wrong = np.zeros(table.shape, bool)
    wrong[:, table.columns.get_loc("Acceleration")] = table["Acceleration"] == 0
    wrong[:, table.columns.get_loc("Weight")] = table["Weight"] < 300
    wrong[:, table.columns.get_loc("MPG")] = table["MPG"] > 200
    for name in ("Price", "Displacement", "BHP", "Torque", "TopSpeed"):
        table[name] = np.log(table[name])
    return table, wrong


def theirs(problem):
    """Flag cells by DDC with its default cutoff."""
    from robpy.outliers import DDC

    table, wrong = problem
    return f1(np.asarray(DDC().fit(table).cellwise_outliers_, dtype=bool), wrong)


def ours(problem, **settings):
    table, wrong = problem
    return f1(np.asarray(RobustPCA(**settings).fit(table).support_), wrong)


TASK = Task(
    name="robpy_topgear_cells",
    origin="robpy / cellWise",
    link="https://robpy.readthedocs.io/",
    program="DDC of robpy",
    data="shipped by robpy (from robustHD)",
    licence="GPL-2.0 or later",
    measure=(
        "impossible cells of TopGear (acceleration 0, weight below 300 kg, "
        "consumption above 200 mpg) among the flagged cells, F1 score"
    ),
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda problem: ours(problem, center=True, scale=True),
)
