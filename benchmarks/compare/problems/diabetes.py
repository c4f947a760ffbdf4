"""Regression of the progress of a disease on ten measurements."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    X, y = load_diabetes(return_X_y=True)
    n = 200 if quick else len(X)
    return Data(X=X[:n], y=y[:n], about=f"{n} patients, ten measurements, from scikit-learn")


def pipeline(step):
    return Pipeline([("scale", StandardScaler()), (STEP, step)])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    ends = np.array([data.y.min(), data.y.max()])
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        guess = fitted.predict(data.X[test])
        step = fitted.named_steps[STEP]
        n_support = len(getattr(step, "support_", ()))
        used = (
            f"{n_support} support vectors" if n_support else f"{_components(step)} components"
        )
        ax.plot(ends, ends, color="0.7")
        ax.scatter(guess, data.y[test], s=10)
        ax.set(title=f"{name}: {used}", xlabel="predicted")
    axes[0].set_ylabel("measured, unseen rows")


def _components(step):
    return getattr(step, "n_components_", getattr(step, "n_components", "all"))


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="diabetes",
    description="The progress of a disease after one year is predicted from ten measurements. The "
    "picture plots the measured values of unseen rows against their predictions.",
    score_name="R2",
    scoring="r2",
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
    n_repeats=2,
)
