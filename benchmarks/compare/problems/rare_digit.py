"""Finding a digit that is rare among others, without labels in training."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import Pipeline

from benchmarks.compare.pictures import image_rows
from benchmarks.compare.problem import STEP, Data, Problem

# Number of images of the rare digit.
KEPT = 30


def load(quick):
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    usual = np.flatnonzero(np.isin(y, (0, 3, 6)))
    usual = rng.permutation(usual)[: 200 if quick else len(usual)]
    rare = rng.permutation(np.flatnonzero(y == 4))[:KEPT]
    rows = np.concatenate([usual, rare])
    labels = np.where(np.isin(rows, rare), -1, 1)
    about = f"{len(usual)} images of the digits 0, 3, 6 and {KEPT} of 4, from scikit-learn"
    return Data(X=X[rows] / 16, y=labels, about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def plot(fig, methods, data, test):
    rows = {}
    for name, fitted in methods.items():
        order = test[np.argsort(fitted.decision_function(data.X[test]))]
        rows[f"{name}, least usual"] = data.X[order[:10]].reshape(-1, 8, 8)
        rows[f"{name}, most usual"] = data.X[order[-10:]].reshape(-1, 8, 8)
    image_rows(fig, rows, limits=(0, 1))


PROBLEM = Problem(
    title="rare digit among others",
    description="Images of 0, 3 and 6 with a few of 4 among them, in training and in test rows. "
    "Only the search for parameters and the score use the labels. The picture shows the least and "
    "the most usual of the unseen rows.",
    score_name="area under the curve",
    scoring="roc_auc",
    load=load,
    pipeline=pipeline,
    plot=plot,
    n_repeats=2,
)
