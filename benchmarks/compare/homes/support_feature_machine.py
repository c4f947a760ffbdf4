"""Ten of 1000 columns make two classes, and one label in twenty is wrong."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.datasets import make_sparse_classes
from skmoderndata.svm import SupportFeatureMachine


def make(seed, wrong=0.05, n=200, n_features=1000, margin=0.3):
    """Standard normal columns, and the sign of a sum of ten of them."""
    X, y, weights = make_sparse_classes(
        n, n_features, n_informative=10, margin=margin, flip_y=wrong, random_state=seed
    )
    about = (
        f"{n} rows, {n_features} columns, 10 of them relevant; "
        f"{wrong:.0%} of the labels are wrong"
    )
    return Case(inputs=SimpleNamespace(X=X, y=y), truth=weights != 0, about=about)


def ours(inputs):
    return SupportFeatureMachine().fit(inputs.X, inputs.y).get_support()


def score(case, chosen):
    """F1 of the chosen columns."""
    hits = np.sum(chosen & case.truth)
    return 2 * hits / (np.sum(chosen) + np.sum(case.truth))


HOME = Home(
    when="a few of thousands of columns determine two classes, and you want to know which "
    "columns",
    title="ten of 1000 columns",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="F1 score of the chosen columns",
    gain="Finds the relevant columns with an F1 score of {ours:.2f}; {name} has an F1 score "
    "of {rival:.2f}.",
    lines="machine = SupportFeatureMachine().fit(X, y)\nmachine.get_support(indices=True)",
    n_rounds=16,
    levels={"wrong": (0.0, 0.1), "n": (100, 400), "n_features": (200,), "margin": (0.0,)},
    short_rounds=8,
)
