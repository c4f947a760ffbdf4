"""Few measurements of signals that are sparse in cosines: recover the signals."""

import numpy as np
from scipy.fft import idct
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem, by_plan

N_COSINES = 6


def load(quick, full=False):
    n, p = by_plan(quick, full, (30, 64), (60, 128), (200, 256))
    rng = np.random.default_rng(0)
    codes = np.zeros((n, p))
    for code in codes:
        code[rng.choice(p, N_COSINES, replace=False)] = rng.normal(size=N_COSINES)
    X = idct(codes, axis=1, norm="ortho")
    about = f"{n} signals of {p} values, each a sum of {N_COSINES} cosines"
    return Data(X=X, y=X, about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def recovered(fitted, X, y):
    """Variance of the signals that is recovered."""
    back = fitted.inverse_transform(fitted.transform(X))
    return float(1 - np.sum((back - X) ** 2) / np.sum(X**2))


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        measured = fitted.transform(data.X[test])
        ax.plot(data.X[test[0]], color="0.7", lw=3, label="signal")
        ax.plot(fitted.inverse_transform(measured)[0], lw=1, label="back")
        ax.set(title=f"{name}: from {measured.shape[1]} measurements", xlabel="time")
        ax.legend()


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="signals from few measurements",
    description="Signals that are sums of a few cosines are measured by random projections and "
    "reconstructed; the score is the explained variance. The baseline reconstructs with the "
    "pseudo-inverse.",
    score_name="R2 of signals",
    scoring=recovered,
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
    load_full=lambda: load(False, full=True),
)
