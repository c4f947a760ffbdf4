"""Covariance of correlated data with wrong cells."""

from benchmarks.away.tables import a09, discrepancy, estimator_of_robpy, wrong_cells
from benchmarks.away.task import Task
from skmoderndata.decomposition import RobustPCA


def load():
    """Return three tables of 200 rows and 10 columns with 10 % wrong cells."""
    return [wrong_cells(200, 10, fraction=0.1, size=5, seed=seed)[1] for seed in range(3)]


def theirs(draws):
    """Estimate the covariance by cellMCD with its default settings."""
    return [
        discrepancy(estimator_of_robpy("CellMCD").fit(X).covariance_, a09(10)) for X in draws
    ]


def ours(draws, **settings):
    return [discrepancy(RobustPCA(**settings).fit(X).get_covariance(), a09(10)) for X in draws]


TASK = Task(
    name="robpy_cellmcd_a09",
    origin="cellMCD (Raymaekers and Rousseeuw 2024)",
    link="https://doi.org/10.1080/01621459.2023.2267777",
    program="CellMCD of robpy",
    data="generated",
    licence="none needed",
    measure="Kullback-Leibler discrepancy of the covariance, 10 % wrong cells in A09 data",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    reason=(
        "RobustPCA describes the covariance by one or two components plus independent "
        "noise, but the ten eigenvalues of the truth decay gradually. Use CellMCD of "
        "robpy or cellWise."
    ),
)
