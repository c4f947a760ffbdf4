"""Additive regression: six splines for each of ten measurements."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from benchmarks.compare.problem import STEP, Data, Problem

SPLINES = 6
NAMES = ("age", "sex", "bmi", "pressure", "s1", "s2", "s3", "s4", "s5", "s6")


def load(quick):
    X, y = load_diabetes(return_X_y=True)
    n = 200 if quick else len(X)
    y = (y - y.mean()) / y.std()
    about = f"{n} patients, {SPLINES} cubic splines for each of ten measurements"
    return Data(X=X[:n], y=y[:n], about=about)


def pipeline(step):
    return Pipeline(
        [
            (
                "splines",
                SplineTransformer(n_knots=SPLINES - 2, degree=3, extrapolation="linear"),
            ),
            ("scale", StandardScaler()),
            (STEP, step),
        ]
    )


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        sizes = np.abs(fitted.named_steps[STEP].coef_.reshape(-1, SPLINES))
        ax.imshow(sizes.T, cmap="Blues", aspect="auto", vmin=0)
        ax.set_xticks(range(len(NAMES)), NAMES, rotation=60, fontsize=8)
        used = np.count_nonzero(sizes.any(axis=1))
        ax.set(title=f"{name}: {used} measurements, {np.count_nonzero(sizes)} splines")
    axes[0].set_ylabel("spline")


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="diabetes, splines",
    description="The progress of a disease is a sum of smooth functions of ten measurements. The "
    "picture shows which splines have a non-zero coefficient: the group lasso drops whole "
    "measurements.",
    score_name="R2",
    scoring="r2",
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
    n_repeats=3,
)
