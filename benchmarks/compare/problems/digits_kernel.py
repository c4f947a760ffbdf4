"""Classification of digits by kernel machines."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem, by_plan


def load(quick, full=False):
    X, y = load_digits(return_X_y=True)
    n = by_plan(quick, full, 500, 1000, len(X))
    about = f"{n} digits of 8 x 8 pixels from scikit-learn, divided by 16"
    return Data(X=X[:n] / 16, y=y[:n], about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        counts = confusion_matrix(data.y[test], fitted.predict(data.X[test]))
        wrong = counts - np.diag(counts.diagonal())
        ax.imshow(wrong, cmap="Oranges", vmin=0, vmax=max(1, wrong.max()))
        for row, column in zip(*np.nonzero(wrong), strict=True):
            ax.text(column, row, wrong[row, column], ha="center", va="center", fontsize=8)
        ax.set(
            title=f"{name}: {wrong.sum()} of {counts.sum()} unseen rows wrong",
            xlabel="predicted",
            ylabel="digit",
            xticks=range(len(counts)),
            yticks=range(len(counts)),
        )


PROBLEM = Problem(
    title="digits, kernel machines",
    description="A machine with a Gaussian kernel classifies images of digits. The picture is the "
    "confusion matrix of unseen rows.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
)
