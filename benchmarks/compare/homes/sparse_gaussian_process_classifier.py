"""Many rows of two classes with a smooth boundary: how probable is each class?"""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss

from benchmarks.compare.home import Case, Home
from skmoderndata.gaussian_process import SparseGaussianProcessClassifier


def make(seed, n=10000, noise=1.0):
    """A noisy smooth function of five inputs, above a threshold or not."""
    X, f = make_friedman1(n + 5000, n_features=5, noise=noise, random_state=seed)
    y = f > 14.4
    return Case(
        inputs=SimpleNamespace(X=X[:n], y=y[:n], X_new=X[n:]),
        truth=y[n:],
        about=f"{n} rows, five inputs; is a noisy smooth function above a threshold or not?",
    )


def ours(inputs):
    model = SparseGaussianProcessClassifier(random_state=0).fit(inputs.X, inputs.y)
    return model.predict_proba(inputs.X_new)[:, 1]


def score(case, probability):
    return log_loss(case.truth, np.clip(probability, 1e-6, 1 - 1e-6))


HOME = Home(
    when="you need class probabilities from many rows and few inputs",
    title="a smooth boundary in noise",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="log loss on new rows",
    smaller=True,
    margin=0.001,
    n_rounds=5,
    gain="Has a log loss of {ours:.4f} on new rows; {name} has a log loss of {rival:.4f}.",
    lines=(
        "model = SparseGaussianProcessClassifier(random_state=0).fit(X, y)\n"
        "model.predict_proba(X_new)"
    ),
    levels={"n": (2000,), "noise": (0.3, 3.0)},
    full_only=True,
)
