"""Rows with five grades: put unseen ones in the right order."""

import numpy as np
from scipy.stats import kendalltau
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.compare.problem import STEP, Data, Problem, by_plan
from benchmarks.compare.problems import friedman

N_GRADES = 5


def make(n):
    data = friedman.make(n)
    edges = np.quantile(data.y, [0.5, 0.75, 0.9, 0.97])
    y = np.searchsorted(edges, data.y)
    about = (
        f"{data.about}; only {N_GRADES} grades of the function are known, and half of the rows "
        "have the lowest"
    )
    return Data(X=data.X, y=y, about=about)


def load(quick, full=False):
    return make(by_plan(quick, full, 200, 300, 1000))


def pipeline(step):
    return Pipeline([("scale", StandardScaler()), (STEP, step)])


def order(fitted, X, y):
    """Kendall's tau of predicted order and grades."""
    return float(kendalltau(fitted.predict(X), y).statistic)


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        value = fitted.predict(data.X[test])
        grades = np.unique(data.y[test])
        ax.boxplot([value[data.y[test] == grade] for grade in grades], tick_labels=grades)
        tau = order(fitted, data.X[test], data.y[test])
        ax.set(title=f"{name}: Kendall's tau {tau:.2f}", xlabel="grade", ylabel="predicted")


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="grades",
    description="Rows have grades from 0 to 4. The score is the agreement of the predicted order "
    "of unseen rows with their grades (Kendall's tau). The baseline regresses on the grades as "
    "numbers.",
    score_name="Kendall's tau",
    scoring=order,
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
    load_full=lambda: load(False, full=True),
)
