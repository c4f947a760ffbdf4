"""Progression of diabetes in five grades, real targets made ordinal as in mord's examples."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import scale

from benchmarks.away.task import Task
from skmoderndata.ranking import NuSVOR


def load():
    X, t = load_diabetes(return_X_y=True)
    return scale(X), np.digitize(t, np.quantile(t, [0.2, 0.4, 0.6, 0.8]))


def error(problem, model):
    """Return the error of three repetitions of five folds."""
    X, y = problem
    found = []
    for seed in range(3):
        folds = KFold(5, shuffle=True, random_state=seed)
        found.append(np.mean(abs(cross_val_predict(model, X, y, cv=folds) - y)))
    return found


def theirs(problem):
    from mord import LogisticAT

    return error(problem, LogisticAT(alpha=1.0))


def ours(problem):
    return error(problem, NuSVOR())


def documented(problem):
    return error(problem, NuSVOR(kernel="linear"))


TASK = Task(
    name="mord_diabetes",
    origin="mord, examples",
    link="https://pythonhosted.org/mord/",
    program="mord LogisticAT(alpha=1) on standardised features",
    data="diabetes of scikit-learn, targets cut at their quintiles",
    licence="BSD-3-Clause",
    measure="mean absolute error of grades of real targets",
    better="lower",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=documented,
    reason=(
        "The grades overlap so much that the margin is zero for nu up to .6. Then only a few "
        "samples determine the thresholds, whereas the logistic loss of mord uses all "
        "samples. Use LogisticAT of mord."
    ),
)
