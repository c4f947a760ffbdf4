"""Two classes that differ in products of two measurements."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from benchmarks.compare.pictures import decision_histograms
from benchmarks.compare.problem import STEP, Data, Problem, by_plan

N_FEATURES = 20
N_PAIRS = 4


def load(quick, full=False):
    n = by_plan(quick, full, 200, 1000, 1500)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    products = X[:, 0 : 2 * N_PAIRS : 2] * X[:, 1 : 2 * N_PAIRS : 2]
    y = (products.sum(axis=1) + 0.3 * rng.normal(size=n) > 0).astype(int)
    about = (
        f"{n} rows of {N_FEATURES} normal numbers; the class is the sign of a sum of {N_PAIRS} "
        "products of two, with some noise"
    )
    return Data(X=X, y=y, about=about)


def pipeline(step):
    """A kernel before a kernel machine, or a machine with a built-in kernel."""
    if isinstance(step, SVC):
        return Pipeline([(STEP, step)])
    return Pipeline([(STEP, step), ("machine", SVC(kernel="precomputed", C=10.0))])


def plot(fig, methods, data, test):
    decision_histograms(fig, methods, data, test, {0: "class 0", 1: "class 1"})


PROBLEM = Problem(
    title="products of pairs",
    description="The class depends on products of two variables, a structure that a kernel on "
    "vectors can express. The picture shows the decision values of unseen rows.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
)
