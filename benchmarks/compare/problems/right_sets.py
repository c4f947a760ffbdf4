"""Users as sets of rights: who has a critical combination?"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from benchmarks.compare.pictures import decision_histograms
from benchmarks.compare.problem import STEP, Data, Problem, by_plan

N_RIGHTS = 30
N_HELD = 10
N_PAIRS = 6


def load(quick, full=False):
    n = by_plan(quick, full, 200, 500, 1500)
    rng = np.random.default_rng(0)
    X = np.empty(n, dtype=object)
    X[:] = [frozenset(map(int, rng.choice(N_RIGHTS, N_HELD, replace=False))) for _ in range(n)]
    critical = rng.choice(N_RIGHTS, size=(N_PAIRS, 2), replace=False)
    y = np.array([any(held.issuperset(map(int, pair)) for pair in critical) for held in X])
    about = (
        f"{n} users, each with {N_HELD} of {N_RIGHTS} rights; critical are those who hold both "
        f"rights of one of {N_PAIRS} pairs"
    )
    return Data(X=X, y=y.astype(int), about=about)


def pipeline(step):
    """A kernel on sets before a machine, or a table of rights and a Gaussian kernel."""
    kernel = "rbf" if isinstance(step, CountVectorizer) else "precomputed"
    return Pipeline([(STEP, step), ("machine", SVC(kernel=kernel, C=10.0))])


def plot(fig, methods, data, test):
    decision_histograms(fig, methods, data, test, {0: "harmless", 1: "critical"})


PROBLEM = Problem(
    title="critical rights",
    description="Users are sets of rights; a user with both rights of one of six pairs is "
    "critical. A kernel that counts common subsets sees such pairs; the baseline is a Gaussian "
    "kernel on a table of rights. The picture shows the decision values of unseen users.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
)
