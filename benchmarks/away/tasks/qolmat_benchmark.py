"""Weather of Beijing with gaps of hours, as in the benchmark of qolmat."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.impute import NuclearNormImputer

COLUMNS = ["TEMP", "PRES", "DEWP", "NO2", "O3"]


def load():
    """Return the table with gaps and the whole table, 1,500 hours, columns standardised."""
    from pathlib import Path

    import pandas as pd
    import qolmat

    table = pd.read_csv(Path(qolmat.__path__[0]) / "data" / "beijing.csv")
    table = table[table["station"] == table["station"][0]][COLUMNS].dropna()[:1500]
    truth = ((table - table.mean()) / table.std()).reset_index(drop=True)

    rng = np.random.default_rng(0)
    X = truth.copy()
    for column in COLUMNS:
        while X[column].isna().mean() < 0.1:
            start = rng.integers(1, len(X) - 25)
            X.loc[start : start + rng.geometric(1 / 24) - 1, column] = np.nan
    return X, truth


def error(problem, filled):
    X, truth = problem
    hidden = X.isna().to_numpy()
    return np.mean(abs(np.asarray(filled) - truth.to_numpy())[hidden])


def theirs(problem):
    from qolmat.imputations.imputers import ImputerInterpolation

    return error(problem, ImputerInterpolation(method="linear").fit_transform(problem[0]))


def ours(problem):
    return error(problem, NuclearNormImputer().fit_transform(problem[0]))


def documented(problem):
    """Fill the table of successive hours, so that neighbours in time predict each other."""
    values = problem[0].to_numpy()
    shifts = range(-2, 3)
    padded = np.pad(values, ((2, 2), (0, 0)), constant_values=np.nan)
    wide = np.hstack([padded[2 + s : 2 + s + len(values)] for s in shifts])
    p = len(COLUMNS)
    filled = NuclearNormImputer().fit_transform(wide)
    return error(problem, filled[:, 2 * p : 3 * p])


TASK = Task(
    name="qolmat_benchmark",
    origin="qolmat, examples",
    link="https://qolmat.readthedocs.io/",
    program='qolmat ImputerInterpolation(method="linear"), by station',
    data="five weather series of one station in Beijing, shipped with qolmat; gaps of a day, 10 %",
    licence="BSD-3-Clause",
    measure="mean absolute error of hidden cells of a series",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
    reason=(
        "The imputer does not use the order of the rows, but values from neighbouring times "
        "are the best replacement for a gap of a few hours. Append delayed copies of the "
        "columns, or interpolate."
    ),
)
