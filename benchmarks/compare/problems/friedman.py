"""Regression on a smooth function of five of ten measurements, with noise."""

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.compare.problem import STEP, Data, Problem, by_plan

NOISE = 1.0


def make(n):
    X, y = make_friedman1(n, noise=NOISE, random_state=0)
    about = (
        f"{n} rows of make_friedman1: ten variables, five of which matter, noise of "
        f"standard deviation {NOISE:g}"
    )
    return Data(X=X, y=(y - y.mean()) / y.std(), about=about)


def load(quick, full=False):
    return make(by_plan(quick, full, 300, 1000, 2000))


def pipeline(step):
    return Pipeline([("scale", StandardScaler()), (STEP, step)])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    ends = np.array([data.y.min(), data.y.max()])
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        guess = np.ravel(fitted.predict(data.X[test]))
        ax.plot(ends, ends, color="0.7")
        ax.scatter(guess, data.y[test], s=8)
        error = np.sqrt(np.mean((guess - data.y[test]) ** 2))
        ax.set(title=f"{name}: error {error:.2f} standard deviations", xlabel="predicted")
    axes[0].set_ylabel("measured, unseen rows")


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="smooth function",
    description="A smooth function of five variables, two of which interact, is learned from "
    "noisy values; five more variables are irrelevant. The picture plots the measured values of "
    "unseen rows against their predictions.",
    score_name="R2",
    scoring="r2",
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
    load_full=lambda: load(False, full=True),
)
