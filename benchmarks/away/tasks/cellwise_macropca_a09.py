"""Good cells of a low-rank table with wrong cells."""

import numpy as np
import pandas as pd

from benchmarks.away.tables import a09, estimator_of_robpy
from benchmarks.away.task import Task
from skmoderndata.decomposition import RobustPCA


def load():
    """Return five tables of 100 rows and 50 columns, near rank 6, with 20 % wrong cells."""
    draws = []
    values, vectors = np.linalg.eigh(a09(50))
    values[:-6] *= 0.1 * values[-6:].sum() / (0.9 * values[:-6].sum())
    for seed in range(5):
        rng = np.random.default_rng(seed)
        clean = rng.normal(size=(100, 50)) * np.sqrt(values) @ vectors.T
        wrong = rng.uniform(size=clean.shape) < 0.2
        draws.append((clean, np.where(wrong, 5 * clean.std(), clean), wrong))
    return draws


def theirs(draws):
    """Impute the cells flagged by DDC, then fit ROBPCA: robpy has no MacroPCA."""
    from robpy.outliers import DDC

    errors = []
    for clean, X, wrong in draws:
        table = pd.DataFrame(X)
        repaired = np.asarray(DDC().fit(table).impute(table))
        model = estimator_of_robpy("ROBPCA", n_components=6, random_seed=0).fit(repaired)
        fitted = model.project(repaired) + model.location_
        errors.append(np.mean((fitted - clean)[~wrong] ** 2))
    return errors


def ours(draws, **settings):
    """Fit six components, which the origin gives to its program, too."""
    fitted = [RobustPCA(6, **settings).fit(X).low_rank_ for _, X, _ in draws]
    return [
        np.mean((table - clean)[~wrong] ** 2)
        for table, (clean, _, wrong) in zip(fitted, draws, strict=True)
    ]


TASK = Task(
    name="cellwise_macropca_a09",
    origin="MacroPCA (Hubert et al. 2019)",
    link="https://doi.org/10.1080/00401706.2018.1562989",
    program=(
        "DDC and ROBPCA of robpy, in place of MacroPCA of cellWise (R), which is not installed"
    ),
    data="generated",
    licence="none needed",
    measure="mean squared error of the fitted good cells, 20 % wrong cells in A09 data",
    better="lower",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
)
