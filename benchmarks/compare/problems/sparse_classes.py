"""Two classes, many features and few rows; a handful of features determines the class."""

import numpy as np
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem, by_plan
from skmoderndata.datasets import make_sparse_classes

N_INFORMATIVE = 5


def load(quick, full=False):
    n, p = by_plan(quick, full, (80, 100), (200, 300), (200, 1000))
    X, y, *_ = make_sparse_classes(
        n, p, n_informative=N_INFORMATIVE, margin=0.5, flip_y=0.05, random_state=0
    )
    about = f"{n} rows, {p} features of which {N_INFORMATIVE} decide, 5 % of the labels wrong"
    return Data(X=X, y=y, about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    axes = fig.subplots(len(methods), 1, squeeze=False, sharex=True)[:, 0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        weights = np.ravel(fitted.named_steps[STEP].coef_)
        used = np.flatnonzero(weights)
        ax.axhline(0, color="0.7", lw=1)
        ax.vlines(used, 0, weights[used], lw=2)
        ax.set_title(f"{name}: {used.size} features")
    axes[-1].set_xlabel("feature")


PROBLEM = Problem(
    title="few features decide",
    description="Few rows, many features, of which only five matter, and some wrong labels: a "
    "linear classifier should use few features. The picture shows the non-zero weights.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
    n_repeats=2,
)
