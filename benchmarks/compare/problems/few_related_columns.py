"""Two wide tables: a few columns of one are related to a few columns of the other."""

import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem, by_plan
from benchmarks.compare.problems.digit_halves import correlation

N_RELATED = 4


def load(quick, full=False):
    n, p = by_plan(quick, full, (100, 200), (200, 400), (200, 2000))
    rng = np.random.default_rng(0)
    common = rng.normal(size=(n, 1))
    X = rng.normal(size=(n, p))
    Y = rng.normal(size=(n, p // 2))
    X[:, :N_RELATED] += 0.8 * common
    Y[:, :N_RELATED] += 0.8 * common
    about = f"{n} rows, {p} + {p // 2} columns, of which {N_RELATED} + {N_RELATED} are related"
    return Data(X=X, y=Y, about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    axes = fig.subplots(len(methods), 1, squeeze=False, sharex=True)[:, 0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        weights = fitted.named_steps[STEP].x_weights_[:, 0]
        used = np.flatnonzero(weights)
        right = int((used < N_RELATED).sum())
        ax.axvspan(-0.5, N_RELATED - 0.5, color="C1", alpha=0.4)
        ax.vlines(used, 0, weights[used], lw=1)
        ax.set_title(f"{name}: {used.size} columns, {right} of the {N_RELATED} related ones")
    axes[-1].set_xlabel("column of the first table")


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="few related columns",
    description="Few rows, hundreds of columns in two tables, of which four each depend on the "
    "same hidden cause; the score is the correlation of one pair of functions on unseen rows. The "
    "picture shows the weights of the first table, with the related columns marked.",
    score_name="correlation",
    scoring=correlation,
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
    load_full=lambda: load(False, full=True),
)
