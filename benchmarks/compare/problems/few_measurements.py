"""A sparse signal from fewer random measurements than it has entries."""

import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem

NOISE = 0.05


def load(quick):
    n, m, k = (100, 60, 8) if quick else (400, 120, 15)
    rng = np.random.default_rng(0)
    coef = np.zeros(n)
    coef[rng.choice(n, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.3, 1.5, k)
    X = rng.normal(size=(m, n))
    y = X @ coef + NOISE * rng.normal(size=m)
    about = (
        f"{m} random measurements, with noise of standard deviation {NOISE:g}, of a signal with "
        f"{k} of {n} entries that are not zero"
    )
    return Data(X=X, y=y, about=about, extra={"coef": coef})


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    truth = data.extra["coef"]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        coef = fitted.named_steps[STEP].coef_
        error = np.linalg.norm(coef - truth) / np.linalg.norm(truth)
        ax.plot(truth, color="0.7", lw=3, label="signal")
        ax.plot(coef, lw=1, label=name)
        ax.set(title=f"{name}: {np.count_nonzero(coef)} entries, error {error:.3f}")
        ax.legend(fontsize=8)
    fig.supxlabel("entry", fontsize=9)


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="sparse signal",
    description="A signal with few non-zero entries is recovered from random measurements and "
    "predicts further ones. The grid chooses the number of entries, the tolerance or the penalty.",
    score_name="R2",
    scoring="r2",
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
)
