"""A rolled up sheet with a hole: do the features recover the sheet?"""

import numpy as np
from sklearn.datasets import make_swiss_roll
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    n = 1000 if quick else 1500  # with fewer rows, edges connect layers of the roll
    X, t = make_swiss_roll(n, hole=True, random_state=0)
    # columns: length along the spiral, and height
    sheet = np.column_stack([(t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2, X[:, 1]])
    about = f"{n} points of scikit-learn's Swiss roll with a rectangular hole"
    return Data(X=X, y=sheet, about=about)


def pipeline(step):
    # use a linear regression, so that the features themselves must recover the sheet
    return Pipeline([(STEP, step), ("locate", LinearRegression())])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        found = fitted.predict(data.X[test])
        truth = data.y[test]
        for a, b in zip(truth, found, strict=True):
            ax.plot(*np.array([a, b]).T, color="0.6", lw=0.6)
        ax.scatter(*found.T, c=truth[:, 0], s=8)
        ax.set(title=name, xlabel="lines lead to the true place", aspect="equal")


def folds(n_splits, random_state):
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="roll with a hole",
    description="A rolled-up sheet with a rectangular hole is flattened to two features; a linear "
    "map of the features predicts the place of unseen points on the sheet.",
    score_name="R2 of place",
    scoring="r2",
    load=load,
    pipeline=pipeline,
    plot=plot,
    plot_size=(10.5, 3.4),
    splitter=folds,
    n_outer=5,
)
