"""Error of test signals in a learned dictionary."""

import numpy as np

from benchmarks.away.task import Task
from benchmarks.away.tasks.ksvd_recovery import load
from skmoderndata.decomposition import KSVD

# Number of signals for training; the remaining signals are for testing.
N_TRAIN = 1000


def error(X, codes, components):
    return np.sqrt(np.mean((X - codes @ components) ** 2))


def theirs(draws):
    from dictlearn import DictionaryLearning

    models = [
        DictionaryLearning(50, n_nonzero_coefs=3, max_iter=80, random_state=0).fit(X[:N_TRAIN])
        for X, _ in draws
    ]
    return [
        error(X[N_TRAIN:], model.transform(X[N_TRAIN:]), model.components_)
        for model, (X, _) in zip(models, draws, strict=True)
    ]


def ours(draws):
    """Give the number of atoms per signal, which the origin gives to its program, too."""
    models = [
        KSVD(50, n_nonzero_coefs=3, max_iter=80, random_state=0).fit(X[:N_TRAIN])
        for X, _ in draws
    ]
    return [
        error(X[N_TRAIN:], model.transform(X[N_TRAIN:]), model.components_)
        for model, (X, _) in zip(models, draws, strict=True)
    ]


TASK = Task(
    name="dictlearn_recovery",
    origin="dictlearn",
    link="https://pypi.org/project/dictlearn/",
    program="DictionaryLearning of dictlearn",
    data="generated",
    licence="none needed",
    measure="root mean squared error of test signals, 3 of 50 atoms, noise of 20 dB",
    better="lower",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
)
