"""Wrong cells in correlated data, as in the simulations of DDC."""

import numpy as np
import pandas as pd

from benchmarks.away.tables import f1, wrong_cells
from benchmarks.away.task import Task
from skmoderndata.decomposition import RobustPCA


def load():
    """Return five tables of 200 rows and 20 columns with 10 % wrong cells."""
    return [wrong_cells(200, 20, fraction=0.1, size=3, seed=seed) for seed in range(5)]


def theirs(draws):
    """Flag cells by DDC with its default cutoff."""
    from robpy.outliers import DDC

    return [
        f1(np.asarray(DDC().fit(pd.DataFrame(X)).cellwise_outliers_, dtype=bool), wrong)
        for _, X, wrong in draws
    ]


def ours(draws, **settings):
    return [f1(RobustPCA(**settings).fit(X).support_, wrong) for _, X, wrong in draws]


TASK = Task(
    name="robpy_ddc_a09",
    origin="DDC (Rousseeuw and Van den Bossche 2018)",
    link="https://doi.org/10.1080/00401706.2017.1340909",
    program="DDC of robpy",
    data="generated",
    licence="none needed",
    measure=(
        "F1 score of the cells flagged as wrong, 10 % of the cells of correlated data "
        "(A09) moved by 3"
    ),
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda draws: ours(draws, outlier_threshold="fdr"),
    reason=(
        "RobustPCA finds only two components, although neighbouring columns predict each "
        "other in twenty dimensions. It treats the rest as noise, which hides the wrong "
        'cells. With `outlier_threshold="fdr"`, the heavy tails raise the threshold so far '
        "that nothing is flagged. Use DDC of robpy or cellWise."
    ),
)
