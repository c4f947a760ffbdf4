"""Two views of handwritten digits, the left and the right half: what do they have in common?"""

import inspect

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    n = 300 if quick else 900
    digits = load_digits()
    images = digits.images[:n] / 16
    left = images[:, :, :4].reshape(n, 32)
    right = images[:, :, 4:].reshape(n, 32)
    about = f"left and right halves of {n} digits of scikit-learn, 32 pixels each"
    return Data(X=left, y=right, about=about, extra={"labels": digits.target[:n]})


def pipeline(step):
    return Pipeline([(STEP, step)])


def correlation(fitted, X, y):
    """Mean correlation of the scores of both views, over the components."""
    return float(np.mean(_correlations(*fitted.named_steps[STEP].transform(X, y))))


def _correlations(A, B):
    A = A - A.mean(axis=0)
    B = B - B.mean(axis=0)
    size = np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=0)
    return (A * B).sum(axis=0) / np.where(size > 0, size, 1)


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    X = data.X[test]
    y = data.y[test]
    labels = data.extra["labels"][test]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        step = fitted.named_steps[STEP]
        accepts_y = "y" in inspect.signature(step.transform).parameters
        left, right = step.transform(X, y) if accepts_y else (step.transform(X),) * 2
        points = ax.scatter(left[:, 0], right[:, 0], c=labels, cmap="tab10", s=12)
        value = _correlations(left[:, :1], right[:, :1])[0]
        ax.set(title=f"{name}: first pair {value:.2f}", xlabel="score of the left half")
    axes[0].set_ylabel("score of the right half")
    fig.colorbar(points, ax=axes, ticks=range(10), label="digit")


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="halves of digits",
    description="Five pairs of functions of the left and the right half of a digit are fitted so "
    "that their values correlate; the score is their mean correlation on unseen digits. The "
    "picture shows the first pair.",
    score_name="correlation",
    scoring=correlation,
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
)
