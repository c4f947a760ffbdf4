"""Grades of a linear function, as in the tests of mord."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.ranking import NuSVOR


def load():
    """Return draws of 100 training samples and 400 test samples."""
    draws = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 10))
        t = X @ rng.normal(size=10) + rng.normal(size=500)
        y = np.digitize(t, np.quantile(t, [0.2, 0.4, 0.6, 0.8]))
        draws.append((X[:100], y[:100], X[100:], y[100:]))
    return draws


def error(draws, model):
    return [np.mean(abs(model.fit(X, y).predict(new) - truth)) for X, y, new, truth in draws]


def theirs(draws):
    from mord import LogisticAT

    return error(draws, LogisticAT(alpha=1.0))


def ours(draws):
    return error(draws, NuSVOR())


def documented(draws):
    return error(draws, NuSVOR(kernel="linear"))


TASK = Task(
    name="mord_ordinal",
    origin="mord, tests",
    link="https://pythonhosted.org/mord/",
    program="mord LogisticAT(alpha=1)",
    data="five grades of 10 Gaussian features with noise, after the tests of mord, five draws",
    licence="BSD-3-Clause",
    measure="mean absolute error of grades",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
    reason=(
        "The default kernel is Gaussian, and the grades follow a linear function; use "
        'kernel="linear".'
    ),
)
