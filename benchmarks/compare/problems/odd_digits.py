"""Odd digits against even ones: two classes of five kinds each, which no plane separates."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    X, y = load_digits(return_X_y=True)
    n = 500 if quick else len(X)
    about = f"{n} digits of 8 x 8 pixels from scikit-learn; the classes are odd and even"
    return Data(X=X[:n], y=y[:n] % 2, about=about, extra={"digit": y[:n]})


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    """Decision values of unseen rows, digit by digit."""
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    digit = data.extra["digit"][test]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        value = fitted.decision_function(data.X[test])
        value = value / np.abs(value).max()
        parts = [value[digit == d] for d in range(10)]
        box = ax.boxplot(parts, tick_labels=range(10), patch_artist=True)
        for d, patch in enumerate(box["boxes"]):
            patch.set_facecolor("C1" if d % 2 else "C0")
        ax.axhline(0, color="k", linewidth=0.8)
        ax.set(title=f"{name}: odd digits above 0", xlabel="digit", ylabel="decision value")


PROBLEM = Problem(
    title="digits, odd or even",
    description="Five digits form a class, so that each class has five clusters. The picture "
    "shows the decision values of unseen rows, which should be positive for odd digits.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
)
