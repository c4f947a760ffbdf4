"""Digits of one kind with a few of another kind: which ones are different?"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import Pipeline

from benchmarks.compare.pictures import image_rows
from benchmarks.compare.problem import STEP, Data, Problem

KIND = 3


def load(quick):
    X, digit = load_digits(return_X_y=True)
    usual = np.flatnonzero(digit == KIND)
    others = np.flatnonzero(digit != KIND)
    others = np.random.default_rng(0).choice(others, 30, replace=False)
    rows = np.r_[usual[: 100 if quick else None], others]
    about = (
        f"{len(rows) - 30} images of the digit {KIND}, and 30 of other digits, 8 x 8 pixels"
    )
    return Data(X=X[rows], y=(digit[rows] == KIND).astype(int), about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    """The unseen images that each method finds most novel."""
    rows = {}
    for name, fitted in methods.items():
        order = test[np.argsort(fitted.decision_function(data.X[test]))][:12]
        wrong = int(data.y[order].sum())
        rows[f"{name}\n{wrong} of 12 wrong"] = data.X[order].reshape(-1, 8, 8)
    image_rows(fig, rows, limits=(0, 16))


PROBLEM = Problem(
    title=f"digit {KIND}, with others",
    description="Among the images of one digit are 30 of other digits, in the training rows as "
    "well; the method does not know which. The picture shows the unseen images that it finds most "
    "novel.",
    score_name="area under ROC",
    scoring="roc_auc",
    load=load,
    pipeline=pipeline,
    plot=plot,
    n_repeats=3,
)
