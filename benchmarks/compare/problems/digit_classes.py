"""Ten digits classified by the step itself, without a classifier after it."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    X, y = load_digits(return_X_y=True)
    n = 500 if quick else len(X)
    return Data(X=X[:n], y=y[:n], about=f"{n} digits of 8 x 8 pixels from scikit-learn")


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    """Confusions between digits: errors only."""
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    tables = {
        name: confusion_matrix(data.y[test], fitted.predict(data.X[test]), labels=range(10))
        for name, fitted in methods.items()
    }
    wrong = {name: table - np.diag(np.diag(table)) for name, table in tables.items()}
    most = max(1, *(table.max() for table in wrong.values()))
    for ax, (name, table) in zip(axes, wrong.items(), strict=True):
        ax.imshow(table, cmap="Reds", vmin=0, vmax=most)
        for i, j in zip(*np.nonzero(table), strict=True):
            ax.text(j, i, table[i, j], ha="center", va="center", fontsize=8)
        ax.set(title=f"{name}: {table.sum()} of {len(test)} wrong", xlabel="taken for")
        ax.set(ylabel="digit", xticks=range(10), yticks=range(10))


PROBLEM = Problem(
    title="digits, ten classes",
    description="The method itself classifies images of ten digits. The picture counts the errors "
    "on unseen rows.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
)
