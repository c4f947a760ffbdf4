"""Cells of real data by nearest neighbours, the first program of fancyimpute's README."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from benchmarks.away.task import Task
from benchmarks.away.tasks.fancyimpute_softimpute import error, import_fancyimpute
from skmoderndata.impute import NuclearNormImputer


def load():
    """Return draws of a table with NaN in hidden cells, and the whole table."""
    truth = scale(load_breast_cancer().data)
    draws = []
    for seed in range(3):
        hidden = np.random.default_rng(seed).random(truth.shape) < 0.1
        draws.append((np.where(hidden, np.nan, truth), truth))
    return draws


def theirs(draws):
    KNN = import_fancyimpute().KNN
    return [error(draw, KNN(k=3, verbose=False).fit_transform(draw[0])) for draw in draws]


def ours(draws):
    return [error(draw, NuclearNormImputer().fit_transform(draw[0])) for draw in draws]


TASK = Task(
    name="fancyimpute_neighbors",
    origin="fancyimpute, README",
    link="https://github.com/iskandr/fancyimpute",
    program="fancyimpute KNN(k=3)",
    data="breast cancer of scikit-learn, standardised, 10 % of the cells hidden, three draws",
    licence="Apache-2.0",
    measure="mean squared error of hidden cells of real data",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
)
