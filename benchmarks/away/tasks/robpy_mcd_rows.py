"""Covariance of data with outlying rows."""

from benchmarks.away.tables import a09, discrepancy, estimator_of_robpy, outlying_rows
from benchmarks.away.task import Task
from skmoderndata.decomposition import RobustPCA


def load():
    """Return five tables of 200 rows and 5 columns, 20 % of the rows far out."""
    return [outlying_rows(200, 5, fraction=0.2, size=5, seed=seed) for seed in range(5)]


def theirs(draws):
    models = [estimator_of_robpy("FastMCD", random_seed=0).fit(X) for X in draws]
    return [discrepancy(model.covariance_, a09(5)) for model in models]


def ours(draws, **settings):
    return [discrepancy(RobustPCA(**settings).fit(X).get_covariance(), a09(5)) for X in draws]


TASK = Task(
    name="robpy_mcd_rows",
    origin="robpy, tests of FastMCD",
    link="https://robpy.readthedocs.io/",
    program="FastMCD of robpy",
    data="generated",
    licence="none needed",
    measure="Kullback-Leibler discrepancy of the covariance, 20 % outlying rows",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda draws: ours(draws, center=True),
    reason=(
        "RobustPCA describes the five columns by one component plus independent noise. It "
        "marks none of the outlying rows, and repairs single cells in them instead. Use "
        "FastMCD of robpy or MinCovDet of scikit-learn."
    ),
)
