"""Five ranks of the progress of a disease."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    X, t = load_diabetes(return_X_y=True)
    n = 200 if quick else len(X)
    ranks = np.digitize(t[:n], np.quantile(t[:n], [0.2, 0.4, 0.6, 0.8]))
    about = f"{n} patients, ten measurements, five ranks of equal size, from scikit-learn"
    return Data(X=X[:n], y=ranks, about=about)


def pipeline(step):
    return Pipeline([("scale", StandardScaler()), (STEP, step)])


def folds(n_splits, random_state):
    """Shuffled folds with all ranks in equal parts."""
    return StratifiedKFold(n_splits, shuffle=True, random_state=random_state)


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        guess = fitted.predict(data.X[test])
        counts = confusion_matrix(data.y[test], guess, labels=range(5))
        ax.imshow(counts, cmap="Blues")
        for row, column in zip(*np.nonzero(counts), strict=True):
            ax.text(column, row, counts[row, column], ha="center", va="center", fontsize=8)
        error = np.abs(guess - data.y[test]).mean()
        ax.set(title=f"{name}: off by {error:.2f} ranks", xlabel="predicted", ylabel="rank")


PROBLEM = Problem(
    title="diabetes in five ranks",
    description="The progress of a disease after one year, in five ranks of equal size, is "
    "predicted from ten measurements. The picture is the confusion matrix of unseen rows.",
    score_name="minus mean absolute error of ranks",
    scoring="neg_mean_absolute_error",
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
)
